"""Data loaders with workers, and training in two processes that talk to each other."""

from __future__ import annotations

import sys

import process_workers as workers
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from shapecheck import ShapeError

METHODS = ["fork", "spawn"] if sys.platform == "linux" else ["spawn"]


@pytest.mark.parametrize("method", METHODS)
def test_data_loader(method: str) -> None:
    def load(wrong: int = -1) -> list[torch.Tensor]:
        images = workers.Images(wrong)
        return list(
            DataLoader(
                images,
                batch_size=2,
                num_workers=2,
                collate_fn=workers.collate,
                multiprocessing_context=method,
            )
        )

    first, second = load()
    assert first.shape == second.shape == (2, 3, 4, 4)
    assert second[:, 0, 0, 0].tolist() == [2.0, 3.0]
    with pytest.raises(ShapeError) as caught:
        load(wrong=3)
    text = str(caught.value)
    assert text.startswith("Caught ShapeError in DataLoader worker process 1.")
    assert 'declared "3 h h": axis 2 is 5, declared h (here 4)' in text


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return workers.run_group(tmp_path_factory.mktemp("group"))


@pytest.mark.parametrize("check", workers.CHECKS)
def test_two_processes(check: str, outcomes: dict[str, list[str]]) -> None:
    for said in outcomes[check]:
        assert said == "ok", said


def test_data_parallel() -> None:
    """Without CUDA it calls the module itself."""
    plain, checked = workers.both(nn.DataParallel)
    x = torch.randn(4, 4)
    assert torch.equal(plain(x), checked(x))
    with pytest.raises(ShapeError, match="axis 1 is 5, declared 4"):
        checked(torch.randn(4, 5))


@pytest.mark.gpu
def test_data_parallel_on_several_devices() -> None:
    plain, checked = workers.both(lambda model: nn.DataParallel(model.cuda()))
    x = torch.randn(4, 4, device="cuda")
    assert torch.equal(plain(x), checked(x))
