import torch
import torchvision
from torch import nn
net = nn.Sequential(*list(torchvision.models.resnet18(weights=None).children())[:-1])
f = net(torch.randn(2, 3, 64, 64))
ok = nn.Linear(512, 10)(f.flatten(1))
bad = nn.Linear(512, 10)(f)  # BUG
