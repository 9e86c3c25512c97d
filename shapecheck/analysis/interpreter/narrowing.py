"""What a condition says about the program where it holds, and where it doesn't."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from shapecheck.analysis.annotations.declared import ClassDecl, TensorDecl
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter import fitting
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.truth import compared, equal, identical, instance_of, truth
from shapecheck.analysis.program.model import Dotted, Value
from shapecheck.analysis.program.syntax import names_in
from shapecheck.analysis.values.model import (
    OneOf,
    Path,
    Ref,
    options,
    own_size,
)
from shapecheck.analysis.values.state import State
from shapecheck.dims import Composite, FloorDiv, IntSize, Kind, Relation, Size, exact_quotient, part
from shapecheck.ops import UNKNOWN, DType, Scalar
from shapecheck.ops.call import as_dim, is_size
from shapecheck.shapes import Item, Run, Shape, Tensor, has_run

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
        case ast.Compare(ops=[op], comparators=[right]):
            return _comparison(frame, test.left, op, right, asserted)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            pairs = zip((left, *rights), ops, rights, strict=False)
            each = [ast.copy_location(ast.Compare(a, [op], [b]), test) for a, op, b in pairs]
            return _conjunction(frame, each, asserted)
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, kind]):
            return _isinstance(frame, value, kind)
        case ast.Call(func=ast.Attribute(value=module, attr="is_tensor") as func, args=[value]):
            if frame.hush(Frame.eval, func) == Dotted("torch.is_tensor"):
                kind = ast.copy_location(ast.Attribute(module, "Tensor", ast.Load()), func)
                return _isinstance(frame, value, kind)
    found = frame.eval(test)
    if isinstance(test, ast.Name) and isinstance(found, Scalar):
        meant = _meant(frame, test)
        if meant is not None:
            return split(frame, meant, asserted)
    if isinstance(test, (ast.Name, ast.Attribute)) and isinstance(found, OneOf):
        return _narrow(frame, test, found)
    known = truth(frame, found)
    if known is not None:
        return (frame.state, None) if known else (None, frame.state)
    return _unread(frame, asserted)


def _meant(frame: Frame, test: ast.Name) -> ast.expr | None:
    """Return the condition that a variable was set to, where nothing in it has changed since."""
    source, since = frame.sources.get(test.id), frame.state.since
    if not isinstance(source, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
        return None
    line = source.lineno
    if since.get(test.id) != line or test.lineno <= line or test.id in names_in(source):
        return None
    if not all(_lasts(frame, node) for node in ast.walk(source)):
        return None
    return source if all(since.get(name, 0) <= line for name in names_in(source)) else None


def _lasts(frame: Frame, node: ast.AST) -> bool:
    """Whether a part of a condition means the same as long as its variables do."""
    match node:
        case ast.Attribute(value=ast.Name(), attr=attr):
            return is_metadata(frame, attr)
        case ast.Call(func=func):
            return isinstance(func, ast.Attribute) or ast.unparse(func) == "isinstance"
        case ast.Subscript(value=value):
            return isinstance(value, (ast.Attribute, ast.Call))
    return not isinstance(node, (ast.Attribute, ast.NamedExpr, ast.Await, ast.In, ast.NotIn))


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
        return (frame.state, None) if holds else (None, frame.state)
    yes, no = frame.fork(), frame.state
    if node is not None:
        for state, some in ((yes, holds), (no, fails)):
            refine(state, node, some[0] if len(some) == 1 else OneOf(some))
    return yes, no


def _comparison(
    frame: Frame, left: ast.expr, op: ast.cmpop, right: ast.expr, asserted: bool
) -> Paths:
    a, b = frame.eval(left), frame.eval(right)
    if isinstance(op, (ast.Is, ast.IsNot)):
        return _identity(frame, left, a, b, isinstance(op, ast.IsNot))
    if isinstance(op, (ast.Eq, ast.NotEq)):
        if isinstance(a, DType) and isinstance(b, DType):
            yes, no = _dtypes(frame, left, a, b)
        else:
            yes, no = equality(frame, a, b, asserted)
        return (yes, no) if isinstance(op, ast.Eq) else (no, yes)
    known = compared(frame, op, a, b)
    if known is not None:
        return (frame.state, None) if known else (None, frame.state)
    if isinstance(op, ast.In) and isinstance(b, tuple) and isinstance(a, Size):
        return frame.fork(), frame.state
    if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) and is_size(a) and is_size(b):
        return frame.fork(), frame.state
    return _unread(frame, asserted)


def _identity(frame: Frame, left: ast.expr, a: Value, b: Value, negated: bool) -> Paths:
    known = identical(frame, a, b)
    if known is not None:
        return (frame.state, None) if known is not negated else (None, frame.state)
    if b is not None:
        return _unread(frame)
    paths: Paths
    if isinstance(a, OneOf) and None in a.options:
        none, some = frame.fork(), frame.state
        rest = tuple(option for option in a.options if option is not None)
        refine(none, left, None)
        refine(some, left, rest[0] if len(rest) == 1 else OneOf(rest))
        paths = (none, some)
    elif a is UNKNOWN or isinstance(a, (OneOf, Scalar)):
        none, some = frame.fork(), frame.state
        refine(none, left, None)
        paths = (none, some)
    else:
        paths = (None, frame.state)
    return (paths[1], paths[0]) if negated else paths


def _dtypes(frame: Frame, left: ast.expr, a: DType, b: DType) -> Paths:
    """Split on `x.dtype == torch.bool`; `x` has that dtype where it holds, and not elsewhere."""
    if not a.dtypes & b.dtypes:
        return None, frame.state
    single = b.dtypes & (b.dtypes - 1) == 0
    if single and a.dtypes == b.dtypes:
        return frame.state, None
    yes, no = frame.fork(), frame.state
    if isinstance(left, ast.Attribute) and isinstance(left.value, ast.Name):
        name = left.value.id
        tensor = frame.lookup(name)
        if isinstance(tensor, Tensor) and name in frame.state.vars:
            yes.vars[name] = replace(tensor, dtype=tensor.dtype & b.dtypes)
            if single:
                no.vars[name] = replace(tensor, dtype=tensor.dtype & ~b.dtypes)
    return yes, no


def refine(state: State, node: ast.expr, value: Value) -> None:
    """Record what a variable, or an attribute of one, is known to be on a path."""
    if isinstance(node, ast.Name):
        state.vars[node.id] = value
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = state.vars.get(node.value.id)
        content = state.instance_of(owner)
        if isinstance(owner, Ref) and content is not None and node.attr in content.attrs:
            state.heap[owner] = replace(content, attrs={**content.attrs, node.attr: value})


def equality(frame: Frame, a: Value, b: Value, asserted: bool = False) -> Paths:
    """Split on `a == b`; where it holds, sizes that stand on both sides are equal."""
    alike = isinstance(a, tuple) == isinstance(b, tuple)
    a, b = (_spelled_out(frame, value) for value in (a, b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return _tuples(frame, a, b, alike)
    if is_size(a) and is_size(b):
        verdict = frame.state.facts.compare(a, b)
        if verdict.relation is Relation.SAME:
            return frame.state, None
        if isinstance(a, int) and isinstance(b, int):
            return None, frame.state
        yes, no = frame.fork(), frame.state
        _learn(yes, a, b)
        no.facts.exclude(no.facts.size(a), no.facts.size(b))
        no.facts.exclude(no.facts.size(b), no.facts.size(a))
        return yes, no
    known = equal(frame, a, b)
    if known is not None:
        return (frame.state, None) if known else (None, frame.state)
    return _unread(frame, asserted)


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
    if isinstance(one, Composite) or isinstance(two, Composite) or one == two:
        return
    if _learn_division(state, one, two):
        return
    verdict = facts.compare(one, two)
    if verdict.learn is not None:
        facts.learn(*verdict.learn)
        return
    for left, right in ((one, two), (two, one)):
        if isinstance(left, Size) and left.atom is not None:
            if not isinstance(right, Size) or left.atom not in set(right.atoms()):
                facts.learn(left.atom, right)
                return


def _learn_division(state: State, a: IntSize, b: IntSize) -> bool:
    """Record `n % d == 0`, which is `n - d*(n//d) == 0`: the floor division is exact."""
    gap = a - b
    for atom in gap.atoms() if isinstance(gap, Size) else ():
        if isinstance(atom, FloorDiv) and gap == atom.num - Size.of(atom) * atom.den:
            symbol = atom.num.symbol if isinstance(atom.num, Size) else None
            if symbol is not None and isinstance(atom.den, int):
                state.facts.learn(symbol, atom.den * part(symbol, atom.den))
                return True
            exact = exact_quotient(atom.num, atom.den)
            if exact is not None:
                state.facts.learn(atom, exact)
                return True
    return False


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


def _learn_equal(state: State, a: Sequence[Value], b: Sequence[Value]) -> None:
    """Record that two shapes with runs are equal, as far as it is clear which items meet."""
    left, right = (
        list(state.facts.shape(Shape(tuple(map(_as_item, side)))).dims) for side in (a, b)
    )
    for end in (0, -1):
        while left and right:
            x, y = left[end], right[end]
            if x != y:
                if isinstance(x, Run) or isinstance(y, Run):
                    break
                if is_size(x) and is_size(y):
                    _learn(state, x, y)
            del left[end], right[end]
    if len(left) != 1 or (len(right) == 1 and _is_named(left[0])):
        left, right = right, left
    if len(left) == 1 and isinstance(run := left[0], Run) and run not in right:
        state.facts.learn_run(run.symbol, tuple(right))


def _as_item(value: Value) -> Item:
    return value if isinstance(value, Run) else as_dim(value)


def _is_named(item: Item) -> bool:
    return not isinstance(item, Run) or item.symbol.kind is Kind.NAME


def _as_size(value: Value) -> Value:
    return own_size(value.text) if isinstance(value, Path) else value


def _isinstance(frame: Frame, node: ast.expr, kind: ast.expr) -> Paths:
    """Split on `isinstance(x, list)`; `isinstance(x, Float[Tensor, "b c"])` teaches a shape.

    What isn't known becomes an instance of the class, one of several that it may be, that one.
    """
    value = frame.eval(node)
    declared = reader(frame.module).read(kind)
    if isinstance(declared, TensorDecl) and declared.text is not None:
        yes, no = frame.fork(), frame.state
        frame.resume(yes)
        if isinstance(value, OneOf):
            tensors = [option for option in value.options if isinstance(option, Tensor)]
            value = tensors[0] if len(tensors) == 1 else UNKNOWN
        refine(frame.state, node, fitting.teach(frame, declared, value, node))
        return frame.state, no
    return of_kind(frame, node, value, kind)


def of_kind(frame: Frame, node: ast.expr | None, value: Value, kind: ast.expr) -> Paths:
    """Split on whether a value is an instance of a type, or of one of several.

    `node` is the expression of the value, `kind` that of the types.
    """
    kinds = _kinds(frame, kind)
    verdicts = [(option, instance_of(frame, option, kinds)) for option in options(value)]
    sure = tuple(option for option, verdict in verdicts if verdict)
    holds = sure or tuple(option for option, verdict in verdicts if verdict is None)
    fails = tuple(option for option, verdict in verdicts if verdict is not True)
    yes, no = _sorted(frame, node if isinstance(value, OneOf) else None, holds, fails)
    declared = reader(frame.module).read(kind)
    if yes is not None and node is not None and not sure and UNKNOWN in options(value):
        if isinstance(declared, (TensorDecl, ClassDecl)):
            frame.resume(yes)
            refine(yes, node, fitting.declare(frame, declared, frame.segment(node), frame.fit()))
            frame.resume(no if no is not None else yes)
    return yes, no


def _kinds(frame: Frame, node: ast.expr) -> Value:
    """Return the classes that an `isinstance` asks for, `int | float` as a tuple."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return (_kinds(frame, node.left), _kinds(frame, node.right))
    return frame.eval(node)
