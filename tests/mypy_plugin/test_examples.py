"""mypy --strict with the plugin, over the example models: what `make demo` shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from seeded_bugs import MODELS, Bug, analyzed, bugs, example, with_jaxtyping

from tests.mypy_plugin.conftest import TYPED_CALLS, strict

if TYPE_CHECKING:
    from tests.mypy_plugin.conftest import Project


@pytest.fixture(scope="module")
def printed(new_project: Callable[..., Project]) -> dict[str, list[str]]:
    """What one run says of all models: correct, with jaxtyping, and with their first bug."""
    files = {f"{model}.py": example(model) for model in MODELS}
    files |= {f"{model}_jaxtyping.py": with_jaxtyping(example(model)) for model in MODELS}
    files |= {f"{bug.module}.py": bug.source for bug in first_bugs()}
    settings = strict(name.removesuffix(".py") for name in files)
    files["pyproject.toml"] = TYPED_CALLS
    return new_project(files, fake=False, settings=settings).check()


def first_bugs() -> list[Bug]:
    """Return the bug of each model that the demonstration shows."""
    return [bugs(model)[0] for model in MODELS]


@pytest.mark.parametrize("model", MODELS)
def test_correct_models_are_clean(printed: dict[str, list[str]], model: str) -> None:
    """Nothing is said, neither of types nor of shapes, with our types and with jaxtyping's."""
    assert printed.get(f"{model}.py", []) == []
    assert printed.get(f"{model}_jaxtyping.py", []) == []


@pytest.mark.parametrize("bug", first_bugs(), ids=lambda bug: bug.id)
def test_bugs_are_told_as_the_analysis_tells_them(printed: dict[str, list[str]], bug: Bug) -> None:
    """The same lines with the same words; mypy itself has nothing to add."""
    told = []
    for line in analyzed(bug.source):
        place, kind, text = line.split(": ", 2)
        code = "" if kind == "error" else text[text.rindex("  [") :]
        told.append(f"{place.split(':')[0]}: {kind}: {text.removesuffix(code)}")
    assert printed[f"{bug.module}.py"] == told
