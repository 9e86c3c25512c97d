"""The number of elements that a slice takes."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, Extreme, IntSize, Kind, Size, nonnegative, size_of
from shapecheck.ops.call import Call, Value, is_size
from shapecheck.shapes import mismatch
from shapecheck.shapes.facts import COORDINATES


def sliced(call: Call, dim: DimExpr, cut: slice) -> DimExpr:
    """Return the dimension that a slice of an axis has; the axis itself if it takes all.

    Bounds are clamped as Python does. `x[2:]` of a named `t` is `t-2`, `x[:3]` is `min(3,t)`.
    """
    if cut.stop is None and cut.start in (None, 0) and cut.step in (None, 1):
        return dim
    size = call.facts.size(size_of(dim))
    if isinstance(size, int) and size < 0:  # what a condition says can't be there
        return dims.unknown()
    start, stop, step = cut.start, cut.stop, 1 if cut.step is None else cut.step
    if isinstance(step, int) and step < 1:
        raise mismatch("the step of a slice must be positive", f"can't slice with step {step}")
    if isinstance(size, int) and all(
        bound is None or isinstance(bound, int) for bound in (start, stop)
    ):
        if isinstance(step, int):
            first, last, step = slice(start, stop, step).indices(size)
            taken = max((last - first + step - 1) // step, 0)
            return dim if taken == size else taken
    if start in (None, 0) and step == 1 and _caps(call, size, stop):
        return dim
    length = _length(call, size, start, stop)
    if length is None:
        return dims.unknown()
    if call.facts.below_none(length):
        return 0
    if step == 1:
        return dim if length == size else length
    if not isinstance(step, (int, Size)):
        return dims.unknown()
    return dims.floordiv(length + step - 1, step)


def _length(call: Call, size: IntSize, start: Value, stop: Value) -> IntSize | None:
    """Return how many elements lie between two bounds; None where that isn't known."""
    near = _offset(call, size, start, 0)
    far = _offset(call, size, stop, size)
    if near is None or far is None:
        return _window(call, size, start, stop)
    if isinstance(start, int) and isinstance(stop, int) and start < 0 < stop:
        return None  # `x[-3:3]`: the longer it is, the less, and nothing of a long one
    free = dims.symbols(size)
    if nonnegative(far - size, free):
        far = size
    if nonnegative(near - far, free):
        return 0
    if far - near == 1:
        return 1
    candidates = [far - near]
    if start is not None and not nonnegative(near, free):
        candidates.append(far)
    clamped = far != size and not nonnegative(size - far, free)
    if clamped and not (_of_names(far) and not _of_names(size)) and not _reaches(size, far):
        candidates.append(size - near)
    return dims.extreme("min", candidates)


def _reaches(size: IntSize, far: IntSize) -> bool:
    """Whether a size is supposed to be as large as a slice has it: that of a few coordinates."""
    is_supposed = isinstance(size, Size) and all(s.supposed for s in dims.symbols(size))
    return is_supposed and (not isinstance(far, int) or far <= COORDINATES)


def _of_names(size: IntSize) -> bool:
    """Whether a size is made of other tensors' dimensions: a slice up to one takes that many."""
    return isinstance(size, Size) and all(s.kind is Kind.NAME for s in dims.symbols(size))


def _caps(call: Call, size: IntSize, stop: Value) -> bool:
    """Whether an axis was cut off at a bound before, as `x[:k]` is: it is never longer."""
    if not isinstance(stop, Size):
        return False
    return call.facts.size(stop) in _bounds(size)[1:]


def _bounds(size: IntSize) -> tuple[IntSize, ...]:
    """Return the sizes of which one is the least, behind it: `min(a,b)`, `a`, `b`."""
    (atom, *others) = size.atoms() if isinstance(size, Size) else (None,)
    if others or not isinstance(atom, Extreme) or atom.function != "min" or Size.of(atom) != size:
        return (size,)
    return (size, *sorted(atom.args, key=str))


def _window(call: Call, size: IntSize, start: Value, stop: Value) -> IntSize | None:
    """Return the length of `x[i:i+n]` for an `i` of which nothing is known.

    That of `x[i:min(i+n,len(x))]` is the same. The window is supposed to be a whole one, as all are
    but the last, unless an annotation names the axis that it is taken of.
    """
    if not isinstance(start, Size) or not isinstance(stop, Size):
        return None
    first = call.facts.size(start)
    bounds = _bounds(call.facts.size(stop))
    lengths = [bound - first for bound in bounds[1:] or bounds]
    if len(lengths) == 1:
        if lengths[0] == 1:
            return 1
        if nonnegative(-lengths[0]):
            return 0
    if all(any(s.kind is Kind.UNKNOWN for s in dims.symbols(length)) for length in lengths):
        return None
    is_drawn = any(s.kind is Kind.UNKNOWN for s in dims.symbols(first))
    is_named = any(s.kind is Kind.NAME for s in dims.symbols(size))
    if is_drawn and not is_named and len(lengths) == 1 and not nonnegative(lengths[0] - size - 1):
        return lengths[0]
    return dims.extreme("min", [*lengths, size - start])


def _offset(call: Call, size: IntSize, bound: Value, missing: IntSize) -> IntSize | None:
    """Return a bound counted from the front, None where its sign or value isn't known."""
    if bound is None:
        return missing
    if not is_size(bound):
        return None
    offset: IntSize = call.facts.size(bound)
    free = dims.symbols(size)
    if nonnegative(offset, free):
        return offset
    if nonnegative(-offset, free):
        from_end = size + offset
        if nonnegative(-from_end, free):
            return 0
        return from_end
    names = all(symbol.kind is not Kind.UNKNOWN for symbol in dims.symbols(offset))
    return offset if names and _leads_positive(offset) else None


def _leads_positive(size: IntSize) -> bool:
    """Whether a size is like `t-1` or `2*t-4`: positive but for small symbols."""
    if isinstance(size, int):
        return size >= 0
    return all(c > 0 for monomial, c in size.terms.items() if monomial)
