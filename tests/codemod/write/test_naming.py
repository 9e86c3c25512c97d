"""What annotations call dimensions: one name for one, two names for what may be two."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from annotated_module import HEAD, annotated


def test_a_name_of_callers_is_no_variable_of_the_function(tmp_path: Path) -> None:
    """The mask is as long as the longest text, which the callee needn't call `length`."""
    found = annotated(
        tmp_path,
        "class A(nn.Module):\n"
        "    def __init__(self, length):\n"
        "        super().__init__()\n"
        "        self.length = length\n"
        "        self.mask = nn.Parameter(torch.zeros(length, length))\n"
        "    def forward(self, x):\n"
        "        return masked(x, self.mask)\n"
        "def masked(x: torch.Tensor, mask: torch.Tensor):\n"
        "    batch, length, _ = x.shape\n"
        "    return (x @ x.transpose(1, 2)) + mask[:length, :length]\n",
    )
    assert 'x: Shaped[torch.Tensor, "batch length d"], mask: Float[torch.Tensor, "b b"]' in found


def test_a_name_that_another_annotation_has_is_taken(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "from shapecheck import Float\n"
        'def f(x: Float[torch.Tensor, "b d"], y: torch.Tensor):\n'
        "    assert y.ndim == 2\n"
        "    return x.sum() + y.sum()\n",
    )
    assert 'y: Shaped[torch.Tensor, "b2 d2"]' in found


def test_a_result_is_called_what_the_parameters_are_called(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(x: torch.Tensor, heads: int):\n"
        "    b, n, c = x.shape\n"
        "    x = x.reshape(b, n, heads, c // heads)\n"
        "    return x.transpose(1, 2)  # B x N_heads x N_tokens x C_per_head\n",
    )
    assert '"b N_heads n C_per_head"]:' in found


def test_one_name_in_a_comment_for_two_dimensions_of_parameters_isnt_believed(
    tmp_path: Path,
) -> None:
    text = (
        "def f(q: torch.Tensor, k: torch.Tensor):\n"
        "    b, n, c = q.shape\n"
        "    m = k.shape[1]\n"
        "    attn = q @ k.reshape(b, m, c).transpose(1, 2)  # (B, N, {})\n"
        "    return attn.softmax(-1)\n"
    )
    assert "attn: " not in annotated(tmp_path, text.format("N"))
    assert 'attn: Shaped[Tensor, "b n m"]' in annotated(tmp_path, text.format("M"))


@pytest.mark.parametrize("other", ["None", "0", "[]"])
def test_a_variable_that_is_no_tensor_elsewhere_is_left(tmp_path: Path, other: str) -> None:
    """A type checker would refuse the other assignment."""
    text = (
        "def f(x, there):\n"
        "    if there:\n"
        "        y = torch.relu(x)  # (n, 3)\n"
        "    else:\n"
        "        y = {}\n"
        "    return y\n"
    )
    assert "y: " not in annotated(tmp_path, text.format(other))
    assert 'y: Shaped[torch.Tensor, "n 3"]' in annotated(tmp_path, text.format("2 * x"))


@pytest.mark.parametrize("axes", ["x.ndim - 1", "x.dim() - 1", "len(x.shape) - 1"])
def test_callers_dont_say_the_axes_where_any_number_will_do(tmp_path: Path, axes: str) -> None:
    found = annotated(
        tmp_path,
        "def drop(x: torch.Tensor):\n"
        f"    return x * x.new_ones((x.shape[0],) + (1,) * ({axes}))\n"
        "def f(x: torch.Tensor):\n"
        "    b, c, h, w = x.shape\n"
        "    return drop(x)\n",
    )
    assert 'def f(x: Shaped[torch.Tensor, "b c h w"])' in found
    assert '"b c h w"' not in found[: found.index("def f")]


def test_a_group_that_nothing_else_has_isnt_written(tmp_path: Path) -> None:
    text = "def f(x, mask: torch.Tensor{}):\n    return g(x) * (mask.exp() + {})\n"
    assert annotated(tmp_path, text.format("", 1)) == HEAD + text.format("", 1)
    found = annotated(tmp_path, text.format(", bias: torch.Tensor", "bias"))
    assert 'mask: Shaped[torch.Tensor, "*#batch"], bias: Shaped[torch.Tensor, "*#batch"]' in found


