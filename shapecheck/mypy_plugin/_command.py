"""`python -m shapecheck.mypy_plugin._command ARGUMENTS`: mypy with the plugin on, for programs.

The arguments and the configuration are mypy's own, and the plugin is added if they don't name it.
Each message is a line of JSON, as with `mypy --output=json`. The last line says how many files were
checked, whether an error kept mypy from checking all of them, and what the codes are about:
`{"checked": 3, "blocked": false, "codes": {"shape": "..."}}`; it is missing where mypy crashed or
couldn't begin. The exit code is mypy's.

Where two files have the same module name, which mypy refuses, they are checked one after the other.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Final

from mypy import errorcodes
from mypy.defaults import RECURSION_LIMIT
from mypy.fscache import FileSystemCache
from mypy.main import process_options, run_build
from mypy.util import hard_exit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy.modulefinder import BuildSource
    from mypy.options import Options

_PLUGIN: Final = "shapecheck.mypy_plugin"
_ERROR: Final = '"severity": "error"'
_INTERRUPTED: Final = 130


def run(arguments: list[str]) -> int:
    """Run mypy over what the arguments or the configuration name, else over this folder.

    Exits with mypy's message and code where the arguments or the configuration can't be used.
    """
    sys.setrecursionlimit(RECURSION_LIMIT)
    cache = FileSystemCache()
    checked, has_errors, is_blocked = 0, False, False
    for sources in groups(_read(arguments, cache)[0]):
        # mypy changes the options of a run while it goes on.
        options = _read(arguments, cache)[1]
        _, messages, is_stopped = run_build(
            sources, options, cache, time.time(), sys.stdout, sys.stdout
        )
        checked += len(sources)
        has_errors |= any(_ERROR in message for message in messages)
        is_blocked |= is_stopped
    codes = {code.code: code.description for code in errorcodes.error_codes.values()}
    _say({"checked": checked, "blocked": is_blocked, "codes": codes})
    return 2 if is_blocked else int(has_errors)


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


def _read(arguments: list[str], cache: FileSystemCache) -> tuple[list[BuildSource], Options]:
    sources, options = process_options(arguments, require_targets=False, fscache=cache)
    if not sources:
        sources, options = process_options([*arguments, "."], fscache=cache)
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
