"""`shapecheck trace`: one forward pass, and what the tensors in it do."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shapecheck.cli._commands import CommandError, Commands, add_color_option, wants_color
from shapecheck.extras import is_installed, needs

if TYPE_CHECKING:
    from shapecheck.cli.trace.against import Comparison
    from shapecheck.runtime.tracing.model import Trace

_DESCRIPTION: Final = """\
Runs one forward pass and shows it: a tree of modules and ops with named shapes, the number of
parameters and the memory that each result takes. The names are those of the annotations, and
those that --input gives. By default it runs on the meta device: no memory and no weights are
needed, a model with 70 billion parameters is traced on a laptop.

FACTORY is a class, a function without arguments, or an expression: my_model:GPT(GPTConfig()).
MODULE is a dotted name, or the path of a file: src/my_model.py:build.
"""
_EXAMPLES: Final = """\
  shapecheck trace torchvision.models:resnet18 --input "1 3 224 224"
  shapecheck trace my_model:GPT --input "Int b=2 t=64"  with a dtype and names
  shapecheck trace my_model:Net --input "4 16" --input "mask: Bool 4 16"
  shapecheck trace my_model:Net --input '{"x": "4 16", "steps": 3}'
  shapecheck trace my_model:Net --input "4 16" --html net.html --svg net.svg
  shapecheck trace my_model:Net --input "4 16" --output json > before.json
  shapecheck trace my_model:Net --input "4 16" --against before.json

