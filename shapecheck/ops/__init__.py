"""The op rules that a signature can't state, and what every rule is given.

Importing this package registers all rules; `RULES` maps their names to them.
"""

from __future__ import annotations

from shapecheck.ops import attention as _attention
from shapecheck.ops import axes as _axes
from shapecheck.ops import contract as _contract
from shapecheck.ops import conv as _conv
from shapecheck.ops import create as _create
from shapecheck.ops import derivatives as _derivatives
from shapecheck.ops import distributions as _distributions
from shapecheck.ops import einops as _einops
from shapecheck.ops import einsum as _einsum
from shapecheck.ops import einx as _einx
from shapecheck.ops import elementwise as _elementwise
from shapecheck.ops import first_class as _first_class
from shapecheck.ops import first_class_places as _first_class_places
from shapecheck.ops import fourier as _fourier
from shapecheck.ops import gather as _gather
from shapecheck.ops import grids as _grids
from shapecheck.ops import indexing as _indexing
from shapecheck.ops import inquire as _inquire
from shapecheck.ops import joining as _joining
from shapecheck.ops import linear as _linear
from shapecheck.ops import lists as _lists
from shapecheck.ops import losses as _losses
from shapecheck.ops import named as _named
from shapecheck.ops import named_distributions as _named_distributions
from shapecheck.ops import named_functions as _named_functions
from shapecheck.ops import named_joins as _named_joins
from shapecheck.ops import named_names as _named_names
from shapecheck.ops import named_sequences as _named_sequences
from shapecheck.ops import normalization as _normalization
from shapecheck.ops import packing as _packing
from shapecheck.ops import padding as _padding
from shapecheck.ops import pooling as _pooling
from shapecheck.ops import recurrent as _recurrent
from shapecheck.ops import reduce as _reduce
from shapecheck.ops import reshape as _reshape
from shapecheck.ops import resize as _resize
from shapecheck.ops import sequences as _sequences
from shapecheck.ops import splitting as _splitting
from shapecheck.ops import walk as _walk
from shapecheck.ops import widen as _widen
from shapecheck.ops.call import (
    RULES,
    UNKNOWN,
    Call,
    DType,
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
