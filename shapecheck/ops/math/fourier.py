"""Fourier transforms and spectrograms."""

from __future__ import annotations

from dataclasses import dataclass

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, IntSize, size_of
from shapecheck.ops.agree import are_given, counted, one_or_more, size
from shapecheck.ops.call import Call, Value, resolved, rule
from shapecheck.ops.promotion import promoted
from shapecheck.ops.shape.axes import of_rank
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
    kind = call.word()
    tensor, shape = resolved(call, input)
    real = kind == "real"
    dtype = dtypes.to_float(tensor.dtype)
    dtype = dtypes.to_real(dtype) if real else dtypes.to_complex(dtype)
    if kind == "half" and not tensor.dtype & ~dtypes.COMPLEX:
        raise mismatch("it transforms real numbers", "doesn't take Complex", "shape-dtype")
    given = (n,) if s is None else one_or_more(s) if isinstance(s, (tuple, list)) else None
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
        given = (n,) * len(axes)
    if len(given) != len(axes):
        raise mismatch(
            f"{are_given(len(given), 'size')} for {counted(len(axes), 'axis')}", headline
        )
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


@dataclass(frozen=True, slots=True)
class _Windows:
    """What a signal is cut into: windows of so many points, and the step from one to the next."""

    points: IntSize
    hop: IntSize
    center: Value
    onesided: Value

    @property
    def padding(self) -> IntSize:
        """By how much a signal that is centered is longer."""
        return 2 * dims.floordiv(self.points, 2) if self.center else 0

    def frequencies(self, onesided: bool) -> IntSize:
        """How many frequencies a window has."""
        return dims.floordiv(self.points, 2) + 1 if onesided else self.points


def _windows(
    call: Call,
    headline: str,
    window: Value,
    n_fft: Value,
    hop_length: Value = None,
    win_length: Value = None,
    center: Value = True,
    onesided: Value = None,
    **rest: Value,
) -> _Windows:
    """Return the windows of `stft` and `istft`; one of other points is refused."""
    points = size(n_fft)
    hop = dims.floordiv(points, 4) if hop_length is None else size(hop_length)
    wanted = points if win_length is None else size(win_length)
    if isinstance(window, Tensor):
        shape = call.facts.shape(window.shape)
        found = shape.at(0)
        if shape.rank is not None and shape.rank != 1:
            raise mismatch(f"the window is {shape}, and 1 axis is needed", headline, about=(shape,))
        if found is not None and not call.unify(found, wanted):
            raise mismatch(
                f"the window has {found} points, where {wanted} are expected",
                headline,
                about=(found, wanted),
            )
    return _Windows(points, hop, center, onesided)


@rule("stft")
def stft(
    call: Call,
    input: Value,
    window: Value = None,
    return_complex: Value = None,
    align_to_window: Value = None,
    **given: Value,
) -> Value:
    """Return the spectrum of each window: `*b n` becomes `*b frequency frame`.

    A signal that is padded by `n_fft//2` on both sides (`center`) has `1 + (n - n_fft) // hop`
    frames, the formula in torch's documentation.
    """
    tensor, shape = resolved(call, input)
    headline = f"can't transform {shape}"
    if shape.least_rank > 2 or shape.rank == 0:
        raise mismatch(f"it has {shape.least_rank} axes, and 1 or 2 are needed", headline)
    cut = _windows(call, headline, window, **given)
    length = shape.at(-1)
    frames: DimExpr = dims.unknown()
    if length is not None and isinstance(cut.center, bool) and not align_to_window:
        frames = positions(call, length, cut.points, cut.hop, cut.padding, 1, -1)
    complex_input = not tensor.dtype & ~dtypes.COMPLEX
    kind = promoted(tensor, window) if isinstance(window, Tensor) else tensor.dtype
    onesided = cut.onesided
    if onesided is None and not tensor.dtype & dtypes.COMPLEX:
        kinds = window.dtype if isinstance(window, Tensor) else dtypes.FLOAT
        if not kinds & dtypes.COMPLEX or not kinds & ~dtypes.COMPLEX:
            onesided = not kinds & dtypes.COMPLEX
    found = cut.frequencies(onesided) if isinstance(onesided, bool) else dims.unknown()
    lead = shape.dims[:-1] if length is not None else Shape.unknown().dims
    if return_complex is False:
        return Tensor(Shape((*lead, found, frames, 2)), dtypes.to_real(kind))
    if return_complex is True or complex_input:
        return Tensor(Shape((*lead, found, frames)), dtypes.to_complex(kind))
    return Tensor.unknown()


@rule("istft")
def istft(
    call: Call,
    input: Value,
    window: Value = None,
    length: Value = None,
    return_complex: Value = False,
    **given: Value,
) -> Value:
    """Return the signal of a spectrum: `*b frequency frame` becomes `*b n`."""
    tensor, shape = resolved(call, input)
    headline = f"can't transform {shape} back"
    if shape.least_rank > 3 or (shape.rank is not None and shape.rank < 2):
        raise mismatch(f"it has {shape.least_rank} axes, and 2 or 3 are needed", headline)
    cut = _windows(call, headline, window, **given)
    frequencies, frames = shape.at(-2), shape.at(-1)
    if frequencies is not None and isinstance(cut.onesided, bool):
        wanted = cut.frequencies(cut.onesided)
        if not call.unify(frequencies, wanted):
            raise mismatch(
                f"axis -2 is {frequencies}, where {wanted} is expected",
                headline,
                about=(frequencies, wanted),
            )
    found: DimExpr = dims.unknown()
    if length is not None:
        found = size(length)
    elif frames is not None and isinstance(cut.center, bool):
        found = cut.points + cut.hop * (size_of(frames) - 1) - cut.padding
    dtype = tensor.dtype if return_complex is True else dtypes.to_real(tensor.dtype)
    lead = shape.dims[:-2] if frequencies is not None else Shape.unknown().dims
    return Tensor(Shape((*lead, found)), dtype)
