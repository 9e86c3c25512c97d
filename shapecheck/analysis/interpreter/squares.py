"""Parameters that an op shows to be squares: of one size along two axes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from shapecheck.analysis.interpreter.chosen_alike import broadcasts, is_axis
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.syntax import last_word, name_of, names_in
from shapecheck.dims import Kind, Size
from shapecheck.ops.call import only
from shapecheck.shapes import Problem, Tensor
from shapecheck.signatures import Signature


def learn_square(
    frame: Frame,
    signature: Signature,
    came: Sequence[Value],
    problem: Problem,
    operands: Sequence[ast.expr | None],
) -> bool:
    """Learn that a parameter is a square, as a graph's matrix is; False where it can't be.

    An op takes the parameter as it `came`, and of two of its axes only one has been equated. Or it
    puts a batch of such beside what that is transposed, `x - x.mT` and `torch.stack([x, x.mT])`, or
    beside a diagonal matrix, `torch.diag(d) - x`, or takes a trace, `torch.einsum("bii->b", x)`.
    """
    facts, met = frame.state.facts, only(problem.about, Size)
    is_beside = broadcasts(signature) or signature.result.rule in _JOINING
    tensors = [*_tensors(frame, came)]
    parts = [*_apart(frame, operands)] if is_beside else []
    if _is_one_turned(frame, parts) or _is_one_diagonal(frame, parts, tensors):
        shown = tensors
    else:
        shown = [*_traced(signature, came, tensors)]
    for axis, other in zip(met, met[::-1], strict=True):
        symbol = axis.symbol
        if symbol is None or not is_axis(axis):
            continue
        for tensor in tensors:
            axes = {*facts.shape(tensor.shape).dims}
            if tensor in shown:
                is_square = {axis, other} <= axes
            else:
                is_one = symbol.kind is Kind.UNKNOWN and all(map(is_axis, tensor.shape.dims))
                is_square = is_one and {axis, other} == axes
            if is_square:
                facts.learn(symbol, other)
                return facts.dim(axis) != axis
    return False


_JOINING: Final = frozenset(("where", "cat", "stack", "joined stack", "setitem"))


def _traced(
    signature: Signature, came: Sequence[Value], tensors: Sequence[Tensor]
) -> Iterator[Tensor]:
    """Yield the operands of a sum of products that have one letter for two of their axes."""
    pattern = came[0] if came and signature.result.rule == "einsum" else None
    if not isinstance(pattern, str):
        return
    for letters, tensor in zip(pattern.partition("->")[0].split(","), tensors, strict=False):
        if any(letter.isalpha() and letters.count(letter) > 1 for letter in letters):
            yield tensor


def _tensors(frame: Frame, came: Sequence[Value]) -> Iterator[Tensor]:
    """Yield the tensors that an op is given, by themselves or in lists."""
    for value in came:
        content = frame.state.list_of(value)
        items = value if content is None else content.items or (content.element,)
        yield from only(items if isinstance(items, tuple) else (items,), Tensor)


def _is_one_turned(frame: Frame, operands: Sequence[ast.expr]) -> bool:
    """Whether one of several operands is another one with axes exchanged."""
    for at, operand in enumerate(operands):
        turned = _turned(_source(frame, operand))
        if turned is not None:
            others = (*operands[:at], *operands[at + 1 :])
            if ast.dump(turned) in map(ast.dump, others):
                return True
    return False


def _is_one_diagonal(frame: Frame, operands: Sequence[ast.expr], tensors: Sequence[Tensor]) -> bool:
    """Whether one of several operands is a matrix of which only the diagonal isn't 0."""
    made = only((_source(frame, one) for one in operands), ast.Call)
    if not any(last_word(call.func) in _DIAGONAL for call in made):
        return False
    ends = (frame.state.facts.shape(tensor.shape).dims[-2:] for tensor in tensors)
    return any(len(end) == 2 and end[0] == end[1] for end in ends)


_DIAGONAL: Final = frozenset("eye diag diag_embed diagflat".split())


def _source(frame: Frame, node: ast.expr) -> ast.expr:
    """Return the expression that a variable was set to, and any other as it is."""
    return frame.state.sources.get(name_of(node) or "", node)


def _apart(frame: Frame, operands: Sequence[ast.expr | None]) -> Iterator[ast.expr]:
    """Yield operands, the items of lists in their place, and what they are sums of.

    `torch.rot90(x, k, (2, 3)) for k in range(4)` turns `x` and gives it as it is.
    """
    for operand in operands:
        if operand is None:
            continue
        match _source(frame, operand):
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for item in items:
                    yield from _summed(item)
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item) as made:
                yield item
                counted = {name for one in made.generators for name in names_in(one.target)}
                whole = _turned(item)
                if whole is not None and counted.isdisjoint(names_in(whole)):
                    yield whole
            case _:
                yield from _summed(operand)


def _summed(node: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression and, where it combines others element by element, these."""
    yield node
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        yield from _summed(node.left)
        yield from _summed(node.right)


def _turned(node: ast.expr) -> ast.expr | None:
    """Return what an expression exchanges axes of: `x` of `x.mT` and `torch.transpose(x, 1, 2)`."""
    match node:
        case ast.Attribute(value=whole, attr="T" | "mT" | "H" | "mH"):
            return whole
        case ast.Call(func=ast.Attribute(value=whole, attr=attr), args=args) if attr in _TURNS:
            return args[0] if name_of(whole) == "torch" and args else whole
    return None


_TURNS: Final = frozenset("t transpose swapaxes swapdims permute adjoint rot90".split())
