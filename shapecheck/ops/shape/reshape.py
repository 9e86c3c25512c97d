"""Row-major regrouping of dimensions: `view`, `reshape`, `flatten`, `unflatten`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import shapecheck.dims as dims
from shapecheck import dtypes, shapes
from shapecheck.dims import (
    Composite,
    FloorDiv,
    IntSize,
    Kind,
    Relation,
    Size,
    Sym,
    Untold,
    is_name,
    size_of,
)
from shapecheck.dims.origins import AnyNumber, ElementsOf
from shapecheck.ops.call import Call, DType, Value, as_dim, as_tensor, only, replace, rule
from shapecheck.ops.saying import written
from shapecheck.shapes import Item, Mismatch, Run, Shape, Tensor, dim_of, has_run, mismatch


@rule("reshape")
def reshape(call: Call, input: Value, shape: Value, **rest: Value) -> Value:
    """Regroup all dimensions, `-1` taking what is left; `view(dtype)` reads the bytes anew."""
    tensor = as_tensor(input)
    dtype = rest.get("dtype") or _lone_dtype(shape)
    if isinstance(dtype, DType):
        return _as_dtype(call, tensor, dtype)
    if not isinstance(shape, (tuple, list)):
        if isinstance(shape, (int, Size)):
            shape = (shape,)
        else:
            return Tensor(Shape.unknown(), tensor.dtype)
    source = call.facts.shape(tensor.shape)
    headline = f"can't {_verb(call)} {source} as ({' '.join(map(written, shape))})"
    grouped = regroup(call, source, shape, headline, tensor.blank)
    return Tensor(grouped, tensor.dtype, _puts_in(source.dims, shape))


@rule("reshape_as")
def reshape_as(call: Call, input: Value, other: Value, **rest: Value) -> Value:
    """Regroup all dimensions into the shape of another tensor."""
    wanted = call.facts.shape(as_tensor(other).shape)
    if wanted.rank is None:
        return Tensor(wanted, as_tensor(input).dtype)
    return reshape(call, input, wanted.dims)


@rule("flatten")
def flatten(
    call: Call, input: Value, start_dim: Value = 0, end_dim: Value = -1, **rest: Value
) -> Tensor:
    """Merge a stretch of neighbouring axes into one, in their order."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    first, last = call.axis(shape, start_dim), call.axis(shape, end_dim)
    if shape.dims == ():
        return Tensor(Shape((1,)), tensor.dtype)
    if shape.rank is None:
        first = _near_run(shape.dims, start_dim) if first is None else first
        mirrored = _near_run(shape.dims[::-1], ~end_dim) if isinstance(end_dim, int) else None
        last = len(shape.dims) - 1 - mirrored if last is None and mirrored is not None else last
    if first is None or last is None:
        return Tensor(Shape.unknown(), tensor.dtype)
    if first > last:
        raise mismatch(
            f"start_dim {written(start_dim)} comes after end_dim {written(end_dim)}",
            f"can't flatten {shape}",
        )
    parts = [dim_of(item) for item in shape.dims[first : last + 1]]
    merged = dims.product(map(size_of, parts)) if tensor.blank else dims.merge(parts)
    return Tensor(Shape((*shape.dims[:first], merged, *shape.dims[last + 1 :])), tensor.dtype)


def _near_run(items: Sequence[Item], axis: Value) -> int | None:
    """Return where an axis stands that is the first of a run, if it is certain to be there."""
    if not isinstance(axis, int) or not 0 <= axis < len(items):
        return None
    return None if has_run(items[:axis]) else axis


@rule("unflatten")
def unflatten(call: Call, input: Value, dim: Value, sizes: Value, **rest: Value) -> Value:
    """Split one axis into several."""
    tensor = as_tensor(input)
    shape = call.facts.shape(tensor.shape)
    position = call.axis(shape, dim)
    if position is None or not isinstance(sizes, (tuple, list)):
        return Tensor(Shape.unknown(), tensor.dtype)
    wanted = " ".join(map(written, sizes))
    headline = f"can't unflatten axis {written(dim)} of {shape} into ({wanted})"
    if not shape.dims:
        raise mismatch("a 0-d tensor has no axis", headline)
    axis = Shape((shape.dims[position],))
    parts = regroup(call, axis, sizes, headline, tensor.blank)
    inserted = _puts_in(axis.dims, sizes)
    return Tensor(replace(shape, position, *parts.dims), tensor.dtype, inserted)


