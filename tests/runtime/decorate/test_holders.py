"""What stands around a function: caches, generic functions, wrappers, parts of dataclasses."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from typing_extensions import TypeVarTuple, Unpack

from shapecheck import Float, ShapeError, install_import_hook, shapecheck

X = torch.ones(2, 3)


def refuse(call: Callable[[], Any]) -> None:
    with pytest.raises(ShapeError):
        call()


# Caches --------------------------------------------------------------------------------------


@shapecheck
@functools.lru_cache(maxsize=2)
def table(n: int, extra: int = 0) -> Float[Tensor, "{n} d"]:
    """Some angles."""
    return torch.zeros(n + extra, 4)


def test_a_cache_has_what_it_had() -> None:
    assert table(3) is table(3)
    assert table.cache_info()[:3] == (1, 1, 2)
    assert table.cache_parameters() == {"maxsize": 2, "typed": False}
    assert table.__doc__ == "Some angles."
    refuse(lambda: table(3, 1))
    table.cache_clear()


@shapecheck
class Tables:
    @functools.cache  # noqa: B019 - as people write it
    def rows(self, n: int) -> Float[Tensor, "{n}"]:
        return torch.ones(min(n, 4))

    @classmethod
    @functools.lru_cache(maxsize=8)
    def shared(cls, n: int) -> Float[Tensor, "{n}"]:
        return torch.ones(min(n, 4))

    @functools.cache  # noqa: B019
    @torch.no_grad()
    def total(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
        return x.sum(-1)


def test_caches_in_a_class() -> None:
    tables = Tables()
    assert tables.rows(2) is tables.rows(2)
    assert Tables.shared(2) is Tables.shared(2)
    assert tables.total(X) is tables.total(X)
    for wrong in (
        lambda: tables.rows(5),
        lambda: Tables.shared(5),
        lambda: tables.total(X[0]),
    ):
        refuse(wrong)


# Generic functions ---------------------------------------------------------------------------


@shapecheck
@functools.singledispatch
def size(x: Any, w: Float[Tensor, "n"] = X[0]) -> Float[Tensor, "n"]:
    return w


@size.register
@shapecheck
def _(x: int, w: Float[Tensor, "n"] = X[0]) -> Float[Tensor, "n"]:
    return w[:x]


@size.register
def _(x: str) -> str:
    return x


def test_each_implementation_is_checked_by_its_own_annotations() -> None:
    assert size([]).shape == (3,)
    assert size(3).shape == (3,)
    assert size("what this one takes and gives is its own") == size("x").join(
        ["what this one takes and gives is its own"]
    )
    assert size.dispatch(bool) is size.dispatch(int)
    refuse(lambda: size([], X))
    refuse(lambda: size(1))


@shapecheck
class Encoder:
    @functools.singledispatchmethod
    def encode(self, x: Any, w: Float[Tensor, "d"]) -> Float[Tensor, "d"]:
        return w

    @encode.register
    def _(self, x: int, w: Float[Tensor, "d"]) -> Float[Tensor, "d"]:
        return w[:x]

    @encode.register(list)
    @classmethod
    def _(cls, x: list[int], w: Float[Tensor, "d"]) -> Float[Tensor, "d"]:
        return w * len(x)


def test_generic_methods() -> None:
    encoder = Encoder()
    assert encoder.encode("a", X[0]).shape == (3,)
    assert encoder.encode(3, X[0]).shape == (3,)
    assert encoder.encode([1, 2], X[0]).tolist() == [2.0] * 3
    for x in ("a", 3, [1]):
        refuse(lambda x=x: encoder.encode(x, X))  # type: ignore[misc]
    refuse(lambda: encoder.encode(2, X[0]))


@shapecheck
class Scaled:
    def scale(self, x: Float[Tensor, "n d"], by: float, keep: bool = True) -> Float[Tensor, "n d"]:
        return x * by if keep else x[0]

    twice = functools.partialmethod(scale, by=2.0)
    wrong = functools.partialmethod(scale, by=2.0, keep=False)


def test_partial_methods() -> None:
    assert torch.equal(Scaled().twice(X), X * 2)
    refuse(lambda: Scaled().twice(X[0]))
    refuse(lambda: Scaled().wrong(X))


# Wrappers ------------------------------------------------------------------------------------


def with_batch(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        return function(x[None], *args, **kwargs)[0]

    return wrapper


def as_list(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return [function(*args, **kwargs)]

    return wrapper


def counted(function: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        wrapper.calls += 1  # type: ignore[attr-defined]
        return function(*args, **kwargs)

    wrapper.calls = 0  # type: ignore[attr-defined]
    return wrapper


def recomputed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return checkpoint(function, *args, use_reentrant=False)

    return wrapper


def test_the_function_inside_of_a_wrapper_is_what_the_annotations_are_of() -> None:
    @shapecheck
    @with_batch
    def sums(x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n"]:
        return x.sum(-1)

    @shapecheck
    @as_list
    @with_batch
    def listed(x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n"]:
        return x.sum(-1) if x.shape[1] < 5 else x

    assert sums(X).shape == (2,)
    assert [one.shape for one in listed(X)] == [(2,)]
    refuse(lambda: sums(X[0]))
    refuse(lambda: listed(torch.ones(6, 3)))


def test_a_wrapper_stays_what_it_is() -> None:
    @shapecheck
    @counted
    def same(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        return x

    same(X[0])
    same(x=X[0])
    assert same.calls == 2
    refuse(lambda: same(X))


def test_transforms_below() -> None:
    @shapecheck
    @torch.vmap
    def total(x: Float[Tensor, "d"]) -> Float[Tensor, ""]:
        return x.sum()

    @shapecheck
    @torch.func.grad
    def slope(x: Float[Tensor, "d"]) -> Float[Tensor, ""]:
        return (x * x).sum()

    assert total(X).shape == (2,)
    assert slope(X[0]).tolist() == [2.0] * 3
    refuse(lambda: total(torch.ones(2, 3, 4)))

    @shapecheck
    @recomputed
    def product(x: Float[Tensor, "n d"], w: Float[Tensor, "d k"]) -> Float[Tensor, "n k"]:
        return (x @ w).relu()

    w = torch.ones(3, 4, requires_grad=True)
    product(X, w).sum().backward()
    assert w.grad.shape == (3, 4)  # type: ignore[union-attr]
    refuse(lambda: product(X, X))


def test_what_a_context_manager_gives() -> None:
    @shapecheck
    @contextmanager
    def opened(x: Float[Tensor, "n d"]) -> Iterator[Float[Tensor, "n"]]:
        yield x.sum(-1) if x.shape[0] < 5 else x

    with opened(X) as y:
        assert y.shape == (2,)
    with pytest.raises(ShapeError, match="yielded value"), opened(torch.ones(6, 3)):
        pass


class Retry:
    """A wrapper that keeps the function where nobody finds it, and converts an argument."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def call(self, x: Tensor, k: Any) -> Any:
        return self.function(x, int(k))


