import kornia
import torch
x = torch.rand(2, 3, 20, 30)
g = kornia.color.rgb_to_grayscale(x)
ok = g + torch.zeros(2, 1, 20, 30)
bad = g.view(2, 3, 600)  # BUG
b = kornia.filters.gaussian_blur2d(x, (3, 3), (1.5, 1.5))
ok2 = b - x
bad2 = b - torch.zeros(2, 3, 18, 28)  # BUG
r = kornia.geometry.transform.resize(x, (10, 15))
ok3 = r - torch.zeros(2, 3, 10, 15)
bad3 = r - x  # BUG
