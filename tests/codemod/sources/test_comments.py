"""What comments and docstrings say in the words of the code, and what they don't say of shapes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shapecheck.analysis.annotations.prose import comment
from shapecheck.codemod.annotate import Settings, annotate_files

HEAD = "import torch\nfrom torch import Tensor\n"


def shapes(tmp_path: Path, text: str, *origins: str) -> list[str]:
    """Return the shapes that a module is annotated with, in order."""
    path = tmp_path / "model.py"
    path.write_text(HEAD + text)
    outcome = annotate_files([path], Settings(origins or ("comments", "docstrings", "static")))
    assert not outcome.problems
    assert not outcome.refused
    return [one for changed in outcome.changed for one in re.findall(r', "(.*?)"\]', changed.text)]


def annotated(tmp_path: Path, text: str) -> str:
    """Return a module as its comments annotate it."""
    path = tmp_path / "model.py"
    path.write_text(HEAD + text)
    outcome = annotate_files([path], Settings(("comments",)))
    return outcome.changed[0].text if outcome.changed else text


@pytest.mark.parametrize(
    ("sizes", "shape"),
    [
        ("B = x.shape[:-1]", "*B 3"),
        ("*B, _ = x.shape", "*B 3"),
        ("B = list(x.shape[:-1])", "*B 3"),
        ("B = x.shape[0]", "B 3"),
        ("B, _ = x.shape", "B 3"),
    ],
)
def test_a_name_for_several_sizes_is_a_group(sizes: str, shape: str, tmp_path: Path) -> None:
    text = (
        "def f(\n    x: Tensor,  # [B, 3]\n):\n"
        f"    {sizes}\n"
        "    y = x * 2  # [B, 3]\n"
        "    return y, B\n"
    )
    assert shapes(tmp_path, text, "comments") == [shape, shape]


@pytest.mark.parametrize(
    ("said", "shape"),
    [
        ("(b, ..., c)", "b ... c"),
        ("(..., c)", "... c"),
        ("(b, ...)", "b ..."),
        ("(b, h, w, ..., c)", "b h w ... c"),
    ],
)
def test_dots_stand_for_as_many_axes_as_there_are(said: str, shape: str, tmp_path: Path) -> None:
    text = (
        "def f(x: Tensor):\n"
        "    b, c, h, w = x.shape\n"
        f"    y = x.permute(0, 2, 3, 1)  # {said}\n"
        "    return y\n"
    )
    assert shapes(tmp_path, text) == ["b c h w", "b h w c", shape]


def test_a_docstring_speaks_of_the_same_group(tmp_path: Path) -> None:
    text = (
        "def f(pose: Tensor) -> Tensor:\n"
        '    """Position.\n\n    Args:\n        pose: a pose [B, 7]\n\n'
        '    Returns:\n        positions [B, 3]\n    """\n'
        "    B = pose.shape[:-1]\n"
        "    return pose[..., :3].reshape(B + (3,))\n"
    )
    assert shapes(tmp_path, text, "docstrings") == ["*B 7", "*B 3"]


def test_a_comment_names_what_only_an_op_has_a_name_for(tmp_path: Path) -> None:
    text = "def f(x, w):\n    y = torch.mm(x, w)  # (N, P)\n    return y.relu()\n"
    assert shapes(tmp_path, text) == ["N d", "d P", "N P", "N P"]


@pytest.mark.parametrize(
    ("others", "found"),
    [("  # [nnz, 2]", ["nnz 2", "nnz"]), ("", [])],
    ids=["a dimension", "nothing known"],
)
def test_one_word_is_a_shape_where_others_have_it(
    others: str, found: list[str], tmp_path: Path
) -> None:
    text = f"def f(\n    x: Tensor,{others}\n    ids: Tensor,  # [nnz] int32\n): ...\n"
    assert shapes(tmp_path, text, "comments") == found


@pytest.mark.parametrize(
    "said", ["[qw, qx, qy, qz]", "(x, y)", "[t_x, t_y, t_z] of the camera", "(x, y, z, w)"]
)
def test_components_are_no_shape_unless_the_analysis_agrees(said: str, tmp_path: Path) -> None:
    found = comment(f"# {said}")
    assert found is not None
    assert not found.sure
    text = (
        f"def f(\n    x: Tensor,  # {said}\n):\n    y = x[..., 3:]  # {said}\n    return y.relu()\n"
    )
    assert shapes(tmp_path, text, "comments") == []


