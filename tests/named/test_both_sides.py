"""Names in, names out: both sides know it of every function of `shapecheck.named`, in every form.

What the run time finds by computing is what the static side says before.
"""

from __future__ import annotations

import pytest
import torch
from named.sides import program, running, static
from seeding import seed

from shapecheck import named

HEAD = """\
import torch
import torch.nn.functional as F
from shapecheck import Bool, Dim, Float, Int, dims, named, reveal_shape, shapecheck
from torch import Tensor, nn

B, T, D, S, U = dims("bb tt dd ss uu")
Merged = Dim("heads") * Dim("keys")
Time = Dim("time", ragged=True)
AXIS = "t"
AXES = ("t", "d")
ALL = (B, T, D)

class Config:
    axis = "d"

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 7)
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.linear(x))

net, config = Net(), Config()

def halved(x: Float[Tensor, "*s n"]) -> Float[Tensor, "*s n//2"]:
    return x[..., ::2][..., : x.shape[-1] // 2]

def over(x, names):
    for name in names:
        x = named.sum(x, name)
    return x

def renamed(x, pairs):
    for new, old in pairs.items():
        x = named.rename(x, **{new: old})
    return x
"""

PARAMETERS = ", ".join(
    (
        'x: Float[Tensor, "b t d"]',
        'y: Float[Tensor, "d s b"]',
        'i: Int[Tensor, "n"]',
        'm: Bool[Tensor, "t b"]',
        'w: Float[Tensor, "b (h k)"]',
        "X: Float[Tensor, B, T, D]",
        "Y: Float[Tensor, D, S, B]",
        "W: Float[Tensor, B, Merged]",
        "Z: Float[Tensor, B, Time, D]",
        "lengths: Int[Tensor, B]",
        "at: int",
    )
)

