"""What the analysis says of an edited module that it doesn't say of the original."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from shapecheck.analysis import Options, Source, analyze_module


class Folder:
    """A host that finds modules below a folder."""

    def __init__(self, *roots: Path) -> None:
        self._roots = roots
        self._known: dict[str, Source | None] = {}

    def source(self, module: str) -> Source | None:
        """Return the source of a module by its dotted name."""
        if module not in self._known:
            self._known[module] = self._read(module)
        return self._known[module]

    def _read(self, module: str) -> Source | None:
        base = module.replace(".", "/")
        for root in self._roots:
            for path in (root / base / "__init__.py", root / f"{base}.py"):
                if path.is_file():
                    return Source(module, str(path), path.read_text("utf-8", errors="replace"))
        return None


class Static:
    """The errors of one module, before and after an edit."""

    def __init__(self, host: Folder, name: str, path: str, text: str) -> None:
        self._host, self._name, self._path = host, name, path
        self._before = self._errors(text)

    def finds(self, text: str) -> list[str]:
        """Return the errors that an edited text has and the original hasn't."""
        new = self._errors(text) - self._before
        return [f"{line}: {message}" for line, message in new]

    def _errors(self, text: str) -> Counter[tuple[int, str]]:
        source = Source(self._name, self._path, text)
        return Counter(
            (found.span.line, found.message)
            for found in analyze_module(source, self._host, Options())
            if found.severity == "error"
        )
