"""The types that annotations are made of, and their source text in either style.

TensorType("Float", "b t d")        Float[Tensor, "b t d"]
Either((TensorType(...), NONE))     Float[Tensor, "b t d"] | None
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: the category of its elements, and its shape in the annotation language."""

    category: str
    text: str


@dataclass(frozen=True, slots=True)
class NoneType:
    """None."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A type that has nothing to do with shapes, by its source text."""

    text: str


@dataclass(frozen=True, slots=True)
class ListType:
    """A list of items of one type."""

    element: Type


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple of these items; with `endless`, of any number of the only one."""

    items: tuple[Type, ...]
    endless: bool = False


@dataclass(frozen=True, slots=True)
class DictType:
    """A dict from keys of a plain type to values of one type."""

    key: str
    value: Type


@dataclass(frozen=True, slots=True)
class Either:
    """One of several types."""

    options: tuple[Type, ...]


Type: TypeAlias = TensorType | NoneType | Plain | ListType | TupleType | DictType | Either

NONE: Final = NoneType()


def source(kind: Type, tensor: str) -> str:
    """Return the source text of a type; `tensor` is how the module spells `torch.Tensor`."""
    match kind:
        case TensorType(category=category, text=text):
            if is_any(kind):
                return tensor
            return f'{category}[{tensor}, "{text}"]'
        case NoneType():
            return "None"
        case Plain(text=text):
            return text
        case ListType(element=element):
            return f"list[{source(element, tensor)}]"
        case TupleType(items=items, endless=endless):
            inside = ", ".join(source(item, tensor) for item in items) + ", ..." * endless
            return f"tuple[{inside or '()'}]"
        case DictType(key=key, value=value):
            return f"dict[{key}, {source(value, tensor)}]"
        case Either(options=options):
            return " | ".join(source(option, tensor) for option in options)


def is_any(kind: TensorType) -> bool:
    """Whether nothing is said of a tensor, so that it is written without a shape."""
    return kind.category == "Shaped" and kind.text == "..."


def tensors(kind: Type) -> Iterator[TensorType]:
    """Yield the tensors in a type, in order."""
    match kind:
        case TensorType():
            yield kind
        case ListType(element=inner) | DictType(value=inner):
            yield from tensors(inner)
        case TupleType(items=parts) | Either(options=parts):
            for part in parts:
                yield from tensors(part)


def either(*kinds: Type) -> Type:
    """Return the union of types: flat, each once, `None` last."""
    flat: dict[Type, None] = {}
    for kind in kinds:
        flat.update(dict.fromkeys(kind.options if isinstance(kind, Either) else (kind,)))
    if NONE in flat:
        del flat[NONE]
        flat[NONE] = None
    return next(iter(flat)) if len(flat) == 1 else Either(tuple(flat))
