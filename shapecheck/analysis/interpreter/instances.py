"""Instances, attributes and classes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import shapecheck.dims as dims
from shapecheck import dtypes
from shapecheck.analysis.annotations import class_fields, declarations
from shapecheck.analysis.annotations.class_fields import Field
from shapecheck.analysis.annotations.classes import (
    ancestry,
    defaults,
    find_member,
    find_method,
    find_setter,
    instance_fields,
    is_dataclass,
    is_module,
    members,
)
from shapecheck.analysis.annotations.declared import AnyDecl, Declared, FieldsDecl, TensorDecl
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.interpreter import body, decorators, first_class, fitting, functions
from shapecheck.analysis.interpreter.frame import PARTS, Frame
from shapecheck.analysis.interpreter.methods import ITSELF
from shapecheck.analysis.interpreter.op_calls import Site, apply
from shapecheck.analysis.interpreter.operators import certain
from shapecheck.analysis.interpreter.writes import written
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, Function, ModuleRef, Value
from shapecheck.analysis.program.modules import library
from shapecheck.analysis.values.heap import Renewing, inside, unknowns
from shapecheck.analysis.values.model import (
    Argument,
    Bound,
    Context,
    DictContent,
    Instance,
    ListContent,
    OneOf,
    OpInstance,
    Partial,
    Path,
    Ref,
    Super,
    names_of,
    own_size,
    with_default,
)
from shapecheck.analysis.values.state import State
from shapecheck.blame import Blame
from shapecheck.dims import Dim, Size, Sym
from shapecheck.ops import UNKNOWN, Packed, Scalar
from shapecheck.shapes import Free, Matcher, Run, Shape, Tensor


def entered(frame: Frame, value: Value, node: ast.expr) -> Value:
    """Return what `with value as name` binds: what `__enter__` returns, else not known."""
    if isinstance(value, Context):
        return value.value
    content = frame.state.content(value)
    if not isinstance(content, Instance):
        return UNKNOWN
    enter = find_method(content.cls, "__enter__") or find_method(content.cls, "__aenter__")
    if enter is None:
        return value
    return functions.invoke(frame, enter, [Argument(value)], {}, node, enter.name)


# Classes ----------------------------------------------------------------------------------------


# Instances --------------------------------------------------------------------------------------


def construct(
    frame: Frame,
    cls: Class,
    args: list[Argument],
    kwargs: Mapping[str, Argument],
    node: ast.expr,
    label: str,
) -> Value:
    """Return a new instance of an analysed class, its `__init__` run on the arguments."""
    fields = reader(cls.module).fields(cls)
    if fields is not None:
        return _typed_dict(frame, FieldsDecl(tuple(fields.items())), kwargs, node, label)
    made = frame.state.new(Instance(cls, {}, whole=True, defaults=defaults(cls)))
    init = find_method(cls, "__init__")
    if init is not None:
        functions.invoke(frame, init, [Argument(made), *args], kwargs, node, label)
        _tell(frame, made)
        return made
    if is_dataclass(cls):
        rest = _fill_fields(frame, made, cls, args, kwargs, node, label)
        after = _hook(cls)
        if after is not None:
            _run_hook(frame, after, made, rest, node)
    return made


def _typed_dict(
    frame: Frame,
    declared: FieldsDecl,
    kwargs: Mapping[str, Argument],
    node: ast.expr,
    label: str,
) -> Value:
    made = frame.state.new(DictContent({name: one.value for name, one in kwargs.items()}))
    matcher = Matcher(frame.state.facts)
    found = fitting.check(frame, declared, made, matcher)
    if found[0] is not None:
        blame = Blame("unfit", "field", label)
        message = fitting.message(frame, f'a field of "{label}"', found, matcher, None, blame)
        frame.error(node, message)
    return made


def replaced(frame: Frame, value: Value, changes: Mapping[str, Argument], node: ast.expr) -> Value:
    """Return what `dataclasses.replace(value, name=...)` makes."""
    content = frame.state.content(value)
    if not isinstance(content, Instance) or not is_dataclass(content.cls):
        return UNKNOWN
    kept = {
        name: Argument(get_attribute(frame, value, name, node))
        for name, _, _ in instance_fields(content.cls)
    }
    return construct(frame, content.cls, [], {**kept, **changes}, node, content.cls.name)


def special(frame: Frame, value: Value, name: str, args: list[Value], node: ast.expr) -> Value:
    """Call a method such as `__len__` of an instance; `NOTHING` if its class has none."""
    content = frame.state.content(value)
    if not isinstance(content, Instance):
        return NOTHING
    if _is_named_tuple(content.cls) and name in ("__iter__", "__getitem__", "__len__"):
        fields = instance_fields(content.cls)
        return tuple(get_attribute(frame, value, field, node) for field, _, _ in fields)
    method = find_method(content.cls, name)
    if method is None:
        return NOTHING
    given = [Argument(value), *map(Argument, args)]
    return functions.invoke(frame, method, given, {}, node, name)


def _is_named_tuple(cls: Class) -> bool:
    return "typing.NamedTuple" in ancestry(cls)


def _fill_fields(
    frame: Frame,
    made: Ref,
    cls: Class,
    args: list[Argument],
    kwargs: Mapping[str, Argument],
    node: ast.expr,
    label: str,
) -> list[Argument]:
    """Give the fields what a generated constructor is given; return what goes to its hook."""
    given = list(args)
    attrs: dict[str, Value] = {}
    rest: list[Argument] = []
    matcher = Matcher(frame.state.facts)
    for field in _fields(cls):
        argument = None
        if field.is_given:
            argument = given.pop(0) if given else kwargs.get(field.name)
        if argument is None:
            value = _default(frame, field)
        else:
            _check_field(frame, field, argument, matcher, node, label)
            value = UNKNOWN if field.is_converted else argument.value
        if field.is_kept:
            attrs[field.name] = value
        else:
            rest.append(Argument(value, None if argument is None else argument.node))
    frame.state.put(made, Instance(cls, attrs))
    return rest


def _default(frame: Frame, field: Field) -> Value:
    """Return what a field holds that the constructor isn't given."""
    if isinstance(field.default, ast.Constant):
        return functions.default(frame, field.owner.module, field.default)
    if field.factory is None:
        return UNKNOWN
    factory = functions.default(frame, field.owner.module, field.factory)
    return frame.hush(Frame.call, factory, [])


