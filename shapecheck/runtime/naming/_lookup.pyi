"""What `_lookup.c` and `_readings.c` define."""

from collections.abc import Callable
from typing import Any

import torch

from shapecheck.runtime.naming.call_names import CallMode, CallNames
from shapecheck.runtime.naming.records import Record, Table

class Lookup:
    def __init__(
        self,
        *,
        cache: dict[object, object],
        plain: tuple[type, ...],
        opaque: tuple[type, ...],
        tensor: type,
        parameter: type,
        shape: type,
        record: type,
        placed: type,
        likely: type,
        constant: type,
        getitem: object,
        kinds: dict[Any, int],
        transforming: Callable[[], object],
        levels: set[int],
        lasting: dict[int, Any],
        name: Callable[[CallNames, Any, Any], object],
        hand_down: Callable[[Any, tuple[Any, ...], Any, Table], object],
        retell: Callable[[Exception, CallNames, Any, tuple[Any, ...], dict[str, Any]], object],
        fault: Callable[[Any, Exception], object],
    ) -> None: ...
    def __call__(
        self,
        mode: CallMode,
        frame: CallNames,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None,
        /,
    ) -> Any: ...

def kept(
    cache: dict[Any, Any],
    table: Table,
    checked: bool,
    head: object,
    rest: object,
    /,
    *tensors: object,
) -> Any: ...
def keep(table: Table, tensor: torch.Tensor, record: Record, /) -> None: ...
