"""Names of files."""

from __future__ import annotations

import posixpath

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import LibraryCall, function
from shapecheck.analysis.program.model import Value
from shapecheck.ops import UNKNOWN


@function("os.path.join")
def _joined(frame: Frame, call: LibraryCall) -> Value:
    """Return a name of which all parts are known, as it is on most systems."""
    parts = [one for one in call.args if isinstance(one, str)]
    return posixpath.join(*parts) if parts and len(parts) == len(call.args) else UNKNOWN
