"""Runs the run-time tests of a tree, and returns which shape errors they raise.

python -m sameness.hearing TREE > answer.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

Said = dict[str, str]

HEARD = "SAME_HEARD"
OTHER_TESTS = """
    analysis static codemod cli mypy_plugin ops conformance fuzz signatures dims spec shapes
    benchmarks
    test_bad_environment.py test_bad_input.py test_comparing.py test_dim_objects.py test_dims.py
    test_examples.py test_layers.py test_matching.py test_memory.py test_packaging.py
    test_repeatable.py test_same_verdicts.py test_scaling.py test_shapes.py test_spec.py
""".split()
"""The folders and files with tests that run nothing under names: to leave them out saves time."""


def runtime(tree: Path) -> Said:
    """Return the shape errors that the run-time tests of a tree raise, by test.

    A process runs all tests of a file: what the first one computes may be kept for the others.
    """
    places = (f"{'*' if name.endswith('.py') else ''}{name}" for name in OTHER_TESTS)
    ignored = [f"--ignore-glob={tree}/tests/{place}" for place in places]
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "sameness.heard"]
        subprocess.run(
            [*command, "-n", "auto", "--dist", "loadfile", *ignored],
            cwd=tree,
            env={**os.environ, HEARD: name},
            stdout=sys.stderr,
            check=False,
        )
        heard: dict[str, dict[str, set[str]]] = {}
        for path in Path(name).iterdir():
            for line in path.read_text("utf-8").splitlines():
                file, test, text = json.loads(line)
                heard.setdefault(test, {}).setdefault(file, set()).add(text)
    # Files may be renamed: tests of one name in several files are told together.
    return {
        test: "\n".join(line for lines in sorted(map(sorted, by_file.values())) for line in lines)
        for test, by_file in heard.items()
    }


if __name__ == "__main__":
    json.dump(runtime(Path(sys.argv[1])), sys.stdout)
