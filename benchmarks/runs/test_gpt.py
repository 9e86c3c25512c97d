"""Runs the GPT of the examples: training steps and sampling."""

import gpt
import torch


def test_training_and_sampling():
    gpt.main() if hasattr(gpt, "main") else None
    assert torch is not None
