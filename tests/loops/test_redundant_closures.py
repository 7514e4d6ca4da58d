"""Closures that repeat each other: the right motion, multipliers of least norm, and which rows are too many.

A four-bar closed by a pin (5 rows, rank 2), a Bricard linkage (5 rows, rank 4), welds in parallel. Motions are those of
models in one coordinate made by hand, or of the same mechanism with one of the closures.
"""

import numpy as np
import pytest
from tests.loops.cases import FourBar, Z, close, force_of, generalized, near, project

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.kinematics.independent import row_names
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.model.samples.random_models import random_inertia, random_pose

SOLVERS = [TreeAugmented, FullyAugmented, ConstraintEmbedding]


def least_multipliers(mb, constraint_force):
    """The wrenches of the loops for the lambda of least norm with -Gc* lambda as given, by a pseudo-inverse."""
    rows = Constraints(mb, mb.state())
    found = np.linalg.pinv(-rows.jacobian().T, rcond=1e-9) @ constraint_force
    return {x.name: x.wrench(found[at]) for x, (_, at) in zip(rows.loops, rows.places, strict=True)}


def assert_redundant(mb, r, rank):
    """The rank, and that the rows named are as many as are too many and that the others alone say everything."""
    rows = Constraints(mb, mb.state())
    names = row_names(rows)
    assert r.rank == rank
    assert len(r.redundant) == len(set(r.redundant)) == rows.size - rank
    assert set(r.redundant) <= set(names)
    needed = [i for i, name in enumerate(names) if name not in r.redundant]
    assert np.linalg.svd(rows.jacobian()[needed], compute_uv=False)[-1] > 1e-3


def assert_solved(mb, force, vdot, rank):
    """All solvers give this motion, the constraint force it needs, and the least multipliers for that."""
    T = dyn.inverse_dynamics(mb, mb.q, mb.v, vdot, ignore_loops=True)
    for kind in SOLVERS:
        r = kind(mb).forward_dynamics(mb.q, mb.v, force)
        near(r.vdot, vdot)
        near(generalized(mb, r), T - force)
        assert_redundant(mb, r, rank)
        for name, wrench in least_multipliers(mb, T - force).items():
            near(r.multipliers[name], wrench, 1e-8)


# -- a planar loop ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", ["coupler", "rocker", "elbow"])
@pytest.mark.parametrize(
    ("hinge", "names"),
    [
        (sc.Pin(Z), {"ring: turn about x", "ring: turn about y", "ring: slide along z"}),
        (sc.Spherical(), {"ring: slide along z"}),
        (sc.Cylindrical(Z), {"ring: turn about x", "ring: turn about y"}),
    ],
)
def test_a_four_bar_closed_by_hinges_of_space(cut, hinge, names):
    bar = FourBar()
    mb = bar.build(0.9, cut, hinge)
    crank = mb.dof_names.index("crank")
    step = 1e-4
    ahead, behind = bar.build(0.9 + step, cut).q, bar.build(0.9 - step, cut).q
    first = project(mb, (ahead - behind) / (2.0 * step))
    mb.v = 2.3 * first / first[crank]
    force = np.where(np.arange(3) == crank, 1.7, 0.0)
    thetadd = bar.acceleration(0.9, 2.3, 1.7)
    rows = Constraints(mb, mb.state())
    tied = np.vstack([rows.jacobian(), np.eye(3)[crank]])
    vdot = np.linalg.lstsq(tied, np.append(-rows.gamma, thetadd), rcond=None)[0]
    assert_solved(mb, force, vdot, 2)
    for kind in SOLVERS:
        assert set(kind(mb).forward_dynamics(mb.q, mb.v, force).redundant) == names


# -- the Bricard linkage ------------------------------------------------------------------------------------------

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
EDGES = np.roll(CORNERS, -1, axis=0) - CORNERS


