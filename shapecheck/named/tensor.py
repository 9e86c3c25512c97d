"""A tensor by name, with methods and operators: `NamedTensor`.

A method is the function of `shapecheck.named` of that name, with the tensor as its first argument.
Elementwise methods are torch's own, of operands that meet by the names of their dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

import torch
from torch import Tensor

from shapecheck.dims import Dim
from shapecheck.markup import escaped
from shapecheck.named import axes, functions, joining, making, picking, ragged, reductions
from shapecheck.named import names as naming
from shapecheck.named.core import Name, carry, meant, planned, settled
from shapecheck.named.elements import across
from shapecheck.named.hiding import hiding
from shapecheck.named.holding import Holder, Operand, hold, plain
from shapecheck.named.methods import (
    OfClass,
    SeveralOfClass,
    all_held,
    applied,
    elementwise,
    held,
    method,
    operator,
)
from shapecheck.ops.named.views import NO_PRODUCT, absent, hidden_up_to, is_in_place, takes_plain
from shapecheck.runtime.asking.claims import named
from shapecheck.runtime.asking.questions import dims_of
from shapecheck.runtime.errors import ShapeError, carried
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.naming.call_names import state
from shapecheck.runtime.naming.ops import is_elementwise
from shapecheck.spec.objects import Part

ViewT = TypeVar("ViewT", bound="NamedTensor")
Number: TypeAlias = bool | int | float


_ELEMENTWISE: Final = frozenset(
    name for name in dir(Tensor) if is_elementwise(f"torch.Tensor.{name}")
)
_IN_PLACE: Final = frozenset(filter(is_in_place, _ELEMENTWISE))


class Elementwise(Protocol):
    """A method of torch's tensors that takes each element by itself, by torch's own name."""

    def __call__(self, *args: object, **kwargs: object) -> NamedTensor:
        """Call it: other tensors are aligned by the names of their dimensions."""
        ...


class NamedTensor(Holder):
    """A tensor with methods and operators by the names of its dimensions.

        x = NamedTensor(torch.rand(2, 3, 4), "b t d")
        x.softmax("t").sum("d")

    It holds a plain tensor, `x.tensor`, and what it gives are such views again. Operands of
    operators and elementwise methods are aligned by name; they may be plain tensors.
    """

    __slots__ = ("__weakref__",)
    __hash__ = None  # type: ignore[assignment]  # elements are compared

    def __init__(self, tensor: Operand, *dims: Part | Sequence[Part]) -> None:
        """Hold a tensor, `NamedTensor(x, "b t d")`; without `dims` it keeps the names it has.

        Raises `ShapeError` where the sizes contradict what the names stand for here.
        """
        given = plain(tensor)
        if dims:
            each = [
                (one,) if isinstance(one, str) or not isinstance(one, Sequence) else one
                for one in dims
            ]
            given = named(given, *[part for one in each for part in one])
        hold(self, given)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Elementwise: ...
    else:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(absent(name, hasattr(Tensor, name)), name=name, obj=self)

    # What it is ----------------------------------------------------------------------------------

    @property
    def values(self) -> Tensor:
        """The plain tensor, as `tensor`."""
        return self.tensor

    @property
    def dims(self) -> tuple[str | Dim | None, ...]:
        """The name of each dimension, or the object that it is, None for neither; see `dims_of`."""
        return dims_of(self.tensor)

    @property
    def names(self) -> tuple[str | Dim | None, ...]:
        """The name of each dimension, as `dims`."""
        return dims_of(self.tensor)

    @property
    def shape(self) -> dict[str | Dim, int]:
        """The size of each dimension that has a name, in their order."""
        sizes = zip(self.dims, self._tensor.shape, strict=True)
        return {name: size for name, size in sizes if name is not None}

    def size(self, dim: Name) -> int:
        """Return the size of a dimension."""
        tensor = self.tensor
        found: int = tensor.shape[reductions.axis(tensor, dim)]
        return found

    def dim(self) -> int:
        """Return how many dimensions there are."""
        return self._tensor.dim()

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the elements."""
        return self._tensor.dtype

    @property
    def device(self) -> torch.device:
        """Where the elements are."""
        return self._tensor.device

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are to be found."""
        return self._tensor.requires_grad

    @property
    def grad(self: ViewT) -> ViewT | None:
        """The gradient, of the same names; None where there is none as yet."""
        found = self._tensor.grad
        return None if found is None else self._alike(found)

    def backward(
        self,
        gradient: Operand | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
    ) -> None:
        """Find the gradients of what this was computed from; `gradient` is aligned by name."""
        tensor = self.tensor
        given = None if gradient is None else joining.expand_as(plain(gradient), tensor)
        tensor.backward(given, retain_graph, create_graph)

    def item(self) -> Number:
        """Return the only element as a number."""
        return self._tensor.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists, in the order of the dimensions."""
        return self._tensor.tolist()

    def __bool__(self) -> bool:
        return bool(self._tensor)

    def __int__(self) -> int:
        return int(self._tensor)

    def __float__(self) -> float:
        return float(self._tensor)

    def __len__(self) -> int:
        if self._tensor.dim() == 1:
            return len(self._tensor)
        raise TypeError(f"{self.dim()} dimensions have no one length; size(name) tells one's")

    __iter__ = None

    def __repr__(self) -> str:
        text = " ".join("_" if name is None else str(name) for name in self.dims)
        with DisableTorchFunction():
            return f'NamedTensor({self._tensor!r}, "{text}")'

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it: its dimensions, and its elements below them."""
        dims = zip(self.dims, self._tensor.shape, strict=True)
        said = ", ".join(f"{'_' if name is None else name}={size}" for name, size in dims)
        with DisableTorchFunction():
            dtype = str(self._tensor.dtype).removeprefix("torch.")
            head = f"<b>({escaped(said)})</b> {dtype}, {escaped(str(self._tensor.device))}"
            font = "font-family:ui-monospace,Menlo,Consolas,monospace"
            elements = f'<pre style="{font}">{escaped(str(self._tensor))}</pre>'
            return f'<div style="{font}">{head}{elements}</div>'

    def __format__(self, spec: str) -> str:
        with DisableTorchFunction():
            return (
                format(self._tensor, spec) if self._tensor.dim() == 0 else format(repr(self), spec)
            )

    def __deepcopy__(self: ViewT, memo: dict[int, Any]) -> ViewT:
        found = self._tensor.__deepcopy__(memo)
        return self._alike(found)

    def __reduce__(self) -> Any:
        return NamedTensor, (self._tensor, tuple("_" if n is None else n for n in self.dims))

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: object,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call an elementwise function of torch's. Raises TypeError for any other."""
        name = getattr(func, "__name__", str(func))
        if name not in _ELEMENTWISE:
            raise TypeError(takes_plain(name))
        in_place = name in _IN_PLACE
        try:
            with _put_aside():
                found = across(func, in_place, args, kwargs or {})
        except ShapeError as error:
            if in_place and not isinstance(
                args[0], Holder
            ):  # else `x += view` goes on as `x + view`
                raise carried(error) from error.__cause__
            raise
        return args[0] if in_place else all_held(cls, found)

    def _alike(self: ViewT, found: Tensor) -> ViewT:
        tensor = self.tensor
        return held(self.__class__, settled(found, tensor, range(tensor.dim())))

    # By name -------------------------------------------------------------------------------------

    def mask_to(self: ViewT, dim: Name) -> ViewT:
        """Hide the dimensions up to one from what finds them by name, in all that comes of it.

        `x.mask_to("b")` is for what works on each item of a batch; `mask_to("")` shows all again.
        """
        tensor = self.tensor
        names = planned(_up_to, (tensor,), meant(dim))
        return held(hiding(self.__class__, names), tensor)

    def __getitem__(self: ViewT, index: Mapping[Any, axes.Index]) -> ViewT:
        return held(self.__class__, axes.taken(self.tensor, axes.by_name(index)))

    def __setitem__(self, index: Mapping[Any, axes.Index], value: Operand | float) -> None:
        axes.put(self.tensor, index, value)

    # The operators ---------------------------------------------------------------------------

    __add__ = operator(Tensor.__add__)
    __radd__ = operator(Tensor.__add__, Tensor.__radd__)
    __sub__ = operator(Tensor.__sub__)
    __rsub__ = operator(Tensor.__sub__, Tensor.__rsub__)
    __mul__ = operator(Tensor.__mul__)
    __rmul__ = operator(Tensor.__mul__, Tensor.__rmul__)
    __truediv__ = operator(Tensor.__truediv__)
    __rtruediv__ = operator(Tensor.__truediv__, Tensor.__rtruediv__)
    __floordiv__ = operator(Tensor.__floordiv__)
    __rfloordiv__ = operator(Tensor.__floordiv__, Tensor.__rfloordiv__)
    __mod__ = operator(Tensor.__mod__)
    __rmod__ = operator(Tensor.__mod__, Tensor.__rmod__)
    __pow__ = operator(Tensor.__pow__)
    __rpow__ = operator(Tensor.__pow__, Tensor.__rpow__)
    __and__ = operator(Tensor.__and__)
    __rand__ = operator(Tensor.__and__, Tensor.__rand__)
    __or__ = operator(Tensor.__or__)
    __ror__ = operator(Tensor.__or__, Tensor.__ror__)
    __xor__ = operator(Tensor.__xor__)
    __rxor__ = operator(Tensor.__xor__, Tensor.__rxor__)
    __lt__ = operator(Tensor.__lt__)
    __le__ = operator(Tensor.__le__)
    __gt__ = operator(Tensor.__gt__)
    __ge__ = operator(Tensor.__ge__)
    __eq__ = operator(Tensor.__eq__)  # type: ignore[assignment]  # of each element
    __ne__ = operator(Tensor.__ne__)  # type: ignore[assignment]  # of each element

    def __matmul__(self: ViewT, other: object) -> ViewT:
        raise TypeError(NO_PRODUCT)

    __rmatmul__ = __matmul__

    def __neg__(self: ViewT) -> ViewT:
        return held(self.__class__, carry(Tensor.neg, self.tensor))

    def __invert__(self: ViewT) -> ViewT:
        return held(self.__class__, carry(Tensor.bitwise_not, self.tensor))

    def __abs__(self: ViewT) -> ViewT:
        return held(self.__class__, carry(Tensor.abs, self.tensor))

    # The functions of a tensor -------------------------------------------------------------------

    order = method(axes.order)
    transpose = method(axes.transpose)
    stack = method(axes.stack)
    split = method(axes.split)
    get = method(axes.get)
    index = method(axes.index)
    unbind = method(axes.unbind)
    narrow = method(axes.narrow)
    chunk = method(axes.chunk)
    put = method(axes.put)
    rename = method(naming.rename)
    assert_size = method(naming.assert_size)
    refine_names = method(naming.refine_names)
    flatten = method(naming.flatten)
    unflatten = method(naming.unflatten)
    dot = method(joining.dot)
    align_as = method(joining.align_as)
    expand_as = method(joining.expand_as)
    align_to = method(joining.align_to)
    masked_fill = method(joining.masked_fill)
    gather = method(picking.gather)
    scatter = method(picking.scatter)
    index_fill = method(picking.index_fill)
    index_add = method(picking.index_add)
    index_copy = method(picking.index_copy)
    masked_select = method(picking.masked_select)
    nonzero = method(picking.nonzero)
    unique = method(picking.unique)
    triu = method(picking.triu)
    tril = method(picking.tril)
    all = method(reductions.all)
    amax = method(reductions.amax)
    amin = method(reductions.amin)
    any = method(reductions.any)
    argmax = method(reductions.argmax)
    argmin = method(reductions.argmin)
    argsort = method(reductions.argsort)
    cumprod = method(reductions.cumprod)
    cumsum = method(reductions.cumsum)
    flip = method(reductions.flip)
    log_softmax = method(reductions.log_softmax)
    logsumexp = method(reductions.logsumexp)
    max = method(reductions.max)
    mean = method(reductions.mean)
    median = method(reductions.median)
    min = method(reductions.min)
    norm = method(reductions.norm)
    prod = method(reductions.prod)
    roll = method(reductions.roll)
    softmax = method(reductions.softmax)
    sort = method(reductions.sort)
    std = method(reductions.std)
    sum = method(reductions.sum)
    topk = method(reductions.topk)
    var = method(reductions.var)
    mask = method(ragged.mask)
    pack = method(ragged.pack)
    op = applied(functions.op)
    reduce = applied(functions.reduce)
    augment = applied(functions.augment)

    # The functions of none or several ------------------------------------------------------------

    align = SeveralOfClass(joining.align)
    cat = OfClass(joining.cat)
    contract = OfClass(joining.contract)
    stack_new = OfClass(joining.stack_new)
    arange = OfClass(making.arange)
    empty = OfClass(making.empty)
    full = OfClass(making.full)
    ones = OfClass(making.ones)
    rand = OfClass(making.rand)
    randint = OfClass(making.randint)
    randn = OfClass(making.randn)
    zeros = OfClass(making.zeros)
    unpack = OfClass(ragged.unpack)


def _up_to(call: Any, shape: Any, dim: Any) -> frozenset[str]:
    return hidden_up_to(call, shape, dim) or frozenset()


def _put_aside() -> AbstractContextManager[object]:
    """Return the mode that carries names here, which torch puts aside while it calls what it has.

    While torch.compile traces there is none.
    """
    mode = None if torch.compiler.is_dynamo_compiling() else state.mode
    return nullcontext() if mode is None or mode.frame is None else mode


for _name in _ELEMENTWISE:
    if not hasattr(NamedTensor, _name):
        setattr(NamedTensor, _name, elementwise(_name, getattr(Tensor, _name)))
