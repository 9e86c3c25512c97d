"""Prints how many wrong programs are found or suspected; those aside only when it is asked for."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

from posted.cases import cases, verdict


def main(aside: bool) -> None:
    """Print the share of each file, with and without drivers; and what is missed without.

    Nothing may be said of the fixed programs of a file, which is counted with drivers.
    """
    for file in sorted({case.file for case in cases() if aside or not case.aside}):
        those = [case for case in cases() if case.file == file]
        verdicts = {case.name: verdict(case.wrong) for case in those}
        alone = _shares(verdicts.values())
        driven = _shares(verdict(case.wrong, driven=True) for case in those)
        fixed = sum(verdict(case.right, driven=True) is not None for case in those)
        print(f"{file}: {len(those)} programs")
        print(f"  with what calls them: {driven}; of the fixed ones {fixed} reported")
        print(f"  without: {alone}")
        if not file.endswith("_aside"):
            missed = [name for name, one in verdicts.items() if one is None]
            print(*(f"    missed: {name}" for name in missed), sep="\n")


def _shares(verdicts: Iterable[str | None]) -> str:
    every = Counter(verdicts)
    return f"{every['error']} found, {every['warning']} suspected"


if __name__ == "__main__":
    main("--aside" in sys.argv)
