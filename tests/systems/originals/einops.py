"""einops' tests of its torch backend in decorated calls, on tensors whose axes have names.

Names must not change what einops computes or refuses. Its own code is the checkout's.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import torch
from systems.originals.inside import in_a_call, named_by_size
from systems.originals.suites import Suite


def install(checkout: Path) -> None:
    """Let einops be the checkout's, tested with numpy and torch."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "einops"]:
        del sys.modules[name]
    sys.path.insert(0, str(checkout))
    os.environ["EINOPS_TEST_BACKENDS"] = "numpy,torch"
    for name, folder in (("PYTHONPATH", checkout), ("PATH", Path(sys.executable).parent)):
        os.environ[name] = os.pathsep.join((str(folder), os.environ.get(name, "")))


def named_tensors() -> AbstractContextManager[None]:
    """Have all tensors that the tests make from arrays, or draw, named by their sizes."""
    return named_by_size(torch, ("from_numpy", "zeros", "ones", "rand", "randn"))


SUITE = Suite(
    tests=("einops/tests",),
    install=install,
    decorate=in_a_call,
    around=named_tensors,
)
