"""A record as one object, for a place where others may have put anything, or half of it."""

from __future__ import annotations

import json
import re
import zlib
from typing import Final

from shapecheck.engine.records import (
    ModuleRecord,
    covered_from_text,
    said_from_text,
    unzipped,
    versions_from_text,
    versions_to_text,
)
from shapecheck.engine.versions import digest

_SURROGATE: Final = re.compile(r"\\u[dD]")


def packed(record: ModuleRecord) -> bytes:
    """Write down a record, behind a digest of it."""
    texts = [versions_to_text(record.versions), record.said_text, record.covered_text, record.text]
    content = zlib.compress(json.dumps([record.module, *texts]).encode(), 1)
    return digest(content).encode() + b"\n" + content


def unpacked(module: str, packed: bytes) -> ModuleRecord:
    """Read the record of a module; raises ValueError where it isn't all as it should be."""
    seal, _, content = packed.partition(b"\n")
    if seal != digest(content).encode():
        raise ValueError("damaged")
    try:
        name, versions, said, covered, parts = json.loads(unzipped(content))
    except (RecursionError, TypeError) as error:
        raise ValueError(f"not a record: {error}") from error
    texts = (versions, said, covered, parts)
    if name != module or not all(isinstance(one, str) for one in texts):
        raise ValueError("not this record")
    for text in texts:
        _refuse_what_is_no_text(text)
    record = ModuleRecord(
        module,
        versions_from_text(versions),
        said_from_text(said),
        text=str(parts),
        covered=covered_from_text(covered),
    )
    if record.grounds is None or record.module not in record.versions:
        raise ValueError("nothing that it rests on")
    return record


def _refuse_what_is_no_text(text: str) -> None:
    """Raise ValueError for JSON with a text in it that can't be written anywhere."""
    text.encode()
    if _SURROGATE.search(text) is not None:
        try:
            json.dumps(json.loads(text), ensure_ascii=False).encode()
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
