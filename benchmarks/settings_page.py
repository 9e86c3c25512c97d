"""Writes the tables of docs/settings.md anew, from the code that reads the settings.

    python benchmarks/settings_page.py

Between two comments of the page, `<!-- table: NAME -->` and `<!-- end -->`, stands the table of
that name. A test compares the page with what this would write.
"""

from __future__ import annotations

import argparse
import inspect
import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Final

from shapecheck import cli
from shapecheck.config import Config

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
_TABLE: Final = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_KINDS: Final = {"bool": "`true` or `false`", "str": "a string", "tuple[str, ...]": "a list"}


def written(page: str) -> str:
    """Return the page with its tables as the code has them."""
    tables = {"tool.shapecheck": keys(), **commands()}

    def table(found: re.Match[str]) -> str:
        return f"{found[1]}\n{tables[found[2]]}\n{found[3]}"

    return _TABLE.sub(table, page)


def keys() -> str:
    """Return the table of the keys in `[tool.shapecheck]`: what they take, and what they mean."""
    about = dict(re.findall(r"`(\w+)`: (.+?)(?=\n`|\Z)", inspect.getdoc(Config) or "", re.DOTALL))
    rows = ["| key | | default | |", "|---|---|---|---|"]
    for one in fields(Config):
        said = " ".join(about[one.name].split())
        rows.append(f"| `{one.name}` | {_KINDS[str(one.type)]} | `{default(one)}` | {said} |")
    return "\n".join(rows) + "\n"


def default(field: Field[object]) -> str:
    """Return a default as TOML has it."""
    assert field.default is not MISSING
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return '""' if field.default == "" else "[]"


def commands() -> dict[str, str]:
    """Return the table of the arguments of each command, by its name."""
    (found,) = (
        action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return {name: arguments(parser) for name, parser in found.choices.items()}


def arguments(parser: argparse.ArgumentParser) -> str:
    """Return the table of a command's arguments."""
    rows = ["| argument | |", "|---|---|"]
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        said = (action.help or "") % {"default": action.default}
        rows.append(f"| {called(action)} | {escaped(said)} |")
    return "\n".join(rows) + "\n"


def called(action: argparse.Action) -> str:
    """Return an argument as one writes it: `--shard I/N`."""
    takes = "" if action.nargs == 0 else str(action.metavar or "")
    if action.choices is not None and not takes:
        takes = " or ".join(map(str, action.choices))
    names = action.option_strings or [""]
    return ", ".join(f"`{f'{name} {takes}'.strip()}`" for name in names)


def escaped(text: str) -> str:
    """Return a text that may stand in a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), encoding="utf-8")
