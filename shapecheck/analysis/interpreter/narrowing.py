"""What a condition says about the program where it holds, and where it doesn't."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter import fitting
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.truth import compared, equal, identical, instance_of, truth
from shapecheck.analysis.program.declared import ArrayDecl, ClassDecl, TensorDecl
from shapecheck.analysis.program.model import Dotted, Value
from shapecheck.analysis.program.syntax import name_of, names_in
from shapecheck.analysis.values.model import (
    OneOf,
    Path,
    options,
)
from shapecheck.analysis.values.state import State
from shapecheck.dims import (
    Atom,
    FloorDiv,
    IntSize,
    Kind,
    Relation,
    Size,
    Sym,
    atoms_of,
    exact_quotient,
    part,
)
from shapecheck.dims.origins import LengthOf
from shapecheck.ops import UNKNOWN, DType, Scalar, Unknown
from shapecheck.ops.call import as_shape, is_size, only
from shapecheck.shapes import Item, Run, Tensor, has_run

Paths = tuple[State | None, State | None]


def split(frame: Frame, test: ast.expr, asserted: bool = False) -> Paths:
    """Evaluate a condition; return the states where it holds and where it doesn't.

    A state is None where the program can't get to. `asserted`: only the first is wanted, and a
    condition that can't be read says nothing about what follows.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yes, no = split(frame, operand)
            return no, yes
        case ast.BoolOp(op=ast.And(), values=values):
            return _conjunction(frame, values, asserted)
        case ast.BoolOp(op=ast.Or(), values=values):
            return _disjunction(frame, values)
        case ast.Compare():
            return _comparisons(frame, test, asserted)
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, kind]):
            return _isinstance(frame, value, kind)
        case ast.Call(func=ast.Attribute(value=module, attr="is_tensor") as func, args=[value]):
            if frame.hush(Frame.eval, func) == Dotted("torch.is_tensor"):
                kind = ast.copy_location(ast.Attribute(module, "Tensor", ast.Load()), func)
                return _isinstance(frame, value, kind)
    return _truth(frame, test, asserted)


def _truth(frame: Frame, test: ast.expr, asserted: bool) -> Paths:
    """Split on the truth of a value."""
    found = frame.eval(test)
    match test, found:
        case ast.Name(), Scalar() if (meant := _meant(frame, test)) is not None:
            return split(frame, meant, asserted)
        case ((ast.Name() | ast.Attribute()), OneOf()):
            return _narrow(frame, test, found)
    known = truth(frame, found)
    return _unread(frame, asserted) if known is None else _decided(frame, known)


def _decided(frame: Frame, holds: bool) -> Paths:
    """Go on where a condition holds that always does, or never."""
    return (frame.state, None) if holds else (None, frame.state)


def _meant(frame: Frame, test: ast.Name) -> ast.expr | None:
    """Return the condition that a variable was set to, where nothing in it has changed since."""
    match frame.state.sources.get(test.id):
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp() as source:
            return source if _still_means(frame, source, test) else None
    return None


def _still_means(frame: Frame, source: ast.expr, test: ast.Name) -> bool:
    line, since, names = source.lineno, frame.state.since, names_in(source)
    return (
        since.get(test.id) == line < test.lineno
        and test.id not in names
        and all(_lasts(frame, node) for node in ast.walk(source))
        and all(since.get(name, 0) <= line for name in names)
    )


def _lasts(frame: Frame, node: ast.AST) -> bool:
    """Whether a part of a condition means the same as long as its variables do."""
    match node:
        case ast.Attribute(value=ast.Name(), attr=attr):
            return is_metadata(frame, attr)
        case ast.Call(func=ast.Attribute()) | ast.Call(func=ast.Name(id="isinstance")):
            return True
        case ast.Subscript(value=ast.Attribute() | ast.Call()):
            return True
        case ast.Attribute() | ast.Call() | ast.Subscript() | ast.NamedExpr() | ast.Await():
            return False
        case ast.In() | ast.NotIn():
            return False
    return True


def is_metadata(frame: Frame, name: str) -> bool:
    """Whether an attribute or a method of this name says of a tensor what doesn't change."""
    return f"torch.Tensor.{name}" in frame.program.table.flagged("metadata")


def _unread(frame: Frame, asserted: bool = False) -> Paths:
    yes, no = frame.fork(), frame.state
    if not asserted:
        yes.facts.under_unknown_condition = no.facts.under_unknown_condition = True
    return yes, no


def _conjunction(frame: Frame, values: Sequence[ast.expr], asserted: bool) -> Paths:
    no: State | None = None
    for value in values:
        with frame.doubting(no is not None):
            yes, fails = split(frame, value, asserted)
        no = fails if no is None else no if fails is None else no.join(fails)
        if yes is None:
            return None, no
        frame.resume(yes)
    return frame.state, no


