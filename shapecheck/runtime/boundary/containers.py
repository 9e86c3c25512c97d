"""Fits any value to its annotation, in which tensors may be anywhere.

What is no plain tensor typeguard checks, and we the tensors inside.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Annotated, Any, Final, Union

import torch
import typeguard
from typeguard import (
    CollectionCheckStrategy,
    ForwardRefPolicy,
    TypeCheckConfiguration,
    TypeCheckError,
    TypeCheckMemo,
    check_type_internal,
)

from shapecheck.explain import Message
from shapecheck.runtime.annotations.hints import (
    Hint,
    MaybeHint,
    OtherHint,
    TensorHint,
    TupleHint,
    tensor_hint,
)
from shapecheck.runtime.annotations.parts import is_record, spread, without_star
from shapecheck.runtime.boundary.binding import Binding, class_name
from shapecheck.runtime.boundary.other_checkers import is_array
from shapecheck.runtime.boundary.record_fields import check_part, check_record
from shapecheck.runtime.errors import Failed
from shapecheck.tensor_spec import TensorSpec, read

_CONFIG: Final = TypeCheckConfiguration(
    forward_ref_policy=ForwardRefPolicy.IGNORE,
    collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS,
)
_binding: Final[ContextVar[Binding | None]] = ContextVar("shapecheck_binding", default=None)


class _LeafError(TypeCheckError):
    """A tensor that doesn't fit, with a message without its subject: typeguard says what it is."""

    def __init__(self, message: Message) -> None:
        super().__init__(message.text.lstrip())
        self.shapes = message


def fit_value(binding: Binding, hint: Hint, value: Any, subject: str) -> None:
    """Fit a value to what its annotation asks for. Raises `Failed`."""
    if hint is not None:
        _FIT[type(hint)](binding, hint, value, subject)


def _fit_maybe(binding: Binding, hint: MaybeHint, value: Any, subject: str) -> None:
    if value is not None:
        binding.tensor(hint.tensor, value, subject)


def _fit_tuple(binding: Binding, hint: TupleHint, value: Any, subject: str) -> None:
    items = hint.items
    if not isinstance(value, tuple):
        raise Failed(Message(f"{subject} is {class_name(value)}, declared a tuple"))
    if len(value) != len(items):
        raise Failed(Message(f"{subject} has {len(value)} items, declared {len(items)}"))
    for index, (item, one) in enumerate(zip(items, value, strict=True)):
        fit_value(binding, item, one, f"item {index} of {subject}")


def _fit_other(binding: Binding, hint: OtherHint, value: Any, subject: str) -> None:
    if isinstance(value, hint.quick):
        return
    token = _binding.set(binding)
    first = len(binding.leaves)
    try:
        scope = getattr(binding.plan.function, "__globals__", {})
        check_type_internal(value, hint.annotation, TypeCheckMemo(scope, {}, config=_CONFIG))
    except TypeCheckError as error:
        path = " of ".join(getattr(error, "_path", ()))
        where = f"{path} of {subject}" if path else subject
        code = error.shapes.code if isinstance(error, _LeafError) else "shape"
        notes = error.shapes.notes if isinstance(error, _LeafError) else ()
        raise Failed(Message(f"{where} {error.args[0]}", code, notes)) from None
    finally:
        _binding.reset(token)
    for index in range(first, len(binding.leaves)):
        leaf = binding.leaves[index]
        binding.leaves[index] = replace(leaf, subject=f"a tensor in {subject}")


_FIT: Final[Mapping[type[object], Callable[[Binding, Any, Any, str], None]]] = {
    TensorHint: Binding.tensor,
    MaybeHint: _fit_maybe,
    TupleHint: _fit_tuple,
    OtherHint: _fit_other,
}


