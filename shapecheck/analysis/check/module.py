"""Checks one module: each of its parts by itself, and puts together what is said of them."""

from __future__ import annotations

import ast
import functools
import gc
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import shapecheck.dims as dims
from shapecheck.analysis import kinds, library, suspicions
from shapecheck.analysis.check.parts import (
    Held,
    Part,
    check,
    check_counting,
    check_watched,
    of_before,
    parts_of,
    spelled,
)
from shapecheck.analysis.check.symbolic import forget_changing
from shapecheck.analysis.coverage.showing import Showing
from shapecheck.analysis.findings import Findings, Lines, merged
from shapecheck.analysis.host import (
    Asked,
    Coverage,
    Diagnostic,
    Host,
    Key,
    Look,
    Recall,
    RestsOn,
    Source,
    Tracing,
    every,
)
from shapecheck.analysis.interpreter import calls, decorators, expressions, statements
from shapecheck.analysis.interpreter.budget import BudgetExceeded, Effort
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.options import Options
from shapecheck.analysis.pace import UNBOUND
from shapecheck.analysis.program import asking
from shapecheck.analysis.program.answers import (
    Below,
    Ground,
    Grounds,
    Place,
    below,
    grounds,
    places,
)
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.program.modules import Module, Program, forget_memos
from shapecheck.analysis.program.reading import Reading, digest
from shapecheck.analysis.program.syntax import PLACES, forget_kept, syntax
from shapecheck.analysis.relevance import TENSORS, TEXT, mentions_tensors
from shapecheck.analysis.values.model import DictContent, Instance, ListContent
from shapecheck.analysis.values.state import State
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only as only_of
from shapecheck.signatures import table

P = ParamSpec("P")
T = TypeVar("T")

EXISTENCE: Final = ""
"""The key of what a module is at all: whether there is one, and of which kind."""

_REGISTERED = (expressions, kinds, library, statements, suspicions)
"""What is found in the registry, and not asked for by name."""
follows = calls.follows
_NOTHING: Final = MappingProxyType[int, int]({})
_programs: WeakKeyDictionary[Host, dict[str, Program]] = WeakKeyDictionary()


