"""Where tensors are that a test makes: on the CPU, or with `pytest --device cuda` on the device."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch


def use_cuda() -> None:
    """Make all tensors of this process on the CUDA device where the code doesn't say where.

    `torch.set_default_device` does the same by a function mode, in which some paths of torch aren't
    taken, and which is one more than a test counts. The old way to say it has no mode.
    """
    import torch

    if not torch.cuda.is_available():
        raise pytest.UsageError("--device cuda: torch finds no CUDA device here")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.set_default_tensor_type", UserWarning)
        torch.set_default_tensor_type("torch.cuda.FloatTensor")


def current() -> torch.device:
    """Return the device that tensors are made on."""
    import torch

    return torch.empty(0).device
