"""dtypes against torch: promotion of all pairs, of numbers and 0-d tensors, and the categories."""

from __future__ import annotations

import itertools

import pytest
import torch

from shapecheck import dtypes

PLAIN = [name for name in dtypes.NAMES if hasattr(torch, name)]
PAIRS = list(itertools.product(PLAIN, PLAIN))


def bit(name: str) -> dtypes.DTypes:
    return dtypes.of(name)


def torch_dtype(name: str) -> torch.dtype:
    found = getattr(torch, name)
    assert isinstance(found, torch.dtype)
    return found


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def tensor(name: str, *shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch_dtype(name), device="meta")


def torch_result(*operands: object) -> str | None:
    """Return the dtype of torch's promotion, None where torch refuses."""
    try:
        return name_of(torch.result_type(*operands))  # type: ignore[call-overload]
    except RuntimeError:
        return None


def test_two_tensors() -> None:
    """`promote` of single dtypes is torch's promotion; where torch refuses, nothing is known."""
    for left, right in PAIRS:
        expected = torch_result(tensor(left, 2), tensor(right, 2))
        found = dtypes.promote(bit(left), bit(right))
        assert found == (dtypes.ANY if expected is None else bit(expected)), (left, right)


def test_a_tensor_and_a_0d_tensor() -> None:
    """A 0-d tensor counts only if it is of a higher category."""
    for left, right in PAIRS:
        found = torch_result(tensor(left, 2), tensor(right))
        if found is not None:
            possible = dtypes.promote_scalar(bit(left), bit(right))
            assert possible == bit(found), (left, right)


NUMBERS = [(True, dtypes.BOOL), (2, dtypes.INT64), (2.5, dtypes.FLOAT), (2j, dtypes.COMPLEX)]


@pytest.mark.parametrize("default", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize(("number", "kind"), NUMBERS, ids=str)
def test_a_tensor_and_a_number(number: complex, kind: dtypes.DTypes, default: torch.dtype) -> None:
    """The result for a Python number is one of the possible ones, whatever the default dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        found = {left: torch_result(tensor(left, 2), number) for left in PLAIN}
    finally:
        torch.set_default_dtype(before)
    for left, expected in found.items():
        possible = dtypes.promote_scalar(bit(left), kind)
        assert expected is None or possible & bit(expected), left
        if expected == left:
            assert possible == bit(left)


def test_promotion_of_sets_is_the_union() -> None:
    """What may be several dtypes promotes to all that may come of it, in either order."""
    groups = [dtypes.BOOL, dtypes.SIGNED, dtypes.FLOAT, dtypes.COMPLEX, dtypes.INT64 | dtypes.BOOL]
    for left, right in itertools.product(groups, groups):
        union = 0
        for x, y in PAIRS:
            if bit(x) & left and bit(y) & right:
                pair = dtypes.promote(bit(x), bit(y))
                union |= 0 if pair == dtypes.ANY else pair
        assert dtypes.promote(left, right) == (union or dtypes.ANY)
        assert dtypes.promote(left, right) == dtypes.promote(right, left)
    of_any = {one: dtypes.promote(dtypes.ANY, bit(one)) for one in ("bool", "int64", "float32")}
    assert of_any["bool"] & dtypes.BOOL
    assert not of_any["int64"] & dtypes.BOOL
    assert not of_any["float32"] & (dtypes.BOOL | dtypes.INTEGER)
    assert all(found & bit("quantized") for found in of_any.values())


FLOATING = [n for n in PLAIN if bit(n) & (dtypes.FLOAT | dtypes.COMPLEX) and "float8" not in n]
EXACT = [n for n in PLAIN if bit(n) & (dtypes.BOOL | dtypes.INTEGER)]


@pytest.mark.parametrize("name", [*FLOATING, *EXACT])
def test_functions_that_follow(name: str) -> None:
    """Floating functions, accumulations and absolute values have torch's dtypes."""
    x = tensor(name, 2)
    followers = [(torch.sqrt, dtypes.to_float), (torch.sum, dtypes.accumulate)]
    if name != "bool":
        followers.append((torch.abs, dtypes.to_real))
    for function, follow in followers:
        try:
            found = function(x).dtype  # type: ignore[operator]
        except (RuntimeError, NotImplementedError):
            continue
        assert follow(bit(name)) & bit(name_of(found)), function
        if bit(name) & (dtypes.FLOAT | dtypes.COMPLEX):
            assert follow(bit(name)) == bit(name_of(found)), function


def test_categories_hold_what_jaxtyping_says() -> None:
    """Our categories admit what jaxtyping's of the same name admit, and complex32 as complex."""
    import jaxtyping

    for category, admitted in dtypes.CATEGORIES.items():
        theirs = getattr(jaxtyping, category, None)
        if theirs is None:
            continue
        for name in PLAIN:
            agreed = isinstance(tensor(name), theirs[torch.Tensor, ""])
            assert name == "complex32" or bool(admitted & bit(name)) == agreed, (category, name)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [(s, name_of(d)) for s in dir(torch) if isinstance(d := getattr(torch, s), torch.dtype)],
)
def test_every_spelling_of_torchs(spelling: str, name: str) -> None:
    """`torch.float` is `torch.float32`; a dtype that we don't know may be anything."""
    assert dtypes.of(spelling) == dtypes.of(name)
    assert dtypes.of(spelling) == (bit(name) if name in dtypes.NAMES else dtypes.ANY)


@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (dtypes.of("float32"), "float32"),
        (dtypes.FLOAT, "Float"),
        (dtypes.SIGNED, "Int"),
        (dtypes.NUM, "Integer, Float or Complex"),
        (dtypes.ANY, "any dtype"),
        (dtypes.BOOL, "bool"),
        (dtypes.BOOL | dtypes.INT64, "bool or int64"),
        (dtypes.FLOAT | dtypes.COMPLEX, "Float or Complex"),
        (dtypes.FLOAT | dtypes.INT64, "Float or int64"),
        (dtypes.INTEGER | dtypes.BOOL, "Integer or bool"),
        (dtypes.ANY & ~dtypes.BOOL, "not bool"),
        (0, "no dtype"),
    ],
)
def test_description(mask: dtypes.DTypes, text: str) -> None:
    """A set of dtypes is said by its category where it is one, else by those it holds."""
    assert dtypes.describe(mask) == text


@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (dtypes.NUM, "Num"),
        (dtypes.FLOAT | dtypes.COMPLEX, "Inexact"),
        (dtypes.FLOAT, "Float"),
        (dtypes.of("float32"), "float32"),
    ],
)
def test_declared(mask: dtypes.DTypes, text: str) -> None:
    """What an annotation says is said by its own word."""
    assert dtypes.declared(mask) == text
