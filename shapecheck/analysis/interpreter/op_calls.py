"""Runs op rules on the values of the interpreter, and reports what they refuse."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes, explain
from shapecheck.analysis.host import SUSPECT
from shapecheck.analysis.interpreter import autocast, strict
from shapecheck.analysis.interpreter.axis_names import name_met
from shapecheck.analysis.interpreter.batches import fits_without
from shapecheck.analysis.interpreter.chosen_alike import learn_alike
from shapecheck.analysis.interpreter.dtype_evidence import mind_call
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Spelling, as_learned
from shapecheck.analysis.interpreter.layer_origin import where_made
from shapecheck.analysis.interpreter.lone_axes import leveled
from shapecheck.analysis.interpreter.neighbours import become_one, note
from shapecheck.analysis.interpreter.registry import SUSPICIONS, OpCall
from shapecheck.analysis.interpreter.result_names import are_called_twice, by_their_names
from shapecheck.analysis.interpreter.squares import learn_square
from shapecheck.analysis.interpreter.summaries import NOTHING_NEW, Lesson, View, view
from shapecheck.analysis.program.faults import Fault
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.syntax import elements, words_in
from shapecheck.analysis.relevance import is_installed
from shapecheck.analysis.values.heap import unknowns
from shapecheck.analysis.values.model import (
    Argument,
    Array,
    ByName,
    DictContent,
    ListContent,
    OneOf,
    OpInstance,
    array_of,
)
from shapecheck.analysis.values.parts import numbers_in
from shapecheck.dims import Kind, Size, Sym
from shapecheck.hints import Operand
from shapecheck.ops import UNKNOWN, DType, Repeated
from shapecheck.ops.call import only
from shapecheck.ops.math import ragged
from shapecheck.ops.outer_products import outer
from shapecheck.ops.shape.first_class import free_in, loosen
from shapecheck.shapes import CertainFacts, Facts, Mismatch, Problem, Shape, Tensor
from shapecheck.signatures import Signature


@dataclass(slots=True)
class Site:
    """Where an op is called: the node that errors stand at, the op as it is spelled, its operands.

    The operands are given as pairs of a role and an expression, or as a call's receiver, whose
    `role` is said, and arguments.
    """

    node: ast.expr | ast.stmt
    label: str
    pairs: tuple[tuple[str, ast.expr | None], ...] = ()
    args: Sequence[Argument] = ()
    receiver: ast.expr | None = None
    role: str = "tensor"

    @property
    def operands(self) -> tuple[tuple[str, ast.expr | None], ...]:
        """Each argument's role with its expression, in the order of the arguments."""
        if self.pairs:
            return self.pairs
        first = () if self.receiver is None else ((self.role, self.receiver),)
        return (*first, *(("argument", argument.node) for argument in self.args))


_PLAIN: Final = frozenset((Size, DType, int, bool, float, str, type(None)))


def plain(frame: Frame, value: Value, arrays: bool = False) -> Value:
    """Return a value as rules see it: lists from the heap spelled out, optional tensors certain.

    `arrays`: see `Spelling`.
    """
    if type(value) is Tensor:
        return as_learned(frame, value)
    return value if type(value) in _PLAIN else Spelling(frame, arrays).spell(value)


