"""What docs/first_class_dims.md says of `functorch.dim` itself, in the torch at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from functorch.dim import dimlists, dims
from functorch.dim import stack as fstack
from torch import Tensor

pytestmark = pytest.mark.skipif(
    not torch.__version__.startswith("2.13"), reason="the page speaks of torch 2.13"
)


def rand(*sizes: int) -> Any:
    return torch.rand(*sizes)


def other_size() -> Tensor:
    i = dims(1)
    rand(3)[i]
    found: Tensor = rand(7)[i].order(i)
    return found


def too_many() -> Tensor:
    i = dims(1)
    found: Tensor = rand(3)[i][0].order(i)
    return found


def ellipsis() -> Tensor:
    i = dims(1)
    found: Tensor = rand(3, 4)[i][..., 0].order(i)
    return found


@pytest.mark.parametrize(
    ("accepted", "shape"), [(other_size, (7,)), (too_many, (3,)), (ellipsis, (3, 4))]
)
def test_is_accepted_without_a_word(accepted: Callable[[], Tensor], shape: tuple[int, ...]) -> None:
    assert accepted().shape == shape


def bound() -> tuple[Any, Any, Any]:
    i, j = dims(2)
    return rand(3, 4)[i, j], i, j


REFUSED: dict[str, tuple[Callable[[Any, Any, Any], Any], type[Exception]]] = {
    "operators": (lambda x, i, j: dims(1) + 1, TypeError),
    "order": (lambda x, i, j: i.order, AttributeError),
    "permute": (lambda x, i, j: x.permute(j, i), RuntimeError),
    "sum": (lambda x, i, j: torch.sum(x, j), RuntimeError),
    "softmax": (lambda x, i, j: F.softmax(x, dim=i), RuntimeError),
    "log_softmax": (lambda x, i, j: x.log_softmax(i), RuntimeError),
    "stack": (lambda x, i, j: torch.stack([x, x]), TypeError),
    "added": (lambda x, i, j: x + dims(1), RecursionError),
    "dimlists": (lambda x, i, j: rand(3)[dimlists(1)], RecursionError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name: str) -> None:
    use, error = REFUSED[name]
    with pytest.raises(error):
        use(*bound())


def test_works_in_other_words() -> None:
    x, i, j = bound()
    several, new = dimlists(1), dims(1)
    assert (i + 0).order(i).tolist() == [0, 1, 2]
    assert x.softmax(i).order(j, i).shape == (4, 3)
    assert fstack([x, x], new).order(new, i, j).shape == (2, 3, 4)
    assert rand(3)[several,].order(several).shape == (3,)


def test_a_product_is_made_whole() -> None:
    x, _, _ = bound()
    assert (x * x)._delayed is None
