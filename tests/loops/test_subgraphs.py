"""Sub-graphs that hold whole loops: compiled in the axes of their anchor, and what of them is left to Python."""

import numpy as np
import pytest
from tests.loops.cases import near, row_of_four_bars

import soacraft as sc
from soacraft.errors import LoopError, StaleError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented, forward_dynamics_derivatives
from soacraft.model.samples.random_models import random_inertia, random_pose

KINDS = [TreeAugmented, ConstraintEmbedding, FullyAugmented]


def swung():
    """A triangle of three pins on an arm on a ball: its loop is inside the part that hangs from the arm."""
    mb, rng = sc.Multibody("swung", gravity=(1.0, -2.0, -9.0)), np.random.default_rng(5)
    mb.add_body("arm", None, sc.Spherical(), random_inertia(rng), random_pose(rng))
    mb.add_body("hub", "arm", sc.Universal((1, 0, 0), (0, 1, 0)), random_inertia(rng), random_pose(rng))
    mb.add_body("left", "hub", sc.Pin((0, 0, 1)), random_inertia(rng), sc.Pose(translation=(0.5, 0, 0)))
    mb.add_body("right", "hub", sc.Pin((0, 0, 1)), random_inertia(rng), sc.Pose(translation=(-0.5, 0, 0)))
    mb.add_body("bar", "left", sc.Pin((0, 0, 1)), random_inertia(rng), sc.Pose(translation=(0, 1, 0)))
    tip = mb.frame("bar").add_node("tip", sc.Pose(translation=(-1.0, 0, 0)))
    mb.close_loop("ring", mb.frame("right").add_node("top", sc.Pose(translation=(0, 1, 0))), tip, sc.Pin((0, 0, 1)))
    mb.set_state([*sc.Pose.from_rpy(0.4, -0.7, 0.2).as_quaternion(), 0.3, 0.2, 0, 0, 0], np.zeros(8))
    return mb


def part_of(mb, **anchor):
    return mb.subgraph(["hub", "left", "right", "bar"], **anchor)


def in_python(s):
    s._compiled, s._chosen = None, s._chosen._replace(compiled=None, call=None)
    return s


def states(part, seed=1):
    """A closed state of the part that moves, and a force."""
    rng = np.random.default_rng(seed)
    s = TreeAugmented(part)
    q = s.assemble(part.integrate(part.current.q, 0.2 * rng.standard_normal(part.nv)))
    return q, s.project_velocity(q, rng.standard_normal(part.nv)), rng.standard_normal(part.nv)


@pytest.mark.parametrize("kind", KINDS, ids=lambda x: x.__name__)
def test_a_part_that_hangs_from_a_body_is_compiled(kind, monkeypatch):
    mb = swung()
    part = part_of(mb)
    q, v, force = states(part)
    s, slow = kind(part), in_python(kind(part))
    first, wanted = s.forward_dynamics(q, v, force), slow.forward_dynamics(q, v, force)
    monkeypatch.setattr(kind, "_solve", None)  # from here on no solution is Python's
    found = s.forward_dynamics(np.stack([q, q]), v, force)
    again = s.forward_dynamics(q, v, force)
    monkeypatch.undo()
    for x in (first.vdot, again.vdot, *found.vdot):
        near(x, wanted.vdot, 1e-9)
    near(again.multipliers["ring"], wanted.multipliers["ring"], 1e-9)
    mixed = s.mixed_dynamics(q, v, force, wanted.vdot, ["hub"]), s.mixed_dynamics(q, v, force, wanted.vdot, ["hub"])
    for vdot, back in mixed:
        near(vdot, wanted.vdot, 1e-8)
        near(back, force, 1e-7)
    d = forward_dynamics_derivatives(s, q, v, force)
    for x, y in zip(d, forward_dynamics_derivatives(slow, q, v, force), strict=True):
        near(x, y, 1e-9)
    assert s._augmented() is not None


def test_gravity_turns_with_the_anchor():
    """The arm turns: the part falls the other way, as the sub-graph's own Python says."""
    mb = swung()
    part = part_of(mb)
    q, v, force = states(part)
    s = ConstraintEmbedding(part)
    asked, result = s.forward_dynamics(q, v, force), s.forward_dynamics(q, v, force)
    before, held = asked.vdot, np.array(asked.hinge_forces["hub"])
    moved = np.array(mb.q)
    moved[:4] = sc.Pose.from_rpy(-1.0, 0.5, 2.0).as_quaternion()
    mb.q = moved
    np.testing.assert_array_equal(asked.hinge_forces["hub"], held)
    with pytest.raises(StaleError, match=r"hinge forces of this result were not asked for before 'swung.*' changed"):
        result.hinge_forces  # noqa: B018
    after = s.forward_dynamics(q, v, force).vdot
    assert np.abs(after - before).max() > 0.1
    near(after, in_python(ConstraintEmbedding(part)).forward_dynamics(q, v, force).vdot, 1e-9)
    mb.body("bar").inertia = sc.Inertia(20.0, (0.1, 0, 0), np.eye(3))
    heavy = s.forward_dynamics(q, v, force).vdot
    assert np.abs(heavy - after).max() > 0.1
    near(heavy, in_python(ConstraintEmbedding(part)).forward_dynamics(q, v, force).vdot, 1e-9)
    one = dict.fromkeys(s.independent(q), 1.0)
    near(s.expand(q, one), in_python(ConstraintEmbedding(part)).expand(q, one), 1e-9)


@pytest.mark.parametrize("kind", KINDS, ids=lambda x: x.__name__)
def test_a_part_on_the_ground(kind):
    """Two of three four-bars: the third has no part in it."""
    mb = row_of_four_bars(3)
    part = mb.subgraph(["crank0", "crank1", "crank2", "coupler0", "coupler1"])
    s = kind(part)
    assert s._compiled is not None
    assert len(part.loops) == 2
    q, v, force = np.array(part.current.q), np.zeros(part.nv), np.ones(part.nv)
    near(s.forward_dynamics(q, v, force).vdot, in_python(kind(part)).forward_dynamics(q, v, force).vdot, 1e-9)


def test_what_stays_in_python():
    """An anchor that moves, and a loop between the ground and a part that hangs from a body."""
    mb = swung()
    assert TreeAugmented(part_of(mb, anchor="moving"))._compiled is None
    tied = swung()
    tied.close_loop("rope", "inertial", tied.frame("bar"), sc.Spherical())
    assert TreeAugmented(part_of(tied))._compiled is None
    q = np.array(part_of(mb).current.q)
    q[2] += 0.3
    with pytest.raises(LoopError, match=r"loop 'ring' of 'swung.*' is open by"):
        TreeAugmented(part_of(mb)).forward_dynamics(q, np.zeros(5), np.zeros(5))
