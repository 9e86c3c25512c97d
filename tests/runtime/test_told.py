"""What an error says: torch's own words, the values of names, where they come from, and where."""

from __future__ import annotations

import functools
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import einops
import pytest
import torch
from torch import Tensor, nn

from shapecheck import Float, ShapeError, shapecheck

LIBRARY = """
import torch

def project(x, w):
    return x @ w

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)

    def forward(self, x):
        return project(self.layer(x), self.layer.weight)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A library that is installed."""
    import importlib

    folder = tmp_path_factory.mktemp("environment") / "site-packages"
    folder.mkdir()
    (folder / "a_library_of_blocks.py").write_text(LIBRARY)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("a_library_of_blocks")
    finally:
        sys.path.remove(str(folder))


def told(call: Callable[[], Any]) -> list[str]:
    """Return the lines of an error; it says the same when it comes from another process."""
    with pytest.raises(ShapeError) as caught:
        call()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    return [line.replace(str(Path(__file__).parent), "") for line in str(caught.value).splitlines()]


@shapecheck
def product(x: Float[Tensor, "n d"], w: Float[Tensor, "k d"]) -> Float[Tensor, "n k"]:
    return x @ w


def test_torchs_own_words_are_below_ours() -> None:
    lines = told(lambda: product(torch.ones(2, 3), torch.ones(4, 3)))
    assert lines[-2] == "  here n=2, d=3, k=4"
    assert lines[-1].startswith("  torch says: ")
    assert lines[-1].endswith("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x3)")


def test_torch_says_nothing_where_it_does_not_fail() -> None:
    lines = told(lambda: product(torch.ones(2, 3), torch.ones(3, 3)))
    assert lines[-1] == "  here n=2, d=3, k=3"


def test_inside_of_a_library_the_users_line_and_the_origins_are_told(library: ModuleType) -> None:
    @shapecheck
    def run(x: Float[Tensor, "n d"], ws: list[Float[Tensor, "k d"]]) -> Float[Tensor, "n k"]:
        return library.project(x, ws[0])

    lines = told(lambda: run(torch.ones(2, 3), [torch.ones(3, 3)]))
    assert lines[1].endswith("a_library_of_blocks.py:5: return x @ w")
    assert lines[2].startswith("  called at /test_told.py:")
    assert lines[2].endswith(": return library.project(x, ws[0])")
    label = "test_inside_of_a_library_the_users_line_and_the_origins_are_told.<locals>.run"
    assert [line for line in lines if "from argument" in line] == [
        f'  note: n, d come from argument "x" of "{label.rpartition("<locals>.")[2]}"',
        f'  note: k comes from argument "ws" of "{label.rpartition("<locals>.")[2]}"',
    ]


def test_in_the_users_own_code_there_is_one_line(library: ModuleType) -> None:
    lines = told(lambda: product(torch.ones(2, 3), torch.ones(4, 3)))
    assert not any("called at" in line or "from argument" in line for line in lines)

    @shapecheck
    def block(x: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        return library.Block()(x)

    lines = told(lambda: block(torch.ones(2, 5)))
    assert lines[0].startswith('"self.layer" can\'t multiply (n d) by a weight of (4 3)')
    assert '  note: n, d come from argument "x" of "block"' in lines


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        inner = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        self.layers = nn.Sequential(nn.Linear(4, 8), inner)
        self.last = nn.Linear(5, 1)

    @shapecheck
    def forward(self, x: Float[Tensor, "b t d"], last: bool = False) -> Float[Tensor, "b t e"]:
        return self.last(x) if last else self.layers(x)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs the columns of what runs")
def test_the_layer_inside_is_told_and_its_input_is_not_taken_for_another() -> None:
    lines = told(lambda: Net()(torch.ones(1, 2, 4)))
    assert lines[0].startswith('"self.layers" can\'t multiply (b t 8) by a weight of (4 4)')
    repr_of = "Linear(in_features=4, out_features=4, bias=True)"
    assert f'  note: this is layer "1.1" of "self.layers", {repr_of}' in lines
    assert not any('"x" is' in line for line in lines)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs the columns of what runs")
def test_a_layer_that_is_called_itself_needs_no_note() -> None:
    lines = told(lambda: Net()(torch.ones(1, 2, 4), last=True))
    assert not any("this is layer" in line for line in lines)
    assert any('argument "x" is (b t d)' in line for line in lines)


def forwarding(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def test_a_wrapper_has_no_name_for_what_it_calls() -> None:
    @shapecheck
    @forwarding
    @forwarding
    def same(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return x

    lines = told(lambda: same(torch.ones(2)))
    assert lines[0].startswith('argument "x" of "same" is (2)')
    assert lines[1].endswith(": return function(*args, **kwargs)")
    assert lines[2].endswith(": lines = told(lambda: same(torch.ones(2)))")


def test_a_generator_is_called_by_its_own_name() -> None:
    @shapecheck
    def rows(x: Float[Tensor, "n d"]) -> Iterator[Float[Tensor, "d"]]:
        yield from x

    assert told(lambda: list(rows(torch.ones(2))))[0].startswith('argument "x" of "rows" is (2)')


def test_a_library_of_ops_neednt_lie_beside_torch(tmp_path: Path) -> None:
    """As where torch is the system's, and einops of a virtual environment."""
    folder = Path(einops.__file__).parent
    shutil.copytree(folder, tmp_path / "libraries" / "einops")
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\nfrom einops import pack\nfrom torch import Tensor\n"
        "from shapecheck import Float, shapecheck\n"
        "@shapecheck\n"
        'def f(x: Float[Tensor, "b n d"], y: Float[Tensor, "b m d"]) -> None:\n'
        '    pack([x, y.mT], "b * d")\n'
        "f(torch.zeros(2, 3, 4), torch.zeros(2, 5, 4))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "libraries")}
    command = [sys.executable, str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert f'  at {program}:7: pack([x, y.mT], "b * d")' in done.stderr
