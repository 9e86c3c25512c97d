"""Calls of functions of analysed source: arguments, annotations, and what a call gives."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.annotations.classes import members
from shapecheck.analysis.annotations.declarations import Declaration, Parameter, declaration, speaks
from shapecheck.analysis.interpreter import (
    effects,
    escaping,
    first_class,
    fitting,
    instance_dims,
    overrides,
    strict,
)
from shapecheck.analysis.interpreter.body import default
from shapecheck.analysis.interpreter.braces import sizes_over
from shapecheck.analysis.interpreter.dict_contents import entries
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.generators import entered
from shapecheck.analysis.interpreter.inlining import look_into
from shapecheck.analysis.interpreter.registry import STANDS, Stand, is_unseen
from shapecheck.analysis.interpreter.result_names import is_outside_of_calls
from shapecheck.analysis.interpreter.truth import is_constant
from shapecheck.analysis.program.declared import (
    AnyDecl,
    CallableDecl,
    ClassDecl,
    Declared,
    FieldsDecl,
    ListDecl,
    NoneDecl,
    ScalarDecl,
    TupleDecl,
    alternatives,
)
from shapecheck.analysis.program.model import NOTHING, Class, Function, Value
from shapecheck.analysis.program.reading import body_of
from shapecheck.analysis.program.syntax import is_def, names_in
from shapecheck.analysis.values.model import Argument, Bound, DictContent
from shapecheck.blame import Blame
from shapecheck.dims import Kind, Size, Sym, symbol_of
from shapecheck.explain import with_origins
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.shapes import Matcher, Run, Shape, Tensor, is_chosen, is_vague, runs_in

_MAX_CLOSER: Final = 2
"""As deep as this, functions are looked into whose annotation leaves open what they return."""


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
        elif param.kind in ("double-star", "options"):
            rest: dict[Value, Value] = {key: argument.value for key, argument in named.items()}
            made = frame.state.new(DictContent(rest))
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


def _settled(says: Declaration, bound: Mapping[str, Argument]) -> dict[str, Value]:
    """Return what parameters get: nothing is known where two annotations contradict each other.

    That is where something annotated as an `int` goes to what is annotated as several of them: it
    runs with the one or the other.
    """
    values = {name: argument.value for name, argument in bound.items()}
    for param in says.params:
        value = values.get(param.name)
        if type(value) is Size and is_chosen(value) and _is_several(param.declared):
            values[param.name] = UNKNOWN
    return values


def _is_several(declared: Declared) -> bool:
    return all(isinstance(one, (ListDecl, TupleDecl, NoneDecl)) for one in alternatives(declared))


def assigned(frame: Frame, owner: Class, statement: ast.stmt) -> Value:
    """Return what a statement of a class' body assigns; of what begins empty, others fill it."""
    match statement:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            made = default(frame, owner.module, value, _above(frame, owner, statement, value))
            content = frame.state.container_of(made)
            if content is not None and not content.items:
                frame.state.put(made, None)
            return made
    return UNKNOWN


