"""Every hinge on the list: its methods agree with each other, with themselves in batches, and print back."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import EVERY_HINGE

from soacraft.errors import StateError
from soacraft.model import hinges
from soacraft.model.hinges import (
    HINGES,
    H_T_of,
    bias_of,
    check_hinge,
    dbias_of,
    dH_of,
    difference_of,
    examples,
    integrate_of,
    normalize_of,
    over_batch,
    pose_of,
    qdot_of,
)
from soacraft.spatial import crm

every_hinge = pytest.mark.parametrize("hinge", EVERY_HINGE, ids=lambda hinge: type(hinge).__name__)
holonomic = pytest.mark.parametrize("hinge", [h for h in examples() if h.holonomic], ids=lambda h: type(h).__name__)
NAMES = {name: getattr(hinges, name) for name in hinges.__all__}


def rate(path, h=2e-3):
    """The derivative of path(t) at 0, central differences of order six."""
    return sum(w * (path(k * h) - path(-k * h)) for k, w in ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))) / h


def test_examples_cover_the_list_and_every_class_of_the_folder():
    assert [type(hinge) for hinge in examples()] == list(HINGES)
    public = {x for x in NAMES.values() if isinstance(x, type) and issubclass(x, hinges.Hinge)}
    # what no kernel knows is computed as a hinge of a user's own, and tested in files of their own
    assert public == {*HINGES, *hinges.UNCOMPILED, hinges.Hinge}


@every_hinge
@pytest.mark.parametrize("seed", [0, 1])
def test_check_hinge(hinge, seed):
    report = check_hinge(hinge, seed)
    assert report.ok, report
    assert max(line.error for line in report) < 1e-11           # built-in derivatives are exact


@every_hinge
def test_prints_and_compares(hinge):
    again = eval(repr(hinge), NAMES)
    assert again == hinge
    assert hash(again) == hash(hinge)
    assert repr(again) == repr(hinge)
    assert pickle.loads(pickle.dumps(hinge)) == hinge
    assert copy.deepcopy(hinge) == hinge
    assert sum(hinge == other for other in EVERY_HINGE) == 1


@every_hinge
def test_sizes(hinge):
    assert hinge.neutral().shape == (hinge.nq,)
    assert hinge.random(np.random.default_rng(0)).shape == (hinge.nq,)
    assert hinge.batched or type(hinge) in hinges.UNCOMPILED
    assert hinge.nv <= 6


@every_hinge
def test_batches_are_one_at_a_time(hinge):
    rng = np.random.default_rng(3)
    Q = np.array([[hinge.random(rng) for _ in range(3)] for _ in range(2)])
    V = rng.standard_normal((2, 3, hinge.nv))
    calls = [(H_T_of, "H_T", (Q,)), (dH_of, "dH", (Q,)), (bias_of, "bias", (Q, V)), (qdot_of, "qdot", (Q, V)),
             (integrate_of, "integrate", (Q, V))]
    if hinge.holonomic:
        calls.append((difference_of, "difference", (Q, Q[::-1])))
    for call, method, arguments in calls:
        np.testing.assert_allclose(call(hinge, *arguments), over_batch(hinge, method, *arguments), atol=1e-14)
    assert pose_of(hinge, Q).is_close(over_batch(hinge, "pose", Q), 1e-14)
    for together, single in zip(dbias_of(hinge, Q, V), over_batch(hinge, "dbias", Q, V), strict=True):
        np.testing.assert_allclose(together, single, atol=1e-14)
    np.testing.assert_allclose(normalize_of(hinge, Q), Q, atol=1e-15)
    assert pose_of(hinge, Q[:0]).batch_shape == (0, 3)
    assert H_T_of(hinge, Q[:0]).shape == (0, 3, 6, hinge.nv)


@every_hinge
def test_one_configuration_many_velocities(hinge):
    """Leading axes broadcast: q (nq), v (4, nv)."""
    rng = np.random.default_rng(4)
    q, V = hinge.random(rng), rng.standard_normal((4, hinge.nv))
    Q = np.broadcast_to(q, (4, hinge.nq))
    for call in (bias_of, qdot_of, integrate_of):
        np.testing.assert_allclose(call(hinge, q, V), call(hinge, Q, V), atol=1e-15)
    np.testing.assert_allclose(dbias_of(hinge, q, V), dbias_of(hinge, Q, V), atol=1e-15)


@every_hinge
def test_methods_never_change_their_arguments_and_cached_results_are_read_only(hinge):
    q, v = hinge.random(np.random.default_rng(5)), np.ones(hinge.nv)
    kept = q.copy(), v.copy()
    for result in (hinge.H_T(q), hinge.dH(q), hinge.bias(q, v), hinge.integrate(q, v), hinge.qdot(q, v)):
        if result.flags.writeable:
            result[...] = 99.0
    hinge.pose(q)
    hinge.normalize(q)
    assert np.array_equal(q, kept[0])
    assert np.array_equal(v, kept[1])
    assert check_hinge(hinge).ok


@pytest.mark.parametrize("hinge", [h for h in examples() if h.nq == h.nv], ids=lambda h: type(h).__name__)
@given(seed=st.integers(0, 10_000))
def test_second_derivatives_of_the_pose_commute(hinge, seed):
    """With qdot = v: d_a(H* b) - d_b(H* a) = -crm(H* a) H* b. Ties dH to H without differences."""
    rng = np.random.default_rng(seed)
    q = hinge.random(rng)
    a, b = rng.standard_normal((2, hinge.nv))
    H, dH = hinge.H_T(q), hinge.dH(q)
    along = np.einsum("jkm,j,m->k", dH, a, b) - np.einsum("jkm,j,m->k", dH, b, a)
    np.testing.assert_allclose(along, -crm(H @ a) @ (H @ b), atol=1e-11)


@holonomic
@given(seed=st.integers(0, 10_000))
def test_integrate_difference_round_trip(hinge, seed):
    rng = np.random.default_rng(seed)
    q0, q1 = hinge.random(rng), hinge.random(rng)
    dv = rng.uniform(-1.0, 1.0, hinge.nv)
    np.testing.assert_allclose(hinge.difference(q0, hinge.integrate(q0, dv)), dv, atol=1e-12)
    arrived = hinge.integrate(q0, hinge.difference(q0, q1))
    assert hinge.pose(arrived).is_close(hinge.pose(q1), 1e-12)
    np.testing.assert_allclose(hinge.difference(q0, q0), 0.0, atol=1e-14)


@every_hinge
def test_integrate_follows_a_constant_velocity(hinge):
    """Half the motion twice is the motion: along it the velocity is constant."""
    rng = np.random.default_rng(6)
    q, dv = hinge.random(rng), rng.uniform(-2.0, 2.0, hinge.nv)
    halves = hinge.integrate(hinge.integrate(q, 0.5 * dv), 0.5 * dv)
    np.testing.assert_allclose(halves, hinge.integrate(q, dv), atol=1e-14)


@every_hinge
def test_bias_is_the_rate_of_the_hinge_map(hinge):
    rng = np.random.default_rng(7)
    q, v = hinge.random(rng), rng.standard_normal(hinge.nv)
    np.testing.assert_allclose(hinge.bias(q, v), rate(lambda t: hinge.H_T(hinge.integrate(q, t * v)) @ v), atol=1e-11)
    np.testing.assert_allclose(hinge.bias(q, v), np.einsum("jkm,j,m->k", hinge.dH(q), v, v), atol=1e-14)


@every_hinge
def test_dbias_at_a_moving_configuration(hinge):
    rng = np.random.default_rng(8)
    q, v, u = hinge.random(rng), rng.standard_normal(hinge.nv), rng.standard_normal(hinge.nv)
    in_q, in_v = hinge.dbias(q, v)
    np.testing.assert_allclose(in_q @ u, rate(lambda t: hinge.bias(hinge.integrate(q, t * u), v)), atol=1e-11)
    np.testing.assert_allclose(in_v @ u, rate(lambda t: hinge.bias(q, v + t * u)), atol=1e-11)


@every_hinge
def test_normalize_refuses(hinge):
    with pytest.raises(StateError, match=rf"coordinates of 'elbow' must have shape \(\.\.\., {hinge.nq}\), got shape "
                                         rf"\({hinge.nq + 1},\)"):
        hinge.normalize(np.zeros(hinge.nq + 1), "coordinates of 'elbow'")
    if hinge.nq:
        bad = hinge.neutral()
        bad[-1] = np.nan
        with pytest.raises(StateError, match=f"q must be finite, got nan at index {hinge.nq - 1}"):
            hinge.normalize(bad)


@pytest.mark.parametrize("hinge", [h for h in examples() if h.nq != h.nv], ids=lambda h: type(h).__name__)
def test_quaternions_are_normalised_or_refused(hinge):
    q = hinge.random(np.random.default_rng(9))
    near = q.copy()
    near[:4] *= 1 + 5e-7
    np.testing.assert_allclose(hinge.normalize(near), q, atol=1e-15)
    q[:4] *= 1.5
    with pytest.raises(StateError, match=r"q of 'base'.* is not a unit quaternion .* has norm 1.5; normalise it first"):
        hinge.normalize(q, "q of 'base'")
    assert np.linalg.norm(hinge.integrate(near, np.ones(hinge.nv))[:4]) == pytest.approx(1.0, abs=1e-15)
