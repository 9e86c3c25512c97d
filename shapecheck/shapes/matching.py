"""Matching shapes against annotations: binding names, solving equations, building shapes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from mypy_extensions import mypyc_attr

import shapecheck.dims as dims
from shapecheck import spec
from shapecheck.dims import (
    Composite,
    DimExpr,
    Extreme,
    IntSize,
    Kind,
    Relation,
    Size,
    Sym,
    Verdict,
    is_name,
    size_of,
)
from shapecheck.dims.origins import Wanted
from shapecheck.shapes.broadcasting import Clash, broadcast
from shapecheck.shapes.facts import Facts, is_clamped
from shapecheck.shapes.model import Item, Run, Shape, dim_of, has_run
from shapecheck.spec.objects import is_of_objects

_EVEN: Final = 2**12 * 3**4 * 5**4 * 7**3 * 11 * 13
_LARGE: Final = (*range(5040, 5104), *range(_EVEN - 64, _EVEN + 64))
"""Sizes that are no exceptions, with all remainders that floors have: of windows of 128 as well."""

Evaluate: TypeAlias = Callable[[str], IntSize | None]


def unevaluated(source: str) -> IntSize | None:
    """Return None: nothing is known of the value of any expression."""
    return None


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a shape doesn't fit an annotation.

    `axis` is the index into the shape (None: the rank is wrong), `expected` what the annotation
    says there and `value` what that is here, `actual` what the shape has; of a group that has
    another number of axes here, `value` and `actual` are these numbers.
    """

    axis: int | None
    expected: str = ""
    value: DimExpr | None = None
    actual: DimExpr | None = None

    @property
    def of_rank(self) -> bool:
        """Whether the rank is wrong."""
        return self.axis is None and not self.expected


@dataclass(frozen=True, slots=True)
class _Equation:
    """A dimension that an annotation describes by names of which some aren't bound yet."""

    entry: spec.Axis
    actual: DimExpr
    axis: int


@dataclass(frozen=True, slots=True)
class _Spread:
    """Dimensions that several groups share in a way that isn't known yet."""

    entries: Sequence[spec.Entry]
    items: Sequence[Item]
    offset: int


@mypyc_attr(native_class=False)  # a tuple
class _Growing(tuple[Item, ...]):
    """What a group is bound to that was met only as `*#batch`: later dims may broadcast it."""

    __slots__ = ()