def _above(frame: Frame, owner: Class, statement: ast.stmt, value: ast.expr) -> dict[str, Value]:
    """Return what an expression in a class' body finds there, assigned or defined above it."""
    inside = members(owner)
    above = {
        name: inside[name]
        for name in names_in(value)
        if name in inside and inside[name].lineno < statement.lineno
    }
    found: dict[str, Value] = {}
    for name, one in above.items():
        if not is_def(one):
            found[name] = assigned(frame, owner, one)
        elif not one.decorator_list:
            found[name] = Function(one, owner.module, owner, owner.home)
    return found


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
        plain = function.managing(False)
        return entered(frame, function, invoke(frame, plain, args, kwargs, node, label))
    bound = bind(frame, function, args, kwargs)
    if bound is None:
        return UNKNOWN
    if frame.observer is not None:
        frame.observer.called(frame, function, bound)
    standing = STANDS.get(function.module.name)
    if standing is not None:
        found = _stood_for(frame, standing, function, bound, node)
        if found is not NOTHING:
            return found
    if is_unseen(function.module.name, function.module.source.path, function.name):
        return UNKNOWN
    says = declaration(function)
    evaluate = sizes_over(frame, function.module, bound, function)
    matcher = Matcher(frame.state.facts, evaluate)
    matcher.beside = ()
    instance = next(iter(bound.values())).value if function.owner is not None and bound else None
    instance_dims.bind(frame, function, instance, matcher)
    if says.shaped and not _arguments_fit(frame, says, bound, matcher, node, label):
        return UNKNOWN
    instance_dims.hold(frame, function, instance, matcher)
    _functions_fit(frame, says, bound, matcher, node, label)
    values = _settled(says, bound)
    for name in sorted(effects.set_on_unknown(function, values)):
        escaping.set_somewhere(frame, UNKNOWN, name)
    for layer in effects.layers_set(function, values):
        escaping.lose_layer(frame.state, layer)
    calling = is_outside_of_calls(frame)
    if speaks(says.result):
        matcher.facts = frame.state.facts
        given_names = replace(matcher, names=dict(matcher.names), runs=dict(matcher.runs))
        promised = fitting.declare(frame, says.result, label, matcher, None, calling=calling)
        promised = first_class.through(frame, [*values.values()], promised)
        return _closer(frame, function, promised, values, node, given_names)
    inside: Value = UNKNOWN
    if not _is_left_to_subclasses(function):
        inside = look_into(frame, function, values, node, matcher)
    _hold_asserted(frame, function, bound)
    abstract = inside is None and not says.result.may_be_none
    if (inside is UNKNOWN or abstract) and not isinstance(says.result, AnyDecl):
        given = [(param.declared, values[param.name]) for param in says.params]
        promised = fitting.given_back(frame, says.result, given, label, matcher, calling)
        return first_class.through(frame, [*values.values()], promised)
    return inside


def _is_left_to_subclasses(function: Function) -> bool:
    """Whether a method has no body but a docstring, `pass` or `...`: what gives something else."""
    if function.owner is None or not is_def(function.node) or function.name == "__init__":
        return False
    return function.module.syntax.does_nothing(function.node)


def _stood_for(
    frame: Frame,
    standing: Mapping[str, Stand],
    function: Function,
    bound: Mapping[str, Argument],
    node: ast.expr,
) -> Value:
    """Return what is registered of a function of a library, `NOTHING` where nothing is."""
    owner = "" if function.owner is None else f"{function.owner.name}."
    handler = standing.get(f"{owner}{function.name}")
    if handler is None:
        return NOTHING
    try:
        return handler(frame, {name: one.value for name, one in bound.items()}, node)
    except KeyError:  # in another version of the library it has other parameters
        return NOTHING


def _hold_asserted(frame: Frame, function: Function, bound: Mapping[str, Argument]) -> None:
    """Run conditions that a function is given, and asserts, as they would run as an `assert`."""
    given = {name: one.node for name, one in bound.items() if isinstance(one.node, ast.Compare)}
    for statement in body_of(function.node) if given and is_def(function.node) else ():
        match statement:
            case ast.Assert(test=ast.Name(id=name)) if name in given:
                test = given[name]
                frame.run([ast.copy_location(ast.Assert(test), test)])


def _closer(
    frame: Frame,
    function: Function,
    promised: Value,
    values: Mapping[str, Value],
    node: ast.expr,
    matcher: Matcher,
) -> Value:
    """Return what a result's annotation says, with what a look into the function adds to it."""
    # decisions.md, "An annotated function is looked into where a call is particular"
    particular = _is_particular(frame, values.values()) or _says_less(function, values)
    if frame.budget.spare is not None and particular:
        errors = frame.errors
        supposed = _supposed(frame, function, values, matcher)
        if supposed is values:
            found = look_into(frame, function, values, node, matcher, apart=True)
        else:
            found = frame.hush(look_into, function, supposed, node, matcher, True)
        frame.errors = errors  # what goes wrong in there leaves the annotation to go on with
        return _with_found(frame, promised, found)
    if effects.changes_around(frame, function, values):
        _take_effect(frame, function, values, node, matcher)
    # decisions.md, "A function is looked into where its annotation leaves the rank of its result
    # open"
    apart = not _has_unknown(promised, Run)
    if apart and (frame.budget.spare is None or not _has_unknown(promised, Size)):
        return promised
    if frame.depth >= _MAX_CLOSER:
        frame.program.memory.limited()
        return promised
    outer = frame.fork()
    supposed = _supposed(frame, function, values, matcher)
    found = frame.hush(look_into, function, supposed, node, matcher, apart)
    if apart:
        found = _resolved(frame, found)
        if found is not UNKNOWN:
            outer.facts = frame.state.facts
        frame.state = outer
        return _with_found(frame, promised, found)
    closer = _with_found(frame, promised, found)
    frame.state = outer
    return closer


