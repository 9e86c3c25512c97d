"""Runs mypy with the plugin, and the analysis alone, over public repositories at fixed commits.

    python benchmarks/corpus/run.py [--fetch] [--folder PATH] [--no-mypy] [MEMBER ...]

README.md in this folder says what the numbers are. The exit status is 1 where anything crashed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE)]

from page import page  # noqa: E402

CACHE = ROOT / ".cache" / "corpus"
SECONDS = 3600
CONFIGS = {
    "plain": "[mypy]\nuntyped_calls_exclude = torch\n",
    "plugin": "[mypy]\nplugins = shapecheck.mypy_plugin\n",
}
OPTIONS = (
    "--ignore-missing-imports",
    "--follow-imports=silent",
    "--namespace-packages",
    "--explicit-package-bases",
    "--no-color-output",
    "--no-error-summary",
    "--hide-error-context",
    "--no-pretty",
)
REPORT = re.compile(r"^(?P<place>[^:]+:\d+): error: (?P<text>.*)  \[(?P<code>shape(-\w+)?)\]$")
ERROR = re.compile(r"^[^:]+:\d+: error: .*$")
VERDICTS = ("bug", "annotation", "ours")


@dataclass(frozen=True, slots=True)
class Member:
    """A repository of the corpus."""

    name: str
    url: str
    commit: str
    annotated: bool


@dataclass(slots=True)
class Result:
    """What was measured of one member; seconds are -1 where mypy didn't run."""

    lines: int = 0
    plain: float = -1
    plugin: float = -1
    alone: float = 0
    reports: list[str] = field(default_factory=list)
    mypy_only: list[str] = field(default_factory=list)
    errors: int = 0
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    shapes: dict[str, int] | None = None


def members() -> list[Member]:
    """Return the corpus."""
    table = tomllib.loads((HERE / "members.toml").read_text("utf-8"))
    return [Member(**entry) for entry in table["member"]]


def triage() -> dict[str, tuple[str, str]]:
    """Return what was judged of each report: by place and code, the verdict and why."""
    path = HERE / "triage.toml"
    table = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    found = {}
    for entry in table.get("report", []):
        assert entry["verdict"] in VERDICTS, entry
        found[f"{entry['at']} {entry['code']}"] = entry["verdict"], entry["why"]
    return found


def key(member: str, report: str) -> str:
    """Return what a report is found under in the table: its wording doesn't count."""
    place = report.split(": ", 1)[0]
    return f"{member}/{place} {report.rsplit('[', 1)[1].rstrip(']')}"


def fetch(member: Member, folder: Path) -> None:
    """Get one commit of a repository by git."""
    folder.mkdir(parents=True)
    for command in (
        ["git", "init", "--quiet"],
        ["git", "fetch", "--quiet", "--depth", "1", member.url, member.commit],
        ["git", "checkout", "--quiet", "FETCH_HEAD"],
    ):
        subprocess.run(command, cwd=folder, check=True)


OF_MYPY = ("plain", "plugin", "errors", "added", "removed")


def kept_of(result: Result, before: dict[str, Any] | None) -> dict[str, Any]:
    """Return what is kept of a member: what mypy said last, where it wasn't run this time."""
    found = asdict(result)
    if result.plugin < 0 and before is not None:
        found.update({name: before[name] for name in OF_MYPY if name in before})
    return found


# mypy -------------------------------------------------------------------------------------------


def checkable(folder: Path) -> tuple[list[str], list[str]]:
    """Return the files that mypy can be given in one run, and those that it would stop at."""
    good, bad = [], []
    for path in sorted(folder.rglob("*.py")):
        relative = path.relative_to(folder)
        parts = relative.with_suffix("").parts
        try:
            ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            bad.append(f"{relative}: Python can't parse it")
            continue
        if path.with_suffix("").joinpath("__init__.py").is_file():
            bad.append(f"{relative}: a package has its name")
        elif all(part.isidentifier() for part in parts):
            good.append(str(relative))
        else:
            bad.append(f"{relative}: a module can't have this name")
    return good, bad


def warm(base: Path) -> None:
    """Fill a cache for each kind of run with torch and what usually comes with it."""
    sample = base / "sample"
    sample.mkdir(parents=True)
    imports = "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn\n"
    (sample / "sample.py").write_text(imports, "utf-8")
    for kind in CONFIGS:
        mypy(kind, base, sample, ["sample.py"], base / f"warm-{kind}")