@dataclass(slots=True)
class Matcher:
    """Binds the names of annotations to the dimensions that they meet.

    `names` and `runs` hold the bindings; those of `?b` hold for one tensor. `evaluate` gives the
    value of a `{...}` expression, or None where it can't be known. `beside`: see `Facts.unify`.
    `pending`: what waits for further names, see `settle`. `promises`: these names, and numbers,
    are kept for every size, so that no name may have to be a number in them. See decisions.md,
    "What is promised is promised for every size". `of_module`: see `Facts.unify`.
    """

    facts: Facts
    evaluate: Evaluate = unevaluated
    names: dict[str, DimExpr] = field(default_factory=dict)
    runs: dict[str, tuple[Item, ...]] = field(default_factory=dict)
    beside: Sequence[Shape] = ()
    pending: list[_Equation | _Spread] = field(default_factory=list)
    promises: Collection[str] | None = None
    of_module: bool = False

    def match(self, text: spec.Spec, shape: Shape) -> Misfit | None:
        """Fit a shape to an annotation, binding its names; returns why it doesn't fit, or None.

        Equations that can't be solved yet stay in `pending`; see `settle`.
        """
        for entry in text.entries:
            if entry.leaf:
                self.names.pop(_key(entry), None)
                self.runs.pop(_key(entry), None)
        entries = text.entries
        if text.groups == 1:
            at = next(i for i, entry in enumerate(entries) if isinstance(entry, spec.Group))
            behind = len(entries) - 1 - at
            shape = self.facts.stretched(shape, at, behind, apart=self.of_module)
        items = self.facts.shape(shape).dims
        if not has_run(items):
            if len(items) < text.least or (len(items) > text.least and not text.groups):
                return Misfit(None)
        left, right = 0, 0
        while left < len(entries) and left < len(items):
            entry, item = entries[left], items[left]
            if isinstance(entry, spec.Group) or isinstance(item, Run):
                break
            if misfit := self._dim(entry, item, left):
                return misfit
            left += 1
        while right < len(entries) - left and right < len(items) - left:
            entry, item = entries[-1 - right], items[-1 - right]
            if isinstance(entry, spec.Group) or isinstance(item, Run):
                break
            if misfit := self._dim(entry, item, -1 - right):
                return misfit
            right += 1
        rest = entries[left : len(entries) - right]
        middle = items[left : len(items) - right]
        return self._middle(rest, middle, left)

    # Groups and runs

    def _middle(
        self, entries: Sequence[spec.Entry], items: Sequence[Item], offset: int
    ) -> Misfit | None:
        """Fit what stands between the outermost groups or runs."""
        variable = [entry for entry in entries if isinstance(entry, spec.Group)]
        ragged = [item for item in items if isinstance(item, Run)]
        if len(entries) == 1 and variable:
            return self._run(variable[0], tuple(items), offset)
        if not variable and len(items) - len(ragged) > len(entries):
            return Misfit(None)
        if not variable and len(ragged) == 1:
            return self._spell_out(entries, ragged[0], offset)
        if len(variable) > 1 and not ragged:
            return self._several(_Spread(entries, items, offset))
        if ragged:
            self._loosen(variable)
        return None

    def loosen(self, text: spec.Spec) -> None:
        """Take note that a shape of which nothing is known meets an annotation."""
        self._loosen([entry for entry in text.entries if isinstance(entry, spec.Group)])

    def _loosen(self, groups: Iterable[spec.Group]) -> None:
        """Let the groups that broadcast have met any dimensions."""
        for group in groups:
            bound = self.runs.get(_key(group))
            open_ = bound is None or isinstance(bound, _Growing)
            if group.broadcast and not group.anonymous and open_:
                met = broadcast(self.facts, bound or (), (Run(Sym.fresh("...")),))
                self.runs[_key(group)] = _Growing(met)

    def _spell_out(self, entries: Sequence[spec.Entry], run: Run, offset: int) -> Misfit | None:
        """Learn what a run stands for: as many dims as are left in the annotation."""
        axes = [entry for entry in entries if isinstance(entry, spec.Axis)]
        found = [
            run.another(axis.expr.id if isinstance(axis.expr, spec.Name) else "_") for axis in axes
        ]
        self.facts.learn_run(run.symbol, tuple(found))
        for index, (axis, dim) in enumerate(zip(axes, found, strict=True)):
            if misfit := self._dim(axis, dim, offset + index):
                return misfit
        return None

    def _several(self, spread: _Spread) -> Misfit | None:
        """Fit two groups or more, once all of them but one have a known length."""
        lengths = [self._length(entry) for entry in spread.entries]
        spare = len(spread.items) - sum(length for length in lengths if length is not None)
        open_ = [e for e, length in zip(spread.entries, lengths, strict=True) if length is None]
        if spare < 0 or (not open_ and spare):
            return Misfit(None)
        if len(open_) > 1 and spare and not _are_one(open_):
            self.pending.append(spread)
            return None
        each, left = divmod(spare, max(len(open_), 1))
        if left:
            return Misfit(None, str(open_[0]), each, each + left)
        at = 0
        for entry, length in zip(spread.entries, lengths, strict=True):
            count = each if length is None else length
            part = tuple(spread.items[at : at + count])
            misfit = self._entry(entry, part, spread.offset + at)
            if misfit:
                return misfit
            at += count
        return None

    def _length(self, entry: spec.Entry) -> int | None:
        """Return how many dimensions an entry stands for, None where that isn't known."""
        if isinstance(entry, spec.Axis):
            return 1
        bound = None if entry.anonymous else self.runs.get(_key(entry))
        if bound is None or entry.broadcast or isinstance(bound, _Growing):
            return None
        return None if has_run(bound) else len(bound)

    def _entry(self, entry: spec.Entry, part: tuple[Item, ...], axis: int) -> Misfit | None:
        if isinstance(entry, spec.Group):
            return self._run(entry, part, axis)
        (only,) = part
        return None if isinstance(only, Run) else self._dim(entry, only, axis)

    def _run(self, group: spec.Group, items: tuple[Item, ...], offset: int) -> Misfit | None:
        if group.filled and not items:
            return Misfit(None)
        if group.anonymous:
            return None
        key = _key(group)
        bound = self.runs.get(key)
        if bound is None:
            self.runs[key] = _Growing(items) if group.broadcast else items
            return None
        growing = isinstance(bound, _Growing)
        if not group.broadcast and not growing:
            return self._equal(group, bound, items, items, offset)
        try:
            merged = broadcast(self.facts, bound, items, self.beside)
        except Clash as clash:
            return Misfit(offset + len(items) + clash.axis, str(group), clash.left, clash.right)
        if not growing:
            return self._equal(group, bound, merged, items, offset)
        if group.broadcast:
            self.runs[key] = _Growing(merged)
            return None
        self.runs[key] = items
        return self._equal(group, merged, items, items, offset)

    def _equal(
        self,
        group: spec.Group,
        bound: Sequence[Item],
        found: Sequence[Item],
        items: Sequence[Item],
        offset: int,
    ) -> Misfit | None:
        """Equate what a group stands for with what was found, which has the axes of `items`."""
        if has_run((*bound, *found)):
            return None
        if len(bound) != len(found):
            return Misfit(None, str(group), len(bound), len(found))
        for index, (expected, actual) in enumerate(zip(bound, found, strict=True)):
            assert not isinstance(expected, Run)
            assert not isinstance(actual, Run)
            if not self._equate(expected, actual, (group.name or "",)):
                return Misfit(
                    offset + len(items) - len(found) + index, str(group), expected, actual
                )
        return None

    def _equate(self, expected: DimExpr, actual: DimExpr, names: Iterable[str]) -> bool:
        """Make two dimensions equal; False where they can't be, or aren't for every size.

        `names` are those in what the annotation says.
        """
        promised = self.promises is not None and all(name in self.promises for name in names)
        if promised and self._is_narrow(expected, actual):
            return False
        return self.facts.unify(expected, actual, self.beside, self.of_module)

    def _is_narrow(self, expected: DimExpr, actual: DimExpr) -> bool:
        """Whether two dimensions are equal only where names are numbers, or the lesser is known."""
        one, other = self.facts.dim(expected), self.facts.dim(actual)
        if is_name(other) and isinstance(one, Size) and isinstance(one.atom, Extreme):
            told = other not in one.atom.args or self.facts.asks_condition()
            return not told and all(map(is_name, one.atom.args))
        if isinstance(one, int) != isinstance(other, int):
            named = other if isinstance(one, int) else one
            symbols = dims.symbols(named)
            # min(n,2) is 2 for every n that isn't less, and an object may promise a number
            is_open = any(s.size is None for s in symbols) and not is_clamped(named)
            return is_open and all(s.kind is Kind.NAME for s in symbols)
        match self.facts.compare(one, other).learn:
            case Sym(kind=Kind.NAME), int():
                return True
        return _is_of_few(size_of(one) - size_of(other))

    # Single dimensions

    def _dim(self, entry: spec.Axis, actual: DimExpr, axis: int) -> Misfit | None:
        expr = entry.expr
        if isinstance(expr, spec.Wild):
            return None
        if entry.broadcast and self.facts.dim(actual) == 1:
            return None
        if isinstance(expr, spec.Name):
            key = _key(entry)
            expected: DimExpr | None = self.names.get(key)
            if expected is None:
                self.names[key] = actual
                return None
        else:
            expected = self.value(expr)
        if expected is None:
            if not isinstance(expr, spec.Braces):
                self.pending.append(_Equation(entry, actual, axis))
            return None
        if self._equate(expected, actual, spec.expr_names(expr)):
            return None
        return Misfit(axis, str(entry), expected, actual)

    def value(self, expr: spec.Expr) -> DimExpr | None:
        """Return what an expression comes to, or None where a name in it isn't bound."""
        try:
            return self._value(expr)
        except (_Unbound, ZeroDivisionError):
            return None

    def _value(self, expr: spec.Expr) -> DimExpr:
        match expr:
            case spec.Number(value):
                return value
            case spec.Name(id):
                bound = self.names.get(id)
                if bound is None:
                    raise _Unbound(id)
                return bound
            case spec.Wild():
                return dims.unknown()
            case spec.Braces(source):
                found = self.evaluate(source)
                if found is None:
                    raise _Unbound(source)
                return found
            case spec.Negate(operand):
                return -size_of(self._value(operand))
            case spec.Binary("+", left, right) if is_of_objects(expr):
                return dims.joined((size_of(self._value(left)), size_of(self._value(right))))
            case spec.Binary("*", spec.Number(count), right) if is_of_objects(expr):
                return dims.copies(size_of(self._value(right)), count)
            case spec.Binary(op, left, right):
                return dims.ARITHMETIC[op](size_of(self._value(left)), size_of(self._value(right)))
            case spec.Call(function, args):
                return dims.extreme(function, [size_of(self._value(arg)) for arg in args])
            case spec.Merge(parts):
                return dims.merge(dim for part in parts for dim in self._parts(part))

    def _parts(self, part: spec.Entry) -> Iterable[DimExpr]:
        """Return the dimensions that one part of `(h *rest)` merges."""
        if isinstance(part, spec.Axis):
            return (self._value(part.expr),)
        bound = None if part.anonymous else self.runs.get(part.name or "")
        if bound is None:
            raise _Unbound(str(part))
        return [*map(dim_of, bound)]

    # Equations

    def settle(self) -> Misfit | None:
        """Solve what was left, each equation for the one name that is still missing.

        What can't be solved stays in `pending`.
        """
        progress = True
        while self.pending and progress:
            progress = False
            waiting, self.pending = self.pending, []
            for index, left in enumerate(waiting):
                count = len(self.pending)
                misfit = self._several(left) if isinstance(left, _Spread) else self._equation(left)
                if misfit is not None:
                    self.pending += waiting[index + 1 :]
                    return misfit
                progress = progress or len(self.pending) == count
        return None

    def _equation(self, equation: _Equation) -> Misfit | None:
        """Check an equation, or solve it for the one name in it that is missing."""
        entry, actual, axis = equation.entry, equation.actual, equation.axis
        if entry.broadcast and self.facts.dim(actual) == 1:
            return None
        solved = self._solve(entry.expr, actual)
        if solved is Relation.DIFFERENT:
            return Misfit(axis, str(entry.expr), None, actual)
        expected = self.value(entry.expr)
        if expected is None:
            self.pending.append(equation)
            return None
        if self._equate(expected, actual, spec.expr_names(entry.expr)):
            return None
        return Misfit(axis, str(entry.expr), expected, actual)

    def awaits(self, name: str) -> bool:
        """Whether an equation is left that has a name in it which isn't bound."""
        return name not in self.names and any(
            isinstance(left, _Equation) and name in {*spec.expr_names(left.entry)}
            for left in self.pending
        )

    def _solve(self, expr: spec.Expr, actual: DimExpr) -> Relation:
        """Bind the one name that is missing; DIFFERENT if no integer can be it."""
        if isinstance(expr, spec.Merge) and isinstance(actual, Composite):
            self._split(expr.parts, actual.parts)
        verdict = self._verdict(expr, actual)
        if verdict is None:
            return Relation.POSSIBLE
        if verdict.learn is not None and verdict.learn[0] is _WANTED:
            (missing,) = self._missing(expr)
            self.names[missing] = verdict.learn[1]
        return verdict.relation

    def _verdict(self, expr: spec.Expr, actual: DimExpr) -> Verdict | None:
        """Solve an equation for the one name that is missing in it; None if not just one is."""
        missing = self._missing(expr)
        if len(missing) != 1:
            return None
        trial = Matcher(self.facts, self.evaluate, {**self.names, missing[0]: Size.of(_WANTED)})
        trial.runs = self.runs
        left = trial.value(expr)
        if left is None:
            return None
        return dims.solve(
            self.facts.size(size_of(left)) - self.facts.size(size_of(actual)), _WANTED
        )

    def _missing(self, expr: spec.Expr) -> list[str]:
        return list(
            dict.fromkeys(
                name
                for name in spec.expr_names(expr)
                if name not in self.names and name not in self.runs
            )
        )

    def _split(self, parts: Sequence[spec.Entry], dims_: Sequence[IntSize]) -> None:
        """Bind the parts of `(h *rest d)` to those of a composite, from both of its ends."""
        parts, left = list(parts), list(dims_)
        for end in (0, -1):
            while parts and left:
                part = parts[end]
                if isinstance(part, spec.Group):
                    break
                known = self.value(part.expr)
                if known is None and not (
                    isinstance(part.expr, spec.Name) and self._even(parts, left)
                ):
                    break
                if known is None:
                    assert isinstance(part.expr, spec.Name)
                    self.names[part.expr.id] = left[end]
                elif not self.facts.same(known, left[end]):
                    break
                del parts[end], left[end]
        if len(parts) == 1:
            (part,) = parts
            if isinstance(part, spec.Group):
                if not part.anonymous and part.name not in self.runs:
                    self.runs[part.name or ""] = tuple(left)
            elif isinstance(part.expr, spec.Name) and part.expr.id not in self.names:
                self.names[part.expr.id] = dims.merge(left)

    @staticmethod
    def _even(parts: Sequence[spec.Entry], left: Sequence[IntSize]) -> bool:
        """Whether parts and dimensions are as many, so that they correspond one to one."""
        return len(parts) == len(left) and all(isinstance(part, spec.Axis) for part in parts)

    # Building

    def build(
        self,
        text: spec.Spec,
        default: Callable[[str], DimExpr] | None = None,
        default_run: Callable[[str], Item] | None = None,
    ) -> Shape:
        """Return the shape that an annotation describes under the bindings.

        A name that isn't bound becomes `default(name)`, by default an unknown dimension under
        that name; it is bound to it from then on.
        """
        items: list[Item] = []
        for entry in text.entries:
            if isinstance(entry, spec.Group):
                items.extend(self._build_run(entry, default_run))
            else:
                items.append(self._build_dim(entry, default))
        return Shape(tuple(items))

    def _build_run(
        self, group: spec.Group, default: Callable[[str], Item] | None
    ) -> tuple[Item, ...]:
        if group.anonymous or group.name is None:
            fresh = Run(Sym.fresh("...", default is not None))
            return self.runs.get(group.name or "...") or (fresh,)
        if group.broadcast and default is not None:
            bound = self.runs.get(group.name)
            return (Run(Sym.fresh(f"#{group.name}")),) if bound is None else bound
        if group.name not in self.runs:
            made = Run(Sym.fresh("...")) if default is None else default(group.name)
            self.runs[group.name] = (made,)
        return tuple(self.runs[group.name])

    def _build_dim(self, entry: spec.Axis, default: Callable[[str], DimExpr] | None) -> DimExpr:
        expr = entry.expr
        if entry.broadcast and default is not None:
            return dims.unknown(f"#{expr}")
        for missing in self._missing(expr):
            self.names[missing] = dims.unknown(missing) if default is None else default(missing)
        found = self.value(expr)
        if found is None or (isinstance(expr, spec.Wild) and default is not None):
            return Size.of(Sym.fresh(str(expr) if default is not None else "_", True))
        return found


def _is_of_few(gap: IntSize) -> bool:
    """Whether a difference is none for few sizes of its one name, as `n - n//2 - 1` for 1 and 2."""
    if isinstance(gap, int) or is_clamped(gap) or len(gap.symbols()) != 1:
        return False
    (symbol,) = gap.symbols()
    large = (dims.substitute(gap, {symbol: size}) for size in _LARGE)
    return symbol.kind is Kind.NAME and 0 not in large


def _are_one(entries: Sequence[spec.Entry]) -> bool:
    """Whether entries are one group, which has the same dimensions wherever it stands."""
    groups = [one for one in entries if isinstance(one, spec.Group)]
    is_one = len({_key(group) for group in groups}) == 1
    return is_one and not any(group.anonymous or group.broadcast for group in groups)


def _key(entry: spec.Entry) -> str:
    """Return what an axis or a group that is a name is bound under."""
    found = entry.name or "..." if isinstance(entry, spec.Group) else str(entry.expr)
    return f"?{found}" if entry.leaf else found


_WANTED = Sym("?", Kind.NAME, Wanted())


class _Unbound(Exception):
    """A name that has no value yet."""
