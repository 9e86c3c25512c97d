"""Instances of classes of the program: their attributes, and what their classes say of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.annotations.classes import (
    find_member,
    find_method,
    find_setter,
    instance_fields,
    is_dataclass,
    is_module,
    is_open,
    is_replaced,
    is_tensor_dict,
    library_ancestry,
    members,
    own_ancestry,
)
from shapecheck.analysis.annotations.construction import (
    assigned,
    fields,
    hook,
    is_default,
    is_named_tuple,
    made_by_construction,
    set_by_hook,
    taken_over,
)
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter import decorators, functions, registry
from shapecheck.analysis.interpreter.calls import invoke
from shapecheck.analysis.interpreter.effects import set_by_hooks
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import iterate
from shapecheck.analysis.interpreter.kinds import (
    Iterated,
    Kind,
    Spelling,
    attribute,
    register,
    special,
)
from shapecheck.analysis.interpreter.op_calls import written
from shapecheck.analysis.kinds.construct import check_assigned, declared_as, run_hook
from shapecheck.analysis.kinds.module_children import LAYER, children, is_sequential
from shapecheck.analysis.kinds.op_instances import with_attribute
from shapecheck.analysis.kinds.tuples import item_of
from shapecheck.analysis.program.declared import AnyDecl
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, Function, Value, literal
from shapecheck.analysis.program.syntax import Def, is_def, is_none, is_zero
from shapecheck.analysis.values.model import (
    Argument,
    Arguments,
    Attributes,
    Bound,
    DictContent,
    Instance,
    ListContent,
    OneOf,
    OpInstance,
    Partial,
    Path,
    Ref,
    Super,
    own_size,
    with_default,
)
from shapecheck.analysis.values.paths import one_of
from shapecheck.analysis.values.state import State
from shapecheck.dims import IntSize
from shapecheck.ops import UNKNOWN, Scalar
from shapecheck.ops.call import as_size, is_whole
from shapecheck.shapes import Tensor

_HERE: Final = ast.Constant(None)


def _is_key(cls: Class, name: str) -> bool:
    """Whether `value["name"]` is the field of this name."""
    found = find_member(cls, name) if is_tensor_dict(cls) else None
    return found is not None and isinstance(found[1], ast.AnnAssign)


class InstanceKind(Kind[Instance]):
    """An instance of a class of the program."""

    def truth(self, frame: Frame, held: Instance) -> bool | None:
        return True if held.path is None and _is_plainly_true(held.cls) else None

    def is_own(self, held: Instance, cls: Class) -> bool | None:
        found = any(parent.node is cls.node for parent in own_ancestry(held.cls))
        return found or _unless_below(held)

    def is_a(self, frame: Frame, held: Instance, cls: str) -> bool | None:
        return any(one == cls for one in library_ancestry(held.cls)) or _unless_below(held)

    def has(self, frame: Frame, value: Value, held: Instance, name: str) -> bool | None:
        if name in held.attrs or find_member(held.cls, name) is not None:
            return True
        if held.path is not None or find_method(held.cls, "__getattr__") is not None:
            return None
        known = _is_below(held.cls, _NAMED_BY_US)
        if is_open(held.cls) or not known or name in _MODULE_NAMES:
            return None
        return None if registry.method(held, name) is not None else False

    def iterate(self, frame: Frame, value: Value, held: Instance) -> Iterated:
        made = special(frame, value, "__iter__", [], _HERE)
        if made is not NOTHING and made != value:
            return iterate(frame, made)
        if made is not NOTHING:
            following = special(frame, value, "__next__", [], _HERE)
            return None, UNKNOWN if following is NOTHING else following
        item = special(frame, value, "__getitem__", [dims.unknown()], _HERE)
        return None, UNKNOWN if item is NOTHING else item

    def length(self, frame: Frame, value: Value, held: Instance) -> IntSize | None:
        made = frame.hush(special, value, "__len__", [], _HERE)
        if isinstance(made, tuple):
            return len(made)
        return as_size(made) if is_whole(made) else None

    def another(self, frame: Frame, value: Value, held: Instance) -> Value:
        if held.path is None or not isinstance(value, Ref):
            return value
        attrs = dict.fromkeys(held.attrs, UNKNOWN)
        like = held.like or (value,)
        return frame.state.new(Instance(held.cls, attrs, one_of(held.path), like, fresh=True))

    def item(
        self,
        frame: Frame,
        value: Value,
        held: Instance,
        index: Value,
        node: ast.expr,
        source: ast.expr,
    ) -> Value:
        if isinstance(index, str) and _is_key(held.cls, index):
            return attribute(frame, value, index, node)
        made = special(frame, value, "__getitem__", [index], node)
        if is_named_tuple(held.cls) or is_sequential(held.cls):
            match made, index:
                case tuple(), int() | slice():
                    return item_of(frame, made, index)
        return UNKNOWN if made is NOTHING else made

    def set_item(
        self,
        frame: Frame,
        value: Value,
        held: Instance,
        index: Value,
        new: Value,
        target: ast.Subscript,
        source: ast.expr,
    ) -> None:
        frame.state.put(value, None)

    def attribute(
        self, frame: Frame, value: Value, held: Instance, name: str, node: ast.expr
    ) -> Value:
        assert isinstance(value, Ref)
        return written(_attribute(frame, value, held, name, node))  # by whoever else has it

    def set_attribute(
        self, frame: Frame, value: Value, held: Instance, name: str, new: Value, node: ast.expr
    ) -> None:
        """Put something into the instance; of a property, the setter is called."""
        if name == "__dict__":
            self.lose_attributes(frame, value, held, node)
            return
        setter = find_setter(held.cls, name)
        if setter is None:
            check_assigned(frame, held.cls, name, new, node)
            layer = held.attrs.get(LAYER)
            if isinstance(layer, OpInstance):  # whose `forward` reads what its instances have
                frame.state.set_attribute(value, LAYER, with_attribute(frame, layer, name, new))
            frame.state.set_attribute(value, name, new)
        else:
            functions.invoke(frame, setter, [Argument(value), Argument(new)], {}, node, name)

    def lose_attributes(self, frame: Frame, value: Value, held: Instance, place: ast.expr) -> None:
        """Leave methods as they are; what a field is declared to be still holds, too."""
        own = own_ancestry(held.cls)
        each = [name for one in own for name, node in members(one).items() if _is_field(node)]
        attrs = dict.fromkeys((*each, *held.attrs), UNKNOWN)
        frame.state.put(value, replace(held, attrs=attrs, whole=False, fresh=False))

    def special(
        self,
        frame: Frame,
        value: Value,
        held: Instance,
        name: str,
        args: Sequence[Value],
        node: ast.expr,
    ) -> Value:
        if is_named_tuple(held.cls) and name in ("__iter__", "__getitem__", "__len__"):
            fields = instance_fields(held.cls)
            return tuple(attribute(frame, value, field, node) for field, _, _ in fields)
        if is_sequential(held.cls) and name in ("__iter__", "__getitem__", "__len__"):
            found = children(frame, held)
            return NOTHING if found is None else tuple(module for _, module in found)
        method = find_method(held.cls, name)
        if method is None:
            return NOTHING
        given = [Argument(value), *map(Argument, args)]
        return functions.invoke(frame, method, given, {}, node, name)

    def enter(self, frame: Frame, value: Value, held: Instance, node: ast.expr) -> Value:
        enter = find_method(held.cls, "__enter__") or find_method(held.cls, "__aenter__")
        if enter is None:
            return value
        return functions.invoke(frame, enter, [Argument(value)], {}, node, enter.name)

    def call(
        self,
        frame: Frame,
        value: Value,
        held: Instance,
        arguments: Arguments,
        node: ast.Call,
        label: str,
    ) -> Value:
        """Call its `__call__`; of a module, else its `forward`, which may be one of its own."""
        names = ["__call__", "forward"] if is_module(held.cls) else ["__call__"]
        for name in names:
            if name == "forward" and name in held.attrs:
                return invoke(frame, held.attrs[name], arguments, node, label)
            if is_replaced(held.cls, name):
                return NOTHING
            function = find_method(held.cls, name)
            if function is not None:
                made = decorators.defined(function)
                if made is None:
                    return UNKNOWN
                args = (Argument(value), *arguments.args)
                return functions.invoke(frame, made, args, arguments.kwargs, node, label)
        if LAYER in held.attrs:
            return invoke(frame, held.attrs[LAYER], arguments, node, label)
        if is_sequential(held.cls):
            return _through(frame, held, arguments, node, label)
        return UNKNOWN

    def plain(self, spelling: Spelling, value: Value, held: Instance) -> Value:
        return UNKNOWN


register(Instance, InstanceKind())


def _through(
    frame: Frame, held: Instance, arguments: Arguments, node: ast.Call, label: str
) -> Value:
    """Pass the input of a class derived from `nn.Sequential` through its modules."""
    found = children(frame, held)
    value = arguments.values[0] if len(arguments.values) == 1 else UNKNOWN
    for name, module in found or ():
        inner = f"{label}[{name}]" if name.isdecimal() else f"{label}.{name}"
        value = invoke(frame, module, Arguments((Argument(value),), {}), node, inner)
    return UNKNOWN if found is None else value


def _unless_below(held: Instance) -> bool | None:
    """Return what `isinstance` says of a class that isn't among the ancestors that are known."""
    # Of a symbolic one, `self`, an instance of a subclass may be passed.
    return None if held.path is not None or is_open(held.cls) else False