def _disjunction(frame: Frame, values: list[ast.expr]) -> Paths:
    yes: State | None = None
    for value in values:
        with frame.doubting(yes is not None):
            holds, no = split(frame, value)
        yes = holds if yes is None else yes if holds is None else yes.join(holds)
        if no is None:
            return yes, None
        frame.resume(no)
    return yes, frame.state


def _narrow(frame: Frame, node: ast.expr, value: OneOf) -> Paths:
    """Split on the truth of a variable that is one of several values."""
    verdicts = [(option, truth(frame, option)) for option in value.options]
    holds = tuple(option for option, verdict in verdicts if verdict is not False)
    fails = tuple(option for option, verdict in verdicts if verdict is not True)
    return _sorted(frame, node, holds, fails)


def _sorted(
    frame: Frame, node: ast.expr | None, holds: tuple[Value, ...], fails: tuple[Value, ...]
) -> Paths:
    """Split on a condition; `holds` and `fails` are what a variable may be on either path."""
    if not holds or not fails:
        return _decided(frame, bool(holds))
    yes, no = frame.fork(), frame.state
    if node is not None:
        for state, some in ((yes, holds), (no, fails)):
            refine(state, node, some[0] if len(some) == 1 else OneOf(some))
    return yes, no


def _comparisons(frame: Frame, test: ast.Compare, asserted: bool) -> Paths:
    match test:
        case ast.Compare(ops=[op], comparators=[right]):
            return _comparison(frame, test.left, op, right, asserted)
    pairs = zip((test.left, *test.comparators), test.ops, test.comparators, strict=False)
    each = [ast.copy_location(ast.Compare(a, [op], [b]), test) for a, op, b in pairs]
    if isinstance(test.comparators[-1], ast.Constant):  # x.ndim == y.ndim == 1
        each.reverse()
    return _conjunction(frame, each, asserted)


def _comparison(
    frame: Frame, left: ast.expr, op: ast.cmpop, right: ast.expr, asserted: bool
) -> Paths:
    a, b = frame.eval(left), frame.eval(right)
    match op:
        case ast.Is():
            return _identity(frame, left, a, b)
        case ast.IsNot():
            no, yes = _identity(frame, left, a, b)
            return yes, no
        case ast.Eq():
            return _equality(frame, left, a, b, asserted)
        case ast.NotEq():
            no, yes = _equality(frame, left, a, b, asserted)
            return yes, no
    known = compared(frame, op, a, b)
    if known is not None:
        return _decided(frame, known)
    match op, a, b:
        case ast.In(), Size(), tuple():
            return frame.fork(), frame.state
        case ((ast.Lt() | ast.LtE()), _, _) if is_size(a) and is_size(b):
            return _order(frame, a, b)
        case ((ast.Gt() | ast.GtE()), _, _) if is_size(a) and is_size(b):
            return _order(frame, b, a)
    return _unread(frame, asserted)


def _order(frame: Frame, less: IntSize, more: IntSize) -> Paths:
    """Split on the order of two sizes: of names it says what the lesser and the larger one are."""
    yes, no = frame.fork(), frame.state
    if dims.is_name(less) and dims.is_name(more):
        for state, a, b in ((yes, less, more), (no, more, less)):
            for function, size in (("min", a), ("max", b)):
                found = dims.extreme(function, [a, b])
                if isinstance(found, Size) and found.atom is not None:
                    state.facts.learn(found.atom, size)
    return yes, no


def _identity(frame: Frame, left: ast.expr, a: Value, b: Value) -> Paths:
    known = identical(frame, a, b)
    if known is not None:
        return _decided(frame, known)
    if b is not None:
        return _unread(frame)
    _take_in(frame, left)
    none, some = frame.fork(), frame.state
    match a:
        case OneOf(options=options) if None in options:
            rest = tuple(option for option in options if option is not None)
            refine(some, left, rest[0] if len(rest) == 1 else OneOf(rest))
        case OneOf() | Scalar() | Unknown():
            pass
        case _:
            return None, some
    refine(none, left, None)
    return none, some


def _equality(frame: Frame, left: ast.expr, a: Value, b: Value, asserted: bool) -> Paths:
    match a, b:
        case DType(), DType():
            return _dtypes(frame, left, a, b)
    return equality(frame, a, b, asserted)


