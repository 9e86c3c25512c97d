"""The layers of the package: nothing imports upwards, and torch and mypy stay where they belong.

The folders in a package, its rooms, are layers too, and so is a file directly in such a package.
An import counts wherever it stands: inside a function, under `TYPE_CHECKING`, or as
`importlib.import_module("...")` with a literal name. A type that a lower layer needs from a higher
one is a sign that the type belongs in the lower one.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from repository import ROOT

PACKAGE = "shapecheck"
STANDARD_LIBRARY = sys.stdlib_module_names | {"tomllib"}  # of Python 3.11 on


@dataclass(frozen=True, slots=True)
class Layer:
    """The top-level modules of one layer, the layers it stands on, and the packages it may use."""

    modules: frozenset[str]
    on: tuple[str, ...] = ()
    packages: frozenset[str] = frozenset()


COMPILED = frozenset({"mypy_extensions"})  # what says how a class is compiled

# Low to high. A module may import its own layer, and the layers below that it stands on, at any
# depth. `packages` are the third-party ones; the standard library is free to all.
LAYERS = {
    "language": Layer(
        modules=frozenset(
            {
                "spec",
                "dims",
                "dtypes",
                "extras",
                "ipython",
                "config",
                "distributed",
                "late_names",
                "machine",
                "made_from_files",
                "many_objects",
                "markup",
                "parallel",
                "tensor_spec",
                "tensor_dialects",
            }
        ),
        packages=frozenset({"tomli"}) | COMPILED,
    ),
    "shapes": Layer(modules=frozenset({"shapes"}), on=("language",), packages=COMPILED),
    "rules": Layer(
        modules=frozenset({"signatures", "ops", "blame", "explain", "hints"}),
        on=("shapes",),
        packages=COMPILED,
    ),
    "analysis": Layer(modules=frozenset({"analysis"}), on=("rules",), packages=COMPILED),
    "engine": Layer(
        modules=frozenset({"engine"}), on=("analysis",), packages=frozenset({"fsspec"})
    ),
    "project": Layer(
        modules=frozenset({"project"}),
        on=("engine",),
        packages=frozenset({"ast_serialize", "pathspec", "tomli"}),
    ),
    "plugin": Layer(
        modules=frozenset({"mypy_plugin"}),
        on=("project",),
        packages=frozenset({"mypy"}),
    ),
    "run time": Layer(
        modules=frozenset({"runtime", "record", "rewriting", "named", "types", "checkers"}),
        on=("rules",),
        packages=frozenset(
            "torch typeguard beartype pydantic_core jaxtyping einops functorch".split()
            + "numpy pytest rich".split()
        ),
    ),
    "tools": Layer(
        modules=frozenset(
            {"codemod", "cli", "language_server", "notebook", "pytest_plugin", "__main__"}
        ),
        on=("plugin", "run time"),
        packages=frozenset(
            {"argcomplete", "torch", "libcst", "rich", "pytest", "pygls", "lsprotocol"}
            | {"IPython", "mcp"}
        ),
    ),
    # shapecheck/__init__.py hands out the public names, each imported on first use.
    "front": Layer(
        modules=frozenset({"__init__"}),
        on=("tools",),
        packages=frozenset({"torch"}),
    ),
}
# The rooms of each package that has folders in it, low to high: a room imports those in the lines
# before its own, and none beside it. `__init__.py`, the front, imports any; no room imports it.
ROOMS = {
    "analysis": (
        "options pace relevance",
        "host",
        "findings",
        "program",
        "values",
        "annotations",
        "interpreter",
        "kinds",
        "library",
        "suspicions coverage",
        "check",
        "study",
    ),
    "runtime": (
        "internals folders",
        "errors settings",
        "source",
        "annotations",
        "naming",
        "boundary",
        "compiling",
        "decorate",
        "tracing asking",
    ),
    "ops": (
        "saying outer_products",
        "call",
        "agree promotion inquire",
        "create windows",
        "shape",
        "math nn patterns",
        "arrays named",
    ),
    "codemod": ("project", "write", "sources", "propose", "verify", "annotate strip"),
    "cli": (
        "_causes _commands _console _pages _settings _sources",
        "_changes _findings",
        "annotate check coverage explain record reveal strip trace",
        "init lsp mcp",
    ),
    "language_server": (
        "documents settings shifts worker annotation_texts annotating",
        "programs",
        "diagnostics",
        "workspace",
        "actions completion hover inlay_hints navigation",
        "server",
    ),
    "notebook": ("cells questions", "checker past asking shown", "extension"),
    "record": ("rows ranks files", "store", "watch", "hook", "script site"),
}
LEVEL_OF = {
    package: {room: level for level, line in enumerate(lines) for room in line.split()}
    for package, lines in ROOMS.items()
}
LAYER_OF = {module: name for name, layer in LAYERS.items() for module in layer.modules}
WITHOUT_TORCH = ("language", "shapes", "rules", "analysis", "engine", "project", "plugin")
FREE_NAMES = {"__version__"}  # of shapecheck/__init__.py, for every layer


def test_every_module_keeps_to_its_layer() -> None:
    """Each import in shapecheck/ stays in its layer or goes to one below."""
    faults = [fault for path, text in sources() for fault in layer_faults(path, text)]
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


def test_importing_below_the_run_time_never_imports_torch() -> None:
    """Every module below the run time, and the plugin, loads without loading torch."""
    blame = run_python(
        "import importlib, sys\n"
        f"for name in {torch_free_modules()!r}:\n"
        "    importlib.import_module(name)\n"
        "    if 'torch' in sys.modules:\n"
        "        sys.exit(f'importing {name} imports torch')\n"
    )
    if blame:
        pytest.fail(blame, pytrace=False)


def test_everything_below_the_run_time_imports_without_torch() -> None:
    """The same modules load in an environment that has no torch."""
    blame = run_python(
        "import importlib, sys\n"
        "sys.modules['torch'] = None\n"
        f"for name in {torch_free_modules()!r}:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except ImportError as error:\n"
        "        sys.exit(f'{name} does not import where there is no torch: {error}')\n"
    )
    if blame:
        pytest.fail(blame, pytrace=False)


@pytest.mark.parametrize(
    ("path", "source", "fault"),
    [
        ("spec.py", "from shapecheck.dims import Size", None),
        ("shapes.py", "from .spec import parse", None),
        ("ops/shape/reshape.py", "from ...shapes import Shape", None),
        ("ops/shape/reshape.py", "from . import indexing", None),
        ("ops/shape/reshape.py", "from ..call import Call", None),
        ("ops/named/joins.py", "def f():\n    from ..shape.axes import permute", None),
        ("ops/__init__.py", "from shapecheck.ops.named import joins", None),
        ("codemod/sources/comments.py", "from shapecheck.codemod.write import edit", None),
        ("analysis/library/lists.py", "from shapecheck.analysis.values import model", None),
        ("analysis/study/study.py", "from shapecheck.analysis.check.module import check", None),
        ("cli/check/text.py", "from shapecheck import mypy_plugin, runtime", None),
        ("cli/check/text.py", "from shapecheck.cli._console import width", None),
        ("runtime/asking/claims.py", "from shapecheck.runtime.boundary.locals import fit", None),
        ("mypy_plugin/__init__.py", "from shapecheck import __version__", None),
        ("runtime/__init__.py", "import torch.nn", None),
        ("runtime/__init__.py", "from .naming import carry", None),
        ("spec.py", "import shapecheck.shapes", "spec (language) imports shapes (shapes)"),
        ("spec.py", "from shapecheck import Float", "spec (language) imports __init__ (front)"),
        (
            "ops/shape/cat.py",
            "from ...analysis.host import Host",
            "ops (rules) imports analysis (analysis)",
        ),
        ("ops/shape/cat.py", "def f():\n    from .... import up", "goes above the package"),
        (
            "analysis/values/walk.py",
            "from ... import mypy_plugin",
            "analysis (analysis) imports mypy_plugin",
        ),
        (
            "mypy_plugin/hooks.py",
            "from shapecheck.runtime import check",
            "imports runtime (run time)",
        ),
        ("named/__init__.py", "import shapecheck.analysis", "imports analysis (analysis)"),
        ("analysis/host.py", "import mypy.nodes", "imports mypy, which only plugin may"),
        ("project/search.py", "import mypy.nodes", "imports mypy, which only plugin may"),
        ("runtime/source.py", "from mypy import api", "imports mypy, which only plugin may"),
        ("mypy_plugin/hooks.py", "def f():\n    import torch", "imports torch, which only"),
        (
            "explain.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch import Tensor",
            "explain.py:3: explain (rules) imports torch",
        ),
        ("spec.py", "import importlib\nimportlib.import_module('torch')", "spec.py:2: spec"),
        (
            "ops/shape/cat.py",
            "from importlib import import_module\nimport_module('...cli', 'x')",
            "imports cli",
        ),
        ("spec.py", "import pandas", "imports pandas, which no layer may"),
        ("helpers.py", "", "helpers has no layer"),
        (
            "runtime/naming/records.py",
            "def f():\n    from shapecheck.runtime.boundary.binding import Binding",
            "records.py:2: runtime/naming imports runtime/boundary, which isn't below it",
        ),
        (
            "ops/math/reduce.py",
            "from ..nn import conv",
            "ops/math imports ops/nn, which isn't below it: saying outer_products <- call",
        ),
        ("ops/call.py", "from .agree import meet", "ops/call imports ops/agree, which isn't"),
        (
            "codemod/write/edit.py",
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    import shapecheck.codemod.verify.doubts",
            "codemod/write imports codemod/verify, which isn't below it",
        ),
        (
            "analysis/values/heap.py",
            "import shapecheck.analysis.check.module as m",
            "analysis/values imports analysis/check, which isn't below it",
        ),
        (
            "analysis/coverage/causes.py",
            "from shapecheck.analysis import study",
            "analysis/coverage imports analysis/study, which isn't below it",
        ),
        (
            "cli/annotate.py",
            "from shapecheck.cli.record import run",
            "cli/annotate imports cli/record, which isn't below it",
        ),
        (
            "ops/shape/reshape.py",
            "from shapecheck.ops import Call",
            "ops/shape imports ops/__init__, which isn't below it",
        ),
        ("ops/cat.py", "", "ops/cat has no room"),
        ("spec/inner/parse.py", "", "spec/inner has no room"),
    ],
)
def test_the_rule_itself(path: str, source: str, fault: str | None) -> None:
    """What the rule lets through, and what it says of the rest."""
    faults = layer_faults(Path(PACKAGE, path), source)
    if fault is None:
        assert not faults
    else:
        assert len(faults) == 1
        assert fault in faults[0]


def layer_faults(path: Path, source: str) -> list[str]:
    """Say what each forbidden import of one file breaks; `path` is relative to the repository."""
    module = path.parts[1].removesuffix(".py")
    if module not in LAYER_OF:
        return [
            f"{path}: {module} has no layer. Name it in LAYERS ({Path(__file__).name}), in the"
            " lowest layer that stands above all it imports."
        ]
    room = room_of(path.parts[1:])
    if room is not None and room != "__init__" and room not in LEVEL_OF.get(module, {}):
        return [
            f"{path}: {module}/{room} has no room. Name it in ROOMS ({Path(__file__).name}), above"
            " all that it imports."
        ]
    faults = []
    for line, target in imports(path, ast.parse(source, str(path))):
        if target is None:
            faults.append(f"{path}:{line}: the relative import goes above the package")
        elif reason := forbidden(module, target):
            faults.append(f"{path}:{line}: {module} ({LAYER_OF[module]}) {reason}")
        elif other := not_below(path, target):
            faults.append(
                f"{path}:{line}: {module}/{room} imports {module}/{other}, which isn't below it: "
                + " <- ".join(ROOMS[module])
            )
    return faults


def not_below(path: Path, target: str) -> str | None:
    """Return the room that an import leads to where it is in the same package, but not below."""
    package, room = path.parts[1], room_of(path.parts[1:])
    levels = LEVEL_OF.get(package, {})
    home, of, named, *_ = *target.split("."), "", "", ""
    if room not in levels or (home, of) != (PACKAGE, package):
        return None
    other = named if named in levels else "__init__"
    above = levels.get(other, len(levels)) >= levels[room]
    return other if other != room and above else None


def room_of(parts: tuple[str, ...]) -> str | None:
    """Return the room of a file in a package; None where the package has no rooms."""
    package, *inside = parts
    if not inside or (package not in ROOMS and len(inside) == 1):
        return None
    return inside[0].removesuffix(".py")


def imports(path: Path, tree: ast.Module) -> Iterator[tuple[int, str | None]]:
    """Yield the line and dotted target of every import; None for one that leaves the package."""
    package = path.parent.parts  # of an __init__.py too: its relative imports start at itself
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield node.lineno, alias.name
            case ast.ImportFrom(module=module, names=names, level=level):
                stem = absolute("." * level + (module or ""), package)
                for alias in names if stem else names[:1]:
                    yield node.lineno, stem and f"{stem}.{alias.name}"
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, absolute(name, package)


def absolute(name: str, package: tuple[str, ...]) -> str | None:
    """Resolve leading dots against the package; None where they go above it."""
    stem = name.lstrip(".")
    level = len(name) - len(stem)
    if not level:
        return name
    if level > len(package):
        return None
    return ".".join((*package[: len(package) - level + 1], stem)).removesuffix(".")


def forbidden(module: str, target: str) -> str | None:
    """Say why `module` may not import the dotted `target`; None where it may."""
    package, _, rest = target.partition(".")
    layer = LAYER_OF[module]
    if package == PACKAGE:
        name = rest.partition(".")[0]
        if name in FREE_NAMES:
            return None
        imported = name if name in LAYER_OF else "__init__"
        target_layer, allowed = LAYER_OF[imported], reachable(layer)
        if target_layer in allowed:
            return None
        return f"imports {imported} ({target_layer}), but may import only: {', '.join(allowed)}"
    if package in STANDARD_LIBRARY or package in LAYERS[layer].packages:
        return None
    users = [name for name, other in LAYERS.items() if package in other.packages]
    return f"imports {package}, which {'only ' + ', '.join(users) if users else 'no layer'} may"


def reachable(layer: str) -> list[str]:
    """Return the layer and all that it stands on, low to high."""
    found = {layer}
    for name in reversed(LAYERS):
        if name in found:
            found.update(LAYERS[name].on)
    return [name for name in LAYERS if name in found]


def source_files() -> list[Path]:
    """List the Python files of the package."""
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    assert files, f"no {PACKAGE}/ in {ROOT}"
    return files


def sources() -> Iterator[tuple[Path, str]]:
    """Yield the path in the repository and the text of every Python file of the package."""
    for path in source_files():
        yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def torch_free_modules() -> list[str]:
    """List the dotted names of every module below the run time and of the plugin, low to high."""
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for layer in WITHOUT_TORCH
        for path in source_files()
        if LAYER_OF.get(path.relative_to(ROOT).parts[1].removesuffix(".py")) == layer
    ]


def run_python(program: str) -> str:
    """Run a program in a fresh interpreter at the repository's root; return its errors, if any."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr if done.returncode else ""
