"""The benchmark of the annotator takes for equal what says the same, and nothing else."""

from __future__ import annotations

import ast
import sys

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from comparing import compare, opened, untied  # type: ignore[import-not-found]

HEAD = "from torch import Tensor\nfrom shapecheck import Float, shapecheck\n"


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ('def f(x: Float[Tensor, "*batch d"]): ...', {"batch"}),
        ('def f(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]: ...', set()),
        ('def f(x: Float[Tensor, "*batch d"], y: Float[Tensor, "*rest"]): ...', {"batch", "rest"}),
        ('def f(x: Float[Tensor, "*#batch d"], y: Float[Tensor, "*batch"]): ...', set()),
        (
            'def f(x: Float[Tensor, "*batch d"]):\n    y: Float[Tensor, "*batch"] = x[..., 0]',
            set(),
        ),
        ('def f(x: Float[Tensor, "batch d"]): ...', set()),
        (
            '@shapecheck(dims="batch")\nclass A:\n'
            '    def f(self, x: Float[Tensor, "*batch d"]): ...',
            set(),
        ),
    ],
)
def test_groups_that_nothing_ties(text: str, groups: set[str]) -> None:
    tree = ast.parse(text)
    (node,) = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
    assert untied(node, tree) == groups


@pytest.mark.parametrize(
    ("text", "groups", "same"),
    [
        ("*batch d", {"batch"}, "... d"),
        ("b *batch d", {"batch"}, "b ... d"),
        ("*batch d", {"rest"}, "*batch d"),
        ("*#batch d", {"batch"}, "*#batch d"),
        ("2*batch d", {"batch"}, "2*batch d"),
        ("n*batch", {"batch"}, "n*batch"),
    ],
)
def test_groups_are_opened(text: str, groups: set[str], same: str) -> None:
    assert opened(text, groups) == same


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("b t d", "n t c", "equal"),
        ("*batch d", "... d", "equal"),
        ("b d", "b d d", "other"),
        ("b d", "b 3", "finer"),
        ("b 3", "b d", "coarser"),
    ],
)
def test_what_became_of_an_annotation(before: str, after: str, what: str) -> None:
    one, other = (f'{HEAD}def f(x: Float[Tensor, "{text}"]): ...\n' for text in (before, after))
    assert compare(one, other, show=False) == {"places": 1, "dtype": 1, what: 1}


def test_what_has_no_annotation_again_is_missing() -> None:
    text = f'{HEAD}def f(x: Float[Tensor, "b d"]): ...\n'
    assert compare(text, "def f(x): ...\n", show=False) == {"places": 1, "missing": 1}
