"""The boundary of a call, checked thoroughly: all arguments, or the result.

Generated code comes here with what it can't decide, and with what doesn't fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from shapecheck.dims import DimExpr, Sym
from shapecheck.explain import Message
from shapecheck.runtime.annotations import instance_dims
from shapecheck.runtime.annotations.hints import (
    Hint,
    MaybeHint,
    TensorHint,
    TupleHint,
    together,
    unpacked,
)
from shapecheck.runtime.annotations.plan import Param, Plan, kind_of
from shapecheck.runtime.boundary.binding import Binding, ShapeOf
from shapecheck.runtime.boundary.containers import fit_value
from shapecheck.runtime.errors import Failed, ShapeError, own_fault
from shapecheck.runtime.internals import is_traced
from shapecheck.runtime.naming.call_names import CallNames, state
from shapecheck.runtime.naming.first_class import record_of
from shapecheck.runtime.naming.int_origins import numbers
from shapecheck.runtime.naming.records import apart, plain_shape, sizes_of
from shapecheck.runtime.source import Place, call_label, return_place, user_place
from shapecheck.shapes import Shape
from shapecheck.tensor_spec import ShapeAnnotationError

Bound = tuple[dict[str, int], dict[str, tuple[int, ...]]]
"""What the names and the groups of a call are bound to."""


def bind(plan: Plan, values: Sequence[Any]) -> Bound:
    """Check all arguments and return what the names are bound to. Raises `ShapeError`.

    `values` are those of the parameters, in order.
    """
    try:
        binding = bind_names(plan, values, state.frame)
        return binding.sizes(), binding.group_sizes()
    except (ShapeError, ShapeAnnotationError):
        raise
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault(f"to check the arguments of {plan.label}", error)
        return {}, {}


def bind_names(plan: Plan, values: Sequence[Any], caller: CallNames | None = None) -> Binding:
    """Bind all arguments; by the names that tensors have at the caller, if there is one."""
    scope = {param.name: value for param, value in zip(plan.params, values, strict=True)}
    instance = values[0] if values else None
    held: dict[str, DimExpr] = {**plan.fixed, **instance_dims.held(plan.own, instance)}
    if caller is not None and not state.is_outside(caller):  # where it may have several sizes
        held |= plan.shared(caller.symbols)
    if caller is None:
        binding = Binding(plan, scope, names=held)
    else:
        symbols = dict(caller.symbols)
        binding = Binding(plan, scope, symbols, shape_in(caller, symbols), held)
    fit_arguments(binding, plan, plan.params, user_place)
    binding.lend(plan.lengths(values))
    instance_dims.hold(plan.own, instance, binding.sizes())
    return binding


def fit_arguments(
    binding: Binding, plan: Plan, params: Sequence[Param], place: Callable[[], Place | None]
) -> None:
    """Fit the arguments for some parameters, plain tensors first. Raises `ShapeError`."""
    known = {*binding.matcher.names}
    late = [param for param in params if not isinstance(param.hint, TensorHint | MaybeHint)]
    try:
        for param in (*(p for p in params if p not in late), *late):
            _check_param(binding, param, binding.scope[param.name])
            for name in (*binding.matcher.names, *binding.matcher.runs):
                if name not in known:
                    binding.origin.setdefault(name, param.name)
        binding.settle()
    except Failed as failed:
        raise _argument_error(binding, plan, failed, place()) from None


def _check_param(binding: Binding, param: Param, value: Any) -> None:
    kind, hint = param.kind, param.hint
    subject = f'argument "{param.name}" of "{_ANY}"'
    if hint is None or value is _MADE_LATER or is_traced(value):
        return
    if value is param.default and not isinstance(value, torch.Tensor):
        return
    if kind == kind.VAR_POSITIONAL and (whole := together(hint)) is not None:
        fit_value(binding, whole, value, subject)
    elif kind == kind.VAR_POSITIONAL:
        for index, item in enumerate(value):
            fit_value(binding, hint, item, f"item {index} of {subject}")
    elif kind == kind.VAR_KEYWORD:
        fields = unpacked(hint)
        for key, item in value.items():
            one = hint if fields is None else fields.get(key)
            fit_value(binding, one, item, f'argument "{key}" of "{_ANY}"')
    else:
        fit_value(binding, hint, value, subject)


_MADE_LATER: Final = getattr(dataclasses, "_HAS_DEFAULT_FACTORY", object())
"""What the `__init__` of a dataclass gets for a field that `default_factory` will make."""

_ANY: Final = "\0"
"""Stands for the function in a message until its spelling at the call is looked up."""


def _argument_error(
    binding: Binding, plan: Plan, failed: Failed, place: Place | None
) -> ShapeError:
    # a generator's body begins where somebody asks for an item
    called = not kind_of(plan.function).endswith("generator")
    label = call_label(place, plan.label) if called else plan.label
    said = failed.message
    text = said.text.replace(_ANY, label)
    failed.message = Message(text, said.code, said.notes)
    return binding.error(failed, place)


def check_other(plan: Plan, name: str, value: Any) -> None:
    """Check an argument that is no tensor and has none inside. Raises `ShapeError`."""
    try:
        (param,) = (param for param in plan.params if param.name == name)
        binding = Binding(plan, {name: value})
        try:
            _check_param(binding, param, value)
        except Failed as failed:
            raise _argument_error(binding, plan, failed, user_place()) from None
    except (ShapeError, ShapeAnnotationError):
        raise
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault(f'to check the argument "{name}" of {plan.label}', error)


def check_result(plan: Plan, values: Sequence[Any], bound: Bound, result: Any) -> None:
    """Check a result thoroughly; `bound` is what the arguments bound. Raises `ShapeError`."""
    try:
        scope = {param.name: value for param, value in zip(plan.params, values, strict=True)}
        held = {**plan.fixed, **instance_dims.held(plan.own, values[0] if values else None)}
        names = {name: size for name, size in bound[0].items() if size is not None}
        binding = Binding(plan, scope, names={**names, **held}, runs=dict(bound[1]))
        fit_result(binding, plan, result)
        if plan.own:
            instance_dims.hold(plan.own, values[0], binding.sizes())
    except (ShapeError, ShapeAnnotationError):
        raise
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault(f"to check the result of {plan.label}", error)


def fit_result(binding: Binding, plan: Plan, result: Any) -> None:
    """Fit a result to its annotation under what is bound. Raises `ShapeError`."""
    place, texts = return_place(plan.function)
    parts: list[tuple[Hint, Any]] = [(plan.result, result)]
    if isinstance(plan.result, TupleHint) and isinstance(result, tuple):
        if len(result) == len(plan.result.items):
            parts = list(zip(plan.result.items, result, strict=True))
    try:
        for index, (hint, value) in enumerate(parts):
            text = texts[index] if len(texts) == len(parts) else None
            short = text is not None and len(text) <= 40
            subject = f'returned value "{text}"' if short else "returned value"
            if text is not None:
                binding.texts = {subject: text}
            fit_value(binding, hint, value, subject)
            binding.settle()
    except Failed as failed:
        raise binding.error(failed, place) from None


def shape_in(frame: CallNames, values: dict[Sym, int]) -> ShapeOf:
    """Return what gives a tensor's shape in the names that a call knows.

    The values of numbers that may be another one next time, which only the tensors' records have,
    are put into `values`; outside of all calls so are those of names, each of which may have
    several.
    """

    def shape_of(tensor: torch.Tensor) -> Shape:
        found = record_of(frame, tensor)
        if found is None or found.sizes != sizes_of(tensor):
            return plain_shape(tensor)
        if frame.plan is None:
            found = apart(found, values)
        values.update(numbers(found.dims) if frame.plan is not None else found.values)
        return Shape(found.dims)

    return shape_of
