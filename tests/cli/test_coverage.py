"""`shapecheck coverage`: what counts, the table, the JSON, and the pages in a browser."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from pathlib import Path
from typing import Any, Final

import pytest
from cli import browser
from compilation import interpreted

from shapecheck.analysis import Cause, Options, Seen, Source, inspect
from shapecheck.analysis.interpreter import budget
from shapecheck.cli import main
from shapecheck.cli.coverage.markup import marked_up
from shapecheck.cli.coverage.measure import module_name
from shapecheck.codemod.project.files import find

MODEL: Final = '''\
import fancylib
import torch
from torch import Tensor, nn

from shapecheck import Float


class Net(nn.Module):
    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t"]:
        y = fancylib.mix(x)
        return x.sum(-1)


def unlike(x: Float[Tensor, "n"]) -> Tensor:
    """<b>&amp;</b>"""
    return x.reshape(fancylib.sizes())


def helper(x):
    return torch.zeros(3) + x


def count(words):
    return len(words)
'''


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a package, what is to be left out, and the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    (tmp_path / "pyproject.toml").write_text("")
    for name in ("net", ".hidden", "node_modules", "env", "build"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.py").write_text(MODEL)
    (tmp_path / "net" / "__init__.py").write_text("")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    return tmp_path


def test_what_is_seen_of_a_module() -> None:
    """Each tensor, its shape, and where what isn't known began."""
    bodies = inspect(Source("m", "m.py", MODEL), NoSources(), Options())
    lines = MODEL.splitlines()
    found = {
        body.name: [
            (
                lines[seen.span.line - 1][seen.span.column : seen.span.end_column],
                seen.shape,
                seen.grade,
                seen.reason,
                seen.begins,
            )
            for seen in body.seen
        ]
        for body in bodies
    }
    assert [(body.name, body.line, body.annotated) for body in bodies] == [
        ("", 1, False),
        ("Net.forward", 9, True),
        ("unlike", 14, True),
        ("helper", 19, False),
        ("count", 23, False),
    ]
    assert found == {
        "": [],
        "Net.forward": [
            ("fancylib.mix(x)", None, "unknown", Cause("library", "fancylib.mix"), True),
            ("x", "b t d", "known", None, False),
            ("x.sum(-1)", "b t", "known", None, False),
            ("x", "b t d", "known", None, False),
        ],
        "unlike": [
            (
                "x.reshape(fancylib.sizes())",
                None,
                "unknown",
                Cause("library", "fancylib.sizes"),
                False,
            ),
            ("x", "n", "known", None, False),
        ],
        "helper": [
            ("torch.zeros(3) + x", "... 3", "partial", Cause("parameter", "x"), False),
            ("torch.zeros(3)", "3", "known", None, False),
        ],
        "count": [],
    }


