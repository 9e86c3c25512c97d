"""What operations by name are made of: finding the axes, calling torch, giving names.

What a name means is decided by `shapecheck.ops.named.naming` on the names that tensors carry, and
remembered by these: in the steady state it is one look-up, as an op's own rule is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import torch

from shapecheck import explain
from shapecheck.dims import Composite, Dim, DimExpr, Kind, Size, Sym, symbol_of
from shapecheck.dims.objects import alone
from shapecheck.dims.origins import NamedAgain, OfAnotherSize
from shapecheck.explain import Message
from shapecheck.hints import Operand
from shapecheck.named.holding import Holder, all_plain
from shapecheck.ops import UNKNOWN, Call, Other
from shapecheck.ops.saying import PYTHONS, said
from shapecheck.runtime.compiling import names_in_trace
from shapecheck.runtime.errors import LOCK, CarriedError, ShapeError, kind_of
from shapecheck.runtime.folders import lies_in
from shapecheck.runtime.internals import DisableTorchFunction, transforming
from shapecheck.runtime.naming import transforms
from shapecheck.runtime.naming.arguments import tensors_in
from shapecheck.runtime.naming.call_names import CallNames, state
from shapecheck.runtime.naming.facts import ValueFacts, value_of
from shapecheck.runtime.naming.lasting import known_in
from shapecheck.runtime.naming.lookup import kept
from shapecheck.runtime.naming.mode import thread_mode
from shapecheck.runtime.naming.op_errors import Spelled, syntax_of
from shapecheck.runtime.naming.outcomes import Outcomes
from shapecheck.runtime.naming.records import Record, apart, record
from shapecheck.runtime.source import Place, call_label, told_at_users_line, user_place
from shapecheck.shapes import Facts, Mismatch, Shape, Tensor, mismatch

T = TypeVar("T")
Name: TypeAlias = "str | Dim"
Names: TypeAlias = "str | Dim | Sequence[str | Dim]"
"""Dimensions: texts such as `"h w"`, `Dim` objects, or several of these."""

_KEPT: Final = 1 << 14
_plans: Outcomes[Hashable, Any] = Outcomes(_KEPT)
_compiling: Final = torch.compiler.is_compiling
_NEW: Final = object()


def record_of(tensor: torch.Tensor) -> Record | None:
    """Return the names that a tensor carries, None if it has none.

    Outside of decorated calls nothing sees an op that changes a tensor's shape in place.
    """
    frame = state.frame
    inside = frame is not None
    table = state.root.table if frame is None else frame.table
    found = table.get(id(tensor))
    if found is not None and found[0]() is tensor:
        known = found[1]
        return known if inside or tensor.shape == known.sizes else None
    if isinstance(tensor, torch.Tensor) and transforming() is not None:
        return transforms.inherited(tensor, table)
    if inside and isinstance(tensor, torch.Tensor):
        return _elsewhere(tensor)
    return None


def _elsewhere(tensor: torch.Tensor) -> Record | None:
    """Return the names of a tensor that outlived another call, or of a result outside of calls."""
    found = known_in(state.here, tensor)
    if found is None and _home_of(tensor) is state.root:
        found = state.root.of(tensor)
    return None if found is None or tensor.shape != found.sizes else found


def _home_of(tensor: torch.Tensor) -> CallNames:
    """Return where a tensor has its names.

    What only a result's function calls its dimensions is carried by no op outside of calls, and so
    isn't what operations by name give of it.
    """
    frame = state.here
    if frame is state.given and frame.of(tensor) is None and state.root.of(tensor) is not None:
        return state.root
    return frame


def meant(given: Any) -> Any:
    """Return an argument that names dimensions so that it can be looked up: hashable, no `Dim`.

    While torch.compile traces, all that is known of a dimension is its text.
    """
    kind = given.__class__
    if kind is str or given is None:
        return given
    if kind is Dim:
        return given.name if _compiling() else given.dim
    if isinstance(given, (tuple, list)):
        return tuple([meant(one) for one in given])
    return given if isinstance(given, _PLAIN) else Other(kind_of(given))


_PLAIN: Final = (str, int, float, complex, bytes, EllipsisType, Size, Composite, Other)


def new_name(given: Any) -> Any:
    """Return an argument that is to be a new name so that it can be looked up.

    What is neither a text nor a `Dim` comes out as what `ops.naming.fresh` refuses.
    """
    return given if isinstance(given, str | Dim) else Other(given_as(given))


def name_of(size: Size) -> Name:
    """Return what a dimension with a name is called by: its text, or the object that it is."""
    symbol = size.symbol
    assert symbol is not None
    return symbol.name if symbol == Sym(symbol.name) else alone(symbol)


def planned(plan: Callable[..., Any], tensors: Sequence[torch.Tensor], *args: Any) -> Any:
    """Return what a function of the tensors' shapes says, `plan(call, *shapes, *args)`.

    Raises `ShapeError` where it raises `Mismatch`.
    """
    if _compiling():
        names = tuple([names_in_trace.texts_of(tensor) for tensor in tensors])
        return planned_at_trace(plan, names, args)
    mode = state.mode
    frame = None if mode is None else mode.frame
    head: object = plan
    merged: Sequence[Composite] = ()
    if frame is None:
        found = kept(_plans, state.root.table, True, head, args, *tensors)
    else:
        if frame.plan is not None and frame.plan.merged:
            merged = frame.plan.merged
            head = (plan, merged)
        found = kept(_plans, frame.table, False, head, args, *tensors)
    if found is not None:
        return found
    records = [record_of(tensor) for tensor in tensors]
    key = _key((head, args), records, tensors)
    found = _plans.get(key, _NEW)
    if found is _NEW:
        found = _plans.keep(key, _planned(plan, tensors, records, args, merged))
    return found


@names_in_trace.constant
def planned_at_trace(
    plan: Callable[..., Any], names: Sequence[names_in_trace.Texts], args: Sequence[Any]
) -> Any:
    """Return what `planned` does, of tensors of which the names are known but not the sizes."""
    shapes = [names_in_trace.shape(one) for one in names]
    try:
        found = plan(Call(Facts(), plan.__name__.strip("_"), shapes), *shapes, *args)
        if found is None or found is UNKNOWN:
            reason = 'named(x, "...") gives names'
            raise mismatch(reason, "needs names that aren't known while torch.compile traces")
        return found
    except Mismatch as refused:
        problem = refused.problem
        text = f'"{plan.__name__.strip("_")}" {problem.headline}: {problem.reason}'
        raise ShapeError(Message(text, problem.code)) from None


def _key(head: Any, records: Sequence[Any], tensors: Sequence[Any]) -> Hashable:
    with DisableTorchFunction():
        sizes = [x.shape if isinstance(x, torch.Tensor) else None for x in tensors]
    return (*head, *(s if r is None else r for r, s in zip(records, sizes, strict=True)))


def _planned(
    plan: Callable[..., Any],
    tensors: Sequence[Any],
    records: Sequence[Record | None],
    args: Sequence[Any],
    merged: Sequence[Composite],
) -> Any:
    for tensor in tensors:
        tensor_only(tensor)
    place = user_place()
    values: dict[Sym, int] = {}
    shapes: list[Shape] = []
    with LOCK, DisableTorchFunction():
        for tensor, known in zip(tensors, records, strict=True):
            if known is None:
                shapes.append(Shape(tuple(tensor.shape)))
                continue
            own = apart(known, values)
            values.update(own.values)
            shapes.append(Shape(own.dims))
        if merged:
            asked = [one for one in merged if _speaks_of(args, one)]
            shapes = [_with_merged(shape, values, asked) for shape in shapes]
        try:
            call = Call(ValueFacts(values), label_at(place), shapes)
            return plan(call, *shapes, *args)
        except Mismatch as refused:
            raise _error(refused.with_traceback(None), shapes, place) from None


def tensor_only(given: object) -> None:
    """Refuse what is no tensor. Raises `ShapeError`."""
    if isinstance(given, Holder):
        refuse("a NamedTensor is given; write .tensor, or call its method", "takes a plain tensor")
    if not isinstance(given, torch.Tensor):
        refuse(f"{given_as(given)} isn't one", "takes a tensor")


def tensors_only(given: Any) -> list[torch.Tensor]:
    """Return the tensors of a list; refuse what is none. Raises `ShapeError`."""
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        refuse(f"{given_as(given)} isn't one", "takes a list of tensors")
    found = all_plain(given)
    for one in found:
        tensor_only(one)
    return found


def function_only(given: object) -> None:
    """Refuse what can't be called. Raises `ShapeError`."""
    if not callable(given):
        refuse(f"{given_as(given)} isn't one", "takes a function")


