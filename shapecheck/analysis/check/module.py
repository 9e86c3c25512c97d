"""Checks one module: each of its parts by itself, and puts together what is said of them."""

from __future__ import annotations

import ast
import functools
import gc
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from shapecheck.analysis import kinds, library
from shapecheck.analysis.check.parts import Findings, Part, check, parts_of
from shapecheck.analysis.host import Diagnostic, Host, Options, Recording, Source, Tracing
from shapecheck.analysis.interpreter import calls, decorators, expressions, statements
from shapecheck.analysis.interpreter.frame import BudgetExceeded, Frame
from shapecheck.analysis.program.answers import Ground, Place, places
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.modules import Module, Program
from shapecheck.analysis.program.reading import Reading
from shapecheck.analysis.program.report import Group, in_order
from shapecheck.analysis.values.model import Instance, ListContent
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only as only_of
from shapecheck.signatures import table

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
    module = begin(source, host, options)
    found: list[Findings] = []
    asked: set[Ground] = set()
    for part in parts_of(module):
        if only is None or part.line in only:
            findings, rests_on = check(module, part)
            found.append(findings)
            asked |= rests_on
    _end(module, host, asked)
    return merged(found)


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of one function of a module or a method of its classes, and what it rests on.

    `line` is that of the `def`; 0 stands for what is outside of functions.
    """

    line: int
    said: list[Diagnostic]
    rests_on: frozenset[Place]


@without_collecting
def check_parts(
    source: Source, host: Host, options: Options, only: Collection[int] | None = None
) -> list[Said]:
    """Check a module as `check_module` does, and return what is said of each part of it.

    What goes wrong inside of calls is said of each part from which the calls come.
    """
    module = begin(source, host, options)
    by_line: dict[int, list[Part]] = {}
    for part in parts_of(module):
        if only is None or part.line in only:
            by_line.setdefault(part.line, []).append(part)
    found = []
    asked: set[Ground] = set()
    for line, some in by_line.items():
        checked = [check(module, part, apart=True) for part in some]
        grounds = set[Ground]().union(*(rests_on for _, rests_on in checked))
        found.append(Said(line, merged([one for one, _ in checked]), places(grounds)))
        asked |= grounds
    _end(module, host, asked)
    return found


def merged(found: Iterable[Findings]) -> list[Diagnostic]:
    """Put together what is said of the parts of a module, each thing once, by position."""
    groups: dict[object, Group] = {}
    every = [one for one in found if one]
    for one in every:
        for group in one.groups:
            groups.setdefault((group[0].span, group[0].message), group)
    told: set[object] = set()
    for one in every:
        for led in one.led:
            key = led.key if led.span is None else led.span
            if key not in told and not led.is_among(groups.values()):
                told.add(key)
                groups.setdefault((led.said[0].span, led.said[0].message), led.said)
    return in_order(groups.values())


def begin(source: Source, host: Host, options: Options) -> Module:
    """Return the module that a source is, in the program as its host has it by now."""
    program = program_of(host, options, source.name)
    program.memory.begin()
    return program.add(source)


def _end(module: Module, host: Host, asked: Collection[Ground]) -> None:
    """Leave a module that has been checked, and tell the host what has been asked for."""
    module.program.memo.trim()
    module.program.memory.trim()
    for name in sorted(only_of(asked, str)):
        host.source(name)
    if isinstance(host, Tracing):
        host.consulted.update(only_of(asked, tuple))
    if isinstance(host, Recording):
        for part in only_of(asked, Reading):
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


def renew(host: Host, modules: Collection[str]) -> None:
    """Have the analysis take note that modules of a host aren't what they were."""
    for program in _programs.get(host, {}).values():
        program.renew(modules)


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