def lookup(
    origin_type: Any, args: tuple[Any, ...], extras: tuple[Any, ...]
) -> Callable[..., None] | None:
    """Return the checker of tensors, unions, records, some tuples, while we are checking."""
    if _binding.get() is None:
        return None
    if origin_type is Union or origin_type is types.UnionType:
        return _union
    if is_record(origin_type):
        return _record
    if origin_type is tuple and any(without_star(arg) is not None for arg in args):
        return _tuple
    for extra in extras:
        if isinstance(extra, TensorSpec):
            return _leaf(origin_type, extra)
    parts = (origin_type, *extras)
    found = read(_ANNOTATED[parts] if extras else origin_type)
    return None if found is None else _leaf(*found)


_ANNOTATED: Final[Any] = Annotated
"""`Annotated` as a value, for parts that are known at run time only."""


def _leaf(origin: object, spec: TensorSpec) -> Callable[..., None] | None:
    if not isinstance(origin, type) or issubclass(origin, torch.Tensor):
        fit = Binding.tensor
    elif is_array(origin):
        fit = Binding.array
    else:
        return None
    hint = tensor_hint(origin, spec)

    def check_leaf(value: Any, origin_type: Any, args: Any, memo: TypeCheckMemo) -> None:
        binding = _binding.get()
        assert binding is not None
        saved = binding.save()
        try:
            fit(binding, hint, value, "")
        except Failed as failed:
            binding.restore(saved)
            raise _LeafError(failed.message) from None

    return check_leaf


def _record(value: Any, record: Any, args: tuple[Any, ...], memo: TypeCheckMemo) -> None:
    binding = _binding.get()
    assert binding is not None
    try:
        with binding.record(_held(value), vars(sys.modules.get(record.__module__, builtins))):
            check_record(value, record, args, memo)
    except Failed as failed:
        raise _LeafError(failed.message) from None


def _held(value: Any) -> dict[str, Any]:
    """Return what the fields of a record are."""
    if isinstance(value, tuple):
        return dict(zip(getattr(value, "_fields", ()), value, strict=False))
    return value if isinstance(value, dict) else {}


def _tuple(value: Any, origin_type: Any, args: tuple[Any, ...], memo: TypeCheckMemo) -> None:
    """Fit a tuple that has another one unpacked in it, which typeguard counts as one item."""
    parts = spread(args)
    at = next((index for index, (_, many) in enumerate(parts) if many), None)
    if not isinstance(value, tuple):
        raise TypeCheckError("is not a tuple")
    extra = len(value) - len(parts)
    if extra < -1 or (at is None and extra):
        few = f"{len(parts)}" if at is None else f"{len(parts) - 1} or more"
        raise TypeCheckError(f"has {len(value)} items, declared {few}")
    declared = [annotation for annotation, _ in parts]
    if at is not None:
        declared[at : at + 1] = [declared[at]] * (extra + 1)
    for index, (annotation, item) in enumerate(zip(declared, value, strict=True)):
        check_part(item, annotation, f"item {index}", memo)


def _union(value: Any, origin_type: Any, args: tuple[Any, ...], memo: TypeCheckMemo) -> None:
    """Try each alternative; one that fails leaves no bindings behind."""
    binding = _binding.get()
    assert binding is not None
    failures: list[TypeCheckError] = []
    for alternative in args:
        saved = binding.save()
        try:
            check_type_internal(value, alternative, memo)
        except TypeCheckError as error:
            binding.restore(saved)
            failures.append(error)
        else:
            return
    leaves = [error for error in failures if isinstance(error, _LeafError)]
    if (isinstance(value, torch.Tensor) or is_array(type(value))) and len(leaves) == 1:
        raise leaves[0]
    said = "; ".join(
        str(error) if isinstance(error, _LeafError) else f"{_spelled(alternative)}: {error}"
        for alternative, error in zip(args, failures, strict=True)
    )
    raise TypeCheckError(f"fits none of its {len(args)} alternatives: {said}")


def _spelled(alternative: Any) -> str:
    """Return a type as it is written: `int`, `list[str]`."""
    plain = isinstance(alternative, type) and not getattr(alternative, "__args__", ())
    return alternative.__qualname__ if plain else str(alternative)


typeguard.checker_lookup_functions.insert(0, lookup)
