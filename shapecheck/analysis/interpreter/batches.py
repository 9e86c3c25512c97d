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
    args = [_single(frame, value) for value in given]
    kwargs = {name: _single(frame, value) for name, value in named.items()}
    if args == [*given] and kwargs == {**named}:
        return False
    try:
        call(args, kwargs)
    except Mismatch:
        return False
    return True


def has_batch(items: Sequence[Value]) -> bool:
    """Whether one of some sizes is that of a supposed batch."""
    return any(map(_is_batch, items))


def _single(frame: Frame, value: Value) -> Value:
    """Return a tensor, or some, without the axes of batches."""
    match value:
        case Tensor(shape=shape):
            known = frame.state.facts.shape(shape)
            kept = tuple(item for item in known.dims if not _is_batch(item))
            return value if len(kept) == len(known.dims) else value.with_shape(Shape(kept))
        case tuple() | list():
            return type(value)(_single(frame, one) for one in value)
    return value


def _is_batch(item: Value) -> bool:
    symbol = symbol_of(item)
    return symbol is not None and isinstance(symbol.origin, Untold) and symbol.origin.is_batch
