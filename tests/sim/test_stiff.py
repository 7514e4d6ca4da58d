"""Stiff problems by Radau: closed forms, agreement with explicit methods, the Jacobian; the car axis."""

import numpy as np
import pytest
from tests.loops.cases import row_of_four_bars
from tests.loops.test_case_four_bars import spatial_loop
from tests.sim.test_order import tree

import soacraft as sc
from soacraft.sim import jacobian
from soacraft.sim.choice import read_solver
from soacraft.sim.forces.drives import Control
from soacraft.sim.integrators.radau import Radau
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.system import Mechanism


def test_a_creeping_pendulum():
    """Damped by 1e6: after 1 us it creeps by dq/dt = -g sin q / d, tan(q/2) = tan(q0/2) exp(-g t / d)."""
    mb = sc.load("pendulum")
    mb["bob"].passive = sc.Passive(damping=1e6)
    mb.set_state([1.0], [0.0])
    run = sc.sim.Propagator(mb, integrator="radau", rtol=1e-7).advance_to(1e5)
    assert len(run) < 200
    assert mb.q[0] == pytest.approx(2 * np.arctan(np.tan(0.5) * np.exp(-9.81e-1)), abs=1e-6)


def test_explicit_and_implicit_agree():
    ends = []
    for method in ("dop853", "radau"):
        mb = tree([sc.Spherical(), sc.Pin((0, 0, 1)), sc.Free()])
        mb.bodies[0].passive = sc.Passive(stiffness=3.0, damping=0.5)
        p = sc.sim.Propagator(mb, integrator=method, rtol=1e-8)
        p.control(mb.dof_names[3], lambda t, state: np.cos(5 * t) - 0.3 * state.v[3])
        p.advance_to(0.2)
        ends.append(np.concatenate([mb.q, mb.v]))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)


def test_a_closed_chain_by_radau():
    ends = []
    for method in ("dop853", "radau"):
        mb = row_of_four_bars(1)
        run = sc.sim.Propagator(mb, integrator=method, rtol=1e-6).advance_to(0.1)
        assert run.violation.max() < 1e-12
        ends.append(np.array(mb.q))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)


def test_the_analytic_jacobian_is_that_of_differences():
    mb = tree([sc.Spherical(), sc.Gimbal(), sc.Free()])
    mb.bodies[1].passive = sc.Passive(stiffness=3.0, damping=0.5)
    load = sc.sim.Drag("b2", linear=0.7, quadratic=0.2)
    load.bind(mb)
    m = Mechanism(RunProblem.of(mb, [load]))
    x = m.point(mb.q, mb.v)
    w = m.rates(0.0, x)
    J, wanted = m.jacobian(0.0, x, w), jacobian.by_differences(m, 0.0, x, w)
    moving = 2 * mb.nv
    np.testing.assert_allclose(J[:moving, :moving], wanted[:moving, :moving], atol=2e-5 * np.abs(wanted).max())
    assert not J[:, moving:].any()


@pytest.mark.parametrize("cut", [False, True])
def test_the_slope_of_a_servo_is_that_of_differences(cut):
    """By its law, along dofs and with velocities, behind a free hinge and with two gears; none where it is cut."""
    mb = sc.Multibody("arm", gravity=(0, 0, -9.81))
    for i, hinge in enumerate((sc.Free(), sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)))):
        inertia = sc.Inertia(1.0 + i, (0.1, 0.2, 0.3), np.eye(3))
        mb.add_body(f"b{i}", f"b{i - 1}" if i else None, hinge, inertia, hinge_name=f"h{i}")
    law = {"biastype": "affine", "gainprm": [40.0], "biasprm": [1.0, -40.0, -3.0]}
    law["forcerange"] = [-1.0, 1.0] if cut else [-500.0, 500.0]
    mb.add_actuator(sc.Actuator("servo", "general", {"h1": 2.0, "h2": -0.5}, law))
    rng = np.random.default_rng(5)
    mb.set_state(mb.integrate(mb.q, rng.normal(size=mb.nv)), rng.normal(size=mb.nv))
    servo, told = Control("servo", ([0.0, 1.0], [0.0, 8.0])), Control("h2", lambda t, state: state.q[-1])
    for load in (servo, told):
        load.bind(mb)
    m = Mechanism(RunProblem.of(mb, [servo, told]))
    q, v, t, unit = mb.q, mb.v, 0.5, np.eye(mb.nv)
    d = 1e-6
    wanted = [(m.load_force(t, mb.integrate(q, d * e), v) - m.load_force(t, mb.integrate(q, -d * e), v)) for e in unit]
    wanted += [(m.load_force(t, q, v + d * e) - m.load_force(t, q, v - d * e)) for e in unit]
    force, found = jacobian.of_loads(m, t, q, v)
    np.testing.assert_allclose(force, m.load_force(t, q, v), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found, np.array(wanted).T / (2 * d), rtol=0, atol=1e-5)
    assert found[6].any() == (not cut)
    assert found[7, 7] != 0.0


