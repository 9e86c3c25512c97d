"""Whatever a module looks like: annotated it still runs and means the same, and strip undoes it."""

from __future__ import annotations

import ast
import inspect
import sys
from typing import Annotated, Any, get_args, get_origin

import jaxtyping
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shapecheck.analysis.study.study import defs
from shapecheck.codemod.strip import strip
from shapecheck.codemod.write.annotation_types import NONE, Either, ListType, TensorType, Type
from shapecheck.codemod.write.edit import FIELD, Slot, annotate, classes, fields_of

BT = TensorType("Float", "b t")
KINDS: dict[str, Type] = {
    "mask": Either((TensorType("Bool", "b"), NONE)),
    "xs": ListType(TensorType("Float", "n")),
}

BEGINNINGS = (
    "",
    "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n",
    '"""A module."""\n',
    '"""A module."""; import os\n',
    "'''A module''' ' in two parts'\n\n",
    "\f\n# a comment\n",
)
FUTURES = (
    "",
    "from __future__ import annotations\n",
    "from __future__ import annotations; import sys\n",
    "import typing; from typing import Any\n",
)
IMPORTS = """\
import torch
---
import torch.nn
---
import torch as th, os
---
import torch.nn.functional as F
---
from torch import Tensor
---
from torch import (
    nn,  # layers
    Tensor,
)
---
from torch import Tensor as T
---
from math import *
---
from decimal import Decimal as Float
---
from decimal import Decimal as Tensor
---
from shapecheck import Float
---
from jaxtyping import Float, Int
---
from jaxtyping import Float as Fl; used = Fl
---
try:
    import torch
except ImportError:
    torch = None
---
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import torch
    from torch import Tensor
---
if True:
    from torch import Tensor
else:
    Tensor = None
---
import os
os.environ['SOME'] = 'thing'
import torch
---
""".split("---\n")
STATEMENTS = (
    "__all__ = ['f', 'Float']\nFloat = 1\n",
    "Tensor = int\n",
    "z: Tensor = 3\n",
    "Float: int = 3\n",
    "x = y = 'Float[Tensor]'\n",
    "for Bool in (1, 2):\n    pass\n",
    "import torch\n",
    "class Tensor: ...\n",
    "from torch import Tensor\n",
    "",
)
FUNCTIONS = """\
def f(x, mask=None):
    y = x
    return y
---
def f(x, mask = None, *xs): y = x; return y
---
async def f(x,mask=None,/,*,k=f'{1:>{2}}')  :  # (b, t)
\ty = x  ;z=y
\treturn y
---
def f(
    x,  # (b, t)
    mask=lambda x, y=1: x,  # none
):
    if (y := x):
        y = x
---
def f(x,\\
      mask=\\
      None):
    y \\
    = x
    return y
---
def f(x, mask=None, **xs):
    # type: (Any, Any) -> Any
    y = x  # type: ignore
    return y
---
def f(x):
    def g(x, mask=(1,)):
        y = x
        return y
    return g
---
def f(x):
  '''One.
\tTwo.
  '''
  y = x
# to the left
  return y
---
class A:
    '''It.'''
    def f(self, x, mask=None):
        y = x
        return y
---
class A:
\tclass B:
\t\t@staticmethod
\t\t# between
\t\tdef f(x, *, mask=None): return x
\tdef f(self, x): ...
---
class A:
    def torch(self): ...
    def Tensor(self): ...
    Float = 3
    def f(self, x): return x
---
from torch import Tensor as Given
class A:
    d: str = 'ä'; x: Given = None; y: 'Given'; x: int = 1
    z: Given | \\
        None
    def f(self, x): return x
    class B:
        e: (Given)  # (b, t)
---
class A:
    import decimal as torch
    def f(self, x): return x
---
from typing import overload
@overload
def f(x: int): ...
@overload
def f(x: str, mask=None): ...
def f(x, mask=None): return x
---
if 1:
    def f(x): return x
else:
    def f(x): ...
---
try:
    def f(x): return x
finally: pass
---
def f(Float, x, torch=1):
    from decimal import Decimal as Tensor
    y = x
    return y
---
def f(x):
    import torch
    def g(x): return x
    return g
---
import functools
@functools.lru_cache(
    maxsize=None)  # many
@functools.wraps(print)
def f(x): return x
---
def f(x): return [y for y in x]; 1
---
def f(x):
    match x:
        case [Float, *Bool]:
            y = Float
            return y
""".split("---\n")
LATER = ("def late(x, mask=None): return x\n",)
TYPED = (
    "def f[T](x, mask: T = None):\n    y = x\n    return y\n",
    "type Float = int\ndef f(x): return x\n",
)


