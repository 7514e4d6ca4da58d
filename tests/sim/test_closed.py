"""Closed chains in motion: solvers agree, orders are kept, states stay closed, given motions and refusals."""

import numpy as np
import pytest
from tests.loops.cases import library, project, row_of_four_bars
from tests.loops.test_case_four_bars import pendulum, spatial_loop
from tests.sim.chains import ball_jointed_four_bar, slider_crank
from tests.sim.chains import four_bar as four_bar_of
from tests.sim.test_order import advance

import soacraft as sc
from soacraft.errors import LoopError, ModelError, SimulationError
from soacraft.kinematics.rows import Constraints
from soacraft.sim.clock import Instant
from soacraft.sim.closed import Stabilized
from soacraft.sim.integrators.explicit import RK4, Dop853
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.runs.block import Block
from soacraft.sim.stride import StepMemory, Stride, Walked
from soacraft.sim.system import Mechanism

SOLVERS = ("ta", "fa", "ce")


def four_bar():
    """One four-bar of the row, away from its singular poses for half a second."""
    return row_of_four_bars(1)


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_compiled_runs_tell_how_far_closures_are_open(integrator):
    """As the rows at each state say; a loop of bodies in space, whose last digits differ."""
    mb = spatial_loop()
    run = sc.sim.Propagator(mb, integrator=integrator, step=0.01).advance_to(0.2)
    wanted = [Constraints(mb, mb.state(q, v)).opening for q, v in zip(run.q[1:], run.v[1:], strict=True)]
    np.testing.assert_allclose(run.violation[1:], wanted, rtol=0, atol=2e-16)
    assert 0.0 < run.violation.max() < 1e-13


def test_the_choice_of_a_solver_is_told():
    assert "solver: tree-augmented: there are loops or couplings" in str(sc.sim.Propagator(four_bar()).report())
    assert "solver: ConstraintEmbedding: as given" in str(sc.sim.Propagator(four_bar(), "ce").report())
    mb = four_bar()
    own = sc.loops.TreeAugmented(mb, tolerance=1e-7)
    assert "solver: TreeAugmented: as given" in str(sc.sim.Propagator(mb, own).report())
    with pytest.raises(ModelError, match=r"the solver is of .*, not of the model"):
        sc.sim.Propagator(four_bar(), own)
    with pytest.raises(LoopError, match=r"has 1 loop, which solver='tree' would ignore"):
        sc.sim.Propagator(mb, "tree")


def test_solvers_agree():
    """A loop in space with a ball joint, damped."""
    ends = []
    for solver in SOLVERS:
        mb = spatial_loop()
        mb.bodies[0].passive = sc.Passive(damping=0.1)
        run = sc.sim.Propagator(mb, solver, rtol=1e-8).advance_to(0.15)
        assert run.violation.max() < 1e-11
        assert run.check().imbalance < 1e-7 * np.ptp(run.kinetic)
        ends.append(np.concatenate([mb.q, mb.v]))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)
    np.testing.assert_allclose(ends[2], ends[0], atol=1e-6)


ORDERS = {
    "rk4": (10, 3.6, 5.5), "gauss4": (4, 3.6, 4.5), "gauss6": (3, 5.6, 6.6), "verlet": (10, 1.8, 2.5),
    "euler_symplectic": (40, 0.9, 1.2), "generalized_alpha": (10, 1.8, 2.2),
}  # fmt: skip
CHAINS = [(solver, method) for solver in ("ta", "fa", "ce") for method in ORDERS]
CHAINS = [x for x in CHAINS if x[1] != "generalized_alpha" or x[0] == "ta"]  # it solves the closures itself


@pytest.mark.parametrize(("solver", "method"), CHAINS)
def test_order_on_a_closed_chain(solver, method):
    """Two parallelograms move as a pendulum of one coordinate, by its own equation."""
    errors = []
    few, least, most = ORDERS[method]
    for steps in (few, 2 * few):
        mb = row_of_four_bars(2)
        run = sc.sim.Propagator(mb, solver, integrator=method, step=0.4 / steps).advance_to(0.4)
        errors.append(np.abs([mb.q[0], mb.v[0]] - pendulum(np.pi / 2, -1.0, 0.4)).max())
        assert run.violation.max() < 1e-12
    assert least < np.log2(errors[0] / errors[1]) < most


