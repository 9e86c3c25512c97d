"""The documents that are open, over the programs that they are of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from shapecheck.analysis import Look, Span
from shapecheck.language_server.annotation_texts import DimensionTexts, texts_in
from shapecheck.language_server.diagnostics import diagnostic
from shapecheck.language_server.documents import Text
from shapecheck.language_server.programs import Program, Programs
from shapecheck.language_server.settings import WORKSPACE, ServerSettings
from shapecheck.language_server.shifts import Shift
from shapecheck.project.findings import Finding
from shapecheck.project.trees import parsed_text

_HERE: Final = Path.cwd()  # who works on a program is in its folder meanwhile


@dataclass(frozen=True, slots=True)
class Document:
    """A text that is open in an editor, in one of its versions."""

    uri: str
    path: str
    text: Text
    version: int | None


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a file, of the version of it that an editor has."""

    uri: str
    version: int | None
    diagnostics: list[types.Diagnostic]


class View:
    """A document as it is now, and what is known of the last version of it that was Python.

    `tried` is what has come of what notes propose.
    """

    def __init__(self, program: Program, document: Document) -> None:
        self.program, self.document = program, document
        self.text = document.text
        self.uri, self.path = document.uri, document.path
        self.tried: dict[tuple[Finding, str], object] = {}

    @cached_property
    def known(self) -> Text:
        """The last text that was Python, of which shapes are known."""
        source = self.program.source(self.path)
        if source is None or source.text == self.text.text:
            return self.text
        return Text.of(source.text, self.text.encoding)

    @cached_property
    def dimensions(self) -> DimensionTexts:
        """The dimension names in the text; none where it isn't Python."""
        if self.known is not self.text:
            return DimensionTexts((), {})
        tree = parsed_text(self.text.text)
        return DimensionTexts((), {}) if tree is None else texts_in(tree, self.text.lines)

    @cached_property
    def _shift(self) -> Shift:
        return Shift.of(self.known.lines, self.text.lines)

    @property
    def is_saved(self) -> bool:
        """Whether the text is what lies on the disk."""
        try:
            with Path(self.path).open(encoding="utf-8", newline="") as file:
                return file.read() == self.text.text
        except (OSError, UnicodeError):
            return False

    def look(self, line: int) -> Look | None:
        """Return what is known around a line: of where all stands in the text as it is now."""
        before = line if self.known is self.text else self._shift.back(line)
        look = None if before is None else self.program.look(self.path, before)
        if look is None or self.known is self.text:
            return look
        shapes = ((one, self._shift.span(one.span)) for one in look.shapes)
        ops = ((one, self._shift.span(one.span)) for one in look.ops)
        return replace(
            look,
            shapes=tuple(replace(one, span=span) for one, span in shapes if span is not None),
            ops=tuple(replace(one, span=span) for one, span in ops if span is not None),
        )

    def findings(self) -> list[Finding]:
        """Return what is said of it."""
        return self.program.findings(self.path)

    def place(self, position: types.Position) -> tuple[int, int]:
        """Return the line, from 1, and the column of a position."""
        return position.line + 1, self.text.column(position)

    def range(self, span: Span) -> types.Range:
        """Return the range of a span of the text as it is now."""
        return self.text.range(span)


