"""Convolutions and transposed convolutions, as functions and as modules; `unfold` and `fold`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, IntSize, size_of
from shapecheck.ops.agree import counted, fits_bias, float_of, loose, one_kind, size
from shapecheck.ops.call import Call, Value, as_tensor, rule
from shapecheck.ops.saying import written
from shapecheck.ops.windows import Grid, divisible, grid, numbers, positions, unexpected
from shapecheck.shapes import Run, Shape, Tensor, mismatch


@dataclass(frozen=True, slots=True)
class _Windows:
    """How a convolution moves; `padding` is None for "same"."""

    kernel: list[IntSize]
    stride: list[IntSize]
    padding: list[IntSize] | None
    dilation: list[IntSize]


def _windows(
    count: int, kernel: Sequence[IntSize], stride: Value, padding: Value, dilation: Value
) -> _Windows:
    strides = numbers(stride, count)
    sides: list[IntSize] | None
    if isinstance(padding, str):
        sides = None if padding == "same" else [0] * count
        if padding not in ("same", "valid"):
            raise mismatch("there are 'same' and 'valid'", f"has no padding '{padding}'")
        if sides is None and any(isinstance(one, int) and one != 1 for one in strides):
            raise mismatch("the stride isn't 1", "can't pad to the same size")
    else:
        sides = numbers(padding, count)
    return _Windows(list(kernel), strides, sides, numbers(dilation, count))


def _moved(call: Call, found: Grid, windows: _Windows) -> list[DimExpr]:
    result: list[DimExpr] = []
    for index, dim in enumerate(found.spatial):
        if windows.padding is None:
            result.append(dim)
            continue
        result.append(
            positions(
                call,
                dim,
                windows.kernel[index],
                windows.stride[index],
                2 * windows.padding[index],
                windows.dilation[index],
                found.axis(index),
            )
        )
    return result


def _kind(input: Tensor, weight: Value) -> dtypes.DTypes:
    other = as_tensor(weight).dtype if weight is not None else dtypes.ANY
    both = input.dtype & other
    return both or input.dtype


def _operands(call: Call, input: Value, weight: Value) -> tuple[Tensor, Grid, Shape, str]:
    """Return the input, its axes, the weight's shape and the headline; both fit by themselves."""
    count = call.number()
    tensor = as_tensor(input)
    found = grid(call, tensor, count)
    shape = call.facts.shape(as_tensor(weight).shape)
    headline = f"can't convolve {found.shape} with a weight of {shape}"
    one_kind(tensor, as_tensor(weight), headline)
    if shape.rank is not None and shape.rank != count + 2:
        raise mismatch(
            f"the weight has {counted(shape.rank, 'axis')}, where {count + 2} are expected",
            headline,
        )
    return tensor, found, shape, headline


def _fits_channels(
    call: Call, found: Grid, wanted: DimExpr, channels: DimExpr, axis: str, headline: str
) -> None:
    """Refuse a weight for another number of channels than `wanted`.

    `channels` is what the weight has on an axis, `axis` says which one and what of it is wanted.
    """
    assert found.channels is not None
    if not call.unify(found.channels, wanted):
        raise mismatch(
            f"axis {found.axis(-1)} of the input is {found.channels}, {axis}",
            headline,
            "shape",
            "transpose",
            "swap",
            about=(found.channels, channels),
        )


@rule("conv")
def conv(
    call: Call,
    input: Value,
    weight: Value,
    bias: Value = None,
    stride: Value = 1,
    padding: Value = 0,
    dilation: Value = 1,
    groups: Value = 1,
    **rest: Value,
) -> Value:
    """Judge `F.conv2d(input, weight)`: weight `out in//groups *kernel`."""
    count = call.number()
    tensor, found, shape, headline = _operands(call, input, weight)
    kernel = _kernel(shape, count)
    channels = shape.at(1) if shape.rank is not None else None
    out = shape.dims[0] if shape.rank is not None else dims.unknown()
    assert not isinstance(out, Run)
    if channels is not None and found.channels is not None:
        divisible(found.channels, groups, "channels", headline)
        divisible(out, groups, "output channels", headline)
        _weight_channels(call, found, channels, groups, headline)
    fits_bias(call, bias, out, headline)
    moved = _moved(call, found, _windows(count, kernel, stride, padding, dilation))
    return Tensor(found.with_channels(out, moved), _kind(tensor, weight))


