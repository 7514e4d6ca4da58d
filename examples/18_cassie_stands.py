"""Cassie stands on two thin feet by springs and dampers in its motors (PD), with its four loops closed.

The stance is computed from statics: feet flat, the centre of mass above them, the leaf springs of the legs bent as far
as the weight bends them. Then the motors hold it: what they need there, and a spring and a damper about it.

    python examples/18_cassie_stands.py            5 s, which take a minute or two
    python examples/18_cassie_stands.py 0.5 stand.gif
"""

import sys

import numpy as np
from scipy.optimize import root

import soacraft as sc

END = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
KNEE, SPREAD, STEP = -0.5, 0.15, 0.001  # rad, rad, s
LEGS = ("left", "right")
MOTORS = [f"{leg}-{hinge}" for leg in LEGS for hinge in ("hip-roll", "hip-yaw", "hip-pitch", "knee", "foot")]
SPRINGS = [f"{leg}-{hinge}" for leg in LEGS for hinge in ("shin", "heel-spring")]
STIFFNESS, DAMPING = np.tile([800, 800, 800, 1600, 800], 2), np.tile([10, 10, 10, 20, 5], 2)  # N m/rad, N m s/rad

mb = sc.load("cassie")
mb.root.add_geometry(sc.Geometry("floor", "plane", attributes={"contype": 15, "conaffinity": 15}))
for leg in LEGS:
    foot = mb.body(f"{leg}-foot")
    foot.add_node("sole", foot.geometries[0].pose)
solver = sc.loops.TreeAugmented(mb)
place = {name: mb.q_slice(name).start for name in mb.dof_names if "." not in name}
number = {name: i for i, name in enumerate(mb.dof_names)}


def soles(q):
    """The middles of the feet and the way they point, in the inertial frame."""
    mb.q = q
    poses = [mb.pose(f"{leg}-foot/sole") for leg in LEGS]
    return [(at.translation, at.rotation[:, 2]) for at in poses]


def stance(hip, foot, bent):
    """The closed configuration with these hips and feet, and leaf springs bent so far."""
    q = np.array(mb.q)
    q[:7] = [0, 0, 0, 1, 0, 0, 1]
    for leg, out in zip(LEGS, (SPREAD, -SPREAD), strict=True):
        told = {"hip-roll": out, "hip-yaw": 0.0, "hip-pitch": hip, "knee": KNEE, "foot": foot}
        near = {"tarsus": -KNEE, "foot-crank": foot, "plantar-rod": -foot}
        for hinge, angle in (told | near).items():
            q[place[f"{leg}-{hinge}"]] = angle
    for name in SPRINGS:
        q[place[name]] = bent[name]
    return solver.assemble(q, fixed=["cassie-pelvis", *MOTORS, *SPRINGS])


def centre(q):
    return sc.dynamics.center_of_mass(mb, q, ignore_loops=True)


# -- statics: hips and feet for a flat foot below the centre of mass, springs for the weight -------------------------
weight, bent, angles = mb.total_mass * 9.81, dict.fromkeys(SPRINGS, 0.0), [0.5, -1.6]
stiffness = {name: float(mb.body(name).passive.stiffness[0]) for name in SPRINGS}


def off(x):
    q = stance(*x, bent)
    middle, way = soles(q)[0]
    return [way[2], middle[0] - centre(q)[0]]


for _ in range(20):
    angles = root(off, angles).x
    q = stance(*angles, bent)
    q[6] += mb["left-foot"].geometries[0].size[0] - min(middle[2] for middle, _ in soles(q))
    (left, _), (right, _) = soles(q)
    part = (centre(q)[1] - right[1]) / (left[1] - right[1])  # of the weight, on the left foot
    push = {
        f"{leg}-foot/sole": sc.Wrench((0, 0, 0), (0, 0, share * weight), expressed_in=mb.root)
        for leg, share in zip(LEGS, (part, 1 - part), strict=True)
    }
    still = np.zeros(mb.nv)
    held = solver.inverse_dynamics(q, still, still, [*mb.dof_names[:6], *MOTORS, *SPRINGS], push, passive=False)
    before, bent = bent, {name: -held[number[name]] / stiffness[name] for name in SPRINGS}
    if max(abs(bent[name] - before[name]) for name in SPRINGS) < 1e-8:
        break
print("force left on the pelvis:", f"{np.abs(held[:6]).max():.0e} N or N m of a weight of {weight:.1f} N")
print("torques of the left motors:", ", ".join(f"{x[5:]} {held[number[x]]:.1f}" for x in MOTORS[:5]), "N m")

# -- motion --------------------------------------------------------------------------------------------------------
dofs, coordinates = [number[x] for x in MOTORS], [place[x] for x in MOTORS]


def motors(t, state):
    force = np.zeros(mb.nv)
    force[dofs] = held[dofs] + STIFFNESS * (q[coordinates] - state.q[coordinates]) - DAMPING * state.v[dofs]
    return force


mb.set_state(q, np.zeros(mb.nv))
p = sc.sim.Propagator(mb, integrator="moreau", step=STEP)
touch = sc.sim.Contact(pairs={(f"{leg}-foot", "inertial"): (0.8, 0.0) for leg in LEGS})  # soles that do not bounce
p.add(motors, touch)
run = p.advance_to(END)

way = np.array([centre(x) for x in run.q[:: max(1, len(run) // 50)]]) - centre(q)
print("the centre of mass moves by at most:", round(1e3 * np.abs(way).max(), 2), "mm")
print("loops are open by at most:", f"{run.violation.max():.0e}")
bears = -run.contacts.force("inertial")[1:, 2]
print("what the floor bears:", round(bears.mean(), 1), "N on average")
deepest = max(-touch.scene.distances(x).distance.min() for x in run.q[:: max(1, len(run) // 50)])
print("deepest in the floor:", round(1e3 * deepest, 3), "mm")
assert np.abs(way).max() < 0.02, "it stands"

if len(sys.argv) > 2:
    print("film:", sc.view.scene(mb, run).video(sys.argv[2]))
