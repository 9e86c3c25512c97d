"""Losses: what predictions and targets have to share, and what the reduction leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.ops.agree import counted, float_of, loose, meet, promote_all, size, spell
from shapecheck.ops.call import Call, Value, as_dim, as_tensor, replace, rule
from shapecheck.ops.saying import written
from shapecheck.shapes import Clash, Item, Run, Shape, Tensor, mismatch


def _reduced(shape: Shape, kind: int, arguments: Mapping[str, Value]) -> Tensor:
    """Apply a loss' `reduction`."""
    reduction = arguments.get("reduction", "mean")
    if arguments.get("size_average") is not None or arguments.get("reduce") is not None:
        return Tensor(Shape.unknown(), kind)
    if reduction == "none":
        return Tensor(shape, kind)
    if reduction in _TO_ONE_NUMBER:
        return Tensor(Shape(()), kind)
    if isinstance(reduction, str):
        raise mismatch("there are 'none', 'mean' and 'sum'", f"has no reduction '{reduction}'")
    return Tensor(Shape.unknown(), kind)


_TO_ONE_NUMBER: Final = ("mean", "sum", "batchmean", "elementwise_mean")
"""The reductions that leave a scalar; the last is an old name of the first."""


def _kind(*tensors: Tensor) -> dtypes.DTypes:
    kinds = promote_all(tensors)
    return kinds & (dtypes.FLOAT | dtypes.COMPLEX) or dtypes.to_float(kinds)


def _float_in_one(tensors: Sequence[Tensor], headline: str) -> None:
    """Refuse tensors of integers or bools alone."""
    kinds = promote_all(tensors)
    if not kinds & (dtypes.FLOAT | dtypes.COMPLEX):
        raise mismatch(
            f"neither holds floating elements: they are {dtypes.describe(kinds)}",
            headline,
            "shape-dtype",
        )


@rule("pointwise loss")
def pointwise(call: Call, input: Value, target: Value, **rest: Value) -> Value:
    """Judge a loss of each element: the shapes broadcast, but never silently to an outer product.

    `weight` broadcasts to the result, too. Some losses sum over the last axis (`"rows"`), some
    compare integers (`"counts"`), some are real for complex numbers (`"real"`), some calculate in
    what the input is made of (`"as input"`).
    """
    first, second = as_tensor(input), as_tensor(target)
    parts = [first, second]
    a, b = call.facts.shape(first.shape), call.facts.shape(second.shape)
    headline = f"can't compare {a} with {b}"
    if "counts" not in call.extra:
        _float_in_one(parts, headline)
    shape = call.broadcast(parts, headline)
    if a.rank != b.rank and not call.facts.of_running_program() and _is_outer(a, b, shape):
        raise mismatch(
            f"the shorter is padded on its left, so that each element meets others too, as {shape}",
            headline,
            "shape-broadcast",
            "squeeze",
            "unsqueeze",
        )
    variance = rest.get("var")
    if isinstance(variance, Tensor):
        _variance(call, variance, a)
        parts.append(variance)
    for name in ("weight", "pos_weight"):
        extra = rest.get(name)
        if isinstance(extra, Tensor):
            said = f"can't weigh {shape} by {extra}"
            shape = call.broadcast((Tensor(shape), extra), said, strict=False)
    if "rows" in call.extra:
        shape = _rows(shape)
    if "as input" in call.extra:
        return _reduced(shape, first.dtype, rest)
    kind = _kind(*parts)
    return _reduced(shape, dtypes.to_real(kind) if "real" in call.extra else kind, rest)


def _is_outer(one: Shape, other: Shape, result: Shape) -> bool:
    """Whether both of two shapes of known sizes are stretched by broadcasting to a third."""
    known = all(isinstance(dim, int) for dim in (*one.dims, *other.dims))
    return known and result.dims not in (one.dims, other.dims)


def _variance(call: Call, variance: Tensor, shape: Shape) -> None:
    """Refuse variances that are neither one an element nor one a row."""
    given = call.facts.shape(variance.shape)
    if given.rank is not None and shape.rank is not None and given.rank == shape.rank - 1:
        given = Shape((*given.dims, 1))
    headline = f"can't use variances of {variance} for {shape}"
    call.broadcast((Tensor(shape), Tensor(given)), headline, strict=False)


