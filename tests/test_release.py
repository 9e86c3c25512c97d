"""What makes a release: the check of the changelog, and workflows that say what is supported."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from repository import ROOT

import shapecheck

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHANGELOG: Final = """\
# Changelog

## [Unreleased]

## [0.2.0] - 2026-11-28

### Added

- A command.

## [0.1.0] - 2026-01-02

- The first.
"""
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS: Final = ROOT / ".github" / "workflows"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a package of version 0.2.0, its changelog, and what checks that."""
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "changelog.py").write_bytes(
        (ROOT / "release" / "changelog.py").read_bytes()
    )
    (tmp_path / "shapecheck").mkdir()
    (tmp_path / "shapecheck" / "__init__.py").write_text('__version__ = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def checked(project: Path, tag: str) -> subprocess.CompletedProcess[str]:
    """Check the changelog of a project for a tag."""
    command = [sys.executable, str(project / "release" / "changelog.py"), tag]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_notes_of_a_release_are_its_section(project: Path) -> None:
    """Without its title, and without the sections around it."""
    done = checked(project, "v0.2.0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "### Added\n\n- A command.\n", "")


@pytest.mark.parametrize(
    ("tag", "edits", "said"),
    [
        ("v0.3.0", (), 'the tag is "v0.3.0", and the version of the package 0.2.0'),
        (
            "v0.2.0",
            (("## [0.2.0] - 2026-11-28", "## [0.2.1] - 2026-11-28"),),
            'CHANGELOG.md has no section "## [0.2.0] - YYYY-MM-DD"',
        ),
        (
            "v0.2.0",
            ((" - 2026-11-28", ""),),
            'the section [0.2.0] needs a date: "## [0.2.0] - YYYY-MM-DD", and not ""',
        ),
        (
            "v0.2.0",
            (("2026-11-28", "28.11.2026"),),
            'the section [0.2.0] needs a date: "## [0.2.0] - YYYY-MM-DD", and not "28.11.2026"',
        ),
        (
            "v0.2.0",
            (("- A command.\n", ""),),
            'the section [0.2.0] has no entry, a line that begins with "- "',
        ),
        (
            "v0.2.0",
            (("[Unreleased]\n", "[Unreleased]\n\n- Another.\n"),),
            "[Unreleased] has entries, which belong to [0.2.0]",
        ),
        (
            "v0.2.0",
            (("[0.2.0]", "[x]"), ("[0.1.0]", "[0.2.0]"), ("[x]", "[0.1.0]")),
            "the section [0.2.0] stands below [0.1.0]",
        ),
    ],
    ids=["tag", "section", "date", "form", "entry", "unreleased", "order"],
)
def test_what_no_release_is_made_of(
    project: Path, tag: str, edits: tuple[tuple[str, str], ...], said: str
) -> None:
    """The message says what to write."""
    text = CHANGELOG
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    (project / "CHANGELOG.md").write_text(text)
    done = checked(project, tag)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"no release: {said}\n")


def test_the_changelog_of_this_repository_can_be_read() -> None:
    """Whatever is still unreleased: its version is found, and its sections."""
    command = [sys.executable, str(ROOT / "release" / "changelog.py"), "v0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    version = shapecheck.__version__
    assert done.stderr == f'no release: the tag is "v0", and the version of the package {version}\n'


def test_the_workflows_try_each_python_that_is_supported() -> None:
    """Those of the classifiers, in tests and in wheels."""
    named = re.findall(r"Python :: (3\.\d+)'", str(PROJECT["project"]["classifiers"]))
    assert len(named) > 1
    builds = [f"cp{version.replace('.', '')}-*" for version in named]
    assert matrix("test", "python")["python"] == named
    assert matrix("release", "compiled")["build"] == builds
    assert PROJECT["tool"]["cibuildwheel"]["build"] == builds


def test_the_workflows_try_the_oldest_versions_that_are_supported() -> None:
    """Of torch and mypy, as the requirements say them."""
    versions = [one["torch"] for one in matrix("test", "torch")["include"]]
    (oldest,) = re.findall(r"torch>=([\d.]+)", str(PROJECT["project"]["optional-dependencies"]))
    assert versions == [f"{oldest}.*", "2.13.0", ">=2.13"]
    (oldest,) = re.findall(r"'mypy>=([\d.]+)'", str(PROJECT["project"]["dependencies"]))
    assert matrix("test", "mypy")["mypy"][:2] == [f"mypy=={oldest}.*", "mypy"]


def test_what_the_workflows_run_is_there() -> None:
    """Each script, and the versions that `make torches` runs without being told any."""
    for path in WORKFLOWS.glob("*.yml"):
        for script in re.findall(r"run: (?:python )?([\w./]+/[\w.]+)", path.read_text("utf-8")):
            assert (ROOT / script).is_file(), script
    text = (ROOT / "release" / "torches.py").read_text("utf-8")
    assert 'VERSIONS: Final = ("2.4.*", "2.13.0", ">=2.13")' in text
    (tests,) = re.findall(r"TESTS: Final = \((.+)\)", text)
    for name in re.findall(r'"(.+?)"', tests):
        assert (ROOT / "tests" / name).exists(), name


def test_the_site_has_every_page_and_its_links_lead_somewhere() -> None:
    """A page that nobody can find, or a link out of docs/ that isn't one on the site."""
    named = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    docs = ROOT / "docs"
    assert sorted(named) == sorted(p.relative_to(docs).as_posix() for p in docs.rglob("*.md"))
    with_links = runpy.run_path(str(ROOT / "release" / "site_links.py"))["with_links"]
    root = "https://example.org/blob/main"
    assert with_links("[a](../README.md), [b](quiet.md)", "cli.md", root) == (
        f"[a]({root}/README.md), [b](quiet.md)"
    )
    assert with_links("[a](../../stubs/x.pyi), [b](../cli.md#c)", "developers/y.md", root) == (
        f"[a]({root}/stubs/x.pyi), [b](../cli.md#c)"
    )


def test_the_quickstart_is_two_pages() -> None:
    assert len((ROOT / "docs" / "quickstart.md").read_text("utf-8").split()) < 800


def matrix(workflow: str, job: str) -> Any:
    """Return what a job of a workflow is run with."""
    found = yaml.safe_load((WORKFLOWS / f"{workflow}.yml").read_text("utf-8"))
    return found["jobs"][job]["strategy"]["matrix"]
