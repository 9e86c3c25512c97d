import torch
from torch import nn
from transformers import BertConfig, BertModel
config = BertConfig(hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=512)
model = BertModel(config)
ids = torch.randint(0, 1000, (2, 16))
out = model(ids)
h = out.last_hidden_state
ok = h @ torch.zeros(256, 3)
ok2 = nn.Linear(256, 2)(out.pooler_output)
first = out[0]
bad = h @ torch.zeros(768, 3)  # BUG
bad2 = nn.Linear(256, 2)(h).view(2, 2)  # BUG
bad3 = out.pooler_output + torch.zeros(2, 16, 250)  # BUG
bad4 = first[:, 0] @ torch.zeros(768, 2)  # BUG
