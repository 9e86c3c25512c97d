"""`NamedTensor`: its methods are the functions, its operands meet by name, on both sides."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from named.sides import program, running, static
from named.test_both_sides import FORMS, HEAD, OPEN, PARAMETERS, WRONG, arguments
from seeding import seed
from torch import Tensor, nn

from shapecheck import Float, ShapeError, dims_of, named, reveal_shape, shapecheck
from shapecheck.named import NamedTensor

VIEWS = f"{HEAD}\nfrom shapecheck.named import NamedTensor\n"
METHODS = [
    name
    for name in named.__all__
    if name.islower() and next(iter(inspect.signature(getattr(named, name)).parameters)) == "x"
]


def by_methods(form: str) -> str | None:
    """Return an expression with a method for each function: `named.sum(x, "t")` otherwise.

    None where nothing in it is a call of a function that has a method.
    """
    tree = ast.parse(form, mode="eval")
    changed = Methods().visit(tree)
    made = ast.unparse(changed)
    return None if made == ast.unparse(ast.parse(form, mode="eval")) else made


class Methods(ast.NodeTransformer):
    """Puts the method in the place of the function that an expression calls at last."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return ast.Subscript(self.visit(node.value), node.slice, ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Attribute(self.visit(node.value), node.attr, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name("named"), attr=name), args=[first, *rest]
            ) if name in METHODS and not isinstance(first, ast.Starred):
                view = ast.Call(ast.Name("NamedTensor", ast.Load()), [first], [])
                method = ast.Attribute(view, name, ast.Load())
                return ast.Call(method, rest, node.keywords)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return node


CALLS = [
    (name, form, made)
    for name, forms in FORMS.items()
    for form in forms
    if (made := by_methods(form)) is not None and not made.startswith("[")
]


@pytest.mark.parametrize(("name", "form", "made"), CALLS, ids=[made for *_, made in CALLS])
def test_a_method_is_the_function(name: str, form: str, made: str) -> None:
    text = program(VIEWS, PARAMETERS, made if name == "pack" else f"{made}.tensor")
    expected = running(program(HEAD, PARAMETERS, form), arguments())
    assert running(text, arguments()) == expected
    if name not in OPEN:
        assert static(text) == expected


def test_each_function_of_a_tensor_is_a_method() -> None:
    for name in METHODS:
        function, method = getattr(named, name), getattr(NamedTensor, name)
        (_, *own), (_, *given) = (
            inspect.signature(one).parameters.values() for one in (method, function)
        )
        assert own == given
        assert method.__doc__ == function.__doc__


def test_each_other_function_is_one_of_the_class() -> None:
    others = {name for name in named.__all__ if name.islower()} - set(METHODS)
    assert others == {n for n in others if isinstance(vars(NamedTensor)[n], classmethod)}


def of_methods(text: str) -> Iterator[str]:
    made = by_methods(text)
    if made is not None:
        yield made


WRONGLY = [(text, made) for text in WRONG.values() for made in of_methods(text)]


@pytest.mark.parametrize(("form", "made"), WRONGLY, ids=[made for _, made in WRONGLY])
def test_a_wrong_method_is_told_as_the_function_is(form: str, made: str) -> None:
    text = program(VIEWS, PARAMETERS, made)
    (said, *others), (found,) = static(text), running(text, arguments())
    assert said == found
    assert others == []
    (function,) = running(program(HEAD, PARAMETERS, form), arguments())
    assert said.replace('"', '"named.', 1).partition(" ")[2] == function.partition(" ")[2]


