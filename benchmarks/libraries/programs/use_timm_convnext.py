import timm
import torch
net = timm.create_model("convnext_tiny", num_classes=12)
y = net(torch.randn(2, 3, 224, 224))
ok = y @ torch.zeros(12, 2)
bad = y @ torch.zeros(768, 2)  # BUG
