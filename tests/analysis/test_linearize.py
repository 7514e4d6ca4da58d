"""The linearized motion against differences: of the motion's rates, and of whole motions that start side by side."""

import numpy as np
import pytest
import scipy.linalg
from tests.analysis.cases import HOLONOMIC, STENCIL
from tests.dynamics.calls import close, wrenches
from tests.model.modal.trees import flexible_tree

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.errors import ModelError, StateError

HINGES = (sc.Free(), sc.Pin((0, 0.6, 0.8)), sc.Spherical(), sc.Universal((1, 0, 0), (0, 1, 0)))
every_graph = pytest.mark.parametrize("name", HOLONOMIC)


def side_by_side(g, q, v, step):
    """(2 nv, 6, ...) states beside (q, v): perturbed along each tangent coordinate, then along each velocity."""
    steps = step * STENCIL[:, :1] * np.eye(2 * g.nv)[:, None, :]
    return g.integrate(q, steps[..., : g.nv]), v + steps[..., g.nv :]


def derivative(values, step):
    """Over the axis of the stencil: (2 nv, 6, ...) becomes (..., 2 nv)."""
    return np.moveaxis(np.tensordot(STENCIL[:, 1], values, (0, 1)), 0, -1) / step


@every_graph
@pytest.mark.usefixtures("both_engines")
def test_against_differences(name):
    """xi(t) = difference(q(t), q_perturbed(t)), with q(t) = integrate(q, t v): right to the first order in t."""
    g = HOLONOMIC[name]()
    q, v = g.random_state(1)
    force = 10 * np.random.default_rng(2).standard_normal(g.nv)
    against_differences(g, q, v, force, wrenches(g, np.random.default_rng(3)))


def test_a_flexible_tree_against_differences():
    g = flexible_tree((-1, 0, 1, 1), 2, HINGES)
    force = np.random.default_rng(2).standard_normal(g.nv)
    wrench = sc.Wrench((1, 2, 3), (3, 2, 1), expressed_in=g.root)
    against_differences(g, np.array(g.q), np.array(g.v), force, {"body3/tip": wrench, "body1/root": np.ones(6)})


def against_differences(g, q, v, force, f_ext):
    A, B = analysis.linearize(g, q, v, force, f_ext)
    nv, step, late = g.nv, 1e-3, 2e-3
    near_q, near_v = side_by_side(g, q, v, step)
    rate = sum(
        w / late * g.difference(g.integrate(q, late * t * v), g.integrate(near_q, late * t * near_v))
        for t, w in STENCIL
    )
    close(A[:nv], derivative(rate, step), 1e-8)
    near_q, near_v = side_by_side(g, q, v, 2e-4)
    close(A[nv:], derivative(dynamics.forward_dynamics(g, near_q, near_v, force, f_ext), 2e-4), 1e-8)
    assert not B[:nv].any()
    close(B[nv:], dynamics.mass_matrix_inverse(g, q), 1e-12)


def flow(g, q, v, force, time, steps):
    """The motion under a constant force: commutator-free, of order four, on the manifold of configurations."""
    h = time / steps

    def rate(q, v):
        return v, dynamics.forward_dynamics(g, q, v, force)

    for _ in range(steps):
        a, A = rate(q, v)
        half = g.integrate(q, 0.5 * h * a)
        b, B = rate(half, v + 0.5 * h * A)
        c, C = rate(g.integrate(q, 0.5 * h * b), v + 0.5 * h * B)
        d, D = rate(g.integrate(half, h * (c - 0.5 * a)), v + h * C)
        q = g.integrate(g.integrate(q, h / 12 * (3 * a + 2 * b + 2 * c - d)), h / 12 * (-a + 2 * b + 2 * c + 3 * d))
        v = v + h / 6 * (A + 2 * B + 2 * C + D)
    return q, v


def propagator(g, q, v, force, time, steps):
    """d [xi; dv](time) / d [xi; dv](0): the motion and its perturbations, all integrated."""
    step = 1e-3
    end_q, end_v = flow(g, *side_by_side(g, q, v, step), force, time, steps)
    to_q, to_v = flow(g, q, v, force, time, steps)
    gap = np.concatenate([g.difference(to_q, end_q), end_v - to_v], axis=-1)
    return derivative(gap, step)


