"""`shapecheck mcp`: a server of the Model Context Protocol, for a coding agent to start."""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from shapecheck.cli._commands import CommandError, Commands
from shapecheck.extras import is_installed, needs

_DESCRIPTION: Final = """\
Serves a coding agent on the standard streams, by the Model Context Protocol: what is wrong with
shapes in files or in a snippet, which shape stands at a place, what is known of an op. Agents start
it themselves, in the folder of the project; docs/agents.md says what to tell them. Nothing of the
code is run, and no file is written.
"""
_EXAMPLES: Final = """\
  shapecheck mcp                  serve on the standard streams, as agents expect it
"""


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    commands.add(
        "mcp",
        run,
        summary="serve a coding agent: checks, shapes at a place, what is known of an op",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )


def run(_: Namespace) -> int:
    """Run the command; return the exit code."""
    if not is_installed("mcp"):
        raise CommandError(needs("the server for coding agents", "mcp"))
    from shapecheck.cli.mcp.server import server

    server().run("stdio")
    return 0
