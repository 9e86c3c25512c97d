"""Functions of analysed source: their parameters, the check of their bodies, looking into them."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from shapecheck.analysis import boundary, instance_names, strict
from shapecheck.analysis.annotations import (
    AnyDecl,
    CallableDecl,
    ClassDecl,
    Declared,
    ListDecl,
    NoneDecl,
    TupleDecl,
    UnionDecl,
    reader,
    texts,
)
from shapecheck.analysis.faults import Fault, Step, given
from shapecheck.analysis.frame import MAX_DEPTH, MAX_RECURSION, Budget, BudgetExceeded, Frame
from shapecheck.analysis.generators import entered, is_generator, outcome
from shapecheck.analysis.heap import Renewing, View, encloses, inside, unknowns, view
from shapecheck.analysis.mappings import entries
from shapecheck.analysis.memory import MISSING
from shapecheck.analysis.modules import Module
from shapecheck.analysis.state import State
from shapecheck.analysis.values import (
    NOTHING,
    Argument,
    Content,
    Dict,
    Dotted,
    Function,
    Object,
    Ref,
    is_one,
    names_in,
    with_default,
)
from shapecheck.analysis.values import Sequence as ListContent
from shapecheck.analysis.verdicts import CONSTANTS
from shapecheck.dims import IntSize
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, Value
from shapecheck.ops.call import as_size
from shapecheck.shapes import Facts, Item, Matcher, Misfit, Shape, Tensor

_MAX_CLOSER: Final = 2
"""As deep as this, functions are looked into whose annotation leaves open what they return."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function: its annotation and default, and how arguments reach it."""

    name: str
    declared: Declared
    default: ast.expr | None
    kind: str
    """`positional`, `keyword`, `star` or `double-star`."""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a function's `def` says."""

    params: tuple[Parameter, ...]
    result: Declared

    @property
    def shaped(self) -> bool:
        """Whether any parameter or the result declares a shape."""
        return any(map(speaks, (*(p.declared for p in self.params), self.result)))


def speaks(declared: Declared) -> bool:
    """Whether a declaration says anything about a shape."""
    return any(True for _ in texts(declared))


def speaks_of_calls(declared: CallableDecl) -> bool:
    """Whether a `Callable` says anything about the shapes that it takes or returns."""
    return any(map(speaks, (*(declared.params or ()), declared.result)))


def declaration(function: Function) -> Declaration:
    """Return what a function's `def` says; read once."""
    memory = function.module.program.memory
    nothing = Declaration((), AnyDecl())
    return memory.recall(("declaration", function.node), lambda: _read(function), nothing)


def _read(function: Function) -> Declaration:
    arguments = function.node.args
    read = reader(function.module).read
    params: list[Parameter] = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    for argument, default in zip(positional, [*defaults, *arguments.defaults], strict=True):
        params.append(
            Parameter(
                argument.arg, read(argument.annotation), default, "positional", argument.lineno
            )
        )
    if (star := arguments.vararg) is not None:
        params.append(Parameter(star.arg, read(star.annotation), None, "star", star.lineno))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        params.append(
            Parameter(argument.arg, read(argument.annotation), default, "keyword", argument.lineno)
        )
    if (double := arguments.kwarg) is not None:
        params.append(
            Parameter(double.arg, read(double.annotation), None, "double-star", double.lineno)
        )
    returns = getattr(function.node, "returns", None)
    return Declaration(tuple(params), read(returns))


def own_names(function: Function) -> set[str]:
    """Return the dimension names in a function's annotations."""
    says = declaration(function)
    declared = (*(param.declared for param in says.params), says.result)
    return {name for one in declared for text in texts(one) for name in text.names()}


