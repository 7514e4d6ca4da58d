"""What solvers of closed chains refuse, by text; that a refusal changes nothing; inverse and mixed dynamics."""

import re

import numpy as np
import pytest
from hypothesis import given
from tests.loops.cases import FourBar, Z, close, closed_graphs, comparable, force_of, near, project, row_of_four_bars
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft.errors import LoopError, ModelError, StaleError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import FullyAugmented, TreeAugmented

FOUR_BAR = FourBar()
BOTH = (TreeAugmented, FullyAugmented)
ZERO = np.zeros(3)


@pytest.fixture
def mb():
    made = FOUR_BAR.build(0.9)
    made.v = project(made, np.ones(3))
    return made


@pytest.fixture(params=BOTH)
def solver(request, mb):
    return request.param(mb)


def refused(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert re.fullmatch(text, str(raised.value)), str(raised.value)


# -- states off the closures ----------------------------------------------------------------------------------------


def test_an_open_loop_is_refused_with_its_gap(solver, mb):
    refused(
        lambda: solver.forward_dynamics(mb.q + np.array([0.0, 0.01, 0.0]), mb.v, ZERO),
        LoopError,
        r"loop 'ring' of 'four_bar' is open by 0\.011 m and \S+ rad; the solver takes 3\.4e-06 m and 1e-06 rad\. "
        r"Close it first: q = s\.assemble\(q\)\.",
    )


def test_a_velocity_that_opens_a_loop_is_refused(solver, mb):
    refused(
        lambda: solver.forward_dynamics(mb.q, mb.v + np.array([0.1, 0.0, 0.0]), ZERO),
        LoopError,
        r"loop 'ring' of 'four_bar' opens at 0\.\d+ \(m/s or rad/s\) with this v; the solver takes \S+\. Make v agree "
        r"first: v = s\.project_velocity\(q, v\)\.",
    )


def test_a_coupling_that_does_not_hold_is_refused(solver, mb):
    gear = sc.serial_chain(2)
    gear.couple("gear", {"link1": 1, "link2": -2}, offset=0.5)
    s = type(solver)(gear)
    refused(
        lambda: s.forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]),
        LoopError,
        r"coupling 'gear' of 'chain' is off by -0\.5; the solver takes 2e-06\. Close it first: q = s\.assemble\(q\)\.",
    )
    refused(
        lambda: s.forward_dynamics([0.5, 0.0], [1.0, 0.0], [0.0, 0.0]),
        LoopError,
        r"coupling 'gear' of 'chain' opens at 1 \(m/s or rad/s\) with this v; the solver takes \S+e-06\. .*",
    )


def test_the_tolerance_is_what_the_user_says(mb):
    q = mb.q + np.array([0.0, 1e-4, 0.0])
    assert TreeAugmented(mb, tolerance=1e-3).forward_dynamics(q, ZERO, ZERO).rank == 2
    for bad, text in ((0.0, "must be positive, got 0.0"), (np.nan, "must be finite"), ("a", "must be real numbers")):
        with pytest.raises(ModelError, match=f"tolerance of TreeAugmented {text}"):
            TreeAugmented(mb, tolerance=bad)


# -- closures that contradict each other ------------------------------------------------------------------------------


