"""What operations by name give of sequences of several lengths, against loops over each of them.

The padding is noise, so that nothing that counts it comes out right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from shapecheck import Dim, Float, Int, Shaped, dims, dims_of, named, shapecheck

Batch, Feature = dims("batch feature")
One, Other = Dim("one", ragged=True), Dim("other", ragged=True)
End, Heads = Dim("end", size=1), Dim("heads", size=2)
Out = Dim("out", ragged=True)

Rows = list[Tensor]


def drawn(data: st.DataObject, count: int) -> tuple[Rows, Tensor, int]:
    """Return sequences `(time 2)`, their lengths, and how long they are with the padding."""
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    size = max(lengths) + data.draw(st.integers(0, 2))
    rows = [torch.randn(n, 2).double() for n in lengths]
    return rows, named(torch.tensor(lengths), Batch), size


def padded(rows: Rows, size: int) -> Tensor:
    """Return sequences beside each other, with noise behind each."""
    noise = torch.randn(len(rows), size, 2).double() * 1e3
    for at, row in enumerate(rows):
        noise[at, : len(row)] = row
    return noise


def decorated(test: Callable[[], None]) -> Callable[[], None]:
    """Return a test that runs in a decorated call, where torch's own functions carry names."""

    @shapecheck
    def inside(annotated: Shaped[Tensor, ""]) -> None:
        test()

    return lambda: inside(torch.zeros(()))


OVER: dict[str, tuple[Callable[..., Any], Callable[[Tensor], Any]]] = {
    "sum": (named.sum, lambda row: row.sum(0)),
    "mean": (named.mean, lambda row: row.mean(0)),
    "amax": (named.amax, lambda row: row.amax(0)),
    "logsumexp": (named.logsumexp, lambda row: row.logsumexp(0)),
    "prod": (named.prod, lambda row: row.prod(0)),
    "median": (lambda x, dim: named.median(x, dim)[0], lambda row: row.median(0)[0]),
}
ALONG: dict[str, tuple[Callable[..., Any], Callable[[Tensor], Any]]] = {
    "softmax": (named.softmax, lambda row: row.softmax(0)),
    "log_softmax": (named.log_softmax, lambda row: row.log_softmax(0)),
    "cumsum": (named.cumsum, lambda row: row.cumsum(0)),
    "cumprod": (named.cumprod, lambda row: row.cumprod(0)),
    "flip": (named.flip, lambda row: row.flip(0)),
    "roll": (lambda x, dim: named.roll(x, 1, dim), lambda row: row.roll(1, 0)),
    "sort": (lambda x, dim: named.sort(x, dim)[0], lambda row: row.sort(0)[0]),
    "sort descending": (
        lambda x, dim: named.sort(x, dim, True)[0],
        lambda row: row.sort(0, descending=True)[0],
    ),
}
JOINED: dict[str, Callable[[Any, Any, Tensor, Tensor], tuple[Tensor, Any]]] = {
    "one": lambda one, other, x, y: (x, one),
    "one and other": lambda one, other, x, y: (
        named.cat([x, y], (One, Other)),
        one + other,
    ),
    "twice": lambda one, other, x, y: (named.cat([x, x], One), 2 * one),
    "each twice": lambda one, other, x, y: (
        named(x.repeat_interleave(2, 1), Batch, One * 2, Feature),
        one * 2,
    ),
    "an end": lambda one, other, x, y: (
        named.cat([x, named(torch.ones_like(x[:, :1]), Batch, End, Feature)], (One, End)),
        one + End,
    ),
    "a number": lambda one, other, x, y: (
        torch.cat([x, torch.ones_like(x[:, :1])], 1),
        one + 1,
    ),
    "a beginning": lambda one, other, x, y: (
        named.cat([named(torch.ones_like(x[:, :1]), Batch, End, Feature), x], (End, One)),
        End + one,
    ),
    "heads": lambda one, other, x, y: (
        named(torch.cat([x, x], 1), Batch, Heads * One, Feature),
        Heads * one,
    ),
}
ALONE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "one": lambda x, y: x,
    "one and other": lambda x, y: torch.cat([x, y]),
    "twice": lambda x, y: torch.cat([x, x]),
    "each twice": lambda x, y: x.repeat_interleave(2, 0),
    "an end": lambda x, y: torch.cat([x, torch.ones_like(x[:1])]),
    "a number": lambda x, y: torch.cat([x, torch.ones_like(x[:1])]),
    "a beginning": lambda x, y: torch.cat([torch.ones_like(x[:1]), x]),
    "heads": lambda x, y: torch.cat([x, x]),
}


