"""The kinds of edits: each draws one edit of a tree, and returns the tree after it."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable
from typing import Final

from mutation.edits import edits

from edits import programs
from edits.trees import PROJECT, SETTINGS, SIGNATURES, TARGETS, Tree, module_name, modules

Change = Callable[[Tree, random.Random], "Tree | None"]
"""Returns None where there is nothing of its kind to edit."""

TRIES: Final = 20
_ANNOTATION: Final = re.compile(r'(\[\s*(?:torch\.)?Tensor\s*,\s*")([^"\n]*)(")')
_IMPORT: Final = re.compile(r"^(?:from\s+\S+\s+)?import\s+[^(\n]+$", re.MULTILINE)
_BROKEN: Final = "def broken(:\n"


def draw(tree: Tree, history: list[Tree], rng: random.Random) -> tuple[str, Tree]:
    """Return the next tree, and what kind of edit led there; `history` is all that was before."""
    mended = _mended(tree)
    if mended is not None and rng.random() < 0.7:
        return "syntax error mended", mended
    if len(history) > 1 and rng.random() < 0.08:
        return "a step back", history[-2]
    if len(history) > 2 and rng.random() < 0.04:
        return "another branch", rng.choice(history)
    for _ in range(TRIES):
        name, change = rng.choice(_WEIGHTED)
        after = change(tree, rng)
        if after is not None and after != tree:
            return name, after
    return "nothing", tree


def _mended(tree: Tree) -> Tree | None:
    broken = {name: text for name, text in tree.items() if text.startswith(_BROKEN)}
    if not broken:
        return None
    return {**tree, **{name: text.removeprefix(_BROKEN) for name, text in broken.items()}}


def _one(tree: Tree, rng: random.Random) -> str | None:
    found = [name for name in modules(tree) if tree[name].strip()]
    return rng.choice(found) if found else None


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _definitions(text: str) -> list[ast.FunctionDef | ast.ClassDef]:
    tree = _parsed(text)
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, kinds)]


def _body(tree: Tree, rng: random.Random) -> Tree | None:
    """A size, an argument, a text or an op of a function becomes another."""
    name = _one(tree, rng)
    if name is None or not (found := _definitions(tree[name])):
        return None
    drawn = edits(tree[name], rng.choice(found))
    return {**tree, name: rng.choice(drawn).apply(tree[name])} if drawn else None


def _statement(tree: Tree, rng: random.Random) -> Tree | None:
    """A statement is added at the beginning of a function, or one is deleted."""
    name = _one(tree, rng)
    if name is None:
        return None
    text = tree[name]
    functions = [one for one in _definitions(text) if isinstance(one, ast.FunctionDef)]
    if not functions:
        return None
    function = rng.choice(functions)
    lines = text.splitlines(keepends=True)
    first, last = function.body[0], function.body[-1]
    if len(function.body) > 1 and rng.random() < 0.4:
        del lines[last.lineno - 1 : last.end_lineno]
    elif first.lineno > function.lineno:
        new = rng.choice(("k = 1", "torch.zeros(2, 3) @ torch.zeros(4, 5)", "k: int = ''", "pass"))
        lines.insert(first.lineno - 1, " " * first.col_offset + new + "\n")
    after = "".join(lines)
    return {**tree, name: after} if _parsed(after) is not None else None


def _annotation(tree: Tree, rng: random.Random) -> Tree | None:
    """The text of an annotation gets another axis, one fewer, or one of another name."""
    name = _one(tree, rng)
    found = [] if name is None else list(_ANNOTATION.finditer(tree[name]))
    if name is None or not found:
        return None
    place = rng.choice(found)
    axes = place[2].split()
    new = rng.choice((*programs.AXES, "3", "4", "1", "...", "_"))
    if axes and rng.random() < 0.7:
        axes[rng.randrange(len(axes))] = new
    elif axes and rng.random() < 0.5:
        axes.pop()
    else:
        axes.append(new)
    text = tree[name]
    return {**tree, name: text[: place.start(2)] + " ".join(axes) + text[place.end(2) :]}


def _signature(tree: Tree, rng: random.Random) -> Tree | None:
    """A function gets a parameter more, or loses what it is annotated to return."""
    name = _one(tree, rng)
    if name is None:
        return None
    text = tree[name]
    heads = list(re.finditer(r"\)(\s*->[^:\n]+)?:\n", text))
    if not heads:
        return None
    head = rng.choice(heads)
    if head[1] and rng.random() < 0.5:
        after = text[: head.start(1)] + text[head.end(1) :]
    else:
        after = text[: head.start()] + ", *, more: int = 0" + text[head.start() :]
    return {**tree, name: after} if _parsed(after) is not None else None


def _renamed(tree: Tree, rng: random.Random) -> Tree | None:
    """A function or a class gets another name, mostly with all its uses."""
    name = _one(tree, rng)
    if name is None or not (found := _definitions(tree[name])):
        return None
    old = rng.choice(found).name
    if old.startswith("__") or old == "forward":
        return None
    word = re.compile(rf"\b{re.escape(old)}\b")
    new = old.removesuffix("_new") if old.endswith("_new") else f"{old}_new"
    if rng.random() < 0.7:
        return {path: word.sub(new, text) for path, text in tree.items()}
    return {**tree, name: word.sub(new, tree[name])}


def _moved(tree: Tree, rng: random.Random) -> Tree | None:
    """A module gets another name or place, mostly with all who import it."""
    name = _one(tree, rng)
    if name is None or name.endswith("__init__.py"):
        return None
    folder, _, file = name.rpartition("/")
    stem, _, ending = file.rpartition(".")
    place = rng.choice((folder, folder, "", programs.PACKAGE))
    target = (
        f"{stem.removesuffix('_at')}.{ending}" if stem.endswith("_at") else f"{stem}_at.{ending}"
    )
    path = f"{place}/{target}" if place else target
    if path in tree:
        return None
    after = {other: text for other, text in tree.items() if other != name}
    after[path] = tree[name]
    if rng.random() < 0.7:
        old, new = module_name(name), module_name(path)
        word = re.compile(rf"(?<![\w.]){re.escape(old)}\b")
        after = {other: word.sub(new, text) for other, text in after.items()}
    return after


def _added(tree: Tree, rng: random.Random) -> Tree | None:
    """A module is added, and mostly one that was there imports it."""
    mark = f"n{rng.randrange(10)}"
    path = rng.choice((f"{mark}.py", f"{programs.PACKAGE}/{mark}.py"))
    if path in tree:
        return None
    text, names = programs.module(rng, module_name(path), {})
    after = {**tree, path: text}
    other = _one(tree, rng)
    if other is not None and rng.random() < 0.7:
        how = rng.choice((f"from {module_name(path)} import *", f"import {module_name(path)}"))
        call = f"\n{names[0]}(torch.zeros(2, 3))\n" if names else ""
        future = "from __future__ import annotations\n"
        head = future if future in tree[other] else ""
        after[other] = head + f"{how}\n" + tree[other].replace(future, "") + call
    return after


def _copied(tree: Tree, rng: random.Random) -> Tree | None:
    """A module is there twice."""
    name = _one(tree, rng)
    if name is None or name.endswith("__init__.py"):
        return None
    path = name.replace(".py", "_copy.py")
    return None if path in tree else {**tree, path: tree[name]}


def _package(tree: Tree, rng: random.Random) -> Tree | None:
    """A module becomes a package, or a package that is one file becomes a module."""
    name = _one(tree, rng)
    if name is None or name.endswith(".pyi"):
        return None
    folder, _, file = name.rpartition("/")
    if file == "__init__.py":
        if any(path.startswith(f"{folder}/") for path in tree if path != name):
            return None
        path = f"{folder}.py"
    else:
        path = f"{name.removesuffix('.py')}/__init__.py"
    after = {other: text for other, text in tree.items() if other != name}
    return None if path in tree else {**after, path: tree[name]}


def _traded(tree: Tree, rng: random.Random) -> Tree | None:
    """Two modules trade what stands in them."""
    names = modules(tree)
    if len(names) < 2:
        return None
    one, other = rng.sample(names, 2)
    return {**tree, one: tree[other], other: tree[one]}


def _folder(tree: Tree, rng: random.Random) -> Tree | None:
    """A folder is gone with all that is in it."""
    names = modules(tree)
    folders = sorted({name.rpartition("/")[0] for name in names if "/" in name})
    if not folders:
        return None
    gone = f"{rng.choice(folders)}/"
    after = {path: text for path, text in tree.items() if not path.startswith(gone)}
    return after if len(modules(after)) > 1 else None


def _several(tree: Tree, rng: random.Random) -> Tree | None:
    """Several edits are made before anybody looks."""
    for _ in range(rng.randint(2, 5)):
        _, change = rng.choice(_WEIGHTED)
        tree = change(tree, rng) or tree
    return tree


def _removed(tree: Tree, rng: random.Random) -> Tree | None:
    """A module is gone, and nobody who imports it was told."""
    name = _one(tree, rng)
    if name is None or len(modules(tree)) < 3:
        return None
    return {path: text for path, text in tree.items() if path != name}


def _imports(tree: Tree, rng: random.Random) -> Tree | None:
    """Imports come in another order, one goes, or what imported a module is imported by it."""
    name = _one(tree, rng)
    found = [] if name is None else list(_IMPORT.finditer(tree[name]))
    if name is None or not found:
        return None
    text = tree[name]
    place = rng.choice(found)
    without = text[: place.start()] + text[place.end() + 1 :]
    how = rng.randrange(3)
    if how == 0 and "__future__" not in text:
        return {**tree, name: f"{place[0]}\n{without}"}
    if how == 1:
        return {**tree, name: without}
    for path in modules(tree):
        other = module_name(path)
        if path != name and re.search(rf"\b{re.escape(other)}\b", place[0]):
            if "__future__" in tree[path]:
                return None
            turned = rng.choice(
                (f"from {module_name(name)} import *", f"import {module_name(name)}")
            )
            return {**tree, name: without, path: f"{turned}\n{tree[path]}"}
    return None


def _lines(tree: Tree, rng: random.Random) -> Tree | None:
    """Lines without a meaning are put in above others."""
    name = _one(tree, rng)
    if name is None or "__future__" in tree[name]:
        return None
    lines = tree[name].splitlines(keepends=True)
    place = rng.choice((0, 0, rng.randrange(len(lines) + 1)))
    lines.insert(place, rng.choice(("\n", "# A word.\n", "\n\n# Two.\n")))
    after = "".join(lines)
    return {**tree, name: after} if _parsed(after) is not None else None


def _comment(tree: Tree, rng: random.Random) -> Tree | None:
    """A comment that says something to mypy is put at a line, or taken away."""
    name = _one(tree, rng)
    if name is None:
        return None
    marks = ("  # type: ignore[shape]", "  # type: ignore", "  # type: ignore[attr-defined]")
    text = tree[name]
    there = [mark for mark in marks if mark in text]
    if there and rng.random() < 0.5:
        return {**tree, name: text.replace(rng.choice(there), "", 1)}
    if rng.random() < 0.15:
        first = "# mypy: ignore-errors\n"
        return {**tree, name: text.removeprefix(first) if text.startswith(first) else first + text}
    lines = text.splitlines()
    good = [i for i, line in enumerate(lines) if "@" in line or "(" in line]
    if not good:
        return None
    lines[rng.choice(good)] += rng.choice(marks)
    after = "\n".join(lines) + "\n"
    return {**tree, name: after} if _parsed(after) is not None else None


def _init(tree: Tree, rng: random.Random) -> Tree | None:
    """A folder becomes a package, or no longer is one."""
    folders = sorted({name.rpartition("/")[0] for name in modules(tree) if "/" in name})
    if not folders:
        return None
    path = f"{rng.choice(folders)}/__init__.py"
    after = dict(tree)
    if after.pop(path, None) is None:
        after[path] = rng.choice(("", "import torch\n"))
    return after


def _stub_file(tree: Tree, rng: random.Random) -> Tree | None:
    """A module gets a stub file beside it, or loses it."""
    stubs = [name for name in modules(tree) if name.endswith(".pyi")]
    if stubs and rng.random() < 0.6:
        gone = rng.choice(stubs)
        return {path: text for path, text in tree.items() if path != gone}
    name = _one(tree, rng)
    if name is None or f"{name}i" in tree or not name.endswith(".py"):
        return None
    heads = re.findall(r"^def (\w+)\(x\)", tree[name], re.MULTILINE)
    text = "from torch import Tensor\nfrom jaxtyping import Float\n" + "".join(
        f'def {one}(x: Float[Tensor, "a b"]) -> Float[Tensor, "b a"]: ...\n' for one in heads
    )
    return {**tree, f"{name}i": text}


def _broken(tree: Tree, rng: random.Random) -> Tree | None:
    """A module can't be parsed."""
    name = _one(tree, rng)
    return None if name is None else {**tree, name: _BROKEN + tree[name]}


