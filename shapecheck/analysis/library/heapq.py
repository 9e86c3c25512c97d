"""`heapq`: lists whose order changes while their items stay alike."""

from __future__ import annotations

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import another, as_list
from shapecheck.analysis.interpreter.registry import MANY, LibraryCall, function
from shapecheck.analysis.library.lists import mixed
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Items, ListContent
from shapecheck.ops import UNKNOWN


@function("heapq.heapify", takes=1)
def _heapify(frame: Frame, call: LibraryCall) -> Value:
    held = frame.state.list_of(call.args[0])
    if held is not None:
        frame.state.put(call.args[0], mixed(frame, held, 0))
    return None


@function("heapq.heappush", takes=2)
def _push(frame: Frame, call: LibraryCall) -> Value:
    held = frame.state.list_of(call.args[0])
    if held is not None:
        longer = frame.state.extended(held, ListContent((call.args[1],)))
        frame.state.put(call.args[0], mixed(frame, longer, 0))
    return None


@function("heapq.heappop", takes=1)
def _pop(frame: Frame, call: LibraryCall) -> Value:
    held = frame.state.list_of(call.args[0])
    if held is None:
        return UNKNOWN
    frame.state.put(call.args[0], mixed(frame, held, -1))
    return another(frame, frame.state.element(held))


@function("heapq.heappushpop", "heapq.heapreplace", takes=2)
def _exchange(frame: Frame, call: LibraryCall) -> Value:
    held = frame.state.list_of(call.args[0])
    if held is None:
        return UNKNOWN
    longer = frame.state.extended(held, ListContent((call.args[1],)))
    frame.state.put(call.args[0], mixed(frame, longer, -1))
    return another(frame, frame.state.element(longer))


@function("heapq.nlargest", "heapq.nsmallest", takes=(2, 3))
def _best(frame: Frame, call: LibraryCall) -> Value:
    """Return the best few; there may be fewer than that."""
    element = frame.state.element(as_list(frame, call.args[1]))
    return frame.state.new(ListContent(None, element))


@function("heapq.merge", takes=(1, MANY))
def _merged(frame: Frame, call: LibraryCall) -> Value:
    whole = ListContent(())
    for part in call.args:
        whole = frame.state.extended(whole, as_list(frame, part))
    return Items(None, frame.state.element(whole), whole.length)
