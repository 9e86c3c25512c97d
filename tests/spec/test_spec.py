"""The annotation language: what it reads, what it writes back, and what it says of the rest."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import jaxtyping
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shapecheck.spec import (
    Axis,
    Binary,
    Braces,
    Call,
    Entry,
    Expr,
    Group,
    Merge,
    Name,
    Negate,
    Number,
    Spec,
    SpecError,
    Wild,
    bare_names,
    composed_names,
    parse,
    parse_pattern,
)

a, b, c, d, h, w, n = map(Name, "abcdhwn")


def entry(text: str) -> Entry:
    (only,) = parse(text).entries
    return only


def expr(text: str) -> Expr:
    axis = entry(text)
    assert isinstance(axis, Axis)
    return axis.expr


# Reading ----------------------------------------------------------------------------------------

FORMS: list[tuple[str, list[Entry]]] = [
    ("", []),
    ("   ", []),
    ("b", [Axis(b)]),
    (" b  c ", [Axis(b), Axis(c)]),
    ("b\tc\nd", [Axis(b), Axis(c), Axis(d)]),
    ("b B", [Axis(b), Axis(Name("B"))]),
    ("3", [Axis(Number(3))]),
    ("007", [Axis(Number(7))]),
    ("höhe d_model h2", [Axis(Name("höhe")), Axis(Name("d_model")), Axis(Name("h2"))]),
    ("rgb=3", [Axis(Number(3), label="rgb")]),
    ("height=_", [Axis(Wild(), label="height")]),
    ("rows=2*h", [Axis(Binary("*", Number(2), h), label="rows")]),
    ("rest=...", [Group(None, label="rest")]),
    ("rest=*b", [Group("b", label="rest")]),
    ("size={n}", [Axis(Braces("n"), label="size")]),
    ("_", [Axis(Wild())]),
    ("_b", [Axis(Wild("_b"))]),
    ("__", [Axis(Wild("__"))]),
    ("...", [Group(None)]),
    ("b ... c", [Axis(b), Group(None), Axis(c)]),
    ("*batch", [Group("batch")]),
    ("*a *b", [Group("a"), Group("b")]),
    ("b +batch", [Axis(b), Group("batch", filled=True)]),
    ("+#batch", [Group("batch", broadcast=True, filled=True)]),
    ("+_rest", [Group("_rest", filled=True)]),
    ("*", [Group("")]),
    ("* d", [Group(""), Axis(d)]),
    ("b * d", [Axis(b), Group(""), Axis(d)]),
    ("#*", [Group("", broadcast=True)]),
    ("rest=*", [Group("", label="rest")]),
    ("*_", [Group("_")]),
    ("_*", [Group("_")]),
    ("_*rest", [Group("_rest")]),
    ("_?b", [Axis(Wild("_b"), leaf=True)]),
    ("_rest=*b", [Group("_b", label="_rest")]),
    ("_rows=n", [Axis(Wild("_n"), label="_rows")]),
    ("1_000", [Axis(Number(1000))]),
    ("*_rest", [Group("_rest")]),
    ("#b", [Axis(b, broadcast=True)]),
    ("#3", [Axis(Number(3), broadcast=True)]),
    ("#h//2", [Axis(Binary("//", h, Number(2)), broadcast=True)]),
    ("*#b", [Group("b", broadcast=True)]),
    ("#*b", [Group("b", broadcast=True)]),
    ("?b", [Axis(b, leaf=True)]),
    ("?#b", [Axis(b, broadcast=True, leaf=True)]),
    ("#?b", [Axis(b, broadcast=True, leaf=True)]),
    ("*?b", [Group("b", leaf=True)]),
    ("#*?b", [Group("b", broadcast=True, leaf=True)]),
    ("#rgb=3", [Axis(Number(3), broadcast=True, label="rgb")]),
    ("rgb=#3", [Axis(Number(3), broadcast=True, label="rgb")]),
    ("{self.d_model}", [Axis(Braces("self.d_model"))]),
    ("{ n }", [Axis(Braces("n"))]),
    ("{len(xs)} b", [Axis(Braces("len(xs)")), Axis(b)]),
    ("{sizes['a b']}", [Axis(Braces("sizes['a b']"))]),
    ("{sizes['}']}", [Axis(Braces("sizes['}']"))]),
    (r"{sizes['\'}']}", [Axis(Braces(r"sizes['\'}']"))]),
    ("{{1: 2}[1]}", [Axis(Braces("{1: 2}[1]"))]),
    ("{x if x else 1}", [Axis(Braces("x if x else 1"))]),
    ("2*{n}+1", [Axis(Binary("+", Binary("*", Number(2), Braces("n")), Number(1)))]),
    ("(h d)", [Axis(Merge((Axis(h), Axis(d))))]),
    ("(h  d )", [Axis(Merge((Axis(h), Axis(d))))]),
    ("(h 2)", [Axis(Merge((Axis(h), Axis(Number(2)))))]),
    ("(h//2 d)", [Axis(Merge((Axis(Binary("//", h, Number(2))), Axis(d))))]),
    ("((a b) c)", [Axis(Merge((Axis(Merge((Axis(a), Axis(b)))), Axis(c))))]),
    ("(h ...)", [Axis(Merge((Axis(h), Group(None))))]),
    ("(*b)", [Axis(Merge((Group("b"),)))]),
    ("()", [Axis(Merge(()))]),
    ("#(h d)", [Axis(Merge((Axis(h), Axis(d))), broadcast=True)]),
    ("(h)", [Axis(h)]),
    ("(h+w)", [Axis(Binary("+", h, w))]),
    ("min=3", [Axis(Number(3), label="min")]),
    ("max", [Axis(Name("max"))]),
]


@pytest.mark.parametrize(("text", "entries"), FORMS, ids=[repr(text) for text, _ in FORMS])
def test_form(text: str, entries: list[Entry]) -> None:
    """Every form of the language, and that it is written back as it was meant."""
    assert parse(text) == Spec(tuple(entries))
    assert parse(str(parse(text))) == parse(text)


ARITHMETIC: list[tuple[str, Expr]] = [
    ("h-1", Binary("-", h, Number(1))),
    ("h-w-n", Binary("-", Binary("-", h, w), n)),
    ("h-(w-n)", Binary("-", h, Binary("-", w, n))),
    ("h+w*n", Binary("+", h, Binary("*", w, n))),
    ("(h+w)*n", Binary("*", Binary("+", h, w), n)),
    ("h//2//n", Binary("//", Binary("//", h, Number(2)), n)),
    ("h%2*n", Binary("*", Binary("%", h, Number(2)), n)),
    ("2**n", Binary("**", Number(2), n)),
    ("2**h**n", Binary("**", Number(2), Binary("**", h, n))),
    ("(2**h)**n", Binary("**", Binary("**", Number(2), h), n)),
    ("-2**n+h", Binary("+", Negate(Binary("**", Number(2), n)), h)),
    ("-1+h", Binary("+", Negate(Number(1)), h)),
    ("2**-n", Binary("**", Number(2), Negate(n))),
    ("-(-h//2)", Negate(Binary("//", Negate(h), Number(2)))),
    ("h--w", Binary("-", h, Negate(w))),
    ("(-h)**2", Binary("**", Negate(h), Number(2))),
    ("(-h)*2", Binary("*", Negate(h), Number(2))),
    ("min(a,b)", Call("min", (a, b))),
    ("min(a, b)", Call("min", (a, b))),
    ("max( a , b+1,3 )", Call("max", (a, Binary("+", b, Number(1)), Number(3)))),
    ("max(min(a,b),(c))-1", Binary("-", Call("max", (Call("min", (a, b)), c)), Number(1))),
]


@pytest.mark.parametrize(("text", "meaning"), ARITHMETIC, ids=[text for text, _ in ARITHMETIC])
def test_arithmetic_binds_as_in_python(text: str, meaning: Expr) -> None:
    """Precedence and associativity are Python's."""
    assert expr(text) == meaning
    assert expr(str(meaning)) == meaning


