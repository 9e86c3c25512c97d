"""Random texts of the small languages: annotations, patterns of einops, and signature files."""

from __future__ import annotations

import ast
import random
from functools import cache

from fuzz import annotations
from fuzz.expressions import EINSUMS, PATTERNS
from repository import ROOT

JUNK = "ab_1 2+-*/%#?={}()[].,>'\"mi\n\t\\ax#**é→\u202e\x1b\0Ⅷ٣"
WORDS = ("b", "n", "d", "h", "w", "1", "()", "...", "->", ",", "(", ")", "_", "*a", "2", "→", "b2")
FORMS = (
    *("Num[Tensor, '*s']", "Float[Tensor, 'b n']", "T[Tensor, '*s d']", "A[Tensor, '...']", "int"),
    *("Axis['*s']", "Axes['*s']", "Ints[2]", "Ints['*s']", "DType", "Number", "str", "bool | None"),
    *("Rule['cat']", "Rule['nothing']", "Num[Tensor, Without['*s', dim]]", "Whatever", "Tensor"),
    *("Num[Tensor, Insert['*s', dim, '1']]", "tuple[Num[Tensor, 'b'], int]", "list[Tensor]", "3"),
    *("Num[Tensor, '{dim}']", "Num[Tensor, 'b, c']", "Optional[Tensor]", "'quoted'", "None"),
)
DECORATORS = (
    *("@method", "@inplace", "@also('other')", "@also(3)", "@example('f(x)')", "@overload"),
    *("@property", "@plain", "@unknown", "@example()", "@also(*a)", "@method()", "@(lambda f: f)"),
)


def annotation(rng: random.Random) -> str:
    """Return the text of an annotation, most often one with something wrong."""
    return _spoilt(annotations.text(rng), rng)


def pattern(rng: random.Random) -> str:
    """Return the text of a pattern."""
    if rng.random() < 0.3:
        return _spoilt(rng.choice((*PATTERNS, *EINSUMS)), rng)
    made = " ".join(rng.choice(WORDS) for _ in range(rng.choice((3, 6, 9))))
    return made if rng.random() < 0.7 else _spoilt(made, rng)


def signatures(rng: random.Random) -> str:
    """Return a signature file: made up, or a part of a shipped one with something wrong."""
    if rng.random() < 0.5:
        return "\n".join(_definition(rng) for _ in range(rng.choice((1, 2, 3)))) + "\n"
    text = rng.choice(_shipped())
    for _ in range(rng.choice((1, 1, 2, 4))):
        words = text.split(" ")
        at, other = rng.randrange(len(words)), rng.randrange(len(words))
        words[at] = rng.choice((words[other], rng.choice(FORMS), "", _spoilt(words[at], rng)))
        text = " ".join(words)
    return text


def _spoilt(text: str, rng: random.Random) -> str:
    for _ in range(rng.choice((0, 0, 1, 1, 2, 5))):
        at = rng.randrange(len(text) + 1)
        draw = rng.random()
        if draw < 0.6:
            text = text[:at] + rng.choice(JUNK) * rng.choice((1, 1, 1, 2, 300)) + text[at:]
        elif draw < 0.8:
            text = text[:at] + text[at + 1 :]
        else:
            text = text[at:] + text[:at]
    return text


def _definition(rng: random.Random) -> str:
    indent = ""
    head = ""
    if rng.random() < 0.25:
        head, indent = f"class {rng.choice(('Scale', 'Linear(Scale)', 'Scale[T]'))}:\n", "    "
    decorators = "".join(
        f"{indent}{rng.choice(DECORATORS)}\n" for _ in range(rng.choice((0, 0, 1)))
    )
    names = rng.sample(("x", "dim", "n", "*more", "*", "**rest", "/"), rng.choice((1, 2, 3)))
    params = [
        name
        + ("" if name in "*/" or rng.random() < 0.1 else f": {rng.choice(FORMS)}")
        + (f" = {rng.choice(('0', 'None', '...', 'f()'))}" if rng.random() < 0.2 else "")
        for name in names
    ]
    result = f" -> {rng.choice(FORMS)}" if rng.random() < 0.9 else ""
    name = rng.choice(("scale", "__init__", "forward", "__call__", "scale_"))
    return f"{head}{decorators}{indent}def {name}({', '.join(params)}){result}: ..."


@cache
def _shipped() -> list[str]:
    """Return the definitions of the shipped signature files."""
    found = []
    for path in sorted((ROOT / "stubs").rglob("*.pyi")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                text = ast.unparse(node)
                if len(text) < 2_000:
                    found.append(text)
    return found