# What expressions with views are: the names of the result.
MEETING = {
    "NamedTensor(x) + m": "b t d",
    "NamedTensor(m) + x": "b t d",
    "x + NamedTensor(m)": "b t d",
    "m * NamedTensor(x)": "b t d",
    "NamedTensor(m) * NamedTensor(m).order('b t')": "t b",
    "NamedTensor(x) * NamedTensor(y)": "s b t d",
    "1 - NamedTensor(x) / 2": "b t d",
    "2 ** NamedTensor(x) % 3 // 1": "b t d",
    "-NamedTensor(x)": "b t d",
    "~NamedTensor(m) & m | m ^ m": "t b",
    "abs(NamedTensor(x))": "b t d",
    "NamedTensor(x) > m": "b t d",
    "NamedTensor(x) == 1": "b t d",
    "0.5 <= NamedTensor(x)": "b t d",
    "NamedTensor(x) - NamedTensor(x).mean('t', keepdim=True)": "b t d",
    "NamedTensor(x).mean('t', keepdim=True) - x": "b t d",
    "NamedTensor(x).topk(2, 't')[0] + NamedTensor(x).topk(2, 't')[0]": "b 2 d",
    "NamedTensor(x).topk(2, 't')[0] / NamedTensor(x).sum('t')": "b 2 d",
    "NamedTensor(x) + NamedTensor(x).sum()": "b t d",
    "NamedTensor(x).relu().clamp(0, 1).exp()": "b t d",
    "NamedTensor(x).to(torch.float64).float().detach()": "b t d",
    "NamedTensor(x).add(m, alpha=2)": "b t d",
    "NamedTensor(x).lerp(NamedTensor(x), 0.5)": "b t d",
    "NamedTensor(x).where(m, 0.0)": "b t d",
    "NamedTensor(x).mul_(m)": "b t d",
    "NamedTensor(x).copy_(named.order(x, 'd b t'))": "b t d",
    "torch.relu(NamedTensor(x))": "b t d",
    "torch.maximum(NamedTensor(m), NamedTensor(m).order('b t'))": "t b",
    "torch.add(x, NamedTensor(m))": "b t d",
    "x.maximum(NamedTensor(m))": "b t d",
    "torch.where(NamedTensor(m), NamedTensor(x), 0.0)": "b t d",
    "nn.ReLU()(NamedTensor(x))": "b t d",
    "nn.Sequential(nn.Tanh(), nn.Identity())(NamedTensor(x))": "b t d",
    "NamedTensor(x)[{'t': 0}]": "b d",
    "NamedTensor(x)[{'t': -1, 'b': 0}]": "d",
    "NamedTensor(x)[{'t': slice(1, None)}]": "b t-1 d",
    "NamedTensor(x)[{'t': NamedTensor(i)}]": "b n d",
    "NamedTensor(x)[{'d': [0, 2]}]": "b t 2",
    "NamedTensor(X)[{T: 0}]": "bb dd",
    "NamedTensor(x, 'p q r')": "p q r",
    "NamedTensor(x, ('p', 'q', 'r'))": "p q r",
    "NamedTensor(x, 'p', 'q', 'r')": "p q r",
    "NamedTensor(NamedTensor(x))": "b t d",
    "named.NamedTensor(torch.rand(2, 3), 'p q')": "p q",
    "NamedTensor(x).softmax('t').sum('d').max('b')[0]": "t",
    "NamedTensor(x).dot(NamedTensor(y), 'd')": "b t s",
    "NamedTensor(x).masked_fill(NamedTensor(m), 0.0)": "b t d",
    "NamedTensor.zeros(b=2, q=4) + NamedTensor.rand({'q': 4})": "b q",
    "NamedTensor.cat([NamedTensor(x), NamedTensor(x).order('t b d')], 't')": "b 2*t d",
    "NamedTensor.stack_new([NamedTensor(x), x], 'n2')": "n2 b t d",
    "NamedTensor.align(NamedTensor(x), m)[1]": "b t 1",
}
PLAIN = {  # functions take them as well, behind the first tensor
    "named.cat([NamedTensor(x), x], 't')": "b 2*t d",
    "named.align_as(m, NamedTensor(x))": "b t 1",
    "named.order(x, *NamedTensor(x).dims[::-1])": "d t b",
}
MEETING |= PLAIN


@pytest.mark.parametrize("expression", MEETING)
def test_names_of_what_views_give(expression: str) -> None:
    tensor = (
        ""
        if expression.startswith("named.") and "NamedTensor(torch" not in expression
        else ".tensor"
    )
    text = program(VIEWS, PARAMETERS, f"({expression}){tensor}")
    assert static(text) == running(text, arguments()) == [MEETING[expression]]


