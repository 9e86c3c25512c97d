"""Prints the text that a file has once it is annotated, as JSON; null where nothing is to be.

A program by itself, since `annotate` divides its work over processes: none of them is to be a copy
of a server that has threads.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from shapecheck import config
from shapecheck.analysis import Options
from shapecheck.codemod.annotate import SOURCES, Settings, annotate_files


def run(path: Path) -> None:
    """Annotate a file from all sources but records, and print its text."""
    found = config.load(config.find(Path()))
    sources = tuple(one for one in SOURCES if one != "record")
    options = Options(found.strict, found.stubs, found.wrappers)
    outcome = annotate_files([path], Settings(sources, options=options))
    text = next((one.text for one in outcome.changed), None)
    sys.stdout.write(json.dumps(text))


if __name__ == "__main__":
    run(Path(sys.argv[1]))
