"""Programs that nobody writes and that must not hold up who checks them: each by its size.

`scaling.py --pathological` runs the commands on each at three sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

HEAD: Final = (
    "import torch\nimport einops\nfrom torch import Tensor\nfrom shapecheck import Float\n\n\n"
)
TAKES: Final = 'def f(x: Float[Tensor, "b d"], flags: list[bool], n: int, m: int) -> Tensor:\n'


def _body(*lines: str) -> str:
    return HEAD + TAKES + "".join(f"    {line}\n" for line in lines) + "    return x\n"


def _names(count: int, start: str = "n") -> list[str]:
    return [f"{start}{at}" for at in range(count)]


def _sizes(count: int, *lines: str) -> str:
    """Return a function of so many integers, which are the sizes of nothing else."""
    names = ", ".join(f"{name}: int" for name in _names(count))
    return f"{HEAD}def f({names}) -> None:\n" + "".join(f"    {line}\n" for line in lines)


def _polynomial(count: int) -> str:
    return "*".join(f"({name}+1)" for name in _names(count))


def nested_expression(size: int) -> str:
    """Return a sum in so many brackets."""
    depth = min(size, 80)
    return _body(*["x = " + "(" * depth + "x" + "+ 1)" * depth] * (size // depth))


def long_sum(size: int) -> str:
    """Return one sum of so many terms."""
    return _body("x = " + " + ".join(["x"] * min(size, 900)), *["x = x + x"] * (size // 900))


def nested_calls(size: int) -> str:
    """Return calls within calls."""
    depth = min(size, 80)
    return _body(*["x = " + "torch.relu(" * depth + "x" + ")" * depth] * (size // depth))


def nested_functions(size: int) -> str:
    """Return functions within functions, fifteen deep."""
    text = HEAD
    for at in range(size // 15):
        for depth in range(15):
            text += (
                f"{'    ' * depth}def g{at}_{depth}(x):\n{'    ' * (depth + 1)}y = x + {depth}\n"
            )
        for depth in range(15, 0, -1):
            inner = f"g{at}_{depth}(y)" if depth < 15 else "y"
            text += f"{'    ' * depth}return {inner}\n"
        text += f"g{at}_0(torch.zeros(2, 3))\n"
    return text


def nested_ifs(size: int) -> str:
    """Return conditions within conditions, fifteen deep."""
    lines = []
    for _ in range(size // 15):
        lines += [f"{'    ' * at}if flags[{at}]:" for at in range(15)] + ["    " * 15 + "x = x + 1"]
    return _body(*lines)


def nested_loops(size: int) -> str:
    """Return loops within loops, twelve deep."""
    lines = []
    for _ in range(size // 12):
        lines += [f"{'    ' * at}for i{at} in range(n):" for at in range(12)]
        lines += ["    " * 12 + "x = torch.cat([x, x])"]
    return _body(*lines)


def elif_chain(size: int) -> str:
    """Return one long chain of `elif`."""
    lines = ["if n == 0:", "    x = x"]
    for at in range(1, size):
        lines += [f"elif n == {at}:", f"    x = torch.zeros({at}, 3)"]
    return _body(*lines)


def conditional_chain(size: int) -> str:
    """Return choices that double the states, line by line."""
    lines = ["a = 1"]
    for at in range(size):
        lines += [f"a = a + {at} if flags[{at}] else a * 2", f"y{at} = torch.zeros(a, 2)"]
    return _body(*lines)


def conditional_tensors(size: int) -> str:
    """Return choices of tensors, of which none is the same."""
    return _body(*(f"x = torch.cat([x, x]) if flags[{at}] else x[1:]" for at in range(size)))


def conditional_nested(size: int) -> str:
    """Return one choice in another."""
    depth = min(size, 90)
    chain = "".join(f"torch.zeros({at}, 2) if n == {at} else " for at in range(depth))
    return _body(*[f"x = {chain}x"] * (size // depth))


def many_names(size: int) -> str:
    """Return a function of so many variables, all of them alive until its end."""
    lines = [f"v{at} = x + {at}" for at in range(size)]
    lines += [f"if flags[{at}]:\n        v{at} = x" for at in range(0, size, 10)]
    return _body(*lines)


def many_names_module(size: int) -> str:
    """Return a module of so many variables."""
    return HEAD + "".join(f"v{at} = torch.zeros({at}, 2)\n" for at in range(size))


def many_parameters(size: int) -> str:
    """Return a function of so many annotated parameters, and a call of it."""
    params = ", ".join(f'x{at}: Float[Tensor, "b d{at}"]' for at in range(size))
    given = ", ".join(f"torch.zeros(2, {at})" for at in range(size))
    return f"{HEAD}def f({params}) -> None: ...\n\n\nf({given})\n"


def many_keywords(size: int) -> str:
    """Return a call with so many keywords of a function that takes any."""
    given = ", ".join(f"k{at}=torch.zeros({at})" for at in range(size))
    return f"{HEAD}def f(**given):\n    return given['k0']\n\n\nf({given})\n"


def union_annotations(size: int) -> str:
    """Return a parameter of so many alternatives."""
    union = " | ".join(f'Float[Tensor, "b {at}"]' for at in range(min(size, 90)))
    one = "def f{0}(x: {1}) -> Tensor:\n    y = x + 1\n    return y.sum(0) @ y.mT\n\n\n"
    return HEAD + "".join(one.format(at, union) for at in range(size // 90))


def isinstance_chain(size: int) -> str:
    """Return questions of which class something is."""
    kinds = "".join(f"class K{at}:\n    x = torch.zeros({at})\n\n\n" for at in range(size))
    asked = "".join(f"    if isinstance(k, K{at}):\n        return k.x\n" for at in range(size))
    return f"{HEAD}{kinds}def f(k):\n{asked}    return None\n\n\nf(K1())\n"


def recursion(size: int) -> str:
    """Return functions that call themselves, with another size each time."""
    one = (
        "def r{0}(x, n):\n    if n == 0:\n        return x\n"
        "    return r{0}(torch.cat([x, x]), n - 1) + r{0}(x[1:], n - 2)\n\n\n"
        "r{0}(torch.zeros(2, 3), 40)\n\n\n"
    )
    return HEAD + "".join(one.format(at) for at in range(size))


def mutual_recursion(size: int) -> str:
    """Return functions that call each other in a ring, and some across it."""
    one = (
        "def m{0}(x, n):\n    if n:\n        return m{1}(torch.cat([x, x]), n - 1)\n"
        "    return m{2}(x[1:], n)\n\n\n"
    )
    ring = (one.format(at, (at + 1) % size, (at * 7 + 3) % size) for at in range(size))
    return HEAD + "".join(ring) + "m0(torch.zeros(2, 3), 5)\n"


def call_chain(size: int) -> str:
    """Return functions each of which calls the next, in either order, whatever that gives."""
    one = 'def {0}{1}(x: Float[Tensor, "b d"]):\n    return {0}{2}(x)\n\n\n'
    ends = "".join(f"def {name}{size}(x):\n    return unknown(x)\n\n\n" for name in "cd")
    down = "".join(one.format("c", at, at + 1) for at in range(size))
    return HEAD + ends + down + "".join(one.format("d", at, at + 1) for at in reversed(range(size)))


def evidence_chain(size: int) -> str:
    """Return functions without annotations each of which calls the next, in either order."""
    return call_chain(size).replace(': Float[Tensor, "b d"]', "")


def class_recursion(size: int) -> str:
    """Return classes that make each other."""
    one = (
        "class C{0}:\n    def __init__(self, n):\n        self.n = n\n"
        "        self.inner = C{1}(n + 1)\n        self.w = torch.zeros(n, n)\n\n"
        "    def run(self, x):\n        return self.inner.run(x @ self.w)\n\n\n"
    )
    ring = (one.format(at, (at + 1) % size) for at in range(size))
    return HEAD + "".join(ring) + "C0(3).run(torch.zeros(3, 3))\n"


def inheritance(size: int) -> str:
    """Return a long line of classes, each with a method that calls its base's."""
    one = "class D{0}({1}):\n    def run(self, x):\n        return super().run(x) + {0}\n\n\n"
    line = (one.format(at, f"D{at - 1}") for at in range(1, size))
    first = "class D0:\n    def run(self, x):\n        return x\n\n\n"
    return f"{HEAD}{first}{''.join(line)}D{size - 1}().run(torch.zeros(2, 3))\n"


