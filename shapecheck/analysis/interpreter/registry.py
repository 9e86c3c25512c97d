"""What is looked up where it is needed: by the kind of syntax, by the name of a library's function.

Whoever knows what something does registers it here when its module is imported; the modules of
`library` are all imported before the first function is looked at. What values of some kind do is
in `kinds`.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.relevance import is_installed
from shapecheck.analysis.values.model import Arguments

if TYPE_CHECKING:
    from shapecheck.analysis.interpreter.frame import Frame

# Syntax -----------------------------------------------------------------------------------------

Expression: TypeAlias = Callable[..., Value]
Statement: TypeAlias = Callable[..., None]

EXPRESSIONS: Final[dict[type[ast.AST], Expression]] = {}
STATEMENTS: Final[dict[type[ast.AST], Statement]] = {}


def expression(kind: type[ast.expr]) -> Callable[[Expression], Expression]:
    """Register what a kind of expression is worth: `handler(frame, node)`."""

    def register(handler: Expression) -> Expression:
        EXPRESSIONS[kind] = handler
        return handler

    return register


def statement(kind: type[ast.stmt]) -> Callable[[Statement], Statement]:
    """Register what a kind of statement does: `handler(frame, node)`."""

    def register(handler: Statement) -> Statement:
        STATEMENTS[kind] = handler
        return handler

    return register


# Suspicions ---------------------------------------------------------------------------------------


class OpCall(NamedTuple):
    """An op that is right as far as can be told: its name, what it is given and gives, and where.

    `args` and `kwargs` are the values of its arguments, `operands` the expressions that they are
    from, None where there is none. `instance` holds what a layer was made with, `result`
    is what the op gives.
    """

    name: str
    label: str
    args: Sequence[Value]
    kwargs: Mapping[str, Value]
    operands: Sequence[ast.expr | None]
    instance: Mapping[str, Value] | None
    node: ast.expr | ast.stmt
    result: Value


class Suspicion(NamedTuple):
    """What is suspected: a sentence, and what would be meant more likely."""

    text: str
    notes: tuple[str, ...] = ()


Suspects: TypeAlias = "Callable[[Frame, OpCall], Suspicion | None]"
SUSPICIONS: Final[dict[str, list[Suspects]]] = {}


def suspects(*names: str) -> Callable[[Suspects], Suspects]:
    """Register what suspects ops of these names, which can't be proved to be wrong."""

    def register(handler: Suspects) -> Suspects:
        for name in names:
            SUSPICIONS.setdefault(name, []).append(handler)
        return handler

    return register


# Functions and methods ----------------------------------------------------------------------------

Named: TypeAlias = Mapping[str, Value]
Held = TypeVar("Held")
Held_co = TypeVar("Held_co", covariant=True)


class LibraryCall:
    """A call of something of a library: by what name, with what, and where.

    `name` is the last name of what is called, `label` what messages call it. `args` and `kwargs`
    are the values of the arguments.
    """

    __slots__ = ("args", "arguments", "kwargs", "label", "name", "node")

    def __init__(self, name: str, arguments: Arguments, node: ast.Call, label: str) -> None:
        self.name, self.arguments, self.node, self.label = name, arguments, node, label
        self.args: list[Value] = arguments.values
        self.kwargs: Named = arguments.named

    def get(self, index: int, name: str, default: Value = None) -> Value:
        """Return an argument that is given by its position or its name, or its default."""
        return self.args[index] if index < len(self.args) else self.kwargs.get(name, default)


class MethodCall(LibraryCall, Generic[Held_co]):
    """A call of a method of `owner`, which is `held`, or has it on the heap."""

    __slots__ = ("held", "owner")

    def __init__(
        self,
        name: str,
        arguments: Arguments,
        node: ast.Call,
        label: str,
        owner: Value,
        held: Held_co,
    ) -> None:
        super().__init__(name, arguments, node, label)
        self.owner = owner
        self.held = held


Function: TypeAlias = "Callable[[Frame, LibraryCall], Value]"
Method: TypeAlias = "Callable[[Frame, MethodCall[Held]], Value]"


