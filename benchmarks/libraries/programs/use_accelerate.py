import torch
from accelerate import Accelerator
from torch import nn
acc = Accelerator(cpu=True)
net = nn.Linear(8, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
net, opt = acc.prepare(net, opt)
y = net(torch.zeros(2, 8))
ok = y + torch.zeros(4)
acc.backward(y.sum())
bad = net(torch.zeros(2, 9))  # BUG
