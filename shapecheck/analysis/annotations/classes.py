"""Classes of analysed source: their ancestors, their members, and what makes their instances."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.program.model import Class, Dotted, Function, Value, dotted
from shapecheck.analysis.program.reading import body_of
from shapecheck.analysis.program.syntax import Def, called, is_def, last_word, name_of


def bases(cls: Class) -> list[Value]:
    """Return the values of a class' bases."""

    def found() -> list[Value]:
        return [reader(cls.module).resolve(_head(base)) for base in cls.node.bases]

    return cls.module.recall(("bases", cls.node), found, [])


def _head(base: ast.expr) -> ast.expr:
    """Return a base without its type arguments: `Generic` of `Generic[T]`."""
    return base.value if isinstance(base, ast.Subscript) else base


_MOST_ANCESTORS: Final = 64
"""Of a class that has more the others are in the dark."""
_BEYOND: Final = "..."
"""Stands for ancestors in the dark, as the name of one that no library has."""


def ancestry(cls: Class) -> Iterator[Class | str]:
    """Yield a class and its ancestors, left to right; those of libraries by dotted name."""
    seen: set[object] = set()
    waiting: list[Value] = [cls]
    while waiting:
        if len(seen) == _MOST_ANCESTORS:
            yield _BEYOND
            return
        match waiting.pop(0):
            case Class(node=node) as current if node not in seen:
                seen.add(node)
                yield current
                waiting = [*bases(current), *waiting]
            case Dotted(name=name) if name not in seen:
                seen.add(name)
                yield name


def own_ancestry(cls: Class) -> Iterator[Class]:
    """Yield a class and those of its ancestors that are of analysed source, left to right."""
    for parent in ancestry(cls):
        if isinstance(parent, Class):
            yield parent


def library_ancestry(cls: Class) -> Iterator[str]:
    """Yield the dotted names of the ancestors of a class that are of libraries."""
    for parent in ancestry(cls):
        if isinstance(parent, str):
            yield parent


def is_open(cls: Class) -> bool:
    """Whether a class may have other ancestors than those known, behind a base that isn't."""
    return any(
        parent == _BEYOND
        or (
            isinstance(parent, Class)
            and not all(isinstance(base, (Class, Dotted)) for base in bases(parent))
        )
        for parent in ancestry(cls)
    )


def is_plain(cls: Class) -> bool:
    """Whether all that a class is derived from is known, and nothing comes of it from a library."""
    return not is_open(cls) and _PLAIN.issuperset(library_ancestry(cls))


_PLAIN: Final = frozenset("builtins.object abc.ABC typing.Generic typing.Protocol".split())
"""Classes of libraries that make neither a constructor nor a module of what is derived."""

SEQUENTIAL: Final = "torch.nn.Sequential"


def is_module(cls: Class) -> bool:
    """Whether a class is a `torch.nn.Module`."""
    return cls.module.recall(("is module", cls.node), lambda: _is_module(cls), False)


def _is_module(cls: Class) -> bool:
    lookup = cls.module.program.table.lookup_class
    return any(parent in _MODULES or lookup(parent) is not None for parent in library_ancestry(cls))


LIGHTNING: Final = ("lightning", "lightning.pytorch", "pytorch_lightning")
"""The names of the package that is Lightning."""
_MODULES: Final = frozenset(
    (
        "torch.nn.Module",
        "torch.nn.modules.Module",
        SEQUENTIAL,
        *(f"{root}.LightningModule" for root in LIGHTNING),
        *(f"{root}.core.LightningModule" for root in LIGHTNING),
    )
)


def is_protocol(cls: Class) -> bool:
    """Whether a class is a `typing.Protocol` itself."""
    names = map(dotted, bases(cls))
    return any(name in ("typing.Protocol", "typing_extensions.Protocol") for name in names)


def members(cls: Class) -> Mapping[str, ast.stmt]:
    """Return what the body of a class binds, by name."""
    return cls.module.recall(("members", cls.node), lambda: _members(cls), {})


def _members(cls: Class) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in body_of(cls.node):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names = declarations.decorator_names(cls.module, node)
                if _accessor(node) is None and all(one != "typing.overload" for one in names):
                    found[node.name] = node
            case ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = node
            case ast.Assign(targets=targets, value=value):
                same = found.get(name_of(value) or "")  # `__call__ = forward`
                made = same if is_def(same) else node
                found.update((name, made) for name in map(name_of, targets) if name is not None)
    return found


def _accessor(node: Def) -> str | None:
    """Return which part of a property a method is: under `@width.setter`, its `setter`."""
    for decorator in node.decorator_list:
        match decorator:
            case ast.Attribute(
                value=ast.Name() | ast.Attribute(), attr="setter" | "deleter" as accessor
            ):
                return accessor
    return None


def find_setter(cls: Class, name: str) -> Function | None:
    """Return the function that assigns to a property; None for what isn't a property with one."""

    def found() -> Function | None:
        for parent in own_ancestry(cls):
            for node in body_of(parent.node):
                match node:
                    case ast.FunctionDef(name=defined) if defined == name:
                        if _accessor(node) == "setter":
                            return Function(node, parent.module, parent, parent.home)
            if name in members(parent):
                return None
        return None

    return cls.module.recall(("setter", cls, name), found, None)


