"""The parts of a program's syntax tree."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, partial, wraps
from io import StringIO
from itertools import islice
from typing import ClassVar, Final, TypeAlias, TypeGuard, TypeVar, cast

from shapecheck.analysis.host import Source, Span
from shapecheck.analysis.program.reading import (
    NOTED,
    Body,
    Definition,
    Reading,
    Unnoted,
    name_in_module,
    quietly,
    read,
    said,
    statements,
    watch,
)
from shapecheck.analysis.relevance import TEXT, mentions_tensors

_KEPT: Final = 32
_Node = TypeVar("_Node", bound=ast.AST)
_AnyNode = TypeVar("_AnyNode", bound=ast.AST)
_T = TypeVar("_T")


_forget_kept: Final[list[Callable[[], None]]] = []


def forget_kept() -> None:
    """Forget what is kept by nodes, and with it the nodes: where definitions get other bodies."""
    for forget in _forget_kept:
        forget()


def keeping(most: int) -> Callable[[Callable[[_AnyNode], _T]], Callable[[_AnyNode], _T]]:
    """Have a function of a node keep its last answers, until all is forgotten that is so kept."""

    def kept(function: Callable[[_AnyNode], _T]) -> Callable[[_AnyNode], _T]:
        known = lru_cache(maxsize=most)(function)
        _forget_kept.append(known.cache_clear)
        return known

    return kept


def kept_by_node(most: int) -> Callable[[Callable[[_AnyNode], _T]], Callable[[_AnyNode], _T]]:
    """Have a function of a node keep its last answers, and note that a definition is read."""

    def kept(function: Callable[[_AnyNode], _T]) -> Callable[[_AnyNode], _T]:
        known = keeping(most)(function)

        @wraps(function)
        def found(node: _AnyNode) -> _T:
            read(node)
            return known(node)

        return found

    return kept


_ahead: Final[dict[str, ast.Module]] = {}
"""The text that was parsed ahead last, with its tree."""


def parse_ahead(text: str) -> None:
    """Parse a module for `tree_of`, which will be asked for it next; raises what that does."""
    tree = tree_of(text)
    _ahead.clear()
    _ahead[text] = tree


def tree_of(text: str) -> ast.Module:
    """Parse a module; raises SyntaxError, and nothing else. The tree is for who asks alone."""
    ahead = _ahead.pop(text, None)
    if ahead is not None:
        return ahead
    try:
        return ast.parse(text)
    except (RecursionError, MemoryError):
        raise SyntaxError("nested too deeply") from None
    except ValueError as error:  # Python 3.10 has this for a null byte
        raise SyntaxError(str(error)) from None


def parsed_expression(text: str) -> ast.expr:
    """Parse an expression, as an annotation in quotes is one; raises SyntaxError, nothing else."""
    try:
        return ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError):
        raise SyntaxError("nested too deeply") from None
    except ValueError as error:
        raise SyntaxError(str(error)) from None


def walk(tree: ast.AST) -> Sequence[ast.AST]:
    """Return the nodes of a tree in the order of `ast.walk`, operators and contexts left out."""
    found = [tree]
    for node in found:  # while it is gone through, there come to be more
        add_children(node, found)
    return found


def add_children(node: ast.AST, found: list[ast.AST]) -> None:
    """Add the nodes right inside of one to a list, operators and contexts left out."""
    fields = _FIELDS.get(type(node))
    for field in _fields(type(node)) if fields is None else fields:
        held = getattr(node, field, None)
        if isinstance(held, list):
            found += [one for one in held if isinstance(one, ast.AST)]
        elif isinstance(held, ast.AST):
            found.append(held)


_LEAVES: Final = frozenset(("attr", "ctx", "id", "kind", "op", "ops", "type_comment"))
_FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {}
"""For each kind of node that was met: the fields in which there may be others."""


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    fields = () if kind is ast.Constant else kind._fields
    found = _FIELDS[kind] = tuple(field for field in fields if field not in _LEAVES)
    return found


@kept_by_node(_KEPT)
def nodes(tree: ast.AST) -> Sequence[ast.AST]:
    """Return the nodes of a tree, as `walk` does; those of a few trees are kept."""
    return walk(tree)


@kept_by_node(_KEPT)
def _by_kind(tree: ast.AST) -> Mapping[type[ast.AST], Sequence[ast.AST]]:
    """Return the nodes of a function by their kinds, each in the order of `walk`."""
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in nodes(tree):
        found.setdefault(type(node), []).append(node)
    return found


def nodes_of(kind: type[_Node] | tuple[type[_Node], ...], *trees: ast.AST) -> Iterator[_Node]:
    """Yield the nodes of a kind, or of several, in some pieces of source.

    Those of one kind in a function are kept by that: `ast.Call` is one, and `ast.expr` is none.
    """
    for tree in trees:
        if isinstance(kind, type) and is_def(tree):
            yield from cast("Sequence[_Node]", _by_kind(tree).get(kind, ()))
        else:
            yield from (node for node in walk(tree) if isinstance(node, kind))


@kept_by_node(1024)
def names_in(node: ast.AST) -> frozenset[str]:
    """Return the names that a piece of source mentions."""
    return frozenset(child.id for child in nodes_of(ast.Name, node))


@kept_by_node(1024)
def words_in(node: ast.AST) -> frozenset[str]:
    """Return the names of variables, attributes and parameters in a piece of source."""
    found: set[str] = set()
    for child in walk(node):
        match child:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
                found.add(word)
    return frozenset(found)


Def: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_DEFS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_def(node: object) -> TypeGuard[Def]:
    """Whether something is the `def` of a function."""
    return isinstance(node, _DEFS)


def defs(body: Iterable[ast.AST]) -> Iterator[Def]:
    """Yield the functions among statements."""
    return filter(is_def, body)


def text_of(node: ast.AST | None) -> str | None:
    """Return the text that an expression spells out, None where it is anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
    return None


