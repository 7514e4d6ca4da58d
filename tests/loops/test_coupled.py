"""Models that couplings alone tie: `soacraft.dynamics` answers for them, in the sizes of the tree."""

import numpy as np
import pytest
from tests.loops.by_name import by_name
from tests.loops.cases import near, tie

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.analysis import linearize, operational_space
from soacraft.errors import LoopError, StateError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

SOLVERS = [TreeAugmented, FullyAugmented, ConstraintEmbedding]


def gripper(follows=(-1.0,)):
    """An arm of three pins with two fingers; the right finger follows the left one: right = follows(left)."""
    mb = sc.serial_chain(3)
    for i, side in enumerate(("left", "right")):
        inertia = sc.Inertia(0.3 + 0.1 * i, (0.05, 0.02, 0.1), 1e-2 * np.eye(3))
        finger = mb.add_body(side, "link3", sc.Pin((0, 1, 0.3 * i)), inertia, sc.Pose(np.eye(3), (0.1 * i, 0, 1)))
        finger.add_node("pad", sc.Pose(np.eye(3), (0, 0, 0.2)))
    mb.couple("mimic", {"right": 1.0, "left": tuple(-x for x in follows)})
    left = 0.4
    mb.q = [0.2, -0.5, 0.9, left, np.polynomial.polynomial.polyval(left, (0.0, *follows))]
    return mb


def by_hand(mb, follows, v_i=(0.7, -0.3, 0.5, 1.1)):
    """X, x0 and v, from the derivatives of right = follows(left) alone."""
    p = np.polynomial.Polynomial((0.0, *follows))
    slope, bend = p.deriv()(mb.q[3]), p.deriv(2)(mb.q[3])
    X = np.vstack([np.eye(4), [0, 0, 0, slope]])
    return X, np.array([0, 0, 0, 0, bend * v_i[3] ** 2]), X @ v_i


def placed(x):
    """What belongs to the four independent dofs, with zeros at the fifth."""
    return np.pad(x, [(0, 1)] * x.ndim)


LINEAR, CURVED = (-1.0,), (-1.0, 0.6, 0.2)
both = pytest.mark.parametrize("follows", [LINEAR, CURVED], ids=["linear", "curved"])


@both
def test_the_functions_by_hand(follows):
    mb = gripper(follows)
    X, x0, v = by_hand(mb, follows)
    q, force = mb.q, np.arange(5.0)
    M, C = (f(mb, q, *a, ignore_loops=True) for f, a in ((dyn.mass_matrix, ()), (dyn.bias_force, (v,))))
    M_i, C_i = X.T @ M @ X, X.T @ (C + M @ x0)
    near(dyn.mass_matrix(mb, q), placed(M_i))
    inverse = X @ np.linalg.inv(M_i) @ X.T
    near(dyn.mass_matrix_inverse(mb, q), inverse)
    near(dyn.mass_matrix_multiply(mb, q, force), placed(M_i) @ force)
    near(dyn.mass_matrix_solve(mb, q, force), inverse @ force)
    near(dyn.log_det_mass_matrix(mb, q), np.linalg.slogdet(M_i)[1])
    near(dyn.bias_force(mb, q, v), placed(C_i))
    near(dyn.gravity_force(mb, q), placed(X.T @ dyn.gravity_force(mb, q, ignore_loops=True)))
    vdot = X @ np.linalg.solve(M_i, X.T @ force - C_i) + x0
    near(dyn.forward_dynamics(mb, q, v, force), vdot)
    near(dyn.inverse_dynamics(mb, q, v, vdot), placed(X.T @ force))
    near(dyn.mass_matrix(mb, q) @ vdot + dyn.bias_force(mb, q, v), dyn.inverse_dynamics(mb, q, v, vdot))
    J = dyn.jacobian(mb, q, "right/pad")
    near(dyn.operational_space_compliance(mb, q, "right/pad"), J @ inverse @ J.T)
    pull = {"right/pad": [0.1, 0.2, 0.3, 4, 5, 6]}
    wanted = X.T @ dyn.compensating_force(mb, q, pull, ignore_loops=True)
    near(dyn.compensating_force(mb, q, pull), placed(wanted))
    near(np.asarray(dyn.interbody_forces(mb, q, v, vdot)),
         np.asarray(dyn.interbody_forces(mb, q, v, vdot, ignore_loops=True)))  # fmt: skip
    space = operational_space(mb, q, "left/pad", allow_singular=True)
    near(space.compliance, space.jacobian @ inverse @ space.jacobian.T)
    near(space.consistent_inverse, inverse @ space.jacobian.T @ np.linalg.pinv(space.compliance, rcond=1e-9), 1e-7)
    v_free, T = dyn.mixed_dynamics(mb, q, v, force, np.zeros(5), ["link2"])
    assert abs(v_free[1]) < 1e-12
    near(dyn.forward_dynamics(mb, q, v, T), v_free)


