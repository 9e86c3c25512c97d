"""What annotations must not say: what is so in one case only, or when the function has run."""

from __future__ import annotations

from pathlib import Path

import pytest
from annotated_module import annotated


@pytest.mark.parametrize(
    "text",
    [
        "class A(nn.Module):\n"
        "    def __init__(self, masks: torch.Tensor):\n"
        "        super().__init__()\n"
        "        self.num = masks.shape[0]\n"
        "        self.first = masks.reshape(self.num, -1).transpose(0, 1)\n",
        "class A(nn.Module):\n"
        "    def update(self, masks: torch.Tensor):\n"
        "        self.num = masks.shape[0]\n"
        "        self.center = torch.sum(masks, dim=0) / self.num\n",
    ],
)
def test_what_a_method_sets_isnt_there_when_it_is_called(text: str, tmp_path: Path) -> None:
    assert "{self." not in annotated(tmp_path, text)


def test_two_axes_of_a_tensor_have_two_names(tmp_path: Path) -> None:
    """Both functions call their batch so: that is no reason to take them for one."""
    found = annotated(
        tmp_path,
        "def images(x: torch.Tensor):\n"
        "    batch, d = x.shape\n"
        "    return x / x.norm(dim=-1, keepdim=True)\n"
        "def texts(x: torch.Tensor):\n"
        "    batch, d = x.shape\n"
        "    return x / x.norm(dim=-1, keepdim=True)\n"
        "def logits(image: torch.Tensor, text: torch.Tensor):\n"
        "    return images(image) @ texts(text).T\n",
    )
    assert 'text: Float[torch.Tensor, "batch2 d"]) -> Float[Tensor, "batch batch2"]' in found


def test_a_comment_on_one_case_isnt_about_all(tmp_path: Path) -> None:
    text = (
        "def f(pred, label: torch.Tensor, many: bool):\n"
        "    if many:\n"
        "        # pred is [N, 1, H, W] and label is [N, H, W]\n"
        "        pred = pred.squeeze()\n"
        "    return pred.sum(), label.sum()\n"
    )
    assert "label: torch.Tensor, many" in annotated(tmp_path, text)
    always = text.replace("    if many:\n    ", "").replace("        pred = ", "    pred = ")
    assert 'label: Shaped[torch.Tensor, "N H W"]' in annotated(tmp_path, always)


@pytest.mark.parametrize("asks", ["x.dim() == 4", "x.ndim != 3", "len(x.shape) == 4"])
def test_a_docstring_isnt_believed_where_the_body_asks_for_other_axes(
    asks: str, tmp_path: Path
) -> None:
    text = (
        "def f(x: torch.Tensor):\n"
        '    """Sum up.\n\n'
        "    Args:\n"
        "        x (torch.Tensor): has shape (N, C).\n"
        '    """\n'
        "    if {}:\n"
        "        x = x.flatten(1)\n"
        "    return x.exp()\n"
    )
    assert '"N C"' not in annotated(tmp_path, text.format(asks))
    assert 'x: Shaped[torch.Tensor, "N C"]' in annotated(tmp_path, text.format("x.sum() > 0"))


def test_a_number_isnt_said_of_what_callers_choose(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def embed(x: torch.Tensor, feats=128):\n"
        "    b, n = x.shape\n"
        "    freqs = torch.arange(feats)\n"
        "    # B, N, 128\n"
        "    pos = x[:, :, None] / freqs\n"
        "    return pos\n",
    )
    assert '-> Shaped[Tensor, "b n {feats}"]' in found
    assert "pos: " not in found


def test_a_list_is_no_tensor_though_a_shape_is_said_of_its_items(tmp_path: Path) -> None:
    text = (
        "def f(levels):\n"
        '    """Add up.\n\n'
        "    Args:\n"
        "        levels ({}): the features, with the shape\n"
        "            [bs, dims, h, w].\n"
        '    """\n'
        "    return torch.cat([one.flatten(2) for one in levels], 2)\n"
    )
    assert "def f(levels)" in annotated(tmp_path, text.format("list(Tensor)"))
    assert "def f(levels)" in annotated(tmp_path, text.format("list[Tensor]"))
    assert 'levels: Shaped[torch.Tensor, "bs dims h w"]' in annotated(
        tmp_path, text.format("Tensor")
    )