def is_none(node: ast.AST | None) -> bool:
    """Whether an expression is `None`."""
    match node:
        case ast.Constant(value=None):
            return True
    return False


def is_zero(node: ast.AST | None) -> bool:
    """Whether an expression is written as the number 0."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 0


def name_of(node: ast.AST | None) -> str | None:
    """Return the variable that an expression is, None where it is anything else."""
    return node.id if isinstance(node, ast.Name) else None


def owner_of(node: ast.AST) -> ast.expr | None:
    """Return what an attribute is asked of: `x` of `x.mT`; None for anything else."""
    return node.value if isinstance(node, ast.Attribute) else None


def first_of(node: ast.expr) -> ast.expr:
    """Return what attributes are asked of at first: `x` of `x.mT.shape`."""
    owner = owner_of(node)
    return node if owner is None else first_of(owner)


def last_word(node: ast.AST) -> str:
    """Return the last name in a dotted one: `field` of `dataclasses.field`; "" for none."""
    return node.attr if isinstance(node, ast.Attribute) else name_of(node) or ""


def called(node: ast.expr) -> ast.expr:
    """Return what a call calls, and anything else as it is: decorators may be either."""
    return node.func if isinstance(node, ast.Call) else node


def unstarred(node: ast.expr) -> ast.expr:
    """Return what a star stands before, and anything else as it is."""
    return node.value if isinstance(node, ast.Starred) else node


def is_empty(node: ast.stmt) -> bool:
    """Whether a statement does nothing: `pass`, `...` or a docstring."""
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def elements(node: ast.AST) -> list[ast.expr] | None:
    """Return the items of a tuple or list that is spelled out, None for anything else."""
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else None


def stored_in(target: ast.expr) -> set[str]:
    """Return the variables that an assignment to a target sets."""
    parts = elements(target)
    if parts is None:
        return {target.id} if isinstance(target, ast.Name) else set()
    return {name for part in parts for name in stored_in(part)}


def given_to(params: Iterable[str], node: ast.Call) -> dict[str, ast.expr]:
    """Return what a call gives parameters, by their names; starred arguments are one each."""
    names = list(params)
    words = {word.arg: word.value for word in node.keywords if word.arg in names}
    return {**dict(zip(names, node.args, strict=False)), **words}


def _is_of_files(function: ast.expr) -> bool:
    """Whether a function is `torch.save` or `torch.load`."""
    match function:
        case ast.Attribute(value=ast.Name(id="torch"), attr="save" | "load"):
            return True
    return False


_HOOKING: Final = re.compile("register_(?:.*_)?hook")
_HANDING_ON: Final = frozenset(("partial", "skip_init"))
"""Functions that call the first of their arguments with the others."""


class Survey:
    """What one pass over a module's syntax collects.

    `annotations` are all annotations; `generators` the functions that yield; `stores` the
    attributes of `self` that each method assigns, `ANY_NAME` among them where it may be any,
    `alters` those whose content it changes, and `mentions` those that it reads or calls;
    `calls` the calls of each plain name, by `partial` too, `derived` the classes of which a base
    is spelled with a word, `assigned_to` the attributes that are assigned to plain names,
    `equated` what is asserted to be equal,
    `reassigned` by how many functions globals are assigned, `changed` the plain names of which the
    content is changed, `handed_on` those that get another name, or are given to a function that
    isn't known;
    `hooks` the calls that register a function to be called at some time,
    `saves` whether anything is saved to a file, or loaded from one, by torch.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.annotations: list[ast.expr] = []
        self.generators: set[ast.AST] = set()
        self.stores: dict[ast.AST, set[str]] = {}
        self.alters: dict[ast.AST, set[str]] = {}
        self.mentions: dict[ast.AST, set[str]] = {}
        self.calls: dict[str, list[ast.Call]] = {}
        self.equated: list[ast.Compare] = []
        self.reassigned: Counter[str] = Counter()
        self.changed: set[str] = set()
        self.handed_on: set[str] = set()
        self.derived: dict[str, list[ast.ClassDef]] = {}
        self.assigned_to: dict[str, set[str]] = {}
        self.hooks: list[ast.Call] = []
        self.saves = False
        stack: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
        while stack:
            node, inside = stack.pop()
            kind = type(node)
            if kind in _FUNCTIONS:
                inside = node
            look, look_inside, fields = _VISITS.get(kind) or _visit(kind)
            if look is not None:
                look(self, node)
            if inside is not None and look_inside is not None:
                look_inside(self, node, inside)
            for field in fields:
                value = getattr(node, field)
                if type(value) is list:
                    stack += [(child, inside) for child in value if type(child) not in _BARE]
                elif type(value) not in _BARE:
                    stack.append((value, inside))

    def _function(self, node: Def | ast.Lambda) -> None:
        self.stores[node], self.alters[node], self.mentions[node] = set(), set(), set()
        returns = getattr(node, "returns", None)
        if returns is not None:
            self.annotations.append(returns)

    def _class(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            self.derived.setdefault(last_word(base), []).append(node)

    def _annotated(self, node: ast.arg | ast.AnnAssign) -> None:
        if node.annotation is not None:
            self.annotations.append(node.annotation)

    def _declared(self, node: ast.AnnAssign) -> None:
        self._annotated(node)
        self._kept(node)

    def _call(self, node: ast.Call) -> None:
        if type(node.func) is ast.Name:
            self.calls.setdefault(node.func.id, []).append(node)
        else:
            self.saves = self.saves or _is_of_files(node.func)
            if _HOOKING.fullmatch(last_word(node.func)):
                self.hooks.append(node)
        if node.args and type(node.args[0]) is ast.Name and last_word(called(node)) in _HANDING_ON:
            through = ast.Call(node.args[0], node.args[1:], node.keywords)
            self.calls.setdefault(node.args[0].id, []).append(ast.copy_location(through, node))
        self._kept(node)

    def _kept(self, node: ast.AST) -> None:
        self.handed_on.update(one.id for one in _kept_by(node) if type(one) is ast.Name)

    def _assert(self, node: ast.Assert) -> None:
        match node.test:
            case ast.Compare(ops=[ast.Eq()]) as test:
                self.equated.append(test)

    def _method(self, node: ast.Attribute) -> None:
        if node.attr in MUTATORS:
            self._change_of(node.value)
        if type(node.ctx) is ast.Store and type(node.value) is ast.Name:
            self.assigned_to.setdefault(node.value.id, set()).add(node.attr)

    def _item(self, node: ast.Subscript) -> None:
        if type(node.ctx) is not ast.Load:
            self._change_of(node.value)

    def _change_of(self, node: ast.expr) -> None:
        """Take note of `items.append(...)` and `items["a"][0] = ...`."""
        while type(node) is ast.Subscript:
            node = node.value
        if type(node) is ast.Name:
            self.changed.add(node.id)

    def _augmented(self, node: ast.AugAssign) -> None:
        if type(node.target) is ast.Name:
            self.changed.add(node.target.id)

    def _yield(self, node: ast.Yield | ast.YieldFrom, inside: ast.AST) -> None:
        self.generators.add(inside)

    def _attribute(self, node: ast.Attribute, inside: ast.AST) -> None:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                self.stores[inside].add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                self.mentions[inside].add(name)
            case ast.Attribute(value=owner, attr=name) if name in MUTATORS:
                self._changed(owner, inside)

    def _set(self, node: ast.Call, inside: ast.AST) -> None:
        """Take note of `setattr(self, name, value)` and its like."""
        if last_word(node.func) not in SETTERS or len(node.args) < 2:
            return
        match node:
            case (
                ast.Call(func=ast.Attribute(value=ast.Name(id="self")))
                | ast.Call(args=[ast.Name(id="self"), *_])
            ):
                self.stores[inside].add(text_of(node.args[-2]) or ANY_NAME)
            case ast.Call(args=[ast.Name(), name, _]) if _makes_instances(inside):
                self.stores[inside].add(text_of(name) or ANY_NAME)

    def _subscript(self, node: ast.Subscript, inside: ast.AST) -> None:
        if type(node.ctx) is not ast.Load:
            self._changed(node.value, inside)

    def _changed(self, node: ast.expr, inside: ast.AST) -> None:
        """Take note of `self.items.append(...)` and `self.items[0] = ...`."""
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr="__dict__"):
                self.stores[inside].add(ANY_NAME)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                self.alters[inside].add(name)

    def _global(self, node: ast.Global, inside: ast.AST) -> None:
        self.reassigned.update(set(node.names) & _names_stored(inside))


