"""What each kind of expression is worth."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import partial

import shapecheck.dims as dims
from shapecheck.analysis.interpreter import calls, operators
from shapecheck.analysis.interpreter.dict_contents import of_pairs, put, united
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import (
    UNROLL,
    iterate,
    iterated,
    length,
    spelled_out,
)
from shapecheck.analysis.interpreter.kinds import attribute, mapping_of
from shapecheck.analysis.interpreter.narrowing import split
from shapecheck.analysis.interpreter.passes import goes_well
from shapecheck.analysis.interpreter.registry import expression
from shapecheck.analysis.interpreter.shown_by_use import asked_for_shape
from shapecheck.analysis.interpreter.statements import define, store
from shapecheck.analysis.interpreter.truth import CONSTANTS, is_constant, truth
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.syntax import nodes_of
from shapecheck.analysis.values.model import DictContent, Items, ListContent, OneOf, Ref, options
from shapecheck.analysis.values.parts import MOST
from shapecheck.analysis.values.state import State
from shapecheck.dims import Dim, IntSize
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import are, is_size, only

expression(ast.BinOp)(operators.binary)
expression(ast.UnaryOp)(operators.unary)
expression(ast.Compare)(operators.compare)
expression(ast.Subscript)(operators.subscript)
expression(ast.Call)(calls.call)


@expression(ast.Attribute)
def _attribute(frame: Frame, node: ast.Attribute) -> Value:
    value = frame.eval(node.value)
    if value is UNKNOWN:
        value = asked_for_shape(frame, node)
    match value:
        case OneOf(options=some) if are([one for one in some if one is not None], Ref):
            each = (attribute(frame, one, node.attr, node) for one in some if one is not None)
            return frame.state.either(*each)
    return attribute(frame, operators.certain(value, None), node.attr, node)


@expression(ast.Constant)
def _constant(frame: Frame, node: ast.Constant) -> Value:
    value = node.value
    return dims.measured(value) if type(value) is int else value


@expression(ast.Name)
def _name(frame: Frame, node: ast.Name) -> Value:
    return frame.lookup(node.id)


@expression(ast.Tuple)
def _tuple(frame: Frame, node: ast.Tuple) -> Value:
    return _elements(frame, node.elts) or (UNKNOWN if node.elts else ())


def _elements(frame: Frame, nodes: list[ast.expr]) -> tuple[Value, ...] | None:
    """Return the values of a display's elements, None where a starred one isn't known.

    Nor where the starred ones have made it too long.
    """
    found: list[Value] = []
    known = True
    for node in nodes:
        match node:
            case ast.Starred(value=inner):
                items = spelled_out(frame, frame.eval(inner))
                known = known and items is not None
                found.extend(items or ())
            case _:
                found.append(frame.eval(node))
    short = len(found) <= MOST or len(found) == len(nodes)
    return tuple(found) if known and short else None


@expression(ast.List)
def _list(frame: Frame, node: ast.List) -> Value:
    items = _elements(frame, node.elts)  # which may replace the state
    return frame.state.new(ListContent(items))


@expression(ast.Set)
def _set(frame: Frame, node: ast.Set) -> Value:
    items = _elements(frame, node.elts)
    if items is not None and all(is_constant(item) or isinstance(item, Dim) for item in items):
        return frame.state.new(ListContent(tuple(dict.fromkeys(items)), kind="set"))
    return frame.state.new(ListContent(None, UNKNOWN, "set"))


@expression(ast.Dict)
def _dict(frame: Frame, node: ast.Dict) -> Value:
    made = frame.state.new(DictContent({}))
    for key, value in zip(node.keys, node.values, strict=True):
        held = frame.eval(value)
        name = None if key is None else frame.eval(key)
        content = frame.state.dict_of(made)
        assert content is not None
        if key is not None:
            put(frame, made, content, name, held)
            continue
        other = mapping_of(frame, held) or DictContent(None)
        frame.state.put(made, united(frame.state, content, other, {}))
    return made


@expression(ast.Slice)
def _slice(frame: Frame, node: ast.Slice) -> Value:
    parts = (node.lower, node.upper, node.step)
    cut = slice(*(None if part is None else frame.eval(part) for part in parts))
    if node.lower is None or node.upper is None or is_size(cut.start):
        return cut
    count = _between(frame, node.lower, node.upper)
    if count is None:
        return cut
    start = dims.unknown()
    return slice(start, start + count, cut.step)


def _between(frame: Frame, lower: ast.expr, upper: ast.expr) -> IntSize | None:
    """Return how much one index is beyond another, as `i+n+1` is beyond `i+1` whatever `i` is."""
    total: IntSize = 0
    places: Counter[str] = Counter()
    for sign, node in (*_terms(lower, -1), *_terms(upper, 1)):
        value = frame.hush(Frame.eval, node)
        if is_size(value):
            total += sign * value
        elif any(nodes_of((ast.Call, ast.NamedExpr, ast.Await), node)):
            return None  # the next may give something else
        else:
            places[ast.dump(node)] += sign
    return None if any(places.values()) else total


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[int, ast.expr]]:
    """Yield what is added and taken away in an expression, with the sign that it has."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, -sign if isinstance(op, ast.Sub) else sign)
        case _:
            yield sign, node


