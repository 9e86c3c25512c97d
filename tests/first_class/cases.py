"""What the README of torchdim shows, with annotations; each with an edit that breaks it.

Source: https://github.com/facebookresearch/torchdim, now `functorch.dim` in torch.
"""

# ruff: noqa: E501 - messages and signatures stand whole
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

HEAD = """\
import torch
import torch.nn.functional as F
from functorch.dim import dims, softmax
from shapecheck import Float, Int, shapecheck
from torch import Tensor, where
"""


@dataclass(frozen=True)
class Case:
    """One example.

    `source`: the functions, the last of which is called with `args`; `expected` gives the same in
    torch's own words, `names` are those of the result. `wrong` is put in the place of `right`;
    then mypy's side says `static` and the run time `runtime`, with the names of exceptions
    that aren't ours.
    """

    name: str
    source: str
    args: Callable[[], Sequence[Any]]
    expected: Callable[..., Tensor]
    names: tuple[str | None, ...]
    right: str
    wrong: str
    static: str
    runtime: str


def rand(*sizes: int) -> Tensor:
    return torch.rand(*sizes)


CASES: list[Case] = []


def case(
    name: str, source: str, names: str, right: str, wrong: str, static: str, runtime: str = ""
) -> Any:
    """Register a case; what it decorates gives the arguments, and the result in torch's words."""

    def register(both: Callable[[], tuple[Sequence[Any], Callable[..., Tensor]]]) -> None:
        args, expected = both()
        told = tuple(None if one == "_" else one for one in names.split())
        CASES.append(
            Case(
                name, source, lambda: args, expected, told, right, wrong, static, runtime or static
            )
        )

    return register


def _on_one_line(text: str) -> str:
    return "; ".join(line.strip() for line in text.strip().split("\n"))


def table() -> str:
    """Return the examples with their edits, as docs/first_class_dims.md shows them."""
    lines = ["| example | edit | found when it runs by |", "|---|---|---|"]
    for one in CASES:
        by = "shapecheck" if one.static == one.runtime or "Error: " not in one.runtime else "torch"
        before, after = (_on_one_line(text) for text in (one.right, one.wrong))
        lines.append(f"| {one.name.replace('_', ' ')} | `{before}` → `{after}` | {by} |")
    return "\n".join(lines) + "\n"


@case(
    "matrix_product",
    """
@shapecheck
def product(left: Float[Tensor, "rows inner"], right: Float[Tensor, "inner columns"]) -> Float[Tensor, "rows columns"]:
    row, inner, column = dims(3)
    summed = (left[row, inner] * right[inner, column]).sum(inner)
    return summed.order(row, column)
""",
    "rows columns",
    "right[inner, column]",
    "right[column, inner]",
    '"[...]" can\'t bind "inner" to axis 1 of (inner columns): that is columns, and "inner" is bound to inner',
)
def _() -> Any:
    return (rand(4, 4), rand(4, 4)), torch.matmul


@case(
    "pixel_shuffle",
    """
@shapecheck
def shuffle(image: Float[Tensor, "b c h w"], factor: int = 2) -> Float[Tensor, "b c//4 2*h 2*w"]:
    down, right, channel, batch, row, column = dims(6)
    down.size = right.size = 2
    split = image[batch, (channel, down, right), row, column]
    return split.order(batch, channel, (row, down), (column, right))
""",
    "b c//4 2*h 2*w",
    "(row, down), (column, right))",
    "(column, down), (row, right))",
    'returned value is (b c//4 (w 2) (h 2)), declared "b c//4 2*h 2*w": axis 2 is (w 2), declared 2*h',
)
def _() -> Any:
    return (rand(1, 8, 3, 3),), lambda image: F.pixel_shuffle(image, 2)


@case(
    "batched_product",
    """
@shapecheck
def product(left: Float[Tensor, "rows inner"], right: Float[Tensor, "inner columns"]) -> Float[Tensor, "rows columns"]:
    i, j, k = dims(3)
    return (left[i, k] * right[k, j]).sum(k).order(i, j)

@shapecheck
def batched(left: Float[Tensor, "b m k"], right: Float[Tensor, "b k n"]) -> Float[Tensor, "b m n"]:
    i = dims(1)
    return product(left[i], right[i]).order(i)
""",
    "b m n",
    "right[i])",
    "right[:, i])",
    '"[...]" can\'t bind "i" to axis 1 of (b k n): that is k, and "i" is bound to b',
)
def _() -> Any:
    return (rand(3, 3, 3), rand(3, 3, 3)), torch.bmm


