"""Prints what names cost where a decoder of transformers generates text with a cache.

    python benchmarks/models/generating.py [--tokens N] [--rounds N] [--width W] [--layers N]

Models are made at random, and small unless they are asked for wider. `again` is the processor time
of a generation whose lengths were there before, by that without names, `new` of one whose prompt
is longer than all before. They take turns in one run. Fails where a model generates other tokens.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
import transformers
from torch import Tensor, nn

import shapecheck

BATCH = 2


def llama(width: int, layers: int) -> nn.Module:
    """A decoder with rotary embeddings, and half as many keys as queries."""
    config = transformers.LlamaConfig(
        vocab_size=99,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return transformers.LlamaForCausalLM(config)


def gpt2(width: int, layers: int) -> nn.Module:
    """A decoder with learned positions."""
    config = transformers.GPT2Config(
        vocab_size=99, n_embd=width, n_layer=layers, n_head=4, n_positions=4096
    )
    return transformers.GPT2LMHeadModel(config)


def opt(width: int, layers: int) -> nn.Module:
    """A decoder that is given its mask."""
    config = transformers.OPTConfig(
        vocab_size=99,
        hidden_size=width,
        ffn_dim=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        max_position_embeddings=4096,
        word_embed_proj_dim=width,
    )
    return transformers.OPTForCausalLM(config)


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def ratios(model: nn.Module, tokens: int, rounds: int) -> tuple[float, float, float]:
    """Return seconds without names, and by these what it takes with names: again, and new."""

    def generate(length: int) -> Tensor:
        torch.manual_seed(length)
        found: Tensor = model.generate(
            input_ids=torch.randint(3, 90, (BATCH, length)),
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            do_sample=False,
            pad_token_id=0,
        )
        return found

    plain, again, new = list[float](), list[float](), list[float]()
    wanted = [generate(7) for _ in range(2)]
    for number in range(rounds):
        longer = 50 + (tokens + 1) * number
        without = seconds(lambda: generate(7)), seconds(lambda at=longer: generate(at))
        with shapecheck.watch(model, {"input_ids": "batch time"}):
            if not torch.equal(generate(7), wanted[0]):
                sys.exit(f"{type(model).__name__} generates other tokens")
            again.append(seconds(lambda: generate(7)) / without[0])
            if number:  # what is looked up once in a program is not what a length costs
                new.append(seconds(lambda at=longer: generate(at)) / without[1])
            else:
                generate(longer)
        plain.append(without[0])
    return min(plain), statistics.median(again), statistics.median(new)


def main() -> None:
    """Generate, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tokens", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    for make in (llama, gpt2, opt):
        torch.manual_seed(0)
        model = make(chosen.width, chosen.layers).eval()
        with torch.no_grad():
            plain, again, new = ratios(model, chosen.tokens, chosen.rounds)
        print(f"{make.__name__:8}{plain * 1e3:8.1f} ms; again {again:.2f}x, new {new:.2f}x")


if __name__ == "__main__":
    main()
