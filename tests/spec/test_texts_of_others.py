"""Shapes as other libraries and people write them, in our language."""

from __future__ import annotations

from typing import Any

import pytest

from shapecheck.spec import SpecError
from shapecheck.spec.dialects import of_annotated, of_dltype, of_slots, of_text, of_words


@pytest.mark.parametrize(
    ("slots", "text"),
    [
        ([("batch", ...), ("in-features", None), (None, 3)], "*batch in_features 3"),
        ([("n", -1), (None, -1), (None, None), (None, ...)], "n _ _ ..."),
        ([("n", "m"), ("n", 0), (None, "m")], "n=m n=0 m"),
        ([("2", None), ("_x", None), ("", 2), (" b ", 1)], "d2 d_x unnamed=2 b=1"),
    ],
)
def test_torchtyping(slots: list[Any], text: str) -> None:
    """Names are any texts; a negative size is any."""
    assert str(of_slots(slots)) == text


def test_vllm() -> None:
    words = ["b", 3, ..., "h w", 0, -1, "p"]
    assert str(of_words(words, {"p"})) == "b 3 ... h_w 0 _ _p"
    assert str(of_words(words)) == "b 3 ... h_w 0 _ p"


def test_dltype() -> None:
    """What our language can't say is any size."""
    assert str(of_dltype("b c/2 isqrt(n) n^2 a//2 2*isqrt(n)")) == "b c//2 _ n**2 a//2 _"
    with pytest.raises(SpecError):
        of_dltype("b c!")


READ: list[tuple[str, str | None]] = [
    ("b c", "b c"),
    ("shape: (B, L, D)", "B L D"),
    ("shape = (b,)", "b"),
    ("shape (b)", "b"),
    ("SHAPE[b]", "b"),
    ("tensor of shape [b, (h w)]", "b (h w)"),
    ("[b, c]", "b c"),
    ("[b, ]", "b"),
    ("[b]", "b"),
    ("(b c)", "(b c)"),
    ("(b, c) float32", "b c"),
    ("(b, c), dtype: torch.int64", "b c"),
    ("(b, c) something", None),
    ("[2 * n, n / 2, n//3, 2^n]", "2*n n//2 n//3 2**n"),
    ("b \N{MULTIPLICATION SIGN} c \N{MULTIPLICATION SIGN} 3", "b c 3"),
    ("b x c x 3", None),
    ("b | c", None),
    # prose, or names of sizes
    ("batch channels", "batch channels"),
    ("batch size", "batch size"),
    ("seq dim", "seq dim"),
    ("rows", "rows"),
    ("b tokens", "b tokens"),
    ("a batch", "a batch"),
    ("a b c", "a b c"),
    ("ab cd", "ab cd"),
    ("xy frame", "xy frame"),
    ("size", None),
    ("hidden size", None),
    ("weights", None),
    ("abc def", None),
    ("batch weights", None),
    ("the batch", None),
    ("An input", None),
    ("an input b", None),
    ("rows of it", None),
    ("Input tensor", None),
    ("foo [", None),
]


@pytest.mark.parametrize(("text", "shape"), READ, ids=[text for text, _ in READ])
def test_a_text_beside_a_type(text: str, shape: str | None) -> None:
    """It is a shape, or words about the tensor."""
    found = of_text(text)
    assert (None if found is None else str(found)) == shape


@pytest.mark.parametrize("text", ["[b, c d]", "[b c]", "[b, -1]", "batch, height", "rows ["])
def test_a_text_that_is_meant_as_a_shape(text: str) -> None:
    """Where all its words are of sizes, a mistake in it is told."""
    with pytest.raises(SpecError):
        of_text(text)


@pytest.mark.parametrize(
    ("items", "shape"),
    [
        (["b c"], "b c"),
        (["b", 3, ...], "b 3 ..."),
        (["b", "c"], "b c"),
        (["b c", 3], "b c"),
        (["Input", "b c"], "b c"),
        (["the input", "b"], "b"),
        (["b", "of"], None),
        (["b", object()], "b"),
        ([True, "b"], "b"),
        ([3, ...], None),
        ([object()], None),
        ([], None),
    ],
)
def test_what_stands_in_annotated(items: list[object], shape: str | None) -> None:
    """One text for all dimensions, or one for each; what is neither is another library's."""
    found = of_annotated(items)
    assert (None if found is None else str(found)) == shape
