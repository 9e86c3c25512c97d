"""The op rules that a signature can't state, and what every rule is given.

Importing this package registers the rules of all modules in it; `RULES` maps their names to them.
The folders say what the ops are: `shape` of those that rearrange, pick and join axes, `math` of
those that compute, `nn` of layers and losses, `patterns` of those that read one (einops, einsum),
`named` of those that take names. What rules of several folders share stands beside the folders.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from shapecheck.ops.call import (
    RULES,
    UNKNOWN,
    Call,
    DType,
    Fields,
    Other,
    Packed,
    Repeated,
    Scalar,
    Sizes,
    Unknown,
    Value,
    like,
    rule,
)

__all__ = [
    "RULES",
    "UNKNOWN",
    "Call",
    "DType",
    "Fields",
    "Other",
    "Packed",
    "Repeated",
    "Scalar",
    "Sizes",
    "Unknown",
    "Value",
    "like",
    "rule",
]

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
