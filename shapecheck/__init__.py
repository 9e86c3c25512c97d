"""Named dimensions for PyTorch: a mypy plugin and a run-time decorator with one set of op rules.

    from shapecheck import Float, shapecheck

    @shapecheck
    def attend(q: Float[Tensor, "b n d"], k: Float[Tensor, "b m d"]) -> Float[Tensor, "b n m"]:
        return q @ k.transpose(-2, -1)

Every name is imported when it is first used: the analysis and the plugin never import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shapecheck.dims import Dim as Dim
    from shapecheck.dims import dims as dims
    from shapecheck.named import Named as _Named
    from shapecheck.notebook import load_ipython_extension as load_ipython_extension
    from shapecheck.notebook import unload_ipython_extension as unload_ipython_extension
    from shapecheck.runtime import RaggedWarning as RaggedWarning
    from shapecheck.runtime import ShapeError as ShapeError
    from shapecheck.runtime import assert_shape as assert_shape
    from shapecheck.runtime import dims_of as dims_of
    from shapecheck.runtime import disabled as disabled
    from shapecheck.runtime import install_import_hook as install_import_hook
    from shapecheck.runtime import names as names
    from shapecheck.runtime import reveal_shape as reveal_shape
    from shapecheck.runtime import shapecheck as shapecheck
    from shapecheck.runtime import trace as trace
    from shapecheck.runtime import watch as watch
    from shapecheck.types import BFloat16 as BFloat16
    from shapecheck.types import Bool as Bool
    from shapecheck.types import Complex as Complex
    from shapecheck.types import Complex64 as Complex64
    from shapecheck.types import Complex128 as Complex128
    from shapecheck.types import Float as Float
    from shapecheck.types import Float8e4m3fn as Float8e4m3fn
    from shapecheck.types import Float8e5m2 as Float8e5m2
    from shapecheck.types import Float16 as Float16
    from shapecheck.types import Float32 as Float32
    from shapecheck.types import Float64 as Float64
    from shapecheck.types import Inexact as Inexact
    from shapecheck.types import Int as Int
    from shapecheck.types import Int8 as Int8
    from shapecheck.types import Int16 as Int16
    from shapecheck.types import Int32 as Int32
    from shapecheck.types import Int64 as Int64
    from shapecheck.types import Integer as Integer
    from shapecheck.types import Num as Num
    from shapecheck.types import Real as Real
    from shapecheck.types import ShapeAnnotationError as ShapeAnnotationError
    from shapecheck.types import Shaped as Shaped
    from shapecheck.types import UInt as UInt
    from shapecheck.types import UInt8 as UInt8
    from shapecheck.types import UInt16 as UInt16
    from shapecheck.types import UInt32 as UInt32
    from shapecheck.types import UInt64 as UInt64

    named = _Named()
else:
    from importlib import import_module

    from shapecheck.late_names import homes_of as _homes_of
    from shapecheck.late_names import late_names as _late_names

    _HOMES = _homes_of(
        {
            "shapecheck.dims": "Dim",
            "shapecheck.types": (
                "BFloat16 Bool Complex Complex64 Complex128 Float Float8e4m3fn Float8e5m2 Float16 "
                "Float32 Float64 Inexact Int Int8 Int16 Int32 Int64 Integer Num Real "
                "ShapeAnnotationError Shaped UInt UInt8 UInt16 UInt32 UInt64"
            ),
            "shapecheck.runtime": (
                "RaggedWarning ShapeError assert_shape dims_of disabled install_import_hook names "
                "reveal_shape shapecheck trace watch"
            ),
        }
    )
    __all__ = ["__version__", "dims", "named", *_HOMES]  # noqa: PLE0604 - the keys are strings
    # IPython asks for these by name; nobody else is to have them.
    _OF_NOTEBOOKS = dict.fromkeys(
        ("load_ipython_extension", "unload_ipython_extension"), "shapecheck.notebook"
    )
    _late = _late_names(__name__, {**_HOMES, **_OF_NOTEBOOKS})

    def __getattr__(name):
        if name in ("dims", "named"):  # the module is the function: see there
            return import_module(f"shapecheck.{name}")
        return _late(name)

    def __dir__():
        return sorted({*globals(), *__all__})
