"""einops patterns: reading them, and what their names are when they meet a tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import shapecheck.dims as dims
from shapecheck import spec
from shapecheck.dims import Composite, DimExpr, IntSize, Kind, Size, size_of
from shapecheck.ops.agree import counted, listed, size
from shapecheck.ops.call import Call, Value, is_int
from shapecheck.ops.patterns.einsum import ELLIPSIS
from shapecheck.shapes import Item, Run, Shape, Topic, dim_of, mismatch

Part = str | int
"""One elementary axis of a pattern: its name, `...`, or a number."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pattern: each axis as the elementary axes that it merges; `1` is `()`."""

    axes: tuple[tuple[Part, ...], ...]
    merged: frozenset[int]

    @property
    def parts(self) -> Iterator[Part]:
        """All elementary axes in order."""
        for axis in self.axes:
            yield from axis

    @property
    def names(self) -> list[str]:
        """The names in order, without the ellipsis."""
        return [part for part in self.parts if isinstance(part, str) and part != ELLIPSIS]

    @property
    def ellipsis(self) -> int | None:
        """Which axis is the ellipsis, None where there is none or it stands in parentheses."""
        return next(
            (i for i, axis in enumerate(self.axes) if axis == (ELLIPSIS,) and i not in self.merged),
            None,
        )


class PatternError(Exception):
    """A text that isn't an einops pattern; says why."""


def side(entries: spec.Spec) -> Side:
    """Read one side of a pattern; raises `PatternError` for what einops doesn't have."""
    axes: list[tuple[Part, ...]] = []
    merged: set[int] = set()
    for entry in entries.entries:
        if isinstance(entry, spec.Axis) and isinstance(entry.expr, spec.Merge):
            merged.add(len(axes))
            axes.append(tuple(p for one in entry.expr.parts if (p := _part(one)) != 1))
        else:
            part = _part(entry)
            axes.append(() if part == 1 else (part,))
    result = Side(tuple(axes), frozenset(merged))
    if sum(part == ELLIPSIS for part in result.parts) > 1:
        raise PatternError("a side of a pattern has one '...'")
    return result


def _part(entry: spec.Entry) -> Part:
    plain = not (entry.broadcast or entry.leaf or entry.label is not None)
    if plain and isinstance(entry, spec.Group) and entry.name is None:
        return ELLIPSIS
    if plain and isinstance(entry, spec.Axis):
        match entry.expr:
            case spec.Name(id=name) if not name.endswith("_"):
                return name
            case spec.Wild(id="_"):
                return "_"
            case spec.Number(value=value) if value > 0:
                return value
            case spec.Merge():
                raise PatternError("parentheses can't stand in parentheses")
            case spec.Name(id=name) | spec.Wild(id=name):
                raise PatternError(f"'{name}' begins or ends with an underscore")
    raise PatternError(f"'{entry}' isn't a name, a number, '...' or '(a b)'")


def read(pattern: str, headline: str) -> tuple[tuple[Side, ...], Side | None]:
    """Read a pattern's inputs and output; raises `Mismatch` for one that einops refuses."""
    try:
        inputs, output = spec.parse_pattern(pattern)
        return tuple(side(one) for one in inputs), None if output is None else side(output)
    except (spec.SpecError, PatternError) as error:
        reason = error.reason if isinstance(error, spec.SpecError) else str(error)
        raise mismatch(reason, headline) from None


