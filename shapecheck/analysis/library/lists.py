"""Methods of lists, tuples, dicts, texts and modules."""

from __future__ import annotations

import ast
from dataclasses import replace

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.instances import set_attribute
from shapecheck.analysis.interpreter.iteration import another, as_list, iterate
from shapecheck.analysis.interpreter.methods import ITSELF
from shapecheck.analysis.interpreter.registry import Named, function, on
from shapecheck.analysis.library.math import prod
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import (
    Bound,
    DictContent,
    Instance,
    ListContent,
    Ref,
)
from shapecheck.ops import UNKNOWN


@on("list", "add_module", "register_module")
def _add_module(
    frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call
) -> Value:
    content = frame.state.content(owner)
    given = [*args, *(kwargs[key] for key in ("name", "module") if key in kwargs)]
    if isinstance(content, ListContent) and len(given) == 2:
        longer = frame.state.extended(content, ListContent((given[1],)))
        name, names = given[0], content.names
        if isinstance(name, str) and len(names) == len(content.items or ()):
            names = (*names, name)
        frame.state.put(owner, replace(longer, names=names))
    return None


@on("list", "append")
def _append(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    if isinstance(content, ListContent) and len(args) == 1:
        frame.state.put(owner, frame.state.extended(content, ListContent((args[0],))))
    return None


@on("list", "extend")
def _extend(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    if isinstance(content, ListContent) and args:
        frame.state.put(owner, frame.state.extended(content, as_list(frame, args[0])))
    return None


@on("list", "pop", "popleft")
def _pop(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    index = args[0] if args else 0 if _called(node) == "popleft" else -1
    if not isinstance(content, ListContent):
        return UNKNOWN
    if (
        content.items
        and isinstance(index, int)
        and -len(content.items) <= index < len(content.items)
    ):
        rest = list(content.items)
        item = rest.pop(index)
        frame.state.put(owner, ListContent(tuple(rest), kind=content.kind))
        return item
    frame.state.put(owner, _mixed(frame, content, -1))
    return another(frame, frame.state.element(content))


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _mixed(frame: Frame, content: ListContent, added: int) -> ListContent:
    """Return a list of which the order isn't known any more, so many items longer."""
    count = None if content.length is None else content.length + added
    blank = content.blank or content.items == ()
    return ListContent(None, frame.state.element(content), content.kind, count, blank=blank)


@on("list", "reverse", "sort")
def _ordered(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, ListContent)
    if _called(node) == "reverse" and content.items is not None:
        frame.state.put(owner, replace(content, items=content.items[::-1]))
    else:
        frame.state.put(owner, _mixed(frame, content, 0))
    return None


@on("list", "clear")
def _cleared(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, ListContent)
    frame.state.put(owner, ListContent((), kind=content.kind))
    return None


@on("list", "insert", "appendleft", "extendleft")
def _inserted(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    if not isinstance(content, ListContent) or not args:
        return None
    name = _called(node)
    added = as_list(frame, args[0]) if name == "extendleft" else ListContent((args[-1],))
    longer = frame.state.extended(content, added)
    at = args[0] if name == "insert" else 0
    if longer.items is None or content.items is None or not isinstance(at, int) or name[0] == "e":
        frame.state.put(owner, replace(_mixed(frame, longer, 0), blank=False))
    else:
        items = list(content.items)
        items.insert(at, args[-1])
        frame.state.put(owner, replace(longer, items=tuple(items)))
    return None


@on("list", "remove")
def _removed(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(owner)
    assert isinstance(content, ListContent)
    frame.state.put(owner, _mixed(frame, content, -1))
    return None


@function("collections.deque")
def _deque(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    """Make a deque; one with a greatest length may drop what it has too much of."""
    held = as_list(frame, args[0]) if args else ListContent(())
    if len(args) > 1 or kwargs.get("maxlen") is not None:
        held = replace(_mixed(frame, held, 0), count=None)
    return frame.state.new(replace(held, kind="deque"))


@function("random.shuffle")
def _shuffle(frame: Frame, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    content = frame.state.content(args[0]) if args else None
    if isinstance(content, ListContent):
        frame.state.put(args[0], _mixed(frame, content, 0))
    return None


@on("iterator", "send", "__next__")
def _sent(frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    items, element = iterate(frame, owner)
    return frame.state.either(*items) if items else element


@on("str", "join")
def _join(frame: Frame, owner: str, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    """Return several texts as one, where each is known."""
    items = iterate(frame, args[0])[0] if args else None
    texts = [item for item in items or () if isinstance(item, str)]
    return owner.join(texts) if items is not None and len(texts) == len(items) else UNKNOWN


@on("list", "index", "count")
@on("tuple", "index", "count")
@on("str", "index", "count", "find", "rfind", "rindex")
def _place(frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return dims.unknown()


@on("list", "copy")
def _copy(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return frame.state.new(frame.state.content(owner))


@on("attributes", "update")
def _set_all(frame: Frame, owner: Bound, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    """Assign the attributes of an instance, by `instance.__dict__.update(...)`."""
    made = owner.receiver
    content = frame.state.content(made)
    other = frame.state.content(args[0]) if args else DictContent({})
    if isinstance(content, Instance) and isinstance(other, DictContent) and other.items is not None:
        attrs = {**content.attrs, **{str(k): v for k, v in other.items.items()}, **kwargs}
        frame.state.put(made, replace(content, attrs=attrs))
    else:
        frame.state.put(made, None)
    return None


@on("tuple", "numel")
def _numel(frame: Frame, owner: Value, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
    return prod(frame, [owner], {}, node)


@on("module", "register_buffer", "register_parameter", "add_module", "register_module")
def _register(frame: Frame, owner: Ref, args: list[Value], kwargs: Named, node: ast.Call) -> Value:
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
