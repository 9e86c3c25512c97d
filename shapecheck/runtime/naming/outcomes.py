"""Where what was found out once is kept: a rule is asked again only for what wasn't seen before."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Outcomes(dict[K, V]):
    """A table of at most so many outcomes: where it is full, the oldest quarter of them leaves."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def keep(self, key: K, outcome: V) -> V:
        """Keep an outcome, and return it."""
        if len(self) >= self.most:
            for oldest in [*self][: len(self) - self.most + self.most // 4 + 1]:
                self.pop(oldest, None)
        self[key] = outcome
        return outcome
