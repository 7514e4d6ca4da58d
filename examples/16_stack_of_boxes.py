"""Ten boxes on each other rest: nothing creeps, and each contact carries what is above it."""

import sys

import numpy as np

import soacraft as sc

COUNT, EDGE, MASS, STEP = 10, 0.1, 0.5, 0.002
mb = sc.Multibody("stack", gravity=(0, 0, -9.81))
mb.root.add_geometry(sc.Geometry("floor", "plane"))
q = []
for i in range(COUNT):
    box = mb.add_body(f"box{i}", None, sc.Free(), sc.Inertia.box(MASS, (EDGE, EDGE, EDGE)))
    box.add_geometry(sc.Geometry("skin", "box", (EDGE, EDGE, EDGE)))
    q += [0, 0, 0, 1, 0.003 * (-1) ** i, 0, EDGE * (i + 0.5)]
q = np.array(q)

mb.set_state(q, np.zeros(6 * COUNT))
p = sc.sim.Propagator(mb, integrator="moreau", step=STEP)
touch = sc.sim.Contact(friction=0.5)
p.add(touch)
run = p.advance_to(0.5)

last = touch.steps[-1]
print("points of contact:", len(last.pairs), " residual:", f"{last.residual:.0e}", " forces unique:", last.unique)
for i in (0, 5, 9):
    below = "floor" if i == 0 else f"box{i - 1}"
    both = [f"box{i}/" in " ".join(pair) and below in " ".join(pair) for pair in last.pairs]
    force = abs(last.impulses[both, 2].sum()) / STEP
    print(f"on {below}: {force:.4f} N, weight above: {MASS * 9.81 * (COUNT - i):.4f} N")
    assert abs(force - MASS * 9.81 * (COUNT - i)) < 1e-5
print("largest motion:", f"{np.abs(run.q[-1] - q).max():.0e} m, speed {np.abs(run.v).max():.0e} m/s")
assert np.abs(run.q[-1] - q).max() < 1e-7

if len(sys.argv) > 1:  # a film: python examples/16_stack_of_boxes.py boxes.gif
    print("film:", sc.view.scene(mb, run).video(sys.argv[1], rate=10.0))
