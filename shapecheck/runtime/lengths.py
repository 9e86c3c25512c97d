"""Which dimension a plain int in the user's code is: `t` in `b, t, d = x.shape; y.view(b, t, -1)`.

At run time `x.shape` holds ints, which know nothing of names. So each reading of a shape is noted
by where it stands in the code; and where a size is passed to an op, its expression is followed back
in the source to the readings that it is made of. That is done once for a place in the code. What
was followed counts only if it comes to the very number that is passed.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

import torch

import shapecheck.dims as dims
from shapecheck.dims import DimExpr, Size, Sym, size_of
from shapecheck.ops.source import bindings
from shapecheck.runtime.facts import MIXED, marked, value_of
from shapecheck.runtime.names import Frame, Record
from shapecheck.runtime.source import FUNCTIONS, function_of, own_syntax, span_at, users_frame

READ: Final[frozenset[Any]] = frozenset(
    (torch.Tensor.shape.__get__, torch.Tensor.size, torch.Tensor.__len__)  # type: ignore[attr-defined]
)
"""What gives the sizes of a tensor."""

GIVEN: Final[frozenset[Any]] = frozenset(
    getattr(owner, name)
    for owner, names in (
        (
            torch,
            "arange broadcast_to empty eye full linspace normal ones rand randint randn randperm "
            "reshape split tile unflatten zeros",
        ),
        (
            torch.Tensor,
            "broadcast_to expand new_empty new_full new_ones new_zeros repeat reshape split tile "
            "unflatten view",
        ),
    )
    for name in names.split()
)
"""Ops that take sizes."""

_IN_PYTHON: Final = frozenset(func for func in GIVEN | READ if isinstance(func, FunctionType))
"""What is called by torch's own code, not by the user's."""

_NOTED: Final = 4096
Place = tuple[int, int]
"""The id of code, and an offset in it."""
Passed = tuple[Any, ...]
"""What decides which sizes are passed: a `CallPlace`, the plan whose parameters count and their
values, and records."""
Told = Any
"""What is known of an argument: a dimension, a tuple of such, or None."""


@dataclass(frozen=True, eq=False, slots=True)
class CallPlace:
    """A call in the source: its arguments, and which readings the sizes in them come from.

    `reads` are the offsets in the bytecode at which each reading may stand, `index` says which
    expression is which. `values` are the local variables that are assigned once, with the place of
    each among what is assigned, and `params` parameters that never are.
    """

    call: ast.Call
    reads: tuple[tuple[int, ...], ...]
    index: Mapping[ast.AST, int]
    values: Mapping[str, tuple[ast.expr, int | None]]
    params: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lengths:
    """What is known of the sizes that are passed at one place.

    `records` are what the readings were of; `frame` is the call whose parameters count.
    """

    place: CallPlace
    records: tuple[Record | None, ...]
    frame: Frame | None

    def values(self) -> dict[Sym, int]:
        """Return the values of all symbols in what is told."""
        found: dict[Sym, int] = {}
        for one in self.records:
            found.update(one.values if one is not None else {})
        if self.frame is not None:
            found.update(self.frame.symbols)
        return found

    def told(
        self, args: list[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], bool]:
        """Return an op's arguments with dimensions in the place of numbers that are known.

        Third, whether nothing is left that may be one: the other numbers stand in the source.
        """
        given = [self._spread(node) for node in self.place.call.args]
        flat = [one for part in given for one in part]
        known = self.values()
        behind = len(args) - len(flat)  # the tensor itself comes first where it is a method
        if behind not in (0, 1):
            flat = []
        found = [
            _fitted(arg, flat[i - behind], known) if 0 <= i - behind < len(flat) else arg
            for i, arg in enumerate(args)
        ]
        named = {one.arg: one.value for one in self.place.call.keywords if one.arg is not None}
        told = {name: self._tell(named[name]) for name in kwargs if name in named}
        words = {name: _fitted(arg, told.get(name), known) for name, arg in kwargs.items()}
        behind = len(args) - len(flat)
        sure = all(
            _is_sure(one, flat[i - behind] if 0 <= i - behind < len(flat) else None)
            for i, one in enumerate(found)
        ) and all(_is_sure(one, told.get(name)) for name, one in words.items())
        return found, words, sure

    def _spread(self, node: ast.expr) -> list[Told]:
        if not isinstance(node, ast.Starred):
            return [self._tell(node)]
        inside = self._tell(node.value)
        return list(inside) if isinstance(inside, tuple) else [None]

    def _tell(self, node: ast.expr, depth: int = 0) -> Told:
        """Return the dimension, or the tuple of them, that an expression is."""
        if depth > 8:
            return None
        if node in self.place.index:
            return self._read(node)
        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return number
            case ast.Name(id=name) if name in self.place.values:
                value, at = self.place.values[name]
                whole = self._tell(value, depth + 1)
                return whole if at is None else _item(whole, at)
            case ast.Name(id=name):
                return self._parameter(name)
            case ast.Tuple() | ast.List():
                parts = [self._spread(item) for item in node.elts]
                return tuple(one for part in parts for one in part)
            case ast.Subscript(value=value, slice=part):
                return _item(self._tell(value, depth + 1), _literal(part))
            case ast.BinOp(left=left, op=op, right=right):
                return _computed(op, self._tell(left, depth + 1), self._tell(right, depth + 1))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _computed(ast.Sub(), 0, self._tell(operand, depth + 1))
            case _:
                return None

    def _read(self, node: ast.AST) -> Told:
        found = self.records[self.place.index[node]]
        if found is None:
            return None
        whole = tuple(None if _unclear(dim) else dim for dim in found.dims)
        if _is_len(node):
            return _item(whole, 0)
        if isinstance(node, ast.Call) and node.args:
            return _item(whole, _literal(node.args[0]))
        return whole

    def _parameter(self, name: str) -> Told:
        """An int parameter that is called like a dimension of the signature is that dimension."""
        if self.frame is None or name not in self.place.params:
            return None
        size: Size = self.frame.plan.size(name)
        return size if size.symbol in self.frame.symbols else None


class Readings:
    """The shapes that the user's code has read, by where; one object for a thread.

    What is noted and what is passed are kept by the code's identity: to hash code takes longer than
    most ops. It is held on to, so that nothing else gets its id.
    """

    def __init__(self) -> None:
        self.noted: dict[Place, tuple[CodeType, int, Record]] = {}
        self.places: dict[Place, tuple[CodeType, CallPlace | None]] = {}

    def note(self, func: Any, caller: FrameType, known: Record | None) -> None:
        """Note what is known of a tensor whose sizes are read here."""
        if func in _IN_PYTHON:
            caller = users_frame(caller) or caller
        caller = _behind_modes(caller)
        code = caller.f_code
        where = (id(code), caller.f_lasti)
        if known is None:
            self.noted.pop(where, None)
            return
        if len(self.noted) >= _NOTED:
            self.noted.clear()
        self.noted[where] = (code, id(caller), known)

    def at(self, func: Any, caller: FrameType, frame: Frame) -> Passed | None:
        """Return what decides which sizes are passed here, None if nothing is known of them."""
        if func in _IN_PYTHON:
            caller = users_frame(caller) or caller
        caller = _behind_modes(caller)
        code = caller.f_code
        offset = caller.f_lasti
        found = self.places.get((id(code), offset))
        if found is None:
            if len(self.places) >= _NOTED:
                self.places.clear()
            found = self.places[id(code), offset] = code, _call_place(code, offset)
        place = found[1]
        if place is None:
            return None
        plan = frame.plan if place.params and frame.plan and frame.plan.code is code else None
        records = [self._record(code, offsets, id(caller)) for offsets in place.reads]
        if plan is None:
            return (place, None, (), *records) if any(records) else None
        values = tuple([frame.symbols.get(plan.symbol(name)) for name in place.params])
        return (place, plan, values, *records)

    def _record(self, code: CodeType, offsets: tuple[int, ...], caller: int) -> Record | None:
        for offset in offsets:
            found = self.noted.get((id(code), offset))
            if found is not None and found[1] == caller:
                return found[2]
        return None


def _behind_modes(caller: FrameType) -> FrameType:
    """Return the user's frame, where a mode such as `torch.device(...)` stands between."""
    if caller.f_code.co_name == "__torch_function__":
        return users_frame(caller) or caller
    return caller


