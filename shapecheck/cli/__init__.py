"""The command line: `shapecheck check | explain | coverage | ...`.

Each command is a module of its name here, and each name stands in `_COMMANDS`. The module has one
function that hosts call, `register(commands)`, which declares its arguments with `commands.add`.
What it takes to run the command is imported when it runs: `--help` and completion take no time,
and only a command that executes the user's model imports torch.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from shapecheck.cli._commands import CommandError, Commands, new_parser

__all__ = ["main"]

_COMMANDS: Final = (
    "init",
    "check",
    "explain",
    "reveal",
    "coverage",
    "trace",
    "annotate",
    "record",
    "strip",
    "lsp",
    "mcp",
)
_COMPLETION_VARIABLE: Final = "_ARGCOMPLETE"


def parser() -> ArgumentParser:
    """Return the parser of the whole command line."""
    made = new_parser()
    commands = Commands(made)
    for name in _COMMANDS:
        import_module(f"shapecheck.cli.{name}").register(commands)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 all is well, 1 there are findings, 2 it can't be done.

    `arguments` are those after the program's name; without them, those of the process.
    """
    line = parser()
    if _COMPLETION_VARIABLE in os.environ:
        import argcomplete

        argcomplete.autocomplete(line)
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        line.print_help(sys.stderr)
        return 2
    end = given.index("--") if "--" in given else len(given)
    options, unknown = line.parse_known_args(given[:end])
    if unknown:
        # By the parser of the command, which knows what would be right.
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.rest = given[end + 1 :]
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except _refusals() as error:
        from shapecheck.cli._sources import shown

        said = "\n".join(map(shown, str(error).split("\n")))
        print(f"shapecheck {options.command}: error: {said}", file=sys.stderr)  # noqa: T201
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `shapecheck check | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return code


def _refusals() -> tuple[type[Exception], ...]:
    """Return what says that a command can't be carried out, asked for where anything is raised.

    The settings and the signature files of a project may be wrong in any command, and a signature
    is read when it is needed.
    """
    from shapecheck.config import ConfigError
    from shapecheck.signatures import StubError

    return CommandError, ConfigError, StubError
