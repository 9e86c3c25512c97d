"""Runs the tests of the run time with several versions of torch: `make torches`.

    python release/torches.py "2.4.*" "2.13.0" ">=2.13"

Without versions: the oldest that is supported, the one that shapecheck is developed with, and the
newest. Each has an environment of its own in `build/torch`, made with the tests' requirements when
it is first asked for. PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu spares Linux users
torch's CUDA libraries. Exits with 1 where tests failed, once all versions were tried.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
VERSIONS: Final = ("2.4.*", "2.13.0", ">=2.13")
TESTS: Final = ("runtime", "named", "first_class", "systems", "test_examples.py", "test_types.py")


def requirement(version: str) -> str:
    """Return what pip takes for a version, or for a range of them."""
    return f"torch{version}" if version[:1] in "<>=~!" else f"torch=={version}"


def environment(wanted: str) -> Path:
    """Return the Python of the environment with such a torch, which is made if there is none."""
    folder = ROOT / "build" / "torch" / re.sub(r"\W+", "-", wanted)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = folder / ".installed"
    if not done.is_file():
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--editable", f"{ROOT}[test]"]
        subprocess.run([*install, wanted], check=True)
        done.touch()
    return python


def main(versions: list[str]) -> int:
    """Run the tests with each version; return the exit code."""
    failed = []
    for version in versions or VERSIONS:
        python = environment(requirement(version))
        asked = [str(python), "-c", "import torch; print(torch.__version__)"]
        found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
        print(f"torch {found}", flush=True)
        tests = [str(ROOT / "tests" / name) for name in TESTS]
        command = [str(python), "-m", "pytest", "-q", "-n", "auto", *tests]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(found)
    print(f"failed with torch {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
