"""Every distribution of torch: what is drawn and scored has names on both sides, checked ones."""

from __future__ import annotations

import pytest
import torch
from named.sides import program, running, static
from seeding import seed

HEAD = """\
import torch
from shapecheck import Float, named, reveal_shape, shapecheck
from shapecheck.named import distributions
from torch import Tensor
from torch.distributions import AffineTransform, ExpTransform
"""

PARAMETERS = ", ".join(
    (
        'loc: Float[Tensor, "b z"]',
        'scale: Float[Tensor, "b z"]',
        'probs: Float[Tensor, "b z"]',
        'weights: Float[Tensor, "b k"]',
        'points: Float[Tensor, "b k z"]',
        'df: Float[Tensor, "b"]',
        'factor: Float[Tensor, "b z r"]',
    )
)


def arguments() -> list[object]:
    seed(0)
    positive, weights = torch.rand(5, 3) + 0.5, torch.rand(5, 4)
    return [
        *(torch.randn(5, 3), positive, torch.rand(5, 3) * 0.8 + 0.1),
        *(weights / weights.sum(1, keepdim=True), torch.randn(5, 4, 3)),
        *(torch.rand(5) + 20, torch.randn(5, 3, 2)),
    ]


NORMAL = "distributions.Normal(loc, scale)"
MIXED = "distributions.Normal(points, 1.0)"

# How each is made, its batch and its events.
EACH: dict[str, tuple[str, str, str]] = {
    "Bernoulli": ("distributions.Bernoulli(probs)", "b z", ""),
    "Beta": ("distributions.Beta(scale, scale)", "b z", ""),
    "Binomial": ("distributions.Binomial(7, probs)", "b z", ""),
    "Categorical": ("distributions.Categorical(weights)", "b", ""),
    "Cauchy": ("distributions.Cauchy(loc, scale)", "b z", ""),
    "Chi2": ("distributions.Chi2(df)", "b", ""),
    "ContinuousBernoulli": ("distributions.ContinuousBernoulli(logits=loc)", "b z", ""),
    "Dirichlet": ("distributions.Dirichlet(scale)", "b", "z"),
    "Exponential": ("distributions.Exponential(rate=scale)", "b z", ""),
    "FisherSnedecor": ("distributions.FisherSnedecor(scale, 4.0)", "b z", ""),
    "Gamma": ("distributions.Gamma(scale, scale)", "b z", ""),
    "GeneralizedPareto": ("distributions.GeneralizedPareto(loc, scale, 0.1)", "b z", ""),
    "Geometric": ("distributions.Geometric(probs)", "b z", ""),
    "Gumbel": ("distributions.Gumbel(loc, scale)", "b z", ""),
    "HalfCauchy": ("distributions.HalfCauchy(scale)", "b z", ""),
    "HalfNormal": ("distributions.HalfNormal(scale)", "b z", ""),
    "Independent": (f"distributions.Independent({NORMAL}, 1)", "b", "z"),
    "InverseGamma": ("distributions.InverseGamma(scale, scale)", "b z", ""),
    "Kumaraswamy": ("distributions.Kumaraswamy(scale, scale)", "b z", ""),
    "LKJCholesky": ("distributions.LKJCholesky(3, df)", "b", "3 3"),
    "Laplace": ("distributions.Laplace(loc, scale)", "b z", ""),
    "LogNormal": ("distributions.LogNormal(loc, scale)", "b z", ""),
    "LogisticNormal": ("distributions.LogisticNormal(loc, scale)", "b", "z+1"),
    "LowRankMultivariateNormal": (
        "distributions.LowRankMultivariateNormal(loc, factor, scale)",
        "b",
        "z",
    ),
    "MixtureSameFamily": (
        "distributions.MixtureSameFamily(distributions.Categorical(weights), "
        f"distributions.Independent({MIXED}, 1))",
        "b",
        "z",
    ),
    "Multinomial": ("distributions.Multinomial(7, weights)", "b", "k"),
    "MultivariateNormal": (
        "distributions.MultivariateNormal(loc, scale_tril=torch.eye(3))",
        "b",
        "z",
    ),
    "NegativeBinomial": ("distributions.NegativeBinomial(7, probs)", "b z", ""),
    "Normal": (NORMAL, "b z", ""),
    "OneHotCategorical": ("distributions.OneHotCategorical(weights)", "b", "k"),
    "OneHotCategoricalStraightThrough": (
        "distributions.OneHotCategoricalStraightThrough(weights)",
        "b",
        "k",
    ),
    "Pareto": ("distributions.Pareto(scale, scale)", "b z", ""),
    "Poisson": ("distributions.Poisson(scale)", "b z", ""),
    "RelaxedBernoulli": ("distributions.RelaxedBernoulli(torch.tensor(0.5), probs)", "b z", ""),
    "RelaxedOneHotCategorical": (
        "distributions.RelaxedOneHotCategorical(torch.tensor(0.5), weights)",
        "b",
        "k",
    ),
    "StudentT": ("distributions.StudentT(4.0, loc, scale)", "b z", ""),
    "TransformedDistribution": (
        f"distributions.TransformedDistribution({NORMAL}, [ExpTransform(), AffineTransform(1, 2)])",
        "b z",
        "",
    ),
    "Uniform": ("distributions.Uniform(loc, loc + scale)", "b z", ""),
    "VonMises": ("distributions.VonMises(loc, scale)", "b z", ""),
    "Weibull": ("distributions.Weibull(scale, scale)", "b z", ""),
    "Wishart": ("distributions.Wishart(df, torch.eye(3))", "b", "3 3"),
}

