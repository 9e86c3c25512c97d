"""`types.SimpleNamespace` and `argparse.Namespace`."""

from __future__ import annotations

from shapecheck.analysis.interpreter.frame import Frame
from shapecheck.analysis.interpreter.registry import LibraryCall, function
from shapecheck.analysis.program.model import Value
from shapecheck.analysis.values.model import Namespace


@function("types.SimpleNamespace", "argparse.Namespace", takes=0)
def _made(frame: Frame, call: LibraryCall) -> Value:
    return frame.state.new(Namespace(call.kwargs))
