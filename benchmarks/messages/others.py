"""Asks torch, torchtyc and pyrefly what they say of the programs; writes it to `measured.json`.

Each is set up as its own documentation recommends, in a virtual environment of its own: torchtyc
beside torch, jaxtyping and einops; pyrefly beside `pyrefly-torch-stubs`, `pyrefly-einops-stubs` and
jaxtyping, and with programs in its own notation. A tool whose environment isn't given keeps what it
said before.

    PYTHONPATH=benchmarks python -m messages.others [--torchtyc ENVIRONMENT] [--pyrefly ENVIRONMENT]
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import torch

from .cases import IMPORTS, MEASURED, Bug, Program, bugs
from .ours import ran

Said = dict[str, list[str]]
"""What a tool says, by the name of the file."""
TORCHTYC: Final = IMPORTS + "from jaxtyping import Bool, Float, Int\n"
PYREFLY: Final = (
    "from __future__ import annotations\n"
    + IMPORTS
    + "from jaxtyping import Float\nfrom shape_extensions import Int, IntVar\n"
)
PACKAGES: Final = {
    "torchtyc": ("torchtyc", "torch", "jaxtyping"),
    "pyrefly": ("pyrefly", "pyrefly-torch-stubs", "pyrefly-einops-stubs"),
}


def written(folder: Path, imports: str, spelled: Callable[[Bug], Program]) -> None:
    """Write every program as a file of its own: `wrong_3.py`, `right_3.py`."""
    for number, bug in enumerate(bugs()):
        (folder / f"wrong_{number}.py").write_text(imports + spelled(bug).wrong, "utf-8")
        (folder / f"right_{number}.py").write_text(imports + spelled(bug).right, "utf-8")


def asked(command: Sequence[str | Path], folder: Path) -> str:
    """Run a tool in a folder and return what it prints."""
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout


def torchtyc(environment: Path) -> Said:
    """Return what torchtyc says: each finding with its details, without the line of source.

    Its notes on single annotations (`info`) are left out.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder, TORCHTYC, lambda bug: bug.torchtyc)
        python = environment / "bin" / "python"
        program = environment / "bin" / "torchtyc"
        flags = ["--python", python, "--severity", "warning"]
        printed = asked([program, "check", *flags, "."], folder)
    found: Said = {}
    for part in re.split(r"^(?=\S+\.py:\d+:\d+: )", printed, flags=re.MULTILINE)[1:]:
        head, *rest = part.partition("\n\nFound ")[0].rstrip().splitlines()
        file, line, _, kind = re.fullmatch(r"(?:.*/)?(\w+)\.py:(\d+):(\d+): (.*)", head).groups()  # type: ignore[union-attr]
        details = [text.strip() for text in rest if not re.match(r"\s*\d+ \| ", text)]
        at = int(line) - TORCHTYC.count("\n")
        found.setdefault(file, []).append("\n".join([f"{at}: {kind}", *details]))
    return found


def pyrefly(environment: Path) -> Said:
    """Return what pyrefly says: each error with its details, without the lines of source."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder, PYREFLY, lambda bug: bug.pyrefly)
        python = environment / "bin" / "python"
        settings = f"python-interpreter-path = {json.dumps(str(python))}\n"
        (folder / "pyrefly.toml").write_text(settings, "utf-8")
        printed = asked([environment / "bin" / "pyrefly", "check"], folder)
    found: Said = {}
    for part in re.split(r"^(?=(?:ERROR|WARN) )", printed, flags=re.MULTILINE)[1:]:
        head, *rest = part.rstrip().splitlines()
        place = re.search(r"--> (?:.*/)?(\w+)\.py:(\d+):", part)
        if place is None:
            continue
        details = [t.strip() for t in rest if not re.match(r"\s*(\d*\s*\||-->)", t)]
        at = int(place[2]) - PYREFLY.count("\n")
        said = head.partition(" ")[2]
        found.setdefault(place[1], []).append("\n".join([f"{at}: {said}", *details]))
    return found


TOOLS: Final[Mapping[str, Callable[[Path], Said]]] = {"torchtyc": torchtyc, "pyrefly": pyrefly}


def versions(environment: Path, packages: Sequence[str]) -> list[str]:
    """Return the packages with their versions, as they are installed."""
    code = (
        "import sys; from importlib.metadata import version;"
        "print(*(f'{name} {version(name)}' for name in sys.argv[1:]), sep='\\n')"
    )
    python = environment / "bin" / "python"
    return asked([python, "-c", code, *packages], Path.cwd()).splitlines()


def torch_says(bug: Bug) -> dict[str, str | None]:
    """Return the error of the plain program, with sizes that differ and with equal ones."""
    found = {"wrong": ran(bug, checked=False), "equal": ran(bug, checked=False, equal=True)}
    return {name: None if one.ours else one.error for name, one in found.items()}


def main() -> None:
    """Measure, and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in TOOLS:
        parser.add_argument(f"--{name}", type=Path, help=f"the virtual environment with {name}")
    environments = {n: p.resolve() for n, p in vars(parser.parse_args()).items() if p is not None}
    before = json.loads(MEASURED.read_text("utf-8"))
    today = f"{datetime.datetime.now(datetime.timezone.utc).date()}"
    before["dates"] |= dict.fromkeys(("torch", *environments), today)
    before["versions"]["torch"] = [f"torch {torch.__version__}"]
    said = {bug.title: before["said"].get(bug.title, {}) for bug in bugs()}
    for bug in bugs():
        said[bug.title]["torch"] = torch_says(bug)
    for name, environment in environments.items():
        before["versions"][name] = versions(environment, PACKAGES[name])
        answers = TOOLS[name](environment)
        for number, bug in enumerate(bugs()):
            said[bug.title][name] = {
                which: answers.get(f"{which}_{number}", []) for which in ("wrong", "right")
            }
    before["said"] = said
    MEASURED.write_text(json.dumps(before, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
