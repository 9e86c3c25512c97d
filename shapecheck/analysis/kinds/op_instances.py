"""Instances of a library's classes, `nn.Linear(3, 4)`, which the signature files describe."""

from __future__ import annotations

import ast

from shapecheck.analysis.interpreter.by_name import given_to_torch
from shapecheck.analysis.interpreter.escaping import lose_layer
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import Kind, Spelling, register
from shapecheck.analysis.interpreter.op_calls import Site, apply
from shapecheck.analysis.interpreter.registry import MethodCall, method
from shapecheck.analysis.interpreter.statements import store
from shapecheck.analysis.program.model import NOTHING, Value
from shapecheck.analysis.program.syntax import nodes_of, owner_of
from shapecheck.analysis.values.model import Arguments, Bound, OpInstance
from shapecheck.dims import Size, Sym
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import is_size
from shapecheck.shapes import Tensor, symbols_of
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


def with_attribute(frame: Frame, held: OpInstance, name: str, new: Value) -> OpInstance:
    """Return what an instance is when an attribute becomes another; itself where it stays as it is.

    One that gets a weight of another shape has the sizes that this tells, and nothing is known of
    others that the weight was made of. Nor does a size become another in the weight that was.
    """
    before = held.cls.attribute(name, held.attrs)
    if isinstance(before, Tensor) and new is not None:
        if isinstance(new, Tensor) and _is_alike(frame, before, new):
            return held
        return OpInstance(held.cls, {**held.attrs, **_told_by(frame, held, name, new)})
    if name not in held.attrs:
        return held
    if held.cls.is_in_a_shape(name) and new != held.attrs[name]:
        new = UNKNOWN
    return OpInstance(held.cls, {**held.attrs, name: new})


def _told_by(frame: Frame, held: OpInstance, name: str, weight: Value) -> dict[str, Value]:
    """Return what the sizes are that a weight is made of, as far as its axes tell."""
    marks = {n: mark for n, value in held.attrs.items() if (mark := _mark(n, value)) is not None}
    made = held.cls.attribute(name, {**held.attrs, **marks})
    if not isinstance(made, Tensor):
        return dict.fromkeys(marks, UNKNOWN)
    axes = made.shape.known
    sizes = frame.state.facts.shape(weight.shape).known if isinstance(weight, Tensor) else None
    is_told = axes is not None and sizes is not None and len(axes) == len(sizes)
    found = dict(zip(axes or (), sizes or (), strict=True)) if is_told else {}
    concerned = {symbol for item in made.shape.dims for symbol in symbols_of(item)}
    told: dict[str, Value] = {}
    for n, mark in marks.items():
        several = mark if isinstance(mark, tuple) else (mark,)
        if any(one.symbol in concerned for one in several):
            now = tuple(found.get(one, UNKNOWN) for one in several)
            told[n] = UNKNOWN if UNKNOWN in now else now if isinstance(mark, tuple) else now[0]
    return told


def _mark(name: str, value: Value) -> Size | tuple[Size, ...] | None:
    """Return new sizes in the place of those that something was made with: `kernel_size=(3, 3)`."""
    if is_size(value):
        return Size.of(Sym.fresh(name))
    if isinstance(value, tuple) and value and all(map(is_size, value)):
        return tuple(Size.of(Sym.fresh(name)) for _ in value)
    return None


def _is_alike(frame: Frame, one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are certain to have one shape."""
    shapes = [frame.state.facts.shape(tensor.shape).known for tensor in (one, other)]
    if shapes[0] is None or shapes[1] is None or len(shapes[0]) != len(shapes[1]):
        return False
    return all(map(frame.state.facts.same, shapes[0], shapes[1]))


def _put(frame: Frame, place: ast.expr, held: OpInstance, new: Value, node: ast.expr) -> None:
    """Have an instance be another from here on, where an expression finds it.

    Where a variable has it, or what a call gives, that is another name for what something else has.
    """
    if isinstance(place, ast.Name) or any(nodes_of(ast.Call, place)):
        lose_layer(frame.state, held)
    match place:
        case ast.Name():
            frame.renew(place, new, node)
        case _:
            store(frame, place, new, node)


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

        Of one that gets another `forward` nothing is known.
        """
        new_one = UNKNOWN if name == "forward" else with_attribute(frame, held, name, new)
        if new_one is not held and isinstance(node, ast.Attribute):
            _put(frame, node.value, held, new_one, node)

    def lose_attributes(
        self, frame: Frame, value: Value, held: OpInstance, place: ast.expr
    ) -> None:
        _put(frame, place, held, OpInstance(held.cls, held.cls.unknown()), place)

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