def test_what_may_be_none_in_an_abstract_method_is_a_tensor_or_none(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "class Loss:\n"
        "    def of(self, x, weight=None):\n"
        "        raise NotImplementedError\n"
        "class L1(Loss):\n"
        "    def of(self, x: torch.Tensor, weight: torch.Tensor):\n"
        "        n, d = x.shape\n"
        "        m, d = weight.shape\n"
        "        return (x @ weight.mT).sum()\n",
    )
    assert 'weight: Shaped[torch.Tensor, "m d"])' in found
    assert 'weight: Shaped[Tensor, "m d"] | None = None)' in found


def test_the_result_has_the_group_that_an_annotation_has_a_name_for(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "from shapecheck import Float\n"
        'def f(x: Float[torch.Tensor, "*batch d"]):\n'
        "    return x.softmax(-1)\n",
    )
    assert '-> Float[torch.Tensor, "*batch d"]:' in found.replace("[Tensor", "[torch.Tensor")


def test_a_group_is_called_what_the_code_calls_the_rest(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(x: torch.Tensor):\n"
        "    b, c, *spatial = x.shape\n"
        "    return (x.reshape(b, c, -1) + 1).reshape(b, c, *spatial)\n",
    )
    assert 'x: Shaped[torch.Tensor, "b c *spatial"]) -> Shaped[Tensor, "b c *spatial"]' in found


def test_no_axis_is_called_what_is_a_tensor(tmp_path: Path) -> None:
    """`c` is what the images are made under, and no number of channels."""
    found = annotated(
        tmp_path,
        "class A(nn.Module):\n"
        "    def __init__(self, channels, make):\n"
        "        super().__init__()\n"
        "        self.channels, self.make = channels, make\n"
        "    def images(self, x: torch.Tensor):\n"
        "        n = x.shape[0]\n"
        "        c = self.make(x)\n"
        "        return torch.zeros(n, c, 8, 8)\n"
        "    def forward(self, x, t):\n"
        "        # x: (N, C, 8, 8)\n"
        "        c = torch.relu(t)\n"
        "        y = self.images(x + c.mean())  # (N, out, 8, 8)\n"
        "        return y\n",
    )
    assert 'x: Shaped[torch.Tensor, "N C 8 8"]' in found.replace("[Tensor", "[torch.Tensor")
    assert '"N c 8 8"' not in found.partition("def forward")[2]


@pytest.mark.parametrize(
    ("size", "written"),
    [("a * b + n * d", "d*n+{a}*{b}"), ("a * b * c + n * d + a", "_"), ("-(-n // 2) * a * b", "_")],
)
def test_what_takes_many_steps_to_compute_isnt_written(
    tmp_path: Path, size: str, written: str
) -> None:
    found = annotated(
        tmp_path,
        "def f(x: torch.Tensor, a: int, b: int, c: int):\n"
        "    n, d = x.shape\n"
        f"    return x.new_zeros({size}, d)\n",
    )
    assert f'"{written} d"]:' in found


def test_a_size_that_only_a_result_has_is_named_if_the_code_does(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(path, library):\n"
        "    count = library.count(path)\n"
        "    return torch.zeros(count, library.size(path), 3)\n",
    )
    assert '-> Float[torch.Tensor, "count _ 3"]:' in found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('"b h i d, b h j d -> b h i j"', '"b h i j, b h j d -> b h i d"'),
        ('f"b h i d, b h j d -> b h i j"', 'f"b h i j, b h j d -> b h i d"'),
        ('"bhid,bhjd->bhij"', '"bhij,bhjd->bhid"'),
    ],
)
def test_what_a_sum_is_over_is_called_as_in_its_pattern(
    tmp_path: Path, first: str, second: str
) -> None:
    found = annotated(
        tmp_path,
        "def attend(q, k, v):\n"
        f"    scores = torch.einsum({first}, q, k)\n"
        f"    return torch.einsum({second}, scores.softmax(dim=-1), v)\n",
    )
    assert re.findall(r'"(.*?)"', found.partition("def attend")[2].partition(":\n")[0]) == [
        "b h i d",
        "b h j d",
        "b h j d",
        "b h i d",
    ]


def test_a_parameter_that_is_reordered_has_an_axis_for_each_that_is_named(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(x):\n"
        "    x = x.permute(0, 2, 1)\n"
        '    return rearrange(x, "b c t -> b (c t)")\n'
        "class Recurrent(nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "        self.lstm = nn.LSTM(width, width)\n"
        "    def forward(self, x):\n"
        "        x = x.permute(2, 0, 1)\n"
        "        y, _ = self.lstm(x)\n"
        "        return (x + y).permute(1, 2, 0)\n",
    )
    assert 'def f(x: Shaped[torch.Tensor, "b t c"]) -> Shaped[torch.Tensor, "b c*t"]:' in found
    assert 'x: Shaped[torch.Tensor, "b width n"]) -> Shaped[torch.Tensor, "b width n"]' in found


