"""What a run says of how much it could judge, and of what hides the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mypy_plugin.conftest import Project

from shapecheck.analysis import Cause, Coverage
from shapecheck.cli.check.known import known


@pytest.mark.parametrize(
    ("covered", "told"),
    [
        (None, []),
        (Coverage(), []),
        (Coverage(1), ["The shape of the one tensor expression is known"]),
        (Coverage(1200), ["The shapes of all 1,200 tensor expressions are known"]),
        (
            Coverage(1, 1, 1, {Cause("library", "math.dist"): 1, Cause("each", "x.buffers()"): 1}),
            ["The shapes of 1 of 3 tensor expressions are known (33 %)"],
        ),
        (
            Coverage(
                0,
                5,
                25,
                {
                    Cause("parameter", "x"): 3,
                    Cause("parameter", "mask"): 4,
                    Cause("parameter", "(x @ y)"): 3,
                    Cause("library", "nowhere.to.be"): 6,
                    Cause("library", "nowhere.found"): 5,
                    Cause("library", "torchgen.gen"): 5,
                    Cause("rule", "torch.new_op"): 4,
                },
            ),
            [
                "The shapes of 0 of 30 tensor expressions are known (0 %); "
                "what hides most of the others:",
                "  11  nowhere: of a library that isn't installed here; "
                "install it where shapecheck runs",
                "  10  parameters without an annotation (mask, x @ y and 1 more): "
                "`shapecheck annotate` writes the shapes that their uses show",
                "   5  torchgen: an untyped library; a signature file can say what it gives",
            ],
        ),
    ],
)
def test_known(covered: Coverage | None, told: list[str]) -> None:
    """Causes of one kind are told together, and none against which nothing helps."""
    assert list(known(covered, 0)) == told


def test_files_that_are_not_counted() -> None:
    """What mypy's plugin kept isn't analysed again, which would count it."""
    assert [*known(Coverage(), 2)] == []
    (line,) = known(Coverage(2), 1)
    assert line == (
        "The shapes of all 2 tensor expressions are known, "
        "without 1 file that mypy's plugin checked"
    )
    assert next(known(Coverage(1, 1), 2)) == (
        "The shapes of 1 of 2 tensor expressions are known (50 %), without 2 files that mypy's "
        "plugin checked"
    )


PROGRAM = {
    "layers.py": """\
import torch


def masked(x: torch.Tensor, mask: torch.Tensor):
    return x[mask > 0]


def scores(x: torch.Tensor, mask: torch.Tensor):
    kept = masked(x, mask)
    return kept @ kept.T
""",
    "model.py": """\
import torch
from layers import scores


def run():
    a, b = torch.zeros(3, 4), torch.zeros(3)
    return scores(a, b)
""",
}
TOLD = """\
No issues found in 2 source files
The shapes of 10 of 16 tensor expressions are known (62 %); what hides most of the others:
  6  sizes that depend on data, or on numbers that aren't known (x[...]): annotate what they are \
assigned to
0 of 3 functions say a shape, so that only what their code shows is checked; `shapecheck annotate` \
can find and write them
"""


def _said(project: Project) -> str:
    done = project.run("check", "--only-shapes", module="shapecheck")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_is_the_same_from_what_is_kept(new_project: Callable[..., Project]) -> None:
    """Of a first run, of one that knows all of it, and after an edit and back."""
    project = new_project(PROGRAM, fake=False)
    first = _said(project)
    assert first == TOLD
    assert _said(project) == first
    layers = PROGRAM["layers.py"].replace("x[mask > 0]", "x[mask.long()]")
    changed = {**PROGRAM, "layers.py": layers}
    project.write(changed)
    edited = _said(project)
    assert edited != first
    assert _said(new_project(changed, fake=False)) == edited
    project.write(PROGRAM)
    assert _said(project) == first
