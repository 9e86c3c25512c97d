"""typeguard on functions with our types: the text in the brackets is no code, and is checked."""

import jaxtyping
import pytest
import torch
from torch import Tensor
from typeguard import TypeCheckError, typechecked

import shapecheck
from shapecheck import Float


@typechecked
def plain(x: Float[Tensor, "b c"]) -> Float[Tensor, "b c"]:
    return x


@typechecked
def text(x: "Float[Tensor, 'b c']") -> "list[Float[Tensor, 'b c']]":
    return [x]


@typechecked
def dotted(x: shapecheck.Float[Tensor, "b c"]) -> None: ...


@typechecked
def theirs(x: jaxtyping.Float[Tensor, "b c"]) -> None: ...


@typechecked
class Model:
    def forward(self, x: Float[Tensor, "b c"]) -> None: ...


@pytest.mark.parametrize("function", [plain, text, dotted, theirs, Model().forward])
def test_a_tensor_is_checked_by_its_annotation(function) -> None:  # type: ignore[no-untyped-def]
    function(torch.ones(2, 3))
    for wrong in (torch.ones(2), torch.ones(2, 3, dtype=torch.int64), 3):
        with pytest.raises(TypeCheckError):
            function(wrong)
