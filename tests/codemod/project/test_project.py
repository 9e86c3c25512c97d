"""A project's own modules are found, whatever of it is annotated and from where."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shapecheck.codemod.annotate import Settings, annotate_files

OPS = "import torch\n\ndef rows(x):\n    n, k = x.shape\n    return x.sum(1)\n"
USER = "import torch\nfrom {} import rows\n\ndef f(y: torch.Tensor):\n    return rows(y)\n"


def annotated(files: dict[str, str], *paths: str) -> str:
    """Write files into a project here, annotate some, and return the text of the first."""
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    outcome = annotate_files([Path(path) for path in paths], Settings(("static",)))
    assert not outcome.problems
    return next((one.text for one in outcome.changed if one.file.path == Path(paths[0])), "")


LAYOUTS = {
    "in the same package": ("pkg/__init__.py", "pkg/ops.py", "pkg/user.py", "pkg.ops"),
    "relative": ("pkg/__init__.py", "pkg/ops.py", "pkg/user.py", ".ops"),
    "in a package below": ("pkg/sub/__init__.py", "pkg/sub/ops.py", "pkg/user.py", "pkg.sub.ops"),
    "src": ("src/pkg/__init__.py", "src/pkg/ops.py", "src/pkg/user.py", "pkg.ops"),
    "a test of src": ("src/pkg/__init__.py", "src/pkg/ops.py", "tests/user.py", "pkg.ops"),
    "a deep test of src": ("src/pkg/__init__.py", "src/pkg/ops.py", "tests/a/b/user.py", "pkg.ops"),
    "a deep test": ("pkg/__init__.py", "pkg/ops.py", "tests/a/b/user.py", "pkg.ops"),
    "a script": ("pkg/__init__.py", "pkg/ops.py", "scripts/user.py", "pkg.ops"),
    "a script at the top": ("src/pkg/__init__.py", "src/pkg/ops.py", "user.py", "pkg.ops"),
    "a namespace": ("README.py", "space/pkg/ops.py", "space/pkg/user.py", "space.pkg.ops"),
    "relative in a namespace": ("README.py", "space/pkg/ops.py", "space/pkg/user.py", ".ops"),
    "beside it": ("README.py", "scripts/ops.py", "scripts/user.py", "ops"),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("inside", ["project", "elsewhere", "."])
def test_a_module_of_the_project_is_found(
    layout: tuple[str, str, str, str],
    inside: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    init, ops, user, module = layout
    for folder in ("project", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "project" / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / inside)
    files = {
        os.path.relpath(tmp_path / "project" / name): text
        for name, text in {init: "", ops: OPS, user: USER.format(module)}.items()
    }
    text = annotated(files, os.path.relpath(tmp_path / "project" / user))
    assert 'def f(y: Shaped[torch.Tensor, "b d"]) -> Shaped[Tensor, "b"]:' in text


def test_a_project_may_itself_look_like_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "project"
    (top / "pkg").mkdir(parents=True)
    for name in ("pyproject.toml", "__init__.py", "pkg/__init__.py"):
        (top / name).touch()
    monkeypatch.chdir(top)
    files = {"pkg/user.py": USER.format("pkg.ops"), "pkg/ops.py": OPS}
    text = annotated(files, "pkg/user.py", "pkg/ops.py")
    assert 'def f(y: Shaped[torch.Tensor, "b d"]) -> Shaped[Tensor, "b"]:' in text


def test_a_package_elsewhere_is_found_if_it_is_annotated_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "libs/a/pkg/__init__.py": "",
        "libs/a/pkg/ops.py": OPS,
        "apps/b/user.py": USER.format("pkg.ops"),
    }
    for top in ("libs/a", "apps/b"):
        Path(top).mkdir(parents=True)
        Path(top, "pyproject.toml").touch()
    assert 'y: Shaped[torch.Tensor, "b d"]' not in annotated(files, "apps/b/user.py")
    text = annotated(files, "apps/b/user.py", "libs/a/pkg/__init__.py", "libs/a/pkg/ops.py")
    assert 'y: Shaped[torch.Tensor, "b d"]' in text


def test_files_of_one_name_in_two_folders_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "one/ops.py": OPS,
        "one/user.py": USER.format("ops"),
        "two/ops.py": OPS.replace("n, k", "n, k, m"),
        "two/user.py": USER.format("ops"),
    }
    assert 'y: Shaped[torch.Tensor, "b d"]' in annotated(files, "one/user.py", *files)
    assert 'y: Shaped[torch.Tensor, "b t d"]' in annotated(files, "two/user.py", *files)


def test_a_complaint_in_another_root_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = "import torch\n\ndef half(\n    x: torch.Tensor,  # (n, 1)\n):\n    return x / 2\n"
    test = "import torch\nfrom pkg.ops import half\n\ndef test():\n    half(torch.zeros(3))\n"
    Path("pyproject.toml").touch()
    files = {"src/pkg/__init__.py": "", "src/pkg/ops.py": said, "tests/test_ops.py": test}
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    outcome = annotate_files(map(Path, files), Settings(("comments",)))
    assert not outcome.changed
    assert [one.function for one in outcome.refused] == ["half"]