REFUSED = {
    "NamedTensor(x) + torch.rand(5)": (
        '"+" can\'t align (5) with (b t d): 5 of (5) has no name to meet by'
    ),
    "NamedTensor(x)[0]": '"[...]" takes an index by name: 0 isn\'t one; write dict(t=0)',
    "NamedTensor(x)[{'q': 0}]": '"[...]" has no dimension "q" in (b t d): it has "b", "t" and "d"',
    "NamedTensor(x).size('q')": '"size" has no dimension "q" in (b t d): it has "b", "t" and "d"',
    "NamedTensor(m).mul_(x)": '"mul_" can\'t align (b t d) with (t b): (t b) has no "d"',
    "NamedTensor(x).exp().sum('q')": (
        '"sum" has no dimension "q" in (b t d): it has "b", "t" and "d"'
    ),
    "NamedTensor.cat([NamedTensor(x), y], 't')": (
        '"NamedTensor.cat" has no dimension "t" in operand 1 (d s b): it has "d", "s" and "b"'
    ),
    "NamedTensor.zeros(q='r')": '"NamedTensor.zeros" takes the size of "q": \'r\' isn\'t one',
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_said_of_wrong_views(expression: str) -> None:
    text = program(VIEWS, PARAMETERS, expression)
    assert static(text) == running(text, arguments()) == [f"error: {REFUSED[expression]}"]


# What works in place keeps the dimensions of what it works on; `BODIES` are the parameters.
IN_PLACE = {
    "v += c": ("v", "b t"),
    "v *= w.sum('d')": ("v", "b t"),
    "v -= 1": ("v", "b t"),
    "v += s": ("v", "b t"),
    "x += NamedTensor(c)": ("x", "b t"),
    "x.mul_(NamedTensor(c))": ("x", "b t"),
    "v = NamedTensor(torch.rand(2, 3)); v += torch.rand(2, 3)": ("v", "2 3"),
    "v = NamedTensor(s); v += 2": ("v", ""),
    "v += NamedTensor(torch.ones(1))": ("v", "b t"),
}
BODIES = 'x: Float[Tensor, "b t"], c: Float[Tensor, "b"], s: Float[Tensor, ""]'
HELD = "    v, w = NamedTensor(x), NamedTensor(torch.rand(4, 3, 2), 'd t b')\n"


def statements(body: str, shown: str) -> str:
    """Return a program that reveals the shape of a variable behind some statements."""
    parameters = f"{VIEWS}\n@shapecheck\ndef f({BODIES}) -> None:\n"
    return f"{parameters}{HELD}    {body}\n    reveal_shape({shown})\n"


def given_to_bodies() -> list[Any]:
    return [torch.rand(2, 3), torch.rand(2), torch.rand(())]


@pytest.mark.parametrize("body", IN_PLACE)
def test_what_works_in_place(body: str) -> None:
    name, shape = IN_PLACE[body]
    text = statements(body, name if name == "x" else f"{name}.tensor")
    assert static(text) == running(text, given_to_bodies()) == [shape]


IN_PLACE_WRONGLY = {
    "v += w": '"+=" can\'t align (d t b) with (b t): (b t) has no "d"',
    "v.add_(w)": '"v.add_" can\'t align (d t b) with (b t): (b t) has no "d"',
    "x += w": '"+=" can\'t align (d t b) with (b t): (b t) has no "d"',
    "x.add_(w)": '"add_" can\'t align (d t b) with (b t): (b t) has no "d"',
    "v = NamedTensor(c); v *= x": '"*=" can\'t align (b t) with (b): (b) has no "t"',
    "v = NamedTensor(s); v += x": '"+=" can\'t align (b t) with (): () has no "b" and "t"',
    "v += torch.rand(5)": '"+=" can\'t align (5) with (b t): 5 of (5) has no name to meet by',
}


@pytest.mark.parametrize("body", IN_PLACE_WRONGLY)
def test_what_does_not_work_in_place(body: str) -> None:
    text = statements(body, "v.tensor")
    assert static(text) == running(text, given_to_bodies()) == [f"error: {IN_PLACE_WRONGLY[body]}"]


def test_what_is_said_of_what_works_in_place_has_its_operands() -> None:
    x = NamedTensor(torch.rand(2, 3), "b t")
    w = NamedTensor(torch.rand(4, 3, 2), "d t b")
    added = x
    with pytest.raises(ShapeError) as caught:
        added += w
    assert caught.value.message.notes == (
        f'left operand "added" is (b t) since line {line_of("added = x")}',
        f'right operand "w" is (d t b) since line {line_of("w = Named")}',
    )
    with pytest.raises(ShapeError) as caught:
        added.add_(w)
    assert caught.value.message.notes == (
        f'tensor "added" is (b t) since line {line_of("added += w")}',
        f'argument "w" is (d t b) since line {line_of("w = Named")}',
    )


def line_of(text: str) -> int:
    """Return the line of this file that begins with a text."""
    lines = Path(__file__).read_text("utf-8").splitlines()
    (found,) = [at for at, line in enumerate(lines, 1) if line.strip().startswith(text)]
    return found


def taking_plain(label: str) -> str:
    return (
        f'"{label}" takes plain tensors, and a NamedTensor is given: write .tensor, '
        "or .op(function)"
    )


# What takes plain tensors alone, and what torch calls it.
PLAINLY = {
    "torch.softmax(v, 1)": ("torch.softmax", "softmax"),
    "torch.cat([v, v])": ("torch.cat", "cat"),
    "torch.stack((x, v))": ("torch.stack", "stack"),
    "torch.einsum('bt,bt->b', x, v)": ("torch.einsum", "einsum"),
    "F.gelu(v)": ("F.gelu", "gelu"),
    "nn.Linear(3, 2)(v)": ("nn.Linear(3, 2)", "linear"),
    "x.view_as(v)": ("view_as", "view_as"),
}


@pytest.mark.parametrize("call", PLAINLY)
def test_other_functions_of_torch_take_plain_tensors(call: str) -> None:
    text = statements(call, "x")
    label, name = PLAINLY[call]
    assert static(text) == [f"error: {taking_plain(label)}"]
    with pytest.raises(TypeError, match=re.escape(taking_plain(name))):
        running(text, given_to_bodies())


# A view in the place of a plain tensor that is annotated.
IN_PLACE_OF_PLAIN = {
    "plain(v)": 'argument "x" of "plain"',
    "perhaps(v)": 'argument "x" of "perhaps"',
    "several([v])": 'item 0 of argument "x" of "several"',
}
TAKING = (
    '@shapecheck\ndef plain(x: Float[Tensor, "b t"]) -> None: ...\n'
    '@shapecheck\ndef perhaps(x: Float[Tensor, "b t"] | None) -> None: ...\n'
    '@shapecheck\ndef several(x: list[Float[Tensor, "b t"]]) -> None: ...\n'
    '@shapecheck\ndef either(x: Float[Tensor, "b t"] | NamedTensor) -> None: ...\n'
)


@pytest.mark.parametrize("call", IN_PLACE_OF_PLAIN)
def test_an_annotated_tensor_is_a_plain_one(call: str) -> None:
    text = statements(call, "x").replace("@shapecheck", f"{TAKING}@shapecheck", 1)
    (found,) = running(text, given_to_bodies())
    said = 'is NamedTensor, declared a tensor "b t"; write .tensor'
    assert found == f"error: {IN_PLACE_OF_PLAIN[call]} {said}"
    assert static(text) == [found.replace("item 0", "an item")]


@pytest.mark.parametrize("call", ["plain(v.tensor)", "perhaps(None)", "either(v)", "either(x)"])
def test_what_an_annotation_takes_for_a_view(call: str) -> None:
    text = statements(call, "x").replace("@shapecheck", f"{TAKING}@shapecheck", 1)
    assert static(text) == running(text, given_to_bodies()) == ["b t"]


PRODUCT = (
    'a NamedTensor has no "@", which goes by axes: write .dot(other, "d") for a product over d'
)


@pytest.mark.parametrize("product", ["v @ w", "v @ c", "x @ w"])
def test_a_product_says_over_what(product: str) -> None:
    text = statements(f"v = {product}", "x")
    assert static(text) == [f"error: {PRODUCT}"]
    with pytest.raises(TypeError, match=re.escape(PRODUCT)):
        running(text, given_to_bodies())


# Equal names are equal sizes: the results are those of torch, whatever the order of dimensions.
def views() -> tuple[NamedTensor, NamedTensor, Tensor, Tensor]:
    seed(0)
    a, b = torch.rand(2, 3, 4), torch.rand(4, 2)
    return NamedTensor(a, "b t d"), NamedTensor(b, "d b"), a, b


TWINS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Tensor, Tensor], Tensor]]] = {
    "sum": (lambda x, y: x + y, lambda a, b: a + b.T[:, None]),
    "reflected": (lambda x, y: y.tensor - x, lambda a, b: b.T[:, None] - a),
    "of a number": (lambda x, y: 2 / x, lambda a, b: 2 / a),
    "compared": (lambda x, y: x < y, lambda a, b: a < b.T[:, None]),
    "of torch": (torch.maximum, lambda a, b: torch.maximum(a, b.T[:, None])),
    "method": (lambda x, y: x.pow(y), lambda a, b: a.pow(b.T[:, None])),
    "in place": (lambda x, y: x.clone().mul_(y), lambda a, b: a * b.T[:, None]),
    "softmax": (lambda x, y: x.softmax("t"), lambda a, b: a.softmax(1)),
    "index": (lambda x, y: x[{"t": 0, "d": [1, 2]}], lambda a, b: a[:, 0, [1, 2]]),
    "op": (lambda x, y: x.op(F.gelu), lambda a, b: F.gelu(a)),
}