def lengths_of(passed: Passed, frame: Frame) -> Lengths:
    """Return what is known of the sizes that are passed in a call."""
    place, plan, _, *records = passed
    return Lengths(place, tuple(records), None if plan is None else frame)


def _call_place(code: CodeType, offset: int) -> CallPlace | None:
    """Look at the call that stands at an offset; None where no size in it can be followed."""
    if code.co_name.startswith("<") or not hasattr(code, "co_positions"):
        return None
    tree = function_of(code)
    span = span_at(code, offset)
    function = next((n for n in ast.walk(tree) if isinstance(n, FUNCTIONS)), None) if tree else None
    if function is None or span is None:
        return None
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and _span(n) == span]
    if len(calls) != 1:
        return None
    finder = _Finder(function)
    for part in (*calls[0].args, *(one.value for one in calls[0].keywords)):
        finder.follow(part)
    if not finder.reads and not finder.params:
        return None
    offsets: dict[Any, list[int]] = {}
    places = list(code.co_positions())
    for instruction in dis.get_instructions(code):
        offset = instruction.offset
        offsets.setdefault(places[offset // 2], []).append(offset)
    reads = tuple(tuple(offsets.get(_span(node), ())) for node in finder.reads)
    index = {node: at for at, node in enumerate(finder.reads)}
    return CallPlace(calls[0], reads, index, finder.values, frozenset(finder.params))


@dataclass(slots=True)
class _Finder:
    """Follows expressions to the readings that they are made of, in one function."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    values: dict[str, tuple[ast.expr, int | None]] = field(default_factory=dict)
    reads: list[ast.AST] = field(default_factory=list)
    params: set[str] = field(default_factory=set)

    def follow(self, node: ast.expr) -> None:
        """Collect what an expression is made of."""
        if isinstance(node, ast.Starred):
            return self.follow(node.value)
        if _reads(node):
            if node not in self.reads:
                self.reads.append(node)
            return None
        match node:
            case ast.Name(id=name) if name not in self.values and name not in self.params:
                self._variable(name)
            case ast.Tuple() | ast.List():
                for item in node.elts:
                    self.follow(item)
            case ast.Subscript(value=value):
                self.follow(value)
            case ast.BinOp(left=left, right=right):
                self.follow(left)
                self.follow(right)
            case ast.UnaryOp(operand=operand):
                self.follow(operand)
        return None

    def _variable(self, name: str) -> None:
        """Follow a variable that is bound just once; elsewhere it may be anything."""
        bound = bindings(self.function, name)
        if len(bound) != 1:
            return
        if isinstance(bound[0], ast.arg):
            if bound[0] in _own_arguments(self.function):
                self.params.add(name)
            return
        for statement in own_syntax(self.function):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                at = _place_in(statement.targets[0], name)
                if at is not None:
                    self.values[name] = (statement.value, at if at != _WHOLE else None)
                    self.follow(statement.value)


_WHOLE: Final = 1 << 20


def _place_in(target: ast.expr, name: str) -> int | None:
    """Return where among what is assigned a variable stands, `_WHOLE` if it is all of it."""
    if isinstance(target, ast.Name):
        return _WHOLE if target.id == name else None
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    stars = [i for i, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
    for i, item in enumerate(target.elts):
        if isinstance(item, ast.Name) and item.id == name:
            return i if not stars or i < stars[0] else i - len(target.elts)
    return None


def _own_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def _reads(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="shape", ctx=ast.Load()):
            return True
        case ast.Call(func=ast.Attribute(attr="size"), args=args, keywords=[]):
            return len(args) < 2
        case _:
            return _is_len(node)


def _is_len(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[_], keywords=[]):
            return True
    return False


def _span(node: Any) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


# Values -------------------------------------------------------------------------------------------


def _unclear(dim: DimExpr) -> bool:
    return any(marked(symbol, MIXED) for symbol in dims.symbols(dim))


def _literal(node: ast.expr) -> int | slice | None:
    """Return the number or the slice that an index is written as."""
    try:
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if one is None else ast.literal_eval(one) for one in parts))
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return found if isinstance(found, int) else None


def _item(whole: Told, at: int | slice | None) -> Told:
    if not isinstance(whole, tuple) or at is None:
        return None
    try:
        return whole[at]
    except (IndexError, TypeError, ValueError):
        return None


def _computed(op: ast.operator, left: Told, right: Told) -> Told:
    if left is None or right is None or isinstance(left, tuple) or isinstance(right, tuple):
        return None
    a, b = size_of(left), size_of(right)
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv() if b != 0:
            return dims.floordiv(a, b)
        case _:
            return None


def _fitted(actual: Any, told: Told, values: Mapping[Sym, int]) -> Any:
    """Return what is told of an argument, as far as it comes to the actual number."""
    if isinstance(actual, tuple | list):
        if not isinstance(told, tuple) or len(told) != len(actual):
            return actual
        return [_fitted(one, dim, values) for one, dim in zip(actual, told, strict=True)]
    if type(actual) is not int or told is None or isinstance(told, int | tuple):
        return actual
    return told if value_of(told, values) == actual else actual


def _is_sure(found: Any, told: Told) -> bool:
    """Whether an argument has no number in it that may be anything, by what is told of it."""
    if isinstance(found, tuple | list):
        parts = told if isinstance(told, tuple) and len(told) == len(found) else [None] * len(found)
        return all(_is_sure(one, part) for one, part in zip(found, parts, strict=True))
    return type(found) is not int or found == told


def is_told(value: Any) -> bool:
    """Whether sizes are all told of, but for 1 and the -1 that is left to the op."""
    if isinstance(value, tuple | list):
        return all(is_told(one) for one in value)
    return isinstance(value, Size | dims.Composite) or value in (1, -1)
