"""A convolutional network for sentence classification (Kim 2014)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import Bool, Float, Int, shapecheck

PAD = 0


class TextCNN(nn.Module):
    """Convolutions of several widths over the words, the strongest response of each, a softmax."""

    def __init__(
        self,
        vocab_size: int,
        embedding_dim: int,
        num_classes: int,
        num_filters: int = 100,
        kernel_sizes: tuple[int, ...] = (3, 4, 5),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.num_filters = num_filters
        self.num_classes = num_classes
        self.dropout = dropout
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=PAD)
        self.conv_blocks = nn.ModuleList(
            [nn.Conv1d(embedding_dim, num_filters, kernel_size) for kernel_size in kernel_sizes]
        )
        self.fc = nn.Linear(num_filters * len(kernel_sizes), num_classes)

    @shapecheck
    def embed(self, tokens: Int[Tensor, "b t"]) -> Float[Tensor, "b t {self.embedding_dim}"]:
        mask = padding_mask(tokens).unsqueeze(-1)
        return self.embedding(tokens).masked_fill(mask, 0.0)

    @shapecheck
    def forward(
        self, tokens: Int[Tensor, "b t"]
    ) -> tuple[Float[Tensor, "b {self.num_classes}"], Float[Tensor, "b features"]]:
        """Class probabilities, and the features that they were computed from."""
        x = self.embed(tokens)
        x = x.transpose(1, 2)

        pooled: list[Float[Tensor, "b {self.num_filters}"]] = [
            F.relu(conv_block(x)).max(dim=-1)[0] for conv_block in self.conv_blocks
        ]
        features = torch.cat(pooled, dim=1)
        out = F.dropout(features, p=self.dropout, training=self.training)
        return F.softmax(self.fc(out), dim=1), features


@shapecheck
def padding_mask(tokens: Int[Tensor, "b t"]) -> Bool[Tensor, "b t"]:
    return tokens == PAD


@shapecheck
def sentence_lengths(tokens: Int[Tensor, "b t"]) -> Int[Tensor, "b"]:
    return (~padding_mask(tokens)).sum(dim=1)


@shapecheck
def target_probs(probs: Float[Tensor, "b classes"], target: Int[Tensor, "b"]) -> Float[Tensor, "b"]:
    """The probability that each sentence's true class was given."""
    return probs.gather(1, target.unsqueeze(1)).squeeze(1)


@shapecheck
def weighted_nll(
    probs: Float[Tensor, "b classes"],
    target: Int[Tensor, "b"],
    class_weights: Float[Tensor, "classes"],
) -> Float[Tensor, ""]:
    """Mean negative log-likelihood, with rare classes counting for more."""
    weights = class_weights[target]
    losses = -weights * target_probs(probs, target).log()
    return losses.sum() / weights.sum()


@shapecheck
def brier_score(probs: Float[Tensor, "b classes"], target: Int[Tensor, "b"]) -> Float[Tensor, ""]:
    return F.mse_loss(probs, F.one_hot(target, probs.size(1)).float())


@shapecheck
def nearest_neighbours(
    features: Float[Tensor, "b features"], bank: Float[Tensor, "n features"]
) -> Int[Tensor, "b"]:
    """Index of the sentence in the bank that is most similar (by cosine) to each sentence."""
    features = features / features.norm(dim=1, keepdim=True)
    bank = bank / bank.norm(dim=1, keepdim=True)
    similarity: Float[Tensor, "b n"] = features @ bank.T
    return similarity.argmax(dim=-1)


def synthetic_sentences(
    batch_size: int, length: int = 50
) -> tuple[Int[Tensor, "b t"], Int[Tensor, "b"]]:
    """Random words; those of class 1 and 2 contain a tell-tale word. Some are padded."""
    tokens = torch.randint(10, 200, (batch_size, length))
    target = torch.arange(batch_size) % 3
    tokens[:, 3] = target + 1
    for row in tokens[::4]:
        row[length // 2 :] = PAD
    return tokens, target


def build() -> nn.Module:
    torch.manual_seed(0)
    return TextCNN(vocab_size=200, embedding_dim=50, num_classes=3, num_filters=16)


def example_inputs() -> tuple[Int[Tensor, "b t"]]:
    torch.manual_seed(1)
    tokens, _ = synthetic_sentences(7)
    return (tokens,)


def main() -> None:
    model = build()
    (tokens,) = example_inputs()
    probs, features = model(tokens)
    print(f"text_cnn: {tuple(tokens.shape)} -> {tuple(probs.shape)}, {tuple(features.shape)}")

    tokens, target = synthetic_sentences(32)
    class_weights = torch.tensor([1.0, 2.0, 2.0])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        optimizer.zero_grad()
        probs, bank = model(tokens)
        loss = weighted_nll(probs, target, class_weights)
        loss.backward()
        optimizer.step()

    model.eval()
    _, bank = model(tokens)
    tokens, target = synthetic_sentences(9)
    probs, features = model(tokens)
    neighbours = nearest_neighbours(features, bank).tolist()
    print(
        f"text_cnn: loss {loss.item():.3f}, Brier score {brier_score(probs, target):.3f}, "
        f"lengths {sentence_lengths(tokens).tolist()}, nearest {neighbours}"
    )


if __name__ == "__main__":
    main()
