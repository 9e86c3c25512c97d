"""What is found without mypy is what mypy with the plugin finds.

Each case is a small project in which modules say what a stand-in for the analysis reports, and
which modules it sees. mypy checks each once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from mypy_plugin.conftest import Project

NewProject = Callable[..., Project]

SEEN: Final = "# @ error 1:0-1:1: seen, torch\n"
IGNORED: Final = """\
x = (
    1
    + 2  # type: ignore[shape]
)
y = 1  # type: ignore[attr-defined]
z = 1  # noqa # type: ignore
z = "# type: ignore"
z = 1  # type: ignore[shape, attr-defined] # why
z = 1  # type: ignore[shape-dtype]
z = 1 #type:ignore
z = 1  # type: int  # type: ignore[shape]
z = 1  # type: ignore # noqa
z = 1
reveal_type(z)
reveal_type(z)  # type: ignore[misc]
# torch
# @ error 1:0-4:1: over several lines
# @ note 1:0-4:1: and its note
# @ error 5:0-5:5: not covered
# @ note 5:0-5:5: its note
# @ note 5:0-5:5: its other note
# @ error 5:0-5:5 shape-dtype: not covered either
# @ error 6:0-6:5: not this kind of comment
# @ error 7:0-7:5: a string
# @ error 8:0-8:5: several codes
# @ error 9:0-9:5: of the sub-code
# @ error 9:0-9:5 shape-dtype: the sub-code
# @ error 10:0-10:5: without a code
# @ error 11:0-11:5: after a type
# @ error 12:0-12:5: before another comment
# @ error 8:0-8:5 shape-dtype: a sub-code of several
# @ error 13:0-13:1: twice
# @ error 13:0-13:1: twice
# @ error 13:0-13:0: empty
# @ note 13:0-13:1: a note at the place of an error
# @ note 13:4-13:5: a note on its own
# @ note 14:0-14:14: Revealed shape is "b c"
# @ note 15:0-15:14: Revealed shape is "b d"
"""
LOOKS: Final = "# @ look {}\n# torch\n"


def looks(*modules: str) -> str:
    """Return a module that imports others, and tells what it sees of them."""
    return "".join(f"import {name}\n# @ look {name}\n" for name in modules) + "# torch\n"


@dataclass
class Case:
    """A project, the arguments of the command line, and a line that must be among the results.

    `hidden`: of how many files nothing is said, which isn't known through mypy.
    """

    files: dict[str, str]
    expected: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    binary: dict[str, bytes] = field(default_factory=dict)
    hidden: str = ""


CASES: Final = {
    "comments and sections": Case(
        {
            "mypy.ini": "[mypy]\nplugins = shapecheck.mypy_plugin\ncache_dir = cache\n"
            "disable_error_code = shape-ragged\n"
            "[mypy-quiet.*]\nignore_errors = True\n"
            "[mypy-quiet.loud]\nignore_errors = False\n"
            "[mypy-*.dtypes]\ndisable_error_code = shape-dtype\n"
            "[mypy-deep.a.*]\ndisable_error_code = shape\n"
            "[mypy-deep.a.b.*,deep.c]\nenable_error_code = shape\n",
            "ignored.py": IGNORED,
            "quiet/__init__.py": SEEN,
            "quiet/m.py": SEEN,
            "quiet/loud.py": SEEN,
            "deep/__init__.py": "",
            "deep/dtypes.py": f"{SEEN}# @ error 2:0-2:1 shape-dtype: dtype\n",
            "deep/a/__init__.py": SEEN,
            "deep/a/m.py": f"{SEEN}# @ error 2:0-2:1 shape-dtype: dtype\n",
            "deep/a/b/__init__.py": SEEN,
            "deep/c.py": f"{SEEN}# @ error 2:0-2:1 shape-ragged: ragged\n",
            "errors.py": f"# mypy: ignore-errors\n{SEEN}",
            "codes.py": "# mypy: disable-error-code=shape-dtype\n"
            '# mypy: disable-error-code="shape-strict, shape-ragged"\n'
            f"{SEEN}# @ error 4:0-4:1 shape-dtype: dtype\n# @ error 5:0-5:1 shape-strict: s\n",
            "all_codes.py": f"# mypy: disable-error-code=shape\n{SEEN}# @ note 2:0-2:1: note\n",
            "enabled.py": f"# mypy: enable-error-code=shape-ragged\n{SEEN}"
            "# @ error 3:0-3:1 shape-ragged: ragged\n",
            "crash.py": "# @ crash\n# torch\n",
            "whole.py": f"#!python\n\n# why\n# type: ignore\n{SEEN}x = 1\n",
            "coded.py": f"# type: ignore[shape, misc]\n{SEEN}x = 1\n",
            "after.py": f'"""Text."""\n# type: ignore\n{SEEN}',
        },
        "quiet/loud.py:1: seen, torch",
        hidden="Nothing is said of 4 of 18 files: `ignore_errors` in the settings, or "
        "`# type: ignore` on top of them, hides it\n",
    ),
    "where modules lie": Case(
        {
            "pyproject.toml": '[tool.mypy]\nplugins = ["shapecheck.mypy_plugin"]\n'
            'cache_dir = "cache"\nfiles = ["src/*", "$MYPY_CONFIG_FILE_DIR/tools", "one.py"]\n'
            'mypy_path = ["$MYPY_CONFIG_FILE_DIR/more", "src"]\n'
            'exclude = ["/generated/", "_pb2\\\\.py$"]\n'
            '[[tool.mypy.overrides]]\nmodule = ["skipped", "skipped.*"]\nfollow_imports = "skip"\n'
            '[[tool.mypy.overrides]]\nmodule = "silent.*"\nfollow_imports = "silent"\n'
            '[[tool.mypy.overrides]]\nmodule = "refused"\nfollow_imports = "error"\n',
            "src/pkg/__init__.py": "",
            "src/pkg/m.py": looks("pkg.stubbed", "helper", "pkg.space.deep", "skipped", "silent.m"),
            "src/pkg/stubbed.py": SEEN + "# says code\n",
            "src/pkg/stubbed.pyi": SEEN + "# says stub\n",
            "src/pkg/space/deep.py": SEEN + "# says namespace\n",
            "src/pkg/generated/g.py": SEEN,
            "src/pkg/a_pb2.py": SEEN,
            "src/pkg/.hidden/h.py": SEEN,
            "more/helper.py": SEEN + "# says helper\n",
            "more/skipped.py": SEEN + "# says skipped\n",
            "more/silent/__init__.py": SEEN,
            "more/silent/m.py": f"{SEEN}# says silent\nimport behind\n",
            "more/behind.py": SEEN,
            "more/refused.py": SEEN,
            "more/win.py": SEEN,
            "more/checked.py": SEEN,
            "more/late.py": SEEN,
            "more/sub/__init__.py": SEEN,
            "more/sub/one.py": SEEN,
            "more/sub/two.py": SEEN,
            "tools/run.py": "import sys\nfrom typing import TYPE_CHECKING\n"
            "if sys.platform == 'win33':\n    import win\n"
            "if TYPE_CHECKING:\n    import checked\n"
            "def f():\n    import late; import refused\n"
            "from sub import (\n    one,\n    nothing,  # type: ignore\n)\n"
            '"""\nimport gone.from_text\n"""\n' + SEEN,
            "one.py": looks("pkg.stubbed", "tools.run") + "from handed import f\n",
            "handed.py": "from defines import f\n",
            "defines.py": "import jaxtyping  # type: ignore\ndef f() -> None: ...\n",
            "two.py": SEEN,
        },
        "more/sub/one.py:1: seen, torch",
    ),
    "handed on": Case(
        {
            "setup.cfg": "[mypy]\nplugins = shapecheck.mypy_plugin\ncache_dir = cache\n",
            "user.py": "import api\n# @ error 1:0-1:1: for what it imports\n",
            "name.py": "from api import f as g\n# @ error 1:0-1:1: a name\n",
            "star.py": "from api import *\n# @ error 1:0-1:1: all names\n",
            "other.py": "from api import plain\n# @ error 1:0-1:1: none of it\n",
            "module.py": "from api import inner\n# @ error 1:0-1:1: a module\n",
            "attribute.py": "import api.inner\n# @ error 1:0-1:1: by its package\n",
            "inside.py": "def h():\n    from api import f\n# @ error 1:0-1:1: in a function\n",
            "tried.py": "try:\n    from api import f\nexcept ImportError:\n    f = None\n"
            "# @ error 1:0-1:1: tried\n",
            "variable.py": "from api import size\n# @ error 1:0-1:1: a variable\n",
            "circle.py": "from left import lost, f  # type: ignore\n# @ error 1:0-1:1: a circle\n",
            "left.py": "from right import *\n",
            "right.py": "from left import *\nfrom api import f as f\n",
            "api/__init__.py": "from .inner import f as f\nfrom .plain import *\n"
            "from api import plain as plain\nfrom .inner import size as size\n",
            "api/inner.py": "import torch  # type: ignore\nsize = 1\ndef f() -> None: ...\n",
            "api/plain.py": "def g() -> None: ...\n",
        },
        "name.py:1: a name",
    ),
    "packages by name": Case(
        {
            "mypy.ini": "[mypy]\nplugins = shapecheck.mypy_plugin\ncache_dir = cache\n"
            "mypy_path = lib\nnamespace_packages = True\nfiles = other.py\n",
            "lib/pkg/__init__.py": SEEN,
            "lib/pkg/m.py": looks("installed.typed", "untyped", "stubs_only", "partly.m"),
            "lib/pkg/sub/n.py": SEEN,
            "lib/pkg/x.y.py": SEEN,
            "other.py": SEEN,
            "site/installed/__init__.py": "",
            "site/installed/py.typed": "",
            "site/installed/typed.py": SEEN + "# says typed\n# jaxtyping\n",
            "site/untyped/__init__.py": SEEN + "# says untyped\n",
            "site/stubs_only/__init__.py": "# says code\n",
            "site/stubs_only-stubs/__init__.pyi": "# says stubs\n",
            "site/partly/__init__.py": "",
            "site/partly/py.typed": "",
            "site/partly/m.py": "# says partly\n",
            "site/partly-stubs/__init__.pyi": "",
            "site/partly-stubs/py.typed": "partial\n",
        },
        "lib/pkg/sub/n.py:1: seen, torch",
        options=("-p", "pkg"),
        environment={"PYTHONPATH": "site"},
    ),
    "libraries about torch": Case(
        {
            "pyproject.toml": '[tool.mypy]\nplugins = ["shapecheck.mypy_plugin"]\n'
            'cache_dir = "cache"\nignore_missing_imports = true\n',
            "one.py": looks("about", "about.inner", "also", "other", "typed.part"),
            "env/site-packages/about/__init__.py": "# says about\n",
            "env/site-packages/about/inner.py": "# says inner\n",
            "env/site-packages/about-1.0.dist-info/METADATA": "Requires-Dist: torch >=2.4\n",
            "env/site-packages/also.py": "# says also\n",
            "env/site-packages/call_it-2.dist-info/METADATA": "Requires-Dist: torch; "
            'extra == "torch"\n',
            "env/site-packages/call_it-2.dist-info/RECORD": "also.py,,\n",
            "env/site-packages/other/__init__.py": "# says other\n" + "#" * 60_000,
            "env/site-packages/other-1.0.dist-info/METADATA": "Requires-Dist: torchless\n"
            'Requires-Dist: torch; extra == "test"\n',
            "env/site-packages/typed/__init__.py": "",
            "env/site-packages/typed/py.typed": "",
            "env/site-packages/typed/part.py": "# says part\n",
            "env/site-packages/typed-1.0.dist-info/METADATA": "Requires-Dist: torch\n",
        },
        "one.py:4: about.inner says inner (strict: False)",
        ("one.py",),
        environment={"PYTHONPATH": "env/site-packages"},
    ),
    "no namespaces, scripts, links": Case(
        {
            ".mypy.ini": "[mypy]\nplugins = shapecheck.mypy_plugin\ncache_dir = cache\n"
            "namespace_packages = False\nfollow_imports = silent\n",
            "a/train.py": looks("model"),
            "a/model.py": SEEN + "# says a\n",
            "b/train.py": looks("model"),
            "b/model.py": SEEN + "# says b\n",
            "b/inner/m.py": SEEN,
            "script": SEEN,
        },
        "a/train.py:2: model says a (strict: False)",
        arguments=("a", "b", "script"),
    ),
    "found twice": Case(
        {
            "mypy.ini": "[mypy]\nplugins = shapecheck.mypy_plugin\ncache_dir = cache\n",
            "net/flow/__init__.py": "",
            "net/flow/m.py": SEEN + "# says flow\n",
            "a.py": looks("net.flow.m"),
        },
        "net/flow/m.py:1: seen, torch",
    ),
    "a name of Python's own": Case(
        {
            "mypy.ini": "[mypy]\nplugins = shapecheck.mypy_plugin\ncache_dir = cache\n",
            "net/model/types.py": SEEN,
            "a.py": looks("re"),
        },
        "net/model/types.py:1: seen, torch",
    ),
    "files that can't be read": Case(
        {
            "mypy.ini": "[mypy]\nplugins = shapecheck.mypy_plugin\ncache_dir = cache\n",
            "m.py": looks("bad", "latin"),
            "bad.py": "def f(:\n",
        },
        "bad.py:1: Expected a parameter or the end of the parameter list",
        binary={
            "text.py": b"x = '\xff'\n",
            "latin.py": b"# coding: latin-1\n# says \xe9\n",
            "marked.py": b"\xef\xbb\xbf" + SEEN.encode(),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_is_found(new_project: NewProject, name: str) -> None:
    """All that is about shapes, to the last column; and the exit code says so."""
    case = CASES[name]
    project = new_project({"mypy.ini": ""})
    (project.folder / "mypy.ini").unlink()
    project.write(case.files)
    for path, content in case.binary.items():
        (project.folder / path).write_bytes(content)
    ours = project.environment["PYTHONPATH"]
    extra = [str(project.folder / one) for one in case.environment.values()]
    project.environment["PYTHONPATH"] = ":".join([ours, *extra])
    arguments = ("check", "--output", "json", *case.arguments)
    rest = ("--", *case.options) if case.options else ()
    mypy = project.run(*arguments, *rest, module="shapecheck")
    alone = project.run(*arguments, "--only-shapes", *rest, module="shapecheck")
    found = by_place(alone.stdout)
    assert (found, alone.stderr) == (by_place(mypy.stdout), mypy.stderr + case.hidden)
    assert case.expected in {f"{one['file']}:{one['line']}: {one['message']}" for one in found}
    assert alone.returncode == (2 if mypy.returncode == 2 else int("error" in alone.stdout))


def by_place(printed: str) -> list[dict[str, Any]]:
    """Return the findings that are about shapes, or stop all, by file and place."""
    every = [json.loads(line) for line in printed.splitlines()]
    ours = [
        one
        for one in every
        if one["code"] in (None, "syntax")
        or one["code"].startswith("shape")
        or one["message"].startswith(("Revealed shape", "skipped by", "internal error in"))
        or one["message"].startswith("a note")
    ]
    return sorted(ours, key=lambda one: (one["file"], one["line"], one["column"], one["message"]))
