"""What operations by name say to arguments of a wrong kind: in the user's words, on both sides."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from shapecheck import Dim, ShapeError, dims, named


class Net:
    """A class of a user's."""


def a_function(x: Any) -> Any:
    return x


Time = dims("time")
WRONG: dict[str, Any] = {
    "a list": [["p"], {"q": 1}],
    "an empty list": [],
    "a dict": {"a": 1},
    "a set": {"a"},
    "None": None,
    "a lambda": lambda x: x,
    "a function": a_function,
    "a builtin": print,
    "a float": 1.5,
    "a number": 3,
    "a bool": True,
    "a class": Net,
    "an object": Net(),
    "bytes": b"a",
    "a dtype": torch.float32,
    "a layer": torch.nn.Linear(2, 2),
    "a module": sys,
    "a slice": slice(None),
    "a range": range(2),
    "a computed dimension": Time + 1,
}
INTERNAL = re.compile(r"unhashable|0x[0-9a-f]{6}|<class|<function|<built-in|object at|NoneType")


def x() -> torch.Tensor:
    return named(torch.arange(24.0).reshape(2, 3, 4), "a b c")


def at() -> torch.Tensor:
    return named(torch.tensor([0, 1]), "k")


CALLS: dict[str, Callable[[Any], Any]] = {
    "the tensor": lambda wrong: named.sum(wrong, "a"),
    "the tensor, over all": named.sum,
    "the tensor, asserted": lambda wrong: named.assert_size(wrong, a=2),
    "the tensor, reduced": lambda wrong: named.reduce(wrong, lambda x: x.sum(0), "a"),
    "one of the tensors": lambda wrong: named.cat([x(), wrong], "a"),
    "the tensors": lambda wrong: named.contract(wrong, "a"),
    "the new name": lambda wrong: named.rename(x(), "a", wrong),
    "the new name in front": lambda wrong: named.stack_new([x(), x()], wrong),
    "the new name behind": lambda wrong: named.augment(x(), lambda x: x[..., None], wrong),
    "the merged name": lambda wrong: named.flatten(x(), "a b", wrong),
    "the old name": lambda wrong: named.rename(x(), k=wrong),
    "a name at the right": lambda wrong: named.refine_names(torch.ones(2, 3), "a", wrong, "k"),
    "the pairs": lambda wrong: named.unflatten(x(), "a", wrong),
    "a pair": lambda wrong: named.unflatten(x(), "a", [wrong, ("q", 1)]),
    "the name in a pair": lambda wrong: named.unflatten(x(), "a", [(wrong, 2), ("q", 1)]),
    "the packed": lambda wrong: named.unpack(wrong, Time, "b"),
    "the padded dimension": lambda wrong: named.mask(x(), wrong),
    "the index": lambda wrong: named.gather(x(), "a", wrong, "k"),
    "the index's dimension": lambda wrong: named.gather(x(), "a", at(), wrong),
    "where it is put": lambda wrong: named.scatter(x(), wrong, at(), 0.0, "k"),
    "the mask": lambda wrong: named.masked_select(x(), wrong, "n"),
    "the name of what is selected": lambda wrong: named.masked_select(x(), x() > 1, wrong),
    "the name of what isn't zero": lambda wrong: named.nonzero(x(), wrong, "axes"),
    "the name of the axes": lambda wrong: named.nonzero(x(), "n", wrong),
    "the name of what is unique": lambda wrong: named.unique(x(), wrong),
    "the plane": lambda wrong: named.triu(x(), wrong),
    "the part's dimension": lambda wrong: named.narrow(x(), wrong, 0, 1),
    "the sizes": named.zeros,
    "a size": lambda wrong: named.zeros(a=wrong),
    "where it is written": lambda wrong: named.put(x(), wrong, 0.0),
    "the index of rows": lambda wrong: named.index_add(x(), "a", wrong, x()),
    "the rows": lambda wrong: named.index_copy(x(), "a", at(), wrong),
    "the index by name": lambda wrong: named.NamedTensor(x())[wrong],
    "the dimension of a method": lambda wrong: named.NamedTensor(x()).softmax(wrong),
    "the dimension of a size": lambda wrong: named.NamedTensor(x()).size(wrong),
    "the indexed dimension": lambda wrong: named.get(x(), wrong, 0),
    **{
        f"the dimension of {name}": lambda wrong, name=name: getattr(named, name)(x(), wrong)  # type: ignore[misc]
        for name in "softmax argmax sort max cumsum logsumexp flip unbind transpose".split()
    },
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("argument", CALLS)
def test_an_argument_of_a_wrong_kind_is_refused_in_the_users_words(
    argument: str, wrong: str
) -> None:
    if (argument, wrong) in TAKEN:
        return
    with pytest.raises(ShapeError) as caught:
        CALLS[argument](WRONG[wrong])
    assert not INTERNAL.search(str(caught.value))


TAKEN = {
    ("the tensors", "an empty list"),  # torch says that there are none
    ("the sizes", "a dict"),
    ("the sizes", "None"),
    ("a size", "a number"),
    ("where it is written", "a dict"),
    ("the index by name", "a dict"),
    ("the dimension of flip", "None"),
    ("the dimension of flip", "an empty list"),
    ("the dimension of logsumexp", "None"),
    ("the dimension of logsumexp", "an empty list"),
    ("the dimension of transpose", "an empty list"),
}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: named.rename(x(), "a", ["p", "q"]),
            "\"named.rename\" can't call it ['p', 'q']: "
            'a name is an identifier such as "channels"',
        ),
        (
            lambda: named.rename(x(), "a", {"p": 1}),
            '"named.rename" can\'t call it a dict: a name is an identifier such as "channels"',
        ),
        (
            lambda: named.rename(x(), {"a": "p"}, "p"),
            '"named.rename" takes the names of dimensions: a dict isn\'t a name',
        ),
        (
            lambda: named.sum(x(), lambda q: q),
            '"named.sum" takes the names of dimensions: a lambda isn\'t a name',
        ),
        (
            lambda: named.sum(x(), Net),
            '"named.sum" takes the names of dimensions: the class Net isn\'t a name',
        ),
        (lambda: named.mean(None, "a"), '"named.mean" takes a tensor: None isn\'t one'),
        (
            lambda: named.cat(x, "a"),
            '"named.cat" takes a list of tensors: the function x isn\'t one',
        ),
        (
            lambda: named.unflatten(x(), "a", ["p", "q"]),
            "\"named.unflatten\" takes pairs of a name and a size: 'p' isn't one",
        ),
        (lambda: named.op(x(), 3), '"named.op" takes a function: 3 isn\'t one'),
        (
            lambda: named.mask(x(), "a"),
            "\"named.mask\" takes a dimension that has lengths: 'a' has none; "
            "Time.with_lengths(lengths) gives a dimension lengths",
        ),
        (
            lambda: named.get(x()),
            '"named.get" takes a dimension and an index: write get(x, "b", 0) or get(x, b=0)',
        ),
        (
            lambda: named.assert_size(x(), a=[2]),
            '"named.assert_size" doesn\'t hold for (a b c): "a" is 2, not (2,)',
        ),
    ],
)
def test_what_is_said(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ShapeError) as caught:
        call()
    assert caught.value.message.text == text


def test_a_name_given_to_named_is_a_text_or_a_dimension() -> None:
    with pytest.raises(
        TypeError, match=r"^named\(\.\.\.\): the function a_function is given; write names"
    ):
        named(torch.ones(2), a_function)


def test_right_arguments_of_each_kind_are_taken() -> None:
    Heads = Dim("heads")
    assert named.flatten(x(), ["a", "b"], Heads).shape == (6, 4)
    assert named.rename(x(), "a", Heads).shape == (2, 3, 4)
    assert named.stack_new((x(), x()), Heads).shape == (2, 2, 3, 4)
    assert named.unflatten(x(), "c", [["p", 2], ("q", 2)]).shape == (2, 3, 2, 2)
    assert named.get(x(), ["a"], [0, 1]).shape == (2, 3, 4)
    assert named.assert_size(x(), a=torch.tensor(2)).shape == (2, 3, 4)
    assert named.sum(x(), [["a", "b"], ("c",)]).dim() == 0
