"""Models with states that are singular to rounding, not exactly, next to states that are not; at any scale.

A thin rod along an oblique line through its hinge, and on it a point mass that slides away from that line: with the
slider at home nothing has a moment about the line, but no number of the model is zero.
"""

import numpy as np

import soacraft as sc

U = np.array([0.3, 0.4, 0.7]) / np.linalg.norm([0.3, 0.4, 0.7])  # along the rod
W = np.cross(U, (1.0, 0.2, -0.1)) / np.linalg.norm(np.cross(U, (1.0, 0.2, -0.1)))  # along the slider
YAW, PITCH, ROLL = (0, 0, 1), (0, 1, 0), (1, 0, 0)


def rod(mass, length):
    J = mass * length**2 / 12.0 * (np.eye(3) - np.outer(U, U))
    return sc.Inertia(mass, 0.8 * length * U, J)


def slider(mb, rod_name, mass, length):
    inboard = sc.Pose(translation=1.1 * length * U)
    mb.add_body("slider", rod_name, sc.Prismatic(W), sc.Inertia.point(0.4 * mass), inboard)
    return mb


def on(hinge, name):
    """The rod on one hinge."""

    def model(mass=1.0, length=1.0):
        mb = sc.Multibody(name)
        mb.add_body("rod", None, hinge, rod(mass, length))
        return slider(mb, "rod", mass, length)

    return model


def on_pins(mass=1.0, length=1.0):
    """The rod on three pins through one point, with nothing between them."""
    mb = sc.Multibody("pins")
    mb.add_body("yaw", None, sc.Pin(YAW))
    mb.add_body("pitch", "yaw", sc.Pin(PITCH))
    mb.add_body("rod", "pitch", sc.Pin(ROLL), rod(mass, length))
    return slider(mb, "rod", mass, length)


def locking(mass=1.0, length=1.0):
    """A gimbal with a body that has all moments: singular at a middle angle of 90 degrees."""
    mb = sc.Multibody("locking")
    J = mass * length**2 * np.array([[1.0, 0.2, 0.1], [0.2, 1.5, -0.3], [0.1, -0.3, 2.0]])
    mb.add_body("head", None, sc.Gimbal((YAW, PITCH, ROLL)), sc.Inertia(mass, length * U, J))
    return mb


MODELS = {
    "gimbal lock": locking,
    "rod on a gimbal": on(sc.Gimbal((YAW, PITCH, ROLL)), "gimbal"),
    "rod on three pins": on_pins,
    "rod on a ball": on(sc.Spherical(), "ball"),
    "rod on a free hinge": on(sc.Free(), "free"),
}


def universal_on_a_ball():
    """Nothing between them: of the three turns of the ball the universal joint sets two free, D has rank one."""
    mb = sc.Multibody("coupling")
    mb.add_body("ball", None, sc.Spherical())
    J = np.array([[1.0, 0.2, 0.1], [0.2, 1.5, -0.3], [0.1, -0.3, 2.0]])
    askew = sc.Pose.from_rpy(0.3, 0.5, 0.7)
    mb.add_body("cross", "ball", sc.Universal((1, 0, 0), (0, 1, 0)), sc.Inertia(1.0, (0, 0, 0), J), askew)
    return mb


def point(pins):
    """A point mass on a gimbal, or on three pins through one point."""

    def model():
        mb = sc.Multibody("point")
        mass = sc.Inertia.point(1.0, (0.8, -0.3, 0.5))
        if not pins:
            mb.add_body("mass", None, sc.Gimbal((YAW, PITCH, ROLL)), mass)
            return mb
        mb.add_body("yaw", None, sc.Pin(YAW))
        mb.add_body("pitch", "yaw", sc.Pin(PITCH))
        mb.add_body("mass", "pitch", sc.Pin(ROLL), mass)
        return mb

    return model


def slider_on_a_floating_frame():
    """The frame weighs nothing: every turn meets the inertia of the slider, the travel along it meets none."""
    mb = sc.Multibody("floating")
    mb.add_body("frame", None, sc.Free())
    J = np.array([[1.0, 0.2, 0.1], [0.2, 1.5, -0.3], [0.1, -0.3, 2.0]])
    mb.add_body("slider", "frame", sc.Prismatic(W), sc.Inertia(1.0, 0.3 * U, J), sc.Pose.from_rpy(0.3, 0.5, 0.7))
    return mb


def wire_on_two_slides():
    """A wire on a pin along its line and a little off it, which two slides carry across: one of them meets what the pin
    leaves of the mass, nothing, with the rounding of the wire's own moments by a lever of a thousandth."""
    mb = sc.Multibody("wire")
    mb.add_body("first", None, sc.Prismatic(W))
    mb.add_body("second", "first", sc.Prismatic(np.cross(U, W)))
    mb.add_body("wire", "second", sc.Pin(U), sc.Inertia(1.0, 1e-3 * W, np.eye(3) - np.outer(U, U)))
    return mb


ALWAYS = {  # singular in every state
    "wire on two slides": wire_on_two_slides,
    "universal joint on a ball": universal_on_a_ball,
    "point mass on a gimbal": point(False),
    "point mass on three pins": point(True),
    "slider on a floating frame": slider_on_a_floating_frame,
}


def states(which, count, seed=0, length=1.0):
    """The model's regular states (count, nq), and what makes one of them singular."""
    rng, mb = np.random.default_rng(seed), MODELS[which](length=length)
    q = np.stack([mb.random_state(rng)[0] for _ in range(count)])
    if which == "gimbal lock":
        q[:, 1] = rng.uniform(-0.9, 0.9, count)
        return q, lambda row: np.array([row[0], np.pi / 2, row[2]])
    if which == "rod on a free hinge":
        q[:, 4:7] *= length
    if which in ("rod on a gimbal", "rod on three pins"):
        q[:, 1] = rng.uniform(-0.9, 0.9, count)
    q[:, -1] = length * rng.uniform(0.4, 1.0, count)
    return q, lambda row: np.array([*row[:-1], 0.0])
