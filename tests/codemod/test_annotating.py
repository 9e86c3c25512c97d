"""From a file to its annotations: what is found out, and what verification lets through."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

import pytest

from shapecheck.cli import main
from shapecheck.codemod.annotate import Proposal, Settings, _unbound, annotate_files
from shapecheck.codemod.project.files import FileProblem, read, write
from shapecheck.codemod.write.annotation_types import TensorType
from shapecheck.codemod.write.edit import Slot
from shapecheck.record.store import Call, Key, Recorded


def annotated(tmp_path: Path, text: str, *origins: str, **others: str) -> str:
    """Return what a module is annotated to, imports left out."""
    path = tmp_path / "model.py"
    path.write_text(text)
    for name, content in others.items():
        (tmp_path / f"{name}.py").write_text(content)
    paths = sorted(tmp_path.glob("*.py"))
    outcome = annotate_files(paths, Settings(origins or ("comments", "docstrings", "static")))
    assert not outcome.problems
    for changed in outcome.changed:
        if changed.file.path == path:
            lines = changed.text.splitlines(keepends=True)
            return "".join(line for line in lines if "# by shapecheck" not in line)
    return text


HEAD = "import torch\nfrom torch import nn\n"


def test_names_come_from_unpacked_shapes_and_attributes(tmp_path: Path) -> None:
    text = HEAD + (
        "class A(nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "        self.width = width\n"
        "        self.linear = nn.Linear(width, 7)\n"
        "    def forward(self, x):\n"
        "        b, t, c = x.shape\n"
        "        return self.linear(x)\n"
    )
    assert 'x: Float[torch.Tensor, "b t {self.width}"]) -> Float[torch.Tensor, "b t 7"]:' in (
        annotated(tmp_path, text)
    )


@pytest.mark.parametrize(
    ("last", "width"),
    [
        ("        return keys.view(b, t, self.d_out)\n", "d_in"),
        ("        return x + keys.view(b, t, self.d_out)\n", "{self.d_out}"),
    ],
    ids=["any sizes", "the same size"],
)
def test_sizes_of_an_instance_are_not_one_because_a_caller_makes_them_so(
    last: str, width: str, tmp_path: Path
) -> None:
    """Unless the method needs that: other callers may give the class two sizes."""
    text = HEAD + (
        "class A(nn.Module):\n"
        "    def __init__(self, d_in, d_out):\n"
        "        super().__init__()\n"
        "        self.d_out = d_out\n"
        "        self.keys = nn.Linear(d_in, d_out)\n"
        "    def forward(self, x):\n"
        "        b, t, d_in = x.shape\n"
        "        keys = self.keys(x)\n"
        + last
        + "def make(cfg):\n    return A(d_in=cfg['width'], d_out=cfg['width'])\n"
    )
    assert f'def forward(self, x: Float[torch.Tensor, "b t {width}"]) -> ' in (
        annotated(tmp_path, text)
    )


def test_the_number_of_axes_comes_from_callers(tmp_path: Path) -> None:
    text = HEAD + (
        "def half(x):\n    return torch.relu(x).mean() / 2\n"
        "def f(y):\n    n, k = y.shape\n    y.view(k, n)\n    return half(y)\n"
    )
    assert 'def half(x: Float[torch.Tensor, "n k"])' in annotated(tmp_path, text, "static")


LOSSES = HEAD + (
    "class Loss(nn.Module):\n"
    "    def forward(self, x, y):\n        raise NotImplementedError\n"
    "class L1(Loss):\n"
    "    def forward(self, x, y):\n        n, k = x.shape\n"
    "        return (x - y.view(n, k)).mean()\n"
    "class L2(Loss):\n"
    "    def forward(self, x, y):\n        b, d = x.shape\n        return (x * y.view{}).mean()\n"
)


def test_an_abstract_method_is_annotated_as_all_that_override_it(tmp_path: Path) -> None:
    found = annotated(tmp_path, LOSSES.format("(b, d)"), "static")
    head = found.partition("raise")[0]
    assert 'x: Shaped[torch.Tensor, "n k"], y) -> Shaped[torch.Tensor, ""]' in head
    other = LOSSES.format("(b, d)").replace(".mean()", ".mean(0)", 1)
    head = annotated(tmp_path, other, "static").partition("raise")[0]
    assert 'x: Shaped[torch.Tensor, "n k"], y):' in head


def test_that_there_are_axes_is_not_worth_an_annotation(tmp_path: Path) -> None:
    text = HEAD + "def f(cos, n):\n    return float(torch.relu(cos[n, n]).sum())\n"
    assert "f(cos, n)" in annotated(tmp_path, text, "static")


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("x @ torch.zeros(3, 4)", "*batch 3 -> *batch 4"),
        ("nn.functional.linear(x, torch.zeros(4, 3))", "*batch 3 -> *batch 4"),
        ("nn.functional.layer_norm(x, (5, 6))", "*batch 5 6 -> *batch 5 6"),
        ("nn.BatchNorm2d(3)(x)", "b 3 h w -> b 3 h w"),
        ("nn.BatchNorm1d(3)(x)", "b 3 *rest -> b 3 *rest"),
        ("nn.functional.conv2d(x, torch.zeros(8, 3, 1, 1))", "*batch 3 h w -> *batch 8 h w"),
    ],
)
def test_an_op_says_of_its_input_what_it_needs(tmp_path: Path, expression: str, found: str) -> None:
    text = annotated(tmp_path, HEAD + f"def f(x):\n    return {expression}\n", "static")
    given, result = re.findall(r'"(.*?)"', text)
    assert f"{given} -> {result}" == found


def test_no_axis_is_called_what_a_tensor_is_sent_to(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(rows, device):\n"
        "    some = [torch.tensor(row) for row in rows]\n"
        "    return torch.stack(some)[:, None].to(device)\n"
    )
    assert "device " not in annotated(tmp_path, text, "static").partition("-> ")[2]


def test_functions_in_functions_are_annotated(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(y):\n"
        "    if y is None:\n"
        "        def g(z):\n            return z\n"
        "    else:\n"
        "        def g(z):\n            b, t = z.shape\n            return z.softmax(-1)\n"
        "    return g\n"
    )
    found = annotated(tmp_path, text, "static")
    assert "        def g(z):\n            return z\n" in found
    assert 'def g(z: Float[torch.Tensor, "b t"]) -> Float[torch.Tensor, "b t"]:' in found


def test_a_function_for_any_number_of_axes_gets_a_group(tmp_path: Path) -> None:
    text = HEAD + "def f(x):\n    return torch.relu(x)\n"
    assert 'def f(x: Shaped[torch.Tensor, "*batch"]) -> Shaped[torch.Tensor, "*batch"]' in (
        annotated(tmp_path, text)
    )


def test_what_is_no_tensor_is_left_alone(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(items, n=3, name='a', flag=False, scale=1.0, *rest, **more):\n"
        "    return [item for item in items] * n\n"
        "def g(path):\n    return path.parent / 'x'\n"
        "def h(rows):\n    a, b = rows.shape\n    return np.zeros((a, b))\n"
    )
    assert annotated(tmp_path, text) == text


def test_what_has_a_shape_is_a_tensor_where_there_are_no_other_arrays(tmp_path: Path) -> None:
    text = HEAD + (
        "def step(x, dt, z=None):\n"
        "    b, t, h = x.shape\n"
        "    assert dt.shape == (b, 3, h)\n"
        "    if z is not None:\n"
        "        assert z.shape == (b, t)\n"
        "        x = x * z[..., None]\n"
        "    return x\n"
    )
    found = annotated(tmp_path, text, "static")
    assert (
        'def step(x: Shaped[torch.Tensor, "b t h"], dt: Shaped[torch.Tensor, "b 3 h"], '
        'z: Shaped[torch.Tensor, "b t"] | None = None) -> Shaped[torch.Tensor, "b t h"]:'
    ) in found


def test_ints_and_masks_are_told_from_floats(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(ids, mask):\n"
        "    table = nn.Embedding(10, 4)\n"
        "    b, t = ids.shape\n"
        "    m, _, _ = mask.shape\n"
        "    return table(ids), torch.where(mask, 1.0, 0.0).view(m, -1)\n"
    )
    found = annotated(tmp_path, text)
    assert "ids: Int[" in found
    assert "mask: Bool[" in found


def test_one_kind_of_index_says_nothing_of_another(tmp_path: Path) -> None:
    columns = (
        "def columns(matrix: torch.Tensor, indexes: torch.Tensor):\n"
        "    assert indexes.max() < matrix.shape[1]\n"
        "    return matrix[:, indexes]\n"
    )
    corners = "def corners(x: torch.Tensor, at: torch.Tensor):\n    return x[tuple(at.T)]\n"
    said = 'matrix: Shaped[torch.Tensor, "b n *rest"], indexes: Int[torch.Tensor, "*batch"])'
    assert said in annotated(tmp_path, HEAD + corners + columns)


def test_tensors_that_may_be_none(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(x,  # (b, t)\n      mask=None,  # (b, t)\n      ):\n"
        "    if mask is not None:\n        x = x.masked_fill(mask, 0.0)\n    return x\n"
    )
    found = annotated(tmp_path, text, "comments")
    assert 'mask: Bool[torch.Tensor, "b t"] | None = None,  # (b, t)' in found


def test_a_tensor_that_is_none_by_default_may_be_none_whoever_says_its_shape(
    tmp_path: Path,
) -> None:
    text = HEAD + (
        "def f(x, gate=None):\n"
        "    b, t = x.shape\n"
        "    return x * torch.relu(gate.reshape(b, t))\n"
        "def g(x):\n"
        "    n, m = x.shape\n"
        "    return f(x, gate=torch.ones(n, m))\n"
    )
    assert 'gate: Float[torch.Tensor, "n m"] | None = None' in annotated(tmp_path, text)


def test_trailing_comments_and_a_comment_behind_a_long_call(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(x):\n"
        "    b, t, c = x.shape\n"
        "    y = torch.cat(\n        [x, x],\n        dim=1,\n    )  # (b, 2*t, c)\n"
        "    return y\n"
    )
    assert '    y: Shaped[torch.Tensor, "b 2*t c"] = torch.cat(\n' in annotated(tmp_path, text)


@pytest.mark.parametrize(
    ("before", "after", "target"),
    [("y = x.sum(0)", "z = x.mT", "y"), ("y = x.mT", "z = x.sum(0)", "z")],
)
def test_the_analysis_decides_which_statement_a_comment_is_about(
    tmp_path: Path, before: str, after: str, target: str
) -> None:
    text = HEAD + (
        f"def f(x):\n    b, t, c = x.shape\n    {before}\n    # (t, c)\n    {after}\n"
        "    return y, z\n"
    )
    found = annotated(tmp_path, text, "comments")
    assert f'    {target}: Shaped[torch.Tensor, "t c"] = x.sum(0)\n' in found
    assert "    # (t, c)\n" in found


@pytest.mark.parametrize(
    "line",
    [
        "y = x.mT  # (b, c)",
        "y = x.mT  # y = x.view(b, c, t)",
        "y = x.mT  # (see above)",
        "y = x.mT  # a b c d",
        "y = x.mT  # [1, 2, 3]",
        "y, z = x.mT, 1  # (b, c, t)",
        "y = len(x)  # (b, c, t)",
        "x = x.mT  # (b, c, t)",
        "self.y = x.mT  # (b, c, t)",
    ],
)
def test_a_comment_that_says_nothing_of_a_local_changes_nothing(tmp_path: Path, line: str) -> None:
    text = HEAD + f"def f(self, x):\n    b, t, c = x.shape\n    {line}\n    return 0\n"
    assert annotated(tmp_path, text, "comments") == text


def test_docstrings_of_three_styles(tmp_path: Path) -> None:
    for doc in (
        "    Args:\n        x: input of shape (N, C)\n    Returns:\n        of shape `(N,)`\n",
        "    Parameters\n    ----------\n    x : Tensor, shape [N, C]\n        the input\n\n"
        "    Returns\n    -------\n    Tensor of shape (N,)\n",
        "    :param x: the input, shape `(N, C)`\n    :returns: shape `(N,)`\n",
    ):
        text = HEAD + f'def f(x):\n    """Do.\n\n{doc}    """\n    return torch.max(x, 1)[0]\n'
        assert 'x: Shaped[torch.Tensor, "N C"]) -> Shaped[torch.Tensor, "N"]' in (
            annotated(tmp_path, text, "docstrings")
        )


@pytest.mark.parametrize(
    "doc",
    [
        "Args:\n        x, y: tensors of shape (N, C)",
        "x: [N, C]\n    y: [N, C]\n    ret: [N,]",
        ":param x: the [N x C] inputs.\n    :param y: an [N x C] tensor of targets.",
        "Do it with x of shape (N, C) and y of shape (N, C).",
        "x and y are (N, C).",
        "Args:\n        x: points in NxC format\n        y: in NxC format, where (H, W) is a size",
        "Args:\n        x: must have shape N x C for any N.\n        y: shape (N, C)",
    ],
)
def test_docstrings_as_people_write_them(tmp_path: Path, doc: str) -> None:
    text = HEAD + f'def f(x, y):\n    """{doc}\n    """\n    return (x.relu() + y.relu()).sum(1)\n'
    found = annotated(tmp_path, text, "docstrings")
    assert 'def f(x: Shaped[torch.Tensor, "N C"], y: Shaped[torch.Tensor, "N C"])' in found


@pytest.mark.parametrize(
    ("prose", "written"),
    [
        ("with dims not divisible by 16 (a demand of matrix units)", ""),
        ("unit quaternions [..., 4] in (w, x, y, z) format", '"... 4"'),
        ("the norm, ‖(x, y)‖", ""),
        ("2D ``(H, W)``, 3D ``(C, H, W)``, or 4D ``(B, C, H, W)`` mask", ""),
        ("list of the coefficients [k0, k1, k2]", ""),
        ("the boxes as (x1, y1, x2, y2)", ""),
        ("of shape (n1, n2, n3)", '"n1 n2 n3"'),
        ("must have shape B x N_points x dim for any N_points.", '"B N_points dim"'),
    ],
)
def test_a_docstring_speaks_of_values_too(prose: str, written: str, tmp_path: Path) -> None:
    text = HEAD + (
        f'def f(x, y):\n    """Do.\n\n    Args:\n        x: {prose}\n    """\n'
        "    return x.detach(), y.detach()\n"
    )
    found = annotated(tmp_path, text, "docstrings")
    assert (f"x: Shaped[torch.Tensor, {written}]" in found) if written else found == text


def test_a_docstring_with_an_alternative_says_nothing(tmp_path: Path) -> None:
    """Also where one of the two is written in a way of its own."""
    text = HEAD + (
        "def f(colors):\n"
        '    """Do.\n\n    Args:\n'
        "        colors: the colors. [..., (C,) N, D] of pixels, or [N, K, D] for coefficients.\n"
        '    """\n    return torch.relu(colors)\n'
    )
    assert annotated(tmp_path, text, "docstrings") == text


