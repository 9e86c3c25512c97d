"""What of an op's arguments decides its outcome: the parts of the key under which it is kept."""

from __future__ import annotations

from typing import Any, Final

import torch

from shapecheck.runtime import wrapped
from shapecheck.runtime.names import Frame, dtype_of, sizes_of

PLAIN: Final = frozenset((int, str, type(None), type(...), torch.dtype, torch.device))
"""The classes of what is its own key. No bool: it equals 0 or 1."""

WORDS: Final = PLAIN | {bool}
"""The same where an argument is passed by name, and True means what 1 does."""

_PLAIN: Final = PLAIN
_OPAQUE: Final = object()
_TENSORS: Final = frozenset((torch.Tensor, torch.nn.Parameter))
transforming: Final = wrapped.transforming


def freeze(key: list[Any], arg: Any, frame: Frame) -> bool:
    """Add to a key what of an argument decides the outcome; return whether a name is in it."""
    kind = type(arg)
    if kind is float:
        key.append(kind)
        return False
    found = frame.table.get(id(arg))
    if found is not None and found[0]() is arg:
        key.append(found[1])
        return True
    if kind in _TENSORS and frame.alone and transforming() is None and not arg.is_nested:
        key.append(arg.shape)
        return False
    if kind is bool:
        key.append((bool, arg))
        return False
    if kind is slice:
        key.append(_bounds(arg))
        return False
    if isinstance(arg, torch.Tensor):
        known = wrapped.inherited(arg, frame.table) if transforming() is not None else None
        key.append(sizes_of(arg) if known is None else known)
        return known is not None
    if isinstance(arg, tuple | list):
        key.append(kind)
        key.append(len(arg))
        named = False
        for item in arg:
            named = freeze(key, item, frame) or named
        return named
    key.append(arg if kind in _PLAIN else kind)
    return False


def index(key: list[Any], args: tuple[Any, ...], frame: Frame) -> bool:
    """Add the arguments of an indexing to a key; return whether a name is in it.

    Of a tensor in the index that includes the dtype: an index of bools is a mask.
    """
    first = args[0]
    found = frame.table.get(id(first))
    if found is not None and found[0]() is first:
        key.append(found[1])
        named = True
    else:
        named = freeze(key, first, frame)
    for arg in args[1:]:
        if type(arg) is int:
            key.append(arg)
            continue
        items = arg if type(arg) is tuple else (arg,)
        key.append(tuple)
        key.append(len(items))
        for item in items:
            kind = type(item)
            if kind in _PLAIN:
                key.append(item)
            elif kind is slice:
                if item.start is None and item.stop is None and item.step is None:
                    key.append(slice)
                else:
                    key.append(_bounds(item))
            else:
                named = freeze(key, item, frame) or named
                if isinstance(item, torch.Tensor):
                    key.append(dtype_of(item))
    return named


def _bounds(arg: slice) -> object:
    bounds = (arg.start, arg.stop, arg.step)
    return bounds if _PLAIN.issuperset(map(type, bounds)) else _OPAQUE
