"""`instance.__dict__`: the attributes of an instance or namespace, as a dict.

So is `module._modules`, as far as the program asks it for modules.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from shapecheck.analysis.annotations.classes import find_setter, instance_fields, is_dataclass
from shapecheck.analysis.interpreter.dict_contents import fetch
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.kinds import (
    Iterated,
    Kind,
    attribute,
    lose_attributes,
    register,
)
from shapecheck.analysis.interpreter.op_calls import written
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import (
    Attributes,
    DictContent,
    Instance,
    ListContent,
    Namespace,
)
from shapecheck.ops import UNKNOWN

_HERE: Final = ast.Constant(None)


class AttributesKind(Kind[Attributes]):
    """`instance.__dict__`."""

    foreign = True

    def iterate(self, frame: Frame, value: Value, held: Attributes) -> Iterated:
        return iterate(frame, frame.state.new(self.mapping(frame, value, held)))

    def item(
        self,
        frame: Frame,
        value: Value,
        held: Attributes,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        return fetch(frame, value, self.mapping(frame, value, held), index)

    def set_item(
        self,
        frame: Frame,
        value: Value,
        held: Attributes,
        index: Value,
        new: Value,
        target: ast.Subscript,
        source: ast.expr,
    ) -> None:
        if isinstance(index, str):
            put_attributes(frame, held.owner, {index: new})
        else:
            lose_attributes(frame, held.owner, target.value)

    def delete_item(self, frame: Frame, value: Value, held: Attributes, index: Value) -> None:
        lose_attributes(frame, held.owner, _HERE)

    def mapping(self, frame: Frame, value: Value, held: Attributes) -> DictContent:
        """Return the fields of a dataclass; of others, there may be more than is known."""
        match frame.state.content(held.owner):
            case Instance(cls=cls) if is_dataclass(cls):
                names = [name for name, _, _ in instance_fields(cls)]
                return DictContent({n: attribute(frame, held.owner, n, _HERE) for n in names})
            case Instance(attrs=attrs) | Namespace(attrs=attrs, whole=False):
                return DictContent(None, known=_texts(attrs))
            case Namespace(attrs=attrs):
                return DictContent(_texts(attrs))
        return DictContent(None)


register(Attributes, AttributesKind())


def _texts(attrs: Mapping[str, Value]) -> dict[Value, Value]:
    return {name: written(value) for name, value in attrs.items()}


def put_attributes(frame: Frame, owner: Value, new: Mapping[str, Value]) -> None:
    """Put something into the dict of an instance, which calls no setter.

    What a property gives of it isn't known.
    """
    match frame.state.content(owner):
        case Instance(cls=cls):
            for name, value in new.items():
                is_property = find_setter(cls, name) is not None
                frame.state.set_attribute(owner, name, UNKNOWN if is_property else value)
        case Namespace() as held:
            frame.state.put(owner, replace(held, attrs={**held.attrs, **new}))
        case ListContent():
            frame.state.put(owner, None)
