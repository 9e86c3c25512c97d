"""Runs the analysis over a folder of sources, without mypy; prints what it found as JSON.

python benchmarks/corpus/alone.py FOLDER [--shapes]

With `--shapes` it also counts of how many tensors in annotated functions the shape is known.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from mutation.static import Folder  # noqa: E402

from shapecheck import analysis  # noqa: E402
from shapecheck.analysis import Options, Source, analyze_module  # noqa: E402

LIBRARIES = ("torch", "jaxtyping", "shapecheck")


def sources(folder: Path) -> list[Source]:
    """Return the modules below a folder that have to do with tensors, and that Python can parse."""
    found = []
    for path in sorted(one for one in folder.rglob("*.py") if one.is_file()):
        text = path.read_text("utf-8", errors="replace")
        if any(library in text for library in LIBRARIES):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join(parts[1:] if parts[0] == "src" else parts).removesuffix(".__init__")
            found.append(Source(name, str(path.relative_to(folder)), text))
    return found


def measure(folder: Path, counting: bool) -> dict[str, Any]:
    """Analyse every module; return reports, crashes, seconds, lines and what is known if asked."""
    host = Folder(folder, folder / "src")
    reports: list[str] = []
    crashes: list[str] = []
    unparsable: list[str] = []
    known: list[Source] = []
    lines = 0
    start = time.perf_counter()
    for source in sources(folder):
        try:
            found = analyze_module(source, host, Options())
        except SyntaxError as error:
            unparsable.append(f"{source.path}:{error.lineno}: {error.msg}")
            continue
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            crashes.append(f"{source.path}: {type(error).__name__}: {error}")
            continue
        known.append(source)
        lines += source.text.count("\n")
        for one in found:
            said = f"{source.path}:{one.span.line}: {one.message}"
            if one.severity == "error":
                reports.append(f"{said}  [{one.code}]")
            elif "internal error" in one.message:
                crashes.append(said)
    seconds = time.perf_counter() - start
    return {
        "lines": lines,
        "seconds": seconds,
        "reports": reports,
        "crashes": crashes,
        "unparsable": unparsable,
        "shapes": coverage(known, host) if counting else None,
    }


def coverage(known: list[Source], host: Folder) -> dict[str, int] | None:
    """Count the tensor-valued expressions in annotated functions by what is known of them."""
    count = getattr(analysis, "measure", None)
    if count is None:
        return None
    total = dict.fromkeys(("known", "partial", "unknown"), 0)
    for source in known:
        try:
            found = count(source, host, Options())
        except Exception:  # noqa: BLE001 - a crash has been counted above
            continue
        for kind in total:
            total[kind] += getattr(found, kind)
    return total


if __name__ == "__main__":
    sys.setrecursionlimit(1 << 14)  # as mypy does
    print(json.dumps(measure(Path(sys.argv[1]), "--shapes" in sys.argv[2:])))