def mypy(kind: str, base: Path, folder: Path, files: list[str], cache: Path) -> tuple[float, str]:
    """Run mypy over files of a folder; return its seconds and what it printed.

    Raises RuntimeError where mypy stopped before its end.
    """
    config = base / f"{kind}.ini"
    config.write_text(CONFIGS[kind], "utf-8")
    listed = base / "files"
    listed.write_text("\n".join(files), "utf-8")
    command = [sys.executable, "-m", "mypy", *OPTIONS, f"--config-file={config}"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    start = time.perf_counter()
    done = subprocess.run(
        [*command, f"--cache-dir={cache}", f"@{listed}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "MYPYPATH": ""},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    seconds, printed = time.perf_counter() - start, done.stdout + done.stderr
    if done.returncode > 1:
        raise RuntimeError(f"mypy stopped ({kind}): {printed.strip()[-400:]}")
    return seconds, printed


def errors_of_mypy(printed: str) -> Counter[str]:
    """Return the errors that aren't the plugin's."""
    lines = printed.splitlines()
    return Counter(line for line in lines if ERROR.match(line) and not REPORT.match(line))


def differences(before: Counter[str], after: Counter[str]) -> tuple[list[str], list[str]]:
    """Return the errors that came and those that went; one in another's line is the same error."""
    came, went = sorted((after - before).elements()), sorted((before - after).elements())
    instead = Counter(map(line_of, came)) & Counter(map(line_of, went))
    return without(came, instead), without(went, instead)


def line_of(error: str) -> str:
    """Return the file and line at which an error stands."""
    return ":".join(error.split(":")[:2])


def without(errors: Iterable[str], lines: Counter[str]) -> list[str]:
    """Return errors without as many at each line as are given."""
    left = lines.copy()
    found = []
    for error in errors:
        if left[line_of(error)] > 0:
            left[line_of(error)] -= 1
        else:
            found.append(error)
    return found


def with_mypy(result: Result, folder: Path, base: Path) -> None:
    """Run mypy without and with the plugin, torch in the cache of both."""
    files, result.left_out = checkable(folder)
    if not files:  # all below a folder such as assignment1-basics
        return
    printed = {}
    for kind in CONFIGS:
        cache = base / "fresh"
        shutil.copytree(base / f"warm-{kind}", cache)
        try:
            seconds, printed[kind] = mypy(kind, base, folder, files, cache)
        except RuntimeError as error:
            result.crashes.append(str(error))
            return
        finally:
            shutil.rmtree(cache)
        setattr(result, kind, seconds)
    before, after = (errors_of_mypy(printed[kind]) for kind in ("plain", "plugin"))
    result.errors = before.total()
    result.added, result.removed = differences(before, after)
    alone = set(result.reports)
    for line in printed["plugin"].splitlines():
        if "internal error in shapecheck" in line or "INTERNAL ERROR" in line:
            result.crashes.append(line)
        found = REPORT.match(line)
        if found is not None:
            report = f"{found['place']}: {found['text']}  [{found['code']}]"
            if report not in alone:
                result.mypy_only.append(report)


# The analysis alone -----------------------------------------------------------------------------


def alone(folder: Path, member: Member) -> Result:
    """Run the analysis in a process of its own."""
    counting = ["--shapes"] if member.annotated else []
    done = subprocess.run(
        [sys.executable, str(HERE / "alone.py"), str(folder), *counting],
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        return Result(
            crashes=[
                f"the analysis ended with status {done.returncode}: {done.stderr.strip()[-400:]}"
            ]
        )
    found = json.loads(done.stdout)
    return Result(
        lines=found["lines"],
        alone=found["seconds"],
        reports=found["reports"],
        crashes=found["crashes"],
        shapes=found["shapes"],
    )


# Printing ---------------------------------------------------------------------------------------


def row(member: Member, result: Result, judged: dict[str, tuple[str, str]]) -> list[str]:
    """Return a line of the table."""
    every = [*result.reports, *result.mypy_only]
    verdicts = [judged.get(key(member.name, report), ("open", ""))[0] for report in every]
    shapes = result.shapes or {}
    total = sum(shapes.values())
    of_mypy = result.errors, len(result.added), len(result.removed)
    ratio = f"{result.plugin / result.plain:.2f}" if result.plain > 0 else "-"
    return [
        member.name,
        f"{result.lines}",
        f"{result.plain:.1f}" if result.plain > 0 else "-",
        f"{result.plugin:.1f}" if result.plugin > 0 else "-",
        ratio,
        f"{result.alone:.1f}",
        str(len(every)),
        *(str(verdicts.count(verdict)) for verdict in (*VERDICTS, "open")),
        *(str(n) if result.plain > 0 else "-" for n in of_mypy),
        str(len(result.crashes)),
        f"{shapes['known'] / total:.0%}" if total else "-",
    ]


HEADS = [
    "member", "lines", "mypy s", "plugin s", "ratio", "alone s", "reports",
    "bug", "annotation", "ours", "open", "mypy's", "added", "removed", "crashes", "known",
]  # fmt: skip


def table(rows: list[list[str]]) -> str:
    """Lay the lines out."""
    widths = [max(len(line[i]) for line in [HEADS, *rows]) for i in range(len(HEADS))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in [HEADS, *rows]
    )


def difference(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Say which reports are new, and which are gone, in the members that ran both times."""
    said = []
    for name in sorted(before.keys() & now.keys()):
        old, new = set(before[name]["reports"]), set(now[name]["reports"])
        said += [f"- {name}/{report}" for report in sorted(old - new)]
        said += [f"+ {name}/{report}" for report in sorted(new - old)]
    return said


def section(title: str, lines: list[str]) -> None:
    """Print lines under a title."""
    if lines:
        print(f"\n{title}")
        print("\n".join(f"  {line}" for line in lines))


def summary(results: dict[str, Result], before: dict[str, Any]) -> int:
    """Print what is new, open, odd and crashed; return the exit status."""
    judged = triage()
    now = {name: asdict(result) for name, result in results.items()}
    every = {
        key(name, report): f"{name}/{report}"
        for name, result in results.items()
        for report in (*result.reports, *result.mypy_only)
    }
    gone = [
        f"{entry}: {judged[entry][0]}"
        for entry in judged
        if entry not in every and entry.split("/")[0] in results
    ]
    crashes = [f"{name}: {c}" for name, result in results.items() for c in result.crashes]
    section("Since the last run", difference(before, now))
    section("Not judged yet (triage.toml)", [v for k, v in every.items() if k not in judged])
    section("Ours to fix", [v for k, v in every.items() if judged.get(k, ("",))[0] == "ours"])
    section("Judged, but no longer reported", gone)
    section("Said under mypy only", [
        f"{name}/{report}" for name, result in results.items() for report in result.mypy_only
    ])  # fmt: skip
    section("Added to mypy's own errors", [
        f"{name}/{error}" for name, result in results.items() for error in result.added
    ])  # fmt: skip
    section("Crashes", crashes)
    return 1 if crashes else 0


def main() -> int:
    """Fetch what is missing if asked to, run everything, print, keep the result."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("members", nargs="*", metavar="MEMBER", help="all without any")
    parser.add_argument("--folder", type=Path, default=CACHE, help="where the repositories lie")
    parser.add_argument("--fetch", action="store_true", help="get what is missing, by git")
    parser.add_argument("--no-mypy", action="store_true", help="run the analysis only")
    parser.add_argument("--page", type=Path, help="write what was found in every member here")
    parser.add_argument("--last", type=Path, default=CACHE / "last.json", help="the last result")
    options = parser.parse_args()
    chosen = [m for m in members() if not options.members or m.name in options.members]
    if unknown := set(options.members) - {m.name for m in chosen}:
        parser.error(f"no such member: {', '.join(sorted(unknown))}")
    before = json.loads(options.last.read_text("utf-8")) if options.last.is_file() else {}
    results: dict[str, Result] = {}
    rows: list[list[str]] = []
    judged = triage()
    with tempfile.TemporaryDirectory(prefix="shapecheck-corpus-") as name:
        base = Path(name)
        if not options.no_mypy:
            warm(base)
        for member in chosen:
            folder = (options.folder / member.name).resolve()
            if not folder.is_dir() and options.fetch:
                fetch(member, folder)
            if not folder.is_dir():
                print(f"{member.name} isn't in {options.folder}; --fetch gets it", file=sys.stderr)
                continue
            result = alone(folder, member)
            if not options.no_mypy:
                with_mypy(result, folder, base)
            results[member.name] = result
            rows.append(row(member, result, judged))
            print(f"{member.name} done", file=sys.stderr)
    print(table(rows))
    status = summary(results, before)
    options.last.parent.mkdir(parents=True, exist_ok=True)
    kept = {**before, **{name: kept_of(one, before.get(name)) for name, one in results.items()}}
    options.last.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    if options.page is not None:
        options.page.write_text(page(members(), kept, judged, key), "utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
