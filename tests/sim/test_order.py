"""The observed order of every method equals its theory: on trees, on quaternions, on what rolls."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from tests.anchors.reference import unit_quaternions

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.states.tangent import right_jacobian_of_turn
from soacraft.sim.integrators.explicit import RK4, Dop853
from soacraft.sim.integrators.gauss import Gauss4, Gauss6
from soacraft.sim.integrators.generalized_alpha import GeneralizedAlpha
from soacraft.sim.integrators.manifold import Coordinates, Motions, turn_rate
from soacraft.sim.integrators.methods import find_method
from soacraft.sim.integrators.moreau_midpoint import MoreauMidpoint
from soacraft.sim.integrators.partitioned import EulerSymplectic, Verlet
from soacraft.sim.integrators.radau import Radau
from soacraft.sim.integrators.variational import Variational, Variational4
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.system import Mechanism


def tree(hinges, seed=1):
    """A branched tree with random bodies, in a random state."""
    mb = sc.Multibody("tree", gravity=(0.5, -1.0, -3.0))
    for k, hinge in enumerate(hinges):
        parent = None if k == 0 else f"b{(k - 1) // 2}"
        mb.add_body(f"b{k}", parent, hinge, random_inertia(seed + k), random_pose(seed + k), random_pose(9 + k))
    mb.set_state(*mb.random_state(seed))
    return mb


class Slider(sc.Hinge):
    """A user's own hinge, whose coordinate is the exponential of what moves at unit speed."""

    nq = nv = 1

    def neutral(self):
        return np.ones(1)

    def pose(self, q):
        return sc.Pose(translation=(np.log(q[0]), 0, 0))

    def H_T(self, q):
        return np.array([[0.0], [0], [0], [1], [0], [0]])

    def qdot(self, q, v):
        return q * v

    def integrate(self, q, dv):
        return q * np.exp(dv)

    def difference(self, q0, q1):
        return np.log(q1 / q0)

    def random(self, rng):
        return rng.uniform(0.5, 1.5, 1)


MODELS = {
    "pins and slides": lambda: tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Gimbal()]),
    "ball joints": lambda: tree([sc.Spherical(), sc.Pin((0, 0, 1)), sc.Spherical()]),
    "free": lambda: tree([sc.Free(), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Spherical()]),
    "rolling": lambda: tree([sc.RollingBall(0.7), sc.Pin((1, 0, 0))]),
    "own": lambda: tree([sc.Spherical(), Slider()]),
}


