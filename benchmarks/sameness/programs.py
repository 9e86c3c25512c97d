"""The programs of the working tree, project by project."""

from __future__ import annotations

import hashlib
import re
import runpy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STRICT = "[tool.shapecheck]\nstrict = true\n"
SETTINGS = ("pyproject.toml", "mypy.ini", "setup.cfg")


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with programs that may import each other.

    `digest` stands for all that is in it, `count` is the number of programs.
    """

    name: str
    folder: Path
    digest: str
    count: int
    strict: bool = False


def projects(corpus: Path | None, scratch: Path) -> list[Project]:
    """Return the cases of the static tests, the examples, and each member of the corpus.

    The cases are written below `scratch`, each as a file, those of a `*.test` as a project.
    """
    found = [_project(f"cases/{path.name}", path) for path in written_cases(scratch)]
    found.append(_project("examples", ROOT / "examples"))
    if corpus is not None:
        members = sorted(path for path in corpus.iterdir() if path.is_dir())
        found += [_project(f"corpus/{path.name}", path) for path in members]
    return [project for project in found if project.count]


def _project(name: str, folder: Path) -> Project:
    paths = sorted(folder.rglob("*.py"))
    settings = [folder / one for one in SETTINGS if (folder / one).is_file()]
    strict = name.startswith("cases/") and bool(settings)
    return Project(name, folder, digest(folder, [*settings, *paths]), len(paths), strict)


def digest(folder: Path, paths: Iterable[Path]) -> str:
    """Return what stands for the names and texts of files."""
    made = hashlib.sha256()
    for path in paths:
        text = path.read_bytes()
        made.update(f"{path.relative_to(folder).as_posix()}\0{len(text)}\0".encode())
        made.update(text)
    return made.hexdigest()


def written_cases(scratch: Path) -> list[Path]:
    """Write the cases of the static tests, without their marks; return the folders."""
    folders = set()
    for stem, name, program, is_strict in cases():
        folder = scratch / (f"{stem} (strict)" if is_strict else stem)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{re.sub(r'[^A-Za-z0-9]+', '_', name)}.py").write_text(program, "utf-8")
        if is_strict:
            (folder / "pyproject.toml").write_text(STRICT, "utf-8")
        folders.add(folder)
    return sorted(folders)


def cases() -> Iterator[tuple[str, str, str, bool]]:
    """Yield the file, the name and the program of each case, and whether it is strict."""
    tests = runpy.run_path(str(ROOT / "tests" / "analysis" / "test_programs.py"))
    for file, name, marked in tests["cases"]():
        program = "\n".join(tests["split"](line)[0] for line in marked.split("\n"))
        yield file.stem, name, tests["PRELUDE"] + program, program.startswith("# strict")
