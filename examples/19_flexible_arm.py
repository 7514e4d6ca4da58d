"""A robot arm with an elastic link: how it sags, its modes with the brakes on, what stiffens it, and a fast motion.

A post that turns about the vertical carries a tube of 1.6 m, which bends and twists; at its end an elbow carries a
rigid forearm with a load.
"""

import sys

import numpy as np
from numpy.polynomial import Polynomial

import soacraft as sc

fx = sc.flexible
LENGTH, TUBE, STEEL = 1.6, fx.Tube(0.03, 0.0015), fx.Elastic(200e9, 0.3, 7850.0)
LOAD, REACH, HINGES = 8.0, 0.8, ["yaw", "elbow"]  # the forearm: kg, and m to its centre of mass

# cubic shapes bend as forces and moments at the end bend a beam, a linear one twists it
bending = [Polynomial([0, 0, 1 / LENGTH**2]), Polynomial([0, 0, 0, 1 / LENGTH**3])]
SHAPES = {"y": bending, "z": bending, "twist": [Polynomial([0, 1 / LENGTH])]}


def arm(geometric=True):
    link = fx.shapes(LENGTH, TUBE, STEEL, SHAPES, damping=0.005, geometric=geometric)
    mb = sc.Multibody("flexible arm", gravity=(0, 0, -9.81))
    heavy, light = sc.Inertia(20.0, (0, 0, 0.3), 2.0 * np.eye(3)), sc.Inertia(LOAD, (REACH, 0, 0), 0.2 * np.eye(3))
    post = mb.add_body("post", None, sc.Pin((0, 0, 1)), heavy, hinge_name="yaw")
    post.add_geometry(sc.Geometry("column", "cylinder", (0.08, 0.6), sc.Pose(translation=(0, 0, 0.3))))
    post.add_node("top", sc.Pose(translation=(0, 0, 0.6)))
    mb.add_body("link", "post/top", sc.Weld(), modal=link)
    forearm = mb.add_body("forearm", "link/tip", sc.Pin((0, 0, 1)), light, hinge_name="elbow")
    forearm.add_geometry(sc.Geometry("bar", "box", (REACH, 0.05, 0.05), sc.Pose(translation=(REACH / 2, 0, 0))))
    forearm.add_geometry(sc.Geometry("load", "box", (0.25, 0.2, 0.2), sc.Pose(translation=(REACH, 0, 0))))
    return mb


mb = arm()
mb.q = {"elbow": np.pi / 2}

# the weight bends and twists the link, brakes on
sag = sc.analysis.equilibrium(mb, fixed=HINGES)
mb.q = sag.q
tip = mb.pose("link/tip", "link")
print("the end of the link sags:", f"{-1e3 * (tip.translation[2]):.3f} mm")
EI, weight, own = STEEL.E * TUBE.section.Iy, 9.81 * LOAD, 9.81 * STEEL.rho * TUBE.section.A
print("by tables of beams:", f"{1e3 * (weight * LENGTH**3 / 3 + own * LENGTH**4 / 8) / EI:.3f} mm")

# modes about that shape
modes = sc.analysis.modes(mb, sag.q, fixed=HINGES)
print("modes with the brakes on:", modes.hz.round(3), "Hz, damping:", (100 * modes.damping).round(2), "%")

# spinning stiffens: the second-order displacement of the link draws its end inward, against the centrifugal force
SPIN = 6.0
squares = {}
for geometric in (True, False):
    straight = arm(geometric)
    rates = np.zeros(straight.nv)
    rates[0] = SPIN
    at = [sc.analysis.equilibrium(straight, v=x, fixed=HINGES).q for x in (0 * rates, rates)]
    found = [sc.analysis.modes(straight, q, v=x, fixed=HINGES) for q, x in zip(at, (0 * rates, rates), strict=True)]
    flap = [m.hz[max(range(2), key=lambda i: abs(m.shapes["forearm"][5, i]))] for m in found]  # up and down
    squares[geometric] = (2 * np.pi) ** 2 * (flap[1] ** 2 - flap[0] ** 2) / SPIN**2
    word, (rest, spun) = "with" if geometric else "without", flap
    print(f"up and down at {SPIN:g} rad/s, {word} stiffening:", f"{spun:.4f} Hz, at rest: {rest:.4f} Hz")

# a fast motion: motors turn both hinges and stop them, and the link goes on swinging
END, TURN = 1.0, 0.6
WAY, FROM, STIFF, DAMPED = np.array([1.0, -1.2]), sag.q[[0, -1]], np.array([4e4, 5e3]), np.array([8e2, 40.0])


def motors(t, state):
    """Springs and dampers to a smooth step of TURN seconds."""
    s = min(t / TURN, 1.0)
    angles, rates = FROM + WAY * s**3 * (10 - 15 * s + 6 * s**2), WAY * 30 * (s * (1 - s)) ** 2 / TURN
    torque = np.zeros(mb.nv)
    torque[[0, -1]] = STIFF * (angles - state.q[[0, -1]]) + DAMPED * (rates - state.v[[0, -1]])
    return torque


p = sc.sim.Propagator(mb, integrator="rk4", step=0.002)
p.add(motors)
run = p.advance_to(END)
sideways = run.q[:, 1:3].sum(axis=1)  # both shapes along y are one at the end
print("the end of the link sways by:", f"{1e3 * np.abs(sideways).max():.1f} mm")
print("and when the hinges have stopped by:", f"{1e3 * np.ptp(sideways[run.t > TURN]) / 2:.1f} mm")

if len(sys.argv) > 1:  # a film: python examples/19_flexible_arm.py arm.gif
    sc.view.scene(mb, run, exaggerate=3.0).video(sys.argv[1], elevation=40.0)
