"""Springs and bushings between nodes: closed forms, an energy whose gradient they are, Newton's third law, refusals.
(MuJoCo's spatial tendons: tests/files/mjcf/test_passive.py; all dynamics with them: tests/dynamics/test_passive.py.)"""

import numpy as np
import pytest
import scipy.linalg
from tests.dynamics.calls import close, tree
from tests.dynamics.springs import linked, random_pose

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StateError


def ball(hinge=None):
    """A free ball of 2 kg with a hook on it, and a wall."""
    mb = sc.Multibody("ball", gravity=(0, 0, 0))
    mb.add_body("ball", None, hinge or sc.Free(), sc.Inertia(2.0, (0, 0, 0), np.diag([0.3, 0.4, 0.5])))
    mb["ball"].add_node("hook", sc.Pose(translation=[0.0, 0.0, 0.1]))
    mb.root.add_node("wall", sc.Pose(translation=[0.0, 0.0, 1.1]))
    return mb


def test_a_spring_pulls_along_its_line():
    """3 m apart, 1 m at rest, parting at 2 m/s: k 2 + c 2; on a hook off the centre it turns the ball as well."""
    mb = ball()
    mb.add_spring("s", "inertial/wall", "ball/hook", stiffness=5.0, length=1.0, damping=0.5)
    q, v = mb.integrate(mb.neutral(), [0, 0, 0, 3.0, 0, 1.0]), np.array([0, 0, 0, 2.0, 0, 0])
    force = dyn.passive_force(mb, q, v)
    np.testing.assert_allclose(force, [0, -0.1 * 11.0, 0, -11.0, 0, 0], atol=1e-14)
    assert dyn.passive_energy(mb, q) == pytest.approx(0.5 * 5.0 * 2.0**2, rel=1e-15)
    np.testing.assert_allclose(dyn.forward_dynamics(mb, q, v, np.zeros(6))[3:], [-5.5, 0, 0], atol=1e-14)
    np.testing.assert_allclose(dyn.forward_dynamics(mb, q, v, np.zeros(6), passive=False), np.zeros(6), atol=0)


def test_a_rope_is_slack_below_its_length():
    mb = ball(sc.Prismatic((0, 0, 1)))
    mb.add_spring("rope", "inertial/wall", "ball", stiffness=7.0, length=(0.0, 0.6))
    assert dyn.passive_force(mb, [0.6], [0.0]) == pytest.approx([0.0], abs=0)  # 0.5 m
    assert dyn.passive_force(mb, [0.1], [0.0]) == pytest.approx([7.0 * 0.4], rel=1e-14)


def test_a_spring_around_a_post_pulls_by_its_whole_length():
    """Wall, post and hook are at the corners of a triangle of sides 3, 4 and 5: L = 7."""
    mb = sc.Multibody("crane", gravity=(0, 0, 0))
    mb.add_body("load", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0))
    mb.root.add_node("winch", sc.Pose(translation=[3.0, 0.0, 4.0]))
    mb.root.add_node("post", sc.Pose(translation=[0.0, 0.0, 4.0]))
    mb.add_spring("cable", "inertial/winch", "load", 2.0, 6.5, through=["inertial/post"])
    assert dyn.passive_force(mb, [0.0], [0.0]) == pytest.approx([2.0 * 0.5], rel=1e-15)


def test_a_torsion_spring_turns_back():
    mb = ball(sc.Spherical())
    mb.add_torsion_spring("t", "inertial", "ball", 3.0, 0.2)
    w = np.array([0.3, -0.5, 0.4])
    q = mb.integrate(mb.neutral(), w)
    np.testing.assert_allclose(dyn.passive_force(mb, q, np.zeros(3)), -3.0 * w, rtol=1e-14)
    np.testing.assert_allclose(dyn.passive_force(mb, q, w) + 3.0 * w, -0.2 * w, rtol=1e-12)  # along its own axis


