"""torchvision's data sets: pictures of one size, as a transform gives them, with their classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.calls import call_back
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import LibraryCall, caller
from shapecheck.analysis.library import pictures
from shapecheck.analysis.library.torch_data import DATA_SET
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import ListContent
from shapecheck.ops import UNKNOWN


class _Pictures(NamedTuple):
    """The mode and side of all pictures, and how many there are under each `train` or `split`."""

    mode: str
    side: int | None = None
    counts: Mapping[object, int] = {}


_DIGITS: Final = _Pictures("L", 28, {True: 60_000, False: 10_000})
_TINY: Final = _Pictures("RGB", 32, {True: 50_000, False: 10_000})
_SETS: Final = {
    "MNIST": _DIGITS,
    "FashionMNIST": _DIGITS,
    "KMNIST": _DIGITS,
    "USPS": _Pictures("L", 16, {True: 7_291, False: 2_007}),
    "CIFAR10": _TINY,
    "CIFAR100": _TINY,
    "SVHN": _Pictures("RGB", 32, {"train": 73_257, "test": 26_032, "extra": 531_131}),
    "STL10": _Pictures("RGB", 96, {"train": 5_000, "test": 8_000, "unlabeled": 100_000}),
    "ImageFolder": _Pictures("RGB"),
}
_BY_SPLIT: Final = frozenset(("SVHN", "STL10"))


@caller(*(f"torchvision.datasets.{name}" for name in _SETS))
def _data_set(frame: Frame, call: LibraryCall) -> Value:
    """Return rows of a picture and its class; without a transform they are pictures of PIL."""
    held = _SETS[call.name]
    has_folds = bool(held.counts)
    default = "train" if call.name in _BY_SPLIT else True
    fold = call.get(1, "split" if call.name in _BY_SPLIT else "train", default)
    side = UNKNOWN if held.side is None else (held.side, held.side)
    picture = pictures.new(frame, held.mode, side)
    transform = call.get(1 + has_folds, "transform")
    if transform is not None:
        picture = frame.hush(call_back, transform, [picture])
    label: Value = dims.unknown()
    of_target = call.get(2 + has_folds, "target_transform")
    if of_target is not None:
        label = frame.hush(call_back, of_target, [label])
    count = held.counts.get(fold) if isinstance(fold, (bool, str)) else None
    return frame.state.new(ListContent(None, (picture, label), DATA_SET, count))
