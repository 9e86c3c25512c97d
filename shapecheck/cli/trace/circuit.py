"""Draws a circuit as SVG: a wire for each dimension, in its own colour, bundled per tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from shapecheck.cli.trace.wiring import Chip, Circuit, Level, Wire, circuit_of
from shapecheck.markup import escaped
from shapecheck.runtime.tracing.model import Trace
from shapecheck.runtime.tracing.records import OpRecord, TensorRecord, memory_text

_PITCH: Final = 5
_CHIP: Final = 300
_LEAST_HEIGHT: Final = 40
_GAP: Final = 34
_LINE: Final = 16
_WIDTH: Final = 7.3  # of a letter in a shape
_LEFT: Final = 20
_TOP: Final = 56
_INNER_TOP: Final = 12
_LANE_GAP: Final = 14
_COLORS: Final = 10
_DASHES: Final = ("6 2", "2 2", "9 2 2 2")
"""Of the wires whose colour another name has, too: round by round."""
_LONGEST: Final = 42
_LONGEST_TITLE: Final = 34
_LEGEND_LINE: Final = 20
_CENTER: Final = _LEFT + 70
_RIGHT: Final = _LEFT + _CHIP
_ENTRY: Final = "http://www.w3.org/2000/svg"


@dataclass(slots=True)
class _Plan:
    """Where everything is: the top and height of each chip, the x of each lane, the entries.

    `entries` are heights at the right edge of a chip, by chip and tensor. `colors` are the numbers
    of the names, in the order in which they come up; where nothing has a name, of the most frequent
    sizes.
    """

    colors: dict[str | int, int]
    has_names: bool
    tops: list[float] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    lanes: list[float] = field(default_factory=list)
    entries: dict[tuple[int, int], float] = field(default_factory=dict)
    width: float = 0
    height: float = 0

    def gap(self, circuit: Circuit, chip: int) -> float:
        """Return the room below a chip: for the shape of each tensor that leaves it."""
        leaving = sum(wire.source == chip for wire in circuit.wires)
        return _GAP + _LINE * max(leaving - 1, 0)


def draw(trace: Trace, depth: int | None = None) -> str:
    """Return the drawing of a trace as an SVG document; see `wiring.circuit_of`."""
    circuit = circuit_of(trace, depth)
    plan = _planned(circuit, _Plan(*_colors([circuit])), legend=True)
    return _document(trace, plan, [*_wires(circuit, plan), *_chips(circuit, plan)])


def draw_levels(trace: Trace, level: Level) -> str:
    """Return a drawing whose chips a script of the page opens: what is in one is drawn in it.

    Without the script it shows them all closed.
    """
    colors, has_names = _colors(list(level.circuits()))
    plan = _planned(level.circuit, _Plan(colors, has_names), legend=True)
    return _document(trace, plan, [*_level(level, plan)])


def _level(level: Level, plan: _Plan) -> Iterator[str]:
    yield from _wires(level.circuit, plan)
    yield from _chips(level.circuit, plan, level)
    for index, inner in level.inner.items():
        within = _planned(inner.circuit, _Plan(plan.colors, plan.has_names), legend=False)
        yield (
            f'<svg class="inner" data-chip="{index}" x="{_LEFT}" width="{within.width:g}" '
            f'height="{within.height:g}" display="none">'
            '<rect class="box" width="100%" height="100%" rx="6"/>'
        )
        yield from _level(inner, within)
        yield "</svg>"


def _document(trace: Trace, plan: _Plan, parts: Sequence[str]) -> str:
    title = f"{trace.kind}: how its dimensions flow"
    body = "\n".join([*_legend(plan), *parts])
    return (
        f'<svg xmlns="{_ENTRY}" viewBox="0 0 {plan.width:g} {plan.height:g}" '
        f'width="{plan.width:g}" height="{plan.height:g}" role="img">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n"
        f'<rect class="back" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


def _colors(circuits: Sequence[Circuit]) -> tuple[dict[str | int, int], bool]:
    """Return the numbers of the names, and whether there are any: else of the commonest sizes."""
    tensors = [wire.tensor for circuit in circuits for wire in circuit.wires]
    names = [name for tensor in tensors for name in tensor.names if name is not None]
    sizes = Counter(size for tensor in tensors for size in tensor.shape if size != 1)
    keys: list[str] | list[int] = names or sorted(size for size, _ in sizes.most_common(_COLORS))
    colors: dict[str | int, int] = {}
    for key in keys:
        colors.setdefault(key, len(colors))
    return colors, bool(names)


def _planned(circuit: Circuit, plan: _Plan, *, legend: bool) -> _Plan:
    tensors = [wire.tensor for wire in circuit.wires]
    at: dict[int, list[Wire]] = {}
    for wire in circuit.wires:
        for place in [wire.source, *wire.targets] if wire.targets else []:
            at.setdefault(place, []).append(wire)
    y: float = _INNER_TOP
    if legend:
        y = _TOP + max(at for _, _, at in _legend_entries(plan)) - _LEGEND_LINE
    for index, chip in enumerate(circuit.chips):
        used: float = 8
        for wire in sorted(at.get(index, ()), key=lambda wire: (wire.source == index, wire.source)):
            tall = _tall(wire.tensor)
            plan.entries[index, id(wire)] = y + used + tall / 2
            used += tall + 8
        height = max(used, _LEAST_HEIGHT if chip.row is not None else 26)
        plan.tops.append(y)
        plan.heights.append(height)
        y += height + plan.gap(circuit, index)
    x = _RIGHT + 46.0
    for count in circuit.lanes:
        plan.lanes.append(x)
        x += count * _PITCH + _LANE_GAP
    labels = (_label_place(one) + _WIDTH * (len(str(one)) + 2) for one in tensors)
    plan.width = max(x + 10, _RIGHT + 140, *labels)
    plan.height = y + 6 if legend else plan.tops[-1] + plan.heights[-1] + _INNER_TOP
    return plan


def _tall(tensor: TensorRecord) -> float:
    return max(len(tensor.shape), 1) * _PITCH


def _legend(plan: _Plan) -> Iterator[str]:
    kinds = [*map(_kind, plan.colors.values()), "none"]
    for kind, (text, x, y) in zip(kinds, _legend_entries(plan), strict=True):
        yield f'<path class="{kind}" d="M{x:g} {y:g}h16"/>'
        yield f'<text x="{x + 21:g}" y="{y + 4:g}">{escaped(text)}</text>'


def _legend_entries(plan: _Plan) -> Iterator[tuple[str, float, float]]:
    """Yield a text for each colour and its place: above the chips, and no wider than they are."""
    x, y = float(_LEFT), float(_LEGEND_LINE)
    for text in [*map(str, plan.colors), "no name" if plan.has_names else "other sizes"]:
        if x > _LEFT and x + _entry_width(text) > _RIGHT:
            x, y = _LEFT, y + _LEGEND_LINE
        yield text, x, y
        x += _entry_width(text)


def _entry_width(text: str) -> float:
    return 34 + 7.5 * len(text)


def _class(plan: _Plan, tensor: TensorRecord, axis: int) -> str:
    if not tensor.shape:
        return "scalar"
    key = tensor.names[axis] if plan.has_names else tensor.shape[axis]
    return _kind(plan.colors[key]) if key in plan.colors else "none"


def _kind(number: int) -> str:
    """Return the classes of a name's wires: its colour, and its dashes where that is taken."""
    turn, color = divmod(number, _COLORS)
    return f"d{color} r{(turn - 1) % len(_DASHES)}" if turn else f"d{color}"


