"""RETURNN's `Dim`: one of ours, and the sizes that it has at the moment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

import shapecheck

if TYPE_CHECKING:
    from systems.originals.frontend.tensors import Tensor

_made: dict[shapecheck.Dim, Dim] = {}
_static: list[bool] = []


class DimTypes(Enum):
    Unspecified = None
    Batch = "batch"
    Spatial = "spatial"
    Feature = "feature"


@contextmanager
def static_traceable() -> Iterator[None]:
    """Let a dimension be as long as it may get, in the block."""
    _static.append(True)
    try:
        yield
    finally:
        _static.pop()


def of(ours: shapecheck.Dim) -> Dim:
    """Return the dimension that one of ours is."""
    found = _made.get(ours)
    return Dim._wrapping(ours) if found is None else found


class _Mask(NamedTuple):
    """The mask of some sizes, and the tensors that it is the data of, by their dimension."""

    of: Any
    raw: Any
    made: dict[Dim, Tensor]


class Dim:
    """A dimension of RETURNN's; `ours` is it here, `_sizes` what it was told of its lengths."""

    Types = DimTypes

    def __init__(
        self,
        dimension: Any = None,
        *,
        name: str | None = None,
        kind: DimTypes = DimTypes.Unspecified,
        description: str | None = None,
        capacity: int | None = None,
        bounded_by: Dim | None = None,
        derived_from_tag: Dim | None = None,
    ) -> None:
        sizes = dimension if hasattr(dimension, "raw_tensor") else None
        size = None if sizes is not None else dimension
        self.description = name or description or (None if sizes is None else sizes.name)
        options = {"kind": kind.value, "ragged": size is None and kind is not DimTypes.Batch}
        given = re.sub(r"\W+", "_", self.description or "").strip("_")
        names = {"name": given if given and not given[0].isdigit() else f"dim_{given}"}
        ours = shapecheck.Dim(**(names if given else {}), size=size, **options)
        self._begin(ours, capacity, bounded_by or derived_from_tag)
        self._sizes = sizes

    @classmethod
    def _wrapping(cls, ours: shapecheck.Dim) -> Dim:
        found: Dim = object.__new__(cls)
        found.description = ours.name
        found._begin(ours)
        return found

    def _begin(
        self, ours: shapecheck.Dim, capacity: int | None = None, bound: Dim | None = None
    ) -> None:
        self.ours = self.base = ours
        self.capacity, self.bound = capacity, bound
        self.match_priority = 0
        self._sizes: Tensor | None = None
        self._made_by: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
        self._mask: _Mask | None = None
        _made.setdefault(ours, self)

    # What it is ---------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.description or self.ours.name

    @property
    def kind(self) -> DimTypes:
        return DimTypes(self.ours.kind)

    @property
    def dimension(self) -> int | None:
        size = self.ours.size
        return size if isinstance(size, int) else None

    size = dimension

    @property
    def derived_from_tag(self) -> Dim | None:
        bases = self.ours.bases
        return None if bases == (self.ours,) else of(bases[0])

    def get_same_derived_base(self) -> Dim:
        return of(self.ours.bases[0])

    def is_batch_dim(self) -> bool:
        return self.ours.kind == "batch"

    def is_dynamic(self) -> bool:
        return self.dimension is None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.base == other.base

    def __hash__(self) -> int:
        return hash(self.base)

    def __lt__(self, other: Dim) -> bool:
        return self.ours < other.ours

    def __repr__(self) -> str:
        return repr(self.ours)

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: object) -> Dim:
        return self

    def __reduce__(self) -> tuple[Callable[..., Dim], tuple[shapecheck.Dim]]:
        return of, (self.ours,)

    def copy(self, match_priority: int = 0) -> Dim:
        """Return the same dimension, which stands for another axis where a tensor has it twice."""
        again = shapecheck.Dim(f"{self.ours.name}_{match_priority}", size=self.dimension)
        found = Dim._wrapping(again)
        found.base, found.match_priority = self.base, match_priority
        return found

    def declare_same_as(self, other: Dim) -> None:
        sizes = self._sizes or other._sizes
        self.ours.declare_same_as(other.ours)
        self._sizes = other._sizes = sizes
        self._made_by = self._made_by or other._made_by

    def copy_from(self, other: Dim) -> None:
        self._sizes, self._mask = other.dyn_size_ext, other._mask

    # How long it is -----------------------------------------------------------------------------

    @property
    def dyn_size_ext(self) -> Tensor | None:
        """The lengths, or the size as a scalar; those of what it was made of, of what it is."""
        if self._sizes is not None or self.dimension is not None:
            return self._sizes
        padded = self._computed()
        if padded is None:
            return None
        from systems.originals.frontend.tensors import holding

        return holding(padded)

    @dyn_size_ext.setter
    def dyn_size_ext(self, sizes: Tensor | None) -> None:
        self._sizes, self._mask = sizes, None

    def _computed(self) -> Any:
        """Return the lengths that the algebra of dimensions gives, None where it has none."""
        if self._made_by is None:
            return None
        function, operands = self._made_by
        return function(*[one.sized if isinstance(one, Dim) else one for one in operands]).lengths

    @property
    def sized(self) -> shapecheck.Dim:
        """Ours with what is known of its size: lengths, or a scalar."""
        sizes = self.dyn_size_ext
        if sizes is None or sizes.raw_tensor is None:
            return self.ours
        return self.ours.with_lengths(sizes.t)

    @property
    def padded(self) -> shapecheck.Dim:
        """Ours, with its lengths if it has several."""
        return self.sized if self.need_masking() else self.ours

    @property
    def dyn_size(self) -> Any:
        return None if self.dyn_size_ext is None else self.dyn_size_ext.raw_tensor

    def need_masking(self) -> bool:
        sizes = self.dyn_size_ext
        return sizes is not None and bool(sizes.dims)

    def reset_eager(self) -> None:
        self._sizes = self._mask = None

    def get_dim_value(self) -> int:
        if _static:
            capacity = self.capacity or (self.bound and self.bound.capacity)
            if capacity is None:
                raise ValueError(f"no (derivable) capacity: {self}")
            return int(capacity)
        if self.dimension is not None:
            return self.dimension
        assert self.dyn_size_ext is not None, self
        return int(self.dyn_size_ext.raw_tensor.max())

    def get_dim_value_tensor(self) -> Any:
        return self.get_dim_value()

    def get_size_tensor(self, device: object = None) -> Tensor:
        from systems.originals.frontend.tensors import Tensor, holding

        sizes = self.dyn_size_ext
        if sizes is None:
            return holding(torch.tensor(self.get_dim_value(), dtype=torch.int32))
        assert isinstance(sizes, Tensor)
        return sizes

    def get_mask(self, dim_order: object = None, device: object = None) -> Tensor:
        """Return what is no padding; the same each time, and for a copy."""
        from systems.originals.frontend.tensors import Tensor

        sizes = self.get_size_tensor()
        if self._mask is None or self._mask.of is not sizes.raw_tensor:
            self._mask = _Mask(sizes.raw_tensor, self.padded.mask(self.get_dim_value()), {})
        raw, made = self._mask.raw, self._mask.made
        if self not in made:
            made[self] = Tensor("mask", [*sizes.dims, self], "bool", raw)
        return made[self]

    # The algebra --------------------------------------------------------------------------------

    def _with(self, function: Callable[..., Any], *operands: Any) -> Dim:
        plain = [one.ours if isinstance(one, Dim) else one for one in operands]
        found = of(function(*plain))
        if found._made_by is None and found not in operands:
            found._made_by = function, operands
            found.description = " ".join(str(getattr(one, "description", one)) for one in operands)
        return found

    def __add__(self, other: Any) -> Dim:
        return self._with(lambda a, b: a + b, self, other)

    def __radd__(self, other: Any) -> Dim:
        return self._with(lambda a, b: b + a, self, other)

    def __sub__(self, other: Any) -> Dim:
        return self._with(lambda a, b: a - b, self, other)

    sub_right = __sub__

    def sub_left(self, other: Any) -> Dim:
        return self._with(lambda a, b: -b + a, self, other)

    def __neg__(self) -> Dim:
        return self._with(lambda a: -a, self)

    def __mul__(self, other: Any) -> Dim:
        return self._with(lambda a, b: a * b, self, other)

    def __rmul__(self, other: Any) -> Dim:
        return self._with(lambda a, b: b * a, self, other)

    def __floordiv__(self, other: Any) -> Dim:
        return self._with(lambda a, b: a // b, self, other)

    def div_left(self, other: Any) -> Dim:
        return self._with(lambda a, b: a.div_left(b), self, other)

    def ceildiv_right(self, other: Any) -> Dim:
        return self._with(lambda a, b: -(-a // b), self, other)


batch_dim = Dim(None, name="batch", kind=DimTypes.Batch)
single_step_dim = Dim(None, name="single_step", kind=DimTypes.Spatial)


def spatial_dim(description: str | None = None, dimension: Any = None, **options: Any) -> Dim:
    return Dim(dimension, kind=DimTypes.Spatial, description=description, **options)


def feature_dim(description: str | None = None, dimension: Any = None, **options: Any) -> Dim:
    return Dim(dimension, kind=DimTypes.Feature, description=description, **options)