def test_what_a_spec_tells() -> None:
    """The names in a spec, in order, and how many groups it has."""
    spec = parse("*batch h//2 (heads d) #w _x {n} min(a,b) *_ ... -(-h//2) 3")
    assert list(spec.names()) == ["batch", "h", "heads", "d", "w", "a", "b", "h"]
    assert spec.groups == 3
    assert parse("a b").groups == 0
    (anonymous, named) = parse("... *x").entries
    assert isinstance(anonymous, Group)
    assert isinstance(named, Group)
    assert anonymous.anonymous
    assert not named.anonymous
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert len({spec, parse(str(spec))}) == 1


def test_names_by_themselves_and_in_others() -> None:
    """Which of the names in a spec are a dimension or a group, and which are a part of one."""
    spec = parse("*batch h//2 (heads *d) #w {n} ... w 3")
    assert list(bare_names(spec)) == ["batch", "w", "w"]
    assert list(composed_names(spec)) == ["h", "heads", "d"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("#*", "#*"),
        ("rest=*", "rest=*"),
        ("*?#b", "*#?b"),
        ("rgb=#3", "rgb=#3"),
        ("+#batch", "+#batch"),
        ("(h  d )", "(h d)"),
        ("((a+b))*c", "(a+b)*c"),
        ("-(a+b)", "-(a+b)"),
        ("a-(b-c)", "a-(b-c)"),
        ("(a**b)**c", "(a**b)**c"),
        ("max( a , b+1,3 )", "max(a,b+1,3)"),
        ("{ n }", "{n}"),
    ],
)
def test_how_it_is_written(text: str, written: str) -> None:
    """In messages: without what says nothing."""
    assert str(parse(text)) == written


