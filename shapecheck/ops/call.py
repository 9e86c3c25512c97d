"""What a rule is given: the values of a call's arguments, and the context to judge them in.

Rules are total: they return what is known of the result (`UNKNOWN`, or a tensor with unknown
dimensions, where that is little), or raise `Mismatch` where no run of the program could succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from types import EllipsisType
from typing import Final, TypeAlias, TypeGuard, TypeVar

from mypy_extensions import mypyc_attr

import shapecheck.dims as dims
from shapecheck import dtypes, shapes
from shapecheck.dims import Composite, Dim, DimExpr, IntSize, Size, Sym
from shapecheck.ops.saying import written
from shapecheck.shapes import Clash, Facts, Free, Item, Run, Shape, Tensor, has_run, mismatch


class Unknown:
    """The value of which nothing is known; there is one, `UNKNOWN`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True, slots=True, repr=False)
class DType:
    """A dtype as an argument, `torch.float16`: the set of dtypes that it may be."""

    dtypes: dtypes.DTypes

    def __repr__(self) -> str:
        return dtypes.describe(self.dtypes)


@dataclass(frozen=True, slots=True, repr=False)
class Scalar:
    """A Python number of unknown value: the set of dtypes that it stands for in promotion.

    Where it is a quotient of sizes, `d / 2`, these are `above` and `below`.
    """

    dtypes: dtypes.DTypes
    above: IntSize | None = None
    below: IntSize = 1

    def __repr__(self) -> str:
        return "a number"


@mypyc_attr(native_class=False)  # a tuple
class Sizes(tuple["Value", ...]):
    """The sizes of a tensor, a `torch.Size`: a tuple, except to those who ask for one."""

    __slots__ = ()


@mypyc_attr(native_class=False)  # a tuple
class Fields(tuple["Value", ...]):
    """A tuple whose items have names too, as what `torch.max(x, 1)` gives: `values`, `indices`."""

    names: tuple[str, ...]

    @staticmethod
    def of(names: tuple[str, ...], items: Iterable[Value]) -> Fields:
        """Return items under names."""
        found = Fields(items)
        found.names = names
        return found


def like(given: tuple[Value, ...], items: Iterable[Value]) -> tuple[Value, ...]:
    """Return items as a tuple of the kind of another one."""
    if isinstance(given, Sizes):
        return Sizes(items)
    found = tuple(items)
    if isinstance(given, Fields) and len(found) == len(given):
        return Fields.of(given.names, found)
    return found


@dataclass(frozen=True, slots=True, repr=False)
class Repeated:
    """A list of `count` items of which each is like `element`, where none is known by itself."""

    element: Value
    count: IntSize

    def __repr__(self) -> str:
        return "a list"


@dataclass(frozen=True, slots=True, repr=False)
class Packed:
    """A `PackedSequence`: the steps of all sequences as `data`, and how many sequences there are.

    `batch` is a `Run` where there may be none at all.
    """

    data: Tensor
    batch: Item = field(default_factory=lambda: Shape.unknown().dims[0])

    def __repr__(self) -> str:
        return "a PackedSequence"


@mypyc_attr(allow_interpreted_subclasses=True)  # not each room is compiled that has one
class Opaque:
    """A value that no rule looks into: each side has its own kinds of these."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, repr=False)
class Other(Opaque):
    """A value that no rule takes, by what a user calls it: `a lambda`, `the class Net`.

    That is what the run time knows of it in what it looks up: values that can be hashed.
    """

    kind: str

    def __repr__(self) -> str:
        return self.kind


Value: TypeAlias = (
    "Tensor | int | Size | Composite | Dim | Free | Run | Sym | DType | Scalar | float | complex"
    " | str | bytes | slice | EllipsisType | tuple[Value, ...] | list[Value]"
    " | Mapping[str, Value] | Repeated | Packed | Unknown | Opaque | None"
)
"""An argument or a result as rules see it.

