"""Closed chains in other units: open or closed, of the same rank, assembled and projected to the same configuration."""

from functools import cache

import numpy as np
import pytest
from tests.loops.by_name import by_name
from tests.loops.cases import FourBar, Z, close, rod, tie
from tests.scales.scaled import NINE, Units, coordinate_units, force_units, scaled, scaled_state, velocity_units

import soacraft as sc
from soacraft.errors import LoopError
from soacraft.kinematics import report
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tolerances import CLOSED, RANK
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

SOLVERS = (TreeAugmented, ConstraintEmbedding, FullyAugmented)


def four_bar():
    return FourBar().build(0.9)


def press():
    """A crank drives a slide through a rod in space; a rack is geared to it, and a screw turns with a second slide."""
    mb = sc.Multibody("press")
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, 0.3)).add_node("end", sc.Pose(translation=(0.3, 0, 0.1)))
    mb.add_body("rod", "crank", sc.Universal((0, 0, 1), (0, 1, 0)), rod(0.5, 0.9), sc.Pose(translation=(0.3, 0, 0.1)))
    mb.add_body("slide", None, sc.Prismatic((1, 0, 0)), rod(2.0, 0.2), sc.Pose(translation=(0.2, 0.05, 0.0)))
    mb.add_body("rack", None, sc.Prismatic((0, 1, 0)), rod(0.7, 0.4))
    mb.add_body("nut", "slide", sc.Cylindrical((1, 0, 0)), rod(0.2, 0.1))
    mb.q = [0.7, -0.5, 0.2, 0.8, 0.1, 0.3, 0.05]
    close(mb, "pivot", "slide", "rod", sc.Spherical())
    close(mb, "thread", "slide", "nut", sc.Helical((1, 0, 0), 0.05), 3)
    tie(mb, "teeth", ["crank", "rack"], [(0.08,), (-1.0, 0.5)])
    return mb


MODELS = {"four-bar": four_bar, "press": press}


CASES = [("four-bar", x) for x in NINE] + [("press", x) for x in (NINE[1], NINE[6], NINE[8])]


@cache
def closed(name):
    """At a closed state that moves."""
    mb = MODELS[name]()
    s = TreeAugmented(mb)
    q = s.assemble(mb.q)
    mb.set_state(q, s.project_velocity(q, np.linspace(0.5, 1.0, mb.nv)))
    return mb


@pytest.fixture(params=CASES, ids=lambda x: f"{x[0]} {x[1]}")
def case(request):
    return request.param


@pytest.fixture
def original(case):
    return closed(case[0])


@pytest.fixture
def units(case):
    return case[1]


def back(mb, units, q):
    """Coordinates in the units of the original."""
    return q / np.concatenate([coordinate_units(body.hinge, units.length) for body in mb.bodies])


def test_rank_and_verdict(original, units):
    mb = scaled(original, units)
    told, wanted = report(mb), report(original)
    assert told
    assert (told.rank, told.rank_nearby, told.shaky) == (wanted.rank, wanted.rank_nearby, wanted.shaky)
    assert (told.redundant, told.independent) == (wanted.redundant, wanted.independent)
    assert told.smallest == pytest.approx(wanted.smallest, rel=1e-6)


@pytest.mark.parametrize("part", [0.5, 2.0])
@pytest.mark.parametrize("kind", SOLVERS[:2])
def test_the_same_states_are_closed(original, units, kind, part):
    """On both sides of the tolerance, in position and in velocity."""
    mb = scaled(original, units)
    s, force = kind(mb), np.zeros(mb.nv)
    q, v = np.array(original.q), np.array(original.v)
    dq = np.eye(mb.nv)[original.dof_names.index("crank")]
    open_by = Constraints(original, original.state(q=original.integrate(q, 1e-5 * dq))).opening / 1e-5
    off = scaled_state(original, units, original.integrate(q, part * CLOSED / open_by * dq), v)[0]
    G, here = Constraints(original, original.state()).jacobian(), Constraints(original, original.state())
    speeds = np.abs(G @ dq / here.units).max()
    rate = max(np.abs(here.measure.dofs * v).max(), np.sqrt(9.81 / here.measure.length))
    _, wrong = scaled_state(original, units, q, v + 0.9 * part * CLOSED * rate / speeds * dq)
    s.forward_dynamics(mb.q, mb.v, force)  # a solver already warm
    if part < 1.0:
        s.forward_dynamics(off, 0.0 * mb.v, force)
        s.forward_dynamics(mb.q, wrong, force)
    else:
        with pytest.raises(LoopError, match=r"is open by|is off by"):
            s.forward_dynamics(off, 0.0 * mb.v, force)
        with pytest.raises(LoopError, match="opens at"):
            s.forward_dynamics(mb.q, wrong, force)


def test_assembled_and_projected_alike(original, units):
    mb = scaled(original, units)
    s, s0 = TreeAugmented(mb), TreeAugmented(original)
    start = original.integrate(original.q, np.linspace(0.05, -0.05, mb.nv))
    there, v = scaled_state(original, units, start, original.v)
    wanted = s0.assemble(start)
    q = s.assemble(there)
    assert Constraints(mb, mb.state(q=q)).opening < 1e-10
    np.testing.assert_allclose(back(original, units, q), wanted, atol=2e-8)
    near = original.integrate(original.q, np.linspace(1e-3, -1e-3, mb.nv))
    q, v = s.project(*scaled_state(original, units, near, original.v))
    wanted = s0.project(near, original.v)
    assert Constraints(mb, mb.state(q=q)).opening < 1e-12
    np.testing.assert_allclose(back(original, units, q), wanted[0], atol=1e-12)
    np.testing.assert_allclose(v / velocity_units(original, units), wanted[1], atol=1e-9)