def _rows(shape: Shape) -> Shape:
    """Return a shape without its last axis."""
    return Shape(shape.dims[:-1]) if shape.position(-1) is not None else Shape.unknown()


@rule("equal loss")
def equal(call: Call, input: Value, target: Value, **rest: Value) -> Value:
    """Judge a loss of each element where torch demands equal shapes (`binary_cross_entropy`).

    Some sum over the last axis (`"rows"`).
    """
    first, second = as_tensor(input), as_tensor(target)
    a, b = call.facts.shape(first.shape), call.facts.shape(second.shape)
    headline = f"can't compare {a} with {b}"
    shape = _equal(call, a, b, headline)
    for name in ("weight", "pos_weight"):
        extra = rest.get(name)
        if isinstance(extra, Tensor):
            said = f"can't weigh {shape} by {extra}"
            call.broadcast((Tensor(shape), extra), said, strict=False)
    if "rows" in call.extra:
        shape = _rows(shape)
    return _reduced(shape, _kind(first, second), rest)


def _equal(call: Call, a: Shape, b: Shape, headline: str) -> Shape:
    rank = a.rank if a.rank is not None else b.rank
    if rank is None:
        return a
    left, right = spell(a, rank), spell(b, rank)
    if left is None or right is None:
        raise mismatch(
            f'"input" has {counted(a.least_rank, "axis")} and "target" {b.least_rank}',
            headline,
            "shape",
            "squeeze",
            "unsqueeze",
        )
    items: list[Item] = []
    for axis, (one, other) in enumerate(zip(left.dims, right.dims, strict=True)):
        assert not isinstance(one, Run) and not isinstance(other, Run)
        try:
            items.append(meet(call, one, other))
        except Clash:
            raise mismatch(
                f'axis {axis} is {one} in "input" and {other} in "target"',
                headline,
                "shape",
                "transpose",
                about=(one, other),
            ) from None
    return Shape(tuple(items))


@rule("class loss")
def class_loss(call: Call, input: Value, target: Value, **rest: Value) -> Value:
    """Judge `cross_entropy` and `nll_loss`: input `n c *d`, target `n *d` of class indices.

    `cross_entropy` also takes probabilities, a floating target of the input's own shape.
    """
    (probabilities,) = call.extra
    first, second = as_tensor(input), as_tensor(target)
    a, b = call.facts.shape(first.shape), call.facts.shape(second.shape)
    headline = f"can't score {a} against {b}"
    if a.rank == 0:
        raise mismatch('"input" has no axis of classes', headline)
    if a.rank is None:
        return _reduced(
            b if b.rank is not None and not probabilities else Shape.unknown(),
            float_of(first),
            rest,
        )
    position = 0 if a.rank == 1 else 1
    wanted = replace(a, position)
    classes = a.dims[position]
    _weights(call, rest.get("weight"), classes, position, headline)
    floating = not second.dtype & ~dtypes.FLOAT
    exact = not second.dtype & (dtypes.FLOAT | dtypes.COMPLEX)
    if b.rank is None:
        return _reduced(wanted, float_of(first), rest)
    where = f'the classes are axis {position} of "input" ({classes})'
    if b.rank == a.rank and probabilities and not exact:
        _match(call, a, b, f'{where}, so "target" is expected to be', classes, a, headline)
        return _reduced(wanted, float_of(first), rest)
    if b.rank != a.rank - 1:
        raise mismatch(
            f"{where}, so class indices have {counted(a.rank - 1, 'axis')} {wanted}, "
            f'"target" has {b.rank}',
            headline,
            "shape",
            "squeeze",
            "transpose",
            "swap",
            about=(classes, wanted),
        )
    _match(call, wanted, b, f'{where}, so "target" is expected to be', classes, wanted, headline)
    if floating:
        raise mismatch(
            f'"target" is {dtypes.describe(second.dtype)}, class indices are Int',
            headline,
            "shape-dtype",
        )
    return _reduced(wanted, float_of(first), rest)


def _match(
    call: Call, a: Shape, b: Shape, words: str, classes: Item, wanted: Shape, headline: str
) -> None:
    for one, other in zip(a.dims, b.dims, strict=True):
        assert not isinstance(one, Run) and not isinstance(other, Run)
        if not call.unify(one, other):
            raise mismatch(
                f"{words} {wanted}", headline, "shape", "transpose", about=(classes, wanted)
            )