def given_as(value: object) -> str:
    """Return an argument as a message calls it."""
    if isinstance(value, Dim):
        return f'"{value}"'
    return said(value) if isinstance(value, (*PYTHONS, EllipsisType)) else kind_of(value)


def refuse(reason: str, headline: str) -> NoReturn:
    """Say of an operation by name what is wrong with how it is called. Raises `ShapeError`."""
    refuse_as(mismatch(reason, headline))


def refuse_as(refused: Mismatch) -> NoReturn:
    """Say it in the words that a rule has for it. Raises `ShapeError`."""
    place = None if _compiling() else user_place()
    raise _error(refused, (), place)


def _with_merged(shape: Shape, values: Mapping[Sym, int], merged: Sequence[Composite]) -> Shape:
    """Return a shape with the one merged dimension whose parts have no sizes as yet, if it can be.

    Nothing says how `(h d)` is divided where `h` stands nowhere else: such an axis has no name at
    run time. It is meant by it where it is the only one of which that is so.
    """
    open_ = [one for one in merged if value_of(one, values) is None]
    unnamed = [at for at, item in enumerate(shape.dims) if isinstance(item, int)]
    if len(open_) != 1 or len(unnamed) != 1:
        return shape
    return Shape(tuple(open_[0] if at in unnamed else item for at, item in enumerate(shape.dims)))