def test_a_docstring_with_two_shapes_says_nothing(tmp_path: Path) -> None:
    text = HEAD + (
        'def f(x):\n    """Do.\n\n    Args:\n        x: shape (N, C) or shape (N, T, C)\n    """\n'
        "    return x.relu()\n"
    )
    assert annotated(tmp_path, text, "docstrings") == text


@pytest.mark.parametrize(
    "prose",
    [
        "list of tensors of shape (N, C)",
        "list[Tensor]: scores, each is a tensor with shape (N, C)",
        "scores, each with shape (N, C)",
        "if n is given: of shape (len(x), N, C)\n            otherwise: of shape (N, C)",
        "mask: shape (n,)\n        rest: shape (n,), optional",
    ],
)
def test_a_docstring_about_several_results_says_nothing(tmp_path: Path, prose: str) -> None:
    text = HEAD + (
        f'def f(x):\n    """Do.\n\n    Returns:\n        {prose}\n    """\n    return g(x)\n'
    )
    assert annotated(tmp_path, text, "docstrings") == text


@pytest.mark.parametrize(
    "prose",
    [
        "mask: shape (n,)",
        "mask: shape (n,)\n        n: the number of items",
        "shape (n,), as x\n        has",
    ],
)
def test_a_docstring_about_one_result_in_several_lines(tmp_path: Path, prose: str) -> None:
    text = (
        f'{HEAD}def f(x):\n    """Do.\n\n    Returns:\n        {prose}\n    """\n    return g(x)\n'
    )
    assert '-> Shaped[torch.Tensor, "n"]' in annotated(tmp_path, text, "docstrings")


