"""TypedDicts and NamedTuples: only fields with a declared shape say one, wherever they stand."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest
import shaped_records as records
import torch
from torch import Tensor, nn, zeros
from typing_extensions import Unpack

from shapecheck import Float, ShapeError, dims_of, shapecheck, watch
from shapecheck.runtime.annotations.hints import OtherHint, classify

RIGHT, WRONG = torch.ones(2, 3), torch.ones(2, 3, 1)
SHAPED: dict[str, tuple[Any, Any, str]] = {
    "a TypedDict": (records.Shaped, lambda x: {"x": x}, "value of key 'x' of "),
    "a derived one": (records.ShapedChild, lambda x: {"x": x, "count": 1}, "value of key 'x' of "),
    "a derived one for its base": (
        records.Shaped,
        lambda x: {"x": x, "count": 1},
        "value of key 'x' of ",
    ),
    "a required field": (records.ShapedRequired, lambda x: {"x": x}, "value of key 'x' of "),
    "typing_extensions": (records.ShapedExtension, lambda x: {"x": x}, "value of key 'x' of "),
    "a nested TypedDict": (
        records.ShapedNested,
        lambda x: {"inside": {"x": x}},
        "value of key 'x' of value of key 'inside' of ",
    ),
    "a NamedTuple": (
        records.ShapedTuple,
        lambda x: records.ShapedTuple(None, x),
        "attribute 'x' of ",
    ),
    "a derived NamedTuple": (
        records.ShapedTupleChild,
        lambda x: records.ShapedTupleChild(None, x),
        "attribute 'x' of ",
    ),
    "records in containers": (
        records.ShapedDeep,
        lambda x: {"tuples": {"a": [records.ShapedTuple(None, x)]}},
        "attribute 'x' of item 0 of value of key 'a' of value of key 'tuples' of ",
    ),
    "a generic NamedTuple": (
        records.Generics[Float[Tensor, "b c"]],
        lambda x: records.Generics(RIGHT, [x]),
        "item 0 of attribute 'several' of ",
    ),
}
PLAIN: dict[str, tuple[Any, Any]] = {
    "a TypedDict": (records.Plain, {"max_length": 3, "missing": object()}),
    "a derived one": (records.PlainChild, {"mask": RIGHT}),
    "a nested one": (records.PlainNested, {"inside": {"x": RIGHT}, "several": [{"x": None}]}),
    "a NamedTuple": (records.PlainTuple, records.PlainTuple(None, "x['b c']", 1)),
    "typing_extensions": (records.PlainExtension, {"x": RIGHT}),
    "a namedtuple": (records.PlainFields, records.PlainFields(1, 2)),
    "a generic one": (records.Generics, records.Generics(1, [2])),
    "a generic one of ints": (records.Generics[int], records.Generics(1, [2])),
}


@pytest.mark.parametrize("name", SHAPED)
def test_a_field_with_a_shape_is_checked(name: str) -> None:
    record, made, where = SHAPED[name]

    def function(x: Float[Tensor, "b c"], given: Any) -> None: ...

    function.__annotations__["given"] = record
    checked = shapecheck(function)
    checked(RIGHT, made(RIGHT))
    with pytest.raises(ShapeError) as caught:
        checked(RIGHT, made(WRONG))
    assert caught.value.message.text == (
        f'{where}argument "given" of "checked" is (2 3 1), declared "b c": '
        "it has 3 axes, declared 2"
    )


class Rays(NamedTuple):
    origins: Float[Tensor, "n d"]
    lengths: Float[Tensor, "n"]


class Views(TypedDict):
    views: list[Rays]
    order: Float[Tensor, "n"]


def test_the_names_of_a_record_are_its_own() -> None:
    seen: list[Any] = []

    @shapecheck
    def function(x: Float[Tensor, "n"], one: Rays, other: Rays) -> Rays:
        seen.append([dims_of(one.origins), dims_of(other.origins)])
        with pytest.raises(ShapeError, match=r'"\+" can\'t broadcast \(n\) with \(d\)'):
            other.origins.sum(1) + other.origins.sum(0)
        return Rays(one.origins + other.origins.sum(), one.lengths)

    few, many = torch.ones(2, 2), torch.ones(3, 3)
    found = function(torch.ones(4), Rays(few, few[0]), Rays(many, many[0]))
    assert seen == [[("n", "d"), ("n", "d")]]
    assert found.origins.shape == (2, 2)
    with pytest.raises(ShapeError) as caught:
        function(torch.ones(4), Rays(few, few[0]), Rays(many, few[0]))
    assert str(caught.value).split("\n")[0] == (
        'attribute \'lengths\' of argument "other" of "function" is (2), declared "n": '
        "axis 0 is 2, declared n (here 3)  [shape]"
    )


COLUMNS = 3


@shapecheck
class Table(NamedTuple):
    head: Float[Tensor, "{COLUMNS}"]
    rows: list[Float[Tensor, "n {COLUMNS}"]] | None = None
    count: int = 0


def test_a_decorated_named_tuple_is_checked_by_what_stands_around_it() -> None:
    Table(zeros(3), [zeros(2, 3)], 1)
    make: Any = Table
    wrong: tuple[tuple[Any, ...], ...] = ((zeros(2),), (zeros(3), [zeros(2, 2)]), (zeros(3), 1))
    for given in wrong:
        with pytest.raises(ShapeError):
            make(*given)


def test_expressions_of_a_record_are_over_its_fields() -> None:
    beside = 5

    class Boxes(NamedTuple):
        count: int
        corners: Float[Tensor, "{count} {COLUMNS}"]
        unknown: Float[Tensor, "{beside}"]

    class Batch(TypedDict):
        count: int
        boxes: Float[Tensor, "{count} d"]

    @shapecheck
    def function(boxes: Boxes, batch: Batch, count: int, d: int) -> Boxes:
        return boxes._replace(corners=boxes.corners[:count])

    def call(boxes: int = 2, batch: int = 2, columns: int = 3, kept: int = 2) -> None:
        given = Boxes(boxes, zeros(2, columns), zeros(beside))
        function(given, {"count": batch, "boxes": zeros(2, 7)}, kept, 1)

    call()
    for wrong in ({"boxes": 3}, {"batch": 3}, {"columns": 4}, {"kept": 1}):
        with pytest.raises(ShapeError, match=r"axis \d is \d, declared \{(count|COLUMNS)\}"):
            call(**wrong)


def test_records_of_one_size_are_two() -> None:
    @shapecheck
    def function(one: Rays, other: Rays) -> Float[Tensor, "n m"]:
        return one.lengths[:, None] + other.lengths + one.lengths - other.lengths

    x = torch.ones(3, 2)
    function(Rays(x, x[:, 0]), Rays(x, x[:, 1]))


def test_records_in_records_have_names_of_their_own() -> None:
    @shapecheck
    def function(given: Views) -> None: ...

    few, many = torch.ones(2, 2), torch.ones(3, 3)
    function({"views": [Rays(few, few[0]), Rays(many, many[0])], "order": torch.ones(5)})
    with pytest.raises(ShapeError, match="attribute 'lengths' of item 1 of value of key 'views'"):
        function({"views": [Rays(few, few[0]), Rays(many, few[0])], "order": torch.ones(5)})


def test_what_a_record_is_given_keeps_its_name_at_the_caller() -> None:
    @shapecheck
    def inner(x: Float[Tensor, "rows d"]) -> Rays:
        return Rays(x, x.sum(1))

    @shapecheck
    def outer(x: Float[Tensor, "b c"]) -> None:
        found = inner(x)
        seen.extend((dims_of(found.origins), dims_of(found.lengths)))

    seen: list[Any] = []
    outer(torch.ones(2, 2))
    assert seen == [("b", "c"), ("b",)]


@pytest.mark.parametrize("name", SHAPED)
def test_keywords_of_a_typed_dict_are_checked(name: str) -> None:
    record, made, _ = SHAPED[name]
    if not isinstance(made(RIGHT), dict):
        return

    def function(first: Float[Tensor, "b c"], **given: Any) -> None: ...

    function.__annotations__["given"] = Unpack[record]
    checked = shapecheck(function)
    checked(RIGHT, **made(RIGHT))
    with pytest.raises(ShapeError, match=r'argument "(x|inside|tuples)" of "checked" is '):
        checked(RIGHT, **made(WRONG))


@pytest.mark.parametrize("name", PLAIN)
def test_a_record_without_shapes_says_none(name: str) -> None:
    record, value = PLAIN[name]
    for annotation in (record, record | None, list[record], Unpack[record]):
        found = classify(annotation)
        assert isinstance(found, OtherHint)
        assert not found.tensors

    def function(x: Float[Tensor, "b c"], given: Any) -> None: ...

    function.__annotations__["given"] = record
    checked = shapecheck(function)
    checked(RIGHT, value)
    with pytest.raises(ShapeError, match=r"is not a (dict|named tuple)"):
        checked(RIGHT, 5)


@pytest.mark.parametrize("annotation", [Literal["mean", "sum"], Annotated[int, "how many"]])
def test_a_text_that_is_no_type_says_no_shape(annotation: Any) -> None:
    found = classify(annotation)
    assert isinstance(found, OtherHint)
    assert not found.tensors


class Inner(nn.Module):
    def forward(
        self,
        hidden: Tensor,
        how: Literal["mean", "sum"] = "sum",
        count: Annotated[int, "how many"] = 1,
        **kwargs: Unpack[records.PlainChild],
    ) -> Tensor:
        self.seen = dims_of(hidden)
        return hidden * 2


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Tensor) -> Tensor:
        found = self.inner(x, mask=x)
        self.seen = dims_of(found)
        return found  # type: ignore[no-any-return]


def test_names_go_through_a_module_whose_keywords_have_no_shapes() -> None:
    outer = Outer()

    @shapecheck
    def called(x: Float[Tensor, "batch time"]) -> Float[Tensor, "batch time"]:
        return outer(x)  # type: ignore[no-any-return]

    called(torch.ones(2, 3))
    assert outer.seen == outer.inner.seen == ("batch", "time")
    del outer.seen, outer.inner.seen
    with watch(outer, {"x": "batch time"}):
        outer(torch.ones(2, 3))
    assert outer.seen == outer.inner.seen == ("batch", "time")