def _puts_in(source: Sequence[Item], wanted: Sequence[Value]) -> bool:
    """Whether a regrouping is written with more axes of size 1 than there were: `view(-1, 1)`."""
    before = [item for item in source if isinstance(item, int) and item == 1]
    return len([size for size in wanted if isinstance(size, int) and size == 1]) > len(before)


def _verb(call: Call) -> str:
    word = call.label.rpartition(".")[2]
    return "view" if word.startswith("view") else "reshape"


def _lone_dtype(shape: Value) -> Value:
    if isinstance(shape, (tuple, list)) and len(shape) == 1:
        return shape[0]
    return shape


_BYTES: Final = {
    dtypes.of(name): int(name.rpartition("t")[2].removesuffix("_e4m3fn").removesuffix("_e5m2")) // 8
    for name in dtypes.NAMES
    if name not in ("bool", "quantized") and not name.startswith(("float8", "complex"))
} | {
    dtypes.of("bool"): 1,
    dtypes.of("complex32"): 4,
    dtypes.of("complex64"): 8,
    dtypes.of("complex128"): 16,
}


def _as_dtype(call: Call, tensor: Tensor, dtype: DType) -> Tensor:
    """Return the result of `x.view(dtype)`: the last axis grows or shrinks with the element."""
    shape = call.facts.shape(tensor.shape)
    before, after = _BYTES.get(tensor.dtype), _BYTES.get(dtype.dtypes)
    if before is not None and before == after:
        return Tensor(shape, dtype.dtypes)
    last = shape.at(-1)
    if last is None:
        return Tensor(Shape.unknown(), dtype.dtypes)
    changed: IntSize = dims.unknown()
    if before is not None and after is not None:
        changed = dims.floordiv(size_of(last) * before, after)
        if dims.indivisible(size_of(last) * before, after):
            raise mismatch(
                f"{last} elements of {before} bytes (axis -1) don't make elements of {after} bytes",
                f"can't view {shape} as {dtypes.describe(dtype.dtypes)}",
            )
    return Tensor(replace(shape, len(shape.dims) - 1, changed), dtype.dtypes)


# The regrouping -----------------------------------------------------------------------------------


def regroup(
    call: Call, source: Shape, wanted: Sequence[Value], headline: str, blank: bool = False
) -> Shape:
    """Return the shape that a row-major regrouping gives; raises `Mismatch` where it can't be.

    `b t (h d)` as `(b, t, h, d)` splits the composite, `b t h d` as `(b, t, -1)` merges into one.
    `blank`: no data is in it, so that the axes are what they are called.
    """
    targets: list[Item | None] = []
    inferred: int | None = None
    uncertain = False
    for index, size in enumerate(wanted):
        if isinstance(size, int) and not isinstance(size, bool) and size < 0:
            if size != -1:
                raise mismatch(f"{size} isn't a size", headline)
            if inferred is not None:
                raise mismatch("only one size can be -1", headline)
            inferred = index
            targets.append(None)
        elif isinstance(size, (int, Size, Composite, Run)):
            targets.append(size if isinstance(size, Run) else as_dim(size))
        else:
            uncertain = True
            targets.append(dims.unknown())
    if uncertain:
        filled = tuple(dims.unknown() if item is None else item for item in targets)
        return Shape(filled)
    if inferred is not None and source.rank is None:
        source = _of_steps(call, source, targets, inferred)
    lead = _lead(call, source.dims, targets)
    same = lead  # what is certainly left as it is stays out of the quotient
    if inferred is not None:
        same += _kept_ahead(call, source.dims[lead:], targets[lead:])
    total = _product(call, source.dims[same:])
    rest = _product(call, [item for item in targets[same:] if item is not None])
    if inferred is not None:
        others = [item for item in targets if item is not None]
        reason = f"{_said(source.dims)} elements don't divide by {_said(others)}"
        about = (*source.dims, *others)
        problem = mismatch(reason, headline, about=about)
        targets[inferred] = _infer(call, total, rest, problem)
        ends = source.dims[lead:], targets[lead:]
        targets[inferred] = _left_over(call, *ends, inferred - lead, total, rest)
    else:
        reason = f"{_said(source.dims)} elements don't fill {_said(targets)}"
        problem = mismatch(reason, headline, about=(*source.dims, *targets))
        _check(call, total, rest, problem, _is_taken_apart(call, source.dims, targets))
    final = [item for item in targets if item is not None]
    if call.facts.same(total, 0):  # nothing is in it, in no order
        return Shape(tuple(item.size if isinstance(item, Composite) else item for item in final))
    if blank:
        return Shape(tuple(final))
    ahead = zip(source.dims[:lead], final, strict=False)
    stay = [target if isinstance(item, int) else item for item, target in ahead]
    return Shape((*stay, *_align(call, source.dims, final, lead)))


