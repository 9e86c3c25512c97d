"""Parts of dimensions, and dimensions of several, have the names that both sides give them.

So it is where a dimension has size 1, as `h` here, and nothing is left to tell by sizes.
"""

from __future__ import annotations

import pytest
import torch
from named.sides import program, running, static
from named.test_both_sides import HEAD

HEADER = f"{HEAD}\nfrom shapecheck.named import NamedTensor\n"
GIVEN = (
    'x: Float[Tensor, "b t d"], w: Float[Tensor, "b t h k"], '
    'y: Float[Tensor, "b 2*m"], z: Float[Tensor, "b n"]'
)

PARTS = {
    'named.topk(x, 2, "t")[0]': "b 2 d",
    'named.topk(x, x.shape[1] // 2, "t")[0]': "b t//2 d",
    'named.topk(x, z.shape[1], "t")[1]': "b n d",
    'named.topk(x, z.shape[1], "t", False)[1]': "b n d",
    'named.topk(x, dim="t", k=z.shape[1]).values': "b n d",
    'NamedTensor(x).topk(z.shape[1], "t")[0]': "b n d",
    'named.narrow(x, "t", 0, z.shape[1])': "b n d",
    'named.narrow(x, "t", start=1, length=x.shape[1] - 1)': "b t-1 d",
    'NamedTensor(x).narrow("t", 0, x.shape[1] // 2)': "b t//2 d",
    'named.narrow(y, "2*m", 0, y.shape[1] // 2)': "b m",
    'named.chunk(x, 2, "t")[0]': "b (t+1)//2 d",
    'named.chunk(x, 2, "t")[1]': "b t-(t+1)//2 d",
    'named.chunk(y, 2, "m")[1]': "b m",
    "x.unflatten(1, (-1, 2))": "b t//2 2 d",
    "x.unflatten(1, (2, -1))": "b 2 t//2 d",
    "torch.unflatten(x, dim=1, sizes=(-1, 2))": "b t//2 2 d",
    "x.unflatten(1, (-1, z.shape[1]))": "b t//n n d",
    "y.unflatten(1, (-1, 2))": "b m 2",
    'named.sum(x.unflatten(2, (2, -1)), "d//2")': "b t 2",
    "w.view(w.shape[0], w.shape[1], -1)": "b t (h k)",
    "w.reshape(w.shape[0], w.shape[1], w.shape[2] * w.shape[3])": "b t (h k)",
    "w.reshape(-1, w.shape[3])": "(b t h) k",
    'named.op(w, lambda x: x.view(x.shape[0], x.shape[1], -1), e="(h k)")': "b t e",
    'named.op(w, lambda x: x.view(x.shape[0], -1, x.shape[3]), e="(t h)")': "b e k",
    'named.op(w, lambda x: x.flatten(1, 2), e="(t h)")': "b e k",
    "named.op(x, lambda x: x.view(*x.shape[:2], 2, -1), p='d')": "b t 2 p",
    "named.op(x, lambda x: x.unflatten(2, (1, -1)))": "b t 1 d",
    'named.split(named.stack(w, e="h k"), e="p q", p=1)': "b t p q",
}


@pytest.mark.parametrize("expression", PARTS)
def test_what_parts_are_called(expression: str) -> None:
    text = program(HEADER, GIVEN, expression)
    if "NamedTensor" in expression:
        text = text.replace(expression, f"({expression}).tensor")
    given = [torch.rand(2, 6, 4), torch.rand(2, 6, 1, 4), torch.rand(2, 8), torch.rand(2, 3)]
    assert static(text) == running(text, given) == [PARTS[expression]]


WRONG = {
    'named.sum(named.topk(x, z.shape[1], "t")[0], "t")': (
        '"named.sum" has no dimension "t" in (b n d): it has "b", "n" and "d"'
    ),
    'named.narrow(x, "t", 0, x.shape[1] // 2) + x': (
        '"+" can\'t broadcast (b t//2 d) with (b t d): '
        "axis -2 is t//2 on the left and t on the right"
    ),
    'named.op(w, lambda x: x.view(x.shape[0], x.shape[1], -1), e="(k h)")': (
        '"named.op" has no dimension "(k h)" in (b t (h k)): the nearest is "(h k)"'
    ),
}


@pytest.mark.parametrize("expression", WRONG)
def test_wrong_parts(expression: str) -> None:
    text = program(HEADER, GIVEN, expression)
    given = [torch.rand(2, 6, 4), torch.rand(2, 6, 1, 4), torch.rand(2, 8), torch.rand(2, 3)]
    assert static(text) == running(text, given) == [f"error: {WRONG[expression]}"]