# The call forms of each function: names as literals, constants, variables, sequences, keywords,
# loops and dimension objects.
FORMS: dict[str, list[str]] = {
    "align": [
        "named.align(x, m)[1]",
        "torch.mul(*named.align(x, m))",
        "named.align(*[x, m])[0]",
        "[a for a in named.align(x, y)][0]",
        "named.align(X, Y)[1]",
    ],
    "align_as": ["named.align_as(m, x)", "named.align_as(x=m, other=x)", "named.align_as(Y, Y)"],
    "align_to": [
        'named.align_to(x, "d b t")',
        'named.align_to(x, "d", "new", "...")',
        'named.align_to(x, "d", ..., "b")',
        'named.align_to(x, *AXES, "b")',
        "named.align_to(X, D, ..., S)",
    ],
    "all": ['named.all(m, "t")', "named.all(m)", 'named.all(m, ("t", "b"))'],
    "amax": ['named.amax(x, "t d")', "named.amax(x)", "named.amax(X, [T, D], keepdim=True)"],
    "amin": ['named.amin(x, dim="t")', "named.amin(x, AXES)"],
    "any": ['named.any(m, "b")', 'named.any(m, ["b"], True)'],
    "arange": [
        "named.arange(q=4)",
        'named.arange({"q": 4}, start=1, step=2)',
        "named.arange({S: 5})",
    ],
    "argmax": ['named.argmax(x, "t")', "named.argmax(X, T, keepdim=True)"],
    "argmin": ["named.argmin(x, AXIS)", "named.argmin(X, D)"],
    "argsort": ['named.argsort(x, "t", descending=True)', "named.argsort(X, T)"],
    "assert_size": ["named.assert_size(x, t=3, d=4)", 'named.assert_size(x, **{"b": 2})'],
    "augment": [
        'named.augment(i, nn.Embedding(10, 5), "e")',
        'named.augment(x, lambda x: torch.stack([x, x], -1), "pair")',
        'named.augment(i, nn.Embedding(10, 5), name="e")',
        "named.augment(X, lambda x: torch.stack([x, x], -1), Dim('pair'))",
    ],
    "cat": [
        'named.cat([x, x], "t")',
        'named.cat((x, named.order(x, "t b d")), AXIS)',
        'named.cat([x for _ in range(3)], "t")',
        'named.cat([named.get(x, "t", n) for n in range(2)], "d")',
        "named.cat([X, X], T)",
        'named.cat([named(torch.rand(2, 2), "p q"), named(torch.rand(2, 2), "q p")], "q")',
    ],
    "chunk": ['named.chunk(x, 2, "d")[0]', "named.chunk(X, chunks=2, dim=D)[1]"],
    "contract": [
        'named.contract((x, y), "d")',
        'named.contract([x, y, x], ["d"])',
        'named.contract((x,), "t")',
        "named.contract([X, Y], (D, B))",
    ],
    "cumprod": ['named.cumprod(x, "t")', "named.cumprod(X, T)"],
    "cumsum": ["named.cumsum(x, dim=AXIS)", "named.cumsum(X, D)"],
    "dot": [
        'named.dot(x, y, "d")',
        'named.dot(x, y, "d b")',
        'named.dot(x, y, dim=("d", "b"))',
        'named.dot(x, named.rename(x, u="t"), "d")',
        "named.dot(X, Y, D)",
        "named.dot(X, Y, [D, B])",
        "named.dot(x, y, config.axis)",
    ],
    "empty": ["named.empty(q=4, r=2)", 'named.empty({"q": 4}, dtype=torch.long)'],
    "expand_as": ["named.expand_as(m, x)", "named.expand_as(named.get(X, T, 0), X)"],
    "flatten": [
        'named.flatten(x, "t d", "f")',
        'named.flatten(x, ["t", "d"], "f")',
        'named.flatten(x, AXES, name="f")',
        'named.flatten(X, (T, D), "f")',
    ],
    "flip": ['named.flip(x, "t b")', "named.flip(x, AXES)", "named.flip(X, [T, D])"],
    "full": ['named.full({"q": 4}, 0.5)', "named.full(fill_value=1, q=4)"],
    "gather": [
        'named.gather(x, "t", named(i[:3], "n2"), "n2")',
        'named.gather(x, "d", i, "n")',
        'named.gather(x, "d", index=i, name="n")',
        "named.gather(x, AXIS, named.get(named.argsort(x, AXIS), d=0), AXIS)",
        "named.gather(X, D, i, 'n')",
    ],
    "get": [
        'named.get(x, "t", 0)',
        "named.get(x, t=0, d=-1)",
        'named.get(x, **{"b": 1})',
        "named.get(X, T, -1)",
        'named.get(x, "t", at)',
        "named.get(x, config.axis, 0)",
    ],
    "index": [
        'named.index(x, "t", slice(1, None))',
        "named.index(x, t=slice(0, 2))",
        'named.index(x, "t", [0, 2])',
        'named.index(x, "t", i)',
        "named.index(x, t=i, b=0)",
        "named.index(X, T, i)",
        'named.index(x, "d", torch.tensor([0, 1]))',
    ],
    "index_add": [
        'named.index_add(x, "t", i, named(torch.rand(7, 4), "n d"))',
        "named.index_add(X, T, i, named(torch.rand(7), 'n'), alpha=2)",
    ],
    "index_copy": [
        'named.index_copy(x, "d", i, named(torch.rand(2, 7), "b n"))',
        "named.index_copy(x, dim='d', index=i, source=named(torch.rand(7), 'n'))",
    ],
    "index_fill": ['named.index_fill(x, "t", i, 0.0)', "named.index_fill(X, T, i, value=1)"],
    "log_softmax": ['named.log_softmax(x, "t")', "named.log_softmax(X, D)"],
    "logsumexp": ['named.logsumexp(x, "t d")', "named.logsumexp(X, (T,), keepdim=True)"],
    "mask": ["named.mask(Z, Time.with_lengths(lengths))"],
    "masked_fill": ["named.masked_fill(x, m, 0.0)", "named.masked_fill(X, X > 0, 1.0)"],
    "masked_select": [
        'named.masked_select(x, m, "n2")',
        "named.masked_select(x, x > 0, name='n2')",
        "named.masked_select(X, X > 0, Dim('n2'))",
    ],
    "max": ['named.max(x, "t")[0]', "named.max(X, T, keepdim=True)[1]"],
    "mean": [
        'named.mean(x, "t")',
        "named.mean(x)",
        'named.mean(x, "t d", keepdim=True)',
        "named.mean(Z, Time.with_lengths(lengths))",
        "named.mean(Z, (Time.with_lengths(lengths), D))",
    ],
    "median": ['named.median(x, "t")[0]', "named.median(X, T)[1]"],
    "min": ['named.min(x, "t")[0]', "named.min(X, D)[1]"],
    "narrow": ['named.narrow(x, "t", 0, 2)', "named.narrow(X, D, start=at, length=2)"],
    "nonzero": ['named.nonzero(m, "n2", "axes")', "named.nonzero(X, Dim('n2'), axes='axes')"],
    "norm": ["named.norm(x)", 'named.norm(x, "d", p=1)', "named.norm(X, [D, T])"],
    "ones": ['named.ones({"q": 4, "r": 2})', "named.ones({S: 5, T: 3})"],
    "op": [
        "named.op(x, F.relu, torch.sigmoid)",
        "named.op(x, lambda x: x.mT)",
        'named.op(x, nn.Linear(4, 7), e="d")',
        "named.op(x, net)",
        'named.op(x, net, F.relu, e="d")',
        'named.op(x, nn.Sequential(nn.Linear(4, 5), nn.ReLU()), e="d")',
        'named.op(x, halved, half="d")',
        "named.op(x, lambda x: x.unsqueeze(-1))",
        'named.op(x, lambda x: x[:, 0], e="d")',
        "named.op(x, *[F.relu, net])",
        'named.op(x, net, **{"e": "d"})',
        "named.op(X, net, e=D)",
        "named.op(x, lambda x: F.max_pool1d(x, 2), half='d')",
        "named.op(x, torch.Tensor.exp)",
    ],
    "order": [
        'named.order(x, "d b t")',
        'named.order(x, "d", "...")',
        'named.order(x, "d", ...)',
        'named.order(x, "... b")',
        'named.order(x, "b (t d)")',
        'named.order(x, "(d t) b")',
        'named.order(named.stack(x, "t d"), "(t d) b")',
        'named.order(x, *AXES, "b")',
        'named.order(x, ["d", "b", "t"])',
        'named.order(x, "b", *AXES[::-1])',
        'named.order(x, " ".join(["t", "b", "d"]))',
        'named.order(x, f"b {AXIS} d")',
        "named.order(X, T, B, D)",
        "named.order(X, *ALL[::-1])",
        "named.order(X, D, ...)",
        "named.order(X, B, T * D)",
        "named.order(X, (D, T, B))",
        'named.order(x, *(n for n in ("d", "t", "b")))',
    ],
    "pack": ["named.pack(Z, Time.with_lengths(lengths)).data"],
    "prod": ['named.prod(x, "t")', "named.prod(X, T, keepdim=True)"],
    "put": [
        'named.put(x, {"t": 0}, 1.0)',
        'named.put(x, {"t": 0, "d": slice(1, None)}, named.get(x, t=1, d=0))',
        'named.put(x, {"t": slice(1, None)}, named.index(x, t=slice(0, -1)))',
        'named.put(x, {"d": i}, named(torch.rand(7, 3), "n t"))',
        "named.put(X, {T: 0}, named.get(X, T, 1))",
    ],
    "rand": ["named.rand(q=4, r=2)", "named.rand(**{'q': 4})"],
    "randint": ['named.randint({"q": 4}, 0, 10)', "named.randint(high=3, q=4)"],
    "randn": ['named.randn({"q": 4}, dtype=torch.float64)', "named.randn(b=2, q=4)"],
    "reduce": [
        'named.reduce(x, lambda x: x.sum(1), "t")',
        'named.reduce(x, lambda x: x.sum((1, 2)), "t d")',
        'named.reduce(x, torch.sum, ("b", "t", "d"))',
        "named.reduce(X, lambda x: x.mean(-1), D)",
    ],
    "refine_names": [
        'named.refine_names(torch.rand(2, 3), "p", None)',
        'named.refine_names(torch.rand(2, 3, 4), "p", ..., "q")',
        'named.refine_names(x, "b", "...", "d")',
        'named.refine_names(torch.rand(2, 3), "p q")',
    ],
    "rename": [
        'named.rename(x, u="t")',
        'named.rename(x, "t", "u")',
        'named.rename(x, **{"u": "t"})',
        "named.rename(X, T, U)",
        "named.rename(X, u=T)",
        'renamed(x, {"u": "t", "e": "d"})',
    ],
    "roll": ['named.roll(x, 1, "t")', "named.roll(X, shifts=2, dim=T)"],
    "scatter": [
        'named.scatter(x, "d", i, 1.0, "n")',
        'named.scatter(x, "d", i, named(torch.rand(7, 2), "n b"), "n")',
        "named.scatter(X, D, index=i, source=0, name='n')",
    ],
    "softmax": ['named.softmax(x, "t")', "named.softmax(X, T)", "named.softmax(x, config.axis)"],
    "sort": ['named.sort(x, "t")[0]', "named.sort(X, T, descending=True)[1]"],
    "split": [
        'named.split(x, d="p q", q=2)',
        'named.split(x, d=("p", "q"), p=2)',
        'named.split(w, "(h k)", h=3)',
        'named.split(named.stack(x, "t d"), "(t d)")',
        'named.split(x, **{"d": "p q", "q": 2})',
        "named.split(W, Merged, heads=3)",
        'named.split(x, d="d e", e=2)',
        'named.split(named.split(x, d="d e", e=2), t="t u", u=3)',
    ],
    "stack": [
        'named.stack(x, "t d")',
        'named.stack(x, f="d t")',
        "named.stack(x, f=AXES)",
        'named.stack(x, ["b", "d"])',
        'named.stack(x, **{"f": "b t"})',
        "named.stack(X, (T, D))",
        "named.stack(X, f=[D, B])",
        "named.stack(X, T * D)",
    ],
    "stack_new": [
        'named.stack_new([x, named.order(x, "d b t")], "n2")',
        'named.stack_new([named.get(x, "t", n) for n in range(3)], "n2")',
        'named.stack_new((x,) * 2, "n2")',
        "named.stack_new([X, X], Dim('pair'))",
    ],
    "std": ['named.std(x, "b t")', "named.std(X, T, correction=0)"],
    "sum": [
        'named.sum(x, "t")',
        "named.sum(x)",
        "named.sum(x, AXIS)",
        "named.sum(x, AXES)",
        'named.sum(x, [n for n in ("b", "t")])',
        'named.sum(x, f"{AXIS} d")',
        'named.sum(x, " ".join(AXES))',
        "over(x, AXES)",
        'over(x, ["d", "b"])',
        "over(X, ALL)",
        "named.sum(X, (T, D))",
        'named.sum(X, [T, "dd"])',
        "named.sum(X, ALL[1:])",
        "named.sum(Z, Time.with_lengths(lengths))",
        'named.sum(x, dim="t", keepdim=True)',
    ],
    "topk": ['named.topk(x, 2, "t")[0]', "named.topk(X, k=2, dim=T)[1]"],
    "transpose": [
        'named.transpose(x, "b")',
        'named.transpose(x, "d t")',
        "named.transpose(x, *AXES[::-1])",
        'named.transpose(x, "(d t)")',
        "named.transpose(X, T)",
        "named.transpose(X, D, B)",
    ],
    "tril": ['named.tril(x, "t d")', "named.tril(X, (D, B), -1)"],
    "triu": ['named.triu(x, "b t", diagonal=1)', "named.triu(x, dims=AXES)"],
    "unbind": [
        'named.unbind(x, "t")[1]',
        "[row for row in named.unbind(X, T)][0]",
    ],
    "unflatten": [
        'named.unflatten(x, "d", [("p", 2), ("q", 2)])',
        'named.unflatten(x, "d", (("p", 2), ("q", -1)))',
        "named.unflatten(X, D, [('p', 2), ('q', 2)])",
    ],
    "unique": [
        'named.unique(x, "n2")[0]',
        'named.unique(x, "n2")[1]',
        'named.unique(x, "n2", "t")[0]',
        'named.unique(x, "n2", "t")[1]',
        "named.unique(X, name=Dim('n2'), dim=T)[0]",
    ],
    "unpack": ['named.unpack(named.pack(Z, TIME := Time.with_lengths(lengths)), TIME, B, "e")'],
    "zeros": ['named.zeros({"q": 4, "r": 2})', "named.zeros(q=4)", "named.zeros({})"],
    "var": ['named.var(x, "b")', "named.var(X, (T, D), keepdim=True)"],
}

