"""Products that sum over axes: `@`, `tensordot`, `outer` and their relatives."""

from __future__ import annotations

from collections.abc import Sequence

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, Kind, size_of
from shapecheck.ops.agree import counted, loose, one_kind, tensors_of
from shapecheck.ops.call import Call, DType, Value, as_tensor, resolved, rule
from shapecheck.ops.promotion import promoted
from shapecheck.ops.saying import written
from shapecheck.ops.shape.axes import of_rank
from shapecheck.shapes import Item, Run, Shape, Tensor, mismatch


@rule("matmul")
def matmul(call: Call, input: Value, other: Value, **rest: Value) -> Tensor:
    """Contract the last axis with the other's last but one (numpy's `@`), batches broadcasting."""
    left, right = as_tensor(input), as_tensor(other)
    a, b = call.facts.shape(left.shape), call.facts.shape(right.shape)
    if b.rank is not None:
        a = call.facts.stretched(a, back=1, likely=2 if b.rank > 2 else 1, guess=True)
    elif a.least_rank > 1:
        likely = 2 if a.rank is None or a.rank > 2 else 1
        b = call.facts.stretched(b, back=1, likely=likely, guess=True)
    headline = f"can't multiply {a} by {b}"
    for operand in (a, b):
        if operand.rank == 0:
            raise mismatch("a 0-d tensor has no axis to contract", headline)
    inner_axis = -1 if b.rank == 1 else -2
    inner_left, inner_right = a.at(-1), b.at(inner_axis) if _has_two(b) else None
    if inner_left is not None and inner_right is not None:
        if not call.unify(inner_left, inner_right):
            raise mismatch(
                f"the inner dimensions are {inner_left} (axis -1) and {inner_right} "
                f"(axis {inner_axis})",
                headline,
                "shape",
                "transpose",
                "swap",
                about=(inner_left, inner_right),
            )
    one_kind(left, right, headline)
    kind = promoted(left, right)
    if a.rank is None or b.rank is None:
        return Tensor(_ragged(a, b), kind)
    rows = a.dims[-2:-1]
    columns = b.dims[-1:] if len(b.dims) > 1 else ()
    batch = call.broadcast(
        (Tensor(Shape(a.dims[:-2])), Tensor(Shape(b.dims[:-2]))), headline, strict=False, behind=2
    )
    return Tensor(Shape((*batch.dims, *rows, *columns)), kind)


def _has_two(shape: Shape) -> bool:
    """Whether the axis that `@` contracts is certain: the only one, or the last but one of two."""
    return shape.rank == 1 or shape.least_rank >= 2


def _ragged(a: Shape, b: Shape) -> Shape:
    """Return what is known of a product's shape where a rank isn't."""
    if b.rank == 1:
        return Shape(a.dims[:-1]) if a.position(-1) is not None else Shape.unknown()
    if b.rank == 2 and a.least_rank >= 1 and a.position(-1) is not None:
        return Shape((*a.dims[:-1], b.dims[-1]))
    if a.least_rank >= 2 and a.dims[:-2] == b.dims[:-2] and b.position(-2) is not None:
        return Shape((*a.dims[:-1], b.dims[-1]))
    if a.position(-2) is not None and b.position(-2) is not None:
        return Shape((*Shape.unknown().dims, a.dims[-2], b.dims[-1]))
    return Shape.unknown()


@rule("chain")
def chain(call: Call, tensors: Value, **rest: Value) -> Value:
    """Multiply matrices in a row; the first and the last may be vectors."""
    parts = tensors_of(tensors)
    if not parts:
        return Tensor.unknown()
    product = parts[0]
    for part in parts[1:]:
        product = matmul(call, product, part)
    return product


@rule("addmm")
def addmm(call: Call, input: Value, **factors: Value) -> Value:
    """Return a product with something added to it; its factors have a name for each op."""
    left, right, *_ = factors.values()
    result = matmul(call, left, right)
    headline = f"can't add {as_tensor(input)} to a product of shape {result}"
    call.broadcast((result, as_tensor(input)), headline)
    return result