def _is_plainly_true(cls: Class) -> bool:
    """Whether instances of a class are true, having neither a length nor a truth of their own."""
    if find_method(cls, "__len__") is not None or find_method(cls, "__bool__") is not None:
        return False
    return _is_below(cls, _PLAINLY_TRUE)


_NAMED_BY_US: Final = frozenset(("torch.nn.Module", "abc.ABC"))
_PLAINLY_TRUE: Final = _NAMED_BY_US | {"builtins.object"}


def _is_below(cls: Class, libraries: frozenset[str]) -> bool:
    """Whether a class has no ancestors of libraries but these."""
    return libraries.issuperset(library_ancestry(cls))


def _is_field(node: ast.stmt) -> bool:
    return not is_def(node)


def _attribute(frame: Frame, owner: Ref, content: Instance, name: str, node: ast.expr) -> Value:
    if name == "__dict__" or (name == "_modules" and is_module(content.cls)):
        return Attributes(owner)
    value = content.attrs.get(name, UNKNOWN)
    homes = content.cls.module, frame.module
    if any(name in set_by_hooks(module, content.cls) for module in homes):
        return UNKNOWN
    if value is UNKNOWN and content.fresh and name in set_by_hook(content.cls):
        value = _after_hook(frame, owner, name, node)
        changed = frame.state.instance_of(owner)
        assert changed is not None
        content = changed
    if value is not UNKNOWN:
        return value
    found = find_member(content.cls, name)
    if found is None:
        return _inherited(frame, owner, content, name, node)
    home, statement = found
    if is_def(statement):
        if name in content.attrs or is_replaced(content.cls, name):
            return UNKNOWN
        return _method(frame, owner, home, statement, node)
    return _field(frame, owner, content, home, name, statement)


