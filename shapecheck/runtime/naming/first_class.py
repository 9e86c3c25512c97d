"""Names and `functorch.dim`: what a first-class dimension was bound to is what `order` gives back.

A tensor with first-class dimensions is none of torch's tensors, and most of what is done to it
doesn't pass a function mode. So three functions of functorch's own are wrapped, once it is imported
and a decorated call is running: those behind indexing, assigning to an index, and `order`. They ask
the same rules as the static side.
"""

from __future__ import annotations

import ast
import sys
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import wraps
from types import EllipsisType, ModuleType, NoneType
from typing import Any, Final, TypeAlias

import torch

from shapecheck import explain
from shapecheck.dims import Kind, Sym, size_of, symbols
from shapecheck.dims.origins import FirstClass
from shapecheck.explain import Message
from shapecheck.hints import Operand
from shapecheck.ops import RULES, UNKNOWN, Call, Value
from shapecheck.ops.shape.first_class import bound_as, bound_to
from shapecheck.runtime.annotations.hints import dtype_mask
from shapecheck.runtime.errors import LOCK, ShapeError, error_like, own_fault
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.naming.arguments import HOLDERS, NUMBERS, by_class, each_in
from shapecheck.runtime.naming.batched import is_batched, is_dim, is_dim_list
from shapecheck.runtime.naming.call_names import CallNames, state
from shapecheck.runtime.naming.facts import ValueFacts, value_of
from shapecheck.runtime.naming.outcomes import Outcomes
from shapecheck.runtime.naming.records import Record, apart, dtype_of, record, sizes_of
from shapecheck.runtime.source import Place, user_place
from shapecheck.shapes import Free, Mismatch, Shape, Tensor

_compiling: Final = torch.compiler.is_dynamo_compiling


def record_of(frame: CallNames, value: Any) -> Record | None:
    """Return what a call knows of the axes of a tensor.

    Of one with first-class dimensions that is what it knows of the tensor underneath, which has
    them all as axes.
    """
    found = frame.of(value)
    if found is not None or not is_batched(value):
        return found
    whole = value._tensor
    known = None if whole is None else frame.of(whole)
    if known is None or known.sizes != sizes_of(whole):
        return None
    kept = [at for at, level in enumerate(value._levels) if level.is_positional()]
    return record(
        tuple(known.dims[at] for at in kept), tuple(known.sizes[at] for at in kept), known.values
    )


def left_over(frame: CallNames, subject: str, part: Any, whole: Any) -> Message | None:
    """Return what to say of a result that has dimensions which its function made for itself."""
    if not is_batched(part):
        return None
    told = whole if isinstance(whole, tuple) else ()
    own = [d for d in part.dims if d._level >= frame.born and not any(d is one for one in told)]
    if not own:
        return None
    question = _Question(frame)
    value = question.tensor(part)
    return explain.left_over(subject, value, [question.free(dim) for dim in own])


def install() -> None:
    """Follow functorch's dimensions from now on, if the program uses them."""
    if _wrapped or "functorch.dim" not in sys.modules:
        return
    from functorch.dim import _getsetitem, _order, _Tensor  # type: ignore[import-untyped]

    _wrapped.append(_order)
    _wrap(_getsetitem, "getitem", lambda args: _given_index(*args[3]), _get)
    _wrap(_getsetitem, "setitem", lambda args: (*_given_index(*args[:2]), args[2]), _set)
    _wrap(_order, "order", _given_order, _order_axes)
    _wrap(_Tensor, "index", lambda args: args, _index)


_wrapped: Final[list[ModuleType]] = []


