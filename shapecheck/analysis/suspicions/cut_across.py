"""A `view` that cuts across axes which nothing has permuted: its items are mixed.

What the names of annotations prove is an error in `ops.shape.reshape`; here is what is as good as
certain, and rests on sizes that no annotation tells, or on numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import called, last_word, names_in, nodes_of, stored_in
from shapecheck.analysis.suspicions.sources import RECURRENT, body, unpacked_from
from shapecheck.analysis.values.model import OpInstance
from shapecheck.dims import Batched, FloorDiv, IntSize, Kind, Size, Untold, size_of
from shapecheck.ops.call import only
from shapecheck.ops.shape.reshape import begins_with
from shapecheck.shapes import Item, Run, Tensor, dim_of, runs_in

_SHIFTED: Final = frozenset("cat concat concatenate pad new_zeros".split())
_TELLING: Final = 5
"""A smaller number is that of two axes by chance too often."""
_TRUNK: Final = 32
"""So many pixels become one in front of the pool, as in the networks for images of 224."""
_MOVING: Final = "transpose or permute moves axes; view and reshape cut and merge neighbours only"


@suspects("torch.Tensor.view", "torch.Tensor.reshape", "torch.reshape")
def cut_across(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect a regrouping after which an axis holds pieces of others."""
    given, made = call.args[0] if call.args else None, call.result
    if not isinstance(given, Tensor) or not isinstance(made, Tensor) or given.blank:
        return None
    source, target = (frame.state.facts.shape(one.shape) for one in (given, made))
    before, after = _certain(frame, source.dims), _certain(frame, target.dims)
    if len(target.dims) > len(after) or len(before) < 1 or len(after) < 2:
        return None
    is_whole = len(before) == len(source.dims)
    if any(map(partial(_turned_out_one, frame), given.shape.dims)):
        return None
    reason = _moved(before, after) or _torn(before, after, "cut into")
    reason = reason or _torn(after, before, "made of")
    if reason is None and is_whole:
        reason = _by_numbers(before, after)
    if reason is None or _is_shift(frame, call, before, after):
        return None
    return Suspicion(f'"{call.label}" mixes axes of {source} in {target}: {reason}', (_MOVING,))


