"""The calls that torch's own test database makes of each op, in every form that the op has."""

from __future__ import annotations

import logging
import random
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from seeding import seed
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

from shapecheck.runtime.naming.ops import dotted_names

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_utils import SEED

logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)

AMONG = 24
"""Among how many samples of an op the few of the fast part are picked."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the form, the dotted name, the arguments, and what torch makes of them.

    `init`: the arguments of the constructor, where it is a module that is called.
    """

    form: str
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    wanted: Any = None
    init: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that torch refuses, and a part of its message."""

    call: Call
    error: str


def title(op: Any) -> str:
    """Return the name of an op with its variant, as the table shows it."""
    return f"{op.name} ({op.variant_test_name})" if op.variant_test_name else str(op.name)


def ops() -> Sequence[Any]:
    """Return every op of torch's database."""
    return list(op_db)


KINDS: Final = (torch.int64, torch.bool, torch.complex64)
"""Other dtypes whose samples are taken, of the ops that have them."""


MIXED: Final = (torch.int64, torch.bool, torch.float16, torch.float64)
"""What one operand is made of where the others are made of something else."""
_FEW: Final = 3
"""So many samples of an op are taken with such operands."""


def dtype_of(op: Any, kind: torch.dtype | None = None) -> torch.dtype | None:
    """Return the dtype whose samples are taken: `kind`, or float32, or the first that the op has.

    None where there is none, or for a `kind` that is taken anyway.
    """
    if kind is not None:
        return kind if kind in op.dtypes and kind != dtype_of(op) else None
    if torch.float32 in op.dtypes:
        return torch.float32
    return next(iter(sorted(op.dtypes, key=str)), None)


def calls(op: Any, limit: int | None = None, kind: torch.dtype | None = None) -> Iterator[Call]:
    """Yield the calls of an op with what torch makes of them; of `limit` samples, if given."""
    dtype = dtype_of(op, kind)
    if dtype is None:
        return
    samples = _seeded(op.sample_inputs_func(op, "cpu", dtype, False))
    step = 1 if limit is None else max(AMONG // limit, 1)
    for sample in islice(samples, 0, None if limit is None else AMONG, step):
        yield from _forms(op, sample)


def mixed(op: Any) -> Iterator[Call]:
    """Yield the calls that torch takes of an op with one operand of another dtype."""
    for call in calls(op, _FEW):
        whole = (tuple(call.args), dict(call.kwargs))
        places = list(_places(whole)) if call.form == "function" else []
        for place, kind in product(places if len(places) > 1 else (), MIXED):
            args, kwargs = _with_another(whole, place, kind)
            found = _called(op, args, kwargs)
            if found is not None and found.wanted is not REFUSED:
                yield found


_Place: TypeAlias = tuple[Any, ...]


def _places(value: Any, place: _Place = ()) -> Iterator[_Place]:
    """Yield where plain tensors are in what a call is given."""
    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        yield place
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*place, key))
    elif isinstance(value, (tuple, list)):
        for at, item in enumerate(value):
            yield from _places(item, (*place, at))


def _with_another(value: Any, place: _Place, kind: torch.dtype) -> Any:
    """Return what a call is given, with a tensor of another dtype at a place."""
    if not place:
        return value.detach().to(kind)
    at, inner = place[0], place[1:]
    if isinstance(value, dict):
        return {**value, at: _with_another(value[at], inner, kind)}
    items = [*value[:at], _with_another(value[at], inner, kind), *value[at + 1 :]]
    return items if isinstance(value, list) else tuple(items)


def _seeded(samples: Iterable[Any]) -> Iterator[Any]:
    """Yield samples as the database's own iterator does, with the seed set before each.

    That one also looks for a running test on the stack, and reads the source of each frame for it.
    """
    each = iter(samples)
    while True:
        seed(SEED)
        random.seed(SEED)
        np.random.seed(SEED)
        try:
            sample = next(each)
        except StopIteration:
            return
        yield sample


def refusals(op: Any) -> Iterator[Refusal]:
    """Yield the calls of an op that torch refuses."""
    if op.error_inputs_func is None or dtype_of(op) is None:
        return
    for case in _seeded(op.error_inputs_func(op, "cpu")):
        sample = case.sample_input
        call = _called(op, (sample.input, *sample.args), sample.kwargs)
        if call is not None:
            yield Refusal(call, case.error_regex)


def _forms(op: Any, sample: Any) -> Iterator[Call]:
    args = (sample.input, *sample.args)
    call = _called(op, args, sample.kwargs)
    if call is None:
        return
    yield call
    if call.wanted is REFUSED:
        return
    if op.supports_out and "Tensor." not in call.name:
        yield replace(call, form="out", kwargs={**call.kwargs, "out": call.wanted})
    for alias in op.aliases:
        name = f"torch.{alias.name.removeprefix('torch.')}"
        if _resolve(name) is alias.op:
            yield replace(call, form="alias", name=name)
    if not isinstance(sample.input, torch.Tensor):
        return
    plain = Call("method", "", args, sample.kwargs, call.wanted)
    for variant in (op.method_variant, *(alias.method_variant for alias in op.aliases)):
        if (name := _method(variant)) is not None:
            yield replace(plain, name=name)
    if (name := _method(op.operator_variant, op)) is not None:
        yield replace(plain, form="operator", name=name)
    yield from _in_place(op, sample)


