"""Reads signature files into signatures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, NoReturn

from shapecheck import dtypes, spec
from shapecheck.dims import IntSize, Size
from shapecheck.ops import RULES, UNKNOWN, Call, Unknown, Value
from shapecheck.shapes import Facts, Matcher, Tensor
from shapecheck.signatures.evaluate import evaluate
from shapecheck.signatures.model import (
    FOLLOW,
    Edit,
    Param,
    Result,
    Signature,
    TensorForm,
    spread,
)


@lru_cache(maxsize=1024)
def _parse_expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


class StubError(Exception):
    """A signature file that can't be read; says which file, which line, and why."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        self.path, self.line, self.reason = path, line, reason
        super().__init__(f"{path}:{line}: {reason}")


@dataclass(slots=True)
class OpClass:
    """A class of a stub file: a module such as `torch.nn.Linear`.

    `attributes` are the shapes of its parameters and buffers, in terms of the constructor's
    arguments; `methods` its signatures.
    """

    name: str
    table: Table
    bases: tuple[str, ...]
    nodes: dict[str, list[ast.FunctionDef]]
    fields: dict[str, ast.expr]
    file: StubFile

    def method(self, name: str) -> Signature | None:
        """Return a method's signature, the bases' included."""
        if name in self.nodes:
            return self.table.signature(f"{self.name}.{name}")
        for base in self.bases:
            parent = self.table.lookup_class(base)
            if parent is not None and (found := parent.method(name)) is not None:
                return found
        return None

    def construct(
        self, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> dict[str, Value] | None:
        """Return the attributes of a new instance: the constructor's arguments by name."""
        init = self.method("__init__")
        if init is None:
            return {"__class__": self.name}
        bound = init.bind(args, kwargs)
        if bound is None:
            return None
        for param in init.params:
            if param.count:
                bound[param.name] = spread(bound[param.name], param.count)
        return {**bound, "__class__": self.name}

    def unknown(self) -> dict[str, Value]:
        """Return the attributes of an instance of which nothing is known."""
        init = self.method("__init__")
        params = () if init is None else init.params
        return {**{param.name: UNKNOWN for param in params}, "__class__": self.name}

    def attribute(self, name: str, instance: Mapping[str, Value]) -> Value:
        """Return an attribute's value; UNKNOWN where there is none of this name.

        A field goes before the constructor's flag of the same name, and before an argument that
        isn't given: `bias` is a tensor, and None under `bias=False`.
        """
        given = instance.get(name, UNKNOWN)
        owner = self._declares(name)
        if owner is None or not isinstance(given, (bool, Unknown, type(None))):
            return given
        if given is False:
            return None
        return owner._field(self.table.result(owner.fields[name], owner.file), instance)

    def _declares(self, name: str) -> OpClass | None:
        """Return the class, this one or a base, that declares a field."""
        if name in self.fields:
            return self
        for base in self.bases:
            parent = self.table.lookup_class(base)
            if parent is not None and (found := parent._declares(name)) is not None:
                return found
        return None

    def _field(self, form: Result, instance: Mapping[str, Value]) -> Value:
        if form.same is not None:
            return self.table.evaluate(form.same, {"self": instance}, None)
        if form.rule is not None:
            return RULES[form.rule](Call(Facts(), self.name, (), form.extra), self=instance)
        if form.tensor is None or form.tensor.text is None:
            return UNKNOWN
        matcher = Matcher(Facts(), lambda source: self.table.size(source, {"self": instance}))
        category = form.tensor.category
        dtype = dtypes.ANY if category in FOLLOW else dtypes.CATEGORIES[category]
        return Tensor(matcher.build(form.tensor.text), dtype)


@dataclass(slots=True)
class StubFile:
    """One signature file: where it is, the dotted prefix of its names, what its imports mean."""

    path: Path
    prefix: str
    imports: dict[str, str] = field(default_factory=dict)


class Table:
    """All signatures below some folders, by dotted name; see `docs/ops.md` for the format.

    Earlier folders win. Raises `StubError` for a malformed file when it is first needed.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        self._roots: set[str] = set()
        self._functions: dict[str, list[tuple[ast.FunctionDef, StubFile, str]]] = {}
        self._classes: dict[str, OpClass] = {}
        self._aliases: dict[str, str] = {}
        self._built: dict[str, Signature | None] = {}

    def signature(self, name: str) -> Signature | None:
        """Return a function's or method's signature by its dotted name, None if there is none."""
        if name in self._built:
            return self._built[name]
        self._load(name.partition(".")[0])
        entries = self._functions.get(name)
        built = [self._build(name, *entry) for entry in entries or ()]
        found = built[0] if built else None
        if found is not None:
            found.overloads = tuple(built[1:])
        self._built[name] = found
        return found

    def lookup_class(self, name: str) -> OpClass | None:
        """Return the class of this dotted name, None if there is none."""
        self._load(name.partition(".")[0])
        return self._classes.get(self._aliases.get(name, name))

    def field(self, owner: Mapping[str, Value], name: str) -> Value:
        """Return a field of a module whose attributes are `owner`; UNKNOWN if it has none."""
        found = self.lookup_class(str(owner.get("__class__", "")))
        return UNKNOWN if found is None else found.attribute(name, owner)

    def is_property(self, name: str) -> bool:
        """Whether a name is an attribute that is read without a call."""
        return any(
            isinstance(decorator, ast.Name) and decorator.id == "property"
            for node, *_ in self._functions.get(name, ())
            for decorator in node.decorator_list
        )

    def knows(self, root: str) -> bool:
        """Whether there are signature files for a top-level package."""
        self._load(root)
        return any(name.startswith(root + ".") for name in (*self._functions, *self._classes))

    def names(self, root: str) -> Iterator[str]:
        """Yield the dotted names of all functions and methods of a top-level package."""
        self._load(root)
        yield from (name for name in self._functions if name.startswith(root + "."))

    def _load(self, root: str) -> None:
        if root in self._roots:
            return
        first = not self._roots
        self._roots.add(root)
        for folder in self.folders[:-1] if first else ():  # the user's may name ops of any package
            for path in sorted(folder.rglob("*.pyi")):
                self._read(path, folder)
        for folder in self.folders[-1:]:
            for path in sorted((folder / root).rglob("*.pyi")):
                self._read(path, folder)
            if (single := folder / f"{root}.pyi").is_file():
                self._read(single, folder)

    def _read(self, path: Path, folder: Path) -> None:
        try:
            tree = ast.parse(path.read_text("utf-8"), str(path))
        except SyntaxError as error:
            raise StubError(path, error.lineno or 1, f"not Python: {error.msg}") from None
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            byte = error.object[error.start]
            raise StubError(path, line, f"can't be read: byte 0x{byte:x} isn't UTF-8") from None
        except OSError as error:
            raise StubError(path, 1, f"can't be read: {error.strerror or error}") from None
        except ValueError as error:
            raise StubError(path, 1, f"not Python: {error}") from None
        parts = list(path.relative_to(folder).with_suffix("").parts)
        if parts[-1].startswith("_"):
            parts.pop()
        file = StubFile(path, ".".join(parts))
        for node in tree.body:
            self._collect(node, file)

    def _collect(self, node: ast.stmt, file: StubFile) -> None:
        match node:
            case ast.FunctionDef(name=name):
                self._add_function(f"{file.prefix}.{name}", node, file)
            case ast.ClassDef(name=name):
                self._add_class(f"{file.prefix}.{name}", node, file)
            case ast.ImportFrom(module=module, names=names, level=0):
                for alias in names:
                    file.imports[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.Import(names=names):
                for alias in names:
                    file.imports[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                raise StubError(
                    file.path,
                    node.lineno,
                    "a signature file holds imports, functions and classes only",
                )

    def _add_class(self, name: str, node: ast.ClassDef, file: StubFile) -> None:
        if name in self._classes and self._classes[name].file is not file:
            existing = self._classes[name]
            if existing.file.prefix != file.prefix:
                return
        nodes: dict[str, list[ast.FunctionDef]] = {}
        fields: dict[str, ast.expr] = {}
        for statement in node.body:
            match statement:
                case ast.FunctionDef():
                    nodes.setdefault(statement.name, []).append(statement)
                    self._add_function(f"{name}.{statement.name}", statement, file, name)
                case ast.AnnAssign(target=ast.Name(id=field_name), annotation=annotation):
                    fields[field_name] = annotation
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case _:
                    raise StubError(
                        file.path, statement.lineno, "a class holds methods and fields only"
                    )
        bases = tuple(
            base for base in (self._dotted(expr, file) for expr in node.bases) if base is not None
        )
        for decorator in node.decorator_list:
            for alias in self._strings(decorator, "also", file):
                self._aliases[alias if "." in alias else f"{file.prefix}.{alias}"] = name
        known = self._classes.get(name)
        if known is not None:
            nodes = {**known.nodes, **nodes}
            fields = {**known.fields, **fields}
            bases = (*known.bases, *bases)
        self._classes[name] = OpClass(name, self, bases, nodes, fields, file)

    def _dotted(self, node: ast.expr, file: StubFile) -> str | None:
        if isinstance(node, ast.Name):
            return file.imports.get(node.id, f"{file.prefix}.{node.id}")
        if isinstance(node, ast.Attribute):
            base = self._dotted(node.value, file)
            return None if base is None else f"{base}.{node.attr}"
        return None

    def _strings(self, node: ast.expr, function: str, file: StubFile) -> tuple[str, ...]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == function:
                return tuple(self._text(argument, file) for argument in node.args)
        return ()

    def _add_function(
        self, name: str, node: ast.FunctionDef, file: StubFile, owner: str | None = None
    ) -> None:
        names = [name]
        prefix = name.rpartition(".")[0]
        method = inplace = False
        for decorator in node.decorator_list:
            match decorator:
                case ast.Name(id="method"):
                    method = True
                case ast.Name(id="inplace"):
                    inplace = True
                case ast.Name(id="overload" | "property" | "staticmethod" | "classmethod"):
                    pass
                case ast.Call(func=ast.Name(id="also")):
                    names += [
                        other if "." in other else f"{prefix}.{other}"
                        for other in self._strings(decorator, "also", file)
                    ]
                case _:
                    raise StubError(
                        file.path,
                        decorator.lineno,
                        f"unknown decorator '{ast.unparse(decorator)}'; there are method, "
                        "inplace, also(...), overload and property",
                    )
        if method:
            names += [
                f"torch.Tensor.{n.rpartition('.')[2]}"
                for n in names
                if not n.startswith("torch.Tensor.")
            ]
        if inplace:
            names += [f"{n}_" for n in names if not n.endswith("_")]
        for one in dict.fromkeys(names):
            found = self._functions.setdefault(one, [])
            if not found or found[0][1].prefix == file.prefix or found[0][2] == one:
                found.append((node, file, one))

    def _build(self, name: str, node: ast.FunctionDef, file: StubFile, spelled: str) -> Signature:
        arguments = node.args
        params: list[Param] = []
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
        for argument, default in zip(positional, [*defaults, *arguments.defaults], strict=True):
            params.append(self._param(argument, default, file))
        if params and params[0].name == "self" and positional[0].annotation is None:
            params.pop(0)
        if arguments.vararg is not None:
            params.append(replace(self._param(arguments.vararg, None, file), star=True))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            params.append(replace(self._param(argument, default, file), keyword_only=True))
        if node.returns is None:
            raise StubError(file.path, node.lineno, f"'{node.name}' needs a result annotation")
        result = self.result(node.returns, file)
        _check_references(params, result, node, file)
        return Signature(name, tuple(params), arguments.kwarg is not None, result, self)

    def _param(self, argument: ast.arg, default: ast.expr | None, file: StubFile) -> Param:
        param = Param(
            argument.arg,
            None if default is None else _literal(default),
            required=default is None,
        )
        if argument.annotation is None:
            return param
        parts = list(_union(argument.annotation))
        for part in parts:
            match part:
                case ast.Subscript(
                    value=ast.Name(id="Axis" | "Axes" | "NewAxis" as head), slice=group
                ):
                    text = self._text(group, file)
                    new = head == "NewAxis"
                    param = replace(param, axis=text.lstrip("*"), new_axis=new)
                case ast.Subscript(value=ast.Name(id="Ints"), slice=ast.Constant(value=int(count))):
                    param = replace(param, count=count)
                case ast.Subscript(value=ast.Name(id=head)) if (
                    head in FOLLOW or head in dtypes.CATEGORIES
                ):
                    param = replace(param, tensor=self._tensor(part, file))
                case ast.Name(id="Tensor"):
                    param = replace(param, tensor=TensorForm("Shaped", None))
                case ast.Name(id="DType"):
                    param = replace(param, dtype=True)
                case ast.Name(id=head) if head in _PLAIN:
                    pass
                case ast.Constant(value=None):
                    pass
                case ast.Subscript(value=ast.Name(id=head)) if head in _PLAIN:
                    pass
                case _:
                    self._malformed(part, file)
        return param

    def _malformed(self, node: ast.expr, file: StubFile) -> NoReturn:
        raise StubError(
            file.path,
            node.lineno,
            f"'{ast.unparse(node)}' isn't a form that signatures have; there are "
            'Float[Tensor, "..."] and the other dtypes, T/F/A/R[Tensor, "..."], Axis, Axes, '
            "Ints[n], DType, Number and plain Python types",
        )

    def _text(self, node: ast.expr, file: StubFile) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise StubError(file.path, node.lineno, f"'{ast.unparse(node)}' should be a string")

    def _spec(self, node: ast.expr, file: StubFile) -> spec.Spec:
        try:
            return spec.parse(self._text(node, file))
        except spec.SpecError as error:
            raise StubError(file.path, node.lineno, str(error)) from None

    def _tensor(self, node: ast.expr, file: StubFile) -> TensorForm:
        match node:
            case ast.Subscript(
                value=ast.Name(id=category),
                slice=ast.Tuple(elts=[ast.Name(id="Tensor"), shape]),
            ) if category in FOLLOW or category in dtypes.CATEGORIES:
                match shape:
                    case ast.Subscript(value=ast.Name(id=kind)) if kind in _EDITS:
                        return TensorForm(category, None, self._parse_edit(kind, shape, file))
                    case ast.Constant(value=value) if value is ...:
                        return TensorForm(category, None)
                    case _:
                        return TensorForm(category, self._spec(shape, file))
        self._malformed(node, file)

    def _parse_edit(self, kind: str, node: ast.Subscript, file: StubFile) -> Edit:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        group = self._text(parts[0], file).lstrip("*")
        if len(parts) < 2 or not isinstance(parts[1], ast.Name):
            raise StubError(file.path, node.lineno, f"{kind} needs a group and a parameter's name")
        keepdim = text = None
        if len(parts) > 2:
            if kind == "Without" and isinstance(parts[2], ast.Name):
                keepdim = parts[2].id
            elif kind != "Without":
                text = self._spec(parts[2], file)
        if kind != "Without" and text is None:
            raise StubError(file.path, node.lineno, f"{kind} needs the new dimension as a string")
        return Edit(kind, group, parts[1].id, keepdim, text)

    def result(self, node: ast.expr, file: StubFile) -> Result:
        """Read the annotation of a result or a field."""
        match node:
            case ast.Constant(value=None):
                return Result(nothing=True)
            case ast.Name(id=head) if head in _PLAIN:
                return Result()
            case ast.Name(id="Tensor"):
                return Result(tensor=TensorForm("Shaped", None))
            case ast.Subscript(value=ast.Name(id="Rule"), slice=inner):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                name = self._text(parts[0], file)
                if name not in RULES:
                    raise StubError(file.path, node.lineno, f"there is no rule '{name}'")
                return Result(rule=name, extra=tuple(_literal(part) for part in parts[1:]))
            case ast.Subscript(value=ast.Name(id="Is"), slice=inner):
                return Result(same=_Qualify(file).visit(inner))
            case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=elements)):
                return Result(items=tuple(self.result(element, file) for element in elements))
            case ast.Subscript(value=ast.Name(id=head)) if head in _PLAIN:
                return Result()
            case ast.BinOp(op=ast.BitOr()):
                return Result()
            case ast.Subscript():
                return Result(tensor=self._tensor(node, file))
            case _:
                self._malformed(node, file)

    def size(self, source: str, scope: Mapping[str, Value]) -> IntSize | None:
        """Return the value of a `{...}` expression as a size, None where it isn't known."""
        value = self.evaluate(_parse_expression(source), scope, None)
        if isinstance(value, bool) or not isinstance(value, (int, Size)):
            return None
        return value

    def evaluate(self, node: ast.expr, scope: Mapping[str, Value], call: Call | None) -> Value:
        """Evaluate the small part of Python that signatures use over the values of a call.

        Names, attributes of `self`, integers, tuples, arithmetic, conditions, indexing, and,
        where a call is at hand, other ops by their dotted name.
        """
        return evaluate(self, node, scope, call)


_PLAIN: Final = frozenset(
    "int float bool str Any None Number Sequence list tuple object Module Size "
    "Generator Callable dict".split()
)
_EDITS: Final = frozenset(("Without", "With", "Insert"))


def _check_references(
    params: Sequence[Param], result: Result, node: ast.FunctionDef, file: StubFile
) -> None:
    """Raise `StubError` where a signature mentions a group or a parameter that it hasn't."""
    names = {param.name for param in params} | {"self"}
    forms = [param.tensor for param in params if param.tensor is not None]
    texts = [form.text for form in forms if form.text is not None]
    entries = (entry for text in texts for entry in text.entries)
    groups = {e.name for e in entries if isinstance(e, spec.Group) and e.name is not None}
    wanted = [(param.axis, "group", groups) for param in params if param.axis is not None]
    waiting = [result]
    for part in waiting:
        waiting += part.items or ()
        if part.tensor is not None and part.tensor.text is not None:
            texts.append(part.tensor.text)
        if part.tensor is not None and (edit := part.tensor.edit) is not None:
            wanted += [(edit.group, "group", groups), (edit.dim, "parameter", names)]
            wanted += [] if edit.keepdim is None else [(edit.keepdim, "parameter", names)]
            texts += [] if edit.text is None else [edit.text]
    for text in texts:
        wanted += [(name, "parameter", names) for name in _mentioned(text)]
    for name, kind, known in wanted:
        if name not in known:
            shown = f"*{name}" if kind == "group" else name
            raise StubError(file.path, node.lineno, f"'{node.name}' has no {kind} '{shown}'")


def _mentioned(text: spec.Spec) -> Iterator[str]:
    """Yield the variables in the `{...}` of a shape."""
    for source in re.findall(r"\{([^{}]*)\}", str(text)):
        tree = _parse_expression(source)
        called = {n.func for n in ast.walk(tree) if isinstance(n, ast.Call)}
        yield from (n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in called)


def _union(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _union(node.left)
        yield from _union(node.right)
    else:
        yield node


def _literal(node: ast.expr) -> Value:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return UNKNOWN


class _Qualify(ast.NodeTransformer):
    """Spells out imported names in the expression of `Is[...]`."""

    def __init__(self, file: StubFile) -> None:
        self.file = file

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name that the file imports by its dotted name."""
        dotted = self.file.imports.get(node.id)
        return node if dotted is None else ast.copy_location(ast.Name(dotted), node)
