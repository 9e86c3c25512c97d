"""namedtensor's tests on plain tensors: its class and functions, each a call of ours by name.

Outside of decorated calls, where a name may have another size in the next tensor, as it may there.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import hypothesis.extra.numpy
import torch
from systems.originals.suites import Suite
from torch import nn

from shapecheck import named
from shapecheck.named import distributions

MADE: Final = frozenset("ones zeros randn empty rand randint arange".split())
ELEMENTWISE: Final = frozenset(
    "abs acos asin atan ceil clone contiguous cos cosh detach exp expm1 floor frac log neg "
    "reciprocal relu round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc long float byte double "
    "int half short cpu cuda to".split()
)


def several(names: Any) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


class Schema:
    """The names of a tensor, as namedtensor's tests look at them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names, self._masked = names, 0


class NamedTensor(named.NamedTensor):
    """Our view, with what namedtensor's does otherwise: the order of arguments, names of parts."""

    _noshift = ELEMENTWISE
    _noshift_dim = frozenset(["cumprod", "cumsum"])
    _noshift_nn_dim = frozenset(["softmax", "log_softmax"])
    _binop = frozenset("add sub div mul eq ne lt gt le ge".split())
    _reduce = frozenset("argmax argmin logsumexp mean prod std sum squeeze".split())

    def __init__(self, tensor: Any, names: Any = ()) -> None:
        super().__init__(tensor, *several(names))

    def __getattr__(self, name: str) -> Any:
        if name in TOLD:
            return getattr(self.tensor, name)
        return super().__getattr__(name)

    @property
    def vshape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def shape(self) -> OrderedDict[str, int]:
        return OrderedDict(super().shape)

    @property
    def _schema(self) -> Schema:
        return Schema(self.dims)

    def __bool__(self) -> bool:
        return self.tensor.numel() != 1 or super().__bool__()  # theirs is always true

    def _new(self, tensor: named.NamedTensor) -> NamedTensor:
        return NamedTensor(tensor, self.dims)

    def stack(self, dims: Sequence[str], name: str) -> NamedTensor:
        return super().stack(**{name: tuple(dims)})

    def split(self, dim: str, names: Sequence[str], **sizes: int) -> NamedTensor:
        return super().split(**{dim: tuple(names)}, **sizes)

    def rename(self, dim: str, name: str) -> NamedTensor:
        return super().rename(**{name: dim})

    def dot(self, dims: Any, *others: NamedTensor) -> NamedTensor:
        return ntorch.dot(dims, self, *others)

    def op(self, *functions: Callable[..., Any], dim: str | None = None, **new: Any) -> NamedTensor:
        if dim is not None:
            at = {"dim": self.dims.index(dim)}
            functions = tuple(lambda x, f=f: f(x, **at) for f in functions)
        return super().op(*functions, **new)

    def __getitem__(self, index: Any) -> NamedTensor:
        if isinstance(index, NamedTensor):
            return self.masked_select(index)
        found = super().__getitem__(index)
        if any(isinstance(at, slice) for at in index.values()):  # a part has its name here
            kept = [d for d in self.dims if not isinstance(index.get(d), int)]
            return NamedTensor(found, kept)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, NamedTensor):
            self.copy_(self.masked_fill(index.bool(), value))
            return
        super().__setitem__(index, value)

    def masked_select(self, mask: NamedTensor, name: str = "on") -> NamedTensor:
        return super().masked_select(mask.bool(), name)

    def narrow(self, dim: str, start: int, length: int) -> NamedTensor:
        return self._new(super().narrow(dim, start, length))

    def index_select(self, dim: str, index: NamedTensor) -> NamedTensor:
        return self.index(dim, index)

    def scatter_(self, dim: str, index: NamedTensor, src: NamedTensor, index_dim: str) -> None:
        self.copy_(self.scatter(dim, index, src, index_dim))

    def topk(self, dim: str, k: int) -> tuple[NamedTensor, ...]:
        return tuple(map(self._new, super().topk(k, dim)))

    def chunk(self, count: int, dim: str) -> tuple[NamedTensor, ...]:
        return tuple(map(self._new, super().chunk(count, dim)))

    def nonzero(self, names: Sequence[str] = ("elements", "inputdims")) -> NamedTensor:
        return super().nonzero(*names)

    def triu(self, diagonal: int = 0, *, dims: Sequence[str]) -> NamedTensor:
        return super().triu(dims, diagonal)

    def tril(self, diagonal: int = 0, *, dims: Sequence[str]) -> NamedTensor:
        return super().tril(dims, diagonal)

    def squeeze(self, dim: Any) -> NamedTensor:
        return reduce(lambda x, one: x.get(one, 0), several(dim), self)

    def prod(self, dim: Any = None) -> NamedTensor:
        return _one_by_one(self, named.NamedTensor.prod, dim)

    def argmax(self, dim: Any = None) -> NamedTensor:
        return _one_by_one(self, named.NamedTensor.argmax, dim)

    def argmin(self, dim: Any = None) -> NamedTensor:
        return _one_by_one(self, named.NamedTensor.argmin, dim)