def _check_field(
    frame: Frame, field: Field, argument: Argument, matcher: Matcher, node: ast.expr, label: str
) -> None:
    declared = reader(field.owner.module).read(field.annotation)
    found = fitting.check(frame, declared, argument.value, matcher)
    if found[0] is None or field.is_converted:
        return
    text = None if argument.node is None else frame.segment(argument.node)
    subject = f'field "{field.name}" of "{label}"'
    blame = Blame("unfit", "field", label, field.name)
    message = fitting.message(frame, subject, found, matcher, text, blame)
    frame.error(argument.node or node, message)


def _fields(cls: Class) -> list[Field]:
    """Return the fields of a class that gets its constructor from them."""

    def found() -> list[Field]:
        return [class_fields.field(*one) for one in instance_fields(cls)]

    return cls.module.program.memory.recall(("fields", cls.node), found, [])


def _hook(cls: Class) -> Function | None:
    """Return what a generated constructor calls at its end."""
    if find_method(cls, "__init__") is not None or not is_dataclass(cls):
        return None
    hooks = (find_method(cls, name) for name in class_fields.HOOKS)
    return next((hook for hook in hooks if hook is not None), None)


def _run_hook(
    frame: Frame, hook: Function, made: Ref, given: list[Argument], node: ast.expr
) -> Value:
    """Call what a generated constructor calls at its end; what else it is given isn't known."""
    missing = len(declarations.declaration(hook).params) - 1 - len(given)
    args = [Argument(made), *given, *(Argument(UNKNOWN) for _ in range(missing))]
    return functions.invoke(frame, hook, args, {}, node, hook.name)


def begin(state: State, ref: Ref, function: Function) -> None:
    """Let a method be checked on its instance: one that builds it finds only its fields."""
    content = state.content(ref)
    if isinstance(content, Instance) and function.name in _builders(content.cls)[0]:
        state.put(ref, replace(content, fresh=False))


def _set_by_hook(cls: Class) -> set[str]:
    """Return the attributes that are set behind a generated constructor."""
    memory, nothing = cls.module.program.memory, set[str]()

    def found() -> set[str]:
        built = _builders(cls)[1] if _hook(cls) is not None else ()
        stored = (home.module.survey.stores[node] for home, node in built)
        named = (class_fields.set_by_name(node) for _, node in built)
        return nothing.union(*stored, *named)

    return memory.recall(("set by hook", cls.node), found, nothing)


