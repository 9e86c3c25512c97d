"""Reads a function's annotations: which parameters are tensors, and what else is checked.

Annotations that are text (`from __future__ import annotations`, forward references) are looked up
in the function's globals, its closure and the namespace in which it was decorated; one whose name
doesn't exist yet is tried again at the first call.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import types
import typing
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import InitVar, dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias, Union

import torch

from shapecheck import dtypes, spec
from shapecheck.dims import Dim
from shapecheck.runtime.annotations.parts import (
    declared,
    is_record,
    with_references,
    within,
    without_aliases,
    without_star,
)
from shapecheck.tensor_spec import ShapeAnnotationError, TensorSpec, read, spelled_out


@dataclass(frozen=True, slots=True)
class TensorHint:
    """A tensor with a declared shape; `cls` is the class it must be of."""

    cls: type
    spec: TensorSpec
    admits: frozenset[torch.dtype] | None


@dataclass(frozen=True, slots=True)
class MaybeHint:
    """A tensor with a declared shape, or None."""

    tensor: TensorHint


@dataclass(frozen=True, slots=True)
class TupleHint:
    """A tuple of fixed length, each item a tensor or one or None or not checked."""

    items: tuple[TensorHint | MaybeHint | None, ...]


@dataclass(frozen=True, slots=True)
class OtherHint:
    """Anything else, which typeguard checks.

    `quick`: instances of these classes certainly fit. `tensors`: whether tensors with
    declared shapes are somewhere inside.
    """

    annotation: Any
    quick: tuple[type, ...] = ()
    tensors: bool = False


Hint: TypeAlias = Union[TensorHint, MaybeHint, TupleHint, OtherHint, None]  # noqa: UP007
"""What an annotation asks for; None asks for nothing."""

_EVERY_DTYPE: Final = tuple(
    {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
)


def dtype_mask(dtype: torch.dtype) -> dtypes.DTypes:
    """Return the set that holds just this dtype."""
    return dtypes.of(str(dtype).removeprefix("torch."))


def admitted(mask: dtypes.DTypes) -> frozenset[torch.dtype] | None:
    """Return the dtypes of a set, None for all."""
    if mask == dtypes.ANY:
        return None
    return frozenset(dtype for dtype in _EVERY_DTYPE if dtype_mask(dtype) & mask)


def tensor_hint(origin: object, spec: TensorSpec) -> TensorHint:
    """Return the hint for an annotated tensor."""
    cls = origin if isinstance(origin, type) else torch.Tensor
    return TensorHint(cls, spec, admitted(spec.dtypes))


def classify(annotation: Any) -> Hint:
    """Return what an annotation asks for. Raises `ShapeAnnotationError`."""
    if annotation is inspect.Parameter.empty or annotation is Any:
        return None
    if isinstance(annotation, type) and annotation.__module__ == "shapecheck.types":
        name = annotation.__name__
        raise ShapeAnnotationError(
            f'{name} says neither tensor type nor shape; write {name}[Tensor, "batch channels"]'
        )
    annotation = spelled_out(annotation)
    found = _tensor(annotation)
    if found is not None:
        return found
    if without_star(annotation) is not None:
        return OtherHint(annotation, (), _holds_tensors(annotation))
    members = _members(annotation)
    if len(members) == 2 and type(None) in members:
        inner = _tensor(members[0] if members[1] is type(None) else members[1])
        if inner is not None:
            return MaybeHint(inner)
    if typing.get_origin(annotation) is tuple:
        items = typing.get_args(annotation)
        if items and ... not in items and items != ((),):
            parts = [classify(item) for item in items]
            if any(isinstance(part, TensorHint | MaybeHint) for part in parts) and all(
                part is None or isinstance(part, TensorHint | MaybeHint) for part in parts
            ):
                return TupleHint(tuple(parts))  # type: ignore[arg-type]  # just checked
    inside = _holds_tensors(annotation)
    quick = () if inside else tuple(filter(_is_plain_class, members))
    return OtherHint(annotation, quick, inside)


def together(hint: Hint) -> Hint:
    """Return what all arguments are by `*args: *tuple[int, ...]`, None where each is for itself."""
    if not isinstance(hint, OtherHint) or without_star(hint.annotation) is None:
        return None
    return replace(hint, annotation=types.GenericAlias(tuple, (hint.annotation,)))


def unpacked(hint: Hint) -> Mapping[str, Hint] | None:
    """Return what each keyword must be by `**kwargs: Unpack[Options]`, None for another hint."""
    return _unpacked(hint.annotation) if isinstance(hint, OtherHint) and hint.tensors else None


@lru_cache(maxsize=256)
def _unpacked(annotation: Any) -> Mapping[str, Hint] | None:
    record = without_star(annotation)
    if record is None:
        return None
    return {name: classify(one) for name, one in declared(record).items()}


def is_plain(hint: Hint) -> bool:
    """Whether an annotation has nothing to do with shapes."""
    return hint is None or (isinstance(hint, OtherHint) and not hint.tensors)


def or_default(hint: Hint, default: object) -> Hint:
    """Return what an annotation asks for, or None where that is the default."""
    if default is not None:
        return hint
    match hint:
        case TensorHint():
            return MaybeHint(hint)
        case OtherHint(tensors=False):
            return replace(hint, quick=(*hint.quick, type(None)))
        case _:
            return hint


def _is_plain_class(annotation: Any) -> bool:
    """Whether being an instance is all that an annotation asks for."""
    return (
        isinstance(annotation, type)
        and not typing.get_args(annotation)
        and not is_record(annotation)
        and not getattr(annotation, "_is_protocol", False)
    )


def _tensor(annotation: Any) -> TensorHint | None:
    found = read(annotation)
    if found is None:
        return None
    origin, spec = found
    if isinstance(origin, type) and not issubclass(origin, torch.Tensor):
        return None
    return tensor_hint(origin, spec)


def _members(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return typing.get_args(annotation)
    return (type(None),) if annotation is None else (annotation,)


def _holds_tensors(annotation: Any) -> bool:
    """Whether a tensor with a declared shape may be anywhere inside; in doubt, no."""
    return any(
        may_have_shape(one) if isinstance(one, str | typing.ForwardRef) else read(one) is not None
        for one in within(annotation)
    )


def _shapes(annotation: Any) -> Iterator[TensorSpec]:
    """Yield all declared shapes inside of an annotation."""
    for one in within(annotation):
        if (found := read(one)) is not None:
            yield found[1]


def dimension_names(annotation: Any) -> Iterator[str]:
    """Yield the dimension names in all tensor annotations inside of an annotation."""
    for one in _shapes(annotation):
        yield from one.shape.names()


def names_in_braces(annotation: Any) -> Iterator[str]:
    """Yield the names in the Python expressions of all shapes inside of an annotation."""
    shapes = [one.shape for one in _shapes(annotation)]
    is_braced = any("{" in one for one in _texts(annotation))
    for node in _nodes(annotation) if is_braced else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "{" in node.value:
            with suppress(spec.SpecError):  # a text of another kind
                shapes.append(spec.parse(node.value))
    for part in (part for shape in shapes for entry in shape.entries for part in spec.walk(entry)):
        if isinstance(part, spec.Braces):
            for node in ast.walk(ast.parse(part.source, mode="eval")):
                if isinstance(node, ast.Name):
                    yield node.id


def names_of(hint: Hint) -> Iterator[str]:
    """Yield the dimension names in what an annotation asks for."""
    match hint:
        case TensorHint(spec=spec) | MaybeHint(tensor=TensorHint(spec=spec)):
            yield from spec.shape.names()
        case TupleHint(items=items):
            for item in items:
                yield from names_of(item)
        case OtherHint(annotation=annotation, tensors=True):
            yield from dimension_names(annotation)


def dims_in(annotations: Mapping[str, Any], scope: Mapping[str, Any]) -> dict[str, Dim]:
    """Return the dimension names that are `Dim` objects where the function was written.

    Those in the annotations themselves count before variables of the same name.
    """
    names = {name for one in annotations.values() for name in dimension_names(one)}
    found = {name: dim for name in names if isinstance(dim := scope.get(name), Dim)}
    shapes = (one for annotation in annotations.values() for one in _shapes(annotation))
    given = {name: dim for one in shapes for name, dim in one.dims}
    return {**found, **given}


class Unresolved(Exception):
    """Some annotation has a name in it that doesn't exist (yet)."""


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return a function's annotations as they were written. Raises `Unresolved`."""
    try:
        return dict(getattr(function, "__annotations__", None) or {})
    except NameError as error:  # evaluated on demand, from Python 3.14 on
        raise Unresolved(str(error)) from None