def test_a_micrometre_four_bar_is_not_closed_by_its_size():
    """Open by 0.3 rad, and by less than any micrometre."""
    mb = scaled(four_bar(), Units(length=1e-6))
    q = mb.q + np.array([0.3, 0.0, 0.0])
    for kind in SOLVERS:
        with pytest.raises(LoopError, match="loop 'ring' of 'four_bar' is open by"):
            kind(mb).forward_dynamics(q, np.zeros(3), np.zeros(3))
    assert not report(mb, q)


@pytest.mark.parametrize("kind", SOLVERS)
def test_the_same_motion(original, units, kind):
    mb = scaled(original, units)
    force = np.linspace(-1.0, 1.0, mb.nv)
    r = kind(mb).forward_dynamics(mb.q, mb.v, force * force_units(original, units))
    wanted = kind(original).forward_dynamics(original.q, original.v, force)
    vdot = r.vdot / velocity_units(original, units) * units.time
    np.testing.assert_allclose(vdot, wanted.vdot, rtol=1e-7, atol=1e-7 * np.abs(wanted.vdot).max())
    assert r.rank == wanted.rank
    assert r.residual < 1e-9


def test_embedded_dofs_advance_alike(original, units):
    mb = scaled(original, units)
    one, other = ConstraintEmbedding(original), ConstraintEmbedding(mb)
    assert other.independent(mb.q) == one.independent(original.q)
    at = [original.dof_names.index(name) for name in one.independent(original.q)]
    step = 0.05 * np.ones(len(at))
    unit = (velocity_units(original, units) * units.time)[at]
    q = other.advance(mb.q, by_name(other, mb.q, step * unit))
    assert Constraints(mb, mb.state(q=q)).opening < 1e-12
    wanted = one.advance(original.q, by_name(one, original.q, step))
    np.testing.assert_allclose(back(original, units, q), wanted, atol=1e-9)


# -- thresholds and kinematics ----------------------------------------------------------------------------------------


def tilted(tilt):
    """A four-bar whose coupler's pin is tilted, closed where it is."""
    bar = FourBar()
    beta, gamma = bar.angles(0.9)
    along = [sc.Pose(translation=(x, 0, 0)) for x in (bar.crank, bar.coupler, bar.rocker, bar.ground)]
    mb = sc.Multibody("tilted")
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, bar.crank))
    mb.add_body("coupler", "crank", sc.Pin((np.sin(tilt), 0, np.cos(tilt))), rod(1.0, bar.coupler), along[0])
    mb.add_body("rocker", None, sc.Pin(Z), rod(1.0, bar.rocker), along[3]).add_node("end", along[2])
    mb.q = [0.9, beta - 0.9, gamma]
    close(mb, "ring", "rocker/end", "coupler", sc.Pin(Z))
    return mb


def least_singular_value(mb):
    rows = Constraints(mb, mb.state())
    return np.linalg.svd(sizes_of(rows).scaled(rows.jacobian()), compute_uv=False)[2]


@pytest.mark.parametrize("units", NINE, ids=str)
@pytest.mark.parametrize("part", [0.98, 1.02])
def test_rank_on_both_sides_of_its_threshold(units, part):
    """The singular value that a tilt makes grows with it: just below `RANK` the four-bar moves, just above it locks."""
    tilt = part * RANK * 1e-3 / least_singular_value(tilted(1e-3))
    mb = scaled(tilted(tilt), units)
    assert report(mb).rank == (2 if part < 1.0 else 3)
    if part < 1.0:
        ranks = {kind(mb).forward_dynamics(mb.q, np.zeros(3), np.zeros(3)).rank for kind in SOLVERS}
        assert ranks == {2}


@pytest.mark.parametrize("units", NINE, ids=str)
def test_an_arm_reaches_alike(units):
    """From the same start to the same configuration; what is out of reach is so in all units."""
    original = sc.load("ur5e")
    arm, tip = scaled(original, units), original.bodies[-1].name
    q = np.array([0.4, -1.2, 1.1, -0.7, 0.9, 0.2])
    goal, there = (mb.pose(tip, state=mb.state(q=q)) for mb in (original, arm))
    wanted = sc.inverse_kinematics(original, {tip: sc.Pose(goal.rotation, goal.translation)}, q0=np.zeros(6))
    found = sc.inverse_kinematics(arm, {tip: sc.Pose(there.rotation, there.translation)}, q0=np.zeros(6))
    assert found
    assert found.starts == wanted.starts
    np.testing.assert_allclose(found.q, wanted.q, atol=1e-7)
    assert found.residual[tip].distance < 1e-8 * units.length
    far = {tip: 3.0 * np.asarray(there.translation)}
    assert sc.inverse_kinematics(arm, far, q0=np.zeros(6), starts=1, allow_partial=True).impossible