def _after_hook(frame: Frame, owner: Ref, name: str, node: ast.expr) -> Value:
    """Return an attribute that is set behind a generated constructor.

    What is declared with a shape is as declared.
    """
    before = frame.state.content(owner)
    assert isinstance(before, Instance)
    hook = _hook(before.cls)
    assert hook is not None
    frame.state.put(owner, replace(before, fresh=False))
    frame.hush(_run_hook, hook, owner, [], node)
    content = frame.state.content(owner)
    if not isinstance(content, Instance):
        frame.state.put(owner, replace(before, fresh=False))
        return UNKNOWN
    shaped = {
        field.name
        for field in _fields(before.cls)
        if declarations.speaks(reader(field.owner.module).read(field.annotation))
    }
    found = {one: value for one, value in content.attrs.items() if one not in shaped}
    attrs = {**found, **before.attrs}
    frame.state.put(owner, replace(content, attrs=attrs))
    return attrs.get(name, UNKNOWN)


def symbolic(cls: Class, path: str, alike: bool = True) -> tuple[State, Ref]:
    """Return a state with an instance of a class of which only the class is known.

    Its `__init__` is run with symbols for the arguments: ints are sizes of its own. With `alike`,
    two of them are the same where all calls in the module say so.
    """
    memory = cls.module.program.memory
    question = ("symbolic", cls, path, alike)
    made = memory.recall(
        question, lambda: _symbolic(cls, path, alike=alike), _Symbolic(State(), Ref())
    )
    state = made.state.copy()
    if made.has_anonymous:
        state.change(Renewing({}, lambda symbol: not symbol.is_anonymous))
    return state, made.ref


@dataclass(frozen=True, slots=True)
class _Symbolic:
    """A symbolic instance: the state that it is in, and itself.

    `has_anonymous`: there are unknowns in it that get called after variables.
    """

    state: State
    ref: Ref
    has_anonymous: bool = False


def check_init(cls: Class) -> None:
    """Check the `__init__` that a class defines itself; what is found out is `symbolic`'s."""
    with cls.module.program.memory.answering(("symbolic", cls, "self", True)) as keep:
        keep(_symbolic(cls, "self", quiet=False))


def _symbolic(cls: Class, path: str, quiet: bool = True, alike: bool = True) -> _Symbolic:
    state = State()
    ref = state.new(Instance(cls, {}, path, whole=True, fresh=True, defaults=defaults(cls)))
    init = find_method(cls, "__init__")
    if init is None:
        return _Symbolic(state, ref)
    for one, same in _given_alike(cls, init) if alike else ():
        if one.atom is not None:
            state.facts.learn(one.atom, same)
    itself: dict[str, Value] = {one.arg: ref for one in declarations.arguments_of(init.node)[:1]}
    frame = body.check_body(init, state, {**_supposed(init), **itself}, quiet=quiet)
    ends = [*(end for _, end in frame.returns), *([frame.state] if frame.alive else [])]
    end = ends[0] if ends else state
    for other in ends[1:]:
        end = end.join(other)
    _forget_changing(end, ref, cls)
    first_class.forget(end.facts)
    _tell(Frame(cls.module, end), ref)
    end.vars, end.since = {}, {}
    end.facts.under_unknown_condition = False
    end.adopt(names_of(path, "fields"))
    values = (value for content in end.heap.values() for value in inside(content))
    return _Symbolic(end, ref, any(s.is_anonymous for v in values for s in unknowns(v)))


def _supposed(init: Function) -> dict[str, Value]:
    """Return what parameters without annotation hold where the program is to suppose it: sizes."""
    if not init.module.program.supposing:
        return {}
    arguments = declarations.arguments_of(init.node)
    bare = {one.arg for one in arguments[1:] if one.annotation is None}
    found: dict[str, Value] = {}
    for param in declarations.declaration(init).params:
        default = param.default
        if param.name in bare and default is None:
            found[param.name] = Path(param.name)
        elif param.name in bare and isinstance(default, ast.Constant):
            if type(default.value) is int:
                found[param.name] = own_size(param.name, default.value)
    return found