def _makes_instances(function: ast.AST) -> bool:
    """Whether a function is a method of a class, as those are that read an instance from a file."""
    decorators = function.decorator_list if is_def(function) else []
    return any(name_of(one) == "classmethod" for one in decorators)


def _names_stored(tree: ast.AST) -> set[str]:
    """Return the variables that a piece of source assigns to."""
    found: set[str] = set()
    for node in nodes_of(ast.Name, tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


_Look: TypeAlias = Callable[..., None]
_LOOKS: Final[dict[type[ast.AST], _Look]] = {
    ast.FunctionDef: Survey._function,
    ast.AsyncFunctionDef: Survey._function,
    ast.Lambda: Survey._function,
    ast.ClassDef: Survey._class,
    ast.AnnAssign: Survey._declared,
    ast.Assert: Survey._assert,
    ast.Call: Survey._call,
    ast.Attribute: Survey._method,
    ast.Subscript: Survey._item,
    ast.AugAssign: Survey._augmented,
    **dict.fromkeys(
        (
            *(ast.Assign, ast.NamedExpr, ast.Return, ast.Yield),
            *(ast.Tuple, ast.List, ast.Dict, ast.BoolOp, ast.IfExp),
        ),
        Survey._kept,
    ),
}
"""What is noted of a kind of node wherever it stands."""

_LOOKS_INSIDE: Final[dict[type[ast.AST], _Look]] = {
    ast.Yield: Survey._yield,
    ast.YieldFrom: Survey._yield,
    ast.Call: Survey._set,
    ast.Attribute: Survey._attribute,
    ast.Subscript: Survey._subscript,
    ast.Global: Survey._global,
}
"""What is noted of a kind of node in the function in which it stands."""

ANY_NAME: Final = "*"
"""Stands among the attributes that a method assigns for one whose name is made as it runs."""

FORWARD_HOOKS: Final = ("register_forward_hook", "register_forward_pre_hook")
"""What has a function called at each call of a layer, in which it may put something else."""
SETTERS: Final = frozenset(("setattr", "__setattr__"))
"""What sets an attribute by its name."""

MUTATORS: Final = frozenset(
    "add append appendleft clear extend insert pop popitem remove setdefault update".split()
)
_FUNCTIONS: Final = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))