@pytest.mark.parametrize("seed", range(3))
def test_a_bushing_is_the_logarithm_of_a_displacement(seed):
    """Its energy with scipy's logarithm of a 4 x 4 matrix, and its force as the gradient of that along a free hinge."""
    rng = np.random.default_rng(seed)
    mb = ball()
    mb.root.add_node("a", random_pose(rng))
    mb["ball"].add_node("b", random_pose(rng))
    K, rest = (lambda x: x @ x.T)(rng.standard_normal((6, 6))), random_pose(rng)
    mb.add_bushing("mount", "inertial/a", "ball/b", K, rest=rest)
    q, _ = mb.random_state(rng)

    def energy(q):
        at_rest = mb.pose("inertial/a").as_matrix() @ rest.as_matrix()
        X = np.linalg.inv(at_rest) @ mb.pose("ball/b", state=mb.state(q)).as_matrix()
        L = scipy.linalg.logm(X).real
        x = np.array([L[2, 1], L[0, 2], L[1, 0], *L[:3, 3]])
        return 0.5 * x @ K @ x

    assert dyn.passive_energy(mb, q) == pytest.approx(energy(q), rel=1e-11)
    h = 1e-4
    slope = [
        (8 * (energy(mb.integrate(q, h * e)) - energy(mb.integrate(q, -h * e)))
         - energy(mb.integrate(q, 2 * h * e)) + energy(mb.integrate(q, -2 * h * e))) / (12 * h)
        for e in np.eye(6)
    ]  # fmt: skip
    close(dyn.passive_force(mb, q, np.zeros(6)), -np.array(slope), 1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_forces_between_bodies_leave_the_momentum(seed):
    """A free tree with springs and bushings between its bodies: the rate of its momentum is that of none."""
    rng = np.random.default_rng(seed)
    mb = sc.Multibody("free", gravity=(0, 0, 0))
    for i in range(5):
        hinge = [sc.Free(), sc.Pin((0, 1, 0)), sc.Spherical(), sc.Gimbal(), sc.Prismatic((1, 0, 0))][i]
        parent = None if i == 0 else f"b{rng.integers(i)}"
        mb.add_body(f"b{i}", parent, hinge, sc.Inertia(1.0, (0.1, 0, 0.2), 0.3 * np.eye(3)), random_pose(rng))
    linked(mb, rng)
    mb.remove_spring("rope")
    mb.remove_bushing("twist")
    q, v = mb.random_state(rng)
    vdot = dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv))
    bare = dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv), passive=False)
    M = dyn.centroidal_momentum_matrix(mb, q)
    assert np.abs(M @ (vdot - bare)).max() < 1e-11 * np.abs(M).max() * np.abs(vdot - bare).max()
    assert np.abs(vdot - bare).max() > 1e-3


def test_the_hinge_feels_what_a_spring_does_to_its_body():
    """A beam hangs by a pin and by a spring at its end, at rest: the pin carries the rest of the weight."""
    mb = sc.Multibody("beam", gravity=(0, 0, -10.0))
    mb.add_body("beam", None, sc.Pin((0, 1, 0)), sc.Inertia(4.0, (1.0, 0, 0), np.eye(3)))
    mb["beam"].add_node("end", sc.Pose(translation=[2.0, 0, 0]))
    mb.root.add_node("hook", sc.Pose(translation=[2.0, 0, 3.0]))
    mb.add_spring("s", "beam/end", "inertial/hook", stiffness=10.0, length=1.0)  # pulls with 20 N
    assert dyn.forward_dynamics(mb, [0.0], [0.0], [0.0]) == pytest.approx([0.0], abs=1e-13)
    f = dyn.interbody_forces(mb, [0.0], [0.0], [0.0])["beam"]
    np.testing.assert_allclose(f, [0, 0, 0, 0, 0, 20.0], atol=1e-13)