A `Tensor`; a size (`int`, `dims.Size`, or a `Composite` of them); a dimension as an object (`Dim`,
`Free`) or as a name that rules hand on; a `Scalar`; a Python `bool`, `float`, `str`, `None`,
`slice` or `Ellipsis`; a `tuple` or `list` of values; a `Mapping` (the attributes of a
module, keywords, a dict by names); a `Repeated`; a `Packed`; a `DType`; an
`Opaque`; or `UNKNOWN`.
"""

Rule: TypeAlias = Callable[..., Value]
_Rule = TypeVar("_Rule", bound=Rule)
_T = TypeVar("_T")

RULES: Final[dict[str, Rule]] = {}
TAKE_FREE: Final[set[str]] = set()
"""The rules that take first-class dimensions themselves; the others know nothing of them."""


def rule(name: str, takes_free: bool = False) -> Callable[[_Rule], _Rule]:
    """Register a function as the rule that signatures name as `Rule["name"]`.

    It is called as `function(call, **arguments)` with the signature's parameters by name.
    `takes_free`: first-class dimensions and tensors that have some are among them.
    """

    def register(function: _Rule) -> _Rule:
        if name in RULES:
            raise ValueError(f"there are two rules called {name!r}")
        RULES[name] = function
        if takes_free:
            TAKE_FREE.add(name)
        return function

    return register


@dataclass(slots=True)
class Call:
    """One call of an op: how the user spells it, what is known, and the operands' shapes.

    `label` is the op as the user wrote it (`@`, `F.softmax`, `view`), for messages.
    `operands` are the shapes of all tensor arguments before the op; see `Facts.unify`.
    `extra` holds the constants of `Rule["name", constant...]`. `meant` says that the
    program means an outer product where it broadcasts, as in `x[:, None] - x`; `of_module` that it
    is a module that is called, see `Facts.unify`.
    """

    facts: Facts
    label: str
    operands: Sequence[Shape] = ()
    extra: tuple[Value, ...] = field(default=())
    meant: bool = False
    of_module: bool = False

    def number(self, index: int = 0) -> int:
        """Return a constant of the signature that is a number or a flag."""
        found = self.extra[index]
        assert isinstance(found, int)
        return found

    def word(self, index: int = 0) -> str:
        """Return a constant of the signature that is a word."""
        found = self.extra[index]
        assert isinstance(found, str)
        return found

    def unify(self, a: DimExpr, b: DimExpr, told: bool = False) -> bool:
        """Make two dimensions equal, learning what that needs; False where they can't be.

        `told`: see `Facts.unify`.
        """
        return self.facts.unify(a, b, self.operands, told or self.of_module)

    def take_apart(self, a: IntSize, b: IntSize) -> bool:
        """Make two sizes equal of which one stands for a product; see `Facts.take_apart`."""
        whole, parts = (b, a) if isinstance(a, Size) and len(a.symbols()) > 1 else (a, b)
        return self.facts.take_apart(whole, parts, self.operands)

    def broadcast(
        self, tensors: Iterable[Tensor], headline: str = "", strict: bool = True, behind: int = 0
    ) -> Shape:
        """Broadcast the shapes of tensors against each other, left to right.

        `strict`: also refuse a dimension that meets itself on another axis by implicit padding.
        `behind`: how many axes the operands have behind those that are broadcast.
        """
        parts = list(tensors)
        result = parts[0].shape
        for index, tensor in enumerate(parts[1:], 1):
            left, right = self.facts.shape(result), self.facts.shape(tensor.shape)
            said = headline or f"can't broadcast {left} with {right}"
            meant = self._meant((*parts[:index], tensor))
            if strict and not meant and (stray := _stray(left, right)) is not None:
                name, axis, other = stray
                raise mismatch(
                    f"{name} is axis {axis} on the left and axis {other} on the right, "
                    f"so every {name} would meet every {name}",
                    said,
                    "shape-broadcast",
                    "squeeze",
                    "unsqueeze",
                    about=(name,),
                )
            try:
                result = Shape(shapes.broadcast(self.facts, left.dims, right.dims, self.operands))
            except Clash as clash:
                axis = clash.axis - behind
                raise mismatch(
                    f"axis {axis} is {clash.left} on the left and {clash.right} on the right",
                    said,
                    "shape",
                    "keepdim",
                    "transpose",
                    "unsqueeze",
                    about=(clash.left, clash.right),
                    broadcasts=True,
                ) from None
        return result

    def _meant(self, parts: Sequence[Tensor]) -> bool:
        """Whether every against every is what the program means.

        It is where an axis was put in on purpose (`i[:, None] - i`) and the operands are
        index-like, and where the source says so: decisions.md, "An outer product that is written
        down is meant".
        """
        return self.meant or (
            any(part.inserted for part in parts)
            and all(not part.dtype & ~(dtypes.BOOL | dtypes.INTEGER) for part in parts)
        )

    def axis(self, shape: Shape, dim: Value, insert: bool = False) -> int | None:
        """Return the position of an axis argument in `shape.dims`, None where it isn't known.

        Raises `Mismatch` where it is out of range. `insert`: for a new axis, which may also
        stand behind the last one.
        """
        if isinstance(dim, bool) or not isinstance(dim, int):
            return None
        rank = shape.rank
        if rank is None and insert:
            return _gap(shape, dim)
        if rank is None:
            self.facts.stretched(shape, max(dim + 1, 0), max(-dim, 0))
            return shape.position(dim)
        room = rank + insert
        limit = max(room, 1)
        if not -limit <= dim < limit:
            raise mismatch(
                f"a tensor with {rank} {'axis' if rank == 1 else 'axes'} "
                f"allows {-limit} to {limit - 1}",
                f"has no axis {dim} in {shape}",
            )
        return dim + limit if dim < 0 else dim

    def axes(self, shape: Shape, dim: Value) -> tuple[int, ...] | None:
        """Return positions for an axis argument that is an int, a sequence, or None for all.

        None where they aren't known. Raises `Mismatch` where one is out of range or repeated.
        """
        if dim is None:
            return None if shape.rank is None else tuple(range(shape.rank))
        if isinstance(dim, int):
            dim = (dim,)
        if not isinstance(dim, (tuple, list)) or has_run(dim):
            return None
        found = [self.axis(shape, one) for one in dim]
        known = [axis for axis in found if axis is not None]
        if len(set(known)) < len(known):
            axes = ", ".join(map(written, dim))
            raise mismatch("an axis is named twice", f"can't use the axes ({axes}) of {shape}")
        return tuple(known) if len(known) == len(found) else None


def _gap(shape: Shape, dim: int) -> int | None:
    """Return where a new axis of this index goes in a shape of unknown rank, if known."""
    at = dim if dim >= 0 else len(shape.dims) + 1 + dim
    passed = shape.dims[:at] if dim >= 0 else shape.dims[max(at, 0) :]
    known = 0 <= at <= len(shape.dims) and not has_run(passed)
    return at if known else None


def _stray(left: Shape, right: Shape) -> tuple[DimExpr, int, int] | None:
    """Find a name that meets itself on another axis because the shorter shape is padded.

    Returns the name, its axis on the left and its axis on the right.
    """
    if left.rank is None or right.rank is None or left.rank == right.rank:
        return None
    long, short = (left, right) if left.rank > right.rank else (right, left)
    for axis in range(-len(short.dims), 0):
        item = short.dims[axis]
        if long.dims[axis] != 1 or not isinstance(item, Size) or not _named(item):
            continue
        for other in range(-len(long.dims), 0):
            facing = short.dims[other] if -other <= len(short.dims) else 1
            if other != axis and long.dims[other] == item and facing == 1:
                return (item, other, axis) if long is left else (item, axis, other)
    return None


def _named(size: Size) -> bool:
    return all(symbol.kind is not dims.Kind.UNKNOWN for symbol in size.symbols())


def as_tensor(value: Value) -> Tensor:
    """Return a value as a tensor: numbers are 0-d, what isn't known is an unknown tensor."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool):
        return Tensor(Shape(()), dtypes.BOOL)
    if isinstance(value, Size) and _may_be_anything(value):
        return Tensor.unknown()
    if isinstance(value, (int, Size, Composite)):
        return Tensor(Shape(()), dtypes.INT64)
    if isinstance(value, float):
        return Tensor(Shape(()), dtypes.DEFAULT_FLOAT)
    if isinstance(value, complex):
        return Tensor(Shape(()), dtypes.COMPLEX)
    if isinstance(value, Scalar):
        return Tensor(Shape(()), value.dtypes)
    return Tensor.unknown()


