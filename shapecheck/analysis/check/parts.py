"""The parts of a module that are checked by themselves: its annotations, each function, its code.

What is said of a part rests on what is read for it, and on nothing that was checked before it: so
it holds for as long as these readings are the same.
"""

from __future__ import annotations

import ast
import os
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, MutableSequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import shapecheck.dims as dims
from shapecheck.analysis.annotations import declarations, slips
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.check import bare_parameters, defaults, groups, left_out, ranks, symbolic
from shapecheck.analysis.coverage import measure
from shapecheck.analysis.coverage.watching import Analysis, Watcher
from shapecheck.analysis.findings import NO_TENSORS, Findings, Led, Lines, blamed
from shapecheck.analysis.host import SUSPECT, Coverage
from shapecheck.analysis.interpreter import body as bodies
from shapecheck.analysis.interpreter import overrides
from shapecheck.analysis.interpreter.braces import check_braces
from shapecheck.analysis.interpreter.budget import CLOSE, Budget, BudgetExceeded, Effort
from shapecheck.analysis.interpreter.frame import Frame, observing
from shapecheck.analysis.library import argparse
from shapecheck.analysis.program.answers import Ground, Grounds, Likeness
from shapecheck.analysis.program.faults import Fault, located
from shapecheck.analysis.program.model import NOTHING, Class, Function, Scope, Value
from shapecheck.analysis.program.modules import Known, Module, Program
from shapecheck.analysis.program.reading import Unnoted, body_of, digest, name_in_module
from shapecheck.analysis.program.report import Reporter, group_of
from shapecheck.analysis.program.syntax import DEFINITIONS, defs, is_def
from shapecheck.analysis.values.state import State
from shapecheck.dims import DimExpr, size_of
from shapecheck.shapes import Facts
from shapecheck.signatures import StubError

ANNOTATIONS: Final = "<annotations>"
"""The part that is the annotations outside of functions."""

OWN_CODE: Final = "<module>"
"""The part that is a module's own code, as Python calls it."""

_MOST_TWICE: Final = 1_000
"""A function that takes more steps is checked once, and not again with what is supposed of it.

That is its defaults, what may be left out of a call, and how many axes parameters have. There are
few of them, and they would take most of the time that this costs.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a module: what it is called there, and its lines, from its first decorator on.

    `line` is that of the `def`. The parts that no `def` has are at line 0, and have no lines.
    `check` takes note of the steps that it takes, and `covered` counts what is known in it.
    """

    key: str
    line: int
    lines: Lines
    check: Callable[[Effort], None]
    covered: Callable[[Analysis], Coverage]


Held: TypeAlias = "Collection[Ground | Grounds]"
"""What something rests on."""


def parts_of(module: Module) -> list[Part]:
    """Return the parts of a module, in the order in which what is said of them counts."""
    found = [
        Part(
            ANNOTATIONS,
            0,
            (0, 0),
            lambda effort: _annotations_outside(module),  # which runs no body
            lambda analysis: NO_TENSORS,
        )
    ]
    for function, owner in functions(module):
        node = function.node
        assert is_def(node)
        key = name_in_module(node) or node.name
        check = partial(_function, module, function, owner, key)
        covered = partial(measure.of_function, function=function)
        found.append(Part(key, node.lineno, _lines(node), check, covered))
    found.append(Part(OWN_CODE, 0, (0, 0), partial(_run_script, module), measure.of_own_code))
    return found


def check(
    module: Module, part: Part, effort: Effort, *, apart: bool = False
) -> tuple[Findings, Held]:
    """Check a part of a module; return what is said of it, and what that rests on.

    `effort` is that of the parts before it, and of this one, too, in the end. `apart`: what calls
    lead to is left out where it is said of another function of the module.
    """
    program, memory, is_brief = module.program, module.program.memory, effort.is_spent
    place, (first, _) = (module.name, part.key, is_brief), part.lines
    known = of_before(program, place)
    if known is not None and (not known.found or known.spelled == spelled(module, part.lines)):
        effort.taken += known.steps
        return known.found.moved(first - known.line), (known.rests_on,)
    before = effort.taken
    found = _findings(module, part, effort, apart)
    if not memory.stays:
        return found, memory.asked
    rests_on = memory.grounds()
    if effort.is_close:
        rests_on.room = 0
    text = spelled(module, part.lines) if found else ""
    program.checked[place] = Known(found, rests_on, effort.taken - before, first, text)
    return found, (rests_on,)


