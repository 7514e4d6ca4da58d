"""`Robot.grasps`: how a parallel gripper could take an object: where the hand would be, how well it would hold, whether
the arm gets there and touches nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from soacraft.arguments import Seed, read_seed, whole_number
from soacraft.contact.geometry.filters import rigid_groups
from soacraft.errors import ModelError, StateError
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.robot.grasping.antipodal import Pairs, Surface
from soacraft.robot.grasping.fingertips import Fingertip
from soacraft.robot.grasping.hands import fingers_of
from soacraft.robot.grasping.joined import is_outboard
from soacraft.robot.grasping.quality import grasp_quality
from soacraft.robot.interfaces import Bearer, Surroundings
from soacraft.robot.limbs.limb import Limb
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose

_AXES = {"x": 0, "y": 1, "z": 2}
#: Lines, and sides that each pair of points is tried from, at most.
MOST = 1_000_000


@dataclass(frozen=True, eq=False)
class Grasp:
    """One way to take an object."""

    pose: Pose
    """Pose of the hand in the object's frame."""
    width: float
    """Distance between the fingers, in metres."""
    quality: float
    """The radius of the ball of wrenches that it resists (`grasp_quality`), moments by the size of the object."""
    fingertips: tuple[Fingertip, Fingertip]
    """Contacts of the fingers, in the object's frame."""
    q: Array | None = None
    """The robot's coordinates with the hand there; None where nothing was asked, or it cannot get there."""
    why: str = ""
    """Reason why it does not count; empty where it does."""

    def __repr__(self) -> str:
        return f"Grasp {1e3 * self.width:.4g} mm wide, quality {self.quality:.4g}{f': {self.why}' if self.why else ''}"


