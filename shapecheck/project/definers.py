"""Where the names that a module imports are defined, through modules that only hand them on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shapecheck.analysis import Source
from shapecheck.project.imports import absolute
from shapecheck.project.modules import Host, Module, Modules
from shapecheck.project.parsing import parsed

_ALL = "*"


@dataclass(frozen=True, slots=True)
class _Bound:
    """The names that a module binds: those from elsewhere, by where, and its own.

    `starred` are the modules of which it takes all names.
    """

    imported: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    starred: tuple[str, ...] = ()


class Definers:
    """Follows names to where they are defined, in the modules of a run."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._bound: dict[str, _Bound] = {}
        self.consulted: set[str] = set()
        """The modules on whose text rests what `of` has last said, those that aren't there too."""

    def forget(self, modules: Iterable[str] | None) -> None:
        """Read some modules anew, or all."""
        for name in [*self._bound] if modules is None else modules:
            self._bound.pop(name, None)

    def of(self, module: Module, host: Host) -> list[str]:
        """Return the modules in which the names are defined that a module imports."""
        self.consulted = set()
        bound = self._of(module.name, host)
        found = dict.fromkeys(
            origin
            for where, name in self._imported(module.name, bound, host)
            if (origin := self._origin(where, name, host, set())) is not None
        )
        found.pop(module.name, None)
        return list(found)

    def _imported(self, module: str, bound: _Bound, host: Host) -> Iterator[tuple[str, str]]:
        """Yield where each name comes from that a module has from another one."""
        yield from bound.imported.values()
        seen, waiting = {module}, list(bound.starred)
        while waiting:
            starred = waiting.pop()
            if starred in seen:
                continue
            seen.add(starred)
            there = self._of(starred, host)
            yield from ((starred, name) for name in there.own if not name.startswith("_"))
            yield from (at for name, at in there.imported.items() if not name.startswith("_"))
            waiting += there.starred

    def _origin(self, module: str, name: str, host: Host, seen: set[tuple[str, str]]) -> str | None:
        """Return the module that defines a name; a module's name is the module itself.

        Modules that import all of each other are gone through once: those that were `seen` aren't.
        """
        while (module, name) not in seen:
            seen.add((module, name))
            if not name:
                return module
            bound = self._of(module, host)
            if name in bound.own:
                return module
            if name in bound.imported:
                module, name = bound.imported[name]
                continue
            inside = f"{module}.{name}"
            self.consulted.add(inside)
            if self._modules.known(inside) is not None:
                return inside
            every = (self._origin(starred, name, host, seen) for starred in bound.starred)
            return next((one for one in every if one is not None), None)
        return None

    def _of(self, module: str, host: Host) -> _Bound:
        self.consulted.add(module)
        if module not in self._bound:
            self._bound[module] = self._read(module, host)
        return self._bound[module]

    def _read(self, module: str, host: Host) -> _Bound:
        known = self._modules.known(module)
        source = host.source(module) if known is not None else None
        if known is None or source is None:
            return _Bound()
        try:
            body = parsed(source).body
        except (SyntaxError, ValueError, RecursionError):
            return _Bound()
        return _bound(body, source, "__init__." in known.path)


def _bound(body: Sequence[ast.stmt], source: Source, is_package: bool) -> _Bound:
    imported: dict[str, tuple[str, str]] = {}
    own: set[str] = set()
    starred: list[str] = []
    for node in _statements(body):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    name = alias.asname or alias.name.partition(".")[0]
                    imported[name] = (alias.name if alias.asname else name), ""
            case ast.ImportFrom(names=names):
                origin = absolute(node, source.name, is_package=is_package)
                for alias in names:
                    if alias.name == _ALL:
                        starred.append(origin)
                    else:
                        imported[alias.asname or alias.name] = origin, alias.name
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                own.add(name)
            case ast.Assign(targets=targets):
                own |= {
                    one.id
                    for target in targets
                    for one in ast.walk(target)
                    if isinstance(one, ast.Name)
                }
            case ast.AnnAssign(target=ast.Name(id=name)):
                own.add(name)
    return _Bound(imported, frozenset(own - imported.keys()), tuple(starred))


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module's own code, those inside of others included."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, name, ()))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from _statements(part.body)