the exit code is 0, or 1 where the forward pass fails, or 2 where there is no such model.
"""
_DTYPE_HINT: Final = 'An --input may say its dtype: "Int 2 64", "Bool 64 64", "mask: Bool 2 64"\n'
_MISCALLED: Final = ("positional argument", "unexpected keyword argument", "multiple values")


def register(commands: Commands) -> None:
    """Declare the command's arguments."""
    parser = commands.add(
        "trace",
        run,
        summary="run a model once on the meta device and draw what its shapes do",
        description=_DESCRIPTION,
        examples=_EXAMPLES,
    )
    parser.add_argument("target", metavar="MODULE:FACTORY", help="what makes the model")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="SHAPE",
        help="an argument of the forward pass; several in order, or with a name before a colon; a "
        "dtype stands first (default: what the annotation says, else Float)",
    )
    parser.add_argument("--device", default="meta", help="where to run it; default: meta")
    parser.add_argument(
        "--depth",
        type=_depth,
        metavar="N",
        help="open modules to this depth only; in the drawing the default is what fits",
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--against",
        metavar="FILE",
        type=Path,
        help="tell what differs from another trace, which --output json has written",
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write a page")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="also write the drawing alone")
    add_color_option(parser)


def _depth(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f'"{text}" is no depth: a number from 0')
    return int(text)


def run(options: Namespace) -> int:
    """Run the command; return the exit code."""
    before = None
    if options.against is not None:
        from shapecheck.cli.trace.against import read

        if options.output == "json":
            raise CommandError("--against prints text: it goes with no other output")
        before = read(options.against)
    trace, error = _traced(options)
    comparison = None
    if before is not None:
        from shapecheck.cli.trace.against import compared, print_comparison, run_of

        color = wants_color(sys.stdout, options.color)
        comparison = compared(before, run_of(trace))
        print_comparison(comparison, sys.stdout, color=color)
    elif options.output == "json":
        json.dump(trace.as_dict(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    elif error is None or next(trace.ops(), None) is not None:
        from shapecheck.cli.trace.text import print_tree

        color = wants_color(sys.stdout, options.color)
        print_tree(trace, sys.stdout, depth=options.depth, color=color)
    if options.svg is not None:
        _save(options.svg, _drawing(trace, options.depth))
    if options.html is not None:
        _save(options.html, _page(trace, options.depth, comparison))
    if error is not None:
        _tell(error, options.device)
    return int(error is not None)


def _traced(options: Namespace) -> tuple[Trace, BaseException | None]:
    """Run the forward pass; return the record of it, up to where it fails, and why it does."""
    if not is_installed("torch"):
        raise CommandError(needs("trace", "torch"))
    try:
        import torch
    except ImportError as error:
        raise CommandError(f"tracing needs torch: {error}") from None
    from shapecheck.cli._settings import settings
    from shapecheck.cli.trace.inputs import inputs
    from shapecheck.cli.trace.load import load, said
    from shapecheck.runtime import ShapeError

    settings()  # the trace reads them again where it needs them
    try:
        torch.zeros(0, device=torch.device(options.device))
    except Exception as error:  # noqa: BLE001 - whatever a device's own code raises
        raise CommandError(f'torch has no device "{options.device}" here: {said(error)}') from None
    # What the user's code prints isn't part of the result.
    with redirect_stdout(sys.stderr):
        model = load(options.target, options.device)
    args, kwargs = inputs(options.input, model, options.device)
    with (
        redirect_stdout(sys.stderr),
        torch.no_grad(),
        torch.device(options.device),
        torch.compiler.set_stance("force_eager"),
    ):
        with _guessing(model):
            found = _recorded(model, args, kwargs)
        # What was guessed may be wrong; what is annotated is told.
        return _recorded(model, args, kwargs) if isinstance(found[1], ShapeError) else found


def _recorded(model: Any, args: Any, kwargs: Any) -> tuple[Trace, BaseException | None]:
    from shapecheck.runtime.tracing.model import Trace
    from shapecheck.runtime.tracing.recorder import recorded

    try:
        return recorded(model)(*args, **kwargs)
    except SystemExit as error:  # the user's model ends the program
        return Trace("", type(model).__qualname__), error


def _tell(error: BaseException, device: str) -> None:
    """Say why the forward pass fails, and what often helps."""
    from shapecheck.cli.trace.load import said
    from shapecheck.runtime import ShapeError

    if not isinstance(error, ShapeError):
        sys.stderr.write(f"the forward pass failed: {said(error)}\n{_hint(error, device)}")
        return
    inside = error.place is not None and error.place.startswith(str(Path(__file__).parents[2]))
    sys.stderr.write(f"{error.told(None if inside else error.place)}\n")
    if error.code == "shape-dtype":
        sys.stderr.write(_DTYPE_HINT)


@contextmanager
def _guessing(model: Any) -> Iterator[None]:
    """Have dimensions called what the code calls them, where no annotation says it."""
    from torch import nn

    from shapecheck.runtime import settings

    if not isinstance(model, nn.Module) or settings.mode() is not settings.Mode.FULL:
        yield
        return
    from shapecheck.cli.trace.guess import guesses
    from shapecheck.runtime.decorate.watching import Watch

    with Watch(model, {}, full=True, others=guesses(model)):
        yield


def _hint(error: BaseException, device: str) -> str:
    """Say what often helps."""
    text = str(error)
    if "meta" in text and device == "meta":
        return "The model looks at values, which the meta device hasn't: try --device cpu\n"
    if "CUDA" in text:
        return "The model asks for a device that isn't here; have it stay where its arguments are\n"
    if "Long" in text and "indices" in text:
        return _DTYPE_HINT
    if isinstance(error, TypeError) and any(words in text for words in _MISCALLED):
        return (
            "Each argument of the forward pass is an --input of its own; one by name is "
            '--input "mask: Bool 2 64"\n'
        )
    return ""


def _save(path: Path, text: str) -> None:
    from shapecheck.cli._pages import save

    try:
        save(path, text)
    except OSError as refusal:
        raise CommandError(f"can't write {path}: {refusal.strerror}") from None


def _drawing(trace: Trace, depth: int | None) -> str:
    from shapecheck.cli.trace.circuit import draw

    return draw(trace, depth)


def _page(trace: Trace, depth: int | None, comparison: Comparison | None) -> str:
    from shapecheck.cli.trace.page import trace_page

    return trace_page(trace, depth, comparison)
