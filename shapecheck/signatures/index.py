"""Finds what signature files define, and keeps that for the next start.

A file is parsed whole once; of each signature its text is kept, which is parsed again when the op
is first used. The index of the shipped files lies beside this module's bytecode.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, Final

from shapecheck.made_from_files import MadeFromFiles

FORMAT: Final = 5
FLAGS: Final[Mapping[str, str]] = {
    "reduces": "counts all elements along the axes that it takes away, padding too",
    "normalizes": "counts all elements along an axis that it keeps, padding too",
    "mixes": "goes over all elements of each axis or of several, padding too",
    "levels": "along an axis of size 1, gives the same whatever stands there",
    "reshapes": "in place, gives its operand other axes",
    "tensor_type": "is the type of a tensor in annotations",
    "metadata": "says of a tensor what doesn't change: a size, a dtype",
    "telling": "as a method or attribute, one that only tensors have",
    "shared": "as a method or attribute, one that other things have as well as tensors",
    "arraylike": "as a method or attribute, one that tensors have and arrays of other libraries",
    "by_axis": "the numbers that it takes are indices of axes",
    "uncast": "gives the dtype that it is asked for, under torch.autocast too",
    "sized": "takes sizes one by one, or one sequence of them",
    "arrays": "takes arrays of numpy as the tensors that it takes",
    "plain": "gives no tensor, which isn't seen from the name of a rule",
}
"""What a decorator may say of an op besides its shapes: of all its names, or of those given."""
_APART: Final = ("torch.special.", "torch.linalg.", "torch.fft.")
"""Modules whose functions are no methods of tensors, and never work in place."""


class StubError(Exception):
    """A signature file that can't be read; says which file, which line, and why."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        self.path, self.line, self.reason = path, line, reason
        super().__init__(f"{path}:{line}: {reason}")


@dataclass(frozen=True, slots=True)
class Source:
    """A piece of a signature file: its text, and the line that it begins at."""

    text: str
    line: int

    def function(self) -> ast.FunctionDef:
        """Return the function that it is."""
        (node,) = ast.parse(self.text).body
        assert isinstance(node, ast.FunctionDef)
        ast.increment_lineno(node, self.line - 1)
        return node

    def expression(self) -> ast.expr:
        """Return the expression that it is."""
        node = ast.parse(self.text, mode="eval").body
        ast.increment_lineno(node, self.line - 1)
        return node


@dataclass(slots=True)
class Function:
    """A function of a file: all its dotted names, and of which of them each flag is said.

    `property` is kept as a flag.
    """

    names: list[str]
    source: Source
    flags: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_property(self) -> bool:
        """Whether it is an attribute that is read without a call."""
        return "property" in self.flags


@dataclass(slots=True)
class ClassEntry:
    """A class of a file: its dotted name and others, its bases, methods, and fields by name.

    `constants` are attributes with a value, which all instances have.
    """

    name: str
    also: list[str]
    bases: list[str]
    methods: list[str] = field(default_factory=list)
    fields: dict[str, Source] = field(default_factory=dict)
    constants: dict[str, bool | int | float | str] = field(default_factory=dict)


@dataclass(slots=True)
class StubFile:
    """One signature file: where it is, the dotted prefix of its names, and what it holds.

    `imports`: what the names that it imports mean. `examples`: how an op is called, by its name.
    """

    path: Path
    prefix: str
    imports: dict[str, str] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    classes: list[ClassEntry] = field(default_factory=list)
    examples: dict[str, str] = field(default_factory=dict)


def files(folder: Path, keep: bool) -> list[StubFile]:
    """Return the index of all files below a folder, in order; raises `StubError`.

    `keep`: look first for the index that an earlier start left, and leave it for the next.
    """
    paths = _below(folder)
    if not keep:
        return [_Reader(path, folder).file for path in paths]
    kept = MadeFromFiles(__file__, FORMAT, map(str, (__file__, *paths)))
    found = _load(kept)
    if found is None:
        found = [_Reader(path, folder).file for path in paths]
        kept.keep([_plain(file) for file in found])
    return found


_MOST_BELOW: Final = 10_000
_LARGEST: Final = 16 << 20