@pytest.mark.parametrize("way", TWINS)
def test_elements_are_those_of_torch(way: str) -> None:
    x, y, a, b = views()
    by_name, by_axis = TWINS[way]
    found, expected = by_name(x, y), by_axis(a, b)
    assert isinstance(found, NamedTensor)
    torch.testing.assert_close(found.tensor, expected, rtol=0, atol=0)


def written(x: NamedTensor, a: Tensor) -> None:
    x[{"t": 0}] = 1.0
    a[:, 0] = 1.0
    x[{"t": 1}] = NamedTensor(torch.arange(8.0).view(4, 2), "d b")
    a[:, 1] = torch.arange(8.0).view(4, 2).T
    x[{"d": slice(0, 2)}] = NamedTensor(torch.ones(2), "d")
    a[..., :2] = 1.0
    x[{"t": torch.tensor([2, 0]), "b": 0}] = 5
    a[0, [2, 0]] = 5
    x[{"d": NamedTensor(torch.tensor([3, 2]), "k")}] = NamedTensor(torch.tensor([7.0, 8.0]), "k")
    a[..., [3, 2]] = torch.tensor([7.0, 8.0])


def test_writing_by_name() -> None:
    x, _, a, _ = views()
    written(x, a := a.clone())
    torch.testing.assert_close(x.tensor, a)


