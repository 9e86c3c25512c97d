"""Programs that nobody writes take little, whatever they hold."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fuzz.judging import Diagnostic, said
from repository import ROOT

from shapecheck import spec
from shapecheck.codemod.annotate import annotate_files
from shapecheck.codemod.propose import studies
from shapecheck.codemod.propose.proposals import Settings

sys.path.insert(0, str(ROOT / "benchmarks"))
from pathological import HEAD, PROGRAMS  # type: ignore[import-not-found]

MOST_CALLS = 4_000_000
"""As many take a second or two."""


class _TooManyError(BaseException):
    """Ends what doesn't end by itself; no `except Exception` on the way keeps it."""


def calls(work: Callable[[], object]) -> int:
    """Return how many calls something takes, Python's own functions included: no clock goes."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1
            if count > MOST_CALLS:
                raise _TooManyError

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    """Go as deep as the commands do."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1 << 14)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("sizes that double their states", 100),
        ("tensors that double their states", 100),
        ("diamonds", 40),
        ("inheritance", 60),
        ("stars", 150),
        ("shapes, unpacked", 250),
        ("layers", 250),
        ("linked lists", 120),
        ("assertions", 80),
        ("a long annotation", 4000),
        ("a long number", 8000),
        ("products of sums", 24),
        ("huge values", 110),
        ("towers of powers", 30),
        ("dimensions", 200),
        ("closures", 200),
        ("contexts", 300),
        ("overloads", 60),
        ("defaults", 100),
        ("tuples", 1000),
        ("functions as defaults", 100),
        ("slices", 32),
        ("lists after conditions", 100),
    ],
)
def test_the_analysis_ends(name: str, size: int) -> None:
    """It says what it knows, and no error of its own."""
    text, found = PROGRAMS[name][0](size), list[Diagnostic]()
    assert calls(lambda: found.extend(said(text))) < MOST_CALLS
    assert not [one for one in found if "internal error" in one.message]


@pytest.mark.parametrize(
    ("name", "size"),
    [("comments", 10_000), ("a long text", 50_000), ("a long sum", 900), ("assertions", 160)],
)
def test_annotate_ends(name: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[name][0](size), "utf-8")
    assert calls(lambda: annotate_files([path], Settings())) < MOST_CALLS


def test_a_file_that_took_too_many_steps_gets_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is when its functions are studied, and when what is written into it is verified."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS["recursion in a ring"][0](20), "utf-8")

    with pytest.raises(_TooManyError):
        calls(lambda: annotate_files([path], Settings()))
    monkeypatch.setattr(studies, "STUDY_STEPS", 1_000)
    assert calls(lambda: annotate_files([path], Settings())) < MOST_CALLS


def test_what_two_sizes_come_to_is_learned_once() -> None:
    """The rows of a table meet what has one item for each: the axis of neither is told."""
    text = f"""{HEAD}
def estimated(block: torch.Tensor, wanted=False):
    table = torch.arange(0.2, 10 + 0.001, 0.001).to(block)
    rows = (- (torch.lgamma(1.0 / table) + torch.lgamma(3.0 / table))).exp()
    rows = rows.repeat(block.shape[0], 1)
    below = block < 0
    above = block > 0
    many = below.sum(dim=(-1, -2), dtype=torch.float32)
    others = above.sum(dim=(-1, -2), dtype=torch.float32)
    left = torch.sqrt((block * below).pow(2).sum(dim=(-1, -2)) / (many))
    right = torch.sqrt((block * above).pow(2).sum(dim=(-1, -2)) / (others))
    ratio = left / right
    mean = block.abs().mean(dim=(-1, -2)).pow(2) / block.pow(2).mean(dim=(-1, -2))
    norm = (mean * (ratio.pow(3) + 1) * (ratio + 1)) / (ratio.pow(2) + 1).pow(2)
    at = (rows - norm).abs().argmin(dim=-1)

def features(block: torch.Tensor) -> torch.Tensor:
    at, left, right = estimated(block)
    return torch.stack(found, dim=-1)
"""
    assert calls(lambda: said(text)) < MOST_CALLS


def test_a_dimension_has_so_many_operators() -> None:
    """More are refused where they stand, at the same one in every process."""
    assert str(spec.parse("+".join("a" * 65))) == "+".join("a" * 65)
    text = "+".join("a" * 66)
    with pytest.raises(spec.SpecError, match="a dimension has up to 64 operators") as caught:
        spec.parse(f"b {text}")
    assert caught.value.start == 2 + 2 * 64 + 1
    spec.parse(" ".join([text[:-2]] * 3))  # each dimension by itself


def test_brackets_stand_in_each_other_so_deep() -> None:
    for text in ("(" * 24 + "a" + ")" * 24, "min(" * 24 + "a" + ",b)" * 24):
        spec.parse(text)
    for text in ("(" * 25 + "a" + ")" * 25, "min(" * 25 + "a" + ",b)" * 25):
        with pytest.raises(spec.SpecError, match="the expression is nested too deeply"):
            spec.parse(text)


def test_what_is_analysed_is_let_go() -> None:
    """A process that stays holds as much after many programs as after some."""
    programs = [
        f"{HEAD}def f{at}(x: Float[Tensor, 'b d']) -> Tensor:\n    for y in x:\n"
        f"        x = x + y * {at}\n    return x @ x.reshape(-1, {at + 1})\n"
        for at in range(8)
    ]

    def held() -> int:
        for _ in range(16):
            for text in programs:
                said(text)
        gc.collect()
        return len(gc.get_objects())

    held()
    before = held()
    assert held() < 1.02 * before
