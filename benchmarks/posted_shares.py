"""Prints how many wrong programs are found or suspected; those aside only when it is asked for."""

from __future__ import annotations

import sys

from posted.cases import cases, verdict


def main(aside: bool) -> None:
    """Print the share of each file, and what is missed in the open ones."""
    for file in sorted({case.file for case in cases() if aside or not case.aside}):
        those = [case for case in cases() if case.file == file]
        verdicts = [verdict(case.wrong) for case in those]
        found, suspected = verdicts.count("error"), verdicts.count("warning")
        print(f"{file}: {found} of {len(those)} found, {suspected} suspected")
        missed = [case for case, one in zip(those, verdicts, strict=True) if one is None]
        if not file.endswith("_aside"):
            print(*(f"  missed: {case.name}" for case in missed), sep="\n")


if __name__ == "__main__":
    main("--aside" in sys.argv)