def _given_alike(cls: Class, init: Function) -> list[tuple[Size, Size]]:
    """Return the sizes of a constructor that every call in its module gives one expression."""
    params = {param.name: param for param in declarations.declaration(init).params[1:]}
    pairs: set[tuple[str, str]] | None = None
    for call in cls.module.survey.calls.get(cls.name, ()):
        given = dict(zip(params, call.args, strict=False))
        given.update({word.arg: word.value for word in call.keywords if word.arg in params})
        texts = {n: ast.dump(v) for n, v in given.items() if not isinstance(v, ast.Constant)}
        alike = {(a, b) for a in texts for b in texts if a < b and texts[a] == texts[b]}
        pairs = alike if pairs is None else pairs & alike

    def size(name: str) -> Size:
        default = params[name].default
        return own_size(name, default.value if isinstance(default, ast.Constant) else NOTHING)

    return [(size(one), size(other)) for one, other in sorted(pairs or ())]


def _forget_changing(state: State, ref: Ref, cls: Class) -> None:
    """Give up on attributes that methods other than those of the construction assign."""
    content = state.content(ref)
    if not isinstance(content, Instance):
        return
    assigned, altered = _assigned(cls)
    attrs = {
        name: value
        for name, value in content.attrs.items()
        if name not in assigned
        and (name not in altered or isinstance(value, Tensor))  # which keeps its shape
        and not _is_placeholder(state, value)
    }
    state.put(ref, replace(content, attrs=attrs, whole=False))


def _is_placeholder(state: State, value: Value) -> bool:
    """Whether an attribute begins empty, `[]` or `torch.tensor([])`, for others to fill."""
    if isinstance(value, Tensor):
        return 0 in value.shape.dims
    if isinstance(value, (tuple, OneOf)):
        parts = value.options if isinstance(value, OneOf) else value
        return any(_is_placeholder(state, part) for part in parts)
    content = state.content(value)
    return (
        isinstance(content, (ListContent, DictContent))
        and content.kind in _FILLED
        and not content.items
    )


_FILLED: Final = frozenset(("list", "dict", "set"))


def _assigned(cls: Class) -> tuple[set[str], set[str]]:
    """Return the attributes of self that methods assign which the construction doesn't call.

    And those whose content they change.
    """
    memory, nothing = cls.module.program.memory, (set[str](), set[str]())
    return memory.recall(("assigned", cls.node), lambda: _assigned_later(cls), nothing)


_Method: TypeAlias = tuple[Class, ast.FunctionDef]


def _builders(cls: Class) -> tuple[set[str], list[_Method], list[_Method]]:
    """Return the names of the methods that the construction calls, these methods, and others."""
    nothing: tuple[set[str], list[_Method], list[_Method]] = (set(), [], [])
    memory = cls.module.program.memory
    return memory.recall(("builders", cls.node), lambda: _find_builders(cls), nothing)


def _find_builders(cls: Class) -> tuple[set[str], list[_Method], list[_Method]]:
    methods: dict[str, list[_Method]] = {}
    for parent in ancestry(cls):
        for name, member in members(parent).items() if isinstance(parent, Class) else ():
            if isinstance(parent, Class) and isinstance(member, ast.FunctionDef):
                methods.setdefault(name, []).append((parent, member))
    building = {"__init__", *class_fields.HOOKS, "setup"}
    waiting = list(building)
    while waiting:
        for home, node in methods.get(waiting.pop(), ()):
            called = home.module.survey.mentions[node] & methods.keys()
            waiting += called - building
            building |= called
    builders = [one for name, each in methods.items() if name in building for one in each]
    others = [one for name, each in methods.items() if name not in building for one in each]
    return building, builders, others


def _assigned_later(cls: Class) -> tuple[set[str], set[str]]:
    _, _, others = _builders(cls)
    return (
        set().union(*(home.module.survey.stores[node] for home, node in others)),
        set().union(*(home.module.survey.alters[node] for home, node in others)),
    )


def assign_attribute(frame: Frame, owner: Value, name: str, value: Value, node: ast.expr) -> None:
    """Do what `owner.name = value` does: of a property, its setter is called."""
    if type(owner) is Free:
        first_class.set_size(frame, owner, name, value, node)
        return
    content = frame.state.content(owner)
    setter = find_setter(content.cls, name) if isinstance(content, Instance) else None
    if setter is None:
        set_attribute(frame, owner, name, value)
    else:
        functions.invoke(frame, setter, [Argument(owner), Argument(value)], {}, node, name)


