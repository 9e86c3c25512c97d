"""RETURNN's functions that take elements, put some in, and put tensors together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from systems.originals.frontend.dims import Dim
from systems.originals.frontend.functions import (
    cast,
    clip_by_value,
    compare_bc,
    cumsum,
    exp,
    full,
    log,
    ones,
    plain,
    range_over_dim,
    reduce_max,
    reduce_sum,
    sequence_mask,
    several,
    where,
)
from systems.originals.frontend.tensors import Tensor, holding
from torch import nn

from shapecheck import dims_of, named


def _expanded(x: Tensor, dims: Sequence[Dim]) -> Tensor:
    """Return a tensor with all of these dimensions, in front those that it hasn't."""
    new = [dim for dim in dims if dim not in x.dims]
    return x.copy_compatible_to_dims([*new, *x.dims], unbroadcast=True) if new else x


def _merged(x: Tensor, dims: Sequence[Dim]) -> tuple[torch.Tensor, Any]:
    """Return data in which dimensions are one, and which one that is."""
    whole = reduce(lambda a, b: a * b, plain(dims))
    return named.stack(_expanded(x, dims).t, plain(dims)) if len(dims) > 1 else x.t, whole


def _taken(x: torch.Tensor, mask: torch.Tensor, dim: Any, new: Dim | None) -> tuple[Tensor, Dim]:
    """Return what of a dimension a mask is true of, in front of a new one, which has lengths."""
    counts = holding(named.sum(mask.int(), dim).int())
    new = Dim(counts, name="taken") if new is None else new
    if new._sizes is None or new._sizes.raw_tensor is None:
        new.dyn_size_ext = counts
    place = dims_of(mask).index(dim)
    first_ones = (~mask).int() * mask.shape[place] + named.cumsum(torch.ones_like(mask).int(), dim)
    order = named.argsort(first_ones, dim)
    first = part_of(order, dim, 0, new)
    return holding(named.gather(x, dim, first, new.ours)), new


def part_of(x: torch.Tensor, dim: Any, start: int, new: Dim) -> torch.Tensor:
    """Return a part of a dimension, which has another name."""
    names = [new.ours if one == dim else one for one in dims_of(x)]
    return named(named.narrow(x, dim, start, new.get_dim_value()), *names)


def masked_select(
    x: Tensor, *, mask: Tensor, dims: Sequence[Dim], out_dim: Dim | None = None
) -> tuple[Tensor, Dim]:
    shown, whole = _merged(mask.copy_masked(False), dims)
    given, _ = _merged(_expanded(x, dims), dims)
    found, new = _taken(given, shown, whole, out_dim)
    return Tensor("taken", found.dims, x.dtype, found.raw_tensor, sparse_dim=x.sparse_dim), new


def masked_scatter(
    x: Tensor, backup: Any = None, *, mask: Tensor, dims: Sequence[Dim], in_dim: Dim
) -> Tensor:
    shown, whole = _merged(mask.copy_masked(False), dims)
    at = named.cumsum(shown.int(), whole) - 1
    at = named.split(at, whole) if len(dims) > 1 else at
    found = gather(x, indices=holding(at.clamp(min=0)), axis=in_dim)
    return where(mask.copy_masked(False), found, 0 if backup is None else backup)


def pack_padded(
    x: Tensor, *, dims: Sequence[Dim], enforce_sorted: bool = False, out_dim: Dim | None = None
) -> tuple[Tensor, Dim]:
    mask = _expanded(sequence_mask(dims), dims)
    return masked_select(x, mask=mask, dims=dims, out_dim=out_dim)


def pad_packed(x: Tensor, *, in_dim: Dim, dims: Sequence[Dim]) -> Tensor:
    mask = _expanded(sequence_mask(dims), dims)
    return masked_scatter(x, mask=mask, in_dim=in_dim, dims=dims)