# Half of all nodes are names, constants, operators and contexts, which hold nothing to survey.
_BARE: Final = frozenset((ast.Name, ast.Constant, str, int, bool, type(None)))
_VISITS: Final[dict[type[ast.AST], tuple[_Look | None, _Look | None, tuple[str, ...]]]] = {
    ast.arg: (Survey._annotated, None, ())  # an annotation isn't gone into
}
"""For each kind of node that was met: what is noted of it, and the fields to go on with."""


def _visit(kind: type[ast.AST]) -> tuple[_Look | None, _Look | None, tuple[str, ...]]:
    _VISITS[kind] = _LOOKS.get(kind), _LOOKS_INSIDE.get(kind), _fields(kind)
    return _VISITS[kind]


class Syntax:
    """A parsed source: its tree, what a pass over it collects, what binds each global name.

    `tree` may be given. `is_taken_over`: its nodes are another one's by now, see `grafting`.
    """

    taken_over: ClassVar[int] = 0
    """How many have been taken over so far."""

    def __init__(self, source: Source, tree: ast.Module | None = None) -> None:
        self.source = source
        self.is_taken_over = False
        self.tree = tree_of(source.text) if tree is None else tree
        self.survey = Survey(self.tree)
        self.lines = Lines(source.text)
        self.bindings: dict[str, list[ast.stmt]] = {}
        for node in flatten(self.tree.body):
            for name in bound_names(node):
                self.bindings.setdefault(name, []).append(node)
        self._unconditional = frozenset(self.tree.body)
        self._is_script = any(map(_does_something, self.tree.body))
        self._readings: dict[str, Reading] = {}
        self._definitions: dict[str, Definition] = {}
        self._definitions = watch(self.tree, self.reading)

    def reading(self, key: str) -> Reading:
        """Return a part of the module that is read by itself, by its key: a kind, a name."""
        found = self._readings.get(key)
        if found is None:
            what, _, name = key.partition(" ")
            said = partial(_SAID[what], self, name)
            found = self._readings[key] = Reading(self.source.name, key, said)
        return found

    @property
    def readings(self) -> dict[str, Reading]:
        """The parts that have been read, by their keys."""
        return self._readings

    def take_over(self) -> None:
        """Give the nodes to another one: nobody notes any more who goes through them here."""
        self.is_taken_over = True
        Syntax.taken_over += 1
        for node in self._definitions.values():
            node.body = [*quietly(node)]

    def let_go(self) -> None:
        """Refer to itself no more: it goes, with all of its nodes, with the last who has it."""
        self.take_over()
        self._readings = {}

    def keep(self, reading: Reading) -> None:
        """Have a reading of another text, where the same stands, for the one that is here."""
        what, _, name = reading.key.partition(" ")
        definition = self._definitions.get(name) if what == "body" else None
        if definition is not None and isinstance(definition.body, Body):
            definition.body.reading = reading
        self._readings[reading.key] = reading

    def read(self, what: str, node: ast.AST) -> None:
        """Note that something is asked of a function: what it `stores`, `mentions`, or `yields`.

        Or its `comments`, which parameters it has `taken`, or whether it does `nothing`. What a
        function inside of another one does is in the body of that.
        """
        name = name_in_module(node)
        if name is not None:
            NOTED.readings.add(self.reading(f"{what} {name}"))

    def stored(self, function: ast.AST) -> set[str]:
        """Return the attributes of `self` that a function assigns."""
        self.read("stores", function)
        return self.survey.stores.get(function, set())

    def altered(self, function: ast.AST) -> set[str]:
        """Return the attributes of `self` of which a function changes the content."""
        self.read("stores", function)
        return self.survey.alters.get(function, set())

    def mentioned(self, function: ast.AST) -> set[str]:
        """Return the attributes of `self` that a function reads or calls."""
        self.read("mentions", function)
        return self.survey.mentions.get(function, set())

    def is_generator(self, function: ast.AST) -> bool:
        """Whether a function yields."""
        self.read("yields", function)
        return function in self.survey.generators

    def does_nothing(self, function: Def) -> bool:
        """Whether there is only a docstring, `pass` or `...` in a function."""
        self.read("nothing", function)
        return all(map(is_empty, quietly(function)))

    def taken(self, function: Def) -> list[tuple[str, str]]:
        """Return the attributes that a method assigns parameters to, with these: `self.d = d`."""
        self.read("taken", function)
        return [*_taken(function)]

    def definition(self, name: str) -> Definition:
        """Return the function or class of a name, as `name_in_module` has it; raises KeyError."""
        return self._definitions[name]

    def read_definition(self, name: str) -> None:
        """Note that a definition is read, with the heads of the classes in which it stands."""
        words = name.split(".")
        for depth in range(1, len(words) + 1):
            NOTED.readings.add(self.reading(f"head {'.'.join(words[:depth])}"))
        NOTED.readings.add(self.reading(f"body {name}"))

    def read_all(self, but: AbstractSet[str] = frozenset()) -> None:
        """Note that each definition is read, and the module itself, but for those of some names."""
        NOTED.readings.update(
            self.reading(f"body {name}") for name in self._definitions if name not in but
        )

    def read_heads(self, names: AbstractSet[str]) -> None:
        """Note that the heads of definitions are read."""
        heads = (f"head {name}" for name in names if name in self._definitions)
        NOTED.readings.update(map(self.reading, heads))

    def length_of(self, *nodes: ast.AST) -> int:
        """Return how many lines functions or statements say, comments and empty ones left out."""
        names = [name_in_module(node) if is_def(node) else None for node in nodes]
        return sum(
            self._spelled(node) if name is None else self.reading(f"body {name}").lines
            for node, name in zip(nodes, names, strict=True)
        )

    def _spelled(self, node: ast.AST) -> int:
        with Unnoted():
            return sum(part.count("\n") + 1 for part in said(node, self.lines.spelled))

    def placed(self) -> None:
        """Note that what is found holds for as long as everything stands on its line."""
        NOTED.readings.add(self.reading(PLACES))

    def quoted(self) -> None:
        """Note that a message speaks of lines of the module."""
        NOTED.readings.add(self.reading(TEXT))

    def bound(self, name: str) -> list[ast.stmt]:
        """Return the statements that bind a global name."""
        NOTED.readings.add(self.reading(f"name {name}"))
        return self.bindings.get(name, [])

    def chosen(self, name: str) -> ast.IfExp | None:
        """Return what an `if` binds a global name to, one thing or the other, as an expression.

        None where anything else binds it, too, or where one way of the `if` doesn't.
        """
        nodes = self.bindings.get(name, [])
        if len(nodes) < 2 or any(map(self.is_unconditional, nodes)):
            return None
        ifs = (one for one in self.tree.body if isinstance(one, ast.If))
        return next(filter(None, (_choice(one, frozenset(nodes)) for one in ifs)), None)

    def is_unconditional(self, node: ast.stmt) -> bool:
        """Whether a statement that binds a global name is no part of another one."""
        return node in self._unconditional

    def is_constant(self, name: str) -> bool:
        """Whether what a global holds stays as it is when the module is imported.

        Nothing in the module changes its content, or hands it on to what may. Other modules don't
        either if it is in capitals, or if the module is a script, of which nobody imports what it
        has set.
        """
        is_changed = name in self.survey.changed or name in self.survey.handed_on
        return self._is_own(name) and not is_changed

    def _is_own(self, name: str) -> bool:
        """Whether no other module changes a global, as far as its name and the module tell."""
        return name.isupper() or self._is_script

    def calls(self, name: str) -> list[ast.Call]:
        """Return the calls of a plain name."""
        NOTED.readings.add(self.reading(f"calls {name}"))
        return self.survey.calls.get(name, [])

    def rebound(self, name: str) -> set[str]:
        """Return the attributes that classes derived from one have anew, by its plain name."""
        NOTED.readings.add(self.reading(f"derived {name}"))
        return self._rebound(name)

    def _rebound(self, name: str) -> set[str]:
        found, waiting, seen = set[str](), [name], {name}
        while waiting:
            for node in self.survey.derived.get(waiting.pop(), ()):
                body = [*quietly(node)]
                found.update(*map(bound_names, body))
                found.update(*(self.survey.stores[one] for one in defs(body)))
                if node.name not in seen:
                    seen.add(node.name)
                    waiting.append(node.name)
        return found

    def assigned_to(self, name: str) -> set[str]:
        """Return the attributes that the module assigns to what has a plain name."""
        NOTED.readings.add(self.reading(f"derived {name}"))
        return self.survey.assigned_to.get(name, set())

    def hooks(self) -> list[ast.AST]:
        """Return the functions that are called as hooks of layers and tensors, or make such."""
        NOTED.readings.add(self.reading("hooks"))
        return self._hooks() if self.survey.hooks else []

    def _hooks(self) -> list[ast.AST]:
        given = [one for call in self.survey.hooks for one in given_to(("hook",), call).values()]
        inside = [one for each in given for one in ast.walk(each)]
        names = {last_word(one) for one in inside if isinstance(one, (ast.Name, ast.Attribute))}
        return [
            function
            for function in self.survey.stores
            if function in inside or (is_def(function) and function.name in names)
        ]

    def equated(self, name: str) -> set[frozenset[str]]:
        """Return what a module that calls a plain name asserts to be equal, as it is dumped."""
        NOTED.readings.add(self.reading(f"calls {name}"))
        return {
            frozenset((ast.dump(one.left), ast.dump(one.comparators[0])))
            for one in (self.survey.equated if name in self.survey.calls else ())
        }

    def says_name(self, name: str) -> Iterator[str]:
        """Yield what is bound to a name."""
        for node in self.bindings.get(name, ()):
            yield "always" if self.is_unconditional(node) else "perhaps"
            yield from said(node, self.lines.spelled, head=True)
        if (chosen := self.chosen(name)) is not None:
            yield self.lines.spelled(chosen)
        yield f"reassigned: {self.survey.reassigned[name]}, *: {'*' in self.bindings}"
        if name in self.survey.changed:
            yield "changed"
        if name in self.bindings and self._is_own(name) and name in self.survey.handed_on:
            yield "handed on"
        if name in self.bindings and self._is_script:
            yield "of a script"

    def says_calls(self, name: str) -> Iterator[str]:
        """Yield the calls of a plain name, and what is asserted where there are some."""
        calls = self.survey.calls.get(name, ())
        yield from map(self.lines.spelled, (*calls, *(self.survey.equated if calls else ())))

    def says_derived(self, name: str) -> Iterator[str]:
        """Yield the attributes that classes derived from one of this name have anew, or it has."""
        yield from sorted(self._rebound(name))
        yield "assigned"
        yield from sorted(self.survey.assigned_to.get(name, ()))

    def says_hooks(self, name: str) -> Iterator[str]:
        """Yield what registers hooks, and which functions these are."""
        yield from map(self.lines.spelled, self.survey.hooks)
        yield from (str(name_in_module(function)) for function in self._hooks())

    def says_body(self, name: str) -> Iterator[str]:
        """Yield what stands in a definition; of one that isn't there, nothing."""
        node = self._definitions.get(name)
        yield from () if node is None else statements(node, self.lines.spelled)

    def says_head(self, name: str) -> Iterator[str]:
        """Yield a definition's name, parameters, decorators and bases."""
        node = self._definitions.get(name)
        yield from () if node is None else said(node, self.lines.spelled, head=True)

    def says_stores(self, name: str) -> Iterator[str]:
        """Yield which attributes a function assigns, and of which it changes the content."""
        node = self._definitions.get(name)
        if node is not None:
            yield from sorted(self.survey.stores.get(node, ()))
            yield "changes"
            yield from sorted(self.survey.alters.get(node, ()))

    def says_mentions(self, name: str) -> Iterator[str]:
        """Yield which attributes a function reads or calls."""
        node = self._definitions.get(name)
        yield from sorted(self.survey.mentions.get(node, ())) if node is not None else ()

    def says_comments(self, name: str) -> Iterator[str]:
        """Yield the comments in a function."""
        node = self._definitions.get(name)
        if is_def(node):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            yield from (self.lines[line].partition("#")[2] for line in lines)

    def says_text(self, name: str) -> Iterator[str]:
        """Yield all that stands in the module, comments included, and what it is called."""
        yield self.source.path
        yield self.source.text

    def says_places(self, name: str) -> Iterator[str]:
        """Yield what is another text where anything stands on another line or column."""
        yield self.source.text

    def says_tensors(self, name: str) -> Iterator[str]:
        """Yield whether the module has anything to do with tensors."""
        yield str(mentions_tensors(self.source.text))

    def says_yields(self, name: str) -> Iterator[str]:
        """Yield whether a function is a generator."""
        yield str(self._definitions.get(name) in self.survey.generators)

    def says_taken(self, name: str) -> Iterator[str]:
        """Yield which parameters a function assigns to which attributes."""
        node = self._definitions.get(name)
        yield from map(" ".join, _taken(node)) if is_def(node) else ()

    def says_nothing(self, name: str) -> Iterator[str]:
        """Yield whether a function does nothing."""
        node = self._definitions.get(name)
        yield str(node is not None and all(map(is_empty, quietly(node))))


