"""A double pendulum falls: a run of `sc.sim`, its energy, which must not drift, and when the pendulum is straight."""

import numpy as np

import soacraft as sc

mb = sc.load("double_pendulum")
start = np.array([2.0, 0.5])
mb.set_state(start, [0.0, 0.0])

p = sc.sim.Propagator(mb, rtol=1e-9)
p.event("straight", lambda t, state: state.q[1])
run = p.run(1.0)

# the same kinetic energy by operators, at the last row
H, phi, M = sc.operators(mb, "H phi M")
massmat = H * phi * M * phi.T * H.T
kinetic = 0.5 * run.v[-1] @ np.asarray(massmat * run.v[-1])

print("steps:", len(run.t) - 1)
print("angles at the end:", run.q[-1].round(5))
print("energy:", f"{run.energy[0]:.6f} J,", "drift:", f"{np.ptp(run.energy):.1e} J")
print("straight at:", ", ".join(f"{event.t:.6f} s" for event in run.events))
print("kinetic energy against operators:", f"{abs(kinetic - run.kinetic[-1]):.1e} J")
