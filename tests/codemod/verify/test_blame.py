"""What is taken back when annotations draw a complaint, and what stays."""

from __future__ import annotations

from pathlib import Path

from shapecheck.blame import OPERATION
from shapecheck.codemod.annotate import Settings, annotate_files
from shapecheck.codemod.project.files import read
from shapecheck.codemod.verify.complaints import Complaint
from shapecheck.codemod.verify.doubts import Doubts, in_words

HEAD = "import torch\nfrom torch import Tensor\n"
ALL = ("comments", "docstrings", "static")


def kept(tmp_path: Path, *origins: str, **texts: str) -> tuple[set[str], list[str]]:
    """Return the places that are annotated, `file.function.name`, and the refusals' reasons."""
    for name, text in texts.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + text)
    outcome = annotate_files(sorted(tmp_path.rglob("*.py")), Settings(origins or ALL))
    slots = {
        f"{changed.file.path.stem}.{one.slot.function}.{one.slot.name}"
        for changed in outcome.changed
        for one in changed.proposals
    }
    return slots, [f"{one.function}: {one.reason}" for one in outcome.refused]


def test_a_caller_without_annotation_doesnt_cost_other_functions_theirs(tmp_path: Path) -> None:
    called = "def half(\n    x: Tensor,  # (n, 1)\n) -> float:\n    return float(x.mean())\n"
    caller = "from model import half\n\ndef main():\n    return half(torch.zeros(3))\n"
    other = "def f(\n    x: Tensor,  # (b, t)\n):\n    return x.relu()\n"
    slots, refused = kept(tmp_path, model=called + other, run=caller)
    assert slots == {"model.f.x", "model.f.return"}
    assert refused == [
        'half: argument "x" of "half" is (3), declared "n 1": it has 1 axis, declared 2'
    ]


def test_a_comment_gives_way_to_what_the_code_shows(tmp_path: Path) -> None:
    text = (
        "def low(x):\n    n, d = x.shape\n    return x.sum(1)\n"
        "def high(\n    q: Tensor,  # (b, t, d)\n):\n    return low(q)\n"
    )
    slots, _ = kept(tmp_path, model=text)
    assert slots >= {"model.high.q", "model.low.x"}


def test_a_parameter_that_doesnt_fit_is_taken_back_alone(tmp_path: Path) -> None:
    text = (
        "def f(\n    x: Tensor,  # (b, t)\n    y: Tensor,  # (d,)\n):\n"
        "    return x.sum(1), y.relu()\n"
        "def g(\n    a: Tensor,  # (n, b, t)\n    b: Tensor,  # (d,)\n):\n    return f(a, b)\n"
    )
    slots, refused = kept(tmp_path, "comments", model=text)
    assert slots == {"model.f.y", "model.g.a", "model.g.b"}
    assert not refused


def test_a_local_that_doesnt_fit_is_taken_back_alone(tmp_path: Path) -> None:
    text = (
        "def f(\n    x: Tensor,  # (b, t)\n):\n    y = x.sum(1)  # (t,)\n"
        "    z = x.sum(0)  # (t,)\n    return y, z\n"
    )
    slots, _ = kept(tmp_path, "comments", model=text)
    assert slots == {"model.f.x", "model.f.z"}


def test_what_people_say_on_both_sides_is_taken_back_on_both(tmp_path: Path) -> None:
    text = (
        "def f(\n    q: Tensor,  # (b, t, d)\n    k: Tensor,  # (b, s, d)\n"
        "    v: Tensor,  # (b, d)\n):\n    return q @ k, v.relu()\n"
    )
    slots, _ = kept(tmp_path, "comments", model=text)
    assert slots == {"model.f.v"}


def test_an_error_inside_of_a_function_that_is_called_is_traced(tmp_path: Path) -> None:
    text = (
        "def inner(\n    x: Tensor,  # (n, 1)\n):\n    return x.sum()\n"
        "def outer(x, flag=None):\n    y = inner(x)\n    return y if flag else None\n"
        "def other(\n    x: Tensor,  # (b, t)\n):\n    return x.relu()\n"
    )
    run = "from model import outer\n\ndef main():\n    return outer(torch.zeros(5))\n"
    slots, _ = kept(tmp_path, "comments", model=text, run=run)
    assert slots == {"model.other.x"}


def test_what_an_annotation_says_of_a_caller_is_found_the_first_time(tmp_path: Path) -> None:
    text = (
        "class Head(torch.nn.Module):\n"
        "    def __init__(self, d_in, d_out):\n        super().__init__()\n"
        "        self.query = torch.nn.Linear(d_in, d_out)\n"
        "    def forward(self, x):\n        b, t, d_in = x.shape\n        return self.query(x)\n"
        "class Heads(torch.nn.Module):\n"
        "    def __init__(self, d_in, d_out, n):\n        super().__init__()\n"
        "        self.heads = torch.nn.ModuleList([Head(d_in, d_out) for _ in range(n)])\n"
        "    def forward(self, x):\n"
        "        return torch.cat([head(x) for head in self.heads], dim=-1)\n"
    )
    path = tmp_path / "model.py"
    path.write_text(HEAD + text)
    once = annotate_files([path], Settings(ALL)).changed[0].text
    path.write_text(once)
    assert not annotate_files([path], Settings(ALL)).changed


