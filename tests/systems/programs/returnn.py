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
    assert dims_of(named.stack(whole, (Heads, Key))) == ("batch", "(heads key)")
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


if __name__ == "__main__":
    main()
