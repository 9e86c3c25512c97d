"""Recurrent modules: RNN, LSTM, GRU and their cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, IntSize
from shapecheck.ops.agree import counted, fits_axis, size
from shapecheck.ops.call import UNKNOWN, Call, Packed, Value, rule
from shapecheck.ops.windows import unexpected
from shapecheck.shapes import Run, Shape, Tensor, mismatch


@rule("recurrent")
def recurrent(call: Call, input: Value, self: Mapping[str, Value], hx: Value = None) -> Value:
    """Judge `nn.LSTM(i, h)(input)`: input `t b i` (`b t i` if batch_first, or `t i`).

    Returns the output `t b (D h)` and the state `(layers D) b h`, two of them for an LSTM.
    """
    family = call.word()
    lstm = family == "lstm"
    directions = _directions(self.get("bidirectional"))
    hidden = size(self["hidden_size"])
    width = _width(hidden, self.get("proj_size", 0))
    layers = size(self["num_layers"]) * (directions or dims.unknown())
    last: IntSize = width * directions if directions else dims.unknown()
    packed = input if isinstance(input, Packed) else None
    tensor = packed.data if packed else input
    if not isinstance(tensor, Tensor):  # packed sequences, most likely
        state = _states(Shape((layers, *Shape.unknown().dims, width)), layers, hidden, lstm)
        return (UNKNOWN, state)
    shape = call.facts.shape(tensor.shape)
    if not packed:
        shape = call.facts.stretched(shape, count=_axes_of(call, hx))
        shape = call.facts.batched(shape, 2, self.get("batch_first") is not True)
    headline = f"can't take {shape}"
    if shape.rank is not None and shape.rank not in ((2,) if packed else (2, 3)):
        wanted_axes = "2 are" if packed else "2 or 3 are"
        raise mismatch(
            f'"input" has {counted(shape.rank, "axis")}, where {wanted_axes} expected',
            headline,
            "shape",
            "unsqueeze",
            "squeeze",
        )
    found, wanted = shape.at(-1), size(self["input_size"])
    if found is not None and not call.unify(found, wanted):
        raise unexpected(-1, found, wanted, "input_size", headline)
    kind = tensor.dtype & (dtypes.FLOAT | dtypes.COMPLEX) or dtypes.ANY
    output = Shape((*(shape.dims[:-1] if found is not None else Shape.unknown().dims), last))
    batch = (packed.batch,) if packed else _batch(shape, self.get("batch_first"))
    whole = Shape((layers, *batch, width))
    _check_states(call, hx, whole, hidden if lstm else None, headline)
    states = _states(whole, layers, hidden, lstm, kind)
    found_output = Tensor(output, kind)
    return (Packed(found_output, packed.batch) if packed else found_output, states)


def _width(hidden: IntSize, projected: Value) -> IntSize:
    """Return how wide the output of one direction is; a size that the program chooses may be 0."""
    if projected == 0:
        return hidden
    width = size(projected)
    return width if isinstance(width, int) else dims.size_of(dims.either(width, hidden))


def _axes_of(call: Call, hx: Value) -> int | None:
    """Return how many axes first states have, and so the input; None where it isn't known."""
    first = hx[0] if isinstance(hx, (tuple, list)) and hx else hx
    return call.facts.shape(first.shape).rank if isinstance(first, Tensor) else None


def _batch(shape: Shape, batch_first: Value) -> tuple[DimExpr | Run, ...]:
    """Return the batch axis, nothing for an input without one."""
    if shape.rank == 2:
        return ()
    if shape.rank is None:
        return Shape.unknown().dims
    if not isinstance(batch_first, bool):
        return (dims.unknown(),)
    return (shape.dims[0 if batch_first else 1],)


def _directions(bidirectional: Value) -> int | None:
    """Return how many directions there are, None where it isn't known."""
    return 1 + bool(bidirectional) if isinstance(bidirectional, int) else None


def _states(
    whole: Shape, layers: IntSize, hidden: IntSize, lstm: bool, kind: int = dtypes.ANY
) -> Value:
    state = Tensor(whole, kind)
    if not lstm:
        return state
    return (state, Tensor(Shape((*whole.dims[:-1], hidden)), kind))


