"""`sc.define` and `sc.state_identity`: the user's operators and relations take part in everything, on their model."""

import copy
import gc
import pickle
import re

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, SpaceError

I = sc.I


@pytest.fixture
def s():
    return sc.operators(sc.load("arm7"))


def refused(error, text, attempt):
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        attempt()


# -- names --------------------------------------------------------------------------------------------------------


def test_a_name_is_an_operator(s):
    L = sc.define("L", I - s.H * s.psi * s.K)
    x = np.linspace(-1, 1, 7)
    assert repr(L * s.H) == "L*H : hinge[7] <- body[42]"
    np.testing.assert_array_equal(np.asarray(L * x), np.asarray((I - s.H * s.psi * s.K) * x))
    np.testing.assert_allclose(L["link2", "link5"], (I - s.H * s.psi * s.K)["link2", "link5"])
    assert sc.check_operator(L.T * s.D.inv * L).ok
    assert L.latex() == "L"
    assert sc.define("my_op", s.phi * s.psi).latex() == r"\mathrm{my\_op}"
    assert sc.define("F", s.phi, latex=r"\Phi").latex() == r"\Phi"


def test_names_take_part_in_everything(s):
    L = sc.define("L", I - s.H * s.psi * s.K)
    massmat = s.H * s.phi * s.M * s.phi.T * s.H.T
    assert sc.simplify(L * s.H * s.phi).text() == "H*psi"
    assert sc.simplify((I + s.H * s.phi * s.K).inv).text() == "L"
    proof = sc.prove(massmat.inv, L.T * s.D.inv * L)
    assert proof
    assert any(step.name == "definition of L" for step in proof.steps)
    assert sc.verify(massmat.inv, L.T * s.D.inv * L).ok
    assert not sc.prove(massmat, L.T * s.D.inv * L)
    assert L.cost() == (I - s.H * s.psi * s.K).cost()
    assert [step.operator for step in L.explain().product] == ["K", "psi", "H"]
    assert {step.why for step in L.explain().product} == {"definition of L"}
    assert L.inv.known()[0].text() == "I + H*phi*K"


def test_names_of_names_and_of_nodes(s):
    A = sc.define("A", s.H * s.phi)
    J = sc.define("J", (A * s.B("link7")).T)
    assert sc.prove(J, s.B("link7").T * s.phi.T * s.H.T)
    assert sc.verify(J, s.B("link7").T * s.phi.T * s.H.T).ok
    assert sc.simplify(J * (A * s.M * A.T).inv * J.T).text() == "B(['link7']).T * Omega * B(['link7'])"


def test_a_name_follows_the_state(s):
    A = sc.define("A", s.phi * s.M)
    q = np.linspace(0, 1, 7)
    np.testing.assert_allclose(A.at(q=q).array(), (s.phi * s.M).at(q=q).array())
    assert sc.simplify((s.phi * s.M).at(q=q)).text() == "A"


def test_a_name_belongs_to_its_model(s):
    L = sc.define("L", I - s.H * s.psi * s.K)
    mb = s.binding.graph
    part = sc.operators(mb.subgraph(["link1", "link2"]))
    for other in (sc.operators(sc.load("arm7")), sc.operators(mb, axes="inertial"), part):
        assert sc.simplify((I + other.H * other.phi * other.K).inv).text() == "I - H*psi*K"
    again = sc.operators(mb)
    assert sc.simplify((I + again.H * again.phi * again.K).inv).text() == "L"
    assert sc.define("L", part.phi).rows == part.body
    assert L.text() == "L"


def test_a_name_lives_as_long_as_its_operator(s):
    L = sc.define("L", I - s.H * s.psi * s.K)
    assert sc.define("L", I - s.H * s.psi * s.K) is L
    refused(
        ModelError,
        "L is already defined as I - H*psi*K; choose another name for phi, or drop the first.",
        lambda: sc.define("L", s.phi),
    )
    del L
    gc.collect()
    assert sc.define("L", s.phi).definition() is s.phi