@pytest.mark.parametrize("check", ["", "    assert dim % 2 == 0\n"])
def test_a_size_is_that_of_an_int_parameter_whatever_is_said_of_it(
    tmp_path: Path, check: str
) -> None:
    found = annotated(
        tmp_path,
        f"def f(n: int, dim: int):\n{check}    return torch.zeros(n, dim, dim // 2)\n",
    )
    assert '-> Float[torch.Tensor, "{n} {dim} {dim}//2"]:' in found


def test_an_axis_that_is_dropped_where_it_is_1_is_no_name(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(x: torch.Tensor):\n"
        "    return x.squeeze(1)\n"
        "def g(x: torch.Tensor):\n"
        "    b, c, t = x.shape\n"
        "    return x.squeeze(1)\n",
    )
    assert 'def f(x: Shaped[torch.Tensor, "b ..."]) -> Shaped[Tensor, "b ..."]:' in found
    assert 'def g(x: Shaped[torch.Tensor, "b _ t"]) -> Shaped[Tensor, "b ... t"]:' in found


def test_a_size_that_a_constructor_has_a_default_for_is_one(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "class Patches(nn.Module):\n"
        "    def __init__(self, patch=4, in_chans=3, width=96, bias=True):\n"
        "        super().__init__()\n"
        "        self.in_chans, self.width = in_chans, width\n"
        "        self.project = nn.Conv2d(in_chans, width, 3, stride=patch, padding=1, bias=bias)\n"
        "        self.head = nn.Linear(width, 10)\n"
        "    def forward(self, x):\n"
        "        B, C, H, W = x.shape\n"
        "        return self.head(self.project(x).mean((2, 3)))\n",
    )
    assert (
        'x: Float[torch.Tensor, "B {self.in_chans} H W"]) -> Float[torch.Tensor, "B 10"]:' in found
    )


def test_a_body_has_names_for_dimensions_that_come_from_elsewhere(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "class Patches(nn.Module):\n"
        "    def __init__(self, config):\n"
        "        super().__init__()\n"
        '        self.project = nn.Conv2d(int(config["chans"]), 8, 3)\n'
        "    def forward(self, x):\n"
        "        B, C, H, W = x.shape\n"
        "        return self.project(x)\n",
    )
    assert 'x: Float[torch.Tensor, "B C H W"]) -> Float[torch.Tensor, "B 8 H-2 W-2"]:' in found


def test_a_residual_has_the_axes_of_what_is_added_to(tmp_path: Path) -> None:
    """Fewer axes, and those of another parameter than the first, may stand behind others."""
    found = annotated(
        tmp_path,
        "class Block(nn.Module):\n"
        "    def forward(self, x):\n"
        "        B, L, C = x.shape\n"
        "        return x + self.run(x)\n"
        "class Row(nn.Module):\n"
        "    def forward(self, x):\n"
        "        b, d = x.shape\n"
        "        return x + self.run(x)\n"
        "class Scores(nn.Module):\n"
        "    def forward(self, q, bias):\n"
        "        h, t, s = bias.shape\n"
        "        return self.run(q) + bias\n",
    )
    assert 'x: Shaped[torch.Tensor, "B L C"]) -> Shaped[torch.Tensor, "B L C"]:' in found
    assert 'x: Shaped[torch.Tensor, "b d"]) -> Shaped[torch.Tensor, "... b d"]:' in found
    assert 'q, bias: Shaped[torch.Tensor, "h t s"]) -> Shaped[torch.Tensor, "... h t s"]:' in found


def test_what_sizes_are_made_of_is_an_int(tmp_path: Path) -> None:
    """One argument alone may be several sizes, and what a method is given may be anything."""
    found = annotated(
        tmp_path,
        "def split(x, heads):\n"
        "    b, t, c = x.shape\n"
        "    return x.view(b, t, heads, c // heads).transpose(1, 2)\n"
        "def times(batch, device):\n"
        "    return torch.zeros((batch,), device=device).uniform_(0, 1)\n"
        "def noise(size, device):\n"
        "    return torch.randn(size, device=device)\n"
        "class Pair:\n"
        "    def view(self, x, y):\n"
        "        return x + y\n"
        "    def both(self, x, y):\n"
        "        return self.view(x, y)\n",
    )
    assert (
        'x: Shaped[torch.Tensor, "b t c"], heads)'
        ' -> Shaped[torch.Tensor, "b {heads} t c//{heads}"]:'
    ) in found
    assert 'def times(batch, device) -> Float[torch.Tensor, "{batch}"]:' in found
    assert "def noise(size, device):" in found
    assert "def both(self, x, y):" in found