def test_drives_that_contradict_each_other_are_refused(solver, mb):
    box = sc.Multibody("box")
    box.add_body("box", None, sc.Free(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    for name in ("one", "two"):
        close(box, name, "inertial", "box", sc.Weld())
    s, up = type(solver)(box), np.array([0, 0, 0, 0, 0, 1.0])
    still = np.zeros(6)
    refused(
        lambda: s.forward_dynamics(box.q, still, still, U={"one": (still, up), "two": (still, -up)}),
        LoopError,
        r"no acceleration satisfies the closures of 'box': loop '(one|two)' keeps a residual of [12]\S*\. "
        r"Closures that repeat others contradict them here: the rank changes at this configuration, or what drives "
        r"them does not agree\.",
    )


def test_a_singular_pose_with_a_motion_off_every_branch_is_refused(solver, mb):
    """All in one line a four-bar of rods of 1 m has two branches; between them its motion cannot go on."""
    row = row_of_four_bars(1)
    flat = np.zeros(3)
    for name in ("crank0", "crank1"):
        assert row.dof_names.index(name) in (0, 1)
    row.q = flat
    off = np.array([1.0, 0.35, -0.5])
    v = project(row, off)
    refused(
        lambda: type(solver)(row).forward_dynamics(flat, v, ZERO),
        LoopError,
        r"no acceleration satisfies the closures of 'row': loop 'loop0' keeps a residual of \S+\. .*",
    )


@pytest.mark.parametrize(
    ("U", "error", "text"),
    [
        (3, StateError, r"U of 'four_bar' is given as \{name: \(u, udot\)\}, got 3\."),
        ({"rng": (1, 2)}, LoopError, r"U names 'rng', but the active loops and couplings of 'four_bar' are 'ring'\."),
        ({"ring": 3}, StateError, r"U of 'ring' must be a pair \(u, udot\), got 3\."),
        ({"ring": (np.zeros(5), np.zeros(6))}, StateError, r"u of 'ring' must .*"),
        ({"ring": (np.zeros(6), np.full(6, np.nan))}, StateError, r"udot of 'ring' must be finite, .*"),
    ],
)
def test_bad_drives(solver, mb, U, error, text):
    refused(lambda: solver.forward_dynamics(mb.q, mb.v, ZERO, U=U), error, text)


def test_a_closure_whose_axes_turn_cannot_be_driven():
    other = FOUR_BAR.build(0.9, hinge=sc.Universal((0, 0, 1), (1, 0, 0)))
    refused(
        lambda: TreeAugmented(other).forward_dynamics(other.q, ZERO, ZERO, U={"ring": (np.zeros(6), np.zeros(6))}),
        LoopError,
        r"loop 'ring' cannot be driven: the motions that Universal\(.*\) forbids turn with its coordinates\. A driven "
        r"closure needs a hinge that forbids always the same ones, such as .*",
    )


# -- models, numbers, structure --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_what_is_not_a_model(kind):
    refused(
        lambda: kind("arm"), ModelError, rf"{kind.__name__} takes a Multibody or a sub-graph of one, got 'arm'\."
    )


def test_a_structural_change_makes_a_solver_stale(solver, mb):
    q, v = mb.q, mb.v
    mb.close_loop("more", "crank", "rocker", sc.Spherical(), active=False)
    refused(
        lambda: solver.forward_dynamics(q, v, ZERO),
        StaleError,
        r"this solver of 'four_bar' was made before a structural change of the model; make a new one with "
        rf"sc\.loops\.{type(solver).__name__}\(\.\.\.\)\.",
    )


@pytest.mark.parametrize("ask", ["sko", "operators"])
def test_an_augmented_solver_has_no_operators(solver, mb, ask):
    refused(
        lambda: getattr(solver, ask)(mb.q),
        LoopError,
        rf"{type(solver).__name__} keeps the closures of 'four_bar' as rows next to the tree, so there are no "
        r"operators of the closed chain; sc\.loops\.ConstraintEmbedding\(mb\) makes it an SKO model that has them\.",
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (dict(q=[np.nan, 0, 0]), "q of 'four_bar' must be finite: entry 0, of hinge 'crank', is nan"),
        (dict(v=[0, np.inf, 0]), "v of 'four_bar' must be finite"),
        (dict(force=[1.0, 2.0]), "force of 'four_bar' has 3 entries, got 2"),
        (dict(force="torque"), "force of 'four_bar' has 3 entries, got 'torque'"),
        (dict(q=np.zeros((2, 3)), v=np.zeros((3, 3))), "the leading (batch) axes do not agree"),
        (dict(f_ext=3), "external forces are given as {node: wrench}, got 3"),
    ],
)
def test_bad_numbers(solver, mb, change, text):
    given = {"q": mb.q, "v": mb.v, "force": ZERO, **change}
    with pytest.raises(StateError, match=re.escape(text)):
        solver.forward_dynamics(**given)


def test_a_refusal_leaves_the_solver_as_it_was(solver, mb):
    first = solver.forward_dynamics(mb.q, mb.v, ZERO).vdot
    for bad in (dict(q=mb.q + 0.1), dict(v=np.ones(3)), dict(force=[np.nan] * 3)):
        with pytest.raises((LoopError, StateError)):
            solver.forward_dynamics(**{"q": mb.q, "v": mb.v, "force": ZERO, **bad})
    assert np.array_equal(solver.forward_dynamics(mb.q, mb.v, ZERO).vdot, first)


# -- inverse and mixed dynamics --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
@tries(20)
@given(closed_graphs(), SEEDS)
def test_inverse_dynamics_undoes_forward_dynamics(kind, mb, seed):
    comparable(mb, force_of(mb, seed))
    s = kind(mb)
    wanted = np.random.default_rng(seed).standard_normal(len(s.independent(mb.q)))
    force = s.inverse_dynamics(mb.q, mb.v, wanted)
    r = s.forward_dynamics(mb.q, mb.v, force)
    assert r.independent == s.independent(mb.q)
    near(r.vdot_independent, wanted)
    dependent = [i for i, name in enumerate(mb.dof_names) if name not in r.independent]
    assert not force[dependent].any()


def test_any_dof_that_moves_the_system_may_be_actuated(solver, mb):
    for name in mb.dof_names:
        force = solver.inverse_dynamics(mb.q, mb.v, [0.7], actuated=[name])
        assert np.flatnonzero(force).tolist() == [mb.dof_names.index(name)]
        near(solver.forward_dynamics(mb.q, mb.v, force).vdot_independent, [0.7], 1e-10)
    both = solver.inverse_dynamics(mb.q, mb.v, [0.7], actuated=["crank", "rocker"])
    one = solver.inverse_dynamics(mb.q, mb.v, [0.7], actuated=["crank"])
    near(solver.forward_dynamics(mb.q, mb.v, both).vdot_independent, [0.7], 1e-10)
    assert np.linalg.norm(both) < np.linalg.norm(one)


def test_too_few_actuated_dofs_are_refused(solver, mb):
    s = type(solver)(two := sc.load("five_bar"))
    q = s.assemble(two.q)
    names = s.independent(q)
    assert len(names) == 3
    refused(
        lambda: s.inverse_dynamics(q, two.v, np.ones(3), actuated=["mot1"]),
        LoopError,
        r"forces at 'mot1' cannot give 'five_bar' these accelerations: \S+ of the generalized force is left\. Actuate "
        r"dofs that move all of .*",
    )
    refused(
        lambda: s.inverse_dynamics(q, two.v, np.ones(2)),
        StateError,
        r"vdot of 'five_bar' has 3 entries here, got 2; they are of .*\. All 6 dofs may be given too\.",
    )


@pytest.mark.parametrize("name", ["crank", "rocker"])
def test_mixed_dynamics_gives_the_force_that_forward_dynamics_needs(solver, mb, name):
    i = mb.dof_names.index(name)
    force, vdot = np.array([0.3, -0.2, 0.5]), np.full(3, 1.7)
    all_vdot, all_force = solver.mixed_dynamics(mb.q, mb.v, force, vdot, prescribed=[name])
    assert all_vdot[i] == pytest.approx(1.7, rel=1e-12)
    others = [k for k in range(3) if k != i]
    near(all_force[others], force[others], 1e-15)
    near(solver.forward_dynamics(mb.q, mb.v, all_force).vdot, all_vdot, 1e-9)


def test_prescribed_dofs_that_closures_tie_are_refused(solver, mb):
    refused(
        lambda: solver.mixed_dynamics(mb.q, mb.v, ZERO, [1.0, 1.0, 1.0], prescribed=["crank", "rocker"]),
        LoopError,
        r"the prescribed accelerations of 'four_bar' do not agree with its closures: \S+ is left at "
        r"'(crank|rocker|ring)'\. Prescribe dofs that are independent of each other\.",
    )


def test_independent_dofs_are_kept_while_they_serve():
    mb = FOUR_BAR.build(0.9)
    s = TreeAugmented(mb)
    first = s.independent(mb.q)
    for theta in np.linspace(0.9, 1.2, 5):
        assert s.independent(FOUR_BAR.build(theta).q) == first
    with pytest.raises(StateError, match=re.escape("independent takes one configuration, got a batch (2,)")):
        s.independent(np.zeros((2, 3)))


def test_a_closure_across_two_graphs_is_refused():
    one, other = FOUR_BAR.build(0.9), FOUR_BAR.build(0.9)
    refused(
        lambda: one.close_loop("x", "crank", other["rocker"], sc.Pin(Z)),
        ModelError,
        r"body 'rocker' belongs to another model of the same name, 'four_bar'\.",
    )


def test_a_sub_graph_is_solved_by_its_own_closures():
    row = row_of_four_bars(2)
    part = row.subgraph([x for x in row.bodies if x.name in ("crank0", "coupler0", "crank1")])
    alone = row_of_four_bars(1)
    r = TreeAugmented(part).forward_dynamics(part.q, part.v, ZERO)
    near(r.vdot, TreeAugmented(alone).forward_dynamics(alone.q, alone.v, ZERO).vdot, 1e-12)
    assert Constraints(part, part.state()).size == 5
