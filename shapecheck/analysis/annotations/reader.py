"""Reads annotations: from the syntax of a type to what it declares.

Float[Tensor, "b c"]   Annotated[Tensor, "b c"]   list[Image]   tuple[Float[...], int] | None
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from shapecheck import dtypes, spec
from shapecheck.analysis.annotations import dialects
from shapecheck.analysis.annotations.generics import BARE, GENERICS
from shapecheck.analysis.annotations.names import Names
from shapecheck.analysis.program.declared import (
    ANY,
    ArrayDecl,
    ClassDecl,
    Declared,
    FieldsDecl,
    ModuleDecl,
    NoneDecl,
    ScalarDecl,
    TensorDecl,
    UnionDecl,
    union,
)
from shapecheck.analysis.program.model import Class, Dotted, Value, dotted
from shapecheck.analysis.program.modules import Module, Problem
from shapecheck.analysis.program.reading import body_of
from shapecheck.analysis.program.syntax import called, is_none, name_of, parsed_expression, text_of
from shapecheck.analysis.values.model import Ref, Shaped
from shapecheck.dims import Dim
from shapecheck.ops import UNKNOWN
from shapecheck.ops.arrays.promotion import named
from shapecheck.ops.call import Unknown, are, only
from shapecheck.signatures import Table
from shapecheck.spec.dialects import of_annotated
from shapecheck.spec.objects import Objects, Part, is_part, of_objects

_SHAPED_MODULES: Final = ("jaxtyping", "shapecheck", "shapecheck.types")
_ANNOTATED: Final = ("typing.Annotated", "typing_extensions.Annotated")
_WITH_DIMENSIONS: Final = ("shapecheck", "returnn", "functorch")
"""Packages with dimension objects of their own."""
_SCALARS: Final = ("jaxtyping.Scalar", "jaxtyping.ScalarLike")
_ARRAYS: Final = ("numpy.ndarray", "numpy.typing.NDArray")
_TYPE_VARIABLES: Final = ("typing.TypeVar", "typing_extensions.TypeVar")
_UNPACK: Final = ("typing.Unpack", "typing_extensions.Unpack")
_TYPED_DICTS: Final = ("typing.TypedDict", "typing_extensions.TypedDict")

_MADE: Final = (ast.JoinedStr, ast.Name, ast.Attribute, ast.BinOp, ast.Call)
"""What may make a text that isn't spelled out, so that there is nothing to say of it."""


def shape_type(value: Value) -> str | None:
    """Return the dtype category if a value is one of the annotation types, `Float` and so on."""
    module, _, name = (dotted(value) or "").rpartition(".")
    return name if module in _SHAPED_MODULES and name in dtypes.CATEGORIES else None


def shaped_type(head: Dotted, index: Value, table: Table) -> Value:
    """Return what `head[index]` is: a tensor type with a shape, else `UNKNOWN`."""
    category = shape_type(head)
    match index:
        case (Dotted(name=kind), str(text)) if category is not None:
            return Shaped(category, text) if kind in table.flagged("tensor_type") else UNKNOWN
    return UNKNOWN


