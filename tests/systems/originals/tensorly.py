"""TensorLy's tests of its pytorch backend in decorated calls, on tensors whose axes have names.

Names must not change what TensorLy computes or refuses. Its own code is the checkout's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from systems.originals.inside import in_a_call, named_by_size
from systems.originals.suites import Suite

from shapecheck import named

MAKES = ("tensor", "arange", "randn")
OF_THE_BACKEND = ("ones", "zeros", "eye")
"""What TensorLy's backend has taken from torch when it was imported."""


def install(checkout: Path) -> None:
    """Let TensorLy be the checkout's, with torch for its backend."""
    sys.path.insert(0, str(checkout))
    os.environ["TENSORLY_BACKEND"] = "pytorch"
    in_a_call(lambda: named(torch.ones(2), "n").dim())()  # one test measures what an op takes


@contextmanager
def named_tensors() -> Iterator[None]:
    """Have all tensors that TensorLy makes of numbers named by their sizes; draw the same ones."""
    np.random.seed(0)
    torch.manual_seed(0)
    backend = import_module("tensorly.backend").BackendManager.current_backend()
    with named_by_size(torch, MAKES), named_by_size(backend, OF_THE_BACKEND):
        yield


SUITE = Suite(
    tests=(
        "tensorly/contrib/decomposition",
        "tensorly/datasets/tests/test_synthetic.py",
        "tensorly/decomposition",
        "tensorly/metrics",
        "tensorly/random",
        "tensorly/regression",
        "tensorly/solvers",
        "tensorly/tenalg",
        "tensorly/tests",
        "tensorly/utils",
    ),
    install=install,
    decorate=in_a_call,
    around=named_tensors,
)
