"""What the notes on tensor frameworks ask for: http://jeankossaifi.com/blog/dl-frameworks.html.

Tensors of any order, scalars that are tensors and compare and differentiate, devices and dtypes
that aren't in the way, and fancy indexing; and the decompositions that TensorLy is for. All of it
with names.
"""

from collections.abc import Sequence
from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor

from shapecheck import BFloat16, Bool, Float, Float64, Int, dims_of, named, shapecheck


def unfold(x: Tensor, mode: int) -> Tensor:
    """Return a matrix: one mode ahead of all others, merged."""
    return x.moveaxis(mode, 0).reshape(x.shape[mode], -1)


def fold(x: Tensor, mode: int, shape: Sequence[int]) -> Tensor:
    """Return the tensor of a shape that was unfolded."""
    sizes = list(shape)
    sizes.insert(0, sizes.pop(mode))
    return x.reshape(sizes).moveaxis(0, mode)


def mode_dot(x: Tensor, m: Tensor, mode: int) -> Tensor:
    """Multiply a tensor by a matrix along a mode."""
    sizes = list(x.shape)
    sizes[mode] = m.shape[0]
    return fold(m @ unfold(x, mode), mode, sizes)


def column_products(matrices: Sequence[Tensor]) -> Tensor:
    """Return the Khatri-Rao product of several matrices."""
    found = matrices[0]
    for m in matrices[1:]:
        found = (found[:, None] * m[None]).reshape(-1, m.shape[1])
    return found


@shapecheck
def squared_norm(x: Float[Tensor, "i j k"]) -> Float[Tensor, ""]:
    return (x * x).sum()
    # wrong: return (x * x).sum(0)


@shapecheck
def smaller(a: Float[Tensor, ""], b: Float[Tensor, ""]) -> Bool[Tensor, ""]:
    return a < b
    # wrong: return (a < b)[None]


@shapecheck
def clipped(x: Float[Tensor, "i"], most: Float[Tensor, ""]) -> Float[Tensor, "i"]:
    norm = x.norm()
    return x if norm < most else x * (most / norm)
    # wrong: return (x if norm < most else x * (most / norm)).sum()


@shapecheck
def unfolded(x: Float[Tensor, "a b c d e f g h"]) -> Float[Tensor, "c (a b d e f g h)"]:
    return x.moveaxis(2, 0).flatten(1)
    # wrong: return x.moveaxis(3, 0).flatten(1)


@shapecheck
def folded(
    x: Float[Tensor, "c (a b d e f g h)"], like: Float[Tensor, "a b c d e f g h"]
) -> Float[Tensor, "a b c d e f g h"]:
    a, b, c, d, e, f, g, h = like.shape
    return x.view(c, a, b, d, e, f, g, h).moveaxis(0, 2)
    # wrong: return x.view(c, b, a, d, e, f, g, h).moveaxis(0, 2)


@shapecheck
def contracted(
    x: Float[Tensor, "a b c d e f g h"], m: Float[Tensor, "r e"]
) -> Float[Tensor, "a b c d r f g h"]:
    y = named.dot(x, m, "e")
    # wrong: y = named.dot(x, m, "r")
    return named.order(y, "a b c d r f g h")


@shapecheck
def cp_to_tensor(
    weights: Float[Tensor, "r"],
    a: Float[Tensor, "i r"],
    b: Float[Tensor, "j r"],
    c: Float[Tensor, "k r"],
) -> Float[Tensor, "i j k"]:
    return torch.einsum("r,ir,jr,kr->ijk", weights, a, b, c)
    # wrong: return torch.einsum("r,ir,jr,kr->ikj", weights, a, b, c)


@shapecheck
def khatri_rao(a: Float[Tensor, "i r"], b: Float[Tensor, "j r"]) -> Float[Tensor, "(i j) r"]:
    return (a[:, None] * b[None]).flatten(0, 1)
    # wrong: return (a[None] * b[:, None]).flatten(0, 1)


@shapecheck
def moved(x: Float[Tensor, "i j"], device: torch.device) -> Float64[Tensor, "j i"]:
    return x.T.to(device=device, dtype=torch.float64)
    # wrong: return x.to(device=device, dtype=torch.float64)


@shapecheck
def made_like(x: Float[Tensor, "i j"]) -> Float[Tensor, "i j 2"]:
    return torch.zeros(*x.shape, 2, dtype=x.dtype, device=x.device)
    # wrong: return torch.zeros(2, *x.shape, dtype=x.dtype, device=x.device)


