"""Attention: the function and the module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.dims import DimExpr, size_of
from shapecheck.ops.agree import counted, fits_axis, promote_all, size
from shapecheck.ops.call import UNKNOWN, Call, Value, as_tensor, rule
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


def _lead(
    call: Call, q: Shape, k: Shape, v: Shape, enable_gqa: Value, headline: str
) -> tuple[Item, ...]:
    """Return the axes before the last two, broadcast; the heads too unless they are grouped."""
    fronts = [shape.dims[:-2] for shape in (q, k, v)]
    if enable_gqa is not False:
        if enable_gqa is True:
            _groups(call, fronts, headline)
        return fronts[0]
    return call.broadcast([Tensor(Shape(front)) for front in fronts], headline, False).dims


def _groups(call: Call, fronts: list[tuple[Item, ...]], headline: str) -> None:
    if any(len(front) < 1 or isinstance(front[-1], Run) for front in fronts):
        return
    heads = [size_of(call.facts.dim(front[-1])) for front in fronts]  # type: ignore[arg-type]
    for name, count in zip(("key", "value"), heads[1:], strict=True):
        if isinstance(heads[0], int) and isinstance(count, int) and count and heads[0] % count:
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
        for axis in range(-1, -min(len(shape.dims), len(scores.dims)) - 1, -1):
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
    shapes = [call.facts.shape(part.shape) for part in parts]
    q, k, v = shapes
    headline = f"can't attend from {q} to {k} and {v}"
    _fits_module(call, self, shapes, headline)
    first = self.get("batch_first")
    rank = next((shape.rank for shape in shapes if shape.rank is not None), None)
    if rank is None or not isinstance(first, bool):
        return (Tensor(q, parts[0].dtype), UNKNOWN)
    batch, length = (0, 1) if first else (1, 0)
    if rank == 2:
        length = 0
    _same(call, (k, v), length, ("key", "value"), headline)
    if rank == 3:
        _same(call, (q, k), batch, ("query", "key"), headline)
        _same(call, (k, v), batch, ("key", "value"), headline)
    if rank == 3 and isinstance(key_padding_mask, Tensor):
        _padding(call, key_padding_mask.shape, (k.at(batch), k.at(length)), headline)
    if isinstance(attn_mask, Tensor):
        pairs = q.at(length), k.at(length)
        rows = None if rank == 2 else q.at(batch)
        _pairs_mask(call, attn_mask.shape, rows, size(self.get("num_heads")), pairs, headline)
    result = Tensor(q, parts[0].dtype)
    if need_weights is False:
        return (result, None)
    if need_weights is not True or not isinstance(average_attn_weights, bool):
        return (result, UNKNOWN)
    queries, keys = _known(q.at(length)), _known(k.at(length))
    for extra in (self.get("add_bias_kv"), self.get("add_zero_attn")):
        if extra is not False:
            keys = size_of(keys) + 1 if extra is True else dims.unknown()
    lead = (_known(q.at(batch)),) if rank == 3 else ()
    heads = () if average_attn_weights else (size(self.get("num_heads")),)
    return (result, Tensor(Shape((*lead, *heads, queries, keys)), parts[0].dtype))


def _known(dim: DimExpr | None) -> DimExpr:
    return dims.unknown() if dim is None else dim


def _fits_module(
    call: Call, self: Mapping[str, Value], shapes: Sequence[Shape], headline: str
) -> None:
    """Refuse queries, keys and values that aren't such as a module was made for."""
    width, heads = size(self.get("embed_dim")), size(self.get("num_heads"))
    if isinstance(width, int) and isinstance(heads, int) and heads > 0 and width % heads:
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


def _padding(
    call: Call, mask: Shape, wanted: tuple[DimExpr | None, DimExpr | None], headline: str
) -> None:
    """Check a mask of the keys: the batch, then their number, whatever `batch_first` says."""
    found = call.facts.shape(mask).known
    if found is None or len(found) != 2:
        return
    _fits_axes(call, "key_padding_mask", found, wanted, headline)


def _pairs_mask(
    call: Call,
    mask: Shape,
    batch: DimExpr | None,
    heads: DimExpr,
    pairs: tuple[DimExpr | None, DimExpr | None],
    headline: str,
) -> None:
    """Check a mask of queries against keys, one for all or one for each head of each batch row."""
    found = call.facts.shape(mask).known
    if found is None:
        return
    if len(found) not in (2, 3):
        raise mismatch(
            f'"attn_mask" has {counted(len(found), "axis")}, where 2 or 3 are expected', headline
        )
    wanted: tuple[DimExpr | None, ...] = pairs
    if len(found) == 3:
        rows = heads if batch is None else size_of(batch) * size_of(heads)
        wanted = (rows, *pairs)
    _fits_axes(call, "attn_mask", found, wanted, headline)


def _fits_axes(
    call: Call,
    name: str,
    found: Sequence[DimExpr],
    wanted: Sequence[DimExpr | None],
    headline: str,
) -> None:
    """Refuse a mask of which an axis is another size; of what is wanted, None isn't known."""
    for axis, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if other is not None:
            fits_axis(call, name, axis, one, other, headline)


_WIDTHS = ("kdim", "vdim")


def _same(
    call: Call, both: tuple[Shape, Shape], axis: int, names: tuple[str, str], headline: str
) -> None:
    one, other = both[0].at(axis), both[1].at(axis)
    if one is not None and other is not None and not call.unify(one, other):
        raise mismatch(
            f'axis {axis} is {one} in "{names[0]}" and {other} in "{names[1]}"',
            headline,
            "shape",
            "transpose",
            "swap",
            about=(one, other),
        )