def bind(
    frame: Frame,
    function: Function,
    args: Sequence[Argument],
    kwargs: Mapping[str, Argument],
) -> dict[str, Argument] | None:
    """Bind arguments to parameters as Python does; None where they don't fit (mypy says so)."""
    bound: dict[str, Argument] = {}
    given = list(args)
    named = dict(kwargs)
    for param in declaration(function).params:
        if param.kind == "star":
            bound[param.name] = Argument(tuple(arg.value for arg in given), None, tuple(given))
            given = []
        elif param.kind == "double-star":
            rest = {key: argument.value for key, argument in named.items()}
            made = frame.state.new(Dict(rest))
            bound[param.name] = Argument(made, None, tuple(named.values()))
            named = {}
        elif given and param.kind == "positional":
            bound[param.name] = given.pop(0)
        elif param.name in named:
            bound[param.name] = named.pop(param.name)
        elif param.default is not None:
            kept = function.default(param.default)
            value = default(frame, function.module, param.default) if kept is NOTHING else kept
            bound[param.name] = Argument(value)
        else:
            return None
    return None if given or named else bound


def default(frame: Frame, module: Module, node: ast.expr) -> Value:
    """Return the value of a parameter's default."""
    if isinstance(node, ast.Constant):
        return node.value
    inner = Frame(module, frame.state, quiet=True, depth=frame.depth + 1, budget=frame.budget)
    outer = frame.state.vars
    frame.state.vars = {}
    try:
        return inner.eval(node)
    finally:
        frame.state.vars = outer


def invoke(
    frame: Frame,
    function: Function,
    args: Sequence[Argument],
    kwargs: Mapping[str, Argument],
    node: ast.expr,
    label: str,
) -> Value:
    """Call a function: fit the arguments to its annotations, or look into its body."""
    if function.manages:
        plain = replace(function, manages=False)
        return entered(frame, function, invoke(frame, plain, args, kwargs, node, label))
    bound = bind(frame, function, args, kwargs)
    if bound is None:
        return UNKNOWN
    says = declaration(function)
    matcher = Matcher(frame.state.facts, _evaluator(frame, function, bound))
    matcher.beside = ()
    instance = next(iter(bound.values())).value if function.owner is not None and bound else None
    instance_names.bind(frame, function, instance, matcher)
    if says.shaped and not _arguments_fit(frame, says, bound, matcher, node, label):
        return UNKNOWN
    instance_names.hold(frame, function, instance, matcher)
    _functions_fit(frame, says, bound, matcher, node, label)
    values = {name: argument.value for name, argument in bound.items()}
    if speaks(says.result):
        matcher.facts = frame.state.facts
        given_names = replace(matcher, names=dict(matcher.names), runs=dict(matcher.runs))
        promised = boundary.declare(frame, says.result, label, matcher, None)
        return _closer(frame, function, promised, values, node, given_names)
    inside = look_into(frame, function, values, node, matcher)
    abstract = inside is None and not _may_be_none(says.result)
    if (inside is UNKNOWN or abstract) and not isinstance(says.result, AnyDecl):
        return boundary.declare(frame, says.result, label, matcher, None)
    return inside


def _closer(
    frame: Frame,
    function: Function,
    promised: Value,
    values: Mapping[str, Value],
    node: ast.expr,
    matcher: Matcher,
) -> Value:
    """Return what a result's annotation says, with what a look into the function adds to it."""
    if _is_particular(frame, values.values()):
        errors = frame.errors
        found = look_into(frame, function, values, node, matcher, apart=True)
        frame.errors = errors  # what goes wrong in there leaves the annotation to go on with
        return boundary.closer(frame, promised, found)
    if not boundary.leaves_open(promised) or frame.depth >= _MAX_CLOSER:
        return promised
    outer = frame.fork()
    found = frame.hush(look_into, function, values, node, matcher)
    closer = boundary.closer(frame, promised, found)
    frame.state = outer
    return closer


def _is_particular(frame: Frame, values: Collection[Value]) -> bool:
    """Whether arguments say more than annotations do: they have sizes that are numbers."""
    return all(isinstance(value, CONSTANTS) for value in values) or any(
        any(isinstance(item, int) for item in frame.state.facts.items(value.shape.dims))
        if isinstance(value, Tensor)
        else isinstance(made := frame.state.content(value), Object) and made.path is None
        for value in values
    )


