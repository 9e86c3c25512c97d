"""The calls that torch's own test database makes of each module."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from conformance.samples import AMONG, REFUSED, Call, Refusal, attempt

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_modules import module_db


def modules() -> Sequence[Any]:
    """Return every module of torch's database."""
    return list(module_db)


def name_of(info: Any) -> str:
    """Return the dotted name under which the rule of a module is looked for."""
    return f"torch.{info.name}"


def calls(info: Any, limit: int | None = None) -> Iterator[Call]:
    """Yield the calls of a module with what torch makes of them; of `limit` samples, if given."""
    samples = info.module_inputs_func(info, **_SETTINGS)
    step = 1 if limit is None else max(AMONG // limit, 1)
    for sample in islice(samples, 0, None if limit is None else AMONG, step):
        call = _call(info, sample)
        assert call.init is not None
        module = attempt(info.module_cls, *call.init)
        wanted = REFUSED if module is REFUSED else attempt(module.eval(), call.args, call.kwargs)
        yield replace(call, wanted=wanted)


def refusals(info: Any) -> Iterator[Refusal]:
    """Yield the calls of a module that torch refuses."""
    if info.module_error_inputs_func is not None:
        for case in info.module_error_inputs_func(info, **_SETTINGS):
            yield Refusal(_call(info, case.module_error_input), case.error_regex)


def _call(info: Any, sample: Any) -> Call:
    init, given = sample.constructor_input, sample.forward_input
    args, kwargs = ((), {}) if given is None else (tuple(given.args), given.kwargs)
    return Call("module", name_of(info), args, kwargs, init=(tuple(init.args), init.kwargs))


_SETTINGS = {
    "device": "cpu",
    "dtype": torch.float32,
    "requires_grad": False,
    "training": False,
}