@shapecheck
def rows(x: Float[Tensor, "i j k"], at: Int[Tensor, "n"]) -> Float[Tensor, "n j k"]:
    return x[at]
    # wrong: return x[:, at]


@shapecheck
def pairs(x: Float[Tensor, "i j k"], at: Int[Tensor, "n"]) -> Float[Tensor, "n k"]:
    return x[at, at]
    # wrong: return x[at, :, at]


@shapecheck
def listed(x: Float[Tensor, "i j k"]) -> Float[Tensor, "i 2 k"]:
    return x[:, [0, -1]]
    # wrong: return x[[0, -1]]


@shapecheck
def masked(x: Float[Tensor, "i j k"], keep: Bool[Tensor, "i j"]) -> Float[Tensor, "n k"]:
    return x[keep]
    # wrong: return x.transpose(0, 1)[keep]


@shapecheck
def spread(x: Float[Tensor, "i j k"]) -> Float[Tensor, "j 1 k"]:
    return x[0, :, None, ...]
    # wrong: return x[:, 0, None, ...]


@shapecheck
def indexed_by_name(x: Float[Tensor, "i j k"], at: Int[Tensor, "n"]) -> Float[Tensor, "i n k"]:
    return named.index(x, "j", at)
    # wrong: return named.index(x, "n", at)


@shapecheck
def written(
    x: Float[Tensor, "i j"], at: Int[Tensor, "n"], new: Float[Tensor, "n j"]
) -> Float[Tensor, "i j"]:
    y = x.clone()
    y[at] = new
    # wrong: y[:, at] = new
    return y


@shapecheck
def kronecker(a: Float[Tensor, "i j"], b: Float[Tensor, "k l"]) -> Float[Tensor, "(i k) (j l)"]:
    return torch.kron(a, b)
    # wrong: return torch.kron(b, a)


@shapecheck
def kronecker_of_several(
    a: Float[Tensor, "i j"], b: Float[Tensor, "k l"], c: Float[Tensor, "m n"]
) -> Float[Tensor, "(i k m) (j l n)"]:
    return reduce(torch.kron, [a, b, c])
    # wrong: return reduce(torch.kron, [a, c, b])


@shapecheck
def khatri_rao_of_several(
    a: Float[Tensor, "i r"], b: Float[Tensor, "j r"], c: Float[Tensor, "k r"]
) -> Float[Tensor, "(i j k) r"]:
    return column_products([a, b, c])
    # wrong: return column_products([b, a, c])


@shapecheck
def cp_to_unfolded(
    a: Float[Tensor, "i r"], b: Float[Tensor, "j r"], c: Float[Tensor, "k r"]
) -> Float[Tensor, "i (j k)"]:
    return a @ column_products([b, c]).T
    # wrong: return a @ column_products([c, b]).T


@shapecheck
def unfolding_dot_khatri_rao(
    x: Float[Tensor, "i j k"], a: Float[Tensor, "i r"], c: Float[Tensor, "k r"]
) -> Float[Tensor, "j r"]:
    return unfold(x, 1) @ column_products([a, c])
    # wrong: return unfold(x, 1) @ column_products([c, a])


@shapecheck
def folded_again(x: Float[Tensor, "i j k"]) -> Float[Tensor, "i j k"]:
    return fold(unfold(x, 1), 1, x.shape)
    # wrong: return fold(unfold(x, 1), 0, x.shape)


@shapecheck
def tucker_to_tensor(
    core: Float[Tensor, "p q r"],
    a: Float[Tensor, "i p"],
    b: Float[Tensor, "j q"],
    c: Float[Tensor, "k r"],
) -> Float[Tensor, "i j k"]:
    factors = [a, b, c]
    # wrong: factors = [b, a, c]
    for mode, factor in enumerate(factors):
        core = mode_dot(core, factor, mode)
    return core


@shapecheck
def tucker_to_unfolded(
    core: Float[Tensor, "p q r"],
    a: Float[Tensor, "i p"],
    b: Float[Tensor, "j q"],
    c: Float[Tensor, "k r"],
) -> Float[Tensor, "i (j k)"]:
    return a @ core.flatten(1) @ torch.kron(b, c).T
    # wrong: return a @ core.flatten(1) @ torch.kron(c, b).T