CAUSES: Final = [
    ("def f(x):\n    y = x + 1\n    return torch.relu(y)", "parameter", "x"),
    ("def f(x: list):\n    for y in x:\n        y = y * 2\n        g = y.sin()", "declared", "x"),
    ("def f(batch: dict):\n    return torch.relu(batch['image'][:, 0])", "declared", "batch"),
    (
        "def f(a: Float[Tensor, 'n']):\n    b = fancylib.mix(a)\n    return b @ b",
        "library",
        "fancylib.mix",
    ),
    (
        "def f(a: Float[Tensor, 'n']):\n    return torch.special.unheard_of(a) * 2",
        "rule",
        "torch.special.unheard_of",
    ),
    ("def f(a: Float[Tensor, 'n']):\n    b = a.mystery()\n    return b + a", "rule", ".mystery()"),
    (
        "def f(a: Float[Tensor, 'n']):\n    i = a.masked_select(a > 0)\n    return i * 2",
        "data",
        ".masked_select()",
    ),
    (
        "def f(a: Float[Tensor, 'n']):\n    return (a.masked_select(a > 0) * math.pi).exp()",
        "data",
        ".masked_select()",
    ),
    (
        "def g(x):\n    return fancylib.mix(x)\ndef f(a: Float[Tensor, 'n']):\n    return g(a) * 2",
        "library",
        "fancylib.mix",
    ),
    (
        "class A(nn.Module):\n    def __init__(self, w):\n        super().__init__()\n"
        "        self.w = w\n    def f(self, a: Float[Tensor, 'n']):\n        return a * self.w",
        "parameter",
        "w",
    ),
    (
        "class A:\n    w: object\ndef f(o: A, a: Float[Tensor, 'n']):\n    return a * o.w",
        "declared",
        "A.w",
    ),
    ("def f(a: Float[Tensor, 'n m']):\n    b = a + a.mT @ a\n    return b * 2", "error", "line 5"),
    ("def f(n: list[int]):\n    return torch.zeros(9)[n:]", "data", "torch.zeros()[...]"),
    (
        "def f(a: Float[Tensor, 'n'], n: list[int]):\n    return (a + 1)[n:]",
        "data",
        "(a + 1)[...]",
    ),
    (
        'def g(x: Float[Tensor, "b t"]) -> Float[Tensor, "b t"]:\n    return x\n'
        'def f(a: Float[Tensor, "b t"], n: list[int]) -> None:\n    y = g(a[n:]) * 2',
        "data",
        "a[...]",
    ),
    (
        "def f(net: nn.Module):\n    for name, p in net.named_parameters():\n"
        "        nn.init.normal_(p)\n        p.data.norm()",
        "each",
        "net.named_parameters()",
    ),
    (
        "class A(nn.Module):\n    def f(self):\n        for m in self.modules():\n"
        "            if isinstance(m, nn.Conv2d):\n                nn.init.normal_(m.weight)",
        "each",
        "self.modules()",
    ),
    (
        "def f(a: Float[Tensor, 'n m'], k: int):\n    b = a\n    for _ in range(k):\n"
        "        b = torch.cat([b, a], dim=1)\n    return b + 1",
        "loop",
        "b",
    ),
    (
        "def f(model, a: Float[Tensor, 'n m'], k: int):\n    for _ in range(k):\n"
        "        last = model(a)[:, -1:]\n        a = torch.cat([a, last], dim=1)\n    return a",
        "parameter",
        "model",
    ),
    ("def f(a: Tensor):\n    return a[:, 0].nonzero() * 2", "data", ".nonzero()"),
    (
        "def f(a: list):\n    top, _ = torch.topk(a[0], 3)\n    return top[:, -1]",
        "declared",
        "a",
    ),
]


@pytest.mark.parametrize(("text", "kind", "subject"), CAUSES)
def test_the_first_cause(text: str, kind: Any, subject: str) -> None:
    """All that isn't known in the last function is put down to where it began."""
    head = (
        "import fancylib, math, torch\nfrom torch import Tensor, nn\nfrom shapecheck import Float\n"
    )
    body = inspect(Source("m", "m.py", head + text + "\n"), NoSources(), Options())[-1]
    causes = {seen.reason for seen in body.seen if seen.reason is not None}
    assert causes == {Cause(kind, subject)}


def test_the_first_cause_behind_many_calls() -> None:
    """A long chain of functions is followed for a while."""
    head = "from torch import Tensor\nfrom shapecheck import Float\nfrom fancylib import lost\n"
    one = 'def f{}(x: Float[Tensor, "b d"]):\n    return {}(x)\n'
    calls = [*(f"f{at + 1}" for at in range(300)), "lost"]
    text = head + "".join(one.format(at, call) for at, call in enumerate(calls))
    bodies = inspect(Source("m", "m.py", text), NoSources(), Options())
    causes = [one.reason for body in bodies for one in body.seen if one.reason is not None]
    assert causes == [
        *(Cause("function", f"f{at + 9}") for at in range(292)),
        *[Cause("library", "fancylib.lost")] * 9,
    ]


