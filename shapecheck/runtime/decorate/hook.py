"""`install_import_hook`: `@shapecheck` on everything in a package, without an edit."""

from __future__ import annotations

import ast
import atexit
import difflib
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source
from multiprocessing import parent_process
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

from shapecheck.rewriting import rewrite
from shapecheck.runtime.decorate.decorator import decorate_in
from shapecheck.tensor_spec import ShapeAnnotationError


class ImportHook(MetaPathFinder):
    """The hook while it is installed; leaving its `with` block, or `uninstall()`, ends that.

    Modules that were imported meanwhile stay decorated. `packages` are the names that it was given,
    `loaded` the modules that were decorated. At the end of its `with` block or of the process it
    warns, at the line of `frame`, of packages of which nothing was imported.
    """

    def __init__(
        self, packages: tuple[str, ...], variables: bool = False, frame: FrameType | None = None
    ) -> None:
        self.packages = packages
        self.loaded: set[str] = set()
        self._unmet = {package for package in packages if package not in sys.modules}
        self._place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        self._decorator = (put_on_variables if variables else put_on).__name__

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the packages as Python would, to be decorated when it is loaded."""
        met = {package for package in self.packages if _is_in(fullname, package)}
        if not met:
            return None
        self._unmet -= met
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if type(spec.loader) is SourceFileLoader:
                    spec.loader = _Loader(
                        spec.loader.name, spec.loader.path, self.loaded, self._decorator
                    )
                return spec
        return None

    def uninstall(self) -> None:
        """Stop decorating what is imported from now on."""
        atexit.unregister(self.warn_of_unmet)
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def warn_of_unmet(self) -> None:
        """Warn of each package of which nothing was imported, as of one that is spelled wrongly."""
        for package in sorted(self._unmet if parent_process() is None else ()):
            known = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
            close = difflib.get_close_matches(package.partition(".")[0], sorted(known), n=1)
            hint = f'; did you mean "{close[0]}"?' if close and close[0] != package else ""
            text = (
                f'install_import_hook("{package}") has checked nothing: no module of that name was '
                f"imported after it{hint}"
            )
            warnings.warn_explicit(text, RuntimeWarning, *self._place)

    def __enter__(self) -> ImportHook:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.uninstall()
        if error is None:
            self.warn_of_unmet()


def _is_in(name: str, package: str) -> bool:
    """Whether a module is one of a package, or the package itself."""
    return name == package or name.startswith(f"{package}.")


def install_import_hook(*packages: str, variables: bool = False) -> ImportHook:
    """Put checks on each function and class of packages that are imported from now on.

        with install_import_hook("my_package"):
            import my_package.models

    A name stands for a module, or for a package with all that is in it. Without the `with`, the
    hook stays until `uninstall()`. Only shapes are checked, where `@shapecheck` by itself checks
    all that a signature says. Functions that TorchScript or another compiler reads the source
    of (`@torch.jit.script`, `@triton.jit`) are left alone. With `variables=True` annotated local
    variables are checked too. What was imported before isn't decorated: that is a RuntimeWarning,
    as is, in the end, a name of which nothing was imported.
    Raises ValueError for what is no name of a module.
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
    hook = ImportHook(packages, variables, sys._getframe(1))
    sys.meta_path.insert(0, hook)
    atexit.register(hook.warn_of_unmet)
    return hook


class _Loader(SourceFileLoader):
    """Loads a module from its source, decorated; never from or to Python's bytecode cache."""

    def __init__(self, fullname: str, path: str, loaded: set[str], decorator: str) -> None:
        super().__init__(fullname, path)
        self._loaded = loaded
        self._decorator = decorator

    def get_code(self, fullname: str) -> CodeType:
        self._loaded.add(fullname)
        path = self.get_filename(fullname)
        tree = ast.parse(decode_source(self.get_data(path)), path)
        rewrite(tree, __name__, self._decorator)
        code: CodeType = compile(tree, path, "exec", dont_inherit=True)
        return code


def put_on(target: Any) -> Any:
    """Decorate what can be decorated, and leave the rest as it is.

    A class decorator may have put anything into the place of a class. What is wrong with an
    annotation is a RuntimeWarning, since the module's author didn't ask for a check.
    """
    return _decorated(target, sys._getframe(1).f_locals, variables=False)


def put_on_variables(target: Any) -> Any:
    """Decorate what can be decorated, with annotated local variables checked too."""
    return _decorated(target, sys._getframe(1).f_locals, variables=True)


def _decorated(target: Any, namespace: Mapping[str, Any], variables: bool) -> Any:
    if not isinstance(target, (type, FunctionType)):
        return target
    try:
        return decorate_in(target, namespace, variables=variables, shapes_only=True)
    except ShapeAnnotationError as error:
        where = f"{target.__module__}.{target.__qualname__}"
        warnings.warn(f"shapecheck: {where} isn't checked: {error}", RuntimeWarning, stacklevel=3)
        return target
