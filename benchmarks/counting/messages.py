"""Where the code reads what its own messages say."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from counting.kinds import class_names
from counting.tree import Place, Tree

REGEX = set("match search fullmatch findall finditer split sub subn".split())
READS = REGEX | set(
    "startswith endswith removeprefix removesuffix partition rpartition rsplit splitlines find "
    "index count replace strip".split()
)
MESSAGES = {"message", "reason"}


def message_reads(tree: Tree) -> list[Place]:
    found = []
    for file in tree.files:
        runs_others = runs_programs(file.tree)
        for node, errors in outside_of_parsers(file.tree, frozenset(), tree.classes):
            for subject in subjects(node):
                if says(subject, errors) and not (runs_others and is_own_message(subject)):
                    found.append(file.place(node))
                    break
    return found


def runs_programs(tree: ast.Module) -> bool:
    """Whether a file starts other programs, so that its classes hold what these print."""
    imports = (node for node in tree.body if isinstance(node, ast.Import))
    return any(name.name == "subprocess" for node in imports for name in node.names)


def is_own_message(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(ast.Name("self"), "message"):
            return True
    return False


def outside_of_parsers(
    node: ast.AST, errors: frozenset[str], ours: set[str]
) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Yield all nodes, each with the variables around it that hold an error of the package."""
    match node:
        case ast.ClassDef(bases=bases) if any("ArgumentParser" in ast.unparse(b) for b in bases):
            return
        case ast.ExceptHandler(type=ast.expr() as kind, name=str(name)):
            if class_last(kind) & ours:
                errors |= {name}
        case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
            for one in (*arguments.args, *arguments.kwonlyargs):
                kinds = set() if one.annotation is None else class_last(one.annotation)
                if any(kind in ours and kind.endswith("Error") for kind in kinds):
                    errors |= {one.arg}
    yield node, errors
    for child in ast.iter_child_nodes(node):
        yield from outside_of_parsers(child, errors, ours)


def class_last(node: ast.expr) -> set[str]:
    """Return the last parts of the class names in an expression."""
    return {name.rpartition(".")[2] for name in class_names(node)}


def subjects(node: ast.AST) -> list[ast.expr]:
    """Return what a regular expression, a string method or `"..." in` is put to."""
    match node:
        case ast.Call(func=ast.Attribute(ast.Name("re"), name), args=[_, *args]) if name in REGEX:
            return args[-1:] if name.startswith("sub") else args[:1]
        case ast.Call(func=ast.Attribute(value, name), args=args) if name in READS:
            return [value, *args[:1]] if name in REGEX else [value]
        case ast.Compare(
            ast.Constant(str()) | ast.JoinedStr(), [ast.In() | ast.NotIn()], [subject]
        ):
            return [subject]
    return []


def says(node: ast.expr, errors: frozenset[str]) -> bool:
    """Whether an expression is the text of one of our own messages."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in MESSAGES:
            return True
        case ast.Attribute(value, "text"):
            return says(value, errors)
        case ast.Call(func=ast.Name("str"), args=[ast.Name(name)]):
            return name in errors
    return False
