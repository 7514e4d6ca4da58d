"""Compiled tree-augmented dynamics of closed chains with flexible bodies: rows, answers and projections of Python on
random graphs with closures at nodes that deform; forces along modes; batches; what is left to Python."""

import warnings

import numpy as np
import pytest
from tests.loops.cases import CONDITION, dense, generalized, near
from tests.loops.compiled_cases import compiled, in_python, ready, rows_in_python, same
from tests.loops.flexible_cases import drawn, four_bar

import soacraft as sc
from soacraft.kinematics.compiled import rows_of
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.loops.schur import Compliance

#: Graphs that compiled code knows, whose hinges hold nodes or not, with modes in couplings among them.
SEEDS = (1, 4, 7, 13, 17, 23, 27, 31)
MANY = range(60, 160)


def quietly(seed):
    """The random graph of a seed; some of its nodes turn far, which is said elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return drawn(seed)


def is_definite(mb, force):
    """True if a dense solution tells vdot well."""
    wanted = dense(mb, force)
    scale = max(1.0, np.abs(wanted.vdot).max(initial=0.0))
    return wanted.condition <= CONDITION and wanted.contradiction <= 1e-9 * scale


def agree(seed):
    """Answers of compiled code and of Python at one state; True if there was one to compare."""
    mb = quietly(seed)
    force = np.random.default_rng(seed).standard_normal(mb.nv)
    if rows_of(mb) is None or mb.layout.rigid or not is_definite(mb, force):
        return False
    s = ready(mb, TreeAugmented)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        s.forward_dynamics(mb.q, mb.v, force)
        (found,), fine = compiled(s, mb.q[None], mb.v[None], force[None])
        wanted = in_python(TreeAugmented(mb), mb.q, mb.v, force)
    near(found.vdot, wanted.vdot)
    near(generalized(mb, found), generalized(mb, wanted))
    return bool(fine[0])


def test_answers_of_random_graphs():
    assert sum(map(agree, SEEDS)) >= len(SEEDS) - 1


@pytest.mark.slow
def test_answers_of_many_random_graphs():
    assert sum(map(agree, MANY)) > 0.6 * len(MANY)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_random_graphs(seed):
    """Gc, Gcdot v, what is open and how fast: those of Python, for the rows that compiled code takes."""
    mb = quietly(seed)
    with rows_in_python():
        wanted = Constraints(mb, mb.current)
    rows = Constraints(mb, mb.current, wanted.theta)
    assert rows.arrays is not None
    unpacked = rows.with_couplings([])  # one by one, with the blocks of modes
    for name in ("gamma", "residual", "speed"):
        near(getattr(rows.arrays, name), getattr(unpacked, name))
    near(rows.jacobian(), unpacked.jacobian())
    for mine, other in zip(rows.loops, wanted.loops, strict=True):
        turn = mine.Q @ other.Q.T  # rows of one hinge span the same
        near(turn @ turn.T, np.eye(len(turn)))
        for k, W in other.W.items():
            near(mine.W[k], turn @ W)
        near(mine.gamma, turn @ other.gamma)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_rounding_is_measured_by(seed):
    """Compliances before anything cancels, which depend on axes a little."""
    mb = quietly(seed)
    s = TreeAugmented(mb)
    with rows_in_python():
        theta = Constraints(mb, mb.current).theta
    found = s._compiled.compliance(mb.q, s._compiled.guess(theta))
    wanted = Compliance(Constraints(mb, mb.current, theta), mb.sko(mb.current)).reference
    seen = wanted > 1e-12 * wanted.max()
    assert ((found > 0.4 * wanted) & (found < 2.5 * wanted))[seen].all()


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_projections_are_those_of_python(seed):
    mb = quietly(seed)
    rng = np.random.default_rng(seed)
    s = ready(mb, TreeAugmented)
    q, v = mb.integrate(mb.q, 1e-4 * rng.standard_normal(mb.nv)), mb.v + 0.1 * rng.standard_normal(mb.nv)
    found = s.project(q, v)
    alone = TreeAugmented(mb)
    alone._compiled = None
    with rows_in_python():
        wanted = alone.project(q, v)
    np.testing.assert_allclose(mb.difference(wanted[0], found[0]), 0.0, atol=1e-9)
    np.testing.assert_allclose(found[1], wanted[1], rtol=0, atol=1e-8 * np.abs(wanted[1]).max())


def bent():
    """A four-bar with a flexible coupler, moving."""
    mb = four_bar(3)
    s = TreeAugmented(mb)
    q, v = s.assemble(mb.q), np.cos(np.arange(mb.nv))
    v[mb.layout.own.v] *= 1e-2
    mb.q, mb.v = s.project(mb.integrate(q, 3e-3 * s.project_velocity(q, v)), v)
    return mb


def test_forces_at_nodes_act_along_modes():
    mb = bent()
    s, zero = ready(mb, TreeAugmented), np.zeros(mb.nv)
    pushes = {
        "coupler/tip": sc.Wrench((0.1, 0.2, 0.3), (1.0, -2.0, 0.5)),
        "rocker/end": sc.Wrench((0, 0, 1), (0, 1, 0)),
    }
    found = s.forward_dynamics(mb.q, mb.v, zero, f_ext=pushes)
    alone = TreeAugmented(mb)
    alone._compiled = None
    with rows_in_python():
        wanted = alone.forward_dynamics(mb.q, mb.v, zero, f_ext=pushes)
    same(mb, found, wanted)
    assert np.abs(found.vdot - s.forward_dynamics(mb.q, mb.v, zero).vdot).max() > 1.0


def test_states_side_by_side_are_states_alone():
    mb = bent()
    s = ready(mb, TreeAugmented)
    rng = np.random.default_rng(0)
    steps = 0.02 * s.project_velocity(mb.q, rng.standard_normal((5, mb.nv)))
    q, v = s.project(mb.integrate(np.tile(mb.q, (5, 1)), 0.02 * steps), steps)
    force = rng.standard_normal((5, mb.nv))
    together, fine = compiled(s, q, v, force)
    assert fine.all()
    for i, x in enumerate(together):
        near(x.vdot, s.forward_dynamics(q[i], v[i], force[i]).vdot)


def test_calls_on_single_states_are_compiled():
    mb = bent()
    s, zero = ready(mb, TreeAugmented), np.zeros(mb.nv)
    s.forward_dynamics(mb.q, mb.v, zero)
    before = s._chosen.call.answered
    s.forward_dynamics(mb.q, mb.v, zero)
    assert s._chosen.call.answered == before + 1


def test_prescribed_modes():
    """Mixed dynamics with a mode and the crank prescribed: accelerations as given, and forces that give them."""
    mb = bent()
    s, zero = ready(mb, TreeAugmented), np.zeros(mb.nv)
    mask = np.isin(mb.dof_names, ["crank", "coupler.mode0"])
    vdot = np.where(mask, 3.0, 0.0)
    for _ in range(2):  # by Python, and by compiled code
        found, force = s.mixed_dynamics(mb.q, mb.v, zero, vdot, mask)
        np.testing.assert_allclose(found[mask], 3.0, rtol=1e-9)
        near(s.forward_dynamics(mb.q, mb.v, force).vdot, found)


def test_nodes_that_turn_far_are_left_to_python():
    """Python says so, once for a state."""
    mb = bent()
    s = ready(mb, TreeAugmented)
    far = np.array(mb.q)
    far[mb.layout.own.q[0]] = 50.0  # of a mode of unit mass: a turn of several radians
    _, fine = compiled(s, far[None], 0.0 * mb.v[None], 0.0 * mb.v[None])
    assert not fine[0]


@pytest.mark.parametrize("kind", [ConstraintEmbedding, FullyAugmented])
def test_other_solvers_keep_their_equations(kind):
    """They solve in Python, and hand the tree-augmented solver to compiled steps."""
    mb = bent()
    s, zero = ready(mb, kind), np.zeros(mb.nv)
    near(s.forward_dynamics(mb.q, mb.v, zero).vdot, TreeAugmented(mb).forward_dynamics(mb.q, mb.v, zero).vdot)
    assert s._chosen.compiled is None
    solver, mover, _ = s.compiled_parts(mb.q, mb.v)
    assert solver is mover
