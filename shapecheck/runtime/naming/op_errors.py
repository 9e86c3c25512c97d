"""What to say of an op that can't be: the op as the user wrote it, its operands, their sizes."""

from __future__ import annotations

import ast
import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import CodeType, FrameType, MethodDescriptorType
from typing import Final

import torch
from torch import nn

import shapecheck.dims as dims
from shapecheck import distributed, explain
from shapecheck.dims import Sym
from shapecheck.hints import Operand
from shapecheck.ops.math import ragged
from shapecheck.runtime.annotations.hints import names_of
from shapecheck.runtime.errors import (
    RaggedWarning,
    ShapeError,
    carried,
    error_like,
    own_fault,
)
from shapecheck.runtime.naming import ops
from shapecheck.runtime.naming.call_names import CallNames, state
from shapecheck.runtime.naming.op_calls import Question
from shapecheck.runtime.source import (
    Place,
    by_operator,
    call_label,
    is_ours,
    spelled,
    user_place,
    users_frame,
    value_at,
)
from shapecheck.shapes import Mismatch, Problem, Run
from shapecheck.shapes import Tensor as Known

_SYMBOLS: Final[Mapping[type[ast.AST], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.USub: "-",
    ast.Invert: "~",
}

_OPERATORS: Final = frozenset(
    f"__{side}{name}__"
    for name in "add sub mul truediv div floordiv mod pow matmul and or xor lshift rshift".split()
    for side in ("", "r", "i")
)

Spelled = tuple[str, list[tuple[str, ast.expr | None]]]


def op_error(
    frame: CallNames, asked: Question, problem: Problem, cause: Exception | None
) -> ShapeError:
    """Return the exception for an op that its rule refuses; `cause` is torch's own, if any."""
    place = user_place()
    label, texts = _spelling(asked, place)
    problem = _relabelled(asked, problem, label)
    operands = _operands(asked, texts, place)

    def retry(changed: Mapping[int, Known]) -> Known | None:
        try:
            result = asked.answer(label, changed)
        except Mismatch:
            return None
        return result if isinstance(result, Known) else None

    message = explain.operation(label, problem, operands, retry)
    message = replace(
        message, notes=(*_inside(place), *message.notes, *_origins(frame, asked, place))
    )
    where = None if place is None else str(place)
    words = "" if cause is None else str(cause)
    error = error_like(cause)(message, known_sizes(frame, asked), where, words)
    error.__cause__ = cause
    name = str(getattr(asked.func, "__name__", ""))
    return carried(error) if by_operator() or name in _OPERATORS else error


def _inside(place: Place | None) -> list[str]:
    """Say which layer of torch's it is, where the line calls one that has it inside."""
    frame, user = sys._getframe(1), users_frame(sys._getframe(1))
    found: nn.Module | None = None
    while frame is not None and frame is not user:
        # a frame of ours would keep what it has now, the error that it handles too
        owner = None if is_ours(frame.f_code) else frame.f_locals.get("self")
        if found is None and isinstance(owner, nn.Module):
            found = owner
        frame = frame.f_back  # type: ignore[assignment]
    node = None if place is None else place.node
    if found is None or user is None or not isinstance(node, ast.Call):
        return []
    called = value_at(user, node.func)
    if called is found or not isinstance(called, nn.Module):
        return []
    path = next((path for path, one in called.named_modules() if one is found), "")
    name = f"{type(found).__name__}({found.extra_repr()})"
    return [f'this is layer "{path}" of "{ast.unparse(node.func)}", {name}'] if path else []


def _origins(frame: CallNames, asked: Question, place: Place | None) -> list[str]:
    """Say which arguments names come from, where the line isn't in the function that has them."""
    plan = frame.plan
    if plan is None or place is None or plan.code is None or place.code is plan.code:
        return []
    every = [dim for one in asked.known for dim in one.shape.dims if not isinstance(dim, Run)]
    used = {symbol.name for dim in every for symbol in dims.symbols(dim)}
    params: dict[str, str] = {}
    for param in plan.params:
        for name in names_of(param.hint):
            params.setdefault(name, param.name)
    found: dict[str, list[str]] = {}
    for name in used & frame.names.keys() & params.keys():
        found.setdefault(params[name], []).append(name)
    order = [*frame.names]
    return [
        f"{', '.join(sorted(names, key=order.index))} {'comes' if len(names) == 1 else 'come'} "
        f'from argument "{param.name}" of "{plan.label}"'
        for param in plan.params
        if (names := found.get(param.name))
    ]


def caution(frame: CallNames, func: object, symbol: Sym) -> None:
    """Warn of an op that counts padding, where nothing in the function speaks of lengths."""
    try:
        _caution(frame, func, symbol)
    except RaggedWarning:  # warnings may be asked to be errors
        raise
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault(f"on the padding that {getattr(func, '__name__', func)} counts", error)


def _caution(frame: CallNames, func: object, symbol: Sym) -> None:
    if frame.plan is None or state.minding:
        return
    place = user_place()
    code = getattr(inspect.unwrap(frame.plan.function), "__code__", None)
    codes = [one for one in (code, place and place.code) if isinstance(one, CodeType)]
    if place is None or any(_minds_padding(one) for one in codes):
        return
    name = str(getattr(func, "__name__", func))
    method = isinstance(func, MethodDescriptorType)
    message = ragged.message(name if method else call_label(place, name), symbol)
    rank = distributed.here()
    on_rank = [] if rank is None else [distributed.line([rank])]
    notes = [f"  note: {note}" for note in message.notes]
    lines = [f"{message.text}  [{message.code}]", *on_rank, *notes]
    text = "\n".join(lines)
    seen = _warned.setdefault(place.code.co_filename, {})
    warnings.warn_explicit(text, RaggedWarning, place.code.co_filename, place.line, registry=seen)


_warned: Final[dict[str, dict[str | tuple[str, type[Warning], int], int]]] = {}


@lru_cache(maxsize=1024)
def _minds_padding(code: CodeType) -> bool:
    """Whether a function speaks of masks or lengths, the functions in it included."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    words = (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
    return ragged.minds_padding(words) or any(map(_minds_padding, inner))


def known_sizes(frame: CallNames, asked: Question | None = None) -> dict[str, int]:
    """Return the values of all names that are bound here, for the end of a message."""
    sizes = dict(frame.names)
    for symbol, value in asked.values.items() if asked is not None else ():
        sizes.setdefault(symbol.name, value)
    return sizes


def _relabelled(asked: Question, problem: Problem, label: str) -> Problem:
    """Ask again under the op's spelling, which some rules use in their words."""
    try:
        asked.answer(label)
    except Mismatch as refused:
        return refused.problem
    except Exception as error:  # noqa: BLE001 - the first words will do
        own_fault("to explain an error", error)
    return problem


def _spelling(asked: Question, place: Place | None) -> Spelled:
    """Return the op as the user wrote it, and the roles and expressions of its operands."""
    node = place.node if place is not None else None
    if isinstance(node, ast.Call):
        return _call(asked, node)
    return syntax_of(node) or (_plain_name(asked), [])


def syntax_of(node: ast.AST | None) -> Spelled | None:
    """Return an op that is written as an operator, an index or an attribute; None for others."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return dims.SYMBOLS[type(op)], [("left operand", left), ("right operand", right)]
        case ast.AugAssign(target=left, op=op, value=right):
            return dims.SYMBOLS[type(op)] + "=", [("left operand", left), ("right operand", right)]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _SYMBOLS.get(type(op), "=="), [("left operand", left), ("right operand", right)]
        case ast.UnaryOp(op=op, operand=operand):
            return _SYMBOLS.get(type(op), "-"), [("operand", operand)]
        case ast.Subscript(value=value, ctx=ast.Load()):
            return "[...]", [("tensor", value)]
        case ast.Subscript(value=value):
            return "[...] =", [("tensor", value)]
        case ast.Attribute(value=value, attr=attr):
            return attr, [("tensor", value)]
    return None


def _plain_name(asked: Question) -> str:
    dotted = ops.dotted_names().get(asked.func, "")
    return dotted.rpartition(".")[2] or str(getattr(asked.func, "__name__", asked.func))


def _call(asked: Question, node: ast.Call) -> Spelled:
    function = node.func
    last = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    dotted = ops.dotted_names().get(asked.func, "")
    given: list[tuple[str, ast.expr | None]] = [("argument", arg) for arg in node.args]
    text = spelled(function) or ast.unparse(function)
    if last.strip("_") != _plain_name(asked).strip("_"):
        return text, given
    if dotted.startswith("torch.Tensor.") and isinstance(function, ast.Attribute):
        return last, [("tensor", function.value), *given]
    return text, given


def _operands(
    asked: Question, texts: Sequence[tuple[str, ast.expr | None]], place: Place | None
) -> list[Operand]:
    """Return the op's tensors as messages show them."""
    spoken: list[Operand] = []
    user = users_frame(sys._getframe(1))
    pairs = zip(asked.known, asked.tensors, _paired(asked, texts), strict=True)
    for known, tensor, (role, node) in pairs:
        if node is None or _is_another(user, node, tensor):
            spoken.append(Operand(role, known))
            continue
        since = place.since(node.id) if place is not None and isinstance(node, ast.Name) else None
        spoken.append(Operand(role, known, ast.unparse(node), since))
    return spoken


def _is_another(frame: FrameType | None, node: ast.expr, tensor: torch.Tensor) -> bool:
    """Whether an expression is a tensor that the op doesn't have: a layer's input, deep inside."""
    value = None if frame is None else value_at(frame, node)
    return isinstance(value, torch.Tensor) and value is not tensor


def operand_nodes(asked: Question, place: Place) -> list[ast.expr | None]:
    """Return the expressions of an op's tensors, None where it isn't certain which it is."""
    return [node for _, node in _paired(asked, _spelling(asked, place)[1])]


def _paired(
    asked: Question, texts: Sequence[tuple[str, ast.expr | None]]
) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the role and the source of each of an op's tensors."""
    expressions = _flat(texts)
    positions = [i for i, arg in enumerate(asked.args) if isinstance(arg, Known)]
    for index in range(len(asked.known)):
        at = positions[index] if index < len(positions) else len(expressions)
        yield expressions[at] if at < len(expressions) else ("argument", None)


def _flat(texts: Sequence[tuple[str, ast.expr | None]]) -> list[tuple[str, ast.expr | None]]:
    stop = next((i for i, (_, node) in enumerate(texts) if isinstance(node, ast.Starred)), None)
    return list(texts[:stop])
