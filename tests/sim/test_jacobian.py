"""Jacobians of rates on closed chains: how velocities on the closures vary with where they are."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.kinematics.row_derivatives import row_derivatives
from soacraft.kinematics.rows import Constraints
from soacraft.loops import forward_dynamics_derivatives
from soacraft.sim.closed import Closed
from soacraft.sim.jacobian import closing_rate
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.system import Mechanism


def platform():
    """A body that floats, held by three legs of balls and slides: turns that do not commute, in the tree and in it."""
    mb = sc.Multibody("platform", gravity=(0, 0, -9.81))
    rng = np.random.default_rng(4)
    plate = mb.add_body("plate", None, sc.Free(), sc.Inertia(2.0, (0.1, 0, 0.05), np.diag([0.3, 0.2, 0.4])))
    for i, angle in enumerate((0.0, 2.1, 4.2)):
        foot = sc.Pose(translation=(2 * np.cos(angle), 2 * np.sin(angle), -1.5))
        inertia = sc.Inertia(0.5, rng.uniform(-0.1, 0.1, 3), np.diag([0.03, 0.02, 0.04]))
        mb.add_body(f"lower{i}", None, sc.Spherical(), inertia, foot)
        upper = mb.add_body(f"upper{i}", f"lower{i}", sc.Prismatic((0, 0, 1)), inertia, sc.Pose(translation=(0, 0, 1)))
        upper.add_node("end", sc.Pose(translation=(0, 0, 0.3)))
        plate.add_node(f"socket{i}", sc.Pose(translation=(np.cos(angle), np.sin(angle), 0)))
        mb.close_loop(f"leg{i}", f"upper{i}/end", f"plate/socket{i}", sc.Spherical())
    return mb


@pytest.mark.parametrize("make", [platform, lambda: sc.load("five_bar"), lambda: sc.load("cassie")])
@pytest.mark.parametrize("damped", [False, True])
def test_velocities_on_the_closures_vary_with_the_place_as_their_rows_do(make, damped):
    """-(I - P) Gc^+ d(Gc v)/dq P by the derivatives of the rows, next to derivatives of the accelerations."""
    mb, rng = make(), np.random.default_rng(7)
    if damped:
        mb.bodies[-1].passive = sc.Passive(stiffness=30.0, damping=5.0)
    solver = sc.loops.TreeAugmented(mb)
    q = solver.assemble(mb.integrate(mb.q, 0.1 * rng.normal(size=mb.nv)))
    v = solver.project_velocity(q, rng.normal(size=mb.nv))
    closed = Closed(solver)
    m = Mechanism(RunProblem.of(mb, closed=closed))
    _, in_v, in_force = forward_dynamics_derivatives(solver, q, v, rng.normal(size=mb.nv))
    P = closed.projector(q, in_force)
    rows = Constraints(mb, mb.state(q, v))
    unit = 1.0 / rows.measure.dofs
    speed = row_derivatives(rows, v, np.zeros(mb.nv), np.zeros(rows.size)).speed / rows.units[:, None]
    across = unit[:, None] * (np.linalg.pinv(rows.jacobian() / rows.units[:, None] * unit, rcond=1e-9) @ speed)
    wanted = -(np.eye(mb.nv) - P) @ across @ P
    assert np.abs(wanted).max() > 1e-2
    np.testing.assert_allclose(closing_rate(m, v, P, in_v), wanted, rtol=0, atol=1e-9 * np.abs(in_v).max())
    np.testing.assert_allclose(
        m.compliance(q), solver.mass_matrix_inverse(q, "all"), rtol=0, atol=1e-9 * m.compliance(q).max()
    )
