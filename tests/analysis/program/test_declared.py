"""Each kind that a type can declare has its place in each table that asks of which kind it is."""

from collections.abc import Mapping
from typing import get_args

import pytest

from shapecheck.analysis.annotations.making import MAKERS
from shapecheck.analysis.interpreter.fitting import CHECKS, VALUES
from shapecheck.analysis.program.declared import Declared


@pytest.mark.parametrize("table", [MAKERS, CHECKS, VALUES], ids=["makers", "checks", "values"])
def test_a_table_has_every_kind(table: Mapping[type, object]) -> None:
    assert table.keys() == set(get_args(Declared))
