"""What `itertools` and `functools.reduce` make of what they go over."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import shapecheck.dims as dims
from shapecheck.analysis.interpreter import calls
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import UNROLL, another, as_list, iterate, length
from shapecheck.analysis.interpreter.operators import operate
from shapecheck.analysis.interpreter.registry import MANY, LibraryCall, function
from shapecheck.analysis.interpreter.truth import truth
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values import model
from shapecheck.analysis.values.model import Argument, Items, ListContent
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import is_whole, is_within


def apply(frame: Frame, target: Value, args: Iterable[Value], node: ast.Call) -> Value:
    """Call a function that was handed over."""
    arguments = model.Arguments(tuple(map(Argument, args)), {})
    return calls.invoke(frame, target, arguments, node, frame.segment(node.func))


def _any(frame: Frame, value: Value) -> Value:
    """Return what any item of what is gone over is."""
    return frame.state.element(as_list(frame, value))


def _all_known(frame: Frame, args: Iterable[Value]) -> list[tuple[Value, ...]] | None:
    found = [iterate(frame, arg)[0] for arg in args]
    known = [items for items in found if items is not None]
    return known if len(known) == len(found) else None


@function("itertools.chain")
def _chain(frame: Frame, call: LibraryCall) -> Value:
    return _chained(frame, call.args)


def _chained(frame: Frame, parts: Iterable[Value]) -> Value:
    whole = ListContent(())
    for arg in parts:
        whole = frame.state.extended(whole, as_list(frame, arg))
    return Items(whole.items, whole.element, whole.count)


@function("itertools.chain.from_iterable", takes=1)
def _flattened(frame: Frame, call: LibraryCall) -> Value:
    items, element = iterate(frame, call.args[0])
    if items is None:
        return Items(None, _any(frame, element))
    return _chained(frame, items)


@function("itertools.product")
def _product(frame: Frame, call: LibraryCall) -> Value:
    repeat = call.kwargs.get("repeat", 1)
    if not is_within(repeat, 1, UNROLL):
        return Items(None)
    return _combined(frame, call.args * repeat, lambda known: itertools.product(*known))


@function("itertools.combinations", "itertools.permutations", "itertools.pairwise", takes=(1, 2))
def _few(frame: Frame, call: LibraryCall) -> Value:
    count = 2 if call.name == "pairwise" else call.get(1, "r")
    if not is_within(count, 0, UNROLL):
        return Items(None)
    known = iterate(frame, call.args[0])[0]
    if known is None or len(known) > UNROLL:
        element = _any(frame, call.args[0])
        return Items(None, tuple(another(frame, element) for _ in range(count)))
    if call.name == "pairwise":
        return Items(tuple(itertools.pairwise(known)))
    chosen = itertools.combinations if call.name == "combinations" else itertools.permutations
    return _combined(frame, [call.args[0]] * count, lambda _: chosen(known, count))


def _combined(
    frame: Frame,
    args: list[Value],
    combine: Callable[[list[tuple[Value, ...]]], Iterable[tuple[Value, ...]]],
) -> Value:
    """Return combinations of items, one by one where they aren't too many."""
    known = _all_known(frame, args)
    if known is not None:
        found = tuple(itertools.islice(combine(known), UNROLL + 1))
        if len(found) <= UNROLL:
            return Items(found)
    return Items(None, tuple(another(frame, _any(frame, arg)) for arg in args))


@function("itertools.repeat", takes=(1, 2))
def _repeat(frame: Frame, call: LibraryCall) -> Value:
    times = call.get(1, "times")
    if is_within(times, most=UNROLL):
        return Items((call.args[0],) * times)
    return Items(None, call.args[0], times if is_whole(times) else None)


@function("itertools.cycle", "itertools.compress", takes=(1, 2))
def _some(frame: Frame, call: LibraryCall) -> Value:
    return Items(None, _any(frame, call.args[0]))


@function("itertools.takewhile", "itertools.dropwhile", "itertools.filterfalse", takes=2)
def _chosen(frame: Frame, call: LibraryCall) -> Value:
    return Items(None, _any(frame, call.args[1]))


@function("itertools.islice", takes=(2, 4))
def _slice(frame: Frame, call: LibraryCall) -> Value:
    items, element = iterate(frame, call.args[0])
    bounds = [bound for bound in call.args[1:] if bound is None or isinstance(bound, int)]
    if items is not None and len(bounds) == len(call.args) - 1:
        return Items(tuple(itertools.islice(items, *bounds)))
    return Items(None, frame.state.either(*items) if items else element)


