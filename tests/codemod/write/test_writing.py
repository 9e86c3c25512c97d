"""Annotations go in and come out again without a trace."""

from __future__ import annotations

from typing import get_type_hints

import pytest
import torch

from shapecheck.codemod.sources.torchtyping import convert
from shapecheck.codemod.strip import strip
from shapecheck.codemod.write.annotation_types import NONE, Either, TensorType, TupleType
from shapecheck.codemod.write.edit import Slot, annotate

BT = TensorType("Float", "b t")
MAYBE = Either((TensorType("Bool", "b"), NONE))

BARE = '''\
"""A module."""
# a comment
import torch  # it


def f(x, mask=None):  # the def
    y = x * 2   # (b, t)
    return y
'''
ANNOTATED = '''\
"""A module."""
# a comment
import torch  # it
from shapecheck import Bool, Float  # by shapecheck annotate: torch.Tensor


def f(x: Float[torch.Tensor, "b t"], mask: Bool[torch.Tensor, "b"] | None = None) -> Float[torch.Tensor, "b t"]:  # the def
    y: Float[torch.Tensor, "b t"] = x * 2   # (b, t)
    return y
'''  # noqa: E501
WANTED = {
    Slot("f", 0, "x"): BT,
    Slot("f", 0, "mask"): MAYBE,
    Slot("f", 0, "return"): BT,
    Slot("f", 0, "y", 1): BT,
}


def test_annotations_are_written_where_there_are_none() -> None:
    assert annotate(BARE, WANTED).text == ANNOTATED


def test_stripping_takes_them_out() -> None:
    assert strip(ANNOTATED) == BARE


def test_a_tensor_of_which_nothing_is_said_is_written_as_one() -> None:
    kind = TupleType((BT, TensorType("Shaped", "...")))
    text = annotate(BARE, {Slot("f", 0, "return"): kind}).text
    assert '-> tuple[Float[torch.Tensor, "b t"], torch.Tensor]:' in text
    assert "from shapecheck import Float  # by" in text
    assert strip(text) == BARE


def test_any_shape_says_no_more_of_what_is_a_tensor_already() -> None:
    text = "from torch import Tensor\ndef f(x: Tensor, y: Tensor | None) -> tuple[Tensor]: ...\n"
    shape = TensorType("Shaped", "...")
    x, y, result = (Slot("f", 0, name) for name in ("x", "y", "return"))
    wanted = {x: shape, y: Either((shape, NONE)), result: TupleType((shape,))}
    assert annotate(text, wanted) == (text, wanted.keys())


def test_annotating_twice_changes_nothing() -> None:
    assert annotate(ANNOTATED, WANTED).text == ANNOTATED


def test_a_shape_goes_around_the_tensor_that_is_there() -> None:
    text = (
        "from typing import Optional\nfrom torch import Tensor\n"
        "def f(x: Tensor, mask: Optional[Tensor] = None) -> 'tuple[Tensor, int]': ...\n"
        "def g(x) -> tuple[Tensor, Tensor]: ...\n"
    )
    wanted = {
        Slot("f", 0, "x"): BT,
        Slot("f", 0, "mask"): MAYBE,
        Slot("f", 0, "return"): TupleType((BT, BT)),
        Slot("g", 0, "return"): TupleType((BT, BT)),
    }
    annotated = annotate(text, wanted, "jaxtyping").text
    assert annotated == (
        "from typing import Optional\nfrom torch import Tensor\n"
        "from jaxtyping import Bool, Float  # by shapecheck annotate\n"
        'def f(x: Float[Tensor, "b t"], mask: Optional[Bool[Tensor, "b"]] = None)'
        " -> 'tuple[Tensor, int]': ...\n"
        'def g(x) -> tuple[Float[Tensor, "b t"], Float[Tensor, "b t"]]: ...\n'
    )
    assert strip(annotated) == text


