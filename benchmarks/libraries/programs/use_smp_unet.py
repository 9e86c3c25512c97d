import segmentation_models_pytorch as smp
import torch
net = smp.Unet("resnet34", encoder_weights=None, in_channels=3, classes=5)
net.eval()
y = net(torch.randn(2, 3, 64, 64))
ok = y.argmax(1) == torch.zeros(2, 64, 64)
bad = y - torch.zeros(2, 1000, 64, 64)  # BUG
bad2 = y.argmax(1) + torch.zeros(2, 5, 64, 64).view(2, -1)  # BUG
