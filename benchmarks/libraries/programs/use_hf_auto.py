import torch
from transformers import AutoConfig, AutoModel, BertConfig
config = BertConfig(hidden_size=128, num_attention_heads=4, num_hidden_layers=1)
model = AutoModel.from_config(config)
h = model(torch.zeros(2, 6, dtype=torch.long)).last_hidden_state
ok = h + torch.zeros(128)
bad = h + torch.zeros(768)  # BUG