def _speaks_of(given: Any, merged: Composite) -> bool:
    if isinstance(given, tuple):
        return any(_speaks_of(one, merged) for one in given)
    return given == merged or (isinstance(given, str) and str(merged) in given)


def label_at(place: Place | None) -> str:
    """Return the operation as the user calls it."""
    return _spelled(place)[0]


def _spelled(place: Place | None) -> Spelled:
    """Return the operation as the user writes it, and the expressions of its operands."""
    frame, ours = sys._getframe(1), None
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        frame, ours = frame.f_back, frame
    name = "" if ours is None else ours.f_code.co_name
    node = None if place is None else place.node
    if not isinstance(node, ast.Call):
        return syntax_of(node) or (name, [])
    given: list[tuple[str, ast.expr | None]] = [("argument", one) for one in node.args]
    is_method = ours is not None and ours.f_code.co_filename.endswith(_METHODS)
    is_plain_method = False
    if name == _TORCHS and ours is not None:
        function = ours.f_locals["func"]
        name = function.__name__
        is_method = is_plain_method = function is getattr(torch.Tensor, name, None)
    if is_method and isinstance(node.func, ast.Attribute):
        given = [("tensor", node.func.value), *given]
    return name if is_plain_method else call_label(place, name), given


_is_ours: Final = lies_in(str(Path(__file__).parent))
_TORCHS: Final = "__torch_function__"
"""What torch calls where one of its functions, or a method of a plain tensor, is given a view."""
_METHODS: Final = tuple(f"{slash}{one}.py" for one in ("methods", "tensor") for slash in "/\\")


def _error(refused: Mismatch, shapes: Sequence[Shape], place: Place | None) -> ShapeError:
    label, nodes = _spelled(place)
    operands = []
    for index, shape in enumerate(shapes):
        role, node = nodes[index] if len(shapes) <= len(nodes) else ("argument", None)
        text = since = None
        if node is not None and not isinstance(node, (ast.Starred, ast.List, ast.Tuple)):
            text = ast.unparse(node)
            if place is not None and isinstance(node, ast.Name):
                since = place.since(node.id)
        operands.append(Operand(role, Tensor(shape), text, since))
    message = explain.operation(label, refused.problem, operands)
    return ShapeError(message, state.here.names, None if place is None else str(place))


