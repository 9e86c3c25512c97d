"""Draws docs/pictures/check.svg: a module, and what `shapecheck check` says of it, for README.

    python benchmarks/readme_picture.py

A test compares the picture with what this would draw.
"""

from __future__ import annotations

import io
import keyword
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.style import Style
from rich.text import Text

from shapecheck.markup import escaped

PICTURE: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "check.svg"
MODULE: Final = """\
from torch import Tensor, nn

from shapecheck import Float


class Centre(nn.Module):
    def forward(
        self, x: Float[Tensor, "batch time d"]
    ) -> Float[Tensor, "batch time d"]:
        mean = x.mean(dim=1)
        return x - mean
"""
_COLUMNS: Final = 66
_WIDTH, _MARGIN, _LINE, _SIZE = 600, 20, 20, 14
_PLAIN: Final = "#e6edf3"
_COLORS: Final = {1: "#ff7b72", 2: "#a5d6ff", 3: "#e3b341", 4: "#79c0ff", 6: "#56d4dd"}
"""What the colours of a terminal are in the picture, by their numbers."""


def drawn() -> str:
    """Return the picture."""
    prompt = Text.assemble(("$ ", "blue"), ("shapecheck check model.py", "bold"))
    lines = [*code(), None, prompt, *said()]
    height = _LINE * len(lines) + 2 * _MARGIN
    rows = []
    for at, line in enumerate(lines):
        y = _MARGIN + _LINE * at
        if line is None:
            middle = y + _LINE // 2
            rows.append(f'<path d="M0 {middle}H{_WIDTH}" stroke="#30363d"/>')
        elif line.plain:
            rows.append(f'<text x="{_MARGIN}" y="{y + 15}">{"".join(_spans(line))}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img">\n'
        f"<title>What shapecheck check says of a module</title>\n"
        f"<style>text{{font:{_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"
        f"'DejaVu Sans Mono',monospace;white-space:pre}}</style>\n"
        f'<rect x=".5" y=".5" width="{_WIDTH - 1}" height="{height - 1}" rx="8" fill="#0d1117" '
        f'stroke="#30363d"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


def code() -> list[Text]:
    """Return the lines of its class, coloured and with their numbers."""
    text = Text(MODULE.rstrip())
    starts = [0, *(found.end() for found in re.finditer("\n", MODULE))]
    for token in tokenize.generate_tokens(io.StringIO(MODULE).readline):
        start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        if keyword.iskeyword(token.string):
            text.stylize("red", start, end)
        elif token.type == tokenize.STRING:
            text.stylize("green", start, end)
    numbered = [
        Text.assemble((f"{number:4}  ", "blue"), line)
        for number, line in enumerate(text.split("\n"), 1)
    ]
    return numbered[MODULE[: MODULE.index("class")].count("\n") :]


def said() -> list[Text]:
    """Return the lines that the command prints, broken between words as a narrow terminal has them.

    Without mypy it says the same in a second, and then how much was known.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.py").write_text(MODULE, "utf-8")
        command = ["check", "--only-shapes", "--color", "always", "model.py"]
        done = subprocess.run(
            [sys.executable, "-m", "shapecheck", *command],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 1:
        raise RuntimeError(done.stderr)
    printed, found, _ = done.stdout.partition("\n\n")
    assert found, done.stdout
    lines = Text.from_ansi(printed).split("\n")
    console = Console(width=_COLUMNS, color_system=None)
    return [part for line in lines for part in line.wrap(console, _COLUMNS) or [line]]


def _spans(line: Text) -> Iterator[str]:
    console = Console(color_system=None)
    for segment in line.render(console, end=""):
        style = segment.style or Style()
        number = style.color.number if style.color is not None else None
        color = _PLAIN if number is None else _COLORS[number]
        weight = ' font-weight="bold"' if style.bold else ""
        yield f'<tspan fill="{color}"{weight}>{escaped(segment.text)}</tspan>'


def main() -> None:
    """Draw the picture anew."""
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn(), "utf-8")


if __name__ == "__main__":
    main()
