"""How a test makes torch draw the same numbers each time."""

from __future__ import annotations

import devices
import torch


def seed(number: int) -> None:
    """Seed what tensors are drawn from.

    `torch.manual_seed` also keeps the whole stack, as text, for each kind of device that wasn't
    used yet: deep inside pytest and hypothesis that takes longer than most tests do.
    """
    torch.default_generator.manual_seed(number)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed(number)


def generator() -> torch.Generator:
    """Return a new generator for the tensors of a test, seeded with 0."""
    return torch.Generator(devices.current()).manual_seed(0)
