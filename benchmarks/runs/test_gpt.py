"""Runs the GPT of the examples: training, sampling, perplexities, with and without flash."""

import gpt
import pytest
import torch


@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize("heads", [2, 3])
def test_training_and_sampling(flash, heads):
    sizes = gpt.GPTConfig(
        block_size=12, vocab_size=11, n_layer=2, n_head=heads, n_embd=12, flash=flash
    )
    model = gpt.GPT(sizes)
    for batch, length in ((1, 3), (2, 12), (3, 1)):
        idx, targets = gpt.get_batch(torch.arange(50) % 11, batch, length)
        logits, loss = model(idx, targets)
        assert logits.shape == (batch, length, 11)
        loss.backward()
        assert gpt.token_losses(logits, targets).shape == (batch, length)
        lengths = torch.full((batch,), length)
        assert gpt.perplexity(logits, targets, lengths).shape == (batch,)
        assert model(idx)[0].shape == (batch, 1, 11)
        assert model.generate(idx, 4, top_k=5).shape == (batch, length + 4)
    model.crop_block_size(7)
    assert model(idx)[0].shape == (3, 1, 11)


def test_main():
    gpt.main()
