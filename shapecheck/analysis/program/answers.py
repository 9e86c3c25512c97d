"""What has been found out once, kept for all who ask again.

An answer may be kept for the modules that are analysed later only if it would be the same for them:
it must not have met the end of a budget, nor a question that was being answered at that moment.
Others hold until the module at hand is done, or until that question is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from shapecheck.analysis.program.reading import NOTED, Reading

S = TypeVar("S")
T = TypeVar("T")

MISSING: Final = object()
"""Marks the absence of an answer."""

Place = str | tuple[str, int]
"""A module, or the annotations of the `def` on a line of a file."""

Ground = Place | Reading
"""What an answer rests on."""


class Grounds:
    """What one answer rests on: what was read for it, and the grounds of other answers.

    An answer is asked for again and again, by those on which others rest in turn. So what it rests
    on is one thing for all of them, and is only gone through when a module is done.
    """

    __slots__ = ("held",)

    def __init__(self, held: AbstractSet[Ground | Grounds]) -> None:
        self.held = tuple(held)

    @staticmethod
    def of(held: AbstractSet[Ground | Grounds]) -> Grounds | None:
        """Return the grounds that are these; None where there are none."""
        return Grounds(held) if held else None


def grounds(asked: Iterable[Ground | Grounds]) -> set[Ground]:
    """Return what is rested on, that of other answers included."""
    found: set[Ground] = set()
    seen: set[Grounds] = set()
    waiting = [asked]
    while waiting:
        for one in waiting.pop():
            if not isinstance(one, Grounds):
                found.add(one)
            elif one not in seen:
                seen.add(one)
                waiting.append(one.held)
    return found


DTYPES: Final = "<dtypes>"
"""The ground of what may go wrong with tensors of ints or of floats, where it isn't known which."""

_FOR_ALL: Final = 1 << 60
_FOR_THIS_MODULE: Final = -1


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was found, what it rests on, and how far out it depends on the asker.

    `limit` is the number of the open question that was met, if any; or one of the two above.
    """

    found: object
    rests_on: Grounds | None
    limit: int


MOST = 1 << 16
"""As many answers are kept when a module has been checked."""


def places(asked: Iterable[Ground | Grounds]) -> frozenset[Place]:
    """Return the modules among what an answer rests on, and the annotations that were read."""
    return frozenset(one for one in grounds(asked) if not isinstance(one, Reading))


def _rests_on_any(one: Grounds, changed: AbstractSet[Ground], known: dict[Grounds, bool]) -> bool:
    """Whether grounds are among what has changed; `known` is of which that was found before."""
    waiting = [one]
    while waiting:
        last = waiting[-1]
        below = [held for held in last.held if isinstance(held, Grounds)]
        missing = [held for held in below if held not in known]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        known[last] = any(known[held] for held in below) or not changed.isdisjoint(last.held)
    return known[one]


class Memory:
    """Answers by question, and what they rest on.

    `asked` are the modules that what is being done now has asked for; where `traces` says so, the
    functions of which it has read the annotations are among it.
    """

    def __init__(self, traces: bool = False) -> None:
        self.traces = traces
        self.asked = set()
        self._answers: dict[Hashable, _Answer] = {}
        self._open: dict[Hashable, int] = {}
        self._provisional: list[Hashable] = []
        self._passing: list[Hashable] = []
        self._limit = _FOR_ALL

    @property
    def asked(self) -> set[Ground | Grounds]:
        """What has been asked for by what is being done now."""
        return NOTED.readings

    @asked.setter
    def asked(self, asked: set[Ground | Grounds]) -> None:
        NOTED.readings = asked

    def begin(self) -> None:
        """Begin with another module."""
        self._forget(0)
        for question in self._passing:
            self._answers.pop(question, None)
        self._passing.clear()
        self.asked = set()
        self._limit = _FOR_ALL

    @contextmanager
    def noting(self) -> Iterator[set[Ground | Grounds]]:
        """Yield a set to which is added what is asked for meanwhile."""
        outer, self.asked = self.asked, set()
        try:
            yield self.asked
        finally:
            outer |= self.asked
            self.asked = outer

    def forget(self, changed: AbstractSet[Ground]) -> None:
        """Forget the answers that rest on what has changed."""
        known: dict[Grounds, bool] = {}
        for question, one in [*self._answers.items()]:
            if one.rests_on is not None and _rests_on_any(one.rests_on, changed, known):
                del self._answers[question]

    def trim(self) -> None:
        """Forget everything if there is too much."""
        if len(self._answers) > MOST:
            self._answers.clear()
            self._provisional.clear()

    def find(self, question: Hashable) -> object:
        """Return the answer that is known, else `MISSING`."""
        answer = self._answers.get(question)
        if answer is None:
            return MISSING
        if answer.rests_on is not None:
            NOTED.readings.add(answer.rests_on)
        if answer.limit < self._limit:
            self._limit = answer.limit
        return answer.found

    def is_open(self, question: Hashable) -> bool:
        """Whether a question is being answered now; who asks it then depends on who began."""
        number = self._open.get(question)
        if number is None:
            return False
        self._limit = min(self._limit, number)
        return True

    def passing(self, question: Hashable) -> None:
        """Take note that nobody asks a question again once the module at hand is done."""
        self._passing.append(question)

    def limited(self) -> None:
        """Take note that what is being found out depends on how the analysis got here."""
        self._limit = _FOR_THIS_MODULE

    @contextmanager
    def answering(self, question: Hashable) -> Iterator[Callable[[object], None]]:
        """Answer a question; what is yielded keeps the answer, and may go uncalled."""
        number = self._open[question] = len(self._open)
        outer_asked, outer_limit = self.asked, self._limit
        self.asked, self._limit = set(), _FOR_ALL
        mark = len(self._provisional)
        kept: list[object] = []
        try:
            yield kept.append
        finally:
            del self._open[question]
            rests_on, limit = Grounds.of(self.asked), self._limit
            if rests_on is not None:
                outer_asked.add(rests_on)
            self.asked = outer_asked
            is_free = limit >= number
            self._limit = outer_limit if is_free else min(outer_limit, limit)
        if is_free:
            self._forget(mark)
        if kept and is_free:
            self._answers[question] = _Answer(kept[0], rests_on, _FOR_ALL)
        elif kept and question not in self._answers:
            self._answers[question] = _Answer(kept[0], rests_on, limit)
            self._provisional.append(question)

    def recall(self, question: Hashable, answer: Callable[[], T], meanwhile: S) -> T | S:
        """Return the answer to a question, found once; `meanwhile` where that asks it again."""
        found = self.find(question)
        if found is not MISSING:
            return found  # type: ignore[return-value]  # what `answer` gave before
        if self.is_open(question):
            return meanwhile
        with self.answering(question) as keep:
            result = answer()
            keep(result)
        return result

    def _forget(self, mark: int) -> None:
        for question in self._provisional[mark:]:
            self._answers.pop(question, None)
        del self._provisional[mark:]
