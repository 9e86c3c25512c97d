"""What is changed of shapecheck, and which tests are about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Package:
    """Sources, files or folders, and the tests that are about them, but for some that take long."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        """What pytest is asked to run."""
        return [*self.tests, *(f"--deselect={test}" for test in self.left_out)]

    def files(self, root: Path) -> list[str]:
        """Return the source files below a root, by their paths there."""
        found: list[str] = []
        for source in self.sources:
            path = root / source
            files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
            found += [str(file.relative_to(root)) for file in files]
        return found


_CALLS: Final = ("tests/ops/test_calls.py", "tests/ops/test_rules.py")

PACKAGES: Final = {
    "dims": Package(("shapecheck/dims",), ("tests/dims",)),
    "shapes": Package(("shapecheck/shapes",), ("tests/shapes",)),
    "spec": Package(("shapecheck/spec",), ("tests/spec", "tests/test_dialects.py")),
    "signatures": Package(
        ("shapecheck/signatures",),
        (
            "tests/signatures",
            "tests/test_bad_input.py",
            "tests/test_adding_an_op.py",
            "tests/runtime/test_user_stubs.py",
            "tests/ops/test_create.py",
            "tests/ops/math/test_elementwise.py",
            "tests/ops/math/test_reduce.py",
            *_CALLS,
        ),
    ),
    "ops/shape": Package(
        ("shapecheck/ops/shape",), (*_CALLS, "tests/ops/shape", "tests/first_class")
    ),
    "ops/math": Package(
        ("shapecheck/ops/math",), (*_CALLS, "tests/ops/math", "tests/ops/test_create.py")
    ),
    "ops/nn": Package(("shapecheck/ops/nn",), (*_CALLS, "tests/ops/nn")),
    "ops/patterns": Package(("shapecheck/ops/patterns",), (*_CALLS, "tests/ops/patterns")),
    "ops/named": Package(("shapecheck/ops/named",), (*_CALLS, "tests/named")),
    "engine": Package(("shapecheck/engine",), ("tests/engine",)),
    "boundary": Package(
        (
            "shapecheck/runtime/decorate/codegen.py",
            "shapecheck/runtime/decorate/codegen_values.py",
        ),
        tuple(f"tests/runtime/{one}" for one in "boundary decorate annotations compiling".split()),
        (
            "tests/runtime/boundary/test_beartype.py",
            "tests/runtime/boundary/test_typeguard.py",
            "tests/runtime/boundary/test_variables_and_check.py",
            "tests/runtime/decorate/test_hook.py",
        ),
    ),
}
