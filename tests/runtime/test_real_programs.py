"""Programs as people write them, with everything in them decorated: they do what they did."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize, prune
from torch.utils.data import DataLoader, TensorDataset

from shapecheck import (
    Float,
    Int,
    ShapeError,
    dims_of,
    install_import_hook,
    shapecheck,
    trace,
    watch,
)

PACKAGE = """\
from __future__ import annotations
import abc, dataclasses, enum, functools, typing
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypedDict, TypeVar, overload
import torch
from torch import Tensor, nn
from shapecheck import Float, Int

if TYPE_CHECKING:
    from somewhere import Config
T = TypeVar("T")


class Mode(str, enum.Enum):
    A = "a"

    def run(self, x: Float[Tensor, "b"]) -> Float[Tensor, "b"]:
        return x

    @property
    def nice(self) -> str:
        return self.value


class Out(NamedTuple):
    logits: Float[Tensor, "b v"]
    loss: Float[Tensor, ""] | None = None


class Item(TypedDict, total=False):
    x: Float[Tensor, "b"]


class Enc(Protocol):
    def __call__(self, x: Float[Tensor, "b"]) -> Float[Tensor, "b"]: ...


class Err(Exception):
    def __init__(self, x: Float[Tensor, "b"] | None = None) -> None:
        super().__init__("boo")
        self.x = x


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cfg(Generic[T]):
    d: int = 4
    mean: Float[Tensor, "c"] = dataclasses.field(default_factory=lambda: torch.zeros(3))
    extra: T | None = None


@dataclasses.dataclass
class Batch:
    x: Float[Tensor, "b d"]
    mask: Float[Tensor, "b"] = None
    meta: dataclasses.InitVar[int] = 3
    name: typing.ClassVar[str] = "n"

    def __post_init__(self, meta: int) -> None:
        self.mask = torch.ones(len(self.x)) if self.mask is None else self.mask

    def to(self, device: torch.device | str) -> Batch:
        return dataclasses.replace(self, x=self.x.to(device), meta=2)

    def __getitem__(self, i: slice) -> Batch:
        return Batch(self.x[i], self.mask[i])

    def __len__(self) -> int:
        return len(self.x)


class Base(nn.Module, abc.ABC):
    @abc.abstractmethod
    def forward(self, x: Float[Tensor, "b d"]) -> Out: ...


class Model(Base):
    temperature: Float[Tensor, ""]

    def __init__(self, cfg: Config | Cfg[int]) -> None:
        super().__init__()
        self.cfg = cfg
        self.lin = nn.Linear(cfg.d, cfg.d)
        self.register_buffer("temperature", torch.tensor(1.0))
        self.act: typing.Callable[[Tensor], Tensor] = torch.relu

    @overload
    def forward(self, x: Float[Tensor, "b d"]) -> Out: ...
    @overload
    def forward(self, x: Float[Tensor, "b d"], raw: bool) -> Tensor: ...
    def forward(self, x: Float[Tensor, "b d"], raw: bool = False) -> Out | Tensor:
        y = self.act(self.lin(x)) / self.temperature
        return y if raw else Out(y, y.mean())

    @functools.cached_property
    def w(self) -> Float[Tensor, "{self.cfg.d} {self.cfg.d}"]:
        return self.lin.weight

    @contextmanager
    def frozen(self) -> typing.Iterator[None]:
        self.requires_grad_(False)
        try:
            yield
        finally:
            self.requires_grad_(True)

    @torch.no_grad()
    def generate(self, x: Float[Tensor, "b d"], n: int) -> typing.Iterator[Float[Tensor, "b d"]]:
        for _ in range(n):
            x = self(x, True)
            yield x

    @staticmethod
    @torch.jit.ignore
    def helper(x: Float[Tensor, "b d"]) -> Float[Tensor, "b"]:
        return x.sum(1)

    @classmethod
    def build(cls, **kw: Any) -> Model:
        return cls(Cfg(**kw))

    def __call__(self, *a: Any, **k: Any) -> Any:
        return super().__call__(*a, **k)

    def extra_repr(self) -> str:
        return "x"

    def train(self, mode: bool = True) -> Model:
        return super().train(mode)


