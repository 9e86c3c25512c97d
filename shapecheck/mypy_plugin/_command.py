"""`python -m shapecheck.mypy_plugin._command ARGUMENTS`: mypy with the plugin on, for programs.

The arguments and the configuration are mypy's own, and the plugin is added if they don't name it.
Each message is a line of JSON, as with `mypy --output=json`. The last line says how many files were
checked, how many can't be read where the others were checked nevertheless, whether an error kept
mypy from checking all of them, how many functions there are where no file says a shape (0 where
one does, or none has to do with tensors), and what the codes are about:
`{"checked": 3, "unread": 0, "blocked": false, "silent": 0, "codes": {"shape": "..."}}`; it is
missing where mypy crashed or couldn't begin. The exit code is mypy's.

Where torch isn't installed, mypy takes what is torch's for Any without a word, and one line on the
standard error says so (see `_without_torch`).

Three things that mypy refuses are seen to, the first two as long as the project doesn't configure
them. Where two files have the same module name, they are checked one after the other. Where folders
without an `__init__.py` give a file two names, or the name of a module of Python's own, files are
named by their path from here, as `--explicit-package-bases` does it. Where a file can't be read,
for its syntax or its encoding, mypy says so and stops; here it goes on without the file.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mypy import errorcodes
from mypy.defaults import RECURSION_LIMIT
from mypy.fscache import FileSystemCache
from mypy.main import process_options, run_build
from mypy.util import hard_exit

from shapecheck.mypy_plugin import _without_torch
from shapecheck.project import grouping
from shapecheck.project.relevance import functions_and_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from mypy.modulefinder import BuildSource
    from mypy.options import Options

    _Built: TypeAlias = tuple[list[str], bool]

_PLUGIN: Final = "shapecheck.mypy_plugin"
_ERROR: Final = '"severity": "error"'
_PLACE: Final = re.compile(
    r'\{"file": "(?P<json>(?:[^"\\]|\\.)*)"|(?P<plain>.+?):(?:\d+:)* error: '
)
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
    silent = 0 if outcome.says_shapes else outcome.functions
    if outcome.is_torch_missing and outcome.imports_torch:
        sys.stderr.write(f"{_without_torch.NOTICE}\n")
    counts = {"checked": outcome.checked, "unread": outcome.unread, "silent": silent}
    _say({**counts, "blocked": outcome.is_blocked, "codes": codes})
    return 2 if outcome.is_blocked else int(outcome.has_errors)


@dataclass(slots=True)
class _Outcome:
    """How many files mypy was given, whether it found an error, and whether one stopped it.

    `unread`: how many of them it couldn't read, where it was given the others. `functions`: how
    many are in files that have to do with tensors. `imports_torch`: one of them does, and
    `is_torch_missing`: mypy doesn't find it. `said`: the lines that were passed on.
    """

    checked: int = 0
    unread: int = 0
    functions: int = 0
    says_shapes: bool = False
    has_errors: bool = False
    is_blocked: bool = False
    imports_torch: bool = False
    is_torch_missing: bool = False
    said: set[str] = field(default_factory=set)

    def look_at(self, sources: Iterable[BuildSource]) -> None:
        """Take note of what files that were checked have to do with shapes and torch."""
        for source in sources:
            with suppress(OSError):
                text = Path(source.path or "").read_text("utf-8", errors="replace")
                functions, says_shape = functions_and_shapes(text)
                self.functions += functions
                self.says_shapes |= says_shape
                self.imports_torch |= _without_torch.imports_torch(text)


class _Held(io.StringIO):
    """Passes on what mypy says, each line once; where `refused`, but for names that it refuses.

    mypy flushes after all messages of a module, and after all of those that stop it.
    """

    is_misnamed = False

    def __init__(self, said: set[str], *, refused: bool) -> None:
        super().__init__()
        self._said, self._refused = said, refused

    def flush(self) -> None:
        """Pass on what was written since the last time."""
        lines = self.getvalue().splitlines(keepends=True)
        self.seek(0)
        self.truncate()
        if self._refused and any(words in line for line in lines for words in _MISNAMED):
            self.is_misnamed = True
            return
        sys.stdout.writelines(line for line in lines if line not in self._said)
        sys.stdout.flush()
        self._said.update(lines)


def _check(
    arguments: list[str], only: set[str] | None, cache: FileSystemCache, outcome: _Outcome
) -> None:
    """Run mypy over all that the arguments name, or `only` these paths of them."""
    found, options = _read(arguments, cache, warns=only is None)
    outcome.is_torch_missing = _without_torch.is_missing(found, options, cache)
    may_name_by_path = options.namespace_packages and not options.explicit_package_bases
    named = [one for one in found if only is None or one.path in only]
    for sources in groups(_each_once(named, arguments)):
        held = _Held(outcome.said, refused=may_name_by_path)

        def build(these: list[BuildSource], without: Iterable[BuildSource] = ()) -> _Built:
            # mypy changes the options of a run while it goes on.
            options = _read(arguments, cache, warns=False)[1]
            if outcome.is_torch_missing:
                _without_torch.forgive(options)
            for one in without:
                options.per_module_options.setdefault(one.module, {})["follow_imports"] = "skip"
            _, said, stops = run_build(these, options, cache, time.time(), held, held)  # noqa: B023
            return said, stops

        messages, is_stopped = build(sources)
        if held.is_misnamed:
            paths = {source.path for source in sources if source.path is not None}
            _check([_BY_PATH, *arguments], paths, cache, outcome)
            continue
        unread: list[BuildSource] = []
        while is_stopped and (bad := _unreadable(sources, messages, build)):
            outcome.is_blocked = True
            sources = [source for source in sources if source not in bad]
            if not sources:
                break
            unread += bad
            messages, is_stopped = build(sources, unread)
        outcome.checked += len(sources)
        outcome.look_at(sources)
        outcome.unread += len(unread)
        outcome.has_errors |= any(_ERROR in message for message in messages)
        outcome.is_blocked |= is_stopped


def _unreadable(
    sources: list[BuildSource], messages: list[str], build: Callable[[list[BuildSource]], _Built]
) -> list[BuildSource]:
    """Return the file that mypy stopped at, and those that it would stop at next.

    None where it stopped at something else. What it has to say of the others is said.
    """
    stop = _PLACE.match(messages[-1]) if messages else None
    if stop is None:
        return []
    blamed = os.path.realpath(json.loads(f'"{stop["json"]}"') if stop["json"] else stop["plain"])
    found = [one for one in sources if one.path and os.path.realpath(one.path) == blamed]
    if found:
        doubtful = (one for one in sources if one not in found and not _is_python(one.path))
        found += [one for one in doubtful if build([one])[1]]
    return found


def _is_python(path: str | None) -> bool:
    """Whether Python would read a file; mypy may, nevertheless, or not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(Path(path).read_bytes(), path, "exec", ast.PyCF_ONLY_AST) if path else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def groups(sources: Iterable[BuildSource]) -> list[list[BuildSource]]:
    """Divide the files into groups that mypy can check at once: one file for each module name."""
    return grouping.groups(sources, lambda one: one.base_dir, lambda one: one.module)


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
