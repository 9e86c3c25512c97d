"""`shapecheck annotate`: writes annotations into code that has none."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shapecheck.cli._changes import add_arguments, files_of, print_diff, tell
from shapecheck.cli._commands import CommandError, Commands, plural
from shapecheck.record import RECORD

_DESCRIPTION = """\
Finds out which shapes functions take and give, and annotates them. Without --write it
prints the change as a diff and leaves all files as they are.

Each annotation is verified by the static analysis before it is proposed. What would draw a
complaint isn't written, and told as a possible bug.
"""
_EXAMPLES = """\
  shapecheck annotate src/             show what would be annotated
  shapecheck annotate src/ --write     annotate
  shapecheck annotate --from comments  from comments such as  # (B, T, C)  alone

the exit code is 0, or 1 where a file can't be read or written, or 2 where nothing can be done.
"""


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "annotate",
        run,
        summary="write annotations, from comments, from a record, or by analysis",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    add_arguments(parser)
    origins = parser.add_argument(
        "--from",
        dest="origins",
        action="append",
        metavar="SOURCE",
        help="where annotations come from: torchtyping, comments, docstrings, record, static; "
        "several with commas between them or by repeating the option (default: all)",
    )
    origins.completer = _complete_origins  # type: ignore[attr-defined]  # argcomplete looks for it
    parser.add_argument(
        "--style",
        choices=("shapecheck", "jaxtyping"),
        default="shapecheck",
        help="the library whose types are written (default: %(default)s)",
    )
    parser.add_argument(
        "--record",
        action="append",
        default=[],
        metavar="FILE",
        help="what `shapecheck record` has written; may be given several times (default: "
        ".shapecheck-record.sqlite, if there)",
    )
    parser.add_argument(
        "--despite-complaints",
        action="store_true",
        help="also annotate functions in which the analysis then finds an error",
    )


def _complete_origins(prefix: str, **_: Any) -> list[str]:
    """Return what a shell may complete a list of sources to."""
    from shapecheck.codemod.annotate import SOURCES

    before, comma, _last = prefix.rpartition(",")
    return [f"{before}{comma}{one}" for one in SOURCES if one not in before.split(",")]


@contextmanager
def _progress() -> Iterator[Callable[[str, int], None]]:
    """Show on a terminal what is done and of how many lines; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    console = Console(stderr=True)
    # It refreshes itself without a thread: half of the work is done by a copy of this process.
    shown = {"transient": True, "auto_refresh": False, "disable": not console.is_terminal}
    with Progress(*columns, console=console, **shown) as progress:  # type: ignore[arg-type]
        task = progress.add_task("reading", total=None)
        lines: Counter[str] = Counter()

        def advance(what: str, count: int) -> None:
            lines[what] += count
            progress.update(task, description=f"{what}: {lines[what]:,} lines", refresh=True)

        yield advance


def run(options: Namespace) -> int:
    """Run the command; return 0, or 1 where a file couldn't be read or written."""
    from shapecheck.analysis import Options
    from shapecheck.cli._settings import settings as project_settings
    from shapecheck.codemod.annotate import SOURCES, Settings, annotate_files
    from shapecheck.codemod.project.files import FileProblem, write
    from shapecheck.codemod.verify.doubts import in_words
    from shapecheck.many_objects import many_objects
    from shapecheck.record.store import RecordProblem, load_all

    origins = tuple(o for given in options.origins or [",".join(SOURCES)] for o in given.split(","))
    for origin in origins:
        if origin not in SOURCES:
            raise CommandError(f"--from {origin}: choose from {', '.join(SOURCES)}")
    paths = files_of(options.paths)
    found = project_settings()
    record = None
    records = [Path(file) for file in options.record or [RECORD]]
    if "record" in origins and (options.record or options.origins or records[0].exists()):
        try:
            record = load_all(records)
        except RecordProblem as error:
            raise CommandError(str(error)) from None
    analysis = Options(found.strict, found.stubs, found.wrappers)
    settings = Settings(origins, options.style, options.despite_complaints, record, analysis)
    with _progress() as advance, many_objects():
        outcome = annotate_files(paths, settings, advance)
    problems = [*outcome.problems]
    for changed in outcome.changed:
        if not options.write:
            print_diff(changed.file.path, changed.file.text, changed.text)
            continue
        try:
            write(changed.file, changed.text)
        except FileProblem as error:
            problems.append(str(error))
    for line in (line for doubt in outcome.doubts for line in in_words(doubt)):
        tell(line)
    told = {doubt.message for doubt in outcome.doubts}
    for refusal in (one for one in outcome.refused if one.reason not in told):
        where = f"{refusal.path}:{refusal.line}"
        tell(f"{where}: {refusal.function} is left as it is: {refusal.reason}")
    for problem in problems:
        tell(problem)
    slots = sum(len(changed.proposals) for changed in outcome.changed)
    places, files = plural(slots, "annotation"), plural(len(outcome.changed), "file")
    done = "written into" if options.write else "proposed for"
    tell(f"{places} {done} {files}" + ("" if options.write else "; --write writes them"))
    return 1 if problems else 0
