"""`sc.loops.report` and `sc.loops.cut`."""

import re

import numpy as np
import pytest
from tests.loops.cases import FourBar, Z, row_of_four_bars

import soacraft as sc
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.kinematics import report
from soacraft.loops import cut

FOUR_BAR = FourBar()
PIN = sc.Pin(Z)


def test_a_four_bar():
    mb = FOUR_BAR.build(0.9)
    found = report(mb)
    assert (found.dofs, found.rows, found.rank, found.mobility) == (3, 5, 2, 1)
    assert set(found.redundant) == {"ring: turn about x", "ring: turn about y", "ring: slide along z"}
    assert (found.singular, found.near_singular, found.met) == (False, False, True)
    assert len(found.independent) == 1
    text, name = repr(found), found.independent[0]
    assert text.startswith(f"four_bar: 3 dofs, 5 rows of rank 2, mobility 1 ({name})\n3 redundant rows: ")
    assert text.endswith("\nall closures are met")


def test_violations_of_position_and_velocity():
    mb = FOUR_BAR.build(0.9)
    off = report(mb, q=mb.q + np.array([0.0, 0.01, 0.0]), v=[1.0, 0.0, 0.0])
    (one,) = off.violations
    assert one.distance == pytest.approx(1.1 * 2 * np.sin(0.005), rel=1e-6)  # the coupler's end swings by 0.01 rad
    assert one.angle == pytest.approx(0.0, abs=1e-9)  # the pin lets it turn
    assert one.speed > 0.1
    assert not off.met
    assert not off.closed
    assert "'ring' is off by 0.011 m, " in repr(off)
    assert repr(off).endswith("\nrank and mobility are those of an open configuration; s.assemble(q) closes it")


def test_a_velocity_that_opens_a_closed_loop():
    """The rocker's end moves by 0.9 m/rad, the coupler's end stays."""
    mb = FOUR_BAR.build(0.9)
    off = report(mb, v=[0.0, 0.0, 1.0])
    (one,) = off.violations
    assert off.closed
    assert not off.met
    assert one.distance < 1e-12
    assert 0.9 * np.sqrt(0.5) <= one.speed <= 1.0 + 1e-12  # the largest of two components, or of the turn
    assert "open configuration" not in repr(off)


def test_a_singular_configuration_is_told_from_a_redundant_closure():
    """Cranks and couplers in one line: two more freedoms than nearby."""
    mb = row_of_four_bars(2)
    flat = report(mb, q=np.zeros(5), v=np.zeros(5))
    assert (flat.rank, flat.rank_nearby, flat.mobility, flat.singular) == (2, 4, 3, True)
    assert "singular configuration: the rank is 2 here and 4 nearby" in repr(flat)
    upright = report(mb)
    assert (upright.rank, upright.rank_nearby, upright.singular) == (4, 4, False)


def test_near_a_singular_configuration():
    mb = row_of_four_bars(1)
    near_flat = report(mb, q=[1e-4, 1e-4, -1e-4], v=np.zeros(3))
    assert near_flat.near_singular
    assert not near_flat.singular
    assert near_flat.weakest in ("loop0: slide along x", "loop0: slide along y")
    text = r"near a singular configuration: smallest pivot \S+e-05 relative to the largest, at loop0: slide along [xy]"
    assert re.search(rf"{text}\n", repr(near_flat))


