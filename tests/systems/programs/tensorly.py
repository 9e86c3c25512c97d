"""What the notes on tensor frameworks ask for: http://jeankossaifi.com/blog/dl-frameworks.html.

Tensors of any order, scalars that are tensors and compare and differentiate, devices and dtypes
that aren't in the way, and fancy indexing; all of it with names.
"""

import torch
from torch import Tensor

from shapecheck import Bool, Float, Float64, Int, dims_of, named, shapecheck


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
    y = named(torch.rand(*[2] * 8), "a b c d e f g h")
    assert dims_of(named.transpose(y, "h g"))[-2:] == ("h", "g")
