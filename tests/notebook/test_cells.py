"""What of a cell is Python that runs where the notebook's names are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shapecheck.notebook.cells import Cell, plain


def transformed(text: str) -> str:
    """Stand in for IPython, as far as these cells need it."""
    return text.replace("!ls", "get_ipython().system('ls')")


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("x = 1\ny = 2\n", Cell("x = 1\ny = 2\n")),
        ("await x\nasync with y:\n    pass\n", Cell("await x\nasync with y:\n    pass\n")),
        (
            "get_ipython().run_line_magic('matplotlib', 'inline')\nx = 1\n",
            Cell("get_ipython().run_line_magic('matplotlib', 'inline')\nx = 1\n"),
        ),
        (
            "get_ipython().run_cell_magic('time', '', 'x = 1\\n!ls\\n')\n",
            Cell("\nx = 1\nget_ipython().system('ls')\n", is_as_run=False),
        ),
        (
            "get_ipython().run_cell_magic('bash', '', 'x = 1\\n')\n",
            Cell("get_ipython().run_cell_magic('bash', '', 'x = 1\\n')\n"),
        ),
        (
            "y = 1\nget_ipython().run_line_magic('time', 'x = f(y)')\n",
            Cell("y = 1\nx = f(y)\n", is_as_run=False),
        ),
        ("x = = 1\n", None),
        ("get_ipython().run_cell_magic('time', '', 'x = = 1\\n')\n", None),
    ],
)
def test_a_cell_as_plain_python(cell: str, expected: Cell | None) -> None:
    assert plain(cell, transformed) == expected


def test_loading_it_loads_neither_torch_nor_the_analysis() -> None:
    """`%load_ext shapecheck` answers at once: another process reads what a check needs."""
    program = (
        "import sys, shapecheck.notebook.extension\n"
        "print([name for name in ('torch', 'shapecheck.analysis') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
