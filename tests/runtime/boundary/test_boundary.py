"""Arguments and results against their annotations: every form, and the whole text of the errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict, Union

import jaxtyping
import pytest
import torch
from torch import Tensor

from shapecheck import (
    Bool,
    Dim,
    Float,
    Float64,
    Int,
    ShapeAnnotationError,
    ShapeError,
    shapecheck,
)
from shapecheck.dims import dims
from shapecheck.runtime.boundary import checks

UNUSUAL = 'x: Float[Tensor, "2*n"], y: Float[Tensor, "*s 2*m"], z: Float[Tensor, "*t n"]'


def zeros(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(sizes, dtype=dtype)


@shapecheck
def project(
    x: Float[Tensor, "b n d"], w: Float[Tensor, "d m"], scale: float = 1.0
) -> Float[Tensor, "b n m"]:
    return x @ w * scale


@shapecheck
def total(x: Float[Tensor, "b n"], mask: Bool[Tensor, "b n"] | None = None) -> Float[Tensor, ""]:
    return x.sum() if mask is None else x[mask].sum()


def first_line(call: Callable[[], object]) -> str:
    with pytest.raises(ShapeError) as caught:
        call()
    return str(caught.value).splitlines()[0]


def test_what_fits_goes_through() -> None:
    assert project(zeros(2, 3, 4), zeros(4, 5)).shape == (2, 3, 5)
    assert project(x=zeros(2, 3, 4), w=zeros(4, 5), scale=2).shape == (2, 3, 5)
    assert total(zeros(2, 3)).shape == ()
    assert total(zeros(2, 3), zeros(2, 3, dtype=torch.bool)).shape == ()


def test_the_whole_text() -> None:
    with pytest.raises(ShapeError) as caught:
        project(zeros(2, 3, 4), zeros(3, 5))
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        'argument "w" of "project" is (3 5), declared "d m": axis 0 is 3, declared d (here 4)'
        "  [shape]"
    )
    assert lines[1].startswith(f"  at {__file__}:")
    assert lines[1].endswith(": project(zeros(2, 3, 4), zeros(3, 5))")
    assert lines[2:] == ['  note: d is 4 from argument "x"', "  here b=2, n=3, d=4"]
    assert caught.value.names == {"b": 2, "n": 3, "d": 4}
    assert caught.value.code == "shape"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: project(zeros(2, 3), zeros(3, 5)),
            'argument "x" of "project" is (2 3), declared "b n d": it has 2 axes, declared 3'
            "  [shape]",
        ),
        (
            lambda: project(zeros(2, 3, 4), zeros(4, 5, dtype=torch.int64)),
            'argument "w" of "project" is int64, declared Float  [shape-dtype]',
        ),
        (
            lambda: project([1.0], zeros(4, 5)),  # type: ignore[arg-type]
            'argument "x" of "project" is list, declared a tensor "b n d"  [shape]',
        ),
        (
            lambda: project(zeros(2, 3, 4), zeros(4, 5), "2"),  # type: ignore[arg-type]
            'argument "scale" of "project" is neither float or int  [shape]',
        ),
        (
            lambda: total(zeros(2, 3), zeros(2, 4, dtype=torch.bool)),
            'argument "mask" of "total" is (2 4), declared "b n": axis 1 is 4, declared n (here 3)'
            "  [shape]",
        ),
    ],
)
def test_arguments_that_do_not_fit(call: Callable[[], object], text: str) -> None:
    assert first_line(call) == text


def test_a_result_that_does_not_fit() -> None:
    @shapecheck
    def double(x: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        return torch.cat((x, x))

    with pytest.raises(ShapeError) as caught:
        double(zeros(2, 3))
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        'returned value "torch.cat((x, x))" is (2*b n), declared "b n": '
        "axis 0 is 2*b, declared b  [shape]"
    )
    assert lines[1].endswith(": return torch.cat((x, x))")
    assert lines[-1] == "  here b=2, n=3"


# Every form of the language: shapes that fit, and shapes that don't.
FORMS: list[
    tuple[tuple[str, ...], list[tuple[tuple[int, ...], ...]], list[tuple[tuple[int, ...], ...]]]
] = [
    (("b 3",), [((2, 3),)], [((2, 4),), ((2,),)]),
    (("",), [((),)], [((1,),)]),
    (("_ _x b", "b"), [((1, 2, 3), (3,))], [((1, 2, 3), (2,))]),
    (("rgb=3 height=_",), [((3, 9),)], [((4, 9),)]),
    (("... d", "d"), [((2, 3, 4), (4,)), ((4,), (4,))], [((2, 3), (4,)), ((), (4,))]),
    (("*b d", "*b"), [((2, 3, 4), (2, 3)), ((4,), ())], [((2, 3, 4), (3, 2)), ((2, 4), ())]),
    (("*b n *c", "*b", "n"), [((2, 3, 4), (2,), (3,))], [((2, 3, 4), (3,), (3,))]),
    (("#b n", "b n"), [((1, 3), (2, 3)), ((2, 3), (2, 3))], [((3, 3), (2, 3))]),
    (("#b", "#b"), [((1,), (5,)), ((5,), (1,))], [((4,), (5,))]),
    (("*#b d", "*#b d"), [((2, 1, 4), (3, 4)), ((4,), (5, 4))], [((2, 4), (3, 4))]),
    (("2*n", "n"), [((6,), (3,))], [((7,), (3,)), ((6,), (2,))]),
    (("2*n",), [((6,),)], [((7,),)]),
    (("n-1", "n"), [((2,), (3,))], [((3,), (3,))]),
    (("h*w", "h", "w"), [((6,), (2,), (3,))], [((7,), (2,), (3,))]),
    (("h w", "h//2 w%2"), [((5, 3), (2, 1))], [((5, 3), (3, 1))]),
    (("h", "-(-h//2)"), [((5,), (3,))], [((5,), (2,))]),
    (("a b", "min(a,b) max(a,b)"), [((2, 3), (2, 3))], [((2, 3), (3, 2))]),
    (("n", "2**n"), [((3,), (8,))], [((3,), (9,))]),
    (("h d", "(h d)"), [((2, 3), (6,))], [((2, 3), (5,))]),
    (("(h d)", "h d"), [((6,), (2, 3))], [((5,), (2, 3))]),
    (("?b ?b", "?b"), [((2, 2), (3,))], [((2, 3), (2,))]),
]


@pytest.mark.parametrize(("texts", "fitting", "wrong"), FORMS, ids=lambda v: str(v)[:30])
@pytest.mark.parametrize("mode", ["boundary", "full"])
def test_every_form(
    texts: tuple[str, ...],
    fitting: list[tuple[tuple[int, ...], ...]],
    wrong: list[tuple[tuple[int, ...], ...]],
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)
    names = [f"x{i}" for i in range(len(texts))]
    space: dict[str, Any] = {}
    exec(f"def function({', '.join(names)}): return None", space)
    function = space["function"]
    function.__annotations__ = {
        name: Float[Tensor, text] for name, text in zip(names, texts, strict=True)
    }
    checked = shapecheck(function)
    for _ in range(2):  # found out, then remembered
        for shapes in fitting:
            checked(*(zeros(*shape) for shape in shapes))
        for shapes in wrong:
            with pytest.raises(ShapeError):
                checked(*(zeros(*shape) for shape in shapes))


def test_results_take_every_form_too() -> None:
    for texts, fitting, wrong in FORMS:
        if texts[0] == "(h d)":  # the parts are known from the arguments only
            continue
        *arguments, last = texts
        names = [f"x{i}" for i in range(len(arguments))]
        space: dict[str, Any] = {}
        exec(f"def function({', '.join([*names, 'out'])}): return out", space)
        function = space["function"]
        function.__annotations__ = {
            name: Float[Tensor, text] for name, text in zip(names, arguments, strict=True)
        } | {"return": Float[Tensor, last]}
        checked = shapecheck(function)
        for shapes in fitting:
            checked(*(zeros(*shape) for shape in shapes))
        for shapes in wrong:
            with pytest.raises(ShapeError):
                checked(*(zeros(*shape) for shape in shapes))


def test_an_unsolvable_equation_says_so() -> None:
    @shapecheck
    def halves(x: Float[Tensor, "2*n"]) -> None: ...

    assert first_line(lambda: halves(zeros(7))) == (
        'argument "x" of "halves" is (7), declared "2*n": axis 0 is 7, which no 2*n can be  [shape]'
    )


def test_names_that_only_the_result_has_are_free_but_consistent() -> None:
    @shapecheck
    def make(n: int) -> tuple[Float[Tensor, "k"], Float[Tensor, "k k"]]:
        return zeros(n), zeros(n, 3)

    make(3)
    assert first_line(lambda: make(4)) == (
        'returned value "zeros(n, 3)" is (4 3), declared "k k": axis 1 is 3, declared k (here 4)'
        "  [shape]"
    )
    make(3)


def test_a_result_of_the_wrong_kind() -> None:
    @shapecheck
    def pair(x: Float[Tensor, "b"]) -> tuple[Float[Tensor, "b"], Float[Tensor, "b"]]:
        return (x, x, x) if len(x) > 1 else x  # type: ignore[return-value]

    assert "has 3 items, declared 2" in first_line(lambda: pair(zeros(2)))
    assert "is Tensor, declared a tuple" in first_line(lambda: pair(zeros(1)))


# Python expressions -----------------------------------------------------------------------------

FACTOR = 2


class Layer:
    def __init__(self, width: int) -> None:
        self.width = width

    @shapecheck
    def forward(
        self, x: Float[Tensor, "b {self.width}"]
    ) -> Float[Tensor, "b {FACTOR * self.width}"]:
        return torch.cat((x, x), 1)

    @shapecheck
    def wrong(self, x: Float[Tensor, "b {self.wdith}"]) -> None: ...


def test_expressions_over_the_arguments() -> None:
    @shapecheck
    def repeat(x: Float[Tensor, "d"], n: int, xs: list[int]) -> Float[Tensor, "{n} d+{len(xs)}"]:
        return zeros(n, len(x) + len(xs))

    repeat(zeros(3), 2, [1])
    repeat(zeros(3), 4, xs=[])
    Layer(3).forward(zeros(2, 3))
    assert first_line(lambda: Layer(4).forward(zeros(2, 3))) == (
        'argument "x" of "Layer(4).forward" is (2 3), declared "b {self.width}": '
        "axis 1 is 3, declared {self.width} (here 4)  [shape]"
    ).replace("Layer(4).forward", "forward")


def test_expressions_over_what_stands_around() -> None:
    def widened(factor: int) -> Callable[[Tensor], None]:
        @shapecheck
        def function(x: Float[Tensor, "b {factor * FACTOR}"]) -> None: ...

        return function

    for function, size in ((widened(2), 4), (widened(3), 6)):
        function(zeros(2, size))
        with pytest.raises(ShapeError, match=rf"axis 1 is 5, .* \(here {size}\)"):
            function(zeros(2, 5))


def test_an_expression_takes_what_a_global_name_means_by_the_first_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @shapecheck
    def function(x: Float[Tensor, "b {FACTOR}"]) -> None: ...

    monkeypatch.setitem(globals(), "FACTOR", 7)
    function(zeros(2, 7))


def test_expressions_that_have_no_value() -> None:
    with pytest.raises(ShapeAnnotationError, match="has no size here: AttributeError"):
        Layer(3).wrong(zeros(2, 3))

    @shapecheck
    def unknown(x: Float[Tensor, "{nowhere}"]) -> None: ...

    with pytest.raises(ShapeAnnotationError, match='mentions "nowhere", which is no argument'):
        unknown(zeros(3))

    class Heads:
        COUNT = 4

        @shapecheck
        def function(self, x: Float[Tensor, "b {COUNT}"]) -> None: ...

    with pytest.raises(ShapeAnnotationError, match='mentions "COUNT", which is no argument'):
        Heads().function(zeros(2, 4))

    @shapecheck
    class Others:
        COUNT = 4

        def function(self, x: Float[Tensor, "b {COUNT}"]) -> None: ...

    with pytest.raises(ShapeAnnotationError, match='mentions "COUNT", which is no argument'):
        Others().function(zeros(2, 4))


# Other annotations ------------------------------------------------------------------------------


def test_jaxtyping_annotations_as_they_stand() -> None:
    @shapecheck
    def function(
        x: jaxtyping.Float[Tensor, "b n"],
        y: jaxtyping.Shaped[Tensor, "n"] | None = None,
    ) -> jaxtyping.Float32[Tensor, "b"]:
        return x.sum(1)

    function(zeros(2, 3))
    function(zeros(2, 3), zeros(3, dtype=torch.int8))
    assert first_line(lambda: function(zeros(2, 3), zeros(2))) == (
        'argument "y" of "function" is (2), declared "n": axis 0 is 2, declared n (here 3)  [shape]'
    )
    assert first_line(lambda: function(zeros(2, 3, dtype=torch.float64))) == (
        'returned value "x.sum(1)" is float64, declared float32  [shape-dtype]'
    )


def test_annotated_by_hand() -> None:
    @shapecheck
    def function(x: Annotated[Tensor, "b n"], y: Annotated[int, "b 2c"]) -> None: ...

    function(zeros(2, 3, dtype=torch.int8), 1)
    with pytest.raises(ShapeError):
        function(zeros(2), 1)

    with pytest.raises(ShapeAnnotationError, match="a name can't begin with a digit"):

        @shapecheck
        def malformed(x: Annotated[Tensor, "b 2c"]) -> None: ...


def test_a_type_without_a_shape() -> None:
    with pytest.raises(ShapeAnnotationError, match=r'write Float\[Tensor, "batch channels"\]'):

        @shapecheck
        def function(x: Float) -> None: ...  # type: ignore[valid-type]


def test_precise_dtypes() -> None:
    @shapecheck
    def function(x: Float64[Tensor, "n"], y: Int[Tensor, "n"]) -> None: ...

    function(zeros(2, dtype=torch.float64), zeros(2, dtype=torch.int8))
    assert "is float32, declared float64" in first_line(lambda: function(zeros(2), zeros(2)))
    with pytest.raises(ShapeError):
        function(zeros(2, dtype=torch.float64), zeros(2, dtype=torch.uint8))


# Containers -------------------------------------------------------------------------------------


class Batch(TypedDict):
    x: Float[Tensor, "b n"]
    y: Int[Tensor, "b"]


class Pair(NamedTuple):
    left: Float[Tensor, "b n"]
    right: Float[Tensor, "b n"]


def long(*sizes: int) -> Tensor:
    return zeros(*sizes, dtype=torch.int64)


CONTAINERS: list[tuple[Any, Any, Any, str]] = [
    (
        list[Float[Tensor, "b n"]],
        [zeros(2, 3), zeros(2, 3)],
        [zeros(2, 3), zeros(2, 4)],
        'item 1 of argument "value" of "function" is (2 4), declared "b n": '
        "axis 1 is 4, declared n (here 3)",
    ),
    (
        dict[str, Float[Tensor, "b n"]],
        {"a": zeros(2, 3), "b": zeros(2, 3)},
        {"a": zeros(2, 3), "b": zeros(3, 3)},
        'value of key \'b\' of argument "value" of "function" is (3 3), declared "b n": '
        "axis 0 is 3, declared b (here 2)",
    ),
    (
        tuple[Float[Tensor, "b n"], ...],
        (zeros(2, 3), zeros(2, 3)),
        (zeros(2, 3), zeros(3, 3)),
        'item 1 of argument "value" of "function" is (3 3), declared "b n": '
        "axis 0 is 3, declared b (here 2)",
    ),
    (
        tuple[Float[Tensor, "b n"], list[Int[Tensor, "b"]]],
        (zeros(2, 3), [long(2)]),
        (zeros(2, 3), [long(3)]),
        'item 0 of item 1 of argument "value" of "function" is (3), declared "b": '
        "axis 0 is 3, declared b (here 2)",
    ),
    (
        Batch,
        {"x": zeros(2, 3), "y": long(2)},
        {"x": zeros(2, 3), "y": long(3)},
        'value of key \'y\' of argument "value" of "function" is (3), declared "b": '
        "axis 0 is 3, declared b (here 2)",
    ),
    (
        Pair,
        Pair(zeros(2, 3), zeros(2, 3)),
        Pair(zeros(2, 3), zeros(3, 2)),
        'attribute \'right\' of argument "value" of "function" is (3 2), declared "b n": '
        "axis 0 is 3, declared b (here 2)",
    ),
]


@pytest.mark.parametrize(("annotation", "fitting", "wrong", "text"), CONTAINERS)
def test_every_item_of_a_container(annotation: Any, fitting: Any, wrong: Any, text: str) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation
    function = shapecheck(function)
    function(fitting)
    assert first_line(lambda: function(wrong)) == text + "  [shape]"
    function(fitting)


def test_containers_agree_with_the_other_arguments() -> None:
    @shapecheck
    def function(xs: list[Float[Tensor, "n"]], y: Float[Tensor, "n"]) -> list[Float[Tensor, "n"]]:
        return [y, *xs] if len(y) < 4 else [zeros(1)]

    function([zeros(3)], zeros(3))
    assert 'item 0 of argument "xs" of "function" is (2)' in first_line(
        lambda: function([zeros(2)], zeros(3))
    )
    assert 'item 0 of returned value is (1), declared "n"' in first_line(
        lambda: function([zeros(4)], zeros(4))
    ).replace(' "[y, *xs] if len(y) < 4 else [zeros(1)]"', "")


def test_no_alternative_fits() -> None:
    @shapecheck
    def function(x: Float[Tensor, "b c"] | Float[Tensor, "b h w"] | int) -> None: ...

    assert first_line(lambda: function(zeros(2))) == (
        'argument "x" of "function" fits none of its 3 alternatives: '
        'is (2), declared "b c": it has 1 axis, declared 2; '
        'is (2), declared "b h w": it has 1 axis, declared 3; '
        "int: is not an instance of int  [shape]"
    )


def test_a_failed_alternative_leaves_no_bindings() -> None:
    @shapecheck
    def function(
        value: Union[list[Float[Tensor, "n"]], list[Float[Tensor, "m 2"]]],  # noqa: UP007
        n: Float[Tensor, "n"],
    ) -> None: ...

    function([zeros(3)], zeros(3))
    function([zeros(3, 2), zeros(3, 2)], zeros(7))
    with pytest.raises(ShapeError, match="fits none of its 2 alternatives"):
        function([zeros(3, 2), zeros(4, 2)], zeros(7))

    @shapecheck
    def half_way(
        value: tuple[Float[Tensor, "n"], int] | tuple[Float[Tensor, "m"], str],
        x: Float[Tensor, "n"],
    ) -> None: ...

    half_way((zeros(5), "no int"), zeros(3))
    with pytest.raises(ShapeError):
        half_way((zeros(5), 1), zeros(3))


def test_star_arguments() -> None:
    @shapecheck
    def function(*xs: Float[Tensor, "b"], **ys: Float[Tensor, "b"]) -> Float[Tensor, "b"]:
        return xs[0]

    function(zeros(2), zeros(2), a=zeros(2))
    assert 'item 1 of argument "xs" of "function" is (3)' in first_line(
        lambda: function(zeros(2), zeros(3))
    )
    assert 'argument "a" of "function" is (3)' in first_line(lambda: function(zeros(2), a=zeros(3)))


# When names are looked up -----------------------------------------------------------------------


def test_text_annotations_see_the_enclosing_function() -> None:
    Local = Float[Tensor, "b n"]

    @shapecheck
    def function(x: Local) -> Local | None:
        return x

    function(zeros(2, 3))
    with pytest.raises(ShapeError):
        function(zeros(2))


@shapecheck
def forward(x: Later) -> Later:
    return x


Later = Float[Tensor, "b n"]


def test_a_forward_reference_is_looked_up_at_the_first_call() -> None:
    forward(zeros(2, 3))
    with pytest.raises(ShapeError):
        forward(zeros(2))


def test_an_annotation_that_never_resolves_is_told_once() -> None:
    @shapecheck
    def function(x: Nowhere[Tensor, "n"], y: Float[Tensor, "n"]) -> None: ...  # type: ignore[name-defined]

    with pytest.warns(RuntimeWarning, match='annotation of "x" of .* isn\'t checked: name'):
        function(1, zeros(2))
    with pytest.raises(ShapeError):
        function(1, zeros(2, 2))


def test_a_default_is_right_whatever_the_annotation_says() -> None:
    @shapecheck
    def attend(
        x: Float[Tensor, "b t"],
        mask: Float[Tensor, "b t"] = None,  # type: ignore[assignment]
        scale: Float[Tensor, "t"] = 1.0,  # type: ignore[assignment]
        names: list[str] = None,  # type: ignore[assignment]  # noqa: RUF013
        more: list[Float[Tensor, "b"]] = (),  # type: ignore[assignment]
    ) -> Float[Tensor, "b t"]:
        return x if mask is None else x * mask

    x = zeros(2, 3)
    attend(x)
    attend(x, None, names=["a"])
    attend(x, x, zeros(3), more=[zeros(2)])
    for call in (
        lambda: attend(x, zeros(2, 4)),
        lambda: attend(x, scale=2.0),  # type: ignore[arg-type]
        lambda: attend(x, names=3),  # type: ignore[arg-type]
        lambda: attend(x, more=[zeros(3)]),
    ):
        with pytest.raises(ShapeError):
            call()


@pytest.mark.filterwarnings("error")
def test_an_annotation_for_type_checkers_alone_is_left_alone() -> None:
    """`if TYPE_CHECKING: from somewhere import Config` is no reason to speak up."""

    @shapecheck
    def function(x: Float[Tensor, "n"], config: Nowhere) -> Nowhere:  # type: ignore[name-defined]
        return x

    function(zeros(2), 1)
    with pytest.raises(ShapeError):
        function(zeros(2, 2), 1)


# Classes ----------------------------------------------------------------------------------------


@shapecheck
@dataclass
class Tokens:
    ids: Int[Tensor, "b t"]
    mask: Bool[Tensor, "b t"]

    @property
    def lengths(self) -> Int[Tensor, "b"]:
        return self.mask.sum(1)

    @classmethod
    def like(cls, ids: Int[Tensor, "b t"]) -> Tokens:
        return cls(ids, torch.ones_like(ids, dtype=torch.bool))

    @staticmethod
    def first(ids: Int[Tensor, "b t"]) -> Int[Tensor, "b"]:
        return ids[:, 0] if ids.shape[1] > 1 else ids

    def plain(self):  # type: ignore[no-untyped-def]
        return self.ids


def test_a_dataclass() -> None:
    tokens = Tokens.like(long(2, 3))
    assert tokens.lengths.shape == (2,)
    assert Tokens.first(long(2, 3)).shape == (2,)
    assert tokens.plain() is tokens.ids
    assert 'argument "mask" of "Tokens" is (2 4), declared "b t"' in first_line(
        lambda: Tokens(long(2, 3), torch.ones(2, 4, dtype=torch.bool))
    )
    assert first_line(lambda: Tokens.first(long(2, 1))).endswith(
        "it has 2 axes, declared 1  [shape]"
    )


@shapecheck(dims="d_model heads")
class Attention:
    def __init__(self, d_model: int) -> None:
        self.d_model = d_model

    def project(self, x: Float[Tensor, "b d_model"]) -> Float[Tensor, "heads b"]:
        return zeros(len(x), len(x))

    def other(self, x: Float[Tensor, "heads"]) -> None: ...


def test_names_of_an_instance() -> None:
    one, two = Attention(4), Attention(5)
    one.project(zeros(3, 4))
    two.project(zeros(2, 5))
    with pytest.raises(ShapeError, match="declared d_model"):
        one.project(zeros(3, 5))
    one.other(zeros(3))
    two.other(zeros(2))
    with pytest.raises(ShapeError, match=r"axis 0 is 3, declared heads \(here 2\)"):
        two.other(zeros(3))
    assert first_line(lambda: one.project(zeros(2, 4))).endswith(
        'declared "heads b": axis 0 is 2, declared heads (here 3)  [shape]'
    )


def test_names_of_an_instance_go_on_a_class() -> None:
    with pytest.raises(TypeError, match="goes on a class"):

        @shapecheck(dims="d")
        def function(x: Float[Tensor, "d"]) -> None: ...

    with pytest.raises(ValueError, match='"2d" is no name'):

        @shapecheck(dims="2d")
        class Wrong: ...


# Dimensions as objects --------------------------------------------------------------------------

Batch, Time = dims("batch time")
Vocab = Dim("vocab", size=7)


@shapecheck
def embed(
    x: Int[Tensor, "Batch Time"], w: Float[Tensor, "Vocab d"]
) -> Float[Tensor, "Batch Time d"]:
    return w[x]


@shapecheck
def over_time(x: Float[Tensor, "Batch Time d"]) -> Float[Tensor, "Batch d"]:
    return x.sum(1)


@shapecheck
def over_batch(x: Float[Tensor, "n Batch d"]) -> Float[Tensor, "Batch d"]:
    return x.sum(0)


def test_dim_objects() -> None:
    embed(zeros(2, 3, dtype=torch.int64), zeros(7, 5))
    embed(zeros(4, 3, dtype=torch.int64), zeros(7, 5))
    assert first_line(lambda: embed(zeros(2, 3, dtype=torch.int64), zeros(6, 5))) == (
        'argument "w" of "embed" is (6 5), declared "Vocab d": axis 0 is 6, declared Vocab (here 7)'
        "  [shape]"
    )


def test_a_dim_object_is_one_dimension_wherever_it_is_used() -> None:
    @shapecheck
    def right(x: Float[Tensor, "Batch Time d"]) -> Float[Tensor, "Batch d"]:
        return over_time(x)

    @shapecheck
    def wrong(x: Float[Tensor, "Batch Time d"]) -> Float[Tensor, "Time d"]:
        return over_batch(x)

    right(zeros(3, 3, 3))
    assert first_line(lambda: wrong(zeros(3, 3, 3))) == (
        'argument "x" of "over_batch" is (batch time d), declared "n Batch d": '
        "axis 1 is time, declared Batch (here batch)  [shape]"
    )


# Tensors without sizes --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_left_alone() -> None:
    @shapecheck
    def double(x: Float[Tensor, "b t d"], y: Float[Tensor, "d"]) -> Float[Tensor, "b t d"]:
        return x * 2

    nested = torch.nested.nested_tensor([zeros(2, 3), zeros(4, 3)])
    for _ in range(2):
        assert double(nested, zeros(3)).is_nested


@pytest.mark.parametrize("mode", ["boundary", "full"])
@pytest.mark.parametrize(
    ("parameters", "calls", "times"),
    [
        ('x: Float[Tensor, "b n"], y: Float[Tensor, "n"] | None = None', [(zeros(2, 3),)], 0),
        ('x: Float[Tensor, "*b n"], scale: float', [(zeros(2, 3), 1.0), (zeros(3), 2)], 0),
        ('x: Float[Tensor, "2*n"], y: Float[Tensor, "*t n"]', [(zeros(4), zeros(2))], 0),
        (UNUSUAL, [(zeros(4), zeros(6), zeros(3, 2))], 1),
        (f"{UNUSUAL}, scale: float = 1", [(zeros(4), zeros(6), zeros(3, 2), 2.0)], 1),
        (f"scale: float, {UNUSUAL}", [(2.0, zeros(4), zeros(6), zeros(3, 2))], 1),
    ],
)
def test_what_fits_is_looked_at_thoroughly_once_at_most(
    parameters: str,
    calls: list[tuple[Any, ...]],
    times: int,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The code of a function says by itself that a call fits, or that it is like one before."""
    monkeypatch.setenv("SHAPECHECK", mode)
    thorough: list[object] = []

    def bind(*arguments: Any) -> Any:
        thorough.append(arguments)
        return checks_bind(*arguments)

    checks_bind = checks.bind
    monkeypatch.setattr(checks, "bind", bind)
    space: dict[str, Any] = {"Float": Float, "Tensor": Tensor}
    exec(f"def function({parameters}) -> None: ...", space)
    function = shapecheck(space["function"])
    for _ in range(3):
        for arguments in calls:
            function(*arguments)
    assert len(thorough) == times
