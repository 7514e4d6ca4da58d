"""`numbering=` of `sc.operators`: indices, arrays, stacked vectors and pictures in the order that users count."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.strategies import as_functions

import soacraft as sc
from soacraft.errors import ModelError, SpaceError
from soacraft.view import structure


def moving(mb):
    q, v = mb.random_state(seed=3)
    mb.set_state(q, v, np.linspace(-1, 1, mb.nv))
    return mb


MODELS = {
    "arm": moving(sc.load("arm7")),
    "every hinge": moving(sc.random_tree(9, seed=2)),
    "sub-graph": moving(sc.load("biped")).subgraph(["left_thigh", "left_shank", "left_foot"]),
    "sko": sc.random_sko(7, seed=4),
    "functions": as_functions(sc.random_sko(7, seed=4), 1),
}


def shuffled(model):
    names = list(sc.operators(model).body.labels)
    return [names[k] for k in np.random.default_rng(5).permutation(len(names))]


@pytest.fixture(params=[(model, how) for model in MODELS for how in ("tip", "list")], ids=lambda x: f"{x[0]}, {x[1]}")
def pair(request):
    """The same operators numbered and not, and the entries of both spaces in the numbering."""
    name, how = request.param
    model = MODELS[name]
    plain = sc.operators(model)
    numbering = "tip" if how == "tip" else shuffled(model)
    order = plain.body.tree.tips_to_base() if how == "tip" else [plain.body.index(x) for x in numbering]
    hinge, body = (
        np.concatenate([np.arange(x.size)[x.block(k)] for k in order]) for x in (plain.hinge, plain.body)
    )  # fmt: skip
    return sc.operators(model, numbering=numbering), plain, order, hinge, body


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def test_the_printed_index_is_the_printed_block():
    arm = MODELS["arm"]
    phi, E_phi, P = sc.operators(arm, "phi E_phi P", axes="inertial", numbering="tip")
    names = sc.operators(arm, axes="inertial")
    np.testing.assert_array_equal(phi[2, 1], names.phi["link6", "link7"])
    np.testing.assert_array_equal(phi[2][1], names.phi["link6", "link7"])
    assert not phi[1, 2].any()
    np.testing.assert_array_equal(P[7, 7], names.P["link1", "link1"])
    below = np.kron(np.eye(7, k=-1), np.ones((6, 6))) > 0
    assert not E_phi.array()[~below].any()
    np.testing.assert_array_equal(E_phi.array()[6:12, :6], names.phi["link6", "link7"])


def test_blocks_and_arrays(pair):
    s, plain, order, hinge, body = pair
    for made, rows, cols in (
        (mass_matrix, hinge, hinge), (lambda s: s.H * s.psi, hinge, body), (lambda s: s.Omega, body, body),
        (lambda s: s.K, body, hinge), (lambda s: mass_matrix(s).inv, hinge, hinge),
    ):  # fmt: skip
        X, Y = made(s), made(plain)
        dense = Y.array()
        np.testing.assert_allclose(X.array(), dense[np.ix_(rows, cols)], atol=1e-9 * np.abs(dense).max())
        np.testing.assert_array_equal(np.asarray(X), X.array())
        n = len(order)
        np.testing.assert_allclose(X[1, n], Y[order[0], order[-1]], atol=1e-9 * np.abs(dense).max())
        first, last = (plain.body.labels[order[i]] for i in (0, -1))
        np.testing.assert_array_equal(X[first, last], X[1, n])
        np.testing.assert_allclose(X[:, :], X.array(), atol=1e-9 * np.abs(dense).max())
        np.testing.assert_allclose(X[1:3, [n, 1]], np.block([[X[i, j] for j in (n, 1)] for i in (1, 2)][: n + 1]),
                                   atol=1e-9 * np.abs(dense).max())  # fmt: skip
        assert sc.check_operator(X).ok


def test_products_and_stacked_vectors(pair):
    s, plain, order, hinge, body = pair
    x = np.linspace(-1, 1, len(hinge))
    y = np.empty_like(x)
    y[hinge] = x  # the same numbers in the model's order
    for made in (mass_matrix, lambda s: mass_matrix(s).inv, lambda s: s.phi.T * s.H.T):
        found, wanted = made(s) * x, made(plain) * y
        there = hinge if found.space.kind == "hinge" else body
        size = np.abs(np.asarray(wanted)).max()
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted)[there], atol=1e-9 * size)
        np.testing.assert_allclose(found[1], wanted[order[0]], atol=1e-9 * size)
        np.testing.assert_allclose(found[:], np.asarray(found))
        columns = made(s) * np.stack([x, 2 * x], axis=1)
        np.testing.assert_allclose(np.asarray(columns)[:, 1], 2 * np.asarray(found), atol=1e-9 * size)
        np.testing.assert_allclose(np.asarray(found - np.asarray(found)), 0)
        np.testing.assert_allclose(np.asarray(np.asarray(found) + found), 2 * np.asarray(found))
        np.testing.assert_allclose(found.dot(np.asarray(found)), np.sum(np.asarray(found) ** 2))
    for name in ("v", "vdot", "V", "alpha", "f", "T", "C", "a", "b", "z", "eps", "nu"):
        found, wanted = getattr(s, name), getattr(plain, name)
        there = hinge if found.space.kind == "hinge" else body
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted)[there], atol=1e-9)
        np.testing.assert_allclose(found.in_model_order, np.asarray(wanted), atol=1e-9)
    assert [line.split()[0] for line in repr(s.V).splitlines()[1:]] == [
        plain.body.labels[k] for k in order if plain.body.dims[k]
    ]


def test_every_identity_holds(pair):
    s = pair[0]
    chosen = [x for x in sc.identities() if not x.conditions][::6]
    assert all(sc.verify(x.left, x.right, on=s) for x in chosen)


def test_numbers_of_ones_own(pair):
    s, plain, order, hinge, _ = pair
    x = np.arange(1.0, 1 + len(hinge))
    vector = s.vector("hinge", x)
    np.testing.assert_array_equal(np.asarray(vector), x)
    np.testing.assert_array_equal(np.asarray(s.vector("hinge", vector)), x)
    np.testing.assert_array_equal(s.diagonal("gains", x, "hinge").array(), np.diag(x))
    matrix = np.arange(float(len(hinge) ** 2)).reshape(len(hinge), -1) + len(hinge) ** 2 * np.eye(len(hinge))
    S = sc.matrix(s.D, matrix, "S")
    np.testing.assert_array_equal(S.array(), matrix)
    np.testing.assert_allclose(S.inv.array(), np.linalg.inv(matrix), atol=1e-12)
    d = plain.body.dims[order[0]]
    N = s.block_diagonal("N", {1: 2 * np.eye(d)}, space="body")
    np.testing.assert_array_equal(N.array()[:d, :d], 2 * np.eye(d))


def test_what_belongs_to_the_model_stays_in_its_order():
    arm = MODELS["arm"]
    s = sc.operators(arm, numbering="tip")
    np.testing.assert_allclose(sc.dynamics.forward_dynamics(arm, arm.q, s.v, s.T), arm.vdot, atol=1e-9)
    answer = sc.operators(arm, force=s.T, numbering="tip").vdot
    np.testing.assert_allclose(np.asarray(answer)[::-1], arm.vdot, atol=1e-9)
    np.testing.assert_array_equal(arm.state(arm.q, s.v).v, arm.v)


def test_derivatives_snapshots_batches_and_copies():
    arm = moving(sc.load("arm7"))
    s, plain = sc.operators(arm, numbering="tip"), sc.operators(arm)
    X, Y = mass_matrix(s), mass_matrix(plain)
    np.testing.assert_allclose(X.diff("link3").array(), Y.diff("link3").array()[::-1, ::-1], atol=1e-12)
    np.testing.assert_allclose(X.dot().array(), Y.dot().array()[::-1, ::-1], atol=1e-12)
    q = np.random.default_rng(1).standard_normal((3, 7))
    np.testing.assert_allclose(X.at(q=q).array(), Y.at(q=q).array()[..., ::-1, ::-1], atol=1e-12)
    x = np.arange(21.0).reshape(3, 7)
    np.testing.assert_allclose(np.asarray(X.at(q=q) * x), np.asarray(Y.at(q=q) * x[:, ::-1])[:, ::-1], atol=1e-11)
    for again in (copy.deepcopy(X), pickle.loads(pickle.dumps(X))):
        np.testing.assert_allclose(again.array(), X.array(), atol=1e-14)
        np.testing.assert_array_equal(again[2, 1], X[2, 1])
    arm.q = q[0]
    np.testing.assert_allclose(X * x[0], np.asarray(Y * x[0][::-1])[::-1], atol=1e-11)


def test_pictures_are_the_papers():
    s = sc.operators(MODELS["arm"], axes="inertial", numbering="tip")
    assert structure(s.E_phi, labels=False).splitlines()[:3] == ["·······", "█······", "·█·····"]
    assert [line.split()[0] for line in structure(s.phi).splitlines()] == [f"link{k}" for k in range(7, 0, -1)]
    biped = sc.operators(sc.load("biped"), numbering="tip")
    rows = structure(biped.phi, labels=False, borders=False).splitlines()
    assert all(set(row[k + 1 :]) <= {"·"} for k, row in enumerate(rows))


def test_the_printed_names_take_it():
    from soacraft import pycraft

    arm = MODELS["arm"]
    s = sc.operators(arm, axes="inertial", numbering="tip")
    phi = pycraft.Phi(s)
    np.testing.assert_array_equal(phi(2, 1), phi[2][1])
    V = pycraft.V(s)
    assert [body.name for body in V] == [f"link{k}" for k in range(7, 0, -1)]
    np.testing.assert_array_equal(V(1), V["link7"])
    np.testing.assert_array_equal(V(), np.concatenate(V.values()))


def test_nodes_are_counted_from_one():
    s = sc.operators(MODELS["arm"], numbering="tip")
    J = s.B(["link7/tool", "link3"]).T * s.phi.T * s.H.T
    np.testing.assert_array_equal(J[2, 5], J["link3", "link3"])


@pytest.mark.parametrize(
    ("numbering", "said"),
    [
        ("base", "numbering='base': 'tip' .tip 1, base n, as the papers do. or a list of bodies"),
        (3, "numbering=3: 'tip' or a list of all bodies is wanted"),
        (["link1", "link2", "link2"], "numbering names 'link2' twice"),
        ([f"link{k}" for k in range(1, 7)], "numbering leaves out 'link7'"),
    ],
)
def test_other_numberings_are_refused(numbering, said):
    with pytest.raises(ModelError, match=said):
        sc.operators(MODELS["arm"], numbering=numbering)


def test_mistakes_are_refused():
    arm = MODELS["arm"]
    s, plain = sc.operators(arm, numbering="tip"), sc.operators(arm)
    for number in (0, 8, -1):
        with pytest.raises(SpaceError, match=f"has blocks 1 to 7 in this numbering, not {number}"):
            s.phi[number, 1]
    with pytest.raises(SpaceError, match=r"Bind both with the same numbering=\.\.\."):
        s.H * plain.phi
    with pytest.raises(SpaceError, match=r"Bind both with the same numbering=\.\.\."):
        s.H * plain.V
    with pytest.raises(SpaceError, match=r"cannot be compiled: .* operators without numbering="):
        mass_matrix(s).compile()
    with pytest.raises(SpaceError, match="there is nothing from 'link1' to 'link7'"):
        s.phi["link1":"link7", :]
    with pytest.raises(ModelError, match="numbering= are not for a system with compound bodies"):
        sc.operators(sc.aggregate(sc.load("biped"), ["left_thigh", "left_shank"]), numbering="tip")
