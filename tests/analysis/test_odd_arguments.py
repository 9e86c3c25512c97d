"""Every op, called with what nobody means: no rule fails, and no message says a value as Python."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator

import pytest
from repository import ROOT

from shapecheck.analysis import Diagnostic, Options, Source, analyze_module

STUBS = ROOT / "stubs"
HEAD = """\
import functools
import torch, shapecheck, einops
import torch.nn.functional as F
from torch import Tensor, nn
from shapecheck import Float, named, reveal_shape

class Net(nn.Module): ...
def helper() -> None: ...

def run(x: Float[Tensor, "b 6 4"], y: Float[Tensor, "4"], w: Tensor) -> None:
    d = {1: 2}
    norm = nn.BatchNorm2d(3)
"""
ODD = """\
print; norm; slice(1, 2); ...; Net; Net(); helper; lambda: 1; d; nn; torch.float16; undefined; \
True; {1, 2}; [print, norm]; (slice(1, 2), ...); range(3); None; 'b'; functools.partial(helper); \
[1, 2, 3]; 1.5; b'x'; iter([1]); torch.tensor(3.0); torch.tensor(3); w""".split("; ")
USUAL = ["x", "y", "w", "1", "0", "-1", "2", "(x, x)", "[1, 2]", "torch.tensor(3.0)"]
PYTHON = re.compile(
    r"[A-Z]\w*\(\w+=|[{<]|\bslice\(|Ellipsis|builtins\.|what is given|Revealed shape .*True"
)


class Alone:
    """A host without modules."""

    def source(self, module: str) -> Source | None:
        """Return nothing."""
        return None


def ops() -> Iterator[tuple[str, list[str], bool]]:
    """Yield each function and class that there are signatures of, and its parameters."""
    for path in sorted(STUBS.rglob("*.pyi")):
        parts = [*path.relative_to(STUBS).with_suffix("").parts]
        module = ".".join(part for part in parts if not part.startswith("_"))
        for node in ast.parse(path.read_text("utf-8")).body:
            members = node.body if isinstance(node, ast.ClassDef) else [node]
            for one in members:
                is_class = one is not node
                if isinstance(one, ast.FunctionDef) and is_class == (one.name == "__init__"):
                    args = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
                    names = [arg.arg for arg in args][is_class:]
                    yield f"{module}.{node.name}", names, is_class  # type: ignore[attr-defined]


def call(draw: random.Random, name: str, params: list[str], is_class: bool) -> str:
    """Return a call of an op with some arguments."""
    given = []
    for index, param in enumerate(params):
        if index and draw.random() < 0.3:
            continue
        odd = draw.random() < (0.3 if index == 0 and not is_class else 0.5)
        value = draw.choice(ODD if odd else USUAL)
        given.append(value if index == 0 else f"{param}={value}")
    made = f"{name}({', '.join(given)})"
    return f"{made}({draw.choice(['x', 'y', 'x, x', 'w'])})" if is_class else made


def said(found: list[Diagnostic], line: int) -> list[str]:
    """Return what is said at a line, without the call itself where it is an instance's."""
    messages = [one.message for one in found if one.span.line == line]
    return [one[one.rfind(')" ') + 1 :] if one.startswith('"') else one for one in messages]


@pytest.mark.parametrize("seed", range(3))
def test_odd_arguments(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPECHECK_DEBUG", "1")  # a rule that fails, fails here
    draw = random.Random(seed)
    calls = [call(draw, *op) for op in ops() for _ in range(2)]
    assert len(calls) > 1500
    first = HEAD.count("\n") + 1
    text = HEAD + "".join(f"    reveal_shape({one})\n" for one in calls)
    found = analyze_module(Source("odd", "odd.py", text), Alone(), Options())
    assert len(found) > 300
    bad = {
        one: message
        for line, one in enumerate(calls, first)
        for message in said(found, line)
        if PYTHON.search(message)
    }
    assert bad == {}
