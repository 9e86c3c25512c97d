"""Compares the rule of an op, or of a module, with all that torch's test database knows of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from conformance import modules, samples
from conformance.reasons import OTHER_DTYPE, not_about_shapes
from conformance.samples import REFUSED, Call, Refusal
from op_oracle import abstract, apply, by_name, compatible, complaint, forward, numbers, show

from shapecheck.shapes import Facts, Mismatch, Tensor
from shapecheck.signatures import Signature, table

WRONG_SHOWN = 6
SEVERAL = "several dtypes"
"""What the calls are counted by in which one operand has another dtype than the others."""


@dataclass(slots=True)
class Verdict:
    """What was found of one op.

    `rule` is None where there is none, empty where a signature says it all, else the name of the
    rule in Python. `right`, `wrong` and `missing` count calls by form: the rule agrees with torch,
    is at odds with it, isn't there. Of the calls as a function (or a module), `exact` counts those
    of which no size is unknown on numbers, `symbolic` those of which none is with names for the
    sizes, `skipped` those that torch itself can't run here. `refused` and `accepted` count torch's
    erroneous inputs that are about shapes, `other` those that aren't. `large` counts calls on sizes
    a thousand times as large that agree with what torch's fake tensors say, `too_large` those that
    these can't run. `kinds` counts the calls with elements of other dtypes, or of several, that
    agree.
    """

    title: str
    name: str
    rule: str | None = None
    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    exact: int = 0
    symbolic: int = 0
    skipped: int = 0
    refused: int = 0
    accepted: int = 0
    other: int = 0
    large: int = 0
    too_large: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)

    @property
    def first(self) -> int:
        """How many calls of the op's own form agree with torch."""
        return self.right["function"] + self.right["module"]


def judge_op(op: Any, limit: int | None = None) -> Verdict:
    """Judge the rule of an op by torch's samples (the first few up to `limit`) and error inputs."""
    verdict = Verdict(samples.title(op), samples.name_of(op))
    _judge(verdict, samples.calls(op, limit), samples.refusals(op))
    for kind in samples.KINDS:
        _judge_kind(verdict, str(kind), samples.calls(op, limit and 1, kind))
    _judge_kind(verdict, SEVERAL, samples.mixed(op))
    return verdict


def _judge_kind(verdict: Verdict, kind: str, calls: Iterable[Call]) -> None:
    """Judge an op by calls with elements of another dtype, or of several."""
    seen: set[str] = set()
    for call in calls:
        if call.wanted is REFUSED or _signature(call) is None or (key := _key(call)) in seen:
            continue
        seen.add(key)
        try:
            wrong = compatible(_by_number(_rule(call), call), call.wanted)
        except Mismatch as error:
            wrong = f"refused: {error.problem.headline}: {error.problem.reason}"
        if wrong is None or call.name.removeprefix("torch.") in OTHER_DTYPE:
            verdict.kinds[kind] += 1
            continue
        verdict.wrong[kind] += 1
        if len(verdict.complaints) < WRONG_SHOWN:
            args = abstract(call.args, numbers), abstract(dict(call.kwargs), numbers)
            verdict.complaints.append(f"wrong: {kind} {call.name} {args}: {wrong}")


def judge_module(info: Any, limit: int | None = None) -> Verdict:
    """Judge the rule of a module in the same way."""
    verdict = Verdict(info.name, modules.name_of(info))
    _judge(verdict, modules.calls(info, limit), modules.refusals(info))
    return verdict


def _judge(verdict: Verdict, calls: Iterable[Call], refusals: Iterable[Refusal]) -> None:
    seen: set[str] = set()
    for call in calls:
        _sample(verdict, call, seen)
    for refusal in refusals:
        if _signature(refusal.call) is not None:
            _refusal(verdict, refusal)


def _signature(call: Call) -> Signature | None:
    if call.init is None:
        return table().signature(call.name)
    cls = table().lookup_class(call.name)
    return None if cls is None else cls.method("forward")


