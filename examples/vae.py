"""A variational autoencoder with several samples a data point, on images of 28 x 20 pixels."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import Float, shapecheck


class VAE(nn.Module):
    def __init__(
        self, height: int, width: int, hidden: int = 200, latent: int = 8, num_samples: int = 1
    ) -> None:
        super().__init__()
        self.height = height
        self.width = width
        self.latent = latent
        self.num_samples = num_samples

        self.fc1 = nn.Linear(height * width, hidden)
        self.fc_mu = nn.Linear(hidden, latent)
        self.fc_logvar = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, height * width)

    @shapecheck
    def encode(
        self, x: Float[Tensor, "b h w"]
    ) -> tuple[Float[Tensor, "b {self.latent}"], Float[Tensor, "b {self.latent}"]]:
        h = F.relu(self.fc1(x.flatten(1)))
        return self.fc_mu(h), self.fc_logvar(h)

    @shapecheck
    def reparameterize(
        self, mu: Float[Tensor, "b z"], logvar: Float[Tensor, "b z"]
    ) -> Float[Tensor, "{self.num_samples} b z"]:
        std = torch.exp(0.5 * logvar)
        eps = torch.randn(self.num_samples, *std.shape)
        return mu + eps * std

    @shapecheck
    def decode(
        self, z: Float[Tensor, "*batch {self.latent}"]
    ) -> Float[Tensor, "*batch {self.height} {self.width}"]:
        h = F.relu(self.fc3(z))
        pixels = torch.sigmoid(self.fc4(h))
        return pixels.view(*z.shape[:-1], self.height, self.width)

    @shapecheck
    def forward(
        self, x: Float[Tensor, "b h w"]
    ) -> tuple[Float[Tensor, "s b h w"], Float[Tensor, "b z"], Float[Tensor, "b z"]]:
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar

    @shapecheck
    def sample(self, n: int) -> Float[Tensor, "{n} {self.height} {self.width}"]:
        z = torch.randn(n, self.latent)
        return self.decode(z)


@shapecheck
def kl_divergence(mu: Float[Tensor, "b z"], logvar: Float[Tensor, "b z"]) -> Float[Tensor, "b"]:
    """Of N(mu, exp(logvar)) from the standard normal, for each data point."""
    return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=-1)


@shapecheck
def loss_function(
    recon: Float[Tensor, "s b h w"],
    x: Float[Tensor, "b h w"],
    mu: Float[Tensor, "b z"],
    logvar: Float[Tensor, "b z"],
) -> Float[Tensor, ""]:
    """The negative ELBO: reconstruction error plus Kullback-Leibler divergence."""
    target = x.expand_as(recon)
    errors: Float[Tensor, "s b h w"] = F.binary_cross_entropy(recon, target, reduction="none")
    bce = errors.sum(dim=(-2, -1)).mean(dim=0)
    return (bce + kl_divergence(mu, logvar)).mean()


@shapecheck
def pixel_error(recon: Float[Tensor, "s b h w"], x: Float[Tensor, "b h w"]) -> Float[Tensor, "b"]:
    """Squared error of the mean reconstruction, relative to the image's own variance."""
    residual = (recon.mean(dim=0) - x).pow(2).mean(dim=(1, 2))
    brightness = x.mean(dim=(1, 2), keepdim=True)
    return residual / (x - brightness).pow(2).mean(dim=(1, 2))


@shapecheck
def importance_weights(
    recon: Float[Tensor, "s b h w"], x: Float[Tensor, "b h w"]
) -> Float[Tensor, "s b"]:
    """How well each sample explains its image, as weights that sum to one over the samples."""
    scores = -(recon - x).pow(2).sum(dim=(2, 3))
    return torch.exp(scores - scores.logsumexp(dim=0, keepdim=True))


@shapecheck
def best_samples(
    recon: Float[Tensor, "s b h w"], weights: Float[Tensor, "s b"]
) -> Float[Tensor, "b h w"]:
    """Of each image the sample with the largest weight."""
    _, b, h, w = recon.shape
    index = weights.argmax(dim=0).view(1, b, 1, 1).expand(1, b, h, w)
    return recon.gather(0, index).squeeze(0)


@shapecheck
def interpolate(
    start: Float[Tensor, "z"], end: Float[Tensor, "z"], steps: int
) -> Float[Tensor, "{steps} z"]:
    """Points on the line from one latent code to another."""
    ratio = torch.linspace(0, 1, steps).unsqueeze(1)
    return start + ratio * (end - start)


def synthetic_faces(batch_size: int) -> Float[Tensor, "b 28 20"]:
    """Bright ellipses of random centre, in the place of faces."""
    y = torch.linspace(-1, 1, 28)[:, None]
    x = torch.linspace(-1, 1, 20)[None, :]
    centre = 0.8 * torch.rand(batch_size, 2, 1, 1) - 0.4
    distance = (y - centre[:, 0]).pow(2) + (x - centre[:, 1]).pow(2)
    return torch.exp(-4 * distance)


def build() -> nn.Module:
    torch.manual_seed(0)
    return VAE(height=28, width=20, num_samples=5)


def example_inputs() -> tuple[Float[Tensor, "b h w"]]:
    torch.manual_seed(1)
    return (synthetic_faces(5),)


def main() -> None:
    model = build()
    assert isinstance(model, VAE)
    (x,) = example_inputs()
    recon, mu, logvar = model(x)
    print(f"vae: {tuple(x.shape)} -> {tuple(recon.shape)}, {tuple(mu.shape)}")

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(20):
        optimizer.zero_grad()
        recon, mu, logvar = model(x)
        loss = loss_function(recon, x, mu, logvar)
        loss.backward()
        optimizer.step()

    weights = importance_weights(recon, x)
    best = best_samples(recon, weights)
    path = model.decode(interpolate(mu[0], mu[1], steps=7))
    print(
        f"vae: loss {loss.item():.1f}, pixel error {pixel_error(recon, x).mean():.3f}, "
        f"best {tuple(best.shape)}, path {tuple(path.shape)}, new {tuple(model.sample(3).shape)}"
    )


if __name__ == "__main__":
    main()
