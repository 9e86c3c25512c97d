"""The MNIST network of the PyTorch examples: two convolutions and two linear layers."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import Float, Int, UInt8, shapecheck


class MnistCNN(nn.Module):
    """conv - pool - conv - pool - linear - linear; returns log-probabilities."""

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5, 1)
        self.conv2 = nn.Conv2d(20, 50, 5, 1)
        self.fc1 = nn.Linear(4 * 4 * 50, 500)
        self.fc2 = nn.Linear(500, num_classes)

    @shapecheck
    def forward(self, x: Float[Tensor, "b 1 28 28"]) -> Float[Tensor, "b classes"]:
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(x, 2, 2)
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, kernel_size=2)
        x = x.view(-1, 4 * 4 * 50)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)


@shapecheck
def from_emnist(images: UInt8[Tensor, "b w h"]) -> Float[Tensor, "b h w"]:
    """The files of EMNIST hold each image column by column."""
    return images.transpose(1, 2).float() / 255


@shapecheck
def standardize(images: Float[Tensor, "b h w"]) -> Float[Tensor, "b 1 h w"]:
    """Give each image zero mean and unit variance, and add the channel that conv2d wants."""
    mean = images.mean(dim=(1, 2), keepdim=True)
    std = images.std(dim=(1, 2), keepdim=True)
    return ((images - mean) / std).unsqueeze(1)


@shapecheck
def nll(log_probs: Float[Tensor, "b classes"], target: Int[Tensor, "b"]) -> Float[Tensor, ""]:
    return F.nll_loss(log_probs, target)


@shapecheck
def predict(log_probs: Float[Tensor, "b classes"]) -> Int[Tensor, "b"]:
    return log_probs.argmax(dim=1)


@shapecheck
def accuracy(log_probs: Float[Tensor, "b classes"], target: Int[Tensor, "b"]) -> float:
    pred = log_probs.argmax(dim=1, keepdim=True)
    correct = pred.eq(target.view_as(pred)).sum().item()
    return correct / len(target)


@shapecheck
def confusion(
    log_probs: Float[Tensor, "b classes"], target: Int[Tensor, "b"]
) -> Float[Tensor, "classes classes"]:
    """Soft confusion matrix: a row for each true class, a column for each predicted one."""
    truth = F.one_hot(target, log_probs.shape[1]).float()
    return truth.T @ log_probs.exp()


def synthetic_digits(batch_size: int) -> tuple[UInt8[Tensor, "b 28 28"], Int[Tensor, "b"]]:
    """Noisy copies of ten random images, in the place of the real digits."""
    prototypes = torch.randint(0, 200, (10, 28, 28))
    labels = torch.randint(0, 10, (batch_size,))
    noise = torch.randint(0, 50, (batch_size, 28, 28))
    return (prototypes[labels] + noise).to(torch.uint8), labels


def build() -> nn.Module:
    torch.manual_seed(0)
    return MnistCNN()


def example_inputs() -> tuple[Float[Tensor, "b 1 28 28"]]:
    torch.manual_seed(1)
    images, _ = synthetic_digits(6)
    return (standardize(from_emnist(images)),)


def main() -> None:
    model = build()
    (images,) = example_inputs()
    print(f"mnist_cnn: {tuple(images.shape)} -> {tuple(model(images).shape)}")

    digits, target = synthetic_digits(33)
    images = standardize(from_emnist(digits))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(8):
        optimizer.zero_grad()
        loss = nll(model(images), target)
        loss.backward()
        optimizer.step()

    log_probs = model(images)
    correct = int((predict(log_probs) == target).sum())
    diagonal = confusion(log_probs, target).diagonal().sum() / len(target)
    print(
        f"mnist_cnn: loss {loss.item():.3f}, accuracy {accuracy(log_probs, target):.2f} "
        f"({correct} of {len(target)}), confidence in the true class {diagonal:.2f}"
    )


if __name__ == "__main__":
    main()
