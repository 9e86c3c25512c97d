"""The picture in README shows what the tool says."""

from __future__ import annotations

import runpy
from xml.etree import ElementTree

from repository import ROOT

drawing = runpy.run_path(str(ROOT / "benchmarks" / "readme_picture.py"))
PICTURE = ROOT / "docs" / "pictures" / "check.svg"


def test_the_picture_is_what_is_said_today() -> None:
    """`make picture` draws it anew."""
    assert drawing["drawn"]() == PICTURE.read_text("utf-8")


def test_it_stands_alone_and_no_line_leaves_it() -> None:
    """An image in a page loads nothing; a line has as many columns as fit."""
    text = PICTURE.read_text("utf-8")
    root = ElementTree.fromstring(text)
    lines = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "return x - mean" in lines[5]
    assert max(map(len, lines)) <= 66
    assert text.count("http") == 1  # the name of the format
    assert "url(" not in text


def test_readme_shows_it_and_says_what_is_on_it() -> None:
    """To those who don't see it, too."""
    readme = (ROOT / "README.md").read_text("utf-8")
    (line,) = [line for line in readme.splitlines() if line.startswith("![")]
    assert line.endswith("](docs/pictures/check.svg)")
    assert "(batch time d)" in line
