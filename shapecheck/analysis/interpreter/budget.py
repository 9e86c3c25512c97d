"""How many steps the analysis of a body may take, and how deep it looks into what that calls."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from shapecheck.analysis.pace import LEVELS

MAX_STEPS: Final = 20_000
STEPS_A_LINE: Final = 20
SPARE_STEPS: Final = 1_000
LIBRARY_STEPS: Final = 64_000
"""As many a call of a library may take that a program makes."""
LIBRARY_DISCOUNT: Final = 16
"""As many steps of a library count as one of the program."""
MODULE_STEPS = 600_000
"""When the bodies of a module have taken more, each of the others gets few."""
BRIEF_STEPS = 200
"""That many."""
CLOSE: Final = 4
"""Where as many times the steps that were taken would have been too many, it was close."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How deep calls are looked into, and how often one function inside of itself.

    `part` of the steps that are left a call may take, a fraction.
    """

    calls: int
    recursion: int
    part: tuple[int, int]


OWN: Final = Depth(16, 4, (1, 2))
LIBRARY: Final = Depth(48, 12, (7, 8))
"""For installed libraries: these are deep, and nobody waits for a message out of their bodies."""


class BudgetExceeded(Exception):
    """A function took more steps than it may."""


_BOUNDS: Final = tuple((low + high + 1) // 2 for low, high in pairwise(LEVELS))
"""From each on, steps count as the next level."""


def level_near(steps: int) -> int:
    """Return the level that so many steps count as."""
    return LEVELS[bisect_right(_BOUNDS, steps)]


def _bounds(steps: int) -> tuple[int, int]:
    """Return the least number of steps that counts as the same level, and that as the next."""
    at = bisect_right(_BOUNDS, steps)
    return (_BOUNDS[at - 1] if at else 0), _BOUNDS[at]


def _least_for(level: int) -> int:
    """Return the least number of steps that counts as a level, or as a higher one."""
    at = bisect_left(LEVELS, level)
    return _BOUNDS[at - 1] if at else 0


@dataclass(slots=True)
class Budget:
    """The steps that are left for one function of the user's, what it looks into included.

    `active` are the functions that are looked into at this moment, outermost first. `charged` are
    the calls whose steps have been taken off, with what is known of them as which question: a call
    costs nothing the second time. `needs` is the least number of steps with which each call so far
    could be run to its end. `failed` are the functions of which a call couldn't be, with the most
    steps that one had. `spare` is for annotated functions, which are looked into only as far as it
    goes; None where they aren't. `depth` says how they are divided over calls. It `is_brief` where
    other bodies of the module have taken the most of what there is for all of them.
    """

    left: int = MAX_STEPS
    active: list[ast.AST] = field(default_factory=list)
    charged: dict[Hashable, Hashable] = field(default_factory=dict)
    failed: dict[ast.AST, int] = field(default_factory=dict)
    needs: int = 0
    spare: Budget | None = None
    depth: Depth = OWN
    is_brief: bool = False
    _begun: int = field(init=False)

    def __post_init__(self) -> None:
        self._begun = self.left

    def charge(self, steps: int, needs: int) -> None:
        """Take off the steps of a call."""
        self.needs = max(self.needs, self.taken + self._least(needs))
        self.left -= steps

    def _least(self, needs: int) -> int:
        """Return how many steps there must be left for a call that needs so many."""
        part, whole = self.depth.part
        return -(-whole * _least_for(needs) // part) + 1

    def room_for(self, needs: int, *, is_limited: bool) -> int:
        """Return for how many steps more a call that needs so many can still be made.

        If it `is_limited` by what it may take, of how many more or fewer it would be told as much.
        """
        room = self.left - self._least(needs)
        if is_limited:
            part, whole = self.depth.part
            least, most = _bounds(self.left * part // whole)
            lowest, next_ = -(-whole * least // part), -(-whole * most // part)
            room = min(room, self.left - lowest, next_ - self.left - 1)
        return max(room, 0)

    @property
    def room(self) -> int:
        """For how many steps more it would do, 0 where it hasn't done for a call."""
        return 0 if self.failed else max(self._begun - max(self.taken, self.needs), 0)

    @property
    def taken(self) -> int:
        """How many steps were taken so far."""
        return self._begun - self.left

    @property
    def is_close(self) -> bool:
        """Whether a few times more steps might have been too many, for it or for a call."""
        return CLOSE * max(self.taken, self.needs) > self._begun

    @property
    def for_call(self) -> int:
        """How many steps a call may take: a part of what is left."""
        part, whole = self.depth.part
        return level_near(self.left * part // whole)

    def followed(self, apart: bool) -> Budget:
        """Return it as a call's budget; one `apart` is also what annotated calls in it may take."""
        self.spare = self if apart else None
        return self

    @staticmethod
    def of(lines: int, *, briefly: bool = False) -> Budget:
        """Return what a body of so many lines may take: the more, the longer it is itself."""
        most = BRIEF_STEPS if briefly else MAX_STEPS
        spare = Budget(min(SPARE_STEPS, most))
        active = spare.active
        return Budget(most + STEPS_A_LINE * lines, active, spare=spare, is_brief=briefly)


@dataclass(slots=True)
class Effort:
    """How many steps the bodies of a module have taken, in the order of its parts.

    When they have taken more than `most`, each that comes gets few.
    """

    taken: int = 0
    most: int = field(default_factory=lambda: MODULE_STEPS)

    @property
    def is_spent(self) -> bool:
        """Whether the bodies to come get few steps."""
        return self.taken > self.most

    @property
    def is_close(self) -> bool:
        """Whether they would, if those before had taken a few times more."""
        return CLOSE * self.taken > self.most

    @staticmethod
    def spent() -> Effort:
        """Return that of a module of which all bodies get few."""
        return Effort(most=-1)
