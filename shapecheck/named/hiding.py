"""Views of which some dimensions are hidden from what finds them by name: `mask_to`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType
from typing import Any, Final, TypeVar, cast

from shapecheck.named.core import record_of, refuse_as
from shapecheck.named.holding import Holder
from shapecheck.named.methods import held
from shapecheck.ops.named.views import refused_as_hidden
from shapecheck.runtime.naming.records import plain_shape
from shapecheck.shapes import Shape

H = TypeVar("H", bound=Holder)
_OWN: Final = ("__getitem__", "__setitem__", "mask_to", "size")
"""Methods that find dimensions by name and aren't made of functions."""


def hiding(cls: type[H], names: frozenset[str]) -> type[H]:
    """Return the class of the views that a class is of, in which names are hidden; all shown."""
    shown = cls.__dict__.get("_shown", cls)
    return cast("type[H]", _hiding(shown, names) if names else shown)


@cache
def _hiding(cls: type[Holder], names: frozenset[str]) -> type[Holder]:
    made: dict[str, Any] = {"__slots__": (), "_shown": cls, "__module__": cls.__module__}
    made["__qualname__"] = cls.__qualname__
    for name in dir(cls):
        method = getattr(cls, name)
        by_function = isinstance(method, FunctionType) and hasattr(method, "__wrapped__")
        if by_function or name in _OWN:
            made[name] = _minding(method, names)
    made["__reduce__"] = lambda view: (_made_again, (*cls.__reduce__(view), names))
    return type(cls.__name__, (cls,), made)


def _made_again(make: Callable[..., H], given: tuple[Any, ...], names: frozenset[str]) -> H:
    """Return a copy of a view, with what was hidden in it."""
    shown = make(*given)
    return held(hiding(type(shown), names), shown.tensor)


def _minding(method: Callable[..., Any], names: frozenset[str]) -> Callable[..., Any]:
    """Return a method that refuses names which are hidden."""

    @wraps(method)
    def called(self: Holder, /, *args: Any, **kwargs: Any) -> Any:
        tensor = self.tensor
        known = record_of(tensor)
        shape = plain_shape(tensor) if known is None else Shape(known.dims)
        refused = refused_as_hidden(names, shape, args, kwargs)
        if refused is not None:
            refuse_as(refused)
        return method(self, *args, **kwargs)

    made: Any = called
    made.__code__ = made.__code__.replace(co_name=method.__name__)  # what messages call it by
    return called
