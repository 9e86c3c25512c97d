"""A fresh clone takes what its team has found: `check --only-shapes`, and mypy with the plugin."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from mypy_plugin.conftest import Project

NewProject = Callable[..., Project]

HEAD: Final = "import torch\nfrom torch import Tensor\nfrom jaxtyping import Float\n"
FILES: Final = {
    "layers.py": HEAD
    + """
def doubled(x: Float[Tensor, "b d"]) -> Float[Tensor, "b 2*d"]:
    return torch.cat((x, x), 1)


def product(x, y):
    return x @ y
""",
    "model.py": HEAD
    + """
from layers import doubled, product


def wide(x: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
    return doubled(x)


product(torch.zeros(2, 3), torch.zeros(4, 5))
""",
    "words.py": "import re\nNAME = re.compile('a')\n",
}
FOUND: Final = "the failing line is layers.py:10"


@pytest.fixture
def clone(new_project: NewProject) -> Callable[[str], Project]:
    """Make a clone of the project, each time on another path, that shares what it finds."""

    def make(place: str, **variables: str) -> Project:
        project = new_project(FILES, fake=False)
        project.environment |= {"SHAPECHECK_SHARED": place, **variables}
        return project

    return make


def _alone(project: Project, *arguments: str) -> tuple[str, int, str]:
    """Check without mypy; return what is printed, of how many parts, and what is said besides."""
    check = ("check", "--only-shapes", "--verbose", *arguments)
    done = project.run(*check, module="shapecheck")
    assert done.returncode in (0, 1), done.stderr
    *notes, effort = done.stderr.splitlines()
    analysed = re.match(r"analysed (\d+) functions and other parts of \d+ modules; ", effort)
    assert analysed is not None
    return done.stdout, int(analysed[1]), "\n".join(notes)


def _objects(folder: Path) -> dict[str, int]:
    """Return the files in a place, each with a number that a new one of the name hasn't."""
    return {path.name: path.stat().st_ino for path in folder.rglob("*.record")}


@pytest.mark.parametrize("kind", ["{}", "file://{}", "local://{}"])
def test_a_second_clone_without_mypy(
    clone: Callable[..., Project], tmp_path: Path, kind: str
) -> None:
    """It analyses nothing, and says the same."""
    place = kind.format(tmp_path / "team")
    said, analysed, notes = _alone(clone(place))
    assert (analysed > 0, FOUND in said, notes) == (True, True, "")
    before = _objects(tmp_path / "team")
    assert _alone(clone(place)) == (said, 0, "")
    assert _objects(tmp_path / "team") == before


def test_a_second_clone_with_mypy(clone: Callable[..., Project], tmp_path: Path) -> None:
    """What it analyses it writes: that is nothing, until something is edited."""
    place = f"file://{tmp_path / 'team'}"
    said = clone(place).run(".")
    assert FOUND in said.stdout
    before = _objects(tmp_path / "team")
    second = clone(place)
    assert second.run(".").stdout == said.stdout
    assert _objects(tmp_path / "team") == before
    assert _alone(clone(place))[1] == 0
    # Where something is shared has no say in what mypy has in its cache.
    second.environment["SHAPECHECK_SHARED"] = ""
    log = second.run("-v", ".")
    assert log.stdout == said.stdout
    assert "SCC singleton (model)" not in log.stderr
    before = _objects(tmp_path / "team")
    edited = clone(place)
    edited.write({"model.py": FILES["model.py"].replace("wide", "wider")})
    edited.run(".")
    assert len(_objects(tmp_path / "team")) == len(before) + 1


def test_parts_of_a_run_share(clone: Callable[..., Project], tmp_path: Path) -> None:
    """Eight machines fill a place; eight others find all in it, and together say what one says."""
    place = str(tmp_path / "team")
    parts = [f"{number}/8" for number in range(1, 9)]
    first, second = clone(place), clone(place)
    for part in parts:
        _alone(first, "--shard", part)
    before = _objects(tmp_path / "team")
    for number, part in enumerate(parts):
        said, analysed, notes = _alone(second, "--shard", part, "--output", "json")
        assert (analysed, notes) == (0, "")
        second.write({f"part{number}": said})
    merging = ("check", "--merge", *(f"part{number}" for number in range(8)), "--output", "json")
    merged = second.run(*merging, module="shapecheck").stdout
    assert merged == _alone(clone(""), "--output", "json")[0]
    assert _objects(tmp_path / "team") == before


def test_the_setting(new_project: NewProject, tmp_path: Path) -> None:
    """A folder beside `pyproject.toml`; the environment has its way over it."""
    project = new_project(FILES, fake=False)
    project.write({"pyproject.toml": '[tool.shapecheck]\nshared = "team"\n'})
    _alone(project)
    assert _objects(project.folder / "team")
    shutil.rmtree(project.folder / "cache" / "3", ignore_errors=True)
    other = new_project(FILES, fake=False)
    other.write({"pyproject.toml": '[tool.shapecheck]\nshared = "team"\n'})
    other.environment["SHAPECHECK_SHARED"] = str(project.folder / "team")
    assert _alone(other)[1] == 0
    assert not (other.folder / "team").exists()


def test_read_only(clone: Callable[..., Project], tmp_path: Path) -> None:
    """Who isn't trusted reads and doesn't write."""
    team = tmp_path / "team"
    for how in (_alone, lambda project: project.run(".")):
        how(clone(str(team), SHAPECHECK_SHARED_READONLY="1"))
        assert not team.exists()
    _alone(clone(str(team), SHAPECHECK_SHARED_READONLY="0"))
    before = _objects(team)
    assert before
    assert _alone(clone(str(team), SHAPECHECK_SHARED_READONLY="1"))[1] == 0


@pytest.mark.parametrize("place", ["nothing://there", "s3://", "{}/file", "{}/file/below"])
def test_a_place_that_can_not_be_used(
    clone: Callable[..., Project], tmp_path: Path, place: str
) -> None:
    """All is found, and why it isn't shared is told once."""
    (tmp_path / "file").write_text("")
    place = place.format(tmp_path)
    said, analysed, notes = _alone(clone(place))
    assert (said, analysed) == _alone(clone(""))[:2]
    assert notes.startswith(f"what is shared in {place} isn't used in this run: ")
    assert "\n" not in notes
    done = clone(place).run(".")
    assert FOUND in done.stdout
    assert re.fullmatch(
        r"shapecheck: what is shared in .* isn't used in this run: .*\n", done.stderr
    )