@pytest.mark.parametrize(
    "prose",
    [
        "(Tensor, Tensor):\n\n        * scores of shape ``(B, T, S)``\n        * sums ``(B, T)``",
        "scores: (B, T, S)\n        sums: (B, T)",
        "The scores, (B, T, S), and their sums, (B, T).",
    ],
)
def test_a_docstring_about_each_of_several_results(tmp_path: Path, prose: str) -> None:
    text = (
        f'{HEAD}def f(q, k):\n    """Do.\n\n    Returns:\n        {prose}\n    """\n'
        "    b, t, s = q.shape\n"
        "    scores = q.softmax(-1).view(b, t, s)\n"
        "    return scores, scores.sum(-1)\n"
    )
    found = annotated(tmp_path, text, "docstrings")
    results = 'tuple[Float[torch.Tensor, "b t s"], Float[torch.Tensor, "b t"]]'
    assert f"def f(q, k) -> {results}:" in found
    assert "->" not in annotated(tmp_path, text.replace("(B, T)", "(B, T, S)"), "docstrings")


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "# torchtyping was here\n",
        HEAD + "from torchtyping import convert\nx: int = 3\n",
        HEAD + "def f(x):\n    'Of torchtyping.'\n    return x\n",
    ],
)
def test_torchtyping_that_annotates_nothing(text: str, tmp_path: Path) -> None:
    assert annotated(tmp_path, text, "torchtyping", "comments", "static") == text


def test_a_complaint_is_reported_and_the_function_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = HEAD + (
        "def f(\n    q,  # (b, t, d)\n    k,  # (b, s, d)\n):\n    return q @ k\n"
        "def g(\n    x,  # (b, t)\n):\n    return x.sum(1)  # (b,)\n"
    )
    Path("model.py").write_text(text)
    assert main(["annotate", "--from", "comments", "--write", "model.py"]) == 0
    assert capsys.readouterr().err == (
        'possible bug: model.py:7: "@" can\'t multiply (b t d) by (b s d): the inner'
        " dimensions are d (axis -1) and s (axis -2)\n"
        '  not annotated for that: "q" of "f" as Shaped[Tensor, "b t d"] (the comment in line 4)\n'
        '  not annotated for that: "k" of "f" as Shaped[Tensor, "b s d"] (the comment in line 5)\n'
        "2 annotations written into 1 file\n"
    )
    written = Path("model.py").read_text()
    assert "    q,  # (b, t, d)\n" in written
    assert '    x: Shaped[torch.Tensor, "b t"],  # (b, t)\n) -> ' in written
    assert main(["annotate", "--from", "comments", "--despite-complaints", "model.py"]) == 0
    assert '+    q: Shaped[torch.Tensor, "b t d"],  # (b, t, d)\n' in capsys.readouterr().out


FLOWS = HEAD + (
    "class Affine(nn.Module):\n"
    "    def __init__(self, channels):\n"
    "        super().__init__()\n"
    "        self.m = nn.Parameter(torch.zeros(channels, 1))\n"
    "        self.logs = nn.Parameter(torch.zeros(channels, 1))\n"
    "    def forward(self, x, x_mask):\n"
    "        y = self.m + torch.exp(self.logs) * x\n"
    "        return y * x_mask, torch.sum(self.logs * x_mask, [1, 2])\n"
    "class Flow(nn.Module):\n"
    "    def __init__(self, channels, bins):\n"
    "        super().__init__()\n"
    "        self.half = channels // 2\n"
    "        self.pre = nn.Conv1d(channels // 2, bins, 1)\n"
    "        self.proj = nn.Conv1d(bins, channels // 2, 1)\n"
    "    def forward(self, x, x_mask):\n"
    "        x0, x1 = torch.split(x, [self.half, self.half], 1)\n"
    "        h = self.pre(x0) * x_mask\n"
    "        return torch.cat([x0, x1 + self.proj(h)], 1) * x_mask, torch.sum(x_mask, [1, 2])\n"
    "class Flip(nn.Module):\n"
    "    def forward(self, x, *args):\n"
    "        return torch.flip(x, [1]), torch.zeros(x.size(0))\n"
    "class Predictor(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.flows = nn.ModuleList()\n"
    "        self.flows.append(Affine(2))\n"
    "        for _ in range(4):\n"
    "            self.flows.append(Flow(2, 29))\n"
    "            self.flows.append(Flip())\n"
    "    def forward(self, w, x_mask):\n"
    "        z = torch.randn(w.size(0), 2, w.size(2)) * x_mask\n"
    "        total = 0\n"
    "        for flow in self.flows:\n"
    "            z, logdet = flow(z, x_mask)\n"
    "            total += logdet\n"
    "        return z, total\n"
)


