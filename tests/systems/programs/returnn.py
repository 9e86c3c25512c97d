"""RETURNN's dimension objects on plain tensors.

https://returnn.readthedocs.io/en/latest/user_guide/data.html, "Tensor and Dim".
"""

import torch
from einops import rearrange, repeat
from torch import Tensor, nn

from shapecheck import Dim, Float, Int, assert_shape, dims, dims_of, named, shapecheck

Batch = Dim("batch", kind="batch")
InputSeq = Dim("input_seq_len", kind="spatial", ragged=True)
InputFeat = Dim("input_feature", size=40, kind="feature")
TargetSeq = Dim("target_seq_len", kind="spatial", ragged=True)
Classes = Dim("target_classes", size=1000, kind="feature")
Out, Heads, Key = dims("out heads key")
Two = Dim("two", size=2)
Encoder, Decoder = Dim("encoder", kind="spatial"), Dim("decoder", kind="spatial")
LogMel, Pitch = Dim(size=4, kind="feature"), Dim(size=4, kind="feature")
Down = Dim(kind="spatial")
Down.declare_same_as(Encoder // 2)


@shapecheck
def batch_major(
    x: Float[Tensor, InputSeq, Batch, InputFeat],
) -> Float[Tensor, Batch, InputSeq, InputFeat]:
    return named.order(x, Batch, InputSeq, InputFeat)
    # wrong: return named.order(x, InputSeq, Batch, InputFeat)


class Linear(nn.Module):
    """Operates on the feature dimension, in whatever order the axes are."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(40, 16))
        # wrong: self.weight = nn.Parameter(torch.rand(16, 40))

    @shapecheck
    def forward(
        self, x: Float[Tensor, Batch, InputFeat, InputSeq]
    ) -> Float[Tensor, Batch, InputSeq, Out]:
        weight = named(self.weight, InputFeat, Out)
        return named.dot(x, weight, InputFeat)
        # wrong: return named.dot(weight, x, InputFeat)


@shapecheck
def softmax_over_spatial(
    energy: Float[Tensor, Batch, Encoder, Decoder],
) -> Float[Tensor, Batch, Encoder, Decoder]:
    return named.softmax(energy, Encoder)
    # wrong: return named.softmax(energy, InputSeq)


@shapecheck
def reduced_max(x: Float[Tensor, Batch, Encoder, Out]) -> Float[Tensor, Batch, Out]:
    return named.amax(x, Encoder)
    # wrong: return named.amax(x, Batch)


@shapecheck
def attention(
    weights: Float[Tensor, Batch, Decoder, Encoder], values: Float[Tensor, Batch, Encoder, Out]
) -> Float[Tensor, Batch, Decoder, Out]:
    return named.dot(weights, values, Encoder)
    # wrong: return named.dot(weights, values, Decoder)


@shapecheck
def one_hot(
    targets: Int[Tensor, Batch, TargetSeq], table: Float[Tensor, Classes, Out]
) -> Float[Tensor, Batch, TargetSeq, Out]:
    return table[targets]
    # wrong: return table[targets.T]


@shapecheck
def with_end(
    x: Float[Tensor, Batch, TargetSeq, Out], end: Float[Tensor, Batch, 1, Out]
) -> Float[Tensor, Batch, TargetSeq + 1, Out]:
    return torch.cat([x, end], dim=1)
    # wrong: return torch.cat([x, end, end], dim=1)


@shapecheck
def heads_split(
    x: Float[Tensor, Batch, Heads * Key], like: Float[Tensor, Heads, Key]
) -> Float[Tensor, Batch, Heads, Key]:
    return named.split(x, Heads * Key)
    # wrong: return named.split(x, Key * Heads)


@shapecheck
def heads_merged(
    x: Float[Tensor, Batch, Encoder, Heads, Key],
) -> Float[Tensor, Batch, Encoder, Heads * Key]:
    return named.stack(x, (Heads, Key))
    # wrong: return named.stack(x, (Key, Heads))


@shapecheck
def split_by_pattern(
    x: Float[Tensor, Batch, Encoder, Two * Key],
) -> Float[Tensor, Batch, Two, Encoder, Key]:
    parts = f"{Batch} {Encoder} {Two * Key}"
    # wrong: parts = f"{Batch} {Encoder} {Key * Two}"
    return rearrange(x, f"{parts} -> {Batch} {Two} {Encoder} {Key}", two=Two)


@shapecheck
def repeated(x: Float[Tensor, Batch, Key]) -> Float[Tensor, Batch, Two, Key]:
    return repeat(x, "b k -> b n k", n=Two)
    # wrong: return repeat(x, "b k -> b k n", n=Two)


@shapecheck
def mean_over_time(
    x: Float[Tensor, Batch, InputSeq, InputFeat], lengths: Int[Tensor, Batch]
) -> Float[Tensor, Batch, InputFeat]:
    return named.mean(x, InputSeq.with_lengths(lengths))
    # wrong: return named.mean(x, Batch)


@shapecheck
def largest(x: Float[Tensor, Batch, InputSeq]) -> Float[Tensor, Batch]:
    return x[:, 0]
    # wrong: return x.amax(1)


@shapecheck
def weights_over_time(
    energy: Float[Tensor, Batch, InputSeq], lengths: Int[Tensor, Batch]
) -> Float[Tensor, Batch, InputSeq]:
    return named.softmax(energy, InputSeq.with_lengths(lengths))
    # wrong: return named.softmax(energy, TargetSeq.with_lengths(lengths))


@shapecheck
def recurrent(
    x: Float[Tensor, Batch, InputSeq, InputFeat], lengths: Int[Tensor, Batch], gru: nn.GRU
) -> Float[Tensor, Batch, InputSeq, Out]:
    time = InputSeq.with_lengths(lengths)
    steps, _ = gru(named.pack(x, time))
    return named.unpack(steps, time, Batch, Out)
    # wrong: return named.unpack(steps, Batch, time, Out)


@shapecheck
def verified(x: Float[Tensor, Batch, InputSeq, InputFeat]) -> Float[Tensor, Batch, InputSeq]:
    y = x[..., 0]
    assert_shape(y, Batch, InputSeq)
    # wrong: assert_shape(y, Batch, InputFeat)
    return y


@shapecheck
def in_any_order(x: Float[Tensor, Batch, Encoder, Out]) -> Float[Tensor, Encoder, Batch, Out]:
    y = x.transpose(0, 1)
    assert_shape(y, {Batch, Encoder, Out})
    # wrong: assert_shape(y, {Batch, Two, Out})
    return y


@shapecheck
def features_joined(
    mel: Float[Tensor, Batch, Encoder, LogMel], pitch: Float[Tensor, Batch, Encoder, Pitch]
) -> Float[Tensor, Batch, Encoder, LogMel + Pitch]:
    return torch.cat([mel, pitch], dim=-1)
    # wrong: return torch.cat([pitch, mel], dim=-1)


@shapecheck
def sequences_joined(
    x: Float[Tensor, Batch, InputSeq, Out],
    y: Float[Tensor, Batch, TargetSeq, Out],
    lengths: Int[Tensor, Batch],
    lengths_after: Int[Tensor, Batch],
) -> Float[Tensor, Batch, Out]:
    both = named.cat([x, y], (InputSeq, TargetSeq))
    # wrong: both = named.cat([y, x], (InputSeq, TargetSeq))
    time = InputSeq.with_lengths(lengths) + TargetSeq.with_lengths(lengths_after)
    return named.mean(both, time)


@shapecheck
def twice(x: Float[Tensor, Batch, Encoder]) -> Float[Tensor, Batch, 2 * Encoder]:
    return x.repeat(1, 2)
    # wrong: return x.repeat_interleave(2, dim=1)


@shapecheck
def each_twice(x: Float[Tensor, Batch, Encoder]) -> Float[Tensor, Batch, Encoder * 2]:
    return x.repeat_interleave(2, dim=1)
    # wrong: return x.repeat(1, 2)


@shapecheck
def by_kind(x: Float[Tensor, Batch, Encoder, InputFeat]) -> Float[Tensor, Batch, InputFeat]:
    return named.amax(x, "T")
    # wrong: return named.amax(x, "F")


@shapecheck
def halved(x: Float[Tensor, Batch, Encoder, Out]) -> Float[Tensor, Batch, Down, Out]:
    return x.unflatten(1, (-1, 2))[:, :, 0]
    # wrong: return x.unflatten(1, (-1, 3))[:, :, 0]


@shapecheck
def counted(
    x: Float[Tensor, Batch, InputSeq, Out], lengths: Int[Tensor, Batch]
) -> Float[Tensor, Batch, Out, Key]:
    table = named(torch.ones(x.shape[1], 3), InputSeq, Key)
    return named.dot(x, table, InputSeq.with_lengths(lengths))
    # wrong: return named.dot(x, table, TargetSeq.with_lengths(lengths))


@shapecheck
def reversed_in_time(
    x: Float[Tensor, Batch, InputSeq], lengths: Int[Tensor, Batch]
) -> Float[Tensor, Batch, InputSeq]:
    return named.flip(x, InputSeq.with_lengths(lengths))
    # wrong: return named.flip(x, TargetSeq.with_lengths(lengths))


@shapecheck
def context(
    weights: Float[Tensor, Batch, Decoder, Encoder], values: Float[Tensor, Batch, Encoder, Out]
) -> Float[Tensor, Batch, Decoder, Out]:
    return weights @ values
    # wrong: return (weights.mT @ values).mT.mT


class Projected(nn.Module):
    """A layer that gives a dimension of which the size is promised."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(40, 40)
        # wrong: self.layer = nn.Linear(40, 41)

    @shapecheck
    def forward(self, x: Float[Tensor, Batch, InputFeat]) -> Float[Tensor, Batch, InputFeat]:
        return self.layer(x)


def main() -> None:
    lengths = torch.tensor([3, 5])
    x = torch.rand(2, 5, 40)
    assert torch.equal(batch_major(x.transpose(0, 1)), x)
    linear = Linear()
    torch.testing.assert_close(linear(x.mT), x @ linear.weight)
    energy = torch.rand(3, 3, 3)
    assert torch.equal(softmax_over_spatial(energy), energy.softmax(1))
    assert torch.equal(reduced_max(energy), energy.amax(1))
    torch.testing.assert_close(attention(energy, energy.clone()), energy @ energy)
    assert one_hot(torch.zeros(3, 3, dtype=torch.int64), torch.rand(1000, 4)).shape == (3, 3, 4)
    assert with_end(torch.rand(2, 3, 4), torch.rand(2, 1, 4)).shape == (2, 4, 4)
    assert heads_split(torch.rand(2, 9), torch.rand(3, 3)).shape == (2, 3, 3)
    whole = named(torch.rand(3, 2, 2), Batch, Heads, Key)
    assert dims_of(named.stack(whole, (Heads, Key))) == (Batch, Heads * Key)
    assert heads_merged(torch.rand(2, 2, 3, 3)).shape == (2, 2, 9)
    merged = torch.rand(2, 2, 4)
    assert torch.equal(split_by_pattern(merged), merged.view(2, 2, 2, 2).transpose(1, 2))
    assert torch.equal(repeated(merged[0, :, :2]), merged[0, :, :2].unsqueeze(1).expand(2, 2, 2))
    torch.testing.assert_close(mean_over_time(x, lengths)[0], x[0, :3].mean(0))
    assert largest(torch.rand(2, 2)).shape == (2,)
    assert weights_over_time(x[..., 0], lengths)[0, 3:].sum() == 0
    gru = nn.GRU(40, 16, batch_first=True)
    assert recurrent(x, lengths, gru).shape == (2, 5, 16)
    assert verified(x).shape == (2, 5)
    assert in_any_order(energy).shape == (3, 3, 3)
    joined = features_joined(torch.zeros(2, 3, 4), torch.ones(2, 3, 4))
    assert joined[..., :4].sum() == 0
    assert dims_of(joined) == (Batch, Encoder, LogMel + Pitch)
    y, after = torch.rand(2, 4, 40), torch.tensor([1, 4])
    found = sequences_joined(x, y, lengths, after)
    torch.testing.assert_close(found[0], torch.cat([x[0, :3], y[0, :1]]).mean(0))
    assert torch.equal(twice(torch.eye(2)), torch.eye(2).repeat(1, 2))
    assert each_twice(torch.eye(2))[0].tolist() == [1, 1, 0, 0]
    assert by_kind(torch.rand(40, 40, 40)).shape == (40, 40)
    assert halved(torch.rand(2, 6, 4)).shape == (2, 3, 4)
    torch.testing.assert_close(counted(x, lengths)[0, :, 0], x[0, :3].sum(0))
    assert torch.equal(reversed_in_time(x[..., 0], lengths)[0, :3], x[0, :3, 0].flip(0))
    torch.testing.assert_close(context(energy, energy.clone()), energy @ energy)
    assert Projected()(torch.rand(2, 40)).shape == (2, 40)


if __name__ == "__main__":
    main()