@pytest.mark.parametrize("solver", SOLVERS)
def test_orders_on_a_closed_chain_with_quaternions(solver):
    """A coupler on ball joints, against dop853: its steps are of another order, and its solver is another one."""

    def end(solver, method, steps, rtol=1e-12):
        mb = ball_jointed_four_bar(2.0)
        step = None if method == "dop853" else 0.2 / steps
        sc.sim.Propagator(mb, solver, integrator=method, step=step, rtol=rtol).advance_to(0.2)
        return np.concatenate([mb.q, mb.v])

    wanted = end("fa" if solver == "ta" else "ta", "dop853", 0)
    few = {"euler_symplectic": (1, 80), "verlet": (2, 40), "rk4": (4, 20), "gauss4": (4, 16), "gauss6": (6, 12)}
    for method, (order, steps) in few.items():
        errors = [np.abs(end(solver, method, n) - wanted).max() for n in (steps, 2 * steps)]
        assert order - 0.3 < np.log2(errors[0] / errors[1]) < order + 0.5, method


@pytest.mark.parametrize(
    ("make", "time", "turns"),
    [
        (lambda: four_bar_of(0.5, 1.8, 1.5, 2.0, 0.3, 6.0), 1.5, 1.1),
        (lambda: slider_crank(8.0), 0.8, 1.1),
        (lambda: ball_jointed_four_bar(8.0), 0.8, 1.0),
    ],
    ids=["four-bar", "slider crank", "ball joints"],
)
def test_a_full_turn_in_independent_dofs(make, time, turns):
    """By constraint embedding as with all dofs, through both dead points."""
    ends = []
    for solver in ("ta", "ce"):
        mb = make()
        run = sc.sim.Propagator(mb, solver, rtol=1e-7).advance_to(time)
        assert np.ptp(run.q[:, 0]) > turns * 2 * np.pi
        assert run.violation.max() < 1e-12
        ends.append(np.concatenate([mb.q, mb.v]))
    np.testing.assert_allclose(ends[1], ends[0], atol=3e-5)


@pytest.mark.parametrize("paced", [{"rtol": 1e-9}, {"integrator": "rk4", "step": 0.001}], ids=["adaptive", "fixed"])
def test_independent_dofs_change_during_a_run(paced):
    """A four-bar none of whose links can turn full: each has its dead points, so that no choice serves throughout."""
    wanted = four_bar_of(1.0, 1.2, 1.1, 2.0, 0.4, 4.0)
    sc.sim.Propagator(wanted, "ta", rtol=1e-10).advance_to(1.5)
    mb = four_bar_of(1.0, 1.2, 1.1, 2.0, 0.4, 4.0)
    solver = sc.loops.ConstraintEmbedding(mb)
    run = sc.sim.Propagator(mb, solver, **paced).advance_to(1.5)
    if "rtol" in paced:  # steps that happen to come near enough to a dead point
        assert len(solver.changes) >= 1
    np.testing.assert_allclose(np.concatenate([mb.q, mb.v]), np.concatenate([wanted.q, wanted.v]), atol=2e-6)
    assert run.violation.max() < 1e-12


def test_a_dead_point_of_the_independent_dof_stops_the_run():
    """The slider tells neither where the crank goes on nor how fast: not a wrong motion, but the time and the cure."""
    mb = slider_crank(8.0)
    solver = sc.loops.ConstraintEmbedding(mb, independent=["slider"])
    p = sc.sim.Propagator(mb, solver, integrator="rk4", step=0.002)
    with pytest.raises(SimulationError, match=r"loses its branch: with 'slider' independent, dof 'crank' would") as e:
        p.advance_to(1.0)
    assert abs(e.value.run.q[-1, 0] - np.pi) < 0.1  # crank and rod nearly in line


