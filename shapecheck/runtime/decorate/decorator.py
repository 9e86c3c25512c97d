"""The decorator `@shapecheck`, on functions, methods and classes."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import warnings
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass
from textwrap import indent
from typing import Any, Final, TypeVar, overload

import torch

from shapecheck.dims import Dim
from shapecheck.runtime import settings
from shapecheck.runtime.annotations.hints import (
    Hint,
    MaybeHint,
    TensorHint,
    Unresolved,
    annotations_of,
    classify,
    dims_in,
    enclosing,
    is_plain,
    may_have_shape,
    mentioned,
    or_default,
    resolve,
    surroundings,
)
from shapecheck.runtime.annotations.plan import (
    Param,
    Plan,
    gives_its_result,
    is_steady,
    is_wrapper,
    kind_of,
    says_names,
)
from shapecheck.runtime.boundary.generators import DELEGATE
from shapecheck.runtime.boundary.variables import names_in_variables, with_variables
from shapecheck.runtime.compiling import names_in_trace
from shapecheck.runtime.decorate.attributes import guard
from shapecheck.runtime.decorate.codegen import compile_checks
from shapecheck.runtime.decorate.codegen_values import parameters
from shapecheck.runtime.decorate.following import followed
from shapecheck.runtime.errors import LOCK, hidden, own_fault
from shapecheck.runtime.internals import HAS_COMPTIME, IMPORT_COMPTIME
from shapecheck.runtime.source import filename_for, is_ours
from shapecheck.tensor_spec import ShapeAnnotationError

T = TypeVar("T")

MARK: Final = "__shapecheck__"


@overload
def shapecheck(target: T, /, *, dims: str = ..., variables: bool = ...) -> T: ...


@overload
def shapecheck(*, dims: str = ..., variables: bool = ...) -> Callable[[T], T]: ...


def shapecheck(target: Any = None, /, *, dims: str = "", variables: bool = False) -> Any:
    """Check the tensors of a function, method or class against their annotations.

        @shapecheck
        def attend(q: Float[Tensor, "b n d"], k: Float[Tensor, "b m d"]) -> Float[Tensor, "b n m"]:
            return q @ k.transpose(-2, -1)

    On a class, all its annotated methods are checked; `dims="d_model heads"` says that these names
    belong to the instance, with one value for all its methods. With `variables=True` annotated
    local variables are checked too, whenever they are assigned.

    Arguments and results are checked for dtype, rank and sizes, and inside of the call every torch
    op by the names of the dimensions. The environment variable `SHAPECHECK` says how much: `full`
    (the default), `boundary` (arguments and results only), or `off` (functions stay as they are).

    Raises `ShapeError`, and `ShapeAnnotationError` for an annotation that means nothing.
    """
    namespace = sys._getframe(1).f_locals
    names = frozenset(dims.replace(",", " ").split())
    for name in names:
        if not name.isidentifier():
            raise ValueError(f'shapecheck(dims="{dims}"): "{name}" is no name for a dimension')
    if target is None:
        return lambda given: decorate_in(given, sys._getframe(1).f_locals, names, variables)
    return decorate_in(target, namespace, names, variables)


def decorate_in(
    target: Any,
    namespace: Mapping[str, Any],
    own: frozenset[str] = frozenset(),
    variables: bool = False,
    shapes_only: bool = False,
) -> Any:
    """Decorate what is defined in a namespace; `own` are names that belong to the instances.

    `variables`: annotated local variables are checked too. `shapes_only`: what isn't about a shape
    is not.
    """
    mode = Asked(settings.mode(), variables, shapes_only)
    if isinstance(target, type):
        return _on_class(target, own, mode, namespace)
    if own and not mode.off:
        raise TypeError('shapecheck(dims="...") goes on a class: the names belong to its instances')
    return _on_member(target, own, mode, namespace)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be checked: by the environment, and as `decorate_in` says."""

    mode: settings.Mode
    variables: bool = False
    shapes_only: bool = False

    @property
    def off(self) -> bool:
        """Whether nothing is."""
        return self.mode is settings.Mode.OFF


