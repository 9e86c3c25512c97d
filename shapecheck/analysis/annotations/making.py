"""What a declared type makes: the value of which nothing but its annotation is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeVar

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.program.declared import (
    AnyDecl,
    ArrayDecl,
    CallableDecl,
    ClassDecl,
    Declared,
    DictDecl,
    FieldsDecl,
    ListDecl,
    ModuleDecl,
    NoneDecl,
    ScalarDecl,
    TensorDecl,
    TupleDecl,
    UnionDecl,
)
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import (
    Array,
    Callback,
    DictContent,
    Instance,
    ListContent,
    OpInstance,
    names_of,
    own_size,
)
from shapecheck.analysis.values.paths import AccessPath, one_of
from shapecheck.analysis.values.state import State
from shapecheck.dims import DimExpr, Kind, Size, Sym
from shapecheck.dims.origins import CountAt
from shapecheck.ops import UNKNOWN, Scalar
from shapecheck.shapes import Item, Matcher, Run, Shape, Tensor
from shapecheck.signatures import Table
from shapecheck.spec import Axis, Entry, Name, Spec

Symbolic = Callable[[str], DimExpr]
D = TypeVar("D", bound=Declared)


@dataclass(frozen=True, slots=True)
class Making:
    """Makes values in a state, with the names that `matcher` has bound.

    `name` and `run` make the dimensions of names that aren't bound yet (`name` None: unknown
    ones, and nothing in the value has a size of its own). `spoken` are the symbols of the
    dimension objects that the code at hand speaks of. `calling`: axes without names are called as
    the declaration does.
    """

    state: State
    table: Table
    spoken: set[Sym]
    matcher: Matcher
    name: Symbolic | None
    run: Callable[[str], Item]
    calling: bool = False

    def value(self, declared: Declared, path: AccessPath) -> Value:
        """Return the value that a declaration makes; `path` names it in sizes of its own."""
        return MAKERS[type(declared)](self, declared, path)

    @property
    def is_own(self) -> bool:
        """Whether what is made belongs to its path: it isn't the result of a call."""
        return self.name is not None


MAKERS: Final[dict[type, Callable[..., Value]]] = {}
"""What makes the value, by the kind that is declared."""
_Maker: TypeAlias = Callable[[Making, D, AccessPath], Value]


def _makes(kind: type[D]) -> Callable[[_Maker[D]], _Maker[D]]:
    """Register what makes the values of a declared kind."""

    def register(maker: _Maker[D]) -> _Maker[D]:
        MAKERS[kind] = maker
        return maker

    return register


@_makes(TensorDecl)
def _tensor(making: Making, declared: TensorDecl, path: AccessPath) -> Value:
    if declared.text is None:
        return Tensor(Shape.unknown(), declared.dtype)
    bind_objects(declared, making.matcher, making.spoken, own=making.is_own)
    shape = making.matcher.build(declared.text, making.name, making.run)
    called = _called(declared.text, shape) if making.calling else ()
    return Tensor(shape, declared.dtype, called=called)


def _called(text: Spec, shape: Shape) -> tuple[str | None, ...]:
    """Return what an annotation calls the axes, nothing where it calls none of them."""
    found = tuple(map(_plain_name, text.entries))
    return found if len(found) == len(shape.dims) and any(found) else ()


def _plain_name(entry: Entry) -> str | None:
    return entry.expr.id if isinstance(entry, Axis) and isinstance(entry.expr, Name) else None


@_makes(ArrayDecl)
def _array(making: Making, declared: ArrayDecl, path: AccessPath) -> Value:
    made = making.value(declared.tensor, path)
    return Array(made) if isinstance(made, Tensor) else UNKNOWN


@_makes(ScalarDecl)
def _scalar(making: Making, declared: ScalarDecl, path: AccessPath) -> Value:
    if declared.kind == "int":
        return own_size(path) if making.is_own else dims.unknown()
    return _SCALARS.get(declared.kind, UNKNOWN)