def _may_be_none(declared: Declared) -> bool:
    if isinstance(declared, UnionDecl):
        return any(map(_may_be_none, declared.options))
    return isinstance(declared, (AnyDecl, NoneDecl))


def _functions_fit(
    frame: Frame,
    says: Declaration,
    bound: Mapping[str, Argument],
    matcher: Matcher,
    node: ast.expr,
    label: str,
) -> None:
    """Check the functions among the arguments, where any is declared."""
    if any(isinstance(param.declared, (CallableDecl, ClassDecl)) for param in says.params):
        from shapecheck.analysis.conformity import check_arguments

        check_arguments(frame, says, bound, matcher, node, label)


def call_value(frame: Frame, function: Value, args: Sequence[Value]) -> Value:
    """Return what a function that was handed over gives."""
    from shapecheck.analysis.calls import Arguments, invoke

    node = ast.Call(ast.Name("callback", ast.Load()), [], [])
    return invoke(frame, function, Arguments(tuple(map(Argument, args)), {}), node, "callback")


def _arguments_fit(
    frame: Frame,
    says: Declaration,
    bound: Mapping[str, Argument],
    matcher: Matcher,
    node: ast.expr,
    label: str,
) -> bool:
    before = frame.state.facts.copy()
    origin: dict[str, str] = {}
    known = {*matcher.names}
    for param in says.params:
        declared, argument = param.declared, bound[param.name]
        if not speaks(declared):
            continue
        for name, one in _parts(frame, param, argument):
            found = boundary.check(frame, declared, one.value, matcher)
            if found[0] is None:
                continue
            frame.state.facts.atoms, frame.state.facts.runs = before.atoms, before.runs
            text = None if one.node is None else frame.segment(one.node)
            subject = f'argument "{name}" of "{label}"'
            message = boundary.message(frame, subject, found, matcher, text, one.value)
            frame.error(one.node or node, _with_origins(message, found[0], matcher, origin))
            return False
        for name in {*matcher.names, *matcher.runs} - known:
            origin.setdefault(name, param.name)
    strict.report(frame, node, f'"{label}"', before.atoms)
    return True


def _parts(frame: Frame, param: Parameter, argument: Argument) -> list[tuple[str, Argument]]:
    """Return the arguments that a parameter takes, with what they are called."""
    if param.kind == "star":
        return [(param.name, one) for one in argument.parts]
    if param.kind == "double-star":
        content = frame.state.content(argument.value)
        names = entries(content) if isinstance(content, Dict) else ()
        return list(zip(map(str, names), argument.parts, strict=False))
    return [(param.name, argument)]


def _with_origins(
    message: Message, misfit: Misfit, matcher: Matcher, origin: Mapping[str, str]
) -> Message:
    """Add where the names got their values that a misfit is about."""
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


def _evaluator(
    frame: Frame, function: Function, bound: Mapping[str, Argument]
) -> Callable[[str], IntSize | None]:
    def evaluate(source: str) -> IntSize | None:
        inner = Frame(
            function.module,
            State({n: a.value for n, a in bound.items()}, {}, frame.state.heap, frame.state.facts),
            function=function,
            quiet=True,
            depth=frame.depth + 1,
            budget=frame.budget,
        )
        return size_in(inner, source)

    return evaluate


@lru_cache(maxsize=1024)
def parse_expression(source: str) -> ast.expr:
    """Parse the Python expression of a `{...}`; annotations hold no malformed ones."""
    return ast.parse(source, mode="eval").body


def size_in(frame: Frame, source: str) -> IntSize | None:
    """Return the value of a `{...}` expression in a frame, None where it isn't a known size."""
    value = frame.eval(parse_expression(source))
    if isinstance(value, bool) or value is UNKNOWN:
        return None
    found = as_size(value)
    return found if found is value else None


