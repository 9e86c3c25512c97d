"""Which comments state a shape, and which are prose, code or values."""

from __future__ import annotations

import pytest

from shapecheck.codemod.said import comment, parse

PLAIN = {
    "(B, T, C)": "B T C",
    "[B, H, T, D]": "B H T D",
    "[..., N, 3]": "... N 3",
    "[*, N, C]": "... N C",
    "Shape: (b, num_tokens, d_out)": "b num_tokens d_out",
    "shape (1, t)": "1 t",
    "x: (B, T)": "B T",
    "[B, 2, K*H, K * W]": "B 2 K*H K*W",
    "(N, H, D/2)": "N H D//2",
    "(2 * D, N - 1)": "2*D N-1",
    "(b, t, self.d_model)": "b t {self.d_model}",
    "(batch, -1, 3)": "batch _ 3",
    "(h, w, num_rays, 6) or None": "h w num_rays 6",
    "(B, T, C) -> (B, nh, T, hs)": "B nh T hs",
    "Unroll: (b, n, d) -> (b, n, h, k)": "b n h k",
    "(batch, n, vocab_size) becomes (batch, vocab_size)": "batch vocab_size",
    "(B, n, T) x (B, T, d) -> (B, n, d)": "B n d",
}
DOUBTFUL = {
    "b t c": "b t c",
    "B x T x C": "B T C",
    "B, N, C": "B N C",
    "(b c t h w)": "b c t h w",
    "[C]": "C",
    "(num_rays)": "num_rays",
    "[1, 2, 3]": "1 2 3",
}
OTHER = [
    "",
    "(optional) camera optimizer",
    "is it in a",
    "we need b and t",
    "x = self.att(x)   # Shape [b, t, c]",
    "x = x.view(b, t)",
    "return x",
    "foo(b, t)",
    "type: (Tensor, Optional[List[int]]) -> Tensor",
    "[..., N, D] for colours, or [N, K, D] for coefficients",
    "[..., (C,) N, D]",
    "[B, h, w] @ [B, w, k]",
    "latent -> per-head K",
    "(e.g. 3 -> 2 -> 0)",
    "re-assemble all heads side by side",
    "noqa: E501",
    "TODO (b, t)",
]


@pytest.mark.parametrize(("text", "shape"), PLAIN.items())
def test_a_plain_statement(text: str, shape: str) -> None:
    said = comment(f"# {text}")
    assert said is not None
    assert (str(said.result), said.sure) == (shape, True)


@pytest.mark.parametrize(("text", "shape"), DOUBTFUL.items())
def test_a_doubtful_one_waits_for_the_analysis(text: str, shape: str) -> None:
    said = comment(f"# {text}")
    assert said is not None
    assert (str(said.result), said.sure) == (shape, False)


@pytest.mark.parametrize("text", OTHER)
def test_what_is_no_shape(text: str) -> None:
    assert comment(f"# {text}") is None


def test_what_goes_in_is_kept() -> None:
    said = comment("# (B, n, T) x (B, T, d) -> (B, n, d)")
    assert said is not None
    assert [str(one) for one in said.inputs] == ["B n T", "B T d"]


@pytest.mark.parametrize("inside", ["a b]", "see above:", "x.view(2)", "a = 3", "'a', 'b c'"])
def test_what_stands_in_brackets_is_read_by_the_language(inside: str) -> None:
    assert parse(inside) is None
