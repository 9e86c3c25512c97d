"""The stubs of nn and einops have the parameters of the real thing: names, order, defaults."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from shapecheck.ops import UNKNOWN
from shapecheck.signatures import shipped, table

FUNCTIONS = sorted(
    name
    for root in ("torch.nn.functional.", "einops.")
    for name in table().names(root.partition(".")[0])
    if name.startswith(root) and not name.rpartition(".")[2].startswith("_")
)


def real(name: str) -> Any:
    path, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(path), attribute, None)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    if name.startswith("einops.layers"):
        return
    function = real(name)
    assert function is not None, f"there is no {name}"
    try:
        found = inspect.signature(function)
    except ValueError:  # built in: the first line of its documentation is the signature
        _from_documentation(name, function)
        return
    kinds = {parameter.kind for parameter in found.parameters.values()}
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return
    signature = table().signature(name)
    assert signature is not None
    wanted = [p for p in found.parameters.values() if p.name != "out"]
    ours = [param.name for param in signature.params]
    assert ours == [p.name for p in wanted if p.kind is not p.VAR_KEYWORD]
    # Of several signatures, one that needs a parameter stands above those with its default.
    last = signature.overloads[-1] if signature.overloads else signature
    for param, parameter in zip(last.params, wanted, strict=False):
        if param.name == "return_indices" and name.endswith("_with_indices"):
            continue  # they return the indices whatever it says
        if parameter.default is not parameter.empty:
            assert not param.required, f"{param.name} has a default"
            assert param.default is UNKNOWN or param.default == parameter.default, param.name


def _from_documentation(name: str, function: Any) -> None:
    line = next((x for x in (function.__doc__ or "").splitlines() if "(" in x), "")
    inside = line.partition("(")[2].partition(")")[0]
    signature = table().signature(name)
    assert signature is not None
    ours = [param.name for param in signature.params]
    words = [part.partition("=")[0].strip(" *") for part in inside.split(",") if part.strip(" *")]
    if not line.startswith(name.rpartition(".")[2]) or words[:1] == ["tensor"]:
        return
    missing = [word for word in words if word.isidentifier() and word not in ours]
    assert not missing, f"{missing} of {line}"


def classes() -> Iterator[str]:
    for path in sorted((shipped() / "torch" / "nn").glob("_*.pyi")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


@pytest.mark.parametrize("name", list(classes()))
def test_modules(name: str) -> None:
    cls = getattr(nn, name)
    ours = table().lookup_class(f"torch.nn.{name}")
    assert ours is not None
    if name not in ("RNN", "LSTM", "GRU"):
        _same(ours.method("__init__"), inspect.signature(cls.__init__))
    _same(ours.method("forward"), inspect.signature(cls.forward))


def _same(ours: Any, real: inspect.Signature) -> None:
    assert ours is not None
    wanted = [p for p in real.parameters.values() if p.name != "self"]
    names = [p.name for p in ours.params] + (["kwargs"] if ours.variadic_keywords else [])
    assert names == [p.name for p in wanted]
    for param, parameter in zip(ours.params, wanted, strict=False):
        if param.star:
            continue
        assert param.required == (parameter.default is parameter.empty), param.name
        if not param.required and not callable(parameter.default):
            assert param.default == parameter.default, param.name


def test_recurrent_modules_by_position() -> None:
    """Their constructors take *args; the order is in the documentation."""
    for name, args in (
        ("RNN", (3, 4, 2, "relu", False, True, 0.1, True)),
        ("LSTM", (3, 4, 2, False, True, 0.1, True, 2)),
        ("GRU", (3, 4, 2, False, True, 0.1, True)),
    ):
        module = getattr(nn, name)(*args)
        cls = table().lookup_class(f"torch.nn.{name}")
        assert cls is not None
        attrs = cls.construct(args, {})
        assert attrs is not None
        for key, value in attrs.items():
            if key not in ("__class__", "device", "dtype"):
                assert getattr(module, key) == value, f"{name}.{key}"


def test_every_public_module_has_a_stub() -> None:
    named = set(classes())
    business_of_the_analysis = {
        "Module",
        "Container",
        "Sequential",
        "ModuleList",
        "ModuleDict",
        "ParameterList",
        "ParameterDict",
    }
    without = (
        {
            name
            for name in dir(nn)
            if isinstance(cls := getattr(nn, name), type) and issubclass(cls, torch.nn.Module)
            if table().lookup_class(f"torch.nn.{name}") is None
        }
        - named
        - business_of_the_analysis
    )
    assert without == {
        "DataParallel",  # wraps any module
        "RNNBase",  # the base of RNN, LSTM and GRU, without a forward of its own
        "RNNCellBase",
    }
