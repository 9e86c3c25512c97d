"""namedtensor's tests on plain tensors: its class and functions, each a call of ours by name.

Outside of decorated calls, where a name may have another size in the next tensor, as it may there.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import hypothesis.extra.numpy
import torch
from systems.originals.suites import Suite
from torch import nn

from shapecheck import dims_of, named
from shapecheck.named import distributions

LIKE = ("long", "float", "byte", "double", "int", "half", "short", "cpu", "cuda", "to")
ELEMENTWISE: Final = frozenset(
    "abs acos asin atan ceil clamp clone contiguous cos cosh detach exp expm1 floor fmod frac log "
    "neg pow reciprocal relu round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc".split()
) | set(LIKE)
IN_PLACE: Final = frozenset(
    "fill_ random_ abs_ acos_ asin_ atan_ ceil_ clamp_ cos_ cosh_ exp_ floor_ fmod_ log_ pow_ "
    "round_ rsqrt_ sigmoid_ sign_ sin_ sinh_ sqrt_ sub_ tan_ tanh_".split()
)
PAIRED: Final = frozenset("add sub div mul eq ne lt gt le ge".split())
ALONG: Final = frozenset(["softmax", "log_softmax", "cumprod", "cumsum"])
OVER: Final = frozenset(["argmax", "argmin", "logsumexp", "mean", "prod", "std", "sum", "squeeze"])
PICKED: Final = frozenset(["min", "max", "sort", "unbind", "median"])
TOLD: Final = frozenset("dim item tolist numpy type all any backward stride".split())
MADE: Final = frozenset("ones zeros randn empty rand randint arange".split())


def several(names: Any) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


class Schema:
    """The names of a tensor, as namedtensor's tests look at them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names, self._masked = names, 0