def _inherited(frame: Frame, owner: Ref, content: Instance, name: str, node: ast.expr) -> Value:
    """Return an attribute that a library's base class gives, or that nothing is known of."""
    layer = content.attrs.get(LAYER)
    if isinstance(layer, OpInstance):
        given = attribute(frame, layer, name, node)
        if name in layer.attrs or isinstance(given, Tensor):
            return given
    if is_module(content.cls) and (
        name in _MODULE_METHODS or registry.method(content, name) is not None
    ):
        return Bound(owner, name)
    if is_module(content.cls) and name == "training":
        return Scalar(dtypes.BOOL)
    if name in ("_replace", "_asdict", "_make") and is_named_tuple(content.cls):
        return Bound(content.cls if name == "_make" else owner, name)
    if name in set_by_hook(content.cls):
        return UNKNOWN
    if content.path is not None and not is_module(content.cls) and is_dataclass(content.cls):
        return Path(content.path + f".{name}")
    declared = None if content.path is None else taken_over(content.cls, name)
    if declared is None:
        return UNKNOWN
    value = declared_as(frame, owner, content, name, declared)
    frame.state.find_attribute(owner, name, value)
    return value


_MODULE_METHODS: Final = frozenset(
    "register_buffer register_parameter add_module register_module parameters modules "
    "named_parameters named_modules children state_dict load_state_dict zero_grad".split()
)
_MODULE_NAMES: Final = _MODULE_METHODS | {"training", "buffers", "named_buffers", "forward"}
"""What every `nn.Module` has."""


def _after_hook(frame: Frame, owner: Ref, name: str, node: ast.expr) -> Value:
    """Return an attribute that is set behind a generated constructor.

    What is declared with a shape is as declared.
    """
    before = frame.state.instance_of(owner)
    assert before is not None
    last = hook(before.cls)
    assert last is not None
    frame.state.put(owner, replace(before, fresh=False))
    frame.hush(run_hook, last, owner, [], node)
    content = frame.state.instance_of(owner)
    if content is None:
        frame.state.put(owner, replace(before, fresh=False))
        return UNKNOWN
    shaped = {
        field.name
        for field in fields(before.cls)
        if declarations.speaks(reader(field.owner.module).read(field.annotation))
    }
    found = {one: value for one, value in content.attrs.items() if one not in shaped}
    attrs = {**found, **before.attrs}
    frame.state.put(owner, content.with_attrs(attrs))
    return attrs.get(name, UNKNOWN)


def _method(
    frame: Frame,
    owner: Ref,
    home: Class,
    node: Def,
    site: ast.expr,
) -> Value:
    kinds = set(declarations.decorator_names(home.module, node))
    function = decorators.defined(Function(node, home.module, home, home.home))
    if function is None:
        return UNKNOWN
    if kinds & decorators.PROPERTIES:
        return functions.invoke(frame, function, [Argument(owner)], {}, site, node.name)
    if "builtins.staticmethod" in kinds:
        return function
    content = frame.state.instance_of(owner)
    if "builtins.classmethod" in kinds and content is not None:
        return Bound(content.cls, node.name, function)
    return Bound(owner, node.name, function)


