import torch
from torchmetrics.functional import mean_squared_error, pairwise_cosine_similarity
a, b = torch.rand(5, 8), torch.rand(6, 8)
s = pairwise_cosine_similarity(a, b)
ok = s.view(5, 6)
bad = s.view(5, 8)  # BUG
m = mean_squared_error(a, torch.rand(5, 8))
ok2 = m + torch.zeros(3)