@function("itertools.zip_longest")
def _longest(frame: Frame, call: LibraryCall) -> Value:
    fill = call.kwargs.get("fillvalue")
    known = _all_known(frame, call.args)
    if known is not None:
        return Items(tuple(itertools.zip_longest(*known, fillvalue=fill)))
    return Items(None, tuple(frame.state.either(_any(frame, arg), fill) for arg in call.args))


@function("itertools.count")
def _count(frame: Frame, call: LibraryCall) -> Value:
    start = call.get(0, "start", 0)
    return Items(None, dims.unknown(), first=start)


@function("itertools.starmap", takes=2)
def _starmap(frame: Frame, call: LibraryCall) -> Value:
    items, element = iterate(frame, call.args[1])
    rows = [iterate(frame, row)[0] for row in ((element,) if items is None else items)]
    if any(row is None for row in rows):
        return Items(None)
    with frame.doubting(items is None):
        made = tuple(apply(frame, call.args[0], row or (), call.node) for row in rows)
    return Items(None, made[0]) if items is None else Items(made)


@function("itertools.groupby", takes=(1, 2))
def _groups(frame: Frame, call: LibraryCall) -> Value:
    return Items(None, (UNKNOWN, Items(None, _any(frame, call.args[0]))))


@function("itertools.batched", takes=(1, 2))
def _batches(frame: Frame, call: LibraryCall) -> Value:
    element = _any(frame, call.args[0])
    return Items(None, frame.state.new(ListContent(None, element, "tuple")))


@function("itertools.tee", takes=(1, 2))
def _copies(frame: Frame, call: LibraryCall) -> Value:
    count = call.get(1, "n", 2)
    return (call.args[0],) * count if is_within(count, most=UNROLL - 1) else UNKNOWN


@function("itertools.accumulate", takes=(1, 2))
def _accumulate(frame: Frame, call: LibraryCall) -> Value:
    target = call.get(1, "func")
    found = _folded(frame, target, call.args[0], call.kwargs.get("initial"), call.node)
    if found is None:
        return Items(())
    totals, exact = found
    return Items(totals) if exact else Items(None, frame.state.either(*totals))


@function("functools.reduce", takes=(2, 3))
def _reduce(frame: Frame, call: LibraryCall) -> Value:
    start = call.get(2, "initial")
    found = _folded(frame, call.args[0], call.args[1], start, call.node)
    if found is None:
        return UNKNOWN
    totals, exact = found
    return totals[-1] if exact else frame.state.either(*totals)


def _folded(
    frame: Frame, target: Value, source: Value, start: Any, node: ast.Call
) -> tuple[tuple[Value, ...], bool] | None:
    """Return all totals so far, and whether they are all; None if there is nothing to add up.

    Of any number of items, two stand for all that follow.
    """
    items, element = iterate(frame, source)
    exact = items is not None and len(items) <= UNROLL
    if not exact or items is None:
        element = element if items is None else frame.state.either(*items)
        items = (another(frame, element), another(frame, element), another(frame, element))
    if start is not None:
        items = (start, *items)
    if not items:
        return None
    totals = [items[0]]
    with frame.doubting(not exact):
        for item in items[1:]:
            totals.append(_added(frame, target, totals[-1], item, node))
    return tuple(totals), exact


def _added(frame: Frame, target: Value, total: Value, item: Value, node: ast.Call) -> Value:
    if target is not None:
        return apply(frame, target, (total, item), node)
    return operate(frame, node, ast.Add(), total, item, (node, node), label="accumulate")


@function("builtins.map", takes=(2, MANY))
def _map(frame: Frame, call: LibraryCall) -> Value:
    target, sources = call.args[0], call.args[1:]
    known = _all_known(frame, sources)
    if known is not None and min(map(len, known)) <= UNROLL:
        rows = zip(*known, strict=False)
        return Items(tuple(apply(frame, target, row, call.node) for row in rows))
    with frame.doubting():
        element = apply(frame, target, [_any(frame, source) for source in sources], call.node)
    return Items(None, element, length(frame, sources[0]) if len(sources) == 1 else None)


@function("builtins.filter", takes=2)
def _filter(frame: Frame, call: LibraryCall) -> Value:
    items, element = iterate(frame, call.args[1])
    if items is None or len(items) > UNROLL:
        return Items(None, element if items is None else frame.state.either(*items))
    results = [
        item if call.args[0] is None else apply(frame, call.args[0], [item], call.node)
        for item in items
    ]
    verdicts = [truth(frame, result) for result in results]
    kept = tuple(i for i, verdict in zip(items, verdicts, strict=True) if verdict is not False)
    if None in verdicts:
        return Items(None, frame.state.either(*kept))
    return Items(kept)
