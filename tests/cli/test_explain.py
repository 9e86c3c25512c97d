"""`shapecheck explain`: what it prints, and that examples are what torch does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from torch import Tensor

from shapecheck.cli import main
from shapecheck.cli.explain import examples, lookup
from shapecheck.signatures import table

SOFTMAX: Final = """\
torch.nn.functional.softmax

  def softmax(
      input: T[Tensor, "*s"],
      dim: Axis["*s"] = None,
      _stacklevel: int = 3,
      *,
      dtype: DType,
  ) -> T[Tensor, "*s"]
  def softmax(
      input: Inexact[Tensor, "*s"],
      dim: Axis["*s"] = None,
      _stacklevel: int = 3,
      dtype: DType = None,
  ) -> T[Tensor, "*s"]

  T[Tensor, ...]  any dtype, which the result has too; of several: promoted
  "*s"            any number of dimensions, the same wherever it stands
  Axis["*s"]      the index of one of these dimensions
  DType           sets the dtype of the result
  stated in stubs/torch/nn/functional.pyi:LINE

example
  x: (b t)
  F.softmax(x, dim=1)  ->  (b t)
  x: (t)
  F.softmax(x, dim=1)
    error: "F.softmax" has no axis 1 in (t): a tensor with 1 axis allows -1 to 0  [shape]

the same signature: torch.nn.functional.log_softmax, torch.nn.functional.softmin

other ops of this name: torch.nn.Softmax
"""
LINEAR: Final = """\
torch.nn.Linear

  def __init__(
      self,
      in_features: int,
      out_features: int,
      bias: bool = True,
      device: Any = None,
      dtype: DType = None,
  ) -> None
  def forward(
      self,
      input: Inexact[Tensor, "*n {self.in_features}"],
  ) -> T[Tensor, "*n {self.out_features}"]

  T[Tensor, ...]  any dtype, which the result has too; of several: promoted
  "*s"            any number of dimensions, the same wherever it stands
  "{k}"           the value of a parameter, or of an attribute of the module
  DType           sets the dtype of the result
  stated in stubs/torch/nn/_linear.pyi:LINE

example
  x: (b t 512)
  nn.Linear(512, 64)(x)  ->  (b t 64)
  x: (b 512 t)
  nn.Linear(512, 64)(x)
    error: "nn.Linear(512, 64)" can't take (b 512 t): axis -1 of "input" is t, where 512 \
(in_features) is expected  [shape]
    note: "x.transpose(-2, -1)" would give (b t 64)

other ops of this name: torch.nn.functional.linear
"""
CAT: Final = """\
torch.cat

  def cat(tensors: list, dim: int = 0) -> Rule["cat"]

  Rule["cat"]  decided in Python, by cat in shapecheck/ops/shape/joining.py:
               Concatenate tensors: the sizes along `dim` add up, all other axes agree.
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Away from the settings of this repository."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "printed"), [("F.softmax", SOFTMAX), ("nn.Linear", LINEAR), ("cat", CAT)]
)
def test_what_is_known_of_an_op(
    name: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signature, what its forms mean, the rule, an example that fits and one that doesn't."""
    assert main(["explain", name]) == 0
    said = re.sub(r"\.pyi:\d+", ".pyi:LINE", capsys.readouterr().out)
    assert said[: len(printed)] == printed


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("@", "torch.matmul"),
        ("[]", "torch.Tensor.__getitem__"),
        ("+=", "torch.add"),
        ("==", "torch.eq"),
        ("**", "torch.pow"),
        ("cat", "torch.cat"),
        ("torch.cat()", "torch.cat"),
        (".view", "torch.Tensor.view"),
        ("x.view", "torch.Tensor.view"),
        ("nn.Conv2d.forward", "torch.nn.Conv2d"),
        ("LayerNorm", "torch.nn.LayerNorm"),
        ("rearrange", "einops.rearrange"),
        ("torch.distributions.normal.Normal", "torch.distributions.normal.Normal"),
    ],
)
def test_names_as_people_write_them(asked: str, name: str) -> None:
    """Bare, dotted, with the usual short names, and operators."""
    assert lookup.find(table(), asked)[0].name == name


