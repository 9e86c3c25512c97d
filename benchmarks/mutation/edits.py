"""The single edits of a program that can break its shapes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of a text: what stands from `start` to `stop` (characters) becomes `new`."""

    kind: str
    line: int
    start: int
    stop: int
    new: str

    def apply(self, text: str) -> str:
        """Return the text after the edit."""
        return text[: self.start] + self.new + text[self.stop :]

    def describe(self, text: str) -> str:
        """Return the edited line, before and after."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.stop)
        before = " ".join(text[first:last].split())
        after = " ".join((text[first : self.start] + self.new + text[self.stop : last]).split())
        return f"{before}  ->  {after}"


def edits(text: str, inside: ast.AST | None = None) -> list[Edit]:
    """Return all edits of a module, or of one node in it, by their place."""
    tree = ast.parse(text)
    place = Places(text)
    names = _tensor_names(tree)
    found: dict[tuple[int, int, str], Edit] = {}
    span = (getattr(inside, "lineno", 0), getattr(inside, "end_lineno", 1 << 30))
    for node in ast.walk(tree):
        line = getattr(node, "lineno", None)
        if line is None or not span[0] <= line <= span[1]:
            continue
        for kind, make in _KINDS.items():
            for part, new in make(node, place, names):
                start, stop = part if isinstance(part, tuple) else place.of(part)
                if new == text[start:stop] or "\n" in text[start:stop]:
                    continue
                edit = Edit(kind, text.count("\n", 0, start) + 1, start, stop, new)
                if parses(edit.apply(text)):
                    found.setdefault((start, stop, new), edit)
    return sorted(found.values(), key=lambda e: (e.start, e.stop, e.kind, e.new))


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


class Places:
    """Where the nodes of a text stand in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = text.splitlines(keepends=True)

    def offset(self, line: int, column: int) -> int:
        """Return the character of a line and a column in bytes."""
        shown = self._lines[line - 1].encode()[:column].decode(errors="replace")
        return self._starts[line - 1] + len(shown)

    def of(self, node: ast.AST) -> tuple[int, int]:
        """Return the start and the end of a node."""
        return (
            self.offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def source(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, stop = self.of(node)
        return self.text[start:stop]


Part = tuple[ast.AST | tuple[int, int], str]
Make = Callable[[ast.AST, Places, set[str]], Iterator[Part]]

_CATEGORIES: Final = re.compile(
    r"(B?Float\d*|U?Int\d*|Integer|Bool|Complex\d*|Num|Real|Inexact|Shaped)$"
)


def annotation_text(node: ast.AST) -> ast.Constant | None:
    """Return the text of `Float[Tensor, "b c"]`, where a node is one."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    if not _CATEGORIES.match(_last_name(node.value)) or len(node.slice.elts) != 2:
        return None
    text = node.slice.elts[1]
    return text if isinstance(text, ast.Constant) and isinstance(text.value, str) else None


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _tensor_names(tree: ast.AST) -> set[str]:
    """Return the names that are annotated as tensors somewhere."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            name, annotation = node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, annotation = node.target.id, node.annotation
        else:
            continue
        if annotation is not None and annotation_text(annotation) is not None:
            found.add(name)
    return found


def _swap_names(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    text = annotation_text(node)
    if text is None:
        return
    tokens = text.value.split()
    for i in range(len(tokens) - 1):
        if tokens[i] != tokens[i + 1] and "=" not in tokens[i] + tokens[i + 1]:
            swapped = [*tokens[:i], tokens[i + 1], tokens[i], *tokens[i + 2 :]]
            yield text, f'"{" ".join(swapped)}"'


def _method(node: ast.AST, *names: str) -> ast.Call | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in names and not _is_library(node.func.value):
            return node
    return None


def _is_library(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "t", "F", "np", "nn", "einops")


def _drop_move(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    call = _method(node, "transpose", "permute", "unsqueeze", "squeeze", "t", "swapaxes", "movedim")
    if call is not None:
        assert isinstance(call.func, ast.Attribute)
        yield call, place.source(call.func.value)
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield node, place.source(node.value)


def _add_move(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    """Move an axis of a tensor that stands in an operation or in a call."""
    operands: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Call) and _last_name(node.func) not in _NOT_OPS:
        operands = list(node.args[:2])
    elif isinstance(node, ast.Return) and node.value is not None:
        operands = [node.value]
    for operand in operands:
        if isinstance(operand, ast.Name) and operand.id in names:
            for move in ("transpose(-1, -2)", "unsqueeze(-1)", "unsqueeze(0)"):
                yield operand, f"{operand.id}.{move}"


_NOT_OPS: Final = frozenset(
    "print len range isinstance int float str list tuple enumerate zip hasattr append".split()
)


def _change_dim(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    if not isinstance(node, ast.Call):
        return
    given = [k.value for k in node.keywords if k.arg in ("dim", "axis", "dims")]
    name = _last_name(node.func)
    if name in _DIM_AT and isinstance(node.func, ast.Attribute):
        at = _DIM_AT[name] + (1 if _is_library(node.func.value) and name not in _LISTS else 0)
        if name in _LISTS and not _is_library(node.func.value):
            at = 99
        given += node.args[at : at + 1]
    for value in given:
        if isinstance(value, ast.Tuple) and value.elts:
            for element in value.elts:
                yield from _other_index(element)
        else:
            yield from _other_index(value)


_LISTS: Final = frozenset(("cat", "concat", "stack"))
_DIM_AT: Final = {
    **dict.fromkeys(
        "sum mean amax amin argmax argmin softmax log_softmax logsumexp unsqueeze squeeze "
        "flatten cumsum std var any all norm".split(),
        0,
    ),
    **dict.fromkeys("cat concat stack chunk split topk".split(), 1),
}


def _integer(node: ast.AST) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _integer(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def _other_index(node: ast.AST) -> Iterator[Part]:
    value = _integer(node)
    if value is not None:
        yield node, str(value - 1 if value < 0 else value + 1)
        if value not in (0, -1):
            yield node, str(value + 1 if value < 0 else value - 1)


_WIDTHS: Final = {
    **dict.fromkeys("Linear LazyLinear Conv1d Conv2d Conv3d".split(), 2),
    **dict.fromkeys("ConvTranspose1d ConvTranspose2d ConvTranspose3d GRU LSTM RNN".split(), 2),
    **dict.fromkeys("BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm RMSNorm".split(), 1),
    "GroupNorm": 2,
    "Embedding": 2,
    "MultiheadAttention": 1,
}


def _change_width(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    if isinstance(node, ast.Call) and _last_name(node.func) in _WIDTHS:
        for width in node.args[: _WIDTHS[_last_name(node.func)]]:
            if isinstance(width, (ast.Starred, ast.List, ast.Tuple)):
                continue
            value = _integer(width)
            yield width, f"2 * ({place.source(width)})" if value is None else str(value + 1)


def _swap_arguments(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    pairs: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.Call) and _last_name(node.func) not in _NOT_OPS | _OF_VALUES:
        pairs = list(zip(node.args, node.args[1:], strict=False))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        pairs = [(node.left, node.right)]
    for one, other in pairs:
        if any(isinstance(part, ast.Starred) or _is_text(part) for part in (one, other)):
            continue
        (start, middle), (after, stop) = place.of(one), place.of(other)
        between = place.text[middle:after]
        yield (start, stop), f"{place.source(other)}{between}{place.source(one)}"


_OF_VALUES: Final = frozenset("randint linspace arange uniform_ normal_ clamp".split())


def _is_text(node: ast.expr) -> bool:
    """Whether an argument is a text; where another type is wanted, any type checker says so."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _drop_keepdim(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    if isinstance(node, ast.keyword) and node.arg in ("keepdim", "keepdims"):
        if isinstance(node.value, ast.Constant) and node.value.value is True:
            yield node.value, "False"


def _change_letter(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    """Write another letter, or swap two, in the equation of an einsum."""
    if not isinstance(node, ast.Call) or _last_name(node.func) != "einsum":
        return
    for text in node.args:
        if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
            continue
        yield from _changed_names(text, text.value, r"[a-zA-Z_]\w*" if " " in text.value else "\\w")


def _changed_names(text: ast.Constant, pattern: str, name: str) -> Iterator[Part]:
    found = list(re.finditer(name, pattern))
    every = sorted({one[0] for one in found})
    for i, one in enumerate(found):
        other = every[(every.index(one[0]) + 1) % len(every)]
        yield text, _quoted(pattern[: one.start()] + other + pattern[one.end() :])
        if i + 1 < len(found) and found[i + 1][0] != one[0]:
            after = found[i + 1]
            between = pattern[one.end() : after.start()]
            if "->" not in between and "," not in between:
                new = pattern[: one.start()] + after[0] + between + one[0] + pattern[after.end() :]
                yield text, _quoted(new)


def _quoted(text: str) -> str:
    return '"' + text.replace("\n", " ") + '"'


def _change_pattern(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    """Swap two names on one side of a rearrange's pattern, or lose one."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return
    if _last_name(node.func) not in ("rearrange", "reduce", "repeat"):
        return
    text = node.args[1]
    if isinstance(text, ast.Constant) and isinstance(text.value, str):
        yield from _changed_names(text, text.value, r"[a-zA-Z_]\w*")


def _shape_index(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    if isinstance(node, ast.Subscript) and _last_name(node.value) == "shape":
        yield from _other_index(node.slice)
    call = _method(node, "size")
    if call is not None and len(call.args) == 1:
        yield from _other_index(call.args[0])


def _view_sizes(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    call = _method(node, "view", "reshape", "expand", "repeat")
    if call is None:
        return
    for size in call.args:
        value = _integer(size)
        if value is not None and value > 0:
            yield size, str(value + 1)
        elif value is None and not isinstance(size, (ast.Starred, ast.Tuple, ast.List)):
            yield size, f"2 * ({place.source(size)})"


def _cat_or_stack(node: ast.AST, place: Places, names: set[str]) -> Iterator[Part]:
    if isinstance(node, ast.Call) and _last_name(node.func) in ("cat", "stack"):
        _, stop = place.of(node.func)
        word = _last_name(node.func)
        yield (stop - len(word), stop), "stack" if word == "cat" else "cat"


_KINDS: Final[dict[str, Make]] = {
    "annotation": _swap_names,
    "move dropped": _drop_move,
    "move added": _add_move,
    "dim": _change_dim,
    "width": _change_width,
    "arguments": _swap_arguments,
    "keepdim": _drop_keepdim,
    "einsum": _change_letter,
    "rearrange": _change_pattern,
    "shape index": _shape_index,
    "view": _view_sizes,
    "cat/stack": _cat_or_stack,
}
KINDS: Final = tuple(_KINDS)