def _of_steps(call: Call, source: Shape, targets: Sequence[Item | None], inferred: int) -> Shape:
    """Return a shape of open rank with one axis for `-1` where features are divided into heads.

    `x.view(b, -1, heads, d // heads)` of what ends in `d`: such a parameter that is studied is a
    batch of sequences. See decisions.md, "A parameter that is studied is what its uses need".
    """
    heads = [item for item in targets[inferred + 1 :] if item is not None]
    features = source.dims[-1]
    runs = only((item.symbol for item in source.dims if isinstance(item, Run)), Sym)
    if len(heads) < 2 or isinstance(features, Run) or not all(one.supposed for one in runs):
        return source
    whole = dims.as_exact(_product(call, heads))
    if whole != size_of(dim_of(features)) and not call.facts.same(whole, size_of(dim_of(features))):
        return source
    found = call.facts.stretched(source, count=inferred + 2)
    if found.rank is not None:
        for item, target in zip(found.dims[:inferred], targets, strict=False):
            if not isinstance(item, Run) and target is not None and not isinstance(target, Run):
                call.unify(item, target)
    return call.facts.shape(found)


def _lead(call: Call, items: Sequence[Item], targets: Sequence[Item | None]) -> int:
    """Return how many leading dimensions stay as they are, those of size 1 among them."""
    count = 0
    for item, target in zip(items, targets, strict=False):
        if target is None or target == 0 or not _stays(call, item, target):
            break
        if _is_put_in(item, target, targets[count:]):
            break
        if not isinstance(target, Run) and call.facts.same(target, 0):
            break  # any two sizes are equal then
        count += 1
    return count


def _is_put_in(item: Item, target: Item, targets: Sequence[Item | None]) -> bool:
    """Whether a target of 1 isn't an axis which is of size 1: that one comes behind it."""
    return target == 1 and item != 1 and item in targets


def _kept_ahead(call: Call, items: Sequence[Item], targets: Sequence[Item | None]) -> int:
    """Return how many leading dimensions have the same size, however it is written."""
    count = 0
    for item, target in zip(items, targets, strict=False):
        if target is None or isinstance(item, Run) or isinstance(target, Run):
            break
        if call.facts.same(target, 0) or not call.facts.same(item, target):
            break
        count += 1
    return count


def _stays(call: Call, item: Item, target: Item) -> bool:
    if isinstance(item, Run) or isinstance(target, Run):
        return item == target
    if isinstance(item, Composite) and isinstance(target, Size):
        return call.facts.dim(item.size) == call.facts.dim(target)  # its first part may be meant
    return item == target or (not _loose(size_of(item)) and call.facts.same(item, target))


def _factors(call: Call, items: Sequence[Item]) -> list[IntSize]:
    """Return the sizes that items are products of, ones left out."""
    found: list[IntSize] = []
    for item in items:
        if isinstance(item, Run):
            found.append(item.size)
        else:
            found.extend(item.parts if isinstance(item, Composite) else (item,))
    return [factor for factor in found if call.facts.dim(factor) != 1]


def _product(call: Call, items: Sequence[Item]) -> IntSize:
    return call.facts.size(dims.product(_factors(call, items)))


