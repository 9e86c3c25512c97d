"""Classes of analysed source: their ancestors, their members, and what makes their instances."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.program.model import Class, Dotted, Function
from shapecheck.ops import Value


def bases(cls: Class) -> list[Value]:
    """Return the values of a class' bases."""

    def found() -> list[Value]:
        heads = (b.value if isinstance(b, ast.Subscript) else b for b in cls.node.bases)
        return [reader(cls.module).resolve(head) for head in heads]

    return cls.module.program.memory.recall(("bases", cls.node), found, [])


def ancestry(cls: Class) -> Iterator[Class | str]:
    """Yield a class and its ancestors, left to right; those of libraries by dotted name."""
    seen: set[object] = set()
    waiting: list[Value] = [cls]
    while waiting:
        current = waiting.pop(0)
        if isinstance(current, Class) and current.node not in seen:
            seen.add(current.node)
            yield current
            waiting = [*bases(current), *waiting]
        elif isinstance(current, Dotted) and current.name not in seen:
            seen.add(current.name)
            yield current.name


def is_module(cls: Class) -> bool:
    """Whether a class is a `torch.nn.Module`."""
    for parent in ancestry(cls):
        if isinstance(parent, str):
            if parent in ("torch.nn.Module", "torch.nn.modules.Module"):
                return True
            if cls.module.program.table.lookup_class(parent) is not None:
                return True
    return False


def is_protocol(cls: Class) -> bool:
    """Whether a class is a `typing.Protocol` itself."""
    names = (base.name for base in bases(cls) if isinstance(base, Dotted))
    return any(name in ("typing.Protocol", "typing_extensions.Protocol") for name in names)


def members(cls: Class) -> Mapping[str, ast.stmt]:
    """Return what the body of a class binds, by name."""
    return cls.module.program.memory.recall(("members", cls.node), lambda: _members(cls), {})


def _members(cls: Class) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in cls.node.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if _accessor(node) is None and "typing.overload" not in declarations.decorator_names(
                cls.module, node
            ):
                found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            same = found.get(node.value.id) if isinstance(node.value, ast.Name) else None
            made = same if isinstance(same, (ast.FunctionDef, ast.AsyncFunctionDef)) else node
            found.update({t.id: made for t in node.targets if isinstance(t, ast.Name)})
    return found


def _accessor(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """Return which part of a property a method is: under `@width.setter`, its `setter`."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter"):
            if isinstance(decorator.value, (ast.Name, ast.Attribute)):
                return decorator.attr
    return None


def find_setter(cls: Class, name: str) -> Function | None:
    """Return the function that assigns to a property; None for what isn't a property with one."""

    def found() -> Function | None:
        for parent in ancestry(cls):
            if isinstance(parent, Class):
                for node in parent.node.body:
                    if isinstance(node, ast.FunctionDef) and node.name == name:
                        if _accessor(node) == "setter":
                            return Function(node, parent.module, parent, parent.home)
                if name in members(parent):
                    return None
        return None

    return cls.module.program.memory.recall(("setter", cls, name), found, None)


def find_member(cls: Class, name: str, after: Class | None = None) -> tuple[Class, ast.stmt] | None:
    """Return the class and statement that define a member; `after`: look behind that class."""
    passed = after is None
    for parent in ancestry(cls):
        if isinstance(parent, Class):
            if passed and name in members(parent):
                return parent, members(parent)[name]
            passed = passed or parent.node is after.node if after is not None else True
    return None


def defaults(cls: Class) -> frozenset[str]:
    """Return the attributes that the body of a class gives all its instances."""

    def found() -> frozenset[str]:
        nodes: dict[str, ast.stmt] = {}
        for parent in ancestry(cls):
            if isinstance(parent, Class):
                nodes = {**members(parent), **nodes}
        return frozenset(name for name in nodes if getattr(nodes[name], "value", None) is not None)

    return cls.module.program.memory.recall(("defaults", cls.node), found, frozenset())


def find_method(cls: Class, name: str, after: Class | None = None) -> Function | None:
    """Return a method of a class or its ancestors."""
    found = find_member(cls, name, after)
    if found is None or not isinstance(found[1], (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    return Function(found[1], found[0].module, found[0], found[0].home)


def instance_fields(cls: Class) -> list[tuple[str, ast.AnnAssign, Class]]:
    """Return the annotated fields of a dataclass or NamedTuple, the inherited ones first."""
    found: dict[str, tuple[str, ast.AnnAssign, Class]] = {}
    for parent in reversed([p for p in ancestry(cls) if isinstance(p, Class)]):
        for name, node in members(parent).items():
            if isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node.annotation):
                found[name] = (name, node, parent)
    return list(found.values())


_GENERATED: Final = frozenset(("dataclass", "define", "frozen", "mutable"))


def is_dataclass(cls: Class) -> bool:
    """Whether a class gets its constructor from its annotated fields."""
    for parent in ancestry(cls):
        if not isinstance(parent, Class):
            if parent in ("typing.NamedTuple", "pydantic.BaseModel", "flax.struct.PyTreeNode"):
                return True
            continue
        for decorator in parent.node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(target).rpartition(".")[2] in _GENERATED:
                return True
    return False