def _one_by_one(x: NamedTensor, method: Callable[..., Any], dim: Any) -> NamedTensor:
    """Reduce over one dimension after the other, over all of them without `dim`."""
    if dim is None:
        return NamedTensor(getattr(x.tensor, method.__name__)())
    return reduce(method, several(dim), x)


TOLD: Final = frozenset("numpy stride".split())


class _Functions(type):
    """The functions of namedtensor's `ntorch`."""

    def __getattr__(cls, name: str) -> Any:
        if name in MADE:
            return lambda *args, names, **kwargs: NamedTensor(
                getattr(torch, name)(*args, **kwargs), names
            )
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)

    @staticmethod
    def tensor(data: Any, names: Any) -> NamedTensor:
        return NamedTensor(data if isinstance(data, torch.Tensor) else torch.tensor(data), names)

    @staticmethod
    def dot(dims: Any, *tensors: NamedTensor) -> NamedTensor:
        held = [[d for d in several(dims) if d in x.dims] for x in tensors]
        lone = {d for d in several(dims) if sum(d in one for one in held) == 1}  # only one has it
        left = [
            x.sum(own) if (own := [d for d in one if d in lone]) else x
            for x, one in zip(tensors, held, strict=True)
        ]
        shared = [d for d in several(dims) if d not in lone]
        return NamedTensor.contract(left, shared)

    @staticmethod
    def stack(tensors: Sequence[NamedTensor], name: str) -> NamedTensor:
        return NamedTensor.stack_new(tensors, name)

    @staticmethod
    def cat(tensors: Sequence[NamedTensor], dim: Any, name: str | None = None) -> NamedTensor:
        if name is not None:
            tensors = [x.rename(d, name) for x, d in zip(tensors, dim, strict=True)]
        return tensors[0]._new(NamedTensor.cat(tensors, name or dim))

    @staticmethod
    def unique(
        x: NamedTensor,
        dim: str | None = None,
        names: Sequence[str] = ("unique", "Indices"),
        return_inverse: bool = False,
        sorted: bool = True,
    ) -> Any:
        found, inverse = x.unique(names[0], dim)
        if not return_inverse:
            return found
        if dim is not None:
            return found, inverse.rename(dim, names[1])
        return found, NamedTensor(inverse, [f"{old}{names[1]}" for old in x.dims])


class _Layers(type):
    """The layers of `ntorch.nn`: each is torch's own, and the names that it is applied along."""

    def __getattr__(cls, name: str) -> Any:
        return lambda *args, **kwargs: _layer_of(name)(getattr(nn, name)(*args, **kwargs))