def _dtypes(frame: Frame, left: ast.expr, a: DType, b: DType) -> Paths:
    """Split on `x.dtype == torch.bool`; `x` has that dtype where it holds, and not elsewhere."""
    if not a.dtypes & b.dtypes:
        return None, frame.state
    single = b.dtypes & (b.dtypes - 1) == 0
    if single and a.dtypes == b.dtypes:
        return frame.state, None
    yes, no = frame.fork(), frame.state
    match left:
        case ast.Attribute(value=ast.Name(id=name)) if name in frame.state.vars:
            tensor = frame.lookup(name)
            if isinstance(tensor, Tensor):
                yes.vars[name] = replace(tensor, dtype=tensor.dtype & b.dtypes)
                if single:
                    no.vars[name] = replace(tensor, dtype=tensor.dtype & ~b.dtypes)
    return yes, no


def _take_in(frame: Frame, node: ast.expr) -> None:
    """Have a variable from outside of a body among its own before its paths part.

    On one of them more is found out of it, and behind both of them it is what it may be on either.
    """
    name = name_of(node)
    if name is not None and name not in frame.state.vars:
        frame.state.vars[name] = frame.lookup(name)


def refine(state: State, node: ast.expr, value: Value) -> None:
    """Record what a variable, or an attribute of one, is known to be on a path."""
    match node:
        case ast.Name(id=name):
            state.vars[name] = value
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            owner = state.vars.get(name)
            content = state.instance_of(owner)
            if content is not None and attr in content.attrs:
                state.put(owner, content.with_attrs({**content.attrs, attr: value}))


def equality(frame: Frame, a: Value, b: Value, asserted: bool = False) -> Paths:
    """Split on `a == b`; where it holds, sizes that stand on both sides are equal."""
    one, two = (_spelled_out(frame, value) for value in (a, b))
    match one, two:
        case tuple(), tuple():
            return _tuples(frame, one, two, alike=(one is a) == (two is b))
    left, right = _as_size(one), _as_size(two)
    if is_size(left) and is_size(right):
        return _sizes(frame, left, right)
    known = equal(frame, one, two)
    return _unread(frame, asserted) if known is None else _decided(frame, known)


_WRITTEN: Final = 16
"""Sums of as many terms are written by people; what is longer takes steps."""
_STEPS_A_TERM: Final = 4
"""For what is known of each is put in, time and again."""


def _sizes(frame: Frame, a: IntSize, b: IntSize) -> Paths:
    """Split on the equality of two sizes; long ones take steps."""
    for size in map(frame.state.facts.size, (a, b)):
        if isinstance(size, Size) and len(size.terms) > _WRITTEN:
            frame.spend(_STEPS_A_TERM * len(size.terms))
    if frame.state.facts.compare(a, b).relation is Relation.SAME:
        return frame.state, None
    match a, b:
        case int(), int():
            return None, frame.state
    yes, no = frame.fork(), frame.state
    _learn(yes, a, b)
    no.facts.exclude(no.facts.size(a), no.facts.size(b))
    no.facts.exclude(no.facts.size(b), no.facts.size(a))
    return yes, no


def _spelled_out(frame: Frame, value: Value) -> Value:
    """Return the items of a list in place of the list."""
    content = frame.state.list_of(value)
    if content is None or content.kind not in ("list", "tuple"):
        return value
    return value if content.items is None else content.items


def _learn(state: State, a: IntSize, b: IntSize) -> None:
    """Record an equation of the user's own; it may equate what is otherwise distinct."""
    facts = state.facts
    one, two = facts.dim(a), facts.dim(b)
    if not (is_size(one) and is_size(two)) or one == two:
        return
    if _learn_division(state, one, two):
        return
    verdict = facts.compare(one, two)
    if verdict.learn is not None:
        facts.learn(*verdict.learn)
        return
    for left, right in ((one, two), (two, one)):
        match left - right:
            case Size(symbol=Sym(origin=LengthOf()) as symbol):  # there are no more axes
                facts.learn(symbol, 0)
                return
        match left:
            case Size(atom=atom) if atom is not None and not _is_inside(atom, right):
                facts.learn(atom, right)
                return


def _is_inside(atom: Atom, size: IntSize) -> bool:
    """Whether a size is made of an atom, as `h*(e//h)` is of `e`: equal, they say it is whole."""
    return atom in atoms_of(size) or (isinstance(atom, Sym) and atom in dims.symbols(size))


def _learn_division(state: State, a: IntSize, b: IntSize) -> bool:
    """Record `n % d == 0`, or `d*(n//d) == n`: the floor division is exact."""
    gap = a - b
    for atom in atoms_of(gap):
        match atom:
            case FloorDiv(num=num, den=den):
                rest = num - Size.of(atom) * den
                if gap in (rest, -1 * rest) and _learn_exact(state, atom):
                    return True
    return False


