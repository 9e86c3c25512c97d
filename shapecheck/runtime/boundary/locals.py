"""Checks a value in the middle of a call by the names at hand, and names what has no name.

For `assert_shape`, `isinstance(x, Float[Tensor, "b c"])` and annotated local variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from shapecheck.dims import DimExpr, Kind, Size, Sym
from shapecheck.dims.origins import OfSize
from shapecheck.runtime.annotations.hints import Hint
from shapecheck.runtime.annotations.plan import Plan, tensor_hints
from shapecheck.runtime.boundary.binding import Binding, Leaf, Namer
from shapecheck.runtime.boundary.checks import shape_in
from shapecheck.runtime.boundary.containers import fit_value
from shapecheck.runtime.naming.call_names import CallNames, state
from shapecheck.runtime.naming.facts import value_of
from shapecheck.runtime.naming.records import record, sizes_of
from shapecheck.shapes import Run


def _no_function() -> None:
    """Stands for the function where names are said outside of one."""


_NOWHERE: Final = Plan(_no_function, "", (), None)  # type: ignore[arg-type]  # a function it is


def fit(
    frame: CallNames,
    hint: Hint,
    value: Any,
    subject: str,
    scope: Mapping[str, Any],
    given: bool = False,
) -> None:
    """Check a value against an annotation, and name what has no name. Raises `Failed`.

    `scope` are the arguments of the call, for `{...}`. `given`: new names are names of the call;
    else those that meet a bare size stand for this size, see `_of_size`.
    """
    plan: Plan = frame.plan or _NOWHERE
    objects = {name: dim for one in tensor_hints(hint) for name, dim in one.spec.dims}
    if objects:
        plan = replace(plan, dims={**plan.dims, **objects})
    inside = not state.is_outside(frame)
    groups = frame.entry.groups if frame.entry is not None else {}
    braced = frame.entry.braced if frame.entry is not None else {}
    namer = Namer(plan, {**plan.fixed, **frame.names} if inside else plan.fixed, groups, braced)
    if inside:
        namer.adopt(frame.aliases, frame.runs)
    values = {**frame.symbols, **namer.symbols}
    shape_of = shape_in(frame, values)
    binding = Binding(plan, scope, values, shape_of, namer.names, namer.runs, braced)
    fit_value(binding, hint, value, subject)
    binding.settle()
    new = binding.sizes()
    taught = Namer(plan, new, binding.group_sizes(), braced)
    if inside:
        _bind(frame, plan, binding, new, given)
        taught.adopt(frame.aliases, frame.runs)
        taught.symbols.update(values | frame.symbols)
    else:
        known = {name: dim for name, dim in binding.matcher.names.items() if isinstance(dim, Size)}
        taught.adopt(known, {})
        taught.symbols.update(values | taught.symbols)
    for leaf in (leaf for leaf in binding.leaves if leaf.record is None):
        _teach(frame, leaf, taught, binding, taught.symbols)


def forget(frame: CallNames, name: str) -> None:
    """Let a name or a group that only variables have be bound anew."""
    frame.names.pop(name, None)
    frame.aliases.pop(name, None)
    frame.runs.pop(name, None)


def _bind(
    frame: CallNames, plan: Plan, binding: Binding, sizes: Mapping[str, int], given: bool
) -> None:
    """Keep what names and groups are bound to that the call hadn't."""
    for name, size in sizes.items():
        if name in frame.names:
            continue
        dim = binding.matcher.names[name]
        frame.names[name] = size
        if not isinstance(dim, int):
            frame.aliases[name] = dim
        elif given or name in plan.dims:
            frame.symbols.setdefault(plan.symbol(name), size)
        else:
            frame.aliases[name] = _of_size(name, size, frame.symbols)
    known = {*frame.runs, *(frame.entry.groups if frame.entry is not None else ())}
    for name, run in binding.matcher.runs.items():
        if name not in known and name in binding.group_sizes():
            items = [
                _of_size(f"*{name}" if len(run) == 1 else f"{name}[{at}]", item, frame.symbols)
                if isinstance(item, int)
                else item
                for at, item in enumerate(run)
            ]
            frame.runs[name] = type(run)(items)


def _of_size(name: str, size: int, symbols: dict[Sym, int]) -> DimExpr:
    """Return what a name that only variables have is where it first met a bare size.

    It is called so, and may be any other dimension of this size: what is called by it next may be
    an argument, whose dimension has another name. A 1 stays one, which broadcasts.
    """
    if size == 1:
        return size
    symbol = Sym(name, Kind.NAME, OfSize(size))
    symbols[symbol] = size
    return Size.of(symbol)


def _teach(
    frame: CallNames, leaf: Leaf, taught: Namer, binding: Binding, values: Mapping[Sym, int]
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
        found = record(tuple(merged), sizes, symbols)
        frame.name(leaf.tensor, frame.settled(found) if found and frame is state.given else found)
