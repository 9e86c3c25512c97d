"""Methods of lists, tuples, dicts, texts and modules."""

from __future__ import annotations

import ast
from dataclasses import replace

import shapecheck.dims as dims
from shapecheck.analysis.builtins import ITSELF, Named, on
from shapecheck.analysis.frame import Frame
from shapecheck.analysis.iteration import another, as_list
from shapecheck.analysis.numbers import prod
from shapecheck.analysis.values import (
    Bound,
    Dict,
    Items,
    Object,
    Ref,
    Sequence,
)
from shapecheck.ops import UNKNOWN, Value


@on("list", "add_module", "register_module")
def _add_module(
    frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call
) -> Value:
    content = frame.state.content(owner)
    given = [*args, *(kwargs[key] for key in ("name", "module") if key in kwargs)]
    if isinstance(content, Sequence) and len(given) == 2:
        longer = frame.state.extended(content, Sequence((given[1],)))
        called = isinstance(given[0], str) and len(content.names) == len(content.items or ())
        names = (*content.names, given[0]) if called else content.names
        frame.state.heap[owner] = replace(longer, names=names)
    return None


@on("list", "append")
def _append(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    if isinstance(content, Sequence) and len(args) == 1:
        frame.state.heap[owner] = frame.state.extended(content, Sequence((args[0],)))
    return None


@on("list", "extend")
def _extend(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    if isinstance(content, Sequence) and args:
        frame.state.heap[owner] = frame.state.extended(content, as_list(frame, args[0]))
    return None


@on("list", "pop", "popleft")
def _pop(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    index = args[0] if args else -1
    if not isinstance(content, Sequence):
        return UNKNOWN
    if (
        content.items
        and isinstance(index, int)
        and -len(content.items) <= index < len(content.items)
    ):
        rest = list(content.items)
        item = rest.pop(index)
        frame.state.heap[owner] = Sequence(tuple(rest), kind=content.kind)
        return item
    element = frame.state.element(content)
    count = content.length
    left = None if count is None else count - 1
    frame.state.heap[owner] = Sequence(None, element, content.kind, left)
    return another(frame, element)


@on("list", "insert", "reverse", "clear", "appendleft")
def _changed(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    frame.state.heap[owner] = None
    if isinstance(content, Sequence) and content.items is not None:
        items = [] if name == "clear" else list(content.items)
        if name == "reverse":
            items.reverse()
        elif name == "insert" and len(args) == 2 and isinstance(args[0], int):
            items.insert(args[0], args[1])
        elif name == "appendleft" and len(args) == 1:
            items.insert(0, args[0])
        elif name != "clear":
            return None
        frame.state.heap[owner] = Sequence(tuple(items), kind=content.kind)
    return None


@on("list", "remove", "sort", "extendleft")
def _shuffled(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    frame.state.heap[owner] = None
    return None


@on("list", "index", "count")
@on("tuple", "index", "count")
@on("str", "index", "count", "find", "rfind", "rindex")
def _place(frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return dims.unknown()


@on("list", "copy")
def _copy(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.new(frame.state.content(owner))


@on("dict", "items")
def _items(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, Dict)
    if content.items is None:
        return Items(None, (UNKNOWN, content.element))
    return Items(tuple(content.items.items()))


@on("dict", "values")
def _values(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, Dict)
    return Items(None if content.items is None else tuple(content.items.values()), content.element)


@on("dict", "keys")
def _keys(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, Dict)
    return Items(None if content.items is None else tuple(content.items))


@on("dict", "get")
def _get(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, Dict)
    if not args:
        return UNKNOWN
    missing = args[1] if len(args) > 1 else None
    if content.items is None:
        return frame.state.either(content.element, missing)
    return content.items.get(args[0], missing) if isinstance(args[0], (str, int)) else UNKNOWN


@on("dict", "update")
def _update(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    other = frame.state.content(args[0]) if args else Dict({})
    frame.state.heap[owner] = None
    if isinstance(content, Dict) and isinstance(other, Dict) and len(args) < 2:
        if content.items is not None and other.items is not None:
            items = {**content.items, **other.items, **kwargs}
            frame.state.heap[owner] = Dict(items, kind=content.kind)
    return None


@on("attributes", "update")
def _set_all(frame: Frame, owner: Bound, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    """Assign the attributes of an instance, by `instance.__dict__.update(...)`."""
    made = owner.receiver
    content = frame.state.content(made)
    other = frame.state.content(args[0]) if args else Dict({})
    if isinstance(content, Object) and isinstance(other, Dict) and other.items is not None:
        attrs = {**content.attrs, **{str(k): v for k, v in other.items.items()}, **kwargs}
        frame.state.heap[made] = Object(content.cls, attrs, content.path)
    else:
        frame.state.heap[made] = None
    return None


@on("dict", "pop", "setdefault")
def _take(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    if not isinstance(content, Dict) or content.items is None or not args:
        frame.state.heap[owner] = None
        return UNKNOWN
    key, missing = args[0], args[1] if len(args) > 1 else None
    if not isinstance(key, (str, int)):
        frame.state.heap[owner] = None
        return UNKNOWN
    items = dict(content.items)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "pop":
        found = items.pop(key, missing)
    else:
        found = items.setdefault(key, missing)
    frame.state.heap[owner] = Dict(items, kind=content.kind)
    return found


@on("dict", "copy")
def _copied(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.new(frame.state.content(owner))


@on("dict", "clear", "popitem")
def _emptied(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    frame.state.heap[owner] = None
    return UNKNOWN


@on("tuple", "numel")
def _numel(frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return prod(frame, [owner], {}, node)


@on("module", "register_buffer", "register_parameter", "add_module", "register_module")
def _register(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    from shapecheck.analysis.objects import set_attribute

    values = [
        *args,
        *(kwargs[key] for key in ("name", "tensor", "param", "module") if key in kwargs),
    ]
    if len(values) >= 2 and isinstance(values[0], str):
        set_attribute(frame, owner, values[0], values[1])
    return None


@on("itself", *ITSELF)
def _itself(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return owner
