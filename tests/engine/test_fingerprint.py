"""What tells the records of one analysis from those of another."""

from pathlib import Path

from shapecheck.analysis import Options
from shapecheck.engine.store import fingerprint


def test_what_is_compiled_of_a_source_has_no_say(tmp_path: Path) -> None:
    """The sources alone have: compiled, they say the same."""
    source = tmp_path / "library.pyi"
    source.write_text("def f(x: 'a') -> 'a': ...\n")
    options = Options(stubs=(str(tmp_path),))
    before = fingerprint(options)
    (tmp_path / "library.cpython-311-x86_64-linux-gnu.so").write_bytes(b"machine code")
    assert fingerprint(options) == before
    source.write_text("def f(x: 'a b') -> 'a': ...\n")
    assert fingerprint(options) != before
