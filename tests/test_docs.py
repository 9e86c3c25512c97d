"""Runs every fenced code block of README.md and docs/.

A page is a small project, and its blocks, in order, are what happens in it.

python   A module, named by a first line such as `# attention.py` (else `example.py`). The names
         in `PRELUDE` need no import. It is analysed, then executed with `@shapecheck` on, and its
         functions `test_*` are called.
text     What the plugin says of the module above, each line as `file:line: ...`. Without such a
         block it must say nothing, unless `$ shapecheck check FILE` comes next.
pytb     What executing the module above prints, and the error that ends it. Without such a block
         it must print nothing and end well. A failed `assert` is no output: it fails the page.
pyi      A signature file, named by its first line. It is put into the project, and each signature
         in it is built.
toml     `pyproject.toml`: accepted by `shapecheck.config`, and valid for what follows on the page.
console  `$ mypy FILE` with the module above and the plugin on, and all that mypy prints; or
         `$ shapecheck ...` in the project, and all that it prints (but the lines of signatures).
sh       Commands, of which each is one that `COMMANDS` knows how to check.

A block that can't be run has `<!-- not run: the reason -->` on the line above it; any other kind
of block fails. `pytest tests/test_docs.py --update` writes the text, pytb and console blocks anew;
read the difference.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
import shlex
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Final

import op_oracle
import pytest
from mypy_plugin import conftest as mypy_projects
from repository import ROOT

from shapecheck import config
from shapecheck.analysis import Options, Source, analyze_module
from shapecheck.cli import _COMMANDS
from shapecheck.cli._commands import Commands, new_parser
from shapecheck.ops import RULES
from shapecheck.signatures import Table, table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# `new_project`, a fixture of the tests of the plugin, and all that it needs.
_FIXTURE: Final = type(mypy_projects.new_project)
globals().update({k: v for k, v in vars(mypy_projects).items() if isinstance(v, _FIXTURE)})

PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN: Final = ("messages.md",)
"""Pages that a program writes; its own test keeps them."""
PRELUDE: Final = """\
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import einops
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import BFloat16, Bool, Float, Float32, Int, Shaped, ShapeError
from shapecheck import assert_shape, dims_of, disabled, named, reveal_shape, shapecheck
"""
OUTPUTS: Final = ("text", "pytb", "console")
FENCE: Final = re.compile(r"^\s*(`{3,}|~{3,})")


@dataclass(slots=True)
class Block:
    """One fenced block: its kind, its text, the line of its fence, and why it isn't run, if so."""

    kind: str
    text: str
    line: int
    excuse: str | None = None

    @property
    def name(self) -> str | None:
        """The file's name, where the first line is a comment that says one."""
        found = re.match(r"# ([\w./-]+\.pyi?)\n", self.text)
        return found[1] if found else None


@dataclass(slots=True)
class Example:
    """A Python block and the outputs that belong to it."""

    block: Block
    outputs: dict[str, Block] = field(default_factory=dict)


def read(path: Path) -> list[Block]:
    """Return all fenced blocks of a page."""
    blocks: list[Block] = []
    lines = path.read_text("utf-8").splitlines()
    at = 0
    while at < len(lines):
        if FENCE.match(lines[at]):
            opened = re.fullmatch(r"```([a-z]*)", lines[at])
            assert opened, f"{path.name}:{at + 1}: a fence is ```kind, at the start of the line"
            stop = lines.index("```", at + 1)
            excuse = re.fullmatch(r"<!-- not run: (.+) -->", lines[at - 1]) if at else None
            text = "".join(f"{line}\n" for line in lines[at + 1 : stop])
            blocks.append(Block(opened[1], text, at + 1, excuse[1] if excuse else None))
            at = stop
        at += 1
    return blocks


class NoSources:
    """A host that has no other module."""

    def source(self, module: str) -> Source | None:
        """There is none."""
        return None


