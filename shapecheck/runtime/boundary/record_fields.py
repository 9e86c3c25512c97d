"""Checks the fields of TypedDicts and NamedTuples, each against what it was declared as.

typeguard looks the texts of their annotations up where the function was written, not the record.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any

from typeguard import TypeCheckError, TypeCheckMemo, check_type_internal

from shapecheck.runtime.annotations.parts import fields, marks_of, unmarked


def check_record(value: Any, record: Any, args: tuple[Any, ...], memo: TypeCheckMemo) -> None:
    """Fit a value to a record, as a checker of typeguard's. Raises `TypeCheckError`.

    A TypedDict may have more keys than are declared: those of one that is derived from it.
    """
    found = fields(record, args)
    if issubclass(record, tuple):
        _named_tuple(value, record, found, memo)
    else:
        _typed_dict(value, record, found, memo)


def _named_tuple(
    value: Any, record: type, declared: Mapping[str, Any], memo: TypeCheckMemo
) -> None:
    if not isinstance(value, record):
        name = f"{record.__module__}.{record.__qualname__}"
        raise TypeCheckError(f"is not a named tuple of type {name}")
    for name, annotation in declared.items():
        if hasattr(value, name):
            check_part(getattr(value, name), annotation, f"attribute {name!r}", memo)


def _typed_dict(value: Any, record: Any, declared: Mapping[str, Any], memo: TypeCheckMemo) -> None:
    if not isinstance(value, dict):
        raise TypeCheckError("is not a dict")
    required = set(record.__required_keys__)
    for name, annotation in declared.items():
        marks = marks_of(annotation)
        if marks & {"Required", "NotRequired"}:  # which `__required_keys__` misses in a text
            (required.add if "Required" in marks else required.discard)(name)
        if name in value:
            check_part(value[name], unmarked(annotation), f"value of key {name!r}", memo)
    if missing := required - value.keys():
        names = ", ".join(f'"{name}"' for name in sorted(missing))
        raise TypeCheckError(f"is missing required key(s): {names}")


def check_part(value: Any, annotation: Any, path: str, memo: TypeCheckMemo) -> None:
    """Fit what stands in something to its annotation; an error says where. Raises `TypeCheckError`.

    An annotation that is a text is one whose names aren't there: nothing is checked.
    """
    if isinstance(annotation, str | typing.ForwardRef):
        return
    try:
        check_type_internal(value, annotation, memo)
    except TypeCheckError as error:
        error.append_path_element(path)
        raise
