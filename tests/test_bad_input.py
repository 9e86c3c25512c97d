"""Annotations and signature files that mean nothing: what is said of them, whole, and where.

`test_spec.py` has every mistake in the text of an annotation; here both sides tell some of them,
and what can be wrong around the text. Versions and other projects' stubs are in
`test_bad_environment.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shapecheck import ShapeAnnotationError
from shapecheck.analysis import Options, Source, analyze_module
from shapecheck.signatures import StubError, Table
from shapecheck.spec import SpecError, parse

PRELUDE = """\
from __future__ import annotations
from typing import Annotated
import jaxtyping
from torch import Tensor
from shapecheck import Float, Int, shapecheck
@shapecheck
"""


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> None:
        """There is none."""


def program(annotation: str) -> str:
    """Return a module with a decorated function that has the annotation."""
    return f"{PRELUDE}def f(x: {annotation}) -> None: ...\n"


def static(text: str, stubs: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return each error of the analysis as the text that it marks and its message."""
    source = Source("program", "program.py", text)
    found = []
    for one in analyze_module(source, NoSources(), Options(stubs=stubs)):
        assert one.severity == "error"
        assert one.code == "shape-annotation"
        assert one.span.line == one.span.end_line
        line = text.splitlines()[one.span.line - 1]
        found.append((line[one.span.column : one.span.end_column], one.message))
    return found


def at_run_time(text: str) -> str:
    """Define what is in a module, which must fail; return the text of the error."""
    with pytest.raises(ShapeAnnotationError) as caught:
        exec(compile(text, "program.py", "exec", dont_inherit=True), {"__name__": "program"})
    return str(caught.value)


# The text -----------------------------------------------------------------------------------------

# The text of the annotation, the token at fault, and the reason that is given.
TEXTS = [
    ("b, c", ",", "dimensions are separated by spaces, not commas"),
    ("b;c", ";", "dimensions are separated by spaces, not semicolons"),
    ("b c:int", ":", "a dimension has no type; write names separated by spaces"),
    ("b (h w", "(", "'(' is never closed"),
    ("b h w)", ")", "')' without '('"),
    ("b 2n", "2n", "a name can't begin with a digit; write '2*n' for a product"),
    ("b -1", "-1", "a size can't be negative; arithmetic is written without spaces: 'h-1'"),
    ("b 1.5", "1.5", "a size is an integer"),
    (
        "(2 * n)",
        "*",
        "'*' needs a name after it; arithmetic is written without spaces: 'h*w'",
    ),
    ("b h/2", "/", "sizes are integers: use '//' for division"),
    ("n//0", "0", "no size can be divided by 0"),
    ("h^2", "^", "use '**' for powers"),
    ("b {n", "{", "'{' is never closed"),
    ("b {n +}", "{n +}", "'n +' isn't a Python expression"),
    (
        "b len(x)",
        "len(x)",
        "'len(...)' isn't known; use min, max, or '{len(...)}' for a Python expression",
    ),
    (
        "b self.d",
        ".",
        "write '...' for any number of dimensions, or '{...}' around a Python expression",
    ),
    ("x[0]", "[", "an index needs braces around the Python expression, such as '{sizes[0]}'"),
    ("#", "#", "'#' needs a name after it"),
    ("*3", "*3", "'*' takes one name, such as '*batch'"),
    ("...b", "...b", "'...' stands alone; put a space after it"),
    ("b min(h)", "min(h)", "min() needs two sizes or more: 'min(a,b)'"),
    ("a=b=c", "b=c", "one '=' is enough: 'name=size'"),
    (
        "b (h d)*2",
        "(h d)",
        "an ordered composite '(a b)' takes no arithmetic; use 'a*b' for its size",
    ),
    ("b c -> c", "->", "'->' belongs into einops patterns; an annotation describes one tensor"),
    ("b|c", "|", "alternatives aren't part of a shape; write a union of two annotations"),
    (
        "b $",
        "$",
        "'$' isn't part of the language; allowed are names, integers, '+ - * // % **', "
        "'min(a,b)', 'max(a,b)', '(a b)', '{expression}', '*name', '+name', '#name', '_' and '...'",
    ),
]