def _rule(call: Call) -> Callable[..., Any]:
    if call.init is None:
        return lambda *args, **kwargs: _meant(call.name, args, kwargs)
    init = abstract(call.init[0], numbers), abstract(dict(call.init[1]), numbers)
    return lambda *args, **kwargs: forward(call.name, init, *args, **kwargs)


def _refusal(verdict: Verdict, refusal: Refusal) -> None:
    about_shapes = not_about_shapes(refusal.error) is None
    try:
        found = _by_number(_rule(refusal.call), refusal.call)
    except Mismatch:
        verdict.refused += about_shapes
        verdict.other += not about_shapes
        return
    verdict.accepted += about_shapes
    verdict.other += not about_shapes
    if about_shapes:
        args = abstract(refusal.call.args, numbers)
        verdict.complaints.append(
            f"accepted: {refusal.error!r}: {refusal.call.name} {args} gives {show(found)}"
        )


def _sample(verdict: Verdict, call: Call, seen: set[str]) -> None:
    whole = call.form in ("function", "module")
    signature = _signature(call)
    if whole and signature is not None:
        verdict.name, verdict.rule = call.name, signature.result.rule or ""
    if call.wanted is REFUSED:
        verdict.skipped += whole
        return
    if signature is None:
        verdict.missing[call.form] += 1
        return
    key = _key(call)
    if key in seen:
        verdict.right[call.form] += 1
        verdict.exact += whole
        verdict.symbolic += whole
        return
    rule = _rule(call)
    wrong = complaint(rule, call.wanted, call.args, call.kwargs, hidden=whole)
    if wrong is not None:
        verdict.wrong[call.form] += 1
        if len(verdict.complaints) < WRONG_SHOWN:
            verdict.complaints.append(f"wrong: {call.form} {call.name}: {wrong}")
        return
    verdict.right[call.form] += 1
    if whole:
        exact = compatible(_by_number(rule, call), call.wanted, exact=True) is None
        named = by_name(rule, call.args, call.kwargs)
        symbolic = compatible(named, call.wanted, exact=True) is None
        verdict.exact += exact
        verdict.symbolic += symbolic
        if call.init is None:
            _enlarged(verdict, call, rule)
        if exact and symbolic:
            seen.add(key)


def _enlarged(verdict: Verdict, call: Call, rule: Callable[..., Any]) -> None:
    """Judge a call on sizes that are too large to run, by torch's fake tensors."""
    big, wanted = samples.enlarged(call)
    if wanted is REFUSED:
        verdict.too_large += 1
        return
    try:
        wrong = compatible(_by_number(rule, big), wanted)
    except Mismatch as error:
        wrong = f"refused: {error.problem.headline}: {error.problem.reason}"
    if wrong is None:
        verdict.large += 1
        return
    verdict.wrong["large"] += 1
    if len(verdict.complaints) < WRONG_SHOWN:
        args = abstract(big.args, numbers), abstract(dict(big.kwargs), numbers)
        verdict.complaints.append(f"wrong: large {call.name} {args}: {wrong}")


def _key(call: Call) -> str:
    """Return what a call's verdict depends on, so that samples alike are judged once."""
    given = (call.args, dict(call.kwargs), call.init)
    return f"{call.form} {call.name} {abstract(given, numbers)} {_dtypes(given)}"


def _dtypes(value: Any) -> tuple[Any, ...]:
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return tuple(kind for item in value for kind in _dtypes(item))
    return (value.dtype,) if hasattr(value, "dtype") else ()


def _meant(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply an op whose silent broadcasts are meant, as they are in torch's samples."""
    try:
        return apply(name, *args, **kwargs)
    except Mismatch as error:
        if error.problem.code != "shape-broadcast":
            raise
    signature = table().signature(name)
    assert signature is not None
    marked = [replace(arg, inserted=True) if isinstance(arg, Tensor) else arg for arg in args]
    return signature.apply(Facts(), marked, kwargs, name, meant=True)


def _by_number(rule: Callable[..., Any], call: Call) -> Any:
    return rule(*abstract(call.args, numbers), **abstract(dict(call.kwargs), numbers))
