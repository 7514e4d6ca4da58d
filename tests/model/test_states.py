"""States: setting, refusing, snapshots, batches, and what is computed only once."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, StateError
from soacraft.model import Multibody, random_tree, serial_chain
from soacraft.model.hinges import Free, Pin, RollingBall, Spherical
from soacraft.spatial import Inertia


def floating_arm():
    mb = Multibody("arm")
    mb.add_body("base", None, Free(), Inertia.sphere(3, 0.5))
    mb.add_body("wrist", "base", Spherical(), Inertia.sphere(1, 0.5))
    mb.add_body("finger", "wrist", Pin((0, 0, 1)), Inertia.sphere(1, 0.5), hinge_name="knuckle")
    return mb


def test_a_new_model_is_neutral_and_at_rest():
    mb = floating_arm()
    np.testing.assert_array_equal(mb.q, mb.neutral())
    np.testing.assert_array_equal(mb.v, np.zeros(10))
    np.testing.assert_array_equal(mb.vdot, np.zeros(10))


def test_the_state_can_be_set_whole_and_in_parts():
    mb = floating_arm()
    q, v = mb.random_state(seed=3)
    mb.set_state(q, v)
    mb.vdot = np.arange(10)
    np.testing.assert_allclose(mb.q, q, atol=1e-15)
    np.testing.assert_array_equal(mb.v, v)
    np.testing.assert_array_equal(mb.vdot, np.arange(10.0))
    mb.v = 2 * v
    np.testing.assert_array_equal(mb.v, 2 * v)
    with pytest.raises(ValueError, match="read-only"):
        mb.q[0] = 1.0


def test_the_arrays_given_are_copied():
    mb = serial_chain(2)
    q = np.array([0.1, 0.2])
    mb.q = q
    q[0] = 7.0
    np.testing.assert_array_equal(mb.q, [0.1, 0.2])


def quaternion_of(mb, factor):
    q = mb.neutral()
    q[7:11] *= factor
    return q


REFUSED = [
    ("q", np.zeros(11), "q of 'arm' has 12 entries, got 11; by hinge: base (7), wrist (4), knuckle."),
    ("q", np.zeros((12, 11)), "q of 'arm' has 12 entries, got shape (12, 11)"),
    ("q", 3.0, "q of 'arm' has 12 entries, got 3.0"),
    ("q", [[1, 2], [3]], "q of 'arm' must be an array of 12 real numbers, got ragged rows."),
    ("q", lambda mb: np.where(np.arange(12) == 11, np.nan, mb.neutral()),
     "q of 'arm' must be finite: entry 11, of hinge 'knuckle', is nan."),
    ("q", lambda mb: np.where(np.arange(12) == 4, np.inf, mb.neutral()),
     "q of 'arm' must be finite: entry 4, of hinge 'base', is inf."),
    ("q", lambda mb: mb.neutral() + 0j, "q of 'arm' must be real numbers, got complex numbers"),
    ("q", ["a"] * 12, "q of 'arm' must be real numbers, got text"),
    ("q", lambda mb: mb.neutral() > 0, "q of 'arm' must be real numbers, got booleans"),
    ("q", lambda mb: quaternion_of(mb, 1.01), "q of hinge 'wrist'"),
    ("q", lambda mb: quaternion_of(mb, 1.01), "has norm 1.01"),
    ("q", np.zeros(12), "q of hinge 'base'"),
    ("q", lambda mb: np.stack([mb.neutral()] * 5),
     "q of 'arm' holds one state, got an array of shape (5, 12); for a batch make a snapshot with mb.state(q, v)."),
    ("v", np.zeros(9), "v of 'arm' has 10 entries, got 9"),
    ("v", np.full(10, np.nan), "v of 'arm' must be finite: entry 0, of hinge 'base', is nan."),
    ("v", np.zeros((2, 10)), "v of 'arm' holds one state"),
    ("vdot", np.zeros(12), "vdot of 'arm' has 10 entries, got 12"),
    ("vdot", np.full(10, -np.inf), "vdot of 'arm' must be finite: entry 0, of hinge 'base', is -inf."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "text"), REFUSED, ids=[text for *_, text in REFUSED])
def test_a_bad_state_is_refused_and_the_old_one_kept(name, value, text):
    mb = floating_arm()
    mb.set_state(*mb.random_state(seed=1))
    before = mb.current
    value = value(mb) if callable(value) else value
    with pytest.raises(StateError) as error:
        setattr(mb, name, value)
    assert text in str(error.value)
    assert mb.current is before


def test_a_bad_entry_of_a_batch_is_found():
    mb = floating_arm()
    V = np.zeros((2, 3, 10))
    V[1, 2, 9] = np.nan
    with pytest.raises(StateError, match=r"^state \(1, 2\) of \(2, 3\): v .* entry 9, of hinge 'knuckle', is nan"):
        mb.state(v=V)
    Q = np.tile(mb.neutral(), (3, 1))
    Q[1, 3] = 0.5
    with pytest.raises(StateError, match=r"q of hinge 'base'.* has norm 0\.5"):
        mb.state(q=Q)


def test_states_print():
    mb = floating_arm()
    assert repr(mb.state()) == "State of 'arm': 12 coordinates, 10 velocities"
    assert repr(mb.state(v=np.zeros((4, 10)))) == "State of 'arm': 12 coordinates, 10 velocities, batch (4,)"


def test_set_state_is_all_or_nothing():
    mb = floating_arm()
    before = mb.current
    q, v = mb.random_state(seed=1)
    with pytest.raises(StateError, match="vdot of 'arm' has 10 entries"):
        mb.set_state(q, v, np.zeros(3))
    assert mb.current is before


def test_quaternions_within_a_millionth_are_normalised():
    mb = floating_arm()
    mb.q = quaternion_of(mb, 1 + 9e-7)
    np.testing.assert_allclose(mb.q, mb.neutral(), atol=1e-15)
    with pytest.raises(StateError):
        mb.q = quaternion_of(mb, 1 + 2e-6)


def test_random_states_repeat_and_leave_the_model_alone():
    mb = random_tree(12, seed=5)
    before = mb.current
    (q, v), (q2, v2), (q3, _) = mb.random_state(seed=4), mb.random_state(seed=4), mb.random_state(seed=5)
    np.testing.assert_array_equal(q, q2)
    np.testing.assert_array_equal(v, v2)
    assert not np.array_equal(q, q3)
    assert mb.current is before
    mb.set_state(q, v)


# -- snapshots and batches --------------------------------------------------------------------------------------


def test_a_snapshot_does_not_follow_the_model():
    mb = serial_chain(2)
    s = mb.state()
    mb.q = [0.5, 0.5]
    np.testing.assert_array_equal(s.q, [0, 0])
    assert mb.state() is mb.current is not s
    assert s.graph is mb
    assert s.batch == ()
    assert s.version == mb.version


def test_what_is_not_given_comes_from_the_current_state():
    mb = random_tree(5, seed=0)
    s = mb.state(v=np.zeros(mb.nv))
    np.testing.assert_array_equal(s.q, mb.q)
    np.testing.assert_array_equal(s.vdot, mb.vdot)
    assert s.configuration is mb.current.configuration


def test_batch_axes_broadcast():
    mb = serial_chain(3)
    q, v = np.zeros((4, 1, 3)), np.ones((5, 3))
    s = mb.state(q, v)
    assert s.batch == (4, 5)
    assert s.q.shape == s.v.shape == s.vdot.shape == (4, 5, 3)
    with pytest.raises(StateError, match=r"the leading \(batch\) axes do not agree: q \(4, 3\), v \(5, 3\)"):
        mb.state(np.zeros((4, 3)), np.zeros((5, 3)))


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_a_batch_is_its_states(axes):
    mb = random_tree(13, seed=2)
    tip = mb["body13/tip"]
    states = [mb.random_state(seed=k) for k in range(4)]
    Q, V = np.array([q for q, _ in states]), np.array([v for _, v in states])
    batch = mb.state(Q, V, vdot=V[::-1], forces={tip: np.arange(24.0).reshape(4, 6)})
    sko, velocities = mb.sko(batch, axes), mb.body_velocities(batch, axes)
    _k, block = mb.node_block(tip, batch, axes)
    for i in range(4):
        one = mb.state(Q[i], V[i], V[3 - i], {tip: np.arange(24.0).reshape(4, 6)[i]})
        alone = mb.sko(one, axes)
        for j in alone.nodes:
            for name in ("H", "M", "a", "b"):
                many = getattr(sko, name)(j)
                many = many[i] if many.ndim > getattr(alone, name)(j).ndim else many
                np.testing.assert_allclose(many, getattr(alone, name)(j), atol=1e-9)
            if (p := alone.parent(j)) >= 0:
                np.testing.assert_allclose(np.broadcast_to(sko.A(p, j), (4, 6, 6))[i], alone.A(p, j), atol=1e-12)
            np.testing.assert_allclose(velocities[j][i], mb.body_velocities(one, axes)[j], atol=1e-10)
        np.testing.assert_allclose(np.broadcast_to(block, (4, 6, 6))[i], mb.node_block(tip, one, axes)[1], atol=1e-12)
        np.testing.assert_allclose(np.asarray(mb.pose(tip, state=batch))[i], mb.pose(tip, state=one), atol=1e-12)
        for ask in (mb.velocity, mb.acceleration):
            many, single = ask(tip, "body2", state=batch), ask(tip, "body2", state=one)
            np.testing.assert_allclose(np.asarray(many)[i], single, atol=1e-8)


def test_states_of_another_graph_are_refused():
    mb, other = serial_chain(2), serial_chain(2, name="other")
    with pytest.raises(StateError, match="the state belongs to 'other', not to 'chain'"):
        mb.sko(other.state())
    with pytest.raises(StateError, match=r"a state is made by mb.state\(q, v\)"):
        mb.sko(np.zeros(2))
    with pytest.raises(ModelError, match="axes must be 'body', 'inertial' or 'origin', got 'world'"):
        mb.sko(axes="world")


# -- moving on the manifold -------------------------------------------------------------------------------------


def test_integrate_and_difference_are_inverse():
    mb = random_tree(11, seed=3, hinges=[h for h in random_hinges() if h.holonomic])
    q, dv = mb.q, 0.3 * mb.v
    np.testing.assert_allclose(mb.difference(q, mb.integrate(q, dv)), dv, atol=1e-12)
    Q = np.stack([mb.random_state(seed=k)[0] for k in range(3)])
    moved = mb.integrate(Q, dv)
    assert moved.shape == Q.shape
    np.testing.assert_allclose(mb.difference(Q, moved), np.broadcast_to(dv, (3, mb.nv)), atol=1e-12)


def random_hinges():
    from soacraft.model.hinges import examples

    return examples()


def test_qdot_is_the_rate_along_integrate():
    mb = random_tree(12, seed=3)
    h = 1e-5
    rate = (mb.integrate(mb.q, h * mb.v) - mb.integrate(mb.q, -h * mb.v)) / (2 * h)
    np.testing.assert_allclose(mb.qdot(), rate, atol=1e-8)
    np.testing.assert_allclose(mb.qdot(mb.q, 2 * mb.v), 2 * rate, atol=1e-8)


def test_difference_refuses_where_a_hinge_does():
    mb = Multibody("floor")
    mb.add_body("ball", None, RollingBall(0.5), Inertia.sphere(1, 0.5))
    with pytest.raises(StateError, match="nonholonomic"):
        mb.difference(mb.q, mb.q)


# -- nothing is computed twice --------------------------------------------------------------------------------


def everything(mb):
    for axes in ("body", "inertial", "origin"):
        sko = mb.sko(axes=axes)
        sko.a(0), sko.b(0)
        mb.body_velocities(axes=axes)
    mb.acceleration(mb.bodies[-1])


def test_a_velocity_change_recomputes_nothing_that_depends_on_configuration_only():
    mb = random_tree(8, seed=1)
    everything(mb)
    first = dict(mb.counters)
    assert min(first.values()) > 0
    assert set(first) == {"configuration", "velocity", "acceleration"}

    everything(mb)
    assert mb.counters == first  # the same state: nothing at all

    mb.vdot = 2 * mb.vdot
    everything(mb)
    assert (mb.counters["configuration"], mb.counters["velocity"]) == (first["configuration"], first["velocity"])

    mb.v = 2 * mb.v
    everything(mb)
    assert mb.counters["configuration"] == first["configuration"]
    assert mb.counters["velocity"] == 2 * first["velocity"]

    mb.set_state(mb.q, 3 * mb.v)  # the same q given again
    everything(mb)
    assert mb.counters["configuration"] == first["configuration"]

    mb.q = mb.integrate(mb.q, 0.1 * mb.v)
    everything(mb)
    assert mb.counters["configuration"] == 2 * first["configuration"]


def test_what_recursions_derive_is_kept_while_q_is_kept():
    mb = random_tree(4, seed=1)
    memo = mb.sko(axes="inertial").memo
    assert mb.sko() is mb.sko()
    assert mb.sko().memo is not memo
    mb.v = np.zeros(mb.nv)
    assert mb.sko(axes="inertial").memo is memo
    assert mb.state(v=np.ones(mb.nv)).sko("inertial").memo is memo
    mb.q = mb.integrate(mb.q, np.ones(mb.nv))
    assert mb.sko(axes="inertial").memo is not memo


def test_printing_and_building_compute_nothing():
    mb = random_tree(6, seed=1)
    repr(mb), mb.dof_names, mb.topology, mb.state(), mb.sko
    assert not mb.counters


def test_the_sign_of_zero_is_kept():
    mb = serial_chain(2)
    mb.set_state(q=[0.0, -0.0], v=[-0.0, 0.0])
    assert np.signbit(mb.q).tolist() == [False, True]
    assert np.signbit(mb.copy().v).tolist() == [True, False]


@pytest.mark.parametrize("given", [[True, 0.5], (0.5, np.False_), [[0.1, 0.2], [True, 0.2]], [True, True]])
def test_truth_values_are_no_coordinates(given):
    mb = sc.load("double_pendulum")
    before = mb.q.copy(), mb.v.copy()
    with pytest.raises(StateError, match="q of 'double_pendulum' must be real numbers, got booleans"):
        sc.dynamics.mass_matrix(mb, given)
    with pytest.raises(StateError, match="v of 'double_pendulum' must be real numbers, got booleans"):
        mb.set_state([0.1, 0.2], given)
    np.testing.assert_array_equal(mb.q, before[0])
    np.testing.assert_array_equal(mb.v, before[1])
