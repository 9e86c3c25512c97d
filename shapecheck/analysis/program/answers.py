"""What has been found out once, kept for all who ask again.

An answer may be kept for the parts that are checked later only if it would be the same for them: it
must not have met the end of its asker's budget, nor a question that was being answered at that
moment. Others hold until the part at hand is done, or until that question is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

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

    __slots__ = ("_modules", "held")

    def __init__(self, held: AbstractSet[Ground | Grounds]) -> None:
        self.held = tuple(held)
        self._modules: frozenset[str] | None = None

    @staticmethod
    def of(held: AbstractSet[Ground | Grounds]) -> Grounds | None:
        """Return the grounds that are these; None where there are none."""
        return Grounds(held) if held else None

    @property
    def modules(self) -> frozenset[str]:
        """The modules of which anything was read."""
        waiting = [self]
        while self._modules is None:
            last = waiting[-1]
            below = [one for one in last.held if isinstance(one, Grounds)]
            missing = [one for one in below if one._modules is None]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            own = {_module_of(one) for one in last.held if not isinstance(one, Grounds)}
            last._modules = frozenset(own).union(*(one._modules or () for one in below))
        return self._modules


def _module_of(ground: Ground) -> str:
    match ground:
        case str():
            return ground
        case Reading():
            return ground.module
    return ""


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

_NONE: Final = 1 << 60
"""Stands for no open question."""


Found: TypeAlias = object
"""What an answer is; who asks the question knows its type."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was found, what it rests on, and how far out it depends on the asker.

    `met` is the number of the open question that was met, if any. `is_limited`: the depth or the
    steps that the asker had left had a say in it.
    """

    found: Found
    rests_on: Grounds | None
    met: int
    is_limited: bool


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
        self._met = _NONE
        self._is_limited = False
        self._lasting: dict[Hashable, None] = {}
        self._by_module: dict[str, set[Hashable]] = {}

    @property
    def asked(self) -> set[Ground | Grounds]:
        """What has been asked for by what is being done now."""
        return NOTED.readings

    @asked.setter
    def asked(self, asked: set[Ground | Grounds]) -> None:
        NOTED.readings = asked

    def begin(self) -> None:
        """Begin with another module."""
        for question in self._passing:
            self._drop(question)
        self._passing.clear()
        self.begin_part()

    def begin_part(self) -> None:
        """Begin with another part of a module."""
        self._forget(0)
        self.asked = set()
        self._met, self._is_limited = _NONE, False

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

    def forget_modules(self, names: Iterable[str]) -> None:
        """Forget the answers that rest on anything in some modules."""
        for question in self._lasting:
            for module in self._modules_of(question):
                self._by_module.setdefault(module, set()).add(question)
        self._lasting.clear()
        for name in names:
            for question in [*self._by_module.get(name, ())]:
                self._drop(question)
            self._by_module.pop(name, None)

    def _drop(self, question: Hashable) -> None:
        """Forget an answer, and that there was one."""
        if question in self._lasting:
            del self._lasting[question]
        else:
            for module in self._modules_of(question):
                self._by_module.get(module, set()).discard(question)
        self._answers.pop(question, None)

    def _modules_of(self, question: Hashable) -> AbstractSet[str]:
        """Return the modules that the answer to a question rests on, none where there is none."""
        answer = self._answers.get(question)
        return frozenset() if answer is None or answer.rests_on is None else answer.rests_on.modules

    def trim(self) -> None:
        """Forget everything if there is too much."""
        if len(self._answers) > MOST:
            self._answers.clear()
            self._provisional.clear()
            self._lasting.clear()
            self._by_module.clear()

    def find(self, question: Hashable) -> object:
        """Return the answer that is known, else `MISSING`."""
        answer = self._answers.get(question)
        if answer is None:
            return MISSING
        if answer.rests_on is not None:
            NOTED.readings.add(answer.rests_on)
        if answer.met < self._met:
            self._met = answer.met
        if answer.is_limited:
            self._is_limited = True
        return answer.found

    def is_open(self, question: Hashable) -> bool:
        """Whether a question is being answered now; who asks it then depends on who began."""
        number = self._open.get(question)
        if number is None:
            return False
        self._met = min(self._met, number)
        return True

    def passing(self, question: Hashable) -> None:
        """Take note that nobody asks a question again once the module at hand is done."""
        self._passing.append(question)

    def limited(self) -> None:
        """Take note that what is being found out depends on how the analysis got here."""
        self._is_limited = True

    @contextmanager
    def answering(
        self, question: Hashable, *, home: str = "", within_limits: bool = False
    ) -> Iterator[Callable[[object], None]]:
        """Answer a question; what is yielded keeps the answer, and may go uncalled.

        `home` is the module of which a piece of syntax is in the question: no other asks it.

        `within_limits`: the asker's depth and steps limit it. Else it begins with its own.
        """
        number = self._open[question] = len(self._open)
        outer_asked, outer_met, outer_limited = self.asked, self._met, self._is_limited
        self.asked, self._met, self._is_limited = set(), _NONE, False
        mark = len(self._provisional)
        kept: list[object] = []
        try:
            yield kept.append
        finally:
            del self._open[question]
            rests_on, met = Grounds.of(self.asked), self._met
            is_limited = self._is_limited and within_limits
            if rests_on is not None:
                outer_asked.add(rests_on)
            self.asked = outer_asked
            is_closed = met >= number
            self._met = outer_met if is_closed else min(outer_met, met)
            self._is_limited = outer_limited or is_limited
        if is_closed and not is_limited:
            self._forget(mark)
            if kept:
                self._answers[question] = _Answer(kept[0], rests_on, _NONE, False)
                self._lasting[question] = None
                if home:
                    self._by_module.setdefault(home, set()).add(question)
        elif kept and question not in self._answers:
            self._answers[question] = _Answer(kept[0], rests_on, met, is_limited)
            self._provisional.append(question)

    def recall(
        self, question: Hashable, answer: Callable[[], T], meanwhile: S, home: str = ""
    ) -> T | S:
        """Return the answer to a question, found once; `meanwhile` where that asks it again.

        `home` is as for `answering`.
        """
        found = self.find(question)
        if found is not MISSING:
            return found  # type: ignore[return-value]  # what `answer` gave before
        if self.is_open(question):
            return meanwhile
        with self.answering(question, home=home) as keep:
            result = answer()
            keep(result)
        return result

    def _forget(self, mark: int) -> None:
        for question in self._provisional[mark:]:
            self._answers.pop(question, None)
        del self._provisional[mark:]
