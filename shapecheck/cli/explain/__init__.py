"""`shapecheck explain OP`: what is known of an op, with an example."""

from __future__ import annotations

import json
import sys
import textwrap
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from shapecheck.cli._commands import CommandError, Commands, add_color_option, wants_color
from shapecheck.cli.explain.sayings import called, decided_by, gives, is_private, places, shown
from shapecheck.extras import is_installed, needs

if TYPE_CHECKING:
    from rich.text import Text

    from shapecheck.cli.explain.examples import Example
    from shapecheck.cli.explain.library import Thing
    from shapecheck.cli.explain.lookup import Op
    from shapecheck.signatures import Table

_DESCRIPTION: Final = """\
Tells what shapecheck knows of an op or a module of torch, einops or another library: its
signature in the annotation language, the rule that decides, and an example whose shapes that
rule computes. Signature files of your own count too.
"""
_EXAMPLES: Final = """\
  shapecheck explain softmax      by its bare name
  shapecheck explain F.conv2d     F., nn. and Tensor. are what they usually are
  shapecheck explain nn.LSTM      a module
  shapecheck explain @            an operator: @ + - * / // % ** == < [] ...
  shapecheck explain softmax --output json
                                  for programs
  shapecheck explain --list conv  all names with "conv" in them

the exit code is 0, or 1 where nothing is known of the name.
"""
_MOST_OTHERS: Final = 8
_WIDTH: Final = 98


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "explain",
        run,
        summary="tell what is known of an op, with an example",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    name = parser.add_argument("op", nargs="?", metavar="OP", help="a name, dotted or not")
    name.completer = _complete  # type: ignore[attr-defined]  # argcomplete looks for it
    parser.add_argument("--list", action="store_true", help="print the names that contain OP")
    parser.add_argument(
        "--output", choices=("text", "json"), default="text", help="text (default), or json"
    )
    add_color_option(parser)


def run(options: Namespace) -> int:
    """Run the command; return the exit code."""
    from shapecheck.cli.explain import lookup

    if options.list and options.output == "json":
        raise CommandError("--list prints names, one a line: it goes with no other output")
    table = _table()
    if options.list:
        return _list(table, options.op or "")
    if options.op is None:
        raise CommandError("which op? `shapecheck explain softmax`, or --list for all names")
    if options.output == "json":
        return _as_json(options.op)
    found = lookup.find(table, options.op)
    lines = _lines(table, found) if found else _of_library(options.op)
    if lines is None:
        sys.stderr.write(_unknown(table, options.op))
        return 1
    _print(lines, color=wants_color(sys.stdout, options.color))
    return 0


def _as_json(asked: str) -> int:
    """Print all that is known as one object; of a name of which nothing is, what is like it."""
    from shapecheck.cli.explain.facts import facts_of

    facts = facts_of(_table(), asked)
    sys.stdout.write(f"{json.dumps(facts, indent=2)}\n")
    return int("unknown" in facts)


def told_of(name: str, stubs: tuple[str, ...]) -> list[str] | None:
    """Return what is known of an op, in plain lines and without its example; None for nothing.

    `name` is dotted, and `stubs` are the folders of the project's signature files.
    """
    from shapecheck.cli.explain import lookup
    from shapecheck.signatures import table

    every = table(stubs)
    found = lookup.find(every, name)
    return [line.plain for line in _known(every, found)] if found else None


def _table() -> Table:
    """Return the table of signatures, those of the project included."""
    from shapecheck.cli._settings import settings
    from shapecheck.signatures import table

    return table(settings().stubs)


def _public(table: Table) -> list[str]:
    """Return all names that people use."""
    names = (name for name in set(table.all_names()) if not is_private(name))
    return sorted(names)


def _list(table: Table, part: str) -> int:
    names = [name for name in _public(table) if part in name]
    sys.stdout.writelines(f"{name}\n" for name in names)
    return 0 if names else 1


def _complete(prefix: str, **_: Any) -> list[str]:
    """Return what a shell may complete a name to: dotted, or as far as a bare name goes."""
    from shapecheck.cli.explain.lookup import PREFIXES

    names = _public(_table())
    if "." in prefix:
        short, _dot, rest = prefix.partition(".")
        return [
            f"{short}{name.removeprefix(whole)}"
            for whole in PREFIXES.get(short, (short,))
            for name in names
            if name.startswith(f"{whole}.{rest}")
        ]
    return sorted({last for name in names if (last := name.rpartition(".")[2]).startswith(prefix)})


def _unknown(table: Table, asked: str) -> str:
    """Say that there is no such op."""
    from shapecheck.cli.explain import lookup

    close = lookup.near_misses(table, asked)
    first, last = ", ".join(close[:-1]), "".join(close[-1:])
    hint = f"; did you mean {f'{first} or ' if first else ''}{last}?" if close else ""
    told = (
        f'nothing is known of "{asked}"{hint}\n'
        "What isn't known has an unknown shape, and is never an error; a signature file of your\n"
        "own can describe it.\n"
    )
    named = lookup.library_names(asked)
    if any(name.startswith("torch.") for name in named) and not is_installed("torch"):
        told += f"{needs('what is told of names without a signature', 'torch')}\n"
    return told


