"""Checks one module: its annotations, then each function, then its body as a script."""

from __future__ import annotations

import ast
import functools
import gc
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from shapecheck.analysis import kinds, library
from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.check import groups, symbolic
from shapecheck.analysis.host import Diagnostic, Host, Options, Recording, Source, Tracing
from shapecheck.analysis.interpreter import body as bodies
from shapecheck.analysis.interpreter import (
    calls,
    decorators,
    expressions,
    overrides,
    statements,
)
from shapecheck.analysis.interpreter.frame import Budget, BudgetExceeded, Frame
from shapecheck.analysis.program.answers import Ground, Place, grounds, places
from shapecheck.analysis.program.faults import Fault, located
from shapecheck.analysis.program.model import NOTHING, Class, Function, Scope, Value
from shapecheck.analysis.program.modules import Module, Program
from shapecheck.analysis.program.reading import Reading
from shapecheck.analysis.program.report import Reporter
from shapecheck.analysis.program.syntax import DEFINITIONS, defs, is_def
from shapecheck.analysis.values.model import Instance, ListContent
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.signatures import StubError, table

P = ParamSpec("P")
T = TypeVar("T")

_REGISTERED = (expressions, kinds, library, statements)
"""What is found in the registry, and not asked for by name."""
follows = calls.follows
_programs: WeakKeyDictionary[Host, dict[str, Program]] = WeakKeyDictionary()


