"""`shapecheck strip`: takes shape annotations out of code."""

from __future__ import annotations

from argparse import Namespace

from shapecheck.cli._changes import add_arguments, files_of, print_diff, tell
from shapecheck.cli._commands import Commands, plural

_DESCRIPTION = """\
Takes all shape annotations out: Float[Tensor, "b c"] becomes Tensor, and what `shapecheck
annotate` wrote where there was nothing goes altogether, with its imports. Without --write
it prints the change as a diff.
"""
_EXAMPLES = """\
  shapecheck strip src/            show what would go
  shapecheck strip src/ --write    take it out
  shapecheck strip model.py        of one file

the exit code is 0, or 1 where a file can't be read or written, or 2 where nothing can be done.
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
    add_arguments(parser)


def run(options: Namespace) -> int:
    """Run the command; return 0, or 1 where a file couldn't be read or written."""
    import libcst

    from shapecheck.codemod.project.files import FileProblem, read, write
    from shapecheck.codemod.strip import strip

    problems = []
    changed = 0
    for path in files_of(options.paths):
        try:
            file = read(path)
            text = strip(file.text)
            if text == file.text:
                continue
            changed += 1
            if options.write:
                write(file, text)
            else:
                print_diff(path, file.text, text)
        except FileProblem as error:
            problems.append(str(error))
        except (libcst.ParserSyntaxError, SyntaxError) as error:
            line = getattr(error, "raw_line", None) or getattr(error, "lineno", None) or 1
            problems.append(f"{path}:{line}: can't be parsed")
    for problem in problems:
        tell(problem)
    done = "changed" if options.write else "would change; --write changes them"
    tell(f"{plural(changed, 'file')} {done}")
    return 1 if problems else 0