def test_what_a_wrapper_may_convert_is_its_own_affair() -> None:
    def retried(function: Callable[..., Any]) -> Callable[..., Any]:
        retry = Retry(function)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return retry.call(*args, **kwargs)

        return wrapper

    @shapecheck
    @retried
    def scaled(x: Float[Tensor, "n"], k: int) -> Float[Tensor, "n"]:
        return x * k

    assert scaled(X[0], "3").tolist() == [3.0] * 3  # type: ignore[arg-type]
    refuse(lambda: scaled(X, 3))


def test_names_of_the_instance_reach_into_wrappers() -> None:
    @shapecheck(dims="d")
    class Model:
        @as_list
        @shapecheck
        def first(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
            return x.sum(-1)

        @shapecheck
        @as_list
        def second(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
            return x.sum(-1)

    model = Model()
    assert isinstance(model.first(X), list)
    assert isinstance(model.second(X), list)
    refuse(lambda: model.first(torch.ones(2, 2)))
    refuse(lambda: model.second(torch.ones(2, 2)))


# What else functions take --------------------------------------------------------------------


def test_what_a_dataclass_hands_on() -> None:
    @shapecheck
    @dataclasses.dataclass
    class Weighted:
        x: Float[Tensor, "n d"]
        by: dataclasses.InitVar[Float[Tensor, "n"] | None] = None

        def __post_init__(self, by: Tensor | None) -> None:
            self.x = self.x if by is None else self.x * by[:, None]

    assert Weighted(X).x is X
    assert Weighted(X, torch.zeros(2)).x.sum() == 0
    refuse(lambda: Weighted(X, torch.zeros(3)))


Rest = TypeVarTuple("Rest")


@shapecheck
def numbers(x: Float[Tensor, "n"], *rest: Unpack[tuple[int, ...]]) -> int:
    return len(rest)


@shapecheck
def rest_of(*args: Unpack[Rest]) -> tuple[Unpack[Rest]]:
    return args


@shapecheck
def around(
    *parts: Unpack[tuple[Float[Tensor, "n"], Unpack[tuple[Float[Tensor, "m"], ...]], int]],
) -> tuple[Float[Tensor, "n"], Unpack[tuple[Float[Tensor, "m"], ...]]]:
    return (parts[0], *parts[1:-1])  # type: ignore[return-value]


class Box(Generic[Unpack[Rest]]):
    @shapecheck
    def inner(self, items: tuple[int, Unpack[Rest], str]) -> tuple[Unpack[Rest]]:
        return items[1:-1]  # type: ignore[return-value]


def test_tuples_with_another_unpacked_in_them() -> None:
    one, two = torch.ones(2), torch.ones(3)
    assert numbers(one) == 0
    assert numbers(one, 1, 2) == 2
    assert rest_of(1, "a", None) == (1, "a", None)
    assert around(one, 3) == (one,)
    assert len(around(one, two, two, 3)) == 3
    assert Box().inner((1, 2, "x")) == (2,)
    assert Box().inner((1, "x")) == ()
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: numbers(one, "x"), 'item 0 of argument "rest" of "numbers" is not an instance'),  # type: ignore[arg-type]
        (lambda: around(one, two, one, 3), 'item 2 of argument "parts" of "around" is \\(2\\)'),
        (lambda: around(one), "has 1 items, declared 2 or more"),  # type: ignore[call-arg]
        (lambda: Box().inner((1,)), "has 1 items, declared 2 or more"),  # type: ignore[arg-type]
    ]
    for call, said in wrong:
        with pytest.raises(ShapeError, match=said):
            call()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="syntax of Python 3.11")
