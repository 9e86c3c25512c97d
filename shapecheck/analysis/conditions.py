"""What a condition says about the program where it holds, and where it doesn't."""

from __future__ import annotations

import ast
from dataclasses import replace

from shapecheck.analysis import boundary
from shapecheck.analysis.annotations import ClassDecl, TensorDecl, reader
from shapecheck.analysis.frame import Frame
from shapecheck.analysis.state import State
from shapecheck.analysis.values import Object, Path, Union, own_size
from shapecheck.analysis.verdicts import compared, equal, identical, instance_of, truth
from shapecheck.dims import Composite, FloorDiv, Relation, Size, exact_quotient, part
from shapecheck.ops import UNKNOWN, DType, Scalar, Value
from shapecheck.ops.call import as_dim
from shapecheck.shapes import Run, Tensor

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
            return _comparison(frame, test, op, right, asserted)
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, kind]):
            return _isinstance(frame, value, kind)
    value = frame.eval(test)
    if isinstance(test, ast.Name) and isinstance(value, Union):
        return _narrow(frame, test.id, value)
    known = truth(frame, value)
    if known is not None:
        return (frame.state, None) if known else (None, frame.state)
    return _unread(frame, asserted)


def _unread(frame: Frame, asserted: bool = False) -> Paths:
    yes, no = frame.fork(), frame.state
    if not asserted:
        yes.facts.guarded = no.facts.guarded = True
    return yes, no


def _conjunction(frame: Frame, values: list[ast.expr], asserted: bool) -> Paths:
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


def _narrow(frame: Frame, name: str, value: Union) -> Paths:
    """Split on the truth of a variable that is one of several values."""
    return _sorted(frame, name, [(option, truth(frame, option)) for option in value.options])


def _sorted(frame: Frame, name: str | None, options: list[tuple[Value, bool | None]]) -> Paths:
    """Split on a condition of which it is known what each option of a variable makes of it."""
    holds = tuple(option for option, verdict in options if verdict is not False)
    fails = tuple(option for option, verdict in options if verdict is not True)
    if not holds or not fails:
        return (frame.state, None) if holds else (None, frame.state)
    yes, no = frame.fork(), frame.state
    if name is not None:
        for state, some in ((yes, holds), (no, fails)):
            state.vars[name] = some[0] if len(some) == 1 else Union(some)
    return yes, no


def _comparison(
    frame: Frame, test: ast.Compare, op: ast.cmpop, right: ast.expr, asserted: bool
) -> Paths:
    left = test.left
    a, b = frame.eval(left), frame.eval(right)
    if isinstance(op, (ast.Is, ast.IsNot)):
        return _identity(frame, left, a, b, isinstance(op, ast.IsNot))
    if isinstance(op, (ast.Eq, ast.NotEq)):
        if isinstance(a, DType) and isinstance(b, DType):
            yes, no = _dtypes(frame, left, a, b)
        else:
            yes, no = _equality(frame, a, b, asserted)
        return (yes, no) if isinstance(op, ast.Eq) else (no, yes)
    known = compared(frame, op, a, b)
    if known is not None:
        return (frame.state, None) if known else (None, frame.state)
    if isinstance(op, ast.In) and isinstance(b, tuple) and isinstance(a, Size):
        return frame.fork(), frame.state
    if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) and _is_size(a) and _is_size(b):
        return frame.fork(), frame.state
    return _unread(frame, asserted)


def _is_size(value: Value) -> bool:
    return isinstance(value, (int, Size)) and not isinstance(value, bool)


def _identity(frame: Frame, left: ast.expr, a: Value, b: Value, negated: bool) -> Paths:
    known = identical(frame, a, b)
    if known is not None:
        return (frame.state, None) if known is not negated else (None, frame.state)
    if b is not None:
        return _unread(frame)
    if a is None:
        paths: Paths = (frame.state, None)
    elif isinstance(a, Union) and None in a.options:
        none, some = frame.fork(), frame.state
        rest = tuple(option for option in a.options if option is not None)
        _refine(none, left, None)
        _refine(some, left, rest[0] if len(rest) == 1 else Union(rest))
        paths = (none, some)
    elif a is UNKNOWN or isinstance(a, (Union, Scalar)):
        none, some = frame.fork(), frame.state
        _refine(none, left, None)
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


def _refine(state: State, node: ast.expr, value: Value) -> None:
    if isinstance(node, ast.Name):
        state.vars[node.id] = value


