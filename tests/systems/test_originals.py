"""The runs of the systems' own tests, on checkouts made of a few tests written here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from systems.originals import returnn
from systems.originals.__main__ import main, told_of
from systems.originals.plugin import suite_of

pytestmark = pytest.mark.skipif(
    not torch.__version__.startswith("2.13"), reason="functorch.dim is written in Python there"
)

TORCHDIM = """
from unittest import TestCase, skip
import torch
from torchdim import dims
from torchdim._C import _test_c
from torchvision.models import resnet18

class TestMin(TestCase):
    def test_product(self):
        i, j, k = dims(3)
        x, y = torch.rand(3, 4), torch.rand(4, 5)
        assert torch.allclose((x[i, k] * y[k, j]).sum(k).order(i, j), x @ y)
    def test_of_another_size(self):
        i = dims(1)
        torch.rand(3)[i], torch.rand(4)[i]
    def test_network(self):
        assert resnet18(torch.nn.BatchNorm2d)(torch.rand(2, 3, 8, 8)).shape == (2, 1000)
    def test_hello(self):
        A = torch.rand(3, 4)
        A[..., 3, ...].there_is_no_such_method()
    def test_c(self):
        _test_c()
    @skip("here")
    def test_skipped(self):
        raise ValueError
"""

CORE = """
import pytest
from . import assert_match, ntorch

def test_operators():
    x = ntorch.ones(2, 3, names=("a", "b"))
    y = ntorch.ones(3, 4, names=("b", "c"))
    assert (1 - x * y).sum("b").shape == {"a": 2, "c": 4}
    assert x.dot("b", y).values[0, 0] == 3
    assert_match(x, y)
def test_writing():
    x = ntorch.zeros(2, 3, names=("a", "b"))
    x[{"a": 0}] = ntorch.ones(3, names="b")
    x[{"b": ntorch.tensor([1], names="i")}] = 5
    assert x.values.tolist() == [[1, 5, 1], [0, 5, 0]]
def test_wrong():
    ntorch.ones(2, 3, names=("a", "b")).sum("c")
@pytest.mark.xfail
def test_expected():
    ntorch.ones(2, 3, names=("a", "b")).sum("c")
"""

NN = """
from .. import ntorch

def test_conv():
    x = ntorch.ones(2, 3, 8, 4, names=("a", "b", "time", "c"))
    found = ntorch.nn.Conv1d(4, 5, 3).spec("c", "time", "d")(x)
    assert found.shape == {"a": 2, "b": 3, "d": 5, "time": 6}
"""

DISTRIBUTIONS = """
from .. import ntorch
from . import ndistributions

def test_normal():
    x = ntorch.ones(2, names=("a",))
    found = ndistributions.Normal(x, x).sample((3,), names=("n",))
    assert found.shape == {"n": 3, "a": 2}
"""

FUNCTORCH = """
from unittest import TestCase
import torch
from functorch._C import dim
from functorch.dim import DimList, dims
from shapecheck import dims_of

class TestSplit(TestCase):
    def test_split(self):
        i, a, b = dims(sizes=[None, 2, None])
        first, second = torch.rand(3, 6)[i].split([a, b], dim=0)
        assert first.order(i, a).shape == (3, 2) and second.order(b, i).shape == (4, 3)
        assert dims_of(torch.rand(3, 6)[i].order(i)) == ("s3", "s6")
    def test_extension(self):
        dim._test_c()
"""

TENSORLY = """
import torch

class _Backend:
    ones = staticmethod(torch.ones)
    zeros = staticmethod(torch.zeros)
    eye = staticmethod(torch.eye)

class BackendManager:
    backend = _Backend()

    @classmethod
    def current_backend(cls):
        return cls.backend
"""

UNFOLDING = """
import torch
from shapecheck import dims_of
from tensorly.backend import BackendManager

def test_unfolding():
    x = torch.tensor([[[1.0, 2.0]] * 4] * 3)
    unfolded = x.moveaxis(1, 0).reshape(x.shape[1], -1)
    assert dims_of(unfolded) == ("s4", "(s3 s2)")
    assert dims_of(BackendManager.current_backend().ones(2, 3)) == ("s2", "s3")
def test_wrong():
    torch.tensor([1.0, 2.0]) + torch.tensor([1.0, 2.0, 3.0])
"""


TENSOR = """
import returnn.frontend as rf
from returnn.tensor import Dim, Tensor

def test_sums():
    a, b = Dim(None, name="a"), Dim(None, name="b")
    assert a + b != b + a and 2 * a == a + a