def test_how_many_dimensions_there_are_at_least() -> None:
    assert [parse(text).least for text in ("", "b 3", "*b d", "+b d", "...")] == [0, 2, 1, 2, 0]


def test_a_dimension_has_so_many_operators() -> None:
    """As many in each dimension; brackets stand so deep in each other."""
    long, longer = "a" + "+a" * 64, "a" + "+a" * 65
    assert parse(f"{long} {long}").names()
    with pytest.raises(SpecError) as caught:
        parse(longer)
    assert caught.value.reason == "a dimension has up to 64 operators"
    assert (caught.value.start, caught.value.end) == (129, 130)


# Patterns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "inputs", "output"),
    [
        ("b c -> c b", ["b c"], "c b"),
        ("b (h w) c->b h w c", ["b (h w) c"], "b h w c"),
        ("b c", ["b c"], None),
        ("b i, i j -> b j", ["b i", "i j"], "b j"),
        ("... i, j -> ... (i j)", ["... i", "j"], "... (i j)"),
        ("-> 1", [""], "1"),
        ("b c ->", ["b c"], ""),
        ("b () c -> b c", ["b () c"], "b c"),
        ("(a b c)->()", ["(a b c)"], "()"),
        ("b(h w)c->(b c)(h w) ", ["b (h w) c"], "(b c) (h w)"),
        ("b ... d -> b (...)d", ["b ... d"], "b (...) d"),
    ],
)
def test_patterns(text: str, inputs: list[str], output: str | None) -> None:
    """An einops pattern is the specs of its inputs and of its output."""
    found = parse_pattern(text)
    assert found == (
        tuple(parse(part) for part in inputs),
        None if output is None else parse(output),
    )


def test_a_bad_pattern_points_at_its_token() -> None:
    """Positions count from the start of the whole pattern."""
    with pytest.raises(SpecError) as caught:
        parse_pattern("b c -> c -> b")
    assert caught.value.reason == "a pattern has one '->'"
    assert (caught.value.start, caught.value.end) == (9, 11)
    with pytest.raises(SpecError) as caught:
        parse_pattern("b c, c d -> b d]")
    error = caught.value
    assert error.text[error.start : error.end] == "]"


