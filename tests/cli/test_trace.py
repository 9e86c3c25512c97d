"""`shapecheck trace`: the tree, the drawing, the page in a browser, and what can go wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from cli import browser

from shapecheck.cli import main

MODEL: Final = """\
import torch
from torch import Tensor, nn

from shapecheck import Float, Int, shapecheck


class Block(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        return x + self.down(self.up(x).relu())


class Net(nn.Module):
    def __init__(self, d: int = 8, layers: int = 3) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(d) for _ in range(layers))
        self.register_buffer("scale", torch.ones(d))

    def forward(self, x: Float[Tensor, "b t d"], mask: Tensor | None = None) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x * self.scale


def build():
    return Net(4, layers=1)


def fails():
    raise KeyError("no such weights")


class Looks(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.ModuleList([nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 8)])
            for _ in range(4)
        )
        self.rates = [rate.item() for rate in torch.linspace(0, 1, 4)]

    def forward(self, x):
        from einops import rearrange

        for block, linear in self.layers:
            x = linear(block(x)) + x
        q, k, v = rearrange(x, "b t (n d) -> n b t d", n=4)[:3]
        return (q + torch.arange(2)).chunk(2, -1)


class Own(nn.Module):
    def forward(self, x: Float[Tensor, "*n width"]) -> Float[Tensor, "*n width"]:
        return x.tanh()


class Called(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = Own()

    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        return self.own(x + 1) * x


number = 3


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)

    @shapecheck
    def forward(self, ids: Int[Tensor, "b t"], scale: Float[Tensor, "m 4"] | None = None):
        return self.embed(ids), scale.exp()


class Batches(Tokens):
    def forward(self, batch, n):
        assert n == 2
        return self.embed(batch["ids"]), batch["rest"][0].exp()
"""
TREE: Final = """\
call                        result         parameters   memory  line
Net                                             1,656  5.8 KiB
├─ blocks.0 to 2 3 x Block                        552  1.9 KiB
│  ├─ up Linear             (b=2 t=3 32)          288    768 B  net.py:14
│  ├─ relu                  (b=2 t=3 32)                 768 B  net.py:14
│  ├─ down Linear           (b=2 t=3 8)           264    192 B  net.py:14
│  └─ add                   (b=2 t=3 d=8)                192 B  net.py:14
└─ mul                      (b=2 t=3 d=8)                192 B  net.py:26

13 ops; 1,656 parameters take 6.5 KiB, the results of all ops 5.8 KiB
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a model in it, the current one; what is imported from it is forgotten."""
    (tmp_path / "net.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) == str(tmp_path / "net.py"):
            del sys.modules[name]


def test_tree(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each call; modules that do the same are shown once."""
    assert main(["trace", "net:Net", "--input", "b=2 t=3 8"]) == 0
    assert capsys.readouterr().out == TREE


REPEATED: Final = """\
call                      result                              parameters   memory  line
Pairs                                                                576  3.1 KiB
├─ layers.0.0 Sequential                                              72    384 B
│  ├─ 0 Linear            (b=2 t=3 8)                                 72    192 B  net.py:55
│  └─ 1 ReLU              (b=2 t=3 8)                                       192 B  net.py:55
├─ layers.0.1 Linear      (b=2 t=3 8)                                 72    192 B  net.py:55
├─ add                    (b=2 t=3 8)                                       192 B  net.py:55
│  ⋮                      3 more like these 3, to layers.3.1
├─ reshape                (b=2 t=3 4 2)                                            net.py:56
├─ permute                (4 b=2 t=3 2)                                            net.py:56
├─ getitem                (3 b=2 t=3 2)                                            net.py:56
├─ unbind                 3 times (b=2 t=3 2)                                      net.py:56
├─ arange                 (2)                                                16 B  net.py:57
├─ add                    (b=2 t=3 2)                                        48 B  net.py:57
└─ chunk                  2 times (b=2 t=3 1)                                      net.py:57
"""


