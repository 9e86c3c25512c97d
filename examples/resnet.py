"""Residual networks for images, with the squeeze-and-excitation of SE-ResNet in the bottlenecks."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import Float, Int, UInt8, shapecheck


def conv3x3(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, bias=False)


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_planes, out_planes, kernel_size=1, stride=stride, bias=False)


class SqueezeExcite(nn.Module):
    """Weighs the channels of an image by what the whole image shows."""

    def __init__(self, channels: int, reduction: int = 4) -> None:
        super().__init__()
        self.fc1 = nn.Linear(channels, channels // reduction)
        self.fc2 = nn.Linear(channels // reduction, channels)

    @shapecheck
    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        scale = x.mean(dim=(2, 3))
        scale = F.relu(self.fc1(scale))
        scale = torch.sigmoid(self.fc2(scale))
        return x * scale[:, :, None, None]


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut."""

    expansion: ClassVar[int] = 1

    def __init__(
        self, in_planes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.in_planes = in_planes
        self.out_planes = planes * self.expansion
        self.conv1 = conv3x3(in_planes, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    @shapecheck
    def forward(
        self, x: Float[Tensor, "b {self.in_planes} h w"]
    ) -> Float[Tensor, "b {self.out_planes} h2 w2"]:
        identity = x

        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)

        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions around a shortcut; the middle one is narrow."""

    expansion: ClassVar[int] = 4

    def __init__(
        self, in_planes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.in_planes = in_planes
        self.out_planes = planes * self.expansion
        self.conv1 = conv1x1(in_planes, planes)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = conv3x3(planes, planes, stride)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = conv1x1(planes, planes * self.expansion)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.se = SqueezeExcite(planes * self.expansion)
        self.downsample = downsample

    @shapecheck
    def forward(
        self, x: Float[Tensor, "b {self.in_planes} h w"]
    ) -> Float[Tensor, "b {self.out_planes} h2 w2"]:
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        out = self.se(self.bn3(self.conv3(out)))
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.relu(out + shortcut)


class ResNet(nn.Module):
    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: list[int],
        num_classes: int = 1000,
        width: int = 64,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.num_features = 8 * width * block.expansion
        self.inplanes = width
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, width, layers[0])
        self.layer2 = self._make_layer(block, 2 * width, layers[1], stride=2)
        self.layer3 = self._make_layer(block, 4 * width, layers[2], stride=2)
        self.layer4 = self._make_layer(block, 8 * width, layers[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(self.num_features, num_classes)

        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def _make_layer(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        planes: int,
        blocks: int,
        stride: int = 1,
    ) -> nn.Sequential:
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, planes * block.expansion, stride),
                nn.BatchNorm2d(planes * block.expansion),
            )

        layers: list[nn.Module] = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes))  # noqa: PERF401
        return nn.Sequential(*layers)

    @shapecheck
    def forward_features(
        self, x: Float[Tensor, "b 3 h w"]
    ) -> Float[Tensor, "b {self.num_features} h2 w2"]:
        x = self.conv1(x)
        x = F.relu(self.bn1(x), inplace=True)
        x = self.maxpool(x)

        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        features: Tensor = self.layer4(x)
        return features

    @shapecheck
    def forward(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b {self.num_classes}"]:
        x = self.forward_features(x)
        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        return self.fc(x)


@shapecheck
def preprocess(images: UInt8[Tensor, "b h w 3"]) -> Float[Tensor, "b 3 h w"]:
    """From the bytes of image files to what the networks were trained on."""
    mean = torch.tensor([0.485, 0.456, 0.406])
    std = torch.tensor([0.229, 0.224, 0.225])
    x = images.permute(0, 3, 1, 2).float() / 255
    return (x - mean[:, None, None]) / std.view(3, 1, 1)


@shapecheck
def random_flip(images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
    """Mirror about half of the images."""
    flip = torch.rand(images.size(0)) < 0.5
    return torch.where(flip.view(-1, 1, 1, 1), images.flip(3), images)


@shapecheck
def topk_accuracy(
    logits: Float[Tensor, "b classes"], target: Int[Tensor, "b"], k: int = 1
) -> Float[Tensor, ""]:
    """Share of the images whose true class is among the k most likely."""
    _, pred = logits.topk(k, dim=1)
    pred = pred.t()
    correct = pred.eq(target.view(1, -1).expand_as(pred))
    return correct.any(dim=0).float().mean()


@shapecheck
def smooth_cross_entropy(
    logits: Float[Tensor, "b classes"], target: Int[Tensor, "b"], smoothing: float = 0.1
) -> Float[Tensor, ""]:
    """Cross entropy that gives a little of each target to all other classes."""
    log_probs = F.log_softmax(logits, dim=-1)
    nll = -log_probs.gather(dim=-1, index=target.unsqueeze(1)).squeeze(1)
    uniform = -log_probs.mean(dim=-1)
    return ((1 - smoothing) * nll + smoothing * uniform).mean()


@shapecheck
def class_activation_maps(
    features: Float[Tensor, "b c h w"], weight: Float[Tensor, "classes c"]
) -> Float[Tensor, "b classes h w"]:
    """Where in the image each class is seen (Zhou et al. 2016)."""
    maps = torch.einsum("bchw,kc->bkhw", features, weight)
    maps = maps - maps.amin(dim=(2, 3), keepdim=True)
    return maps / maps.amax(dim=(2, 3), keepdim=True)


def synthetic_images(batch_size: int) -> tuple[UInt8[Tensor, "b 64 64 3"], Int[Tensor, "b"]]:
    """Squares, each in one of ten shades, in the place of photographs."""
    target = torch.arange(batch_size) % 10
    images = torch.randint(0, 50, (batch_size, 64, 64, 3), dtype=torch.uint8)
    images[:, 16:48, 16:48] += (20 * target)[:, None, None, None].to(torch.uint8)
    return images, target


def build() -> nn.Module:
    torch.manual_seed(0)
    return ResNet(Bottleneck, [1, 2, 1, 1], num_classes=10, width=16)


def example_inputs() -> tuple[Float[Tensor, "b 3 h w"]]:
    torch.manual_seed(1)
    images, _ = synthetic_images(6)
    return (preprocess(images),)


def main() -> None:
    model = build()
    assert isinstance(model, ResNet)
    (x,) = example_inputs()
    print(f"resnet: bottlenecks {tuple(x.shape)} -> {tuple(model(x).shape)}")

    maps = class_activation_maps(model.forward_features(x), model.fc.weight)
    print(f"resnet: class activation maps {tuple(maps.shape)}")

    model = ResNet(BasicBlock, [2, 1, 1, 1], num_classes=10, width=8)
    images, target = synthetic_images(20)
    x = preprocess(images)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(6):
        optimizer.zero_grad()
        loss = smooth_cross_entropy(model(random_flip(x)), target)
        loss.backward()
        optimizer.step()

    logits = model(x)
    top1, top3 = (topk_accuracy(logits, target, k).item() for k in (1, 3))
    print(f"resnet: basic blocks, loss {loss.item():.3f}, top-1 {top1:.2f}, top-3 {top3:.2f}")


if __name__ == "__main__":
    main()
