"""`sc.loops.report` and `sc.loops.cut`."""

import re

import numpy as np
import pytest
from tests.loops.cases import FourBar, Z, row_of_four_bars

import soacraft as sc
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.loops import cut, report

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
    assert "'ring' is off by 0.011 m, " in repr(off)


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
    assert "near a singular configuration: smallest pivot " in repr(near_flat)


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
        (lambda: cut(3), ModelError, "joints are given as a list of (name, body_a, body_b, hinge), got 3."),
        (lambda: cut([("a", "b")]), ModelError, "a joint is given as (name, body_a, body_b, hinge), got ('a', 'b')."),
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
            "without the joints to cut, 'crank' hangs on nothing; keep one that carries it.",
        ),
        (
            lambda: cut(RSSR, keep=["crank"], cut=["crank"]),
            LoopError,
            "joint 'crank' is to be kept and to be cut; name it once.",
        ),
        (
            lambda: cut(RSSR, keep=["knee"]),
            LoopError,
            "keep names 'knee', which is not one of the joints 'crank', 'elbow', 'rocker', 'wrist'.",
        ),
        (lambda: cut(RSSR).loop("crank"), LoopError, "'crank' is not cut; cut are 'elbow'."),
    ],
)
def test_refusals_of_cut(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == text
