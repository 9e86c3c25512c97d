"""How instances come into being: the fields and hooks of a class, and who sets its attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from shapecheck.analysis.annotations import class_fields, declarations
from shapecheck.analysis.annotations.class_fields import Field
from shapecheck.analysis.annotations.classes import (
    ancestry,
    annotated_attributes,
    constructor,
    defaults,
    find_method,
    instance_fields,
    is_dataclass,
    is_module,
    is_plain,
    members,
    own_ancestry,
)
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.program.asking import about, asks_about
from shapecheck.analysis.program.declared import Declared, TensorDecl
from shapecheck.analysis.program.model import Class, Function
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import ANY_NAME, given_to, is_def, is_zero, nodes_of
from shapecheck.ops.call import only


def is_named_tuple(cls: Class) -> bool:
    """Whether a class is a `typing.NamedTuple`."""
    return any(one == "typing.NamedTuple" for one in ancestry(cls))


def fields(cls: Class) -> list[Field]:
    """Return the fields of a class that gets its constructor from them."""

    def found() -> list[Field]:
        return [class_fields.field(*one) for one in instance_fields(cls)]

    return cls.module.recall(("fields", cls.node), found, [])


def declared_fields(cls: Class) -> Mapping[str, Declared]:
    """Return what a class declares its attributes to be."""

    def found() -> Mapping[str, Declared]:
        each = annotated_attributes(cls)
        return {name: reader(home.module).read(node.annotation) for name, node, home in each}

    return cls.module.recall(("declared fields", cls.node), found, {})


def tensor_fields(cls: Class) -> list[tuple[str, TensorDecl]]:
    """Return the attributes that a class declares to be tensors of some shape."""
    read = declared_fields(cls).items()
    return [(n, d) for n, d in read if isinstance(d, TensorDecl) and d.text is not None]


def hook(cls: Class) -> Function | None:
    """Return what a generated constructor calls at its end."""
    if constructor(cls) is not None or not is_dataclass(cls):
        return None
    for name in class_fields.HOOKS:
        found = find_method(cls, name)
        if found is not None:
            return found
    return None


def set_by_hook(cls: Class) -> set[str]:
    """Return the attributes that are set behind a generated constructor."""
    nothing = set[str]()

    def found() -> set[str]:
        built = builders(cls)[1] if hook(cls) is not None else ()
        return nothing.union(*(home.module.syntax.stored(node) for home, node in built))

    return cls.module.recall(("set by hook", cls.node), found, nothing)


def is_always_given(init: Function, name: str) -> bool:
    """Whether each call of a class in its module gives a parameter, so that no default is meant."""
    if init.owner is None or init.name != "__init__":
        return False
    given = given_in_module(init.owner, init)
    return bool(given) and all(name in one for one in given)


def given_in_module(cls: Class, init: Function) -> list[dict[str, ast.expr]]:
    """Return what each call of a class in its module gives the parameters of its constructor."""
    params = [param.name for param in declarations.declaration(init).params[1:]]
    return [given_to(params, call) for call in cls.module.syntax.calls(cls.name)]


def assigned(cls: Class) -> tuple[set[str], set[str]]:
    """Return the attributes of self that methods assign which the construction doesn't call.

    And those whose content they change.
    """
    nothing = set[str](), set[str]()
    return cls.module.recall(("assigned", cls.node), lambda: _assigned_later(cls), nothing)


def _assigned_later(cls: Class) -> tuple[set[str], set[str]]:
    _, built, others = builders(cls)
    stored = _stored(others)
    return (
        stored | _stored(built) if ANY_NAME in stored else stored,
        _altered(others),
    )


def made_by_construction(cls: Class) -> set[str]:
    """Return the attributes of self that the construction assigns."""
    nothing = set[str]()
    return cls.module.recall(("made", cls.node), lambda: _stored(builders(cls)[1]), nothing)


def given_by_class(cls: Class) -> frozenset[str]:
    """Return what an instance has of its class on a path of the construction that assigns none.

    These are the attributes that the body of the class binds, and methods that others may replace.
    """
    replaced = (name for name in made_by_construction(cls) if find_method(cls, name) is not None)
    return defaults(cls).union(replaced)


def is_default(cls: Class, name: str, *, is_field: bool) -> bool:
    """Whether an instance may have something else than the body of its class binds a name to.

    As where a class derived from it, in its module, has; or where its methods set attributes by
    their names. So do libraries with the `is_field` of a class that is derived from one of theirs,
    as of a model of pydantic's, or has a decorator.
    """
    if ANY_NAME in assigned(cls)[0] or ANY_NAME in made_by_construction(cls):
        return True
    if name in cls.module.syntax.rebound(cls.name):
        return True
    if not is_field or is_module(cls):
        return False
    is_decorated = any(one.node.decorator_list for one in own_ancestry(cls))
    return is_decorated or not is_plain(cls)


def begun_at_zero(cls: Class) -> set[str]:
    """Return the attributes that the construction sets to 0: other classes put a number there."""
    nothing = set[str]()

    def found() -> set[str]:
        return nothing.union(*(_zeros_of(home.module, node) for home, node in builders(cls)[1]))

    return cls.module.recall(("begun at zero", cls.node), found, nothing)


_ZEROS: Final = "zeros of"


@asks_about(_ZEROS)
def _zeros_of(module: Module, method: ast.AST) -> frozenset[str]:
    def found() -> frozenset[str]:
        made = [*nodes_of(ast.Assign, method)]
        targets = [target for one in made if is_zero(one.value) for target in one.targets]
        annotated = nodes_of(ast.AnnAssign, method)
        targets += [one.target for one in annotated if is_zero(one.value)]
        return frozenset(one.attr for one in only(targets, ast.Attribute))

    telling = about(_ZEROS, module, method)
    return module.recall((_ZEROS, method), found, frozenset[str](), telling=telling)


def changed_by_methods(cls: Class) -> tuple[set[str], set[str]]:
    """Return the attributes of self that any method but `__init__` assigns.

    And those whose content they change.
    """
    nothing = set[str](), set[str]()
    return cls.module.recall(("changed", cls.node), lambda: _changed_by_methods(cls), nothing)


def _changed_by_methods(cls: Class) -> tuple[set[str], set[str]]:
    _, built, others = builders(cls)
    methods = [*others, *((home, node) for home, node in built if node.name != "__init__")]
    return _stored(methods), _altered(methods)


def _stored(methods: Iterable[_Method]) -> set[str]:
    """Return the attributes of self that some methods assign."""
    return set().union(*(home.module.syntax.stored(node) for home, node in methods))


def _altered(methods: Iterable[_Method]) -> set[str]:
    """Return the attributes of self of which some methods change the content."""
    return set().union(*(home.module.syntax.altered(node) for home, node in methods))


_Method: TypeAlias = tuple[Class, ast.FunctionDef]


def builders(cls: Class) -> tuple[set[str], list[_Method], list[_Method]]:
    """Return the names of the methods that the construction calls, these methods, and others."""
    nothing: tuple[set[str], list[_Method], list[_Method]] = (set(), [], [])
    return cls.module.recall(("builders", cls.node), lambda: _find_builders(cls), nothing)


def is_builder(cls: Class, name: str) -> bool:
    """Whether the construction calls a method."""
    found = lambda: name in builders(cls)[0]  # noqa: E731
    return cls.module.recall(("builder", cls.node, name), found, False)


def _find_builders(cls: Class) -> tuple[set[str], list[_Method], list[_Method]]:
    methods: dict[str, list[_Method]] = {}
    for parent in own_ancestry(cls):
        for name, member in members(parent).items():
            if isinstance(member, ast.FunctionDef):
                methods.setdefault(name, []).append((parent, member))
    building = {"__init__", *class_fields.HOOKS, "setup"}
    waiting = list(building)
    while waiting:
        for home, node in methods.get(waiting.pop(), ()):
            called = home.module.syntax.mentioned(node) & methods.keys()
            waiting += called - building
            building |= called
    builders = [one for name, each in methods.items() if name in building for one in each]
    others = [one for name, each in methods.items() if name not in building for one in each]
    return building, builders, others


def taken_over(cls: Class, name: str) -> Declared | None:
    """Return what the parameter is declared to be that a constructor keeps, for good."""

    def found() -> Declared | None:
        init = find_method(cls, "__init__")
        if init is None or init.owner is None or name in assigned(cls)[0]:
            return None
        if not is_def(init.node):
            return None
        arguments = declarations.arguments_of(init.node)
        annotated = {one.arg for one in arguments if one.annotation is not None}
        says = {one.name: one.declared for one in declarations.declaration(init).params}
        kept = [param for attr, param in init.module.syntax.taken(init.node) if attr == name]
        return next((says[param] for param in kept if param in annotated), None)

    return cls.module.recall(("taken over", cls.node, name), found, None)