def test_what_a_mask_is_multiplied_with_tells_none_of_its_sizes(tmp_path: Path) -> None:
    found = annotated(tmp_path, FLOWS)
    assert 'def forward(self, x: Shaped[torch.Tensor, "... channels _"], x_mask) -> ' in found


def test_what_may_be_broadcast_is_no_possible_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(FLOWS.replace("x_mask", "valid"))
    assert main(["annotate", "--write", "model.py"]) == 0
    assert "possible bug" not in capsys.readouterr().err


def test_an_error_that_was_there_before_is_no_complaint(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(\n    x,  # (n, k)\n):\n    torch.ones(2, 3) @ torch.ones(2, 3)\n    return x.mT\n"
    )
    assert 'x: Shaped[torch.Tensor, "n k"],  # (n, k)' in annotated(tmp_path, text)


def test_annotating_again_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = HEAD + "def f(x):\n    b, t = x.shape\n    y = x.mT  # (t, b)\n    return y.relu()\n"
    Path("model.py").write_text(text)
    assert main(["annotate", "--write"]) == 0
    once = Path("model.py").read_bytes()
    assert main(["annotate", "--write"]) == 0
    assert Path("model.py").read_bytes() == once != text.encode()
    assert main(["strip", "--write"]) == 0
    assert Path("model.py").read_bytes() == text.encode()


COMPILED = """\
import torch
from torch import nn
from torch.jit import script
import triton
@script
def scripted(x):
    b, t = x.relu().shape
def later(x):
    b, t = x.relu().shape
fast = torch.jit.script(later)
class Net(nn.Module):
    @torch.jit.export
    def exported(self, x):
        b, t = x.relu().shape
class Scripted(nn.Module):
    def forward(self, x):
        b, t = x.relu().shape
net = script(Scripted())
@torch.library.custom_op("mine::op", mutates_args=())
def op(x: torch.Tensor) -> None:
    b, t = x.relu().shape
@triton.jit
def kernel(x):
    b, t = x.relu().shape
"""


def test_what_another_compiler_reads_is_left_as_it_is(tmp_path: Path) -> None:
    """It doesn't know shapes, and would refuse the function; any other decorator is fine."""
    others = "@torch.no_grad()\ndef f(x: torch.Tensor):\n    b, t = x.shape\n"
    path = tmp_path / "model.py"
    path.write_text(COMPILED + others)
    outcome = annotate_files([path], Settings(("static",)))
    assert [slot.slot.function for slot in outcome.changed[0].proposals] == ["f"]
    assert [f"{one.function}: {one.reason}" for one in outcome.refused] == [
        f"{name}: {compiler} reads its annotations, and doesn't know shapes"
        for name, compiler in (
            ("scripted", "TorchScript"),
            ("later", "TorchScript"),
            ("Net.exported", "TorchScript"),
            ("Scripted.forward", "TorchScript"),
            ("op", "torch.library"),
            ("kernel", "triton"),
        )
    ]


# Bad input ----------------------------------------------------------------------------------------

MODEL = "import torch\ndef f(x):\n    b, t = x.shape\n    return x.mT.relu()\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"import torch\ndef f(:\n", ":2: can't be parsed: invalid syntax"),
        (b"import torch\n# \xff\n", ": can't be read as text: 'utf-8' codec can't decode"),
        (b"# coding: klingon\nimport torch\n", ": can't be read as text: unknown encoding"),
        (b"import torch\n\0\n", ": can't be read as text: it has null bytes in it"),
        (
            b"import torch\rx = 1\r",
            ": has lines that end in a carriage return alone; left as it is",
        ),
    ],
)
def test_files_that_cant_be_read_are_named_and_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, reason: str
) -> None:
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_bytes(content)
    good.write_text(MODEL)
    assert main(["annotate", "--write", str(tmp_path)]) == 1
    assert f"{bad}{reason}" in capsys.readouterr().err
    assert bad.read_bytes() == content
    assert "Shaped[" in good.read_text()


