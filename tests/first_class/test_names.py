"""What becomes of names at run time where first-class dimensions are used."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from functorch.dim import DimensionBindError, dimlists, dims
from torch import Tensor

from shapecheck import Float, ShapeError, dims_of, shapecheck


@shapecheck
def turn(x: Float[Tensor, "n m"], check: Any) -> Float[Tensor, "n m"]:
    check(x)
    return x


def inside(check: Any) -> None:
    """Run what looks at a tensor with names inside of a decorated call, twice: also from memory."""
    turn(torch.rand(3, 3), check)
    turn(torch.rand(3, 3), check)


def test_axes_keep_their_names_beside_dimensions() -> None:
    def check(x: Tensor) -> None:
        i, j = dims(2)
        assert dims_of(x[i].order(i)) == ("n", "m")
        assert dims_of((x[:, j] + 1).order(j)) == ("m", "n")
        assert dims_of(x[i].sum(0).order(i)) == ("n",)
        assert dims_of(x[i][:2].order(i))[0] == "n"
        assert dims_of(x[i, j].order((j, i))) == ("(m n)",)
        assert dims_of(torch.where(i <= j, x[i, j], 0).order(j, i)) == ("m", "n")
        assert dims_of(x[i, None, j].order(j, i)) == ("m", "n", None)

    inside(check)


def test_a_dimension_of_another_size_is_refused_though_functorch_accepts_it() -> None:
    i = dims(1)
    assert (torch.rand(3)[i].order(i).shape, torch.rand(7)[i].order(i).shape) == ((3,), (7,))

    def check(x: Tensor) -> None:
        j = dims(1)
        x[j]
        torch.rand(7)[j]

    with pytest.raises(ShapeError) as raised:
        inside(check)
    assert str(raised.value).partition("\n")[0] == (
        '"[...]" can\'t bind "j" to axis 0 of (7): that is 7, and "j" is bound to n  [shape]'
    )


def test_an_index_too_many_is_refused_though_functorch_drops_it() -> None:
    i = dims(1)
    assert torch.rand(3, 4)[i][0, 0].order(i).shape == (3,)

    def check(x: Tensor) -> None:
        x[dims(1)][0, 0]

    with pytest.raises(ShapeError) as raised:
        inside(check)
    assert str(raised.value).partition("\n")[0] == (
        '"[...]" can\'t index (m) with [0, 0]: the tensor has 1 axis, and 2 are indexed  [shape]'
    )


def test_lists_of_dimensions_stand_for_all_of_them() -> None:
    def check(x: Tensor) -> None:
        i, (both, rest) = dims(1), dimlists(2)
        assert dims_of(x[both, i].order(i, both)) == ("m", "n")
        assert dims_of(x[rest,].order(rest[1], rest[0])) == ("m", "n")
        assert dims_of(x[:, rest[1], None].order(*rest[1:])) == ("m", "n", None)

    inside(check)


def test_two_lists_of_any_length_are_refused_as_outside() -> None:
    def check(x: Tensor) -> None:
        one, other = dimlists(2)
        with pytest.raises(DimensionBindError, match="unbound dimension list can exist"):
            x[one, other]
        assert not one.is_bound
        assert not other.is_bound

    inside(check)
    check(torch.rand(3, 3))


def test_what_is_merged_in_the_place_of_another() -> None:
    def check(x: Tensor) -> None:
        i, j, k, back = dims(4)
        merged = x[i, j].index((j, i), k)
        assert dims_of(merged.order(k)) == ("(m n)",)
        assert dims_of(x.index((0, 1), back).order(back)) == ("(n m)",)
        assert dims_of(merged.index(k, (j, i)).order(i, j)) == ("n", "m")

    inside(check)


shared = dims(1)


def test_dimensions_of_a_module_have_a_name_in_each_call() -> None:
    def check(x: Tensor) -> None:
        assert dims_of(x[shared].order(shared)) == ("n", "m")

    inside(check)

    def other(x: Tensor) -> None:
        assert dims_of(x[:, shared].order(shared)) == ("m", "n")

    inside(other)

    def mixed_up(x: Tensor) -> None:
        x[shared] + x[:, shared]

    with pytest.raises(ShapeError, match='that is m, and "shared" is bound to n'):
        inside(mixed_up)

    def of_another_size(x: Tensor) -> None:
        torch.rand(7)[shared]

    with pytest.raises(ShapeError, match='that is 7, and "shared" is bound to 3'):
        inside(of_another_size)


def test_what_is_bound_where_nothing_is_named_has_no_names() -> None:
    def check(x: Tensor) -> None:
        i, j = dims(2)
        assert dims_of(torch.rand(2, 4)[i, j].order(j, i)) == (None, None)

    inside(check)


def test_dimensions_of_the_caller_are_unnamed_in_a_call() -> None:
    @shapecheck
    def inner(x: Float[Tensor, "k"]) -> Float[Tensor, "k"]:
        assert not isinstance(x, Tensor)
        j = dims(1)
        y = x[j].order(j)
        assert y.shape == (3,)
        return y

    def check(x: Tensor) -> None:
        i, j = dims(2)
        assert dims_of(inner(x[i]).order(i)) == ("n", "m")
        assert dims_of(inner(x[:, j]).order(j)) == ("m", "n")

    inside(check)


def test_an_argument_with_dimensions_is_checked_by_its_axes() -> None:
    @shapecheck
    def product(x: Float[Tensor, "k"], y: Float[Tensor, "k"]) -> Float[Tensor, ""]:
        return (x * y).sum()

    i = dims(1)
    x = torch.rand(2, 3)
    assert torch.equal(product(x[i], torch.ones(3)).order(i), x.sum(1))
    with pytest.raises(ShapeError) as raised:
        product(x[i], torch.ones(4))
    assert str(raised.value).partition("\n")[0] == (
        'argument "y" of "product" is (4), declared "k": axis 0 is 4, declared k (here 3)  [shape]'
    )
    with pytest.raises(ShapeError) as raised:
        product(x, x[i])
    assert str(raised.value).partition("\n")[0] == (
        'argument "x" of "product" is (2 3), declared "k": it has 2 axes, declared 1  [shape]'
    )


def test_nothing_is_kept_alive() -> None:
    found: list[weakref.ref[Any]] = []

    def check(x: Tensor) -> None:
        i, j = dims(2)
        found.extend((weakref.ref(i), weakref.ref(j)))
        x[i, j].order(j, i)

    inside(check)
    gc.collect()
    assert [ref() for ref in found] == [None] * 4


def test_outside_of_decorated_calls_functorch_is_as_it_was() -> None:
    inside(lambda x: x[dims(1)])
    i, j = dims(2)
    x = torch.rand(2, 3)
    assert torch.equal(x[i, j].order(j, i), x.T)
    k = dims(1)
    with pytest.raises(ValueError, match="tensor does not contain dim k"):
        x[i, j].order(k)


def test_gradients_go_through() -> None:
    x = torch.rand(3, 3, requires_grad=True)

    def check(y: Tensor) -> None:
        i, j = dims(2)
        (y[i, j] * y[i, j]).sum((i, j)).backward()

    turn(x, check)
    assert torch.allclose(x.grad, 2 * x)  # type: ignore[arg-type]


def test_an_error_in_the_place_of_functorchs_is_of_its_class() -> None:
    @shapecheck
    def index(t: Float[Tensor, "a b"]) -> None:
        x, y, z = dims(3)
        t[x, y, z]

    with pytest.raises(ValueError, match="the tensor has 2 axes, and 3 are indexed") as caught:
        index(torch.rand(3, 4))
    assert isinstance(caught.value, ShapeError)
    assert "torch says: at least 3 indices were supplied" in str(caught.value)
