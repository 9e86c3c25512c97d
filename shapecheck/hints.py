"""The one edit that would help: tried before it is told, and told only where the names call for it.

An edit that makes an op possible may be the wrong one: what it gives has to be what is wanted
there, and no other edit of its kind may do as well.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Final, TypeAlias

from shapecheck import spec
from shapecheck.dims import DimExpr, Kind, Size, Sym
from shapecheck.shapes import (
    CertainFacts,
    Evaluate,
    Facts,
    Item,
    Matcher,
    Mismatch,
    Problem,
    Shape,
    Tensor,
)


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that takes part, as the reader sees it.

    `role`: what it is to the op (`right operand`, `argument "weight"`). `text`: its source text.
    `since`: the line that gave it its shape. `kept`: what it would be had the reduction that made
    it been told `keepdim=True`, and the text of that reduction. `array`: it is one of numpy's.
    """

    role: str
    value: Tensor
    text: str | None = None
    since: int | None = None
    kept: tuple[Tensor, str] | None = None
    array: bool = False


Retry: TypeAlias = Callable[[Mapping[int, Tensor]], "Tensor | None"]
"""Runs the op again with some operands replaced; None where it still fails."""

Wanted: TypeAlias = Callable[[Tensor], bool]
"""Whether a result is what the annotation of the place that it goes to says."""

_MOST_AXES: Final = 5
"""Of a value with more axes, not every order is tried."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """Operands by their number, what they would be, how that is written, how many axes move."""

    values: Mapping[int, Tensor]
    text: str
    moved: int = 0

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(value.shape for value in self.values.values())


_Group: TypeAlias = Iterator[list[_Edit]]
"""Edits by how likely they are meant: of those that stand together, one alone may do."""


def of_operation(
    label: str,
    problem: Problem,
    operands: Sequence[Operand],
    retry: Retry,
    wanted: Wanted | None = None,
) -> str | None:
    """Return a note that says the edit with which an op could be done, if one is called for."""
    operands = [one if _is_a_tensor(one.text) else replace(one, text=None) for one in operands]
    for hint in problem.hints:
        for group in _EDITS[hint](operands, label):
            found: dict[tuple[Shape, ...], tuple[_Edit, Tensor]] = {}
            for edit in group:
                result = retry(edit.values)
                if result is None or not _is_meant(problem, operands, result, wanted):
                    continue
                found.setdefault(edit.shapes, (edit, result))
            best = _best(list(found.values()), operands)
            if best is not None:
                edit, result = best
                gives = f"give {result.shape}" if result.shape.dims else "fit"
                return f'"{edit.text}"{_where(edit, operands)} would {gives}'
    return None


def _is_a_tensor(text: str | None) -> bool:
    """Whether source text may be a tensor's, and isn't that of a list of some."""
    return text is not None and not isinstance(_expression(text), (ast.List, ast.Tuple))


def _where(edit: _Edit, operands: Sequence[Operand]) -> str:
    """Return which of two operands with one text an edit is of."""
    if len(edit.values) > 1:
        return ""
    (edited,) = (operands[index] for index in edit.values)
    alike = sum(one.text == edited.text for one in operands) > 1
    return f" as {edited.role}" if alike and edited.role.endswith("operand") else ""


def _is_meant(
    problem: Problem, operands: Sequence[Operand], result: Tensor, wanted: Wanted | None
) -> bool:
    """Whether a result may be what was meant: of a broadcast, it has one operand's shape."""
    broadcast = "keepdim" in problem.hints or problem.code == "shape-broadcast"
    if broadcast and result.shape not in [operand.value.shape for operand in operands]:
        # The result of a loss is a scalar.
        return problem.code == "shape-broadcast" and not result.shape.dims
    return wanted is None or wanted(result)


def _best(
    found: Sequence[tuple[_Edit, Tensor]], operands: Sequence[Operand]
) -> tuple[_Edit, Tensor] | None:
    """Return the only one of edits that do, or the one that names speak for; None in doubt.

    Of two that they speak for alike it is the one that moves fewer axes.
    """
    if not found:
        return None
    scores = [(_aligned(edit, operands), -edit.moved) for edit, _ in found]
    most = max(scores)
    return found[scores.index(most)] if scores.count(most) == 1 else None


def _aligned(edit: _Edit, operands: Sequence[Operand]) -> int:
    """Count the axes on which an edited operand has what another operand has there."""
    others = [one.value.shape for at, one in enumerate(operands) if at not in edit.values]
    return sum(
        item == other and item != 1
        for shape in edit.shapes
        for beside in others
        for item, other in zip(reversed(shape.dims), reversed(beside.dims), strict=False)
    )


