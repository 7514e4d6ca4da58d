"""A double pendulum falls: forward dynamics by operators in scipy's integrator; the energy must not drift."""

import numpy as np
from scipy.integrate import solve_ivp

import soacraft as sc

mb = sc.load("double_pendulum")
H, phi, M = sc.operators(mb, "H phi M")
massmat = H * phi * M * phi.T * H.T
no_force = np.zeros(mb.nv)


def rate(t, x):
    q, v = x[: mb.nq], x[mb.nq :]
    vdot = sc.operators(mb.state(q, v), force=no_force).vdot
    return np.concatenate([mb.qdot(q, v), vdot])


def energy(x):
    mb.set_state(x[: mb.nq], x[mb.nq :])
    height = sum(body.inertia.mass * (mb.pose(body) @ body.inertia.com)[2] for body in mb.bodies)
    return 0.5 * mb.v @ np.asarray(massmat * mb.v) - mb.gravity[2] * height


start = np.array([2.0, 0.5, 0.0, 0.0])
found = solve_ivp(rate, (0.0, 1.0), start, method="DOP853", rtol=1e-7, atol=1e-9)
energies = [energy(x) for x in found.y.T]
print("steps:", found.t.size - 1, "evaluations:", found.nfev)
print("angles at the end:", found.y[:2, -1].round(5))
print("energy:", f"{energies[0]:.6f} J,", "drift:", f"{max(energies) - min(energies):.1e} J")
