"""Reads signature files into signatures."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, NoReturn

from shapecheck import dtypes, spec
from shapecheck.dims import IntSize
from shapecheck.ops import RULES, UNKNOWN, Call, Unknown, Value
from shapecheck.ops.call import is_size
from shapecheck.shapes import Facts, Matcher, Tensor
from shapecheck.signatures import index
from shapecheck.signatures.evaluate import evaluate
from shapecheck.signatures.index import Function, Source, StubError, StubFile
from shapecheck.signatures.model import (
    CLAIMS,
    FOLLOW,
    NUMBERS,
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


@dataclass(slots=True)
class OpClass:
    """A class of a stub file: a module such as `torch.nn.Linear`.

    `attributes` are the shapes of its parameters and buffers, in terms of the constructor's
    arguments; `methods` its signatures; `constants` the attributes that all instances have.
    """

    name: str
    table: Table
    bases: tuple[str, ...]
    methods: set[str]
    fields: dict[str, Source]
    file: StubFile
    constants: dict[str, Value] = field(default_factory=dict)

    def method(self, name: str) -> Signature | None:
        """Return a method's signature, the bases' included."""
        if name in self.methods:
            return self.table.signature(f"{self.name}.{name}")
        for base in self.bases:
            parent = self.table.lookup_class(base)
            if parent is not None and (found := parent.method(name)) is not None:
                return found
        return None

    def inherits(self, name: str) -> bool:
        """Whether this class is the one of this dotted name, or derived from it."""
        if self.name == name:
            return True
        for base in self.bases:
            parent = self.table.lookup_class(base)
            if parent is not None and parent.inherits(name):
                return True
        return False

    def construct(
        self, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> dict[str, Value] | None:
        """Return the attributes of a new instance: the constructor's arguments by name."""
        init = self.method("__init__")
        if init is None:
            return self._of_all()
        bound = init.bind(args, kwargs)
        if bound is None:
            return None
        for param in init.params:
            if param.count:
                bound[param.name] = spread(bound[param.name], param.count)
        return {**bound, **self._of_all()}

    def unknown(self) -> dict[str, Value]:
        """Return the attributes of an instance of which nothing is known."""
        init = self.method("__init__")
        params = () if init is None else init.params
        return {**{param.name: UNKNOWN for param in params}, **self._of_all()}

    def _of_all(self) -> dict[str, Value]:
        """Return the attributes that all instances have, the bases' included."""
        found: dict[str, Value] = {}
        for base in reversed(self.bases):
            parent = self.table.lookup_class(base)
            found |= {} if parent is None else parent._of_all()
        return {**found, **self.constants, "__class__": self.name}

    def attribute(self, name: str, instance: Mapping[str, Value]) -> Value:
        """Return an attribute's value; UNKNOWN where there is none of this name.

        A field goes before the constructor's flag of the same name, and before an argument that
        isn't given: `bias` is a tensor, and None under `bias=False`. It may be either where the
        flag isn't known.
        """
        given = instance.get(name, UNKNOWN)
        owner = self._declares(name)
        if owner is None or isinstance(given, Tensor):
            return given
        if not isinstance(given, (bool, Unknown, type(None))):
            return UNKNOWN
        if given is False:
            return None
        return owner._field(
            self.table.result(owner.fields[name].expression(), owner.file), instance
        )

    def _declares(self, name: str) -> OpClass | None:
        """Return the class, this one or a base, that declares a field."""
        if name in self.fields:
            return self
        for base in self.bases:
            parent = self.table.lookup_class(base)
            if parent is not None and (found := parent._declares(name)) is not None:
                return found
        return None

    def is_in_a_shape(self, argument: str) -> bool:
        """Whether the shape of a field is written with an argument of the constructor."""
        used = re.compile(rf"\bself\.{re.escape(argument)}\b")
        if any(used.search(field.text) for field in self.fields.values()):
            return True
        parents = (self.table.lookup_class(base) for base in self.bases)
        return any(parent is not None and parent.is_in_a_shape(argument) for parent in parents)

    def _field(self, form: Result, instance: Mapping[str, Value]) -> Value:
        if form.same is not None:
            return self.table.evaluate(form.same, {"self": instance}, None)
        if form.rule is not None:
            return RULES[form.rule](Call(Facts(), self.name, (), form.extra), self=instance)
        if form.number is not None:
            return NUMBERS[form.number]()
        if form.tensor is None or form.tensor.text is None:
            return UNKNOWN
        matcher = Matcher(Facts(), lambda source: self.table.size(source, {"self": instance}))
        category = form.tensor.category
        dtype = dtypes.ANY if category in FOLLOW else CLAIMS[category]
        return Tensor(matcher.build(form.tensor.text), dtype)