def _supposed(
    frame: Frame, function: Function, values: Mapping[str, Value], matcher: Matcher
) -> Mapping[str, Value]:
    """Return arguments with what is declared in the place of those of which nothing is known."""
    unknown = {
        param.name: fitting.declare(frame, param.declared, param.name, matcher, None)
        for param in declaration(function).params
        if values[param.name] is UNKNOWN and speaks(param.declared)
    }
    return {**values, **unknown} if unknown else values


def _take_effect(
    frame: Frame,
    function: Function,
    values: Mapping[str, Value],
    node: ast.expr,
    matcher: Matcher,
) -> None:
    """Have a call change what it changes; its annotation alone tells what it needs and gives."""
    # decisions.md, "What an annotated function changes is followed"
    facts, own = frame.state.facts.copy(), replace(matcher, names=dict(matcher.names))
    if frame.hush(look_into, function, values, node, own, True) is UNKNOWN:
        receiver = next(iter(values.values())) if function.owner is not None and values else None
        bound = Bound(receiver, function.name, function)
        escaping.let_go(frame, [function if receiver is None else bound, *values.values()])
    frame.state.facts = facts


def _has_unknown(value: Value, kind: type[Run | Size]) -> bool:
    """Whether a result's annotation leaves something open of a tensor.

    That is how many axes it has (`Run`), or how long one is that no parameter names (`Size`).
    """
    match value:
        case tuple():
            return any(_has_unknown(item, kind) for item in value)
        case Tensor(shape=shape):
            return any(_is_open(item.symbol) for item in only(shape.dims, kind))
    return False


def _is_open(symbol: Sym | None) -> bool:
    return symbol is not None and symbol.kind is Kind.UNKNOWN


def _resolved(frame: Frame, value: Value) -> Value:
    """Return tensors with all that is known here of their sizes put in."""
    match value:
        case tuple():
            return tuple(_resolved(frame, item) for item in value)
        case Tensor(shape=shape):
            return value.with_shape(Shape(frame.state.facts.items(shape.dims)))
    return value


def _with_found(frame: Frame, promised: Value, found: Value) -> Value:
    """Return what an annotation promises, with what was found in the function added to it."""
    match promised, found:
        case tuple(), tuple() if len(promised) == len(found):
            return tuple(_with_found(frame, p, f) for p, f in zip(promised, found, strict=True))
        case Tensor(), Tensor():
            return _found_closer(frame, promised, found)
    return promised


def _found_closer(frame: Frame, promised: Tensor, found: Tensor) -> Tensor:
    said = frame.state.facts.shape(promised.shape)
    shape = Shape(frame.state.facts.items(found.shape.dims))
    if said.rank is not None and said.rank == shape.rank:
        _count(frame, said, shape)
        return promised
    if said.rank is not None or is_vague(shape.dims) or shape.least_rank < said.least_rank:
        return promised
    _call_as_promised(said, shape)
    dtype = promised.dtype & found.dtype or promised.dtype
    return replace(promised, shape=shape, dtype=dtype)


def _count(frame: Frame, said: Shape, found: Shape) -> None:
    """Learn which numbers, sizes of instances and names of the caller a result has names for.

    What is made of the caller's names stays new: the caller may have that under its name too.
    """
    # decisions.md, "Of a name that only a result has, the caller learns numbers and sizes of
    # instances"
    for name, dim in zip(said.known or (), found.known or (), strict=True):
        if dims.is_name(dim) or all(symbol.kind is Kind.OWN for symbol in dims.symbols(dim)):
            frame.state.facts.unify(name, dim)