@rule("grouped_mm")
def grouped_mm(call: Call, mat_a: Value, mat_b: Value, offs: Value = None, **rest: Value) -> Value:
    """Multiply a matrix for each group: rows of one, or what is contracted, end at `offs`."""
    left, a = resolved(call, mat_a)
    right, b = resolved(call, mat_b)
    ranks = a.rank, b.rank
    if None in ranks:
        return Tensor(Shape.unknown(), promoted(left, right))
    headline = f"can't multiply {a} by {b} in groups"
    if not {*ranks} <= {2, 3}:
        raise mismatch("it takes matrices, or one for each group", headline)
    product = matmul(call, left, right)
    assert isinstance(product, Tensor)
    groups = next((one.at(0) for one in (a, b) if one.rank == 3), None)
    ends = call.facts.shape(offs.shape).at(0) if isinstance(offs, Tensor) else None
    if groups is not None and ends is not None and not call.unify(ends, groups):
        raise mismatch(f"there are {groups} groups and {ends} ends of groups", headline)
    if ranks == (2, 2):
        shape = Shape((dims.unknown() if ends is None else ends, *product.shape.dims))
    else:
        shape = product.shape if ranks == (3, 3) else Shape(product.shape.dims[1:])
    out = rest.get("out_dtype")
    kind = out.dtypes if isinstance(out, DType) else product.dtype if out is None else dtypes.FLOAT
    return Tensor(shape, kind)


@rule("tensordot")
def tensordot(call: Call, input: Value, other: Value, dims: Value = 2, **rest: Value) -> Value:
    """Contract the last `dims` axes with the other's first, or pairs of given axes."""
    left, a = resolved(call, input)
    right, b = resolved(call, other)
    kind = promoted(left, right)
    if a.rank is None or b.rank is None:
        return Tensor(Shape.unknown(), kind)
    headline = f"can't contract {a} with {b}"
    one_kind(left, right, headline)
    if isinstance(dims, int):
        if dims > min(a.rank, b.rank):
            raise mismatch(f"{counted(dims, 'axis')} to contract, more than there are", headline)
        ours: Sequence[int] | None = range(a.rank - dims, a.rank)
        theirs: Sequence[int] | None = range(dims)
    elif isinstance(dims, (tuple, list)) and len(dims) == 2:
        ours, theirs = (call.axes(s, d) for s, d in zip((a, b), dims, strict=True))
    else:
        ours = theirs = None
    if ours is None or theirs is None:
        return Tensor(Shape.unknown(), kind)
    if len(ours) != len(theirs):
        raise mismatch(
            f"{counted(len(ours), 'axis')} can't be contracted with {len(theirs)}", headline
        )
    for i, j in zip(ours, theirs, strict=True):
        x, y = a.dims[i], b.dims[j]
        assert not isinstance(x, Run) and not isinstance(y, Run)  # both ranks are known
        if 1 in (call.facts.dim(x), call.facts.dim(y)):
            continue
        if not call.unify(x, y):
            raise mismatch(
                f"axis {i} is {x} on the left and axis {j} is {y} on the right",
                headline,
                about=(x, y),
            )
    return Tensor(Shape((*a.without(ours), *b.without(theirs))), kind)


@rule("along")
def along(call: Call, input: Value, other: Value, dim: Value = -1, **rest: Value) -> Value:
    """Broadcast two tensors and drop an axis of the result (`vecdot`), or keep it (`cross`).

    The constant is the size that the axis must have; without it, it is dropped.
    """
    left, right = as_tensor(input), as_tensor(other)
    wanted = call.number() if call.extra else 0
    if wanted and None not in (left.shape.rank, right.shape.rank):
        if left.shape.rank != right.shape.rank:
            raise mismatch(
                f"the tensors have {left.shape.rank} and {right.shape.rank} axes",
                f"can't take the cross product of {left} and {right}",
            )
    for side in (left, right):
        facing = call.facts.shape(side.shape).at(dim) if wanted and isinstance(dim, int) else None
        if facing is not None and isinstance(facing, int) and facing != wanted:
            raise mismatch(
                f"axis {written(dim)} is {facing}, not {wanted}",
                f"can't take the cross product of {left} and {right}",
            )
    shape = call.broadcast((left, right))
    kind = promoted(left, right)
    if dim is None:
        return Tensor(shape, kind)
    position = call.axis(shape, dim)
    if position is None:
        return Tensor(shape if wanted else of_rank(shape, -1), kind)
    if not wanted:
        return Tensor(Shape((*shape.dims[:position], *shape.dims[position + 1 :])), kind)
    if not shape.dims:
        raise mismatch("a tensor without axes has none", f"can't take the cross product of {shape}")
    item = shape.dims[position]
    if not isinstance(item, Run) and not call.unify(item, wanted):
        raise mismatch(
            f"axis {written(dim)} is {item}, not {wanted}",
            f"can't take the cross product of {shape}",
            about=(item,),
        )
    return Tensor(shape, kind)


