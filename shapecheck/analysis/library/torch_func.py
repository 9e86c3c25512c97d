"""Functions that make another function of one, or call it: `vmap`, `grad`, `checkpoint`, `cond`.

`vmap(f, 1)` is a partial application of what is called `torch.vmap()` here: it is called with f,
the settings, and then with the arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

import shapecheck.dims as dims
from shapecheck.analysis.annotations import classes
from shapecheck.analysis.interpreter import autocast, decorators, functions
from shapecheck.analysis.interpreter.calls import invoke
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.kinds import held_by
from shapecheck.analysis.interpreter.op_calls import Site, apply
from shapecheck.analysis.interpreter.registry import MANY, LibraryCall, caller
from shapecheck.analysis.interpreter.truth import instance_of
from shapecheck.analysis.library import pictures
from shapecheck.analysis.program.model import NOTHING, Class, Dotted, Value
from shapecheck.analysis.values.model import (
    Argument,
    Arguments,
    DictContent,
    ListContent,
    OneOf,
    Partial,
    each_of,
)
from shapecheck.dims import DimExpr
from shapecheck.explain import Message
from shapecheck.ops import UNKNOWN
from shapecheck.ops.call import is_int
from shapecheck.shapes import Shape, Tensor, has_run

# Trees ------------------------------------------------------------------------------------------


def _branches(frame: Frame, tree: Value) -> tuple[Value, ...] | None:
    """Return the parts of a tuple, list or dict; None for a leaf, or where they aren't known."""
    match held_by(frame, tree):
        case tuple() as parts:
            return None if has_run(parts) else parts
        case ListContent(items=items):
            return items
        case DictContent(items=Mapping() as named):
            return tuple(named.values())
    return None


def _rebuilt(frame: Frame, tree: Value, parts: tuple[Value, ...]) -> Value:
    """Return a tree like another with other parts."""
    match held_by(frame, tree):
        case tuple():
            return parts
        case DictContent(items=items):
            return frame.state.new(DictContent(dict(zip(items or (), parts, strict=True))))
    return frame.state.new(ListContent(parts))


def _mapped(frame: Frame, change: Callable[..., Value], tree: Value, *others: Value) -> Value:
    """Return a tree with each leaf changed; `others` are trees like it, or a leaf for all of it."""
    parts = _branches(frame, tree)
    if parts is None:
        content = frame.state.list_of(tree)
        if content is None or content.kind != "list" or others:
            return change(tree, *others)
        element = _mapped(frame, change, content.element)
        return frame.state.new(ListContent(None, element, count=content.count))
    beside = [_branches(frame, other) or (other,) * len(parts) for other in others]
    if any(len(other) != len(parts) for other in beside):
        return UNKNOWN
    rows = zip(parts, *beside, strict=True)
    return _rebuilt(frame, tree, tuple(_mapped(frame, change, *row) for row in rows))


def _leaves(frame: Frame, tree: Value) -> list[Value]:
    parts = _branches(frame, tree)
    return [tree] if parts is None else [leaf for part in parts for leaf in _leaves(frame, part)]


def _of_tensors(change: Callable[..., Value]) -> Callable[..., Value]:
    """Return a change of leaves that are tensors; nothing is known of what others become."""
    return lambda leaf, *rest: change(leaf, *rest) if isinstance(leaf, Tensor) else UNKNOWN


def _alike(frame: Frame, tree: Value) -> Value:
    """Return a tree of new tensors of the same shapes."""
    return _mapped(frame, _of_tensors(lambda leaf: leaf), tree)


# Settings ---------------------------------------------------------------------------------------


def _settings(
    arguments: Arguments, names: str, defaults: Mapping[str, Value]
) -> tuple[Value, ...] | None:
    """Return the arguments of these names in order; None where one is missing."""
    found = dict(zip(names.split(), arguments.values, strict=False))
    found = {**defaults, **found, **arguments.named}
    wanted = names.split()
    return tuple(found[name] for name in wanted) if found.keys() >= set(wanted) else None


def _later(name: str, arguments: Arguments, names: str, **defaults: Value) -> Value:
    """Return what calls `name` with these settings before its own arguments."""
    settings = _settings(arguments, names, defaults)
    return UNKNOWN if settings is None else Partial(Dotted(name), settings, ())


def _ahead(arguments: Arguments, count: int) -> tuple[list[Value], Arguments]:
    """Return the settings that stand before the arguments of a call, and these."""
    return arguments.values[:count], Arguments(arguments.args[count:], arguments.kwargs)