def _in_place(op: Any, sample: Any) -> Iterator[Call]:
    variants = [op.inplace_variant, *(alias.inplace_variant for alias in op.aliases)]
    if sample.broadcasts_input or op.inplace_variant is None:
        return
    args = (sample.input.detach().clone(), *sample.args)
    wanted = attempt(op.inplace_variant, args, sample.kwargs)
    if wanted is REFUSED:
        return
    call = Call("in place", "", (sample.input, *sample.args), sample.kwargs, wanted)
    for variant in variants:
        if isinstance(variant, partial):
            kwargs = {**sample.kwargs, **variant.keywords}
            yield replace(call, name=name_of(op), kwargs=kwargs)
        elif (name := _method(variant)) is not None:
            yield replace(call, name=name)
    if (name := _method(op.inplace_operator_variant, op)) is not None:
        yield replace(call, form="operator", name=name)


def _method(variant: Any, op: Any = None) -> str | None:
    """Return the dotted name of a method; of an operator where `op` is given."""
    name = getattr(variant, "__name__", None)
    if op is not None:
        name = None if name is None else f"__{name.strip('_')}__"
    found = None if name is None else getattr(torch.Tensor, name, None)
    return f"torch.Tensor.{name}" if callable(found) else None


def name_of(op: Any) -> str:
    """Return the dotted name under which the rule of an op is looked for."""
    return str(op.name) if op.name.startswith("torch.") else f"torch.{op.name}"


def _resolve(name: str) -> Any:
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def _called(op: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call | None:
    """Return the call that the database makes of an op.

    It calls some ops by a function of its own, which changes the arguments first: then what
    reaches the op under its own name counts, or the last op that is called and whose result it is.
    """
    name = name_of(op)
    function = _resolve(name)
    if function is op.op:
        return Call("function", name, args, kwargs, attempt(op.op, args, kwargs))
    seen: list[Call] = []
    with _Recorder(seen), _watched(name, function, seen):
        result = attempt(op.op, args, kwargs)
    own = [call for call in seen if call.name.rpartition(".")[2].rstrip("_") == op.name]
    own = [call for call in seen if call.name == name] or own
    same = [call for call in seen if call.wanted is result or result is REFUSED]
    return next(reversed(own or same), None)


@contextmanager
def _watched(name: str, function: Any, seen: list[Call]) -> Iterator[None]:
    """Note the calls of a function by its dotted name."""
    path, _, last = name.rpartition(".")
    owner = _resolve(path)
    if function is None or owner is None:
        yield
        return

    def noted(*args: Any, **kwargs: Any) -> Any:
        seen.append(Call("function", name, args, kwargs, REFUSED))
        position = len(seen) - 1
        result = function(*args, **kwargs)
        seen[position] = replace(seen[position], wanted=result)
        return result

    setattr(owner, last, noted)
    try:
        yield
    finally:
        setattr(owner, last, function)


REFUSED: Final = object()
"""The result of a call that torch refuses."""


def attempt(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return the result of a call, `REFUSED` where it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except Exception:  # noqa: BLE001 -- whatever torch raises, it refuses
            return REFUSED


TIMES: Final = 1000
"""How many times as large the sizes are that fake tensors judge."""


def enlarged(call: Call) -> tuple[Call, Any]:
    """Return a call with all sizes but 0 and 1 larger, and what torch's fake tensors make of it."""
    function = _resolve(call.name)
    with FakeTensorMode() as mode:
        try:
            args, kwargs = _larger(call.args, mode), _larger(dict(call.kwargs), mode)
        except RuntimeError:  # more elements than can be counted
            return call, REFUSED
        big = replace(call, args=args, kwargs=kwargs)
        return big, REFUSED if function is None else attempt(function, args, kwargs)


def _larger(value: Any, mode: FakeTensorMode) -> Any:
    if isinstance(value, torch.Tensor):
        sizes = [size if size < 2 else TIMES * size for size in value.shape]
        with mode:
            return torch.empty(sizes, dtype=value.dtype, layout=value.layout)
    if isinstance(value, dict):
        return {key: _larger(item, mode) for key, item in value.items()}
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(_larger(item, mode) for item in value)
    return value


class _Recorder(TorchFunctionMode):
    """Notes the ops that are called."""

    def __init__(self, seen: list[Call]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = dotted_names().get(function, f"torch.?.{getattr(function, '__name__', '')}")
        call = Call("function", name, tuple(args), dict(kwargs or {}), REFUSED)
        self.seen.append(call)
        position = len(self.seen) - 1
        result = function(*args, **(kwargs or {}))
        self.seen[position] = replace(call, wanted=result)
        return result
