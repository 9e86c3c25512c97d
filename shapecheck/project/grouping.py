"""Which files can be checked together: a module name is that of one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def groups(
    files: Iterable[T], base: Callable[[T], str | None], module: Callable[[T], str]
) -> list[list[T]]:
    """Divide files into groups in which each module name is that of one file.

    Files below one folder that modules are imported from, their `base`, stay together.
    """
    below: dict[str | None, list[T]] = {}
    for file in files:
        below.setdefault(base(file), []).append(file)
    found: list[tuple[set[str], list[T]]] = []
    for together in below.values():
        names = {module(file) for file in together}
        for taken, group in found:
            if taken.isdisjoint(names):
                taken |= names
                group += together
                break
        else:
            found.append((names, together))
    return [group for _, group in found]
