"""A defect of shapecheck's own is one warning, and the program goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Float, dims_of, shapecheck
from shapecheck.runtime import errors
from shapecheck.runtime.decorate import decorator
from shapecheck.runtime.naming import by_names, mode


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


# One op -------------------------------------------------------------------------------------


@shapecheck
def mixed(x: Float[Tensor, "n d"], w: Float[Tensor, "d k"]) -> list[Tensor]:
    n, d = x.shape
    y = (x @ w).view(n, -1)
    y[:, 0] = 1.0
    y.mul_(2)
    assert dims_of(x) == ("n", "d")
    return [y, torch.cat([x, x], 1)[:, :d], *y.chunk(2, 1), x.reshape(-1), torch.vmap(torch.sum)(x)]


X, W = torch.arange(6.0).view(2, 3), torch.ones(3, 4)


@pytest.mark.parametrize(
    "part",
    [
        "shapecheck.signatures.Signature.apply",
        "shapecheck.runtime.naming.by_names._pattern",
        "shapecheck.runtime.naming.by_names.Names.keep",
        "shapecheck.runtime.naming.by_names.Names.outcome",
        "shapecheck.runtime.naming.call_names.CallNames.of",
        "shapecheck.runtime.naming.call_names.CallNames.sweep",
        "shapecheck.runtime.naming.facts.ValueFacts.__init__",
        "shapecheck.runtime.naming.int_origins.Readings.at",
        "shapecheck.runtime.naming.int_origins.Readings.note",
        "shapecheck.runtime.naming.mode._learn",
        "shapecheck.runtime.naming.mode._name",
        "shapecheck.runtime.naming.mode._outcome",
        "shapecheck.runtime.naming.mode._regrouped",
        "shapecheck.runtime.naming.mode._written",
        "shapecheck.runtime.naming.mode.is_by_number",
        "shapecheck.runtime.naming.mode.keep",
        "shapecheck.runtime.naming.mode.key_of",
        "shapecheck.runtime.naming.mode.sizes_of",
        "shapecheck.runtime.naming.op_calls.Question.convert",
        "shapecheck.runtime.naming.op_calls.Question.named_surely",
        "shapecheck.runtime.naming.ops.reshapes_in_place",
        "shapecheck.runtime.naming.ops.signature_of",
        "shapecheck.runtime.naming.transforms.hand_down",
    ],
)
def test_an_op_goes_on_without_names(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = mixed(X, W)
    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.setattr(mode, "lookup", None)
    mode._cache.clear()
    by_names._known.clear()
    monkeypatch.setattr(part, broken)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [mixed(X, W) for _ in range(3)]
    mode._cache.clear()
    by_names._known.clear()
    for result in results:
        assert all(torch.equal(one, other) for one, other in zip(result, expected, strict=True))
    told = [str(warning.message) for warning in caught]
    assert len(told) == len(set(told))
    assert all("a defect); please report it" in text for text in told)
    assert torch._C._len_torch_function_stack() == 0


def test_a_rule_that_breaks_is_one_warning_with_its_op(monkeypatch: pytest.MonkeyPatch) -> None:
    from shapecheck.signatures import Signature

    apply = Signature.apply

    def breaks_for_relu(self: Signature, *args: Any, **kwargs: Any) -> Any:
        return broken() if self.name.endswith("relu") else apply(self, *args, **kwargs)

    @shapecheck
    def layers(x: Float[Tensor, "n d"]) -> tuple[Any, Any, Any]:
        doubled = x * 2
        return dims_of(doubled), dims_of(doubled.relu()), dims_of(doubled.exp())

    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.setattr(Signature, "apply", breaks_for_relu)
    mode._cache.clear()
    by_names._known.clear()
    with pytest.warns(RuntimeWarning, match="failed on relu and skipped the check") as caught:
        found = [layers(X) for _ in range(3)]
    mode._cache.clear()
    by_names._known.clear()
    assert found == [(("n", "d"), (None, None), ("n", "d"))] * 3
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "part", ["shapecheck.explain.operation", "shapecheck.runtime.naming.op_errors._spelling"]
)
def test_torchs_error_is_told_where_ours_cannot_be(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @shapecheck
    def product(x: Float[Tensor, "n d"], y: Float[Tensor, "n k"]) -> Tensor:
        return x @ y

    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.setattr(part, broken)
    with (
        pytest.warns(RuntimeWarning, match="on the failure of"),
        pytest.raises(RuntimeError, match="cannot be multiplied") as caught,
    ):
        product(X, X)
    assert type(caught.value) is RuntimeError


@pytest.mark.parametrize(
    "part",
    [
        "shapecheck.runtime.decorate.decorator.resolve",
        "shapecheck.runtime.decorate.decorator.classify",
        "shapecheck.runtime.decorate.decorator.parameters",
    ],
)
def test_what_cannot_be_decorated_stays_as_it_is(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.setattr(part, broken)
    with pytest.warns(RuntimeWarning, match="to decorate scale") as caught:
        assert shapecheck(scale) is scale
    assert [warning.filename for warning in caught] == [__file__]
