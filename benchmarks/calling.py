"""Calls the functions of annotated code, as its tests would: a record for code that can't be run.

python -m shapecheck record -- python benchmarks/calling.py ORIGINAL COPY

Each function of COPY is called several times with tensors of the sizes that the annotations in
ORIGINAL ask for: another number for each name, other numbers in each call, some groups of axes
empty, what may be None now and then None. Functions whose sizes don't go together are tried with
others. Libraries that aren't installed are stood in for by objects that do nothing. A person's
annotations so decide which sizes are equal, as the inputs of a test suite would; results, and what
functions hand on to others, are the program's own.

`made_up` are calls for a function that can't be called in this way, for want of a library or of
an instance of its class: results, too, are as annotated there.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import collections
import contextlib
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import inspect
import multiprocessing
import os
import random
import signal
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final, TypeAlias

import jaxtyping
import torch

from shapecheck import dtypes, spec
from shapecheck.analysis.study.study import qualnames
from shapecheck.codemod.project.files import find
from shapecheck.codemod.project.project import module_of
from shapecheck.record.store import Call
from shapecheck.record.watch import describe, meet_torch

_CALLS: Final = 8
"""So many calls of a function are enough."""
_ATTEMPTS: Final = 40
_PER_FUNCTION: Final = 10  # seconds
_PER_FILE: Final = 120  # seconds
_POOLS: Final[Sequence[Sequence[int]]] = (
    range(2, 12),
    (2, 4, 6, 8, 10, 12, 14, 16),
    (1, 2, 4, 8, 16, 32, 64),
    (1, 2, 3, 8, 16, 24, 32, 48, 64),
)
Parameter: TypeAlias = tuple[str, ast.expr | None, ast.expr | None]
"""Its name, its annotation and its default."""
_DTYPES: Final = {
    "Int": torch.int64,
    "Integer": torch.int64,
    "UInt": torch.uint8,
    "Bool": torch.bool,
}


class CannotMake(Exception):
    """A value of this type can't be made."""


# Values for annotations ---------------------------------------------------------------------------


class Sizes:
    """The sizes of one call: by name, and by the name of a group of axes; `...` is one group.

    What is `full` has none that are 1 only to broadcast.
    """

    def __init__(self, chance: random.Random, pool: Sequence[int], fixed: Mapping[str, int]):
        self.chance = chance
        self.pool = [*pool]
        chance.shuffle(self.pool)
        self.fixed, self.names = fixed, dict[str, int]()
        self.groups: dict[str, tuple[int, ...]] = {}
        self.full = False

    def shape(self, text: str) -> tuple[int, ...]:
        """Return sizes that fit an annotation."""
        sizes: list[int] = []
        for entry in spec.parse(text).entries:
            if isinstance(entry, spec.Group):
                sizes += self._group(entry)
            elif entry.broadcast and not self.full and self.chance.random() < 0.3:
                sizes.append(1)
            else:
                sizes.append(self.size(entry.expr))
        return tuple(sizes)

    def _group(self, entry: spec.Group) -> Sequence[int]:
        found = self.groups.setdefault(entry.name or "...", self._several())
        if entry.broadcast and not self.full:
            found = found[self.chance.choice((0, 0, len(found))) :]
            found = tuple(self.chance.choice((1, size, size)) for size in found)
        return found

    def _several(self) -> tuple[int, ...]:
        return tuple(self._next() for _ in range(self.chance.choice((0, 1, 1, 2))))

    def _next(self) -> int:
        return self.pool.pop() if self.pool else self.chance.randrange(2, 20)

    def size(self, expr: spec.Expr) -> int:
        """Return the value of a dimension."""
        match expr:
            case spec.Number(value=value):
                return value
            case spec.Name(id=name):
                known = self.fixed.get(name)
                return self.names.setdefault(name, self._next()) if known is None else known
            case spec.Braces(source=source):
                known = self.fixed.get(source)
                return self.names.setdefault(source, self._next()) if known is None else known
            case spec.Negate(operand=operand):
                return -self.size(operand)
            case spec.Binary(op=op, left=left, right=right):
                a, b = self.size(left), self.size(right)
                return max(0, int(eval(f"a {op} b", {"a": a, "b": b})))
            case spec.Call(function=function, args=args):
                return int(getattr(builtins, function)(*map(self.size, args)))
            case spec.Merge(parts=parts):
                product = 1
                for part in parts:
                    if isinstance(part, spec.Axis):
                        product *= self.size(part.expr)
                return product
        return self._next()