class nested:
    """A tensor with the dimension of its sequences, taken by a mask and put in again."""

    @staticmethod
    def masked_select_nested(
        given: tuple[Tensor, Dim], *, mask: Tensor, mask_cpu: Tensor, dims: Sequence[Dim]
    ) -> tuple[tuple[Tensor, Dim], Dim, dict[Dim, Dim]]:
        x, dim = given
        taken, new = masked_select(x, mask=mask, dims=dims)
        sizes, _ = masked_select(dim.get_size_tensor(), mask=mask, dims=dims, out_dim=new)
        shorter = Dim(sizes, name="taken")
        return (replace_dim_v2(taken, in_dim=dim, out_dim=shorter), shorter), new, {shorter: dim}

    @staticmethod
    def masked_scatter_nested(
        given: tuple[Tensor, Dim],
        backup: tuple[Tensor, Dim],
        *,
        mask: Tensor,
        mask_cpu: Tensor,
        dims: Sequence[Dim],
        in_dim: Dim,
        masked_select_dim_map: dict[Dim, Dim],
    ) -> tuple[Tensor, Dim]:
        (x, dim), (other, other_dim) = given, backup
        put = {"mask": mask, "dims": dims, "in_dim": in_dim}
        both = other_dim
        if masked_select_dim_map[dim] != other_dim:
            sizes = masked_scatter(dim.get_size_tensor(), other_dim.get_size_tensor(), **put)
            both = Dim(sizes, name="both")
        x, other = (
            replace_dim_v2(one, in_dim=own, out_dim=both)
            for one, own in ((x, dim), (other, other_dim))
        )
        return masked_scatter(x, other, **put), both


def reshape(x: Tensor, in_dims: Sequence[Dim], out_dims: Sequence[Dim]) -> Tensor:
    others = [dim for dim in x.dims if dim not in in_dims]
    held = x.copy_transpose([*others, *in_dims]).t
    sizes = [dim.get_dim_value() for dim in (*others, *out_dims)]
    return holding(named(held.reshape(sizes), *plain([*others, *out_dims])))


def expand_dim(x: Tensor, dim: Dim) -> Tensor:
    return _expanded(x, [dim])


def concat(*parts: tuple[Tensor, Dim]) -> tuple[Tensor, Dim]:
    """Put tensors one behind the other, and the frames of each sequence next to each other."""
    out = reduce(lambda a, b: a + b, [dim for _, dim in parts])
    found = named.cat([x.t for x, _ in parts], plain([dim for _, dim in parts]))
    if not any(dim.need_masking() for _, dim in parts):
        return holding(found), out
    whole = reduce(lambda a, b: a + b, [dim.padded for _, dim in parts])
    mask = named.mask(found, whole)
    for dim in dims_of(found):
        if dim not in dims_of(mask):
            mask = mask.squeeze(dims_of(mask).index(None))
    return _taken(found, mask, out.ours, Dim(holding(whole.lengths), name="concat"))


def pad(
    x: Tensor,
    *,
    axes: Sequence[Dim],
    padding: Sequence[tuple[int, int]],
    value: Any = 0,
    **options: object,
) -> tuple[Tensor, list[Dim]]:
    new = []
    for dim, (left, right) in zip(axes, padding, strict=True):
        parts = [(x, dim)]
        for count, place in ((left, 0), (right, len(parts))):
            if count:
                beside = Dim(count, name=f"pad_{place}")
                others = [beside if one == dim else one for one in x.dims]
                filled = value if isinstance(value, Tensor) else full([], value, x.dtype)
                filled = cast(filled, x.dtype)
                parts.insert(place, (filled.copy_compatible_to_dims(others, True), beside))
        joined, out = concat(*parts)
        named_out = left + dim + right
        x, _ = replace_dim(joined, in_dim=out, out_dim=named_out)
        new.append(named_out)
    return x, new


def stack(parts: Sequence[Tensor], *, out_dim: Dim | None = None) -> tuple[Tensor, Dim]:
    new = out_dim or Dim(len(parts), name="stack")
    return holding(named.stack_new([x.t for x in parts], new.ours)), new


def unstack(x: Tensor, *, axis: Dim) -> tuple[Tensor, ...]:
    return tuple(map(holding, named.unbind(x.t, axis.ours)))