@dataclass(frozen=True, slots=True)
class Definition:
    """A signature as it stands in its file: all its dotted names, its text, and where it is."""

    names: tuple[str, ...]
    text: str
    path: Path
    line: int


ELEMENTWISE: Final = "_elementwise"
"""The file that has all elementwise ops, and no others."""


class Table:
    """All signatures below some folders, by dotted name.

    `docs/developers/adding_an_op.md` describes the format.

    Earlier folders win. Raises `StubError` for a malformed file when it is first needed.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        self._loaded = False
        self._problem: StubError | None = None
        self._packages: set[str] = set()
        self._modules: frozenset[str] | None = None
        self._described: set[str] = set()
        self._functions: dict[str, list[tuple[Function, StubFile]]] = {}
        self._classes: dict[str, OpClass] = {}
        self._aliases: dict[str, str] = {}
        self._built: dict[str, Signature | None] = {}
        self._flagged: dict[str, set[str]] = {}
        self._examples: dict[str, str] = {}

    def signature(self, name: str) -> Signature | None:
        """Return a function's or method's signature by its dotted name, None if there is none."""
        if name in self._built:
            return self._built[name]
        self._load()
        entries = self._functions.get(name, ())
        built = [self._build(name, entry.source.function(), file) for entry, file in entries]
        found = built[0] if built else None
        if found is not None:
            found.overloads = tuple(built[1:])
        self._built[name] = found
        return found

    def has(self, name: str) -> bool:
        """Whether a function or method of this dotted name has a signature."""
        self._load()
        return name in self._functions

    def lookup_class(self, name: str) -> OpClass | None:
        """Return the class of this dotted name, None if there is none."""
        self._load()
        return self._classes.get(self._aliases.get(name, name))

    def field(self, owner: Mapping[str, Value], name: str) -> Value:
        """Return a field of a module whose attributes are `owner`; UNKNOWN if it has none."""
        found = self.lookup_class(str(owner.get("__class__", "")))
        return UNKNOWN if found is None else found.attribute(name, owner)

    def is_property(self, name: str) -> bool:
        """Whether a name is an attribute that is read without a call."""
        return name in self.flagged("property")

    def is_elementwise(self, name: str) -> bool:
        """Whether an op is one of the elements alone, so that no axis matters to it."""
        found = self.definitions(name)
        return bool(found) and found[0].path.stem == ELEMENTWISE and "Axis[" not in found[0].text

    def flagged(self, flag: str) -> Set[str]:
        """Return the dotted names of all functions and methods of which a flag is said."""
        self._load()
        return self._flagged.get(flag, frozenset())

    def examples(self) -> Mapping[str, str]:
        """Return how ops are called, by their dotted names, where their files say it."""
        self._load()
        return self._examples

    def knows(self, root: str) -> bool:
        """Whether there are signature files for a top-level package."""
        self._load()
        return root in self._packages

    def describes(self, module: str) -> bool:
        """Whether anything in a module, or in one inside of it, has a signature."""
        if self._modules is None:
            found: set[str] = set()
            for name in self.all_names():
                while (name := name.rpartition(".")[0]) and name not in found:
                    found.add(name)
            self._modules = frozenset(found)
        return module in self._modules

    def ships(self, root: str) -> bool:
        """Whether a top-level package is described by the last folder only, the shipped one."""
        self._load()
        return root not in self._described

    def names(self, root: str) -> Iterator[str]:
        """Yield the dotted names of all functions and methods of a top-level package."""
        self._load()
        yield from (name for name in self._functions if name.startswith(root + "."))

    def definitions(self, name: str) -> list[Definition]:
        """Return where a function or method of this dotted name is defined, overloads in order."""
        self._load()
        return [
            Definition(tuple(entry.names), entry.source.text, file.path, entry.source.line)
            for entry, file in self._functions.get(name, ())
        ]

    def all_names(self) -> Iterator[str]:
        """Yield the dotted names of all functions, methods and classes."""
        self._load()
        yield from self._functions
        yield from self._classes
        yield from self._aliases

    def _load(self) -> None:
        if self._problem is not None:
            raise self._problem
        if self._loaded:
            return
        self._loaded = True
        for folder in self.folders:
            earlier = frozenset((*self._functions, *self._classes))
            for file in self._files(folder):
                root = file.prefix.partition(".")[0]
                self._packages.add(root)
                if folder != self.folders[-1]:
                    self._described.add(root)
                self._add(file, earlier)

    def _files(self, folder: Path) -> list[StubFile]:
        """Return the files of a folder; one that is refused is refused each time."""
        try:
            return index.files(folder, keep=folder == self.folders[-1])
        except StubError as error:
            self._problem = error
            raise

    def _add(self, file: StubFile, earlier: Set[str]) -> None:
        """Add what a file defines.

        Flags and examples of the names that an earlier folder has don't count.
        """
        for entry in file.classes:
            known = self._classes.get(entry.name)
            if known is None:
                known = OpClass(entry.name, self, (), set(), {}, file)
                self._classes[entry.name] = known
            elif known.file.prefix != file.prefix:
                continue
            known.bases += tuple(entry.bases)
            known.methods.update(entry.methods)
            known.fields.update(entry.fields)
            known.constants.update(entry.constants)
            self._aliases.update(dict.fromkeys(entry.also, entry.name))
        for function in file.functions:
            for name in function.names:
                found = self._functions.setdefault(name, [])
                if not found or found[0][1].prefix == file.prefix:
                    found.append((function, file))
            for flag, names in function.flags.items():
                self._flagged.setdefault(flag, set()).update(set(names) - earlier)
        self._examples |= {n: text for n, text in file.examples.items() if n not in earlier}

    def _build(self, name: str, node: ast.FunctionDef, file: StubFile) -> Signature:
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
        if result.rule is not None:
            _check_rule(result.rule, params, node, file)
        params = _meeting(params)
        flags = frozenset(flag for flag, names in self._flagged.items() if name in names)
        return Signature(name, tuple(params), arguments.kwarg is not None, result, self, flags)

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
                case ast.Subscript(value=ast.Name(id=head)) if head in FOLLOW or head in CLAIMS:
                    param = replace(param, tensor=self._tensor(part, file))
                case ast.Name(id="Tensor" | "ndarray" as head):
                    form = TensorForm("Shaped", None, array=head == "ndarray")
                    param = replace(param, tensor=form)
                case ast.Name(id="DType"):
                    param = replace(param, dtype=True)
                case ast.Name(id=head) if head in _PLAIN:
                    param = replace(param, whole=head == "int" and len(parts) == 1)
                case ast.Constant(value=None):
                    pass
                case ast.Subscript(value=ast.Name(id=head)) if head in _PLAIN:
                    pass
                case _:
                    self._malformed(part, file)
        if param.tensor is not None and any(
            isinstance(p, ast.Name) and p.id == "Any" for p in parts
        ):
            return replace(param, other=True)
        return param

    def _malformed(self, node: ast.expr, file: StubFile) -> NoReturn:
        raise StubError(
            file.path,
            node.lineno,
            f"'{ast.unparse(node)}' isn't a form that signatures have; there are "
            'Float[Tensor, "..."] and the other dtypes, T/F/A/R/D[Tensor, "..."], Axis, Axes, '
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
                slice=ast.Tuple(elts=[ast.Name(id="Tensor" | "ndarray" as kind), shape]),
            ) if category in FOLLOW or category in CLAIMS:
                array = kind == "ndarray"
                match shape:
                    case ast.Subscript(value=ast.Name(id=change)) if change in _EDITS:
                        edit = self._parse_edit(change, shape, file)
                        return TensorForm(category, None, edit, array)
                    case ast.Constant(value=value) if value is ...:
                        return TensorForm(category, None, array=array)
                    case _:
                        return TensorForm(category, self._spec(shape, file), array=array)
        self._malformed(node, file)

    def _parse_edit(self, kind: str, node: ast.Subscript, file: StubFile) -> Edit:
        parts = _elements(node.slice)
        if kind == "Sizes" and len(parts) == 1 and isinstance(parts[0], ast.Name):
            return Edit(kind, "", parts[0].id, None, None)
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
            case ast.Name(id=head) if head in NUMBERS:
                return Result(number=head)
            case ast.Name(id="Tensor" | "ndarray" as head):
                form = TensorForm("Shaped", None, array=head == "ndarray")
                return Result(tensor=form, array=form.array)
            case ast.Subscript(value=ast.Name(id=head), slice=inner) if head in _RESULTS:
                return _RESULTS[head](self, inner, file)
            case ast.Name(id=head) | ast.Subscript(value=ast.Name(id=head)) if head in _PLAIN:
                return Result()
            case ast.BinOp(op=ast.BitOr()):
                return Result()
            case ast.Subscript():
                form = self._tensor(node, file)
                return Result(tensor=form, array=form.array)
            case _:
                self._malformed(node, file)

    def _of_rule(self, inner: ast.expr, file: StubFile) -> Result:
        parts = _elements(inner)
        name = self._text(parts[0], file)
        if name not in RULES:
            raise StubError(file.path, inner.lineno, f"there is no rule '{name}'")
        return Result(rule=name, extra=tuple(_literal(part) for part in parts[1:]))

    def _of_blank(self, inner: ast.expr, file: StubFile) -> Result:
        return replace(self.result(inner, file), blank=True)

    def _of_fields(self, inner: ast.expr, file: StubFile) -> Result:
        names, result = _elements(inner)
        fields = tuple(self._text(names, file).split())
        return replace(self.result(result, file), fields=fields)

    def _of_array(self, inner: ast.expr, file: StubFile) -> Result:
        return replace(self.result(inner, file), array=True)

    def _of_expression(self, inner: ast.expr, file: StubFile) -> Result:
        return Result(same=_Qualify(file).visit(inner))

    def _of_tuple(self, inner: ast.expr, file: StubFile) -> Result:
        if not isinstance(inner, ast.Tuple):
            return Result()
        return Result(items=tuple(self.result(element, file) for element in inner.elts))

    def size(self, source: str, scope: Mapping[str, Value]) -> IntSize | None:
        """Return the value of a `{...}` expression as a size, None where it isn't known."""
        value = self.evaluate(_parse_expression(source), scope, None)
        return value if is_size(value) else None

    def evaluate(self, node: ast.expr, scope: Mapping[str, Value], call: Call | None) -> Value:
        """Evaluate the small part of Python that signatures use over the values of a call.

        Names, attributes of `self`, integers, tuples, arithmetic, conditions, indexing, and,
        where a call is at hand, other ops by their dotted name.
        """
        return evaluate(self, node, scope, call)


