"""`trace(fn)(*args)`: the record of a program's ops."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from repository import ROOT
from torch import Tensor, nn

from shapecheck import Float, ShapeError, dims_of, named, shapecheck, trace
from shapecheck.runtime.tracing.records import ModuleRecord, OpRecord, memory_text


class Head(nn.Module):
    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, classes)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b classes"]:
        first, _ = x.split([1, x.shape[1] - 1], dim=1)
        return self.linear(first[:, 0])


class Model(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, width)
        self.head = Head(width, 3)

    def forward(self, tokens):  # type: ignore[no-untyped-def]
        x = self.embed(tokens)
        x.mul_(2)
        x[:, 0] = 0
        return self.head(x)


def tokens() -> Tensor:
    return torch.zeros(2, 5, dtype=torch.int64)


def test_every_op_with_shapes_names_and_modules() -> None:
    record = trace(Model())(named(tokens(), "batch time"))
    assert [(op.module, op.name, list(map(str, op.results))) for op in record.ops()] == [
        ("embed", "embedding", ["(batch=2 time=5 4)"]),
        ("", "mul", ["(batch=2 time=5 4)"]),
        ("", "setitem", ["(batch=2 time=5 4)"]),
        ("head", "split", ["(b=2 1 d=4)", "(b=2 t-1=4 d=4)"]),
        ("head", "getitem", ["(b=2 d=4)"]),
        ("head.linear", "linear", ["(b=2 3)"]),
    ]
    embedding = next(iter(record.ops()))
    assert [str(operand) for operand in embedding.operands] == ["(batch=2 time=5)", "(10 4)"]
    assert embedding.function == "torch.nn.functional.embedding"
    assert (embedding.source, Path(embedding.file).name) == (
        "x = self.embed(tokens)",
        "test_trace.py",
    )


def test_memory_and_parameters() -> None:
    record = trace(Model())(tokens())
    allocated = {op.name: sum(one.allocated for one in op.results) for op in record.ops()}
    assert allocated == {
        "embedding": 160,
        "mul": 0,
        "setitem": 0,
        "split": 0,
        "getitem": 0,
        "linear": 24,
    }
    assert record.allocated == 184
    assert (record.parameters, record.parameter_bytes) == (55, 220)
    counts = {module.path: (module.kind, module.parameters) for module in record.modules()}
    assert counts == {
        "": ("Model", 55),
        "embed": ("Embedding", 40),
        "head": ("Head", 15),
        "head.linear": ("Linear", 15),
    }
    assert [memory_text(n) for n in (0, 1023, 1536, 3 << 30, 5 << 50)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "3.0 GiB",
        "5120.0 TiB",
    ]


def test_shared_parameters_count_once() -> None:
    linear = nn.Linear(4, 4)
    record = trace(nn.Sequential(linear, nn.ReLU(), linear))(torch.ones(2, 4))
    assert record.parameters == 20
    assert [module.path for module in record.modules()] == ["", "0", "1", "0"]


def test_the_table() -> None:
    def scores(q: Float[Tensor, "query d"], k: Float[Tensor, "key d"]) -> Tensor:
        return F.softmax(q @ k.T, dim=-1)

    line = scores.__code__.co_firstlineno + 1
    record = trace(scores)(torch.ones(2, 4), torch.ones(3, 4))
    found = [line.strip("┃│ ") for line in str(record).splitlines()]
    cells = [[cell.strip() for cell in row.replace("┃", "│").split("│")] for row in found]
    place = f"test_trace.py:{line}"
    assert cells[1] == ["module", "op", "operands", "result", "dtype", "memory", "line"]
    assert cells[3:6] == [
        ["T", "(key=3 d=4)", "(d=4 key=3)", "float32", "0 B", place],
        ["matmul", "(query=2 d=4), (d=4 key=3)", "(query=2 key=3)", "float32", "24 B", place],
        ["softmax", "(query=2 key=3)", "(query=2 key=3)", "float32", "24 B", place],
    ]
    assert found[-1] == "3 ops, 0 parameters (0 B), results 48 B"
    assert record.table().row_count == 3
    assert not any(row.endswith(" ") for row in str(record).splitlines())


def test_the_record_is_plain_data() -> None:
    record = trace(Model())(tokens())
    data = json.loads(json.dumps(record.as_dict()))
    (model,) = data["calls"]
    assert [call.get("path", call.get("name")) for call in model["calls"]] == [
        "embed",
        "mul",
        "setitem",
        "head",
    ]
    (call,) = record.calls
    assert isinstance(call, ModuleRecord)
    assert isinstance(call.calls[1], OpRecord)


def test_decorated_functions_and_methods() -> None:
    class Scale:
        @shapecheck
        def decorated(self, x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
            return x * 2

        def plain(self, x: Float[Tensor, "m"]) -> Float[Tensor, "m"]:
            return self.decorated(x) + 1

    record = trace(Scale().plain)(torch.ones(3))
    assert [(op.name, str(op.results[0])) for op in record.ops()] == [
        ("mul", "(n=3)"),
        ("add", "(m=3)"),
    ]
    with pytest.raises(ShapeError, match="it has 2 axes, declared 1"):
        trace(Scale().plain)(torch.ones(3, 3))


def test_inside_of_a_decorated_function() -> None:
    @shapecheck
    def outer(x: Float[Tensor, "n d"]) -> None:
        record = trace(lambda: x.sum(0))()
        assert [str(op.results[0]) for op in record.ops()] == ["(d=3)"]
        assert dims_of(x.sum(1)) == ("n",)

    outer(torch.ones(2, 3))


def test_modules_from_elsewhere() -> None:
    model = Model()
    record = trace(lambda: model(tokens()) + 1)()
    assert [op.module for op in record.ops()][-3:] == ["Model.head", "Model.head.linear", ""]
    assert record.parameters == 55


def test_nothing_is_left_behind() -> None:
    model = Model()
    forward = Head.forward
    with pytest.raises(IndexError):
        trace(model)(tokens()[:, :0])
    assert Head.forward is forward
    assert torch._C._len_torch_function_stack() == 0
    hooks = torch.nn.modules.module
    assert not hooks._global_forward_hooks
    assert not hooks._global_forward_pre_hooks
    assert torch.equal(model(tokens()), model(tokens()))


@pytest.mark.parametrize("mode", ["boundary", "off"])
def test_without_names(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)
    record = trace(Model())(named(tokens(), "batch time"))
    assert [str(op.results[0]) for op in record.ops()][-1] == "(2 3)"


def test_a_model_that_is_too_large_for_any_machine() -> None:
    with torch.device("meta"):
        layers = [nn.TransformerEncoderLayer(8192, 64, 28672, batch_first=True) for _ in range(2)]
        model = nn.Sequential(*layers)
        x = torch.empty(1, 4096, 8192)
    record = trace(model)(named(x, "batch time width"))
    assert record.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert str(list(record.ops())[-1].results[0]) == "(batch=1 time=4096 width=8192)"
    assert record.allocated > 1 << 30


def test_what_is_no_dense_tensor() -> None:
    def mixed(x: Tensor) -> Tensor:
        return x.to_sparse().coalesce().to_dense()

    record = trace(mixed)(torch.eye(3))
    assert [op.name for op in record.ops()] == ["to_sparse", "coalesce", "to_dense"]


def test_rich_is_imported_only_for_a_trace() -> None:
    program = "import sys; from shapecheck import shapecheck, watch; print('rich' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(4, 8)

    def forward(self, x: Float[Tensor, "b t d"]) -> Tensor:
        return (x @ self.up(x)).relu()


def test_what_is_raised_may_end_the_record() -> None:
    """The op that raised it is the last one; without `catch` it goes through as it was."""
    record = trace(Failing(), catch=True)(torch.zeros(2, 3, 4))
    *before, last = record.ops()
    assert [op.name for op in before] == ["linear"]
    assert (last.name, last.results, last.module) == ("matmul", (), "")
    assert last.error == record.error
    assert last.error.startswith('"@" can\'t multiply (b t d) by (b t 8)')
    assert [str(operand) for operand in last.operands] == ["(b=2 t=3 d=4)", "(b=2 t=3 8)"]
    with pytest.raises(ShapeError, match="can't multiply"):
        trace(Failing())(torch.zeros(2, 3, 4))


def test_what_no_op_raises_ends_the_record_too() -> None:
    def function(x: Tensor) -> None:
        if x.relu().sum() == 0:
            raise KeyError("words")

    record = trace(function, catch=True)(torch.zeros(2))
    assert record.error == "KeyError: 'words'"
    assert not any(op.error for op in record.ops())
    assert "KeyError: &#x27;words&#x27;" in record._repr_html_()
    with pytest.raises(KeyError) as raised:
        trace(function)(torch.zeros(2))
    assert [one.name for one in raised.traceback][-1] == "function"


def test_an_error_that_the_program_catches_ends_nothing() -> None:
    def function(x: Tensor) -> Tensor:
        try:
            return x @ x
        except RuntimeError:
            return x.exp()

    record = trace(function)(torch.zeros(2, 3))
    assert record.error == ""
    assert [op.name for op in record.ops()] == ["exp"]
