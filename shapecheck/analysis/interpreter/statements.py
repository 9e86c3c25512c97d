"""What each kind of statement does to the state."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter import (
    autocast,
    decorators,
    escaping,
    fitting,
    match_patterns,
)
from shapecheck.analysis.interpreter.axis_comments import name_by_comment
from shapecheck.analysis.interpreter.axis_names import name_axis
from shapecheck.analysis.interpreter.batches import has_batch
from shapecheck.analysis.interpreter.frame import Frame, Loop
from shapecheck.analysis.interpreter.growth import growth
from shapecheck.analysis.interpreter.iteration import (
    UNROLL,
    another,
    first,
    iterate,
    iterated,
    last,
    learned,
    length,
    listed,
)
from shapecheck.analysis.interpreter.kinds import assign_attribute, held_by, kind_of
from shapecheck.analysis.interpreter.loop_variables import carried
from shapecheck.analysis.interpreter.narrowing import is_metadata, split
from shapecheck.analysis.interpreter.operators import augmented, delete_item, store_item
from shapecheck.analysis.interpreter.passes import goes_well, settle
from shapecheck.analysis.interpreter.registry import statement
from shapecheck.analysis.program.model import Class, Dotted, Function, Value, default_nodes
from shapecheck.analysis.program.syntax import (
    called,
    keeping,
    last_word,
    name_of,
    names_in,
    nodes_of,
    unstarred,
)
from shapecheck.analysis.values.model import Bound, Context, ListContent, Ref, tensor_of
from shapecheck.analysis.values.parts import numbers_in
from shapecheck.analysis.values.state import State
from shapecheck.dims import IntSize, Size, Sym
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.ops.agree import counted
from shapecheck.ops.call import are, as_shape, is_int, is_size
from shapecheck.shapes import Facts, Item, Run, Shape, Tensor, runs_in, symbols_of

_ROUNDS = 5


@statement(ast.Expr)
def _expr(frame: Frame, node: ast.Expr) -> None:
    frame.eval(node.value)


@statement(ast.Assign)
def _assign(frame: Frame, node: ast.Assign) -> None:
    value = frame.eval(node.value)
    for target in node.targets:
        name = name_of(target)
        if name is not None:
            frame.state.sources[name] = node.value
        store(frame, target, value, node.value)
    name_by_comment(frame, node, value)


@statement(ast.AnnAssign)
def _annotated(frame: Frame, node: ast.AnnAssign) -> None:
    declared = reader(frame.module).read(node.annotation)
    if node.value is None:
        return
    wanted = fitting.wanted(frame, declared)
    if wanted is not None:
        frame.destination = node.value, wanted
    value = frame.eval(node.value)
    value = fitting.declare_local(frame, declared, value, node)
    store(frame, node.target, value, node.value)


@statement(ast.AugAssign)
def _augmented(frame: Frame, node: ast.AugAssign) -> None:
    store(frame, node.target, augmented(frame, node), node.value)


def store(frame: Frame, target: ast.expr, value: Value, source: ast.expr) -> None:
    """Assign a value to a target; `source` is the expression that it comes from."""
    match target:
        case ast.Name(id=name):
            name_axis(frame, name, value)
            frame.assign(name, value, target.lineno)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            _unpack(frame, targets, value, source)
        case ast.Attribute(value=owner, attr=name):
            holder = frame.eval(owner)
            if name == "data" and isinstance(holder, Tensor):
                store(frame, owner, value, source)
                return
            assign_attribute(frame, holder, name, value, target)
            _put_away(frame, holder, value)
        case ast.Subscript():
            _put_away(frame, store_item(frame, target, value, source), value)
        case ast.Starred(value=inner):
            store(frame, inner, value, source)


def _put_away(frame: Frame, holder: Value, value: Value) -> None:
    """Let go of what something keeps of which nothing is known: it may be called from there."""
    if frame.state.content(holder) is None:
        escaping.let_go(frame, [value])


def _unpack(frame: Frame, targets: Sequence[ast.expr], value: Value, source: ast.expr) -> None:
    star = _star(targets)
    items = _parts(frame, value, targets, star)
    if items is None and star is None:
        _count(frame, len(targets), value, source)
    if items is None:
        element = iterate(frame, value)[1]
        for at, target in enumerate(targets):
            rest = at == star
            made = (
                frame.state.new(ListContent(None, element)) if rest else _row(frame, value, element)
            )
            store(frame, target, made, source)
        return
    if star is not None and len(items) >= len(targets) - 1:
        after = len(targets) - star - 1
        middle = items[star : len(items) - after]
        items = (
            *items[:star],
            frame.state.new(ListContent(tuple(middle))),
            *items[len(items) - after :],
        )
    if len(items) != len(targets):
        _wrong_count(frame, targets, items, value, source)
        items = (UNKNOWN,) * len(targets)
    for target, item in zip(targets, items, strict=True):
        store(frame, target, item, source)


def _row(frame: Frame, value: Value, element: Value) -> Value:
    """Return an item of what is unpacked, of a tensor perhaps of another shape than the next.

    Many a parameter that is said to be a tensor is given several of them. Where it isn't even known
    how many axes the rows have, nothing tells that they are of one shape.
    """
    made = another(frame, element)
    if not isinstance(value, Tensor) or not isinstance(made, Tensor):
        return made
    items = frame.state.facts.items(made.shape.dims)
    return made.with_shape(
        Shape(
            tuple(
                Run(item.symbol.again())
                if isinstance(item, Run) and item.symbol.stretches
                else item
                for item in items
            )
        )
    )


def _star(targets: Sequence[ast.expr]) -> int | None:
    """Return which of some targets has a star before it, None where none has."""
    return next((at for at, one in enumerate(targets) if unstarred(one) is not one), None)


def _label(target: ast.expr) -> str:
    """Return what a size is called that is assigned to a target."""
    return name_of(unstarred(target)) or "_"


def _parts(
    frame: Frame, value: Value, targets: Sequence[ast.expr], star: int | None
) -> tuple[Value, ...] | None:
    """Return the items of what is unpacked; a shape of unknown rank has one for each target."""
    given = listed(frame, value)
    if given is None:
        return iterate(frame, value)[0]
    items = learned(frame, given)
    match runs_in(items):
        case []:
            return items
        case [(at, run)]:
            return _around_run(frame, items, at, run, targets, star)
    return None


def _around_run(
    frame: Frame,
    value: tuple[Value, ...],
    at: int,
    run: Run,
    targets: Sequence[ast.expr],
    star: int | None,
) -> tuple[Value, ...] | None:
    """Return the items of a shape with one run, which is learned to have what is left over."""
    if star is not None:
        after = len(targets) - star - 1
        if run.symbol.stretches:
            value = _reached(frame, value, at, run, targets, star)
            ((at, _),) = runs_in(value)
        return value if star <= at and after < len(value) - at else None
    count = len(targets) - len(value) + 1
    if count < 0:
        return None
    axes = tuple(run.another(_label(target)) for target in targets[at : at + count])
    frame.state.facts.learn_run(run.symbol, axes)
    return (*value[:at], *axes, *value[at + 1 :])


def _reached(
    frame: Frame,
    value: tuple[Value, ...],
    at: int,
    run: Run,
    targets: Sequence[ast.expr],
    star: int,
) -> tuple[Value, ...]:
    """Learn that a run has the axes for which there are names beside a star, and the star's."""
    labels = [_label(target) for target in targets]
    behind = len(value) - at - 1
    front = tuple(run.another(label) for label in labels[at:star])
    back = tuple(run.another(label) for label in labels[star + 1 : len(labels) - behind])
    is_named = not run.symbol.name.isidentifier() and labels[star].strip("_") != ""
    if not front and not back and not is_named:
        return value
    rest = run.symbol.again(labels[star]) if is_named else run.symbol.again()
    inner: tuple[Size | Run, ...] = (*front, Run(rest), *back)
    frame.state.facts.learn_run(run.symbol, inner)
    return (*value[:at], *inner, *value[at + 1 :])