def _check_states(call: Call, hx: Value, whole: Shape, cell: IntSize | None, headline: str) -> None:
    """Refuse first states of another shape; an LSTM has one of its cells too, `cell` wide."""
    if cell is None or not isinstance(hx, (tuple, list)) or len(hx) != 2:
        _check_state(call, "hx", hx, whole, headline)
        return
    _check_state(call, "hx", hx[0], whole, headline)
    _check_state(call, "hx[1]", hx[1], Shape((*whole.dims[:-1], cell)), headline)


def _check_state(call: Call, name: str, state: Value, whole: Shape, headline: str) -> None:
    """Refuse a first state of another shape."""
    if not isinstance(state, Tensor):
        return
    given = call.facts.shape(state.shape)
    if given.rank is None or whole.rank is None:
        return
    if given.rank != whole.rank:
        raise mismatch(
            f'"{name}" has {counted(given.rank, "axis")}, where {whole.rank} are expected '
            f"({whole.text()})",
            headline,
            about=(whole,),
        )
    for axis in range(given.rank):
        found, wanted = given.at(axis), whole.at(axis)
        assert wanted is not None
        fits_axis(call, name, axis, found, wanted, headline)


@rule("recurrent cell")
def recurrent_cell(call: Call, input: Value, self: Mapping[str, Value], hx: Value = None) -> Value:
    """Judge one step: input `*n i`, state `*n h`."""
    family = call.word()
    tensor = input if isinstance(input, Tensor) else Tensor.unknown()
    shape = call.facts.shape(tensor.shape)
    headline = f"can't take {shape}"
    if shape.rank is not None and shape.rank not in (1, 2):
        raise mismatch(
            f'"input" has {counted(shape.rank, "axis")}, where 1 or 2 are expected', headline
        )
    found, wanted = shape.at(-1), size(self["input_size"])
    if found is not None and not call.unify(found, wanted):
        raise unexpected(-1, found, wanted, "input_size", headline)
    hidden = size(self["hidden_size"])
    lead = shape.dims[:-1] if found is not None else Shape.unknown().dims
    whole = Shape((*lead, hidden))
    _check_states(call, hx, whole, hidden if family == "lstm" else None, headline)
    state = Tensor(whole, tensor.dtype & dtypes.FLOAT or dtypes.ANY)
    return (state, state) if family == "lstm" else state


@rule("recurrent op")
def recurrent_op(call: Call, input: Value, args: Value = ()) -> Value:
    """Judge what recurrent modules call: the output and the states, which the first states tell.

    The arguments are the first states, the weights, and settings; for packed sequences the sizes
    of the batches stand before them.
    """
    lstm = call.extra[0] == "lstm"
    given = args if isinstance(args, (tuple, list)) else ()
    count = 3 if lstm else 2
    unknown = (UNKNOWN,) * count
    if len(given) != 8 or not isinstance(input, Tensor):
        return unknown
    packed = not isinstance(given[2], bool)
    state = given[1] if packed else given[0]
    several = state if isinstance(state, (tuple, list)) else (state,)
    states = [one for one in several if isinstance(one, Tensor)]
    directions = _directions(given[7] if packed else given[6])
    if len(several) != count - 1 or len(states) < len(several):
        return unknown
    shape, first = call.facts.shape(input.shape), call.facts.shape(states[0].shape)
    width = first.at(-1)
    if directions is None or width is None or shape.at(-1) is None:
        return unknown
    output = Tensor(Shape((*shape.dims[:-1], size(width) * directions)), input.dtype)
    batch = first.dims[1:-1]
    if not packed and first.rank == 3 and shape.rank == 3:
        batch = _batch(shape, given[7])
        for at, one in enumerate(_shapes(call, states)):
            name = f"hx[{at}]" if at else "hx"
            for wanted in batch:
                if not isinstance(wanted, Run):
                    fits_axis(call, name, 1, one.at(1), wanted, f"can't take {shape}")
    ends = (
        Tensor(Shape((s.dims[0], *batch, s.dims[-1])), input.dtype) for s in _shapes(call, states)
    )
    return (output, *ends)


def _shapes(call: Call, states: Sequence[Tensor]) -> list[Shape]:
    return [call.facts.shape(state.shape) for state in states]