@pytest.mark.parametrize(
    ("index", "value", "text"),
    [
        ({"t": 0}, named(torch.ones(3), "q"), 'can\'t write (q) into (b d): it has no "q"'),
        ({"q": 0}, 1.0, 'has no dimension "q" in (b t d): it has "b", "t" and "d"'),
        (
            {"t": slice(0, 2)},
            named(torch.ones(3), "t"),
            "can't write (t) into (b min(t,2) d): t isn't min(t,2)",
        ),
    ],
)
def test_what_is_written_fits(index: Any, value: Any, text: str) -> None:
    x, *_ = views()
    with pytest.raises(ShapeError) as caught:
        x[index] = value
    assert caught.value.message.text == f'"[...] =" {text}'


def test_what_a_view_is() -> None:
    x, _, a, _ = views()
    assert x.tensor is x.values is a
    assert x.dims == x.names == dims_of(a) == ("b", "t", "d")
    assert x.shape == {"b": 2, "t": 3, "d": 4}
    assert (x.size("t"), x.dim(), len(x[{"b": 0, "t": 0}])) == (3, 3, 4)
    assert (x.dtype, x.device, x.requires_grad) == (a.dtype, a.device, False)
    assert x.sum().item() == float(x.sum()) == a.sum().item()
    assert (x == x).all()
    assert x[{"b": 0}].tolist() == a[0].tolist()
    with pytest.raises(TypeError, match="3 dimensions have no one length"):
        len(x)
    with pytest.raises(TypeError, match="not iterable"):
        iter(x)  # type: ignore[call-overload]