def _bare(values: Iterable[Value], kwargs: Mapping[str, Value] | None = None) -> Arguments:
    """Return arguments that no expression of the program gives."""
    named = {name: Argument(value) for name, value in (kwargs or {}).items()}
    return Arguments(tuple(map(Argument, values)), named)


# vmap -------------------------------------------------------------------------------------------


@caller("torch.vmap", "torch.func.vmap", "functorch.vmap")
def _vmap(frame: Frame, call: LibraryCall) -> Value:
    return _later("torch.vmap()", call.arguments, "func in_dims out_dims", in_dims=0, out_dims=0)


@caller("torch.vmap()")
def _batched(frame: Frame, call: LibraryCall) -> Value:
    """Call a function on what is left of the arguments without an axis, and put it back."""
    (func, in_dims, out_dims), rest = _ahead(call.arguments, 3)
    errors = frame.errors
    taken: list[tuple[Tensor, int, DimExpr]] = []

    def without(leaf: Value, dim: Value) -> Value:
        if dim is None or not isinstance(leaf, Tensor):
            return leaf
        if not is_int(dim):
            return UNKNOWN
        shape = frame.state.facts.shape(leaf.shape)
        signature = frame.program.table.signature("torch.select")
        assert signature is not None
        left = apply(frame, signature, [leaf, dim, 0], {}, Site(call.node, call.label))
        size = shape.at(dim)
        if size is not None:
            taken.append((leaf, dim, size))
        return left

    args = _mapped(frame, without, tuple(rest.values), in_dims)
    kwargs = {name: _mapped(frame, without, value, 0) for name, value in rest.named.items()}
    if (
        frame.errors > errors
        or not isinstance(args, tuple)
        or not _same(frame, taken, call.node, call.label)
    ):
        return UNKNOWN
    count = taken[0][2] if taken else dims.unknown()

    def back(leaf: Tensor, dim: Value) -> Value:
        if dim is None:
            return leaf
        shape = frame.state.facts.shape(leaf.shape)
        if shape.rank is None and dim != 0:
            return replace(leaf, shape=Shape.unknown(), inserted=False)
        rank = len(shape.dims) + 1
        if not is_int(dim) or not -rank <= dim < rank:
            return UNKNOWN
        at = dim % rank
        shape = Shape((*shape.dims[:at], count, *shape.dims[at:]))
        return replace(leaf, shape=shape, inserted=False)

    result = invoke(frame, func, _bare(args, kwargs), call.node, call.label)
    return _mapped(frame, _of_tensors(back), result, out_dims)


def _same(
    frame: Frame, taken: list[tuple[Tensor, int, DimExpr]], node: ast.Call, label: str
) -> bool:
    """Whether the axes that a call is mapped over are of one size; reports where they aren't."""
    shapes = [tensor.shape for tensor, _, _ in taken]
    for tensor, dim, size in taken[1:]:
        first, its_dim, its_size = taken[0]
        if not frame.state.facts.unify(its_size, size, shapes):
            text = (
                f'"{label}" can\'t map over {first} and {tensor}: axis {its_dim} of the first is '
                f"{its_size}, axis {dim} of the other {size}"
            )
            frame.error(node, Message(text))
            return False
    return True


# Derivatives ------------------------------------------------------------------------------------


_ONE: Final = {"argnums": 0, "has_aux": False}


@caller("torch.func.grad", "functorch.grad")
def _grad(frame: Frame, call: LibraryCall) -> Value:
    return _later("torch.func.grad()", call.arguments, "func argnums has_aux", **_ONE)


@caller("torch.func.grad_and_value", "functorch.grad_and_value")
def _grad_and_value(frame: Frame, call: LibraryCall) -> Value:
    return _later("torch.func.grad_and_value()", call.arguments, "func argnums has_aux", **_ONE)


@caller("torch.func.jacrev", "torch.func.jacfwd", "functorch.jacrev", "functorch.jacfwd")
def _jacobian(frame: Frame, call: LibraryCall) -> Value:
    return _later("torch.func.jacrev()", call.arguments, "func argnums has_aux", **_ONE)


@caller("torch.func.hessian", "functorch.hessian")
def _hessian(frame: Frame, call: LibraryCall) -> Value:
    settings = _settings(call.arguments, "func argnums", _ONE)
    if settings is None:
        return UNKNOWN
    first = Partial(Dotted("torch.func.jacrev()"), (*settings, False), ())
    return Partial(Dotted("torch.func.jacrev()"), (first, settings[1], False), ())


