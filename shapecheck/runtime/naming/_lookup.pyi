"""What `_lookup.c` defines."""

from collections.abc import Callable
from typing import Any

import torch

from shapecheck.runtime.naming.records import Record, Table

class Lookup:
    def __init__(
        self,
        cache: dict[object, object],
        plain: tuple[type, ...],
        tensor: type,
        parameter: type,
        record: type,
        placed: type[object],
        getitem: object,
        given: frozenset[Any],
        other: frozenset[Any],
        transforming: Callable[[], object],
    ) -> None: ...
    def __call__(
        self,
        table: Table,
        alone: bool,
        read: bool,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None,
        /,
    ) -> Record | bool | None: ...

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