def _slots(text: str) -> dict[Slot, Type]:
    """Return annotations for all parameters, results and first assignments of names."""
    found: dict[Slot, Type] = {}
    for node, name, nth in defs(ast.parse(text)):
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [one.arg for one in every if one.arg not in ("self", "k")]
        found |= {Slot(name, nth, n): KINDS.get(n, BT) for n in (*names, "return")}
        found[Slot(name, nth, "y", 1)] = BT
    for owner, name, nth in classes(ast.parse(text)):
        found |= {Slot(name, nth, field, FIELD): BT for field in fields_of(owner)}
    return found


class _Bare(ast.NodeTransformer):
    """Takes out what annotations may add: themselves, and imports."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg, None)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value or ast.Constant(None))


def _bare(text: str) -> list[str]:
    body = _Bare().visit(ast.parse(text)).body
    return [ast.dump(one) for one in body if not isinstance(one, ast.ImportFrom)]


def _run(text: str) -> dict[str, Any]:
    module: dict[str, Any] = {"__name__": "m"}
    exec(compile(text, "m.py", "exec", dont_inherit=True), module)
    return module


def _functions(module: dict[str, Any]) -> list[Any]:
    """Return the functions of a module and of its classes."""
    found, waiting = [], [one for name, one in module.items() if not name.startswith("__")]
    while waiting:
        one = waiting.pop()
        if inspect.isfunction(one) and one.__module__ == "m":
            found.append(one)
        elif inspect.isclass(one) and one.__module__ == "m":
            waiting += vars(one).values()
    return found


def _is_float(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return get_args(hint)[0] is torch.Tensor and str(get_args(hint)[1]) == 'Float["b t"]'
    return str(hint) == str(jaxtyping.Float[torch.Tensor, "b t"])


def check(text: str, style: str = "shapecheck") -> None:
    """Annotate a module everywhere, and see that nothing else has become of it."""
    try:
        before = _run(text)
    except SyntaxError:
        return
    except (NameError, AttributeError, TypeError):  # it can't be imported as it is
        before = None
    wanted = _slots(text)
    annotated = annotate(text, wanted, style).text
    assert annotated != text
    assert _bare(annotated) == _bare(text)
    assert annotate(annotated, wanted, style).text == annotated
    assert strip(annotated) == text
    if before is None:
        compile(annotated, "m.py", "exec", dont_inherit=True)
        return
    after = _run(annotated)
    assert after.get("__doc__") == before.get("__doc__")
    for name, value in before.items():
        if type(value) in (int, str, type(torch)):
            assert after[name] == value, name
    for function in _functions(after):
        hint = function.__annotations__.get("x")
        if isinstance(hint, str) and "TYPE_CHECKING" not in text:
            hint = eval(hint, after)
        assert hint in (None, int, str) or isinstance(hint, str) or _is_float(hint), hint


functions = st.sampled_from([*FUNCTIONS, *(TYPED if sys.version_info >= (3, 12) else ())])


@settings(deadline=None)
@given(
    st.sampled_from(BEGINNINGS),
    st.sampled_from(FUTURES),
    st.lists(st.sampled_from([*IMPORTS, *STATEMENTS]), max_size=4),
    st.lists(functions, min_size=1, max_size=3),
    st.lists(st.sampled_from([*IMPORTS, *STATEMENTS, *LATER]), max_size=2),
    st.sampled_from(("\n", "\r\n")),
    st.booleans(),
    st.sampled_from(("shapecheck", "jaxtyping")),
)
def test_any_module_is_what_it_was(
    beginning: str,
    future: str,
    above: list[str],
    bodies: list[str],
    below: list[str],
    newline: str,
    is_ended: bool,
    style: str,
) -> None:
    text = "".join([beginning, future, *above, *bodies, *below])
    if not is_ended:
        text = text.rstrip("\n")
    check(text.replace("\n", newline), style)
