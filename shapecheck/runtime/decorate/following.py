"""A function without annotations, through which tensors carry the names that they have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from shapecheck.runtime.boundary import frames
from shapecheck.runtime.internals import DisableTorchFunction
from shapecheck.runtime.settings import stands_aside
from shapecheck.runtime.source import filename_for, told_at_users_line


def followed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is called with names carried through its ops."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        if stands_aside():
            return function(*args, **kwargs)
        with DisableTorchFunction():
            frame = frames.follow()
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - it goes on
            raise told_at_users_line(error)  # noqa: B904 - it is the same error
        finally:
            frames.unfollow(frame)

    name = getattr(function, "__qualname__", type(function).__name__)
    forward.__code__ = forward.__code__.replace(co_filename=filename_for(name))
    return functools.update_wrapper(forward, function)
