"""The values of the abstract interpreter, beyond those that op rules see (`ops.call.Value`).

Values are immutable; what the program can change (lists, dicts, instances) is a `Ref` into the
heap of a state, whose content is replaced as a whole.

The `repr` of a value is how messages say it, alone or in a list: its text in the program where it
has one that can be told, otherwise what kind of thing it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import ClassVar, Final, Literal, TypeVar

import shapecheck.dims as dims
from shapecheck.analysis.program.model import NOTHING, Class, Function, Value, literal
from shapecheck.analysis.values.paths import AccessPath, is_one, parent
from shapecheck.dims import HERE, IntSize, Origin, Size, Sym
from shapecheck.dims.origins import ChosenToFit, Default, Each, NamesOf, OfInstance
from shapecheck.dtypes import ANY, DTypes
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import Opaque, as_size
from shapecheck.ops.saying import one_of_kind
from shapecheck.shapes import Run, Shape, Tensor, has_run
from shapecheck.signatures import OpClass

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True, repr=False)
class Bound(Opaque):
    """A method bound to its receiver: of a tensor, an instance, a module or a builtin value."""

    receiver: Value
    name: str
    function: Function | None = None

    def __repr__(self) -> str:
        return f"the method {self.name}"


@dataclass(frozen=True, slots=True, repr=False)
class Attributes(Opaque):
    """`instance.__dict__` of an instance of the program."""

    owner: Value

    def __repr__(self) -> str:
        return "the attributes of an instance"


@dataclass(frozen=True, slots=True, repr=False)
class Super(Opaque):
    """`super()` in a method of `owner`, for the instance `receiver`."""

    owner: Class
    receiver: Value

    def __repr__(self) -> str:
        return "super()"


@dataclass(slots=True, repr=False, eq=False)
class OpInstance(Opaque):
    """An instance of a class of a signature file, such as `nn.Linear(3, 4)`; never changed.

    What was found out of it is kept with it: `lasting`, the symbols in it where it is the same
    wherever it is seen, see `parts.lasting`, and its `key` there, see `summaries.view`.
    """

    cls: OpClass
    attrs: Mapping[str, Value]
    lasting: frozenset[Sym] | None = field(default=None, init=False)
    is_known: bool = field(default=False, init=False)
    key: Hashable = field(default=None, init=False)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, OpInstance)
            and self.cls is other.cls
            and dict(self.attrs) == dict(other.attrs)
        )

    def __hash__(self) -> int:
        return hash(self.cls.name)

    def __repr__(self) -> str:
        return one_of_kind(self.cls.name)


@dataclass(frozen=True, slots=True, repr=False)
class Array(Opaque):
    """An array of numpy, or one of its numbers: what is known of it is as of a tensor."""

    tensor: Tensor

    def __repr__(self) -> str:
        return repr(self.tensor)


def array_of(tensor: Tensor) -> Value:
    """Return the array that a tensor stands for.

    One of no axes and of any dtype may be an item of an array of objects, which is anything.
    """
    is_item = not tensor.shape.dims and tensor.dtype == ANY
    return UNKNOWN if is_item else Array(tensor)


@dataclass(frozen=True, slots=True, repr=False)
class ByName(Opaque):
    """A tensor by name, `NamedTensor`: what it holds, and the names that `mask_to` hides."""

    tensor: Tensor
    hidden: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return "a NamedTensor"


@dataclass(frozen=True, slots=True, repr=False)
class Table(Opaque):
    """A table of pandas, `rows columns`, or a column of one, `rows`: what is known of its values.

    `place` is `iloc` or `loc` of what is indexed by it.
    """

    tensor: Tensor
    place: str = ""

    def __repr__(self) -> str:
        return repr(self.tensor)


@dataclass(frozen=True, slots=True, repr=False)
class OneOf(Opaque):
    """One of several values, such as a tensor or None."""

    options: tuple[Value, ...]

    def __repr__(self) -> str:
        return " or ".join(map(repr, self.options))


def options(value: Value) -> tuple[Value, ...]:
    """Return all that a value may be."""
    return value.options if isinstance(value, OneOf) else (value,)


def each_of(value: Value) -> tuple[Value, ...]:
    """Return the items of a tuple, and anything else as the only one."""
    return value if isinstance(value, tuple) else (value,)


def opened(value: Value, axes: Callable[[], Sym], every: bool = False) -> Value:
    """Return a value in which tensors of unknown shape, or `every` one, have any axes."""
    match value:
        case Tensor(shape=shape, dtype=dtype) if every or shape.opaque:
            return Tensor(Shape((Run(axes()),)), dtype)
        case OneOf(options=before):
            after = tuple(opened(option, axes, every) for option in before)
            if any(new is not old for new, old in zip(after, before, strict=True)):
                return OneOf(after)
    return value


def tensor_of(value: Value) -> Tensor | None:
    """Return the tensor that a value is, or is unless it is None."""
    match [option for option in options(value) if option is not None]:
        case [Tensor() as tensor]:
            return tensor
    return None


@dataclass(frozen=True, slots=True, repr=False)
class Partial(Opaque):
    """`functools.partial(function, *args, **kwargs)`."""

    function: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]

    def __repr__(self) -> str:
        return f"a partial of {self.function!r}"


@dataclass(frozen=True, slots=True, repr=False)
class Shaped(Opaque):
    """A tensor type with a shape, made by an expression: `Float[Tensor, "b c"]`."""

    category: str
    text: str

    def __repr__(self) -> str:
        return f"the type {self.category}[..., {self.text!r}]"


@dataclass(frozen=True, slots=True, repr=False)
class Callback(Opaque):
    """A function of which only its annotation, a `CallableDecl`, is known."""

    declared: Hashable

    def __repr__(self) -> str:
        return "a function"


@dataclass(frozen=True, slots=True, repr=False)
class Path(Opaque):
    """An attribute of something unknown, `cfg.d_model`; used as a size, it is one of its own.

    `may_agree`: any two may be one size, as a program has it that says nothing of what is read.
    """

    text: AccessPath
    may_agree: bool = False

    def at(self, text: AccessPath) -> Path:
        """Return what is read of it."""
        return Path(text, self.may_agree)

    @property
    def size(self) -> Size:
        """The size that it is, where it is one."""
        return own_size(self.text, None if self.may_agree else NOTHING)

    def __repr__(self) -> str:
        return str(self.text)


def names_of(path: AccessPath, of: Literal["fields", "keys"]) -> Origin:
    """Return the origin of the names in the annotations of what is at a path."""
    origin = NamesOf(path, of)
    return Each(origin) if is_one(path) else origin


def _sizes_of(path: AccessPath) -> Origin:
    """Return the origin of the sizes that belong to a path; those of none are the function's."""
    if not path:
        return HERE
    return Each(OfInstance(path)) if is_one(path) else OfInstance(path)