_SCALARS: Final = {"float": Scalar(dtypes.DEFAULT_FLOAT), "bool": Scalar(dtypes.BOOL)}


@_makes(NoneDecl)
def _none(making: Making, declared: NoneDecl, path: AccessPath) -> Value:
    return None


@_makes(AnyDecl)
def _anything(making: Making, declared: AnyDecl, path: AccessPath) -> Value:
    return UNKNOWN


@_makes(UnionDecl)
def _either(making: Making, declared: UnionDecl, path: AccessPath) -> Value:
    return making.state.either(*[making.value(option, path) for option in declared.options])


@_makes(ListDecl)
def _list(making: Making, declared: ListDecl, path: AccessPath) -> Value:
    return _of_any_length(making, declared.element, path, "list")


@_makes(TupleDecl)
def _tuple(making: Making, declared: TupleDecl, path: AccessPath) -> Value:
    if declared.items is None:
        return _of_any_length(making, declared.element, path, "tuple")
    return tuple(
        making.value(item, path + f"[{index}]") for index, item in enumerate(declared.items)
    )


def _of_any_length(making: Making, element: Declared, path: AccessPath, kind: str) -> Value:
    inner = making.value(element, one_of(path + "[]"))
    count = _length(path) if making.is_own else None
    return making.state.new(ListContent(None, _item(element, inner), kind, count))


def _length(path: AccessPath) -> Size:
    """Return how many items the list at a path has."""
    return dims.own(f"len({path})", CountAt(path))


def _item(declared: Declared, value: Value) -> Value:
    """What any item of a collection is: an int is another one each time."""
    match declared, value:
        case ScalarDecl(kind="int"), _:
            return UNKNOWN
        case TupleDecl(items=tuple() as items), tuple():
            return tuple(map(_item, items, value))
    return value


@_makes(DictDecl)
def _dict(making: Making, declared: DictDecl, path: AccessPath) -> Value:
    value = making.value(declared.value, one_of(path + "[]"))
    return making.state.new(DictContent(None, value))


@_makes(FieldsDecl)
def _fields(making: Making, declared: FieldsDecl, path: AccessPath) -> Value:
    """Make the values of a TypedDict's keys; the names in its annotations are its own."""
    origin = names_of(path, "keys")
    inner = replace(
        making,
        matcher=Matcher(making.state.facts),
        name=(lambda text: dims.own(text, origin)) if making.is_own else None,
        run=lambda text: Run(Sym(text, Kind.UNKNOWN, origin)),
    )
    values: dict[Value, Value] = {
        key: inner.value(one, path + f"[{key!r}]") for key, one in declared.fields
    }
    return making.state.new(DictContent(values))


@_makes(CallableDecl)
def _callback(making: Making, declared: CallableDecl, path: AccessPath) -> Value:
    return Callback(declared)


@_makes(ClassDecl)
def _instance(making: Making, declared: ClassDecl, path: AccessPath) -> Value:
    at = path if making.is_own else one_of(path)
    return making.state.new(Instance(declared.cls, {}, at, fresh=True))


@_makes(ModuleDecl)
def _module(making: Making, declared: ModuleDecl, path: AccessPath) -> Value:
    found = making.table.lookup_class(declared.name)
    return UNKNOWN if found is None else OpInstance(found, found.unknown())


def bind_objects(
    declared: TensorDecl, matcher: Matcher, spoken: set[Sym], *, own: bool = False
) -> None:
    """Bind the names that are dimension objects to what they are here.

    `own`: the annotation is one of the body's own, which speaks of them from here on. A dimension
    that the body doesn't speak of is bound by what it meets, and has its size if there is one.
    """
    # decisions.md, "A dimension object is bound by what it meets, unless the body speaks of it"
    for name, dim in declared.dims:
        symbols = dims.symbols(dim.dim)
        if own:
            spoken |= symbols
        if name not in matcher.names and (symbols <= spoken or isinstance(dim.size, int)):
            matcher.names[name] = dim.dim if symbols <= spoken else dims.size_of(dim.size)
