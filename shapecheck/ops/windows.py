"""What convolutions and pools share: the axes they work on, and the number of window positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, IntSize, size_of
from shapecheck.ops.agree import listed, loose, size, trailing
from shapecheck.ops.call import Call, Value, as_tensor
from shapecheck.shapes import Item, Mismatch, Run, Shape, has_run, mismatch

_LAYOUT = {0: "b c", 1: "b c l", 2: "b c h w", 3: "b c d h w"}


@dataclass(frozen=True, slots=True)
class Grid:
    """An input `*lead c *spatial`, where the lead is a batch axis or nothing.

    `channels` is None and the spatial sizes are unknown where the shape doesn't tell.
    """

    shape: Shape
    lead: tuple[Item, ...]
    channels: DimExpr | None
    spatial: tuple[DimExpr, ...]

    def axis(self, offset: int) -> int:
        """Return how a person numbers a spatial axis (-1: the channels)."""
        index = offset - len(self.spatial)
        return index if self.shape.rank is None else self.shape.rank + index

    def with_channels(self, channels: DimExpr, spatial: Sequence[DimExpr]) -> Shape:
        """Return the shape with other channels and spatial sizes."""
        return Shape((*self.lead, channels, *spatial))

    def with_spatial(self, spatial: Sequence[DimExpr]) -> Shape:
        """Return the shape with other spatial sizes."""
        channels = dims.unknown() if self.channels is None else self.channels
        return Shape((*self.lead, channels, *spatial))


def grid(call: Call, input: Value, count: int, unbatched: bool = True) -> Grid:
    """Read an input with `count` spatial axes; raises `Mismatch` for a wrong number of axes."""
    given = as_tensor(input).shape
    if unbatched:
        shape = call.facts.batched(given, back=count + 1)
    else:
        shape = call.facts.stretched(given, count=count + 2)
    allowed = [count + 1, count + 2] if unbatched else [count + 2]
    if shape.least_rank > allowed[-1] or (shape.rank is not None and shape.rank not in allowed):
        layouts = [" ".join(_LAYOUT[count].split()[-rank:]) for rank in allowed]
        least = "" if shape.rank is not None else "at least "
        rank = shape.least_rank
        raise mismatch(
            f'"input" has {least}{rank} {"axis" if rank == 1 else "axes"}, where '
            f"{' or '.join(map(str, allowed))} are expected ({' or '.join(layouts)})",
            f"can't take {shape}",
            "shape",
            "unsqueeze",
            "squeeze",
        )
    known = trailing(shape, count + 1)
    if known is not None:
        return Grid(shape, shape.dims[: -count - 1], known[0], known[1:])
    lead: tuple[Item, ...] = Shape.unknown().dims if unbatched else (dims.unknown(),)
    if not unbatched and not isinstance(shape.dims[0], Run):
        lead = (shape.dims[0],)
    spatial = trailing(shape, count) or tuple(dims.unknown() for _ in range(count))
    return Grid(shape, lead, None, spatial)


def numbers(value: Value, count: int) -> list[IntSize]:
    """Return one size an axis from an argument brought to a tuple; unknown where it isn't one."""
    if isinstance(value, (tuple, list)) and len(value) == count and not has_run(value):
        return [size(item) for item in value]
    if isinstance(value, (tuple, list)):
        return [dims.unknown() for _ in range(count)]
    return [size(value)] * count


def positions(
    call: Call,
    dim: DimExpr,
    kernel: IntSize,
    stride: IntSize,
    padding: IntSize,
    dilation: IntSize,
    axis: int,
    ceil: bool = False,
) -> DimExpr:
    """Return at how many places a window fits; `padding` is the sum of both sides.

    `floor((n + padding - dilation*(kernel-1) - 1) / stride) + 1`, the formula in torch's
    documentation of `Conv2d` and `MaxPool2d`. Raises `Mismatch` where none fits.
    """
    whole = size_of(dim)
    for name, value, least in (
        ("kernel", kernel, 1),
        ("stride", stride, 1),
        ("padding", padding, 0),
        ("dilation", dilation, 1),
    ):
        if isinstance(value, int) and value < least:
            raise mismatch(f"it is {value}", f"needs a {name} of at least {least}")
    if call.facts.size(whole + padding - dilation * (kernel - 1) - 1) == 0:
        return 1  # whatever the size is: `kernel_size=x.shape[2:]`
    if any(
        isinstance(one, dims.Size) and loose(one) for one in (kernel, stride, padding, dilation)
    ):
        return dims.unknown()
    extent = dilation * (kernel - 1) + 1
    room = whole + padding - extent
    resolved = call.facts.size(room)
    if isinstance(resolved, int) and resolved < 0 and not (ceil and resolved > -_int(stride)):
        raise mismatch(
            f"the kernel spans {extent}, and axis {axis} is {whole}"
            + (f" with a padding of {padding}" if padding != 0 else ""),
            f"finds no place along axis {axis}",
            about=(extent, whole, padding),
        )
    if ceil:
        return _ceil(whole, room, stride, padding, extent)
    found = dims.floordiv(room, stride) + 1
    return dim if found == whole else found


def _int(value: IntSize) -> int:
    return value if isinstance(value, int) else 0


def _ceil(
    whole: IntSize, room: IntSize, stride: IntSize, padding: IntSize, extent: IntSize
) -> DimExpr:
    """Count places in ceil mode: the last begins inside the input or its left padding."""
    found = dims.floordiv(room + stride - 1, stride) + 1
    half = dims.floordiv(padding, 2)
    if isinstance(found, int) and isinstance(whole, int):
        inside = (found - 1) * stride - whole - half
        return found - 1 if isinstance(inside, int) and inside >= 0 else found
    clearance = extent - stride - half
    if isinstance(clearance, int) and clearance >= 0:
        return whole if found == whole else found
    return dims.unknown()


def divisible(a: DimExpr, b: Value, what: str, headline: str) -> None:
    """Refuse a number of channels that a number of groups doesn't divide."""
    whole, part = size_of(a), size(b)
    if dims.indivisible(whole, part):
        raise mismatch(f"{whole} {what} aren't divisible by {part} groups", headline)


def shown(values: Sequence[object]) -> str:
    """Return sizes as a tuple is written, `(3, 3)`."""
    return f"({', '.join(map(str, values))})" if len(values) != 1 else str(values[0])


def unexpected(axis: int, found: DimExpr, wanted: IntSize, name: str, headline: str) -> Mismatch:
    """Return what refuses a wrong number of channels or features; `name`: what wants another."""
    text = f"{wanted} ({name})" if str(wanted) != name else name
    reason = f'axis {axis} of "input" is {found}, where {text} is expected'
    return mismatch(reason, headline, "shape", "transpose", about=(found, wanted))


__all__ = ["Grid", "divisible", "grid", "listed", "numbers", "positions", "shown", "unexpected"]