def _settings(tree: Tree, rng: random.Random) -> Tree | None:
    """One of shapecheck's settings is turned on, or no longer is."""
    text = tree.get(PROJECT, "")
    line = rng.choice(("strict = true\n", "typed_calls = true\n", "suspicions = true\n"))
    return {**tree, PROJECT: text.replace(line, "") if line in text else f"{_table(text)}{line}"}


def _signature_files(tree: Tree, rng: random.Random) -> Tree | None:
    """The signature files of the user come, change and go."""
    text = tree.get(PROJECT, "")
    line, path = f'stubs = ["{SIGNATURES}"]\n', f"{SIGNATURES}/lib.pyi"
    if line in text and rng.random() < 0.3:
        after = {**tree, PROJECT: text.replace(line, "")}
        after.pop(path, None)
        return after
    shape = rng.choice(("a b -> b a", "a b -> a", "*s -> *s"))
    before, _, result = shape.partition(" -> ")
    head = "from torch import Tensor\nfrom jaxtyping import Float\n"
    stub = f'{head}def halve(x: Float[Tensor, "{before}"]) -> Float[Tensor, "{result}"]: ...\n'
    project = text if line in text else f"{_table(text)}{line}"
    return {**tree, PROJECT: project, path: stub}


def _table(text: str) -> str:
    head = "[tool.shapecheck]\n"
    return text if head in text else head + text


