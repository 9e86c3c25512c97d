"""What every test shares: `--update`, `--device`, what hypothesis draws, and Ctrl-C.

It also spares the hundreds of processes that tests start what can be done once for all of them.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import devices
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from sharing import Shared, compiled
from sharing import shared as _shared

# Tensors are small here: torch's threads would wait for each other most of the time.
os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

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


def pytest_configure(config: pytest.Config) -> None:
    """Let the package and the tests be compiled once, whatever the shell tells Python of that.

    Expectations are rewritten by one process: several would write over each other's.
    """
    sys.dont_write_bytecode = False
    if config.getoption("--device") == "cuda":
        devices.use_cuda()
    if hasattr(config, "workerinput"):
        if config.getoption("--update"):
            raise pytest.UsageError("--update rewrites files: run it without -n")
        return
    compiled(Path(__file__).parents[1])


# What a shell, a hook of git or a service may have set, and would change what a process prints.
_SET_ELSEWHERE = tuple(
    """COLUMNS FORCE_COLOR GIT_ GITHUB_ LINES LOCAL_RANK MYPY NO_COLOR PYTEST_ADDOPTS
    PYTHONIOENCODING PYTHONWARNINGS PY_COLORS RANK SHAPECHECK TTY_ WORLD_SIZE""".split()
)


def pytest_collection_finish() -> None:
    """Make all processes of the tests, and this one from now on, alike and quick.

    None writes bytecode into a folder that a test looks at, and the garbage collector no longer
    goes through all modules and tests each time.
    """
    for name in [name for name in os.environ if name.startswith(_SET_ELSEWHERE)]:
        del os.environ[name]
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update`, which rewrites the expectations of data-driven tests, and `--device`."""
    parser.addoption("--update", action="store_true", help="rewrite what data files expect")
    parser.addoption(
        "--device", choices=["cpu", "cuda"], help="where tensors are that a test makes (cpu)"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests marked `gpu` on a machine without one; torch is imported only if any is.

    Those marked `cpu_only` are skipped where tensors are on the device.
    """
    if config.getoption("--device") == "cuda":
        for item in items:
            if (marker := item.get_closest_marker("cpu_only")) is not None:
                item.add_marker(pytest.mark.skip(reason=marker.kwargs["reason"]))
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


@pytest.fixture(scope="session")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """Make folders once for all processes of this test run."""
    base = tmp_path_factory.getbasetemp()
    is_worker = hasattr(request.config, "workerinput")
    return partial(_shared, base.parent if is_worker else base)