@functools.lru_cache(maxsize=None)
def table(n: int) -> Float[Tensor, "n"]:
    return torch.arange(float(n))


@functools.singledispatch
def size(x: Any) -> int:
    return 0


@size.register
def _(x: torch.Tensor) -> int:
    return x.numel()


def cfg_only(cfg: Config, path: "os.PathLike[str]" = None) -> Config:
    return cfg


async def fetch(x: Float[Tensor, "b"]) -> Float[Tensor, "b"]:
    return x


def nested(x: Float[Tensor, "b d"]) -> Float[Tensor, "d"]:
    class Local:
        def go(self, y: Float[Tensor, "b d"]) -> Local:
            self.y = y
            return self

    @torch.no_grad()
    def inner(y: Float[Tensor, "b d"], l: Local) -> Float[Tensor, "d"]:
        return y.sum(0)

    return inner(x, Local().go(x))
"""


@pytest.fixture
def everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import a module that has a bit of everything in it, decorated by the import hook."""
    (tmp_path / "everything.py").write_text(PACKAGE, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with install_import_hook("everything"):
        import everything  # type: ignore[import-not-found]

        yield everything
    del sys.modules["everything"]


@pytest.mark.filterwarnings("error", "ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", ["full", "boundary"])
def test_a_bit_of_everything(mode: str, monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    monkeypatch.setenv("SHAPECHECK", mode)
    it = request.getfixturevalue("everything")
    x = torch.rand(2, 4)
    model = it.Model.build(d=4)
    found = model(x)
    assert isinstance(found, it.Out)
    assert model(x, raw=True).shape == (2, 4)
    assert it.Mode("a").nice == "a"
    assert torch.equal(it.Mode.A.run(x[0]), x[0])
    assert it.Item(x=x[0])["x"].shape == (4,)
    assert it.Cfg(d=2).mean.shape == (3,)
    batch = it.Batch(torch.rand(3, 4))
    assert len(batch.to("cpu")[:2]) == 2
    assert len(pickle.loads(pickle.dumps(batch))) == len(copy.deepcopy(batch)) == 3
    with pytest.raises(it.Err):
        raise it.Err(x[0])
    with model.frozen():
        assert not model.lin.weight.requires_grad
    assert [row.requires_grad for row in model.generate(x, 2)] == [False, False]
    assert model.helper(x).shape == (2,)
    assert model.w is model.lin.weight
    assert it.table(3) is it.table(3)
    assert it.size(x) == 8
    assert it.cfg_only(1) == 1
    assert asyncio.run(it.fetch(x[0])) is not None
    assert it.nested(x).shape == (4,)
    assert torch.equal(copy.deepcopy(model).train().eval()(x).logits, found.logits)
    assert torch.equal(pickle.loads(pickle.dumps(model))(x).logits, found.logits)
    torch._dynamo.reset()
    assert torch.equal(torch.compile(model, backend="eager", fullgraph=True)(x)[0], found.logits)
    assert "linear" in str(trace(model)(x))
    with watch(model):
        assert torch.equal(model(x).logits, found.logits)
    wrong: list[Callable[[], Any]] = [
        lambda: model(x[0]),
        lambda: it.Batch(x[0]),
        lambda: setattr(batch, "x", x[0]),
        lambda: it.Cfg(mean=x),
        lambda: asyncio.run(it.fetch(x)),
        lambda: next(model.generate(x[0], 1)),
        lambda: it.nested(x[0]),
    ]
    for call in wrong:
        with pytest.raises(ShapeError):
            call()
    assert torch._C._len_torch_function_stack() == 0


# Libraries' manners -------------------------------------------------------------------------------


class ModelOutput(OrderedDict[str, Any]):
    """A dataclass that is a dict too, as HuggingFace's outputs are."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)


@shapecheck
@dataclasses.dataclass
class Scores(ModelOutput):
    logits: Float[Tensor, "b t v"] = None  # type: ignore[assignment]
    loss: Float[Tensor, ""] | None = None
    hidden: tuple[Float[Tensor, "b t d"], ...] | None = None


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(10, 4), nn.Linear(4, 10)

    @shapecheck
    def forward(
        self, tokens: Int[Tensor, "b t"], labels: Int[Tensor, "b t"] | None = None
    ) -> Scores:
        hidden = self.embed(tokens)
        logits = self.head(hidden)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))
        return Scores(loss=loss, logits=logits, hidden=(hidden, hidden * 2))


def test_outputs_that_are_dataclasses_and_dicts() -> None:
    tokens = torch.tensor([[1, 2, 3], [4, 5, 6]])
    found = Language()(tokens, tokens)
    assert list(found) == ["logits", "loss", "hidden"]
    assert found["logits"] is found.logits
    found.loss = found["loss"] * 2
    assert found["loss"] is found.loss
    with pytest.raises(ShapeError, match='attribute "logits" of "Scores" is'):
        found.logits = found.logits[0]
    with pytest.raises(ShapeError):
        Scores(logits=torch.rand(1, 2, 3), hidden=(torch.rand(1, 2, 4), torch.rand(1, 2, 5)))


class Lit(nn.Module):
    """A model with its steps, as Lightning has them."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(12, 5))
        self.logged: dict[str, float] = {}

    @shapecheck
    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b classes"]:
        return self.net(x)

    @shapecheck
    def step(
        self, batch: list[Float[Tensor, "b ..."] | Int[Tensor, "b"]], stage: Literal["fit", "test"]
    ) -> dict[str, Float[Tensor, ""]]:
        x, y = batch
        logits = self(x)
        found = {
            "loss": F.cross_entropy(logits, y),
            "right": (logits.argmax(1) == y).float().mean(),
        }
        self.logged[stage] = found["loss"].item()
        return found

    @shapecheck
    def training_step(self, batch: list[Tensor], index: int) -> Float[Tensor, ""]:
        return self.step(batch, "fit")["loss"]


def test_a_model_with_its_training_steps() -> None:
    torch.manual_seed(0)
    model = Lit()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    data = TensorDataset(torch.rand(7, 3, 2, 2), torch.randint(5, (7,)))
    for index, batch in enumerate(DataLoader(data, batch_size=3)):

        def closure(batch: Any = batch, index: int = index) -> Any:
            optimizer.zero_grad()
            loss = model.training_step(batch, index)
            loss.backward()
            return loss

        optimizer.step(closure)
    assert model.logged["fit"] > 0
    with pytest.raises(ShapeError):
        model.step([torch.rand(2, 3, 2, 2), torch.zeros(3, dtype=torch.int64)], "test")


class Symmetric(nn.Module):
    @shapecheck
    def forward(self, weight: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return weight.triu() + weight.triu(1).T


def test_parametrized_layers() -> None:
    layers = [nn.Linear(4, 4) for _ in range(5)]
    parametrize.register_parametrization(layers[0], "weight", Symmetric())
    parametrizations.weight_norm(layers[1])
    parametrizations.spectral_norm(layers[2])
    parametrizations.orthogonal(layers[3])
    prune.random_unstructured(layers[4], "weight", 0.5)
    stack = nn.Sequential(*layers).eval()

    def run(x: Float[Tensor, "b t 4"]) -> Float[Tensor, "b t 4"]:
        return stack(x)

    def named(x: Float[Tensor, "b t 4"]) -> Float[Tensor, "b t 4"]:
        found = stack(x)
        assert dims_of(found)[:2] == ("b", "t")
        return found

    x = torch.rand(2, 3, 4)
    wanted = run(x)
    assert torch.equal(shapecheck(named)(x), wanted)
    with parametrize.cached():
        assert torch.equal(shapecheck(named)(x), wanted)


class Square(torch.autograd.Function):
    @staticmethod
    @shapecheck
    def forward(ctx: Any, x: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @shapecheck
    def backward(ctx: Any, grad: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        (x,) = ctx.saved_tensors
        return grad * 2 * x


def test_a_function_with_a_gradient_of_its_own() -> None:
    @shapecheck
    def energy(x: Float[Tensor, "b d"]) -> Float[Tensor, ""]:
        return Square.apply(x).sum()

    x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(energy, (x,))