# A wrong call of each: a name that isn't there, or is there already, or a size that can't be.
WRONG: dict[str, str] = {
    **{
        name: f'named.{name}({"m" if name in ("all", "any") else "x"}, "q")'
        for name in (
            *("all", "amax", "amin", "any", "argmax", "argmin", "argsort", "cumprod", "cumsum"),
            *("flip", "log_softmax", "logsumexp", "max", "mean", "median", "min", "norm", "prod"),
            *("softmax", "sort", "std", "sum", "unbind", "var", "transpose", "stack", "split"),
        )
    },
    "align": "named.align(x, torch.rand(3))",
    "align_as": "named.align_as(x, m)",
    "align_to": 'named.align_to(x, "d t")',
    "arange": "named.arange(q=4, r=2)",
    "assert_size": 'named.assert_size(named(torch.rand(2, 3), "p q"), q=5)',
    "augment": 'named.augment(i, lambda i: i.float(), "e")',
    "cat": 'named.cat([x, y], "t")',
    "chunk": 'named.chunk(x, 2, "q")',
    "contract": 'named.contract((x, y), "t")',
    "dot": "named.dot(X, Y, T)",
    "empty": 'named.empty({"q": "r"})',
    "expand_as": "named.expand_as(x, m)",
    "flatten": 'named.flatten(x, "t d", "b")',
    "full": "named.full([2, 3], 0.5)",
    "gather": 'named.gather(x, "d", y, "s")',
    "get": "named.get(X, S, 0)",
    "index": "named.index(x, q=i)",
    "index_add": 'named.index_add(x, "t", i, m)',
    "index_copy": 'named.index_copy(x, "t", x, y)',
    "index_fill": 'named.index_fill(x, "q", i, 0.0)',
    "mask": "named.mask(x, Time.with_lengths(lengths))",
    "masked_fill": "named.masked_fill(m, x > 0, 0.0)",
    "masked_select": 'named.masked_select(m, x > 0, "n2")',
    "narrow": 'named.narrow(x, "q", 0, 1)',
    "nonzero": 'named.nonzero(x, "n2", "n2")',
    "ones": "named.ones(q=1.5)",
    "op": 'named.op(x, net, e="q")',
    "order": 'named.order(x, "b d")',
    "pack": "named.pack(x, Time.with_lengths(lengths))",
    "put": 'named.put(x, {"t": 0}, m)',
    "rand": 'named.rand({"q r": 2})',
    "randint": "named.randint({1: 2}, 3)",
    "randn": 'named.randn("q")',
    "reduce": 'named.reduce(x, lambda x: x.sum(1), "d")',
    "refine_names": 'named.refine_names(x, "b", "d", None)',
    "rename": 'named.rename(x, b="t")',
    "roll": 'named.roll(x, 1, "q")',
    "scatter": 'named.scatter(x, "t", i, 0.0, "b")',
    "stack_new": 'named.stack_new([x, y], "n2")',
    "topk": 'named.topk(x, 2, "q")',
    "tril": 'named.tril(x, "t")',
    "zeros": 'named.zeros({"q": 2}, q=3)',
    "triu": 'named.triu(x, "t q")',
    "unique": 'named.unique(x, "b", "t")',
    "unflatten": 'named.unflatten(named(torch.rand(2, 4), "p q"), "q", [("u", 3), ("v", 2)])',
    "unpack": "named.unpack(named.pack(Z, TIME := Time.with_lengths(lengths)), TIME, B)",
}

