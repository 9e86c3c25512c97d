"""What has been learned about dimensions, and equality under it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

import shapecheck.dims as dims
from shapecheck.dims import (
    Atom,
    Composite,
    DimExpr,
    Extreme,
    FloorDiv,
    IntSize,
    Kind,
    Relation,
    Size,
    Sym,
    Untold,
    Verdict,
    compare,
    is_name,
    size_of,
    symbol_of,
)
from shapecheck.dims.origins import Arbitrary, ElementsOf, LengthOf, NamedAlike, PartOf
from shapecheck.dtypes import DTypes
from shapecheck.shapes.model import Item, Run, Shape, dim_of, either, has_run, runs_in
from shapecheck.shapes.ordered import (
    crosswise,
    disordered,
    numbered,
    ordering,
    otherwise_laid_out,
)

COORDINATES: Final = 4
"""Coordinates and colours are so many at most."""

_MOST_AXES: Final = 64
_NONE: Final = frozenset[Sym]()
_SAME: Final = Verdict(Relation.SAME)
_UNDER_A_CONDITION: Final = Verdict(Relation.POSSIBLE, own=True)


class _Told:
    """What was found out of the sizes of atoms: `symbols` are those in the atoms.

    `concerned` are those of which these say something, too, once it was asked. `sizes` and `dims`
    are some with what is known put in, the one of all atoms, the other of unknowns.
    """

    __slots__ = ("atoms", "concerned", "dims", "sizes", "symbols")

    def __init__(self, atoms: dict[Atom, IntSize]) -> None:
        found: set[Sym] = set()
        for atom in atoms:
            if isinstance(atom, Sym):
                found.add(atom)
            else:
                found |= dims.symbols_in(atom)
        self.atoms = atoms
        self.symbols = frozenset(found)
        self.concerned: frozenset[Sym] | None = None
        self.sizes: dict[Size, IntSize] = {}
        self.dims: dict[DimExpr, DimExpr] = {}


_NOTHING: Final = _Told({})


@mypyc_attr(allow_interpreted_subclasses=True)  # the run time has one
class Facts:
    """What has been learned about dimensions; copied where the program forks.

    The dicts are shared between copies and replaced, never changed.

    `atoms` maps an atom to the size it has, `runs` a run's symbol to the dimensions it stands for.
    `under_unknown_condition` says that the program at this point is under a condition that the
    analysis can't read: sizes of the program's own may then be equal to each other. `declared` are
    the shapes that annotations give to the parameters of the function at hand, `autocast` the
    dtypes in which ops may compute in the place of float32. `around` are axes and sizes that stood
    beside each other in tensors which are no operands, where a trial is to mind that. `features`
    are sizes of the program's own that layers make: none is 0. `told_apart` are names that were
    given to sizes: two of them are different dimensions although their sizes agree. `doubted` are
    pairs of sizes of the program's own that had to be equal under a condition. `times_asked` tells
    whether anything went by such a condition: it is counted up each time.
    """

    times_asked: ClassVar[int] = 0

    __slots__ = (
        "_told",
        "around",
        "atoms",
        "autocast",
        "declared",
        "doubted",
        "features",
        "runs",
        "told_apart",
        "under_unknown_condition",
    )

    def __init__(
        self,
        atoms: dict[Atom, IntSize] | None = None,
        runs: dict[Sym, tuple[Item, ...]] | None = None,
        under_unknown_condition: bool = False,
        declared: tuple[Shape, ...] = (),
        autocast: DTypes = 0,
    ) -> None:
        self.atoms = atoms if atoms is not None else {}
        self.runs = runs if runs is not None else {}
        self.under_unknown_condition = under_unknown_condition
        self.declared = declared
        self.autocast = autocast
        self.around: tuple[Shape, ...] = ()
        self.features: frozenset[Sym] = _NONE
        self.told_apart: frozenset[Sym] = _NONE
        self.doubted: frozenset[frozenset[DimExpr]] = frozenset()
        self._told = _NOTHING

    def copy(self) -> Facts:
        """Return an independent copy."""
        facts = Facts(
            self.atoms, self.runs, self.under_unknown_condition, self.declared, self.autocast
        )
        facts.features, facts.doubted = self.features, self.doubted
        facts.told_apart = self.told_apart
        facts._told = self._told
        return facts

    def asks_condition(self) -> bool:
        """Whether the program is `under_unknown_condition`, for what goes by it.

        It goes by the `features` then, too, which count only where no condition is met.
        """
        Facts.times_asked += 1
        return self.under_unknown_condition

    @property
    def told(self) -> frozenset[Sym]:
        """The symbols in the atoms of which something is known: of no others there is."""
        return self._known().symbols

    @property
    def concerned(self) -> frozenset[Sym]:
        """The symbols of which something is known, or of what is said of them."""
        known = self._known()
        if known.concerned is None:
            known.concerned = dims.concerned(known.atoms)
        return known.concerned | dims.concerned(self.runs) if self.runs else known.concerned

    def _known(self) -> _Told:
        if self._told.atoms is not self.atoms:
            self._told = _Told(self.atoms) if self.atoms else _NOTHING
        return self._told

    def minding(self, around: tuple[Shape, ...]) -> Facts:
        """Return a copy for a trial that minds what stood beside each other elsewhere."""
        facts = self.copy()
        facts.around = around
        return facts

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Facts)
            and self.atoms == other.atoms
            and self.runs == other.runs
            and self.under_unknown_condition == other.under_unknown_condition
            and self.autocast == other.autocast
        )

    __hash__ = None  # type: ignore[assignment]  # mutable

    def size(self, size: IntSize) -> IntSize:
        """Return a size with all that is known of it put in."""
        if not self.atoms or isinstance(size, int):
            return size
        known, symbol = self._known(), size.symbol
        told = known.symbols
        if symbol not in told if symbol is not None else told.isdisjoint(size.symbols()):
            return size
        found = known.sizes.get(size)
        if found is None:
            found = known.sizes[size] = self._put_in(size, told)
        return found

    def _put_in(self, size: IntSize, told: frozenset[Sym]) -> IntSize:
        for _ in range(16):
            if isinstance(size, int) or told.isdisjoint(size.symbols()):
                break
            replaced = dims.substitute(size, self.atoms)
            if replaced == size:
                break
            size = replaced
        return size

    def dim(self, dim: DimExpr) -> DimExpr:
        """Return a dimension with all that is known of it put in."""
        if not self.atoms or isinstance(dim, int):
            return dim
        if isinstance(dim, Composite):
            return dims.merge(self.size(part) for part in dim.parts)
        return self.size(dim)

    def items(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """Return dimensions and runs with all that is known of them put in."""
        found: list[Item] = []
        for item in items:
            if not isinstance(item, Run):
                found.append(self.dim(item))
            elif item.symbol in self.runs:
                found.extend(self.items(self.runs[item.symbol]))
            else:
                found.append(item)
        return tuple(found)

    def shape(self, shape: Shape) -> Shape:
        """Return a shape in which what wasn't known and was learned stands; names stay."""
        if not self.runs and not self.atoms:
            return shape
        runs, told = self.runs, self.told
        for item in shape.dims:
            if isinstance(item, int):
                continue
            if isinstance(item, Size):
                symbol = item.symbol
                if symbol in told if symbol is not None else not told.isdisjoint(item.symbols()):
                    break
            elif isinstance(item, Run):
                if item.symbol in runs:
                    break
            elif isinstance(item, Composite) and not told.isdisjoint(dims.symbols(item)):
                break
        else:
            return shape
        found: list[Item] = []
        is_same = True
        for item in shape.dims:
            if isinstance(item, Run):
                learned = runs.get(item.symbol)
                found += (item,) if learned is None else self.shape(Shape(learned)).dims
                is_same &= learned is None
            else:
                found.append(self._found(item))
                is_same &= found[-1] is item
        return shape if is_same else Shape(tuple(found))

    def _found(self, dim: DimExpr) -> DimExpr:
        """Return a dimension with what has been learned of the unknowns in it put in."""
        if isinstance(dim, int) or not self.atoms:
            return dim
        known = self._known()
        if known.symbols.isdisjoint(dims.symbols(dim)):
            return dim
        found = known.dims.get(dim)
        if found is None:
            found = known.dims[dim] = self._with_unknowns(dim, known.symbols)
        return found

    def _with_unknowns(self, dim: DimExpr, told: frozenset[Sym]) -> DimExpr:
        atoms = self.atoms
        for _ in range(16):
            known = told & dims.symbols(dim)
            unknown = [s for s in known if s.kind is Kind.UNKNOWN and s in atoms]
            if not unknown:
                break
            dim = Facts({symbol: atoms[symbol] for symbol in unknown}).dim(dim)
        return dim

    def compare(self, a: DimExpr, b: DimExpr) -> Verdict:
        """Decide whether two dimensions are equal, under what is known."""
        if a is b or a == b:
            return _SAME
        if self.told_apart and self._are_told_apart(a, b):
            return Verdict(Relation.DIFFERENT)
        a, b = self.dim(a), self.dim(b)
        if self._other_name(a, b) or self._other_name(b, a):
            return Verdict(Relation.DIFFERENT)
        verdict = compare(size_of(a), size_of(b))
        if verdict.own and not _are_of_one_axis(a, b):
            if self.asks_condition() or frozenset((a, b)) in self.doubted:
                return _UNDER_A_CONDITION
        if verdict.relation is Relation.POSSIBLE and not self.asks_condition():
            if self.features and verdict.learn is None:
                if self._are_features_apart(size_of(a) - size_of(b)):
                    return Verdict(Relation.DIFFERENT, own=True)
            if _is_part(a, b) or _is_part(b, a):
                return Verdict(Relation.DIFFERENT, own=True)
        if verdict.relation is Relation.SAME and otherwise_laid_out(a, b):
            return Verdict(Relation.DIFFERENT)
        if isinstance(a, Composite) and isinstance(b, Composite):
            parts = numbered(a.parts), numbered(b.parts)
            if verdict.relation is Relation.SAME and disordered(*parts):
                learn = ordering(*parts)
                return Verdict(Relation.POSSIBLE if learn else Relation.DIFFERENT, learn)
            if verdict.learn is not None:
                learned = Facts(dict([verdict.learn]))
                if learned.compare(a, b).relation is Relation.DIFFERENT:
                    return _part_by_part(a, b)
        return verdict

    def _are_features_apart(self, gap: IntSize) -> bool:
        """Whether two sizes differ by features that a layer makes, as `a+b` and `a` do by `b`."""
        if isinstance(gap, int) or len(gap.terms) != 1:
            return False
        return all(isinstance(atom, Sym) and atom in self.features for atom in gap.atoms())

    def _are_told_apart(self, a: DimExpr, b: DimExpr) -> bool:
        """Whether these are two names that were given to sizes above 1, where there is a mix-up."""
        named = symbol_of(a) in self.told_apart and symbol_of(b) in self.told_apart
        return named and 1 not in (self.dim(a), self.dim(b))

    def _other_name(self, dim: DimExpr, name: DimExpr) -> bool:
        """Whether a dimension is one of several names, `i|j` after a branch, all of them others."""
        symbol = symbol_of(dim)
        if symbol is None or symbol.kind is not Kind.UNKNOWN or not is_name(name):
            return False
        options = [self.dim(size_of(option)) for option in symbol.options]
        return bool(options) and all(is_name(option) and option != name for option in options)

    def same(self, a: DimExpr, b: DimExpr) -> bool:
        """Whether two dimensions are certainly equal."""
        return self.compare(a, b).relation is Relation.SAME

    def differ(self, a: DimExpr, b: DimExpr) -> bool:
        """Whether two dimensions certainly differ."""
        return self.compare(a, b).relation is Relation.DIFFERENT

    def unify(
        self, a: DimExpr, b: DimExpr, beside: Sequence[Shape] = (), told: bool = False
    ) -> bool:
        """Make two dimensions equal, learning what that needs; False where they can't be.

        `beside`: the operands as they were before the operation. A name is never made equal to
        what it stands beside: two axes of one tensor are different dimensions. `told`: one may
        be a number that the program itself says, as what a module was made with.
        """
        verdict = self.compare(a, b)
        if verdict.relation is not Relation.POSSIBLE:
            return verdict.relation is Relation.SAME
        if self.stand_together(a, b, beside):
            return False
        if not told and self._is_one_or_none_by_need(verdict):
            return False
        if verdict.own and (pair := frozenset((self.dim(a), self.dim(b)))) not in self.doubted:
            self.doubted |= {pair}
        if verdict.learn is not None:
            self.learn(*verdict.learn)
            composites = isinstance(a, Composite) and isinstance(b, Composite)
            if composites and self.compare(a, b).learn != verdict.learn:
                return self.unify(a, b, beside, told)  # the parts that follow
        return True

    def _is_one_or_none_by_need(self, verdict: Verdict) -> bool:
        """Whether a name would have to be 1, or 0; under an unread condition it may be.

        See decisions.md, "What is promised is promised for every size".
        """
        match verdict.learn:
            case Sym(kind=Kind.NAME), 0 | 1:
                return not self.asks_condition()
        return False

    def take_apart(self, whole: IntSize, parts: IntSize, beside: Sequence[Shape]) -> bool:
        """Learn that a name is a product that the program writes in its place.

        `n` may be `gh*gw`, where no tensor of `beside` has a name of these beside it; else False.
        See decisions.md, "A name may be a product that is written in its place".
        """
        whole, parts = self.size(whole), self.size(parts)
        names = [symbol for symbol in dims.symbols(whole) if symbol.kind is Kind.NAME]
        if self.of_running_program() or len(names) != 1 or not is_product(parts):
            return False
        more = whole - Size.of(names[0])
        axes = [{s for item in shape.dims for s in dims.symbols(dim_of(item))} for shape in beside]
        taken = {symbol for one in axes if names[0] in one for symbol in one}
        if not isinstance(more, int) or taken & dims.symbols(parts):
            return False
        self.learn(names[0], parts - more)
        return True

    def stand_together(self, a: DimExpr, b: DimExpr, beside: Sequence[Shape]) -> bool:
        """Whether two dimensions, at least one of them symbolic, are axes of one tensor.

        The tensors are taken as they are in `beside`, without what was learned since; see
        `resolved`. A name doesn't become a number either that a parameter has beside it, and an
        axis of a spelled out group becomes no number at all. See decisions.md, "A number that
        stands beside a name isn't that name".
        """
        if not beside:
            return False
        for name, number in ((a, b), (b, a)):
            if isinstance(number, int) and number != 1 and isinstance(name, Size):
                symbol = name.symbol
                if symbol is not None and isinstance(symbol.origin, Arbitrary):
                    return True
                if any(name in shape.dims and number in shape.dims for shape in self.declared):
                    return True
        if self._are_apart(self._found(a), self._found(b)):
            return True
        if not self.asks_condition():
            if self._is_axis_beside(a, b, beside) or self.are_shifted(a, b, beside):
                return True
        named = any(s.kind is Kind.NAME for dim in (a, b) for s in dims.symbols(dim))
        now = self.dim(a), self.dim(b)
        symbols = {symbol for dim in now for symbol in dims.symbols(dim)}
        vague = any(s.kind is Kind.UNKNOWN and not s.counted for s in symbols)
        if vague or not symbols or (not named and self.asks_condition()):
            return False
        if 1 in now and not named:  # as one channel of pictures that are one item wide
            return False
        # min(n,h) and min(n,w) are both n where that is less, and min(n,2) is 2 where n is more
        if all(is_clamped(dim) or isinstance(dim, int) for dim in now) or _is_bound(*now):
            return False
        if _is_rest_beside(*now) or _is_rest_beside(*now[::-1]):
            return False
        if not named and _is_rounded(*now):
            return False
        return any(
            one in shape.dims and other in shape.dims
            for shape in beside
            for one, other in ((a, b), now)
        )

    def _are_apart(self, a: DimExpr, b: DimExpr) -> bool:
        """Whether two dimensions differ by their names, and are made of axes of one tensor.

        One of them may be an own size by now, so that the other would become the same one.
        """
        for axis, other in ((a, b), (b, a)):
            symbol, there = symbol_of(axis), dims.symbols(other)
            if symbol is None or symbol in there:
                continue
            if isinstance(symbol.origin, Untold):
                is_beside = any(one.owner == symbol.owner for one in there)
            else:
                named = {Size.of(one) for one in there if one.kind is Kind.NAME}
                every = {axis} | named
                is_beside = bool(named) and is_name(axis)
                is_beside = is_beside and any(every <= {*one.dims} for one in self.declared)
            if is_beside:
                return compare(size_of(a), size_of(b)).relation is Relation.DIFFERENT
        return False

    def _is_axis_beside(self, a: DimExpr, b: DimExpr, beside: Sequence[Shape]) -> bool:
        """Whether one is made of axes of bare parameters, and the other a size that stands beside.

        Nothing names the axes. A number may be that of several things, and a square may be applied
        along two axes, as to pictures.
        """
        now = self.dim(a), self.dim(b)
        for axis, other in (now, now[::-1]):
            if is_of_axes(axis) and is_chosen(other) and not _is_bound(axis, other):
                rows = [self._opened(shape.dims) for shape in (*beside, *self.around)]
                if any(row.count(other) > 1 for row in rows):
                    return False
                return any(axis in row and other in row for row in rows)
        return False

    def _opened(self, items: Iterable[Item]) -> list[Item]:
        """Return dimensions with those put in that rows of them are known to stand for."""
        found: list[Item] = []
        for item in items:
            learned = self.runs.get(item.symbol) if isinstance(item, Run) else None
            found += [item] if learned is None else self._opened(learned)
        return found

    def are_shifted(self, a: DimExpr, b: DimExpr, beside: Sequence[Shape]) -> bool:
        """Whether one is the first axis of a bare parameter, and the other one of its other axes.

        They meet where operands have not as many axes. A matrix may be a square, a batch isn't one.
        """
        one, other = symbol_of(self.dim(a)), symbol_of(self.dim(b))
        if one is None or other is None or one is other or not isinstance(one.origin, Untold):
            return False
        ranks = {shape.rank for shape in beside}
        if one.origin != other.origin or len(ranks) < 2 or None in ranks:
            return False
        pair = {Size.of(one), Size.of(other)}
        return any(
            len(shape.dims) > 2 and shape.dims[0] in pair and pair <= {*shape.dims}
            for shape in beside
        )

    def resolved(self, shapes: Iterable[Shape]) -> list[Shape]:
        """Return shapes with all that is known so far put in, to be judged by later."""
        if not self.atoms and not self.runs:
            return [*shapes]
        return [Shape(self.items(shape.dims)) for shape in shapes]

    def learn(self, atom: Atom, value: IntSize) -> None:
        """Record that an atom has this size."""
        if Size.of(atom) == value:
            return
        self.atoms = {**self.atoms, atom: value}
        if isinstance(atom, Sym) and isinstance(value, int) and 0 <= value <= _MOST_AXES:
            run = _measured(atom)
            if run is not None and run not in self.runs:
                self.learn_run(run, tuple(Run(run).another() for _ in range(value)))

    def tell_apart(self, symbol: Sym) -> None:
        """Record that this is a name that was given to a size."""
        self.told_apart |= {symbol}

    def forget(self, names: Collection[str]) -> None:
        """Forget what is known of the dimensions of these names."""
        self.atoms = {
            atom: value
            for atom, value in self.atoms.items()
            if not (isinstance(atom, Sym) and atom.kind is Kind.NAME and atom.name in names)
        }

    def learn_run(self, symbol: Sym, items: tuple[Item, ...]) -> None:
        """Record which dimensions a run stands for, and so the run that it is a part of."""
        items = self._chosen(symbol, items)
        self.runs = {**self.runs, symbol: items}
        if isinstance(symbol.origin, PartOf) and symbol.origin.symbol not in self.runs:
            self._learn_whole(symbol.origin, items)

    def _learn_whole(self, part: PartOf, items: tuple[Item, ...]) -> None:
        """Record which dimensions a run stands for, of which these are a part."""
        rest = tuple(dims.unknown() for _ in range(part.count))
        if part.which == "after" and items:
            self.learn_run(part.symbol, (*rest, *items))
        elif part.which == "before" and items:
            self.learn_run(part.symbol, (*items, *rest))
        elif not has_run(items) and len(items) == part.count:
            more = Run(Sym.fresh("..."))
            if part.which in ("first", "last"):
                made = (*items, more) if part.which == "first" else (more, *items)
                self.learn_run(part.symbol, made)

    def _chosen(self, symbol: Sym, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """Return which of a run's options its dimensions are, if there is only one of the length.

        What isn't known of the dimensions is learned from it.
        """
        options: tuple[tuple[Item, ...], ...] = symbol.options
        fits = [option for option in options if _as_long(option, items)]
        if len(fits) != 1 or has_run(items):
            return items
        for item, known in zip(items, fits[0], strict=True):
            assert not isinstance(item, Run) and not isinstance(known, Run)
            self.unify(item, known)
        return fits[0]

    def of_running_program(self) -> bool:
        """Whether the program runs: torch itself warns then of what nobody is likely to mean."""
        return False

    def below_none(self, size: IntSize) -> bool:
        """Whether a size is known to come to less than nothing, as `t-2` where `t` is 1."""
        return False

    def exclude(self, size: IntSize, other: IntSize) -> None:
        """Record that a size isn't another, where that leaves out some of what it may be."""
        if not isinstance(size, Size) or not isinstance(other, int):
            return
        for symbol in dims.in_order(dims.symbols(size)):
            run = _measured(symbol)
            options: tuple[Any, ...] = symbol.options if run is None else run.options
            values = options if run is None else tuple(map(len, options))
            kept = [_may_differ(size, symbol, value, other) for value in values]
            left = tuple(itertools.compress(options, kept))
            if not left or all(kept):
                continue
            if run is None:
                self.learn(symbol, dims.size_of(dims.either(*left)))
            elif run not in self.runs:
                self.runs = {**self.runs, run: either(*left)}

    def reach(self, items: tuple[Item, ...], axis: int) -> DimExpr | None:
        """Return the item at an index that a program uses, None where it isn't known which it is.

        Where that is inside of a run, the run is learned to reach so far.
        """
        found = Shape(items).at(axis)
        runs = [i for i, item in enumerate(items) if isinstance(item, Run)]
        if found is not None or len(runs) != 1 or not -_MOST_AXES < axis < _MOST_AXES:
            return found
        at, behind = runs[0], len(items) - runs[0] - 1
        run = items[at]
        assert isinstance(run, Run)
        origin = run.symbol.origin
        if axis == at == 0 and behind and isinstance(origin, Untold) and not origin.symbols:
            if behind == 1 and _is_nameless(items[-1]):
                return None  # that may be the first as well: sorting goes along the last one
            return self._counted(run.symbol)  # in a result there may be nothing in front of others
        inside = axis - at + 1 if axis >= 0 else -axis - behind
        if run.symbol in self.runs or (behind if axis >= 0 else at):
            return None
        made = tuple(run.another() for _ in range(inside))
        more = Run(run.symbol.again() if run.symbol.stretches else Sym.fresh("..."))
        self.learn_run(run.symbol, (*made, more) if axis >= 0 else (more, *made))
        return made[-1] if axis >= 0 else made[0]

    def _counted(self, symbol: Sym) -> DimExpr | None:
        """Return the axis in front of others that a program asks for, supposed to be a batch's."""
        assert isinstance(symbol.origin, Untold)
        if symbol in self.runs:
            return None
        batch = _batch_of(symbol.origin)
        self.learn_run(symbol, (batch, Run(symbol.again())))
        return batch

    def stretched(
        self,
        shape: Shape,
        front: int = 0,
        back: int = 0,
        count: int | None = None,
        likely: int = 0,
        *,
        guess: bool = False,
        apart: bool = False,
    ) -> Shape:
        """Return what is known of a shape that an operation needs to have so many axes.

        `front` and `back` are axes that it uses from either end, different ones if it uses both,
        `count` is how many there must be. `likely`: it uses so many from the end where it is given
        what it is most often given; a `guess` is all of it, of which other unknowns know nothing.
        `apart`: what it uses from the end isn't the first axis, where the program uses that.
        What is supposed, as the parameters of a function that is studied, learns from it.
        """
        shape = self.shape(shape)
        match runs_in(shape.dims):
            case [(at, run)] if run.symbol.stretches or not (guess or run.symbol.has_name):
                pass
            case _:
                return shape
        back = max(back, likely if run.symbol.supposed else 0)
        missing = (front + back if count is None else count) - shape.least_rank
        if apart and run.symbol.supposed and at == 1:
            missing = max(missing, back - (len(shape.dims) - 1 - at))
        if not 0 <= missing < _MOST_AXES or (count is None and not missing):
            return shape
        made = tuple(run.another() for _ in range(missing))
        if count is None:
            cut = min(max(front - at, 0), missing)
            more = Run(run.symbol.again() if run.symbol.stretches else Sym.fresh("..."))
            inside: tuple[Item, ...] = (*made[:cut], more, *made[cut:])
        else:
            inside = made
        if run.symbol.stretches:
            self.learn_run(run.symbol, inside)
        return Shape((*shape.dims[:at], *inside, *shape.dims[at + 1 :]))

    def batched(self, shape: Shape, back: int, steps_first: bool = False) -> Shape:
        """Return what is known of a shape that a layer uses so many axes of, behind a batch's.

        It takes a single item as well, without that axis. Where no annotation tells, a tensor is
        supposed to be a batch: see decisions.md, "A layer is given batches". `steps_first`: the
        axis in front is that of the steps of sequences.
        """
        shape = self.stretched(shape, back=back)
        match runs_in(shape.dims):
            case [(at, Run(symbol=Sym(origin=Untold() as origin) as symbol))] if (
                len(shape.dims) - 1 == back
            ):
                counts_items = at == 0 and not steps_first
                self.learn_run(symbol, (_batch_of(origin, counts_items),))
        if shape.least_rank > back:  # no more axes than these
            return self.stretched(shape, count=back + 1)
        return self.shape(shape)

    def join(self, other: Facts) -> Facts:
        """Return what holds on both of two paths, and what either needs of what is supposed."""
        found = self.copy()
        if other.atoms is not self.atoms:
            atoms = {a: v for a, v in self.atoms.items() if other.atoms.get(a) == v}
            found.atoms = self.atoms if len(atoms) == len(self.atoms) else atoms
        if other.runs is not self.runs:
            found.runs = {r: v for r, v in self.runs.items() if other.runs.get(r) == v}
        found.under_unknown_condition &= other.under_unknown_condition
        found.autocast |= other.autocast
        found.doubted |= other.doubted
        if len(found.runs) < len(self.runs) or len(found.runs) < len(other.runs):
            needs = dict.fromkeys(r for r in (*self.runs, *other.runs) if r not in found.runs)
            for run in [run for run in needs if run.supposed]:
                found.need_both(run, self, other)
        return found

    def need_both(self, run: Sym, one: Facts, other: Facts) -> None:
        """Learn what a run, supposed to be as the program needs it, has to be on two paths.

        Where a path was taken for its length, it is one or the other.
        """
        asked = (atom for atom in (*one.atoms, *other.atoms) if isinstance(atom, Sym))
        if any(_measured(atom) is run for atom in asked):
            return
        if run not in one.runs or run not in other.runs:
            self.take_over(run, one if run in one.runs else other)
            return
        pair = one.items(one.runs[run]), other.items(other.runs[run])
        aligned = in_pairs(*pair)
        if aligned is None:
            return
        own = {*one._axes_of(run), *other._axes_of(run)}
        self.runs = {**self.runs, run: tuple(self._needed(*two, own) for two in aligned)}

    def leave_numbers(self, run: Sym) -> None:
        """Give up on which numbers the axes are that a run stands for, as far as they are some."""
        known = self.runs.get(run)
        if known is not None:
            items = (self.dim(item) if not isinstance(item, Run) else item for item in known)
            left = (Size.of(Sym.suppose("_")) if isinstance(item, int) else item for item in items)
            self.runs = {**self.runs, run: tuple(left)}

    def _axes_of(self, run: Sym) -> Iterator[Sym | None]:
        """Yield the symbols of the axes that a run stands for, as they were when it was learned."""
        for item in self.runs.get(run, ()):
            if isinstance(item, Run):
                yield from self._axes_of(item.symbol)
            else:
                yield symbol_of(item)

    def _needed(self, one: Item, other: Item, own: Collection[Sym | None]) -> Item:
        """Return what an axis is that is one on one path and the other on another.

        What is an axis of another tensor on one path, and none of its `own`, need not be that.
        """
        if one == other:
            return one
        assert not isinstance(one, Run) and not isinstance(other, Run)  # each is its own pair
        for size, than in ((one, other), (other, one)):
            symbol = symbol_of(size)
            if symbol is None or symbol not in own or not symbol.supposed or symbol in self.atoms:
                continue
            if not all(one in own or one.kind is Kind.OWN for one in dims.symbols(than)):
                return size
            self.learn(symbol, size_of(than))
            return than
        called = [symbol_of(size) for size in (one, other)]
        if all(symbol is not None and symbol.kind is Kind.UNKNOWN for symbol in called):
            return Size.of(Sym.suppose(next((s.name for s in called if s and s.has_name), "_")))
        return Size.of(Sym.fresh(left_open=True))

    def take_over(self, run: Sym, other: Facts) -> None:
        """Learn what elsewhere has been learned of a run, and of the dimensions it stands for."""
        if run in self.runs or run not in other.runs:
            return
        items = other.runs[run]
        self.runs = {**self.runs, run: items}
        for item in items:
            if isinstance(item, Run):
                self.take_over(item.symbol, other)
            else:
                known: dict[Atom, IntSize] = {}
                known |= {s: other.atoms[s] for s in dims.symbols(item) if s in other.atoms}
                self.atoms = {**known, **self.atoms}


def in_pairs(one: tuple[Item, ...], other: tuple[Item, ...]) -> list[tuple[Item, Item]] | None:
    """Return the dimensions of two shapes that are one, each with that of the other.

    What only one has, beside a run of the other, is paired with itself. None where the two can't be
    one shape, or that isn't known.
    """
    mine, theirs = _cut(one), _cut(other)
    if mine is None or theirs is None:
        return None
    if mine[1] and theirs[1]:
        behind = _side_by_side(mine[2][::-1], theirs[2][::-1])[::-1]
        return [*_side_by_side(mine[0], theirs[0]), (mine[1][0], mine[1][0]), *behind]
    if not mine[1] and not theirs[1]:
        return [*zip(one, other, strict=True)] if len(one) == len(other) else None
    whole, (front, _, back) = (one, theirs) if theirs[1] else (other, mine)
    inside = len(whole) - len(front) - len(back)
    if inside < 0:
        return None
    facing = (*front, *whole[len(front) : len(front) + inside], *back)
    return [*zip(whole, facing, strict=True)]


def _cut(items: tuple[Item, ...]) -> tuple[tuple[Item, ...], ...] | None:
    """Return what stands before the only run, that, and what is behind; None if there are more."""
    found = runs_in(items)
    if len(found) > 1:
        return None
    at = found[0][0] if found else len(items)
    return items[:at], items[at : at + 1], items[at + 1 :]


def _side_by_side(one: Sequence[Item], other: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Return pairs of what two rows have at each place, twice what only one of them has there."""
    both = [*zip(one, other, strict=False)]
    return [*both, *((item, item) for item in (*one[len(both) :], *other[len(both) :]))]


def _as_long(option: tuple[Item, ...], items: tuple[Item, ...]) -> bool:
    return not has_run(option) and len(option) == len(items)


def _measured(symbol: Sym) -> Sym | None:
    """Return the run whose length a symbol is."""
    return symbol.origin.symbol if isinstance(symbol.origin, LengthOf) else None


def _may_differ(size: Size, symbol: Sym, value: DimExpr, other: int) -> bool:
    """Whether a size isn't this number where a symbol in it has this value."""
    return dims.substitute(size, {symbol: size_of(value)}) != other


def _is_nameless(item: Item) -> bool:
    """Whether nothing is known of an axis but that there is one."""
    return isinstance(item, Size) and not any(symbol.has_name for symbol in item.symbols())


def _batch_of(tensor: Untold, counts_items: bool = False) -> Size:
    """Return the axis of a tensor without annotation that is there for a batch."""
    origin = replace(tensor, is_batch=True, counts_items=counts_items)
    return Size.of(Sym.distinct("_", Kind.UNKNOWN, origin))


def is_product(size: IntSize) -> bool:
    """Whether a size is a product of several, and no sum."""
    return isinstance(size, Size) and size.atom is None and len(size.terms) == 1


def is_of_axes(dim: DimExpr) -> bool:
    """Whether a dimension is made of axes of bare parameters which nothing names.

    They may be divided by sizes that the program chooses, as those of patches are.
    """
    if isinstance(dim, Composite):
        return all(map(is_of_axes, dim.parts))
    if not isinstance(dim, Size):
        return False
    return all(map(_is_of_axes, dim.atoms()))


def _is_of_axes(atom: Atom) -> bool:
    if isinstance(atom, FloorDiv) and (isinstance(atom.den, int) or is_chosen(atom.den)):
        return is_of_axes(atom.num)
    return all(s.kind is Kind.UNKNOWN and _is_bare(s) for s in dims.symbols_in(atom))


def _is_bare(symbol: Sym) -> bool:
    """Whether a symbol is an axis of a bare parameter, or the number of elements of several."""
    origin = symbol.origin
    return isinstance(origin.symbol.origin if isinstance(origin, ElementsOf) else origin, Untold)


def is_chosen(dim: DimExpr) -> bool:
    """Whether a dimension is made of sizes that the program chooses, or is a number of features.

    Coordinates may be as many as anything.
    """
    if isinstance(dim, int):
        return dim > COORDINATES
    return all(s.kind is Kind.OWN and not isinstance(s.origin, Untold) for s in dims.symbols(dim))


def is_clamped(dim: DimExpr) -> bool:
    """Whether a dimension is bounded by a minimum or a maximum, `min(n,2)`."""
    return isinstance(dim, Size) and any(isinstance(atom, Extreme) for atom in dim.atoms())


def _is_bound(a: DimExpr, b: DimExpr) -> bool:
    """Whether one dimension is the other where a minimum in it is one of its bounds."""
    gap = size_of(a) - size_of(b)
    if isinstance(gap, int):
        return gap == 0
    clamps = (atom for atom in gap.atoms() if isinstance(atom, Extreme))
    return any(dims.substitute(gap, {atom: arg}) == 0 for atom in clamps for arg in atom.args)


def _is_part(a: DimExpr, b: DimExpr) -> bool:
    """Whether a size that the program chooses is the half of another, rounded: less than that."""
    if isinstance(a, Size) and isinstance(b, Size) and is_chosen(a) and is_chosen(b):
        return any(dims.floordiv(b + up, 2) == a for up in (0, 1))
    return False


def _part_by_part(a: Composite, b: Composite) -> Verdict:
    """Decide whether two ordered composites are equal because their parts are, one by one."""
    if len(a.parts) != len(b.parts):
        return Verdict(Relation.DIFFERENT)
    for one, other in zip(a.parts, b.parts, strict=True):
        verdict = compare(one, other)
        if verdict.relation is Relation.SAME:
            continue
        if verdict.learn is None or crosswise(one, other, a.parts, b.parts):
            break
        if Facts(dict([verdict.learn])).compare(a, b).relation is Relation.DIFFERENT:
            break
        return verdict
    return Verdict(Relation.DIFFERENT)


def _outside(dim: DimExpr) -> DimExpr:
    """Return a dimension with the names of inner functions taken for those further out."""
    alike: dict[Atom, IntSize] = {
        symbol: symbol.origin.outer
        for symbol in dims.symbols(dim)
        if isinstance(symbol.origin, NamedAlike)
    }
    return _outside(Facts(alike).dim(dim)) if alike else dim


class CertainFacts(Facts):
    """Facts under which two dimensions are different unless they are certainly equal.

    A hint is tried under them: an edit is told only where it needs no further assumption than that
    a name of an inner function is what it is outside.
    """

    __slots__ = ()

    @staticmethod
    def of(facts: Facts) -> CertainFacts:
        """Return what is known, as certain facts."""
        found = CertainFacts(facts.atoms, facts.runs, facts.under_unknown_condition, facts.declared)
        found.told_apart = facts.told_apart
        return found

    def copy(self) -> CertainFacts:
        """Return an independent copy."""
        return CertainFacts.of(self)

    def take_apart(self, whole: IntSize, parts: IntSize, beside: Sequence[Shape]) -> bool:
        """Learn nothing."""
        return False

    def compare(self, a: DimExpr, b: DimExpr) -> Verdict:
        """Decide whether two dimensions are equal; what may be equal is different."""
        verdict = super().compare(_outside(a), _outside(b))
        return verdict if verdict.relation is Relation.SAME else Verdict(Relation.DIFFERENT)


def _is_rest_beside(axis: DimExpr, rest: DimExpr) -> bool:
    """Whether a size is what an axis leaves of others: `k*k//n` beside `n` is `n` where `k` is."""
    symbol = symbol_of(axis)
    return any(
        atom is symbol and exponent < 0
        for monomial in dims.terms_of(size_of(rest))
        for atom, exponent in monomial
    )


def _is_rounded(a: DimExpr, b: DimExpr) -> bool:
    """Whether two sizes are made of the same ones, and one rounds them: `2*(n//2)` may be `n`."""
    atoms = [atom for dim in (a, b) if isinstance(dim, Size) for atom in dim.atoms()]
    rounds = any(isinstance(atom, FloorDiv) for atom in atoms)
    return rounds and dims.symbols(a) == dims.symbols(b)


def _are_of_one_axis(a: DimExpr, b: DimExpr) -> bool:
    """Whether two sizes are made of one axis alone: `n*n` isn't `n` under any condition."""
    found = dims.symbols(a) | dims.symbols(b)
    return len(found) == 1 and all(isinstance(symbol.origin, Untold) for symbol in found)
