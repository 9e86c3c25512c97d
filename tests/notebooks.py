"""A notebook for tests: a real kernel that runs real cells."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from repository import ROOT

HEAD = (
    "%load_ext shapecheck\n"
    "import torch\n"
    "from torch import Tensor, nn\n"
    "from shapecheck import Float, shapecheck, trace"
)
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


def ran(folder: Path, *cells: str) -> list[str]:
    """Run cells in a folder, after `HEAD`; return what stands below each of them, as text."""
    return [text_of(outputs) for outputs in outputs_of(folder, *cells)]


def outputs_of(folder: Path, *cells: str) -> list[list[Any]]:
    """Return what stands below each cell, as the notebook has it."""
    kernels = folder / "kernels" / "kernels" / "own"
    kernels.mkdir(parents=True, exist_ok=True)
    own = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "own",
        "language": "python",
        "env": {"PYTHONPATH": str(ROOT), "JUPYTER_PLATFORM_DIRS": "1"},
    }
    (kernels / "kernel.json").write_text(json.dumps(own))
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, (HEAD, *cells))])
    client = NotebookClient(
        notebook,
        timeout=120,
        allow_errors=True,
        kernel_name="own",
        resources={"metadata": {"path": str(folder)}},
    )
    client.create_kernel_manager().kernel_spec_manager.kernel_dirs.insert(0, str(kernels.parent))
    client.execute()
    return [cell.outputs for cell in notebook.cells[1:]]


def text_of(outputs: list[Any]) -> str:
    """Return outputs as they are read: what was printed, said, given and raised."""
    said = []
    for one in outputs:
        match one.output_type:
            case "stream":
                said.append(one.text)
            case "error":
                said.append(_COLORS.sub("", "\n".join(one.traceback)))
            case _:
                said.append(one.data["text/plain"])
    return "\n".join(part.rstrip() for part in said)
