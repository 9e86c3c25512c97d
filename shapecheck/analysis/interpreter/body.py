"""The check of a function's body, with what its annotations say of the parameters."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, MutableSequence
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck import explain, spec
from shapecheck.analysis.annotations.construction import is_always_given
from shapecheck.analysis.annotations.declarations import (
    Parameter,
    declaration,
    names_of,
    own_names,
    speaks,
)
from shapecheck.analysis.interpreter import (
    autocast,
    first_class,
    fitting,
    instance_dims,
    strict,
)
from shapecheck.analysis.interpreter.braces import size_in
from shapecheck.analysis.interpreter.budget import Budget
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.generators import is_generator
from shapecheck.analysis.interpreter.lost_names import where_lost
from shapecheck.analysis.program.declared import (
    CallableDecl,
    Declared,
    ListDecl,
    ScalarDecl,
    TensorDecl,
    TupleDecl,
)
from shapecheck.analysis.program.faults import Fault
from shapecheck.analysis.program.model import Class, Dotted, Function, Value, literal
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.reading import body_of
from shapecheck.analysis.program.syntax import (
    elements,
    is_def,
    kept_by_node,
    name_of,
    names_in,
    nodes_of,
)
from shapecheck.analysis.values.model import (
    DictContent,
    ListContent,
    Partial,
    own_size,
    with_default,
)
from shapecheck.analysis.values.state import State
from shapecheck.blame import Blame
from shapecheck.dims import DimExpr, Kind, Size, Sym, size_of
from shapecheck.dims.origins import NamedAlike
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import is_size, only
from shapecheck.shapes import Item, Matcher, Tensor


def check_body(
    function: Function,
    state: State,
    values: Mapping[str, Value],
    quiet: bool = False,
    runs: Mapping[str, tuple[Item, ...]] | None = None,
    bare: str = "",
    most: float = math.inf,
    suppose: Callable[[Parameter, Value], Value] = lambda param, value: value,
    faults: MutableSequence[Fault] | None = None,
    budget: Budget | None = None,
    has_defaults: bool = False,
) -> Frame:
    """Analyse a function's body on its own, with what its annotations say of the parameters.

    `runs` are the dimensions that groups of the annotations stand for, where they are given; in
    the annotation of the parameter `bare` they stand for none. `suppose` is asked what a parameter
    may be taken for that isn't among `values`. To `faults`, if given, goes what certainly fails,
    under no condition that can't be decided, and nothing is reported. Raises `TooManyErrors` where
    the body goes on after more than `most`. `has_defaults` is as in `Frame`.
    """
    assert is_def(function.node)
    budget = budget or Budget.of(function.module.syntax.length_of(function.node))
    frame = Frame(
        function.module, state, function=function, quiet=quiet, budget=budget, faults=faults
    )
    says = declaration(function)
    promise(frame, function)
    frame.most, frame.has_defaults = most, has_defaults
    matcher = frame.matcher
    matcher.names.update(_named_alike(function))
    for param in says.params:
        if param.name in values:
            frame.assign(param.name, values[param.name], param.line)
            instance_dims.begin(frame, function, values[param.name], matcher)
    for param in sorted(says.params, key=lambda one: speaks(one.declared)):  # `{n}` needs n
        if param.name not in values:
            matcher.runs.update(dict.fromkeys(runs or (), ()) if param.name == bare else runs or {})
            value = suppose(param, _start(frame, param, matcher))
            if param.declared == _INT and param.name in _taken_for_several(function.node):
                value = UNKNOWN
            frame.assign(param.name, value, param.line)
    matcher.runs.update(runs or {})
    matcher.runs.pop("...", None)
    frame.given = dict(frame.state.vars)
    own = instance_dims.instance_names(function.owner)
    frame.promised = frozenset({*matcher.names, *matcher.runs}.difference(own))
    _take_over(frame, matcher)
    _take_in(frame, function)
    given = only((frame.given.get(param.name) for param in says.params), Tensor)
    frame.state.facts.autocast = autocast.decorated(function, frame.state.facts)
    frame.state.facts.declared = tuple(one.shape for one in given)
    try:
        frame.run_all(body_of(function.node), f'"{function.name}"', told=lambda: says.shaped)
    finally:
        frame.let_go()
    return frame


_INT: Final = ScalarDecl("int")


@kept_by_node(32)
def _taken_for_several(node: ast.AST) -> frozenset[str]:
    """Return the names that a body takes the length of, or goes through: an `int` can't be that."""
    found = {one.iter for one in nodes_of(ast.For, node)}
    found.update(one.iter for one in nodes_of(ast.comprehension, node))
    for call in nodes_of(ast.Call, node):
        if name_of(call.func) == "len":
            found.update(call.args)
    return frozenset(name for name in map(name_of, found) if name is not None)


