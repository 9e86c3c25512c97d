"""What mypy takes `model(x)` for, where torch says `Callable[..., Any]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mypy.subtypes import is_subtype
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    NoneType,
    Overloaded,
    TupleType,
    TypeOfAny,
    UnboundType,
    UnionType,
    flatten_nested_unions,
    get_proper_type,
)

from shapecheck.mypy_plugin._names import FORWARD, IDENTITY, LAYERS, LOOSE_PARAMETERS, MODULE
from shapecheck.mypy_plugin._rechecking import when_changed
from shapecheck.mypy_plugin._views import given_views, is_elementwise
from shapecheck.project.relevance import is_library

if TYPE_CHECKING:
    from mypy.checker import TypeChecker
    from mypy.nodes import TypeInfo
    from mypy.plugin import MethodSigContext
    from mypy.types import Type


def call_as_forward(ctx: MethodSigContext) -> FunctionLike:
    """Return the signature of the receiver's `forward`, bound to it; overloads stay overloads."""
    receiver = ctx.type
    if not isinstance(receiver, Instance):
        return ctx.default_signature
    checker = cast("TypeChecker", ctx.api)
    if receiver.type.has_base(MODULE):
        when_changed(checker, (f"{one.fullname}.{FORWARD}" for one in receiver.type.mro))
    owner = _owner_of_forward(receiver.type)
    if owner is None:
        return ctx.default_signature
    forward = get_proper_type(
        checker.expr_checker.analyze_external_member_access(FORWARD, receiver, ctx.context)
    )
    if not isinstance(forward, FunctionLike):
        return ctx.default_signature
    module = checker.modules.get(owner.module_name)
    relaxed = _relaxed(forward, module is not None and is_library(module.path))
    if isinstance(relaxed, CallableType) and _is_elementwise(owner):
        return given_views(ctx._replace(args=ctx.args[:1], default_signature=relaxed))
    return relaxed


def result_as_expected(ctx: MethodSigContext) -> FunctionLike:
    """Return a signature that takes anything and gives what `forward` does, where that is expected.

    So `return self.head(x)` returns no Any from a function that is declared to return a tensor, and
    nothing is an error that isn't one without the plugin.
    """
    expected = get_proper_type(ctx.api.type_context[-1]) if ctx.api.type_context else None
    whole = ctx.default_signature
    if expected is None or _is_vague(expected) or not isinstance(whole, CallableType):
        return whole
    forward = call_as_forward(ctx)
    if forward is whole or not isinstance(forward, CallableType):
        return whole
    result = forward.ret_type
    return whole.copy_modified(ret_type=result) if is_subtype(result, expected) else whole


def _is_vague(expected: Type) -> bool:
    """Whether anything is expected, perhaps beside others: a tensor would narrow a variable.

    What mypy can't read as a type, `Float["b n"]` of a project's own, is as good as Any to it.
    """
    options = map(get_proper_type, flatten_nested_unions([expected]))
    return any(isinstance(option, (AnyType, UnboundType)) for option in options)


def _owner_of_forward(info: TypeInfo) -> TypeInfo | None:
    """Return the class that defines what a call of this module runs; None for a mere `Module`."""
    if not info.has_base(MODULE):
        return None
    call = info.get_containing_type_info("__call__")
    owner = info.get_containing_type_info(FORWARD)
    if call is None or call.fullname != MODULE:
        return None
    return None if owner is None or owner.fullname in (MODULE, IDENTITY) else owner


def _is_elementwise(layer: TypeInfo) -> bool:
    """Whether a layer of torch's calls an elementwise function, as `nn.ReLU` does `relu`."""
    return layer.module_name.startswith(LAYERS) and is_elementwise(layer.name.lower())


def _relaxed(forward: FunctionLike, is_foreign: bool) -> FunctionLike:
    """Take from a signature what would make mypy refuse correct code.

    Those who wrote it didn't expect calls to be checked against it: a model gives `Tensor | None`
    where only the caller knows that it is a tensor, since it gave it targets. And a library's
    `nn.ConvTranspose2d` says `list[int]` where its documentation passes `x.size()`.
    """
    if isinstance(forward, Overloaded):
        return Overloaded([_relaxed_item(item, is_foreign) for item in forward.items])
    return _relaxed_item(forward, is_foreign) if isinstance(forward, CallableType) else forward


def _relaxed_item(forward: CallableType, is_foreign: bool) -> CallableType:
    loose = LOOSE_PARAMETERS if is_foreign else frozenset[str]()
    arguments = [
        _anything() if name in loose else typ
        for name, typ in zip(forward.arg_names, forward.arg_types, strict=True)
    ]
    return forward.copy_modified(arg_types=arguments, ret_type=_without_options(forward.ret_type))


def _without_options(result: Type) -> Type:
    """Tensor | None -> Any, and so inside a tuple."""
    result = get_proper_type(result)
    if isinstance(result, TupleType):
        return result.copy_modified(items=[_without_options(item) for item in result.items])
    return _anything() if isinstance(result, (UnionType, NoneType)) else result


def _anything() -> AnyType:
    return AnyType(TypeOfAny.special_form)
