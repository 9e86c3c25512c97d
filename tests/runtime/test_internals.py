"""What of torch isn't public: each name may be gone in the next torch, and programs run on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
import torch
from repository import ROOT

NAMES = {
    "torch._C.DisableTorchFunction": "full",
    "torch._C._len_torch_function_stack": "boundary",
    "torch._C._get_function_stack_at": "boundary",
    "torch._C._push_on_torch_function_stack": "boundary",
    "torch._C._pop_torch_function_stack": "boundary",
    "torch._C._functorch.peek_interpreter_stack": "full",
    "torch._C._functorch.is_functorch_wrapped_tensor": "full",
    "torch._C._functorch.get_unwrapped": "full",
    "torch._C._functorch.maybe_get_bdim": "full",
    "torch._C._functorch.maybe_get_level": "full",
    "torch.fx._symbolic_trace._is_fx_tracing_flag": "full",
    "torch.fx._symbolic_trace._is_fx_tracing_tls": "full",
    "torch._C._get_tracing_state": "full",
    "torch._dynamo.comptime": "full",
    "torch._dynamo.exc.TorchRuntimeError": "full",
    "torch.jit._builtins._register_builtin": "full",
    "torch._ops.OpOverload": "full",
    "torch._ops.OpOverloadPacket": "full",
    "torch._C._nn": "full",
}
"""Each private name, and how much is checked without it."""

PROGRAM = """
import importlib, json, os, pathlib, sys, traceback, types, warnings
import torch
import torch.fx, torch.jit
from torch import Tensor, nn


def without(path):
    # Take a name away as shapecheck sees torch while it is imported; torch itself keeps it.
    owner, _, name = path.rpartition(".")
    if path == "torch._dynamo.comptime":
        exists = pathlib.Path.exists
        pathlib.Path.exists = lambda self: self.name != "comptime.py" and exists(self)
        return lambda: None
    if owner not in sys.modules:
        importlib.import_module(owner)
    holder = sys.modules[owner]
    if not hasattr(holder, name):
        return None
    if owner.startswith("torch._dynamo"):
        delattr(holder, name)
        return lambda: None
    stand_in = types.ModuleType(owner)
    vars(stand_in).update({key: one for key, one in vars(holder).items() if key != name})
    above, _, last = owner.rpartition(".")

    def put(module):
        sys.modules[owner] = module
        setattr(sys.modules[above], last, module)

    put(stand_in)
    return lambda: put(holder)


def run(name, checked):
    from shapecheck import Float, ShapeError, dims_of, shapecheck

    @shapecheck
    def product(x: Float[Tensor, "n d"], w: Float[Tensor, "d k"]) -> Float[Tensor, "n k"]:
        n, d = x.shape
        return (x @ w).view(n, -1)

    @shapecheck
    def names(x: Float[Tensor, "n d"], w: Float[Tensor, "d k"]):
        return dims_of(x @ w)

    @shapecheck
    def sums(x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
        return torch.vmap(torch.sum)(x)

    @shapecheck
    def scaled(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return x * 2

    @shapecheck
    def encoded(x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        return nn.TransformerEncoderLayer(4, 2, batch_first=True).eval()(x)

    x, w = torch.rand(2, 3), torch.rand(3, 4)
    for _ in range(2):
        assert torch.equal(product(x, w), x @ w)
        assert torch.equal(sums(x), x.sum(1))
        assert encoded(torch.rand(1, 2, 4)).shape == (1, 2, 4)
    for wrong in (lambda: product(x, w[:2]), lambda: product(x[0], w)):
        try:
            wrong()
        except ShapeError:
            continue
        raise AssertionError("not refused")
    scripted = torch.jit.trace(lambda x: product(x, w), x)
    assert torch.equal(scripted(x), x @ w)
    assert torch.equal(torch.fx.symbolic_trace(lambda x: scaled(x))(x), x * 2)
    if "_dynamo" in name:
        compiled = torch.compile(lambda x: product(x, w), backend="eager", fullgraph=True)
        assert torch.equal(compiled(x), x @ w)
    if checked == "full":
        assert names(x, w) == ("n", "k"), names(x, w)
    else:
        assert names(x, w) == (None, None), names(x, w)


def said_without(name, checked):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            give_back = without(name)
            import shapecheck.runtime

            if give_back is None:
                return None
            give_back()
            run(name, checked)
        except BaseException:
            return traceback.format_exc()
    return "\\n".join(str(one.message) for one in caught if "shapecheck" in str(one.message))


for name, checked in json.loads(sys.argv[1]).items():
    if os.fork() == 0:
        print(json.dumps([name, said_without(name, checked)]), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def said() -> dict[str, str | None]:
    """Run the program without each of the names; return the warnings, or the traceback.

    Of a name that this torch doesn't have, None.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(NAMES)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, since torch is slow to import")
@pytest.mark.parametrize("name", NAMES)
def test_a_torch_without(name: str, said: dict[str, str | None]) -> None:
    if said[name] is None:
        pytest.skip("this torch doesn't have it")
    if NAMES[name] == "full":
        assert said[name] == ""
    else:
        assert said[name] == (
            f"shapecheck: this torch has no {name}; arguments and results are checked, and names "
            "aren't carried through the ops in between"
        )


def test_only_one_file_names_what_is_private() -> None:
    """The names above are those in it; those of dynamo's own variables are asked for by getattr."""
    private = re.compile(
        r"\btorch(?:\.\w+)*\._[a-z]\w*|from torch[\w.]* import \(?\s*_[a-z]|\b_C\."
    )
    for path in (ROOT / "shapecheck").rglob("*.py"):
        if path.parts[-2:] == ("runtime", "internals.py") or not {"runtime", "named"} & {
            *path.relative_to(ROOT).parts
        }:
            continue
        found = [line for line in path.read_text().splitlines() if private.search(line)]
        assert not [line for line in found if "__" not in line], path
    text = (ROOT / "shapecheck" / "runtime" / "internals.py").read_text()
    last = {name.rpartition(".")[2] for name in NAMES}
    assert {name for name in last if name not in text} == set()


def test_this_torch_has_what_is_needed_for_names() -> None:
    from shapecheck.runtime import internals

    assert torch.__version__
    assert internals._missing == []