def diamonds(size: int) -> str:
    """Return classes with two bases that have the same base, over and over."""
    text = HEAD + "class E0:\n    x = torch.zeros(3)\n\n\n"
    for at in range(1, size):
        text += f"class L{at}(E{at - 1}):\n    pass\n\n\nclass R{at}(E{at - 1}):\n    pass\n\n\n"
        text += f"class E{at}(L{at}, R{at}):\n    pass\n\n\n"
    return f"{text}E{size - 1}().x @ E{size - 1}().x\n"


def list_of_numbers(size: int) -> str:
    """Return a list of so many numbers."""
    return f"{HEAD}a = [{', '.join(map(str, range(size)))}]\nx = torch.tensor(a)\ny = x + len(a)\n"


def list_of_lists(size: int) -> str:
    """Return a list of so many pairs."""
    return f"{HEAD}x = torch.tensor([{', '.join(f'[{at}, 1.5]' for at in range(size))}])\n"


def dict_of_numbers(size: int) -> str:
    """Return a dict of so many items, and what takes them."""
    items = ", ".join(f"'k{at}': torch.zeros({at})" for at in range(size))
    return f"{HEAD}a = {{{items}}}\nfor k, v in a.items():\n    y = v + a[k]\nb = {{**a, **a}}\n"


def dict_steps(size: int) -> str:
    """Return a dict that gets an item a line."""
    return _body("a = {}", *(f"a['k{at}'] = a.get('k{at - 1}', x)" for at in range(size)))


def list_steps(size: int) -> str:
    """Return a list that gets an item a line."""
    return _body("a = []", *["a.append(x)"] * size, "x = torch.cat(a)")


def long_int(size: int) -> str:
    """Return numbers of many digits; more than 4,300 are written in base 16."""
    digits = hex(7**size)
    return _body(f"a = {digits}", "y = torch.zeros(a, 2)", "z = y.reshape(a * a, -1)", "w = a ** a")


