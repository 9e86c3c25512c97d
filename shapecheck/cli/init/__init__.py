"""`shapecheck init`: looks at a repository, has mypy load the plugin, checks, says what is next."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shapecheck.cli._changes import files_of, print_diff
from shapecheck.cli._commands import (
    CommandError,
    Commands,
    add_color_option,
    plural,
    wants_color,
)

if TYPE_CHECKING:
    from shapecheck.cli.init.survey import Survey
    from shapecheck.project.mypy_setup import Setup

_DESCRIPTION: Final = """\
The first thing to run in a repository: says how many of its tensors have a shape, and in which
library's types; shows the two lines by which mypy loads the plugin, and writes them when you say
yes; checks the shapes, without mypy and without running anything; and says what to do next.
"""
_EXAMPLES: Final = """\
  shapecheck init          in the folder of the project; asks before it writes
  shapecheck init --write  writes without asking
  shapecheck init </dev/null
                           shows what it would write, and leaves it at that

the exit code is 0, or 2 where it can't be done. Errors that are found don't count here.
"""
_INDENT: Final = "  "


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "init",
        run,
        summary="set a project up: look, configure mypy, check, and what is next",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    parser.add_argument("--write", action="store_true", help="write without asking")
    add_color_option(parser)


def run(options: Namespace) -> int:
    """Run the command; return 0."""
    from shapecheck.cli.init.survey import survey

    seen = survey(files_of(["."]))
    for line in in_words(seen):
        _say(line)
    _set_up(write=options.write)
    errors = _check(options)
    _say(f"\nNext: {_next_step(seen, errors)}")
    return 0


def in_words(seen: Survey) -> Iterator[str]:
    """Yield what a repository says of shapes, line by line."""
    files = plural(seen.files, "Python file")
    if not seen.with_tensors:
        yield f"{files}, none of which uses torch"
        return
    yield f"{files}, {seen.with_tensors} of which {_verb(seen.with_tensors, 'use')} torch"
    said = seen.shaped.total()
    if said:
        libraries = ", ".join(f"{count} of {name}" for name, count in seen.shaped.most_common())
        other = f"; {_plain(seen.unshaped)}" if seen.unshaped else ""
        yield f"{plural(said, 'annotation')} with a shape ({libraries}){other}"
    elif seen.unshaped:
        yield f"no annotation says a shape; {_plain(seen.unshaped)}"
    else:
        yield "no annotation says that something is a tensor"


def _plain(count: int) -> str:
    return f"{count} {_verb(count, 'say')} Tensor alone"


def _verb(count: int, verb: str) -> str:
    return f"{verb}s" if count == 1 else verb


def _set_up(*, write: bool) -> None:
    """Show how mypy comes to load the plugin, and write it where that is wanted."""
    from shapecheck.project.mypy_setup import SetupError, find

    try:
        setup = find()
    except SetupError as error:
        _say(f"mypy's plugin isn't on: {error}")
        return
    if setup.after is None:
        _say(f"mypy's plugin is on, in {setup.path}")
        return
    where = f"configured in {setup.path}" if setup.is_configured else "not configured here"
    _say(f"mypy is {where}; so that it finds shape bugs too:\n")
    print_diff(setup.path, setup.before or "", setup.after)
    if write or _agreed(setup):
        _write(setup)
        _say(f"\n{setup.path} written")
    else:
        _say("\nnothing written; `shapecheck init --write` does it")


def _agreed(setup: Setup) -> bool:
    """Whether somebody is there to ask, and agrees."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        answer = input(f"\nWrite this to {setup.path}? [Y/n] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("", "y", "yes")


def _write(setup: Setup) -> None:
    from shapecheck.codemod.project.files import FileProblem, PythonFile, write
    from shapecheck.codemod.project.replacing import replace

    after = setup.after or ""
    try:
        if setup.before is None:
            replace(setup.path, after.encode(), durable=True)
        else:
            content = setup.before.encode()
            write(PythonFile(setup.path, setup.before, "utf-8", content), after)
    except FileProblem as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"{setup.path}: can't be written: {error.strerror}") from None


def _check(options: Namespace) -> int:
    """Check the shapes as `shapecheck check --only-shapes` does; return how many are wrong."""
    from shapecheck.cli.check.alone import found_alone
    from shapecheck.cli.check.text import TextReport

    _say("\n$ shapecheck check --only-shapes")
    given = Namespace(paths=[], rest=[], config_file=None, shard=None, verbose=False)
    found, outcome = found_alone(given)
    report = TextReport(sys.stdout, color=wants_color(sys.stdout, options.color))
    for finding in found:
        report.add(finding)
    report.finish(outcome, only_shapes=True)
    for remark in outcome.remarks:
        sys.stderr.write(f"{remark}\n")
    return sum(finding.is_error for finding in found)


def _next_step(seen: Survey, errors: int) -> str:
    """Return the one thing to do now."""
    if errors:
        them = "this error" if errors == 1 else f"these {errors} errors, from the first one on"
        return (
            f"look at {them}. Is one wrong? `# type: ignore[shape]` silences it, and we want to "
            "know of it"
        )
    if not seen.with_tensors:
        return "run it where the models are"
    if not seen.shaped:
        return (
            "`shapecheck annotate` shows the shapes that the code and its comments imply; "
            "`--write` writes them"
        )
    if seen.unshaped > seen.shaped.total():
        return f"`shapecheck annotate` writes shapes where {seen.unshaped} annotations say Tensor"
    return "put `shapecheck check --output github` into CI, so that it stays so"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
