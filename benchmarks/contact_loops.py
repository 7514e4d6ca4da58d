"""Steps with contact of closed chains next to the same bodies as a tree: loops open, as many contacts, all else alike.

A slab on four feet with a four-bar on it, which dry friction holds; cassie on its two feet, held by dry friction of all
its hinges, or by servos of those of one dof, so that the tree stands as well. One thread, a millisecond each, after
some that let them come to rest. Runs look for steps that are too long for their springs and servos: with servos that
takes about as long as the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from contact_scenes import STEP, Scene
from measure import repeated, shortest

import soacraft as sc

GRAVITY = (0.0, 0.0, -9.81)


def four_bar() -> Scene:
    """A slab on four feet, and a four-bar on it that dry friction holds."""
    mb = sc.Multibody("four-bar", gravity=GRAVITY)
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    slab = mb.add_body("slab", None, sc.Free(), sc.Inertia(4.0, (0.5, 0, 0), np.diag([0.1, 0.4, 0.4])))
    for i, (x, y) in enumerate(((0.0, 0.2), (0.0, -0.2), (1.0, 0.2), (1.0, -0.2))):
        slab.add_geometry(sc.Geometry(f"foot{i}", "sphere", (0.05,), pose=sc.Pose(translation=(x, y, 0))))
    pin = sc.Pin((0, -1, 0))
    parts = (("crank", slab, 0.0, 0.4), ("coupler", "crank", 0.4, 1.0), ("rocker", slab, 1.0, 0.8))
    for name, parent, x, length in parts:
        moment = np.diag([1e-3, 1.0, 1.0]) * length**2 / 12
        rod = sc.Inertia(1.0, (length / 2, 0, 0), moment)
        mb.add_body(name, parent, pin, rod, sc.Pose(translation=(x, 0, 0)))
        mb[name].passive = sc.Passive(friction=20.0)
        if name != "crank":
            mb[name].add_node("end", sc.Pose(translation=(length, 0, 0)))
    mb.close_loop("loop", "coupler/end", "rocker/end", pin)
    mb.q = sc.loops.TreeAugmented(mb).assemble([0, 0, 0, 1, 0, 0, 0.051, 1.2, -0.9, 1.6])
    return Scene(mb, np.array(mb.q), np.zeros(mb.nv), {})


def cassie() -> Scene:
    """Cassie on its feet, held by dry friction."""
    mb = _cassie()
    for body in mb.bodies[1:]:
        body.passive = sc.Passive(friction=50.0)
    return Scene(mb, np.array(mb.q), np.zeros(mb.nv), {})


def cassie_with_servos() -> Scene:
    """Cassie on its feet, with its springs, held by servos."""
    mb = _cassie()
    held = {x.hinge_name: float(mb.q[mb.layout.q_slices[i]][0]) for i, x in enumerate(mb.bodies) if x.hinge.nv == 1}
    return _held(mb, held, 2000.0, 20.0)


def _cassie() -> sc.Multibody:
    mb = sc.load("cassie")
    mb.gravity = GRAVITY
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    q = np.array(sc.loops.TreeAugmented(mb).assemble(mb.q))
    q[6] -= min(x.distance for x in sc.contact.Scene(mb).distances(q) if "floor" in x.a + x.b) - 1e-4
    mb.q = q
    return mb


def _held(mb: sc.Multibody, targets: dict[str, float], stiffness: float, damping: float) -> Scene:
    """The model with servos."""
    for actuator in list(mb.actuators):
        mb.remove_actuator(actuator.name)
    law = {"biastype": "affine", "gainprm": [stiffness], "biasprm": [0.0, -stiffness, -damping]}
    for name in targets:
        mb.add_actuator(sc.Actuator(f"servo {name}", "general", {name: 1.0}, law))
    return Scene(mb, np.array(mb.q), np.zeros(mb.nv), {x: (at, stiffness, damping) for x, at in targets.items()})


def opened(scene: Scene) -> Scene:
    """The same bodies without loops."""
    for loop in list(scene.mb.loops):
        scene.mb.remove_loop(loop.name)
    return scene


SCENES = {"four-bar on a floor": four_bar, "cassie": cassie, "cassie with servos": cassie_with_servos}


def compared(name: str, settle: int, steps: int, quick: bool) -> dict[str, Any]:
    """Microseconds of a step of a closed chain and of its bodies as a tree, and contacts at the end."""
    makers: dict[str, Callable[[], Scene]] = {"closed": SCENES[name], "tree": lambda: opened(SCENES[name]())}
    loops, touching = {}, {}
    for kind, make in makers.items():
        p, touching[kind] = _apart(make())
        p.advance_to(settle * STEP)
        loops[kind] = repeated(lambda p=p: p.advance_to(p.t + steps * STEP))
    times = {who: t / steps for who, t in shortest(loops, 2 if quick else 4, 0.0).items()}
    contacts = {who: len(x.steps[-1].pairs) if x.steps else 0 for who, x in touching.items()}
    return {"scene": name, "us": times, "contacts": contacts}


def _apart(scene: Scene) -> tuple[sc.sim.Propagator, sc.sim.Contact]:
    """A run in which the bodies of a scene touch the floor alone."""
    scene.mb.set_state(scene.q, scene.v)
    shapes = sc.contact.Scene(scene.mb)
    for a, b in list(shapes.pairs):
        if "inertial" not in (a.partition("/")[0], b.partition("/")[0]):
            shapes.exclude(a, b)
    p = sc.sim.Propagator(scene.mb, integrator="moreau", step=STEP)
    touch = sc.sim.Contact(shapes, friction=scene.friction)
    p.add(touch)
    for name, (target, _, _) in scene.servos.items():
        p.control(f"servo {name}", target)
    return p, touch
