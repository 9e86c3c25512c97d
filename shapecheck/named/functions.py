"""Any function of tensors, and the names of what it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from shapecheck.named.core import (
    Name,
    Names,
    apart_from,
    called,
    carrying,
    function_only,
    meant,
    new_name,
    planned,
    settled,
    tensor_only,
)
from shapecheck.ops.named import functions as rules


def op(x: Tensor, /, *functions: Callable[..., Any], **new: Name) -> Any:
    """Apply functions one after the other, and name dimensions of the result.

        op(x, self.conv, F.relu, c2="c")

    Names go through torch's ops by their rules. `c2="c"` calls what becomes of the dimension `c`
    `c2`: the axis in its place, or where the result has more axes or fewer, the one of its name.
    """
    for function in functions:
        function_only(function)
    with carrying():
        found: Any = x
        for function in functions:
            found = function(found)
    if not new:
        return found
    keys = tuple((name, meant(old)) for name, old in new.items())
    return called(apart_from(x, found), planned(_moved, (x, found), keys))


def _moved(call: Any, before: Any, after: Any, new: Any) -> Any:
    return rules.moved(call, before, after, dict(new))


def reduce(x: Tensor, function: Callable[[Tensor], Tensor], dim: Names) -> Tensor:
    """Apply a function that takes dimensions away: `reduce(x, lambda x: loss(x, y), "classes")`.

    The result has the other dimensions of `x`, in their order. Raises `ShapeError` where the
    function gives another shape.
    """
    tensor_only(x)
    function_only(function)
    with carrying():
        found = function(x)
    return settled(found, x, planned(rules.less, (x, found), meant(dim)))


def augment(x: Tensor, function: Callable[[Tensor], Tensor], name: Name) -> Tensor:
    """Apply a function that adds a dimension behind the others: `augment(x, embedding, "h")`.

    Raises `ShapeError` where the function gives another shape.
    """
    tensor_only(x)
    function_only(function)
    with carrying():
        found = function(x)
    planned(_more, (x, found), new_name(name))
    settled(found, x, (*range(x.dim()), None))
    return called(found, ((found.dim() - 1, name),))


def _more(call: Any, before: Any, after: Any, name: Any) -> Any:
    return rules.more(call, before, after, meant(name))