def _count(frame: Frame, count: int, value: Value, source: ast.expr) -> None:
    """Equate the number of items, where it is a dimension, with the number of names."""
    found = length(frame, value)
    if found is None or frame.state.facts.unify(found, count, (Shape((found,)),), told=True):
        return
    text = f'"{frame.segment(source)}" can\'t be unpacked into {count} names: it has {found} items'
    frame.error(source, Message(text, numbers=numbers_in(found)))


def _wrong_count(
    frame: Frame,
    targets: Sequence[ast.expr],
    items: tuple[Value, ...],
    value: Value,
    source: ast.expr,
) -> None:
    match called(source), value:
        case ast.Attribute(attr="shape" | "size"), _:
            if has_batch(as_shape(items).dims) and len(items) == len(targets) + 1:
                return
            reason = f"{as_shape(items)} has {counted(len(items), 'axis')}"
        case _, Tensor(shape=shape):
            reason = f"{shape} has {counted(len(items), 'item')} along axis 0"
        case _ if items and are(items, Tensor) and _is_op(frame, source):
            reason = f"it gives {counted(len(items), 'tensor')}"
        case _:
            return
    is_open = _star(targets) is not None
    names = f"{len(targets) - 1} or more" if is_open else f"{len(targets)}"
    text = f'"{frame.segment(source)}" can\'t be unpacked into {names} names: {reason}'
    frame.error(source, Message(text, numbers=numbers_in(value, items)))


def _is_op(frame: Frame, source: ast.expr) -> bool:
    """Whether this is a call of an op; of other functions' results mypy knows the number."""
    match source:
        case ast.Call(func=func):
            match frame.hush(Frame.eval, func):
                case Dotted() | Bound(receiver=Tensor()):
                    return True
    return False


