"""What functions take and give where no annotation says it, from their bodies and their callers.

`study` runs each function of a module on parameters that stand for any tensor, wherever something
shows that a parameter is one. What the body then learns of their axes is what the function takes.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from shapecheck.analysis.annotations import classes, declarations
from shapecheck.analysis.check.ahead import ahead, is_annotated
from shapecheck.analysis.check.bare_parameters import any_tensor
from shapecheck.analysis.check.module import program_of, without_collecting
from shapecheck.analysis.check.parts import functions as functions_of
from shapecheck.analysis.check.parts import nested
from shapecheck.analysis.check.symbolic import start
from shapecheck.analysis.check.tensor_evidence import optional, shown, shown_sizes
from shapecheck.analysis.host import Host, Source
from shapecheck.analysis.interpreter import body
from shapecheck.analysis.interpreter.budget import Budget, BudgetExceeded, Effort
from shapecheck.analysis.interpreter.frame import Frame, observing
from shapecheck.analysis.interpreter.generators import is_generator
from shapecheck.analysis.interpreter.inlining import end_of
from shapecheck.analysis.options import Options
from shapecheck.analysis.program.answers import Place, places
from shapecheck.analysis.program.model import NOTHING, Function, Value
from shapecheck.analysis.program.syntax import Def, is_def, nodes_of
from shapecheck.analysis.study.model import ListOf, Study, Subject
from shapecheck.analysis.values.model import (
    Argument,
    Instance,
    ListContent,
    OneOf,
    Path,
    opened,
    options,
    own_size,
)
from shapecheck.analysis.values.state import State
from shapecheck.dims import IntSize, Size, Sym
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import Fields, Sizes, only
from shapecheck.shapes import Facts, Item, Run, Shape, Tensor, has_run


@without_collecting
def study(
    source: Source,
    host: Host,
    options: Options,
    only: Collection[str] | None = None,
    effort: Effort | None = None,
) -> list[Study]:
    """Study the functions and methods of a module, or those of some names; raises SyntaxError.

    What can't be analysed to its end is left out. To `effort`, if given, is added what they take.
    """
    effort = effort or Effort()
    program = program_of(host, options, source.name)
    program.supposing = True
    program.memory.begin()
    module = program.add(source)
    names: dict[ast.AST, tuple[str, int]] = {
        node: (name, nth) for node, name, nth in defs(module.tree)
    }
    found = []
    waiting: list[tuple[Function, Study | None, State | None]]
    waiting = [(function, None, None) for function, _ in functions_of(module)]
    while waiting:
        function, outer, around = waiting.pop(0)
        name, nth = names[function.node]
        is_asked = only is None or name in only
        if not is_asked and not any(other.startswith(f"{name}.") for other in only or ()):
            continue
        # What one function stumbles over must not hide what there is to say of the others.
        with suppress(BudgetExceeded, RecursionError):
            one = _first(Subject(function, name, nth, around, effort=effort))
            one.rests_on |= frozenset[Place]() if outer is None else outer.rests_on
            found += [one] if is_asked else []
            waiting = [*((inner, one, state) for inner, state in one.nested), *waiting]
    return found


def _first(subject: Subject) -> Study:
    """Study a function of an instance with any sizes, or those that go well where these don't.

    Of a class with `d_in` and `d_out`, all instances may happen to have one for both: a parameter
    that is `d_in` isn't `{self.d_out}` for that.
    """
    found = _study(subject, _ahead(subject), {})
    if found.clashes and subject.function.owner is not None:
        other = _study(replace(subject, alike=True), found, {})
        found = other if other.clashes < found.clashes else found
    return found


@without_collecting
def with_known(seen: Study, known: Mapping[str, Value]) -> Study:
    """Study a function again with values of parameters that are known from elsewhere.

    Where more goes wrong with them it stays as it was seen.
    """
    try:
        found = _study(seen.subject, seen, known)
    except (BudgetExceeded, RecursionError):
        return seen
    if found.clashes > seen.clashes:
        return seen
    found.rests_on |= seen.rests_on
    return found


def qualnames(tree: ast.AST, outer: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Yield the functions and classes in a tree, in order, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        inner = outer
        match node:
            case ast.ClassDef(name=name):
                yield node, f"{outer}{name}"
                inner = f"{outer}{name}."
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node, f"{outer}{name}"
                inner = f"{outer}{name}.<locals>."
        yield from qualnames(node, inner)


def defs(tree: ast.AST) -> Iterator[tuple[Def, str, int]]:
    """Yield the functions in a tree, in order: the qualified name, how many had it before."""
    counts: Counter[str] = Counter()
    for node, name in qualnames(tree):
        if is_def(node):
            yield node, name, counts[name]
            counts[name] += 1


def _study(subject: Subject, before: Study, known: Mapping[str, Value]) -> Study:
    """Run a function with values of parameters that are known, and what is shown of the others.

    It is run again while it shows more than what was seen `before`.
    """
    # decisions.md, "A parameter that is studied is what its uses need"
    function = subject.function
    tensors = before.bare | {name for name, value in known.items() if _is_tensor(value)}
    sizes = {name for name, value in before.given.items() if isinstance(value, Size)}
    found, rests_on = before, frozenset[Place]()
    while True:
        # what is done with a tensor is one, too
        more = shown(function, function.owner, found, arrays=True) - tensors
        ints = shown_sizes(function, found) - sizes - tensors
        if found is not before and not more and not ints:
            return found
        tensors, sizes = tensors | more, (sizes | ints) - more
        given = {**_sizes_of(function, sizes), **known}
        found = _run(subject, given, tensors, may_be_none=optional(function, found))
        rests_on = found.rests_on = found.rests_on | rests_on


def run_again(seen: Study, values: Mapping[str, Value], most: float = math.inf) -> Study:
    """Run a function once more, with values of parameters beside those that it was studied with.

    Raises `TooManyErrors` where it goes on after more than `most`.
    """
    given = {**seen.given, **values}
    found = _run(seen.subject, given, seen.bare, most)
    found.rests_on |= seen.rests_on
    return found


def _ahead(subject: Subject) -> Study:
    """Return what is seen of a function without running it."""
    function = subject.function
    state, begun = start(function, function.owner, subject.around, subject.alike)
    return Study(subject, begun, None, dict(ahead(function, state, begun).values), {})


def _is_tensor(value: Value) -> bool:
    return bool(only(options(value), Tensor))


def _run(
    subject: Subject,
    values: Mapping[str, Value],
    tensors: set[str],
    most: float = math.inf,
    may_be_none: Collection[str] = (),
) -> Study:
    """Run a function's body once, watching what its expressions are worth and whom it calls."""
    with subject.function.module.program.memory.noting() as rests_on:
        found = _ran(subject, values, tensors, most, may_be_none)
    found.rests_on = places(rests_on)
    return found


