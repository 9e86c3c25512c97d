"""`install_import_hook` and `pytest --shapecheck`: checks without an edit."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from repository import ROOT

from shapecheck import ShapeError, install_import_hook, pytest_plugin

MODELS = """
    \"\"\"Models.\"\"\"

    from __future__ import annotations

    from dataclasses import dataclass
    from functools import cache
    from typing import overload

    import torch
    from jaxtyping import Float
    from torch import Tensor, nn

    registry = {}

    def register(function):
        registry[function.__name__] = function
        return None

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
            return self.fc(x).transpose(1, 2).transpose(1, 2)

        @staticmethod
        def loss(x: Float[Tensor, "b"], y: Float[Tensor, "b"]) -> Float[Tensor, ""]:
            return (x - y).square().mean()

        @property
        def weight(self) -> Float[Tensor, "3 3"]:
            return self.fc.weight

    @dataclass
    class Batch:
        x: Float[Tensor, "b t"]
        y: Float[Tensor, "b"]

    @register
    def swapped(x: Float[Tensor, "b t"]) -> Float[Tensor, "t b"]:
        return x

    @register
    class Gone: ...

    @overload
    def twice(x: int) -> int: ...
    @overload
    def twice(x: Float[Tensor, "b"]) -> Float[Tensor, "2*b"]: ...
    def twice(x):
        return 2 * x

    @torch.jit.script
    def scripted(x: Tensor, n: int) -> Tensor:
        return x * n

    def outer():
        def inner(x: Float[Tensor, "n"]) -> Float[Tensor, "n+1"]:
            return x
        return inner

    def plain(x, y=1):
        return x

    def first(x: Float[Tensor, "n"], count: int = None) -> "list[Tensor]":
        return x[:count]

    @dataclass
    class Sizes:
        width: int
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that can be imported, with a name of its own."""
    name = f"hooked_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "models.py").write_text(textwrap.dedent(MODELS))
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for loaded in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[loaded]


@pytest.fixture
def models(package: str) -> Any:
    """The module, decorated."""
    with install_import_hook(package):
        return import_module(f"{package}.models")


def test_functions_methods_and_classes_are_checked(models: Any) -> None:
    """In each form, wherever they are defined."""
    net = models.Net()
    assert net(torch.zeros(2, 3, 4)).shape == (2, 3, 4)
    wrong = [
        lambda: net(torch.zeros(2, 4)),
        lambda: net.loss(torch.zeros(2), torch.zeros(3)),
        lambda: net.weight,
        lambda: models.Batch(torch.zeros(2, 3), torch.zeros(4)),
        lambda: models.registry["swapped"](torch.zeros(3, 3)),
        lambda: models.outer()(torch.zeros(3)),
    ]
    for call in wrong:
        with pytest.raises(ShapeError):
            call()


def test_the_rest_of_the_module_is_as_it_was(models: Any) -> None:
    """What has no shapes, what isn't a function, and what another compiler reads."""
    assert models.__doc__ == "Models."
    assert models.Gone is None
    assert models.plain.__code__.co_filename == models.__file__
    assert models.twice(3) == 6
    assert isinstance(models.scripted, torch.jit.ScriptFunction)
    assert models.Net.forward.__name__ == "forward"


def test_only_shapes_are_checked(models: Any) -> None:
    """Other hints are often wrong, and nobody asked what they are worth."""
    assert models.Sizes(1.5).width == 1.5
    assert models.first(torch.zeros(3), np.int64(2)).shape == (2,)
    assert not hasattr(models.Sizes.__init__, "__wrapped__")
    with pytest.raises(ShapeError):
        models.first(torch.zeros(3, 3), 2)


def test_errors_point_into_the_module(models: Any) -> None:
    """The lines of the module are its own, in messages and in tracebacks."""
    with pytest.raises(ShapeError) as caught:
        models.registry["swapped"](torch.zeros(2, 3))
    lines = Path(models.__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.strip() == "return x")
    assert f"models.py:{line}: return x" in str(caught.value)


def test_other_packages_are_left_alone(package: str) -> None:
    """The hook goes by whole names, and says which of those nothing has."""
    with pytest.warns(RuntimeWarning) as caught, install_import_hook(package[:-1], "zzz.inner"):
        models = import_module(f"{package}.models")
    told = [one for one in caught if one.category is RuntimeWarning]
    begins = "install_import_hook("
    ends = ") has checked nothing: no module of that name was imported after it"
    assert sorted(str(one.message) for one in told) == [
        f'{begins}"{package[:-1]}"{ends}; did you mean "{package}"?',
        f'{begins}"zzz.inner"{ends}',
    ]
    assert {one.filename for one in told} == {__file__}
    assert models.Net()(torch.zeros(2, 3, 4)) is not None
    models.Batch(torch.zeros(2, 3), torch.zeros(4))