def find_member(cls: Class, name: str, after: Class | None = None) -> tuple[Class, ast.stmt] | None:
    """Return the class and statement that define a member; `after`: look behind that class."""

    def found() -> tuple[Class, ast.stmt] | None:
        passed = after is None
        for parent in own_ancestry(cls):
            if passed and name in members(parent):
                return parent, members(parent)[name]
            passed = passed or parent.node is after.node if after is not None else True
        return None

    return cls.module.recall(("member", cls, name, after), found, None)


def defaults(cls: Class) -> frozenset[str]:
    """Return the attributes that the body of a class gives all its instances."""

    def found() -> frozenset[str]:
        nodes: dict[str, ast.stmt] = {}
        for parent in own_ancestry(cls):
            nodes = {**members(parent), **nodes}
        return frozenset(name for name in nodes if getattr(nodes[name], "value", None) is not None)

    return cls.module.recall(("defaults", cls.node), found, frozenset())


def find_method(cls: Class, name: str, after: Class | None = None) -> Function | None:
    """Return a method of a class or its ancestors."""
    found = find_member(cls, name, after)
    if found is None or not is_def(found[1]):
        return None
    return Function(found[1], found[0].module, found[0], found[0].home)


def is_replaced(cls: Class, name: str) -> bool:
    """Whether the module of a class, or of one above it, assigns to it what its body defines."""

    def found() -> bool:
        return any(name in one.module.syntax.assigned_to(one.name) for one in own_ancestry(cls))

    return cls.module.recall(("replaced", cls, name), found, False)


_Annotated: TypeAlias = tuple[str, ast.AnnAssign, Class]
"""A name, its annotation in the body of a class, and that class."""


def instance_fields(cls: Class) -> list[_Annotated]:
    """Return the annotated fields of a dataclass or NamedTuple, the inherited ones first.

    Of a parent that is neither, annotations are no fields.
    """
    return _annotated(filter(_has_fields, own_ancestry(cls)))


def annotated_attributes(cls: Class) -> list[_Annotated]:
    """Return what a class and its parents annotate in their bodies, the inherited ones first."""
    return _annotated(own_ancestry(cls))


def _annotated(classes: Iterable[Class]) -> list[_Annotated]:
    """Return what some classes annotate, in the order in which dataclasses have their fields."""
    found: dict[str, _Annotated] = {}
    for parent in reversed([*classes]):
        for name, node in members(parent).items():
            if isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node.annotation):
                found[name] = (name, node, parent)
    return list(found.values())


_RECORDS: Final = frozenset(
    "typing.NamedTuple pydantic.BaseModel flax.struct.PyTreeNode tensordict.TensorClass "
    "tensordict.TypedTensorDict vllm.utils.tensor_schema.TensorSchema".split()
)
_GENERATED: Final = frozenset(("dataclass", "define", "frozen", "mutable", "tensorclass"))

_TRANSFORM: Final = "dataclass_transform"


def is_dataclass(cls: Class) -> bool:
    """Whether a class gets its constructor from its annotated fields."""
    parents = [*own_ancestry(cls)]
    return any(map(_is_decorated, parents)) or _is_record(cls, parents)


def _has_fields(cls: Class) -> bool:
    """Whether what a class annotates are the fields of its instances.

    Those of a class that is derived from one with `@dataclass_transform` are (PEP 681).
    """
    return _is_decorated(cls) or _is_record(cls, own_ancestry(cls))


def _is_record(cls: Class, parents: Iterable[Class]) -> bool:
    """Whether a class is derived from one that makes constructors of fields; with its ancestry."""
    if not _RECORDS.isdisjoint(library_ancestry(cls)):
        return True
    return any(_TRANSFORM in _decorators(one) for one in parents if one.node is not cls.node)


def _is_decorated(cls: Class) -> bool:
    """Whether a decorator of a class makes a constructor of its fields."""
    return not _GENERATED.isdisjoint(_decorators(cls))


def _decorators(cls: Class) -> set[str]:
    """Return the last words of a class's decorators."""
    return {last_word(called(one)) for one in cls.node.decorator_list}


def constructor(cls: Class) -> Function | None:
    """Return the constructor of a class that is written; None where one is made before it."""

    def is_made() -> bool:
        for parent in own_ancestry(cls):
            if "__init__" in members(parent):
                return False
            if _is_decorated(parent):
                return True
        return False

    if cls.module.recall(("constructor is made", cls), is_made, False):
        return None
    return find_method(cls, "__init__")


def is_tensor_dict(cls: Class) -> bool:
    """Whether a class is one of tensordict's, whose methods may put other tensors into fields."""
    return any(
        ast.unparse(called(one)).endswith("tensorclass")
        for parent in own_ancestry(cls)
        for one in parent.node.decorator_list
    ) or any(name.startswith("tensordict.") for name in library_ancestry(cls))
