"""What an editor is told about a place in a text: shapes, names, completions and edits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pygls")
pytest.importorskip("pytest_lsp")

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from editors import HEAD, Editor, edit

ATTEND = (
    HEAD
    + """\
def attend(
    q: Float[Tensor, "b t d"], k: Float[Tensor, "b s d"], v: Float[Tensor, "b s e"]
) -> Float[Tensor, "b t e"]:
    scores = q @ k.mT
    weights = scores.softmax(dim=-1)
    mask: Float[Tensor, "t s"] = torch.ones(q.shape[1], k.shape[1])
    left, right = v.split([2, v.shape[-1] - 2], dim=-1)
    zeros = torch.zeros(2, 3)
    return weights @ v
"""
)


async def hover(editor: Editor, mark: str, number: int = 1) -> str:
    position = editor.at("m.py", mark, number=number)
    params = types.HoverParams(editor.which("m.py"), position)
    found = await editor.client.text_document_hover_async(params)
    return "" if found is None else found.contents.value


def test_hover_says_the_shape_and_where_its_names_are_from(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", ATTEND)
        assert await hover(editor, "weights @") == (
            "```text\nweights: (b t s) Float\n```\n\n"
            "- since line 9\n"
            '- `b`, `t`: parameter "q", line 6\n'
            '- `s`: parameter "k", line 6'
        )
        assert (await hover(editor, "@ v")).startswith("```text\nweights @ v: (b t e) Float\n```")
        assert await hover(editor, "def attend") == ""

    edit(tmp_path, scenario)


def test_hover_on_an_op_tells_its_rule(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", ATTEND)
        said = await hover(editor, "softmax")
        assert said.startswith("```text\nscores.softmax(dim=-1): (b t s) Float\n```\n\n")
        assert "\n\n`torch.Tensor.softmax`\n\n```python\ndef softmax(" in said
        assert "\n```\n\n```text\nT[Tensor, ...]  any dtype" in said
        assert re.search(r"\nstated in stubs/torch/\w+\.pyi:\d+\n```$", said)
        # An operand of the op is another thing than the op.
        assert "softmax" not in await hover(editor, "scores.softmax")

    edit(tmp_path, scenario)


def test_hover_tells_a_size_of_the_instance_from_a_dimension_of_its_name(tmp_path: Path) -> None:
    text = (
        HEAD
        + """\
