"""Calls whose shapes the analysis finds without an op rule of their own: torch is the judge.

Each expression is evaluated by torch, and its shape has to be what the analysis says of it.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from shapecheck.analysis import Options, Source, analyze_module

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
torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x * 2, (a,))
"""


def shapes(value: Any) -> Any:
    """Return the shapes in a value, as the analysis writes them."""
    if isinstance(value, torch.Tensor):
        return " ".join(map(str, value.shape))
    return [shapes(item) for item in value]


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


def said(program: str) -> list[str]:
    """Return what the analysis says of a program."""
    source = Source("case", "case.py", program)
    return [found.message for found in analyze_module(source, NoSources(), Options())]


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
    found = parts(expression, shapes(eval(expression, scope)))
    asked = "".join(f"reveal_shape({part})\n" for part, _ in found)
    answers = said(f"{SETUP}from shapecheck import reveal_shape\n{asked}")
    assert answers == [f'Revealed shape is "{shape}"' for _, shape in found]