def doubts(tmp_path: Path, **texts: str) -> list[str]:
    """Return what is told as possible bugs, with the names of files alone."""
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(HEAD + text)
    outcome = annotate_files(sorted(tmp_path.rglob("*.py")), Settings(ALL))
    lines = [line for doubt in outcome.doubts for line in in_words(doubt)]
    return [line.replace(f"{tmp_path}/", "") for line in lines]


LAYERS = (
    "class Up(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
    "        self.n = n\n        self.conv = Conv(n)\n"
    "    def forward(self, x, skip):\n"
    "        return self.conv(torch.{})\n"
    "class Conv(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
    "        self.n = n\n        self.conv = torch.nn.Conv2d(n, n, 3, padding=1)\n"
    "    def forward(self, x):\n        b, c, h, w = x.shape\n        return self.conv(x)\n"
    "def main():\n    a = torch.zeros(2, 4, 8, 8)\n    return Up(8)(a, a)\n"
)


def test_what_is_inferred_of_another_function_finds_a_bug(tmp_path: Path) -> None:
    assert doubts(tmp_path, right=LAYERS.format("cat([x, skip], dim=1)")) == []
    first, *more = doubts(tmp_path, model=LAYERS.format("stack([x, skip], dim=1)"))
    assert first == (
        'possible bug: model.py:9: argument "x" of "self.conv" is (2 2 4 8 8), declared '
        '"b {self.n} h w": it has 5 axes, declared 4'
    )
    assert more == [
        '  not annotated for that: "x" of "Conv.forward" as Float[Tensor, "b {self.n} h w"] '
        "(inferred)"
    ]


def test_a_docstring_that_contradicts_a_comment_is_told_once(tmp_path: Path) -> None:
    called = (
        'def half(x: Tensor):\n    """Halve.\n\n    Args:\n        x: of shape (n, 4)\n    """\n'
        "    return x / 2\n"
    )
    caller = (
        "from model import half\n\n\ndef f(\n    y: Tensor,  # (b, 3)\n):\n"
        "    half(y)\n    return half(y) + half(y)\n"
    )
    assert doubts(tmp_path, model=called, run=caller) == [
        'possible bug: run.py:9: argument "x" of "half" is (b 3), declared "n 4": axis 1 is 3, '
        "declared 4",
        '  not annotated for that: "x" of "half" as Shaped[Tensor, "n 4"] (the docstring, line 4 '
        "of model.py)",
    ]


PRODUCT = (
    "class Product(torch.nn.Module):\n    def forward(self, query, key):\n"
    "        return torch.matmul(query, {})\n"
    "class Heads(torch.nn.Module):\n    def __init__(self, d, h):\n        super().__init__()\n"
    "        self.h, self.d_k = h, d // h\n        self.product = Product()\n"
    "        self.q = torch.nn.Linear(d, d)\n"
    "    def forward(self, query, key):\n        b = query.size(0)\n"
    "        query = self.q(query).view(b, -1, self.h, self.d_k).transpose(1, 2)\n"
    "        key = self.q(key).view(b, -1, self.h, self.d_k).transpose(1, 2)\n"
    "        return self.product(query, key)\n"
    "def main(d, h):\n    x = torch.zeros(2, 5, d)\n    return Heads(d, h)(x, x)\n"
)


def test_what_goes_wrong_without_annotations_is_not_hidden_by_them(tmp_path: Path) -> None:
    """What is inferred of a function with a bug in it has the bug in it, too."""
    assert doubts(tmp_path, model=PRODUCT.format("key.transpose(-2, -1)")) == []
    slots, _ = kept(tmp_path, model=PRODUCT.format("key.transpose(-2, -1)"))
    assert {"model.Product.forward.key", "model.Heads.forward.key"} <= slots
    first, *_ = doubts(tmp_path, model=PRODUCT.format("key"))
    assert first == (
        'possible bug: model.py:5: "torch.matmul" can\'t multiply (b <h> _ <d>//<h>) by '
        "(b <h> _ <d>//<h>): the inner dimensions are <d>//<h> (axis -1) and _ (axis -2)"
    )
    slots, _ = kept(tmp_path, model=PRODUCT.format("key"))
    assert not slots & {"model.Product.forward.key", "model.Heads.forward.key"}


LOOPED = (
    "def with_loops(edges, count):\n    loops = torch.arange(count).repeat(2, 1)\n"
    "    return torch.cat((edges, loops), dim=1)\n"
    "def summed(x, edges):\n    looped = with_loops(edges, x.size(0))\n"
    "    return torch.zeros_like(x).index_add(0, {}[0], x[looped[0]])\n"
    "def ones(n):\n    return torch.ones(n, 3)\n"
)


def test_what_goes_wrong_is_not_hidden_by_what_is_inferred_of_a_called_function(
    tmp_path: Path,
) -> None:
    """`Shaped` doesn't say that what is catenated with integers can't be a mask."""
    slots, _ = kept(tmp_path, model=LOOPED.format("edges"))
    assert slots == {"model.with_loops.edges", "model.ones.return"}
    slots, _ = kept(tmp_path, model=LOOPED.format("looped"))
    assert {"model.with_loops.return", "model.summed.x"} <= slots


def test_what_is_hidden_by_annotations_that_stay_is_told(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("def last(x):\n    return x.sum(2)\n")
    complaint = Complaint(path, "last", 1, 2, '"sum" has no axis 2 in (b t)', OPERATION)
    (doubt,) = Doubts({path: read(path)}).left({}, [complaint])
    assert in_words(doubt) == [f'possible bug: {path}:2: "sum" has no axis 2 in (b t)']
