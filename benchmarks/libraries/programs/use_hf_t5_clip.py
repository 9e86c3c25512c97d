import torch
from transformers import T5Config, T5EncoderModel, CLIPTextConfig, CLIPTextModel
enc = T5EncoderModel(T5Config(d_model=64, num_layers=1, num_heads=2, d_kv=32, d_ff=128))
h = enc(input_ids=torch.zeros(2, 7, dtype=torch.long))[0]
ok = h + torch.zeros(64)
bad = h + torch.zeros(512)  # BUG
clip = CLIPTextModel(CLIPTextConfig(num_hidden_layers=1))
p = clip(torch.zeros(2, 7, dtype=torch.long)).pooler_output
ok2 = p @ torch.zeros(512, 4)
bad2 = p @ torch.zeros(768, 4)  # BUG
