"""Bugs as people post them crash, their fixes run, and what the analysis finds stays found."""

from __future__ import annotations

import sys

import pytest
import torch
from posted.cases import HERE, Case, analysed, cases, run, verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# torch hints at some of the bugs before it fails.
pytestmark = pytest.mark.filterwarnings("ignore:Using a target size")
FOUND = HERE / "found.toml"
each = pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
each_open = pytest.mark.parametrize(
    "case", [case for case in cases() if not case.aside], ids=lambda case: case.id
)

each_open_crash = pytest.mark.parametrize(
    "case", [one for one in cases() if one.crashes and not one.aside], ids=lambda case: case.id
)


@each
def test_the_wrong_one_fails_and_the_right_one_runs(case: Case) -> None:
    torch.manual_seed(0)
    right = run(case.right)
    torch.manual_seed(0)
    if case.crashes:
        with pytest.raises((RuntimeError, ValueError, IndexError)):
            run(case.wrong)
    else:
        assert run(case.wrong) != right


@each_open
@pytest.mark.parametrize("driven", [False, True], ids=("alone", "driven"))
def test_the_right_one_is_quiet(case: Case, driven: bool) -> None:
    said = analysed(case.right, driven=driven)
    assert not [f"{one.span.line}: {one.message}" for one in said]


@each_open_crash
def test_a_crash_is_foreseen_where_the_driver_is_given(case: Case) -> None:
    assert verdict(case.wrong, driven=True) == "error"


def test_what_is_found_stays_found(request: pytest.FixtureRequest) -> None:
    verdicts = {case.id: verdict(case.wrong) for case in cases() if not case.aside}
    found = [name for name, one in verdicts.items() if one == "error"]
    suspected = [name for name, one in verdicts.items() if one == "warning"]
    if request.config.getoption("--update"):
        FOUND.write_text(listed("found", found) + listed("suspected", suspected), "utf-8")
    recorded = tomllib.loads(FOUND.read_text("utf-8"))
    assert set(recorded["found"]) <= set(found)
    assert set(recorded["suspected"]) <= {*found, *suspected}


def listed(key: str, names: list[str]) -> str:
    lines = "".join(f'    "{name}",\n' for name in names)
    return f"{key} = [\n{lines}]\n"
