"""einx: the names of a pattern, with brackets around the axes that an op works on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shapecheck import dtypes, spec
from shapecheck.ops.agree import promote_all, tensors_of
from shapecheck.ops.call import Call, Value, rule
from shapecheck.ops.patterns.pattern import Binding, PatternError, Side, as_length, side
from shapecheck.shapes import Shape, Tensor

_DTYPES: Final = {"bool": dtypes.BOOL, "index": dtypes.INT64, "any": dtypes.ANY}


@rule("einx")
def einx(call: Call, description: Value, tensors: Value, kwargs: Mapping[str, Value]) -> Value:
    """Judge `einx.mean("b [t] c", x)` or `einx.add("b c, c -> b c", x, y)`.

    Without an `->` the result has the axes outside of brackets (`"reduce"`), or those of the
    operand that has the names of all others. A constant is the result's dtype, where it isn't the
    operands'. What of a pattern einops hasn't is left alone.
    """
    parts = tensors_of(tensors)
    kind = next(
        (_DTYPES[one] for one in call.extra if isinstance(one, str) and one in _DTYPES), None
    )
    if parts and kind is None:
        kind = promote_all(parts)
    unknown = Tensor(Shape.unknown(), dtypes.ANY if kind is None else kind)
    if not isinstance(description, str) or parts is None:
        return unknown
    sides = _read(description, "reduce" in call.extra)
    if sides is None or len(sides) != len(parts) + 1:
        return unknown
    headline = f'can\'t take {" and ".join(map(str, parts))} by "{description}"'
    sizes = {name: as_length(value) for name, value in kwargs.items() if name != "graph"}
    output = Binding(call, Shape(()), headline, sizes)
    for part, one in sorted(zip(parts, sides[:-1], strict=True), key=lambda p: len(p[1].merged)):
        state = Binding(call, call.facts.shape(part.shape), headline, sizes)
        state.bind(one)
        output.rest = output.rest or state.rest
    if any(name not in sizes for name in sides[-1].names):
        return unknown
    return Tensor(output.build(sides[-1]), unknown.dtype)


def _read(description: str, reduces: bool) -> list[Side] | None:
    """Return the sides of a pattern, the output last; None where they aren't all understood."""
    if any(character in description for character in "+|&_"):
        return None
    plain = description.translate({ord("["): " ", ord("]"): " "})
    try:
        inputs, output = spec.parse_pattern(plain)
        found = [side(one) for one in inputs]
        if output is not None:
            return [*found, side(output)]
        if reduces:
            (kept,), _ = spec.parse_pattern(_outside(description))
            return [*found, side(kept)]
    except (spec.SpecError, PatternError):
        return None
    names = {name for one in found for name in one.names}
    whole = [one for one in found if set(one.names) == names]
    return [*found, whole[0]] if whole else None


def _outside(description: str) -> str:
    """Return what stands outside of brackets."""
    depth, kept = 0, []
    for character in description:
        depth += (character == "[") - (character == "]")
        if not depth and character != "]":
            kept.append(character)
    return "".join(kept)