class NamedTensor:
    """A plain tensor that has names, with namedtensor's methods."""

    _noshift = ELEMENTWISE - {"fmod", "pow", "clamp"}
    _noshift_dim = frozenset(["cumprod", "cumsum"])
    _noshift_nn_dim = frozenset(["softmax", "log_softmax"])
    _binop = PAIRED
    _reduce = OVER

    def __init__(self, tensor: torch.Tensor, names: Any = None) -> None:
        self._tensor = tensor if names is None else named(tensor, " ".join(several(names)))

    @property
    def values(self) -> torch.Tensor:
        return self._tensor

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(map(str, dims_of(self._tensor)))

    @property
    def vshape(self) -> tuple[int, ...]:
        return tuple(self._tensor.shape)

    @property
    def shape(self) -> OrderedDict[str, int]:
        return OrderedDict(zip(self.dims, self.vshape, strict=True))

    @property
    def _schema(self) -> Schema:
        return Schema(self.dims)

    def _new(self, tensor: torch.Tensor) -> NamedTensor:
        return NamedTensor(tensor, self.dims)

    def __deepcopy__(self, memo: object) -> NamedTensor:
        return self.clone()

    def __repr__(self) -> str:
        return f"{self._tensor}, {self.dims}"

    def size(self, dim: str) -> int:
        return self.shape[dim]

    def assert_size(self, **sizes: int) -> NamedTensor:
        return NamedTensor(named.assert_size(self._tensor, **sizes))

    def mask_to(self, dim: str) -> NamedTensor:
        return self

    def stack(self, dims: Sequence[str], name: str) -> NamedTensor:
        return NamedTensor(named.stack(self._tensor, **{name: tuple(dims)}))

    def split(self, dim: str, names: Sequence[str], **sizes: int) -> NamedTensor:
        return NamedTensor(named.split(self._tensor, **{dim: tuple(names)}, **sizes))

    def rename(self, dim: str, name: str) -> NamedTensor:
        return NamedTensor(named.rename(self._tensor, **{name: dim}))

    def transpose(self, *dims: str) -> NamedTensor:
        return NamedTensor(named.transpose(self._tensor, dims))

    def get(self, dim: str, index: int) -> NamedTensor:
        return NamedTensor(named.get(self._tensor, dim, index))

    def dot(self, dims: Any, *others: NamedTensor) -> NamedTensor:
        return ntorch.dot(dims, self, *others)

    def op(self, *functions: Callable[..., Any], dim: str | None = None, **new: Any) -> NamedTensor:
        if dim is not None:
            at = {"dim": self.dims.index(dim)}
            functions = tuple(lambda x, f=f: f(x, **at) for f in functions)
        return NamedTensor(named.op(self._tensor, *functions, **new))

    def augment(self, function: Callable[..., Any], name: str) -> NamedTensor:
        return NamedTensor(named.augment(self._tensor, function, name))

    def reduce(self, function: Callable[..., Any], dims: Any) -> NamedTensor:
        return NamedTensor(named.reduce(self._tensor, function, dims))

    def __getitem__(self, index: Any) -> NamedTensor:
        if isinstance(index, NamedTensor):
            return self.masked_select(index)
        found = named.index(self._tensor, **_plain(index))
        if any(isinstance(at, slice) for at in index.values()):  # a part has its name here
            kept = [d for d in self.dims if not isinstance(index.get(d), int)]
            return NamedTensor(found, kept)
        return NamedTensor(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, NamedTensor):
            mask = named.op(index._tensor, torch.Tensor.bool)
            self._tensor.copy_(named.masked_fill(self._tensor, mask, value))
            return
        if any(isinstance(at, NamedTensor) for at in index.values()):
            [(dim, at)] = index.items()
            [name] = at.dims
            source = getattr(value, "_tensor", value)
            self._tensor.copy_(named.scatter(self._tensor, dim, at._tensor, source, name))
            return
        part = self[index]._tensor
        if isinstance(value, NamedTensor):
            value = named.expand_as(value._tensor, part)
        part[...] = value

    def masked_select(self, mask: NamedTensor, name: str = "on") -> NamedTensor:
        chosen = named.op(mask._tensor, torch.Tensor.bool)
        return NamedTensor(named.masked_select(self._tensor, chosen, name))

    def narrow(self, dim: str, start: int, length: int) -> NamedTensor:
        return self._new(named.narrow(self._tensor, dim, start, length))

    def index_select(self, dim: str, index: NamedTensor) -> NamedTensor:
        return NamedTensor(named.index(self._tensor, dim, index._tensor))

    def scatter_(self, dim: str, index: NamedTensor, src: NamedTensor, index_dim: str) -> None:
        self._tensor.copy_(named.scatter(self._tensor, dim, index._tensor, src._tensor, index_dim))

    def gather(self, dim: str, index: NamedTensor, index_dim: str) -> NamedTensor:
        return NamedTensor(named.gather(self._tensor, dim, index._tensor, index_dim))

    def topk(self, dim: str, k: int) -> tuple[NamedTensor, ...]:
        return tuple(map(self._new, named.topk(self._tensor, k, dim)))

    def chunk(self, count: int, dim: str) -> tuple[NamedTensor, ...]:
        return tuple(map(self._new, named.chunk(self._tensor, count, dim)))

    def nonzero(self, names: Sequence[str] = ("elements", "inputdims")) -> NamedTensor:
        return NamedTensor(named.nonzero(self._tensor, *names))

    def triu(self, diagonal: int = 0, *, dims: Sequence[str]) -> NamedTensor:
        return NamedTensor(named.triu(self._tensor, dims, diagonal))

    def tril(self, diagonal: int = 0, *, dims: Sequence[str]) -> NamedTensor:
        return NamedTensor(named.tril(self._tensor, dims, diagonal))

    def __getattr__(self, method: str) -> Any:
        for group, call in _CALLS.items():
            if method in group:
                return lambda *args, **kwargs: call(self, method, *args, **kwargs)
        raise AttributeError(method)

    def __neg__(self) -> NamedTensor:
        return self.neg()

    def __rsub__(self, other: Any) -> NamedTensor:
        return (-self).add(other)

    def __eq__(self, other: object) -> Any:
        return self.eq(other)

    def __ne__(self, other: object) -> Any:
        return self.ne(other)

    __hash__ = None  # type: ignore[assignment]  # as namedtensor's


for _operator in ("add", "sub", "mul", "truediv", "radd", "rmul", "lt", "gt", "le", "ge"):
    _method = {"truediv": "div", "radd": "add", "rmul": "mul"}.get(_operator, _operator)
    setattr(
        NamedTensor,
        f"__{_operator}__",
        lambda self, other, method=_method: getattr(self, method)(other),
    )