def test_steps_that_end_off_their_branch_are_refused():
    """What the way onto the closures moves is an error of the step; where shorter ones do not mend it, it is told."""

    class Off(Dop853):
        def step(self, problem, t, x, h, w):
            found = super().step(problem, t, x, h, w)
            found.drift = np.full(problem.mb.nv, 1e-3 if t > 0.1 else 0.0)
            return found

    mb = sc.load("double_pendulum")
    mb.set_state([1.0, 0.5], [0.0, 0.0])
    m = Mechanism(RunProblem.of(mb))
    stride, memory, now, x = Stride(Off(), 1e-6, None), StepMemory(0), Instant(0), m.point(mb.q, mb.v)
    w = m.rates(0.0, x)
    while now.seconds <= 0.1:
        step, now, _, memory = stride.take(m, memory, now, x, w, 10**9)
        x, w = step.x1, step.w1
    with pytest.raises(SimulationError, match=r"the branch of the closures is in doubt.*solver='ce'.*solver='ta'"):
        stride.take(m, memory, now, x, w, 10**9)


@pytest.mark.parametrize(("solver", "integrator", "rtol"), [("ce", "dop853", 1e-7), ("ta", "ida", 1e-7)])
def test_parallelograms_through_their_flat_pose(solver, integrator, rtol):
    """Where they could leave their branch; the pendulum of one coordinate tells that they do not."""
    mb = row_of_four_bars(2)
    run = sc.sim.Propagator(mb, solver, integrator=integrator, rtol=rtol).advance_to(1.0)
    assert run.q[:, 0].max() - np.pi / 2 > 0.0 or run.q[:, 0].min() < 0.0  # beyond a flat pose
    np.testing.assert_allclose([mb.q[0], mb.v[0]], pendulum(np.pi / 2, -1.0, 1.0), atol=1e-5)
    assert run.violation.max() < 1e-12


@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
@pytest.mark.parametrize("solver", ["ta", "fa", "ce"])
def test_many_parallelograms_through_their_flat_pose_to_eleven_digits(solver, python):
    """Rounding of a closure, divided by the distance from the pose, leads off the branch: no error of a step, whose end
    is put back. All cranks move alike, with their energy, in steps of the length that this tolerance has elsewhere."""
    for speed in (1.0, 1.15):
        mb = row_of_four_bars(8)
        mb.v = speed * mb.v
        p = sc.sim.Propagator(mb, solver, rtol=1e-11)
        if python:
            p.add(lambda t, state: np.zeros(17))
        run = p.advance_to(1.4)
        assert run.q[:, 0].min() < -np.pi  # beyond the flat poses at 0 and at -pi
        assert np.ptp(np.abs(mb.q)) < 1e-11
        assert np.ptp(np.abs(mb.v)) < 1e-10
        assert np.ptp(run.energy) < 1e-9 * np.abs(run.energy).max()
        assert len(run) < 40


def test_stabilized_closures_close_as_told():
    """What is open, at rest, goes as (1 + t/T) exp(-t/T)."""
    mb = four_bar()
    mb.q = np.add(mb.q, [1e-4, 2e-4, -1e-4])
    mb.v = project(mb, mb.v)
    m = Mechanism(RunProblem.of(mb, [], None, Stabilized(sc.loops.TreeAugmented(mb), 0.05)))
    before = np.linalg.norm(Constraints(mb, mb.current).residual)
    x, _ = advance(RK4(), m, 0.1, 40)
    q, v, _ = m.parts(x)
    after = np.linalg.norm(Constraints(mb, mb.state(q, v)).residual)
    assert after == pytest.approx(3.0 * np.exp(-2.0) * before, rel=2e-3)


