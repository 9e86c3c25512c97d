"""Shapes, what is known of tensors, and the problems that shapes have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import FRESH, DimExpr, IntSize, Kind, Size, Sym, size_of
from shapecheck.dims.composites import LONGEST_CHOICE
from shapecheck.dims.origins import ElementsOf, IsBound, LengthOf, PartOf, Which
from shapecheck.dtypes import DTypes


@dataclass(frozen=True, slots=True)
class Run:
    """Any number of dimensions, known by the symbol's name or (kind UNKNOWN) not at all."""

    symbol: Sym

    @property
    def size(self) -> Size:
        """The number of elements that the run spans, the same each time it is asked for."""
        return Size.of(Sym(f"({self!r})", Kind.UNKNOWN, ElementsOf(self.symbol)))

    @property
    def length(self) -> Size:
        """The number of dimensions in the run; learning it spells the run out."""
        return Size.of(Sym(f"len({self!r})", Kind.UNKNOWN, LengthOf(self.symbol)))

    def part(self, which: Which, count: int) -> Run:
        """Return a part of the run: its `first` or `last` dimensions, so many, if it has them.

        Or what is left `after` so many, or `before` the last so many.
        """
        return Run(Sym("...", Kind.UNKNOWN, PartOf(self.symbol, which, count)))

    def another(self, label: str = "_") -> Size:
        """Return a new dimension that is part of the run, supposed or untold as the run is."""
        origin = self.symbol.origin if self.symbol.stretches else FRESH
        return Size.of(Sym.distinct(label, Kind.UNKNOWN, origin))

    def __repr__(self) -> str:
        if self.symbol.options:
            return self.symbol.name
        return "..." if self.symbol.name in ("...", "_") else f"*{self.symbol.name}"


Item: TypeAlias = DimExpr | Run


def dim_of(item: Item) -> DimExpr:
    """Return a dimension as it is, and of a run how many elements it spans."""
    return item.size if isinstance(item, Run) else item


_MOST_OPTIONS: Final = 4
_MOST_SPELLED: Final = 1 << 6
"""As many combinations are spelled out of rows in which several runs are one of several."""


