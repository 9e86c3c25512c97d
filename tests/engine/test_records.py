"""What is said of a module is read again as it was written, and moves with its lines."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapecheck.analysis import (
    CAUSES,
    UNBOUND,
    Asked,
    Cause,
    Coverage,
    Diagnostic,
    Findings,
    Led,
    Pace,
    Span,
)
from shapecheck.blame import Blame
from shapecheck.engine import ModuleRecord, digest
from shapecheck.engine.packing import packed, unpacked
from shapecheck.engine.records import Grounds, PartRecord, Readings, numbers, unzipped
from shapecheck.engine.versions import content_of

BEYOND = 1_000_000
"""The last line that there may be."""

lines = st.integers(0, BEYOND)
words = st.sampled_from(["", "x", 'a "b"', "é\n", "λ"])
spans = st.builds(Span, lines, lines, lines, lines)
blames = st.builds(
    Blame,
    st.sampled_from(["operation", "broadcast", "unfit", "equal", "number"]),
    st.sampled_from([None, "parameter", "result", "yielded", "field", "local"]),
    words,
    words,
    st.lists(lines, max_size=2).map(tuple),
    st.lists(words, max_size=2).map(tuple),
    st.booleans(),
)
severities = st.sampled_from(["error", "warning", "note"])
diagnostics = st.builds(
    Diagnostic, spans, words, severities, st.sampled_from(["shape", "rank"]), st.none() | blames
)
groups = st.lists(diagnostics, min_size=1, max_size=2).map(tuple)
led = st.builds(Led, st.none() | spans, st.none() | st.tuples(lines, lines), words, groups)
findings = st.builds(
    Findings, st.lists(groups, max_size=2).map(tuple), st.lists(led, max_size=2).map(tuple)
)
causes = st.builds(Cause, st.sampled_from(CAUSES), words)
coverages = st.builds(
    Coverage, lines, lines, lines, st.dictionaries(causes, lines, max_size=2), st.none() | causes
)
parts = st.builds(
    PartRecord,
    words,
    lines,
    words,
    *[st.lists(st.integers(0, 1), max_size=2).map(numbers)] * 2,
    findings,
    st.none() | coverages,
    lines,
    st.booleans(),
    lines | st.just(UNBOUND),
)
READ = frozenset((("one", "body f"),))
PACE = Pace(8, 16, 7, 9)
LAST = Asked("call g", "5", PACE, frozenset((("two", "head g"),)), (), room=30)
FIRST = Asked("call f", "6", None, READ, (LAST,), more=8)
records = st.builds(
    ModuleRecord,
    st.just("one"),
    st.sampled_from([{"one": "1"}, {"one": "1", "two": None}]),
    st.lists(diagnostics, max_size=2).map(tuple),
    st.builds(
        Grounds,
        st.just((("one", "body f"), ("two", "head g"))),
        st.just(("d", "e")),
        st.just((LAST, FIRST)),
        st.lists(parts, max_size=2).map(tuple),
    ),
    covered=st.none() | coverages,
)


@given(records)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read(record: ModuleRecord) -> None:
    """All of it, twice over."""
    for found in (
        unpacked("one", packed(record)),
        unpacked("one", packed(unpacked("one", packed(record)))),
    ):
        assert (found.module, found.versions, found.said) == ("one", record.versions, record.said)
        assert (found.text, found.covered) == (record.text, record.covered)
        assert found.grounds is not None
        assert record.grounds is not None
        assert found.grounds.parts == record.grounds.parts
        assert found.has_parts is record.has_parts is bool(record.grounds and record.grounds.parts)
        assert found.digest == record.digest


@given(parts, st.integers(-5, 5))
@settings(max_examples=60, deadline=None)
def test_what_is_said_moves(part: PartRecord, by: int) -> None:
    """Every line by as many, and nothing else."""
    moved = part.moved(part.line + by)
    assert moved.moved(part.line) == part
    before, after = (one.findings for one in (part, moved))
    assert [one.span.line for one in after.said] == [one.span.line + by for one in before.said]
    whole = [one.whole and (one.whole[0] + by, one.whole[1] + by) for one in before.led]
    assert [one.whole for one in after.led] == whole
    ends = [one.span and one.span.end_line + by for one in before.led]
    assert [one.span and one.span.end_line for one in after.led] == ends
    assert dataclasses.replace(moved, line=part.line, findings=before) == part


WRONG = Diagnostic(Span(3, 4, 5, 6), "wrong", "error", "rank", Blame("equal", "result", "f", "x"))
NOTE = Diagnostic(Span(3, 4, 3, 6), "see here", "note")
PART = PartRecord(
    "f",
    3,
    "spelled",
    numbers([0]),
    numbers([1]),
    Findings(((WRONG, NOTE),), (Led(Span(7, 0, 7, 9), (6, 8), "k", (NOTE,)),)),
    Coverage(2, 1, 0, {Cause("data", "x"): 1}, Cause("function", "g")),
    12,
    True,
    30,
)
RECORD = ModuleRecord(
    "one",
    {"one": "1", "two": None},
    (WRONG, NOTE),
    Grounds((("one", "body f"), ("two", "head g")), ("d", "e"), (LAST, FIRST), (PART,)),
    covered=Coverage(1, 0, 0),
)
SAID = [
    [3, 4, 5, 6, "wrong", "error", "rank", ["equal", "result", "f", "x", [], [], False]],
    [3, 4, 3, 6, "see here", "note", "shape", None],
]


def test_how_it_is_written() -> None:
    """The same for all versions that share a place."""
    counted = [2, 1, 0, [["data", "x", 1]], ["function", "g"]]
    found = [[SAID], [[[7, 0, 7, 9], [6, 8], "k", SAID[1:]]]]
    part = ["f", 3, "spelled", [0], [1], found, counted, 12, True, 30]
    asked = [
        ["call g", "5", [8, 16, 7, 9], [1], [], 30, 0],
        ["call f", "6", None, [0], [0], None, 8],
    ]
    readings = [["one", "body f", "d"], ["two", "head g", "e"]]
    assert [*map(json.loads, RECORD.text.split("\n"))] == [readings, [asked, [part]]]
    assert unzipped(RECORD.zipped) == RECORD.text
    assert json.loads(RECORD.said_text) == SAID
    assert json.loads(RECORD.covered_text) == [1, 0, 0, [], None]
    assert RECORD.digest == "3a6f7fb379c9c8849771a8e1"
    assert digest(b"x") == "442a44457137672b3218c1007dc8f76a"
    assert packed(RECORD).partition(b"\n")[0].decode() == digest(packed(RECORD).partition(b"\n")[2])


@given(records)
@settings(max_examples=60, deadline=None)
def test_what_is_kept_zipped_is_the_same(record: ModuleRecord) -> None:
    before, text, readings = record.grounds, record.text, record.readings
    record.keep_zipped()
    assert (record.text, record.readings) == (text, readings)
    assert record.grounds is not before
    assert record.grounds is not None
    assert before is not None
    assert record.grounds.parts == before.parts


def test_a_version_says_the_content_first() -> None:
    assert content_of("12ab a path/with spaces.py") == "12ab"
    assert content_of("12ab") == "12ab"
    assert content_of(None) is None


@pytest.mark.parametrize(("number", "is_read"), [(0, True), (BEYOND, True), (BEYOND + 1, False)])
def test_the_last_line(number: int, is_read: bool) -> None:
    """Beyond it nothing is a record."""
    said = (dataclasses.replace(WRONG, span=Span(0, 0, number, 0)),)
    content = packed(ModuleRecord("one", {"one": "1"}, said, Grounds()))
    if is_read:
        assert unpacked("one", content).said == said
    else:
        with pytest.raises(ValueError, match="no line and no column"):
            unpacked("one", content)


def test_a_record_of_nothing() -> None:
    """Its grounds are empty, or can't be read."""
    empty = ModuleRecord("one", {}, ())
    assert (empty.grounds, empty.has_parts, empty.covered_text) == (None, False, "null")
    assert (empty.text, empty.said_text) == ("[]\n[[], []]", "[]")
    unreadable = ModuleRecord("one", {}, (), text="[1]")
    assert unreadable.text == "[1]"
    assert unreadable.grounds is None
    assert unreadable.text == "[]\n[[], []]"
    unreadable = ModuleRecord("one", {}, (), zipped=b"no zip")
    assert unreadable.grounds is None
    assert unreadable.text == "[]\n[[], []]"
    assert not ModuleRecord("one", {}, (), Grounds((("a", "b"),), ("c",))).has_parts