def mentioned(function: Callable[..., Any], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a namespace that the text of the annotations mentions."""
    try:
        written = annotations_of(function).values()
    except Unresolved:
        return {}
    names: set[str] = set()
    for annotation in written:
        names.update(node.id for node in _nodes(annotation) if isinstance(node, ast.Name))
    return {name: namespace[name] for name in names if name in namespace}


def enclosing(function: Callable[..., Any], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `{...}` in the annotations mentions of the namespace that a function stands in.

    It is what the function itself could use: in a class, of what is around that, a `ChainMap`'s
    parents.
    """
    if isinstance(namespace, ChainMap):
        namespace = namespace.parents
    if "__module__" in namespace:  # a class's while it is made
        return {}
    try:
        written = annotations_of(function).values()
    except Unresolved:
        return {}
    own = getattr(getattr(inspect.unwrap(function), "__code__", None), "co_varnames", ())
    names = {name for one in written for name in names_in_braces(one)}.difference(own)
    if not names:
        return {}
    around = surroundings(function)
    found = {name: namespace[name] for name in names if name in namespace}
    return {name: one for name, one in found.items() if around.get(name) is not one}


def may_have_shape(annotation: Any) -> bool:
    """Whether the text of an annotation has text in brackets, as `Float[Tensor, "b c"]` has."""
    inside = [n.slice for n in _nodes(annotation) if isinstance(n, ast.Subscript)]
    nodes = [node for one in inside for node in ast.walk(one)]
    return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in nodes)