def test_unpacked_with_a_star() -> None:
    space: dict[str, Any] = {**globals()}
    exec(
        "def given(x: Float[Tensor, 'n'], *args: *tuple[int, Float[Tensor, 'n']]) -> None: ...",
        space,
    )
    given = shapecheck(space["given"])
    given(X[0], 1, X[0])
    for wrong in ((), (1,), (1, X[0, :2]), (1, X[0], 2)):
        refuse(lambda wrong=wrong: given(X[0], *wrong))  # type: ignore[misc]


# The import hook -----------------------------------------------------------------------------

HOOKED = """
from typing import NamedTuple
import torch
from torch import Tensor
from shapecheck import Float

class Output(NamedTuple):
    logits: Float[Tensor, "b c"]
    loss: Float[Tensor, "b"] | None = None

@torch.jit.ignore
def total(x: Float[Tensor, "n"]) -> Float[Tensor, ""]:
    return x.sum()
"""


def test_the_hook_on_named_tuples_and_what_torchscript_leaves_to_python(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hooked_holders.py").write_text(HOOKED)
    monkeypatch.syspath_prepend(tmp_path)
    with install_import_hook("hooked_holders"):
        import hooked_holders  # type: ignore[import-not-found]
    assert hooked_holders.Output(X, X[:, 0]).logits is X
    assert hooked_holders.total(X[0]) == 3
    refuse(lambda: hooked_holders.Output(X, X[0]))
    refuse(lambda: hooked_holders.total(X))


def test_a_function_has_its_name_before_its_first_call() -> None:
    @shapecheck
    def head(x: Float[Tensor, "n"]) -> Float[Tensor, ""]:
        return x[0]

    assert head.__code__.co_name == "head"
    head(X[0])
    assert head.__code__.co_name == "head"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_aliases_that_a_statement_makes(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "aliases_by_statement.py").write_text(
        "from typing import NamedTuple\n"
        "from shapecheck import Float, shapecheck\n"
        "from torch import Tensor\n"
        'type Row = Float[Tensor, "n"]\n'
        "type Pair[T] = tuple[T, T]\n"
        "type Tree = Row | list[Tree]\n"
        "class Rows(NamedTuple):\n"
        "    first: Row\n"
        "@shapecheck\n"
        "def one(x: Row, several: list[Row] | None = None) -> None: ...\n"
        "@shapecheck\n"
        "def two(x: Pair[Row], y: 'Row | None' = None) -> None: ...\n"
        "@shapecheck\n"
        "def three(x: Rows, tree: Tree = []) -> None: ...\n"
        "@shapecheck\n"
        'def generic[T](x: T, y: Float[Tensor, "n"]) -> Pair[T]:\n'
        "    return x, x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import aliases_by_statement as m  # type: ignore[import-not-found]

    row, other = X[0], X[0, :2]
    m.one(row, [row])
    m.two((row, row), row)
    m.three(m.Rows(row), [row, row])
    assert m.generic("a", row) == ("a", "a")
    for wrong in (
        lambda: m.one(X),
        lambda: m.one(row, [other]),
        lambda: m.two((row, other)),
        lambda: m.two((row, row), other),
        lambda: m.three(m.Rows(X)),
        lambda: m.three(m.Rows(row), X),
        lambda: m.generic("a", X),
    ):
        refuse(wrong)


def test_a_text_in_the_brackets_of_a_builtin() -> None:
    @shapecheck
    class Made:
        @classmethod
        def make(cls: type["Made"], x: Float[Tensor, "n"]) -> "Made":
            return cls()

    assert isinstance(Made.make(X[0]), Made)
    refuse(lambda: Made.make(X))
