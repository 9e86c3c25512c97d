"""`shapecheck strip`: takes shape annotations out of code."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from shapecheck.cli._commands import CommandError, Commands

_DESCRIPTION = """\
Takes all shape annotations out: Float[Tensor, "b c"] becomes Tensor, and what `shapecheck
annotate` wrote where there was nothing goes altogether, with its imports. Without --write
it prints the change as a diff.
"""
_EXAMPLES = """\
  shapecheck strip src/            show what would go
  shapecheck strip src/ --write    take it out
"""


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "strip",
        run,
        summary="take shape annotations out again",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="a file or folder")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--diff", action="store_true", help="print the change (the default)")
    mode.add_argument("--write", action="store_true", help="change the files")


def run(options: Namespace) -> int:
    """Run the command; return 0, or 1 where a file couldn't be read or written."""
    import libcst

    from shapecheck.cli.annotate import diff
    from shapecheck.codemod.files import FileProblem, find, read, write
    from shapecheck.codemod.strip import strip

    try:
        paths = list(find(map(Path, options.paths)))
    except FileProblem as error:
        raise CommandError(str(error)) from None
    problems = []
    changed = 0
    for path in paths:
        try:
            file = read(path)
            text = strip(file.text)
            if text == file.text:
                continue
            changed += 1
            if options.write:
                write(file, text)
            else:
                sys.stdout.writelines(diff(path, file.text, text))
        except FileProblem as error:
            problems.append(str(error))
        except (libcst.ParserSyntaxError, SyntaxError) as error:
            line = getattr(error, "raw_line", None) or getattr(error, "lineno", None) or 1
            problems.append(f"{path}:{line}: can't be parsed")
    for problem in problems:
        print(problem, file=sys.stderr)  # noqa: T201
    files = f"{changed} file{'s' * (changed != 1)}"
    done = "changed" if options.write else "would change; --write changes them"
    print(f"{files} {done}", file=sys.stderr)  # noqa: T201
    return 1 if problems else 0