def either(*parts: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return what is one of several rows of dimensions, `[b c|c|]`; `...` if one isn't known."""
    spelled = (option for part in parts for option in _options(part))
    options = tuple(dict.fromkeys(islice(spelled, _MOST_SPELLED)))
    is_whole = next(spelled, None) is None
    if is_whole and len(options) == 1:
        return options[0]
    if not is_whole or len(options) > _MOST_OPTIONS or not all(map(_telling, options)):
        return (Run(Sym.fresh("...")),)
    if len({len(option) for option in options}) == 1 and not any(map(has_run, options)):
        return tuple(dims.either(*column) for column in zip(*options, strict=True))
    texts = dict.fromkeys(" ".join(map(str, option)) for option in options)
    text = "|".join(texts)
    known = len(text) <= LONGEST_CHOICE
    return (Run(Sym.one_of(f"[{text}]", options) if known else Sym.fresh("...")),)


def _options(part: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    """Yield all that a row of dimensions may be, where a run in it is one of several."""
    for at, item in enumerate(part):
        if isinstance(item, Run) and item.symbol.options:
            for option in item.symbol.options:
                yield from _options(part[:at] + option + part[at + 1 :])
            return
    yield part


def _telling(part: tuple[Item, ...]) -> bool:
    return all(symbol.has_name for item in part for symbol in symbols_of(item))


def symbols_of(item: Item) -> frozenset[Sym]:
    """Return all symbols that a dimension is made of, or that of a run."""
    return frozenset((item.symbol,)) if isinstance(item, Run) else dims.symbols(item)


def runs_in(items: Iterable[object]) -> list[tuple[int, Run]]:
    """Return the runs among some items, each behind where it stands."""
    return [(at, item) for at, item in enumerate(items) if isinstance(item, Run)]


def has_run(items: Iterable[object]) -> bool:
    """Whether there is a run among some items, so that their number isn't known."""
    return any(isinstance(item, Run) for item in items)


def behind_runs(items: Sequence[Item]) -> tuple[DimExpr, ...]:
    """Return the dimensions behind the last run, counted from the end; all where there is none."""
    last = max((at for at, _ in runs_in(items)), default=-1)
    return tuple(item for item in items[last + 1 :] if not isinstance(item, Run))


def is_vague(items: Iterable[object]) -> bool:
    """Whether nothing says which axes some of a shape's are, or how many."""
    return any(isinstance(item, Run) and not item.symbol.has_name for item in items)


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions of a tensor, outermost first."""

    dims: tuple[Item, ...]

    @staticmethod
    def unknown() -> Shape:
        """Return a shape of which nothing is known, not even the rank."""
        return Shape((Run(Sym.fresh("...")),))

    @staticmethod
    def of_rank(rank: int) -> Shape:
        """Return a shape of known rank and unknown sizes."""
        return Shape(tuple(dims.unknown() for _ in range(rank)))

    @property
    def known(self) -> tuple[DimExpr, ...] | None:
        """The dimensions where the rank is known, else None."""
        for item in self.dims:
            if isinstance(item, Run):
                return None
        return self.dims  # type: ignore[return-value]  # no Run among them

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None where it isn't known."""
        for item in self.dims:
            if isinstance(item, Run):
                return None
        return len(self.dims)

    @property
    def axes(self) -> IntSize:
        """The number of dimensions, of which that in runs has symbols."""
        return sum((i.length if isinstance(i, Run) else 1 for i in self.dims), start=0)

    @property
    def least_rank(self) -> int:
        """The least number of dimensions that the tensor can have."""
        return sum(not isinstance(item, Run) for item in self.dims)

    @property
    def opaque(self) -> bool:
        """Whether nothing at all is known."""
        return (
            len(self.dims) == 1
            and isinstance(run := self.dims[0], Run)
            and (run.symbol.kind is Kind.UNKNOWN)
        )

    def position(self, axis: int) -> int | None:
        """Return where in `dims` the axis of this (possibly negative) index stands, if known."""
        if axis < 0:
            axis += len(self.dims)
            reached: Sequence[Item] = self.dims[max(axis, 0) :]
        else:
            reached = self.dims[: axis + 1]
        if not 0 <= axis < len(self.dims) or has_run(reached):
            return None
        return axis

    def at(self, axis: int) -> DimExpr | None:
        """Return the dimension at an axis, or None where it isn't known which that is."""
        position = self.position(axis)
        item = None if position is None else self.dims[position]
        return None if isinstance(item, Run) else item

    def without(self, positions: Collection[int]) -> tuple[Item, ...]:
        """Return the dimensions but for those that stand at some positions."""
        return tuple(item for at, item in enumerate(self.dims) if at not in positions)

    def numel(self) -> IntSize | None:
        """Return the number of elements, or None where the rank isn't known."""
        known = self.known
        return None if known is None else dims.product(map(size_of, known))

    def __repr__(self) -> str:
        return "(" + self.text() + ")"

    def text(self) -> str:
        """Return the shape in the notation of annotations, `b c h//2`."""
        return " ".join(map(str, self.dims))


@dataclass(frozen=True, slots=True)
class Free:
    """A dimension that is an object of the program, after `functorch.dim`.

    It is bound to a size when a tensor is first indexed with it. What is learned of `symbol` is
    that size, and what is learned of `bound` whether it has one as yet, 1 or 0.
    """

    symbol: Sym

    @property
    def size(self) -> Size:
        """The number of elements."""
        return Size.of(self.symbol)

    @property
    def bound(self) -> Sym:
        """What stands for whether it has a size, in facts."""
        return Sym(f"bound({self.symbol.name})", Kind.UNKNOWN, IsBound(self.symbol))

    def __repr__(self) -> str:
        return self.symbol.name


@dataclass(frozen=True, slots=True)
class Tensor:
    """What is known of a tensor: its shape and the set of its possible dtypes.

    `inserted`: an axis of size 1 was just put in on purpose (`x[:, None]`, `unsqueeze`), so that
    an outer product by broadcasting is what the program means. `free` are the first-class
    dimensions that it has beside its axes, which have no order; with `more`, perhaps others too.
    `blank`: its memory holds no data as yet, or one value everywhere, so that its axes may be
    regrouped at will; see decisions.md, "Memory without data has no order of axes". `called` is
    what the function that gave it calls its axes (None: it may call them anything). Operations by
    name find by that those that have no names here, and no other op is checked by it.
    """

    shape: Shape
    dtype: DTypes = dtypes.ANY
    inserted: bool = False
    free: tuple[Free, ...] = ()
    more: bool = False
    blank: bool = False
    called: tuple[str | None, ...] | None = ()

    @staticmethod
    def unknown() -> Tensor:
        """Return a tensor of which nothing is known."""
        return Tensor(Shape.unknown())

    def with_shape(self, shape: Shape) -> Tensor:
        """Return the same tensor with another shape; several times as fast as `replace`."""
        return Tensor(
            shape, self.dtype, self.inserted, self.free, self.more, self.blank, self.called
        )

    def __repr__(self) -> str:
        if not self.free:
            return repr(self.shape)
        return f"{self.shape} over {', '.join(map(str, self.free))}"


Topic: TypeAlias = "Item | Shape | None"
"""What a problem may be about; None stands for what isn't known."""


class Mismatch(Exception):
    """Shapes that can't be; carries the `Problem` to the edge that explains it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.reason)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an operation, an argument or a result can't be.

    `reason`: the sentence behind the colon, in terms of names and axes.
    `headline`: what was tried, `can't multiply (b n) by (m k)`; derived from the operands if empty.
    `code`: the error code. `hints`: names of edits that might help, tried before they are told.
    `about`: the dimensions that the reason mentions, alone or in a shape. `broadcasts`: they would
    have to be one, or one of them 1.
    """

    reason: str
    headline: str = ""
    code: str = "shape"
    hints: tuple[str, ...] = ()
    about: tuple[Topic, ...] = ()
    broadcasts: bool = False


def mismatch(
    reason: str,
    headline: str = "",
    code: str = "shape",
    *hints: str,
    about: tuple[Topic, ...] = (),
    broadcasts: bool = False,
) -> Mismatch:
    """Return the exception for a problem, to be raised."""
    return Mismatch(Problem(reason, headline, code, hints, about, broadcasts))
