"""What all commands share: how their arguments are declared, and how they say that they can't."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NoReturn

from shapecheck import __version__

_DESCRIPTION: Final = """\
Named dimensions for PyTorch tensors: finds shape bugs before anything runs, and
shows the shapes in your code.
"""
_EPILOG: Final = """\
examples:
  shapecheck check                check the shapes in this folder
  shapecheck explain softmax      what is known of an op
  shapecheck coverage --html out  the shape of each expression, in the source
  shapecheck trace my_model:Net --input "1 3 224 224"
                                  what the dimensions do in a model

`shapecheck COMMAND --help` explains a command. To complete commands, options and
names of ops with the tab key, put this into ~/.bashrc (or `zsh` into ~/.zshrc):
  eval "$(shapecheck --completion bash)"
"""
_SHELLS: Final = ("bash", "zsh", "fish", "tcsh", "powershell")


class CommandError(Exception):
    """A command can't be carried out: what is wrong, and where. The exit code is 2."""


def refuse_notebook(path: str | Path) -> None:
    """Raise `CommandError` for a notebook: JSON is Python too, of a kind that has no errors."""
    if Path(path).suffix == ".ipynb":
        raise CommandError(
            f"{path} is a notebook; `jupyter nbconvert --to script` makes a .py file of it"
        )


def plural(count: int, what: str) -> str:
    """Return "1 error" or "2 errors"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


class Parser(argparse.ArgumentParser):
    """A parser that says what was meant perhaps where an option or a choice is wrong.

    `otherwise` is what to say of an option that is like none of its own.
    """

    otherwise = ""

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong with the arguments; exit with 2."""
        super().error(f"{message}{self._hint(message)}")

    def _hint(self, message: str) -> str:
        import difflib

        wrong, known = re.search(r"invalid choice: '([^']*)'", message), list[str]()
        for action in self._actions:
            known += (
                [*action.option_strings] if wrong is None else [*map(str, action.choices or ())]
            )
        _, unknown, words = message.partition("unrecognized arguments: ")
        for word in [wrong[1]] if wrong is not None else words.split():
            if wrong is not None or (unknown and word.startswith("-")):
                close = difflib.get_close_matches(word.partition("=")[0], known, n=1)
                if close:
                    return f'; did you mean "{close[0]}"?'
        return self.otherwise if unknown else ""


class _Help(argparse.HelpFormatter):
    """Fits paragraphs to the terminal, and leaves indented lines as they stand."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled = []
        for is_prose, lines in groupby(text.splitlines(), lambda line: line[:1].strip() != ""):
            block = list(lines)
            filled += textwrap.wrap(" ".join(block), width) if is_prose else block
        return "\n".join(filled)


class Commands:
    """Where commands declare themselves."""

    def __init__(self, parser: Parser) -> None:
        self._parsers = parser.add_subparsers(
            dest="command", metavar="COMMAND", required=True, title="commands", parser_class=Parser
        )

    def add(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int],
        *,
        summary: str,
        description: str,
        examples: str,
        usage: str | None = None,
    ) -> Parser:
        """Add a command and return the parser that its arguments go to.

        `run` takes the parsed arguments and returns the exit code; it may raise `CommandError`.
        `summary` is the line in the list of commands; `description` and `examples` are printed
        above and below its arguments. What follows `--` on the command line is in
        `rest` of the parsed arguments.
        """
        parser: Parser = self._parsers.add_parser(
            name,
            help=summary,
            description=description,
            epilog=f"examples:\n{examples}",
            usage=usage,
            formatter_class=_Help,
            allow_abbrev=False,
        )
        parser.set_defaults(run=run, parser=parser)
        return parser


class _Completion(argparse.Action):
    """Print what a shell has to evaluate."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        from argcomplete.shell_integration import shellcode

        sys.stdout.write(shellcode([parser.prog], shell=values))
        parser.exit()


def new_parser() -> Parser:
    """Return the parser of the whole command line, without its commands."""
    parser = Parser(
        prog="shapecheck",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"shapecheck {__version__}",
        help="print the version",
    )
    parser.add_argument(
        "--completion",
        action=_Completion,
        choices=_SHELLS,
        metavar="SHELL",
        help=f"print what a shell completes commands with: {', '.join(_SHELLS)}",
    )
    return parser


def add_color_option(parser: argparse.ArgumentParser) -> None:
    """Add `--color`; see `wants_color`."""
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto (default): on a terminal, unless NO_COLOR is set",
    )


def wants_color(stream: Any, choice: str = "auto") -> bool:
    """Whether output goes to a terminal that shows colours, or was asked to have them."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