@rule("inner")
def inner(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    """Contract the last axes of both."""
    left, a = resolved(call, input)
    right, b = resolved(call, other)
    if a.rank == 0 or b.rank == 0:
        return Tensor(a if b.rank == 0 else b, promoted(left, right))
    if a.rank is None or b.rank is None:
        return Tensor(Shape.unknown(), promoted(left, right))
    x, y = a.at(-1), b.at(-1)
    if x is not None and y is not None and not call.unify(x, y):
        raise mismatch(
            f"the last dimensions are {x} and {y}",
            f"can't take the inner product of {a} and {b}",
            about=(x, y),
        )
    return tensordot(call, left, right, ((-1,), (-1,)))


@rule("kron")
def kron(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    """Multiply every element with every element: axes merge, one by one from the right."""
    left, a = resolved(call, input)
    right, b = resolved(call, other)
    kind = promoted(left, right)
    if a.known is None or b.known is None:
        return Tensor(Shape.unknown(), kind)
    rank = max(len(a.known), len(b.known))
    ours = (1,) * (rank - len(a.known)) + a.known
    theirs = (1,) * (rank - len(b.known)) + b.known
    items: list[Item] = [dims.merge(both) for both in zip(ours, theirs, strict=True)]
    return Tensor(Shape(tuple(items)), kind)


@rule("covariance")
def covariance(call: Call, input: Value, **rest: Value) -> Value:
    """Return the covariance of each row with each row; of one row, a number.

    Weights, one a column, are `fweights` and `aweights`.
    """
    tensor, shape = resolved(call, input)
    weighed = (one for one in rest.values() if isinstance(one, Tensor))
    kind = dtypes.to_float(promoted(tensor, *weighed))
    if shape.least_rank > 2:
        raise mismatch("it takes at most 2 axes", f"can't correlate the rows of {shape}")
    for name in ("fweights", "aweights"):
        given, columns = rest.get(name), shape.at(-1)
        if isinstance(given, Tensor) and columns is not None:
            weights = call.facts.shape(given.shape)
            count = weights.at(0)
            if weights.least_rank > 1 or (count is not None and not call.unify(count, columns)):
                raise mismatch(
                    f'"{name}" is {weights}, where ({columns}) is expected',
                    f"can't correlate the rows of {shape}",
                    about=(weights, columns),
                )
    if shape.rank is None:
        return Tensor(Shape.unknown(), kind)
    rows = shape.dims[0] if shape.rank == 2 else 1
    if rows == 1 or isinstance(rows, Run):
        return Tensor(Shape(()), kind)
    return Tensor(Shape.unknown() if loose(rows) else Shape((rows, rows)), kind)


# Factorisations and solvers ----------------------------------------------------------------------


@rule("svd")
def svd(
    call: Call,
    input: Value,
    full_matrices: Value = True,
    some: Value = True,
    compute_uv: Value = True,
    **rest: Value,
) -> Value:
    """Return the singular value decomposition: `U S Vh` (linalg), or `U S V` (the old form)."""
    tensor, shape = resolved(call, input)
    rows, columns = shape.at(-1 if shape.rank == 1 else -2), shape.at(-1)
    full: Value = full_matrices
    if call.extra:
        full = isinstance(some, bool) and isinstance(compute_uv, bool) and not (some and compute_uv)
    if rows is None or columns is None or not isinstance(full, bool):
        unknown = Tensor(Shape.unknown(), tensor.dtype)
        return (unknown, Tensor(Shape.unknown(), dtypes.to_real(tensor.dtype)), unknown)
    batch = shape.dims[:-2]
    least = _least(call, rows, columns)
    left = rows if full else least
    right = columns if full else least
    last = (columns, right) if call.extra else (right, columns)
    return (
        Tensor(Shape((*batch, rows, left)), tensor.dtype),
        Tensor(Shape((*batch, least)), dtypes.to_real(tensor.dtype)),
        Tensor(Shape((*batch, *last)), tensor.dtype),
    )


def _least(call: Call, rows: DimExpr, columns: DimExpr) -> DimExpr:
    if call.facts.same(rows, columns):
        return rows
    return dims.extreme("min", [call.facts.size(size_of(rows)), call.facts.size(size_of(columns))])


@rule("qr")
def qr(call: Call, input: Value, mode: Value = "reduced", **rest: Value) -> Value:
    """Return the QR decomposition."""
    tensor, shape = resolved(call, input)
    rows, columns = shape.at(-2), shape.at(-1)
    mode = {True: "reduced", False: "complete"}.get(mode, mode) if isinstance(mode, bool) else mode
    if rows is None or columns is None or mode not in ("reduced", "complete"):
        unknown = Tensor(Shape.unknown(), tensor.dtype)
        return (unknown, unknown)
    inner = _least(call, rows, columns) if mode == "reduced" else rows
    batch = shape.dims[:-2]
    return (
        Tensor(Shape((*batch, rows, inner)), tensor.dtype),
        Tensor(Shape((*batch, inner, columns)), tensor.dtype),
    )


def _are_sides(call: Call, rows: DimExpr, columns: DimExpr) -> bool:
    """Whether a matrix may be square: what nobody named may be the number that it stands beside."""
    sides = rows, columns
    is_named = any(one.kind is Kind.NAME for side in sides for one in dims.symbols(side))
    if not is_named and any(isinstance(side, int) for side in sides):
        return call.facts.unify(rows, columns)
    return call.unify(rows, columns)


@rule("solve")
def solve(call: Call, input: Value, other: Value, left: Value = True, **rest: Value) -> Value:
    """Solve `input @ x == other`: a vector for each matrix, or the columns of a matrix."""
    matrix, a = resolved(call, input)
    target, b = resolved(call, other)
    kind = promoted(matrix, target)
    headline = f"can't solve {a} for {b}"
    if b.rank == 0 or (a.rank is not None and a.rank < 2):
        raise mismatch("it takes a matrix and a vector or matrix", headline)
    rows, columns = a.at(-2), a.at(-1)
    if rows is not None and columns is not None and not _are_sides(call, rows, columns):
        raise mismatch(
            f"the matrix isn't square: {rows} by {columns}", headline, about=(rows, columns)
        )
    if rows is None or a.rank is None or b.rank is None or not isinstance(left, bool):
        return Tensor(Shape.unknown(), kind)
    if not left:
        return _solved_on_the_right(call, a, b, kind, headline)
    vector = b.rank == 1 or (a.rank - 1 == b.rank and _agree(call, a.dims[:-1], b.dims))
    facing = b.at(-1 if vector else -2)
    if facing is not None and not call.unify(facing, rows):
        raise mismatch(
            f"the matrix has {rows} rows and the target {facing}", headline, about=(rows, facing)
        )
    if vector:
        return Tensor(b if b.rank == a.rank - 1 else Shape((*a.dims[:-2], facing or rows)), kind)
    batch = call.broadcast(
        (Tensor(Shape(a.dims[:-2])), Tensor(Shape(b.dims[:-2]))), headline, strict=False
    )
    return Tensor(Shape((*batch.dims, *b.dims[-2:])), kind)


def _solved_on_the_right(
    call: Call, a: Shape, b: Shape, kind: dtypes.DTypes, headline: str
) -> Tensor:
    """Solve `x @ a == b`, where both ranks are known."""
    if b.rank == 1:
        return Tensor(Shape.unknown(), kind)
    rows, facing = a.at(-2), b.at(-1)
    assert rows is not None and facing is not None
    if not call.unify(facing, rows):
        raise mismatch(
            f"the matrix has {rows} rows, and each row of the target {facing}",
            headline,
            about=(rows, facing),
        )
    batch = call.broadcast(
        (Tensor(Shape(a.dims[:-2])), Tensor(Shape(b.dims[:-2]))), headline, strict=False
    )
    return Tensor(Shape((*batch.dims, *b.dims[-2:])), kind)


def _agree(call: Call, ours: Sequence[Item], theirs: Sequence[Item]) -> bool:
    pairs = zip(ours, theirs, strict=True)
    return all(
        not isinstance(x, Run) and not isinstance(y, Run) and not call.facts.differ(x, y)
        for x, y in pairs
    )


@rule("lstsq")
def lstsq(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    """Return least-squares solutions; what comes with them isn't followed."""
    matrix, a = resolved(call, input)
    target, b = resolved(call, other)
    kind = promoted(matrix, target)
    solution = Tensor(Shape.unknown(), kind)
    headline = f"can't solve {a} for {b}"
    if a.rank is not None and a.rank < 2:
        raise mismatch(f"the matrix has {a.rank} axes", headline)
    if a.rank is not None and a.rank == b.rank and a.rank >= 2:
        rows, facing = a.at(-2), b.at(-2)
        if rows is not None and facing is not None and not call.unify(rows, facing):
            raise mismatch(
                f"the matrix has {rows} rows and the target {facing}",
                headline,
                about=(rows, facing),
            )
        batches = (Tensor(Shape(a.dims[:-2])), Tensor(Shape(b.dims[:-2])))
        batch = call.broadcast(batches, headline, strict=False, behind=2)
        solution = Tensor(Shape((*batch.dims, a.dims[-1], b.dims[-1])), kind)
    return (solution, Tensor.unknown(), Tensor.unknown(), Tensor.unknown())