_SAID: Final[dict[str, Callable[[Syntax, str], Iterator[str]]]] = {
    "name": Syntax.says_name,
    "calls": Syntax.says_calls,
    "derived": Syntax.says_derived,
    "hooks": Syntax.says_hooks,
    "body": Syntax.says_body,
    "head": Syntax.says_head,
    "stores": Syntax.says_stores,
    "mentions": Syntax.says_mentions,
    "yields": Syntax.says_yields,
    "nothing": Syntax.says_nothing,
    "taken": Syntax.says_taken,
    "comments": Syntax.says_comments,
    "text": Syntax.says_text,
    "places": Syntax.says_places,
    "tensors": Syntax.says_tensors,
}
"""What is read of a module by itself."""


_MOST_FILES: Final = 1024


PLACES: Final = "places"
"""The key of where things stand, on which nothing rests for longer than a process."""

_parsed: Final[dict[str, Syntax]] = {}
"""The files that were parsed last, of each the text that was."""


def syntax(source: Source) -> Syntax:
    """Parse a source, once for all the modules that look at it; raises SyntaxError."""
    found = _parsed.pop(source.path, None)
    if found is None or found.source != source or found.is_taken_over:
        found = Syntax(source)
    keep_parsed(found)
    return found


def keep_parsed(one: Syntax) -> None:
    """Keep a parsed source for all who ask for it."""
    _parsed.pop(one.source.path, None)
    _parsed[one.source.path] = one
    if len(_parsed) > _MOST_FILES:
        del _parsed[next(iter(_parsed))]