def _named_alike(function: Function) -> dict[str, DimExpr]:
    """Return the dimensions of an inner function's arguments that are called as some around it.

    See decisions.md, "A name of an inner function may be another one".
    """
    if function.home is None:
        return {}
    found: dict[str, DimExpr] = {}
    for name in sorted(names_of(*(param.declared for param in declaration(function).params))):
        outer = function.home.dimension(name)
        if outer is not None and all(s.kind is not Kind.UNKNOWN for s in dims.symbols(outer)):
            found[name] = dims.name(name, NamedAlike(size_of(outer)))
    return found


def _take_in(frame: Frame, function: Function) -> None:
    """Let a number around a function that is called like a dimension of its own be any size.

    It may be that dimension, or the one of this name in the function around it.
    """
    if function.home is None:
        return
    for name in sorted(set(own_names(function)) & set(names_in(function.node)) - set(frame.given)):
        if type(function.home.find(name)) in (int, Size):
            frame.assign(name, own_size(name, None), function.node.lineno)


def _take_over(frame: Frame, matcher: Matcher) -> None:
    """Let an int parameter that is called like a part of a dimension be that part.

    Beside `(h d)` or `2*h`, an int `h` says how the axis is split or merged.
    """
    assert frame.function is not None
    says = declaration(frame.function)
    every = (*(param.declared for param in says.params), says.result)
    parts = {name for one in every for text in one.texts() for name in spec.composed_names(text)}
    for param in says.params:
        match frame.given.get(param.name):
            case Size(symbol=Sym(kind=Kind.OWN) as symbol) as value if param.name in parts:
                bound: DimExpr = matcher.names.setdefault(param.name, value)
                if bound != value and is_size(bound):
                    frame.state.facts.learn(symbol, bound)


def promise(frame: Frame, function: Function) -> None:
    """Have what a body returns and yields fitted to its annotation."""
    result = declaration(function).result
    frame.matcher.evaluate = lambda source: size_in(frame, source)
    if is_generator(function):
        match result:
            case ListDecl(element=item) if speaks(result):
                yielded = Blame("unfit", "yielded", function.name)
                frame.check_yield = lambda node, value: _given_out(
                    frame, item, node, value, yielded
                )
    elif speaks(result):
        returned = Blame("unfit", "result", function.name)
        frame.fits_result = fitting.wanted(frame, result)
        frame.check_return = lambda node, value: _given_out(frame, result, node, value, returned)


def _start(frame: Frame, param: Parameter, matcher: Matcher) -> Value:
    """Return what a parameter is when the body begins."""
    declared = param.declared
    if param.kind == "options":
        return frame.state.new(DictContent(None, UNKNOWN))
    if param.kind == "double-star":
        element = fitting.declare(frame, declared, f"{param.name}[]", matcher)
        return frame.state.new(DictContent(None, element))
    if param.kind == "star":
        element = fitting.declare(frame, declared, param.name, matcher)
        return frame.state.new(ListContent(None, element, "tuple"))
    value = fitting.declare(frame, declared, param.name, matcher)
    is_open = value is UNKNOWN or _is_any_callable(declared)
    if is_open and isinstance(param.default, (ast.Name, ast.Attribute, ast.Call)):
        if frame.function is not None and is_always_given(frame.function, param.name):
            return value
        return _called_by_default(frame, param.default, value)
    return with_default(value, param.name, param.default)


