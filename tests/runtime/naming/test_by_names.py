"""A rule is asked once for names, not once for each of their sizes, where sizes decide nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, dims_of, named, shapecheck
from shapecheck.runtime.naming import mode
from shapecheck.runtime.naming.by_names import names_in
from shapecheck.runtime.naming.call_names import state


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ops whose rules are asked from here on."""
    found: list[str] = []
    question = mode.Question

    def ask(frame: Any, func: Any, *given: Any, **how: Any) -> Any:
        found.append(func.__name__)
        return question(frame, func, *given, **how)

    monkeypatch.setattr(mode, "Question", ask)
    return found


def attend(x: Float[Tensor, "b t d"], heads: int) -> Float[Tensor, "b t d"]:
    b, t, d = x.shape
    q = x.view(b, t, heads, d // heads).transpose(1, 2)
    k, v = q * 2, torch.cat([q, q], 2)[:, :, :t]
    scores = (q @ k.mT).softmax(-1) @ v
    first, second = x.chunk(2, -1)
    return scores.transpose(1, 2).reshape(b, t, d) + torch.cat((second, first), -1)


def test_new_sizes_ask_no_rule(asked: list[str]) -> None:
    """The second length and every one after it; the names are there all the same.

    Sizes are above the ranks: a smaller number in a call may be an axis, and is asked for.
    """
    checked = shapecheck(attend)
    checked(torch.randn(6, 5, 8), 4)
    assert asked
    asked.clear()
    for b, t in [(5, 6), (7, 11), (16, 9), (9, 10)]:
        assert dims_of(checked(torch.randn(b, t, 8), 4)) == ("b", "t", "d")
    assert asked == []


Op = Callable[[Tensor, Tensor], Any]


@pytest.mark.parametrize(
    ("op", "first", "second", "why"),
    [
        (lambda x, y: x + y, (3, 1), (3, 4), "an axis that was 1 isn't any more"),
        (lambda x, y: x.view(-1, 2, 2), (3, 4), (2, 6), "two of the names are of one size"),
        (lambda x, y: x.clone().mul_(2), (5, 7), (5, 8), "it writes into what it is given"),
        (lambda x, y: torch.cat([x, y], 1)[:, :5], (3, 5), (3, 7), "a number was a size"),
    ],
)
def test_where_sizes_decide_the_rule_is_asked(
    op: Op, first: tuple[int, int], second: tuple[int, int], why: str, asked: list[str]
) -> None:
    @shapecheck
    def run(x: Float[Tensor, "n m"], y: Float[Tensor, "n m"]) -> None:
        op(x, y)

    run(torch.rand(first), torch.rand(first))
    asked.clear()
    run(torch.rand(second), torch.rand(second))
    assert asked, why


def test_an_error_by_names_is_one_for_all_sizes() -> None:
    @shapecheck
    def run(x: Float[Tensor, "n d"], scramble: bool) -> Float[Tensor, "n d"]:
        return x.T.reshape(x.shape) if scramble else x.T.reshape(-1).view(x.T.shape).T

    run(torch.ones(5, 3), scramble=False)
    run(torch.ones(6, 2), scramble=False)
    for sizes in [(5, 3), (4, 4), (7, 2)]:
        with pytest.raises(ShapeError, match=r'"reshape" scrambles \(d n\) into \(n d\)'):
            run(torch.ones(sizes), scramble=True)


def test_names_of_a_result_are_those_of_its_sizes() -> None:
    """Half of one that is even, and of one that isn't: both are said as they are."""

    @shapecheck
    def run(x: Float[Tensor, "n d"]) -> list[Any]:
        return [dims_of(part) for part in x.chunk(2, 0)]

    first = run(torch.rand(6, 3))
    assert first == run(torch.rand(8, 5)) == run(torch.rand(10, 4))
    assert run(torch.rand(7, 3)) == run(torch.rand(9, 5))


def test_the_number_of_an_axis_is_not_taken_for_a_size() -> None:
    """Axis 2 where the batch is 2, then axis 3 where it is 3; what is there has one size."""

    @shapecheck
    def run(x: Float[Tensor, "b h t d"], axis: int) -> list[Any]:
        return [dims_of(x.sum(axis)), dims_of(x.transpose(1, axis))]

    assert run(torch.rand(2, 5, 8, 8), 2) == [("b", "h", "d"), ("b", "t", "h", "d")]
    assert run(torch.rand(3, 5, 8, 8), 3) == [("b", "h", "t"), ("b", "d", "t", "h")]


def test_a_name_of_several_sizes_is_left_to_the_rule() -> None:
    """Outside of calls two tensors may have a `t` each: a pattern can't say how these compare."""
    several = [named(torch.rand(size, 3), "t c") for size in (5, 5, 7)]
    five, alike, seven = (state.root.of(one) for one in several)
    assert names_in((torch.add, five, alike)) is not None
    assert names_in((torch.add, five, seven)) is None
