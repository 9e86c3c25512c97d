import torch
from diffusers import AutoencoderKL, DDPMScheduler
vae = AutoencoderKL(block_out_channels=(32,), latent_channels=4)
x = torch.randn(2, 3, 32, 32)
y = vae(x).sample
ok = y - x
bad = y - torch.zeros(2, 4, 32, 32)  # BUG
s = DDPMScheduler()
noisy = s.add_noise(x, torch.randn(2, 3, 32, 32), torch.tensor([1, 2]))
bad2 = noisy + torch.zeros(2, 4, 32, 32)  # BUG
