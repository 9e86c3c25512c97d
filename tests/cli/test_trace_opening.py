"""The drawing on a trace's page: its modules open and close, by mouse and keyboard."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from cli import browser

from shapecheck.cli import main

MODEL: Final = """\
from torch import Tensor, nn

from shapecheck import Float


class Mix(nn.Module):
    def forward(self, x: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        return x.relu() * x.sigmoid()


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.mix = nn.Linear(8, 8), Mix()

    def forward(self, x: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        return x + self.mix(self.up(x))


class Net(nn.Module):
    def __init__(self, layers: int = 12, width: int = 8) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.head = nn.Linear(8, width)

    def forward(self, x: Float[Tensor, "b d"]) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def wrong():
    net = Net()
    net.blocks[11].mix = nn.Sequential(nn.ReLU(), nn.Linear(4, 8))
    return net


class Many(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Net(layers) for layers in range(1, 11))
        self.last = Net(2)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return self.last(x)
"""
LOOK: Final = """
const shown = (one) => one.getClientRects().length > 0;
const names = () => Array.from(document.querySelectorAll(".drawing .name"))
  .filter(shown).map((one) => one.textContent).join(", ");
const folds = () => Array.from(document.querySelectorAll("g.fold")).filter(shown);
const press = (one, key) => one.dispatchEvent(
  new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const click = (one) => one.dispatchEvent(new window.MouseEvent("click", { bubbles: true }));
const box = (one) => one.getBoundingClientRect();
"""
CLOSED: Final = "input, blocks.0 to 11 12 x Block, head Linear, output"
BLOCK: Final = (
    "input, blocks.0 to 11 12 x Block, head Linear, output, input, up Linear, mix Mix, add, output"
)
ALL: Final = f"{BLOCK}, input, relu, sigmoid, mul, output"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a model in it, the current one; what is imported from it is forgotten."""
    (tmp_path / "deep.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("deep", None)


def page(project: Path, *arguments: str, target: str = "deep:Net", code: int = 0) -> Path:
    given = ["trace", target, "--input", "b=2 8", "--html", "net.html", *arguments]
    assert main(given) == code
    return project / "net.html"


def look(path: Path, script: str, *size: int) -> Any:
    return browser.run_in(path, LOOK + script, *size)


def test_modules_open_and_close_by_mouse_and_keyboard(project: Path) -> None:
    """One of several alike stands for all; what was open in a module is so when it opens again."""
    script = """
    const seen = [names()];
    click(folds()[0].querySelector("rect")); seen.push(names());
    press(folds()[0], "Enter"); seen.push(names());
    press(folds()[1], " "); seen.push(names());
    press(folds()[0], "x");
    seen.push(folds().map((one) => one.getAttribute("aria-expanded")).join());
    click(document.getElementById("close")); seen.push(names());
    click(document.getElementById("open")); seen.push(names());
    seen.push(folds().every((one) => one.tabIndex === 0 && one.getAttribute("role") === "button"));
    return seen;
    """
    said = look(page(project), script)
    assert said == [ALL, CLOSED, ALL, BLOCK, "true,false", CLOSED, ALL, True]


@pytest.mark.parametrize(("depth", "names"), [("0", CLOSED), ("1", BLOCK), ("2", ALL)])
def test_the_depth_says_what_is_open_at_first(project: Path, depth: str, names: str) -> None:
    """All can be opened nevertheless."""
    script = (
        "const first = names(); click(document.getElementById('open')); return [first, names()]"
    )
    assert look(page(project, "--depth", depth), script) == [names, ALL]


def test_what_is_open_has_room(project: Path) -> None:
    """No chip lies on another, and the wires around a module go around what is in it, too."""
    script = """
    const result = [];
    for (const id of ["open", "close"]) {
      click(document.getElementById(id));
      const chips = Array.from(document.querySelectorAll(".chip")).filter(shown).map(box);
      const inner = Array.from(document.querySelectorAll(".inner .box")).filter(shown).map(box);
      const meet = (a, b) => a !== b && a.top < b.bottom && b.top < a.bottom
        && a.left < b.right && b.left < a.right;
      const svg = box(document.querySelector(".drawing > svg"));
      result.push(chips.filter((a) => chips.some((b) => meet(a, b))).length);
      result.push(chips.filter((a) => a.bottom > svg.bottom || a.right > svg.right).length);
      const through = Array.from(document.querySelectorAll("g.t path")).filter(shown).map(box)
        .filter((l) => inner.some((b) =>
          l.top < b.top && l.bottom > b.bottom && l.right < b.right));
      result.push(through.length);
    }
    return result;
    """
    for size in ((1280, 800), (390, 844)):
        assert look(page(project), script, *size) == [0] * 6
        assert browser.run_in(project / "net.html", browser.FITS, *size)


def test_what_fails_is_seen_at_first(project: Path) -> None:
    """However deep it lies."""
    path = page(project, "--depth", "0", target="deep:wrong", code=1)
    script = "return [names(), document.querySelectorAll('.chip.failed').length];"
    names, failed = look(path, script)
    assert names.endswith("input, 0 ReLU, 1 Linear fails")
    assert failed == 1


def test_a_large_model_opens_at_once(project: Path) -> None:
    """All of its modules too: 11 stacks of blocks, with 300 ops."""
    path = page(project, target="deep:Many")
    script = """
    const start = window.performance.now();
    click(document.getElementById("open")); box(document.querySelector(".drawing > svg"));
    return [folds().length, window.performance.now() - start];
    """
    start = time.monotonic()
    folds, milliseconds = look(path, script)
    assert folds > 30
    assert milliseconds < 2000
    assert time.monotonic() - start < 30


def test_the_page_runs_its_own_script_alone(project: Path) -> None:
    """By its hash, and asks for nothing."""
    text = page(project).read_text("utf-8")
    assert text.count("<script>") == 1
    assert "script-src 'sha256-" in text
    assert "default-src 'none'" in text
    assert " onclick=" not in text