def _weights(call: Call, weight: Value, classes: Item, position: int, headline: str) -> None:
    if not isinstance(weight, Tensor):
        return
    shape = call.facts.shape(weight.shape)
    found = shape.at(0)
    assert not isinstance(classes, Run)
    if found is not None and shape.rank == 1 and not call.unify(found, classes):
        raise mismatch(
            f'"weight" has {found} elements, where axis {position} of "input" is {classes}',
            headline,
            about=(found, classes),
        )


@rule("row loss")
def row_loss(call: Call, input: Value, target: Value, weight: Value = None, **rest: Value) -> Value:
    """Judge a loss of rows `*n c` with one number a row: `multi_margin_loss`."""
    first, second = as_tensor(input), as_tensor(target)
    shape, given = call.facts.shape(first.shape), call.facts.shape(second.shape)
    classes = shape.at(-1)
    if isinstance(weight, Tensor) and classes is not None:
        one = call.facts.shape(weight.shape)
        count = one.at(0)
        if one.rank not in (1, None) or (count is not None and not call.unify(count, classes)):
            raise mismatch(
                f'"weight" is {one}, where ({classes}) is expected',
                f"can't take {shape}",
                about=(one, classes),
            )
    rows = _rows(shape)
    if shape.rank != 1 or given.dims != (1,):
        rows = _equal(call, rows, given, f"can't score {shape} against {given}")
    return _reduced(rows, _kind(first), rest)


@rule("triplet loss")
def triplet(call: Call, anchor: Value, positive: Value, negative: Value, **rest: Value) -> Value:
    """Judge a loss of three rows `*n d` with one number a row."""
    parts = [as_tensor(one) for one in (anchor, positive, negative)]
    shapes = [call.facts.shape(part.shape) for part in parts]
    headline = f"can't compare {shapes[0]} with {shapes[1]} and {shapes[2]}"
    shape = call.broadcast(parts, headline)
    return _reduced(_rows(shape), dtypes.to_real(_kind(*parts)), rest)


@rule("pair loss")
def pair_loss(call: Call, input1: Value, input2: Value, target: Value, **rest: Value) -> Value:
    """Judge a loss of two inputs with a target for each pair.

    `"elements"`: of elements (`margin_ranking_loss`); `"rows"`: of rows (`cosine_embedding_loss`).
    """
    (kind,) = call.extra
    parts = [as_tensor(one) for one in (input1, input2, target)]
    shapes = [call.facts.shape(part.shape) for part in parts]
    headline = f"can't compare {shapes[0]} with {shapes[1]}"
    both = call.broadcast(parts[:2], headline)
    if kind == "rows":
        both = _rows(both)
    whole = call.broadcast((Tensor(both), parts[2]), f"can't score pairs of {both} by {shapes[2]}")
    return _reduced(whole, _kind(*(parts[:2] if kind == "rows" else parts)), rest)


@rule("ctc loss")
def ctc(call: Call, log_probs: Value, targets: Value, **rest: Value) -> Value:
    """Judge `ctc_loss`: log_probs `t n c` (or `t c`), one loss a sequence."""
    first = as_tensor(log_probs)
    shape = call.facts.shape(first.shape)
    if shape.rank is not None and shape.rank not in (2, 3):
        raise mismatch(
            f'"log_probs" has {counted(shape.rank, "axis")}, where 2 or 3 are expected',
            f"can't align {shape}",
        )
    lead: tuple[Item, ...] = Shape.unknown().dims
    if shape.rank is not None:
        lead = shape.dims[1:-1]
    if shape.known is not None and len(shape.known) == 3:
        _one_a_sequence(call, shape, {"targets": targets, **rest})
    return _reduced(Shape(lead), _kind(first), rest)


def _one_a_sequence(call: Call, log_probs: Shape, given: Mapping[str, Value]) -> None:
    """Refuse targets (unless all are in one row) and lengths of another number of sequences."""
    batch = as_dim(log_probs.dims[1])
    for name, ranks in (("targets", (2,)), ("input_lengths", (1, 2)), ("target_lengths", (1, 2))):
        value = given.get(name)
        shape = call.facts.shape(value.shape) if isinstance(value, Tensor) else Shape.unknown()
        if shape.known is None or len(shape.known) not in ranks:
            continue
        rows = shape.known[:1] if name == "targets" else shape.known
        rows = tuple(dim for dim in rows if not call.facts.same(dim, 1))
        if len(rows) == 1 and call.unify(rows[0], batch):
            continue
        if not rows and call.unify(1, batch):
            continue
        if not any(map(loose, rows)):
            raise mismatch(
                f'the sequences are axis 1 of "log_probs" ({batch}), and "{name}" is {shape}',
                f"can't align {log_probs}",
                "shape",
                "transpose",
                about=(batch, shape),
            )