class Net(torch.nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(d, 4 * d)

    def forward(self, x: Float[Tensor, "b d"]) -> Tensor:
        y = self.up(x)
        return y.relu()
"""
    )

    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", text)
        assert await hover(editor, "y.relu") == (
            "```text\ny: (b 4*<d>) Float\n```\n\n"
            "- since line 11\n"
            '- `b`: parameter "x", line 10\n'
            "- `<d>`: a size of the instance, or of an `int` argument"
        )

    edit(tmp_path, scenario)


def test_hover_on_a_name_in_an_annotation_says_where_else_it_is(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", ATTEND)
        assert await hover(editor, "s e") == (
            "```text\ns: a dimension of attend\n```\n\n"
            '- parameter "k", line 6\n- parameter "v", line 6\n- variable "mask", line 10'
        )

    edit(tmp_path, scenario)


async def hints(editor: Editor, name: str = "m.py") -> dict[str, str]:
    lines = editor.texts[name].split("\n")
    whole = types.Range(types.Position(0, 0), types.Position(len(lines), 0))
    params = types.InlayHintParams(editor.which(name), whole)
    found = await editor.client.text_document_inlay_hint_async(params)
    return {
        lines[one.position.line][: one.position.character].split(",")[-1].strip(): str(one.label)
        for one in found or ()
    }


def test_inlay_hints_stand_behind_assigned_names_but_not_on_the_obvious(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", ATTEND)
        assert await hints(editor) == {
            "scores": ": (b t s)",
            "weights": ": (b t s)",
            "left": ": (b s 2)",
            "right": ": (b s e-2)",
        }

    edit(tmp_path, scenario)


def test_names_that_are_unpacked_have_one_hint_where_all_are_alike(tmp_path: Path) -> None:
    text = (
        HEAD
        + """\
def attend(x: Float[Tensor, "b d"], y, shape: tuple[int, int]):
    q, k, v = x.relu(), x.relu(), x.relu()
    first, other = x.relu(), y
    b, last = shape[0], x.relu()
    two = torch.stack([x, x])
    three, *_, four = two
    five, six = two
    (seven, eight) = x.relu(), x.relu()
"""
    )

    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", text)
        assert await hints(editor) == {
            "v": ": each (b d)",
            "first": ": (b d)",
            "last": ": (b d)",
            "two": ": (2 b d)",
            "three": ": (b d)",
            "four": ": (b d)",
            "six": ": each (b d)",
            "eight": ": each (b d)",
        }

    edit(tmp_path, scenario)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"inlayHints": {"enabled": False}}, set()),
        ({"inlayHints": False}, set()),
        (
            {"inlayHints": {"obvious": True}},
            {"scores", "weights", "left", "right", "mask", "zeros"},
        ),
    ],
)
def test_inlay_hints_are_switched_by_settings(
    tmp_path: Path, settings: dict[str, object], names: set[str]
) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", ATTEND)
        assert set(await hints(editor)) == names

    edit(tmp_path, scenario, settings=settings)


async def completions(editor: Editor, mark: str) -> list[str]:
    position = editor.at("m.py", mark, end=True)
    params = types.CompletionParams(editor.which("m.py"), position)
    found = await editor.client.text_document_completion_async(params)
    assert isinstance(found, list)
    return [one.label for one in sorted(found, key=lambda one: one.sort_text or "")]


LAYERS = (
    HEAD
    + """\
from shapecheck import shapecheck

def other(x: Float[Tensor, "height width"]) -> None: ...

@shapecheck(dims="d_model heads")
class Net(torch.nn.Module):
    def one(self, x: Float[Tensor, "batch d_model"]) -> Float[Tensor, "batch time"]:
        y: Float[Tensor, "ti"] = x
        return "not a shape, ba"
"""
)


def test_dimension_names_are_completed_those_of_the_signature_first(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", LAYERS)
        expected = ["batch", "d_model", "time", "heads", "height", "width"]
        assert await completions(editor, '"ti') == expected
        # What stands around the cursor is what is being written.
        others = ["batch", "time", "ti", "d_model", "heads", "height", "width"]
        assert await completions(editor, '"batch d') == others
        assert await completions(editor, '"not a shape, ba') == []
        # While it is typed, nothing of the text is Python.
        await editor.replace("m.py", '"ti"] = x', '"batch he')
        assert await completions(editor, '"batch he') == expected

    edit(tmp_path, scenario)


async def defined(editor: Editor, mark: str, number: int = 1) -> tuple[int, int] | None:
    position = editor.at("m.py", mark, number=number)
    params = types.DefinitionParams(editor.which("m.py"), position)
    found = await editor.client.text_document_definition_async(params)
    assert isinstance(found, list)
    return (found[0].range.start.line + 1, found[0].range.start.character) if found else None


def test_a_name_leads_to_where_it_is_bound_first(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", ATTEND)
        assert await defined(editor, "s e") == (6, 51)  # in the annotation of k
        assert await defined(editor, "weights @") == (9, 4)  # where the tensor is from
        assert await defined(editor, "q @") == (6, 4)
        assert await defined(editor, "return") is None

    edit(tmp_path, scenario)


async def renamed(editor: Editor, mark: str, new: str) -> str:
    position = editor.at("m.py", mark)
    params = types.RenameParams(editor.which("m.py"), position, new)
    found = await editor.client.text_document_rename_async(params)
    assert found is not None
    assert found.changes is not None
    return editor.edited("m.py", found.changes[editor.uri("m.py")])


def test_a_dimension_is_renamed_in_its_function_alone(tmp_path: Path) -> None:
    text = (
        HEAD
        + '''\
def one(x: Float[Tensor, "b t"], y: "Float[Tensor, 'b 2*t']") -> Float[Tensor, "t {b}"]:
    """A t in a docstring."""
    t = x
    z: Float[Tensor, "*t t"] = x
    torch.assert_shape(z, "t ...")
    return t

def two(x: Float[Tensor, "b t"]) -> None: ...
'''
    )

    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", text)
        assert await renamed(editor, 't"], y', "time") == (
            text.replace('"b t"], y', '"b time"], y')
            .replace("2*t", "2*time")
            .replace('"t {b}"', '"time {b}"')
            .replace('"*t t"', '"*time time"')
            .replace('"t ..."', '"time ..."')
        )
        for name, reason in [("b", "another dimension"), ("1x", "can't be the name")]:
            with pytest.raises(JsonRpcException, match=reason):
                await renamed(editor, 't"], y', name)

    edit(tmp_path, scenario)


def test_a_dimension_of_a_class_is_renamed_in_all_of_it(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", LAYERS)
        changed = await renamed(editor, 'd_model"]', "features")
        assert changed == LAYERS.replace("d_model", "features")

    edit(tmp_path, scenario)


def test_a_dimension_that_is_a_variable_is_not_renamed(tmp_path: Path) -> None:
    text = HEAD + (
        "from shapecheck import dims\n"
        'batch, time = dims("batch time")\n'
        'def one(x: Float[Tensor, "batch time"]) -> None: ...\n'
    )

    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", text)
        assert await defined(editor, 'time"]) ->') == (6, 7)
        with pytest.raises(JsonRpcException, match="is a variable"):
            await renamed(editor, 'time"]) ->', "t")

    edit(tmp_path, scenario)


async def offered(editor: Editor, mark: str) -> dict[str, types.CodeAction]:
    place = editor.at("m.py", mark)
    diagnostics = [
        one
        for one in editor.told[editor.uri("m.py")].diagnostics
        if one.range.start.line <= place.line <= one.range.end.line
    ]
    params = types.CodeActionParams(
        editor.which("m.py"), types.Range(place, place), types.CodeActionContext(diagnostics)
    )
    found = await editor.client.text_document_code_action_async(params)
    return {one.title: one for one in found or () if isinstance(one, types.CodeAction)}


def changed(editor: Editor, action: types.CodeAction) -> str:
    assert action.edit is not None
    assert action.edit.changes is not None
    return editor.edited("m.py", action.edit.changes[editor.uri("m.py")])


MATMUL = (
    HEAD
    + 'def scores(x: Float[Tensor, "b d"], y: Float[Tensor, "e d"]) -> Float[Tensor, "b e"]:\n'
    + "    return x @ y  # both\n"
)


def test_an_error_is_ignored_on_its_line(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open("m.py", MATMUL)
        action = (await offered(editor, "x @ y"))["Ignore `shape` on this line"]
        after = changed(editor, action)
        assert after == MATMUL.replace("# both", "# type: ignore[shape]  # both")
        assert await editor.become("m.py", after) == []

    edit(tmp_path, scenario)


@pytest.mark.parametrize(
    ("head", "line", "fixed"),
    [
        ('x: Float[Tensor, "b d"], y: Float[Tensor, "e d"]', "x @ y", "x @ y.transpose(-2, -1)"),
        (
            'x: Float[Tensor, "b d"], y: Float[Tensor, "e d"]',
            "x.matmul(y)",
            "x.matmul(y.transpose(-2, -1))",
        ),
        (
            'x: Float[Tensor, "b n"], y: Float[Tensor, "b n"]',
            "x - y.mean(1)",
            "x - y.mean(1, keepdim=True)",
        ),
        ('x: Float[Tensor, "b n d"], y: Float[Tensor, "b n"]', "x * y", "x * y.unsqueeze(-1)"),
        (
            'x: Float[Tensor, "d b"], y: Float[Tensor, "d"]',
            "(x + 1).relu() @ y",
            "(x + 1).relu().transpose(-2, -1) @ y",
        ),
        ('x: Float[Tensor, "b d"], y: Float[Tensor, "e f"]', "x @ y", None),
    ],
)
def test_what_a_note_proposes_is_written_where_it_helps(
    tmp_path: Path, head: str, line: str, fixed: str | None
) -> None:
    text = HEAD + f"def f({head}) -> None:\n    z = {line}\n"

    async def scenario(editor: Editor) -> None:
        said = await editor.open("m.py", text)
        found = await offered(editor, "z =")
        writing = [one for title, one in found.items() if title.startswith("Write ")]
        assert [changed(editor, one) for one in writing] == (
            [] if fixed is None else [text.replace(line, fixed)]
        )
        assert (fixed is None) or len(said) == 1

    edit(tmp_path, scenario)


def test_what_a_note_proposes_is_written_on_the_line_that_the_note_tells(tmp_path: Path) -> None:
    text = (
        HEAD
        + """\
def f(x: Float[Tensor, "b n"]) -> None:
    mean = x.mean(1)
    other = x.mean(1)
    z = x - mean
"""
    )

    async def scenario(editor: Editor) -> None:
        assert len(await editor.open("m.py", text)) == 1
        (action,) = [
            one
            for title, one in (await offered(editor, "z =")).items()
            if title == "Write `x.mean(1, keepdim=True)`"
        ]
        assert changed(editor, action) == text.replace("x.mean(1)", "x.mean(1, keepdim=True)", 1)

    edit(tmp_path, scenario)


BARE = '''\
import torch
from torch import Tensor, nn


def first(x: Tensor, y: Tensor) -> Tensor:
    """Multiply.

    Args:
        x: (b, n, d)
        y: (b, m, d)
    """
    return x @ y.mT


def second(x: Tensor) -> Tensor:
    b, n, d = x.shape
    return x.reshape(b, n * d)
'''


def test_the_function_under_the_cursor_is_annotated(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        editor.write("m.py", BARE)
        assert await editor.open("m.py") == []
        found = await offered(editor, "first")
        (action,) = [one for title, one in found.items() if title.startswith("Annotate `first`")]
        resolved = await editor.client.code_action_resolve_async(action)
        after = changed(editor, resolved)
        assert 'def first(x: Shaped[Tensor, "b n d"], y: Shaped[Tensor, "b m d"])' in after
        assert "def second(x: Tensor) -> Tensor:" in after
        assert "import Shaped" in after
        assert await editor.become("m.py", after) == []
        # Of a text that isn't saved nothing would be found: what is annotated lies on the disk.
        assert not any("Annotate" in title for title in await offered(editor, "second"))

    edit(tmp_path, scenario)
