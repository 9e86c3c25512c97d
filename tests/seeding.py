"""How a test makes torch draw the same numbers each time."""

from __future__ import annotations

import torch


def seed(number: int) -> None:
    """Seed what tensors on the CPU are drawn from.

    `torch.manual_seed` also keeps the whole stack, as text, for each kind of device that wasn't
    used yet: deep inside pytest and hypothesis that takes longer than most tests do.
    """
    torch.default_generator.manual_seed(number)
