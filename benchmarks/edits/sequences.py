"""Goes through a sequence of trees, asks all faces of each, and compares."""

from __future__ import annotations

import difflib
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from edits import changes, programs
from edits.faces import FACES, ROOT, Face, Said, Workplace
from edits.trees import PROJECT, SETTINGS, TARGETS, Tree, write

PLUGIN: Final = "plugins = shapecheck.mypy_plugin\n"
_PLACES: Final = "show_column_numbers = True\nshow_error_end = True\nwarn_unused_ignores = True\n"
SETTINGS_OF_ALL: Final = f"[mypy]\n{PLUGIN}{_PLACES}"
_OURS: Final = ("[shape", "shapecheck", "Revealed shape")
_STOPS: Final = (
    "Daemon crashed!",
    "error: Cannot read file",
    "error: Source file found twice",
    "error: Duplicate module named",
)
# A note that mypy gives once in a run, of what it comes to first, and keeps with that in its cache.
_ONCE: Final = "note: See https://mypy.readthedocs.io/"
_WAYS: Final = ("normal", "normal", "normal", "error", "skip")


@dataclass(frozen=True, slots=True)
class Step:
    """A tree, and what kind of edit has led to it."""

    kind: str
    tree: Tree


@dataclass(frozen=True, slots=True)
class Difference:
    """Two faces that don't say the same of the last one of some trees."""

    face: str
    steps: tuple[Step, ...]
    expected: Said
    said: Said
    has_shapes: bool
    """Is it about what shapecheck says, or about mypy's own errors?"""

    def lines(self) -> list[str]:
        """Return what differs, as a diff."""
        return _diff(_flat(self.expected), _flat(self.said), "expected", self.face)


@dataclass(frozen=True, slots=True)
class Plan:
    """Which faces are asked, how, and of the first one of each group every how many steps."""

    faces: tuple[str, ...]
    prepared: Path | None
    libraries: Path | None = None
    package: Path = ROOT
    every: int = 1


def drawn(seed: str, count: int) -> list[Step]:
    """Return the edits of a program, all of which is drawn."""
    rng = random.Random(f"edits {seed}")
    settings = f"follow_imports = {rng.choice(_WAYS)}\n"
    if rng.random() < 0.7:
        settings += "explicit_package_bases = True\n"
    tree = {**programs.program(rng), SETTINGS: SETTINGS_OF_ALL + settings, TARGETS: "."}
    return edited({**tree, PROJECT: ""}, count, rng)


def edited(tree: Tree, count: int, rng: random.Random) -> list[Step]:
    """Return a sequence of edits of a program."""
    steps, history = [Step("the start", tree)], [tree]
    for _ in range(count):
        kind, tree = changes.draw(tree, history, rng)
        history.append(tree)
        steps.append(Step(kind, tree))
    return steps


def differences(steps: Sequence[Step], plan: Plan) -> Iterator[Difference]:
    """Yield what differs after each of the steps.

    A face that has said something else begins anew, so that each difference is told once.
    """
    with _asked(plan) as asked:
        before: Tree = {}
        for number, step in enumerate(steps):
            write(asked.folder, before, step.tree)
            before = step.tree
            is_compared = number % plan.every == 0 or number == len(steps) - 1
            said = asked.say(is_compared)
            for name in plan.faces if is_compared else ():
                expected = said.get(_first(name, plan.faces))
                if expected is not None and name in said and said[name] != expected:
                    whole = tuple(steps[: number + 1])
                    is_ours = _has_shapes(expected, said[name])
                    yield Difference(name, whole, expected, said[name], is_ours)
                    asked.renew(name)


def reduced(difference: Difference, plan: Plan) -> Difference:
    """Return the same difference after as few steps as are found."""
    plan = replace(plan, faces=_both(difference.face, plan), every=1 << 30)
    steps = difference.steps
    for length in (1, 2, 3, 5, 9, 17):
        if length >= len(steps):
            break
        if (found := _last(steps[-length:], plan)) is not None:
            difference = found
            break
    while len(difference.steps) > 2:
        inner = range(len(difference.steps) - 2, -1, -1)
        fewer = (difference.steps[:i] + difference.steps[i + 1 :] for i in inner)
        smaller = next((found for some in fewer if (found := _last(some, plan))), None)
        if smaller is None or len(difference.steps) > 20:
            break
        difference = smaller
    return difference


