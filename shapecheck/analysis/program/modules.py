"""Modules of the program under analysis, and what the names in them mean."""

from __future__ import annotations

import ast
import builtins
import gc
import math
import sys
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

from shapecheck import dtypes
from shapecheck.analysis.findings import Findings, Lines
from shapecheck.analysis.host import Host, Source, Span
from shapecheck.analysis.options import Options
from shapecheck.analysis.program.answers import SAME, Grounds, Likeness, Memory, Telling
from shapecheck.analysis.program.grafting import grafted
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, Function, ModuleRef, Value
from shapecheck.analysis.program.reading import NOTED, Reading
from shapecheck.analysis.program.report import Reporter
from shapecheck.analysis.program.syntax import DEFINITIONS, Syntax, drop_parsed, syntax
from shapecheck.analysis.program.unparsed import Unparsed
from shapecheck.analysis.relevance import TEXT, is_installed
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN, DType
from shapecheck.ops.call import only
from shapecheck.signatures import Table, table

S = TypeVar("S")
T = TypeVar("T")

Evaluate = Callable[["Module", ast.expr, Mapping[str, Value], bool], Value]


class Module:
    """One parsed module. `reporter` is None unless its own diagnostics are wanted.

    `annotations` are those on the lines of each function, and those outside of all, once known.
    """

    def __init__(self, program: Program, source: Source) -> None:
        self.program = program
        self.reporter: Reporter | None = None
        self.reader: object = None
        self.show(syntax(source))

    def show(self, parsed: Syntax) -> None:
        """Be what a source says, and no longer what another one said before."""
        self.source = parsed.source
        self.syntax, self.tree, self.survey = parsed, parsed.tree, parsed.survey
        self.lines = parsed.lines
        self.annotations: dict[Lines | None, list[ast.expr]] | None = None

    def let_go(self) -> None:
        """Hold nothing any more, now that nobody asks for it.

        So its nodes go at once, whatever waits to be looked for as garbage and refers to it.
        """
        self.reader = None
        self.syntax.let_go()
        self.show(Syntax(Source(self.name, self.source.path, "")))

    @property
    def name(self) -> str:
        """The dotted name."""
        return self.source.name

    @contextmanager
    def reporting_apart(self) -> Iterator[Reporter]:
        """Gather what is said of the module meanwhile in a reporter of its own."""
        outer, self.reporter = self.reporter, Reporter(self.lines)
        try:
            yield self.reporter
        finally:
            self.reporter = outer

    def recall(
        self,
        question: Hashable,
        answer: Callable[[], T],
        meanwhile: S,
        likeness: Likeness = SAME,
        deepest: int | None = None,
        telling: Telling | None = None,
    ) -> T | S:
        """Return the answer to a question about what stands here; see `Memory.recall`."""
        memory = self.program.memory
        return memory.recall(question, answer, meanwhile, self.name, likeness, deepest, telling)

    def resolve(self, name: str) -> Value:
        """Return what a global name means; `NOTHING` if the module doesn't bind it."""
        nodes = self.syntax.bound(name)
        if not nodes:
            if "*" not in self.syntax.bindings or name.startswith("_") or name in _BUILTINS:
                return NOTHING
            return self.recall((self, name), lambda: self._starred(name), NOTHING)
        if name in self.survey.reassigned:
            return UNKNOWN
        return self.recall((self, name, *nodes), lambda: self._define(name, nodes), UNKNOWN)

    def member(self, name: str) -> Value:
        """Return what `from package import name` takes from this one; `NOTHING` if it hasn't it.

        A module of a package is taken before a name that the package has from others by `*`, so
        that it isn't looked for in each of them. Of `from .net import *` it may have `net` itself.
        """
        inner = f"{self.name}.{name}"
        stars = () if self.syntax.bound(name) else [*only(self.syntax.bound("*"), ast.ImportFrom)]
        if not stars or self.program.module(inner) is None:
            found = self.resolve(name)
        elif any(self.absolute(node) == inner for node in stars):
            found = self.program.exported(inner, name)
        else:
            found = NOTHING
        if found is NOTHING and self.program.module(inner) is not None:
            return self.program.package(inner)
        return found

    def _define(self, name: str, nodes: Sequence[ast.stmt]) -> Value:
        match nodes[-1]:
            case ast.FunctionDef() | ast.AsyncFunctionDef() as function:
                return self.program.decorate(Function(function, self))
            case ast.ClassDef() as cls:
                return Class(cls, self)
            case ast.Assign() as last if self.syntax.is_unconditional(last):
                return self._assigned(name, nodes)
        if (chosen := self.syntax.chosen(name)) is not None:
            return self.program.evaluate(self, chosen, {}, self.is_constant(name))
        # One of several imports, under `try` and `if`: the first, which is what authors prefer.
        imports = (one for one in nodes if isinstance(one, (ast.Import, ast.ImportFrom)))
        imported = next(imports, None)
        if imported is not None:
            found = self._imported(name, imported)
            is_optional = any(isinstance(one, ast.Assign) for one in nodes)
            return UNKNOWN if is_optional and self._may_be_missing(found) else found
        return self._assigned(name, nodes) if len(nodes) == 1 else UNKNOWN

    def _may_be_missing(self, imported: Value) -> bool:
        """Whether nothing is known of what is imported: the program may do without it, then."""
        match imported:
            case Dotted(name=name):
                table, root = self.program.table, name.partition(".")[0]
                known = table.signature(name) or table.lookup_class(name)
                return known is None and root not in SPECIAL and not table.knows(root)
        return False

    def _assigned(self, name: str, nodes: Sequence[ast.stmt]) -> Value:
        """Return what an assignment gives a name, which a definition may have bound before."""
        if len(nodes) > 1 and not isinstance(nodes[-2], DEFINITIONS):
            return UNKNOWN
        match nodes[-1]:
            case (
                ast.Assign(targets=[ast.Name()], value=value)
                | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
            ):
                before = {name: self._define(name, nodes[:-1])} if len(nodes) > 1 else {}
                return self.program.evaluate(self, value, before, self.is_constant(name))
            case ast.Assign(targets=[ast.Tuple() as target], value=value) if len(nodes) == 1:
                return self._unpacked(name, target, value)
        return UNKNOWN

    def is_constant(self, name: str) -> bool:
        """Whether what a global holds stays as it is; in installed libraries nobody changes it."""
        if is_installed(self.source.path):
            return name not in self.survey.changed
        return self.syntax.is_constant(name)

    def _unpacked(self, name: str, target: ast.Tuple, right: ast.expr) -> Value:
        """Return what `a, b = ...` binds a name to."""
        found = self.program.evaluate(self, right, {}, self.is_constant(name))
        names = [getattr(item, "id", None) for item in target.elts]
        match found:
            case tuple() if len(found) == len(names) and names.count(name) == 1:
                return found[names.index(name)]
        return UNKNOWN

    def _starred(self, name: str) -> Value:
        """Return what a name means that `from ... import *` may bind; the last such import wins.

        Where these are only told to type checkers, no name is in two of the modules, and that one
        is looked at first after which the name is called.
        """
        found: Value = NOTHING
        modules = [self.absolute(n) for n in only(self.syntax.bound("*"), ast.ImportFrom)]
        modules.reverse()
        if _LAZY in self.source.text:
            modules.sort(key=lambda module: _likeness(module, name), reverse=True)
        for module in modules:
            found = self.program.exported(module, name)
            if found is not NOTHING:
                break
        return found

    def alias(self, name: str) -> ast.expr | None:
        """Return the right side of a global assignment, for names that stand for types."""
        match self.syntax.bound(name):
            case [ast.Assign(value=value) | ast.AnnAssign(value=value)]:
                return value
            case [node] if type(node).__name__ == "TypeAlias":
                right: ast.expr = node.value  # type: ignore[attr-defined]  # Python 3.12
                return right
        return None

    def _imported(self, name: str, node: ast.Import | ast.ImportFrom) -> Value:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    if alias.asname == name:
                        return self.program.package(alias.name)
                    if alias.asname is None and alias.name.partition(".")[0] == name:
                        return self.program.package(name)
            case ast.ImportFrom(names=names):
                for alias in names:
                    if (alias.asname or alias.name) == name:
                        owner = self.absolute(node)
                        if owner == self.name:  # `from . import layers` in the package itself
                            return self.program.package(f"{owner}.{alias.name}")
                        return self.program.member(owner, alias.name)
        return UNKNOWN

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the dotted name of the module that an import takes names from."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        is_package = self.source.path.endswith("__init__.py")
        drop = node.level - is_package
        parts = parts[: len(parts) - drop] if drop else parts
        return ".".join([*parts, *([node.module] if node.module else [])])


