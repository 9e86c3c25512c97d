"""The abstract interpreter: finds shape errors in source text without running it.

`analyze_module` is all that hosts call. The analysis knows nothing of mypy; see `host`.
"""

from __future__ import annotations

from shapecheck.analysis.host import Coverage, Diagnostic, Host, Options, Source, Span

__all__ = [
    "Coverage",
    "Diagnostic",
    "Host",
    "Options",
    "Source",
    "Span",
    "analyze_module",
    "coverage",
]


def analyze_module(source: Source, host: Host, options: Options) -> list[Diagnostic]:
    """Analyse one module; return its diagnostics by position, each error followed by its notes.

    Raises SyntaxError where the text is newer than the Python that runs this.
    """
    # Imported late: who only hands results on needs the types above, not the interpreter.
    from shapecheck.analysis.interpreter import check_module

    return check_module(source, host, options)


def coverage(source: Source, host: Host, options: Options) -> Coverage:
    """Count the tensor-valued expressions in a module's annotated functions by what is known.

    Raises SyntaxError where the text is newer than the Python that runs this.
    """
    from shapecheck.analysis.known import measure

    return measure(source, host, options)
