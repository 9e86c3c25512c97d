"""Show what shapecheck finds: in correct models nothing, in models with a bug the bug.

mypy with the plugin reads the models without running them; then they run with `@shapecheck` on.
The exit status is 0 only if no correct model drew an error and every bug was found.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXAMPLES = Path(__file__).resolve().parent
ROOT = EXAMPLES.parent
CACHE = ROOT / ".mypy_cache"

# The models whose first bug is also shown at run time.
AT_RUN_TIME = ("mnist_cnn", "gpt")

# What a project needs to add to its own configuration is the line with the plugin. torch leaves
# some methods, `backward` for one, without types, and --strict objects to calls of those.
MYPY_CONFIG = """\
[mypy]
plugins = shapecheck.mypy_plugin
untyped_calls_exclude = torch
"""

# To --strict, what a module's call gives is Any, and no tensor to return, unless it is typed.
SETTINGS = "[tool.shapecheck]\ntyped_calls = true\n"


@dataclass(frozen=True, slots=True)
class Bug:
    """A one-line edit of an example."""

    model: str
    name: str
    find: str
    replace: str
    description: str

    @property
    def file_name(self) -> str:
        return f"{self.model}__{self.name.replace('-', '_')}.py"

    def source(self) -> str:
        """The text of the example with the bug in it."""
        text = (EXAMPLES / f"{self.model}.py").read_text(encoding="utf-8")
        if text.count(self.find) != 1:
            raise SystemExit(f"{self.model}/{self.name}: not exactly one line is {self.find!r}")
        return text.replace(self.find, self.replace)

    def diff(self) -> list[str]:
        """The edited line, before and after."""
        before = (EXAMPLES / f"{self.model}.py").read_text(encoding="utf-8").splitlines()
        after = self.source().splitlines()
        lines = difflib.unified_diff(before, after, n=0, lineterm="")
        return [f"{line[0]} {line[1:].strip()}" for line in lines if re.match(r"[-+] ", line)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a subprocess printed and how it ended."""

    status: int
    stdout: str
    stderr: str
    seconds: float


