"""What docs/developers/ says of the tree is so: paths, rooms, functions, words, sections."""

from __future__ import annotations

import re
from typing import Final

import pytest
import test_layers
from repository import ROOT

PAGES: Final = ROOT / "docs" / "developers"
PATH: Final = re.compile(r"(?:shapecheck|stubs|tests|docs|benchmarks)/[\w./-]*")
PLACED: Final = re.compile(r"`(\w+)`\s+\(`([\w/.]+\.py)`\)")
IN_TABLE: Final = ("analysis", "runtime", "ops", "codemod")
WITHOUT_LINES: Final = {"__init__", "__main__"}  # modules that no picture needs


@pytest.mark.parametrize("name", ["architecture.md", "glossary.md", "adding_an_op.md"])
def test_paths_exist(name: str) -> None:
    """Each path of the tree that a page names is there, but those of its own example."""
    text = (PAGES / name).read_text("utf-8")
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    paths = [span for span in spans if PATH.fullmatch(span)]
    assert paths
    assert not [path for path in paths if not (ROOT / path).exists() and path not in examples(text)]


def examples(text: str) -> set[str]:
    """Return the paths that a page's own blocks make."""
    return set(re.findall(r"```\w+\n# (\S+)\n", text))


def test_functions_are_where_the_walk_has_them() -> None:
    """Each function or class that the walk passes is defined in the file named behind it."""
    placed = PLACED.findall(read("architecture.md"))
    assert len(placed) > 25
    for name, path in placed:
        assert re.search(
            rf"^\s*(def|class) {name}\b", (ROOT / path).read_text("utf-8"), re.MULTILINE
        ), f"{path} has no {name}"


def test_words_live_in_their_files() -> None:
    """The words are in order; each has a file, in which the names of its entry occur."""
    entries = re.findall(
        r"^- \*\*(.+?)\*\*: (.+?)(?=^- |\Z)", read("glossary.md"), re.MULTILINE | re.DOTALL
    )
    words = [word for word, _ in entries]
    assert len(words) > 40
    assert words == sorted(words)
    for word, meaning in entries:
        spans = re.findall(r"`([^`]+)`", meaning)
        files = [span for span in spans if span.startswith("shapecheck/")]
        assert files, f"{word} lives in no file"
        text = "\n".join((ROOT / file).read_text("utf-8") for file in files)
        names = [span for span in spans if re.fullmatch(r"_?[A-Z]\w+", span)]
        assert not [name for name in names if not re.search(rf"\b{name}\b", text)], word


def test_every_package_is_in_the_picture() -> None:
    """Each module of a layer stands on the line of its layer."""
    lines = blocks(read("architecture.md"))[0]
    for name, layer in test_layers.LAYERS.items():
        modules = layer.modules - WITHOUT_LINES
        if modules:
            (line,) = [line for line in lines if line.startswith(f"{name} ")]
            assert modules <= set(line.split()), name


@pytest.mark.parametrize("package", test_layers.ROOMS)
def test_rooms_are_those_of_the_layers(package: str) -> None:
    """Each room is there, on the same level as in `test_layers`; folders are in the table too."""
    text = read("architecture.md")
    (line,) = [line for line in blocks(text)[1] if line.startswith(f"{package} ")]
    assert line.removeprefix(package).strip() == " <- ".join(test_layers.ROOMS[package])
    for room in test_layers.LEVEL_OF[package]:
        folder = f"shapecheck/{package}/{room}/"
        if package in IN_TABLE and (ROOT / folder).is_dir():
            assert f"`{folder}`" in text


def test_each_decision_is_in_the_index_once() -> None:
    """The index of decisions.md links to each section by its title, in one place."""
    text = read("decisions.md")
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    links = re.findall(r"^- \[(.+)\]\(#(.+)\)$", text, re.MULTILINE)
    assert sorted(title for title, _ in links) == sorted(titles)
    assert [to for _, to in links] == [anchor(title) for title, _ in links]


def test_decisions_that_code_names_are_there() -> None:
    """What a comment or a docstring calls a section of decisions.md is the title of one."""
    titles = set(re.findall(r"^## (.+)$", read("decisions.md"), re.MULTILINE))
    named: set[str] = set()
    for file in (ROOT / "shapecheck").rglob("*.py"):
        text = re.sub(r"\n\s*(?:# )?", " ", file.read_text("utf-8"))
        named.update(re.findall(r'decisions\.md, "([^"]+)"', text))
    assert len(named) > 10
    assert named <= titles


def anchor(title: str) -> str:
    """Return what a page calls the place of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def test_links_within_the_pages_lead_somewhere() -> None:
    """What a page links to in itself is one of its headings."""
    for page in PAGES.glob("*.md"):
        text = page.read_text("utf-8")
        places = {anchor(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
        assert set(re.findall(r"\]\(#(.+?)\)", text)) <= places, page.name


def read(name: str) -> str:
    """Return the text of a page."""
    return (PAGES / name).read_text("utf-8")


def blocks(text: str) -> list[list[str]]:
    """Return the lines of each fenced block."""
    return [
        found.splitlines()
        for found in re.findall(r"^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ]
