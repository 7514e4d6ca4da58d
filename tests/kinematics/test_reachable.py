"""Arms find what they can reach: poses, positions and tool directions at random configurations within their limits."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import Direction, Position, inverse_kinematics

ARMS = {"arm7": "link7", "panda": "attachment", "ur5e": "wrist_3_link", "iiwa14": "link7", "h1": "left_elbow_link"}


def loaded(name):
    """An arm and its limits; that of a humanoid is a sub-graph on a torso that stays."""
    mb = sc.load(name)
    if name == "h1":
        mb = mb.subgraph([x for x in mb.bodies if x.name.startswith(("left_shoulder", "left_elbow"))])
    low = np.concatenate([body.limits.lower for body in mb.bodies])
    high = np.concatenate([body.limits.upper for body in mb.bodies])
    return mb, low, high


def drawn(low, high, rng):
    """Within the limits, and within a turn."""
    return rng.uniform(np.maximum(low, -np.pi), np.minimum(high, np.pi))


def folded(low, high):
    """A corner of the limits, nearly."""
    low, high = np.maximum(low, -np.pi), np.minimum(high, np.pi)
    return low + 0.02 * (high - low)


def asked(tip, T, kind):
    if kind == "pose":
        return {tip: sc.Pose(T.rotation, T.translation)}
    if kind == "position":
        return {tip: T.translation}
    return [Position(tip, T.translation), Direction(tip, (0, 0, 1), T.rotation @ (0, 0, 1))]


@pytest.mark.parametrize("kind", ["pose", "position", "tool"])
@pytest.mark.parametrize("name", ARMS)
def test_an_arm_finds_what_it_can_reach(name, kind):
    """From a corner of its limits, where it is folded up."""
    (mb, low, high), tip = loaded(name), ARMS[name]
    rng = np.random.default_rng(11)
    for _ in range(3):
        T = mb.pose(tip, state=mb.state(q=drawn(low, high, rng)))
        found = inverse_kinematics(mb, asked(tip, T, kind), q0=folded(low, high))
        assert found
        assert (found.q >= low).all()
        assert (found.q <= high).all()
        there = mb.pose(tip, state=mb.state(q=found.q))
        np.testing.assert_allclose(there.translation, T.translation, atol=1e-8)
        if kind == "pose":
            np.testing.assert_allclose(there.rotation, T.rotation, atol=1e-8)


def test_the_seed_and_the_number_of_starts():
    """The same seed gives the same answer, another one may not; one start is one start."""
    (mb, low, high), tip = loaded("panda"), ARMS["panda"]
    rng, differ = np.random.default_rng(5), 0
    for _ in range(2):
        goal = asked(tip, mb.pose(tip, state=mb.state(q=drawn(low, high, rng))), "pose")
        q0 = folded(low, high)
        first = inverse_kinematics(mb, goal, q0=q0, seed=1)
        np.testing.assert_array_equal(inverse_kinematics(mb, goal, q0=q0, seed=1).q, first.q)
        differ += not np.allclose(inverse_kinematics(mb, goal, q0=q0, seed=2).q, first.q)
        once = inverse_kinematics(mb, goal, q0=q0, starts=1, allow_partial=True)
        assert once.starts == 1
        assert bool(once) == (first.starts == 1)
    assert differ > 0
