"""Fields of classes get the shapes that comments and docstrings say they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.codemod.annotate import Outcome, Settings, annotate_files
from shapecheck.codemod.strip import strip

HEAD = """\
from dataclasses import dataclass
from typing import NamedTuple, Optional, TypedDict
import torch
from torch import Tensor, nn
"""


def outcome_of(tmp_path: Path, *texts: str) -> Outcome:
    """Return what annotating modules comes to; the first is the module `model`."""
    paths = [tmp_path / f"{name}.py" for name, _ in zip(("model", "use"), texts, strict=False)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return annotate_files(paths, Settings(("comments", "docstrings", "static")))


def fields(tmp_path: Path, *texts: str) -> list[str]:
    """Return the lines of a module, below the head, that become others."""
    outcome = outcome_of(tmp_path, HEAD + texts[0], *texts[1:])
    assert not outcome.problems
    for changed in outcome.changed:
        if changed.file.path.stem == "model":
            assert strip(changed.text) == strip(HEAD + texts[0])
            new = changed.text.splitlines()
            return [line.strip() for line in new if line not in (HEAD + texts[0]).splitlines()][1:]
    return []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    x: Tensor  # [N, 3]\n", 'x: Shaped[Tensor, "N 3"]  # [N, 3]'),
        ("    x: Tensor = None  # [N, 3]\n", 'x: Shaped[Tensor, "N 3"] = None  # [N, 3]'),
        (
            "    x: Optional[Tensor] = None  # (N,)\n",
            'x: Optional[Shaped[Tensor, "N"]] = None  # (N,)',
        ),
        ("    x: None | Tensor  # (N, 3)\n", 'x: None | Shaped[Tensor, "N 3"]  # (N, 3)'),
        ("    x: torch.LongTensor  # (b, t)\n", 'x: Int64[torch.LongTensor, "b t"]  # (b, t)'),
        (
            '    x: Tensor\n    """Points, of shape (N, 3)."""\n',
            'x: Shaped[Tensor, "N 3"]',
        ),
        (
            '    """Many.\n\n    Attributes:\n        x: of shape (N, K)\n    """\n    x: Tensor\n',
            'x: Shaped[Tensor, "N K"]',
        ),
        (
            '    """Many.\n\n    Args:\n        x: of shape (N, K)\n    """\n    x: Tensor\n',
            'x: Shaped[Tensor, "N K"]',
        ),
        ("    é: str = 'ä'; x: Tensor  # (N, 3)\n", "é: str = 'ä'; x: Shaped[Tensor, \"N 3\"]"),
    ],
)
@pytest.mark.parametrize("header", ["@dataclass\nclass A:\n", "class A(nn.Module):\n"])
def test_the_shape_goes_around_the_type(
    header: str, body: str, expected: str, tmp_path: Path
) -> None:
    found = fields(tmp_path, header + body)
    assert [line.partition("  # (N, 3)")[0] for line in found] == [
        expected.partition("  # (N, 3)")[0]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "@dataclass\nclass A:\n    x: Tensor\n",
        "@dataclass\nclass A:\n    x: str  # (N, 3)\n",
        "@dataclass\nclass A:\n    x: list[Tensor]  # (N, 3)\n",
        "@dataclass\nclass A:\n    x: 'Tensor'  # (N, 3)\n",
        "@dataclass\nclass A:\n    x: Tensor  # what is (mostly) known\n",
        "@dataclass\nclass A:\n    x: Tensor  # x = [1, 2, 3]\n",
        "@dataclass\nclass A:\n    x: Tensor  # a b c\n",
        "@dataclass\nclass A:\n    x: Tensor  # (N, 3) or (M, N, 3)\n",
        "class A(nn.Module):\n    '''It.\n\n    Args:\n        x: of shape (N, K)\n    '''\n"
        "    x: Tensor\n    def __init__(self, x): ...\n",
        "class A:\n    x = None  # (N, 3)\n",
        '@dataclass\nclass A:\n    x: Tensor\n    """Size of the box, [x, y, z]."""\n',
        '@dataclass\nclass A:\n    """It.\n\n    Args:\n        q: Rotation (w, a).\n    """\n'
        "    q: Tensor\n",
    ],
)
def test_what_says_no_shape_of_a_tensor_is_left(text: str, tmp_path: Path) -> None:
    assert fields(tmp_path, text) == []


def test_what_has_a_shape_is_left(tmp_path: Path) -> None:
    text = (
        "from shapecheck import Float\nclass A(NamedTuple):\n"
        '    x: Float[Tensor, "n 3"]  # (N, 3)\n    y: Tensor  # (N, 4)\n'
    )
    assert fields(tmp_path, text)[-1] == 'y: Shaped[Tensor, "N 4"]  # (N, 4)'


POINTS = "@dataclass\nclass Points:\n    x: Tensor  # (N, 3)\n    w: Tensor  # (N,)\n"


def test_functions_are_annotated_by_what_the_fields_say(tmp_path: Path) -> None:
    """In one go: annotating again changes nothing."""
    use = (
        "import torch\nfrom model import Points\n"
        "def scaled(p: Points):\n    return p.x * p.w[:, None]\n"
    )
    outcome = outcome_of(tmp_path, HEAD + POINTS, use)
    texts = [one.text for one in outcome.changed]
    assert 'def scaled(p: Points) -> Shaped[torch.Tensor, "N 3"]:' in texts[1]
    assert outcome_of(tmp_path, *texts).changed == []


def test_a_field_that_another_file_contradicts_is_left_and_named(tmp_path: Path) -> None:
    use = (
        "import torch\nfrom model import Points\n"
        "def make(n: int):\n    return Points(torch.zeros(n, 4), torch.zeros(n))\n"
    )
    outcome = outcome_of(tmp_path, HEAD + POINTS, use)
    (changed,) = (one for one in outcome.changed if one.file.path.stem == "model")
    assert "    x: Tensor  # (N, 3)\n" in changed.text
    assert '    w: Shaped[Tensor, "N"]  # (N,)\n' in changed.text


def test_classes_of_one_name_are_told_apart(tmp_path: Path) -> None:
    text = (
        "if 1:\n    class A(TypedDict):\n        x: Tensor\n"
        "else:\n    class A(TypedDict):\n        x: Tensor  # (N, 3)\n"
    )
    before, after = HEAD + text, outcome_of(tmp_path, HEAD + text).changed[0].text
    assert after.count("Shaped[Tensor") == 1
    assert after.endswith('        x: Shaped[Tensor, "N 3"]  # (N, 3)\n')
    assert strip(after) == before
