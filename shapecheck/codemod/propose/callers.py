"""What functions hand each other: how many axes, which of them are the same, and their names.

It holds for the files of a tree however many processes study them, and outlives the studies.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from shapecheck import dtypes
from shapecheck.analysis.annotations.declarations import declaration
from shapecheck.analysis.program.model import Function
from shapecheck.analysis.program.syntax import nodes
from shapecheck.analysis.study.model import ListOf, Study
from shapecheck.analysis.values.model import OneOf, options, tensor_of
from shapecheck.codemod.sources.static import measured, variables, wanted
from shapecheck.dims import Size, Sym
from shapecheck.ops import UNKNOWN, Scalar, Value
from shapecheck.ops.call import only
from shapecheck.shapes import Item, Run, Shape, Tensor
from shapecheck.signatures import Table

_FOREIGN: Final = (int, float, str, Size, Scalar, tuple, ListOf)
"""What is certainly no tensor, where one may be expected."""

Place = tuple[str, int]
"""The path of a file and the line of a `def` in it."""


@dataclass(frozen=True, slots=True)
class Handed:
    """What a call hands over for a parameter: `axes` of a tensor, None if it may be anything else.

    Each axis has its name, and its size: a number, or a mark that equal sizes of a call share.
    `is_foreign`: it is no tensor, but a number, a text or a list. `is_own`: it is what the caller
    is given itself, of which it says nothing, and gives back nothing of.
    """

    axes: tuple[tuple[str, int | str], ...] | None
    dtype: dtypes.DTypes = dtypes.ANY
    is_foreign: bool = False
    is_own: bool = False

    @property
    def is_one_number(self) -> bool:
        """Whether it is one number, which may be of any shape."""
        return bool(self.axes) and all(size == 1 for _, size in self.axes or ())


Call = Mapping[str, Handed | None]
"""What a call hands over, by parameter; None where that is None."""


@dataclass(frozen=True, slots=True)
class Given:
    """What all calls have in common: names of axes, and numbers that equal ones share.

    `axes` is None where some call hands over what is no tensor. The axes in `ones` are 1 in some
    call: what they meet needn't have the same size.
    """

    axes: tuple[tuple[str, int], ...] | None
    dtype: dtypes.DTypes = dtypes.ANY
    may_be_none: bool = False
    ones: tuple[int, ...] = ()


def calls(one: Study) -> list[tuple[Place, Call]]:
    """Return what a function calls, and what it hands over."""
    found: list[tuple[Place, Call]] = []
    given = {run for value in one.params.values() for run in _runs(value)}
    own = given - {*_runs(one.result)}
    for callee, bound in one.calls:
        marks: dict[object, str] = {}
        made = {name: _handed(value, marks, own) for name, value in bound.items()}
        place = callee.module.source.path, callee.node.lineno
        found.append((place, made))
    return found


def _dims(value: Value) -> tuple[Item, ...]:
    tensor = tensor_of(value)
    return () if tensor is None else tensor.shape.dims


def _runs(value: Value) -> Sequence[Run]:
    """Return the rows of axes in a tensor."""
    return only(_dims(value), Run)


def _handed(value: Value, marks: dict[object, str], own: AbstractSet[Run]) -> Handed | None:
    if value is None:
        return None
    tensor = tensor_of(value)
    if tensor is None or tensor.shape.rank is None:
        is_foreign = any(isinstance(one, _FOREIGN) for one in options(value))
        is_own = not own.isdisjoint(_runs(value))
        return Handed(None, is_foreign=is_foreign, is_own=is_own)
    sizes = (
        item if isinstance(item, int) else marks.setdefault(item, f"size {len(marks)}")
        for item in tensor.shape.dims
    )
    return Handed(tuple(zip(map(_label, tensor.shape.dims), sizes, strict=True)), tensor.dtype)


def open_parameters(one: Study, said: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the parameters of which callers may say how many axes they have.

    None where any is annotated, or `said`, to take any number of axes: callers don't show all that
    is possible. Nor do they where the result has axes of the parameter however many these are, or
    where it goes on to a function that takes any number of axes.
    """
    names = sorted(wanted(one) - {"return"} - said.keys())
    shaped = [value for name, value in one.params.items() if name not in names]
    if _is_for_any(one.function) or any(map(_is_open, (*shaped, *said.values()))):
        return ()
    kept = {*_runs(one.result)}
    anyhow = [
        value for callee, bound in one.calls if _is_for_any(callee) for value in bound.values()
    ]
    return tuple(
        name
        for name in names
        if _is_open(value := one.params[name])
        and kept.isdisjoint(_runs(value))
        and value not in anyhow
    )


def used_whole(one: Study, names: Iterable[str]) -> tuple[str, ...]:
    """Return those parameters of which the body uses no axis by itself."""
    return tuple(n for n in names if len(_dims(one.params[n])) == len(_runs(one.params[n])) == 1)