def _print(lines: Iterator[Text], *, color: bool) -> None:
    from shapecheck.cli._console import console_on

    console = console_on(None, color=color)
    for line in lines:
        console.print(line)


def _of_library(asked: str) -> Iterator[Text] | None:
    """Return what is told of a name without a signature, None where nothing is installed."""
    from shapecheck.cli.explain import lookup
    from shapecheck.cli.explain.library import look_up

    found = next(filter(None, map(look_up, lookup.library_names(asked))), None)
    return None if found is None else _lines_of(found)


def _lines_of(thing: Thing) -> Iterator[Text]:
    from rich.text import Text

    from shapecheck.cli.explain.examples import followed

    yield Text(thing.name, style="bold green")
    yield Text()
    if thing.text:
        yield from (Text(f"  {line}", style="bold") for line in _wrapped(thing.text))
        yield Text()
    for line in textwrap.wrap(thing.about, _WIDTH - 2):
        yield Text(f"  {line}", style="italic")
    examples = followed(thing.name)
    yield Text(f"  {gives(thing, has_examples=bool(examples))}")
    yield Text(f"  defined in {shown(thing.path).as_posix()}:{thing.line}", style="dim")
    yield from _all_of(examples)


def _lines(table: Table, found: list[Op]) -> Iterator[Text]:
    from rich.text import Text

    from shapecheck.cli.explain.examples import examples_of
    from shapecheck.cli.explain.lookup import siblings

    op = found[0]
    yield from _known(table, found)
    yield from _all_of(examples_of(table, op))
    for title, names in (
        ("the same signature", op.others),
        ("other ops of this name", tuple(siblings(table, found))),
    ):
        public = [name for name in names if not is_private(name)]
        if public:
            left = len(public) - _MOST_OTHERS
            listed = ", ".join(public[:_MOST_OTHERS]) + (f", and {left} more" if left > 0 else "")
            yield Text()
            yield Text(f"{title}: ", style="bold").append(listed, style="default")


def _known(table: Table, found: list[Op]) -> Iterator[Text]:
    """Yield the signatures of an op, what is in them, and what decides."""
    from rich.text import Text

    from shapecheck.cli.explain import forms

    op = found[0]
    for name in (name for definition in op.definitions for name in definition.names):
        table.signature(name)  # a signature that means nothing is refused
    texts = [called(definition.text, op) for definition in op.definitions]
    title = f"{op.operator}  is  {op.name}" if op.operator else op.name
    yield Text(title, style="bold green")
    yield Text()
    for text in texts:
        yield from (Text(f"  {line}", style="bold") for line in _wrapped(text))
    yield Text()
    meanings = list(forms.forms_in(texts))
    rules = [[f'Rule["{rule}"]', *decided_by(rule)] for rule in forms.rules_in(texts)]
    width = max((len(form) for form, *_ in [*meanings, *rules]), default=0)
    for form, meaning, *more in [*map(list, meanings), *rules]:
        yield Text(f"  {form:<{width}}", style="cyan").append(f"  {meaning}", style="default")
        for line in more:
            yield Text(f"  {'':<{width}}  ").append(line, style="italic")
    if op.is_class and len(texts) == 1:
        yield Text("  an object that is no tensor: it has no shape")
    yield Text(f"  stated in {', '.join(places(op.definitions))}", style="dim")


def _wrapped(text: str) -> list[str]:
    """Return a signature on one line where that is short enough, else a parameter a line."""
    text = text.removesuffix(": ...").strip()
    if len(text) + 2 <= _WIDTH:
        return [text]
    head, _, rest = text.partition("(")
    parts: list[str] = []
    depth, start, quoted = 0, 0, False
    for at, character in enumerate(rest):
        quoted ^= character == '"'
        depth += (character in "([") - (character in ")]") if not quoted else 0
        if depth < 0:
            return [f"{head}(", *parts, f"    {rest[start:at].strip()},", rest[at:]]
        if character == "," and depth == 0 and not quoted:
            parts.append(f"    {rest[start:at].strip()},")
            start = at + 1
    return [text]


def _all_of(examples: list[Example]) -> Iterator[Text]:
    from rich.text import Text

    if examples:
        yield Text()
        yield Text("example", style="bold")
    for example in examples:
        yield from _example(example)


def _example(example: Example) -> Iterator[Text]:
    from rich.text import Text

    given = ", ".join(f"{name}: {shape}" for name, shape in example.tensors)
    if given:
        yield Text(f"  {given}", style="blue")
    line = Text(f"  {example.call}", style="bold")
    if not example.is_error:
        yield line.append("  ->  ", style="dim").append(example.result, style="bold green")
        return
    yield line
    yield Text(f"    {example.result}", style="red")
    for note in example.notes:
        yield Text("    note: ", style="cyan").append(note, style="default")
