"""Operations by name while `torch.compile` traces, in every mode, and under transforms."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from seeding import seed
from torch import Tensor

from shapecheck import Dim, Float, Int, ShapeError, dims_of, disabled, named, shapecheck


def attend(
    q: Float[Tensor, "b h t d"], k: Float[Tensor, "b h s d"], v: Float[Tensor, "b h s d"]
) -> Float[Tensor, "b t (h d)"]:
    scores = named.dot(q, k, "d") * q.shape[-1] ** -0.5
    weights = named.softmax(scores, "s")
    return named.order(named.dot(weights, v, "s"), "b t (h d)")


def inputs(n: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    seed(0)
    return torch.rand(2, 4, 3, 8), torch.rand(2, 4, n, 8), torch.rand(2, 4, n, 8)


def expected(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def check(function: Any, n: int = 5) -> None:
    torch.testing.assert_close(function(*inputs(n)), expected(*inputs(n)))


def many(
    x: Float[Tensor, "b t d"], y: Float[Tensor, "d s b"], mask: Float[Tensor, "b t"]
) -> tuple[Tensor, Any]:
    """Use one operation of each kind, and ordinary ones between them."""
    z = named.align_as(named.mean(y, "s"), x) + x
    z = named.stack(named.split(torch.relu(z), d="h k", h=2), e="h k")
    z = named.masked_fill(z, mask > 0.5, 0.0)
    z = named.cat([z, named.rename(named.order(z, "t b e"), t="t")], "t")
    z = named.op(z, lambda z: z * 2, u="e")
    z = named.stack_new([z, named.index(z, u=slice(None, None))], "n")
    z = named.log_softmax(named.get(z, n=0), "u")
    fresh = named.named(torch.ones_like(mask), "b w")
    return named.reduce(z, lambda z: z.sum(2), "u").sum() + named.sum(fresh), dims_of(z)


@pytest.fixture(autouse=True)
def _fresh_compiler() -> None:
    torch._dynamo.reset()


@pytest.mark.parametrize("called_before", [False, True])
def test_compiled_in_one_graph(called_before: bool) -> None:
    function = shapecheck(attend)
    if called_before:
        check(function)
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    for n in (5, 6, 7):  # from the second on, the size is dynamic
        check(compiled, n)


def test_compiled_operations_of_each_kind() -> None:
    x, y, mask = torch.rand(3, 4, 6), torch.rand(6, 5, 3), torch.rand(3, 4)
    function = shapecheck(many)
    total, names = function(x, y, mask)
    found, traced = torch.compile(function, fullgraph=True, backend="eager")(x, y, mask)
    torch.testing.assert_close(found, total)
    assert names == traced == ("b", "2*t", "u")


def picked(x: Float[Tensor, "b t"], i: Int[Tensor, "k"]) -> tuple[Tensor, Any]:
    """Take elements and put them back, by name."""
    some = named.gather(x, "t", i, "k")
    back = named.scatter(x, "t", i, named.triu(some, "b k") + 1, "k")
    first, _ = named.chunk(back, 2, "t")
    return first + named.narrow(back, "t", 0, 3), (dims_of(some), dims_of(back))


def test_compiled_elements() -> None:
    given = torch.rand(3, 6), torch.tensor([5, 0])
    function = shapecheck(picked)
    found, names = function(*given)
    traced, traced_names = torch.compile(function, fullgraph=True, backend="eager")(*given)
    torch.testing.assert_close(traced, found)
    assert names == traced_names == (("b", "k"), ("b", "t"))


def test_compiled_gradients() -> None:
    results = []
    for function in (torch.compile(shapecheck(attend), backend="aot_eager"), expected):
        given = [tensor.requires_grad_() for tensor in inputs()]
        function(*given).square().sum().backward()
        results.append([tensor.grad for tensor in given])
    torch.testing.assert_close(*results)


Batch, Time, Width = Dim("batch"), Dim("time"), Dim("width")


def of_objects(x: Float[Tensor, "Batch Time Width"]) -> Float[Tensor, "Width Batch"]:
    y = named.softmax(named.order(x, Time, Batch, Width), Width)
    fresh = named.named(torch.ones(2), Batch)
    return named.order(named.sum(y, Time) * fresh[:, None], Width, Batch)


def test_compiled_with_dimension_objects() -> None:
    x = torch.rand(2, 3, 4)
    function = shapecheck(of_objects)
    expected = x.softmax(2).sum(1).T
    for called in (function, torch.compile(function, fullgraph=True, backend="eager")):
        torch.testing.assert_close(called(x), expected)


def test_a_name_is_no_dimension_object() -> None:
    x = named.named(torch.rand(2, 3), "batch time")
    with pytest.raises(ShapeError) as caught:
        named.sum(x, Time)
    assert str(caught.value).startswith(
        '"named.sum" has no dimension "time" in (batch time): "time" is a name there, and not this '
        "dimension object; give the name"
    )


def test_a_wrong_name_is_told_while_compiling() -> None:
    @shapecheck
    def wrong(x: Float[Tensor, "b t"]) -> Tensor:
        return named.softmax(x, "d")

    with pytest.raises(Exception, match='has no dimension "d" in \\(b t\\): it has "b" and "t"'):
        torch.compile(wrong, fullgraph=True, backend="eager")(torch.rand(2, 3))


@pytest.mark.parametrize("mode", ["off", "boundary", "full"])
def test_names_are_there_however_much_is_checked(mode: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)
    function = shapecheck(attend)
    check(function)
    with disabled():
        check(function)


def test_off_leaves_other_functions_as_they_were(monkeypatch: Any) -> None:
    monkeypatch.setenv("SHAPECHECK", "off")

    def other(x: Float[Tensor, "b"]) -> Tensor:
        return x

    assert shapecheck(other) is other


def test_inside_of_vmap() -> None:
    @shapecheck
    def over(x: Float[Tensor, "n b t"]) -> Tensor:
        return torch.vmap(lambda row: named.softmax(row, "t"))(x)

    x = torch.rand(2, 3, 4)
    torch.testing.assert_close(over(x), x.softmax(2))


def test_what_a_name_given_twice_means() -> None:
    @shapecheck
    def sizes(x: Float[Tensor, "b t"]) -> None:
        for size in (3, 4):
            part = named.rename(x[:, :size], part="t")
            assert dims_of(part) == ("b", "part")
        with pytest.raises(
            ShapeError, match='can\'t call a dimension of size 2 "t": "t" is 5 here'
        ):
            named.rename(x, t="b", u="t")

    sizes(torch.rand(2, 5))


def test_a_name_for_other_sizes_outside() -> None:
    x, y = named(torch.rand(2, 3), "b t"), named(torch.rand(3, 5), "s t")
    outer = named.op(x, lambda x: torch.outer(x[0], y[0]))
    assert (dims_of(outer), outer.shape) == (("t", "t"), (3, 5))
    with pytest.raises(ShapeError, match="the inner dimensions are t \\(axis -1\\) and s"):
        named.op(x, lambda x: x @ y)


@pytest.mark.gpu
def test_on_a_gpu() -> None:
    given = [tensor.cuda() for tensor in inputs()]
    torch.testing.assert_close(shapecheck(attend)(*given), expected(*given))
