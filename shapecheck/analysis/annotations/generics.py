"""What types of Python's own library declare: `list[Image]`, `Optional[Image]`, `Callable[...]`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from shapecheck.analysis.program.declared import (
    ANY,
    AnyDecl,
    CallableDecl,
    Declared,
    DictDecl,
    ListDecl,
    NoneDecl,
    ScalarDecl,
    TupleDecl,
    union,
)
from shapecheck.ops.call import only

Read: TypeAlias = Callable[[ast.expr], Declared]
Generic: TypeAlias = Callable[[Read, Sequence[ast.expr]], Declared]
"""What a type with these arguments declares, which `Read` reads."""


def _itself(read: Read, args: Sequence[ast.expr]) -> Declared:
    return read(args[0])


def _literal(read: Read, args: Sequence[ast.expr]) -> Declared:
    kinds = {type(arg.value) for arg in only(args, ast.Constant)}
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    return ANY if kind not in (bool, int, str) else ScalarDecl(f"{kind.__name__}")


def _optional(read: Read, args: Sequence[ast.expr]) -> Declared:
    return union(read(args[0]), NoneDecl())


def _union(read: Read, args: Sequence[ast.expr]) -> Declared:
    return union(*map(read, args))


def _list(read: Read, args: Sequence[ast.expr]) -> Declared:
    return ListDecl(read(args[0]))


def _iterable(read: Read, args: Sequence[ast.expr]) -> Declared:
    return ListDecl(read(args[0]), admits_tensors=True)


def _dict(read: Read, args: Sequence[ast.expr]) -> Declared:
    return DictDecl(read(args[1])) if len(args) == 2 else ANY


def _callable(read: Read, args: Sequence[ast.expr]) -> Declared:
    match args:
        case [ast.List(elts=params), result]:
            return CallableDecl(tuple(map(read, params)), read(result))
        case [_, result]:
            return CallableDecl(None, read(result))
    return ANY


def _tuple(read: Read, args: Sequence[ast.expr]) -> Declared:
    match args:
        case [element, ast.Constant(value=value)] if value is ...:
            return TupleDecl(None, read(element))
    items = tuple(map(read, args))
    match items:
        case [AnyDecl() | ScalarDecl() as one]:  # people write `Tuple[int]` for sizes, however many
            return TupleDecl(None, one)
    return TupleDecl(items)


def _in(modules: str, names: str) -> Iterator[str]:
    """Yield the dotted names that things have in several modules."""
    return (f"{module}.{name}" for module in modules.split() for name in names.split())


_TYPING: Final = "typing typing_extensions"
_ABSTRACT: Final = "typing collections.abc"

GENERICS: Final[Mapping[str, Generic]] = {
    **dict.fromkeys(_in(_TYPING, "Final ClassVar Required NotRequired ReadOnly"), _itself),
    **dict.fromkeys(_in(_TYPING, "Literal"), _literal),
    "typing.Optional": _optional,
    "typing.Union": _union,
    **dict.fromkeys(_in("builtins", "list set frozenset"), _list),
    **dict.fromkeys(_in("typing", "List Set FrozenSet Deque"), _list),
    "collections.deque": _list,
    **dict.fromkeys(_in(_ABSTRACT, "Sequence MutableSequence Iterator Generator"), _list),
    **dict.fromkeys(_in(_ABSTRACT, "AsyncIterator AsyncIterable AsyncGenerator"), _list),
    **dict.fromkeys(_in(_ABSTRACT, "Collection Iterable"), _iterable),
    **dict.fromkeys(_in(_ABSTRACT, "Callable"), _callable),
    **dict.fromkeys(("builtins.dict", "typing.Dict"), _dict),
    **dict.fromkeys(_in(_ABSTRACT, "Mapping MutableMapping"), _dict),
    **dict.fromkeys(("builtins.tuple", "typing.Tuple"), _tuple),
}
"""What types with arguments declare, by their dotted names."""

BARE: Final[Mapping[str, Declared]] = {
    **dict.fromkeys(("builtins.list", "typing.List"), ListDecl(AnyDecl())),
    **dict.fromkeys(("builtins.tuple", "typing.Tuple"), TupleDecl(None)),
    **dict.fromkeys(("builtins.dict", "typing.Dict"), DictDecl(AnyDecl())),
    **{f"builtins.{name}": ScalarDecl(name) for name in ("int", "float", "bool", "str")},
}
"""What types without arguments declare, by their dotted names."""
