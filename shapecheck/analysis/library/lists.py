"""Methods of lists, tuples, texts and iterators."""

from __future__ import annotations

from dataclasses import replace

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another, as_list, iterate
from shapecheck.analysis.interpreter.operators import filled_in
from shapecheck.analysis.interpreter.registry import LibraryCall, MethodCall, function, on
from shapecheck.analysis.interpreter.truth import is_constant
from shapecheck.analysis.kinds.tuples import is_plainly_at
from shapecheck.analysis.library.math import product
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Items, ListContent
from shapecheck.ops import UNKNOWN, Sizes
from shapecheck.ops.call import are, as_text, is_within
from shapecheck.shapes import has_run


@on(ListContent, "add_module", "register_module", takes=(0, 2))
def _add_module(frame: Frame, call: MethodCall[ListContent]) -> Value:
    name, names = as_text(call.get(0, "name")), call.held.names
    module, items = call.get(1, "module"), call.held.items or ()
    if name in names and len(names) == len(items):
        there = names.index(name)
        content = replace(call.held, items=(*items[:there], module, *items[there + 1 :]))
        frame.state.put(call.owner, content)
        return None
    longer = frame.state.extended(call.held, ListContent((module,)))
    if name is not None and len(names) == len(items):
        names = (*names, name)
    frame.state.put(call.owner, replace(longer, names=names))
    return None


@on(ListContent, "append", takes=1)
def _append(frame: Frame, call: MethodCall[ListContent]) -> Value:
    frame.state.put(call.owner, frame.state.extended(call.held, ListContent((call.args[0],))))
    return None


@on(ListContent, "extend", takes=1)
def _extend(frame: Frame, call: MethodCall[ListContent]) -> Value:
    more = as_list(frame, call.args[0])
    frame.state.put(call.owner, frame.state.extended(call.held, more))
    return None


@on(ListContent, "pop", "popleft", takes=(0, 1))
def _pop(frame: Frame, call: MethodCall[ListContent]) -> Value:
    items = call.held.items if call.held.kind != "set" else None
    index = call.args[0] if call.args else 0 if call.name == "popleft" else -1
    if items and is_within(index, -len(items), len(items) - 1) and is_plainly_at(items, index):
        rest = list(items)
        item = rest.pop(index)
        frame.state.put(call.owner, ListContent(tuple(rest), kind=call.held.kind))
        return item
    frame.state.put(call.owner, mixed(frame, call.held, -1))
    return another(frame, frame.state.element(call.held))


def mixed(frame: Frame, content: ListContent, added: int) -> ListContent:
    """Return a list of which the order isn't known any more, so many items longer."""
    count = None if content.length is None else content.length + added
    blank = content.blank or content.items == ()
    return ListContent(None, frame.state.element(content), content.kind, count, blank=blank)


@on(ListContent, "reverse", takes=0)
def _reversed(frame: Frame, call: MethodCall[ListContent]) -> Value:
    items = call.held.items
    is_known = items is not None and not has_run(items)
    turned = replace(call.held, items=items[::-1]) if items and is_known else None
    frame.state.put(call.owner, turned or mixed(frame, call.held, 0))
    return None


@on(ListContent, "sort", takes=0)
def _ordered(frame: Frame, call: MethodCall[ListContent]) -> Value:
    frame.state.put(call.owner, mixed(frame, call.held, 0))
    return None


@on(ListContent, "clear", takes=0)
def _cleared(frame: Frame, call: MethodCall[ListContent]) -> Value:
    frame.state.put(call.owner, ListContent((), kind=call.held.kind))
    return None


@on(ListContent, "extendleft", takes=1)
def _extended_left(frame: Frame, call: MethodCall[ListContent]) -> Value:
    longer = frame.state.extended(call.held, as_list(frame, call.args[0]))
    frame.state.put(call.owner, replace(mixed(frame, longer, 0), blank=False))
    return None


@on(ListContent, "insert", takes=2)
def _inserted(frame: Frame, call: MethodCall[ListContent]) -> Value:
    _insert(frame, call, call.args[0], call.args[1])
    return None


@on(ListContent, "appendleft", takes=1)
def _appended_left(frame: Frame, call: MethodCall[ListContent]) -> Value:
    _insert(frame, call, 0, call.args[0])
    return None