def test_the_hook_ends(package: str) -> None:
    """What is imported after that isn't decorated."""
    install_import_hook(package).uninstall()
    models = import_module(f"{package}.models")
    models.Batch(torch.zeros(2, 3), torch.zeros(4))


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("hook = install_import_hook('hookd')\nimport hooked", 2),
        ("hook = install_import_hook('hookd')\nimport hooked\nhook.uninstall()", 0),
        ("hook = install_import_hook('hooked')\nimport hooked", 0),
        ("with install_import_hook('hookd'):\n    import hooked", 2),
        ("with install_import_hook('hookd'):\n    raise SystemExit", 0),
    ],
    ids=["process", "uninstalled", "met", "block", "raised"],
)
def test_a_program_is_told_of_a_hook_that_matches_nothing(
    tmp_path: Path, program: str, line: int
) -> None:
    """At its end, at the line of the hook; not where the hook was met or ended before."""
    (tmp_path / "hooked.py").write_text("")
    (tmp_path / "main.py").write_text(f"from shapecheck import install_import_hook\n{program}\n")
    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = (
        f'main.py:{line}: RuntimeWarning: install_import_hook("hookd") has checked nothing: no '
        'module of that name was imported after it; did you mean "hooked"?'
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RuntimeWarning") == bool(line)
    assert not line or said in done.stderr


def test_too_late() -> None:
    """A package that is there already is named in a warning."""
    import_module("einops")
    said = r'\("einops"\) comes too late for what has been imported of "einops"'
    with pytest.warns(RuntimeWarning, match=said):
        hook = install_import_hook("einops")
    hook.uninstall()


@pytest.mark.parametrize("name", ["", "my-package", "a/b.py", "a..b"])
def test_no_name_of_a_module(name: str) -> None:
    """A path or a distribution's name is refused."""
    with pytest.raises(ValueError, match="is no name of a module"):
        install_import_hook(name)
    with pytest.raises(ValueError, match="takes the names of one package or more"):
        install_import_hook()


def test_a_malformed_annotation_is_a_warning(package: str, tmp_path: Path) -> None:
    """The import goes on; the function isn't checked."""
    text = "from torch import Tensor\nfrom typing import Annotated\n"
    text += 'def f(x: Annotated[Tensor, "b, c"]) -> None: ...\n'
    (tmp_path / package / "odd.py").write_text(text)
    with install_import_hook(package), pytest.warns(RuntimeWarning, match="isn't checked"):
        odd = import_module(f"{package}.odd")
    odd.f(torch.zeros(3))


def test_nothing_is_left_in_the_bytecode_cache(
    package: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import without the hook, in another process, doesn't find decorated code."""
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    models = request.getfixturevalue("models")
    program = f"from {package}.models import Batch; import torch; Batch(torch.zeros(2, 3), 0)"
    root = Path(models.__file__).parents[1]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root)


# pytest -------------------------------------------------------------------------------------------


def run_pytest(folder: Path, *arguments: str) -> str:
    """Run pytest in a folder and return what it printed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.fixture
def project(package: str, tmp_path: Path) -> Path:
    """A project with a test that passes although a shape is wrong."""
    (tmp_path / "conftest.py").write_text(f"from {package} import models\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "test_models.py").write_text(
        f"import torch\nfrom {package}.models import Batch\n"
        "def test_batch():\n    assert Batch(torch.zeros(2, 3), torch.zeros(4)).y.shape == (4,)\n"
    )
    return tmp_path


def test_pytest_without_the_option(project: Path) -> None:
    """Installed is not switched on."""
    printed = run_pytest(project)
    assert "1 passed" in printed
    assert "shapecheck: checks" not in printed


@pytest.mark.parametrize("given", ["NAME", "."])
def test_pytest_with_the_option(project: Path, package: str, given: str) -> None:
    """The package is checked though a conftest.py imports it, by name or because it is there."""
    printed = run_pytest(project, f"--shapecheck={package if given == 'NAME' else given}")
    assert f"shapecheck: checks the shapes in {package}" in printed
    assert "ShapeError" in printed
    assert "1 failed" in printed


@pytest.mark.parametrize("given", [(), ("--shapecheck-variables",)])
def test_pytest_with_annotated_variables(
    given: tuple[str, ...], project: Path, package: str
) -> None:
    """They are checked where that is asked for."""
    (project / package / "variables.py").write_text(
        "from torch import Tensor\nfrom shapecheck import Float\n"
        'def turn(x: Float[Tensor, "a b"]):\n'
        '    y: Float[Tensor, "b a"] = x\n    return y\n'
    )
    (project / "test_models.py").write_text(
        f"import torch\nfrom {package}.variables import turn\n"
        "def test_turn():\n    assert turn(torch.zeros(2, 3)).shape == (2, 3)\n"
    )
    printed = run_pytest(project, f"--shapecheck={package}", *given)
    assert ("1 failed" if given else "1 passed") in printed
    assert ('"x" is (a b), declared "b a"' in printed) == bool(given)


def test_pytest_with_a_wrong_name(project: Path) -> None:
    """The reason, and no traceback."""
    printed = run_pytest(project, "--shapecheck=my-package")
    assert 'ERROR: --shapecheck: "my-package" is no name of a module\n' in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "xdist"])
def test_pytest_with_a_misspelt_name(project: Path, package: str, workers: list[str]) -> None:
    """Tests that pass have checked nothing: the run fails, and the line says why."""
    if workers:
        pytest.importorskip("xdist")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *workers]
    command.append(f"--shapecheck={package}x")
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    said = f'{package}x isn\'t checked: there is no such package; did you mean "{package}"?\n'
    assert f"\nshapecheck: {said}" in done.stdout
    assert "no shape error" not in done.stdout


def test_pytest_with_a_package_that_is_imported_already(project: Path, package: str) -> None:
    """The line says that it isn't checked."""
    printed = run_pytest(project, "-p", f"{package}.models", f"--shapecheck={package}")
    said = f"{package} isn't checked: it was imported before shapecheck could begin\n"
    assert f"\nshapecheck: {said}" in printed


def test_pytest_without_a_name(project: Path, package: str) -> None:
    """All packages of the folder; where all is well, the line says what was checked."""
    (project / "test_models.py").write_text(
        f"from {package} import models\n\ndef test_nothing():\n    assert models\n"
    )
    printed = run_pytest(project, "test_models.py", "--shapecheck")
    assert re.search(rf"\nshapecheck: no shape error in \d modules? of {package}\n", printed)


def test_pytest_on_several_ranks(
    project: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `torchrun -m pytest` each tells of its own tests; the line says which one it is."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    (project / "test_models.py").write_text(
        f"from {package} import models\n\ndef test_nothing():\n    assert models\n"
    )
    printed = run_pytest(project, "test_models.py", f"--shapecheck={package}")
    assert re.search(
        rf"\nshapecheck: no shape error in \d modules? of {package} on rank 1 of 2\n", printed
    )


def test_what_workers_say_of_a_package_that_none_has_checked() -> None:
    """Why it isn't is the same, whichever of them ends first."""
    reasons = [
        ("it was imported before shapecheck could begin", False),
        ("these tests don't import it", False),
        ("there is no such package", True),
    ]
    told = set()
    for order in itertools.permutations(reasons):
        config: Any = SimpleNamespace(stash=pytest.Stash())
        for reason in order:
            pytest_plugin._gather(config, {}, {"pkg": reason})
        told.add(config.stash[pytest_plugin._REASONS]["pkg"])
    assert told == {reasons[0]}


def test_pytest_where_checks_are_off(
    project: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line doesn't say that all is well."""
    monkeypatch.setenv("SHAPECHECK", "off")
    (project / "test_models.py").write_text(
        f"from {package} import models\n\ndef test_nothing():\n    assert models\n"
    )
    printed = run_pytest(project, "test_models.py", f"--shapecheck={package}")
    assert "\nshapecheck: nothing is checked: SHAPECHECK is off\n" in printed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "--shapecheck= names no package; without = it means all packages"),
        ("src/my_pkg/net.py", 'is no name of a module; did you mean "src.my_pkg.net"?'),
        ("my-pkg", '--shapecheck: "my-pkg" is no name of a module'),
    ],
)
def test_pytest_with_what_is_no_package(project: Path, given: str, said: str) -> None:
    """It is a usage error, and says what would be right."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--shapecheck={given}"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.startswith("ERROR: ")
    assert said in done.stderr


def test_pytest_takes_no_tests_for_a_package(project: Path) -> None:
    """A path behind the option without a name is one of tests, and not what is to be checked."""
    (project / "test_it.py").write_text("def test_it():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--shapecheck"]
    done = subprocess.run(
        [*command, "test_it.py"], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.strip() == (
        'ERROR: --shapecheck: "test_it.py" is no name of a module; did you mean "test_it"? '
        "To check all packages in the tests there: --shapecheck=. test_it.py"
    )


def test_the_plugin_alone_doesnt_import_torch() -> None:
    """pytest loads it in every run."""
    program = "import shapecheck.pytest_plugin, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
