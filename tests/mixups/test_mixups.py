"""Dimensions of equal size that are mixed up are found, on both sides; right programs are quiet."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import devices
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mixups.cases import SMALLEST, Arguments, Case, analysed, cases, entry, module
from seeding import seed

from shapecheck import ShapeError

EXAMPLES = 4
every = pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
small_sizes = pytest.mark.cpu_only(
    reason="an index too large, where a size is 0 or 1, ends all use of the device in a process"
)
IN_ANY_ORDER = "does not have a deterministic implementation"
ON_THE_CPU = {
    "attention_masks/sdpa_padding_beside_the_queries": pytest.mark.cpu_only(
        reason="a kernel of the device refuses a mask that others take"
    ),
}
every_wrong = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.id, marks=ON_THE_CPU.get(case.id, ()))
        for case in cases()
        if case.wrong != case.right
    ],
)
random_sizes = settings(
    max_examples=EXAMPLES, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
pytestmark = [
    pytest.mark.filterwarnings("ignore:Using a target size"),  # torch's hint at one bug
    pytest.mark.filterwarnings("ignore:.*degrees of freedom"),  # of the variance of one item
    pytest.mark.filterwarnings("ignore:Initializing zero-element"),  # of layers of no features
]
sizes = st.integers(SMALLEST, 6)
PROMISE_MORE = {
    "calls/arithmetic_at_a_call",  # k+1 rows of k and one of them
    "indexing/slice_of_the_wrong_axis",  # t-1
    "modules/conv_bias",  # torch gives no channel where there is none to convolve
    "positions/vits_embeddings_in_window",  # 2*l-1
    "reductions/diff",  # m-1
    "windows/video_tubelets",  # as of a convolution
    "signals/categorical",  # without validation, torch gives an axis more where there is no class
}


def drawn(data: st.DataObject, equal: tuple[tuple[str, ...], ...]) -> Arguments:
    """Return what makes arguments of random sizes; names of one group are equal."""
    together = {name: group[0] for group in equal for name in group}
    chosen: dict[str, int] = {}

    def draw(name: str) -> int:
        name = together.get(name, name)
        return chosen.setdefault(name, data.draw(sizes, name))

    def rank(group: str) -> tuple[int, ...]:
        return tuple(data.draw(st.lists(sizes, max_size=2), f"*{group}"))

    return Arguments(draw, rank)


def call(made: Any, arguments: Arguments) -> Any:
    """Call what a program is about; a class is made first."""
    seed(0)
    function, cls = entry(made)
    if cls is None:
        return function(**arguments.of(function))
    arguments.self = cls(**(arguments.of(cls.__init__) if "__init__" in vars(cls) else {}))
    return function(arguments.self, **arguments.of(function))


@contextmanager
def reproducible() -> Iterator[dict[str, float]]:
    """Let a device compute the same each time; what is yielded says how close results are then.

    They are equal, but where torch warns that it adds up in any order.
    """
    closeness: dict[str, float] = {"rtol": 0, "atol": 0}
    if devices.current().type == "cpu":
        yield closeness
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.filterwarnings("ignore", ".*CuBLAS")
        warnings.filterwarnings("always", f".*{IN_ANY_ORDER}")
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield closeness
        finally:
            torch.use_deterministic_algorithms(False)
    if any(IN_ANY_ORDER in str(one.message) for one in said):
        closeness.clear()


@every
def test_right_programs_are_quiet_and_compute_the_same(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    plain, checked = module(case.right, decorated=False), module(case.right, decorated=True)

    @random_sizes
    @given(st.data())
    def run(data: st.DataObject) -> None:
        equal = case.equal if data.draw(st.booleans(), "equal sizes") else ()
        arguments = drawn(data, equal)
        for _ in range(2):  # found out, then remembered
            with reproducible() as closeness:
                arguments.seed.manual_seed(0)
                wanted = call(plain, arguments)
                arguments.seed.manual_seed(0)
                found = call(checked, arguments)
            torch.testing.assert_close(found, wanted, **closeness, equal_nan=True)

    run()


def quiet_with(
    case: Case, least: float, sizes: tuple[int, int, int], refusals: tuple[type[Exception], ...]
) -> None:
    """Call the right program with sizes of which a share is the first, the others between the rest.

    A program that refuses such sizes by itself is skipped.
    """
    drawing = random.Random(case.id)
    special, low, high = sizes

    def draw(name: str) -> int:
        return special if drawing.random() < least else drawing.randint(low, high)

    drawn_once = Arguments(draw, lambda group: (draw(group),))

    def arguments() -> Arguments:
        return Arguments(drawn_once.draw, drawn_once.rank)

    try:
        call(module(case.right, decorated=False), arguments())
    except refusals:
        pytest.skip("this program needs longer dimensions")
    call(module(case.right, decorated=True), arguments())


@small_sizes
@every
@pytest.mark.parametrize("least", [1, 1 / 2, 1 / 4], ids=["all ones", "half", "some"])
def test_right_programs_are_quiet_where_sizes_are_one(
    case: Case, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    quiet_with(case, least, (1, 2, 4), (IndexError, ValueError, RuntimeError))


@small_sizes
@every
@pytest.mark.parametrize("least", [1, 1 / 2, 1 / 4], ids=["all zeros", "half", "some"])
def test_right_programs_are_quiet_where_sizes_are_zero(
    case: Case, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.id in PROMISE_MORE:
        pytest.skip("what this program promises isn't so where a size is 0")
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    refusals = (AssertionError, IndexError, ValueError, RuntimeError, ZeroDivisionError)
    quiet_with(case, least, (0, 1, 4), refusals)


@every_wrong
def test_wrong_programs_run_without_a_word_and_are_found(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")
    plain, checked = module(case.wrong, decorated=False), module(case.wrong, decorated=True)

    @random_sizes
    @given(st.data())
    def run(data: st.DataObject) -> None:
        arguments = drawn(data, case.equal)
        call(plain, arguments)
        for _ in range(2):
            if case.found_by in ("", "only at run time"):
                with pytest.raises(ShapeError):
                    call(checked, arguments)
            else:
                call(checked, arguments)

    run()


@pytest.mark.cpu_only(reason="nothing is executed")
@every
def test_the_analysis_finds_the_wrong_one_and_is_quiet_on_the_right_one(case: Case) -> None:
    assert [one.message for one in analysed(case.right)] == []
    if case.wrong != case.right:
        assert bool(analysed(case.wrong)) == (case.found_by in ("", "only mypy"))


def test_how_many_there_are() -> None:
    assert len(cases()) >= 300
    assert len({case.id for case in cases()}) == len(cases())
    assert sum(not case.found_by for case in cases()) >= 0.98 * len(cases())