@case(
    "embedding_bag",
    """
@shapecheck
def bag(words: Int[Tensor, "b s"], table: Float[Tensor, "vocabulary d"]) -> Float[Tensor, "b d"]:
    batch, sequence, feature = dims(3)
    summed = table[words[batch, sequence], feature].sum(sequence)
    return summed.order(batch, feature)
""",
    "b d",
    ".sum(sequence)",
    ".sum(batch)",
    '"order" has no dimension "batch" in () over sequence, feature: it has "sequence" and "feature"',
)
def _() -> Any:
    words = torch.tensor([[1, 0, 4], [2, 2, 3]])
    return (words, rand(5, 2)), lambda words, table: table[words].sum(1)


@case(
    "axes_and_dimensions",
    """
@shapecheck
def mixed(images: Float[Tensor, "b c h w"]) -> Float[Tensor, "h b c w"]:
    batch, row = dims(2)
    bound = images[batch, :, row]
    assert bound.ndim == 2 and len(bound.dims) == 2
    return bound.order(row, batch)
""",
    "h b c w",
    "images[batch, :, row]",
    "images[batch, :, row, :, 0]",
    '"[...]" can\'t index (b c h w) with [batch, :, row, :, 0]: the tensor has 4 axes, and 5 are indexed',
)
def _() -> Any:
    return (rand(2, 3, 4, 5),), lambda images: images.permute(2, 0, 1, 3)


@case(
    "no_axes_left",
    """
@shapecheck
def first(images: Float[Tensor, "b c"]) -> Float[Tensor, "b"]:
    batch = dims(1)
    return images[batch][0].order(batch)
""",
    "b",
    "images[batch][0]",
    "images[batch][0][0][0]",
    '"[...]" can\'t index () with [0]: the tensor has 0 axes, and 1 is indexed',
)
def _() -> Any:
    return (rand(2, 3),), lambda images: images[:, 0]


@case(
    "sizes",
    """
@shapecheck
def sized(x: Float[Tensor, "n 3"]) -> Float[Tensor, "3 n"]:
    i = dims(1)
    j = dims(sizes=[3])
    bound = x[i, j]
    i.size = x.shape[0]
    return bound.order(j, i)
""",
    "_ n",
    "sizes=[3]",
    "sizes=[5]",
    '"[...]" can\'t bind "j" to axis 1 of (n 3): that is 3, and "j" is bound to 5',
)
def _() -> Any:
    return (rand(2, 3),), torch.t


@case(
    "implicit_batching",
    """
@shapecheck
def biased(x: Float[Tensor, "b c"], bias: Float[Tensor, "c"]) -> Float[Tensor, "b c"]:
    batch, channel = dims(2)
    result = x[batch, channel] + bias[channel]
    return result.order(batch, channel)
""",
    "b c",
    "bias[channel]",
    "bias[batch]",
    '"[...]" can\'t bind "batch" to axis 0 of (c): that is c, and "batch" is bound to b',
)
def _() -> Any:
    return (rand(3, 3), rand(3)), torch.add


@case(
    "mean_over_dimensions",
    """
@shapecheck
def average(images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c"]:
    batch, channel, row, column = dims(4)
    pixels = images[batch, channel, row, column]
    return pixels.mean((row, column)).order(batch, channel)
""",
    "b c",
    "mean((row, column))",
    "mean((row, batch))",
    '"order" has no dimension "batch" in () over channel, column: it has "channel" and "column"',
)
def _() -> Any:
    return (rand(2, 3, 4, 5),), lambda images: images.mean((2, 3))


@case(
    "dimensions_as_tensors",
    """
@shapecheck
def numbered(x: Float[Tensor, "b c"]) -> Float[Tensor, "c b"]:
    batch, channel = dims(2)
    bound = x[batch, channel]
    return (channel + 1000 + 0 * bound).order(channel, batch)
""",
    "c b",
    "bound = x[batch, channel]\n    return (channel + 1000 + 0 * bound)",
    "return (channel + 1000 + 0 * x[batch, channel])",
    '"+" can\'t use "channel", which is bound to no size: no tensor was indexed with it before, nor its size set',
    "TypeError: descriptor '__add__' for 'torch._C.TensorBase' objects doesn't apply to a 'Dim' object",
)
def _() -> Any:
    return (rand(2, 3),), lambda x: (1000.0 + torch.arange(3))[:, None].expand(3, 2)


@case(
    "triangle_of_indices",
    """
@shapecheck
def triangle(x: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
    i, j = dims(2)
    kept = x[i, j]
    return where(i <= j, kept, 0).order(i, j)
""",
    "n m",
    ".order(i, j)",
    ".order(j, i)",
    'returned value "where(i <= j, kept, 0).order(j, i)" is (m n), declared "n m": axis 0 is m, declared n',
)
def _() -> Any:
    return (rand(3, 3),), torch.triu


