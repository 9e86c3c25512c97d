"""What is bfloat16 under `torch.autocast` and what isn't: torch is the judge, on the CPU.

Each program is run by torch, and what the analysis takes its result for has that dtype among the
ones it allows. Behind `#` stand the dtypes that a result is certain not to have: to declare it one
of these is an error.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck.analysis import Diagnostic, Options, Source, analyze_module

SETUP = """\
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.amp import autocast, custom_fwd
from shapecheck import BFloat16, Bool, Float16, Float32, Float64, Int64
fc, conv, norm, table = nn.Linear(3, 4), nn.Conv2d(3, 5, 3), nn.LayerNorm(3), nn.Embedding(7, 3)
cell, rnn, attention = nn.GRUCell(3, 4), nn.LSTM(3, 4), nn.MultiheadAttention(8, 2)
net = nn.Sequential(fc, nn.ReLU(), nn.Linear(4, 2), nn.Softmax(-1))
batch_norm, encoder = nn.BatchNorm2d(3), nn.TransformerEncoderLayer(8, 2, 16)
fc64 = nn.Linear(3, 4).double()
class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)
    @autocast("cpu", enabled=False)
    def forward(self, x):
        return self.fc(x.float())
wrapped = Wrapped()
@torch.autocast("cpu", dtype=torch.bfloat16)
def lowered(x):
    return x @ x.T
@torch.autocast(device_type="cpu", enabled=False)
def full(x):
    return x.float() @ x.float().T
def product(x):
    return x @ x.T
