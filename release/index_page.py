"""README as the package index shows it: there a link into the repository leads to where that is.

hatchling calls it (`[tool.hatch.metadata.hooks.custom]`). In the repository the links are relative,
so that they work there and on a copy, and tests can follow them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

SOURCE: Final = "https://github.com/shapecheck/torch-shapecheck"
_FILES: Final = "https://raw.githubusercontent.com/shapecheck/torch-shapecheck/main"
_LINK: Final = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?![a-z]+:|#)[^)\s]+)\)")


class IndexPage(MetadataHookInterface):
    """Gives the metadata of the distribution its description."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Put README into the metadata."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_links(text)}


def with_links(markdown: str) -> str:
    """Return a text of the root of the repository with each link in full."""

    def whole(link: re.Match[str]) -> str:
        base = _FILES if link["image"] else f"{SOURCE}/blob/main"
        return f"{link['image']}[{link['text']}]({base}/{link['path']})"

    return _LINK.sub(whole, markdown)