_LAZY: Final = "_LazyModule"
"""In packages (transformers, diffusers) that import their modules when they are asked for names."""


def _likeness(module: str, name: str) -> int:
    """Return how much of a name is that of a module: `BertModel` is likely to be of `.bert`."""
    short = module.rpartition(".")[2].replace("_", "").lower()
    return len(short) if name.replace("_", "").lower().startswith(short) else 0


_OURS: Final = __name__.partition(".")[0]
"""The package that this is in, which has been imported."""

SPECIAL: Final = frozenset(
    (
        "abc",
        "beartype",
        "builtins",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "dltype",
        "functools",
        "itertools",
        "jaxtyping",
        "math",
        "operator",
        "shape_extensions",
        "shapecheck",
        "tensordict",
        "torch",
        "torchtyping",
        "typeguard",
        "typing",
        "typing_extensions",
    )
)
"""Packages whose names mean something to the analysis by themselves; never looked into."""


_BUILTINS: Final = frozenset(dir(builtins))


class Memo:
    """What rules and constructors of signature files gave, for calls that are alike.

    `minding`: whether it matters to a call of which elements its tensors are. `results` and
    `instances` are emptied when they get large.
    """

    _LARGEST: Final = 100_000

    def __init__(self) -> None:
        self.results: dict[Hashable, Any] = {}
        self.instances: dict[Hashable, Value] = {}
        self.minding: dict[Hashable, bool] = {}

    def trim(self) -> None:
        """Forget everything if there is too much."""
        if len(self.results) + len(self.instances) > self._LARGEST:
            self.results.clear()
            self.instances.clear()


