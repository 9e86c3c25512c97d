"""Names of a package that are imported when somebody first asks for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def late_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package: which module has each of the names that it hands out.

    What it returns raises AttributeError for any other name, as Python does.
    """

    def get(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return get


def homes_of(names_in: Mapping[str, str]) -> dict[str, str]:
    """Return for each name its module, where the names in each module are given as one text."""
    return {name: home for home, names in names_in.items() for name in names.split()}