# What only the lengths say isn't known before.
OPEN = ("mask", "pack")


def arguments() -> list[object]:
    """Return what `f` is called with: each dimension has another size."""
    seed(0)
    x, y, w = torch.rand(2, 3, 4), torch.rand(4, 5, 2), torch.rand(2, 18)
    index, keep = torch.tensor([0, 1, 1, 0, 1, 0, 1]), torch.rand(3, 2) > 0.5
    ragged, lengths = torch.rand(2, 6, 4), torch.tensor([6, 4])
    return [x, y, index, keep, w, x.clone(), y.clone(), w.clone(), ragged, lengths, 1]


ALL = [(name, form) for name, forms in FORMS.items() for form in forms]


@pytest.mark.parametrize(("name", "form"), ALL, ids=[form for _, form in ALL])
def test_the_static_side_knows_what_running_it_gives(name: str, form: str) -> None:
    text = program(HEAD, PARAMETERS, form)
    (known,), (found,) = static(text), running(text, arguments())
    assert not found.startswith("error: ")
    if name in OPEN:
        pairs = zip(known.split(), found.split(), strict=True)
        known = " ".join(there if said == "_" else said for said, there in pairs)
    assert known == found


@pytest.mark.parametrize("name", WRONG)
def test_both_sides_say_the_same_of_a_wrong_call(name: str) -> None:
    text = program(HEAD, PARAMETERS, WRONG[name])
    (said, *others), (found,) = static(text), running(text, arguments())
    assert said.startswith("error: ")
    assert said == found
    assert others == []


