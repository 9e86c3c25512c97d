"""Whether the calls in a record fit annotations that come from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shapecheck import dtypes, spec
from shapecheck.codemod.sources.records import RESULT, kind_of
from shapecheck.codemod.write.annotation_types import Either, ListType, TensorType, TupleType, Type
from shapecheck.record.store import Recorded
from shapecheck.shapes import Facts, Matcher, Shape


def contradiction(recorded: Recorded, kinds: Mapping[str, Type]) -> str | None:
    """Return which recorded call annotations of one function don't fit, None if they fit all."""
    for call in recorded.kinds:
        ints = {**call.ints, **{n: v for n, v in call.args.items() if type(v) is int}}
        matcher = Matcher(Facts(), lambda source, ints=ints: ints.get(source))  # type: ignore[misc]
        for slot, kind in kinds.items():
            if slot != RESULT and slot not in call.args:
                continue
            value = call.result if slot == RESULT else call.args[slot]
            misfit = _misfit(kind, value, matcher)
            if misfit is not None:
                shape, text = misfit
                what = "a result" if slot == RESULT else f'"{slot}"'
                return f'a recorded call has {what} of shape {shape}, which "{text}" doesn\'t fit'
    return None


def _misfit(kind: Type, value: Any, matcher: Matcher) -> tuple[str, str] | None:
    """Return a shape and the text that it doesn't fit, None if all fits."""
    what = kind_of(value)
    match kind:
        case TensorType(category=category, text=text) if what == "t":
            shape = "(" + " ".join(map(str, value[3])) + ")"
            if not dtypes.of(value[1]) & dtypes.CATEGORIES[category]:
                return f"{shape} and dtype {value[1]}", f"{category}[..., {text}]"
            if matcher.match(spec.parse(text), Shape(tuple(value[3]))) or matcher.settle():
                return shape, text
        case Either(options=options):
            fitting = [
                option for option in options if isinstance(option, TensorType) == (what == "t")
            ]
            return _misfit(fitting[0], value, matcher) if len(fitting) == 1 else None
        case TupleType(items=items, endless=False) if what == "u" and value[1] == len(items):
            for item, one in zip(items, value[2], strict=False):
                if misfit := _misfit(item, one, matcher):
                    return misfit
        case ListType(element=element) if what == "l":
            for one in value[2]:
                if misfit := _misfit(element, one, matcher):
                    return misfit
    return None
