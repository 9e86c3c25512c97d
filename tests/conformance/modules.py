"""The calls that torch's own test database makes of each module."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
from conformance.samples import AMONG, REFUSED, Call, Refusal, attempt
from seeding import seed

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_modules import FunctionInput, ModuleInput, module_db


@dataclass(frozen=True, slots=True)
class Info:
    """A module that torch's database doesn't have, with samples in the database's form."""

    name: str
    module_cls: type[torch.nn.Module]
    module_inputs_func: Callable[..., Sequence[Any]]
    module_error_inputs_func: None = None


def modules() -> Sequence[Any]:
    """Return every module of torch's database, and those of `MORE`."""
    return [*module_db, *map(_info, MORE)]


def _info(name: str) -> Info:
    samples = MORE[name]

    def inputs(*_: Any, **__: Any) -> list[Any]:
        seed(0)
        return [
            ModuleInput(FunctionInput(*init), FunctionInput(*map(_tensor, given)))
            for init, *given in samples
        ]

    return Info(f"nn.{name}", getattr(torch.nn, name), inputs)


def _tensor(given: Any) -> Any:
    """Return a tensor of a shape; of indices where it is a list of their number and limit."""
    if isinstance(given, list):
        *shape, limit = given
        return torch.randint(limit, tuple(shape))
    return torch.randn(given) if isinstance(given, tuple) else given


_PICTURES = (2, 3, 6, 8)
_LATENT = {1: (2, 3, 6), 2: _PICTURES, 3: (2, 3, 6, 8, 4)}

MORE: dict[str, list[tuple[Any, ...]]] = {
    "AdaptiveLogSoftmaxWithLoss": [((8, 30, [5, 10]), (4, 8), [4, 30]), ((8, 30, [5]), (8,), [30])],
    "AlphaDropout": [((), (2, 3)), ((0.2,), (4,))],
    "ChannelShuffle": [((3,), (2, 6, 4, 5)), ((2,), (1, 4, 3, 3))],
    "CosineSimilarity": [((), (4, 5), (4, 5)), ((2,), (4, 5, 3), (1, 5, 3)), ((-1,), (4,), (4,))],
    "CrossMapLRN2d": [((3,), _PICTURES)],
    "Dropout": [((), (2, 3)), ((0.1, True), (4,))],
    "Dropout1d": [((), (2, 3)), ((), (2, 3, 4))],
    "Dropout2d": [((), (2, 3, 4)), ((), _PICTURES)],
    "Dropout3d": [((), _PICTURES), ((), _LATENT[3])],
    "EmbeddingBag": [((10, 3), [4, 5, 10]), ((10, 3), [7, 10], torch.tensor([0, 2, 5]))],
    "FeatureAlphaDropout": [((), _PICTURES), ((), _LATENT[3])],
    "Flatten": [((), _PICTURES), ((0,), _PICTURES), ((1, 2), _PICTURES), ((-2, -1), _PICTURES)],
    "Fold": [((((4, 5), (2, 3))), (2, 18, 9)), ((4, 2, 1, 0, 2), (12, 4)), ((4, 2), (2, 8, 9))],
    "Hardsigmoid": [((), (2, 3)), ((), ())],
    "Identity": [((), (2, 3)), ((54, "unused"), (4,))],
    **{f"LazyBatchNorm{n}d": [((), shape)] for n, shape in _LATENT.items()},
    **{f"LazyInstanceNorm{n}d": [((), shape)] for n, shape in _LATENT.items()},
    "LazyLinear": [((4,), (2, 3)), ((4,), (3,)), ((4, False), (2, 5, 3))],
    **{
        f"MaxUnpool{n}d": [
            ((2,), shape, [*shape, 4]),
            ((2,), shape[1:], [*shape[1:], 4]),
            ((3, 2), shape, [*shape, 4]),
        ]
        for n, shape in _LATENT.items()
    },
    "NLLLoss2d": [((), _PICTURES, [2, 6, 8, 3])],
    "PairwiseDistance": [((), (4, 5), (4, 5)), ((1, 1e-6, True), (4, 5), (4, 5)), ((), (5,), (5,))],
    "PixelShuffle": [((2,), (3, 8, 5, 4)), ((3,), (9, 2, 2)), ((1,), (2, 4, 5, 4, 4))],
    "PixelUnshuffle": [((2,), (3, 8, 6, 4)), ((3,), (9, 6, 3))],
    "RReLU": [((), (2, 3)), ((0.1, 0.2), ())],
    "TransformerDecoder": [
        ((torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=first), 2), (4, 5, 8), memory)
        for first, memory in ((False, (6, 5, 8)), (True, (4, 6, 8)))
    ],
    "TripletMarginLoss": [((), (4, 5), (4, 5), (4, 5)), ((), (5,), (5,), (5,))],
    "TripletMarginWithDistanceLoss": [((), (4, 5), (4, 5), (4, 5))],
    "Unflatten": [((1, (2, 3)), (4, 6)), ((-1, (2, 3)), (4, 5, 6)), ((0, (2, -1)), (4, 6))],
    "Unfold": [((3,), _PICTURES), (((2, 3), 1, 1, 2), _PICTURES), ((2,), (3, 4, 5))],
    "Upsample": [
        ((None, 2), _PICTURES),
        (((9, 7),), _PICTURES),
        ((None, 1.5, "linear"), (2, 3, 6)),
        ((None, (2, 3), "bilinear"), _PICTURES),
        ((4, None, "trilinear"), _LATENT[3]),
    ],
    "UpsamplingBilinear2d": [((None, 2), _PICTURES), ((9,), _PICTURES)],
    "UpsamplingNearest2d": [((None, 3), _PICTURES), (((9, 7),), _PICTURES)],
}
"""Modules that torch's database lacks: samples of the constructor's arguments and the inputs.

An input is a shape, or a list of a shape and how many different indices there are.
"""


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
