"""What parameters are taken for of which no annotation says a shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from shapecheck.analysis.annotations import declarations
from shapecheck.analysis.check import tensor_evidence
from shapecheck.analysis.check.ahead import ahead
from shapecheck.analysis.program.model import Function, Value, literal
from shapecheck.analysis.values.model import OneOf, opened, own_size
from shapecheck.analysis.values.state import State
from shapecheck.dims import Sym
from shapecheck.shapes import Run, Shape, Tensor

Supposition: TypeAlias = Callable[[declarations.Parameter, Value], Value]
"""Says what a parameter is taken for, from what its annotation says of it."""


def supposing(function: Function, state: State, begun: Mapping[str, Value]) -> Supposition:
    """Return what says what a parameter is taken for when the body of a function begins.

    A tensor of which no axis is told may be any; it is called by its parameter.
    """
    seen = ahead(function, state, begun)
    tensors = tensor_evidence.shown(function, function.owner, seen, arrays=True)
    sizes = tensor_evidence.shown_sizes(function, seen) - tensors

    def taken_for(param: declarations.Parameter, value: Value) -> Value:
        if param.name in tensors:
            return any_tensor(param, Sym.untold(param.name))
        if param.name in sizes:
            return own_size(param.name, literal(param.default))
        if param.kind in ("positional", "keyword") and not declarations.speaks(param.declared):
            return opened(value, lambda: Sym.untold(param.name))
        return value

    return taken_for


def any_tensor(param: declarations.Parameter, axes: Sym) -> Value:
    """Return a tensor of any axes, or that or None where a parameter may be left out."""
    tensor = Tensor(Shape((Run(axes),)))
    return tensor if param.default is None else OneOf((tensor, None))
