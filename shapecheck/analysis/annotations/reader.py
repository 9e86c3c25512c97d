"""Reads annotations: from the syntax of a type to what it declares.

Float[Tensor, "b c"]   Annotated[Tensor, "b c"]   list[Image]   tuple[Float[...], int] | None
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shapecheck import dtypes, spec
from shapecheck.analysis.annotations.declared import (
    ANY,
    AnyDecl,
    CallableDecl,
    ClassDecl,
    Declared,
    DictDecl,
    FieldsDecl,
    ListDecl,
    ModuleDecl,
    NoneDecl,
    ScalarDecl,
    TensorDecl,
    TupleDecl,
    UnionDecl,
    union,
)
from shapecheck.analysis.host import Span
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, ModuleRef, Value
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.values.model import Ref, Shaped
from shapecheck.dims import Dim
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import Unknown
from shapecheck.signatures import Table
from shapecheck.spec.objects import Objects, Part, is_part, of_objects

_SHAPED_MODULES: Final = ("jaxtyping", "shapecheck", "shapecheck.types")
_ANNOTATED: Final = ("typing.Annotated", "typing_extensions.Annotated")
_LISTS: Final = frozenset(
    "builtins.list typing.List typing.Sequence collections.abc.Sequence typing.Iterable "
    "collections.abc.Iterable builtins.set typing.Set typing.Iterator collections.abc.Iterator "
    "typing.Collection collections.abc.Collection typing.Generator collections.abc.Generator "
    "typing.AsyncIterator collections.abc.AsyncIterator typing.AsyncIterable "
    "collections.abc.AsyncIterable typing.AsyncGenerator collections.abc.AsyncGenerator "
    "typing.Deque collections.deque typing.FrozenSet builtins.frozenset "
    "typing.MutableSequence collections.abc.MutableSequence".split()
)
_OF_TENSORS: Final = frozenset(("Collection", "Iterable"))
_DICTS: Final = frozenset(
    "builtins.dict typing.Dict typing.Mapping collections.abc.Mapping "
    "typing.MutableMapping collections.abc.MutableMapping".split()
)
_LITERALS: Final = ("typing.Literal", "typing_extensions.Literal")
_CALLABLES: Final = ("typing.Callable", "collections.abc.Callable")
_BARE: Final[Mapping[str, Declared]] = {
    "builtins.list": ListDecl(AnyDecl()),
    "typing.List": ListDecl(AnyDecl()),
    "builtins.tuple": TupleDecl(None),
    "typing.Tuple": TupleDecl(None),
    "builtins.dict": DictDecl(AnyDecl()),
    "typing.Dict": DictDecl(AnyDecl()),
}
_TYPE_VARIABLES: Final = ("typing.TypeVar", "typing_extensions.TypeVar")
_TYPED_DICTS: Final = ("typing.TypedDict", "typing_extensions.TypedDict")
_TRANSPARENT: Final = frozenset(
    f"{module}.{name}"
    for module in ("typing", "typing_extensions")
    for name in ("Final", "ClassVar", "Required", "NotRequired", "ReadOnly")
)


def shape_type(value: Value) -> str | None:
    """Return the dtype category if a value is one of the annotation types, `Float` and so on."""
    if isinstance(value, Dotted):
        module, _, name = value.name.rpartition(".")
        if module in _SHAPED_MODULES and name in dtypes.CATEGORIES:
            return name
    return None


def shaped_type(head: Dotted, index: Value, table: Table) -> Value:
    """Return what `head[index]` is: a tensor type with a shape, else `UNKNOWN`."""
    category = shape_type(head)
    match index:
        case (Dotted(name=kind), str(text)) if category is not None:
            return Shaped(category, text) if kind in table.flagged("tensor_type") else UNKNOWN
    return UNKNOWN


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


class Reader:
    """Reads the annotations of one module; what is wrong with one is told wherever it is read."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def read(self, node: ast.expr | None) -> Declared:
        """Return what an annotation declares; what says nothing about shapes is `ANY`."""
        if node is None:
            return ANY
        program = self.module.program
        known: tuple[Declared, tuple[Problem, ...]] = (ANY, ())
        known = program.memory.recall(("read", node), lambda: self._judged(node), known)
        for problem in known[1]:
            problem.tell()
        program.problems += known[1]
        return known[0]

    def _judged(self, node: ast.expr) -> tuple[Declared, tuple[Problem, ...]]:
        """Read an annotation for the first time; return what is wrong with it as well."""
        program = self.module.program
        outer, program.problems = program.problems, []
        try:
            declared = self._parse(node)
            return declared, tuple(program.problems)
        finally:
            program.problems = outer

    def _parse(self, node: ast.expr) -> Declared:
        match node:
            case ast.Constant(value=None):
                return NoneDecl()
            case ast.Constant(value=str() as text):
                return self._quoted(text, node)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return union(self.read(left), self.read(right))
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.Subscript(value=head, slice=inner):
                return self._subscript(node, self.resolve(head), inner)
            case ast.Call(func=func):
                return self._variable(node) if self._makes_variable(func) else ANY
            case _:
                return ANY

    def _makes_variable(self, node: ast.expr) -> bool:
        made = self.resolve(node)
        return isinstance(made, Dotted) and made.name in _TYPE_VARIABLES

    def _variable(self, node: ast.Call) -> Declared:
        """Return what a type variable stands for: its bound, or one of its constraints."""
        bound = [keyword.value for keyword in node.keywords if keyword.arg == "bound"]
        kinds = [self.read(one) for one in bound or node.args[1:]]
        return union(*kinds) if len(kinds) > 1 else kinds[0] if kinds else ANY

    def _quoted(self, text: str, node: ast.expr) -> Declared:
        try:
            inner = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return ANY
        for child in ast.walk(inner):
            if isinstance(child, ast.expr):
                ast.copy_location(child, node)
        return self.read(inner)

    def resolve(self, node: ast.expr) -> Value:
        """Return what a name in an annotation means."""
        if isinstance(node, ast.Name):
            found = self.module.resolve(node.id)
            return Dotted(f"builtins.{node.id}") if found is NOTHING else found
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            if isinstance(owner, Dotted):
                return Dotted(f"{owner.name}.{node.attr}")
            if isinstance(owner, ModuleRef):
                return self.module.program.member(owner.name, node.attr)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Dotted(node.value)  # the base of a class that a call makes
        if isinstance(node, ast.Call):
            return self.module.program.evaluate(self.module, node, {})
        return UNKNOWN

    def _named(self, node: ast.Name | ast.Attribute) -> Declared:
        value = self.resolve(node)
        if isinstance(value, Class):
            fields = self.fields(value)
            return ClassDecl(value) if fields is None else FieldsDecl(tuple(fields.items()))
        if isinstance(value, Dotted):
            return self._library(value.name)
        home, name = self._home(node)
        right = home.alias(name) if home is not None else None
        return ANY if home is None or right is None else reader(home).read(right)

    def fields(self, cls: Class, below: tuple[ast.AST, ...] = ()) -> dict[str, Declared] | None:
        """Return the fields of a `TypedDict`, None for any other class.

        `below` are the classes that inherit from it: a class may have the name of its base.
        """
        home = reader(cls.module)
        found: dict[str, Declared] | None = None
        below = (*below, cls.node)
        for base in cls.node.bases:
            parent = home.resolve(base)
            if isinstance(parent, Dotted) and parent.name in _TYPED_DICTS:
                found = found or {}
            elif isinstance(parent, Class) and parent.node not in below:
                inherited = self.fields(parent, below)
                if inherited is not None:
                    found = {**(found or {}), **inherited}
        if found is not None:
            for node in cls.node.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found[node.target.id] = home.read(node.annotation)
        return found

    def _home(self, node: ast.Name | ast.Attribute) -> tuple[Module | None, str]:
        """Return the module that defines a name, and the name there."""
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            if isinstance(owner, ModuleRef):
                return _follow(self.module.program.module(owner.name), node.attr)
            return None, ""
        return _follow(self.module, node.id)

    def _library(self, name: str) -> Declared:
        table = self.module.program.table
        if name in table.flagged("tensor_type"):
            return TensorDecl()
        short = name.removeprefix("builtins.")
        if short in ("int", "float", "bool", "str"):
            return ScalarDecl(short)
        if table.lookup_class(name) is not None:
            return ModuleDecl(name)
        if name in _BARE:
            return _BARE[name]
        if name in ("jaxtyping.Scalar", "jaxtyping.ScalarLike"):
            return TensorDecl(spec.parse(""))
        return ANY

    def _wrapper(self, head: ast.expr) -> str | None:
        """Return the dtype category of a name that the settings declare to be an annotation's."""
        wrappers = self.module.program.options.wrappers
        if not wrappers or not isinstance(head, (ast.Name, ast.Attribute)):
            return None
        home, name = self._home(head)
        value = self.resolve(head)
        names = {f"{home.name}.{name}"} if home is not None else set()
        names |= {value.name} if isinstance(value, Dotted) else set()
        if names.isdisjoint(wrappers):
            return None
        return name if name in dtypes.CATEGORIES else "Shaped"

    def _subscript(self, node: ast.Subscript, head: Value, inner: ast.expr) -> Declared:
        wrapper = self._wrapper(node.value)
        if wrapper is not None and not isinstance(inner, ast.Tuple):
            return self._with_text(TensorDecl(), inner, dtypes.CATEGORIES[wrapper])
        category = wrapper or shape_type(head)
        if category is not None:
            return self._shaped(node, category, inner)
        if isinstance(head, Ref):
            return self._made(node, inner)
        if not isinstance(head, Dotted):
            return ANY
        name = head.name
        args = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name in _ANNOTATED:
            return self._annotated(node, args)
        if name in _TRANSPARENT:
            return self.read(args[0])
        if name in _LITERALS:
            kinds = {type(arg.value) for arg in args if isinstance(arg, ast.Constant)}
            kind = next(iter(kinds)) if len(kinds) == 1 else None
            return ANY if kind not in (bool, int, str) else ScalarDecl(f"{kind.__name__}")
        if name == "typing.Optional":
            return union(self.read(args[0]), NoneDecl())
        if name == "typing.Union":
            return union(*(self.read(arg) for arg in args))
        if name in _LISTS:
            return ListDecl(self.read(args[0]), name.rpartition(".")[2] in _OF_TENSORS)
        if name in _CALLABLES and len(args) == 2:
            listed = isinstance(args[0], ast.List)
            params = [self.read(arg) for arg in args[0].elts] if listed else []  # type: ignore[attr-defined]
            return CallableDecl(tuple(params) if listed else None, self.read(args[1]))
        if name in _DICTS and len(args) == 2:
            return DictDecl(self.read(args[1]))
        if name in ("builtins.tuple", "typing.Tuple"):
            if len(args) == 2 and isinstance(args[1], ast.Constant) and args[1].value is ...:
                return TupleDecl(None, self.read(args[0]))
            items = tuple(self.read(arg) for arg in args)
            if items == (ScalarDecl("int"),):  # people write `Tuple[int]` for sizes, however many
                return TupleDecl(None, items[0])
            return TupleDecl(items)
        return ANY

    def _made(self, node: ast.Subscript, inner: ast.expr) -> Declared:
        """Read `Floats["b c"]` where an object of the program's own makes the annotation."""
        made = self.module.program.evaluate(self.module, node, {})
        if not isinstance(made, Shaped):
            return ANY
        text = ast.copy_location(ast.Constant(made.text), inner)
        return self._with_text(TensorDecl(), text, dtypes.CATEGORIES[made.category])

    def _annotated(self, node: ast.Subscript, args: list[ast.expr]) -> Declared:
        base = self.read(args[0])
        if isinstance(base, TensorDecl):
            parts = self._parts(args[1:])
            if parts is not None:
                return self._with_parts(node, base, parts, dtypes.ANY)
            for extra in args[1:]:
                if isinstance(extra, ast.Constant) and isinstance(extra.value, str):
                    return self._with_text(base, extra, dtypes.ANY)
        return base

    def _shaped(self, node: ast.Subscript, category: str, inner: ast.expr) -> Declared:
        parts = self._parts(inner.elts[1:]) if isinstance(inner, ast.Tuple) else None
        if parts is not None and isinstance(inner, ast.Tuple):
            base = self.read(inner.elts[0])
            if not isinstance(base, TensorDecl):
                return ANY
            return self._with_parts(node, base, parts, dtypes.CATEGORIES[category])
        if not isinstance(inner, ast.Tuple) or len(inner.elts) != 2:
            self.fail(
                node,
                f"{category}[...] takes a tensor type and a text, "
                f'such as {category}[Tensor, "batch channels"]',
            )
            return ANY
        kind, text = inner.elts
        base = self.read(kind)
        if isinstance(base, ScalarDecl):
            declared = self._with_text(TensorDecl(), text, dtypes.ANY).text
            if declared is not None and any(isinstance(e, spec.Axis) for e in declared.entries):
                self.fail(kind, f"{category}[...] takes a tensor type, not {ast.unparse(kind)}")
            return ANY
        if not isinstance(base, TensorDecl):
            return self._other_array(base, category, text)
        held = dtypes.CATEGORIES[category]
        if not base.dtype & held:
            self.fail(
                node,
                f"{category}[...] holds {dtypes.describe(held)}, but what it is put around, "
                f"{_written(kind)}, holds {dtypes.describe(base.dtype)}",
            )
            return TensorDecl()
        return self._with_text(base, text, held)

    def _other_array(self, base: Declared, category: str, text: ast.expr) -> Declared:
        """Read an annotation of an array that isn't torch's: its text is checked all the same."""
        if isinstance(base, UnionDecl):
            return UnionDecl(
                tuple(
                    self._with_text(option, text, dtypes.CATEGORIES[category])
                    if isinstance(option, TensorDecl)
                    else option
                    for option in base.options
                )
            )
        self._with_text(TensorDecl(), text, dtypes.ANY)
        if isinstance(base, ModuleDecl):
            self.fail(text, f"{category}[...] takes a tensor type, and {base.name} is a module")
        return ANY

    def _with_text(self, base: TensorDecl, node: ast.expr, dtype: dtypes.DTypes) -> TensorDecl:
        known = base.dtype & dtype
        text = self._text(node)
        if text is None:
            if not isinstance(node, (ast.JoinedStr, ast.Name, ast.Attribute, ast.BinOp, ast.Call)):
                self.fail(node, f'the shape is a text such as "b c", not {ast.unparse(node)}')
            return TensorDecl(None, known)
        try:
            parsed = spec.parse(text)
        except spec.SpecError as error:
            self._malformed(node, error)
            return TensorDecl(None, known)
        return _within(base, parsed, known, self._objects(parsed))

    def _objects(self, text: spec.Spec) -> Objects:
        """Return which names of an annotation are dimension objects of the module."""
        found: dict[str, Dim] = {}
        for name in text.names():
            value = self.module.resolve(name) if name in self.module.bindings else UNKNOWN
            if isinstance(value, Dim) and getattr(value.dim, "symbol", None) is not None:
                found[name] = value
        return tuple(found.items())

    def _parts(self, nodes: list[ast.expr]) -> tuple[Part | Unknown, ...] | None:
        """Return what an annotation of dimension objects is made of; None for a text.

        Where something isn't known of such an annotation, it is unknown.
        """
        if all(isinstance(node, ast.Constant) for node in nodes):
            return None
        found = tuple(map(self._part, nodes))
        unsure = len(found) > 1 and UNKNOWN in found
        return found if unsure or any(isinstance(one, Dim) for one in found) else None

    def _part(self, node: ast.expr) -> Part | Unknown:
        value: object
        if isinstance(node, ast.Constant):
            value = node.value
        elif isinstance(node, ast.Name):
            value = self.module.resolve(node.id)
        else:
            value = self.module.program.evaluate(self.module, node, {})
        return value if is_part(value) else UNKNOWN

    def _with_parts(
        self,
        node: ast.Subscript,
        base: TensorDecl,
        parts: tuple[Part | Unknown, ...],
        dtype: dtypes.DTypes,
    ) -> TensorDecl:
        known = base.dtype & dtype
        given = [part for part in parts if not isinstance(part, Unknown)]
        if len(given) < len(parts):
            return TensorDecl(None, known)
        try:
            parsed, objects = of_objects(given)
        except spec.SpecError as error:
            self.fail(node, str(error))
            return TensorDecl(None, known)
        return _within(base, parsed, known, (*self._objects(parsed), *objects))

    def _text(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name):
            right = self.module.alias(node.id)
            return None if right is None or right is node else self._text(right)
        return None

    def _malformed(self, node: ast.expr, error: spec.SpecError) -> None:
        lines = self.module.lines
        span = lines.span(node)
        written = lines.segment(node)
        at = written.find(error.text)
        if at >= 0 and span.line == span.end_line:
            column = span.column + at
            span = Span(span.line, column + error.start, span.line, column + error.end)
        self._found(span, str(error))

    def fail(self, node: ast.expr, text: str) -> None:
        """Take note of an annotation that isn't one."""
        self._found(self.module.lines.span(node), text)

    def _found(self, span: Span, text: str) -> None:
        problem = Problem(self.module, span, Message(text, "shape-annotation"))
        problem.tell()
        self.module.program.problems.append(problem)


def reader(module: Module) -> Reader:
    """Return the reader of a module's annotations; there is one a module."""
    found = module.reader
    if not isinstance(found, Reader):
        found = module.reader = Reader(module)
    return found


def _follow(module: Module | None, name: str) -> tuple[Module | None, str]:
    """Follow imports to the module that defines a name."""
    for _ in range(8):
        if module is None:
            return None, name
        nodes = module.bindings.get(name, [])
        node = nodes[-1] if nodes else None
        if not isinstance(node, ast.ImportFrom):
            return module, name
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                name = alias.name
        module = module.program.module(module.absolute(node))
    return None, name


def _within(
    base: TensorDecl, parsed: spec.Spec, dtype: dtypes.DTypes, objects: Objects
) -> TensorDecl:
    """Return a tensor type with dimensions in front: `Float[Image, "b"]`."""
    if base.text is not None:
        parsed = spec.Spec((*parsed.entries, *base.text.entries))
    return TensorDecl(parsed, dtype, (*objects, *base.dims))


def _written(node: ast.expr) -> str:
    return ast.unparse(node).replace("'", '"')
