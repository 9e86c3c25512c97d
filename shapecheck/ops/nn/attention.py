"""Attention: the function and the module."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, size_of
from shapecheck.ops.agree import counted, fits_axis, promote_all, rank_of, size, spell
from shapecheck.ops.call import UNKNOWN, Call, Value, as_tensor, rule
from shapecheck.ops.nn.attention_masks import Masks, Rows
from shapecheck.shapes import Item, Mismatch, Run, Shape, Tensor, mismatch


@rule("attention")
def attention(
    call: Call,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value = None,
    is_causal: Value = False,
    enable_gqa: Value = False,
    **rest: Value,
) -> Value:
    """Judge query `*b l e`, key `*b s e`, value `*b s v`; the result is `*b l v`."""
    more = rest.get("return_lse", False), rest.get("return_aux")
    if more[0] is not True and (more[0] is not False or more[1] is UNKNOWN):
        return UNKNOWN
    parts = [as_tensor(one) for one in (query, key, value)]
    q, k, v = (call.facts.shape(part.shape) for part in parts)
    headline = f"can't attend from {q} to {k} and {v}"
    for name, shape in (("query", q), ("key", k), ("value", v)):
        if shape.rank is not None and shape.rank < 2:
            raise mismatch(
                f'"{name}" has {counted(shape.rank, "axis")}, at least 2 are expected', headline
            )
    for left, right, axis, names in ((q, k, -1, ("query", "key")), (k, v, -2, ("key", "value"))):
        one, other = left.at(axis), right.at(axis)
        if one is not None and other is not None and not call.unify(one, other):
            raise mismatch(
                f'axis {axis} is {one} in "{names[0]}" and {other} in "{names[1]}"',
                headline,
                "shape",
                "transpose",
                "swap",
                about=(one, other),
            )
    if attn_mask is not None and is_causal is True and isinstance(attn_mask, Tensor):
        raise mismatch("is_causal=True makes the mask itself", "takes no attn_mask")
    kind = promote_all(parts)
    length, width = q.at(-2), v.at(-1)
    if _leads_alone(q, v):
        width, k, v = dims.unknown() if width is None else width, q, q
    if length is None or width is None:
        return _beside(Tensor(Shape.unknown(), kind), *more)
    lead = _lead(call, q, k, v, enable_gqa, headline)
    if isinstance(attn_mask, Tensor) and k.at(-2) is not None:
        keys = k.at(-2)
        assert keys is not None
        _mask(call, attn_mask, Shape((*lead, length, keys)))
    return _beside(Tensor(Shape((*lead, length, width)), kind), *more)


def _beside(result: Tensor, return_lse: Value, return_aux: Value) -> Value:
    """Return a result with what was asked for beside it: a number of each query, or several."""
    if return_aux is not None:
        return (result, UNKNOWN)
    if return_lse is False:
        return result
    rows = Shape.unknown() if result.shape.opaque else Shape(result.shape.dims[:-1])
    return (result, Tensor(rows, dtypes.of("float32")))


def _leads_alone(query: Shape, value: Shape) -> bool:
    """Whether a query tells the axes in front of what it gives, beside a value of which nothing is.

    What is given to queries of a batch has no more axes than these.
    """
    rank = query.rank or 0
    return rank > 2 and value.rank is None and 1 not in query.dims[:-2]


def _lead(
    call: Call, q: Shape, k: Shape, v: Shape, enable_gqa: Value, headline: str
) -> tuple[Item, ...]:
    """Return the axes before the last two, broadcast; the heads too unless they are grouped."""
    fronts = [shape.dims[:-2] for shape in (q, k, v)]
    heads: tuple[Item, ...] = ()
    if enable_gqa is not False:
        if any(len(front) < 1 or isinstance(front[-1], Run) for front in fronts):
            return fronts[0]
        if enable_gqa is True:
            _groups(call, fronts, headline)
        heads = fronts[0][-1:]
        fronts = [front[:-1] for front in fronts]
    batches = [Tensor(Shape(front)) for front in fronts]
    return (*call.broadcast(batches, headline, False, 2 + len(heads)).dims, *heads)


def _groups(call: Call, fronts: list[tuple[Item, ...]], headline: str) -> None:
    """Refuse keys or values whose heads can't be shared out among those of the queries."""
    heads = [size_of(call.facts.dim(front[-1])) for front in fronts]  # type: ignore[arg-type]
    for name, count in zip(("key", "value"), heads[1:], strict=True):
        if dims.indivisible(heads[0], count):
            raise mismatch(
                f'the {count} heads of "{name}" (axis -3) don\'t divide the {heads[0]} of "query"',
                headline,
            )


