"""`functorch.dim`: makes first-class dimensions, and lists of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from shapecheck.analysis.interpreter.assigned import assigned_names
from shapecheck.analysis.interpreter.first_class import LIST, MOST, PREFIX, made
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.registry import LibraryCall, function
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import ListContent
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.ops.agree import counted
from shapecheck.ops.call import is_within


@function(f"{PREFIX}dims")
def _dims(frame: Frame, call: LibraryCall) -> Value:
    """Return what `dims(...)` gives: one dimension, or a tuple; they are called as their names."""
    asked = _asked(frame, call.args, call.kwargs, call.node)
    if asked is None:
        return UNKNOWN
    found = tuple(made(frame, name, size, call.node) for name, size in asked)
    return found[0] if len(found) == 1 else found


@function(f"{PREFIX}dimlists")
def _dimlists(frame: Frame, call: LibraryCall) -> Value:
    """Return what `dimlists(...)` gives: lists of dimensions, whose length is found by indexing."""
    asked = _asked(frame, call.args, call.kwargs, call.node)
    if asked is None:
        return UNKNOWN
    lists: list[Value] = []
    for name, given in asked:
        sizes = (None,) * given if isinstance(given, int) else iterate(frame, given)[0]
        items = None
        if sizes is not None and len(sizes) <= MOST:
            items = tuple(
                made(frame, f"{name}{at}", one, call.node) for at, one in enumerate(sizes)
            )
        lists.append(frame.state.new(ListContent(items, kind=LIST, names=(name,))))
    return lists[0] if len(lists) == 1 else tuple(lists)


def _asked(
    frame: Frame, args: list[Value], kwargs: Mapping[str, Value], node: ast.Call
) -> list[tuple[str, Value]] | None:
    """Return what is to be made, by name, with the sizes that are given; None where not known."""
    given = dict(zip(("n", "sizes"), args, strict=False)) | dict(kwargs)
    sizes = given.get("sizes")
    listed_sizes = None if sizes is None else iterate(frame, sizes)[0]
    names = assigned_names(frame, node)
    count = given.get("n")
    if count is None and sizes is not None:
        count = None if listed_sizes is None else len(listed_sizes)
    elif count is None:
        count = len(names)
    if not is_within(count, 1, MOST):
        return None
    if len(names) != count:
        names = [f"d{at}" for at in range(count)]
    if listed_sizes is not None and len(listed_sizes) != count:
        sizes_given = counted(len(listed_sizes), "size")
        text = f"can't make {counted(count, 'dimension')} of {sizes_given}"
        frame.error(node, Message(f'"{frame.segment(node.func)}" {text}'))
        return None
    unknown = (None if sizes is None else UNKNOWN,) * count
    return list(zip(names, unknown if listed_sizes is None else listed_sizes, strict=True))