@caller("torch.func.grad()")
def _slope(frame: Frame, call: LibraryCall) -> Value:
    """Return what is like the arguments that a derivative is taken by."""
    found, _, aux = _gradients(frame, call.arguments, call.node, call.label)
    return found if aux is None else (found, aux)


@caller("torch.func.grad_and_value()")
def _slope_and_value(frame: Frame, call: LibraryCall) -> Value:
    found, value, aux = _gradients(frame, call.arguments, call.node, call.label)
    return found, value if aux is None else (value, aux)


def _gradients(
    frame: Frame, arguments: Arguments, node: ast.Call, label: str
) -> tuple[Value, Value, Value]:
    """Return a gradient, the value that it is of, and the auxiliary value if there is one."""
    (func, argnums, has_aux), rest = _ahead(arguments, 3)
    value, aux = _parted(invoke(frame, func, rest, node, label), has_aux)
    shape = frame.state.facts.shape(value.shape) if isinstance(value, Tensor) else Shape(())
    if shape.rank:
        text = f'"{label}" takes the gradient of a number, and the function returns {shape}'
        frame.error(node, Message(text))
        return UNKNOWN, UNKNOWN, UNKNOWN
    return _alike(frame, _chosen(rest, argnums)), value, aux


def _parted(result: Value, has_aux: Value) -> tuple[Value, Value]:
    """Return what a function returns that is to be derived, and what else under `has_aux`."""
    if has_aux is False:
        return result, None
    match result:
        case (value, aux):
            return value, aux
    return UNKNOWN, UNKNOWN


def _chosen(arguments: Arguments, argnums: Value) -> Value:
    """Return the arguments of these numbers: one, or a tuple of them."""
    count = len(arguments.args)
    match argnums:
        case tuple():
            return tuple(_chosen(arguments, one) for one in argnums)
        case int() if -count <= argnums < count:
            return arguments.values[argnums]
    return UNKNOWN


@caller("torch.func.jacrev()")
def _gradients_of_all(frame: Frame, call: LibraryCall) -> Value:
    """Return, for each result, the axes of what it is derived by behind its own."""
    (func, argnums, has_aux), rest = _ahead(call.arguments, 3)
    value, aux = _parted(invoke(frame, func, rest, call.node, call.label), has_aux)
    found = _jacobians(frame, value, _chosen(rest, argnums))
    return found if has_aux is False else (found, aux)


def _jacobians(frame: Frame, result: Value, given: Value) -> Value:
    def by_all(whole: Tensor) -> Value:
        def by(one: Tensor) -> Value:
            both = (*frame.state.facts.items(whole.shape.dims), *one.shape.dims)
            return Tensor(Shape(both), whole.dtype)

        return _mapped(frame, _of_tensors(by), given)

    change = _of_tensors(by_all)
    return _mapped(
        frame, lambda leaf: change(Tensor.unknown() if leaf is UNKNOWN else leaf), result
    )


@caller("torch.autograd.functional.jacobian")
def _jacobian_at(frame: Frame, call: LibraryCall) -> Value:
    return _derived(1, frame, call.arguments, call.node, call.label)


@caller("torch.autograd.functional.hessian")
def _hessian_at(frame: Frame, call: LibraryCall) -> Value:
    return _derived(2, frame, call.arguments, call.node, call.label)


def _derived(times: int, frame: Frame, arguments: Arguments, node: ast.Call, label: str) -> Value:
    """Return what a function returns for `inputs`, derived by them one or two times."""
    settings = _settings(arguments, "func inputs", {})
    if settings is None:
        return UNKNOWN
    func, inputs = settings
    found = invoke(frame, func, _bare(each_of(inputs)), node, label)
    for _ in range(times):
        found = _jacobians(frame, found, inputs)
    return found


@caller(
    "torch.autograd.functional.vjp",
    "torch.autograd.functional.hvp",
    "torch.autograd.functional.vhp",
)
def _products_at(frame: Frame, call: LibraryCall) -> Value:
    """Return what a function returns for `inputs`, and what is like these."""
    found = _value_at(frame, call)
    return UNKNOWN if found is None else (found[0], _alike(frame, found[1]))


@caller("torch.autograd.functional.jvp")
def _jvp_at(frame: Frame, call: LibraryCall) -> Value:
    found = _value_at(frame, call)
    return UNKNOWN if found is None else (found[0], _alike(frame, found[0]))


def _value_at(frame: Frame, call: LibraryCall) -> tuple[Value, Value] | None:
    """Return what a function returns for `inputs`, and these; None where they aren't known."""
    settings = _settings(call.arguments, "func inputs", {})
    if settings is None:
        return None
    func, inputs = settings
    return invoke(frame, func, _bare(each_of(inputs)), call.node, call.label), inputs