def _call_as_promised(said: Shape, found: Shape) -> None:
    """Give unknown dimensions of a result the names that its annotation has for them.

    Which of them two runs have, and what is between these, isn't known.
    """
    runs = runs_in(said.dims)
    (first, run), (last, _) = runs[0], runs[-1]
    inner = len(found.dims) - (len(said.dims) - 1 - last + first)
    labels: list[str] = [*map(str, said.dims[:first])]
    labels += _labels(run, inner) if len(runs) == 1 else ["_"] * inner
    labels += map(str, said.dims[last + 1 :])
    for symbol, label in zip(map(symbol_of, found.dims), labels, strict=True):
        if symbol is not None:
            symbol.label(label)


def _labels(run: Run, count: int) -> list[str]:
    """Return names for the dimensions that a run of an annotation turned out to be."""
    name = run.symbol.name.removeprefix("#")
    if name in ("...", ""):
        return ["_"] * count
    return [name] if count == 1 else [f"{name}[{axis}]" for axis in range(count)]


def _says_less(function: Function, values: Mapping[str, Value]) -> bool:
    """Whether tensors are given to parameters of which no shape is declared, though they may be."""
    return any(
        isinstance(values[one.name], Tensor)
        and not isinstance(one.declared, ScalarDecl)
        and not speaks(one.declared)
        for one in declaration(function).params
    )


def _is_particular(frame: Frame, values: Collection[Value]) -> bool:
    """Whether arguments say more than annotations do: they have sizes that are numbers."""
    return all(map(is_constant, values)) or any(_has_numbers(frame, value) for value in values)


def _has_numbers(frame: Frame, value: Value) -> bool:
    """Whether an argument is a tensor with a size that is a number, or an instance made here."""
    match value:
        case Tensor(shape=shape):
            return bool(only(frame.state.facts.items(shape.dims), int))
    made = frame.state.instance_of(value)
    return made is not None and made.path is None


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
        overrides.check_arguments(frame, says, bound, matcher, node, label)


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
            each = _option(declared, name) if param.kind == "options" else declared
            found = fitting.check(frame, each, one.value, matcher)
            if found[0] is None:
                continue
            frame.state.facts.atoms, frame.state.facts.runs = before.atoms, before.runs
            text = None if one.node is None else frame.segment(one.node)
            subject = f'argument "{name}" of "{label}"'
            subject, text = fitting.spoken(frame, one.value, subject, text)
            of_rank = found[0].of_rank or _has_more_axes(frame, found)
            blame = Blame("unfit", "parameter", label, name, of_rank=of_rank)
            message = fitting.message(frame, subject, found, matcher, text, blame)
            frame.error(one.node or node, with_origins(message, found[0], matcher, origin))
            return False
        for name in (*matcher.names, *matcher.runs):
            if name not in known:
                origin.setdefault(name, param.name)
    blame = Blame(part="parameter", function=label)
    strict.report(frame, node, f'"{label}"', before.atoms, blame)
    return True


def _has_more_axes(frame: Frame, found: fitting.Found) -> bool:
    """Whether a tensor has more axes than its annotation leaves room for."""
    _, tensor, declared = found
    if tensor is None or declared is None or declared.text is None or declared.text.groups:
        return False
    return frame.state.facts.shape(tensor.shape).least_rank > len(declared.text.entries)


def _option(declared: Declared, name: str) -> Declared:
    fields = dict(declared.fields) if isinstance(declared, FieldsDecl) else {}
    return fields.get(name, AnyDecl())


def _parts(frame: Frame, param: Parameter, argument: Argument) -> list[tuple[str, Argument]]:
    """Return the arguments that a parameter takes, with what they are called."""
    if param.kind == "star":
        return [(param.name, one) for one in argument.parts]
    if param.kind in ("double-star", "options"):
        content = frame.state.dict_of(argument.value)
        names = entries(content) if content is not None else ()
        return list(zip(map(str, names), argument.parts, strict=False))
    return [(param.name, argument)]
