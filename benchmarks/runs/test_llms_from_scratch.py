"""Runs the models of LLMs-from-scratch that need neither a network nor a tokenizer."""

import pytest
import torch
from llms_from_scratch import ch03, ch04
from llms_from_scratch.appendix_a import NeuralNetwork
from llms_from_scratch.appendix_e import replace_linear_with_lora
from llms_from_scratch.kv_cache import gpt2
from llms_from_scratch.kv_cache.utils import KVCache

SIZES = {
    "vocab_size": 31,
    "context_length": 16,
    "emb_dim": 12,
    "n_heads": 3,
    "n_layers": 2,
    "drop_rate": 0.1,
    "qkv_bias": False,
}


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("tokens", [1, 5, 16])
@pytest.mark.parametrize("model", [ch04.GPTModel, ch04.GPTModelFast, gpt2.GPTModel])
def test_models(model, batch, tokens):
    index = torch.randint(31, (batch, tokens))
    made = model(SIZES)
    assert made(index).shape == (batch, tokens, 31)
    made.eval()
    done = ch04.generate_text_simple(made, index, 3, 16)
    assert done.shape == (batch, tokens + 3)


def test_cache():
    model, cache = gpt2.GPTModel(SIZES), KVCache(n_layers=2)
    index = torch.randint(31, (2, 4))
    assert model(index, use_cache=True, cache=cache).shape == (2, 4, 31)


@pytest.mark.parametrize("sizes", [(3, 2), (4, 4), (6, 8)])
def test_attention(sizes):
    d_in, d_out = sizes
    x = torch.randn(2, 6, d_in)
    assert ch03.SelfAttention_v1(d_in, d_out)(x[0]).shape == (6, d_out)
    assert ch03.SelfAttention_v2(d_in, d_out)(x[0]).shape == (6, d_out)
    assert ch03.CausalAttention(d_in, d_out, 6, 0.0)(x).shape == (2, 6, d_out)
    heads = ch03.MultiHeadAttentionWrapper(d_in, d_out, 6, 0.0, num_heads=2)
    assert heads(x).shape == (2, 6, 2 * d_out)
    assert ch03.MultiHeadAttention(d_in, d_out, 6, 0.0, num_heads=2)(x).shape == (2, 6, d_out)
    square = torch.randn(2, 6, d_out)
    assert ch03.PyTorchMultiHeadAttention(d_out, d_out, 2)(square).shape == (2, 6, d_out)


def test_appendices():
    net = NeuralNetwork(5, 3)
    assert net(torch.randn(4, 5)).shape == (4, 3)
    model = ch04.GPTModel(SIZES)
    replace_linear_with_lora(model, rank=2, alpha=4)
    assert model(torch.randint(31, (2, 7))).shape == (2, 7, 31)