def _said(items: Sequence[Item | None]) -> str:
    """Return a product as a person writes it, in the order of the axes."""
    sizes: list[IntSize] = []
    for item in items:
        if item is not None:
            sizes += item.parts if isinstance(item, Composite) else (size_of(dim_of(item)),)
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes):
        return str(dims.product(numbers))
    parts = [str(size) for size in sizes if size != 1]
    return "*".join(f"({part})" if _compound(part) else part for part in parts)


def _compound(text: str) -> bool:
    return any(sign in text for sign in "+-/") and not text.startswith("(")


def _infer(call: Call, total: IntSize, rest: IntSize, problem: Mismatch) -> IntSize:
    """Return what `-1` comes to: the number of elements over the product of the other sizes."""
    facts = call.facts
    if facts.same(rest, 0):
        raise mismatch("a size of 0 leaves the -1 open", problem.problem.headline)
    left, right = _cancel(total, rest)
    if dims.indivisible(left, right):
        raise problem
    if left == 1 and isinstance(right, Size):
        if not call.unify(right, 1):
            raise problem
        return 1
    if _rounded(rest):  # `heads*(width//heads)` is `width` as good as always
        whole = dims.divide(total, dims.as_exact(rest))
        if whole is not None and not _worse(whole):
            return whole
    quotient = dims.exact_quotient(total, rest)
    if quotient is None:
        return dims.floordiv(total, rest)
    if _entangled(quotient):
        return _axis_like(total)
    return quotient


def _axis_like(total: IntSize) -> IntSize:
    """Return an axis of which nothing is known, of the bare parameter that a total is made of."""
    origins = (s.origin for s in dims.in_order(dims.symbols(total)))
    rows = (one.symbol.origin for one in origins if isinstance(one, ElementsOf))
    bare = next((one for one in rows if isinstance(one, Untold)), None)
    return dims.unknown() if bare is None else Size.of(Sym.distinct("_", Kind.UNKNOWN, bare))


def _left_over(
    call: Call,
    source: Sequence[Item],
    targets: Sequence[Item | None],
    inferred: int,
    total: IntSize,
    rest: IntSize,
) -> Item:
    """Return what `-1` is where a name is taken apart: of `n c` as `(h, w, -1)` it is `c`."""
    found = targets[inferred]
    assert found is not None
    left, right = _cancel(total, rest)
    if isinstance(right, int) or not _worse(size_of(dim_of(found))):
        return found
    more = dims.unknown(str(found))
    if call.take_apart(left, right * more):
        return more
    if len(source) == 2 and 2 < len(targets) == inferred + 1 and not isinstance(source[1], Run):
        parts = [item for item in targets[:-1] if item is not None]
        if call.take_apart(_product(call, source[:1]), _product(call, parts)):
            return source[1]
    return found


def _entangled(size: IntSize) -> bool:
    """Whether a run of unknown dims is only part of a size, which would say nothing to a reader."""
    if isinstance(size, int) or size.symbol is not None:
        return False
    return any(
        isinstance(symbol.origin, ElementsOf)
        and symbol.origin.symbol.kind is Kind.UNKNOWN
        and symbol.name == "(...)"
        for symbol in size.symbols()
    )


def _is_taken_apart(call: Call, source: Sequence[Item], targets: Sequence[Item | None]) -> bool:
    """Whether there is another number of axes than before, as where `b n c` becomes `b h w c`."""
    given = [item for item in targets if item is not None]
    before, after = (sum(not _is_one(call, item) for item in part) for part in (source, given))
    return before != after


def _check(
    call: Call, total: IntSize, filled: IntSize, problem: Mismatch, is_taken_apart: bool
) -> None:
    """Refuse a regrouping whose sizes can't fill up; learn the equation if that needs one."""
    left, right = _cancel(total, filled)
    if call.facts.compare(total, filled).relation is Relation.SAME:
        return
    if not call.unify(left, right) and not (is_taken_apart and call.take_apart(left, right)):
        raise problem


