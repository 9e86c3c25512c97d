"""`python -m shapecheck.mypy_plugin._command ARGUMENTS`: mypy with the plugin on, for programs.

The arguments and the configuration are mypy's own, and the plugin is added if they don't name it.
Each message is a line of JSON, as with `mypy --output=json`; the last line says how many files were
checked, `{"checked": 3}`, unless mypy could not begin. The exit code is mypy's.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Final

from mypy.defaults import RECURSION_LIMIT
from mypy.fscache import FileSystemCache
from mypy.main import process_options, run_build
from mypy.util import hard_exit

if TYPE_CHECKING:
    from mypy.modulefinder import BuildSource
    from mypy.options import Options

_PLUGIN: Final = "shapecheck.mypy_plugin"


def run(arguments: list[str]) -> int:
    """Run mypy over what the arguments or the configuration name, else over this folder.

    Exits with mypy's message and code where the arguments or the configuration can't be used.
    """
    sys.setrecursionlimit(RECURSION_LIMIT)
    cache = FileSystemCache()
    sources, options = _read_options(arguments, cache)
    options.output = "json"
    options.show_column_numbers = options.show_error_end = True
    # Without a configuration mypy loads no plugins. This one needn't exist: its folder matters.
    options.config_file = options.config_file or "pyproject.toml"
    if not any(name.partition(":")[0] == _PLUGIN for name in options.plugins):
        options.plugins = [*options.plugins, _PLUGIN]
    _, messages, is_blocked = run_build(
        sources, options, cache, time.time(), sys.stdout, sys.stderr
    )
    print(json.dumps({"checked": len(sources)}), flush=True)  # noqa: T201
    if is_blocked:
        return 2
    return int(any('"severity": "error"' in message for message in messages))


def _read_options(
    arguments: list[str], cache: FileSystemCache
) -> tuple[list[BuildSource], Options]:
    sources, options = process_options(arguments, require_targets=False, fscache=cache)
    if not sources:
        sources, options = process_options([*arguments, "."], fscache=cache)
    return sources, options


if __name__ == "__main__":
    hard_exit(run(sys.argv[1:]))
