"""Methods of dicts, and the dicts of `collections`."""

from __future__ import annotations

import ast
from dataclasses import replace

from shapecheck.analysis.interpreter.dict_contents import (
    any_value,
    as_dict,
    content_of_dict,
    entries,
    fetch,
    is_key,
    opened,
    put,
    remove,
    united,
)
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.registry import Named, function, on
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import DictContent, Items, Ref
from shapecheck.ops import UNKNOWN


def _content(frame: Frame, owner: Value) -> DictContent:
    content = frame.state.content(owner)
    assert isinstance(content, DictContent)
    return content


@on("dict", "items")
def _items(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = _content(frame, owner)
    if content.items is None:
        return Items(None, (UNKNOWN, any_value(frame.state, content)))
    return Items(tuple(content.items.items()))


@on("dict", "values")
def _values(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = _content(frame, owner)
    if content.items is None:
        return Items(None, any_value(frame.state, content))
    return Items(tuple(content.items.values()))


@on("dict", "keys")
def _keys(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = _content(frame, owner)
    return Items(None if content.items is None else tuple(content.items))


@on("dict", "get")
def _get(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    if not args:
        return UNKNOWN
    content = replace(_content(frame, owner), default=NOTHING)
    missing = args[1] if len(args) > 1 else kwargs.get("default")
    if content.items is not None and is_key(args[0]):
        return content.items.get(args[0], missing)
    return frame.state.either(fetch(frame, owner, content, args[0]), missing)


@on("dict", "update")
def _update(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    other = content_of_dict(frame, args[0]) if args else DictContent({})
    frame.state.heap[owner] = united(frame.state, _content(frame, owner), other, kwargs)
    return None


@on("dict", "pop")
def _pop(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = _content(frame, owner)
    if not args:
        return UNKNOWN
    found = _get(frame, owner, args, kwargs, node)
    if len(args) == 1 and not (content.items is not None and is_key(args[0])):
        found = fetch(frame, owner, replace(content, default=NOTHING), args[0])
    sure = is_key(args[0])
    frame.state.heap[owner] = remove(content, args[0]) if sure else opened(frame.state, content)
    return found


@on("dict", "setdefault")
def _setdefault(
    frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call
) -> Value:
    content = _content(frame, owner)
    if not args:
        return UNKNOWN
    key, missing = args[0], args[1] if len(args) > 1 else None
    if is_key(key) and key in entries(content) and content.items is not None:
        return content.items[key]
    if content.items is None and (key in content.known if is_key(key) else not content.blank):
        found = fetch(frame, owner, replace(content, default=NOTHING), key)
        return found if isinstance(found, Ref) else frame.state.either(found, missing)
    put(frame, owner, content, key, missing)
    return missing


@on("dict", "popitem")
def _popitem(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = _content(frame, owner)
    if not content.items or args or kwargs:
        frame.state.heap[owner] = opened(frame.state, content)
        return (UNKNOWN, any_value(frame.state, content))
    key, value = list(content.items.items())[-1]
    frame.state.heap[owner] = remove(content, key)
    return (key, value)


@on("dict", "copy")
def _copied(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.new(frame.state.content(owner))


@on("dict", "clear")
def _emptied(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    frame.state.heap[owner] = replace(_content(frame, owner), items={}, known={}, blank=False)
    return None


@on("dict", "move_to_end")
def _moved(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    frame.state.heap[owner] = opened(frame.state, _content(frame, owner))
    return None


@function("builtins.dict", "collections.OrderedDict")
def _dict(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return as_dict(frame, args, kwargs)


@function("builtins.dict.fromkeys", "collections.OrderedDict.fromkeys")
def _from_keys(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    value = args[1] if len(args) > 1 else None
    items = iterate(frame, args[0])[0] if args else None
    if items is None or not all(map(is_key, items)):
        return frame.state.new(DictContent(None, value))
    return frame.state.new(DictContent(dict.fromkeys(items, value)))


@function("collections.defaultdict")
def _defaultdict(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    held = content_of_dict(frame, args[1]) if len(args) > 1 else DictContent({})
    made = united(frame.state, DictContent({}), held, kwargs)
    default = args[0] if args and args[0] is not None else NOTHING
    return frame.state.new(replace(made, default=default))


@function("collections.Counter")
def _counter(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.new(DictContent(None))
