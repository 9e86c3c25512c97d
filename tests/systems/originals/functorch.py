"""PyTorch's own tests of `functorch.dim`, in decorated functions, on tensors whose axes have names.

Each test runs in a decorated call, and each tensor that it makes is given a name for every
axis: that of its size, `s3 s4`, so that a dimension which is bound twice meets the name it knows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from systems.originals import torchdim
from systems.originals.inside import in_a_call, named_by_size
from systems.originals.suites import Suite

TEST = Path("test/functorch")


def install(checkout: Path) -> None:
    """Put in place what `functorch.dim` had in C, and what the tests import beside them."""
    torchdim.install(checkout)
    extension: Any = ModuleType("functorch._C")
    extension.dim = sys.modules["torchdim._C"]
    sys.modules["functorch._C"] = extension
    sys.path.insert(0, str(checkout / TEST))


SUITE = Suite(
    tests=(
        f"{TEST}/test_dims.py",
        f"{TEST}/dim/test_getsetitem.py",
        f"{TEST}/dim/test_split.py",
    ),
    install=install,
    decorate=in_a_call,
    around=lambda: named_by_size(torch, torchdim.MAKES),
    left=torchdim.SUITE.left,
)