def _insert(frame: Frame, call: MethodCall[ListContent], at: Value, item: Value) -> None:
    longer = frame.state.extended(call.held, ListContent((item,)))
    match call.held.items, at:
        case tuple() as before, int() if longer.items is not None and not has_run(
            before[:at] if at >= 0 else before[at:]
        ):
            items = list(before)
            items.insert(at, item)
            frame.state.put(call.owner, replace(longer, items=tuple(items)))
        case _:
            frame.state.put(call.owner, replace(mixed(frame, longer, 0), blank=False))


@on(ListContent, "remove", takes=1)
def _removed(frame: Frame, call: MethodCall[ListContent]) -> Value:
    frame.state.put(call.owner, mixed(frame, call.held, -1))
    return None


@on(ListContent, "copy", takes=0)
def _copy(frame: Frame, call: MethodCall[ListContent]) -> Value:
    return frame.state.new(call.held)


@function("collections.deque", takes=(0, 2))
def _deque(frame: Frame, call: LibraryCall) -> Value:
    """Make a deque; one with a greatest length may drop what it has too much of."""
    held = as_list(frame, call.args[0]) if call.args else ListContent(())
    if call.get(1, "maxlen") is not None:
        held = replace(mixed(frame, held, 0), count=None)
    return frame.state.new(replace(held, kind="deque"))


@function("random.shuffle", takes=(1, 2))
def _shuffle(frame: Frame, call: LibraryCall) -> Value:
    content = frame.state.list_of(call.args[0])
    if content is not None:
        frame.state.put(call.args[0], mixed(frame, content, 0))
    return None


@on(Items, "send", "__next__")
def _sent(frame: Frame, call: MethodCall[Items]) -> Value:
    items, element = iterate(frame, call.owner)
    return frame.state.either(*items) if items else element


@on(str, "join", takes=1)
def _join(frame: Frame, call: MethodCall[str]) -> Value:
    """Return several texts as one, where each is known."""
    items = iterate(frame, call.args[0])[0]
    return call.held.join(items) if are(items, str) else UNKNOWN


@on(str, "format")
def _format(frame: Frame, call: MethodCall[str]) -> Value:
    """Return a text with constants in its gaps, `"layer{}".format(3)`."""
    given = [*call.args, *call.kwargs.values()]
    return filled_in(call.held, given, lambda: call.held.format(*call.args, **call.kwargs))


@on(ListContent, "index", "count")
@on(tuple, "index", "count")
@on(Sizes, "index", "count")
@on(str, "index", "count", "find", "rfind", "rindex")
def _place(frame: Frame, call: MethodCall[object]) -> Value:
    """Return where something is, or how often, among items that are all known."""
    items = () if isinstance(call.owner, str) else iterate(frame, call.owner)[0]
    known = len(call.args) == 1 and items and all(map(is_constant, (*items, *call.args)))
    if not known or items is None or (call.name == "index" and call.args[0] not in items):
        return dims.unknown()
    return items.count(call.args[0]) if call.name == "count" else items.index(call.args[0])


@on(Sizes, "numel", takes=0)
@on(tuple, "numel", takes=0)
def _numel(frame: Frame, call: MethodCall[tuple[Value, ...]]) -> Value:
    return product(iterate(frame, call.held)[0])


@on(ListContent, "add", "discard", takes=1)
def _put_in_set(frame: Frame, call: MethodCall[ListContent]) -> Value:
    """Put something into a set, or take it out of it; with what isn't known, its size isn't."""
    items, one = call.held.items, call.args[0]
    if call.name == "add" and frame.state.instance_of(one) is not None:
        longer = frame.state.extended(call.held, ListContent((one,), kind=call.held.kind))
        frame.state.put(call.owner, replace(mixed(frame, longer, 0), count=None))
        return None
    if items is None or not is_constant(one):
        return _any_set(frame, call)
    left = tuple(item for item in items if item != one)
    is_new = call.name == "add" and len(left) == len(items)
    kept = (*items, one) if is_new else items if call.name == "add" else left
    frame.state.put(call.owner, replace(call.held, items=kept))
    return None


@on(ListContent, "update", "intersection_update", "difference_update")
@on(ListContent, "symmetric_difference_update")
def _any_set(frame: Frame, call: MethodCall[ListContent]) -> Value:
    frame.state.put(call.owner, ListContent(None, kind=call.held.kind))
    return None
