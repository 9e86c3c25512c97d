"""The boundary of calls inside of `torch.compile` and `torch.export`: checked as they are traced.

Dynamo runs the check when it traces the call, as `comptime` offers, and leaves nothing of it in
the graph. The sizes are those of the example that is traced. Reading them adds no guard, so that
nothing is compiled again for the check's sake. What isn't certain by then isn't checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import torch

from shapecheck.runtime.annotations import instance_dims
from shapecheck.runtime.annotations.hints import Hint, OtherHint
from shapecheck.runtime.annotations.plan import Plan
from shapecheck.runtime.boundary.binding import Binding
from shapecheck.runtime.boundary.checks import fit_arguments, fit_result
from shapecheck.runtime.errors import LOCK, ShapeError, own_fault
from shapecheck.runtime.internals import DisableTorchFunction, dynamo_error
from shapecheck.runtime.settings import paused
from shapecheck.runtime.source import Place, is_users, user_place
from shapecheck.shapes import Shape
from shapecheck.tensor_spec import ShapeAnnotationError

Step = Callable[[Any], None]


class _Opaque:
    """Stands for a value that isn't known while a program is traced."""


OPAQUE: Final = _Opaque()


def steps(plan: Plan, result: str) -> tuple[Step, Step]:
    """Return what dynamo runs before a call and after it; `result` is the local that holds it."""

    def before(context: Any) -> None:
        with LOCK, DisableTorchFunction():
            _guarded(plan, lambda: _check(plan, context, None))

    def after(context: Any) -> None:
        with LOCK, DisableTorchFunction():
            _guarded(plan, lambda: _check(plan, context, result))

    return before, after


def check(plan: Plan, values: Sequence[Any], *result: Any) -> None:
    """Check a call that is traced without dynamo, by its tensors' sizes. Raises `ShapeError`."""
    with DisableTorchFunction():
        _guarded(plan, lambda: _fit(plan, values, result, None))


def _guarded(plan: Plan, run: Callable[[], None]) -> None:
    if paused.get():
        return
    try:
        run()
    except (ShapeError, ShapeAnnotationError):
        raise
    except Exception as error:  # noqa: BLE001 - a defect here must not break the compilation
        own_fault(f"to check a compiled call of {plan.label}", error)


def _check(plan: Plan, context: Any, result: str | None) -> None:
    """Check what dynamo knows. Raises a `ShapeError` that dynamo lets through."""
    inside = _translator(context)
    read = {name for source in plan.expressions for name in plan.expression(source).names}
    values = [
        _value(inside, context, param.name)
        if _has_shape(param.hint) or param.name in read or plan.own
        else OPAQUE
        for param in plan.params
    ]
    results = () if result is None else (_value(inside, context, result),)
    try:
        _fit(plan, values, results, inside)
    except ShapeError as error:
        raise _let_through()(error.message, error.names, error.place) from None


def _fit(plan: Plan, values: Sequence[Any], result: Sequence[Any], inside: Any) -> None:
    scope = {param.name: value for param, value in zip(plan.params, values, strict=True)}
    held = {**plan.fixed, **instance_dims.held(plan.own, values[0] if values else None)}
    binding = Binding(plan, scope, shape_of=_shape, names=held)
    params = [p for p in plan.params if scope[p.name] is not OPAQUE and _has_shape(p.hint)]
    try:
        fit_arguments(binding, plan, params, lambda: _place(inside))
        if result and _has_shape(plan.result) and result[0] is not OPAQUE:
            fit_result(binding, plan, result[0])
    except ShapeAnnotationError:
        if OPAQUE not in scope.values():
            raise


def _has_shape(hint: Hint) -> bool:
    return hint is not None and (not isinstance(hint, OtherHint) or hint.tensors)


def _shape(tensor: torch.Tensor) -> Shape:
    """Return the sizes of the example that is traced."""
    if tensor.is_nested:
        return Shape.unknown()
    sizes = tuple(map(_size, tensor.shape))
    return Shape.unknown() if None in sizes else Shape(sizes)  # type: ignore[arg-type]


def _size(size: Any) -> int | None:
    """Return a size as a number, without a guard; None if it depends on data."""
    if isinstance(size, torch.SymInt):
        hint = getattr(size.node, "_hint", None)
        return hint if isinstance(hint, int) else None
    return int(size)


def _value(inside: Any, context: Any, name: str) -> Any:
    """Return the value of a local of the function that is traced, as far as it is known."""
    variable = inside.symbolic_locals.get(name)
    return OPAQUE if variable is None else _known(inside, variable)


def _known(inside: Any, variable: Any) -> Any:
    if getattr(variable, "_no_implicit_realize", False):
        if not variable.is_realized():
            return variable.peek_value()
        variable = variable.realize()
    kind = type(variable).__name__
    if kind == "TensorVariable":
        return variable.as_proxy().node.meta["example_value"]
    if kind == "SymNodeVariable":
        found = _size(variable.sym_num) if isinstance(variable.sym_num, torch.SymInt) else None
        return OPAQUE if found is None else found
    if kind == "ConstantVariable":
        return variable.value
    if kind in ("ListVariable", "TupleVariable", "SizeVariable"):
        items = [_known(inside, item) for item in variable.items]
        if any(item is OPAQUE for item in items):
            return OPAQUE
        return items if kind == "ListVariable" else tuple(items)
    if kind.endswith("NNModuleVariable") or kind == "UserDefinedObjectVariable":
        if not inside.output.side_effects.has_pending_mutation(variable):
            return variable.value
    return OPAQUE


def _translator(context: Any) -> Any:
    """Return the frame that dynamo is tracing."""
    return context._i_will_not_complain_if_bc_breaks_InstructionTranslator()


def _place(inside: Any) -> Place | None:
    """Return the line of the call: in what is traced, or where what is compiled was called."""
    for frame in _callers(inside):
        if is_users(frame.f_code):
            return Place(frame.f_code, frame.lineno)
    return user_place()


def _callers(inside: Any) -> Iterator[Any]:
    while inside is not None and inside.parent is not None:
        inside = inside.parent
        yield inside


@cache
def _let_through() -> type[ShapeError]:
    """Return a `ShapeError` that dynamo doesn't wrap into an error of its own."""

    class CompiledShapeError(ShapeError, dynamo_error()):  # type: ignore[misc]  # a class at run time
        def __str__(self) -> str:  # dynamo adds lines of its own to the arguments
            return str(ShapeError(self.message, self.names, self.place, self.words, self.rank))

    CompiledShapeError.__name__ = CompiledShapeError.__qualname__ = ShapeError.__name__
    CompiledShapeError.__module__ = ShapeError.__module__
    return CompiledShapeError
