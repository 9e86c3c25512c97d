"""The annotated functions of the corpus that can be called, and what an edit does to them.

A function can be called if all that it needs can be made: tensors from its annotations, numbers
for numbers, no `self` whose attributes it reads, no import that is missing. The rest is left out,
and counted.

An edited function is called with tensors made from its (edited) annotations. It fails if it fails
in torch or contradicts them. That can be due to the sizes that were drawn: with `18` for `n`
all may be well, and what the analysis reports by default are contradictions. So an edit fails
for all sizes if it does with every choice with which the function as it was runs:

- each name its own number, groups of two axes, and of one;
- one name, or one group of one axis, being a number that the function mentions: not 1, with which
  everything broadcasts, nor one that stands beside the name in an annotation;
- one argument whose annotation begins with `*#group` without the group's axes.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import sys
import types
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mutation.calls import SIZES, Choice, Sizes, UnmakeableError, arguments, others
from mutation.edits import Edit, annotation_text
from mutation.lenient import MissingError, load, running
from mutation.programs import SHAPE_ERRORS, TooLongError, alarm

SECONDS = 5
SOMETIMES = "with some sizes"
"""How an edit fails that fails with some sizes only."""
Left: TypeAlias = str
"""Why a function is left out; empty if it isn't."""


@dataclass(frozen=True, slots=True)
class Target:
    """An annotated function of the corpus: its file, and its name in it (`Class.method`)."""

    path: Path
    shown: str
    module: str
    name: str
    roots: tuple[Path, ...]

    @property
    def where(self) -> str:
        """What listings call the file."""
        return self.shown

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.path.read_text("utf-8")

    @property
    def node(self) -> ast.FunctionDef:
        """The function's definition."""
        return definition(self.text, self.name)


def targets(folder: Path, members: Sequence[str]) -> list[Target]:
    """Return the functions of the corpus, or of some of its members, with annotated tensors."""
    found = []
    for member in sorted(p for p in folder.iterdir() if p.is_dir()):
        if members and member.name not in members:
            continue
        roots = (member, member / "src")
        for path in sorted(member.rglob("*.py")):
            text = path.read_text("utf-8", errors="replace")
            if "jaxtyping" not in text and "shapecheck" not in text:
                continue
            try:
                tree = ast.parse(text)
            except SyntaxError:
                continue
            parts = path.relative_to(member).with_suffix("").parts
            parts = parts[1:] if parts[0] == "src" else parts
            module = ".".join(parts).removesuffix(".__init__")
            shown = str(path.relative_to(folder))
            found += [Target(path, shown, module, name, roots) for name in _annotated(tree)]
    return found


def _annotated(tree: ast.Module) -> list[str]:
    """Return the names of functions and methods that take and give annotated tensors."""
    found = []
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in inside:
            if not isinstance(one, ast.FunctionDef):
                continue
            said = [a.annotation for a in [*one.args.args, *one.args.kwonlyargs] if a.annotation]
            if one.returns is not None and _has_tensor([one.returns]) and _has_tensor(said):
                found.append(prefix + one.name)
    return found


def _has_tensor(annotations: Sequence[ast.expr]) -> bool:
    return any(annotation_text(n) is not None for one in annotations for n in ast.walk(one))


def definition(text: str, name: str) -> ast.FunctionDef:
    """Return a function, or a method, of a text by its name."""
    body: Sequence[ast.stmt] = ast.parse(text).body
    *owners, last = name.split(".")
    for owner in owners:
        (cls,) = (n for n in body if isinstance(n, ast.ClassDef) and n.name == owner)
        body = cls.body
    return [n for n in body if isinstance(n, ast.FunctionDef) and n.name == last][-1]


def judged(target: Target, edits: Sequence[Edit]) -> tuple[Left, list[str]]:
    """Say why a function is left out, or how each edit of it fails."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    text = target.text
    for pool in SIZES:
        choice = Choice(pool)
        left = _outcomes(target, text, [choice])[0]
        if left in ("", "unmade"):
            break
    if left == "unmade":
        return "a parameter can't be made", []
    if left == "MissingError":
        return "an import is missing", []
    if left:
        reads_self = left == "AttributeError" and "." in target.name
        return ("it reads an object's attributes" if reads_self else "it doesn't run by itself"), []
    more = list(others(target.node, choice))
    kept = [one for one, end in zip(more, _outcomes(target, text, more), strict=True) if not end]
    return "", [
        _failure(_outcomes(target, edit.apply(text), [choice, *kept], "")) for edit in edits
    ]


def _failure(outcomes: Sequence[str]) -> str:
    """Say how a function fails whose calls end like this; empty if the first one doesn't."""
    first = outcomes[0]
    if first != "ShapeError" and first not in SHAPE_ERRORS:
        return ""
    if "" in outcomes:
        return SOMETIMES
    return "annotation" if first == "ShapeError" else "torch"


def _outcomes(
    target: Target, text: str, choices: Sequence[Choice], until: str | None = None
) -> list[str]:
    """Call the function of a text, bare and then checked; return the kind of error of each call.

    The calls end with the first one that comes out as `until`.
    """
    import torch

    found: list[str] = []
    node: ast.FunctionDef | None = None
    module: types.ModuleType | None = None
    for choice in choices:
        torch.manual_seed(0)
        error = ""
        try:
            with alarm(SECONDS), contextlib.redirect_stdout(io.StringIO()):
                node = node or definition(text, target.name)
                module = module or load(target.module, target.path, text, target.roots)
                for checked in (False, True):
                    function = _function(module, target.name, node, checked)
                    given = arguments(node, Sizes(choice))
                    with running():
                        function(**given)
        except (UnmakeableError, TooLongError):
            error = "unmade"
        except MissingError:
            error = "MissingError"
        except Exception as caught:  # noqa: BLE001 - whatever it is, it is the answer
            error = type(caught).__name__
        found.append(error)
        if error == until:
            break
    return found


def _function(module: types.ModuleType, name: str, node: ast.FunctionDef, checked: bool) -> Any:
    """Return the bare function, bound to an empty object if it is a method."""
    os.environ["SHAPECHECK"] = "full"
    from shapecheck import shapecheck

    plain = ast.FunctionDef(**{f: getattr(node, f, None) for f in node._fields})
    plain.decorator_list = []
    unit = ast.fix_missing_locations(ast.Module([ast.copy_location(plain, node)], []))
    space = dict(module.__dict__)
    exec(compile(unit, module.__file__ or "", "exec"), space)
    function = space[node.name]
    if checked:
        function = shapecheck(function)
    first = node.args.args[0].arg if node.args.args else ""
    owner = name.rpartition(".")[0]
    if owner and first in ("self", "cls"):
        cls = getattr(module, owner, None)
        if cls is None:
            raise MissingError
        return function.__get__(cls.__new__(cls)) if first == "self" else function.__get__(cls)
    return function


def main() -> None:
    """Print why each function of a folder's corpus is left out, or nothing."""
    for target in targets(Path(sys.argv[1]), sys.argv[2:]):
        print(f"{target.where}: {target.name}: {judged(target, [])[0]}")


if __name__ == "__main__":
    main()
