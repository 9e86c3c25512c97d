"""From a mismatch to what a person reads, the same text from both sides.

The first line says which op or boundary, and what met what, by name and axis. Notes say where
each side got its shape and which one edit would fix it (`hints`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shapecheck import dtypes, hints, spec
from shapecheck.blame import BROADCAST, OPERATION, Blame
from shapecheck.dims import Composite, DimExpr, Kind, Size, Sym, Untold, in_order, symbol_of
from shapecheck.dims.composites import symbols
from shapecheck.dims.origins import StandIn
from shapecheck.hints import Operand, Retry, Wanted
from shapecheck.shapes import (
    Evaluate,
    Facts,
    Free,
    Matcher,
    Misfit,
    Problem,
    Run,
    Shape,
    Tensor,
    Topic,
)

_LONGEST: Final = 1_500
_LEFT: Final = 700


@dataclass(frozen=True, slots=True)
class Message:
    """An error's text, its code, its notes in the order in which they are shown, and its blame.

    `reason`: the sentence behind the colon of the text, where a value doesn't fit its annotation.
    `numbers`: those among the sizes that it is about. Of a text or note that has no end, because
    it quotes something that has none, the middle is left out.
    """

    text: str
    code: str = "shape"
    notes: tuple[str, ...] = ()
    blame: Blame = OPERATION
    reason: str = ""
    numbers: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _without_middle(self.text))
        object.__setattr__(self, "notes", tuple(map(_without_middle, self.notes)))


def _without_middle(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LEFT]} [...] {text[-_LEFT:]}"


def operation(
    label: str,
    problem: Problem,
    operands: Sequence[Operand] = (),
    retry: Retry | None = None,
    facts: Facts | None = None,
    wanted: Wanted | None = None,
) -> Message:
    """Explain an op that can't be: `"@" can't multiply (b n) by (m k): ...`.

    `facts`: what was learned before of the sizes that the operands have. `wanted`: what the result
    has to be, where an annotation says it.
    """
    text = f'"{label}" {problem.headline}: {problem.reason}'
    notes = [
        f'{operand.role} "{operand.text}" is {_kind(problem, operand)}{operand.value} '
        f"since line {operand.since}"
        for operand in operands
        if operand.text is not None and operand.since is not None
    ]
    if facts is not None:
        notes += [*_axes(problem, facts), *_learned(problem, operands, facts)]
    if retry is not None:
        fix = hints.of_operation(label, problem, operands, retry, wanted)
        notes += [] if fix is None else [fix]
    kind = BROADCAST if problem.broadcasts else OPERATION
    blame = replace(kind, names=_two_names(problem))
    return Message(text, problem.code, tuple(dict.fromkeys(notes)), blame)


def _two_names(problem: Problem) -> tuple[str, ...]:
    """Return the two names that a problem is about, if that is what it is about."""
    every = [None if isinstance(one, Shape) else _symbol(one) for one in problem.about]
    names = tuple(one.name for one in every if one is not None and one.kind is Kind.NAME)
    return names if len(names) == len(every) == 2 else ()


def _symbol(topic: Topic) -> Sym | None:
    return symbol_of(topic) if isinstance(topic, (int, Size, Composite)) else None


def _kind(problem: Problem, operand: Operand) -> str:
    """Return the dtype of an operand where that is what a problem is about."""
    if problem.code != "shape-dtype" or operand.value.dtype == dtypes.ANY:
        return ""
    return f"{dtypes.describe(operand.value.dtype)} "


def _axes(problem: Problem, facts: Facts) -> Iterator[str]:
    """Yield which axes a problem is about that have names in the program only, by their tensor."""
    found: dict[Hashable, list[str]] = {}
    for topic in problem.about:
        known = facts.shape(topic) if isinstance(topic, Shape) else topic
        for symbol in in_order(_symbols(known)):
            named = symbol_of(facts.atoms.get(symbol, Size.of(symbol))) or symbol
            if isinstance(named.origin, Untold) and named.kind is Kind.OWN:
                found.setdefault(named.origin.tensor, []).append(named.name)
    for tensor, names in found.items():
        *others, last = dict.fromkeys(names)
        said = f"{', '.join(others)} and {last} are axes" if others else f"{last} is an axis"
        yield f"{said} of {_spoken(tensor)}"


def _spoken(tensor: Hashable) -> str:
    """Return what a tensor is called of which no annotation says the axes."""
    match tensor:
        case (str(name), int(line)):
            return f'"{name}" (line {line})'
    return f'"{tensor}"'


def _learned(problem: Problem, operands: Sequence[Operand], facts: Facts) -> Iterator[str]:
    """Yield what is known of the names that a problem is about."""
    said = {symbol.name for topic in problem.about for symbol in _symbols(topic)}
    for operand in operands:
        for item in operand.value.shape.dims:
            for symbol in () if isinstance(item, Run) else in_order(symbols(item)):
                value = facts.atoms.get(symbol)
                is_named = symbol.kind is Kind.NAME or isinstance(symbol.origin, Untold)
                if not is_named or symbol.name not in said or value is None:
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


def boundary(
    subject: str,
    shape: Shape,
    declared: spec.Spec,
    misfit: Misfit,
    text: str | None = None,
    facts: Facts | None = None,
    names: Mapping[str, DimExpr] | None = None,
    evaluate: Evaluate | None = None,
    free: Sequence[Free] = (),
    *,
    same_names: bool = False,
) -> Message:
    """Explain a value that doesn't fit its annotation.

    `subject`: what it is, `argument "x" of "attend"` or `returned value`. `text`: its source
    text, for the hint. `names`: what the names of the annotation are bound to here, and
    `evaluate` the values of its `{...}`. `free`: the first-class dimensions of the value.
    `same_names`: the names of the annotation mean what they do in the value.
    """
    if misfit.axis is None and misfit.expected and isinstance(misfit.actual, int):
        left = _count(misfit.actual)
        reason = f"it leaves {left} to {misfit.expected}, which has {misfit.value} here"
    elif misfit.axis is None:
        had = f"{_at_least(shape.rank is None)}{_count(shape.least_rank)}"
        reason = f"it has {had}, declared {_at_least(declared.groups > 0)}{declared.least}"
    elif misfit.value is None:
        reason = f"axis {misfit.axis} is {misfit.actual}, which no {misfit.expected} can be"
    else:
        value = misfit.value
        if facts is not None and isinstance(value, Size):
            value = facts.dim(value)  # a name that has turned out to be something
        same = _is_said(value, misfit.expected)
        here = "" if same else f" (here {value})"
        if same and str(misfit.actual) == misfit.expected:
            here = ", another one of this name"
        reason = f"axis {misfit.axis} is {misfit.actual}, declared {misfit.expected}{here}"
    notes: list[str] = []
    if facts is not None and text is not None:
        fix = hints.of_value(text, shape, declared, names, evaluate, same_names=same_names)
        notes += [] if fix is None else [fix]
    given = Tensor(shape, free=tuple(free))
    said = f'{subject} is {given}, declared "{declared}": {reason}'
    return Message(said, notes=tuple(notes), reason=reason)


def _is_said(value: DimExpr, text: str) -> bool:
    """Whether a text says a dimension in the names that this has: `min(d,n)` of `min(n,d)`."""
    if str(value) == text:
        return True
    try:
        entries = spec.parse(text).entries
    except spec.SpecError:
        return False
    own = [Size.of(symbol) for symbol in in_order(symbols(value))]
    matcher = Matcher(Facts(), names={str(size): size for size in own})
    said = [matcher.value(one.expr) for one in entries if isinstance(one, spec.Axis)]
    return said == [value]


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


def _at_least(more: bool) -> str:
    return "at least " if more else ""


def _count(axes: int) -> str:
    return f"{axes} {'axis' if axes == 1 else 'axes'}"
