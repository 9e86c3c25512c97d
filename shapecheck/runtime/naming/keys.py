"""What of an op's arguments decides its outcome: the parts of the key under which it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch

from shapecheck.dims import Dim
from shapecheck.runtime.internals import transforming
from shapecheck.runtime.naming import transforms
from shapecheck.runtime.naming.call_names import CallNames
from shapecheck.runtime.naming.records import dtype_of, sizes_of

PLAIN: Final = frozenset((int, str, type(None), type(...), torch.dtype, torch.device))
"""The classes of what is its own key. No bool: it equals 0 or 1."""

GETITEM: Final = torch.Tensor.__getitem__
SETITEM: Final = torch.Tensor.__setitem__
Key = tuple[Any, ...]


class Placed:
    """Where an outcome depends on how numbers or lists are written: it is kept with these."""

    __slots__ = ("key",)

    def __init__(self, key: Key) -> None:
        self.key = key


_OPAQUE: Final = object()
_TENSORS: Final = frozenset((torch.Tensor, torch.nn.Parameter))
_transforming: Final = transforming


def key_of(
    func: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    frame: CallNames,
    passed: object | None = None,
) -> Key | None:
    """Return under which key an op's outcome is kept; None if nothing in it has a name.

    `passed` is what is known of the sizes that are passed. `_lookup.c` makes the same keys.
    """
    key = [func]
    named = passed is not None
    if named:
        key.append(passed)
    if func is GETITEM or func is SETITEM:
        named = _add_indexing(key, args, frame) or named
    else:
        for arg in args:
            named = _add(key, arg, frame) or named
    for word, arg in kwargs.items():
        key.append(word)
        if type(arg) is bool:  # which is told apart from a number by the word
            key.append(arg)
        else:
            named = _add(key, arg, frame) or named
    return tuple(key) if named else None


def _add(key: list[Any], arg: Any, frame: CallNames) -> bool:
    """Add to a key what of an argument decides the outcome; return whether a name is in it."""
    kind = type(arg)
    if kind in PLAIN:
        key.append(arg)
        return False
    found = frame.table.get(id(arg))
    if found is not None and found[0]() is arg:
        key.append(found[1])
        return True
    if kind in _TENSORS and frame.alone and _transforming() is None and not arg.is_nested:
        key.append(arg.shape)
    elif isinstance(arg, torch.Tensor):
        known = transforms.inherited(arg, frame.table) if _transforming() is not None else None
        key.append(sizes_of(arg) if known is None else known)
        return known is not None
    elif isinstance(arg, tuple | list):
        key += (kind, len(arg))
        named = [_add(key, item, frame) for item in arg]
        return any(named)
    elif kind is Dim:
        key.append(arg)
    elif kind is bool:
        key.append((bool, arg))
    elif kind is slice:
        key.append(_bounds(arg))
    else:
        key.append(kind)
    return False


def _add_indexing(key: list[Any], args: tuple[Any, ...], frame: CallNames) -> bool:
    """Add the arguments of an indexing to a key; return whether a name is in it.

    Of a tensor in the index that includes the dtype: an index of bools is a mask.
    """
    tensor, index, *assigned = args
    items = index if type(index) is tuple else (index,)
    named = _add(key, tensor, frame)
    for value in assigned:
        named = _add(key, value, frame) or named
        key.append(len(items))
    for item in items:
        named = _add(key, item, frame) or named
        if isinstance(item, torch.Tensor):
            key.append(dtype_of(item))
    return named


def _bounds(arg: slice) -> object:
    if arg.start is arg.stop is arg.step is None:
        return slice
    bounds = (arg.start, arg.stop, arg.step)
    return bounds if PLAIN.issuperset(map(type, bounds)) else _OPAQUE
