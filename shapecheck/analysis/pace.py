"""How many steps the analysis of a call takes, told so that a small edit mostly changes nothing."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, NamedTuple

LEVELS: Final = (0, 1, *(level << exponent for exponent in range(40) for level in (2, 3)))
"""The numbers of steps that calls may take: few, so that calls with about as many are alike."""

UNBOUND: Final = 1 << 40
"""As many steps as there may be."""

_FEW: Final = 16
"""Fewer steps than these aren't told apart, so that a small edit of a small function is one."""

_TOLERATED: Final = 2
"""So many times the steps may an answer take that it took: half of what would have been close."""


def level_above(steps: int) -> int:
    """Return the least level at which so many steps may be taken."""
    return LEVELS[bisect_left(LEVELS, steps)]


class Pace(NamedTuple):
    """How many steps a call `took`, and how many it `needed` for each call in it to be run.

    Who makes the call is charged `steps`, and may make it where it can spare what it `needs`.
    """

    steps: int
    needs: int
    took: int
    needed: int

    @staticmethod
    def of(took: int, needed: int) -> Pace:
        """Return that of a call that took so many steps; it needs those, too."""
        needed = max(took, needed)
        return Pace(_rounded(took), level_above(max(needed, _FEW)), took, needed)

    def is_near(self, now: Pace) -> bool:
        """Whether another number of steps is of no account, unless it was close."""
        return now.steps <= _TOLERATED * self.steps and now.needs <= _TOLERATED * self.needs

    def more(self, now: Pace) -> int:
        """Return by how many steps who makes the call is charged more or less than before.

        It is `UNBOUND` where there must be more or fewer to spare, which may be of any account.
        """
        return abs(now.steps - self.steps) if now.needs == self.needs else UNBOUND

    def drift(self, now: Pace) -> int:
        """Return by how many steps it may be off what it is taken for."""
        return max(abs(now.took - self.took), abs(now.needed - self.needed))

    def later(self, more: int) -> int:
        """Return what `more` does, at most, if what is called takes so many more or fewer steps."""
        if not 0 < more < UNBOUND:
            return min(more, UNBOUND)
        most = Pace.of(self.took + more, self.needed + more)
        least = Pace.of(max(self.took - more, 0), max(self.needed - more, 0))
        return max(self.more(most), self.more(least))


def _rounded(steps: int) -> int:
    """Return a number of steps that is mostly the same where there are a few more or fewer."""
    unit = max(_FEW // 2, 1 << max(steps.bit_length() - 4, 0))
    return -(-steps // unit) * unit
