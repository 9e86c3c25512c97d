"""What dicts hold: reading, writing and uniting their contents.

A dict is known in full (`items`), or in part: `known` are the values that it has under some keys,
if it has these, and `element` what any other is. `blank` says that there is no other as yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from shapecheck.analysis.interpreter.calls import call_back
from shapecheck.analysis.interpreter.escaping import let_go
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another, iterate
from shapecheck.analysis.interpreter.kinds import mapping_of
from shapecheck.analysis.interpreter.registry import Named
from shapecheck.analysis.interpreter.truth import is_constant
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.values.model import DictContent, ListContent
from shapecheck.analysis.values.state import State
from shapecheck.dims import Dim
from shapecheck.ops import UNKNOWN

STATE: Final = "state dict"
"""The kind of a dict of a module's parameters that has all keys that are known of it."""


def is_key(value: Value) -> bool:
    """Whether a value is a key that can be told from others."""
    if isinstance(value, tuple):
        return all(map(is_key, value))
    return is_constant(value) or isinstance(value, Dim)


def entries(content: DictContent) -> Mapping[Value, Value]:
    """Return the keys that are known, with their values."""
    return content.known if content.items is None else content.items


def values(content: DictContent) -> list[Value]:
    """Return what the values are, each one or what any is."""
    rest = [] if content.items is not None or content.blank else [content.element]
    return [*entries(content).values(), *rest]


def any_value(state: State, content: DictContent) -> Value:
    """Return what any value is."""
    return state.either(*found) if (found := values(content)) else UNKNOWN


def opened(state: State, content: DictContent) -> DictContent:
    """Return a dict that may have other keys beside those that are known."""
    if content.items is None:
        return content
    return DictContent(None, content.element, content.kind, content.items, True, content.default)


def thinned(state: State, content: DictContent) -> DictContent:
    """Return a dict from which something is removed, it isn't known what."""
    return DictContent(None) if content.kind == STATE else opened(state, content)


def fetch(frame: Frame, owner: Value, content: DictContent, key: Value) -> Value:
    """Return `owner[key]`; a `defaultdict` makes what it doesn't have."""
    if is_key(key):
        if key in entries(content):
            return entries(content)[key]
        if content.items is None and not content.blank:
            return another(frame, content.element)
        return UNKNOWN if content.default is NOTHING else _make(frame, owner, content, key)
    found = values(content)
    if content.default is not NOTHING and not found:
        return _make(frame, owner, content, key)
    if len(found) == 1 and content.items is None:
        return another(frame, found[0])
    return any_of(frame, found)


def any_of(frame: Frame, found: list[Value]) -> Value:
    """Return one of several values, of which it isn't known which; those that may change may."""
    changing = [value for value in found if _may_grow(frame.state, value)]
    for value in changing:
        frame.state.put(value, None)
    return frame.state.either(*found) if found and not changing else UNKNOWN


def _may_grow(state: State, value: Value) -> bool:
    content = state.container_of(value)
    return content is not None and not content.kind.startswith("nn.")


def _make(frame: Frame, owner: Value, content: DictContent, key: Value) -> Value:
    value = call_back(frame, content.default, [])
    put(frame, owner, content, key, value)
    return value


def put(frame: Frame, owner: Value, content: DictContent, key: Value, value: Value) -> None:
    """Assign `owner[key]`.

    An instance that is put somewhere among others may become what its methods make of it.
    """
    state = frame.state
    if is_key(key):
        if content.items is not None:
            made = replace(content, items={**content.items, key: value})
        else:
            made = replace(content, known={**content.known, key: value})
    else:
        loosened(state, value)
        if state.instance_of(value) is not None:
            let_go(frame, [value])
        wide = opened(state, content)
        element = value if wide.blank else state.either(wide.element, value)
        known = {name: state.either(held, value) for name, held in wide.known.items()}
        made = DictContent(None, element, wide.kind, known, False, wide.default)
    state.put(owner, made)


def loosened(state: State, value: Value) -> None:
    """Take a list for one of several of which it isn't known how many items they have."""
    content = state.list_of(value)
    if content is not None and content.items is not None and content.kind == "list":
        element = state.element(content)
        state.put(value, ListContent(None, element, blank=not content.items))


def remove(content: DictContent, key: Value) -> DictContent:
    """Return a dict without a key."""
    left = {name: value for name, value in entries(content).items() if name != key}
    if content.items is None:
        return replace(content, known=left)
    return replace(content, items=left)


def united(
    state: State, content: DictContent, other: DictContent, extra: Mapping[str, Value]
) -> DictContent:
    """Return a dict with the items of another, and more, put over its own."""
    more: dict[Value, Value] = dict(extra.items())
    if content.items is not None and other.items is not None:
        return replace(content, items={**content.items, **other.items, **more})
    one, two = opened(state, content), opened(state, other)
    known = {**two.known, **more}
    for name, value in one.known.items():
        sure = name in extra or (other.items is not None and name in other.items)
        if not sure:
            over = [known[name]] if name in known else [] if two.blank else [two.element]
            known[name] = state.either(value, *over)
    elements = [part.element for part in (one, two) if not part.blank]
    element = state.either(*elements) if elements else UNKNOWN
    return replace(one, known=known, element=element, blank=not elements)


def of_pairs(pairs: Iterable[Value]) -> DictContent:
    """Return the content of a dict of pairs of keys and values."""
    found = DictContent({})
    for pair in pairs:
        match pair:
            case (key, value) if is_key(key):
                found = replace(found, items={**(found.items or {}), key: value})
            case _:
                return DictContent(None)
    return found


def as_dict(frame: Frame, args: list[Value], kwargs: Named) -> Value:
    """Return a new dict of what `dict(...)` is called with."""
    held = content_of_dict(frame, args[0]) if args else DictContent({})
    return frame.state.new(united(frame.state, DictContent({}), held, kwargs))


def content_of_dict(frame: Frame, value: Value) -> DictContent:
    """Return what `dict(value)` holds."""
    content = mapping_of(frame, value)
    if content is not None:
        return content
    items, element = iterate(frame, value)
    if items is not None:
        return of_pairs(_pair(frame, item) for item in items)
    element = _pair(frame, element)
    match element:
        case (_, value):
            return DictContent(None, value)
    return DictContent(None)


def _pair(frame: Frame, value: Value) -> Value:
    content = frame.state.list_of(value)
    return content.items if content is not None and content.items else value
