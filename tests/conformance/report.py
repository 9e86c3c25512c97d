"""Runs torch's test database through the rules, and writes docs/developers/conformance.md.

make conformance
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import get_context

import torch
from conformance.judge import SEVERAL, Verdict, judge_module, judge_op
from conformance.modules import modules
from conformance.reasons import NOT_JUDGED, NOT_REFUSED, OTHER_DTYPE, WITHOUT_RULE
from conformance.samples import KINDS, TIMES, ops
from repository import ROOT

PAGE = ROOT / "docs" / "developers" / "conformance.md"

INTRODUCTION = """\
# Conformance

torch keeps a database of its ops for its own tests: samples of each op's input, and inputs that the
op must refuse. Each of them goes through our rule, as a function, a method, an operator, in place,
with `out=` and by each alias, and the rule has to say what torch does:

- with the sizes as numbers, with a name for each distinct size, and with leading axes hidden, the
  shapes and dtypes that a rule gives are those of the real result;
- an input that torch refuses for its shapes is refused;
- on sizes too large to run, torch's fake tensors are the judge;
- the samples that an op has of integers, bools and complex numbers are judged on numbers too.

Modules that the database lacks have samples of ours.

`make conformance` runs all of it and writes this page, in 3 to 10 minutes on two cores; a part of
it runs in `make test`.
"""

COLUMNS = """\
- *samples*: calls in which the rule agrees with torch, of all calls in the op's own form
- *exact*: of these, those of which every size is known (others depend on the data)
- *symbolic*: whether that also holds with names for the sizes: `yes`, `no`, or how often
- *refused*: of the erroneous inputs that are about shapes
- *rule*: `signature` if a line of a file in `stubs/` says all, else the rule in Python it names
"""


def judged(number: int) -> Verdict:
    """Judge one op or module, by its number among all."""
    every = ops()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if number < len(every):
            return judge_op(every[number])
        return judge_module(modules()[number - len(every)])


def main() -> int:
    """Run everything, write the page, and return whether any rule is wrong."""
    torch.set_num_threads(1)
    start = time.perf_counter()
    numbers = range(len(ops()) + len(modules()))
    with get_context("fork").Pool() as pool:
        verdicts = pool.map(judged, numbers, chunksize=8)
    seconds = time.perf_counter() - start
    PAGE.write_text("\n".join(page(verdicts)) + "\n", "utf-8")
    wrong = [complaint for v in verdicts if v.wrong for complaint in v.complaints]
    sys.stdout.write("\n".join([*wrong, *summary(verdicts), f"Took {seconds:.0f} s.", ""]))
    return bool(wrong)


def page(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the lines of the page."""
    count = len(ops())
    yield INTRODUCTION
    yield from summary(verdicts)
    yield ""
    yield from _reasons()
    yield COLUMNS
    for name, part in (("Ops", verdicts[:count]), ("Modules", verdicts[count:])):
        yield f"## {name}\n"
        yield f"| {name[:-1].lower()} | rule | samples | exact | symbolic | refused |"
        yield "|---|---|---|---|---|---|"
        yield from map(_row, part)
        yield ""


def summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield what was found of all ops together."""
    count = len(ops())
    found, nets = verdicts[:count], verdicts[count:]
    with_rule = [v for v in found if v.rule is not None]
    uses = Counter(v.rule for v in {v.name: v for v in with_rule}.values())
    alone = sum(v.rule == "" for v in with_rule)
    shared = sum(v.rule != "" and uses[v.rule] > 1 for v in with_rule)
    version = torch.__version__.partition("+")[0]
    yield f"With torch {version}:\n"
    yield f"- {len(with_rule)} of {len(found)} ops have a rule; the others are listed below."
    yield f"- {sum(v.rule is not None for v in nets)} of {len(nets)} modules have a rule."
    right, wrong = (
        sum((getattr(v, kind) for v in verdicts), Counter[str]()) for kind in ("right", "wrong")
    )
    forms = ", ".join(f"{right[form]:,} as {form}" for form in right)
    yield f"- {right.total():,} calls agree ({forms}), {wrong.total()} don't."
    yield f"- {sum(v.skipped for v in verdicts)} samples were skipped: torch can't run them here."
    large, too_large = (sum(getattr(v, kind) for v in verdicts) for kind in ("large", "too_large"))
    yield (
        f"- On sizes {TIMES:,} times as large {large:,} calls agree with torch's fake tensors, "
        f"{sum(v.wrong['large'] for v in verdicts)} don't ({too_large:,} can't be made that large)."
    )
    kinds = sum((v.kinds for v in verdicts), Counter[str]())
    titles = [*map(str, KINDS), SEVERAL]
    said = ", ".join(f"{kinds[kind]:,} of {kind}" for kind in titles)
    others = sum(v.wrong[kind] for v in verdicts for kind in titles)
    yield f"- With other elements {kinds.total():,} calls agree ({said}), {others} don't."
    refused, accepted = (
        sum(getattr(v, kind) for v in verdicts) for kind in ("refused", "accepted")
    )
    share = 100 * refused / max(refused + accepted, 1)
    yield (
        f"- {refused} of {refused + accepted} erroneous inputs that are about shapes are refused "
        f"({share:.0f} %)."
    )
    exact, symbolic, whole = (
        sum(getattr(v, kind) for v in with_rule) for kind in ("exact", "symbolic", "first")
    )
    yield (
        f"- Of {whole:,} samples of ops every size is known in {exact:,} on numbers, and in "
        f"{symbolic:,} with names."
    )
    yield (
        f"- {alone} ops are said by a line of a signature file, {shared} by a line that names "
        f"a rule for several (together {100 * (alone + shared) / len(with_rule):.0f} %), "
        f"{len(with_rule) - alone - shared} need a rule of their own."
    )


def _reasons() -> Iterator[str]:
    for title, listed in (
        ("Ops without a rule:", WITHOUT_RULE),
        ("\nModules of `torch.nn` without a row below:", NOT_JUDGED),
    ):
        yield f"{title}\n"
        for reason in dict.fromkeys(listed.values()):
            names = [f"`{name}`" for name, why in listed.items() if why == reason]
            yield f"- {', '.join(names)}: {reason}."
    yield "\nThe dtype of these isn't what is said:\n"
    for name, reason in OTHER_DTYPE.items():
        yield f"- `{name}`: {reason}."
    yield "\nErroneous inputs that aren't refused:\n"
    for name, reason in NOT_REFUSED.items():
        yield f"- `{name}`: {reason}."
    yield ""


def _row(verdict: Verdict) -> str:
    calls = verdict.first + verdict.wrong["function"] + verdict.wrong["module"]
    if verdict.rule is None:
        return f"| {verdict.title} | none | | | | |"
    rule = verdict.rule or "signature"
    symbolic = "yes" if verdict.symbolic == verdict.first else str(verdict.symbolic or "no")
    errors = verdict.refused + verdict.accepted
    return (
        f"| {verdict.title} | {rule} | {verdict.first}/{calls} | {verdict.exact} | "
        f"{symbolic} | {f'{verdict.refused}/{errors}' if errors else ''} |"
    )


if __name__ == "__main__":
    sys.exit(main())