@pytest.mark.parametrize(
    "given",
    [
        ["net:Tokens", "--input", "2 5", "--input", "3 4"],
        ["net:Tokens", "--input", "2 5", "--input", "scale: 3 4"],
        ["net:Tokens", "--input", "Int32 2 5", "--input", "scale: Float64 3 4"],
        ["net:Batches", "--input", '{"ids": "Int 2 5", "rest": ["3 4", True]}', "--input", "int 2"],
        [
            "net:Batches",
            "--input",
            '{"ids": "Int 2 5", "rest": ("3 4", None)}',
            "--input",
            "n: int 2",
        ],
    ],
)
def test_inputs(given: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The annotation says the dtype where the input doesn't; what holds tensors can be given."""
    assert main(["trace", *given]) == 0
    said = capsys.readouterr().out
    assert re.search(r"embed Embedding +\((b=)?2 (t=)?5 8\) ", said), said
    assert re.search(r"exp +\((m=)?3 4\) ", said), said


def test_what_is_repeated(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several calls together, too; lines are the model's, not those of a library of ops.

    The constructor looks at values, which the meta device hasn't.
    """
    assert main(["trace", "net:Pairs", "--input", "2 3 8"]) == 0
    assert capsys.readouterr().out.rpartition("\n\n")[0] + "\n" == REPEATED


def test_names_are_those_that_most_of_the_model_uses(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function's own names for what it was given don't change how the tensor is called."""
    assert main(["trace", "net:Called", "--input", "2 3 8"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"\n├─ own Own +\(b=2 t=3 d=8\) ", printed)


FAILING: Final = """\
from torch import Tensor, nn

from shapecheck import Float


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(4, 8)

    def forward(self, x: Float[Tensor, "b t d"]) -> Tensor:
        return (x @ self.up(x)).relu()


class Raising(Net):
    def forward(self, x: Tensor) -> Tensor:
        raise ValueError(f"<{self.up(x).shape[0]}>")
"""
FAILED: Final = """\
call              result                           parameters  memory  line
Net                                                        40   192 B
├─ up Linear      (b=2 t=3 8)                              40   192 B  failing.py:12
└─ matmul fails   (b=2 t=3 d=4) with (b=2 t=3 8)                       failing.py:12

2 ops; 40 parameters take 160 B, the results of all ops 192 B
"""


def test_a_tree_up_to_what_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The op that fails is marked, in the page and in the drawing, with what is said of it."""
    (project / "failing.py").write_text(FAILING)
    assert main(["trace", "failing:Net", "--input", "2 3 4", "--html", "net.html"]) == 1
    printed = capsys.readouterr()
    assert re.sub(" +", " ", printed.out) == re.sub(" +", " ", FAILED)
    assert printed.err.startswith('"@" can\'t multiply (b t d) by (b t 8): the inner dimensions')
    page = (project / "net.html").read_text("utf-8")
    assert page.count('class="chip failed"') == 1
    assert ">output<" not in page
    assert page.count('class="leaf failed"') == 1
    assert '<pre class="said">&quot;@&quot; can&#x27;t multiply (b t d) by (b t 8)' in page
    assert main(["trace", "failing:Raising", "--input", "2 3 4", "--html", "net.html"]) == 1
    printed = capsys.readouterr()
    assert "up Linear" in printed.out
    assert printed.err.startswith("the forward pass failed: ValueError: <2>")
    page = (project / "net.html").read_text("utf-8")
    assert '<pre class="said">ValueError: &lt;2&gt;</pre>' in page


def test_two_runs_compared(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "failing.py").write_text(FAILING)
    arguments = ["trace", "failing:Net", "--input", "2 3 4"]
    assert main([*arguments, "--output", "json"]) == 1
    (project / "before.json").write_text(capsys.readouterr().out)
    assert main([*arguments, "--against", "before.json"]) == 1
    assert capsys.readouterr().out == (
        "no op differs\nparameters 40 -> 40; results 192 B -> 192 B; ops 2 -> 2\n"
    )
    mended = FAILING.replace("(x @ self.up(x))", "self.up(x)").replace("(4, 8)", "(4, 5)")
    (project / "mended.py").write_text(mended)
    given = ["--input", "2 3 4", "--against", "before.json", "--html", "page.html"]
    assert main(["trace", "mended:Net", *given]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "~ up: linear  (b=2 t=3 8) float32 -> (b=2 t=3 5) float32"
    assert out[1].startswith('- matmul  fails: "@" can\'t multiply')
    assert out[-2:] == [
        "+ relu  (b=2 t=3 5) float32",
        "parameters 40 -> 25; results 192 B -> 240 B; ops 2 -> 2",
    ]
    script = """
    const rows = Array.from(document.querySelectorAll(".differences li"));
    const colors = rows.map((one) => window.getComputedStyle(one).backgroundColor);
    return [rows.map((one) => one.innerText), new Set(colors).size,
      document.querySelector(".differences + p").innerText];
    """
    rows, colors, totals = browser.run_in(project / "page.html", script)
    assert ([" ".join(row.split()) for row in rows], totals) == (
        [" ".join(line.split()) for line in out[:-1]],
        out[-1],
    )
    assert colors == 3
    assert browser.run_in(project / "page.html", browser.FITS, 390, 844)
    for told, said in (
        (["missing.json"], "can't read missing.json: No such file or directory"),
        (
            ["failing.py"],
            "failing.py is no trace: `shapecheck trace ... --output json > failing.py`",
        ),
        (["before.json", "--output", "json"], "--against prints text"),
    ):
        assert main([*arguments, "--against", *told]) == 2
        assert said in capsys.readouterr().err


def test_depth(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Deeper modules aren't opened: what comes out of them is shown."""
    assert main(["trace", "net:Net", "--input", "2 3 8", "--depth", "0"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"\n├─ blocks.0 to 2 3 x Block +\(b=2 t=3 d=8\) +552 ", printed)
    with pytest.raises(SystemExit):
        main(["trace", "net:Net", "--depth=-1"])
    assert 'argument --depth: "-1" is no depth: a number from 0' in capsys.readouterr().err


@pytest.mark.parametrize("target", ["net:build", "net.py:build", "net:Net(4, layers=1)"])
def test_what_makes_the_model(
    target: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function, a file, an expression; inputs by name, with a dtype; on a real device."""
    arguments = ["--input", "2 3 4", "--input", "mask: Bool 3", "--device", "cpu"]
    assert main(["trace", target, *arguments, "--output", "json"]) == 0
    document: Any = json.loads(capsys.readouterr().out)
    (net,) = document["calls"]
    assert (net["kind"], net["parameters"]) == ("Net", 148)
    assert [call.get("name") for call in net["calls"]] == [None, "mul"]
    first = net["calls"][0]["calls"][0]["calls"][0]["operands"][0]
    assert (first["shape"], first["dtype"], first["device"]) == ([2, 3, 4], "float32", "cpu")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["net"], '"net" should be MODULE:FACTORY, such as my_model:build'),
        (["nett:Net"], "there is no module nett here"),
        (["gone.py:Net"], "there is no file gone.py"),
        (["net:Nett"], 'net has no "Nett"; did you mean "Net"?'),
        (["net:Net(x=1)"], "Net(x=1) failed: TypeError: Net.__init__() got an unexpected"),
        (["net:fails"], "fails failed: KeyError: 'no such weights' (net.py:34)"),
        (
            ["net:Block"],
            "Block failed: TypeError: Block.__init__() missing 1 required positional argument: "
            "'d'; "
            'give it what it needs: "net:Block(...)"',
        ),
        (["net:number"], "number gives int, which can't be called"),
        (["net:Net", "--input", "2 x"], 'in --input "2 x": "x" is no size; write "1 3 224 224", '),
        (
            ["net:Batches", "--input", '["2 8"'],
            'in --input "["2 8"": this can\'t be read; write ["1 3 64 64", "1 10"], or '
            '{"x": "1 3 64 64", "train": False}',
        ),
        (["net:Net", "--input", "2 3 8", "--svg", "no/x.svg"], "can't write no/x.svg: No such"),
    ],
)
def test_what_cannot_be_traced(
    arguments: list[str], said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and one line."""
    assert main(["trace", *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"shapecheck trace: error: {said}")
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["net:Net", "--input", "2 8"],
            'argument "x" of "Net.forward" is (2 8), declared "b t d": it has 2 axes, declared 3  '
            "[shape]\n",
        ),
        (
            ["net:Looks", "--input", "2 8"],
            "the forward pass failed: RuntimeError: Tensor.item() cannot be called on meta tensors "
            "(net.py:39)\n"
            "The model looks at values, which the meta device hasn't: try --device cpu\n",
        ),
        (
            ["net:Tokens", "--input", "Float 2 8"],
            'argument "ids" of "Tokens.forward" is float32, declared Int  [shape-dtype]\n'
            'An --input may say its dtype: "Int 2 64", "Bool 64 64", "mask: Bool 2 64"\n',
        ),
        (
            ["net:Looks"],
            "the forward pass failed: TypeError: Looks.forward() missing 1 required positional "
            "argument: 'x'\nEach argument of the forward pass is an --input of its own; one by "
            'name is --input "mask: Bool 2 64"\n',
        ),
    ],
)
def test_a_pass_that_fails(
    arguments: list[str], said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1: what is wrong, where, and what often helps."""
    assert main(["trace", *arguments]) == 1
    assert capsys.readouterr().err == said


@pytest.fixture
def drawn(project: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The drawing and the page of the model."""
    given = ["--input", "b=2 t=3 8", "--svg", "net.svg", "--html", "net.html"]
    assert main(["trace", "net:Net", *given]) == 0
    return project


SVG: Final = "{http://www.w3.org/2000/svg}"


def test_drawing(drawn: Path) -> None:
    """Chips in the order of the calls, and a wire for each dimension of each tensor."""
    root = ElementTree.parse(drawn / "net.svg").getroot()
    names = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "name"]
    block = ["up Linear", "relu", "down Linear", "add"]
    assert names == ["input", *block, "2 more Block", "mul", "output"]
    bundles = [group for group in root.iter(f"{SVG}g") if group.get("class") == "t"]
    # Each of the 7 tensors goes somewhere; the input of the block also goes around it to its sum.
    assert len(bundles) == 7
    for bundle in bundles:
        title = bundle.findtext(f"{SVG}title") or ""
        axes = title[1 : title.index(")")].split()
        text = bundle.find(f"{SVG}text")
        assert text is not None
        assert [tspan.text for tspan in text if tspan.text != "↱"] == axes
        wires = [path.get("class") for path in bundle.iter(f"{SVG}path")]
        assert len(wires) in (len(axes), 2 * len(axes))
    around = [bundle for bundle in bundles if len(list(bundle.iter(f"{SVG}path"))) == 6]
    assert len(around) == 1


def test_drawing_in_a_browser(drawn: Path) -> None:
    """Every wire of a name has the name's colour, and texts stay inside of the drawing."""
    script = """
    const svg = document.querySelector("svg"), box = svg.getBoundingClientRect();
    const outside = Array.from(svg.querySelectorAll("text")).filter((text) => {
      const r = text.getBoundingClientRect();
      return r.left < box.left || r.right > box.right || r.bottom > box.bottom;
    });
    const color = (element) => window.getComputedStyle(element).stroke;
    return [
      outside.length,
      new Set(Array.from(svg.querySelectorAll("path.d0"), color)).size,
      color(svg.querySelector("path.d0")) !== color(svg.querySelector("path.d1")),
      document.querySelectorAll(".tree .call").length,
      document.querySelector(".tree summary").innerText.includes("blocks.0 to 2 3 x Block"),
    ];
    """
    for width, height in ((1280, 800), (390, 844)):
        said = browser.run_in(drawn / "net.html", script, width, height)
        assert said == [0, 1, True, 6, True]
        assert browser.run_in(drawn / "net.html", browser.FITS, width, height)


MANY: Final = """\
from torch import Tensor, nn

from shapecheck import Float


class Long(nn.Module):
    def forward(
        self, x: Float[Tensor, "batch_size heads queries keys features channels height width time"]
    ) -> Tensor:
        return x.relu()
"""


def test_many_names_in_a_browser(project: Path) -> None:
    """Each name is in the legend, also at a phone's width; shapes stand beside their wires."""
    (project / "long.py").write_text(MANY)
    assert main(["trace", "long:Long", "--input", "1 2 3 4 5 6 7 8 9", "--html", "long.html"]) == 0
    script = """
    const box = (one) => one.getBoundingClientRect(), svg = document.querySelector("svg");
    const seen = box(document.querySelector(".drawing"));
    const shapes = Array.from(svg.querySelectorAll("text.shape"), box);
    const legend = Array.from(svg.querySelectorAll("text:not([class])"));
    const wires = Array.from(svg.querySelectorAll("g.t path"), box);
    return [
      legend.map((text) => text.textContent).join(" "),
      legend.filter((text) => box(text).right > seen.right).length,
      shapes.filter((text) => wires.some((wire) => wire.right > text.left && wire.left < text.left
        && wire.bottom > text.top && wire.top < text.bottom)).length,
      shapes.filter((text) => text.right > box(svg).right).length,
    ];
    """
    names = "batch_size heads queries keys features channels height width time no name"
    for width, height in ((1280, 800), (390, 844)):
        said = browser.run_in(project / "long.html", script, width, height)
        assert said == [names, 0, 0, 0]


def test_no_two_names_look_the_same(project: Path) -> None:
    """Where there are more names than colours, wires of the same colour have other dashes."""
    names = [f"axis{number}" for number in range(24)]
    text = MANY.replace("batch_size heads queries keys features channels height width time", "{}")
    for number, some in enumerate((names[:12], names[12:])):
        (project / f"part{number}.py").write_text(text.format(" ".join(some)))
    (project / "both.py").write_text(
        "from torch import nn\nimport part0, part1\n\n\nclass Both(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.one, self.two = part0.Long(), part1.Long()\n\n"
        "    def forward(self, x, y):\n        return self.one(x), self.two(y)\n"
    )
    sizes = " ".join(str(size) for size in range(1, 13))
    given = ["--input", sizes, "--input", sizes]
    assert main(["trace", "both:Both", *given, "--svg", "both.svg"]) == 0
    root = ElementTree.parse(project / "both.svg").getroot()
    legend = [text.text for text in root.iter(f"{SVG}text") if text.get("class") is None]
    looks = [path.get("class") for path in list(root.iter(f"{SVG}path"))[: len(legend)]]
    assert sorted(map(str, legend)) == sorted([*names, "no name"])
    assert len(set(looks)) == len(looks)
    style = next(root.iter(f"{SVG}style")).text
    assert all(f"path.{kind}{{stroke" in str(style) for look in looks for kind in str(look).split())


def test_drawing_without_names(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wires have the colours of the sizes; what takes nothing stands by what needs it."""
    monkeypatch.setenv("SHAPECHECK", "off")
    assert main(["trace", "net:Pairs", "--input", "2 3 8", "--svg", "net.svg"]) == 0
    root = ElementTree.parse(project / "net.svg").getroot()
    texts = [text for text in root.iter(f"{SVG}text") if text.get("class") is None]
    assert [text.text for text in texts] == ["2", "3", "4", "8", "other sizes"]
    of_size: dict[str, set[str]] = {}
    for bundle in root.iter(f"{SVG}tspan"):
        of_size.setdefault(str(bundle.text), set()).add(str(bundle.get("class")))
    assert all(len(colors) == 1 for colors in of_size.values())
    names = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "name"]
    assert names[0] == "input"
    assert names[names.index("arange") + 1] == "add"


POSITIONS: Final = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(8, 4), nn.Embedding(8, 4)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1])
        positions.add_(1)
        places = self.place(positions[None])
        never = torch.zeros(2).add_(1)
        return self.token(tokens) + places, never
"""


def test_what_comes_of_no_input(project: Path) -> None:
    """It stands together, in order, by what needs it; what nothing needs isn't left out."""
    (project / "net.py").write_text(POSITIONS)
    assert main(["trace", "net:Net", "--input", "Int 2 3", "--svg", "net.svg"]) == 0
    root = ElementTree.parse(project / "net.svg").getroot()
    texts = [text for text in root.iter(f"{SVG}text") if text.get("class") in ("name", "below")]
    names = [text.text for text in texts if text.get("class") == "name"]
    assert names == [
        *("input", "token Embedding", "arange", "add", "getitem", "place Embedding", "add"),
        *("zeros", "add", "output"),
    ]
    # A module whose whole path is its name has it only once.
    assert "32 parameters · 96 B" in [text.text for text in texts]


def test_page_stands_alone(drawn: Path) -> None:
    """It refers to nothing but the name of SVG."""
    text = (drawn / "net.html").read_text("utf-8")
    assert re.findall(r"https?://[^\"' ]+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"(?:src|href)=", text)


UNANNOTATED: Final = """\
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(self.d, dim=2)
        return (q @ k.transpose(1, 2)).softmax(-1) @ v


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.attention = Attention(8)
        self.head = nn.Linear(8, 10, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids, *, mask=None):
        b, t = ids.shape
        x = self.embed(ids)
        x = self.attention(x) + self.attention(x)
        return {"logits": self.head(x if mask is None else x * mask[:, :, None])}


class Misleading(nn.Module):
    def forward(self, x):
        x: "b t"
        b, t = x.shape
        if torch.is_grad_enabled():
            return x.view(b, t, 1)
        return x.t()[:t]


def compiled():
    return torch.compile(Attention(8))


def scripted():
    return torch.jit.script(nn.Linear(2, 2))
"""


def test_names_of_code_without_annotations(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are what the code calls the sizes; weights that are shared count once."""
    (project / "plain.py").write_text(UNANNOTATED)
    assert main(["trace", "plain:Model", "--input", "Int 2 5", "--input", "mask: 2 5"]) == 0
    said = capsys.readouterr().out
    for call in (
        r"embed Embedding +\(B=2 T=5 d=8\)",
        r"softmax +\(B=2 T=5 T=5\)",
        r"head Linear +\(B=2 T=5 10\)",
    ):
        assert re.search(call, said), said
    assert said.splitlines()[-1].partition("; ")[2].startswith("296 parameters take 1.2 KiB")


ALIASES: Final = """\
from einops import rearrange
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(d), nn.Linear(d, 3 * d)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (rearrange(y, "b n (h d) -> b h n d", h=2) for y in (q, k, v))
        return rearrange((q @ k.transpose(-1, -2)).softmax(-1) @ v, "b h n d -> b n (h d)")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Attention(8) for _ in range(2))

    def forward(self, x):
        batch, seq, dim = x.shape
        for layer in self.layers:
            x = layer(x) + x
        return x.reshape(batch, seq * dim)
"""


def test_one_dimension_has_one_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What two functions call `b` and `batch` is one dimension, as the tensors go through both."""
    (project / "alias.py").write_text(ALIASES)
    assert main(["trace", "alias:Model", "--input", "2 5 8"]) == 0
    said = capsys.readouterr().out
    assert "(b=2 n=5 d=8)" in said
    assert not re.search(r"batch=|seq=", said), said


BESIDE: Final = """\
from torch import Tensor, nn

from shapecheck import Float, shapecheck


@shapecheck
def scores(
    q: Float[Tensor, "b query d"], k: Float[Tensor, "b key d"]
) -> Float[Tensor, "b query key"]:
    return q @ k.mT


class Model(nn.Module):
    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        return scores(x.tanh(), x.tanh()) @ x
"""


def test_names_of_two_axes_stay_apart(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scores are of queries and keys, though both are made from the same positions."""
    (project / "beside.py").write_text(BESIDE)
    assert main(["trace", "beside:Model", "--input", "2 5 8"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"├─ mT +\(b=2 d=8 key=5\) ", said), said
    assert re.search(r"└─ matmul +\(b=2 t=5 d=8\) ", said), said


def test_a_model_of_torchs_own_has_no_lines(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What runs the command is no line of the model's."""
    given = "torch.nn:Linear(2, 3)", "torch.nn:Sequential(Linear(2, 3), ReLU())"
    for target in given:
        assert main(["trace", target, "--input", "4 2"]) == 0
        assert ":" not in capsys.readouterr().out.partition(";")[0]


def test_what_is_guessed_is_no_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what somebody wrote down can be contradicted."""
    (project / "plain.py").write_text(UNANNOTATED)
    assert main(["trace", "plain:Misleading", "--input", "2 5"]) == 0
    assert capsys.readouterr().err == ""


def test_what_is_compiled(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is traced as the module that it was made from; TorchScript has none."""
    (project / "plain.py").write_text(UNANNOTATED)
    assert main(["trace", "plain:compiled", "--input", "2 5 8"]) == 0
    assert "softmax" in capsys.readouterr().out
    assert main(["trace", "plain:scripted", "--input", "2 2"]) == 2
    assert capsys.readouterr().err == (
        "shapecheck trace: error: scripted gives TorchScript, whose ops can't be seen; trace what "
        "it was made from\n"
    )
