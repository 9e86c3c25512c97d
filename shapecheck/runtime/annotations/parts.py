"""What stands inside of an annotation: its type arguments, and the fields of records.

A record is a TypedDict or a NamedTuple. Its fields are types, texts or forward references, which
are looked up where the record was written.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal


def within(annotation: Any) -> Iterator[Any]:
    """Yield an annotation and all that stand in it, at any depth; each record once.

    A text or a forward reference comes as it is where what it names can't be found.
    """
    seen: set[type] = set()
    pending = [annotation]
    while pending:
        one = pending.pop()
        yield one
        pending += reversed(_arguments(one))
        record = one if isinstance(one, type) else typing.get_origin(one)
        if is_record(record) and record not in seen:
            seen.add(record)
            pending += reversed(list(fields(record).values()))


def _arguments(annotation: Any) -> list[Any]:
    """Return what is in the brackets, if these are types."""
    origin = typing.get_origin(annotation)
    if origin is Literal:
        return []
    if origin is Annotated:
        return [annotation.__origin__]
    found = typing.get_args(annotation)
    return [one for one in found if one is not ... and not isinstance(one, list)]


def without_aliases(annotation: Any, seen: tuple[Any, ...] = ()) -> Any:
    """Return a type with what `type Row = ...` says in the place of `Row`, at any depth.

    One that stands in itself is `Any` there, and one that can't be evaluated stays as it is.
    """
    alias = typing.get_origin(annotation) or annotation
    if type(alias).__name__ == "TypeAliasType":
        if alias in seen:
            return Any
        try:
            value = alias.__value__
            parameters = getattr(value, "__parameters__", ())
            given = dict(zip(alias.__type_params__, typing.get_args(annotation), strict=False))
            if given and parameters:
                value = value[tuple(given.get(one, one) for one in parameters)]
        except (NameError, TypeError):
            return annotation
        return without_aliases(value, (*seen, alias))
    args = typing.get_args(annotation)
    if typing.get_origin(annotation) in (Literal, Annotated) or not args:
        return annotation
    found = tuple(one if isinstance(one, list) else without_aliases(one, seen) for one in args)
    if found == args:
        return annotation
    if isinstance(annotation, types.UnionType):
        return typing.Union[found]  # noqa: UP007 - made at run time
    if isinstance(annotation, types.GenericAlias):
        return _alias_of(annotation, found)
    return annotation.copy_with(found) if hasattr(annotation, "copy_with") else annotation


def with_references(annotation: Any) -> Any:
    """Return a type with texts as references, which Python 3.10 makes of none in `type["X"]`."""
    if isinstance(annotation, str):
        return typing.ForwardRef(annotation)
    if not isinstance(annotation, types.GenericAlias) or getattr(annotation, "__unpacked__", False):
        return annotation
    found = tuple(with_references(one) for one in annotation.__args__)
    return annotation if found == annotation.__args__ else _alias_of(annotation, found)


def _alias_of(annotation: Any, args: tuple[Any, ...]) -> types.GenericAlias:
    return types.GenericAlias(annotation.__origin__, args)


def is_record(cls: Any) -> bool:
    """Whether this is a TypedDict or a NamedTuple."""
    if not isinstance(cls, type):
        return False
    if issubclass(cls, tuple):
        return hasattr(cls, "_fields")
    return issubclass(cls, dict) and hasattr(cls, "__required_keys__")  # whoever's TypedDict


def fields(record: type, args: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Return the annotations of a record's fields, those that it inherits included.

    `args` stand in the place of the type variables of a generic one.
    """
    given = dict(zip(getattr(record, "__parameters__", ()), args, strict=False))
    found: dict[str, Any] = {}
    for cls in reversed(record.__mro__):
        for name, annotation in _written(cls).items():
            found[name] = _filled(_looked_up(annotation, cls), given)
    return found


def declared(annotation: Any) -> dict[str, Any]:
    """Return what the fields of a record must be, of a generic one with its arguments too."""
    record = typing.get_origin(annotation) or annotation
    if not is_record(record):
        return {}
    args = typing.get_args(annotation)
    return {name: unmarked(one) for name, one in fields(record, args).items()}


def unmarked(annotation: Any) -> Any:
    """Return a field's type without `Required`, `NotRequired` and `ReadOnly`."""
    while _mark(annotation) is not None:
        (annotation,) = typing.get_args(annotation)
    return annotation


def marks_of(annotation: Any) -> set[str]:
    """Return which of `Required`, `NotRequired` and `ReadOnly` a field has."""
    found = set()
    while (mark := _mark(annotation)) is not None:
        found.add(mark)
        (annotation,) = typing.get_args(annotation)
    return found


def _mark(annotation: Any) -> str | None:
    """Return the mark around a type, be it typing's or typing_extensions'."""
    name = getattr(typing.get_origin(annotation), "_name", None)
    return name if name in ("Required", "NotRequired", "ReadOnly") else None


def without_star(annotation: Any) -> Any:
    """Return what stands behind a `*` or in `Unpack[...]`; None of any other annotation."""
    if getattr(typing.get_origin(annotation), "_name", None) == "Unpack":
        return typing.get_args(annotation)[0]
    if not getattr(annotation, "__unpacked__", False):
        return None
    return typing.get_origin(annotation)[typing.get_args(annotation)]


def spread(items: tuple[Any, ...]) -> list[tuple[Any, bool]]:
    """Return what the items of a tuple must be, and whether there may be any number of each.

    tuple[int, *tuple[str, ...]]: one int, any number of str. Of a `TypeVarTuple` it is `Any`.
    """
    if items[1:] == (...,):
        return [(items[0], True)]
    found: list[tuple[Any, bool]] = []
    for item in items:
        inner = without_star(item)
        if inner is None:
            found.append((item, False))
        elif typing.get_origin(inner) is tuple:
            found += spread(typing.get_args(inner))
        else:
            found.append((Any, True))
    return found


def _filled(annotation: Any, given: Mapping[Any, Any]) -> Any:
    """Return an annotation with type variables replaced: `list[T]` of a generic record."""
    if isinstance(annotation, typing.TypeVar):
        return given.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ())
    if not given or not parameters or isinstance(annotation, type):
        return annotation
    return annotation[tuple(given.get(one, one) for one in parameters)]


def _written(cls: type) -> Mapping[str, Any]:
    try:
        return inspect.get_annotations(cls)
    except NameError:  # evaluated on demand, from Python 3.14 on
        return {}


def _looked_up(annotation: Any, cls: type) -> Any:
    """Return the type that a field's annotation names, the annotation itself where it can't be."""
    scope = vars(sys.modules.get(cls.__module__, types))
    holder = types.SimpleNamespace(__annotations__={"field": annotation})
    try:
        hints = typing.get_type_hints(holder, scope, {}, include_extras=True)
    except Exception:  # noqa: BLE001 - a text may be any expression
        return annotation
    return without_aliases(hints["field"])
