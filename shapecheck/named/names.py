"""Giving names, asserting sizes by them, and the functions that torch had for names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from shapecheck.named.axes import beside, merged
from shapecheck.named.core import (
    Name,
    Names,
    called,
    carry,
    meant,
    new_name,
    planned,
    settled,
    tensor_only,
    unnamed,
)
from shapecheck.ops import Unknown
from shapecheck.ops.named import assertions as rules
from shapecheck.ops.named.operations import only, split
from shapecheck.runtime.internals import DisableTorchFunction


def rename(x: Tensor, old: Name | None = None, new: Name | None = None, /, **names: Name) -> Tensor:
    """Return a view of `x` in which dimensions have new names: `rename(x, query="t")`.

    Also `rename(x, Time, Query)`, for dimension objects.
    """
    keys = tuple([(name, meant(given)) for name, given in names.items()])
    if old is not None or new is not None:
        keys = (*keys, (new_name(new), meant(old)))
    return _view(x, planned(_renamed, (x,), keys))


def _renamed(call: Any, shape: Any, pairs: tuple[tuple[Name, Any], ...]) -> Any:
    found = rules.renamed(call, shape, [(meant(name), given) for name, given in pairs])
    if found is None:
        return None
    return tuple([(at, name) for (at, _), (name, _) in zip(found, pairs, strict=True)])


def _view(x: Tensor, names: tuple[tuple[int, Name], ...]) -> Tensor:
    """Return another tensor of the same elements, with the same names but for these."""
    return called(unnamed(torch.Tensor.view_as, x, x), names, like=x)


def assert_size(x: Tensor, /, **sizes: int) -> Tensor:
    """Check the sizes of dimensions, `assert_size(x, c=20)`, and return `x`.

    Raises `ShapeError` where one is another.
    """
    if torch.compiler.is_compiling():
        return x
    tensor_only(x)
    with DisableTorchFunction():
        planned(_assert_size, (x,), tuple(x.shape), tuple(map(_asserted, sizes.items())))
    return x


def _asserted(pair: tuple[str, Any]) -> tuple[str, Any]:
    """Return a name and the size that it is to have so that they can be looked up."""
    name, size = pair
    try:
        hash(size)
    except TypeError:
        return name, meant(size)
    return pair


def _assert_size(call: Any, shape: Any, found: tuple[int, ...], sizes: Any) -> None:
    for name, size in sizes:
        at = only(call, shape, name)
        if not isinstance(at, Unknown) and found[at] != size:
            raise rules.wrong_size(shape, name, found[at], size)


def refine_names(x: Tensor, *names: str | None) -> Tensor:
    """Return a view of `x` in which dimensions without a name have these: `"b", None, "c"`.

    `"..."` stands for any number that stay as they are. Raises `ShapeError` where a dimension has
    another name already.
    """
    return _view(x, planned(rules.refined, (x,), tuple(map(_refining, names))))


def _refining(name: Any) -> Any:
    """Return what a dimension without a name is to be called so that it can be looked up."""
    return name if name is None or name is ... else new_name(name)


def flatten(x: Tensor, dims: Names, name: Name) -> Tensor:
    """Merge dimensions into one of a new name; `stack(x, name=dims)`."""
    return merged(x, dims, name)


def unflatten(x: Tensor, dim: Name, sizes: Sequence[tuple[str, int]]) -> Tensor:
    """Take a dimension apart into (name, size) pairs: `unflatten(x, "f", [("c", 2), ("h", 3)])`."""
    plan = planned(_unflatten, (x,), meant(dim), meant(sizes))
    found = carry(torch.unflatten, x, plan.at, [size for _, size in sizes])
    settled(found, x, beside(plan.at, len(sizes), x.dim()))
    return called(found, tuple(enumerate(plan.names, plan.at)))


def _unflatten(call: Any, shape: Any, dim: Any, pairs: Any) -> Any:
    sizes = rules.named_sizes(pairs)
    return None if sizes is None else split(call, shape, dim, tuple(sizes), sizes)
