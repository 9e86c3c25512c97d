"""RETURNN's `Tensor`: a plain tensor whose axes have our dimensions as names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy
import torch
from systems.originals.frontend import dims as ours
from systems.originals.frontend.dims import Dim, DimTypes

from shapecheck import assert_shape, dims_of, named


def dtype_of(name: str) -> torch.dtype:
    return getattr(torch, name)  # type: ignore[no-any-return]


class Tensor:
    """A tensor of RETURNN's, with or without data; `t` is the data with names."""

    def __init__(
        self,
        name: str,
        dims: Iterable[Dim] = (),
        dtype: str = "float32",
        raw_tensor: Any = None,
        *,
        sparse_dim: Dim | None = None,
        feature_dim: Dim | None = None,
        dim_tags: Iterable[Dim] | None = None,
    ) -> None:
        self.name = name
        self.dims = tuple(dims if dim_tags is None else dim_tags)
        self.dtype, self.raw_tensor = dtype, raw_tensor
        self.sparse_dim, self.feature_dim = sparse_dim, feature_dim

    dim_tags = property(lambda self: self.dims)
    device = None

    @property
    def dims_set(self) -> set[Dim]:
        return set(self.dims)

    @property
    def t(self) -> torch.Tensor:
        """The data, in which every axis has the name of its dimension."""
        raw = self.raw_tensor
        if not isinstance(raw, torch.Tensor):
            raw = torch.as_tensor(numpy.asarray(raw))
        return named(raw, *[dim.ours for dim in self.dims])

    def __repr__(self) -> str:
        return f"{self.name} {list(self.dims)} {self.dtype}"

    def __reduce__(self) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
        return _loaded, (self.name, self.dims, self.dtype, self.raw_tensor, self.sparse_dim)

    # Its shape ----------------------------------------------------------------------------------

    def verify_out_shape(self, shape: Iterable[Dim]) -> None:
        """Check the dimensions, in any order."""
        shape = tuple(shape)
        if self.raw_tensor is None:
            assert self.dims_set == set(shape), (self.dims, shape)
        else:
            assert_shape(self.t, {dim.ours for dim in shape})

    def get_axis_from_description(self, text: str) -> int:
        """Return the axis of which the description has a part."""
        part = text.removeprefix("stag:")
        [found] = [at for at, dim in enumerate(self.dims) if part in dim.name]
        return found

    def get_dim_tag_from_description(self, dim: Dim) -> Dim:
        return self.dims[self.dims.index(dim)]

    def find_matching_dim_map(self, other: Tensor, other_axes: Sequence[int]) -> dict[int, int]:
        """Return which axis of this one each of the other's is: the very object, if it is there."""
        mine = [dim.ours for dim in self.dims]
        return {at: mine.index(other.dims[at].ours) for at in other_axes}

    # The same with axes in another order --------------------------------------------------------

    def copy_template(self) -> Tensor:
        return Tensor(self.name, self.dims, self.dtype, sparse_dim=self.sparse_dim)

    def like(self, t: torch.Tensor) -> Tensor:
        """Return data with names as a tensor that has the same sparse and feature dimension."""
        found = holding(t, self.sparse_dim)
        found.feature_dim = self.feature_dim if self.feature_dim in found.dims else None
        return found

    def copy_transpose(self, dims: Sequence[Dim]) -> Tensor:
        found = named.order(self.t, *[dim.ours for dim in dims])
        return Tensor(self.name, dims, self.dtype, found, sparse_dim=self.sparse_dim)

    def copy_compatible_to(self, other: Tensor, unbroadcast: bool = False) -> Tensor:
        return self.copy_compatible_to_dims(other.dims, unbroadcast)

    def copy_compatible_to_dims(self, dims: Sequence[Dim], unbroadcast: bool = False) -> Tensor:
        """Return this with other dimensions, too: 1 for those that it hasn't, or their size."""
        found = named.align_to(self.t, *[dim.ours for dim in dims])
        if unbroadcast:
            sizes = [dim.get_dim_value() for dim in dims]
            return self.like(named(found.expand(sizes), *[dim.ours for dim in dims]))
        mine = set(self.dims)
        given = [dim if dim in mine else Dim(1, name="ones") for dim in dims]
        return Tensor(self.name, given, self.dtype, found, sparse_dim=self.sparse_dim)

    def copy_compatible_to_dims_raw(self, dims: Sequence[Dim]) -> torch.Tensor:
        return named.align_to(self.t, *[dim.ours for dim in dims])

    def copy_masked(self, mask_value: float, dims: Iterable[Dim] | None = None) -> Tensor:
        """Return this with a value in the place of its padding."""
        found = self.t
        for dim in self.dims if dims is None else dims:
            if dim.need_masking() and dim.get_size_tensor().dims_set <= self.dims_set:
                padding = ~named.mask(found, dim.padded)
                found = named.masked_fill(found, padding, mask_value)
        return Tensor(self.name, self.dims, self.dtype, found, sparse_dim=self.sparse_dim)

    # What a model gives -------------------------------------------------------------------------

    def mark_as_output(self, name: str, shape: Sequence[Dim] | None = None) -> None:
        from systems.originals.frontend.running import outputs

        outputs[-1][name] = self if shape is None else self.copy_transpose(tuple(shape))

    def mark_as_default_output(self, shape: Sequence[Dim] | None = None) -> None:
        self.mark_as_output("output", shape)

    # Operators ----------------------------------------------------------------------------------

    def __neg__(self) -> Tensor:
        return holding(named.op(self.t, torch.neg))

    def __eq__(self, other: object) -> Any:
        return combined(torch.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return combined(torch.ne, self, other)

    __hash__ = object.__hash__


OPERATORS: Mapping[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "truediv": torch.div,
    "mod": torch.remainder,
    "or": torch.logical_or,
    "and": torch.logical_and,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
}
for _name, _function in OPERATORS.items():
    setattr(Tensor, f"__{_name}__", lambda a, b, f=_function: combined(f, a, b))
    setattr(Tensor, f"__r{_name}__", lambda a, b, f=_function: combined(f, b, a))


def _loaded(name: str, dims: Any, dtype: str, raw: Any, sparse: Dim | None) -> Tensor:
    return Tensor(name, dims, dtype, raw, sparse_dim=sparse)


def holding(t: torch.Tensor, sparse_dim: Dim | None = None) -> Tensor:
    """Return data with names as a tensor: its dimensions are those that its axes are called by."""
    found = dims_of(t)
    assert not any(dim is None or isinstance(dim, str) for dim in found), found
    dtype = str(t.dtype).removeprefix("torch.")
    return Tensor("made", map(ours.of, found), dtype, t, sparse_dim=sparse_dim)


def data_of(value: Any, like: torch.Tensor | None = None) -> torch.Tensor:
    """Return what an operand holds, a number as a tensor without dimensions."""
    if isinstance(value, Tensor):
        return value.t
    return torch.as_tensor(value, dtype=None if like is None else like.dtype)


def combined(function: Callable[..., torch.Tensor], *operands: Any) -> Tensor:
    """Return what an elementwise function gives of operands that broadcast by name."""
    held = [one for one in operands if isinstance(one, Tensor)]
    if not any(one.dims for one in held):
        return holding(function(*[data_of(one) for one in operands]))
    aligned = iter(named.align(*[one.t for one in held]))
    plain = [next(aligned) if isinstance(one, Tensor) else one for one in operands]
    return holding(function(*plain))


class TensorDict:
    """Tensors by name."""

    def __init__(self, data: Mapping[str, Tensor] | None = None) -> None:
        self.data = dict(data or {})

    def __getitem__(self, name: str) -> Tensor:
        return self.data[name]

    def __setitem__(self, name: str, tensor: Tensor) -> None:
        self.data[name] = tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)


__all__ = ["Dim", "DimTypes", "Tensor", "TensorDict", "combined", "data_of", "holding"]
