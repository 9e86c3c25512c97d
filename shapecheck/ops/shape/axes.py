"""Ops that reorder, drop or shift axes; transposes and diagonals."""

from __future__ import annotations

from collections.abc import Sequence

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, Size, Sym, size_of, symbol_of
from shapecheck.ops.agree import are_given, counted, loose, one_or_more
from shapecheck.ops.call import Call, Unknown, Value, resolved, rule
from shapecheck.ops.saying import written
from shapecheck.shapes import Item, Run, Shape, Tensor, either, mismatch


def of_rank(shape: Shape, change: int = 0) -> Shape:
    """Return a shape of unknown sizes whose rank is that of another, plus `change`."""
    return Shape.unknown() if shape.rank is None else Shape.of_rank(max(shape.rank + change, 0))


def without(call: Call, shape: Shape, dim: Value, keepdim: Value = False) -> Shape:
    """Return a shape less the axes that an argument names (all for None), or with 1 for them."""
    if not isinstance(keepdim, bool):
        return Shape.unknown()
    if dim is None and not keepdim:
        return Shape(())
    axes = call.axes(shape, dim)
    if axes is None:
        places = one_or_more(dim)
        if keepdim:
            return of_rank(shape, 0)
        return Shape.unknown() if places is None else of_rank(shape, -len(places))
    if not keepdim:
        return Shape(shape.without(axes))
    return Shape(tuple(1 if at in axes else item for at, item in enumerate(shape.dims)))


def axis_count(shape: Shape, given: int, noun: str = "") -> str:
    """Say that the number of arguments isn't that of the axes.

    `noun` says what they are, where they aren't axes themselves.
    """
    least = "" if shape.rank is not None else "at least "
    axes = counted(shape.least_rank, "axis")
    return f"the tensor has {least}{axes}, and {are_given(given, noun)}"


# Reordering -----------------------------------------------------------------------------------


@rule("permute")
def permute(call: Call, input: Value, dims: Value, **rest: Value) -> Tensor:
    """Reorder all axes."""
    tensor, shape = resolved(call, input)
    if not isinstance(dims, (tuple, list)):
        return Tensor(of_rank(shape), tensor.dtype)
    order = f"({', '.join(map(written, dims))})"
    headline = f"can't permute {shape} by {order}"
    if any(isinstance(item, (Run, Unknown)) for item in dims):
        return Tensor(of_rank(shape), tensor.dtype)
    if shape.rank is None:
        if len(dims) < shape.least_rank:
            raise mismatch(axis_count(shape, len(dims)), headline)
        shape = call.facts.stretched(shape, count=len(dims))
    if shape.rank is None:
        return Tensor(Shape.of_rank(len(dims)), tensor.dtype)
    if len(dims) != shape.rank:
        raise mismatch(axis_count(shape, len(dims)), headline)
    axes = call.axes(shape, dims)
    if axes is None:
        return Tensor(of_rank(shape), tensor.dtype)
    return Tensor(Shape(tuple(shape.dims[axis] for axis in axes)), tensor.dtype, tensor.inserted)


@rule("transpose")
def transpose(call: Call, input: Value, dim0: Value, dim1: Value, **rest: Value) -> Value:
    """Swap two axes."""
    tensor, shape = resolved(call, input)
    first, second = call.axis(shape, dim0), call.axis(shape, dim1)
    if first is None or second is None:
        return Tensor(of_rank(shape), tensor.dtype)
    items = list(shape.dims)
    if items:
        items[first], items[second] = items[second], items[first]
    return Tensor(Shape(tuple(items)), tensor.dtype, tensor.inserted)


@rule("reverse_axes")
def reverse_axes(call: Call, input: Value, most: Value = None, **rest: Value) -> Value:
    """Reverse the order of all axes (`x.T`); `t()` takes tensors of at most two."""
    tensor, shape = resolved(call, input)
    most = call.extra[0] if call.extra else None
    if isinstance(most, int) and shape.least_rank > most:
        raise mismatch(
            f"it takes at most {most} axes, and the tensor has {len(shape.dims)}",
            f"can't transpose {shape}",
            "shape",
            "transpose",
        )
    items = (
        Run(Sym.fresh("...")) if isinstance(item, Run) else item for item in reversed(shape.dims)
    )  # what a run stands for is reversed, too
    return Tensor(Shape(tuple(items)), tensor.dtype, tensor.inserted)


