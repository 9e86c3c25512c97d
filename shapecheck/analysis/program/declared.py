"""What a type can declare: one class a kind, which owns what is asked of it by itself.

What a kind makes of a value, and whether a value fits it, is looked up by it in `making` and in
`interpreter.fitting`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from mypy_extensions import mypyc_attr

from shapecheck import dtypes, spec
from shapecheck.analysis.program.model import Class
from shapecheck.spec.objects import Objects


@mypyc_attr(allow_interpreted_subclasses=True)  # what derives from it says what is equal
class _Kind:
    """What is asked of every kind, as those answer it that hold nothing."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Declared, ...]:
        """What is declared of its items, elements and values, or its alternatives."""
        return ()

    @property
    def has_tensor(self) -> bool:
        """Whether it speaks of a tensor."""
        return any(part.has_tensor for part in self.parts)

    @property
    def has_many(self) -> bool:
        """Whether it holds any number of tensors, if it holds any."""
        return False

    @property
    def is_plain(self) -> bool:
        """Whether it says that there is no tensor."""
        return False

    @property
    def may_be_none(self) -> bool:
        """Whether None is, or may be, what it says."""
        return False

    @property
    def admits_tensors(self) -> bool:
        """Whether it is a protocol such as `Iterable`, which a tensor has too."""
        return False

    def texts(self, of_fields: bool = True) -> Iterator[spec.Spec]:
        """Yield the shapes that it speaks of, those of a TypedDict's fields too."""
        for part in self.parts:
            yield from part.texts(of_fields)


@dataclass(frozen=True, slots=True)
class TensorDecl(_Kind):
    """A tensor; `text` is None where its shape isn't declared.

    `dims` are the names in it that are dimension objects.
    """

    text: spec.Spec | None = None
    dtype: dtypes.DTypes = dtypes.ANY
    dims: Objects = ()

    @property
    def has_tensor(self) -> bool:
        """It is one."""
        return True

    def texts(self, of_fields: bool = True) -> Iterator[spec.Spec]:
        """Yield the one it has."""
        if self.text is not None:
            yield self.text


@dataclass(frozen=True, slots=True)
class ArrayDecl(_Kind):
    """An array of numpy; `tensor` is what is declared of it, as it is of a tensor."""

    tensor: TensorDecl = field(default_factory=TensorDecl)

    def texts(self, of_fields: bool = True) -> Iterator[spec.Spec]:
        """Yield the one it has."""
        yield from self.tensor.texts()


@dataclass(frozen=True, slots=True)
class ScalarDecl(_Kind):
    """An `int`, `float`, `bool` or `str`."""

    kind: str

    @property
    def is_plain(self) -> bool:
        """Numbers and texts are."""
        return True


@dataclass(frozen=True, slots=True)
class NoneDecl(_Kind):
    """None."""

    @property
    def is_plain(self) -> bool:
        """None is."""
        return True

    @property
    def may_be_none(self) -> bool:
        """It is."""
        return True


@dataclass(frozen=True, slots=True)
class AnyDecl(_Kind):
    """Anything: a type that says nothing about shapes."""

    @property
    def may_be_none(self) -> bool:
        """None is something."""
        return True


@dataclass(frozen=True, slots=True)
class ListDecl(_Kind):
    """A list or another collection with elements of one type.

    `admits_tensors`: it is a protocol such as `Iterable`, which a tensor has too.
    """

    element: Declared
    admits_tensors: bool = False

    @property
    def parts(self) -> tuple[Declared, ...]:
        """The type of its elements."""
        return (self.element,)

    @property
    def has_many(self) -> bool:
        """A list may have any length."""
        return True


@dataclass(frozen=True, slots=True)
class TupleDecl(_Kind):
    """A tuple: of these items, or (`items` None) of any number of elements."""

    items: tuple[Declared, ...] | None
    element: Declared = field(default_factory=AnyDecl)

    @property
    def parts(self) -> tuple[Declared, ...]:
        """The types of its items, or that of its elements."""
        return (self.element,) if self.items is None else self.items

    @property
    def has_many(self) -> bool:
        """One of any length has; one of some items if one of these does."""
        return self.items is None or any(item.has_many for item in self.items)


@dataclass(frozen=True, slots=True)
class DictDecl(_Kind):
    """A mapping with values of one type."""

    value: Declared

    @property
    def parts(self) -> tuple[Declared, ...]:
        """The type of its values."""
        return (self.value,)

    @property
    def has_many(self) -> bool:
        """A mapping may have any number of keys."""
        return True


@dataclass(frozen=True, slots=True)
class FieldsDecl(_Kind):
    """A dict of which each key is declared: a `TypedDict`."""

    fields: tuple[tuple[str, Declared], ...]

    @property
    def parts(self) -> tuple[Declared, ...]:
        """The types of its keys' values."""
        return tuple(declared for _, declared in self.fields)

    @property
    def has_tensor(self) -> bool:
        """Its class speaks of them, not the annotation that names it."""
        return False

    def texts(self, of_fields: bool = True) -> Iterator[spec.Spec]:
        """Yield those of its keys' values, whose names and expressions are its own."""
        for part in self.parts if of_fields else ():
            yield from part.texts()


@dataclass(frozen=True, slots=True)
class CallableDecl(_Kind):
    """A `Callable[[...], ...]`; `params` is None where it takes anything.

    What it takes and gives are no parts of it: they are of its calls.
    """

    params: tuple[Declared, ...] | None
    result: Declared


@dataclass(frozen=True, slots=True)
class ClassDecl(_Kind):
    """An instance of a class of analysed source."""

    cls: Class


@dataclass(frozen=True, slots=True)
class ModuleDecl(_Kind):
    """An instance of a class of a signature file, such as `nn.Linear`."""

    name: str


@dataclass(frozen=True, slots=True)
class UnionDecl(_Kind):
    """One of several."""

    options: tuple[Declared, ...]

    @property
    def parts(self) -> tuple[Declared, ...]:
        """Its alternatives."""
        return self.options

    @property
    def has_many(self) -> bool:
        """Whether one of its options does."""
        return any(option.has_many for option in self.options)

    @property
    def is_plain(self) -> bool:
        """Whether all of its options are."""
        return all(option.is_plain for option in self.options)

    @property
    def may_be_none(self) -> bool:
        """Whether one of its options may."""
        return any(option.may_be_none for option in self.options)


Declared: TypeAlias = (
    TensorDecl
    | ArrayDecl
    | ScalarDecl
    | NoneDecl
    | AnyDecl
    | ListDecl
    | TupleDecl
    | DictDecl
    | FieldsDecl
    | CallableDecl
    | ClassDecl
    | ModuleDecl
    | UnionDecl
)

ANY: Final = AnyDecl()


def alternatives(declared: Declared) -> tuple[Declared, ...]:
    """Return all that something may be declared to be."""
    return declared.options if isinstance(declared, UnionDecl) else (declared,)


def union(*options: Declared) -> Declared:
    """Return the union of some types; what is in it twice stands there once."""
    flat = (one for option in options for one in alternatives(option))
    return UnionDecl(tuple(dict.fromkeys(flat)))