def test_components_in_a_docstring_are_no_shape(tmp_path: Path) -> None:
    text = (
        "def f(x: Tensor, y: Tensor) -> Tensor:\n"
        '    """Norm.\n\n    Args:\n        x: [B] first components\n        y: [B] second ones\n\n'
        '    Returns:\n        norm: [B] of the vectors (x, y)\n    """\n'
        "    return (x.square() + y.square()).sqrt()\n"
    )
    assert shapes(tmp_path, text, "docstrings") == ["B", "B"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(a, b):  # a: (n, d), b: (m, d)\n    return torch.cdist(a, b)\n",
        "def f(a, b):\n    # a: (n, d)\n    # b: (m, d)\n    return torch.cdist(a, b)\n",
        "def f(a, b):\n    # a.shape = (n, d); b.shape = (m, d)\n    return torch.cdist(a, b)\n",
        "def f(a, b):\n    # a is [n, d] and b is [m, d]\n    return torch.cdist(a, b)\n",
        "def f(a, b):\n    # a: some\n    # a: NxD\n    # b: MxD\n    return torch.cdist(a, b)\n",
    ],
)
def test_a_comment_names_parameters(text: str, tmp_path: Path) -> None:
    found = shapes(tmp_path, text.replace("a, b)", "a: Tensor, b: Tensor)", 1), "comments")
    assert [one.lower() for one in found] == ["n d", "m d"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(a: Tensor):\n    a = a.flatten(2)\n    # a: (n, c, p)\n    return g(a)\n",
        "def f(a: Tensor):\n    # a: (1, 2)\n    return g(a)\n",
        "def f(a: Tensor):\n    # a: (optional) mask\n    return g(a)\n",
        "def f(a: Tensor):\n    # a = (n, d)\n    return g(a)\n",
        "def f(a: Tensor):\n    # a: (n, d) or (n,)\n    return g(a)\n",
        "def f(a: Tensor):\n    # a: (see the paper)\n    return g(a)\n",
        "def f(a: Tensor):\n    def h(a):\n        # a: (n, d)\n        g(a)\n    return h\n",
    ],
)
def test_a_comment_that_names_something_else(text: str, tmp_path: Path) -> None:
    assert "a: Tensor" in annotated(tmp_path, text)


def test_sizes_that_an_x_joins_are_read_in_docstrings(tmp_path: Path) -> None:
    text = (
        "def f(uv: Tensor, params: Tensor, kernel: Tensor) -> Tensor:\n"
        '    """Unproject.\n\n    Inputs:\n        uv: BxNx2 tensor of pixels\n'
        "        params: 5 x M parameters\n        kernel: a 3x3 one\n"
        '    Outputs:\n        rays: Bx(N+1)x3\n    """\n'
        "    return g(uv, params, kernel)\n"
    )
    assert shapes(tmp_path, text, "docstrings") == ["B N 2", "5 M", "B N+1 3"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("b x N x N arc scores", ["b N N"]),
        ("b x (N-1) x C x C table", ["b N-1 C C"]),
        ("of shape batch x N x C", ["batch N C"]),
        ("(b x N x N)", ["b N N"]),
        ("a N x C table", ["N C"]),
        ("made of x x N", []),
        ("b x N", []),
        ("of a x b x c", []),
    ],
)
def test_the_first_size_that_an_x_joins_may_be_a_word(
    said: str, shown: list[str], tmp_path: Path
) -> None:
    text = f'def f(y):\n    """Do.\n\n    Args:\n        y: {said}\n    """\n    return g(y)\n'
    assert shapes(tmp_path, text, "docstrings") == shown


