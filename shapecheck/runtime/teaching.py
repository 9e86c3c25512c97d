"""Checks a value in the middle of a call by the names at hand, and names what has no name.

For `assert_shape`, `isinstance(x, Float[Tensor, "b c"])` and annotated local variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from shapecheck.dims import DimExpr, Size, Sym
from shapecheck.runtime.binding import Binding, Leaf, Namer, plain_shape
from shapecheck.runtime.boundary import shape_in
from shapecheck.runtime.facts import value_of
from shapecheck.runtime.hints import Hint
from shapecheck.runtime.names import Frame, record, sizes_of, state
from shapecheck.runtime.plan import Plan, tensor_hints
from shapecheck.shapes import Run


def _no_function() -> None:
    """Stands for the function where names are said outside of one."""


_NOWHERE: Final = Plan(_no_function, "", (), None)  # type: ignore[arg-type]  # a function it is


def fit(frame: Frame, hint: Hint, value: Any, subject: str, scope: Mapping[str, Any]) -> None:
    """Check a value against an annotation, and name what has no name. Raises `Failed`.

    `scope` are the arguments of the call, for `{...}`.
    """
    plan: Plan = frame.plan or _NOWHERE
    objects = {name: dim for one in tensor_hints(hint) for name, dim in one.spec.dims}
    if objects:
        plan = replace(plan, dims={**plan.dims, **objects})
    inside = frame is not state.root
    groups = frame.entry.groups if frame.entry is not None else {}
    braced = frame.entry.braced if frame.entry is not None else {}
    namer = Namer(plan, {**plan.fixed, **frame.names} if inside else plan.fixed, groups, braced)
    aliases = frame.aliases if inside else {}
    namer.names.update(aliases)
    values = {**frame.symbols, **namer.symbols} if inside else namer.symbols
    shape_of = shape_in(frame) if inside else plain_shape
    binding = Binding(plan, scope, values, shape_of, namer.names, namer.runs, braced)
    binding.check(hint, value, subject)
    binding.settle()
    new = binding.sizes()
    taught = Namer(plan, new, binding.group_sizes(), braced)
    if inside:
        for name, dim in binding.matcher.names.items():
            if name not in frame.names and isinstance(dim, Size):
                aliases[name] = dim
        for name, size in new.items():
            frame.names.setdefault(name, size)
            frame.symbols.setdefault(plan.symbol(name), size)
        taught.names.update(aliases)
        taught.symbols.update(values)
    for leaf in binding.leaves:
        _teach(frame, leaf, taught, binding, values)


def _teach(
    frame: Frame, leaf: Leaf, taught: Namer, binding: Binding, values: Mapping[Sym, int]
) -> None:
    """Give a tensor the names of its annotation where it has none."""
    shape, sizes = binding.shape_of(leaf.tensor), sizes_of(leaf.tensor)
    built = taught.record(leaf.hint.spec.shape, leaf.tensor)
    if built is None or sizes is None:
        return
    merged: list[DimExpr] = [
        new if isinstance(old, int | Run) else old
        for old, new in zip(shape.dims, built.dims, strict=True)
    ]
    symbols: dict[Sym, int] = {**values, **taught.symbols}
    if all(value_of(dim, symbols) == size for dim, size in zip(merged, sizes, strict=True)):
        frame.name(leaf.tensor, record(tuple(merged), sizes, symbols))
