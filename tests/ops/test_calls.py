"""What each rule says of calls, and of the calls beside them, whole and line by line.

They stand in the files of the folder `calls`; see `op_calls`. What is said of numbers is compared
with torch elsewhere, in `conformance`.
"""

from __future__ import annotations

from pathlib import Path

import expected
import op_calls
import pytest

from shapecheck.signatures import table

FOLDER = Path(__file__).parent / "calls"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_calls(path: Path, request: pytest.FixtureRequest) -> None:
    op_calls.check(path, table(), request)


def test_calls_alone(request: pytest.FixtureRequest) -> None:
    """Of a case each that a rule distinguishes, which those beside them don't come to."""
    op_calls.check(FOLDER.with_name("alone.txt"), table(), request, alone=True)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_what_may_be_any_number_of_sizes_is_any_number(path: Path) -> None:
    """What is said of `(*rest, h, w)` holds for `(b, h, w)`: no error is, and no other rank."""
    stubs = table()
    for call in op_calls.calls_of(path):
        for other in op_calls.with_rows(call):
            assert op_calls.admits(other, call, stubs), f"{other} says more than {call}"


def test_what_is_learned_of_bare_parameters(request: pytest.FixtureRequest) -> None:
    """Of each tensor of a call in turn; once for each thing that is learned by an op."""
    said: dict[tuple[str, str], str] = {}
    stubs = table()
    for path in sorted(FOLDER.glob("*.txt")):
        for call in op_calls.calls_of(path):
            for bare in op_calls.with_bare(call):
                found = op_calls.outcome(bare, stubs)
                if "... is (" in found:
                    said.setdefault((call.partition("(")[0], found), bare)
    expected.check(FOLDER.with_name("learned.txt"), {b: f for (_, f), b in said.items()}, request)