class Maker:
    """Makes values of the types that annotations of one file name; `module` is None if made up."""

    def __init__(self, tree: ast.Module, module: ModuleType | None, sources: Sources | None):
        self.module, self.sources = module, sources
        self.aliases = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        }

    def value(self, node: ast.expr | None, sizes: Sizes, depth: int = 4) -> Any:
        """Return a value that fits an annotation; raises `CannotMake`."""
        if node is None or depth < 0:
            raise CannotMake
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=str(text)):
                return self.value(ast.parse(text, mode="eval").body, sizes, depth)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return self._either([left, right], sizes, depth)
            case ast.Subscript(value=head, slice=inside):
                items = inside.elts if isinstance(inside, ast.Tuple) else [inside]
                return self._subscript(ast.unparse(head), items, sizes, depth)
            case ast.Name(id=name) if name in self.aliases and self._is_type(self.aliases[name]):
                return self.value(self.aliases[name], sizes, depth - 1)
            case ast.Name() | ast.Attribute():
                return self._named(ast.unparse(node), sizes, depth)
        raise CannotMake

    def _is_type(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Subscript | ast.BinOp)

    def _subscript(self, head: str, items: Sequence[ast.expr], sizes: Sizes, depth: int) -> Any:
        head = head.rpartition(".")[2]
        if head in dtypes.CATEGORIES and len(items) == 2:
            text = items[1]
            if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
                raise CannotMake
            try:
                return self._tensor(head, sizes.shape(text.value))
            except spec.SpecError:
                raise CannotMake from None
        if head == "Optional":
            return self._either([*items, ast.Constant(None)], sizes, depth)
        if head == "Union":
            return self._either(items, sizes, depth)
        if head == "Literal":
            return ast.literal_eval(items[0])
        if head.lower() in ("list", "sequence", "iterable"):
            return [self.value(items[0], sizes, depth - 1) for _ in range(2)]
        if head.lower() == "tuple":
            if isinstance(items[-1], ast.Constant) and items[-1].value is ...:
                items = [items[0]] * 2
            return tuple(self.value(item, sizes, depth - 1) for item in items)
        if head.lower() in ("dict", "mapping") and ast.unparse(items[0]) == "str":
            return {key: self.value(items[1], sizes, depth - 1) for key in ("a", "b")}
        raise CannotMake

    def _tensor(self, category: str, shape: tuple[int, ...]) -> torch.Tensor:
        dtype = _DTYPES.get(category.rstrip("0123456789"))
        if self.module is None:
            return torch.empty(shape, dtype=dtype, device="meta")
        if dtype is torch.bool:
            return torch.rand(shape) > 0.5
        return torch.rand(shape) + 0.1 if dtype is None else torch.randint(2, shape, dtype=dtype)

    def _either(self, options: Sequence[ast.expr], sizes: Sizes, depth: int) -> Any:
        some = [one for one in options if ast.unparse(one) != "None"]
        if len(some) < len(options) and sizes.chance.random() < 0.25:
            return None
        for one in some:
            with contextlib.suppress(CannotMake):
                return self.value(one, sizes, depth)
        raise CannotMake

    def _named(self, name: str, sizes: Sizes, depth: int) -> Any:
        plain = name.rpartition(".")[2]
        if plain == "int":
            return sizes.chance.choice(sizes.pool or (2, 3, 4))
        if plain in ("float", "str", "bool"):
            return {"float": 0.5, "str": "a", "bool": sizes.chance.random() < 0.5}[plain]
        if plain == "device":
            return torch.device("meta" if self.module is None else "cpu")
        if self.module is None:
            return object()
        found: Any = self.module
        for part in name.split("."):
            found = getattr(found, part, None)
        if not isinstance(found, type) or found.__module__ in ("builtins", "torch"):
            raise CannotMake
        return self.instance(found, sizes, depth - 1)

    def instance(self, cls: type, sizes: Sizes, depth: int = 3) -> Any:
        """Return an instance of a class of the project; raises `CannotMake`."""
        if self.sources is None or inspect.isabstract(cls) or depth < 0:
            raise CannotMake
        maker, args = self.sources.constructor(cls)
        if maker is None:
            raise CannotMake
        return cls(**maker.arguments(args, sizes, depth))

    def arguments(
        self,
        args: Sequence[Parameter],
        sizes: Sizes,
        depth: int = 4,
    ) -> dict[str, Any]:
        """Return values for parameters: name, annotation, default; raises `CannotMake`."""
        given = {}
        for name, annotation, default in args:
            is_none = isinstance(default, ast.Constant) and default.value is None
            if default is not None and (is_none or not _has_shape(annotation)):
                if not (is_none and _has_shape(annotation)) or sizes.chance.random() < 0.3:
                    continue
            if annotation is not None and ast.unparse(annotation) == "int" and name in sizes.names:
                given[name] = sizes.names[name]
            else:
                given[name] = self.value(annotation, sizes, depth)
            if type(given[name]) is int:
                sizes.names.setdefault(name, given[name])
        return given


