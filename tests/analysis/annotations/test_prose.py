"""Which comments state a shape, and which are prose, code or values."""

from __future__ import annotations

import pytest

from shapecheck.analysis.annotations.prose import comment, named, parse

PLAIN = {
    "[P, 2] (row, col)": "P 2",
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
    "(B, nh, T, T) x (B, nh, T, hs) -> (B, nh, T, hs)": "B nh T hs",
    "[b, t_t, d] x [b, d, t_s] = [b, t_t, t_s]": "b t_t t_s",
    "(B, T) @ (T, C) = (B, C)": "B C",
    "[b, t', t], [b, t, d] -> [b, d, t']": "b d _",
    "(b, num_tokens, embed_dim) --> (b, num_tokens, 3 * embed_dim)": "b num_tokens 3*embed_dim",
    "(batch, n_token, vocab_size) becomes (batch, vocab_size)": "batch vocab_size",
    "Unroll last dim: (b, n, d_out) -> (b, n, num_heads, head_dim)": "b n num_heads head_dim",
    "Example in 2d: [B, Sy, N//(Sy*Sx), C] -> [B, N//(Sy*Sx), Sy, C]": "B N//(Sy*Sx) Sy C",
    "Shape (1, 1, n, n) to broadcast across batch and heads": "1 1 n n",
    "(P, 3) float32 — init points in object-local frame": "P 3",
    "[B, 2] principal points (cx, cy)": "B 2",
    "``(B, N, D)`` for ``pool='none'``; channel dim is last": "B N D",
    "Shape: (context_length, head_dim // 2)": "context_length head_dim//2",
    "(..., 3)": "... 3",
    "[..., num_samples, 1]": "... num_samples 1",
    "[B,5]": "B 5",
    "size: (n, 3)": "n 3",
    "torch.Size([b, 3, 224, 224])": "b 3 224 224",
    "(B, L, D) → (B, D, L)": "B D L",
    "BxLxD -> BxDxL": "B D L",
    "shape: NxCxHxW": "N C H W",
}
DOUBTFUL = {
    "b t c": "b t c",
    "B x T x C": "B T C",
    "B, N, C": "B N C",
    "(b c t h w)": "b c t h w",
    "[C]": "C",
    "(num_rays)": "num_rays",
    "[1, 2, 3]": "1 2 3",
    "mask = [T, F, T, F, T]": "T F T F T",
    "(message, color, domain, payload); 0.2.8 lacks `payload`.": "message color domain payload",
    "new_size=(64, 64),": "64 64",
    "N x 32 x 147 x 147": "N 32 147 147",
    "B x n_points x dim": "B n_points dim",
    "1x(embed_dim)x(h)x(w)": "1 embed_dim h w",
    "BxNx2 pixels": "B N 2",
    "out: Bx(C+1)xHxW": "B C+1 H W",
    "M x N matrix of distances": "M N",
    "(1, 3)": "1 3",
}
OTHER = [
    "[N, 3] x [3, 3]",
    "(b, t) = (2, 3)",
    "",
    "(left, right) tuple: how far to look",
    "(and IPv6 compatibility) implications here though",
    "(algorithm 1 in the paper)",
    "(coherent with batch.tgt)",
    "2x(conv)",
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
    "First change to (1, C, H, W)",
    "wrong: should be [N, 3]",
    "sin/cos are (B, T, hs) so we unsqueeze -3 for nh",
    "x = self.att(x)   # Shape [batch_size, num_tokens, emb_size]",
    "loss = calculate_loss(out, batch, model)",
    "I = torch.eye(3, device=device).expand(len(covars), 3, 3)",
    "normal:      A = [beg, end),    B = empty",
    "x in [(0-cx)/fx, (w-1-cx)/fx] = [-0.5, 0.25] for w=4.",
    "otherwise pool -> norm -> fc, the default ordering (pretrained weights)",
    "reshape NCHW --> NHWC for transformer blocks",
    "Source parity tests (Phase 8) -- kept as-is",
    "depth (z depth) as opposed to Euclidean depth (distance from the camera).",
    "Backward stability: 1/(1-alpha) clamp when alpha -> 1",
    "pos embed has shape (depth, n, H*W, dim) or (depth, b, n, H*W, dim)",
    "compute theta for each (batch, head, seq, freq)",
    "Test 1: Identity quaternion (1, 0, 0, 0) should not rotate",
    "either 'resume' (from an out_dir) or a gpt2 variant (e.g. 'gpt2-xl')",
    "Load EXIF exposure metadata from images (if available)",
    "int(224 * 0.84)",
    "3x3 kernels",
    "masks are 0xFF",
    "SO3xR3 poses",
    "(N, 4x4)",
    "if x: (b, t)",
    "https://example.org/a(b, c)",
    "|  x      x",
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


@pytest.mark.parametrize(
    ("inside", "shape"),
    [
        ("N, 1, 1, ..., 1", "N ..."),
        ("N, 1, ..., 1", "N ..."),
        ("N, C, d_1, d_2, ..., d_K", "N C ..."),
        ("N, d1, ..., dk", "N ..."),
        ("N, ..., 1", "N ... 1"),
        ("..., N, 3", "... N 3"),
        ("N, C, ...", "N C ..."),
    ],
)
def test_dots_stand_for_what_goes_on_beside_them(inside: str, shape: str) -> None:
    assert str(parse(inside)) == shape


@pytest.mark.parametrize("inside", ["a b]", "see above:", "x.view(2)", "a = 3", "'a', 'b c'"])
def test_what_stands_in_brackets_is_read_by_the_language(inside: str) -> None:
    assert parse(inside) is None


@pytest.mark.parametrize(
    ("text", "shape"),
    {
        "cost: T x B x nx": "T B nx",
        "cost: B x max x T": "B max T",
        "cost: B x xB x 3": "B xB 3",
        "cost: N_boxesx(nx)x4": "N_boxes nx 4",
        "cost: T x B x nx+nu x nx+nu": None,
    }.items(),
)
def test_a_size_that_has_an_x_in_its_name(text: str, shape: str | None) -> None:
    assert [str(said.result) for _, said in named(text)] == ([] if shape is None else [shape])