def _wires(circuit: Circuit, plan: _Plan) -> Iterator[str]:
    said: dict[int, int] = {}
    for wire in sorted(circuit.wires, key=lambda wire: (wire.source, not wire.straight)):
        tensor = wire.tensor
        count = max(len(tensor.shape), 1)
        bottom = plan.tops[wire.source] + plan.heights[wire.source]
        line = said.get(wire.source, 0)
        said[wire.source] = line + 1
        yield f'<g class="t"><title>{escaped(_said(tensor))}</title>'
        if wire.straight:
            gap = plan.gap(circuit, wire.source)
            for axis in range(count):
                x = _CENTER + (axis - (count - 1) / 2) * _PITCH
                yield f'<path class="{_class(plan, tensor, axis)}" d="M{x:g} {bottom:g}v{gap:g}"/>'
        yield from _lane(wire, plan, count)
        y = bottom + _GAP / 2 + 4 + line * _LINE
        x = _label_place(tensor)
        yield f"{_label(plan, tensor, x, y, aside=not wire.straight)}</g>"


def _lane(wire: Wire, plan: _Plan, count: int) -> Iterator[str]:
    """Yield what goes down in a lane: nested at each corner, so that nothing crosses itself."""
    if not wire.targets:
        return
    start = plan.entries[wire.source, id(wire)]
    for axis in range(count):
        away = (axis - (count - 1) / 2) * _PITCH
        x = plan.lanes[wire.lane] + (count - 1) * _PITCH / 2 - away
        path = f"M{_RIGHT} {start + away:g}H{x:g}"
        stops = [plan.entries[target, id(wire)] - away for target in wire.targets]
        path += f"V{stops[-1]:g}H{_RIGHT}"
        path += "".join(f"M{x:g} {stop:g}H{_RIGHT}" for stop in stops[:-1])
        kind = _class(plan, wire.tensor, axis)
        yield f'<path class="{kind}" d="{path}"/>'
        for stop in stops[:-1]:
            yield f'<circle class="{kind} dot" cx="{x:g}" cy="{stop:g}" r="2.5"/>'


