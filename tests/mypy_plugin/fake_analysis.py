"""A stand-in for the analysis that does what comments in the checked module say.

# @ error 7:4-7:9 shape-broadcast: text     an error; the code is optional
# @ note 7:4-7:9: text                      a note
# @ look other.module                       an error that quotes a comment of that module
# @ crash                                   an exception
# @ die ahead                               the end of the second process, if this is it
# @ process                                 a note that says which process this is
# @ meet                                    wait until both processes have come to such a line
"""

from __future__ import annotations

import ast
import os
import re
import sys
import time
from pathlib import Path

from shapecheck.analysis.host import Diagnostic, Host, Options, Source, Span

_REPORT = re.compile(
    r"# @ (?P<kind>error|note) (?P<line>\d+):(?P<column>\d+)-(?P<end>\d+):(?P<end_column>\d+)"
    r"(?: (?P<code>[\w-]+))?: (?P<text>.*)"
)
_LOOK = re.compile(r"# @ look (\S+)")
_SAYS = re.compile(r"# says (.*)")


def analyze_module(source: Source, host: Host, options: Options) -> list[Diagnostic]:
    ast.parse(source.text)
    found = []
    for number, line in enumerate(source.text.splitlines(), start=1):
        if match := _REPORT.search(line):
            span = Span(*(int(match[name]) for name in ("line", "column", "end", "end_column")))
            found.append(Diagnostic(span, match["text"], match["kind"], match["code"] or "shape"))
        if match := _LOOK.search(line):
            other = host.source(match[1])
            said = _SAYS.search(other.text) if other else None
            text = f"{match[1]} says {said[1] if said else 'nothing'} (strict: {options.strict})"
            found.append(Diagnostic(Span(number, 0, number, 1), text, "error"))
        is_ahead = bool(sys.flags.isolated)
        if "# @ die ahead" in line and is_ahead:
            os._exit(1)
        process = "second" if is_ahead else "first"
        if "# @ meet" in line:
            Path(f"{process} is here").touch()
            while not (Path("first is here").exists() and Path("second is here").exists()):
                time.sleep(0.001)
        if "# @ process" in line:
            text = f"found in the {process} process"
            found.append(Diagnostic(Span(number, 0, number, 1), text, "note"))
        if "# @ crash" in line:
            raise KeyError("no such thing")
    return found