def _on_class(cls: type, own: frozenset[str], mode: Asked, around: Mapping[str, Any]) -> type:
    """Decorate the members of a class; `around` is the namespace that it is defined in."""
    module = vars(sys.modules.get(cls.__module__, types))
    scope = ChainMap({cls.__name__: cls, **vars(cls)}, {**module, **around})
    for name, member in list(vars(cls).items()):
        if isinstance(member, type) or _is_put_in(cls, member):
            continue
        wrapped = _on_member(member, own, mode, scope, strict=False)
        if wrapped is not member:
            if isinstance(wrapped, functools.cached_property):
                wrapped.__set_name__(cls, name)
            _put(cls, name, wrapped)
    if mode.off:
        return cls
    guard(cls, own, scope)
    if issubclass(cls, torch.nn.Module) and "__prepare_scriptable__" not in vars(cls):
        _put(cls, "__prepare_scriptable__", _refuse_script)  # torch asks for it
    return cls


def _is_put_in(cls: type, member: Any) -> bool:
    """Whether another package has put a method into a class, as tensordict's decorator does."""
    inner = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
    if not isinstance(inner, types.FunctionType):
        return False
    home, here = inner.__module__, cls.__module__
    if home not in sys.modules or inner.__qualname__.startswith(f"{cls.__qualname__}."):
        return False
    return home.partition(".")[0] != here.partition(".")[0]


def _put(cls: type, name: str, value: Any) -> None:
    """Set an attribute of a class, unless its metaclass forbids that."""
    try:
        setattr(cls, name, value)
    except (AttributeError, TypeError) as error:
        warnings.warn(
            f"shapecheck: {cls.__qualname__}.{name} isn't checked: {error}",
            RuntimeWarning,
            stacklevel=5,
        )


def _refuse_script(module: torch.nn.Module) -> None:
    """Refuse to become TorchScript, which knows neither shape annotations nor wrapped functions."""
    raise TypeError(_NO_SCRIPT.format(type(module).__qualname__))


_NO_SCRIPT: Final = (
    "{} is decorated with @shapecheck, and TorchScript can't read shape annotations; use "
    "torch.compile or torch.export"
)


def _on_member(
    member: Any,
    own: frozenset[str],
    mode: Asked,
    namespace: Mapping[str, Any],
    strict: bool = True,
) -> Any:
    """Wrap a function, or the function inside of a method object.

    One that uses operations by name needs the names, however much is to be checked.
    """
    remade = _remade(member, lambda one, own: _on_member(one, own, mode, namespace, strict), own)
    if remade is not None:
        return remade
    if not isinstance(member, types.FunctionType):
        if strict and not mode.off:
            raise TypeError(
                f"@shapecheck goes on functions, methods and classes, not on {member!r}"
            )
        return member
    if mode.off and not names_in_trace.uses_names(member):
        return member
    full = mode.mode is settings.Mode.FULL or names_in_trace.uses_names(member)
    variables = mode.variables and not mode.off
    # a wrapper may convert what it is given, as pydantic's `validate_call` does
    shapes_only = mode.shapes_only or is_wrapper(member)
    given: dict[str, Any] | None = {} if shapes_only else None
    follows = strict and full and not shapes_only and kind_of(member) == "plain"
    return _wrap(member, own, full, namespace, variables, given, follows)


_On = Callable[[Any, frozenset[str]], Any]
_CACHED: Final[Any] = type(functools.lru_cache(len))
_generic: Any = functools.singledispatch(len)
_GENERIC: Final = _generic.__code__
"""Of each generic function: it only looks for the one that does the work."""
_SIGNATURE: Final = "__signature__"


@functools.singledispatch
def _remade(holder: object, on: _On, own: frozenset[str]) -> Any:
    """Return what holds a function around what `on` makes of it, None for what holds none."""
    return None


@_remade.register
def _(holder: types.FunctionType, on: _On, own: frozenset[str]) -> Any:
    """A function that stands for others: what they are given and give isn't what it is."""
    if holder.__code__ is _GENERIC:
        return _with_each(holder, on, own)
    cells = _cells_of_wrapped(holder)
    if cells:
        made = on(cells[0].cell_contents, own)
        for cell in cells:
            cell.cell_contents = made
        vars(holder)["__wrapped__"] = made
    return holder if cells else None