def own_size(path: AccessPath, default: object = NOTHING) -> Size:
    """Return the size that an int of the program's own is, `n` or `config.width`.

    Those with one owner have one origin: they are different sizes, unless their defaults are
    equal. One that is None by default is chosen to fit, so that it may be any of the others.
    """
    name = str(path)
    owner = _sizes_of(parent(path))
    if default is None:
        return dims.own(name, ChosenToFit(owner, path))
    return dims.own(name, Default(owner, default) if type(default) is int else owner)


def with_default(value: Value, path: AccessPath, default: ast.expr | None) -> Value:
    """Return a declared int, or one that may be None, with what its default says of its size."""
    size = own_size(path)
    given = literal(default)
    if value == size:
        return own_size(path, given)
    match value:
        case OneOf(options=each) if size in each:
            return OneOf(tuple(own_size(path, None) if one == size else one for one in each))
    return value


@dataclass(slots=True)
class Argument:
    """A value on its way to a parameter, with its expression where it has one.

    `parts` are the arguments that a `*parameter` gathers.
    """

    value: Value
    node: ast.expr | None = None
    parts: tuple[Argument, ...] = ()


class Ref(Opaque):
    """The identity of something that the program can change; its content is in the heap.

    `origin` is the content where a heap has none, for what a module made when it was imported.
    `is_among`: on some heap there is something that may be this, or something else.
    """

    __slots__ = ("is_among", "origin", "serial")
    _serial: ClassVar[Iterator[int]] = count()

    def __init__(self) -> None:
        self.serial = next(Ref._serial)
        self.origin: Content = None
        self.is_among = False

    def __repr__(self) -> str:
        return "an object" if self.origin is None else repr(self.origin)


