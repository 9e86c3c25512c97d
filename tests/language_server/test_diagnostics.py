"""What an editor shows while one types: the same that `check --only-shapes` says."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")
pytest.importorskip("pytest_lsp")


from editors import HEAD, Editor, edit

SCORES = (
    HEAD
    + 'def scores(x: Float[Tensor, "b d"], y: Float[Tensor, "e d"]) -> Float[Tensor, "b e"]:\n'
    + "    return x @ y\n"
)
RIGHT = SCORES.replace("x @ y", "x @ y.mT")


def test_a_text_that_is_not_saved_is_checked_as_it_is_typed(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        editor.write("m.py", RIGHT)
        assert await editor.open("m.py") == []
        wrong = '6:11: shape: "@" can\'t multiply (b d) by (e d): the inner dimensions are d (axis'
        (said,) = await editor.replace("m.py", ".mT", "")
        assert said.startswith(wrong)
        assert await editor.replace("m.py", "x @ y", "x @ y.transpose(0, 1)") == []

    edit(tmp_path, scenario)
