"""A humanoid is dropped from 0.1 m, limp but for some damping in its joints: it lands, folds up and comes to rest."""

import sys

import numpy as np

import soacraft as sc

DROP, DAMPING, END = 0.1, 2.0, 4.0
mb = sc.load("h1")
mb.root.add_geometry(sc.Geometry("floor", "plane"))
for body in mb.bodies[1:]:
    body.passive = sc.Passive(damping=DAMPING)

scene, q = sc.contact.Scene(mb), np.array(mb.q)
q[6] += DROP - min(row.distance for row in scene.distances(q) if "floor" in row.a + row.b)
for row in scene.distances(q, within=0.0):
    scene.exclude(row.a, row.b)  # shapes that overlap in the model itself
mb.set_state(q, np.zeros(mb.nv))
p = sc.sim.Propagator(mb, integrator="moreau", step=0.001)
touch = sc.sim.Contact(scene, friction=0.8)
p.add(touch)
run = p.advance_to(END)

first = next(x.t for x in touch.steps if x.impulses.any())
print("lands at:", round(first, 3), "s, by a fall of 0.1 m", round(np.sqrt(2 * DROP / 9.81), 3), "s")
speed = np.abs(run.v).max(axis=1)
print("at rest from:", round(float(run.t[np.flatnonzero(speed > 1e-6)[-1]]), 3), "s")
print("largest velocity at the end:", f"{speed[-1]:.0e}")
depth = max(-float(scene.distances(x).distance.min()) for x in run.q)
print("deepest in anything:", round(1e3 * depth, 3), "mm")
energy, weight = np.asarray(run.energy), mb.total_mass * 9.81
print("energy:", round(energy[0], 2), "to", round(energy[-1], 2), "J")
print("largest rise of it in a step:", f"{np.diff(energy).max():.0e} J")
bears = run.contacts.force("inertial")[-1, 2]
print("what the floor bears:", round(-bears, 4), "N, weight:", round(weight, 4), "N")

if len(sys.argv) > 1:  # a film: python examples/17_humanoid_falls.py fall.gif
    print("film:", sc.view.scene(mb, run).video(sys.argv[1]))
