"""The parts of the server that know nothing of a connection: texts, names, settings, the thread."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import pytest

pytest.importorskip("pygls")

import ast

from lsprotocol import types
from repository import ROOT

from shapecheck.analysis import Span
from shapecheck.language_server.annotation_texts import names_in_text, texts_in
from shapecheck.language_server.documents import Text
from shapecheck.language_server.settings import InlayHints, ServerSettings
from shapecheck.language_server.shifts import Shift
from shapecheck.language_server.worker import Interrupted, Urgency, Worker


def change(
    start: tuple[int, int], end: tuple[int, int], text: str
) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(
        types.Range(types.Position(*start), types.Position(*end)), text
    )


@pytest.mark.parametrize(
    ("text", "edit", "after"),
    [
        ("", change((0, 0), (0, 0), "x"), "x"),
        ("a\nb", change((0, 1), (1, 0), ""), "ab"),
        ("a\r\nb\r\n", change((2, 0), (2, 0), "c"), "a\r\nb\r\nc"),
        ("a\rb", change((1, 0), (1, 1), "c"), "a\rc"),
        ("a\fb\u2028c\nd", change((1, 0), (1, 1), "e"), "a\fb\u2028c\ne"),  # one line, as in Python
        ("𝄞x\n", change((0, 2), (0, 3), "y"), "𝄞y\n"),
        ("a", change((7, 3), (9, 0), "b"), "ab"),  # beyond the end
        ("abc", change((0, 1), (0, 99), "d"), "ad"),
    ],
)
def test_a_range_is_edited(
    text: str, edit: types.TextDocumentContentChangePartial, after: str
) -> None:
    assert Text.of(text).edited([edit]).text == after


@pytest.mark.parametrize(("encoding", "unit"), [("utf-8", 6), ("utf-16", 3), ("utf-32", 2)])
def test_columns_count_in_the_units_that_were_agreed_on(encoding: str, unit: int) -> None:
    text = Text.of("𝄞äx", encoding)
    assert text.position(1, 2) == types.Position(0, unit)
    assert text.column(types.Position(0, unit)) == 2


@pytest.mark.parametrize(
    ("before", "after", "line", "moved"),
    [
        ("a b c", "a b c", 2, 2),
        ("a b c", "x a b c", 2, 3),
        ("a b c", "b c", 2, 1),
        ("a b c", "a x c", 2, None),
        ("a b c", "a x y c", 3, 4),
        ("a a", "a a a", 1, 1),
    ],
)
def test_a_span_moves_with_its_lines(before: str, after: str, line: int, moved: int | None) -> None:
    shift = Shift.of(before.split(), after.split())
    span = shift.span(Span(line, 0, line, 1))
    assert (span and span.line) == moved
    if moved is not None:
        assert shift.back(moved) == line


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("b t", "b t"),
        ("*batch #h 3 ... _ _b", "batch h"),
        ("rgb=3 height=h {self.d} (h d)", "h h d"),
        ("min(a,b) 2*n+1 min", "a b n min"),
        ("not a ! shape", ""),
    ],
)
def test_names_in_a_text(text: str, names: str) -> None:
    found = list(names_in_text(text))
    assert " ".join(name for name, _ in found) == names
    assert all(text[at : at + len(name)] == name for name, at in found)


def test_names_belong_to_functions_and_classes() -> None:
    text = """\
def f(x: Float[Tensor, "b t"], *xs: "Float[Tensor, 'b']") -> Literal["b t"]:
    y: Float[Tensor, "b n"] = x
    def g(z: Float[Tensor, "b"]) -> None:
        w: Float[Tensor, "t"] = z
"""
    found = texts_in(ast.parse(text), text.split("\n"))
    homes = [
        (one.name, one.span.line, getattr(found.home(one), "name", "")) for one in found.mentions
    ]
    assert homes == [
        ("b", 1, "f"),
        ("t", 1, "f"),
        ("b", 1, "f"),
        ("b", 2, "f"),
        ("n", 2, "f"),
        ("b", 3, "g"),
        ("t", 4, "f"),
    ]
    assert all(
        text.split("\n")[one.span.line - 1][one.span.column : one.span.end_column] == one.name
        for one in found.mentions
    )


@pytest.mark.parametrize(
    ("told", "settings"),
    [
        (None, ServerSettings()),
        ({"diagnostics": "workspace"}, ServerSettings(diagnostics="workspace")),
        ({"shapecheck": {"hover": False}}, ServerSettings(hover=False)),
        ({"diagnostics": "all", "debounce": "1", "hover": 0}, ServerSettings()),
        ({"inlayHints": {"obvious": True}}, ServerSettings(inlayHints=InlayHints(obvious=True))),
    ],
)
def test_settings_that_can_not_be_used_are_left_out(told: object, settings: ServerSettings) -> None:
    assert ServerSettings.of(told) == settings


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


def test_the_most_urgent_is_done_first(worker: Worker) -> None:
    go, done = threading.Event(), list[str]()
    worker.submit(Urgency.EDIT, lambda: go.wait(10))
    last = worker.submit(Urgency.BACKGROUND, lambda: done.append("background"))
    worker.submit(Urgency.CHECK, lambda: done.append("check"))
    worker.submit(Urgency.QUESTION, lambda: done.append("question"))
    go.set()
    last.result(10)
    assert done == ["question", "check", "background"]


def test_a_check_gives_way_and_is_begun_again(worker: Worker) -> None:
    done, began, asked = list[str](), threading.Event(), threading.Event()

    def check() -> None:
        done.append("begun")
        began.set()
        asked.wait(10)
        worker.give_way()
        done.append("ended")

    checked = worker.submit(Urgency.CHECK, check)
    began.wait(10)
    worker.submit(Urgency.QUESTION, lambda: done.append("answer"))
    asked.set()
    checked.result(10)
    assert done == ["begun", "answer", "begun", "ended"]


def test_what_nobody_wants_any_more_ends(worker: Worker) -> None:
    began, cancelled = threading.Event(), threading.Event()

    def check() -> None:
        began.set()
        cancelled.wait(10)
        worker.give_way()

    checked = worker.submit(Urgency.CHECK, check)
    began.wait(10)
    assert checked.cancel()
    cancelled.set()
    with pytest.raises(CancelledError):
        checked.result(10)
    assert worker.submit(Urgency.CHECK, lambda: 1).result(10) == 1


def test_a_failure_is_that_of_who_asked(worker: Worker) -> None:
    def fail() -> None:
        raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        worker.submit(Urgency.CHECK, fail).result(10)


def test_an_interruption_is_no_exception_that_is_caught() -> None:
    assert not issubclass(Interrupted, Exception)


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_the_server_imports_neither_mypy_nor_torch() -> None:
    program = (
        "import sys, shapecheck.language_server.server as server\n"
        "from shapecheck.cli.explain import told_of\n"
        "assert server.new_server(told_of) and told_of('torch.softmax', ())\n"
        "print({'mypy', 'torch', 'libcst'} & set(sys.modules))"
    )
    assert run(program) == "set()\n"


def test_without_the_extra_the_command_says_how_to_get_it() -> None:
    program = (
        "import sys, importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'pygls' else find(name)\n"
        "from shapecheck.cli import main\n"
        "print(main(['lsp']))"
    )
    assert run(program) == (
        "2\nshapecheck lsp: error: the language server needs pygls and lsprotocol: "
        'pip install "torch-shapecheck[lsp]"\n'
    )