def without_collecting(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function run without garbage collection.

    The analysis makes little garbage, and the heap of its host is long to walk.
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
    module = begun(source, host, options)
    found: list[Findings] = []
    asked: set[Ground] = set()
    effort = Effort()
    for part in parts_of(module):
        if only is None or part.line in only:
            findings, rests_on = check(module, part, effort)
            found.append(findings)
            asked |= grounds(rests_on)
    _end(module, host, asked)
    return merged(found)


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of one function of a module or a method of its classes, and what it rests on.

    `line` is that of the `def`; 0 stands for what is outside of functions. `steps` is what it took.
    """

    line: int
    said: list[Diagnostic]
    rests_on: frozenset[Place]
    steps: int = 0


@without_collecting
def check_parts(
    source: Source,
    host: Host,
    options: Options,
    only: Collection[int] | None = None,
    steps: Mapping[int, int] = _NOTHING,
    briefly: bool = False,
) -> list[Said]:
    """Check a module as `check_module` does, and return what is said of each part of it.

    What goes wrong inside of calls is said of each part from which the calls come. `steps` is what
    parts took that aren't among `only`; `briefly`: the bodies of all get few.
    """
    module = begun(source, host, options)
    by_line: dict[int, list[Part]] = {}
    for part in parts_of(module):
        by_line.setdefault(part.line, []).append(part)
    found = []
    asked: set[Ground] = set()
    effort = Effort.spent() if briefly else Effort()
    for line, some in by_line.items():
        before = effort.taken
        if only is not None and line not in only:
            effort.taken += steps.get(line, 0)
            continue
        checked = [check(module, part, effort, apart=True) for part in some]
        rests_on = set[Ground]().union(*(grounds(held) for _, held in checked))
        said, taken = merged([one for one, _ in checked]), effort.taken - before
        found.append(Said(line, said, places(rests_on), taken))
        asked |= rests_on
    _end(module, host, asked)
    return found


class Checking:
    """A module that is checked part by part; see `analysis.begin`.

    `effort` is that of the parts that were checked, and of those of which somebody knew.
    """

    def __init__(self, module: Module, host: Host, *, counts: bool, keeps: bool) -> None:
        self._module, self._host, self._counts, self._keeps = module, host, counts, keeps
        self._read: set[Key] = set()
        self._telling = _Telling(host)
        self.effort = Effort()
        self.parts = parts_of(module)

    @without_collecting
    def check(self, part: Part) -> Checked:
        """Check one of the parts."""
        module, effort, covered = self._module, self.effort, None
        is_brief, before = effort.is_spent, effort.taken
        if self._counts:
            findings, held, covered = check_counting(module, part, effort)
        else:
            findings, held = check(module, part, effort)
        rests_on = self._resting(held)
        self._read |= rests_on.own
        return Checked(findings, rests_on, covered, effort.taken - before, is_brief)

    def _resting(self, held: Held) -> RestsOn:
        """Return what something rests on: where nobody else is told, in which modules that is."""
        memory = self._module.program.memory
        if memory.tells:
            return self._telling.resting(below(held, 0 if self.effort.is_close else memory.room))
        if memory.stays and not self._keeps:
            return _within(self._host, memory.modules_of(only_of(held, Grounds)))
        return self._telling.resting(Below(frozenset(grounds(held)), (), room=0))

    @without_collecting
    def look(self, part: Part) -> Look:
        """Return what an editor shows of one of the parts."""
        watcher = Showing(self._module)
        found = check_watched(self._module, part, Effort(), watcher)
        return watcher.look(part.lines, found.groups)

    def spelled(self, lines: Lines) -> str:
        """Return a digest of some lines as they are spelled."""
        return spelled(self._module, lines)

    def end(self) -> None:
        """Forget what nobody asks for any more."""
        read = self._read.union(self._telling.digests)
        self._module.program.trim(sorted({name for name, _ in read}))


class _Telling:
    """Says for other processes what answers rest on; what was said of one is said the same again.

    `host` is asked of which kind a module is. `digests` has what stood in all that was read.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.digests: dict[Key, str] = {}
        self._said: dict[Grounds, Asked] = {}
        self._taken: set[Asked] = set()

    def resting(self, found: Below) -> RestsOn:
        """Return what something rests on."""
        own, asked = self._keys(found.read), tuple(map(self.asked, found.asked))
        return RestsOn(self.digests, own, asked, found.room)

    def asked(self, one: Grounds) -> Asked:
        """Return a question of which others are told."""
        found = self._said.get(one)
        if found is None:
            found = self._said[one] = self._new(one)
        return found

    def _new(self, one: Grounds) -> Asked:
        if one.found_before is not None:
            self._take(one.found_before)
            return one.found_before.asked[0]
        inner = one.below
        assert one.told is not None
        read, asks = self._keys(inner.read), tuple(map(self.asked, inner.asked))
        return Asked(*one.told, read, asks, inner.room)

    def _take(self, found: RestsOn) -> None:
        """Take what stood in all that was read for what was found before."""
        for one in every(found.asked, self._taken):
            self.digests.update((key, found.digests[key]) for key in one.reads)

    def _keys(self, read: Iterable[Ground]) -> frozenset[Key]:
        found: set[Key] = set()
        for one in read:
            if isinstance(one, Reading) and one.key != PLACES:
                key = one.module, one.key
                if key not in self.digests:
                    self.digests[key] = one.digest
            elif isinstance(one, str):
                key = one, EXISTENCE
                if key not in self.digests:
                    self.digests[key] = digest_of(self._host.source(one), EXISTENCE)
            else:
                continue
            found.add(key)
        return frozenset(found)


def _within(host: Host, modules: Iterable[str]) -> RestsOn:
    """Return what something rests on that holds while the texts of modules are the same."""
    sources = {name: host.source(name) for name in modules}
    keys = [(name, EXISTENCE if one is None else TEXT) for name, one in sources.items()]
    digests = {key: digest_of(sources[key[0]], key[1]) for key in keys}
    return RestsOn(digests, frozenset(keys), (), room=0)


@without_collecting
def still_said(
    host: Host, options: Options, module: str, parts: Iterable[tuple[str, bool]]
) -> RestsOn | None:
    """Do what `analysis.still_said` says."""
    program, held = program_of(host, options, module), list[Grounds]()
    program.begin()
    for key, is_brief in parts:
        found = of_before(program, (module, key, is_brief))
        if found is None:
            return None
        held.append(found.rests_on)
    return _within(host, program.memory.modules_of(held))


def ask_again(
    host: Host, options: Options, module: str, question: str, recalls: Recall | None = None
) -> RestsOn | None:
    """Do what `analysis.ask_again` says."""
    program = program_of(host, options, module)
    program.begin()
    program.memory.recalls = recalls
    found = asking.ask_again(program, question)
    if found is None:
        return None
    return _Telling(host).resting(Below(frozenset(), (found,), UNBOUND))


@dataclass(frozen=True, slots=True)
class Checked:
    """What is said of a part, and what that rests on.

    `covered` is what is known of its tensors, where that is counted. `steps` is what it took; it
    `is_brief` where it got few, since those before it in the module had taken too many.
    """

    findings: Findings
    rests_on: RestsOn
    covered: Coverage | None = None
    steps: int = 0
    is_brief: bool = False


def begin(
    source: Source,
    host: Host,
    options: Options,
    *,
    stays: bool = False,
    counts: bool = False,
    keeps: bool = False,
    recalls: Recall | None = None,
) -> Checking:
    """Do what `analysis.begin` says."""
    module = begun(source, host, options, stays=stays)
    memory = module.program.memory
    memory.tells, memory.recalls = keeps and not stays, recalls
    return Checking(module, host, counts=counts, keeps=keeps)


def digest_of(source: Source | None, key: str) -> str:
    """Do what `analysis.digest_of` says."""
    if source is None:
        return "absent" if key == EXISTENCE else ""
    if key == EXISTENCE:
        return "package" if source.path.endswith("__init__.py") else "module"
    if key in _WITHOUT_SYNTAX:
        return _WITHOUT_SYNTAX[key](source)
    try:
        return syntax(source).reading(key).digest
    except (SyntaxError, ValueError, RecursionError):
        return ""


@functools.lru_cache(256)  # it keeps the texts
def _digest_of_text(source: Source) -> str:
    return digest("\n".join((source.path, source.text)))


_WITHOUT_SYNTAX: Final[dict[str, Callable[[Source], str]]] = {
    TEXT: _digest_of_text,
    TENSORS: lambda source: digest(str(mentions_tensors(source.text))),
}
"""What is read of a module without parsing it; each says what the `Reading` of the key does."""


_begun: Final = itertools.count(1)
_KEPT_MODULES: Final = 64
"""After so many modules, what is kept by nodes and sizes is forgotten: whole modules hang by it."""


def begun(source: Source, host: Host, options: Options, *, stays: bool = False) -> Module:
    """Return the module that a source is, in the program as its host has it by now."""
    if next(_begun) % _KEPT_MODULES == 0:
        forget_kept()
        dims.forget()
        forget_memos()
    program = program_of(host, options, source.name)
    program.memory.stays = stays
    program.begin()
    return program.add(source)


def _end(module: Module, host: Host, asked: Collection[Ground]) -> None:
    """Leave a module that has been checked, and tell the host what has been asked for."""
    names = sorted(only_of(asked, str))
    module.program.trim(names)
    for name in names:
        host.source(name)
    if isinstance(host, Tracing):
        host.consulted.update(only_of(asked, tuple))


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


def _evaluate(module: Module, node: ast.expr, names: Mapping[str, Value], is_fixed: bool) -> Value:
    """Evaluate a global's right side, where no statement has run but those that bind `names`.

    `is_fixed`: nothing changes what it holds afterwards, be it a list or a dict. An empty one is
    there to be filled.
    """
    frame = Frame(module, State(dict(names)), quiet=True)
    try:
        value = frame.eval(node)
    except BudgetExceeded:
        return UNKNOWN
    forget_changing(frame.state)
    for ref, content in frame.state.heap.items():
        match content:
            case Instance() | ListContent(kind="nn.Sequential" | "nn.ModuleList"):
                ref.origin = content
            case ListContent() | DictContent() if is_fixed and content.items:
                ref.origin = content
    return value
