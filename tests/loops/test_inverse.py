"""Inverse and mixed dynamics of closed chains, and the independent dofs they are told in."""

import re

import numpy as np
import pytest
from hypothesis import given
from tests.loops.by_name import by_name
from tests.loops.cases import FourBar, closed_graphs, comparable, force_of, near, project, refused, row_of_four_bars
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import PRESCRIBED
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

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


@pytest.mark.parametrize("kind", BOTH)
@tries(12)
@given(closed_graphs(), SEEDS)
def test_inverse_dynamics_undoes_forward_dynamics(kind, mb, seed):
    comparable(mb, force_of(mb, seed))
    s = kind(mb)
    wanted = np.random.default_rng(seed).standard_normal(len(s.independent(mb.q)))
    force = s.inverse_dynamics(mb.q, mb.v, by_name(s, mb.q, wanted))
    r = s.forward_dynamics(mb.q, mb.v, force)
    assert r.independent == s.independent(mb.q)
    near(r.vdot_independent, wanted)
    dependent = [i for i, name in enumerate(mb.dof_names) if name not in r.independent]
    assert not force[dependent].any()


def test_any_dof_that_moves_the_system_may_be_actuated(solver, mb):
    for name in mb.dof_names:
        force = solver.inverse_dynamics(mb.q, mb.v, by_name(solver, mb.q, [0.7]), actuated=[name])
        assert np.flatnonzero(force).tolist() == [mb.dof_names.index(name)]
        near(solver.forward_dynamics(mb.q, mb.v, force).vdot_independent, [0.7], 1e-10)
    both = solver.inverse_dynamics(mb.q, mb.v, by_name(solver, mb.q, [0.7]), actuated=["crank", "rocker"])
    one = solver.inverse_dynamics(mb.q, mb.v, by_name(solver, mb.q, [0.7]), actuated=["crank"])
    near(solver.forward_dynamics(mb.q, mb.v, both).vdot_independent, [0.7], 1e-10)
    assert np.linalg.norm(both) < np.linalg.norm(one)


@pytest.mark.parametrize("short", [1e-9, 1e-7, 1e-5])
def test_a_batch_with_a_state_where_the_independent_dof_hardly_sets_the_others(short):
    """A crank next to the end of its range, where coupler and rocker are in line, driven from the rocker: all states
    have the acceleration that was asked for, by forward dynamics of another solver."""
    bar = FourBar(crank=1.0, coupler=0.6, rocker=0.7, ground=1.0)
    end = float(np.arccos((2.0 - 1.3**2) / 2.0))
    mb = bar.build(1.0)
    q = np.stack([mb.q, bar.build(end - short).q, bar.build(0.8).q])
    s = ConstraintEmbedding(mb, independent=["crank"])
    wanted = np.array([[1.0], [1.0], [-2.0]])
    for _ in range(2):  # the second call has a plan for the rocker
        s.inverse_dynamics(mb.q, ZERO, {"crank": 1.0}, actuated=["rocker"])
    force = s.inverse_dynamics(q, ZERO, {"crank": wanted}, actuated=["rocker"])
    assert not force[:, :2].any()
    found = TreeAugmented(mb).forward_dynamics(q, ZERO, force).vdot
    near(found[:, :1], wanted, 1e-4)