class Reader(Names):
    """Reads the annotations of one module; what is wrong with one is told wherever it is read."""

    def read(self, node: ast.expr | None) -> Declared:
        """Return what an annotation declares; what says nothing about shapes is `ANY`."""
        if node is None:
            return ANY
        program = self.module.program
        known: tuple[Declared, tuple[Problem, ...]] = (ANY, ())
        known = self.module.recall(("read", node), lambda: self._judged(node), known)
        for problem in known[1]:
            problem.tell()
        program.problems += known[1]
        return known[0]

    def read_with_default(self, node: ast.expr | None, default: ast.expr | None) -> Declared:
        """Read the annotation of what has a default: `mask: Tensor = None` may be None, too."""
        declared = self.read(node)
        if is_none(default) and not declared.may_be_none:
            return union(declared, NoneDecl())
        return declared

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
            case ast.BinOp(op=ast.BitOr()):
                return union(*map(self.read, _united(node)))
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call(func=func):
                is_variable = dotted(self.resolve(func)) in _TYPE_VARIABLES
                return self._variable(node) if is_variable else ANY
            case _:
                return ANY

    def _variable(self, node: ast.Call) -> Declared:
        """Return what a type variable stands for: its bound, or one of its constraints."""
        bound = [keyword.value for keyword in node.keywords if keyword.arg == "bound"]
        kinds = [self.read(one) for one in bound or node.args[1:]]
        return union(*kinds) if len(kinds) > 1 else kinds[0] if kinds else ANY

    def _quoted(self, text: str, node: ast.expr) -> Declared:
        try:
            inner = parsed_expression(text.strip())
        except (SyntaxError, ValueError):
            return ANY
        for child in only(ast.walk(inner), ast.expr):
            ast.copy_location(child, node)
        return self.read(inner)

    def _named(self, node: ast.Name | ast.Attribute) -> Declared:
        match self.resolve(node):
            case Class() as cls:
                fields = self.fields(cls)
                return ClassDecl(cls) if fields is None else FieldsDecl(tuple(fields.items()))
            case Dotted(name=library):
                return self._library(library)
        home, name = self.home(node)
        right = home.alias(name) if home is not None else None
        return ANY if home is None or right is None else reader(home).read(right)

    def options(self, node: ast.expr | None) -> FieldsDecl | None:
        """Return what each keyword is by `**kwargs: Unpack[Options]`, None for any other type."""
        if isinstance(node, ast.Subscript) and dotted(self.resolve(node.value)) in _UNPACK:
            inner = self.read(node.slice)
            return inner if isinstance(inner, FieldsDecl) else None
        return None

    def fields(self, cls: Class) -> Mapping[str, Declared] | None:
        """Return the fields of a `TypedDict`, None for any other class."""
        return cls.module.recall(("keys", cls.node), lambda: self._fields(cls), None)

    def _fields(self, cls: Class) -> Mapping[str, Declared] | None:
        home = reader(cls.module)
        found: dict[str, Declared] | None = None
        for base in cls.node.bases:
            inherited: Mapping[str, Declared] | None = None
            match home.resolve(base):
                case Dotted(name=library) if library in _TYPED_DICTS:
                    inherited = {}
                case Class() as parent:
                    inherited = self.fields(parent)
            if inherited is not None:
                found = {**(found or {}), **inherited}
        if found is not None:
            for node in body_of(cls.node):
                match node:
                    case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                        found[name] = home.read(annotation)
        return found

    def _library(self, name: str) -> Declared:
        table = self.module.program.table
        if name in table.flagged("tensor_type"):
            return TensorDecl()
        if name in _ARRAYS:
            return ArrayDecl()
        if name in BARE:
            return BARE[name]
        if name in dialects.BARE:
            return dialects.BARE[name]
        if table.lookup_class(name) is not None:
            return ModuleDecl(name)
        return TensorDecl(spec.parse("")) if name in _SCALARS else ANY

    def _wrapper(self, head: ast.expr) -> str | None:
        """Return the dtype category of a name that the settings declare to be an annotation's."""
        wrappers = self.module.program.options.wrappers
        if not wrappers:
            return None
        match head:
            case ast.Name() | ast.Attribute():
                home, name = self.home(head)
                here = None if home is None else f"{home.name}.{name}"
                if here in wrappers or dotted(self.resolve(head)) in wrappers:
                    return name if name in dtypes.CATEGORIES else "Shaped"
        return None

    def _subscript(self, node: ast.Subscript) -> Declared:
        head, args = self.resolve(node.value), _arguments(node.slice)
        wrapper = self._wrapper(node.value)
        if wrapper is not None and not isinstance(node.slice, ast.Tuple):
            return self._with_text(TensorDecl(), node.slice, dtypes.CATEGORIES[wrapper])
        category = wrapper or shape_type(head)
        if category is not None:
            return self._shaped(node, category)
        match head:
            case Ref():
                return self._made(node)
            case Dotted(name=name) if name in _ANNOTATED:
                return self._annotated(node, args)
            case Dotted(name=name) if name in _ARRAYS:
                return ArrayDecl(TensorDecl(None, self._dtype(args[-1])))
            case Dotted(name=name) if name in GENERICS:
                return GENERICS[name](self.read, args)
            case Dotted(name=name) if name in self.module.program.table.flagged("tensor_type"):
                return dialects.indexed(self, node, TensorDecl())
        return dialects.subscripted(self, head, node) or ANY

    def _dtype(self, node: ast.expr) -> dtypes.DTypes:
        """Return the dtypes that `np.float32` or `np.dtype[np.float32]` names."""
        match node:
            case ast.Subscript(slice=inner):
                return self._dtype(inner)
            case ast.Name() | ast.Attribute():
                module, _, name = (dotted(self.resolve(node)) or "").rpartition(".")
                return named(name) if module == "numpy" else dtypes.ANY
        return dtypes.ANY

    def _made(self, node: ast.Subscript) -> Declared:
        """Read `Floats["b c"]` where an object of the program's own makes the annotation."""
        match self.module.program.evaluate(self.module, node, {}, False):
            case Shaped(category=category, text=text):
                written = ast.copy_location(ast.Constant(text), node.slice)
                return self._with_text(TensorDecl(), written, dtypes.CATEGORIES[category])
        return ANY

    def _annotated(self, node: ast.Subscript, args: list[ast.expr]) -> Declared:
        base = self.read(args[0])
        said = dialects.beside(self, args[1:])
        if said is not None:
            return dialects.applied(said, base)
        if not isinstance(base, TensorDecl):
            return base
        extras = [extra for extra in args[1:] if not self._is_foreign(extra)]
        parts = self._parts(extras)
        if parts is not None:
            return self._with_parts(node, base, parts, dtypes.ANY)
        return self._with_words(base, extras)

    def _is_foreign(self, extra: ast.expr) -> bool:
        """Whether what stands beside a type is another library's: `Is[...]`, `Field(gt=0)`."""
        node = self.written(extra)
        if isinstance(node, (ast.Subscript, ast.Lambda)):
            return True
        target = called(node)
        name = (
            dotted(self.resolve(target)) if isinstance(target, (ast.Name, ast.Attribute)) else None
        )
        return name is not None and name.partition(".")[0] not in _WITH_DIMENSIONS

    def _with_words(self, base: TensorDecl, extras: list[ast.expr]) -> TensorDecl:
        """Return a tensor type with the texts, sizes and `...` that stand beside it."""
        said = [self._constant(extra) for extra in extras]
        try:
            parsed = of_annotated(said)
        except spec.SpecError as error:
            self.malformed(extras[said.index(error.text)], error)
            return base
        if parsed is None:
            return base
        return _within(base, parsed, base.dtype, self._objects(parsed))

    def _constant(self, node: ast.expr) -> object:
        """Return a text, as it is written or by its name, a size or `...`."""
        return node.value if isinstance(node, ast.Constant) else self._text(node)

    def _shaped(self, node: ast.Subscript, category: str) -> Declared:
        match node.slice:
            case ast.Tuple(elts=[kind, *rest]) if (parts := self._parts(rest)) is not None:
                base = self.read(kind)
                if not isinstance(base, TensorDecl):
                    return ANY
                return self._with_parts(node, base, parts, dtypes.CATEGORIES[category])
            case ast.Tuple(elts=[kind, text]):
                return self._around(node, category, kind, text)
        self.fail(
            node,
            f"{category}[...] takes a tensor type and a text, "
            f'such as {category}[Tensor, "batch channels"]',
        )
        return ANY

    def _around(
        self, node: ast.Subscript, category: str, kind: ast.expr, text: ast.expr
    ) -> Declared:
        """Return what a type declares with a dtype and a shape around it."""
        held = dtypes.CATEGORIES[category]
        match self.read(kind):
            case (TensorDecl() | ArrayDecl()) as base if _held(base) & held:
                return self._around_one(base, text, held)
            case TensorDecl(dtype=inner) | ArrayDecl(tensor=TensorDecl(dtype=inner)):
                self.fail(
                    node,
                    f"{category}[...] holds {dtypes.describe(held)}, but what it is put around, "
                    f"{_written(kind)}, holds {dtypes.describe(inner)}",
                )
                return TensorDecl()
            case UnionDecl(options=options):
                return UnionDecl(
                    tuple(
                        self._around_one(one, text, held)
                        if isinstance(one, TensorDecl | ArrayDecl)
                        else one
                        for one in options
                    )
                )
            case base:
                self._around_other(category, kind, base, text)
                return ANY

    def _around_one(
        self, base: TensorDecl | ArrayDecl, text: ast.expr, held: dtypes.DTypes
    ) -> Declared:
        if isinstance(base, ArrayDecl):
            return ArrayDecl(self._with_text(base.tensor, text, held))
        return self._with_text(base, text, held)

    def _around_other(self, category: str, kind: ast.expr, base: Declared, text: ast.expr) -> None:
        """Check an annotation of an array that isn't torch's: its text all the same."""
        said = self._with_text(TensorDecl(), text, dtypes.ANY).text
        match base:
            case ScalarDecl() if said is not None and _has_axis(said):
                self.fail(kind, f"{category}[...] takes a tensor type, not {ast.unparse(kind)}")
            case ModuleDecl(name=name):
                self.fail(text, f"{category}[...] takes a tensor type, and {name} is a module")

    def _with_text(self, base: TensorDecl, node: ast.expr, dtype: dtypes.DTypes) -> TensorDecl:
        known = base.dtype & dtype
        text = self._text(node)
        if text is None:
            if not isinstance(node, _MADE):
                self.fail(node, f'the shape is a text such as "b c", not {ast.unparse(node)}')
            return TensorDecl(None, known)
        try:
            parsed = spec.parse(text)
        except spec.SpecError as error:
            self.malformed(node, error)
            return TensorDecl(None, known)
        return _within(base, parsed, known, self._objects(parsed))

    def _objects(self, text: spec.Spec) -> Objects:
        """Return which names of an annotation are dimension objects of the module."""
        found: dict[str, Dim] = {}
        for name in text.names():
            value = self.module.resolve(name) if self.module.syntax.bound(name) else UNKNOWN
            if isinstance(value, Dim) and getattr(value.dim, "symbol", None) is not None:
                found[name] = value
        return tuple(found.items())

    def _parts(self, nodes: list[ast.expr]) -> tuple[Part | Unknown, ...] | None:
        """Return what an annotation of dimension objects is made of; None for a text.

        Where something isn't known of such an annotation, it is unknown.
        """
        if are(nodes, ast.Constant):
            return None
        found = tuple(map(self._part, nodes))
        unsure = len(found) > 1 and UNKNOWN in found
        return found if unsure or only(found, Dim) else None

    def _part(self, node: ast.expr) -> Part | Unknown:
        value: object
        match node:
            case ast.Constant(value=value):
                pass
            case ast.Name(id=name):
                value = self.module.resolve(name)
            case _:
                value = self.module.program.evaluate(self.module, node, {}, False)
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
        if (name := name_of(node)) is None:
            return text_of(node)
        right = self.module.alias(name)
        return None if right is None or right is node else self._text(right)


def reader(module: Module) -> Reader:
    """Return the reader of a module's annotations; there is one a module."""
    found = module.reader
    if not isinstance(found, Reader):
        found = module.reader = Reader(module)
    return found


def _within(
    base: TensorDecl, parsed: spec.Spec, dtype: dtypes.DTypes, objects: Objects
) -> TensorDecl:
    """Return a tensor type with dimensions in front: `Float[Image, "b"]`."""
    if base.text is not None:
        parsed = spec.Spec((*parsed.entries, *base.text.entries))
    return TensorDecl(parsed, dtype, (*objects, *base.dims))


def _held(base: TensorDecl | ArrayDecl) -> dtypes.DTypes:
    return base.tensor.dtype if isinstance(base, ArrayDecl) else base.dtype


def _arguments(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _has_axis(text: spec.Spec) -> bool:
    return bool(only(text.entries, spec.Axis))


def _written(node: ast.expr) -> str:
    return ast.unparse(node).replace("'", '"')


def _united(node: ast.expr) -> list[ast.expr]:
    """Return the options of `a | b | c`, of which there may be more than calls can be nested."""
    options: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        options.append(node.right)
        node = node.left
    return [node, *reversed(options)]