def pointed(text: str, token: str) -> str:
    """Return the text with the token underlined, as the run time shows it."""
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert text[caught.value.start : caught.value.end] == token
    return f"\n    {text}\n    {' ' * caught.value.start}{'^' * len(token)}"


@pytest.mark.parametrize(("text", "token", "reason"), TEXTS, ids=[row[0] for row in TEXTS])
@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ('Float[Tensor, "{}"]', 'Float[Tensor, "{}"]'),
        ('Annotated[Tensor, "{}"]', 'Annotated[..., "{}"]'),
        ('list[Float["Tensor", "{}"]] | None', 'Float["Tensor", "{}"]'),
        ("'Float[Tensor, \"{}\"]'", 'Float[Tensor, "{}"]'),
    ],
    ids=["Float", "Annotated", "nested", "quoted"],
)
def test_malformed_text(text: str, token: str, reason: str, form: str, shown: str) -> None:
    """mypy marks the token, the decorated function's definition fails; both with one reason."""
    source = program(form.replace("{}", text))
    assert static(source) == [(token, f'in "{text}": {reason}')]
    where = shown.replace("{}", text)
    assert at_run_time(source) == f"{where}: {reason}{pointed(text, token)}"


@pytest.mark.parametrize("text", ["b (h w", "b h/2", "b len(x)", "b -1"])
def test_malformed_text_that_jaxtyping_takes(text: str) -> None:
    """jaxtyping's own types say no more than ours."""
    ((_, token, reason),) = (row for row in TEXTS if row[0] == text)
    source = program(f'jaxtyping.Float[Tensor, "{text}"]')
    assert static(source) == [(token, f'in "{text}": {reason}')]
    assert at_run_time(source) == f'Float[..., "{text}"]: {reason}{pointed(text, token)}'


# Around the text ----------------------------------------------------------------------------------

STATIC_FORM = 'Float[...] takes a tensor type and a text, such as Float[Tensor, "batch channels"]'
FORM = (
    "Float takes a tensor type and one string with all dimensions, such as "
    'Float[Tensor, "batch channels"]'
)

# The annotation, what mypy marks (None: mypy's own errors say it) and says, what the run time says.
MISUSES: list[tuple[str, str | None, str, str]] = [
    ("Float[Tensor]", "Float[Tensor]", STATIC_FORM, f"Float[Tensor]: {FORM}"),
    ('Float["b c"]', 'Float["b c"]', STATIC_FORM, f'Float["b c"]: {FORM}'),
    (
        'Float[Tensor, "b", "c"]',
        'Float[Tensor, "b", "c"]',
        STATIC_FORM,
        f'Float[Tensor, "b", "c"]: {FORM}',
    ),
    ("Float[()]", "Float[()]", STATIC_FORM, f"Float[]: {FORM}"),
    (
        "Float[Tensor, 3]",
        "3",
        'the shape is a text such as "b c", not 3',
        f"Float[Tensor, 3]: {FORM}",
    ),
    (
        "Float[Tensor, None]",
        "None",
        'the shape is a text such as "b c", not None',
        f"Float[Tensor, None]: {FORM}",
    ),
    (
        'Float[Tensor, ["b", "c"]]',
        '["b", "c"]',
        "the shape is a text such as \"b c\", not ['b', 'c']",
        f"Float[Tensor, ['b', 'c']]: {FORM}",
    ),
    (
        'Float[int, "b c"]',
        "int",
        "Float[...] takes a tensor type, not int",
        'Float[int, "b c"]: int is no tensor type; write Float[Tensor, "b c"]',
    ),
    (
        'Float[Int[Tensor, "b"], "c"]',
        'Float[Int[Tensor, "b"], "c"]',
        'Float[...] holds Float, but what it is put around, Int[Tensor, "b"], holds Int',
        'Float["c"] holds Float, but what it is put around, Int["b"], holds Int',
    ),
    (
        'Float[3, "b"]',
        None,
        "",
        'Float[3, ...]: 3 is no tensor type; write Float[Tensor, "b"]',
    ),
    (
        'Float(Tensor, "b")',
        None,
        "",
        'Float is no class to call; write Float[Tensor, "..."]',
    ),
    (
        "Float",
        None,
        "",
        'Float says neither tensor type nor shape; write Float[Tensor, "batch channels"]',
    ),
]