class Layer:
    """A layer of torch's along dimensions, one of which may come out under another name."""

    dims: tuple[str, ...] = ()
    new: Mapping[str, str] = {}

    def __init__(self, layer: Any) -> None:
        self.layer = layer

    def spec(self, dim: Any, *more: Any) -> Any:
        *others, name = (*more,) if more else (None,)
        if name is not None and not isinstance(name, str):
            others, name = [name], None
        self.dims = (*several(dim), *(one for group in others for one in several(group)))
        self.new = {d: d for d in self.dims} if name is None else {name: self.dims[0]}
        self.new = {**{d: d for d in self.dims[1:]}, **self.new}
        return self

    def __call__(self, x: NamedTensor) -> NamedTensor:
        return x.transpose(*self.dims).op(torch.Tensor.contiguous, self.layer, **self.new)


class Windowed(Layer):
    """A convolution, a pooling or a padding: the other dimensions are one for torch."""

    def __call__(self, x: NamedTensor) -> NamedTensor:
        others = {dim: size for dim, size in x.shape.items() if dim not in self.dims}
        if not others:
            return super().__call__(x)
        if len(others) > 1:
            x = x.stack(list(others), "others")
        found = super().__call__(x)
        return found.split("others", list(others), **others) if len(others) > 1 else found


class Embedding(Layer):
    def __call__(self, x: NamedTensor) -> NamedTensor:
        [name] = self.new.keys() - set(self.dims)
        return x.augment(self.layer, name)


class Loss(Layer):
    def __call__(self, x: NamedTensor, target: NamedTensor) -> NamedTensor:
        [classes] = self.dims
        sizes = {dim: size for dim, size in x.shape.items() if dim != classes}
        if not sizes:
            return x.reduce(lambda t: self.layer(t, target.tensor), classes)
        x = x.stack(list(sizes), "others").transpose(classes)
        aim = target.transpose(*sizes).stack(list(sizes), "others")
        if self.layer.reduction != "none":
            return x.reduce(lambda t: self.layer(t, aim.tensor), ("others", classes))
        found = x.reduce(lambda t: self.layer(t, aim.tensor), classes)
        return found.split("others", list(sizes), **sizes)


class Recurrent(Layer):
    def spec(self, dim: str, time: str, name: str, layers: str = "layers") -> Recurrent:
        self.layer.batch_first = True
        self.dims, self.name, self.layers = (time, dim), name, layers
        return self

    def __call__(self, x: NamedTensor, state: Any = None) -> Any:
        x = x.transpose(*self.dims)
        batch = x.dims[0]
        order = (self.layers, batch, self.name)
        given = _each(state, lambda one: named.order(one.tensor, order))
        found: list[Any] = []

        def run(t: torch.Tensor) -> torch.Tensor:
            found[:] = self.layer(t, given)
            return found[0]  # type: ignore[no-any-return]

        out = x.op(run, **{self.name: self.dims[1]})
        after = _each(found[1], lambda t: NamedTensor(t, order).transpose(*order[::2]))
        return out, after


def _each(state: Any, change: Callable[[Any], Any]) -> Any:
    if state is None:
        return None
    return tuple(map(change, state)) if isinstance(state, tuple) else change(state)


class Module(nn.Module):
    """A module whose parameters may have names."""

    def register_parameter(self, name: str, param: Any) -> None:
        if not isinstance(param, NamedTensor):
            return super().register_parameter(name, param)
        names = param.dims
        super().register_parameter(f"{name}_", nn.Parameter(param.tensor))
        setattr(self, name, NamedTensor(getattr(self, f"{name}_"), names))
        return None


def _layer_of(name: str) -> Any:
    if name in ("RNN", "LSTM"):
        return Recurrent
    if name.endswith("Loss"):
        return Loss
    if name.startswith(("Conv", "MaxPool", "ConstantPad")):
        return Windowed
    return Embedding if name == "Embedding" else Layer


class layers(metaclass=_Layers):
    Module = Module


class ntorch(metaclass=_Functions):
    nn = layers


