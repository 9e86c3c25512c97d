"""What is asked of a value, whatever it is: each kind of value answers for itself.

A kind of value is one subclass of `Kind`, in the room `analysis.kinds`, which says for which types
it answers. To add a kind is to add a class there. What a value is that lies on the heap is what its
content is; where that isn't known the `Ref` answers itself.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final, Generic, NoReturn, TypeAlias, TypeVar

from shapecheck.analysis.interpreter import registry
from shapecheck.analysis.interpreter.escaping import set_somewhere
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import MethodCall
from shapecheck.analysis.program.model import NOTHING, Class, Value
from shapecheck.analysis.values.model import Arguments, Bound, Content, DictContent, Ref
from shapecheck.analysis.values.parts import MOST
from shapecheck.dims import IntSize, unknown
from shapecheck.ops import UNKNOWN, Repeated
from shapecheck.shapes import Tensor

Held_contra = TypeVar("Held_contra", contravariant=True)
Iterated: TypeAlias = tuple[tuple[Value, ...] | None, Value]
"""The items that something has, or None, and what any item is."""


class Kind(Generic[Held_contra]):
    """What values of one kind answer; as it stands here, nothing particular is known of them.

    `value` is what is asked, `held` what it is: the same, or what it has on the heap.
    """

    family: str = ""
    """Values of two families are never equal; one without may be equal to any other."""
    foreign: bool = False
    """Whether none of them is an instance of a class of the program."""

    def may_be_none(self, frame: Frame, held: Held_contra) -> bool:
        """Whether it may turn out to be None."""
        return False

    def is_callable(self, frame: Frame, held: Held_contra) -> bool | None:
        """Return what `callable` says of it, None where it isn't known."""
        return None

    def truth(self, frame: Frame, held: Held_contra) -> bool | None:
        """Return whether it is true, None where it isn't known."""
        return None

    def types(self, frame: Frame, held: Held_contra) -> frozenset[str] | None:
        """Return the builtin and abstract types that it is an instance of, None where not known."""
        return None

    def is_own(self, held: Held_contra, cls: Class) -> bool | None:
        """Whether it is an instance of a class of the program."""
        return False if self.foreign else None

    def is_a(self, frame: Frame, held: Held_contra, cls: str) -> bool | None:
        """Whether it is an instance of a class of a library, by its name."""
        return None

    def has(self, frame: Frame, value: Value, held: Held_contra, name: str) -> bool | None:
        """Whether it has an attribute, None where it isn't known."""
        return None

    def iterate(self, frame: Frame, value: Value, held: Held_contra) -> Iterated:
        """Return the items that iterating over it gives, or None and what any item is."""
        return None, UNKNOWN

    def contains(self, frame: Frame, held: Held_contra, item: Value) -> bool | None:
        """Return what `item in value` gives, None where it isn't known."""
        return None

    def first(self, held: Held_contra) -> Value:
        """Return its first item where that is known better than any item is, else `NOTHING`."""
        return NOTHING

    def last(self, held: Held_contra) -> Value:
        """Return its last item where that is known to differ from those before, else `NOTHING`."""
        return NOTHING

    def length(self, frame: Frame, value: Value, held: Held_contra) -> IntSize | None:
        """Return how many items iterating over it gives, None where it isn't known."""
        items, _ = self.iterate(frame, value, held)
        return None if items is None else len(items)

    def another(self, frame: Frame, value: Value, held: Held_contra) -> Value:
        """Return one of several values of which this says what they have in common."""
        return value

    def item(
        self,
        frame: Frame,
        value: Value,
        held: Held_contra,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        """Return `value[index]`; `source` is the expression of the value."""
        return UNKNOWN

    def set_item(
        self,
        frame: Frame,
        value: Value,
        held: Held_contra,
        index: Value,
        new: Value,
        target: ast.Subscript,
        source: ast.expr,
    ) -> None:
        """Do what `value[index] = new` does, which is `target = source` in the program."""

    def delete_item(self, frame: Frame, value: Value, held: Held_contra, index: Value) -> None:
        """Do what `del value[index]` does."""
        frame.state.forget(value)

    def attribute(
        self, frame: Frame, value: Value, held: Held_contra, name: str, node: ast.expr
    ) -> Value:
        """Return `value.name`."""
        return Bound(value, name)

    def set_attribute(
        self, frame: Frame, value: Value, held: Held_contra, name: str, new: Value, node: ast.expr
    ) -> None:
        """Do what `value.name = new` does."""

    def lose_attributes(
        self, frame: Frame, value: Value, held: Held_contra, place: ast.expr
    ) -> None:
        """Give up what is known of all its attributes, any of which may have been set.

        `place` is its expression.
        """
        frame.state.put(value, None)

    def mapping(self, frame: Frame, value: Value, held: Held_contra) -> DictContent | None:
        """Return what it holds as a dict, None where it is none or that isn't known."""
        return None

    def special(
        self,
        frame: Frame,
        value: Value,
        held: Held_contra,
        name: str,
        args: Sequence[Value],
        node: ast.expr,
    ) -> Value:
        """Call a method such as `__len__` of its class; `NOTHING` if that has none."""
        return NOTHING

    def enter(self, frame: Frame, value: Value, held: Held_contra, node: ast.expr) -> Value:
        """Return what `with value as name` binds."""
        return UNKNOWN

    def call(
        self,
        frame: Frame,
        value: Value,
        held: Held_contra,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        """Call it; `NOTHING` where nobody knows what that does."""
        return NOTHING

    def call_method(self, frame: Frame, call: MethodCall[Held_contra]) -> Value:
        """Call a method that isn't a function of the program; `NOTHING` as `call` gives it."""
        handler = registry.method(call.held, call.name)
        return NOTHING if handler is None else handler(frame, call)

    def plain(self, spelling: Spelling, value: Value, held: Held_contra) -> Value:
        """Return it as op rules see it."""
        return value


_ANYTHING: Final = Kind[object]()
_KINDS: Final[dict[type, Kind[NoReturn]]] = {}
_T = TypeVar("_T")


def register(held: type[_T], kind: Kind[_T]) -> None:
    """Have a kind answer for the values, or the contents of the heap, that are of a type."""
    if held in _KINDS:
        raise ValueError(f"two kinds answer for {held.__name__}")
    _KINDS[held] = kind


def kind_of(held: _T) -> Kind[_T]:
    """Return who answers for a value, by what it is."""
    return _KINDS.get(type(held), _ANYTHING)  # type: ignore[return-value]  # by its type


def kinds() -> frozenset[type]:
    """Return the types of which some kind answers for the values."""
    return frozenset(_KINDS)


def held_by(frame: Frame, value: Value) -> Value | Content:
    """Return what a value is: its content where it lies on the heap and that is known."""
    if type(value) is not Ref:
        return value
    content = frame.state.content(value)
    return value if content is None else content


def attribute(frame: Frame, owner: Value, name: str, node: ast.expr) -> Value:
    """Return `owner.name`."""
    held = held_by(frame, owner)
    return kind_of(held).attribute(frame, owner, held, name, node)


def assign_attribute(frame: Frame, owner: Value, name: str, value: Value, node: ast.expr) -> None:
    """Do what `owner.name = value` does."""
    set_somewhere(frame, owner, name)
    held = held_by(frame, owner)
    kind_of(held).set_attribute(frame, owner, held, name, value, node)


def lose_attributes(frame: Frame, owner: Value, place: ast.expr) -> None:
    """Give up what is known of all attributes of something; `place` is its expression."""
    held = held_by(frame, owner)
    kind_of(held).lose_attributes(frame, owner, held, place)


def mapping_of(frame: Frame, value: Value) -> DictContent | None:
    """Return what a dict holds, or the attributes of an instance; None for what is neither."""
    held = held_by(frame, value)
    return kind_of(held).mapping(frame, value, held)


def special(frame: Frame, owner: Value, name: str, args: Sequence[Value], node: ast.expr) -> Value:
    """Call a method such as `__len__` of an instance; `NOTHING` if its class has none."""
    if type(owner) is not Ref:
        return NOTHING
    held = held_by(frame, owner)
    return kind_of(held).special(frame, owner, held, name, args, node)


def as_learned(frame: Frame, tensor: Tensor) -> Tensor:
    """Return a tensor with what has been learned of its shape."""
    told = frame.state.facts.shape(tensor.shape)
    return tensor if told is tensor.shape else tensor.with_shape(told)


class Spelling:
    """Spells out one argument of an op, no deeper and no more than a program means to hand on.

    A list may have itself in it, or one list in many places. `arrays`: those of numpy are spelled
    as the tensors that they are to rules.
    """

    def __init__(self, frame: Frame, arrays: bool = False) -> None:
        self.frame = frame
        self.arrays = arrays
        self.left = MOST
        self.depth = 0

    def spell(self, value: Value) -> Value:
        """Return a value as rules see it: lists from the heap, and what may be a tensor or None."""
        held = held_by(self.frame, value)
        return kind_of(held).plain(self, value, held)

    def each(self, items: Sequence[Value]) -> list[Value] | None:
        """Return items as rules see them, None where they are too many or too deep."""
        self.left -= len(items)
        if self.left < 0 or self.depth >= _DEEPEST:
            return None
        self.depth += 1
        found = [self.spell(item) for item in items]
        self.depth -= 1
        return found

    def list(self, items: tuple[Value, ...] | None, element: Value, count: IntSize | None) -> Value:
        """Return a list as rules see it: of many tensors perhaps only of which kind they are."""
        if items is not None:
            found = self.each(items)
            return UNKNOWN if found is None else found
        held = held_by(self.frame, element)
        one = Spelling(self.frame, self.arrays).spell(
            kind_of(held).another(self.frame, element, held)
        )
        if not isinstance(one, Tensor):
            return UNKNOWN
        return Repeated(one, unknown() if count is None else count)


_DEEPEST: Final = 32
