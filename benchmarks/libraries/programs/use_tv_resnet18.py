import torch
from torch import nn
from torchvision.models import resnet18
net = resnet18()
x = torch.randn(4, 3, 224, 224)
y = net(x)
head = nn.Linear(1000, 10)(y)
bad = nn.Linear(512, 10)(y)  # BUG