@both
def test_derivatives_along_the_motions_that_couplings_allow(follows):
    mb = gripper(follows)
    X, _, v = by_hand(mb, follows)
    force, h = np.arange(5.0), 1e-6
    dq, dv, dforce = dyn.forward_dynamics_derivatives(mb, mb.q, v, force)
    near(dforce, dyn.mass_matrix_inverse(mb, mb.q))

    def vdot(v_i):
        return dyn.forward_dynamics(mb, mb.q, X @ v_i, force)

    start = np.linalg.lstsq(X, v, rcond=None)[0]
    for i, e in enumerate(np.eye(4)):
        near((dv @ X)[:, i], (vdot(start + h * e) - vdot(start - h * e)) / (2 * h), 1e-6)
    lin = linearize(mb, mb.q, v, force)
    assert lin.dof_names == ("link1", "link2", "link3", "left")
    near(lin.B[4:], dforce[:4])
    if follows == LINEAR:
        for i, e in enumerate(np.eye(4)):
            ends = [dyn.forward_dynamics(mb, mb.q + s * h * X @ e, v, force) for s in (1, -1)]
            near((dq @ X)[:, i], (ends[0] - ends[1]) / (2 * h), 1e-6)
        dT = dyn.inverse_dynamics_derivatives(mb, mb.q, v, np.zeros(5))
        for i, e in enumerate(np.eye(4)):
            ends = [dyn.inverse_dynamics(mb, mb.q + s * h * X @ e, v, np.zeros(5)) for s in (1, -1)]
            near((dT[0] @ X)[:, i], (ends[0] - ends[1]) / (2 * h), 1e-6)
        near(dT[2], dyn.mass_matrix(mb, mb.q))
    else:
        with pytest.raises(LoopError, match=r"couplings of 'chain' are not linear.*Take forward_dynamics_derivatives"):
            dyn.inverse_dynamics_derivatives(mb, mb.q, v, np.zeros(5))


def test_a_geared_pendulum_in_closed_form():
    """A bob on a rod with a wheel that turns n times as fast: (m l^2 + n^2 J) theta'' = -m g l sin(theta)."""
    mb = sc.Multibody("geared pendulum", gravity=(0, 0, -9.81))
    mb.add_body("bob", None, sc.Pin((0, 1, 0)), sc.Inertia.point(2.0, (0, 0, -0.5)))
    mb.add_body("wheel", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3)))
    mb.couple("gear", {"wheel": 1.0, "bob": -6.0})
    q = [0.3, 1.8]
    J = 2.0 * 0.25 + 36 * 0.01
    vdot = -2.0 * 9.81 * 0.5 * np.sin(0.3) / J
    near(dyn.forward_dynamics(mb, q, [0, 0], [0, 0]), np.array([vdot, 6 * vdot]))
    near(dyn.mass_matrix(mb, q), np.diag([J, 0.0]))
    near(np.abs(linearize(mb, [0, 0], [0, 0], [0, 0]).eigenvalues.imag), np.full(2, np.sqrt(9.81 / J)))


