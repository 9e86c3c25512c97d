"""The three models of the namedtensor article, three ways, with the same outputs.

The first way are the models of examples/, plain and annotated; here are the other two: by name, and
with einops. mypy's side is quiet about all of them.

Source: https://nlp.seas.harvard.edu/NamedTensor2, "Experiments on Canonical Models".
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange, reduce, repeat
from repository import ROOT
from torch import Tensor, nn

from shapecheck import Float, Int, ShapeError, named, shapecheck
from shapecheck.analysis import Options, Source, analyze_module

sys.path.insert(0, str(ROOT / "examples"))
import mnist_cnn
import text_cnn
import vae


def pool(x: Tensor) -> Tensor:
    return F.max_pool2d(x, 2)


class NamedMnist(mnist_cnn.MnistCNN):
    @shapecheck
    def forward(self, x: Float[Tensor, "b c=1 h=28 w=28"]) -> Float[Tensor, "b classes"]:
        x = named(x, "b c h w")
        x = named.op(x, self.conv1, F.relu, pool, c1="c", h1="h", w1="w")
        x = named.assert_size(x, c1=20)
        x = named.op(x, self.conv2, F.relu, pool, c2="c1", h2="h1", w2="w1")
        x = named.stack(x, fc="c2 h2 w2")
        x = named.op(x, self.fc1, F.relu, hidden="fc")
        return named.log_softmax(named.op(x, self.fc2, classes="hidden"), "classes")


class EinopsMnist(mnist_cnn.MnistCNN):
    @shapecheck
    def forward(self, x: Float[Tensor, "b 1 28 28"]) -> Float[Tensor, "b classes"]:
        x = F.relu(self.conv1(x))
        x = reduce(x, "b c (h 2) (w 2) -> b c h w", "max")
        x = F.relu(self.conv2(x))
        x = reduce(x, "b c (h 2) (w 2) -> b (c h w)", "max")
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


class NamedText(text_cnn.TextCNN):
    @shapecheck
    def forward(
        self, tokens: Int[Tensor, "b t"]
    ) -> tuple[Float[Tensor, "b classes"], Float[Tensor, "b features"]]:
        x = named.augment(tokens, self.embedding, "h")
        x = named.masked_fill(x, tokens == text_cnn.PAD, 0.0)
        x = named.transpose(x, "h t")
        strongest = [
            named.amax(named.op(x, block, F.relu, f="h"), "t") for block in self.conv_blocks
        ]
        features = named.rename(named.cat(strongest, "f"), features="f")
        out = F.dropout(features, self.dropout, self.training)
        out = named.op(out, self.fc, classes="features")
        return named.softmax(out, "classes"), features


class EinopsText(text_cnn.TextCNN):
    @shapecheck
    def forward(
        self, tokens: Int[Tensor, "b t"]
    ) -> tuple[Float[Tensor, "b classes"], Float[Tensor, "b features"]]:
        mask = repeat(tokens == text_cnn.PAD, "b t -> b t h", h=self.embedding_dim)
        x = rearrange(self.embedding(tokens).masked_fill(mask, 0.0), "b t h -> b h t")
        strongest = [reduce(F.relu(block(x)), "b f t -> b f", "max") for block in self.conv_blocks]
        features = rearrange(strongest, "n b f -> b (n f)")
        out = F.dropout(features, self.dropout, self.training)
        return F.softmax(self.fc(out), dim=1), features


class NamedVAE(vae.VAE):
    @shapecheck
    def forward(
        self, x: Float[Tensor, "b h w"]
    ) -> tuple[Float[Tensor, "s b h w"], Float[Tensor, "b z"], Float[Tensor, "b z"]]:
        h1 = named.op(named.stack(x, pixels="h w"), self.fc1, F.relu, hidden="pixels")
        mu = named.op(h1, self.fc_mu, z="hidden")
        logvar = named.op(h1, self.fc_logvar, z="hidden")
        std = torch.exp(0.5 * logvar)
        eps = named(torch.randn(self.num_samples, *std.shape), "s b z")
        z = mu + eps * std
        pixels = named.op(z, self.fc3, F.relu, self.fc4, torch.sigmoid, pixels="z")
        height, width = x.shape[1:]
        return named.split(pixels, pixels="h w", h=height, w=width), mu, logvar


class EinopsVAE(vae.VAE):
    @shapecheck
    def forward(
        self, x: Float[Tensor, "b h w"]
    ) -> tuple[Float[Tensor, "s b h w"], Float[Tensor, "b z"], Float[Tensor, "b z"]]:
        h1 = F.relu(self.fc1(rearrange(x, "b h w -> b (h w)")))
        mu, logvar = self.fc_mu(h1), self.fc_logvar(h1)
        std = torch.exp(0.5 * logvar)
        eps = torch.randn(self.num_samples, *std.shape)
        pixels = torch.sigmoid(self.fc4(F.relu(self.fc3(mu + eps * std))))
        return rearrange(pixels, "s b (h w) -> s b h w", h=x.shape[1]), mu, logvar


MODELS = [
    (mnist_cnn, NamedMnist),
    (mnist_cnn, EinopsMnist),
    (text_cnn, NamedText),
    (text_cnn, EinopsText),
    (vae, NamedVAE),
    (vae, EinopsVAE),
]


def flat(outputs: object) -> Iterator[Tensor]:
    if isinstance(outputs, Tensor):
        yield outputs
    elif isinstance(outputs, tuple):
        for one in outputs:
            yield from flat(one)


@pytest.mark.parametrize(("module", "model"), MODELS, ids=[m.__name__ for _, m in MODELS])
def test_same_outputs_and_gradients(module: object, model: type[nn.Module]) -> None:
    plain = module.build().eval()  # type: ignore[attr-defined]
    inputs = module.example_inputs()  # type: ignore[attr-defined]
    other = module.build().eval()  # type: ignore[attr-defined]
    other.__class__ = model
    found = []
    for one in (plain, other):
        torch.manual_seed(2)
        outputs = list(flat(one(*inputs)))
        sum(out.square().sum() for out in outputs).backward()
        found.append((outputs, [p.grad for p in one.parameters()]))
    torch.testing.assert_close(found[0], found[1])


class Sources:
    """Finds the example models that the variants derive from."""

    def source(self, module: str) -> Source | None:
        found = sys.modules.get(module)
        path = getattr(found, "__file__", None)
        if path is None or Path(path).parent.name != "examples":
            return None
        return Source(module, path, Path(path).read_text("utf-8"))


def test_mypys_side_is_quiet() -> None:
    text = inspect.getsource(sys.modules[__name__])
    found = analyze_module(Source("models", __file__, text), Sources(), Options())
    assert [f"{one.span.line}: {one.message}" for one in found] == []


# What to replace by what, and what each side says of it: the static one, the run time.
BUGS = [
    ('"c2 h2 w2"', '"c2 h2 w1"', 'has no dimension "w1"', 'has no dimension "w1"'),
    ("c1=20", "c1=21", '"c1" is 20, not 21', '"c1" is 20, not 21'),
    (
        'named.op(x, self.fc2, classes="hidden"), "classes"',
        'named.op(x, self.fc2, classes="hidden"), "hidden"',
        'has no dimension "hidden"',
        'has no dimension "hidden"',
    ),
    # as many words as features, so that torch has nothing against it
    ('named.transpose(x, "h t")', 'named.transpose(x, "t h")', "can't take", 'no dimension "t"'),
    ('self.embedding, "h"', 'self.embedding, "t"', "called that already", "called that already"),
    ('pixels="h w", h=height', 'pixels="w h", h=height', "declared", "declared"),
    ('*std.shape), "s b z")', '*std.shape), "b s z")', "can't", "can't"),
    # of the models with einops
    ('(h 2) (w 2) -> b (c h w)"', '(h 2) w -> b (c h w)"', "can't take", "can't multiply"),
    ('"b t -> b t h"', '"b t -> t b h"', "can't", "can't"),
    ('"s b (h w) -> s b h w"', '"s b (h w) -> s b w h"', "declared", "declared"),
    ('"b h w -> b (h w)"', '"b h w -> h (b w)"', "declared", "can't multiply"),
]


@pytest.mark.parametrize(("right", "wrong", "static", "running"), BUGS, ids=range(len(BUGS)))
def test_a_seeded_bug_is_found_by_both(
    right: str, wrong: str, static: str, running: str, tmp_path: Path
) -> None:
    text = inspect.getsource(sys.modules[__name__])
    broken = text.replace(right, wrong, 1)
    found = analyze_module(Source("models", __file__, broken), Sources(), Options())
    assert any(static in one.message for one in found), [one.message for one in found]
    path = tmp_path / "broken_models.py"
    path.write_text(broken, "utf-8")
    code: dict[str, object] = {"__name__": "broken_models", "__file__": __file__}
    exec(compile(broken, str(path), "exec"), code)
    raised = []
    for module, model in code["MODELS"]:  # type: ignore[attr-defined]  # a list
        one = module.build().eval()
        one.__class__ = model
        try:
            one(*module.example_inputs())
        except (ShapeError, RuntimeError) as error:
            raised.append(str(error))
    assert any(running in text for text in raised), raised
