"""An editor for tests of the language server: a real client that starts the real server."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, LanguageClient, register_lsp_features
from repository import ROOT

PATIENCE = 60
HEAD = "import torch\nfrom shapecheck import Float\nfrom torch import Tensor\n\n"


class Editor:
    """An editor in which a folder is open."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.texts: dict[str, str] = {}
        self.told: dict[str, types.PublishDiagnosticsParams] = {}
        self._versions: dict[str, int] = {}

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def which(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    def write(self, name: str, text: str) -> str:
        """Put a file onto the disk."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
        return path.read_text("utf-8")

    async def open(self, name: str, text: str | None = None) -> list[str]:
        """Open a file, perhaps with a text that isn't saved, and return what is said of it."""
        if text is None:
            text = (self.folder / name).read_text("utf-8")
        self.texts[name], self._versions[name] = text, 1
        item = types.TextDocumentItem(self.uri(name), "python", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.said(name)

    async def close(self, name: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.which(name)))
        del self._versions[name]
        await self.until(lambda: self.told[self.uri(name)].version is None, "closed")

    def send(self, name: str, *changes: types.TextDocumentContentChangeEvent) -> None:
        """Edit a file without waiting."""
        self._versions[name] += 1
        which = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(which, list(changes))
        )

    async def become(self, name: str, text: str) -> list[str]:
        """Put another text into the place of a file's, and return what is said of it."""
        self.texts[name] = text
        self.send(name, types.TextDocumentContentChangeWholeDocument(text))
        return await self.said(name)

    async def replace(self, name: str, old: str, new: str) -> list[str]:
        """Edit one range of a file, and return what is said of it."""
        start, end = self.at(name, old), self.at(name, old, end=True)
        self.texts[name] = self.texts[name].replace(old, new, 1)
        self.send(name, types.TextDocumentContentChangePartial(types.Range(start, end), new))
        return await self.said(name)

    async def said(self, name: str) -> list[str]:
        """Return what is said of the version of a file that it has now, a line each."""
        uri = self.uri(name)

        def is_told() -> bool:
            return uri in self.told and self.told[uri].version == self._versions[name]

        await self.until(is_told, f"diagnostics of {name}")
        return self.lines(name)

    def lines(self, name: str) -> list[str]:
        """Return what was said of a file last: place, code and the first line of the message."""
        told = self.told.get(self.uri(name))
        return [
            f"{one.range.start.line + 1}:{one.range.start.character}: {one.code}: "
            + one.message.partition("\n")[0]
            for one in (told.diagnostics if told is not None else ())
        ]

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        for _ in range(PATIENCE * 100):
            if condition():
                return
            await asyncio.sleep(0.01)
        raise TimeoutError(f"{what}: {[one.message for one in self.client.log_messages]}")

    def at(self, name: str, mark: str, *, number: int = 1, end: bool = False) -> types.Position:
        """Return the position of a piece of a file's text, as often as it stands there."""
        offset = -1
        for _ in range(number):
            offset = self.texts[name].index(mark, offset + 1)
        before = self.texts[name][: offset + (len(mark) if end else 0)]
        column = before.rpartition("\n")[2]
        return types.Position(before.count("\n"), len(column.encode("utf-16-le")) // 2)

    def edited(self, name: str, edits: Iterable[types.TextEdit]) -> str:
        """Return the text of a file after some edits, none of which is made."""
        text = self.texts[name]
        ends = [0]
        for line in text.splitlines(keepends=True):
            ends.append(ends[-1] + len(line))

        def offset(at: types.Position) -> int:
            return ends[at.line] + at.character

        for one in sorted(edits, key=lambda one: offset(one.range.start), reverse=True):
            text = text[: offset(one.range.start)] + one.new_text + text[offset(one.range.end) :]
        return text


Scenario = Callable[[Editor], Awaitable[None]]


def edit(
    folder: Path,
    scenario: Scenario,
    *,
    settings: dict[str, Any] | None = None,
    has_folder: bool = True,
    editor: str = "visual-studio-code",
    files: Mapping[str, str] | None = None,
) -> None:
    """Have an editor do something in a folder; nothing of what it does may fail in the server.

    `files` are there before the server is.
    """
    for name, text in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    asyncio.run(_edit(folder, scenario, settings, has_folder, editor))


async def _edit(
    folder: Path, scenario: Scenario, settings: Any, has_folder: bool, editor: str
) -> None:
    client = LanguageClient(converter_factory=default_converter)
    made = Editor(client, folder)

    def tell(_: LanguageClient, params: types.PublishDiagnosticsParams) -> None:
        made.told[params.uri] = params
        client.diagnostics[params.uri] = params.diagnostics

    features = {**DEFAULT_CLIENT_FEATURES, types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: tell}
    register_lsp_features(client, features)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SHAPECHECK_DEBUG": "0"}
    await client.start_io(sys.executable, "-m", "shapecheck", "lsp", env=environment)
    try:
        folders = [types.WorkspaceFolder(folder.as_uri(), folder.name)] if has_folder else None
        params = types.InitializeParams(
            client_capabilities(editor), workspace_folders=folders, initialization_options=settings
        )
        await client.initialize_session(params)
        await scenario(made)
        faults = [one.message for one in client.log_messages if "internal error" in one.message]
        assert not faults, "\n".join(faults)
    finally:
        await client.shutdown_session()
        await client.stop()