def test_stabilized_runs_tell_their_violation():
    wanted = four_bar_of(0.5, 1.8, 1.5, 2.0, 0.3, 6.0)
    sc.sim.Propagator(wanted, "ta", rtol=1e-9).advance_to(0.4)
    violations, errors = [], []
    for steps in (40, 80):
        mb = four_bar_of(0.5, 1.8, 1.5, 2.0, 0.3, 6.0)
        options = dict(stabilization="baumgarte", time_constant=0.05)
        p = sc.sim.Propagator(mb, "fa", integrator="rk4", step=0.4 / steps, **options)
        assert "closures stabilized with the time constant 0.05 s" in str(p.report())
        violations.append(p.advance_to(0.4).violation.max())
        errors.append(np.abs(np.concatenate([mb.q - wanted.q, mb.v - wanted.v])).max())
    assert errors[1] < errors[0] / 10 < 1e-4  # of order four, as is what the closures are open by
    assert 1e-12 < violations[1] < violations[0] / 10 < 1e-6


@pytest.mark.parametrize("time_constant", [0.1, 0.01, 0.001])
def test_stabilized_closures_that_come_apart_end_the_run(time_constant):
    mb = sc.load("five_bar")
    mb.q = sc.loops.TreeAugmented(mb).assemble(mb.q)
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01, stabilization="baumgarte", time_constant=time_constant)
    text = rf"closures of 'five_bar' come apart: .* time_constant = {time_constant:g} s does not pull them shut"
    with pytest.raises(SimulationError, match=text) as wrong:
        p.advance_to(2.0)
    assert isinstance(wrong.value.__cause__, LoopError)
    assert p.last_run.violation.max() <= 0.05
    kept = np.abs(p.last_run.energy - p.last_run.energy[0])
    assert kept.max() < 1e-2 * abs(p.last_run.energy[0])  # no row of velocities that tear the closures apart


def test_stabilization_is_refused_where_it_means_nothing():
    mb = four_bar()
    for solver, options, text in (
        ("ta", dict(stabilization="springs"), r"stabilization must be 'projection' or 'baumgarte', got 'springs'"),
        ("ta", dict(stabilization="baumgarte"), r"needs time_constant= in seconds"),
        ("ta", dict(time_constant=0.1), r"time_constant is of stabilization='baumgarte'; give both, or neither"),
        ("ta", dict(stabilization="baumgarte", time_constant=0.0), r"time_constant must be positive, got 0 s"),
        ("ce", dict(stabilization="baumgarte", time_constant=0.1), r"integrates all dofs: use solver='ta' or 'fa'"),
    ):
        with pytest.raises(ValueError, match=text):
            sc.sim.Propagator(mb, solver, **options)
    with pytest.raises(LoopError, match=r"is of closed chains, and the model is a tree; leave it out"):
        sc.sim.Propagator(sc.load("pendulum"), stabilization="baumgarte", time_constant=0.1)
    p = sc.sim.Propagator(mb, stabilization="baumgarte", time_constant=0.1)
    with pytest.raises(LoopError, match=r"cannot be prescribed with stabilization='baumgarte'"):
        p.prescribe(mb.dof_names[0], lambda t: (0.0, 0.0, 0.0))


def test_a_prescribed_crank_drives_a_loop():
    """A crank at constant speed in a parallelogram: the rocker turns alike, the force is that of inverse dynamics."""
    mb = four_bar()
    speed = -mb.v[0]

    def turning(t):
        return np.pi / 2 - speed * t, -speed, 0.0

    p = sc.sim.Propagator(mb, rtol=1e-7)
    crank = mb.dof_names[0]
    p.prescribe(crank, turning)
    run = p.advance_to(0.3)
    np.testing.assert_allclose(run.q[:, 0], np.pi / 2 - speed * run.t, atol=1e-14)
    rocker = mb.v[np.argmin(np.abs(mb.v[1:] - mb.v[0])) + 1]
    assert rocker == pytest.approx(-speed, abs=1e-9)
    assert run.violation.max() < 1e-9
    assert run.check().imbalance < 1e-6
    # three rods whose masses rise and fall together: the power is that of their weight alone
    power = np.gradient(run.potential, run.t)
    np.testing.assert_allclose((run.forces["prescribed"][:, 0] * run.v[:, 0])[2:-2], power[2:-2], atol=0.05)
    other = next(x for x in mb.dof_names[1:])
    with pytest.raises(LoopError, match=rf"dof '{other}' of .* cannot be prescribed: the closures, with '{crank}'"):
        p.prescribe(other, turning)