def load_bugs() -> dict[str, list[Bug]]:
    """The bugs of each model, as `bugs/*.toml` lists them."""
    bugs = {}
    for path in sorted((EXAMPLES / "bugs").glob("*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["bug"]
        bugs[path.stem] = [
            Bug(path.stem, e["name"], e["find"], e["replace"], e["description"]) for e in entries
        ]
    return bugs


def run(arguments: list[str], cwd: Path, **variables: str) -> Outcome:
    """Run this Python with the arguments; the checkout is importable even if not installed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **variables}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr, time.perf_counter() - start)


def mypy(files: list[str], cwd: Path, config: Path) -> Outcome:
    options = ["--strict", f"--config-file={config}", f"--cache-dir={CACHE}"]
    return run(["-m", "mypy", *options, "--no-pretty", "--no-color-output", *files], cwd)


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def indented(lines: list[str]) -> None:
    for line in lines:
        print(f"    {line}")
    sys.stdout.flush()


def say(fine: bool, text: str) -> bool:
    print(f"  {'ok' if fine else 'FAILED'}: {text}", flush=True)
    return fine


def check_correct(models: list[str], config: Path) -> bool:
    """Whether mypy finds nothing in the examples as they are."""
    heading(f"mypy --strict with the plugin, over the {len(models)} correct models")
    print("  (the first run reads all of torch and takes a while; after that it is cached)")
    outcome = mypy([f"{model}.py" for model in models], EXAMPLES, config)
    indented((outcome.stdout + outcome.stderr).splitlines())
    errors = sum(": error:" in line for line in outcome.stdout.splitlines())
    fine = outcome.status == 0
    lines = sum(
        len((EXAMPLES / f"{model}.py").read_text(encoding="utf-8").splitlines()) for model in models
    )
    return say(fine, f"{errors} errors in {lines} lines, {outcome.seconds:.1f} s")


def check_bugs(bugs: list[Bug], folder: Path, config: Path, brief: bool) -> bool:
    """Whether mypy finds each bug, in copies of the examples in `folder`."""
    heading(f"mypy over copies with one bug each: {len(bugs)} bugs")
    for bug in bugs:
        (folder / bug.file_name).write_text(bug.source(), encoding="utf-8")
    outcome = mypy([bug.file_name for bug in bugs], folder, config)

    messages = defaultdict(list)
    for line in outcome.stdout.splitlines():
        file_name, colon, _ = line.partition(":")
        if colon:
            messages[file_name].append(line)

    missed = []
    for bug in bugs:
        lines = messages.pop(bug.file_name, [])
        found = any(re.search(r": error: .*\[shape(-\w+)?\]$", line) for line in lines)
        if not found:
            missed.append(bug)
        if brief and found:
            continue
        print(f"\n{bug.model}.py, {bug.name}: {bug.description}")
        indented(bug.diff())
        indented([line.replace(bug.file_name, f"{bug.model}.py") for line in lines])
        say(found, "found" if found else "mypy says nothing of shapes here")
    if missed:  # what mypy said of no file in particular, such as a crash, explains it
        indented([line for lines in messages.values() for line in lines])
        indented(outcome.stderr.splitlines())
    print()
    return say(not missed, f"{len(bugs) - len(missed)} of {len(bugs)} found")


def run_correct(models: list[str]) -> bool:
    """Whether the examples run to their end with the decorator on."""
    heading("The correct models run, with @shapecheck on")
    fine = True
    for model in models:
        outcome = run([f"{model}.py"], EXAMPLES, SHAPECHECK="full")
        indented(outcome.stdout.splitlines())
        if outcome.status != 0:
            indented(outcome.stderr.splitlines())
            fine = say(False, f"{model} ended with status {outcome.status}")
    return say(fine, "no errors" if fine else "a correct model drew an error")


def run_bug(bug: Bug, folder: Path) -> bool:
    """Whether the run time stops the bug with a ShapeError."""
    heading(f"The bug {bug.name} of {bug.model}.py at run time")
    print(f"  {bug.description}")
    indented(bug.diff())
    (folder / bug.file_name).write_text(bug.source(), encoding="utf-8")

    print("\n  with SHAPECHECK=off:")
    plain = run([bug.file_name], folder, SHAPECHECK="off")
    indented(plain.stdout.splitlines())
    if plain.status:
        indented(plain.stderr.splitlines()[-1:])
    else:
        indented(["(torch has nothing to say)"])

    print("\n  with @shapecheck on:")
    checked = run([bug.file_name], folder, SHAPECHECK="full")
    error = re.search(r"^(?:\w+\.)*ShapeError: .*", checked.stderr, re.MULTILINE | re.DOTALL)
    indented((error.group() if error else checked.stdout + checked.stderr).splitlines())
    found = checked.status != 0 and error is not None
    return say(found, "stopped by a ShapeError" if found else "no ShapeError")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="let mypy look for every seeded bug")
    every = parser.parse_args().all

    bugs = load_bugs()
    shown = [bug for of_model in bugs.values() for bug in (of_model if every else of_model[:1])]
    results = []
    with tempfile.TemporaryDirectory(prefix="shapecheck-demo-") as name:
        folder = Path(name)
        config = folder / "mypy.ini"
        config.write_text(MYPY_CONFIG, encoding="utf-8")
        (folder / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
        results.append(check_correct(list(bugs), config))
        results.append(check_bugs(shown, folder, config, brief=every))
        results.append(run_correct(list(bugs)))
        results += [run_bug(bugs[model][0], folder) for model in AT_RUN_TIME]

    heading("Summary")
    fine = all(results)
    say(fine, "everything as promised" if fine else "not everything is as promised; see above")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
