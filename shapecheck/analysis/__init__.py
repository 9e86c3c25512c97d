"""The abstract interpreter: finds shape errors in source text without running it.

`analyze_module` is all that hosts call. The analysis knows nothing of mypy; see `host`.
"""

from __future__ import annotations

from collections.abc import Iterable

from shapecheck.analysis.host import (
    Body,
    Cause,
    Coverage,
    Diagnostic,
    Host,
    Options,
    Seen,
    Source,
    Span,
)

__all__ = [
    "Body",
    "Cause",
    "Coverage",
    "Diagnostic",
    "Host",
    "Options",
    "Seen",
    "Source",
    "Span",
    "analyze_module",
    "follows",
    "inspect",
    "measure",
    "parts_now",
]


def analyze_module(source: Source, host: Host, options: Options) -> list[Diagnostic]:
    """Analyse one module; return its diagnostics by position, each error followed by its notes.

    Raises SyntaxError where the text is newer than the Python that runs this.
    """
    # Imported late: who only hands results on needs the types above, not the interpreter.
    from shapecheck.analysis.check.module import check_module

    return check_module(source, host, options)


def parts_now(source: Source, keys: Iterable[str]) -> dict[str, str] | None:
    """Return the digests of parts of a module, by the keys that a `Recording` host was told.

    An analysis that has read these parts of it, and nothing else, says the same as long as the
    digests are the same. None where the text can't be parsed.
    """
    from shapecheck.analysis.program.syntax import syntax  # late, as above

    try:
        parsed = syntax(source)
        return {key: parsed.reading(key).digest for key in keys}
    except (SyntaxError, ValueError, RecursionError):
        return None


def measure(source: Source, host: Host, options: Options) -> Coverage:
    """Count the tensor-valued expressions in a module's annotated functions by what is known.

    Raises SyntaxError where the text is newer than the Python that runs this.
    """
    from shapecheck.analysis.coverage.measure import counted  # late, as above

    return counted(source, host, options)


def inspect(source: Source, host: Host, options: Options) -> list[Body]:
    """Return what is known of each tensor-valued expression of a module, function by function.

    The functions come in the order of their lines, and the module's own code first. Raises
    SyntaxError where the text is newer than the Python that runs this.
    """
    from shapecheck.analysis.coverage.measure import look  # late, as above

    return look(source, host, options)


def follows(name: str) -> bool:
    """Whether the analysis knows by itself what calling something of a library gives.

    That is what follows from what it is given: `torch.nn.Sequential` calls its modules in turn.
    """
    from shapecheck.analysis.check import module  # late, as above

    return module.follows(name)
