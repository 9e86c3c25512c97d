"""What Python is told of garbage while the analysis runs, and that it is told otherwise behind."""

from __future__ import annotations

import gc
import weakref

import pytest

from shapecheck.many_objects import lasting_objects, many_objects


class _Held:
    """Refers to itself, so that it goes only when garbage is looked for."""

    def __init__(self) -> None:
        self.me = self


def test_what_came_between_is_found_by_a_walk_through_everything() -> None:
    with lasting_objects():
        assert not gc.isenabled()
        held = weakref.ref(_Held())
        assert held() is not None
    assert gc.isenabled()
    gc.collect(1)
    assert held() is not None
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("others", [0, 50_000])
def test_what_was_there_before_is_looked_through_if_it_is_much(others: int) -> None:
    gc.collect()
    with many_objects():
        held = weakref.ref(_Held())
        beside = [[] for _ in range(others)]
        assert held() is not None
        with lasting_objects():
            assert (held() is None) == bool(beside)


def test_an_error_ends_it() -> None:
    with pytest.raises(ValueError, match="x"), lasting_objects():
        raise ValueError("x")
    assert gc.isenabled()


def test_a_program_without_collection_stays_without() -> None:
    gc.disable()
    try:
        with lasting_objects():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_numbers_are_as_before() -> None:
    before = gc.get_threshold()
    with many_objects():
        assert gc.get_threshold() != before
    assert gc.get_threshold() == before