def test_what_becomes_of_a_tensor_below_is_no_comment_on_what_is_above(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(x: torch.Tensor):\n"
        "    mask = nn.functional.interpolate(x, (3, 3))\n"
        "    # shape (batch_size, num_queries, h, w) ->\n"
        "    #   (batch_size * num_head, num_queries, h, w)\n"
        "    mask = mask.flatten(2).unsqueeze(1).repeat((1, 8, 1, 1)).flatten(0, 1)\n"
        "    return mask\n",
    )
    assert "num_head" not in found.replace("batch_size * num_head", "")


def test_what_is_made_of_a_parameter_shows_nothing_of_it(tmp_path: Path) -> None:
    """The point may be a list, and None: then there is none in the result either."""
    found = annotated(
        tmp_path,
        "def double(x: torch.Tensor):\n"
        "    n, d = x.shape\n"
        "    return x * 2\n"
        "def prepared(point, box):\n"
        "    a, b = None, None\n"
        "    if point is not None:\n"
        "        point = torch.as_tensor(point, dtype=torch.float)\n"
        "        a = double(point)\n"
        "    return a, double(box)\n",
    )
    assert 'def prepared(point, box: Shaped[Tensor, "n d"]) -> tuple[Float[Tensor, "' in found
    assert '"] | None, Shaped[Tensor, "n d"]]' in found


def test_what_one_path_asserts_isnt_so_on_the_other(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(image: torch.Tensor, prompt: torch.Tensor, repeat: bool):\n"
        "    n, d = prompt.shape\n"
        "    if repeat:\n"
        "        image = torch.repeat_interleave(image, n, dim=0)\n"
        "    else:\n"
        "        assert image.shape[0] == n\n"
        "    return image.mean(1)\n",
    )
    assert 'image: Float[torch.Tensor, "n ' not in found
    assert 'prompt: Shaped[torch.Tensor, "n d"]' in found


def test_a_chain_of_comparisons_says_how_many_axes_there_are(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(x: torch.Tensor, y: torch.Tensor):\n"
        "    assert len(x) == len(y) and x.ndim == y.ndim == 1\n"
        "    return x + y\n",
    )
    assert 'x: Shaped[torch.Tensor, "n"], y: Shaped[torch.Tensor, "n"]' in found


def test_the_items_of_a_tensor_are_all_alike(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "class A(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.lin = nn.Conv2d(3, 4, 3)\n"
        "    def forward(self, frames: torch.Tensor):\n"
        "        out = []\n"
        "        for at, frame in enumerate(frames):\n"
        "            b, c, h, w = frame.shape\n"
        "            out.append(self.lin(frame))\n"
        "        return out\n",
    )
    assert 'frames: Float[torch.Tensor, "b2 b 3 h w"]' in found


def test_a_docstring_with_another_number_of_axes_than_is_handed_over_says_nothing(
    tmp_path: Path,
) -> None:
    found = annotated(
        tmp_path,
        "def predict(boxes: torch.Tensor):\n"
        '    """Predict.\n\n'
        "    Args:\n"
        "        boxes (torch.Tensor): has shape (B, 4).\n"
        '    """\n'
        "    return boxes.exp().sum()\n"
        "def run(boxes: torch.Tensor):\n"
        "    return predict(boxes.reshape(-1, 2, 2))\n",
    )
    assert "def predict(boxes: torch.Tensor)" in found


def test_what_gives_back_the_axes_it_is_given_takes_any_number(tmp_path: Path) -> None:
    """All calls have three: that is no reason for a result that has three whatever is given."""
    found = annotated(
        tmp_path,
        "def extra(x: torch.Tensor):\n"
        "    length = x.shape[-1]\n"
        "    return 8 - length % 8\n"
        "def padded(x: torch.Tensor):\n"
        "    return nn.functional.pad(x, (0, extra(x)))\n"
        "def f(x: torch.Tensor):\n"
        "    b, c, t = x.shape\n"
        "    return padded(x), extra(x)\n",
    )
    assert 'padded(x: Shaped[torch.Tensor, "*batch length"]) -> Shaped[Tensor, "*batch ' in found
    assert 'extra(x: Shaped[torch.Tensor, "... length"])' in found


