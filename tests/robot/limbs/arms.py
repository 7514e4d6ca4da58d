"""Random limbs: 3 to 9 dofs of any hinge, behind a moving base, with limits of every kind; what every answer keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import soacraft as sc
from soacraft.kinematics.rows import Constraints
from soacraft.model.states.ranges import Ranges
from soacraft.spatial.rotations import log

SCREWS = [
    lambda rng: sc.Pin(rng.standard_normal(3)),
    lambda rng: sc.Prismatic(rng.standard_normal(3)),
    lambda rng: sc.Helical(rng.standard_normal(3), rng.uniform(-0.3, 0.3)),
    lambda rng: sc.Cylindrical(rng.standard_normal(3)),
    lambda rng: sc.Universal(rng.standard_normal(3), rng.standard_normal(3)),
    lambda rng: sc.Gimbal(rng.standard_normal((3, 3))),
    lambda rng: sc.Planar(),
    lambda rng: sc.Screws(rng.standard_normal((1, 6))),
    lambda rng: sc.Weld(),
]
HINGES = [*SCREWS, lambda rng: sc.Spherical()]


def random_pose(rng, size=1.0):
    return sc.Pose.from_quaternion(unit(rng.standard_normal(4)), size * rng.uniform(-0.6, 0.6, 3))


def unit(x):
    return x / np.linalg.norm(x)


def random_limits(rng, nv):
    """Both sides, one side, tight, or of no width."""
    middle, half = rng.uniform(-1.0, 1.0, nv), rng.uniform(0.2, 2.0, nv)
    kind = rng.integers(5, size=nv)
    half = np.where(kind == 3, 1e-3 * half, np.where(kind == 4, 0.0, half))
    lower, upper = middle - half, middle + half
    return sc.Limits(lower=np.where(kind == 1, -np.inf, lower), upper=np.where(kind == 2, np.inf, upper))


def add_hinges(draw, mb, rng, last, kinds, most, name):
    """Hinges one after the other, `most` dofs at most and one at least; the name of the last body."""
    nv = 0
    picked = draw(st.lists(st.sampled_from(range(len(kinds))), min_size=1, max_size=most))
    for i, k in enumerate([*picked, 0]):
        hinge = kinds[k](rng)
        if nv + hinge.nv > most or (i == len(picked) and nv):
            continue
        nv += hinge.nv
        body = mb.add_body(f"{name}{i}", parent=last, hinge=hinge, inertia=sc.Inertia(1.0), inboard=random_pose(rng))
        body.outboard = random_pose(rng)
        if hinge.nv and draw(st.booleans()):
            ball = isinstance(hinge, sc.Spherical)
            body.limits = sc.Limits(upper=[rng.uniform(0.3, 2.5)] * 3) if ball else random_limits(rng, hinge.nv)
        last = f"{name}{i}"
    return last


@st.composite
def arms(draw, kinds=HINGES, most=9):
    """A limb with one tip, which is not at its last body, and the generator that drew it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mb = sc.Multibody("arm")
    mb.add_body("base", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    last = add_hinges(draw, mb, rng, "base", kinds, draw(st.integers(3, most)), "b")
    mb[last].add_node("tool", random_pose(rng, 0.3))
    mb["base"].add_node("mount", random_pose(rng, 0.3))
    mb.set_state(*mb.random_state(rng))
    return sc.robot.Robot(mb).limb("arm", "base/mount", f"{last}/tool"), rng


@st.composite
def hands(draw, kinds=SCREWS, shared=None):
    """A limb with two or three tips, behind a wrist or straight from the base."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mb = sc.Multibody("hand")
    mb.add_body("base", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    wrist = draw(st.booleans()) if shared is None else shared
    palm = add_hinges(draw, mb, rng, "base", kinds, 2, "w") if wrist else "base"
    tips = [add_hinges(draw, mb, rng, palm, kinds, 3, f"f{i}") for i in range(draw(st.integers(2, 3)))]
    for tip in tips:
        mb[tip].add_node("tip", random_pose(rng, 0.3))
    mb.set_state(*mb.random_state(rng))
    return sc.robot.Robot(mb).limb("hand", "base", [f"{x}/tip" for x in tips]), rng


def inside(limb, rng):
    """Coordinates of a limb anywhere within its limits."""
    mb = limb.robot.mb
    whole = np.array(mb.random_state(rng)[0])
    ranges = Ranges(mb)
    for i in limb.v_places:
        if ranges.place[i] >= 0:
            low, high = max(ranges.lower[i], -3.0), min(ranges.upper[i], 3.0)
            if low > high:  # a limit beyond
                low = high = np.clip(0.0, ranges.lower[i], ranges.upper[i])
            whole[ranges.place[i]] = rng.uniform(low, high)
    for ball in ranges.balls:
        w = unit(rng.standard_normal(3)) * rng.uniform(0.0, ball.largest)
        whole[ball.q] = [*(np.sin(0.5 * np.linalg.norm(w)) * unit(w)), np.cos(0.5 * np.linalg.norm(w))]
    return whole[limb.q_places]


def assert_kept(limb, pose, r, within, world=None):
    """What every answer keeps, by the model alone: limits always; where it is found the goal, loops, no contact."""
    mb, ranges = limb.robot.mb, Ranges(limb.robot.mb)
    whole = limb.placed(r.q) if r.robot_q is None else r.robot_q
    assert np.isfinite(whole).all()
    for i in np.flatnonzero(limb.data.moves):
        if ranges.place[i] >= 0:
            assert ranges.lower[i] <= whole[ranges.place[i]] <= ranges.upper[i]
    for ball in ranges.balls:
        if limb.data.moves[ball.v].any():
            assert np.linalg.norm(ball.rotation(whole)) <= ball.largest * (1.0 + 1e-12) + 1e-12
    X = pose.inv @ limb.true_pose(r.q)
    left = -np.concatenate([log(X.rotation), X.translation], axis=-1)
    counts = np.isfinite(within)
    rounding = 1e-13 * np.repeat([1.0, limb.data.length + np.abs(pose.translation).max() + np.abs(r.q).max()], 3)
    assert np.abs(np.where(counts, left, 0.0) - r.residual).max() <= 1e-3 * np.abs(left).max() + rounding.max()
    if r.found:
        assert r.why == ""
        assert (np.abs(left) <= within + rounding)[counts].all()
        if mb.is_closed:
            assert Constraints(mb, mb.state(whole)).opening <= 1e-6
        if world is not None:
            assert not world.collides(whole)
    else:
        assert r.why
    return bool(r.found)
