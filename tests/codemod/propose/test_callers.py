"""What callers say of a function: never more than all its calls would bear."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from annotated_module import annotated


@pytest.mark.parametrize("given", ["0.0", "[x, x]", "(x, x)", "'auto'", "float(x.sum())"])
def test_what_a_caller_gives_no_tensor_for_is_none(given: str, tmp_path: Path) -> None:
    text = (
        "def gain(x: torch.Tensor, scale):\n"
        "    return x * torch.exp(scale)\n"
        "def f(x: torch.Tensor):\n"
        "    b, t = x.shape\n"
        "    return gain(x, x) + gain(x, {})\n"
    )
    assert ", scale):" in annotated(tmp_path, text.format(given)).replace(") ->", "):")
    assert 'scale: Shaped[Tensor, "' in annotated(tmp_path, text.format("x + 1"))


def test_a_list_of_images_is_no_tensor(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def rows(samples):\n"
        '    return rearrange(samples, "n b c h w -> b n c h w")\n'
        "def log(x: torch.Tensor):\n"
        "    steps = []\n"
        "    for _ in range(3):\n"
        "        steps.append(x)\n"
        "    return rows(steps)\n",
    )
    assert "def rows(samples)" in found


@pytest.mark.parametrize(
    "question",
    [
        "if isinstance(state, tuple):",
        "if torch.is_tensor(state):",
        "if not isinstance(state, list):",
    ],
)
def test_what_a_function_asks_the_type_of_is_left(question: str, tmp_path: Path) -> None:
    text = f"def f(state, x: torch.Tensor):\n    {question}\n        x = x + 1\n"
    text += "    return x.view(3, 4) @ state.view(4, 5)\n"
    assert "def f(state, x: " in annotated(tmp_path, text)


@pytest.mark.parametrize(
    "question",
    [
        "assert isinstance(state, torch.Tensor)",
        "if not isinstance(state, torch.Tensor):\n        raise TypeError(state)",
    ],
)
def test_what_must_be_a_tensor_is_one(question: str, tmp_path: Path) -> None:
    text = f"def f(state):\n    {question}\n    n, d = state.shape\n    return state @ state.mT\n"
    assert 'def f(state: Shaped[torch.Tensor, "n d"])' in annotated(tmp_path, text)


def test_what_keeps_any_shape_keeps_it_whoever_calls_it(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def shift(mu: float, t: torch.Tensor):\n"
        "    return mu / (mu + (1 / t - 1) ** 2)\n"
        "def schedule(n: int):\n"
        "    return shift(0.5, torch.linspace(1, 0, n))\n",
    )
    assert 't: Shaped[torch.Tensor, "*batch"]) -> Shaped[Tensor, "*batch"]' in found


def test_what_is_told_a_pattern_has_as_many_axes_as_that(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def undo(x: torch.Tensor, shapes, pattern):\n"
        "    return unpack(x, shapes, pattern)[0]\n"
        "def f(x: torch.Tensor):\n"
        "    b, c, h, w = x.shape\n"
        '    y, shapes = pack([x], "b *")\n'
        '    return undo(y, shapes, "b *")\n',
    )
    assert "undo(x: torch.Tensor, shapes, pattern)" in found


def test_axes_of_one_tensor_are_not_one_because_a_caller_has_them_so(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def spread(scores: torch.Tensor, n: int, m: int):\n"
        "    return scores.view(-1, n, m)\n"
        "def f(x: torch.Tensor):\n"
        "    b, h, w, c = x.shape\n"
        "    y = x.reshape(b, h * w, c)\n"
        "    return spread(y @ y.mT, h * w, h * w)\n",
    )
    assert 'def spread(scores: Shaped[torch.Tensor, "b t d"]' in found


def test_axes_that_a_caller_has_one_name_for_are_one(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "class Block(nn.Module):\n"
        "    def __init__(self, mask: torch.Tensor):\n"
        "        super().__init__()\n"
        "        self.mask = mask\n"
        "def build(length: int):\n"
        "    return Block(torch.zeros(length, length))\n",
    )
    assert 'mask: Float[torch.Tensor, "length length"]' in found


@pytest.mark.parametrize("body", ["x * gain", "x - gain", "gain + x.exp()"])
def test_what_is_only_added_to_tensors_may_be_a_number(body: str, tmp_path: Path) -> None:
    text = f"def f(x: torch.Tensor, gain):\n    b, t = x.shape\n    return {body}\n"
    found = annotated(tmp_path, text)
    assert 'f(x: Shaped[torch.Tensor, "b t"], gain)' in found


def test_what_a_caller_gives_1_for_needn_t_be_as_long_as_what_it_meets(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def between(a: torch.Tensor, b: torch.Tensor, t: torch.Tensor):\n"
        "    return a + (b - a) * t\n"
        "def sample(x: torch.Tensor):\n"
        "    B, T, D = x.shape\n"
        "    return between(torch.randn(B, T, D), x, torch.rand((B, 1, 1)))\n",
    )
    assert 't: Float[torch.Tensor, "B _ _"]) -> Shaped[Tensor, "B T D"]:' in found


def test_one_number_shows_nothing_of_how_many_axes_there_are(tmp_path: Path) -> None:
    text = (
        "def normalized(x: torch.Tensor):\n"
        "    return x / x.sum(0)\n"
        "def test_normalized():\n"
        "    assert normalized(torch.zeros(1)).sum() == 0\n"
    )
    found = annotated(tmp_path, text)
    assert 'def normalized(x: Shaped[torch.Tensor, "n *rest"])' in found


def test_what_would_make_a_callers_size_a_number_is_no_guess(tmp_path: Path) -> None:
    """The last axis of the positions is 1, and meets one of half the width."""
    found = annotated(
        tmp_path,
        "def embedding(positions: torch.Tensor, dim: int):\n"
        "    turns = torch.arange(dim // 2).view(1, 1, -1)\n"
        "    return torch.cat([(positions * turns).cos(), (positions * turns).sin()], dim=-1)\n"
        "def forward(x: torch.Tensor):\n"
        "    B, T, C = x.shape\n"
        "    return x + embedding(torch.arange(T).view(1, -1, 1), C)\n",
    )
    assert "def embedding(positions: torch.Tensor, dim: int):" in found
    assert 'x: Shaped[torch.Tensor, "B T C"]) -> Shaped[Tensor, "B T C"]' in found


def test_what_meets_as_many_as_a_parameter_says_may_be_a_number(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def noise(mean, std, batch):\n    return (mean + std * torch.randn((batch,))).exp()\n",
    )
    assert "def noise(mean, std, batch)" in found


def test_what_goes_on_to_a_function_for_any_number_of_axes_is_left_open(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def dropped(x, p):\n"
        "    return x * x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(p)\n"
        "class Drop(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return dropped(x, 0.5)\n"
        "def use(x: torch.Tensor):\n"
        "    b, t, d = x.shape\n"
        "    return Drop()(x)\n",
    )
    assert 'def use(x: Shaped[torch.Tensor, "b t d"])' in found
    assert 'def forward(self, x: Shaped[torch.Tensor, "b t d"])' not in found


def test_one_number_may_have_as_many_axes_as_others_hand_over(tmp_path: Path) -> None:
    text = (
        "def pull(cdf: torch.Tensor):\n"
        "    return cdf[3].item()\n"
        "def f(x: torch.Tensor):\n"
        "    b, n = x.shape\n"
        "    return pull(x.sum(0)), pull(torch.zeros({}))\n"
    )
    assert 'cdf: Shaped[torch.Tensor, "n"]' in annotated(tmp_path, text.format("1"))
    assert "cdf: torch.Tensor" in annotated(tmp_path, text.format("1, 1"))


def test_what_is_handed_on_says_nothing_of_its_axes(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def pull(cdf: torch.Tensor):\n"
        "    return cdf[3].item()\n"
        "def through(cdf: torch.Tensor):\n"
        "    return pull(cdf)\n"
        "def f(x: torch.Tensor):\n"
        "    b, n = x.shape\n"
        "    return pull(x.sum(0))\n",
    )
    assert 'def pull(cdf: Shaped[torch.Tensor, "n"])' in found
    assert 'def through(cdf: Shaped[torch.Tensor, "n"])' in found


def test_what_a_number_may_be_given_for_as_a_whole_may_be_anything(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def gathered(x: torch.Tensor):\n"
        "    torch.distributed.all_reduce(x)\n"
        "def f(x: torch.Tensor):\n"
        "    b, n = x.shape\n"
        "    gathered(x)\n"
        "    gathered(torch.ones(1, 1))\n",
    )
    assert "def gathered(x: torch.Tensor)" in found


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("torch.linspace(0, 1, n)", "{n}"),
        ("torch.linspace(0, 1, steps=n)", "{n}"),
        ("torch.randint(0, 10, (n, 3))", "{n} 3"),
        ("torch.randint(10, (n,))", "{n}"),
        ("torch.normal(0.0, 1.0, size=(n, 2))", "{n} 2"),
        ("torch.zeros(3).multinomial(n)", "n"),
        ("torch.zeros(n)", None),  # it may be several
    ],
)
def test_what_is_a_number_of_things_is_a_size(call: str, shape: str | None, tmp_path: Path) -> None:
    found = annotated(tmp_path, f"def f(n):\n    return {call}\n")
    given = re.search(r'def f\(n\) -> \w+\[\w[\w.]*, "(.*)"\]:', found)
    assert (given and given[1]) == shape


def test_what_scales_a_picture_has_no_more_axes(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "class Block(nn.Module):\n"
        "    def __init__(self, dim, dim_out):\n"
        "        super().__init__()\n"
        "        self.proj = nn.Conv2d(dim, dim_out, 3, padding=1)\n"
        "    def forward(self, x, scale_shift=None):\n"
        "        b, c, h, w = x.shape\n"
        "        x = self.proj(x)\n"
        "        if scale_shift is not None:\n"
        "            scale, shift = scale_shift\n"
        "            x = x * (scale + 1) + shift\n"
        "        return x\n",
    )
    assert '-> Shaped[torch.Tensor, "b dim_out h w"]:' in found