HUGE: Final = (
    *("10**10**10", "2**(2**100)", "1 << 10**9", "1 << (1 << 62)", "7**7**7**7", "(-3)**10**9"),
    *("'x' * 10**12", "[0] * 10**12", "(0,) * 10**12", "b'x' * 10**11", "'ab' * 10**6 * 10**6"),
    *("range(10**12)", "list(range(10**9))", "tuple(range(10**9))", "[*range(10**9)]"),
    *("[i for i in range(10**9)]", "{i: i for i in range(10**9)}", "sum(range(10**9))"),
    *("sum(i for i in range(10**9))", "max(range(10**10))", "len(range(10**18))", "10**400 // 3"),
    *("torch.tril_indices(10000, 10001)", "torch.triu_indices(10**5, 10**5, 7)", "2.0**10**6"),
    *("torch.arange(10**15)", "torch.arange(0, 10**15, 3)", "torch.linspace(0, 1, 10**12)"),
    *(
        "torch.combinations(torch.arange(10**6), 5)",
        "torch.zeros(10**30)",
        "torch.ones(*range(900))",
    ),
    *(
        "torch.zeros(2).expand(*[1] * 10**9)",
        "torch.zeros(3).repeat(*[2] * 5000)",
        "int('9' * 10**7)",
    ),
    *(
        "torch.zeros(10**9).split(1)",
        "torch.zeros(10**9).unbind()",
        "torch.zeros(10**9).chunk(10**9)",
    ),
    *("[*torch.zeros(10**9)]", "list(torch.zeros(10**9))", "torch.zeros(10**9).tolist()"),
    *("math.factorial(10**6)", "math.comb(10**6, 10**5)", "math.prod(range(1, 10**9))"),
    *(
        "math.perm(10**6)",
        "math.gcd(10**3000, 6)",
        "math.lcm(*range(1, 10**9))",
        "'%0999999999d' % 1",
    ),
    *("f'{1:>999999999}'", "'x'.ljust(10**11)", "'{:>99999999999}'.format(1)", "'x'.zfill(10**11)"),
    *("pow(3, 10**9)", "pow(3, 10**9, 10**9 + 7)", "divmod(10**10**9, 7)", "round(10**10**9, -3)"),
    *("list(itertools.product(range(99), repeat=9))", "list(itertools.permutations(range(20)))"),
    *("list(itertools.combinations(range(60), 30))", "list(itertools.repeat(0, 10**9))"),
    *(
        "dict.fromkeys(range(10**9))",
        "set(range(10**9))",
        "sorted(range(10**9))",
        "[0] * n * 10**12",
    ),
    *("bytes(10**12)", "bytearray(10**12)", "'a'.join(['b'] * 10**9)", "[[0] * 10**5] * 10**5"),
    *(
        "torch.eye(10**9)",
        "torch.nn.functional.one_hot(torch.zeros(3).long(), 10**12)",
        "~(1 << 10**9)",
    ),
    *(
        "torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(10**9)])",
        "1 >> 10**30",
        "0 << 10**30",
    ),
    *("torch.cat([torch.zeros(3)] * 10**9)", "torch.stack([torch.zeros(3) for _ in range(10**9)])"),
    *("torch.zeros(4, 4)[(slice(None),) * 10**6]", "torch.zeros(4).reshape((1,) * 10**6)"),
    *("list(enumerate(range(10**9)))", "list(zip(range(10**9), range(10**9)))", "10**9 * [x]"),
    *(
        "'a,' * 10**9",
        "('a ' * 10**7).split()",
        "list('a' * 10**9)",
        "int(10**400 / 3)",
        "1e308 * 10",
    ),
    *(
        "list(map(str, range(10**9)))",
        "any(range(10**9))",
        "all(range(1, 10**9))",
        "min(range(10**9))",
    ),
    *("[y for y in [0] * 10**9]", "[*range(10**5)] * 10**5", "str(10**10**6)", "repr(7**10**6)"),
    *(
        "hex(1 << 10**8)",
        "list(reversed(range(10**9)))",
        "range(10**12)[::-1][10**11:]",
        "x ** 10**10**10",
    ),
    *(
        "torch.zeros(1 << 10**6)",
        "torch.zeros(2**70, 2**70).flatten()",
        "torch.zeros(10**18, 10**18)",
    ),
    *("einops.repeat(x, 'b d -> b d r', r=10**30)", "torch.zeros(10**9).view(*[1] * 999, -1)"),
    *("torch.zeros(3, 3).repeat_interleave(10**18, 0)", "torch.meshgrid(*[x[0]] * 10**6)"),
    *(
        "torch.broadcast_shapes(*[(1,)] * 10**6)",
        "torch.atleast_2d(*[x] * 10**6)",
        "divmod(7, 10**30)",
    ),
    *("torch.nn.Sequential(*[torch.nn.ReLU()] * 10**7)(x)", "torch.arange(10**9).tolist()[5]"),
)
"""Values that nobody's memory holds, or that take a day to count."""