@rule("matrix_transpose")
def matrix_transpose(call: Call, input: Value, **rest: Value) -> Value:
    """Swap the last two axes (`x.mT`)."""
    tensor, shape = resolved(call, input)
    if shape.rank is not None and shape.rank < 2:
        raise mismatch(
            f"it takes at least 2 axes, and the tensor has {shape.rank}",
            f"can't transpose {shape}",
        )
    return transpose(call, tensor, -2, -1)


@rule("movedim")
def movedim(call: Call, input: Value, source: Value, destination: Value, **rest: Value) -> Value:
    """Move axes to new places, the others keeping their order."""
    tensor, shape = resolved(call, input)
    sources, places = one_or_more(source), one_or_more(destination)
    if sources is None or places is None:
        return Tensor(of_rank(shape), tensor.dtype)
    if len(sources) != len(places):
        raise mismatch(
            f"{counted(len(sources), 'axis')} can't go to {counted(len(places), 'place')}",
            f"can't move the axes of {shape}",
        )
    taken, put = call.axes(shape, sources), call.axes(shape, places)
    if shape.rank is None or taken is None or put is None:
        return Tensor(of_rank(shape), tensor.dtype)
    rest_items = iter(shape.without(taken))
    moved = dict(zip(put, taken, strict=True))
    items = [
        shape.dims[moved[index]] if index in moved else next(rest_items)
        for index in range(shape.rank)
    ]
    return Tensor(Shape(tuple(items)), tensor.dtype, tensor.inserted)


# Axes of size 1 -------------------------------------------------------------------------------


@rule("squeeze")
def squeeze(call: Call, input: Value, dim: Value = None, **rest: Value) -> Value:
    """Drop axes of size 1: all of them, or of the given ones those that are 1.

    A named dimension isn't 1. One of the program's own sizes may be: then the axis may be there or
    not. Where an unknown size may be, the rank isn't known.
    """
    tensor, shape = resolved(call, input)
    everywhere = dim is None
    if everywhere:
        picked: Sequence[int] | None = range(len(shape.dims))
    else:
        picked = call.axes(shape, dim)
    if picked is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    items: list[Item] = []
    for index, item in enumerate(shape.dims):
        if index not in picked:
            items.append(item)
        elif isinstance(item, Run):
            items.append(Run(dims.Sym.fresh("...")))
        elif (size := call.facts.dim(item)) != 1:
            left_open(call, size)
            items += _perhaps(call, item, size)
    return Tensor(Shape(tuple(items)), tensor.dtype)


def _perhaps(call: Call, item: DimExpr, size: DimExpr) -> tuple[Item, ...]:
    """Return what is left of an axis that is dropped if it is 1."""
    if loose(size):
        return (Run(dims.Sym.fresh("...")),)
    # decisions.md, "A size of the program may be 1 where it is squeezed"
    own = any(symbol.kind is dims.Kind.OWN for symbol in dims.symbols(size))
    return either((item,), ()) if own and not call.facts.differ(size, 1) else (item,)


def left_open(call: Call, size: DimExpr) -> None:
    """Learn that an axis which is supposed may be 1, where it is dropped or expanded."""
    symbol = symbol_of(size)
    if symbol is not None and symbol.supposed:
        call.facts.learn(symbol, Size.of(Sym.fresh(left_open=True)))


# Diagonals -------------------------------------------------------------------------------------


@rule("diagonal")
def diagonal(
    call: Call,
    input: Value,
    offset: Value = 0,
    dim1: Value = 0,
    dim2: Value = 1,
    **rest: Value,
) -> Value:
    """Replace two axes by their diagonal, which becomes the last axis."""
    tensor, shape = resolved(call, input)
    first, second = call.axis(shape, dim1), call.axis(shape, dim2)
    if first is None or second is None:
        return Tensor(of_rank(shape, -1), tensor.dtype)
    if first == second or not shape.dims:
        raise mismatch("a diagonal needs two axes", f"can't take a diagonal of {shape}")
    rows, columns = shape.dims[first], shape.dims[second]
    rest_items = shape.without((first, second))
    length: Item = dims.unknown()
    if not isinstance(rows, Run) and not isinstance(columns, Run) and isinstance(offset, int):
        length = _diagonal(call, rows, columns, offset)
    return Tensor(Shape((*rest_items, length)), tensor.dtype)