class Page:
    """A page while its blocks are run; `folder` is the project that they make up."""

    def __init__(self, path: Path, folder: Path, request: pytest.FixtureRequest) -> None:
        self.path, self.folder, self.request = path, folder, request
        self.update: bool = request.config.getoption("--update")
        self.edits: list[tuple[Block, str, str]] = []
        self.settings = config.Config()
        self.example: Example | None = None
        self.printed: dict[str, str] = {}
        self.problems: list[str] = []

    def run(self) -> None:
        """Run all blocks; `problems` are those that don't do what the page says."""
        for block in read(self.path):
            if block.excuse is not None:
                continue
            handler = HANDLERS.get(block.kind)
            if handler is None:
                self.fail(block, f'a block of kind "{block.kind}" is neither run nor excused')
                continue
            if block.kind not in OUTPUTS or is_own_command(block):
                if self.example and self.example.block.name in checked_by(block):
                    self.printed.pop("text", None)
                self.finish()
            handler(self, block)
        self.finish()

    def fail(self, block: Block, why: str) -> None:
        self.problems.append(f"{self.path.name}:{block.line}: {why}")

    def python(self, block: Block) -> None:
        """Analyse and execute a module."""
        name = block.name or "example.py"
        self.example = Example(block)
        setattr(op_oracle, "table", lambda: table(self.stubs))  # noqa: B010 - imported there
        if block.name is not None:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        table.cache_clear()
        self.printed = {
            "text": analysed(
                block.text,
                name,
                Options(self.settings.strict, self.stubs, self.settings.wrappers),
            ),
            "pytb": executed(block.text, name),
        }

    @property
    def stubs(self) -> tuple[str, ...]:
        """The folders of signature files: the user's, and additions to the shipped one."""
        additions = self.folder / "stubs"
        return (*self.settings.stubs, *([str(additions)] if additions.is_dir() else []))

    def output(self, block: Block) -> None:
        """Note what is expected of the module above."""
        if is_own_command(block):
            self.command(block)
            return
        if self.example is None or block.kind in self.example.outputs:
            self.fail(block, "output of no module")
            return
        self.example.outputs[block.kind] = block
        if block.kind == "console":
            self.printed["console"] = self.mypy(block)

    def finish(self) -> None:
        """Compare what is expected of a module with what came out."""
        example, self.example = self.example, None
        if example is None:
            return
        for kind, printed in self.printed.items():
            expected = example.outputs.get(kind)
            # What mypy prints stands for what the analysis says.
            if kind == "text" and "console" in example.outputs:
                continue
            # An empty block of output says less than none.
            if printed == (expected.text if expected is not None else "") and (
                printed or expected is None
            ):
                continue
            if self.update:
                self.edits.append((expected or example.block, kind, printed))
            else:
                said = expected.text if expected is not None else "(nothing)\n"
                self.fail(
                    expected or example.block,
                    f"the page says ({kind})\n{said}and it really is\n{printed or '(nothing)'}",
                )

    def command(self, block: Block) -> None:
        """Run `$ shapecheck ...` in the project, and compare what is printed."""
        first = block.text.partition("\n")[0]
        arguments = shlex.split(first.removeprefix("$ "))[1:]
        files = {p.name: p.read_text("utf-8") for p in self.folder.glob("*.py")}
        if arguments[0] == "check":
            project = self.request.getfixturevalue("new_project")(files, fake=False)
        else:
            environment = {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
            project = mypy_projects.Project(self.folder, environment)
        done = project.run(*arguments, module="shapecheck")
        printed = f"{first}\n{done.stdout}{done.stderr}"
        printed = re.sub(r"(\.pyi|  defined in \S+):\d+", r"\1", printed)
        printed = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
        if printed == block.text:
            return
        if self.update:
            self.edits.append((block, "console", printed))
        else:
            self.fail(block, f"the page says\n{block.text}and it really is\n{printed}")

    def mypy(self, block: Block) -> str:
        """Run mypy as the first line says, and return that line with what mypy printed."""
        assert self.example is not None
        command = block.text.partition("\n")[0]
        name = self.example.block.name or "example.py"
        if command != f"$ mypy {name}":
            self.fail(block, f"the first line should be: $ mypy {name}")
            return block.text
        # Asked for late: most pages can do without the time that mypy takes to read torch.
        new_project: Callable[..., mypy_projects.Project]
        new_project = self.request.getfixturevalue("new_project")
        project = new_project({name: self.example.block.text}, fake=False)
        done = project.run(name)
        return f"{command}\n{done.stdout}{done.stderr}"

    def stub(self, block: Block) -> None:
        """Put a signature file into the project and build all that is in it."""
        if block.name is None:
            self.fail(block, "the first line should name the signature file")
            return
        path = self.folder / block.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, "utf-8")
        found = Table([self.folder / Path(block.name).parts[0]])
        names = list(found.names(".".join(Path(block.name).with_suffix("").parts[1:2])))
        defined = sum(isinstance(n, ast.FunctionDef) for n in ast.walk(ast.parse(block.text)))
        if not names or len(names) < defined:
            self.fail(block, f"{defined} signatures, but only these names are known: {names}")
        for name in names:
            found.signature(name)
        # No library of this name is installed: a stand-in, for modules that import it.
        library = types.ModuleType(Path(block.name).with_suffix("").parts[1])
        library.__dict__["__getattr__"] = lambda name: None
        sys.modules.setdefault(library.__name__, library)

    def settings_file(self, block: Block) -> None:
        """Read a configuration, which is valid from here on."""
        path = self.folder / "pyproject.toml"
        path.write_text(block.text, "utf-8")
        self.settings = config.load(path)
        table.cache_clear()
        for tool, settings in tomllib.loads(block.text)["tool"].items():
            if tool == "mypy" and settings != {"plugins": ["shapecheck.mypy_plugin"]}:
                self.fail(block, "mypy is run with the one setting that puts the plugin on")
            if tool not in ("mypy", "shapecheck"):
                self.fail(block, f"no test reads the settings of {tool}")

    def shell(self, block: Block) -> None:
        """Check each command."""
        for line in block.text.splitlines():
            command = line.partition("  #")[0].strip()
            if command and not any(check(command) for check in COMMANDS):
                self.fail(block, f"nothing here can check the command: {command}")

    def write(self) -> None:
        """Rewrite the outputs that have changed."""
        lines = self.path.read_text("utf-8").splitlines()
        for block, kind, printed in reversed(self.edits):
            stop = lines.index("```", block.line)
            if block.kind == kind and not printed:
                del lines[block.line - 1 : stop + 2]
            elif block.kind == kind:
                lines[block.line : stop] = printed.splitlines()
            else:
                lines[stop + 1 : stop + 1] = ["", f"```{kind}", *printed.splitlines(), "```"]
        self.path.write_text("\n".join(lines) + "\n", "utf-8")