def carry(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call a torch function so that its result has names, inside of a decorated call or not."""
    if _compiling():
        found: T = names_in_trace.carried(function, args, kwargs, True)
        return found
    mode = state.mode or thread_mode()
    frame = mode.frame
    if frame is not None:
        if frame is not state.given or state.root not in map(_home_of, tensors_in(args)):
            return function(*args, **kwargs)
        mode.frame = state.root
        try:
            return function(*args, **kwargs)
        finally:
            mode.frame = frame
    mode.frame = state.root
    try:
        return mode.__torch_function__(function, (), args, kwargs or None)  # type: ignore[no-any-return,no-untyped-call]
    finally:
        mode.frame = None


def unnamed(function: Callable[..., T], *args: Any) -> T:
    """Call a torch function so that its result has no names, inside of a decorated call or not."""
    mode = None if _compiling() else state.mode
    if mode is None or mode.frame is None:
        return function(*args)
    frame, mode.frame = mode.frame, None
    try:
        return function(*args)
    finally:
        mode.frame = frame


def apart_from(given: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    """Return what a function gave, a view of it if it is what it was given, that has its names.

    What is named then is the result alone.
    """
    if found is not given:
        return found
    return called(unnamed(torch.Tensor.view_as, found, found), (), like=found)


@contextmanager
def carrying() -> Iterator[None]:
    """Carry names through all torch ops inside of the block, also outside of decorated calls."""
    if _compiling():
        with names_in_trace.TRACE:
            yield
        return
    mode = state.mode or thread_mode()
    if mode.frame is not None:
        yield
        return
    mode.frame = state.root
    try:
        with mode:
            yield
    except CarriedError as carried:
        raise told_at_users_line(carried)  # noqa: B904 - it is the same error
    finally:
        mode.frame = None


def called(
    tensor: torch.Tensor,
    names: tuple[tuple[int, Name], ...],
    again: str | None = None,
    like: torch.Tensor | None = None,
) -> torch.Tensor:
    """Give some axes of a tensor, by their index, new names; return the tensor.

    The others have those of `like`, or of the tensor itself. `again` is a name that is given to
    another dimension than before, as in `split(x, h="h h2", h2=2)`. Raises `ShapeError` where the
    running call knows another one as another size.
    """
    if _compiling():
        texts = list(names_in_trace.texts_of(tensor if like is None else like))
        for axis, name in names:
            texts[axis] = name if isinstance(name, str) else name.name
        return names_in_trace.write(tensor, tuple(texts))
    before = tensor if like is None else like
    mode = state.mode
    inside = None if mode is None else mode.frame
    frame = inside or state.root
    if inside is state.given and _home_of(before) is state.root:
        frame, inside = state.root, None
    new = (again, names)
    found = kept(_renamed, frame.table, inside is None, frame.plan, new, before)
    if found is None or not found.holds(inside):
        known = record_of(before)
        with DisableTorchFunction():
            found = _rename(frame, known, tensor, names, again)
        if known is not None:
            _renamed.keep((frame.plan, new, known), found)
    frame.name(tensor, found.record)
    return tensor


@dataclass(frozen=True, slots=True)
class Renaming:
    """The names of a tensor after a renaming, and what symbols the new names stand for."""

    record: Record | None
    symbols: tuple[tuple[str, Sym, int], ...]

    def holds(self, frame: CallNames | None) -> bool:
        """Whether the names mean the same in a call; they are known there from then on."""
        if frame is None:
            return True
        for text, symbol, size in self.symbols:
            if frame.names.get(text, size) != size:
                return False
            if frame.symbols.setdefault(symbol, size) != size:
                return False
        return True


_renamed: Outcomes[Hashable, Renaming] = Outcomes(_KEPT)


def _rename(
    frame: CallNames,
    known: Record | None,
    tensor: torch.Tensor,
    names: tuple[tuple[int, Name], ...],
    again: str | None,
) -> Renaming:
    sizes = tuple(tensor.shape)
    found: list[DimExpr] = list(sizes if known is None else known.dims)
    values = {} if known is None else dict(known.values)
    symbols: list[tuple[str, Sym, int]] = []
    for axis, name in names:
        size = sizes[axis]
        if again is not None and name == again:
            symbol = Sym(again, Kind.NAME, NamedAgain(size))
            found[axis], values[symbol] = Size.of(symbol), size
            continue
        symbol = _symbol(frame, name, size)
        values[symbol] = size
        found[axis] = Size.of(symbol)
        symbols.append((name if isinstance(name, str) else name.name, symbol, size))
    return Renaming(record(tuple(found), sizes, values), tuple(symbols))


def settled(tensor: torch.Tensor, like: torch.Tensor, axes: Sequence[int | None]) -> torch.Tensor:
    """Give a tensor the names that axes of another one have, None for no name; return it."""
    if _compiling():
        texts = names_in_trace.texts_of(like)
        return names_in_trace.write(
            tensor, tuple([None if at is None else texts[at] for at in axes])
        )
    known = record_of(like)
    if known is not None:
        with DisableTorchFunction():
            sizes = tuple(tensor.shape)
            found = [
                size if at is None else known.dims[at] for at, size in zip(axes, sizes, strict=True)
            ]
            _home_of(like).name(tensor, record(tuple(found), sizes, known.values))
    return tensor


def _symbol(frame: CallNames, name: Name, size: int) -> Sym:
    """Return what a name, or a dimension object, is inside of shapes in a call.

    Under one name that the call's annotations don't have there may be several sizes.
    """
    if isinstance(name, Dim):
        dim, text = name.dim, name.name
        symbol = symbol_of(dim)
        if symbol is None:
            raise TypeError(f"a dimension can't be called {name!r}: it is computed from others")
        known = name.size if isinstance(name.size, int) else frame.symbols.get(symbol, size)
    else:
        symbol, text = (Sym(name) if frame.plan is None else frame.plan.symbol(name)), name
        known = frame.names.get(text, size)
    if known != size:
        place = user_place()
        problem = f'can\'t call a dimension of size {size} "{text}": "{text}" is {known} here'
        message = Message(f'"{label_at(place)}" {problem}')
        raise ShapeError(message, frame.names, None if place is None else str(place))
    if frame is state.root:
        return symbol
    if frame.symbols.setdefault(symbol, size) != size:
        symbol = Sym(symbol.name, symbol.kind, OfAnotherSize(symbol.origin, size))
        frame.symbols[symbol] = size
    return symbol