@pytest.mark.parametrize("name", OVER)
@pytest.mark.parametrize("how", JOINED)
@settings(max_examples=3)
@given(data=st.data())
def test_over_sequences(how: str, name: str, data: st.DataObject) -> None:
    by_name, plain = OVER[name]

    @decorated
    def test() -> None:
        (rows, lengths, size), (more, beside, wide) = drawn(data, 3), drawn(data, 3)
        x, y = padded(rows, size), padded(more, wide)
        x, y = named(x, Batch, One, Feature), named(y, Batch, Other, Feature)
        one, other = One.with_lengths(lengths), Other.with_lengths(beside)
        whole, dim = JOINED[how](one, other, x, y)
        expected = [plain(ALONE[how](a, b)) for a, b in zip(rows, more, strict=True)]
        torch.testing.assert_close(by_name(whole, dim), torch.stack(expected))

    test()


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("how", JOINED)
@settings(max_examples=3)
@given(data=st.data())
def test_along_sequences(how: str, name: str, data: st.DataObject) -> None:
    by_name, plain = ALONG[name]

    @decorated
    def test() -> None:
        (rows, lengths, size), (more, beside, wide) = drawn(data, 2), drawn(data, 2)
        x, y = padded(rows, size), padded(more, wide)
        x, y = named(x, Batch, One, Feature), named(y, Batch, Other, Feature)
        one, other = One.with_lengths(lengths), Other.with_lengths(beside)
        whole, dim = JOINED[how](one, other, x, y)
        found = by_name(whole, dim)
        assert dims_of(found) == dims_of(whole)
        kept = named.mask(whole, dim).squeeze(-1)
        for at, (a, b) in enumerate(zip(rows, more, strict=True)):
            torch.testing.assert_close(found[at][kept[at]], plain(ALONE[how](a, b)))

    test()


@settings(max_examples=5)
@given(data=st.data())
def test_products(data: st.DataObject) -> None:
    @decorated
    def test() -> None:
        rows, lengths, size = drawn(data, 3)
        more = [torch.randn(len(row), 2).double() for row in rows]
        x = named(padded(rows, size), Batch, One, Feature)
        y = named(padded(more, size), Batch, One, "g")
        found = named.dot(x, y, One.with_lengths(lengths))
        expected = [a.T @ b for a, b in zip(rows, more, strict=True)]
        torch.testing.assert_close(found, torch.stack(expected))
        table = named(torch.randn(size, 4).double(), One, "h")
        found = named.dot(x, table, One.with_lengths(lengths))
        expected = [a.T @ table[: len(a)] for a in rows]
        torch.testing.assert_close(found, torch.stack(expected))

    test()


@pytest.mark.parametrize("how", JOINED)
@settings(max_examples=3)
@given(data=st.data())
def test_packed_and_padded_again(how: str, data: st.DataObject) -> None:
    @decorated
    def test() -> None:
        (rows, lengths, size), (more, beside, wide) = drawn(data, 3), drawn(data, 3)
        x, y = padded(rows, size), padded(more, wide)
        x, y = named(x, Batch, One, Feature), named(y, Batch, Other, Feature)
        whole, dim = JOINED[how](One.with_lengths(lengths), Other.with_lengths(beside), x, y)
        again = named.unpack(named.pack(whole, dim), Out, "b", "f")
        for at, (a, b) in enumerate(zip(rows, more, strict=True)):
            expected = ALONE[how](a, b)
            torch.testing.assert_close(again[at, : len(expected)], expected)

    test()


def test_where_the_sequences_are_may_not_be_clear() -> None:
    one, other = One.with_lengths(torch.tensor([1, 2])), Other.with_lengths(torch.tensor([2, 1]))
    for dim in ((one + other) // 2, one * other, one - other):
        with pytest.raises(ValueError, match="it isn't clear where the sequences of"):
            dim.mask()
    assert ((one + other) - other).mask(2).tolist() == [[True, False], [True, True]]
    assert ((one - 1) // 2 + 1).mask(2).tolist() == [[True, False], [True, False]]


@shapecheck
def encoded(
    x: Float[Tensor, Batch, One, Feature], lengths: Int[Tensor, Batch], gru: torch.nn.GRU
) -> Float[Tensor, Batch, One, "hidden"]:
    time = One.with_lengths(lengths)
    steps, _ = gru(named.pack(x, time))
    return named.unpack(steps, time, Batch, "hidden")


def test_more_padding_than_the_longest_sequence_needs() -> None:
    found = encoded(torch.rand(2, 5, 2), torch.tensor([3, 2]), torch.nn.GRU(2, 3, batch_first=True))
    assert found.shape == (2, 5, 3)
    assert not found[:, 3:].any()
