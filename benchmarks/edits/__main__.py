"""Looks for edits after which two ways to ask shapecheck don't say the same.

    make edits EDITS_ARGS="--seeds 20 --steps 30"
    make edits EDITS_ARGS="--repository ../nerfstudio --inside nerfstudio --steps 40 --every 5"
    make edits EDITS_ARGS="--replay 7:12"

Of the seeds' programs all is drawn; a repository is only read. The exit status is 1 where anything
differs that doesn't differ without the plugin, too.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[folder]) for folder in (2, 1)]

from edits.faces import FACES, ROOT, SMALL_LIBRARIES, Workplace  # noqa: E402
from edits.sequences import (  # noqa: E402
    SETTINGS_OF_ALL,
    Difference,
    Plan,
    Step,
    differences,
    drawn,
    edited,
    is_of_mypy_alone,
    reduced,
    told,
)
from edits.trees import PROJECT, SETTINGS, TARGETS, read  # noqa: E402

CACHES = Path(os.environ.get("EDITS_CACHE") or ROOT / ".cache" / "edits")
_REPOSITORY = "ignore_missing_imports = True\nexplicit_package_bases = True\n"
_LIBRARIES = (
    "import torch\nimport torch.nn.functional\nimport numpy\nimport jaxtyping\nimport einops\n"
)


def tell(text: str) -> None:
    """Print a text at once, for who waits for it."""
    print(text, flush=True)


def prepared(name: str, settings: str, text: str, libraries: Path | None) -> Path:
    """Return a cache of mypy in which the libraries are; it takes a minute the first time."""
    folder = CACHES / name
    cache = folder / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SETTINGS).write_text(SETTINGS_OF_ALL + settings, encoding="utf-8")
    (folder / TARGETS).write_text("libraries.py", encoding="utf-8")
    (folder / "libraries.py").write_text(text, encoding="utf-8")
    place = Workplace(folder, folder, None, libraries=libraries)
    options = f"--config-file={SETTINGS}", f"--cache-dir={cache}", "libraries.py"
    done = place.python("-m", "mypy", *options)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return cache


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="edits", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", default="0", help="the first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=10, help="how many programs")
    parser.add_argument("--steps", type=int, default=20, help="how many edits of each")
    parser.add_argument("--every", type=int, default=1, help="compare after every so many edits")
    parser.add_argument("--faces", nargs="+", default=list(FACES), choices=list(FACES))
    parser.add_argument("--repository", type=Path, help="edit its sources, not drawn programs")
    parser.add_argument("--inside", default=".", help="the folder in it that is checked")
    parser.add_argument("--replay", metavar="SEED:STEP", help="compare after this step alone")
    parser.add_argument("--shapes-only", action="store_true", help="leave out mypy's own errors")
    parser.add_argument("--as-drawn", action="store_true", help="don't look for fewer steps")
    return parser.parse_args()


def main() -> int:
    """Go through all sequences; return 1 where something differs."""
    options = parsed()
    plan = planned(options)

    def steps(seed: str, count: int) -> list[Step]:
        if options.repository is None:
            return drawn(seed, count)
        tree = dict(read(options.repository, options.inside))
        tree |= {SETTINGS: SETTINGS_OF_ALL + _REPOSITORY, PROJECT: "", TARGETS: options.inside}
        return edited(tree, count, random.Random(f"edits {seed}"))

    if options.replay is not None:
        seed, _, last = options.replay.rpartition(":")
        found = differences(steps(seed, int(last)), plan)
        return min(1, sum(_told(seed, one, plan, options) for one in found))
    wrong = 0
    for number in range(options.seeds):
        seed = str(int(options.seed) + number)
        begin = time.monotonic()
        for found in differences(steps(seed, options.steps), plan):
            wrong += _told(seed, found, plan, options)
        tell(f"seed {seed}: {options.steps} edits in {time.monotonic() - begin:.0f} s")
    tell(f"{wrong} differences" if wrong else "no difference")
    return min(1, wrong)


def planned(options: argparse.Namespace) -> Plan:
    """Return how to ask about the programs of a run."""
    faces = tuple(options.faces)
    if options.repository is None:
        cache = prepared("programs", "", "import jaxtyping\nimport torch\n", SMALL_LIBRARIES)
        return Plan(faces, cache, SMALL_LIBRARIES, every=options.every)
    cache = prepared("repositories", _REPOSITORY, _LIBRARIES, None)
    return Plan(faces, cache, every=options.every)


def _told(seed: str, found: Difference, plan: Plan, options: argparse.Namespace) -> bool:
    """Tell a difference; return whether it is the plugin's."""
    if options.shapes_only and not found.has_shapes:
        return False
    name = f"{found.face} after {seed}:{len(found.steps) - 1} ({found.steps[-1].kind})"
    if is_of_mypy_alone(found, plan):
        tell(f"{name}: mypy's own errors, and without the plugin, too")
        return False
    if not options.as_drawn:
        found = reduced(found, plan)
    tell(f"{name} differs")
    tell("\n".join(f"  {line}" for line in told(found)))
    return True


if __name__ == "__main__":
    sys.exit(main())
