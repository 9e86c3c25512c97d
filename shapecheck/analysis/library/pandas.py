"""pandas: tables that are read from files or made of arrays."""

from __future__ import annotations

import shapecheck.dims as dims
from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.iteration import length
from shapecheck.analysis.interpreter.registry import LibraryCall, function
from shapecheck.analysis.kinds.tables import any_table, table
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Array, Table
from shapecheck.ops import UNKNOWN


@function(*(f"pandas.read_{kind}" for kind in "csv table excel parquet feather fwf".split()))
def _read(frame: Frame, call: LibraryCall) -> Value:
    """Return the table of a file, unless that is read piece by piece or has several headers."""
    by = ("chunksize", "iterator", "squeeze", "sheet_name")
    plain = all(call.kwargs.get(name) in (None, False, 0) for name in by)
    header = call.kwargs.get("header", 0)
    return any_table() if plain and (header is None or isinstance(header, int)) else UNKNOWN


@function("pandas.DataFrame", "pandas.get_dummies")
def _made(frame: Frame, call: LibraryCall) -> Value:
    """Return a table of what is in an array, a dict or a list."""
    match call.get(0, "data"):
        case Array(tensor=tensor) if call.name == "DataFrame" and tensor.shape.rank == 2:
            return Table(tensor)
        case Table(tensor=tensor):
            return table(tensor.shape.dims[0], dims.unknown())
    return any_table()


@function("pandas.Series")
def _column(frame: Frame, call: LibraryCall) -> Value:
    count = length(frame, call.get(0, "data", UNKNOWN))
    return table(dims.unknown() if count is None else count)