class Handler(NamedTuple):
    """What calling something gives, with how many positional arguments it takes."""

    function: Callable[..., Value]
    least: int
    most: float

    def __call__(self, frame: Frame, call: LibraryCall) -> Value:
        """Return what a call gives; `NOTHING` for one that isn't as the function takes it."""
        if not self.least <= len(call.args) <= self.most:
            return NOTHING
        return self.function(frame, call)


FUNCTIONS: Final[dict[str, Handler]] = {}
CALLERS: Final[set[str]] = set()
"""The functions that call what they are given, or make something of it that does."""
METHODS: Final[dict[tuple[type, str], Handler]] = {}

Takes: TypeAlias = int | tuple[int, float]
MANY: Final = math.inf
_ANY_NUMBER: Final = (0, MANY)


def function(*names: str, takes: Takes = _ANY_NUMBER) -> Callable[[Function], Function]:
    """Register what calling functions of a library, by their dotted names, gives.

    `takes`: how many positional arguments they take, or the least and the greatest number; a call
    with another number is one of something that isn't known, which may change what it is given.
    """

    def register(handler: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, _taking(handler, takes)))
        return handler

    return register


Spread: TypeAlias = "Callable[[Frame, Value], Value]"
SPREADS: Final[dict[str, Spread]] = {}


def spreads(*names: str) -> Callable[[Spread], Spread]:
    """Register what functions of a library give of `*rows`, it isn't known how many."""

    def register(handler: Spread) -> Spread:
        SPREADS.update(dict.fromkeys(names, handler))
        return handler

    return register


def caller(*names: str, takes: Takes = _ANY_NUMBER) -> Callable[[Function], Function]:
    """Register functions of a library that call what they are given; as `function` otherwise."""
    CALLERS.update(names)
    return function(*names, takes=takes)


def on(
    kind: type[Held], *names: str, takes: Takes = _ANY_NUMBER
) -> Callable[[Method[Held]], Callable[..., Value]]:
    """Register what methods of a kind of value, or of what lies on the heap, give."""

    def register(handler: Method[Held]) -> Callable[..., Value]:
        for name in names:
            METHODS[kind, name] = _taking(handler, takes)
        return handler

    return register


def _taking(handler: Callable[..., Value], takes: Takes) -> Handler:
    least, most = (takes, takes) if isinstance(takes, int) else takes
    return Handler(handler, least, most)


def method(held: object, name: str) -> Handler | None:
    """Return what a method gives of what a value is, None where nobody has registered it."""
    return METHODS.get((type(held), name))


# Functions of libraries that are looked into ------------------------------------------------------

Stand: TypeAlias = "Callable[[Frame, Named, ast.expr], Value]"
STANDS: Final[dict[str, dict[str, Stand]]] = {}
TRANSPARENT: Final[dict[str, frozenset[str]]] = {}
"""By module, the decorators of libraries that leave what a function takes and gives as it was."""


def stands_for(module: str, *names: str) -> Callable[[Stand], Stand]:
    """Register what calling functions of an installed library gives, in place of a look into them.

    `names` are those of functions, or of methods behind their class: `ModelOutput.to_tuple`.
    `handler(frame, bound, node)` is given the arguments by the names of the parameters; it returns
    `NOTHING` to have the function looked into after all.
    """

    def register(handler: Stand) -> Stand:
        STANDS.setdefault(module, {}).update(dict.fromkeys(names, handler))
        return handler

    return register


_UNSEEN_MODULES: Final = re.compile(
    r"\.(?:trainer|training_args|tokenization|feature_extraction|image_processing|processing"
    r"|pipelines?|generation|hub|loaders|loggers|callbacks|strategies|commands|cli)(?:_\w+)*(?:\.|$)"
)
_UNSEEN_FUNCTIONS: Final = frozenset(
    "from_pretrained from_single_file generate push_to_hub save_pretrained".split()
)


@lru_cache(maxsize=4096)
def is_unseen(module: str, path: str, name: str) -> bool:
    """Whether a function or class of an installed library isn't looked into.

    What trains, reads files and asks a hub takes long to follow, and no shape comes of it.
    """
    if not is_installed(path):
        return False
    return name in _UNSEEN_FUNCTIONS or _UNSEEN_MODULES.search(module) is not None


def transparent(module: str, *names: str) -> None:
    """Register decorators of an installed library that change nothing that matters here."""
    TRANSPARENT[module] = TRANSPARENT.get(module, frozenset()) | frozenset(names)
