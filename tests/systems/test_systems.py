"""The documented examples of five systems: clean and right here, and wrong variants are found.

Each program is analysed and executed; each of its wrong variants has to be reported by both sides.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from systems.programs import SYSTEMS, Variant, running, source, static, variants

ALL = [variant for system in SYSTEMS for variant in variants(system)]


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_examples_are_clean_and_right(system: str, tmp_path: Path) -> None:
    assert static(source(system)) == []
    assert running(source(system), tmp_path) is None


@pytest.mark.parametrize("variant", ALL, ids=[variant.id for variant in ALL])
def test_a_wrong_variant_is_found_by_both(variant: Variant, tmp_path: Path) -> None:
    assert static(variant.text), variant.wrong
    assert running(variant.text, tmp_path) is not None, variant.wrong
