"""The algebra of sizes against plain integers: whatever it says of names holds of numbers."""

from __future__ import annotations

import copy
import gc
import itertools
import operator
import pickle
import re
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import shapecheck.dims as dims
from shapecheck import spec
from shapecheck.dims import (
    HERE,
    Atom,
    Composite,
    IntSize,
    Relation,
    Size,
    Sym,
    Untold,
    compare,
    divide,
    exact_quotient,
    extreme,
    floordiv,
    indivisible,
    merge,
    name,
    own,
    power,
    size_of,
    substitute,
    unknown,
)
from shapecheck.dims.origins import Default, NamedAlike, OfInstance

a, b, c, h, w, n, m = map(name, "abchwnm")
d_model, d_ff = own("d_model"), own("d_ff")
F, G = OfInstance("f"), OfInstance("g")

# Expressions that mean the same in plain integers and in sizes -----------------------------------

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


@dataclass(frozen=True)
class Expression:
    """A random expression; `at` is its value with a value put in for each letter."""

    at: Callable[[Mapping[str, Any]], Any]
    text: str

    def __repr__(self) -> str:
        return self.text


def letter(text: str) -> Expression:
    return Expression(lambda env: env[text], text)


def number(value: int) -> Expression:
    return Expression(lambda env: value, str(value))


def combine(op: str, left: Expression, right: Expression) -> Expression:
    return Expression(lambda env: BINARY[op](left.at(env), right.at(env)), f"({left} {op} {right})")


def choose(function: str, left: Expression, right: Expression) -> Expression:
    def at(env: Mapping[str, Any]) -> Any:
        values = (left.at(env), right.at(env))
        if all(isinstance(value, int) for value in values):
            return min(values) if function == "min" else max(values)
        return extreme(function, values)

    return Expression(at, f"{function}({left}, {right})")


