"""`shapecheck record`: runs a program and keeps the shapes that its functions are called with."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from argparse import REMAINDER, Namespace
from pathlib import Path
from types import FrameType

from shapecheck.cli._commands import CommandError, Commands
from shapecheck.extras import is_installed, needs
from shapecheck.record import RECORD

_DESCRIPTION = """\
Runs a command, and records which shapes the functions of your project are called with and
return: sizes, dtypes, devices, ints, and nothing else. `shapecheck annotate` makes
annotations of that. Several processes may write to one record, and what is recorded by a
second run is added.
"""
_EXAMPLES = """\
  shapecheck record -- pytest                 while the tests run
  shapecheck record -- python train.py        a script
  shapecheck record -p my_package -- make test

the exit code is the program's, or 2 where there is no such program, or no record can be written.
"""
_EVERY = 1.0  # seconds between two looks at how much is recorded


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "record",
        run,
        summary="run a program and record the shapes in it",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
        usage="shapecheck record [-h] [-o FILE] [-p NAME] [--] PROGRAM ...",
    )
    parser.add_argument(
        "program",
        nargs=REMAINDER,
        metavar="PROGRAM",
        help="what to run, with its arguments; what begins with a dash goes after --",
    )
    parser.add_argument(
        "-o", "--output", default=RECORD, metavar="FILE", help="the record (default: %(default)s)"
    )
    parser.add_argument(
        "-p",
        "--package",
        action="append",
        default=[],
        metavar="NAME",
        help="a package to record; may be given several times (default: all in this folder)",
    )


def run(options: Namespace) -> int:
    """Run the command; return the exit code of the program that is recorded."""
    from shapecheck.record import hook
    from shapecheck.record.store import RecordProblem, create

    given = [*options.program, *(["--"] if options.program and options.rest else []), *options.rest]
    if not given:
        raise CommandError("what to run is missing: shapecheck record -- pytest")
    file = Path(options.output).absolute()
    try:
        create(file)
    except RecordProblem as error:
        raise CommandError(str(error)) from None
    site = Path(hook.__file__).parent / "site"
    path = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        hook.FILE: str(file),
        hook.ROOT: str(Path.cwd()),
        hook.PACKAGES: ",".join(options.package),
        "PYTHONPATH": os.pathsep.join(path),
    }
    command = _command(given)
    if shutil.which(command[0]) is None:
        raise CommandError(f"there is no command {command[0]}")
    with tempfile.TemporaryDirectory(prefix="shapecheck-", ignore_cleanup_errors=True) as errors:
        environment[hook.ERRORS] = errors
        with subprocess.Popen(command, env=environment) as process:
            code = _wait(process, file)
        _tell_errors(Path(errors))
    _summarize(file, options)
    return code


def _command(given: list[str]) -> list[str]:
    """Return a command with its script run by us, where Python would run it."""
    from shapecheck.record.hook import script_at, watched_command

    is_python = re.fullmatch(r"python[\d.]*(?:\.exe)?", Path(given[0]).name)
    if is_python and (at := script_at(given)) is not None:
        return watched_command(given, at)
    return watched_command([sys.executable, *given], 1) if given[0].endswith(".py") else given


def _wait(process: subprocess.Popen[bytes], file: Path) -> int:
    """Wait for the end of a program; what ends us is the program's, what it has seen is kept."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to both
    before_end = signal.signal(signal.SIGTERM, hand_on)
    try:
        code = _shown_while_it_runs(process, file)
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, before_end)
    return code if code >= 0 else 128 - code


def _shown_while_it_runs(process: subprocess.Popen[bytes], file: Path) -> int:
    """Wait, and tell on a terminal how much is recorded, unless the program writes there itself."""
    from rich.console import Console

    from shapecheck.record.store import amount, in_words

    console = Console(file=sys.stderr)
    if not console.is_terminal or sys.stdout.isatty():
        return process.wait()
    with console.status("recording") as status:
        while (code := _code_of(process, _EVERY)) is None:
            status.update(f"recording: {in_words(*amount(file))}")
    return code


def _code_of(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Return a process's exit code if it ends in the time given."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _tell_errors(folder: Path) -> None:
    """Say once what has ended several ranks, as their output has it once for each.

    Not where each rank has a `shapecheck record` of its own, as under `torchrun`.
    """
    from shapecheck import distributed
    from shapecheck.record.ranks import merged

    if distributed.launched() is None:
        for text in merged(folder):
            print(f"shapecheck record: {text}", file=sys.stderr)  # noqa: T201


def _summarize(file: Path, options: Namespace) -> None:
    from shapecheck.record.store import RecordProblem, in_words, load

    shown = options.output
    try:
        found = load(file)
    except RecordProblem as error:
        raise CommandError(str(error)) from None
    amount = in_words(sum(one.calls for one in found.values()), len(found))
    size = file.stat().st_size / 1e6
    place = f"of {' or '.join(options.package)}" if options.package else "below this folder"
    if found:
        text = f"{amount} in {shown} ({size:.1f} MB)"
    elif is_installed("torch"):
        text = f"{shown} holds no calls: no function {place} was imported and called"
    else:
        text = f"{shown} holds no calls: {needs('a program with tensors', 'torch')}"
    print(f"shapecheck record: {text}", file=sys.stderr)  # noqa: T201