def _ran(
    subject: Subject,
    values: Mapping[str, Value],
    tensors: set[str],
    most: float,
    may_be_none: Collection[str],
) -> Study:
    function = subject.function
    state, begun = start(function, function.owner, subject.around, subject.alike)
    given = {**begun, **values}
    supposed: dict[str, Value] = {}

    def suppose(param: declarations.Parameter, value: Value) -> Value:
        found = _start(param, value, param.name in tensors, param.name in may_be_none)
        if found is not value:
            supposed[param.name] = found
        return found

    watcher, effort = _Watcher(function), subject.effort
    budget = Budget.of(function.module.syntax.length_of(function.node), briefly=effort.is_spent)
    try:
        with observing(function.module.program, watcher):
            frame = body.check_body(
                function, state, given, quiet=True, most=most, suppose=suppose, budget=budget
            )
    finally:
        effort.taken += budget.taken
    result, end = _outcome(frame, function)
    facts = end.facts
    params = {}
    for param in declarations.declaration(function).params:
        value = given.get(param.name, frame.given.get(param.name, UNKNOWN))
        params[param.name] = resolved(value, facts)
    return Study(
        subject,
        params,
        resolved(result, facts),
        {node: resolved(value, facts) for node, value in watcher.seen.items()},
        _expressions(function, end, begun, params),
        tensors,
        frame.errors,
        calls=[
            (callee, {name: resolved(value, facts) for name, value in bound.items()})
            for callee, bound in watcher.calls
        ],
        given={**values, **supposed},
        nested=[*nested(frame)],
        labels=_labels(facts),
    )


