"""What a user's pytest shows of our errors: the user's own lines, and none of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MODEL = """\
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from shapecheck import Float, shapecheck


@shapecheck
def scores(q: Float[Tensor, "b n d"], k: Float[Tensor, "b m d"]) -> Float[Tensor, "b n m"]:
    return q @ k.mT


@shapecheck
def turned(q: Float[Tensor, "b n d"]) -> Float[Tensor, "b d n"]:
    return q


@shapecheck
def mixed(x: Float[Tensor, "a a2"]) -> Float[Tensor, "a a2"]:
    return x @ x.T + x


@shapecheck
def inverse(x: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    return torch.linalg.inv(x)


@shapecheck
def rows(x: Float[Tensor, "n d"]) -> Iterator[Float[Tensor, "d"]]:
    yield x[:, 0]


@shapecheck
@dataclass
class Batch:
    x: Float[Tensor, "b d"]


class Model(nn.Module):
    def forward(self, x: Float[Tensor, "b d"]) -> Float[Tensor, "b 1"]:
        return x
"""

TESTS = """\
import torch
from model import Batch, Model, inverse, mixed, rows, scores, turned

from shapecheck import assert_shape, watch


def test_an_argument():
    scores(torch.ones(1, 2, 3), torch.ones(1, 2, 4))


def test_a_result():
    turned(torch.ones(1, 2, 3))


def test_an_op():
    mixed(torch.ones(2, 2))


def test_what_torch_refuses():
    mixed(torch.ones(2, 3))


def test_another_error():
    inverse(torch.zeros(1, 1))


def test_an_item():
    next(rows(torch.ones(2, 3)))


def test_a_field():
    batch = Batch(torch.ones(2, 3))
    batch.x = torch.ones(2)


def test_a_watched_model():
    model = Model()
    watch(model)
    model.forward(torch.ones(2, 3))


def test_an_assertion():
    assert_shape(torch.ones(2, 3), "n n")
"""

REPORT = """\
_______________________________ test_an_argument _______________________________

    def test_an_argument():
>       scores(torch.ones(1, 2, 3), torch.ones(1, 2, 4))
E       shapecheck.ShapeError: argument "k" of "scores" is (1 2 4), declared "b m d": axis 2 is 4, declared d (here 3)  [shape]
E         at test_model.py:8: scores(torch.ones(1, 2, 3), torch.ones(1, 2, 4))
E         note: d is 3 from argument "q"
E         here b=1, n=2, d=3, m=2

test_model.py:8: ShapeError
________________________________ test_a_result _________________________________

    def test_a_result():
>       turned(torch.ones(1, 2, 3))
E       shapecheck.ShapeError: returned value "q" is (b n d), declared "b d n": axis 1 is n, declared d  [shape]
E         at model.py:17: return q
E         note: "q.transpose(1, 2)" would fit
E         here b=1, n=2, d=3

test_model.py:12: ShapeError
__________________________________ test_an_op __________________________________

    def test_an_op():
>       mixed(torch.ones(2, 2))

test_model.py:16:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

x = tensor([[1., 1.],
        [1., 1.]])

    @shapecheck
    def mixed(x: Float[Tensor, "a a2"]) -> Float[Tensor, "a a2"]:
>       return x @ x.T + x
E       shapecheck.ShapeError: "+" can't broadcast (a a) with (a a2): axis -1 is a on the left and a2 on the right  [shape]
E         at model.py:22: return x @ x.T + x
E         note: right operand "x" is (a a2) since line 21
E         here a=2, a2=2

model.py:22: ShapeError
___________________________ test_what_torch_refuses ____________________________
RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1

The above exception was the direct cause of the following exception:

    def test_what_torch_refuses():
>       mixed(torch.ones(2, 3))

test_model.py:20:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

x = tensor([[1., 1., 1.],
        [1., 1., 1.]])

    @shapecheck
    def mixed(x: Float[Tensor, "a a2"]) -> Float[Tensor, "a a2"]:
>       return x @ x.T + x
E       shapecheck.ShapeError: "+" can't broadcast (a a) with (a a2): axis -1 is a on the left and a2 on the right  [shape]
E         at model.py:22: return x @ x.T + x
E         note: right operand "x" is (a a2) since line 21
E         here a=2, a2=3
E         torch says: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1

model.py:22: ShapeError
______________________________ test_another_error ______________________________

    def test_another_error():
>       inverse(torch.zeros(1, 1))

test_model.py:24:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

x = tensor([[0.]])

    @shapecheck
    def inverse(x: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
>       return torch.linalg.inv(x)
E       torch._C._LinAlgError: linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input matrix is singular.

model.py:27: _LinAlgError
_________________________________ test_an_item _________________________________

    def test_an_item():
>       next(rows(torch.ones(2, 3)))
E       shapecheck.ShapeError: yielded value "x[:, 0]" is (2), declared "d": axis 0 is 2, declared d (here 3)  [shape]
E         at model.py:32: yield x[:, 0]
E         here n=2, d=3

test_model.py:28: ShapeError
_________________________________ test_a_field _________________________________

    def test_a_field():
        batch = Batch(torch.ones(2, 3))
>       batch.x = torch.ones(2)
E       shapecheck.ShapeError: attribute "x" of "Batch" is (2), declared "b d": it has 1 axis, declared 2  [shape]
E         at test_model.py:33: batch.x = torch.ones(2)

test_model.py:33: ShapeError
_____________________________ test_a_watched_model _____________________________

    def test_a_watched_model():
        model = Model()
        watch(model)
>       model.forward(torch.ones(2, 3))
E       shapecheck.ShapeError: returned value "x" is (b d), declared "b 1": axis 1 is d, declared 1  [shape]
E         at model.py:43: return x
E         here b=2, d=3

test_model.py:39: ShapeError
______________________________ test_an_assertion _______________________________

    def test_an_assertion():
>       assert_shape(torch.ones(2, 3), "n n")
E       shapecheck.ShapeError: "torch.ones(2, 3)" is (2 3), declared "n n": axis 1 is 3, declared n (here 2)  [shape]
E         at test_model.py:43: assert_shape(torch.ones(2, 3), "n n")

test_model.py:43: ShapeError
"""  # noqa: E501 - as pytest shows it


def test_the_whole_report(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL, "utf-8")
    (tmp_path / "test_model.py").write_text(TESTS, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_model.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    report = done.stdout.partition("= FAILURES =")[2].partition("= short test summary info =")[0]
    lines = [line.rstrip() for line in report.replace(f"{tmp_path}/", "").splitlines()]
    marks = [line for line in lines if line.strip(" ^") or not line]  # not in Python 3.10
    assert "\n".join(marks[1:-1]) + "\n" == REPORT
