"""Random annotations: every form of the language, right and wrong, in every spelling."""

from __future__ import annotations

import random

NAMES = ("b", "n", "d", "h", "w", "c", "t", "b", "n")
CATEGORIES = (
    "Float",
    "Float",
    "Float",
    "Int",
    "Bool",
    "Num",
    "Shaped",
    "Float32",
    "Complex",
    "UInt8",
)
JUNK = "ab_1 2+-*/%#?={}()[].,>'mi\n\\ax#**é"
MOST_AXES = 4


def text(rng: random.Random) -> str:
    """Return the text of an annotation."""
    if rng.random() < 0.06:
        return "".join(rng.choice(JUNK) for _ in range(rng.randrange(9)))
    axes = [axis(rng) for _ in range(rng.choice((0, 1, 2, 2, 3, 3, MOST_AXES)))]
    return rng.choice((" ", " ", " ", "  ")).join(axes)


def axis(rng: random.Random, depth: int = 2) -> str:
    """Return an entry of an annotation."""
    draw = rng.random()
    if draw < 0.5 or depth == 0:
        return rng.choice(NAMES)
    if draw < 0.62:
        return rng.choice(("1", "2", "3", "16", "0", "999999999999999999999"))
    if draw < 0.75:
        mark = rng.choice(("#", "*", "*#", "?", "_", "size=", "**", "#*", "-"))
        return mark + axis(rng, 0)
    if draw < 0.8:
        return rng.choice(("...", "_", "*_", "_x", "*s", "*#s"))
    if draw < 0.86:
        return (
            "{"
            + rng.choice(("n", "self.d", "len(xs)", "n//0", "x.shape[0]", "", "n +", "2**n"))
            + "}"
        )
    if draw < 0.9:
        return f"({axis(rng, depth - 1)} {axis(rng, depth - 1)})"
    if draw < 0.93:
        return f"{rng.choice(('min', 'max', 'abs'))}({axis(rng, depth - 1)},{axis(rng, depth - 1)})"
    operator = rng.choice(("+", "-", "*", "//", "%", "**", "/"))
    return f"{axis(rng, depth - 1)}{operator}{axis(rng, depth - 1)}"


def tensor(rng: random.Random) -> str:
    """Return an annotation of one tensor, in one of its spellings."""
    said = text(rng).replace("\n", " ")
    category = rng.choice(CATEGORIES)
    draw = rng.random()
    if draw < 0.6:
        return f"{category}[Tensor, {said!r}]"
    return rng.choice(
        (
            f"{category}[torch.Tensor, {said!r}]",
            f"Annotated[Tensor, {said!r}]",
            f"jt.{category}[Tensor, {said!r}]",
            repr(f'{category}[Tensor, "{said}"]'),
            f"{category}[Image, {said!r}]",
            f"{category}[Tensor, Batch, 2 * Time, 3]",
            f"{category}[Tensor, {said!r}, 'extra']",
            f"{category}[Tensor | None, {said!r}]",
            f"{category}[nn.Parameter, f'{{n}} {rng.choice(NAMES)}']",
            f"{category}[{said!r}]",
            f"{category}[np.ndarray, {said!r}]",
            f"TensorType[{said!r}]",
            f"{category}[Tensor, n]",
            "Image",
            "Tensor",
            "torch.LongTensor",
        )
    )


def any_kind(rng: random.Random, depth: int = 2) -> str:
    """Return an annotation of a tensor, of a container of some, or of something else."""
    draw = rng.random()
    if draw < 0.6 or depth == 0:
        return tensor(rng)
    if draw < 0.75:
        return rng.choice(("int", "float", "bool", "str", "nn.Module", "Any", "T", "None", "tuple"))
    one, other = any_kind(rng, depth - 1), any_kind(rng, depth - 1)
    return rng.choice(
        (
            f"Optional[{one}]",
            f"Union[{one}, {other}]",
            f"list[{one}]",
            f"tuple[{one}, {other}]",
            f"tuple[{one}, ...]",
            f"dict[str, {one}]",
            f"Callable[[{one}], {other}]",
            f"Iterator[{one}]",
            f"type[{one}]",
            f"Literal[{rng.choice(('1', repr('a')))}]",
            f"list[{one}, {other}]",
        )
    )
