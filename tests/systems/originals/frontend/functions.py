"""RETURNN's functions of tensors, `rf`, each made of operations by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from systems.originals.frontend.dims import Dim, static_traceable
from systems.originals.frontend.tensors import (
    Tensor,
    combined,
    data_of,
    dtype_of,
    holding,
)
from torch import nn

from shapecheck import dims_of, named

set_static_traceable_ctx = static_traceable


def select_backend(name: str) -> None:
    """Take no backend: there is one."""


def select_backend_torch() -> None:
    """Take torch."""


def is_backend_raw_tensor_dim_tag_independent() -> bool:
    """Whether data knows nothing of its dimensions: it is plain."""
    return True


class Module:
    """A model."""


def several(dims: Dim | Sequence[Dim]) -> list[Dim]:
    return [dims] if isinstance(dims, Dim) else list(dims)


def padded(dims: Dim | Sequence[Dim]) -> list[Any]:
    """Return our dimensions with their lengths."""
    return [dim.padded for dim in several(dims)]


def plain(dims: Dim | Sequence[Dim]) -> list[Any]:
    """Return our dimensions."""
    return [dim.ours for dim in several(dims)]


# Making tensors -----------------------------------------------------------------------------------


def convert_to_tensor(
    value: Any,
    dims: Sequence[Dim] = (),
    dtype: str | None = None,
    sparse_dim: Dim | None = None,
    name: str = "const",
    _backend: object = None,
) -> Tensor:
    if isinstance(value, Tensor):
        return value
    made = torch.as_tensor(value, dtype=None if dtype is None else dtype_of(dtype))
    return holding(named(made, *plain(dims)), sparse_dim)


def full(dims: Sequence[Dim], value: Any, dtype: str = "float32") -> Tensor:
    sizes = [dim.get_dim_value() for dim in dims]
    return holding(named(torch.full(sizes, value, dtype=dtype_of(dtype)), *plain(dims)))


def zeros(dims: Sequence[Dim], dtype: str = "float32", device: object = None) -> Tensor:
    return full(dims, 0, dtype)


def ones(dims: Sequence[Dim], dtype: str = "float32", device: object = None) -> Tensor:
    return full(dims, 1, dtype)


def constant(value: Any, dims: Sequence[Dim], dtype: str = "float32") -> Tensor:
    return full(dims, value, dtype)


def random_uniform(
    dims: Sequence[Dim], dtype: str = "float32", minval: float = 0, maxval: float = 1
) -> Tensor:
    sizes = [dim.get_dim_value() for dim in dims]
    made = torch.rand(sizes) * (maxval - minval) + minval
    return holding(named(made.to(dtype_of(dtype)), *plain(dims)))


def range_over_dim(dim: Dim, dtype: str = "int32", device: object = None) -> Tensor:
    made = torch.arange(dim.get_dim_value(), dtype=dtype_of(dtype))
    return holding(named(made, dim.ours), dim)


def sequence_mask(dims: Dim | Sequence[Dim], device: object = None) -> Tensor:
    found = holding(torch.tensor(True))
    for dim in several(dims):
        if dim.need_masking():
            found = found & dim.get_mask()
    return found


def num_elements_of_shape(dims: Sequence[Dim]) -> Any:
    """Return how many elements there are without the padding."""
    if not any(dim.need_masking() for dim in dims):
        return torch.Size([dim.get_dim_value() for dim in dims]).numel()
    counts = holding(torch.tensor(1))
    for dim in sorted(dims, key=lambda dim: not dim.need_masking()):
        if dim.need_masking():
            counts = counts * dim.get_size_tensor()
        elif dim in counts.dims:
            counts = reduce_sum(counts, axis=dim)
        else:
            counts = counts * dim.get_dim_value()
    return counts


# Elementwise --------------------------------------------------------------------------------------


def _of_one(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: holding(named.op(x.t, function))


abs = _of_one(torch.abs)
exp = _of_one(torch.exp)
log = _of_one(torch.log)
relu = _of_one(torch.relu)
sigmoid = _of_one(torch.sigmoid)
log_sigmoid = _of_one(nn.functional.logsigmoid)
logical_not = _of_one(torch.logical_not)


def cast(x: Tensor, dtype: str) -> Tensor:
    return x.like(named.op(x.t, lambda t: t.to(dtype_of(dtype))))


def clip_by_value(x: Tensor, least: Any, most: Any = None) -> Tensor:
    return holding(named.op(x.t, lambda t: t.clamp(least, most)))


COMPARISONS = {"==": torch.eq, "!=": torch.ne, "<": torch.lt, "<=": torch.le, ">": torch.gt}


def compare_bc(a: Tensor, kind: str, b: Tensor) -> Tensor:
    return combined(COMPARISONS[kind], a, b)


def squared_difference(a: Tensor, b: Tensor) -> Tensor:
    return combined(lambda x, y: (x - y).square(), a, b)


def log_add_exp(a: Tensor, b: Tensor) -> Tensor:
    return combined(torch.logaddexp, a, b)


def where(condition: Tensor, true: Any, false: Any) -> Tensor:
    held = [condition, *(one for one in (true, false) if isinstance(one, Tensor))]
    if not any(one.dims for one in held):
        return holding(torch.where(condition.t, data_of(true), data_of(false)))
    aligned = iter(named.align(*[one.t for one in held]))
    cond, one, two = (
        next(aligned),
        *(next(aligned) if isinstance(value, Tensor) else value for value in (true, false)),
    )
    if not any(isinstance(value, torch.Tensor) for value in (one, two)):
        one = torch.as_tensor(one)
    return holding(torch.where(cond, one, two))


# Products and reductions --------------------------------------------------------------------------


def matmul(a: Tensor, b: Tensor, *, reduce: Dim | Sequence[Dim], use_mask: bool = True) -> Tensor:
    """Multiply and sum; in front are the dimensions that both have, as they are in `a`."""
    found = named.dot(a.t, b.t, padded(reduce))
    left = [dim for dim in (*a.dims, *b.dims) if dim not in several(reduce)]
    both = [dim for dim in left if dim in a.dims and dim in b.dims]
    order = dict.fromkeys((*both, *left))
    return holding(named.order(found, *plain(list(order))) if order else found)


def _reduction(function: Callable[..., torch.Tensor]) -> Callable[..., Tensor]:
    def reduce(x: Tensor, *, axis: Dim | Sequence[Dim]) -> Tensor:
        return x.like(function(x.t, padded(axis))) if several(axis) else x

    return reduce


reduce_sum = _reduction(named.sum)
reduce_mean = _reduction(named.mean)
reduce_max = _reduction(named.amax)
reduce_min = _reduction(named.amin)


def reduce_argmax(x: Tensor, *, axis: Dim) -> Tensor:
    return holding(named.argmax(x.t, axis.padded).int(), axis)


def softmax(x: Tensor, *, axis: Dim) -> Tensor:
    return holding(named.softmax(x.t, axis.padded))


def log_softmax(x: Tensor, *, axis: Dim) -> Tensor:
    return holding(named.log_softmax(x.t, axis.padded))


def cumsum(x: Tensor, *, spatial_dim: Dim) -> Tensor:
    return holding(named.cumsum(x.t, spatial_dim.ours).to(x.t.dtype))


def cross_entropy(estimated: Tensor, estimated_type: str, target: Tensor, axis: Dim) -> Tensor:
    assert estimated_type == "logits"
    logs = named.log_softmax(estimated.t, axis.padded)
    if axis in target.dims:
        return holding(-named.dot(target.t, logs, axis.padded))
    one = Dim(1, name="one")
    at = named.stack_new([target.t.long()], one.ours)
    return holding(-named.get(named.gather(logs, axis.ours, at, one.ours), one.ours, 0))


def top_k(x: Tensor, *, axis: Dim | Sequence[Dim], k: int, k_dim: Dim | None = None) -> Any:
    """Return the largest, where they are in each dimension, and the dimension that they have."""
    new = k_dim or Dim(k, name="top_k")
    flat = named.stack(x.t, merged=plain(axis))
    names = [new.ours if dim == "merged" else dim for dim in dims_of(flat)]
    found, at = named.topk(flat, k, "merged")
    values, index = holding(named(found, *names)), named(at.int(), *names)
    if isinstance(axis, Dim):
        return values, holding(index, axis), new
    places = []
    for dim in reversed(axis):
        places.insert(0, holding(index % dim.get_dim_value(), dim))
        index = index // dim.get_dim_value()
    return values, places, new