def test_the_same_name():
    assert Dim(2, name="a") == Dim(2, name="a")
"""

ARRAY = """
import returnn.frontend as rf
from returnn.tensor import Dim, Tensor, TensorDict, batch_dim
from rf_utils import run_model

time_dim = Dim(Tensor("time", [batch_dim], dtype="int32"))
data = TensorDict({"data": Tensor("data", [batch_dim, time_dim], dtype="float32")})

def of(step):
    return run_model(data, lambda **_: rf.Module(), step)
def test_mean():
    def step(*, extern_data, **_):
        rf.reduce_mean(extern_data["data"], axis=time_dim).mark_as_default_output(shape=[batch_dim])
    assert of(step)["output"].dims == (batch_dim,)
def test_padding_is_counted():
    def step(*, extern_data, **_):
        x = extern_data["data"]
        x = Tensor("sum", [batch_dim], "float32", x.raw_tensor.sum(1))
        x.mark_as_default_output(shape=[batch_dim])
    of(step)
def test_another_order():
    def step(*, extern_data, **_):
        extern_data["data"].mark_as_default_output(shape=[time_dim])
    of(step)
"""


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def test_torchdim(tmp_path: Path) -> None:
    lines, fine = told_of(
        "torchdim", written(tmp_path, {"torchdim/test/test_dims.py": TORCHDIM}), []
    )
    assert lines[:3] == [
        "torchdim: 2 of 5 tests pass",
        "    the suite itself skips 1 more",
        "    test_dims.TestMin.test_of_another_size fails",
    ]
    assert [line.partition(":")[0].strip() for line in lines[3:]] == [
        "test_dims.TestMin.test_c",
        "test_dims.TestMin.test_hello",
        "without `A[..., 3, ...]` it has passed",
    ]
    assert not fine


def test_namedtensor(tmp_path: Path) -> None:
    files = {
        "namedtensor/test_core.py": CORE,
        "namedtensor/nn/test_nn.py": NN,
        "namedtensor/distributions/test_distributions.py": DISTRIBUTIONS,
    }
    packages = dict.fromkeys(
        (
            "namedtensor/__init__.py",
            "namedtensor/nn/__init__.py",
            "namedtensor/distributions/__init__.py",
        ),
        "raise ImportError",
    )
    home = {f"namedtensor/{name}": text for name, text in {**files, **packages}.items()}
    lines, fine = told_of("namedtensor", written(tmp_path, home), [])
    assert lines == [
        "namedtensor: 5 of 6 tests pass",
        "    1 of these fail as expected",
        "    test_core.test_wrong fails",
    ]
    assert not fine


def test_functorch(tmp_path: Path) -> None:
    files = dict.fromkeys((f"functorch/{test}" for test in suite_of("functorch").tests), "")
    files["functorch/test/functorch/dim/test_split.py"] = FUNCTORCH
    lines, fine = told_of("functorch", written(tmp_path, files), [])
    assert lines == [
        "functorch: 1 of 2 tests pass",
        "    test_split.TestSplit.test_extension fails",
    ]
    assert not fine


def test_returnn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ("tests/test_tensor.py", "tests/test_rf_array.py")
    monkeypatch.setattr(returnn, "SUITE", replace(returnn.SUITE, tests=files))
    home = dict(zip((f"returnn/{file}" for file in files), (TENSOR, ARRAY), strict=True))
    lines, fine = told_of("returnn", written(tmp_path, home), [])
    assert lines == [
        "returnn: 2 of 5 tests pass",
        "    test_tensor.test_the_same_name fails",
        "    test_rf_array.test_padding_is_counted fails",
        "    test_rf_array.test_another_order fails",
    ]
    assert not fine


def test_tensorly(tmp_path: Path) -> None:
    files = {
        "tensorly/tensorly/__init__.py": "",
        "tensorly/tensorly/backend/__init__.py": TENSORLY,
        "tensorly/tensorly/tests/__init__.py": "",
        "tensorly/tensorly/tests/test_core.py": UNFOLDING,
    }
    checkout = written(tmp_path, files)
    for test in suite_of("tensorly").tests:
        name = test if Path(test).suffix else f"{test}/__init__.py"
        written(checkout / "tensorly", {name: ""})
    lines, fine = told_of("tensorly", checkout, ["-k", "unfolding or wrong"])
    assert lines == ["tensorly: 1 of 2 tests pass", "    test_core.test_wrong fails"]
    assert not fine


def test_what_isnt_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "torchdim"]) == 1
    assert capsys.readouterr().out == f"torchdim: there is no {tmp_path.resolve() / 'torchdim'}\n"
