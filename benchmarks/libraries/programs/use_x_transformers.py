import torch
from x_transformers import Decoder, Encoder, TransformerWrapper
net = TransformerWrapper(num_tokens=100, max_seq_len=64, attn_layers=Decoder(dim=32, depth=2, heads=2))
ids = torch.randint(0, 100, (2, 20))
logits = net(ids)
ok = logits.view(2, 20, 100)
bad = logits.view(2, 20, 32)  # BUG
h = Encoder(dim=32, depth=1, heads=2)(torch.randn(2, 9, 32))
bad2 = h @ torch.zeros(64, 3)  # BUG
