"""Accelerations against poses alone: the frames of a closure follow its hinge to third order.

Along q(h) = integrate(q, h v + h^2/2 vdot) the pose of b seen from a must stay on the poses of the closure's hinge but
for h^3. What is left is found here from poses, by least squares over the hinge's coordinates. A wrong vdot leaves h^2.
"""

from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.loops.cases import EVERY_CLOSING, close, force_of, project, tie

import soacraft as sc
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.model.hinges.base import integrate_of, pose_of
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.tree.parts.closures import coordinate_names

X, Y, Z = np.eye(3)
SEED = 3
STEP, ROUNDS = 1e-4, 6  # of the search for the nearest pose: its slopes are right to 1e-8 or so, and it starts at h v
FOUR, FIVE = (sc.Screws(np.random.default_rng(n).uniform(-1.0, 1.0, (n, 6))) for n in (4, 5))
HINGES = {**{type(hinge).__name__: hinge for hinge in EVERY_CLOSING}, "four screws": FOUR, "five screws": FIVE}
HINGES["KnifeEdge"] = sc.KnifeEdge((0.2, 0.1, 1.0))  # velocities matter to its one row in this motion
SOLVERS = {
    "TA": TreeAugmented,
    "FA": FullyAugmented,
    "CE": ConstraintEmbedding,
    "hybrid, ring embedded": lambda mb: ConstraintEmbedding(mb, embed=["ring"]),
    "hybrid, ring as rows": lambda mb: ConstraintEmbedding(mb, embed=["ball", "cam"]),
}


@cache
def mechanism(hinge):
    """Three arms on a moving base. "ring" ties two of them by the hinge, far from its neutral pose and with its nodes
    apart; a ball ties the third, and a cam two coordinates. All of it moves."""
    rng = np.random.default_rng(SEED)
    mb = sc.Multibody("arms")
    mb.add_body("base", None, sc.Free(), random_inertia(rng), random_pose(rng))
    arms = {
        "left": [sc.Spherical(), sc.Planar()],
        "right": [sc.Spherical(), sc.Planar()],
        "third": [sc.Pin(X), sc.Universal(Y, Z), sc.Cylindrical(Z)],
    }
    for arm, hinges in arms.items():
        parent = "base"
        for i, one in enumerate(hinges):
            parent = mb.add_body(f"{arm}{i}", parent, one, random_inertia(rng), random_pose(rng), random_pose(rng)).name
    mb.set_state(*mb.random_state(SEED))
    mb["left1"].add_node("a", random_pose(rng))
    close(mb, "ring", "left1/a", "right1", HINGES[hinge], SEED)
    close(mb, "ball", "third2", "right0", sc.Spherical(), SEED)
    tie(mb, "cam", ["third0", "left1.1"], [(1.0, 0.4, -0.3), (-1.5,)])
    mb.v = project(mb, np.random.default_rng(SEED).uniform(-1.0, 1.0, mb.nv))
    return mb


def seen(mb, q, loop):
    """Rotations and positions of b seen from a, at every q."""
    T = mb.pose(loop.b, relative_to=loop.a, state=mb.state(q=q))
    return np.asarray(T.rotation), np.asarray(T.translation)


def off_hinge(hinge, theta, R, p):
    """What is between poses and the nearest ones of a hinge, [angle; distance]: Gauss-Newton from theta on, with
    central differences, all poses and differences in one batch."""

    def gap(x):
        T = pose_of(hinge, integrate_of(hinge, theta, x))
        turned = (np.swapaxes(T.rotation, -1, -2) @ R[:, None]).reshape(-1, 3, 3)
        angle = Rotation.from_matrix(turned).as_rotvec().reshape(*x.shape[:-1], 3)
        return np.concatenate([angle, p[:, None] - T.translation], axis=-1)

    here, around = np.zeros((len(p), 1, hinge.nv)), STEP * np.vstack([np.eye(hinge.nv), -np.eye(hinge.nv)])
    for _ in range(ROUNDS if hinge.nv else 0):
        ahead, behind = np.split(gap(here + around), 2, axis=1)
        slopes = np.swapaxes(ahead - behind, -1, -2) / (2 * STEP)
        here = here - np.swapaxes(np.linalg.pinv(slopes) @ np.swapaxes(gap(here), -1, -2), -1, -2)
    return gap(here)[:, 0]


def off_rolling(hinge, start, R, p):
    """What a ball slips beside rolling, cdot = w x radius normal; log(R(h) R(0)*) is the integral of w but for h^3."""
    turned = Rotation.from_matrix(R @ start[0].T).as_rotvec()
    return p - start[1] - np.cross(turned, hinge.radius * hinge.normal)


def opened(mb, vdot, steps):
    """How far the closures and the coupling are off at each q(h), (steps, closures), from poses alone."""
    h, found = steps[:, None], []
    q = mb.integrate(mb.q, h * mb.v + 0.5 * h * h * vdot)
    for loop in mb.loops:
        R, p = seen(mb, q, loop)
        if isinstance(loop.hinge, sc.RollingBall):
            found.append(off_rolling(loop.hinge, seen(mb, mb.q, loop), R, p))
        else:
            found.append(off_hinge(loop.hinge, loop.hinge.random(np.random.default_rng(SEED)), R, p))
    names = coordinate_names(mb)
    for cam in mb.couplings:
        terms = [np.polynomial.Polynomial((0.0, *c))(q[:, names[dof]]) for dof, c in cam.terms.items()]
        found.append((sum(terms) - cam.offset)[:, None])
    return np.stack([np.linalg.norm(x, axis=1) for x in found], axis=1)


def shrinks(mb, vdot, steps):
    """By what the gaps shrink when h is halved, (steps - 1, closures)."""
    found = opened(mb, vdot, steps)
    return found[:-1] / found[1:]


@pytest.mark.parametrize("hinge", HINGES)
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_closures_stay_closed_to_third_order(solver, hinge):
    mb = mechanism(hinge)
    vdot = solver(mb).forward_dynamics(mb.q, mb.v, force_of(mb)).vdot
    ratios = shrinks(mb, vdot, 0.5 ** np.arange(7, 11))
    np.testing.assert_allclose(ratios, 8.0, atol=0.2)
    assert opened(mb, vdot, np.array([0.5**18])).max() < 1e-14


@pytest.mark.parametrize("hinge", HINGES)
def test_accelerations_off_by_a_thousandth_are_seen(hinge):
    """Then h^2 is left, which halving shrinks by 4."""
    mb, of_ring = mechanism(hinge), slice(6 - HINGES[hinge].nv)
    assert np.abs(Constraints(mb, mb.state()).gamma[of_ring]).max() > 0.1  # velocities matter
    vdot = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force_of(mb)).vdot
    spoiled = vdot + 1e-3 * np.random.default_rng(1).standard_normal(mb.nv)
    np.testing.assert_allclose(shrinks(mb, spoiled, 0.5 ** np.arange(14, 17)), 4.0, atol=0.5)
