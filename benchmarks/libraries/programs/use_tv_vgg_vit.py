import torch
from torch import nn
from torchvision.models import vgg16, vit_b_16, mobilenet_v2
v = vgg16()
f = v.features(torch.randn(1, 3, 224, 224))
ok = f.reshape(1, 512 * 49) @ torch.randn(512 * 49, 3)
bad = f.reshape(1, 512) # BUG
m = mobilenet_v2(num_classes=5)
g = m(torch.randn(2, 3, 96, 96))
ok2 = g + torch.randn(2, 5)
bad2 = g + torch.randn(2, 1000)  # BUG
t = vit_b_16()(torch.randn(2, 3, 224, 224))
bad3 = t @ torch.randn(768, 3)  # BUG