@pytest.mark.parametrize(
    ("make", "solver"), [(row_of_four_bars, "ta"), (row_of_four_bars, "ce"), (spatial_loop, ["link1.0", "link1.1"])]
)
def test_the_analytic_jacobian_of_a_closed_chain_is_that_of_differences(make, solver):
    """The states of the differences are put back on the closures, as the solver does it: projected, or completed from
    independent dofs that were named."""
    mb = make(2) if make is row_of_four_bars else make()
    if not isinstance(solver, str):
        solver = sc.loops.ConstraintEmbedding(mb, independent=solver)
    mb.bodies[0].passive = sc.Passive(stiffness=2.0, damping=0.4)
    load = sc.sim.Drag(mb.bodies[1].name, linear=0.7, quadratic=0.2)
    load.bind(mb)
    m = Mechanism(RunProblem.of(mb, [load], None, read_solver(mb, solver)[0]))
    x = m.settle(0.0, m.point(mb.q, mb.v), True)
    w = m.rates(0.0, x)
    J, wanted = m.jacobian(0.0, x, w), jacobian.by_differences(m, 0.0, x, w)
    moving = 2 * mb.nv
    np.testing.assert_allclose(J[:moving, :moving], wanted[:moving, :moving], atol=1e-5 * np.abs(wanted).max())


class CarAxis:
    """The car axis of the IVP test set, index 3, as a tree: the axle turns as told, the left mass slides across it at
    its root, the right mass is at the end of a rod on the left one; springs hold both to the ends of the axle."""

    L, L0, r, w = 1.0, 0.5, 0.1, 10.0
    m = 10.0 * 1e-2**2 / 2

    def __init__(self):
        mb = self.mb = sc.Multibody("car axis", gravity=(0, -1.0, 0))
        mb.add_body("axle", None, sc.Pin((0, 0, 1)), sc.Inertia())
        mass = sc.Inertia.point(self.m, (0, 0, 0))
        mb.add_body("left", "axle", sc.Prismatic((0, 1, 0)), mass)
        mb.add_body("right", "left", sc.Pin((0, 0, 1)), sc.Inertia.point(self.m, (self.L, 0, 0)))
        mb["right"].add_node("end", sc.Pose(translation=(self.L, 0, 0)))
        q, v, _ = self.axle(0.0)
        # velocities (-0.5, 0) of both masses: the axle at its rate carries the left one, 0.5 above the root
        mb.set_state([q, 0.5, 0.0], [v, 0.0, -v])

    def axle(self, t):
        """The angle of the axle, asin(r sin wt / L), with its rates."""
        s, c = np.sin(self.w * t), np.cos(self.w * t)
        y, yd, ydd = self.r * s / self.L, self.r * self.w * c / self.L, -self.r * self.w**2 * s / self.L
        root = np.sqrt(1 - y * y)
        return np.arcsin(y), yd / root, ydd / root + y * yd**2 / root**3

    def springs(self, t, state):
        """J* f of both springs, by hand: positions and their derivatives along the three dofs, in the plane."""
        turn, s, phi = state.q[0], state.q[1], state.q[0] + state.q[2]
        along, across = _direction(turn), _direction(turn + np.pi / 2)
        left, right = s * across, s * across + self.L * _direction(phi) - self.L * along
        carried, swung = -s * along, self.L * _direction(phi + np.pi / 2)
        f, g = ((self.L0 / np.linalg.norm(x) - 1.0) * x for x in (left, right))
        return [carried @ f + (carried + swung) @ g, across @ f + across @ g, swung @ g]


def _direction(angle):
    return np.array([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize(("integrator", "rtol", "within"), [("dop853", 1e-9, 2e-9), ("ida", 1e-7, 1e-5)])
def test_car_axis(integrator, rtol, within):
    """To the digits of the IVP test set at t = 3; by IDA as equations of index two, a thousand steps of `rtol`."""
    case = CarAxis()
    mb = case.mb
    for at in ("left", "right/end"):
        np.testing.assert_allclose(mb.velocity(at).linear, [-0.5, 0, 0], atol=1e-15)
    p = sc.sim.Propagator(mb, integrator=integrator, rtol=rtol)
    p.prescribe("axle", case.axle)
    p.add(case.springs)
    p.advance_to(3.0)
    left, right = (mb.pose(x).translation[:2] for x in ("left", "right/end"))
    found = np.concatenate([left, right])
    wanted = [0.0493455784275402809, 0.496989460230171154, 1.04174252488542152, 0.373911027265361257]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=within)


@pytest.mark.parametrize("length", [1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4])
def test_a_step_that_goes_far_ends_in_rounding_in_all_units(length):
    """A million lengths of a slide in one step of radau: what its Newton steps still change is rounding of that way."""
    mb = sc.Multibody("slide", gravity=(0, 0, 0))
    slide = mb.add_body("slide", None, sc.Prismatic((0, 0, 1)), sc.Inertia.box(1.0, (length, length, length)))
    slide.passive = sc.Passive(damping=0.7)
    m = Mechanism(RunProblem.of(mb))
    x = m.point(np.zeros(1), np.array([1e6 * length]))
    for h in (0.5, 1.0):
        end = Radau(1e-12).step(m, 0.0, x, h, m.rates(0.0, x)).x1
        assert end[0] == pytest.approx(1e6 * length * (1.0 - np.exp(-0.7 * h)) / 0.7, rel=1e-4)
