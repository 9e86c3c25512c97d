"""What is found in programs that use real libraries, and how long it takes.

    python benchmarks/libraries/run.py PYTHON

PYTHON is that of an environment with the libraries (not torch, which nothing runs):

    pip install --no-deps transformers timm diffusers torchvision kornia x-transformers
    segmentation_models_pytorch lightning pytorch_lightning accelerate torchmetrics huggingface_hub

Each program of `programs` is right but for the lines that end in `# BUG`, and says so for itself:
on these an error is told, and on no other. Seconds are those of the first run and of the second,
which has what the first one found.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

PROGRAMS: Final = Path(__file__).parent / "programs"


def errors_in(program: Path, python: str, cache: str) -> tuple[set[int], float]:
    """Return the lines on which an error is told, and the seconds that it took."""
    command = [sys.executable, "-m", "shapecheck", "check", "--only-shapes", "--color", "never"]
    options = ["--python-executable", python, "--cache-dir", cache]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, str(program), "--", *options], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    found = re.finditer(rf"{re.escape(program.name)}:(\d+):\d+: error", done.stdout)
    return {int(one[1]) for one in found}, seconds


def main() -> int:
    """Check every program twice; return 1 where an error is told of a right line."""
    python, found, planted, false = sys.argv[1], 0, 0, 0
    for program in sorted(PROGRAMS.glob("*.py")):
        lines = program.read_text(encoding="utf-8").splitlines()
        bugs = {at for at, line in enumerate(lines, start=1) if line.endswith("# BUG")}
        with tempfile.TemporaryDirectory() as cache:
            told, cold = errors_in(program, python, cache)
            again, warm = errors_in(program, python, cache)
        assert told == again, program
        found, planted = found + len(told & bugs), planted + len(bugs)
        false += len(told - bugs)
        wrong = f"  false: {sorted(told - bugs)}" if told - bugs else ""
        score = f"{len(told & bugs)} of {len(bugs)}"
        print(f"{program.stem:24} {score}  {cold:5.1f} s, then {warm:.1f} s{wrong}")
    print(f"{found} of {planted} found, {false} false")
    return int(false > 0)


if __name__ == "__main__":
    sys.exit(main())
