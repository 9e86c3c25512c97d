"""The example models are clean and unchanged by the checks, and both sides find the seeded bugs.

What only one side finds is marked in `examples/bugs`, with the reason. The same models with
jaxtyping's types get the same verdicts. mypy itself is in `mypy_plugin/test_examples.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from seeded_bugs import MODELS, Bug, Ran, analyzed, bugs, errors, example, run, with_jaxtyping

KINDS = set(
    "annotation arguments broadcast cat dim dtype index keepdim order reshape transpose "
    "width".split()
)


def ids(found: Iterable[Bug]) -> set[str]:
    """Return the names of bugs; sets of them compare readably."""
    return {bug.id for bug in found}


def marked(*fields: str) -> set[str]:
    """Return the bugs that their files mark with one of these fields."""
    return ids(bug for bug in bugs() if any(getattr(bug, field) for field in fields))


@pytest.mark.parametrize("model", MODELS)
def test_bugs_are_one_line_edits(model: str) -> None:
    """Each model has at least six bugs, each a change of exactly one line under its own name."""
    found = bugs(model)
    assert len(found) >= 6
    assert len(ids(found)) == len(found)
    for bug in found:
        before, after = example(model).splitlines(), bug.source.splitlines()
        assert len(before) == len(after), bug.id
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1, bug.id
        assert bug.kind in KINDS, bug.id
        assert bug.seen_by in ("torch", "annotation", "names"), bug.id
        assert bug.description, bug.id
        assert not (bug.runtime and bug.other_error), bug.id


@pytest.mark.parametrize("model", MODELS)
def test_correct_models_are_clean(model: str) -> None:
    """The analysis has nothing to say, with our types and with jaxtyping's."""
    assert analyzed(example(model)) == []
    assert analyzed(with_jaxtyping(example(model))) == []


@pytest.mark.parametrize("model", MODELS)
def test_bugs_found_statically(model: str) -> None:
    """The analysis finds the bugs that aren't marked, word for word the same with jaxtyping."""
    missed = []
    for bug in bugs(model):
        said = analyzed(bug.source)
        assert analyzed(with_jaxtyping(bug.source)) == said, bug.id
        if not errors(said):
            missed.append(bug)
    assert ids(missed) == ids(bug for bug in bugs(model) if bug.static)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """What became of all models in full mode: correct, with jaxtyping, and with each bug."""
    sources = {model: example(model) for model in MODELS}
    sources |= {f"{model}_jaxtyping": with_jaxtyping(example(model)) for model in MODELS}
    sources |= {bug.module: bug.source for bug in bugs()}
    return run(sources, tmp_path_factory.mktemp("full"))


@pytest.fixture(scope="module")
def undecorated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """The correct models without any check."""
    sources = {model: example(model) for model in MODELS}
    return run(sources, tmp_path_factory.mktemp("off"), mode="off")


@pytest.mark.parametrize("model", MODELS)
def test_outputs_are_bit_equal(
    ran: dict[str, Ran], undecorated: dict[str, Ran], model: str
) -> None:
    """No error, and the outputs, gradients and trained models are those of the bare model."""
    checked, bare = ran[model], undecorated[model]
    assert (checked.error, checked.text) == ("", "")
    assert (bare.error, bare.text) == ("", "")
    assert checked.printed == bare.printed
    assert len(bare.digests) == 2, "of the model as it is, and under disabled()"
    assert set(checked.digests) == set(bare.digests) == {bare.digests[0]}


@pytest.mark.parametrize("model", MODELS)
def test_correct_models_with_jaxtyping_run(ran: dict[str, Ran], model: str) -> None:
    """`@shapecheck` on jaxtyping's types: no error, the same output."""
    found = ran[f"{model}_jaxtyping"]
    assert (found.error, found.text) == ("", "")
    assert found.printed == ran[model].printed


def test_bugs_found_at_run_time(ran: dict[str, Ran]) -> None:
    """A `ShapeError` stops every bug that isn't marked; of those, what the mark says comes true."""
    unseen = ids(bug for bug in bugs() if not ran[bug.module].error)
    assert unseen == marked("runtime")
    not_ours = ids(bug for bug in bugs() if not ran[bug.module].ours) - unseen
    assert not_ours == marked("other_error")


def test_one_of_the_two_finds_every_bug() -> None:
    """No bug is marked as missed by both sides."""
    assert not marked("static") & marked("runtime")