def look_into(
    frame: Frame,
    function: Function,
    values: Mapping[str, Value],
    node: ast.AST,
    matcher: Matcher | None = None,
    apart: bool = False,
) -> Value:
    """Run a function's body on values for its result; bounded in depth.

    What certainly goes wrong in it is the caller's to report: where no condition has been met that
    the analysis couldn't decide, and without supposing that two sizes of the program's own differ.
    A body gets half of the steps that its caller has left, or (`apart`) has left for what an
    annotation tells without them. What a call gives is remembered for all
    calls that see the same.
    """
    memory, outer = frame.program.memory, frame.state
    budget = (frame.budget.spare if apart else None) or frame.budget
    if frame.depth >= MAX_DEPTH or budget.active.count(function.node) >= MAX_RECURSION:
        memory.limited()
        return UNKNOWN
    seen = None if function.home is not None else view(values, outer.heap, outer.facts)
    question = None if seen is None else ("call", function.node, seen.key)
    known: Any = MISSING if question is None else memory.find(question)
    allowed = budget.left // 2
    outcome: Outcome | None
    if seen is None:
        outcome = _run(frame, function, values, matcher, Budget(allowed, charged=budget.charged))
    elif known is not MISSING and (question in budget.charged or known.needs <= allowed):
        outcome = known.at(seen)
    elif memory.is_open(question):
        return UNKNOWN
    else:
        with memory.answering(question) as keep:
            outcome = _run(frame, function, values, matcher, Budget(allowed), seen)
            if outcome is not None and outcome.lasts:
                keep(outcome)
                outcome = outcome.at(seen)
    if outcome is None:
        budget.left -= allowed
        memory.limited()
        return _given_up(frame, function, values)
    if question not in budget.charged:
        budget.charge(outcome.steps, outcome.needs)
        if outcome.lasts:
            budget.charged.add(question)
    frame.state.facts = outcome.facts or outer.facts
    frame.state.heap.update(outcome.changes)
    if outcome.faults:
        step = Step(frame.module, node, frame.function, given(values))
        frame.fault(outcome.faults[0].through(step))
        return UNKNOWN
    return outcome.value


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call gives: its result, what it changes on the heap, and what goes wrong in it.

    `refs` are the things on the heap that the call saw. `facts` are those at the end where the
    call has taught something. `steps` is what it took, `needs` the least number of steps with which
    all in it can be run to its end. It `lasts` if it is what any call gives that sees the same, but
    for the unknowns that come into being with the call, if there are any `new` ones.
    """

    value: Value
    changes: dict[Ref, Content]
    faults: tuple[Fault, ...]
    refs: tuple[Ref, ...]
    facts: Facts | None
    steps: int
    needs: int
    lasts: bool
    new: bool

    def at(self, seen: View) -> Outcome:
        """Return what a call gives that sees this, which is like what was seen."""
        places = dict(zip(self.refs, seen.refs, strict=True))
        for ref in self.changes:
            if ref not in places:
                places[ref] = Ref()
        if not self.new and all(one is other for one, other in places.items()):
            return self
        moving = Renewing(places, seen.symbols.__contains__)
        changes = {places[ref]: moving.content(held) for ref, held in self.changes.items()}
        return replace(self, value=moving.value(self.value), changes=changes)


def _run(
    frame: Frame,
    function: Function,
    values: Mapping[str, Value],
    matcher: Matcher | None,
    budget: Budget,
    seen: View | None = None,
) -> Outcome | None:
    """Run a body on values, with what was seen of the heap; None where it takes too many steps."""
    outer = frame.state
    refs = () if seen is None else seen.refs
    heap = dict(outer.heap) if seen is None else {r: outer.content(r) for r in refs}
    before, allowed = outer.facts.copy(), budget.left
    start = State(dict(values), {}, dict(heap), outer.facts.copy())
    inner = Frame(
        function.module, start, function=function, faults=[], depth=frame.depth + 1, budget=budget
    )
    inner.state.facts.guarded = True
    if matcher is not None:
        inner.matcher.names.update(matcher.names)
        inner.matcher.runs.update(matcher.runs)
        _promise(inner, function)
    budget.active = active = frame.budget.active
    active.append(function.node)
    try:
        value, end = _outcome(inner, function)
    except BudgetExceeded:
        return None
    finally:
        active.pop()
    _write_back(inner, end)
    end.facts.guarded = before.guarded
    kept = end.kept(value, State(heap=heap))
    changes = {r: c for r, c in kept.items() if r not in heap or heap[r] is not c}
    faults = () if inner.faults is None else tuple(inner.faults[:1])
    facts = None if end.facts == before else end.facts
    steps = allowed - max(budget.left, 0)
    needs = max(steps, budget.needs)
    found = [value, *(held for content in changes.values() for held in inside(content))]
    made = (c for r, c in changes.items() if r not in heap and isinstance(c, Object))
    lasts = seen is not None and facts is None and not any(map(encloses, found))
    lasts = lasts and not any(is_one(one.path) for one in made)
    new = seen is not None and not all(s in seen.symbols for v in found for s in unknowns(v))
    return Outcome(value, changes, faults, refs, facts, steps, needs, lasts, new)


def _given_up(frame: Frame, function: Function, values: Mapping[str, Value]) -> Value:
    """Return what is known after a call whose body takes too long: less than before it."""
    survey, heap = function.module.survey, frame.state.heap
    stored = survey.stores.get(function.node, set())
    touched = stored | survey.mentions.get(function.node, set())
    for value in values.values():
        content = frame.state.content(value)
        if isinstance(content, (ListContent, Dict)) or function.name == "__init__":
            frame.state.forget(value)
        elif isinstance(content, Object):
            for name in touched & content.attrs.keys():
                if isinstance(frame.state.content(content.attrs[name]), (ListContent, Dict)):
                    heap[content.attrs[name]] = None
            attrs = {name: held for name, held in content.attrs.items() if name not in stored}
            heap[value] = replace(content, attrs=attrs)
    return UNKNOWN


def _write_back(inner: Frame, end: State) -> None:
    """Give the variables that a function declares `nonlocal` to the function that has them."""
    home = None if inner.function is None else inner.function.home
    for name in inner.outer_names if isinstance(home, Frame) else ():
        if name in end.vars and isinstance(home, Frame):
            home.rebind(name, end.vars[name])


def _outcome(frame: Frame, function: Function) -> tuple[Value, State]:
    """Run a function's body; return its result and the state in which it ends."""
    if isinstance(function.node, ast.Lambda):
        return frame.eval(function.node.body), frame.state
    if is_generator(function):
        return outcome(frame, function.node.body)
    frame.run(function.node.body)
    ends = [*frame.returns, *([(None, frame.state)] if frame.alive else [])]
    if not ends:
        return UNKNOWN, frame.state
    value, end = ends[0]
    for other, its_end in ends[1:]:
        end.vars["\0"], its_end.vars["\0"] = value, other
        end = frame.joined(end, its_end)
        value = end.vars.pop("\0")
    return value, end