# What is tried ------------------------------------------------------------------------------------


def _transpose(operands: Sequence[Operand], label: str) -> _Group:
    """Yield the exchange of the last two axes, then the moves of one axis to another place."""
    for index in reversed(range(len(operands))):
        rank = operands[index].value.shape.rank
        if rank is None or rank < 2:
            continue
        last = _swap_of(rank, rank - 2, rank - 1)
        moves = list(_moves(rank))
        rest = [order for order in moves if order != last]
        swaps = [_swap_of(rank, i, j) for i, j in combinations(range(rank), 2)]
        for orders in ([last], rest, [order for order in swaps if order not in moves]):
            found = (_reordered(operands[index], index, order) for order in orders)
            yield [edit for edit in found if edit is not None]


def _reordered(operand: Operand, index: int, order: tuple[int, ...]) -> _Edit | None:
    if operand.text is None:
        return None
    text = (
        _transposed(operand.text, order)
        if operand.array
        else permuted(operand.text, order, from_the_end=True)
    )
    moved = Tensor(_in_order(operand.value.shape, order), operand.value.dtype)
    return _Edit({index: moved}, text, _moved(order))


def _swap(operands: Sequence[Operand], label: str) -> _Group:
    if len(operands) == 2 and None not in (operands[0].text, operands[1].text):
        first, second = operands
        between = ", " if label.replace(".", "").isidentifier() else f" {label} "
        yield [_Edit({0: second.value, 1: first.value}, f"{second.text}{between}{first.text}")]


def _unsqueeze(operands: Sequence[Operand], label: str) -> _Group:
    """Yield a new axis at any place, and several behind the first axis: `scale[:, None, None]`."""
    most = max((one.value.shape.rank or 0 for one in operands), default=0)
    for index, operand in enumerate(operands):
        dims, text = operand.value.shape.dims, operand.text
        if text is None:
            continue
        known, rank = operand.value.shape.rank is not None, len(dims)
        edits = []
        for position in range(rank, -1 if known else rank - 1, -1):
            grown = (*dims[:position], 1, *dims[position:])
            axis = -1 if position == rank else position
            places = ", ".join([*(":" for _ in dims[:position]), "None"])
            grow = f"[{places}]" if operand.array else f".unsqueeze({axis})"
            edits.append(_grown(operand, index, grown, grow))
        for many in range(rank + 2, most + 1) if known and rank else ():
            edits += _spread(operand, index, many)
        yield edits


def _spread(operand: Operand, index: int, rank: int) -> Iterator[_Edit]:
    """Yield an operand with new axes up to a rank, none of them the first, as those broadcast."""
    dims = operand.value.shape.dims
    for places in combinations(range(1, rank), len(dims) - 1):
        grown: list[Item] = [1] * rank
        for place, item in zip((0, *places), dims, strict=True):
            grown[place] = item
        written = ", ".join(":" if at in (0, *places) else "None" for at in range(rank))
        yield _grown(operand, index, grown, f"[{written}]")


def _grown(operand: Operand, index: int, dims: Iterable[Item], edit: str) -> _Edit:
    value = Tensor(Shape(tuple(dims)), operand.value.dtype, True)
    return _Edit({index: value}, f"{receiver(str(operand.text))}{edit}")


def _squeeze(operands: Sequence[Operand], label: str) -> _Group:
    for index, operand in enumerate(operands):
        if operand.text is None or operand.value.shape.rank is None:
            continue
        dims = operand.value.shape.dims
        edits = []
        for position in range(len(dims) - 1, -1, -1):
            if dims[position] == 1:
                axis = -1 if position == len(dims) - 1 else position
                less = Shape((*dims[:position], *dims[position + 1 :]))
                text = f"{receiver(operand.text)}.squeeze({axis})"
                edits.append(_Edit({index: Tensor(less, operand.value.dtype)}, text))
        yield edits


def _keepdim(operands: Sequence[Operand], label: str) -> _Group:
    for index, operand in enumerate(operands):
        if operand.kept is not None:
            yield [_Edit({index: operand.kept[0]}, operand.kept[1])]


_EDITS: Final[Mapping[str, Callable[[Sequence[Operand], str], _Group]]] = {
    edit.__name__.removeprefix("_"): edit
    for edit in (_transpose, _swap, _unsqueeze, _squeeze, _keepdim)
}
"""What a hint tries, by its name; an edit may have to know how the op is written."""


