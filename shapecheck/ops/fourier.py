"""Fourier transforms and spectrograms."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, size_of
from shapecheck.ops.agree import size
from shapecheck.ops.axes import of_rank, resolved
from shapecheck.ops.call import Call, Value, rule
from shapecheck.ops.windows import positions
from shapecheck.shapes import Item, Run, Shape, Tensor, mismatch


@rule("fourier")
def fourier(
    call: Call, input: Value, dim: Value, n: Value = None, s: Value = None, **rest: Value
) -> Value:
    """Transform some axes, the last of them from or to its first half.

    `"full"`: to as many frequencies; `"half"`: the last axis to `n//2+1`; `"real"`: the last axis
    back from its half, to `2*(n-1)`. `n` or `s` cut or pad the axes first.
    """
    (kind,) = call.extra
    tensor, shape = resolved(call, input)
    real = kind == "real"
    dtype = dtypes.to_float(tensor.dtype)
    dtype = dtypes.to_real(dtype) if real else dtypes.to_complex(dtype)
    if kind == "half" and not tensor.dtype & ~dtypes.COMPLEX:
        raise mismatch("it transforms real numbers", "doesn't take Complex", "shape-dtype")
    given = list(s) if isinstance(s, (tuple, list)) else [n] if s is None else None
    if dim is None and s is not None and given is not None:
        dim = tuple(range(-len(given), 0))
    axes = call.axes(shape, dim)
    headline = f"can't transform {shape}"
    if shape.rank == 0 and dim is not None:
        raise mismatch("it has no axis", headline)
    if axes is None or given is None or shape.rank is None:
        return Tensor(of_rank(shape), dtype)
    if not axes:
        if kind != "full":
            raise mismatch("no axis is left to transform", headline)
        return Tensor(shape, dtype)
    if s is None:
        given = [n] * len(axes)
    if len(given) != len(axes):
        raise mismatch(f"{len(given)} sizes are given for {len(axes)} axes", headline)
    items = list(shape.dims)
    for axis, wanted in zip(axes, given, strict=True):
        last = kind != "full" and axis == axes[-1]
        items[axis] = _frequencies(items[axis], wanted, kind if last else "full", axis, headline)
    return Tensor(Shape(tuple(items)), dtype)


def _frequencies(item: Item, wanted: Value, kind: str, axis: int, headline: str) -> DimExpr:
    assert not isinstance(item, Run)
    given = wanted is not None and wanted != -1
    found: DimExpr = size(wanted) if given else item
    if kind == "real" and not given:
        found = 2 * (size_of(item) - 1)
    if isinstance(found, int) and found < 1:
        raise mismatch(f"axis {axis} would have {found} points", headline)
    return dims.floordiv(size_of(found), 2) + 1 if kind == "half" else found


@rule("stft")
def stft(
    call: Call,
    input: Value,
    n_fft: Value,
    hop_length: Value = None,
    win_length: Value = None,
    window: Value = None,
    center: Value = True,
    onesided: Value = None,
    return_complex: Value = None,
    align_to_window: Value = None,
    **rest: Value,
) -> Value:
    """Return the spectrum of each window: `*b n` becomes `*b frequency frame`.

    A signal that is padded by `n_fft//2` on both sides (`center`) has `1 + (n - n_fft) // hop`
    frames, the formula in torch's documentation.
    """
    tensor, shape = resolved(call, input)
    headline = f"can't transform {shape}"
    if shape.least_rank > 2 or shape.rank == 0:
        raise mismatch(f"it has {shape.least_rank} axes, and 1 or 2 are needed", headline)
    points, hop = size(n_fft), _hop(n_fft, hop_length)
    _check_window(call, window, points if win_length is None else size(win_length), headline)
    length = shape.at(-1)
    frames: DimExpr = dims.unknown()
    if length is not None and isinstance(center, bool) and not align_to_window:
        padding = 2 * dims.floordiv(points, 2) if center else 0
        frames = positions(call, length, points, hop, padding, 1, -1)
    complex_input = not tensor.dtype & ~dtypes.COMPLEX
    if onesided is None and not tensor.dtype & dtypes.COMPLEX:
        onesided = not (isinstance(window, Tensor) and window.dtype & dtypes.COMPLEX)
    found: DimExpr = dims.unknown()
    if isinstance(onesided, bool):
        found = dims.floordiv(points, 2) + 1 if onesided else points
    lead = shape.dims[:-1] if length is not None else Shape.unknown().dims
    if return_complex is True or complex_input:
        return Tensor(Shape((*lead, found, frames)), dtypes.to_complex(tensor.dtype))
    if return_complex is False:
        return Tensor(Shape((*lead, found, frames, 2)), tensor.dtype)
    return Tensor.unknown()


def _hop(n_fft: Value, hop_length: Value) -> dims.IntSize:
    return dims.floordiv(size(n_fft), 4) if hop_length is None else size(hop_length)


def _check_window(call: Call, window: Value, wanted: dims.IntSize, headline: str) -> None:
    if not isinstance(window, Tensor):
        return
    shape = call.facts.shape(window.shape)
    found = shape.at(0)
    if shape.rank is not None and shape.rank != 1:
        raise mismatch(f"the window is {shape}, and 1 axis is needed", headline)
    if found is not None and not call.unify(found, wanted):
        raise mismatch(f"the window has {found} points, where {wanted} are expected", headline)


@rule("istft")
def istft(
    call: Call,
    input: Value,
    n_fft: Value,
    hop_length: Value = None,
    win_length: Value = None,
    window: Value = None,
    center: Value = True,
    onesided: Value = None,
    length: Value = None,
    return_complex: Value = False,
    **rest: Value,
) -> Value:
    """Return the signal of a spectrum: `*b frequency frame` becomes `*b n`."""
    tensor, shape = resolved(call, input)
    headline = f"can't transform {shape} back"
    if shape.least_rank > 3 or (shape.rank is not None and shape.rank < 2):
        raise mismatch(f"it has {shape.least_rank} axes, and 2 or 3 are needed", headline)
    points = size(n_fft)
    _check_window(call, window, points if win_length is None else size(win_length), headline)
    frequencies, frames = shape.at(-2), shape.at(-1)
    if frequencies is not None and onesided is not None and isinstance(onesided, bool):
        wanted = dims.floordiv(points, 2) + 1 if onesided else points
        if not call.unify(frequencies, wanted):
            raise mismatch(f"axis -2 is {frequencies}, where {wanted} is expected", headline)
    found: DimExpr = dims.unknown()
    if length is not None:
        found = size(length)
    elif frames is not None and isinstance(center, bool):
        cut = 2 * dims.floordiv(points, 2) if center else 0
        found = points + _hop(n_fft, hop_length) * (size_of(frames) - 1) - cut
    dtype = tensor.dtype if return_complex is True else dtypes.to_real(tensor.dtype)
    lead = shape.dims[:-2] if frequencies is not None else Shape.unknown().dims
    return Tensor(Shape((*lead, found)), dtype)
