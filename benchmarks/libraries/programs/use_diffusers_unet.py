import torch
from diffusers import UNet2DModel
net = UNet2DModel(sample_size=32, in_channels=3, out_channels=6, block_out_channels=(32, 64), down_block_types=("DownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "UpBlock2D"))
x = torch.randn(2, 3, 32, 32)
t = torch.tensor([1, 2])
y = net(x, t).sample
ok = y[:, :3] - x
bad = y - x  # BUG
