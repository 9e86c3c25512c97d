"""`shapecheck lsp`: the language server, for an editor to start."""

from __future__ import annotations

import importlib.util
from argparse import Namespace
from typing import Final

from shapecheck.cli._commands import CommandError, Commands

_DESCRIPTION: Final = """\
Serves an editor on the standard streams: shape errors while typing, the shape of what is under the
mouse, hints behind names, completion of dimension names, and edits that fix what is wrong. Editors
start it themselves; docs/editors.md says what to tell each of them. Nothing of the code that is
edited is run.
"""
_EXAMPLES: Final = """\
  shapecheck lsp                  serve on the standard streams, as editors expect it
"""
_NEEDED: Final = ("pygls", "lsprotocol")


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "lsp",
        run,
        summary="serve an editor: errors while typing, shapes under the mouse",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "--stdio", action="store_true", help="as it is by itself; some editors always say it"
    )


def run(_: Namespace) -> int:
    """Run the command; return the exit code."""
    if not all(map(importlib.util.find_spec, _NEEDED)):
        raise CommandError(
            'the language server needs pygls and lsprotocol: pip install "torch-shapecheck[lsp]"'
        )
    from functools import lru_cache

    from shapecheck.cli.explain import told_of
    from shapecheck.language_server.server import serve

    serve(lru_cache(maxsize=256)(told_of))
    return 0