@pytest.mark.parametrize(
    "text",
    [
        BARE.replace("\n", "\r\n"),
        BARE.replace("mask=None", "mask = None"),
        BARE.replace("mask=None", "mask  =None"),
        BARE.replace("def f", "def g(a = 1): ...\ndef f"),
        BARE.replace("import torch  # it", "from torch import Tensor\nz: Tensor"),
        BARE.replace("import torch  # it", "import torch\nfrom torch import Tensor\nz: Tensor"),
        BARE.replace("import torch  # it", "import torch\ndef h(q: torch.Tensor): ..."),
        BARE.replace("import torch  # it", "import torch\nFloat = 3"),
        BARE.replace("import torch  # it", "from jaxtyping import Float\nz = Float"),
        BARE.replace("import torch  # it", "from jaxtyping import Float"),
        BARE.replace("import torch  # it", "from shapecheck import Bool, Float\nz = Bool"),
        BARE.replace("import torch  # it", "import torch\nlabel = 'Bool', 'a Float'"),
        BARE.replace("import torch  # it", "import torch\nclass Float: ...\ndef Bool(): ..."),
        BARE.replace('"""A module."""', "#!/usr/bin/env python"),
        BARE.replace('"""A module."""\n# a comment\n', "\f\n\n"),
        BARE.rstrip("\n"),
        BARE.replace("    ", "\t"),
        BARE.replace("x, mask", "\n    x,  # one\n    mask"),
        BARE.replace("y = x", "y=x"),
        BARE.replace("def f", "@torch.no_grad()\nasync def f"),
        BARE.replace("):", ") :"),
        BARE + "def f(x=(1,), *, mask=None): return x\n",
        BARE + "def f(x: (torch.Tensor), mask: ((torch.Tensor) | None)): return x\n",
        BARE.replace("    y", "  # less\n\n    # more\n    y"),
        BARE.replace("    y", '    """It says\nwhat it does."""\n    y'),
        BARE.replace("    y", "    @torch.no_grad()\n    def inner(): ...\n    y"),
        BARE.replace("    y", "    class A:\n\n        x = 1\n    y"),
    ],
)
def test_the_round_trip_is_exact(text: str) -> None:
    wanted = WANTED | {Slot("f", 1, "mask"): MAYBE}
    for some in (wanted, {slot: kind for slot, kind in wanted.items() if not slot.local}):
        annotated = annotate(text, some).text
        assert annotated != text
        assert strip(annotated) == text


@pytest.mark.parametrize(
    "before",
    [
        "class Tensor: ...\nclass Float(str): ...\ndef Bool(): ...\n",
        "from decimal import Decimal as Float\nfrom decimal import Decimal as Tensor\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n",
        "import typing\nif typing.TYPE_CHECKING:\n    from torch import Tensor\n",
        "import typing\nif typing.TYPE_CHECKING:\n    from shapecheck import Float, Bool\nz = 1\n",
        "from __future__ import annotations\nx = 'Float[2]'\n",
        "def late(): ...\nimport os\n",
    ],
)
def test_what_is_written_means_what_it_says_and_goes_without_a_trace(before: str) -> None:
    """Names of the module's own, and those that are bound for type checkers only, aren't used."""
    text = before + "def f(x, mask=None):\n    y = x\n    return y\n"
    annotated = annotate(text, WANTED).text
    module: dict[str, object] = {"__name__": "m"}
    exec(compile(annotated, "m.py", "exec"), module)
    hints = get_type_hints(module["f"], module, include_extras=True)
    assert [str(hints[name].__metadata__[0]) for name in ("x", "return")] == ['Float["b t"]'] * 2
    assert hints["x"].__origin__ is torch.Tensor
    assert strip(annotated) == text


def test_functions_of_one_name_are_told_apart() -> None:
    text = "import torch\nif 1:\n    def f(x): ...\nelse:\n    def f(x): ...\n"
    annotated = annotate(text, {Slot("f", 1, "x"): BT}).text
    first, second = annotated.split("else:")
    assert "def f(x): ..." in first
    assert 'def f(x: Float[torch.Tensor, "b t"]): ...' in second


def test_strip_of_what_people_wrote_leaves_tensors() -> None:
    text = (
        "from jaxtyping import Float, jaxtyped\nfrom torch import Tensor\n"
        'Image = Float[Tensor, "3 h w"]\n@jaxtyped\nclass A:\n    x: Float[Tensor, "b"]\n'
        'def f(x: Float[Tensor, "b"] | None) -> Image: ...\n'
        'def g(x: Float[Tensor, "3 n"] | Float[Tensor, "4 n"] | None): ...\n'
    )
    assert strip(text) == (
        "from jaxtyping import jaxtyped\nfrom torch import Tensor\n"
        "Image = Tensor\n@jaxtyped\nclass A:\n    x: Tensor\n"
        "def f(x: Tensor | None) -> Image: ...\n"
        "def g(x: Tensor | None): ...\n"
    )


def test_strip_leaves_other_modules_alone() -> None:
    text = 'from mine import Float, Tensor\ndef f(x: Float[Tensor, "b"]): ...\n'
    assert strip(text) == text


def test_torchtyping_is_converted() -> None:
    text = (
        "import torch\nfrom torchtyping import TensorType, patch_typeguard\n"
        'def f(x: TensorType["b", 3, float], y: TensorType[..., "c": 4, torch.long],\n'
        '      z: TensorType["b": ..., -1]) -> TensorType["b"]: ...\n'
    )
    assert convert(text) == (
        "import torch\nfrom torchtyping import patch_typeguard\nfrom torch import Tensor\n"
        "from shapecheck import Float, Int64, Shaped\n"
        'def f(x: Float[Tensor, "b 3"], y: Int64[Tensor, "... c=4"],\n'
        '      z: Shaped[Tensor, "*b _"]) -> Shaped[Tensor, "b"]: ...\n'
    )
