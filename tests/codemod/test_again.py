"""Annotating finds all that it can find the first time: a second time adds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.codemod.annotate import Settings, annotate_files

HEAD = "import torch\nfrom torch import Tensor\n"

DECORATED = """\
from elsewhere import logged

@logged("rows")
def rows(
    x: Tensor,  # [N, 3]
    ids: Tensor,
    weights: Tensor | None = None,
) -> Tensor:
    return LOG.rows(x, ids, weights)

def use():
    return rows(torch.zeros(2, 3), torch.zeros(4, 5), weights=torch.zeros(6))
"""

AWAITED = """\
from other import rows

def use(x: Tensor):
    first = rows(x, x)  # [N, K]
    # [N, K]
    second = rows(x, first)
    return second.tolist()
"""

SCORED = """\
def turned(
    x: Tensor,  # (b, t, d)
    cos: Tensor,  # (t, d)
):
    return x * cos[:, :].unsqueeze(0)

def scores(
    x: Tensor,  # (b, t, d)
):
    keys = turned(x, LOG.run())
    # (b, t, t)
    found = x @ keys.transpose(1, 2)
    return x
"""

OTHER = """\
def rows(x, y):
    n, k = x.shape
    n, k = y.shape
    return x + y
"""

PAIR = '''\
def pair(x: Tensor) -> tuple[Tensor, Tensor]:
    """Split.

    Args:
        x: (N, 3)

    Returns:
        Two tensors of shape (N, 3)
    """
    return LOG.run(x)
'''


PIXELS = '''\
def average(error: Tensor, mask: Tensor | None) -> Tensor:
    if mask is not None:
        error = torch.where(mask, error, torch.zeros_like(error))
    return error.mean()

def bad(input: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """Count.

    Args:
        input: the predicted map with arbitrary shape :math:`(*)`.
    """
    return average(((input - target).abs() > 3).to(input.dtype), mask)
'''


BOTH = """\
import numpy as np

def lengths(x, m: Shaped[Tensor, "w t"]):
    n, = x.shape
    return m
"""


def annotate(path: Path) -> tuple[str, list[str]]:
    """Write annotations into the modules of a folder; return one of them, and what is new."""
    outcome = annotate_files(sorted(path.parent.glob("*.py")), Settings())
    assert not outcome.problems
    for one in outcome.changed:
        one.file.path.write_text(one.text)
    slots = [one.slot for changed in outcome.changed for one in changed.proposals]
    return path.read_text(), [f"{one.function}.{one.name}" for one in slots]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(
            DECORATED,
            [
                '    x: Shaped[Tensor, "N 3"],  # [N, 3]',
                '    ids: Float[Tensor, "b d"],',
                '    weights: Float[Tensor, "n"] | None = None,',
            ],
            id="a caller of what has an unknown decorator until it is annotated",
        ),
        pytest.param(
            AWAITED,
            [
                'def use(x: Shaped[Tensor, "N K"]):',
                '    first: Shaped[torch.Tensor, "N K"] = rows(x, x)  # [N, K]',
                '    second: Shaped[torch.Tensor, "N K"] = rows(x, first)',
            ],
            id="comments on what another function returns",
        ),
        pytest.param(
            SCORED,
            [
                '    found: Shaped[torch.Tensor, "b t t"] = x @ keys.transpose(1, 2)',
            ],
            id="comments on tensors of which it is not known yet how many axes they have",
        ),
        pytest.param(
            "from shapecheck import Shaped\n" + BOTH,
            [
                'def lengths(x: Shaped[torch.Tensor, "n"], m: Shaped[Tensor, "w t"]) '
                '-> Shaped[torch.Tensor, "w t"]:',
            ],
            id="a tensor beside another, in a module that has numpy's arrays, too",
        ),
    ],
)
def test_what_others_say_is_found_at_once(text: str, lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(HEAD + text)
    (tmp_path / "other.py").write_text(HEAD + OTHER)
    once, _ = annotate(path)
    assert [line for line in lines if line not in once.splitlines()] == [], once
    assert annotate(path) == (once, [])


def test_what_does_not_fit_a_type_is_not_said_to_be_annotated(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(HEAD + PAIR)
    once, slots = annotate(path)
    assert 'def pair(x: Shaped[Tensor, "N 3"]) -> tuple[Tensor, Tensor]:' in once
    assert slots == ["pair.x"]
    assert annotate(path) == (once, [])


def test_any_shape_leaves_room_for_what_its_elements_turn_out_to_be(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(HEAD + PIXELS)
    once, _ = annotate(path)
    assert 'def bad(input: Float[Tensor, "..."], target: Tensor, mask' in once
    assert annotate(path) == (once, [])


def test_what_takes_any_number_of_axes_returns_as_many(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        HEAD
        + "def scaled(\n    x: Tensor,  # [..., N, 3]\n    w: Tensor,  # [..., N]\n    y: Tensor,\n"
        ") -> Tensor:\n    y.softmax(-1)\n    return x * 2\n\n"
        "def use():\n    return scaled(torch.zeros(5, 3), torch.zeros(5), torch.zeros(5, 4))\n"
    )
    once, _ = annotate(path)
    assert (
        '    x: Shaped[Tensor, "*batch N 3"],  # [..., N, 3]\n'
        '    w: Shaped[Tensor, "... N"],  # [..., N]\n'
        "    y: Tensor,\n"
        ') -> Shaped[Tensor, "*batch N 3"]:\n'
    ) in once
    assert annotate(path) == (once, [])


def test_what_is_annotated_in_part_is_not_refused_the_second_time(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        HEAD
        + "def scores(\n    x: Tensor,  # [N, 3]\n    q: Tensor,  # (B, T, D)\n"
        + "    k: Tensor,  # (B, S, D)\n):\n    return x * 2, q @ k\n"
    )
    assert annotate_files([path], Settings()).refused == []
    once_text, _ = annotate(path)
    assert 'x: Shaped[Tensor, "N 3"],  # [N, 3]\n' in once_text
    again = annotate_files([path], Settings())
    assert (again.changed, again.refused) == ([], [])


def test_what_a_person_has_changed_stays_and_the_rest_is_called_after_it(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        HEAD
        + "def scaled(x: Tensor, w: Tensor):\n    n, c = x.shape\n"
        + "    return (x * w.view(n, 1)).relu()\n"
    )
    once, _ = annotate(path)
    written = 'def scaled(x: Shaped[Tensor, "n c"], w: Tensor) -> Shaped[torch.Tensor, "n c"]:'
    assert written in once
    edited = 'def scaled(x: Shaped[Tensor, "points c"], w: Tensor):'
    path.write_text(once.replace(written, edited))
    assert written.replace("n c", "points c") in annotate(path)[0]
