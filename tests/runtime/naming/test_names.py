"""Names through ops: equal sizes mixed up are found; the same programs written right are quiet."""

# ruff: noqa: PLW0108 - the frame of a lambda is the user's code here

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import (
    Float,
    Int,
    ShapeError,
    assert_shape,
    dims_of,
    disabled,
    named,
    reveal_shape,
    shapecheck,
)

N = 4  # every dimension has this size


def square(rank: int = 2) -> Tensor:
    return torch.rand((N,) * rank)


def declared(function: Callable[..., Any], *annotations: str, returns: str | None = None) -> Any:
    """Decorate a function of tensors whose annotations are these texts."""
    count = function.__code__.co_argcount
    names = function.__code__.co_varnames[:count]
    function.__annotations__ = {
        name: Float[Tensor, text] for name, text in zip(names, annotations, strict=True)
    }
    if returns is not None:
        function.__annotations__["return"] = Float[Tensor, returns]
    return shapecheck(function)


# The right program, the wrong one, annotations of the arguments, annotation of the result.
PROGRAMS: list[tuple[Callable[..., Any], Callable[..., Any], tuple[str, ...], str | None]] = [
    (lambda q, k: q @ k.mT, lambda q, k: q @ k, ("b n d", "b m d"), "b n m"),
    (lambda a, b: a @ b, lambda a, b: b @ a, ("i j", "j k"), "i k"),
    (lambda a, b: torch.matmul(a, b), lambda a, b: torch.matmul(b, a), ("i j", "j k"), None),
    (lambda x, y: x + y.T, lambda x, y: x + y, ("a b", "b a"), "a b"),
    (lambda x, y: x * y[:, None], lambda x, y: x * y, ("a b", "a"), "a b"),
    (lambda x: x.sum(0), lambda x: x.sum(1), ("a b",), "b"),
    (lambda x: x.mean(dim=-1), lambda x: x.mean(dim=0), ("a b",), "a"),
    (lambda x: x.T, lambda x: x, ("a b",), "b a"),
    (lambda x: x.transpose(1, 2), lambda x: x.transpose(0, 2), ("a b c",), "a c b"),
    (lambda x: x.permute(2, 0, 1), lambda x: x.permute(1, 2, 0), ("a b c",), "c a b"),
    (lambda x: x.unsqueeze(0), lambda x: x.unsqueeze(1), ("a b",), "1 a b"),
    (lambda x: x.flatten(1), lambda x: x.flatten(0, 1), ("a b c",), "a (b c)"),
    (
        lambda x: x.transpose(1, 2).reshape(N, N, -1),
        lambda x: x.reshape(N, N, -1),
        ("b h t d",),
        "b t (h d)",
    ),
    (
        lambda x: x.transpose(1, 2).flatten(2),
        lambda x: x.permute(0, 2, 3, 1).flatten(2),
        ("b h t d",),
        "b t (h d)",
    ),
    (lambda x, y: torch.cat((x, y), 1), lambda x, y: torch.cat((x, y.T), 1), ("a b", "a c"), None),
    (
        lambda x, y: torch.stack((x, y)),
        lambda x, y: torch.stack((x, y)[::-1], 1),
        ("a b", "a b"),
        "2 a b",
    ),
    (
        lambda x, y: torch.einsum("ij,jk->ik", x, y),
        lambda x, y: torch.einsum("ij,jk->ki", x, y),
        ("a b", "b c"),
        "a c",
    ),
    (
        lambda x, y: torch.einsum("ij,kj->ik", x, y),
        lambda x, y: torch.einsum("ij,jk->ik", x, y),
        ("a b", "c b"),
        "a c",
    ),
    (lambda x, w: F.linear(x, w), lambda x, w: F.linear(x, w.T), ("b d", "m d"), "b m"),
    (lambda x: x[:, 0], lambda x: x[0], ("a b",), "a"),
    (lambda x: x[None], lambda x: x[..., None], ("a b",), "1 a b"),
    (lambda x: x.softmax(-1).sum(-1), lambda x: x.softmax(-1).sum(0), ("a b",), "a"),
    (lambda x: x.max(dim=1).values, lambda x: x.max(dim=0).values, ("a b",), "a"),
    (lambda x, y: (x - y) ** 2, lambda x, y: (x - y.T) ** 2, ("a b", "a b"), "a b"),
    (
        lambda x, y: torch.where(x > 0, x, y),
        lambda x, y: torch.where(x > 0, x, y.T),
        ("a b", "a b"),
        None,
    ),
    (lambda x, y: F.mse_loss(x, y), lambda x, y: F.mse_loss(x, y.T), ("a b", "a b"), ""),
    (lambda x, y: x.add_(y), lambda x, y: x.add_(y.T), ("a b", "a b"), "a b"),
    (lambda x: x.t_(), lambda x: x.t_().t_(), ("a b",), "b a"),
    (lambda x, y: x.bmm(y), lambda x, y: y.bmm(x), ("b i j", "b j k"), "b i k"),
    (lambda x, y: 1 - x * y, lambda x, y: 1 - x * y.T, ("a b", "a b"), "a b"),
    (lambda x: x / x.sum(-1, keepdim=True), lambda x: x / x.sum(-1), ("a b",), "a b"),
]


