"""A rule is asked once for names, not once for each of their sizes, where sizes decide nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, dims_of, shapecheck
from shapecheck.runtime.naming import mode


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
    """The second length and every one after it; the names are there all the same."""
    checked = shapecheck(attend)
    checked(torch.randn(3, 5, 8), 4)
    assert asked
    asked.clear()
    for b, t in [(5, 6), (7, 11), (16, 9)]:
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
