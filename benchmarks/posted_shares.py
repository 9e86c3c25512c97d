"""Prints how many of the wrong programs are found; those aside only when it is asked for."""

from __future__ import annotations

import sys

from posted.cases import analysed, cases


def main(aside: bool) -> None:
    """Print the share of each file, and what is missed in the open ones."""
    for file in sorted({case.file for case in cases() if aside or not case.aside}):
        those = [case for case in cases() if case.file == file]
        missed = [case for case in those if not analysed(case.wrong)]
        print(f"{file}: {len(those) - len(missed)} of {len(those)} found")
        if not file.endswith("_aside"):
            print(*(f"  missed: {case.name}" for case in missed), sep="\n")


if __name__ == "__main__":
    main("--aside" in sys.argv)