@dataclass(frozen=True, eq=False)
class Grasps(Sequence[Grasp]):
    """Grasps, the best first, then those that do not count with the reasons."""

    object: str
    hand: str
    every: tuple[Grasp, ...]
    left_out: dict[str, int]
    """Lines that led to no grasp, by reason."""
    approach: int = 2
    """The axis of the hand's frame along which it comes."""

    @property
    def good(self) -> tuple[Grasp, ...]:
        """Grasps that count."""
        return tuple(x for x in self.every if not x.why)

    @overload
    def __getitem__(self, i: int) -> Grasp: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Grasp, ...]: ...
    def __getitem__(self, i: int | slice) -> Grasp | tuple[Grasp, ...]:
        return self.every[i]

    def __len__(self) -> int:
        return len(self.every)

    def __repr__(self) -> str:
        good = self.good
        lines = [f"{len(good)} of {len(self)} grasps of {self.object!r} by {self.hand!r}"]
        if good:
            lines.append("   quality  width [mm]  approach from")
            for x in good[:8]:
                z = " ".join(f"{u:+.2f}" for u in -x.pose.rotation[:, self.approach])
                lines.append(f"  {x.quality:8.4f}  {1e3 * x.width:10.2f}  {z}")
        for why, n in (*Counter(x.why for x in self.every if x.why).most_common(4), *self.left_out.items()):
            if n:
                lines.append(f"  {n}: {why}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Asked:
    """Arguments of `Robot.grasps`."""

    width: tuple[float, float]
    friction: float
    torsion: float
    samples: int
    approaches: int
    closing: int
    approach: int
    meshes: str


def read_asked(
    width: Any, friction: Any, torsion: Any, samples: Any, approaches: Any, axes: Any, meshes: Any
) -> Asked:
    """Numbers that make sense."""
    low, high = 0.0, np.inf
    if width is not None:
        widths = finite(width, (...,), "width of grasps", StateError)
        low, high = (
            (float(x) for x in widths) if widths.shape == (2,) else (0.0, float(widths) if not widths.ndim else 0.0)
        )
    if not 0.0 <= low < high:
        raise StateError(f"width of grasps is how far the gripper opens, or (least, most), got {width!r:.60}.")
    mu = float(finite(friction, (), "friction of grasps", StateError))
    c = float(finite(torsion, (), "torsion of grasps", StateError))
    if not mu > 0.0 or c < 0.0:
        raise StateError(
            f"grasps by two fingers need friction, got friction={friction!r:.40}, torsion={torsion!r:.40}."
        )
    if not isinstance(axes, str) or len(axes) != 2 or set(axes) - set(_AXES) or axes[0] == axes[1]:
        raise StateError(
            f"axes of grasps names the hand's axis along which it closes and that along which it comes, such as 'yz'; "
            f"got {axes!r:.40}."
        )
    n, m = (
        whole_number(x, f"{what} of grasps", 1, MOST) for x, what in ((samples, "samples"), (approaches, "approaches"))
    )
    if not isinstance(meshes, str):
        raise StateError(f"meshes of grasps is a word, such as 'hull', got {meshes!r:.40}.")
    return Asked((low, high), mu, c, n, m, _AXES[axes[0]], _AXES[axes[1]], meshes)


def find_grasps(
    rb: Bearer, obj: Any, hand: Any, asked: Asked, limb: Limb | None, world: Surroundings | None, seed: Seed
) -> Grasps:
    """`Robot.grasps`."""
    mb = rb.mb
    body, frame = mb.frame(obj), mb.frame(hand)
    if not isinstance(body, Body):
        raise ModelError(f"an object is a body of the model, got {body!r:.60}.")
    if is_outboard(frame, body):
        raise ModelError(f"{body.name!r} cannot be taken by {frame.full_name!r}, which is a part of it.")
    if limb is not None and not isinstance(limb, Limb):
        raise ModelError(f"limb of grasps is a Limb of the robot, or its name; got {limb!r:.60}.")
    if limb is not None and limb.tip is not frame:
        raise ModelError(f"limb {limb.name!r} ends in {limb.tip.full_name!r}, not in the hand {frame.full_name!r}.")
    if world is not None and limb is None:
        raise ModelError("what the arm touches depends on how it gets there: give limb=... with world=...")
    rng = read_seed(seed, "the seed of grasps")
    surface = Surface(mb, body, asked.meshes, rb._own_shapes())
    pairs = surface.pairs(rng, asked.samples, *asked.width, asked.friction)
    centre = body.inertia.com if body.inertia.mass else surface.centre
    grasps = _poses(rng, pairs, centre, surface, asked)
    if limb is not None:
        grasps = _reached(rb, body, frame, grasps, limb, world)
    off = [float(np.linalg.norm(x.pose.translation - centre)) for x in grasps]
    order = sorted(range(len(grasps)), key=lambda i: (bool(grasps[i].why), -grasps[i].quality, off[i], i))
    return Grasps(body.name, frame.full_name, tuple(grasps[i] for i in order), pairs.left_out, asked.approach)


def _poses(rng: np.random.Generator, pairs: Pairs, centre: Array, surface: Surface, asked: Asked) -> list[Grasp]:
    """Each pair of points with the hand in some directions about the line through them."""
    grasps = []
    for a, b, n_a, n_b, y in zip(*pairs[:5], strict=True):
        tips = tuple(
            Fingertip(p, -n, asked.friction, torsion=asked.torsion, name=name)
            for p, n, name in ((a, n_a, "first"), (b, n_b, "second"))
        )
        quality = grasp_quality(tips, centre, surface.radius)
        first = np.cross(y, np.eye(3)[int(np.argmin(np.abs(y)))])
        first /= np.linalg.norm(first)
        start = rng.uniform(0.0, 2.0 * np.pi)
        for k in range(asked.approaches):
            angle = start + 2.0 * np.pi * k / asked.approaches
            z = np.cos(angle) * first + np.sin(angle) * np.cross(y, first)
            R = np.zeros((3, 3))
            R[:, asked.closing], R[:, asked.approach] = y, z
            third = 3 - asked.closing - asked.approach
            right = (asked.approach - asked.closing) % 3 == 1  # closing, approach, third is a cyclic order
            R[:, third] = np.cross(y, z) if right else np.cross(z, y)
            width = float(np.linalg.norm(b - a))
            grasps.append(Grasp(Pose(R, 0.5 * (a + b)), width, quality, (tips[0], tips[1])))
    return grasps


def _reached(
    rb: Bearer, body: Body, hand: Frame, grasps: list[Grasp], limb: Limb, world: Surroundings | None
) -> list[Grasp]:
    """Grasps with the result of the arm's inverse kinematics, and of the check for other contacts."""
    if not grasps:
        return grasps
    mb = rb.mb
    R, p = (np.array([getattr(x.pose, part) for x in grasps]) for part in ("rotation", "translation"))
    goals = mb.pose(body, limb.base) @ Pose.unchecked(R, p)
    answer = limb.ik(goals)
    configurations = limb.of_robot(answer.q) if answer.robot_q is None else answer.robot_q
    checked: list[Grasp] = []
    hits = np.zeros(len(grasps), dtype=bool)
    reached = np.asarray(answer.found)
    if world is not None and reached.any():
        hits[reached] = world.collides(configurations[reached])
    palm = hand.carrier
    assert isinstance(palm, Body)  # a limb ends there
    fingers = {x.name for x in fingers_of(mb, rigid_groups(mb)[0], palm)} - {body.name}
    touchable = fingers or {palm.name}  # of a hand without fingers of its own all may touch
    for x, q, ok, why, hit in zip(grasps, configurations, reached, np.asarray(answer.why), hits, strict=True):
        if not ok:
            checked.append(replace(x, why=f"out of reach: {why}" if why else "out of reach"))
            continue
        reason = _touched(world, q, body.name, touchable) if hit and world is not None else ""
        checked.append(replace(x, q=np.array(q), why=reason))
    return checked


def _touched(world: Surroundings, q: Array, obj: str, touchable: set[str]) -> str:
    """Contact other than between hand and object, in words; empty without one."""
    for a, b in world.touching(q):
        one, two = world.body_of(a), world.body_of(b)
        if not ((one == obj and two in touchable) or (two == obj and one in touchable)):
            return f"touches: {a} - {b}"
    return ""
