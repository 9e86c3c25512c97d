"""The rules against the stubs that name them."""

from __future__ import annotations

import inspect
from collections import defaultdict

from repository import ROOT

from shapecheck.ops import RULES
from shapecheck.signatures import table

_OF_OTHERS = {("distance", "dim")}
"""Without a `dim`, `pairwise_distance` is along the last axis; those that have one are along 1."""


def _by_stubs() -> dict[tuple[str, str], set[str]]:
    """Return, by rule and parameter, what the stubs say is taken where it isn't given."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    stubs = table()
    for signature in filter(None, map(stubs.signature, stubs.all_names())):
        for one in (signature, *signature.overloads):
            for param in one.params if one.result.rule is not None else ():
                if not param.required:
                    found[one.result.rule or "", param.name].add(repr(param.default))
    return found


def test_a_rule_supposes_what_the_stubs_say() -> None:
    """A project's own stub may name a rule and leave out what it never gives."""
    by_stubs = _by_stubs()
    wrong = [
        f"{rule}: {name} is {parameter.default!r}, the stubs say {' or '.join(sorted(said))}"
        for rule, function in RULES.items()
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not parameter.empty and (rule, name) not in _OF_OTHERS
        if (said := by_stubs[rule, name]) and repr(parameter.default) not in said
    ]
    assert not wrong


def test_each_rule_is_named_somewhere() -> None:
    """By a stub, but for one that another rule asks."""
    stubs = "".join(path.read_text("utf-8") for path in (ROOT / "stubs").rglob("*.pyi"))
    assert {rule for rule in RULES if f'"{rule}"' not in stubs} == {"named.within"}