def apply(
    frame: Frame,
    signature: Signature,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    site: Site,
    layer: OpInstance | None = None,
) -> Value:
    """Return what a signature says of a call; an error is reported and gives UNKNOWN.

    `layer` is the instance whose method is called, if any.
    """
    if signature.of_arrays and signature.is_given_tensors(args, kwargs):
        return UNKNOWN
    by_name = signature.name.startswith(PREFIX)
    if by_name:
        args = _as_called(frame, signature, args, kwargs)
    given = [plain(frame, arg, signature.takes_arrays) for arg in args]
    named = {key: plain(frame, value, signature.takes_arrays) for key, value in kwargs.items()}
    facts = frame.state.facts
    before = facts.copy()
    instance = None if layer is None else with_parts(layer.attrs)
    values = (*given, *named.values(), layer)
    hidden = by_name or facts.told_apart  # a view hasn't what is known of names in a text
    seen = None if hidden else view(values, {}, facts, signature.name, len(given), *named)
    if not signature.of_arrays:
        mind_call(frame, signature, given, named, instance)
    results, asked = frame.program.memo.results, Facts.times_asked
    under: Hashable = None
    known = None
    if seen is not None:
        known = results.get(seen.key)
        if known is None:
            under = seen.key, facts.under_unknown_condition, facts.features, facts.doubted
            known = results.get(under)
            if known is not None:
                facts.asks_condition()
    around: tuple[Shape, ...] = ()
    try:
        if seen is not None and known is not None:
            value, taught = known.at(seen)
            taught.teach(facts)
        else:
            value = signature.apply(facts, given, named, site.label, instance)
            if seen is not None and facts.doubted is before.doubted and not facts.told_apart:
                # What asks for no condition is the same under each.
                key = seen.key if asked == Facts.times_asked else under
                results[key] = OpSummary.of(value, before, facts, seen)
        around = become_one(frame, before)
        if around:
            signature.apply(before.minding(around), given, named, site.label, instance)
        if instance is not None:
            note(frame, value)
        if not signature.of_arrays:
            value = autocast.cast(signature, facts, given, named, instance, value)
        strict.report(frame, site.node, f'"{site.label}"', before.atoms)
        _mind_padding(frame, signature, given, named, instance, site, value)
        _mind_lone_axis(frame, signature, given, named, site, instance)
        _suspect(frame, signature, given, named, site, instance, value)
        if "out" in kwargs:
            _write_out(frame, site.node)
        return _listed(frame, signature.with_arrays(value, array_of))
    except Mismatch as mismatch:
        if mismatch.problem.code == "shape-broadcast" and (
            _is_sum_of_each(given, site, mismatch.problem) or _is_outer(frame, given, site)
        ):
            found = signature.apply(facts, given, named, site.label, instance, meant=True)
            return signature.with_arrays(found, array_of)
        facts.atoms, facts.runs = before.atoms, before.runs
        if frame.depth and given and given[0] in ([], ()):
            return UNKNOWN  # what fills a list for others may be out of sight, in a loop of theirs
        if fits_without(
            frame,
            given,
            named,
            lambda a, k: signature.apply(facts.minding(around), a, k, "", instance),
        ):
            return UNKNOWN
        for one, other in _either_left_out(args, kwargs, given, named):

            def without(
                trial: Facts, one: Sequence[Value] = one, other: Mapping[str, Value] = other
            ) -> Value:
                return signature.apply(trial, one, other, "", instance)

            if _problem(without, facts.minding(around)) is None:
                return UNKNOWN

        def again(other: Facts) -> Value:
            return signature.apply(other, given, named, site.label, instance)

        nodes = [node for _, node in site.operands]
        is_alike = learn_alike(frame, signature, given, mismatch.problem, again, args, nodes)
        if is_alike or learn_square(frame, signature, args, mismatch.problem, nodes):
            return apply(frame, signature, args, kwargs, site, layer)
        for dim in free_in((*given, *named.values())):  # one that is unbound is told of once
            loosen(facts, dim)
        rest = _whatever_dtype(signature, before, given, named, site, instance, mismatch)
        rest = signature.with_arrays(rest, array_of)
        if frame.silent:
            frame.unheard()
            return _listed(frame, rest)
        problem = mismatch.problem
        if name_met(frame, problem):
            problem = _problem(again, facts.minding(around)) or problem
        message = explain.operation(
            site.label,
            problem,
            _operands(frame, given, site, signature.of_arrays),
            lambda changed: _again(signature, before, given, named, site, instance, changed),
            before,
            frame.wanted(site.node),
        )
        made = None if instance is None else where_made(frame, site.label)
        if made is not None:
            message = replace(message, notes=(made, *message.notes))
        about = [one.dims if isinstance(one, Shape) else one for one in problem.about]
        numbers = numbers_in(*given, *named.values(), *about)
        frame.error(site.node, replace(message, numbers=numbers))
        return _listed(frame, rest)


