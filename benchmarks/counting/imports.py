"""What imports what, and where."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from counting.tree import DEFS, PACKAGE, Figure, File, Place, Tree

FREE_NAMES = {"__version__"}


def import_graph(tree: Tree) -> dict[str, set[str]]:
    """Return the paths of the files that each file imports, by its own."""
    return {
        file.path: {
            found.path
            for name in imported(file)
            if (found := target(tree, name)) is not None and found is not file
        }
        for file in tree.files
    }


def target(tree: Tree, name: str) -> File | None:
    """Return the file that a dotted name is, or is defined in."""
    head, _, last = name.rpartition(".")
    if last in FREE_NAMES:
        return None
    return tree.by_module.get(name) or (target(tree, head) if head else None)


def imported(file: File) -> Iterator[str]:
    """Yield the dotted name of all that a file imports."""
    for node in file.nodes:
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                stem = absolute("." * level + (module or ""), file.package)
                yield from (f"{stem}.{alias.name}" for alias in names)
            case ast.Call(
                func=ast.Name("import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str(name)), *_],
            ):
                yield absolute(name, file.package)


def absolute(name: str, package: str) -> str:
    stem = name.lstrip(".")
    up = len(name) - len(stem) - 1
    if up < 0:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - up], *filter(None, [stem])])


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of two or more that each lead to each other, the largest first."""
    below = {node: reached(graph, node) for node in graph}
    groups = {
        tuple(sorted(other for other in below[node] if node in below[other])) for node in graph
    }
    return sorted((list(group) for group in groups if len(group) > 1), key=lambda g: (-len(g), g))


def reached(graph: Mapping[str, Iterable[str]], start: str) -> set[str]:
    found: set[str] = set()
    ahead = [start]
    while ahead:
        for node in graph[ahead.pop()]:
            if node not in found:
                found.add(node)
                ahead.append(node)
    return found


def folder_graph(graph: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    folders: dict[str, set[str]] = {room(path): set() for path in graph}
    for path, targets in graph.items():
        folder, _, name = path.rpartition("/")
        for target in targets:
            is_front = name == "__init__.py" and target.startswith(f"{folder}/")
            if room(path) != room(target) and not is_front:
                folders[room(path)].add(room(target))
    return folders


def room(path: str) -> str:
    """Return the folder of a file, the file itself where it is directly in the package."""
    folder = path.rpartition("/")[0]
    return path if folder == PACKAGE else folder


def circle_figure(title: str, groups: list[list[str]]) -> Figure:
    places = [Place(group[0], 0, " ".join(group[1:])) for group in groups]
    note = "of " + ", ".join(str(len(group)) for group in groups) if groups else ""
    return Figure(title, len(groups), places, note)


def local_imports(files: Iterable[File]) -> list[Place]:
    found = {
        (file.path, node.lineno): file.place(node, file.text.splitlines()[node.lineno - 1])
        for file in files
        for function in file.nodes
        if isinstance(function, DEFS)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    return list(found.values())
