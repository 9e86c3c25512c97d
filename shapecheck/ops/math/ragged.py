"""Reductions over a dimension to which sequences of several lengths are padded.

Nothing is wrong with such a reduction but that it counts the padding too, so that it is a warning
and no error. It is given where nothing in the function speaks of masks or lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

import shapecheck.dims as dims
from shapecheck.dims import Size, Sym
from shapecheck.explain import Message
from shapecheck.ops.call import Value
from shapecheck.shapes import Run, Shape, Tensor

CODE: Final = "shape-ragged"

_WORDS: Final = ("mask", "length", "lens", "pad", "pack", "valid", "ragged")


def minds_padding(words: Iterable[str]) -> bool:
    """Whether one of the names that a function uses is about masks, lengths or packing."""
    return any(part in word.lower() for word in words for part in _WORDS)


def blind(
    flags: Set[str], args: Sequence[Value], kwargs: Mapping[str, Value], result: Value
) -> Sym | None:
    """Return the padded dimension that an op reduces, or normalises along; None if there is none.

    `flags` are those of the op's signature, `result` is what its rule says of it. See decisions.md,
    "A reduction over padding is a warning that goes by names".
    """
    if flags.isdisjoint(("reduces", "normalizes", "mixes")) or _leaves_out(kwargs):
        return None
    operand = next((arg for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor)), None)
    padded = set() if operand is None else _padded(operand.shape)
    if operand is None or not padded:
        return None
    if "mixes" in flags:
        return next(iter(dims.in_order(padded)), None)
    if "normalizes" in flags:
        return _along(operand.shape, kwargs.get("dim", args[1] if len(args) > 1 else None), padded)
    first = result[0] if isinstance(result, (tuple, list)) and result else result
    if not isinstance(first, Tensor) or first.shape.rank is None:
        return None
    return next(iter(dims.in_order(padded - _padded(first.shape))), None)


def _leaves_out(kwargs: Mapping[str, Value]) -> bool:
    """Whether arguments say what isn't counted, or that nothing is: statistics are kept ones."""
    return kwargs.get("ignore_index") not in (None, -100) or kwargs.get("training") is False


def _padded(shape: Shape) -> set[Sym]:
    known = (item for item in shape.dims if not isinstance(item, Run))
    return {symbol for item in known for symbol in dims.symbols(item) if symbol.padded}


def _along(shape: Shape, dim: Value, padded: set[Sym]) -> Sym | None:
    """Return the padded dimension that an axis, a name or a dimension object means."""
    if isinstance(dim, int) and not isinstance(dim, bool):
        item = shape.at(dim)
        found = () if item is None else dims.in_order(dims.symbols(item))
        return next((symbol for symbol in found if symbol in padded), None)
    if isinstance(dim, Size):
        found = dims.in_order(dims.symbols(dim))
        return next((symbol for symbol in found if symbol in padded), None)
    return next((symbol for symbol in dims.in_order(padded) if symbol.name == dim), None)


def message(label: str, symbol: Sym) -> Message:
    """Return what to say of an op that counts padding."""
    return Message(
        f'"{label}" counts the padding of {symbol}, which has sequences of several lengths',
        CODE,
        (f"an operation by name leaves it out if it is given {symbol} with its lengths",),
    )
