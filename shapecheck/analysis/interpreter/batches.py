"""What is supposed to be a batch of something may be a single one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Value
from shapecheck.dims import Untold, symbol_of
from shapecheck.shapes import Mismatch, Shape, Tensor


def fits_without(
    frame: Frame,
    given: Sequence[Value],
    named: Mapping[str, Value],
    call: Callable[[Sequence[Value], Mapping[str, Value]], Value],
) -> bool:
    """Whether an op that refuses its arguments takes them without the axes of supposed batches.

    See decisions.md, "A layer is given batches".
    """
    args = [_each_single(frame, value) for value in given]
    kwargs = {name: _each_single(frame, value) for name, value in named.items()}
    if args == [*given] and kwargs == {**named}:
        return False
    try:
        call(args, kwargs)
    except Mismatch:
        return False
    return True


def single(frame: Frame, tensor: Tensor) -> Tensor:
    """Return a tensor without the axes of supposed batches; itself where it has none."""
    known = frame.state.facts.shape(tensor.shape)
    kept = tuple(item for item in known.dims if not _is_batch(item))
    return tensor if len(kept) == len(known.dims) else tensor.with_shape(Shape(kept))


def has_batch(items: Sequence[Value]) -> bool:
    """Whether one of some sizes is that of a supposed batch."""
    return any(map(_is_batch, items))


def _each_single(frame: Frame, value: Value) -> Value:
    """Return a tensor, or some, without the axes of batches."""
    match value:
        case Tensor():
            return single(frame, value)
        case tuple() | list():
            return type(value)(_each_single(frame, one) for one in value)
    return value


def _is_batch(item: Value) -> bool:
    symbol = symbol_of(item)
    return symbol is not None and isinstance(symbol.origin, Untold) and symbol.origin.is_batch