@dataclass(frozen=True, slots=True, repr=False)
class ListContent:
    """The content of a list: its items where they are known, else what any item is.

    Among the items may be runs of them, as in a tuple that is made of a shape of unknown rank.
    `count` is the number of items that aren't known one by one, where it is known.
    `kind` is `list`, `nn.ModuleList`, `nn.Sequential`, `deque` or `set`. `blank`: nothing is in it
    as yet, but it isn't known to stay empty. `like` are the lists of which it is one.
    """

    items: tuple[Value, ...] | None
    element: Value = UNKNOWN
    kind: str = "list"
    count: IntSize | None = None
    names: tuple[str, ...] = ()
    """What the first items are called as attributes, of an `nn.Sequential` with names."""
    blank: bool = False
    like: tuple[Ref, ...] = ()

    def __post_init__(self) -> None:
        _mark(self.like)

    @property
    def length(self) -> IntSize | None:
        """The number of items, where it is known."""
        if self.items is None:
            return self.count
        return None if has_run(self.items) else len(self.items)

    @property
    def values(self) -> Sequence[Value]:
        """The values in the list, and the lists that it may be."""
        held = (self.element,) if self.items is None else self.items
        return (*held, *self.like) if self.like else held

    def changed(self, change: Callable[[Value], Value]) -> ListContent:
        """Return the list with something else in the place of each value in it."""
        items = None if self.items is None else tuple(map(change, self.items))
        count = None if self.count is None else as_size(change(self.count))
        element = change(self.element)
        like = _refs(self.like, change)
        return ListContent(items, element, self.kind, count, self.names, self.blank, like)

    def key(self, of: Callable[[Value], Hashable]) -> Hashable:
        """Return what tells it from other lists, by the keys of what is in it."""
        about = (self.element, self.kind, self.count, self.names, self.blank, self.like)
        return (of(self.items), *map(of, about))

    def __repr__(self) -> str:
        return f"a {self.kind}"


@dataclass(frozen=True, slots=True, repr=False)
class Items(Opaque):
    """An iterator over known items, or (`items` None) over any number of elements."""

    items: tuple[Value, ...] | None
    element: Value = UNKNOWN
    count: IntSize | None = None
    first: Value = None
    """The first element where it is known better than the others."""
    last: Value = None
    """The last element where it is known to be another than those before, as a smaller batch is."""
    attrs: tuple[tuple[str, Value], ...] = ()
    """The attributes of what isn't a mere iterator, such as a loader."""

    def __repr__(self) -> str:
        return "an iterator"


@dataclass(frozen=True, slots=True, repr=False)
class Context(Opaque):
    """What calling a function under `@contextmanager` gives: `value` is what `with` binds.

    `swallows`: it may keep what its body raises to itself. `lower`: the dtypes in which ops may
    compute in the place of float32 where it sets them, see `Facts`.
    """

    value: Value
    swallows: bool
    lower: DTypes | None = None

    def __repr__(self) -> str:
        return "a context"


FILES: Final = Ref()
"""Where the files of a program are on the heap, a dict of what is saved by their names."""


@dataclass(frozen=True, slots=True, repr=False)
class DictContent:
    """The content of a dict: its items where the keys are known, else what is; see `mappings`.

    `default` makes what is missing in a `defaultdict`. `like` are the dicts of which it is one.
    """

    items: Mapping[Value, Value] | None
    element: Value = UNKNOWN
    kind: str = "dict"
    known: Mapping[Value, Value] = field(default_factory=dict)
    blank: bool = False
    default: Value = NOTHING
    like: tuple[Ref, ...] = ()

    def __post_init__(self) -> None:
        _mark(self.like)

    @property
    def values(self) -> Sequence[Value]:
        """The values in the dict, what makes the missing ones, and the dicts that it may be."""
        held = self.known if self.items is None else self.items
        return (*held.values(), self.element, self.default, *self.like)

    def changed(self, change: Callable[[Value], Value]) -> DictContent:
        """Return the dict with something else in the place of each value in it."""
        return DictContent(
            None if self.items is None else _changed(self.items, change),
            change(self.element),
            self.kind,
            _changed(self.known, change),
            self.blank,
            change(self.default),
            _refs(self.like, change),
        )

    def key(self, of: Callable[[Value], Hashable]) -> Hashable:
        """Return what tells it from other dicts, by the keys of what is in it."""
        held = None if self.items is None else tuple(self.items.items())
        rest = (self.element, tuple(self.known.items()), self.default, self.like)
        return (self.kind, self.blank, of(held), *map(of, rest))

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"a {self.kind}"