def test_a_bennett_linkage_moves_though_counting_says_it_is_locked():
    """Four pins in space, opposite links alike, sin(a)/x = sin(b)/y: mobility 4 + 1 - 5 = ... 1, not -2."""
    a, x = 0.7, 1.0
    b = 1.2
    y = x * np.sin(b) / np.sin(a)
    mb = sc.Multibody("bennett")
    offset = {"short": (x, a), "long": (y, b)}

    def link(kind):
        length, twist = offset[kind]
        return sc.Pose.from_quaternion([np.sin(twist / 2), 0, 0, np.cos(twist / 2)], (length, 0, 0))

    mb.add_body("one", None, PIN, sc.Inertia(1.0, (0.5, 0, 0), np.eye(3)))
    mb.add_body("two", "one", PIN, sc.Inertia(1.0, (0.5, 0, 0), np.eye(3)), link("short"))
    mb.add_body("three", "two", PIN, sc.Inertia(1.0, (0.5, 0, 0), np.eye(3)), link("long"))
    mb["three"].add_node("end", link("short"))
    mb.root.add_node("far", link("long").inv)
    mb.close_loop("ring", "inertial/far", "three/end", PIN)
    half = np.tan(0.5)  # tan(t1/2) tan(t2/2) = sin((a+b)/2) / sin((b-a)/2)
    other = 2.0 * np.arctan(np.sin((a + b) / 2) / np.sin((b - a) / 2) / half)
    q = sc.loops.TreeAugmented(mb).assemble([1.0, other, -1.0])
    found = report(mb, q=q)
    assert (found.rank, found.mobility, len(found.redundant)) == (2, 1, 3)
    assert not found.singular


EDGES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], dtype=float)


def test_a_bricard_linkage():
    """Six rods along edges of a cube, pins across neighbours: 6 - 6 by counting, yet it moves: a row repeats others."""
    mb = sc.Multibody("bricard")
    corners = np.cumsum(np.vstack([np.zeros(3), EDGES]), axis=0)
    parent, before = None, np.zeros(3)
    for i in range(5):
        axis = sc.Pin(np.cross(EDGES[i - 1], EDGES[i]))
        body = sc.Inertia(1.0, EDGES[i] / 2, np.eye(3))
        mb.add_body(f"rod{i}", parent, axis, body, sc.Pose(translation=corners[i] - before))
        parent, before = f"rod{i}", corners[i]
    mb.root.add_node("corner", sc.Pose(translation=corners[5]))
    mb["rod4"].add_node("corner", sc.Pose(translation=EDGES[4]))
    mb.close_loop("ring", "rod4/corner", "inertial/corner", sc.Pin(np.cross(EDGES[4], EDGES[5])))
    found = report(mb)
    assert (found.dofs, found.rows, found.rank, found.mobility) == (5, 5, 4, 1)
    assert (found.singular, found.near_singular, found.met) == (False, False, True)
    (row,) = found.redundant
    assert f"\n1 redundant row: {row}\n" in repr(found)


def stewart(turned=0.0):
    """Six legs (universal, sliding, ball) under a plate; the first carries it. Home, or turned about the vertical."""
    mb = sc.Multibody("stewart")
    feet, heads = np.radians([-10, 10, 110, 130, 230, 250]), np.radians([-50, 50, 70, 170, 190, 290]) + turned
    body = sc.Inertia(1.0, (0, 0, 0.2), 0.1 * np.eye(3))
    for i in range(6):
        foot = np.array([np.cos(feet[i]), np.sin(feet[i]), 0.0])
        head = np.array([0.6 * np.cos(heads[i]), 0.6 * np.sin(heads[i]), 1.0])
        length = np.linalg.norm(head - foot)
        z = (head - foot) / length
        x = np.cross((0, 1, 0), z) / np.linalg.norm(np.cross((0, 1, 0), z))
        axes = np.column_stack([x, np.cross(z, x), z])
        hinge = sc.Universal((1, 0, 0), (0, 1, 0))
        mb.add_body(f"leg{i}", None, hinge, body, sc.Pose(axes, foot))
        up = sc.Pose(translation=(0, 0, length))
        mb.add_body(f"rod{i}", f"leg{i}", sc.Prismatic(Z), body).add_node("head", up)
        if i == 0:
            plate = mb.add_body("plate", "rod0", sc.Spherical(), body, up @ sc.Pose(axes.T))
            first = head
        else:
            plate.add_node(f"socket{i}", sc.Pose(translation=head - first))
            mb.close_loop(f"ball{i}", f"plate/socket{i}", f"rod{i}/head", sc.Spherical())
    return mb


