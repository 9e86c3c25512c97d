"""Where the names of ops are listed outside of the signature files."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from counting.tree import DEFS, Place, Tree

NAMES_IN_A_LIST = 3


def known_ops(tree: Tree) -> set[str]:
    """Return the names that the signature files define, dotted ones and their last parts."""
    found: set[str] = set()
    for path in {*tree.root.glob("stubs/**/*.pyi"), *tree.root.glob("shapecheck/**/*.pyi")}:
        if {"stubs", "_stubs"} & set(path.relative_to(tree.root).parts):
            found.update(defined(ast.parse(path.read_text("utf-8"))))
    of_python = {name for name, value in vars(builtins).items() if isinstance(value, type)}
    return {name for name in found - of_python if not name.startswith("__")}


def defined(stub: ast.Module) -> Iterator[str]:
    """Yield the names of the functions, methods and classes of a signature file."""
    for node in ast.walk(stub):
        if not isinstance(node, (*DEFS, ast.ClassDef)):
            continue
        names = [node.name]
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(func=ast.Name("also"), args=args):
                    names += [one.value for one in args if is_text(one)]  # type: ignore[attr-defined]
                case ast.Name("inplace"):
                    names.append(f"{node.name}_")
        for name in names:
            yield from {name, name.rpartition(".")[2]}


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def op_names(tree: Tree, tables: bool) -> tuple[list[Place], int]:
    """Return where names of ops are listed, or are keys of a table, and how many they are."""
    known, places, names = known_ops(tree), [], set[str]()
    for file in tree.files:
        public = {
            id(node.value)
            for node in file.tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        }
        for node in file.nodes:
            words = keys(node) if tables else listed(node)
            ops = [word for word in words if word in known or is_dotted(word, known)]
            if (
                len(ops) >= NAMES_IN_A_LIST
                and 2 * len(ops) >= len(words)
                and id(node) not in public
            ):
                places.append(file.place(node, f"{len(ops)} names: {' '.join(ops)}"))
                names.update(ops)
    return places, len(names)


def is_dtype(node: ast.expr) -> bool:
    """Whether an expression is the name of a dtype: what has them as values spells dtypes."""
    return is_text(node) and re.fullmatch(r"(u?int|b?float|complex)\d+", node.value) is not None  # type: ignore[attr-defined]


def is_dotted(word: str, ops: set[str]) -> bool:
    """Whether it is an op's name behind a package: `torch.cat`, `nn.Linear`."""
    package, _, last = word.rpartition(".")
    return last in ops and package.partition(".")[0] in {"torch", "nn", "F", "einops"}


def listed(node: ast.AST) -> list[str]:
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return [part.value for part in parts if is_text(part)]  # type: ignore[attr-defined]
        case ast.Call(func=ast.Attribute(ast.Constant(str(text)), "split"), args=[]):
            return text.split()
        case ast.MatchOr(patterns=parts):
            values = [part.value for part in parts if isinstance(part, ast.MatchValue)]
            return [value.value for value in values if is_text(value)]  # type: ignore[attr-defined]
    return []


def keys(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.Dict) or all(map(is_dtype, node.values)):
        return []
    return [key.value for key in node.keys if key is not None and is_text(key)]  # type: ignore[attr-defined]
