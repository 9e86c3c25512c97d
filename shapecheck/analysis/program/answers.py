"""What has been found out once, kept for all who ask again.

An answer may be kept for the parts that are checked later only if it would be the same for them: it
must not depend on who asked its asker, nor have met a question that was being answered at that
moment. Others hold until the part at hand is done, or until that question is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from shapecheck.analysis.host import Recall, RestsOn
from shapecheck.analysis.pace import UNBOUND, Pace
from shapecheck.analysis.program.reading import NOTED, Reading

S = TypeVar("S")
T = TypeVar("T")


def is_same(one: object, other: object) -> bool:
    """Whether two answers are equal; to Python 1 and True are."""
    return one == other and repr(one) == repr(other)


class Likeness:
    """How an answer that is found again is compared with the one before."""

    is_timed: ClassVar[bool] = False
    """Whether how long it takes to find out is a part of such answers."""

    def are_alike(self, one: Any, other: Any) -> bool:
        """Whether two answers are the same to all who ask, but for how long they took."""
        return is_same(one, other)

    def more(self, one: Any, other: Any) -> int:
        """Return how many steps more or fewer who asks is charged for another that is alike."""
        return 0

    def drift(self, one: Any, other: Any) -> int:
        """Return how many steps more or fewer another took that is alike."""
        return 0

    def later(self, found: Any, more: int) -> int:
        """Return what `more` does where what was asked for it took so many more or fewer."""
        return 0

    def lasts(self, found: Any) -> bool:
        """Whether an answer is for all who ask, and not only there to be compared."""
        return True


SAME: Final = Likeness()
"""Answers are compared by what they are equal to."""

MISSING: Final = object()
"""Marks the absence of an answer."""

Place = str | tuple[str, int]
"""A module, or the annotations of the `def` on a line of a file."""

Ground = Place | Reading
"""What an answer rests on."""


Found: TypeAlias = object
"""What an answer is; who asks the question knows its type."""


_NEVER: Final = -1


class Told(NamedTuple):
    """A question as another process can ask it, and what was answered.

    The answer is written down so that it can be read, or what is another text for another answer.
    `pace` says how long it took, where that is of account for who asks it.
    """

    question: str
    answer: str
    pace: Pace | None


class Telling(Protocol):
    """Writes down a question that is being answered, for other processes."""

    def told(self, found: Any, is_limited: bool) -> Told | None:
        """Return what other processes are told when this was found; None where that can't be.

        `is_limited`: the depth and the steps that who asked had left had a say in it.
        """
        ...


class Grounds:
    """What one answer rests on: what was read for it, and the grounds of other answers.

    An answer is asked for again and again, by those on which others rest in turn. So what it rests
    on is one thing for all of them, and is only gone through when a module is done.

    `since` is the number of edits after which nothing that was read was gone, `_NEVER` where
    something is; `origin` how the answer is asked for again, where it can be. `room` is as for
    `Memory.close`. What was found still holds, but who asks is charged so many steps `more` or
    fewer by now: for what was found again those of its `own`, which may be off by its `drift`.
    `told` is what another process is told of it. `found_before` is what it rests on as the process
    knew it that found it, if that was another one. `modules` are those of which anything was read
    by `since`, each a bit.
    """

    __slots__ = (
        *("_below", "drift", "found_before", "held", "modules", "more", "origin", "own"),
        *("room", "since", "told"),
    )

    def __init__(self, held: AbstractSet[Ground | Grounds], since: int) -> None:
        self.held = tuple(held)
        self.since = since
        self.origin: _Origin | None = None
        self.told: Told | None = None
        self.found_before: RestsOn | None = None
        self.room = UNBOUND
        self.more = self.own = self.drift = 0
        self._below: Below | None = None
        self.modules = 0

    @property
    def below(self) -> Below:
        """What was read for it and for no question inside of it that others are told of; these.

        Of a process that stays it isn't asked: an answer may come to rest on other grounds there.
        """
        waiting = [self]
        while self._below is None:
            last = waiting[-1]
            inner = [one for one in last.held if isinstance(one, Grounds) and one.told is None]
            missing = [one for one in inner if one._below is None]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            last._below = below(last.held, last.room)
        return self._below


class Below(NamedTuple):
    """What something rests on by itself, and the questions of which others are told.

    `room` is as for `Memory.close`, these questions apart.
    """

    read: frozenset[Ground]
    asked: tuple[Grounds, ...]
    room: int


def below(held: Iterable[Ground | Grounds], room: int = UNBOUND) -> Below:
    """Return what is rested on, as others are told of it."""
    read: set[Ground] = set()
    asked: dict[Grounds, None] = {}
    for one in held:
        if not isinstance(one, Grounds):
            read.add(one)
        elif one.told is not None:
            asked[one] = None
        else:
            inner = one.below
            read |= inner.read
            asked.update(dict.fromkeys(inner.asked))
            room = min(room, inner.room)
    return Below(frozenset(read), tuple(asked), room)


@dataclass(frozen=True, slots=True)
class _Origin:
    """A question that can be asked again by itself, and what was found.

    `answer` finds it out, and gives `MISSING` where it can't be kept; `likeness` compares what it
    gives. `is_limited`: it is `limited` that was answered; that, `home` and `depth` are as for
    `Memory.answering`.
    """

    question: Hashable
    limited: Hashable | None
    is_limited: bool
    answer: Callable[[], object]
    likeness: Likeness
    found: Found
    home: str
    depth: int


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


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was found, what it rests on, and how far out it depends on the asker.

    `met` is the number of the open question that was met, if any. `is_limited`: the depth or the
    steps that the asker had left had a say in it; `is_chained`: who asked the asker had. `height`
    is how many questions stood within each other for it, where these are only asked so deep.
    """

    found: Found
    rests_on: Grounds | None
    met: int = _NONE
    is_limited: bool = False
    is_chained: bool = False
    height: int = 0


