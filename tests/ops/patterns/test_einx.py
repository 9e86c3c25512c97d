"""einx and the other einsum packages; their own results, written down."""

from __future__ import annotations

import pytest
from op_oracle import apply, parse, refusal, show


@pytest.mark.parametrize(
    ("op", "description", "shapes", "expected"),
    [
        ("rearrange", "b h d -> b (h d)", ["b h d"], "b (h d)"),
        ("add", "b c, c -> b c", ["n k", "k"], "n k"),
        ("add", "b c, c", ["n k", "k"], "n k"),
        ("subtract", "b c,", ["n k", ""], "n k"),
        ("where", "b c, b c, -> c b", ["n k", "n k", ""], "k n"),
        ("mean", "b [t] c", ["n t c"], "n c"),
        ("sum", "b [t c]", ["n t c"], "n"),
        ("sum", "[...]", ["n t c"], ""),
        ("max", "b [t] c -> c b", ["n t c"], "c n"),
        ("softmax", "b [t]", ["n t"], "n t"),
        ("dot", "a [b], [b] c -> a c", ["n k", "k m"], "n m"),
        ("get_at", "[v] c, b t -> b t c", ["v c", "n t"], "n t c"),
        ("get_at", "b [h w] c, b p [2] -> b p c", ["n h w c", "n p 2"], "n p c"),
        ("add", "a..., b -> a...", ["n t", "k"], "..."),
        ("add", "(a + b) c -> c", ["n t"], "..."),
    ],
)
def test_einx(op: str, description: str, shapes: list[str], expected: str) -> None:
    assert show(apply(f"einx.{op}", description, *map(parse, shapes))) == expected


def test_einx_lengths() -> None:
    assert show(apply("einx.rearrange", "b (h d) -> b h d", parse("n 64"), h=8)) == "n 8 8"


def test_einx_refuses() -> None:
    said = refusal(
        lambda *args: apply("einx.add", *args), "b c, c -> b c", parse("n k"), parse("m")
    )
    assert said == ('can\'t take (n k) and (m) by "b c, c -> b c": axis 0 is m, where "c" is k')


def test_other_einsums() -> None:
    equation = "batch heads q d, batch heads k d -> batch heads q k"
    a, b = parse("b h n d"), parse("b h m d")
    assert show(apply("fancy_einsum.einsum", equation, a, b)) == "b h n m"
    assert show(apply("opt_einsum.contract", "ij,jk->ik", parse("i j"), parse("j k"))) == "i k"