def test_a_stewart_platform():
    """Six freedoms and no row too many; the wrong velocity opens the five balls."""
    found = report(stewart())
    assert (found.dofs, found.rows, found.rank, found.mobility, found.redundant) == (21, 15, 15, 6, ())
    assert (found.singular, found.near_singular, found.met) == (False, False, True)
    v = np.zeros(21)
    v[2] = 1.0  # the first leg gets longer
    off = report(stewart(), v=v)
    assert [x.met for x in off.violations] == [False] * 5
    assert max(x.speed for x in off.violations) <= 1.0


@pytest.mark.parametrize("turned", [np.pi / 2, -np.pi / 2])
def test_a_platform_on_legs_of_constant_length_gives_way_after_a_quarter_turn(turned):
    """Fichter's pose: the determinant of the lines of its legs vanishes there, the plate is loose to first order."""

    def locked(angle):
        mb = stewart(angle)
        for i in range(6):
            mb.couple(f"length{i}", {f"rod{i}": 1.0}, 0.0)
        lines = []
        for i in range(6):
            foot = np.asarray(mb.pose(f"leg{i}").translation)
            along = np.asarray(mb.pose(f"rod{i}/head").translation) - foot
            lines.append([*along, *np.cross(foot, along)])
        return report(mb), np.linalg.det(lines)

    (home, held), (loose, vanished), (close_by, small) = locked(0.0), locked(turned), locked(turned + 1e-4)
    assert abs(vanished) < 1e-12 < 1e-6 < abs(small) < 1e-3 < abs(held)
    assert (home.mobility, home.singular, home.near_singular) == (0, False, False)
    assert (loose.mobility, loose.shaky, loose.singular) == (1, True, True)
    assert "singular configuration: it gives way to first order, and no closed one is nearby" in repr(loose)
    assert (close_by.mobility, close_by.singular, close_by.near_singular) == (0, False, True)


def test_a_robot_with_many_loops():
    """A walker of twelve legs: what is printed stays short; the largest violations are told."""
    mb = sc.load("strandbeest")
    mb.set_state(mb.neutral())  # open
    found = report(mb)
    assert len(found.redundant) + found.rank == 210
    lines = repr(found).splitlines()
    assert lines[1].endswith(" ...")
    off = [line for line in lines if " is off by " in line]
    assert len(off) == 12
    assert lines[-2] == "and 24 others by less"
    sizes = {x.name: max(x.opening, x.drift) for x in found.violations}
    told = [sizes[next(name for name in sizes if line.startswith(repr(name)))] for line in off]
    assert told == sorted(sizes.values(), reverse=True)[:12]
    assert told[0] == max(x.opening for x in found.violations)


def test_cassie():
    """Four spherical closures of rods: two rows repeat others, since the plantar rods and feet move in planes."""
    found = report(sc.load("cassie"))
    assert (found.dofs, found.rows, found.rank, found.mobility) == (32, 12, 10, 22)
    assert {name.split(":")[0] for name in found.redundant} == {"left-plantar-rod", "right-plantar-rod"}
    assert found.met


def test_an_open_tree_has_nothing_to_report():
    found = report(sc.serial_chain(3))
    assert (found.rows, found.rank, found.mobility, found.met) == (0, 0, 3, True)


def test_refusals_of_report():
    with pytest.raises(ModelError, match="report takes a Multibody or a sub-graph of one, got 3"):
        report(3)
    with pytest.raises(StateError, match=re.escape("report takes one state, got a batch (2,)")):
        report(FOUR_BAR.build(0.9), q=np.zeros((2, 3)))


# -- cuts ---------------------------------------------------------------------------------------------------------

RSSR = [
    ("crank", "inertial", "crank", PIN),
    ("elbow", "crank", "rod", sc.Spherical()),
    ("wrist", "rod", "rocker", sc.Universal((1, 0, 0), (0, 1, 0))),
    ("rocker", "inertial", "rocker", PIN),
]