def _below(folder: Path) -> list[Path]:
    """Return the signature files below a folder, which holds little else; raises `StubError`."""
    found, count = list[Path](), 0
    for parent, folders, names in os.walk(folder):
        count += len(folders) + len(names)
        if count > _MOST_BELOW:
            reason = f"more than {_MOST_BELOW:,} files are below it; name the folder of the .pyi"
            raise StubError(folder, 1, reason)
        found += [Path(parent, name) for name in (*folders, *names) if name.endswith(".pyi")]
    return sorted(found)


def _load(kept: MadeFromFiles) -> list[StubFile] | None:
    try:
        made = kept.load()
        return None if made is None else [_restored(one) for one in made]
    except (ValueError, KeyError, TypeError):
        return None


def _restored(one: dict[str, Any]) -> StubFile:
    functions = [
        Function(names, Source(text, line), flags) for names, text, line, flags in one["functions"]
    ]
    classes = [
        ClassEntry(name, also, bases, methods, {k: Source(*at) for k, at in fields.items()}, fixed)
        for name, also, bases, methods, fields, fixed in one["classes"]
    ]
    path, examples = Path(one["path"]), one["examples"]
    return StubFile(path, one["prefix"], one["imports"], functions, classes, examples)


def _plain(file: StubFile) -> dict[str, Any]:
    """Return what `_restored` makes a file of again."""
    functions = [(f.names, f.source.text, f.source.line, f.flags) for f in file.functions]
    classes = [
        (c.name, c.also, c.bases, c.methods, fields, c.constants)
        for c in file.classes
        for fields in ({k: (at.text, at.line) for k, at in c.fields.items()},)
    ]
    return {
        "path": str(file.path),
        "prefix": file.prefix,
        "imports": file.imports,
        "functions": functions,
        "classes": classes,
        "examples": file.examples,
    }


