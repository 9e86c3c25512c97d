"""`type Image = ...`, which only Python 3.12 and newer can parse."""

from __future__ import annotations

import sys

import pytest

from shapecheck.analysis import Options, Source, analyze_module

PROGRAM = """\
from torch import Tensor
from shapecheck import Float, reveal_shape

type Image = Float[Tensor, "b 3 h w"]

def gray(image: Image) -> Image:
    reveal_shape(image)
    return image.mean(1)

def first[T](items: list[T]) -> T:
    return items[0]

def use(images: list[Image]) -> None:
    reveal_shape(first(images))
"""


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a syntax of Python 3.12")
def test_type_statement() -> None:
    """An alias of this kind is an alias, and a function of this kind a function."""
    found = analyze_module(Source("case", "case.py", PROGRAM), NoSources(), Options())
    said = [(one.span.line, one.message.partition(":")[0]) for one in found]
    assert said == [
        (7, 'Revealed shape is "b 3 h w"'),
        (8, 'returned value "image.mean(1)" is (b h w), declared "b 3 h w"'),
        (14, 'Revealed shape is "b 3 h w"'),
    ]