@suspects("torch.Tensor.view", "torch.Tensor.reshape")
def states_by_view(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `h.view(-1, 2 * hidden)` of the last states of several layers or directions."""
    given, made = call.args[0] if call.args else None, call.result
    if not isinstance(given, Tensor) or not isinstance(made, Tensor) or frame.depth:
        return None
    source, target = (frame.state.facts.shape(one.shape) for one in (given, made))
    node = call.operands[0] if call.operands else None
    if target.rank != 2 or not source.dims or not _is_state(frame, node):
        return None
    width, row = source.dims[-1], target.dims[-1]
    if isinstance(width, Run) or isinstance(row, Run) or source.dims[0] == 1:
        return None
    if frame.state.facts.size(size_of(width)) == frame.state.facts.size(size_of(row)):
        return None
    return Suspicion(
        f'"{call.label}" mixes axes of {source} in {target}: the states of a layer or direction '
        "are those of a whole batch, so that a row gets them of several items",
        ("transpose(0, 1) first puts those of an item together",),
    )


def _is_state(frame: Frame, node: ast.expr | None) -> bool:
    """Whether a variable has the last states of a recurrent layer, as that gives them."""
    source = unpacked_from(frame, node, 1)
    if not isinstance(source, ast.Call):
        return False
    layer = frame.hush(Frame.eval, source.func)
    return isinstance(layer, OpInstance) and layer.cls.name.rpartition(".")[2] in RECURRENT


def _certain(frame: Frame, items: Sequence[Item]) -> list[IntSize]:
    """Return the sizes of the axes behind the last run of a shape."""
    found = runs_in(items)
    first = found[-1][0] + 1 if found else 0
    facts = frame.state.facts
    return [facts.size(size_of(dim_of(item))) for item in items[first:]]


def _turned_out_one(frame: Frame, item: Item) -> bool:
    """Whether an axis that nothing names has to be 1 by now: then it most likely isn't there."""
    if isinstance(item, Run):
        return False
    loose = (one for one in dims.symbols(item) if isinstance(one.origin, Untold))
    return any(frame.state.facts.size(Size.of(one)) == 1 for one in loose)


def _moved(before: Sequence[IntSize], after: Sequence[IntSize]) -> str | None:
    """Say which axis would have to move, as `t` in `(b t d)` viewed as `(b, heads, t, d//heads)`.

    There are more elements behind it than before, so that it doesn't hold the same items.
    """
    known = frozenset(symbol for size in before for symbol in dims.symbols(size))
    for here, size in enumerate(before):
        is_plain = size >= _TELLING if isinstance(size, int) else size.symbol is not None
        if not is_plain or size not in after:
            continue
        if not _is_once(size, before) or not _is_once(size, after):
            continue
        there = after.index(size)
        ahead = dims.product(before[:here]), dims.product(after[:there])
        if dims.as_exact(ahead[0]) == dims.as_exact(ahead[1]):
            continue  # it may be that a division isn't exact
        behind = dims.product(before[here + 1 :]), dims.product(after[there + 1 :])
        times = _ratio(*behind)
        if times is None or not _is_told(times, known):
            continue
        if isinstance(size, int) and isinstance(times, int):
            continue  # as where `49` is cut into `7 7`, and another axis gives a 49
        if times in before and times not in after and 1 in after:
            continue  # the axis may be 1, as it is there
        return (
            f"there are {behind[0]} elements behind each of {size} before, and {behind[1]} after, "
            "but a regrouping moves no axis"
        )
    return None


def _is_once(size: IntSize, sizes: Sequence[IntSize]) -> bool:
    """Whether one axis only is made of a size."""
    if isinstance(size, int):
        return sizes.count(size) == 1
    return sum(bool(dims.symbols(size) & dims.symbols(one)) for one in sizes) == 1


def _ratio(left: IntSize, right: IntSize) -> IntSize | None:
    """Return how many times as large one of two products is, None where that isn't told."""
    if dims.as_exact(left) == dims.as_exact(right):
        return None
    for one, other in ((left, right), (dims.as_exact(left), dims.as_exact(right))):
        for whole, part in ((one, other), (other, one)):
            times = dims.divide(whole, part)
            if times is not None and not _is_fraction(times):
                return times
    return None


def _is_told(size: IntSize, known: frozenset[dims.Sym]) -> bool:
    """Whether a size is certainly not 1, as far as names go.

    A sum may be 1 by chance, and so may what isn't an axis of the tensor or has no name, as what a
    pool leaves.
    """
    if isinstance(size, Size):
        symbols = dims.symbols(size)
        if _pooled(size):
            return False
        loose = {one for one in symbols if one.kind is Kind.UNKNOWN}
        are_axes = all(one in known and _is_an_axis(one) for one in loose)
        return len(size.terms) == 1 and are_axes and not any(one.options for one in symbols)
    return size != 1


def _may_be_left(size: IntSize) -> bool:
    """Whether it is a part of an axis without name: 1, where a pool is as wide as that."""
    return any(not one.has_name for one in _pooled(size))


def _pooled(size: IntSize) -> list[dims.Sym]:
    """Return the axes of which a size may be what a pool leaves: those that it is a part of.

    Or so small a part of what layers with steps make of them that it takes a pool.
    """
    quotients = only(size.atoms(), FloorDiv) if isinstance(size, Size) else []
    found = only((dims.symbol_of(one.num) for one in quotients), dims.Sym)
    for one in quotients:
        if isinstance(one.den, int) and one.den > _TRUNK:
            found += dims.in_order(dims.symbols(one.num))
    return found


def _is_an_axis(symbol: dims.Sym) -> bool:
    """Whether a size has a name, or is an axis that a tensor begins with."""
    return symbol.has_name or isinstance(symbol.origin, Untold | Batched)


def _is_fraction(size: IntSize) -> bool:
    return isinstance(size, Size) and any(e < 0 for m in size.terms for _, e in m)


def _torn(wholes: Sequence[IntSize], parts: Sequence[IntSize], relation: str) -> str | None:
    """Say which axis of some is, in a `relation`, two of others that aren't neighbours.

    It is cut into them, as `heads*d` into `(b, heads, t, d)`, or made of them, by the reverse.
    """
    found = _apart(wholes, parts)
    if found is None:
        return None
    whole, first, second, between = found
    return f"{whole} is {relation} {first} and {second}, but {between} is in between"


def _apart(
    wholes: Sequence[IntSize], parts: Sequence[IntSize]
) -> tuple[IntSize, IntSize, IntSize, str] | None:
    """Return a product among some sizes whose factors stand apart among others."""
    axes = [one for one in parts if one != 1]
    for whole in wholes:
        if isinstance(whole, int) or whole in parts or wholes.count(whole) > 1:
            continue
        for at, first in enumerate(axes):
            for later in range(at + 2, len(axes)):
                second = axes[later]
                if first in wholes or second in wholes or isinstance(first, int):
                    continue
                if any(axes.count(one) > 1 + (first == second) for one in (first, second)):
                    continue
                if _may_be_left(first) or _may_be_left(second):
                    continue
                if begins_with(axes[at + 1], second):
                    continue
                if dims.as_exact(first * second) == dims.as_exact(whole):
                    between = " ".join(map(_name, axes[at + 1 : later]))
                    return whole, first, second, between
    return None


def _name(size: IntSize) -> str:
    return f"{size}" if isinstance(size, int) or size.symbol is not None else f"({size})"


def _by_numbers(before: Sequence[IntSize], after: Sequence[IntSize]) -> str | None:
    """Say between which axes of known sizes a boundary is lost: of `(5 4 3)` viewed as `(4 5 3)`.

    Each boundary has a number of elements behind it; those of a regrouping divide one another.
    """
    numbers = [[one for one in only(sizes, int) if one > 0] for sizes in (before, after)]
    if [*map(len, numbers)] != [len(before), len(after)]:
        return None
    ours, others = ([prod(one[at:]) for at in range(1, len(one))] for one in numbers)
    for mine in ours:
        for other in others:
            if mine % other and other % mine:
                return (
                    f"an axis ends after each {mine} elements before, and after each {other} in "
                    "the result, so that neither is cut into the other"
                )
    return None


def _is_shift(
    frame: Frame, call: OpCall, before: Sequence[IntSize], after: Sequence[IntSize]
) -> bool:
    """Whether two neighbours trade places on purpose, as relative positions are shifted.

    What is regrouped was padded, or written anew in place, or the first of what comes of it are cut
    off.
    """
    differ = [at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b]
    if len(before) != len(after) or len(differ) != 2:
        return False
    first, second = differ
    if second != first + 1 or (before[first], before[second]) != (after[second], after[first]):
        return False
    node = call.operands[0] if call.operands else None
    if node is None:
        return False
    names = names_in(node)
    if _begins_later(frame, call.node, first) or names & _written_anew(frame):
        return True
    made_from = [
        one.value
        for one in nodes_of(ast.Assign, body(frame))
        if any(names & stored_in(target) for target in one.targets)
    ]
    every = nodes_of(ast.Call, node, *made_from)
    return any(last_word(called(one)) in _SHIFTED for one in every)


def _begins_later(frame: Frame, node: ast.AST, axis: int) -> bool:
    """Whether what an expression is assigned to is taken from a later place of an axis on."""
    inside = body(frame)
    assigned = (one for one in nodes_of(ast.Assign, inside) if one.value is node)
    names = {name for one in assigned for target in one.targets for name in stored_in(target)}
    return any(
        len(index.elts) > axis
        and isinstance(part := index.elts[axis], ast.Slice)
        and part.lower is not None
        and part.upper is None
        for one in nodes_of(ast.Subscript, inside)
        if isinstance(index := one.slice, ast.Tuple) and names & names_in(one.value)
    )


def _written_anew(frame: Frame) -> set[str]:
    """Return the names in what data is copied to in place."""
    copies = (one.func for one in nodes_of(ast.Call, body(frame)))
    targets = (one.value for one in only(copies, ast.Attribute) if one.attr == "copy_")
    return {name for target in targets for name in names_in(target)}