def _elements(inner: ast.expr) -> list[ast.expr]:
    """Return what stands between brackets, one or several."""
    return inner.elts if isinstance(inner, ast.Tuple) else [inner]


_RESULTS: Final[Mapping[str, Callable[[Table, ast.expr, StubFile], Result]]] = {
    "Rule": Table._of_rule,
    "Blank": Table._of_blank,
    "Fields": Table._of_fields,
    "ndarray": Table._of_array,
    "Is": Table._of_expression,
    "tuple": Table._of_tuple,
}
_PLAIN: Final = frozenset(
    "int float bool str Any None Number Sequence list tuple object Module Size "
    "Generator Callable dict".split()
)
_EDITS: Final = frozenset(("Without", "With", "Insert", "Sizes"))


def _meeting(params: list[Param]) -> list[Param]:
    """Mark the parameters whose whole shape is a group that broadcasts, and is in no other."""
    texts = [param.tensor.text for param in params if param.tensor is not None]
    whole = {group for text in texts if text is not None and (group := _broadcast_group(text))}
    mixed = {
        entry.name
        for text in texts
        if text is not None and _broadcast_group(text) is None
        for entry in text.entries
        if isinstance(entry, spec.Group)
    }
    groups = whole - mixed
    return [
        replace(param, meets=group)
        if param.tensor is not None
        and param.tensor.text is not None
        and (group := _broadcast_group(param.tensor.text)) in groups
        else param
        for param in params
    ]


