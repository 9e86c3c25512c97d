"""Runs minGPT: a few steps of training, then sampling."""

import torch
from mingpt.model import GPT
from mingpt.trainer import Trainer


def test_training_and_sampling():
    torch.manual_seed(1)
    config = GPT.get_default_config()
    config.model_type, config.vocab_size, config.block_size = "gpt-nano", 11, 12
    model = GPT(config)
    data = [(torch.randint(11, (12,)), torch.randint(11, (12,))) for _ in range(8)]
    settings = Trainer.get_default_config()
    settings.max_iters, settings.num_workers, settings.batch_size = 3, 0, 4
    settings.device = "cpu"
    Trainer(settings, model, data).run()
    model.eval()
    for batch, length in ((1, 3), (2, 12), (3, 1)):
        start = torch.randint(11, (batch, length))
        assert model.generate(start, 4).shape == (batch, length + 4)
        sampled = model.generate(start, 2, do_sample=True, top_k=5)
        assert sampled.shape == (batch, length + 2)
