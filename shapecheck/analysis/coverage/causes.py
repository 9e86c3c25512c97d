"""Finds out why the shape of an expression isn't known: the first cause, back through the code."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.coverage.source_words import assigned_in, bound_in, operands, within, words
from shapecheck.analysis.coverage.watching import Analysis, Observed, is_named
from shapecheck.analysis.host import Cause
from shapecheck.analysis.interpreter.calls import follows
from shapecheck.analysis.program.model import (
    Class,
    Dotted,
    Function,
    Value,
    dotted,
    literal,
)
from shapecheck.analysis.program.reading import Definition, body_of
from shapecheck.analysis.program.syntax import defs, is_def, name_of
from shapecheck.analysis.values.model import Bound, Instance, OpInstance, Ref
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import only
from shapecheck.shapes import Tensor

_NEVER: Final = sys.maxsize
_DEEPEST: Final = 64
"""So many expressions back is what makes something unknown looked for."""
_FARTHEST: Final = 8
"""And in so many functions, each of which calls the next one."""
_EACH: Final = frozenset(
    f"{prefix}{name}"
    for name in ("parameters", "buffers", "modules", "children")
    for prefix in ("", "named_")
)
"""Methods of modules that give tensors, or what has some, of a different shape each."""


class Causes:
    """The causes in one function, or in a module's own code."""

    def __init__(
        self,
        analysis: Analysis,
        definition: Definition,
        function: Function | None,
        busy: frozenset[ast.AST] = frozenset(),
    ) -> None:
        self._analysis, self._definition, self._function = analysis, definition, function
        self._busy = busy
        self._told: dict[ast.AST, Cause | None] = {}
        self._open: dict[ast.AST, int] = {}  # what is being looked into, from outside in
        self._round = _NEVER  # the outermost of these that was come to again
        self._rounds: dict[ast.AST, ast.AST] = {}  # whose cause is that of another
        self._bound = bound_in(definition)

    def of(self, node: ast.AST) -> Cause | None:
        """Return the first cause; None for what is known, or can't be told."""
        # decisions.md, "Why a shape isn't known is its first cause"
        if node in self._told:
            head = self._rounds.get(node)
            return self._told[node] or (None if head is None else self._told.get(head))
        if node in self._open:  # in a loop, what something is made of itself
            self._round = min(self._round, self._open[node])
            return None
        if len(self._open) == _DEEPEST:
            return None
        outer, self._round = self._round, _NEVER
        at = self._open[node] = len(self._open)
        found = None if self._is_known(node) else self._cause(node)
        if found is None and self._round == at:
            found = self._loop(node)
        elif found is None and self._round < at:
            self._rounds[node] = list(self._open)[self._round]
        del self._open[node]
        self._round = min(outer, self._round if self._round < at else _NEVER)
        self._told[node] = found
        return found

    def _loop(self, node: ast.AST) -> Cause | None:
        """Return the cause of what is made of itself, by the name of the variable."""
        if (variable := name_of(node)) is not None:
            return Cause("loop", variable)
        names = (n for n, bound in self._bound.items() if any(one is node for _, one in bound))
        name = next(names, None)
        return None if name is None else Cause("loop", name)

    def result(self) -> Cause | None:
        """Return why what the function returns isn't known, as far as it isn't its parameters."""
        returns = only(within(self._definition), ast.Return)
        found = self._first([one.value for one in returns if one.value])
        return None if found is not None and found.kind in _OF_PARAMETERS else found

    # Kinds of expressions ---------------------------------------------------------------------

    def _cause(self, node: ast.AST) -> Cause | None:
        if isinstance(node, ast.expr):
            span = self._analysis.module.lines.span(node)
            if span in self._analysis.errors:
                return Cause("error", f"line {span.line}")
        match node:
            case ast.Name():
                return self._name(node)
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript(value=value):
                found = self._first(operands(node))
                if found is not None or not self._is_tensor(value):
                    return found
                return self._data(node, (value,), f"{words(value)}[...]")
            case ast.AugAssign(target=target, value=value):
                return self._first((value, target))
            case ast.ListComp(elt=made) | ast.SetComp(elt=made) | ast.GeneratorExp(elt=made):
                return self._first((made, *(one.iter for one in node.generators)))
        return self._first(operands(node))

    def _name(self, node: ast.Name) -> Cause | None:
        name = node.id
        bound = self._bound.get(name, ())
        # The last assignment above, or in a loop one further down.
        above = bisect_right([line for line, _ in bound], node.lineno - 1)
        for _, given in [*reversed(bound[:above]), *bound[above:]][:2]:
            found = self.of(given)
            if found is not None:
                return found
        if self._function is not None:
            parameter = _parameter(self._function, name)
            if parameter is not None:
                return None if bound and parameter.kind == "open" else parameter
            if name in {a.arg for a in declarations.arguments_of(self._function.node, stars=True)}:
                return None
        if (library := dotted(self._value(node))) is not None:
            return self._library(library)
        if bound:
            return None
        return self._global(name)

    def _global(self, name: str) -> Cause | None:
        """Return why a name isn't known that the module binds, or a function around this one."""
        module = self._analysis.module
        home = getattr(self._function, "home", None)
        if home is not None and home.find(name) is not UNKNOWN:
            return None
        nodes = module.syntax.bound(name)
        if not nodes:
            return None
        found = module.resolve(name)
        if (library := dotted(found)) is not None:
            return self._library(library)
        match nodes[-1]:
            case (ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value)) as last if (
                last not in self._busy
            ):
                outer = Causes(self._analysis, module.tree, None, self._busy | {last})
                return outer.of(value) or Cause("name", name)
        return Cause("name", name) if found is UNKNOWN else None

    def _attribute(self, node: ast.Attribute) -> Cause | None:
        library = self._dotted(node)
        if library is not None:
            is_number = library.partition(".")[0] in sys.stdlib_module_names  # `math.pi`
            return None if is_number else self._library(library)
        seen = self._analysis.observed.get(node.value)
        cls = self._class_of(node.value, seen)
        if cls is not None:
            return self._of_class(cls, node.attr) if self._is_unclear(node) else None
        if self._is_tensor(node.value) and not self._is_lost(node.value):
            return Cause("data", f".{node.attr}") if self._is_lost(node) else None
        return self.of(node.value)

    def _class_of(self, node: ast.expr, seen: Observed | None) -> Class | None:
        """Return the class of the instance that an expression is."""
        match node, self._function:
            case ast.Name(id="self"), Function(owner=Class() as own):
                return own
        match seen.held if seen is not None else None:
            case Instance(cls=cls):
                return cls
        return None

    def _dotted(self, node: ast.expr) -> str | None:
        """Return the full name of something imported."""
        value = self._value(node)
        if (name := dotted(value)) is not None:
            return name
        match node:
            case ast.Attribute(value=owner, attr=attr):
                base = self._dotted(owner)
                return None if base is None else f"{base}.{attr}"
            case ast.Name(id=variable) if variable not in self._bound and value is None:
                return dotted(self._analysis.module.resolve(variable))
        return None

    def _of_class(self, cls: Class, name: str) -> Cause | None:
        """Return why an attribute of a class' instances isn't known."""
        full = f"{cls.name}.{name}"
        for part in body_of(cls.node):
            match part:
                case ast.AnnAssign(target=ast.Name(id=field)) if field == name:
                    return Cause("declared", full)
                case ast.FunctionDef(name=method) | ast.AsyncFunctionDef(name=method) if (
                    method == name
                ):
                    return self._own(Function(part, cls.module, cls), full)
        plain = Cause("attribute", full)
        if cls.module is not self._analysis.module or cls.node in self._busy:
            return plain
        stored, methods = cls.module.syntax.stored, defs(body_of(cls.node))
        storing = ((one, assigned_in(one)) for one in methods if name in stored(one))
        each = ((method, values.get(f"self.{name}")) for method, values in storing)
        assigned = [(method, values) for method, values in each if values]
        for node, values in assigned:
            function, busy = Function(node, cls.module, cls), self._busy | {cls.node}
            inside = Causes(self._analysis, node, function, busy)
            for found in map(inside.of, values):
                if found is not None:
                    return found
        inherited = () if assigned else map(self.of, cls.node.bases)
        return next(filter(None, inherited), plain)

    # Calls ------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Cause | None:
        seen = self._analysis.observed.get(node.func)
        target = UNKNOWN if seen is None else seen.value
        if seen is None and (name := self._dotted(node.func)) is not None:
            target = Dotted(name)
        is_own = isinstance(target, Bound) and target.function is not None
        match node.func:
            case ast.Attribute(attr=name) if name in _EACH and not is_own:
                return Cause("each", f"{words(node.func)}()")
            case ast.Attribute(value=owner, attr=name) if self._is_tensor(owner):
                return self._call_of_tensor(node, name)
        return _CALLS.get(type(target), Causes._call_of_other)(self, node, target)

    def _call_of_other(self, node: ast.Call, target: Value) -> Cause | None:
        return self.of(node.func) or self._first(operands(node))

    def _call_of_function(self, node: ast.Call, target: Function) -> Cause | None:
        unclear = self._is_unclear(node)
        return self._own(target, _full_name(target), operands(node)) if unclear else None

    def _call_of_method(self, node: ast.Call, target: Bound) -> Cause | None:
        if target.function is None:
            return self._call_of_other(node, target)
        return self._call_of_function(node, target.function)

    def _call_of_class(self, node: ast.Call, target: Class) -> Cause | None:
        return self._first(operands(node))

    def _call_of_module(self, node: ast.Call, target: OpInstance) -> Cause | None:
        return self._first(operands(node)) or Cause("data", words(node.func))

    def _call_of_object(self, node: ast.Call, target: Ref) -> Cause | None:
        match self._analysis.observed[node.func].held:
            case Instance(cls=cls):
                return self._call_of_instance(cls, operands(node))
        return self._call_of_other(node, target)

    def _call_of_library(self, node: ast.Call, target: Dotted) -> Cause | None:
        given, name = operands(node), target.name
        if name.partition(".")[0] == "builtins":
            return self._first(given)
        if not self._is_unclear(node):
            return None
        return self._library(name) or self._first(given) or self._data(node, given, name)

    def _call_of_tensor(self, node: ast.Call, name: str) -> Cause | None:
        given, method = operands(node), f".{name}()"
        if not self._rule(f"torch.Tensor.{name}") and self._is_unclear(node):
            return Cause("rule", method)
        return self._first(given) or self._data(node, given, method)

    def _call_of_instance(self, cls: Class, given: Sequence[ast.expr]) -> Cause | None:
        methods = {node.name: node for node in defs(body_of(cls.node))}
        method = methods.get("forward") or methods.get("__call__")
        if method is None:
            return self._first(given) or Cause("function", cls.name)
        return self._own(Function(method, cls.module, cls), cls.name, given)

    def _data(self, node: ast.expr, given: Sequence[ast.expr], subject: str) -> Cause | None:
        """Return why an op that is known gives what isn't, where its arguments don't tell."""
        if not _is_vague(self._value(node)) or self._round != _NEVER:
            return None
        lost = (one for one in given if self._is_lost(one) and self._is_tensor(one))
        found = next(lost, None)
        return Cause("data", subject) if found is None else fallback(found)

    def _own(self, function: Function, name: str, given: Sequence[ast.expr] = ()) -> Cause | None:
        """Return why what a function of the program's gives isn't known."""
        found = self._first(given)
        if declarations.speaks(declarations.declaration(function).result):
            return found or Cause("open", f"{name}()")
        if function.node in self._analysis.too_long:
            return Cause("budget", name)
        if found is not None or not is_def(function.node):
            return found or Cause("function", name)
        busy = self._busy | {function.node}
        is_near = len(self._busy) < len(busy) <= _FARTHEST
        if function.module is self._analysis.module and is_near:
            found = Causes(self._analysis, function.node, function, busy).result()
        return found or Cause("function", name)

    def _library(self, name: str) -> Cause | None:
        """Return whether something imported is of a library that says nothing, or has no rule."""
        root = name.partition(".")[0]
        if root == "builtins":
            return None
        if root == self._analysis.module.name.partition(".")[0]:
            return Cause("name", name)
        if not self._analysis.module.program.table.knows(root):
            return Cause("library", name)
        is_module = self._analysis.module.program.table.describes(name)
        is_known = self._rule(name) or is_module or follows(name)
        return None if is_known else Cause("rule", name)

    def _rule(self, name: str) -> bool:
        table = self._analysis.module.program.table
        return table.has(name) or table.lookup_class(name) is not None

    # What was observed ------------------------------------------------------------------------

    def _first(self, nodes: Iterator[ast.expr] | Sequence[ast.expr]) -> Cause | None:
        """Return the first cause among expressions, those first that are lost themselves."""
        every = sorted(nodes, key=lambda one: not self._is_lost(one))
        return next((found for found in map(self.of, every) if found is not None), None)

    def _value(self, node: ast.AST) -> Value:
        seen = self._analysis.observed.get(node)
        return None if seen is None else seen.value

    def _is_tensor(self, node: ast.AST) -> bool:
        return isinstance(self._value(node), Tensor)

    def _is_lost(self, node: ast.AST) -> bool:
        seen = self._analysis.observed.get(node)
        return seen is not None and seen.is_lost

    def _is_unclear(self, node: ast.AST) -> bool:
        """Whether something of a value isn't known, or nobody has looked at it."""
        seen = self._analysis.observed.get(node)
        match self._value(node):
            case tuple() as items:
                return _is_vague(items)
        return seen is None or seen.is_lost

    def _is_known(self, node: ast.AST) -> bool:
        seen = self._analysis.observed.get(node)
        return literal(node) is not UNKNOWN or (seen is not None and seen.is_known)


