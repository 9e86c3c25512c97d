"""The mypy plugin: `plugins = ["shapecheck.mypy_plugin"]`.

mypy hashes this one file to decide whether its cache of everything, torch included, is still good.
So it holds the entry point and nothing that changes; the plugin itself is in `_plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.version import __version__ as _mypy_version

from shapecheck.mypy_plugin._versions import require_mypy

if TYPE_CHECKING:
    from mypy.plugin import Plugin

# mypy prints an exception of this import as an error at its `plugins` setting, and stops.
require_mypy(_mypy_version)


def plugin(version: str) -> type[Plugin]:
    """Return the plugin class; mypy's entry point, called with mypy's version."""
    require_mypy(version)
    from shapecheck.mypy_plugin._plugin import ShapecheckPlugin

    return ShapecheckPlugin
