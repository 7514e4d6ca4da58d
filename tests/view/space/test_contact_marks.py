"""Contacts of a run as marks: points, forces as lengths, cones of friction; on pages and pictures."""

from __future__ import annotations

import numpy as np
import pytest
from tests.view.space.test_page import data_of, numbers

import soacraft as sc
from soacraft.view.space.contact_marks import LONGEST, WEIGHT, contact_marks

#: What falls freely for a step of 0.01 s: a step looks for contacts on the way that it would take without them.
FALL = 0.5 * 9.81 * 0.01**2


def box(gravity=(0, 0, -9.81), speed=0.0):
    """A box of 2 kg that rests, or slides along x, on a floor, for a tenth of a second."""
    mb = sc.Multibody(gravity=gravity)
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    body = mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, moment=np.eye(3) * 0.01))
    body.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.1], [0, 0, 0, speed, 0, 0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact(friction=0.3))
    return mb, p.advance_to(0.1)


def test_a_box_at_rest_has_four_points_that_carry_its_weight():
    mb, run = box()
    marks = contact_marks(mb, run, np.array([0.0, 0.055, 0.1]), 0.2)
    assert len(marks.at(0)) == 0  # no step ends at the beginning
    rows = marks.at(1)
    assert np.allclose(sorted(map(tuple, np.abs(rows[:, :2]))), 0.1)
    assert np.allclose(rows[:, 2], 0.0, atol=FALL)
    # box/skin comes before inertial/floor, and the floor is fixed: forces and normals are those on the box
    assert np.allclose(rows[:, 3:6].sum(axis=0), [0, 0, WEIGHT * 0.2], atol=1e-9)
    assert np.allclose(rows[:, 6:9], [0, 0, 1])
    assert np.allclose(rows[:, 9], 0.3)


def test_forces_of_sliding_lie_on_the_cone():
    mb, run = box(speed=1.0)
    rows = contact_marks(mb, run, np.array([0.055]), 0.2).at(0)
    force = rows[:, 3:6].sum(axis=0)
    assert -force[0] / force[2] == pytest.approx(0.3, rel=1e-6)


def test_a_blow_is_no_longer_than_the_model():
    mb, run = box()
    mb.set_state([0, 0, 0, 1, 0, 0, 0.2], [0, 0, 0, 0, 0, -100.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact())
    run = p.advance_to(0.05)
    rows = contact_marks(mb, run, run.t, 0.2).rows
    lengths = np.linalg.norm(rows[:, 3:6], axis=1)
    assert lengths.max() == pytest.approx(LONGEST * 0.2)


def test_marks_are_on_the_page_and_in_the_picture():
    mb, run = box()
    data = data_of(sc.view.scene(mb, run).html(rate=10.0))
    assert data["contacts"]["starts"] == [0, 0, 4]
    rows = numbers(data["contacts"]["rows"], "<f4").reshape(-1, 10)
    assert np.allclose(np.abs(rows[:, :3] + data["centre"]), [0.1, 0.1, 0.0], atol=FALL)
    with_run = sc.view.scene(mb, run).pixels(0.1, size=(160, 120))
    without = sc.view.scene(mb, (run.t, run.q)).pixels(0.1, size=(160, 120))
    orange = [(x[..., 0].astype(int) - x[..., 2] > 90).sum() for x in (with_run, without)]
    assert orange[0] > 20 > orange[1]


def test_a_run_without_contacts_has_none():
    mb = sc.load("pendulum")
    mb.q = [0.5]
    run = sc.sim.Propagator(mb).advance_to(0.1)
    assert len(contact_marks(mb, run, run.t, 0.2).rows) == 0


def test_cones_of_a_step_by_the_run():
    _, run = box()
    (first, *_), step = run.contacts.by_row().items(), run.contacts.steps[0]
    assert first == (1, 0)
    axes, friction = run.contacts.cones(0)
    assert axes.shape == (len(step.pairs), 3)
    assert set(friction.tolist()) == {0.3}
