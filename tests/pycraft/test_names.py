"""The printed classes: their kinship, their constructors, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import pycraft
from soacraft.errors import SpaceError
from soacraft.pycraft import *


@pytest.fixture
def g():
    mb = sc.random_tree(5, seed=1)
    return mb


def test_every_printed_name_is_there():
    printed = """SpatialVector SpatialMatrixOperator SpatialSquareMatrixOperator SpatialDiagonalMatrixOperator IdClass
        HStarClass HClass MClass SKOClass EPhiClass SKOStarClass SPOClass SPOStarClass BStarClass PClass EPsiClass
        H_iClass Hs_iClass Hd_iClass H Phi PhiStar HStar M Id Psi K Dinv Thetadot BStar
        Thetadoubledot Betadot D D_Inverse Spatial_I I V a b T Trace""".split()
    assert sorted(pycraft.__all__) == sorted(printed)
    for name in printed:
        assert getattr(pycraft, name).__doc__


def test_classes_derive_as_printed(g):
    assert isinstance(HClass(g), HStarClass)
    assert isinstance(HClass(g), SpatialDiagonalMatrixOperator)
    assert isinstance(EPhiClass(g), SKOClass)
    assert isinstance(EPsiClass(g), SKOClass)
    assert isinstance(SPOClass(EPhiClass(g)), SpatialSquareMatrixOperator)
    assert issubclass(SpatialDiagonalMatrixOperator, SpatialSquareMatrixOperator)
    assert not isinstance(BStarClass(g, g.bodies[0]), SpatialSquareMatrixOperator)


def test_axes_are_the_papers(g):
    assert HClass(g).operator.cols.axes == "inertial"
    np.testing.assert_array_equal(MClass(g).asArray(), sc.operators(g, "M", axes="inertial").array())


def test_a_kernel_of_ones_own(g):
    """SPOClass of any kernel operator is its 1-resolvent."""
    ephi, H, P = EPhiClass(g), HClass(g), PClass(g)
    taubar = IdClass(g) - P * H.transpose() * (H * P * H.transpose()).inverse() * H
    kernel = SKOClass(ephi * taubar)
    assert (SPOClass(kernel) - Psi(g)).isZero()
    assert (SPOStarClass(kernel) - Psi(g).getTranspose()).isZero()


def test_what_is_no_kernel_is_refused(g):
    with pytest.raises(SpaceError, match=r"a kernel operator such as EPhiClass\(g\) is wanted, got MClass M"):
        SPOClass(MClass(g))
    with pytest.raises(SpaceError, match="a kernel operator"):
        SKOStarClass(np.eye(3))


def test_sub_graphs_do_not_mix(g):
    part = g.subgraph([g.bodies[0]])
    with pytest.raises(SpaceError, match="different models or sub-graphs cannot be mixed"):
        H(g) * Phi(part)


def test_spatial_vector(g):
    T = SpatialVector(g, np.arange(g.nv, dtype=float))
    assert T.space.kind == "hinge"
    V = SpatialVector(g, np.zeros(6 * len(g)))
    assert V.space.kind == "body"
    np.testing.assert_array_equal(V[g.bodies[1]], np.zeros(6))
    np.testing.assert_allclose(np.asarray(Dinv(g) * T), Dinv(g).asArray() @ np.arange(g.nv))
    with pytest.raises(SpaceError, match="is wanted, got shape"):
        SpatialVector(g, np.zeros(3))
    free = sc.random_tree(2, seed=0, hinges=[sc.Free()])
    assert SpatialVector(free, np.zeros(12), space="body").space.kind == "body"


def test_arithmetic(g):
    X = 2 * MClass(g) - MClass(g)
    np.testing.assert_allclose((-X).asArray(), -MClass(g).asArray())
    assert "2*M - M" in repr(X)


def test_on_an_sko_model():
    model = sc.random_sko(6, seed=3)
    factor = Id(model) - H(model) * Psi(model) * K(model)
    massmat = H(model) * Phi(model) * M(model) * PhiStar(model) * HStar(model)
    assert (massmat * factor.getTranspose() * Dinv(model) * factor).isIdentity()


def test_a_constructor_without_an_argument_takes_the_model_named_last(g):
    other = sc.load("arm7")
    np.testing.assert_array_equal((H(g) * Phi() * M() * PhiStar() * HStar()).asArray(), massmat(g).asArray())
    np.testing.assert_array_equal((H(other) * Phi() * M() * PhiStar() * HStar()).asArray(), massmat(other).asArray())
    assert Id().operator.rows == MClass().operator.rows == other_body(other)


def massmat(g):
    return H(g) * Phi(g) * M(g) * PhiStar(g) * HStar(g)


def other_body(g):
    return sc.operators(g, axes="inertial").body


def test_without_any_model_named_a_constructor_says_so():
    from threading import Thread

    said = []

    def attempt():  # every thread has its own last model
        try:
            Phi()
        except sc.errors.ModelError as error:
            said.append(str(error))

    thread = Thread(target=attempt)
    thread.start()
    thread.join()
    assert said == [
        "a constructor without an argument takes the model named last, and none was named yet; name one, as in Phi(g)."
    ]


def test_nodes_by_number():
    arm, bare = sc.load("arm7"), sc.Multibody("bare")
    bare.add_body("link", None, sc.Pin([0, 0, 1]), sc.Inertia(1.0, [0.1, 0, 0], np.eye(3)))
    assert (BStar(arm, 0) - BStar(arm, "link7/tool")).isZero()
    with pytest.raises(sc.errors.ModelError, match="no node number 7, its nodes are 0 to 1: link7/tool, link7/camera"):
        BStar(arm, 7)
    with pytest.raises(sc.errors.ModelError, match=r"has no node number 0, its nodes are none\. A body is a node too"):
        BStar(bare, 0)


def test_vectors_of_the_state(g):
    q, v = g.random_state(seed=2)
    g.set_state(q, v, np.linspace(-1, 1, g.nv))
    s = sc.operators(g, axes="inertial")
    for name, vector in {"v": Thetadot, "vdot": Thetadoubledot, "V": V, "a": a, "b": b, "T": T}.items():
        np.testing.assert_array_equal(np.asarray(vector(g)), np.asarray(getattr(s, name)))
        assert isinstance(vector(), SpatialVector)
    np.testing.assert_array_equal(np.asarray(Betadot(g)), g.vdot)
    assert isinstance(PhiStar(g) * HStar(g) * Thetadot(g) - V(g), SpatialVector)


def test_a_spatial_vector_is_a_map_of_bodies(g):
    first, last = g.bodies[0], g.bodies[-1]
    f = SpatialVector(g, {last: np.arange(6.0), first.name: np.ones(6)})
    assert list(f) == f.keys() == list(g.bodies)
    np.testing.assert_array_equal(dict(f)[last], np.arange(6.0))
    np.testing.assert_array_equal(f.values()[0], np.ones(6))
    np.testing.assert_array_equal(f.items()[1][1], np.zeros(6))
    np.testing.assert_array_equal(f(1), np.arange(6.0))
    np.testing.assert_array_equal(f(len(g)), np.ones(6))
    assert f() == tuple(np.asarray(f))
    f[first] = 2 * np.ones(6)
    np.testing.assert_array_equal(f[first], 2 * np.ones(6))
    with pytest.raises(SpaceError, match=r"is \(6,\) finite numbers, not \[1, 2\]"):
        f[first] = [1, 2]
    np.testing.assert_array_equal(f[first], 2 * np.ones(6))
    assert not np.asarray(SpatialVector(g)).any()
    with pytest.raises(SpaceError, match="the parts fit neither of"):
        SpatialVector(g, {first: np.ones(5)})
    with pytest.raises(SpaceError, match="blocks 1 to 5, counted as in the papers from the tips, not 0"):
        f(0)
    dofs = SpatialVector(sc.load("arm7"), {"link3": 1.5})
    assert dofs.space.kind == "hinge"
    assert dofs["link3"] == [1.5]


@pytest.mark.parametrize(
    "kind", [SpatialMatrixOperator, SpatialSquareMatrixOperator, SpatialDiagonalMatrixOperator]
)  # fmt: skip
def test_elements_are_set_by_index_and_zero_elsewhere(kind):
    arm = sc.load("arm7")
    assert not kind(arm).asArray().any()
    X = kind(arm)
    X[arm["link2"]]["link2"] = 2 * np.eye(6)
    X["link2", "link2"] = 3 * np.eye(6)
    wanted = np.zeros((42, 42))
    wanted[6:12, 6:12] = 3 * np.eye(6)
    np.testing.assert_array_equal(X.asArray(), wanted)
    if kind is SpatialDiagonalMatrixOperator:
        with pytest.raises(SpaceError, match=r"no element \('link1', 'link2'\) off its diagonal"):
            X["link1"]["link2"] = np.eye(6)
    else:
        X["link1"]["link2"] = np.eye(6)
        wanted[:6, 6:12] = np.eye(6)
    np.testing.assert_array_equal((X * M(arm)).asArray(), wanted @ M(arm).asArray())
    assert isinstance(X + X, kind if kind is not SpatialMatrixOperator else SpatialSquareMatrixOperator)
    with pytest.raises(SpaceError, match="has no body or hinge 'link9'"):
        X["link9"]["link2"] = np.eye(6)
    before = X.asArray()
    with pytest.raises(sc.errors.ModelError, match=r"shape \(5, 5\)"):
        kind(arm, space="body")["link2", "link2"] = np.eye(5)
    np.testing.assert_array_equal(X.asArray(), before)
    gains = kind(arm)
    gains["link3"]["link3"] = [[4.0]]
    assert (Dinv(arm) * gains).asArray()[2, 2] == pytest.approx(4.0 * Dinv(arm).asArray()[2, 2])


def test_elements_of_what_follows_from_the_model_are_not_set(g):
    with pytest.raises(SpaceError, match=r"M follows from its model; elements are set in SpatialMatrixOperator\(g\)"):
        M(g)["body1"]["body1"] = np.eye(6)


def test_identities(g):
    one = IdClass(g)
    np.testing.assert_array_equal(one.asArray(), np.eye(6 * len(g)))
    x = np.arange(g.nv, dtype=float)
    assert (one * x).space.kind == "hinge"
    np.testing.assert_array_equal(np.asarray(2 * one * x), 2 * x)
    tau = K(g) * H(g)
    for identity in (one, I, Spatial_I, sc.I):
        np.testing.assert_allclose((identity - tau).asArray(), np.eye(6 * len(g)) - tau.asArray())
        np.testing.assert_allclose((tau + identity).asArray(), (identity + tau).asArray())
        np.testing.assert_allclose((identity * tau).asArray(), (tau * identity).asArray())
    assert (one.inverse() * one.transpose() + one - 2 * one).isZero()
    part = g.subgraph([g.bodies[0]])
    with pytest.raises(SpaceError, match="different models or sub-graphs cannot be mixed"):
        IdClass(part) - tau
    with pytest.raises(SpaceError, match="takes its space from an operator or from a SpatialVector, not an array"):
        Spatial_I * x


def test_elements_by_the_papers_numbers():
    arm = sc.load("arm7")
    np.testing.assert_array_equal(Phi(arm)(2, 1), Phi(arm)["link6"]["link7"])
    np.testing.assert_array_equal(PClass(arm)(7), PClass(arm)["link1"]["link1"])
    X, Y = PClass(arm)(3), M(arm)(3)
    np.testing.assert_array_equal(X * Y, np.asarray(X) @ np.asarray(Y))
    np.testing.assert_array_equal(2 * X, X * 2)
    assert Trace(X * Y) == pytest.approx(np.trace(np.asarray(X) @ np.asarray(Y)))
    assert Trace(M(arm)) == M(arm).trace() == pytest.approx(np.trace(M(arm).asArray()))


def test_what_operators_have_the_printed_names_have(g):
    X = H(g) * Phi(g)
    assert X.latex() == r"H\, \phi"
    assert X._repr_latex_() == r"$H\, \phi$"
    assert X.text() == "H*phi"
    assert "gather" in repr(X.explain())
    body = g.bodies[1]
    np.testing.assert_allclose(X.diff(body).asArray(), X.operator.diff(body).array())
    np.testing.assert_array_equal(X._transpose().asArray(), X.transpose().asArray())
    np.testing.assert_array_equal(X._transpose().asArray(), X.getTranspose().asArray())
    assert sc.prove((I - H(g) * Psi(g) * K(g)) * H(g) * Phi(g), H(g) * Psi(g))
    assert sc.verify(X, H(g) * Phi(g))
    assert sc.check_operator(X)
    assert sc.simplify((I - H(g) * Psi(g) * K(g)) * X).text() == "H*psi"
    assert sc.diag_of(Phi(g)).text() == "diag_of(phi)"


def test_transposes_keep_their_kind(g):
    assert isinstance(EPsiClass(g).getTranspose(), SKOStarClass)
    assert isinstance(SKOStarClass(EPsiClass(g)).transpose(), SKOClass)
    Y = EPsiClass(g)._transpose().LyapunovRecursion(HStar(g) * Dinv(g) * H(g))
    assert (Y.operator - sc.operators(g, "Upsilon", axes="inertial")).is_zero()


def test_systems_with_compound_bodies():
    biped, bars = sc.load("biped"), sc.load("five_bar")
    solver = sc.loops.ConstraintEmbedding(bars)
    bars.q = solver.assemble(bars.q)
    for system in (sc.aggregate(biped, ["left_thigh", "left_shank"]), solver):
        factor = IdClass(system) - HClass(system) * Psi(system) * K(system)
        assert (massmat(system) * factor.getTranspose() * Dinv() * factor).isIdentity()
        with pytest.raises(sc.errors.ModelError, match="is for a tree of rigid bodies"):
            Hd_iClass(system, 0)