def gather(
    x: Tensor, *, indices: Any, axis: Dim | None = None, clip_to_valid: bool = False
) -> Tensor:
    """Take elements of a dimension at indices; what both have is taken together."""
    axis = axis or indices.sparse_dim
    if isinstance(indices, int):
        return x.like(named.get(x.t, axis.ours, indices))
    if clip_to_valid:
        last = axis.get_size_tensor() - 1 if axis.need_masking() else axis.get_dim_value() - 1
        indices = clip_by_value(indices, 0)
        indices = where(indices < last, indices, last)
    new = [dim for dim in indices.dims if dim not in x.dims or dim == axis]
    at, sparse = indices.t.long(), x.sparse_dim
    if len(new) == 1 and new[0] != axis:
        return holding(named.gather(x.t, axis.ours, at, new[0].ours), sparse)
    one = Dim(1, name="one")
    whole = named.stack(at, one=plain(new)) if new else named.stack_new([at], "one")
    found = named.gather(x.t, axis.ours, whole, "one")
    if not new:
        return holding(named.get(found, "one", 0), sparse)
    sizes = [dim.get_dim_value() for dim in new]
    del one
    place = list(dims_of(found)).index("one")
    dims = [dim for dim in dims_of(found) if dim != "one"]
    return holding(
        named(found.unflatten(place, sizes), *dims[:place], *plain(new), *dims[place:]), sparse
    )


EMPTY = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}
REDUCTIONS = {"sum": "sum", "max": "amax", "min": "amin"}


def scatter(
    x: Tensor,
    *,
    indices: Tensor,
    indices_dim: Dim | Sequence[Dim],
    mode: str = "sum",
    fill_value: float | None = None,
    out_dim: Dim | None = None,
) -> Tensor:
    """Put elements at indices of a new dimension, those of padding nowhere."""
    new = out_dim or indices.sparse_dim
    size = new.get_dim_value()
    away = several(indices_dim)
    for dim in away:
        if dim.need_masking():
            indices = where(_expanded(dim.get_mask(), [dim]), indices, size)
    beside = [dim for dim in indices.dims if dim not in away]
    others = [dim for dim in x.dims if dim not in indices.dims]
    source = _expanded(x, indices.dims).copy_transpose([*beside, *away, *others]).t
    source = source.flatten(len(beside), len(beside) + len(away) - 1)
    at = indices.copy_transpose([*beside, *away]).t.long().flatten(len(beside))
    at = at.reshape([*at.shape, *[1] * len(others)]).expand(source.shape)
    empty = EMPTY[mode] if fill_value is None else fill_value
    empty = empty if source.is_floating_point() else int(max(min(empty, 2**31 - 1), -(2**31)))
    shape = [*source.shape[: len(beside)], size + 1, *source.shape[len(beside) + 1 :]]
    made = torch.full(shape, empty, dtype=source.dtype)
    made = made.scatter_reduce(
        len(beside), at, source, REDUCTIONS[mode], include_self=fill_value is None
    )
    return holding(
        named(made.narrow(len(beside), 0, size), *plain(beside), new.ours, *plain(others))
    )


def _counts(indices: Tensor, given: dict[str, Any]) -> Tensor:
    found = scatter(ones(indices.dims, "int32"), indices=indices, **given)
    return holding(named.op(found.t, lambda t: t.clamp(min=1)))


def scatter_mean(x: Tensor, *, indices: Tensor, **given: Any) -> Tensor:
    return scatter(x, indices=indices, **given) / _counts(indices, given)


def scatter_logmeanexp(x: Tensor, *, indices: Tensor, **given: Any) -> Tensor:
    found = scatter(exp(x), indices=indices, **given)
    return log(found / _counts(indices, given))


def scatter_argmax(x: Tensor, *, indices: Tensor, indices_dim: Dim, out_dim: Dim) -> Tensor:
    given: dict[str, Any] = {"indices": indices, "indices_dim": indices_dim, "out_dim": out_dim}
    largest = scatter(x, mode="max", **given)
    largest = gather(largest, indices=indices, axis=out_dim, clip_to_valid=True)
    first = where(largest == x, range_over_dim(indices_dim), 2**31 - 1)
    found = scatter(first, mode="min", **given)
    return holding(where(found == 2**31 - 1, -1, found).t, indices_dim)


