"""A batch that is repeated as a whole, where each item is to be repeated."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import elements, name_of, nodes_of
from shapecheck.analysis.suspicions.sources import body, same, source_of, value_of
from shapecheck.dims import Size
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Item, Tensor, dim_of


@suspects("torch.Tensor.repeat")
def whole_batch_repeated(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `x.repeat(k, 1)` where other code of the function has the batch outside of `k`."""
    counts = _counts(call.node)
    if frame.depth or len(counts) < 2 or not _only_first(counts):
        return None
    tensor = call.args[0] if call.args else None
    shape = frame.state.facts.shape(tensor.shape) if isinstance(tensor, Tensor) else None
    if shape is None or shape.dims[:1] == (1,) or shape.least_rank > len(counts):
        return None
    if shape.rank is not None and shape.rank != len(counts):
        return None
    times = counts[0]
    if isinstance(times, ast.Constant) or _is_transposed(body(frame), call.node):
        return None
    views = [sizes for sizes in _views(body(frame)) if len(sizes) > 1]
    inside = [sizes for sizes in views if same(sizes[0], times)]
    outside = [
        sizes
        for sizes in views
        if same(sizes[1], times) and _is_of(frame, sizes[0], shape.dims[:1])
    ]
    if not outside or inside:
        return None
    said, line = frame.segment(times), outside[0][0].lineno
    return Suspicion(
        f'"{call.label}" puts {said} copies of the whole batch behind one another, and the view in '
        f"line {line} has the {said} copies of each item together",
        (f"repeat_interleave({said}, dim=0) repeats each item",),
    )


def _is_of(frame: Frame, size: ast.expr, first: Sequence[Item]) -> bool:
    """Whether a size that is written is that of the first axis of what is repeated, or left out."""
    if isinstance(size, ast.Starred):
        return False
    facts, found = frame.state.facts, value_of(frame, size)
    if not isinstance(found, int | Size) or found == -1:
        return True
    return all(facts.same(found, dim_of(item)) for item in first)


@suspects("torch.nn.MultiheadAttention.forward")
def mask_tiled_for_heads(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect a mask repeated as a whole for the heads, which are inside of the batch."""
    if call.instance is None or not isinstance(call.node, ast.Call):
        return None
    masks = [word.value for word in call.node.keywords if word.arg == "attn_mask"]
    source = source_of(frame, masks[0]) if masks else None
    counts = [] if source is None else _counts(source)
    if source is None or len(counts) != 3 or not _only_first(counts):
        return None
    heads = call.instance.get("num_heads", UNKNOWN)
    if heads is UNKNOWN or value_of(frame, counts[0]) != heads:
        return None
    said = frame.segment(counts[0])
    return Suspicion(
        f'"{frame.segment(source)}" puts the masks of a whole batch behind one another, and '
        f'"{call.label}" takes those of the {said} heads of an item together',
        (f"repeat_interleave({said}, dim=0) repeats the mask of each item",),
    )


def _counts(node: ast.AST) -> list[ast.expr]:
    """Return how many times a call of `repeat` takes each axis."""
    match node:
        case ast.Call(func=ast.Attribute(attr="repeat"), args=[only], keywords=[]):
            return elements(only) or []
        case ast.Call(func=ast.Attribute(attr="repeat"), args=args, keywords=[]):
            return args
    return []


def _only_first(counts: list[ast.expr]) -> bool:
    """Whether the first axis is taken several times, and all others once."""
    ones = [isinstance(count, ast.Constant) and count.value == 1 for count in counts]
    return not ones[0] and all(ones[1:])


_MOVING: Final = frozenset(
    "permute transpose swapaxes swapdims movedim moveaxis rearrange t T mT H mH".split()
)


def _is_transposed(tree: ast.AST, node: ast.AST) -> bool:
    """Whether the axes of what an expression gives are moved: `x.repeat(k, 1).T`, at once or later.

    It may have been given a name, and be passed to a function: `torch.swapaxes(y, 0, 1)`.
    """
    assigned = (one.targets for one in nodes_of(ast.Assign, tree) if one.value is node)
    names = {name_of(one) for targets in assigned for one in targets} - {None}
    for moving in nodes_of(ast.Attribute, tree):
        if moving.attr in _MOVING and (moving.value is node or name_of(moving.value) in names):
            return True
    for call in nodes_of(ast.Call, tree):
        func = call.func.attr if isinstance(call.func, ast.Attribute) else name_of(call.func)
        if func in _MOVING and any(one is node or name_of(one) in names for one in call.args[:1]):
            return True
    return False


def _views(tree: ast.AST) -> Iterator[list[ast.expr]]:
    """Yield the sizes that are written in calls of `view` and `reshape`."""
    for node in nodes_of(ast.Call, tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="view" | "reshape"), args=[only]):
                yield elements(only) or []
            case ast.Call(func=ast.Attribute(attr="view" | "reshape"), args=args):
                yield args