def _labels(facts: Facts) -> dict[Sym, str]:
    """Return the names of what turned out to be dimensions that have none."""
    found: dict[Sym, str] = {}
    for atom in only(facts.atoms, Sym):
        if not atom.supposed or not atom.name.strip("_").isidentifier():
            continue
        match facts.size(Size.of(atom)):
            case Size(symbol=Sym() as symbol) if not symbol.has_name:
                found.setdefault(symbol, atom.name)
    return found


class _Watcher:
    """Notes what the expressions of a function are worth, and what it calls others with."""

    sees_all = True

    def __init__(self, function: Function) -> None:
        self._function = function
        self.seen: dict[ast.expr, Value] = {}
        self.calls: list[tuple[Function, dict[str, Value]]] = []

    def evaluated(self, frame: Frame, node: ast.expr, value: Value) -> None:
        """Take note of what an expression is worth, each time."""
        if frame.function is self._function and frame.depth == 0:
            content = frame.state.content(value)
            if isinstance(content, ListContent) and has_run(content.items or ()):
                value = content.items  # the sizes of a tensor, as a list
            before = self.seen.get(node, NOTHING)
            self.seen[node] = value if before is NOTHING else _alike(before, value)

    def called(self, frame: Frame, function: Function, bound: Mapping[str, Argument]) -> None:
        """Take note of the arguments of a call, as far as they are shapes."""
        if frame.function is self._function and frame.depth == 0:
            state = frame.state
            values = {name: _spelled(frame, one.value, state) for name, one in bound.items()}
            known = {name: resolved(value, state.facts) for name, value in values.items()}
            self.calls.append((function, known))


def _alike(one: Value, other: Value) -> Value:
    """Return what is known of an expression that is evaluated again, as in a loop."""
    match one, other:
        case Tensor(shape=before), Tensor(shape=after) if before.rank is not None:
            return other if before.rank == after.rank else Tensor.unknown()
    return other


def _outcome(frame: Frame, function: Function) -> tuple[Value, State]:
    """Return what a body gives and the state at its end, joined over all ends."""
    if is_generator(function):
        return UNKNOWN, frame.state
    value, end = end_of(frame)
    return _spelled(frame, value, end), end


def _spelled(frame: Frame, value: Value, state: State) -> Value:
    """Return a value with the items of a list in it, where a list is all it is."""
    match value:
        case tuple():
            return tuple(_spelled(frame, one, state) for one in value)
    match state.content(value):
        case ListContent(items=None, kind="list", element=element):
            return ListOf(element)
        case ListContent(items=tuple() as items, kind="list") if has_run(items):
            return items
        case ListContent(items=tuple() as items, kind="list"):
            return ListOf(state.either(*items) if items else UNKNOWN)
    return value


def resolved(value: Value, facts: Facts) -> Value:
    """Return a value with all that was learned of the tensors in it put in."""
    of_its_kind = _RESOLVED.get(type(value))
    return value if of_its_kind is None else of_its_kind(value, facts)


def _tensor(value: Tensor, facts: Facts) -> Value:
    return replace(value, shape=Shape(_joined(facts.items(value.shape.dims))), inserted=False)


def _tuple(value: tuple[Value, ...], facts: Facts) -> Value:
    return tuple(resolved(one, facts) for one in value)