HANDLERS: Final[Mapping[str, Callable[[Page, Block], None]]] = {
    "python": Page.python,
    **dict.fromkeys(OUTPUTS, Page.output),
    "pyi": Page.stub,
    "toml": Page.settings_file,
    "sh": Page.shell,
}


def analysed(text: str, name: str, options: Options) -> str:
    """Return what the analysis says of a module, as mypy prints it.

    The prelude stands at the end, so that line numbers are those of the block.
    """
    lines = []
    source = text.splitlines()
    for found in analyze_module(Source("example", name, text + PRELUDE), NoSources(), options):
        # What mypy does with a diagnostic on such a line is tested with mypy.
        if "# type: ignore[shape]" in source[found.span.line - 1]:
            continue
        code = f"  [{found.code}]" if found.severity == "error" else ""
        lines.append(f"{name}:{found.span.line}: {found.severity}: {found.message}{code}\n")
    return "".join(lines)


def executed(text: str, name: str) -> str:
    """Execute a module; return what it prints and, as Python shows it, the error that ends it.

    It can be imported by the later modules of its page.
    """
    module = types.ModuleType(name.removesuffix(".py").replace("/", "."))
    exec(PRELUDE, module.__dict__)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    sys.modules[module.__name__] = module
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)
            for test in [f for n, f in vars(module).items() if n.startswith("test_")]:
                test()
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 - what an example raises is what it shows
            printed.write(f"{type(error).__name__}: {error}\n")
    return printed.getvalue()


