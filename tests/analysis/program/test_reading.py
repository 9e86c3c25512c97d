"""An edit is the business of those who have read what it changes, and of nobody else."""

from __future__ import annotations

import pytest

from shapecheck import analysis
from shapecheck.analysis import TENSORS, TEXT, Options, Source, analyze_module
from shapecheck.analysis.program.syntax import syntax

LIBRARY = '''\
import torch
from torch import Tensor, nn
from shapecheck import Float
from pack.sizes import WIDTH

SCALE = 2


def widen(x: Float[Tensor, "b d"]) -> Float[Tensor, "b 2*d"]:
    """Repeat."""
    return torch.cat([x, x], 1)


def halved(x):
    y = x[:, ::2]
    return y


def numbers():
    yield torch.zeros(2)


class Net(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.up = nn.Linear(8, width)
        self.calls = 0

    def forward(self, x):
        self.count()
        return self.up(x)

    def count(self):
        self.calls += 1

    def unused(self):
        return self.down(torch.zeros(3))
'''
SIZES = "WIDTH = 16\n"
USERS = {
    "declared": "from pack.library import widen\nreveal_shape(widen(torch.zeros(3, 4)))\n",
    "inside": "from pack.library import halved\nreveal_shape(halved(torch.zeros(3, 4)))\n",
    "net": "from pack.library import Net\nreveal_shape(Net()(torch.zeros(3, 8)))\n",
    "scale": "from pack.library import SCALE\nreveal_shape(torch.zeros(SCALE))\n",
    "generator": "from pack.library import numbers\nfor n in numbers():\n    reveal_shape(n)\n",
    "star": "from pack.library import *\nreveal_shape(torch.zeros(SCALE))\n",
    "nothing": "import pack.library\nreveal_shape(torch.zeros(1))\n",
    "failing": "from pack.library import Net\nNet()(torch.zeros(3, 9))\n",
}


class World:
    """A host with modules in memory."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def source(self, module: str) -> Source | None:
        """Return a module of the package."""
        name = module.removeprefix("pack.")
        if name == module or name not in self.texts:
            return None
        return Source(module, f"{name}.py", self.texts[name])

    def of(self, user: str) -> Source:
        """Return a user of the library."""
        text = f"import torch\nfrom shapecheck import reveal_shape\n{USERS[user]}"
        return Source(f"pack.{user}", f"{user}.py", text)

    def says(self, user: str) -> list[str]:
        """Return what the analysis says of a user."""
        found = analyze_module(self.of(user), self, Options())
        return [f"{one.span.line}: {one.message}" for one in found]

    def read_by(self, user: str) -> dict[str, str]:
        """Return what is read of the library for a user, by key, and what stands there."""
        checking = analysis.begin(self.of(user), self, Options())
        found: dict[tuple[str, str], str] = {}
        for part in checking.parts:
            rests_on = checking.check(part).rests_on
            found |= {key: rests_on.digests[key] for key in rests_on.read()}
        return {key: what for (module, key), what in found.items() if module == "pack.library"}


@pytest.mark.parametrize(
    ("old", "new", "concerned"),
    [
        ("import torch\n", "# a comment\n\nimport torch\n", set()),
        ("def halved", "# a comment\ndef halved", set()),
        ("    return y", "    # a comment\n\n    return y", set()),
        ("torch.cat([x, x], 1)", "x.repeat(1, 2)", {"declared"}),
        ('-> Float[Tensor, "b 2*d"]', '-> Float[Tensor, "b 3*d"]', {"declared"}),
        ("y = x[:, ::2]", "y = x[:, ::4]", {"inside"}),
        ("def halved(x):", "def halved(x, by=2):", {"inside"}),
        ("def halved(x):", "def halved_by(x):", {"inside"}),
        ("yield torch.zeros(2)", "return torch.zeros(2, 2)", {"generator"}),
        ("SCALE = 2", "SCALE = 3", {"scale", "star"}),
        ("SCALE = 2", "if WIDTH:\n    SCALE = 2", {"scale", "star"}),
        ("SCALE = 2", "SCALE = 2\nUNITS = 3", set()),
        ("self.calls += 1", "self.calls += 2", {"net"}),
        ("self.down(torch.zeros(3))", "self.up.weight", set()),
        ("return self.up(x)", "return self.up(x)[None]", {"net"}),
        ("nn.Linear(8, width)", "nn.Linear(9, width)", {"net"}),
        ("import WIDTH", "import DEPTH as WIDTH", {"net"}),
    ],
)
def test_an_edit_concerns_those_who_read_it(old: str, new: str, concerned: set[str]) -> None:
    before = World(library=LIBRARY, sizes=SIZES)
    assert old in LIBRARY
    after = World(library=LIBRARY.replace(old, new), sizes=SIZES)
    source = after.source("pack.library")
    assert source is not None
    found = set()
    for user in USERS:
        said, read = before.says(user), before.read_by(user)
        if any(analysis.digest_of(source, key) != what for key, what in read.items()):
            found.add(user)
        else:
            assert after.says(user) == said
    assert found == concerned | {"failing"}  # whose message speaks of a line of the library


def test_what_stands_in_a_text_that_cant_be_parsed() -> None:
    """Nothing that anybody has read of one that can."""
    source, broken = Source("m", "m.py", "def f(): ...\n"), Source("m", "m.py", "def f(:\n")
    for key in ("name f", "head f", "body f", TEXT):
        assert analysis.digest_of(source, key) != analysis.digest_of(broken, key)
        assert analysis.digest_of(source, key) != analysis.digest_of(None, key)


@pytest.mark.parametrize("key", [TEXT, TENSORS])
def test_what_is_told_without_parsing(key: str) -> None:
    """It is what the tree of the module would tell."""
    source = World(library=LIBRARY).source("pack.library")
    assert source is not None
    assert analysis.digest_of(source, key) == syntax(source).reading(key).digest