def test_along_a_motion_of_quasi_velocities():
    """The product of exponentials of A (Magnus, order four) is the propagator of the nonlinear motion."""
    hinges = [sc.Free(), sc.Spherical(), sc.Gimbal(np.eye(3)), sc.Pin((1, 2, 3))]
    g = sc.random_tree(4, 2, hinges, gravity=(1.0, -2.0, -9.0))
    q, v = g.random_state(3)
    force, time, steps = np.random.default_rng(1).standard_normal(g.nv), 0.03, 5
    wanted = propagator(g, q, v, force, time, 2 * steps)
    h, Phi = time / steps, np.eye(2 * g.nv)
    for i in range(steps):
        at = [flow(g, q, v, force, (i + 0.5 + side * np.sqrt(3) / 6) * h, 2 * steps) for side in (-1, 1)]
        A, B = (analysis.linearize(g, *state, force).A for state in at)
        Phi = scipy.linalg.expm(0.5 * h * (A + B) + np.sqrt(3) / 12 * h**2 * (B @ A - A @ B)) @ Phi
    close(Phi, wanted, 1e-7)
    frozen = scipy.linalg.expm(time * analysis.linearize(g, q, v, force).A)
    assert np.abs(frozen - wanted).max() > 1e-3  # A changes along the motion


@pytest.mark.parametrize("kind", ["free", "spherical"])
def test_steady_spin(kind):
    """About a principal axis A is constant, so the propagator is expm(A t): for a spinning body, a sleeping top."""
    mb = sc.Multibody(kind, (0, 0, -9.81) if kind == "spherical" else (0, 0, 0))
    com = (0, 0, 0.4) if kind == "spherical" else (0, 0, 0)
    hinge = sc.Spherical() if kind == "spherical" else sc.Free()
    mb.add_body("top", None, hinge, sc.Inertia(1.5, com, np.diag([0.3, 0.2, 0.1])))
    v = np.zeros(mb.nv)
    v[2] = 7.0
    if kind == "free":
        v[5] = 0.5  # and along it
    lin = analysis.linearize(mb, mb.neutral(), v, np.zeros(mb.nv))
    time = 0.3
    close(scipy.linalg.expm(time * lin.A), propagator(mb, mb.neutral(), v, np.zeros(mb.nv), time, 60), 1e-7)
    N = lin.A[: mb.nv, : mb.nv]
    np.testing.assert_allclose(N[:3, :3], [[0, 7, 0], [-7, 0, 0], [0, 0, 0]], atol=1e-14)  # -w~, not zero


def test_the_frequencies_of_a_free_top():
    """Euler: about the axis with moment C a small turn of w has (w_1, w_2) at sqrt((C-A)(C-B)/(A B)) times the spin."""
    a, b, c, spin = 0.3, 0.25, 0.45, 4.0
    mb = sc.Multibody("body", (0, 0, 0))
    mb.add_body("body", None, sc.Spherical(), sc.Inertia(1.0, (0, 0, 0), np.diag([a, b, c])))
    lin = analysis.linearize(mb, [0, 0, 0, 1], [0, 0, spin], np.zeros(3))
    wanted = spin * np.sqrt((c - a) * (c - b) / (a * b))
    imag = np.sort(np.abs(lin.eigenvalues.imag))
    np.testing.assert_allclose(imag, np.sort([0, 0, wanted, wanted, spin, spin]), atol=1e-6)
    assert lin.is_stable
    wobble = analysis.linearize(mb, [0, 0, 0, 1], [spin, 0, 0], np.zeros(3))  # the middle axis
    np.testing.assert_allclose(wobble.eigenvalues[0], spin * np.sqrt((c - a) * (a - b) / (b * c)), rtol=1e-9)
    assert not wobble.is_stable


def test_a_sleeping_top():
    """Upright it is stable where the spin exceeds sqrt(4 A m g l) / C, with A and C about the pivot."""
    mb = sc.load("top")
    inertia = mb.bodies[0].inertia
    A, C = inertia.matrix()[0, 0], inertia.matrix()[2, 2]
    critical = np.sqrt(4 * A * inertia.mass * -mb.gravity[2] * inertia.com[2]) / C
    v = critical * np.array([[0, 0, 0.999], [0, 0, 1.001]])
    lin = analysis.linearize(mb, mb.neutral(), v, np.zeros(3))
    np.testing.assert_array_equal(lin.is_stable, [False, True])


def test_the_cart_pole_falls():
    """A pole of mass m and length l to its centre with moment J about it, upright on a cart of mass M."""
    mb = sc.load("cart_pole")
    cart, pole = (body.inertia for body in mb.bodies)
    M, m, l, J, g = cart.mass, pole.mass, np.linalg.norm(pole.com), pole.moment[1, 1], -mb.gravity[2]
    lin = analysis.linearize(mb, np.zeros(2), np.zeros(2), np.zeros(2))
    rate = np.sqrt(m * g * l * (M + m) / ((M + m) * (J + m * l**2) - (m * l) ** 2))
    np.testing.assert_allclose(lin.eigenvalues.real[[0, -1]], [rate, -rate], rtol=1e-12)
    assert not lin.is_stable
    assert lin.dof_names == ("cart", "pole")