def _cancel(left: IntSize, right: IntSize) -> tuple[IntSize, IntSize]:
    """Divide two sizes by the symbols that divide both."""
    for symbol in sorted(dims.symbols(left) & dims.symbols(right), key=repr):
        factor = Size.of(symbol)
        while True:
            a, b = dims.divide(left, factor), dims.divide(right, factor)
            if a is None or b is None or _worse(a) or _worse(b):
                break
            left, right = a, b
    return left, right


def _worse(size: IntSize) -> bool:
    """Whether a quotient isn't a polynomial, having a symbol below the line."""
    return isinstance(size, Size) and any(e < 0 for m in size.terms for _, e in m)


def _align(
    call: Call, before: Sequence[Item], after: Sequence[Item], lead: int
) -> tuple[Item, ...]:
    """Give each target behind `lead` the dimension of the input that it is, or that it merges.

    A target is a number to torch, so the order in a composite is that of the input, not its own.
    """
    source = before[lead:]
    composed = [isinstance(item, Composite) for item in after[lead:]]
    targets = [item.size if isinstance(item, Composite) else item for item in after[lead:]]
    result: list[Item] = list(targets)
    places = [i for i, item in enumerate(targets) if not _is_one(call, item)]
    factors: list[IntSize] = []
    owners: list[Item] = []
    for item in source:
        if not _is_one(call, item):
            parts = _factors(call, [item])
            factors += parts
            owners += [item] * len(parts)
    sizes = [size_of(dim_of(targets[i])) for i in places]
    high_a, high_b = len(factors), len(sizes)
    while high_a and high_b and _equal(call, factors[high_a - 1], sizes[high_b - 1]):
        if _is_product(sizes[high_b - 1], factors[:high_a]):
            break  # of `h k` as `h*k` it is both, and `k` alone only where `h` is 1
        high_a, high_b = high_a - 1, high_b - 1
        result[places[high_b]] = _kept(owners[high_a], factors[high_a], targets[places[high_b]])
    at_a = at_b = 0
    for left, right in shapes.groups(factors[:high_a], sizes[:high_b], call.facts.same):
        whole = owners[at_a : at_a + len(left)]
        if len(right) == 1:
            place = places[at_b]
            if len(left) == 1:
                result[place] = _kept(whole[0], left[0], targets[place])
            elif isinstance(targets[place], Run):
                pass  # it stays what it is, whatever it is made of
            elif left and _equal(call, dims.product(left), right[0]):
                result[place] = dims.merge(left)
            elif composed[place] and at_a + len(left) == high_a and not any(map(_loose, left)):
                result[place] = dims.merge(left)  # the last group is equal, as the others are
        elif len(left) > 1:
            _refuse_scrambling(call, before, after, whole, left, right)
            if _is_shift(call, left, right):
                for place in places[at_b : at_b + len(right)]:
                    result[place] = dims.unknown()
        at_a, at_b = at_a + len(left), at_b + len(right)
    return tuple(result)


def _is_product(size: IntSize, factors: Sequence[IntSize]) -> bool:
    """Whether a size is written as the product of several factors, of the last that there are."""
    if size == factors[-1]:
        return False
    return any(size == dims.product(factors[at:]) for at in range(len(factors) - 1))


