"""A commit, or the working tree as it is, laid out in a folder of its own, and what it says.

What it has said of a project is kept in a folder, so that it is asked once.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from sameness.heard import PASSING
from sameness.programs import ROOT, Project, digest

HERE = Path(__file__).parent
KINDS = ("analysis", "annotate", "coverage", "runtime")
ANSWERING = ("shapecheck", "stubs")
ASKING = (["asking.py"], ["hearing.py", "heard.py"])
TESTED = (*ANSWERING, "tests", "examples", "docs")
"""What of a tree gives its answers, who asks for them, and the same of the run-time tests."""
BUILD = "import hatch_build, pathlib; hatch_build.compiled(pathlib.Path().absolute())"

Said = dict[str, str]


class Refusal(Exception):
    """What is asked for can't be done."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a tree says of all projects: by the names of both project and program.

    `seconds`: how long it took to ask; `kept`: how many projects' answers needn't be asked for.
    """

    said: Said
    projects: int
    kept: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree of the project, laid out in a folder.

    `cache`: where its answers are looked for, and kept if it `keeps` them. `seed`: of its hashes.
    """

    name: str
    folder: Path
    cache: Path
    seed: int
    keeps: bool
    digests: dict[str, str] = field(default_factory=dict)

    def answers(self, kind: str, projects: list[Project]) -> Answers:
        """Return what the tree says of projects, or of its own run-time tests."""
        if kind == "runtime":
            projects = [Project("", self.folder, "", 1)]
        start = time.perf_counter()
        said = {project.name: self._kept(kind, project) for project in projects}
        missing = [project for project in projects if said[project.name] is None]
        asked = self._asked(kind, missing) if missing else {}
        for project in missing:
            self._keep(kind, project, asked[project.name])
        found = {
            f"{name}/{program}".lstrip("/"): text
            for name, texts in {**said, **asked}.items()
            for program, text in (texts or {}).items()
        }
        kept = len(projects) - len(missing)
        return Answers(found, len(projects), kept, time.perf_counter() - start)

    def _asked(self, kind: str, projects: list[Project]) -> dict[str, Said]:
        if kind == "runtime":
            subprocess.run([sys.executable, "-c", BUILD], cwd=self.folder, check=False)
        largest = sorted(projects, key=lambda project: -project.count)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SHAPECHECK")}
        # The run-time tests start programs that find modules in the folder where they run.
        safe = {} if kind == "runtime" else {"PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            [sys.executable, "-m", *self._question(kind)],
            input=json.dumps([(str(one.folder), one.strict) for one in largest]),
            cwd=self.folder,
            env={
                **environment,
                **safe,
                "PYTHONPATH": os.pathsep.join((str(self.folder), str(HERE.parent))),
                "PYTHONHASHSEED": str(self.seed),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise Refusal(f"{self.name} can't be asked for {kind}")
        answers = json.loads(done.stdout)
        if kind == "runtime":
            return {"": self._without_paths(answers, self.folder)}
        return {
            one.name: self._without_paths(answers[str(one.folder)], one.folder) for one in projects
        }

    def _question(self, kind: str) -> tuple[str, ...]:
        if kind == "runtime":
            return "sameness.hearing", str(self.folder)
        return "sameness.asking", kind, str(self.folder)

    def _without_paths(self, said: Said, folder: Path) -> Said:
        """Return what was said without where things lie here, and what differs run by run."""
        for path in (f"{folder}/", str(folder), str(self.folder), sys.prefix, str(ROOT)):
            said = {name: text.replace(path, "") for name, text in said.items()}
        return {name: PASSING.sub("", text) for name, text in said.items()}

    # What is kept ---------------------------------------------------------------------------

    def _kept(self, kind: str, project: Project) -> Said | None:
        path = self._place(kind, project)
        if not path.is_file():
            return None
        said: Said = json.loads(gzip.decompress(path.read_bytes()))
        return said

    def _keep(self, kind: str, project: Project, said: Said) -> None:
        if not self.keeps:
            return
        path = self._place(kind, project)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_bytes(gzip.compress(json.dumps(said).encode()))
        beside.replace(path)

    def _place(self, kind: str, project: Project) -> Path:
        texts = [self._digest(kind), project.digest, str(project.strict)]
        key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]
        return self.cache / f"{kind}-{key}.json.gz"

    def _digest(self, kind: str) -> str:
        """Return what stands for all that answers hang on, but for the project."""
        roots = TESTED if kind == "runtime" else ANSWERING
        if kind not in self.digests:
            paths = [path for root in roots for path in (self.folder / root).rglob("*")]
            files = sorted(path for path in paths if path.is_file() and not made(path))
            asking = digest(HERE, [HERE / name for name in ASKING[kind == "runtime"]])
            about = (sys.version, version("torch"), version("mypy"), str(self.seed), asking)
            self.digests[kind] = "\0".join((*about, digest(self.folder, files)))
        return self.digests[kind]


def made(path: Path) -> bool:
    """Whether a file is made by running a tree, and is no part of it."""
    return path.suffix in (".so", ".pyd") or any(
        part in ("__pycache__", ".hypothesis", ".pytest_cache") for part in path.parts
    )


def laid_out(commit: str | None, folder: Path) -> None:
    """Write a commit, or the working tree with what isn't committed, into a folder.

    Raises `Refusal` where there is no such commit.
    """
    folder.mkdir(parents=True)
    if commit is None:
        for name in set(_git("ls-files", "-z", "-co", "--exclude-standard").split("\0")):
            path = ROOT / name
            if name and path.is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(path.read_bytes())
        return
    with tempfile.TemporaryFile() as packed:
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit],
            stdout=packed,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if archive.returncode:
            raise Refusal(f"there is no commit {commit} to compare with")
        packed.seek(0)
        subprocess.run(["tar", "-x", "-C", str(folder)], stdin=packed, check=True)


def is_committed() -> bool:
    """Whether the working tree is what the last commit has."""
    return not _git("status", "--porcelain")


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], stdout=subprocess.PIPE, encoding="utf-8", check=True
    )
    return done.stdout