def test_eigenvalues():
    g = HOLONOMIC["armature"]()
    q = np.array([g.random_state(i)[0] for i in range(3)])
    lin = analysis.linearize(g, q, np.ones(g.nv), np.zeros(g.nv))
    assert repr(lin) == f"Linearization of {g.nv} dofs: A {2 * g.nv} x {2 * g.nv}, B {2 * g.nv} x {g.nv}, batch (3,)"
    assert lin.is_steady.tolist() == [False] * 3  # random motions
    assert analysis.linearize(g, q, np.zeros(g.nv), np.zeros(g.nv)).is_stable.shape == (3,)
    growth = lin.eigenvalues.real
    assert (np.diff(growth, axis=-1) <= 1e-9).all()  # the fastest growing first
    for A, values in zip(lin.A, lin.eigenvalues, strict=True):
        least = [np.linalg.svd(A - x * np.eye(len(A)), compute_uv=False)[-1] for x in values]
        assert max(least) < 1e-10 * np.abs(A).max()


@every_graph
def test_batches(name):
    g = HOLONOMIC[name]()
    rng = np.random.default_rng(0)
    q = np.array([g.random_state(rng)[0] for _ in range(6)]).reshape(2, 3, g.nq)
    v, force = rng.standard_normal((3, g.nv)), rng.standard_normal((2, 1, g.nv))
    A, B = analysis.linearize(g, q, v, force)
    one = analysis.linearize(g, q[1, 2], v[2], force[1, 0])
    close(A[1, 2], one.A, 1e-12)
    close(B[1, 2], one.B, 1e-12)


def test_a_model_without_dofs():
    lin = analysis.linearize(sc.random_tree(2, 1, [sc.Weld()]), [], [], [])
    assert lin.A.shape == (0, 0)
    assert lin.eigenvalues.shape == (0,)
    assert lin.is_stable


def test_a_body_on_a_rolling_hinge_is_one_that_its_loop_ties():
    """On an arm, with forces, next to other hinges: as the same model built with a free hinge and a loop."""
    rng, radius = np.random.default_rng(4), 0.3
    box = sc.Inertia(1.5, (0.05, 0.02, 0.01), np.diag([0.2, 0.3, 0.4]))
    at, out = sc.Pose.from_rpy(0.1, 0.2, 0.3, translation=(0.1, 0.2, 0.3)), sc.Pose(translation=(0.02, 0.03, 0.01))
    mine, other = (sc.Multibody(name, gravity=(0, 1, -9.81)) for name in ("mine", "other"))
    for mb in (mine, other):
        mb.add_body("arm", None, sc.Pin((0, 1, 0)), box, at)
    mine.add_body("ball", "arm", sc.RollingBall(radius), box, at, out)
    other.add_body("ball", "arm", sc.Free(), box, at, out)
    mine.add_body("tail", "ball", sc.Pin((1, 0, 0)), box, at)
    other.add_body("tail", "ball", sc.Pin((1, 0, 0)), box, at)
    plane, rim = other["arm"].add_node("plane", at), other["ball"].add_node("rim", out.inv)
    other.close_loop("rolls", plane, rim, sc.RollingBall(radius))
    q, v = mine.random_state(rng)
    mine.set_state(q, v)
    T = rng.standard_normal(mine.nv)
    hinge = mine["ball"].hinge
    pose = hinge.pose(q[mine.q_slice("ball")])
    own = np.concatenate([sc.spatial.matrix_to_quaternion(pose.rotation), pose.translation])
    slid = hinge.H_T(q[mine.q_slice("ball")]) @ v[mine.v_slice("ball")]
    other.set_state([q[0], *own, q[-1]], [v[0], *slid, v[-1]])
    wrench = {
        "tail": sc.Wrench((1, 2, 3), (4, 5, 6)),
        "arm": sc.Wrench((3, 1, -2), (2, -4, 5), expressed_in="inertial"),
    }
    found = analysis.linearize(mine, q, v, T, wrench)
    solver = sc.loops.TreeAugmented(other)
    wanted = sc.loops.linearize(solver, other.q, other.v, [T[0], *T[1:4], 0, 0, 0, T[4]], wrench)
    np.testing.assert_allclose(found.A, wanted.A, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.B, wanted.B[:, [0, 1, 2, 3, 7]], rtol=1e-9, atol=1e-9)
    assert found.position_names == wanted.position_names
    size, n = len(found.A), len(found.position_names)
    assert repr(found).endswith(f"independent of 8 dofs, which {n} dofs place: A {size} x {size}, B {size} x 5")
    moved = (found.X @ found.B[n:])[[0, 1, 2, 3, 7]]  # how all dofs of the tree answer a force
    np.testing.assert_allclose(moved, dynamics.mass_matrix_inverse(mine, q), rtol=1e-9, atol=1e-9)
    vdot = dynamics.forward_dynamics(mine, q, v, T, wrench)
    np.testing.assert_allclose(vdot[1:4], solver.forward_dynamics(other.q, other.v, [T[0], *T[1:4], 0, 0, 0, T[4]],
                               f_ext=wrench).vdot[1:4], rtol=1e-9)  # fmt: skip


