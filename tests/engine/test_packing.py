"""What is damaged, forged or of another text is found out again, whatever it looks like."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from shapecheck.analysis import Cause, Coverage, Options
from shapecheck.engine import Engine, digest
from shapecheck.engine.packing import packed, unpacked
from tests.engine.conftest import Clone, Team, objects
from tests.engine.test_engine import TEXTS


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"not a record",
        lambda content: b"\xff" * 100,
    ],
)
def test_a_damaged_object_is_found_out_again(team: Team, damage: Callable[[bytes], bytes]) -> None:
    """With one note; it is put right for the next."""
    team.analysed("one")
    for path in objects(team):
        path.write_bytes(damage(path.read_bytes()))
    assert team.analysed("one") == 13
    (note,) = team.notes
    assert note.endswith("has something in it that can't be read, and that is found out again")
    assert team.analysed("one") == 0


def _forged(texts: object) -> bytes:
    content = zlib.compress(json.dumps(texts).encode())
    return digest(content).encode() + b"\n" + content


def _texts(content: bytes) -> list[str]:
    found: list[str] = json.loads(zlib.decompress(content.partition(b"\n")[2]))
    return found


WHOLE = json.dumps({"layers": "text"})
SAID = '[[1, 0, 1, 4, "wrong", "error", "shape", null]]'
COVERED = '[2, 1, 0, [["data", "x.nonzero()", 1]], ["function", "f"]]'
PART = '["f", 1, "", [0], [], null, [2, 1, 0, [], ["open", "x"]], 7, false, 30]'
PARTS = f'[["layers", "body f", "x"]]\n[[], [{PART}]]'
DEEP = "[" * 100_000 + "]" * 100_000


def test_what_a_record_looks_like() -> None:
    """So that each of those below is one step away from one."""
    found = unpacked("layers", _forged(["layers", WHOLE, SAID, COVERED, PARTS]))
    assert [one.message for one in found.said] == ["wrong"]
    again = unpacked("layers", packed(found))
    assert (again.said, again.covered) == (found.said, found.covered)
    assert found.covered == Coverage(
        2, 1, 0, {Cause("data", "x.nonzero()"): 1}, Cause("function", "f")
    )


@pytest.mark.parametrize(
    "texts",
    [
        None,
        "text",
        [],
        {},
        ["model", WHOLE, SAID, COVERED, PARTS],
        ["layers", WHOLE, SAID, PARTS],
        ["layers", 1, SAID, COVERED, PARTS],
        ["layers", WHOLE, [1], COVERED, PARTS],
        *(
            ["layers", versions, SAID, COVERED, PARTS]
            for versions in (
                "",
                "[]",
                "{}",
                "3",
                DEEP,
                '{"model": "text"}',
                '{"layers": "\\ud800"}',
            )
        ),
        *(
            ["layers", WHOLE, SAID.replace(old, new), COVERED, PARTS]
            for old, new in [
                ("[[1,", "[[Infinity,"),
                ("[[1,", "[[NaN,"),
                ("[[1,", "[[-1,"),
                ("[[1,", "[[1e300,"),
                ("[[1,", "[[" + "9" * 30 + ","),
                ("[[1,", '[["1",'),
                ("[[1,", "[[1, 1,"),
                ('"wrong"', '"\\ud800"'),
                ('"wrong"', '"\\uDfFf"'),
                ('"wrong"', "[]"),
                ('"error"', '"fatal"'),
                ("null", '"blame"'),
                ("null", '["crime", null, "f", "x", []]'),
                ("null", '[[], null, "f", "x", []]'),
                ("null", '["unfit", {}, "f", "x", []]'),
                ("null", '["unfit", null, "f", "x", [Infinity]]'),
                ("null", DEEP),
                (SAID, DEEP),
                (SAID, "{"),
                (SAID, "1"),
            ]
        ),
        *(
            ["layers", WHOLE, SAID, COVERED.replace(old, new), PARTS]
            for old, new in [
                ("2", "-1"),
                ("2", "Infinity"),
                ("data", "weather"),
                ('"data"', "[]"),
                ("nonzero", "\\ud800"),
                (COVERED, DEEP),
                (COVERED, "1"),
                (COVERED, "[2, 1, 0]"),
            ]
        ),
        *(
            ["layers", WHOLE, SAID, COVERED, PARTS.replace(old, new)]
            for old, new in [
                ("[0]", "[1]"),
                ("[0]", "[-1]"),
                ("[0]", "[Infinity]"),
                ("[0]", "0"),
                ('"f", 1,', '"f", Infinity,'),
                ('"f", 1,', '"f", null,'),
                ("null", "[1]"),
                ("null", "[[[]], []]"),
                ("null", '[[], [[null, null, "k", []]]]'),
                ("null", '[[], [[null, [1, Infinity], "k", []]]]'),
                ("null", '[[], [[[1, 2, 3], null, "k", []]]]'),
                ("null", DEEP),
                ("7, false", "-7, false"),
                ("7, false", '"7", false'),
                (", 7, false", ""),
                ("body f", "\\ud800"),
                (PARTS, DEEP),
                (PARTS, ""),
                (PARTS, "null"),
            ]
        ),
    ],
)
def test_what_is_no_record(team: Team, texts: object) -> None:
    """It has a right digest, and is forged: it is never taken for one."""
    with pytest.raises(ValueError):  # noqa: PT011 - in whichever words
        unpacked("layers", _forged(texts))
    team.analysed("one")
    for path in objects(team):
        path.write_bytes(_forged(texts))
    assert team.analysed("one") == 13
    assert len(team.notes) == 1


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["model", WHOLE, SAID, COVERED, PARTS], "not this record"),
        (["layers", '{"model": "text"}', SAID, COVERED, PARTS], "nothing that it rests on"),
        (["layers", WHOLE, SAID, COVERED, ""], "nothing that it rests on"),
        (
            ["layers", WHOLE, SAID.replace('"wrong"', f'["\\ud800", {DEEP}]'), COVERED, PARTS],
            "nested too deeply",
        ),
        (["layers", WHOLE, SAID.replace('"error"', '"fatal"'), COVERED, PARTS], "not a diagnostic"),
        (["layers", WHOLE, SAID.replace("[[1,", "[[-1,"), COVERED, PARTS], "no line and no column"),
        (
            [
                "layers",
                WHOLE,
                SAID.replace("null", '["crime", 1, 1, 1, [], [], 0]'),
                COVERED,
                PARTS,
            ],
            "nothing to blame",
        ),
        (["layers", WHOLE, SAID, COVERED.replace("data", "weather"), PARTS], "no cause"),
    ],
)
def test_why_it_is_no_record(texts: object, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        unpacked("layers", _forged(texts))


def test_how_large_a_record_may_be() -> None:
    """Larger than any that there is: what is much smaller when it is packed isn't unpacked."""
    for size, is_record in ((1 << 20, True), (64 << 20, False)):
        texts = ["layers", WHOLE, SAID, COVERED, PARTS + " " * size]
        try:
            unpacked("layers", _forged(texts))
        except ValueError:
            assert not is_record
        else:
            assert is_record


