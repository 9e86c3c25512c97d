"""The settings that change what is said of a program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of `[tool.shapecheck]` that change verdicts.

    `strict`: also report equations that an annotation doesn't promise.
    `stubs`: folders with signature files of the user's own, searched before the shipped ones.
    `wrappers`: dotted names that stand for an annotation: `my.Float["b c"]`.
    """

    strict: bool = False
    stubs: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