class NamedDistribution:
    """A distribution of ours, with namedtensor's methods."""

    def __init__(self, base: Any, batch: Sequence[str] = (), event: Sequence[str] = ()) -> None:
        if isinstance(base, torch.distributions.Distribution):
            given = {name: getattr(base, name) for name in base.arg_constraints}
            text = " ".join((*batch, *event))
            make = getattr(distributions, type(base).__name__)
            base = make(**{name: named(value, text) for name, value in given.items()})
        self._dist = base

    @property
    def batch_shape(self) -> OrderedDict[Any, int]:
        return OrderedDict(zip(self._dist.batch_names, self._dist.base.batch_shape, strict=True))

    @property
    def event_shape(self) -> OrderedDict[Any, int]:
        return OrderedDict(zip(self._dist.event_names, self._dist.base.event_shape, strict=True))

    def sample(self, sizes: Iterable[int] = (), names: Iterable[str] = ()) -> NamedTensor:
        return NamedTensor(self._dist.sample(**dict(zip(names, sizes, strict=True))))

    def rsample(self, sizes: Iterable[int] = (), names: Iterable[str] = ()) -> NamedTensor:
        return NamedTensor(self._dist.rsample(**dict(zip(names, sizes, strict=True))))

    def log_prob(self, value: NamedTensor) -> NamedTensor:
        return NamedTensor(self._dist.log_prob(value.tensor))

    def entropy(self) -> NamedTensor:
        return NamedTensor(self._dist.entropy())


class _Distributions(type):
    def __getattr__(cls, name: str) -> Any:
        def make(
            *args: Any,
            dims_event: Sequence[str] = (),
            dims_scale: Sequence[str] = (),
            dim_logit: str | None = None,
            **kwargs: Any,
        ) -> NamedDistribution:
            given = {**dict(enumerate(args)), **kwargs}
            if dims_scale:
                given[1] = given[1].transpose(*dims_scale)
            if dim_logit is not None:
                first = "logits" if "logits" in given else 0
                given[first] = given[first].transpose(dim_logit)
            plain = {k: getattr(v, "tensor", v) for k, v in given.items()}
            positional = [plain.pop(at) for at in range(len(args))]
            return NamedDistribution(getattr(distributions, name)(*positional, **plain))

        return make


class ndistributions(metaclass=_Distributions):
    """The distributions of namedtensor's."""


def assert_match(*tensors: NamedTensor) -> None:
    """Check that tensors broadcast by name."""
    named.align(*(x for x in tensors))


def install(checkout: Path) -> None:
    """Put this module in the place of namedtensor's, of which only the tests are taken."""
    whole = {"ntorch": ntorch, "NamedTensor": NamedTensor, "assert_match": assert_match}
    part = {"NamedDistribution": NamedDistribution, "ndistributions": ndistributions}
    _as_it_was()
    home = checkout / "namedtensor"
    for name, names in (("", whole), (".nn", {}), (".distributions", part)):
        module = ModuleType(f"namedtensor{name}")
        vars(module).update(names)
        module.__path__ = [str(home / name.lstrip("."))]
        sys.modules[module.__name__] = module


def _as_it_was() -> None:
    """Let hypothesis and torch be called as when the tests were written."""
    torch.distributions.Distribution.set_default_validate_args(False)
    torch.normal = lambda mean, std: mean + std * torch.randn_like(mean)  # the tests' std are any
    extra, strategies = hypothesis.extra.numpy, hypothesis.strategies
    shapes, arrays, floats = extra.array_shapes, extra.arrays, strategies.floats
    extra.array_shapes = lambda *dims, **given: shapes(
        **dict(zip(("min_dims", "max_dims"), dims, strict=False)), **given
    )
    extra.arrays = lambda dtype, shape, *elements, **given: arrays(
        dtype, shape, **dict(zip(("elements",), elements, strict=False)), **given
    )
    strategies.floats = lambda *args, **given: floats(
        *args, **given, **({"width": 32} if "min_value" in given else {})
    )


SUITE = Suite(
    tests=(
        "namedtensor/test_core.py",
        "namedtensor/nn/test_nn.py",
        "namedtensor/distributions/test_distributions.py",
    ),
    install=install,
)
