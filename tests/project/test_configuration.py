"""mypy's configuration is read as mypy reads it: the same values, for any module."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import pytest
from mypy.main import process_options

from shapecheck.project.configuration import read, with_values
from shapecheck.project.settings import Settings

MODULES: Final = (
    "a a.b a.b.c a.b.c.d b b.c z.tests.y a.tests tests x.y.z x.q.z deep.a.x deep.b.x".split()
)
SECTIONS: Final = """\
[mypy]
follow_imports = silent
disable_error_code = misc, attr-defined
enable_error_code = attr-defined
exclude = (?x)(^one/ | two)
mypy_path = src:$MYPY_CONFIG_FILE_DIR/lib, ${HERE}/x ,
files = *.py, gone, ~/y
no_namespace_packages = yes
unknown = 1
[mypy-a.*]
follow_imports = normal
disable_error_code = union-attr
[mypy-a.b]
ignore_errors = on
[mypy-a.b.c.*,b]
enable_error_code = union-attr
follow_imports_for_stubs = True
[mypy-*.tests.*]
ignore_errors = True
[mypy-x.*.z]
follow_imports = skip
[mypy-x.y.*]
follow_imports = error
[mypy-deep.*.x]
disable_error_code = misc
[mypy-deep.b.*]
enable_error_code = misc
"""
TOML: Final = """\
[tool.mypy]
files = ["m.py", "pkg"]
exclude = ["^one/", "two", ""]
mypy_path = "$MYPY_CONFIG_FILE_DIR/src"
modules = "x, y"
python_version = "3.12"
namespace_packages = false
follow_imports = "skip"
[[tool.mypy.overrides]]
module = ["a.*", "b"]
ignore_errors = true
[[tool.mypy.overrides]]
module = "a.b"
follow_imports = "normal"
disable_error_code = ["misc"]
[[tool.mypy.overrides]]
module = "b"
enable_error_code = "misc"
"""
BROKEN: Final = """\
[mypy]
follow_imports = sometimes
ignore_errors = perhaps
namespace_packages = false
exclude =
[mypy-a?]
ignore_errors = True
"""


@pytest.mark.parametrize(
    ("files", "folder", "given"),
    [
        ({"mypy.ini": SECTIONS, "m.py": "", "n.py": ""}, ".", None),
        ({".mypy.ini": SECTIONS, "setup.cfg": "[mypy]\nexclude = no\n"}, "inner", None),
        ({"pyproject.toml": TOML}, ".", None),
        ({"pyproject.toml": TOML, "mypy.ini": "[mypy]\n"}, ".", None),
        ({"pyproject.toml": "[tool.other]\n", "setup.cfg": SECTIONS}, "inner", None),
        ({"pyproject.toml": "[tool.mypy\n", "setup.cfg": "[other]\n"}, ".", None),
        ({"inner/.git/x": "", "mypy.ini": SECTIONS}, "inner", None),
        ({"inner/.git/x": "", ".config/mypy/config": SECTIONS}, "inner", None),
        ({".mypy.ini": "[mypy]\nexclude = x\n", "inner/.hg/x": ""}, "inner", None),
        ({"sub/own.cfg": SECTIONS, "mypy.ini": "[mypy]\nexclude = x\n"}, ".", "sub/own.cfg"),
        ({"own.toml": TOML}, ".", "own.toml"),
        ({"mypy.ini": BROKEN}, ".", None),
        ({}, ".", None),
    ],
)
def test_the_same_settings(
    files: dict[str, str],
    folder: str,
    given: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the file and its form, wherever it lies."""
    for name, text in {**files, f"{folder}/here": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path / folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HERE", "here")
    monkeypatch.setenv("MYPYPATH", "one:two")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("MYPY_CONFIG_FILE_DIR", raising=False)
    # What mypy has found before, it looks for no more.
    monkeypatch.setattr(
        "mypy.defaults.USER_CONFIG_FILES",
        [str(tmp_path / ".config/mypy/config"), str(tmp_path / ".mypy.ini")],
    )
    assert of_ours(read(given).settings) == of_mypy(["--config-file", given] if given else [])


def test_options_are_added_to_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists grow, a code that is enabled anywhere is, and other values are the last ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MYPYPATH", raising=False)
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nexclude = one\nenable_error_code = misc\nfollow_imports = skip\n"
        "[mypy-a.b]\nfollow_imports = error\n"
    )
    (tmp_path / "m.py").write_text("")
    options = [
        "--exclude=two",
        "--disable-error-code=misc",
        "--disable-error-code=union-attr",
        "--follow-imports=silent",
        "m.py",
    ]
    told = {
        "exclude": ("two",),
        "disable_error_code": ("misc", "union-attr"),
        "follow_imports": "silent",
    }
    ours, theirs = of_ours(with_values(read().settings, told)), of_mypy(options)
    assert ours == theirs


def of_ours(settings: Settings) -> dict[str, object]:
    """Return what our settings say."""
    found: dict[str, object] = {
        "files": settings.files,
        "exclude": settings.exclude,
        "mypy_path": tuple(path for path in settings.mypy_path if path not in ("one", "two")),
        "modules": settings.modules,
        "namespace_packages": settings.namespace_packages,
        "config_file": settings.config_file,
    }
    for module in MODULES:
        one = settings.of(module)
        found[module] = (
            one.follow_imports,
            one.follow_imports_for_stubs,
            one.ignore_errors,
            {code for code in ("misc", "attr-defined", "union-attr") if code in one.disabled},
            {code for code in ("misc", "attr-defined", "union-attr") if code in one.enabled},
        )
    return found


def of_mypy(arguments: list[str]) -> dict[str, object]:
    """Return what mypy's options say."""
    try:
        _, options = process_options(arguments, stderr=io.StringIO(), require_targets=False)
    except SystemExit:  # what the configuration names isn't there
        _, options = process_options([*arguments, "-c", ""], stderr=io.StringIO())
    options.process_error_codes(error_callback=print)
    found: dict[str, object] = {
        "files": tuple(options.files or ()),
        "exclude": tuple(options.exclude),
        "mypy_path": tuple(options.mypy_path),
        "modules": tuple(options.modules or ()),
        "namespace_packages": options.namespace_packages,
        "config_file": options.config_file,
    }
    for module in MODULES:
        one = options.clone_for_module(module)
        found[module] = (
            one.follow_imports,
            one.follow_imports_for_stubs,
            one.ignore_errors,
            {code.code for code in one.disabled_error_codes},
            {code.code for code in one.enabled_error_codes},
        )
    return found
