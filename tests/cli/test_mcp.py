"""`shapecheck mcp`: what an agent is told, through the protocol's own client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from repository import ROOT

HEAD = "from torch import Tensor\nfrom shapecheck import Float\n\n"
WRONG = HEAD + (
    'def scores(q: Float[Tensor, "b n d"], k: Float[Tensor, "b m d"]):\n    return q @ k\n'
)
RIGHT = WRONG.replace("q @ k", "q @ k.mT")
MULTIPLIED = (
    '"@" can\'t multiply (b n d) by (b m d): the inner dimensions are d (axis -1) and m (axis -2)'
)


def told(folder: Path, *questions: tuple[str, dict[str, Any]]) -> list[Any]:
    """Ask a server that is started in a folder; return its answers, or the text of a refusal."""
    return asyncio.run(_told(folder, questions))


async def _told(folder: Path, questions: tuple[tuple[str, dict[str, Any]], ...]) -> list[Any]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "shapecheck", "mcp"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=folder,
    )
    answers: list[Any] = []
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = await session.list_tools()
        assert {tool.name for tool in tools.tools} == {
            "check",
            "check_snippet",
            "shapes_at",
            "explain_op",
        }
        for name, arguments in questions:
            answer = await session.call_tool(name, arguments)
            text = "".join(getattr(one, "text", "") for one in answer.content)
            answers.append(text if answer.is_error else answer.structured_content)
    return answers


def test_what_an_agent_is_told(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "right.py").write_text(RIGHT)
    wrong, right, both, snippet, imported, shapes, elsewhere, op, unknown = told(
        tmp_path,
        ("check", {"paths": ["wrong.py"]}),
        ("check", {"paths": ["right.py"]}),
        ("check", {}),
        ("check_snippet", {"code": WRONG}),
        (
            "check_snippet",
            {
                "code": "import torch\nfrom right import scores\n"
                "scores(torch.zeros(2, 3, 4), torch.zeros(2, 3, 5))\n"
            },
        ),
        ("shapes_at", {"path": "right.py", "line": 5, "column": 12}),
        ("shapes_at", {"path": "right.py", "line": 1, "code": "import torch; x = torch.zeros(2)"}),
        ("explain_op", {"name": "@"}),
        ("explain_op", {"name": "sofmax"}),
    )
    assert wrong["errors"] == 1
    assert [one["message"] for one in wrong["findings"]] == [MULTIPLIED]
    assert wrong["findings"][0]["file"] == "wrong.py"
    assert '"k.transpose(-2, -1)" would give (b n m)' in wrong["findings"][0]["hint"]
    assert right == {"errors": 0, "findings": []}
    assert both["errors"] == 1
    assert [one["message"] for one in snippet["findings"]] == [MULTIPLIED]
    assert snippet["findings"][0]["file"] == "snippet.py"
    assert imported["errors"] == 1
    assert [one["shape"] for one in shapes["result"]] == ["(b n d)"]
    assert ["x", "(2)"] in [[one["text"], one["shape"]] for one in elsewhere["result"]]
    assert op["name"] == "torch.matmul"
    assert unknown["unknown"] == "sofmax"
    assert "torch.softmax" in unknown["similar"]


def test_what_can_t_be_answered_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    missing, beyond = told(
        tmp_path,
        ("check", {"paths": ["missing.py"]}),
        ("shapes_at", {"path": "right.py", "line": 99}),
    )
    assert f"there is no missing.py in {tmp_path}" in missing
    assert "right.py has 6 lines, and no line 99" in beyond


def test_what_it_needs_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from shapecheck.cli import main, mcp

    monkeypatch.setattr(mcp, "is_installed", lambda _: False)
    assert main(["mcp"]) == 2
    assert 'pip install "torch-shapecheck[mcp]" brings it' in capsys.readouterr().err


def test_ops_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    from shapecheck.cli import main

    assert main(["explain", "bmm", "--output", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["name"] == "torch.bmm"
    assert facts["signatures"] == [
        'def bmm(input: E[Tensor, "b n m"], mat2: E[Tensor, "b m p"]) -> E[Tensor, "b n p"]'
    ]
    assert facts["examples"][0]["result"]
    assert main(["explain", "nn.Sequential", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["about"] == "A sequential container."
    assert main(["explain", "sofmax", "--output", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["unknown"] == "sofmax"
    assert main(["explain", "--list", "conv", "--output", "json"]) == 2