@interpreted
def test_what_takes_too_long_is_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is too long to be looked into from where it is called."""
    monkeypatch.setattr(budget, "MAX_STEPS", 100)
    monkeypatch.setattr(budget, "STEPS_A_LINE", 0)
    long = "    x = torch.relu(x) + 1\n" * 100
    text = f"import torch\ndef g(x):\n{long}    return x\ny = g(torch.zeros(3)) * 2\n"
    script, _ = inspect(Source("m", "m.py", text), NoSources(), Options())
    assert {seen.reason for seen in script.seen if seen.reason} == {Cause("budget", "g")}


def test_packages_without_an_init_file(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative imports say which folders are packages, from wherever coverage is called."""
    for name in ("plain/model", "plain/data"):
        (project / name).mkdir(parents=True)
    (project / "plain/data/load.py").write_text(MODEL)
    (project / "plain/model/use.py").write_text(
        "import torch\nfrom ..data.load import Net\n\ny = Net()(torch.zeros(2, 3, 4))\n"
    )
    for folder, path in ((".", "plain/model"), ("plain/model", "use.py"), ("..", project.name)):
        monkeypatch.chdir(project / folder)
        assert main(["coverage", path]) == 0
        assert re.search(r"use.py +0/0 +2 +0 +0 +100 %\n", capsys.readouterr().out)


TABLE: Final = """\
file          annotated  known  partly  unknown  shapes known
net/model.py        2/3      5       1        2          62 %
all                 2/3      5       1        2          62 %

where shapes get lost
     1  fancylib.mix: of a library that isn't installed here
     1  fancylib.sizes: of a library that isn't installed here
     1  the parameter "x" has no annotation
"""


