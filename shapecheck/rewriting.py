"""Puts a decorator on everything in a module's syntax, for modules that are loaded by a hook."""

from __future__ import annotations

import ast
from typing import Final

_NAME: Final = "__shapecheck_hook__"
_LEFT_ALONE: Final = frozenset(("ignore", "unused"))


def rewrite(tree: ast.Module, provider: str, name: str = "put_on") -> None:
    """Put a decorator on all functions and classes in a module's syntax, `name` of `provider`."""
    _Decorator().visit(tree)
    at = 0
    for statement in tree.body:
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (is_docstring or is_future):
            break
        at += 1
    added = ast.ImportFrom(provider, [ast.alias(name, _NAME)], 0)
    added.lineno = added.end_lineno = (tree.body[at - 1].end_lineno or 1) if at else 1
    tree.body.insert(at, ast.fix_missing_locations(added))


class _Decorator(ast.NodeTransformer):
    """The decorator goes innermost on functions, and outermost on classes.

    So it gets the function itself, and sees what `@dataclass` or NamedTuple has put into a class.
    """

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if not _is_read_by_compiler(node):
            node.decorator_list.append(_reference(node))
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list.append(_reference(node))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        has_more = bool(node.decorator_list) or any(map(_is_named_tuple, node.bases))
        if has_more and not _is_read_by_compiler(node):
            node.decorator_list.insert(0, _reference(node))
        return node


def _reference(node: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(_NAME, ast.Load()), node)


def _is_named_tuple(base: ast.expr) -> bool:
    return ast.unparse(base).rpartition(".")[2] == "NamedTuple"


def _is_read_by_compiler(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator is one of those that want the source, `jit` by some name, or says little.

    An `@overload` has no body to check. What `@torch.jit.ignore` stands on stays as Python has it.
    """
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        names = [n.attr if isinstance(n, ast.Attribute) else "" for n in ast.walk(target)]
        names += [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
        if not _LEFT_ALONE.isdisjoint(names):
            continue
        if any("jit" in name or name == "overload" for name in names):
            return True
    return False