def spelled(module: Module, lines: Lines) -> str:
    """Return a digest of some lines as they are spelled."""
    first, last = lines
    return digest("\n".join(module.lines[number] for number in range(first, last + 1)))


def of_before(program: Program, place: tuple[str, str, bool]) -> Known | None:
    """Return what is known of a part of a module of which the same is to be said as was said last.

    `place` is as in `Program.checked`.
    """
    program.memory.begin_part()
    found = program.checked.get(place)
    return found if found is not None and program.memory.is_sound(found.rests_on) else None


def check_watched(module: Module, part: Part, effort: Effort, watcher: Watcher) -> Findings:
    """Check a part of a module while a watcher sees what each expression is worth."""
    module.program.memory.begin_part()
    with observing(module.program, watcher):
        return _findings(module, part, effort, apart=False)


def check_counting(module: Module, part: Part, effort: Effort) -> tuple[Findings, Held, Coverage]:
    """Check a part of a module; return with what `check` does what is known of the tensors in it.

    A defect in counting hides nothing of what is found.
    """
    watcher = Watcher(module)
    found = check_watched(module, part, effort, watcher)
    try:
        covered = part.covered(watcher.analysis(found.groups))
    except Exception:
        if os.environ.get("SHAPECHECK_DEBUG"):
            raise
        covered = NO_TENSORS
    return found, module.program.memory.asked, covered


def _findings(module: Module, part: Part, effort: Effort, apart: bool) -> Findings:
    reporter = module.reporter = Reporter(module.lines)
    try:
        part.check(effort)
        found = Findings(reporter.groups(), tuple(_led(module, reporter, apart)))
    finally:
        module.reporter = None
    if found and not _moves(found, part.lines):
        module.syntax.quoted()
    return found


def _moves(findings: Findings, lines: Lines) -> bool:
    """Whether all that is said of a part is said of its own lines, and names none."""
    first, last = lines
    spans = [one.span for one in findings.said]
    for led in findings.led:
        spans += [] if led.span is None else [led.span]
        if led.whole is not None and not (first <= led.whole[0] and led.whole[1] <= last):
            return False
    # Which line a message means isn't known here: what may mean one is found again.
    if any("line" in one.message or (one.blame and one.blame.through) for one in findings.said):
        return False
    return all(first <= one.line and one.end_line <= last for one in spans)


def _led(module: Module, reporter: Reporter, apart: bool) -> Iterator[Led]:
    """Yield what goes wrong inside of calls, where that isn't told of the function called."""
    told: set[tuple[object, object]] = set()
    for fault in reporter.faults:
        is_own = fault.module is module
        is_suspicion = fault.message.code == SUSPECT
        key: tuple[object, object] = (fault.node, is_suspicion if is_own else fault.message.text)
        if key in told or ((apart or not is_own) and _fails_alone(fault)):
            continue
        told.add(key)
        place = fault.module.lines.span(fault.node)
        node, message = located(fault, module)
        said = group_of(module.lines.span(node), message)
        if not is_own:
            name = f"{fault.module.name}:{place.line}:{place.column}:{place.end_column}"
            yield Led(None, None, f"{name} {fault.message.text}", said)
            continue
        yield Led(place, _answering(fault), "", said)


def _function(
    module: Module, function: Function, owner: Class | None, key: str, effort: Effort
) -> None:
    """Check a function, or a method of a class, with the annotations in it."""
    module.syntax.read_definition(key)
    read = reader(module).read
    for annotation in _annotations(module, lines=_lines(function.node)):
        read(annotation)
    _check(module, function, owner, effort)


def _annotations_outside(module: Module) -> None:
    """Read every annotation outside of functions, so that each malformed one is reported.

    What looks like a slip is one among all of them, those in the heads of functions included.
    """
    keys = {part.key for part in parts_of(module)}
    module.syntax.read_all(but=keys)
    read = reader(module).read
    outside = _annotations(module, lines=None)
    for annotation in outside:
        read(annotation)
    module.syntax.read_heads(keys)
    slips.tell(module, list(functions(module)), outside)


def _annotations(module: Module, lines: Lines | None) -> list[ast.expr]:
    """Return the annotations on the lines of a function or method, or those outside of all."""
    if module.annotations is None:
        with Unnoted():
            starts = sorted(_lines(function.node) for function, _ in functions(module))
        found: dict[Lines | None, list[ast.expr]] = {}
        for node in module.survey.annotations:
            at = bisect_right(starts, (node.lineno, len(module.lines))) - 1
            inside = at >= 0 and node.lineno <= starts[at][1]
            found.setdefault(starts[at] if inside else None, []).append(node)
        module.annotations = found
    return module.annotations.get(lines, [])