def set_attribute(frame: Frame, owner: Value, name: str, value: Value) -> None:
    """Put something into an instance as its attribute."""
    content = frame.state.content(owner)
    if isinstance(content, Instance):
        frame.state.put(owner, replace(content, attrs={**content.attrs, name: value}))
        others = frame.state.content(content.like)
        if content.like is not None and isinstance(others, Instance):
            frame.state.put(content.like, replace(others, attrs={**others.attrs, name: UNKNOWN}))


def lose_attributes(frame: Frame, owner: Ref) -> None:
    """Give up what is known of all attributes of something: any of them may have been set.

    What a field is declared to be still holds, and methods stay what they are.
    """
    content = frame.state.content(owner)
    if not isinstance(content, Instance):
        frame.state.put(owner, None)
        return
    own = [parent for parent in ancestry(content.cls) if isinstance(parent, Class)]
    fields = [name for parent in own for name, node in members(parent).items() if _is_field(node)]
    attrs = dict.fromkeys((*fields, *content.attrs), UNKNOWN)
    frame.state.put(owner, replace(content, attrs=attrs, whole=False, fresh=False))


def _is_field(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Assign, ast.AnnAssign))


# Attributes ---------------------------------------------------------------------------------------


def attribute(frame: Frame, node: ast.Attribute) -> Value:
    """Return the value of `owner.name`."""
    value = frame.eval(node.value)
    if isinstance(value, OneOf) and all(isinstance(o, Ref) or o is None for o in value.options):
        each = [o for o in value.options if o is not None]
        return frame.state.either(*(get_attribute(frame, o, node.attr, node) for o in each))
    return get_attribute(frame, certain(value, None), node.attr, node)


def get_attribute(frame: Frame, owner: Value, name: str, node: ast.expr) -> Value:
    """Return an attribute of a value."""
    if name in ("__name__", "__qualname__") and isinstance(owner, (Class, Function, Dotted)):
        return owner.name.rpartition(".")[2]
    if isinstance(owner, Dotted):
        return library(f"{owner.name}.{name}")
    if isinstance(owner, ModuleRef):
        return frame.program.member(owner.name, name)
    if isinstance(owner, Tensor):
        return _tensor_attribute(frame, owner, name, node)
    if type(owner) is Free:
        return first_class.attribute(frame, owner, name, node)
    if isinstance(owner, OpInstance):
        return _op_attribute(owner, name)
    if isinstance(owner, Packed):
        return _packed_attribute(owner, name)
    if isinstance(owner, Ref):
        return written(_instance_attribute(frame, owner, name, node))  # by whoever else has it
    if isinstance(owner, Super):
        cls = frame.state.content(owner.receiver)
        if isinstance(cls, Instance):
            method = find_method(cls.cls, name, owner.owner)
            return Bound(owner.receiver, name, method)
        return UNKNOWN
    if isinstance(owner, Class):
        return _class_attribute(frame, owner, name)
    if isinstance(owner, Path):
        return Path(owner.text + f".{name}")
    if owner is UNKNOWN:
        return UNKNOWN
    if isinstance(owner, tuple) and (field := _FIELDS.get((len(owner), name))) is not None:
        return owner[field]
    if isinstance(owner, Dim) and name in _OF_DIMENSIONS:
        found: Value = getattr(owner, name)
        return found
    return Bound(owner, name)


_OF_DIMENSIONS: Final = frozenset(("name", "size", "kind", "labels", "ragged"))
_FIELDS: Final = {
    (2, "values"): 0,
    (2, "indices"): 1,
    (2, "eigenvalues"): 0,
    (2, "eigenvectors"): 1,
    (2, "Q"): 0,
    (2, "R"): 1,
    (3, "U"): 0,
    (3, "S"): 1,
    (3, "V"): 2,
    (3, "Vh"): 2,
}
"""Where the named fields of torch's result tuples stand, by the length of the tuple."""


def _tensor_attribute(frame: Frame, owner: Tensor, name: str, node: ast.expr) -> Value:
    found = first_class.tensor_attribute(owner, name)
    if found is not None:
        return found
    signature = frame.program.table.signature(f"torch.Tensor.{name}")
    if signature is None:
        fields = {"values": 0, "indices": 1}
        return UNKNOWN if name not in fields else Bound(owner, name)
    if frame.program.table.is_property(f"torch.Tensor.{name}"):
        source = node.value if isinstance(node, ast.Attribute) else None
        return apply(frame, signature, [owner], {}, Site(node, name, (("tensor", source),)))
    return Bound(owner, name)


