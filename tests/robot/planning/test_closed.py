"""Plans of closed chains: every configuration closes, the loops are nearly closed between, nothing is touched."""

from itertools import pairwise

import numpy as np
import pytest

import soacraft as sc
from soacraft.contact import Sphere
from soacraft.errors import StateError
from soacraft.robot import Robot, World, plan
from soacraft.robot.planning.closed import OFF

Z = sc.Pin((0, 0, 1))


def five_bar():
    """Two arms of two rods whose tips are joined, and two closed configurations."""
    mb = sc.Multibody("five bar")
    turned = sc.Pose.from_rpy(0, np.pi / 2, 0).rotation
    for name, parent, at, length in (
        ("a1", None, 0.0, 1.0), ("a2", "a1", 1.0, 1.2), ("b1", None, 1.0, 1.0), ("b2", "b1", 1.0, 1.2),
    ):  # fmt: skip
        body = mb.add_body(name, parent, Z, sc.Inertia(1.0), inboard=sc.Pose(translation=(at, 0, 0)))
        rod = sc.Pose(rotation=turned, translation=(0.5 * length, 0, 0))
        body.add_geometry(sc.Geometry("rod", "capsule", (0.04, 0.8 * length), rod, role="collision"))
        body.add_node("end", sc.Pose(translation=(length, 0, 0)))
        body.limits = sc.Limits(-3.1, 3.1)
    mb.close_loop("tip", "a2/end", "b2/end", Z)
    solver = sc.loops.TreeAugmented(mb)
    ends = [solver.assemble(q, limits=True) for q in ([2.2, -1.0, 1.0, 1.0], [1.2, -1.2, 0.3, 1.2])]
    w = World(Robot(mb))
    w.allow("a2", "b2", "joined at the tip")
    return w, solver, ends


def opened(mb, q):
    """How far apart the tips are."""
    a, b = (mb.pose(x, state=mb.state(q)).translation for x in ("a2/end", "b2/end"))
    return float(np.abs(a - b).max())


@pytest.mark.parametrize("seed", [0, 1])
def test_a_tip_goes_round_a_post_with_the_loop_closed(seed):
    w, solver, (a, b) = five_bar()
    mb = w.robot.mb
    middle = mb.pose("a2/end", state=mb.state(solver.assemble(0.5 * (a + b), limits=True))).translation
    w.add("post", Sphere(0.08), sc.Pose(translation=middle))
    p = plan(w, a, b, seed=seed)
    assert p, p.why
    assert np.abs(p.path[[0, -1]] - [a, b]).max() < 1e-12
    assert max(opened(mb, q) for q in p.path) < 1e-8
    # between, the closed configuration next to the straight motion is near, and free as well
    for x, y in pairwise(p.path):
        assert w.edge(x, y)
        for s in (0.25, 0.5, 0.75):
            q = x + s * (y - x)
            shut = solver.assemble(q)
            assert np.linalg.norm(shut - q) <= 1.5 * OFF
            assert not w.collides(shut)
    again = plan(w, a, b, seed=seed)
    assert (again.path == p.path).all()
    with pytest.raises(StateError, match=r"the path is one of a closed chain: put sc.robot.spline"):
        p.motion()


def test_couplings_are_kept():
    mb = sc.serial_chain(2)
    mb.couple("geared", {"link1": 1.0, "link2": -2.0})
    p = plan(World(Robot(mb)), [0.0, 0.0], [2.0, 1.0])
    assert p
    assert np.abs(p.path[:, 0] - 2.0 * p.path[:, 1]).max() < 1e-8


def test_what_is_refused():
    w, _, (a, b) = five_bar()
    with pytest.raises(
        StateError, match=r"the start does not close the loops of 'five bar' .*TreeAugmented\(mb\).assemble"
    ):
        plan(w, a + 0.1, b)
    with pytest.raises(
        StateError, match=r"has loops or couplings: there planner='RRTConnect' goes from configurations"
    ):
        plan(w, a, b, planner="RRTstar")
    tip = w.robot.mb.pose("a2/end", state=w.robot.mb.state(b)).translation
    w.add("post", Sphere(0.1), sc.Pose(translation=tip))
    with pytest.raises(StateError, match=r"the goal is in collision: .*post/shape"):
        plan(w, a, b)


def test_a_search_ends_where_nothing_can_move():
    """q^2 = 1/4 has two solutions and no way between them: no motion is ever checked."""
    mb = sc.serial_chain(2)
    mb.couple("either side", {"link1": (0.0, 1.0)}, 0.25)
    mb.couple("still", {"link2": 1.0})
    p = sc.robot.plan(sc.robot.World(sc.robot.Robot(mb)), [0.5, 0.0], [-0.5, 0.0], most=20)
    assert not p
    assert "configurations that were looked at hardly any leads on" in p.why