def is_make(command: str) -> bool:
    """Whether each target of a `make` command is in the Makefile."""
    program, *targets = command.split()
    makefile = (ROOT / "Makefile").read_text("utf-8")
    known = re.findall(r"^([\w-]+):", makefile, re.MULTILINE)
    return program == "make" and set(targets) <= set(known)


def is_install(command: str) -> bool:
    """Whether a `pip install` command installs this distribution, with extras that it has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = re.fullmatch(r"pip install '?([\w-]+)(?:\[([\w,]+)\])?'?", command)
    if found is None or found[1] != project["name"]:
        return False
    extras = set(filter(None, (found[2] or "").split(",")))
    return extras <= set(project["optional-dependencies"])


def is_mypy(command: str) -> bool:
    """Whether a command is mypy over a folder or file; console blocks show one that is run."""
    return re.fullmatch(r"mypy [\w./]+", command) is not None


def is_setting(command: str) -> bool:
    """Whether a command sets `SHAPECHECK` to a value that it can have, for a Python program."""
    found = re.fullmatch(r"SHAPECHECK=(\w+) python [\w./]+", command)
    return found is not None and found[1] in ("off", "boundary", "full")


def is_test(command: str) -> bool:
    """Whether a command is pytest over tests that exist, or with an option of ours."""
    found = re.fullmatch(r"pytest (--shapecheck-record=)?([\w./]+)", command)
    return found is not None and (bool(found[1]) or (ROOT / found[2]).exists())


def is_own_command(block: Block) -> bool:
    """Whether a block shows what a command of ours prints."""
    return block.kind == "console" and block.text.startswith("$ shapecheck ")


def checked_by(block: Block) -> list[str]:
    """The files that `shapecheck check` names in a block: what it prints is compared as a whole."""
    words = block.text.partition("\n")[0].split() if is_own_command(block) else []
    return words if words[2:3] == ["check"] else []


def is_shapecheck(command: str) -> bool:
    """Whether a command is one of ours, with arguments that it takes."""
    program, *arguments = shlex.split(command)
    if program != "shapecheck":
        return False
    parser = new_parser()
    commands = Commands(parser)
    for name in _COMMANDS:
        import_module(f"shapecheck.cli.{name}").register(commands)
    if "--" in arguments:
        arguments = arguments[: arguments.index("--")]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            parser.parse_args(arguments)
    except SystemExit:
        return False
    return True


COMMANDS: Final = (is_shapecheck, is_make, is_install, is_mypy, is_setting, is_test)


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the modules, sources and rules that a page defines."""
    monkeypatch.setenv("SHAPECHECK", "full")
    monkeypatch.setattr(op_oracle, "table", table)
    modules, sources, rules = set(sys.modules), dict(linecache.cache), dict(RULES)
    yield
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) is None:
            del sys.modules[name]
    linecache.cache.clear()
    linecache.cache.update(sources)
    RULES.clear()
    RULES.update(rules)
    table.cache_clear()


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(
    "path", [page for page in PAGES if page.name not in WRITTEN], ids=lambda path: path.name
)
def test_page(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every block of a page does what the page says."""
    page = Page(path, tmp_path, request)
    page.run()
    if page.update:
        page.write()
    assert not page.problems, "\n\n".join(page.problems)


def test_links() -> None:
    """What the pages link to in this repository exists."""
    for path in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", path.read_text("utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_messages() -> None:
    """The page that compares messages says what is said; `make messages` writes it anew."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    page = import_module("messages.page")
    assert page.PAGE.read_text("utf-8") == page.page(), "make messages writes docs/messages.md anew"
