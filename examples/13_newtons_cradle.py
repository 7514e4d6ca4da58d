"""Newton's cradle: five balls on threads, one let go. Impacts one after the other pass its speed to the last ball."""

import sys

import numpy as np

import soacraft as sc

RADIUS, LENGTH, BALLS = 0.02, 0.2, 5
mb = sc.Multibody("cradle", gravity=(0, 0, -9.81))
for i in range(BALLS):
    moment = np.eye(3) * 0.4 * 0.3 * RADIUS**2
    inertia = sc.Inertia(0.3, com=(0, 0, -LENGTH), moment=moment)
    at = sc.Pose(translation=(2 * RADIUS * i, 0, 0))
    ball = mb.add_body(f"ball{i}", None, sc.Pin((0, 1, 0)), inertia, at)
    low, half = sc.Pose(translation=(0, 0, -LENGTH)), sc.Pose(translation=(0, 0, -LENGTH / 2))
    ball.add_geometry(sc.Geometry("skin", "sphere", (RADIUS,), pose=low))
    ball.add_geometry(sc.Geometry("ball", "sphere", (RADIUS,), pose=low, role="visual"))
    ball.add_geometry(sc.Geometry("thread", "cylinder", (0.0005, LENGTH), pose=half, role="visual"))

angle = 0.3
mb.set_state(np.array([angle] + [0.0] * (BALLS - 1)), np.zeros(BALLS))
p = sc.sim.Propagator(mb, integrator="moreau", step=0.001)
touch = sc.sim.Contact(restitution=1.0, friction=0.0, impacts="sequential")
p.add(touch)
run = p.advance_to(0.45)

before = np.sqrt(2 * 9.81 * LENGTH * (1 - np.cos(angle)))  # the speed of the first ball when it strikes
print("speed at the first impact:", round(before, 4), "m/s")
print("first impact:", round(next(x.t for x in touch.steps if x.impulses.any()), 3), "s")
swing = -run.q[:, -1].min() if abs(run.q[:, -1].min()) > run.q[:, -1].max() else run.q[:, -1].max()
print("swing of the first and of the last ball:", angle, round(abs(swing), 3), "rad")
print("largest swing of those between:", f"{np.abs(run.q[:, 1:-1]).max():.1e} rad")
assert abs(abs(swing) - angle) < 0.01
assert np.abs(run.q[:, 1:-1]).max() < 0.01

if len(sys.argv) > 1:  # a film: python examples/13_newtons_cradle.py cradle.gif
    print("film:", sc.view.scene(mb, run).video(sys.argv[1], speed=0.25, azimuth=-80.0, elevation=8.0))