def _refuse_scrambling(
    call: Call,
    source: Sequence[Item],
    targets: Sequence[Item],
    owners: Sequence[Item],
    left: Sequence[IntSize],
    right: Sequence[IntSize],
) -> None:
    """Raise `Mismatch` where a named axis would have to move, as in `b h t d` as `b t h*d`.

    A regrouping moves no axis, so the axis of that size in the result holds something else. Two
    axes that merely trade places are let through where one of them isn't a plain name: that is how
    relative positions are shifted; but not `h//2` and `w//2`. See decisions.md, "An axis of the
    input doesn't move in a `view`".
    """
    if any(isinstance(one, Run) and one not in source for one in targets):
        return  # `*rest` may be no axis at all
    moved = [
        (owner, factor)
        for owner, factor in zip(owners, left, strict=True)
        if any(_is_that(call, factor, size) for size in right)
    ]
    if len(moved) == len(left) == len(right):
        composed = any(isinstance(owner, Composite) for owner in owners)
        is_pair = len(left) == 2 and not composed
        is_shift = not _plain(left) or (is_pair and not all(map(is_name, left)))
        if is_shift and not _are_of_one_kind(left):
            return
    for owner, factor in moved:
        if not dims.symbols(factor) or _loose(factor) or _is_open(factor):
            continue
        if _is_twice(call, factor, right):
            continue
        if call.facts.same(factor, 1):
            continue
        here = source.index(owner)
        there = next(
            i for i, item in enumerate(targets) if _is_that(call, factor, size_of(dim_of(item)))
        )
        inside = _ahead_in(owner, factor)
        ahead = _product(call, [*source[:here], *inside]), _product(call, targets[:there])
        left_over = _cancel(*ahead)
        if left_over[0] == 1 and begins_with(factor, left_over[1]):
            continue
        may_stay = here == there or bool(inside) or has_run(source[:here])
        if any(map(_loose, left_over)) or (may_stay and any(map(_rounded, left_over))):
            continue
        if dims.as_exact(left_over[0]) == dims.as_exact(left_over[1]):
            continue  # `n` in front is cut into `g n//g`, which g divides
        if call.facts.same(*left_over):
            continue  # it moves past axes that are 1 here, as where the program runs
        if here == there and call.facts.copy().unify(*left_over):
            continue  # `b` is what stands ahead of `n` in `b*c//2 n 2`, where `c` is 2
        places = [f"is axis {here}", f"axis {there}"]
        if here == there or inside:
            places = [f"stands behind {ahead[0]}", f"behind {ahead[1]}"]
        raise mismatch(
            f"{factor} {places[0]} before and {places[1]} after, but a regrouping moves no axis; "
            + _moving(call, source, targets),
            f"scrambles {Shape(tuple(source))} into {Shape(tuple(targets))}",
            about=(factor, *ahead),
        )
    ordered = [
        [call.facts.size(s) for s in sizes if not call.facts.same(s, 1)] for sizes in (left, right)
    ]
    crossed = _crossed(*ordered)
    if crossed is not None:
        first, second = crossed
        raise mismatch(
            f"{first} stands in front of {second} before and behind it after, but a regrouping "
            "moves no axis; transpose first",
            f"scrambles {Shape(tuple(source))} into {Shape(tuple(targets))}",
            about=crossed,
        )


def _ahead_in(owner: Item, factor: IntSize) -> tuple[IntSize, ...]:
    """Return what stands ahead of a factor in the dimension that it is a part of."""
    parts = tuple(map(size_of, owner.parts)) if isinstance(owner, Composite) else ()
    return parts[: parts.index(factor)] if factor in parts else ()


def begins_with(size: IntSize, part: IntSize) -> bool:
    """Whether a size may be a part with more behind it: `2*w`, as `repeat` gives it, is `(2 w)`.

    What is one symbol isn't cut.
    """
    if isinstance(size, int) or size.symbol is not None:
        return False
    rest = dims.divide(size, part)
    return rest is not None and not _worse(rest)


def _crossed(left: Sequence[IntSize], right: Sequence[IntSize]) -> tuple[IntSize, IntSize] | None:
    """Return two names that a regrouping would have change their order, in products as well.

    So they do in `4*nh 4*nw` of `nw 4 nh 4`. It is said only of names of which each is once there.
    """
    names = [factor for factor in left if not isinstance(factor, int)]
    if len(set(names)) != len(names) or not all(map(is_name, names)):
        return None
    order = {symbol: i for i, name in enumerate(names) for symbol in dims.symbols(name)}
    behind: list[int] = []
    for size in right:
        here = sorted(order.get(symbol, -1) for symbol in dims.symbols(size))
        if -1 in here or (here and dims.divide(size, dims.product(names[i] for i in here)) is None):
            return None
        behind += here
    if sorted(behind) != list(range(len(names))):
        return None
    moved = next((i for i, at in enumerate(behind) if at != i), None)
    return None if moved is None else (names[moved], names[behind[moved]])


