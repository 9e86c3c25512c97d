"""Sequences of several lengths: masks, what leaves padding out, and the warning where nothing does.

Each operation is compared with the positional one on each sequence by itself, without padding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from seeded_bugs import analyzed, errors
from seeding import seed
from torch import Tensor, nn

from shapecheck import Bool, Dim, Float, Int, RaggedWarning, dims, dims_of, named, shapecheck

Batch, Feature = dims("batch feature")
Time = Dim("time", kind="spatial", ragged=True)
LENGTHS = torch.tensor([3, 1, 4])


def padded(dtype: torch.dtype = torch.float64) -> Tensor:
    seed(0)
    return (torch.rand(3, 4, 5) * 100).to(dtype)


REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Tensor], Tensor]]] = {
    "sum": (named.sum, lambda x: x.sum(0)),
    "mean": (named.mean, lambda x: x.mean(0)),
    "std": (named.std, lambda x: x.std(0)),
    "var": (named.var, lambda x: x.var(0)),
    "amax": (named.amax, lambda x: x.amax(0)),
    "amin": (named.amin, lambda x: x.amin(0)),
    "logsumexp": (named.logsumexp, lambda x: x.logsumexp(0)),
    "norm": (named.norm, lambda x: x.norm(dim=0)),
    "prod": (named.prod, lambda x: x.prod(0)),
    "max": (lambda x, dim: named.max(x, dim)[0], lambda x: x.max(0)[0]),
    "min": (lambda x, dim: named.min(x, dim)[1], lambda x: x.min(0)[1]),
    "argmax": (named.argmax, lambda x: x.argmax(0)),
    "argmin": (named.argmin, lambda x: x.argmin(0)),
}


@pytest.mark.filterwarnings("ignore:std", "ignore:var")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_leaves_the_padding_out(name: str) -> None:
    by_name, plain = REDUCTIONS[name]
    x = padded()
    expected = torch.stack([plain(row[:n]) for row, n in zip(x, LENGTHS, strict=True)])
    x = named(x, Batch, Time, Feature)
    found = by_name(x, Time.with_lengths(LENGTHS))
    assert dims_of(found) == (Batch, Feature)
    torch.testing.assert_close(found, expected, equal_nan=True)
    swapped = by_name(named.order(x, Feature, Time, Batch), Time.with_lengths(LENGTHS))
    torch.testing.assert_close(swapped, expected.T, equal_nan=True)


def test_several_dimensions_and_integers_and_bools() -> None:
    x = named(padded(), Batch, Time, Feature)
    time = Time.with_lengths(LENGTHS)
    rows = list(zip(padded(), LENGTHS, strict=True))
    expected = torch.stack([row[:n].mean() for row, n in rows])
    torch.testing.assert_close(named.mean(x, (time, Feature)), expected)
    torch.testing.assert_close(named.sum(x), padded().sum())
    whole = named(padded(torch.int64), Batch, Time, Feature)
    largest = torch.stack([row[:n].amax(0) for row, n in zip(whole, LENGTHS, strict=True)])
    assert torch.equal(named.amax(whole, time), largest)
    truth = named(padded() > 50, Batch, Time, Feature)
    assert torch.equal(
        named.all(truth, time), torch.stack([(row > 50)[:n].all(0) for row, n in rows])
    )


def test_softmax_gives_padding_no_weight() -> None:
    x = named(padded(), Batch, Time, Feature)
    time = Time.with_lengths(LENGTHS)
    weights, logs = named.softmax(x, time), named.log_softmax(x, time)
    assert dims_of(weights) == dims_of(logs) == (Batch, Time, Feature)
    for row, weight, log, n in zip(padded(), weights, logs, LENGTHS, strict=True):
        torch.testing.assert_close(weight[:n], row[:n].softmax(0))
        torch.testing.assert_close(log[:n], row[:n].log_softmax(0))
        assert not weight[n:].any()


def test_gradients_do_not_reach_the_padding() -> None:
    x = padded().requires_grad_()
    named.mean(named(x, Batch, Time, Feature), Time.with_lengths(LENGTHS)).sum().backward()
    assert x.grad is not None
    for row, n in zip(x.grad, LENGTHS, strict=True):
        assert row[:n].all()
        assert not row[n:].any()


def test_masks() -> None:
    time = Time.with_lengths(LENGTHS)
    steps = torch.arange(4)
    assert torch.equal(time.mask(), steps < LENGTHS[:, None])
    assert time.mask(6).shape == (3, 6)
    x = named(padded().mT, Batch, Feature, Time)
    mask = named.mask(x, time)
    assert mask.shape == (3, 1, 4)
    assert dims_of(mask) == (Batch, None, Time)
    filled = named.masked_fill(x, named.op(mask, torch.logical_not), 0.0)
    assert torch.equal(filled, x.masked_fill(~mask, 0.0))
    assert dims_of(filled) == dims_of(named.expand_as(mask, x)) == dims_of(x)
    with pytest.raises(ValueError, match='"time" has no lengths; with_lengths'):
        Time.mask()


def test_which_dimension_the_lengths_belong_to() -> None:
    square = named(torch.rand(4, 4, 4), "a", Time, "b")
    lengths = torch.tensor([1, 2, 3, 4])
    with pytest.raises(ValueError, match="it isn't clear which dimensions of"):
        named.sum(square, Time.with_lengths(lengths))
    found = named.sum(square, Time.with_lengths(named(lengths, "b")))
    expected = torch.stack([square[:, :n, i].sum(1) for i, n in enumerate(lengths)], 1)
    torch.testing.assert_close(found, expected)


def test_lengths_follow_the_algebra() -> None:
    time = Time.with_lengths(LENGTHS)
    assert ((time + 1) // 2).lengths.tolist() == [2, 1, 2]
    assert (2 * time - 1).lengths.tolist() == [5, 1, 7]
    assert (1 + time).ragged
    assert (time * Dim("two", size=2)).lengths.tolist() == [6, 2, 8]
    assert (time * Feature).lengths is None
    assert time == Time
    assert hash(time) == hash(Time)


def test_packing_and_unpacking() -> None:
    gru = nn.GRU(5, 5, batch_first=True).double()

    @shapecheck
    def encode(
        x: Float[Tensor, Batch, Time, Feature], lengths: Int[Tensor, Batch]
    ) -> Float[Tensor, Batch, Time, "hidden"]:
        time = Time.with_lengths(lengths)
        steps, _ = gru(named.pack(x, time))
        return named.unpack(steps, time, Batch, "hidden")

    x = padded()
    found = encode(x, LENGTHS)
    assert dims_of(found) == (Batch, Time, "hidden")
    for row, one, n in zip(x, found, LENGTHS, strict=True):
        torch.testing.assert_close(one[:n], gru(row[None, :n])[0][0])
        assert not one[n:].any()


# The warning ------------------------------------------------------------------------------------


@shapecheck
def blind_mean(x: Float[Tensor, Batch, Time, Feature]) -> Float[Tensor, Batch, Feature]:
    return x.mean(1)


@shapecheck
def blind_softmax(x: Float[Tensor, Batch, Time]) -> Float[Tensor, Batch, Time]:
    return torch.softmax(x, dim=-1)


@shapecheck
def blind_by_name(x: Float[Tensor, "Batch Time Feature"]) -> Float[Tensor, "Batch Feature"]:
    return named.amax(x, "time")


@shapecheck
def over_features(x: Float[Tensor, Batch, Time, Feature]) -> Float[Tensor, Batch, Time]:
    return x.softmax(2).mean(-1)


@shapecheck
def with_mask(
    x: Float[Tensor, Batch, Time, Feature], mask: Bool[Tensor, Batch, Time]
) -> Float[Tensor, Batch, Feature]:
    return (x * mask[..., None]).sum(1) / mask.sum(1)[:, None]


@shapecheck
def with_dimension(x: Float[Tensor, Batch, Time, Feature], over: Dim) -> Tensor:
    return named.mean(x, over)


def said(call: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(issubclass(one.category, RaggedWarning) for one in caught)
    return [str(one.message).partition("\n")[0] for one in caught]


def test_a_blind_reduction_is_warned_of_each_time() -> None:
    text = '"{}" counts the padding of time, which has sequences of several lengths  [shape-ragged]'
    x = padded()
    for _ in range(3):
        assert said(lambda: blind_mean(x)) == [text.format("mean")]
        assert said(lambda: blind_softmax(x[..., 0])) == [text.format("torch.softmax")]
        assert said(lambda: blind_by_name(x)) == [text.format("named.amax")]


def test_nothing_is_said_of_what_minds_padding_or_has_none() -> None:
    x = padded()
    for _ in range(2):
        assert said(lambda: over_features(x)) == []
        assert said(lambda: with_mask(x, x[..., 0] > 50)) == []
        assert said(lambda: with_dimension(x, Time.with_lengths(LENGTHS))) == []


def test_the_warning_can_be_switched_off() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", RaggedWarning)
        blind_mean(padded())
    assert caught == []


HEAD = """\
import torch
import torch.nn.functional as F
from shapecheck import Dim, Float, Int, dims, named, shapecheck
from torch import Tensor, nn
Batch, Feature = dims("batch feature")
Time = Dim("time", kind="spatial", ragged=True)
pool, norm = nn.AdaptiveAvgPool1d(1), nn.BatchNorm1d(5)
gru, loss = nn.GRU(4, 4, batch_first=True), nn.CrossEntropyLoss()
"""
X, ROWS = "x: Float[Tensor, Batch, 5, Time]", "x: Float[Tensor, Batch, Time, 4]"
CLASSES = "x: Float[Tensor, Batch, Feature, Time], y: Int[Tensor, Batch, Time]"
IDS = torch.zeros(3, 4, dtype=torch.int64)


@pytest.mark.parametrize(
    ("parameters", "expression", "given", "counts"),
    [
        (X, "x @ x.mT", (torch.rand(3, 5, 4),), True),
        (X, "x.mT @ x", (torch.rand(3, 5, 4),), False),
        (X, 'torch.einsum("bft,bgt->bfg", x, x)', (torch.rand(3, 5, 4),), True),
        (X, 'torch.einsum("bft,bgt->bfgt", x, x)', (torch.rand(3, 5, 4),), False),
        (X, "named.dot(x[:, 0], x[:, 1], Time)", (torch.rand(3, 5, 4),), True),
        (X, "F.adaptive_avg_pool1d(x, 1)", (torch.rand(3, 5, 4),), True),
        (X, "pool(x)", (torch.rand(3, 5, 4),), True),
        (X, "F.avg_pool1d(x, 2)", (torch.rand(3, 5, 4),), False),
        (X, "norm(x)", (torch.rand(3, 5, 4),), True),
        (ROWS, "gru(x)[0]", (torch.rand(3, 4, 4),), True),
        (CLASSES, "F.cross_entropy(x, y)", (torch.rand(3, 5, 4), IDS), True),
        (CLASSES, "loss(x, y)", (torch.rand(3, 5, 4), IDS), True),
        (CLASSES, "F.cross_entropy(x, y, ignore_index=-1)", (torch.rand(3, 5, 4), IDS), False),
        (CLASSES, 'F.cross_entropy(x, y, reduction="none")', (torch.rand(3, 5, 4), IDS), False),
    ],
)
def test_both_sides_warn_of_what_counts_padding(
    parameters: str, expression: str, given: tuple[Tensor, ...], counts: bool
) -> None:
    text = f"{HEAD}\n@shapecheck\ndef f({parameters}) -> Tensor:\n    return {expression}\n"
    found = [line for _, line in errors(analyzed(text))]
    assert [("counts the padding of time" in line) for line in found] == [True] * counts
    names: dict[str, Any] = {"__name__": "program"}
    exec(text, names)
    assert len(said(lambda: names["f"](*given))) == counts