def _op_attribute(owner: OpInstance, name: str) -> Value:
    found = owner.cls.attribute(name, owner.attrs)
    if found is UNKNOWN and (owner.cls.method(name) is not None or name in ITSELF):
        return Bound(owner, name)
    return found


def _packed_attribute(owner: Packed, name: str) -> Value:
    if name == "data":
        return owner.data
    if name == "batch_sizes":
        return Tensor(Shape.of_rank(1), dtypes.INT64)
    return Bound(owner, name) if name in ITSELF else UNKNOWN


def _instance_attribute(frame: Frame, owner: Ref, name: str, node: ast.expr) -> Value:
    content = frame.state.content(owner)
    if (
        isinstance(content, DictContent)
        and content.kind == "nn.ModuleDict"
        and content.items is not None
    ):
        if name in content.items:
            return content.items[name]
    if isinstance(content, ListContent) and name in content.names:
        items = content.items or ()
        at = content.names.index(name)
        return items[at] if at < len(items) else UNKNOWN
    if isinstance(content, (ListContent, DictContent)):
        return Bound(owner, name)
    if not isinstance(content, Instance):
        return UNKNOWN
    if name == "__dict__":
        return Bound(owner, name)
    value = content.attrs.get(name, UNKNOWN)
    if value is UNKNOWN and content.fresh and name in _set_by_hook(content.cls):
        value = _after_hook(frame, owner, name, node)
        content = frame.state.heap[owner]
        assert isinstance(content, Instance)
    if value is not UNKNOWN:
        return value
    found = find_member(content.cls, name)
    if found is None:
        return _inherited(frame, owner, content, name)
    home, statement = found
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return _method(frame, owner, home, statement, node)
    return _field(frame, owner, content, home, name, statement)


def _inherited(frame: Frame, owner: Ref, content: Instance, name: str) -> Value:
    """Return an attribute that a library's base class gives, or that nothing is known of."""
    if is_module(content.cls) and name in _MODULE_METHODS:
        return Bound(owner, name)
    if is_module(content.cls) and name == "training":
        return Scalar(dtypes.BOOL)
    if name in ("_replace", "_asdict", "_make") and _is_named_tuple(content.cls):
        return Bound(content.cls if name == "_make" else owner, name)
    if name in _set_by_hook(content.cls):
        return UNKNOWN
    if content.path is not None and not is_module(content.cls) and is_dataclass(content.cls):
        return Path(content.path + f".{name}")
    taken = None if content.path is None else _taken_over(content.cls, name)
    if taken is None:
        return UNKNOWN
    value = _declared(frame, owner, content, name, reader(taken[0].module).read(taken[1]))
    set_attribute(frame, owner, name, value)
    return value


def _taken_over(cls: Class, name: str) -> tuple[Class, ast.expr] | None:
    """Return the annotation of the parameter that a constructor assigns to an attribute, for good.

    And the class whose constructor it is.
    """

    def found() -> tuple[Class, ast.expr] | None:
        init = find_method(cls, "__init__")
        if init is None or init.owner is None or name in _assigned(cls)[0]:
            return None
        if isinstance(init.node, ast.Lambda):
            return None
        arguments = declarations.arguments_of(init.node)
        given = {one.arg: one.annotation for one in arguments if one.annotation is not None}
        for node in init.node.body:
            match node:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id=self), attr=attr)],
                    value=ast.Name(id=param),
                ) if attr == name and self == arguments[0].arg and param in given:
                    return init.owner, given[param]
        return None

    return cls.module.program.memory.recall(("taken over", cls.node, name), found, None)


_MODULE_METHODS: Final = ITSELF | frozenset(
    "register_buffer register_parameter add_module register_module parameters modules "
    "named_parameters named_modules children state_dict load_state_dict zero_grad".split()
)
MODULE_NAMES: Final = _MODULE_METHODS | {"training", "buffers", "named_buffers", "forward", "type"}
"""What every `nn.Module` has."""


def _method(
    frame: Frame,
    owner: Ref,
    home: Class,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    site: ast.expr,
) -> Value:
    kinds = set(declarations.decorator_names(home.module, node))
    function = decorators.decorated(Function(node, home.module, home, home.home))
    if not isinstance(function, Function):
        return UNKNOWN
    if kinds & decorators.PROPERTIES:
        return functions.invoke(frame, function, [Argument(owner)], {}, site, node.name)
    if "builtins.staticmethod" in kinds:
        return function
    content = frame.state.content(owner)
    if "builtins.classmethod" in kinds and isinstance(content, Instance):
        return Bound(content.cls, node.name, function)
    return Bound(owner, node.name, function)


