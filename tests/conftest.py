"""What every test shares: `--update`, the `gpu` marker, what hypothesis draws, and Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# No test depends on how fast a machine is. `suite` draws the same examples in each run; `fuzz`
# (pytest --hypothesis-profile=fuzz) draws new ones, those of --hypothesis-seed where it is given.
_any_speed = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("suite", _any_speed, derandomize=True)
settings.register_profile("fuzz", _any_speed, derandomize=False)
settings.load_profile("suite")

# hypothesis also draws numbers that the loaded modules mention: which ones are loaded depends on
# the tests that ran before. This has no public setting, and not every version does it.
if hasattr(providers, "_get_local_constants"):
    _no_constants = providers._local_constants
    providers._get_local_constants = lambda: _no_constants


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update`, which rewrites the expectations of data-driven tests."""
    parser.addoption("--update", action="store_true", help="rewrite what *.test files expect")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked `gpu` on a machine without one; torch is imported only if any is."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if torch.cuda.is_available():
        return
    for item in marked:
        item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt this process and those it starts, even in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
