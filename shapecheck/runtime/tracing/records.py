"""What is written down of the tensors, ops and modules of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor as it went into an op or came out of it.

    `names` has None for a dimension without a name. `bytes` is the size of its elements;
    `allocated` is how much memory the op took for it: 0 for a view, and for an operand. `number`
    tells which tensor it is: the one that an op gave goes into others with the same number.
    `parameter`: it is a parameter or a buffer of a module.
    """

    shape: tuple[int, ...]
    names: tuple[str | None, ...]
    dtype: str
    device: str
    bytes: int
    allocated: int = 0
    number: int = 0
    parameter: bool = False

    def __str__(self) -> str:
        pairs = zip(self.names, self.shape, strict=True)
        return f"({' '.join(str(n) if name is None else f'{name}={n}' for name, n in pairs)})"


@dataclass(frozen=True, slots=True)
class OpRecord:
    """One call of a torch op.

    `module` is the path of the module that made it, `function` the op's full name. `file`, `line`
    and `source` say where, in the innermost code that isn't torch's; they are empty where there
    is none. `error`: what it raised, in the place of giving results.
    """

    module: str
    name: str
    function: str
    operands: tuple[TensorRecord, ...]
    results: tuple[TensorRecord, ...]
    file: str = ""
    line: int = 0
    source: str = ""
    error: str = ""


@dataclass(slots=True)
class ModuleRecord:
    """One call of a module, with what happened inside, in order.

    `parameters` counts the elements of all parameters in it, those of modules inside included.
    The record of a whole trace has the path "".
    """

    path: str
    kind: str
    parameters: int = 0
    parameter_bytes: int = 0
    calls: list[ModuleRecord | OpRecord] = field(default_factory=list)

    def ops(self) -> Iterator[OpRecord]:
        """Yield the ops in it, those of modules inside included, in the order of their calls."""
        for call in self.calls:
            if isinstance(call, OpRecord):
                yield call
            else:
                yield from call.ops()

    def modules(self) -> Iterator[ModuleRecord]:
        """Yield the calls of modules in it, at any depth, each before those inside of it."""
        for call in self.calls:
            if isinstance(call, ModuleRecord):
                yield call
                yield from call.modules()

    @property
    def allocated(self) -> int:
        """The bytes that all its ops took for their results."""
        return sum(result.allocated for op in self.ops() for result in op.results)


_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def memory_text(count: int) -> str:
    """Return a number of bytes as people read it: `1.5 MiB`."""
    amount, unit = float(count), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.0f} {_UNITS[unit]}" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"
