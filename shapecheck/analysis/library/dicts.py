"""Methods of dicts, and the dicts of `collections`."""

from __future__ import annotations

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
    thinned,
    united,
)
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.registry import LibraryCall, MethodCall, function, on
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import DictContent, Items, Ref
from shapecheck.ops import UNKNOWN


@on(DictContent, "items")
def _items(frame: Frame, call: MethodCall[DictContent]) -> Value:
    held = call.held
    if held.items is None:
        return Items(None, (UNKNOWN, any_value(frame.state, held)))
    return Items(tuple(held.items.items()))


@on(DictContent, "values")
def _values(frame: Frame, call: MethodCall[DictContent]) -> Value:
    held = call.held
    if held.items is None:
        return Items(None, any_value(frame.state, held))
    return Items(tuple(held.items.values()))


@on(DictContent, "keys")
def _keys(frame: Frame, call: MethodCall[DictContent]) -> Value:
    return Items(None if call.held.items is None else tuple(call.held.items))


@on(DictContent, "get", takes=(1, 2))
def _get(frame: Frame, call: MethodCall[DictContent]) -> Value:
    held = replace(call.held, default=NOTHING)
    key, missing = call.args[0], call.get(1, "default")
    if held.items is not None and is_key(key):
        return held.items.get(key, missing)
    return frame.state.either(fetch(frame, call.owner, held, key), missing)


@on(DictContent, "update", takes=(0, 1))
def _update(frame: Frame, call: MethodCall[DictContent]) -> Value:
    other = content_of_dict(frame, call.args[0]) if call.args else DictContent({})
    frame.state.put(call.owner, united(frame.state, call.held, other, call.kwargs))
    return None


@on(DictContent, "pop", takes=(1, 2))
def _pop(frame: Frame, call: MethodCall[DictContent]) -> Value:
    held, key = call.held, call.args[0]
    found = _get(frame, call)
    if len(call.args) == 1 and not (held.items is not None and is_key(key)):
        found = fetch(frame, call.owner, replace(held, default=NOTHING), key)
    left = remove(held, key) if is_key(key) else thinned(frame.state, held)
    frame.state.put(call.owner, left)
    return found


@on(DictContent, "setdefault", takes=(1, 2))
def _setdefault(frame: Frame, call: MethodCall[DictContent]) -> Value:
    held, key, missing = call.held, call.args[0], call.get(1, "default")
    if is_key(key) and key in entries(held) and held.items is not None:
        return held.items[key]
    if held.items is None and (key in held.known if is_key(key) else not held.blank):
        found = fetch(frame, call.owner, replace(held, default=NOTHING), key)
        return found if isinstance(found, Ref) else frame.state.either(found, missing)
    put(frame, call.owner, held, key, missing)
    return missing


@on(DictContent, "popitem")
def _popitem(frame: Frame, call: MethodCall[DictContent]) -> Value:
    held = call.held
    if not held.items or call.args or call.kwargs:
        frame.state.put(call.owner, thinned(frame.state, held))
        return (UNKNOWN, any_value(frame.state, held))
    key, value = list(held.items.items())[-1]
    frame.state.put(call.owner, remove(held, key))
    return (key, value)


@on(DictContent, "copy")
def _copied(frame: Frame, call: MethodCall[DictContent]) -> Value:
    return frame.state.new(call.held)


@on(DictContent, "clear")
def _emptied(frame: Frame, call: MethodCall[DictContent]) -> Value:
    frame.state.put(call.owner, replace(call.held, items={}, known={}, blank=False))
    return None


@on(DictContent, "move_to_end")
def _moved(frame: Frame, call: MethodCall[DictContent]) -> Value:
    frame.state.put(call.owner, opened(frame.state, call.held))
    return None


@function("builtins.dict", "collections.OrderedDict")
def _dict(frame: Frame, call: LibraryCall) -> Value:
    return as_dict(frame, call.args, call.kwargs)


@function("builtins.dict.fromkeys", "collections.OrderedDict.fromkeys", takes=(1, 2))
def _from_keys(frame: Frame, call: LibraryCall) -> Value:
    value = call.args[1] if len(call.args) > 1 else None
    items = iterate(frame, call.args[0])[0]
    if items is None or not all(map(is_key, items)):
        return frame.state.new(DictContent(None, value))
    return frame.state.new(DictContent(dict.fromkeys(items, value)))


@function("collections.defaultdict")
def _defaultdict(frame: Frame, call: LibraryCall) -> Value:
    held = content_of_dict(frame, call.args[1]) if len(call.args) > 1 else DictContent({})
    made = united(frame.state, DictContent({}), held, call.kwargs)
    default = call.args[0] if call.args and call.args[0] is not None else NOTHING
    return frame.state.new(replace(made, default=default))


@function("collections.Counter")
def _counter(frame: Frame, call: LibraryCall) -> Value:
    return frame.state.new(DictContent(None))