@statement(ast.Return)
def _return(frame: Frame, node: ast.Return) -> None:
    errors = frame.errors
    if node.value is not None and frame.fits_result is not None:
        frame.destination = node.value, frame.fits_result
    value = None if node.value is None else frame.eval(node.value)
    blamed = frame.errors > errors
    if frame.check_return is not None and node.value is not None and not blamed:
        value = frame.check_return(node.value, value)
    frame.returns.append((value, frame.state))
    frame.alive = False


@statement(ast.If)
def _if(frame: Frame, node: ast.If) -> None:
    under_unknown_condition = frame.state.facts.under_unknown_condition
    goes_by_value = frame.program.supposing and any(
        map(_compares, nodes_of(ast.Compare, node.test))
    )
    before = frame.state.copy() if goes_by_value else None
    yes, no = split(frame, node.test)
    ends, doubt, is_open = [], frame.doubt, yes is not None and no is not None
    with frame.doubting(is_open):
        for state, body in ((yes, node.body), (no, node.orelse)):
            frame.resume(state)
            if state is not None and _runs(frame, node.test, body, is_open):
                ends.append(frame.state)
    if _waits(node):
        frame.doubt = doubt
    _meet(frame, ends)
    if len(ends) == 2 or _waits(node):
        frame.state.facts.under_unknown_condition = under_unknown_condition
        if before is not None and len(ends) == 2:
            _leave_open(frame.state.facts, node, before, ends)


def _runs(frame: Frame, test: ast.expr, body: Sequence[ast.stmt], is_open: bool) -> bool:
    """Run a branch; whether the program gets to its end."""
    run = partial(frame.run, body)
    return (not body or goes_well(frame, test, body[0], run, is_open)) and frame.alive


def _compares(test: ast.Compare) -> bool:
    """Whether a comparison goes by a value, as `self.dims == 3` does and `mask is None` doesn't."""
    return not all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops)


def _leave_open(facts: Facts, node: ast.If, before: State, ends: Sequence[State]) -> None:
    """Give up on axes that one of two paths needs, and the other doesn't which uses the tensor too.

    The value that both are chosen by may be the number of axes. Nor is an axis the number that one
    path needs: `if self.channels == 1: x = repeat(x, "b 1 ... -> b 3 ...")`. `before` is how it was
    in front of both, `facts` what is known behind both.
    """
    yes, no = (end.facts.runs for end in ends)
    left = set[Sym]()
    for mine, others, body in ((yes, no, node.orelse), (no, yes, node.body)):
        if mine.keys() <= others.keys():
            continue
        for name in frozenset[str]().union(*map(names_in, body)):
            tensor = tensor_of(before.vars.get(name))
            if tensor is not None:
                runs = runs_in(before.facts.shape(tensor.shape).dims)
                symbols = {run.symbol for _, run in runs if run.symbol.supposed}
                left |= (symbols & mine.keys()) - others.keys()
    facts.runs = {run: items for run, items in facts.runs.items() if run not in left}
    for run in (yes.keys() | no.keys()) - before.facts.runs.keys():
        if run.supposed and len({_numbers_of(end.facts, run) for end in ends}) > 1:
            facts.leave_numbers(run)


def _numbers_of(facts: Facts, run: Sym) -> tuple[Item, ...]:
    """Return which axes of a run are known to be numbers."""
    return tuple(item if isinstance(item, int) else Run(run) for item in facts.items((Run(run),)))


@keeping(1024)
def _waits(node: ast.If) -> bool:
    """Whether a program leaves a body as long as it hasn't got enough of something yet.

    `if len(self.memory) < self.batch_size: return`
    """
    match node:
        case ast.If(body=[ast.Return(value=None | ast.Constant(None)) | ast.Continue()], orelse=[]):
            pass
        case _:
            return False
    match node.test:
        case (
            ast.Compare(left=have, ops=[ast.Lt() | ast.LtE()])
            | ast.Compare(ops=[ast.Gt() | ast.GtE()], comparators=[have])
        ):
            return _counts(have)
    return False


def _counts(node: ast.expr) -> bool:
    """Whether an expression is how long something is, or an attribute of an instance."""
    match node:
        case ast.Call(func=ast.Name(id="len")) | ast.Attribute(value=ast.Name(id="self")):
            return True
    return False


def _meet(frame: Frame, states: Sequence[State]) -> None:
    if not states:
        frame.alive = False
        return
    joined = states[0]
    for state in states[1:]:
        joined = frame.joined(joined, state)
    frame.resume(joined)


