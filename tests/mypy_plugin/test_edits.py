"""A short sequence of drawn edits: `make edits` draws longer ones (see `benchmarks/edits/`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from repository import ROOT
from sharing import Shared

from tests.mypy_plugin.conftest import SETTINGS, Project

sys.path.insert(0, str(ROOT / "benchmarks"))

from edits.faces import FACES, SMALL_LIBRARIES
from edits.sequences import (
    Plan,
    Step,
    differences,
    drawn,
    is_of_mypy_alone,
    reduced,
    told,
)
from edits.trees import SETTINGS as MYPY_SETTINGS

SEED, STEPS = "4", 6


@pytest.fixture(scope="session")
def plan(package: Path, shared: Shared) -> Plan:
    """All faces, with a cache in which the small libraries are."""

    def make(folder: Path) -> None:
        environment = {"PYTHONPATH": str(package), "MYPYPATH": str(SMALL_LIBRARIES)}
        project = Project(folder, environment)
        project.write({"mypy.ini": SETTINGS, "warm_up.py": "import jaxtyping, torch\n"})
        done = project.run("warm_up.py")
        assert done.returncode == 0, done.stdout + done.stderr

    prepared = shared("warm_small", make) / "cache"
    return Plan(tuple(FACES), prepared, SMALL_LIBRARIES, package)


def test_drawn_edits(plan: Plan) -> None:
    """After each, all ways to ask say the same of shapes."""
    steps = drawn(SEED, STEPS)
    found = [one for one in differences(steps, plan) if one.has_shapes]
    assert not found, "\n".join(told(reduced(found[0], plan)))


def test_a_difference_is_found(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """And reduced to the step that makes it: here, where a face shows the tree before."""
    said = iter(({}, {}, {"m.py": ["[shape]"]}, {"m.py": ["[shape]"]}))
    monkeypatch.setattr("edits.faces.Process.say", lambda _: next(said, {}))
    monkeypatch.setattr("edits.faces.Afresh.say", lambda _: {})
    steps = [Step(str(number), {"m.py": f"x = {number}\n"}) for number in range(5)]
    (first, *_) = differences(steps, Plan(("afresh", "process"), None))
    assert (first.face, len(first.steps), first.has_shapes) == ("process", 3, True)
    assert first.lines() == ["    --- expected", "    +++ process", "    +[shape]"]


@pytest.mark.parametrize(
    ("said", "is_its_own"),
    [
        ("Daemon crashed!", True),
        ("m.py: error: Cannot read file: No such file or directory", True),
        ('m.pyi: error: Duplicate module named "m" (also at "m.py")', True),
        ("m.py:1: error: x  [shape]", False),
    ],
)
def test_a_stop_of_mypys_own(said: str, is_its_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It isn't the plugin's where it is there without, though nothing is said of shapes then."""
    monkeypatch.setattr("edits.faces.Cold.say", lambda _: {"m.py": ["[shape]"]})
    monkeypatch.setattr("edits.faces.Daemon.say", lambda _: {"": [said]})
    monkeypatch.setattr("edits.faces.Daemon.close", lambda _: None)
    plan = Plan(("cold", "daemon"), None)
    (found,) = differences([Step("", {MYPY_SETTINGS: ""})], plan)
    assert (found.has_shapes, is_of_mypy_alone(found, plan)) == (True, is_its_own)


@pytest.mark.parametrize(("more", "is_its_own"), [([], True), (["m.py:1: error: x"], False)])
def test_a_note_that_mypy_gives_once(
    more: list[str], is_its_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is mypy's own wherever it stands, if nothing else differs."""
    note = "m.py:1: note: See https://mypy.readthedocs.io/en/stable/running_mypy.html"
    told = iter(({"m.py": [note, *more]}, {"m.py": []}))
    monkeypatch.setattr("edits.faces.Cold.say", lambda _: {"m.py": []})
    monkeypatch.setattr("edits.faces.Daemon.say", lambda _: next(told, {"m.py": []}))
    monkeypatch.setattr("edits.faces.Daemon.close", lambda _: None)
    plan = Plan(("cold", "daemon"), None)
    (found,) = differences([Step("", {MYPY_SETTINGS: ""})], plan)
    assert is_of_mypy_alone(found, plan) == is_its_own
