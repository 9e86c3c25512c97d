"""Proposals from the analysis alone: what bodies say of shapes, and what callers hand over."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from shapecheck.analysis.annotations import (
    AnyDecl,
    Declared,
    DictDecl,
    ListDecl,
    TensorDecl,
    TupleDecl,
    UnionDecl,
)
from shapecheck.analysis.declarations import arguments_of, declaration, speaks
from shapecheck.analysis.inference import Study, with_dtypes, with_known
from shapecheck.analysis.values import Union
from shapecheck.dims import Size, Sym
from shapecheck.ops import Value
from shapecheck.shapes import Run, Shape, Tensor

Studies = dict[Path, list[Study]]


def studies(
    first: Mapping[Path, list[Study]], said: Mapping[ast.AST, Mapping[str, Value]]
) -> Studies:
    """Study functions again with what is `said` of them, then with what their callers hand over."""
    found = {path: [_again(one, said) for one in some] for path, some in first.items()}
    given = _from_callers(found, said)
    return {path: [_again(one, given) for one in some] for path, some in found.items()}


def _again(one: Study, known: Mapping[ast.AST, Mapping[str, Value]]) -> Study:
    values = known.get(one.function.node)
    return with_known(one, values) if values else one


def typed(one: Study) -> Study:
    """Study a function with the dtypes that its parameters must have, where there are any."""
    return (
        with_dtypes(one) if any(_tensor(one.params[n]) for n in wanted(one) - {"return"}) else one
    )


def _from_callers(
    found: Studies, said: Mapping[ast.AST, Mapping[str, Value]]
) -> dict[ast.AST, dict[str, Value]]:
    """Return what callers hand over, for parameters of which a body doesn't say how many axes."""
    calls: defaultdict[ast.AST, list[dict[str, Value]]] = defaultdict(list)
    for some in found.values():
        for one in some:
            for callee, bound in one.calls:
                calls[callee.node].append(bound)
    given: dict[ast.AST, dict[str, Value]] = {}
    for some in found.values():
        for one in some:
            if _is_for_any(one.function.node):
                continue
            open_ = [n for n in wanted(one) - {"return"} if _is_open(one.params[n])]
            kept = said.get(one.function.node, {})
            shapes = _agreed(calls[one.function.node], [n for n in open_ if n not in kept])
            if shapes:
                given[one.function.node] = {**kept, **shapes}
    return given


def _is_for_any(node: ast.AST) -> bool:
    """Whether a function is written for tensors of any number of axes: it says `...`."""
    return any(
        isinstance(one, ast.Constant)
        and (one.value is ... or (isinstance(one.value, str) and _is_ragged(one.value)))
        for one in ast.walk(node)
    )


def _is_ragged(pattern: str) -> bool:
    """Whether a text is a pattern of einops or einsum with `...` in it."""
    return "..." in pattern and "->" in pattern


def _is_open(value: Value) -> bool:
    tensor = _tensor(value)
    return tensor is not None and tensor.shape.rank is None


def _tensor(value: Value) -> Tensor | None:
    """Return the tensor that a value is, or is unless it is None."""
    if isinstance(value, Union):
        some = [option for option in value.options if option is not None]
        value = some[0] if len(some) == 1 else value
    return value if isinstance(value, Tensor) else None


def _agreed(calls: Sequence[Mapping[str, Value]], names: Iterable[str]) -> dict[str, Value]:
    """Return what all calls have in common: how many axes, and which of them are the same."""
    columns: dict[tuple[object, ...], Size] = {}
    found: dict[str, Value] = {}
    for name in names:
        values = [call[name] for call in calls if name in call]
        tensors = [_tensor(value) for value in values if value is not None]
        ranks = {None if one is None else one.shape.rank for one in tensors}
        if len(ranks) != 1 or None in ranks:
            continue
        axes = []
        for column in zip(*(one.shape.dims for one in tensors if one is not None), strict=True):
            labels = {_label(item) for item in column}
            label = labels.pop() if len(labels) == 1 else ""
            axis = Size.of(Sym.suppose(label or "_"))
            # Numbers are equal by accident, too.
            is_number = all(isinstance(item, int) for item in column)
            axes.append(axis if is_number else columns.setdefault(column, axis))
        kinds = [one.dtype for one in tensors if one is not None]
        dtype = 0
        for kind in kinds:
            dtype |= kind
        tensor = Tensor(Shape(tuple(axes)), dtype)
        found[name] = Union((tensor, None)) if len(values) > len(tensors) else tensor
    return found


def _label(item: object) -> str:
    symbol = item.symbol if isinstance(item, (Size, Run)) else None
    return symbol.name.rpartition(".")[2] if symbol is not None and symbol.telling else ""


def wanted(one: Study) -> set[str]:
    """Return the parameters, and `return`, that may be annotated: tensors without a shape."""
    says = declaration(one.function)
    every = arguments_of(one.function.node)
    annotated = {argument.arg for argument in every if argument.annotation is not None}
    found = {
        param.name
        for param in says.params
        if not speaks(param.declared)
        and param.kind in ("positional", "keyword")
        and (has_tensor(param.declared) if param.name in annotated else param.name in one.bare)
    }
    returns = getattr(one.function.node, "returns", None)
    if not speaks(says.result) and (returns is None or has_tensor(says.result)):
        found.add("return")
    return found


def has_tensor(declared: Declared) -> bool:
    """Whether a declaration speaks of a tensor."""
    match declared:
        case TensorDecl():
            return True
        case UnionDecl(options=parts):
            return any(map(has_tensor, parts))
        case TupleDecl(items=items, element=element):
            return any(map(has_tensor, (element,) if items is None else items))
        case ListDecl(element=part) | DictDecl(value=part):
            return has_tensor(part)
        case AnyDecl():
            return False
    return False