def test_batches_and_sub_graphs():
    mb = linked(tree(5, n=8), np.random.default_rng(5))
    q, v = mb.random_state(1)
    Q = np.stack([q, mb.random_state(2)[0], mb.random_state(3)[0]])
    both = dyn.forward_dynamics(mb, Q, v, np.zeros(mb.nv))
    for one, x in zip(Q, both, strict=True):
        close(x, dyn.forward_dynamics(mb, one, v, np.zeros(mb.nv)), 1e-12)
    rope = mb.springs["rope"].nodes[1].carrier
    part = mb.subgraph([rope])
    assert part.springs.names == ("rope",)
    mb.set_state(q, v)
    alone = dyn.passive_force(mb.subgraph([rope], anchor="moving"), q[rope.q_slice], v[rope.v_slice])
    for name in ("span", "mount", "twist"):
        (mb.remove_spring if name in mb.springs.names else mb.remove_bushing)(name)
    close(alone, dyn.passive_force(mb, q, v)[rope.v_slice], 1e-12)


def test_a_moved_node_moves_the_spring():
    mb = ball(sc.Prismatic((0, 0, 1)))
    mb.add_spring("s", "inertial/wall", "ball/hook", stiffness=5.0, length=0.5)
    assert dyn.passive_force(mb, [0.0], [0.0]) == pytest.approx([2.5], rel=1e-14)
    mb["ball/hook"].pose = sc.Pose(translation=[0.0, 0.0, 0.3])
    assert dyn.passive_force(mb, [0.0], [0.0]) == pytest.approx([1.5], rel=1e-13)
    mb.remove_spring("s")
    assert dyn.passive_force(mb, [0.0], [0.0]) == [0.0]


def test_it_swings_as_its_closed_form_and_keeps_its_energy():
    """z'' = -(k/m) (z - rest) - (c/m) z'."""
    mb = ball(sc.Prismatic((0, 0, 1)))
    mb.root.add_node("below", sc.Pose(translation=[0.0, 0.0, -2.0]))
    mb.add_spring("s", "inertial/below", "ball", stiffness=8.0, length=2.0, damping=0.4)
    mb.set_state([0.3], [0.0])
    run = sc.sim.Propagator(mb, rtol=1e-11).advance_to(2.0)
    a, w = 0.1, np.sqrt(4.0 - 0.1**2)
    expected = 0.3 * np.exp(-a * 2.0) * (np.cos(w * 2.0) + a / w * np.sin(w * 2.0))
    assert mb.q == pytest.approx([expected], rel=1e-9)
    run.check()
    assert "springs and bushings between nodes: 's'" in str(sc.sim.Propagator(mb).report())


REFUSED = [
    (lambda mb: mb.add_spring("s", "ball", "ball/hook"), "all its nodes are on 'ball', where it would do nothing"),
    (lambda mb: mb.add_spring("s", "inertial", "ball", length=(0.2, 0.1)), "goes from 0.2 up to 0.1: give the lower"),
    (lambda mb: mb.add_spring("s", "inertial", "ball", length=-1.0), "must be >= 0"),
    (lambda mb: mb.add_spring("s", "inertial", "ball", stiffness=np.nan), "the stiffness of spring 's'"),
    (lambda mb: mb.add_spring("s", "inertial", "ball", through="wall"), "goes through a list of nodes"),
    (lambda mb: mb.add_spring("s", "inertial", "nowhere"), "nowhere"),
    (lambda mb: mb.add_bushing("b", "inertial", "ball", np.eye(6) + np.eye(6, k=1)), "must be symmetric"),
    (lambda mb: mb.add_bushing("b", "inertial", "ball", [1, 2, 3]), "the stiffness of bushing 'b'"),
    (lambda mb: mb.add_bushing("b", "inertial", "ball", 1.0, rest=np.eye(4)), "is the Pose of node b relative to node"),
    (lambda mb: [mb.add_spring("s", "inertial", "ball") for _ in range(2)], "already has a spring 's'"),
    (lambda mb: (mb.add_spring("s", "inertial", "ball/hook"), mb.remove("ball")), "take that away first with mb."),
    (lambda mb: mb.remove_spring("s"), "spring"),
]  # fmt: skip