@pytest.mark.parametrize(
    ("annotation", "marked", "said", "raised"), MISUSES, ids=[row[0] for row in MISUSES]
)
def test_misused_types(annotation: str, marked: str | None, said: str, raised: str) -> None:
    """A type that isn't used as it must be."""
    source = program(annotation)
    assert static(source) == ([] if marked is None else [(marked, said)])
    assert at_run_time(source) == raised


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("nope", 'mentions "nope", which is no argument of it and no global name'),
        ("1//0", "has no size here: ZeroDivisionError: "),
        ("[]", "has no size here: TypeError: 'list' object cannot be interpreted as an integer"),
    ],
)
def test_expressions_without_a_size(expression: str, reason: str) -> None:
    """A Python expression is evaluated in a call, and what is wrong with it said there."""
    call = "import torch\nf(torch.zeros(2, 3))\n"
    said = at_run_time(program(f'Float[Tensor, "b {{{expression}}}"]') + call)
    assert said.startswith(f'"{{{expression}}}" in the annotations of "f" {reason}')


def test_wrong_annotations_that_draw_an_error_are_one_error_each() -> None:
    """Several in one signature are each said, and hide nothing else of the function."""
    source = (
        PRELUDE.removesuffix("@shapecheck\n")
        + 'def f(x: Float[Tensor, "b, c"], y: Float[Tensor, "b $"]) -> Float[Tensor, "2n"]:\n'
        + '    z: Float[Tensor, "b {"] = x\n    return z\n'
    )
    assert [token for token, _ in static(source)] == [",", "$", "2n", "{"]


# Signature files ----------------------------------------------------------------------------------

FORMS = (
    "isn't a form that signatures have; there are "
    'Float[Tensor, "..."] and the other dtypes, T/F/A/R/D[Tensor, "..."], Axis, Axes, '
    "Ints[n], DType, Number and plain Python types"
)
HEAD = "def scale(x: Num[Tensor, '*s'], dim: int = 0)"

