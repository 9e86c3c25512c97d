"""Documents that are edited: what is broken for a moment, what others rest on, what is saved."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("pygls")
pytest.importorskip("pytest_lsp")

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from editors import HEAD, Editor, edit

WRONG = (
    HEAD
    + "x = 1\n"
    + 'def scores(x: Float[Tensor, "b d"], y: Float[Tensor, "e d"]) -> Float[Tensor, "b e"]:\n'
    + "    return x @ y\n"
)
SAID = (
    'shape: "@" can\'t multiply (b d) by (e d): '
    "the inner dimensions are d (axis -1) and e (axis -2)"
)


async def tell(editor: Editor, name: str, kind: types.FileChangeType) -> None:
    """Tell the server, as an editor does, that a file has changed on the disk."""
    event = types.FileEvent(editor.uri(name), kind)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


def test_what_is_broken_keeps_what_was_said_where_that_stands_now(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        assert await editor.open("m.py", WRONG) == [f"7:11: {SAID}"]
        broken = await editor.replace("m.py", "x = 1\n", "x = (\n\n\n")
        assert [line.split(": ", 2)[1] for line in broken] == ["syntax", "shape"]
        assert broken[1] == f"9:11: {SAID}"
        assert await editor.replace("m.py", "x = (\n", "x = 1\n") == [f"9:11: {SAID}"]

    edit(tmp_path, scenario)


def test_a_text_that_was_never_python_is_told_to_be_none(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        said = (await editor.open("m.py", "import torch\ndef f(:\n"))[0]
        assert said.split(": ")[1] == "syntax"
        assert await editor.become("m.py", "import torch\n") == []

    edit(tmp_path, scenario)


def test_what_an_open_file_rests_on_is_edited_in_another(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        assert await editor.open("pk/use.py") == []
        assert await editor.open("pk/ops.py") == []
        await editor.replace("pk/ops.py", "3 4", "3 5")
        wrong = 'argument "x" of "f" is (3 4), declared "3 5": axis 1 is 4, declared 5'
        await editor.until(
            lambda: editor.lines("pk/use.py") == [f"3:2: shape: {wrong}"], "what rests on it"
        )
        # Closed, it is what lies on the disk.
        await editor.close("pk/ops.py")
        await editor.until(lambda: editor.lines("pk/use.py") == [], "what is on the disk")

    files = {
        "pk/__init__.py": "",
        "pk/ops.py": HEAD + 'def f(x: Float[Tensor, "3 4"]) -> None: ...\n',
        "pk/use.py": "import torch\nfrom pk.ops import f\nf(torch.zeros(3, 4))\n",
    }
    edit(tmp_path, scenario, files=files)


def test_the_whole_workspace_is_told_of_where_that_is_set(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("two.py")
        await editor.until(lambda: editor.lines("one.py") == [f"7:11: {SAID}"], "the other file")
        editor.write("one.py", WRONG.replace("x @ y", "x @ y.mT"))
        await tell(editor, "one.py", types.FileChangeType.Changed)
        await editor.until(lambda: editor.lines("one.py") == [], "what has been saved elsewhere")
        editor.write("one.py", WRONG)
        await tell(editor, "one.py", types.FileChangeType.Changed)
        await editor.until(lambda: len(editor.lines("one.py")) == 1, "what is wrong again")
        (tmp_path / "one.py").unlink()
        await tell(editor, "one.py", types.FileChangeType.Deleted)
        await editor.until(lambda: editor.lines("one.py") == [], "a file that has gone")

    files = {"one.py": WRONG, "two.py": "import torch\nfrom one import scores\n"}
    edit(tmp_path, scenario, files=files, settings={"diagnostics": "workspace"})


def test_files_come_and_go(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        assert await editor.open("use.py") == []
        editor.write("ops.py", HEAD + 'def f(x: Float[Tensor, "3 5"]) -> None: ...\n')
        await tell(editor, "ops.py", types.FileChangeType.Created)
        await editor.until(lambda: len(editor.lines("use.py")) == 1, "a file that has come")
        (tmp_path / "ops.py").unlink()
        await tell(editor, "ops.py", types.FileChangeType.Deleted)
        await editor.until(lambda: editor.lines("use.py") == [], "a file that has gone")

    use = "import torch\nfrom ops import f\nf(torch.zeros(3, 4))\n"
    files = {"use.py": use}
    edit(tmp_path, scenario, files=files)


def test_settings_of_the_project_and_comments_hold(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        assert await editor.open("m.py") == [f"7:11: {SAID}"]
        editor.write("mypy.ini", "[mypy]\n[mypy-m]\ndisable_error_code = shape\n")
        await tell(editor, "mypy.ini", types.FileChangeType.Created)
        await editor.until(lambda: editor.lines("m.py") == [], "the settings")
        (tmp_path / "mypy.ini").unlink()
        await tell(editor, "mypy.ini", types.FileChangeType.Deleted)
        await editor.until(lambda: len(editor.lines("m.py")) == 1, "no settings")
        assert await editor.replace("m.py", "x @ y", "x @ y  # type: ignore[shape]") == []

    files = {"m.py": WRONG}
    edit(tmp_path, scenario, files=files)


def test_wrong_settings_are_told_of_their_own_file(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py")
        await editor.until(lambda: len(editor.lines("pyproject.toml")) == 1, "the settings")
        assert editor.lines("pyproject.toml")[0].startswith("2:0: None: ")
        assert '"strict"' in editor.lines("pyproject.toml")[0]
        editor.write("pyproject.toml", "[tool.shapecheck]\nstrict = true\n")
        await tell(editor, "pyproject.toml", types.FileChangeType.Changed)
        await editor.until(lambda: editor.lines("pyproject.toml") == [], "right settings")

    files = {"pyproject.toml": "[tool.shapecheck]\nstrictly = true\n", "m.py": WRONG}
    edit(tmp_path, scenario, files=files)


@pytest.mark.parametrize("uri", ["file", "untitled:Untitled-1"])
def test_a_file_without_a_project_is_checked(tmp_path: Path, uri: str) -> None:
    async def scenario(editor: Editor) -> None:
        if uri != "file":
            editor.uri = lambda name: uri  # type: ignore[method-assign]
        assert await editor.open("m.py", WRONG) == [f"7:11: {SAID}"]
        assert await editor.replace("m.py", "x @ y", "x @ y.mT") == []

    edit(tmp_path, scenario, has_folder=False)


def test_columns_are_those_of_the_editor(tmp_path: Path) -> None:
    text = WRONG.replace("return x @ y", 'return ("𝄞ä", x @ y)[1]')

    async def scenario(editor: Editor) -> None:
        (said,) = await editor.open("m.py", text)
        assert said == f"7:19: {SAID}"  # 𝄞 is two units of UTF-16
        assert await editor.replace("m.py", "x @ y)[1]", "x @ y.mT)[1]") == []

    edit(tmp_path, scenario)


def test_what_is_typed_while_a_check_goes_on_counts_in_the_end(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", WRONG)
        for letter in reversed(".mT"):
            start = types.Position(6, 16)
            change = types.TextDocumentContentChangePartial(types.Range(start, start), letter)
            editor.send("m.py", change)
        assert await editor.said("m.py") == []

    edit(tmp_path, scenario)


def test_notes_are_told_with_the_lines_that_they_speak_of(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", WRONG)
        (said,) = editor.told[editor.uri("m.py")].diagnostics
        assert said.message.split("\n")[1:] == ['"y.transpose(-2, -1)" would give (b e)']
        related = [
            (one.location.range.start.line, one.location.range.start.character, one.message)
            for one in said.related_information or ()
        ]
        assert related == [
            (5, 11, 'left operand "x" is (b d) since line 6'),
            (5, 36, 'right operand "y" is (e d) since line 6'),
        ]
        assert said.severity is types.DiagnosticSeverity.Error

    edit(tmp_path, scenario)


SUSPECT = (
    HEAD
    + 'def f(x: Float[Tensor, "batch classes"]) -> Float[Tensor, "batch classes"]:\n'
    + "    return x.softmax(dim=0)\n"
)


@pytest.mark.parametrize("is_told", [True, False])
def test_suspicions_are_warnings_that_can_be_switched_off(tmp_path: Path, is_told: bool) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", SUSPECT)
        told = editor.told[editor.uri("m.py")].diagnostics
        assert [one.severity for one in told] == [types.DiagnosticSeverity.Warning] * is_told

    edit(tmp_path, scenario, settings={"suspicions": is_told})


def test_it_begins_anew_when_it_is_told_to(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", WRONG)
        editor.told.clear()
        await editor.client.workspace_execute_command_async(
            types.ExecuteCommandParams("shapecheck.restart")
        )
        assert await editor.said("m.py") == [f"7:11: {SAID}"]

    edit(tmp_path, scenario)


def test_a_question_that_is_taken_back_is_no_fault(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", WRONG)
        params = types.HoverParams(editor.which("m.py"), types.Position(6, 11))
        asked = asyncio.ensure_future(editor.client.text_document_hover_async(params))
        await asyncio.sleep(0)
        (number,) = editor.client.protocol._request_futures
        editor.client.cancel_request(types.CancelParams(number))
        with suppress(JsonRpcException):  # taken back, if it wasn't answered before
            await asked
        assert len(await editor.replace("m.py", "x = 1", "x = 2")) == 1

    edit(tmp_path, scenario)


@pytest.mark.parametrize("editor", ["neovim", "emacs"])
def test_other_editors_begin_a_session(tmp_path: Path, editor: str) -> None:
    async def scenario(editor: Editor) -> None:
        assert await editor.open("m.py", WRONG) == [f"7:11: {SAID}"]

    edit(tmp_path, scenario, editor=editor)


def test_the_first_check_of_a_workspace_shows_how_far_it_is(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m0.py")
        await editor.until(lambda: all(map(editor.lines, names)), "all files")
        reports = [one for some in editor.client.progress_reports.values() for one in some]
        await editor.until(
            lambda: any(
                isinstance(one, types.WorkDoneProgressEnd)
                for some in editor.client.progress_reports.values()
                for one in some
            ),
            "the end",
        )
        assert isinstance(reports[0], types.WorkDoneProgressBegin)

    names = [f"m{number}.py" for number in range(10)]
    edit(
        tmp_path, scenario, files=dict.fromkeys(names, WRONG), settings={"diagnostics": "workspace"}
    )


def test_what_is_saved_outside_of_the_editor_counts_at_the_next_save(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        assert await editor.open("use.py") == []
        editor.write("ops.py", HEAD + 'def f(x: Float[Tensor, "3 5"]) -> None: ...\n')
        saved = types.DidSaveTextDocumentParams(editor.which("use.py"))
        editor.client.text_document_did_save(saved)
        await editor.until(lambda: len(editor.lines("use.py")) == 1, "the other file")

    files = {
        "ops.py": HEAD + 'def f(x: Float[Tensor, "3 4"]) -> None: ...\n',
        "use.py": "import torch\nfrom ops import f\nf(torch.zeros(3, 4))\n",
    }
    edit(tmp_path, scenario, files=files)