@pytest.mark.parametrize(("right", "wrong", "annotations", "returns"), PROGRAMS)
def test_equal_sizes(
    right: Callable[..., Any],
    wrong: Callable[..., Any],
    annotations: tuple[str, ...],
    returns: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    good, bad = (
        declared(right, *annotations, returns=returns),
        declared(wrong, *annotations, returns=returns),
    )
    arguments = [square(len(text.split())) for text in annotations]
    for _ in range(2):  # found out, then remembered
        result = good(*[argument.clone() for argument in arguments])
        torch.testing.assert_close(result, right(*[a.clone() for a in arguments]), rtol=0, atol=0)
        with pytest.raises(ShapeError):
            bad(*[argument.clone() for argument in arguments])


def relative_shift(x: Tensor) -> Tensor:
    """Move row `i` by `i` places, by a view that cuts across axes on purpose (Transformer-XL)."""
    b, h, q, k = x.shape
    padded = torch.cat((x.new_zeros(b, h, q, 1), x), -1)
    return padded.view(b, h, k + 1, q)[:, :, 1:].reshape(b, h, q, k)


def group_norm(x: Tensor, groups: int) -> Tensor:
    n, c, h, w = x.shape
    y = x.view(n, groups, -1)
    y = (y - y.mean(-1, keepdim=True)) / (y.std(-1, keepdim=True) + 1e-5)
    return y.view(n, c, h, w)


def test_sizes_that_are_equal_by_chance() -> None:
    """Four groups and an image of 4 x 4: that the sizes agree means nothing."""
    checked = declared(lambda x: group_norm(x, 4), "n c h w", returns="n c h w")
    checked(torch.rand(2, 12, 4, 4))
    checked = declared(lambda x: x.view(-1, 8).softmax(-1).view(8, 32), "b c", returns="b c")
    checked(torch.rand(8, 32))


def test_a_view_in_the_place_of_a_transpose() -> None:
    merge = declared(lambda x: x.view(2, 5, 12), "b h t d", returns="b t c")
    with pytest.raises(ShapeError, match=r"axis 1 is mixed\(h t d\), declared t"):
        merge(torch.rand(2, 3, 5, 4))
    image = declared(lambda x: x.flatten(1).view(2, 5, 3), "b h w", returns="b w h")
    with pytest.raises(ShapeError, match=r"axis 1 is mixed\(h w\), declared w"):
        image(torch.rand(2, 3, 5))


QUIET: list[tuple[Callable[..., Any], tuple[str, ...], str | None]] = [
    (lambda x: x + torch.ones(N, N), ("a b",), "a b"),
    (lambda x: x @ torch.ones(N, N), ("a b",), "a b"),
    (lambda x: x.view(N, 2, 2).transpose(1, 2).reshape(N, N), ("a b",), "a b"),
    (lambda x: x.view(-1).view(N, N), ("a b",), "a b"),
    (lambda x: x.view(2, -1).mul(2).view(N, N), ("a b",), "a b"),
    (lambda x: x.view(N, 2, -1).sub(1).view(N, N, N, N), ("n c h w",), "n c h w"),
    (lambda x: x.view(N, 2, -1).sub(1).view(N, N, N), ("n c h",), "n c h"),
    (lambda x: x.reshape(2 * N, -1).view(N, N, N, N), ("n c h w",), "n c h w"),
    (lambda x: relative_shift(x), ("b h q k",), "b h q k"),
    (lambda x: x[:, torch.arange(N)], ("a b",), "a b"),
    (lambda x: x[x > 0], ("a b",), "k"),
    (lambda x: x.expand(N, N), ("1 b",), "a b"),
    (lambda x, y: x - y, ("1 b", "a b"), "a b"),
    (lambda x: x[:, None] - x[None, :], ("n d",), "n n d"),
    (lambda x: torch.cat((x, x), 1), ("a b",), "a 2*b"),
    (lambda x: x.repeat(2, 1), ("a b",), "2*a b"),
    (lambda x: nn.Linear(N, 7)(x), ("a b",), "a 7"),
    (lambda x: nn.LayerNorm(N)(x), ("a b",), "a b"),
    (lambda x: next(iter(x)), ("a b",), "b"),
    (lambda x: x.new_zeros(N, N) + x, ("a b",), "a b"),
    (lambda x: sum((row for row in x), torch.zeros(N)), ("a b",), "b"),
    (lambda x: torch.special.expit(x).nan_to_num_(), ("a b",), "a b"),
]


@pytest.mark.parametrize(("program", "annotations", "returns"), QUIET)
def test_correct_programs_are_quiet(
    program: Callable[..., Any], annotations: tuple[str, ...], returns: str | None
) -> None:
    checked = declared(program, *annotations, returns=returns)
    sizes = [tuple(1 if part == "1" else N for part in text.split()) for text in annotations]
    for _ in range(2):
        checked(*(torch.rand(size) for size in sizes))


def test_the_whole_message() -> None:
    @shapecheck
    def attend(
        q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"]
    ) -> Float[Tensor, "b h n m"]:
        k = k * 2
        return q @ k

    with pytest.raises(ShapeError) as caught:
        attend(torch.ones(2, 3, N, N), torch.ones(2, 3, N, N))
    lines = str(caught.value).splitlines()
    start = attend.__wrapped__.__code__.co_firstlineno
    assert lines == [
        '"@" can\'t multiply (b h n d) by (b h m d): the inner dimensions are d (axis -1) and '
        "m (axis -2)  [shape]",
        f"  at {__file__}:{start + 5}: return q @ k",
        f'  note: left operand "q" is (b h n d) since line {start + 2}',
        f'  note: right operand "k" is (b h m d) since line {start + 4}',
        '  note: "k.transpose(-2, -1)" would give (b h n m)',
        "  here b=2, h=3, n=4, d=4, m=4",
    ]
    assert caught.value.message.code == "shape"
    assert any(entry.lineno == start + 4 for entry in caught.traceback[1:])


def test_a_silent_broadcast() -> None:
    loss = declared(lambda p, t: ((p - t) ** 2).mean(), "b 1", "b", returns="")
    with pytest.raises(ShapeError) as caught:
        loss(torch.ones(3, 1), torch.ones(3))
    assert caught.value.code == "shape-broadcast"
    assert str(caught.value).splitlines()[0] == (
        '"-" can\'t broadcast (b 1) with (b): b is axis -2 on the left and axis -1 on the right, '
        "so every b would meet every b  [shape-broadcast]"
    )


def test_what_torch_refuses_is_told_in_names() -> None:
    product = declared(lambda x, w: torch.matmul(x, w), "b d", "e f")
    with pytest.raises(
        ShapeError, match=r'"torch.matmul" can\'t multiply \(b d\) by \(e f\)'
    ) as caught:
        product(torch.ones(2, 3), torch.ones(4, 5))
    plain = declared(lambda x: x @ torch.ones(4, 5), "b d")
    with pytest.raises(ShapeError, match=r"can't multiply \(b d\) by \(4 5\)") as caught:
        plain(torch.ones(2, 3))
    assert isinstance(caught.value.__cause__, RuntimeError) or caught.value.__cause__ is None


def test_an_error_of_torch_that_is_no_shape_error_stays() -> None:
    read = declared(lambda x: torch.linalg.cholesky(-x), "n n")
    with pytest.raises(RuntimeError, match="cholesky"):
        read(torch.eye(3))


def test_an_operator_that_refuses_inside_of_try() -> None:
    """torch's operators drop any TypeError: ours goes around that, and still arrives."""

    def add(x: Any, y: Any) -> Any:
        try:
            return x + y
        except ZeroDivisionError:
            return None

    with pytest.raises(ShapeError, match=r'"\+" can\'t broadcast'):
        declared(add, "a b", "b a")(square(), square())

    def reflected(x: Any, y: Any) -> Any:
        return 2.0 - x // y

    with pytest.raises(ShapeError, match='"//" can\'t broadcast'):
        declared(reflected, "a b", "b a")(square(), square())


# Dims, names, assertions ------------------------------------------------------------------------


def test_dims_of() -> None:
    @shapecheck
    def look(x: Float[Tensor, "b *s n+1"], y: Int[Tensor, "n 3 _"]) -> Float[Tensor, "b k"]:
        assert dims_of(x) == ("b", "s[0]", "s[1]", "n+1")
        assert dims_of(y) == ("n", None, None)
        assert dims_of(x.flatten(0, 1)) == ("(b s[0])", "s[1]", "n+1")
        assert dims_of(x.sum((1, 2))) == ("b", "n+1")
        assert dims_of(torch.ones(2)) == (None,)
        return torch.ones(2, 9)

    result = look(torch.ones(2, 5, 6, 4), torch.ones(3, 3, 2, dtype=torch.int64))
    assert dims_of(result) == ("b", "k")
    assert dims_of(torch.ones(2)) == (None,)


def test_one_tensor_under_two_names() -> None:
    @shapecheck
    def attend(q: Float[Tensor, "n d"], k: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        return q @ k.T

    x = square()
    attend(x, x)
    attend(x, square())
    attend(x, x)


def test_named() -> None:
    @shapecheck
    def look(x: Float[Tensor, "a b"]) -> Float[Tensor, "b a"]:
        renamed = named(x + 0, "b a")
        assert dims_of(renamed) == ("b", "a")
        assert dims_of(named(torch.ones(N, 7), "a new")) == ("a", "new")
        with pytest.raises(ShapeError, match=r"axis 0 is 7, declared a  .*\n.*\n  here a=4"):
            named(torch.ones(7), "a")
        return renamed

    look(square())
    x = named(torch.ones(2, 3), "b c")
    assert dims_of(x) == ("b", "c")
    with pytest.raises(ShapeError, match='"x" is \\(2 3\\), declared "b b"'):
        named(x, "b b")


def test_assert_shape_checks_and_teaches() -> None:
    @shapecheck
    def look(x: Float[Tensor, "a b"]) -> None:
        y = assert_shape(torch.ones(N, 3), "a c")
        assert dims_of(y) == ("a", "c")
        assert dims_of(assert_shape(torch.ones(3), "c")) == ("c",)
        assert assert_shape(x, "a b") is x
        with pytest.raises(ShapeError, match='"x" is \\(a b\\), declared "b a"'):
            assert_shape(x, "b a")
        with pytest.raises(ShapeError, match="axis 0 is 4, declared c "):
            assert_shape(torch.ones(4), "c")
        assert isinstance(torch.ones(N, 5), Float[Tensor, "a e"])  # type: ignore[arg-type]
        assert not isinstance(torch.ones(6), Float[Tensor, "e"])  # type: ignore[arg-type]
        assert not isinstance(x, Float[Tensor, "b a"])  # type: ignore[arg-type]

    look(square())
    assert_shape(torch.ones(2, 3), "b 3")
    with pytest.raises(ShapeError, match='declared "b 4": axis 1 is 3, declared 4'):
        assert_shape(torch.ones(2, 3), "b 4")


def test_reveal_shape(capsys: pytest.CaptureFixture[str]) -> None:
    @shapecheck
    def look(x: Float[Tensor, "a b"]) -> None:
        reveal_shape(x.T)

    look(square())
    line = look.__wrapped__.__code__.co_firstlineno + 2
    assert capsys.readouterr().err == f'{__file__}:{line}: Revealed shape is "b a"\n'


# Calls in calls ---------------------------------------------------------------------------------


@shapecheck
def dot(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    assert dims_of(x)[1] == dims_of(y)[1] == "d"
    return x @ y.T


@shapecheck
def pairs(xs: list[Float[Tensor, "n d"]]) -> list[Float[Tensor, "n"]]:
    return [x.sum(1) for x in xs]


def test_names_are_translated_at_a_call() -> None:
    def outer(q: Any, k: Any) -> Any:
        scores = dot(q, k)
        assert dims_of(scores) == ("time", "keys")
        assert dims_of(q) == ("time", "feature")
        return scores.sum(1)

    declared(outer, "time feature", "keys feature", returns="time")(square(), square())


def test_a_call_with_the_wrong_dimension_of_the_right_size() -> None:
    def outer(q: Any, k: Any) -> Any:
        return dot(q, k.T)

    with pytest.raises(ShapeError) as caught:
        declared(outer, "time feature", "keys feature")(square(), square())
    assert str(caught.value).splitlines()[0] == (
        'argument "y" of "dot" is (feature keys), declared "m d": '
        "axis 1 is keys, declared d (here feature)  [shape]"
    )


def test_containers_at_a_call() -> None:
    def outer(x: Any, y: Any) -> Any:
        (first, _) = pairs([x, y])
        return first

    declared(outer, "a b", "a b", returns="a")(square(), square())
    with pytest.raises(ShapeError, match=r'item 1 of argument "xs" of "pairs" is \(b a\)'):
        declared(outer, "a b", "b a")(square(), square())


def test_a_result_in_the_wrong_order() -> None:
    with pytest.raises(ShapeError) as caught:
        declared(lambda x: x.transpose(1, 2), "b s t", returns="b s t")(square(3))
    assert str(caught.value).splitlines()[0] == (
        'returned value is (b t s), declared "b s t": axis 1 is t, declared s  [shape]'
    )
    pair = shapecheck(_pair)
    pair(square(), False)
    with pytest.raises(ShapeError, match=r'returned value "x.T if swap else x" is \(b a\)'):
        pair(square(), True)


def _pair(x: Float[Tensor, "a b"], swap: bool) -> tuple[Float[Tensor, "a"], Float[Tensor, "a b"]]:
    return x.sum(1), x.T if swap else x


def test_a_shape_changed_in_place_is_not_named_wrongly_outside() -> None:
    @shapecheck
    def turn(x: Float[Tensor, "a b"]) -> None:
        x.t_()

    @shapecheck
    def outer(x: Float[Tensor, "time feature"]) -> None:
        turn(x)
        assert dims_of(x) == (None, None)

    outer(square())


# State ------------------------------------------------------------------------------------------


def test_an_exception_leaves_nothing_behind() -> None:
    def fail(x: Any) -> Any:
        raise KeyError(dims_of(x))

    with pytest.raises(KeyError):
        declared(fail, "a b")(square())
    assert torch._C._len_torch_function_stack() == 0

    def outer(x: Any) -> Any:
        with pytest.raises(KeyError):
            declared(fail, "c d")(x)
        assert dims_of(x) == ("a", "b")
        return x

    declared(outer, "a b")(square())
    assert torch._C._len_torch_function_stack() == 0


def test_threads_have_their_own_names() -> None:
    start = threading.Barrier(4)
    failures: list[BaseException] = []

    def work(x: Any, y: Any) -> Any:
        start.wait()
        for _ in range(50):
            assert dims_of(x @ y) == ("a", "c")
        return x @ y

    checked = declared(work, "a b", "b c", returns="a c")

    def run() -> None:
        try:
            checked(square(), square())
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_recursion() -> None:
    @shapecheck
    def total(x: Float[Tensor, "n d"]) -> Float[Tensor, "d"]:
        return x[0] if len(x) == 1 else x[0] + total(x[1:])

    torch.testing.assert_close(total(torch.ones(5, 2)), torch.full((2,), 5.0))


def test_disabled() -> None:
    with disabled():
        dot(torch.ones(2, 3), torch.ones(3, 2).T) if False else None
        assert declared(lambda x: x, "a b")(torch.ones(2)).shape == (2,)
    with pytest.raises(ShapeError):
        declared(lambda x: x, "a b")(torch.ones(2))


def test_tensors_are_not_kept_alive() -> None:
    import gc
    import weakref

    @shapecheck
    def outer(x: Float[Tensor, "*a b"]) -> Float[Tensor, "*a b"]:
        inner = x * 2
        seen.append(weakref.ref(inner))
        return x + inner

    seen: list[weakref.ref[Tensor]] = []
    result = outer(torch.ones(2, 3))
    seen.append(weakref.ref(result))
    del result
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_a_defect_of_ours_is_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    from shapecheck.runtime import errors
    from shapecheck.runtime.naming import mode

    def broken(self: object, *args: object) -> None:
        raise LookupError("a bug")

    monkeypatch.setattr(mode.Question, "answer", broken)
    monkeypatch.setattr(mode, "_cache", mode.Outcomes(64))
    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.delenv("SHAPECHECK_DEBUG", raising=False)
    twice = declared(lambda x: (x * 2).mul(3), "a b")
    with pytest.warns(
        RuntimeWarning, match="shapecheck failed on mul and skipped the check"
    ) as seen:
        twice(square())
    assert len(seen) == 1
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    with pytest.raises(LookupError):
        twice(torch.ones(2, 3))


def add(x: Tensor, y: Tensor) -> Tensor:
    return x + y


@pytest.mark.parametrize(
    "body",
    [
        lambda a, b: a @ b,
        lambda a, b: torch.cat([a, b.mT], 1),
        lambda a, b: F.mse_loss(a, b),
        lambda a, b: add(a.mT, b),
        lambda a, b: torch.einsum("ij,jk->ik", a, b),
        lambda a, b: a[:, 0] - b[:, 0],
        lambda a, b: nn.Bilinear(3, 3, 2)(a, b.mT),
    ],
)
def test_the_traceback_ends_at_the_users_own_line(body: Callable[[Tensor, Tensor], Any]) -> None:
    @shapecheck
    def inner(a: Float[Tensor, "n d"], b: Float[Tensor, "m d"]) -> Any:
        return body(a, b)

    @shapecheck
    def outer(x: Float[Tensor, "i j"], y: Float[Tensor, "k j"]) -> Any:
        return inner(x, y)

    for function in (inner, outer):
        with pytest.raises(ShapeError) as caught:
            function(torch.rand(3, 3), torch.rand(3, 3))
        error = caught.value
        last = traceback.extract_tb(error.__traceback__)[-1]
        assert f"{last.filename}:{last.lineno}: {last.line}" in str(error)
        assert error.__cause__ is None
        said = "".join(traceback.format_exception(error))
        assert "CarriedError" not in said
        assert "runtime/naming/mode.py" not in said


def test_a_split_of_which_one_part_is_1() -> None:
    @shapecheck
    def mask(x: Float[Tensor, "n t t"], y: Float[Tensor, "m t t"]) -> Float[Tensor, "k m t t"]:
        n, t, _ = x.shape
        m = y.shape[0]
        return x.view(n // m, m, t, t) + y

    mask(torch.rand(6, 3, 3), torch.rand(2, 3, 3))
    mask(torch.rand(2, 3, 3), torch.rand(2, 3, 3))
    mask(torch.rand(2, 1, 1), torch.rand(2, 1, 1))


def test_a_named_dimension_of_size_1_is_written_into_a_place_of_size_1() -> None:
    buffer = torch.zeros(4, 1)

    @shapecheck
    def put(x: Float[Tensor, "d"], rows: Float[Tensor, "n d"]) -> None:
        buffer[0] = x
        buffer[1:] = rows
        buffer[2] += x

    put(torch.rand(1), torch.rand(3, 1))
    assert (buffer != 0).all()


def test_a_batch_of_one_stays_in_front_of_a_view() -> None:
    """A named dimension of size 1 isn't merged into the next where the view keeps both."""
    seen = []

    @shapecheck
    def split(x: Float[Tensor, "b t d"]) -> None:
        seen.append(dims_of(x.view(1, 6, 4, 2)))

    split(torch.rand(1, 6, 8))
    assert seen == [("b", "t", None, None)]


@pytest.mark.parametrize("_", ["first", "remembered"])
def test_memory_without_data_is_regrouped_at_will(_: str) -> None:
    @shapecheck
    def made(x: Float[Tensor, "b h w c"]) -> Float[Tensor, "b c h w"]:
        b, h, w, c = x.shape
        x.new_zeros(b, h * w, c).view(b, c, h, w)
        assert str(dims_of(torch.zeros(h, b, w).flatten(0, 1))[0]) == "b*h"
        torch.full((c, b, h), 2.0).mul(2).clone().fill_(1).reshape(b, h, c)
        return torch.empty_like(x).view(b, c, h, w)

    made(torch.zeros(2, 3, 4, 5))


def _assigned(y: Tensor, x: Tensor) -> None:
    y[:] = x


WRITES = {
    "assigned": _assigned,
    "copied": lambda y, x: y.copy_(x),
    "added": lambda y, x: y.add_(x),
    "out": lambda y, x: torch.exp(x, out=y),
}


@pytest.mark.parametrize("_", ["first", "remembered"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_memory_with_data_has_an_order(write: Callable[[Tensor, Tensor], Any], _: str) -> None:
    @shapecheck
    def wrong(x: Float[Tensor, "b h w c"]) -> Float[Tensor, "b c h w"]:
        b, h, w, c = x.shape
        y = torch.empty_like(x)
        write(y, x)
        return y.view(b, c, h, w)

    with pytest.raises(ShapeError, match="scrambles"):
        wrong(torch.zeros(2, 3, 4, 5))