def _options(tree: Tree, rng: random.Random) -> Tree | None:
    """mypy's options of one module are others."""
    name = _one(tree, rng)
    if name is None:
        return None
    text = tree[SETTINGS]
    sections = list(re.finditer(r"\n# drawn\n\[mypy-[^\n]+\]\n[^\n]+\n", text))
    if sections and rng.random() < 0.6:
        place = rng.choice(sections)
        return {**tree, SETTINGS: text[: place.start()] + text[place.end() :]}
    option = rng.choice(
        ("disable_error_code = shape", "ignore_errors = True", "check_untyped_defs = True")
    )
    section = f"[mypy-{module_name(name)}]"
    if section in text:
        return None
    return {**tree, SETTINGS: f"{text}\n# drawn\n{section}\n{option}\n"}


def _targets(tree: Tree, rng: random.Random) -> Tree | None:
    """mypy is asked to check other files."""
    if tree[TARGETS] != "." or rng.random() < 0.3:
        return {**tree, TARGETS: "."}
    found = modules(tree)
    return {**tree, TARGETS: "\n".join(rng.sample(found, rng.randint(1, len(found))))}


_KINDS: Final[tuple[tuple[str, int, Change], ...]] = (
    ("body", 5, _body),
    ("statement", 4, _statement),
    ("annotation", 5, _annotation),
    ("signature", 3, _signature),
    ("name", 3, _renamed),
    ("file moved", 3, _moved),
    ("file added", 3, _added),
    ("file copied", 1, _copied),
    ("file removed", 2, _removed),
    ("module or package", 1, _package),
    ("texts traded", 1, _traded),
    ("folder removed", 1, _folder),
    ("several", 2, _several),
    ("imports", 4, _imports),
    ("lines", 3, _lines),
    ("comment", 3, _comment),
    ("__init__", 2, _init),
    ("stub file", 2, _stub_file),
    ("syntax error", 2, _broken),
    ("settings", 1, _settings),
    ("signature files", 1, _signature_files),
    ("options", 1, _options),
    ("targets", 2, _targets),
)
_WEIGHTED: Final = [(name, change) for name, weight, change in _KINDS for _ in range(weight)]