# A value and its annotation -----------------------------------------------------------------------


def of_value(
    text: str,
    shape: Shape,
    declared: spec.Spec,
    names: Mapping[str, DimExpr] | None = None,
    evaluate: Evaluate | None = None,
    *,
    same_names: bool = False,
) -> str | None:
    """Return a note that says with which edit a value would fit its annotation by its names.

    `same_names`: the annotation's names are those of the value, as in a function's own result, so
    that no axis is moved to where another name stands.
    """
    rank = shape.rank
    if rank is None:
        return None

    def does(moved: Shape) -> bool:
        # Not by what the names have turned out to be: `t` that was made 64 isn't meant by a 64.
        return fits(declared, moved, names, evaluate, CertainFacts.of(Facts()))

    def is_meant(moved: Shape) -> bool:
        entries = declared.entries if same_names and not declared.groups else ()
        return not any(
            item != before and _is_called_otherwise(item, entry, names or {})
            for item, before, entry in zip(moved.dims, shape.dims, entries, strict=False)
        )

    more = rank - len(declared.entries)
    if more > 0 and not declared.groups:
        ones = [axis for axis, item in enumerate(shape.dims) if item == 1]
        without = [axes for axes in combinations(ones, more) if does(_without(shape, axes))]
        return f'"{_picked(text, without[0], rank)}" would fit' if len(without) == 1 else None
    orders = permutations(range(rank)) if rank <= _MOST_AXES else _moves(rank)
    tried = {order: _in_order(shape, order) for order in orders if _moved(order)}
    order = _simplest([order for order, moved in tried.items() if is_meant(moved) and does(moved)])
    return None if order is None else f'"{permuted(text, order)}" would fit'


def _is_called_otherwise(item: Item, entry: spec.Entry, names: Mapping[str, DimExpr]) -> bool:
    """Whether a dimension has a name, and stands where an annotation has another, unbound one."""
    match entry, item:
        case spec.Axis(expr=spec.Name(id=name)), Size(symbol=Sym(kind=Kind.NAME) as symbol):
            return name not in names and name != symbol.name
    return False


