"""What a program says of a tensor's names: `named`, which gives some, and `assert_shape`."""

from __future__ import annotations

import ast
from collections.abc import Set
from typing import Any, TypeVar

import torch

from shapecheck import dtypes
from shapecheck.dims import Dim
from shapecheck.explain import Message
from shapecheck.ops.named import naming
from shapecheck.runtime.annotations.hints import TensorHint, tensor_hint
from shapecheck.runtime.boundary.locals import fit
from shapecheck.runtime.compiling import names_in_trace
from shapecheck.runtime.errors import Failed, ShapeError, kind_of
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.naming.call_names import state
from shapecheck.runtime.naming.facts import ValueFacts
from shapecheck.runtime.naming.lasting import known_in
from shapecheck.runtime.naming.records import plain_shape
from shapecheck.runtime.settings import paused
from shapecheck.runtime.source import user_place
from shapecheck.shapes import Shape
from shapecheck.spec.objects import Objects, Part, is_part
from shapecheck.tensor_spec import ShapeAnnotationError, TensorSpec, parse, parse_objects

TensorT = TypeVar("TensorT", bound=torch.Tensor)


def named(tensor: TensorT, *dims: Part) -> TensorT:
    """Give a tensor's dimensions these names, whatever they were called before; return the tensor.

        named(x, "batch time 3")   named(x, Batch, Time, 3)

    Raises `ShapeError` where the sizes contradict what the names stand for here.
    """
    learned: TensorT = _learn(tensor, dims, "named", forget=True)
    return learned


def assert_shape(tensor: TensorT, *dims: Part | Set[Part]) -> TensorT:
    """Check a tensor against an annotation such as `"b c h//2"`, and return it.

    Also against dimension objects, `assert_shape(x, Batch, Time)`; those of a set are in any order,
    `assert_shape(x, {Time, Batch})`.

    Inside of a decorated call the names are the call's, and dimensions without a name take the
    annotation's; one that has a name keeps it. Raises `ShapeError`.
    """
    if len(dims) == 1 and isinstance(dims[0], Set):
        dims = _in_order(tensor, dims[0])
    learned: TensorT = _learn(tensor, dims, "assert_shape", forget=False)
    return learned


def _in_order(tensor: Any, parts: Set[Part]) -> tuple[Part, ...]:
    """Return dimensions in the order in which a tensor has them, as far as it does."""
    if torch.compiler.is_compiling() or not isinstance(tensor, torch.Tensor):
        return tuple(sorted(parts, key=str))
    with DisableTorchFunction():
        known = state.here.of(tensor)
        shape = plain_shape(tensor) if known is None else Shape(known.dims)
        facts = ValueFacts({} if known is None else known.values)
        return tuple(naming.arranged(facts, shape, parts) or ())


def _learn(tensor: Any, dims: tuple[Any, ...], function: str, forget: bool) -> Any:
    if torch.compiler.is_compiling():
        text = " ".join([part.name if isinstance(part, Dim) else str(part) for part in dims])
        return (
            names_in_trace.write(tensor, names_in_trace.annotated(text, tensor.dim()))
            if forget
            else tensor
        )
    for part in dims:
        is_number = hasattr(part, "__index__") and not hasattr(part, "shape")
        if isinstance(part, bool) or not (is_part(part) or is_number):
            said = f'{kind_of(part)} is given; write names, such as "b c"'
            raise ShapeAnnotationError(f"{function}(...): {said}")
    objects: Objects = ()
    if len(dims) == 1 and isinstance(dims[0], str):
        shape = parse(dims[0], f'{function}(..., "{dims[0]}")')
    else:
        shape, objects = parse_objects(dims, f"{function}(..., {', '.join(map(str, dims))})")
    if paused.get() and not forget:
        return tensor
    if not isinstance(tensor, torch.Tensor):
        raise ShapeError(Message(f'value is {kind_of(tensor)}, declared a tensor "{shape}"'))
    with DisableTorchFunction():
        frame = state.here
        before = known_in(frame, tensor)
        if forget:
            frame.name(tensor, None)
        hint = tensor_hint(torch.Tensor, TensorSpec("Shaped", dtypes.ANY, shape, objects))
        try:
            fit(frame, hint, tensor, "value", {}, given=forget)
        except Failed as failed:
            refused = _refused(failed, hint, tensor, forget)
            frame.name(tensor, before)
            raise refused from None
        if forget and frame is state.root:
            state.given.name(tensor, frame.of(tensor))
    return tensor


def _refused(failed: Failed, hint: TensorHint, tensor: torch.Tensor, forget: bool) -> ShapeError:
    """Return what to raise for a tensor that doesn't fit; it is fitted again as it is written."""
    frame, place = state.here, user_place()
    try:
        fit(frame, hint, tensor, _subject(place), {}, given=forget)
    except Failed as told:
        failed = told
    return ShapeError(failed.message, frame.names, None if place is None else str(place))


def _subject(place: object) -> str:
    node = getattr(place, "node", None)
    if isinstance(node, ast.Call) and node.args:
        text = ast.unparse(node.args[0])
        return f'"{text}"' if len(text) <= 40 else "value"
    return "value"
