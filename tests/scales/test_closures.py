"""Closed chains in other units: open or closed, of the same rank, assembled and projected to the same configuration."""

import numpy as np
import pytest
from tests.loops.cases import FourBar, Z, close, rod, tie
from tests.scales.scaled import NINE, Units, coordinate_units, force_units, scaled, scaled_state, velocity_units

import soacraft as sc
from soacraft.errors import LoopError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented, report
from soacraft.loops.rows import Constraints
from soacraft.loops.tolerances import CLOSED

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


@pytest.fixture(params=MODELS, scope="module")
def original(request):
    """At a closed state that moves."""
    mb = MODELS[request.param]()
    s = TreeAugmented(mb)
    q = s.assemble(mb.q)
    mb.set_state(q, s.project_velocity(q, np.linspace(0.5, 1.0, mb.nv)))
    return mb


@pytest.fixture(params=NINE, ids=str)
def units(request):
    return request.param


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
@pytest.mark.parametrize("kind", SOLVERS)
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
    q = other.advance(mb.q, step * unit)
    assert Constraints(mb, mb.state(q=q)).opening < 1e-12
    np.testing.assert_allclose(back(original, units, q), one.advance(original.q, step), atol=1e-9)
