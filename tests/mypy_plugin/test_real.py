# ruff: noqa: E501 - expectations stand on the line
"""The plugin with the analysis proper: a few programs, as a user meets them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.mypy_plugin.conftest import TYPED_CALLS

if TYPE_CHECKING:
    from tests.mypy_plugin.conftest import Project

FILES = {
    "one.py": """\
import torch
from torch import Tensor
from jaxtyping import Float

def attend(q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"]) -> Float[Tensor, "b h n m"]:
    reveal_type(k)  # N: Revealed type is "torch._tensor.Tensor" # N: Revealed shape is "b h m d"
    return q @ k  # E: "@" can't multiply (b h n d) by (b h m d): the inner dimensions are d (axis -1) and m (axis -2)  [shape] # N: *

def quiet(q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"]) -> Float[Tensor, "b h n m"]:
    return q @ k  # type: ignore[shape]

def right(q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"]) -> Float[Tensor, "b h n m"]:
    return q @ k.mT
""",
    "lib/__init__.py": "from lib.inner import Net as Net, Rows as Rows, widen as widen\n",
    "lib/inner.py": """\
from torch import Tensor, nn
from jaxtyping import Float

Rows = Float[Tensor, "rows 3"]

def widen(x: Float[Tensor, "b c"]) -> Float[Tensor, "b 2*c"]:
    return x.repeat(1, 2)

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 7)

    def forward(self, x: Float[Tensor, "b 3"]) -> Tensor:
        y: Tensor = self.inner(x)
        return y
""",
    "use.py": """\
from lib import Net, Rows, widen

def use(x: Rows) -> None:
    reveal_type(widen(x))  # N: Revealed type is "torch._tensor.Tensor" # N: Revealed shape is "rows 6"
    reveal_type(Net()(x))  # N: Revealed type is "torch._tensor.Tensor" # N: Revealed shape is "rows 7"
""",
}
EDITS = {
    "annotation": ("2*c", "4*c", "rows 6", "rows 12"),
    "body": ("(3, 7)", "(3, 77)", "rows 7", "rows 77"),
    "alias": ("rows 3", "lines 3", "rows ", "lines "),
}


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Project]) -> Project:
    """The programs, in the user's own hands: nothing stands in for anything."""
    return new_project(
        {**FILES, "pyproject.toml": TYPED_CALLS},
        fake=False,
        settings="[mypy-one]\nwarn_unused_ignores = True\n",
    )


@pytest.mark.parametrize("how", [("use.py", "one.py"), ("-n", "2", ".")], ids=["all", "parallel"])
def test_messages(project: Project, how: tuple[str, ...]) -> None:
    """Each line draws what it says, in a first run and from the cache."""
    project.write(FILES)
    for _ in range(2):
        printed = project.check(*how)
        assert printed == {
            name: expected(FILES[name], printed[name]) for name in ("one.py", "use.py")
        }


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_elsewhere(project: Project, edit: str) -> None:
    """What mypy's types don't show, seen through a package that hands it out."""
    old, new, was, now = EDITS[edit]
    project.write(FILES)
    project.check()
    project.write({"lib/inner.py": FILES["lib/inner.py"].replace(old, new)})
    printed = project.check()["use.py"]
    assert printed == expected(FILES["use.py"].replace(was, now), printed)


@pytest.mark.parametrize(
    "edit",
    [
        ("return n + 1", "return n + 2"),
        ("class Net(nn.Module):", "class Net(nn.Module):  # a net"),
        ("\n\n", "\n\n\n"),
    ],
)
def test_an_edit_that_is_nobody_elses_business(project: Project, edit: tuple[str, str]) -> None:
    """A module is taken from the cache where what it has read of another is as it was."""
    unused = "\n\ndef unused(n: int) -> int:\n    return n + 1\n"
    project.write({**FILES, "lib/inner.py": FILES["lib/inner.py"] + unused})
    before = project.check()
    old, new = edit
    text = (FILES["lib/inner.py"] + unused).replace(old, new)
    project.write({"lib/inner.py": text})
    log = project.run("-v", ".").stderr
    assert "Scheduling SCC singleton (lib.inner)" in log
    assert "Scheduling SCC singleton (use)" not in log
    assert project.check() == before


def expected(text: str, printed: list[str]) -> list[str]:
    """Return what mypy should print about a program; `# N: *` stands for any notes on the line."""
    kinds = {"E": "error", "N": "note"}
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        for kind, message in re.findall(r" # ([EN]): (.*?)(?= # |$)", line):
            if message == "*":
                lines += [note for note in printed if note.startswith(f"{number}: note: ")]
            else:
                lines.append(f"{number}: {kinds[kind]}: {message}")
    return lines