def test_too_few_actuated_dofs_are_refused(solver, mb):
    s = type(solver)(two := sc.load("five_bar"))
    q = s.assemble(two.q)
    names = s.independent(q)
    assert len(names) == 3
    refused(
        lambda: s.inverse_dynamics(q, two.v, by_name(s, q, np.ones(3)), actuated=["mot1"]),
        LoopError,
        r"forces at 'mot1' cannot give 'five_bar' these accelerations: \S+ of the generalized force is left\. Actuate "
        r"dofs that move all of .*",
    )
    refused(
        lambda: s.inverse_dynamics(q, two.v, np.ones(2)),
        StateError,
        r"vdot of 'five_bar' has 3 entries here, got 2; they are of .*\. Give them by name; all 6 .* given too\.",
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


def test_a_sub_graph_is_solved_by_its_own_closures():
    row = row_of_four_bars(2)
    part = row.subgraph([x for x in row.bodies if x.name in ("crank0", "coupler0", "crank1")])
    alone = row_of_four_bars(1)
    r = TreeAugmented(part).forward_dynamics(part.q, part.v, ZERO)
    near(r.vdot, TreeAugmented(alone).forward_dynamics(alone.q, alone.v, ZERO).vdot, 1e-12)
    assert Constraints(part, part.state()).size == 5


@pytest.mark.parametrize("kind", [TreeAugmented, FullyAugmented, ConstraintEmbedding])
def test_one_state_and_many_accelerations(kind, mb):
    s = kind(mb)
    wanted = np.array([[0.5], [-2.0], [3.0], [0.0]])
    force = s.inverse_dynamics(mb.q, mb.v, by_name(s, mb.q, wanted))
    assert force.shape == (4, 3)
    near(s.forward_dynamics(mb.q, mb.v, force).vdot_independent, wanted, 1e-9)
    pulled = s.inverse_dynamics(mb.q, mb.v, by_name(s, mb.q, wanted), f_ext={"crank": np.ones((4, 6))})
    near(pulled[2], s.inverse_dynamics(mb.q, mb.v, by_name(s, mb.q, wanted[2]), f_ext={"crank": np.ones(6)}), 1e-12)
    refused(
        lambda: s.inverse_dynamics(np.tile(mb.q, (3, 1)), mb.v, by_name(s, mb.q, wanted)),
        StateError,
        r"the leading \(batch\) axes do not agree: vdot \(4, 1\), the other arguments \(3, 3\)\.",
    )
    refused(
        lambda: s.inverse_dynamics(mb.q, mb.v, by_name(s, mb.q, [1e200])),
        StateError,
        r"vdot of 'four_bar' is too large to work with: 1e\+200; a solver takes numbers up to 1e\+150\.",
    )


@pytest.mark.parametrize("kind", [TreeAugmented, FullyAugmented, ConstraintEmbedding])
def test_tied_prescribed_dofs_are_named_as_the_model_names_them(kind):
    """Two welded slides: one cannot do this and the other that."""
    mb = sc.Multibody("slides")
    for name in ("left", "right"):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.couple("gear", {"left": 1, "right": -1})
    refused(
        lambda: kind(mb).mixed_dynamics([0, 0], [0, 0], [0, 0], [30.0, 0.0], ["left", "right"]),
        LoopError,
        r"the prescribed accelerations of 'slides' do not agree with its closures: \S+ is left at "
        r"'(left|right|gear)'\. Prescribe dofs that are independent of each other\.",
    )


@pytest.mark.parametrize("kind", [TreeAugmented, FullyAugmented, ConstraintEmbedding])
def test_plans_for_many_actuated_and_prescribed_dofs_are_few_and_right(kind):
    """Twenty wheels geared to the first by 2, 3, ..., each in turn the one that drives: sum of I (k / j)^2 at wheel j.
    Of the plans for these dofs some are kept, of single states and batches alike."""
    mb, count, moment = sc.Multibody("gears"), 20, 0.3
    for k in range(count):
        mb.add_body(f"wheel{k + 1}", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), moment * np.eye(3)))
        if k:
            mb.couple(f"gear{k + 1}", {f"wheel{k + 1}": 1.0, "wheel1": -(k + 1.0)})
    s, zero, ratios = kind(mb), np.zeros(count), np.arange(1.0, count + 1.0)
    inertia = moment * float(ratios @ ratios)
    for k, name in enumerate(mb.dof_names):
        alone = np.where(np.arange(count) == k, inertia / ratios[k], 0.0)
        for factors in (1.0, np.array([[1.0, -2.0, 0.5], [3.0, 0.0, 4.0]]), -1.5):
            scale = np.asarray(factors)[..., None]
            found = s.inverse_dynamics(zero, zero, scale * ratios, actuated=[name])
            near(found, scale * alone, 1e-10)
            vdot, force = s.mixed_dynamics(zero, zero, zero, scale * ratios, [name])
            near(vdot, scale * ratios, 1e-10)
            near(force, scale * alone, 1e-10)
    assert 0 < len(s._actuation._plans) < count
    assert 0 < len(s._prescribing) < count


def test_rows_of_prescribed_dofs_cannot_be_driven(solver, mb):
    """They have names of their own inside, which no caller may drive: refused at the first call and at later ones."""
    force, vdot = np.array([0.3, -0.2, 0.5]), np.full(3, 1.7)
    wanted = solver.mixed_dynamics(mb.q, mb.v, force, vdot, ["crank"])
    still = {"ring": (np.zeros(6), np.zeros(6))}
    for _ in range(2):
        near(np.array(solver.mixed_dynamics(mb.q, mb.v, force, vdot, ["crank"], U=still)), np.array(wanted), 1e-9)
        refused(
            lambda: solver.mixed_dynamics(
                np.array(mb.q), np.array(mb.v), force, vdot, ["crank"], U={f"{PRESCRIBED}crank": (0.0, 1.0)}
            ),
            LoopError,
            rf"U names '{PRESCRIBED}crank', but the active loops and couplings of 'four_bar' are 'ring'\.",
        )


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_closure_that_is_off_most_is_the_same_in_all_units(unit):
    """Two slides that are welded, and two geared wheels; accelerations off by half of a length and by 0.05 rad."""
    mb, beyond = sc.Multibody("both"), sc.Pose(translation=(0, unit, 0))
    for name in ("left", "right"):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.5), sc.Pose() if name == "left" else beyond)
    mb.close_loop("weld", mb["left"].add_node("end", beyond), "right", sc.Weld())
    for name in ("one", "two"):
        mb.add_body(name, None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), unit**2 * np.eye(3)))
    mb.couple("gear", {"one": 1.0, "two": -1.0})
    zero = np.zeros(4)
    for vdot, name in (([0.5 * unit, 0.0, 0.05, 0.0], "weld"), ([0.01 * unit, 0.0, 0.05, 0.0], "gear")):
        with pytest.raises(LoopError, match=rf"does not agree with its closures: \S+ is left at '{name}'\."):
            TreeAugmented(mb).inverse_dynamics(zero, zero, np.array(vdot))