class _Before(NamedTuple):
    """What was open when a question was begun, which had a `number`; see `Memory`."""

    asked: set[Ground | Grounds]
    met: int
    is_limited: bool
    is_chained: bool
    depth: int
    height: int
    room: int
    number: int
    mark: int


class _Answering:
    """A question while it is being answered, see `Memory.answering`, and what is `kept` of that."""

    def __init__(
        self,
        memory: Memory,
        question: Hashable,
        home: str,
        limited: Hashable | None,
        again: Callable[[], object] | None,
        likeness: Likeness,
        depth: int,
        telling: Telling | None,
    ) -> None:
        self._memory = memory
        self.question, self.home, self.limited = question, home, limited
        self.again, self.likeness, self.depth, self.telling = again, likeness, depth, telling
        self.kept: object = MISSING
        self._before: _Before | None = None

    def __enter__(self) -> Callable[[object], None]:
        self._before = self._memory.open_question(self.question, self.depth)
        return self._keep

    def _keep(self, found: object) -> None:
        self.kept = found

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        assert self._before is not None
        self._memory.close_question(self, self._before, failed=kind is not None)


MOST = 1 << 16
"""As many answers are kept when a module has been checked."""


def places(asked: Iterable[Ground | Grounds]) -> frozenset[Place]:
    """Return the modules among what an answer rests on, and the annotations that were read."""
    return frozenset(one for one in grounds(asked) if not isinstance(one, Reading))


def _rests_on_any(
    one: Grounds, changed: Callable[[Ground], bool], known: dict[Grounds, bool]
) -> bool:
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
        known[last] = any(map(known.get, below)) or any(
            changed(held) for held in last.held if not isinstance(held, Grounds)
        )
    return known[one]


