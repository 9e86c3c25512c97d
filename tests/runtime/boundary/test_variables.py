"""Annotated local variables are checked where it is asked for, whenever they are assigned."""

# ruff: noqa: F841

from __future__ import annotations

import asyncio
import inspect
import linecache
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor

from shapecheck import Dim, Float, Int, ShapeError, dims_of, install_import_hook, shapecheck

Rows: TypeAlias = Float[Tensor, "n d"]
Vocab = Dim("vocab", size=7)


def refused(function: Callable[..., Any], *args: Any) -> ShapeError:
    """Return the error that a call raises."""
    with pytest.raises(ShapeError) as caught:
        function(*args)
    return caught.value


def test_a_variable_is_held_against_the_names_of_the_call() -> None:
    @shapecheck(variables=True)
    def scores(q: Float[Tensor, "b n d"], k: Float[Tensor, "b m d"]) -> Float[Tensor, "b n m"]:
        found: Float[Tensor, "b m n"] = q @ k.mT
        return found

    error = refused(scores, torch.rand(2, 3, 4), torch.rand(2, 3, 4))
    line = scores.__wrapped__.__code__.co_firstlineno + 2  # type: ignore[attr-defined]
    source = linecache.getline(__file__, line).strip()
    assert str(error) == (
        f'"q @ k.mT" is (b n m), declared "b m n": axis 1 is n, declared m  [shape]\n'
        f"  at {__file__}:{line}: {source}\n"
        "  here b=2, n=3, d=4, m=3"
    )
    assert (__file__, line) in [
        (one.filename, one.lineno) for one in traceback.extract_tb(error.__traceback__)
    ]


def test_a_variable_may_call_a_dimension_of_the_call_otherwise() -> None:
    """What it calls so is that dimension from then on, and no other one of its size."""

    @shapecheck(variables=True)
    def rows(
        x: Float[Tensor, "*b n"], y: Float[Tensor, "*b n"], z: Float[Tensor, "*b k"]
    ) -> Float[Tensor, "*b n"]:
        first: Float[Tensor, "N C"] = x.flatten(0, 1)
        second: Float[Tensor, "N C"] = y.flatten(0, 1)
        scale: Float[Tensor, "C"] = torch.rand(4)
        third: Float[Tensor, "N C"] = second * scale
        last: Float[Tensor, "N C"] = z.flatten(0, 1)
        return x

    given = (torch.rand(2, 3, 4) for _ in range(3))
    assert str(refused(rows, *given)).splitlines()[0] == (
        '"z.flatten(0, 1)" is ((b[0] b[1]) k), declared "N C": '
        "axis 1 is k, declared C (here n)  [shape]"
    )


def test_it_is_not_asked_for() -> None:
    @shapecheck
    def wrong(x: Float[Tensor, "a b"]) -> Any:
        y: Float[Tensor, "b a"] = x
        return y

    assert wrong(torch.rand(2, 3)).shape == (2, 3)


def test_what_is_unknown_takes_the_annotation() -> None:
    @shapecheck(variables=True)
    def f(x: Float[Tensor, "n d"]) -> Any:
        y: Float[Tensor, "n k"] = torch.rand(x.shape[0], 5)
        z: Float[Tensor, "k"] = torch.rand(5)
        late: Float[Tensor, "k"] = z
        return dims_of(y), dims_of(late)

    assert f(torch.rand(2, 3)) == (("n", "k"), ("k",))

    @shapecheck(variables=True)
    def g(x: Float[Tensor, "n d"]) -> None:
        y: Float[Tensor, "n k"] = torch.rand(x.shape[0], 5)
        z: Float[Tensor, "k"] = torch.rand(4)

    assert '"torch.rand(4)" is (4), declared "k": axis 0 is 4, declared k' in str(
        refused(g, torch.rand(2, 3))
    )


def test_all_of_the_language_counts() -> None:
    n = 3

    @shapecheck(variables=True)
    def f(x: Float[Tensor, "n d"], what: str, size: int = 0) -> Any:
        match what:
            case "list":
                a: list[Float[Tensor, "d"]] = [x[0], x[:, 0]]
            case "none":
                b: Float[Tensor, "n"] | None = None
                b: Float[Tensor, "n"] | None = x[0]
            case "alias":
                c: Rows = x.T
            case "dtype":
                d: Int[Tensor, "n d"] = x
            case "braces":
                e: Float[Tensor, "{size} d"] = x
            case "object":
                f: Float[Tensor, "Vocab"] = x[0]
            case "kind":
                g: Float[Tensor, "n d"] = x.tolist()
            case "plain":
                h: int = "no shape, so nothing of ours"  # type: ignore[assignment]
            case "global":
                i: Float[Tensor, "{n}"] = x[:, 0]
        return what

    x = torch.rand(2, 4)
    for what in ("list", "none", "alias", "dtype", "object", "kind", "braces"):
        assert refused(f, x, what).code == ("shape-dtype" if what == "dtype" else "shape"), what
    assert f(x, "plain") == "plain"
    assert f(x, "braces", 2) == "braces"
    assert n == 3


class Base:
    def size(self) -> int:
        return 2