def test_a_record_of_another_text(team: Team) -> None:
    """An object in the place of another one isn't taken."""
    team.analysed("one")
    for path in objects(team):
        name, versions, *rest = _texts(path.read_bytes())
        other = json.dumps({**json.loads(versions), name: "of another text"})
        path.write_bytes(_forged([name, other, *rest]))
    assert team.analysed("one") == 13
    assert len(team.notes) == 1


def _lie(team: Team, at: int, lie: Callable[[Any], None]) -> None:
    """Change what is said, or what that rests on, in all records of a place."""
    team.analysed("one")
    for path in objects(team):
        texts = _texts(path.read_bytes())
        first, *others = texts[at].split("\n")
        value = json.loads(first)
        lie(value)
        texts[at] = "\n".join([json.dumps(value), *others])
        path.write_bytes(_forged(texts))


def _beyond_the_file(said: Any) -> None:
    for one in said:
        one[0] = one[2] = 10_000


def _of_a_line_that_is_none(said: Any) -> None:
    for one in said:
        one[0] = 10_000


def _nonsense(readings: Any) -> None:
    for reading in readings:
        reading[1] = "nonsense f"


def _empty(readings: Any) -> None:
    for reading in readings:
        reading[1] = ""


@pytest.mark.parametrize("lie", [_beyond_the_file, _of_a_line_that_is_none])
def test_lines_that_there_are_not(team: Team, lie: Callable[[Any], None]) -> None:
    """A record of another text than its own is found out again."""
    _lie(team, 2, lie)
    assert team.analysed("one") > 0


@pytest.mark.parametrize("lie", [_nonsense, _empty])
def test_readings_that_there_are_not(team: Team, lie: Callable[[Any], None]) -> None:
    """They are looked at where a module that was read has changed."""
    _lie(team, 4, lie)
    texts = {**TEXTS, "layers": TEXTS["layers"] + "\nMORE = 1\n"}
    engine = Engine(Clone(texts, "one"), Options(), team.store("one"))
    assert engine.check("model") == Engine(Clone(texts, "one"), Options()).check("model")


def test_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What grows without an end when it is read is no record."""
    monkeypatch.setattr("shapecheck.engine.records._MOST_BYTES", 1000)
    with pytest.raises(ValueError):  # noqa: PT011
        unpacked("layers", _forged(["layers", WHOLE, SAID, COVERED, PARTS + " " * 10_000]))


def test_a_digest_that_is_not_of_it() -> None:
    """Where all else is as it should be."""
    whole = packed(unpacked("layers", _forged(["layers", WHOLE, SAID, COVERED, PARTS])))
    seal, _, content = whole.partition(b"\n")
    assert seal == digest(content).encode()
    for other in (b"", seal[::-1], seal + b"0"):
        with pytest.raises(ValueError, match="damaged"):
            unpacked("layers", other + b"\n" + content)
