"""`x - x.mean(-1)`: what is taken from a tensor has lost the axis that it was taken over."""

from __future__ import annotations

import ast
from typing import Final, NamedTuple

from shapecheck.analysis.annotations.classes import is_module
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import OpCall, Suspicion, suspects
from shapecheck.analysis.suspicions.sources import same, source_of
from shapecheck.shapes import Tensor
from shapecheck.signatures import NUMPY_WORDS

_REDUCTIONS: Final = frozenset("mean sum norm vector_norm std var amax amin logsumexp".split())
_ONE_BY_ONE: Final = frozenset(
    "abs add clamp clamp_min clip detach div double exp float half log log1p mul neg pow rsqrt "
    "sqrt square sub to type_as".split()
)
"""What has the axes of what it is called on, or of its first argument."""

_FOUND_AFTER: Final = 8
"""So many steps lead from an operand to what it is made of, at most."""


class _Reduced(NamedTuple):
    """Over which axis something is reduced, and of what."""

    dim: int
    whole: ast.expr
    is_told_always: bool


@suspects("torch.Tensor.__sub__", "torch.Tensor.__add__")
@suspects("torch.Tensor.__mul__", "torch.Tensor.__truediv__")
def axis_lost(frame: Frame, call: OpCall) -> Suspicion | None:
    """Suspect a tensor of any rank that meets its own mean, norm or the like without `keepdim`."""
    node = call.node
    if not isinstance(node, ast.BinOp) or _is_judged(frame, call):
        return None
    for one, other in ((node.left, node.right), (node.right, node.left)):
        found = _reduced(frame, other)
        if found is None or not _is_of(frame, found.whole, one):
            continue
        if _loses(frame, found):
            return Suspicion(
                f'"{frame.segment(other)}" has lost axis {found.dim}, over which it was taken from '
                f'"{frame.segment(one)}": the two line up by their last axes',
                ("keepdim=True keeps it, as one of size 1",),
            )
    return None


def _is_judged(frame: Frame, call: OpCall) -> bool:
    """Whether a tensor that is given has a known number of axes: its sizes tell whether it fits."""
    shapes = (frame.state.facts.shape(one.shape) for one in call.args if isinstance(one, Tensor))
    return any(shape.rank for shape in shapes)


def _loses(frame: Frame, found: _Reduced) -> bool:
    """Whether what a reduction gives no longer lines up, but where it is of a vector.

    In a module there are batches, but `logsumexp` has to be told the only axis of a vector, too.
    """
    owner = None if frame.function is None else frame.function.owner
    has_batches = owner is not None and is_module(owner) and not found.is_told_always
    return found.dim >= 1 or (found.dim == -1 and has_batches)


def _reduced(frame: Frame, node: ast.expr | None) -> _Reduced | None:
    """Return which reduction an expression is made of, one element of the other."""
    for _ in range(_FOUND_AFTER):
        node = source_of(frame, node)
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in _REDUCTIONS:
                return _reduction(node)
        node = _made_of(node)
        if node is None:
            return None
    return None


def _reduction(node: ast.Call) -> _Reduced | None:
    given = {word.arg: word.value for word in node.keywords}
    assert isinstance(node.func, ast.Attribute)
    receiver = node.func.value
    is_function = ast.unparse(receiver) in ("torch", "torch.linalg")
    args = node.args if is_function else [receiver, *node.args]
    if not args or None in given:
        return None
    numbers = [_literal(one) for one in args[1:]]
    told = {NUMPY_WORDS.get(name or "", name): _literal(one) for name, one in given.items()}
    keeps = told.get("keepdim", False) is not False or any(one is True for one in numbers)
    if keeps or not all(isinstance(one, int | float) for one in numbers):
        return None
    is_norm = node.func.attr in ("norm", "vector_norm")
    loose = numbers[1:] if is_norm else numbers
    dim = told.get("dim", loose[0] if loose else None)
    is_told_always = node.func.attr == "logsumexp"
    return _Reduced(dim, args[0], is_told_always) if type(dim) is int else None


def _literal(node: ast.expr) -> object:
    """Return the value of a literal, None where it is anything else."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _is_of(frame: Frame, whole: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are made of one, element by element."""
    first = _origins(frame, whole)
    return any(same(one, two) for one in first for two in _origins(frame, other))


def _origins(frame: Frame, node: ast.expr | None) -> list[ast.expr]:
    found: list[ast.expr] = []
    for _ in range(_FOUND_AFTER):
        if node is None:
            break
        found.append(node)
        node = _made_of(node)
    return [one for one in found if not isinstance(one, ast.Constant)]


def _made_of(node: ast.expr | None) -> ast.expr | None:
    """Return what an expression has the axes of, as far as it shows; None where nothing does."""
    match node:
        case ast.BinOp(left=left, right=ast.Constant()):
            return left
        case ast.BinOp(left=ast.Constant(), right=right):
            return right
        case ast.BinOp(left=left, right=ast.Attribute(attr="eps")):
            return left
        case ast.BinOp(left=left, op=ast.Sub() | ast.Mult(), right=right):
            return left if isinstance(node.op, ast.Sub) or same(left, right) else None
        case ast.UnaryOp(operand=inner):
            return inner
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[one, *_]):
            return one if name in _ONE_BY_ONE else None
        case ast.Call(func=ast.Attribute(value=one, attr=name)) if name in _ONE_BY_ONE:
            return one
    return None
