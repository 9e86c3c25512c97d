"""What each rule says of calls, and of the calls beside them, whole and line by line.

They stand in the files of the folder `calls`; see `op_calls`. What is said of numbers is compared
with torch elsewhere, in `conformance`.
"""

from __future__ import annotations

from pathlib import Path

import op_calls
import pytest

from shapecheck.signatures import table

FOLDER = Path(__file__).parent / "calls"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_calls(path: Path, request: pytest.FixtureRequest) -> None:
    op_calls.check(path, table(), request)
