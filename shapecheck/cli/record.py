"""`shapecheck record`: runs a program and keeps the shapes that its functions are called with."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from shapecheck.cli._commands import CommandError, Commands

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
"""
DEFAULT = ".shapecheck-record.sqlite"


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "record",
        run,
        summary="run a program and record the shapes in it",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "-o", "--output", default=DEFAULT, metavar="FILE", help="the record (default: %(default)s)"
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

    if not options.rest:
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
    command = _command(options.rest)
    if shutil.which(command[0]) is None:
        raise CommandError(f"there is no command {command[0]}")
    with subprocess.Popen(command, env=environment) as process:
        code = _wait(process)
    _summarize(file, options.output)
    return code


def _command(given: list[str]) -> list[str]:
    """Return a command with its script run by us, where Python would run it."""
    is_python = re.fullmatch(r"python[\d.]*(?:\.exe)?", Path(given[0]).name)
    at = 1
    while is_python and at < len(given) and given[at] in ("-u", "-B", "-O", "-q"):
        at += 1
    if is_python and at < len(given) and not given[at].startswith("-"):
        return [*given[:at], "-m", "shapecheck.record.script", *given[at:]]
    if given[0].endswith(".py"):
        return [sys.executable, "-m", "shapecheck.record.script", *given]
    return given


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a program; Ctrl-C is the program's, what it has seen is kept."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code


def _summarize(file: Path, shown: str) -> None:
    from shapecheck.record.store import RecordProblem, load

    try:
        found = load(file)
    except RecordProblem as error:
        raise CommandError(str(error)) from None
    calls = sum(one.calls for one in found.values())
    size = file.stat().st_size / 1e6
    text = (
        f"{calls:,} calls of {len(found):,} functions in {shown} ({size:.1f} MB)"
        if found
        else f"{shown} holds no calls: no function below this folder was imported and called"
    )
    print(f"shapecheck record: {text}", file=sys.stderr)  # noqa: T201