def _mask(call: Call, mask: Tensor, scores: Shape) -> None:
    """Refuse a mask that doesn't expand to the scores, one number for each query and key."""
    headline = f"can't mask scores of {scores} by {mask}"
    if not mask.dtype & (dtypes.BOOL | dtypes.FLOAT):
        raise mismatch(
            f'"attn_mask" is {dtypes.describe(mask.dtype)}, it must be Bool or Float',
            headline,
            "shape-dtype",
        )
    shape = call.facts.shape(mask.shape)
    if scores.rank is not None and shape.rank is not None and shape.rank > scores.rank:
        raise mismatch(
            f'"attn_mask" has {counted(shape.rank, "axis")}, at most {scores.rank} are expected',
            headline,
        )
    try:
        call.broadcast((Tensor(scores), Tensor(shape)), headline, strict=False)
    except Mismatch:
        for axis in itertools.count(-1, -1):
            wanted, found = scores.at(axis), shape.at(axis)
            if wanted is None or found is None:
                break
            if call.facts.differ(wanted, found) and call.facts.dim(found) != 1:
                if call.facts.dim(wanted) == 1:
                    continue
                raise mismatch(
                    f'axis {axis} of "attn_mask" is {found}, where {wanted} is expected',
                    headline,
                    about=(found, wanted),
                ) from None
        raise


@rule("multi-head attention")
def multihead(
    call: Call,
    self: Mapping[str, Value],
    query: Value,
    key: Value,
    value: Value,
    key_padding_mask: Value = None,
    need_weights: Value = True,
    attn_mask: Value = None,
    average_attn_weights: Value = True,
    **rest: Value,
) -> Value:
    """Judge `nn.MultiheadAttention`: query `l b e` (`b l e` if batch_first, or `l e`)."""
    parts = [as_tensor(one) for one in (query, key, value)]
    steps_first = self.get("batch_first") is not True
    shapes = [call.facts.batched(part.shape, 2, steps_first) for part in parts]
    q, k, v = shapes
    headline = f"can't attend from {q} to {k} and {v}"
    _fits_module(call, self, shapes, headline)
    masks = Masks(attn_mask, key_padding_mask, rest.get("is_causal"))
    _attend(call, shapes, masks, self.get("batch_first"), self.get("num_heads"), headline)
    extra = self.get("add_bias_kv"), self.get("add_zero_attn")
    result = Tensor(q, parts[0].dtype)
    if need_weights is False:
        return (result, None)
    rows = _rows(shapes, self.get("batch_first"))
    if need_weights is not True or not isinstance(average_attn_weights, bool) or rows is None:
        return (result, UNKNOWN)
    heads = () if average_attn_weights else (size(self.get("num_heads")),)
    return (result, Tensor(_weights(rows, heads, extra), parts[0].dtype))


@rule("multi-head attention function")
def multihead_function(
    call: Call,
    query: Value,
    key: Value,
    value: Value,
    num_heads: Value,
    out_proj_weight: Value,
    **rest: Value,
) -> Value:
    """Judge what `nn.MultiheadAttention` calls: query `l b e` or `l e`, a weight `e_out e`."""
    parts = [as_tensor(one) for one in (query, key, value)]
    shapes = [call.facts.shape(part.shape) for part in parts]
    headline = "can't attend from {} to {} and {}".format(*shapes)
    masks = Masks(rest.get("attn_mask"), rest.get("key_padding_mask"), rest.get("is_causal"))
    if rest.get("static_k") is None and rest.get("static_v") is None:
        _attend(call, shapes, masks, False, num_heads, headline)
    weights: Value = UNKNOWN
    rows = _rows(shapes, False)
    if rest.get("need_weights", True) is True and rows is not None:
        extra = rest.get("bias_k") is not None, rest.get("add_zero_attn")
        averaged = rest.get("average_attn_weights", True)
        if isinstance(averaged, bool):
            heads = () if averaged else (size(num_heads),)
            weights = Tensor(_weights(rows, heads, extra), parts[0].dtype)
    width = as_tensor(out_proj_weight).shape.at(0)
    if shapes[0].at(-1) is None or width is None:
        return (Tensor(Shape.unknown(), parts[0].dtype), weights)
    return (Tensor(Shape((*shapes[0].dims[:-1], width)), parts[0].dtype), weights)