def _has_shape(annotation: ast.expr | None) -> bool:
    return annotation is not None and any(
        isinstance(part, ast.Subscript)
        and ast.unparse(part.value).rpartition(".")[2] in dtypes.CATEGORIES
        for part in ast.walk(annotation)
    )


def _arguments(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
) -> list[Parameter]:
    """Return the parameters of a function: name, annotation, default."""
    positional = [*node.args.posonlyargs, *node.args.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(node.args.defaults))
    pairs = [
        *zip(positional, [*missing, *node.args.defaults], strict=True),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    return [(one.arg, one.annotation, default) for one, default in pairs]


# The files ----------------------------------------------------------------------------------------


class Sources:
    """The annotated files by the names of their modules in the copy."""

    def __init__(self, original: Path, copy: Path):
        self.top = copy
        self.trees: dict[Path, ast.Module] = {}
        for path in find([original]):
            with contextlib.suppress(SyntaxError, ValueError):
                at = copy / path.relative_to(original)
                self.trees[at] = ast.parse(path.read_text(errors="replace"))

    def constructor(self, cls: type) -> tuple[Maker | None, list[Parameter]]:
        """Return what the parameters of a class are, and who makes values for them."""
        first: Maker | None = None
        fields: list[Parameter] = []
        for base in cls.__mro__[:-1]:
            module = sys.modules.get(base.__module__)
            tree = self.trees.get(Path(getattr(module, "__file__", None) or ""))
            node = None if tree is None else _classes(tree).get(base.__qualname__)
            if tree is None or module is None or node is None:
                continue
            maker = Maker(tree, module, self)
            first = first or maker
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                    return maker, _arguments(one)[1:]
            if dataclasses.is_dataclass(base) or hasattr(base, "_fields"):
                mine = [
                    (one.target.id, one.annotation, one.value)
                    for one in node.body
                    if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
                ]
                fields = [*(one for one in mine if one[0] not in dict(_named(fields))), *fields]
        return first, fields


def _named(parameters: Sequence[Parameter]) -> Iterator[tuple[str, Parameter]]:
    return ((one[0], one) for one in parameters)


def _classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    return {name: node for node, name in qualnames(tree) if isinstance(node, ast.ClassDef)}


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for libraries that aren't installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []


class _AbsentModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _absent(name)


def _absent(name: str) -> Any:
    return _AbsentClass(name, (_Instance,), {}) if name[0].isupper() else _Nothing()


class _AbsentClass(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _absent(name)


class _Nothing:
    """Does nothing, whatever is asked of it; as a decorator it leaves what it decorates."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return ()

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        return None


class _Instance(_Nothing):
    """An instance of a class that isn't there."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


class _TooLong(BaseException):
    pass


def _stop(number: int, frame: FrameType | None) -> None:
    raise _TooLong


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions and methods that have a shape in an annotation."""
    for node, name in qualnames(tree):
        if isinstance(node, ast.FunctionDef):
            if any(_has_shape(one) for _, one, _ in _arguments(node)) or _has_shape(node.returns):
                yield name, node


def call_all(path: Path, sources: Sources, seed: int) -> tuple[int, list[tuple[str, str]]]:
    """Call the functions of one file; return how many could be, and why others couldn't."""
    root = module_of(path)[1]
    above = [root, *(one for one in root.parents if sources.top in (one, *one.parents))]
    sys.path[:0] = map(str, above)
    os.chdir(root)
    tree = sources.trees[path]
    some = [(one, node) for one, node in functions(tree) if "<locals>" not in one]
    try:
        module = importlib.import_module(_dotted(path, sources.top))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is other people's code
        return 0, [(one, f"import: {error!r}") for one, _ in some]
    called, failed = 0, []
    for function, node in some:
        signal.alarm(_PER_FUNCTION)
        problem = "no calls"
        chance = random.Random(f"{seed} {function}")
        succeeded = 0
        try:
            for attempt in range(_ATTEMPTS):
                torch.manual_seed(attempt)
                try:
                    _call(module, function, node, sources, chance, _POOLS[attempt % len(_POOLS)])
                except (Exception, SystemExit) as error:  # noqa: BLE001 - as well
                    problem = f"{type(error).__name__}: {str(error)[:100]}"
                else:
                    succeeded += 1
                    if succeeded == _CALLS:
                        break
        except _TooLong:
            problem = "takes too long"
        finally:
            signal.alarm(0)
        if succeeded:
            called += 1
        else:
            failed.append((function, problem))
    return called, failed


def _dotted(path: Path, top: Path) -> str:
    """Return the name of a module from the top of its project, for imports relative to any."""
    parts = path.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _call(
    module: ModuleType,
    function: str,
    node: ast.FunctionDef,
    sources: Sources,
    chance: random.Random,
    pool: Sequence[int],
) -> None:
    """Call a function once."""
    tree = sources.trees[Path(module.__file__ or "")]
    maker = Maker(tree, module, sources)
    *outer, last = function.split(".")
    owner: Any = module
    for part in outer:
        owner = getattr(owner, part)
    arguments = _arguments(node)
    fixed: dict[str, int] = {}
    target = inspect.getattr_static(owner, last)
    sizes = Sizes(chance, pool, fixed)
    if isinstance(owner, type) and not isinstance(target, staticmethod | classmethod):
        owner = maker.instance(owner, sizes)
        fixed |= _ints(owner)
        arguments = arguments[1:]
    elif isinstance(target, classmethod):
        arguments = arguments[1:]
    if isinstance(target, property):
        getattr(owner, last)
        return
    given = maker.arguments(arguments, sizes)
    if last == "__init__":
        return
    with torch.no_grad():
        result = getattr(owner, last)(**given)
        if inspect.isgenerator(result):
            collections.deque(result, maxlen=0)


def _ints(owner: Any, depth: int = 1) -> dict[str, int]:
    """Return the ints that an instance has, by what annotations may call them."""
    found: dict[str, int] = {}
    for name, value in getattr(owner, "__dict__", {}).items():
        if type(value) is int:
            found |= {name: value, f"self.{name}": value}
        elif depth and dataclasses.is_dataclass(value):
            inner = _ints(value, depth - 1)
            found |= {k: v for k, v in inner.items() if "." not in k and k not in found}
            found |= {f"self.{name}.{k}": v for k, v in inner.items() if "." not in k}
    return found


# Calls that are made up ---------------------------------------------------------------------------


def made_up(tree: ast.Module, node: ast.FunctionDef, name: str) -> list[Call]:
    """Return calls of a function as its annotations say, without calling it."""
    meet_torch()
    chance = random.Random(name)
    maker = Maker(tree, None, None)
    found = []
    for _ in range(_CALLS):
        sizes = Sizes(chance, range(2, 40), {})
        arguments = [one for one in _arguments(node) if one[0] not in ("self", "cls")]
        given: dict[str, Any] = {}
        for one in arguments:
            with contextlib.suppress(CannotMake):
                given |= maker.arguments([one], sizes)
        result: Any = object()
        sizes.full = True
        with contextlib.suppress(CannotMake):
            result = None if node.returns is None else maker.value(node.returns, sizes)
        ints = {k: v for k, v in sizes.names.items() if k.startswith("self.")}
        found.append(Call({k: describe(v) for k, v in given.items()}, describe(result), ints, 1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("original", type=Path)
    parser.add_argument("copy", type=Path)
    options = parser.parse_args()
    sources = Sources(options.original.absolute(), options.copy.absolute())
    torch.set_num_threads(1)
    sys.meta_path.append(Absent())
    jaxtyping.install_import_hook = lambda *args: contextlib.nullcontext()
    called = total = 0
    for path, tree in sources.trees.items():
        number = len(list(functions(tree)))
        total += number
        if not number or not path.is_file():
            continue
        done, failed = _apart(path, sources)
        called += done
        for function, problem in failed:
            print(f"  {path.relative_to(options.copy.absolute())} {function}: {problem}")
    print(f"{called} of {total} functions called")


def _apart(path: Path, sources: Sources) -> tuple[int, list[tuple[str, str]]]:
    """Call the functions of a file in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(False)

    def work() -> None:
        signal.signal(signal.SIGALRM, _stop)
        with contextlib.redirect_stdout(sys.stderr):
            sender.send(call_all(path, sources, 0))

    process = context.Process(target=work)
    process.start()
    answer = receiver.recv() if receiver.poll(_PER_FILE) else (0, [("all", "takes too long")])
    process.join(5)
    if process.is_alive():
        process.kill()
    return typing.cast("tuple[int, list[tuple[str, str]]]", answer)


if __name__ == "__main__":
    main()
