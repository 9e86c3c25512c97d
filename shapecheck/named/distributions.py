"""The distributions of torch, of parameters whose dimensions have names.

    from shapecheck.named import distributions

    z = distributions.Normal(mu, std).rsample(samples=20)  # samples, then the dimensions of mu

Every class of `torch.distributions` is here under its name. Samples carry the names of the
parameters, and a value that is scored is brought into their order by its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from shapecheck import dtypes
from shapecheck.dims import DimExpr, Sym
from shapecheck.named.axes import placed
from shapecheck.named.core import called, planned, record_of
from shapecheck.named.holding import Operand, plain
from shapecheck.ops import RULES, Call
from shapecheck.ops.call import as_tensor
from shapecheck.ops.math.distributions import Form, form
from shapecheck.ops.named.distributions import laid, scoring, unused
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.naming.call_names import state
from shapecheck.runtime.naming.records import apart, record
from shapecheck.shapes import Shape
from shapecheck.shapes import Tensor as Known
from shapecheck.signatures import table

_HOME: Final = "torch.distributions"


class Distribution:
    """A distribution of torch's, `base`, with names for the dimensions of its batch and events.

    `batch_names` and `event_names` are the names, None for a dimension without one.
    """

    def __init__(
        self,
        base: torch.distributions.Distribution,
        batch: tuple[DimExpr, ...],
        event: tuple[DimExpr, ...],
        values: Mapping[Sym, int],
        axis: tuple[DimExpr, ...] = (),
    ) -> None:
        self.base = base
        self._batch, self._event, self._values = batch, event, values
        self._axis = axis

    def __repr__(self) -> str:
        batch, event = (" ".join(map(str, dims)) for dims in (self._batch, self._event))
        return f'{type(self.base).__name__}(batch "{batch}", event "{event}")'

    @property
    def batch_names(self) -> tuple[str | None, ...]:
        """The names of the batch's dimensions."""
        return tuple(None if isinstance(dim, int) else str(dim) for dim in self._batch)

    @property
    def event_names(self) -> tuple[str | None, ...]:
        """The names of an event's dimensions."""
        return tuple(None if isinstance(dim, int) else str(dim) for dim in self._event)

    def sample(self, **sizes: int) -> Tensor:
        """Draw samples without gradients: `sample(samples=20)` puts the dimension in front."""
        with torch.no_grad():
            return self._drawn(self.base.sample, sizes)

    def rsample(self, **sizes: int) -> Tensor:
        """Draw samples that have gradients: `rsample(samples=20)`."""
        return self._drawn(self.base.rsample, sizes)

    def log_prob(self, value: Operand) -> Tensor:
        """Return the logarithm of the density at a value, which is aligned by its names.

        It may lack dimensions of the batch, and is the same along them then. Raises `ShapeError`
        where the value's names aren't those of the distribution.
        """
        return self._scored(self.base.log_prob, value)

    def cdf(self, value: Operand) -> Tensor:
        """Return the cumulative density at a value, which is aligned by its names."""
        return self._scored(self.base.cdf, value)

    def icdf(self, value: Operand) -> Tensor:
        """Return the inverse of the cumulative density, of a value aligned by its names."""
        return self._scored(self.base.icdf, value)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution of the batch."""
        return self._named(self.base.entropy(), self._batch)

    def __getattr__(self, name: str) -> Any:
        """Return a statistic, `mean`, `stddev`, `variance` or `mode`; else what `base` has."""
        found = getattr(self.base, name)
        if name in ("mean", "mode", "stddev", "variance") and isinstance(found, Tensor):
            return self._named(found, (*self._batch, *self._event))
        return found

    @property
    def form(self) -> Form:
        """The dimensions of its batch and of its events, as rules see them."""
        axis = self._axis
        return Form(Shape(self._batch), Shape(self._event), dtypes.ANY, Shape(axis))

    def _drawn(self, draw: Any, sizes: Mapping[str, int]) -> Tensor:
        planned(_unused, (), (*self._batch, *self._event), tuple(sizes))
        found = draw(torch.Size(sizes.values()))
        self._named(found, (*sizes.values(), *self._batch, *self._event))
        return called(found, tuple(enumerate(sizes)))

    def _scored(self, score: Any, value: Operand) -> Tensor:
        value = plain(value)
        dims, plan = planned(_scored, (value,), self._batch, self._event)
        known = record_of(value)
        found = score(placed(value, plan))
        values = {} if known is None else known.values
        return self._named(found, dims, values)

    def _named(
        self, tensor: Tensor, dims: tuple[DimExpr, ...], more: Mapping[Sym, int] | None = None
    ) -> Tensor:
        # What is scored may have a 1 where the batch hasn't.
        values = {**(more or {}), **self._values}
        with DisableTorchFunction():
            sizes = tuple(tensor.shape)
            state.here.name(tensor, record(dims, sizes, values))
        return tensor


def _unused(call: Call, whole: tuple[DimExpr, ...], names: tuple[str, ...]) -> bool:
    return unused(call, Shape(whole), names)


def _scored(
    call: Call, shape: Shape, batch: tuple[DimExpr, ...], event: tuple[DimExpr, ...]
) -> Any:
    found = scoring(call, shape, Shape(batch), Shape(event))
    return None if found is None else (found.batch.known, found.plan)


def make(cls: type[torch.distributions.Distribution], *args: Any, **kwargs: Any) -> Distribution:
    """Return a distribution of torch's of parameters with names.

    They are tensors, or distributions with names. Tensors are laid on the one that has the names
    of all. Raises `ShapeError` where the names of the parameters contradict each other.
    """
    args = tuple(map(plain, args))
    kwargs = {name: plain(one) for name, one in kwargs.items()}
    args, kwargs = _in_order(cls, args, kwargs)
    given = (*args, *kwargs.values())
    tensors = [one for one in given if isinstance(one, Tensor)]
    found = planned(_extents, tensors, cls.__name__, tuple(map(_told, args)), _pairs(kwargs))
    values: dict[Sym, int] = {}
    for one in given:
        if isinstance(one, Distribution):
            values.update(one._values)
        elif isinstance(one, Tensor) and (known := record_of(one)) is not None:
            values.update(apart(known, values).values)
    base = cls(*map(_plain, args), **{key: _plain(value) for key, value in kwargs.items()})
    sizes = (tuple(base.batch_shape), tuple(base.event_shape))
    batch, event = (
        one if len(one) == len(size) else size for one, size in zip(found[:2], sizes, strict=True)
    )
    return Distribution(base, batch, event, values, found[2])


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the divergence of distributions, one for each of the batch: `KL(p || q)`.

    Raises `ShapeError` where the names of their batches contradict each other.
    """
    dims = planned(_compared, (), p.form, q.form)
    found = torch.distributions.kl_divergence(p.base, q.base)
    return p._named(found, dims if len(dims) == found.dim() else tuple(found.shape), q._values)


