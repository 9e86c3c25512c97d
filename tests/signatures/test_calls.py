"""What a signature gives for a call, and the whole text of what it says of one that can't be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from shapecheck import dtypes
from shapecheck.dims import Size, name, own
from shapecheck.ops import UNKNOWN
from shapecheck.shapes import Facts, Item, Mismatch, Shape, Tensor
from shapecheck.signatures import StubError, Table, table
from shapecheck.signatures.model import spread

a, b, c = map(name, "abc")
width = own("width")

STUB = """\
def pool(input: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c"]: ...
def cut(input: Float[Tensor, "n"], size: int) -> Float[Tensor, "{size}"]: ...
def last(input: Float[Tensor, "*s 3"]) -> Float[Tensor, "*s"]: ...
def both(input: Float[Tensor, "n d"], other: Float[Tensor, "d m"]) -> Float[Tensor, "n m"]: ...
def one(input: Float[Tensor, "n"]) -> Float[Tensor, "n"]: ...

class Base(Module):
    depth: int = 2
    def __init__(self, width: int) -> None: ...
    def forward(self, input: Float[Tensor, "*s {self.width}"]) -> Float[Tensor, "*s"]: ...

class Derived(Base):
    def __init__(self, width: int) -> None: ...

class Other(Module):
    def __init__(self) -> None: ...
"""


@pytest.fixture(name="stubs")
def _stubs(tmp_path: Path) -> Table:
    (tmp_path / "lib.pyi").write_text(STUB)
    return Table([tmp_path])


def x(*dims: Item) -> Tensor:
    return Tensor(Shape(dims))


def given(
    stubs: Table, op: str, *args: Any, instance: dict[str, Any] | None = None
) -> tuple[str, str]:
    """Return the shape of the result, or what is said."""
    signature = stubs.signature(f"lib.{op}")
    assert signature is not None
    try:
        return str(signature.apply(Facts(), args, {}, op, instance)), ""
    except Mismatch as mismatch:
        return mismatch.problem.headline, mismatch.problem.reason


@pytest.mark.parametrize(
    ("op", "args", "headline", "reason"),
    [
        ("pool", [x(a, b, 3, 4)], "(a b)", ""),
        ("pool", [x(a, b, 3)], "can't take (a b 3)", '"input" has 3 axes, where 4 are expected'),
        ("one", [x(a, b)], "can't take (a b)", '"input" has 2 axes, where 1 is expected'),
        ("last", [x(a, 4)], "can't take (a 4)", 'axis -1 of "input" is 4, where 3 is expected'),
        (
            "last",
            [x()],
            "can't take ()",
            '"input" has 0 axes, where at least 1 is expected (... 3)',
        ),
        (
            "both",
            [x(a, b), x(c, 3)],
            'can\'t take (c 3) with "input" (a b)',
            'axis 0 of "other" is c, where b is expected',
        ),
        (
            "both",
            [x(a, b), x(b)],
            'can\'t take (b) with "input" (a b)',
            '"other" has 1 axis, where 2 are expected (b _)',
        ),
        ("cut", [x(a), 5], "(5)", ""),
        ("cut", [x(a), width], "(<width>)", ""),
    ],
)
def test_functions(stubs: Table, op: str, args: list[Any], headline: str, reason: str) -> None:
    assert given(stubs, op, *args) == (headline, reason)


@pytest.mark.parametrize(
    ("op", "label", "reason"),
    [
        ("both", "both", '"input" must be Float'),
        ("both", "", '"input" must be Float'),
        ("both", "@", "the left operand must be Float"),
        ("one", "one", '"input" must be Float'),
        ("one", "~", "the operand must be Float"),
    ],
)
def test_how_parameters_are_called(stubs: Table, op: str, label: str, reason: str) -> None:
    """Those of an operator, which has no names for them, by their sides."""
    signature = stubs.signature(f"lib.{op}")
    assert signature is not None
    whole = Tensor(Shape((a, b)[: 1 + (op == "both")]), dtypes.INT64)
    with pytest.raises(Mismatch) as caught:
        signature.apply(Facts(), [whole, x(b, c)][: len(signature.params)], {}, label)
    assert caught.value.problem.reason == reason


def test_what_is_of_the_elements_alone() -> None:
    stubs = table()
    assert stubs.is_elementwise("torch.relu")
    assert stubs.is_elementwise("torch.Tensor.add_")
    for name_ in ("torch.softmax", "torch.sum", "torch.cumsum", "torch.matmul", "torch.nothing"):
        assert not stubs.is_elementwise(name_)


def test_a_folder_of_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shapecheck.signatures.index._MOST_BELOW", 2000)
    for number in range(2000):
        (tmp_path / f"{number}").touch()
    assert Table([tmp_path]).signature("lib.one") is None
    (tmp_path / "lib.pyi").write_text(STUB)
    with pytest.raises(StubError) as caught:
        Table([tmp_path]).signature("lib.one")
    reason = "more than 2,000 files are below it; name the folder of the .pyi"
    assert str(caught.value).endswith(reason)


@pytest.mark.parametrize(
    ("made_with", "axis", "reason"),
    [
        (8, 8, ""),
        (8, 7, 'axis -1 of "input" is 7, where 8 (width) is expected'),
        (own("d"), own("e"), 'axis -1 of "input" is <e>, where <d> (width) is expected'),
        (width, width, ""),
    ],
)
def test_methods(stubs: Table, made_with: int | Size, axis: int | Size, reason: str) -> None:
    """The attributes of the module are those that it was made with."""
    derived = stubs.lookup_class("lib.Derived")
    assert derived is not None
    instance = dict(derived.construct((made_with,), {}))
    headline, said = given(stubs, "Base.forward", x(a, axis), instance=instance)
    assert said == reason
    assert headline == (f"can't take (a {axis})" if reason else "(a)")


def test_one_for_each_of_several() -> None:
    """A number, or a row of one, is that of each; what isn't known stays so."""
    for value, count, each in [
        (3, 2, (3, 3)),
        ((3,), 2, (3, 3)),
        ([3], 3, (3, 3, 3)),
        ((3, 4), 2, (3, 4)),
        ((3, 4), 3, (3, 4)),
        (a, 2, (a, a)),
        (None, 2, None),
        ("same", 2, "same"),
        (UNKNOWN, 2, UNKNOWN),
    ]:
        assert spread(value, count) == each


def test_classes(stubs: Table) -> None:
    """They have the methods and the fields of those that they are derived from."""
    derived, other = stubs.lookup_class("lib.Derived"), stubs.lookup_class("lib.Other")
    assert derived is not None
    assert other is not None
    assert [derived.inherits(f"lib.{one}") for one in ("Derived", "Base", "Other")] == [
        *(True, True, False)
    ]
    assert not other.inherits("lib.Base")
    assert derived.method("forward") is stubs.signature("lib.Base.forward")
    assert other.method("forward") is None
    instance = derived.construct((8,), {})
    assert [stubs.field(instance, one) for one in ("width", "depth")] == [8, 2]
    assert stubs.field(instance, "gone") is UNKNOWN
    assert stubs.field({}, "width") is UNKNOWN
    assert stubs.lookup_class("lib.Gone") is None
    assert [stubs.has(f"lib.{op}") for op in ("pool", "Base.forward", "gone")] == [
        True,
        True,
        False,
    ]


def test_memory_without_data() -> None:
    """What makes it says so, and what views it; what computes with it has data."""
    found = {
        op: shipped.apply(Facts(), args, {}, op)
        for op, args in [
            ("torch.empty", (3,)),
            ("torch.zeros", (3,)),
            ("torch.rand", (3,)),
        ]
        if (shipped := table().signature(op)) is not None
    }
    blank = {op: one.blank for op, one in found.items() if isinstance(one, Tensor)}
    assert blank == {"torch.empty": True, "torch.zeros": True, "torch.rand": False}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe isn't waited for."""
    os.mkfifo(tmp_path / "lib.pyi")
    with pytest.raises(StubError, match="can't be read: not a regular file"):
        Table([tmp_path]).signature("lib.pool")
