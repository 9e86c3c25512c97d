"""Elementwise functions of torch's, of operands that meet by the names of their dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from shapecheck.named.axes import placed
from shapecheck.named.core import carry, planned
from shapecheck.named.holding import plain
from shapecheck.ops.named import joins as rules


def across(
    function: Callable[..., Any], in_place: bool, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Call an elementwise function; one that works in place keeps the dimensions of the first."""
    given = [plain(one) for one in (*args, *kwargs.values())]
    laid = _laid(_onto if in_place else _meet, given)
    named = dict(zip(kwargs, laid[len(args) :], strict=True))
    return carry(function, *laid[: len(args)], **named)


def _laid(plan_of: Callable[..., Any], given: list[Any]) -> list[Any]:
    """Return operands, the tensors laid so that they meet by name."""
    at = [
        index
        for index, one in enumerate(given)
        if isinstance(one, Tensor) and (one.dim() or plan_of is _onto)
    ]
    if len(at) < 2:
        return given
    plans = planned(plan_of, [given[index] for index in at])
    for index, plan in zip(at, plans or [None] * len(at), strict=True):
        if plan is not None:
            given[index] = placed(given[index], plan)
    return given


def _meet(call: Any, *shapes: Any) -> Any:
    return rules.meeting(call, shapes)


def _onto(call: Any, *shapes: Any) -> Any:
    return rules.onto_first(call, shapes)
