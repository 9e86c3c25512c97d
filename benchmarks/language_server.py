"""Measures the language server on a project, and holds it against a check that starts cold.

    python benchmarks/language_server.py ../project --edits 1000

It starts the server as an editor does, opens files of the project, and edits them at random: lines
that are typed, letter by letter, lines that are deleted, moved or broken, functions that come and
go, signatures and imports that change, often while what was asked before isn't answered yet. In
between it asks for hovers, hints, completions, definitions, references and edits at random places.
Nothing may be an error. In the end the texts are saved, and for each open file the server must have
said what `shapecheck check --only-shapes` says. Printed are the times from an edit to what is said
of it, and of the answers, and how much memory the server takes. Where other programs are at work,
the time of a processor that an edit takes, with all that is asked meanwhile, tells more.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PATIENCE: Final = 300
QUESTIONS: Final = ("hover", "inlayHint", "completion", "definition", "references", "codeAction")
TYPED: Final = (
    "h = {name}.reshape(-1)",
    "h = {name} + {name}.mT",
    "h = torch.zeros(2, 3) @ torch.zeros(4, 5)",
    "return {name}.sum(0)",
    "assert {name} is not None",
    "for i in range(3): pass",
    "h = torch.softmax({name}, dim=0)",
    "h = [",
    "x, y = {name}.shape",
    "import torch",
)


class Client:
    """What an editor is to a server: it sends messages, and keeps what it is told."""

    def __init__(self, folder: Path, python: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [python, "-m", "shapecheck", "lsp"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.folder = folder
        self.errors: list[str] = []
        self.told: dict[str, tuple[int | None, list[Any], float]] = {}
        self._answers: dict[int, tuple[Any, float]] = {}
        self._number = 0
        self._news = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._hear_errors, daemon=True).start()

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                return
            self._take(json.loads(stream.read(length)))

    def _hear_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line.decode(errors="replace").rstrip())

    def _take(self, message: dict[str, Any]) -> None:
        now = time.perf_counter()
        with self._news:
            method, number = message.get("method"), message.get("id")
            if method == "textDocument/publishDiagnostics":
                said = message["params"]
                self.told[said["uri"]] = said.get("version"), said["diagnostics"], now
            elif method == "window/logMessage" and message["params"]["type"] == 1:
                self.errors.append(message["params"]["message"])
            elif method is not None and number is not None:
                self._write({"id": number, "result": None})
            elif number is not None:
                self._answers[number] = message, now
            self._news.notify_all()

    def _write(self, message: dict[str, Any]) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self._write({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> int:
        self._number += 1
        self._write({"id": self._number, "method": method, "params": params})
        return self._number

    def answer(self, number: int) -> tuple[dict[str, Any], float]:
        self.until(lambda: number in self._answers, f"answer {number}")
        return self._answers.pop(number)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        with self._news:
            if not self._news.wait_for(condition, PATIENCE):
                raise TimeoutError(f"{what}; the server said: {self.errors[-20:]}")

    def begin(self, settings: dict[str, Any]) -> None:
        params = {
            "processId": os.getpid(),
            "rootUri": self.folder.as_uri(),
            "workspaceFolders": [{"uri": self.folder.as_uri(), "name": self.folder.name}],
            "capabilities": {
                "textDocument": {"publishDiagnostics": {"relatedInformation": True}},
                "window": {"workDoneProgress": True},
            },
            "initializationOptions": settings,
        }
        self.answer(self.ask("initialize", params))
        self.notify("initialized", {})

    def end(self) -> None:
        self.answer(self.ask("shutdown", None))
        self.notify("exit", None)
        self.process.wait(30)

    @property
    def processor(self) -> float:
        """The seconds of a processor that the server has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """The megabytes that the server takes, and the most that it took."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000


class Document:
    """A file that is open, and the edits of it."""

    def __init__(self, client: Client, path: Path, draw: random.Random) -> None:
        self.client, self.path, self._draw = client, path, draw
        self.uri, self.version = path.as_uri(), 1
        self.text = path.read_text("utf-8")
        self.original = self.text
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}
        client.notify("textDocument/didOpen", {"textDocument": item})

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def change(self, start: tuple[int, int], end: tuple[int, int], new: str) -> float:
        """Edit a range, and return when that was sent."""
        lines = self.lines
        before = "\n".join((*lines[: start[0]], lines[start[0]][: start[1]]))
        after = "\n".join((lines[end[0]][end[1] :], *lines[end[0] + 1 :]))
        self.text = before + new + after
        self.version += 1
        where = {"start": _position(lines, *start), "end": _position(lines, *end)}
        sent = time.perf_counter()
        self.client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.uri, "version": self.version},
                "contentChanges": [{"range": where, "text": new}],
            },
        )
        return sent

    def replaced(self, text: str) -> float:
        self.text, self.version = text, self.version + 1
        sent = time.perf_counter()
        which = {"uri": self.uri, "version": self.version}
        self.client.notify(
            "textDocument/didChange", {"textDocument": which, "contentChanges": [{"text": text}]}
        )
        return sent

    def said(self) -> tuple[list[Any], float]:
        """Return what is said of the version that it has now, and when."""
        told = self.client.told
        self.client.until(
            lambda: self.uri in told and told[self.uri][0] == self.version, str(self.path)
        )
        return told[self.uri][1], told[self.uri][2]

    def place(self) -> dict[str, int]:
        line = self._draw.randrange(len(self.lines))
        return _position(self.lines, line, self._draw.randint(0, len(self.lines[line])))

    def edit(self) -> Iterator[float]:
        """Make one edit as a person does, in one step or in several; yield when each was sent."""
        draw, lines = self._draw, self.lines
        inside = [at for at, line in enumerate(lines) if line.startswith("    ") and line.strip()]
        kind = draw.choice(("type", "type", "type", "delete", "duplicate", "break", "head", "undo"))
        if kind == "undo" or not inside:
            yield self.replaced(self.original)
            return
        at = draw.choice(inside)
        line = lines[at]
        indent = line[: len(line) - len(line.lstrip())]
        if kind == "delete":
            yield self.change((at, 0), (at, len(line)), f"{indent}pass")
        elif kind == "duplicate":
            yield self.change((at, 0), (at, 0), f"{line}\n")
        elif kind == "break":
            column = draw.randint(len(indent), len(line))
            sent = self.change((at, column), (at, column), draw.choice("()[]'\":,.="))
            yield sent
            self.said()
            yield self.change((at, column), (at, column + 1), "")
        elif kind == "head":
            heads = [n for n, one in enumerate(lines) if one.lstrip().startswith("def ")]
            if heads:
                head = draw.choice(heads)
                column = lines[head].find("(") + 1
                yield self.change((head, column), (head, column), "extra=None, ")
        else:
            names = [word for word in ("x", "self", "batch", "outputs") if word in self.text]
            typed = draw.choice(TYPED).format(name=draw.choice(names or ["x"]))
            yield self.change((at, 0), (at, 0), f"{indent}\n")
            for column, letter in enumerate(typed, len(indent)):
                yield self.change((at, column), (at, column), letter)
                if draw.random() < 0.1:
                    time.sleep(0.05)


def _position(lines: list[str], line: int, column: int) -> dict[str, int]:
    units = len(lines[line][:column].encode("utf-16-le")) // 2
    return {"line": line, "character": units}


def question(document: Document, kind: str) -> tuple[str, Any]:
    which, place = {"uri": document.uri}, document.place()
    if kind == "inlayHint":
        last = {"line": place["line"] + 60, "character": 0}
        return f"textDocument/{kind}", {
            "textDocument": which,
            "range": {"start": place, "end": last},
        }
    if kind == "codeAction":
        context = {"diagnostics": []}
        span = {"start": place, "end": place}
        return f"textDocument/{kind}", {"textDocument": which, "range": span, "context": context}
    more = {"context": {"includeDeclaration": True}} if kind == "references" else {}
    return f"textDocument/{kind}", {"textDocument": which, "position": place, **more}


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(int(len(times) * share), len(times) - 1)] if times else 0.0


def findings(folder: Path, python: str) -> dict[str, set[tuple[int, str, str]]]:
    """Return what a check says that has never seen the project: line, code and message."""
    done = subprocess.run(
        [
            python,
            "-m",
            "shapecheck",
            "check",
            "--only-shapes",
            "--output",
            "json",
            "--",
            "--no-incremental",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, set[tuple[int, str, str]]] = defaultdict(set)
    for line in done.stdout.splitlines():
        one = json.loads(line)
        found[(folder / one["file"]).as_uri()].add((one["line"], one["code"], one["message"]))
    return found


def as_findings(diagnostics: list[Any]) -> set[tuple[int, str, str]]:
    return {
        (one["range"]["start"]["line"] + 1, one["code"], one["message"].partition("\n")[0])
        for one in diagnostics
    }


def chosen(folder: Path, count: int, draw: random.Random) -> list[Path]:
    """Return files that have to do with tensors, the larger the likelier."""
    files = [path for path in sorted(folder.rglob("*.py")) if "site-packages" not in path.parts]
    texts = {path: path.read_text("utf-8", errors="replace") for path in files}
    some = [path for path, text in texts.items() if "torch" in text and "def " in text]
    weights = [len(texts[path]) for path in some]
    return list(dict.fromkeys(draw.choices(some, weights, k=count)))


def run(folder: Path, options: argparse.Namespace) -> list[str]:
    """Go through a session in a copy of a project; print what was measured, return the faults."""
    draw = random.Random(options.seed)
    client = Client(folder, options.python)
    begin = time.perf_counter()
    client.begin({"diagnostics": options.diagnostics})
    documents = [Document(client, path, draw) for path in chosen(folder, options.files, draw)]
    documents[0].said()
    first = time.perf_counter() - begin
    for document in documents:
        document.said()
    opened = time.perf_counter() - begin
    print(f"first diagnostics after {first:.2f} s, of {len(documents)} files after {opened:.2f} s")
    edits: list[float] = []
    worked: list[float] = []
    answers: dict[str, list[float]] = defaultdict(list)
    faults: list[str] = []
    hurried = 0
    for _ in range(options.edits):
        document = draw.choice(documents)
        asked: list[tuple[str, int, float]] = []
        sent, before = time.perf_counter(), client.processor
        for step in document.edit():
            sent = step
            if draw.random() < 0.2:
                kind = draw.choice(QUESTIONS)
                number = client.ask(*question(document, kind))
                if draw.random() < 0.1:
                    client.notify("$/cancelRequest", {"id": number})
                asked.append(("hurried", number, time.perf_counter()))
        if draw.random() < 0.9:
            _, told = document.said()
            edits.append(told - sent)
            worked.append(client.processor - before)
            kind = draw.choice(QUESTIONS)
            begin = time.perf_counter()
            asked.append((kind, client.ask(*question(document, kind)), begin))
        else:
            hurried += 1
        for kind, number, begin in asked:
            message, then = client.answer(number)
            if "error" in message and message["error"]["code"] != -32800:  # cancelled
                faults.append(f"{kind}: {message['error']}")
            answers[kind].append(then - begin)
    for document in documents:  # what is broken has no findings of a cold check
        try:
            compile(document.text, str(document.path), "exec")
        except (SyntaxError, ValueError):
            document.replaced(document.original)
        document.said()
    _print("edit to diagnostics", edits)
    _print("of a processor", worked)
    for kind, times in sorted(answers.items()):
        _print(kind, times)
    print(f"{hurried} edits were followed by another before anything was said")
    settled = _settled(client)
    print(f"memory: {client.memory:,.0f} MB; quiet after {settled:.1f} s")
    for document in documents:
        document.path.write_text(document.text, "utf-8")
    cold = findings(folder, options.python)
    for document in documents:
        now, then = as_findings(client.told[document.uri][1]), cold[document.uri]
        faults += [f"{document.path}: only cold: {one}" for one in sorted(then - now)]
        faults += [f"{document.path}: only the server: {one}" for one in sorted(now - then)]
    client.end()
    faults += client.errors
    return faults


def _settled(client: Client) -> float:
    """Wait until nothing more is said; return for how long there was."""
    begin = last = time.perf_counter()
    while time.perf_counter() - last < 2:
        time.sleep(0.1)
        last = max(last, *(then for *_, then in client.told.values()))
    return last - begin


def _print(what: str, times: list[float]) -> None:
    p50, p95 = (1000 * percentile(times, share) for share in (0.5, 0.95))
    most = 1000 * max(times, default=0)
    print(f"{what:>20}: p50 {p50:6.1f} ms, p95 {p95:6.1f} ms, most {most:7.1f} ms ({len(times)})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("project", type=Path)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--files", type=int, default=12, help="how many files are open")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--diagnostics", default="open", choices=("open", "workspace"))
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, options.project.resolve().name).resolve()
        shutil.copytree(
            options.project, folder, ignore=shutil.ignore_patterns(".git", ".mypy_cache")
        )
        lines = sum(len(path.read_bytes().splitlines()) for path in folder.rglob("*.py"))
        print(f"{options.project.name}: {lines:,} lines of Python")
        faults = run(folder, options)
    for fault in faults:
        print(f"FAULT {fault}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