def _simplest(orders: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return the one order in which the axes stay most as they are; None where there is none.

    One axis is moved and the others stay in their order, rather than two exchanged:
    `(h w 3)` is `(3 h w)` and not `(3 w h)`.
    """
    if not orders:
        return None
    moves = set(_moves(len(orders[0])))
    costs = [(order not in moves, _moved(order)) for order in orders]
    least = min(costs)
    return orders[costs.index(least)] if costs.count(least) == 1 else None


def fits(
    declared: spec.Spec,
    shape: Shape,
    names: Mapping[str, DimExpr] | None,
    evaluate: Evaluate | None,
    facts: CertainFacts,
) -> bool:
    """Whether a shape certainly is what an annotation says, where `names` are bound."""
    matcher = Matcher(facts)
    matcher.evaluate = evaluate or matcher.evaluate
    matcher.names.update(names or {})
    try:
        return matcher.match(declared, shape) is None and matcher.settle() is None
    except Mismatch:
        return False


def _without(shape: Shape, axes: Collection[int]) -> Shape:
    return Shape(tuple(item for axis, item in enumerate(shape.dims) if axis not in axes))


def _picked(text: str, axes: Sequence[int], rank: int) -> str:
    """Return source text without some axes of size 1: `x.squeeze(1)`, `x[:, :, 0, 0]`."""
    if len(axes) == 1:
        return squeezed(text, axes[0], rank)
    places = ["0" if axis in axes else ":" for axis in range(axes[-1] + 1)]
    return f"{receiver(text)}[{', '.join(places)}]"


# Orders of axes -----------------------------------------------------------------------------------


def _swap_of(rank: int, i: int, j: int) -> tuple[int, ...]:
    order = list(range(rank))
    order[i], order[j] = order[j], order[i]
    return tuple(order)


def _move_of(rank: int, i: int, j: int) -> tuple[int, ...]:
    """Return the order in which axis `i` stands at `j`, and the others as they did."""
    order = [axis for axis in range(rank) if axis != i]
    order.insert(j, i)
    return tuple(order)


def _moves(rank: int) -> Iterable[tuple[int, ...]]:
    """Return the orders in which one axis stands elsewhere."""
    places = ((i, j) for i in range(rank) for j in range(rank) if i != j)
    return dict.fromkeys(_move_of(rank, i, j) for i, j in places)


def _moved(order: Sequence[int]) -> int:
    return sum(axis != at for at, axis in enumerate(order))


def _in_order(shape: Shape, order: Sequence[int]) -> Shape:
    return Shape(tuple(shape.dims[axis] for axis in order))


def permuted(text: str, order: Sequence[int], *, from_the_end: bool = False) -> str:
    """Return source text with the axes of its value in another order.

    What the text itself does to the order of axes is taken together with that:
    `x.transpose(1, 3)` becomes `x.permute(0, 3, 1, 2)`. `from_the_end`: the last two axes are
    counted from the end.
    """
    rank = len(order)
    node = _expression(text)
    while node is not None and (before := _order_of(node, rank)) is not None:
        inner, first = before
        order = [first[axis] for axis in order]
        node, text = inner, ast.get_source_segment(text, inner) or text
        node = _expression(text)
    moved = [axis for axis in range(rank) if order[axis] != axis]
    if not moved:
        return text
    if len(moved) > 2:
        return f"{receiver(text)}.permute({', '.join(map(str, order))})"
    i, j = moved
    if from_the_end and i == rank - 2:
        i, j = -2, -1
    return f"{receiver(text)}.transpose({i}, {j})"


def _transposed(text: str, order: Sequence[int]) -> str:
    """Return source text with the axes of its value, an array, in another order."""
    moved = [axis for axis in range(len(order)) if order[axis] != axis]
    if len(order) == 2:
        return f"{receiver(text)}.T"
    if len(moved) == 2:
        return f"{receiver(text)}.swapaxes({moved[0]}, {moved[1]})"
    return f"{receiver(text)}.transpose({', '.join(map(str, order))})"


def _order_of(node: ast.expr, rank: int) -> tuple[ast.expr, list[int]] | None:
    """Return what an expression puts in another order, and the order; None for others."""
    match node:
        case ast.Attribute(value=inner, attr="T"):
            return inner, list(reversed(range(rank)))
        case ast.Attribute(value=inner, attr="mT") if rank > 1:
            return inner, list(_swap_of(rank, rank - 2, rank - 1))
        case ast.Call(func=ast.Attribute(value=inner, attr="t"), args=[], keywords=[]) if rank == 2:
            return inner, [1, 0]
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=args, keywords=[]):
            return _order_by(inner, name, args, rank)
    return None


def _order_by(
    inner: ast.expr, name: str, args: Sequence[ast.expr], rank: int
) -> tuple[ast.expr, list[int]] | None:
    if name not in ("transpose", "swapaxes", "swapdims", "permute"):
        return None
    try:
        values = [ast.literal_eval(arg) for arg in args]
    except ValueError:
        return None
    axes = list(values[0]) if len(values) == 1 and isinstance(values[0], (tuple, list)) else values
    if not all(type(axis) is int and -rank <= axis < rank for axis in axes):
        return None
    axes = [axis % rank for axis in axes]
    if name == "permute":
        return (inner, axes) if sorted(axes) == list(range(rank)) else None
    is_torch = isinstance(inner, ast.Name) and inner.id in _NAMESPACES
    return (inner, list(_swap_of(rank, *axes))) if len(axes) == 2 and not is_torch else None


def squeezed(text: str, axis: int, rank: int) -> str:
    """Return source text without an axis of size 1 of its value.

    Where a reduction was told to keep that axis, it isn't told so: `x.sum(1)`, not
    `x.sum(1, keepdim=True).squeeze(1)`.
    """
    node = _expression(text)
    if isinstance(node, ast.Call) and _kept_axis(node, rank) == axis:
        others = [one for one in node.keywords if one.arg != "keepdim"]
        return ast.unparse(ast.Call(node.func, node.args, others))
    return f"{receiver(text)}.squeeze({axis})"


def _kept_axis(call: ast.Call, rank: int) -> int | None:
    """Return the one axis that a reduction is told to keep, by `dim` or its only number."""
    told = {one.arg: one.value for one in call.keywords}
    match told.get("keepdim"):
        case ast.Constant(value=True):
            given = [told["dim"]] if "dim" in told else call.args
        case _:
            return None
    axes = [axis for axis in map(_number, given) if axis is not None]
    return axes[0] % rank if len(axes) == 1 else None


def _number(node: ast.expr) -> int | None:
    """Return the integer that an expression is, with its sign."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


_NAMESPACES: Collection[str] = ("torch", "np", "numpy")


def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def receiver(text: str) -> str:
    """Return source text so that `.method()` can follow it."""
    return text if isinstance(_expression(text), _PRIMARIES) else f"({text})"


_PRIMARIES: Final = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
