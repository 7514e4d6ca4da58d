"""States that compiled code leaves to Python: singular poses, turning axes, far jumps."""


from unittest import mock

import numpy as np
import pytest
from tests.loops.cases import (
    FourBar,
    Z,
    close,
    dense,
    force_of,
    near,
    project,
    rod,
    row_of_four_bars,
)
from tests.loops.compiled_cases import (
    ALL,
    KNOWN,
    SOLVERS,
    one_compiled,
    rows_in_python,
    same,
    without_compiled,
)

import soacraft as sc
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, TreeAugmented
from soacraft.model.hinges.base import pose_of
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.states.hinge_fit import nearest_coordinates

# -- states in doubt -----------------------------------------------------------------------------------------------


def flat(angle, rate=0.0):
    """q and v of the parallelogram of `row_of_four_bars(1)` at an angle of its cranks; at zero it is singular."""
    turns = np.array([1.0, 1.0, -1.0])
    return angle * turns, rate * turns


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 1e-4, 1e-3, 1e-2])
def test_near_a_singular_pose_answers_agree_or_are_left_to_python(kind, angle):
    mb = row_of_four_bars(1)
    assert mb.dof_names == ("crank0", "crank1", "coupler0")
    for start in (mb.q, flat(angle)[0]):
        for v in (np.zeros(3), flat(angle, 0.5)[1]):
            solver = kind(mb)
            solver.forward_dynamics(start, np.zeros(3), np.zeros(3))
            twin = without_compiled(kind(mb))
            twin.forward_dynamics(start, np.zeros(3), np.zeros(3))
            q, force = flat(angle)[0], np.array([1.0, 2.0, 3.0])
            found, fine = one_compiled(solver, q, v, force)
            wanted = twin.forward_dynamics(q, v, force)
            if fine:
                near(found.vdot, wanted.vdot)
            r = solver.forward_dynamics(q, v, force)
            near(r.vdot, wanted.vdot)
            assert r.rank == wanted.rank
            assert fine or angle < 1e-2


@pytest.mark.parametrize("angle", [1e-7, 1e-6, 1e-5, 1e-4])
def test_near_a_singular_pose_of_rows_next_to_an_embedded_tree(angle):
    """A parallelogram that is nearly flat, as rows, next to a four-bar that is embedded. Without forces nothing moves
    against the row that hardly counts, and its multiplier alone tells whether it was left out.
    """
    mb, bars = row_of_four_bars(1), FourBar()
    tips = [sc.Pose(translation=(x, 0, 0)) for x in (bars.crank, bars.coupler, bars.rocker)]
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, bars.crank), sc.Pose(translation=(0, 0, 1)))
    mb.add_body("coupler", "crank", sc.Pin(Z), rod(1.0, bars.coupler), tips[0]).add_node("end", tips[1])
    far = sc.Pose(translation=(bars.ground, 0, 1))
    mb.add_body("rocker", None, sc.Pin(Z), rod(1.0, bars.rocker), far).add_node("end", tips[2])
    mb.close_loop("ring", "rocker/end", "coupler/end", sc.Pin(Z))
    beta, gamma = bars.angles(0.7)
    places = dict(zip(("crank0", "crank1", "coupler0"), flat(angle)[0], strict=True))
    places |= {"crank": 0.7, "coupler": beta - 0.7, "rocker": gamma}
    q, rest, force = np.array([places[name] for name in mb.dof_names]), np.zeros(6), np.arange(1.0, 7.0)
    solver, twin = (ConstraintEmbedding(mb, embed=["ring"]) for _ in range(2))
    solver.forward_dynamics(q, rest, rest)
    without_compiled(twin)
    for acting in (force, rest):
        found, fine = one_compiled(solver, q, rest, acting)
        wanted = twin.forward_dynamics(q, rest, acting)
        assert fine or angle < 1e-4
        if fine:
            same(mb, found, wanted, 1e-8)
        near(solver.forward_dynamics(q, rest, acting).vdot, wanted.vdot)