def _given_index(owner: Any, index: Any) -> tuple[Any, Any]:
    """Return a tensor and its index, in which lists of dimensions are as long as they will be."""
    parts = index if isinstance(index, tuple) else (index,)
    lists = [part for part in parts if is_dim_list(part)]
    open_ = [part for part in lists if not part.is_bound]
    if len(open_) == 1 and not is_batched(owner) and not any(part is ... for part in parts):
        others = [part for part in parts if part is not open_[0] and part is not None]
        taken = sum(len(part) if is_dim_list(part) and part.is_bound else 1 for part in others)
        open_[0].bind_len(max(len(sizes_of(owner) or ()) - taken, 0))
    return owner, _spread(parts) if lists else index


def _given_order(args: Any) -> tuple[Any, Any]:
    """Return a tensor and its order, with the dimensions of lists in it."""
    return args[0], _spread(args[1:])


def _spread(parts: Sequence[Any]) -> tuple[Any, ...]:
    """Return parts of an index or an order with the dimensions of lists in their place."""
    return tuple(
        one for part in parts for one in (part if is_dim_list(part) and part.is_bound else (part,))
    )


def _wrap(
    home: ModuleType | type,
    name: str,
    given: Callable[[Any], Sequence[Any]],
    judge: Callable[[_Question, Sequence[Any]], Value],
) -> None:
    original = getattr(home, name)

    @wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        frame = state.frame
        if frame is None or kwargs or _compiling():
            return original(*args, **kwargs)
        operands = given(args)
        key = _Key(frame, judge)
        key.add(operands)
        if not key.dims:
            return original(*args)
        whole = tuple(key.parts)
        seen = _seen.get(whole)
        if seen is not None:
            result = original(*args)
            _tell(frame, seen, key.dims, result)
            return result
        question, known, refused = _asked(frame, judge, operands)
        if refused is not None and judge is not _order_axes:  # functorch compares no sizes
            cause = _refused_by(original, args) if judge is _get else None
            raise question.error(refused, operands, cause) from cause
        try:
            result = original(*args)
        except Exception as error:
            if refused is None:
                raise
            raise question.error(refused, operands, error) from error
        named = _name(frame, question, known, result)
        _seen.keep(whole, (named, tuple(_bound_to(frame, dim) for dim in key.dims)))
        return result

    setattr(home, name, wrapper)


def _refused_by(original: Callable[..., Any], args: Sequence[Any]) -> Exception | None:
    """Return what functorch raises of what changes nothing, None where it takes it."""
    try:
        original(*args)
    except Exception as error:  # noqa: BLE001 - its class is told
        return error
    return None


_Seen: TypeAlias = tuple["Record | None", tuple["Record | None", ...]]
_seen: Final[Outcomes[Hashable, _Seen]] = Outcomes(1 << 12)
"""What came of a use, by what decides it: the names of the result and of each dimension in it."""


class _Key:
    """What decides the outcome of a use, and the first-class dimensions in it, each once."""

    def __init__(self, frame: CallNames, judge: object) -> None:
        self.frame = frame
        self.parts: list[Any] = [judge]
        self.dims: list[Any] = []
        self._places: dict[int, int] = {}

    def add(self, value: Any) -> None:
        """Add an operand, or a part of one."""
        if is_dim(value):
            self._dim(value)
        elif is_batched(value):
            known = record_of(self.frame, value) or sizes_of(value)
            self.parts += (known, dtype_of(value._get_tensor()))
            self.add(value.dims)
        else:
            by_class(_ADD, value)(self, value)

    def tensor(self, value: torch.Tensor) -> None:
        """Add a tensor without first-class dimensions."""
        self.parts += (self.frame.of(value) or sizes_of(value), dtype_of(value))

    def row(self, value: Sequence[Any]) -> None:
        """Add a tuple or a list."""
        self.parts += (type(value), len(value))
        for part in value:
            self.add(part)

    def cut(self, value: slice) -> None:
        """Add a slice."""
        self.row((slice, value.start, value.stop, value.step))

    def itself(self, value: object) -> None:
        """Add what decides by its value."""
        self.parts += (type(value), value)

    def kind(self, value: object) -> None:
        """Add what decides by its class alone."""
        self.parts.append(type(value))

    def _dim(self, dim: Any) -> None:
        place = self._places.setdefault(id(dim), len(self.dims))
        if place == len(self.dims):
            self.dims.append(dim)
            self.parts += (dim._name, _bound_to(self.frame, dim) or dim._size)
        self.parts.append(place)