# What the file holds, the line that is named, and the reason.
STUBS: list[tuple[str, bytes | str, int, str]] = [
    (
        "syntax error",
        "\ndef scale(x: Num[Tensor, '*s') -> None: ...\n",
        2,
        "not Python: closing parenthesis ')' does not match opening parenthesis '['",
    ),
    ("not UTF-8", b"# fine\n# \xff\xfe\n", 2, "can't be read: byte 0xff isn't UTF-8"),
    ("a null byte", b"x\0\n", 1, "not Python: source code string cannot contain null bytes"),
    (
        "a statement",
        "import torch\nx = 3\n",
        2,
        "a signature file holds imports, functions and classes only",
    ),
    (
        "a statement in a class",
        "class Scale:\n    x = 3\n",
        2,
        "a class holds methods and fields only",
    ),
    (
        "unknown decorator",
        f"@cached\n{HEAD} -> None: ...\n",
        1,
        "unknown decorator 'cached'; there are method, inplace, also(...), example(...), overload, "
        "property and reduces, normalizes, mixes, levels, reshapes, tensor_type, metadata, "
        "telling, shared, arraylike, by_axis, uncast, sized, arrays, plain",
    ),
    (
        "an empty example",
        f"@example()\n{HEAD} -> None: ...\n",
        1,
        "an example is a call, in a string",
    ),
    ("a name that is no name", f"@also(3)\n{HEAD} -> None: ...\n", 1, "'3' should be a string"),
    ("unknown rule", f"{HEAD} -> Rule['stretch']: ...\n", 1, "there is no rule 'stretch'"),
    ("a rule without a name", f"{HEAD} -> Rule[3]: ...\n", 1, "'3' should be a string"),
    ("no result", f"{HEAD}: ...\n", 1, "'scale' needs a result annotation"),
    (
        "malformed shape",
        f"\n{HEAD} -> Num[Tensor, 'b, c']: ...\n",
        2,
        'in "b, c": dimensions are separated by spaces, not commas',
    ),
    (
        "unknown dtype",
        "def scale(x: Foo[Tensor, '*s']) -> None: ...\n",
        1,
        f"'Foo[Tensor, '*s']' {FORMS}",
    ),
    (
        "unknown dtype of the result",
        f"{HEAD} -> Foo[Tensor, 'b']: ...\n",
        1,
        f"'Foo[Tensor, 'b']' {FORMS}",
    ),
    ("unknown type", "def scale(x: Whatever) -> None: ...\n", 1, f"'Whatever' {FORMS}"),
    (
        "unknown group",
        "def scale(x: Num[Tensor, '*s'], dim: Axis['*t']) -> None: ...\n",
        1,
        "'scale' has no group '*t'",
    ),
    (
        "an edit of an unknown group",
        f"{HEAD} -> Num[Tensor, Without['*t', dim]]: ...\n",
        1,
        "'scale' has no group '*t'",
    ),
    (
        "an edit by an unknown parameter",
        f"{HEAD} -> Num[Tensor, Without['*s', axis]]: ...\n",
        1,
        "'scale' has no parameter 'axis'",
    ),
    (
        "an edit by nothing",
        f"{HEAD} -> Num[Tensor, Without['*s']]: ...\n",
        1,
        "Without needs a group and a parameter's name",
    ),
    (
        "an insertion of nothing",
        f"{HEAD} -> Num[Tensor, Insert['*s', dim]]: ...\n",
        1,
        "Insert needs the new dimension as a string",
    ),
    (
        "a size of an unknown parameter",
        f"{HEAD} -> Num[Tensor, '{{n}}']: ...\n",
        1,
        "'scale' has no parameter 'n'",
    ),
]


def refusal(look: Callable[[], object]) -> str:
    """Return what is said when a signature is looked up that can't be read."""
    with pytest.raises(StubError) as caught:
        look()
    error = caught.value
    assert str(error) == f"{error.path}:{error.line}: {error.reason}"
    return str(error)


@pytest.mark.parametrize(
    ("text", "line", "reason"), [row[1:] for row in STUBS], ids=[r[0] for r in STUBS]
)
def test_unreadable_signature_files(
    tmp_path: Path, text: bytes | str, line: int, reason: str
) -> None:
    """The file, the line and the reason, where the signature is first needed."""
    path = tmp_path / "mylib.pyi"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    said = refusal(lambda: Table([tmp_path]).signature("mylib.scale"))
    assert said == f"{path}:{line}: {reason}"
    use = "import mylib\nfrom torch import Tensor\ndef f(x: Tensor) -> None:\n    mylib.scale(x)\n"
    assert refusal(lambda: static(use, (str(tmp_path),))) == said


def test_a_signature_file_that_is_a_folder(tmp_path: Path) -> None:
    """What the file system refuses is said in its words."""
    path = tmp_path / "mylib" / "inner.pyi"
    path.mkdir(parents=True)
    said = refusal(lambda: Table([tmp_path]).signature("mylib.inner.scale"))
    assert said == f"{path}:1: can't be read: Is a directory"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to this user"
)
def test_a_signature_file_that_may_not_be_read(tmp_path: Path) -> None:
    """So is a file without permission."""
    path = tmp_path / "mylib.pyi"
    path.write_text("def scale(x: Num[Tensor, 'b']) -> None: ...\n")
    path.chmod(0)
    said = refusal(lambda: Table([tmp_path]).signature("mylib.scale"))
    assert said == f"{path}:1: can't be read: Permission denied"