def _label_place(tensor: TensorRecord) -> float:
    """Return where a shape begins, on the right of its wires."""
    return _CENTER + max(24, _tall(tensor) / 2 + 8)


def _label(plan: _Plan, tensor: TensorRecord, x: float, y: float, *, aside: bool) -> str:
    """Return a shape as text, each dimension in the colour of its wire."""
    parts = ['<tspan class="none">↱</tspan>'] if aside else []
    for axis, (name, size) in enumerate(zip(tensor.names, tensor.shape, strict=True)):
        text = str(size) if name is None else f"{name}={size}"
        parts.append(f'<tspan class="{_class(plan, tensor, axis)}">{escaped(text)}</tspan>')
    if not tensor.shape:
        parts.append('<tspan class="none">a number</tspan>')
    return f'<text class="shape" x="{x:g}" y="{y:g}">{" ".join(parts)}</text>'


def _said(tensor: TensorRecord) -> str:
    return f"{tensor} {tensor.dtype}, {memory_text(tensor.bytes)}"


def _chips(circuit: Circuit, plan: _Plan, level: Level | None = None) -> Iterator[str]:
    for index, chip in enumerate(circuit.chips):
        y, height = plan.tops[index], plan.heights[index]
        if chip.row is None:
            yield (
                f'<g><rect class="chip given" x="{_LEFT}" y="{y:g}" width="{_CHIP}" '
                f'height="{height:g}" rx="13"/><text class="name" x="{_LEFT + 14}" y="{y + 17:g}">'
                f"{'input' if chip.gives else 'output'}</text></g>"
            )
            continue
        can_open = level is not None and index in level.inner
        yield _fold(index, y + height, level.inner[index]) if level and can_open else "<g>"
        yield from _chip(chip, y, height)
        if can_open:
            yield f'<text class="sign" x="{_RIGHT - 20}" y="{y + 17:g}">▸</text>'
        yield "</g>"


def _fold(index: int, bottom: float, inner: Level) -> str:
    """Return the beginning of a chip that can be opened."""
    return (
        f'<g class="fold" data-chip="{index}" data-bottom="{bottom:g}" tabindex="0" role="button" '
        f'aria-expanded="false"{" data-open" if inner.is_open else ""}>'
    )


