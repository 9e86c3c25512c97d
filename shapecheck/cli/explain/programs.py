"""Examples whose shapes the analysis follows, where no signature tells: `tensors | expression`."""

from __future__ import annotations

from typing import Final

PROGRAMS: Final[dict[str, str]] = {
    "torch.nn.Sequential": "x: b 512 | nn.Sequential(nn.Linear(512, 64), nn.ReLU())(x)",
    "torch.nn.ModuleList": "x: b 512 | nn.ModuleList([nn.Linear(512, 64)])[0](x)",
    "torch.nn.ModuleDict": 'x: b 512 | nn.ModuleDict({"up": nn.Linear(512, 64)})["up"](x)',
    "torch.nn.ParameterList": "x: b t | nn.ParameterList([torch.zeros(3, 4)])[0]",
    "torch.nn.ParameterDict": "x: b t | nn.ParameterDict({'w': torch.zeros(3, 4)})['w']",
    "torch.nn.utils.weight_norm": "x: b 512 | nn.utils.weight_norm(nn.Linear(512, 64))(x)",
    "torch.nn.utils.parametrizations.weight_norm": "x: b 512 | "
    "nn.utils.parametrizations.weight_norm(nn.Linear(512, 64))(x)",
    "torch.nn.DataParallel": "x: b 512 | nn.DataParallel(nn.Linear(512, 64))(x)",
    "torch.nn.parallel.DistributedDataParallel": "x: b 512 | "
    "nn.parallel.DistributedDataParallel(nn.Linear(512, 64))(x)",
    "torch.compile": "x: b 512 | torch.compile(nn.Linear(512, 64))(x)",
    "torch.vmap": "x: b n d; y: b d | torch.vmap(torch.mv)(x, y)",
    "torch.func.vmap": "x: b n d; y: b d | torch.func.vmap(torch.mv)(x, y)",
    "torch.func.grad": "x: n d | torch.func.grad(torch.sum)(x)",
    "torch.utils.checkpoint.checkpoint": "x: b 512 | "
    "torch.utils.checkpoint.checkpoint(nn.Linear(512, 64), x, use_reentrant=False)",
    "torch.utils.data.TensorDataset": "x: n d; y: Int n | "
    "torch.utils.data.TensorDataset(x, y)[0][0]",
    "torch.utils.data.DataLoader": "x: n d | next(iter(torch.utils.data.DataLoader("
    "torch.utils.data.TensorDataset(x), batch_size=32)))[0]",
    "torch.distributions.Categorical": "logits: b classes | "
    "torch.distributions.Categorical(logits=logits).sample()",
    "torch.distributions.categorical.Categorical": "logits: b classes | "
    "torch.distributions.categorical.Categorical(logits=logits).sample()",
    "torch.nn.quantized.FloatFunctional": "x: b t; y: b t | "
    "nn.quantized.FloatFunctional().add(x, y)",
    "torch.distributions.Normal": "mean: b d; scale: b d | "
    "torch.distributions.Normal(mean, scale).rsample()",
}
