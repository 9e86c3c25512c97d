"""What the uses of a parameter show of it: how many axes there are, and what they are called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from annotated_module import annotated

LAYERS = (
    "class Layers(nn.Module):\n"
    "    def __init__(self, d_model, heads):\n"
    "        super().__init__()\n"
    "        self.h = heads\n"
    "        self.d_k = d_model // heads\n"
    "        self.q = nn.Linear(d_model, d_model)\n"
    "        self.k = nn.Linear(d_model, d_model)\n"
    "        self.layers = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(2)])\n"
)


def shapes(tmp_path: Path, body: str, head: str = "(self, query, key)") -> list[str]:
    """Return the shapes that a method of `Layers` is annotated with, in order."""
    found = annotated(tmp_path, f"{LAYERS}    def forward{head}:\n{body}")
    (signature,) = [line for line in found.splitlines() if "def forward" in line]
    return re.findall(r'Tensor, "([^"]*)"', signature)


def test_a_batch_and_the_features_of_a_layer_are_two_axes(tmp_path: Path) -> None:
    """The first is the batch, and the last what the layer takes, whatever is between them."""
    body = "        n = query.size(0)\n        return self.q(query)\n"
    assert shapes(tmp_path, body, "(self, query)") == ["n *rest d_model"] * 2
    body = "        n = query.size(0)\n        return query[..., :2]\n"
    assert shapes(tmp_path, body, "(self, query)") == ["n ..."]


ATTENTION = (
    "        {apart}\n"
    "        scores = query.transpose(1, 2) @ key.transpose(1, 2).transpose(-2, -1)\n"
    "        return scores.softmax(-1)\n"
)
ONE_BY_ONE = (
    "query = self.q(query).view(b, -1, self.h, self.d_k)\n"
    "        key = self.k(key).view(b, -1, self.h, self.d_k)"
)
ZIPPED = (
    "query, key = [layer(x).view(b, -1, self.h, self.d_k) for layer, x in\n"
    "            zip(self.layers, (query, key))]"
)
ENUMERATED = (
    "made = []\n"
    "        for i, x in enumerate([query, key]):\n"
    "            made.append(self.q(x).view(b, -1, self.h, self.d_k))\n"
    "        query, key = made"
)


@pytest.mark.parametrize("apart", [ONE_BY_ONE, ZIPPED, ENUMERATED])
def test_what_is_divided_into_heads_is_a_batch_of_sequences(tmp_path: Path, apart: str) -> None:
    """`-1` is one axis where features are behind it, and what a loop goes through is used in it."""
    body = "        b = query.size(0)\n" + ATTENTION.format(apart=apart)
    found = shapes(tmp_path, body)
    assert found[0] == "b t d_model"
    assert found[1] in ("b t2 d_model", "b t d_model")
    assert len(found) == 3


def test_what_is_flattened_is_left_open(tmp_path: Path) -> None:
    """`-1` may be several axes of an image where no features are divided behind it."""
    body = (
        "        b = query.size(0)\n        return self.q(query).view(b, -1, self.h * self.d_k)\n"
    )
    assert shapes(tmp_path, body, "(self, query)")[0] == "b ... d_model"


def test_four_axes_of_queries_are_called_as_in_attention(tmp_path: Path) -> None:
    body = (
        "        assert query.ndim == key.ndim == 4\n"
        "        return torch.matmul(query, key.transpose(-2, -1))\n"
    )
    assert shapes(tmp_path, body) == ["b h t d", "b h t2 d", "b h t t2"]


def test_two_axes_of_whole_numbers_are_those_of_tokens(tmp_path: Path) -> None:
    text = (
        "class Embedded(nn.Module):\n"
        "    def __init__(self, d):\n"
        "        super().__init__()\n"
        "        self.table = nn.Embedding(10, d)\n"
        "    def forward(self, ids):\n"
        "        assert ids.ndim == 2\n"
        "        return self.table(ids)\n"
    )
    assert 'ids: Int[torch.Tensor, "b t"]' in annotated(tmp_path, text).replace("Integer", "Int")


@pytest.mark.parametrize("asks", ["t is not None", "torch.is_tensor(t)", "isinstance(t, Tensor)"])
def test_what_a_loop_asks_about_may_be_no_tensor(tmp_path: Path, asks: str) -> None:
    """What it goes through is shown to be tensors only where it takes them for that."""
    text = (
        "def total(x, y):\n"
        "    out = torch.zeros(3)\n"
        "    for t in (x, y):\n"
        "        if {}:\n"
        "            out = out + t.sum(dim=-1)\n"
        "    return out\n"
    )
    assert "def total(x, y)" in annotated(tmp_path, text.format(asks))
    assert "def total(x: " in annotated(tmp_path, text.format("len(out)"))


def test_what_may_be_called_may_be_no_tensor(tmp_path: Path) -> None:
    text = "def product(a, x):\n    if {}:\n        return a(x)\n    return torch.mm(a, x)\n"
    assert "def product(a, x:" in annotated(tmp_path, text.format("callable(a)"))
    assert "def product(a: " in annotated(tmp_path, text.format("callable(x)"))
