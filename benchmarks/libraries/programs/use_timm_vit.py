import timm
import torch
from torch import nn
net = timm.create_model("vit_base_patch16_224", num_classes=0)
x = torch.randn(2, 3, 224, 224)
f = net(x)
ok = nn.Linear(768, 3)(f)
bad = nn.Linear(1024, 3)(f)  # BUG
g = net.forward_features(x)
ok2 = g + torch.zeros(2, 197, 768)
bad2 = g + torch.zeros(2, 196, 768)  # BUG
