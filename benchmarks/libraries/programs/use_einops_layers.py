import torch
from einops.layers.torch import Rearrange, Reduce
from torch import nn
net = nn.Sequential(Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=8, q=8), nn.Linear(192, 64), Reduce("b n d -> b d", "mean"))
y = net(torch.randn(2, 3, 32, 32))
ok = y + torch.zeros(2, 64)
bad = y + torch.zeros(2, 16, 60)  # BUG