def _learn_exact(state: State, atom: FloorDiv) -> bool:
    """Record that a floor division is exact."""
    match atom:
        case FloorDiv(num=Size(symbol=Sym() as symbol), den=int(den)):
            state.facts.learn(symbol, den * part(symbol, den))
            return True
    exact = exact_quotient(atom.num, atom.den)
    if exact is not None:
        state.facts.learn(atom, exact)
    return exact is not None


def _tuples(frame: Frame, a: tuple[Value, ...], b: tuple[Value, ...], alike: bool) -> Paths:
    """Split on the equality of two tuples or lists; a tuple and a list aren't `alike`."""
    a, b = tuple(map(_as_size, a)), tuple(map(_as_size, b))
    known = equal(frame, a, b)
    if known is False or (known and alike):
        return (frame.state, None) if known else (None, frame.state)
    yes, no = frame.fork(), frame.state
    if not has_run((*a, *b)):
        for x, y in zip(a, b, strict=True):
            if is_size(x) and is_size(y):
                _learn(yes, x, y)
        return yes, no
    _learn_equal(yes, a, b)
    return yes, no


def _learn_equal(state: State, a: tuple[Value, ...], b: tuple[Value, ...]) -> None:
    """Record that two shapes with runs are equal, as far as it is clear which items meet.

    Where a size is negative, what has the shape is no tensor: a stack of dicts says -1 of an axis
    along which they differ.
    """
    if any(type(item) is int and item < 0 for item in (*a, *b)):
        return
    left, right = (list(state.facts.shape(as_shape(side)).dims) for side in (a, b))
    for end in (0, -1):
        while left and right:
            x, y = left[end], right[end]
            if x != y:
                if has_run((x, y)):
                    break
                if is_size(x) and is_size(y):
                    _learn(state, x, y)
            del left[end], right[end]
    if len(left) != 1 or (len(right) == 1 and _is_named(left[0])):
        left, right = right, left
    match left:
        case [Run(symbol=symbol) as run] if run not in right:
            state.facts.learn_run(symbol, tuple(right))


def _is_named(item: Item) -> bool:
    return not isinstance(item, Run) or item.symbol.kind is Kind.NAME


def _as_size(value: Value) -> Value:
    """Return the size that is read of something unknown, `cfg.width`; other values as they are."""
    return value.size if isinstance(value, Path) else value


def _isinstance(frame: Frame, node: ast.expr, kind: ast.expr) -> Paths:
    """Split on `isinstance(x, list)`; `isinstance(x, Float[Tensor, "b c"])` teaches a shape.

    What isn't known becomes an instance of the class, one of several that it may be, that one.
    """
    value = frame.eval(node)
    match reader(frame.module).read(kind), value:
        case TensorDecl(text=None), _:
            pass
        case TensorDecl() as declared, OneOf(options=some):
            tensors = only(some, Tensor)
            return _taught(frame, node, declared, tensors[0] if len(tensors) == 1 else UNKNOWN)
        case TensorDecl() as declared, _:
            return _taught(frame, node, declared, value)
    return of_kind(frame, node, value, kind)


def _taught(frame: Frame, node: ast.expr, declared: TensorDecl, value: Value) -> Paths:
    """Split on whether a value has a shape; where it has, that is learned."""
    _take_in(frame, node)
    yes, no = frame.fork(), frame.state
    frame.resume(yes)
    refine(frame.state, node, fitting.teach(frame, declared, value, node))
    return frame.state, no


def of_kind(frame: Frame, node: ast.expr | None, value: Value, kind: ast.expr) -> Paths:
    """Split on whether a value is an instance of a type, or of one of several.

    `node` is the expression of the value, `kind` that of the types.
    """
    kinds = _kinds(frame, kind)
    verdicts = [(option, instance_of(frame, option, kinds)) for option in options(value)]
    sure = tuple(option for option, verdict in verdicts if verdict)
    holds = sure or tuple(option for option, verdict in verdicts if verdict is None)
    fails = tuple(option for option, verdict in verdicts if verdict is not True)
    if node is not None:
        _take_in(frame, node)
    yes, no = _sorted(frame, node if isinstance(value, OneOf) else None, holds, fails)
    declared = reader(frame.module).read(kind)
    if yes is not None and node is not None and not sure and UNKNOWN in options(value):
        if isinstance(declared, (TensorDecl, ArrayDecl, ClassDecl)):
            frame.resume(yes)
            refine(yes, node, fitting.declare(frame, declared, frame.segment(node), frame.fit()))
            frame.resume(no if no is not None else yes)
    return yes, no


def _kinds(frame: Frame, node: ast.expr) -> Value:
    """Return the classes that an `isinstance` asks for, `int | float` as a tuple."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return (_kinds(frame, left), _kinds(frame, right))
    return frame.eval(node)