def test_what_one_path_needs_of_another_tensor_leaves_an_axis_its_own(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "class A(nn.Module):\n"
        "    def __init__(self, d, first: bool):\n"
        "        super().__init__()\n"
        "        self.first, self.lin = first, nn.Linear(d, d)\n"
        "    def forward(self, x: torch.Tensor, pe: torch.Tensor):\n"
        "        b, n, d = pe.shape\n"
        "        if self.first:\n"
        "            x = self.lin(x).mean(1, keepdim=True)\n"
        "        else:\n"
        "            x = self.lin(torch.cat([x, pe], dim=1))\n"
        "        return x @ x.transpose(1, 2)\n",
    )
    assert 'x: Float[torch.Tensor, "_ t d"], pe: Shaped[torch.Tensor, "b n d"]' in found


@pytest.mark.parametrize("test", ["t > s", "flag"])
def test_what_is_joined_on_one_path_has_its_own_sizes_on_the_other(
    test: str, tmp_path: Path
) -> None:
    found = annotated(
        tmp_path,
        "def f(x, y, flag):\n"
        "    b, t, d = x.shape\n"
        "    c, s, e = y.shape\n"
        f"    if {test}:\n"
        "        return torch.cat([y, x], dim=1)\n"
        "    return y\n"
        "def g(x, y):\n"
        "    b, t, d = x.shape\n"
        "    c, s, e = y.shape\n"
        "    return torch.cat([y, x], dim=1)\n",
    )
    assert 'f(x: Shaped[torch.Tensor, "b t d"], y: Shaped[torch.Tensor, "_ s _"], flag)' in found
    assert 'g(x: Shaped[torch.Tensor, "b t d"], y: Shaped[torch.Tensor, "b s d"])' in found


def test_what_is_bound_again_may_be_another_size(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(x, down):\n"
        "    b, c, h, w = x.shape\n"
        "    y = down(x)\n"
        "    b, c, h, w = y.shape\n"
        "    return torch.zeros(b, c, h, w)\n",
    )
    assert (
        'f(x: Shaped[torch.Tensor, "b c h w"], down) -> Float[torch.Tensor, "b c2 h2 w2"]' in found
    )


def test_a_size_that_may_be_left_out_is_in_no_annotation(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "class A(nn.Module):\n"
        "    def __init__(self, d, out=None, more=None):\n"
        "        super().__init__()\n"
        "        self.out, self.more = out, more\n"
        "        self.last = nn.Linear(d, d if out is None else out)\n"
        "        if more is not None:\n"
        "            self.first = nn.Linear(d + more, d)\n"
        "        else:\n"
        "            self.first = nn.Linear(d, d)\n"
        "    def forward(self, x, y=None):\n"
        "        if y is None:\n"
        "            return self.last(self.first(x))\n"
        "        return self.last(self.first(torch.cat((x, y), dim=1)))\n",
    )
    assert "{self" not in found


def test_a_shape_of_something_unknown_is_any_number_of_sizes(tmp_path: Path) -> None:
    found = annotated(
        tmp_path, "def f(x: torch.Tensor, scores):\n    return x.view(scores.shape)\n"
    )
    assert "def f(x: torch.Tensor, scores):" in found


@pytest.mark.parametrize(
    ("asks", "kind"),
    [
        ("if mask is not None: x = x * mask.view(2, 3)", 'Shaped[Tensor, "b2 d2"] | None'),
        ("x = x if mask is None else x * mask.view(2, 3)", 'Shaped[Tensor, "b2 d2"] | None'),
        ("assert mask is not None; x = x * mask.view(2, 3)", 'Shaped[Tensor, "b d"]'),
    ],
)
def test_what_a_body_asks_whether_it_is_none_may_be_none(
    asks: str, kind: str, tmp_path: Path
) -> None:
    found = annotated(
        tmp_path,
        "def f(x: torch.Tensor, mask):\n"
        f"    {asks}\n"
        "    return x.sum()\n"
        "def g(x: torch.Tensor, mask):\n"
        "    b, n = x.shape\n"
        "    return f(x, x)\n",
    )
    assert f"mask: {kind}" in found


