"""Sums of products over named letters: `torch.einsum`, and what einops' `einsum` comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Final

import shapecheck.dims as dims
from shapecheck import shapes
from shapecheck.dims import DimExpr
from shapecheck.ops.agree import counted, one_kind, promote_all, tensors_of
from shapecheck.ops.call import Call, Value, as_tensor, rule
from shapecheck.shapes import Clash, Item, Run, Shape, Tensor, Topic, mismatch

ELLIPSIS: Final = "..."


def _terms(text: str, headline: str) -> list[str]:
    """Cut `"b...d"` into letters and ellipses."""
    found: list[str] = []
    rest = text.replace(" ", "")
    while rest:
        if rest.startswith(ELLIPSIS):
            if ELLIPSIS in found:
                raise mismatch("an operand has one '...'", headline)
            found.append(ELLIPSIS)
            rest = rest[3:]
        elif rest[0].isascii() and rest[0].isalpha():
            found.append(rest[0])
            rest = rest[1:]
        else:
            raise mismatch(f"'{rest[0]}' isn't a letter", headline)
    return found


@rule("einsum")
def einsum(call: Call, equation: Value, operands: Value, **rest: Value) -> Value:
    """Judge `torch.einsum("bhnd,bhmd->bhnm", q, k)`."""
    if isinstance(equation, Tensor) and isinstance(operands, (tuple, list)):
        return _by_sublists(call, (equation, *operands))
    parts = tensors_of(operands)
    if not isinstance(equation, str) or parts is None:
        return Tensor.unknown()
    headline = f'can\'t sum "{equation}"'
    head, arrow, tail = equation.partition("->")
    if "->" in tail:
        raise mismatch("an equation has one '->'", headline)
    inputs = [_terms(piece, headline) for piece in head.split(",")]
    if arrow:
        output = _terms(tail, headline)
    else:
        every = [term for terms in inputs for term in terms]
        output = sorted(term for term in set(every) - {ELLIPSIS} if every.count(term) == 1)
        if ELLIPSIS in every:
            output.insert(0, ELLIPSIS)
    return contract(call, inputs, output, parts, headline)


def _by_sublists(call: Call, given: tuple[Value, ...] | list[Value]) -> Value:
    """Judge `torch.einsum(q, [0, 1], k, [2, 1], [0, 2])`: numbers stand for letters."""
    lists = [_letters(one) for one in given[1::2]]
    output = _letters(given[-1]) if len(given) % 2 else ""
    if output is None or None in lists:
        return Tensor.unknown()
    equation = ",".join(map(str, lists)) + (f"->{output}" if len(given) % 2 else "")
    return einsum(call, equation, given[: len(given) // 2 * 2 : 2])


def _letters(numbers: Value) -> str | None:
    """Return the letters that a list of numbers, and perhaps an ellipsis, stands for."""
    if not isinstance(numbers, (tuple, list)):
        return None
    found = ""
    for one in numbers:
        if one is ...:
            found += ELLIPSIS
        elif isinstance(one, int) and 0 <= one < len(ascii_letters):
            found += (ascii_uppercase + ascii_lowercase)[one]
        else:
            return None
    return found


@dataclass(slots=True)
class _Sum:
    """The letters of one sum: what each is, and in which operand it was met first."""

    call: Call
    headline: str
    between: str
    sizes: dict[str, DimExpr] = field(default_factory=dict)
    origin: dict[str, int] = field(default_factory=dict)
    rest: tuple[Item, ...] | None = None

    def meet(self, term: str, dim: DimExpr, operand: int, repeated: bool) -> None:
        """Bring a letter together with a dimension; a size of 1 broadcasts."""
        known = self.sizes.get(term)
        if known is None:
            self.sizes[term], self.origin[term] = dim, operand
            if isinstance(dim, dims.Size) and (symbol := dim.symbol) is not None:
                symbol.label(term)
            return
        where = f"{known} in operand {self.origin[term]} and {dim} in operand {operand}"
        if repeated:
            if not self.call.unify(known, dim):
                raise self.clash(
                    f'"{term}" is both {known} and {dim} in operand {operand}', known, dim
                )
            return
        try:
            met = shapes.broadcast_dim(self.call.facts, known, dim, self.call.operands)
        except Clash:
            raise self.clash(f'"{term}" is {where}', known, dim) from None
        if met is not known and self.call.facts.dim(known) == 1:
            self.origin[term] = operand
        self.sizes[term] = met

    def clash(self, reason: str, *about: Topic) -> shapes.Mismatch:
        return mismatch(reason, self.headline, "shape", "transpose", "swap", about=about)

    def spread(self, items: Sequence[Item], operand: int) -> None:
        """Broadcast what an ellipsis stands for with that of the operands before."""
        if self.rest is None:
            self.rest = tuple(items)
            return
        try:
            self.rest = shapes.broadcast(self.call.facts, self.rest, items, self.call.operands)
        except Clash as clash:
            raise self.clash(
                f'axis {clash.axis} of "..." is {clash.left} before '
                f"and {clash.right} in operand {operand}",
                clash.left,
                clash.right,
            ) from None


def contract(
    call: Call,
    inputs: Sequence[Sequence[str]],
    output: Sequence[str],
    parts: Sequence[Tensor],
    headline: str,
    between: str = "",
) -> Tensor:
    """Return the tensor with the axes of `output` from operands with those of `inputs`.

    A term is a name or `...`; messages write `between` them. Raises `Mismatch` where a name meets
    two different dimensions.
    """
    if len(inputs) != len(parts):
        raise mismatch(
            f"it names {counted(len(inputs), 'operand')}, {len(parts)} "
            f"{'is' if len(parts) == 1 else 'are'} given",
            headline,
        )
    known = {term for terms in inputs for term in terms}
    for index, term in enumerate(output):
        if term not in known and term != ELLIPSIS:
            raise mismatch(f'"{term}" is in the result and in no operand', headline)
        if term in output[:index]:
            raise mismatch(f'"{term}" is in the result twice', headline)
    if len(parts) == 2 and known.intersection(*inputs) - {*output, ELLIPSIS}:
        one_kind(parts[0], parts[1], headline)
    state = _Sum(call, headline, between)
    for index, (terms, part) in enumerate(zip(inputs, parts, strict=True), 1):
        _bind(state, terms, part, index)
    items: list[Item] = []
    for term in output:
        if term == ELLIPSIS:
            items.extend(state.rest if state.rest is not None else ())
        else:
            items.append(state.sizes.get(term, dims.unknown()))
    return Tensor(Shape(tuple(items)), promote_all(parts))


def _bind(state: _Sum, terms: Sequence[str], part: Tensor, operand: int) -> None:
    """Bind the letters of one operand."""
    count = len(terms) - (ELLIPSIS in terms)
    if ELLIPSIS in terms:
        front = terms.index(ELLIPSIS)
        shape = state.call.facts.stretched(part.shape, front, count - front)
    else:
        shape = state.call.facts.stretched(part.shape, count=count)
    short = shape.least_rank < count if shape.rank is not None else False
    long = shape.least_rank > count and ELLIPSIS not in terms
    if short or long:
        text = state.between.join(terms)
        least = "" if shape.rank is not None else "at least "
        raise mismatch(
            f"operand {operand} {shape} has {least}{counted(shape.least_rank, 'axis')}, "
            f'"{text}" names {count}',
            state.headline,
            about=(shape,),
        )
    cut = terms.index(ELLIPSIS) if ELLIPSIS in terms else None
    left = list(terms) if cut is None else list(terms[:cut])
    right = [] if cut is None else list(terms[cut + 1 :])
    items = list(shape.dims)
    seen: set[str] = set()
    while left and items and not isinstance(item := items[0], Run):
        state.meet(left[0], item, operand, left[0] in seen)
        seen.add(left.pop(0))
        items.pop(0)
    last = left if cut is None else right
    while last and items and not isinstance(item := items[-1], Run):
        state.meet(last[-1], item, operand, last[-1] in seen)
        seen.add(last.pop())
        items.pop()
    if cut is not None:
        state.spread(Shape.unknown().dims if left or right else items, operand)
    for term in (*left, *right):
        if term not in state.sizes:
            state.sizes[term], state.origin[term] = dims.unknown(), operand


@rule("bilinear")
def bilinear(
    call: Call, input1: Value, input2: Value, weight: Value, bias: Value = None, **rest: Value
) -> Value:
    """`y[o] = x1[i] W[o i j] x2[j]` over any leading axes that both inputs share."""
    parts = [as_tensor(value) for value in (input1, input2, weight)]
    first, second = (call.facts.shape(part.shape) for part in parts[:2])
    headline = f"can't multiply {first} by {second} with a weight of {parts[2]}"
    return contract(
        call,
        [[ELLIPSIS, "in1"], [ELLIPSIS, "in2"], ["out", "in1", "in2"]],
        [ELLIPSIS, "out"],
        parts,
        headline,
    )
