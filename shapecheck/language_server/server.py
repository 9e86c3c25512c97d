"""The server: what it can do, and what it does when the editor says something."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcRequestCancelled
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from shapecheck import __version__
from shapecheck.language_server import actions, completion, hover, inlay_hints, navigation
from shapecheck.language_server.navigation import RefusedError
from shapecheck.language_server.programs import CONFIGURATION
from shapecheck.language_server.settings import ServerSettings
from shapecheck.language_server.worker import Urgency, Worker
from shapecheck.language_server.workspace import Said, View, Workspace
from shapecheck.many_objects import many_objects

_T = TypeVar("_T")
RESTART: Final = "shapecheck.restart"
_REPORT: Final = "internal error in shapecheck, please report: "
_PROGRESS: Final = "shapecheck/checking"
_log: Final = logging.getLogger(__name__)


class Server(LanguageServer):
    """A server for one editor. The documents are in `shapes`, which `worker` asks."""

    def __init__(self) -> None:
        super().__init__("shapecheck", __version__)
        self.worker = Worker()
        self.shapes = Workspace([], types.PositionEncodingKind.Utf16)
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._checks: dict[str, asyncio.Future[Any]] = {}
        self._published: set[str] = set()
        self._background: asyncio.Task[None] | None = None
        self._has_news = False

    # What is done for the editor -----------------------------------------------------------------

    def begin(self, params: types.InitializeParams) -> None:
        """Take the folders and the settings that the editor has."""
        folders = [one.uri for one in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        paths = [path for uri in folders if (path := to_fs_path(uri)) is not None]
        documents = params.capabilities.text_document
        shown = documents and documents.publish_diagnostics
        self.shapes = Workspace(
            paths,
            self.workspace.position_encoding or types.PositionEncodingKind.Utf16,
            has_related=bool(shown and shown.related_information),
            before_part=self.worker.give_way,
        )
        self.shapes.settings = ServerSettings.of(params.initialization_options)

    async def ask(self, uri: str, question: Callable[[View], _T], otherwise: _T) -> _T:
        """Return the answer to a question about a document; `otherwise` where there is none.

        A defect in answering is logged, and no error of the editor's.
        """

        def answer() -> _T:
            self.shapes.take(uri)
            view = self.shapes.view(uri)
            return otherwise if view is None else question(view)

        try:
            return await asyncio.wrap_future(self.worker.submit(Urgency.QUESTION, answer))
        except (asyncio.CancelledError, JsonRpcRequestCancelled):
            raise
        except RefusedError as error:
            raise JsonRpcInvalidParams(str(error)) from None
        except Exception as error:  # noqa: BLE001 - whatever it is, the editor goes on
            self.failed(error)
            return otherwise

    def edited(self, uri: str, delay: float | None = None) -> None:
        """Check a document after it has been edited, once nothing more is typed."""
        before = self._checks.pop(uri, None)
        if before is not None:
            before.cancel()
        if uri in self._waiting:
            self._waiting[uri].cancel()
        pause = self.shapes.settings.debounce / 1000 if delay is None else delay
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(pause, self._check, uri)

    def _check(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        check = asyncio.ensure_future(self._checked(uri, Urgency.CHECK))
        self._checks[uri] = check
        check.add_done_callback(lambda _: self.look_further())

    async def _checked(self, uri: str, urgency: Urgency) -> None:
        """Check a document, or a file that isn't open, and tell what is found."""

        def said() -> Said:
            self.shapes.take(uri)
            return self.shapes.said(uri)

        try:
            found = await asyncio.wrap_future(self.worker.submit(urgency, said))
        except asyncio.CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the editor goes on
            self.failed(error)
            return
        document = self.shapes.documents.get(uri)
        if document is None or document.version == found.version:
            self.tell(found)

    def tell(self, said: Said) -> None:
        """Have the editor show what is said of a file."""
        if said.diagnostics or said.uri in self._published or said.version is not None:
            self._published.add(said.uri)
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(said.uri, said.diagnostics, said.version)
            )

    def look_further(self) -> None:
        """Check the other files of which something else may be said now."""
        self._has_news = True
        if self._background is None or self._background.done():
            self._background = asyncio.ensure_future(self._looked_further())

    async def _looked_further(self) -> None:
        try:
            while self._has_news:
                self._has_news = False
                await self._check_others()
                gone = partial(self.shapes.gone, tuple(self._published))
                for uri in await self._in_background(gone):
                    self.tell(Said(uri, None, []))
                    self._published.discard(uri)
                for said in await self._in_background(self.shapes.problems):
                    self.tell(said)
            self.refresh()
            await self._in_background(self.worker.rest)
        except asyncio.CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - as above
            self.failed(error)

    async def _check_others(self) -> None:
        while waiting := await self._in_background(self.shapes.stale):
            async with _Progress(self, len(waiting)) as progress:
                for number, uri in enumerate(waiting):
                    progress.at(number)
                    await self._checked(uri, Urgency.BACKGROUND)

    async def _in_background(self, work: Callable[[], _T]) -> _T:
        return await asyncio.wrap_future(self.worker.submit(Urgency.BACKGROUND, work))

    def refresh(self) -> None:
        """Have the editor ask for hints again, if it can be told to."""
        workspace = self.client_capabilities.workspace
        if workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None, lambda _: None)

    def do(self, work: Callable[[], None], *, further: bool = True) -> None:
        """Have something done that isn't about one document, and look what has changed by it."""
        future = asyncio.wrap_future(self.worker.submit(Urgency.EDIT, self._guarded(work)))
        if further:
            future.add_done_callback(lambda _: self.look_further())

    def _guarded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Return what does something, and only logs it where that fails."""
        loop = asyncio.get_running_loop()

        def guarded() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the editor goes on
                loop.call_soon_threadsafe(self.failed, error)

        return guarded

    def say(self, message: str) -> None:
        """Show a message that needs no answer."""
        self.window_show_message(types.ShowMessageParams(types.MessageType.Info, message))

    def failed(self, error: Exception) -> None:
        """Log a defect of our own, with the request to report it."""
        lines = "".join(traceback.format_exception(error)).rstrip()
        _log.error(lines)
        self.window_log_message(
            types.LogMessageParams(
                types.MessageType.Error, f"{_REPORT}{type(error).__name__}: {error}\n{lines}"
            )
        )

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what goes wrong in the protocol; nothing of it is a message that one has to close."""
        if not isinstance(error, JsonRpcException):  # an answer by itself
            self.failed(error)


