import torch
import torchvision
from torch import nn
net = torchvision.models.resnet50(weights=None)
print(net(torch.randn(2, 3, 64, 64)).shape)
net.fc = nn.Linear(512, 7)
y = net(torch.randn(2, 3, 64, 64))  # BUG
