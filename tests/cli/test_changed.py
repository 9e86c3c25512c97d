"""What is new and what is gone between two runs of `shapecheck check`."""

from __future__ import annotations

from shapecheck.cli.check.changed import Changed, changed
from shapecheck.project.findings import Finding


def _finding(line: int, message: str = "x has 2 axes", file: str = "a.py") -> Finding:
    return Finding(file, line, 4, line, 9, message, (), "shape", "error")


def test_nothing_changes_between_equal_runs() -> None:
    found = [_finding(1), _finding(2)]
    assert changed(found, found) == Changed((), ())


def test_a_moved_finding_is_neither_new_nor_gone() -> None:
    assert changed([_finding(1)], [_finding(7)]) == Changed((), ())


def test_another_message_or_file_is_new_and_the_old_one_gone() -> None:
    for other in (_finding(1, "x has 3 axes"), _finding(1, file="b.py")):
        assert changed([_finding(1)], [other]) == Changed((other,), (_finding(1),))


def test_of_like_findings_those_that_stay_are_the_same() -> None:
    assert changed([_finding(5)], [_finding(2), _finding(5)]) == Changed((_finding(2),), ())
    assert changed([_finding(2), _finding(5)], [_finding(5)]) == Changed((), (_finding(2),))
