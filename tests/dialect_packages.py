"""The libraries whose annotations are read: the real ones where installed, else small stand-ins."""

from __future__ import annotations

import ast
import enum
import sys
from collections import namedtuple
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Annotated, Any

import torch

_Dim = namedtuple("_Dim", ("name", "size"))


class ShapeDetail:
    """What torchtyping keeps of a shape."""

    def __init__(self, dims: list[_Dim]) -> None:
        self.dims = dims


class DtypeDetail:
    """What torchtyping keeps of a dtype."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype


class _FloatDetail:
    """torchtyping's `is_float`."""


class _Kept(dict[str, Any]):
    """A dict that can be in a union."""

    __hash__ = object.__hash__  # type: ignore[assignment]


_DTYPES = {int: torch.int64, float: torch.float32, bool: torch.bool}
_NO_NAME, _IS_NAMED = object(), object()


class TensorType:
    """torchtyping's `TensorType[...]`, which makes an `Annotated` tensor."""

    def __class_getitem__(cls, items: Any) -> Any:
        dims, details, is_scalar = [], [], False
        for item in items if isinstance(items, tuple) and items else (items,):
            if item == ():
                is_scalar = True
            elif isinstance(item, slice):
                dims.append(_Dim(item.start, item.stop))
            elif isinstance(item, torch.dtype) or item in (int, float, bool):
                details.append(DtypeDetail(_DTYPES.get(item, item)))
            elif isinstance(item, _FloatDetail):
                details.append(item)
            elif item is not _IS_NAMED:
                size = -1 if isinstance(item, str) or item in (None, Any) else item
                dims.append(_Dim(item if isinstance(item, str | None) else _NO_NAME, size))
        shape = [ShapeDetail(dims)] if dims or is_scalar else []
        return Annotated[torch.Tensor, _Kept(__torchtyping__=True, details=(*shape, *details))]


_Operator = enum.Enum(
    "_Operator",
    {"ADD": "+", "SUB": "-", "MUL": "*", "DIV": "/", "EXP": "^", "MIN": "min", "MAX": "max"}
    | {"ISQRT": "isqrt"},
)
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitXor: "^"}


class TensorTypeBase:
    """dltype's type of any tensor, which keeps its dimensions as postfix expressions."""

    DTYPES: tuple[torch.dtype, ...] = ()

    def __init__(self, text: str | None, constraints: object = None) -> None:
        self.expected_shape = [_expression(piece) for piece in (text or "").split()]

    def __class_getitem__(cls, text: Any) -> Any:
        return cls(None if text is None else str(text))


class FloatTensor(TensorTypeBase):
    """dltype's type of floating tensors."""

    DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class IntTensor(TensorTypeBase):
    """dltype's type of tensors of integers."""

    DTYPES = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)


class BoolTensor(TensorTypeBase):
    """dltype's type of masks."""

    DTYPES = (torch.bool,)


def _expression(piece: str) -> SimpleNamespace:
    name, _, size = piece.rpartition("=")
    found = SimpleNamespace(identifier=name or piece, is_anonymous=piece == "...")
    found.is_named_multiaxis = piece.startswith("*")
    found.parsed_expression = [] if piece == "..." else [piece[1:]]
    if found.is_named_multiaxis:
        found.identifier = piece[1:]
    elif piece != "...":
        found.parsed_expression = [*_postfix(ast.parse(size, mode="eval").body)]
    return found


def _postfix(node: ast.expr) -> list[Any]:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return [*_postfix(left), *_postfix(right), _Operator(_SIGNS[type(op)])]
        case ast.Call(func=ast.Name(id=name), args=args):
            return [*(token for arg in args for token in _postfix(arg)), _Operator(name)]
        case ast.Constant(value=value):
            return [value]
        case ast.Name(id=name):
            return [name]
    raise AssertionError(node)


class TensorShape:
    """vLLM's shape of names and sizes."""

    def __init__(self, *dims: int | str, dynamic_dims: set[str] | None = None) -> None:
        self.dims, self.dynamic_dims = dims, dynamic_dims or set()


def _unchanged(*args: Any, **kwargs: Any) -> Any:
    """Return a decorator that changes nothing."""
    return lambda decorated: decorated


_STAND_INS: dict[str, dict[str, Any]] = {
    "torchtyping": {
        "TensorType": TensorType,
        "is_float": _FloatDetail(),
        "is_named": _IS_NAMED,
    },
    "dltype": {
        **{one.__name__: one for one in (TensorTypeBase, FloatTensor, IntTensor, BoolTensor)},
        "dltyped": _unchanged,
    },
    "vllm": {},
    "vllm.utils": {},
    "vllm.utils.tensor_schema": {"TensorShape": TensorShape},
}


def packages() -> dict[str, ModuleType]:
    """Return the packages by name, those that aren't installed made here."""
    return {name: _real(name) or _made(name, members) for name, members in _STAND_INS.items()}


def _real(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _made(name: str, members: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    for member in members.values():
        if isinstance(member, type):
            member.__module__ = name
    return module


def install(monkeypatch: Any) -> None:
    """Let programs import the packages for as long as a test runs."""
    for name, module in packages().items():
        monkeypatch.setitem(sys.modules, name, module)
