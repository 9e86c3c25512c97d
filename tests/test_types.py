"""`Float[Tensor, "b c"]` at run time: a real `Annotated` with metadata, and clear errors."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import typing
from typing import Annotated, Any

import jaxtyping
import pytest
import torch
from repository import ROOT
from torch import Tensor

from shapecheck import Float, Float32, Int, ShapeAnnotationError, Shaped, spec
from shapecheck.types import TensorSpec, read

Image = Float[Tensor, "c h w"]


def test_an_annotation_is_annotated() -> None:
    annotation: Any = Float[Tensor, " b  c"]
    assert typing.get_origin(annotation) is Annotated
    origin, metadata = typing.get_args(annotation)
    assert origin is Tensor
    assert isinstance(metadata, TensorSpec)
    assert repr(metadata) == 'Float["b c"]'
    assert metadata.shape == spec.parse("b c")


def test_annotations_compare_hash_copy_and_pickle() -> None:
    annotation: Any = Float[Tensor, "b c"]
    assert annotation == Float[Tensor, "b c"]
    assert annotation != Int[Tensor, "b c"]
    assert hash(annotation) == hash(Float[Tensor, "b c"])
    assert pickle.loads(pickle.dumps(annotation)) == annotation
    assert copy.deepcopy(annotation) == annotation
    assert typing.Union[annotation, None] == annotation | None  # noqa: UP007


def test_type_hints_without_extras_are_plain_tensors() -> None:
    def function(x: Float[Tensor, "b"]) -> Image:
        return x

    assert typing.get_type_hints(function) == {"x": Tensor, "return": Tensor}


def test_an_annotation_around_another_prepends() -> None:
    def shape(annotation: Any) -> str:
        found = read(annotation)
        assert found is not None
        return str(found[1].shape)

    assert shape(Float[Image, "b"]) == "b c h w"
    assert shape(Float[jaxtyping.Float[Tensor, "c h"], "b"]) == "b c h"
    assert shape(Float[Annotated[Tensor, "c"], "b"]) == "b c"
    narrow = read(Shaped[Float32[Tensor, "c"], "b"])
    assert narrow is not None
    assert repr(narrow[1]) == 'Float32["b c"]'


def test_a_union_of_tensor_types_is_distributed() -> None:
    annotation: Any = Float[Tensor | torch.nn.Parameter, "b"]  # type: ignore[valid-type]
    assert typing.get_origin(annotation) is typing.Union
    assert {typing.get_args(part)[0] for part in typing.get_args(annotation)} == {
        Tensor,
        torch.nn.Parameter,
    }


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (
            'Float[Tensor, "b 2c"]',
            "Float[Tensor, \"b 2c\"]: a name can't begin with a digit; write '2*c' for a product\n"
            "    b 2c\n"
            "      ^^",
        ),
        (
            'Float[Tensor, "b,c"]',
            'Float[Tensor, "b,c"]: dimensions are separated by spaces, not commas\n    b,c\n     ^',
        ),
        (
            'Float[Tensor, "b", ...]',
            'Float[Tensor, "b", ...]: Float takes a tensor type and one string with all dimensions,'
            ' such as Float[Tensor, "batch channels"]',
        ),
        (
            'Float["b c"]',
            'Float["b c"]: Float takes a tensor type and one string with all dimensions, such as '
            'Float[Tensor, "batch channels"]',
        ),
        ('Float[3, "b"]', 'Float[3, ...]: 3 is no tensor type; write Float[Tensor, "b"]'),
        (
            'Int[Float[Tensor, "b"], "c"]',
            'Int["c"] holds Int, but what it is put around, Float["b"], holds Float',
        ),
        ('Float(Tensor, "b")', 'Float is no class to call; write Float[Tensor, "..."]'),
    ],
)
def test_malformed_annotations(annotation: str, text: str) -> None:
    with pytest.raises(ShapeAnnotationError) as caught:
        eval(annotation)
    assert str(caught.value) == text


def test_isinstance() -> None:
    x = torch.zeros(2, 3)
    assert isinstance(x, Float[Tensor, "a b"])  # type: ignore[arg-type]
    assert isinstance(x, Float[Tensor, "2 3"])  # type: ignore[arg-type]
    assert not isinstance(x, Float[Tensor, "a a"])  # type: ignore[arg-type]
    assert not isinstance(x, Float[Tensor, "a"])  # type: ignore[arg-type]
    assert not isinstance(x, Int[Tensor, "a b"])  # type: ignore[arg-type]
    assert not isinstance(3, Float[Tensor, ""])  # type: ignore[arg-type]


def test_the_lower_layers_and_the_version_never_import_torch() -> None:
    program = (
        "import sys, shapecheck, shapecheck.spec, shapecheck.types\n"
        "from shapecheck import Float, __version__\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_an_unknown_name_of_the_package() -> None:
    import shapecheck

    with pytest.raises(AttributeError, match="no attribute 'Floot'"):
        shapecheck.Floot  # type: ignore[attr-defined]  # noqa: B018
    assert {"Float", "shapecheck", "dims_of"} <= set(dir(shapecheck))
