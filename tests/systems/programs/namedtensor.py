"""The examples of the namedtensor articles, on plain tensors: https://nlp.seas.harvard.edu/NamedTensor2."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import Float, Int, named, shapecheck
from shapecheck.named import distributions


@shapecheck
def first_image(ims: Float[Tensor, "b h w c"]) -> Float[Tensor, "h w c"]:
    return named.get(ims, "b", 0)
    # wrong: return named.get(ims, "c", 0)


@shapecheck
def applied(first: Float[Tensor, "h w c"]) -> Float[Tensor, "h w c"]:
    return named.op(first - 0.5, F.relu) + 0.5
    # wrong: return named.op(first - 0.5, lambda x: x.sum(0)) + 0.5


@shapecheck
def gray(first: Float[Tensor, "h w c=3"], linear: nn.Linear) -> Float[Tensor, "h w"]:
    return named.get(named.op(named(first, "h w c"), nn.Linear(3, 1), c2="c"), "c2", 0)
    # wrong: return named.get(named.op(named(first, "h w c"), nn.Linear(3, 1), c2="c"), "c", 0)


@shapecheck
def convolved(ims: Float[Tensor, "b h w c=3"]) -> Float[Tensor, "h2 w2 c2"]:
    conv = nn.Conv2d(3, 3, 2)
    x = named.transpose(named(ims, "b h w c"), "c h w")
    # wrong: x = named.transpose(named(ims, "b h w c"), "h w c")
    x = named.op(x, conv, c2="c", h2="h", w2="w")
    # wrong: x = named.op(x, conv, c2="c", h2="h", w2="d")
    return named.transpose(named.get(x, "b", 0), "h2 w2 c2")
    # wrong: return named.transpose(named.get(x, "b", 0), "h w c2")


@shapecheck
def loss_of(
    output: Float[Tensor, "batch classes"], targets: Int[Tensor, "batch"]
) -> Float[Tensor, "batch"]:
    loss = nn.NLLLoss(reduction="none")
    return named.reduce(named.log_softmax(output, "classes"), lambda x: loss(x, targets), "classes")
    # wrong: return named.reduce(output, lambda x: loss(x, targets), "batch")


@shapecheck
def embedded(x: Int[Tensor, "batch slen"]) -> Float[Tensor, "batch slen embeddingsize"]:
    return named.augment(x, nn.Embedding(10, 20), "embeddingsize")
    # wrong: return named.augment(x, nn.Embedding(10, 20), "slen")


@shapecheck
def sampled(
    mu: Float[Tensor, "dist out"], std: Float[Tensor, "dist out"]
) -> Float[Tensor, "samples dist out"]:
    normal = distributions.Normal(mu, std)
    # wrong: normal = distributions.Normal(mu, named.rename(std, other="out"))
    return normal.sample(samples=20)
    # wrong: return normal.sample(dist=20)


@shapecheck
def attended(
    q: Float[Tensor, "b h t d"], k: Float[Tensor, "b h s d"], v: Float[Tensor, "b h s d"]
) -> Float[Tensor, "b t (h d)"]:
    weights = named.softmax(named.dot(q, k, "d"), "s")
    # wrong: weights = named.softmax(named.dot(q, k, "s"), "s")
    return named.order(named.dot(weights, v, "s"), "b t (h d)")
    # wrong: return named.order(named.dot(weights, v, "s"), "b t (d h)")


@shapecheck
def stacked_and_split(x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b h w c"]:
    y = named.stack(x, "c h w")
    y = named.split(y, "(c h w)")
    # wrong: y = named.split(y, "(h c w)")
    return named.order(y, "b h w c")


@shapecheck
def joined(x: Float[Tensor, "b t d"], y: Float[Tensor, "t b d"]) -> Float[Tensor, "b 2*t d"]:
    return named.cat([x, y], "t")
    # wrong: return torch.cat([x, y], 1)


def main() -> None:
    ims = torch.rand(6, 8, 8, 3)
    assert torch.equal(first_image(ims), ims[0])
    assert torch.equal(applied(ims[0]), F.relu(ims[0] - 0.5) + 0.5)
    assert gray(ims[0], nn.Linear(3, 1)).shape == (8, 8)
    assert convolved(ims).shape == (7, 7, 3)
    assert loss_of(torch.rand(5, 5), torch.zeros(5, dtype=torch.int64)).shape == (5,)
    assert embedded(torch.ones(5, 5, dtype=torch.int64)).shape == (5, 5, 20)
    assert sampled(torch.rand(4, 4), torch.rand(4, 4)).shape == (20, 4, 4)
    assert attended(*torch.rand(3, 2, 4, 4, 4)).shape == (2, 4, 16)
    x = torch.rand(2, 4, 4, 4)
    assert torch.equal(stacked_and_split(x), x.permute(0, 2, 3, 1))
    y = torch.rand(3, 3, 3)
    assert torch.equal(joined(y, y.transpose(0, 1)), torch.cat([y, y], 1))
