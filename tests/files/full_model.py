"""A model that has one of everything a model file can hold, with awkward numbers."""

from __future__ import annotations

import numpy as np

import soacraft as sc
from soacraft.model import (
    Actuator,
    Entry,
    Geometry,
    ImportReport,
    Keyframe,
    Limits,
    Material,
    Multibody,
    Passive,
    Record,
    random_inertia,
    random_pose,
)
from soacraft.model.hinges import examples

SUBNORMAL = 5e-324


def full_model() -> Multibody:
    """Every kind of hinge, and everything else."""
    rng = np.random.default_rng(7)
    mb = Multibody("fülle", gravity=(-0.0, SUBNORMAL, -9.81))
    mb.root.add_node("dock", random_pose(rng), role="sensor")
    mb.root.add_geometry(Geometry("floor", "plane", (), role="collision", attributes={"friction": (1.0, 0.005)}))
    mb.add_material(Material("steel", (0.5, 0.5, 0.5, 1.0), "steel.png", {"shininess": 0.25}))
    mb.add_material(Material("plain"))
    for k, hinge in enumerate(examples()):
        parent = None if k == 0 else f"body{(k - 1) // 2}"
        named = f"hinge{k}" if k % 2 else None
        body = mb.add_body(
            f"body{k}", parent, hinge, random_inertia(rng), random_pose(rng), random_pose(rng), hinge_name=named
        )
        body.add_node("b", random_pose(rng), role="actuator")
        body.add_node("a", sc.Pose(translation=(-0.0, 0.0, SUBNORMAL)))
        dress(body, k, rng)
    tie(mb)
    mb.set_state(*mb.random_state(seed=3), vdot=rng.standard_normal(mb.nv))
    mb.set_force("body3/b", sc.Wrench((1.0, -0.0, 0.0), (0.0, 0.0, 1e300), expressed_in="body5"))
    mb.set_force("body1/a", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    mb.set_force("body4", sc.Wrench((0.0, 0.0, 0.0), (0.1, 0.2, 0.3), expressed_in="inertial/dock"))
    return mb


def dress(body: sc.Body, k: int, rng: np.random.Generator) -> None:
    """Armature, springs, gravity compensation, limits and shapes on some bodies."""
    nv = body.hinge.nv
    if k % 3 == 1:
        body.armature = rng.uniform(0.0, 1.0, nv)
        rest = body.hinge.integrate(body.hinge.neutral(), np.full(nv, 0.1))
        body.passive = Passive(rng.uniform(0.0, 9.0, nv), 0.1, -0.0, rest, rng.uniform(1.0, 2.0, nv), 0.05)
    if k % 5 == 2:
        body.gravity_compensation = rng.uniform(0.0, 1.0)
    if k % 3 == 2 and nv:
        body.limits = Limits(lower=[-np.inf, *rng.uniform(-2.0, 0.0, nv - 1)], upper=1.5, velocity=3.0)
    if k % 4 == 0:
        body.add_geometry(Geometry("", "box", (0.1, 0.2, 0.3), random_of(rng), rgba=(1.0, 0.0, 0.0, -0.0)))
        body.add_geometry(Geometry("skin", "mesh", (1.0, 1.0, 1.0), role="visual", material="steel", mesh="skin.stl"))


def random_of(rng: np.random.Generator) -> sc.Pose:
    """A pose that is the product of many, so not orthonormal to the last bit."""
    pose = random_pose(rng)
    for _ in range(20):
        pose = pose @ random_pose(rng)
    return pose


def tie(mb: Multibody) -> None:
    """Loops, couplings, tendons, springs, bushings, actuators, keyframes, records and a report."""
    mb.close_loop("ring", "body3/b", "body5/a", sc.Universal((1, 0, 0), (0, 1, 0)), attributes={"solref": (0.02, 1)})
    mb.close_loop("spare", "inertial/dock", "body11", sc.Spherical(), active=False)
    mb.couple("gear", {"hinge1": 1.0, "body2": (-3.0, 0.0, 0.5)}, offset=-0.0, attributes={"note": "worm"})
    mb.couple("off", {"hinge3": 2.0}, offset=0.25, active=False)
    mb.add_tendon("cable", {"hinge1": 0.1, "body2": -3.0}, 20.0, 0.3, (-0.1, 5e-324), {"note": "steel"})
    mb.add_tendon("band", {"hinge3": 2.0}, rest=0.7)
    mb.add_tendon("stop", {"hinge3": 2.0}, sc.Curve([-1.0, 0.1, 0.2], [0.3, 0.0, -0.0], "linear"))
    mb.add_spring("span", "body3/b", "inertial/dock", 30.0, (0.1, 5e-324 + 0.1), 0.3, ["body5/a"], {"note": "bungee"})
    mb.add_spring("strut", "body4", "body5")
    mb.add_spring("rubber", "body4", "body5", sc.Curve([0.1, 0.7], [0.0, 3.0]), damping=sc.Curve([-1, 1], [-2, 2.5]))
    K = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) + 0.1
    mb.add_bushing("mount", "body3/b", "body5/a", K, [0.1, 0, 0, 0, 0, 5e-324], random_of(np.random.default_rng(7)))
    mb.add_torsion_spring("twist", "inertial/dock", "body2", 2.0, attributes={"note": "wire"})
    mb.add_actuator(Actuator("motor", "motor", {"hinge1": 100.0, "body4.1": -0.0}, {"range": (-1, 1), "limited": True}))
    mb.add_actuator(Actuator("muscle", "general", attributes={"site": "body3/b"}))
    q, v = mb.random_state(seed=9)
    mb.add_keyframe(Keyframe("home", q, v, {"time": 0.5, "ctrl": ((1.0, 2.0), "x")}))
    mb.add_record(Record("sensor", "gyro", {"site": "body3/b", "bits": 2**70, "noise": 0.0, "deep": ((1, (2.0,)),)}))
    mb.add_record(Record("sensor", "gyro"))
    mb.add_record(Record("camera", ""))
    mb.import_report = ImportReport(
        [
            Entry("a.xml", 3, "mujoco/option", "", "timestep", "recorded", "not simulated", False),
            Entry("a.xml", 9, "mujoco/contact/pair", "p", "", "ignored", "no contact yet", True),
        ]
    )