@pytest.mark.parametrize("kind", ALL)
def test_along_a_motion_through_a_singular_pose(kind):
    """The rank falls for one state and comes back; what is chosen and told is that of the solver in Python."""
    mb = row_of_four_bars(1)
    solver, twin = kind(mb), without_compiled(kind(mb))
    force, ranks = np.array([1.0, 2.0, 3.0]), []
    for angle in (0.4, 0.2, 0.05, 1e-3, 0.0, -1e-3, -0.05, -0.2, -0.4):
        q, v = flat(angle, 0.7)
        r, wanted = solver.forward_dynamics(q, v, force), twin.forward_dynamics(q, v, force)
        near(r.vdot, wanted.vdot)
        ranks.append(r.rank)
        assert r.rank == wanted.rank
        assert r.independent == wanted.independent
    assert ranks == [2, 2, 2, 2, 1, 2, 2, 2, 2]
    if kind is ConstraintEmbedding:
        assert solver.changes == twin.changes
        assert len(solver.changes) == 2


@pytest.mark.parametrize("kind", ALL)
def test_a_closure_that_is_redundant_at_one_pose_alone(kind):
    """A plate on two slides and a pin; a planar closure in its plane holds nothing until the plate tilts."""
    mb = sc.Multibody("plate", gravity=(0, 0, -9.81))
    mb.add_body("tilt", None, sc.Universal((1, 0, 0), (0, 0, 1)), random_inertia(2))
    mb.add_body("plate", "tilt", sc.Planar(), random_inertia(3))
    close(mb, "table", "inertial", "plate", sc.Planar())
    solver, twin = kind(mb), without_compiled(kind(mb))
    force = force_of(mb)
    for q in (np.zeros(5), np.array([0, 0.3, 0.1, -0.2, 0.4]), np.array([0, 0, 1.0, 0.0, 0.0])):
        v = project_at(mb, q)
        r, wanted = solver.forward_dynamics(q, v, force), twin.forward_dynamics(q, v, force)
        near(r.vdot, wanted.vdot)
        mb.set_state(q, v)
        near(r.vdot, dense(mb, force).vdot)
        assert r.rank == wanted.rank == np.linalg.matrix_rank(Constraints(mb, mb.state()).jacobian(), 1e-9)


def project_at(mb, q, seed=5):
    """A velocity that the closures allow at q, of length 1 or so."""
    mb.set_state(q, np.zeros(mb.nv))
    return project(mb, np.random.default_rng(seed).standard_normal(mb.nv))


# -- hinges that are followed --------------------------------------------------------------------------------------


def assert_same_rows(mb, solver):
    """The rows at the state of the model from those of Python, each seen through its own Q."""
    seen = []
    for patch in (mock.patch("soacraft.kinematics.rows.loop_rows", side_effect=AssertionError), rows_in_python()):
        with patch:
            rows = Constraints(mb, mb.state(), solver._theta)
            Q = rows.loops[0].Q
            seen.append([Q.T @ x for x in (rows.jacobian(), rows.gamma, rows.speed, rows.residual, Q)])
            seen[-1] += [rows.theta["loop"], rows.loops[0].gap, rows.loops[0].wrench(Q @ np.arange(6.0))]
            assert np.abs(rows.loops[0].gap).max() < 1e-9
    for one, other in zip(*seen, strict=True):
        near(one, other, 1e-11)


