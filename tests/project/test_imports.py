"""What a module imports is seen at a glance, or it takes a closer look."""

from __future__ import annotations

import ast

import pytest

from shapecheck.project import imports
from shapecheck.project.settings import Settings

SPELLED = (
    "import a",
    "import a.b as c, d",
    "from a import b, c as d",
    "from.a import b",
    "from . import a",
    "from .. a import b",
    "from a import(b)",
    "from a import (\n    b,  # why\n    c,\n)",
    "from a import (\n    b,\n    c,\n)  # why",
    "from a \\\n    import b",
    "from \\\n    a import b",
    "import \\\n    a",
    "import a; import b",
    "x = 1; from a import b",
    "if x: import a",
    "try: from a import b\nexcept E: import c",
    "def f():\n\tfrom a import b  # why",
    "from a import *\r\nimport c\r\n",
    "from importlib import fromage\nimport_module = 1\nfrom_where = 2",
    "from größe import é",
    '"""\nfrom the camera to the image\nimport what you like\n"""\nimport a',
)


@pytest.mark.parametrize("text", SPELLED)
def test_no_import_is_overlooked(text: str) -> None:
    found = imports.perhaps(text, "p.q", is_package=False)
    sure = imports.surely(ast.parse(text), "p.q", Settings(), is_package=False)
    assert found is None or {*sure} <= {*found}


def test_what_only_begins_as_an_import_does_is_none() -> None:
    prose = "Rays go out\n\nfrom the camera; from here on, in\nworld space."
    text = f'"""{prose}\n"""\nfrom a import b\n'
    assert imports.perhaps(text, "p.q", is_package=False) == [imports.Imported("a", ("b",))]