def _field(
    frame: Frame, owner: Ref, content: Instance, home: Class, name: str, statement: ast.stmt
) -> Value:
    """Return a field of which the class' body says something.

    What was assigned to it and isn't known is what it is declared to be.
    """
    if isinstance(statement, ast.AnnAssign):
        declared = reader(home.module).read(statement.annotation)
        default = isinstance(statement.value, ast.Constant) and not is_dataclass(home)
        fixed = default and name not in content.attrs
        if not isinstance(declared, AnyDecl) and not fixed:
            value = _declared(frame, owner, content, name, declared)
            path = content.path + f".{name}" if content.path else name
            by_hook = name in _set_by_hook(content.cls)
            value = with_default(value, path, _CHOSEN if by_hook else statement.value)
            set_attribute(frame, owner, name, value)
            return value
    if name in content.attrs:
        return UNKNOWN
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        return functions.default(frame, home.module, statement.value)
    return UNKNOWN


_CHOSEN: Final = ast.Constant(None)
"""The default of a size that may turn out to be any other one."""
_AUTOGRAD: Final = frozenset(("torch.autograd.Function", "torch.autograd.function.Function"))


def _declared(frame: Frame, owner: Ref, content: Instance, name: str, declared: Declared) -> Value:
    """Return what a field is declared to be, in terms of the instance's own names."""
    origin = names_of(content.path or str(owner.serial), "fields")
    return fitting.declare(
        frame,
        declared,
        content.path + f".{name}" if content.path else name,
        Matcher(frame.state.facts),
        lambda text: dims.own(text, origin),
        lambda text: Run(Sym(text, dims.Kind.UNKNOWN, origin)),
    )


def _is_vague(frame: Frame, value: Tensor) -> bool:
    """Whether nothing says which axes some of a tensor's are, or how many."""
    items = frame.state.facts.shape(value.shape).dims
    return any(isinstance(item, Run) and not item.symbol.has_name for item in items)


def _tell(frame: Frame, made: Ref) -> None:
    """Believe declarations of fields that say more than what a constructor assigned to them."""
    content = frame.state.content(made)
    if not isinstance(content, Instance):
        return
    for name, declared in _tensor_fields(content.cls):
        value = content.attrs.get(name)
        if not isinstance(value, Tensor) or declared.text is None or not _is_vague(frame, value):
            continue
        if Matcher(frame.state.facts.copy()).match(declared.text, value.shape) is None:
            told = _declared(frame, made, content, name, declared)
            if isinstance(told, Tensor):
                told = replace(told, dtype=told.dtype & value.dtype or value.dtype)
            set_attribute(frame, made, name, told)


def _tensor_fields(cls: Class) -> list[tuple[str, TensorDecl]]:
    """Return the fields of a class that are declared to be tensors of some shape."""

    def found() -> list[tuple[str, TensorDecl]]:
        fields = instance_fields(cls)
        read = [(name, reader(home.module).read(node.annotation)) for name, node, home in fields]
        return [(n, d) for n, d in read if isinstance(d, TensorDecl) and d.text is not None]

    return cls.module.program.memory.recall(("tensor fields", cls.node), found, [])


def _class_attribute(frame: Frame, owner: Class, name: str) -> Value:
    found = find_member(owner, name)
    if found is None:
        if name == "apply" and not _AUTOGRAD.isdisjoint(ancestry(owner)):
            return Partial(Dotted("torch.autograd.Function.apply"), (owner,), ())
        made = name == "_make" and _is_named_tuple(owner)
        return Bound(owner, name) if made else UNKNOWN
    home, statement = found
    if isinstance(statement, ast.FunctionDef):
        kinds = set(declarations.decorator_names(home.module, statement))
        function = decorators.decorated(Function(statement, home.module, home, home.home))
        if "builtins.classmethod" in kinds and isinstance(function, Function):
            return Bound(owner, name, function)
        return UNKNOWN if kinds & decorators.PROPERTIES else function
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        return functions.default(frame, home.module, statement.value)
    return UNKNOWN


PARTS.attribute = get_attribute
PARTS.set_attribute = set_attribute
PARTS.special = special
