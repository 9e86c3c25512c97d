"""Takes what isn't known for a tensor where it is used as only tensors are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence, Set
from functools import lru_cache, partial
from typing import Final

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.program.asking import about, asks_about
from shapecheck.analysis.program.model import Function, Value, literal
from shapecheck.analysis.program.modules import Module
from shapecheck.analysis.program.syntax import kept_by_node, name_of, nodes_of, stored_in
from shapecheck.analysis.values.model import options
from shapecheck.dims import Sym
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Run, Shape, Tensor
from shapecheck.signatures import Table

_ARRAYS: Final = frozenset(
    "np numpy onp jnp jax cp cupy tf tensorflow pd pandas xr cv2 Image PIL skimage ndimage".split()
)
"""What modules that have arrays of other libraries call those, or where they are from."""
_TORCH: Final = frozenset(("torch", "th", "F", "nn", "einops", "Tensor"))
_OF_MODULES: Final = frozenset(("cpu", "cuda", "requires_grad_"))
"""Methods that modules have as well."""


def has_one_kind_of_arrays(function: Function) -> bool:
    """Whether a function has to do with torch, and with no other library that has arrays."""
    return _is_of_one_kind(function.module, function.node)


_KIND: Final = "one kind of arrays"


@asks_about(_KIND)
def _is_of_one_kind(module: Module, function: ast.AST) -> bool:
    def found() -> bool:
        mentioned = {name.id for name in nodes_of(ast.Name, function)}
        if mentioned & _ARRAYS:
            return False
        return bool(mentioned & _TORCH) or not any(map(module.syntax.bound, _ARRAYS))

    return module.recall((_KIND, function), found, True, telling=about(_KIND, module, function))


def never_tensors(function: Function) -> frozenset[str]:
    """Return the variables that are asked for what tensors don't have, or for a method uncalled.

    Nor are tensors turned round by a slice.
    """
    table = function.module.program.table
    return frozenset(
        name
        for name, attr, is_called in _asked(function.node)
        if not table.has(f"torch.Tensor.{attr}") or (attr == "size" and not is_called)
    )


@kept_by_node(most=8)
def _asked(function: ast.AST) -> frozenset[tuple[str, str, bool]]:
    """Return what variables are asked for, and whether that is called."""
    methods = {id(node.func) for node in nodes_of(ast.Call, function)}
    turned = (node for node in nodes_of(ast.Subscript, function) if _turns(node.slice))
    return frozenset(
        (node.value.id, "[::-1]", False) for node in turned if isinstance(node.value, ast.Name)
    ) | frozenset(
        (node.value.id, node.attr, id(node) in methods)
        for node in nodes_of(ast.Attribute, function)
        if isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load)
    )


def _turns(index: ast.expr) -> bool:
    """Whether there is a slice in an index that goes backwards."""
    slices = nodes_of(ast.Slice, index)
    return any(isinstance(one.step, ast.UnaryOp) for one in slices)


@lru_cache(maxsize=8)
def _methods(table: Table) -> frozenset[str]:
    """Return the methods that only tensors have."""
    prefix = "torch.Tensor."
    found = table.flagged("telling") - table.flagged("property")
    return frozenset(name.removeprefix(prefix) for name in found) - _OF_MODULES


def receiver_of(frame: Frame, node: ast.Attribute, given: Sequence[ast.expr]) -> Value:
    """Return what a method is asked of that isn't known, where that must be a tensor.

    Where something has gone wrong already, it may not be known because of that. An instance of the
    program's own has the method from a base that isn't known. `given`: what the method is called
    with; `accelerator.gather(x, 0)` is no tensor's.
    """
    if frame.errors or node.attr not in _methods(frame.program.table):
        return UNKNOWN
    if _is_instance(frame, node.value):
        return UNKNOWN
    if not takes(frame.program.table, node.attr, given, partial(frame.hush, Frame.eval)):
        return UNKNOWN
    if name_of(node.value) is None:
        return Tensor.unknown()
    name = _own(frame, node.value)
    return UNKNOWN if name is None else _taken(frame, name, node.value)


def takes(
    table: Table, method: str, given: Sequence[ast.expr], evaluate: Callable[[ast.expr], Value]
) -> bool:
    """Whether a tensor's method may be called so: with no tensor for an int, nor an int for one."""
    signature = table.signature(f"torch.Tensor.{method}")
    if signature is None:
        return True
    _, *params = signature.params
    if params and params[-1].star:
        params += params[-1:] * len(given)
    for param, one in zip(params, given, strict=False):
        if param.required and param.tensor is not None and type(literal(one)) is int:
            return False
        value = evaluate(one) if param.whole else UNKNOWN
        if isinstance(value, Tensor) and value.shape.rank != 0:
            return False
    return True


def _is_instance(frame: Frame, node: ast.expr) -> bool:
    """Whether a variable, or an attribute of one, holds an instance of a class of the program."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    held = frame.hush(Frame.eval, node)
    return any(frame.state.instance_of(option) is not None for option in options(held))


def asked_for_shape(frame: Frame, node: ast.Attribute) -> Value:
    """Return what is asked for its `shape` that isn't known, where that must be a tensor."""
    if node.attr != "shape" or frame.errors or frame.function is None:
        return UNKNOWN
    name = _own(frame, node.value)
    if name is None or not has_one_kind_of_arrays(frame.function):
        return UNKNOWN
    return _taken(frame, name, node.value)


def _own(frame: Frame, node: ast.expr) -> str | None:
    """Return the variable that an expression is, where the body at hand itself has set it."""
    name, function = name_of(node), frame.function
    if (
        frame.program.supposing
        or name is None
        or function is None
        or frame.depth
        or isinstance(function.node, ast.Lambda)
    ):
        return None
    begins = function.node.body[0].lineno
    if frame.state.since.get(name, 0) < begins or name in never_tensors(function):
        return None
    if not _asked(function.node).isdisjoint(((name, "ndim", False), (name, "dim", True))):
        return None  # how many axes it has depends on what isn't known
    return name


def _taken(frame: Frame, name: str, node: ast.expr) -> Value:
    """Return a tensor of any axes, which a variable holds from then on."""
    since = frame.state.since[name]
    of_item = frame.function is not None and _is_set_in_loop(frame.function, name, since)
    tensor = Tensor(Shape((Run(Sym.untold((name, since), of_item)),)))
    frame.renew(node, tensor, node)
    return tensor


def _is_set_in_loop(function: Function, name: str, since: int) -> bool:
    """Whether the line that sets a variable does so once for each item of something."""
    return any(
        first <= since <= last and (names is None or name in names)
        for first, last, names in _loops(function.node)
    )


@kept_by_node(most=8)
def _loops(function: ast.AST) -> Sequence[tuple[int, int, Set[str] | None]]:
    """Return the lines of loops, and which variables are set there, None for any."""
    loops = nodes_of((ast.For, ast.AsyncFor, ast.While), function)
    targets = (one.target for one in nodes_of(ast.comprehension, function))
    return [
        *((one.lineno, one.end_lineno or one.lineno, None) for one in loops),
        *((one.lineno, one.end_lineno or one.lineno, stored_in(one)) for one in targets),
    ]
