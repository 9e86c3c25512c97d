"""The table of docs/returnn.md: what is written here is in the program beside it, which runs."""

from __future__ import annotations

import re

from repository import ROOT

TEXT = (ROOT / "docs" / "returnn.md").read_text("utf-8")


def test_all_that_the_table_says_is_in_the_program() -> None:
    table = TEXT.partition("## Coming from RETURNN")[2].partition("Each of these")[0]
    program = TEXT.partition("# coming_from.py")[2].partition("```")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    spelled = [code for _, here in rows for code in re.findall(r"`([^`]+)`", here)]
    missing = [code for code in spelled if code not in program and code != "x"]
    assert len(rows) > 20
    assert missing == []