def huge_values(size: int) -> str:
    """Return so many of the values that must not be worked out."""
    one = 'def f{0}(x: Float[Tensor, "b d"], n: int) -> None:\n    a = {1}\n    b = [a, a]\n\n\n'
    made = (one.format(at, HUGE[at % len(HUGE)]) for at in range(size))
    return f"import itertools\nimport math\n{HEAD}{''.join(made)}"


def towers(size: int) -> str:
    """Return powers of powers of symbols."""
    lines = [f"a{at} = n ** m ** (n + {at}) ** m" for at in range(size)]
    lines += [f"torch.zeros(a{at}) + torch.zeros(a{at - 1})" for at in range(1, size)]
    return _body(*lines)


def many_symbols(size: int) -> str:
    """Return one tensor of so many named dimensions, and what is done with it."""
    names = " ".join(_names(size))
    return (
        f'{HEAD}def f(x: Float[Tensor, "{names}"]) -> Tensor:\n    y = x + x.flip(0)\n'
        "    y = y.flatten() + x.reshape(-1)\n    y = x.transpose(0, -1) * 2\n"
        "    y = y.permute(*range(y.ndim)).sum(3).unsqueeze(2)\n    return y @ y.mT + x.numel()\n"
    )


def sum_of_symbols(size: int) -> str:
    """Return the sum of so many sizes, compared with itself the other way."""
    names = _names(size)
    there, back = " + ".join(names), " + ".join(reversed(names))
    return _sizes(
        size, f"torch.zeros({there}) + torch.zeros({back})", f"torch.zeros(({there}) // 2)"
    )


def products_of_sums(size: int) -> str:
    """Return polynomials of ever more factors, divided, compared, and in minima and powers."""
    whole = _polynomial(size)
    other = "*".join(reversed(whole.split("*")))
    kin = (
        *(f"({whole}) // (n0+1)", f"({whole}) % (n0+1)", f"min({whole}, n0)", f"max({whole}, n0)"),
        *(f"-(-({whole}) // (n0+1))", f"({whole}) ** 3", f"({whole}) ** n0", f"n0 ** ({whole})"),
        *(f"({whole}) // ({other})", f"({whole}) * ({other})", f"({whole}) - ({other})"),
        *(f"({whole}) // (n0+n1)", f"n0 // ({whole})", f"({whole} + 1) // ({other} + 1)"),
        *(
            f"math.ceil(({whole}) / (n0+1))",
            f"min({whole}, {other}, n0*n1)",
            f"({whole}) % ({other})",
        ),
    )
    lines = [f"a{at} = {one}" for at, one in enumerate(kin)]
    lines += [f"torch.zeros(a{at}) + torch.zeros(a{at + 1})" for at in range(len(kin) - 1)]
    lines += [f"torch.zeros({whole}) + torch.zeros({other})"]
    lines += [f"torch.zeros({whole}, 2).reshape(a{at}, -1)" for at in range(len(kin))]
    return "import math\n" + _sizes(size, *lines)


def factors_one_by_one(size: int) -> str:
    """Return a product that gets a factor a line, and is divided by each."""
    lines = ["a = 1", *(f"a = a * ({name}+1)" for name in _names(size))]
    lines += [f"a = a // ({name}+1)" for name in _names(size)]
    return _sizes(size, *lines, "torch.zeros(a) + torch.zeros(3)")


def quotients_of_quotients(size: int) -> str:
    """Return divisions within divisions, as layers of convolutions make."""
    lines = ["a = n0"]
    lines += [f"a = (a + 2 * {at} - 3) // {at % 5 + 2} + 1" for at in range(size)]
    return _sizes(2, *lines, "x = torch.zeros(a, a * 2).reshape(-1, 2)")


def minima_of_minima(size: int) -> str:
    """Return minima and maxima of ever more sizes."""
    lines = ["a = n0"]
    lines += [
        f"a = {'min' if at % 2 else 'max'}(a, n{at % 7} + {at}, n{at % 5} * a)"
        for at in range(size)
    ]
    return _sizes(8, *lines, "torch.zeros(a) + torch.zeros(n0)")


def einops_axes(size: int) -> str:
    """Return a pattern of so many axes."""
    names, back = " ".join(_names(size)), " ".join(reversed(_names(size)))
    given = ", ".join(f"{one}=2" for one in _names(size))
    return _body(
        f"y = einops.rearrange(x, '{names} -> {back}')",
        f"y = einops.rearrange(x, '({names}) d -> d ({back})')",
        f"y = einops.repeat(x, 'b d -> b d {names}', {given})",
        f"y = einops.reduce(x, '({names}) d -> d', 'mean')",
    )


def einsum_axes(size: int) -> str:
    """Return a product of so many tensors."""
    operands = ", ".join(f"n{at} n{at + 1}" for at in range(size))
    given = ", ".join(["x"] * size)
    return _body(f"y = einops.einsum({given}, '{operands} -> n0 n{size}')")


