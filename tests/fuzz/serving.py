"""What the language server makes of a text that isn't saved, asked as an editor asks it."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lsprotocol import types

from shapecheck.language_server import actions, completion, hover, inlay_hints, navigation
from shapecheck.language_server.settings import InlayHints
from shapecheck.language_server.workspace import View, Workspace, uri_of

ASKED = 12
"""At as many places of a text questions are asked."""


def serve(text: str, folder: Path) -> None:
    """Open a text, ask everything at random places, and again once it is cut off in the middle."""
    rng = random.Random(text)
    workspace = Workspace([str(folder)], types.PositionEncodingKind.Utf16)
    uri = uri_of(str(folder / "program.py"))
    cut = rng.randrange(len(text) + 1)
    for version, typed in enumerate((text, text[:cut], text[:cut] + "\n)", text)):
        workspace.open(uri, typed, version)
        workspace.take(uri)
        workspace.said(uri)
        view = workspace.view(uri)
        assert view is not None
        lines = typed.split("\n")
        for _ in range(ASKED):
            line = rng.randrange(len(lines) + 1)
            width = len(lines[line]) if line < len(lines) else 0
            _ask(view, types.Position(line, rng.randrange(width + 2)), uri)


def _ask(view: View, position: types.Position, uri: str) -> None:
    span = types.Range(position, types.Position(position.line + 3, 0))
    context = types.CodeActionContext([])
    lines = position.line + 1, position.line + 4
    asked: tuple[Callable[[], object], ...] = (
        lambda: hover.hover(view, position, lambda name, words: None),
        lambda: inlay_hints.inlay_hints(view, lines, InlayHints()),
        lambda: completion.completion(view, position),
        lambda: navigation.definition(view, position),
        lambda: navigation.references(view, position),
        lambda: navigation.prepare_rename(view, position),
        lambda: navigation.rename(view, position, "renamed"),
        lambda: actions.actions(view, span, context),
    )
    for question in asked:
        with suppress(navigation.RefusedError):
            question()