class Workspace:
    """What an editor has open. `before_part`: see `Engine`.

    What an editor tells is kept by `open`, `change` and `close`, at once; all else is done in the
    thread that does the work, and sees it when it is told to `take` it.
    """

    def __init__(
        self,
        folders: Iterable[str],
        encoding: str,
        *,
        has_related: bool = True,
        before_part: Callable[[], None] | None = None,
    ) -> None:
        self.settings = ServerSettings()
        self.documents: dict[str, Document] = {}
        self._programs = Programs(folders, before_part)
        self._encoding, self._has_related = encoding, has_related
        self._taken: dict[str, Document] = {}
        self._views: dict[str, View] = {}

    # As the editor tells it ----------------------------------------------------------------------

    def open(self, uri: str, text: str, version: int | None) -> None:
        """Take note that a document is open."""
        path = path_of(uri)
        self.documents[uri] = Document(uri, path, Text.of(text, self._encoding), version)

    def change(
        self,
        uri: str,
        changes: Iterable[types.TextDocumentContentChangeEvent],
        version: int | None,
    ) -> None:
        """Take note that a document has been edited."""
        before = self.documents[uri]
        self.documents[uri] = replace(before, text=before.text.edited(changes), version=version)

    def close(self, uri: str) -> None:
        """Take note that a document isn't open any more."""
        self.documents.pop(uri, None)

    # In the thread that does the work ------------------------------------------------------------

    def take(self, uri: str) -> None:
        """See a document as the editor has it now."""
        document, before = self.documents.get(uri), self._taken.get(uri)
        if document is not before:
            self._views.pop(uri, None)
        if document is None:
            if before is not None:
                del self._taken[uri]
                self._programs.of(before.path).close(before.path)
        elif document is not before:
            self._taken[uri] = document
            self._programs.of(document.path).edit(document.path, document.text.text)

    def view(self, uri: str) -> View | None:
        """Return a document that is open, to ask of it."""
        document = self._taken.get(uri)
        if uri not in self._views and document is not None:
            self._views[uri] = View(self._programs.of(document.path), document)
        return self._views.get(uri)

    def said(self, uri: str) -> Said:
        """Return what is said of a document, or of a file that isn't open."""
        document = self._taken.get(uri)
        path = path_of(uri) if document is None else document.path
        program = self._programs.of(path)
        found = program.findings(path)
        if document is None:
            source = program.source(path)
            document = Document(uri, path, Text.of("" if source is None else source.text), None)
        shown = [one for one in found if self.settings.suspicions or not one.is_warning]
        return Said(
            uri,
            document.version,
            [diagnostic(one, document.text, uri, has_related=self._has_related) for one in shown],
        )

    def problems(self) -> list[Said]:
        """Return what is wrong with files of settings and of signatures."""
        found = []
        for program in self._programs.every().values():
            if program.problem is not None:
                path = program.problem.file
                text = Path(path).read_text("utf-8", "replace") if Path(path).is_file() else ""
                uri = uri_of(path)
                shown = diagnostic(program.problem, Text.of(text), uri, has_related=False)
                found.append(Said(uri, None, [shown]))
        return found

    def stale(self) -> list[str]:
        """Return the files of which something else may be said than last time, those open first."""
        is_open = {document.path: uri for uri, document in self._taken.items()}
        paths = [path for program in self._programs.every().values() for path in program.stale()]
        found = [is_open[path] for path in paths if path in is_open]
        if self.settings.diagnostics == WORKSPACE:
            found += [uri_of(path) for path in paths if path not in is_open]
        return found

    def gone(self, told: Iterable[str]) -> list[str]:
        """Return those files of which something was told that nothing is to be told of any more."""
        problems = {one.uri for one in self.problems()}
        return [
            uri
            for uri in told
            if uri not in self._taken and uri not in problems and not self._is_checked(uri)
        ]

    def _is_checked(self, uri: str) -> bool:
        path = path_of(uri)
        is_told = self.settings.diagnostics == WORKSPACE
        return is_told and any(one.has(path) for one in self._programs.every().values())

    def begin(self) -> None:
        """Find the modules of the folders that are open."""
        for folder in self._programs.folders:
            self._programs.of(os.path.join(folder, "_"))  # noqa: PTH118

    def look_at_disk(self, *, are_settings_new: bool = False) -> None:
        """See what has changed on the disk; where settings have, begin anew."""
        self._views.clear()
        for program in self._programs.every().values():
            program.look_at_disk(are_settings_new=are_settings_new)

    def restart(self) -> None:
        """Forget all that is known."""
        self._programs = self._programs.anew()
        self._views.clear()
        for document in self._taken.values():
            self._programs.of(document.path).edit(document.path, document.text.text)


def path_of(uri: str) -> str:
    """Return the absolute path of a document; of one that has never been saved, one of its own."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    if path is None:
        name = uri.rpartition(":")[2].replace("/", "_") or "untitled"
        return str(_HERE / (name if name.endswith(".py") else f"{name}.py"))
    return os.path.abspath(path)  # noqa: PTH100 - no link is followed


def uri_of(path: str) -> str:
    """Return the address of a file."""
    return from_fs_path(path) or f"file://{path}"
