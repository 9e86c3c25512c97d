import timm
import torch
from torch import nn
net = timm.create_model("resnet50", pretrained=False)
y = net(torch.randn(2, 3, 224, 224))
ok = nn.Linear(1000, 3)(y)
bad = nn.Linear(2048, 3)(y)  # BUG
