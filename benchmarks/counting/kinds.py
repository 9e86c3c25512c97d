"""How often the code asks what kind of value it has, or leaves it open."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from counting.tree import DEFS, PACKAGE, File, Place, Tree

KINDS_IN_A_LADDER = 5
SYNTAX = {"ast", "cst", "libcst", "nodes"}


def any_uses(tree: Tree) -> list[Place]:
    """Return where `Any` is used in `analysis` and `ops`, under each of its names."""
    stand_for = {"Any"}
    while True:
        known = {name for file in tree.files for name in aliases(file, stand_for)}
        if known <= stand_for:
            break
        stand_for |= known
    return [
        file.place(node, file.text.splitlines()[node.lineno - 1])
        for file in tree.within("analysis", "ops")
        for node in references(file, stand_for)
    ]


def aliases(file: File, stand_for: set[str]) -> Iterator[str]:
    """Yield the names that a file defines as just one of these names."""
    if not any(re.search(rf"=\s*(?:\w+\.)?{name}\b", file.text) for name in stand_for):
        return
    known = {id(node) for node in references(file, stand_for)}
    for node in file.tree.body:
        match node:
            case ast.AnnAssign(target=ast.Name(name), value=value) if id(value) in known:
                yield name
            case ast.Assign(targets=[ast.Name(name)], value=value) if id(value) in known:
                yield name
            case _ if type(node).__name__ == "TypeAlias" and id(node.value) in known:  # type: ignore[attr-defined]
                yield node.name.id  # type: ignore[attr-defined]


def references(file: File, names: set[str]) -> Iterator[ast.Name | ast.Attribute]:
    """Yield the uses of names that come from `typing` or from the package, or are defined here."""
    meant, modules = set[str](), {"typing"}
    for node in file.nodes:
        match node:
            case ast.ImportFrom(module=module, names=imports, level=level):
                ours = level > 0 or (module or "").partition(".")[0] in {PACKAGE, "typing"}
                for alias in imports if ours else ():
                    kept = meant if alias.name in names else modules
                    kept.add(alias.asname or alias.name)
            case ast.AnnAssign(target=ast.Name(name)) if name in names:
                meant.add(name)
            case ast.Assign(targets=[ast.Name(name)]) if name in names:
                meant.add(name)
    for node in file.nodes:
        match node:
            case ast.Name(name, ast.Load()) if name in meant:
                yield node
            case ast.Attribute(ast.Name(module), name) if name in names and module in modules:
                yield node


def calls_of_isinstance(files: Iterable[File]) -> list[Place]:
    return [
        file.place(node)
        for file in files
        for node in file.nodes
        if isinstance(node, ast.Call) and is_isinstance(node)
    ]


def is_isinstance(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2


def ladders(files: Iterable[File]) -> list[Place]:
    return [
        file.place(function, f"{function.name}({asked}): {len(kinds)} kinds: {', '.join(kinds)}")
        for file in files
        for function in file.nodes
        if isinstance(function, DEFS)
        for asked, kinds in [longest_ladder(function)]
        if len(kinds) >= KINDS_IN_A_LADDER
    ]


def longest_ladder(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, list[str]]:
    """Return the expression that is asked about most kinds, and these kinds."""
    asked: dict[str, set[str]] = defaultdict(set)
    for node in inside(function):
        if isinstance(node, ast.Call) and is_isinstance(node):
            asked[ast.unparse(node.args[0])].update(class_names(node.args[1]))
        elif isinstance(node, ast.Match):
            for case in node.cases:
                asked[ast.unparse(node.subject)].update(pattern_kinds(case.pattern))
    return max(
        ((name, sorted(kinds)) for name, kinds in asked.items()),
        key=lambda found: len(found[1]),
        default=("", []),
    )


def inside(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function, those of functions that it defines left out."""
    ahead: list[ast.AST] = [*function.body]
    while ahead:
        node = ahead.pop()
        if not isinstance(node, DEFS):
            yield node
            ahead += ast.iter_child_nodes(node)


def class_names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from class_names(part)
        case ast.BinOp(left, ast.BitOr(), right):
            yield from class_names(left)
            yield from class_names(right)
        case ast.Attribute(ast.Name(module), _) if module in SYNTAX:
            return
        case _:
            yield ast.unparse(node)


def pattern_kinds(pattern: ast.pattern) -> Iterator[str]:
    match pattern:
        case ast.MatchClass(cls=cls):
            yield from class_names(cls)
        case ast.MatchOr(patterns=patterns):
            for one in patterns:
                yield from pattern_kinds(one)
        case ast.MatchAs(pattern=ast.pattern() as one):
            yield from pattern_kinds(one)
        case ast.MatchSingleton(value=None):
            yield "None"
