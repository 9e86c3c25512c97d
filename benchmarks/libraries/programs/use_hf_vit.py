import torch
from transformers import ViTConfig, ViTModel
model = ViTModel(ViTConfig(num_hidden_layers=1))
h = model(pixel_values=torch.zeros(2, 3, 224, 224)).last_hidden_state
ok = h[:, 1:].transpose(1, 2).reshape(2, 768, 14, 14)
bad = h.transpose(1, 2).reshape(2, 768, 14, 14)  # BUG