def _moving(call: Call, source: Sequence[Item], targets: Sequence[Item]) -> str:
    """Say what puts the axes into the order of the result, as code where that is certain."""
    order = _order(call, source, targets)
    moved = [axis for place, axis in enumerate(order) if place != axis]
    if not moved:
        return f"transpose {'afterwards' if len(targets) > len(source) else 'first'}"
    edit = f"permute({', '.join(map(str, order))})"
    if len(moved) == 2:
        edit = f"transpose({moved[1]}, {moved[0]})"
    return f"{edit} {'does' if len(order) == len(targets) else 'first'}"


def _order(call: Call, source: Sequence[Item], targets: Sequence[Item]) -> list[int]:
    """Return the axes in the order of the targets, each of which merges some; else nothing."""
    sizes = [size_of(item) for item in source if not isinstance(item, Run)]
    if len({s for s in sizes if is_name(s)}) < len(source):
        return []
    order: list[int] = []
    for target in targets:
        merged = size_of(dim_of(target))
        symbols = dims.symbols(merged)
        group = [axis for axis, size in enumerate(sizes) if dims.symbols(size) <= symbols]
        if not _equal(call, dims.product([sizes[axis] for axis in group]), merged):
            return []
        order += group
    return order if sorted(order) == list(range(len(source))) else []


def _is_twice(call: Call, factor: IntSize, sizes: Sequence[IntSize]) -> bool:
    """Whether a size that no annotation names is that of several axes: which it is isn't said."""
    symbol = dims.symbol_of(call.facts.size(factor))
    if symbol is None or symbol.kind is not Kind.OWN:
        return False
    return sum(_is_that(call, factor, size) for size in sizes) > 1


def _is_shift(call: Call, left: Sequence[IntSize], right: Sequence[IntSize]) -> bool:
    """Whether `t u+1` is regrouped as `u+1 t`, as relative positions are."""
    if len(left) != 2 or len(right) != 2 or any(map(_loose, left)):
        return False
    traded = _is_that(call, left[0], right[1]) and _is_that(call, left[1], right[0])
    return traded and not all(isinstance(f, int) or f.symbol is not None for f in left)


def _are_of_one_kind(sizes: Sequence[IntSize]) -> bool:
    """Whether two sizes are one expression of a name each, as `h//2` and `w//2` of an image."""
    names = dims.renaming(*sizes) if len(sizes) == 2 else None
    return names is not None and all(symbol.kind is Kind.NAME for symbol in names)


def _loose(size: IntSize) -> bool:
    """Whether something that isn't known is in a size."""
    return any(symbol.kind is Kind.UNKNOWN for symbol in dims.symbols(size))


def _is_open(size: IntSize) -> bool:
    """Whether a number is in a size that may be another next time: it is equal by chance only."""
    return any(isinstance(symbol.origin, AnyNumber) for symbol in dims.symbols(size))


def _rounded(size: IntSize) -> bool:
    """Whether a division is in a size that may be exact, which leaves open what it is equal to."""
    return isinstance(size, Size) and any(isinstance(atom, FloorDiv) for atom in size.atoms())


def _plain(factors: Sequence[IntSize]) -> bool:
    """Whether all sizes are names or numbers, and at least two are names."""
    names = [factor for factor in factors if isinstance(factor, Size) and factor.symbol is not None]
    return len(names) > 1 and all(isinstance(f, int) or f in names for f in factors)


def _equal(call: Call, a: IntSize, b: IntSize) -> bool:
    return a is b or a == b or call.facts.same(a, b)


def _is_that(call: Call, factor: IntSize, size: IntSize) -> bool:
    """Whether a size is that of a dimension; what is merely computed may be equal by chance."""
    computed = isinstance(size, Size) and size.symbol is None
    return (
        call.facts.dim(factor) == call.facts.dim(size) if computed else _equal(call, factor, size)
    )


def _is_one(call: Call, item: Item) -> bool:
    return not isinstance(item, Run) and call.facts.dim(item) == 1


def _kept(owner: Item, factor: IntSize, target: Item) -> Item:
    """Return the name for one dimension that stays: the input's, unless it has none."""
    if isinstance(target, Run):
        return target
    if isinstance(owner, Run):
        return factor
    return target if isinstance(factor, int) or _loose(factor) else factor
