"""pydantic: validates the fields of models whose types are ours, each tensor by itself.

It asks the metadata of a type, so that nothing is to be registered with it. A tensor is taken as it
is: there is nothing to convert it from, and nothing in JSON that stands for one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from shapecheck.runtime.boundary import other_checkers
from shapecheck.tensor_spec import TensorSpec

_core: Final[Any] = import_module("pydantic_core")


def schema(spec: TensorSpec, source: Any, handler: Any) -> Any:
    """Return pydantic's schema for tensors of a class that fit a spec."""
    schemas = _core.core_schema

    def check(value: Any) -> Any:
        if other_checkers.fits(value, spec):
            return value
        raise _core.PydanticCustomError(
            "tensor_shape",
            "Input should be a tensor {declared}, not {given}",
            {"declared": f'{spec.label}["{spec.shape}"]', "given": _shown(value)},
        )

    of_class = schemas.is_instance_schema(source) if isinstance(source, type) else handler(source)
    return schemas.no_info_after_validator_function(check, of_class)


def _shown(value: Any) -> str:
    dtype = str(value.dtype).rpartition(".")[2]
    return f"{dtype} of shape ({' '.join(map(str, value.shape))})"
