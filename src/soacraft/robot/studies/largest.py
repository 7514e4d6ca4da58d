"""The largest payload, speed, slope and reach at which a robot's motors, feet, loops and surroundings let it work."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ConvergenceError, ModelError, StateError
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.studies.limits import Limit, limit
from soacraft.robot.studies.motion import model_of, read_motion
from soacraft.robot.studies.operation import Margins, Operation
from soacraft.robot.studies.support import Contacts
from soacraft.spatial.checks import finite, unit
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import from_axis_angle


def largest_payload(
    robot: Any, tip: Any, q: Any, *, v: Any = None, vdot: Any = None, com: Any = (0.0, 0.0, 0.0), high: Any = None,
    samples: int = 33, efforts: Any = None, contacts: Contacts | None = None, world: Any = None,
) -> Limit:  # fmt: skip
    """Largest mass at the frame `tip` with which a robot, at rest at q or along rows of q, v and vdot, stays within its
    efforts and is held by its contacts; kg.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> sc.robot.study.largest_payload(rb, "link7", [0, 1.2, 0, -0.4, 0, 1.6, 0])
    Limit of payload: 4.7837 kg, by torque: 'joint2'
    """
    if tip is None:
        raise StateError("a payload is held at a frame: say which one with tip.")
    margins = Margins(robot, lambda x: Operation(q, v, vdot, mass=x), tip=tip, com=com, efforts=efforts,
                      contacts=contacts, world=world)  # fmt: skip
    return limit("payload", margins, 0.0, high, unit="kg", samples=samples)


def largest_speed(
    robot: Any, motion: Any, *, t: Any = None, high: Any = None, samples: int = 33, efforts: Any = None,
    contacts: Contacts | None = None, world: Any = None, tip: Any = None, mass: float = 0.0,
) -> Limit:  # fmt: skip
    """Largest factor by which a motion may be faster: v grows with the factor, vdot with its square. 0 is rest at each
    of its configurations.

    The force is T = T_gravity + s (damping) + s^2 (M vdot + C v): of motors without other limits the largest factor is
    a root of it.
    """
    way = read_motion(model_of(robot), motion, t)

    def operation(s: float) -> Operation:
        fast = way.faster(s) if s > 0.0 else way._replace(v=0.0 * way.v, vdot=0.0 * way.vdot)
        return Operation(fast.q, fast.v, fast.vdot, mass)

    margins = Margins(robot, operation, tip=tip, efforts=efforts, contacts=contacts, world=world)
    return limit("speed", margins, 0.0, high, unit="times", samples=samples)


def largest_slope(
    robot: Any, q: Any, about: Any, *, high: float = 0.5 * np.pi, samples: int = 33, efforts: Any = None,
    contacts: Contacts | None = None, world: Any = None, tip: Any = None, mass: float = 0.0,
) -> Limit:  # fmt: skip
    """The largest angle by which the ground may be turned about an axis, robot and all, until it slides, tips over, or
    a motor is too weak; radians. Contacts keep their places and normals on the robot; gravity turns the other way. They
    slide by their friction cones, not by pyramids: a block where tan(angle) is its friction.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> block = sc.Multibody("block")
    >>> _ = block.add_body("box", None, sc.Weld(), sc.Inertia.box(5.0, (0.1, 0.1, 0.1)))
    >>> feet = sc.robot.study.Contacts([(0.2, 0.1, 0), (-0.2, 0.1, 0), (-0.2, -0.1, 0), (0.2, -0.1, 0)], friction=0.3)
    >>> round(np.tan(sc.robot.study.largest_slope(block, [], (0.92, 0.38, 0), contacts=feet, samples=3).most), 7)
    np.float64(0.3)
    """
    g = np.array(model_of(robot).gravity)
    if not np.linalg.norm(g) > 0.0:
        raise StateError(f"{model_of(robot).name!r} has no gravity, so that slopes do not matter.")
    axis = unit(about, "the axis of a slope")

    def operation(x: float) -> Operation:
        return Operation(q, mass=mass, gravity=from_axis_angle(axis, -x) @ g)

    margins = Margins(robot, operation, tip=tip, efforts=efforts, contacts=contacts, world=world)
    return limit("slope", margins, 0.0, high, unit="rad", samples=samples)


def largest_reach(
    limb: Limb, start: Pose, direction: Any, *, near: Any = None, high: float | None = None, samples: int = 33,
    free: Any = (), efforts: Any = None, contacts: Contacts | None = None, world: Any = None, mass: float = 0.0,
) -> Limit:  # fmt: skip
    """Largest distance that the tip of a limb may go from a pose in its base along a direction, with its orientation
    (but for `free` axes), while there is a configuration within limits, and motors, feet, loops and world allow it;
    metres.

    The first configuration is searched from `near`, the others from the first.
    """
    if not isinstance(limb, Limb):
        raise ModelError(f"reach is that of a Limb, such as rb.limb('arm', base, tip); got {limb!r:.60}.")
    if not isinstance(start, Pose) or start.batch_shape:
        raise StateError(f"reach begins at one Pose(...) in the limb's base, got {start!r:.60}.")
    along = unit(direction, "the direction of reach")
    first = limb.ik(start, near, free)
    if not first.found:
        raise StateError(f"limb {limb.name!r} does not reach the pose that it is to start from: {first.why}.")
    far = 2.0 * limb.reach if high is None else float(finite(high, (), "the largest reach", StateError))

    def operation(x: float) -> Operation:
        r = limb.ik(Pose(start.rotation, start.translation + x * along), first.q, free)
        if not r.found:
            raise ConvergenceError(r.why)
        return Operation(limb.of_robot(r.q), mass=mass)

    margins = Margins(limb.robot, operation, tip=limb.tip, efforts=efforts, contacts=contacts, world=world)
    return limit("reach", margins, 0.0, far, unit="m", samples=samples)