class _Progress:
    """Shows how many of some files are checked, where the editor can show it and they are many."""

    _LEAST: Final = 8

    def __init__(self, server: Server, count: int) -> None:
        window = server.client_capabilities.window
        self._server, self._count = server, count
        self._is_shown = bool(window and window.work_done_progress) and count >= self._LEAST
        self._token = f"{_PROGRESS}/{id(self)}"

    async def __aenter__(self) -> _Progress:
        if self._is_shown:
            try:
                await self._server.work_done_progress.create_async(self._token)
            except Exception:  # noqa: BLE001 - an editor that can't, though it says so
                self._is_shown = False
                return self
            self._server.work_done_progress.begin(
                self._token,
                types.WorkDoneProgressBegin("shapecheck", percentage=0, cancellable=False),
            )
        return self

    def at(self, number: int) -> None:
        """Show that so many are done."""
        if self._is_shown:
            percentage = 100 * number // self._count
            message = f"{number}/{self._count} files"
            self._server.work_done_progress.report(
                self._token, types.WorkDoneProgressReport(message=message, percentage=percentage)
            )

    async def __aexit__(self, *_: object) -> None:
        if self._is_shown:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())


def new_server(explain: hover.Explain) -> Server:
    """Return a server that does all there is; `explain` tells of an op."""
    server = Server()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.begin(params)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        server.do(server.shapes.begin)
        await _watch_files(server)

    @server.feature(types.SHUTDOWN)
    def shutdown(_: None) -> None:
        server.worker.stop()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.shapes.open(document.uri, document.text, document.version)
        server.edited(document.uri, delay=0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        if document.uri in server.shapes.documents:
            server.shapes.change(document.uri, params.content_changes, document.version)
            server.edited(document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(_: types.DidSaveTextDocumentParams) -> None:
        server.do(server.shapes.look_at_disk)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.shapes.close(uri)
        server.do(lambda: server.shapes.take(uri))
        server.tell(Said(uri, None, []))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def watched(params: types.DidChangeWatchedFilesParams) -> None:
        is_new = any(one.uri.rpartition("/")[2] in CONFIGURATION for one in params.changes)
        server.do(lambda: server.shapes.look_at_disk(are_settings_new=is_new))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        server.shapes.settings = await _settings(server, params.settings)
        for uri in server.shapes.documents:
            server.edited(uri, delay=0)

    _answer_questions(server, explain)

    @server.command(RESTART)
    async def restart(*_: Any) -> None:
        server.do(server.shapes.restart)
        for uri in server.shapes.documents:
            server.edited(uri, delay=0)

    return server


def _answer_questions(server: Server, explain: hover.Explain) -> None:
    """Register what answers questions about a place in a document."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        if not server.shapes.settings.hover:
            return None
        uri, position = params.text_document.uri, params.position
        return await server.ask(uri, lambda view: hover.hover(view, position, explain), None)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hinted(params: types.InlayHintParams) -> list[types.InlayHint]:
        settings = server.shapes.settings.inlayHints
        lines = params.range.start.line + 1, params.range.end.line + 1
        uri = params.text_document.uri
        return await server.ask(
            uri, lambda view: inlay_hints.inlay_hints(view, lines, settings), []
        )

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=['"', "'", " "]),
    )
    async def completed(params: types.CompletionParams) -> list[types.CompletionItem]:
        uri, position = params.text_document.uri, params.position
        return await server.ask(uri, lambda view: completion.completion(view, position), [])

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def defined(params: types.DefinitionParams) -> list[types.Location]:
        uri, position = params.text_document.uri, params.position
        return await server.ask(uri, lambda view: navigation.definition(view, position), [])

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def referred(params: types.ReferenceParams) -> list[types.Location]:
        uri, position = params.text_document.uri, params.position
        return await server.ask(uri, lambda view: navigation.references(view, position), [])

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def preparing(params: types.PrepareRenameParams) -> types.PrepareRenameResult | None:
        uri, position = params.text_document.uri, params.position
        return await server.ask(uri, lambda view: navigation.prepare_rename(view, position), None)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    async def renamed(params: types.RenameParams) -> types.WorkspaceEdit | None:
        uri, position, name = params.text_document.uri, params.position, params.new_name
        return await server.ask(uri, lambda view: navigation.rename(view, position, name), None)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(
            [types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite],
            resolve_provider=True,
        ),
    )
    async def acted(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        return await server.ask(
            uri, lambda view: actions.actions(view, params.range, params.context), []
        )

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolved(action: types.CodeAction) -> types.CodeAction:
        if isinstance(action.data, dict):
            uri, (first, last) = action.data["uri"], action.data["lines"]
            action.edit = await server.ask(
                uri, lambda view: actions.annotated(view, (first, last)), None
            )
            if action.edit is None:
                server.say("shapecheck finds nothing to annotate there")
        return action


async def _settings(server: Server, told: object) -> ServerSettings:
    """Return the settings: those that were told, or that the editor tells when it is asked."""
    workspace = server.client_capabilities.workspace
    if not told and workspace and workspace.configuration:
        items = [types.ConfigurationItem(section="shapecheck")]
        answer = await server.workspace_configuration_async(types.ConfigurationParams(items))
        told = next(iter(answer), None)
    return ServerSettings.of(told)


async def _watch_files(server: Server) -> None:
    """Ask the editor to tell what changes on the disk, where it can."""
    workspace = server.client_capabilities.workspace
    watching = workspace and workspace.did_change_watched_files
    if not (watching and watching.dynamic_registration):
        return
    patterns = ("**/*.py", "**/*.pyi", *(f"**/{name}" for name in CONFIGURATION))
    options = types.DidChangeWatchedFilesRegistrationOptions(
        [types.FileSystemWatcher(pattern) for pattern in patterns]
    )
    registration = types.Registration(
        "shapecheck-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
    )
    with suppress(JsonRpcException):  # of an editor that can't, though it says so
        await server.client_register_capability_async(types.RegistrationParams([registration]))


def serve(explain: hover.Explain) -> None:
    """Serve one editor on the standard streams, until it says that it goes.

    `explain` tells of an op, as the command of that name.
    """
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    # Whatever else is printed goes to the log of the editor, not between the messages.
    messages = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with many_objects():
        new_server(explain).start_io(sys.stdin.buffer, messages)