def test_how_a_view_is_written() -> None:
    assert (
        repr(NamedTensor(torch.ones(2, 1), "b t"))
        == 'NamedTensor(tensor([[1.],\n        [1.]]), "b t")'
    )
    assert f"{NamedTensor(torch.tensor(0.5)):.2f}" == "0.50"


def test_gradients_have_the_names() -> None:
    x = NamedTensor(torch.ones(2, 3, requires_grad=True), "b t")
    assert x.grad is None
    (x * NamedTensor(torch.arange(3.0), "t")).backward(NamedTensor(torch.tensor([1.0, 2.0]), "b"))
    assert x.grad is not None
    assert x.grad.dims == ("b", "t")
    torch.testing.assert_close(x.grad.tensor, torch.tensor([[0.0, 1, 2], [0, 2, 4]]))
    assert NamedTensor(torch.ones(2), "b").requires_grad_().requires_grad


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_names_go_with_a_copy(way: Callable[[NamedTensor], NamedTensor]) -> None:
    x, *_ = views()
    found = way(x)
    assert found.dims == x.dims
    assert (found == x).all()


@shapecheck
def scored(q: Float[Tensor, "b t d"], keys: NamedTensor) -> NamedTensor:
    found = NamedTensor(q).dot(keys, "d").softmax("s")
    assert found.dims == ("b", "t", "s")
    assert torch.relu(found).dims == found.dims
    assert (found + keys).dims == ("d", "b", "t", "s")
    return found


def test_names_go_with_a_view_into_calls_and_out_of_them() -> None:
    keys = NamedTensor(torch.rand(5, 4), "s d")
    found = scored(torch.rand(2, 3, 4), keys)
    assert found.dims == ("b", "t", "s")
    assert found.sum("s").dims == ("b", "t")


@shapecheck
def beside(x: Float[Tensor, "b t"], other: NamedTensor) -> tuple[object, ...]:
    return other.dims, other.shape, (other * 2).sum("t").dims, (NamedTensor(x) + 1).dims


def test_a_name_may_be_another_size_in_a_call() -> None:
    other = NamedTensor(torch.rand(7, 3), "b t")
    found = beside(torch.rand(2, 3), other)
    assert found == (("b", "t"), {"b": 7, "t": 3}, ("b",), ("b", "t"))
    assert other.dims == ("b", "t")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x: torch.softmax(x, 1),
            TypeError,
            taking_plain("softmax"),
        ),
        (
            nn.Linear(4, 2),
            TypeError,
            taking_plain("linear"),
        ),
        (
            lambda x: x.view(6, 4),
            AttributeError,
            'a NamedTensor has no "view", which goes by axes: write .tensor.view, or .op(function)',
        ),
        (lambda x: x.smoothe(), AttributeError, 'a NamedTensor has no "smoothe"'),
        (
            lambda x: named.softmax(x, "t"),
            ShapeError,
            '"named.softmax" takes a plain tensor: a NamedTensor is given; '
            "write .tensor, or call its method",
        ),
        (
            lambda x: beside(x, x),
            ShapeError,
            'argument "x" of "beside" is NamedTensor, declared a tensor "b t"; write .tensor',
        ),
    ],
)
def test_where_a_plain_tensor_is_needed(
    call: Callable[[NamedTensor], object], error: type[Exception], text: str
) -> None:
    x, *_ = views()
    with pytest.raises(error) as caught:
        call(x)
    assert str(caught.value).partition("\n")[0].partition("  [")[0] == text


