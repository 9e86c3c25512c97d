"""`install_import_hook`: `@shapecheck` on everything in a package, without an edit."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any, Final

from shapecheck.runtime.decorator import decorate_in
from shapecheck.types import ShapeAnnotationError

_NAME: Final = "__shapecheck_hook__"


class ImportHook(MetaPathFinder):
    """The hook while it is installed; leaving its `with` block, or `uninstall()`, ends that.

    Modules that were imported meanwhile stay decorated.
    """

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the packages as Python would, to be decorated when it is loaded."""
        if not self._covers(fullname):
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if type(spec.loader) is SourceFileLoader:
                    spec.loader = _Loader(spec.loader.name, spec.loader.path)
                return spec
        return None

    def _covers(self, name: str) -> bool:
        return any(name == package or name.startswith(f"{package}.") for package in self._packages)

    def uninstall(self) -> None:
        """Stop decorating what is imported from now on."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def __enter__(self) -> ImportHook:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.uninstall()


def install_import_hook(*packages: str) -> ImportHook:
    """Put `@shapecheck` on each function and class of packages that are imported from now on.

        with install_import_hook("my_package"):
            import my_package.models

    A name stands for a module, or for a package with all that is in it. Without the `with`, the
    hook stays until `uninstall()`. Functions that TorchScript or another compiler reads the source
    of (`@torch.jit.script`, `@triton.jit`) are left alone. What was imported before isn't
    decorated: that is a RuntimeWarning. Raises ValueError for what is no name of a module.
    """
    for package in packages:
        if not all(part.isidentifier() for part in package.split(".")):
            raise ValueError(f'install_import_hook: "{package}" is no name of a module')
        if package in sys.modules:
            warnings.warn(
                f'install_import_hook("{package}") comes too late for what has been imported of '
                f'"{package}" before it: that isn\'t checked',
                RuntimeWarning,
                stacklevel=2,
            )
    if not packages:
        raise ValueError("install_import_hook takes the names of one package or more")
    hook = ImportHook(packages)
    sys.meta_path.insert(0, hook)
    return hook


class _Loader(SourceFileLoader):
    """Loads a module from its source, decorated; never from or to Python's bytecode cache."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = ast.parse(decode_source(self.get_data(path)), path)
        rewrite(tree)
        code: CodeType = compile(tree, path, "exec", dont_inherit=True)
        return code


def rewrite(tree: ast.Module) -> None:
    """Put the decorator on all functions and classes in a module's syntax."""
    _Decorator().visit(tree)
    at = 0
    for statement in tree.body:
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (is_docstring or is_future):
            break
        at += 1
    added = ast.ImportFrom(__name__, [ast.alias("put_on", _NAME)], 0)
    added.lineno = added.end_lineno = (tree.body[at - 1].end_lineno or 1) if at else 1
    tree.body.insert(at, ast.fix_missing_locations(added))


def put_on(target: Any) -> Any:
    """Decorate what can be decorated, and leave the rest as it is.

    A class decorator may have put anything into the place of a class. What is wrong with an
    annotation is a RuntimeWarning, since the module's author didn't ask for a check.
    """
    if not isinstance(target, (type, FunctionType)):
        return target
    try:
        return decorate_in(target, sys._getframe(1).f_locals)
    except ShapeAnnotationError as error:
        where = f"{target.__module__}.{target.__qualname__}"
        warnings.warn(f"shapecheck: {where} isn't checked: {error}", RuntimeWarning, stacklevel=2)
        return target


class _Decorator(ast.NodeTransformer):
    """The decorator goes innermost on functions, and outermost on classes.

    So it gets the function itself, and sees what `@dataclass` has put into a class.
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
        if node.decorator_list and not _is_read_by_compiler(node):
            node.decorator_list.insert(0, _reference(node))
        return node


def _reference(node: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(_NAME, ast.Load()), node)


def _is_read_by_compiler(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator is one of those that want the source, `jit` by some name, or says little.

    An `@overload` has no body to check.
    """
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        names = [n.attr if isinstance(n, ast.Attribute) else "" for n in ast.walk(target)]
        names += [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
        if any("jit" in name or name == "overload" for name in names):
            return True
    return False
