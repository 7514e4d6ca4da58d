"""Models that come with soacraft: small, of our own making, for the tour, the documentation and the tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soacraft.model import Multibody
from soacraft.model.hinges import Free, Gimbal, Hinge, Pin, Prismatic, Spherical, Universal, examples
from soacraft.spatial import Inertia, Pose

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_SWING = (0.0, -1.0, 0.0)  # a positive angle from down moves the pendulum towards +x
_G = (0.0, 0.0, -9.81)


def _at(x: float, y: float, z: float) -> Pose:
    return Pose(translation=(x, y, z))


def _rod(mass: float, end: tuple[float, float, float], radius: float) -> Inertia:
    """A solid cylinder from the body frame to `end`."""
    length = float(np.linalg.norm(end))
    return Inertia(mass, 0.5 * np.array(end), Inertia.cylinder(mass, radius, length, axis=end).moment)


def pendulum() -> Multibody:
    """A point mass of 1 kg on a massless rod of 1 m; the angle is taken from down."""
    mb = Multibody("pendulum", gravity=_G)
    bob = mb.add_body("bob", None, Pin(_SWING), Inertia.point(1.0, at=(0, 0, -1)))
    bob.add_node("tip", _at(0, 0, -1))
    return mb


def double_pendulum() -> Multibody:
    """Two point masses of 1 kg on massless rods of 1 m; the second angle is relative to the first."""
    mb = Multibody("double_pendulum", gravity=_G)
    point = Inertia.point(1.0, at=(0, 0, -1))
    upper = mb.add_body("upper", None, Pin(_SWING), point)
    lower = mb.add_body("lower", upper, Pin(_SWING), point, inboard=_at(0, 0, -1))
    lower.add_node("tip", _at(0, 0, -1))
    return mb


def cart_pole() -> Multibody:
    """A pole standing on a cart on a rail along x; the pole's angle is taken from upright."""
    mb = Multibody("cart_pole")
    cart = mb.add_body("cart", None, Prismatic(_X), Inertia.box(1.0, (0.4, 0.2, 0.1)))
    pole = mb.add_body("pole", cart, Pin(_Y), _rod(0.2, (0.0, 0.0, 1.0), 0.01))
    pole.add_node("tip", _at(0, 0, 1))
    return mb


def top() -> Multibody:
    """A symmetric top on a ball joint, 1 kg at 0.5 m; moments 0.3 across and 0.05 about its axis at the pivot."""
    mb = Multibody("top", gravity=_G)
    body = mb.add_body("top", None, Spherical(), Inertia(1.0, (0, 0, 0.5), 0.05 * np.eye(3)))
    body.add_node("tip", _at(0, 0, 1))
    return mb


def arm7() -> Multibody:
    """A seven-dof arm, 1.3 m tall when stretched up, with turning and bending hinges in alternation."""
    mb = Multibody("arm7")
    table: list[tuple[float, float, float, tuple[float, float, float]]] = [
        # mass, radius, length to the next hinge, axis
        (4.2, 0.080, 0.20, _Z),
        (3.8, 0.075, 0.20, _Y),
        (3.1, 0.070, 0.20, _Z),
        (2.7, 0.065, 0.20, (0.0, -1.0, 0.0)),
        (1.8, 0.055, 0.20, _Z),
        (1.5, 0.050, 0.10, _Y),
        (0.4, 0.045, 0.05, _Z),
    ]
    parent, reach = None, 0.15
    for k, (mass, radius, length, axis) in enumerate(table):
        inertia = _rod(mass, (0.0, 0.0, length), radius)
        parent = mb.add_body(f"link{k + 1}", parent, Pin(axis), inertia, inboard=_at(0, 0, reach))
        reach = length
    assert parent is not None
    parent.add_node("tool", _at(0, 0, 0.05))
    parent.add_node("camera", Pose.from_rpy(0.0, 0.2, 0.0, translation=(0.06, 0.0, 0.02)))
    return mb