def _lines(node: ast.AST) -> Lines:
    """Return the first line of a function or class, with its decorators, and the last."""
    decorators = (one.lineno for one in getattr(node, "decorator_list", ()))
    line = getattr(node, "lineno", 0)
    return min((*decorators, line)), getattr(node, "end_lineno", None) or line


def _run_script(module: Module, effort: Effort) -> None:
    """Execute the module's body as Python would; once more as by default, if nothing was found."""
    frame, reporter = _run(module, effort), module.reporter
    if not frame.reads_command_line or reporter is None or reporter.count:
        return
    given = argparse.defaults(module) if _PARSER in module.source.text else {}
    if not given:
        return
    with module.reporting_apart() as found:
        _run(module, effort, by_default=True)
    numbers = found.numbers.union(*(fault.message.numbers for fault in found.faults))
    told = [f"{name}={number}" for name, number in given.items() if number in numbers]
    note = "with the defaults of the command line"
    reporter.include(found, f"{note}: {', '.join(told)}" if told else note)


_PARSER: Final = "add_argument"


def _run(module: Module, effort: Effort, *, by_default: bool = False) -> Frame:
    body = [n for n in body_of(module.tree) if not isinstance(n, DEFINITIONS)]
    budget = Budget.of(module.syntax.length_of(*body), briefly=effort.is_spent)
    frame = Frame(module, State(), budget=budget)
    frame.by_default = by_default
    frame.run_all(body, "this module's own code", told=lambda: _is_shaped(module))
    return frame


def _is_shaped(module: Module) -> bool:
    """Whether any annotation of a module says a shape."""
    module.syntax.read_all()
    read = reader(module).read
    return any(declarations.speaks(read(node)) for node in module.survey.annotations)


def _fails_alone(fault: Fault) -> bool:
    """Whether the check of the failing function on its own finds the same error."""
    function, module = fault.function, fault.module
    if function is None or function.home is not None or not is_def(function.node):
        return False

    def checked() -> Reporter:
        with module.reporting_apart() as reporter:
            _check(module, function, function.owner, Effort())
            module.syntax.placed()
        return reporter

    question = ("alone", function.node)
    reporter = module.recall(question, checked, Reporter(module.lines), _BY_GROUPS)
    return _is_told(reporter, fault)


class _ByGroups(Likeness):
    """Whether two reporters were told the same."""

    def are_alike(self, one: Reporter, other: Reporter) -> bool:
        return one.groups() == other.groups()


_BY_GROUPS: Final = _ByGroups()


def _is_told(reporter: Reporter, fault: Fault) -> bool:
    """Whether a fault's place has an error, or the annotated function in which it is."""
    lines = fault.module.lines
    return blamed(reporter.groups(), lines.span(fault.node), _answering(fault))


def _answering(fault: Fault) -> Lines | None:
    """Return the lines of the function of a fault where its annotations answer for all of it."""
    function = fault.function
    if function is None or not declarations.declaration(function).shaped:
        return None
    span = fault.module.lines.span(function.node)
    return span.line, span.end_line


def functions(module: Module) -> Iterator[tuple[Function, Class | None]]:
    """Yield the functions of the module's top level and the methods of its classes."""
    waiting: list[tuple[ast.stmt, Class | None]] = [(node, None) for node in body_of(module.tree)]
    while waiting:
        node, owner = waiting.pop(0)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield Function(node, module, owner), owner
            case ast.ClassDef():
                cls = Class(node, module)
                waiting = [*((child, cls) for child in body_of(node)), *waiting]
            case ast.If(body=body) | ast.Try(body=body):
                waiting = [*((child, owner) for child in body), *waiting]


