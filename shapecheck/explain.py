"""From a mismatch to what a person reads, the same text from both sides.

The first line says which op or boundary, and what met what, by name and axis. Notes say where
each side got its shape and which one edit would fix it; an edit is tried before it is told.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from shapecheck import spec
from shapecheck.blame import OPERATION, Blame
from shapecheck.dims import Kind, Size, Sym, in_order
from shapecheck.dims.composites import symbols
from shapecheck.dims.origins import StandIn
from shapecheck.shapes import (
    CertainFacts,
    Evaluate,
    Facts,
    Free,
    Matcher,
    Misfit,
    Mismatch,
    Problem,
    Run,
    Shape,
    Tensor,
    Topic,
)


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that takes part, as the reader sees it.

    `role`: what it is to the op (`right operand`, `argument "weight"`). `text`: its source text.
    `since`: the line that gave it its shape. `kept`: what it would be had the reduction that made
    it been told `keepdim=True`, and the text of that reduction.
    """

    role: str
    value: Tensor
    text: str | None = None
    since: int | None = None
    kept: tuple[Tensor, str] | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """An error's text, its code, its notes in the order in which they are shown, and its blame.

    `reason`: the sentence behind the colon of the text, where a value doesn't fit its annotation.
    """

    text: str
    code: str = "shape"
    notes: tuple[str, ...] = ()
    blame: Blame = OPERATION
    reason: str = ""


Retry = Callable[[Mapping[int, Tensor]], "Tensor | None"]
"""Runs the op again with some operands replaced; None where it still fails."""


def operation(
    label: str,
    problem: Problem,
    operands: Sequence[Operand] = (),
    retry: Retry | None = None,
    facts: Facts | None = None,
) -> Message:
    """Explain an op that can't be: `"@" can't multiply (b n) by (m k): ...`.

    `facts`: what was learned before of the sizes that the operands have.
    """
    text = f'"{label}" {problem.headline}: {problem.reason}'
    notes = [
        f'{operand.role} "{operand.text}" is {operand.value} since line {operand.since}'
        for operand in operands
        if operand.text is not None and operand.since is not None
    ]
    if facts is not None:
        notes += _learned(problem, operands, facts)
    if retry is not None:
        fix = next(_fixes(label, problem, operands, retry), None)
        if fix is not None:
            notes.append(fix)
    return Message(text, problem.code, tuple(dict.fromkeys(notes)))


def _learned(problem: Problem, operands: Sequence[Operand], facts: Facts) -> Iterator[str]:
    """Yield what is known of the names that a problem is about."""
    said = {symbol.name for topic in problem.about for symbol in _symbols(topic)}
    for operand in operands:
        for item in operand.value.shape.dims:
            for symbol in () if isinstance(item, Run) else in_order(symbols(item)):
                value = facts.atoms.get(symbol)
                if symbol.kind is not Kind.NAME or symbol.name not in said or value is None:
                    continue
                if not any(_stands_in(found, symbol) for found in symbols(value)):
                    yield f"{symbol.name} is {facts.size(value)} here"


def _symbols(topic: Topic) -> frozenset[Sym]:
    """Return what dimensions are made of; the symbol of a run isn't one of a size."""
    items = topic.dims if isinstance(topic, Shape) else (topic,)
    sizes = (item for item in items if item is not None and not isinstance(item, Run))
    return frozenset().union(*map(symbols, sizes))


def _stands_in(symbol: Sym, other: Sym) -> bool:
    return isinstance(symbol.origin, StandIn) and symbol.origin.symbol is other


def _fixes(
    label: str, problem: Problem, operands: Sequence[Operand], retry: Retry
) -> Iterator[str]:
    """Yield the edits that would help; of a broadcast, those that leave one operand's shape."""
    shapes = [operand.value.shape for operand in operands]
    broadcast = "keepdim" in problem.hints or problem.code == "shape-broadcast"
    for hint in problem.hints:
        for indices, values, edit in _EDITS[hint](operands, label):
            if any(operands[index].text is None for index in indices):
                continue
            result = retry(values)
            if result is None:
                continue
            reduced = problem.code == "shape-broadcast" and not result.shape.dims  # of a loss
            if broadcast and result.shape not in shapes and not reduced:
                continue
            gives = f"give {result.shape}" if result.shape.dims else "fit"
            yield f'"{edit}" would {gives}'


Edits = Iterator[tuple[tuple[int, ...], dict[int, Tensor], str]]


def _transpose(operands: Sequence[Operand], label: str) -> Edits:
    for index in reversed(range(len(operands))):
        operand = operands[index]
        rank = operand.value.shape.rank
        if rank is None or rank < 2:
            continue
        pairs = [(rank - 2, rank - 1)]
        pairs += [pair for pair in combinations(range(rank), 2) if pair not in pairs]
        for i, j in pairs:
            names = (i - rank, j - rank) if (i, j) == pairs[0] else (i, j)
            moved = Tensor(_swapped(operand.value.shape, i, j), operand.value.dtype)
            text = f"{_receiver(operand.text)}.transpose({names[0]}, {names[1]})"
            yield (index,), {index: moved}, text


def _swap(operands: Sequence[Operand], label: str) -> Edits:
    if len(operands) == 2:
        first, second = operands
        between = ", " if label.replace(".", "").isidentifier() else f" {label} "
        edit = f"{second.text}{between}{first.text}"
        yield (0, 1), {0: second.value, 1: first.value}, edit


