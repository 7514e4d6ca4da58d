"""Runs that begin with shapes in each other or beyond limits: out at a bounded speed, without momentum, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.sim.forces.starts import OUTWARD

G = 9.81


def ball(unit=1.0, gravity=G, free=False):
    """A ball of radius 0.1 over a floor, on a slide along z or free."""
    mb = sc.Multibody(gravity=(0, 0, -gravity * unit))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    hinge = sc.Free() if free else sc.Prismatic((0, 0, 1))
    body = mb.add_body("ball", None, hinge, sc.Inertia(1.0, moment=np.eye(3) * 0.004 * unit**2))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1 * unit,)))
    return mb


def propagator(mb, q, step=1e-3, integrator="moreau", v=None, **laws):
    mb.set_state(q, np.zeros(mb.nv) if v is None else v)
    p = sc.sim.Propagator(mb, integrator=integrator, step=step)
    touch = sc.sim.Contact(**laws)
    p.add(touch)
    return p, touch


@pytest.mark.parametrize("integrator", ["moreau", "moreau_midpoint"])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_sunken_ball_rises_at_a_bounded_speed(unit, integrator):
    """Half in the floor it comes out, a step by no more than the stated share of its length, at rest all the way: it
    ends on the floor and not above it. In any unit the same."""
    mb = ball(unit)
    p, touch = propagator(mb, [0.05 * unit], integrator=integrator, step=5e-3)
    assert [str(x) for x in touch.start(0.0, np.array(mb.q))] == [
        f"'ball/skin' and 'inertial/floor' {0.05 * unit:.3g} m in each other"
    ]
    assert "begins with 'ball/skin' and 'inertial/floor'" in p.report()
    run = p.advance_to(0.4)
    scale = sc.model.sizes.scale.scale_of(mb)
    z = run.q[:, 0] / unit
    assert (np.diff(z) > -1e-9).all()
    assert np.diff(z).max() <= OUTWARD * 5e-3 / scale.time * scale.length / unit * (1 + 1e-9)
    assert z[-1] == pytest.approx(0.1, abs=2e-4)
    assert z.max() < 0.1 + 1e-6
    assert np.abs(run.v).max() < 1e-9 * unit
    assert "begins with" in p.report()
    assert not touch.takes_out


def test_no_momentum_comes_of_it():
    """Without gravity a ball in the floor that slides along goes on as fast, and does not leave the floor."""
    mb = ball(gravity=0.0, free=True)
    p, _ = propagator(mb, [0, 0, 0, 1, 0, 0, 0.09], v=[0, 0, 0, 0.7, 0, 0], friction=0.0, step=0.02)
    run = p.advance_to(0.8)
    assert run.v == pytest.approx(np.tile([0, 0, 0, 0.7, 0, 0], (len(run.t), 1)), abs=1e-9)
    assert run.q[-1, 6] == pytest.approx(0.1, abs=2e-4)
    assert run.q[-1, 4] == pytest.approx(0.56, abs=1e-9)


def test_a_dof_beyond_its_limit_comes_back():
    """0.3 rad beyond: back at the stated rate, then within; what pulls on it does not go further out."""
    mb = sc.Multibody(gravity=(0, 0, -G))
    link = mb.add_body("link", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -0.5), np.eye(3)))
    link.limits = sc.Limits(lower=0.5, upper=2.0)
    p, touch = propagator(mb, [0.2], step=5e-3)
    assert str(touch.start(0.0, np.array(mb.q))[0]) == "'link' at 0.2, beyond its limits 0.5 and 2"
    run = p.advance_to(0.6)
    rate = OUTWARD / sc.model.sizes.scale.scale_of(mb).time
    assert np.diff(run.q[:, 0]).max() <= rate * 5e-3 * (1 + 1e-9)
    assert run.q[-1, 0] == pytest.approx(0.5, abs=2e-3)
    assert (np.diff(run.q[:, 0]) > -1e-9).all()


def test_a_rope_that_is_too_long_is_pulled_in():
    mb = sc.Multibody(gravity=(0, 0, -G))
    mb.add_body("z", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0))
    mb.add_rope("rope", "inertial", "z", 1.0)
    p, touch = propagator(mb, [-1.2], step=0.01)
    assert str(touch.start(0.0, np.array(mb.q))[0]) == "'rope' beyond its bound by 0.2"
    run = p.advance_to(0.5)
    assert run.q[-1, 0] == pytest.approx(-1.0, abs=2e-3)
    assert np.abs(run.v).max() < 1e-9


def test_between_walls_that_are_too_near_it_stands_still():
    """A ball of 0.2 m between walls 0.15 m apart has nowhere to go: it stays, at rest, and the run ends."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    for name, x in (("left", -0.575), ("right", 0.575)):
        mb.root.add_geometry(sc.Geometry(name, "box", (1, 1, 1), pose=sc.Pose(translation=(x, 0, 0))))
    body = mb.add_body("ball", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    p, _ = propagator(mb, [0.01], step=0.01)
    run = p.advance_to(0.1)
    assert run.q[-1, 0] == pytest.approx(0.01, abs=1e-3)
    assert np.abs(run.v).max() < 1e-9


def test_a_start_in_later_runs_and_after_a_checkpoint(tmp_path):
    """What is set anew into the floor is taken out as well; a checkpoint in the midst goes on with the same bits."""
    mb = ball()
    p, touch = propagator(mb, [0.3], step=5e-3)
    p.advance_to(0.01)
    mb.set_state([0.05], [0.0])
    p.advance_to(0.02)
    assert touch.takes_out
    assert len(touch.start(p.t, np.array(mb.q))) == 1
    p.checkpoint(tmp_path / "a.h5")
    run = p.advance_to(0.3)
    other, again = propagator(ball(), [0.3], step=5e-3)
    other.restore(tmp_path / "a.h5")
    assert (other.advance_to(0.3).q[-1] == run.q[-1]).all()
    assert not again.takes_out


def test_with_penetration_the_start_is_moved_at_once_or_refused():
    """What was there before: within `penetration` the first row is out; deeper is refused, and so in rollouts."""
    p, _ = propagator(ball(), [0.06], penetration=0.5)
    assert p.advance_to(0.01).q[0, 0] == pytest.approx(0.1, abs=1e-9)
    p, _ = propagator(ball(), [0.04], penetration=0.5)
    with pytest.raises(sc.errors.SimulationError, match=r"0\.06 m in each other; move them apart"):
        p.advance_to(0.01)
    p, _ = propagator(ball(), [0.06])
    with pytest.raises(sc.errors.StateError, match=r"0\.04 m in each other"):
        p.rollout([0.06], [0.0], steps=3)


def test_a_closed_chain_comes_out_with_its_closures_closed():
    """A parallelogram whose coupler begins in the floor: out, and closed in every row."""
    mb = sc.Multibody(gravity=(0, 0, -G))
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, -0.52))))
    rod = sc.Inertia(1.0, (0, 0, -0.25), np.eye(3) * 0.02)
    mb.add_body("a", None, sc.Pin((0, 1, 0)), rod)
    mb.add_body("b", "a", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0), np.eye(3) * 0.1),
                sc.Pose(translation=(0, 0, -0.5)))  # fmt: skip
    mb.add_body("c", None, sc.Pin((0, 1, 0)), rod, sc.Pose(translation=(1, 0, 0)))
    mb["c"].add_node("end", sc.Pose(translation=(0, 0, -0.5)))
    mb["b"].add_node("end", sc.Pose(translation=(1, 0, 0)))
    mb.close_loop("pin", "c/end", "b/end", sc.Spherical())
    mb.body("b").add_geometry(sc.Geometry("skin", "sphere", (0.08,), pose=sc.Pose(translation=(0.5, 0, 0))))
    p, _ = propagator(mb, [0.2, -0.2, 0.2], step=5e-3)
    run = p.advance_to(0.3)
    assert run.violation.max() < 1e-8
    assert sc.contact.Scene(mb).distances(run.q[-1]).distance.min() > -1e-3
    assert np.abs(run.v[0]).max() == 0.0
