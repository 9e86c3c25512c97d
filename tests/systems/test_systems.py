"""The documented examples of five systems: clean and right here, and wrong variants are found.

Each program is analysed and executed; each of its wrong variants has to be reported by both sides.
"""

from __future__ import annotations

import sys

import pytest
from repository import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import origins
from systems.programs import SYSTEMS, Variant, running, source, static, variants

ALL = [variant for system in SYSTEMS for variant in variants(system)]


MARKS = {"tensorly": pytest.mark.cpu_only(reason="it asks for the CPU itself")}


@pytest.mark.parametrize("system", [pytest.param(one, marks=MARKS.get(one, ())) for one in SYSTEMS])
def test_the_examples_are_clean_and_right(system: str) -> None:
    assert static(source(system)) == []
    assert running(source(system)) is None


@pytest.mark.parametrize("variant", ALL, ids=[variant.id for variant in ALL])
def test_a_wrong_variant_is_found_by_both(variant: Variant) -> None:
    assert static(variant.text), variant.wrong
    assert running(variant.text) is not None, variant.wrong


@pytest.mark.cpu_only(reason="an index too large ends all use of the device in a process")
def test_the_page_shows_what_the_benchmark_prints(request: pytest.FixtureRequest) -> None:
    """`pytest --update` writes the table of docs/origins.md anew."""
    found, missed = origins.rows()
    shown = "\n".join(origins.printed(found, markdown=True))
    page = ROOT / "docs" / "origins.md"
    text = page.read_text("utf-8")
    if request.config.getoption("--update"):
        head, _, _ = text.partition("\n| system | examples |")
        text = f"{head}\n{shown}\n"
        page.write_text(text, "utf-8")
    assert missed == []
    assert text.splitlines()[-len(shown.splitlines()) :] == shown.splitlines()
