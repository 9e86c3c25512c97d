"""Prints what the changelog tells of a release, or says why the release can't be made of it.

    python release/changelog.py v0.2.0

The tag has to be the version of the package, and `CHANGELOG.md` a section of that version with a
date and an entry, above the sections of earlier versions, and nothing left that is unreleased.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
_SECTION: Final = re.compile(r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>.*))?$", re.MULTILINE)
_DATE: Final = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_ENTRY: Final = re.compile(r"^- \S", re.MULTILINE)
_VERSION: Final = re.compile(r'^__version__ = "(?P<version>[^"]+)"$', re.MULTILINE)


class ChangelogError(Exception):
    """The changelog doesn't tell of the release, in words that say what to write."""


def notes(changelog: str, version: str) -> str:
    """Return the section of a version, without its title. Raises `ChangelogError`."""
    found = list(_SECTION.finditer(changelog))
    ends = [*(one.start() for one in found[1:]), len(changelog)]
    bodies = {
        one["name"]: changelog[one.end() : end].strip()
        for one, end in zip(found, ends, strict=True)
    }
    dates = {one["name"]: one["date"] or "" for one in found}
    if version not in bodies:
        raise ChangelogError(f'CHANGELOG.md has no section "## [{version}] - YYYY-MM-DD"')
    if _DATE.fullmatch(dates[version]) is None:
        raise ChangelogError(
            f'the section [{version}] needs a date: "## [{version}] - YYYY-MM-DD", '
            f'and not "{dates[version]}"'
        )
    if _ENTRY.search(bodies[version]) is None:
        raise ChangelogError(f'the section [{version}] has no entry, a line that begins with "- "')
    if _ENTRY.search(bodies.get("Unreleased", "")) is not None:
        raise ChangelogError(f"[Unreleased] has entries, which belong to [{version}]")
    first = next(name for name in bodies if name != "Unreleased")
    if first != version:
        raise ChangelogError(f"the section [{version}] stands below [{first}]")
    return bodies[version]


def version_in(source: str) -> str:
    """Return the version that `shapecheck/__init__.py` says."""
    found = _VERSION.search(source)
    assert found is not None
    return found["version"]


def main(tag: str) -> int:
    """Print the notes of a tag; return the exit code."""
    version = version_in((ROOT / "shapecheck" / "__init__.py").read_text("utf-8"))
    try:
        if tag != f"v{version}":
            raise ChangelogError(f'the tag is "{tag}", and the version of the package {version}')
        print(notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version))
    except ChangelogError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
