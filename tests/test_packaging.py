"""What users install: the built wheel and sdist hold everything, and agree on the version."""

from __future__ import annotations

import email
import os
import re
import tarfile
import zipfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from repository import ROOT

import shapecheck


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the repository as it stands."""
    folder = tmp_path_factory.mktemp("wheel")
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(path)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    (path,) = SdistBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"torch_shapecheck-{shapecheck.__version__}"


def test_wheel_holds_the_package_and_the_signature_files(wheel: Path) -> None:
    """The package, its py.typed, and stubs/ as shapecheck/_stubs/: those files and no others."""
    package = {
        path.relative_to(ROOT).as_posix() for path in files_under(ROOT / "shapecheck", wanted)
    }
    stubs = {
        f"shapecheck/_stubs/{path.relative_to(ROOT / 'stubs').as_posix()}"
        for path in files_under(ROOT / "stubs", wanted)
    }
    assert "shapecheck/py.typed" in package
    assert any(name.endswith(".pyi") for name in stubs)
    assert {name for name in names_in(wheel) if ".dist-info/" not in name} == package | stubs


def test_wheel_metadata(wheel: Path) -> None:
    """The name and version of the distribution, and its licence."""
    metadata = metadata_of(wheel)
    assert metadata["Name"] == "torch-shapecheck"
    assert metadata["Version"] == shapecheck.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names_in(wheel))


def test_what_the_index_shows_leads_to_the_repository(wheel: Path) -> None:
    """README's links are relative, and the index has none of its files."""
    metadata = metadata_of(wheel)
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert text.startswith("# shapecheck\n")
    source = "https://github.com/shapecheck/torch-shapecheck"
    assert any(url == f"Source, {source}" for url in metadata.get_all("Project-URL") or [])
    assert f"({source}/blob/main/docs/quickstart.md)" in text
    assert re.search(r"!\[[^]]+\]\(https://raw[^)]+/main/docs/pictures/check\.svg\)", text)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert text.count("](") == readme.count("](")
    assert not re.findall(r"\]\((?!https://)[^)]*\)", text)


def test_sdist_holds_what_its_reader_needs_to_build_and_test(sdist: Path) -> None:
    """The README's commands work from the sdist, and it builds the same wheel."""
    for name in (
        ".ci/run",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "constraints-dev.txt",
        "pyproject.toml",
        "tests/test_packaging.py",
    ):
        assert (sdist / name).is_file(), name
    for folder in ("docs", "examples", "stubs", "tests"):
        assert names_under(sdist / folder) == names_under(ROOT / folder), folder


def test_wheel_from_the_sdist_is_the_same(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    """Building from the sdist loses nothing."""
    (rebuilt,) = WheelBuilder(str(sdist)).build(directory=str(tmp_path), versions=["standard"])
    assert names_in(Path(rebuilt)) == names_in(wheel)


def test_a_wheel_is_for_this_platform_if_it_is_compiled(wheel: Path) -> None:
    """Its name says so to installers."""
    compiled = any(name.endswith((".so", ".pyd")) for name in names_in(wheel))
    assert compiled is not wheel.name.endswith("-py3-none-any.whl")


def test_a_wheel_without_a_compiler_is_pure_python(
    sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It installs everywhere, and lacks nothing but the compiled module."""
    monkeypatch.setenv("CC", str(tmp_path / "no-compiler"))
    (made,) = WheelBuilder(str(sdist)).build(directory=str(tmp_path), versions=["standard"])
    assert made.endswith("-py3-none-any.whl")
    assert "shapecheck/runtime/naming/lookup.py" in names_in(Path(made))
    assert not [name for name in names_in(Path(made)) if name.endswith((".so", ".pyd"))]


def test_a_wheel_is_pure_python_where_that_is_asked_for(
    sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release has one for platforms that have no wheel of their own."""
    monkeypatch.setenv("SHAPECHECK_COMPILE", "0")
    (made,) = WheelBuilder(str(sdist)).build(directory=str(tmp_path), versions=["standard"])
    assert made.endswith("-py3-none-any.whl")
    assert not [name for name in names_in(Path(made)) if name.endswith((".so", ".pyd"))]


def test_the_sdist_is_the_same_each_time_and_holds_nothing_built(
    sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, whenever its files were written."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    (sdist / "shapecheck" / "runtime" / "naming" / "_lookup.cpython-311.so").write_bytes(b"built")
    made = []
    for number in range(2):
        os.utime(sdist / "README.md", (number, number))
        (path,) = SdistBuilder(str(sdist)).build(directory=str(tmp_path), versions=["standard"])
        made.append(Path(path).read_bytes())
    assert made[0] == made[1]
    with tarfile.open(path) as archive:
        assert not [name for name in archive.getnames() if name.endswith((".so", ".pyd", ".pyc"))]


def test_the_changelog_tells_of_this_version() -> None:
    """A version has its section, or is what [Unreleased] leads to."""
    titles = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert titles[0] in {"Unreleased", shapecheck.__version__}


def wanted(path: Path) -> bool:
    """Tell files that ship from what running them left behind."""
    return path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"


def files_under(folder: Path, keep: Callable[[Path], bool]) -> list[Path]:
    """List the files of a folder at any depth."""
    return [path for path in folder.rglob("*") if keep(path)]


def names_under(folder: Path) -> set[str]:
    """List the files of a folder by their path in it."""
    return {path.relative_to(folder).as_posix() for path in files_under(folder, wanted)}


def names_in(wheel: Path) -> set[str]:
    """List the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata_of(wheel: Path) -> Message:
    """Read the METADATA of a wheel."""
    (name,) = (name for name in names_in(wheel) if name.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read(name))