def _nodes(annotation: Any) -> Iterator[ast.AST]:
    """Yield the syntax of an annotation that is text, or has text in it."""
    for one in _texts(annotation):
        with suppress(SyntaxError):
            yield from ast.walk(ast.parse(one, mode="eval"))


def _texts(annotation: Any) -> list[str]:
    if isinstance(annotation, str):
        return [annotation]
    if isinstance(annotation, typing.ForwardRef):
        return [annotation.__forward_arg__]
    return [text for part in typing.get_args(annotation) for text in _texts(part)]


def closure(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the variables of enclosing functions that a function uses and that have a value."""
    found: dict[str, Any] = {}
    names = function.__code__.co_freevars if isinstance(function, types.FunctionType) else ()
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=True):
        with suppress(ValueError):  # empty until its variable is assigned
            found[name] = cell.cell_contents
    return found


def surroundings(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what a function's names mean where it is written: its module's, then its closure.

    Python makes the `__new__` of a NamedTuple where not even `list` means anything.
    """
    written = inspect.unwrap(function)
    module = getattr(written, "__globals__", {})
    return {**module, "__builtins__": builtins, **closure(written)}


def _looked_up(annotation: Any, scope: dict[str, Any], namespace: Mapping[str, Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={"one": annotation})
    return typing.get_type_hints(holder, scope, dict(namespace), include_extras=True)["one"]


def _init_var(
    annotation: Any, scope: Mapping[str, Any], namespace: Mapping[str, Any]
) -> InitVar[Any] | None:
    """Return what a text says that is an `InitVar`, which Python 3.10 takes for no type."""
    if not isinstance(annotation, str) or "InitVar" not in annotation:
        return None
    with suppress(Exception):  # a text may be any expression
        value = eval(annotation, dict(scope), dict(namespace))
        return value if isinstance(value, InitVar) else None
    return None


def resolve(
    function: Callable[..., Any], namespace: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the annotations with all names looked up, and why some couldn't be."""
    scope = surroundings(function)
    found: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for name, annotation in annotations_of(function).items():
        if not _texts(annotation) and annotation is not None:
            found[name] = without_aliases(annotation)
            continue
        try:
            meant = _looked_up(annotation, scope, namespace)
            if with_references(meant) is not meant:
                meant = _looked_up(with_references(meant), scope, namespace)
            found[name] = without_aliases(meant)
        except NameError as error:
            failed[name] = str(error)
        except SyntaxError:
            raise ShapeAnnotationError(
                f'the annotation "{annotation}" of "{name}" isn\'t a Python expression'
            ) from None
        except (AttributeError, TypeError) as error:
            if isinstance(error, ShapeAnnotationError):
                raise
            of_dataclass = _init_var(annotation, scope, namespace)
            if of_dataclass is None:
                failed[name] = str(error)
            else:
                found[name] = of_dataclass
    return found, failed
