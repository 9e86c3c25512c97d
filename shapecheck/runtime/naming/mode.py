"""Carries names through torch's ops: a torch function mode that asks the op rules.

In the steady state an op is one look-up: the function, the records of its named operands, the
sizes of the others and the plain arguments lead to the record of the result. Rules run only for
what wasn't seen before.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

from shapecheck.dims import Sym
from shapecheck.ops import UNKNOWN, Repeated, Value
from shapecheck.runtime.errors import LOCK, CarriedError, ShapeError, own_fault
from shapecheck.runtime.internals import transforming
from shapecheck.runtime.naming import fast_paths, first_class, op_errors, ops, transforms
from shapecheck.runtime.naming.by_names import Names, names_in
from shapecheck.runtime.naming.call_names import CallMode, CallNames, state
from shapecheck.runtime.naming.facts import simplest, value_of
from shapecheck.runtime.naming.int_origins import (
    CUTTING,
    GIVEN,
    JOINING,
    READ,
    SPLITTING,
    Passed,
    Readings,
    is_by_number,
    leaves_a_rest,
    numbers,
    passed_sizes,
    tells,
    untold,
)
from shapecheck.runtime.naming.keys import GETITEM, PLAIN, SETITEM, Key, Placed, key_of
from shapecheck.runtime.naming.lasting import lasting, meet
from shapecheck.runtime.naming.lookup import Lookup, keep, kinds
from shapecheck.runtime.naming.op_calls import Question
from shapecheck.runtime.naming.outcomes import Outcomes
from shapecheck.runtime.naming.outer_products import outer
from shapecheck.runtime.naming.records import Record, Table, record, sizes_of
from shapecheck.runtime.naming.regroup import (
    REGROUPING,
    crossed,
    cut_by_numbers,
    in_place,
    regrouped,
    shared_out,
    solved,
    split_by_numbers,
)
from shapecheck.shapes import Mismatch, Run
from shapecheck.shapes import Tensor as Known

_compiling: Final = torch.compiler.is_dynamo_compiling
_levels: Final = transforms.levels
_NEW: Final = object()
_DROP: Final = object()
_WRITES: Final = object()
_REFUSED: Final = object()
_READ: Final = object()


class _Likely:
    """The record of a result whose sizes may come out otherwise next time."""

    __slots__ = ("record",)

    def __init__(self, known: Record) -> None:
        self.record = known


class _Blind:
    """The outcome of an op that counts padding, and what is said of it where nobody minds it."""

    __slots__ = ("outcome", "symbol")

    def __init__(self, outcome: object, symbol: Sym) -> None:
        self.outcome, self.symbol = outcome, symbol


_cache: Outcomes[object, object] = Outcomes(1 << 14)
"""From an op's key to its outcome.

