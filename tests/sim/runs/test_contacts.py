"""Contacts of runs whose model changed its structure since."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim


def resting(scene=False):
    """A box on a floor, next to a hand that may take it."""
    mb = sc.Multibody("resting", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    hand = mb.add_body("hand", None, sc.Prismatic((0, 0, 1)), sc.Inertia.box(1.0, (0.1, 0.1, 0.1)),
                       sc.Pose(translation=(0.0, 0.0, 0.5)))  # fmt: skip
    hand.passive = sc.Passive(stiffness=1e4, damping=200.0)
    box = mb.add_body("box", None, sc.Free(), sc.Inertia.box(2.0, (0.2, 0.2, 0.2)))
    box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    other = mb.add_body("other", None, sc.Free(), sc.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    other.add_geometry(sc.Geometry("skin", "box", (0.1, 0.1, 0.1)))
    mb.set_state([0, 0, 0, 0, 1, 0, 0, 0.1, 0, 0, 0, 1, 0, 0, 0.04 if scene else 2.0], np.zeros(13))
    chosen = sc.contact.Scene(mb, skip=["other"]) if scene else None
    s = sim.System("resting", integrator="moreau", step=1e-3)
    return s, s.add("world", sim.Plant(mb, forces=[sim.Contact(chosen)]))


@pytest.mark.parametrize("scene", [False, True])
def test_the_run_before_a_capture_keeps_its_contacts(scene):
    s, world = resting(scene)
    before = s.run(0.02)
    number = len(before.contacts.steps) - 1
    told = before.check(), before.contacts.cones(number)
    assert (told[0].gain, told[0].sunk) == (0.0, 0.0)
    assert np.abs(told[1][0][:, 2]) == pytest.approx(np.ones(4))
    world.capture("box", "hand")
    assert s.changes[-1].name == "hand"
    after = s.run(0.04)
    again = before.check(), before.contacts.cones(number)
    assert str(again[0]) == str(told[0])
    assert all(np.array_equal(a, b) for a, b in zip(again[1], told[1], strict=True))
    assert (after.check().gain, after.check().sunk) == (0.0, 0.0)
    assert after.q.shape[1] == 8


def test_a_contact_with_a_scene_of_its_own_takes_part_in_changes():
    """Its choices hold before and after: the other body, which lies in the box, is left out."""
    s, world = resting(scene=True)
    s.run(0.01)
    world.capture("box", "hand")
    run = s.run(0.02)
    assert not any("other" in name for pair in run.contacts.pairs for name in pair)
    world.release("box", "hand")
    assert s.run(0.03).q.shape[1] == 15