@dataclass(slots=True)
class Binding:
    """One application of a pattern to a tensor: the sizes of its elementary axes."""

    call: Call
    shape: Shape
    headline: str
    sizes: dict[str, DimExpr] = field(default_factory=dict)
    rest: tuple[Item, ...] = ()

    def fail(self, reason: str, *hints: str, about: tuple[Topic, ...] = ()) -> NoReturn:
        """Raise the `Mismatch` for a reason."""
        raise mismatch(reason, self.headline, "shape", *hints, about=about)

    def part(self, part: Part) -> DimExpr | None:
        """Return the size of an elementary axis, None where it isn't known yet."""
        return part if isinstance(part, int) else self.sizes.get(part)

    def bind(self, left: Side) -> None:
        """Give the left side's names the tensor's dimensions."""
        cut = left.ellipsis
        count = len(left.axes) - (cut is not None)
        self.shape = (
            self.call.facts.stretched(self.shape, count=count)
            if cut is None
            else self.call.facts.stretched(self.shape, cut, count - cut)
        )
        least = self.shape.least_rank
        if least > count if cut is None else self.shape.rank is not None and least < count:
            more = "" if self.shape.rank is not None else "at least "
            self.fail(
                f"the tensor has {more}{counted(least, 'axis')}, the left side "
                f"{'at least ' if cut is not None else ''}{count}",
                "unsqueeze",
                "squeeze",
            )
        if cut is None and self.shape.rank is not None and least < count:
            self.fail(f"the tensor has {counted(least, 'axis')}, the left side {count}")
        front = list(enumerate(left.axes if cut is None else left.axes[:cut]))
        back = [] if cut is None else list(enumerate(left.axes))[cut + 1 :]
        items = list(self.shape.dims)
        while front and items and not isinstance(item := items[0], Run):
            self.axis(front[0][1], item, front[0][0])
            front.pop(0)
            items.pop(0)
        last = front if cut is None else back
        while last and items and not isinstance(item := items[-1], Run):
            self.axis(last[-1][1], item, last[-1][0] - len(left.axes))
            last.pop()
            items.pop()
        self.rest = Shape.unknown().dims if front or back else tuple(items)
        for _, axis in (*front, *back):
            for part in axis:
                if isinstance(part, str) and part not in self.sizes:
                    self.sizes[part] = dims.unknown(part if len(axis) == 1 else "_")

    def axis(self, axis: Sequence[Part], dim: DimExpr, index: int) -> None:
        """Bring one axis of the left side together with a dimension of the tensor."""
        missing = [part for part in axis if self.part(part) is None]
        if len(missing) > 1:
            self.fail(
                f"the sizes of {listed(missing)} can't be told from their product {dim}",
                about=(dim,),
            )
        before: list[DimExpr] = []
        after: list[DimExpr] = []
        text = " ".join(map(str, axis))
        text = f'"({text})"' if len(axis) > 1 else f'"{text}"'
        if missing:
            (wanted,) = missing
            assert isinstance(wanted, str)
            if len(axis) == 1:
                self.sizes[wanted] = dim
                if isinstance(dim, Size) and (symbol := dim.symbol) is not None:
                    symbol.label(wanted)
                return
            at = axis.index(wanted)
            before = [self.size(part) for part in axis[:at]]
            after = [self.size(part) for part in axis[at + 1 :]]
            self.sizes[wanted] = self.quotient(dim, before, after, text, index)
            self.keep_names(dim, axis)
        merged = dims.merge(found for part in axis if (found := self.part(part)) is not None)
        if not missing and not self.agree(dim, merged, axis):
            wanted = f"{text} is {merged}" if axis else "1 is expected"
            self.fail(f"axis {index} is {dim}, where {wanted}", "transpose", about=(dim, merged))
        if missing and not _anywhere(dim, before, after) and self.call.facts.differ(dim, merged):
            self.fail(
                f"axis {index} is {dim}, where {text} takes it apart as {merged}",
                about=(dim, merged),
            )

    def agree(self, dim: DimExpr, merged: DimExpr, axis: Sequence[Part]) -> bool:
        """Whether a dimension can be what its axis of the pattern is said to be."""
        if self.call.unify(dim, merged, told=bool(axis)):
            return True
        return len(axis) > 1 and self.call.take_apart(size_of(dim), size_of(merged))

    def keep_names(self, dim: DimExpr, axis: Sequence[Part]) -> None:
        """Let parts of a composite that are said to be numbers keep their names: (h d) with h=8."""
        if isinstance(dim, Composite) and len(dim.parts) == len(axis):
            for part, item in zip(axis, dim.parts, strict=True):
                known = self.part(part)
                if isinstance(part, str) and isinstance(known, int):
                    if self.call.facts.same(item, known):
                        self.sizes[part] = item

    def size(self, part: Part) -> DimExpr:
        """Return the size of an elementary axis that is known."""
        found = self.part(part)
        assert found is not None
        return found

    def quotient(
        self,
        dim: DimExpr,
        before: Sequence[DimExpr],
        after: Sequence[DimExpr],
        text: str,
        index: int,
    ) -> DimExpr:
        """Return what is left of a dimension when the known parts around one are taken away."""
        resolved = self.call.facts.dim(dim)
        if isinstance(dim, Composite) and (middle := self.middle(dim, before, after)) is not None:
            return middle
        facts = self.call.facts
        known: IntSize = 1
        plain: IntSize = 1
        for part in (*before, *after):
            known = known * facts.size(size_of(part))
            plain = plain * size_of(part)
        whole = size_of(resolved)
        if known == 0:
            return dims.unknown()
        if dims.indivisible(whole, known):
            self.fail(f"axis {index} is {whole}, which {known} doesn't divide, in {text}")
        unlearned = dims.divide(size_of(dim), plain)
        found = dims.exact_quotient(whole, known) if unlearned is None else unlearned
        return dims.floordiv(whole, known) if found is None else found

    def middle(
        self, dim: Composite, before: Sequence[DimExpr], after: Sequence[DimExpr]
    ) -> DimExpr | None:
        """Return the parts of a composite between those that the known parts are equal to."""
        parts = list(dim.parts)
        first, last = _flat(before), _flat(after)
        facts = self.call.facts
        one_by_one = len(parts) == len(first) + len(last) + 1

        def agree(part: IntSize, known: DimExpr) -> bool:
            """Whether a part is what is known: (h d) with h=8 says that h is 8, (8 d) doesn't."""
            if not one_by_one or (isinstance(known, int) and known in dim.parts):
                return facts.same(part, known)
            return self.call.unify(part, known, told=True)

        for part in first:
            if not parts or not agree(parts[0], part):
                return None
            parts.pop(0)
        for part in last[::-1]:
            if not parts or not agree(parts[-1], part):
                return None
            parts.pop()
        return dims.merge(parts)

    def build(self, right: Side) -> Shape:
        """Return the shape that the right side describes."""
        items: list[Item] = []
        for index, axis in enumerate(right.axes):
            if axis == (ELLIPSIS,) and index not in right.merged:
                items.extend(self.rest)
            else:
                items.append(self._merge(axis))
        return Shape(tuple(items))

    def _merge(self, axis: Sequence[Part]) -> DimExpr:
        found: list[DimExpr] = []
        for part in axis:
            if part == ELLIPSIS:
                found += map(dim_of, self.rest)
            else:
                dim = self.part(part)
                found.append(dims.unknown() if dim is None else dim)
        return _put_together(dims.merge(found))


def _put_together(made: DimExpr) -> DimExpr:
    """Return the axis that was cut by a number where its two pieces are one again.

    Which of them was outside when it was cut isn't known, so that it may be cut either way again.
    """
    if isinstance(made, Composite) and len(made.parts) == 2 and any(map(is_int, made.parts)):
        whole = dims.as_exact(made.size)
        if isinstance(whole, Size) and whole.symbol is not None:
            return whole
    return made


def _anywhere(dim: DimExpr, before: Sequence[DimExpr], after: Sequence[DimExpr]) -> bool:
    """Whether known parts may lie anywhere in a composite: (p c) as (16 16 c), p being 256."""
    known = (*before, *after)
    if not isinstance(dim, Composite) or len(dim.parts) == len(known) + 1:
        return False
    return all(symbol.kind is not Kind.NAME for part in known for symbol in dims.symbols(part))


def _flat(parts: Sequence[DimExpr]) -> list[IntSize]:
    return [
        one
        for part in parts
        for one in (part.parts if isinstance(part, Composite) else (part,))
        if one != 1
    ]


def as_length(value: Value) -> DimExpr:
    """Return a length as a dimension, a composite as it is."""
    return value if isinstance(value, Composite) else size(value)