def test_a_number_that_one_case_needs_isnt_that_of_all(tmp_path: Path) -> None:
    text = (
        "class A(nn.Module):\n"
        "    def __init__(self, channels):\n"
        "        super().__init__()\n"
        "        self.channels = channels\n"
        "    def forward(self, x: torch.Tensor):\n"
        "        {}x = repeat(x, 'b 1 h w -> b c h w', c=3)\n"
        "        return x.exp().sum((2, 3))\n"
    )
    found = annotated(tmp_path, "from einops import repeat\n" + text.format(""))
    assert 'x: Shaped[torch.Tensor, "b 1 h w"]' in found
    case = text.format("if self.channels == 1: ")
    found = annotated(tmp_path, "from einops import repeat\n" + case)
    assert 'x: Float[torch.Tensor, "b d h w"]' in found or '"b c h w"]' in found


def test_a_docstring_with_fewer_axes_than_there_are_at_least_says_nothing(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def scaled(boxes: torch.Tensor):\n"
        "    return boxes.flatten(2).unsqueeze(-1).expand(-1, -1, -1, 2)[..., :2, :]\n"
        "def predict(boxes: torch.Tensor):\n"
        '    """Predict.\n\n'
        "    Args:\n"
        "        boxes (torch.Tensor): has shape (B, 4).\n"
        '    """\n'
        "    return boxes.exp().sum()\n"
        "def run(boxes: torch.Tensor):\n"
        "    return predict(scaled(boxes))\n",
    )
    assert '"B ' not in found


def test_what_goes_to_what_may_be_none_may_be_none_unless_it_is_used(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def inner(x: torch.Tensor, mask):\n"
        "    if mask is not None:\n"
        "        b, n = mask.shape\n"
        "        x = x * mask\n"
        "    return x\n"
        "def outer(x: torch.Tensor, mask, other):\n"
        "    k = other.shape[0]\n"
        "    return inner(x, mask) + inner(x, other)\n",
    )
    assert 'outer(x: torch.Tensor, mask: Shaped[Tensor, "b n"] | None, other: Shaped' in found


def test_what_goes_to_a_function_that_reads_its_shape_is_a_tensor(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def inner(x, y):\n"
        "    b, n, h, w = x.shape\n"
        "    return x.view(b, n, h * w) @ y\n"
        "def outer(x, y):\n"
        "    return inner(x, y)\n",
    )
    assert 'outer(x: Shaped[torch.Tensor, "b n h w"], y: Shaped' in found


@pytest.mark.parametrize(
    "made",
    ["torch.tensor(video).unsqueeze(0)", "torch.as_tensor(video)[None]", "torch.tensor(video)"],
)
def test_what_a_tensor_is_made_of_is_none(made: str, tmp_path: Path) -> None:
    """What is done with it behind that says nothing of what was given."""
    text = f"def track(video):\n    video = {made}\n    return video.permute(0, 4, 1, 2, 3)\n"
    assert "def track(video) ->" in annotated(tmp_path, text)


def test_a_mask_that_may_be_of_bools_isnt_said_to_be_of_floats(tmp_path: Path) -> None:
    """Attention takes either; what it's called tells that bools have to be thought of."""
    text = (
        "def attend(q: torch.Tensor, mask: torch.Tensor):\n"
        "    q, mask = rearrange(q, 'b n d -> b 1 n d'), rearrange(mask, 'b j -> b 1 1 j')\n"
        "    return nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)\n"
    )
    assert 'q: Float[torch.Tensor, "b n d"], mask: Shaped[torch.Tensor, "b ' in annotated(
        tmp_path, text
    )
    inverted = text.replace("attn_mask=mask", "attn_mask=~mask")
    assert 'mask: Bool[torch.Tensor, "b ' in annotated(tmp_path, inverted)