def _one_of(value: OneOf, facts: Facts) -> Value:
    return OneOf(tuple(resolved(option, facts) for option in value.options))


def _list_of(value: ListOf, facts: Facts) -> Value:
    return ListOf(resolved(value.element, facts))


def _size(value: Size, facts: Facts) -> Value:
    return facts.size(value)


_RESOLVED: Final[dict[type, Callable[..., Value]]] = {
    Tensor: _tensor,
    tuple: _tuple,
    Sizes: _tuple,
    Fields: _tuple,
    OneOf: _one_of,
    ListOf: _list_of,
    Size: _size,
}
"""How what was learned is put into values, by their kind; in others there is nothing to put in."""


def _joined(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return dimensions in which a row beside one of which nothing is known is part of that."""
    kept: list[Item] = []
    for item in items:
        match item, kept[-1] if kept else None:
            case Run(symbol=one), Run() if not one.has_name and not one.supposed:
                kept[-1] = item
            case Run(), Run(symbol=beside) if not beside.has_name and not beside.supposed:
                pass
            case _:
                kept.append(item)
    return tuple(kept)


# What to study a function with --------------------------------------------------------------------


def _start(
    param: declarations.Parameter, value: Value, is_tensor: bool, may_be_none: bool
) -> Value:
    """Return what a parameter is at first: any tensor, or any or None, if it is known to be one.

    What is known of a tensor of whose shape no annotation says anything was learned.
    """
    of_mask = "mask" in param.name.lower()
    if is_tensor:
        found = any_tensor(param, Sym.suppose("...", of_mask))
        return OneOf((found, None)) if may_be_none and isinstance(found, Tensor) else found
    if param.kind in ("positional", "keyword"):
        every = not declarations.speaks(param.declared)
        return opened(value, lambda: Sym.suppose("...", of_mask), every)
    return value


def _sizes_of(function: Function, shown: Collection[str]) -> dict[str, Value]:
    """Return sizes for parameters without annotation that are ints, by default or as is shown."""
    found: dict[str, Value] = {name: own_size(name) for name in sorted(shown)}
    for param in declarations.declaration(function).params:
        match param.default:
            case ast.Constant(value=default) if type(default) is int:
                if not is_annotated(function, param.name):
                    found[param.name] = own_size(param.name, default)
    return found


# What sizes are called ----------------------------------------------------------------------------


def _expressions(
    function: Function, end: State, start: Mapping[str, Value], params: Mapping[str, Value]
) -> dict[IntSize, str]:
    """Return the expressions that annotations can have in braces, by the sizes that they have."""
    found: dict[IntSize, str] = {}
    for name, value in params.items():
        if isinstance(value, Size):
            found.setdefault(value, name)
    # An annotation is read when the function is called: what it sets itself isn't there yet.
    attributes = nodes_of(ast.Attribute, function.node)
    made = {node.attr for node in attributes if not isinstance(node.ctx, ast.Load)}
    empty = next(iter(params), None) if function.name == "__init__" else None
    for name, instance in start.items():
        for path, size in _attributes(end, instance, name, 2) if name != empty else ():
            if made.isdisjoint(path.split(".")[1:]):
                found.setdefault(end.facts.size(size), path)
    return found


def _attributes(
    state: State, instance: Value, path: str, depth: int
) -> Iterator[tuple[str, IntSize]]:
    """Yield the sizes among the attributes of an instance, those nearest first."""
    content = state.instance_of(instance)
    if content is None:
        return
    attrs = {n: v for n, v in content.attrs.items() if n.isidentifier() and not n.startswith("_")}
    for name, value in attrs.items():
        match value:
            case Size():
                yield f"{path}.{name}", value
            case Path(text=text):
                yield f"{path}.{name}", own_size(text)
    for name, value in attrs.items() if depth > 1 else ():
        match state.content(value):
            case Instance(cls=cls) if not classes.is_module(cls):
                yield from _attributes(state, value, f"{path}.{name}", depth - 1)
