import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=64, n_head=4))
ids = torch.randint(0, 50257, (2, 8))
logits = model(ids).logits
ok = F.cross_entropy(logits.view(-1, 50257), ids.view(-1))
bad = F.cross_entropy(logits[:, :-1].reshape(-1, 50257), ids.view(-1))  # BUG
bad2 = logits @ torch.zeros(64, 2)  # BUG
