"""Calls whose shapes the analysis finds without an op rule of their own: torch is the judge.

Each expression is evaluated by torch, and its shape has to be what the analysis says of it.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from lone_program import said_of

SETUP = """\
import torch
from torch import nn
from torch.autograd import functional
from torch.func import (
    functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap,
)
from torch.utils._pytree import tree_map
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
a, b, v = torch.zeros(2, 3), torch.zeros(3, 4), torch.zeros(3)
pairs = torch.zeros(5, 2, 3)
layer = nn.Linear(3, 4)
net = nn.Sequential(layer, nn.Linear(4, 5))
params = dict(layer.named_parameters())
from torch import distributions as d
from torch.distributions.transforms import AffineTransform, ExpTransform, TanhTransform
rows, scale = torch.ones(4, 3), torch.ones(3)
weights = torch.full((4, 3), 1 / 3)
normal, choice = d.Normal(rows, scale), d.Categorical(weights)
event = d.Independent(normal, 1)
mixture = d.MixtureSameFamily(choice, d.Independent(d.Normal(pairs[:4].transpose(1, 2), 1.0), 1))
from torch.nn.utils import rnn
lengths = torch.tensor([5, 4, 2])
padded, first = torch.zeros(5, 3, 7), torch.zeros(3, 5, 7)
packed, packed_first = rnn.pack_padded_sequence(padded, lengths), rnn.pack_padded_sequence(
    first, lengths, batch_first=True, enforce_sorted=False
)
lists = [torch.zeros(5, 7), torch.zeros(4, 7), torch.zeros(2, 7)]
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset
from torch.utils.data import default_collate, random_split
from torch.nn.attention import flex_attention
from torch.nn.attention.flex_attention import flex_attention as flex
queries, keys = torch.zeros(2, 4, 5, 8), torch.zeros(2, 4, 6, 8)
lstm_weights, gru = nn.LSTM(7, 8)._flat_weights, nn.GRU(7, 8)._flat_weights
states = (torch.zeros(1, 3, 8), torch.zeros(1, 3, 8))
cell, lstm = list(nn.GRUCell(3, 8).parameters()), list(nn.LSTMCell(3, 8).parameters())
both = TensorDataset(pairs, torch.zeros(5))
class Rows(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, index):
        return {"x": torch.zeros(2, 3), "y": [torch.zeros(3, 4), index], "z": (0.5, True)}