def _cells_of_wrapped(function: types.FunctionType) -> list[types.CellType]:
    """Return where a wrapper keeps the function that it shows the annotations of.

    There are none where it doesn't keep it in a variable, or says itself what its arguments are.
    """
    wrapped = vars(function).get("__wrapped__")
    if is_checked(function) or not isinstance(wrapped, _HELD) or _SIGNATURE in vars(function):
        return []
    if not _has_annotations_of(function, wrapped):
        return []
    return [cell for cell in function.__closure__ or () if _content(cell) is wrapped]


def _has_annotations_of(function: types.FunctionType, wrapped: Any) -> bool:
    written = getattr(wrapped, "__annotate__", None)
    if written is not None:  # what evaluates them on demand, from Python 3.14 on
        return getattr(function, "__annotate__", None) is written
    return bool(getattr(wrapped, "__annotations__", {}) == function.__annotations__)


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # empty until its variable is assigned
        return None


def _with_each(generic: Any, on: _On, own: frozenset[str]) -> Any:
    """Check each implementation of a generic function, as `functools.singledispatch` makes it."""
    for cls, member in [*generic.registry.items()]:
        made = on(member, own) if isinstance(member, _HELD) else member
        if made is not member:
            generic.register(cls, made)
    return generic


@_remade.register(staticmethod)
@_remade.register(classmethod)
def _(holder: Any, on: _On, own: frozenset[str]) -> Any:
    inner = on(holder.__func__, frozenset())
    return holder if inner is holder.__func__ else type(holder)(inner)


@_remade.register
def _(holder: property, on: _On, own: frozenset[str]) -> Any:
    parts = (holder.fget, holder.fset, holder.fdel)
    get, set_, delete = (on(part, own) if part else None for part in parts)
    made: Any = holder
    return made.getter(get).setter(set_).deleter(delete)  # a subclass stays one


@_remade.register(functools.cached_property)
def _(holder: Any, on: _On, own: frozenset[str]) -> Any:
    if type(holder) is not functools.cached_property:
        return None
    inner = on(holder.func, own)
    return holder if inner is holder.func else functools.cached_property(inner)


@_remade.register(functools.partialmethod)
def _(holder: Any, on: _On, own: frozenset[str]) -> Any:
    if type(holder) is not functools.partialmethod:
        return None
    inner = on(holder.func, own)
    if inner is holder.func:
        return holder
    return functools.partialmethod(inner, *holder.args, **holder.keywords)


@_remade.register(functools.singledispatchmethod)
def _(holder: Any, on: _On, own: frozenset[str]) -> Any:
    _with_each(holder.dispatcher, on, own)
    return holder


@_remade.register(_CACHED)
def _(holder: Any, on: _On, own: frozenset[str]) -> Any:
    inner = on(holder.__wrapped__, own)
    if inner is holder.__wrapped__:
        return holder
    made = functools.lru_cache(**holder.cache_parameters())(inner)
    vars(made).update({name: one for name, one in vars(holder).items() if name != "__wrapped__"})
    return made


_HELD: Final = (
    types.FunctionType,
    *(staticmethod, classmethod, property, functools.cached_property, _CACHED),
)


def _wrap(
    function: types.FunctionType,
    own: frozenset[str],
    full: bool,
    namespace: Mapping[str, Any],
    variables: bool,
    given: Mapping[str, Any] | None,
    follows: bool,
) -> Any:
    if MARK in vars(function) or is_ours(function.__code__):
        if not own or not is_checked(function):
            return function
        done: Pending = vars(function)[MARK]
        function, namespace = done.function, done.namespace
        variables, given, follows = variables or done.variables, done.given, done.follows
    try:
        pending = Pending(function, own, full, namespace, given, variables, follows)
        if pending.useful:
            return pending.wrapper()
        return followed(function) if follows else function
    except (ShapeAnnotationError, RuntimeWarning):  # warnings may be asked to be errors
        raise
    except Exception as error:  # noqa: BLE001 - a defect here must not break the program
        own_fault(f"to decorate {function.__qualname__}", error)
        return function


def is_checked(function: types.FunctionType) -> bool:
    """Whether a function is what the decorator has made, not what another has put around it."""
    return MARK in vars(function) and is_ours(function.__code__)


