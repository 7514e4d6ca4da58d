"""Building blocks of HTML, and the list of identities that is shown with them."""

import pytest
from tests.cards.page import HOSTILE, Page

import soacraft as sc
from soacraft import markup
from soacraft.markup import Html, Text


def test_long_texts_are_cut_with_a_line_that_says_so():
    long = Text("\n".join(["line"] * 3_000))
    assert "... 2,600 more lines; print it to see all" in Page(long._repr_html_()).text
    wide = Text("x" * 100_000)
    assert len(wide._repr_html_()) < 1_000
    assert "a formula of 10,000 characters" in markup.math("x" * 10_000)


def test_tables():
    rows = [[k, HOSTILE] for k in range(100)]
    page = Page(markup.table(["a", "b"], rows, more="ask"))
    assert page.tags.count("tr") == 61
    assert "... 40 more of 100; ask" in page.text
    assert Page(markup.table(["a"], [[1]])).text.split() == ["a", "1"]
    assert Page(markup.searchable(["a"], [[k] for k in range(100)])).tags.count("tr") == 101
    assert markup.words(Html("<i>")) == "<i>"
    assert len(markup.words("y" * 10_000)) == markup.WIDTH
    formula = Page(markup.math(r"a < b\, {c}^{\text{d<e>}}"))
    assert formula.text.split() == ["a", "<", "b", "c", "d<e>"]
    assert formula.formulas == [r"a < b\, {c}^{\text{d<e>}}"]
    assert {"math", "mi", "mo", "msup", "mspace"} == set(formula.tags)


def test_identities_are_searched():
    names = [identity.name for identity in sc.identities.find("mass matrix")]
    assert "mass matrix by composite bodies" in names
    assert set(names) == {i.name for i in sc.identities if "mass" in i.name and "matrix" in i.name}
    assert [i.source for i in sc.identities.find("Jain 2011 Eq. 44")] == ["004 Eq. 44"] * 4
    assert [i.name for i in sc.identities.find("E_phi**2")] == ["power series of phi"]
    assert {i.conditions for i in sc.identities.find("serial")} == {frozenset({"serial"})}
    assert sc.identities.find("nothing of the kind") == ()
    assert repr(sc.identities.find("nothing of the kind")) == "no identities"
    assert sc.identities() == sc.identities
    with pytest.raises(sc.errors.ModelError, match="searched by words, not by 7"):
        sc.identities.find(7)


def test_identities_print_both_sides():
    relations = {identity.name: identity.relation for identity in sc.identities}
    assert relations["velocities, explicit"][2:] == ("V", r"\phi^{*}\, H^{*}\, v")
    assert relations["velocities, explicit"].text == "V = phi.T*H.T*v"
    assert relations["H tau bar"][2:] == (r"H\, \bar{\tau}", "0")
    for relation in relations.values():
        for side in relation:
            assert side.count("{") == side.count("}")
            assert side.count("(") == side.count(")")


def test_an_identity_shows_its_relation():
    one = sc.identities.find("block-diagonalization")[0]
    assert repr(one) == "block-diagonalization: H*psi*M*psi.T*H.T = D  (Jain 2016 Eq. 27, Jain 2011 Eq. 46)"
    assert one.latex() == r"H\, \psi\, M\, \psi^{*}\, H^{*} = \mathcal{D}"
    assert one._repr_latex_() == f"${one.latex()}$"
    assert one.equations == ("000 Eq. 27", "004 Eq. 46")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("004 Eq. 46", ["block-diagonalization"]),
        ("Jain 2016 Eq. 27", ["block-diagonalization"]),
        ("000 Eq. 46", []),
        ("000 Eq. 2", ["innovations factorization", "innovations factor inverse", "mass matrix inverse"]),
        ("004 Lemma 8", ["E psi"]),
        ("004 Eq. 58 nu", ["accelerations by innovations", "generalized accelerations"]),
        ("tau P_plus", []),
        ("004 Corollary 6.1 mass", ["determinant of the mass matrix"]),
    ],
)
def test_identities_are_searched_by_equation_operator_and_word(text, names):
    assert [x.name for x in sc.identities.find(text)] == names


def test_every_equation_of_the_papers_has_a_line():
    """In the identities, or in the table that is made of docstrings (tests/docs)."""
    found = {place for identity in sc.identities for place in identity.equations}
    assert {f"004 Eq. {n}" for n in (11, 12, 16, 17, 18, 19, 21, 22, 45, 46, 49, 50, 54, 55, 56, 57, 60)} <= found
    assert {f"004 Lemma {n}" for n in range(3, 13)} <= found
