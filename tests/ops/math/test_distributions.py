"""Distributions draw, score and describe what torch's do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from op_oracle import abstract, complaint, numbers, parse, refusal, show
from torch import distributions

from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Facts
from shapecheck.signatures import table

PLACE, ROWS = torch.zeros(4, 1), torch.ones(3)
WEIGHTS = torch.full((4, 3), 1 / 3)
CASES: Mapping[str, list[dict[str, Any]]] = {
    "Normal": [
        {"loc": PLACE, "scale": ROWS},
        {"loc": 0.0, "scale": 1.0},
        {"loc": ROWS, "scale": 1},
    ],
    "Uniform": [{"low": PLACE, "high": ROWS}],
    "Beta": [{"concentration1": ROWS, "concentration0": ROWS}],
    "Gamma": [{"concentration": ROWS, "rate": 2.0}],
    "Exponential": [{"rate": ROWS}],
    "Poisson": [{"rate": ROWS}],
    "StudentT": [{"df": ROWS}, {"df": 3.0, "loc": ROWS}],
    "Bernoulli": [{"probs": WEIGHTS}, {"logits": WEIGHTS}],
    "Binomial": [{"total_count": 5, "probs": WEIGHTS}],
    "Categorical": [{"probs": WEIGHTS}, {"logits": ROWS}],
    "OneHotCategorical": [{"probs": WEIGHTS}, {"logits": ROWS}],
    "Multinomial": [{"total_count": 5, "probs": WEIGHTS}],
    "Dirichlet": [{"concentration": WEIGHTS}, {"concentration": ROWS}],
    "MultivariateNormal": [
        {"loc": ROWS, "covariance_matrix": torch.eye(3)},
        {"loc": WEIGHTS, "scale_tril": torch.eye(3)},
        {"loc": ROWS, "precision_matrix": torch.eye(3).expand(5, 3, 3)},
    ],
}


def method(name: str, given: Mapping[str, Any], called: str) -> Callable[..., Any]:
    cls = table().lookup_class(f"torch.distributions.{name}")
    assert cls is not None
    attrs = cls.construct((), given)
    signature = cls.method(called)
    assert attrs is not None
    assert signature is not None
    return lambda *args: signature.apply(Facts(), args, {}, called, attrs)


@pytest.mark.parametrize(
    ("name", "given"), [(name, given) for name, some in CASES.items() for given in some]
)
def test_they_agree_with_torch(name: str, given: dict[str, Any]) -> None:
    real = getattr(distributions, name)(**given)
    for shape in ((), (7,), (2, 7)):
        drawn = real.sample(shape)
        ours = abstract(given, numbers)
        assert complaint(method(name, ours, "sample"), drawn, (shape,), {}, exact=True) is None
        score = real.log_prob(drawn)
        assert complaint(method(name, ours, "log_prob"), score, (drawn,), {}, exact=True) is None
    cls = table().lookup_class(f"torch.distributions.{name}")
    assert cls is not None
    attrs = cls.construct((), abstract(given, numbers))
    assert attrs is not None
    for field in ("mean", "variance", "probs", "logits"):
        if field in cls.fields or any(
            field in c.fields for c in map(table().lookup_class, cls.bases) if c
        ):
            assert show(cls.attribute(field, attrs)) == " ".join(
                map(str, getattr(real, field).shape)
            )


def test_names() -> None:
    normal = {"loc": parse("b d"), "scale": parse("d")}
    assert show(method("Normal", normal, "rsample")((parse("k").shape.dims[0],))) == "k b d"
    assert show(method("Categorical", {"logits": parse("b t v")}, "sample")()) == "b t"


def test_a_value_that_does_not_fit() -> None:
    score = method("Categorical", {"logits": parse("b v")}, "log_prob")
    assert refusal(score, parse("b v")) == (
        "can't score (b v) by a distribution of (b): axis -1 is b on the left and v on the right"
    )


def test_what_is_not_known_is_not_claimed() -> None:
    assert show(method("Normal", {"loc": UNKNOWN, "scale": 1.0}, "sample")()) == "..."