def without_collecting(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function run without garbage collection.

    The analysis makes no garbage to speak of, and the heap of its host is long to walk.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        collecting = gc.isenabled()
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            if collecting:
                gc.enable()

    return run


@without_collecting
def check_module(
    source: Source, host: Host, options: Options, only: Collection[int] | None = None
) -> list[Diagnostic]:
    """Do what `analysis.analyze_module` says; `only` for the functions that begin on these lines.

    There 0 stands for the module's own code.
    """
    module, checks = _begin(source, host, options, only)
    module.reporter = Reporter(module.lines)
    for _, check in checks:
        check()
    _settle(module, module.reporter)
    found = module.reporter.diagnostics()
    _end(module, host)
    return found


@dataclass(frozen=True, slots=True)
class Part:
    """What is said of one function of a module or a method of its classes, and what it rests on.

    `line` is that of the `def`; 0 stands for the module's own code.
    """

    line: int
    said: list[Diagnostic]
    rests_on: frozenset[Place]


@without_collecting
def check_parts(
    source: Source, host: Host, options: Options, only: Collection[int] | None = None
) -> list[Part]:
    """Check a module as `check_module` does, and return what is said of each part of it.

    What goes wrong inside of calls is said of each part from which the calls come.
    """
    module, checks = _begin(source, host, options, only)
    by_line: defaultdict[int, list[Callable[[], None]]] = defaultdict(list)
    for line, check in checks:
        by_line[line].append(check)
    found = []
    for line, some in by_line.items():
        with module.program.memory.noting() as rests_on:
            reporter = module.reporter = Reporter(module.lines)
            for check in some:
                check()
            _settle(module, reporter, in_part=True)
        found.append(Part(line, reporter.diagnostics(), places(rests_on)))
    _end(module, host)
    return found


def _begin(
    source: Source, host: Host, options: Options, only: Collection[int] | None
) -> tuple[Module, list[tuple[int, Callable[[], None]]]]:
    """Return a module that is to be checked, and the checks of its parts, each with its line."""
    program = program_of(host, options, source.name)
    if program.knows_otherwise(source):
        program = _programs[host][program.own] = _new(host, options, program.own)
    program.memory.begin()
    module = program.add(source)
    checks: list[tuple[int, Callable[[], None]]] = [(0, partial(_annotations, module))]
    for function, owner in functions(module):
        checks.append((function.node.lineno, partial(_check, module, function, owner)))
    checks.append((0, partial(_run_script, module)))
    return module, [one for one in checks if only is None or one[0] in only]


def _end(module: Module, host: Host) -> None:
    """Leave a module that has been checked, and tell the host what has been asked for."""
    module.reporter = None
    module.program.memo.trim()
    module.program.memory.trim()
    _tell(host, grounds(module.program.memory.asked))


def _tell(host: Host, asked: Collection[Ground]) -> None:
    """Have a host know what has been asked for."""
    for name in sorted(only(asked, str)):
        host.source(name)
    if isinstance(host, Tracing):
        host.consulted.update(only(asked, tuple))
    if isinstance(host, Recording):
        for part in only(asked, Reading):
            host.parts.setdefault(part.module, {})[part.key] = part.digest


def program_of(host: Host, options: Options, module: str) -> Program:
    """Return the program that a host gives the modules of, as it is seen from one of them.

    A package that there are shipped signatures for is seen by itself as it is.
    """
    own = module.partition(".")[0]
    signatures = table(options.stubs)
    if not (signatures.knows(own) and signatures.ships(own)):
        own = ""
    programs = _programs.setdefault(host, {})
    if own not in programs or programs[own].options != options:
        programs[own] = _new(host, options, own)
    return programs[own]


def forget(host: Host, functions: AbstractSet[tuple[str, int]]) -> None:
    """Have the analysis forget what rests on the annotations of functions, each a path and a line.

    For a host that is `Tracing`, where they have been changed in the syntax trees.
    """
    for program in _programs.get(host, {}).values():
        program.memory.forget(functions)


def _new(host: Host, options: Options, own: str) -> Program:
    program = Program(host, options, own, isinstance(host, Tracing))
    program.evaluate = _evaluate
    program.decorate = decorators.decorated
    return program


def _evaluate(module: Module, node: ast.expr, names: Mapping[str, Value]) -> Value:
    """Evaluate a global's right side, where no statement has run but those that bind `names`."""
    frame = Frame(module, State(dict(names)), quiet=True)
    try:
        value = frame.eval(node)
    except BudgetExceeded:
        return UNKNOWN
    for ref, content in frame.state.heap.items():
        match content:
            case Instance() | ListContent(kind="nn.Sequential" | "nn.ModuleList"):
                ref.origin = content
    return value


def _annotations(module: Module) -> None:
    """Read every annotation of the module, so that each malformed one is reported."""
    read = reader(module).read
    for node in module.survey.annotations:
        read(node)


def _run_script(module: Module) -> None:
    """Execute the module's body as Python would."""
    frame = Frame(module, State(), budget=Budget.of(module.source.text.count("\n")))
    body = [n for n in module.tree.body if not isinstance(n, DEFINITIONS)]
    shaped = any(declarations.speaks(reader(module).read(n)) for n in module.survey.annotations)
    frame.run_all(body, "this module's own code", told=shaped)


def _settle(module: Module, reporter: Reporter, in_part: bool = False) -> None:
    """Report what goes wrong inside of calls, where it isn't told already.

    `in_part`: the reporter doesn't have what is said of other functions of the module.
    """
    told: set[tuple[object, object]] = set()
    for fault in reporter.faults:
        if fault.module is module:
            key: tuple[object, object] = (fault.node, None)
            known = _is_told(reporter, fault) or (in_part and _fails_alone(fault))
        else:
            key = (fault.node, fault.message.text)
            known = _fails_alone(fault)
        if known or key in told:
            continue
        told.add(key)
        reporter.error(*located(fault, module))


def _fails_alone(fault: Fault) -> bool:
    """Whether the check of the failing function on its own finds the same error."""
    function, module = fault.function, fault.module
    if function is None or function.home is not None or not is_def(function.node):
        return False

    def checked() -> Reporter:
        outer, module.reporter = module.reporter, Reporter(module.lines)
        try:
            _check(module, function, function.owner)
            return module.reporter
        finally:
            module.reporter = outer

    question = ("alone", function.node)
    reporter = module.program.memory.recall(question, checked, Reporter(module.lines))
    return _is_told(reporter, fault)


def _is_told(reporter: Reporter, fault: Fault) -> bool:
    """Whether a fault's place has an error, or the annotated function in which it is."""
    function = fault.function
    whole = function is not None and declarations.declaration(function).shaped
    return reporter.blames(fault.node, function.node if function and whole else None)


def functions(module: Module) -> Iterator[tuple[Function, Class | None]]:
    """Yield the functions of the module's top level and the methods of its classes."""
    waiting: list[tuple[ast.stmt, Class | None]] = [(node, None) for node in module.tree.body]
    while waiting:
        node, owner = waiting.pop(0)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield Function(node, module, owner), owner
            case ast.ClassDef(body=body):
                cls = Class(node, module)
                waiting = [*((child, cls) for child in body), *waiting]
            case ast.If(body=body) | ast.Try(body=body):
                waiting = [*((child, owner) for child in body), *waiting]


def _check(
    module: Module, function: Function, owner: Class | None, around: State | None = None
) -> None:
    """Check the body of one function, then those of the functions and classes in it.

    Running out of budget or stack ends it quietly. `around` is the state in which a nested
    function is called.
    """
    try:
        if owner is not None and getattr(function.node, "name", "") == "__init__":
            symbolic.check_init(owner)
            return
        assert module.reporter is not None
        before = module.reporter.count
        bodies.check_braces(Frame(module, State(), function=function), function)
        if owner is not None:
            overrides.check_override(Frame(module, State()), owner, function)
        frame = bodies.check_body(function, *start(function, owner, around))
        _check_nested(module, frame)
        if module.reporter.count == before and around is None:
            groups.check(function, lambda: start(function, owner, None))
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


class _Around:
    """The variables of a function in which others are nested, as far as they don't change."""

    def __init__(self, vars: Mapping[str, Value], outer: Scope | None) -> None:
        self.vars = vars
        self.outer = outer

    def find(self, name: str) -> Value:
        """Return the value of a variable here or further out, `NOTHING` if there is none."""
        if name in self.vars or self.outer is None:
            return self.vars.get(name, NOTHING)
        return self.outer.find(name)


def _check_nested(module: Module, frame: Frame) -> None:
    for function, state in nested(frame):
        _check(module, function, function.owner, state)


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
        around = _Around(state.vars, outer)
        match made:
            case Function(node=node):
                yield Function(node, module, None, around), state
            case Class(node=definition):
                cls = Class(definition, module, around)
                for method in defs(definition.body):
                    yield Function(method, module, cls, around), state


def start(
    function: Function, owner: Class | None, around: State | None, alike: bool = True
) -> tuple[State, dict[str, Value]]:
    """Return the state in which a function's body begins, and the value of its `self`.

    `alike` is as for `symbolic`.
    """
    node = function.node
    if around is not None and owner is None:
        facts = around.facts.copy()
        facts.forget(declarations.own_names(function))
        return State(heap=dict(around.heap), facts=facts), {}
    if owner is None or not is_def(node) or not node.args.args:
        return State(), {}
    kinds = set(declarations.decorator_names(function.module, node))
    first = node.args.args[0].arg
    if "builtins.staticmethod" in kinds:
        return State(), {}
    if "builtins.classmethod" in kinds:
        return State(), {first: owner}
    state, ref = symbolic.instance(owner, "self", alike)
    symbolic.begin(state, ref, function)
    return state, {first: ref}