@pytest.mark.parametrize(
    ("entry", "returns", "shown"),
    [
        ("hw: of shape (H, W)", "a tensor", ["H W"]),
        ("hw (Tuple): the sides (H, W)", "a tensor", []),
        ("hw: the sides", "torch.Tensor: the resized hw of shape [A, B_new]", ["A B_new"]),
    ],
    ids=["a tensor", "a tuple", "of the result"],
)
def test_what_is_said_of_something_else_is_not_said_of_a_parameter(
    entry: str, returns: str, shown: list[str], tmp_path: Path
) -> None:
    text = (
        f'def f(hw):\n    """Do.\n\n    Args:\n        {entry}\n\n'
        f'    Return:\n        {returns}\n    """\n    return g(hw)\n'
    )
    assert shapes(tmp_path, text, "docstrings") == shown


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("Tensor", ["n d"]),
        ("torch.FloatTensor or None", ["n d"]),
        (":class:`torch.Tensor`, optional", ["n d"]),
        ("Optional[Tensor]", ["n d"]),
        ("float, shape (n, d)", ["n d"]),
        ("float tensor", ["n d"]),
        ("Points", ["n d"]),
        ("Module output", ["n d"]),
        ("int", []),
        ("int, optional", []),
        ("float or Tensor", []),
        ("Tensor | Callable", []),
        ("Union[Tensor, list]", []),
        ("Callable[[int], Tensor]", []),
        ("Iterable or Batch", []),
        ("list of Tensor", []),
        ("torch.nn.Module", []),
        (":class:`~graphs.Batch`", []),
        ("SparseTensor", []),
        ("Path", []),
    ],
)
def test_what_a_docstring_calls_by_another_type_may_be_no_tensor(
    kind: str, shown: list[str], tmp_path: Path
) -> None:
    told = "the values at (n, d) points" if kind.startswith("int") else "of shape (n, d)"
    for doc in (
        f"Parameters\n    ----------\n    x : {kind}\n        {told}\n",
        f"Args:\n        x ({kind}): {told}\n",
        f":param x: {told}\n    :type x: {kind}\n",
    ):
        text = (
            "from pathlib import Path\n"
            f'def f(x):\n    """Do.\n\n    {doc}    """\n    return g(x)\n'
        )
        assert shapes(tmp_path, text, "docstrings") == shown, doc


@pytest.mark.parametrize(
    ("prose", "shown"),
    [
        ("a path. The returned tensor should have shape (n, d)", []),
        ("a vector field, returns a tensor of shape (n, d)", []),
        ("x[i] for i > 0 has to be of size (n, d)", []),
        ("a path, x.derivative(t) is of shape (n, d)", []),
        ("a path. x(t) is of shape (n, d)", []),
        ("takes a tensor of size (n, d) and returns a tensor of size (n,)", []),
        ("points. x.shape is (n, d)", ["n d"]),
        ("what x[i] is for each i. Of shape (n, d)", ["n d"]),
        ("returned by the encoder, of shape (n, d)", ["n d"]),
    ],
)
def test_a_shape_of_what_a_parameter_gives_isnt_its_own(
    prose: str, shown: list[str], tmp_path: Path
) -> None:
    text = f'def f(x):\n    """Do.\n\n    Args:\n        x: {prose}\n    """\n    return g(x)\n'
    assert shapes(tmp_path, text, "docstrings") == shown


def test_a_comment_on_another_name_of_a_parameter_is_about_that(tmp_path: Path) -> None:
    text = (
        "def f(x: Tensor, norm, late: bool):\n"
        "    {}shortcut = x  # B, H, W, C\n"
        "    x = norm(x)\n"
        "    return shortcut + x\n"
    )
    assert 'x: Shaped[Tensor, "B H W C"]' in annotated(tmp_path, text.format(""))
    assert "x: Tensor," in annotated(tmp_path, text.format("if late: "))
    assert "x: Tensor," in annotated(tmp_path, text.format("x = norm(x); "))


def test_a_name_with_its_axes_alone_is_a_shape(tmp_path: Path) -> None:
    found = annotated(
        tmp_path,
        "def f(preds: Tensor, span: Tensor, rest: Tensor):\n"
        "    # preds [B, D]\n"
        "    # span [start, end]\n"
        "    # rest [B, D] as it was\n"
        "    return preds\n",
    )
    assert 'preds: Shaped[Tensor, "B D"], span: Tensor, rest: Tensor' in found


def test_a_short_shape_stands_where_its_brackets_are(tmp_path: Path) -> None:
    """The `n,` of `prediction,` is none."""
    text = (
        "def f(pred: Tensor, weight: Tensor):\n"
        '    """Loss.\n\n    Args:\n        pred: predictions of shape (n, *)\n'
        '        weight: one for each prediction, of shape (n,)\n    """\n'
        "    return pred.flatten(1).sum(1) * weight\n"
    )
    assert shapes(tmp_path, text, "docstrings") == ["n ...", "n"]