def _equality(frame: Frame, a: Value, b: Value, asserted: bool) -> Paths:
    """Split on `a == b`; where it holds, sizes that stand on both sides are equal."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return _tuples(frame, a, b)
    if _is_size(a) and _is_size(b):
        verdict = frame.state.facts.compare(a, b)
        if verdict.relation is Relation.SAME:
            return frame.state, None
        if isinstance(a, int) and isinstance(b, int):
            return None, frame.state
        yes, no = frame.fork(), frame.state
        _learn(yes, a, b)
        return yes, no
    known = equal(frame, a, b)
    if known is not None:
        return (frame.state, None) if known else (None, frame.state)
    return _unread(frame, asserted)


def _learn(state: State, a: Value, b: Value) -> None:
    """Record an equation of the user's own; it may equate what is otherwise distinct."""
    facts = state.facts
    a, b = facts.dim(a), facts.dim(b)
    if isinstance(a, Composite) or isinstance(b, Composite) or a == b:
        return
    if _learn_division(state, a, b):
        return
    verdict = facts.compare(a, b)
    if verdict.learn is not None:
        facts.learn(*verdict.learn)
        return
    for left, right in ((a, b), (b, a)):
        if isinstance(left, Size) and left.atom is not None:
            if not isinstance(right, Size) or left.atom not in set(right.atoms()):
                facts.learn(left.atom, right)
                return


def _learn_division(state: State, a: Value, b: Value) -> bool:
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


def _tuples(frame: Frame, a: tuple[Value, ...], b: tuple[Value, ...]) -> Paths:
    a, b = tuple(map(_as_size, a)), tuple(map(_as_size, b))
    runs = [item for item in (*a, *b) if isinstance(item, Run)]
    yes, no = frame.fork(), frame.state
    if not runs:
        if len(a) != len(b):
            return None, frame.state
        for x, y in zip(a, b, strict=True):
            if _is_size(x) and _is_size(y):
                if isinstance(x, int) and isinstance(y, int) and x != y:
                    return None, frame.state
                _learn(yes, x, y)
        return yes, no
    for short, long in ((a, b), (b, a)):
        if len(runs) == 1 and runs[0] in short and len(long) >= len(short) - 1:
            at = short.index(runs[0])
            count = len(long) - len(short) + 1
            learned = (i if isinstance(i, Run) else as_dim(i) for i in long[at : at + count])
            yes.facts.learn_run(runs[0].symbol, tuple(learned))
    return yes, no


def _as_size(value: Value) -> Value:
    return own_size(value.text) if isinstance(value, Path) else value


def _isinstance(frame: Frame, value: ast.expr, kind: ast.expr) -> Paths:
    """Split on `isinstance(x, Float[Tensor, "b c"])`, which checks and teaches the shape.

    What isn't known becomes an instance of the class, one of several that it may be, that one.
    """
    found = frame.eval(value)
    declared = reader(frame.module).read(kind)
    if not isinstance(declared, TensorDecl) or declared.text is None:
        kinds = _kinds(frame, kind)
        verdicts = [(option, instance_of(frame, option, kinds)) for option in _options(found)]
        if all(verdict is not None for _, verdict in verdicts):
            name = value.id if isinstance(value, ast.Name) and isinstance(found, Union) else None
            return _sorted(frame, name, verdicts)
    yes, no = frame.fork(), frame.state
    if not isinstance(value, ast.Name):
        return yes, no
    frame.resume(yes)
    if isinstance(declared, TensorDecl):
        if isinstance(found, Union):
            tensors = tuple(option for option in found.options if isinstance(option, Tensor))
            others = tuple(option for option in found.options if option not in tensors)
            if declared.text is None and tensors and others:
                no.vars[value.id] = others[0] if len(others) == 1 else Union(others)
            found = tensors[0] if len(tensors) == 1 else UNKNOWN
        frame.state.vars[value.id] = boundary.teach(frame, declared, found, value)
    elif isinstance(declared, ClassDecl) and (found is UNKNOWN or isinstance(found, Union)):
        known = [o for o in _options(found) if _is_instance(frame, o, declared)]
        made = boundary.declare(frame, declared, frame.segment(value), frame.fit())
        frame.state.vars[value.id] = known[0] if len(known) == 1 else made
    return frame.state, no


def _options(value: Value) -> tuple[Value, ...]:
    return value.options if isinstance(value, Union) else (value,)


def _is_instance(frame: Frame, value: Value, declared: ClassDecl) -> bool:
    content = frame.state.content(value)
    return isinstance(content, Object) and content.cls.node is declared.cls.node


def _kinds(frame: Frame, node: ast.expr) -> Value:
    """Return the classes that an `isinstance` asks for, `int | float` as a tuple."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return (_kinds(frame, node.left), _kinds(frame, node.right))
    return frame.eval(node)
