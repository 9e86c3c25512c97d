import torch
from timm.models.vision_transformer import VisionTransformer
net = VisionTransformer(img_size=64, patch_size=16, embed_dim=192, depth=2, num_heads=3, num_classes=10)
y = net(torch.randn(2, 3, 64, 64))
ok = y + torch.zeros(10)
bad = y + torch.zeros(1000)  # BUG