def _compared(call: Call, p: Form, q: Form) -> tuple[DimExpr, ...]:
    return as_tensor(RULES["divergence"](call, p=p, q=q)).shape.known or ()


def _plain(arg: Any) -> Any:
    return arg.base if isinstance(arg, Distribution) else arg


def _told(arg: Any) -> Any:
    """Return what the rules are told of an argument, `...` for a tensor."""
    if isinstance(arg, Tensor):
        return ...
    if isinstance(arg, Distribution):
        return arg.form
    if isinstance(arg, list | tuple):
        return tuple(map(_told, arg))
    if isinstance(arg, torch.distributions.Transform):
        return _Change(type(arg).__name__)
    return arg if isinstance(arg, int | float) else None


class _Change(NamedTuple):
    """A change of samples, by the name of its class."""

    name: str

    @property
    def described(self) -> Mapping[str, Any]:
        """The same as rules see it."""
        known = table().lookup_class(f"torch.distributions.transforms.{self.name}")
        return {} if known is None else known.unknown()


def _pairs(kwargs: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _told(value)) for name, value in kwargs.items())


def _in_order(
    cls: type[torch.distributions.Distribution], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return parameters in the order of the one that has all their names."""
    tensors = [one for one in (*args, *kwargs.values()) if isinstance(one, Tensor)]
    if len(tensors) < 2:
        return args, kwargs
    plans = planned(_laid, tensors, cls.__name__, tuple(map(_told, args)), _pairs(kwargs))
    if not plans:
        return args, kwargs
    bound = inspect.signature(cls).bind(*args, **kwargs)
    for name, plan in plans.items():
        bound.arguments[name] = placed(bound.arguments[name], plan)
    return bound.args, bound.kwargs


def _laid(call: Call, *given: Any) -> Mapping[str, tuple[int | None, ...]]:
    attrs = _described(*given)
    return {} if attrs is None else laid(call, attrs)


def _extents(call: Call, *given: Any) -> tuple[tuple[DimExpr, ...], ...]:
    """Return the dimensions of a distribution's batch, of its events, and of its parameters' axis.

    The last is that which samples are indices into.
    """
    attrs = _described(*given)
    if attrs is None:
        return (), (), ()
    found = form(call, attrs)
    return tuple(part.known or () for part in (found.batch, found.event, found.axis))


def _described(*given: Any) -> dict[str, Any] | None:
    """Return what rules see of a distribution that is made of tensors of some shapes."""
    *shapes, name, args, pairs = given
    left = iter(Known(shape) for shape in shapes)
    filled = [_filled(arg, left) for arg in args]
    named = {key: _filled(value, left) for key, value in pairs}
    described = table().lookup_class(f"{_HOME}.{name}")
    return None if described is None else described.construct(filled, named)


def _filled(told: Any, left: Iterator[Known]) -> Any:
    if told is ...:
        return next(left)
    if isinstance(told, _Change):
        return told.described
    return tuple(_filled(one, left) for one in told) if isinstance(told, tuple) else told


@cache
def _maker(name: str) -> Any:
    cls = getattr(torch.distributions, name, None)
    if not isinstance(cls, type) or not issubclass(cls, torch.distributions.Distribution):
        raise AttributeError(f"torch.distributions has no distribution {name!r}")

    def maker(*args: Any, **kwargs: Any) -> Distribution:
        return make(cls, *args, **kwargs)

    maker.__name__ = maker.__qualname__ = name
    maker.__code__ = maker.__code__.replace(co_name=name)  # what messages call it
    maker.__doc__ = f"Return `torch.distributions.{name}` of parameters with names."
    return maker


def __getattr__(name: str) -> Any:
    return _maker(name)