def _unsqueeze(operands: Sequence[Operand], label: str) -> Edits:
    for index, operand in enumerate(operands):
        dims = operand.value.shape.dims
        rank = len(dims)
        known = operand.value.shape.rank is not None
        for position in range(rank, -1 if known else rank - 1, -1):
            grown = Shape((*dims[:position], 1, *dims[position:]))
            axis = -1 if position == rank else position
            text = f"{_receiver(operand.text)}.unsqueeze({axis})"
            yield (index,), {index: Tensor(grown, operand.value.dtype, True)}, text


def _squeeze(operands: Sequence[Operand], label: str) -> Edits:
    for index, operand in enumerate(operands):
        dims = operand.value.shape.dims
        for position in range(len(dims) - 1, -1, -1):
            if dims[position] == 1 and operand.value.shape.rank is not None:
                axis = -1 if position == len(dims) - 1 else position
                less = Shape((*dims[:position], *dims[position + 1 :]))
                text = f"{_receiver(operand.text)}.squeeze({axis})"
                yield (index,), {index: Tensor(less, operand.value.dtype)}, text


def _keepdim(operands: Sequence[Operand], label: str) -> Edits:
    for index, operand in enumerate(operands):
        if operand.kept is not None:
            yield (index,), {index: operand.kept[0]}, operand.kept[1]


_EDITS: Mapping[str, Callable[[Sequence[Operand], str], Edits]] = {
    edit.__name__.removeprefix("_"): edit
    for edit in (_transpose, _swap, _unsqueeze, _squeeze, _keepdim)
}
"""What a hint tries, by its name; an edit may have to know how the op is written."""


def _swapped(shape: Shape, i: int, j: int) -> Shape:
    dims = list(shape.dims)
    dims[i], dims[j] = dims[j], dims[i]
    return Shape(tuple(dims))


def _receiver(text: str | None) -> str:
    """Return source text so that `.method()` can follow it."""
    try:
        node = ast.parse(str(text), mode="eval").body
    except SyntaxError:
        return f"({text})"
    return str(text) if isinstance(node, _PRIMARIES) else f"({text})"


_PRIMARIES = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def boundary(
    subject: str,
    shape: Shape,
    declared: spec.Spec,
    misfit: Misfit,
    text: str | None = None,
    facts: Facts | None = None,
    names: Mapping[str, object] | None = None,
    evaluate: Evaluate | None = None,
    free: Sequence[Free] = (),
) -> Message:
    """Explain a value that doesn't fit its annotation.

    `subject`: what it is, `argument "x" of "attend"` or `returned value`. `text`: its source
    text, for the hint. `names`: what the names of the annotation are bound to here, and
    `evaluate` the values of its `{...}`. `free`: the first-class dimensions of the value.
    """
    if misfit.axis is None and misfit.expected and isinstance(misfit.actual, int):
        left = _count(misfit.actual)
        reason = f"it leaves {left} to {misfit.expected}, which has {misfit.value} here"
    elif misfit.axis is None:
        many = "at least " if declared.groups else ""
        count = len(declared.entries) - declared.groups
        reason = f"it has {_count(len(shape.dims))}, declared {many}{count}"
    elif misfit.value is None:
        reason = f"axis {misfit.axis} is {misfit.actual}, which no {misfit.expected} can be"
    else:
        value = misfit.value
        if facts is not None and isinstance(value, Size):
            value = facts.dim(value)  # a name that has turned out to be something
        same = str(value) == misfit.expected
        here = "" if same else f" (here {value})"
        reason = f"axis {misfit.axis} is {misfit.actual}, declared {misfit.expected}{here}"
    notes: list[str] = []
    if facts is not None and text is not None:
        for i, j in combinations(range(len(shape.dims)), 2):
            moved = _swapped(shape, i, j)
            if shape.rank is not None and _fits(declared, moved, facts, names, evaluate):
                notes.append(f'"{_receiver(text)}.transpose({i}, {j})" would fit')
                break
    given = Tensor(shape, free=tuple(free))
    said = f'{subject} is {given}, declared "{declared}": {reason}'
    return Message(said, notes=tuple(notes), reason=reason)


def left_over(subject: str, value: Tensor, dims: Sequence[Free]) -> Message:
    """Explain a result that still has first-class dimensions of the function's own."""
    names = " and ".join(f'"{dim}"' for dim in dims)
    left = "is left over, order() made no axis of it"
    many = "are left over, order() made no axes of them"
    return Message(f"{subject} is {value}: {names} {left if len(dims) == 1 else many}")


def with_origins(
    message: Message, misfit: Misfit, matcher: Matcher, origin: Mapping[str, str]
) -> Message:
    """Add where the names got their values that a misfit is about: `origin`, by their parameter."""
    said: list[str] = []
    for star, name in dict.fromkeys(re.findall(r"(\*?)([^\W\d]\w*)", misfit.expected)):
        run = matcher.runs.get(name) if star else None
        value = matcher.names.get(name) if run is None else Shape(run)
        if name not in origin or value is None:
            continue
        shown = (
            f"{name} comes"
            if str(value) == name
            else f"{star * (run is not None)}{name} is {value}"
        )
        said.append(f'{shown} from argument "{origin[name]}"')
    return replace(message, notes=(*said, *message.notes))


def _fits(
    declared: spec.Spec,
    shape: Shape,
    facts: Facts,
    names: Mapping[str, object] | None,
    evaluate: Evaluate | None,
) -> bool:
    matcher = Matcher(CertainFacts.of(facts))
    matcher.evaluate = evaluate or matcher.evaluate
    matcher.names.update(names or {})  # type: ignore[arg-type]  # bindings of a Matcher
    try:
        return matcher.match(declared, shape) is None and matcher.settle() is None
    except Mismatch:
        return False


def _count(axes: int) -> str:
    return f"{axes} {'axis' if axes == 1 else 'axes'}"