def long_annotation(size: int) -> str:
    """Return annotations of so many characters, of several kinds."""
    sums, names = "+".join(_names(size // 4)), " ".join(_names(size // 4))
    texts = (sums, names, f"({names})", "*".join(_names(size // 4)), "b " * (size // 2), "a" * size)
    texts = (*texts, "(" * size, "min(" * (size // 4), "*" * size, "{" * size, "a=" * (size // 2))
    texts = (
        *texts,
        "-".join(["(a"] * (size // 4)),
        "a//" * (size // 4) + "a",
        "9" * size,
        "a**" * 99,
    )
    one = 'def f{0}(x: Float[Tensor, "{1}"]) -> None: ...\n\n\n'
    return HEAD + "".join(one.format(at, text) for at, text in enumerate(texts))


def powers_in_annotation(size: int) -> str:
    """Return annotations of which the numbers have no end."""
    one = 'def f{0}(x: Float[Tensor, "{1}"]) -> None: ...\n\n\n'
    texts = ("9**9**9**9", "(a+b+c+d)**999999999", "2**a**b**c", "(a+1)**(b+1)**(c+1)", "a**-9")
    return HEAD + "".join(one.format(at, texts[at % len(texts)]) for at in range(size))


def comprehensions(size: int) -> str:
    """Return comprehensions over comprehensions."""
    lines = ["a = [x for _ in range(9)]"]
    lines += ["a = [y + z for y in [w for w in a] for z in [v for v in a]]"] * size
    return _body(*lines, "x = torch.cat(a)")


def deep_comprehensions(size: int) -> str:
    """Return comprehensions within each other, fifteen deep."""
    text = "x"
    for at in range(15):
        text = f"[{text} for i{at} in range(n)]"
    return _body(*[f"a{at} = {text}" for at in range(size // 15)])


def decorators(size: int) -> str:
    """Return a function under ever more decorators."""
    wrap = (
        "def wrap(g):\n    def inner(*a, **k):\n        return g(*a, **k)\n    return inner\n\n\n"
    )
    rows = min(size, 60)
    one = "@wrap\n" * rows + "def f{0}(x):\n    return x + 1\n\n\nf{0}(torch.zeros(2))\n\n\n"
    return HEAD + wrap + "".join(one.format(at) for at in range(size // rows))


def decorator_factory(size: int) -> str:
    """Return closures around closures around closures."""
    lines = ["g = lambda y: y + 1"]
    lines += ["g = (lambda h: lambda y: h(h(y)))(g)"] * size
    return _body(*lines, "x = g(x)")


def growing_loop(size: int) -> str:
    """Return loops in which shapes grow, in length and in rank."""
    lines = []
    for at in range(size // 4):
        lines += [f"y{at} = x", "for _ in range(n):", f"    y{at} = torch.cat([y{at}, x])"]
        lines += ["while True:", f"    y{at} = y{at}.unsqueeze(0)", f"    if y{at}.ndim > n:"]
        lines += ["        break"]
    return _body(*lines)


def counted_loops(size: int) -> str:
    """Return loops of a known number of turns, which a reader would unroll."""
    lines = []
    for at in range(size):
        lines += [f"for i{at} in range({10 ** (at % 9)}):", f"    y = torch.zeros(i{at} + 1, 2)"]
        lines += [f"    a = [y] * i{at}"]
    return _body(*lines)


def while_true(size: int) -> str:
    """Return loops that never end, in which everything changes."""
    lines = []
    for at in range(size // 4):
        lines += ["while True:", f"    x = torch.cat([x, x]); n = n + {at}; m = n * m"]
        lines += ["    if n > 100: break", "    if m > 3: continue"]
    return _body(*lines)


def joined_patterns(size: int) -> str:
    """Return patterns that are made of texts, piece by piece."""
    lines = ["p = ''"]
    lines += [f"p = p + 'a{at} '" for at in range(size)]
    lines += ["q = ' '.join(reversed(p.split()))", "y = einops.rearrange(x, p + ' -> ' + q)"]
    lines += [
        "r = ' '.join(f'c{i}' for i in range(500))",
        "z = einops.rearrange(x, f'{r} -> ({r})')",
    ]
    return _body(*lines)


def doubled_texts(size: int) -> str:
    """Return texts, lists and tuples that double, line by line."""
    lines = ["p = 'ab'", "a = [x]", "t = (1, 2)", "i = 3", "d = {'a': x}"]
    for _ in range(size):
        lines += [
            "p = p + p",
            "a = a + a",
            "t = t + t",
            "i = i * i",
            "t = (t, t)",
            "d = {'a': d, 'b': d}",
        ]
        lines += ["p = f'{p}{p}'", "a = [a, a]", "a.extend(a)"]
    return _body(*lines, "torch.zeros(*t, i)", "einops.rearrange(x, p)")


def dict_in_itself(size: int) -> str:
    """Return dicts and lists that hold themselves and each other."""
    lines = ["d = {}", "e = []"]
    for at in range(size):
        lines += [f"d['k{at}'] = d", "e.append(e)", f"d['e{at}'] = e", "e.append(d)"]
    return _body(*lines, "y = d['k0']['k0']['e0'][0][0]", "d == d", "print(d, e)", "x = e[0][1]")


def attribute_chain(size: int) -> str:
    """Return objects that hold themselves, and long ways through them."""
    node = (
        "class Node:\n    def __init__(self):\n        self.next = self\n"
        "        self.x = torch.zeros(3)\n\n\n"
    )
    depth = min(size, 90)
    way = "a" + ".next" * depth
    lines = [f"{way}.x = {way}.x + 1"] * (size // depth)
    return _body("a = Node()", *lines).replace(HEAD, HEAD + node)


def linked_list(size: int) -> str:
    """Return a list of so many links, and a walk through it."""
    node = (
        "class Node:\n    def __init__(self, x, rest):\n        self.x = x\n"
        "        self.rest = rest\n\n\n"
    )
    lines = ["a = Node(x, None)", *["a = Node(a.x + 1, a)"] * size]
    lines += ["while a.rest is not None:", "    a = a.rest", "x = a.x"]
    return _body(*lines).replace(HEAD, HEAD + node)


def stars(size: int) -> str:
    """Return tuples that are unpacked, put together and unpacked again."""
    names = ", ".join(f"v{at}" for at in range(size))
    lines = [
        "a = [x, x, x]",
        *["a = [*a, *a[:2], x]"] * size,
        "b, *c, d = a",
        "torch.cat([*a, *c])",
    ]
    lines += [f"{names} = a[:{size}]", f"*u, w = {names}", "print(*a, *a, **{})"]
    return _body(*lines)


def subscripts(size: int) -> str:
    """Return indices of ever more entries."""
    lines = [f"y = x[{', '.join([':'] * size)}]", f"y = x[{', '.join(['None'] * size)}]"]
    lines += [f"y = x[{', '.join(['..., 0'] * size)}]", f"y = x[[{', '.join(['0'] * size)}]]"]
    return _body(*lines, "y = x" + "[None]" * min(size, 900))


def match_cases(size: int) -> str:
    """Return one `match` of so many cases."""
    lines = ["match x.shape:"]
    for at in range(size):
        lines += [f"    case ({at}, k):", f"        x = torch.zeros(k, {at})"]
    return _body(*lines)


def tries(size: int) -> str:
    """Return `try` within `finally` within `try`, twelve deep."""
    lines = []
    for _ in range(size // 12):
        for at in range(12):
            pad = "    " * at
            lines += [
                f"{pad}try:",
                f"{pad}    x = x + {at}",
                f"{pad}except E{at}:",
                f"{pad}    x = x[1:]",
            ]
            lines += [f"{pad}finally:"]
        lines += ["    " * 12 + "x = x + 1"]
    return _body(*lines)


def boolean_chain(size: int) -> str:
    """Return one condition of so many parts."""
    depth = min(size, 900)
    line = " and ".join(f"(x.shape[0] == {at} or n > {at})" for at in range(depth))
    return _body(*[f"if {line}:\n        x = x + 1"] * (size // depth))


def assertions(size: int) -> str:
    """Return so many facts about sizes, each of which follows from no other."""
    lines = [f"assert n{at} == n{at + 1} * {at % 3 + 1} + n{at // 2}" for at in range(size - 1)]
    return _sizes(size, *lines, f"torch.zeros(n0) + torch.zeros(n{size - 1})")


def unpacked_shapes(size: int) -> str:
    """Return so many tensors that are reshaped by each other's sizes."""
    lines = []
    for at in range(size):
        lines += [
            "b, d = x.shape",
            f"x = x.reshape(d, b) if {at % 3} else x.reshape(b * d // 2, 2)",
        ]
        lines += ["x = x.view(-1, x.size(1) * 2)"]
    return _body(*lines)


def callbacks(size: int) -> str:
    """Return functions that are handed functions, that are handed functions."""
    one = "def h{0}(g, x):\n    return h{1}(lambda y: g(g(y)), x) + g(x)\n\n\n"
    text = "".join(one.format(at, at + 1) for at in range(size))
    last = f"def h{size}(g, x):\n    return g(x)\n\n\n"
    return f"{HEAD}{text}{last}h0(lambda y: y + 1, torch.zeros(2, 3))\n"


def generators(size: int) -> str:
    """Return generators over generators."""
    one = (
        "def g{0}(a):\n    for y in g{1}(a):\n        yield y + 1\n"
        "        yield from g{1}([y])\n\n\n"
    )
    text = "".join(one.format(at, at + 1) for at in range(size))
    last = f"def g{size}(a):\n    yield from a\n\n\n"
    return f"{HEAD}{text}{last}torch.cat(list(g0([torch.zeros(2, 3)])))\n"


def globals_changed(size: int) -> str:
    """Return functions that all change the same global name, and call each other."""
    one = "def g{0}():\n    global X\n    X = torch.cat([X, X])\n    g{1}()\n\n\n"
    text = "".join(one.format(at, (at + 1) % size) for at in range(size))
    return f"{HEAD}X = torch.zeros(2, 3)\n\n\n{text}g0()\nX + torch.zeros(5)\n"


def layers(size: int) -> str:
    """Return a module of so many layers that are called in a row."""
    made = "".join(
        f"        self.l{at} = torch.nn.Linear({at + 1}, {at + 2})\n" for at in range(size)
    )
    used = "".join(f"        x = self.l{at}(x)\n" for at in range(size))
    return (
        f"{HEAD}class Net(torch.nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n{made}\n"
        f"    def forward(self, x):\n{used}        return x\n\n\nNet()(torch.zeros(2, 1))\n"
    )


def long_comment(size: int) -> str:
    """Return comments and docstrings of many brackets."""
    text = "([{" * size
    lines = [
        f'"""{text}: (b, c) shape {text}"""',
        f"y = x  # {text} (B, C, {text}",
        f"# {'(B, ' * size}",
    ]
    lines += [f"z = x  # {'x: ' * size}", f"w = x  # {'[B x ' * size}", f"v = x  # {' ' * size}(b,"]
    return _body(*lines)


def long_line(size: int) -> str:
    """Return one line of so many statements."""
    return _body("; ".join(["x = x + 1"] * size))


def long_string(size: int) -> str:
    """Return a text of so many characters, where patterns and names are expected."""
    text = "a" * size
    lines = (
        f"y = einops.rearrange(x, '{text} -> {text}')",
        f"z = torch.einsum('{text}', x)",
        f"w = getattr(x, '{text}')",
        f"v = '{text}'.split('b')",
        f"u = '%s' % '{text}'",
    )
    return _body(*lines)


def f_strings(size: int) -> str:
    """Return texts that are made of texts."""
    lines = ["p = 'a'", *[f"p = f'{{p}} {{n}} b{at}'" for at in range(size)]]
    return _body(*lines, "y = einops.rearrange(x, p)")


def walrus(size: int) -> str:
    """Return assignments within expressions."""
    lines = [f"y = (a{at} := x + {at}) + (b{at} := a{at}[1:])" for at in range(size)]
    return _body(*lines)


def global_unions(size: int) -> str:
    """Return objects that are one of so many classes, and a method of each."""
    one = "class K{0}:\n    def run(self, x):\n        return torch.cat([x] * {0})\n\n\n"
    text = "".join(one.format(at) for at in range(size))
    made = "".join(f"    if n == {at}:\n        k = K{at}()\n" for at in range(size))
    used = "    return k.run(x)\n\n\nf(3, torch.zeros(3))\n"
    return f"{HEAD}{text}def f(n, x):\n    k = None\n{made}{used}"


def withs(size: int) -> str:
    """Return `with` within `with`, fifteen deep."""
    lines = []
    for _ in range(size // 15):
        lines += [f"{'    ' * at}with torch.no_grad() as g{at}, open(n):" for at in range(15)]
        lines += ["    " * 15 + "x = x + 1"]
    return _body(*lines)


def overloads(size: int) -> str:
    """Return a function of so many overloads, and a call of each."""
    one = (
        '@overload\ndef g(x: Float[Tensor, "a {0}"], k: int = {0}) -> Float[Tensor, "a {1}"]: ...\n'
    )
    text = "".join(one.format(at, at + 1) for at in range(size))
    made = "def g(x, k=0):\n    return torch.cat([x, x[:, :1]], dim=1)\n\n\n"
    calls = "".join(f"y{at} = g(torch.zeros(2, {at}))\n" for at in range(size))
    return f"from typing import overload\n{HEAD}{text}{made}{calls}"


def many_defaults(size: int) -> str:
    """Return a function of so many parameters with defaults, and as many calls of it."""
    params = ", ".join(f"{name}={at}" for at, name in enumerate(_names(size)))
    calls = "".join(f"f(torch.zeros(2), {name}=3)\n" for name in _names(size))
    sizes = ", ".join(_names(min(size, 200)))
    return f"{HEAD}def f(x, {params}):\n    return torch.zeros({sizes})\n\n\n{calls}"


def unpacked_tuples(size: int) -> str:
    """Return a tuple of so many tensors, taken apart and put together."""
    names = ", ".join(_names(size, "v"))
    lines = [f"t = ({', '.join(['x'] * size)},)", f"{names} = t", f"({names}), w = t, x"]
    return _body(*lines, "a, *b, c = t", "t = tuple(y + 1 for y in t)", "torch.cat(t)")


def doubling_loops(size: int) -> str:
    """Return loops that double a tensor until it is large enough."""
    lines = []
    for at in range(size):
        lines += [f"while x.shape[0] < {at + 5} * n:", "    x = torch.cat([x, x])"]
        lines += [f"    n = n // 2 if n > {at} else n + 1"]
    return _body(*lines)


def ladder_of_bases(size: int) -> str:
    """Return classes that have the one before and one half way as bases."""
    text = f"{HEAD}class B0(torch.nn.Module):\n    def forward(self, x):\n        return x\n\n\n"
    for at in range(1, size):
        text += f"class B{at}(B{at - 1}, B{at // 2}):\n    def m{at}(self, x):\n"
        text += f"        return self.m{at // 2}(x)\n\n\n"
    return text


def defaults_in_a_row(size: int) -> str:
    """Return lambdas, each of which has the one before as a default."""
    lines = ["g0 = lambda y: y"]
    lines += [f"g{at} = lambda y, g=g{at - 1}: g(y) + y" for at in range(1, size)]
    return _body(*lines, f"x = g{size - 1}(x)")


def slices(size: int) -> str:
    """Return a tensor that is cut with ever larger steps."""
    return _body(*(f"x[{at}:, ...] = x[..., :{at}] + x[:: {at + 1}]" for at in range(size)))


def methods_in_a_ring(size: int) -> str:
    """Return methods of one class that call each other, and change it."""
    one = (
        "    def m{0}(self, x):\n        self.s = torch.cat([x, x])\n"
        "        return self.m{1}(x) + self.m{2}(x[1:])\n\n"
    )
    ring = (one.format(at, (at * 7 + 1) % size, (at * 3 + 2) % size) for at in range(size))
    head = "class K(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    return f"{HEAD}{head}        self.s = None\n\n{''.join(ring)}"


def type_comments(size: int) -> str:
    """Return so many comments that say types and shapes."""
    lines = (f"y{at} = x  # type: Float[Tensor, 'b d'] (b, ..., {at})" for at in range(size))
    return _body(*lines)


def joined_lists(size: int) -> str:
    """Return lists that are one thing or another, after each condition."""
    lines = [f"v{at} = [x, {at}]" for at in range(size)]
    for at in range(size):
        lines += [f"if flags[{at}]:", f"    v{at}.append(x)", "else:", f"    v{at} = [x[1:]]"]
    return _body(*lines)


PROGRAMS: Final[dict[str, tuple[Callable[[int], str], int]]] = {
    "nested expressions": (nested_expression, 4000),
    "a long sum": (long_sum, 3600),
    "nested calls": (nested_calls, 4000),
    "nested functions": (nested_functions, 300),
    "nested conditions": (nested_ifs, 600),
    "nested loops": (nested_loops, 240),
    "a chain of elif": (elif_chain, 400),
    "sizes that double their states": (conditional_chain, 250),
    "tensors that double their states": (conditional_tensors, 250),
    "choices in choices": (conditional_nested, 900),
    "variables": (many_names, 1000),
    "variables of a module": (many_names_module, 1000),
    "parameters": (many_parameters, 250),
    "keywords": (many_keywords, 500),
    "unions": (union_annotations, 900),
    "questions of classes": (isinstance_chain, 100),
    "recursion": (recursion, 50),
    "recursion in a ring": (mutual_recursion, 50),
    "calls in a chain": (call_chain, 150),
    "calls in a chain, bare": (evidence_chain, 150),
    "recursion by classes": (class_recursion, 50),
    "inheritance": (inheritance, 100),
    "diamonds": (diamonds, 50),
    "a list of numbers": (list_of_numbers, 25000),
    "a list of lists": (list_of_lists, 10000),
    "a dict": (dict_of_numbers, 500),
    "a dict, line by line": (dict_steps, 250),
    "a list, line by line": (list_steps, 500),
    "a long number": (long_int, 8000),
    "huge values": (huge_values, len(HUGE)),
    "towers of powers": (towers, 50),
    "dimensions": (many_symbols, 50),
    "a sum of names": (sum_of_symbols, 50),
    "products of sums": (products_of_sums, 6),
    "factors, one by one": (factors_one_by_one, 50),
    "quotients of quotients": (quotients_of_quotients, 250),
    "minima of minima": (minima_of_minima, 250),
    "axes of a pattern": (einops_axes, 250),
    "operands of an einsum": (einsum_axes, 100),
    "a long annotation": (long_annotation, 2500),
    "powers in annotations": (powers_in_annotation, 250),
    "comprehensions": (comprehensions, 100),
    "comprehensions in each other": (deep_comprehensions, 300),
    "decorators": (decorators, 240),
    "closures": (decorator_factory, 100),
    "loops that grow": (growing_loop, 100),
    "counted loops": (counted_loops, 100),
    "loops without an end": (while_true, 200),
    "patterns that are joined": (joined_patterns, 250),
    "texts that double": (doubled_texts, 50),
    "dicts that hold themselves": (dict_in_itself, 100),
    "chains of attributes": (attribute_chain, 900),
    "linked lists": (linked_list, 200),
    "stars": (stars, 100),
    "subscripts": (subscripts, 250),
    "cases": (match_cases, 200),
    "tries": (tries, 120),
    "parts of a condition": (boolean_chain, 900),
    "assertions": (assertions, 100),
    "shapes, unpacked": (unpacked_shapes, 250),
    "callbacks": (callbacks, 50),
    "generators": (generators, 50),
    "globals that change": (globals_changed, 50),
    "layers": (layers, 250),
    "comments": (long_comment, 10000),
    "a long line": (long_line, 1000),
    "a long text": (long_string, 50000),
    "texts in texts": (f_strings, 250),
    "assignments in expressions": (walrus, 500),
    "one of many classes": (global_unions, 100),
    "contexts": (withs, 600),
    "overloads": (overloads, 125),
    "defaults": (many_defaults, 150),
    "tuples": (unpacked_tuples, 1000),
    "loops that double": (doubling_loops, 50),
    "a ladder of bases": (ladder_of_bases, 60),
    "functions as defaults": (defaults_in_a_row, 100),
    "slices": (slices, 64),
    "methods in a ring": (methods_in_a_ring, 50),
    "comments of types": (type_comments, 2500),
    "lists after conditions": (joined_lists, 200),
}
"""The programs by name, each with the smallest of its sizes."""
