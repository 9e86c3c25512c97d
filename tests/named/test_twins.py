"""Each operation by name against its positional twin: the same numbers, gradients and names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from seeding import seed
from torch import Tensor, nn

from shapecheck import Dim, Float, ShapeError, dims_of, named, shapecheck

N = 4  # every dimension has this size: only names can tell them apart
CONV = nn.Conv1d(N, N, 2)
EMBEDDING = nn.Embedding(10, N)


def x() -> Tensor:
    seed(0)
    return torch.rand(N, N, N, dtype=torch.float64)


def y() -> Tensor:
    seed(1)
    return torch.rand(N, N, N, dtype=torch.float64)


def index(names: str, size: int = N) -> Tensor:
    """Return indices into any dimension, `size` of the first of their own."""
    seed(2)
    sizes = [size, *(N for _ in names.split()[1:])]
    return named(
        torch.stack([torch.randperm(N) for _ in range(64)])
        .flatten()[: math.prod(sizes)]
        .view(sizes),
        names,
    )


def places(name: str) -> Tensor:
    """Return each index of a dimension once."""
    return index(name)


Twin = tuple[Callable[[Tensor, Tensor], Any], Callable[[Tensor, Tensor], Any], str]

# By name on x (b t d) and y (d s b), by position, and what the result is called ("_" for no name).
TWINS: dict[str, Twin] = {
    "order": (lambda x, y: named.order(x, "d b t"), lambda x, y: x.permute(2, 0, 1), "d b t"),
    "order, the rest": (
        lambda x, y: named.order(x, "d", "..."),
        lambda x, y: x.permute(2, 0, 1),
        "d b t",
    ),
    "order, merging": (
        lambda x, y: named.order(x, "t (d b)"),
        lambda x, y: x.permute(1, 2, 0).flatten(1),
        "t (d b)",
    ),
    "transpose": (lambda x, y: named.transpose(x, "b"), lambda x, y: x.permute(1, 2, 0), "t d b"),
    "stack": (lambda x, y: named.stack(x, "d t"), lambda x, y: x.mT.flatten(1), "b (d t)"),
    "stack under a name": (
        lambda x, y: named.stack(x, f="b t"),
        lambda x, y: x.flatten(0, 1),
        "f d",
    ),
    "flatten": (
        lambda x, y: named.flatten(x, ["b", "t"], "f"),
        lambda x, y: x.flatten(0, 1),
        "f d",
    ),
    "split": (
        lambda x, y: named.split(x, d="p q", q=2),
        lambda x, y: x.unflatten(2, (2, 2)),
        "b t p q",
    ),
    "split what was merged": (
        lambda x, y: named.split(named.stack(x, "d t"), "(d t)"),
        lambda x, y: x.mT,
        "b d t",
    ),
    "unflatten": (
        lambda x, y: named.unflatten(x, "d", [("p", 2), ("q", 2)]),
        lambda x, y: x.unflatten(2, (2, 2)),
        "b t p q",
    ),
    "get": (lambda x, y: named.get(x, "t", 1), lambda x, y: x[:, 1], "b d"),
    "get several": (lambda x, y: named.get(x, b=0, d=-1), lambda x, y: x[0, :, -1], "t"),
    "index, slice": (
        lambda x, y: named.index(x, t=slice(1, None)),
        lambda x, y: x[:, 1:],
        "b t-1 d",
    ),
    "index, list": (lambda x, y: named.index(x, "t", [0, 2]), lambda x, y: x[:, [0, 2]], "b _ d"),
    "index, tensor": (
        lambda x, y: named.index(x, "t", named.named(torch.tensor([0, 1, 1]), "k")),
        lambda x, y: x[:, torch.tensor([0, 1, 1])],
        "b k d",
    ),
    "unbind": (lambda x, y: named.unbind(x, "t")[1], lambda x, y: x.unbind(1)[1], "b d"),
    "sum": (lambda x, y: named.sum(x, "d b"), lambda x, y: x.sum((2, 0)), "t"),
    "sum of all": (lambda x, y: named.sum(x), lambda x, y: x.sum(), ""),
    "mean": (lambda x, y: named.mean(x, "t"), lambda x, y: x.mean(1), "b d"),
    "mean, kept": (
        lambda x, y: named.mean(x, "t", keepdim=True),
        lambda x, y: x.mean(1, keepdim=True),
        "b _ d",
    ),
    "std": (lambda x, y: named.std(x, "b t"), lambda x, y: x.std((0, 1)), "d"),
    "var": (
        lambda x, y: named.var(x, "b", correction=0),
        lambda x, y: x.var(0, correction=0),
        "t d",
    ),
    "prod": (lambda x, y: named.prod(x, "d"), lambda x, y: x.prod(2), "b t"),
    "amax": (lambda x, y: named.amax(x, "b d"), lambda x, y: x.amax((0, 2)), "t"),
    "amin": (lambda x, y: named.amin(x, "b"), lambda x, y: x.amin(0), "t d"),
    "max": (lambda x, y: named.max(x, "t")[0], lambda x, y: x.max(1)[0], "b d"),
    "min": (lambda x, y: named.min(x, "t")[1], lambda x, y: x.min(1)[1], "b d"),
    "median": (lambda x, y: named.median(x, "t")[0], lambda x, y: x.median(1)[0], "b d"),
    "argmax": (lambda x, y: named.argmax(x, "t"), lambda x, y: x.argmax(1), "b d"),
    "argmin": (lambda x, y: named.argmin(x, "t"), lambda x, y: x.argmin(1), "b d"),
    "all": (
        lambda x, y: named.all(named.op(x, lambda x: x > 0.1), "t"),
        lambda x, y: (x > 0.1).all(1),
        "b d",
    ),
    "any": (
        lambda x, y: named.any(named.op(x, lambda x: x > 0.9), "t"),
        lambda x, y: (x > 0.9).any(1),
        "b d",
    ),
    "logsumexp": (lambda x, y: named.logsumexp(x, "t"), lambda x, y: x.logsumexp(1), "b d"),
    "norm": (lambda x, y: named.norm(x, "t", p=1), lambda x, y: x.norm(1, 1), "b d"),
    "softmax": (lambda x, y: named.softmax(x, "t"), lambda x, y: x.softmax(1), "b t d"),
    "log_softmax": (lambda x, y: named.log_softmax(x, "t"), lambda x, y: x.log_softmax(1), "b t d"),
    "cumsum": (lambda x, y: named.cumsum(x, "t"), lambda x, y: x.cumsum(1), "b t d"),
    "cumprod": (lambda x, y: named.cumprod(x, "t"), lambda x, y: x.cumprod(1), "b t d"),
    "sort": (
        lambda x, y: named.sort(x, "t", descending=True)[0],
        lambda x, y: x.sort(1, True)[0],
        "b t d",
    ),
    "argsort": (lambda x, y: named.argsort(x, "t"), lambda x, y: x.argsort(1), "b t d"),
    "topk": (lambda x, y: named.topk(x, 2, "t")[0], lambda x, y: x.topk(2, 1)[0], "b _ d"),
    "flip": (lambda x, y: named.flip(x, "t b"), lambda x, y: x.flip((1, 0)), "b t d"),
    "roll": (lambda x, y: named.roll(x, 1, "t"), lambda x, y: x.roll(1, 1), "b t d"),
    "dot": (
        lambda x, y: named.dot(x, y, "d"),
        lambda x, y: torch.einsum("btd,dsb->bts", x, y),
        "b t s",
    ),
    "dot over two": (
        lambda x, y: named.dot(x, y, "d b"),
        lambda x, y: torch.einsum("btd,dsb->ts", x, y),
        "t s",
    ),
    "contract": (
        lambda x, y: named.contract((x, y, x), "d"),
        lambda x, y: torch.einsum("btd,dsb,btd->bts", x, y, x),
        "b t s",
    ),
    "cat": (
        lambda x, y: named.cat([x, named.rename(y, t="s")], "t"),
        lambda x, y: torch.cat([x, y.permute(2, 1, 0)], 1),
        "b 2*t d",
    ),
    "stack_new": (
        lambda x, y: named.stack_new([x, named.rename(y, t="s")], "n"),
        lambda x, y: torch.stack([x, y.permute(2, 1, 0)]),
        "n b t d",
    ),
    "align_as": (
        lambda x, y: named.align_as(named.get(y, s=0), x),
        lambda x, y: y[:, 0].T[:, None],
        "b _ d",
    ),
    "expand_as": (
        lambda x, y: named.expand_as(named.get(y, s=0), x),
        lambda x, y: y[:, 0].T[:, None].expand(N, N, N),
        "b t d",
    ),
    "align_to": (
        lambda x, y: named.align_to(x, "d new ..."),
        lambda x, y: x.permute(2, 0, 1)[:, None],
        "d _ b t",
    ),
    "align": (
        lambda x, y: named.op(x, lambda x: torch.mul(*named.align(x, named.get(y, s=0)))),
        lambda x, y: x * y[:, 0].T[:, None],
        "b t d",
    ),
    "masked_fill": (
        lambda x, y: named.masked_fill(x, named.op(named.get(y, s=0), lambda y: y > 0.5), 0.0),
        lambda x, y: x.masked_fill((y[:, 0].T > 0.5)[:, None], 0.0),
        "b t d",
    ),
    "narrow": (lambda x, y: named.narrow(x, "t", 1, 2), lambda x, y: x[:, 1:3], "b _ d"),
    "chunk": (
        lambda x, y: named.chunk(x, 2, "d")[1],
        lambda x, y: x.chunk(2, 2)[1],
        "b t d-(d+1)//2",
    ),
    "gather": (
        lambda x, y: named.gather(x, "t", index("k b d"), "k"),
        lambda x, y: x.gather(1, index("k b d").permute(1, 0, 2)),
        "b k d",
    ),
    "gather, the same along others": (
        lambda x, y: named.gather(x, "d", index("k", 3), "k"),
        lambda x, y: x[:, :, index("k", 3)],
        "b t k",
    ),
    "gather, with the index beside another": (
        lambda x, y: named.gather(x, "t", index("k b", 2), "k"),
        lambda x, y: x.gather(1, index("k b", 2).T[:, :, None].expand(N, 2, N)),
        "b k d",
    ),
    "scatter": (
        lambda x, y: named.scatter(x, "t", places("k"), named.rename(y, k="s"), "k"),
        lambda x, y: x[:, places("k").argsort()] * 0 + y.permute(2, 1, 0)[:, places("k").argsort()],
        "b t d",
    ),
    "scatter of a number": (
        lambda x, y: named.scatter(x, "d", index("k", 2), 0.0, "k"),
        lambda x, y: x.index_fill(2, index("k", 2), 0.0),
        "b t d",
    ),
    "masked_select": (
        lambda x, y: named.masked_select(x, named.op(y, lambda y: y[:, 0] > 0.5), "n"),
        lambda x, y: x[(y[:, 0].T > 0.5)[:, None].expand(N, N, N)],
        "n",
    ),
    "nonzero": (
        lambda x, y: named.nonzero(named.op(x, lambda x: x > 0.5), "n", "axes"),
        lambda x, y: (x > 0.5).nonzero(),
        "n axes",
    ),
    "unique": (
        lambda x, y: named.unique(named.op(x, Tensor.detach, torch.round), "n")[0],
        lambda x, y: x.round().unique(),
        "n",
    ),
    "unique, the inverse": (
        lambda x, y: named.unique(named.argsort(x, "t"), "n")[1],
        lambda x, y: x.argsort(1).unique(return_inverse=True)[1],
        "b t d",
    ),
    "unique along one": (
        lambda x, y: named.unique(named.argsort(x, "t"), "n", "b")[0],
        lambda x, y: x.argsort(1).unique(dim=0),
        "n t d",
    ),
    "triu": (
        lambda x, y: named.triu(x, "d b"),
        lambda x, y: x.permute(1, 2, 0).triu().permute(2, 0, 1),
        "b t d",
    ),
    "tril": (lambda x, y: named.tril(x, "t d", -1), lambda x, y: x.tril(-1), "b t d"),
    "rename": (lambda x, y: named.rename(x, u="t"), lambda x, y: x, "b u d"),
    "rename, swapping": (lambda x, y: named.rename(x, b="t", t="b"), lambda x, y: x, "t b d"),
    "assert_size": (lambda x, y: named.assert_size(x, t=N), lambda x, y: x, "b t d"),
    "op": (
        lambda x, y: named.op(named.order(x, "b d t"), Tensor.float, CONV, F.relu, c="d", u="t"),
        lambda x, y: F.relu(CONV(x.mT.float())),
        "b c u",
    ),
    "reduce": (
        lambda x, y: named.reduce(x, lambda t: t.detach().cos().sum(1), "t"),
        lambda x, y: x.detach().cos().sum(1),
        "b d",
    ),
    "augment": (
        lambda x, y: named.augment(named.argmax(x, "t"), EMBEDDING, "e"),
        lambda x, y: EMBEDDING(x.argmax(1)),
        "b d e",
    ),
}


def told(text: str) -> tuple[str | None, ...]:
    """Read `"b (h d) _"` as `dims_of` would tell it."""
    import re

    return tuple(None if p == "_" else p for p in re.findall(r"\([^)]*\)|\S+", text))


@pytest.mark.parametrize("name", TWINS)
def test_outside_of_decorated_calls(name: str) -> None:
    by_name, by_position, names = TWINS[name]
    found = by_name(named(x(), "b t d"), named(y(), "d s b"))
    torch.testing.assert_close(found, by_position(x(), y()), rtol=1e-12, atol=0)
    assert dims_of(found) == told(names)


@pytest.mark.parametrize("name", TWINS)
def test_inside_of_a_decorated_call(name: str) -> None:
    by_name, by_position, names = TWINS[name]

    @shapecheck
    def inside(x: Float[Tensor, "b t d"], y: Float[Tensor, "d s b"]) -> Any:
        found = by_name(x, y)
        assert dims_of(found) == told(names)
        return found

    torch.testing.assert_close(inside(x(), y()), by_position(x(), y()), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", TWINS)
def test_gradients(name: str) -> None:
    by_name, by_position, _ = TWINS[name]
    gradients = []
    for function, call in ((by_name, True), (by_position, False)):
        a, b = x().requires_grad_(), y().requires_grad_()
        if call:
            named(a, "b t d"), named(b, "d s b")
        result = function(a, b)
        if not result.is_floating_point() or not result.requires_grad:
            return
        result.square().sum().backward()
        gradients.append([t.grad if t.grad is not None else torch.zeros(()) for t in (a, b)])
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)


def test_dimension_objects() -> None:
    batch, time, other = Dim("batch"), Dim("time"), Dim("time")
    a = named.rename(named.rename(named(x(), "b t d"), "b", batch), "t", time)
    assert dims_of(a) == (batch, time, "d")
    assert torch.equal(named.sum(a, time), x().sum(1))
    assert torch.equal(named.order(a, (time, "d", batch)), x().permute(1, 2, 0))
    assert torch.equal(named.softmax(a, time), x().softmax(1))
    b = named.rename(named.rename(named(y(), "b t d"), "t", time), "b", other)
    assert dims_of(named.dot(a, b, (time,))) == (batch, "d", other)  # d is shared, batched


RENAMING: dict[str, Callable[[Tensor], Tensor]] = {
    "rename": lambda a: named.rename(a, s="t"),
    "one dimension merged": lambda a: named.stack(a, s="t"),
    "one dimension flattened": lambda a: named.flatten(a, "t", "s"),
    "nothing done": lambda a: named.op(a, nn.Identity(), s="t"),
    "nothing to be done": lambda a: named.op(a, Tensor.double, Tensor.contiguous, s="t"),
}


@pytest.mark.parametrize("way", RENAMING)
def test_names_stay_with_the_tensor_that_is_renamed(way: str) -> None:
    def renamed(a: Float[Tensor, "b t d"]) -> None:
        b = RENAMING[way](a)
        assert dims_of(a) == ("b", "t", "d")
        assert dims_of(b) == ("b", "s", "d")
        assert b.data_ptr() == a.data_ptr()

    renamed(named(x(), "b t d"))
    shapecheck(renamed)(x())


def test_what_is_put_is_as_long_as_its_index() -> None:
    index, source = named(torch.tensor([2, 0]), "k"), named(torch.ones(3), "k")
    with pytest.raises(ShapeError, match=r"can't put \(k\) where \(k\) says"):
        named.scatter(named(x(), "b t d"), "t", index, source, "k")


@pytest.mark.parametrize("batch", [1, 3])
def test_an_index_has_the_others_dimensions_whole(batch: int) -> None:
    at = named(torch.zeros(batch, 2, dtype=torch.long), "b k")
    with pytest.raises(ShapeError, match='has no "b"'):
        named.gather(named(x(), "b t d"), "t", at, "k")
