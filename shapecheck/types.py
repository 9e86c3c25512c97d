"""The annotation types: `Float[Tensor, "batch channels"]` and the other element types.

To type checkers each is `typing.Annotated` by another name, so that `Float[Tensor, "b c"]` is a
plain tensor to them. At run time `Float[Tensor, "b c"]` is a real `typing.Annotated[Tensor, spec]`
with a `TensorSpec` as its metadata, on which `isinstance` works too.
"""

from __future__ import annotations

import sys
import typing
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import import_module
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final

from shapecheck import dtypes, spec
from shapecheck.dims import Dim
from shapecheck.spec.objects import Objects, is_part, of_objects

if TYPE_CHECKING:
    from typing import Annotated as BFloat16
    from typing import Annotated as Bool
    from typing import Annotated as Complex
    from typing import Annotated as Complex64
    from typing import Annotated as Complex128
    from typing import Annotated as Float
    from typing import Annotated as Float8e4m3fn
    from typing import Annotated as Float8e5m2
    from typing import Annotated as Float16
    from typing import Annotated as Float32
    from typing import Annotated as Float64
    from typing import Annotated as Inexact
    from typing import Annotated as Int
    from typing import Annotated as Int8
    from typing import Annotated as Int16
    from typing import Annotated as Int32
    from typing import Annotated as Int64
    from typing import Annotated as Integer
    from typing import Annotated as Num
    from typing import Annotated as Real
    from typing import Annotated as Shaped
    from typing import Annotated as UInt
    from typing import Annotated as UInt8
    from typing import Annotated as UInt16
    from typing import Annotated as UInt32
    from typing import Annotated as UInt64

__all__ = [
    "BFloat16",
    "Bool",
    "Complex",
    "Complex64",
    "Complex128",
    "Float",
    "Float8e4m3fn",
    "Float8e5m2",
    "Float16",
    "Float32",
    "Float64",
    "Inexact",
    "Int",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Integer",
    "Num",
    "Real",
    "ShapeAnnotationError",
    "Shaped",
    "TensorSpec",
    "UInt",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "read",
]


class ShapeAnnotationError(TypeError):
    """An annotation that means nothing: malformed text, or `Float[...]` used in a wrong way."""

    @staticmethod
    def at(where: str, error: spec.SpecError) -> ShapeAnnotationError:
        """Return the exception for a malformed text, with a line that points at the token."""
        caret = " " * error.start + "^" * (error.end - error.start)
        return ShapeAnnotationError(f"{where}: {error.reason}\n    {error.text}\n    {caret}")


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """What an annotation says of a tensor; the metadata of `Float[Tensor, "b c"]`.

    `label` is the element type as written, `dtypes` the set that it stands for; `dims` are the
    names that are dimension objects, where it is made of some.
    """

    label: str
    dtypes: dtypes.DTypes
    shape: spec.Spec
    dims: Objects = ()

    def __repr__(self) -> str:
        return f'{self.label}["{self.shape}"]'

    def inside(self, outer: TensorSpec) -> TensorSpec:
        """Return this spec with another's dimensions in front: `Float[Image, "b"]`."""
        both = self.dtypes & outer.dtypes
        if not both:
            raise ShapeAnnotationError(
                f"{outer} holds {dtypes.describe(outer.dtypes)}, but what it is put around, "
                f"{self}, holds {dtypes.describe(self.dtypes)}"
            )
        label = outer.label if both == outer.dtypes else self.label
        shape = spec.Spec((*outer.shape.entries, *self.shape.entries))
        return TensorSpec(label, both, shape, (*outer.dims, *self.dims))