@caller("torch.func.vjp", "functorch.vjp")
def _vjp(frame: Frame, call: LibraryCall) -> Value:
    has_aux = call.kwargs.get("has_aux", False)
    (func,), rest = _ahead(call.arguments, 1)
    inner = Arguments(rest.args, {})
    value, aux = _parted(invoke(frame, func, inner, call.node, call.label), has_aux)
    back = Partial(Dotted("torch.func.vjp()"), (_alike(frame, tuple(rest.values)),), ())
    return (value, back) if has_aux is False else (value, back, aux)


@caller("torch.func.vjp()", "torch.func.linearize()")
def _kept(frame: Frame, call: LibraryCall) -> Value:
    return call.args[0]


@caller("torch.func.jvp", "functorch.jvp")
def _jvp(frame: Frame, call: LibraryCall) -> Value:
    given = _settings(call.arguments, "func primals tangents has_aux", _ONE)
    if given is None or (primals := _branches(frame, given[1])) is None:
        return UNKNOWN
    func, _, _, has_aux = given
    value, aux = _parted(invoke(frame, func, _bare(primals), call.node, call.label), has_aux)
    found = (value, _alike(frame, value))
    return found if has_aux is False else (*found, aux)


@caller("torch.func.linearize")
def _linearize(frame: Frame, call: LibraryCall) -> Value:
    (func,), rest = _ahead(call.arguments, 1)
    value = invoke(frame, func, rest, call.node, call.label)
    return value, Partial(Dotted("torch.func.linearize()"), (_alike(frame, value),), ())


# Calls ------------------------------------------------------------------------------------------


@caller("torch.func.functional_call", "torch.nn.utils.stateless.functional_call")
def _functional_call(frame: Frame, call: LibraryCall) -> Value:
    names = "module parameters_and_buffers args kwargs"
    words = {"parameter_and_buffer_dicts": UNKNOWN, "parameters_and_buffers": UNKNOWN}
    given = _settings(call.arguments, names, {**words, "args": (), "kwargs": None})
    if given is None:
        return UNKNOWN
    module, _, args, kwargs = given
    content = frame.state.content(kwargs)
    named = content.items if isinstance(content, DictContent) else {}
    if args is UNKNOWN or named is None or (kwargs is not None and content is None):
        return UNKNOWN
    parts = () if args is None else each_of(args)
    return invoke(
        frame, module, _bare(parts, {str(k): v for k, v in named.items()}), call.node, call.label
    )


_CHECKPOINT: Final = frozenset(
    "use_reentrant context_fn determinism_check debug early_stop preserve_rng_state".split()
)


@caller("torch.utils.checkpoint.checkpoint", takes=(1, MANY))
def _checkpoint(frame: Frame, call: LibraryCall) -> Value:
    kwargs = {name: one for name, one in call.arguments.kwargs.items() if name not in _CHECKPOINT}
    inner = Arguments(call.arguments.args[1:], kwargs)
    first = call.arguments.args[0]
    name = call.label if first.node is None else frame.segment(first.node)
    return invoke(frame, first.value, inner, call.node, name)


@caller("torch.utils.checkpoint.checkpoint_sequential")
def _checkpoint_sequential(frame: Frame, call: LibraryCall) -> Value:
    given = _settings(call.arguments, "functions segments input", {})
    steps = None if given is None else _branches(frame, given[0])
    if given is None or steps is None:
        return UNKNOWN
    value = given[2]
    for index, step in enumerate(steps):
        value = invoke(frame, step, _bare((value,)), call.node, f"{call.label}[{index}]")
    return value


@caller("torch.nn.utils.skip_init", takes=(1, MANY))
def _skip_init(frame: Frame, call: LibraryCall) -> Value:
    """Make a module whose parameters hold nothing yet."""
    return invoke(frame, call.args[0], _ahead(call.arguments, 1)[1], call.node, call.label)


@caller("torchvision.transforms.Compose", "torchvision.transforms.v2.Compose")
def _compose(frame: Frame, call: LibraryCall) -> Value:
    return _later("torchvision.transforms.Compose()", call.arguments, "transforms")


