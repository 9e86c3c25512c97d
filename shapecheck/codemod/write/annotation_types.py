"""The types that annotations are made of, and their source text in either style.

TensorType("Float", "b t d")        Float[Tensor, "b t d"]
Either((TensorType(...), NONE))     Float[Tensor, "b t d"] | None
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final


class Type:
    """A type as an annotation says it."""

    __slots__ = ()

    def source(self, tensor: str) -> str:
        """Return the source text; `tensor` is how the module spells `torch.Tensor`."""
        raise NotImplementedError

    def parts(self) -> tuple[Type, ...]:
        """Return the types in this one, in order."""
        return ()

    def tensors(self) -> Iterator[TensorType]:
        """Yield the tensors in the type, in order."""
        for part in self.parts():
            yield from part.tensors()


@dataclass(frozen=True, slots=True)
class TensorType(Type):
    """A tensor: the category of its elements, and its shape in the annotation language."""

    category: str
    text: str

    @property
    def is_any(self) -> bool:
        """Whether nothing is said of the tensor, so that it is written without a shape."""
        return self.category == "Shaped" and self.text == "..."

    def source(self, tensor: str) -> str:
        """Return `Float[Tensor, "b t d"]`."""
        return tensor if self.is_any else f'{self.category}[{tensor}, "{self.text}"]'

    def tensors(self) -> Iterator[TensorType]:
        """Yield this one."""
        yield self


@dataclass(frozen=True, slots=True)
class NoneType(Type):
    """None."""

    def source(self, tensor: str) -> str:
        """Return `None`."""
        return "None"


@dataclass(frozen=True, slots=True)
class Plain(Type):
    """A type that has nothing to do with shapes, by its source text."""

    text: str

    def source(self, tensor: str) -> str:
        """Return the text."""
        return self.text


@dataclass(frozen=True, slots=True)
class KeptType(Type):
    """A type that stays as the annotation has it; there must be one."""

    def source(self, tensor: str) -> str:
        """Return the source text that stands for it in messages."""
        return "object"


@dataclass(frozen=True, slots=True)
class ListType(Type):
    """A list of items of one type."""

    element: Type

    def source(self, tensor: str) -> str:
        """Return `list[...]`."""
        return f"list[{self.element.source(tensor)}]"

    def parts(self) -> tuple[Type, ...]:
        """Return the element."""
        return (self.element,)


@dataclass(frozen=True, slots=True)
class TupleType(Type):
    """A tuple of these items; with `endless`, of any number of the only one."""

    items: tuple[Type, ...]
    endless: bool = False

    def source(self, tensor: str) -> str:
        """Return `tuple[...]`."""
        inside = ", ".join(item.source(tensor) for item in self.items) + ", ..." * self.endless
        return f"tuple[{inside or '()'}]"

    def parts(self) -> tuple[Type, ...]:
        """Return the items."""
        return self.items


@dataclass(frozen=True, slots=True)
class DictType(Type):
    """A dict from keys of a plain type to values of one type."""

    key: str
    value: Type

    def source(self, tensor: str) -> str:
        """Return `dict[..., ...]`."""
        return f"dict[{self.key}, {self.value.source(tensor)}]"

    def parts(self) -> tuple[Type, ...]:
        """Return the values' type."""
        return (self.value,)


@dataclass(frozen=True, slots=True)
class Either(Type):
    """One of several types."""

    options: tuple[Type, ...]

    def source(self, tensor: str) -> str:
        """Return `... | ...`."""
        return " | ".join(option.source(tensor) for option in self.options)

    def parts(self) -> tuple[Type, ...]:
        """Return the options."""
        return self.options


NONE: Final = NoneType()
KEPT: Final = KeptType()


def keeps(kind: Type) -> bool:
    """Whether a part of a type stays as it is, so that it can't be written where there is none."""
    return kind is KEPT or any(map(keeps, kind.parts()))


def renamed(kind: Type, before: str, after: str) -> Type:
    """Return a type in which a dimension has another name."""

    def change(kind: Type) -> Type:
        match kind:
            case TensorType(text=text):
                words = re.split(r"(\{[^}]*\}|\w+)", text)
                return replace(kind, text="".join(after if w == before else w for w in words))
            case ListType(element=element):
                return ListType(change(element))
            case TupleType(items=items):
                return replace(kind, items=tuple(map(change, items)))
            case DictType(value=value):
                return replace(kind, value=change(value))
            case Either(options=options):
                return either(*map(change, options))
        return kind

    return change(kind)


def either(*kinds: Type) -> Type:
    """Return the union of types: flat, each once, `None` last."""
    flat: dict[Type, None] = {}
    for kind in kinds:
        flat.update(dict.fromkeys(kind.options if isinstance(kind, Either) else (kind,)))
    if NONE in flat:
        del flat[NONE]
        flat[NONE] = None
    return next(iter(flat)) if len(flat) == 1 else Either(tuple(flat))