def expressions(letters: str, leaves: int = 6) -> st.SearchStrategy[Expression]:
    atoms = st.one_of(st.sampled_from(letters).map(letter), st.integers(0, 5).map(number))
    divisors = st.one_of(st.integers(1, 6).map(number), st.sampled_from(letters).map(letter))

    def extend(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.one_of(
            st.builds(combine, st.sampled_from("+-*"), inner, inner),
            st.builds(combine, st.sampled_from(["//", "%"]), inner, divisors),
            st.builds(combine, st.sampled_from(["//", "%"]), inner, inner),
            st.builds(combine, st.just("**"), inner, st.integers(0, 3).map(number)),
            st.builds(combine, st.just("**"), st.integers(2, 3).map(number), atoms),
            st.builds(choose, st.sampled_from(["min", "max"]), inner, inner),
        )

    return st.recursive(atoms, extend, max_leaves=leaves)


def symbolic(expression: Expression, letters: str, kind: dims.Kind = dims.Kind.NAME) -> IntSize:
    try:
        size = expression.at({x: Size.of(Sym(x, kind)) for x in letters})
    except ZeroDivisionError:
        size = 0
        assume(False)
    assert isinstance(size, (int, Size))
    return size


def put_in(size: IntSize, env: Mapping[str, int], kind: dims.Kind = dims.Kind.NAME) -> IntSize:
    return substitute(size, {Sym(x, kind): value for x, value in env.items()})


ENVIRONMENTS = st.fixed_dictionaries({x: st.integers(1, 30) for x in "abc"})


@given(expressions("abc"), st.lists(ENVIRONMENTS, min_size=4, max_size=8))
@settings(max_examples=250, deadline=None)
def test_sizes_are_integers_in_disguise(
    expression: Expression, environments: list[dict[str, int]]
) -> None:
    """An expression over names, with numbers put in afterwards, is the one over numbers."""
    size = symbolic(expression, "abc")
    for env in environments:
        try:
            expected = expression.at(env)
        except ZeroDivisionError:
            continue
        assert put_in(size, env) == expected, (env, size)


@given(expressions("abc"), st.lists(ENVIRONMENTS, min_size=3, max_size=5))
@settings(max_examples=150, deadline=None)
def test_the_text_of_a_size_is_read_again(
    expression: Expression, environments: list[dict[str, int]]
) -> None:
    """What is printed parses as an annotation, and evaluates to the same."""
    size = symbolic(expression, "abc")
    if isinstance(size, int):
        return
    (entry,) = spec.parse(str(size)).entries
    assert isinstance(entry, spec.Axis)
    for env in environments:
        try:
            expected = put_in(size, env)
            found = evaluate(entry.expr, env)
        except ZeroDivisionError:
            continue
        assert found == expected, (str(size), env)


def evaluate(expr: spec.Expr, env: Mapping[str, int]) -> int:
    match expr:
        case spec.Number(value):
            return value
        case spec.Name(id):
            return env[id]
        case spec.Negate(operand):
            return -evaluate(operand, env)
        case spec.Binary(op, left, right):
            value = BINARY[op](evaluate(left, env), evaluate(right, env))
            assert isinstance(value, int)
            return value
        case spec.Call(function, args):
            return (min if function == "min" else max)(evaluate(arg, env) for arg in args)
        case _:
            raise AssertionError(expr)


# Identities -------------------------------------------------------------------------------------

IDENTITIES: list[tuple[str, IntSize, IntSize]] = [
    ("a+b == b+a", a + b, b + a),
    ("a*b == b*a", a * b, b * a),
    ("2*a == a+a", 2 * a, a + a),
    ("(a+b)*c == a*c+b*c", (a + b) * c, a * c + b * c),
    ("(a+b)**2", (a + b) ** 2, a * a + 2 * a * b + b * b),
    ("a-a == 0", a - a, 0),
    ("a*b//b == a", a * b // b, a),
    ("(a*b+b)//b == a+1", (a * b + b) // b, a + 1),
    ("(a*a-b*b)//(a-b) == a+b", (a * a - b * b) // (a - b), a + b),
    ("(a**9-b**9)//(a-b)*(a-b)", (a**9 - b**9) // (a - b) * (a - b), a**9 - b**9),
    ("(2*a)//(2*b) == a//b", (2 * a) // (2 * b), a // b),
    ("(a*c)//(b*c) == a//b", (a * c) // (b * c), a // b),
    ("h//2//2 == h//4", h // 2 // 2, h // 4),
    ("h//a//b == h//(a*b)", h // a // b, h // (a * b)),
    ("h//2//a == h//(2*a)", h // 2 // a, h // (2 * a)),
    ("(h-2)//2+1 == h//2", (h - 2) // 2 + 1, h // 2),
    ("(h+2*a-3)//2+1 == a+(h-1)//2", (h + 2 * a - 3) // 2 + 1, a + (h - 1) // 2),
    ("2*h//4 == h//2", 2 * h // 4, h // 2),
    ("(2*h+1)//2 == h", (2 * h + 1) // 2, h),
    ("(2*h+1)//4 == h//2", (2 * h + 1) // 4, h // 2),
    ("-(-h//2) == h-h//2", -(-h // 2), h - h // 2),
    ("h//-2 == -h//2", h // -2, -h // 2),
    ("h%2 == h-2*(h//2)", h % 2, h - 2 * (h // 2)),
    ("(h+4)%4 == h%4", (h + 4) % 4, h % 4),
    ("h%1 == 0", h % 1, 0),
    ("h%h == 0", h % h, 0),
    ("2**(n+1) == 2*2**n", 2 ** (n + 1), 2 * 2**n),
    ("2**(n+m) == 2**n*2**m", 2 ** (n + m), 2**n * 2**m),
    ("2**(n+1)//2 == 2**n", 2 ** (n + 1) // 2, 2**n),
    ("h**12 == h**5*h**7", h**12, h**5 * h**7),
    ("(2*h)**10", (2 * h) ** 10, 1024 * h**10),
    ("h**0 == 1", h**0, 1),
    ("1**n == 1", 1**n, 1),
    ("min(a,a+1) == a", extreme("min", [a, a + 1]), a),
    ("max(a,a+1) == a+1", extreme("max", [a, a + 1]), a + 1),
    ("min(a,b) == min(b,a)", extreme("min", [a, b]), extreme("min", [b, a])),
    (
        "min(a,min(b,3),5) == min(a,b,3)",
        extreme("min", [a, extreme("min", [b, 3]), 5]),
        extreme("min", [a, b, 3]),
    ),
]


@pytest.mark.parametrize(
    ("left", "right"), [case[1:] for case in IDENTITIES], ids=[case[0] for case in IDENTITIES]
)
def test_identities_hold_as_python_equality(left: IntSize, right: IntSize) -> None:
    """What is equal as a polynomial is one object of the algebra: `==`, and the same hash."""
    assert left == right
    assert hash(left) == hash(right)
    assert compare(left, right).relation is Relation.SAME


def test_sizes_of_unequal_value_are_unequal_objects() -> None:
    """`==` never equates what differs, nor a size with a number or anything else."""
    different: list[Any] = [a, b, a + 1, 2 * a, a * b, a // 2, a // 3, a**2, 2**a, 1, "a", None]
    for i, left in enumerate(different):
        for right in different[i + 1 :]:
            assert left != right


def test_division_by_zero_is_pythons_error() -> None:
    """Dividing by a literal zero raises, as it does for integers."""
    for divide_by_zero in (lambda: h // 0, lambda: h % 0, lambda: h // (a - a)):
        with pytest.raises(ZeroDivisionError):
            divide_by_zero()


def test_arithmetic_with_anything_else_is_a_type_error() -> None:
    """A size mixes with integers only, so that other types can have their own say."""
    for op in BINARY.values():
        with pytest.raises(TypeError):
            op(h, "x")
        with pytest.raises(TypeError):
            op(1.5, h)


def test_parts_are_said_by_the_whole() -> None:
    """What stands in for a quarter of `d` is no name that anybody has written."""
    d, h = dims.name("d"), dims.name("h")
    quarter = dims.part(Sym("d"), 4)
    assert dims.whole(4 * quarter) == d
    assert dims.whole(8 * h * quarter) == 2 * h * d
    assert dims.whole(quarter) == floordiv(d, 4)
    assert dims.whole(4 * quarter + 1) == 4 * floordiv(d, 4) + 1
    assert dims.whole(quarter * quarter * 16) == 16 * floordiv(d, 4) * floordiv(d, 4)
    assert dims.whole(4 * h) == 4 * h


# Division ---------------------------------------------------------------------------------------


@given(expressions("ab", 4), expressions("ab", 4))
@settings(max_examples=100, deadline=None)
def test_divide_undoes_multiplication(left: Expression, right: Expression) -> None:
    """`divide(x*y, y)` is x, for polynomials in which nothing is rounded."""
    x, y = symbolic(left, "ab"), symbolic(right, "ab")
    assume(y != 0)
    assert divide(x * y, y) == x
    assert exact_quotient(x * y, y) == x
    assert floordiv(x * y, y) == x


@given(expressions("ab", 5), expressions("ab", 4))
@settings(max_examples=100, deadline=None)
def test_a_quotient_times_the_divisor_is_the_dividend(left: Expression, right: Expression) -> None:
    """Whatever `divide` and `exact_quotient` return, the product is the dividend again."""
    x, y = symbolic(left, "ab"), symbolic(right, "ab")
    for quotient in (divide(x, y), exact_quotient(x, y)):
        if quotient is not None:
            assert quotient * y == x


def test_a_promised_quotient_is_a_monomial() -> None:
    """Where `h` is known to divide `c`, `h*(c//h)` is `c` again, without a rewrite rule."""
    quotient = exact_quotient(c, h)
    assert quotient is not None
    assert quotient * h == c
    assert str(quotient) == "c//h"
    assert substitute(quotient, {Sym("c"): 12 * h}) == 12
    assert substitute(quotient, {Sym("c"): 12, Sym("h"): 4}) == 3


def test_a_promise_that_a_sum_divides_holds_for_the_sum() -> None:
    """`(a+b)//2` promised to be exact is 4 for 3 and 5, although neither of them is even."""
    for divisor, env in ((2, {"a": 3, "b": 5}), (c, {"a": 3, "b": 5, "c": 4})):
        quotient = exact_quotient(a + b, divisor)
        assert quotient is not None
        assert put_in(quotient, env) == 8 // (divisor if isinstance(divisor, int) else 4)


def test_a_promised_quotient_is_a_factor_like_others() -> None:
    """And its divisor is that of the whole product."""
    quotient = exact_quotient(c, h) or 0
    for factor in (a + b, a * b, 2 * w + 1, 3):
        assert divide(quotient * factor, factor) == quotient
        assert exact_quotient(quotient * factor, quotient) == factor
    assert divide(a * b + 1, a + b) is None
    assert divide(a + b, a * a + b) is None


def test_what_sizes_are_made_of() -> None:
    assert [*dims.atoms_of(3)] == []
    assert {str(atom) for atom in dims.atoms_of(2 * a * (h // 2) + 1)} == {"a", "h//2"}
    assert {symbol.name for symbol in dims.symbols((a + h // w) ** n)} == {"a", "h", "w", "n"}
    assert dims.terms_of(3) == {frozenset(): 3}


def test_a_promise_that_no_integer_keeps_is_refused() -> None:
    """7 is not a multiple of 2, nor anything of 0, and a sum divides only as a polynomial."""
    assert exact_quotient(7, 2) is None
    assert exact_quotient(h, 0) is None
    assert exact_quotient(h, a + b) is None
    assert divide(h, 2) is None
    assert divide(7, h) is None


def test_what_no_sizes_divide() -> None:
    """An odd number of elements has no half, whatever its parts are."""
    assert [num for num in (7, 2 * n + 1, 6 * a * b - 1, 4 * n + 2) if indivisible(num, 4)] == [
        *(7, 2 * n + 1, 6 * a * b - 1, 4 * n + 2)
    ]
    assert indivisible(2 * n + 1, 4 * h)
    assert indivisible(2 * n + 1, 2 * h + 2)
    for num in (8, n, 2 * n, 2 * n + a, a * (2 * n + 1), 3 * n + 1, (2 * n + 1) // 3, a // h + 1):
        assert not indivisible(num, 4)
    assert not indivisible(2 * n + 1, h)
    assert not indivisible(7, 0)
    assert exact_quotient(2 * n + 1, 4) is None


@given(expressions("ab", 5), expressions("ab", 3), st.integers(2, 6), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_what_cannot_be_divided_is_divided_by_no_sizes(
    left: Expression, right: Expression, times: int, rest: int
) -> None:
    x, y = times * symbolic(left, "ab") + rest, times * symbolic(right, "ab")
    assume(not isinstance(y, int) or y > 0)
    assert indivisible(x, y) or rest % times == 0
    if indivisible(x, y):
        for env in ({"a": first, "b": second} for first in range(1, 6) for second in range(1, 6)):
            divisor = put_in(y, env)
            assert divisor == 0 or put_in(x, env) % divisor


# Comparing --------------------------------------------------------------------------------------


@given(expressions("a", 5), expressions("a", 5))
@settings(max_examples=250, deadline=None)
@example(
    Expression(lambda env: extreme("max", [env["a"], 6]), "max(a,6)"),
    Expression(lambda env: 2 * env["a"], "2*a"),
)
def test_verdicts_on_one_name_hold_for_its_numbers(left: Expression, right: Expression) -> None:
    """SAME means always equal, DIFFERENT never, and what is learned is what equality means."""
    x, y = symbolic(left, "a"), symbolic(right, "a")
    check_verdict(x, y, [{"a": value} for value in range(2, 40)], dims.Kind.NAME)


@given(expressions("ab", 5), expressions("ab", 5))
@settings(max_examples=250, deadline=None)
def test_verdicts_on_own_sizes_hold_for_their_numbers(left: Expression, right: Expression) -> None:
    """The same for two sizes of the program's own, which may be equal to each other."""
    x, y = symbolic(left, "ab", dims.Kind.OWN), symbolic(right, "ab", dims.Kind.OWN)
    environments = [{"a": i, "b": j} for i in range(1, 9) for j in range(1, 9)]
    check_verdict(x, y, environments, dims.Kind.OWN)


@given(expressions("abc", 5), expressions("abc", 5), st.lists(ENVIRONMENTS, min_size=20))
@settings(max_examples=150, deadline=None)
def test_same_is_certain_for_several_names(
    left: Expression, right: Expression, environments: list[dict[str, int]]
) -> None:
    """SAME means equal whatever the names are."""
    x, y = symbolic(left, "abc"), symbolic(right, "abc")
    if compare(x, y).relation is Relation.SAME:
        for env in environments:
            assert put_in(x, env) == put_in(y, env)


def check_verdict(
    x: IntSize, y: IntSize, environments: list[dict[str, int]], kind: dims.Kind
) -> None:
    verdict = compare(x, y)
    assert compare(y, x).relation is verdict.relation
    for env in environments:
        try:
            values = put_in(x, env, kind), put_in(y, env, kind)
        except ZeroDivisionError:
            continue
        if not all(isinstance(value, int) and value >= 1 for value in values):
            continue
        equal = values[0] == values[1]
        if verdict.relation is Relation.SAME:
            assert equal, (x, y, env)
        elif verdict.relation is Relation.DIFFERENT:
            assert not equal or verdict.own, (x, y, env)
        elif equal and verdict.learn is not None:
            atom, size = verdict.learn
            assert put_in(Size.of(atom), env, kind) == put_in(size, env, kind), (x, y, env)


VERDICTS: list[tuple[str, IntSize, IntSize, Relation, tuple[Atom, IntSize] | None]] = []


def says(
    label: str,
    left: IntSize,
    right: IntSize,
    relation: Relation,
    learn: tuple[IntSize, IntSize] | None = None,
) -> None:
    """Add a row to the table of verdicts; what is learned is written as an equation of sizes."""
    equation = None
    if learn is not None:
        assert isinstance(learn[0], Size)
        assert learn[0].atom is not None
        equation = (learn[0].atom, learn[1])
    VERDICTS.append((label, left, right, relation, equation))


u, v = unknown("u"), unknown("v")
vocab = Size.of(Sym("vocab", size=10))
same, possible, different = Relation.SAME, Relation.POSSIBLE, Relation.DIFFERENT
# names
says("a name is no other name", a, b, different)
says("nor another name's neighbour", a, b + 1, different)
says("nor its half", h // 2, w, different)
says("nor the half of another", h // 2, w // 2, different)
says("nor a product with another", a * b, a * c, different)
says("nor a product with one more", a * b, a, different)
says("a product of two is no third", a * b, c, different)
says("a quotient is no third", c // h, w, different)
says("a name may be a number", h, 512, possible, (h, 512))
says("and so solves an equation", 2 * h + 1, 9, possible, (h, 4))
says("that no integer may solve", 2 * h, 7, different)
says("nor one below zero", h + 5, 3, different)
says("a name may be none at all", h, 0, possible, (h, 0))
says("equal factors cancel", n * h, 5 * n, possible, (h, 5))
says("products may be numbers", h * w, 49, possible)
says("but no odd ones if even", 2 * h * w, 49, different)
says("nor with a residue", 4 * h + 6 * w, 7, different)
says("a square may be a square", n**2, 49, possible, (n, 7))
says("but not 50", n**2, 50, different)
says("a power of two", 2**n, 8, possible, (n, 3))
says("but not 9", 2**n, 9, different)
says("a number and its successor", h, h + 1, different)
says("a number and its double", h, 2 * h, different)
# own sizes
says("a name may be an own size", h, d_model, possible, (h, d_model))
says("also in a product", b * h, b * d_model, possible, (h, d_model))
says("two own sizes differ", d_model, d_ff, different)
says("an own size may be a number", d_model, 512, possible, (d_model, 512))
says("an own size and its double", d_model, 2 * d_model, different)
says("an own offset may be zero", h + d_model, h, possible)
says("offsets may cancel", h + d_model - d_ff, h, possible)
says("an own factor isn't one", h * d_model, h, different)
# floors
says("rounded up, twice said", (h + 1) // 2, h - h // 2, same)
says("rounded up", -(-h // 4), (h + 3) // 4, same)
says("halves", h // 2 + (h + 1) // 2, h, same)
says("thirds", h // 3 + (h + 1) // 3 + (h + 2) // 3, h, same)
says("nested", (h // 2 + 1) // 3, (h + 2) // 6, same)
says("even", 2 * (h // 2), h, possible, (h // 2, exact_quotient(h, 2) or 0))
says("odd", 2 * (h // 2) + 1, h, possible, (h // 2, exact_quotient(h - 1, 2) or 0))
says("even, rounded up", (h + 1) // 2, h // 2, possible)
says("half its square", h**2 // 2, h, possible, (h, 2))
says("divisible", c // h * h, c, possible, (c // h, exact_quotient(c, h) or 0))
says("twice all whole pieces are more", h, 2 * n * (h // n), different)
says("and three times", 2 * h, 4 * n * (h // n), different)
says("once they may be all", h, n * (h // n), possible)
says("they are less than twice", 2 * h, n * (h // n), different)
says("a floor may be a number", h // 2, 7, possible, (h // 2, 7))
says("or an own size", h // 2, d_model, possible, (h // 2, d_model))
says("one case of two", h + h % 2, 7, different)
says("the other", 2 * h + h % 2, 7, possible, (h, 3))
# minima
says(
    "the smaller may be this one", extreme("min", [a, b]), a, possible, (extreme("min", [a, b]), a)
)
says("the smaller of a sum may be", extreme("min", [a + 1, b]), b, possible)
says("but no third", extreme("min", [a, b]), c, different)
says("larger than", extreme("max", [h, 6]), 2 * h, possible, (h, 3))
says("clamped", extreme("max", [h, 6]), 5, different)
# own sizes of instances, and such as are chosen
heads, depth = (own(text, OfInstance("self")) for text in ("heads", "depth"))
more_heads = own("heads", OfInstance("other"))
four, also_four, five = (
    own(text, Default(HERE, value)) for text, value in (("p", 4), ("q", 4), ("r", 5))
)
says("two of one instance", heads, depth, different)
says("two of two instances", heads, more_heads, possible)
says("multiples of two instances", heads, 2 * more_heads, possible)
says("the same where nobody chooses", four, also_four, possible)
says("twice the same", 2 * four, 2 * also_four, possible)
says("others where nobody chooses", four, five, different)
says("one that nobody need choose", four, d_model, different)
says("a name is no share of another", n, exact_quotient(c, heads) or 0, different)
says("nor rounded", n, c // heads, different)
says("but one that the caller chooses", n, exact_quotient(c, d_model) or 0, possible)
says("own sizes are no negative", d_model + d_ff, -3, different)
says("nor with a name", h + d_model, -1, different)
says("nor names", h + w, -3, different)
says("a product of three may be one", a * b * c, 1, possible)
# names of inner functions
inner = name("a", NamedAlike(a))
says("an inner name may be what it is called outside", inner, a, possible, (inner, a))
says("also in a product", inner * b, a * b, possible)
says("and in a sum", inner + b + d_model, a + b + d_model, possible)
says("but is no other", inner, b, different)
says("nor of another", inner * b, a * c, different)
says("it may be a number that it is outside", inner * n, 5 * n, possible)
says("outside it may be a number", name("x", NamedAlike(5)), 5, possible)
# two names of which few numbers solve it
says("rows and columns, one of each", b * (h - 3) * (w - 3), b, possible)
says("no divisor fits", (3 * h - 1) * (3 * w - 1), 7, different)
says("as many as another name", (h - 3) * (w - 3), b, different)
# unknowns
says("an unknown is anything", u, h, possible, (u, h))
says("another unknown, too", u, v, possible)
says("but not its successor", u, u + 1, different)
says("solved", 2 * u + 1, h, possible, (u, exact_quotient(h - 1, 2) or 0))
says("with factors cancelled", b * u, b * h, possible, (u, h))
says("but not with a residue", 2 * u + 2 * v, 7, different)
three_or_four = Size.of(Sym.one_of("3|4", (3, 4)))
says("one of several numbers is one of them", three_or_four, 3, possible, (three_or_four, 3))
says("and no other number", three_or_four, 5, different)
says("or a name", Size.of(Sym.one_of("3|a", (3, a))), 5, possible)
# promised sizes
says("what was promised", vocab, 10, same)
says("and follows", vocab + 1, 11, same)
says("what was not promised", vocab, 11, different)
says("promised, but another", vocab, Size.of(Sym("words", size=10)), different)
says("promised product", vocab * Size.of(Sym("words", size=10)), 100, same)
says("broken promise", vocab * Size.of(Sym("words", size=10)), 101, different)


@pytest.mark.parametrize(
    ("left", "right", "relation", "learn"),
    [row[1:] for row in VERDICTS],
    ids=[row[0] for row in VERDICTS],
)
def test_verdict(
    left: IntSize, right: IntSize, relation: Relation, learn: tuple[Atom, IntSize] | None
) -> None:
    """What `compare` says of two sizes, in both orders, and what it learns from equality."""
    found = compare(left, right)
    assert found.relation is relation
    assert compare(right, left).relation is relation
    if learn is not None:
        assert found.learn == learn


def test_two_own_sizes_may_have_been_compared_before() -> None:
    """A difference between own sizes is marked: an `if` on the way there may exclude it."""
    assert compare(d_model, d_ff).own
    assert not compare(a, b).own


@pytest.mark.parametrize(
    ("whole", "other", "relation"),
    [
        (d_model * d_ff, d_model * d_ff // 2, Relation.DIFFERENT),
        (d_model * d_ff, (d_model * d_ff + 1) // 2, Relation.DIFFERENT),
        (2 * d_model + d_ff, (2 * d_model + d_ff) // 3, Relation.DIFFERENT),
        (d_model * d_ff, d_model * d_ff // 4 * 4, Relation.POSSIBLE),
        (d_model * d_ff, d_model * d_ff // 2 + 3, Relation.POSSIBLE),
        (d_model, d_model * d_ff // 2, Relation.POSSIBLE),
    ],
)
def test_a_product_and_a_share_of_it(
    whole: dims.IntSize, other: dims.IntSize, relation: Relation
) -> None:
    """What stands both in a floor and beside it counts as one size there."""
    assert compare(whole, other).relation is relation
    assert compare(other, whole).relation is relation


@given(expressions("ab", 4), st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_a_solution_solves(expression: Expression, target: int) -> None:
    """What `solve` gives for a name makes the equation true, with the rest left symbolic."""
    x = symbolic(expression, "ab")
    verdict = dims.solve(x - target, Sym("a"))
    if verdict.relation is Relation.POSSIBLE and verdict.learn is not None:
        atom, value = verdict.learn
        assert atom is Sym("a")
        assert substitute(x, {atom: value}) == target or not_promised(value)
    elif verdict.relation is Relation.DIFFERENT and "b" not in str(x):
        assert all(put_in(x, {"a": value, "b": 1}) != target for value in range(1, 60))


def not_promised(value: IntSize) -> bool:
    """Whether a solution rests on a promise, that something divides."""
    return isinstance(value, Size) and (
        any(isinstance(k, Fraction) for k in value.terms.values())
        or any(e < 0 for m in value.terms for _, e in m)
    )


# Composites -------------------------------------------------------------------------------------


def test_merging_is_ordered_and_flat() -> None:
    """`(h d)` is not `(d h)`, though their sizes are equal; ones vanish, nesting too."""
    assert merge([h, w]) != merge([w, h])
    assert size_of(merge([h, w])) == size_of(merge([w, h])) == h * w
    assert merge([merge([a, b]), c]) == merge([a, merge([b, c])]) == Composite((a, b, c))
    assert merge([1, h, 1]) == h
    assert merge([]) == 1
    assert merge([2, 3]) == 6
    assert merge([2, h]) == Composite((2, h))
    assert str(merge([h, w // 2])) == "(h w//2)"


@given(st.lists(st.sampled_from([1, 2, 3, a, b, a + 1]), max_size=6), st.integers(0, 6))
@settings(max_examples=100, deadline=None)
def test_merging_laws(parts: list[IntSize], cut: int) -> None:
    """The size of a merge is the product, and merging in steps is merging at once."""
    assert size_of(merge(parts)) == prod(parts, start=1)
    stepwise = merge([merge(parts[:cut]), merge(parts[cut:])])
    assert size_of(stepwise) == size_of(merge(parts))
    if not all(isinstance(part, int) for part in parts[:cut]):
        if not all(isinstance(part, int) for part in parts[cut:]):
            assert stepwise == merge(parts)


# Others in the place of some --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("some", "text"),
    [
        ([a, a], "a"),
        ([3, 3], "3"),
        ([3, 4], "3|4"),
        ([dims.either(3, 4), 4, a], "3|4|a"),
        ([merge([a, b]), 3], "(a b)|3"),
        ([1, 2, 3, 4, 5], "_"),
        ([a, unknown()], "_"),
        ([a, unknown("u")], "a|u"),
        ([name("a" * 300), name("b" * 300)], "_"),
    ],
)
def test_one_of_several(some: list[dims.DimExpr], text: str) -> None:
    """Of a few that all have names; what else it may be isn't known."""
    found = dims.either(*some)
    assert str(found) == text
    assert found == some[0] or len({*some}) > 1


def test_names_in_the_place_of_names() -> None:
    """All at once, in whatever they are in."""
    names = {Sym("a"): Sym("n"), Sym("b"): Sym("c"), Sym("c"): Sym("b")}
    for dim, expected in [
        (a, n),
        (h, h),
        (3, 3),
        (2 * h, 2 * h),
        (2 * a + b * c * c, 2 * n + b * b * c),
        (a // b, n // c),
        (merge([a, h]), merge([n, h])),
    ]:
        assert dims.renamed(dim, names) == expected


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        (a + 1, b + 1, ("a", "b")),
        (a * c + c, b * c + c, ("a", "b")),
        (a // 2, b // 2, ("a", "b")),
        (a + 1, b + 2, None),
        (a + b, c, None),
        (a, b + c, None),
        (a, a, None),
        (3, a, None),
        (a, 3, None),
    ],
)
def test_which_name_stands_for_which(
    left: IntSize, right: IntSize, found: tuple[str, str] | None
) -> None:
    pair = dims.renaming(left, right)
    assert (None if pair is None else tuple(symbol.name for symbol in pair)) == found


@pytest.mark.parametrize(
    ("size", "exact"),
    [
        (h * (w // h), w),
        (w // h // 2 * 2 * h, w),
        (2 * (w // 2) + h * (c // h), w + c),
        (w // (h + a) * 2, w // (h + a) * 2),
        (h, h),
        (3, 3),
    ],
)
def test_divisions_taken_as_exact(size: IntSize, exact: IntSize) -> None:
    assert dims.as_exact(size) == exact


# Lower bounds -----------------------------------------------------------------------------------


@given(expressions("ab", 5))
@settings(max_examples=150, deadline=None)
def test_what_is_never_negative_isnt_for_any_numbers(expression: Expression) -> None:
    """Where what is divided by is 1 or more, as that of a sum needn't be."""
    size = symbolic(expression, "ab")
    if dims.nonnegative(size) and not re.search(r"//\(\w+-", str(size)):
        for env in ({"a": i, "b": j} for i in (1, 2, 3, 7) for j in (1, 2, 5, 8)):
            value = put_in(size, env)
            assert isinstance(value, int)
            assert value >= 0, (size, env)


NEVER_NEGATIVE: list[IntSize] = [
    0,
    a - 1,
    2 * a + b - 3,
    a * b - a,
    a * b - a - b + 1,
    a**2 - a,
    2**n,
    h // 2,
    h - h // 2,
    h // w,
    h - h // w,
    h // 2 // w,
    a * (h // 2),
    2 * h - 3 * (h // 2),
    extreme("min", [a, b]) - 1,
    extreme("max", [a, 3]) - 3,
    3 - extreme("min", [a, 3]),
    a - extreme("min", [a, 3]),
    exact_quotient(a, b) or -1,
    a - (exact_quotient(a, b) or 0),
]


@pytest.mark.parametrize("size", NEVER_NEGATIVE, ids=str)
def test_what_is_found_to_be_never_negative(size: IntSize) -> None:
    """And what is one less isn't, as far as it is least there."""
    assert dims.nonnegative(size)
    assert not dims.nonnegative(size - 1)
    assert not dims.nonnegative(-1 - size)


@pytest.mark.parametrize(
    "size",
    [
        -a // b,
        -(-a // b) - a,
        (h // w - 3) // 2,
        (a - 3) // b,
        3 - h // w,
        (exact_quotient(a, b) or 0) - 2,
        (a - 5) * (h // 2),
        a * b - 3 * a,
    ],
    ids=str,
)
def test_what_may_be_negative(size: IntSize) -> None:
    assert not dims.nonnegative(size)
    assert any(
        put_in(size, dict(zip("abhw", env, strict=True))) < 0  # type: ignore[operator]
        for env in itertools.product((1, 2, 4), repeat=4)
        if env[0] % env[1] == 0
    )


def test_a_quotient_rounded_up_is_no_more_than_what_is_divided() -> None:
    assert dims.nonnegative(a + (-a // b))
    assert dims.nonnegative(-(-a // b))


def test_an_unknown_may_be_negative() -> None:
    """But for one of which it is told that it is a size; that may be 0."""
    u = unknown("u")
    free = u.symbols()
    for size in (u, u * a, a - 1 + u, u * u):
        assert not dims.nonnegative(size)
        assert dims.nonnegative(size, free)
        assert not dims.nonnegative(size - 1, free)
    assert not dims.nonnegative(-u, free)


# Printing ---------------------------------------------------------------------------------------

PRINTED: list[tuple[IntSize, str]] = [
    (h - 1, "h-1"),
    (1 - h, "1-h"),
    (-h - 1, "-h-1"),
    (2 * h, "2*h"),
    (h + w - 1, "h+w-1"),
    (h - w + 1, "h-w+1"),
    (b * h * w, "b*h*w"),
    (h**2 - 1, "h**2-1"),
    (h // 2, "h//2"),
    (-(h // 2), "-(h//2)"),
    (h // 2 * 3, "3*(h//2)"),
    (h // 2 * w, "w*(h//2)"),
    ((h // 2) * (w // 2), "(h//2)*(w//2)"),
    (h // 2 + 1, "h//2+1"),
    (h + h // 2, "3*h//2"),
    (h - h // 2, "h-h//2"),
    ((h - 1) // 2 + 1, "(h+1)//2"),
    ((h - 3) // 2 + 1, "(h-1)//2"),
    ((h + 2 * n - 3) // 2 + 1, "n+(h-1)//2"),
    (-(-h // 4), "-(-h//4)"),
    (8 * h // 3, "8*h//3"),
    (h % 2, "h%2"),
    (h + h % 2, "h+h%2"),
    (h + (-h) % 8, "-8*(-h//8)"),
    (2 * h // 3, "2*h//3"),
    (h * w // 3, "h*w//3"),
    ((h - w) // n, "(h-w)//n"),
    (h // (2 * n), "h//(2*n)"),
    (-(-h // n), "-(-h//n)"),
    (exact_quotient(c, h) or 0, "c//h"),
    (exact_quotient(c, h * w) or 0, "c//(h*w)"),
    (exact_quotient(2 * c, 3) or 0, "2*c//3"),
    (2**n, "2**n"),
    (3 * 2**n, "3*2**n"),
    (2 ** (n * m), "2**(m*n)"),
    ((h + w) ** n, "(h+w)**n"),
    (extreme("min", [5, h, w + 1]), "min(h,w+1,5)"),
    (d_model * 4, "4*<d_model>"),
]


@pytest.mark.parametrize(("size", "text"), PRINTED, ids=[text for _, text in PRINTED])
def test_printing(size: IntSize, text: str) -> None:
    """Sizes read as a person would write them."""
    assert str(size) == text


# Identity ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_the_same_dimension(duplicate: Callable[[Any], Any]) -> None:
    """Copying and pickling keep a symbol's identity, an unknown one's included."""
    fresh = Sym.fresh("u")
    for symbol in (
        Sym("a"),
        Sym("d", dims.Kind.OWN),
        Sym("v", size=3),
        Sym("a", origin=F),
        fresh,
    ):
        assert duplicate(symbol) is symbol
        assert duplicate([symbol])[0] is symbol
    sizes: list[Any] = [
        a + 1,
        Size.of(fresh) * 2,
        h // 2,
        2**n,
        extreme("min", [a, b]),
        merge([a, b]),
    ]
    for size in sizes:
        assert duplicate(size) == size
        assert hash(duplicate(size)) == hash(size)
    assert duplicate({a: 1})[a] == 1


def test_symbols_are_told_apart_by_origin_kind_and_size() -> None:
    """Names that are spelled alike are the same only where their origin is."""
    assert Sym("n") is Sym("n")
    distinct = [
        Sym("n"),
        Sym("n", origin=F),
        Sym("n", size=3),
        Sym("n", dims.Kind.OWN),
    ]
    distinct += [Sym.fresh("n"), Sym.fresh("n")]
    assert len(set(distinct)) == len(distinct)
    assert unknown("n") != unknown("n")
    assert compare(name("n", F), name("n", G)).relation is Relation.DIFFERENT


def test_substitution_is_simultaneous() -> None:
    """Swapping two names swaps them, also inside of other atoms."""
    swap: dict[Atom, IntSize] = {Sym("a"): b, Sym("b"): a}
    assert substitute(a - 2 * b, swap) == b - 2 * a
    assert substitute(a // b, swap) == b // a
    assert substitute(extreme("min", [a, 3]), swap) == extreme("min", [b, 3])
    assert substitute(power(2, a), swap) == 2**b
    assert substitute(c, swap) is c


def test_an_atom_that_is_known_is_put_in() -> None:
    """A floor that was learned to be exact is replaced as a whole."""
    floor = (h // 2).atom if isinstance(h // 2, Size) else None
    assert floor is not None
    assert substitute(2 * (h // 2) + 1, {floor: w}) == 2 * w + 1


# Bounds -----------------------------------------------------------------------------------------


def _product(count: int) -> IntSize:
    return dims.product(name(f"n{i}") + 1 for i in range(count))


def _nested(step: Callable[[IntSize, int], IntSize]) -> IntSize:
    size: IntSize = name("a")
    for index in range(100):
        size = step(size, index)
    return size


def test_a_product_is_divided_by_one_of_its_factors() -> None:
    assert _product(8) // (name("n3") + 1) == dims.product(
        name(f"n{i}") + 1 for i in range(8) if i != 3
    )


def test_of_a_product_of_too_many_sums_nothing_is_said() -> None:
    """But nothing wrong either, and everything done with it ends."""
    for count in (9, 13, 40):
        long = _product(count)
        assert isinstance(long, Size)
        assert len(long.terms) <= 256
        assert compare(long, _product(count)).relation is Relation.POSSIBLE
        assert compare(long // (name("n3") + 1), name("n0")).relation is Relation.POSSIBLE


@pytest.mark.parametrize(
    "step",
    [
        lambda size, i: size * size,
        lambda size, i: size * size + i,
        lambda size, i: size + size // 2,
        lambda size, i: size // 2 + size // 3,
        lambda size, i: (size * 3 + 1) % (name("b") + i),
        lambda size, i: (size + name(f"n{i}")) // (name(f"n{i}") + 1),
        lambda size, i: extreme("min" if i % 2 else "max", (size, name(f"n{i}") + i, own("b"))),
        lambda size, i: size * extreme("max", (name(f"n{i}"), own(f"o{i}"), i)),
        lambda size, i: 2**size,
        lambda size, i: size**size,
        lambda size, i: (size + name(f"n{i}")) ** 8,
    ],
)
def test_sizes_that_are_made_of_themselves(step: Callable[[IntSize, int], IntSize]) -> None:
    """Nothing that is asked of them goes on for ever, whatever they are made by."""
    size = _nested(step)
    assert isinstance(size, Size)
    assert len(str(size)) < 10_000
    assert compare(size, size).relation is Relation.SAME
    assert compare(size, -7) is not None
    assert compare(size, own("c") + 1) is not None
    assert dims.nonnegative(-1 - size) is False
    assert substitute(size, {Sym("a"): 5}) is not None


def test_what_is_halved_over_and_over_is_written_with_unknowns_in_it() -> None:
    """As the length is in an encoder of strided convolutions: each floor can be written in ways."""
    size, kernel = dims.unknown(), own("k")
    for _ in range(11):
        size = (size + 2 * (kernel // 2) - kernel) // 2 + 1
    assert str(size) == "((<k>+_)//2+2047*((<k>+2)//2))//2//2//2//2//2//2//2//2//2//2-<k>"


def test_the_text_of_a_size_has_the_names_that_its_unknowns_get() -> None:
    size = dims.unknown()
    assert str(size // 2 + 1) == "_//2+1"
    for symbol in size.symbols():
        symbol.label("n")
    assert str(size // 2 + 1) == "n//2+1"


def test_numbers_are_worked_out_up_to_a_length() -> None:
    assert name("n") * 2**100 // 2**100 == name("n")
    assert dims.measured(2**100) == 2**100
    for long in (dims.measured(2**10_000), name("n") * 2**10_000, dims.product([2**400] * 20)):
        assert isinstance(long, Size)
        assert compare(long, 3).relation is Relation.POSSIBLE
    assert str(power(3, 10**9)) == "3**1000000000"
    assert str(power(2, n + 1000)) == "2**(n+1000)"
    assert power(2, exact_quotient(n, 2) or 0) * 3 // 3 == power(2, exact_quotient(n, 2) or 0)


def test_powers_of_long_sums_stay_powers() -> None:
    long = sum((name(f"n{i}") for i in range(20)), start=name("a"))
    assert str(long**8).endswith(")**8")
    assert len((long**2).terms) == 21 * 22 // 2


@pytest.mark.parametrize("exponent", range(2, 9))
def test_powers_of_sums_are_multiplied_out_up_to_a_number_of_terms(exponent: int) -> None:
    names = [name(f"n{i}") for i in range(24)]
    for count in range(2, 24):
        terms = comb(count + exponent - 1, exponent)
        total = sum(names[1:count], start=names[0])
        assert len((total**exponent).terms) == (terms if terms <= 256 else 1)


def test_a_part_of_what_may_be_less_than_that_may_be_nothing() -> None:
    """As `a//2` may be, and what is divided again."""
    for part in (b * (a // 2) // 3, (b * (a // 2) + b) // 3, (a // b + b) // 3):
        assert dims.nonnegative(part)
        assert not dims.nonnegative(part - 1)


def test_roots_of_numbers_are_looked_for_up_to_a_number() -> None:
    for number, root in ((2**24, 4096), (49, 7)):
        assert compare(a**2, number).learn == (a.symbol, root)
        assert compare(a**2, number - 1).relation is Relation.DIFFERENT
    assert compare(a**2, 2**24 + 1).relation is Relation.POSSIBLE
    assert compare(a**2, 4097**2).learn is None


def test_how_deep_sizes_nest() -> None:
    """One that is longer to read is taken for any size."""
    sizes = list(itertools.accumulate(range(60), lambda size, _: power(2, size), initial=n))
    assert [dims.symbols(size) == dims.symbols(n) for size in sizes] == [True] * 43 + [False] * 18


@pytest.mark.parametrize("whole", [a, a * c, d_model], ids=str)
@pytest.mark.parametrize("by", [b, 2, 3, d_ff], ids=str)
def test_what_fits_into_a_size_isnt_more_than_that(whole: Size, by: IntSize) -> None:
    """`n*(d//n)` may be `d`, and twice that is more, or nothing."""
    assert compare(whole, by * (whole // by)).relation is Relation.POSSIBLE
    for count in (2, 3):
        verdict = compare(whole, count * by * (whole // by))
        assert (verdict.relation, verdict.own) == (Relation.DIFFERENT, False)


def test_a_symbol_like_a_pickled_one_is_another() -> None:
    first = Sym.fresh("u")
    pickle.dumps(first)
    second = first.again()
    found = pickle.loads(pickle.dumps((first, second, first.again())))
    assert found[:2] == (first, second)
    assert len({*found}) == 3


def test_axes_of_one_result_stay_apart_where_it_is_another_one() -> None:
    """A call that gives `x - mean` gives the next time as many axes, which are as different."""
    row = Sym.untold("x").of_result()
    rest, other = row.again(), Sym.fresh()
    assert row.origin.owner == rest.origin.owner != Sym.untold("x").origin.owner
    moved, moved_rest = (one.following(lambda symbol: other) for one in (row, rest))
    assert moved is not moved_rest
    assert moved.origin.owner == moved_rest.origin.owner == Untold(other)


def test_a_symbol_that_nobody_has_goes_at_once() -> None:
    symbol = Sym.fresh("n")
    gone = weakref.ref(symbol)
    assert (Size.of(symbol) + 1) * Size.of(symbol) != 0
    gc.collect()
    gc.disable()
    try:
        del symbol
        dims.forget()
        assert gone() is None
    finally:
        gc.enable()
