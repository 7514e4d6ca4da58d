"""A row of dominoes: the first is pushed, all fall, one after the other."""

import sys

import numpy as np

import soacraft as sc

SIZE, GAP, COUNT = (0.01, 0.025, 0.05), 0.025, 6
mb = sc.Multibody("dominoes", gravity=(0, 0, -9.81))
mb.root.add_geometry(sc.Geometry("floor", "plane"))
q = []
for i in range(COUNT):
    piece = mb.add_body(f"piece{i}", None, sc.Free(), sc.Inertia.box(0.01, SIZE))
    piece.add_geometry(sc.Geometry("skin", "box", SIZE))
    q += [0, 0, 0, 1, GAP * i, 0, SIZE[2] / 2]
v = np.zeros(6 * COUNT)
v[1], v[3] = 6.0, 6.0 * SIZE[2] / 2  # it turns about its lower edge

mb.set_state(np.array(q), v)
p = sc.sim.Propagator(mb, integrator="moreau", step=0.001)
touch = sc.sim.Contact(friction=0.4)
p.add(touch)
run = p.advance_to(0.5)

tilt = [2 * np.arctan2(run.q[:, 7 * i + 1], run.q[:, 7 * i + 3]) for i in range(COUNT)]
times = [float(run.t[np.argmax(x > 0.2)]) for x in tilt]
print("leans by 0.2 rad at (s):", np.round(times, 3))
print("tilt at the end (rad):", np.round([x[-1] for x in tilt], 2))
print("worst residual:", f"{max(x.residual for x in touch.steps):.0e}")
assert all(np.diff(times) > 0)
assert min(x[-1] for x in tilt) > 0.8

if len(sys.argv) > 1:  # a film: python examples/15_domino_row.py row.gif
    print("film:", sc.view.scene(mb, run).video(sys.argv[1], speed=0.25, azimuth=-50.0))