def _field(
    frame: Frame, owner: Ref, content: Instance, home: Class, name: str, statement: ast.stmt
) -> Value:
    """Return a field of which the class' body says something.

    What was assigned to it and isn't known is what it is declared to be.
    """
    if isinstance(statement, ast.AnnAssign):
        declared = reader(home.module).read_with_default(statement.annotation, statement.value)
        default = isinstance(statement.value, ast.Constant) and not is_dataclass(home)
        is_first = default and name not in content.attrs
        fixed = is_first and not _is_left_to_others(content, name, statement)
        if not isinstance(declared, AnyDecl) and not fixed:
            value = declared_as(frame, owner, content, name, declared)
            path = content.path + f".{name}" if content.path else name
            by_hook = name in set_by_hook(content.cls)
            value = with_default(value, path, _CHOSEN if by_hook else statement.value)
            frame.state.find_attribute(owner, name, value)
            return value
    if name in content.attrs:
        return UNKNOWN
    if content.path is not None and _is_left_to_others(content, name, statement):
        given = literal(getattr(statement, "value", None))
        is_size_of_its_own = type(given) is int and given > 0
        return own_size(content.path + f".{name}", given) if is_size_of_its_own else UNKNOWN
    value = _bound(owner, functions.assigned(frame, home, statement))
    if content.path is not None:
        stored, altered = assigned(content.cls)
        changing = stored | made_by_construction(content.cls), altered
        if is_changing(frame.state, changing, name, value):
            return UNKNOWN
    return value


def _is_left_to_others(content: Instance, name: str, statement: ast.stmt) -> bool:
    """Whether a symbolic instance may have something else than what its class begins with.

    A 0 or None is there for others to put something in its place.
    """
    if content.path is None or not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return False
    if is_none(statement.value) or is_zero(statement.value):
        return True
    return is_default(content.cls, name, is_field=isinstance(statement, ast.AnnAssign))


def is_changing(
    state: State, changing: tuple[AbstractSet[str], AbstractSet[str]], name: str, value: Value
) -> bool:
    """Whether an attribute that has a value at first has others later.

    `changing`: which attributes methods assign, and those whose content they change. A tensor of
    which the content changes keeps its shape.
    """
    stored, altered = changing
    return (
        (name in stored and not _is_layer(state, value))
        or (name in altered and not isinstance(value, Tensor))
        or _is_placeholder(state, value)
    )


def _is_layer(state: State, value: Value) -> bool:
    """Whether a value is a layer, and no loss: another loss may leave the batch as it is."""
    if isinstance(value, OpInstance) and "reduction" in value.attrs:
        return False
    content = state.instance_of(value)
    return isinstance(value, OpInstance) or (content is not None and is_module(content.cls))


def _is_placeholder(state: State, value: Value) -> bool:
    """Whether an attribute begins empty, `[]` or `torch.tensor([])`, for others to fill."""
    match value:
        case Tensor(shape=shape):
            return 0 in shape.dims
        case (tuple() as parts) | OneOf(options=parts):
            return any(_is_placeholder(state, part) for part in parts)
    return is_waiting(state.content(value))


def is_waiting(content: object) -> bool:
    """Whether something is an empty list, dict or set, for others to fill."""
    return (
        isinstance(content, (ListContent, DictContent))
        and content.kind in _FILLED
        and not content.items
    )


_FILLED: Final = frozenset(("list", "dict", "set"))


def _bound(owner: Ref, value: Value) -> Value:
    """Return what a class has, as one of its instances gives it."""
    match value:
        case Partial(function=Dotted(name="functools.partialmethod"), args=args) if args:
            return Partial(args[0], (owner, *args[1:]), value.kwargs)
        case Function(owner=Class(), node=ast.FunctionDef(name=name)):
            return Bound(owner, name, value)
    return value


_CHOSEN: Final = ast.Constant(None)
"""The default of a size that may turn out to be any other one."""


class SuperKind(Kind[Super]):
    """`super()` in a method."""

    def attribute(
        self, frame: Frame, value: Value, held: Super, name: str, node: ast.expr
    ) -> Value:
        instance = frame.state.instance_of(held.receiver)
        if instance is None:
            return UNKNOWN
        function = find_method(instance.cls, name, held.owner)
        if function is None and name == "forward" and LAYER in instance.attrs:
            return Bound(instance.attrs[LAYER], name)
        return Bound(held.receiver, name, function)


register(Super, SuperKind())
