"""Instances of a library's classes, `nn.Linear(3, 4)`, which the signature files describe."""

from __future__ import annotations

import ast

from shapecheck.analysis.interpreter.by_name import given_to_torch
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Kind, Spelling, register
from shapecheck.analysis.interpreter.op_calls import Site, apply
from shapecheck.analysis.interpreter.registry import MethodCall, method
from shapecheck.analysis.interpreter.statements import store
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.program.syntax import owner_of
from shapecheck.analysis.values.model import Arguments, Bound, OpInstance
from shapecheck.dims import Size, Sym
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import is_size
from shapecheck.shapes import Tensor
from shapecheck.signatures import Signature


def _apply(
    frame: Frame,
    module: OpInstance,
    signature: Signature,
    arguments: Arguments,
    node: ast.Call,
    label: str,
) -> Value:
    site = Site(node, label, args=arguments.args)
    return apply(frame, signature, arguments.values, arguments.named, site, module)


def _told_by(frame: Frame, held: OpInstance, name: str, weight: Tensor) -> dict[str, Value]:
    """Return the sizes of an instance of which the axes of a weight tell, by what it has there."""
    marks = {n: Size.of(Sym.fresh(n)) for n, value in held.attrs.items() if is_size(value)}
    made = held.cls.attribute(name, {**held.attrs, **marks})
    axes = made.shape.known if isinstance(made, Tensor) else None
    sizes = frame.state.facts.shape(weight.shape).known
    if axes is None or sizes is None or len(axes) != len(sizes):
        return {}
    found = dict(zip(axes, sizes, strict=True))
    return {n: found[mark] for n, mark in marks.items() if mark in found}


def _is_alike(frame: Frame, one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are certain to have one shape."""
    shapes = [frame.state.facts.shape(tensor.shape).known for tensor in (one, other)]
    if shapes[0] is None or shapes[1] is None or len(shapes[0]) != len(shapes[1]):
        return False
    return all(map(frame.state.facts.same, shapes[0], shapes[1]))


def _has_size(value: Value) -> bool:
    """Whether a size is what something was made with, or among it: `kernel_size=(3, 3)`."""
    match value:
        case tuple() | list():
            return any(map(_has_size, value))
    return is_size(value)


def _put(frame: Frame, place: ast.expr, changed: OpInstance, node: ast.expr) -> None:
    """Have an instance be another from here on, where an expression finds it."""
    match place:
        case ast.Name():
            frame.renew(place, changed, node)
        case _:
            store(frame, place, changed, node)


class OpInstanceKind(Kind[OpInstance]):
    """An instance of a class of a signature file."""

    family = "object"
    foreign = True

    def is_callable(self, frame: Frame, held: OpInstance) -> bool | None:
        return True

    def truth(self, frame: Frame, held: OpInstance) -> bool | None:
        return True

    def types(self, frame: Frame, held: OpInstance) -> frozenset[str] | None:
        return frozenset()

    def is_a(self, frame: Frame, held: OpInstance, cls: str) -> bool | None:
        if cls == "torch.nn.Module" or held.cls.inherits(cls):
            return True
        return False if frame.program.table.lookup_class(cls) is not None else None

    def has(self, frame: Frame, value: Value, held: OpInstance, name: str) -> bool | None:
        found = self.attribute(frame, value, held, name, ast.Constant(None))
        return None if found is UNKNOWN else True

    def attribute(
        self, frame: Frame, value: Value, held: OpInstance, name: str, node: ast.expr
    ) -> Value:
        found = held.cls.attribute(name, held.attrs)
        is_method = held.cls.method(name) is not None or method(held, name) is not None
        return Bound(held, name) if found is UNKNOWN and is_method else found

    def set_attribute(
        self,
        frame: Frame,
        value: Value,
        held: OpInstance,
        name: str,
        new: Value,
        node: ast.expr,
    ) -> None:
        """Let what it was made with be another, as in `self.pool.return_indices = True`.

        One that gets a weight of another shape has the sizes that this tells, and of others nothing
        is known. Nor does a size become another in the weight that was made of it.
        """
        before = held.cls.attribute(name, held.attrs)
        if not isinstance(node, ast.Attribute) or not (
            name in held.attrs or isinstance(before, Tensor)
        ):
            return
        attrs = {**held.attrs, name: new}
        if isinstance(before, Tensor):
            if isinstance(new, Tensor) and _is_alike(frame, before, new):
                return
            told = _told_by(frame, held, name, new) if isinstance(new, Tensor) else {}
            attrs = {n: told.get(n, UNKNOWN) if _has_size(v) else v for n, v in attrs.items()}
        elif held.cls.is_in_a_shape(name) and new != held.attrs[name]:
            attrs[name] = UNKNOWN
        _put(frame, node.value, OpInstance(held.cls, attrs), node)

    def lose_attributes(
        self, frame: Frame, value: Value, held: OpInstance, place: ast.expr
    ) -> None:
        _put(frame, place, OpInstance(held.cls, held.cls.unknown()), place)

    def call(
        self,
        frame: Frame,
        value: Value,
        held: OpInstance,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        """Call the instance: its `forward`."""
        forward = held.cls.method("forward")
        if forward is None:
            return UNKNOWN
        if held.cls.name == "torch.nn.Identity" and len(arguments.args) == 1:
            return arguments.args[0].value
        site = Site(node, label, args=arguments.args)
        called = f"torch.{held.cls.name.rpartition('.')[2].lower()}"  # `nn.ReLU` calls `relu`
        found = given_to_torch(frame, called, arguments.values, arguments.named, site)
        if found is not NOTHING:
            return found
        return _apply(frame, held, forward, arguments, node, label)

    def call_method(self, frame: Frame, call: MethodCall[OpInstance]) -> Value:
        if call.name in ("forward", "__call__"):
            return self.call(frame, call.owner, call.held, call.arguments, call.node, call.label)
        signature = call.held.cls.method(call.name)
        if signature is None:
            return super().call_method(frame, call)
        source = owner_of(call.node.func)
        if source is not None and "reshapes" in signature.flags:
            frame.renew(source, UNKNOWN, call.node)
        return _apply(frame, call.held, signature, call.arguments, call.node, call.label)

    def plain(self, spelling: Spelling, value: Value, held: OpInstance) -> Value:
        return held.attrs


register(OpInstance, OpInstanceKind())