def test_a_docstring_may_speak_of_int_parameters(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def merged(windows, window):\n"
        '    """Put windows together.\n'
        "\n"
        "    Args:\n"
        "        windows: (B, window, C)\n"
        "        window: their width\n"
        '    """\n'
        "    return windows.relu().view(-1, window, 2)\n",
    )
    assert 'windows: Shaped[torch.Tensor, "B {window} C"], window)' in found


def test_what_a_text_speaks_of_is_no_variable_of_another_size(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def patches(images: torch.Tensor, size):\n"
        '    """images: (N, 3, H, W)"""\n'
        "    h = w = images.shape[2] // size\n"
        "    return images.reshape(images.shape[0], 3, h, size, w, size)\n"
        "def rows(images: torch.Tensor):\n"
        '    """images: (N, 3, H, W)"""\n'
        "    n, c, h, w = images.shape\n"
        "    return images.reshape(n, c * h, w)\n",
    )
    assert 'def patches(images: Shaped[torch.Tensor, "N 3 H W"], size)' in found
    assert 'def rows(images: Shaped[torch.Tensor, "n 3 h w"])' in found


def test_a_pattern_says_which_axes_there_are_on_either_side(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(x):\n    x = rearrange(x, 'b ... t -> b t ...')\n    return x.relu()\n",
    )
    assert 'x: Shaped[torch.Tensor, "b *rest t"]) -> Shaped[torch.Tensor, "b t *rest"]:' in found


def test_a_docstring_says_what_is_a_tensor_beside_arrays(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "import numpy as np\n"
        "class Up(nn.Module):\n"
        "    def forward(self, x, steps, table):\n"
        '        """Apply.\n'
        "\n"
        "        :param x: an [N x C x ...] Tensor of features.\n"
        "        :param steps: an [N x C] batch.\n"
        "        :param table: an [N x C] array, and no tensor.\n"
        "        :return: an [N x C x ...] Tensor of outputs.\n"
        '        """\n'
        "        return self.run(x, steps, table)\n"
        "def embedding(steps, dim):\n"
        '    """:return: an [N x dim] Tensor of embeddings."""\n'
        "    return table(steps, dim)\n",
    )
    assert (
        'def forward(self, x: Shaped[torch.Tensor, "N C ..."], steps, table)'
        ' -> Shaped[torch.Tensor, "N C ..."]:'
    ) in found
    assert 'def embedding(steps, dim) -> Shaped[torch.Tensor, "N dim"]:' in found


def test_what_is_beside_a_tensor_stays_as_it_is_annotated(tmp_path: Path) -> None:
    text = (
        "from typing import Tuple\n"
        "def f(x: torch.Tensor){}:\n"
        "    b, n, d = x.shape\n"
        "    return x.mean(1), 'cpu'\n"
    )
    found = annotated(tmp_path, text.format(" -> Tuple[torch.Tensor, str]"))
    assert '-> Tuple[Float[torch.Tensor, "b d"], str]:' in found
    assert 'def f(x: Float[torch.Tensor, "b n d"]):' in annotated(tmp_path, text.format(""))


def test_what_two_patterns_call_the_same_is_two_where_a_tensor_has_both(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "from einops import einsum, reduce\n"
        "def distances(x: torch.Tensor, y: torch.Tensor):\n"
        "    lengths = reduce(x**2, 'b n d -> b n', 'sum')\n"
        "    others = reduce(y**2, 'b n d -> b n', 'sum')\n"
        "    both = einsum(x, y, 'b i d, b j d -> b i j')\n"
        "    return lengths[:, :, None] + others[:, None] - 2 * both\n"
        "def added(x: torch.Tensor, y: torch.Tensor):\n"
        "    return reduce(x, 'b n d -> b n', 'sum'), reduce(y, 'b n d -> b n', 'sum')\n",
    )
    first, _, second = found.partition("def added")
    assert 'x: Shaped[torch.Tensor, "b n d"], y: Shaped[torch.Tensor, "b n2 d"]' in first
    assert '"b n n2"]:' in first
    assert 'x: Shaped[torch.Tensor, "b n d"], y: Shaped[torch.Tensor, "b n d"]' in second