def test_every_function_is_there() -> None:
    functions = sorted(name for name in named.__all__ if name.islower())
    assert sorted(FORMS) == functions
    assert sorted(WRONG) == functions


AGAIN = """
import pytest
from shapecheck import ShapeError, assert_shape, names


def first() -> None:
    x = named(torch.rand(2, 3), "b t")
    with pytest.raises(ShapeError):
        assert_shape(x, "b 4")
    assert_shape(named(torch.rand(2, 3), "b t"), "b 3")


def second() -> None:
    x = named(torch.rand(2, 3), "b t")
    assert_shape(x, "n m")
    with pytest.raises(ShapeError):
        assert_shape(x, "n 4")
    assert_shape(torch.rand(2, 3), "n m")
    assert_shape(x + torch.rand(2, 3), "b 3")


first()
second()
with names():
    first()
    second()
"""


def test_a_name_has_its_size_wherever_it_is_given() -> None:
    text = f"{HEAD}{AGAIN}"
    assert static(text) == []
    exec(compile(text, "again.py", "exec"), {})
    wrong = text.replace('assert_shape(x + torch.rand(2, 3), "b 3")', "x + torch.rand(2, 4)")
    assert static(wrong)[:1] == [
        'error: "+" can\'t broadcast (b t) with (2 4): axis -1 is t on the left and 4 on the right'
    ]
