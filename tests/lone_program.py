"""Analyses a program that is one source text, beside which there is no other module."""

from __future__ import annotations

from shapecheck.analysis import Diagnostic, Options, Source, analyze_module


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


def said_of(program: str, strict: bool = False) -> list[Diagnostic]:
    """Return all that the analysis says of a program, its notes too."""
    source = Source("case", "case.py", program)
    return analyze_module(source, NoSources(), Options(strict=strict))