@pytest.mark.parametrize("kind", SOLVERS)
@both
def test_solvers_have_them_in_independent_coordinates(kind, follows):
    mb = gripper(follows)
    X, _, v = by_hand(mb, follows)
    s = kind(mb)
    assert s.independent(mb.q) == ("link1", "link2", "link3", "left")  # the master of a mimic joint
    near(s.mass_matrix(mb.q), X.T @ dyn.mass_matrix(mb, mb.q, ignore_loops=True) @ X)
    near(s.mass_matrix_inverse(mb.q) @ s.mass_matrix(mb.q), np.eye(4))
    near(s.mass_matrix(mb.q, "all"), dyn.mass_matrix(mb, mb.q))
    near(s.gravity_force(mb.q), dyn.gravity_force(mb, mb.q)[:4])
    near(s.bias_force(mb.q, v), dyn.bias_force(mb, mb.q, v)[:4])
    near(s.jacobian(mb.q, "right/pad"), dyn.jacobian(mb, mb.q, "right/pad") @ X)
    vdot = s.forward_dynamics(mb.q, v, np.arange(5.0)).vdot
    near(s.inverse_dynamics(mb.q, v, vdot), s.inverse_dynamics(mb.q, v, by_name(s, mb.q, vdot[:4])))
    with pytest.raises(LoopError, match=r"vdot of all dofs of 'chain' does not agree with its closures: .* at 'mimic'"):
        s.inverse_dynamics(mb.q, v, vdot + np.eye(5)[4])
    with pytest.raises(LoopError, match="coordinates of mass_matrix must be 'independent' or 'all', got 'some'"):
        s.mass_matrix(mb.q, "some")


def test_loops_too():
    """Of a closed chain: T = Mcal vdot + C in both coordinates, and the operators of the embedded system agree."""
    mb = sc.load("five_bar")
    s = ConstraintEmbedding(mb)
    q = s.assemble(mb.q)
    v = s.project_velocity(q, np.linspace(-1, 1, mb.nv))
    force = np.linspace(1, 2, mb.nv)
    r = s.forward_dynamics(q, v, force)
    O = s.operators(q, v)
    near(s.mass_matrix(q), (O.H * O.phi * O.M * O.phi.T * O.H.T).array())
    near(s.mass_matrix(q) @ r.vdot_independent + s.bias_force(q, v), np.asarray(s.operators(q, v, force=force).T), 1e-8)
    C = s.bias_force(q, v, coordinates="all")
    near(s.mass_matrix(q, "all") @ r.vdot + C, s.inverse_dynamics(q, v, r.vdot), 1e-8)
    with pytest.raises(LoopError, match=r"mass_matrix: 'five_bar.*' has loop"):
        dyn.mass_matrix(mb, q)


def test_batches_out_handles_and_sub_graphs():
    mb = gripper(CURVED)
    _, _, v = by_hand(mb, CURVED)
    q = np.array([mb.q, mb.q])
    q[1, 0] += 0.5
    d = dyn.Dynamics(mb)
    M = dyn.mass_matrix(mb, q)
    for i in range(2):
        near(d.mass_matrix(q[i]), M[i])
    out = np.empty((2, 5))
    assert dyn.forward_dynamics(mb, q, v, np.zeros(5), out=out) is out
    near(out[0], d.forward_dynamics(mb.q, v, np.zeros(5)))
    kept = out.copy()
    with pytest.raises(StateError, match=r"out of forward_dynamics must be .* of shape \(5,\), got shape \(2, 5\)"):
        dyn.forward_dynamics(mb, mb.q, v, np.zeros(5), out=out)
    np.testing.assert_array_equal(out, kept)
    hand = mb.subgraph(["link3", "left", "right"])
    near(dyn.mass_matrix(hand, hand.q)[2], np.zeros(3))
    assert dyn.mass_matrix(hand, hand.q).shape == (3, 3)


def test_a_state_off_its_couplings_is_refused():
    mb = gripper()
    q = mb.q.copy()
    q[4] += 0.2
    with pytest.raises(LoopError, match="'mimic'"):
        dyn.mass_matrix(mb, q)
    assert dyn.mass_matrix(mb, q, ignore_loops=True).shape == (5, 5)


def test_masters_of_masters():
    """A dof that follows one which follows a third."""
    mb = sc.serial_chain(3)
    mb.couple("first", {"link2": 1.0, "link1": -2.0})
    mb.couple("second", {"link3": 1.0, "link2": -0.5})
    for kind in SOLVERS:
        assert kind(mb).independent(mb.q) == ("link1",)
    X = np.array([1.0, 2.0, 1.0])
    near(dyn.mass_matrix(mb, mb.q)[0, 0], X @ dyn.mass_matrix(mb, mb.q, ignore_loops=True) @ X)
    tie(mb, "third", ["link1", "link3"], [(1.0,), (-1.0,)])
    assert len(TreeAugmented(mb).independent(mb.q)) == 1