def _check(
    module: Module,
    function: Function,
    owner: Class | None,
    effort: Effort,
    around: State | None = None,
) -> None:
    """Check the body of one function, then those of the functions and classes in it.

    Running out of budget or stack ends it quietly. `effort` is that of what was checked before.
    `around` is the state in which a nested function is called.
    """
    budget = Budget.of(module.syntax.length_of(function.node), briefly=effort.is_spent)
    try:
        if owner is not None and getattr(function.node, "name", "") == "__init__":
            symbolic.check_init(owner)
            return
        assert module.reporter is not None
        before = module.reporter.count
        check_braces(Frame(module, State(), function=function), function)
        if owner is not None:
            overrides.check_override(Frame(module, State()), owner, function)
        start = partial(symbolic.start, function, owner, around)
        state, begun = start()
        suppose = bare_parameters.supposing(function, state, begun)
        try:
            frame = bodies.check_body(function, state, begun, suppose=suppose, budget=budget)
        finally:
            effort.taken += budget.taken
        _check_nested(module, frame, effort)
        if module.reporter.count == before and around is None:
            groups.check(function, start)
        if _MOST_TWICE < CLOSE * budget.taken < CLOSE * CLOSE * _MOST_TWICE:
            module.program.memory.close(
                max(_MOST_TWICE - budget.taken, budget.taken - _MOST_TWICE - 1)
            )
        if around is not None or budget.is_brief or budget.taken > _MOST_TWICE:
            return

        def run(taken: ranks.Spelling, faults: MutableSequence[Fault]) -> Frame:
            return bodies.check_body(function, *start(), suppose=taken(suppose), faults=faults)

        if module.reporter.count == before and owner is not None:
            defaults.check(function, owner, _check_by_default)
        if module.reporter.count == before:
            left_out.check(function, run)
        if module.reporter.count == before:
            ranks.check(function, frame, run)
    except (BudgetExceeded, RecursionError):
        return
    except StubError:
        raise
    except Exception as error:  # a defect of ours must not hide what else there is to find
        if os.environ.get("SHAPECHECK_DEBUG"):
            raise
        assert module.reporter is not None
        text = f"internal error in shapecheck, please report: {type(error).__name__}: {error}"
        module.reporter.note(function.node, text)


def _check_by_default(function: Function, owner: Class) -> None:
    """Check a method on an instance that is made with its constructor's defaults."""
    state, begun = symbolic.start(function, owner, None, by_default=True)
    suppose = bare_parameters.supposing(function, state, begun)
    bodies.check_body(function, state, begun, suppose=suppose, has_defaults=True)


class _Around:
    """The variables of a function in which others are nested, as far as they don't change."""

    def __init__(
        self, vars: Mapping[str, Value], names: Mapping[str, DimExpr], outer: Scope | None
    ) -> None:
        self.vars, self.names, self.outer = vars, names, outer

    def find(self, name: str) -> Value:
        """Return the value of a variable here or further out, `NOTHING` if there is none."""
        if name in self.vars or self.outer is None:
            return self.vars.get(name, NOTHING)
        return self.outer.find(name)

    def dimension(self, name: str) -> DimExpr | None:
        """Return what a dimension name stands for here or further out."""
        found = self.names.get(name)
        return found if found is not None or self.outer is None else self.outer.dimension(name)


def _check_nested(module: Module, frame: Frame, effort: Effort) -> None:
    for function, state in nested(frame):
        _check(module, function, function.owner, effort, state)


def nested(frame: Frame) -> Iterator[tuple[Function, State]]:
    """Yield the functions, and the methods of classes, that a body defines, with what is around.

    They may be called at any time between their definition and the end: what holds at both is
    what they are checked with.
    """
    module, outer = frame.module, None if frame.function is None else frame.function.home
    seen: set[ast.AST] = set()
    for made, start in frame.nested:
        if made.node in seen:
            continue
        seen.add(made.node)
        state = start
        for end in [*(end for _, end in frame.returns), *([frame.state] if frame.alive else [])]:
            state = state.join(end)
        around = _Around(state.vars, frame.matcher.names, outer)
        match made:
            case Function(node=node):
                inner = Function(node, module, None, around)
                yield inner, State(heap=state.heap, facts=_named_alike(frame, inner, state.facts))
            case Class(node=definition):
                cls = Class(definition, module, around)
                for method in defs(body_of(definition)):
                    yield Function(method, module, cls, around), state


def _named_alike(frame: Frame, inner: Function, facts: Facts) -> Facts:
    """Return what is known around an inner function, its own names being other dimensions.

    A name that an annotated local of the outer function has brought is the same one in the inner.
    """
    names, facts = declarations.own_names(inner), facts.copy()
    facts.forget(names)
    for name in sorted(names & frame.introduced.keys()):
        bound, symbol = frame.matcher.names.get(name), dims.name(name).symbol
        if bound is not None and symbol is not None and symbol not in dims.symbols(bound):
            facts.learn(symbol, size_of(bound))
    return facts