def _rows(shapes: Sequence[Shape], batch_first: Value) -> tuple[Rows, Rows, Rows] | None:
    """Return the rows of queries, keys and values, None where nothing is known of them."""
    rank = rank_of(shapes)
    if rank is None or not isinstance(batch_first, bool):
        return None
    q, k, v = (Rows.of(spell(shape, rank) or shape, batch_first) for shape in shapes)
    return q, k, v


def _attend(
    call: Call,
    shapes: Sequence[Shape],
    masks: Masks,
    batch_first: Value,
    heads: Value,
    headline: str,
) -> None:
    """Refuse queries, keys and values of different rows, and masks that don't fit."""
    rows = _rows(shapes, batch_first)
    if rows is None:
        masks.check(call, Rows(), Rows(), heads, headline)
        return
    q, k, v = rows
    batch, length = (0, 1) if batch_first else (1, 0)
    if q.rank == 2:
        length = 0
    _same(call, (k.length, v.length), length, ("key", "value"), headline)
    if q.rank == 3:
        _same(call, (q.batch, k.batch), batch, ("query", "key"), headline)
        _same(call, (k.batch, v.batch), batch, ("key", "value"), headline)
    masks.check(call, q, k, heads, headline)


def _weights(
    rows: tuple[Rows, Rows, Rows], heads: tuple[DimExpr, ...], extra: tuple[Value, Value]
) -> Shape:
    """Return how much each query attends to each key; `extra` are keys that a module adds."""
    q, k, _ = rows
    queries, keys = _known(q.length), _known(k.length)
    for one in extra:
        if one is not False:
            keys = size_of(keys) + 1 if one is True else dims.unknown()
    lead = (_known(q.batch),) if q.rank == 3 else ()
    return Shape((*lead, *heads, queries, keys))


def _known(dim: DimExpr | None) -> DimExpr:
    return dims.unknown() if dim is None else dim


def _fits_module(
    call: Call, self: Mapping[str, Value], shapes: Sequence[Shape], headline: str
) -> None:
    """Refuse queries, keys and values that aren't such as a module was made for."""
    width, heads = size(self.get("embed_dim")), size(self.get("num_heads"))
    if dims.indivisible(width, heads):
        raise mismatch(f"embed_dim {width} isn't divisible by {heads} heads", headline)
    names = ("query", "key", "value")
    for name, shape in zip(names, shapes, strict=True):
        if shape.rank is not None and shape.rank not in (2, 3):
            raise mismatch(
                f'"{name}" has {counted(shape.rank, "axis")}, where 2 or 3 are expected', headline
            )
    widths = [width, *(size(self[n]) if self.get(n) is not None else width for n in _WIDTHS)]
    for name, shape, wanted in zip(names, shapes, widths, strict=True):
        fits_axis(call, name, -1, shape.at(-1), wanted, headline, "transpose")


_WIDTHS = ("kdim", "vdim")


def _same(
    call: Call,
    both: tuple[DimExpr | None, DimExpr | None],
    axis: int,
    names: tuple[str, str],
    headline: str,
) -> None:
    one, other = both
    if one is not None and other is not None and not call.unify(one, other):
        raise mismatch(
            f'axis {axis} is {one} in "{names[0]}" and {other} in "{names[1]}"',
            headline,
            "shape",
            "transpose",
            "swap",
            about=(one, other),
        )
