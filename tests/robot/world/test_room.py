"""A world that leaves no room is refused, and the pair and the padding are named."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.world.robots import swing

import soacraft as sc
from soacraft.contact import Box, Sphere
from soacraft.errors import StateError
from soacraft.robot import World


def test_the_share_of_free_configurations():
    """The ball at distance 1 touches the wall x = 0.5 where cos > 0.45 of an even angle."""
    w = World(swing())
    w.add("wall", Box(1.0, 9.0, 9.0), sc.Pose(translation=(1.0, 0, 0)))
    got = w.check(samples=4000)
    share = 1 - np.arccos(0.45) / np.pi
    assert abs(got.free / 4000 - share) < 4 * np.sqrt(share * (1 - share) / 4000)
    assert got.touched == {("link", "wall"): 4000 - got.free}
    assert repr(got) == f"{got.free} of 4000 configurations are free\n  link - wall: {4000 - got.free} times"
    assert w.check(samples=4000).free == got.free


def test_a_padding_that_makes_all_configurations_collide_is_named():
    """A post on the axis is 1 - 0.05 - 0.1 m from the ball, always."""
    w = World(swing())
    w.add("post", Sphere(0.1))
    assert w.check(samples=200).free == 200
    w.pad("link", 0.5)
    w.pad("post", 0.3, "link")
    w.pad("post/shape", 0.05)
    with pytest.raises(StateError) as told:
        w.check(samples=200)
    assert str(told.value) == (
        "'link' and 'post' touch in all 200 configurations that were drawn, by the padding of 0.5 m for 'link' and "
        "0.3 m for 'link' - 'post' and 0.05 m for 'post/shape': without it they are up to 0.85 m apart. Pad by less."
    )
    w.pad("link", 0.49)
    assert w.check(samples=200).free == 200


def test_a_pair_that_always_touches_is_named():
    w = World(swing())
    w.add("post", Sphere(1.0))
    with pytest.raises(StateError, match=r"touch in all 100 .* whatever the padding: w.allow\('link', 'post'"):
        w.check(samples=100)
    w.allow("link", "post")
    assert w.check(samples=100).free == 100


def test_several_pairs_that_leave_no_room_together_are_named():
    w = World(swing())
    for name, x in (("left", -5.0), ("right", 5.0)):
        w.add(name, Box(10.0, 9.0, 9.0), sc.Pose(translation=(x, 0, 0)))
    with pytest.raises(StateError, match=r"all 100 .* that were drawn collide: '.*' and '.*' in \d+, .* of them"):
        w.check(samples=100)
