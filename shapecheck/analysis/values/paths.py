"""Paths by which a program gets to an instance: a text, or that of one among several alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar


@dataclass(frozen=True, slots=True)
class AmongSeveral:
    """The path to, or from, an instance that is one of several, all of which are at `path`.

    `number` says which one it is, and `rest` how the program goes on from there, `.width`. See
    decisions.md, "Each of several instances has sizes of its own".
    """

    path: str
    number: int
    rest: str = ""

    def __add__(self, more: str) -> AmongSeveral:
        return AmongSeveral(self.path, self.number, self.rest + more)

    def __str__(self) -> str:
        return self.path + self.rest


AccessPath: TypeAlias = str | AmongSeveral
"""`self.blocks`. To go on, add `".width"` or `"[0]"`; the text of either kind is its `str`."""


_Path = TypeVar("_Path", bound=Hashable)


class Numbers:
    """Tells things that are alike from one another; `given` is how often that was asked for."""

    def __init__(self) -> None:
        self.given = 0

    def another(self) -> int:
        """Return the number of another thing."""
        self.given += 1
        return self.given


NUMBERS: Final = Numbers()


def one_of(path: AccessPath) -> AmongSeveral:
    """Return the path of an instance that is one of several, all of which are at `path`."""
    return AmongSeveral(str(path), NUMBERS.another())


def renumbered(path: _Path, number: Callable[[int], int]) -> _Path | AmongSeveral:
    """Return a path with another number in the place of its own; itself if it has none."""
    match path:
        case AmongSeveral(path=shared, number=old, rest=rest):
            new = number(old)
            return path if new == old else AmongSeveral(shared, new, rest)
    return path


def is_one(path: AccessPath | None) -> bool:
    """Whether a path is that of one instance of several, or goes on from there."""
    return isinstance(path, AmongSeveral)


def parent(path: AccessPath) -> AccessPath:
    """Return the path without the last name, which may be the one that leads to several."""
    match path:
        case AmongSeveral(path=shared, number=number, rest=rest) if "." in rest:
            return AmongSeveral(shared, number, rest.rpartition(".")[0])
    return str(path).rpartition(".")[0]
