"""A defect of shapecheck's own is one warning, and the program goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, shapecheck
from shapecheck.runtime import errors
from shapecheck.runtime.decorate import decorator


def broken(*args: Any, **kwargs: Any) -> Any:
    raise ZeroDivisionError("a defect")


def scale(x: Float[Tensor, "n"], pieces: list[Float[Tensor, "n"]]) -> list[Float[Tensor, "n"]]:
    return [x * 2, *pieces]


@pytest.fixture(params=["arguments", "result", "annotations"])
def defect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what breaks a part of shapecheck."""
    monkeypatch.setattr(errors, "_warned", set())

    def apply() -> None:
        if request.param == "arguments":
            monkeypatch.setattr("shapecheck.runtime.boundary.checks.fit_value", broken)
        elif request.param == "result":
            monkeypatch.setattr("shapecheck.runtime.boundary.checks.return_place", broken)
        else:
            monkeypatch.setattr(decorator, "compile_checks", broken)

    return apply


@pytest.mark.parametrize("mode", ["boundary", "full"])
def test_the_call_goes_on_with_one_warning(
    defect: Callable[[], None], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)
    checked = shapecheck(scale)
    defect()
    x = torch.ones(3)
    with pytest.warns(RuntimeWarning, match="a defect.*please report it") as caught:
        results = [checked(x, [x]) for _ in range(2)]
    assert [[t.tolist() for t in result] for result in results] == [[[2.0] * 3, [1.0] * 3]] * 2
    told = [str(warning.message) for warning in caught]
    assert len(told) == len(set(told))
    assert torch._C._len_torch_function_stack() == 0


def test_with_debug_the_defect_is_shown(
    defect: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    checked = shapecheck(scale)
    defect()
    with pytest.raises(ZeroDivisionError, match="a defect"):
        checked(torch.ones(3), [torch.ones(3)])
