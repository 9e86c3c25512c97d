"""One activation of a function, or of a module's body: the interpreter proper.

A `Frame` holds the state at the current point of one body and evaluates its statements and
expressions. What each kind of node does is in `statements` and `expressions`; calls are in
`calls`, classes in `instances`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableSequence,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from shapecheck.analysis.interpreter.budget import Budget, BudgetExceeded
from shapecheck.analysis.interpreter.registry import EXPRESSIONS, STATEMENTS
from shapecheck.analysis.program.faults import Fault
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, Function, Value
from shapecheck.analysis.program.modules import Module, Program
from shapecheck.analysis.program.report import Reporter
from shapecheck.analysis.program.syntax import name_of
from shapecheck.analysis.values.model import Argument, Array, Ref
from shapecheck.analysis.values.parts import GROWING, bounded
from shapecheck.analysis.values.state import State, Yielded
from shapecheck.dims import Atom, DimExpr, Size, Sym
from shapecheck.explain import Message
from shapecheck.hints import Operand, Wanted
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Evaluate, Free, Matcher, Tensor, unevaluated

_AT_ONCE: Final = 32
"""As many unchanged things on the heap are compared in one step."""


_MOST_SUSPECTED: Final = 16
"""As many suspicions in a function that is looked into are kept for its caller."""


class TooManyErrors(Exception):
    """More has gone wrong in a body than who has it analysed wants to know of."""


@dataclass(slots=True)
class Loop:
    """The states that leave a loop early; `unrolled` if its body is run once for each item.

    `heads` are the states that the loops inside of it have begun with so far. `sound` are the
    branches in which nothing goes wrong in one of the passes, `failing` what is said of those in
    which something does, and how many errors that are; see `passes`.
    """

    node: ast.For | ast.AsyncFor | ast.While
    unrolled: bool = False
    sound: set[ast.AST] = field(default_factory=set)
    failing: dict[ast.AST, tuple[Reporter, int]] = field(default_factory=dict)
    heads: dict[ast.AST, State] = field(default_factory=dict)
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


class Observer(Protocol):
    """Who wants to know what the frames of a program find out; see `observing`.

    `sees_all`: of frames that report nothing too, which are quiet or look into what is called.
    """

    sees_all: bool

    def evaluated(self, frame: Frame, node: ast.expr, value: Value) -> None:
        """Take note of what an expression is worth."""

    def called(self, frame: Frame, function: Function, bound: Mapping[str, Argument]) -> None:
        """Take note of what a function of the program is called with."""


_observers: Final[dict[Program, Observer]] = {}


@contextmanager
def observing(program: Program, observer: Observer) -> Iterator[None]:
    """Tell someone what the frames of a program that begin meanwhile find out."""
    before = _observers.get(program)
    _observers[program] = observer
    try:
        yield
    finally:
        if before is None:
            del _observers[program]
        else:
            _observers[program] = before


class _Doubting:
    """A stretch of a body that the program may not get to; see `Frame.doubting`."""

    def __init__(self, frame: Frame, doubtful: bool) -> None:
        self._frame, self._doubtful = frame, doubtful
        self._before, self._returns = frame.doubt, len(frame.returns)

    def __enter__(self) -> None:
        self._frame.doubt += self._doubtful

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            returns = len(self._frame.returns) > self._returns
            self._frame.doubt = self._before + (self._doubtful and returns)


class Frame:
    """The interpreter of one body.

    `alive` is False where the program can't get to. `quiet` frames report nothing; who has it so
    for a while, and wants to know whether there is anything to report, sets `unsaid` to False, and
    it is True then. `faults` holds what goes wrong in a function that is looked into; it is None
    where errors are reported. `suspected` is what is only suspected in one.

    `doubt` counts the conditions and loops around the current point that may not get to it;
    `handled` the `try` statements that may swallow an error, `caught` what expects one.

    `nested` are the functions and classes that the body defines, with the state at their
    definition; `destination` the expression that goes to an annotated place, and what would fit
    there, `fits_result` what would as the result; `outer_names` the names that it declares
    `nonlocal`; `supposed` what strict mode has told to be supposed equal to something; `heads` the
    identities of what loops begin with; `given` what the parameters are when the body begins, where
    it is checked on its own, `promised` the names that they have in their annotations; `introduced`
    which annotated assignment the names were bound by that the parameters don't have; `dims` the
    dimension objects that its annotations are made of, `made` the first-class dimensions that the
    body makes; `shared` the variables that code out of sight uses, and whether it rebinds them;
    `taken` how many items each mask takes;
    `neighbours` the sizes that stood beside axes of bare parameters in what layers gave;
    `by_default` whether nothing is given on the command line, `reads_command_line` whether anything
    has depended on that; `has_defaults` whether the instance is made with its constructor's
    defaults; `globals` what the module's own code has put into its
    variables when it calls a function; `hides_names` whether the dimensions have other names than
    those that annotations give them, here or in a function that calls this one.
    With more than `most` errors it ends at the next statement by `TooManyErrors`.
    """

    def __init__(
        self,
        module: Module,
        state: State,
        *,
        function: Function | None = None,
        quiet: bool = False,
        faults: MutableSequence[Fault] | None = None,
        depth: int = 0,
        budget: Budget | None = None,
    ) -> None:
        self.module = module
        self.state: State = state
        self.alive = True
        self.function = function
        self.quiet, self.unsaid = quiet, True
        self.faults = faults
        self.suspected: list[Fault] = []
        self.doubt = self.handled = self.caught = 0
        self.depth = depth
        self.budget = budget or Budget()
        self.matcher = Matcher(state.facts)
        self.loops: list[Loop] = []
        self.heads: dict[object, Ref] = {}
        self.returns: list[tuple[Value, State]] = []
        self.yields: list[Yielded] = []
        self.check_return: Callable[[ast.expr, Value], Value] | None = None
        self.check_yield: Callable[[ast.expr, Value], Value] | None = None
        self.fits_result: Wanted | None = None
        self.destination: tuple[ast.expr, Wanted] | None = None
        self.given: dict[str, Value] = {}
        self.promised: frozenset[str] | None = None
        self.nested: list[tuple[Function | Class, State]] = []
        self.outer_names: set[str] = set()
        self.shared: dict[str, bool] = {}
        self.dims: set[Sym] = set()
        self.supposed: set[Atom] = set()
        self.introduced: dict[str, ast.AnnAssign] = {}
        self.made: set[Free] = set()
        self.axes: dict[Size, Sym] = {}
        self.taken: dict[object, Size] = {}
        self.neighbours: dict[Size, dict[Size, None]] = {}
        self.by_default = self.reads_command_line = self.hides_names = False
        self.has_defaults = False
        self.globals: Mapping[str, Value] = {}
        self.errors = 0
        self.most: float = math.inf
        self.at: ast.stmt | None = None
        self.observer = _observers.get(module.program) if _observers else None
        if self.observer is not None and (quiet or faults is not None):
            self.observer = self.observer if self.observer.sees_all else None

    @property
    def program(self) -> Program:
        """The program that the module belongs to."""
        return self.module.program

    # Names ------------------------------------------------------------------------------------

    def find(self, name: str) -> Value:
        """Return the value of a local or enclosing name, `NOTHING` if there is none."""
        found = self.state.vars.get(name, NOTHING)
        home = self.function.home if found is NOTHING and self.function is not None else None
        return found if home is None else home.find(name)

    def dimension(self, name: str) -> DimExpr | None:
        """Return what a dimension name stands for here or further out."""
        home = None if self.function is None else self.function.home
        found = self.matcher.names.get(name)
        return found if found is not None or home is None else home.dimension(name)

    @property
    def outer(self) -> Frame | None:
        """The frame of the function around this one's, where that is one that is run."""
        home = None if self.function is None else self.function.home
        return home if isinstance(home, Frame) else None

    def lookup(self, name: str) -> Value:
        """Return the value of a name: local, enclosing, global or builtin."""
        found = self.find(name)
        if found is NOTHING:
            found = self.globals.get(name, NOTHING)
        if found is NOTHING:
            found = self.module.resolve(name)
        return Dotted(f"builtins.{name}") if found is NOTHING else found

    def renew(self, node: ast.expr, value: Value, by: ast.expr) -> None:
        """Put another value into the variable that an expression is, as set where it was set."""
        name = name_of(node)
        if name is not None:
            self.assign(name, value, self.state.since.get(name, by.lineno))

    def rebind(self, name: str, value: Value) -> None:
        """Bind a name where it is bound, here or further out: the end of a `nonlocal`."""
        if name in self.state.vars or self.outer is None:
            self.state.vars[name] = value
        else:
            self.outer.rebind(name, value)

    def assign(self, name: str, value: Value, line: int) -> None:
        """Bind a local name; a size of which nothing is known is called by it from then on."""
        if type(value) is Size and (symbol := value.symbol) is not None:
            symbol.label(name)
        if name in self.shared:
            value = self._shared(value, self.shared[name])
        self.state.vars[name] = value
        self.state.since[name] = line

    def share(self, names: Iterable[str], rebound: Collection[str]) -> None:
        """Take note of variables, here or further out, that code out of sight uses or rebinds."""
        for name in names:
            self.shared[name] = self.shared.get(name, False) or name in rebound
        if self.outer is not None:
            self.outer.share(names, rebound)

    def _shared(self, value: Value, is_rebound: bool) -> Value:
        """Return what can be counted on of a value that code out of sight may change."""
        if self.state.container_of(value) is not None:
            self.state.put(value, None)
        return UNKNOWN if is_rebound else value

    def doubting(self, doubtful: bool = True) -> _Doubting:
        """Run what the program may not get to; what follows is as doubtful if that can return."""
        return _Doubting(self, doubtful)

    # Running ----------------------------------------------------------------------------------

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Execute statements until the end, or until the program can't get further."""
        for node in body:
            if not self.alive:
                return
            if self.errors > self.most:
                raise TooManyErrors
            self.budget.left -= 1
            self.at = node
            handler = STATEMENTS.get(type(node))
            if handler is not None:
                handler(self, node)

    def run_all(self, body: Sequence[ast.stmt], subject: str, told: Callable[[], bool]) -> None:
        """Execute a whole body; where its analysis ends early, that is told if it is to be."""
        quiet = self.quiet
        try:
            self.run(body)
        except BudgetExceeded:
            reason = f"{subject} takes more steps to analyse than shapecheck allows for its length"
            help_ = "; shorter functions, and annotations on those that it calls, take fewer"
            if self.budget.is_brief:
                reason = f"{subject} comes after functions that took the most of the module's steps"
                help_ = "; shorter modules, and annotations on what these call, take fewer"
        except RecursionError:
            reason, help_ = f"{subject} is nested too deeply here to be analysed", ""
        else:
            return
        finally:
            if self.budget.is_close:
                self.program.memory.close(self.budget.room)
        self.quiet = quiet
        if self.at is not None and told():
            self.note(self.at, f"{reason}: it is checked up to here, and not further{help_}")

    def spend(self, steps: int) -> None:
        """Take so many steps; raises BudgetExceeded where there are no more."""
        budget = self.budget
        budget.left -= steps
        if budget.left < 0:
            raise BudgetExceeded

    def eval(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        budget = self.budget  # as `spend` does, in the one place where its call would show
        budget.left -= 1
        if budget.left < 0:
            raise BudgetExceeded
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            return UNKNOWN
        value = handler(self, node)
        if self.observer is not None:
            self.observer.evaluated(self, node, value)
        return bounded(value) if type(value) in GROWING else value

    def fork(self) -> State:
        """Return a copy of the state, for another path."""
        return self.state.copy()

    def joined(self, one: State, other: State, place: object = None) -> State:
        """Join two states; it costs as many steps as there is to compare."""
        self.budget.left -= len(one.vars) + len(one.heap) // _AT_ONCE
        return one.join(other, place, None if place is None else self.heads)

    def joined_with(
        self, value: Value, one: State, its_value: Value, other: State
    ) -> tuple[Value, State]:
        """Join two states, and the values that they come with, which cost a step as well."""
        self.budget.left -= 1 + len(one.vars) + len(one.heap) // _AT_ONCE
        return one.join_with(value, other, its_value)

    def merged(self, found: Sequence[tuple[Value, State]]) -> Value:
        """Go on after one of several ways to evaluate an expression; return what each gives."""
        if not found:
            return UNKNOWN
        value, state = found[0]
        for other, its_state in found[1:]:
            under_unknown_condition = (
                state.facts.under_unknown_condition and its_state.facts.under_unknown_condition
            )
            value, state = self.joined_with(value, state, other, its_state)
            state.facts.under_unknown_condition = under_unknown_condition
        self.resume(state)
        return value

    def resume(self, state: State | None) -> None:
        """Go on in another state; None where the program can't get to."""
        self.alive = state is not None
        if state is not None:
            self.state = state

    # Reporting --------------------------------------------------------------------------------

    @property
    def silent(self) -> bool:
        """Whether nobody wants to know of an error here."""
        return self.quiet or self.unheeded

    @property
    def unheeded(self) -> bool:
        """Whether an error here is of no concern, be the frame quiet or not."""
        inside = self.faults is not None and bool(self.doubt or self.handled or self.faults)
        return inside or self.caught > 0

    @property
    def is_unasked(self) -> bool:
        """Whether nobody wants to know so much as whether there is anything to report."""
        return self.quiet and self.unsaid

    def unheard(self) -> None:
        """Take note of an error that isn't reported where the frame is silent."""
        self.errors += 1
        self.unsaid |= not self.unheeded

    def error(self, node: ast.AST, message: Message) -> None:
        """Report an error at a node, or keep it for the caller, unless nobody wants to know."""
        if self.silent:
            self.unheard()
            return
        self.errors += 1
        if self.faults is not None:
            self.faults.append(Fault(self.module, node, self.function, message))
        elif self.module.reporter is not None:
            self.module.reporter.error(node, message)

    def fault(self, fault: Fault) -> None:
        """Report what goes wrong inside of a function that this one calls."""
        if self.silent or self.handled:
            self.unheard()
            return
        self.errors += 1
        if self.faults is not None:
            self.faults.append(fault)
        elif self.module.reporter is not None:
            self.module.reporter.faults.append(fault)

    def suspect(self, fault: Fault) -> None:
        """Report what is suspected here or inside of a call, or keep it for the caller.

        It is told where it stands in the module under analysis only.
        """
        if self.quiet:
            self.unsaid = True
        elif self.faults is not None:
            known = {(one.node, one.message.text) for one in self.suspected}
            if (fault.node, fault.message.text) not in known and len(known) < _MOST_SUSPECTED:
                self.suspected.append(fault)
        elif self.module.reporter is None or fault.module is not self.module:
            return
        elif fault.calls:
            self.module.reporter.faults.append(fault)
        else:
            self.module.reporter.error(fault.node, fault.message)

    def note(self, node: ast.AST, text: str) -> None:
        """Report a note at a node, unless the frame is quiet."""
        if self.quiet:
            self.unsaid = True
        elif self.faults is None and self.module.reporter is not None:
            self.module.reporter.note(node, text)

    def hush(self, function: Callable[..., Value], *args: Any) -> Value:
        """Call `function(frame, *args)` for its result only, reporting nothing."""
        quiet, errors, unsaid = self.quiet, self.errors, self.unsaid
        self.quiet = self.unsaid = True
        try:
            return function(self, *args)
        finally:
            self.quiet, self.errors, self.unsaid = quiet, errors, unsaid

    def segment(self, node: ast.AST) -> str:
        """Return the source text of a node, as messages show it."""
        if hasattr(node, "lineno"):
            return self.module.lines.segment(node)
        return ast.unparse(node) if isinstance(node, ast.expr) else ""

    def wanted(self, node: ast.AST) -> Wanted | None:
        """Return what an annotation wants of a node's value; None where none is about it."""
        if self.destination is None or self.destination[0] is not node:
            return None
        return self.destination[1]

    def operand(
        self, role: str, node: ast.expr | None, value: Tensor, array: bool = False
    ) -> Operand:
        """Return a tensor operand as messages show it; `array`: one that is an array of numpy."""
        if node is None:
            return Operand(role, value)
        since = self.state.since.get(name_of(node) or "")
        kept = self._kept(node, since, "keepdims" if array else "keepdim")
        return Operand(role, value, self.segment(node), since, kept, array)

    def _kept(self, node: ast.expr, since: int | None, word: str) -> tuple[Tensor, str] | None:
        """Return what a reduction, or the variable it is assigned to, would be under keepdim."""
        name = name_of(node)
        made = node if name is None else self.state.sources.get(name)
        if not isinstance(made, ast.Call) or any(k.arg == word for k in made.keywords):
            return None
        if name is not None and made.lineno != since:
            return None
        keep = ast.keyword(word, ast.Constant(True))
        call = ast.copy_location(ast.Call(made.func, made.args, [*made.keywords, keep]), made)
        state = self.fork()
        value = self.hush(Frame.eval, call)
        self.state = state
        if isinstance(value, Array):
            value = value.tensor
        if not isinstance(value, Tensor):
            return None
        text = f"{self.segment(made)[:-1]}, {word}=True)"
        return value, text

    def let_go(self) -> None:
        """Refer to itself no more, now that its body has been run.

        So all that it has goes with the last who needs it, and needn't be looked for as garbage.
        """
        self.matcher.evaluate = unevaluated
        self.check_return = self.check_yield = self.fits_result = self.destination = None

    # Annotations --------------------------------------------------------------------------------

    def fit(
        self, evaluate: Evaluate | None = None, promises: Collection[str] | None = None
    ) -> Matcher:
        """Return a matcher for this body's annotations, bound to what the names are here.

        `promises`: see `Matcher`.
        """
        matcher = self.matcher
        matcher.facts = self.state.facts
        matcher.pending = []
        matcher.promises = promises
        if evaluate is not None:
            matcher.evaluate = evaluate
        return matcher