def _weight_channels(
    call: Call, found: Grid, channels: DimExpr, groups: Value, headline: str
) -> None:
    """Refuse a weight for another number of channels; names count as they are without groups."""
    assert found.channels is not None
    times = ""
    wanted: DimExpr = channels
    if groups != 1:
        wanted, times = size_of(channels) * size(groups), f" * {written(groups)}"
        both = call.facts.dim(found.channels), call.facts.dim(wanted)
        if not all(isinstance(one, int) for one in both):
            return
    axis = f"axis 1 of the weight {channels}{times}"
    _fits_channels(call, found, wanted, channels, axis, headline)


def _kernel(shape: Shape, count: int) -> list[IntSize]:
    if shape.rank is None:
        return [dims.unknown() for _ in range(count)]
    return [size_of(item) for item in shape.dims[2:] if not isinstance(item, Run)]


@rule("conv module")
def conv_module(call: Call, input: Value, self: Mapping[str, Value]) -> Value:
    """Judge `nn.Conv2d(in_channels, out_channels, kernel_size)(input)`."""
    count = call.number()
    tensor = as_tensor(input)
    found = grid(call, tensor, count)
    _channels(call, found, self)
    windows = _windows(
        count,
        numbers(self["kernel_size"], count),
        self["stride"],
        self["padding"],
        self["dilation"],
    )
    moved = _moved(call, found, windows)
    return Tensor(found.with_channels(size(self["out_channels"]), moved), float_of(tensor))


def _channels(call: Call, found: Grid, self: Mapping[str, Value]) -> None:
    groups = self.get("groups", 1)
    headline = f"can't take {found.shape}"
    if "in_channels" not in self:  # a lazy module takes what comes
        return
    wanted = size(self["in_channels"])
    divisible(wanted, groups, "input channels", headline)
    divisible(size(self["out_channels"]), groups, "output channels", headline)
    if found.channels is not None and not call.unify(found.channels, wanted):
        raise unexpected(found.axis(-1), found.channels, wanted, "in_channels", headline)


@rule("conv transpose")
def conv_transpose(
    call: Call,
    input: Value,
    weight: Value,
    bias: Value = None,
    stride: Value = 1,
    padding: Value = 0,
    output_padding: Value = 0,
    groups: Value = 1,
    dilation: Value = 1,
    **rest: Value,
) -> Value:
    """Judge `F.conv_transpose2d(input, weight)`: weight `in out//groups *kernel`."""
    count = call.number()
    tensor, found, shape, headline = _operands(call, input, weight)
    kernel = _kernel(shape, count)
    channels, out = shape.at(0), shape.at(1)
    if channels is not None and found.channels is not None:
        divisible(found.channels, groups, "channels", headline)
        axis = f"axis 0 of the weight {channels}"
        _fits_channels(call, found, channels, channels, axis, headline)
    windows = _Windows(
        kernel, numbers(stride, count), numbers(padding, count), numbers(dilation, count)
    )
    sizes = _spread(call, found, windows, output_padding)
    total = dims.unknown() if out is None else size_of(out) * size(groups)
    fits_bias(call, bias, total, headline)
    return Tensor(found.with_channels(total, sizes), _kind(tensor, weight))


@rule("conv transpose module")
def conv_transpose_module(
    call: Call, input: Value, self: Mapping[str, Value], output_size: Value = None
) -> Value:
    """Judge `nn.ConvTranspose2d(in_channels, out_channels, kernel_size)(input)`."""
    count = call.number()
    tensor = as_tensor(input)
    found = grid(call, tensor, count)
    _channels(call, found, self)
    windows = _Windows(
        numbers(self["kernel_size"], count),
        numbers(self["stride"], count),
        numbers(self["padding"], count),
        numbers(self["dilation"], count),
    )
    extra = self["output_padding"] if output_size is None else 0  # `output_size` says it then
    sizes = _spread(call, found, windows, extra)
    if output_size is not None:
        given = output_size if isinstance(output_size, (tuple, list)) else ()
        sizes = list(numbers(tuple(given)[-count:], count))
    return Tensor(found.with_channels(size(self["out_channels"]), sizes), float_of(tensor))


