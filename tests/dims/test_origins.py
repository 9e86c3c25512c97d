"""Where symbols come from: what they follow, and which are the same."""

from __future__ import annotations

import pickle

import pytest

from shapecheck.dims import HERE, Kind, Origin, Size, Sym, Untold, atoms_of, concerned, name
from shapecheck.dims.origins import (
    ChosenToFit,
    CountAt,
    Default,
    Each,
    ElementsOf,
    EqualPart,
    LengthOf,
    NamesOf,
    OfInstance,
    OfKind,
    OfObject,
    Padded,
    PartOf,
    Spanning,
    StandIn,
    spanning,
)

PATH, NEW = ("self", 1), ("other", 2)
AT_A_PATH: list[tuple[Origin, Origin]] = [
    (OfInstance(PATH), OfInstance(NEW)),
    (NamesOf(PATH, "keys"), NamesOf(NEW, "keys")),
    (Each(OfInstance(PATH)), Each(OfInstance(NEW))),
    (Default(OfInstance(PATH), 4), Default(OfInstance(NEW), 4)),
    (ChosenToFit(OfInstance(PATH), "x"), ChosenToFit(OfInstance(NEW), "x")),
    (ChosenToFit(OfInstance("self"), PATH), ChosenToFit(OfInstance("self"), NEW)),
    (CountAt(PATH), CountAt(NEW)),
]


@pytest.mark.parametrize(("origin", "moved"), AT_A_PATH, ids=repr)
def test_what_is_reached_by_another_path(origin: Origin, moved: Origin) -> None:
    """It is the same of what is there; of a path that is a text there is no other."""

    def path(old: object) -> object:
        return NEW if old == PATH else old

    symbol = Sym("d", Kind.OWN, origin)
    assert origin.moves
    assert symbol.at(path) is Sym("d", Kind.OWN, moved)
    assert symbol.at(lambda old: old) is symbol
    assert symbol.following(lambda other: other) is symbol
    assert not symbol.is_derived


def test_what_is_at_a_text_stays() -> None:
    for origin in (OfInstance("self"), NamesOf("self", "fields"), CountAt("self")):
        for one in (origin, Each(origin), Default(origin, 3), ChosenToFit(origin, "x")):
            assert not one.moves
            symbol = Sym("d", Kind.OWN, one)
            assert symbol.at(lambda old: NEW) is symbol


A, B = Sym("a"), Sym("b")
ABOUT: list[tuple[Origin, Origin]] = [
    (StandIn(A), StandIn(B)),
    (EqualPart(A, 4), EqualPart(B, 4)),
    (ElementsOf(A), ElementsOf(B)),
    (LengthOf(A), LengthOf(B)),
    (PartOf(A, "last", 2), PartOf(B, "last", 2)),
    (Untold(A, is_batch=True), Untold(B, is_batch=True)),
    (Spanning((A, Sym("c"))), Spanning((B, Sym("c")))),
]


@pytest.mark.parametrize(("origin", "renamed"), ABOUT, ids=repr)
def test_what_is_said_of_another_symbol(origin: Origin, renamed: Origin) -> None:
    """It is said of what stands for the other; symbols of equal origins are one."""
    symbol = Sym("x", Kind.UNKNOWN, origin)
    assert A in origin.symbols
    assert symbol.is_derived
    moved = symbol.following(lambda other: B if other is A else other)
    assert moved.origin == renamed
    assert moved is Sym("x", Kind.UNKNOWN, renamed) or origin.stretches
    assert symbol.following(lambda other: other) is symbol
    assert pickle.loads(pickle.dumps(symbol)).origin == origin


def test_what_is_concerned_by_what_is_known() -> None:
    """The symbols in it, what these are about, and so on."""
    length = Sym("len(*s)", Kind.UNKNOWN, LengthOf(A))
    elements = Sym("(x)", Kind.UNKNOWN, ElementsOf(length))
    assert concerned([]) == frozenset()
    assert concerned([B]) == {B}
    assert concerned([length, B]) == {length, A, B}
    (floor,) = atoms_of(Size.of(elements) // 2)
    assert concerned([floor]) == {elements, length, A}


def test_an_axis_of_a_tensor_without_annotation() -> None:
    """Those of one tensor have one owner, and two of one tensor stay two elsewhere."""
    tensor = Sym.fresh()
    rows = [Sym.distinct("_", Kind.UNKNOWN, Untold(tensor)) for _ in "12"]
    assert rows[0] is not rows[1]
    assert rows[0].owner == rows[1].owner
    moved = [row.following(lambda other: A) for row in rows]
    assert moved[0] is not moved[1]
    assert moved[0].owner == Untold(A)
    assert Untold("x").following(lambda other: B) == Untold("x")
    assert Untold("x", is_batch=True).owner == Untold("x")


def test_what_has_a_name() -> None:
    """Names and own sizes, unknowns that are called something, and what is left open on purpose."""
    assert Sym("a").has_name
    assert Sym("d", Kind.OWN).has_name
    assert Sym.fresh("u").has_name
    assert Sym.fresh("_", left_open=True).has_name
    assert Sym.fresh("...", left_open=True).has_name
    assert not Sym.fresh().has_name
    assert not Sym.fresh("...").has_name
    for run, has_name in ((Sym("batch"), True), (Sym.fresh("..."), False)):
        assert Sym("(...)", Kind.UNKNOWN, ElementsOf(run)).has_name is has_name


def test_a_label_is_for_what_has_none() -> None:
    for symbol, text in [
        (Sym.fresh(), "n"),
        (Sym.batch(), "n"),
        (Sym.count("_"), "n"),
        (Sym.suppose("_"), "n"),
        (Sym.fresh("u"), "u"),
        (Sym.fresh("_", left_open=True), "_"),
    ]:
        symbol.label("n")
        assert repr(symbol) == text


def test_what_symbols_are_asked() -> None:
    own = Sym("d", Kind.OWN, Default(OfInstance("self"), 12))
    assert own.default == 12
    assert own.owner == OfInstance("self")
    assert Sym("d//4", Kind.OWN, EqualPart(own, 4)).default == 3
    assert Sym("d//4", Kind.OWN, EqualPart(own, 4)).owner == OfInstance("self")
    assert Sym("d//4", Kind.OWN, EqualPart(A, 4)).default is None
    assert Sym("d", Kind.OWN, Each(OfInstance(PATH))).varies
    assert not own.varies
    assert Sym.fresh().varies
    assert not Sym.suppose("_").varies
    assert Sym.suppose("_").supposed
    assert Sym.suppose("_").is_untold
    assert Sym.untold("x").is_untold
    assert not Sym.untold("x").supposed
    assert not Sym.fresh().is_untold
    assert Sym.count("k").counted
    assert not Sym.fresh().counted
    assert repr(Sym.untold("x").again("rest")) == "rest"
    assert Sym.one_of("3|4", (3, 4)).again().options == (3, 4)
    token = OfObject(b"1")
    assert OfKind(Padded(token), "spatial").is_padded
    assert not OfKind(token, "spatial").is_padded
    assert OfKind(token, "spatial").kind_of_object == "spatial"


def test_rows_that_broadcast_span_all_of_theirs() -> None:
    one, two, other = (Sym.suppose("...") for _ in "123")
    both = spanning([two, one])
    assert both.spanned == (one, two)
    assert both is spanning([one, two])
    assert spanning([both, other]).spanned == (one, two, other)
    assert both.supposed
    assert both.again().supposed
    assert not both.again().spanned
    assert name("a").symbol is A
    assert HERE.owner is HERE
