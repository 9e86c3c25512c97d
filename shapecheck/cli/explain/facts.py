"""What is known of an op as plain data, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shapecheck.cli.explain import lookup
from shapecheck.cli.explain.examples import Example, examples_of, followed
from shapecheck.cli.explain.forms import forms_in, rules_in
from shapecheck.cli.explain.library import Thing, look_up
from shapecheck.cli.explain.lookup import Op, siblings
from shapecheck.cli.explain.sayings import called, decided_by, gives, is_private, places, shown

if TYPE_CHECKING:
    from shapecheck.signatures import Table


def facts_of(table: Table, asked: str) -> dict[str, Any]:
    """Return what is known of a name; of one that isn't, `unknown`, and names that are like it."""
    found = lookup.find(table, asked)
    if found:
        return _of_op(table, found)
    thing = next(filter(None, map(look_up, lookup.library_names(asked))), None)
    if thing is not None:
        return _of_library(thing)
    return {"unknown": asked, "similar": lookup.near_misses(table, asked)}


def _of_op(table: Table, found: list[Op]) -> dict[str, Any]:
    op = found[0]
    for name in (name for definition in op.definitions for name in definition.names):
        table.signature(name)  # a signature that means nothing is refused
    texts = [called(definition.text, op) for definition in op.definitions]
    return {
        "name": op.name,
        "signatures": [text.removesuffix(": ...").strip() for text in texts],
        "meaning": dict(forms_in(texts)),
        "rules": {rule: " ".join(decided_by(rule)) for rule in rules_in(texts)},
        "stated_in": places(op.definitions),
        "examples": [_example(one) for one in examples_of(table, op)],
        "same_signature": [name for name in op.others if not is_private(name)],
        "same_name": [name for name in siblings(table, found) if not is_private(name)],
    }


def _of_library(thing: Thing) -> dict[str, Any]:
    examples = followed(thing.name)
    return {
        "name": thing.name,
        "signatures": [thing.text] if thing.text else [],
        "about": thing.about,
        "gives": gives(thing, has_examples=bool(examples)),
        "stated_in": [f"{shown(thing.path).as_posix()}:{thing.line}"],
        "examples": [_example(one) for one in examples],
    }


def _example(example: Example) -> dict[str, Any]:
    return {
        "given": dict(example.tensors),
        "call": example.call,
        "error" if example.is_error else "result": example.result.removeprefix("error: "),
        "notes": list(example.notes),
    }
