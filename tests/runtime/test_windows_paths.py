"""Paths as Windows has them, by its rules: backslashes, letters of either case, drives."""

from __future__ import annotations

import ntpath
import posixpath
from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest

from shapecheck.record.files import is_named, name_in_record
from shapecheck.runtime.folders import lies_in

PROJECT = PureWindowsPath("D:\\Work\\project")


@pytest.mark.parametrize(
    ("file", "is_inside"),
    [
        (r"C:\venv\Lib\site-packages\torch\nn\functional.py", True),
        (r"c:\venv\lib\site-packages\torch\nn\functional.py", True),
        (r"C:/venv/Lib/site-packages\torch\_tensor.py", True),
        ("<shapecheck checks of f>", True),
        (r"C:\venv\Lib\site-packages\torchvision\ops.py", False),
        (r"D:\venv\Lib\site-packages\torch\_tensor.py", False),
        (r"C:\project\torch\_tensor.py", False),
        ("<stdin>", False),
    ],
)
def test_a_file_lies_in_a_folder_however_it_is_spelled(file: str, is_inside: bool) -> None:
    """Python has the path of the import, with the separators and the case that stood there."""
    folder = "C:\\venv/Lib\\site-packages\\torch"
    assert lies_in(folder, also="<shapecheck", paths=ntpath)(file) is is_inside


def test_case_tells_files_apart_where_it_does() -> None:
    """Elsewhere a backslash is a letter, and `Torch` isn't `torch`."""
    is_torch = lies_in("/venv/torch", paths=posixpath)
    assert is_torch("/venv/torch/_tensor.py")
    assert not is_torch("/venv/Torch/_tensor.py")
    assert not is_torch("/venv/torch\\_tensor.py")
    assert not lies_in(paths=posixpath)("/venv/torch/_tensor.py")


@pytest.mark.parametrize(
    ("path", "root", "name"),
    [
        (PROJECT / "src" / "net.py", PROJECT, "src/net.py"),
        (PROJECT / "src" / "net.py", PureWindowsPath("d:/work/PROJECT"), "src/net.py"),
        (PROJECT / "src" / "net.py", None, "Work/project/src/net.py"),
        (PurePosixPath("/work/src/net.py"), PurePosixPath("/work"), "src/net.py"),
        (PurePosixPath("/work/src/net.py"), None, "work/src/net.py"),
    ],
)
def test_a_record_names_files_without_drives(path: PurePath, root: PurePath, name: str) -> None:
    """And finds them again by that."""
    assert name_in_record(path, root) == name
    assert is_named(path, name)


def test_a_file_on_another_drive_lies_elsewhere() -> None:
    """It isn't recorded, as one outside of the project."""
    with pytest.raises(ValueError, match=r"net\.py"):
        name_in_record(PureWindowsPath("E:\\net.py"), PROJECT)


@pytest.mark.parametrize(
    ("name", "is_its"),
    [
        ("src/net.py", True),
        ("/Work/project/src/net.py", True),
        ("SRC/Net.py", True),
        ("other/net.py", False),
        ("rc/net.py", False),
    ],
)
def test_a_name_in_a_record_may_be_a_file(name: str, is_its: bool) -> None:
    """By whole parts of the path, and of either case where the system doesn't tell them apart."""
    assert is_named(PROJECT / "src" / "net.py", name) is is_its
    assert is_named(PurePosixPath("/Work/project/src/net.py"), name) is (is_its and name[0] != "S")