def default(
    frame: Frame, module: Module, node: ast.expr, names: Mapping[str, Value] | None = None
) -> Value:
    """Return the value of a parameter's default, with the variables that it finds around it."""
    given = literal(node)
    if given is not UNKNOWN:
        return given
    inner = Frame(module, frame.state, quiet=True, depth=frame.depth + 1, budget=frame.budget)
    outer = frame.state.vars
    frame.state.vars = dict(names or {})
    try:
        return inner.eval(node)
    finally:
        frame.state.vars = outer


def _is_any_callable(declared: Declared) -> bool:
    """Whether something is said to be there to be called, and not with which shapes."""
    match declared:
        case CallableDecl(params=None, result=result):
            return not speaks(result)
    return False


def _called_by_default(frame: Frame, node: ast.expr, otherwise: Value) -> Value:
    """Return what a parameter is where nothing is passed, if that is there to be called.

    Of `norm_layer=nn.LayerNorm` the annotation says nothing, and the program as it is written
    makes layers of it. See decisions.md, "What is called by default is what is called".
    """
    given = default(frame, frame.module, node)
    match given:
        case Class() | Function() | Partial():
            return given
        case Dotted(name=name) if name.startswith("torch."):
            return given
    return otherwise


def _text(frame: Frame, node: ast.expr) -> str | None:
    """Return the expression of a value that is given out; of what `yield from` gives, None."""
    return None if isinstance(node, ast.YieldFrom) else frame.segment(node)


def _subject(verb: str, text: str | None) -> str:
    """Return what a value that is returned or yielded is called in messages."""
    return f'{verb} value "{text}"' if text and len(text) <= 40 else f"{verb} value"


def _absent(frame: Frame) -> set[str]:
    """Return the names of parameters that are None here: a result may bind them anew."""
    if frame.depth or frame.function is None:
        return set()
    params = declaration(frame.function).params
    missing = [one for one in params if frame.state.vars.get(one.name, one) is None]
    if not missing:
        return set()
    there = names_of(*(one.declared for one in params if one not in missing))
    return names_of(*(one.declared for one in missing)) - there - frame.introduced.keys()


def _given_out(
    frame: Frame, declared: Declared, node: ast.expr, value: Value, blame: Blame
) -> Value:
    """Fit a value that is returned or yielded to the result's annotation."""
    verb = "yielded" if blame.part == "yielded" else "returned"
    absent = _absent(frame)
    promised = None if frame.promised is None else frame.promised - absent
    matcher = Matcher(frame.state.facts, frame.matcher.evaluate, promises=promised)
    matcher.names.update({n: d for n, d in frame.matcher.names.items() if n not in absent})
    matcher.runs.update({n: r for n, r in frame.matcher.runs.items() if n not in absent})
    parts: list[tuple[Declared, Value, ast.expr]] = [(declared, value, node)]
    match declared, value:
        case TupleDecl(items=tuple(items)), tuple() if len(items) == len(value):
            nodes = elements(node) or []
            nodes = nodes if len(nodes) == len(value) else [node] * len(value)
            parts = list(zip(items, value, nodes, strict=True))
    before = frame.state.facts.atoms
    for part, item, where in parts:
        found = fitting.check(frame, part, item, matcher)
        if found[0] is not None:
            text = _text(frame, where)
            subject, text = fitting.spoken(frame, item, _subject(verb, text), text)
            said = fitting.message(frame, subject, found, matcher, text, blame)
            if found[1] is not None and not frame.quiet:
                lost = where_lost(frame, where, found[1], found[0])
                said = replace(said, notes=(*lost, *said.notes))
            frame.error(where, said)
            return value
        match part, item:
            case TensorDecl(), Tensor() if left := first_class.left_over(frame, item, value):
                said = explain.left_over(_subject(verb, _text(frame, where)), item, left)
                frame.error(where, replace(said, blame=blame))
                return value
    strict.report(frame, node, f"the {verb} value", before, blame)
    return value
