"""Builds what is released, here, and tries it: `make wheels`.

    python release/wheels.py dist [--kind pure] [--kind ops] [--kind analysis]
                                  [--torch "torch==2.13.0"]

The source distribution is built twice and has to be the same to the last bit, without a built file
in it. From it the wheels are built: the one of pure Python, the one with the look-up of ops, which
is written in C, and where that is asked for the one in which mypyc has compiled the analysis, too,
which takes minutes. Each is installed into an empty environment where neither a compiler nor torch
can be reached, and tried there (`try_installation.py`); with `--torch`, once more with that.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TRY: Final = ROOT / "release" / "try_installation.py"
INSTALL: Final = ("-m", "pip", "install", "--quiet")
BUILT: Final = (".so", ".pyd", ".pyc", ".o")
KINDS: Final = {"pure": "0", "ops": "", "analysis": "1"}
"""The values of SHAPECHECK_COMPILE that ask for what is compiled."""


class ReleaseError(Exception):
    """What is built can't be released: why."""


def main() -> int:
    """Build and try all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the distributions go")
    parser.add_argument("--kind", action="append", choices=KINDS, help="default: pure and ops")
    parser.add_argument("--torch", metavar="REQUIREMENT", help="what to install as torch")
    options = parser.parse_args()
    try:
        source = sdist(options.folder)
        for kind in options.kind or ("pure", "ops"):
            tried(wheel(source, options.folder, kind), options.torch)
    except ReleaseError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    return 0


def sdist(folder: Path) -> Path:
    """Build the source distribution twice; return it. Raises `ReleaseError`."""
    with tempfile.TemporaryDirectory() as again:
        made = [build("--sdist", ROOT, where, {}) for where in (folder, Path(again))]
        digests = {hashlib.sha256(one.read_bytes()).hexdigest() for one in made}
    if len(digests) != 1:
        raise ReleaseError(f"{made[0].name} is another one each time that it is built")
    with tarfile.open(made[0]) as archive:
        built = [name for name in archive.getnames() if name.endswith(BUILT)]
    if built:
        raise ReleaseError(f"{made[0].name} has built files in it: {', '.join(built)}")
    print(f"{made[0]}: {size(made[0])}, built twice, sha256 {digests.pop()}")
    return made[0]


def wheel(source: Path, folder: Path, kind: str) -> Path:
    """Build a wheel from the source distribution; return it."""
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(source) as archive:
            archive.extractall(scratch, filter="data")
        (unpacked,) = Path(scratch).iterdir()
        variables = {"SHAPECHECK_COMPILE": KINDS[kind]} if KINDS[kind] else {}
        made = build("--wheel", unpacked, folder, variables)
    print(f"{made}: {size(made)}, {kind}")
    return made


def build(what: str, source: Path, folder: Path, variables: dict[str, str]) -> Path:
    """Build one distribution into a folder; return its path."""
    environment = {k: v for k, v in os.environ.items() if k != "SHAPECHECK_COMPILE"}
    environment = {"SOURCE_DATE_EPOCH": last_change(), **environment, **variables}
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "build", what, "--no-isolation", "--outdir", scratch]
        run([*command, str(source)], environment)
        (made,) = Path(scratch).iterdir()
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(made, folder))


def last_change() -> str:
    """Return when the last commit was made, in seconds; that is the date of all that is built."""
    asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "1700000000"


def tried(wheel: Path, torch: str | None) -> None:
    """Install a wheel into an empty environment, and try it. Raises `ReleaseError`."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        alone = {**os.environ, "PATH": str(scripts), "CC": str(scripts / "no-compiler")}
        alone.pop("PYTHONPATH", None)
        for needed in (str(wheel), torch):
            if needed is not None:
                run([str(scripts / "python"), *INSTALL, needed], alone)
                print(f"  {megabytes(Path(folder))} MB with {Path(needed).name}:")
                run([str(scripts / "python"), str(TRY)], alone, shown=True)


def run(command: list[str], environment: dict[str, str], *, shown: bool = False) -> None:
    """Run a command; print what it prints where that is to be shown. Raises `ReleaseError`."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    if shown:
        print("".join(f"  {line}\n" for line in done.stdout.splitlines()), end="")


def size(path: Path) -> str:
    """Return how large a file is, in words."""
    return f"{path.stat().st_size / 1e6:.1f} MB"


def megabytes(folder: Path) -> int:
    """Return how much the files in a folder take, links not counted."""
    files = (one for one in folder.rglob("*") if one.is_file() and not one.is_symlink())
    return round(sum(one.stat().st_size for one in files) / 1e6)


if __name__ == "__main__":
    sys.exit(main())
