"""What `trace` returns: the calls of modules and ops as a tree, which is shown as a table."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from shapecheck.runtime.tracing.records import ModuleRecord, memory_text

if TYPE_CHECKING:
    from rich.table import Table

_WIDE: Final = 1000


@dataclass(slots=True)
class Trace(ModuleRecord):
    """What `shapecheck.trace(fn)(*args)` returns: every op with its shapes and names, as a tree.

    `print(record)` shows the table. `ops()` and `modules()` go through the tree; `as_dict()` gives
    all of it as plain data. `error`: what ended it, where it was asked to `catch` that.
    """

    error: str = ""

    def table(self) -> Table:
        """Return the ops as a table for rich."""
        from rich.table import Table

        from shapecheck.runtime.tracing.markup import line_text

        table = Table("module", "op", "operands", "result", "dtype", "memory", "line")
        for op in self.ops():
            results = op.error.partition("\n")[0] or ", ".join(map(str, op.results))
            dtypes = ", ".join(dict.fromkeys(result.dtype for result in op.results))
            memory = memory_text(sum(result.allocated for result in op.results))
            place = line_text(op.file, op.line) if op.file else ""
            operands = ", ".join(map(str, op.operands))
            table.add_row(op.module, op.name, operands, results, dtypes, memory, place)
        table.caption = (
            f"{sum(1 for _ in self.ops()):,} ops, {self.parameters:,} parameters "
            f"({memory_text(self.parameter_bytes)}), results {memory_text(self.allocated)}"
        )
        return table

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as dicts, lists, texts and numbers."""
        return asdict(self)

    def __rich__(self) -> Table:
        return self.table()

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it."""
        from shapecheck.runtime.tracing.markup import notebook_output

        return notebook_output(self, self.error)

    def _repr_pretty_(self, printer: Any, is_cycle: bool) -> None:
        """Have IPython print the table in a terminal."""
        printer.text("Trace(...)" if is_cycle else str(self))

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=_WIDE, color_system=None, force_jupyter=False).print(self.table())
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