@pytest.mark.parametrize(("act", "text"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_refusals(act, text):
    with pytest.raises(ModelError) as error:
        act(ball())
    assert text in str(error.value)


def test_a_spring_without_a_direction_is_refused():
    mb = ball()
    mb.add_spring("s", "inertial", "ball", 3.0, length=0.5)
    with pytest.raises(StateError, match="spring 's' has no direction: two of its nodes are at one point"):
        dyn.forward_dynamics(mb, mb.neutral(), np.zeros(6), np.zeros(6))
    mb.remove_spring("s")
    mb.add_spring("s", "inertial", "ball", 3.0, damping=2.0)
    with pytest.raises(StateError, match="at one point, and its damper moves"):
        dyn.forward_dynamics(mb, mb.neutral(), np.ones(6), np.zeros(6))
    assert not dyn.forward_dynamics(mb, mb.neutral(), np.zeros(6), np.zeros(6)).any()


@pytest.mark.parametrize("gap", [1.0, 0.02, 1e-3, 1e-5])
def test_derivatives_of_a_short_spring(gap):
    """A spring much shorter than the model: d(vdot)/dq against a closed form, k (1 - rest/L) across."""
    mb = ball(sc.Prismatic((1, 0, 0)))
    mb.root.add_node("near", sc.Pose(translation=[0.0, 0.0, gap]))
    mb.add_spring("s", "inertial/near", "ball", stiffness=100.0, length=0.5 * gap)
    dq, dv, _ = dyn.forward_dynamics_derivatives(mb, [0.0], [0.0], [0.0])
    assert dq == pytest.approx(np.array([[-100.0 * 0.5 / 2.0]]), rel=1e-6)
    assert dv == pytest.approx(np.zeros((1, 1)), abs=1e-9)


def test_derivatives_near_half_a_turn_and_near_slack():
    mb = ball(sc.Pin((0, 0, 1)))
    mb.add_torsion_spring("t", "inertial", "ball", 5.0)
    assert dyn.inverse_dynamics_derivatives(mb, [np.pi - 4e-3], [0.0], [0.0])[0] == pytest.approx(5.0, rel=1e-7)
    mb = ball(sc.Prismatic((0, 0, 1)))
    mb.add_spring("rope", "inertial/wall", "ball", stiffness=7.0, length=(0.0, 0.6))
    for z, k in ((0.5 - 1e-4, 7.0), (0.5 + 1e-4, 0.0)):  # 0.6 m from the wall it gets slack
        assert dyn.inverse_dynamics_derivatives(mb, [z], [0.0], [0.0])[0] == pytest.approx(k, abs=1e-6)


@pytest.mark.parametrize("off", [-1e-4, 1e-4, 0.03])
def test_derivatives_next_to_corners_of_curves(off):
    """Force over length and over rate by broken lines: the slope next to a corner is that of its own line, where
    compiled code answers and where Python does, as for a model with gravity compensation."""
    answers = []
    for compensation in (0.0, 1.0):
        mb = sc.Multibody("arm", gravity=(0, 0, 0))
        for name, parent in (("upper", None), ("lower", "upper")):
            at = sc.Pose(translation=(0.0 if parent is None else 1.0, 0, 0))
            mb.add_body(name, parent, sc.Pin((0, 0.2, 1)), sc.Inertia.box(1.0, (0.8, 0.1, 0.2)), at)
        mb["lower"].add_node("tip", sc.Pose(translation=(0.9, 0.1, 0.0)))
        mb.root.add_node("post", sc.Pose(translation=(0.3, -0.8, 0.2)))
        mb.set_state([0.3, 0.5], [0.4, -0.7])
        d = mb.pose("lower/tip").translation - mb.pose("inertial/post").translation
        L = float(np.linalg.norm(d))
        rate = float(mb.velocity("lower/tip").linear @ d) / L
        force = sc.Curve([L - 1.0, L + off, L + 1.0], [-2.0, 0.0, 9.0], "linear")
        damper = sc.Curve([rate - 1.0, rate + off, rate + 1.0], [-1.0, 0.0, 7.0], "linear")
        mb.add_spring("s", "inertial/post", "lower/tip", force, damping=damper)
        mb["upper"].gravity_compensation = compensation
        answers.append(dyn.inverse_dynamics_derivatives(mb, mb.q, mb.v, np.zeros(2)))
    for compiled, python in zip(*answers, strict=True):
        np.testing.assert_allclose(python, compiled, rtol=1e-9, atol=1e-9)


def test_derivatives_do_not_depend_on_neighbours_in_a_batch():
    mb = ball(sc.Prismatic((1, 0, 0)))
    mb.add_spring("s", "inertial/wall", "ball", 100.0, 0.3)
    q, zero = np.array([[1e6], [1.0]]), np.zeros((2, 1))
    both = dyn.forward_dynamics_derivatives(mb, q, zero, zero)[0]
    assert both[1] == pytest.approx(dyn.forward_dynamics_derivatives(mb, q[1], zero[1], zero[1])[0], rel=1e-12)
    L = np.hypot(1.0, 1.1)
    across = 1.0 - 0.3 / L + 0.3 / L**3  # k/m (1 - rest/L + rest x^2/L^3) at x = 1
    assert both[1] == pytest.approx(-50.0 * across, rel=1e-8)


def test_derivatives_where_there_are_none_are_refused_and_leave_out_alone():
    mb = ball(sc.Pin((0, 0, 1)))
    mb.add_torsion_spring("t", "inertial", "ball", 5.0)
    out = tuple(np.full((1, 1), 7.0) for _ in range(3))
    with pytest.raises(StateError, match=r"bushing 't' is turned by half a turn from its rest, 3.141593 rad, .* Move"):
        dyn.forward_dynamics_derivatives(mb, [np.pi - 1e-7], [0.0], [0.0], out=out)
    assert all((x == 7.0).all() for x in out)


def test_an_empty_batch_has_empty_derivatives():
    mb = ball(sc.Prismatic((0, 0, 1)))
    mb.add_spring("s", "inertial/wall", "ball", 7.0)
    none = np.zeros((0, 1))
    assert dyn.forward_dynamics_derivatives(mb, none, none, none)[0].shape == (0, 1, 1)


def test_what_overflows_is_told_of_springs():
    mb = ball(sc.Prismatic((0, 0, 1)))
    mb.add_spring("s", "inertial/wall", "ball", 1e307)
    with pytest.raises(StateError, match=r"the springs and bushings of 'ball' \('s'\) give no finite force here"):
        dyn.forward_dynamics(mb, [300.0], [0.0], [0.0])


def test_a_bushing_is_judged_in_each_of_its_units():
    """Turns of a millionth of the travels: what is asymmetric or negative there is seen."""
    K = np.diag([1e-6, 1e-6, 1e-6, 1e8, 1e8, 1e8])
    mb = ball()
    with pytest.raises(ModelError, match="must be symmetric"):
        mb.add_bushing("b", "inertial", "ball", K + 1e-7 * np.eye(6, k=1) * (np.arange(6) == 0)[:, None])
    mb.add_bushing("b", "inertial", "ball", K * np.array([1, 1, -1, 1, 1, 1]))
    assert "bushing 'b'" in str(sc.check(mb))


def test_negative_ones_are_found_by_the_check():
    mb = ball()
    mb.add_spring("s", "inertial", "ball/hook", -1.0)
    mb.add_bushing("b", "inertial", "ball", 1.0, [0, 0, 0, 0, 0, -2.0])
    found = str(sc.check(mb))
    assert "spring 's'" in found
    assert "bushing 'b'" in found
