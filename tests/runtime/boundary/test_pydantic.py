"""pydantic's models with our types: each tensor is validated by what its annotation says."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, ShapeError, shapecheck

pydantic = pytest.importorskip("pydantic")

X = torch.ones(2, 3)


class Batch(pydantic.BaseModel):  # type: ignore[misc,name-defined]
    x: Float[Tensor, "b n"]
    y: Float[Tensor, "b"] | None = None
    parts: list[Float[Tensor, "3 *any"]] = pydantic.Field(default_factory=list)
    weights: Annotated[Float[Tensor, "b"], pydantic.Field(description="of each row")] = None
    steps: int = 3


def test_what_fits_is_kept_as_it_is() -> None:
    batch = Batch(x=X, y=X[:, 0], parts=[X[0]], weights=X[:, 0], steps="4")
    assert batch.x is X
    assert batch.steps == 4
    assert Batch.model_validate({"x": X}).y is None
    assert batch.model_dump()["x"] is X
    assert torch.equal(batch.model_copy(deep=True).x, X)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"x": X[0]}, 'Input should be a tensor Float["b n"], not float32 of shape (3)'),
        ({"x": X.int()}, 'Input should be a tensor Float["b n"], not int32 of shape (2 3)'),
        ({"x": 3}, "Input should be an instance of Tensor"),
        ({"x": X, "y": X}, 'a tensor Float["b"], not float32 of shape (2 3)'),
        ({"x": X, "parts": [X]}, 'a tensor Float["3 *any"], not float32 of shape (2 3)'),
        ({"x": X, "weights": X}, 'a tensor Float["b"], not float32 of shape (2 3)'),
    ],
)
def test_what_does_not_fit_is_an_error_of_pydantics(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        Batch(**fields)
    assert said in str(caught.value)


def test_assignments_and_calls() -> None:
    class Mutable(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        model_config = pydantic.ConfigDict(validate_assignment=True)
        x: Float[Tensor, "b n"]

    @pydantic.validate_call
    def scaled(x: Float[Tensor, "b n"], by: int = 2) -> Any:
        return x * by

    model = Mutable(x=X)
    model.x = X[:1]
    assert torch.equal(scaled(X, by="3"), X * 3)
    for wrong in (lambda: setattr(model, "x", X[0]), lambda: scaled(X[0])):
        with pytest.raises(pydantic.ValidationError, match="Input should be a tensor"):
            wrong()


def test_the_decorator_on_what_pydantic_converts() -> None:
    @shapecheck
    @pydantic.validate_call
    def scaled(x: Float[Tensor, "b n"], by: int = 2) -> Float[Tensor, "b"]:
        return x.sum(-1) * by

    @shapecheck
    class Model(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        x: Float[Tensor, "b n"]

        def total(self, y: Float[Tensor, "b"]) -> Float[Tensor, "b"]:
            return self.x.sum(-1) + y

    assert scaled(X, by="3").tolist() == [9.0, 9.0]  # type: ignore[arg-type]
    assert Model(x=X).total(X[:, 0]).tolist() == [4.0, 4.0]
    for wrong in (lambda: scaled(X[0]), lambda: Model(x=X).total(X)):
        with pytest.raises(ShapeError):
            wrong()


def test_a_tensor_has_no_json() -> None:
    with pytest.raises(pydantic.errors.PydanticInvalidForJsonSchema, match="Tensor"):
        Batch.model_json_schema()
    with pytest.raises(pydantic.ValidationError, match="isinstance"):
        Batch.model_validate_json('{"x": [[1.0]]}')
