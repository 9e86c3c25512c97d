"""mypy where torch isn't installed: nothing is asked about types that nobody can know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mypy.build import default_data_dir
from mypy.modulefinder import FindModuleCache, compute_search_paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy.fscache import FileSystemCache
    from mypy.modulefinder import BuildSource
    from mypy.options import Options

NOTICE: Final = (
    "torch isn't installed here: types from it aren't checked, shapes are; "
    'pip install "torch-shapecheck[torch]" brings it'
)
_PACKAGES: Final = ("torch", "functorch")
_IMPORT: Final = re.compile(
    rf"^[ \t]*(?:from|import)[ \t]+(?:{'|'.join(_PACKAGES)})\b", re.MULTILINE
)
_ABOUT_UNKNOWN_TYPES: Final = (
    "disallow_any_decorated",
    "disallow_any_expr",
    "disallow_any_unimported",
    "disallow_subclassing_any",
    "disallow_untyped_decorators",
    "warn_return_any",
    "warn_unused_ignores",
)
"""What mypy would hold against each line that has to do with a type from torch."""


def is_missing(sources: Iterable[BuildSource], options: Options, cache: FileSystemCache) -> bool:
    """Whether mypy finds neither torch nor stubs of it."""
    paths = compute_search_paths(list(sources), options, default_data_dir())
    return not isinstance(FindModuleCache(paths, cache, options).find_module("torch"), str)


def forgive(options: Options) -> None:
    """Have mypy take what is torch's for Any, without a word."""
    for name in _ABOUT_UNKNOWN_TYPES:
        setattr(options, name, False)
        for section in options.per_module_options.values():
            section.pop(name, None)
    for package in _PACKAGES:
        section = options.per_module_options.setdefault(f"{package}.*", {})
        section.update(ignore_missing_imports=True, follow_imports="normal")


def imports_torch(text: str) -> bool:
    """Whether a file would import torch."""
    return _IMPORT.search(text) is not None