@dataclass(frozen=True, slots=True, repr=False)
class Instance:
    """The content of an instance of an analysed class: the attributes that are known.

    `path` names a symbolic instance (`self`, `config`) for the sizes that are its own. `like` are
    the instances of which it is one, or what stands for any of them. `whole`: it has no other
    attributes but the `defaults` of its class, so that one which only some paths assign is what
    they assign where it is read. `fresh`: of what its class does behind a generated constructor
    nothing was looked at.
    """

    cls: Class
    attrs: Mapping[str, Value]
    path: AccessPath | None = None
    like: tuple[Ref, ...] = ()
    whole: bool = False
    fresh: bool = False
    defaults: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        _mark(self.like)

    @property
    def values(self) -> Sequence[Value]:
        """The values of the attributes, and the instances that it may be."""
        return (*self.attrs.values(), *self.like)

    def changed(self, change: Callable[[Value], Value]) -> Instance:
        """Return the instance with something else in the place of each value in it."""
        attrs, like, path = _changed(self.attrs, change), _refs(self.like, change), self.path
        if path is not None and is_one(path):
            match change(Path(path)):
                case Path(text=text):
                    path = text
        return Instance(self.cls, attrs, path, like, self.whole, self.fresh, self.defaults)

    def with_attrs(self, attrs: Mapping[str, Value]) -> Instance:
        """Return the instance with other attributes; several times as fast as `replace`."""
        return Instance(
            self.cls, attrs, self.path, self.like, self.whole, self.fresh, self.defaults
        )

    def key(self, of: Callable[[Value], Hashable]) -> Hashable:
        """Return what tells it from other instances, by the keys of what is in it."""
        attrs = [(name, of(value)) for name, value in self.attrs.items()]
        path = self.path
        at = path if path is None or not is_one(path) else of(Path(path))
        return (of(self.cls), of(self.like), at, self.whole, *attrs)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return one_of_kind(self.cls.name)


def _mark(like: tuple[Ref, ...]) -> None:
    for ref in like:
        ref.is_among = True


def _refs(refs: tuple[Ref, ...], change: Callable[[Value], Value]) -> tuple[Ref, ...]:
    return tuple(found for found in map(change, refs) if isinstance(found, Ref)) if refs else ()


def _changed(held: Mapping[_Key, Value], change: Callable[[Value], Value]) -> dict[_Key, Value]:
    return {key: change(value) for key, value in held.items()}


@dataclass(frozen=True, slots=True, repr=False)
class Namespace:
    """The content of a `SimpleNamespace`: the attributes that are known, all of them if `whole`.

    `like` are the namespaces of which it is one.
    """

    attrs: Mapping[str, Value]
    whole: bool = True
    like: tuple[Ref, ...] = ()

    def __post_init__(self) -> None:
        _mark(self.like)

    @property
    def values(self) -> Sequence[Value]:
        """The values of the attributes, and the namespaces that it may be."""
        return (*self.attrs.values(), *self.like)

    def changed(self, change: Callable[[Value], Value]) -> Namespace:
        """Return the namespace with something else in the place of each value in it."""
        return Namespace(_changed(self.attrs, change), self.whole, _refs(self.like, change))

    def key(self, of: Callable[[Value], Hashable]) -> Hashable:
        """Return what tells it from other namespaces, by the keys of what is in it."""
        return (self.whole, of(self.like), *((n, of(value)) for n, value in self.attrs.items()))

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return "a namespace"


Content = ListContent | DictContent | Instance | Namespace | None
"""What the heap holds; None where anything may have happened to it."""


@dataclass(slots=True)
class Arguments:
    """The evaluated arguments of a call; `complete` is False where a starred one isn't known.

    `spread` is that one if it is the only argument. `more_args`: behind those that are known there
    may be others. `more_kwargs`: others may be given by name.
    """

    args: tuple[Argument, ...]
    kwargs: Mapping[str, Argument]
    complete: bool = True
    spread: Value = NOTHING
    more_args: bool = False
    more_kwargs: bool = False

    @property
    def values(self) -> list[Value]:
        """The values of the positional arguments."""
        return [argument.value for argument in self.args]

    @property
    def sizes(self) -> list[Argument]:
        """The arguments that may be the sizes of what an op makes."""
        named = (self.kwargs[name] for name in ("size", "shape") if name in self.kwargs)
        return [*self.args, *named]

    @property
    def named(self) -> dict[str, Value]:
        """The values of the keyword arguments."""
        return {name: argument.value for name, argument in self.kwargs.items()}


@dataclass(frozen=True, slots=True, repr=False)
class Range(Opaque):
    """`range(start, stop, step)`; `length` is the number of items, where it is known."""

    start: IntSize
    stop: IntSize
    step: int

    @property
    def length(self) -> IntSize:
        """The number of items, supposing that the bounds are in order."""
        if self.step == 1:
            return self.stop - self.start
        last = -1 if self.step > 0 else 1
        return dims.floordiv(self.stop - self.start + self.step + last, self.step)

    def __repr__(self) -> str:
        return f"range({self.start}, {self.stop}, {self.step})"
