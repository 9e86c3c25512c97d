"""A module of a few lines, as `shapecheck annotate` leaves it."""

from __future__ import annotations

from pathlib import Path

from shapecheck.codemod.annotate import Settings, annotate_files

HEAD = "import torch\nfrom torch import nn\nfrom einops import pack, rearrange, unpack\n"


def annotated(tmp_path: Path, text: str) -> str:
    """Return what a module is annotated to that begins with `HEAD`: itself if there is nothing."""
    path = tmp_path / "model.py"
    path.write_text(HEAD + text)
    outcome = annotate_files([path], Settings())
    assert not outcome.problems
    return "".join(changed.text for changed in outcome.changed) or HEAD + text
