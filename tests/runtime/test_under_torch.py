"""What torch does to programs, done to decorated ones: the same comes out, and names where said."""

from __future__ import annotations

import copy
import pydoc
from collections.abc import Callable
from typing import Any

import devices
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vmap
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from shapecheck import (
    BFloat16,
    Bool,
    Float,
    Float32,
    Int,
    Shaped,
    ShapeError,
    dims_of,
    shapecheck,
)


class Plain(nn.Module):
    """A little of everything that draws random numbers, writes in place or has buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.norm = nn.BatchNorm1d(8)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.attend = nn.MultiheadAttention(8, 2, dropout=0.3, batch_first=True)
        self.out = nn.Linear(8, 11)

    def forward(self, tokens: Int[Tensor, "b t"]) -> Float[Tensor, "b t 11"]:
        x = self.embed(tokens)
        x = self.norm(x.mT).mT
        x = x + self.rnn(x)[0] + torch.randn_like(x)
        x = x + self.attend(x, x, x)[0]
        x = torch.dropout(x, 0.2, self.training)
        x[:, 0] = x[:, 0].clone().relu_()
        return self.out(x * (tokens > 3)[..., None])


class Checked(Plain):
    forward = shapecheck(Plain.forward)


@pytest.fixture
def models() -> tuple[Plain, Checked]:
    torch.manual_seed(1)
    plain, checked = Plain(), Checked()
    checked.load_state_dict(plain.state_dict())
    return plain, checked


def step(model: nn.Module, scaled: bool = False) -> list[Tensor]:
    """Return outputs, gradients, buffers and the state of the generator after three steps."""
    torch.manual_seed(3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    found: list[Tensor] = []
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast(devices.current().type, torch.bfloat16, enabled=scaled):
            y = model(torch.randint(0, 11, (3, 5)))
        y.float().square().mean().backward()
        optimizer.step()
        found.append(y.detach())
    found += [p.grad for p in model.parameters() if p.grad is not None]
    generators = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
    return [*found, *model.state_dict().values(), *generators]


@pytest.mark.parametrize("autocast", [False, True])
def test_training_is_the_same_bit_for_bit(models: tuple[Plain, Checked], autocast: bool) -> None:
    wanted, found = (step(model, autocast) for model in models)
    assert len(wanted) == len(found)
    assert all(torch.equal(a, b) for a, b in zip(wanted, found, strict=True))


def test_the_graph_of_gradients_is_the_same(models: tuple[Plain, Checked]) -> None:
    def nodes(function: Any) -> list[str]:
        inner = [nodes(one) for one, _ in function.next_functions if one is not None]
        return [function.name(), *(name for names in inner for name in names)]

    tokens = torch.randint(0, 11, (3, 5))
    plain, checked = (nodes(model(tokens).grad_fn) for model in models)
    assert plain == checked


class Ops(TorchDispatchMode):
    """Writes down every kernel that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    """Writes down every function of torch that is called."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [Ops, Functions])
def test_others_see_the_same_calls(models: tuple[Plain, Checked], mode: Any) -> None:
    seen = []
    for model in models:
        for _ in range(2):  # found out, then remembered
            with mode() as watcher:
                model(torch.ones(3, 5, dtype=torch.int64))
            seen.append(watcher.seen)
    assert all(one == seen[0] for one in seen)
    assert len(seen[0]) > 10


class Sub(Tensor):
    """A subclass that writes down what it is asked."""

    seen: list[str]

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        Sub.seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_a_subclass() -> None:
    def run(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        return (x * 2) @ y.T

    x, y = torch.rand(3, 3).as_subclass(Sub), torch.rand(3, 3)
    seen = []
    for function in (run, shapecheck(run), shapecheck(run)):
        Sub.seen = []
        result = function(x, y)
        assert type(result) is Sub
        seen.append(Sub.seen)
    assert seen == [["mul", "matmul"]] * 3

    @shapecheck
    def wrong(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        return x @ y

    with pytest.raises(ShapeError, match=r"can't multiply \(n d\) by \(m d\)"):
        wrong(x, y)

    @shapecheck
    def only(x: Float[Sub, "n d"]) -> None: ...

    only(x)
    with pytest.raises(ShapeError, match="is Tensor, declared a tensor"):
        only(y)


# Kinds of tensors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_nested_tensors(layout: torch.layout) -> None:
    """Sizes that are no numbers have no names; the rest is checked."""

    @shapecheck
    def double(x: Float[Tensor, "b n d"], w: Float[Tensor, "d"]) -> Float[Tensor, "b n d"]:
        assert dims_of(x) == dims_of(x * 2) == (None, None, None)
        assert dims_of(w) == ("d",)
        return x * 2

    parts = [torch.rand(2, 3), torch.rand(4, 3)]
    x = torch.nested.nested_tensor(parts, layout=layout)
    for _ in range(2):
        first, second = double(x, torch.rand(3)).unbind()
        assert torch.equal(first, parts[0] * 2)
        assert torch.equal(second, parts[1] * 2)
    with pytest.raises(ShapeError, match=r"axis 0 is 4, declared d \(here 3\)"):
        double(x, torch.rand(4))
    with pytest.raises(ShapeError, match="is None, declared a tensor"):
        double(None, torch.rand(3))


def test_sparse_tensors() -> None:
    @shapecheck
    def apply(a: Float[Tensor, "n m"], x: Float[Tensor, "m k"]) -> Float[Tensor, "n k"]:
        assert dims_of(a) == ("n", "m")
        assert dims_of(a.to_dense()) == ("n", "m")
        assert dims_of(a @ x) == ("n", "k")
        return a @ x

    dense, x = torch.eye(3), torch.rand(3, 3)
    for a in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()):
        assert torch.equal(apply(a, x), x)
        with pytest.raises(ShapeError, match=r"axis 0 is 4, declared m \(here 3\)"):
            apply(a, torch.rand(4, 3))

    @shapecheck
    def wrong(a: Float[Tensor, "n m"], x: Float[Tensor, "k m"]) -> Float[Tensor, "n k"]:
        return a @ x

    with pytest.raises(ShapeError, match=r"can't multiply \(n m\) by \(k m\)"):
        wrong(dense.to_sparse(), x)


def test_quantized_tensors() -> None:
    @shapecheck
    def dense(x: Shaped[Tensor, "n m"]) -> Float[Tensor, "m n"]:
        assert dims_of(x) == dims_of(x.dequantize()) == ("n", "m")
        return x.dequantize().T

    x = torch.quantize_per_tensor(torch.rand(3, 4), 0.1, 0, torch.quint8)
    assert dense(x).shape == (4, 3)

    @shapecheck
    def wrong(x: Shaped[Tensor, "n m"]) -> Float[Tensor, "m n"]:
        return x.dequantize()

    square = torch.quantize_per_tensor(torch.rand(3, 3), 0.1, 0, torch.quint8)
    with pytest.raises(ShapeError, match="axis 0 is n, declared m"):
        wrong(square)


def test_meta_and_fake_tensors() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    @shapecheck
    def product(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        assert dims_of(x) == ("n", "d")
        return x @ y.T

    huge = torch.empty(10**6, 10**5, device="meta")
    assert product(huge, huge[:3]).shape == (10**6, 3)
    with FakeTensorMode():
        x = torch.rand(4, 5)
        assert product(x, x[:2]).shape == (4, 2)
        with pytest.raises(ShapeError, match="axis 1 is 3, declared d"):
            product(x, torch.rand(2, 3))


# Transforms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        grad,
        jacrev,
        jacfwd,
        hessian,
        lambda f: lambda x: jvp(f, (x,), (x,)),
        lambda f: lambda x: vmap(f)(torch.stack([x, x * 2])),
        lambda f: lambda x: vmap(grad(f))(torch.stack([x, x * 2])),
        lambda f: lambda x: vmap(f, randomness="same")(torch.stack([x, x * 2])),
        lambda f: lambda x: torch.autograd.functional.jacobian(f, x),
        lambda f: lambda x: torch.func.linearize(f, x)[1](x),
        torch.func.functionalize,
    ],
)
def test_transforms_of_functions(transform: Callable[[Any], Any]) -> None:
    def energy(x: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
        return ((x @ x.T).softmax(-1) * x.sum(1)).square().sum()

    x = torch.rand(3, 4, dtype=torch.float64)
    wanted, found = transform(energy)(x), transform(shapecheck(energy))(x)
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_an_ensemble() -> None:
    """`functional_call` under `vmap`, over stacked parameters."""
    plain, checked = [nn.Linear(4, 3) for _ in range(2)], []

    class Layer(nn.Linear):
        @shapecheck
        def forward(self, input: Float[Tensor, "b 4"]) -> Float[Tensor, "b 3"]:
            return super().forward(input)

    for layer in plain:
        checked.append(Layer(4, 3))
        checked[-1].load_state_dict(layer.state_dict())
    x = torch.rand(5, 4)

    def run(layers: list[Any]) -> Tensor:
        parameters, buffers = stack_module_state(layers)
        base = copy.deepcopy(layers[0]).to("meta")
        return vmap(lambda p, b: functional_call(base, (p, b), (x,)))(parameters, buffers)

    assert torch.equal(run(plain), run(checked))


@pytest.mark.parametrize(
    "context",
    [
        torch.no_grad,
        torch.inference_mode,
        torch.enable_grad,
        lambda: torch.device("meta"),
        torch.autograd.graph.save_on_cpu,
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]),
        lambda: torch.random.fork_rng(devices=[]),
    ],
)
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_contexts(context: Callable[[], Any]) -> None:
    def mix(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        assert dims_of(x + torch.ones(4, device=x.device)) in (("n", "d"), (None, None))
        return x.tanh() @ x.new_ones(4, 4)

    x = torch.rand(3, 4, requires_grad=True)
    with context():
        wanted, found = mix(x), shapecheck(mix)(x)
    assert wanted.requires_grad == found.requires_grad
    assert torch.equal(wanted, found)


def test_export() -> None:
    """The exported graph is that of the undecorated model, and takes other batches."""
    layer = nn.Linear(4, 4)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Float[Tensor, "b 4"]) -> Float[Tensor, "b 4"]:
            return x + self.layer(x).relu()

    class Decorated(Net):
        forward = shapecheck(Net.forward)

    batch = torch.export.Dim("batch")
    graphs = []
    for net in (Net(), Decorated()):
        exported = torch.export.export(net, (torch.rand(3, 4),), dynamic_shapes=({0: batch},))
        assert exported.module()(torch.rand(7, 4)).shape == (7, 4)
        graphs.append([(node.op, str(node.target)) for node in exported.graph.nodes])
    assert graphs[0] == graphs[1]


def lengths(batch: int, time: int) -> Tensor:
    """Return which positions are padding, fewer in each row."""
    return torch.arange(time)[None, :] >= time - torch.arange(batch)[:, None]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_fast_paths_of_attention(context: Callable[[], Any]) -> None:
    """torch takes them only where no function mode is active; there the padding becomes zero."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    encoder = nn.TransformerEncoder(layer, 2).eval()
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    names: list[Any] = []

    def encode(x: Float[Tensor, "b t 8"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, "b t 8"]:
        return encoder(x, src_key_padding_mask=mask) + encoder(x)

    def attend(x: Float[Tensor, "b t 8"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, "b t 8"]:
        found = attention(x, x, x, need_weights=False)[0]
        names.append(dims_of(found))
        return found

    x, mask = torch.rand(3, 5, 8), lengths(3, 5)
    with context():
        for function in (encode, attend):
            wanted = function(x, mask)
            assert torch.equal(shapecheck(function)(x, mask), wanted)
    assert names == [(None,) * 3, ("b", "t", None)]
    torch._dynamo.reset()
    graphed = torch.compile(encoder, backend="eager", fullgraph=True)
    torch.testing.assert_close(graphed(x), encoder(x))
    scripted: Any = torch.jit.script(layer)
    torch.testing.assert_close(scripted(x), layer(x))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_in_attention() -> None:
    """Only the fast path takes them."""
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()

    @shapecheck
    def encode(x: Shaped[Tensor, "b t 8"]) -> Shaped[Tensor, "b t 8"]:
        return encoder(x)

    ragged = torch.nested.nested_tensor([torch.rand(2, 8), torch.rand(3, 8)])
    with torch.no_grad():
        wanted, found = encoder(ragged), encode(ragged)
    assert all(map(torch.equal, wanted.unbind(), found.unbind()))


@pytest.mark.gpu
def test_cuda_graphs() -> None:
    @shapecheck
    def run(x: Float[Tensor, "n d"], w: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        return (x @ w.T).relu()

    x, w = torch.rand(4, 5, device="cuda"), torch.rand(3, 5, device="cuda")
    run(x, w)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run(x, w)
    x.copy_(torch.rand(4, 5))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, (x @ w.T).relu())


def test_help_shows_the_function_itself() -> None:
    def scale(x: Float[Tensor, "n"], by: float = 2.0) -> Float[Tensor, "n"]:
        """Scale a vector."""
        return x * by

    def page(function: Any) -> str:
        return pydoc.plain(pydoc.render_doc(function)).partition("\n")[2]

    assert page(shapecheck(scale)) == page(scale)
    assert "Scale a vector." in page(shapecheck(scale))


def test_a_result_under_autocast_has_the_dtype_that_it_has() -> None:
    def product(x: Float[Tensor, "b d"], w: Float[Tensor, "d e"]) -> Tensor:
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return x @ w

    def half(x: Float[Tensor, "b d"], w: Float[Tensor, "d e"]) -> BFloat16[Tensor, "b e"]:
        return product(x, w)

    def full(x: Float[Tensor, "b d"], w: Float[Tensor, "d e"]) -> Float32[Tensor, "b e"]:
        return product(x, w)

    x, w = torch.zeros(2, 3), torch.zeros(3, 4)
    assert shapecheck(half)(x, w).dtype == torch.bfloat16
    with pytest.raises(ShapeError, match="bfloat16"):
        shapecheck(full)(x, w)
