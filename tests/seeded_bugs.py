"""The example models and their seeded bugs, as the static side and the run time see them.

Run as a program, this executes the modules of a folder and prints what became of each: that is
how `run` keeps torch, and the value of SHAPECHECK, out of the process that asks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from repository import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXAMPLES = ROOT / "examples"
MODELS = tuple(sorted(path.stem for path in (EXAMPLES / "bugs").glob("*.toml")))
SECONDS = 600
"""How long one module may run."""


@dataclass(frozen=True, slots=True)
class Bug:
    """A one-line edit of an example; the fields are those of `examples/bugs/README.md`."""

    model: str
    name: str
    find: str
    replace: str
    description: str
    kind: str
    seen_by: str
    hidden_by_equal_sizes: bool = False
    static: str = ""
    runtime: str = ""
    other_error: str = ""

    @property
    def id(self) -> str:
        """The bug's name among those of all models."""
        return f"{self.model}/{self.name}"

    @property
    def module(self) -> str:
        """A name for the module with the bug in it."""
        return f"{self.model}__{self.name.replace('-', '_')}"

    @property
    def source(self) -> str:
        """The text of the example with the bug in it."""
        text = example(self.model)
        assert text.count(self.find) == 1, f"{self.id}: not exactly one line is {self.find!r}"
        return text.replace(self.find, self.replace)


@cache
def example(model: str) -> str:
    """Return the text of an example."""
    return (EXAMPLES / f"{model}.py").read_text(encoding="utf-8")


@cache
def bugs(*models: str) -> tuple[Bug, ...]:
    """Return the bugs of the models, of all without any, in the order of their files."""
    found: list[Bug] = []
    for model in models or MODELS:
        text = (EXAMPLES / "bugs" / f"{model}.toml").read_text(encoding="utf-8")
        found += (Bug(model, **entry) for entry in tomllib.loads(text)["bug"])
    return tuple(found)


def with_jaxtyping(source: str) -> str:
    """Return an example's text with jaxtyping's types in the place of ours, line for line."""
    (line,) = (one for one in source.splitlines() if one.startswith("from shapecheck import "))
    names = line.removeprefix("from shapecheck import ").split(", ")
    assert names[-1] == "shapecheck", line
    imports = f"from jaxtyping import {', '.join(names[:-1])}; from shapecheck import shapecheck"
    return source.replace(line, imports)


# The static side --------------------------------------------------------------------------------


class _NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> None:
        """There is none."""


def analyzed(source: str) -> list[str]:
    """Return what the analysis says of a text, a line for each error and note."""
    from shapecheck.analysis import Options, Source, analyze_module

    return [
        f"{found.span.line}:{found.span.column}: {found.severity}: {found.message}  [{found.code}]"
        for found in analyze_module(Source("model", "model.py", source), _NoSources(), Options())
    ]


def errors(lines: Iterable[str]) -> list[tuple[int, str]]:
    """Return the line number and the text of each error among lines of the static side."""
    parts = (line.split(": ", 2) for line in lines)
    return [(int(at.split(":")[0]), text) for at, kind, text in parts if kind == "error"]


# The run time -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a module's `main`: the kind of error that ended it, or an empty text.

    `digests` are those of the outputs and gradients of one step of the model: as it is, and
    under `disabled()`.
    """

    error: str
    text: str
    line: int
    printed: str
    seconds: float
    digests: tuple[str, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether shapecheck stopped it."""
        return self.error == "ShapeError"


def run(sources: Mapping[str, str], folder: Path, mode: str = "full") -> dict[str, Ran]:
    """Execute modules, given by name, one after the other in one process of their own.

    `mode` is what SHAPECHECK says. An error inside of shapecheck isn't passed over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    variables = {"SHAPECHECK": mode, "SHAPECHECK_DEBUG": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__).resolve()), str(folder), *sources],
        env={**os.environ, **variables, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60 + SECONDS * len(sources),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = {}
    for line in done.stdout.splitlines():
        fields = json.loads(line)
        name = fields.pop("name")
        found[name] = Ran(**{**fields, "digests": tuple(fields["digests"])})
    assert found.keys() == sources.keys()
    return found


def _execute(folder: Path, names: list[str]) -> None:
    import contextlib
    import io
    import signal
    import time

    import torch

    torch.set_num_threads(1)
    out = sys.stdout
    for name in names:
        report: dict[str, Any] = {"name": name, "error": "", "text": "", "line": 0, "digests": ()}
        printed = io.StringIO()
        start = time.perf_counter()
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, _too_long)
            signal.alarm(SECONDS)
        try:
            with contextlib.redirect_stdout(printed):
                module = _load(name, folder / f"{name}.py")
                module.main()
                if name in MODELS:
                    report["digests"] = _digests(module)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            report["error"] = type(error).__name__
            report["text"] = str(error)
            report["line"] = _line(error, folder / f"{name}.py")
        if hasattr(signal, "SIGALRM"):
            signal.alarm(0)
        report["printed"] = printed.getvalue()
        report["seconds"] = time.perf_counter() - start
        out.write(json.dumps(report) + "\n")


def _too_long(*_: object) -> None:
    raise TimeoutError(f"it ran for more than {SECONDS} s")


def _load(name: str, path: Path) -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _line(error: BaseException, path: Path) -> int:
    """Return the line of the module that an error names, or the innermost that was running."""
    import re
    import traceback

    place = re.search(rf"^  at {re.escape(str(path))}:(\d+)", str(error), re.MULTILINE)
    if place is not None:
        return int(place[1])
    frames = traceback.extract_tb(error.__traceback__)
    return next((f.lineno or 0 for f in reversed(frames) if f.filename == str(path)), 0)


def _digests(module: Any) -> tuple[str, str]:
    from shapecheck import disabled

    checked = _digest(module)
    with disabled():
        return checked, _digest(module)


def _digest(module: Any) -> str:
    """Return a digest of all bits of the outputs and gradients of one step."""
    import hashlib

    import torch

    model = module.build()
    inputs = module.example_inputs()
    torch.manual_seed(2)
    results = model(*inputs)
    tensors = (
        [results] if isinstance(results, torch.Tensor) else [r for r in results if r is not None]
    )
    total = sum(t.float().square().sum() for t in tensors)
    assert isinstance(total, torch.Tensor)
    total.backward()
    hashed = hashlib.sha256()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    assert grads
    for tensor in (*inputs, *tensors, *grads):
        assert type(tensor) is torch.Tensor
        hashed.update(repr((tensor.shape, tensor.dtype, tensor.stride())).encode())
        hashed.update(tensor.detach().contiguous().numpy().tobytes())
    return hashed.hexdigest()


if __name__ == "__main__":
    _execute(Path(sys.argv[1]), sys.argv[2:])
