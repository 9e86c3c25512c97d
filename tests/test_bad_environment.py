"""What is installed doesn't fit: a clear message that names it and the way out, never a traceback.

Each case is a real virtual environment that sees this one's packages, with a stand-in for torch in
front of torch, so that no case waits for mypy to read torch itself.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
from repository import ROOT

PROGRAM = """\
from typing import Annotated

from torch import Tensor


def same(x: Annotated[Tensor, "b c"]) -> Annotated[Tensor, "b c"]:
    return x
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment and a project in it."""

    site_packages: Path
    python: Path
    project: Path

    def install(self, name: str, version: str, files: dict[str, str]) -> None:
        """Put a distribution into the environment, with the metadata that pip would write."""
        write(self.site_packages, files)
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        record = "".join(f"{file},,\n" for file in (*files, f"{info}/METADATA", f"{info}/RECORD"))
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        write(self.site_packages, {f"{info}/METADATA": metadata, f"{info}/RECORD": record})

    def install_torch(self, version: str) -> None:
        """Install a stand-in for torch: its version, and a class `Tensor` where torch has it."""
        self.install(
            "torch",
            version,
            {
                "torch/py.typed": "",
                "torch/version.py": f'__version__ = "{version}"\n',
                "torch/_tensor.py": "class Tensor: ...\n",
                "torch/__init__.py": "from torch._tensor import Tensor as Tensor\n"
                "from torch.version import __version__ as __version__\n",
            },
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python in the project's folder."""
        return subprocess.run(
            [self.python, *arguments],
            cwd=self.project,
            capture_output=True,
            text=True,
            check=False,
        )

    def mypy(self, prelude: str = "") -> str:
        """Run mypy over the project after a line of Python; return what it printed."""
        main = "import mypy.main; mypy.main.main(args=['program.py'], clean_exit=True)"
        done = self.run("-c", f"{prelude}\n{main}")
        assert "Traceback" not in done.stdout + done.stderr
        assert done.returncode, "mypy is content: " + done.stdout
        return done.stdout + done.stderr


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """A virtual environment without torch, and a project that has the plugin on."""
    folder = tmp_path / "venv"
    venv.create(folder, symlinks=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "parent.pth").write_text(
        "\n".join([str(ROOT), *(path for path in sys.path if path.endswith("-packages"))])
    )
    project = tmp_path / "project"
    settings = '[tool.mypy]\nplugins = ["shapecheck.mypy_plugin"]\n'
    write(project, {"pyproject.toml": settings, "program.py": PROGRAM})
    return Environment(site_packages, folder / "bin" / "python", project)


def test_mypy_is_too_old(environment: Environment) -> None:
    """The plugin says which mypy it needs, and which one runs it."""
    environment.install_torch("2.13.0")
    printed = environment.mypy("import mypy.version; mypy.version.__version__ = '2.3.1'")
    assert "shapecheck needs mypy 2.4 or newer" in printed
    assert "2.3.1" in printed


def test_torch_is_too_old_for_the_plugin(environment: Environment) -> None:
    """The plugin says which torch it needs, and which one is installed."""
    environment.install_torch("2.3.1")
    printed = environment.mypy()
    assert "shapecheck needs torch 2.4 or newer" in printed
    assert "2.3.1" in printed


def test_torch_is_too_old_for_the_run_time(environment: Environment) -> None:
    """Importing the decorator says the same."""
    environment.install_torch("2.3.1")
    done = environment.run("-c", "from shapecheck import shapecheck")
    assert done.returncode
    last_line = done.stderr.strip().splitlines()[-1]
    assert "ImportError: shapecheck needs torch 2.4 or newer" in last_line
    assert "2.3.1" in last_line


def test_torch_stubs_of_another_project(environment: Environment) -> None:
    """Stubs that take the place of torch's own types: whose they are, and how to be rid of them."""
    environment.install_torch("2.13.0")
    environment.install(
        "pyrefly-torch-stubs",
        "1.4.1",
        {"torch-stubs/__init__.pyi": "class Tensor[*Shape]: ...\n"},
    )
    printed = environment.mypy()
    assert "torch-stubs" in printed
    assert "pip uninstall pyrefly-torch-stubs" in printed


@pytest.mark.parametrize(
    ("stub", "said"),
    [
        (
            b"def scale(x: Num[Tensor, '*s') -> Num[Tensor, '*s']: ...\n",
            "mylib.pyi:1: error: not Python: closing parenthesis ')' does not match opening "
            "parenthesis '['\n",
        ),
        (
            b"\n\ndef scale(x: Num[Tensor, 'b $']) -> Num[Tensor, 'b']: ...\n",
            "mylib.pyi:3: error: in \"b $\": '$' isn't part of the language; ",
        ),
        (
            b"\ndef scale(x: Num[Tensor, 'b']) -> Rule['stretch']: ...\n",
            "mylib.pyi:2: error: there is no rule 'stretch'\n",
        ),
        (b"# \xff\xfe\n", "mylib.pyi:1: error: can't be read: byte 0xff isn't UTF-8\n"),
    ],
    ids=["not Python", "not a shape", "no such rule", "not text"],
)
def test_a_signature_file_cannot_be_read(environment: Environment, stub: bytes, said: str) -> None:
    """A user's own signature file: which file, and which line of it."""
    environment.install_torch("2.13.0")
    write(
        environment.project,
        {
            "my_stubs/mylib.pyi": stub.decode("latin-1"),
            "mylib.py": "def scale(x):\n    return x\n",
            "program.py": PROGRAM.replace("return x", "return mylib.scale(x)").replace(
                "from typing", "import mylib\nfrom typing", 1
            ),
        },
        encoding="latin-1",
    )
    with (environment.project / "pyproject.toml").open("a") as settings:
        settings.write('[tool.shapecheck]\nstubs = ["my_stubs"]\n')
    assert f"\nmy_stubs/{said}" in environment.mypy()


def test_the_same_project_in_a_good_environment(environment: Environment) -> None:
    """The stand-ins themselves draw no message: what the tests above see is the case's own."""
    environment.install_torch("2.13.0")
    done = environment.run("-m", "mypy", "program.py")
    assert done.stdout.startswith("Success"), done.stdout + done.stderr


def write(folder: Path, files: dict[str, str], encoding: str = "utf-8") -> None:
    """Write files, by their path in a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding=encoding)
