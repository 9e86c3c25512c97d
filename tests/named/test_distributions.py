"""Distributions of named parameters: what is drawn and scored has names, and they are checked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from seeding import seed
from torch import Tensor

from shapecheck import Float, ShapeError, dims_of, named, shapecheck
from shapecheck.named import distributions


def parameters() -> tuple[Tensor, Tensor]:
    seed(0)
    return named(torch.rand(5, 3), "b z"), named(torch.rand(5, 3) + 0.1, "b z")


def test_samples_carry_names_and_are_torchs() -> None:
    mean, std = parameters()
    normal = distributions.Normal(mean, std)
    assert (normal.batch_names, normal.event_names) == (("b", "z"), ())
    seed(1)
    found = normal.rsample(samples=20)
    seed(1)
    assert torch.equal(found, torch.distributions.Normal(mean, std).rsample((20,)))
    assert dims_of(found) == ("samples", "b", "z")
    assert dims_of(normal.mean) == dims_of(normal.entropy()) == ("b", "z")


def test_batch_and_event_of_the_articles_example() -> None:
    mean, matrix = named(torch.zeros(10, 2), "dist out"), torch.eye(2)
    normal = distributions.MultivariateNormal(mean, matrix)
    assert (normal.batch_names, normal.event_names) == (("dist",), ("out",))
    samples = normal.sample(sample1=20, sample2=30)
    assert dims_of(samples) == ("sample1", "sample2", "dist", "out")
    assert dims_of(normal.log_prob(samples)) == ("sample1", "sample2", "dist")


def test_a_value_is_aligned_by_its_names() -> None:
    normal = distributions.Normal(*parameters())
    samples = normal.sample(n=4)
    moved = named.order(samples, "z n b")
    assert torch.equal(normal.log_prob(moved), normal.base.log_prob(samples))
    assert dims_of(normal.log_prob(moved)) == ("n", "b", "z")
    assert torch.equal(normal.cdf(moved), normal.base.cdf(samples))


def test_categories() -> None:
    found = distributions.Categorical(logits=named(torch.rand(5, 7), "b k"))
    assert (found.batch_names, found.event_names) == (("b",), ())
    assert dims_of(found.sample(n=2)) == ("n", "b")
    assert dims_of(found.log_prob(found.sample(n=2))) == ("n", "b")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda d: d.log_prob(named(torch.rand(5, 3), "b q")),
            'can\'t score (b q) by a distribution of (b z): it has no "z"',
        ),
        (
            lambda d: d.sample(b=2),
            'can\'t call another one "b": a dimension is called that already',
        ),
        (
            lambda d: distributions.Normal(d.mean, named(torch.ones(3, 3), "z b")),
            '"distributions.Normal" can\'t broadcast (b z) with (z b)',
        ),
    ],
)
def test_names_are_checked(call: object, said: str) -> None:
    with pytest.raises(ShapeError) as caught:
        call(distributions.Normal(*parameters()))  # type: ignore[operator]
    assert said in str(caught.value)


def test_a_value_that_is_broadcast_to_the_batch() -> None:
    normal = distributions.Normal(*parameters())
    value = named(torch.rand(4, 1, 1), "samples b z")
    found = normal.log_prob(value)
    torch.testing.assert_close(found, normal.base.log_prob(value))
    assert dims_of(found) == ("samples", "b", "z")


def test_inside_of_a_decorated_function() -> None:
    @shapecheck
    def reparameterize(mean: Float[Tensor, "b z"], std: Float[Tensor, "b z"]) -> Tensor:
        z = distributions.Normal(mean, std).rsample(samples=4)
        assert dims_of(z.exp()) == ("samples", "b", "z")
        return named.mean(z, "samples")

    assert reparameterize(torch.rand(5, 3), torch.rand(5, 3) + 0.1).shape == (5, 3)


@pytest.mark.parametrize(
    "std",
    [
        named.rand(z=3, b=2),
        named.rand(b=2),
        named.rand(z=3),
        named.NamedTensor.rand(z=3, b=2),
        torch.rand(2, 3),
        torch.rand(3),
        0.5,
    ],
)
def test_parameters_meet_by_name(std: Any) -> None:
    mean = named(torch.arange(6.0).view(2, 3), "b z")
    normal = distributions.Normal(mean, std)
    assert normal.batch_names == ("b", "z")
    torch.testing.assert_close(normal.mean, mean)


def test_the_first_parameter_may_be_the_shorter_one() -> None:
    normal = distributions.Normal(named.zeros(z=3), named.ones(b=2, z=3))
    assert normal.batch_names == ("b", "z")
    with pytest.raises(ShapeError, match=r"can't broadcast \(b\) with \(z\)"):
        distributions.Normal(named.zeros(b=2), named.ones(z=2))


def test_one_observation_beside_many_samples() -> None:
    means = named.randn(samples=5, b=2, z=3)
    seen = named(torch.rand(3, 2), "z b")
    scored = distributions.Normal(means, 1.0).log_prob(seen)
    expected = torch.distributions.Normal(means, 1.0).log_prob(seen.T)
    assert dims_of(scored) == ("samples", "b", "z")
    torch.testing.assert_close(scored, expected)
    with pytest.raises(ShapeError, match='it has no "samples"'):
        distributions.Normal(means, 1.0).log_prob(named.rand(b=2, z=3, other=4))


def test_the_covariance_of_the_article() -> None:
    spread = named(torch.eye(3), "d d")
    normal = distributions.MultivariateNormal(named.zeros(b=2, d=3), spread)
    assert (normal.batch_names, normal.event_names) == (("b",), ("d",))
    assert dims_of(normal.sample(n=4)) == ("n", "b", "d")
    assert dims_of(normal.log_prob(named.rand(d=3, b=2))) == ("b",)
    assert dims_of(normal.log_prob(named.rand(d=3))) == ("b",)


def test_how_a_distribution_is_written() -> None:
    assert repr(distributions.Normal(named.zeros(b=2, z=3), 1.0)) == 'Normal(batch "b z", event "")'
    many = named.distributions.MultivariateNormal(named.zeros(b=2, d=3), torch.eye(3))
    assert repr(many) == 'MultivariateNormal(batch "b", event "d")'