def _diagonal(call: Call, rows: DimExpr, columns: DimExpr, offset: int) -> DimExpr:
    if offset == 0 and call.facts.same(rows, columns):
        return rows
    high = size_of(rows) + min(offset, 0)
    wide = size_of(columns) - max(offset, 0)
    length = dims.extreme("min", [call.facts.size(high), call.facts.size(wide)])
    return max(length, 0) if isinstance(length, int) else length


@rule("diag")
def diag(call: Call, input: Value, diagonal: Value = 0, **rest: Value) -> Value:
    """Put a vector on the diagonal of a matrix, or take the diagonal of one."""
    tensor, shape = resolved(call, input)
    offset = diagonal if isinstance(diagonal, int) else None
    match shape.known:
        case (rows, columns) if offset is not None:
            return Tensor(Shape((_diagonal(call, rows, columns, offset),)), tensor.dtype)
        case (size,) if offset is not None:
            whole = size if offset == 0 else size_of(size) + abs(offset)
            return Tensor(Shape((whole, whole)), tensor.dtype)
    if shape.least_rank > 2 or shape.rank == 0:
        raise mismatch("it takes 1 or 2 axes", f"can't take the diagonal of {shape}")
    return Tensor(Shape.unknown(), tensor.dtype)


@rule("diag_embed")
def diag_embed(
    call: Call,
    input: Value,
    offset: Value = 0,
    dim1: Value = -2,
    dim2: Value = -1,
    **rest: Value,
) -> Value:
    """Put the last axis on the diagonal of two new ones."""
    tensor, shape = resolved(call, input)
    if shape.rank == 0:
        raise mismatch("a 0-d tensor has no axis", f"can't put {shape} on a diagonal")
    widened = of_rank(shape, 1)
    places = call.axes(widened, (dim1, dim2))
    size = shape.at(-1)
    if size is None or not isinstance(offset, int) or places is None or shape.rank is None:
        return Tensor(widened, tensor.dtype)
    whole = size if offset == 0 else size_of(size) + abs(offset)
    others = iter(shape.dims[:-1])
    items = [whole if axis in places else next(others) for axis in range(shape.rank + 1)]
    return Tensor(Shape(tuple(items)), tensor.dtype)


@rule("rot90")
def rot90(call: Call, input: Value, k: Value = 1, dims: Value = (0, 1), **rest: Value) -> Value:
    """Rotate in the plane of two axes, which an odd number of quarter turns swaps."""
    tensor, shape = resolved(call, input)
    axes = call.axes(shape, dims)
    places = one_or_more(dims)
    if places is not None and len(places) != 2:
        raise mismatch(
            f"{are_given(len(places), 'axis')}, and 2 span a plane", f"can't rotate {shape}"
        )
    if axes is None or len(axes) != 2 or not isinstance(k, int):
        return Tensor(of_rank(shape), tensor.dtype)
    return transpose(call, tensor, axes[0], axes[1]) if k % 2 else Tensor(shape, tensor.dtype)


@rule("roll")
def roll(call: Call, input: Value, shifts: Value, dims: Value = None, **rest: Value) -> Value:
    """Shift elements along axes, which exist and are as many as the shifts."""
    tensor, shape = resolved(call, input)
    if shifts == ():
        raise mismatch("no shift is given", f"can't roll {shape}")
    if dims is not None and dims != ():
        places, steps = one_or_more(dims), one_or_more(shifts)
        if places is not None and steps is not None and len(steps) != len(places):
            reason = f"{len(steps)} shifts are given for {len(places)} axes"
            raise mismatch(reason, f"can't roll {shape}")
        if shape.rank == 0:
            raise mismatch("a 0-d tensor has no axis", "can't roll () along an axis")
        for dim in places or ():
            call.axis(shape, dim)
    return Tensor(shape, tensor.dtype)