def test_copies_of_a_model_start_without_names(s):
    L = sc.define("L", I - s.H * s.psi * s.K)
    model = sc.random_sko(3, seed=1)
    kept = sc.define("A", sc.operators(model).phi)
    for other in (copy.deepcopy(s.binding.graph), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        t = sc.operators(other)
        assert sc.simplify((I + t.H * t.phi * t.K).inv).text() == "I - H*psi*K"
    assert (L.text(), kept.text()) == ("L", "A")


def test_what_define_refuses(s):
    other = sc.operators(sc.load("biped"))
    for name in ("", "2x", "a b", "lambda", "_x", 3, None):
        text = f"an operator cannot be called {name!r}; a name such as S or my_operator is wanted."
        refused(ModelError, text, lambda name=name: sc.define(name, s.phi))
    for name in ("phi", "I", "B", "V", "diag_of"):
        text = f"{name} is an operator or vector of the papers; choose another name."
        refused(ModelError, text, lambda name=name: sc.define(name, s.psi))
    refused(SpaceError, "S stands for an operator expression, not 3.", lambda: sc.define("S", 3))
    refused(
        SpaceError, "S stands for operators of a model, but I is made of identities alone.", lambda: sc.define("S", I)
    )
    with pytest.raises(SpaceError, match=r"^define takes operators of one model at one state, but phi and M are bound"):
        sc.define("S", s.phi * s.M.at(q=np.zeros(7)))
    with pytest.raises(SpaceError, match=r"^cannot form phi"):
        sc.define("S", s.phi * other.M)
    assert sc.define("S", s.phi).text() == "S"


# -- identities ---------------------------------------------------------------------------------------------------


def test_a_stated_identity_is_used_on_its_model():
    """On a chain, psi* Y and Y psi give Omega; stated there, it is used there and nowhere else."""
    chain = sc.operators(sc.serial_chain(4))
    B = chain.B("link4")
    left, right = B.T * chain.phi.T, B.T * chain.phi.T * chain.phi.T.inv * chain.phi.T
    assert sc.prove(left, right)
    goal = (B.T * chain.Omega * B, B.T * chain.Upsilon * B)
    assert not sc.prove(*goal)
    stated = sc.state_identity("compliance of the tip", *goal, source="002")
    said = "compliance of the tip: B(['link4']).T * Omega * B(['link4']) = "
    assert repr(stated) == f"{said}{goal[1].text()} (Ziegler 2005)"
    proof = sc.prove(*goal)
    assert proof
    assert any(step.name == "compliance of the tip" or "002" in step.source for step in proof.steps)
    assert sc.simplify(goal[0]).key() == goal[1].key()
    assert sc.simplify(chain.H * 0 + chain.H).text() == "H"
    other = sc.operators(sc.serial_chain(4))
    assert not sc.prove(*(side.with_leaves(lambda leaf: leaf.bound_to(other.binding)) for side in goal))
    stated.forget()
    assert not sc.prove(*goal)


def test_a_proof_by_a_stated_identity_is_checked_on_that_model():
    """True on a chain alone, so random trees cannot check it."""
    s = sc.operators(sc.serial_chain(3))
    E = s.E_phi
    assert not sc.prove(E * E * E, 0 * E)
    sc.state_identity("three links", E * E * E, 0 * E)
    proof = sc.prove(s.phi, I + E + E * E)
    assert proof
    assert "itself at 3 random states" in proof.checked


def test_stating_twice(s):
    first = sc.state_identity("phi", s.phi * s.E_phi, s.phi_tilde)
    assert sc.state_identity("phi", s.phi * s.E_phi, s.phi_tilde) is first
    refused(
        ModelError,
        "the identity 'phi' is already stated: phi: phi*E_phi = phi_tilde (stated); choose another name, or forget() "
        "it.",
        lambda: sc.state_identity("phi", s.psi * s.E_psi, s.psi_tilde),
    )


def test_what_state_identity_refuses(s):
    with pytest.raises(
        ModelError,
        match=r"^the identity 'wrong' does not hold: not equal on \d of 5 models: relative error \S+ on 'arm7'\.$",
    ):
        sc.state_identity("wrong", s.phi, s.psi)
    assert not sc.prove(s.phi, s.psi)
    refused(
        ModelError,
        "an identity needs a name in words, not ''.",
        lambda: sc.state_identity("", s.phi, s.phi),
    )
    refused(
        SpaceError,
        "the identity 'x' relates operators, not 3.",
        lambda: sc.state_identity("x", s.phi, 3),
    )
    refused(
        SpaceError,
        "the identity 'x' relates operators of a model, but I - I is made of identities alone.",
        lambda: sc.state_identity("x", I, I),
    )
    with pytest.raises(SpaceError, match=r"^cannot form phi - H"):
        sc.state_identity("x", s.phi, s.H)
