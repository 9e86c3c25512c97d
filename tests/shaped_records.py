"""Records for the tests of records: their fields are texts, which only this module can look up."""

from __future__ import annotations

import collections
from typing import (
    TYPE_CHECKING,
    Annotated,
    Generic,
    Literal,
    NamedTuple,
    TypedDict,
    TypeVar,
)

import torch
import typing_extensions
from torch import Tensor
from typing_extensions import NotRequired, ReadOnly, Required

from shapecheck import Float

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]

T = TypeVar("T")
Image = Float[Tensor, "b c"]


class Plain(TypedDict, total=False):
    cu_seq_lens_q: torch.LongTensor
    max_length: int | None
    missing: Missing
    output: NotRequired[Tensor]


class PlainChild(Plain):
    mask: Required[Tensor]


class PlainNested(TypedDict, total=False):
    inside: PlainNested
    several: list[PlainNested]
    x: Tensor | None


class PlainTuple(NamedTuple):
    inside: PlainTuple | None
    how: Literal["x['b c']"]
    count: Annotated[int, "x['b c']"]


class PlainExtension(typing_extensions.TypedDict, total=False):
    x: ReadOnly[Tensor]


PlainFields = collections.namedtuple("PlainFields", "x y")


class Generics(NamedTuple, Generic[T]):
    x: T
    several: list[T]


class Shaped(TypedDict, total=False):
    x: Image


class ShapedChild(Shaped):
    count: int


class ShapedRequired(TypedDict):
    x: Required[Image]


class ShapedExtension(typing_extensions.TypedDict):
    x: ReadOnly[Image]


class ShapedNested(TypedDict, total=False):
    inside: ShapedNested
    x: Image


class ShapedTuple(NamedTuple):
    inside: ShapedTuple | None
    x: Image


class ShapedTupleChild(ShapedTuple):
    pass


class ShapedDeep(TypedDict):
    tuples: dict[str, list[ShapedTuple]]