def test_what_is_seen_with_other_versions() -> None:
    """All else stays, read or not."""
    for record in (RECORD, unpacked("one", packed(RECORD))):
        seen = record.seen_with({"one": "2"})
        assert (seen.module, seen.versions, seen.said) == ("one", {"one": "2"}, record.said)
        assert (seen.text, seen.covered) == (RECORD.text, RECORD.covered)


PLAIN = ["f", 3, "", [], [], None, None, 0, False, None]
READING = ["one", "k", "d"]


def part(at: int, value: Any) -> list[Any]:
    """Return what is kept of a part, with something else in one place."""
    return [*PLAIN[:at], value, *PLAIN[at + 1 :]]


def nest(count: int) -> list[Any]:
    """Return questions of which each asks the one before."""
    return [["q", "a", None, [], [at - 1] if at else [], None, 0] for at in range(count)]


SHORT: list[tuple[str, Any, bool]] = [
    ("nothing rests", [[], [], [PLAIN]], True),
    ("as many readings", [[READING], [], [part(3, [0])]], True),
    ("one more than readings", [[READING], [], [part(3, [1])]], False),
    ("a question", [[READING], [["q", "a", None, [0], [], None, 0]], [part(4, [0])]], True),
    (
        "one more than questions",
        [[], [["q", "a", None, [], [], None, 0]], [part(4, [1])]],
        False,
    ),
    ("a question about no reading", [[], [["q", "a", None, [0], [], None, 0]], [PLAIN]], False),
    ("a question in itself", [[], [["q", "a", None, [], [0], None, 0]], [PLAIN]], False),
    (
        "a reading that is before all",
        [[READING], [["q", "a", None, [-1], [], None, 0]], []],
        False,
    ),
    ("as many in each other as may be", [[], nest(256), []], True),
    ("one more in each other", [[], nest(257), []], False),
    ("steps that are none", [[], [["q", "a", [-1, 1, 1, 1], [], [], None, 0]], []], False),
    ("an empty group", [[], [], [part(5, [[[]], []])]], False),
    ("a group that is led to", [[], [], [part(5, [[], [[None, None, "k", []]]])]], False),
]


@pytest.mark.parametrize(
    ("parts", "is_read"), [one[1:] for one in SHORT], ids=[one[0] for one in SHORT]
)
def test_what_may_rest_on_what(parts: Any, is_read: bool) -> None:
    readings, *others = parts
    record = ModuleRecord("one", {}, (), text=f"{json.dumps(readings)}\n{json.dumps(others)}")
    assert (record.grounds is not None) is is_read


def test_what_was_read_is_read_without_the_rest() -> None:
    found = unpacked("one", packed(RECORD)).readings
    assert found == RECORD.readings == Readings((("one", "body f"), ("two", "head g")), ("d", "e"))
    assert ModuleRecord("one", {}, (), text='[["one", "k", "d"]]\n[').readings is not None
    for unreadable in ('[["one", "k"]]\n[[], []]', "", "1"):
        assert ModuleRecord("one", {}, (), text=unreadable).readings is None
    assert ModuleRecord("one", {}, (), zipped=b"no zip").readings is None
