"""What of a function the analysis may say shapes of, and of which elements its tensors are."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from shapecheck.analysis.annotations.declarations import arguments_of, declaration, speaks
from shapecheck.analysis.annotations.reader import reader
from shapecheck.analysis.program.syntax import Def, nodes, nodes_of, target_names
from shapecheck.analysis.study.dtypes import with_dtypes
from shapecheck.analysis.study.model import Study
from shapecheck.analysis.values.model import tensor_of

_KEPT: Final = 256


def typed(one: Study) -> Study:
    """Study a function with the dtypes that its parameters must have, where there are any."""
    return (
        with_dtypes(one) if any(tensor_of(one.params[n]) for n in wanted(one) - {"return"}) else one
    )


@functools.lru_cache(maxsize=_KEPT)
def variables(function: ast.AST) -> frozenset[str]:
    """Return the names that stand for values in a function, and the words of its patterns."""
    found: set[str] = set()
    for node in nodes(function):
        match node:
            case ast.Name(id=word) | ast.arg(arg=word):
                found.add(word)
            case ast.Constant(value=str(text)) if "->" in text:
                found.update(words(text))
    return frozenset(found)


@functools.lru_cache(maxsize=_KEPT)
def bound_again(function: ast.AST) -> frozenset[str]:
    """Return the names that a function binds more than once.

    In `b, c, h, w = x.shape` behind a layer each may be another size than before.
    """
    bound: Counter[str] = Counter()
    for node in nodes(function):
        match node:
            case ast.Name(id=word, ctx=ast.Store()) | ast.arg(arg=word):
                bound[word] += 1
    return frozenset(word for word, times in bound.items() if times > 1)


def words(pattern: str) -> set[str]:
    """Return the names in a pattern of einops or einsum: words, or letters where none is apart."""
    apart = set(re.findall(r"[^\W\d]\w*", pattern))
    return apart if " " in pattern.partition("->")[0].strip() else apart | {*"".join(apart)}


def tensors_in(one: Study) -> set[str]:
    """Return the variables of a function that are tensors wherever they are read."""
    kinds: dict[str, bool] = {}
    for node, value in one.values.items():
        if isinstance(node, ast.Name):
            kinds[node.id] = tensor_of(value) is not None and kinds.get(node.id, True)
    return {name for name, is_tensor in kinds.items() if is_tensor}


def measured(node: ast.expr) -> ast.expr | None:
    """Return the expression of which another is the number of axes, None where it isn't that."""
    match node:
        case (
            ast.Attribute(value=value, attr="ndim")
            | ast.Call(func=ast.Attribute(value=value, attr="dim" | "ndimension"))
            | ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(value=value, attr="shape")])
        ):
            return value
    return None


@functools.lru_cache(maxsize=_KEPT)
def ranks_asked(function: Def) -> Mapping[str, AbstractSet[int]]:
    """Return for how many axes of a parameter a function asks, before it is surely another value.

    `if x.ndim == 3: x = x[None]`: there may be as many, whatever a text says.
    """
    until: dict[str, int] = {}
    for statement in function.body:
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            for name in target_names(target):
                until.setdefault(name, statement.lineno)
    found: dict[str, set[int]] = {}
    for test in nodes_of(ast.Compare, function):
        match measured(test.left), test:
            case (
                ast.Name(id=name),
                ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(int(rank))]),
            ) if test.lineno <= until.get(name, test.lineno):
                found.setdefault(name, set()).add(rank)
    return found


def wanted(one: Study) -> set[str]:
    """Return the parameters, and `return`, that may be annotated: tensors without a shape."""
    says = declaration(one.function)
    every = arguments_of(one.function.node)
    annotated = {argument.arg for argument in every if argument.annotation is not None}
    found = {
        param.name
        for param in says.params
        if not speaks(param.declared)
        and param.kind in ("positional", "keyword")
        and (param.declared.has_tensor if param.name in annotated else param.name in one.bare)
    }
    returns = getattr(one.function.node, "returns", None)
    if not speaks(says.result) and (returns is None or says.result.has_tensor):
        found.add("return")
    return found


def is_shaped(one: Study) -> bool:
    """Whether an annotation of a function, or of a variable in it, says a shape."""
    read = reader(one.function.module).read
    every = (node for node in nodes(one.function.node) if isinstance(node, ast.AnnAssign))
    return declaration(one.function).shaped or any(speaks(read(n.annotation)) for n in every)