def resolved(call: Call, input: Value) -> tuple[Tensor, Shape]:
    """Return a value as a tensor, and its shape with learned runs spelled out."""
    tensor = as_tensor(input)
    return tensor, call.facts.shape(tensor.shape)


def _may_be_anything(size: Size) -> bool:
    """Whether this is an attribute of something unknown, `state.latents`: a size if used as one."""
    symbol = size.symbol
    return symbol is not None and symbol.kind is dims.Kind.OWN and "." in symbol.name


def is_size(value: Value) -> TypeGuard[IntSize]:
    """Whether a value is an integer, known or symbolic, and no bool."""
    return isinstance(value, (int, Size)) and not isinstance(value, bool)


def is_number(value: Value) -> TypeGuard[int | float | Size]:
    """Whether a value is a number, known or the name of a size; a bool is one, too."""
    return isinstance(value, (int, float, Size))


def is_whole(value: Value) -> TypeGuard[IntSize]:
    """Whether a value is an integer, known or symbolic; a bool is one, too."""
    return isinstance(value, (int, Size))


def is_int(value: Value) -> TypeGuard[int]:
    """Whether a value is an integer that is known, and no bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_within(value: Value, least: int | float = -inf, most: int | float = inf) -> TypeGuard[int]:
    """Whether a value is an integer that is known, and in a range; a bool is one, too."""
    return isinstance(value, int) and least <= value <= most


def are_dims(values: tuple[Value, ...]) -> TypeGuard[tuple[Item, ...]]:
    """Whether a tuple holds nothing but dimensions, runs of them among these."""
    return all(isinstance(value, Run) or is_dim(value) for value in values)


def is_dim(value: Value) -> TypeGuard[DimExpr]:
    """Whether a value is a dimension: an integer, known or symbolic, or a composite of them."""
    return is_size(value) or isinstance(value, Composite)


def are(values: Sequence[object] | None, kind: type[_T]) -> TypeGuard[Sequence[_T]]:
    """Whether the items of a list are known, and all of one kind."""
    return values is not None and all(isinstance(value, kind) for value in values)


def only(values: Iterable[object], kind: type[_T]) -> list[_T]:
    """Return those of some values that are of a kind."""
    return [value for value in values if isinstance(value, kind)]


def as_text(value: Value) -> str | None:
    """Return a text that is known, None for anything else."""
    return value if isinstance(value, str) else None


def as_int(value: Value) -> int | None:
    """Return an integer that is known, None for anything else; a bool is one, too."""
    return value if isinstance(value, int) else None


def as_size(value: Value) -> IntSize:
    """Return a value as a size; what isn't known is a new unknown."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Composite):
        return value.size
    return value if isinstance(value, (int, Size)) else dims.unknown()


def as_shape(values: Value) -> Shape:
    """Return the shape that a sequence of sizes describes, `(b, t, -1)` not included."""
    if is_size(values):
        return Shape((values,))
    if isinstance(values, (tuple, list)):
        return Shape(tuple(v if isinstance(v, Run) else as_dim(v) for v in values))
    return Shape.unknown()


def as_dim(value: Value) -> DimExpr:
    """Return a value as a dimension; what isn't known is a new unknown."""
    return value if isinstance(value, dims.Composite) else as_size(value)


def as_mapping(value: Value) -> Mapping[str, Value]:
    """Return keywords that an instance was made with, none where there are none."""
    return value if isinstance(value, Mapping) else {}


def replace(shape: Shape, position: int, *items: Item) -> Shape:
    """Return the shape with the item at a position replaced by any number of items."""
    return Shape((*shape.dims[:position], *items, *shape.dims[position + 1 :]))
