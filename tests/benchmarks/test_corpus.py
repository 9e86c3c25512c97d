"""The corpus: what is told of each member, and that what was judged belongs to one."""

from __future__ import annotations

import sys
from typing import Any

from repository import ROOT

sys.path.insert(0, str(ROOT / "benchmarks" / "corpus"))
import run  # type: ignore[import-not-found]
from page import page  # type: ignore[import-not-found]

PRINTED = """\
net.py:3: error: "Tensor" not callable  [operator]
net.py:5: error: "@" can't multiply (b d) by (e d)  [shape]
net.py:5: note: left operand "x" is (b d)
net.py:7: error: an integer  [shape-dtype]
"""


def test_every_judgement_is_of_a_member() -> None:
    """A report of a repository that isn't in the corpus could never be seen again."""
    known = {member.name for member in run.members()}
    assert {entry.split("/")[0] for entry in run.triage()} <= known


def test_errors_of_mypy() -> None:
    """Those of the plugin are none of mypy's own, nor are notes."""
    assert list(run.errors_of_mypy(PRINTED)) == PRINTED.splitlines()[:1]


def test_an_error_in_other_words_is_the_same() -> None:
    before = run.errors_of_mypy("a.py:3: error: one\na.py:3: error: two\nb.py:1: error: gone\n")
    after = run.errors_of_mypy("a.py:3: error: other\na.py:4: error: new\n")
    came, went = run.differences(before, after)
    assert came == ["a.py:4: error: new"]
    assert went == ["a.py:3: error: two", "b.py:1: error: gone"]


def test_page() -> None:
    """Each report counts by its verdict, one that is gone as mended; totals stand below."""
    members = [run.Member("net", "https://x/net", "0123456789abcdef", annotated=True)]
    reports = [f"net.py:{line}: a report  [shape]" for line in (1, 2, 3)]
    result: dict[str, Any] = {"lines": 40, "reports": reports[:2], "mypy_only": reports[2:]}
    result |= {"plugin": 2.0, "errors": 9, "added": [], "removed": ["one", "another"]}
    judged = {
        "net/net.py:1 shape": ("bug", ""),
        "net/net.py:2 shape": ("annotation", ""),
        "net/net.py:4 shape": ("ours", ""),
        "net/net.py:5 shape": ("bug", ""),
    }
    said = page(members, {"net": result}, judged, run.key).splitlines()
    assert said[6:11] == [
        "## With shape annotations: 1",
        "",
        "| repository | commit | lines | reports | bug | annotation | ours | open | mended | mypy's"
        " | added | removed |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| [net](https://x/net) | 0123456789 | 40 | 3 | 1 | 1 | 0 | 1 | 1 | 9 | 0 | 2 |",
    ]
    assert said[11:] == ["| all |  | 40 | 3 | 1 | 1 | 0 | 1 | 1 | 9 | 0 | 2 |"]


def test_a_run_without_mypy_keeps_what_mypy_said() -> None:
    now = run.Result(lines=7, reports=["net.py:1: a report  [shape]"])
    before = {"lines": 6, "reports": [], "plugin": 2.0, "errors": 9, "added": ["one"]}
    kept = run.kept_of(now, before)
    assert (kept["lines"], kept["reports"]) == (7, now.reports)
    assert (kept["plugin"], kept["errors"], kept["added"]) == (2.0, 9, ["one"])
    assert run.kept_of(run.Result(lines=7, plugin=1.0, errors=3), before)["errors"] == 3
