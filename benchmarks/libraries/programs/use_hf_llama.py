import torch
from transformers import LlamaConfig, LlamaModel, LlamaForCausalLM
config = LlamaConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, vocab_size=500)
ids = torch.randint(0, 500, (2, 10))
h = LlamaModel(config)(ids).last_hidden_state
ok = h.view(2, 10, 4, 32)
bad = h.view(2, 10, 4, 128)  # BUG
logits = LlamaForCausalLM(config)(input_ids=ids).logits
ok2 = logits.view(-1, 500)
bad2 = logits + torch.zeros(2, 10, 32000)  # BUG
