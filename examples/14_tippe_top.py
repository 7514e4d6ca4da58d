"""A tippe-top turns over: a sphere whose centre of mass is below its middle, spun fast on a floor that rubs.

The same motion is integrated by hand: Newton's and Euler's equations with the floor as a constraint and Coulomb's law.
"""

import sys

import numpy as np

import soacraft as sc

R, A, MASS, G, MU = 0.02, 0.006, 0.02, 9.81, 0.5  # radius, depth of the centre of mass, ...
MOMENT = np.array([0.40, 0.40, 0.40]) * MASS * R**2  # about the centre of mass
SPIN, TILT, END = 180.0, 0.3, 0.8

mb = sc.Multibody("tippe-top", gravity=(0, 0, -G))
mb.root.add_geometry(sc.Geometry("floor", "plane"))
top = mb.add_body("top", None, sc.Free(), sc.Inertia(MASS, moment=np.diag(MOMENT)))
top.add_geometry(sc.Geometry("skin", "sphere", (R,), pose=sc.Pose(translation=(0, 0, A))))
for name, size, up, rgba in (("ball", R, A, None), ("cap", 0.4 * R, A + 0.63 * R, (0.9, 0.7, 0.2, 1.0))):  # to be seen
    look = sc.Pose(translation=(0, 0, up))
    top.add_geometry(sc.Geometry(name, "sphere", (size,), pose=look, role="visual", rgba=rgba))

q0 = np.array([np.sin(TILT / 2), 0, 0, np.cos(TILT / 2), 0, 0, R - A * np.cos(TILT)])
v0 = np.array([0, SPIN * np.sin(TILT), SPIN * np.cos(TILT), 0, 0, 0])  # about the vertical
mb.set_state(q0, v0)
p = sc.sim.Propagator(mb, integrator="moreau", step=2e-4)
p.add(sc.sim.Contact(friction=MU))
run = p.advance_to(END)


def matrix(x, y, z, w):
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rates(t, state):
    """Quaternion, angular velocity in body axes, position and velocity of the centre of mass."""
    Q, w, velocity = matrix(*state[:4] / np.linalg.norm(state[:4])), state[4:7], state[10:13]
    up = np.array([0.0, 0.0, 1.0])
    arm = A * Q[:, 2] - R * up  # from the centre of mass to the point that touches
    W, J = Q @ w, Q @ np.diag(MOMENT) @ Q.T
    slip = velocity + np.cross(W, arm)
    along = -MU * slip / np.sqrt(slip @ slip + 1e-10)
    along[2] = 0.0
    force = up + along  # of a unit normal force
    free = -np.linalg.solve(J, np.cross(W, J @ W))
    turned = np.linalg.solve(J, np.cross(arm, force))
    # the floor: d^2/dt^2 (p_z + A Q_zz - R) = 0
    centre = A * Q[:, 2]
    spun = np.cross(W, np.cross(W, centre))[2]
    normal = (G - np.cross(free, centre)[2] - spun) / (1 / MASS + np.cross(turned, centre)[2])
    normal = max(normal, 0.0)
    a, alpha = normal * force / MASS - G * up, free + normal * turned
    x, y, z, s = state[:4]
    qdot = 0.5 * np.array([s * w[0] + y * w[2] - z * w[1], s * w[1] + z * w[0] - x * w[2],
                           s * w[2] + x * w[1] - y * w[0], -(x * w[0] + y * w[1] + z * w[2])])  # fmt: skip
    return np.concatenate([qdot, Q.T @ alpha, velocity, a])


def advanced(state, h, steps):
    """The classical method of order four."""
    for _ in range(steps):
        a = rates(0, state)
        b = rates(0, state + h / 2 * a)
        c = rates(0, state + h / 2 * b)
        state = state + h / 6 * (a + 2 * b + 2 * c + rates(0, state + h * c))
    return state


state = np.concatenate([q0[:4], v0[:3], q0[4:], np.zeros(3)])
print("t (s)  height of the centre of mass (mm)  by hand  spin about the vertical (rad/s)  by hand")
for t in np.linspace(0, END, 6):
    if t > 0:
        state = advanced(state, 2.5e-4, round(END / 5 / 2.5e-4))
    i = int(np.searchsorted(run.t, t - 1e-9))
    both = (run.q[i], run.v[i, :3]), (state, state[4:7])
    spins = [(matrix(*x[:4] / np.linalg.norm(x[:4])) @ w)[2] for x, w in both]
    print(f"{t:5.2f}  {1e3 * run.q[i, 6]:8.3f}  {1e3 * state[9]:8.3f}  {spins[0]:8.2f}  {spins[1]:8.2f}")
    assert abs(run.q[i, 6] - state[9]) < 0.03 * 2 * A
    assert abs(spins[0] - spins[1]) < 0.01 * SPIN
assert run.q[-1, 6] > R + 0.8 * A, "it has turned over"

if len(sys.argv) > 1:  # a film: python examples/14_tippe_top.py top.gif
    print("film:", sc.view.scene(mb, run).video(sys.argv[1], speed=0.25))
