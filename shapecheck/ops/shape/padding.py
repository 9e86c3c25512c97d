"""Padding at the ends of the last axes."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck.dims import IntSize, size_of
from shapecheck.ops.agree import counted, loose, size
from shapecheck.ops.call import Call, Value, as_tensor, rule
from shapecheck.ops.saying import written
from shapecheck.shapes import Item, Run, Shape, Tensor, has_run, mismatch

_MODES = ("constant", "reflect", "replicate", "circular")


@rule("pad")
def pad(call: Call, input: Value, pad: Value, mode: Value = "constant", **rest: Value) -> Value:
    """Judge `F.pad(x, (left, right, top, bottom))`: pairs from the last axis on."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    if not isinstance(pad, (tuple, list)) or has_run(pad):
        known = None if shape.rank is None else Shape.of_rank(shape.rank)
        return Tensor(known or Shape.unknown(), tensor.dtype)
    amounts = [size(one) for one in pad]
    text = ", ".join(map(written, pad))
    headline = f"can't pad {shape} by ({text})"
    if isinstance(mode, str) and mode not in _MODES:
        raise mismatch(f"there are {', '.join(_MODES)}", f"has no mode '{mode}'")
    if len(amounts) % 2:
        raise mismatch(f"{len(amounts)} is no number of pairs", headline)
    count = len(amounts) // 2
    if shape.rank is not None and count > shape.rank:
        raise mismatch(
            f"{len(amounts)} amounts are for {counted(count, 'axis')}, it has {shape.rank}",
            headline,
        )
    if mode != "constant" and isinstance(mode, str):
        _check_rank(shape, count, mode, headline)
    items: list[Item] = list(shape.dims)
    for index in range(count):
        position = shape.position(-1 - index)
        if position is None:
            return Tensor(_fill(shape, items, index), tensor.dtype)
        item = items[position]
        assert not isinstance(item, Run)
        before, after = amounts[2 * index], amounts[2 * index + 1]
        if before == 0 and after == 0:
            continue
        if loose(before) or loose(after):
            items[position] = dims.unknown()
            continue
        whole = size_of(item)
        _check_amount(call, whole, (before, after), mode, -1 - index, headline)
        items[position] = whole + before + after
        resolved = call.facts.dim(items[position])  # type: ignore[arg-type]  # set just now
        if isinstance(resolved, int) and resolved < 0:
            raise mismatch(f"axis {-1 - index} would become {resolved}", headline)
    return Tensor(Shape(tuple(items)), tensor.dtype)


def _fill(shape: Shape, items: list[Item], done: int) -> Shape:
    """Return a shape whose last axes are padded and whose others aren't known."""
    if shape.rank is not None:
        return Shape.of_rank(shape.rank)
    return Shape((*Shape.unknown().dims, *(items[len(items) - done :] if done else ())))


def _check_rank(shape: Shape, count: int, mode: str, headline: str) -> None:
    """Refuse what the other modes don't have: they pad all axes but the batch and the channels."""
    if count > 3:
        raise mismatch(f"mode {mode} pads 3 axes at most", headline)
    if shape.rank is not None and shape.rank - count not in (1, 2):
        raise mismatch(
            f"it has {counted(shape.rank, 'axis')}, where mode {mode} with {2 * count} amounts "
            f"expects {count + 1} or {count + 2}",
            headline,
            "shape",
            "unsqueeze",
            "squeeze",
        )


def _check_amount(
    call: Call,
    whole: IntSize,
    amounts: tuple[IntSize, IntSize],
    mode: Value,
    axis: int,
    headline: str,
) -> None:
    resolved = call.facts.size(whole)
    if mode not in ("reflect", "circular") or not isinstance(resolved, int):
        return
    for amount in amounts:
        if not isinstance(amount, int):
            continue
        if amount > resolved or (mode == "reflect" and amount == resolved):
            limit = "less than" if mode == "reflect" else "at most"
            raise mismatch(
                f"axis {axis} is {resolved}, and mode {mode} takes {limit} that", headline
            )