def test_the_hinge_with_most_freedom_is_cut():
    found = cut(RSSR)
    assert found.names == ("elbow",)
    assert [(e.joint.name, e.parent, e.child, e.turned) for e in found.tree] == [
        ("crank", "inertial", "crank", False),
        ("rocker", "inertial", "rocker", False),
        ("wrist", "rocker", "rod", True),
    ]
    assert found.loop("elbow") == ("crank", "rocker", "wrist", "elbow")
    assert repr(found) == "3 joints in the tree, 1 cut (3 rows)\n'elbow' closes crank - rocker - wrist"


def test_keep_and_cut_are_heeded():
    assert cut(RSSR, keep=["elbow"]).names == ("wrist",)
    assert cut(RSSR, cut=["crank"]).names == ("crank",)
    assert cut(RSSR, keep=["elbow", "wrist"], cut="rocker").names == ("rocker",)


def test_among_equals_the_tree_is_shallow():
    """A ring of six equal hinges is cut opposite the root."""
    bodies = ["inertial", "a", "b", "c", "d", "e"]
    ring = [(f"{x}{y}", x, y, PIN) for x, y in zip(bodies, [*bodies[1:], bodies[0]], strict=True)]
    found = cut(ring)
    assert found.names in (("bc",), ("cd",))
    depth = {"inertial": 0}
    for edge in found.tree:
        depth[edge.child] = depth[edge.parent] + 1
    assert max(depth.values()) == 3


def test_a_model_can_be_cut_anew():
    found = cut(FOUR_BAR.build(0.9))
    assert len(found.tree) == 3
    assert len(found.cuts) == 1
    assert cut(sc.load("cassie")).names == tuple(x.name for x in sc.load("cassie").loops)
    assert cut(sc.serial_chain(4)).cuts == ()


@pytest.mark.parametrize("n", [1, 4])
def test_every_independent_loop_is_cut_once(n):
    mb = row_of_four_bars(n)
    found = cut(mb)
    assert len(found.cuts) == n
    assert len(found.tree) == len(mb.bodies)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: cut(3),
            ModelError,
            "joints are given as a list of (name, body_a, [frame_a,] body_b, [frame_b,] hinge), got 3.",
        ),
        (
            lambda: cut([("a", "b")]),
            ModelError,
            "a joint is given as (name, body_a, [frame_a,] body_b, [frame_b,] hinge), got ('a', 'b').",
        ),
        (lambda: cut([*RSSR, RSSR[0]]), ModelError, "there are two joints 'crank'; names are unique."),
        (lambda: cut([("x", "a", "a", PIN)]), LoopError, "joint 'x' is from 'a' to itself."),
        (
            lambda: cut([("x", "a", "b", "pin")]),
            ModelError,
            "joint 'x' needs a hinge such as Pin(axis=(0, 0, 1)), got 'pin'.",
        ),
        (
            lambda: cut([*RSSR, ("far", "moon", "rover", PIN)]),
            LoopError,
            "no joint connects 'moon' with 'inertial'; a body that floats needs a Free() joint to it.",
        ),
        (
            lambda: cut(RSSR, keep=["crank", "elbow", "wrist", "rocker"]),
            LoopError,
            "the joints to keep close a loop among themselves at 'elbow'; let one be cut.",
        ),
        (
            lambda: cut(RSSR, cut=["crank", "rocker"]),
            LoopError,
            "without the joints to cut, 'crank' has no parent; keep one that carries it.",
        ),
        (
            lambda: cut(RSSR, keep=["crank"], cut=["crank"]),
            LoopError,
            "joint 'crank' is to be kept and to be cut; name it once.",
        ),
        (
            lambda: cut(RSSR, keep=["knee"]),
            LoopError,
            "keep names 'knee', which is not a joint; there are 'crank', 'elbow', 'rocker', 'wrist'.",
        ),
        (lambda: cut(RSSR).loop("crank"), LoopError, "'crank' is not cut; cut are 'elbow'."),
    ],
)
def test_refusals_of_cut(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == text