def quadrotor_arm() -> Multibody:
    """A flying hull with four rotor nodes, and a three-dof arm hanging below it."""
    mb = Multibody("quadrotor_arm")
    hull = mb.add_body("hull", None, Free(), Inertia.box(1.6, (0.3, 0.3, 0.1)))
    for k, (x, y) in enumerate(((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))):
        hull.add_node(f"rotor{k + 1}", _at(x, y, 0.06))
    yaw = mb.add_body("yaw", hull, Pin(_Z), _rod(0.1, (0.0, 0.0, -0.05), 0.03), inboard=_at(0, 0, -0.05))
    arm = mb.add_body("arm", yaw, Pin(_SWING), _rod(0.15, (0.0, 0.0, -0.2), 0.02), inboard=_at(0, 0, -0.05))
    hand = mb.add_body("hand", arm, Pin(_SWING), _rod(0.1, (0.0, 0.0, -0.15), 0.02), inboard=_at(0, 0, -0.2))
    hand.add_node("grip", _at(0, 0, -0.15))
    return mb


def biped() -> Multibody:
    """A floating pelvis with a trunk, two arms and two legs: a branched tree of 12 bodies and 25 dofs."""
    mb = Multibody("biped")
    pelvis = mb.add_body("pelvis", None, Free(), Inertia.box(10.0, (0.2, 0.3, 0.15)))
    trunk_inertia = Inertia(25.0, (0, 0, 0.25), Inertia.box(25.0, (0.2, 0.35, 0.5)).moment)
    trunk = mb.add_body("trunk", pelvis, Pin(_Z), trunk_inertia, _at(0, 0, 0.1), hinge_name="waist")
    trunk.add_node("head", _at(0, 0, 0.65))
    for side, y in (("left", 1.0), ("right", -1.0)):

        def limb(
            part: str, parent: str, hinge: Hinge, mass: float, radius: float, length: float, at: Pose, joint: str,
            side: str = side,
        ) -> None:  # fmt: skip
            inertia = _rod(mass, (0.0, 0.0, -length), radius)
            mb.add_body(f"{side}_{part}", parent, hinge, inertia, at, hinge_name=f"{side}_{joint}")

        shoulder = _at(0, 0.22 * y, 0.45)
        limb("upper_arm", "trunk", Universal(_Y, _X), 2.0, 0.05, 0.3, shoulder, "shoulder")
        limb("forearm", f"{side}_upper_arm", Pin((0.0, -1.0, 0.0)), 1.2, 0.04, 0.25, _at(0, 0, -0.3), "elbow")
        limb("thigh", "pelvis", Gimbal((_Z, _X, _Y)), 7.0, 0.08, 0.4, _at(0, 0.1 * y, -0.05), "hip")
        limb("shank", f"{side}_thigh", Pin(_Y), 3.5, 0.06, 0.4, _at(0, 0, -0.4), "knee")
        foot = Inertia(1.0, (0.05, 0.0, -0.05), Inertia.box(1.0, (0.25, 0.1, 0.06)).moment)
        body = mb.add_body(
            f"{side}_foot", f"{side}_shank", Universal(_Y, _X), foot, _at(0, 0, -0.4), hinge_name=f"{side}_ankle"
        )
        body.add_node("sole", _at(0.05, 0, -0.08))
        mb.body(f"{side}_forearm").add_node("hand", _at(0, 0, -0.25))
    return mb


def hinges() -> Multibody:
    """A branched tree with one hinge of every kind, body frames away from the hinges."""
    mb = Multibody("hinges")
    names: list[str] = []
    for k, hinge in enumerate(examples()):
        name = type(hinge).__name__.lower()
        parent = None if not names else names[(k - 1) // 2]
        inboard = Pose.from_rpy(0.1 * k, 0.3, -0.2, translation=(0.2, 0.1 * (-1) ** k, 0.3))
        outboard = Pose.from_rpy(-0.2, 0.1 * k, 0.3, translation=(0.05, -0.1, 0.15))
        inertia = Inertia(1.0 + 0.1 * k, (0.02, -0.03, 0.1), Inertia.box(1.0, (0.1, 0.2, 0.3)).moment)
        mb.add_body(name, parent, hinge, inertia, inboard, outboard).add_node("tip", _at(0, 0, 0.2))
        names.append(name)
    return mb


BUILTIN: dict[str, Callable[[], Multibody]] = {
    make.__name__: make for make in (arm7, pendulum, double_pendulum, cart_pole, top, quadrotor_arm, biped, hinges)
}