def test_forces_on_two_balls_that_roll_in_any_form():
    """By name, by body, in pairs, stored, in the axes of any frame; and B by the accelerations that forces cause."""
    mb, box = sc.Multibody("balls"), sc.Inertia(1.5, (0.05, 0.02, 0.01), np.diag([0.2, 0.3, 0.4]))
    mb.add_body("arm", None, sc.Pin((0, 1, 0)), box)
    for name, radius in (("small", 0.2), ("large", 0.3)):
        mb.add_body(name, "arm", sc.RollingBall(radius), box)
    tip = mb["large"].add_node("tip", sc.Pose.from_rpy(0.4, 0.2, 0.1, translation=(0.1, 0.0, 0.2)))
    mb.set_state(*mb.random_state(1))
    force, push = np.linspace(-1.0, 2.0, mb.nv), sc.Wrench((1, 2, 3), (4, 5, 6))
    wanted = analysis.linearize(mb, mb.q, mb.v, force, {"large/tip": push})
    free = analysis.linearize(mb, mb.q, mb.v, force)
    assert np.abs(wanted.A - free.A).max() > 0.1
    own = sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in=tip)
    for f_ext in ({tip: push}, [(tip, push)], (("large/tip", push),), {tip: own}, [("large/tip", own)]):
        np.testing.assert_allclose(analysis.linearize(mb, mb.q, mb.v, force, f_ext).A, wanted.A, rtol=1e-12)
    fixed = [{"large": sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in=x)} for x in (mb.root, "inertial")]
    first, second = (analysis.linearize(mb, mb.q, mb.v, force, x) for x in fixed)
    np.testing.assert_array_equal(first.A, second.A)
    n, at = len(first.position_names), [0, 1, 2, 3, 7, 8, 9]  # the turns among the dofs of free hinges
    moved = (first.X @ first.B[n:])[at]
    np.testing.assert_allclose(moved, dynamics.mass_matrix_inverse(mb, mb.q), rtol=1e-9, atol=1e-9)

    def answer(dv):
        return dynamics.forward_dynamics(mb, mb.q, mb.v + dv, force, fixed[0])

    h = 1e-4
    dv = np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.6, 0.2])
    slope = (answer(h * dv) - answer(-h * dv)) / (2.0 * h)  # exact: vdot is quadratic in v
    start = np.linalg.lstsq(first.X[at], dv, rcond=None)[0]
    np.testing.assert_allclose((first.X @ first.A[n:, n:] @ start)[at], slope, rtol=1e-6, atol=1e-6)
    mb.set_force(tip, push)
    np.testing.assert_allclose(analysis.linearize(mb, mb.q, mb.v, force).A, wanted.A, rtol=1e-12)


def test_a_batch_of_bodies_that_roll_is_refused():
    mb = sc.random_tree(2, 1, [sc.RollingBall(0.5), sc.Pin((1, 0, 0))])
    with pytest.raises(StateError, match=r"one state of a model with bodies that roll, got a batch \(2,\)"):
        analysis.linearize(mb, np.stack([mb.q, mb.q]), np.zeros(mb.nv), np.zeros(mb.nv))


def test_a_rolling_ball_in_a_sub_graph_is_refused():
    mb = sc.random_tree(2, 1, [sc.RollingBall(0.5), sc.Pin((1, 0, 0))])
    ball = next(body for body in mb.bodies if not body.hinge.holonomic)
    mb = mb.subgraph(list(mb.bodies))
    with pytest.raises(ModelError) as error:
        analysis.linearize(mb, mb.q, np.zeros(mb.nv), np.zeros(mb.nv))
    assert str(error.value) == (
        f"linearize: the hinge RollingBall(radius=0.5, normal=(0, 0, 1)) of {ball.name!r} is nonholonomic, so there "
        "are no tangent coordinates of its dofs: it can be put in more places than they move it to. Attach its body by "
        "a Free hinge, close a loop by this one, and take sc.loops.linearize."
    )
