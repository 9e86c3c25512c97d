"""The annotation types: `Float[Tensor, "batch channels"]` and the other element types.

To type checkers each is `typing.Annotated` by another name, so that `Float[Tensor, "b c"]` is a
plain tensor to them. At run time `Float[Tensor, "b c"]` is a real `typing.Annotated[Tensor, spec]`
with a `TensorSpec` as its metadata, on which `isinstance` works too.
"""

from __future__ import annotations

import sys
import typing
from contextlib import suppress
from dataclasses import fields
from importlib import import_module
from types import UnionType
from typing import TYPE_CHECKING, Any, Final

from shapecheck import dtypes, spec
from shapecheck.tensor_spec import (
    AnnotatedAlias,
    ShapeAnnotationError,
    TensorSpec,
    are_objects,
    parse,
    parse_objects,
    read,
    shown,
)

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


class AnnotationSpec(TensorSpec):
    """The metadata of one of our types, which pydantic asks for what it validates a field by."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return all(getattr(self, one.name) == getattr(other, one.name) for one in fields(self))

    __hash__ = TensorSpec.__hash__

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return what pydantic validates a tensor by."""
        _meet("pydantic")
        return sys.modules["shapecheck.checkers.pydantic"].schema(self, source, handler)


class AloneSpec(AnnotationSpec):
    """A spec that is all the metadata of its annotation: beartype checks tensors by it.

    See `shapecheck.checkers.beartype`.
    """

    __slots__ = ()

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
            alone = AnnotationSpec(alone.label, alone.dtypes, alone.shape, alone.dims)
        return alone, *more


def _meet(checker: str) -> None:
    """Have another type checker check our types, once the program has imported it."""
    module = f"shapecheck.checkers.{checker}"
    if checker in sys.modules and module not in sys.modules:
        with suppress(ImportError):  # it is being imported
            import_module(module)


class _TensorAlias(AnnotatedAlias, _root=True):  # type: ignore[misc,call-arg]  # typing's own
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
        from shapecheck.runtime.asking.questions import is_instance

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
        if isinstance(items, tuple) and are_objects(items[1:]):
            shape, objects = parse_objects(items[1:], f"{name}[{shown(items)}]")
            return _annotate(items[0], TensorSpec(name, cls._dtypes, shape, objects))
        if not isinstance(items, tuple) or len(items) != 2 or not isinstance(items[1], str):
            raise ShapeAnnotationError(
                f"{name}[{shown(items)}]: {name} takes a tensor type and one string with all "
                f'dimensions, such as {name}[Tensor, "batch channels"]'
            )
        array, text = items
        shape = parse(text, f'{name}[{shown(array)}, "{text}"]')
        if array in _NUMBERS and any(isinstance(entry, spec.Axis) for entry in shape.entries):
            raise ShapeAnnotationError(
                f'{name}[{shown(array)}, "{text}"]: {shown(array)} is no tensor type; write '
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
            f"{metadata.label}[{shown(array)}, ...]: {shown(array)} is no tensor type; write "
            f'{metadata.label}[Tensor, "{metadata.shape}"]'
        )
    _meet("typeguard")
    alone = AloneSpec(metadata.label, metadata.dtypes, metadata.shape, metadata.dims)
    return _TensorAlias(array, (alone,))


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
