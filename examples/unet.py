"""A U-Net for segmentation, with self-attention where the image is smallest."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from shapecheck import Float, Int, shapecheck


class DoubleConv(nn.Module):
    """(convolution - batch norm - ReLU) twice, at unchanged height and width."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    @shapecheck
    def forward(
        self, x: Float[Tensor, "b {self.in_channels} h w"]
    ) -> Float[Tensor, "b {self.out_channels} h w"]:
        out: Tensor = self.double_conv(x)
        return out


class Down(nn.Module):
    """Halve the image, then convolve."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.conv = DoubleConv(in_channels, out_channels)

    @shapecheck
    def forward(
        self, x: Float[Tensor, "b {self.in_channels} h w"]
    ) -> Float[Tensor, "b {self.out_channels} h//2 w//2"]:
        return self.conv(F.max_pool2d(x, 2))


class Up(nn.Module):
    """Double the image, put the encoder's image of that size beside it, then convolve."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
        self.conv = DoubleConv(in_channels, out_channels)

    @shapecheck
    def forward(
        self,
        x: Float[Tensor, "b {self.in_channels} h w"],
        skip: Float[Tensor, "b {self.in_channels//2} h_skip w_skip"],
    ) -> Float[Tensor, "b {self.out_channels} h_skip w_skip"]:
        x = self.up(x)
        # An odd size was rounded down on the way here.
        dy = skip.size(2) - x.size(2)
        dx = skip.size(3) - x.size(3)
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([skip, x], dim=1))


class Attention(nn.Module):
    """Self-attention over all pixels, added to the image."""

    def __init__(self, channels: int, heads: int = 4) -> None:
        super().__init__()
        self.channels = channels
        self.heads = heads
        self.norm = nn.GroupNorm(1, channels)
        self.to_qkv = nn.Conv2d(channels, 3 * channels, 1, bias=False)
        self.to_out = nn.Conv2d(channels, channels, 1)

    @shapecheck
    def forward(
        self, x: Float[Tensor, "b {self.channels} h w"]
    ) -> Float[Tensor, "b {self.channels} h w"]:
        _, c, h, w = x.shape
        qkv = self.to_qkv(self.norm(x)).chunk(3, dim=1)
        q, k, v = (rearrange(t, "b (n d) h w -> b n (h w) d", n=self.heads) for t in qkv)

        scores = torch.einsum("b n i d, b n j d -> b n i j", q, k)
        weights = (scores * (c // self.heads) ** -0.5).softmax(dim=-1)
        out = torch.einsum("b n i j, b n j d -> b n i d", weights, v)
        out = rearrange(out, "b n (h w) d -> b (n d) h w", h=h, w=w)
        return x + self.to_out(out)


class UNet(nn.Module):
    def __init__(self, in_channels: int, num_classes: int, width: int = 64) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.num_classes = num_classes
        self.inc = DoubleConv(in_channels, width)
        self.down1 = Down(width, 2 * width)
        self.down2 = Down(2 * width, 4 * width)
        self.down3 = Down(4 * width, 8 * width)
        self.attention = Attention(8 * width)
        self.up1 = Up(8 * width, 4 * width)
        self.up2 = Up(4 * width, 2 * width)
        self.up3 = Up(2 * width, width)
        self.outc = nn.Conv2d(width, num_classes, kernel_size=1)

    @shapecheck
    def forward(
        self, x: Float[Tensor, "b {self.in_channels} h w"]
    ) -> Float[Tensor, "b {self.num_classes} h w"]:
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x4 = self.attention(self.down3(x3))
        x = self.up1(x4, x3)
        x = self.up2(x, x2)
        x = self.up3(x, x1)
        return self.outc(x)


@shapecheck
def dice_loss(
    logits: Float[Tensor, "b classes h w"], target: Int[Tensor, "b h w"]
) -> Float[Tensor, ""]:
    """One minus the overlap of prediction and truth, averaged over classes."""
    probs = logits.softmax(dim=1)
    truth = F.one_hot(target, logits.size(1)).permute(0, 3, 1, 2).float()
    overlap = (probs * truth).sum(dim=(0, 2, 3))
    total = probs.sum(dim=(0, 2, 3)) + truth.sum(dim=(0, 2, 3))
    return 1 - (2 * overlap / total.clamp(min=1)).mean()


@shapecheck
def segmentation_loss(
    logits: Float[Tensor, "b classes h w"], target: Int[Tensor, "b h w"]
) -> Float[Tensor, ""]:
    return F.cross_entropy(logits, target) + dice_loss(logits, target)


@shapecheck
def pixel_accuracy(logits: Float[Tensor, "b classes h w"], target: Int[Tensor, "b h w"]) -> float:
    pred = logits.argmax(dim=1)
    return (pred == target).float().mean().item()


@shapecheck
def class_areas(
    logits: Float[Tensor, "b classes h w"], valid: Float[Tensor, "b h w"]
) -> Float[Tensor, "b classes"]:
    """The share of each image's valid pixels that each class is believed to cover."""
    probs = logits.softmax(dim=1) * valid.unsqueeze(1)
    return probs.flatten(2).sum(dim=-1) / valid.sum(dim=(1, 2)).unsqueeze(-1)


@shapecheck
def centroids(probs: Float[Tensor, "b classes h w"]) -> Float[Tensor, "b classes 2"]:
    """The centre of mass (y, x) of each class, in pixels."""
    h, w = probs.shape[-2:]
    mass = probs.sum(dim=(2, 3))
    y = (probs.sum(dim=3) * torch.arange(h)).sum(dim=-1) / mass
    x = (probs.sum(dim=2) * torch.arange(w)).sum(dim=-1) / mass
    return torch.stack([y, x], dim=-1)


def synthetic_scenes(
    batch_size: int, height: int = 44, width: int = 56
) -> tuple[Float[Tensor, "b 3 h w"], Int[Tensor, "b h w"]]:
    """Coloured stripes of five classes with noise, and the class of each pixel."""
    offsets = torch.randint(0, 10, (batch_size, 1, 1))
    rows = torch.arange(height).view(1, height, 1)
    columns = torch.arange(width).view(1, 1, width)
    target = (rows + 2 * columns + offsets) // 12 % 5
    colours = torch.rand(5, 3)
    images = colours[target].permute(0, 3, 1, 2)
    return images + 0.1 * torch.randn_like(images), target


def build() -> nn.Module:
    torch.manual_seed(0)
    return UNet(in_channels=3, num_classes=5, width=8)


def example_inputs() -> tuple[Float[Tensor, "b 3 h w"]]:
    torch.manual_seed(1)
    images, _ = synthetic_scenes(2)
    return (images,)


def main() -> None:
    model = build()
    (images,) = example_inputs()
    print(f"unet: {tuple(images.shape)} -> {tuple(model(images).shape)}")

    images, target = synthetic_scenes(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(6):
        optimizer.zero_grad()
        loss = segmentation_loss(model(images), target)
        loss.backward()
        optimizer.step()

    logits = model(images)
    areas = class_areas(logits, torch.ones_like(images[:, 0]))
    centres = centroids(logits.softmax(dim=1))
    print(
        f"unet: loss {loss.item():.3f}, pixel accuracy {pixel_accuracy(logits, target):.2f}, "
        f"largest class covers {areas.max():.2f}, first centre {centres[0, 0].tolist()}"
    )


if __name__ == "__main__":
    main()
