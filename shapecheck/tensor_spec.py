"""What an annotation says of a tensor, and how it is read: ours, `Annotated`, other libraries'.

`Float[Tensor, "b c"]` itself is made in `shapecheck.types`.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final

from shapecheck import dtypes, spec
from shapecheck.dims import Dim
from shapecheck.spec.dialects import of_annotated
from shapecheck.spec.objects import Objects, is_part, of_objects
from shapecheck.tensor_dialects import Said, said


class ShapeAnnotationError(TypeError):
    """An annotation that means nothing: malformed text, or `Float[...]` used in a wrong way."""

    __module__ = "shapecheck.types"  # where users find it

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


AnnotatedAlias: Final[Any] = type(Annotated[int, ""])
"""The class of `Annotated[...]` itself, for which typing has no public name."""


def are_objects(parts: tuple[Any, ...]) -> bool:
    """Whether these are dimension objects, and what may stand beside them."""
    return any(isinstance(part, Dim) for part in parts) and all(map(is_part, parts))


def read(annotation: object) -> tuple[object, TensorSpec] | None:
    """Return the tensor type and the spec of an annotated tensor, ours, `Annotated` or jaxtyping's.

    None for any other type. Raises `ShapeAnnotationError`.
    """
    if isinstance(annotation, AnnotatedAlias):
        for item in annotation.__metadata__:
            if isinstance(item, TensorSpec):
                return annotation.__origin__, item
        if are_objects(annotation.__metadata__) and _may_be_tensor(annotation.__origin__):
            shape, objects = parse_objects(annotation.__metadata__, shown(annotation.__metadata__))
            return annotation.__origin__, TensorSpec("Shaped", dtypes.ANY, shape, objects)
        return _read_metadata(annotation)
    if isinstance(annotation, type) and type(annotation).__module__.startswith("jaxtyping"):
        return _read_jaxtyping(annotation)
    return None


def _read_metadata(annotation: Any) -> tuple[object, TensorSpec] | None:
    """Read what stands beside a type: another library's object, or texts."""
    origin = annotation.__origin__
    if not _may_be_tensor(origin):
        return None
    for item in annotation.__metadata__:
        if (found := said(item)) is not None:
            return origin, spec_of(found)
    try:
        shape = of_annotated(annotation.__metadata__)
    except spec.SpecError as error:
        raise ShapeAnnotationError.at(f'Annotated[..., "{error.text}"]', error) from None
    return None if shape is None else (origin, TensorSpec("Shaped", dtypes.ANY, shape))


def spec_of(found: Said) -> TensorSpec:
    """Return what another library's object says as one of ours."""
    return TensorSpec(found.label, found.dtypes, found.shape)


def spelled_out(annotation: Any) -> Any:
    """Return a type with what stands beside it at each of its alternatives, lists included.

    Annotated[Tensor | list[Tensor], TensorShape("n", 3)]: a tensor "n 3" or a list of "3".
    """
    if not isinstance(annotation, AnnotatedAlias) or _is_tensor(annotation.__origin__):
        return annotation
    found = next((one for one in map(said, annotation.__metadata__) if one is not None), None)
    return annotation if found is None else _spread(annotation.__origin__, found, 0)


def _spread(kind: Any, found: Said, depth: int) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if _is_tensor(kind) and depth <= len(found.shape.entries):
        return Annotated[kind, spec_of(found.without(depth))]
    if origin in (typing.Union, UnionType):
        return typing.Union[tuple(_spread(one, found, depth) for one in args)]  # noqa: UP007
    if found.is_stacked and origin is list:
        return list[_spread(args[0], found, depth + 1)]  # type: ignore[misc]  # at run time
    if found.is_stacked and origin is tuple and args[1:] == (...,):
        return tuple[_spread(args[0], found, depth + 1), ...]  # type: ignore[misc]
    return kind


def _is_tensor(origin: object) -> bool:
    return isinstance(origin, type) and any(
        (base.__module__, base.__name__) == ("torch", "Tensor") for base in origin.__mro__
    )


def _may_be_tensor(origin: object) -> bool:
    """Whether a string in `Annotated` is a shape: it is by a tensor's type or a name for one."""
    if isinstance(origin, type):
        return _is_tensor(origin)
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


def shown(items: object) -> str:
    """Return what is in an annotation's brackets, as it is written."""
    if isinstance(items, tuple):
        return ", ".join(map(shown, items))
    if items is ...:
        return "..."
    if isinstance(items, str):
        return f'"{items}"'
    if isinstance(items, Dim):
        return items.name
    return items.__name__ if isinstance(items, type) else repr(items)