@statement(ast.For)
@statement(ast.AsyncFor)
def _for(frame: Frame, node: ast.For | ast.AsyncFor) -> None:
    value = iterated(frame, node.iter)
    items, element = iterate(frame, value)
    loop = Loop(node)
    frame.loops.append(loop)
    if items is not None and len(items) <= _unrolled(node):
        loop.unrolled = True
        _unroll(frame, node, loop, items)
    elif items is not None:
        begun, errors, element = _begun(frame, node), frame.errors, frame.state.either(*items)
        head = items[0] if _is_counted(node) else element
        _fixpoint(frame, node, loop, element, head, len(items))
        if begun is not None and frame.errors == errors:
            _as_it_grows(frame, node, loop, begun, element, len(items))
    else:
        head = first(frame, value, element) if _is_counted(node) else element
        rounds, errors = length(frame, value), frame.errors
        start, begun = None if last(frame, value) is None else frame.fork(), _begun(frame, node)
        with frame.doubting(rounds is None or not dims.nonnegative(rounds - 1)):
            _fixpoint(frame, node, loop, element, head, rounds)
            if frame.errors == errors:
                final = last(frame, value)
                _in_the_end(frame, node, loop, final)
                if start is not None and frame.errors == errors:
                    _in_the_end(frame, node, loop, final, (start, head))
                if begun is not None and is_int(rounds) and frame.errors == errors:
                    _as_it_grows(frame, node, loop, begun, element, rounds)
    settle(frame, frame.loops.pop())
    if frame.alive:
        frame.run(node.orelse)
    _meet(frame, [*([frame.state] if frame.alive else []), *loop.breaks])


def _in_the_end(
    frame: Frame,
    node: ast.For | ast.AsyncFor,
    loop: Loop,
    item: Value,
    before: tuple[State, Value] | None = None,
) -> None:
    """Run a loop's body once more for what goes wrong with the last item, if that is another.

    That comes after any item or, for what is kept between them, after the first one: `before` is
    the state in which the loop begins, and its first item.
    """
    if item is None or not frame.alive or any(nodes_of(ast.Break, *node.body)):
        return
    if frame.is_unasked or (frame.faults is not None and frame.unheeded):
        return
    end, given = frame.fork(), (len(frame.returns), len(frame.yields))
    if before is not None and not _goes_on(frame, node, loop, *before):
        _restart(frame, loop, end, given)
        return
    shapes = " and ".join(str(one.shape) for one in _tensors_in(item))
    _once_noting(
        frame, node, loop, item, f"the last batch is {shapes}; drop_last=True would leave it out"
    )
    _restart(frame, loop, end, given)


def _once_noting(
    frame: Frame, node: ast.For | ast.AsyncFor, loop: Loop, item: Value, note: str
) -> None:
    """Run a loop's body once, and add a note to what goes wrong in it."""
    reporter = frame.module.reporter
    if frame.faults is not None:
        _once(frame, node, loop, item)
        frame.faults[:] = [fault.noting(note) for fault in frame.faults]
    elif reporter is not None and not frame.depth:
        with frame.module.reporting_apart() as found:
            _once(frame, node, loop, item)
        reporter.include(found, note)


# Loops in which something grows -------------------------------------------------------------------

_JOINING: Final = frozenset("cat concat concatenate hstack vstack".split())


def _begun(frame: Frame, node: ast.For | ast.AsyncFor) -> State | None:
    """Return the state in which a loop begins, if something may grow in it from round to round."""
    return frame.fork() if _may_grow(node) else None