def drop_parsed(source: Source) -> None:
    """Keep a source no longer; who asks for it parses it again."""
    _parsed.pop(source.path, None)


DEFINITIONS: Final = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


def _kept_by(node: ast.AST) -> Iterable[ast.expr | None]:
    """Return the expressions of which a piece of syntax keeps the very object that they give.

    A class that is given one is taken to read it, and so are libraries of numbers.
    """
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.NamedExpr(value=value):
            return (value,)
        case ast.Return(value=value) | ast.Yield(value=value):
            return (value,)
        case ast.Tuple(elts=found) | ast.List(elts=found) | ast.Dict(values=found):
            return found
        case ast.BoolOp(values=found):
            return found
        case ast.IfExp(body=one, orelse=other):
            return (one, other)
        case ast.Call(func=func, args=args, keywords=keywords):
            word = last_word(func)
            only_reads = word[:1].isupper() or name_of(first_of(func)) in _READERS
            return () if only_reads else (*args, *(keyword.value for keyword in keywords))
    return ()


_READERS: Final = frozenset(
    "torch nn F np numpy math random len list tuple set dict frozenset sorted reversed range "
    "enumerate zip map filter sum min max any all print str repr isinstance iter next".split()
)


def _does_something(node: ast.stmt) -> bool:
    """Whether a statement outside of functions is more than one that binds names."""
    match node:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case ast.For() | ast.While() | ast.Expr(value=ast.Call()):
            return True
    return False