def _spread(call: Call, found: Grid, windows: _Windows, extra: Value) -> list[DimExpr]:
    """Return `(n-1)*stride - 2*padding + dilation*(kernel-1) + output_padding + 1` an axis."""
    result: list[DimExpr] = []
    assert windows.padding is not None
    for index, (dim, more) in enumerate(
        zip(found.spatial, numbers(extra, len(found.spatial)), strict=True)
    ):
        kernel, stride = windows.kernel[index], windows.stride[index]
        padding, dilation = windows.padding[index], windows.dilation[index]
        given = (kernel, stride, padding, dilation, more)
        if any(loose(one) for one in given):
            result.append(dims.unknown())
            continue
        if isinstance(more, int) and isinstance(stride, int) and isinstance(dilation, int):
            if not 0 <= more < max(stride, dilation):
                raise mismatch(
                    f"it is {more}, and the stride is {stride}, the dilation {dilation}",
                    "needs an output padding below the stride or the dilation",
                )
        whole = size_of(dim)
        size_ = (whole - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1
        resolved = call.facts.size(size_)
        if isinstance(resolved, int) and resolved < 0:
            raise mismatch(
                f"axis {found.axis(index)} would become {resolved}", f"can't take {found.shape}"
            )
        result.append(dim if size_ == whole else size_)
    return result


@rule("unfold windows")
def unfold(
    call: Call,
    input: Value,
    kernel_size: Value,
    dilation: Value = 1,
    padding: Value = 0,
    stride: Value = 1,
    **rest: Value,
) -> Value:
    """Judge `F.unfold`: `*n c h w` to `*n (c kh kw) (positions)`."""
    tensor = as_tensor(input)
    found = grid(call, tensor, 2)
    kernel = numbers(kernel_size, 2)
    moved = _moved(call, found, _windows(2, kernel, stride, padding, dilation))
    channels = dims.unknown() if found.channels is None else found.channels
    columns = dims.merge((channels, *kernel))
    return Tensor(Shape((*found.lead, columns, dims.merge(moved))), tensor.dtype)


@rule("fold windows")
def fold(
    call: Call,
    input: Value,
    output_size: Value,
    kernel_size: Value,
    dilation: Value = 1,
    padding: Value = 0,
    stride: Value = 1,
    **rest: Value,
) -> Value:
    """Judge `F.fold`: `*n (c kh kw) (positions)` to `*n c h w`."""
    tensor = as_tensor(input)
    found = grid(call, tensor, 1)
    headline = f"can't fold {found.shape}"
    kernel, target = numbers(kernel_size, 2), numbers(output_size, 2)
    windows = _windows(2, kernel, stride, padding, dilation)
    picture = Grid(Shape((*found.lead, 1, *target)), found.lead, 1, tuple(target))
    count = dims.product(size_of(one) for one in _moved(call, picture, windows))
    if not call.unify(found.spatial[0], count):
        raise mismatch(
            f"axis {found.axis(0)} is {found.spatial[0]}, and the window has {count} positions "
            f"in ({target[0]}, {target[1]})",
            headline,
            about=(found.spatial[0], count, target[0], target[1]),
        )
    block = dims.product(kernel)
    if found.channels is None or loose(block):
        return Tensor(Shape((*found.lead, dims.unknown(), *target)), tensor.dtype)
    whole = size_of(call.facts.dim(found.channels))
    if dims.indivisible(whole, block):
        raise mismatch(
            f"axis {found.axis(-1)} is {whole}, and the window has {block} elements", headline
        )
    channels = dims.exact_quotient(whole, block)
    if channels is None:
        channels = dims.unknown()
    return Tensor(Shape((*found.lead, channels, *target)), tensor.dtype)
