"""A team of clones that share a place."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from shapecheck.analysis import Options
from shapecheck.engine import Database, Engine, Shared, Store, digest
from tests.engine.test_engine import TEXTS, Shelf


class Clone(Shelf):
    """Files of which the paths, as they are shown, begin with a folder."""

    def __init__(self, texts: Mapping[str, str], folder: str) -> None:
        super().__init__({})
        files = Shelf(texts).sources.items()
        self.sources = {
            name: type(one)(name, f"{folder}/{one.path}", one.text) for name, one in files
        }

    def version(self, module: str) -> str | None:
        """Say which text it has, and where."""
        source = self.source(module)
        return None if source is None else f"{digest(source.text.encode())} {source.path}"


class Team:
    """The runs of those who share a place."""

    def __init__(self, folder: Path, place: str) -> None:
        self.folder, self.place = folder, place
        self.notes: list[str] = []

    def store(self, clone: str, *, read_only: bool = False) -> Store:
        """Return the store of a clone that has another one each time."""
        shared = Shared(self.place, self.notes.append, read_only=read_only)
        return Store(Database(self.folder / clone / uuid.uuid4().hex), "maker", shared)

    def analysed(self, clone: str, *, read_only: bool = False) -> int:
        """Check all in a clone, and return of how many parts the analysis was asked."""
        store = self.store(clone, read_only=read_only)
        engine = Engine(Clone(TEXTS, clone), Options(), store)
        alone = Engine(Clone(TEXTS, clone), Options())
        for module in TEXTS:
            assert engine.check(module) == alone.check(module)
        return engine.analysed


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Who shares a folder."""
    return Team(tmp_path, str(tmp_path / "shared"))


def objects(team: Team) -> list[Path]:
    return sorted(Path(team.place).rglob("*.record"))