def _taken(method: Def) -> Iterator[tuple[str, str]]:
    """Yield the attributes of its instance that a method assigns names to, with these."""
    first = [one.arg for one in (*method.args.posonlyargs, *method.args.args)][:1]
    for node in quietly(method):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id=owner), attr=attr)],
                value=ast.Name(id=name),
            ) if [owner] == first:
                yield attr, name


def _choice(node: ast.If, nodes: AbstractSet[ast.stmt]) -> ast.IfExp | None:
    """Return what all statements that bind a name do, where each way of an `if` has just one."""
    ways: list[ast.expr] = []
    left = set(nodes)
    for block in (node.body, node.orelse):
        match [one for one in block if one in nodes] or block:
            case [ast.Assign(targets=[ast.Name()], value=value) as one] if one in nodes:
                left.discard(one)
                ways.append(value)
            case [ast.If() as inner]:  # `elif`
                last = inner.end_lineno or inner.lineno
                within = {one for one in nodes if inner.lineno <= one.lineno <= last}
                chosen = _choice(inner, within)
                left -= within
                if chosen is not None:
                    ways.append(chosen)
    if left or len(ways) < 2:
        return None
    return ast.copy_location(ast.IfExp(node.test, *ways), node)


def flatten(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, those inside of `if`, `try` and `with` included."""
    for node in body:
        yield node
        for block in _blocks(node):
            yield from flatten(block)


def _blocks(node: ast.stmt) -> Sequence[Sequence[ast.stmt]]:
    """Return the statements inside of one that makes no scope of its own."""
    match node:
        case ast.If() | ast.For() | ast.While():
            return (node.body, node.orelse)
        case ast.With():
            return (node.body,)
        case ast.Try():
            return (node.body, *(one.body for one in node.handlers), node.orelse, node.finalbody)
    return ()


def bound_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement itself binds."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from (one.asname or one.name.partition(".")[0] for one in names)
        case ast.ImportFrom(names=names):
            yield from (one.asname or one.name for one in names)
        case ast.Assign(targets=targets):
            for target in targets:
                yield from target_names(target)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.For(target=target):
            yield from target_names(target)
        case ast.With(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield from target_names(item.optional_vars)
        case _ if type(node).__name__ == "TypeAlias":
            yield node.name.id  # type: ignore[attr-defined]  # Python 3.12


def target_names(target: ast.expr) -> Iterator[str]:
    """Yield the names that an assignment target binds."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from target_names(part)
        case ast.Starred(value=part):
            yield from target_names(part)


_LINE_END: Final = re.compile(r"\r\n?|\n")


def lines_of(text: str) -> list[str]:
    """Return the lines of a source as Python counts them, without their ends."""
    return _LINE_END.split(text) if "\r" in text else text.split("\n")


Place: TypeAlias = tuple[int, int]
"""A line and a column, in characters."""


class Lines:
    """The lines of a source, and where the nodes of its syntax stand in them."""

    def __init__(self, text: str) -> None:
        self._lines = lines_of(text)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, line: int) -> str:
        """Return a line, counted from 1."""
        return self._lines[line - 1]

    def span(self, node: ast.AST) -> Span:
        """Return where a node stands, columns in characters."""
        line = getattr(node, "lineno", 1)
        end_line = getattr(node, "end_lineno", None) or line
        column = self._column(line, getattr(node, "col_offset", 0))
        end = self._column(end_line, getattr(node, "end_col_offset", None) or 0)
        return Span(line, column, end_line, end)

    def _column(self, line: int, offset: int) -> int:
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        if text.isascii():
            return offset
        return len(text.encode()[:offset].decode(errors="replace"))

    def spelled(self, node: ast.AST) -> str:
        """Return the source text of a node, without comments, empty lines and indentation."""
        span = self.span(node)
        text = self.between((span.line, span.column), (span.end_line, span.end_column))
        return text if span.line == span.end_line else _without_comments(text)

    def between(self, start: Place, end: Place) -> str:
        """Return the text between two places."""
        lines = self._lines[start[0] - 1 : end[0]]
        lines[-1] = lines[-1][: end[1]]
        lines[0] = lines[0][start[1] :]
        return lines[0] if len(lines) == 1 else "\n".join(lines)

    def behind(self, node: ast.AST) -> str:
        """Return the comment that stands behind a node on its last line, nothing if none does."""
        span = self.span(node)
        rest = self[span.end_line][span.end_column :].strip()
        return rest if rest.startswith("#") else ""

    def segment(self, node: ast.AST) -> str:
        """Return the source text of a node, on one line."""
        first, *rest = map(str.strip, self.spelled(node).split("\n"))
        text = first
        for part in filter(None, rest):
            text += part if text[-1:] in "([{" or part[0] in ")]}" else f" {part}"
        return text