def exact(mb, time):
    """q and v after some time, by scipy on the plain coordinates: quaternions are four numbers there."""

    def rates(_, x):
        q, v = unit_quaternions(mb, x[: mb.nq]), x[mb.nq :]
        return np.concatenate([mb.qdot(q, v), dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv))])

    start = np.concatenate([mb.q, mb.v])
    x = solve_ivp(rates, (0.0, time), start, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return np.concatenate([unit_quaternions(mb, x[: mb.nq]), x[mb.nq :]])


def advance(method, problem, time, steps):
    x, h = problem.point(problem.mb.q, problem.mb.v), time / steps
    w = problem.rates(0.0, x)
    for i in range(steps):
        step = method.step(problem, i * h, x, h, w)
        x, w = step.x1, step.w1
    return x, step


def observed(method, problem, time, steps, wanted):
    """log2 of the ratio of the errors with so many steps and twice as many."""
    size = problem.mb.nq + problem.mb.nv
    errors = [np.abs(advance(method, problem, time, n)[0][:size] - wanted).max() for n in (steps, 2 * steps)]
    return np.log2(errors[0] / errors[1])


CASES = {
    "euler_symplectic": (EulerSymplectic(), 60),
    "verlet": (Verlet(), 30),
    "moreau_midpoint": (MoreauMidpoint(), 30),
    "rk4": (RK4(), 12),
    "dop853": (Dop853(), 2),
    "gauss4": (Gauss4(), 6),
    "gauss6": (Gauss6(), 4),
    "radau": (Radau(1e-12), 8),
    "generalized_alpha": (GeneralizedAlpha(1e-12), 8),
    "variational": (Variational(), 16),
    "variational4": (Variational4(), 8),
}


@cache
def reached(name):
    """The model and where it is after 0.3 s."""
    mb = MODELS[name]()
    return mb, exact(mb, 0.3)


#: A user's own hinge has its dynamics in Python, so the methods that take many steps are tried on the others.
PAIRS = [(name, method) for name in MODELS for method in CASES if name != "own" or method == "dop853"]
#: Some are for holonomic hinges.
PAIRS = [x for x in PAIRS if x[0] != "rolling" or not x[1].startswith(("variational", "generalized", "moreau"))]


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_observed_order(name, method):
    mb, wanted = reached(name)
    integrator, steps = CASES[method]
    found = observed(integrator, Mechanism(RunProblem.of(mb)), 0.3, steps, wanted)
    assert integrator.order - 0.4 < found < integrator.order + 1.6


@pytest.mark.parametrize(("method", "order"), [(RK4(), 3), (Dop853(), 7)])
def test_dense_output(method, order):
    """Between the ends of one step of half the length the error is less by 2^(order + 1)."""
    mb = MODELS["free"]()
    problem = Mechanism(RunProblem.of(mb))
    errors = []
    for h in (0.2, 0.1):
        x = problem.point(mb.q, mb.v)
        step = method.step(problem, 0.0, x, h, problem.rates(0.0, x))
        errors.append(np.abs(step.at(0.37)[: mb.nq + mb.nv] - exact(mb, 0.37 * h)).max())
        assert step.at(1.0) is step.x1
    assert np.log2(errors[0] / errors[1]) > order + 0.5


def test_a_chart_without_its_correction_would_lose_order():
    """With udot = w in place of dexp^-1(u) w the method of order four has order two on quaternions."""

    class Wrong(Coordinates):
        def rate(self, x, u, w):
            return w

    mb = MODELS["ball joints"]()
    problem = Mechanism(RunProblem.of(mb))
    wanted = exact(mb, 0.3)
    factors = (Motions(Wrong(mb)), *problem.manifold.factors[1:])
    problem.manifold = type(problem.manifold)(factors)
    assert observed(RK4(), problem, 0.3, 12, wanted) < 2.5


def test_a_constant_spin_is_exact():
    """A free body without gravity that spins about a principal axis: one step of any method is exact."""
    mb = sc.Multibody("top", gravity=(0, 0, 0))
    mb.add_body("body", None, sc.Spherical(), sc.Inertia(1.0, (0, 0, 0), np.diag([1.0, 2.0, 3.0])))
    mb.set_state([0, 0, 0, 1], [0, 0, 2.0])
    problem = Mechanism(RunProblem.of(mb))
    for method, _ in CASES.values():
        x, _ = advance(method, problem, 1.0, 1)
        np.testing.assert_allclose(x[:4], [0, 0, np.sin(1.0), np.cos(1.0)], atol=1e-15)


def test_a_step_that_turns_too_far_is_refused():
    mb = sc.Multibody("top", gravity=(0, 0, 0))
    mb.add_body("body", None, sc.Spherical(), sc.Inertia(1.0, (0, 0, 0), np.diag([1.0, 2.0, 3.0])))
    mb.set_state([0, 0, 0, 1], [0, 0, 40.0])
    with pytest.raises(sc.errors.SimulationError, match=r"a step of 0.1 s turns a hinge by 4 rad; at most 3 rad"):
        advance(RK4(), Mechanism(RunProblem.of(mb)), 0.1, 1)


def test_a_nonholonomic_hinge_of_the_users_own_is_refused():
    class Mine(sc.RollingBall):
        pass

    mb = sc.Multibody("rolling")
    mb.add_body("ball", None, Mine(0.5), random_inertia(1))
    with pytest.raises(sc.errors.ModelError, match=r"hinge 'ball' of 'rolling' .* is nonholonomic and not a built-in"):
        Coordinates(mb)


@pytest.mark.parametrize("turn", [0.0, 1e-5, 0.3, 0.999, 1.001, 2.9])
def test_rates_of_charts_are_the_inverses_of_right_jacobians(turn):
    rng = np.random.default_rng(3)
    u, w = rng.standard_normal((2, 3))
    u *= turn / np.linalg.norm(u)
    np.testing.assert_allclose(right_jacobian_of_turn(u) @ turn_rate(u, w), w, rtol=0, atol=1e-13)


def test_velocities_are_carried_with_a_displacement():
    """R v of a free or spherical hinge is the same before and after its axes are turned; other velocities stay."""
    rng = np.random.default_rng(4)
    mb = sc.Multibody()
    mb.add_body("base", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    mb.add_body("arm", "base", sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)))
    mb.add_body("ball", "arm", sc.Spherical(), sc.Inertia(1.0, moment=np.eye(3)))
    q, u, v = mb.integrate(mb.q, rng.normal(size=mb.nv)), 0.3 * rng.normal(size=mb.nv), rng.normal(size=mb.nv)
    after, carried = mb.integrate(q, u), Coordinates(mb).carry(u, v)
    for at, dofs in ((slice(0, 4), (slice(0, 3), slice(3, 6))), (slice(8, 12), (slice(7, 10),))):
        R0, R1 = (Rotation.from_quat(x[at]).as_matrix() for x in (q, after))
        for mine in dofs:
            np.testing.assert_allclose(R1 @ carried[mine], R0 @ v[mine], atol=1e-14)
    assert carried[6] == v[6]


@pytest.mark.parametrize("method", ["verlet", "rk4"])
def test_the_order_holds_where_a_motion_is_prescribed(method):
    """A bead on a rod that spins up by w = 2 t^2: x'' = w^2 x, where the end of each step has its own w."""
    ends = []
    for step in (0.02, 0.01, 1e-3):
        mb = sc.Multibody("rod", gravity=(0, 0, 0))
        mb.add_body("rod", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)))
        mb.add_body("bead", "rod", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
        mb.set_state([0.0, 1.0], [0.0, 0.5])
        p = sc.sim.Propagator(mb, integrator=method if step > 1e-3 else "rk4", step=step)
        p.prescribe("rod", lambda t: (2.0 * t**3 / 3.0, 2.0 * t**2, 4.0 * t))
        ends.append(p.advance_to(1.2).q[-1, 1])
    errors = np.abs(np.array(ends[:2]) - ends[2])
    order = find_method(method).order
    assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.25)
