"""Methods and operators of what holds a tensor, made of functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    TypeVar,
    cast,
    overload,
)

from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from shapecheck.named.core import carry
from shapecheck.named.elements import across
from shapecheck.named.holding import Holder, each_held, hold
from shapecheck.ops.named.views import is_in_place
from shapecheck.runtime.errors import CarriedError
from shapecheck.runtime.source import told_at_users_line

H = TypeVar("H", bound=Holder)
P = ParamSpec("P")
T = TypeVar("T")


def held(cls: type[H], tensor: Tensor) -> H:
    """Return a tensor in what holds one."""
    found = cls.__new__(cls)
    hold(found, tensor)
    return found


def all_held(cls: type[Holder], found: Any) -> Any:
    """Return what a function gave, each tensor in it in what holds one."""
    if isinstance(found, tuple) and not isinstance(found, PackedSequence):
        return each_held(cls, found, all_held)
    return held(cls, found) if isinstance(found, Tensor) else found


def _called(function: Callable[..., Any], name: str) -> Any:
    """Give a function of this module the name that messages call it by."""
    assert isinstance(function, FunctionType)
    function.__code__ = function.__code__.replace(co_name=name)
    return function


@overload
def method(
    function: Callable[Concatenate[Tensor, P], Tensor],
) -> Callable[Concatenate[H, P], H]: ...
@overload
def method(
    function: Callable[Concatenate[Tensor, P], tuple[Tensor, Tensor]],
) -> Callable[Concatenate[H, P], tuple[H, H]]: ...
@overload
def method(
    function: Callable[Concatenate[Tensor, P], tuple[Tensor, ...]],
) -> Callable[Concatenate[H, P], tuple[H, ...]]: ...
@overload
def method(
    function: Callable[Concatenate[Tensor, P], T],
) -> Callable[Concatenate[H, P], T]: ...
def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that a function of a tensor is."""

    @wraps(function)
    def called(self: Holder, /, *args: Any, **kwargs: Any) -> Any:
        found = function(self.tensor, *args, **kwargs)
        if found.__class__ is not Tensor:
            return all_held(self.__class__, found)
        view = object.__new__(self.__class__)
        hold(view, found)
        return view

    return _called(called, function.__name__)  # type: ignore[no-any-return]


def applied(
    function: Callable[Concatenate[Tensor, P], object],
) -> Callable[Concatenate[H, P], H]:
    """Return the method that calls functions of the user's, of which each gives a tensor."""
    return method(cast("Callable[Concatenate[Tensor, P], Tensor]", function))


if TYPE_CHECKING:

    class OfClass(Generic[P]):
        """A function without a tensor before all others, in the class that holds what it gives."""

        def __init__(self, function: Callable[P, Tensor]) -> None: ...
        def __get__(self, instance: object, owner: type[H]) -> Callable[P, H]: ...

    class SeveralOfClass(Generic[P]):
        """As `OfClass`, of a function that gives several tensors."""

        def __init__(self, function: Callable[P, tuple[Tensor, ...]]) -> None: ...
        def __get__(self, instance: object, owner: type[H]) -> Callable[P, tuple[H, ...]]: ...
else:

    def OfClass(function: Callable[..., Any]) -> Any:
        """Return the method of a class that gives what a function does, held by the class."""

        @wraps(function)
        def called(cls: type[Holder], /, *args: Any, **kwargs: Any) -> Any:
            return all_held(cls, function(*args, **kwargs))

        return classmethod(_called(called, function.__name__))

    SeveralOfClass = OfClass


_OPERANDS: Final = (Holder, Tensor, bool, int, float, complex)
_NUMBERS: Final = (bool, int, float, complex)


def operator(
    function: Callable[..., Any], right: Callable[..., Any] | None = None
) -> Callable[[H, object], H]:
    """Return an operator; `right` is what takes a number at the left of a tensor."""

    def operated(self: H, other: object) -> H:
        if not isinstance(other, _OPERANDS):
            return NotImplemented  # type: ignore[no-any-return]
        try:
            if isinstance(other, _NUMBERS):
                return held(self.__class__, carry(right or function, self.tensor, other))
            operands = (self, other) if right is None else (other, self)
            return held(self.__class__, across(function, False, operands, {}))
        except CarriedError as carried:
            raise told_at_users_line(carried)  # noqa: B904 - it is the same error

    return operated


def elementwise(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that an elementwise one of torch's tensors is."""
    in_place = is_in_place(name)

    def called(self: Holder, /, *args: Any, **kwargs: Any) -> Any:
        found = across(function, in_place, (self, *args), kwargs)
        return self if in_place else all_held(self.__class__, found)

    return _called(called, name)  # type: ignore[no-any-return]
