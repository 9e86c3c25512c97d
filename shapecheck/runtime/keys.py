"""What of an op's arguments decides its outcome: the parts of the key under which it is kept."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch._C import _len_torch_function_stack

from shapecheck.runtime import wrapped
from shapecheck.runtime.names import Table, dtype_of, sizes_of

PLAIN: Final = frozenset((int, str, type(None), type(...), torch.dtype, torch.device))
"""The classes of what is its own key. No bool: it equals 0 or 1."""

_OPAQUE: Final = object()
_TENSORS: Final = frozenset((torch.Tensor, torch.nn.Parameter))
transforming: Final = wrapped.transforming


def freeze(key: list[Any], arg: Any, table: Table) -> bool:
    """Add to a key what of an argument decides the outcome; return whether a name is in it."""
    kind = arg.__class__
    if kind is float:
        key.append(kind)
        return False
    if kind in _TENSORS and transforming() is None and not _len_torch_function_stack():
        found = table.get(id(arg))
        if found is not None and found[0]() is arg:
            key.append(found[1])
            return True
        if not arg.is_nested:
            key.append(arg.shape)
            return False
    if kind is tuple or kind is list:
        key.append(kind)
        key.append(len(arg))
        named = False
        for item in arg:
            found = table.get(id(item))
            if found is not None and found[0]() is item:
                key.append(found[1])
                named = True
            elif item.__class__ in PLAIN:
                key.append(item)
            else:
                named = freeze(key, item, table) or named
        return named
    if kind is slice:
        key.append(_bounds(arg))
        return False
    if kind is bool:
        key.append((bool, arg))
        return False
    if isinstance(arg, torch.Tensor):
        found = table.get(id(arg))
        if found is not None and found[0]() is arg:
            key.append(found[1])
            return True
        known = wrapped.inherited(arg, table) if transforming() is not None else None
        key.append(sizes_of(arg) if known is None else known)
        return known is not None
    if isinstance(arg, tuple | list):
        return freeze(key, tuple(arg), table)
    key.append(arg if kind in PLAIN else kind)
    return False


def index(key: list[Any], args: tuple[Any, ...], table: Table) -> bool:
    """Add the arguments of an indexing to a key; return whether a name is in it.

    Of a tensor in the index that includes the dtype: an index of bools is a mask.
    """
    first = args[0]
    found = table.get(id(first))
    if found is not None and found[0]() is first:
        key.append(found[1])
        named = True
    else:
        named = freeze(key, first, table)
    for arg in args[1:]:
        items = arg if arg.__class__ is tuple else (arg,)
        key.append(len(items))
        for item in items:
            kind = item.__class__
            if kind in PLAIN:
                key.append(item)
            elif kind is slice:
                start, stop, step = item.start, item.stop, item.step
                if start is None and stop is None and step is None:
                    key.append(slice)
                else:
                    key.append(_bounds(item))
            else:
                named = freeze(key, item, table) or named
                if isinstance(item, torch.Tensor):
                    key.append(dtype_of(item))
    return named


def _bounds(arg: slice) -> object:
    bounds = (arg.start, arg.stop, arg.step)
    return bounds if PLAIN.issuperset(map(type, bounds)) else _OPAQUE