_TOKENS_MATTER: Final = re.compile("#|'{3}|\"{3}|\\\\\n")
"""What may be in a text in which a line isn't all code, or doesn't begin with a token."""

_BETWEEN: Final = frozenset("COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split())
"""The kinds of tokens that say nothing."""


def _without_comments(text: str) -> str:
    """Return an expression or a simple statement of several lines, as `Lines.spelled` does."""
    if not _TOKENS_MATTER.search(text):
        return "\n".join(part for line in text.split("\n") if (part := line.strip()))
    whole = f"({text}\n)"  # in which no line is indented
    lines, found, at = Lines(whole), "", (1, 1)
    try:
        for start, end in _token_places(whole):
            found += lines.between(at, start) if at[0] == start[0] else "\n"
            found += lines.between(start, end)
            at = end
    except (tokenize.TokenError, SyntaxError):
        return text
    return found[: found.rindex("\n")]


def _token_places(text: str) -> Iterator[tuple[Place, Place]]:
    """Yield where the tokens of an expression begin and end, but for its first parenthesis.

    A string in which there are expressions is one of them.
    """
    inside: list[Place] = []
    for token in islice(tokenize.generate_tokens(StringIO(text).readline), 1, None):
        match tokenize.tok_name[token.type]:
            case "FSTRING_START" | "TSTRING_START":
                inside.append(token.start)
            case "FSTRING_END" | "TSTRING_END":
                start = inside.pop()
                if not inside:
                    yield start, token.end
            case name if not inside and name not in _BETWEEN:
                yield token.start, token.end
