"""What is checked again after a change is what the change matters to; the answer is the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from shapecheck.analysis import Host, Options, Source
from shapecheck.analysis.check.module import Said, check_parts
from shapecheck.codemod.project.files import read
from shapecheck.codemod.verify import complaints as verify
from shapecheck.codemod.verify.complaints import Complaint, Draft, Verifier
from shapecheck.codemod.write.annotation_types import TensorType, Type
from shapecheck.codemod.write.edit import FIELD, Slot, annotate

MODEL = """\
import torch
from torch import Tensor


def pooled(x):
    return x.mean(1)


class Net(torch.nn.Module):
    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(8, 4)

    def forward(self, x):
        def inner(y):
            return self.fc(y)

        return inner(pooled(x)) * self.scale


def apart(x):
    return x.relu()
"""
RUN = """\
import torch
from model import Net, apart, pooled


def main():
    bad = torch.zeros(3) + torch.zeros(4)
    return pooled(torch.zeros(2, 3)), bad


def other():
    return apart(torch.zeros(5)), Net()(torch.zeros(2, 3, 8))


pooled(torch.zeros(2, 3, 8))
"""

Kinds = Mapping[Slot, Type]


def shape(text: str) -> TensorType:
    return TensorType("Float", text)


STEPS: list[Kinds] = [
    {Slot("pooled", 0, "x"): shape("b n d"), Slot("apart", 0, "x"): shape("n")},
    {Slot("pooled", 0, "x"): shape("b n d"), Slot("apart", 0, "x"): shape("1 n")},
    {Slot("pooled", 0, "x"): shape("b n d"), Slot("apart", 0, "x"): shape("n")},
    {Slot("pooled", 0, "x"): shape("b n"), Slot("Net.forward", 0, "x"): shape("b n 7")},
    {Slot("pooled", 0, "return"): shape("b 7"), Slot("Net.forward", 0, "x"): shape("b n 8")},
    {Slot("Net.forward.<locals>.inner", 0, "y"): shape("b 5")},
    {Slot("Net", 0, "scale", FIELD): shape("4"), Slot("Net.forward", 0, "x"): shape("b n 8")},
    {Slot("Net", 0, "scale", FIELD): shape("3"), Slot("Net.forward", 0, "x"): shape("b n 8")},
    {},
]


class Tree:
    """A model and what calls it, in two files."""

    def __init__(self, folder: Path) -> None:
        (folder / "model.py").write_text(MODEL)
        (folder / "run.py").write_text(RUN)
        self.model, self.run = folder / "model.py", folder / "run.py"

    def verifier(self) -> Verifier:
        files = {path: read(path) for path in (self.model, self.run)}
        return Verifier(files, Options(), lambda text, lines: None)

    def drafts(self, kinds: Kinds) -> dict[Path, Draft]:
        return {self.model: Draft(annotate(MODEL, kinds).text, kinds)}


def told(complaints: list[Complaint]) -> list[tuple[str, int, str]]:
    return sorted((one.path.stem, one.line, one.message) for one in complaints)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_each_step_says_what_looking_at_all_says(tree: Tree) -> None:
    verifier = tree.verifier()
    every = []
    for kinds in STEPS:
        found = verifier.complaints(tree.drafts(kinds))
        assert told(found) == told(tree.verifier().complaints(tree.drafts(kinds)))
        every.append(len(found))
    assert every[-1] == 1  # what the tree says of itself
    assert len({*every}) > 2


def test_only_what_a_change_matters_to_is_looked_at(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[str] = []

    def noted(
        source: Source, host: Host, options: Options, only: Collection[int], *more: Any
    ) -> list[Said]:
        texts = source.text.splitlines()
        looked_at.extend(texts[line - 1].strip() if line else source.name for line in only)
        return check_parts(source, host, options, only, *more)

    monkeypatch.setattr(verify, "check_parts", noted)
    verifier = tree.verifier()
    verifier.complaints(tree.drafts(STEPS[0]))
    looked_at.clear()
    verifier.complaints(tree.drafts(STEPS[1]))
    # the module's annotations are one part: what one of them says may look like a slip in another
    assert looked_at == ['def apart(x: Float[torch.Tensor, "1 n"]):', "model", "def other():"]
    looked_at.clear()
    verifier.complaints(tree.drafts(STEPS[2]))  # as it was before
    assert not looked_at


def test_what_is_kept_is_told_at_the_line_where_it_is_now(tree: Tree) -> None:
    verifier = tree.verifier()
    broken = MODEL + "\n\ndef broken():\n    return torch.zeros(3) + torch.zeros(4)\n"
    kinds = STEPS[0]
    for now in ({}, kinds):
        text = annotate(broken, now).text
        (one,) = verifier.complaints({tree.model: Draft(text, now)}, [tree.model])
        assert text.splitlines()[one.line - 1].strip().startswith("return torch.zeros(3)")
        assert (one.function, one.offset) == ("broken", 1)