@caller("torchvision.transforms.Compose()")
def _composed(frame: Frame, call: LibraryCall) -> Value:
    """Pass a picture through all steps; what isn't a tensor yet may become one on the way."""
    (steps,), rest = _ahead(call.arguments, 1)
    parts = _branches(frame, steps)
    if parts is None or len(rest.args) != 1:
        return UNKNOWN
    value, errors = rest.args[0].value, frame.errors
    for index, step in enumerate(parts):
        given = pictures.pixels(frame, value) if pictures.changes(frame, step, value) else value
        made = invoke(frame, step, _bare((given,)), call.node, f"{call.label}[{index}]")
        if frame.errors > errors:
            return UNKNOWN
        value = made if given is value else pictures.picture(frame, made)
    return value


@caller("torch.autograd.Function.apply")
def _apply(frame: Frame, call: LibraryCall) -> Value:
    """Call the forward of a function with a backward of its own."""
    match call.args:
        case [Class() as owner, *_]:
            forward = classes.find_method(owner, "forward")
            made = None if forward is None else decorators.defined(forward)
            if made is None:
                return UNKNOWN
            split = classes.find_method(owner, "setup_context") is not None
            first = () if split else (Argument(UNKNOWN),)
            given = replace(call.arguments, args=call.arguments.args[1:])
            given = autocast.with_cast_inputs(made, frame.state.facts, given)
            args = (*first, *given.args)
            return functions.invoke(frame, made, args, given.kwargs, call.node, call.label)
    return NOTHING  # without a class it raises


# Trees and branches -----------------------------------------------------------------------------

_PYTREES: Final = ("torch.utils._pytree", "torch.utils._cxx_pytree", "torch.utils.pytree", "optree")


def _of_pytrees(name: str) -> tuple[str, ...]:
    return tuple(f"{root}.{name}" for root in _PYTREES)


@caller(*_of_pytrees("tree_map"))
def _tree_map(frame: Frame, call: LibraryCall) -> Value:
    if len(call.arguments.args) < 2:
        return UNKNOWN
    func, *trees = call.args

    def change(*leaves: Value) -> Value:
        if leaves[0] is UNKNOWN or leaves[0] is None:
            return UNKNOWN
        return invoke(frame, func, _bare(leaves), call.node, call.label)

    return _mapped(frame, change, *trees)


@caller(*_of_pytrees("tree_map_only"))
def _tree_map_only(frame: Frame, call: LibraryCall) -> Value:
    if len(call.arguments.args) != 3:
        return UNKNOWN
    kind, func, tree = call.args

    def change(leaf: Value) -> Value:
        verdict = instance_of(frame, leaf, kind)
        if verdict is None:
            return UNKNOWN
        return invoke(frame, func, _bare((leaf,)), call.node, call.label) if verdict else leaf

    return _mapped(frame, change, tree)


@caller(*_of_pytrees("tree_leaves"), takes=(1, MANY))
def _tree_leaves(frame: Frame, call: LibraryCall) -> Value:
    leaves = _leaves(frame, call.args[0])
    return frame.state.new(ListContent(None if UNKNOWN in leaves else tuple(leaves)))


@caller(*_of_pytrees("tree_flatten"), takes=(1, MANY))
def _tree_flatten(frame: Frame, call: LibraryCall) -> Value:
    structure = Partial(Dotted("torch.utils._pytree.TreeSpec"), (call.args[0],), ())
    return _tree_leaves(frame, call), structure


@caller(*_of_pytrees("tree_unflatten"))
def _tree_unflatten(frame: Frame, call: LibraryCall) -> Value:
    """Put leaves into a tree of a structure; optree takes them the other way round."""
    match call.args:
        case [Partial(args=(tree,)), given] | [given, Partial(args=(tree,))]:
            leaves = _branches(frame, given)
        case _:
            return UNKNOWN
    if leaves is None or len(_leaves(frame, tree)) != len(leaves):
        return UNKNOWN
    waiting = iter(leaves)
    return _mapped(frame, lambda leaf: next(waiting), tree)


@caller("torch.cond")
def _cond(frame: Frame, call: LibraryCall) -> Value:
    given = _settings(call.arguments, "pred true_fn false_fn operands", {"operands": ()})
    args = None if given is None else _branches(frame, given[3])
    if given is None or args is None:
        return UNKNOWN
    return invoke(frame, OneOf(given[1:3]), _bare(args), call.node, call.label)


@caller("torch.while_loop", "torch._higher_order_ops.while_loop")
def _while_loop(frame: Frame, call: LibraryCall) -> Value:
    given = _settings(call.arguments, "cond_fn body_fn carried_inputs", {})
    args = None if given is None else _branches(frame, given[2])
    if given is None or args is None:
        return UNKNOWN
    invoke(frame, given[1], _bare(args), call.node, call.label)
    return _alike(frame, tuple(args))
