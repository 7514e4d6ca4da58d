"""What leaves the library is finite, and within memory: one test for each layer."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import analysis, results
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, SizeError, StateError

OVERFLOW = "not finite: .*numbers of this size overflow|not finite: numbers of this size overflow"


@pytest.fixture
def slides():
    """Three slides in a row and a ball."""
    mb = sc.Multibody("slides")
    parent = None
    for i in range(3):
        parent = mb.add_body(f"s{i}", parent, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0.1), np.eye(3)))
        parent.add_node("node")
    mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    return mb


def far(mb):
    q = mb.neutral()
    q[:3] = 1.6e308
    return q


def fast(mb, speed=1e200):
    return np.full(mb.nv, speed)


# -- spatial ---------------------------------------------------------------------------------------------------


def test_poses_that_overflow():
    T = sc.Pose(translation=(1.6e308, 0, 0))
    turned = sc.Pose.from_rpy(0.1, 0.7, 0.785, translation=(1.7e308, 1.7e308, 1.7e308))
    for product in (lambda: T @ T, lambda: T @ (1.6e308, 0, 0), lambda: turned.inv, lambda: turned.phi()):
        with pytest.raises(ModelError, match=f"a product with a Pose is {OVERFLOW}. Check its translation"):
            product()
    assert (T @ T.inv).translation[0] == 0.0


def test_inertias_that_overflow():
    heavy = sc.Inertia(1e308, moment=1e308 * np.eye(3))
    for make in (
        lambda: heavy + heavy,
        lambda: heavy.transformed(sc.Pose(translation=(1e10, 0, 0))),
        lambda: sc.Inertia.point(1.0, (1e200, 0, 0)),
    ):
        with pytest.raises(ModelError, match=r"must be finite|too far away"):
            make()


# -- algebra ---------------------------------------------------------------------------------------------------


def test_products_blocks_and_traces_that_overflow():
    mb = sc.serial_chain(3, length=1e100, mass=1.0)
    s = sc.operators(mb)
    mass = s.H * s.phi * s.M * s.phi.T * s.H.T
    big = np.full(3, 1e200)
    for make in (
        lambda: mass * big,
        lambda: (mass * mass * mass) * np.ones(3),
        lambda: mass**4 * np.ones(3),
        lambda: (mass**4).array(),
        lambda: np.asarray(mass**4),
        lambda: (mass**4).trace(),
        lambda: (mass**4)["link1", "link2"],
        lambda: (mass**4)["link1"]["link2"],
        lambda: (mass**4).by_branch(),
        lambda: (1e308 * s.M * 1e10).array(),
        lambda: 1e308 * (mass * np.ones(3)),
        lambda: (mass * np.ones(3)).dot(np.full(3, 1e200)),
        lambda: (mass * np.ones(3)) / 1e-200,
        lambda: (mass**4).at(q=[0.1, 0.2, 0.3]) * np.ones(3),
        lambda: (mass * mass * mass * mass).compile()(np.zeros(3), None, np.ones(3)),
    ):
        with pytest.raises(StateError, match=OVERFLOW):
            make()


def test_stacked_vectors_of_a_state_that_overflow(slides):
    slides.v = fast(slides)
    slides.q = slides.random_state(0)[0]
    s = sc.operators(slides)
    for name in ("a", "b", "alpha"):
        with pytest.raises(StateError, match=OVERFLOW):
            getattr(s, name)
    assert np.isfinite(np.asarray(s.V)).all()


# -- model -----------------------------------------------------------------------------------------------------


def test_motion_that_overflows(slides):
    q, v = far(slides), fast(slides, 1.2e308)
    state = slides.state(q=q)
    moving = slides.state(q=slides.random_state(1)[0], v=fast(slides))
    for make in (
        lambda: slides.integrate(q, v),
        lambda: slides.difference(-q * (np.arange(slides.nq) < 3) + slides.neutral() * (np.arange(slides.nq) >= 3), q),
        lambda: slides.qdot(slides.random_state(0)[0], np.full(slides.nv, 1.7e308)),
        lambda: slides.pose("s2/node", state=state),
        lambda: slides.sko(state, "inertial"),
        lambda: slides.node_block("s2/node", state, axes="inertial"),
        lambda: slides.velocity("s2/node", state=slides.state(v=v)),
        lambda: slides.acceleration("ball", state=moving),
        lambda: moving.b,
        lambda: moving.alpha,
        lambda: slides.body_velocities(slides.state(v=v)),
    ):
        with pytest.raises(StateError, match=OVERFLOW):
            make()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_setters_refuse_what_is_not_finite_and_keep_the_state(slides, bad):
    slides.v = np.ones(slides.nv)
    for name in ("q", "v", "vdot"):
        before = getattr(slides, name).copy()
        value = before.copy()
        value[-1] = bad
        with pytest.raises(StateError, match=f"{name} of 'slides' must be finite: entry {len(value) - 1}"):
            setattr(slides, name, value)
        np.testing.assert_array_equal(getattr(slides, name), before)


# -- analysis --------------------------------------------------------------------------------------------------


def test_analyses_that_overflow():
    mb = sc.Multibody("arm")
    mb.add_body("link1", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.add_body("link2", "link1", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.add_body("link3", "link2", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3))).add_node("tip")
    q, v = np.full(3, 1e160), np.full(3, 1e160)
    far_away = np.array([0.3, 1.6e308, 1.6e308])
    for make in (
        lambda: analysis.parameter_regressor(mb, q, v, np.full(3, 1e300)),
        lambda: analysis.linearize(mb, far_away, v, v),
        lambda: analysis.jacobian_gradient(mb, far_away, "link3/tip"),
        lambda: analysis.manipulability(mb, far_away, "link3/tip"),
        lambda: analysis.diagonalize(mb, far_away, v),
        lambda: analysis.operational_space(mb, far_away, "link3/tip"),
        lambda: analysis.disturbance_jacobian(mb, far_away, "link3/tip", ["link1"]),
        lambda: analysis.underactuated(mb, far_away, v, passive=["link1"]),
        lambda: analysis.christoffel(mb, far_away),
        lambda: analysis.fixman_potential(mb, far_away),
        lambda: analysis.fixman_force(mb, far_away),
        lambda: analysis.forward_dynamics_sensitivity(mb, far_away, v, v),
    ):
        with pytest.raises(StateError, match=OVERFLOW):
            make()


# -- memory ----------------------------------------------------------------------------------------------------


@pytest.fixture
def little_memory(monkeypatch):
    """One megabyte is free."""
    monkeypatch.setattr(results, "free_memory", lambda: 1_000_000)
    monkeypatch.setattr(results, "SMALL", 0)


def test_dense_results_beyond_half_of_the_memory(little_memory):
    mb = sc.serial_chain(300)
    q = [0.0] * 300  # lists are read by Python, which looks at the memory; quick calls look from 128 MB on
    text = r"of shape \(300, 300\), would take 720 kB, more than half of the 1 MB of free memory. Use mass_matrix_{}"
    with pytest.raises(SizeError, match="the result of mass_matrix for 'chain', " + text.format("multiply")):
        dyn.mass_matrix(mb, q)
    with pytest.raises(SizeError, match=text.format("solve")):
        dyn.mass_matrix_inverse(mb, q)
    assert dyn.mass_matrix_multiply(mb, q, np.ones(300)).shape == (300,)
    out = np.empty((300, 300))
    assert dyn.mass_matrix(mb, q, out=out) is out  # its memory is there already
    for make in (
        lambda: dyn.inverse_dynamics_derivatives(mb, q, q, q),
        lambda: dyn.forward_dynamics_derivatives(mb, q, q, q),
        lambda: analysis.mass_matrix_gradient(sc.serial_chain(60), [0.0] * 60),
        lambda: analysis.coriolis_matrix(mb, q, q),
        lambda: analysis.linearize(mb, q, q, q),
        lambda: analysis.jacobian_gradient(mb, q, "link300/tip"),
        lambda: analysis.parameter_regressor(mb, q, q, q),
    ):
        with pytest.raises(SizeError, match="more than half of the 1 MB of free memory"):
            make()


def test_dense_operators_beyond_half_of_the_memory(little_memory):
    s = sc.operators(sc.serial_chain(300))
    mass = s.H * s.phi * s.M * s.phi.T * s.H.T
    for make in (mass.array, lambda: np.asarray(mass), mass.by_branch, s.phi.array):
        with pytest.raises(SizeError, match=r"the dense matrix of .* would take .* Multiply the operator with vectors"):
            make()
    with pytest.raises(SizeError, match=r"\* x, of shape \(300, 300\)"):
        mass * np.broadcast_to(1.0, (300, 300))
    assert np.isfinite(np.asarray(mass * np.ones(300))).all()
    assert mass["link1", "link2"].shape == (1, 1)


def test_batches_beyond_half_of_the_memory(little_memory):
    """Also one that takes no memory yet: numpy can repeat a row a million times."""
    mb = sc.load("arm7")
    many = np.broadcast_to(np.zeros(7), (10**6, 7))
    for make in (
        lambda: dyn.forward_dynamics(mb, many, many, many),
        lambda: mb.state(q=many),
        lambda: mb.integrate(many, many),
    ):
        with pytest.raises(SizeError, match=r"q of 'arm7', of shape \(1000000, 7\), .* Take the batch in parts\."):
            make()
    few = np.zeros((1000, 7))
    with pytest.raises(SizeError, match=r"what interbody_forces for 'arm7' works on, .* Take the batch in parts\."):
        dyn.interbody_forces(mb, few, few, few)


def test_a_handle_looks_at_the_memory_before_it_takes_much(monkeypatch):
    """Small results are made at once; those of more than 128 MB are looked at."""
    mb = sc.load("arm7")
    d = sc.Dynamics(mb)
    monkeypatch.setattr(results, "free_memory", lambda: 200_000_000)
    q = np.zeros((2**24 // 49 + 1, 7))
    with pytest.raises(SizeError, match=r"the result of mass_matrix for 'arm7', of shape \(342393, 7, 7\)"):
        d.mass_matrix(q)
    assert isinstance(SizeError("x"), MemoryError)
    assert d.mass_matrix(q[:3]).shape == (3, 7, 7)


def test_free_memory_is_what_the_system_says():
    free = results.free_memory()
    assert free is None or 2**20 < free < 2**50