@expression(ast.IfExp)
def _conditional(frame: Frame, node: ast.IfExp) -> Value:
    yes, no = split(frame, node.test)
    found: list[tuple[Value, State]] = []
    is_open = yes is not None and no is not None

    def take(branch: ast.expr) -> None:
        found.append((frame.eval(branch), frame.state))

    with frame.doubting(is_open):
        for state, branch in ((yes, node.body), (no, node.orelse)):
            if state is not None:
                frame.resume(state)
                if not goes_well(frame, node.test, branch, partial(take, branch), is_open):
                    found.pop()
    return frame.merged(found)


@expression(ast.BoolOp)
def _boolean(frame: Frame, node: ast.BoolOp) -> Value:
    """`a or b` is the first true one, `a and b` the first false one, or else the last."""
    wanted = isinstance(node.op, ast.Or)
    found: list[Value] = []
    for operand in node.values[:-1]:
        with frame.doubting(bool(found)):
            some = options(frame.eval(operand))
        verdicts = [truth(frame, option) for option in some]
        found += [v for v, known in zip(some, verdicts, strict=True) if known is not (not wanted)]
        if all(known is wanted for known in verdicts):
            break
    else:
        with frame.doubting(bool(found)):
            found += options(frame.eval(node.values[-1]))
    if any(value is UNKNOWN for value in found):
        return UNKNOWN
    return frame.state.either(*found)


@expression(ast.NamedExpr)
def _walrus(frame: Frame, node: ast.NamedExpr) -> Value:
    value = frame.eval(node.value)
    store(frame, node.target, value, node.value)
    return value


@expression(ast.Lambda)
def _lambda(frame: Frame, node: ast.Lambda) -> Value:
    return define(frame, node)


@expression(ast.Starred)
def _starred(frame: Frame, node: ast.Starred) -> Value:
    frame.eval(node.value)
    return UNKNOWN


@expression(ast.JoinedStr)
def _formatted(frame: Frame, node: ast.JoinedStr) -> Value:
    """Return the text of an f-string where its parts are known and written without a format."""
    parts: list[str] | None = []
    for part in node.values:
        match part:
            case ast.FormattedValue(value=inner, conversion=conversion, format_spec=form):
                value, plain = frame.eval(inner), conversion < 0 and form is None
            case _:
                value, plain = frame.eval(part), True
        if parts is not None and plain and isinstance(value, (*CONSTANTS, Dim)):
            parts.append(str(value))
        else:
            parts = None
    return UNKNOWN if parts is None else "".join(parts)


@expression(ast.Await)
def _await(frame: Frame, node: ast.Await) -> Value:
    return frame.eval(node.value)


@expression(ast.ListComp)
@expression(ast.GeneratorExp)
@expression(ast.SetComp)
def _comprehension(frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
    items, element, count = _generate(frame, node.generators, node.elt)
    match node:
        case ast.GeneratorExp():
            return Items(items, element, count)
        case ast.SetComp():
            known = items is not None and all(map(is_constant, items))
            held = tuple(dict.fromkeys(items)) if items is not None and known else None
            return frame.state.new(ListContent(held, element, "set"))
    return frame.state.new(ListContent(items, element, count=count))


@expression(ast.DictComp)
def _dict_comprehension(frame: Frame, node: ast.DictComp) -> Value:
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    items, element, _ = _generate(frame, node.generators, pair)
    if items is not None and (made := of_pairs(items)).items is not None:
        return frame.state.new(made)
    pairs = items if items is not None else (element,)
    values = [pair[1] for pair in only(pairs, tuple) if len(pair) == 2]
    return frame.state.new(DictContent(None, frame.state.either(*values) if values else UNKNOWN))


def _generate(
    frame: Frame, generators: list[ast.comprehension], element: ast.expr
) -> tuple[tuple[Value, ...] | None, Value, IntSize | None]:
    """Return the items of a comprehension, or None, what any item is, and how many there are."""
    names = frame.state.vars.copy()
    source = generators[0]
    value = iterated(frame, source.iter)
    items, any_item = iterate(frame, value)
    rounds = length(frame, value)
    is_there = rounds is not None and dims.nonnegative(rounds - 1)
    count = None if source.ifs or len(generators) > 1 else rounds
    if items is not None and len(items) > UNROLL:
        any_item = frame.state.either(*items)
        items = None
    found: list[Value] | None = [] if items is not None else None
    each: list[Value] = []
    for item in (any_item,) if items is None else items:
        store(frame, source.target, item, source.iter)
        kept = _kept(frame, source.ifs)
        if kept is False:
            continue
        with frame.doubting(kept is None or (items is None and not is_there)):
            if len(generators) > 1:
                inner, held, _ = _generate(frame, generators[1:], element)
                each += (held,) if inner is None else inner
            else:
                inner = (frame.eval(element),)
                each += inner
        if found is not None:
            found = None if inner is None or kept is None else [*found, *inner]
    frame.state.vars = names
    if found is not None:
        return tuple(found), UNKNOWN, None
    return None, frame.state.either(*each) if each else UNKNOWN, count


def _kept(frame: Frame, tests: list[ast.expr]) -> bool | None:
    """Return whether an item passes all tests of a comprehension, None where it isn't known."""
    certain = True
    for test in tests:
        yes, no = split(frame, test)
        if yes is None:
            return False
        certain = certain and no is None
        frame.resume(yes)
    return True if certain else None