class _Reader:
    """Reads one file."""

    def __init__(self, path: Path, folder: Path) -> None:
        parts = list(path.relative_to(folder).with_suffix("").parts)
        if parts[-1].startswith("_"):
            parts.pop()
        self.file = StubFile(path, ".".join(parts))
        text, tree = self.parse(path)
        self.lines = text.splitlines()
        for node in tree.body:
            self.collect(node)

    def parse(self, path: Path) -> tuple[str, ast.Module]:
        try:
            status = path.stat()
            if not (S_ISREG(status.st_mode) or S_ISDIR(status.st_mode)):
                raise StubError(path, 1, "can't be read: not a regular file")
            if status.st_size > _LARGEST:
                raise StubError(path, 1, f"can't be read: more than {_LARGEST >> 20} MiB")
            text = path.read_text("utf-8")
            return text, ast.parse(text, str(path))
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
        except (RecursionError, MemoryError):
            raise StubError(path, 1, "nested too deeply") from None

    def collect(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef(name=name):
                self.function(f"{self.file.prefix}.{name}", node)
            case ast.ClassDef(name=name):
                self.add_class(f"{self.file.prefix}.{name}", node)
            case ast.ImportFrom(module=module, names=names, level=0):
                for alias in names:
                    self.file.imports[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.Import(names=names):
                for alias in names:
                    root = alias.name.partition(".")[0]
                    self.file.imports[alias.asname or root] = alias.name if alias.asname else root
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                raise StubError(
                    self.file.path,
                    node.lineno,
                    "a signature file holds imports, functions and classes only",
                )

    def add_class(self, name: str, node: ast.ClassDef) -> None:
        also = [
            alias if "." in alias else f"{self.file.prefix}.{alias}"
            for decorator in node.decorator_list
            if ast.unparse(decorator).startswith("also(")
            for alias in self.strings(decorator)
        ]
        for decorator in node.decorator_list:
            if ast.unparse(decorator).startswith("example("):
                self.example(decorator, [name, *also])
        bases = [base for one in node.bases if (base := self.dotted(one)) is not None]
        entry = ClassEntry(name, also, bases)
        for statement in node.body:
            match statement:
                case ast.FunctionDef():
                    self.function(f"{name}.{statement.name}", statement)
                    made = (one.rpartition(".") for one in self.file.functions[-1].names)
                    entry.methods += [method for owner, _, method in made if owner == name]
                case ast.AnnAssign(
                    target=ast.Name(id=constant),
                    value=ast.Constant(value=bool() | int() | float() | str() as value),
                ):
                    entry.constants[constant] = value
                case ast.AnnAssign(target=ast.Name(id=field_name), annotation=annotation):
                    entry.fields[field_name] = Source(ast.unparse(annotation), annotation.lineno)
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case _:
                    raise StubError(
                        self.file.path, statement.lineno, "a class holds methods and fields only"
                    )
        self.file.classes.append(entry)

    def dotted(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.file.imports.get(node.id, f"{self.file.prefix}.{node.id}")
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None

    def strings(self, node: ast.expr) -> Iterator[str]:
        """Yield the names that a decorator is given."""
        for one in node.args if isinstance(node, ast.Call) else ():
            if not isinstance(one, ast.Constant) or not isinstance(one.value, str):
                reason = f"'{ast.unparse(one)}' should be a string"
                raise StubError(self.file.path, one.lineno, reason)
            yield one.value

    def function(self, name: str, node: ast.FunctionDef) -> None:
        names = [name]
        prefix = name.rpartition(".")[0]
        kinds: set[str] = set()
        flags: list[tuple[str, ast.expr]] = []
        examples: list[ast.expr] = []
        for decorator in node.decorator_list:
            match decorator:
                case ast.Name(
                    id="method"
                    | "inplace"
                    | "overload"
                    | "property"
                    | "staticmethod"
                    | "classmethod" as kind
                ):
                    kinds.add(kind)
                case ast.Name(id=flag) | ast.Call(func=ast.Name(id=flag)) if flag in FLAGS:
                    flags.append((flag, decorator))
                case ast.Call(func=ast.Name(id="example")):
                    examples.append(decorator)
                case ast.Call(func=ast.Name(id="also")):
                    names += [
                        other if "." in other else f"{prefix}.{other}"
                        for other in self.strings(decorator)
                    ]
                case _:
                    raise StubError(
                        self.file.path,
                        decorator.lineno,
                        f"unknown decorator '{ast.unparse(decorator)}'; there are method, "
                        f"inplace, also(...), example(...), overload, property and "
                        f"{', '.join(FLAGS)}",
                    )
        if "method" in kinds:
            names += [
                f"torch.Tensor.{n.rpartition('.')[2]}"
                for n in names
                if not n.startswith(("torch.Tensor.", *_APART))
            ]
        if "inplace" in kinds:
            names += [f"{n}_" for n in names if not n.endswith("_") and not n.startswith(_APART)]
        names = list(dict.fromkeys(names))
        said = {"property": names} if "property" in kinds else {}
        for flag, decorator in flags:
            given = names if isinstance(decorator, ast.Name) else list(self.strings(decorator))
            said[flag] = [*said.get(flag, ()), *self.among(names, given, decorator)]
        for decorator in examples:
            self.example(decorator, names)
        self.file.functions.append(Function(names, self.source(node), said))

    def example(self, decorator: ast.expr, names: Sequence[str]) -> None:
        """Take in an example: its text, and the names that it is for, all if none is given."""
        strings = list(self.strings(decorator))
        if not strings:
            raise StubError(self.file.path, decorator.lineno, "an example is a call, in a string")
        text, *given = strings
        self.file.examples |= dict.fromkeys(self.among(names, given or names, decorator), text)

    def among(
        self, names: Sequence[str], given: Sequence[str], decorator: ast.expr
    ) -> Iterator[str]:
        """Yield those of a signature's names that a decorator is given, of whatever owner."""
        for one in given:
            found = [name for name in names if f".{name}".endswith(f".{one}")]
            if not found:
                reason = f"'{one}' is none of the names of this signature"
                raise StubError(self.file.path, decorator.lineno, reason)
            yield from found

    def source(self, node: ast.FunctionDef) -> Source:
        """Return the text of a function, its decorators left out."""
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        lines[0] = lines[0][node.col_offset :]
        return Source("\n".join(lines), node.lineno)