@case(
    "lookup",
    """
@shapecheck
def lookup(words: Int[Tensor, "s"], table: Float[Tensor, "vocabulary d"]) -> Float[Tensor, "s d"]:
    sequence, feature = dims(2)
    return table[words[sequence], feature].order(sequence, feature)
""",
    "s d",
    "words[sequence], feature]",
    "words[sequence], sequence]",
    '"[...]" can\'t bind "sequence" to axis 1 of (vocabulary d): that is d, and "sequence" is bound to s',
)
def _() -> Any:
    return (torch.tensor([4, 0, 1]), rand(5, 3)), lambda words, table: table[words]


@case(
    "transposes",
    """
@shapecheck
def turned(x: Float[Tensor, "a b c"]) -> Float[Tensor, "b a c"]:
    i, j = dims(2)
    return x[i, j].order(j, i)
""",
    "b a c",
    ".order(j, i)",
    ".order(j, i, j)",
    '"order" can\'t order (c) over i, j: "j" is given twice',
)
def _() -> Any:
    return (rand(3, 4, 5),), lambda x: x.permute(1, 0, 2)


@case(
    "splits_and_merges",
    """
@shapecheck
def regrouped(x: Float[Tensor, "6 n"]) -> Float[Tensor, "3 2*n"]:
    i, j, k = dims(3)
    j.size = 2
    split = x[(i, j), k]
    return split.order(i, (j, k))
""",
    "_ 2*n",
    "j.size = 2",
    "j.size = 4",
    "\"[...]\" can't split axis 0 of (6 n) into (i, j): 6 elements don't divide by 4",
)
def _() -> Any:
    return (rand(6, 4),), lambda x: x.reshape(3, 8)


@case(
    "gram_matrix",
    """
@shapecheck
def gram(y: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c c"]:
    b, c, other, h, w = dims()
    products = (y[b, c, h, w] * y[b, other, h, w]).sum((h, w))
    return (products / (h.size * w.size)).order(b, c, other)
""",
    "b c c",
    "y[b, other, h, w]",
    "y[b, other, w, h]",
    '"[...]" can\'t bind "w" to axis 2 of (b c h w): that is h, and "w" is bound to w',
)
def _() -> Any:
    return (rand(2, 3, 4, 4),), lambda y: torch.einsum("bchw,bdhw->bcd", y, y) / 16


@case(
    "attention",
    """
@shapecheck
def attend(keys: Float[Tensor, "b c s"], queries: Float[Tensor, "b c t"], values: Float[Tensor, "b c s"]) -> Float[Tensor, "b 2*c t"]:
    batch, channel, key, query = dims(4)
    k, q, v = keys[batch, channel, key], queries[batch, channel, query], values[batch, channel, key]
    scores = (k * q).sum(channel) * channel.size**-0.5
    weights = softmax(scores, dim=key)
    found = (v * weights).sum(key)
    return torch.cat((found.order(batch, channel, query), queries), dim=1)
""",
    "b 2*c t",
    "values[batch, channel, key]",
    "values[batch, channel, query]",
    '"[...]" can\'t bind "query" to axis 2 of (b c s): that is s, and "query" is bound to t',
)
def _() -> Any:
    def attend(k: Tensor, q: Tensor, v: Tensor) -> Tensor:
        weights = torch.softmax(torch.einsum("bcs,bct->bst", k, q) * 3**-0.5, 1)
        return torch.cat((torch.einsum("bcs,bst->bct", v, weights), q), 1)

    return (rand(2, 3, 4), rand(2, 3, 4), rand(2, 3, 4)), attend


@case(
    "batching_what_knows_of_none",
    """
def model(features: Float[Tensor, "d"], weights: Float[Tensor, "d"]) -> Float[Tensor, ""]:
    assert features.dim() == 1
    return features.dot(weights).relu()

@shapecheck
def predict(examples: Float[Tensor, "b d"], weights: Float[Tensor, "d"]) -> Float[Tensor, "b"]:
    batch = dims(1)
    return model(examples[batch], weights).order(batch)
""",
    "b",
    "examples[batch], weights).order(batch)",
    "examples[batch], weights[batch]).order(batch)",
    '"[...]" can\'t bind "batch" to axis 0 of (d): that is d, and "batch" is bound to b',
)
def _() -> Any:
    return (rand(3, 3), rand(3)), lambda examples, weights: (examples @ weights).relu()