def _broadcast_group(text: spec.Spec) -> str | None:
    """Return the name of the group that broadcasts and is all of a shape."""
    entry = text.entries[0] if len(text.entries) == 1 else None
    return entry.name if isinstance(entry, spec.Group) and entry.broadcast else None


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
            wanted += [(edit.group, "group", groups)] if edit.group else []
            wanted += [(edit.dim, "parameter", names)]
            wanted += [] if edit.keepdim is None else [(edit.keepdim, "parameter", names)]
            texts += [] if edit.text is None else [edit.text]
    for text in texts:
        wanted += [(name, "parameter", names) for name in _mentioned(text)]
    for name, kind, known in wanted:
        if name not in known:
            shown = f"*{name}" if kind == "group" else name
            raise StubError(file.path, node.lineno, f"'{node.name}' has no {kind} '{shown}'")


def _check_rule(rule: str, params: Sequence[Param], node: ast.FunctionDef, file: StubFile) -> None:
    """Raise `StubError` where a signature hasn't the parameters that the rule in Python has."""
    _, *wanted = inspect.signature(RULES[rule]).parameters.values()
    given = [param.name for param in params]
    needed = [
        one.name for one in wanted if one.default is one.empty and one.kind != one.VAR_KEYWORD
    ]
    missing = [f"needs '{name}'" for name in needed if name not in {*given, "self", "kwargs"}]
    if not any(one.kind is one.VAR_KEYWORD for one in wanted):
        known = [one.name for one in wanted]
        missing += [f"takes no '{name}'" for name in given if name not in known]
    if missing:
        reason = f"the rule '{rule}' {missing[0]}: '{node.name}' must have its parameters"
        raise StubError(file.path, node.lineno, reason)


def _mentioned(text: spec.Spec) -> Iterator[str]:
    """Yield the variables in the `{...}` of a shape."""
    for source in re.findall(r"\{([^{}]*)\}", str(text)):
        tree = _parse_expression(source)
        called = {n.func for n in ast.walk(tree) if isinstance(n, ast.Call)}
        names = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in called)
        yield from (name.id for name in names if name.id != "_")


def _union(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _union(node.left)
        yield from _union(node.right)
    else:
        yield node


def _literal(node: ast.expr) -> Value:
    try:
        found: Value = ast.literal_eval(node)
    except ValueError:
        return UNKNOWN
    return found


class _Qualify(ast.NodeTransformer):
    """Spells out imported names in the expression of `Is[...]`."""

    def __init__(self, file: StubFile) -> None:
        self.file = file

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name that the file imports by its dotted name."""
        dotted = self.file.imports.get(node.id)
        return node if dotted is None else ast.copy_location(ast.Name(dotted), node)