def test_the_names_of_a_view_are_asked_for_as_those_of_a_tensor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x, *_ = views()
    assert dims_of(x) == ("b", "t", "d")
    assert dims_of(x.sum("t")) == ("b", "d")
    assert reveal_shape(x) is x
    assert 'Revealed shape is "b t d"' in capsys.readouterr().err
    text = program(VIEWS, PARAMETERS, "NamedTensor(x).sum('t')")
    assert static(text) == running(text, arguments()) == ["b d"]


def test_a_call_that_is_looked_into_takes_views_as_its_body_does() -> None:
    text = (
        f"{VIEWS}\n@shapecheck\n"
        'def f(q: Float[Tensor, "b t d"], k: Float[Tensor, "b s d"]) -> Float[Tensor, "b t d"]:\n'
        "    keys = NamedTensor(k)\n"
        '    weights = NamedTensor(q).dot(keys, "d").softmax("s")\n'
        '    best = weights.max("s")[0].relu() + keys.sum("s").sum("d")\n'
        '    return (weights.dot(keys, "s").order("b t d") + best).tensor\n'
        "f(torch.rand(2, 3, 3), torch.rand(2, 3, 3))\n"
    )
    assert static(text) == []


def test_methods_that_are_missing_are_told_before() -> None:
    text = program(VIEWS, PARAMETERS, "NamedTensor(x).smoothe()")
    assert static(text) == ['error: a NamedTensor has no "smoothe"']


def compiled(q: Float[Tensor, "b t d"], k: Float[Tensor, "d s b"]) -> Float[Tensor, "b s"]:
    x = NamedTensor(q)
    weights = x.dot(k, "d").softmax("s") * NamedTensor(k).sum("d")
    weights = (weights * 2 + weights.sum("t")).relu().clamp(max=weights)
    weights[{"t": 1}] = NamedTensor.ones(s=5) * named.zeros({"b": 2})
    return weights[{"t": 0}].sub(0.5).tensor


def test_a_view_is_compiled_in_one_graph() -> None:
    torch._dynamo.reset()
    given = torch.rand(2, 3, 4), torch.rand(4, 5, 2)
    function = shapecheck(compiled)
    fast = torch.compile(function, fullgraph=True, backend="eager")
    torch.testing.assert_close(fast(*given), function(*given))


@pytest.mark.parametrize("mode", ["off", "boundary", "full"])
def test_a_view_has_names_however_much_is_checked(mode: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)
    found = shapecheck(compiled)(torch.rand(2, 3, 4), torch.rand(4, 5, 2))
    assert found.shape == (2, 5)


# What no index by name is, of a view of (b t) that is 2 by 3.
INDICES = {
    "v[{'t': 5}]": (
        '"[...]" can\'t take element 5 of "t" in (b t): "t" has 3 elements, so that indices go '
        "from -3 to 2"
    ),
    "v[{'t': [0, 3]}]": (
        '"[...]" can\'t take element 3 of "t" in (b t): "t" has 3 elements, so that indices go '
        "from -3 to 2"
    ),
    "v.get('b', -3)": (
        '"v.get" can\'t take element -3 of "b" in (b t): "b" has 2 elements, so that indices go '
        "from -2 to 1"
    ),
    "v[{'t': 0, 'b': 7}] = 1.0": (
        '"[...] =" can\'t take element 7 of "b" in (b t): "b" has 2 elements, so that indices go '
        "from -2 to 1"
    ),
    "v.get('t')": (
        '"v.get" can\'t take None of "t" in (b t): an index is an int, a slice, a list or a tensor'
    ),
    "v[{'t': 'a'}]": (
        '"[...]" can\'t take \'a\' of "t" in (b t): an index is an int, a slice, a list or a tensor'
    ),
    "v[{'t': True}]": (
        '"[...]" can\'t take True of "t" in (b t): an index is an int, a slice, a list or a tensor'
    ),
    "v[{'t': v > 0}]": (
        '"[...]" can\'t take a mask (b t) of "t" in (b t): it has 2 dimensions; masked_select '
        "takes what such a mask says"
    ),
    "v[{'t': torch.tensor([True, False])}]": (
        '"[...]" can\'t take a mask (2) of "t" in (b t): "t" has 3 elements'
    ),
    "v[{'t': [0, 1, 2], 'b': [0, 1]}]": (
        '"[...]" can\'t take indices of several dimensions of (b t) together: there are 3 of "t" '
        'and 2 of "b"; take one behind the other, or as many of each'
    ),
    "v[{'t': 0, 't ': 1}]": '"[...]" can\'t take "t" of (b t): it is given twice',
    "v[{}]": '"[...]" takes an index by name: {} isn\'t one; write dict(t=0)',
}