def slice_(
    x: Tensor,
    *,
    axis: Dim,
    start: Any = 0,
    end: int | None = None,
    size: Any = None,
) -> tuple[Tensor, Dim]:
    if size is not None:
        new = size if isinstance(size, Dim) else Dim(size, name="slice")
    elif isinstance(start, Tensor):
        new = Dim(axis.get_size_tensor() - start, name="slice")
    else:
        new = axis.sub_left(start) if start else axis
        new = new if end is None else new - -end
    if isinstance(start, Tensor):
        at = start + range_over_dim(new)
        return gather(x, indices=at, axis=axis, clip_to_valid=True), new
    found = named.narrow(x.t, axis.ours, start, new.get_dim_value())
    names = [new if dim == axis else dim for dim in x.dims]
    return Tensor(x.name, names, x.dtype, found, sparse_dim=x.sparse_dim), new


def shift_right(x: Tensor, *, axis: Dim, pad_value: Any, amount: int = 1) -> Tensor:
    longer, [new] = pad(x, axes=[axis], padding=[(amount, 0)], value=pad_value)
    return slice_(longer, axis=new, size=axis)[0]


def reverse_sequence(x: Tensor, *, axis: Dim, handle_dynamic_dims: bool = True) -> Tensor:
    if not handle_dynamic_dims or not axis.need_masking():
        return holding(named.flip(x.t, axis.ours))
    last = axis.get_size_tensor() - 1
    other, _ = replace_dim(last - range_over_dim(axis), in_dim=axis, out_dim=Dim(axis.dyn_size_ext))
    found = gather(x, indices=other, axis=axis, clip_to_valid=True)
    [new] = [dim for dim in other.dims if dim not in last.dims]
    return replace_dim(found, in_dim=new, out_dim=axis)[0].copy_transpose(x.dims)


def search_sorted(x: Tensor, values: Tensor, *, axis: Dim, side: str = "left") -> Tensor:
    before = compare_bc(x, "<" if side == "left" else "<=", values)
    return holding(named.sum(before.t.int(), axis.ours).int(), axis)


def repeat(x: Tensor, *, in_spatial_dim: Dim, repeats: Tensor) -> tuple[Tensor, Dim]:
    repeats = repeats.copy_masked(0, [in_spatial_dim])
    ends = cumsum(repeats, spatial_dim=in_spatial_dim)
    new = Dim(reduce_max(ends, axis=in_spatial_dim), name="repeat")
    passed = compare_bc(ends, "<=", range_over_dim(new))
    at = reduce_sum(cast(passed, "int32"), axis=in_spatial_dim)
    return gather(x, indices=at, axis=in_spatial_dim, clip_to_valid=True), new


def replace_dim(x: Tensor, *, in_dim: Dim, out_dim: Dim) -> tuple[Tensor, Dim]:
    names = plain([out_dim if dim == in_dim else dim for dim in x.dims])
    return x.like(named(x.t.view_as(x.t), *names)), out_dim


def replace_dim_v2(x: Tensor, *, in_dim: Dim, out_dim: Dim) -> Tensor:
    """Call a dimension another, which may be longer or shorter."""
    longer = out_dim.get_dim_value() - in_dim.get_dim_value()
    held = x.copy_transpose([*(dim for dim in x.dims if dim != in_dim), in_dim])
    data = nn.functional.pad(held.t.int() if x.dtype == "bool" else held.t, (0, longer))
    found = named(data.to(held.t.dtype), *plain(held.dims[:-1]), out_dim.ours)
    order = [out_dim if dim == in_dim else dim for dim in x.dims]
    return x.like(found).copy_transpose(order)


def pool1d(
    x: Tensor, *, mode: str, pool_size: int, strides: int, padding: str, in_spatial_dim: Dim
) -> tuple[Tensor, Dim]:
    assert (mode, padding, strides) == ("avg", "same", 1)
    held = named.transpose(x.t, in_spatial_dim.ours)
    pooled = nn.functional.avg_pool1d(held, pool_size, 1, pool_size // 2, count_include_pad=False)
    return holding(named(pooled, *dims_of(held))), in_spatial_dim