@lru_cache(maxsize=8)
def _memo(signatures: Table) -> Memo:
    return Memo()


def forget_memos() -> None:
    """Begin new memos for the programs to come: what is kept by calls keeps what they are about."""
    _memo.cache_clear()


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with an annotation, and where."""

    module: Module
    span: Span
    message: Message

    def tell(self) -> None:
        """Report it where the module's own diagnostics are wanted."""
        if self.module.reporter is not None:
            self.module.reporter.error_at(self.span, self.message)


MOST_TEXT: Final = 12_000_000
"""As many characters of modules are held when one has been checked; parsed they take 40 times
the room."""
_OFTEN: Final = 4
"""When so many times as many have been dropped, what refers to itself is looked for."""


class Known(NamedTuple):
    """What is known of a part of a module: what was found, what that rests on, the steps it took.

    The part began on a `line`, and where anything was found it was `spelled` as a digest tells.
    """

    found: Findings
    rests_on: Grounds
    steps: int
    line: int
    spelled: str


class Program:
    """All modules of the program, read when they are needed.

    `own` is the top-level package of the module that is checked, where shipped signature files
    describe it: that one is looked into all the same. `traces`: of which functions annotations are
    read is noted. `supposing`: what constructors take without an annotation is supposed to be
    sizes, or to have sizes as attributes. `checked` are the parts of modules that have been, by
    their module, their key and whether they got few steps. A program doesn't keep its host alive.
    """

    def __init__(self, host: Host, options: Options, own: str = "", traces: bool = False) -> None:
        self.supposing = False
        # decisions.md, "A program refers to its host weakly, and symbols are interned weakly"
        self._host = weakref.ref(host)
        self.own = own
        self.options = options
        self.table = table(options.stubs)
        self.evaluate: Evaluate = lambda module, node, names, fixed: UNKNOWN
        self.decorate: Callable[[Function], Value] = lambda function: function
        self.memory = Memory(traces)
        self.problems: list[Problem] = []
        self.checked: dict[tuple[str, str, bool], Known] = {}
        self.memo = _memo(self.table)
        self._modules: dict[str, Module | None] = {}
        self._unparsed: dict[str, Unparsed | None] = {}
        self._unreadable: dict[str, Reading] = {}
        self._described: set[str] = set()
        self._taken_over = Syntax.taken_over
        self._asked_last: dict[str, None] = {}
        self._dropped = 0

    def renew(self, names: Collection[str]) -> None:
        """Forget of modules that have changed what rests on what isn't as it was."""
        gone = []
        for name in names:
            if name not in self._modules and name not in self._unparsed:
                continue  # nobody has asked for it
            module, source = self._modules.get(name), self._source(name)
            if module is None or source is None or not self._is_renewed(module, source):
                gone.append(name)
        self._forget(gone)

    def _is_renewed(self, module: Module, source: Source) -> bool:
        """Have a module go on with another text, if it can.

        Where the program doesn't stay, somebody may have use for the syntax of the one before.
        """
        before = module.syntax
        if before.is_taken_over or before.source.path != source.path:
            return False
        if before.source != source:
            if not self.memory.stays:
                return False
            try:
                parsed = grafted(before, source)
            except (SyntaxError, ValueError, RecursionError):
                return False
            module.show(parsed)
            self._unparsed.pop(module.name, None)
            self.memory.edited(module.name)
        return True

    def _forget(self, names: Collection[str]) -> None:
        """Forget modules, and all that rests on them."""
        for name in names:
            self._unparsed.pop(name, None)
            self._unreadable.pop(name, None)
            self._modules.pop(name, None)
        involved = self.memory.involving(names)
        for key, known in [*self.checked.items()] if names else ():
            if involved(known.rests_on):
                del self.checked[key]
        self.memory.forget_modules(names)

    def begin(self) -> None:
        """Begin with another module; forget those of which another program has the nodes."""
        self.memory.begin()
        if self._taken_over != Syntax.taken_over:
            self._taken_over = Syntax.taken_over
            modules = self._modules.items()
            self._forget([name for name, one in modules if one and one.syntax.is_taken_over])

    def trim(self, asked: Iterable[str]) -> None:
        """Forget what takes too much room, once a module has been checked that `asked` for some.

        Of modules that is those for which nobody has asked for longest, until half as much text as
        there may be is left. A program that stays keeps all: an edit may be of any of them.
        """
        self.memo.trim()
        self.memory.trim()
        if self.memory.stays:
            return
        for name in asked:
            self._asked_last.pop(name, None)
            self._asked_last[name] = None
        held = {name: one for name, one in self._modules.items() if one is not None}
        before = left = sum(len(module.source.text) for module in held.values())
        if left <= MOST_TEXT:
            return
        gone = []
        never = [name for name in held if name not in self._asked_last]
        for name in (*never, *self._asked_last):
            if name in held and left > MOST_TEXT // 2:
                left -= len(held[name].source.text)
                gone.append(name)
        self._forget(gone)
        for name in gone:
            self._asked_last.pop(name, None)
            drop_parsed(held[name].source)
            held[name].let_go()
        del held  # nobody has them any more
        self._dropped += before - left
        if self._dropped > _OFTEN * MOST_TEXT:
            self._dropped = 0
            gc.collect()  # functions in functions may hold them, which are as old by now

    def add(self, source: Source) -> Module:
        """Return the module that a source is, parsed where it isn't yet; raises SyntaxError."""
        module = self._modules.get(source.name)
        if module is None or not self._is_renewed(module, source):
            if source.name in self._modules:
                self._forget((source.name,))
            module = self._modules[source.name] = Module(self, source)
        return module

    def module(self, name: str) -> Module | None:
        """Return the module of a dotted name, None where its source isn't to be analysed."""
        if name in self._described or (name not in self._modules and self._is_library(name)):
            return None
        return self._read(name)

    def _read(self, name: str) -> Module | None:
        if name not in self._modules:
            source = self._source(name)
            if source is not None:
                try:
                    self.add(source)
                except (SyntaxError, ValueError, RecursionError):
                    said = source.path, source.text
                    self._unreadable[name] = Reading(name, TEXT, lambda: said)
            self._modules.setdefault(name, None)
        self.memory.asked.add(name)
        if name in self._unreadable:
            NOTED.readings.add(self._unreadable[name])
        return self._modules[name]

    def _is_library(self, name: str) -> bool:
        """Whether a module is never looked into, as the analysis knows what is in it.

        A package may be described in part: the other modules of it are like those of any other.
        """
        root = name.partition(".")[0]
        if root in SPECIAL:
            return True
        return self.table.knows(root) and root != self.own and self.table.describes(name)

    def _source(self, name: str) -> Source | None:
        host = self._host()
        return None if host is None else host.source(name)

    def package(self, name: str) -> Value:
        """Return the value of an imported module."""
        return library(name) if self.module(name) is None else ModuleRef(name)

    def exported(self, base: str, name: str) -> Value:
        """Return what `from base import *` binds a name to, NOTHING if it doesn't or can't tell."""
        if self._leaves_out(base, name):
            return NOTHING
        module = self.module(base)
        if module is not None:
            return module.resolve(name)
        dotted = f"{base}.{name}"
        if base == _OURS:
            return Dotted(dotted) if name in dir(sys.modules[_OURS]) else NOTHING
        known = self.table.signature(dotted) or self.table.lookup_class(dotted)
        return Dotted(dotted) if known is not None else NOTHING

    def _leaves_out(self, base: str, name: str) -> bool:
        """Whether a module that isn't parsed yet needn't be to know that it doesn't bind a name.

        A package that imports all of its modules by `*` would else be parsed as a whole.
        """
        if base in self._modules or self._is_library(base):
            return False
        if base not in self._unparsed:
            source = self._source(base)
            self._unparsed[base] = None if source is None else Unparsed(source)
        unparsed = self._unparsed[base]
        if unparsed is None or not unparsed.leaves_out(name):
            return False
        self.memory.asked.add(base)
        return True

    def _leaves_to_source(self, base: str, name: str) -> bool:
        """Whether signature files describe some of a module, but not what has a name in it."""
        root, dotted = base.partition(".")[0], f"{base}.{name}"
        if root in SPECIAL or root == self.own or not self.table.describes(base):
            return False
        known = self.table.signature(dotted) or self.table.lookup_class(dotted)
        return known is None and not self.table.describes(dotted)

    def member(self, base: str, name: str) -> Value:
        """Return the value of a name in a module."""
        module = self.module(base)
        if module is None and self._leaves_to_source(base, name):
            self._described.add(base)
            module = self._read(base)
        if module is None:
            return self.package(f"{base}.{name}")
        found = module.member(name)
        return UNKNOWN if found is NOTHING else found