class Pending:
    """A decorated function before its first call, when its checks are compiled.

    `given`: only shapes are checked, since the function's author didn't ask for more. These
    annotations come before its own. `variables`: so are its annotated local variables. `follows`:
    where it has no dimension names, those that tensors have are carried through.
    """

    def __init__(
        self,
        function: types.FunctionType,
        own: frozenset[str],
        full: bool,
        namespace: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        variables: bool = False,
        follows: bool = False,
    ) -> None:
        names = names_in_variables(function) if variables else None
        self.variables = names is not None
        self.function = function
        self.own = own
        self.full = full
        self.given = given
        self.follows = follows
        self.useful = True
        self.namespace: Mapping[str, Any] = {}
        self.enclosing: Mapping[str, Any] = {}
        self.annotations: dict[str, Any] = {}
        self.hints: dict[str, Any] | None = None
        self.dims: dict[str, Dim] = {}
        self.mentioned: dict[str, Any] = {}
        if not _is_annotated(function) and not given and not self.variables:
            self.useful = False
            return
        try:
            found, failed = self.resolve(namespace)
        except Unresolved:
            found, failed = {}, {"": ""}
        hints = self.classify(found)
        self.mentioned = mentioned(function, surroundings(function))
        self.dims = dims_in(found, namespace)
        self.enclosing = enclosing(function, namespace)
        self.namespace = {name: namespace[name] for name in names or () if name in namespace}
        if failed:
            self.namespace = {**self.namespace, **mentioned(function, namespace)}
        else:
            self.hints = hints
            self.annotations = found
            self.useful = given is None or any(hint is not None for hint in hints.values())

    def resolve(self, namespace: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the annotations that can be read by now, and why others can't."""
        given = self.given or {}
        found, failed = resolve(self.function, namespace)
        for name, annotation in found.items():
            if isinstance(annotation, InitVar):  # a dataclass hands it on to `__post_init__`
                found[name] = annotation.type
        left = {name: reason for name, reason in failed.items() if name not in given}
        if self.given is not None:
            left = {name: left[name] for name in left if self.may_have_shape(name)}
        return {**found, **given}, left

    def may_have_shape(self, name: str) -> bool:
        """Whether an annotation that can't be read looks as if it had a shape.

        Others are often imported for type checkers only.
        """
        return may_have_shape(annotations_of(self.function)[name])

    def classify(self, annotations: Mapping[str, Any]) -> dict[str, Hint]:
        """Return what the annotations ask for."""
        hints = {name: classify(annotation) for name, annotation in annotations.items()}
        if self.given is None:
            return hints
        parameters = inspect.signature(self.function).parameters
        for name, hint in hints.items():
            if is_plain(hint):
                hints[name] = None
            elif isinstance(hint, TensorHint) and name in parameters:
                hints[name] = MaybeHint(hint) if parameters[name].default is None else hint
        return hints

    def wrapper(self) -> Any:
        """Return the function that takes the place of the decorated one.

        Its first call compiles the checks and becomes them: it gets their code.
        """
        function = self.function
        space: dict[str, Any] = {
            **self.mentioned,  # other checkers look annotations that are text up here
            "__shapecheck_function__": function,
            "__shapecheck_dynamo__": torch.compiler.is_dynamo_compiling,
            "__tracebackhide__": hidden,
        }
        head = passed = "*args, **kwargs"
        if not is_wrapper(function):  # so that dynamo sees the same frame as without us
            head, passed, defaults = parameters(function)
            space.update(defaults)
        source = _FIRSTS[kind_of(function)].format(head=head, passed=passed, **_TRACED)
        exec(compile(source, filename_for(function.__qualname__), "exec"), space)
        made = space["first"]
        made.__code__ = made.__code__.replace(
            co_name=function.__name__, co_firstlineno=function.__code__.co_firstlineno
        )

        def become() -> Any:
            with LOCK:
                if _READY not in space:
                    checks = self.compiled()
                    if checks is self.function:
                        space[_READY] = checks
                        return checks
                    space.update({k: v for k, v in checks.__globals__.items() if k not in space})
                    made.__defaults__ = checks.__defaults__
                    made.__kwdefaults__ = checks.__kwdefaults__
                    made.__code__ = checks.__code__
                    space[_READY] = made
            return space[_READY]

        def prepare(context: Any) -> None:
            """Compile the checks for dynamo, which would trace the function again for new code."""
            with LOCK:
                if _READY not in space:
                    space[_READY] = self.compiled()

        space["__shapecheck_become__"] = become
        space["__shapecheck_prepare__"] = prepare
        functools.update_wrapper(made, function)
        made.__dict__["__script_unsupported"] = _NO_SCRIPT.format(function.__qualname__)
        made.__dict__[MARK] = self
        return made

    def compiled(self) -> types.FunctionType:
        """Return the checks; the function itself where writing them fails for a defect of ours."""
        try:
            return self.compile()
        except (ShapeAnnotationError, RuntimeWarning):  # warnings may be asked to be errors
            raise
        except Exception as error:  # noqa: BLE001 - a defect here must not break the call
            own_fault(f"to read the annotations of {self.function.__qualname__}", error)
            return self.function

    def compile(self) -> types.FunctionType:
        """Write the checks."""
        plan = self.plan()
        if self.follows and not says_names(plan):
            plan.function = followed(plan.function)  # type: ignore[assignment]  # it is one
        return compile_checks(plan, self.full, kind_of(self.function))

    def plan(self) -> Plan:
        """Read what is left of the annotations; return what is known of the function."""
        function = self.function
        hints, found = self.hints, self.annotations
        if hints is None:
            found, failed = self.resolve(self.namespace)
            for name, reason in failed.items():
                if not self.may_have_shape(name):
                    continue
                warnings.warn(
                    f'shapecheck: the annotation of "{name}" of {function.__qualname__} isn\'t '
                    f"checked: {reason}",
                    RuntimeWarning,
                    stacklevel=4,
                )
            hints = self.classify(found)
        params = tuple(
            Param(one.name, one.kind, or_default(hints.get(one.name), one.default), one.default)
            for one in inspect.signature(function).parameters.values()
        )
        checked = with_variables(function, self.namespace) if self.variables else None
        if checked is not None:
            function, found = checked.function, {**checked.annotations, **found}
        around = {**surroundings(function), **self.namespace}
        dims = {**dims_in(found, around), **self.dims}
        plan = Plan(
            function,
            function.__qualname__.rpartition("<locals>.")[2],
            params,
            hints.get("return") if gives_its_result(self.function) else None,
            self.own,
            dims,
            self.enclosing,
        )
        plan.steady = is_steady(params)
        if checked is not None:
            plan.variables = True
            checked.plan.append(plan)
        return plan


_READY: Final = "__shapecheck_ready__"
_COMPTIME: Final = "__shapecheck_comptime__"
_TRACED: Final = (
    {
        "prepare": f"{IMPORT_COMPTIME.format(name=_COMPTIME)}; {_COMPTIME}(__shapecheck_prepare__)",
        "ready": _READY,
    }
    if HAS_COMPTIME
    else {"prepare": "pass", "ready": "__shapecheck_function__"}
)
"""What a function does where dynamo traces its first call."""
_FIRST: Final = """
def first({head}):
    if __shapecheck_dynamo__():
        {prepare}
        return {ready}({passed})
    return __shapecheck_become__()({passed})
"""
_FIRST_ASYNC: Final = """
async def first({head}):
    return await __shapecheck_become__()({passed})
"""
_FIRST_GENERATOR: Final = """
def first({head}):
    if __shapecheck_dynamo__():
        {prepare}
        return (yield from {ready}({passed}))
    return (yield from __shapecheck_become__()({passed}))
"""
_FIRST_ASYNC_GENERATOR: Final = """
async def first({head}):
    from functools import partial as __shapecheck_partial__
    __shapecheck_checks__, __shapecheck_made__ = None, __shapecheck_become__()({passed})
""" + indent(
    DELEGATE.format(
        **{
            name: f"__shapecheck_{name}__"
            for name in ("step", "made", "item", "checks", "sent", "thrown", "partial")
        }
    ),
    "    ",
)
_FIRSTS: Final = {
    "plain": _FIRST,
    "async": _FIRST_ASYNC,
    "generator": _FIRST_GENERATOR,
    "async generator": _FIRST_ASYNC_GENERATOR,
}
"""The function before its first call: of the same kind, as others ask what kind it is of."""


def _is_annotated(function: types.FunctionType) -> bool:
    try:
        return bool(function.__annotations__)
    except NameError:
        return True