def test_table(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each file with tensors, and why shapes get lost."""
    assert main(["coverage"]) == 0
    assert capsys.readouterr().out == TABLE


def test_table_shows_names_and_numbers_whole(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is as wide as it takes, whatever the terminal."""
    monkeypatch.setenv("COLUMNS", "40")
    name = f"{'long' * 30}.py"
    (project / name).write_text(MODEL)
    assert main(["coverage", name]) == 0
    row, total = capsys.readouterr().out.splitlines()[1:3]
    assert re.fullmatch(rf"{name} +2/3 +5 +1 +2 +62 %", row)
    assert re.fullmatch(r"all +2/3 +5 +1 +2 +62 %", total)


def test_a_folder_is_where_its_files_import_from(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same is found from within a project and from beside it."""
    (project / "scripts").mkdir()
    (project / "scripts" / "use.py").write_text(
        "import torch\nfrom net.model import Net\n\ny = Net()(torch.zeros(2, 3, 4))\n"
    )
    assert main(["coverage"]) == 0
    inside = capsys.readouterr().out
    monkeypatch.chdir(project.parent)
    assert main(["coverage", project.name]) == 0
    beside = capsys.readouterr().out
    assert re.search(r"\nscripts/use.py +0/0 +2 +0 +0 +100 %\n", inside)
    assert re.search(r"/scripts/use.py +0/0 +2 +0 +0 +100 %\n", beside)


def test_fail_under(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code that CI looks at."""
    assert main(["coverage", "net", "--fail-under", "62.5"]) == 0
    assert main(["coverage", "net", "--fail-under", "63"]) == 1
    assert capsys.readouterr().err == (
        "the shapes of 62.5 % are known, and --fail-under asks for 63 %\n"
    )
    with pytest.raises(SystemExit):
        main(["coverage", "--fail-under", "much"])
    assert '"much" is no percentage from 0 to 100' in capsys.readouterr().err


def test_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The counts, and the places where shapes get lost."""
    assert main(["coverage", "--output", "json"]) == 0
    document: Any = json.loads(capsys.readouterr().out)
    counts = {"functions": 3, "annotated": 2, "tensors": 8, "known": 5, "partial": 1, "unknown": 2}
    assert document["total"] == counts
    assert list(document["files"]) == ["net/__init__.py", "net/model.py"]
    file = document["files"]["net/model.py"]
    assert file.pop("lost") == [
        {
            "line": 10,
            "column": 12,
            "end_line": 10,
            "end_column": 27,
            "shape": None,
            "reason": "fancylib.mix: of a library that isn't installed here",
        },
    ]
    assert file == counts


def test_files_that_cannot_be_looked_at(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is named with the reason, the others are measured, and the exit code is 2."""
    (project / "bad.py").write_text("def f(:\n")
    (project / "latin.py").write_bytes(b"x = '\xff'\n")
    (project / "crlf.py").write_bytes(MODEL.replace("\n", "\r\n").encode())
    assert main(["coverage", "--html", "out"]) == 2
    printed = capsys.readouterr().out
    assert "\nbad.py: line 1: " in printed
    assert "\nlatin.py: not text in the encoding that it declares\n" in printed
    assert re.search(r"\ncrlf.py +2/3 +5 +1 +2 +62 %\n", printed)
    assert main(["coverage", "gone"]) == 2
    assert capsys.readouterr().err == (
        "shapecheck coverage: error: gone: there is no such file or folder\n"
    )
    assert main(["coverage", "env/.."]) == 2
    (project / "empty").mkdir()
    assert main(["coverage", "empty"]) == 2
    assert capsys.readouterr().err.endswith("error: there are no .py files in empty\n")


def test_names_of_modules(project: Path) -> None:
    """A package is where an `__init__.py` is."""
    assert find([Path()]).files == [Path("net/__init__.py"), Path("net/model.py")]
    assert module_name(Path("net/model.py")) == "net.model"
    assert module_name(Path("net/__init__.py")) == "net"
    assert module_name(Path("env/model.py")) == "model"


def test_modules_of_a_project_see_each_other(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What another file declares is known."""
    (project / "use.py").write_text(
        textwrap.dedent("""\
        import torch
        from net.model import Net

        def f():
            return Net()(torch.zeros(2, 3, 4))
        """)
    )
    assert main(["coverage", "use.py", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["known"] == 2


def test_markup_is_the_text() -> None:
    """Without its tags, a page's source is the file; tags close in order."""
    text = 'x = f(  # <one>\n  "a" "b", "&lt;",\n\ty @ z)\nif x: pass\n'
    bodies = inspect(Source("m", "m.py", text), NoSources(), Options())
    crossing = [Seen(bodies[0].seen[0].span, "<b>", "known")] if bodies[0].seen else []
    code = marked_up(text, [*bodies[0].seen, *crossing])
    import html

    assert html.unescape(re.sub(r"<[^>]*>", "", code)) == text
    depth = 0
    for tag in re.findall(r"</?i", code):
        depth += 1 if tag == "<i" else -1
        assert depth >= 0
    assert depth == 0


@pytest.fixture
def pages(project: Path) -> Path:
    """The pages of the project."""
    assert main(["coverage", "net", "--html", "out"]) == 0
    return project / "out"


def test_pages_stand_alone(pages: Path) -> None:
    """One for each file and an index, without a reference to anything else."""
    assert sorted(path.name for path in pages.iterdir()) == ["index.html", "net_model.py.html"]
    for path in pages.iterdir():
        text = path.read_text("utf-8")
        targets = re.findall(r'(?:src|href)="([^"]*)"', text)
        assert all(
            re.fullmatch(r"#L\d+|index\.html|net_model\.py\.html(#L\d+)?", t) for t in targets
        )
        assert not re.search(r"http(?!-equiv)", text)
        assert "url(" not in text


def test_pointing_at_an_expression(pages: Path) -> None:
    """Its shape is shown, or why there is none; the innermost one counts."""
    script = """
    const tip = document.getElementById("tip"), said = [];
    const find = (text) => Array.from(document.querySelectorAll(".source .s"))
      .find((element) => element.textContent === text);
    const mouse = (what, at) => new window.MouseEvent(what, { bubbles: true, screenX: at });
    let at = 0;
    for (const text of ["x.sum(-1)", "fancylib.mix(x)", "x.reshape(fancylib.sizes())"]) {
      find(text).dispatchEvent(mouse("mouseover", ++at));
      said.push(tip.innerText);
      const box = tip.getBoundingClientRect();
      said.push(box.left >= 0 && box.right <= window.innerWidth);
    }
    document.querySelector("h1").click();
    said.push(tip.hidden);
    document.getElementById("next").click();
    said.push(document.querySelector(".on").textContent);
    document.dispatchEvent(new window.KeyboardEvent("keydown", { key: "n" }));
    said.push(document.querySelector(".on").textContent);
    const keyed = Array.from(document.querySelectorAll(".source .s"));
    said.push(keyed.every((element) => element.tabIndex === 0));
    find("x.sum(-1)").focus();
    document.dispatchEvent(mouse("mousemove", 9));
    document.body.dispatchEvent(mouse("mouseover", 9));  // the page moved, the mouse didn't
    said.push(tip.innerText);
    document.body.dispatchEvent(mouse("mouseover", 10));
    said.push(tip.hidden);
    return said;
    """
    for width, height in ((1280, 800), (390, 844)):
        said = browser.run_in(pages / "net_model.py.html", script, width, height)
        assert said == [
            *("(b t)", True),
            *(
                "shape unknown\nnot known: fancylib.mix: of a library that isn't installed here",
                True,
            ),
            *(
                "shape unknown\nnot known: fancylib.sizes: of a library that isn't installed here",
                True,
            ),
            True,
            "fancylib.mix(x)",
            "fancylib.mix(x)",
            *(True, "(b t)", True),
        ]


WRONG: Final = """\
from torch import Tensor
from shapecheck import Float

def scores(q: Float[Tensor, "b n d"], k: Float[Tensor, "b m d"]) -> Float[Tensor, "b n m"]:
    halves = q * 0.5
    wrong = q @ k  # type: ignore[shape]
    return (
        halves @ k
    )

def last(q: Float[Tensor, "b"]) -> Tensor:
    return q.exp()"""


def test_shapes_and_errors_stand_beside_the_code(project: Path) -> None:
    """The key `s` hides the shapes; each line has its number; nothing else may run or be styled."""
    (project / "wrong.py").write_text(WRONG)
    assert main(["coverage", "wrong.py", "--html", "out"]) == 0
    script = """
    const beside = () => Array.from(document.querySelectorAll(".s.told"), (one) =>
      [one.textContent, window.getComputedStyle(one, "::after").content]);
    const source = document.querySelector(".source");
    const said = [beside()];
    document.dispatchEvent(new window.KeyboardEvent("keydown", { key: "s" }));
    said.push(beside());
    said.push(Array.from(source.querySelectorAll("ins"), (one) => one.textContent));
    const top = (one) => one.getBoundingClientRect().top;
    const last = Array.from(source.querySelectorAll(".s")).pop();
    said.push(Math.abs(top(last) - top(document.getElementById("L12"))) < 6);
    const added = document.createElement("style");
    added.textContent = "body { display: none }";
    document.head.append(added);
    said.push(window.getComputedStyle(document.body).display);
    return said;
    """
    for width, height in ((1280, 800), (390, 844)):
        shown, hidden, errors, is_beside, display = browser.run_in(
            project / "out" / "wrong.py.html", script, width, height
        )
        assert [text for text, _ in shown] == ["q * 0.5", "q.exp()"]
        assert [content for _, content in hidden] == ["none", "none"]
        assert "none" not in [content for _, content in shown]
        assert errors == [
            'error: "@" can\'t multiply (b n d) by (b m d): the inner dimensions are d (axis -1) '
            "and m (axis -2)  [shape]\n"
            '  note: left operand "halves" is (b n d) since line 5\n'
            '  note: right operand "k" is (b m d) since line 4\n'
            '  note: "k.transpose(-2, -1)" would give (b n m)'
        ]
        assert is_beside
        assert display == "block"


def test_what_hides_in_a_source_is_shown(project: Path) -> None:
    """Tags, quotes, and characters that turn a text around are text."""
    text = "x = '</script><b>\u202e\x07\u200b'  # \"'&\n"
    (project / "hidden.py").write_text(text, "utf-8")
    assert main(["coverage", "hidden.py", "--html", "out"]) == 0
    code = marked_up(text, ())
    assert "<b>" not in code
    assert "&lt;/script&gt;&lt;b&gt;\\u202e\\x07\\u200b" in code


def test_reasons_lead_to_a_place(pages: Path) -> None:
    """Each reason has a link to the first line that it is the reason of."""
    script = """
    return Array.from(document.querySelectorAll(".reasons tr"))
      .map((row) => [row.innerText, row.querySelector("a").getAttribute("href")]);
    """
    assert browser.run_in(pages / "index.html", script) == [
        [
            "1\tfancylib.mix: of a library that isn't installed here model.py:10",
            "net_model.py.html#L10",
        ],
        [
            "1\tfancylib.sizes: of a library that isn't installed here model.py:16",
            "net_model.py.html#L16",
        ],
        ['1\tthe parameter "x" has no annotation model.py:20', "net_model.py.html#L20"],
    ]


def test_expressions_of_many_lines(project: Path) -> None:
    """They are marked but for their indents, whatever ends a line."""
    text = "import torch\n\n\ndef f():\n    return torch.zeros(\n        2,\n        3)\n"
    said = []
    for end in ("\n", "\r\n", "\r"):
        (project / "m.py").write_bytes(text.replace("\n", end).encode())
        assert main(["coverage", "m.py", "--html", "out"]) == 0
        script = """
        const marked = Array.from(document.querySelectorAll(".source .s"));
        const lines = document.querySelectorAll(".numbers a").length;
        const space = document.querySelector(".s .space");
        return [marked.map((s) => s.textContent), lines, space.textContent.length,
                window.getComputedStyle(space).display];
        """
        said.append(browser.run_in(project / "out" / "m.py.html", script))
    expected = [["torch.zeros(\n        2,\n        3)"], 8, 8, "inline-block"]
    assert said == [expected] * 3


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
@pytest.mark.parametrize("name", ["index.html", "net_model.py.html"])
def test_pages_fit(pages: Path, name: str, width: int, height: int) -> None:
    """Nothing but source is wider than the window, and no text is smaller than 12 pixels."""
    assert browser.run_in(pages / name, browser.FITS, width, height)
    small = """return Array.from(document.querySelectorAll("body *")).filter((element) =>
      element.innerText && parseFloat(window.getComputedStyle(element).fontSize) < 12).length;"""
    assert browser.run_in(pages / name, small, width, height) == 0


def test_a_page_with_long_names_fits(project: Path) -> None:
    """Those of libraries and files are broken where they have to be."""
    long = "a_name_" * 12
    (project / f"{long}.py").write_text(
        f"import torch\nimport no_{long}\n\nx = torch.zeros(2) + no_{long}.give()\n"
    )
    assert main(["coverage", f"{long}.py", "--html", "out"]) == 0
    for name in ("index.html", f"{long}.py.html"):
        assert browser.run_in(project / "out" / name, browser.FITS, 390, 844)
    assert f"no_{long}" in (project / "out" / "index.html").read_text()


def test_source_is_python() -> None:
    """The program of these tests can be parsed."""
    ast.parse(MODEL)


UNREAD: Final = """\
from typing import Annotated, Literal
from beartype.vale import Is
from mylib import Dims, Grid, MyTensor
from nptyping import NDArray, Shape, Float32
from pydantic import Field
from torch import Tensor
from torchtyping import TensorType
from shapecheck import Float

class Item: ...

def no(x: Grid["b c"], y: "MyTensor['b', 3]") -> Annotated[Tensor, Dims("b", 3)]: ...
def nor(x: dict[str, Grid["b c"]] | None, y: Annotated[Tensor, "Waveform (channels, samples)"]): ...
def neither(x: NDArray[Shape["2, 3"], Float32], y: MyTensor["b": 3]) -> Tensor["b c"]: ...
def yes(x: Float[Tensor, "b c"], y: TensorType["b"], z: Tensor[[2, 3]]): ...
def yes_too(x: Annotated[Tensor, "b"], y: Annotated[Tensor, Is[len]], z: MyTensor["Item"]): ...
def none(x: list["Item"], y: Literal["a b"], z: Annotated[int, "how many"], u: "Item"): ...
def nothing(x: Annotated[Tensor, Field(gt=0)], y: Annotated[Tensor, "Input tensor"]): ...
"""


def test_annotations_that_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each form is named, with how many there are and where the first is; others aren't."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forms.py").write_text(UNREAD)
    assert main(["coverage", "forms.py"]) == 0
    _, _, told = capsys.readouterr().out.partition("\nannotations that say a shape")
    assert told.splitlines() == [
        " in a form that isn't read",
        "     2  Grid[...], first at forms.py:12",
        "     2  MyTensor[...], first at forms.py:12",
        "     1  Annotated[..., Dims(...)], first at forms.py:12",
        "     1  Annotated[..., text], first at forms.py:13",
        "     1  NDArray[...], first at forms.py:14",
        "     1  Tensor[...], first at forms.py:14",
    ]
    assert main(["coverage", "forms.py", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["unread"]
    assert found["Grid[...]"] == {"count": 2, "first": "forms.py:12"}