@case(
    "dimensions_as_arguments",
    """
def loss(first, second, images, labels, batch, inputs, hidden, classes):
    activations = torch.relu((first * images).sum(inputs))
    logits = (activations * second).sum(hidden)
    return ((logits - labels) ** 2).sum(classes).mean(batch)

@shapecheck
def total(first: Float[Tensor, "d h"], second: Float[Tensor, "h k"], images: Float[Tensor, "b d"], labels: Float[Tensor, "b k"]) -> Float[Tensor, ""]:
    batch, inputs, hidden, classes = dims(4)
    return loss(
        first[inputs, hidden], second[hidden, classes], images[batch, inputs], labels[batch, classes],
        batch, inputs, hidden, classes,
    )
""",
    "",
    "images[batch, inputs]",
    "images[inputs, batch]",
    '"[...]" can\'t bind "inputs" to axis 0 of (b d): that is b, and "inputs" is bound to d',
)
def _() -> Any:
    return (
        rand(4, 4),
        rand(4, 2),
        rand(4, 4),
        rand(4, 2),
    ), lambda a, b, x, y: ((torch.relu(x @ a) @ b - y) ** 2).sum(1).mean()


@case(
    "multi_head_attention",
    """
@shapecheck
def attend(q: Float[Tensor, "b t d"], k: Float[Tensor, "b s d"], v: Float[Tensor, "b s d"], count: int) -> Float[Tensor, "b t d"]:
    batch, query, key, heads, features = dims(5)
    heads.size = count
    queries = q[batch, query, [heads, features]]
    keys = k[batch, key, [heads, features]]
    values = v[batch, key, [heads, features]]
    scores = (queries * keys).sum(features) * features.size**-0.5
    weights = F.dropout(softmax(scores, dim=key), p=0.0)
    context = (weights * values).sum(key)
    return context.order(batch, query, [heads, features])
""",
    "b t d",
    "(weights * values).sum(key)",
    "(weights * values).sum(query)",
    '"order" has no dimension "query" in () over batch, heads, key, features: it has "batch", "heads", "key" and "features"',
)
def _() -> Any:
    def attend(q: Tensor, k: Tensor, v: Tensor, count: int) -> Tensor:
        q, k, v = (x.unflatten(2, (count, -1)).transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    return (rand(2, 4, 8), rand(2, 4, 8), rand(2, 4, 8), 2), attend


@case(
    "relative_positions",
    """
@shapecheck
def scores(q: Float[Tensor, "b t d"], k: Float[Tensor, "b t d"], table: Float[Tensor, "distances d"]) -> Float[Tensor, "b t t"]:
    batch, query, key, features = dims(4)
    queries, keys = q[batch, query, features], k[batch, key, features]
    distance = query - key + table.size(0) // 2
    embedded = table[distance, features]
    by_query = (queries * embedded).sum(features)
    by_key = (keys * embedded).sum(features)
    return (by_query + by_key).order(batch, key, query)
""",
    "b t t",
    "queries, keys = q[batch, query, features], k[batch, key, features]\n    distance = query - key + table.size(0) // 2\n",
    "distance = query - key + table.size(0) // 2\n    queries, keys = q[batch, query, features], k[batch, key, features]\n",
    '"-" can\'t use "query", which is bound to no size: no tensor was indexed with it before, nor its size set',
    "TypeError: descriptor '__sub__' for 'torch._C.TensorBase' objects doesn't apply to a 'Dim' object",
)
def _() -> Any:
    def scores(q: Tensor, k: Tensor, table: Tensor) -> Tensor:
        distance = torch.arange(3)[:, None] - torch.arange(3)[None, :] + 4  # query, key
        embedded = table[distance]
        by_query = torch.einsum("btd,tsd->bst", q, embedded)
        return by_query + torch.einsum("bsd,tsd->bst", k, embedded)

    return (rand(2, 3, 4), rand(2, 3, 4), rand(9, 4)), scores


@case(
    "puzzle_outer",
    """
@shapecheck
def outer(a: Float[Tensor, "n"], b: Float[Tensor, "m"]) -> Float[Tensor, "n m"]:
    i, j = dims(2)
    return (a[i] * b[j]).order(i, j)
""",
    "n m",
    "a[i] * b[j]",
    "a[i] * b[i]",
    '"[...]" can\'t bind "i" to axis 0 of (m): that is m, and "i" is bound to n',
)
def _() -> Any:
    return (rand(3), rand(3)), torch.outer


@case(
    "puzzle_diagonal",
    """
@shapecheck
def diagonal(a: Float[Tensor, "n n"]) -> Float[Tensor, "n"]:
    i = dims(1)
    return a[i, i].order(i)
""",
    "n",
    'a: Float[Tensor, "n n"]',
    'a: Float[Tensor, "n m"]',
    '"[...]" can\'t bind "i" to axis 1 of (n m): that is m, and "i" is bound to n',
)
def _() -> Any:
    return (rand(3, 3),), torch.diag


@case(
    "puzzle_identity",
    """
@shapecheck
def identity(n: int) -> Int[Tensor, "{n} {n}"]:
    i, j = dims(sizes=[n, n])
    return where(i == j, 1, 0).order(i, j)
""",
    "_ _",
    ".order(i, j)",
    ".order((i, j))",
    'returned value "where(i == j, 1, 0).order((i, j))" is ((<n> <n>)), declared "{n} {n}": it has 1 axis, declared 2',
    'returned value "where(i == j, 1, 0).order((i, j))" is (9), declared "{n} {n}": it has 1 axis, declared 2',
)
def _() -> Any:
    return (3,), lambda n: torch.eye(n, dtype=torch.int64)


@case(
    "puzzle_triangle",
    """
@shapecheck
def upper(n: int) -> Int[Tensor, "{n} {n}"]:
    i, j = dims(sizes=[n, n])
    return where(i <= j, 1, 0).order(i, j)
""",
    "_ _",
    "sizes=[n, n]",
    "sizes=[n, n + 1]",
    'returned value "where(i <= j, 1, 0).order(i, j)" is (<n> <n>+1), declared "{n} {n}": axis 1 is <n>+1, declared {n} (here <n>)',
    'returned value "where(i <= j, 1, 0).order(i, j)" is (3 4), declared "{n} {n}": axis 1 is 4, declared {n} (here 3)',
)
def _() -> Any:
    return (3,), lambda n: torch.ones(n, n, dtype=torch.int64).triu()


@case(
    "puzzle_difference",
    """
@shapecheck
def difference(a: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
    i = dims(1)
    steps = a[i] - a[i - 1]
    return where(i - 1 >= 0, steps, a[i]).order(i)
""",
    "n",
    "steps = a[i] - a[i - 1]",
    "steps = a[i - 1] - a[i]",
    '"-" can\'t use "i", which is bound to no size: no tensor was indexed with it before, nor its size set',
    "TypeError: descriptor '__sub__' for 'torch._C.TensorBase' objects doesn't apply to a 'Dim' object",
)
def _() -> Any:
    return (rand(4),), lambda a: torch.cat((a[:1], a.diff()))


@case(
    "puzzle_stack",
    """
@shapecheck
def stacked(a: Float[Tensor, "n"], b: Float[Tensor, "n"]) -> Float[Tensor, "2 n"]:
    side, i = dims(sizes=[2, None])
    return where(side == 0, a[i], b[i]).order(side, i)
""",
    "_ n",
    "sizes=[2, None]",
    "sizes=[3, None]",
    'returned value is (3 n), declared "2 n": axis 0 is 3, declared 2',
)
def _() -> Any:
    return (rand(3), rand(3)), lambda a, b: torch.stack((a, b))


@case(
    "puzzle_roll",
    """
@shapecheck
def rolled(a: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
    i = dims(sizes=[a.size(0)])
    return a[where(i + 1 < i.size, i + 1, 0)].order(i)
""",
    "n",
    ".order(i)",
    ".order(i, dims(1))",
    '"order" has no dimension "d0" in () over i: it has "i"',
)
def _() -> Any:
    return (rand(4),), lambda a: a.roll(-1)


@case(
    "puzzle_flip",
    """
@shapecheck
def flipped(a: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
    i = dims(sizes=[a.size(0)])
    return a[i.size - i - 1].order(i)
""",
    "n",
    "dims(sizes=[a.size(0)])",
    "dims(1)",
    '".size" can\'t use "i", which is bound to no size: no tensor was indexed with it before, nor its size set',
    "ValueError: dimension i is unbound",
)
def _() -> Any:
    return (rand(4),), lambda a: a.flip(0)


@case(
    "puzzle_mask",
    """
@shapecheck
def masked(values: Float[Tensor, "b t"], length: Int[Tensor, "b"]) -> Float[Tensor, "b t"]:
    time, batch = dims()
    kept = values[batch, time]
    return where(time < length[batch], kept, 0).order(batch, time)
""",
    "b t",
    "length[batch]",
    "length[time]",
    '"[...]" can\'t bind "time" to axis 0 of (b): that is b, and "time" is bound to t',
)
def _() -> Any:
    return (
        rand(3, 3),
        torch.tensor([1, 3, 2]),
    ), lambda values, length: values * (torch.arange(3) < length[:, None])
