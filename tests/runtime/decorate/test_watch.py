"""`watch(model)`: a model whose code can't be edited."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from typing import Any

import pytest
import torch
from jaxtyping import Float as Theirs
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounter

from shapecheck import Float, ShapeError, dims_of, named, watch
from shapecheck.types import ShapeAnnotationError


class Attention(nn.Module):
    """Annotated as third parties do it; `wrong` forgets the transpose."""

    def __init__(self, width: int, wrong: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.wrong = wrong

    def forward(
        self, x: Theirs[Tensor, "b t d"], mask: Theirs[Tensor, "t t"] = None
    ) -> Theirs[Tensor, "b t d"]:
        q = self.query(x)
        scores = q @ (x if self.wrong else x.transpose(-2, -1))
        if mask is not None:
            scores = scores + mask
        return scores.softmax(-1) @ x


class Block(nn.Module):
    """Without annotations."""

    def __init__(self, width: int, wrong: bool = False) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, wrong)

    def forward(self, x):  # type: ignore[no-untyped-def]
        return x + self.attention(self.norm(x))


class Model(nn.Module):
    """Without annotations, with one of a plain type that isn't even right."""

    def __init__(self, width: int = 8, wrong: bool = False) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(width), Block(width, wrong))
        self.seen: tuple[str | None, ...] = ()

    def forward(self, x, scale: int = 1):  # type: ignore[no-untyped-def]
        y = self.blocks(x * scale)
        self.seen = dims_of(y)
        return y


def test_annotations_inside_are_checked() -> None:
    model = Model()
    with watch(model):
        model(torch.ones(2, 8, 8), scale=0.5)
        with pytest.raises(ShapeError) as caught:
            model(torch.ones(8, 8))
    assert str(caught.value).splitlines()[0] == (
        'argument "x" of "self.attention" is (8 8), declared "b t d": it has 2 axes, declared 3'
        "  [shape]"
    )
    model(torch.ones(8, 8))


def test_names_go_on_inside() -> None:
    model = Model(wrong=True)
    model(torch.ones(2, 8, 8))  # the sizes agree
    with watch(model), pytest.raises(ShapeError) as caught:
        model(torch.ones(2, 8, 8))
    assert str(caught.value).splitlines()[0] == (
        '"@" can\'t multiply (b t d) by (b t d): the inner dimensions are d (axis -1) and t '
        "(axis -2)  [shape]"
    )


def test_annotations_may_be_given() -> None:
    model = Model()
    x = torch.ones(2, 8, 8)
    with watch(model, {"x": "batch time width", "return": "batch time width"}):
        y = model(x)
        assert model.seen == ("batch", "time", "width")
        assert dims_of(y) == ("batch", "time", "width")
        with pytest.raises(ShapeError, match='argument "x" of "model" is'):
            model(x[0])
    swapped = {"return": Float[Tensor, "time batch width"], "x": "batch time width"}
    with watch(model, swapped), pytest.raises(ShapeError, match="returned value"):
        model(torch.ones(2, 3, 8))
    model(x)
    assert model.seen == (None, None, None)


def test_names_that_tensors_have_already_go_on() -> None:
    model = Model()
    x = named(torch.ones(2, 3, 8), "batch time width")
    with watch(model):
        y = model(x)
    assert model.seen == ("batch", "time", "width")
    assert dims_of(y) == ("batch", "time", "width")
    with watch(model):
        model(y)
    assert model.seen == ("batch", "time", "width")


def test_the_model_is_as_it_was() -> None:
    model = Model()
    x = torch.randn(2, 3, 8)
    result = model(x)
    before = pickle.dumps(model), repr(model)
    names = set(vars(model)), set(vars(model.blocks[1]))
    forward = Model.forward, Attention.forward
    with watch(model):
        assert torch.equal(model(x), result)
        assert (pickle.dumps(model), repr(model)) == before
        assert (set(vars(model)), set(vars(model.blocks[1]))) == names
        assert type(model) is Model
        torch.save(model, io.BytesIO())
        twin = copy.deepcopy(model)
        assert torch.equal(twin(x), result)
        assert torch.equal(pickle.loads(pickle.dumps(model))(x), result)
    assert (Model.forward, Attention.forward) == forward


def test_a_copy_and_other_instances_are_not_watched() -> None:
    model, other = Model(), Model()
    with watch(model):
        other(torch.ones(8, 8))
        copy.deepcopy(model)(torch.ones(8, 8))
        with pytest.raises(ShapeError):
            model(torch.ones(8, 8))


