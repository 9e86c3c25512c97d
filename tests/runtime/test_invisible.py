"""A decorated program computes what it computed before, and looks like it did."""

from __future__ import annotations

import asyncio
import copy
import inspect
import io
import pickle
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from repository import ROOT
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import shapecheck as package
from shapecheck import Float, ShapeError, dims_of, shapecheck


class Block(nn.Module):
    """Attention with two heads, undecorated."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (part.view(b, t, 2, d // 2).transpose(1, 2) for part in (q, k, v))
        weights = F.softmax(q @ k.transpose(-2, -1) / d**0.5, dim=-1)
        y = F.dropout(weights, 0.5, self.training) @ v
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        x[..., 0] *= 2
        return x


class Checked(Block):
    forward = shapecheck(Block.forward)


def run(model: nn.Module, mode: str = "plain") -> list[Tensor]:
    """Return the output and all gradients on a fixed seed."""
    torch.manual_seed(0)
    model.zero_grad()
    x = torch.randn(2, 5, 8, requires_grad=True)
    reentrant = mode == "reentrant checkpoint"
    y = checkpoint(model, x, use_reentrant=reentrant) if "checkpoint" in mode else model(x)
    assert isinstance(y, Tensor)
    y.square().mean().backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    return [y.detach(), *(g for g in (x.grad, *gradients) if g is not None)]


@pytest.fixture
def models() -> tuple[Block, Checked]:
    torch.manual_seed(1)
    plain, checked = Block(8), Checked(8)
    checked.load_state_dict(plain.state_dict())
    return plain, checked


@pytest.mark.parametrize("mode", ["plain", "checkpoint", "reentrant checkpoint"])
def test_results_and_gradients_are_equal_bit_for_bit(
    models: tuple[Block, Checked], mode: str
) -> None:
    plain, checked = models
    for _ in range(2):
        for expected, actual in zip(run(plain, mode), run(checked, mode), strict=True):
            assert torch.equal(expected, actual)


def test_under_autocast_and_double(models: tuple[Block, Checked]) -> None:
    plain, checked = models
    x = torch.randn(2, 5, 8)
    plain.eval(), checked.eval()
    with torch.autocast(x.device.type, torch.bfloat16):
        assert torch.equal(plain(x), checked(x))
    assert torch.equal(plain.double()(x.double()), checked.double()(x.double()))


def test_vmap_and_grad() -> None:
    @shapecheck
    def energy(x: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
        return (x @ x.T).sum()

    xs = torch.randn(3, 2, 4)
    expected = torch.stack([2 * x.sum(0).expand(2, 4) for x in xs])
    found = torch.func.vmap(torch.func.grad(energy))(xs)
    torch.testing.assert_close(found, expected)


def test_compiles_into_one_graph(models: tuple[Block, Checked]) -> None:
    plain, checked = models
    plain.eval(), checked.eval()
    torch._dynamo.reset()
    compiled = torch.compile(checked, fullgraph=True, backend="eager")
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(compiled(x), plain(x), rtol=0, atol=0)
    checked(x)  # compiles the checks, which changes the function's code
    torch.testing.assert_close(compiled(x), plain(x), rtol=0, atol=0)
    with pytest.raises(ShapeError):
        checked(x[0])


def test_a_compiled_function_inside_of_a_decorated_one() -> None:
    torch._dynamo.reset()
    inner = torch.compile(lambda x: (x * 2).sum(0), backend="eager")

    @shapecheck
    def outer(x: Float[Tensor, "a b"]) -> Float[Tensor, "b"]:
        return inner(x) + 1

    x = torch.randn(3, 4)
    for _ in range(2):
        torch.testing.assert_close(outer(x), (x * 2).sum(0) + 1)


def test_the_function_looks_like_itself() -> None:
    def scale(x: Float[Tensor, "n"], /, by: float = 2.0, *, twice: bool = False) -> Any:
        """Scale it."""
        return x * by * (1 + twice)

    checked = shapecheck(scale)
    assert checked.__wrapped__ is scale  # type: ignore[attr-defined]
    assert checked.__name__ == "scale"
    assert checked.__doc__ == "Scale it."
    for _ in range(2):  # before the first call, and after it
        assert inspect.signature(checked) == inspect.signature(scale)
        assert checked.__annotations__ == scale.__annotations__
        assert checked(torch.ones(2), by=3, twice=True).tolist() == [6.0, 6.0]
        with pytest.raises(TypeError, match=r"scale\(\) (missing 1|got some positional-only)"):
            checked()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
            checked(torch.ones(2), nothing=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("mode", ["full", "boundary"])
def test_warnings_name_the_caller(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)

    @shapecheck
    def old(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        warnings.warn("old is deprecated", DeprecationWarning, stacklevel=2)
        return x

    line = inspect.currentframe().f_lineno + 3  # type: ignore[union-attr]
    for _ in range(2):  # the first call, which compiles the checks, and one after it
        with pytest.warns(DeprecationWarning, match="old is deprecated") as seen:
            old(torch.ones(2))
        assert [(one.filename, one.lineno) for one in seen] == [(__file__, line)]


def test_decorating_twice_is_decorating_once() -> None:
    def function(x: Float[Tensor, "n"]) -> None: ...

    once = shapecheck(function)
    assert shapecheck(once) is once

    def bare(x):  # type: ignore[no-untyped-def]
        return x

    once = shapecheck(bare)
    assert shapecheck(once) is once


def test_a_function_without_annotations_is_invisible_too() -> None:
    @shapecheck
    def old(x, /, y=2, *, z):  # type: ignore[no-untyped-def]
        """It is old."""
        warnings.warn("old is deprecated", DeprecationWarning, stacklevel=2)
        return x + y + z

    assert (old.__name__, old.__doc__) == ("old", "It is old.")
    assert str(inspect.signature(old)) == "(x, /, y=2, *, z)"
    line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]
    with pytest.warns(DeprecationWarning, match="old is deprecated") as seen:
        assert old(torch.ones(2), z=1).tolist() == [4, 4]  # type: ignore[no-untyped-call]
    assert [(one.filename, one.lineno) for one in seen] == [(__file__, line)]
    with pytest.raises(TypeError, match=r"old\(\) missing 1 required keyword-only argument: 'z'"):
        old(torch.ones(2))  # type: ignore[no-untyped-call]
    compiled = torch.compile(old, backend="eager", fullgraph=False)
    assert compiled(torch.ones(2), z=1).tolist() == [4, 4]


def test_models_copy_pickle_and_save(models: tuple[Block, Checked]) -> None:
    _, checked = models
    x = torch.randn(2, 5, 8)
    checked.eval()
    expected = checked(x)
    assert torch.equal(copy.deepcopy(checked)(x), expected)
    assert torch.equal(pickle.loads(pickle.dumps(checked))(x), expected)
    file = io.BytesIO()
    torch.save({"result": expected, "state": checked.state_dict()}, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=True)["result"], expected)
    assert not vars(expected)


def test_names_do_not_travel_with_copies() -> None:
    @shapecheck
    def look(x: Float[Tensor, "a b"]) -> None:
        assert dims_of(x.clone()) == ("a", "b")
        assert dims_of(x.detach()) == ("a", "b")
        assert dims_of(x.to(torch.float64)) == ("a", "b")
        assert dims_of(copy.copy(x)) == (None, None)
        assert dims_of(nn.Parameter(x)) == (None, None)
        assert dims_of(torch.from_numpy(x.numpy(force=True))) == (None, None)

    look(torch.ones(2, 3))


def test_async_functions() -> None:
    @shapecheck
    async def fetch(x: Float[Tensor, "n"], fail: bool) -> Float[Tensor, "n"]:
        await asyncio.sleep(0)
        return x[1:] if fail else x

    assert inspect.iscoroutinefunction(fetch.__wrapped__)  # type: ignore[attr-defined]
    assert asyncio.run(fetch(torch.ones(2), False)).shape == (2,)
    with pytest.raises(ShapeError, match="declared n"):
        asyncio.run(fetch(torch.ones(2), True))
    with pytest.raises(ShapeError, match="it has 2 axes"):
        asyncio.run(fetch(torch.ones(2, 2), True))


def test_generators() -> None:
    @shapecheck
    def rows(x: Float[Tensor, "n d"]) -> Iterator[Float[Tensor, "d"]]:
        yield from x

    @shapecheck
    async def async_rows(x: Float[Tensor, "n d"]) -> AsyncIterator[Float[Tensor, "d"]]:
        for row in x:
            yield row

    assert len(list(rows(torch.ones(2, 3)))) == 2
    started = rows(torch.ones(2))  # nothing of a generator runs before its first item
    with pytest.raises(ShapeError):
        next(started)

    async def count() -> int:
        return len([row async for row in async_rows(torch.ones(2, 3))])

    assert asyncio.run(count()) == 2


def test_what_cannot_be_decorated() -> None:
    with pytest.raises(TypeError, match="goes on functions, methods and classes, not on 3"):
        shapecheck(3)


def test_off_returns_the_function_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: Float[Tensor, "n"]) -> None: ...

    class Plain:
        def method(self, x: Float[Tensor, "n"]) -> None: ...

    method = Plain.method
    monkeypatch.setenv("SHAPECHECK", "off")
    assert shapecheck(function) is function
    assert shapecheck(Plain) is Plain
    assert Plain.method is method


def test_boundary_checks_no_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPECHECK", "boundary")

    @shapecheck
    def product(q: Float[Tensor, "n d"], k: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        assert torch._C._len_torch_function_stack() == 0
        assert dims_of(q) == (None, None)
        return q @ k

    product(torch.ones(3, 3), torch.ones(3, 3))
    with pytest.raises(ShapeError):
        product(torch.ones(2, 3), torch.ones(2, 4))


def test_a_mode_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPECHECK", "fast")
    with pytest.raises(ValueError, match=r'SHAPECHECK="fast" .* it can be off, boundary or full'):

        @shapecheck
        def function(x: Float[Tensor, "n"]) -> None: ...


def test_torch_is_too_old(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("__version__ = '2.3.1+cpu'\nclass Tensor: ...\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from shapecheck import shapecheck"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr.strip().splitlines()[-1] == (
        "ImportError: shapecheck needs torch 2.4 or newer; this is torch 2.3.1+cpu"
    )


def test_the_public_names_are_all_there() -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None


@pytest.mark.gpu
def test_on_a_gpu(models: tuple[Block, Checked]) -> None:
    plain, checked = (model.cuda().eval() for model in models)
    x = torch.randn(2, 5, 8, device="cuda")
    assert torch.equal(plain(x), checked(x))
    with pytest.raises(ShapeError):
        checked(x[0])


def test_on_meta(models: tuple[Block, Checked]) -> None:
    _, checked = models
    x = torch.randn(2, 5, 8, device="meta")
    assert checked.to("meta")(x).shape == (2, 5, 8)