def is_of_mypy_alone(difference: Difference, plan: Plan) -> bool:
    """Does mypy without the plugin say something else after these steps, too?

    Or does one of the two stop: then it says nothing of shapes either. Which module it gives a note
    for that it gives once depends on what is checked again, which isn't the same with the plugin.
    """
    if all(_ONCE in line for line in difference.lines()[2:]):
        return True
    has_stopped = _has_stopped(difference)
    if difference.has_shapes and not has_stopped:
        return False
    plan = replace(plan, faces=_both(difference.face, plan), every=1 << 30)
    plain = [
        Step(step.kind, {**step.tree, SETTINGS: step.tree[SETTINGS].replace(PLUGIN, "")})
        for step in difference.steps
    ]
    found = (_last(steps, plan) for steps in (plain[-2:], plain))
    return any(one is not None and _has_stopped(one) >= has_stopped for one in found)


def told(difference: Difference) -> Iterator[str]:
    """Tell the edits that lead to a difference, and what differs."""
    before: Tree = {}
    for step in difference.steps:
        yield f"--- {step.kind}"
        if before:
            for name in sorted(before.keys() | step.tree.keys()):
                old, new = before.get(name), step.tree.get(name)
                if old != new:
                    note = "added" if old is None else "removed" if new is None else "edited"
                    yield f"{name} {note}"
                    yield from _diff(_text(old), _text(new), name, name)
        before = step.tree
    yield "=== said"
    yield from difference.lines()


def _text(text: str | None) -> list[str]:
    return (text or "").splitlines()


def _last(steps: Sequence[Step], plan: Plan) -> Difference | None:
    return next(iter(differences(steps, plan)), None)


def _both(face: str, plan: Plan) -> tuple[str, ...]:
    return _first(face, plan.faces), face


def _first(face: str, faces: Sequence[str]) -> str:
    group = FACES[face].group
    return next(name for name in FACES if name in faces and FACES[name].group == group)


class _Faces:
    """The faces that go through a sequence, and the folder that they look at."""

    def __init__(self, plan: Plan, base: Path) -> None:
        self.folder = base / "program"
        self.folder.mkdir()
        self._base = base
        self._plan = plan
        self._faces: dict[str, Face] = {name: self._made(name) for name in plan.faces}

    def _made(self, name: str) -> Face:
        scratch = self._base / name
        scratch.mkdir(exist_ok=True)
        plan = self._plan
        return FACES[name].make(
            Workplace(self.folder, scratch, plan.prepared, plan.libraries, plan.package)
        )

    def say(self, is_compared: bool) -> dict[str, Said]:
        """Ask all, but those that others are held against only where they are."""
        firsts = {_first(name, self._plan.faces) for name in self._plan.faces}
        return {
            name: face.say()
            for name, face in self._faces.items()
            if is_compared or name not in firsts
        }

    def renew(self, name: str) -> None:
        """Begin anew with a face."""
        self._faces[name].close()
        self._faces[name] = self._made(name)

    def close(self) -> None:
        """End all."""
        for face in self._faces.values():
            face.close()


@contextmanager
def _asked(plan: Plan) -> Iterator[_Faces]:
    base = Path(tempfile.mkdtemp(prefix="edits-"))
    faces = _Faces(plan, base)
    try:
        yield faces
    finally:
        faces.close()
        shutil.rmtree(base, ignore_errors=True)


def _flat(said: Said) -> list[str]:
    return [line for name in sorted(said) for line in said[name]]


def _diff(before: list[str], after: list[str], old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(before, after, old, new, n=0, lineterm="")
    return [f"    {line}" for line in lines if not line.startswith("@@")]


def _has_stopped(difference: Difference) -> bool:
    lines = _flat(difference.expected) + _flat(difference.said)
    return any(stop in line for line in lines for stop in _STOPS)


def _has_shapes(expected: Said, said: Said) -> bool:
    changed = (line for line in _diff(_flat(expected), _flat(said), "", ""))
    return any(word in line for line in changed for word in _OURS)