SEQUENTIAL: Final = """\
torch.nn.Sequential

  class Sequential(*args: Module)

  A sequential container.
  without a signature: its result follows from what it is given
  defined in torch/nn/modules/container.py:LINE

example
  x: (b 512)
  nn.Sequential(nn.Linear(512, 64), nn.ReLU())(x)  ->  (b 64)
"""


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("nn.Sequential", SEQUENTIAL),
        ("no_grad", "  an object that is no tensor: it has no shape\n"),
        ("torch.Generator", "  an object that is no tensor: it has no shape\n"),
        ("torch.cuda.is_available", "  a number, text or truth value (bool): it has no shape\n"),
        ("dist.barrier", "def barrier("),
        ("nn.Module", "  the base class of modules: calling one gives what its `forward` does\n"),
        ("torch.save", "  it returns nothing, so nothing has a shape\n"),
        ("torch.optim", "  a module of Python: no tensor\n"),
        ("Tensor.tolist", "  -> Any  no tensor whose shape is followed: "),
        ("finfo", "  an object that is no tensor: it has no shape\n"),
    ],
)
def test_names_without_a_shape(name: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What has no signature is told from the library's source: what it is, and what it gives."""
    assert main(["explain", name]) == 0
    assert printed in re.sub(r"\.py:\d+", ".py:LINE", capsys.readouterr().out)


FREQUENT: Final = Path(__file__).with_name("frequent_names.txt").read_text().splitlines()


def test_something_useful_is_said_of_what_people_use(capsys: pytest.CaptureFixture[str]) -> None:
    """The 600 names that public code uses most: an example, or what it is that has no shape."""
    silent = []
    for name in FREQUENT:
        code = main(["explain", name])
        said = capsys.readouterr().out
        told = re.search(r"^example$|no tensor|shape|result follows|calling", said, re.MULTILINE)
        if code or told is None:
            silent.append(name)
    assert silent == [
        "torch.multiprocessing.set_start_method",
        "torch.multiprocessing.get_start_method",
        "torch.multiprocessing.Manager",
    ]


def test_a_method_is_shown_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    """`.reshape` is that of tensors, a property isn't called, and each op has its own name."""
    assert main(["explain", ".reshape"]) == 0
    assert "  x.reshape(b * t, -1)  ->  ((b t) d)\n" in capsys.readouterr().out
    assert main(["explain", ".shape"]) == 0
    assert "  x.shape  ->  (b, t, d)\n" in capsys.readouterr().out
    assert main(["explain", "*"]) == 0
    (line,) = re.findall("  def mul.*", capsys.readouterr().out)
    assert "alpha" not in line


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            "sofmax",
            "; did you mean torch.softmax, torch.fmax, torch.nn.Softmax or torch.log_softmax?",
        ),
        ("torch.relU", "; did you mean torch.relu"),
        ("nn.conv2D", "; did you mean torch.conv2d"),
        ("qqqqqqqq", "\n"),
    ],
)
def test_unknown_names(asked: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What may have been meant, and what being unknown means."""
    assert main(["explain", asked]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f'nothing is known of "{asked}"{said}')
    assert printed.err.endswith(
        "\nWhat isn't known has an unknown shape, and is never an error; a signature file of your\n"
        "own can describe it.\n"
    )
    assert printed.out == ""


@pytest.mark.parametrize(
    ("asked", "title", "call"),
    [
        ("*", "*  is  torch.mul", "x * y  ->  (b t)"),
        ("+=", "+  is  torch.add", "x + y  ->  (b t)"),
        ("@", "@  is  torch.matmul", "x @ y  ->  (b n m)"),
        ("~", "~  is  torch.bitwise_not", "~x  ->  (b t) Int"),
        ("[]", "[]  is  torch.Tensor.__getitem__", "x[:, 0]  ->  (b d)"),
    ],
)
def test_operators(asked: str, title: str, call: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An operator is shown as one, in the example and in its error."""
    assert main(["explain", asked]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == title
    assert f"  {call}" in lines
    errors = [line for line in lines if line.startswith("    error: ")]
    assert all(line.startswith(f'    error: "{title.split(maxsplit=1)[0]}" ') for line in errors)


def test_no_names_that_torch_lacks() -> None:
    """Functions of `torch.special` and its like are no methods of tensors."""
    apart = ("torch.special", "torch.linalg", "torch.fft")
    for name in table().all_names():
        home, _, last = name.rpartition(".")
        if home in apart and not last.startswith("_"):
            assert hasattr(getattr(torch, home.removeprefix("torch.")), last), name
        assert home != "torch.Tensor" or not hasattr(torch.special, last) or hasattr(Tensor, last)


def test_signatures_of_the_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Signature files that the settings name count too; a broken one is named."""
    (tmp_path / "pyproject.toml").write_text('[tool.shapecheck]\nstubs = ["s"]\n')
    (tmp_path / "s").mkdir()
    stub = tmp_path / "s" / "fastknn.pyi"
    stub.write_text(
        'def knn(q: Float[Tensor, "*b n d"], p: Float[Tensor, "*b m d"], k: int) -> '
        'Int64[Tensor, "*b n {k}"]: ...\n'
    )
    assert main(["explain", "knn"]) == 0
    printed = capsys.readouterr().out
    assert "  stated in s/fastknn.pyi:1\n" in printed
    assert (
        "  x: (b t n d), y: (b t m d)\n  fastknn.knn(x, y, k=2)  ->  (b t n 2) int64\n" in printed
    )
    table.cache_clear()
    text = stub.read_text()
    stub.write_text('@example("points: n 3; far: m 3 | points, far, k=8")\n' + text)
    assert main(["explain", "knn"]) == 0
    assert "fastknn.knn(points, far, k=8)  ->  (n 8) int64\n" in capsys.readouterr().out
    table.cache_clear()
    stub.write_text('@example("points: n,3 | points")\n' + text)
    assert main(["explain", "knn"]) == 2
    assert capsys.readouterr().err == (
        f"shapecheck explain: error: {stub}:2: the example can't be read: points: n,3 | points\n"
    )
    table.cache_clear()
    stub.write_text("def knn(q) -> (: ...\n")
    assert main(["explain", "knn"]) == 2
    assert capsys.readouterr().err.startswith(f"shapecheck explain: error: {stub}:1: ")


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    """All names that contain a text; none is no success."""
    assert main(["explain", "--list", "layer_norm"]) == 0
    assert "torch.nn.functional.layer_norm\n" in capsys.readouterr().out
    assert main(["explain", "--list", "qqqq"]) == 1
    assert main(["explain"]) == 2
    assert capsys.readouterr().err == (
        "shapecheck explain: error: which op? `shapecheck explain softmax`, or --list for all "
        "names\n"
    )


def test_every_written_example_works() -> None:
    """Each has a result; otherwise one that is made up would stand in its place."""
    for name, written in table().examples().items():
        (op, *_) = lookup.find(table(), name)
        good = examples.examples_of(table(), op)[0]
        arguments = written.partition(" | ")[0 if op.is_class else 2]
        assert arguments in good.call or name.startswith("torch.Tensor."), name
        assert "unknown" not in good.result, name


def test_almost_every_op_has_an_example() -> None:
    """Of the functions and modules of torch that people call."""
    names = [
        name
        for name in set(table().all_names())
        if name.startswith(("torch.nn.functional.", "torch.Tensor.", "torch.nn."))
        or name.count(".") == 1
    ]
    public = [name for name in names if "._" not in name and name.startswith("torch.")]
    ops = [op for name in public for op in lookup.find(table(), name) if op.name == name]
    with_one = [op for op in ops if examples.examples_of(table(), op)]
    assert len(with_one) > 0.85 * len(ops), sorted({op.name for op in ops if op not in with_one})


def test_nothing_that_is_known_crashes() -> None:
    """Of each name something can be told; of a class, its methods."""
    for name in table().all_names():
        for op in lookup.find(table(), name)[:1]:
            assert op.definitions
            examples.examples_of(table(), op)
    (op, *_) = lookup.find(table(), "torch.distributions.Normal")
    told = [re.split(r"[ (]", definition.text)[1] for definition in op.definitions]
    assert told[0] == "__init__"
    assert {"sample", "log_prob"} <= set(told)
    (op, *_) = lookup.find(table(), "torch.distributions.Distribution")
    assert op.is_class


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("torch.Tensor.copy_", "x.copy_(y)  ->  (b t d)"),
        ("torch.Tensor.index_copy_", "x.index_copy_(1, i, y)  ->  (b t d)"),
        ("torch.cross", "torch.cross(x, y)  ->  (b 3)"),
        ("torch.Tensor.unfold", "x.unfold(1, 3, 1)  ->  (b t-2 d 3)"),
        ("torch.Tensor.quantile", "x.quantile(0.5, dim=1)  ->  (b)"),
        ("torch.nn.InstanceNorm2d", "nn.InstanceNorm2d(64)(x)  ->  (b 64 h w)"),
        ("torch.nn.utils.clip_grad_norm_", "nn.utils.clip_grad_norm_([weight], 1.0)  ->  ()"),
        ("torch.nn.utils.spectral_norm", ""),
        ("torch.Tensor.map_", ""),
    ],
)
def test_an_example_makes_sense(name: str, call: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is made up for a parameter of which neither the type nor the name tells."""
    assert main(["explain", name]) == 0
    printed = capsys.readouterr().out.partition("\nexample\n")[2].splitlines()
    assert printed[1:2] == ([f"  {call}"] if call else [])


NOT_RUN: Final = {
    "torch.Tensor.cuda": "it needs a GPU",
    "torch.Tensor.pin_memory": "as well",
    "torch.Tensor.grad": "there is one only after `backward`",
    "torch.from_numpy": "it takes an array of numpy",
    "torch.autograd.grad": "`loss` has to be computed from `weight`",
    "torch.Tensor.int_repr": "it takes what is quantized",
    "torch.linalg.cholesky": "it takes what is positive definite",
    "torch.nn.TransformerEncoder": "it takes a layer",
    "torch.nn.modules.utils._pair": "it gives sizes",
}


@pytest.mark.filterwarnings("ignore")
def test_examples_are_what_torch_does() -> None:
    """Of the 600 names that public code uses most: the shapes, and that the others are refused."""
    told: list[str] = []
    for asked in FREQUENT:
        for op in lookup.find(table(), asked)[:1]:
            for example in examples.examples_of(table(), op):
                if op.name.startswith("torch.") and op.name not in NOT_RUN:
                    told += _untrue(example)
    assert told == []


def _untrue(example: examples.Example) -> Iterator[str]:
    """Yield what is wrong with an example, by what torch itself does."""
    generator = torch.Generator().manual_seed(0)
    tensors: dict[str, Any] = {n: tensor_of(shape, generator) for n, shape in example.tensors}
    space = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, **SIZES, **tensors}
    try:
        result = eval(example.call, space)
    except (RuntimeError, LookupError, ValueError, TypeError, AssertionError) as error:
        if not example.is_error:
            yield f"{example.call}: {error}"
        return
    if example.is_error and not re.search("scrambles|can't gather", example.result):
        yield f"{example.call} is no error"
    if isinstance(result, torch.Tensor) and not example.is_error:
        given = re.findall(r"\b\w+\b(?!\()", f"{example.tensors} {example.call}")
        sizes = sizes_of(example.result)
        names = {*re.findall(r"\w+", example.result)} - {*given}
        new = {size for name, size in SIZES.items() if name in names}
        real = result.shape  # of which a new dimension, as `nonzero`, may have any size
        if len(sizes) == len(real) and all(
            said == size or said in new for said, size in zip(sizes, real, strict=True)
        ):
            return
        yield f"{example.call} -> {tuple(result.shape)}, not {example.result}"


class _Sizes(dict[str, int]):
    """Numbers for names: of most one that no other has."""

    def __missing__(self, name: str) -> int:
        if name in ("min", "max"):
            raise KeyError(name)
        self[name] = 40 + len(self)
        return self[name]


SIZES: Final = _Sizes({"b": 4, "t": 6, "d": 16, "n": 5, "m": 7, "h": 8, "w": 10, "c": 3, "k": 2})


def sizes_of(shape: str) -> tuple[int, ...]:
    """Return the numbers for `(b t d//8)` and `((h d) 3)`."""
    text = re.sub(r"\([^()]*\)", lambda one: f"({one[0].replace(' ', ')*(')})", shape[1:])
    words = text[: re.search(r"\)(?: \w+)?$", text).start()].split()  # type: ignore[union-attr]
    return tuple(eval(word, {}, SIZES) for word in words)


def tensor_of(shape: str, generator: torch.Generator) -> torch.Tensor:
    """Return a tensor of a shape."""
    tensor = torch.rand(sizes_of(shape), generator=generator)
    kind = shape.rpartition(")")[2].strip()
    dtype = {"bool": torch.bool, "Int": torch.int64, "Complex": torch.complex64}.get(kind)
    return tensor if dtype is None else tensor.to(dtype)
