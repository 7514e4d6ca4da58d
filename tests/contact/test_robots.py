"""Robots with contact: a humanoid that falls limp onto the floor, a closed chain that stands on its feet."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import soacraft as sc


def humanoid(damping):
    """h1 at 0.1 m above the floor, limp but for the damping of its joints: how it moves, and its contacts."""
    mb = sc.load("h1")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    for body in mb.bodies[1:]:
        body.passive = sc.Passive(damping=damping)
    scene, q = sc.contact.Scene(mb), np.array(mb.q)
    q[6] += 0.1 - min(x.distance for x in scene.distances(q) if "floor" in x.a + x.b)
    for row in scene.distances(q, within=0.0):
        scene.exclude(row.a, row.b)  # shapes that overlap in the model itself
    mb.set_state(q, np.zeros(mb.nv))
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    touch = sc.sim.Contact(scene, friction=0.8, tolerance=1e-8)
    p.add(touch)
    return p, touch


def test_a_humanoid_falls_without_gaining_energy_or_sinking_in():
    """h1 from 0.1 m with damped joints, at 1 ms: the energy never rises beyond what the smooth steps themselves err by
    in free flight, and nothing is deeper than a millimetre in anything."""
    p, touch = humanoid(10.0)
    run = p.advance_to(0.3)
    first = next(x.t for x in touch.steps if x.impulses.any())
    assert 0.13 < first < 0.16  # sqrt(2 0.1 / g) = 0.143
    energy = np.asarray(run.energy)
    flight = np.abs(np.diff(energy[run.t < first - 1e-3])).max()
    assert np.diff(energy).max() <= max(10.0 * flight, 1e-9 * np.abs(energy).max())
    assert energy[-1] < energy[0] - 1.0
    assert min(x.gap.min() for x in touch.steps if len(x.gap)) > -1e-3
    assert max(x.residual for x in touch.steps) <= 1e-8


SLOW = (0.3, 0.5, 0.7, 1.0, 1.2, 2.7, 3.0, 3.5, 5.0, 7.0)


@pytest.mark.parametrize("damping", [2.5, *(pytest.param(x, marks=pytest.mark.slow) for x in SLOW)])
def test_a_humanoid_folds_up_with_any_damping(damping):
    """Feet, knees and hands on the floor, arms at the trunk and hinges at their limits at once: many forces that hold
    each other. Every step is solved to 1e-8, and nothing sinks in."""
    p, touch = humanoid(damping)
    run = p.advance_to(3.0)
    assert max(x.residual for x in touch.steps) <= 1e-8
    assert touch.scene.distances(run.q[::50]).distance.min() > -1e-3


@pytest.mark.slow
def test_a_closed_chain_stands_for_five_seconds(monkeypatch, capsys):
    """Cassie by springs and dampers in its motors: the centre of mass stays within 5 mm of where statics put it, the
    loops stay closed, the floor bears the weight, and both feet stay flat on it. `examples` has the first instants."""
    script = Path(__file__).parents[2] / "examples" / "18_cassie_stands.py"
    monkeypatch.setattr(sys, "argv", [str(script), "5.0"])
    names = runpy.run_path(str(script), run_name="__main__")
    run, touch = names["run"], names["touch"]
    assert run.t[-1] == 5.0
    assert np.abs(names["way"]).max() < 5e-3
    assert run.violation.max() < 1e-12
    assert names["bears"].mean() == pytest.approx(names["weight"], rel=1e-3)
    assert names["deepest"] < 1e-4
    assert max(x.residual for x in touch.steps) <= 1e-8  # the tolerance of its contacts
    assert all(run.contacts.touches(f"{leg}-foot", "inertial")[1:].all() for leg in names["LEGS"])
    assert run.check().imbalance < 1e-6 * names["weight"]
