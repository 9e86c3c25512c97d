"""Fields with shape annotations, checked whenever they are assigned.

A field is judged by what its own annotation says, and by the names that belong to the instance.
Other fields may follow in the next statement (`s.x = s.x[keep]; s.mask = s.mask[keep]`), so that
they don't count here; `__init__` compares them all.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar
from inspect import Parameter
from typing import Any, Final

from shapecheck.dims import Dim
from shapecheck.explain import Message
from shapecheck.runtime.annotations import instance_dims as instance
from shapecheck.runtime.annotations.hints import (
    Hint,
    Unresolved,
    annotations_of,
    classify,
    dims_in,
    enclosing,
    is_plain,
    mentioned,
    names_in_braces,
    resolve,
)
from shapecheck.runtime.annotations.plan import Param, Plan, is_steady
from shapecheck.runtime.boundary.binding import Binding
from shapecheck.runtime.boundary.containers import fit_value
from shapecheck.runtime.decorate.codegen import compile_checks
from shapecheck.runtime.errors import LOCK, Failed, ShapeError, hidden, own_fault
from shapecheck.runtime.settings import stands_aside
from shapecheck.runtime.source import filename_for, user_place
from shapecheck.tensor_spec import ShapeAnnotationError

Check = Callable[[Any, Any], object]
_WRITTEN: Final = "__annotations__"


def guard(cls: type, own: frozenset[str], namespace: Mapping[str, Any]) -> None:
    """Check the assignments to a class's annotated fields. What is frozen has none."""
    frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
    if frozen or not vars(cls).get(_WRITTEN, None if sys.version_info < (3, 14) else True):
        return
    mentions = mentioned(cls, namespace)  # no more is kept: what is around may be large
    dims = {name: value for name, value in namespace.items() if isinstance(value, Dim)}
    fields = _Fields(cls, own, {**dims, **mentions}, enclosing(cls, namespace))
    if fields.checks is not None and not fields.checks:
        return
    space: dict[str, Any] = {
        "stands_aside": stands_aside,
        "fields": fields,
        "cls": cls,
        "assign": vars(cls).get("__setattr__"),
        _HIDDEN: hidden,
    }
    assign = "super(cls, self).__setattr__(" if space["assign"] is None else "assign(self, "
    source = _ASSIGN.format(assign=assign)
    exec(compile(source, filename_for(cls.__qualname__), "exec"), space)
    setattr(cls, "__setattr__", space["__setattr__"])  # noqa: B010 - mypy: no attribute of `type`


_HIDDEN: Final = "__tracebackhide__"
_ASSIGN: Final = """
def __setattr__(self, name, value):
    if not stands_aside():
        fields.check(self, name, value)
    {assign}name, value)
"""
"""Has no closure: of an object that is made while it traces, dynamo looks at all that is in one."""


_ASSIGNED: Final = "__shapecheck_assigned__"
"""What is assigned, among the arguments of a check: no field is called so."""


class _Fields:
    """The annotated fields of a class; `checks` is None until all their names exist."""

    def __init__(
        self,
        cls: type,
        own: frozenset[str],
        namespace: Mapping[str, Any],
        enclosing: Mapping[str, Any],
    ) -> None:
        self.cls = cls
        self.own = own
        self.namespace = namespace
        self.enclosing = enclosing
        self.fields: set[str] = set()
        for base in cls.__mro__:
            with suppress(Unresolved):
                self.fields.update(annotations_of(base))
        self.checks: dict[str, Check] | None = None
        self.read(last=False)

    def read(self, last: bool) -> None:
        """Read the annotations; `last`: those whose names don't exist are left out."""
        module = getattr(sys.modules.get(self.cls.__module__), "__dict__", {})
        holder = types.FunctionType((lambda self, value: None).__code__, module)
        holder.__annotations__ = dict(self.cls.__annotations__)
        found, failed = resolve(holder, self.namespace)
        if failed and not last:
            return
        self.checks = {}
        for name, annotation in found.items():
            hint = _hint(annotation)
            if hint is not None:
                scope = {**module, **self.namespace}
                self.checks[name] = self.compiled(name, hint, {name: annotation}, scope)

    def compiled(
        self, name: str, hint: Hint, annotation: Mapping[str, Any], scope: Mapping[str, Any]
    ) -> Check:
        """Return what checks the values of one field; it raises `ShapeError`.

        Other fields that its annotation has in braces are its arguments, too.
        """
        mentions = dict.fromkeys(names_in_braces(annotation[name]))
        others = [one for one in mentions if one in self.fields]
        space: dict[str, Any] = {}
        exec(f"def {name}({', '.join(('self', _ASSIGNED, *others))}): pass", space)
        made = types.FunctionType(space[name].__code__, dict(scope), name)
        kind = Parameter.POSITIONAL_ONLY
        params = (
            Param("self", kind, None),
            Param(_ASSIGNED, kind, hint),
            *(Param(one, kind, None) for one in others),
        )
        label = f"{self.cls.__qualname__}.{name}"
        dims = dims_in(annotation, scope)
        plan = Plan(made, label, params, None, self.own, dims, self.enclosing)
        plan.steady = is_steady(params)
        quick = compile_checks(plan, False, "plain")

        def check(owner: Any, value: Any) -> None:
            try:
                given = [owner, value, *(_held(owner, one) for one in others)]
            except AttributeError:  # it isn't assigned yet
                return
            try:
                quick(*given)
            except ShapeError:
                raise self.refused(plan, name, given) from None

        return check

    def refused(self, plan: Plan, name: str, given: Sequence[Any]) -> ShapeError:
        """Return the error for a value that doesn't fit, in the words for a field."""
        scope = {one.name: value for one, value in zip(plan.params, given, strict=True)}
        owner, value, *_ = given
        held = {**plan.fixed, **instance.held(plan.own, owner)}
        binding = Binding(plan, scope, names=held)
        said = Message(f'attribute "{name}" of "{self.cls.__qualname__}" doesn\'t fit')
        try:
            subject = f'attribute "{name}" of "{self.cls.__qualname__}"'
            fit_value(binding, plan.params[1].hint, value, subject)
            binding.settle()
        except Failed as failed:
            said = failed.message
        return binding.error(Failed(said), user_place())

    def check(self, owner: Any, name: str, value: Any) -> None:
        """Check a value before it is assigned. Raises `ShapeError`."""
        if self.checks is None:
            with LOCK:
                self.read(last=True)
        found = None if self.checks is None else self.checks.get(name)
        if found is None or value is None:
            return
        try:
            found(owner, value)
        except (ShapeError, ShapeAnnotationError):
            raise
        except Exception as error:  # noqa: BLE001 - a defect here must not break the program
            own_fault(f"on the attribute {name}", error)


def _held(owner: Any, name: str) -> Any:
    """Return what an object itself has for a field. Raises `AttributeError`.

    Until its `__init__` comes to it, the class has the field's default.
    """
    if name not in getattr(owner, "__dict__", ()):
        if not isinstance(getattr(type(owner), name, None), types.MemberDescriptorType):
            raise AttributeError(name)
    return getattr(owner, name)


def _hint(annotation: Any) -> Hint:
    """Return what a field's annotation asks for, None for one without shapes."""
    if typing.get_origin(annotation) is typing.Final:
        (annotation,) = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.ClassVar or isinstance(annotation, InitVar):
        return None
    found = classify(annotation)
    return None if is_plain(found) else found
