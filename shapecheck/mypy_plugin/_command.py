"""`python -m shapecheck.mypy_plugin._command ARGUMENTS`: mypy with the plugin on, for programs.

The arguments and the configuration are mypy's own, and the plugin is added if they don't name it.
Each message is a line of JSON, as with `mypy --output=json`. The last line says how many files were
checked, whether an error kept mypy from checking all of them, and what the codes are about:
`{"checked": 3, "blocked": false, "codes": {"shape": "..."}}`; it is missing where mypy crashed or
couldn't begin. The exit code is mypy's.

Two things that mypy refuses are seen to, as long as the project doesn't configure them. Where two
files have the same module name, they are checked one after the other. Where folders without an
`__init__.py` give a file two names, or the name of a module of Python's own, files are named by
their path from here, as `--explicit-package-bases` does it.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mypy import errorcodes
from mypy.defaults import RECURSION_LIMIT
from mypy.fscache import FileSystemCache
from mypy.main import process_options, run_build
from mypy.util import hard_exit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mypy.modulefinder import BuildSource
    from mypy.options import Options

_PLUGIN: Final = "shapecheck.mypy_plugin"
_ERROR: Final = '"severity": "error"'
_INTERRUPTED: Final = 130
_BY_PATH: Final = "--explicit-package-bases"
_MISNAMED: Final = (
    "Source file found twice under different module names",
    "This file shadows library module",
    "is not a valid Python package name",
)


def run(arguments: list[str]) -> int:
    """Run mypy over what the arguments or the configuration name, else over this folder.

    Exits with mypy's message and code where the arguments or the configuration can't be used.
    """
    sys.setrecursionlimit(RECURSION_LIMIT)
    outcome = _Outcome()
    _check(arguments, None, FileSystemCache(), outcome)
    codes = {code.code: code.description for code in errorcodes.error_codes.values()}
    _say({"checked": outcome.checked, "blocked": outcome.is_blocked, "codes": codes})
    return 2 if outcome.is_blocked else int(outcome.has_errors)


@dataclass(slots=True)
class _Outcome:
    """How many files mypy was given, whether it found an error, and whether one stopped it."""

    checked: int = 0
    has_errors: bool = False
    is_blocked: bool = False


class _Held(io.StringIO):
    """Keeps what mypy says of files whose module names it refuses, and passes on all else.

    mypy flushes after all messages of a module, and after all of those that stop it.
    """

    is_misnamed = False

    def flush(self) -> None:
        """Pass on what was written since the last time."""
        said = self.getvalue()
        self.seek(0)
        self.truncate()
        if any(words in said for words in _MISNAMED):
            self.is_misnamed = True
            return
        sys.stdout.write(said)
        sys.stdout.flush()


def _check(
    arguments: list[str], only: set[str] | None, cache: FileSystemCache, outcome: _Outcome
) -> None:
    """Run mypy over all that the arguments name, or `only` these paths of them."""
    found, options = _read(arguments, cache, warns=only is None)
    may_name_by_path = options.namespace_packages and not options.explicit_package_bases
    named = [one for one in found if only is None or one.path in only]
    for sources in groups(_each_once(named, arguments)):
        # mypy changes the options of a run while it goes on.
        options = _read(arguments, cache, warns=False)[1]
        held = _Held()
        stream = held if may_name_by_path else sys.stdout
        _, messages, is_stopped = run_build(sources, options, cache, time.time(), stream, stream)
        if held.is_misnamed:
            paths = {source.path for source in sources if source.path is not None}
            _check([_BY_PATH, *arguments], paths, cache, outcome)
            continue
        outcome.checked += len(sources)
        outcome.has_errors |= any(_ERROR in message for message in messages)
        outcome.is_blocked |= is_stopped


def groups(sources: Iterable[BuildSource]) -> list[list[BuildSource]]:
    """Divide the files into groups that mypy can check at once: one file for each module name.

    Files below one folder that modules are imported from stay together.
    """
    below: dict[str | None, list[BuildSource]] = {}
    for source in sources:
        below.setdefault(source.base_dir, []).append(source)
    found: list[tuple[set[str], list[BuildSource]]] = []
    for together in below.values():
        names = {source.module for source in together}
        for taken, group in found:
            if taken.isdisjoint(names):
                taken |= names
                group += together
                break
        else:
            found.append((names, together))
    return [group for _, group in found]


def _each_once(sources: Iterable[BuildSource], arguments: list[str]) -> Iterator[BuildSource]:
    """Leave out files that links lead to again, and links in folders that lead nowhere."""
    seen: set[str] = set()
    for source in sources:
        if source.path is None:
            yield source
            continue
        path = os.path.realpath(source.path)
        if path not in seen and (source.path in arguments or Path(path).exists()):
            seen.add(path)
            yield source


def _read(
    arguments: list[str], cache: FileSystemCache, *, warns: bool
) -> tuple[list[BuildSource], Options]:
    """Return the files and the options; say what mypy warns of in its configuration, or not."""
    said = io.StringIO()
    try:
        sources, options = process_options(
            arguments, stderr=said, require_targets=False, fscache=cache
        )
        if not sources:
            said = io.StringIO()
            sources, options = process_options([*arguments, "."], stderr=said, fscache=cache)
    except SystemExit:
        if _BY_PATH not in arguments and any(words in said.getvalue() for words in _MISNAMED):
            return _read([_BY_PATH, *arguments], cache, warns=warns)
        sys.stderr.write(said.getvalue())
        raise
    if warns:
        sys.stderr.write(said.getvalue())
    options.output = "json"
    options.show_column_numbers = options.show_error_end = True
    # Without a configuration mypy loads no plugins. This one needn't exist: its folder matters.
    options.config_file = options.config_file or "pyproject.toml"
    if not any(name.partition(":")[0] == _PLUGIN for name in options.plugins):
        options.plugins = [*options.plugins, _PLUGIN]
    return sources, options


def _say(what: dict[str, object]) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        hard_exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        hard_exit(_INTERRUPTED)