def check_braces(frame: Frame, function: Function) -> None:
    """Report names in the `{...}` of a signature that nothing in the program has."""
    arguments = function.node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    known = {arg.arg for arg in every}
    returns = getattr(function.node, "returns", None)
    for node in [arg.annotation for arg in every] + [returns]:
        for text in texts(reader(function.module).read(node)) if node is not None else ():
            for source in re.findall(r"\{([^{}]*)\}", str(text)):
                for name in sorted(names_in(parse_expression(source)) - known):
                    if frame.lookup(name) == Dotted(f"builtins.{name}") and not hasattr(
                        builtins, name
                    ):
                        reason = f'nothing is called "{name}" where "{{{source}}}" is evaluated'
                        frame.error(node, Message(f'in "{text}": {reason}', "shape-annotation"))


def check_body(
    function: Function,
    state: State,
    values: Mapping[str, Value],
    quiet: bool = False,
    runs: Mapping[str, tuple[Item, ...]] | None = None,
    bare: str = "",
) -> Frame:
    """Analyse a function's body on its own, with what its annotations say of the parameters.

    `runs` are the dimensions that groups of the annotations stand for, where they are given; in
    the annotation of the parameter `bare` they stand for none.
    """
    assert not isinstance(function.node, ast.Lambda)
    budget = Budget.of((function.node.end_lineno or 0) - function.node.lineno)
    frame = Frame(function.module, state, function=function, quiet=quiet, budget=budget)
    says = declaration(function)
    _promise(frame, function)
    matcher = frame.matcher
    for param in says.params:
        if param.name in values:
            frame.assign(param.name, values[param.name], param.line)
            instance_names.begin(frame, function, values[param.name], matcher)
    for param in sorted(says.params, key=lambda one: speaks(one.declared)):  # `{n}` needs n
        if param.name not in values:
            matcher.runs.update(dict.fromkeys(runs or (), ()) if param.name == bare else runs or {})
            frame.assign(param.name, _start(frame, param, matcher), param.line)
    matcher.runs.update(runs or {})
    matcher.runs.pop("...", None)
    given = (frame.state.vars.get(param.name) for param in says.params)
    frame.state.facts.declared = tuple(one.shape for one in given if isinstance(one, Tensor))
    frame.run_all(function.node.body, f'"{function.name}"', told=says.shaped)
    return frame