@pytest.mark.parametrize("kind", ALL)
def test_a_screw_over_ten_turns(kind):
    """Nut m and screw J: x = -+ pitch angle, (J + pitch^2 m) angledd = torque, turns are counted."""
    mass, moment, pitch = 2.0, 0.3, 0.25
    mb = sc.Multibody("screw", gravity=(0, 0, 0))
    mb.add_body("screw", None, sc.Pin(Z), sc.Inertia(1.0, (0, 0, 0), moment * np.eye(3)))
    mb.add_body("nut", None, sc.Prismatic(Z), sc.Inertia(mass, (0, 0, 0), np.eye(3)))
    mb.close_loop("loop", "screw", "nut", sc.Helical(Z, pitch))
    solver, twin = kind(mb), without_compiled(kind(mb))
    wanted = 0.7 / (moment + pitch**2 * mass)
    lead = -pitch * np.array([0.0, 1.0]) + np.array([1.0, 0.0])  # the nut goes back as the screw turns beneath it
    quick = 0
    for i, angle in enumerate(np.arange(0.0, 20.5 * np.pi, 0.2)):
        q, v, force = angle * lead, 0.4 * lead, np.array([0.7, 0.0])
        mb.set_state(q, v)
        quick += i > 0 and one_compiled(solver, q, v, force)[1]
        r = solver.forward_dynamics(q, v, force)
        near(r.vdot, wanted * lead, 1e-11)
        if i % 8 == 0:
            with rows_in_python():
                other = twin.forward_dynamics(q, v, force)
            near(r.multipliers["loop"], other.multipliers["loop"], 1e-10)
            near(twin._theta["loop"], -angle, 1e-9)
            assert_same_rows(mb, twin)
    assert quick > 0.5 * i
    near(solver._rows(mb.state()).theta["loop"], -angle, 1e-9)
    far = solver.forward_dynamics(2.0 * q, v, force)  # ten turns at once
    near(far.vdot, wanted * lead, 1e-10)


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("hinge", [hinge for hinge in KNOWN if isinstance(hinge, sc.Universal | sc.Gimbal | sc.Screws)])
def test_hinges_with_turning_axes_along_a_motion(kind, hinge):
    """A free body on a turning arm, carried by the closure's hinge through more than a whole turn of each axis but the
    second."""
    mb = sc.Multibody("carried")
    mb.add_body("arm", None, sc.Pin((1, 2, 3)), random_inertia(1), random_pose(1)).add_node("a", random_pose(2))
    mb.add_body("box", None, sc.Free(), random_inertia(2)).add_node("b", random_pose(3))
    mb.close_loop("loop", "arm/a", "box/b", hinge)
    arm, box = mb["arm"], mb["box"]
    solver, twin = kind(mb), without_compiled(kind(mb))
    force, fine = force_of(mb), []
    for t in np.linspace(0.0, 1.0, 10):
        theta = t * np.array([7.0, 0.6, -8.0])[: hinge.nv]
        q = mb.q.copy()
        q[arm.q_slice] = 3.0 * t
        mb.q = q
        place = mb.pose("arm/a") @ pose_of(hinge, theta) @ box.nodes[0].offset.inv
        q[box.q_slice] = nearest_coordinates(sc.Free(), sc.Pose(place.rotation, place.translation))
        v = force_of(mb, 5)
        G = Constraints(mb, mb.state(q=q, v=v), {"loop": theta}).jacobian()
        v -= np.linalg.pinv(G, rcond=1e-9) @ (G @ v)
        mb.set_state(q, v)
        if t:
            fine.append(one_compiled(solver, q, v, force)[1])
        r = solver.forward_dynamics(q, v, force)
        with rows_in_python():
            wanted = twin.forward_dynamics(q, v, force)
        same(mb, r, wanted, 1e-8)
        near(twin._theta["loop"], theta, 1e-8)
        assert_same_rows(mb, twin)
    assert np.mean(fine) > 0.5


def test_multipliers_after_a_jump_from_far_away():
    """Two trolleys welded to each other twice, first 100 km out: compliances are 1e10 times those nearby."""
    mb = sc.Multibody("trolleys")
    hub = sc.Inertia(1e-2, (0, 0, 0), 2e-4 * np.eye(3))
    trolley = sc.Inertia(1.0, (0.1, 0, 0), np.diag([0.1, 0.2, 0.25]))
    for k in range(2):
        mb.add_body(f"arm{k}", None, sc.Pin((0, 0, 1)), hub, random_pose(3) @ sc.Pose(translation=(k, 0, 0)))
        body = mb.add_body(f"trolley{k}", f"arm{k}", sc.Prismatic((1, 0, 0)), trolley)
        for j in range(2):
            body.add_node(f"end{j}", random_pose(21 + j))
    for j in range(2):
        mb.close_loop(f"weld{j}", f"trolley0/end{j}", f"trolley1/end{j}", sc.Weld())
    v, force, here = np.zeros(4), np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0.4, 0, -0.6])
    want = sc.loops.FullyAugmented(mb).forward_dynamics(here, v, force)
    for far in (1e2, 1e3, 1e4, 1e5):
        solver = TreeAugmented(mb)
        solver.forward_dynamics(np.array([0, far + 1.0, 0, far]), v, force)
        found = solver.forward_dynamics(here, v, force)
        near(found.vdot, want.vdot)
        for name, wrench in want.multipliers.items():
            near(found.multipliers[name], wrench, 1e-7)