# Those that aren't distributions to draw from, but what others derive from.
WITHOUT = ("Distribution", "ExponentialFamily")


def joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def both(expression: str) -> str:
    """Return what both sides find of an expression, which has to be the same."""
    text = program(HEAD, PARAMETERS, expression)
    (known,), (found,) = static(text), running(text, arguments())
    assert known == found
    return found


@pytest.mark.filterwarnings("ignore:Singular sample")
@pytest.mark.parametrize("name", EACH)
def test_samples_and_scores_have_names(name: str) -> None:
    made, batch, event = EACH[name]
    whole = joined("samples", batch, event)
    assert both(f"{made}.sample(samples=20)") == whole
    if getattr(torch.distributions, name).has_rsample:
        assert both(f"{made}.rsample(samples=20)") == whole
    found = both(f"(d := {made}).log_prob(d.sample(samples=20))")
    assert found == joined("samples", batch)


@pytest.mark.parametrize("name", EACH)
def test_wrong_names_are_found(name: str) -> None:
    made, batch, event = EACH[name]
    taken = both(f"{made}.sample(b=20)")
    assert taken.startswith("error: ")
    assert 'can\'t call another one "b": a dimension is called that already' in taken
    found = both(f'(d := {made}).log_prob(named.rename(d.sample(samples=2), other="b"))')
    given, whole = joined("samples", batch.replace("b", "other"), event), joined(batch, event)
    said = f'"log_prob" can\'t score ({given}) by a distribution of ({whole}): it has no "b"'
    assert found == f"error: {said}"


def test_all_of_torch_are_there() -> None:
    kinds = {
        name
        for name in torch.distributions.__all__
        if isinstance(found := getattr(torch.distributions, name), type)
        and issubclass(found, torch.distributions.Distribution)
    }
    assert sorted({*EACH, *WITHOUT}) == sorted(kinds)


def test_divergences_have_the_names_of_the_batch() -> None:
    other = "distributions.Normal(torch.zeros(()), torch.ones(()))"
    assert both(f"distributions.kl_divergence({NORMAL}, {other})") == "b z"
    independent = f"distributions.Independent({NORMAL}, 1)"
    assert both(f"distributions.kl_divergence({independent}, {independent})") == "b"
    wrong = "distributions.Normal(named.rename(loc, q='z'), named.rename(scale, q='z'))"
    assert both(f"distributions.kl_divergence({NORMAL}, {wrong})") == (
        'error: "distributions.kl_divergence" can\'t compare distributions of (b z) and (b q): '
        "axis -1 is z on the left and q on the right"
    )