@shapecheck
def tt_to_tensor(
    a: Float[Tensor, "1 i p"], b: Float[Tensor, "p j q"], c: Float[Tensor, "q k 1"]
) -> Float[Tensor, "i j k"]:
    full, rest = a.reshape(a.shape[1], -1), (b, c)
    # wrong: full, rest = a.reshape(a.shape[1], -1), (c, b)
    for core in rest:
        full = full @ core.reshape(core.shape[0], -1)
        full = full.reshape(-1, core.shape[2])
    return full.reshape(a.shape[1], b.shape[1], c.shape[1])
    # wrong: return full.reshape(b.shape[1], a.shape[1], c.shape[1])


@shapecheck
def thin_svd(
    x: Float[Tensor, "n d"],
) -> tuple[Float[Tensor, "n min(n,d)"], Float[Tensor, "min(n,d)"], Float[Tensor, "min(n,d) d"]]:
    u, s, vt = torch.linalg.svd(x, full_matrices=False)
    # wrong: u, s, vt = torch.linalg.svd(x)
    return u, s, vt
    # wrong: return u, s, u


@shapecheck
def rebuilt(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    u, s, vt = torch.linalg.svd(x, full_matrices=False)
    return (u * s) @ vt
    # wrong: return vt @ torch.diag(s) @ u


@shapecheck
def leading(x: Float[Tensor, "i j k"], rank: int) -> Float[Tensor, "j r"]:
    u, _, _ = torch.linalg.svd(unfold(x, 1), full_matrices=False)
    # wrong: u, _, _ = torch.linalg.svd(unfold(x, 0), full_matrices=False)
    return u[:, :rank]


@shapecheck
def pseudo_inverse(x: Float[Tensor, "n d"]) -> Float[Tensor, "d n"]:
    u, s, vt = torch.linalg.svd(x, full_matrices=False)
    return vt.T @ torch.diag(1 / s) @ u.T
    # wrong: return u @ torch.diag(1 / s) @ vt


@shapecheck
def orthonormal(x: Float[Tensor, "n d"]) -> Float[Tensor, "n min(n,d)"]:
    q, _ = torch.linalg.qr(x)
    # wrong: _, q = torch.linalg.qr(x)
    return q


@shapecheck
def least_squares(a: Float[Tensor, "n d"], b: Float[Tensor, "n r"]) -> Float[Tensor, "d r"]:
    return torch.linalg.lstsq(a, b).solution
    # wrong: return torch.linalg.lstsq(a.T, b).solution


@shapecheck
def spectrum(x: Float[Tensor, "n t"]) -> Float[Tensor, "n t//2+1"]:
    return torch.fft.rfft(x).abs()
    # wrong: return torch.fft.rfft(x, dim=0).abs()


@shapecheck
def samples_unfolded(x: Float[Tensor, "n *modes"]) -> Float[Tensor, "n (*modes)"]:
    return x.flatten(1)
    # wrong: return x.flatten()


@shapecheck
def last_mode_product(
    x: Float[Tensor, "*modes i"], m: Float[Tensor, "r i"]
) -> Float[Tensor, "*modes r"]:
    return torch.tensordot(x, m, dims=([-1], [1]))
    # wrong: return torch.tensordot(x, m, dims=([-1], [0]))


@shapecheck
def inner(x: Float[Tensor, "i *modes"], y: Float[Tensor, "i *modes"]) -> Float[Tensor, "i"]:
    return (x * y).flatten(1).sum(1)
    # wrong: return (x * y).flatten(1).sum(0)


@shapecheck
def on_a_device(x: Float[Tensor, "i j"], device: torch.device) -> Float[Tensor, "i j"]:
    with torch.device(device):
        steps = torch.arange(x.shape[1])
        # wrong: steps = torch.arange(x.shape[0])
    return x + steps


@shapecheck
def in_the_context_of(x: Float64[Tensor, "i j"], rank: int) -> Float64[Tensor, "j r"]:
    context = {"dtype": x.dtype, "device": x.device}
    return torch.ones(x.shape[1], rank, **context)
    # wrong: return torch.ones(x.shape[0], rank, **context)


@shapecheck
def under_a_default_dtype(x: Float64[Tensor, "i j"]) -> Float64[Tensor, "i j"]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(x.dtype)
    made = torch.zeros(x.shape)
    # wrong: made = torch.zeros(x.T.shape)
    torch.set_default_dtype(before)
    return x + made


@shapecheck
def under_autocast(x: Float[Tensor, "i j"], w: Float[Tensor, "k j"]) -> BFloat16[Tensor, "i k"]:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.linear(x, w)
        # wrong: return F.linear(w, x)


def main() -> None:
    x = torch.rand(3, 3, 3, requires_grad=True)
    norm = squared_norm(x)
    norm.backward()
    assert x.grad is not None
    assert torch.equal(x.grad, 2 * x.detach())
    assert bool(smaller(norm, norm + 1))
    assert norm.item() > 0
    assert clipped(torch.ones(4), torch.tensor(1.0)).norm().item() == 1
    assert min(norm, norm / 2) < norm
    many = torch.rand(*[2] * 8)
    assert torch.equal(folded(unfolded(many), many), many)
    torch.testing.assert_close(contracted(many, torch.eye(2)), many)
    factors = torch.rand(3, 2, 2)
    assert cp_to_tensor(torch.ones(2), *factors).shape == (2, 2, 2)
    assert khatri_rao(factors[0], factors[1]).shape == (4, 2)
    assert moved(torch.rand(3, 3), torch.device("cpu")).dtype == torch.float64
    assert made_like(torch.rand(2, 2)).shape == (2, 2, 2)
    at = torch.tensor([0, 2, 1])
    assert torch.equal(rows(x, at), x[at])
    assert torch.equal(pairs(x, at), x[at, at])
    assert torch.equal(listed(x), x[:, [0, -1]])
    assert torch.equal(masked(x, x[..., 0] > 0.5), x[x[..., 0] > 0.5])
    assert torch.equal(spread(x), x[0][:, None])
    assert torch.equal(indexed_by_name(x, at), x[:, at])
    square = torch.rand(3, 3)
    assert torch.equal(written(square, at, square[at]), square)
    a, b, c = torch.rand(3, 3, 3)
    core = torch.rand(3, 3, 3)
    assert kronecker(a, b).shape == (9, 9)
    assert torch.equal(kronecker_of_several(a, b, c), torch.kron(torch.kron(a, b), c))
    assert khatri_rao_of_several(a, b, c).shape == (27, 3)
    cp = torch.einsum("ir,jr,kr->ijk", a, b, c)
    torch.testing.assert_close(cp_to_unfolded(a, b, c), cp.flatten(1))
    expected = torch.einsum("ijk,ir,kr->jr", core, a, c)
    torch.testing.assert_close(unfolding_dot_khatri_rao(core, a, c), expected)
    assert torch.equal(folded_again(core), core)
    tucker = torch.einsum("pqr,ip,jq,kr->ijk", core, a, b, c)
    torch.testing.assert_close(tucker_to_tensor(core, a, b, c), tucker)
    torch.testing.assert_close(tucker_to_unfolded(core, a, b, c), tucker.flatten(1))
    tt = torch.einsum("ip,pjq,qk->ijk", a, core, b)
    torch.testing.assert_close(tt_to_tensor(a[None], core, b[..., None]), tt)
    for n, d in ((4, 3), (3, 4)):
        m = torch.eye(n, d) + torch.rand(n, d) / 9
        assert [one.numel() for one in thin_svd(m)] == [3 * n, 3, 3 * d]
        torch.testing.assert_close(rebuilt(m), m)
        torch.testing.assert_close(pseudo_inverse(m) @ m @ pseudo_inverse(m), pseudo_inverse(m))
        assert orthonormal(m).shape == (n, 3)
    assert leading(core, 2).shape == (3, 2)
    near = torch.eye(3) + a / 9
    torch.testing.assert_close(near @ least_squares(near, b), b)
    assert spectrum(torch.rand(3, 5)).shape == (3, 3)
    assert samples_unfolded(core).shape == (3, 9)
    torch.testing.assert_close(last_mode_product(core, a), core @ a.T)
    assert inner(core, core).shape == (3,)
    assert torch.equal(on_a_device(a, torch.device("cpu")), a + torch.arange(3))
    assert in_the_context_of(a.double(), 2).dtype == torch.float64
    assert torch.equal(under_a_default_dtype(a.double()), a.double())
    assert under_autocast(a, b).shape == (3, 3)
    y = named(torch.rand(*[2] * 8), "a b c d e f g h")
    assert dims_of(named.transpose(y, "h g"))[-2:] == ("h", "g")