def bricard():
    """Five rods of 1 m and 1 kg and the ground along six edges of a cube, pins at the corners across both edges.

    The axes of neighbouring pins are 90 degrees apart, the other way at every second rod: one of Bricard's linkages.
    With bends theta at every second corner and phi at the others it stays closed while (Chen, You, Tarnai 2005)

        cos(theta) + cos(phi) + cos(theta) cos(phi) = 0
    """
    mb = sc.Multibody("bricard", gravity=(0, -9.81, 0))
    parent, before = None, np.zeros(3)
    for i in range(5):
        axis = np.cross(EDGES[i - 1], EDGES[i])
        moment = (np.eye(3) - np.outer(EDGES[i], EDGES[i])) / 12.0 + 1e-3 * np.outer(EDGES[i], EDGES[i])
        inertia = sc.Inertia(1.0, EDGES[i] / 2.0, moment)
        mb.add_body(f"rod{i}", parent, sc.Pin(axis), inertia, sc.Pose(translation=CORNERS[i] - before))
        parent, before = f"rod{i}", CORNERS[i]
    mb.root.add_node("corner", sc.Pose(translation=CORNERS[5]))
    mb["rod4"].add_node("corner", sc.Pose(translation=EDGES[4]))
    mb.close_loop("ring", "rod4/corner", "inertial/corner", sc.Pin(np.cross(EDGES[4], EDGES[5])))
    return mb


def bricard_motion(theta):
    """q, q' and q'' as functions of the bend theta."""
    c, s = np.cos(theta), np.sin(theta)
    cos_phi = -c / (1.0 + c)
    phi = np.arccos(cos_phi)
    sin_phi = np.sin(phi)
    first = -s / (1.0 + c) ** 2 / sin_phi  # cos(phi)' = s / (1 + c)^2 = -sin(phi) phi'
    second = (-(c * (1.0 + c) + 2.0 * s**2) / (1.0 + c) ** 3 - cos_phi * first**2) / sin_phi
    q = np.array([theta, phi, theta, phi, theta]) - np.pi / 2
    return q, np.array([1.0, first, 1.0, first, 1.0]), np.array([0.0, second, 0.0, second, 0.0])


@pytest.mark.parametrize("theta", [np.pi / 2, 1.2, 1.8])
def test_a_bricard_linkage_moves_in_one_coordinate(theta):
    mb = bricard()
    q, first, second = bricard_motion(theta)
    rate = -1.9
    mb.set_state(q, rate * first)
    M = dyn.mass_matrix(mb, q, ignore_loops=True)
    C = dyn.bias_force(mb, q, mb.v, ignore_loops=True)
    force = force_of(mb)
    bend = first @ (force - C - M @ second * rate**2) / (first @ M @ first)
    assert_solved(mb, force, first * bend + second * rate**2, 4)
    report = sc.loops.report(mb)
    assert report.mobility == 1


# -- closures in parallel -----------------------------------------------------------------------------------------


def two_arms(count):
    """Two arms of three bodies that hold each other by some welds, each in its own place."""
    rng = np.random.default_rng(4)
    mb = sc.Multibody("arms")
    for arm in ("left", "right"):
        parent = None
        for i, hinge in enumerate([sc.Spherical(), sc.Pin((0, 1, 0)), sc.Universal((1, 0, 0), (0, 0, 1))]):
            mb.add_body(f"{arm}{i}", parent, hinge, random_inertia(rng), random_pose(rng), random_pose(rng))
            parent = f"{arm}{i}"
    mb.set_state(*mb.random_state(5))
    for i in range(count):
        node = mb["left2"].add_node(f"grip{i}", random_pose(10 + i))
        close(mb, f"weld{i}", node, "right2", sc.Weld())
    mb.v = project(mb, mb.v)
    return mb


def test_welds_in_parallel_move_as_one():
    one = two_arms(1)
    force = force_of(one)
    vdot = TreeAugmented(one).forward_dynamics(one.q, one.v, force).vdot
    for count in (2, 3):
        mb = two_arms(count)
        near(mb.v, one.v, 1e-12)
        mb.v = one.v
        assert_solved(mb, force, vdot, 6)


def test_welds_in_the_same_place_share_the_load():
    mb = sc.Multibody("shelf", gravity=(0, 0, -10))
    mb.add_body("shelf", None, sc.Free(), sc.Inertia(3.0, (0.2, 0, 0), 0.1 * np.eye(3)))
    for i in range(3):
        close(mb, f"bracket{i}", "inertial", "shelf", sc.Weld())
    for kind in SOLVERS:
        r = kind(mb).forward_dynamics(mb.q, mb.v, np.zeros(6))
        near(r.vdot, np.zeros(6), 1e-12)
        assert (r.rank, len(r.redundant)) == (6, 12)
        for wrench in r.multipliers.values():
            near(wrench, [0, -2.0, 0, 0, 0, 10.0], 1e-10)
