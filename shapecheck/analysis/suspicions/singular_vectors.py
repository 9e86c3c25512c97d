"""A product of what `svd` gives with the right singular vectors the wrong way round.

`U * S @ Vh` is what was decomposed, and so is `U * S @ V.mT`. Of a square matrix, and of one with
more rows than columns, `U * S @ Vh.mT` has the right sizes too.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final, NamedTuple

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.program.syntax import called, kept_by_node, last_word, nodes_of, owner_of
from shapecheck.ops.outer_products import bindings

_PRODUCTS: Final = tuple(
    f"torch.{name}" for name in "Tensor.__matmul__ Tensor.matmul Tensor.mm matmul mm bmm".split()
)
_TURNS: Final = frozenset("mT mH T H t transpose swapaxes adjoint".split())
_DIAGONALS: Final = frozenset(("diag", "diag_embed", "diagflat"))


class _Factor(NamedTuple):
    """One of the three that a call of `svd` gives."""

    made: ast.Call
    place: int


@suspects(*_PRODUCTS)
def turned_singular_vectors(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect `U * S @ Vh.mT`, and `U * S @ V` of what has `V`."""
    if len(call.operands) < 2 or call.operands[0] is None or call.operands[1] is None:
        return None
    node, is_turned = _unturned(call.operands[1])
    right = _factor(frame, node)
    if right is None or right.place != 2:
        return None
    name = "Vh" if "linalg" in ast.unparse(right.made.func) else "V"
    if is_turned != (name == "Vh") or not _has_both(frame, call.operands[0], right.made):
        return None
    text, other = frame.segment(call.operands[1]), frame.segment(node)
    product = f"{frame.segment(call.operands[0])} @ {other if is_turned else f'{other}.mT'}"
    return Suspicion(
        f'"{text}" has the singular vectors the wrong way round',
        (f'"{product}" gives back what "{frame.segment(right.made)}" takes apart',),
    )


def _unturned(node: ast.expr) -> tuple[ast.expr, bool]:
    """Return an expression without its transposes, and whether they leave it transposed."""
    is_turned = False
    while True:
        inner = owner_of(called(node))
        if inner is None or last_word(called(node)) not in _TURNS:
            return node, is_turned
        node, is_turned = inner, not is_turned


def _has_both(frame: Frame, node: ast.expr, made: ast.Call) -> bool:
    """Whether an expression multiplies the left singular vectors of a call by its values."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.MatMult(), right=right):
            values = right
        case _:
            return False
    if isinstance(values, ast.Call) and last_word(values.func) in _DIAGONALS:
        values = values.args[0] if values.args else owner_of(values.func) or values
    if isinstance(values, ast.Subscript):  # S[..., None, :]
        values = values.value
    return _factor(frame, left) == (made, 0) and _factor(frame, values) == (made, 1)


def _factor(frame: Frame, node: ast.expr) -> _Factor | None:
    """Return which one of a decomposition's results an expression is."""
    match node:
        case ast.Attribute(value=ast.Name(name), attr=attr) if attr in _FIELDS:
            made, index = frame.state.sources.get(name), _FIELDS[attr]
        case ast.Subscript(value=ast.Name(name), slice=ast.Constant(value=int(index))):
            made = frame.state.sources.get(name)
        case ast.Name(name):
            made, index = _unpacked(frame, name)
        case _:
            return None
    is_svd = isinstance(made, ast.Call) and last_word(made.func) == "svd"
    return _Factor(made, index) if isinstance(made, ast.Call) and is_svd else None


_FIELDS: Final = {"U": 0, "S": 1, "Vh": 2, "V": 2}


def _unpacked(frame: Frame, name: str) -> tuple[ast.expr | None, int]:
    """Return what a variable is unpacked of that gets nothing else, and its place there."""
    function = None if frame.function is None else frame.function.node
    if function is None or len(bindings(function, name)) != 1:
        return None, 0
    return _places(function).get(name, (None, 0))


@kept_by_node(4)
def _places(function: ast.AST) -> Mapping[str, tuple[ast.expr, int]]:
    """Return the variables that a function unpacks something to, with what that is, and where."""
    found: dict[str, tuple[ast.expr, int]] = {}
    for statement in nodes_of(ast.Assign, function):
        for target in statement.targets:
            if isinstance(target, ast.Tuple):
                for place, item in enumerate(target.elts):
                    if isinstance(item, ast.Name):
                        found.setdefault(item.id, (statement.value, place))
    return found