def agreed(
    calls: Sequence[Call],
    names: Iterable[str],
    bare: Iterable[str] = (),
    whole: Collection[str] = (),
) -> dict[str, Given]:
    """Return what all calls have in common: how many axes, and which of them are the same.

    Of `bare` parameters, which no annotation says to be tensors, whether some call shows that they
    needn't be. Where one number may be handed over for what is used as a `whole`, anything may.
    """
    columns: dict[object, tuple[str, int]] = {}
    found: dict[str, Given] = {}
    for name in bare:
        values = [call.get(name) for call in calls]
        if any(value is not None and value.is_foreign for value in values):
            found[name] = Given(None)
    for name in names:
        values = [call[name] for call in calls if name in call]
        tensors = [value for value in values if value is not None and not value.is_own]
        ranks = {None if one.axes is None else len(one.axes) for one in tensors}
        numbers = [one.is_one_number for one in tensors]
        if len(ranks) != 1 or None in ranks or all(numbers) or (any(numbers) and name in whole):
            continue
        axes: list[tuple[str, int]] = []
        ones: list[int] = []
        for at, column in enumerate(zip(*(one.axes or () for one in tensors), strict=True)):
            ones += [at] if at and any(size == 1 for _, size in column) else []
            labels = {label for label, _ in column}
            sizes = tuple(size for _, size in column)
            # Numbers are equal by accident, too.
            is_number = all(isinstance(size, int) for size in sizes)
            axis = labels.pop() if len(labels) == 1 else "", len(columns)
            tied = columns.get(sizes)
            # So are two axes of one tensor, unless callers have one name for the sides of a matrix:
            # images are squares where somebody makes them so.
            is_square = tied is not None and tied[0] == axis[0] != "" and len(axes) == at == 1
            is_square &= all(len(one.axes or ()) == 2 for one in tensors)
            is_chance = is_number or (tied in axes and not is_square)
            axes.append(columns.setdefault(len(columns) if is_chance else sizes, axis))
        dtype = functools.reduce(operator.or_, (one.dtype for one in tensors))
        found[name] = Given(tuple(axes), dtype, None in values, tuple(ones))
    return found


def values(given: Mapping[str, Given], function: Study) -> dict[str, Value]:
    """Return values of a function's parameters for what calls have in common.

    `caller.t` is what callers call `t`. If the function has a `t` too, that may be another one, and
    this has no name.
    """
    own = variables(function.function.node)
    sizes: dict[int, Size] = {}
    found: dict[str, Value] = {}
    for name, one in given.items():
        if one.axes is None:
            found[name] = UNKNOWN
            continue
        axes = [
            sizes.setdefault(number, Size.of(Sym.suppose(_name(label, own))))
            if at not in one.ones
            else Size.of(Sym.fresh(left_open=True))
            for at, (label, number) in enumerate(one.axes)
        ]
        tensor = Tensor(Shape(tuple(axes)), one.dtype)
        may_be_none = one.may_be_none or None in options(function.params[name])
        found[name] = OneOf((tensor, None)) if may_be_none else tensor
    return found


def _name(label: str, own: Collection[str]) -> str:
    return f"caller.{label}" if label and label not in own else "_"


def _is_for_any(function: Function) -> bool:
    """Whether a function is written for tensors of any number of axes: it says `...`.

    One that is told which axis to work along, by default the last one, is too, and so is one that
    computes with how many there are, `(1,) * (x.ndim - 1)`, or is told a pattern of einops.
    """
    return (
        any(
            param.name in ("dim", "axis") and isinstance(param.default, ast.UnaryOp)
            for param in declaration(function).params
        )
        or any(
            isinstance(one, ast.Constant)
            and (one.value is ... or (isinstance(one.value, str) and _is_ragged(one.value)))
            for one in nodes(function.node)
        )
        or any(
            isinstance(one, ast.Call) and _is_by_pattern(one, function.module.program.table)
            for one in nodes(function.node)
        )
        or any(
            isinstance(one, ast.BinOp) and (measured(one.left) or measured(one.right))
            for one in nodes(function.node)
        )
    )


def _is_by_pattern(node: ast.Call, table: Table) -> bool:
    """Whether a call is one of einops with a pattern that comes from elsewhere."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="einops"), attr=name):
            signature = table.signature(f"einops.{name}")
            params = () if signature is None else signature.params
            return any(
                param.name == "pattern" and isinstance(given, (ast.Name, ast.Attribute))
                for param, given in zip(params, node.args, strict=False)
            )
    return False


def _is_ragged(pattern: str) -> bool:
    """Whether a text is a pattern of einops or einsum with `...` in it."""
    return "..." in pattern and "->" in pattern


def _is_open(value: Value) -> bool:
    tensor = tensor_of(value)
    return tensor is not None and tensor.shape.rank is None


def _label(item: object) -> str:
    symbol = item.symbol if isinstance(item, (Size, Run)) else None
    return symbol.name.rpartition(".")[2] if symbol is not None and symbol.has_name else ""