_CALLS: Final[dict[type, Callable[..., Cause | None]]] = {
    Bound: Causes._call_of_method,
    Class: Causes._call_of_class,
    Dotted: Causes._call_of_library,
    Function: Causes._call_of_function,
    OpInstance: Causes._call_of_module,
    Ref: Causes._call_of_object,
}
"""Why what a call gives isn't known, by the kind of what is called."""
_OF_PARAMETERS: Final = ("parameter", "declared", "open")


def _is_vague(value: Value) -> bool:
    """Whether something isn't known of a tensor, or of one of several."""
    match value:
        case tuple():
            return any(map(_is_vague, value))
        case Tensor(shape=shape):
            return not all(map(is_named, shape.dims))
    return value is UNKNOWN


def _parameter(function: Function, name: str) -> Cause | None:
    """Return why a parameter isn't known; None where it isn't one, or is a number."""
    for index, argument in enumerate(declarations.arguments_of(function.node, stars=True)):
        if argument.arg != name:
            continue
        if index == 0 and function.owner is not None and name in ("self", "cls"):
            return None
        if argument.annotation is None:
            return Cause("parameter", name)
        declared = next(
            (p.declared for p in declarations.declaration(function).params if p.name == name), None
        )
        if declared is not None and declared.is_plain:
            return None
        is_open = declared is not None and declarations.speaks(declared)
        return Cause("open" if is_open else "declared", name)
    return None


def _full_name(function: Function) -> str:
    return f"{function.owner.name}.{function.name}" if function.owner else function.name


def fallback(node: ast.expr) -> Cause:
    """Return what to say where no cause is found."""
    return Cause("other", words(node))
