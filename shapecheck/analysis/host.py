"""What the analysis needs from the world around it, and what it gives back.

The analysis reads source text and reports diagnostics. Where the text of another module comes
from, and how a diagnostic reaches the reader, is the host's business: mypy is one host, the tests
are another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from shapecheck.analysis.pace import UNBOUND, Pace
from shapecheck.blame import Blame


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one module.

    `name` is the dotted module name, `path` what diagnostics call the file, `text` its source.
    """

    name: str
    path: str
    text: str


SUSPECT: Final = "shape-suspect"
"""The code of what can't be proved: a warning, never an error."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text: lines from 1, columns (in characters) from 0, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    def holds(self, inner: Span) -> bool:
        """Whether another span lies in this one."""
        starts = (self.line, self.column) <= (inner.line, inner.column)
        return starts and (inner.end_line, inner.end_column) <= (self.end_line, self.end_column)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One line of output: an error or a warning with its code, or a note that belongs to it.

    A warning is a suspicion, which can't be proved. `blame`: what an error is about, for programs;
    None for a note.
    """

    span: Span
    message: str
    severity: Literal["error", "warning", "note"]
    code: str = "shape"
    blame: Blame | None = None


CauseKind: TypeAlias = Literal[
    "parameter",
    "declared",
    "open",
    "library",
    "rule",
    "data",
    "function",
    "attribute",
    "name",
    "each",
    "loop",
    "budget",
    "error",
    "other",
]
CAUSES: Final[tuple[CauseKind, ...]] = get_args(CauseKind)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the shape of an expression isn't known, and of what that is said.

    `parameter`: a parameter without an annotation. `declared`: a parameter or attribute whose
    annotation says no shape. `open`: an annotation that leaves it open. `library`: something of a
    library that nothing is known of. `rule`: an op that there is no rule for. `data`: an op whose
    sizes depend on data. `function`: what a function gives, which has no annotation and doesn't
    tell when it is looked into. `attribute` and `name`: nothing tells what is assigned. `each`:
    one of several tensors, each of a shape of its own. `loop`: what a loop makes of itself each
    time. `budget`: it would take too long. `error`: an error was reported there. `other`: none of
    these.
    """

    kind: CauseKind
    subject: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of how many tensor-valued expressions the shape is known, and why not of the others.

    `known`: each axis has a size or a name. `partial`: some have. `unknown`: none has, or the
    value isn't known at all. `reasons` counts the last two by their causes. `gives` is why it isn't
    known what a function gives, of which this is said.
    """

    known: int = 0
    partial: int = 0
    unknown: int = 0
    reasons: Mapping[Cause, int] = field(default_factory=dict)
    gives: Cause | None = None

    @property
    def tensors(self) -> int:
        """The number of tensor-valued expressions."""
        return self.known + self.partial + self.unknown

    @classmethod
    def of_all(cls, some: Iterable[Coverage]) -> Coverage:
        """Return what is known of several together."""
        known = partial = unknown = 0
        reasons: Counter[Cause] = Counter()
        for one in some:
            known += one.known
            partial += one.partial
            unknown += one.unknown
            reasons.update(one.reasons)
        return cls(known, partial, unknown, reasons)


@dataclass(frozen=True, slots=True)
class Seen:
    """An expression whose value is a tensor, or is likely to be one.

    `shape`: what is known of it, `b t _`, or None where nothing is. `grade`: each axis has a size
    or a name (`known`), something is known (`partial`), nothing is (`unknown`). `reason`: the
    first cause of what isn't known, and `begins`: nothing that this expression is made of has lost
    its shape before.
    """

    span: Span
    shape: str | None
    grade: Literal["known", "partial", "unknown"]
    reason: Cause | None = None
    begins: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """A tensor as an editor shows it: where it stands, its shape `(b t)` and its dtype.

    Each of them is "" where it isn't known. `since`: the line that gave a name its value. `binds`:
    it is the name that is assigned there.
    """

    span: Span
    shape: str
    dtype: str
    since: int | None = None
    binds: bool = False


@dataclass(frozen=True, slots=True)
class OpCalled:
    """Where something of a library is named, and how the library calls it: `torch.softmax`."""

    span: Span
    name: str


@dataclass(frozen=True, slots=True)
class Look:
    """What an editor shows of the part of a module that has some lines."""

    lines: tuple[int, int]
    shapes: tuple[Shown, ...] = ()
    ops: tuple[OpCalled, ...] = ()

    @property
    def end(self) -> int:
        """The last of its lines; 0 where it is what is outside of all functions."""
        return self.lines[1]


@dataclass(frozen=True, slots=True)
class Body:
    """What is seen in the body of a function, or in a module's own code, which has no name.

    `name`: with the classes and functions around it, `Net.forward`. `annotated`: whether a shape
    stands in its signature.
    """

    name: str
    line: int
    annotated: bool
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """An annotation that says a shape in a form that isn't read: its name, `Grid[...]`."""

    name: str
    span: Span


class Host(Protocol):
    """The few questions that the analysis asks about code outside the module at hand."""

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name, or None where there is none to read."""
        ...


@runtime_checkable
class Tracing(Protocol):
    """A host that is told of which functions the analysis has read the annotations.

    `consulted`: a path and the line of a `def` for each.
    """

    consulted: set[tuple[str, int]]


Key: TypeAlias = tuple[str, str]
"""What was read: a module, and the key of a `Reading` of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question that was asked of a program, which `analysis.ask_again` asks again.

    `answer` is what was found, as it is written down or a digest of that, `pace` what it took, if
    that counts for who asks. `reads` is what was read for it and for no question among those that
    it `asks` in turn. It has `room` for as many steps more or fewer in these as can't have another
    answer be found; by now who asks it is charged so many `more` or fewer than its pace says.
    """

    text: str
    answer: str
    pace: Pace | None
    reads: frozenset[Key]
    asks: tuple[Asked, ...]
    room: int = UNBOUND
    more: int = 0


@dataclass(frozen=True, slots=True)
class RestsOn:
    """What stood in each piece of source that was read, and which questions were asked about it.

    What is said is the same as long as the `own` pieces are, and the answers to those that are
    `asked`: whatever has changed in what these read. `room` is as for `Asked`. `digests` has what
    stood in the pieces that were read for any of it, and may have more.
    """

    digests: Mapping[Key, str]
    own: frozenset[Key]
    asked: tuple[Asked, ...]
    room: int

    def read(self) -> frozenset[Key]:
        """Return all that was read, for the questions that were asked and for those they ask."""
        return self.own.union(*(one.reads for one in every(self.asked, set())))


def every(asked: Iterable[Asked], seen: set[Asked]) -> Iterator[Asked]:
    """Yield questions and those that they ask in turn, but those that were `seen` before."""
    waiting = [*asked]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += one.asks
            yield one


Recall: TypeAlias = Callable[[str], RestsOn | None]
"""Gives what a question rests on that is the only one asked there, if its answer is known."""