def test_a_start_off_the_closures_is_refused_with_the_cure():
    mb = four_bar()
    mb.q = np.add(mb.q, [0.1, 0, 0])
    p = sc.sim.Propagator(mb)
    text = r"off its closures: ((?!Close it first).)* Close the model first: .*mb.q = s.assemble\(mb.q\); mb.v"
    with pytest.raises(LoopError, match=text):
        p.advance_to(0.1)
    s = sc.loops.TreeAugmented(mb)
    mb.q = s.assemble(mb.q)
    mb.v = s.project_velocity(mb.q, mb.v)
    assert p.advance_to(0.1).violation.max() < 1e-12


def test_cassie_falls_with_its_loops():
    """A robot of the library, floating, with four-bar legs: closed to rounding, the balance better by the order."""
    left = []
    for step in (1e-4, 5e-5):
        mb = library("cassie")
        run = sc.sim.Propagator(mb, integrator="rk4", step=step).advance_to(4e-4)
        balance = run.check()
        assert run.violation.max() < 1e-10
        left.append(balance.imbalance)
    assert left[0] > 10 * left[1]
    assert balance.holds is None
    assert "not known: the method estimates no error; compare with half the step" in repr(balance)


@pytest.mark.parametrize("compiled", [True, False])
def test_dense_output_of_a_closed_chain_is_of_the_model_that_ran(compiled, monkeypatch):
    """States between rows are put on the closures: those of then, or it is refused."""
    mb = four_bar_of(1.0, 2.0, 2.0, 2.0, 1.2, 0.5)
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    if not compiled:
        monkeypatch.setattr(Stride, "many", lambda stride, problem, memory, *given, **options: Walked(None, memory))
    run = p.advance_to(0.05)
    assert all(isinstance(x, Block) for _, x in run._dense) == compiled
    before = run.at(0.025).q
    mb.set_state(mb.q, mb.v)
    np.testing.assert_array_equal(run.at(0.025).q, before)
    mb.bodies[0].inertia = sc.Inertia(9.0, (0, 0, 0), np.eye(3))
    with pytest.raises(sc.errors.StaleError, match=r"was changed after its step around t = 0.025 s, and a state"):
        run.at(0.025)
    np.testing.assert_array_equal(run.at(run.t[-1]).q, run.q[-1])


@pytest.mark.parametrize("T", [1e300, 1e155, 1e-160, 1e-300])
def test_a_time_constant_that_overflows_is_an_error_with_its_name(T):
    mb = four_bar_of(1.0, 2.0, 2.0, 2.0, 1.2, 0.5)
    with pytest.raises(sc.errors.SoacraftError, match=rf"time_constant (=|is) {T:g} s".replace("+", r"\+")):
        sc.sim.Propagator(mb, integrator="rk4", step=0.01, stabilization="baumgarte", time_constant=T).advance_to(0.02)


@pytest.mark.parametrize("integrator", ["rk4", "gauss4", "variational", "moreau"])
def test_a_run_in_parts_has_the_bits_of_one_in_one_go(integrator):
    """In Python, where a function acts: a pause puts no state elsewhere, not by rounding."""

    def run(*ends):
        mb = spatial_loop()
        p = sc.sim.Propagator(mb, integrator=integrator, step=0.005)
        p.control(mb.dof_names[0], lambda t, state: 0.1 * np.cos(t))
        for t in ends:
            p.advance_to(t)
        return np.concatenate([mb.q, mb.v])

    np.testing.assert_array_equal(run(0.02, 0.035, 0.04, 0.06), run(0.06))