"""
EXPRESSIONS = """\
vmap(torch.dot, in_dims=(0, None))(a, v)
vmap(torch.mv, in_dims=(0, None))(pairs, v)
vmap(torch.mm, in_dims=(0, None), out_dims=2)(pairs, b)
vmap(torch.mm, in_dims=(1, None))(pairs.transpose(0, 1), b)
vmap(lambda x: (x.sum(), x), out_dims=(0, -1))(pairs)
vmap(vmap(torch.dot, (None, 0)), (0, None))(a, torch.zeros(7, 3))
vmap(lambda x: {"y": x["x"] + 1})({"x": a})["y"]
vmap(lambda x: [x.T, x[0]])(pairs)
vmap(lambda x, y: x @ y, in_dims=(None, 1))(a, b)
vmap(lambda x: torch.ones(3))(a)
grad(lambda x: x.sum())(a)
grad(lambda x, y: (x @ y).sum(), argnums=1)(a, b)
grad(lambda x, y: (x @ y).sum(), argnums=(1, 0))(a, b)
grad(lambda p: (a @ p["w"]).sum())({"w": b})["w"]
grad(lambda x: (x.sum(), x.T), has_aux=True)(a)
grad_and_value(lambda x: x.sum())(a)
grad_and_value(lambda x: (x.sum(), x.T), has_aux=True)(a)
grad_and_value(lambda x: (x.sum(), x.T), has_aux=True)(a)[1]
vmap(grad(lambda x, y: (x @ y).sum()), in_dims=(0, None))(pairs, b)
jacrev(torch.matmul)(a, b)
jacfwd(torch.matmul, argnums=1)(a, b)
jacrev(torch.matmul, argnums=(0, 1))(a, b)
jacrev(lambda x: (x.sum(0), x.T))(a)
jacrev(lambda x: {"y": x.sum(0)})(a)["y"]
jacrev(lambda x: (x.sum(0), x.T), has_aux=True)(a)
hessian(lambda x: x.square().sum())(a)
hessian(lambda x, y: (x @ y).square().sum(), argnums=(0, 1))(a, b)[1]
vjp(torch.matmul, a, b)[0]
vjp(torch.matmul, a, b)[1](torch.zeros(2, 4))
jvp(torch.matmul, (a, b), (a, b))
linearize(torch.matmul, a, b)[1](a, b)
functional.jacobian(torch.matmul, (a, b))
functional.jacobian(lambda x: x.sum(0), a)
functional.hessian(lambda x: x.square().sum(), a)
functional_call(layer, params, a)
functional_call(layer, params, (a,))
vmap(lambda p, x: functional_call(layer, p, x), in_dims=(None, 0))(params, pairs)
checkpoint(layer, a, use_reentrant=False)
checkpoint(torch.matmul, a, b, use_reentrant=False, preserve_rng_state=False)
checkpoint_sequential(net, 2, a, use_reentrant=False)
tree_map(lambda x: x.sum(0), (a, pairs))
normal.sample((7,)), normal.rsample(), normal.log_prob(rows), normal.entropy()
normal.sample_n(7), normal.sample(rows.shape), normal.rsample(sample_shape=[2, 5]).mean(0)
normal.expand((7, 4, 3)).rsample((2,)), normal.expand([7, -1, -1]).sample()
normal.expand((7, 4, 3)).loc
d.Normal(0.0, 1.0).expand((3, 4)).rsample((5,)), d.Normal(0.0, 1.0).expand((3, 4)).mean
event.expand((7, 4)).rsample((2,)), event.expand((7, 4)).log_prob(rows), event.rsample((5,))
choice.expand((7, 4)).sample((2,)), choice.expand((7, 4)).probs, choice.expand((7, 4)).entropy()
d.MultivariateNormal(scale, torch.eye(3)).expand((7, 4)).rsample((2,))
torch.zeros(normal.expand((7, 4, 3)).batch_shape), torch.zeros(event.expand((7, 4)).event_shape)
torch.Tensor(rows.size()), torch.Tensor(rows.shape[:1]), torch.Tensor(rows.size() + (5,))
torch.Tensor((5,) + rows.shape), torch.Tensor(rows.shape * 2), torch.Tensor(torch.Size((5, 6)))
torch.Tensor(tuple(rows.shape)), torch.Tensor(list(rows.shape)), torch.Tensor(rows)
torch.Tensor(5, 6), torch.Tensor(*rows.shape), torch.Tensor([5, 6]), torch.Tensor((5, 6))
torch.FloatTensor(3, 4), torch.LongTensor(rows.shape), torch.Tensor(), torch.Tensor(5)
torch.Tensor(len(rows), 7), torch.Tensor([[1, 2, 3], [4, 5, 6]])
torch.IntTensor(normal.batch_shape)
rows.new(5, 6), rows.new(rows.shape), rows.new([5, 6, 7]), rows.new(), rows.new(rows)
flex(queries, keys, keys), flex(queries, keys, keys, return_lse=True)
flex(queries, keys[:, :2], keys[:, :2], return_lse=True, enable_gqa=True)
normal.mean, normal.variance, torch.zeros(normal.batch_shape), torch.zeros(normal.event_shape)
choice.sample((7,)), choice.probs, choice.mode, choice.log_prob(torch.zeros(9, 4)), choice.entropy()
torch.zeros(choice.batch_shape + (2,)), torch.zeros(choice.event_shape)
event.sample((7,)), event.log_prob(rows), event.log_prob(torch.ones(2, 4, 3)), event.mean
torch.zeros(event.batch_shape), torch.zeros(event.event_shape), event.entropy()
mixture.sample((7,)), mixture.log_prob(torch.zeros(4, 2)), mixture.mean
d.TransformedDistribution(normal, [TanhTransform(), ExpTransform()]).rsample((5,))
d.TransformedDistribution(event, AffineTransform(0.0, 2.0)).log_prob(rows)
d.kl_divergence(normal, d.Normal(0.0, 1.0)), d.kl.kl_divergence(event, event)
d.Binomial(torch.ones(4, 1), probs=scale / 4).sample()
d.Multinomial(6, probs=weights).sample((2,)), d.Multinomial(6, probs=weights).mean
d.MultivariateNormal(scale, torch.eye(3)).sample((5,))
d.Wishart(4.0, torch.eye(3)).sample((2,))
d.LowRankMultivariateNormal(rows, torch.ones(3, 2), scale).sample((5,))
d.LKJCholesky(3).sample((2,))
d.LogisticNormal(rows, scale).sample(), d.Dirichlet(rows).log_prob(weights)
d.VonMises(0.0, scale).sample(), d.StudentT(3.0, rows).sample()
d.RelaxedOneHotCategorical(torch.tensor(0.5), logits=weights).rsample()
ExpTransform()(rows), AffineTransform(rows, 2.0)(scale), TanhTransform().inv(weights)
nn.LSTM(7, 8)(packed)[1], nn.GRU(7, 8, 2, bidirectional=True)(packed)[1]
nn.LSTM(7, 8, proj_size=2, batch_first=True)(packed_first)[1]
rnn.pad_packed_sequence(nn.LSTM(7, 8, bidirectional=True)(packed)[0], total_length=6)
rnn.pad_packed_sequence(nn.RNN(7, 8)(packed_first)[0], batch_first=True, total_length=6)
rnn.pad_packed_sequence(rnn.pack_sequence(lists), total_length=5)
rnn.pack_sequence(lists).data
rnn.pad_sequence(lists), rnn.pad_sequence(lists, batch_first=True)
both[0], torch.zeros(len(both))
next(iter(DataLoader(both, batch_size=2, drop_last=True, shuffle=True)))
next(iter(DataLoader(both))), [x for x, y in DataLoader(both, 5, drop_last=True)]
next(iter(DataLoader(both, batch_size=None)))
next(iter(DataLoader(both, 2, collate_fn=lambda rows: rows[0])))
random_split(both, [3, 2])[1][0], Subset(both, [0, 2])[1]
torch.zeros(len(random_split(both, [3, 2])[0]))
next(iter(DataLoader(Subset(both, [0, 2]), 2, drop_last=True)))
next(iter(DataLoader(Rows(), batch_size=4, drop_last=True)))["x"]
next(iter(DataLoader(Rows(), batch_size=4, drop_last=True)))["y"]
next(iter(DataLoader(Rows(), batch_size=4, drop_last=True)))["z"]
default_collate([a, a]), default_collate([(a, 1), (a, 2)])
torch.embedding(b, torch.zeros(2, 5).long()), torch.celu(a)
torch.conv_tbc(pairs, pairs[:2, :1].mT, v[:1])
torch.batch_norm(pairs, None, None, None, None, True, 0.1, 1e-5, False)
torch.lstm(padded, states, lstm_weights, True, 1, 0.0, False, False, False)
torch.gru(packed.data, packed.batch_sizes, states[0], gru, True, 1, 0.0, False, False)[1]
torch.gru_cell(a, torch.zeros(2, 8), cell[0], cell[1])
torch.lstm_cell(a, (states[0][0][:2], states[1][0][:2]), lstm[0], lstm[1])
torch.kl_div(a, a, 0), torch.kl_div(a, a)
torch._foreach_mul([a, b], 2), torch._foreach_sqrt([a, b])
torch.sparse.sum(a.to_sparse(), 0).to_dense(), torch.sparse.sum(a.to_sparse())
torch.sparse.softmax(a.to_sparse(), 1), torch.sparse_coo_tensor(torch.zeros(2, 1), [1.0], (4, 5))
torch.sparse.mm(a.to_sparse_csr(), b), torch.sparse.addmm(torch.zeros(2, 4), a.to_sparse(), b)
torch.nested.to_padded_tensor(torch.nested.nested_tensor([a, torch.zeros(5, 3)]), 0.0, (2, 7, 3))
torch.nested.nested_tensor([a, a]).to_padded_tensor(0.0)
functional.vjp(torch.matmul, (a, b), torch.zeros(2, 4)), functional.jvp(torch.sin, a, a)
functional.hvp(lambda x: x.square().sum(), a, a), torch.autograd.Variable(a)
d.utils.broadcast_all(a, v), d.utils.logits_to_probs(a), torch.binomial(a, a)
flex_attention.create_mask(lambda b, h, q, k: q > k, None, 4, 5, 6, device="cpu")
torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x * 2, (a,))
"""


def shapes(value: Any) -> Any:
    """Return the shapes in a value, as the analysis writes them."""
    if isinstance(value, torch.Tensor):
        return " ".join(map(str, value.shape))
    return [shapes(item) for item in value if item is not None]


def said(program: str) -> list[str]:
    """Return what the analysis says of a program."""
    return [found.message for found in said_of(program)]


def parts(expression: str, wanted: Any) -> list[tuple[str, str]]:
    """Return an expression for each tensor in a value, with its shape."""
    if isinstance(wanted, str):
        return [(expression, wanted)]
    inner = (parts(f"{expression}[{index}]", one) for index, one in enumerate(wanted))
    return [part for one in inner for part in one]


@pytest.mark.parametrize("expression", EXPRESSIONS.splitlines())
def test_shape(expression: str) -> None:
    scope: dict[str, Any] = {}
    exec(SETUP, scope)
    found = parts(f"({expression})", shapes(eval(expression, scope)))
    asked = "".join(f"reveal_shape({part})\n" for part, _ in found)
    answers = said(f"{SETUP}from shapecheck import reveal_shape\n{asked}")
    assert answers == [f'Revealed shape is "{shape}"' for _, shape in found]