class AloneSpec(TensorSpec):
    """A spec that is all the metadata of its annotation: beartype checks tensors by it.

    See `shapecheck.checkers.beartype`.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return all(getattr(self, one.name) == getattr(other, one.name) for one in fields(self))

    __hash__ = TensorSpec.__hash__

    def __getattr__(self, name: str) -> Any:
        """Answer what beartype asks of one of its validators."""
        checker = sys.modules.get("shapecheck.checkers.beartype")
        if checker is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(checker.validator(self), name)


class _Metadata(tuple[Any, ...]):
    """A spec, as the metadata of one of our types; `Annotated[ours, more]` adds to it."""

    __slots__ = ()

    def __add__(self, more: tuple[Any, ...]) -> tuple[Any, ...]:
        (alone,) = self
        checker = sys.modules.get("shapecheck.checkers.beartype")
        if checker is None or not all(map(checker.is_validator, more)):
            # beartype refuses a type of whose metadata only some are its own
            alone = TensorSpec(alone.label, alone.dtypes, alone.shape, alone.dims)
        return alone, *more


def _meet(checker: str) -> None:
    """Have another type checker check our types, once the program has imported it."""
    module = f"shapecheck.checkers.{checker}"
    if checker in sys.modules and module not in sys.modules:
        with suppress(ImportError):  # it is being imported
            import_module(module)


def parse(text: str, where: str) -> spec.Spec:
    """Parse an annotation's text; `where` begins the message of the error."""
    try:
        return spec.parse(text)
    except spec.SpecError as error:
        raise ShapeAnnotationError.at(where, error) from None


def parse_objects(parts: tuple[Any, ...], where: str) -> tuple[spec.Spec, Objects]:
    """Read an annotation that is made of dimension objects, texts and numbers."""
    try:
        return of_objects(parts)
    except spec.SpecError as error:
        raise ShapeAnnotationError.at(where, error) from None


def _of_objects(parts: tuple[Any, ...]) -> bool:
    """Whether these are dimension objects, and what may stand beside them."""
    return any(isinstance(part, Dim) for part in parts) and all(map(is_part, parts))


def read(annotation: object) -> tuple[object, TensorSpec] | None:
    """Return the tensor type and the spec of an annotated tensor, ours, `Annotated` or jaxtyping's.

    None for any other type. Raises `ShapeAnnotationError`.
    """
    if isinstance(annotation, _AnnotatedAlias):
        for item in annotation.__metadata__:
            if isinstance(item, TensorSpec):
                return annotation.__origin__, item
        if _of_objects(annotation.__metadata__) and _may_be_tensor(annotation.__origin__):
            shape, objects = parse_objects(annotation.__metadata__, _shown(annotation.__metadata__))
            return annotation.__origin__, TensorSpec("Shaped", dtypes.ANY, shape, objects)
        for item in annotation.__metadata__:
            if isinstance(item, str) and _may_be_tensor(annotation.__origin__):
                text = parse(item, f'Annotated[..., "{item}"]')
                return annotation.__origin__, TensorSpec("Shaped", dtypes.ANY, text)
        return None
    if isinstance(annotation, type) and type(annotation).__module__.startswith("jaxtyping"):
        return _read_jaxtyping(annotation)
    return None


def _may_be_tensor(origin: object) -> bool:
    """Whether a string in `Annotated` is a shape: it is by a tensor's type or a name for one."""
    if isinstance(origin, type):
        return any(
            (base.__module__, base.__name__) == ("torch", "Tensor") for base in origin.__mro__
        )
    return isinstance(origin, typing.ForwardRef) and origin.__forward_arg__.endswith("Tensor")


def _read_jaxtyping(annotation: Any) -> tuple[object, TensorSpec] | None:
    text = getattr(annotation, "dim_str", None)
    if not isinstance(text, str):
        return None
    label = str(annotation.__name__).partition("[")[0]
    names = annotation.dtypes
    mask = dtypes.ANY
    if isinstance(names, (tuple, list)):
        mask = sum({dtypes.of(name) for name in names if name in dtypes.NAMES})
    return annotation.array_type, TensorSpec(label, mask, parse(text, f'{label}[..., "{text}"]'))


_AnnotatedAlias: Final[Any] = type(Annotated[int, ""])