def test_watching_ends() -> None:
    first, second = Model(), Model()
    forward = Attention.forward
    one, two = watch(first), watch(second)
    again = watch(first)
    one.remove()
    one.remove()
    for model in (first, second):
        with pytest.raises(ShapeError):
            model(torch.ones(8, 8))
    again.remove()
    first(torch.ones(8, 8))
    with pytest.raises(ShapeError):
        second(torch.ones(8, 8))
    two.remove()
    assert Attention.forward is forward


def test_a_watched_model_is_not_kept_alive() -> None:
    model = Model()
    alive = weakref.ref(model)
    watch(model)
    del model
    gc.collect()
    assert alive() is None


def test_an_instance_with_a_forward_of_its_own() -> None:
    model = Model()
    own = model.forward
    model.forward = lambda x: own(x, 1)  # type: ignore[method-assign]
    hook = model.forward
    with watch(model):
        with pytest.raises(ShapeError):
            model(torch.ones(8, 8))
        model(named(torch.ones(2, 3, 8), "b t d"))
        assert model.seen == ("b", "t", "d")
    assert model.forward is hook


class Child(Attention):
    """Calls what it inherits, annotated otherwise."""

    def forward(self, x: Float[Tensor, "rows cols 8"]) -> Float[Tensor, "rows cols 8"]:  # type: ignore[override]
        return super().forward(x)


def test_a_forward_that_calls_the_inherited_one() -> None:
    child = Child(8)
    with watch(child):
        child(torch.ones(2, 3, 8))
        with pytest.raises(ShapeError, match='argument "x" of "child" is'):
            child(torch.ones(2, 3, 7))
    wrong = Child(8, wrong=True)
    with watch(wrong), pytest.raises(ShapeError, match="can't multiply"):
        wrong(torch.ones(2, 8, 8))


class Silent(nn.Module):
    @torch.no_grad()
    def forward(self, x: "Float[Tensor, 'n d']", y: "Missing" = None) -> "Float[Tensor, 'n']":  # type: ignore[name-defined]
        return x.sum(1)


def test_wrapped_forwards_and_names_that_do_not_exist(recwarn: Any) -> None:
    model = Silent()
    with watch(model):
        model(torch.ones(2, 3))
        with pytest.raises(ShapeError):
            model(torch.ones(2))
    assert not recwarn.list


@pytest.mark.parametrize("mode", ["boundary", "off"])
def test_modes(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)
    model = Model(wrong=True)
    forward = Attention.forward
    with watch(model):
        model(torch.ones(2, 8, 8))
        if mode == "off":
            assert Attention.forward is forward
            model(torch.ones(8, 8))
        else:
            with pytest.raises(ShapeError):
                model(torch.ones(8, 8))


def test_what_cannot_be_watched() -> None:
    with pytest.raises(TypeError, match=r"watch takes a torch\.nn\.Module, not function"):
        watch(dims_of)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r'"z" is none of what forward takes .*: x, scale, return'):
        watch(Model(), {"z": "b"})
    with pytest.raises(ShapeAnnotationError, match="b"):
        watch(Model(), {"x": "b +"})
    scripted = torch.jit.script(nn.Linear(2, 2))
    with pytest.raises(TypeError, match="can't see into TorchScript"):
        watch(scripted)


def test_compiles_into_one_graph() -> None:
    model = Model().eval()
    x = torch.randn(2, 3, 8)
    expected = model(x)
    with watch(model):
        torch._dynamo.reset()
        compiled = torch.compile(model, fullgraph=True, backend="eager")
        assert torch.equal(compiled(x), expected)


@pytest.mark.parametrize("calls", ["3", "33", "23456", "e23e4"])
def test_nothing_is_compiled_again(calls: str) -> None:
    """A digit is a compiled call, `e` is one without dynamo."""

    def graphs(model: nn.Module) -> int:
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(model, fullgraph=True, backend=counter)
        for call in calls:
            if call == "e":
                model(torch.randn(2, 3, 8))
            else:
                compiled(torch.randn(2, int(call), 8))
        return int(counter.frame_count)

    model = Model().eval()
    with watch(model):
        found = graphs(model)
    assert found == graphs(Model().eval())
    again = Model().eval()
    with watch(again, {"x": "batch time width"}):
        assert graphs(again) == found


def test_several_models() -> None:
    models = nn.ModuleList([Model(), Model()])
    with watch(models):
        for model in models:
            with pytest.raises(ShapeError):
                model(torch.ones(8, 8))


def test_given_annotations_are_those_of_the_model_alone() -> None:
    outer = Attention(8)
    outer.add_module("query", nn.Sequential(Attention(8), nn.Linear(8, 8)))
    with watch(outer, {"x": "one two 8"}):
        outer(torch.ones(1, 2, 8))
    with watch(outer, {"x": "one two 8"}), pytest.raises(ShapeError, match='declared "b t d"'):
        outer.query[0](torch.ones(2, 8))  # type: ignore[index]