class Memory:
    """Answers by question, and what they rest on.

    `asked` are the modules that what is being done now has asked for; where `traces` says so, the
    functions of which it has read the annotations are among it. `stays`: there will be edits, after
    which answers are asked for again, to see whether they are still the same. `tells`: other
    processes are told of questions, to see that; `recalls` knows what they have told.
    """

    def __init__(self, traces: bool = False) -> None:
        self.traces = traces
        self.stays = self.tells = False
        self.recalls: Recall | None = None
        self.asked = set()
        self._answers: dict[Hashable, _Answer] = {}
        self._open: dict[Hashable, int] = {}
        self._provisional: list[Hashable] = []
        self._met = _NONE
        self._is_limited = self._is_chained = False
        self.room = UNBOUND
        self._depth = self._height = 0
        self._edits = 0
        self._edited: list[int] = []
        """Which modules have been edited after each number of edits, as bits."""
        self._reached = 0
        """The number of edits after which something was read of more modules than before."""
        self._bit: dict[str, int] = {}
        self._compared: dict[Hashable, _Answer] = {}
        self._at_home: dict[str, set[Hashable]] = {}

    @property
    def asked(self) -> set[Ground | Grounds]:
        """What has been asked for by what is being done now."""
        return NOTED.readings

    @asked.setter
    def asked(self, asked: set[Ground | Grounds]) -> None:
        NOTED.readings = asked

    def begin(self) -> None:
        """Begin with another module."""
        self.begin_part()

    def begin_part(self) -> None:
        """Begin with another part of a module."""
        self._forget(0)
        self.asked = set()
        self._met, self._is_limited, self._is_chained = _NONE, False, False
        self.room = UNBOUND

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
            if one.rests_on is not None and _rests_on_any(
                one.rests_on, changed.__contains__, known
            ):
                del self._answers[question]

    def forget_modules(self, names: Collection[str]) -> None:
        """Forget the answers that rest on anything in some modules."""
        if not names:
            return
        involved = self.involving(names)
        for question, one in [*self._answers.items()]:
            if one.rests_on is not None and involved(one.rests_on):
                del self._answers[question]
        self._edit(names)
        self._forget_at_home(names)

    def involving(self, names: Collection[str]) -> Callable[[Grounds], bool]:
        """Return what tells if anything was read of some modules for what rests on grounds."""
        known: dict[Grounds, bool] = {}
        is_of_any = lambda held: _module_of(held) in names  # noqa: E731
        return lambda one: _rests_on_any(one, is_of_any, known)

    def modules_of(self, sound: Iterable[Grounds]) -> list[str]:
        """Return the modules of which anything was read, for grounds that are sound."""
        bits = 0
        for one in sound:
            bits |= one.modules
        return [name for name, bit in self._bit.items() if name and bits & bit]

    def _bits(self, names: Iterable[str]) -> int:
        found = 0
        for name in names:
            bit = self._bit.get(name)
            if bit is None:
                bit = self._bit[name] = 1 << len(self._bit)
            found |= bit
        return found

    def _grounds(self, held: AbstractSet[Ground | Grounds]) -> Grounds:
        found = Grounds(held, self._edits)
        if self.stays:
            self._note_modules(found)
        return found

    def _note_modules(self, one: Grounds) -> None:
        """Note of which modules anything was read for grounds where all below are sound."""
        bits = 0
        for held in one.held:
            bits |= held.modules if isinstance(held, Grounds) else self._bits((_module_of(held),))
        one.modules = bits

    def edited(self, module: str) -> None:
        """Take note that what was read of a module may be gone."""
        self._edit((module,))
        self._forget_at_home((module,), but_rested=True)

    def _edit(self, names: Iterable[str]) -> None:
        bits = self._bits(names)
        self._edited = [*(before | bits for before in self._edited), bits]
        self._edits += 1

    def _forget_at_home(self, names: Iterable[str], *, but_rested: bool = False) -> None:
        """Forget what stands in modules, all or what rests on nothing else."""
        for name in names:
            kept = set()
            for question in self._at_home.pop(name, ()):
                answer = self._answers.get(question)
                if but_rested and answer is not None and answer.rests_on is not None:
                    kept.add(question)
                elif answer is not None:
                    del self._answers[question]
            if kept:
                self._at_home[name] = kept

    def is_sound(self, one: Grounds) -> bool:
        """Whether all that is rested on is as it was; what can be is asked for again to know."""
        if one.since in (self._edits, _NEVER):
            return one.since != _NEVER
        if not one.modules & self._edited[one.since]:
            one.since = self._edits
            return True
        try:
            is_sound = all(map(self._is_as_it_was, one.held))
            if is_sound and self._has_room(one):
                if self._reached > one.since:
                    self._note_modules(one)
                one.since = self._edits
            elif one.origin is not None and one.origin.question in self._open:
                return False
            elif one.origin is None or not self._is_found_again(one, one.origin):
                one.since, one.origin = _NEVER, None
        except RecursionError:
            return False
        return one.since != _NEVER

    def _has_room(self, one: Grounds) -> bool:
        """Whether it doesn't count how long what is asked takes by now; note what it does to it."""
        origin, more = one.origin, 0
        if one.room < UNBOUND or origin is None or origin.likeness.is_timed:
            more = sum(held.more for held in one.held if isinstance(held, Grounds))
        if more > one.room:
            return False
        if origin is not None and more:
            more = origin.likeness.later(origin.found, more + one.drift)
        one.more = one.own or more
        return True

    def _is_as_it_was(self, held: Ground | Grounds) -> bool:
        match held:
            case Grounds():
                return self.is_sound(held)
            case Reading():
                return not held.is_gone
        return True

    def _is_found_again(self, one: Grounds, origin: _Origin) -> bool:
        """Whether the answer that rests on these grounds is found again, on whatever grounds."""
        new = self._found_by_now(origin)
        if new is None or new.met != _NONE or new.is_chained:
            return False
        likeness, rests_on = origin.likeness, new.rests_on
        if not likeness.are_alike(origin.found, new.found):
            return False
        one.held = () if rests_on is None else rests_on.held
        one.since = self._edits
        before = one.modules
        self._note_modules(one)
        if one.modules & ~before:
            self._reached = self._edits
        one.own = one.more = likeness.more(origin.found, new.found)
        one.drift = likeness.drift(origin.found, new.found)
        # How long it took at first goes on to count for those who asked then: a bit more each time
        # would become much. So from now on it is asked again when any that it asks takes longer.
        one.room = 0 if one.own else UNBOUND if rests_on is None else rests_on.room
        question = origin.limited if origin.is_limited else origin.question
        if not one.own and likeness.lasts(origin.found):
            self._answers[question] = replace(new, found=origin.found, rests_on=one)
        return True

    def _found_by_now(self, origin: _Origin) -> _Answer | None:
        """Return what is found when a question is asked again, or has been since the edit."""
        question = origin.limited if origin.is_limited else origin.question
        known = self._answers.pop(question, None)
        if known is not None and known.rests_on is not None:
            if known.rests_on.origin is not origin and self.is_sound(known.rests_on):
                if not known.rests_on.more:
                    self._answers.setdefault(question, known)
            if question in self._answers:
                return self._answers[question]
        outer = self.asked, self._met, self._is_limited, self._is_chained
        self.asked, self._met, self._is_limited, self._is_chained = set(), _NONE, False, False
        self._compared = {}
        try:
            self._find_out(origin)
        except RecursionError:
            raise
        except Exception:  # noqa: BLE001 - it fails again where somebody needs it
            return None
        finally:
            self.asked, self._met, self._is_limited, self._is_chained = outer
            compared, self._compared = self._compared, {}
        return compared.get(question) or self._answers.get(question)

    def _find_out(self, origin: _Origin) -> None:
        with self.answering(
            origin.question,
            home=origin.home,
            limited=origin.limited,
            again=origin.answer,
            likeness=origin.likeness,
            depth=origin.depth,
        ) as keep:
            found = origin.answer()
            if found is not MISSING:
                keep(found)

    def trim(self) -> None:
        """Forget everything if there is too much."""
        if len(self._answers) > MOST:
            self._answers.clear()
            self._provisional.clear()
            self._at_home.clear()

    def grounds(self) -> Grounds:
        """Return what is rested on by what has been done since the part at hand was begun."""
        found = self._grounds(self.asked)
        found.room = self.room
        return found

    def find(self, question: Hashable) -> object:
        """Return the answer that is known, else `MISSING`."""
        answer = self._answers.get(question)
        if answer is None:
            return MISSING
        rests_on = answer.rests_on
        if rests_on is not None:
            if rests_on.since != self._edits and not self.is_sound(rests_on):
                return self._found_anew(question, answer)
            if rests_on.more:  # who asks now is told how long it takes now
                return self._found_anew(question, answer)
            NOTED.readings.add(rests_on)
        if answer.met < self._met:
            self._met = answer.met
        self._is_limited |= answer.is_limited
        self._is_chained |= answer.is_chained
        self._height = max(self._height, answer.height)
        return answer.found

    def _found_anew(self, question: Hashable, old: _Answer) -> object:
        """Return what was found in the place of an answer that isn't right any more."""
        if self._answers.get(question) is old:
            del self._answers[question]
        return self.find(question)

    def is_open(self, question: Hashable) -> bool:
        """Whether a question is being answered now; who asks it then depends on who began."""
        number = self._open.get(question)
        if number is None:
            return False
        self._met = min(self._met, number)
        return True

    def limited(self, *, by_askers: bool = False) -> None:
        """Take note that what is being found out depends on the depth or the steps that are left.

        `by_askers`: on which questions led here.
        """
        self._is_limited = True
        self._is_chained |= by_askers

    def limits_apart(self) -> bool:
        """Forget for now if what is being found out was limited; return it for `limits_of`."""
        before, self._is_limited = self._is_limited, False
        return before

    def limits_of(self, before: bool) -> bool:
        """Return whether what was found out since `limits_apart` was limited, and take note."""
        found, self._is_limited = self._is_limited, self._is_limited or before
        return found

    def close(self, room: int = 0) -> None:
        """Take note that what is being found out might be something else.

        That is where what is asked for it takes more steps or fewer, and not just up to `room`.
        """
        self.room = min(self.room, room)

    def answering(
        self,
        question: Hashable,
        *,
        home: str = "",
        limited: Hashable | None = None,
        again: Callable[[], object] | None = None,
        likeness: Likeness = SAME,
        depth: int = 0,
        telling: Telling | None = None,
    ) -> _Answering:
        """Answer a question; what a `with` of it gives keeps the answer, and may go uncalled.

        `home` is the module of which a piece of syntax is in the question: no other asks it.

        `limited` is the question that is answered where the depth and the steps of the asker limit
        what is found, which it has to tell apart. Without one it begins with its own.

        `again` finds it out without its asker, and `likeness` compares what is found. `depth` is
        that of the questions asked for it which are only asked so deep. `telling` writes it down.
        """
        return _Answering(self, question, home, limited, again, likeness, depth, telling)

    def open_question(self, question: Hashable, depth: int) -> _Before:
        """Begin with a question; return what is open around it."""
        before = _Before(
            self.asked,
            self._met,
            self._is_limited,
            self._is_chained,
            self._depth,
            self._height,
            self.room,
            number=len(self._open),
            mark=len(self._provisional),
        )
        self._open[question] = before.number
        self.room = UNBOUND
        self._depth, self._height = depth, 0
        self.asked, self._met, self._is_limited, self._is_chained = set(), _NONE, False, False
        return before

    def close_question(self, one: _Answering, before: _Before, *, failed: bool) -> None:
        """End with a question, and keep what there is to keep of it."""
        question, limited, kept = one.question, one.limited, one.kept
        del self._open[question]
        height = self._height + 1 if one.depth else 0
        self._depth, self._height = before.depth, max(before.height, height)
        rests_on, met = (self._grounds(self.asked) if self.asked else None), self._met
        is_limited = self._is_limited and limited is not None
        is_chained = self._is_chained and limited is not None
        if rests_on is not None:
            before.asked.add(rests_on)
            rests_on.room = self.room
        self.room = before.room if rests_on is not None else min(before.room, self.room)
        self.asked = before.asked
        is_closed = met >= before.number
        self._met = before.met if is_closed else min(before.met, met)
        self._is_limited = before.is_limited or is_limited
        self._is_chained = before.is_chained or is_chained
        if failed:
            return
        lasts = kept is not MISSING and one.likeness.lasts(kept)
        if is_closed and not is_chained:
            self._forget(before.mark)
            if kept is not MISSING:
                self._take_note(one, kept, rests_on, is_limited, height if lasts else None)
        elif lasts and question not in self._answers:
            self._answers[question] = _Answer(kept, rests_on, met, is_limited, is_chained, height)
            self._provisional.append(question)

    def _take_note(
        self,
        one: _Answering,
        kept: object,
        rests_on: Grounds | None,
        is_limited: bool,
        height: int | None,
    ) -> None:
        """Keep an answer; of one that doesn't last, which has no `height`, how it is compared."""
        key = one.limited if is_limited else one.question
        answer = _Answer(kept, rests_on, is_limited=is_limited, height=height or 0)
        if height is None:
            self._compared = {key: answer}
        else:
            self._answers[key] = answer
            if one.home:
                self._at_home.setdefault(one.home, set()).add(key)
            if one.telling is not None and rests_on is not None:
                rests_on.told = one.telling.told(kept, is_limited)
        if self.stays and one.again is not None and rests_on is not None:
            again, likeness, home, depth = one.again, one.likeness, one.home, one.depth
            rests_on.origin = _Origin(
                one.question, one.limited, is_limited, again, likeness, kept, home, depth
            )

    def take(
        self, question: Hashable, found: object, is_limited: bool, found_before: RestsOn
    ) -> None:
        """Take what another process has answered; `question` is the one that `is_limited`, or not.

        It is as if it had been answered here.
        """
        (asked,) = found_before.asked
        rests_on = Grounds({name for name, _ in found_before.read()}, self._edits)
        rests_on.told = Told(asked.text, asked.answer, asked.pace)
        rests_on.found_before = found_before
        self._answers[question] = _Answer(found, rests_on, is_limited=is_limited)
        self._is_limited |= is_limited
        NOTED.readings.add(rests_on)

    def recall(
        self,
        question: Hashable,
        answer: Callable[[], T],
        meanwhile: S,
        home: str = "",
        likeness: Likeness = SAME,
        deepest: int | None = None,
        telling: Telling | None = None,
    ) -> T | S:
        """Return the answer to a question, found once; `meanwhile` where that asks it again.

        `home`, `likeness` and `telling` are as for `answering`. `deepest`: as many questions of
        this kind may stand within each other; what would be asked further down is answered by
        `meanwhile`.
        """
        depth, limited = 0, None
        if deepest is None:
            found = self.find(question)
        else:
            depth, limited = self._depth + 1, (question, self._depth)
            found = self._find_within(question, limited, deepest)
        if found is not MISSING:
            return found  # type: ignore[return-value]  # what `answer` gave before
        if self.is_open(question):
            return meanwhile
        if deepest is not None and depth > deepest:
            self.limited()
            return meanwhile
        with self.answering(
            question,
            home=home,
            limited=limited,
            again=answer,
            likeness=likeness,
            depth=depth,
            telling=telling,
        ) as keep:
            result = answer()
            keep(result)
        return result

    def _find_within(self, question: Hashable, limited: Hashable, deepest: int) -> object:
        """Return what is known for which no more questions stood within each other than may here.

        An edit may have had it found anew, with more of them.
        """
        if not self._is_high(question, deepest):
            found = self.find(question)
            if not self._is_high(question, deepest):
                return self.find(limited) if found is MISSING else found
        return self.find(limited)

    def _is_high(self, question: Hashable, deepest: int) -> bool:
        known = self._answers.get(question)
        return known is not None and self._depth + known.height > deepest

    def _forget(self, mark: int) -> None:
        for question in self._provisional[mark:]:
            self._answers.pop(question, None)
        del self._provisional[mark:]
