"""Classes of attrs with our types: their constructors, assignments and methods are checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, shapecheck

attrs = pytest.importorskip("attrs")

X = torch.ones(2, 3)


@shapecheck
@attrs.define
class Batch:
    x: Float[Tensor, "b n"]
    y: Float[Tensor, "b"] | None = None
    parts: list[Float[Tensor, "n"]] = attrs.field(factory=list)

    def scaled(self, by: Float[Tensor, "b"]) -> Float[Tensor, "b n"]:
        return self.x * by[:, None]


@shapecheck
@attrs.frozen
class Frozen:
    x: Float[Tensor, "b n"]
    y: Float[Tensor, "b"] = attrs.field(default=None, kw_only=True)


@shapecheck
@attrs.define
class Converted:
    x: Float[Tensor, "b n"] = attrs.field(converter=torch.as_tensor)


def test_what_fits() -> None:
    batch = Batch(X, X[:, 0])
    batch.x = X[:, :2]
    assert batch.scaled(X[:, 0]).shape == (2, 2)
    assert attrs.asdict(Batch(X))["x"] is X
    assert attrs.evolve(Frozen(X, y=X[:, 0]), x=X[:, :1]).x.shape == (2, 1)
    assert Converted([[1.0, 2.0]]).x.shape == (1, 2)
    assert not hasattr(batch, "__dict__")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Batch(X[0]),
        lambda: Batch(X, X[0]),
        lambda: Batch(X, None, [X]),
        lambda: Batch(X).scaled(X),
        lambda: setattr(Batch(X), "x", X[0]),
        lambda: Frozen(X, y=X[0]),
        lambda: attrs.evolve(Frozen(X, y=X[:, 0]), x=X[:1]),
    ],
)
def test_what_does_not_fit(wrong: Callable[[], Any]) -> None:
    with pytest.raises(ShapeError):
        wrong()
