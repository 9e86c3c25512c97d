"""What runs a model on random sequences, padded and alone, and compares what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy
import torch
from systems.originals.frontend.dims import Dim, batch_dim
from systems.originals.frontend.tensors import Tensor, TensorDict
from systems.originals.inside import in_a_call

outputs: list[TensorDict] = []


def run_model(
    extern_data: TensorDict,
    get_model: Callable[..., Any],
    forward_step: Callable[..., Any],
    *,
    dyn_dim_max_sizes: Mapping[Dim, int] | None = None,
    dyn_dim_min_sizes: Mapping[Dim, int] | None = None,
    allow_inf_nan_in_output: bool = False,
    test_single_batch_entry: bool = True,
    data_rnd_seed: int = 42,
    **backends: object,
) -> TensorDict:
    """Run a model on a batch, and on a sequence alone, which must give the same.

    Returns what it gives of the batch, as arrays. Each run is a decorated call.
    """
    random = numpy.random.RandomState(data_rnd_seed)
    given = extern_data.data
    for tensor in given.values():
        _empty(tensor)
    for tensor in given.values():
        _fill(tensor, random, dyn_dim_max_sizes or {})
    found = run(_run, extern_data, get_model, forward_step)
    for name, tensor in found.data.items():
        finite = torch.isfinite(tensor.raw_tensor.detach()).all()
        assert allow_inf_nan_in_output or finite, f"{name} isn't finite"
    if test_single_batch_entry and any(map(_is_sequence, _dims_of(given.values()))):
        _compare_alone(extern_data, get_model, forward_step, found)
    for name, tensor in found.data.items():
        found[name] = run(tensor.copy_masked, 0)
    for tensor in (*found.data.values(), *given.values()):
        _to_arrays(tensor)
    return found


def run(function: Callable[..., Any], *args: Any) -> Any:
    """Return what a function gives in a decorated call of its own."""
    found: list[Any] = []
    in_a_call(lambda: found.append(function(*args)))()
    return found[0]


def _run(data: TensorDict, get_model: Callable[..., Any], step: Callable[..., Any]) -> TensorDict:
    found = TensorDict()
    outputs.append(found)
    try:
        torch.manual_seed(42)
        step(model=get_model(epoch=1, step=0), extern_data=data)
    finally:
        outputs.pop()
    assert found.data
    for tensor in found.data.values():
        for dim in tensor.dims:
            assert dim.get_dim_value() == tensor.raw_tensor.shape[tensor.dims.index(dim)], dim
    return found


def _dims_of(tensors: Iterable[Tensor]) -> list[Dim]:
    return list(dict.fromkeys(dim for tensor in tensors for dim in tensor.dims))


def _is_sequence(dim: Dim) -> bool:
    return dim._sizes is not None and dim._sizes.dims == (batch_dim,)


def _empty(tensor: Tensor) -> None:
    tensor.raw_tensor = None
    for dim in tensor.dims:
        if dim._sizes is not None:
            _empty(dim._sizes)
        elif dim.is_batch_dim():
            dim.dyn_size_ext = Tensor("batch", [], "int32")


def _fill(
    tensor: Tensor, random: numpy.random.RandomState, longest: Mapping[Dim, int], least: int = 0
) -> None:
    """Give a tensor random data, and before it a random size to each of its dimensions."""
    if tensor.raw_tensor is not None:
        return
    for dim in tensor.dims:
        if dim._sizes is not None:
            _fill(dim._sizes, random, longest, 2)
            if dim in longest:
                dim._sizes.raw_tensor.clamp_(max=longest[dim])
    shape = [dim.get_dim_value() for dim in tensor.dims]
    if tensor.dtype.startswith("int"):
        below = random.randint(6, 20)
        if tensor.sparse_dim is not None:
            below = tensor.sparse_dim.dimension or below
        made = numpy.asarray(random.randint(least, below, size=shape))
    elif tensor.dtype == "bool":
        made = random.randint(0, 2, size=shape)
    elif tensor.dtype.startswith("complex"):
        made = random.normal(size=shape) + 1j * random.normal(size=shape)
    else:
        made = random.normal(size=shape)
    tensor.raw_tensor = torch.tensor(made).to(getattr(torch, tensor.dtype))


def _compare_alone(
    data: TensorDict, get_model: Callable[..., Any], step: Callable[..., Any], found: TensorDict
) -> None:
    """Give a model the shortest sequence without its padding, and compare what it gives of it."""
    every = [*data.data.values(), *(d._sizes for d in _dims_of(data.data.values()) if d._sizes)]
    held = [(tensor, tensor.raw_tensor) for tensor in dict.fromkeys([*every, batch_dim._sizes])]
    whole = {name: run(_without_padding, tensor) for name, tensor in found.data.items()}
    sequences = [dim for dim in _dims_of(every) if _is_sequence(dim)]
    index = int(sequences[0]._sizes.raw_tensor.argmin())
    lengths = {dim: dim._sizes.raw_tensor[index] for dim in sequences}
    for tensor, raw in held:
        if batch_dim in tensor.dims:
            tensor.raw_tensor = raw[_part(tensor, index, lengths)]
    batch_dim._sizes.raw_tensor = torch.tensor(1, dtype=torch.int32)
    alone = run(_run, data, get_model, step)
    for name, tensor in alone.data.items():
        if batch_dim in tensor.dims:
            [one] = run(_without_padding, tensor)
            torch.testing.assert_close(whole[name][index], one, atol=1e-5, rtol=1e-5)
    for tensor, raw in held:
        tensor.raw_tensor = raw


def _part(tensor: Tensor, index: int, lengths: Mapping[Dim, int]) -> tuple[slice, ...]:
    return tuple(
        slice(index, index + 1) if dim == batch_dim else slice(0, lengths.get(dim))
        for dim in tensor.dims
    )


def _without_padding(tensor: Tensor) -> list[torch.Tensor]:
    """Return what each sequence of a batch has."""
    if batch_dim not in tensor.dims:
        return []
    place = tensor.dims.index(batch_dim)
    others = [dim for dim in tensor.dims if dim != batch_dim]
    found = []
    for index, one in enumerate(tensor.raw_tensor.detach().unbind(place)):
        for at, dim in enumerate(others):
            sizes = dim.dyn_size_ext
            if sizes is not None and sizes.dims == (batch_dim,):
                one = one.narrow(at, 0, int(sizes.raw_tensor[index]))
        found.append(one.clone())
    return found


def _to_arrays(tensor: Tensor) -> None:
    if isinstance(tensor.raw_tensor, torch.Tensor):
        tensor.raw_tensor = tensor.raw_tensor.detach().numpy()
    for dim in tensor.dims:
        if dim._sizes is not None:
            _to_arrays(dim._sizes)
