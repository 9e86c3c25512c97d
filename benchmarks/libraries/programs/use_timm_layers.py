import torch
from timm.layers import Mlp, DropPath, PatchEmbed
from timm.models.vision_transformer import Block
x = torch.randn(2, 50, 64)
y = Mlp(64, 128)(x)
z = DropPath(0.1)(y) + x
b = Block(dim=64, num_heads=4)(z)
p = PatchEmbed(img_size=32, patch_size=8, embed_dim=64)(torch.randn(2, 3, 32, 32))
ok = p + torch.zeros(2, 16, 64)
bad = p + torch.zeros(2, 64, 64)  # BUG
bad2 = b + torch.zeros(2, 50, 128)  # BUG
bad3 = Mlp(32, 128)(x)  # BUG