# Writing ----------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "h", "d_model", "B", "min", "x1", "ö"])
anonymous_names = st.sampled_from(["_", "_b", "__"])
sources = st.sampled_from(
    ["n", "self.d_model", "len(xs)", "s['}']", "{1: 2}[1]", "a + b", "x.shape[0]"]
)


def negative(expr: Expr) -> bool:
    return isinstance(expr, Negate) and isinstance(expr.operand, Number)


def compound(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    divisors = inner.filter(lambda e: e != Number(0))
    return st.one_of(
        st.builds(Binary, st.sampled_from(["+", "-", "*", "**"]), inner, inner),
        st.builds(Binary, st.sampled_from(["//", "%"]), inner, divisors),
        st.builds(Negate, inner),
        st.builds(
            Call,
            st.sampled_from(["min", "max"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        ),
    )


leaves: st.SearchStrategy[Expr] = st.one_of(
    st.builds(Number, st.integers(0, 10**18 - 1)),
    st.builds(Name, names),
    st.builds(Braces, sources),
)
scalars = st.recursive(leaves, compound, max_leaves=8)
positive = scalars.filter(lambda e: not negative(e))
plain_groups: st.SearchStrategy[Entry] = st.builds(
    Group, st.one_of(st.none(), names, anonymous_names)
)


def merges(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    parts = st.lists(st.one_of(st.builds(Axis, inner), plain_groups), max_size=3)
    several = parts.filter(lambda found: len(found) != 1 or isinstance(found[0], Group))
    return st.builds(Merge, several.map(tuple))


wilds = st.builds(Wild, anonymous_names)
whole: st.SearchStrategy[Expr] = st.one_of(
    positive, wilds, st.recursive(st.one_of(positive, wilds), merges, max_leaves=4)
)
labels = st.one_of(st.none(), names)
axes = st.one_of(
    st.builds(Axis, whole.filter(lambda e: not isinstance(e, Wild)), st.booleans(), label=labels),
    st.builds(Axis, wilds, leaf=st.booleans(), label=labels),
    st.builds(Axis, st.builds(Name, names), st.booleans(), st.booleans(), labels),
)
groups = st.one_of(
    st.builds(Group, st.none(), label=labels),
    st.builds(Group, anonymous_names, leaf=st.booleans(), label=labels, filled=st.booleans()),
    st.builds(Group, names, st.booleans(), st.booleans(), labels, st.booleans()),
)
specs = st.builds(Spec, st.lists(st.one_of(axes, groups), max_size=5).map(tuple))


@given(specs)
@settings(max_examples=300, deadline=None)
def test_what_is_written_is_read_again(spec: Spec) -> None:
    """`parse(str(spec)) == spec` for every spec."""
    assert parse(str(spec)) == spec


@given(st.text(st.sampled_from("ab_1 2+-*/%#?={}()[].,>'\"mi\n\\ax"), max_size=14))
@settings(max_examples=600, deadline=None)
@example("(" * 9000)
@example("(" * 9000 + "a" + ")" * 9000)
@example("{" * 9000 + "}" * 9000)
@example("-" * 9000 + "a")
@example("a" + "**a" * 9000)
@example("\0")
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever is written: it parses and stays what it is, or a `SpecError` names a token in it."""
    for read in (parse, parse_pattern):
        found, error = attempt(read, text)
        if isinstance(found, Spec):
            assert parse(str(found)) == found
        if error is not None:
            assert error.reason
            assert 0 <= error.start < error.end
            assert error.start <= len(text)


def attempt(read: Callable[[str], object], text: str) -> tuple[object, SpecError | None]:
    try:
        return read(text), None
    except SpecError as error:
        return None, error


# Errors -----------------------------------------------------------------------------------------

ALLOWED = (
    "isn't part of the language; allowed are names, integers, '+ - * // % **', 'min(a,b)', "
    "'max(a,b)', '(a b)', '{expression}', '*name', '+name', '#name', '_' and '...'"
)
MALFORMED: list[tuple[str, str, str]] = [
    ("b, c", ",", "dimensions are separated by spaces, not commas"),
    ("[b]", "[", "names need no brackets around them"),
    ("b]", "]", "names need no brackets around them"),
    ("(b", "(", "'(' is never closed"),
    ("b)", ")", "')' without '('"),
    ("{b", "{", "'{' is never closed"),
    ("b}", "}", "'}' without '{'"),
    ("{}", "{}", "'{}' needs a Python expression in it"),
    ("{1+}", "{1+}", "'1+' isn't a Python expression"),
    ("{a b}", "{a b}", "'a b' isn't a Python expression"),
    ("h + w", "+", "'+' needs a size before it; arithmetic is written without spaces: 'h+w'"),
    ("h +2", "+", "'+' needs a size before it; arithmetic is written without spaces: 'h+w'"),
    ("h +", "+", "'+' needs a size before it; arithmetic is written without spaces: 'h+w'"),
    ("h +w*2", "+", "'+' needs a size before it; arithmetic is written without spaces: 'h+w'"),
    ("h -1", "-1", "a size can't be negative; arithmetic is written without spaces: 'h-1'"),
    ("h - 1", "-", "'-' needs a size after it; arithmetic is written without spaces: 'h-w'"),
    ("(h * w)", "*", "'*' needs a name after it; arithmetic is written without spaces: 'h*w'"),
    ("h*", "*", "'*' needs a size after it; arithmetic is written without spaces: 'h*w'"),
    ("h//0", "0", "no size can be divided by 0"),
    ("h%0", "0", "no size can be divided by 0"),
    ("h/2", "/", "sizes are integers: use '//' for division"),
    ("2h", "2h", "a name can't begin with a digit; write '2*h' for a product"),
    ("1.5", "1.5", "a size is an integer"),
    ("h**", "**", "'**' needs a size after it; arithmetic is written without spaces: 'h**w'"),
    ("*h//2", "*h//2", "'*' takes one name, such as '*batch'"),
    ("*3", "*3", "'*' takes one name, such as '*batch'"),
    ("*(a b)", "*(a b)", "'*' takes one name, such as '*batch'"),
    ("#_*", "#_*", "'#' needs a name: an anonymous group is never checked"),
    ("_*#b", "_*#b", "'#' needs a name: an anonymous group is never checked"),
    ("#", "#", "'#' needs a name after it"),
    ("?", "?", "'?' needs a name after it"),
    ("**b", "**b", "'*' takes one name, such as '*batch'"),
    ("##b", "#", "'#' stands before the whole dimension, once: '#b'"),
    ("??b", "?", "'?' stands before the whole dimension, once: '?b'"),
    ("#_", "#_", "'#' needs a name or a size: '_' is never checked"),
    ("*#_b", "*#_b", "'#' needs a name: an anonymous group is never checked"),
    ("#...", "#...", "'...' takes no '*', '#' or '?'"),
    ("*...", "*...", "'...' takes no '*', '#' or '?'"),
    ("...b", "...b", "'...' stands alone; put a space after it"),
    ("b...", "...", "'...' stands alone; put a space before it"),
    ("b=", "b=", "'b=' needs a size after it"),
    ("=3", "=", "a name is missing before '='"),
    ("3=b", "=", "'=' takes a plain name on its left, and one size on its right: 'name=size'"),
    ("a==b", "=b", "one '=' is enough: 'name=size'"),
    ("a=b=c", "b=c", "one '=' is enough: 'name=size'"),
    ("a=", "a=", "'a=' needs a size after it"),
    ("_*2", "_*2", "'*' takes one name, such as '*batch'"),
    ("h+_b", "_b", "'_' takes no arithmetic: it is never checked"),
    (
        "(h d)*2",
        "(h d)",
        "an ordered composite '(a b)' takes no arithmetic; use 'a*b' for its size",
    ),
    (
        "2*(h d)",
        "(h d)",
        "an ordered composite '(a b)' takes no arithmetic; use 'a*b' for its size",
    ),
    ("-(h d)", "(h d)", "an ordered composite '(a b)' takes no arithmetic; use 'a*b' for its size"),
    ("min(a)", "min(a)", "min() needs two sizes or more: 'min(a,b)'"),
    ("min(a b)", "a b", "the sizes in min() are separated by commas"),
    ("min(a,)", "min(a,)", "min() needs two sizes or more: 'min(a,b)'"),
    ("min(,a)", "min(,a)", "min() needs two sizes or more: 'min(a,b)'"),
    ("min()", "min()", "min() needs two sizes or more: 'min(a,b)'"),
    ("min(a,b", "(", "'(' is never closed"),
    (
        "max(a,(b c))",
        "(b c)",
        "an ordered composite '(a b)' takes no arithmetic; use 'a*b' for its size",
    ),
    (
        "len(x)",
        "len(x)",
        "'len(...)' isn't known; use min, max, or '{len(...)}' for a Python expression",
    ),
    (
        "relu(x)(y)",
        "relu(x)",
        "'relu(...)' isn't known; use min, max, or '{relu(...)}' for a Python expression",
    ),
    (
        "self.d",
        ".",
        "write '...' for any number of dimensions, or '{...}' around a Python expression",
    ),
    ("x[0]", "[", "an index needs braces around the Python expression, such as '{sizes[0]}'"),
    ("b:int", ":", "a dimension has no type; write names separated by spaces"),
    ("b;c", ";", "dimensions are separated by spaces, not semicolons"),
    ("b|c", "|", "alternatives aren't part of a shape; write a union of two annotations"),
    ("b->c", "->", "'->' belongs into einops patterns; an annotation describes one tensor"),
    ("h^2", "^", "use '**' for powers"),
    ("h@w", "@", "'@' isn't arithmetic on sizes; use '*' for products"),
    ("'b'", "'", "names need no quotes"),
    ('"b"', '"', "names need no quotes"),
    ("<d>", "<", "write a name, or '{...}' around a Python expression"),
    ("h<3", "<", "a condition isn't part of a shape; check it in the body"),
    ("dim{i}", "{", "'{...}' is a whole size; an operator or a space is missing before it"),
    ("{i}dim", "dim", "an operator or a space is missing before 'dim'"),
    ("{a}{b}", "{", "'{...}' is a whole size; an operator or a space is missing before it"),
    ("-1", "-1", "a size can't be negative; arithmetic is written without spaces: 'h-1'"),
    ("(#b c)", "(#b c)", "'#', '?' and '=' stand before the parenthesis"),
    ("(b rgb=3)", "(b rgb=3)", "'#', '?' and '=' stand before the parenthesis"),
    ("(?b c)", "(?b c)", "'#', '?' and '=' stand before the parenthesis"),
    ("(b -1)", "(b -1)", "a size can't be negative; arithmetic is written without spaces: 'h-1'"),
    ("?h+1", "?h+1", "'?' takes one name, such as '?b'"),
    ("?3", "?3", "'?' takes one name, such as '?b'"),
    ("h!", "!", f"'!' {ALLOWED}"),
    ("b#", "#", "'#' stands before the whole dimension, once: '#b'"),
    ("b?", "?", "'?' stands before the whole dimension, once: '?b'"),
    ("b*", "*", "'*' needs a size after it; arithmetic is written without spaces: 'h*w'"),
    (
        "999999999999999999999999999999",
        "999999999999999999999999999999",
        "no dimension is that large; a size has up to 18 digits",
    ),
    ("3(h)", "(", "an operator or a space is missing before '('"),
    ("(a)(b)", "(", "an operator or a space is missing before '('"),
    ("..", ".", "write '...' for any number of dimensions, or '{...}' around a Python expression"),
    ("....", "....", "'...' stands alone; put a space after it"),
    (
        "a..b",
        ".",
        "write '...' for any number of dimensions, or '{...}' around a Python expression",
    ),
    ("{x!r}", "{x!r}", "'x!r' isn't a Python expression"),
    ("{'a}", "{", "'{' is never closed"),
    ("h&w", "&", f"'&' {ALLOWED}"),
    ("h+", "+", "'+' needs a size after it; arithmetic is written without spaces: 'h+w'"),
    ("+2", "+", "'+' needs a size before it; arithmetic is written without spaces: 'h+w'"),
    ("h-*w", "*", "'*' needs a size before it; arithmetic is written without spaces: 'h*w'"),
    ("(h + w)", "+", "'+' needs a size before it; arithmetic is written without spaces: 'h+w'"),
    ("min(a, b c)", "b c", "the sizes in min() are separated by commas"),
    ("min(a,b)c", "c", "an operator or a space is missing before 'c'"),
    ("...=3", "...=3", "'...' stands alone; put a space after it"),
    ("#3.0", "3.0", "a size is an integer"),
    ("b  ,c", ",", "a size is missing before ','; dimensions are separated by spaces, not commas"),
    ("()*2", "()", "an ordered composite '(a b)' takes no arithmetic; use 'a*b' for its size"),
]


@pytest.mark.parametrize(("text", "token", "reason"), MALFORMED, ids=[row[0] for row in MALFORMED])
def test_malformed(text: str, token: str, reason: str) -> None:
    """Each mistake is said for what it is, and the token at fault is marked."""
    with pytest.raises(SpecError) as caught:
        parse(text)
    error = caught.value
    assert error.reason == reason
    assert error.text[error.start : error.end] == token
    assert str(error) == f'in "{text}": {reason}'


def test_a_nested_mistake_is_marked_where_it_stands() -> None:
    """Offsets count from the start of the whole text."""
    with pytest.raises(SpecError) as caught:
        parse("b (h w) (d min(n,2k))")
    error = caught.value
    assert error.text[error.start : error.end] == "2k"
    assert error.start == 17


# jaxtyping --------------------------------------------------------------------------------------

# jaxtyping accepts some texts that we refuse: a lone '?' or '#' (a dimension whose name is empty),
# signed sizes, any Python expression without braces, and a name made from a value ('dim{i}').
JAXTYPING_ONLY = ["?", "-1", "+3", "h/2", "h@w", "len(x)", "x.n", "dim{i}"]


def jaxtyping_reads(text: str) -> bool:
    try:
        jaxtyping.Float[torch.Tensor, text]
    except ValueError:
        return False
    return True


def we_read(text: str) -> bool:
    try:
        parse(text)
    except SpecError:
        return False
    return True


marks = st.lists(st.sampled_from("*#?"), max_size=3, unique=True).map("".join)
words = st.sampled_from(["a", "b", "h", "_", "_x", "_*x", "_?x", "d_model"])
sums = st.sampled_from(
    ["a-1", "2*a", "a//2", "a+b-1", "a*b", "2**a", "-(-a//2)", "min(a,b)", "{n}", "a%2"]
)
jaxtyping_entries = st.one_of(
    st.builds(str.__add__, marks, words),
    st.integers(0, 99).map(str),
    st.builds(
        lambda name, size: f"{name}={size}",
        words,
        st.sampled_from(["3", "1_000", "b", "_", "a-1", "*", "*b"]),
    ),
    st.sampled_from(["*", "#*", "*?", "_*"]),
    st.builds(lambda mark, size: f"{mark}{size}", st.sampled_from(["", "#"]), sums),
    st.just("..."),
)


@given(st.lists(jaxtyping_entries, max_size=4).map(" ".join))
@settings(max_examples=250, deadline=None)
def test_what_jaxtyping_reads_we_read(text: str) -> None:
    """Every annotation in jaxtyping's language is one in ours."""
    assert we_read(text) or not jaxtyping_reads(text)


@pytest.mark.parametrize("text", JAXTYPING_ONLY)
def test_the_exceptions_are_as_listed(text: str) -> None:
    """What jaxtyping takes and we don't; all but dynamic names are errors at its run time."""
    assert jaxtyping_reads(text)
    assert not we_read(text)