@pytest.mark.parametrize(
    "content",
    [
        MODEL.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + MODEL.encode(),
        ("# coding: latin-1\n# caf\xe9\n" + MODEL).encode("latin-1"),
    ],
)
def test_encodings_and_line_ends_stay(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(content)
    path.chmod(0o750)
    assert main(["annotate", "--write", str(path)]) == 0
    after = path.read_bytes()
    assert b"Shaped[" in after
    assert after.count(b"\r") in (0, after.count(b"\n"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert main(["strip", "--write", str(path)]) == 0
    assert path.read_bytes() == content


def test_a_read_only_file_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    path.chmod(0o444)
    assert main(["annotate", "--write", str(path)]) == 1
    assert f"{path}: is read-only; left as it was" in capsys.readouterr().err
    assert path.read_text() == MODEL


def test_a_write_that_is_interrupted_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    file = read(path)

    def interrupt(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(file, "lost")
    assert [one.name for one in tmp_path.iterdir()] == ["model.py"]
    assert path.read_text() == MODEL


def test_a_file_that_has_changed_meanwhile_is_left(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    file = read(path)
    path.write_text("new")
    with pytest.raises(FileProblem, match="has changed since it was read"):
        write(file, "lost")
    assert path.read_text() == "new"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_text(MODEL)
    link.symlink_to(real)
    assert main(["annotate", "--write", str(link)]) == 0
    assert link.is_symlink()
    assert "Shaped[" in real.read_text()


def test_a_hard_link_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that takes the place of one of two names would part them."""
    path, other = tmp_path / "model.py", tmp_path / "other"
    path.write_text(MODEL)
    other.hardlink_to(path)
    assert main(["annotate", "--write", str(path)]) == 1
    assert (
        f"{path}: has another name (a hard link), which would keep the old text; left as it was"
        in capsys.readouterr().err
    )
    assert path.samefile(other)
    assert path.read_text() == MODEL


@pytest.mark.skipif(sys.platform == "win32", reason="files have other owners there")
def test_a_file_keeps_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may change a file of somebody else; others may not give a file away."""
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    given = list[tuple[int, int]]()

    def chown(_: Path, user: int, group: int) -> None:
        given.append((user, group))
        raise PermissionError

    monkeypatch.setattr(os, "chown", chown)
    assert main(["annotate", "--write", str(path)]) == 0
    owner = path.stat()
    assert given == [(owner.st_uid, owner.st_gid)]


def test_a_path_that_isnt_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["annotate", "nowhere"]) == 2
    assert capsys.readouterr().err == (
        "shapecheck annotate: error: nowhere: there is no such file or folder\n"
    )


def test_what_is_refused_in_a_file_leaves_the_others_alone(tmp_path: Path) -> None:
    text = HEAD + "def f(x):\n    n, k = x.shape\n    return x.mT.relu()\n"
    wrong = HEAD + "def g(\n    q,  # (b, t, d)\n    k,  # (b, s, d)\n):\n    return q @ k\n"
    assert 'x: Shaped[torch.Tensor, "n k"]' in annotated(tmp_path, text, wrong=wrong)


def test_the_names_of_an_ops_signature_are_not_the_codes(tmp_path: Path) -> None:
    text = HEAD + "def f(one, other):\n    return torch.mm(one, other)\n"
    found = annotated(tmp_path, text, "static")
    assert 'one: Shaped[torch.Tensor, "b d"], other: Shaped[torch.Tensor, "d d2"])' in found


# What operations need of their arguments ----------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "signature"),
    [
        ("return x.sum(dim=-1)", 'x: Shaped[torch.Tensor, "*batch d"]'),
        ("return x[..., :2]", 'x: Shaped[torch.Tensor, "*batch d"]'),
        ("return x[:, None, 2:]", 'x: Shaped[torch.Tensor, "b n *rest"]'),
        ("return F.normalize(x, dim=-1)", 'x: Float[torch.Tensor, "*batch d"]'),
        ("return x.softmax(1)", 'x: Float[torch.Tensor, "b n *rest"]'),
        ("return nn.Linear(3, 4)(x)", 'x: Float[torch.Tensor, "*batch 3"]'),
        ("a, b = x.unbind(-1)\n    return a", 'x: Shaped[torch.Tensor, "*batch 2"]'),
        ('return rearrange(x, "... h w -> ... w h")', 'x: Shaped[torch.Tensor, "*batch h w"]'),
        ('return torch.einsum("ij,kj->ik", x, x)', 'x: Shaped[torch.Tensor, "i j"]'),
        ("*batch, n, d = x.shape\n    return x", 'x: Shaped[torch.Tensor, "*batch n d"]'),
        ("b, *rest, d = x.shape\n    return x", 'x: Shaped[torch.Tensor, "b *rest d"]'),
        ("b, *rest = x.shape\n    return x.view(b, -1)", 'x: Shaped[torch.Tensor, "b ..."]'),
        ("return x * torch.tensor([1.0, 2.0])", 'x: Shaped[torch.Tensor, "*batch 2"]'),
        ("n = x.shape[0]\n    return x * torch.ones(3) + n", 'x: Shaped[torch.Tensor, "n ..."]'),
        ("return x / torch.ones(1, 3, 1, 1)", 'x: Shaped[torch.Tensor, "b 3 h w"]'),
        ("return x - x.mean(1, True) * torch.ones(1, 3, 1)", 'x: Float[torch.Tensor, "b 3 d"]'),
    ],
)
def test_operations_say_which_axes_there_are(tmp_path: Path, body: str, signature: str) -> None:
    head = HEAD + "import torch.nn.functional as F\nfrom einops import rearrange\n"
    text = f"{head}def f(x):\n    x.device\n    {body}\n"
    assert f"def f({signature})" in annotated(tmp_path, text)
    typed = annotated(tmp_path, text.replace("f(x)", "f(x: torch.Tensor)"))
    assert f"def f({signature})" in typed


def test_sizes_that_are_no_coordinates_may_broadcast(tmp_path: Path) -> None:
    text = HEAD + "def f(x: torch.Tensor):\n    return x * torch.linspace(0, 1, 50)\n"
    assert annotated(tmp_path, text) == text


def test_what_already_has_enough_axes_need_not_have_more(tmp_path: Path) -> None:
    text = (
        HEAD + "def f(x):\n    x = x[:, 0:]\n    return x[None, None] + torch.zeros(3, 4, 1, 2)\n"
    )
    assert 'def f(x) -> Shaped[torch.Tensor, "... 3 4 _ 2"]:' in annotated(tmp_path, text)


def test_an_axis_of_one_aligns_with_one_that_is_there(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(points: torch.Tensor, weights: torch.Tensor):\n"
        "    return (weights[..., None] * points).sum(dim=-1), weights.sum(dim=-1)\n"
    )
    assert (
        'f(points: Shaped[torch.Tensor, "... d _"], weights: Shaped[torch.Tensor, "*batch d"])'
    ) in annotated(tmp_path, text)


def test_what_is_said_to_divide_keeps_its_name(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(patches: torch.Tensor):\n"
        "    b, n, dim = patches.shape\n"
        "    assert dim % 4 == 0\n"
        "    return patches, torch.zeros(n, dim // 4), torch.zeros(dim // 4 + 1)\n"
    )
    found = annotated(tmp_path, text)
    assert 'f(patches: Shaped[torch.Tensor, "b n dim"]) -> ' in found
    assert 'Float[Tensor, "n dim//4"], Float[Tensor, "dim//4+1"]]:' in found


def test_a_size_is_not_called_as_what_is_joined(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(x, token: torch.Tensor):\n"
        "    x = unknown(x)\n"
        "    b, n, _ = x.shape\n"
        "    return torch.cat((token.view(1, 1, 8).expand(b, 1, 8), x), dim=1).sum(1)\n"
    )
    assert ' -> Shaped[Tensor, "_ 8"]:' in annotated(tmp_path, text)


def test_a_result_is_not_what_some_of_the_parameters_broadcast_to() -> None:
    def said(name: str, text: str) -> Proposal:
        return Proposal(Slot("f", 0, name), TensorType("Float", text), "record", 1)

    x, y, result = said("x", "*#batch 2"), said("y", "*#batch"), said("return", "*batch 2")
    left = {one.slot: one for one in (y, result)}
    assert _unbound(left, [x]) == [result.slot]
    assert _unbound(left, [said("x", "*batch 2")]) == []
    assert _unbound(left, [said("x", "*#other 2")]) == []


def test_callers_that_disagree_do_not_say_how_many_axes_there_are(tmp_path: Path) -> None:
    """One hands over three axes where it is only seen by looking inside of what it calls."""
    text = HEAD + (
        "def code(x: torch.Tensor):\n    return nn.Linear(3, 4)(x)\n"
        "def wrap(x):\n    return code(x)\n"
        "def one():\n    return code(torch.zeros(5, 3))\n"
        "def two():\n    return wrap(torch.zeros(2, 5, 3))\n"
    )
    found = annotated(tmp_path, text)
    assert 'def code(x: Float[torch.Tensor, "*batch 3"]) -> Float[Tensor, "*batch 4"]:' in found


def test_axes_that_an_operation_brings_together_are_one(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(t: torch.Tensor, h: torch.Tensor):\n"
        '    return torch.einsum("...ij,...j->...i", t, h)\n'
    )
    assert (
        'f(t: Shaped[torch.Tensor, "*#batch i j"], h: Shaped[torch.Tensor, "*#batch j"])'
        ' -> Shaped[Tensor, "*batch i"]:'
    ) in annotated(tmp_path, text)


def test_groups_that_meet_broadcast(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(x: torch.Tensor, near: torch.Tensor, far: torch.Tensor):\n"
        "    return (1 / x - 1 / far) / (1 / near - 1 / far), near > 0\n"
    )
    assert (
        'f(x: Shaped[torch.Tensor, "*#batch"], near: Shaped[torch.Tensor, "*#batch"],'
        ' far: Shaped[torch.Tensor, "*#batch"])'
        ' -> tuple[Shaped[Tensor, "*batch"], Bool[Tensor, "*#batch"]]:'
    ) in annotated(tmp_path, text)


def test_results_of_groups_that_meet_have_the_same_axes(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        HEAD + "def sphere(origin: torch.Tensor, ray: torch.Tensor, center: torch.Tensor):\n"
        "    a = (ray * ray).sum(dim=-1, keepdim=True)\n"
        "    b = ((origin - center) * ray).sum(dim=-1, keepdim=True)\n"
        "    return (-b - a) / a, (-b + a) / a\n",
    )
    assert 'tuple[Shaped[Tensor, "*batch2 1"], Shaped[Tensor, "*batch2 1"]]' in found


def test_what_is_for_any_number_of_axes_stays_so_whoever_calls_it(tmp_path: Path) -> None:
    text = HEAD + (
        "def last(x: torch.Tensor):\n    return x[..., -1]\n"
        "def f(x: torch.Tensor):\n    b, t, c = x.shape\n    return last(x)\n"
    )
    found = annotated(tmp_path, text)
    assert 'last(x: Shaped[torch.Tensor, "*batch d"]) -> Shaped[Tensor, "*batch"]' in found
    assert 'f(x: Shaped[torch.Tensor, "b t c"]) -> Shaped[Tensor, "b t"]' in found


def test_what_works_along_an_axis_of_choice_is_for_any_number_of_axes(tmp_path: Path) -> None:
    text = HEAD + (
        "def norm(x, dim=-1):\n    return torch.relu(x) / x.detach()\n"
        "def f(y):\n    n, k = y.shape\n    y.view(k, n)\n    return norm(y)\n"
    )
    assert 'def norm(x: Shaped[torch.Tensor, "*batch"], dim=-1)' in annotated(tmp_path, text)


def test_the_size_of_an_image_makes_it_no_tensor(tmp_path: Path) -> None:
    text = HEAD + (
        "def flip(image):\n    w, h = image.size\n    return library.flip(image), w, h\n"
        "def count(x):\n    n, _ = x.size()\n    return n\n"
    )
    assert annotated(tmp_path, text).removeprefix(HEAD).splitlines()[0] == "def flip(image):"
    assert 'def count(x: Shaped[torch.Tensor, "n d"]):' in annotated(tmp_path, text)


def test_what_a_tensor_is_made_from_is_none(tmp_path: Path) -> None:
    text = HEAD + (
        "def pixels(width, height):\n"
        "    rows, columns = torch.arange(height), torch.arange(width)\n"
        "    return torch.meshgrid(rows, columns)[0].repeat_interleave(height * width)\n"
    )
    found = annotated(tmp_path, text).removeprefix(HEAD)
    assert found.startswith("def pixels(width, height) ->")


def test_what_an_operation_needs_says_which_axes_of_two_tensors_are_one(tmp_path: Path) -> None:
    text = HEAD + (
        "from einops import einsum, rearrange\n"
        "def f(points: torch.Tensor, pose: torch.Tensor):\n"
        "    b, f, _, _, _ = points.shape\n"
        '    points = rearrange(points, "b f h w xyz -> b f (h w) xyz")\n'
        '    pose = rearrange(pose, "b g i j -> b g () i j")\n'
        '    return einsum(pose[..., :3, :3], points, "... i j, ... j -> ... i")\n'
    )
    assert (
        'f(points: Shaped[torch.Tensor, "b f h w 3"], pose: Shaped[torch.Tensor, "b f i j"])'
        ' -> Shaped[Tensor, "b f h*w 3"]:'
    ) in annotated(tmp_path, text)


def test_a_comment_has_the_names_of_the_code_in_their_case(tmp_path: Path) -> None:
    text = HEAD + "def f(x):\n    b, t = x.shape\n    y = x.mT  # (T, B)\n    return y.relu()\n"
    assert 'y: Shaped[torch.Tensor, "t b"] = x.mT' in annotated(tmp_path, text, "comments")


# What is refused, and what isn't any more ---------------------------------------------------------

WITH_TOKEN = HEAD + (
    "def with_token(x, token):\n"
    "    tokens = token.expand(x.shape[0], -1, -1)\n"
    "    return torch.cat((tokens, x), dim=1)\n"
)


def test_what_was_refused_is_tried_again_with_what_others_say(tmp_path: Path) -> None:
    text = WITH_TOKEN + (
        "class Model(nn.Module):\n"
        "    def __init__(self, width: int):\n"
        "        super().__init__()\n"
        "        self.one, self.other = nn.Linear(width, width), nn.Linear(width, width)\n"
        "    def forward(self, x, y):\n"
        "        B, N, _ = x.shape\n"
        "        C, M, _ = y.shape\n"
        "        return with_token(self.one(x), self.other(y))\n"
    )
    found = annotated(tmp_path, text, "static")
    assert (
        'forward(self, x: Float[torch.Tensor, "B N width"], y: Float[torch.Tensor, "_ M width"])'
        ' -> Float[torch.Tensor, "B M+N width"]:'
    ) in found
    assert annotated(tmp_path, found, "static") == found


def test_what_is_expanded_may_be_1_and_has_no_name_for_that(tmp_path: Path) -> None:
    text = WITH_TOKEN + (
        "class Model(nn.Module):\n"
        "    def __init__(self, width: int):\n"
        "        super().__init__()\n"
        "        self.token = nn.Parameter(torch.zeros(1, 1, width))\n"
        "        self.project = nn.Linear(width, width)\n"
        "    def forward(self, x):\n"
        "        B, N, _ = x.shape\n"
        "        return with_token(self.project(x), self.token)\n"
    )
    found = annotated(tmp_path, text, "static")
    assert 'x: Shaped[torch.Tensor, "b t d"], token: Float[torch.Tensor, "_ _ d"]' in found
    assert (
        'forward(self, x: Float[torch.Tensor, "B N width"]) -> Float[torch.Tensor, "B N+1 width"]:'
    ) in found
    found = f"from shapecheck import Float\n{found}"
    assert annotated(tmp_path, found, "static") == found


def test_a_persons_name_may_be_a_number(tmp_path: Path) -> None:
    text = HEAD + "def f(\n    x,  # (n, d)\n):\n    return nn.Linear(3, 4)(x)  # (n, e)\n"
    found = annotated(tmp_path, text, "comments")
    assert 'x: Float[torch.Tensor, "n d"],' in found
    assert ') -> Float[torch.Tensor, "n e"]:' in found


@pytest.mark.parametrize(
    ("body", "signature"),
    [
        ("return p.norm(dim=-1)", 'p: Float[torch.Tensor, "*batch d"], q: torch.Tensor'),
        (
            'return torch.einsum("ij,jk->ik", torch.linalg.svd(p)[0], q)',
            'p: Float[torch.Tensor, "i d"], q: Float[torch.Tensor, "i k"]',
        ),
        ("return nn.functional.mse_loss(p.mean(), q)", "p: torch.Tensor, q: torch.Tensor"),
    ],
    ids=["an op", "a product with floats", "what integers fit too"],
)
def test_what_the_body_does_says_of_which_elements(
    tmp_path: Path, body: str, signature: str
) -> None:
    text = f"{HEAD}def f(p: torch.Tensor, q: torch.Tensor):\n    {body}\n"
    assert f"def f({signature})" in annotated(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "says"), [("idx", "Int"), ("sample_ids", "Int"), ("chosen", "Shaped")]
)
def test_an_index_may_be_a_mask_unless_its_name_says_otherwise(
    tmp_path: Path, name: str, says: str
) -> None:
    text = HEAD + (
        f"def f(x: torch.Tensor, {name}: torch.Tensor):\n"
        f"    (n,) = {name}.shape\n    return x.mean() + x[{name}]\n"
    )
    assert f'{name}: {says}[torch.Tensor, "n"]' in annotated(tmp_path, text)


def test_a_method_that_takes_a_dim_is_a_tensors(tmp_path: Path) -> None:
    text = HEAD + (
        "def unit(v):\n    return v / v.norm(dim=-1, keepdim=True)\n"
        'def data(v):\n    return v.sum(dim="time")\n'
        "def array(v):\n    return v.sum(axis=-1)\n"
    )
    found = annotated(tmp_path, text, "static")
    assert 'def unit(v: Float[torch.Tensor, "*batch d"]) ->' in found
    assert "def data(v):" in found
    assert "def array(v):" in found


@pytest.mark.parametrize(
    ("unpacked", "shape"),
    [
        ("b, h, n, _", "b h n d"),
        ("_, _, h, w", "b c h w"),
        ("batch, _, _, _", "batch c h w"),
        ("b, frames, seq, _", "b frames seq d"),
    ],
)
def test_only_axes_that_may_be_an_images_are_called_so(
    tmp_path: Path, unpacked: str, shape: str
) -> None:
    body = f"    {unpacked} = x.shape\n    _, _, _, _ = x.shape\n    return x + 1\n"
    text = f"{HEAD}def f(x: torch.Tensor):\n{body}"
    assert f'def f(x: Shaped[torch.Tensor, "{shape}"])' in annotated(tmp_path, text)


def test_a_result_waits_for_what_it_is_made_by(tmp_path: Path) -> None:
    text = HEAD + (
        "class Block(nn.Module):\n"
        "    def __init__(self, dim, depth):\n"
        "        super().__init__()\n"
        "        self.layers = nn.ModuleList([])\n"
        "        for _ in range(depth):\n"
        "            self.layers.append(nn.ModuleList([Mix(dim), Mix(dim)]))\n"
        "    def forward(self, x: torch.Tensor):\n"
        "        b, n, d = x.shape\n"
        "        for one, other in self.layers:\n"
        "            x = one(x) + x\n"
        "            x = other(x) + x\n"
        "        return x\n"
        "class Mix(nn.Module):\n"
        "    def __init__(self, dim):\n"
        "        super().__init__()\n"
        "        self.net = nn.Linear(dim, dim)\n"
        "    def forward(self, x):\n"
        "        b, n, _ = x.shape\n"
        "        return self.net(x).reshape(b, n, -1)\n"
    )
    block = annotated(tmp_path, text, "static").partition("class Mix")[0]
    assert 'x: Float[torch.Tensor, "b n d"]) -> Float[Tensor, "b n d"]:' in block


# What calls, texts and runs don't show ------------------------------------------------------------


@pytest.mark.parametrize(
    ("makes", "shape"),
    [("Head(dim)", "b t dim"), ('{"head": Head}["head"](dim)', "*batch dim")],
    ids=["where all calls are seen", "stored in a dict"],
)
def test_a_class_that_is_handed_around_may_be_given_more_axes(
    tmp_path: Path, makes: str, shape: str
) -> None:
    text = HEAD + (
        "class Head(nn.Module):\n"
        "    def __init__(self, dim):\n"
        "        super().__init__()\n"
        "        self.norm = nn.LayerNorm(dim)\n"
        "    def forward(self, x):\n"
        "        return self.norm(x).softmax(-1)\n"
        "class Net(nn.Module):\n"
        "    def __init__(self, dim):\n"
        "        super().__init__()\n"
        "        self.head = Head(dim)\n"
        f"        self.other = {makes}\n"
        "    def forward(self, x):\n"
        "        b, t, d = x.shape\n"
        "        return self.head(x)\n"
    )
    found = annotated(tmp_path, text, "static")
    assert f'def forward(self, x: Float[torch.Tensor, "{shape}"])' in found


def test_a_docstring_that_is_wrong_leaves_what_the_code_shows_and_its_rank(tmp_path: Path) -> None:
    text = HEAD + (
        "def attend(q, k):\n"
        '    """Attend.\n\n    Args:\n        q: queries (B, T, D)\n'
        '        k: keys of shape (B, D, S)\n    """\n'
        "    b, t, d = q.shape\n"
        "    return (q @ k.transpose(-2, -1)).softmax(-1)\n"
    )
    found = annotated(tmp_path, text)
    assert 'q: Shaped[torch.Tensor, "b t d"], k: Shaped[torch.Tensor, "b t2 d"]' in found


def test_what_may_be_of_two_ranks_isnt_what_a_run_shows(tmp_path: Path) -> None:
    body = '    """Embed.\n\n    Args:\n        ids: of shape {}\n    """\n    return w[ids]\n'
    calls = [
        Call(
            {"ids": ["t", "int64", "cpu", [2, 3]], "w": ["t", "float32", "cpu", [5, 4]]},
            None,
            {},
            1,
        )
    ]
    for said, is_open in (("(B, T)", False), ("(B, T) or (T,)", True)):
        path = tmp_path / "model.py"
        path.write_text(HEAD + "def f(ids, w):\n" + body.format(said))
        record = {Key("model.py", "f", 3): Recorded(1, calls)}
        outcome = annotate_files([path], Settings(record=record))
        assert ("def f(ids, w: Float[torch.Tensor" in outcome.changed[0].text) == is_open


@pytest.mark.parametrize(
    ("comment", "shape"),
    [
        ("Float['b n ts']", 'Float[torch.Tensor, "b n ts"]'),
        (': Int[Tensor, "b n 3"]', 'Int[torch.Tensor, "b n 3"]'),
        ("List['b n ts']", None),
    ],
)
def test_an_annotation_in_a_comment_is_one(tmp_path: Path, comment: str, shape: str | None) -> None:
    text = HEAD + (
        f"def f(\n    x,  #{comment}\n    y: int,\n):  # -> Shaped['b ts n']\n    return x.mT\n"
    )
    found = annotated(tmp_path, text, "comments")
    assert (f"    x: {shape},  #" in found) == (shape is not None)
    assert ') -> Shaped[torch.Tensor, "b ts n"]:' in found


def test_a_parameter_is_what_either_of_two_ways_needs(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(x: torch.Tensor, flag: bool):\n"
        "    if flag:\n        return x @ torch.zeros(8, 4)\n"
        "    b, n, c = x.shape\n    return x.reshape(b, -1)\n"
        "def g(x: torch.Tensor):\n"
        "    if x.ndim == 3:\n        b, n, c = x.shape\n        return x.reshape(b, -1)\n"
        "    return x\n"
    )
    found = annotated(tmp_path, text, "static")
    assert 'def f(x: Float[torch.Tensor, "b n 8"], flag: bool)' in found
    assert "def g(x: torch.Tensor)" in found


def test_axes_that_a_callee_calls_the_same_may_be_two(tmp_path: Path) -> None:
    text = HEAD + (
        "def heads(x: torch.Tensor):\n"
        "    b, n, c = x.shape\n    return x.reshape(b, n, 2, c // 2)\n"
        "class A(nn.Module):\n"
        "    def __init__(self, dim: int):\n        super().__init__()\n"
        "        self.q, self.k = nn.Linear(dim, dim), nn.Linear(dim, dim)\n"
        "    def forward(self, q: torch.Tensor, k: torch.Tensor):\n"
        "        q, k = heads(self.q(q)), heads(self.k(k))\n"
        "        return q.transpose(1, 2) @ k.permute(0, 2, 3, 1)\n"
        "class B(nn.Module):\n"
        "    def __init__(self, dim: int):\n        super().__init__()\n"
        "        self.a = A(dim)\n"
        "    def forward(self, x: torch.Tensor, y: torch.Tensor):\n"
        "        b, n, c = x.shape\n        _, m, _ = y.shape\n"
        "        return self.a(x, y)\n"
    )
    found = annotated(tmp_path, text, "static")
    assert 'q: Float[torch.Tensor, "b n dim"], k: Float[torch.Tensor, "b n2 dim"]' in found


def test_what_check_would_refuse_is_not_written(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(wav: torch.Tensor, channels: int):\n"
        "    *shape, c, length = wav.shape\n"
        "    if channels == 1:\n        return wav.mean(-2, keepdim=True)\n"
        "    return wav.expand(channels, -1)\n"
    )
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "model.py"
    path.write_text(annotated(tmp_path, text))
    assert main(["check", "--only-shapes", str(path), "--", "--cache-dir=/dev/null"]) == 0


def test_axes_that_one_of_two_ways_needs_are_open_where_a_value_decides(tmp_path: Path) -> None:
    """That value may be how many there are; where a tensor is there or isn't, it is not."""
    text = HEAD + (
        "import torch.nn.functional as F\n"
        "class Up(nn.Module):\n"
        "    def __init__(self, channels, dims=2):\n"
        "        super().__init__()\n"
        "        self.channels, self.dims = channels, dims\n"
        "    def forward(self, x):\n"
        "        assert x.shape[1] == self.channels\n"
        "        if self.dims == 3:\n"
        "            x = F.interpolate(x, (x.shape[2], x.shape[3] * 2, x.shape[4] * 2))\n"
        "        else:\n"
        "            x = F.interpolate(x, scale_factor=2)\n"
        "        return x\n"
        "class Scale(nn.Module):\n"
        "    def forward(self, x, scale=None):\n"
        "        if scale is not None:\n"
        "            b, c, h, w = x.shape\n"
        "            x = x * scale.view(b, c, 1, 1)\n"
        "        else:\n"
        "            x = x.relu()\n"
        "        return x\n"
    )
    found = annotated(tmp_path, text)
    assert '    def forward(self, x: Shaped[torch.Tensor, "_ {self.channels} ..."]):\n' in found
    assert '    def forward(self, x: Shaped[torch.Tensor, "b c h w"], scale=None)' in found


def test_what_may_be_a_number_or_a_pair_makes_no_square(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        HEAD
        + "class Model(nn.Module):\n    def __init__(self, size):\n        super().__init__()\n"
        + "        if isinstance(size, int):\n            size = (size, size)\n"
        + "        self.size = size\n\n    def forward(self, x):\n"
        + "        b, c, h, w, size = *x.shape, self.size\n"
        + "        assert h == size[0] and w == size[1]\n        return x.view(b, -1)\n"
    )
    (changed,) = annotate_files([path], Settings()).changed
    assert 'x: Shaped[torch.Tensor, "b c h w"]' in changed.text


def test_what_waits_for_enough_is_annotated_as_what_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        HEAD
        + "def optimized(policy, memory, states, size):\n"
        + "    if len(memory) < size:\n        return None\n"
        + "    b, d = states.shape\n    return policy(states.view(b * d))\n"
    )
    (changed,) = annotate_files([path], Settings()).changed
    assert 'states: Shaped[torch.Tensor, "b d"]' in changed.text


def test_a_result_has_an_axis_of_1_where_the_code_shows_it(tmp_path: Path) -> None:
    """What prose says is 1 is often so only until it is expanded."""
    text = HEAD + (
        "def spread(values, steps, shape):\n"
        '    """:return: a tensor of shape [batch, 1, ...]."""\n'
        "    found = values[steps]\n"
        "    return found.expand(shape)\n"
        "def column(x):\n"
        '    """:return: a tensor of shape [batch, 1]."""\n'
        "    n, d = x.shape\n"
        "    return x.sum(1, keepdim=True)\n"
    )
    found = annotated(tmp_path, text)
    assert 'def spread(values, steps, shape) -> Shaped[torch.Tensor, "batch _ ..."]:' in found
    assert 'torch.Tensor, "n 1"]:' in found