@keeping(1024)
def _may_grow(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop's body puts tensors together, and always goes on to the next round."""
    calls = nodes_of(ast.Call, *node.body)
    ends = any(nodes_of((ast.Break, ast.Return, ast.Continue), *node.body))
    return not ends and any(last_word(called(call)) in _JOINING for call in calls)


def _as_it_grows(
    frame: Frame,
    node: ast.For | ast.AsyncFor,
    loop: Loop,
    begun: State,
    item: Value,
    rounds: int,
) -> None:
    """Run a loop's body as it is when what grows in it has grown too large.

    That is the first round in which something goes wrong. The one before has to make what grows as
    large as it is then: nothing that is cut off again gets there.
    """
    if rounds < _SEVERAL or not frame.alive:
        return
    if frame.is_unasked or (frame.faults is not None and frame.unheeded):
        return
    end, given = frame.fork(), (len(frame.returns), len(frame.yields))
    one = _after(frame, node, loop, begun, item)
    two = None if one is None else _after(frame, node, loop, one, item)
    found = growth(begun, one, two, names_in(node.target)) if one and two else None
    low, high = 2, rounds - 1
    if found is not None and _after(frame, node, loop, found.at(high), item) is None:
        while high - low > 1:
            middle = (low + high) // 2
            fails = _after(frame, node, loop, found.at(middle), item) is None
            low, high = (low, middle) if fails else (middle, high)
        before = _after(frame, node, loop, found.at(low), item)
        if before is not None and found.is_at(before, high):
            _restart(frame, loop, found.at(high), given)
            _once_noting(frame, node, loop, item, f"in round {high + 1} of {rounds}")
    _restart(frame, loop, end, given)


_SEVERAL: Final = 4
"""A loop of fewer rounds has been gone through by then."""


def _after(
    frame: Frame, node: ast.For | ast.AsyncFor, loop: Loop, state: State, item: Value
) -> State | None:
    """Return the state after one more round, None where something goes wrong in it."""
    quiet, errors, given = frame.quiet, frame.errors, (len(frame.returns), len(frame.yields))
    _restart(frame, loop, state.copy(), given)
    frame.quiet = True
    _once(frame, node, loop, item)
    failed = frame.errors > errors or not frame.alive
    frame.quiet, frame.errors = quiet, errors
    return None if failed else frame.state


def _goes_on(
    frame: Frame, node: ast.For | ast.AsyncFor, loop: Loop, state: State, item: Value
) -> bool:
    """Run a loop's body once from a state, saying nothing; whether the loop goes on after it."""
    frame.resume(state)
    frame.hush(_once, node, loop, item)
    return frame.alive


def _tensors_in(item: Value) -> Iterator[Tensor]:
    match item:
        case Tensor():
            yield item
        case tuple():
            for one in item:
                yield from _tensors_in(one)


@keeping(1024)
def _unrolled(node: ast.For | ast.AsyncFor) -> int:
    """Return for how many items a loop's body is run one by one: the smaller, the more."""
    simple = len(node.body) <= 4 and not any(nodes_of((ast.For, ast.While), *node.body))
    return UNROLL if simple else 16


def _unroll(frame: Frame, node: ast.For | ast.AsyncFor, loop: Loop, items: Sequence[Value]) -> None:
    """Run a loop's body once for each item, or until nothing changes any more."""
    for item in items:
        before = frame.fork()
        store(frame, node.target, item, node.iter)
        _pass(frame, loop, node.body)
        if not frame.alive:
            break
        if not _is_counted(node) and _unchanged(before, frame.state):
            break


@keeping(1024)
def _is_counted(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop's body reads what the loop counts, or goes through."""
    targets = names_in(node.target)
    return not all(map(targets.isdisjoint, map(names_in, node.body)))


def _unchanged(before: State, after: State) -> bool:
    return (
        all(after.vars.get(name) == value for name, value in before.vars.items())
        and before.facts == after.facts
        and _same(after, before)
    )


def _pass(frame: Frame, loop: Loop, body: Sequence[ast.stmt]) -> None:
    """Run a loop's body once."""
    _go_through(frame, loop, body)
    _meet(frame, [*([frame.state] if frame.alive else []), *loop.continues])
    loop.continues.clear()


def _go_through(frame: Frame, loop: Loop, body: Sequence[ast.stmt]) -> None:
    """Run a loop's body; what comes after an `if` that may leave the pass is a branch as well."""
    for at, node in enumerate(body):
        ends = _ends(frame, loop)
        frame.run([node])
        rest = body[at + 1 :]
        if isinstance(node, ast.If) and rest and frame.alive and _ends(frame, loop) > ends:
            run = partial(_go_through, frame, loop, rest)
            frame.alive = goes_well(frame, node.test, rest[0], run, True) and frame.alive
            return


def _ends(frame: Frame, loop: Loop) -> int:
    """Return how often the program may have left a pass of a loop so far."""
    return len(loop.breaks) + len(loop.continues) + len(frame.returns)


def _fixpoint(
    frame: Frame,
    node: ast.For | ast.AsyncFor | ast.While,
    loop: Loop,
    element: Value,
    head_element: Value = UNKNOWN,
    rounds: IntSize | None = None,
) -> None:
    """Run a loop's body until its head stays the same; then once more, if there is to report.

    The first time round sees the first element. What goes wrong then is reported of it: nothing
    is known of what the body makes of it afterwards.
    """
    start = frame.fork()
    around = frame.loops[-2].heads if len(frame.loops) > 1 and not frame.loops[-2].unrolled else {}
    place = (node.lineno, node.col_offset)
    known = around.get(node)
    if known is not None:  # that of the time before: what begins with less ends there as well
        frame.resume(frame.joined(start, known, place))
        head_element = element
    head = frame.fork()
    errors, given = frame.errors, (len(frame.returns), len(frame.yields))
    outer, frame.quiet = frame.quiet, True
    failed = is_last = False
    counted: dict[Ref, IntSize] = {}
    for round_ in range(_ROUNDS):
        before, counted = head.copy(), _count_from(frame.state)
        frame.unsaid &= outer
        _once(frame, node, loop, head_element if round_ == 0 else element)
        if round_ == 0 and frame.errors > errors and not outer:
            failed = True
            _restart(frame, loop, before.copy(), given)
            frame.quiet = False
            _once(frame, node, loop, head_element)
            frame.quiet = True
        is_last = round_ > 0 or head_element is element
        if not frame.alive:
            break
        after = frame.joined(before, frame.state, place)
        after.sweep(start)
        is_last &= _stable(after, head, node)
        head = after
        if is_last:
            break
        if round_ == _ROUNDS - 2:
            _widen(before, head)
        _restart(frame, loop, head.copy(), given)
    around[node] = head.copy()
    is_watched = frame.observer is not None and frame.observer.sees_all
    is_told = is_watched or (frame.unsaid and not (outer or failed))
    if not is_last or is_told:
        frame.quiet = outer or failed
        _restart(frame, loop, head.copy(), given)
        counted = _count_from(frame.state)
        _once(frame, node, loop, element)
    frame.quiet, frame.unsaid = outer, frame.unsaid or not outer
    grown = _grown(frame.state, counted) if frame.alive else {}
    if frame.alive and rounds is not None and dims.nonnegative(rounds - 1):
        _keep_alike(frame, start.facts, head.facts)
    _meet(frame, [head, *([frame.state] if frame.alive else [])])
    for ref, added in grown.items():
        content, initial = frame.state.list_of(ref), start.list_of(ref)
        if content is not None and initial is not None and rounds is not None:
            if content.items is None and initial.length is not None:
                total = initial.length + added * rounds
                frame.state.know(ref, replace(content, count=total))
    if frame.alive:
        frame.state.sweep(start)


def _keep_alike(frame: Frame, before: Facts, after: Facts) -> None:
    """Keep what a body that surely runs shows to be one size, of the axes that parameters have."""
    tensors = filter(None, map(tensor_of, frame.given.values()))
    axes = {
        symbol
        for one in tensors
        for item in before.shape(one.shape).dims
        for symbol in symbols_of(item)
    }
    for atom, size in frame.state.facts.atoms.items():
        if atom in axes and atom not in after.atoms and axes.issuperset(dims.symbols(size)):
            after.learn(atom, size)


def _restart(frame: Frame, loop: Loop, state: State, given: tuple[int, int]) -> None:
    """Go back to a loop's head, as if its body hadn't run."""
    del frame.returns[given[0] :], frame.yields[given[1] :]
    loop.breaks.clear()
    frame.resume(state)


def _count_from(state: State) -> dict[Ref, IntSize]:
    """Give the lists that a loop changes a symbol for the length that they have at its head."""
    counted: dict[Ref, IntSize] = {}
    for ref, content in state.heap.items():
        if isinstance(content, ListContent) and content.length is None:
            counted[ref] = dims.unknown()
            state.know(ref, replace(content, count=counted[ref]))
    return counted


def _grown(state: State, counted: Mapping[Ref, IntSize]) -> dict[Ref, IntSize]:
    """Return by how much lists have grown, where that is the same each time round."""
    found: dict[Ref, IntSize] = {}
    for ref, before in counted.items():
        content = state.list_of(ref)
        if content is not None and content.count is not None:
            added = content.count - before
            if all(symbol.kind is not dims.Kind.UNKNOWN for symbol in dims.symbols(added)):
                found[ref] = added
    return found


def _stable(after: State, head: State, node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether what a loop's body takes over is as it was before."""
    taken = (name for name in carried(node) if name in after.vars)
    return (
        all(name in head.vars and after.vars[name] == head.vars[name] for name in taken)
        and after.facts == head.facts
        and _same(after, head)
    )


def _same(a: State, b: State) -> bool:
    return all(b.heap.get(ref) == content for ref, content in a.heap.items() if ref in b.heap)


def _widen(before: State, head: State) -> None:
    """Give up on what still changes after several rounds."""
    for name, value in head.vars.items():
        if before.vars.get(name) != value:
            head.vars[name] = Tensor.unknown() if isinstance(value, Tensor) else UNKNOWN
    for ref, content in head.heap.items():
        if before.heap.get(ref) != content:
            head.know(ref, None)


def _once(
    frame: Frame, node: ast.For | ast.AsyncFor | ast.While, loop: Loop, element: Value
) -> None:
    match node:
        case ast.While(test=test):
            yes, _ = split(frame, test)
            frame.resume(yes)
        case ast.For(target=target, iter=source) | ast.AsyncFor(target=target, iter=source):
            store(frame, target, another(frame, element), source)
    if frame.alive:
        _pass(frame, loop, node.body)


@statement(ast.While)
def _while(frame: Frame, node: ast.While) -> None:
    if _is_short(node):
        start, faults = frame.fork(), None if frame.faults is None else [*frame.faults]
        ends = frame.hush(_in_rounds, node)
        frame.resume(start)
        if frame.faults is not None and faults is not None:
            frame.faults[:] = faults
        if ends:
            _in_rounds(frame, node)
            return
    loop = Loop(node)
    frame.loops.append(loop)
    with frame.doubting():
        _fixpoint(frame, node, loop, UNKNOWN)
    settle(frame, frame.loops.pop())
    after = list(loop.breaks)
    if frame.alive:
        _, no = split(frame, node.test)
        frame.resume(no)
        if frame.alive:
            frame.run(node.orelse)
        if frame.alive:
            after.append(frame.state)
    _meet(frame, after)


_ROUNDS_OF_WHILE: Final = 8


@keeping(1024)
def _is_short(node: ast.While) -> bool:
    """Whether a loop is one of few statements that only its condition ends.

    `while x.ndim < y.ndim: x = x.unsqueeze(-1)`
    """
    endings = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.While, ast.For)
    tests = not isinstance(node.test, ast.Constant)
    return tests and len(node.body) <= 2 and not any(nodes_of(endings, *node.body))


def _in_rounds(frame: Frame, node: ast.While) -> bool:
    """Run a loop's body as often as its condition is known to hold.

    Returns whether it is known, after few times, not to hold any more.
    """
    for _ in range(_ROUNDS_OF_WHILE):
        yes, no = split(frame, node.test)
        if yes is None or no is not None:
            frame.resume(no)
            if yes is None and frame.alive:
                frame.run(node.orelse)
            return yes is None
        frame.resume(yes)
        frame.run(node.body)
        if not frame.alive:
            return False
    return False


@statement(ast.Break)
def _break(frame: Frame, node: ast.Break) -> None:
    if frame.loops:
        frame.loops[-1].breaks.append(frame.state)
    frame.alive = False


@statement(ast.Continue)
def _continue_statement(frame: Frame, node: ast.Continue) -> None:
    if frame.loops:
        frame.loops[-1].continues.append(frame.state)
    frame.alive = False


@statement(ast.Raise)
def _raise(frame: Frame, node: ast.Raise) -> None:
    frame.alive = False


@statement(ast.Assert)
def _assert(frame: Frame, node: ast.Assert) -> None:
    yes, no = split(frame, node.test, asserted=True)
    # By default, an assertion says mostly that something has to be given on the command line.
    fails = yes is None and no is not None and not frame.by_default
    if fails and _about_sizes(frame, node.test):
        text = frame.segment(node.test)
        frame.error(node, Message(f'"assert" fails: {_short(text)} is false here'))
    frame.resume(yes)


def _about_sizes(frame: Frame, test: ast.expr) -> bool:
    """Whether a condition of a body that is looked into compares sizes, or what they leave over.

    A body that is checked on its own may assert what only its callers know to be true. What lists
    and other objects hold may have been changed by something that the analysis hasn't seen.
    """
    if frame.faults is None or not all(_is_of_shapes(frame, node) for node in ast.walk(test)):
        return False
    compares = [*nodes_of(ast.Compare, test)]
    return bool(compares) and all(
        is_size(frame.hush(Frame.eval, side))
        for node in compares
        for side in (node.left, *node.comparators)
    )


def _is_of_shapes(frame: Frame, node: ast.AST) -> bool:
    """Whether a part of a condition is one that tensors, and not other objects, give sizes by."""
    match node:
        case ast.Call(func=ast.Attribute()) | ast.Attribute(value=ast.Name(id="self")):
            return True
        case ast.Call():
            return False
        case ast.Attribute(attr=name):
            return is_metadata(frame, name)
    return True


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


@statement(ast.With)
@statement(ast.AsyncWith)
def _with(frame: Frame, node: ast.With | ast.AsyncWith) -> None:
    expected, before = False, frame.state.facts.autocast
    for item in node.items:
        manager = frame.eval(item.context_expr)
        lower = autocast.entered(frame, item.context_expr, manager, frame.state.facts.autocast)
        frame.state.facts.autocast = lower
        expected = expected or _expects_error(item.context_expr, manager)
        held = held_by(frame, manager)
        value = kind_of(held).enter(frame, manager, held, item.context_expr)
        if item.optional_vars is not None:
            store(frame, item.optional_vars, value, item.context_expr)
    frame.caught += expected
    frame.run(node.body)
    frame.state.facts.autocast = before
    frame.caught -= expected
    frame.alive = frame.alive or expected


def _expects_error(node: ast.expr, manager: Value) -> bool:
    """Whether a context manager takes an error of its body for granted."""
    match node, manager:
        case _, Context(swallows=swallows):
            return swallows
        case ast.Call(func=func), _:
            return last_word(func) in _EXPECTING
    return False


_EXPECTING: Final = frozenset(("raises", "assertRaises", "assertRaisesRegex", "suppress"))


@statement(ast.Try)
def _try(frame: Frame, node: ast.Try) -> None:
    caught = {name for handler in node.handlers for name in _caught(handler)}
    frame.handled += bool(caught & (_ANY | _FAILING))
    frame.caught += bool(caught & _FAILING)
    raised = frame.fork()  # what holds wherever in the body something may be raised
    returns = len(frame.returns)
    for part in node.body:
        frame.run([part])
        if not frame.alive:
            break
        raised = frame.joined(raised, frame.state)
    for _, end in frame.returns[returns:]:
        raised = frame.joined(raised, end)
    frame.handled -= bool(caught & (_ANY | _FAILING))
    frame.caught -= bool(caught & _FAILING)
    ends: list[State] = []
    if frame.alive:
        frame.run(node.orelse)
        if frame.alive:
            ends.append(frame.state)
    for handler in node.handlers:
        frame.resume(raised.copy())
        if handler.name:
            frame.assign(handler.name, UNKNOWN, handler.lineno)
        with frame.doubting():
            frame.run(handler.body)
        if frame.alive:
            ends.append(frame.state)
    _meet(frame, ends)
    if frame.alive:
        frame.run(node.finalbody)
    elif node.finalbody and len(frame.returns) > returns:
        _meet(frame, [end.copy() for _, end in frame.returns[returns:]])
        frame.run(node.finalbody)
        frame.alive = False


if sys.version_info >= (3, 11):
    statement(ast.TryStar)(_try)


def _caught(handler: ast.ExceptHandler) -> Iterator[str]:
    """Yield the names of the exceptions that a handler catches."""
    match handler.type:
        case None:
            yield "BaseException"
        case ast.Tuple(elts=kinds):
            yield from map(last_word, kinds)
        case kind:
            yield last_word(kind)


_ANY: Final = frozenset(("Exception", "BaseException"))
_FAILING: Final = frozenset(
    "RuntimeError IndexError ValueError TypeError AssertionError EinopsError ShapeError".split()
)
"""What torch, einops and the user's own checks raise for a wrong shape."""


@statement(ast.Match)
def _match(frame: Frame, node: ast.Match) -> None:
    under_unknown_condition = frame.state.facts.under_unknown_condition
    subject = node.subject
    frame.eval(subject)
    ends: list[State] = []
    for case in node.cases:
        yes, no = match_patterns.split(frame, case.pattern, frame.eval(subject), subject)
        frame.resume(yes)
        if yes is not None and case.guard is not None:
            holds, fails = split(frame, case.guard)
            frame.resume(holds)
            if fails is not None:
                no = fails if no is None else frame.joined(no, fails)
        is_open = frame.alive and no is not None
        with frame.doubting(is_open):
            if _runs(frame, case.guard or subject, case.body, is_open):
                ends.append(frame.state)
        frame.resume(no)
        if no is None:
            break
    else:
        ends.append(frame.state)
    _meet(frame, ends)
    if len(ends) > 1:
        frame.state.facts.under_unknown_condition = under_unknown_condition


def define(frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Function:
    """Return the function that a definition inside of another function, or a script, makes."""
    defaults = tuple(frame.eval(default) for default in default_nodes(node.args))
    return Function(node, frame.module, None, frame, defaults)


def _is_looked_into(frame: Frame) -> bool:
    """Whether what a body defines is checked, or studied, after it."""
    return not frame.quiet or (frame.depth == 0 and frame.module.program.supposing)


@statement(ast.FunctionDef)
@statement(ast.AsyncFunctionDef)
def _function(frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    made = define(frame, node)
    if _is_looked_into(frame):
        frame.nested.append((made, frame.fork()))
    frame.assign(node.name, decorators.decorated(made, frame), node.lineno)
    if not decorators.are_followed(frame, node):
        escaping.let_go(frame, [made])


@statement(ast.ClassDef)
def _class(frame: Frame, node: ast.ClassDef) -> None:
    made = Class(node, frame.module, frame)
    if _is_looked_into(frame):
        frame.nested.append((made, frame.fork()))
    frame.assign(node.name, made, node.lineno)


@statement(ast.ImportFrom)
def _import_from(frame: Frame, node: ast.ImportFrom) -> None:
    for alias in node.names:
        value = frame.program.member(frame.module.absolute(node), alias.name)
        frame.assign(alias.asname or alias.name, value, node.lineno)


@statement(ast.Import)
def _import(frame: Frame, node: ast.Import) -> None:
    program = frame.program
    for alias in node.names:
        if alias.asname:
            frame.assign(alias.asname, program.package(alias.name), node.lineno)
        else:
            top = alias.name.partition(".")[0]
            frame.assign(top, program.package(top), node.lineno)


@statement(ast.Delete)
def _delete(frame: Frame, node: ast.Delete) -> None:
    for target in node.targets:
        match target:
            case ast.Name(id=name):
                frame.state.vars.pop(name, None)
            case ast.Subscript():
                delete_item(frame, target)


@statement(ast.Global)
def _global(frame: Frame, node: ast.Global) -> None:
    assigning = frame.module.survey.reassigned
    for name in node.names:
        if assigning[name]:
            if assigning[name] > 1:
                frame.share((name,), (name,))
            frame.assign(name, UNKNOWN, node.lineno)


@statement(ast.Nonlocal)
def _nonlocal(frame: Frame, node: ast.Nonlocal) -> None:
    for name in node.names:
        frame.assign(name, frame.lookup(name), node.lineno)
        frame.outer_names.add(name)
