"""A spacecraft with two solar panels: its modes in free flight, and slews that leave it swinging or not.

A torque that turns the hub one way for half of the slew and stops it in the other half swings the panels up and down.
It leaves them at sin^2(omega T / 4) of the largest swing: at rest where each half is a whole number of periods.
"""

import sys

import numpy as np

import soacraft as sc

fx = sc.flexible
LENGTH, ANGLE = 4.0, np.deg2rad(10.0)
PLATE, COMPOSITE = fx.Rectangle(width=1.2, height=0.02), fx.Elastic(3e9, 0.3, 300.0)

mb = sc.Multibody("spacecraft", gravity=(0, 0, 0))
hub = mb.add_body("hub", None, sc.Free(), sc.Inertia(250.0, (0, 0, 0), np.diag([60.0, 60.0, 70.0])))
hub.add_geometry(sc.Geometry("box", "box", (1.4, 1.2, 1.2)))
for side, name in ((1, "left"), (-1, "right")):
    fe = fx.beam(LENGTH, PLATE, COMPOSITE, elements=8, axis=(0, side, 0))
    fe.interface("root", at=(0, 0, 0))
    panel = fx.reduce(fe, ["root"], "fixed", modes=3)
    hub.add_node(name, sc.Pose(translation=(0, 0.8 * side, 0)))
    mb.add_body(name, f"hub/{name}", sc.Weld(), modal=panel)

# modes in free flight: what swings has neither momentum nor angular momentum
modes = sc.analysis.modes(mb, mb.neutral())
momentum = [sc.dynamics.momentum(mb, mb.neutral(), modes.vectors[:, i].real) for i in range(modes.rigid, len(modes))]
roll = next(i for i in range(modes.rigid, len(modes)) if abs(modes.shapes["hub"][0, i]) > 1e-3)  # turns the hub about x
print("rigid-body modes:", modes.rigid)
print("modes:", modes.hz[modes.rigid :].round(3), "Hz; one panel alone:", f"{panel.kinds[0].split()[1]} Hz")
print("largest momentum of a mode:", f"{np.abs(momentum).max():.1e}")
print("the first mode that rolls the hub:", f"mode {roll} at {modes.hz[roll]:.4f} Hz")

# slews about x by a torque and its reverse
inertia = sc.dynamics.mass_matrix(mb, mb.neutral())[0, 0]
period = 1.0 / modes.hz[roll]
swing = panel.shapes[-1, 2]  # of the end of a panel, up and down, for each of its modes


def slew(duration):
    """The run of a slew of so many seconds, a period to see what is left, and the swing of a panel's end in it."""
    size = 4.0 * ANGLE * inertia / duration**2
    mb.set_state(mb.neutral(), np.zeros(mb.nv))
    p = sc.sim.Propagator(mb, integrator="rk4", step=period / 24.0)

    def torque(t, state):
        return np.eye(mb.nv)[0] * size * (1.0 if t < duration / 2 else -1.0 if t < duration else 0.0)

    p.add(torque)
    parts = [p.advance_to(t) for t in (duration / 2, duration, duration + period)]
    left = parts[-1].q @ np.concatenate([np.zeros(7), 0 * swing, swing])
    return parts, float(np.ptp(left)) / 2.0


if __name__ == "__main__":
    for halves in (1.5, 2.0):
        parts, left = slew(2.0 * halves * period)
        turned = 2.0 * np.rad2deg(np.arcsin(parts[-1].q[:, 0]))
        print(f"halves of {halves:g} periods:", f"turned {turned.mean():.2f} degrees, a panel's end still swings by",
              f"{1e3 * left:.2f} mm")  # fmt: skip
    if len(sys.argv) > 1:  # a film: python examples/20_solar_panel.py slew.gif
        t, q = (np.concatenate([getattr(x, name) for x in parts]) for name in ("t", "q"))
        sc.view.scene(mb, (t, q), exaggerate=5.0).video(sys.argv[1])