"""
HEAD = """\
def f(
    x: Float32[Tensor, "2 3"], y: Float32[Tensor, "3 4"], low: BFloat16[Tensor, "2 3"],
    double: Float64[Tensor, "2 3"], whole: Int64[Tensor, "2 3"], heads: Float32[Tensor, "2 4 5 8"],
    image: Float32[Tensor, "2 3 8 8"], kernel: Float32[Tensor, "5 3 3 3"],
    target: Int64[Tensor, "2"],
)"""
INSIDE = """\
x @ y  # Float16 Float64 Int64
torch.matmul(x, y)  # Float16 Float64
torch.mm(x, y)  # Float16 Float64
x.mm(y)  # Float16
torch.addmm(y[0], x, y)  # Float16
torch.einsum("ij,jk->ik", x, y)  # Float16 Float64
torch.bmm(heads[0], heads[0].mT)  # Float16
heads @ heads.mT  # Float16
F.linear(x, y.T)  # Float16
F.conv2d(image, kernel)  # Float16 Float64
F.scaled_dot_product_attention(heads, heads, heads)  # Float16
fc(x)  # Float16 Float64 Int64
fc(x).float()  # Float16 BFloat16
fc(x).to(x.dtype)  # Float16 BFloat16
fc(x).type_as(x)  # Float16 BFloat16
fc(x).double()  # Float16 BFloat16 Float32
fc(low)  # Float16 Float64
fc(x).relu()  # Float16
fc(x).softmax(-1)  # Float16
fc(x) + 1  # Float16
fc(x) + torch.zeros(4)
fc(x) + fc(x)  # Float16
fc(x).argmax(-1)  # BFloat16 Float32
fc(x) > 0  # BFloat16 Float32
fc(x).sum()  # Float16
fc(x).mean(-1, keepdim=True)  # Float16
fc(x) * 2.0  # Float16
fc(x).new_zeros(3)  # Float16
torch.zeros_like(fc(x))  # Float16
torch.zeros_like(fc(x), dtype=torch.float32)  # BFloat16
torch.cat([fc(x), y[:2]])  # Float16
torch.cat([fc(x), fc(x)], -1)  # Float16
torch.stack([fc(x), y[:2]])  # Float16
torch.where(fc(x) > 0, fc(x), torch.zeros(4))  # Float16
torch.where(fc(x) > 0, fc(x), 0.0)  # Float16
F.mse_loss(fc(x), torch.zeros(2, 4))  # Float16
F.cross_entropy(fc(x), target)  # Float16
F.binary_cross_entropy_with_logits(fc(x), torch.zeros(2, 4))  # Float16
F.l1_loss(fc(x), fc(x))  # Float16
F.layer_norm(fc(x), (4,))  # Float16
F.normalize(fc(x), dim=-1)  # Float16
F.gelu(fc(x))  # Float16
F.interpolate(conv(image), scale_factor=2)  # Float16
F.grid_sample(image, torch.zeros(2, 4, 4, 2), align_corners=False)  # Float16
F.dropout(fc(x), 0.1)  # Float16
F.pad(fc(x), (1, 1))  # Float16
F.one_hot(fc(x).argmax(-1), 4)  # BFloat16 Float32
F.embedding(whole, y)  # Float16
conv(image)  # Float16 Float64
conv(batch_norm(image))  # Float16
norm(x)  # Float16
fc(norm(x))  # Float16
table(whole)
fc(table(whole))
net(x)  # Float16
net[0](x)  # Float16
cell(x)  # Float16
rnn(torch.zeros(5, 2, 3))[0]
rnn(torch.zeros(5, 2, 3))[1][0]
attention(heads[0], heads[0], heads[0])[0]  # Float16
encoder(heads[0])  # Float16
x.float() @ y  # Float16
x.bfloat16() + x  # Float16 Float64
low @ y  # Float16
low + low  # Float16
low * x  # Float16
low.softmax(-1)  # Float16
double @ double.T  # Float16
double + 1  # Float16
whole @ whole.T  # Float16
whole + 1  # BFloat16 Float32
whole.sum()  # BFloat16 Float32
whole.float() @ y  # Float16
torch.arange(3)  # BFloat16 Float32
torch.outer(x[0], y[0])  # Float16
torch.cdist(x, x)  # Float16
torch.cumsum(fc(x), 0)  # Float16
torch.exp(fc(x))  # Float16
torch.linalg.vector_norm(fc(x))  # Float16
torch.linalg.inv(heads[0, 0, :, :5])  # Float16
torch.logsumexp(fc(x), -1)  # Float16
torch.baddbmm(torch.zeros(4, 5, 5), heads[0], heads[0].mT)  # Float16
torch.nn.functional.softmax(x @ y, dim=-1, dtype=torch.float32)  # Float16 BFloat16
F.log_softmax(fc(x), dim=-1, dtype=torch.float64)  # BFloat16 Float32
fc(x).sum(dtype=torch.float32)  # BFloat16
lowered(x)  # Float16 Float64
full(x)  # Float16 BFloat16
full(low)  # Float16 BFloat16
wrapped(x)  # Float16 BFloat16
product(x)  # Float16 Float64
(lambda z: z @ y)(x)  # Float16
[z @ y for z in (x, x)][0]  # Float16
x.max(-1).values  # Float16
fc(x).max(-1)[0]  # Float16
fc(x).max(-1).indices  # BFloat16 Float32
fc(x).topk(2)[1]  # BFloat16
fc(x).sort(-1).values  # Float16
fc(x).split(2, -1)[0]  # Float16
fc(x).chunk(2, -1)[1]  # Float16
fc(x)[:, 0]  # Float16
fc(x).view(4, 2) @ fc(x).T.float()[:2, :2]  # Float16
torch.utils.checkpoint.checkpoint(product, x, use_reentrant=False)  # Float16
torch.tensor(1.0) * fc(x)  # Float16
torch.ones(()) + low  # Float16
torch.rand(4) @ fc(x).T  # Float16
x.half() @ y.half()  # Float64
x.half() + 1  # Float64
low.mm(y.bfloat16())  # Float16
torch.dot(x[0], x[0])  # Float16
torch.mv(x, y[:, 0])  # Float16
x.addmm(x, torch.zeros(3, 3))  # Float16
torch.chain_matmul(x, y)  # Float16
torch.linalg.multi_dot([x, y])  # Float16
torch.kron(x, x)  # Float16
torch.tensordot(x, y, dims=1)  # Float16
torch.ger(x[0], x[0])  # Float16
F.bilinear(x, x, torch.zeros(5, 3, 3))  # Float16
F.conv1d(x, torch.zeros(4, 2, 1))  # Float16
F.conv_transpose2d(image, torch.zeros(3, 5, 2, 2))  # Float16
F.max_pool2d(conv(image), 2)  # Float16
F.avg_pool2d(conv(image), 2)  # Float16
F.adaptive_avg_pool2d(conv(image), 1)  # Float16
F.prelu(fc(x), torch.ones(1))  # Float16
F.cosine_similarity(fc(x), fc(x))  # Float16
F.smooth_l1_loss(fc(x), torch.zeros(2, 4))  # Float16
F.nll_loss(fc(x).log_softmax(-1), target)  # Float16
F.kl_div(fc(x).log_softmax(-1), torch.zeros(2, 4))  # Float16
F.group_norm(conv(image), 5)  # Float16
F.instance_norm(conv(image))  # Float16
F.rms_norm(fc(x), (4,))  # Float16
torch.prod(fc(x), -1)  # Float16
torch.quantile(x, 0.5)  # Float16
torch.fft.rfft(x).abs()  # Float16
torch.polar(x, x).real
torch.median(fc(x))  # Float16
torch.var(fc(x), 0)  # Float16
fc(x).clone().add_(1)  # Float16
x.add_(fc(x)[:, :3])  # Float16 BFloat16
x.copy_(fc(x)[:, :3])  # Float16 BFloat16
x.index_add_(0, target[:1], y.T[:1])  # BFloat16
x.new_empty(2, 4).copy_(fc(x))  # Float16
torch.matmul(x, y, out=torch.empty(2, 4)) if False else x  # Float16
"""
AROUND = """\
with autocast("cpu", enabled=False): z = x @ y  # BFloat16 Float16
with autocast("cpu", dtype=torch.bfloat16), autocast("cpu", enabled=False): z = fc(x)  # BFloat16
with torch.no_grad(), torch.autocast("cpu"): z = fc(x)  # Float16
with torch.cpu.amp.autocast(): z = fc(x)  # Float16
with torch.autocast("cpu", torch.bfloat16, False): z = fc(x)  # BFloat16
with torch.autocast("cuda", enabled=False): z = fc(x)  # BFloat16 Float16
with torch.autocast(device_type="cpu", cache_enabled=False): z = fc(x)  # Float16
with torch.autocast("cpu"): z = fc(x); z = z.float()  # BFloat16
with torch.autocast("cpu"): pass; z = fc(x)  # Float16
z = lowered(x)  # Float16 Float64
z = lowered(x) + x[:, :1]  # Float16 BFloat16
z = full(x)  # BFloat16
z = product(x)  # BFloat16 Float16
z = torch.autocast("cpu")(product)(x)
z = autocast("cpu", dtype=torch.bfloat16)(product)(x) + x[:, :1]
z = wrapped(x)  # BFloat16
"""
WORDS = {
    torch.bfloat16: "BFloat16",
    torch.float32: "Float32",
    torch.float64: "Float64",
    torch.float16: "Float16",
    torch.int64: "Int64",
    torch.bool: "Bool",
}


def arguments() -> list[Tensor]:
    """Return what `f` is called with."""
    x = torch.rand(2, 3)
    low, double, whole = x.bfloat16(), x.double(), torch.ones(2, 3, dtype=torch.long)
    image, kernel = torch.rand(2, 3, 8, 8), torch.rand(5, 3, 3, 3)
    heads, target = torch.rand(2, 4, 5, 8), torch.tensor([0, 2])
    return [x, torch.rand(3, 4), low, double, whole, heads, image, kernel, target]


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        return None


def refused(program: str, dtype: str) -> list[Diagnostic]:
    """Return the errors where what a program gives is declared to be of a dtype."""
    body = f"{HEAD} -> {dtype}[Tensor, '...']:\n{program}    return z\n"
    found = analyze_module(Source("case", "case.py", SETUP + body), NoSources(), Options())
    return [one for one in found if one.severity == "error"]


def programs() -> list[tuple[str, list[str]]]:
    """Return the body of each program, and the dtypes that its result is certain not to have."""
    found = []
    for line in INSIDE.splitlines():
        code, _, never = line.partition("  # ")
        found.append((f"    with torch.autocast('cpu'):\n        z = {code}\n", never.split()))
    for line in AROUND.splitlines():
        code, _, never = line.partition("  # ")
        found.append((f"    {code}\n", never.split()))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("program", "never"), programs(), ids=[one for one, _ in programs()])
def test_dtypes_are_those_that_torch_gives(program: str, never: list[str]) -> None:
    scope: dict[str, Any] = {}
    exec(f"{SETUP}{HEAD}:\n{program}    return z\n", scope)
    try:
        real = WORDS[scope["f"](*arguments()).dtype]
    except RuntimeError as error:
        if "could not create a primitive" not in str(error):
            raise
        pytest.skip("torch has no LSTM in bfloat16 for this processor")
    assert [one.message for one in refused(program, real)] == []
    assert real not in never
    assert [dtype for dtype in never if not refused(program, dtype)] == []
