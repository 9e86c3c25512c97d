"""Programs in the style of people who come from another system, right and wrong, in pairs.

Both sides are silent on the right one and find the wrong one. Sizes agree in most, so that only the
names tell them apart.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import tempfile
from pathlib import Path
from textwrap import dedent

import pytest
from lone_program import said_of

HEAD = """\
import torch
import torch.nn.functional as F
from functorch.dim import dims as first_class
from shapecheck import Dim, Float, Int, dims, named, shapecheck
from shapecheck.named import NamedTensor
from torch import Tensor, nn
"""

# Of each program what is right where its blanks, `%s`, are, and what is wrong there.
PAIRS: dict[str, tuple[str, str | tuple[str, ...], str | tuple[str, ...]]] = {
    "returnn concat features": (
        """
        B, T, A, V = Dim("batch", kind="batch"), Dim("time"), Dim("a", size=4), Dim("v", size=3)
        @shapecheck
        def f(x: Float[Tensor, B, T, A], y: Float[Tensor, B, T, V]) -> Float[Tensor, B, T, A + V]:
            return torch.cat([%s], -1)
        f(torch.rand(2, 5, 4), torch.rand(2, 5, 3))
        """,
        "x, y",
        "y, x",
    ),
    "returnn window conv": (
        """
        B, T, Fe = dims("batch time feat")
        @shapecheck
        def f(x: Float[Tensor, B, T, Fe]) -> Float[Tensor, B, T - 2, Fe]:
            conv = nn.Conv1d(4, 4, 3%s)
            return conv(x.transpose(1, 2)).transpose(1, 2)
        f(torch.rand(2, 7, 4))
        """,
        "",
        ", padding=1",
    ),
    "returnn frame stacking": (
        """
        B, T, Fe = dims("batch time feat")
        @shapecheck
        def f(x: Float[Tensor, B, T, Fe]) -> Float[Tensor, B, T // 2, 2 * Fe]:
            t = x.shape[1] // 2
            return x[:, : 2 * t].reshape(x.shape[0], t, %s)
        f(torch.rand(2, 6, 4))
        """,
        "2 * x.shape[2]",
        "x.shape[2]",
    ),
    "returnn att weights over keys": (
        """
        B, TQ, TK, D = dims("batch tq tk d")
        @shapecheck
        def f(
            q: Float[Tensor, B, TQ, D], k: Float[Tensor, B, TK, D], v: Float[Tensor, B, TK, D]
        ) -> Float[Tensor, B, TQ, D]:
            e = named.dot(q, k, D)
            w = named.softmax(e, %s)
            return named.dot(w, v, %s)
        f(torch.rand(2, 5, 4), torch.rand(2, 5, 4), torch.rand(2, 5, 4))
        """,
        ("TK", "TK"),
        ("TK", "TQ"),
    ),
    "returnn vocab embedding": (
        """
        B, T, V, E = Dim("batch"), Dim("time"), Dim("vocab", size=11), Dim("emb", size=5)
        @shapecheck
        def f(ids: Int[Tensor, B, T], table: Float[Tensor, V, E]) -> Float[Tensor, B, T, E]:
            return F.embedding(ids, %s)
        f(torch.randint(0, 5, (2, 3)), torch.rand(11, 5))
        """,
        "table",
        "table.T",
    ),
    "returnn loss over time": (
        """
        B, T, V = dims("batch time vocab")
        @shapecheck
        def f(logits: Float[Tensor, B, T, V], targets: Int[Tensor, B, T]) -> Float[Tensor, B]:
            loss = F.cross_entropy(logits%s, targets, reduction="none")
            return named.mean(named(loss, B, T), T)
        f(torch.rand(2, 4, 4), torch.randint(0, 2, (2, 4)))
        """,
        ".transpose(1, 2)",
        "",
    ),
    "torchdim batched outer": (
        """
        @shapecheck
        def f(a: Float[Tensor, "b n"], c: Float[Tensor, "b m"]) -> Float[Tensor, "b n m"]:
            b, n, m = first_class(3)
            return (a[b, n] * c[%s]).order(b, n, m)
        f(torch.rand(3, 3), torch.rand(3, 3))
        """,
        "b, m",
        "m, b",
    ),
    "torchdim layernorm": (
        """
        @shapecheck
        def f(x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
            b, t, d = first_class(3)
            v = x[b, t, d]
            v = v - v.mean(d)
            return v.order(%s)
        f(torch.rand(3, 3, 3))
        """,
        "b, t, d",
        "t, b, d",
    ),
    "torchdim gather rows": (
        """
        @shapecheck
        def f(table: Float[Tensor, "v d"], ids: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:
            b, t, d = first_class(3)
            return table[ids[b, t], d].order(%s)
        f(torch.rand(3, 3), torch.randint(0, 3, (3, 3)))
        """,
        "b, t, d",
        "b, d, t",
    ),
    "torchdim sum wrong": (
        """
        @shapecheck
        def f(x: Float[Tensor, "i k"], y: Float[Tensor, "k j"]) -> Float[Tensor, "i j"]:
            i, j, k = first_class(3)
            return (x[i, k] * y[k, j]).sum(%s).order(i, %s)
        f(torch.rand(3, 3), torch.rand(3, 3))
        """,
        ("k", "j"),
        ("j", "k"),
    ),
    "torchdim pixel": (
        """
        @shapecheck
        def f(x: Float[Tensor, "b 12 h w"]) -> Float[Tensor, "b 3 2*h 2*w"]:
            b, c, h, w, i, j = first_class(6)
            i.size = 2
            j.size = 2
            return x[b, (c, i, j), h, w].order(b, c, (h, i), (%s))
        f(torch.rand(2, 12, 3, 3))
        """,
        "w, j",
        "w",
    ),
    "namedtensor attention view": (
        """
        @shapecheck
        def f(q: Float[Tensor, "b t d"], k: Float[Tensor, "b s d"]) -> Float[Tensor, "b t d"]:
            q_, k_ = NamedTensor(q), NamedTensor(k)
            w = q_.dot(k_, "d").softmax("s")
            return w.dot(k_, "%s").order("b t d").tensor
        f(torch.rand(2, 3, 3), torch.rand(2, 3, 3))
        """,
        "s",
        "t",
    ),
    "namedtensor rename collision": (
        """
        x = named(torch.rand(3, 3), "b t")
        y = named.rename(x, %s="t")
        z = named.dot(x, y, "b")
        """,
        "s",
        "b",
    ),
    "namedtensor cat views": (
        """
        a = NamedTensor(torch.rand(2, 3), "b t")
        b = NamedTensor(torch.rand(3, 2), "%s")
        c = NamedTensor.cat([a, b], "t")
        """,
        "t b",
        "s b",
    ),
    "namedtensor reduce": (
        """
        x = NamedTensor(torch.rand(2, 3, 4), "b t d")
        y = x.sum("t").%s("d")
        """,
        "max",
        "mean('q').sum",
    ),
    "namedtensor inplace view": (
        """
        x = NamedTensor(torch.rand(2, 3), "b t")
        y = NamedTensor(torch.rand(3, 4), "t d")
        x += %s
        """,
        'y.sum("d")',
        "y",
    ),
    "tensorly unfold": (
        """
        @shapecheck
        def unfold(x: Float[Tensor, "i j k"]) -> Float[Tensor, "j (i k)"]:
            return x.%s.flatten(1)
        unfold(torch.rand(3, 3, 3))
        """,
        "movedim(1, 0)",
        "permute(1, 2, 0)",
    ),
    "tensorly mode dot": (
        """
        @shapecheck
        def mode1(x: Float[Tensor, "i j k"], u: Float[Tensor, "r j"]) -> Float[Tensor, "i r k"]:
            return torch.einsum("%s", x, u)
        mode1(torch.rand(3, 3, 3), torch.rand(3, 3))
        """,
        "ijk,rj->irk",
        "ijk,rk->ijr",
    ),
    "tensorly khatri": (
        """
        @shapecheck
        def kr(a: Float[Tensor, "i r"], b: Float[Tensor, "j r"]) -> Float[Tensor, "(i j) r"]:
            return torch.einsum("ir,jr->%s", a, b).flatten(0, 1)
        kr(torch.rand(3, 2), torch.rand(3, 2))
        """,
        "ijr",
        "jir",
    ),
    "tensorly lu": (
        """
        @shapecheck
        def back(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
            f = torch.linalg.lu(x)
            return f.P @ f.L @ f.%s
        back(torch.rand(4, 3))
        """,
        "U",
        "P",
    ),
    "tensorly cp": (
        """
        @shapecheck
        def cp(
            a: Float[Tensor, "i r"], b: Float[Tensor, "j r"], c: Float[Tensor, "k r"]
        ) -> Float[Tensor, "i j k"]:
            return torch.einsum("ir,jr,kr->%s", a, b, c)
        cp(torch.rand(3, 2), torch.rand(3, 2), torch.rand(3, 2))
        """,
        "ijk",
        "ikj",
    ),
}


def program(name: str, right: bool) -> str:
    """Return a program of a pair."""
    text, good, bad = PAIRS[name]
    return HEAD + dedent(text) % (good if right else bad)


def error_of(text: str) -> Exception | None:
    """Return what running a program raises."""
    with tempfile.TemporaryDirectory(prefix="shapecheck-pairs-") as folder:
        path = Path(folder) / "program.py"
        path.write_text(text, "utf-8")
        linecache.checkcache(str(path))
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, str(path), "exec"), {"__name__": "program"})
        except Exception as error:  # noqa: BLE001 - torch's own, too
            return error
    return None


def errors(text: str) -> list[str]:
    """Return the errors that the static side tells of a program."""
    return [one.message for one in said_of(text) if one.severity == "error"]


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_fine(name: str) -> None:
    text = program(name, right=True)
    assert errors(text) == []
    assert error_of(text) is None


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_is_found(name: str) -> None:
    text = program(name, right=False)
    assert len(errors(text)) == 1
    assert error_of(text) is not None
