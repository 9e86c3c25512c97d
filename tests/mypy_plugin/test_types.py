# ruff: noqa: E501 - expectations stand on the line
"""What mypy itself makes of torch code under the plugin, without any shapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.mypy_plugin.conftest import TYPED_CALLS

if TYPE_CHECKING:
    from tests.mypy_plugin.conftest import Project

TENSOR = "torch._tensor.Tensor"
VIEW = "shapecheck.named.tensor.NamedTensor"
SETTINGS = """
[mypy-strict_forward,strict_isinstance,strict_aliases]
disallow_untyped_calls = True
disallow_any_generics = True
warn_return_any = True
warn_unreachable = True
"""

CASES = {
    "loss_if_there_are_targets": """\
from torch import Tensor, nn

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 4)

    def forward(self, x: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        x = self.head(x)
        return x, None if targets is None else nn.functional.cross_entropy(x, targets)

def train(net: Net, x: Tensor, targets: Tensor) -> None:
    logits, loss = net(x, targets)
    loss.backward()
    logits.loss  # E: "Tensor" has no attribute "loss"  [attr-defined]
    net(x, output_size=3)  # E: Unexpected keyword argument "output_size" for "forward" of "Net"  [call-arg]
    net.forward(x, targets)[1].backward()  # E: Item "None" of "Tensor | None" has no attribute "backward"  [union-attr]
""",
    "registered": """\
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.register_buffer("mask", torch.ones(n, n), persistent=False)
        self.register_buffer(tensor=torch.ones(n), name="table")
        self.register_parameter("scale", nn.Parameter(torch.ones(n)))
        self.register_buffer("cache", None)
        self.layer = nn.Linear(n, n)

    def reset(self) -> None:
        self.register_buffer("cache", torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        self.layer.mask[0]  # E: Value of type "Tensor | Module" is not indexable  [index]
        self.cache.bool()  # E: "Tensor" not callable  [operator]
        return x.masked_fill(self.mask.bool()[:3, :3], 0) * self.table * self.scale.exp()

class Child(Net):
    def use(self) -> Tensor:
        return self.mask[0]

def masks(net: Child) -> Tensor:
    return net.mask[0]

def made(n: int) -> Tensor:
    text = \"\"\"
register_buffer
\"\"\"
    @torch.compiler.disable
    class Inside(nn.Module):
        \"\"\"One whose words
begin on the left.\"\"\"

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("inside", torch.ones(n))

    class Beside(nn.Module):
        pass

    Beside().inside[0]  # E: Value of type "Tensor | Module" is not indexable  [index]
    return Inside().inside[0]
""",
    "first_class_dims": """\
from functorch.dim import dims  # type: ignore[import-untyped]
from torch import Tensor

def swapped(x: Tensor, n: int) -> Tensor:
    i, j = dims(2)
    x[0].order(i)  # E: "Tensor" has no attribute "order"  [attr-defined]
    x[n, ...].order(i)  # E: "Tensor" has no attribute "order"  [attr-defined]
    x[[i, j]].order(i, j)
    x[:, (i, j)].sum(i).order(j)
    return x[i, j].order(j, i)
""",
    "strict_forward": """\
from torch import Tensor, nn
from jaxtyping import Float

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 4)
        self.layers = nn.ModuleList([self.inner])

    def forward(self, x: Float[Tensor, "b c"], *, scale: int = 1) -> Float[Tensor, "b d"]:
        for layer in self.layers:
            x = layer(x)
        return self.inner(x)

class Child(Net):
    pass

def use(net: Net, child: Child, x: Tensor) -> Tensor:
    net(x, 1)  # E: Too many positional arguments for "forward" of "Net"  [call-arg]
    child("")  # E: Argument 1 to "forward" of "Net" has incompatible type "str"; expected "Tensor"  [arg-type]
    net(x, scale=2)
    nn.Sequential(net, child)(x)
    child(x).mean().backward()
    untyped(x)  # E: Call to untyped function "untyped" in typed context  [no-untyped-call]
    return child(x)

def untyped(x):
    return x
""",
    "forward_kinds": """\
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload
import torch
from torch import Tensor, nn

T = TypeVar("T")

class Untyped(nn.Module):
    def forward(self, x, y=1):
        return x

class Overloads(nn.Module):
    @overload
    def forward(self, x: Tensor) -> Tensor: ...
    @overload
    def forward(self, x: int) -> int: ...
    def forward(self, x: int | Tensor) -> int | Tensor:
        return x

class Of(nn.Module, Generic[T]):
    def forward(self, x: T) -> list[T]:
        return [x]

class OwnCall(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x
    def __call__(self, x: int) -> int:
        return x

def untyped(f: Any) -> Any:
    return f

class Decorated(nn.Module):
    @untyped
    def forward(self, x: Tensor) -> Tensor:
        return x

class NoGrad(nn.Module):
    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        return x

class Abstract(nn.Module):
    pass

class Attribute(nn.Module):
    forward: Callable[[Tensor], int]

class Callable_:
    def __call__(self, x: int) -> str:
        return ""

def use(x: Tensor, overloads: Overloads, of: Of[int], either: NoGrad | OwnCall) -> None:
    reveal_type(Untyped()(x))  # N: Revealed type is "Any"
    Untyped()(x, 1, 2)  # E: Too many arguments for "forward"  [call-arg]
    reveal_type(overloads(x))  # N: Revealed type is "TENSOR"
    reveal_type(overloads(1))  # N: Revealed type is "int"
    reveal_type(of(1))  # N: Revealed type is "list[int]"
    reveal_type(OwnCall()(1))  # N: Revealed type is "int"
    reveal_type(Decorated()(1))  # N: Revealed type is "Any"
    reveal_type(NoGrad()(x))  # N: Revealed type is "TENSOR"
    reveal_type(Abstract()(x, 1))  # N: Revealed type is "Any"
    reveal_type(Attribute()(x))  # N: Revealed type is "int"
    reveal_type(Callable_()(1))  # N: Revealed type is "str"
    reveal_type(either(x))  # N: Revealed type is "TENSOR | int" # E: Argument 1 to "__call__" of "OwnCall" has incompatible type "Tensor"; expected "int"  [arg-type]
""",
    "forward_of_torch": """\
from torch import Tensor, nn

def use(x: Tensor, sizes: list[int]) -> None:
    reveal_type(nn.Linear(1, 2)(x))  # N: Revealed type is "TENSOR"
    nn.Linear(1, 2)(x, x)  # E: Too many arguments for "forward" of "Linear"  [call-arg]
    nn.ConvTranspose2d(1, 1, 1)(x, output_size=x.size())
    nn.MaxUnpool2d(2)(x, x, output_size=x.size())
    nn.CTCLoss()(x, x, sizes, (1, 2))
    attended, weights = nn.MultiheadAttention(1, 1)(x, x, x)
    weights.mean()
    reveal_type(attended)  # N: Revealed type is "TENSOR"
    out, (h, c) = nn.LSTM(1, 1)(x)
    reveal_type(h)  # N: Revealed type is "TENSOR"
    nn.Identity()((x, 1))
    nn.Sequential()(x).any_attribute
""",
    "strict_isinstance": """\
import numpy as np
import jaxtyping
from jaxtyping import Float, Int
from torch import Tensor

Image = Float[Tensor, "b 3 h w"]
Plain = Tensor

def narrow(x: object, y: Tensor, z: Tensor | int | None) -> None:
    if isinstance(x, Float[Tensor, "b c"]):
        reveal_type(x)  # N: Revealed type is "TENSOR"
    elif isinstance(x, jaxtyping.Int[Tensor, "b"]):
        reveal_type(x)  # N: Revealed type is "TENSOR"
    elif isinstance(x, Float[np.ndarray, "b"]):
        x.sum()
    else:
        reveal_type(x)  # N: Revealed type is "object"
    if isinstance(z, (Float[Tensor, "b c"], int)):
        reveal_type(z)  # N: Revealed type is "TENSOR | int"
    else:
        reveal_type(z)  # N: Revealed type is "TENSOR | None"
    if not isinstance(x, Float[Tensor, "b c"]):
        raise TypeError
    reveal_type(x)  # N: Revealed type is "TENSOR"

def stay_reachable(y: Tensor) -> int:
    if isinstance(y, Float[Tensor, "b c"]):
        return 1
    if isinstance(y, Image):
        return 2
    if isinstance(y, (Image, Int[Tensor, "b"])):
        return 3
    return int(y)

def plain_alias(z: Tensor | None) -> None:
    if isinstance(z, Plain):
        reveal_type(z)  # N: Revealed type is "TENSOR"
    else:
        reveal_type(z)  # N: Revealed type is "None"

def imported_alias(y: Tensor) -> Tensor:
    from strict_aliases import Video
    assert isinstance(y, Video)
    return y if isinstance(y, Video) else y.flatten()
""",
    "strict_aliases": """\
from jaxtyping import Float
from torch import Tensor

Video = Float[
    Tensor, "t 3 h w"
]
""",
    "views": """\
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from shapecheck.named import NamedTensor

class Mine(NamedTensor): ...

def right(x: Tensor, v: NamedTensor, mine: Mine) -> NamedTensor:
    reveal_type(torch.relu(v))  # N: Revealed type is "VIEW"
    reveal_type(torch.add(x, v, alpha=2))  # N: Revealed type is "VIEW"
    reveal_type(torch.where(v > 0, v, 0.0))  # N: Revealed type is "VIEW"
    reveal_type(torch.clamp(v, min=0))  # N: Revealed type is "VIEW"
    reveal_type(F.relu(input=v))  # N: Revealed type is "VIEW"
    reveal_type(x.maximum(v))  # N: Revealed type is "VIEW"
    reveal_type(x.mul_(v))  # N: Revealed type is "TENSOR"
    reveal_type(torch.relu_(v))  # N: Revealed type is "VIEW"
    reveal_type(torch.exp(torch.exp(mine)))  # N: Revealed type is "views.Mine"
    reveal_type(nn.ReLU()(v))  # N: Revealed type is "VIEW"
    reveal_type(torch.relu(x))  # N: Revealed type is "TENSOR"
    return x - v

def either(x: Tensor | NamedTensor) -> None:
    reveal_type(torch.relu(x))  # N: Revealed type is "VIEW | TENSOR"

def wrong(v: NamedTensor, net: nn.Linear) -> None:
    torch.softmax(v, 1)  # E: Argument 1 to "softmax" has incompatible type "NamedTensor"; expected "Tensor"  [arg-type]
    torch.relu("v")  # E: Argument 1 to "relu" has incompatible type "str"; expected "Tensor"  [arg-type]
    torch.relu(v, 1)  # E: Too many arguments for "relu"  [call-arg]
    net(v)  # E: Argument 1 to "forward" of "Linear" has incompatible type "NamedTensor"; expected "Tensor"  [arg-type]
""",
    "wrong_isinstance": """\
from typing import Annotated
from torch import Tensor

def wrong(x: object) -> None:
    isinstance(x)  # E: Too few arguments for "isinstance"  [call-arg]
    isinstance(x, 3)  # E: Argument 2 to "isinstance" has incompatible type "int"; expected "_ClassInfo"  [arg-type]
    isinstance(x, Annotated[Tensor, "b"])  # E: Argument 2 to "isinstance" has incompatible type "<typing special form>"; expected "_ClassInfo"  [arg-type]
    isinstance(x, *[])
""",
}


@pytest.fixture(scope="module")
def printed(new_project: Callable[..., Project]) -> dict[str, list[str]]:
    """What mypy prints about all cases."""
    files = {f"{name}.py": text for name, text in CASES.items()}
    return new_project({**files, "pyproject.toml": TYPED_CALLS}, settings=SETTINGS).check()


@pytest.mark.parametrize("name", CASES)
def test_case(printed: dict[str, list[str]], name: str) -> None:
    """Each line draws what it says."""
    kinds = {"E": "error", "N": "note"}
    expected = [
        f"{number}: {kinds[kind]}: {message.replace('TENSOR', TENSOR).replace('VIEW', VIEW)}"
        for number, line in enumerate(CASES[name].splitlines(), start=1)
        for kind, message in re.findall(r" # ([EN]): (.*?)(?= # |$)", line)
    ]
    assert printed.get(f"{name}.py", []) == expected


UNTYPED_CALLS = """\
from typing import Optional
from torch import LongTensor, Tensor, nn

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 4)

    def forward(self, ids: LongTensor, mask: Optional[Tensor] = None) -> Tensor:
        total = 0.0
        for _ in range(2):
            total += self.head(ids)
        return self.head(ids)

def use(net: Net, ids: Tensor) -> Tensor:
    net(ids, mask=3, more=4).anything
    reveal_type(net(ids))
    x: int = net(ids)
    return net(ids)
"""


def test_calls_of_modules_add_nothing_by_default(new_project: Callable[..., Project]) -> None:
    """They are Any, as torch says, and a tensor where one is expected."""
    project = new_project({"m.py": UNTYPED_CALLS}, settings="warn_return_any = True\n")
    assert project.check() == {"m.py": ['17: note: Revealed type is "Any"']}
    project.write({"pyproject.toml": TYPED_CALLS})
    typed = '17: note: Revealed type is "torch._tensor.Tensor"'
    assert typed in project.check()["m.py"]  # mypy doesn't keep to what it had said of the file


NOT_A_TYPE = """\
from typing import Any, Optional, Union
from torch import Tensor, nn

class Wrapper:
    def __getitem__(self, text: str) -> Any: ...

Float = Wrapper()

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 4)

    def forward(self, x: Union[Float["b 3"], Float["3"]]) -> None:
        x = self.head(x)
        reveal_type(x)

    def either(self, x: Union[Tensor, Any]) -> None:
        x = self.head(x)
        reveal_type(x)

    def known(self, x: Optional[Tensor]) -> Tensor:
        x = self.head(x)
        reveal_type(x)
        return x
"""


def test_a_call_narrows_nothing_that_may_be_anything(new_project: Callable[..., Project]) -> None:
    """What a project's own `Float` annotates is as good as Any to mypy; it stays so."""
    said = new_project({"m.py": NOT_A_TYPE}).check()["m.py"]
    assert [line for line in said if "Revealed type" in line] == [
        '16: note: Revealed type is "Float?[Any] | Float?[Any]"',
        '20: note: Revealed type is "Any"',
        f'24: note: Revealed type is "{TENSOR}"',
    ]