@rule("distance")
def distance(
    call: Call, x1: Value, x2: Value, dim: Value = -1, keepdim: Value = False, **rest: Value
) -> Value:
    """Judge one number for each pair of rows: `cosine_similarity`, `pairwise_distance`.

    Some need numbers that aren't whole in one of them (`"inexact"`).
    """
    parts = [as_tensor(one) for one in (x1, x2)]
    a, b = (call.facts.shape(part.shape) for part in parts)
    headline = f"can't compare {a} with {b}"
    if "inexact" in call.extra:
        _float_in_one(parts, headline)
    shape = call.broadcast(parts, headline, strict=False)
    position = call.axis(shape, dim)
    kind = dtypes.to_real(_kind(*parts))
    if position is None or not isinstance(keepdim, bool):
        known = shape.rank is not None and keepdim is False
        lost = Shape.of_rank(max((shape.rank or 1) - 1, 0)) if known else Shape.unknown()
        return Tensor(lost, kind)
    if shape.rank == 0:
        return Tensor(shape, kind)
    return Tensor(replace(shape, position, *((1,) if keepdim else ())), kind)


@rule("one_hot")
def one_hot(call: Call, input: Value, num_classes: Value = -1, **rest: Value) -> Value:
    """Judge class indices `*s` to `*s num_classes`."""
    tensor = as_tensor(input)
    if not tensor.dtype & (dtypes.INTEGER):
        raise mismatch(
            '"input" must be Int', f"doesn't take {dtypes.describe(tensor.dtype)}", "shape-dtype"
        )
    shape = call.facts.shape(tensor.shape)
    count = dims.unknown() if num_classes == -1 else size(num_classes)
    return Tensor(Shape((*shape.dims, count)), dtypes.INT64)


@rule("halve")
def halve(call: Call, input: Value, dim: Value = -1, **rest: Value) -> Value:
    """Judge `F.glu`: an axis of even size becomes half as large."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    if shape.rank == 0:
        raise mismatch("a 0-d tensor has no axis", f"can't halve {shape}")
    position = call.axis(shape, dim)
    if position is None:
        return Tensor(
            Shape.unknown() if shape.rank is None else Shape.of_rank(shape.rank), tensor.dtype
        )
    item = shape.dims[position]
    assert not isinstance(item, Run)
    plain = dims.divide(dims.size_of(item), 2)
    whole = dims.size_of(call.facts.dim(item))
    half = dims.exact_quotient(whole, 2) if plain is None else plain
    if half is None:
        raise mismatch(
            f"axis {written(dim)} is {whole}, which 2 doesn't divide",
            f"can't halve {shape}",
            about=(whole,),
        )
    return Tensor(replace(shape, position, half), tensor.dtype)


@rule("embedding_bag")
def embedding_bag(
    call: Call,
    input: Value,
    weight: Value,
    offsets: Value = None,
    include_last_offset: Value = False,
    **rest: Value,
) -> Value:
    """Judge `n k` indices, or `n` with offsets, to one row of the table a bag."""
    table = call.facts.shape(as_tensor(weight).shape)
    shape = call.facts.shape(as_tensor(input).shape)
    width = table.at(1) if table.rank is not None else None
    rows: Item = dims.unknown()
    if shape.rank == 2:
        rows = shape.dims[0]
    elif shape.rank == 1 and isinstance(offsets, Tensor):
        bags = call.facts.shape(offsets.shape).at(0)
        if bags is not None and isinstance(include_last_offset, bool):
            rows = dims.size_of(bags) - include_last_offset
    elif shape.rank is not None and shape.rank > 2:
        raise mismatch(
            f'"input" has {counted(shape.rank, "axis")}, where 1 or 2 are expected',
            f"can't look up {shape}",
        )
    columns = dims.unknown() if width is None else width
    return Tensor(Shape((rows, columns)), as_tensor(weight).dtype)