def _promise(frame: Frame, function: Function) -> None:
    """Have what a body returns and yields fitted to its annotation."""
    result = declaration(function).result
    frame.matcher.evaluate = lambda source: size_in(frame, source)
    if is_generator(function):
        if isinstance(result, ListDecl) and speaks(result):
            item = result.element
            frame.check_yield = lambda node, value: _given_out(frame, item, node, value, "yielded")
    elif speaks(result):
        frame.check_return = lambda node, value: _given_out(frame, result, node, value, "returned")


def _start(frame: Frame, param: Parameter, matcher: Matcher) -> Value:
    """Return what a parameter is when the body begins."""
    declared = param.declared
    if param.kind == "double-star":
        element = boundary.declare(frame, declared, f"{param.name}[]", matcher)
        return frame.state.new(Dict(None, element))
    if param.kind == "star":
        element = boundary.declare(frame, declared, param.name, matcher)
        return frame.state.new(ListContent(None, element, "tuple"))
    value = boundary.declare(frame, declared, param.name, matcher)
    return with_default(value, param.name, param.default)


def _given_out(frame: Frame, declared: Declared, node: ast.expr, value: Value, verb: str) -> Value:
    """Fit a value that is returned or yielded to the result's annotation."""
    matcher = Matcher(frame.state.facts, frame.matcher.evaluate)
    matcher.names.update(frame.matcher.names)
    matcher.runs.update(frame.matcher.runs)
    parts: list[tuple[Declared, Value, ast.expr]] = [(declared, value, node)]
    if isinstance(declared, TupleDecl) and declared.items is not None and isinstance(value, tuple):
        if len(declared.items) == len(value):
            same = isinstance(node, ast.Tuple) and len(node.elts) == len(value)
            nodes = node.elts if same and isinstance(node, ast.Tuple) else [node] * len(value)
            parts = list(zip(declared.items, value, nodes, strict=True))
    before = frame.state.facts.atoms
    for part, item, where in parts:
        found = boundary.check(frame, part, item, matcher)
        if found[0] is not None:
            text = None if isinstance(where, ast.YieldFrom) else frame.segment(where)
            named = text is not None and len(text) <= 40
            subject = f'{verb} value "{text}"' if named else f"{verb} value"
            frame.error(where, boundary.message(frame, subject, found, matcher, text, item))
            return value
    strict.report(frame, node, f"the {verb} value", before)
    return value