_ADD: Final[Mapping[type, Callable[[_Key, Any], None]]] = {
    object: _Key.kind,
    torch.Tensor: _Key.tensor,
    tuple: _Key.row,
    list: _Key.row,
    slice: _Key.cut,
    **dict.fromkeys((int, type, NoneType, EllipsisType), _Key.itself),
}


def _bound_to(frame: CallNames, dim: Any) -> Record | None:
    """Return the axis that a call knows a dimension to be bound to."""
    found = frame.bound.get(id(dim))
    return found[1] if found is not None and found[0]() is dim else None


def _tell(
    frame: CallNames,
    seen: _Seen,
    dims: Sequence[Any],
    result: Any,
) -> None:
    """Keep again what came of a use that was like this one."""
    named, axes = seen
    if named is not None:
        frame.name(result, named)
    for dim, axis in zip(dims, axes, strict=True):
        if axis is not None:
            frame.bound[id(dim)] = weakref.ref(dim), axis


def _asked(
    frame: CallNames,
    judge: Callable[[_Question, Sequence[Any]], Value],
    operands: Sequence[Any],
    by_number: bool = False,
) -> tuple[_Question, Value, Mismatch | None]:
    question = _Question(frame, by_number)
    try:
        with LOCK:
            return question, judge(question, operands), None
    except Mismatch as refused:
        if not by_number and question.open:
            return _asked(frame, judge, operands, by_number=True)
        return question, UNKNOWN, refused
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault("on first-class dimensions", error)
        return question, UNKNOWN, None


def _get(question: _Question, operands: Sequence[Any]) -> Value:
    owner, index = question.convert(operands[0]), question.index(operands[1])
    return RULES["getitem"](question.call, input=owner, index=index)


def _set(question: _Question, operands: Sequence[Any]) -> Value:
    owner, value = question.convert(operands[0]), question.convert(operands[2])
    index = question.index(operands[1])
    return RULES["setitem"](question.call, input=owner, index=index, value=value)


def _index(question: _Question, operands: Sequence[Any]) -> Value:
    owner, dims, indices = map(question.convert, operands)
    return RULES["dim.index"](question.call, input=owner, dims=dims, indices=indices)


def _order_axes(question: _Question, operands: Sequence[Any]) -> Value:
    owner, dims = map(question.convert, operands)
    return RULES["dim.order"](question.call, input=owner, dims=dims)


def _name(frame: CallNames, question: _Question, known: Value, result: Any) -> Record | None:
    """Keep what was learned: what dimensions are bound to, and the names of the result's axes."""
    try:
        question.keep()
        items = known.shape.known if isinstance(known, Tensor) else None
        found = None if items is None else sizes_of(result)
        if found is None or items is None or len(items) != len(found):
            return None
        shown = [
            size if value_of(item, question.values) != size else item
            for item, size in zip(items, found, strict=True)
        ]
        named = record(tuple(shown), found, question.values)
        frame.name(result, named)
        return named
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault("to name first-class dimensions", error)
        return None


