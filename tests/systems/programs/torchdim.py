"""The examples of torchdim, now `functorch.dim`: https://github.com/facebookresearch/torchdim.

Those of its README are in tests/first_class/cases.py too, where each is compared with torch.
"""

import math

import torch
import torch.nn.functional as F
from functorch.dim import cat, dimlists, dims, softmax, stack
from torch import Tensor, nn, where

from shapecheck import Float, Int, dims_of, shapecheck

shared_batch, shared_feature = dims(2)


@shapecheck
def product(a: Float[Tensor, "m k"], b: Float[Tensor, "k n"]) -> Float[Tensor, "m n"]:
    i, j, k = dims(3)
    r = (a[i, k] * b[k, j]).sum(k)
    # wrong: r = (a[i, k] * b[j, k]).sum(k)
    return r.order(i, j)
    # wrong: return r.order(j, i)


@shapecheck
def pixel_shuffle(
    img: Float[Tensor, "b (c up up) h w"], up: int
) -> Float[Tensor, "b c (h up) (w up)"]:
    h2, w2, c, b, h, w = dims(6)
    h2.size = w2.size = up
    return img[b, (c, h2, w2), h, w].order(b, c, (h, h2), (w, w2))
    # wrong: return img[b, (c, h2, w2), h, w].order(b, c, (w, w2), (h, h2))


@shapecheck
def batched_product(
    a: Float[Tensor, "batch m k"], b: Float[Tensor, "batch k n"]
) -> Float[Tensor, "batch m n"]:
    i = dims(1)
    return product(a[i], b[i]).order(i)
    # wrong: return product(a[:, i], b[i]).order(i)


@shapecheck
def embedding_bag(
    words: Int[Tensor, "b s"], weights: Float[Tensor, "vocab f"]
) -> Float[Tensor, "b f"]:
    batch, sequence, features = dims(3)
    r = weights[words[batch, sequence], features].sum(sequence)
    # wrong: r = weights[words[batch, sequence], features].sum(batch)
    return r.order(batch, features)