A `Record` (the result's, whose sizes follow from the key), a `_Likely`, a tuple of records and
Nones (of a result that is a tuple), None (the result has no names), False (it is no tensor),
`_DROP` (an operand loses its names), `_WRITES` (data gets into the first operand), `_REFUSED`, or
one of these in a `_Blind`.
"""


class NamesMode(CallMode):
    """The mode of one thread; `frame` is the decorated call that is running."""

    def __init__(self) -> None:
        super().__init__()
        self.readings = Readings()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        # In one piece: each function that this would call costs every op of the program its call.
        frame = self.frame
        if frame is None or (kwargs is not None and _compiling()):  # dynamo passes a dict
            return func(*args, **kwargs) if kwargs else func(*args)
        if lookup is not None:
            result = lookup(self, frame, func, args, kwargs)
            if result is not lookup:
                return result
        if lasting and _meet(frame, func, args, kwargs or {}) and lookup is not None:
            result = lookup(self, frame, func, args, kwargs)
            if result is not lookup:
                return result
        outcome: object = None
        key: Key | None = None
        passed: Passed | None = None
        try:
            if func in READ:
                frame.read = True
                self.readings.note(func, sys._getframe(1), transforms.known(args[0], frame.table))
                outcome = _READ
            else:
                if (frame.read and func in GIVEN) or (
                    func in SPLITTING and leaves_a_rest(sys._getframe(1), args, kwargs)
                ):
                    passed = self.readings.at(func, sys._getframe(1), frame)
                key = key_of(func, args, kwargs or {}, frame, passed)
                outcome = False if key is None else _cache.get(key, _NEW)
                if key is not None and outcome is _NEW and is_by_number(func, args):
                    outcome = Placed(key)
                    _cache.keep(key, outcome)
            if outcome is False and func is GETITEM and frame.read and is_by_number(func, args):
                passed = self.readings.at(func, sys._getframe(1), frame)
                if tells(passed):
                    key = key_of(func, args, kwargs or {}, frame, passed)
                    outcome = _cache.get(key, _NEW)
            if type(outcome) is Placed:
                passed = self.readings.at(func, sys._getframe(1), frame)
                key = (outcome, passed)
                outcome = _cache.get(key, _NEW)
        except Exception as error:  # noqa: BLE001 - a defect here must not break the call
            _fault(func, error)
            if ops.writes(func, kwargs or {}):
                _drop(frame, None, args, kwargs or {})
            outcome = False
        if outcome is False:
            return func(*args, **kwargs) if kwargs else func(*args)
        if type(outcome) is Record or outcome is _READ:
            try:
                result = func(*args, **kwargs) if kwargs else func(*args)
            except Exception as error:
                _retell(error, frame, func, args, kwargs or {})
                raise
            if type(outcome) is not Record:
                return result
            try:
                keep(frame.table, result, outcome)
            except Exception as error:  # noqa: BLE001 - a defect here must not break the call
                _fault(func, error)
        else:
            result = _other(frame, outcome, key, func, args, kwargs or {}, passed)
        if _levels:
            _hand_down(result, args, kwargs, frame.table)
        return result


def _meet(
    frame: CallNames, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    """Name what among an op's arguments outlived another call; return whether anything did."""
    try:
        return meet(frame, (*args, *kwargs.values()))
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        _fault(func, error)
        return False


def _fault(func: Callable[..., Any], error: Exception) -> None:
    """Report a defect of ours on an op, which goes on without names."""
    own_fault(f"on {getattr(func, '__name__', func)}", error)


def _hand_down(
    result: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None, table: Table
) -> None:
    """Name what is underneath of a result inside of a transform."""
    try:
        if transforming() is not None:
            transforms.hand_down(result, (*args, *(kwargs or {}).values()), table)
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        own_fault("inside of a transform", error)


def _run(
    frame: CallNames, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run an op; where it fails and its rule says why, raise that."""
    try:
        return func(*args, **kwargs)
    except Exception as error:
        _retell(error, frame, func, args, kwargs)
        raise


def _other(
    frame: CallNames,
    outcome: object,
    key: Key | None,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    passed: Passed | None,
) -> Any:
    """Run an op whose outcome is no certain record, or isn't known yet."""
    if outcome is _NEW or outcome is _REFUSED:
        return _first_time(frame, key, func, args, kwargs, passed)
    if isinstance(outcome, _Blind):
        op_errors.caution(frame, func, outcome.symbol)
        outcome = outcome.outcome
    result = _run(frame, func, args, kwargs)
    try:
        _named_again(frame, outcome, result, args, kwargs)
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        _fault(func, error)
    return result


def _named_again(
    frame: CallNames, outcome: object, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Give what an op returned the names that it had before, as far as these are still right."""
    if outcome is _DROP:
        _drop(frame, result, args, kwargs)
    elif outcome is _WRITES:
        _written(frame, args[0])
    else:
        _name_if_current(frame, outcome, result)


def _name_if_current(frame: CallNames, outcome: object, result: Any) -> None:
    """Give a result its names, where its sizes are the same again."""
    if isinstance(outcome, _Likely):
        if sizes_of(result) == outcome.record.sizes:
            frame.name(result, outcome.record)
    elif isinstance(outcome, tuple) and isinstance(result, tuple | list):
        for item, known in zip(result, outcome, strict=False):
            if known is not None and isinstance(item, torch.Tensor):
                if sizes_of(item) == known.sizes:
                    frame.name(item, known)


def _written(frame: CallNames, tensor: torch.Tensor) -> None:
    """Note that data was put into a tensor."""
    known = frame.of(tensor)
    if known is not None:
        frame.name(tensor, known.written())


def _drop(frame: CallNames, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in (result, *args[:1], kwargs.get("out")):
        if isinstance(value, torch.Tensor):
            frame.forget(value)


def _first_time(
    frame: CallNames,
    key: Key | None,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    passed: Passed | None,
) -> Any:
    """Run an op, by what it gave to these names before, or ask its rule; remember the outcome."""
    names = _names(key, func, kwargs)
    result: Any = _NEW
    if names is not None and names.before is not None:
        result = _run(frame, func, args, kwargs)
        if _is_as_before(frame, key, names, result, func):
            return result
    said = _Answer(names=names)
    refusal: ShapeError | None = None
    try:
        first_class.install()
        said.moved = ops.reshapes_in_place(func)
        with LOCK:
            said.asked = Question(frame, func, args, kwargs)
            refusal = _refusal(said, said.asked, passed)
        if refusal is not None:
            _cache.keep(key, _REFUSED)
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        _fault(func, error)
    if refusal is not None:
        try:
            raise refusal from None
        finally:
            del refusal  # which would keep this frame, and the tensors in it
    if result is _NEW:
        result = _run(frame, func, args, kwargs)
    try:
        _learn(frame, key, said, result, func, args, kwargs)
    except Warning:  # they may be asked to be errors
        raise
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        _fault(func, error)
    return result


def _names(key: Key | None, func: Callable[..., Any], kwargs: dict[str, Any]) -> Names | None:
    """Return the names in an op's key; None where the op writes: it can't be judged once it ran."""
    try:
        if key is None or ops.writes(func, kwargs) or ops.reshapes_in_place(func):
            return None
        return names_in(key)
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        _fault(func, error)
        return None


def _is_as_before(
    frame: CallNames, key: Key | None, names: Names, result: Any, func: Callable[..., Any]
) -> bool:
    """Give a result the names that the op gave before, if it has the sizes of these."""
    try:
        outcome = names.outcome(result)
        if outcome is None:
            return False
        _name(frame, result, outcome)
        if isinstance(outcome, Record) and not names.is_certain:
            _cache.keep(key, _Likely(outcome))
        else:
            _cache.keep(key, outcome)
        frame.sweep()
    except Exception as error:  # noqa: BLE001 - a defect here must not break the call
        _fault(func, error)
        return False
    return True


def _refusal(said: _Answer, asked: Question, passed: Passed | None) -> ShapeError | None:
    """Ask the rule; return what to raise where an op can't be by the names."""
    try:
        said.known = _asked(asked, passed)
    except Mismatch as refused:
        if _is_certain(asked, refused):
            found = outer(asked, refused.problem)
            if found is None:
                return op_errors.op_error(asked.frame, asked, refused.problem, None)
            said.known, said.lasting = found, False
    return None


def _learn(
    frame: CallNames,
    key: Key | None,
    said: _Answer,
    result: Any,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Give a result its names, and remember the outcome."""
    try:
        outcome = said.outcome(result)
    except Exception as error:  # noqa: BLE001 - names that others have may be wrong from now on
        _fault(func, error)
        outcome = None
    if said.moved or (outcome is None and ops.writes(func, kwargs)):
        _drop(frame, result, args, kwargs)
        if isinstance(outcome, Record) and isinstance(result, torch.Tensor):
            frame.name(result, outcome)
        outcome = _NEW if isinstance(outcome, Record) else _DROP
    elif func is SETITEM and said.is_blank:
        _written(frame, args[0])
        outcome = _WRITES
    else:
        _name(frame, result, outcome)
    if said.lasting and outcome is not _NEW:
        kept = _cache.keep(key, said.kept(outcome, result))
        if said.names is not None and not isinstance(kept, _Blind):
            said.names.keep(outcome, certain=kept is outcome)
    frame.sweep()


@dataclass(slots=True)
class _Answer:
    """What a rule said of an op.

    `moved`: an operand gets other axes. `lasting`: it is the same for the next call like this one.
    `names` are those of the op's key, where it may be the same for other sizes of these.
    """

    asked: Question | None = None
    known: Value = UNKNOWN
    moved: bool = False
    lasting: bool = True
    names: Names | None = None

    @property
    def is_blank(self) -> bool:
        """Whether no data is in the first operand."""
        return self.asked is not None and bool(self.asked.known) and self.asked.known[0].blank

    def outcome(self, result: Any) -> object:
        """Return the records of what the op gave."""
        if self.asked is None:
            return None
        found = _outcome(self.known, result, self.asked.values)
        if self.asked.func in REGROUPING and isinstance(result, torch.Tensor):
            return _regrouped(self.asked, found, result)
        return found

    def kept(self, outcome: object, result: Any) -> object:
        """Return an outcome as it is remembered, and warn where the op counts padding."""
        if self.asked is None:
            return outcome
        symbol = self.asked.padded(self.known)
        if isinstance(outcome, Record):  # `CallNames.name` must see a parameter
            sure = symbol is None and _decided(self.known, self.asked.values)
            if not sure or isinstance(result, torch.nn.Parameter):
                outcome = _Likely(outcome)
        if symbol is None:
            holds = isinstance(result, torch.Tensor | tuple | list)
            return outcome if holds or outcome is not None else False
        op_errors.caution(self.asked.frame, self.asked.func, symbol)
        return _Blind(outcome, symbol)


def _asked(asked: Question, passed: Passed | None) -> Value:
    """Return what the rule says, told of the sizes that are known to be passed."""
    if passed is not None:
        asked.tell(passed_sizes(passed, asked.frame))
    elif asked.func in CUTTING:
        asked.args[1:2] = [untold(asked.func, arg) for arg in asked.args[1:2]]
    if asked.func in CUTTING:
        asked.values.update(numbers(asked.given))
    return asked.named_surely(asked.answer())


def _is_certain(asked: Question, refused: Mismatch) -> bool:
    """Whether an op can't be by the names: a view's sizes are plain numbers, see `regroup`."""
    certain = asked.func not in REGROUPING or asked.told
    return certain and asked.by_names(refused.problem)


def _name(frame: CallNames, result: Any, outcome: object) -> None:
    """Give what an op returned its names."""
    if isinstance(outcome, Record):
        frame.name(result, outcome)
    elif isinstance(outcome, tuple):
        for item, part in zip(result, outcome, strict=False):
            if part is not None:
                frame.name(item, part)


def _outcome(known: Value, result: Any, values: Mapping[Any, int]) -> object:
    """Return the records of a result from what a rule says of it and what it really is."""
    if isinstance(known, Known) and isinstance(result, torch.Tensor):
        return _record(known, result, values)
    if isinstance(known, Repeated) and isinstance(result, tuple | list):
        known = [known.element] * len(result)
    if isinstance(known, tuple | list) and isinstance(result, tuple | list):
        if len(known) != len(result):
            return None
        parts = tuple(
            _record(one, item, values)
            if isinstance(one, Known) and isinstance(item, torch.Tensor)
            else None
            for one, item in zip(known, result, strict=True)
        )
        return parts if any(part is not None for part in parts) else None
    return None


def _decided(known: Value, values: Mapping[Any, int]) -> bool:
    """Whether a rule said all sizes of a result, so that they are the same another time."""
    return isinstance(known, Known) and all(
        not isinstance(item, Run) and value_of(item, values) is not None
        for item in known.shape.dims
    )


def _regrouped(asked: Question, outcome: object, result: torch.Tensor) -> Record | None:
    """Mark the axes of a view that cut across dimensions.

    What an axis is made of counts before what the user calls its size.
    """
    sizes = sizes_of(result)
    before = asked.known[0].shape.known
    if asked.known[0].blank and isinstance(outcome, Record):
        return outcome
    if sizes is None or before is None:
        return None
    told = outcome.dims if isinstance(outcome, Record) else sizes
    if not asked.sure:
        told = in_place(told, before, sizes, asked.values, asked.given)
    inserted = isinstance(outcome, Record) and outcome.inserted
    targets = told
    if asked.passed is not None:
        made = _by_numbers(asked, result)
        by_numbers = made.dims if isinstance(made, Record) else sizes
        targets = in_place(by_numbers, before, sizes, asked.values)
    found, values, cutting = regrouped(before, asked.values, targets, sizes)
    if asked.passed is not None:
        found = crossed(found, told, sizes, values, cutting)
        computed = asked.passed.computed()
        found = split_by_numbers(before, found, sizes, values, asked.given, computed)
        found = shared_out(before, found, sizes, values, asked.passed.shares())
        found = cut_by_numbers(found, sizes, values, asked.passed.cuts)
    return record(found, sizes, values, inserted)


def _by_numbers(asked: Question, result: torch.Tensor) -> object:
    """Return the outcome of a view that is told nothing of its sizes but the numbers."""
    try:
        return _outcome(solved(asked.answer(replaced={}), asked.known), result, asked.values)
    except Mismatch:
        return None


def _record(known: Known, result: torch.Tensor, values: Mapping[Any, int]) -> Record | None:
    sizes = sizes_of(result)
    if sizes is None or len(known.shape.dims) != len(sizes):
        return None
    found: list[Any] = []
    for item, size in zip(known.shape.dims, sizes, strict=True):
        if isinstance(item, Run):
            return None
        value = value_of(item, values)
        if value is not None and value != size:
            return None
        found.append(size if value is None else simplest(item, values))
    return record(tuple(found), sizes, values, known.inserted, known.blank)


def _retell(
    error: Exception,
    frame: CallNames,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Raise our text in the place of torch's, where the op's rule refuses too."""
    if isinstance(error, ShapeError | CarriedError):
        return
    told: ShapeError | None = None
    try:
        with LOCK:
            told = _told(error, Question(frame, func, args, kwargs, strict=True))
    except Exception as fault:  # noqa: BLE001 - torch's own error is told anyway
        own_fault(f"on the failure of {getattr(func, '__name__', func)}", fault)
    if told is not None:
        try:
            raise told from error
        finally:
            del told, error  # which would keep this frame, and the tensors in it


def _told(error: Exception, asked: Question) -> ShapeError | None:
    """Return our text for an error of torch's, None where the op's rule has nothing against it."""
    try:
        asked.answer()
        asked.answer(replaced=asked.plain())  # what fails for the numbers alone
    except Mismatch as refused:
        return op_errors.op_error(asked.frame, asked, refused.problem, error)
    return None


lookup: Final = (
    None
    if Lookup is None
    else Lookup(
        cache=_cache,
        plain=tuple(PLAIN),
        opaque=(torch.memory_format, torch.layout, torch.Generator),
        tensor=torch.Tensor,
        parameter=torch.nn.Parameter,
        shape=torch.Size,
        record=Record,
        placed=Placed,
        likely=_Likely,
        constant=ast.Constant,
        getitem=GETITEM,
        kinds=kinds(reads=READ, given=GIVEN, numbered=CUTTING | JOINING, other={SETITEM}),
        transforming=transforming,
        levels=_levels,
        lasting=lasting,
        name=_name_if_current,
        hand_down=_hand_down,
        retell=_retell,
        fault=_fault,
    )
)
"""What runs most ops, if it is compiled: it returns itself where it leaves one to Python."""


def thread_mode() -> CallMode:
    """Return this thread's mode object."""
    found = state.mode
    if found is None:
        fast_paths.install()
        found = state.mode = NamesMode()
    return found