def _as_called(
    frame: Frame, signature: Signature, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Sequence[Value]:
    """Return arguments of an operation by name, results with the names that it finds them by."""
    given = by_their_names(frame, args)
    if not are_called_twice(frame, args) or _fits(frame, signature, given, kwargs):
        return given
    theirs = by_their_names(frame, args, theirs=True)
    return theirs if _fits(frame, signature, theirs, kwargs) else given


def _fits(
    frame: Frame, signature: Signature, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> bool:
    """Whether a call isn't refused."""
    given = [plain(frame, arg) for arg in args]
    named = {key: plain(frame, value) for key, value in kwargs.items()}
    trial = frame.state.facts.copy()
    return _problem(lambda facts: signature.apply(facts, given, named, "", None), trial) is None


def with_parts(attrs: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return attributes as rules see them: a module that a module is made of is its attributes."""
    if not any(type(one) is OpInstance for one in attrs.values()):
        return attrs
    return {n: one.attrs if isinstance(one, OpInstance) else one for n, one in attrs.items()}


def _either_left_out(
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    given: Sequence[Value],
    named: Mapping[str, Value],
) -> Iterator[tuple[Sequence[Value], Mapping[str, Value]]]:
    """Yield what is given without one of several settings that may be None.

    It may be that one is None where the other isn't, as of a size and a factor.
    """
    places = [at for at, arg in enumerate(args) if _is_optional_setting(arg)]
    words = [word for word, arg in kwargs.items() if _is_optional_setting(arg)]
    if len(places) + len(words) > 1:
        for place in places:
            yield [None if at == place else one for at, one in enumerate(given)], named
        for word in words:
            yield given, {**named, word: None}


def _is_optional_setting(value: Value) -> bool:
    if not isinstance(value, OneOf) or None not in value.options:
        return False
    return not only(value.options, Tensor)


def _problem(call: Callable[[Facts], Value], facts: Facts) -> Problem | None:
    """Return why a call can't be under some facts; None where it can."""
    try:
        call(facts)
    except Mismatch as mismatch:
        return mismatch.problem
    return None


def _suspect(
    frame: Frame,
    signature: Signature,
    given: Sequence[Value],
    named: Mapping[str, Value],
    site: Site,
    instance: Mapping[str, Value] | None,
    result: Value,
) -> None:
    """Warn of an op that smells, here or in a function of the program that is looked into."""
    handlers = SUSPICIONS.get(signature.name)
    if handlers is None or frame.is_unasked or frame.handled or frame.caught:
        return
    if frame.depth and is_installed(frame.module.source.path):
        return
    nodes = [node for _, node in site.operands]
    call = OpCall(signature.name, site.label, given, named, nodes, instance, site.node, result)
    for suspects in handlers:
        found = suspects(frame, call)
        if found is not None:
            message = explain.Message(found.text, SUSPECT, found.notes)
            frame.suspect(Fault(frame.module, site.node, frame.function, message))


def _write_out(frame: Frame, node: ast.AST) -> None:
    """Note that data was put into what a call is given as `out`."""
    match node:
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg == "out":
                    for one in elements(keyword.value) or [keyword.value]:
                        write_into(frame, one)
                        _make_room(frame, one)


def _make_room(frame: Frame, node: ast.expr) -> None:
    """Forget the shape of an empty tensor that a result is written into: it grows to hold that."""
    value = frame.hush(Frame.eval, node)
    if isinstance(value, Tensor) and 0 in frame.state.facts.shape(value.shape).dims:
        frame.renew(node, Tensor(Shape.unknown(), value.dtype), node)


def _mind_padding(
    frame: Frame,
    signature: Signature,
    given: Sequence[Value],
    named: Mapping[str, Value],
    instance: Mapping[str, Value] | None,
    site: Site,
    value: Value,
) -> None:
    """Warn of an op that counts padding in a function that doesn't speak of any."""
    if not frame.dims or frame.depth or frame.function is None:
        return
    symbol = ragged.blind(signature.flags, given, {**(instance or {}), **named}, value)
    if symbol is not None and not ragged.minds_padding(words_in(frame.function.node)):
        frame.error(site.node, ragged.message(site.label, symbol))


def _mind_lone_axis(
    frame: Frame,
    signature: Signature,
    given: Sequence[Value],
    named: Mapping[str, Value],
    site: Site,
    instance: Mapping[str, Value] | None,
) -> None:
    """Refuse an op that gives the same whatever it is given, along an axis of size 1."""
    problem = leveled(frame, signature, given, named, instance)
    if problem is not None:
        operands = _operands(frame, given, site)
        frame.error(
            site.node, explain.operation(site.label, problem, operands, facts=frame.state.facts)
        )


def _whatever_dtype(
    signature: Signature,
    facts: Facts,
    given: Sequence[Value],
    named: Mapping[str, Value],
    site: Site,
    instance: Mapping[str, Value] | None,
    mismatch: Mismatch,
) -> Value:
    """Return what a call that only dtypes forbid would give, so far as shapes go."""
    if mismatch.problem.code != "shape-dtype":
        return UNKNOWN
    for dtype in (dtypes.ANY & ~dtypes.BOOL & ~dtypes.of("uint8"), dtypes.ANY):
        args = [_with_dtype(value, dtype) for value in given]
        kwargs = {name: _with_dtype(value, dtype) for name, value in named.items()}
        with suppress(Mismatch):
            found = signature.apply(facts.copy(), args, kwargs, site.label, instance)
            return _with_dtype(found, dtypes.ANY)
    return UNKNOWN


def _with_dtype(value: Value, dtype: dtypes.DTypes) -> Value:
    match value:
        case Tensor():
            return replace(value, dtype=dtype)
        case tuple():
            return tuple(_with_dtype(one, dtype) for one in value)
    return value


def _listed(frame: Frame, value: Value) -> Value:
    """Return an op's result as values are here: one of many items lies on the heap.

    The attributes of an instance are the instance, as they are where `plain` gives it to a rule.
    """
    match value:
        case Repeated(element=element, count=count):
            return frame.state.new(ListContent(None, element, "tuple", count))
        case dict():
            cls = frame.program.table.lookup_class(str(value.get("__class__", "")))
            if cls is None:
                return frame.state.new(DictContent(value))
            return OpInstance(cls, {str(name): one for name, one in value.items()})
    return value


@dataclass(frozen=True, slots=True)
class OpSummary:
    """The result of a call, and the facts that it taught, to be used again for calls like it.

    `is_new`: there are unknowns in it that came into being with it. `names` is what those that it
    met were called in the end.
    """

    value: Value
    taught: Lesson
    seen: View
    is_new: bool
    names: tuple[str, ...] = ()

    @staticmethod
    def of(value: Value, before: Facts, after: Facts, seen: View) -> OpSummary:
        """Return what came of a call, apart from the symbols that were made for it."""
        met = {*seen.unknowns, *unknowns(value)}
        taught = Lesson.of(before, after, met)
        if taught is not NOTHING_NEW:
            met.update(unknowns(taught.values))
        is_new = len(met) > len(seen.unknowns)
        made = OpSummary(value, taught, seen, is_new, seen.names())
        return OpSummary(*made.at(seen), seen, is_new, made.names) if is_new else made

    def at(self, seen: View) -> tuple[Value, Lesson]:
        """Return the result of a call that sees this, and the facts that it teaches."""
        if not self.is_new and self.seen.stands_for_itself(seen):
            return self.value, self.taught
        seen.label(self.names)
        moving = self.seen.renewing(seen, {})
        return moving.value(self.value), self.taught.moved(moving)


def _is_sum_of_each(given: Sequence[Value], site: Site, problem: Problem) -> bool:
    """Whether two things are summed each with each, in sizes of which no annotation tells.

    As in distances of as many points, `(x*x).sum(1) + (y*y).sum(1).unsqueeze(1)`; a difference of
    that kind mostly isn't meant.
    """
    sizes = only(problem.about, Size)
    named = any(one.kind is Kind.NAME for size in sizes for one in dims.symbols(size))
    is_put_in = any(tensor.inserted for _, tensor in _tensors(given))
    return site.label == "+" and is_put_in and not named


def _is_outer(frame: Frame, given: Sequence[Value], site: Site) -> bool:
    """Whether an outer product by broadcasting is written down, as in `x[:, None] - x`."""

    def look(node: ast.expr) -> Tensor | None:
        value = plain(frame, frame.hush(Frame.eval, node))
        if isinstance(value, Array):
            value = value.tensor
        return value if isinstance(value, Tensor) else None

    nodes = [node for _, node in site.operands]
    found = [(nodes[at], tensor) for at, tensor in _tensors(given) if at < len(nodes)]
    operands = {node: tensor for node, tensor in found if node is not None}
    return outer(operands, look, None if frame.function is None else frame.function.node)


def _tensors(given: Sequence[Value]) -> list[tuple[int, Tensor]]:
    """Return the tensors among arguments, each behind where it stands."""
    return [(at, value) for at, value in enumerate(given) if isinstance(value, Tensor)]


def _operands(
    frame: Frame, given: Sequence[Value], site: Site, arrays: bool = False
) -> list[Operand]:
    found = []
    for index, tensor in _tensors(given):
        known = index < len(site.operands)
        role, node = site.operands[index] if known else ("argument", None)
        found.append(frame.operand(role, node, tensor, arrays))
    return found


def _again(
    signature: Signature,
    facts: Facts,
    given: Sequence[Value],
    named: Mapping[str, Value],
    site: Site,
    instance: Mapping[str, Value] | None,
    changed: Mapping[int, Tensor],
) -> Tensor | None:
    """Try a call with some tensor operands replaced (by their number among the tensors).

    None where it fails, or succeeds only by supposing that two dimensions are equal.
    """
    tensors = _tensors(given)
    edited = list(given)
    for number, tensor in changed.items():
        edited[tensors[number][0]] = tensor
    trial = CertainFacts.of(facts)
    try:
        result = signature.apply(trial, edited, named, site.label, instance)
    except Mismatch:
        return None
    return result if isinstance(result, Tensor) else None


PREFIX: Final = "shapecheck.named."


def takes_names(frame: Frame, names: Collection[str]) -> bool:
    """Whether names mean here what the dimensions are called; `names` are given to some.

    In an annotated function that is looked into, and in what it calls, the dimensions have the
    names of its caller.
    """
    if frame.hides_names:
        return False
    frame.supposed.update(Sym(name) for name in names)
    return True


def written(value: Value) -> Value:
    """Return a tensor or array as it is with data in it; other values as they are."""
    match value:
        case Tensor(blank=True):
            return replace(value, blank=False)
        case Array(tensor=Tensor(blank=True) as tensor):
            return Array(replace(tensor, blank=False))
        case ByName(tensor=Tensor(blank=True) as tensor):
            return replace(value, tensor=replace(tensor, blank=False))
    return value


def write_into(frame: Frame, node: ast.expr) -> None:
    """Note that data was put into what an expression gives, or into a part of it: `x[0].data`."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Call(func=inner):
                node = inner
            case _:
                return
    value = frame.hush(Frame.eval, node)
    if (whole := written(value)) is not value:
        frame.renew(node, whole, node)
