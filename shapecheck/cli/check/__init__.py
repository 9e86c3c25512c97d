"""`shapecheck check`: mypy with the plugin, without any configuration; or shapes without mypy."""

from __future__ import annotations

import io
import sys
from argparse import ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Final

from shapecheck.cli._commands import (
    CommandError,
    Commands,
    add_color_option,
    refuse_notebook,
    wants_color,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.status import Status

    from shapecheck.cli.check.reports import Report
    from shapecheck.project.findings import Finding, Outcome
    from shapecheck.project.sharding import Shard

_DESCRIPTION: Final = """\
Finds shape bugs without running anything: mypy, with the shapecheck plugin. Nothing needs to
be configured or annotated. Where the project configures mypy, that holds here too.

The first run takes 8 to 20 s, in which mypy reads torch; then it has torch in its cache.
With --only-shapes mypy isn't run: the same shape errors, by mypy's configuration, on all cores.
"""
_EPILOG: Final = """\
  shapecheck check                  what mypy's settings name, or this folder
  shapecheck check src/model.py     one file
  shapecheck check --only-shapes    what is about shapes, without mypy
  shapecheck check --only-shapes --watch
                                    after each change, what that changes
  shapecheck check --output github  annotations of a pull request, in a workflow
  shapecheck check -- --strict      what follows "--" goes to mypy
  shapecheck check --only-shapes --shard 2/8 --output sarif > 2.sarif
  shapecheck check --merge *.sarif  the parts of a run as one

the exit code is mypy's: 0 no errors, 1 errors, 2 it can't be checked (a syntax error, no such
file, a crash). `# type: ignore[shape]` silences an error.
"""
_FORMATS: Final = ("text", "json", "github", "gitlab", "sarif")


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "check",
        run,
        summary="find shape bugs: mypy with the plugin",
        description=_DESCRIPTION,
        examples=_EPILOG,
        usage="shapecheck check [OPTIONS] [PATH ...] [-- MYPY-OPTIONS]",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="a file or folder (default: what mypy's configuration names, or this folder)",
    )
    parser.add_argument(
        "--output",
        choices=_FORMATS,
        default="text",
        help="text (default); json: a line for each error, with mypy's keys; github: workflow "
        "commands; gitlab: a Code Quality report; sarif: SARIF 2.1.0",
    )
    parser.add_argument(
        "--only-shapes",
        action="store_true",
        help="without mypy: what is about shapes, and nothing else",
    )
    parser.add_argument(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="with --only-shapes: check one of N parts, each of which says its share",
    )
    parser.add_argument(
        "--merge",
        action="store_true",
        help="check nothing: the paths are reports of other runs, json or sarif; print them as one",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="with --only-shapes: stay, and say after each change of a file what that changes",
    )
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="with --only-shapes: say how much was analysed, and how much was known before",
    )
    parser.add_argument(
        "--config-file", metavar="FILE", help="mypy's configuration, where it isn't found by itself"
    )
    add_color_option(parser)
    parser.otherwise = '; options of mypy stand after "--"'


def _shard(text: str) -> Shard:
    from shapecheck.project.sharding import shard

    try:
        return shard(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def run(options: Namespace) -> int:
    """Run the command; return the exit code."""
    if options.shard is not None and not options.only_shapes:
        raise CommandError("--shard divides runs with --only-shapes; mypy's can't be divided")
    if options.verbose and not options.only_shapes:
        raise CommandError('--verbose goes with --only-shapes; mypy\'s own stands after "--"')
    if options.watch and not options.only_shapes:
        raise CommandError("--watch goes with --only-shapes; mypy has a daemon for that, dmypy")
    if options.watch and (options.shard or options.merge or options.output != "text"):
        raise CommandError("--watch prints text of all modules: it goes with no other output")
    if options.merge and not options.paths:
        raise CommandError("--merge needs reports to merge")
    from shapecheck.cli.check.reports import new_report

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    for path in options.paths:
        refuse_notebook(path)
    if options.watch:
        from shapecheck.cli.check.watching import watch

        watch(options)
    report = new_report(options.output, sys.stdout, color=wants_color(sys.stdout, options.color))
    if options.merge:
        from shapecheck.cli.check.merging import merged

        found, outcome = merged(options.paths)
        return _finish(report, found, outcome, options)
    if options.only_shapes:
        from shapecheck.cli.check.alone import found_alone

        found, outcome = found_alone(options)
        return _finish(report, found, outcome, options)
    return _through_mypy(report, options)


def _through_mypy(report: Report, options: Namespace) -> int:
    """Print what mypy finds while it goes on; return the exit code."""
    from shapecheck.cli._findings import Run

    mypy, waiting = Run(), _waiting()
    try:
        for finding in mypy.findings(_arguments(options)):
            waiting.stop()
            report.add(finding)
    finally:
        waiting.stop()
    return _finish(report, (), mypy, options)


def _finish(report: Report, found: Iterable[Finding], outcome: Outcome, options: Namespace) -> int:
    """Print what is found, and how the run ended; return the exit code."""
    for finding in found:
        report.add(finding)
    if options.output != "text" and outcome.advice is not None:
        outcome.remarks.append(outcome.advice)
    report.finish(outcome, only_shapes=options.only_shapes or options.merge)
    sys.stdout.flush()
    for remark in outcome.remarks:
        sys.stderr.write(f"{remark}\n")
    return outcome.exit_code


def _arguments(options: Namespace) -> list[str]:
    """Return mypy's arguments."""
    config = [f"--config-file={options.config_file}"] if options.config_file else []
    return [*config, *options.rest, *(["--", *options.paths] if options.paths else [])]


def _waiting() -> Status:
    """Return what moves on a terminal while mypy is at work; it isn't seen anywhere else."""
    from rich.console import Console

    console = Console(file=sys.stderr)
    status = console.status("mypy is at work; its first look at torch takes 8 to 20 s")
    if console.is_terminal:
        status.start()
    return status
