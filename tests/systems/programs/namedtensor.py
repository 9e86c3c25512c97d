"""The examples of the namedtensor articles, on plain tensors: https://nlp.seas.harvard.edu/NamedTensor2."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import Bool, Float, Int, named, shapecheck
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


@shapecheck
def transposed(ims: Float[Tensor, "b h w c"]) -> Float[Tensor, "b c w h"]:
    return named.transpose(ims, "c w h")
    # wrong: return named.transpose(ims, "c h w")


@shapecheck
def pooled(ims: Float[Tensor, "b h w c"]) -> Float[Tensor, "b c"]:
    return named.mean(ims, "h w")
    # wrong: return named.mean(ims, "h c")


@shapecheck
def brightest(ims: Float[Tensor, "b h w c"]) -> Float[Tensor, "b h c"]:
    values, _ = named.max(ims, "w")
    # wrong: values, _ = named.max(ims, "h")
    return values


@shapecheck
def cumulated(x: Float[Tensor, "batch time d"]) -> Float[Tensor, "batch time d"]:
    return named.cumsum(x, "time")
    # wrong: return named.cumsum(x, "t")


@shapecheck
def shortened(x: Float[Tensor, "batch time d"]) -> Float[Tensor, "batch 5 d"]:
    return named.narrow(x, "time", 0, 5)
    # wrong: return named.narrow(x, "batch", 0, 5)


@shapecheck
def in_halves(x: Float[Tensor, "batch time d"]) -> Float[Tensor, "batch time//2 d"]:
    first, second = named.chunk(x, 2, "time")
    # wrong: first, second = named.chunk(x, 2, "d")
    return first + second


@shapecheck
def strongest(x: Float[Tensor, "batch time d"]) -> Float[Tensor, "batch 3 d"]:
    values, _ = named.topk(x, 3, "time")
    # wrong: values, _ = named.topk(x, 3, "d")
    return values


@shapecheck
def picked(x: Float[Tensor, "batch time d"], at: Int[Tensor, "k"]) -> Float[Tensor, "batch k d"]:
    return named.index(x, "time", at)
    # wrong: return named.index(x, "d", at)


@shapecheck
def gathered(
    x: Float[Tensor, "batch time d"], at: Int[Tensor, "batch k"]
) -> Float[Tensor, "batch k d"]:
    return named.gather(x, "time", at, "k")
    # wrong: return named.gather(x, "batch", at, "k")


@shapecheck
def scattered(
    x: Float[Tensor, "batch time d"],
    at: Int[Tensor, "batch k"],
    source: Float[Tensor, "batch k d"],
) -> Float[Tensor, "batch time d"]:
    return named.scatter(x, "time", at, source, "k")
    # wrong: return named.scatter(x, "k", at, source, "time")


@shapecheck
def chosen(x: Float[Tensor, "batch time"], keep: Bool[Tensor, "time batch"]) -> Float[Tensor, "n"]:
    return named.masked_select(x, keep, "n")
    # wrong: return x[keep]


@shapecheck
def hidden(
    scores: Float[Tensor, "batch query key"], padding: Bool[Tensor, "key"]
) -> Float[Tensor, "batch query key"]:
    return named.masked_fill(scores, padding, 0.0)
    # wrong: return scores.masked_fill(padding[:, None], 0.0)


@shapecheck
def causal(scores: Float[Tensor, "batch query key"]) -> Float[Tensor, "batch query key"]:
    return named.tril(scores, "query key")
    # wrong: return named.tril(scores, "query time")


@shapecheck
def scaled(
    x: Float[Tensor, "batch c h w"], gain: Float[Tensor, "c"]
) -> Float[Tensor, "batch c h w"]:
    return x * named.align_as(gain, x)
    # wrong: return x * gain


@shapecheck
def renamed(x: Float[Tensor, "batch time d"]) -> Float[Tensor, "batch query key"]:
    queries, keys = named.rename(x, query="time"), named.rename(x, key="time")
    return named.dot(queries, keys, "d")
    # wrong: return named.dot(queries, keys, "time")


@shapecheck
def flat(ims: Float[Tensor, "b h w c"]) -> Float[Tensor, "b (c h w)"]:
    return named.stack(ims, "c h w")
    # wrong: return named.stack(ims, "h w c")


@shapecheck
def one_by_one(x: Float[Tensor, "batch time d"]) -> Float[Tensor, "time batch d"]:
    steps = named.unbind(x, "time")
    # wrong: steps = named.unbind(x, "batch")
    return torch.stack([step.exp() for step in steps])


@shapecheck
def beside(x: Float[Tensor, "batch d"], y: Float[Tensor, "d batch"]) -> Float[Tensor, "2 batch d"]:
    return named.stack_new([x, y], "both")
    # wrong: return torch.stack([x, y])


@shapecheck
def checked(x: Float[Tensor, "batch c time"]) -> Float[Tensor, "batch c"]:
    return named.sum(named.assert_size(x, c=4), "time")
    # wrong: return named.sum(named.assert_size(x, channels=4), "time")


@shapecheck
def scored(
    mu: Float[Tensor, "batch z"], std: Float[Tensor, "batch z"], x: Float[Tensor, "z batch"]
) -> Float[Tensor, "batch"]:
    density = distributions.Normal(mu, std).log_prob(x)
    # wrong: density = torch.distributions.Normal(mu, std).log_prob(x)
    return named.sum(density, "z")


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
    assert torch.equal(transposed(ims), ims.permute(0, 3, 2, 1))
    torch.testing.assert_close(pooled(ims), ims.mean((1, 2)))
    assert torch.equal(brightest(ims), ims.amax(2))
    z = torch.rand(6, 6, 6)
    assert torch.equal(cumulated(z), z.cumsum(1))
    assert torch.equal(shortened(z), z[:, :5])
    assert torch.equal(in_halves(z), z[:, :3] + z[:, 3:])
    assert torch.equal(strongest(z), z.topk(3, 1)[0])
    at = torch.tensor([0, 2, 5, 1, 4, 3])
    assert torch.equal(picked(z, at), z[:, at])
    rows = at.expand(6, 6)
    assert torch.equal(gathered(z, rows), z[:, at])
    assert torch.equal(scattered(z, rows, z[:, at]), z)
    keep = z[0] > 0.5
    assert chosen(z[0], keep.T).numel() == keep.sum()
    assert torch.equal(hidden(z, keep[0]), z.masked_fill(keep[0], 0))
    assert torch.equal(causal(z), z.tril())
    assert torch.equal(scaled(x, torch.ones(4)), x)
    torch.testing.assert_close(renamed(z), z @ z.transpose(1, 2))
    assert torch.equal(flat(ims), ims.permute(0, 3, 1, 2).flatten(1))
    assert torch.equal(one_by_one(z), z.exp().transpose(0, 1))
    assert torch.equal(beside(z[0], z[1].T), z[:2])
    assert checked(torch.rand(3, 4, 4)).shape == (3, 4)
    assert scored(z[0], z[1] + 1, z[2]).shape == (6,)