def _chip(chip: Chip, y: float, height: float) -> Iterator[str]:
    row = chip.row
    assert row is not None
    kind = "failed" if row.error else "module" if row.kind else "op"
    title = row.name if not row.kind else f"{row.name} {row.kind}"
    title += " fails" if row.error else ""
    below = _details(chip)
    yield (
        f"<title>{escaped(f'{title}: {below}')}</title>"
        f'<rect class="chip {kind}" x="{_LEFT}" y="{y:g}" width="{_CHIP}" height="{height:g}" '
        f'rx="6"/><text class="name" x="{_LEFT + 14}" y="{y + 17:g}">{escaped(_short(title))}'
        f'</text><text class="below" x="{_LEFT + 14}" y="{y + 32:g}">'
        f"{escaped(_details(chip, _LONGEST))}</text>"
    )


def _details(chip: Chip, longest: int = 1000) -> str:
    """Return what stands under a chip's name: where it is, its parameters, its memory.

    Of a path that is too long, the end is shown.
    """
    row = chip.row
    assert row is not None
    record = row.record
    path = record.module if isinstance(record, OpRecord) else record.path
    parts: list[str] = []
    parameters = 0 if isinstance(record, OpRecord) else record.parameters
    if parameters:
        parts.append(f"{_count(parameters)} parameters")
    if row.allocated:
        parts.append(memory_text(row.allocated))
    numbers = " · ".join(parts)
    room = max(longest - len(numbers) - (3 if row.copies else 0) - (3 if numbers else 0), 12)
    if path == row.name:  # it stands above
        path = ""
    place = path if len(path) <= room else f"…{path[1 - room :]}"
    return " · ".join(filter(None, (f"to {place}" if row.copies else place, numbers)))


def _count(number: int) -> str:
    """Return a number of parameters as people say it."""
    for unit, size in (("B", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return str(number)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"


def _rules(colors: Sequence[str]) -> str:
    return "".join(
        f"path.d{at}{{stroke:{color}}}tspan.d{at},circle.d{at}{{fill:{color}}}"
        for at, color in enumerate(colors)
    )


_LIGHT: Final = (
    "#1f6fd1 #1d8a45 #c4560b #8a3fc0 #b3264a #0b8088 #7a6a00 #3d4bb8 #a04a8c #4f7a12".split()
)
_DARK: Final = (
    "#6fb0ff #5fcf86 #ff9f57 #cf9bff #ff8097 #4fd0d8 #d9c64a #9aa5ff #f09add #a5d85a".split()
)
STYLE: Final = (
    "text{font:12px system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1c2430}"
    "path{fill:none;stroke-width:2.2}"
    ".back{fill:#fff}.chip{fill:#f4f6f9;stroke:#98a3b3;stroke-width:1.2}"
    ".module{fill:#e6eefb;stroke:#5b83bd}.given{fill:#eaf6ee;stroke:#5c9a70}.failed{fill:#fbe4e2;stroke:#c9342b;stroke-width:2.2}"
    ".box{fill:#fbfcfe;stroke:#5b83bd;stroke-dasharray:4 3}.fold{cursor:pointer}"
    ".fold:focus{outline:none}.fold:focus-visible .chip{stroke:#1757b8;stroke-width:2.5}"
    ".sign{fill:#5b83bd;font-weight:700}"
    ".name{font-weight:600;font-size:13px}.below{fill:#5c6675}"
    ".shape{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    ".t:hover path{stroke-width:4}path.none{stroke:#8b94a1}tspan.none,circle.none{fill:#6b7482}"
    "path.scalar{stroke:#8b94a1;stroke-dasharray:2 3}"
    + "".join(f"path.r{at}{{stroke-dasharray:{dashes}}}" for at, dashes in enumerate(_DASHES))
    + _rules(_LIGHT)
    + "@media (prefers-color-scheme:"
    "dark){text{fill:#dfe5ee}.box{fill:#151b24}.fold:focus-visible .chip{stroke:#7fb2ff}"
    ".back{fill:#12161c}.chip{fill:#1b212a;stroke:#56616f}"
    ".module{fill:#1b2a41;stroke:#5b83bd}.given{fill:#17301f;stroke:#5c9a70}.failed{fill:#4a1f1c;stroke:#ff7a70}.below{fill:#98a3b3}"
    "path.none{stroke:#7a8594}tspan.none,circle.none{fill:#98a3b3}" + _rules(_DARK) + "}"
)
