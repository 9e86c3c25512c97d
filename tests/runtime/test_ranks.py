"""What is told at run time in one of several processes: all it said before, and on which rank."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from shapecheck import Dim, Float, RaggedWarning, ShapeError, dims, shapecheck
from shapecheck.runtime import errors

AS_EVER = (
    'argument "k" of "scores" is (2 4), declared "m d": axis 1 is 4, declared d (here 3)  [shape]\n'
    "  at {place}\n"
    '  note: d is 3 from argument "q"\n'
    "  here n=2, d=3, m=2"
)
ON_RANK = AS_EVER.replace("{place}\n", "{place}\n  on rank 2 of 4\n")

Batch, Feature = dims("batch feature")
Time = Dim("time", ragged=True)


@shapecheck
def scores(q: Float[Tensor, "n d"], k: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    return q @ k.T


@shapecheck
def inner(q: Float[Tensor, "n d"], k: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    return q @ k


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Become a rank of four, as under `torchrun`."""
    monkeypatch.setenv("WORLD_SIZE", "4")
    return lambda rank: monkeypatch.setenv("RANK", str(rank))


def refused(call: Callable[..., object], *args: Any) -> ShapeError:
    """Return the error of a call."""
    with pytest.raises(ShapeError) as caught:
        call(*args)
    return caught.value


def test_an_error(launch: Callable[[int], None]) -> None:
    alone = refused(scores, torch.ones(2, 3), torch.ones(2, 4))
    launch(2)
    error = refused(scores, torch.ones(2, 3), torch.ones(2, 4))
    assert str(alone) == AS_EVER.format(place=alone.place)
    assert str(error) == ON_RANK.format(place=error.place)
    assert alone.rank is None
    assert error.rank is not None
    assert (error.rank.number, error.rank.of) == (2, 4)


def test_an_error_of_an_op(launch: Callable[[int], None]) -> None:
    """Torch's own words are the end of the text, as ever."""
    launch(2)
    error = refused(inner, torch.ones(2, 3), torch.ones(2, 3))
    lines = str(error).splitlines()
    assert lines[1:3] == [f"  at {error.place}", "  on rank 2 of 4"]
    assert lines[-1].startswith("  torch says: mat1 and mat2 shapes cannot be multiplied")


def test_an_error_in_another_process(launch: Callable[[int], None]) -> None:
    """It is that of the rank where it was raised, also where nothing is distributed."""
    alone = pickle.dumps(refused(scores, torch.ones(2, 3), torch.ones(2, 4)))
    launch(2)
    there = pickle.dumps(refused(scores, torch.ones(2, 3), torch.ones(2, 4)))
    launch(1)
    found, other = pickle.loads(there), pickle.loads(alone)
    assert str(found) == ON_RANK.format(place=found.place)
    assert str(other) == AS_EVER.format(place=other.place)
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


def test_an_error_made_from_a_text(launch: Callable[[int], None]) -> None:
    """As a data loader hands on what a worker has raised: the text says the rank already."""
    launch(2)
    assert str(ShapeError("Caught ShapeError in DataLoader worker process 1.")) == (
        "Caught ShapeError in DataLoader worker process 1."
    )


def test_an_error_in_what_is_compiled(launch: Callable[[int], None]) -> None:
    compiled = torch.compile(scores, backend="eager")
    launch(2)
    error = refused(compiled, torch.ones(2, 3), torch.ones(2, 4))
    assert error.place is not None
    assert f"{error.place}\n  on rank 2 of 4\n" in str(error)
    assert str(error).count("on rank") == 1


def test_padding_that_is_counted(launch: Callable[[int], None]) -> None:
    @shapecheck
    def means(x: Float[Tensor, Batch, Time, Feature]) -> Float[Tensor, Batch, Feature]:
        return x.mean(1)

    def warned() -> str:
        with pytest.warns(RaggedWarning) as caught:
            means(torch.ones(2, 3, 4))
        assert len(caught) == 1
        return str(caught[0].message)

    alone = warned()
    launch(2)
    first, *notes = alone.splitlines()
    assert warned().splitlines() == [first, "  on rank 2 of 4", *notes]


def test_a_defect_of_our_own(
    launch: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once on each rank that has it."""
    monkeypatch.setattr(errors, "_warned", set())
    launch(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            errors.own_fault("on relu", ValueError("no"))
    assert [str(one.message) for one in caught] == [
        "shapecheck failed on relu on rank 2 of 4 and skipped the check (ValueError: no); "
        "please report it. SHAPECHECK_DEBUG=1 shows the traceback."
    ]