class Net(Base):
    def __init__(self) -> None:
        self.__hidden = 3

    @shapecheck(variables=True)
    def size(self, *rest: int, scale: Callable[[], int] = lambda: 1, **more: int) -> int:
        """Say the size."""
        hidden: Float[Tensor, "h"] = torch.rand(self.__hidden)
        return super().size() * len(hidden) * scale() + sum(rest) + sum(more.values())


def test_the_function_is_what_it_was() -> None:
    assert Net().size(1, 2, scale=lambda: 5, more=4) == 2 * 3 * 5 + 7
    assert Net.size.__doc__ == "Say the size."
    assert Net.size.__qualname__ == "Net.size"
    assert inspect.signature(Net.size) == inspect.signature(Net.size.__wrapped__)  # type: ignore[attr-defined]
    assert "hidden" in inspect.getsource(Net.size)
    assert type(pickle.loads(pickle.dumps(Net()))) is Net


def test_closures_share_their_variables() -> None:
    total = 0

    def counting() -> Callable[[Tensor], int]:
        count = 0

        @shapecheck(variables=True)
        def add(x: Float[Tensor, "n"]) -> int:
            nonlocal count, total
            part: Float[Tensor, "m"] = x[1:]
            count += len(part)
            total = max(count for _ in range(2))
            return count

        return add

    add = counting()
    assert (add(torch.rand(3)), add(torch.rand(4)), total) == (2, 5, 5)


def test_generators_coroutines_and_calls_at_the_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    def items(x: Float[Tensor, "a b"]) -> Iterator[Any]:
        yield x
        y: Float[Tensor, "b a"] = x
        yield y

    async def wait(x: Float[Tensor, "a b"]) -> Any:
        y: Float[Tensor, "b a"] = x
        return y

    def plain(x: Float[Tensor, "a b"]) -> Any:
        y: Float[Tensor, "b a"] = x
        return y

    checked = shapecheck(variables=True)(items)
    awaited = shapecheck(variables=True)(wait)
    wanted = '"x" is (2 3), declared "b a": axis 0 is 2, declared b (here 3)'
    assert wanted in str(refused(lambda: list(checked(torch.rand(2, 3)))))
    assert wanted in str(refused(lambda: asyncio.run(awaited(torch.rand(2, 3)))))
    assert len(list(checked(torch.rand(2, 2)))) == 2
    monkeypatch.setenv("SHAPECHECK", "boundary")
    assert wanted in str(refused(shapecheck(variables=True)(plain), torch.rand(2, 3)))
    monkeypatch.setenv("SHAPECHECK", "off")
    assert shapecheck(variables=True)(plain) is plain


@pytest.mark.parametrize("mode", ["full", "boundary"])
def test_each_activation_has_its_own_names(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)

    @shapecheck(variables=True)
    def halves(x: Float[Tensor, "n"]) -> int:
        if len(x) == 1:
            return 0
        left: Float[Tensor, "h"] = x[: len(x) // 2]
        found = halves(left)
        again: Float[Tensor, "h"] = left + 1
        return found + len(again)

    assert halves(torch.rand(8)) == 7


def test_a_function_with_nothing_else_annotated() -> None:
    @shapecheck(variables=True)
    def main():  # type: ignore[no-untyped-def]
        x: Float[Tensor, "a b"] = torch.rand(2, 3)
        y: Float[Tensor, "b a"] = x
        return y

    assert '"x" is (a b), declared "b a"' in str(refused(main))


def test_without_a_source_it_is_said_once() -> None:
    space: dict[str, Any] = {"Float": Float, "Tensor": Tensor}
    exec('def f(x: Float[Tensor, "n"]):\n    y: Float[Tensor, "m"] = x\n    return y', space)
    assert shapecheck(variables=True)(space["f"])(torch.rand(3)).shape == (3,)


def test_a_name_that_does_not_exist_is_said() -> None:
    @shapecheck(variables=True)
    def f(x: Float[Tensor, "n"]) -> Any:
        y: Flaot[Tensor, "n"] = x  # type: ignore[name-defined]
        return y

    with pytest.warns(RuntimeWarning, match='annotation of "y" in .* isn\'t checked: .*Flaot'):
        assert f(torch.rand(3)).shape == (3,)


def test_compiled_it_is_one_graph() -> None:
    @shapecheck(variables=True)
    def f(x: Float[Tensor, "n d"]) -> Float[Tensor, "d"]:
        y: Float[Tensor, "d"] = x.sum(0)
        return y * 2

    x = torch.rand(3, 4)
    compiled = torch.compile(f, fullgraph=True, backend="eager")
    assert torch.equal(compiled(x), f(x))
    assert torch._dynamo.explain(f)(x).graph_break_count == 0


MODULE = """
from __future__ import annotations
from torch import Tensor
from shapecheck import Float

class Net:
    def forward(self, x: Float[Tensor, "a b"]):
        y: Float[Tensor, "b a"] = x
        return y
"""


@pytest.mark.parametrize("variables", [False, True])
def test_by_the_import_hook(
    variables: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"variables_{variables}".lower()
    (tmp_path / f"{name}.py").write_text(MODULE, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with install_import_hook(name, variables=variables):
        made = __import__(name)
    if variables:
        error = refused(made.Net().forward, torch.rand(2, 2))
        assert f'{name}.py:8: y: Float[Tensor, "b a"] = x' in str(error)
    else:
        assert made.Net().forward(torch.rand(2, 2)).shape == (2, 2)
    del sys.modules[name]
