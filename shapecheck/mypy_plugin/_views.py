"""Tensors by name, `NamedTensor`, that elementwise functions of torch's are given: they take them.

torch's annotations say `Tensor`, and a view isn't one. It comes to such a function by
`__torch_function__`, which gives a view again. Any other refuses it, as mypy says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mypy.nodes import FloatExpr, IntExpr, StrExpr
from mypy.plugin import MethodSigContext
from mypy.types import (
    AnyType,
    Instance,
    TypeOfAny,
    UnionType,
    flatten_nested_unions,
    get_proper_type,
)

from shapecheck.mypy_plugin._names import OF_ELEMENTS, TENSOR, VIEW, VIEWS

if TYPE_CHECKING:
    from mypy.checker import TypeChecker
    from mypy.nodes import Expression
    from mypy.plugin import FunctionSigContext
    from mypy.types import FunctionLike, Type


def takes_views(fullname: str) -> bool:
    """Whether a function or a method, by mypy's name for it, is one of torch's elementwise ones."""
    owner, _, name = fullname.rpartition(".")
    return owner in OF_ELEMENTS and is_elementwise(name)


def is_elementwise(name: str) -> bool:
    """Whether a method of torch's tensors takes each element by itself."""
    # Imported late: a run in which nothing has changed asks for no signature.
    from shapecheck.signatures import table

    return table().is_elementwise(f"torch.Tensor.{name}")


def given_views(ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
    """Return a signature that takes views where views are given, and gives one."""
    from shapecheck.ops.named.views import is_in_place  # late, as above

    signature = ctx.default_signature
    given = [_options(ctx, arguments) for arguments in ctx.args]
    views = [[one for one in options if _is_view(one)] for options in given]
    if not any(views):
        return signature
    declared = [
        UnionType.make_union([typ, *found]) if found and _is_tensor(typ) else typ
        for typ, found in zip(signature.arg_types, views, strict=True)
    ]
    certain = [options == found for options, found in zip(given, views, strict=True) if found]
    changed = signature.copy_modified(arg_types=declared)
    into = [] if isinstance(ctx, MethodSigContext) else views[0]
    name = (signature.name or "").partition(" ")[0]
    if is_in_place(name) and not into:
        return changed
    view = next(found[0] for found in views if found)
    results = [view] if any(certain) else [view, signature.ret_type]
    if not _is_tensor(signature.ret_type):
        results = [AnyType(TypeOfAny.special_form)]
    return changed.copy_modified(ret_type=UnionType.make_union(results))


def _options(ctx: FunctionSigContext | MethodSigContext, arguments: list[Expression]) -> list[Type]:
    """Return what may be given for a parameter; nothing where no view is known to be anywhere."""
    checker = cast("TypeChecker", ctx.api)
    if VIEWS not in checker.modules or not arguments or isinstance(arguments[0], _LITERALS):
        return []
    with checker.msg.filter_errors():  # mypy tells them when it takes the arguments itself
        found = checker.get_expression_type(arguments[0])
    return list(map(get_proper_type, flatten_nested_unions([found])))


_LITERALS = (IntExpr, FloatExpr, StrExpr)


def _is_view(typ: Type) -> bool:
    return isinstance(typ, Instance) and typ.type.has_base(VIEW)


def _is_tensor(typ: Type) -> bool:
    """Whether a type is that of tensors, perhaps beside others."""
    options = map(get_proper_type, flatten_nested_unions([typ]))
    return any(isinstance(one, Instance) and one.type.fullname == TENSOR for one in options)