class _TensorAlias(_AnnotatedAlias, _root=True):  # type: ignore[misc,call-arg]  # typing's own
    """`typing.Annotated[Tensor, spec]` that `isinstance` accepts, as jaxtyping's types are."""

    @property
    def __metadata__(self) -> _Metadata:
        _meet("beartype")  # which asks for it
        found: _Metadata = self.__dict__["metadata"]
        return found

    @__metadata__.setter
    def __metadata__(self, metadata: tuple[TensorSpec]) -> None:
        self.__dict__["metadata"] = _Metadata(metadata)

    def __instancecheck__(self, value: object) -> bool:
        from shapecheck.runtime.api import is_instance

        (metadata,) = self.__metadata__
        return is_instance(value, self.__origin__, metadata)

    def copy_with(self, params: tuple[Any, ...]) -> Any:
        return _TensorAlias(params[0], self.__metadata__)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.__origin__, *self.__metadata__)


def _rebuild(origin: object, metadata: TensorSpec) -> Any:
    return _TensorAlias(origin, (metadata,))


# Other tools know `Annotated` by the name of its class.
_TensorAlias.__module__, _TensorAlias.__qualname__ = "typing", "_AnnotatedAlias"
_TensorAlias.__name__ = "_AnnotatedAlias"


class _ElementType:
    """The base of `Float`, `Int` and so on: `Float[Tensor, "b c"]` makes the annotation."""

    _dtypes: dtypes.DTypes = dtypes.ANY

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        raise ShapeAnnotationError(
            f'{cls.__name__} is no class to call; write {cls.__name__}[Tensor, "..."]'
        )

    def __class_getitem__(cls, items: object) -> Any:
        name = cls.__name__
        if isinstance(items, tuple) and _of_objects(items[1:]):
            shape, objects = parse_objects(items[1:], f"{name}[{_shown(items)}]")
            return _annotate(items[0], TensorSpec(name, cls._dtypes, shape, objects))
        if not isinstance(items, tuple) or len(items) != 2 or not isinstance(items[1], str):
            raise ShapeAnnotationError(
                f"{name}[{_shown(items)}]: {name} takes a tensor type and one string with all "
                f'dimensions, such as {name}[Tensor, "batch channels"]'
            )
        array, text = items
        shape = parse(text, f'{name}[{_shown(array)}, "{text}"]')
        if array in _NUMBERS and any(isinstance(entry, spec.Axis) for entry in shape.entries):
            raise ShapeAnnotationError(
                f'{name}[{_shown(array)}, "{text}"]: {_shown(array)} is no tensor type; write '
                f'{name}[Tensor, "{text}"]'
            )
        return _annotate(array, TensorSpec(name, cls._dtypes, shape))


_NUMBERS: Final = (bool, int, float, complex, str)


def _annotate(array: Any, metadata: TensorSpec) -> Any:
    if typing.get_origin(array) in (typing.Union, UnionType):
        members = typing.get_args(array)
        return typing.Union[  # noqa: UP007 - made at run time
            tuple(m if m is type(None) else _annotate(m, metadata) for m in members)
        ]
    inner = read(array)
    if inner is not None:
        array, inner_spec = inner
        metadata = inner_spec.inside(metadata)
    if isinstance(array, str):
        array = typing.ForwardRef(array)
    if array is not Any and not isinstance(array, (type, typing.TypeVar, typing.ForwardRef)):
        raise ShapeAnnotationError(
            f"{metadata.label}[{_shown(array)}, ...]: {_shown(array)} is no tensor type; write "
            f'{metadata.label}[Tensor, "{metadata.shape}"]'
        )
    _meet("typeguard")
    alone = AloneSpec(metadata.label, metadata.dtypes, metadata.shape, metadata.dims)
    return _TensorAlias(array, (alone,))


def _shown(items: object) -> str:
    if isinstance(items, tuple):
        return ", ".join(map(_shown, items))
    if items is ...:
        return "..."
    if isinstance(items, str):
        return f'"{items}"'
    if isinstance(items, Dim):
        return items.name
    return items.__name__ if isinstance(items, type) else repr(items)


if not TYPE_CHECKING:
    globals().update(
        {
            name: type(
                name,
                (_ElementType,),
                {
                    "_dtypes": mask,
                    "__module__": __name__,
                    "__doc__": f'Tensors of {dtypes.describe(mask)}: {name}[Tensor, "b c"].',
                },
            )
            for name, mask in dtypes.CATEGORIES.items()
        }
    )


_meet("typeguard")