_CONSTANTS: Final[dict[str, Value]] = {
    f"{module}.{name}": getattr(math, name)
    for module in ("math", "torch", "numpy")
    for name in ("pi", "e", "inf", "nan", "tau")
} | {
    "numpy.newaxis": None,
    "torch.newaxis": None,
    "cv2.IMREAD_UNCHANGED": -1,
    "cv2.IMREAD_GRAYSCALE": 0,
    "cv2.IMREAD_COLOR": 1,
    "cv2.IMREAD_COLOR_BGR": 1,
    "cv2.IMREAD_COLOR_RGB": 256,
    **dict.fromkeys(("cv2.COLOR_BGR2RGB", "cv2.COLOR_RGB2BGR"), 4),
    "cv2.COLOR_BGR2GRAY": 6,
    "cv2.COLOR_RGB2GRAY": 7,
    **dict.fromkeys(("cv2.COLOR_GRAY2BGR", "cv2.COLOR_GRAY2RGB"), 8),
    "cv2.COLOR_BGR2YCrCb": 36,
    "cv2.COLOR_RGB2YCrCb": 37,
    "cv2.COLOR_BGR2HSV": 40,
    "cv2.COLOR_RGB2HSV": 41,
    "cv2.COLOR_BGR2LAB": 44,
    "cv2.COLOR_RGB2LAB": 45,
    "cv2.COLOR_HSV2BGR": 54,
    "cv2.COLOR_HSV2RGB": 55,
}


def library(name: str) -> Value:
    """Return the value of a name of a library: a constant, a dtype, or the name itself."""
    prefix, _, last = name.rpartition(".")
    if prefix == "torch" and dtypes.of(last) != dtypes.ANY:
        return DType(dtypes.of(last))
    return _CONSTANTS[name] if name in _CONSTANTS else Dotted(name)
