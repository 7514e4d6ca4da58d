"""A leading batch axis gives what a loop over the states gives: arrays, products, blocks, traces, vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import AXES, keep, one_of_batch, rigid_trees, sko_models

import soacraft as sc
from soacraft.errors import ModelError, SpaceError, StateError
from soacraft.ops.namespace import VECTORS
from soacraft.ops.table import NAMES

COUNT = 3


def close(x, y, what=""):
    y = np.asarray(y)
    scale = max(1.0, np.abs(y).max(initial=0.0))
    np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10 * scale, err_msg=str(what))


def expressions(s):
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    factor = s.I - s.H * s.psi * s.K
    return [
        *(getattr(s, name) for name in NAMES),
        mass_matrix,
        mass_matrix.inv,
        factor.inv,
        factor.T * s.D.inv * factor,
        s.D.inv,
        s.phi.inv,
        (2 * s.I - s.E_phi).inv,
        s.E_phi.lyapunov(s.R, s.E_psi),
        s.E_psi.T.lyapunov(s.H.T * s.D.inv * s.H),
        sc.diag_of(s.Omega),
        (s.H * s.phi * (s.M + s.R) * s.phi.T * s.H.T).inv,
        s.phi.T * s.M * s.psi - 0.5 * s.Omega,
        s.phi**2,
        s.B(list(s.body.labels[:2])).T * s.phi.T * s.H.T,
    ]


def compare(batch, singles):
    """Every expression and vector of a batch against those of its states."""
    size = len(singles)
    columns = zip(expressions(batch), *(expressions(s) for s in singles), strict=True)
    for whole, *each in columns:
        text = whole.text()
        rows, cols = whole.spaces
        assert whole.batch == (size,)
        rng = np.random.default_rng(0)
        x, X = rng.standard_normal((size, cols.size)), rng.standard_normal((size, cols.size, 2))
        y = rng.standard_normal(rows.size)
        array, product, block = whole.array(), whole * x, whole * X
        transposed, shared = whole.T * y, whole * x[0]
        assert (array.shape, product.shape) == ((size, rows.size, cols.size), (size, rows.size)), text
        assert (block.shape, transposed.shape) == ((size, rows.size, 2), (size, cols.size)), text
        corner, trace = whole[0, len(cols) - 1], whole.trace() if rows == cols else None
        for i, one in enumerate(each):
            close(array[i], one.array(), text)
            close(product.data[i], one * x[i], text)
            close(block.data[i], one * X[i], text)
            close(transposed.data[i], one.T * y, text)
            close(shared.data[i], one * x[0], text)
            close(corner[i], one[0, len(cols) - 1], text)
            if trace is not None:
                close(trace[i], one.trace(), text)
    for name in VECTORS:
        whole = getattr(batch, name)
        for i, s in enumerate(singles):
            close(np.broadcast_to(whole.data, (size, whole.shape[-1]))[i], getattr(s, name), name)


@pytest.mark.parametrize("axes", AXES)
@tries(4)
@given(mb=rigid_trees())
def test_states_of_a_rigid_tree(axes, mb):
    keep()
    q, v = (np.stack(parts) for parts in zip(*(mb.random_state(i) for i in range(COUNT)), strict=True))
    vdot = np.random.default_rng(0).standard_normal((COUNT, mb.nv))
    batch = sc.operators(mb.state(q, v, vdot), axes=axes)
    compare(batch, [sc.operators(mb.state(q[i], v[i], vdot[i]), axes=axes) for i in range(COUNT)])


@tries(8)
@given(model=sko_models(batch=COUNT), seed=st.integers(0, 9))
def test_states_of_an_sko_model(model, seed):
    keep()
    v, vdot = np.random.default_rng(seed).standard_normal((2, COUNT, sum(model.nvs)))
    batch = sc.operators(model, v=v, vdot=vdot)
    compare(batch, [sc.operators(one_of_batch(model, i), v=v[i], vdot=vdot[i]) for i in range(COUNT)])


@pytest.mark.parametrize("axes", AXES)
def test_at_with_a_batch(axes):
    mb = sc.random_tree(5, seed=3)
    s = sc.operators(mb, axes=axes)
    Q = np.stack([mb.random_state(i)[0] for i in range(COUNT)])
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    for expr in (
        mass_matrix,
        mass_matrix.inv,
        s.Omega,
        s.B("body3/tip").T * s.phi.T * s.H.T,
        (s.I + s.phi * s.phi.T).inv,
    ):
        whole = expr.at(q=Q)
        assert whole.array().shape == (COUNT, *expr.shape)
        for i in range(COUNT):
            close(whole.array()[i], expr.at(q=Q[i]).array())


@pytest.mark.parametrize("axes", AXES)
def test_only_the_velocity_has_a_batch(axes):
    """Products have the leading axis too, although no number in them depends on the velocity."""
    mb = sc.random_tree(4, seed=1)
    V = np.random.default_rng(0).standard_normal((COUNT, mb.nv))
    s = sc.operators(mb, axes=axes)
    for expr in (s.H.T, s.phi, s.Omega):
        there = expr.at(v=V)
        x = np.ones(expr.shape[1])
        assert there.array().shape == (COUNT, *expr.shape)
        assert (there * x).shape == (COUNT, expr.shape[0])
        assert there[0, 0].shape[0] == COUNT
        close((there * x).data[1], expr * x)
        assert there.is_zero() is False
    batch = sc.operators(mb.state(v=V), axes=axes)
    for i in range(COUNT):
        one = sc.operators(mb.state(v=V[i]), axes=axes)
        for name in VECTORS:
            whole = getattr(batch, name)
            close(np.broadcast_to(whole.data, (COUNT, whole.shape[-1]))[i], getattr(one, name), name)


@pytest.mark.parametrize("axes", AXES)
def test_axes_of_q_and_v_broadcast(axes):
    """q (3, 1, nq) and v (2, nv) make a batch of (3, 2) states."""
    mb = sc.random_tree(4, seed=1)
    Q = np.stack([mb.random_state(i)[0] for i in range(3)])
    V = np.random.default_rng(0).standard_normal((2, mb.nv))
    s = sc.operators(mb.state(q=Q[:, None], v=V), axes=axes)
    assert s.phi.batch == (3, 2)
    assert (s.phi * np.ones(s.body.size)).shape == (3, 2, s.body.size)
    for i in range(3):
        for j in range(2):
            one = sc.operators(mb.state(Q[i], V[j]), axes=axes)
            for name in VECTORS:
                whole = getattr(s, name)
                close(np.broadcast_to(whole.data, (3, 2, whole.shape[-1]))[i, j], getattr(one, name), name)


def test_a_batch_of_as_many_states_as_there_are_dofs():
    """(N, N) is one vector for each of N states; (N, 2) two vectors for all; (N, N, 2) two for each."""
    mb = sc.random_tree(3, seed=2)
    n = mb.nv
    Q = np.stack([mb.random_state(i)[0] for i in range(n)])
    mass_matrix = (lambda s: s.H * s.phi * s.M * s.phi.T * s.H.T)(sc.operators(mb.state(q=Q)))
    dense = mass_matrix.array()
    rng = np.random.default_rng(0)
    X, Y, Z = rng.standard_normal((n, n)), rng.standard_normal((n, 2)), rng.standard_normal((n, n, 2))
    close(mass_matrix * X, np.einsum("sij,sj->si", dense, X))
    close(mass_matrix * Y, dense @ Y)
    close(mass_matrix * Z, dense @ Z)
    close(mass_matrix * (mass_matrix * X), np.einsum("sij,sjk,sk->si", dense, dense, X))
    close(mass_matrix * (mass_matrix * Y), dense @ dense @ Y)


def test_no_states_at_all():
    mb = sc.random_tree(3, seed=2)
    s = sc.operators(mb.state(q=np.zeros((0, mb.nq))))
    assert s.Omega.array().shape == (0, 18, 18)
    assert (s.phi * np.ones(18)).shape == (0, 18)
    assert s.phi[0, 1].shape == (0, 6, 6)
    assert s.phi.trace().shape == (0,)
    assert np.asarray(s.T).shape == (0, mb.nv)


def test_zero_tests_see_one_bad_state():
    mb = sc.random_tree(4, seed=5)
    s = sc.operators(mb)
    Q = np.stack([mb.q, mb.q, mb.random_state(1)[0]])
    assert not (s.phi.at(q=Q) - s.phi.at(q=mb.q)).is_zero()
    assert (s.phi.at(q=Q[:2]) - s.phi).is_zero()


# -- refused ------------------------------------------------------------------------------------------------------


def test_vectors_for_another_number_of_states():
    mb = sc.random_tree(3, seed=2)
    Q = np.stack([mb.random_state(i)[0] for i in range(3)])
    s = sc.operators(mb.state(q=Q))
    with pytest.raises(SpaceError) as refusal:
        s.phi * np.ones((5, 18))
    assert str(refusal.value) == (
        "x has shape (5, 18), but a vector of body[18] is wanted: shape (18,), or (18, m) for m of them, "
        "or (3, 18) for one in each state. Vectors in rows become columns by x.T."
    )
    five = sc.operators(mb.state(q=np.stack([Q[0]] * 5)))
    with pytest.raises(SpaceError) as refusal:
        s.phi * five.V
    assert str(refusal.value) == "cannot form phi * x: x has shape (5, 18), but there is a batch of (3,) states."


def test_forces_for_another_number_of_states():
    mb = sc.random_tree(3, seed=2)
    Q = np.stack([mb.random_state(i)[0] for i in range(3)])
    with pytest.raises(
        StateError, match=r"^the leading \(batch\) axes do not agree: force \(5, \d+\), state \(3, \d+\)\.$"
    ):
        sc.operators(mb.state(q=Q), force=np.ones((5, mb.nv)))
    live = sc.operators(mb, force=np.ones((3, mb.nv)))
    assert live.vdot.shape == (3, mb.nv)
    with pytest.raises(StateError, match="the leading"):
        live.phi.at(q=Q[:2])


def test_blocks_of_batches_that_do_not_fit():
    one = np.eye(2)
    model = sc.SKOModel([-1, 0], [None, one], [one, one], [np.stack([one] * 3), np.stack([one] * 2)])
    text = r"^the leading \(batch\) axes of the blocks of this SKO model do not fit: \(2,\) and \(3,\)\.$"
    with pytest.raises(ModelError, match=text):
        sc.operators(model)
    good = sc.SKOModel([-1, 0], [None, one], [one, one], [np.stack([one] * 3), one])
    with pytest.raises(StateError, match=r"the leading \(batch\) axes do not agree: model \(3, 0\), v \(2, 4\)"):
        sc.operators(good, v=np.ones((2, 4)))


def test_a_force_for_each_of_several_loads():
    """One state, several generalized forces: vdot for each."""
    mb = sc.random_tree(4, seed=5)
    T = np.random.default_rng(0).standard_normal((COUNT, mb.nv))
    many = sc.operators(mb, force=T)
    for i in range(COUNT):
        one = sc.operators(mb, force=T[i])
        for name in ("T", "z", "eps", "nu", "vdot", "alpha", "f"):
            close(getattr(many, name).data[i], getattr(one, name), name)
