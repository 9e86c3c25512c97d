"""What tensors by name have besides functions: indices and sizes by name, and writing by them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Final

from shapecheck.dims import Composite, Dim, Size
from shapecheck.ops.call import UNKNOWN, Call, Unknown, Value, as_tensor, resolved, rule
from shapecheck.ops.named.joins import fitting
from shapecheck.ops.named.naming import by_dimension
from shapecheck.ops.named.operations import indices, only
from shapecheck.ops.saying import said
from shapecheck.ops.shape.indexing import getitem
from shapecheck.shapes import Mismatch, Run, Shape, Tensor, mismatch


def absent(name: str, is_torchs: bool) -> str:
    """Return what is said of a method that tensors by name don't have."""
    if not is_torchs:
        return f'a NamedTensor has no "{name}"'
    return (
        f'a NamedTensor has no "{name}", which goes by axes: write .tensor.{name}, or .op(function)'
    )


NO_PRODUCT: Final = (
    'a NamedTensor has no "@", which goes by axes: write .dot(other, "d") for a product over d'
)
"""What is said of a product that doesn't say over what."""


def refused_as_hidden(
    hidden: Set[str], shape: Shape, args: Iterable[object], kwargs: Mapping[str, object]
) -> Mismatch | None:
    """Return what refuses a dimension that `mask_to` hides, None where none is named."""
    found = [name for name in named_in((*args, *kwargs, *kwargs.values())) if name in hidden]
    if not found:
        return None
    reason = 'mask_to hides it, and mask_to("") shows it again'
    return mismatch(reason, f'can\'t take "{found[0]}" of {shape}')


def named_in(given: object) -> Iterator[str]:
    """Yield the names in what a method is given to find dimensions by."""
    match given:
        case str():
            yield from re.findall(r"[^\W\d]\w*", given)
        case Dim() | Size() | Composite():
            yield from named_in(str(given))
        case Mapping():
            for one in given:
                yield from named_in(one)
        case tuple() | list():
            for one in given:
                yield from named_in(one)


def takes_plain(label: str) -> str:
    """Return what is said of a function of torch's that is given a tensor by name."""
    return (
        f'"{label}" takes plain tensors, and a NamedTensor is given: write .tensor, '
        "or .op(function)"
    )


def is_in_place(name: str) -> bool:
    """Whether a method of torch's tensors, by its name, writes into what it is called on."""
    if name.startswith("__"):
        return name.startswith("__i") and name != "__invert__"
    return name.endswith("_")


def not_by_name(given: str) -> Mismatch:
    """Return what refuses an index that doesn't say of which dimension it is."""
    return mismatch(f"{given} isn't one; write dict(t=0)", "takes an index by name")


def by_name(at: Value) -> list[tuple[Value, Value]] | None:
    """Return what is taken of which dimension, None where it isn't known."""
    if isinstance(at, Unknown):
        return None
    if not isinstance(at, Mapping) or not at:
        raise not_by_name("{}" if at == {} else said(at))
    return by_dimension(at)


@rule("named.item")
def item(call: Call, x: Value, at: Value, **rest: Value) -> Value:
    """Take what stands at indices by name."""
    tensor, shape = resolved(call, x)
    given = by_name(at)
    subscript = None if given is None else indices(call, shape, given)
    if subscript is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    return getitem(call, Tensor(shape, tensor.dtype), subscript)


@rule("named.put")
def put(call: Call, x: Value, at: Value, value: Value, **rest: Value) -> Value:
    """Write a value into what stands at indices by name."""
    part = item(call, x, at)
    if isinstance(value, Tensor) and isinstance(part, Tensor):
        fitting(call, call.facts.shape(value.shape), call.facts.shape(part.shape))
    return as_tensor(x)


@rule("named.size")
def size(call: Call, x: Value, dim: Value, **rest: Value) -> Value:
    """Return the size of a dimension."""
    _, shape = resolved(call, x)
    at = only(call, shape, dim)
    found = None if isinstance(at, Unknown) else shape.dims[at]
    return UNKNOWN if found is None or isinstance(found, Run) else found


@rule("named.mask_to")
def mask_to(call: Call, x: Value, dim: Value, **rest: Value) -> Value:
    """Return the names that are hidden from a view: of the dimensions up to one."""
    _, shape = resolved(call, x)
    if isinstance(dim, Unknown):
        return UNKNOWN
    found = hidden_up_to(call, shape, dim)
    return UNKNOWN if found is None else tuple(sorted(found))


def hidden_up_to(call: Call, shape: Shape, dim: Value) -> frozenset[str] | None:
    """Return the names of the dimensions up to one, none for ""; None where they aren't known."""
    if dim == "":
        return frozenset()
    at = only(call, shape, dim)
    if isinstance(at, Unknown) or shape.rank is None:
        return None
    texts = (str(item) for item in shape.dims[: at % shape.rank + 1] if not isinstance(item, int))
    return frozenset(name for text in texts for name in named_in(text))
