"""HTML for notebooks: escaped, offline, small for large models."""

from html.parser import HTMLParser

import numpy as np
import pytest

import soacraft as sc
from soacraft import markup
from soacraft.kinematics import report
from soacraft.loops import TreeAugmented
from soacraft.markup import Html, Text

HOSTILE = "<img src=x onerror=alert(1)>&amp;\"'<script>"


class Page(HTMLParser):
    """What a browser would see: tags, attributes, words; complains of tags that are not closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.words, self.attributes = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def hostile_model():
    mb = sc.Multibody(HOSTILE)
    pin, inertia = sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3))
    a = mb.add_body(HOSTILE, "inertial", pin, inertia)
    b = mb.add_body("b<b>", a, pin, inertia, inboard=sc.Pose(translation=(1, 0, 0)))
    mb.close_loop(HOSTILE, "inertial", b, sc.Planar())
    return mb


def hostile_distances():
    mb = sc.Multibody("two")
    mb.root.add_geometry(sc.Geometry(HOSTILE, "plane"))
    mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0)).add_geometry(sc.Geometry(HOSTILE, "sphere", (0.5,)))
    return sc.contact.Scene(mb).distances(mb.neutral())


def shown():
    mb = hostile_model()
    arm = sc.load("arm7")
    s = sc.operators(arm)
    tree = sc.serial_chain(2)
    loops = TreeAugmented(mb)
    return {
        "model": mb,
        "sub-graph": arm.subgraph(["link1", "link2"]),
        "tree": mb.tree(),
        "mermaid": mb.to_mermaid(),
        "health": sc.check(mb),
        "import": sc.load("panda").import_report,
        "explain": (s.H * s.phi * s.M * s.phi.T * s.H.T).inv.explain(),
        "verify": sc.verify(s.H * s.P, s.H),
        "proof": sc.prove(s.H * s.psi * s.M * s.psi.T * s.H.T, s.D),
        "no proof": sc.prove(s.phi, s.psi),
        "operator": sc.check_operator(s.Omega),
        "hinge": sc.check_hinge(sc.Pin((0, 0, 1))),
        "loops": report(mb),
        "result": loops.forward_dynamics(mb.q, mb.v, np.ones(2)),
        "batch": loops.forward_dynamics(np.stack([mb.q, mb.q]), np.stack([mb.v, mb.v]), np.ones(2)),
        "kinematics": sc.inverse_kinematics(tree, {"link2/tip": (1.0, 0.0, -1.0)}, q0=[0.1, 0.2]),
        "distances": hostile_distances(),
        "identities": sc.identities,
        "papers": sc.papers(),
        "models": sc.models(),
    }


@pytest.fixture(scope="module")
def pages():
    return {name: (thing, thing._repr_html_()) for name, thing in shown().items()}


def test_every_page_is_whole_and_stands_alone(pages):
    for name, (_, html) in pages.items():
        page = Page(html)
        assert not {"script", "link", "img", "iframe", "b"} & set(page.tags), name
        assert not [value for key, value in page.attributes if key in ("src", "href")], name
        assert "http" not in html, name
        assert len(html) < 60_000, name
        assert page.text.strip(), name


def test_names_are_shown_as_they_are(pages):
    for name in ("model", "tree", "health", "loops", "result"):
        text = Page(pages[name][1]).text
        assert HOSTILE in text or repr(HOSTILE)[1:-1] in text, name


def test_the_words_of_the_text_are_there(pages):
    def words(name):
        return Page(pages[name][1]).text

    assert "b<b>" in words("model")
    assert "not equal on" in words("verify")
    assert words("verify").count("not equal") > 3  # a row for each model
    assert "Jain 2016 Eq. 30" in words("explain")
    assert r"\mathcal{D}" in words("proof")
    assert "derived rules" in words("proof")
    assert "not found: the sides differ" in words("no proof")
    assert "adjoint dot test" in words("operator")
    assert "all checks passed" in words("hinge")
    assert "mobility" in words("loops")
    assert "multipliers" in words("result")
    assert "converged" in words("kinematics")
    assert all(identity.name in words("identities") for identity in sc.identities)
    assert any(key == "oninput" for key, _ in Page(pages["identities"][1]).attributes)
    assert "arm7" in words("models")


def test_large_models_are_cut_with_a_line_that_says_so():
    mb = sc.serial_chain(10_000)
    html = mb._repr_html_()
    assert len(html) < 60_000
    assert "... 9,940 more of 10,000; tree() and bodies have all" in Page(html).text
    long = Text("\n".join(["line"] * 3_000))
    assert "... 2,600 more lines; print it to see all" in Page(long._repr_html_()).text
    wide = Text("x" * 100_000)
    assert len(wide._repr_html_()) < 1_000


def test_tables():
    rows = [[k, HOSTILE] for k in range(100)]
    page = Page(markup.table(["a", "b"], rows, more="ask"))
    assert page.tags.count("tr") == 61
    assert "... 40 more of 100; ask" in page.text
    assert Page(markup.table(["a"], [[1]])).text.split() == ["a", "1"]
    assert Page(markup.searchable(["a"], [[k] for k in range(100)])).tags.count("tr") == 101
    assert markup.words(Html("<i>")) == "<i>"
    assert len(markup.words("y" * 10_000)) == markup.WIDTH
    assert Page(markup.math("a < b & c")).text == r"\(a < b & c\)"


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