ends_use_of_a_device = pytest.mark.cpu_only(
    reason="an index in a list that is too large ends all use of the device in a process"
)


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(index, marks=ends_use_of_a_device if "[0, 3]" in index else ())
        for index in INDICES
    ],
)
def test_what_is_said_of_an_index_by_name(index: str) -> None:
    head = f"{VIEWS}\n@shapecheck\ndef f() -> None:\n    v = NamedTensor(torch.rand(2, 3), 'b t')\n"
    text = f"{head}    {index}\n"
    assert static(text) == running(text, []) == [f"error: {INDICES[index]}"]


@ends_use_of_a_device
def test_an_index_beyond_a_dimension_is_an_index_error() -> None:
    x, *_ = views()
    for index in (3, [0, 3]):
        with pytest.raises(IndexError) as caught:
            x[{"t": index}]
        assert isinstance(caught.value, ShapeError)
        assert "torch says: " in str(caught.value)
    right = (
        x[{"t": [0, -3]}],
        x[{"t": [0, 1], "d": [2, 3]}],
        x[{"t": torch.tensor([True, False, True])}],
    )
    assert [one.dims for one in right] == [("b", None, "d"), ("b", None), ("b", None, "d")]


HIDES = 'mask_to hides it, and mask_to("") shows it again'
# What comes of a view `h` of (b t d) of which `b` is hidden.
HIDDEN = {
    "h.softmax('t')": "b t d",
    "h.softmax('b')": '"h.softmax" can\'t take "b" of (b t d): ',
    "h.sum('t d')": "b",
    "h.sum('d').amax('b')": '"amax" can\'t take "b" of (b t): ',
    "(h.relu() + c).sum('b')": '"sum" can\'t take "b" of (b t d): ',
    "torch.exp(h).max('t')[0].sum('b')": '"sum" can\'t take "b" of (b d): ',
    "h[{'t': 0}]": "b d",
    "h[{'b': 0}]": '"[...]" can\'t take "b" of (b t d): ',
    "h.stack(e='b t')": '"h.stack" can\'t take "b" of (b t d): ',
    "h.rename(q='t').dot(c.rename(q='t'), 'q')": "b d",
    "h.mask_to('t').sum('t')": '"sum" can\'t take "t" of (b t d): ',
    "h.mask_to('').sum('b')": "t d",
    "h.mask_to('')[{'b': 0}]": "t d",
    "NamedTensor(h).sum('b')": "t d",
}


@pytest.mark.parametrize("expression", HIDDEN)
def test_what_is_hidden(expression: str) -> None:
    head = (
        f"{VIEWS}\n@shapecheck\ndef f(x: Float[Tensor, 'b t d'], y: Float[Tensor, 't']) -> None:\n"
    )
    held = "    h, c = NamedTensor(x).mask_to('b'), NamedTensor(y)\n"
    text = f"{head}{held}    reveal_shape(({expression}).tensor)\n"
    found = HIDDEN[expression]
    expected = f"error: {found}{HIDES}" if "can't" in found else found
    assert static(text) == running(text, [torch.rand(2, 3, 4), torch.rand(3)]) == [expected]


def test_what_hides_is_a_view_like_others() -> None:
    x, *_ = views()
    hidden = x.mask_to("b")
    assert isinstance(hidden, NamedTensor)
    assert hidden.dims == x.dims
    assert repr(hidden) == repr(x)
    for again in (hidden, copy.copy(hidden), pickle.loads(pickle.dumps(hidden)), hidden * 2):
        with pytest.raises(ShapeError, match="mask_to hides it"):
            again.sum("b")
        assert again.sum("t").mask_to("").sum("b").dims == ("d",)
    with pytest.raises(ShapeError, match='has no dimension "q"'):
        x.mask_to("q")