class _Question:
    """One use of first-class dimensions, as the rules see it.

    A dimension of which only the size is known, since it was bound before the running call or its
    size was set, takes the name of the axis that it is bound to next: it is `open` until then.
    `by_number`: none is.
    """

    def __init__(self, frame: CallNames, by_number: bool = False) -> None:
        self.frame = frame
        self.by_number = by_number
        self.open: list[Free] = []
        self.values: dict[Sym, int] = {}
        self.facts = ValueFacts(self.values, strict=True)
        self.call = Call(self.facts, "")
        self.met: dict[int, tuple[Any, Free]] = {}

    def convert(self, value: Any) -> Value:
        """Return an argument as rules see it."""
        if is_dim(value):
            return self.free(value)
        if isinstance(value, torch.Tensor) or is_batched(value):
            return self.tensor(value)
        if isinstance(value, HOLDERS):
            return each_in(value, self.convert)
        plain = value is None or value is ... or isinstance(value, NUMBERS)
        return value if plain else UNKNOWN

    def index(self, value: Any) -> Value:
        """Return an index as rules see it."""
        parts = value if isinstance(value, tuple) else (value,)
        found = [self.free(p, True) if is_dim(p) else self.convert(p) for p in parts]
        return tuple(found) if isinstance(value, tuple) else found[0]

    def free(self, dim: Any, binds: bool = False) -> Free:
        """Return a dimension, with what the running call knows of it; `binds`: it is bound here."""
        found = self.met.get(id(dim))
        if found is not None:
            return found[1]
        free = Free(Sym(dim._name, Kind.UNKNOWN, FirstClass(len(self.met))))
        self.met[id(dim)] = dim, free
        known = _bound_to(self.frame, dim)
        if known is not None:
            self.facts.learn(free.symbol, size_of(known.dims[0]))
            bound_as(self.facts, free, known.dims[0])
            self.values.update(known.values)
        elif dim.is_bound and binds and not self.by_number:
            self.values[free.symbol] = dim.size
            self.open.append(free)
        elif dim.is_bound:
            self.facts.learn(free.symbol, dim.size)
        else:
            self.facts.learn(free.bound, 1)
        return free

    def tensor(self, value: Any) -> Tensor:
        """Return a tensor with the names that the running call knows."""
        batched = is_batched(value)
        free = tuple(self.free(dim) for dim in value.dims) if batched else ()
        found = sizes_of(value)
        if found is None:
            return Tensor(Shape.unknown(), free=free)
        known = record_of(self.frame, value)
        with DisableTorchFunction():
            held = value._get_tensor() if batched else value
            dtype = dtype_mask(held.dtype)
        if known is None or known.sizes != found:
            return Tensor(Shape(found), dtype, free=free)
        known = apart(known, self.values)
        self.values.update(known.values)
        return Tensor(Shape(known.dims), dtype, free=free)

    def keep(self) -> None:
        """Remember in the running call what dimensions are bound to, so far as it has names."""
        known = self.values.keys() - {free.symbol for free in self.open}
        for dim, free in self.met.values():
            item = bound_to(self.facts, free)
            if not symbols(item) or not symbols(item) <= known:
                continue
            axis = record((item,), (dim.size,), self.values) if dim.is_bound else None
            if axis is not None:
                self.frame.bound[id(dim)] = weakref.ref(dim), axis

    def error(
        self, refused: Mismatch, operands: Sequence[Any], cause: Exception | None
    ) -> ShapeError:
        """Return the exception for what a rule refuses, of the class of functorch's own."""
        place = user_place()
        label, node = _spelled(place)
        value = self.convert(operands[0])
        spoken = []
        if isinstance(value, Tensor) and isinstance(node, ast.Name) and place is not None:
            since = place.since(node.id)
            spoken.append(Operand("tensor", value, node.id, since))
        message = explain.operation(label, refused.problem, spoken)
        known: Mapping[str, int] = {s.name: v for s, v in self.values.items()}
        here = {**self.frame.names, **{k: v for k, v in known.items() if k not in self.frame.names}}
        where, words = None if place is None else str(place), "" if cause is None else str(cause)
        return error_like(cause)(message, here, where, words)


def _spelled(place: Place | None) -> tuple[str, ast.expr | None]:
    """Return what the user writes for indexing, assigning or `order`, and what it is done to."""
    match None if place is None else place.node:
        case ast.Subscript(value=value, ctx=ast.Load()):
            return "[...]", value
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            return name, value
    return "[...] =", None
