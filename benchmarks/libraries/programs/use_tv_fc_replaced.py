import torch
import torchvision
from torch import nn
net = torchvision.models.resnet18(weights=None)
net.fc = nn.Linear(512, 7)
y = net(torch.randn(4, 3, 64, 64))
ok = y @ torch.randn(7, 2)
bad = y @ torch.randn(10, 2)  # BUG