def _elementwise(x: NamedTensor, method: str, *args: Any, **kwargs: Any) -> NamedTensor:
    return x.op(lambda t: getattr(t, method)(*args, **kwargs))


def _in_place(x: NamedTensor, method: str, *args: Any) -> NamedTensor:
    getattr(x._tensor, method)(*args)
    return x


def _paired(x: NamedTensor, method: str, other: Any) -> NamedTensor:
    if not isinstance(other, NamedTensor):
        return _elementwise(x, method, other)
    left, right = named.align(x._tensor, other._tensor)
    return NamedTensor(named.op(left, lambda t: getattr(t, method)(right)))


def _along(x: NamedTensor, method: str, dim: str) -> NamedTensor:
    return NamedTensor(getattr(named, method)(x._tensor, dim))


def _over(x: NamedTensor, method: str, dim: Any = None) -> NamedTensor:
    if dim is None:
        return NamedTensor(getattr(x._tensor, method)())
    found = x._tensor
    for one in several(dim):
        if method == "squeeze":
            found = named.get(found, one, 0)
        else:
            found = getattr(named, method)(found, one)
    return NamedTensor(found)


def _picked(x: NamedTensor, method: str, dim: str) -> tuple[NamedTensor, ...]:
    return tuple(map(NamedTensor, getattr(named, method)(x._tensor, dim)))


def _told(x: NamedTensor, method: str, *args: Any) -> Any:
    return getattr(x._tensor, method)(*args)


_CALLS: Final[Mapping[frozenset[str], Callable[..., Any]]] = {
    ELEMENTWISE: _elementwise,
    IN_PLACE: _in_place,
    PAIRED: _paired,
    ALONG: _along,
    OVER: _over,
    PICKED: _picked,
    TOLD: _told,
}


def _plain(index: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v._tensor if isinstance(v, NamedTensor) else v for k, v in index.items()}


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
        return NamedTensor(named.contract([x._tensor for x in left], shared))

    @staticmethod
    def stack(tensors: Sequence[NamedTensor], name: str) -> NamedTensor:
        return NamedTensor(named.stack_new([x._tensor for x in tensors], name))

    @staticmethod
    def cat(tensors: Sequence[NamedTensor], dim: Any, name: str | None = None) -> NamedTensor:
        if name is not None:
            tensors = [x.rename(d, name) for x, d in zip(tensors, dim, strict=True)]
        return tensors[0]._new(named.cat([x._tensor for x in tensors], name or dim))

    @staticmethod
    def unique(
        x: NamedTensor,
        dim: str | None = None,
        names: Sequence[str] = ("unique", "Indices"),
        return_inverse: bool = False,
        sorted: bool = True,
    ) -> Any:
        found, inverse = named.unique(x._tensor, names[0], dim)
        if not return_inverse:
            return NamedTensor(found)
        if dim is not None:
            return NamedTensor(found), NamedTensor(named.rename(inverse, **{names[1]: dim}))
        again = {f"{old}{names[1]}": old for old in x.dims}
        return NamedTensor(found), NamedTensor(named.rename(inverse, **again))


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
            return x.reduce(lambda t: self.layer(t, target._tensor), classes)
        x = x.stack(list(sizes), "others").transpose(classes)
        aim = target.transpose(*sizes).stack(list(sizes), "others")
        if self.layer.reduction != "none":
            return x.reduce(lambda t: self.layer(t, aim._tensor), ("others", classes))
        found = x.reduce(lambda t: self.layer(t, aim._tensor), classes)
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
        given = _each(state, lambda one: named.order(one._tensor, order))
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
        super().register_parameter(f"{name}_", nn.Parameter(param._tensor))
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
        return NamedTensor(self._dist.log_prob(value._tensor))

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
            plain = {k: getattr(v, "_tensor", v) for k, v in given.items()}
            positional = [plain.pop(at) for at in range(len(args))]
            return NamedDistribution(getattr(distributions, name)(*positional, **plain))

        return make


class ndistributions(metaclass=_Distributions):
    """The distributions of namedtensor's."""


def assert_match(*tensors: NamedTensor) -> None:
    """Check that tensors broadcast by name."""
    named.align(*(x._tensor for x in tensors))


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
