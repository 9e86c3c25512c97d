"""torchdim's tests with `functorch.dim` in decorated functions, on tensors whose axes have names.

Each test runs in a decorated call, and each tensor that it makes is given a name for every
axis: that of its size, `s3 s4`, so that a dimension which is bound twice meets the name it knows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import functorch.dim
import torch
from systems.originals.inside import in_a_call, named_by_size
from systems.originals.suites import Left, Suite
from torch import nn

MAKES = ("arange", "empty", "rand", "randint", "randn", "tensor", "zeros")
OWN = "about torchdim's extension in C, and functorch.dim has none any more"
CUDA = "needs a CUDA device"
ELLIPSES = (
    "a tensor without dimensions is indexed by torch itself, which takes two `...`: "
    "functorch.dim puts nothing in the place of torch.Tensor.__getitem__"
)


def install(checkout: Path) -> None:
    """Put `functorch.dim` in the place of torchdim, and a small network in that of `resnet18`."""
    extension = {
        "_test_c": _extension,
        "_parse_test": _extension,
        "_set_pointwise_optimize": lambda on: setattr(functorch.dim, "POINTWISE_OPTIMIZE", on),
    }
    sys.modules["torchdim"] = functorch.dim
    sys.modules["torchdim._C"] = _module("torchdim._C", extension)
    sys.modules["torchvision"] = _module("torchvision", {})
    sys.modules["torchvision.models"] = _module("torchvision.models", {"resnet18": Residual})
    sys.modules["refcycle"] = _module("refcycle", {"garbage": _Garbage})  # draws what is leaked


def _extension(*args: Any, **kwargs: Any) -> None:
    raise NotImplementedError(OWN)


def _module(name: str, names: dict[str, Any]) -> ModuleType:
    found = ModuleType(name)
    vars(found).update(names)
    return found


class _Garbage:
    def export_image(self, path: str) -> None:
        """Draw nothing."""


class Residual(nn.Module):
    """A network such as `resnet18`, of one block: `(b 3 h w)` to `(b 1000)`."""

    def __init__(self, norm_layer: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False)
        self.norm = norm_layer(8)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.again = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm_again = norm_layer(8)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.out = nn.Linear(8, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a score for each class."""
        x = self.pool(torch.relu(self.norm(self.conv(x))))
        x = torch.relu(x + self.norm_again(self.again(x)))
        return cast("torch.Tensor", self.out(torch.flatten(self.average(x), 1)))


SUITE = Suite(
    tests=("test/test_dims.py",),
    install=install,
    decorate=in_a_call,
    around=lambda: named_by_size(torch, MAKES),
    left={
        **{
            f"test_dims.{home}.{test}": left
            for home in ("TestMin", "TestMinFunctorchOnly")
            for test, left in {
                "test_c": Left(OWN),
                "test_parse": Left(OWN),
                "test_hello": Left(ELLIPSES, "A[..., 3, ...]"),
            }.items()
        },
        **({} if torch.cuda.is_available() else {"test_dims.TestMin.test_attn_cuda": Left(CUDA)}),
    },
)