@shapecheck
def gram_matrix(y: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c c"]:
    b, c, c2, h, w = dims()
    r = (y[b, c, h, w] * y[b, c2, h, w]).sum((h, w))
    # wrong: r = (y[b, c, h, w] * y[b, c2, w, h]).sum((h, w))
    return (r / (h.size * w.size)).order(b, c, c2)
    # wrong: return (r / (h.size * w.size)).order(b, c)


@shapecheck
def attention(
    keys: Float[Tensor, "b c k"], queries: Float[Tensor, "b c q"], values: Float[Tensor, "b c k"]
) -> Float[Tensor, "b 2*c q"]:
    batch, channel, key, query = dims(4)
    k = keys[batch, channel, key]
    q = queries[batch, channel, query]
    v = values[batch, channel, key]
    # wrong: v = values[batch, key, channel]
    a = softmax((k * q).sum(channel) * channel.size**-0.5, dim=key)
    r = (v * a).sum(key)
    # wrong: r = (v * a).sum(query)
    return torch.cat((r.order(batch, channel, query), queries), dim=1)
    # wrong: return torch.cat((r.order(batch, query, channel), queries), dim=1)


@shapecheck
def pixel_color(images: Float[Tensor, "b c w h"]) -> Float[Tensor, "b c"]:
    batch, channel, width, height = dims(4)
    colors = images[batch, channel, width, height].mean((width, height))
    # wrong: colors = images[batch, channel, width, height].mean((width, channel))
    return colors.order(batch, channel)


@shapecheck
def transposed(a: Float[Tensor, "r c d"]) -> Float[Tensor, "c r d"]:
    i, j = dims(2)
    return a[i, j].order(j, i)
    # wrong: return a[i, j].order(i, j)


@shapecheck
def split_and_merged(a: Float[Tensor, "(i 2) k"]) -> Float[Tensor, "i (2 k)"]:
    i, j, k = dims(3)
    j.size = 2
    # wrong: j.size = 5
    return a[(i, j), k].order(i, (j, k))
    # wrong: return a[(i, j), k].order(i, (k, j))


@shapecheck
def upper_triangle(a: Float[Tensor, "r c"]) -> Float[Tensor, "r c"]:
    i, j = dims()
    x = a[i, j]
    return where(i <= j, x, 0).order(i, j)
    # wrong: return where(i <= j, x, 0).order(j, i)


@shapecheck
def heads(
    q: Float[Tensor, "b t (h d)"], k: Float[Tensor, "b s (h d)"], h: int
) -> Float[Tensor, "b h t s"]:
    batch, query, key, head, feature = dims(5)
    head.size = h
    left = q[batch, query, [head, feature]]
    # wrong: left = q[batch, query, [feature, head]]
    right = k[batch, key, [head, feature]]
    scores = (left * right).sum(feature) * feature.size**-0.5
    return scores.order(batch, head, query, key)
    # wrong: return scores.order(batch, head, key, query)


@shapecheck
def relative_positions(
    q: Float[Tensor, "b t f"], k: Float[Tensor, "b s f"], table: Float[Tensor, "distance f"]
) -> Float[Tensor, "b t s"]:
    batch, query, key, features = dims(4)
    left, right = q[batch, query, features], k[batch, key, features]
    distance = query - key + table.size(0) // 2
    positional = table[distance, features]
    # wrong: positional = table[features, distance]
    scores = (left * positional).sum(features) + (right * positional).sum(features)
    return scores.order(batch, query, key)


@shapecheck
def outer(a: Float[Tensor, "n"], b: Float[Tensor, "m"]) -> Float[Tensor, "n m"]:
    i, j = dims(2)
    return (a[i] * b[j]).order(i, j)
    # wrong: return (a[i] * b[i]).order(i)


@shapecheck
def diagonal(a: Float[Tensor, "n n"]) -> Float[Tensor, "n"]:
    i = dims(1)
    return a[i, i].order(i)
    # wrong: return a[i].order(i)


@shapecheck
def sequence_mask(values: Float[Tensor, "b t"], length: Int[Tensor, "b"]) -> Float[Tensor, "b t"]:
    j, i = dims()
    v = values[i, j]
    return where(j < length[i], v, 0).order(i, j)
    # wrong: return where(j < length[j], v, 0).order(i, j)


# What its tests and its models do beside ---------------------------------------------------------


@shapecheck
def expanded(a: Float[Tensor, "m k"], b: Float[Tensor, "k n"]) -> Float[Tensor, "1 m n"]:
    i, j, k, one = dims(4)
    one.size = 1
    left, right = a[i, k], b[k, j]
    r = (left.expand(j, one) * right.expand(i, one)).sum(k)
    return r.order(one, i, j)
    # wrong: return r.order(one, j, i)


@shapecheck
def joined(
    past: Float[Tensor, "b h s d"], now: Float[Tensor, "b s h d"]
) -> Float[Tensor, "b h 2*s d"]:
    batch, head, key, feature, extended = dims(5)
    one, other = past[batch, head, key, feature], now[batch, key, head, feature]
    # wrong: one, other = past[batch, head, key, feature], now[batch, head, key, feature]
    whole = cat([one, other], key, extended)
    return whole.order(batch, head, extended, feature)
    # wrong: return whole.order(batch, extended, head, feature)


@shapecheck
def stacked(a: Float[Tensor, "n m"]) -> Float[Tensor, "n 2 m"]:
    i, j, pair = dims(3)
    r = stack([a[i, j], a[i, j]], pair, j)
    return r.order(i, pair, j)
    # wrong: return r.order(j, pair, i)


@shapecheck
def taken_apart(a: Float[Tensor, "n 7"]) -> tuple[Float[Tensor, "n 3"], Float[Tensor, "n 4"]]:
    i, j = dims(2)
    first, second = dims(sizes=[3, None])
    # wrong: first, second = dims(sizes=[4, None])
    x, y = a[i, j].split((first, second), dim=j)
    return x.order(i, first), y.order(i, second)


@shapecheck
def any_batch(
    x: Float[Tensor, "a b c_in"], w: Float[Tensor, "c_out c_in"]
) -> Float[Tensor, "a b c_out"]:
    c_in, c_out = dims(2)
    batch = dimlists()
    r = (x[batch, c_in] * w[c_out, c_in]).sum(c_in)
    # wrong: r = (x[batch, c_in] * w[c_in, c_out]).sum(c_in)
    return r.order(batch, c_out)
    # wrong: return r.order(c_out, batch)


@shapecheck
def several_axes(a: Float[Tensor, "n m k"]) -> Float[Tensor, "m k n"]:
    i = dims(1)
    others = dimlists()
    return a[i, others].order(*others, i)
    # wrong: return a[i, others].order(i, *others)


@shapecheck
def merged_places(a: Float[Tensor, "n m k"]) -> Float[Tensor, "m (n k)"]:
    i, j, k, both = dims(4)
    return a[i, j, k].index((i, k), both).order(j, both)
    # wrong: return a[i, j, k].index((k, i), both).order(j, both)


@shapecheck
def in_the_place_of(a: Float[Tensor, "n m"], at: Int[Tensor, "q"]) -> Float[Tensor, "n q"]:
    i, k, z = dims(3)
    return a[i, k].index(k, at[z]).order(i, z)
    # wrong: return a[i, k].index(i, at[z]).order(i, z)


@shapecheck
def last_first(a: Float[Tensor, "n m k"]) -> Float[Tensor, "k n m"]:
    k = dims(1)
    return a[..., k].order(k)
    # wrong: return a[..., k].order(0, k)


@shapecheck
def largest(a: Float[Tensor, "n m k"]) -> Float[Tensor, "n m"]:
    i, j, k = dims()
    r, _ = a[i, j, k].max(dim=k)
    # wrong: r, _ = a[i, j, k].max(dim=j)
    return r.order(i, j)


@shapecheck
def softmax_in_blocks(a: Float[Tensor, "(i 2)"]) -> Float[Tensor, "(i 2)"]:
    g, i = dims(sizes=[2, None])
    blocks = a[[i, g],]
    m_b, _ = blocks.max(i)
    f_b = torch.exp(blocks - m_b)
    m, _ = m_b.max(g)
    c = torch.exp(m_b - m)
    f = (c * f_b).order((i, g))
    # wrong: f = (c * f_b).order((g, i))
    return f / (c * f_b.sum(i)).sum(g)


@shapecheck
def sparse_update(
    table: Float[Tensor, "vocab f"], words: Int[Tensor, "n"], values: Float[Tensor, "n f"]
) -> None:
    i, f = dims(2)
    table[words[i], f] += values[i, f]
    # wrong: table[words[i], f] += values[f, i]


@shapecheck
def of_the_module(x: Float[Tensor, "b f"], bias: Float[Tensor, "f"]) -> Float[Tensor, "f b"]:
    y = x[shared_batch, shared_feature] + bias[shared_feature]
    # wrong: y = x[shared_batch, shared_feature] + bias[shared_batch]
    return y.order(shared_feature, shared_batch)
    # wrong: return y.order(shared_batch, shared_feature)


class SelfAttention(nn.Module):
    """Bert's, with its heads as a dimension."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    @shapecheck
    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        batch, query, key, head, feature = dims()
        head.size = self.heads
        q = self.query(x)[batch, query, [head, feature]]
        k = self.key(x)[batch, key, [head, feature]]
        v = self.value(x)[batch, key, [head, feature]]
        # wrong: v = self.value(x)[batch, head, [key, feature]]
        scores = (q * k).sum(feature) / math.sqrt(feature.size)
        weights = F.dropout(softmax(scores, dim=key), p=0.0)
        # wrong: weights = F.dropout(softmax(scores, dim=feature), p=0.0)
        mixed = (weights * v).sum(key)
        return mixed.order(batch, query, [head, feature])
        # wrong: return mixed.order(query, batch, [head, feature])


def main() -> None:
    square, cube = torch.rand(4, 4), torch.rand(4, 4, 4)
    torch.testing.assert_close(product(square, square.clone()), square @ square)
    image = torch.rand(4, 16, 4, 4)
    assert torch.equal(pixel_shuffle(image, 2), F.pixel_shuffle(image, 2))
    torch.testing.assert_close(batched_product(cube, cube.clone()), cube @ cube)
    words = torch.tensor([[1, 0], [3, 2]])
    table = torch.rand(4, 2)
    torch.testing.assert_close(embedding_bag(words, table), table[words].sum(1))
    flat = image[:, :4].flatten(2)
    torch.testing.assert_close(gram_matrix(image[:, :4]), flat @ flat.mT / 16)
    scores = (cube.mT @ cube * 0.5).softmax(1)
    expected = torch.cat([cube @ scores, cube], 1)
    torch.testing.assert_close(attention(cube, cube.clone(), cube.clone()), expected)
    torch.testing.assert_close(pixel_color(image[:, :4]), image[:, :4].mean((2, 3)))
    assert torch.equal(transposed(cube), cube.transpose(0, 1))
    assert split_and_merged(torch.rand(6, 4)).shape == (3, 8)
    assert torch.equal(upper_triangle(square), square.triu())
    merged = torch.rand(2, 4, 4)
    assert heads(merged, merged.clone(), 2).shape == (2, 2, 4, 4)
    assert relative_positions(cube, cube.clone(), torch.rand(8, 4)).shape == (4, 4, 4)
    torch.testing.assert_close(outer(square[0], square[1]), torch.outer(square[0], square[1]))
    assert torch.equal(diagonal(square), square.diagonal())
    kept = torch.arange(4) < torch.tensor([1, 4, 0, 2])[:, None]
    assert torch.equal(sequence_mask(square, torch.tensor([1, 4, 0, 2])), square * kept)
    torch.testing.assert_close(expanded(square, square.clone())[0], square @ square)
    past = torch.rand(2, 4, 4, 4)
    both = torch.cat([past, past], 2)
    assert torch.equal(joined(past, past.transpose(1, 2)), both)
    assert torch.equal(stacked(square), torch.stack([square, square], 1))
    parts = torch.rand(4, 7)
    assert [tuple(x.shape) for x in taken_apart(parts)] == [(4, 3), (4, 4)]
    torch.testing.assert_close(any_batch(cube, square), cube @ square.T)
    assert torch.equal(several_axes(cube), cube.permute(1, 2, 0))
    assert torch.equal(merged_places(cube), cube.transpose(0, 1).flatten(1))
    places = torch.tensor([3, 0, 1, 1])
    assert torch.equal(in_the_place_of(square, places), square[:, places])
    assert torch.equal(last_first(cube), cube.permute(2, 0, 1))
    assert torch.equal(largest(cube), cube.amax(2))
    torch.testing.assert_close(
        softmax_in_blocks(parts[:, 0].repeat(2)), parts[:, 0].repeat(2).softmax(0)
    )
    sparse_update(square.clone(), places[:2].clone(), torch.rand(2, 4))
    for size in (4, 4):
        y = of_the_module(torch.rand(size, 4), torch.rand(4))
        assert dims_of(y) == ("f", "b")
    assert SelfAttention(4, 2)(cube).shape == (4, 4, 4)


if __name__ == "__main__":
    main()
