"""Scenes with contact: a humanoid that stands, a quadruped that trots, spheres that settle, a wall; here and in MuJoCo.

MuJoCo has the same bodies, shapes, servos and friction: elliptic cones, Newton's method, Euler's steps, its own default
tolerance. Its contacts are soft, so that the two motions are alike and not the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from in_mujoco import add_body

import soacraft as sc

STEP = 1e-3
GRAVITY = (0.0, 0.0, -9.81)


@dataclass
class Scene:
    """A model with its state and servos: target, stiffness and damping by dof name."""

    mb: sc.Multibody
    q: np.ndarray
    v: np.ndarray
    servos: dict[str, tuple[float, float, float]]
    friction: float = 0.8

    def propagator(
        self, step: float = STEP, tolerance: float = 1e-8, integrator: str = "moreau"
    ) -> tuple[sc.sim.Propagator, sc.sim.Contact]:
        """A run from the state of the scene."""
        self.mb.set_state(self.q, self.v)
        p = sc.sim.Propagator(self.mb, integrator=integrator, step=step)
        touch = sc.sim.Contact(friction=self.friction, tolerance=tolerance)
        p.add(touch)
        for name, (target, _, _) in self.servos.items():
            p.control(f"servo {name}", target)
        return p, touch


def _floor(mb: sc.Multibody) -> sc.Multibody:
    mb.gravity = GRAVITY
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    return mb


def _servo(mb: sc.Multibody, name: str, stiffness: float, damping: float) -> None:
    law = {"biastype": "affine", "gainprm": [stiffness], "biasprm": [0.0, -stiffness, -damping]}
    mb.add_actuator(sc.Actuator(f"servo {name}", "general", {name: 1.0}, law))


def humanoid() -> Scene:
    """h1 on its two feet, four points each, with bent knees, held by servos."""
    mb = _floor(sc.load("h1"))
    for side in ("left", "right"):
        ankle = mb[f"{side}_ankle_link"]
        for shape in list(ankle.geometries):
            ankle.remove_geometry(shape.name)
        for i, (x, y) in enumerate(((-0.04, -0.03), (-0.04, 0.03), (0.15, -0.03), (0.15, 0.03))):
            ankle.add_geometry(sc.Geometry(f"sole{i}", "sphere", (0.01,), pose=sc.Pose(translation=(x, y, -0.06))))
    servos, q, lean = {}, np.array(mb.q), 0.085  # so that the centre of mass is above the middle of the feet
    q[:4] = 0.0, np.sin(lean / 2), 0.0, np.cos(lean / 2)
    bent = {"hip_pitch": -0.4, "knee": 0.8, "ankle": -0.4 - lean}
    for i, name in enumerate(mb.dof_names[6:]):
        _servo(mb, name, 1000.0, 20.0)
        q[7 + i] = next((x for part, x in bent.items() if name.endswith(part)), 0.0)
        servos[name] = (float(q[7 + i]), 1000.0, 20.0)
    q[6] -= min(x.distance for x in sc.contact.Scene(mb).distances(q) if "floor" in x.a + x.b)
    return Scene(mb, q, np.zeros(mb.nv), servos)


def quadruped() -> Scene:
    """A trunk on four legs of three pins each, with feet like balls, held by servos."""
    mb = _floor(sc.Multibody("quadruped"))
    trunk = mb.add_body("trunk", None, sc.Free(), sc.Inertia(9.0, moment=np.diag([0.07, 0.26, 0.3])))
    trunk.add_geometry(sc.Geometry("trunk", "box", (0.4, 0.18, 0.12)))
    servos, q = {}, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    for name, x, y in (("fl", 0.18, 0.06), ("fr", 0.18, -0.06), ("hl", -0.18, 0.06), ("hr", -0.18, -0.06)):
        side = 0.08 if y > 0 else -0.08
        parts = (
            ("hip", (1, 0, 0), (x, y, 0.0), 0.6, (0, side / 2, 0), 0.0),
            ("thigh", (0, 1, 0), (0, side, 0), 0.9, (0, 0, -0.1), 0.8),
            ("shank", (0, 1, 0), (0, 0, -0.2), 0.2, (0, 0, -0.1), -1.6),
        )
        above = trunk
        for part, axis, place, mass, com, angle in parts:
            moment = mass * np.diag([0.004, 0.004, 0.001])
            pose = sc.Pose(translation=place)
            above = mb.add_body(f"{name}_{part}", above, sc.Pin(axis), sc.Inertia(mass, com, moment), inboard=pose)
            above.armature = 0.01
            _servo(mb, above.hinge_name, 60.0, 1.5)
            servos[above.hinge_name] = (angle, 60.0, 1.5)
            q.append(angle)
        above.add_geometry(sc.Geometry("foot", "sphere", (0.02,), pose=sc.Pose(translation=(0, 0, -0.2))))
    q[6] = 0.02 + 0.4 * np.cos(0.8)
    return Scene(mb, np.array(q), np.zeros(mb.nv), servos)


def trot(scene: Scene, steps: int, step: float = STEP) -> dict[str, np.ndarray]:
    """Targets of its servos at the beginning of each step: diagonal legs are lifted in turn, twice a second."""
    t = step * np.arange(steps)
    targets = {}
    for name, (angle, _, _) in scene.servos.items():
        phase = 2.0 * np.pi * 2.0 * t + (0.0 if name[:2] in ("fl", "hr") else np.pi)
        lift = np.maximum(np.sin(phase), 0.0) * np.minimum(t / 0.2, 1.0)
        targets[name] = angle + (0.0 if name.endswith("hip") else 0.25 if name.endswith("thigh") else -0.5) * lift
    return targets


def spheres(count: int, seed: int = 0) -> Scene:
    """Balls on a grid, ten layers at most, above a floor."""
    mb = _floor(sc.Multibody("spheres"))
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(count / 3.0)))
    q = []
    for i in range(count):
        body = mb.add_body(f"ball{i:04d}", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
        body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
        x, y, z = i % side, i // side % side, i // side**2
        shift = rng.uniform(-0.02, 0.02, 2)
        q += [0.0, 0.0, 0.0, 1.0, 0.25 * x + shift[0], 0.25 * y + shift[1], 0.1 + 0.22 * z]
    return Scene(mb, np.array(q), np.zeros(6 * count), {})


def wall(rows: int = 10, columns: int = 10) -> Scene:
    """Boxes like bricks, each row shifted by half a brick."""
    mb = _floor(sc.Multibody("wall"))
    size, q = (0.4, 0.2, 0.2), []
    x, y, z = size
    moment = 1.0 / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    for row in range(rows):
        for column in range(columns):
            body = mb.add_body(f"brick{row:02d}{column:02d}", None, sc.Free(), sc.Inertia(1.0, moment=moment))
            body.add_geometry(sc.Geometry("skin", "box", size))
            q += [0.0, 0.0, 0.0, 1.0, 0.4 * column + 0.2 * (row % 2), 0.0, 0.1 + 0.2 * row]
    return Scene(mb, np.array(q), np.zeros(6 * rows * columns), {})


class InMujoco:
    """The same scene there."""

    def __init__(self, scene: Scene, step: float = STEP) -> None:
        mb, spec = scene.mb, mujoco.MjSpec()
        spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        spec.compiler.degree = False
        spec.option.gravity, spec.option.timestep = mb.gravity, step
        spec.option.cone, spec.option.solver = mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtSolver.mjSOL_NEWTON
        bodies: dict[Any, Any] = {mb.root: spec.worldbody}
        for body in mb.bodies:
            bodies[body] = self._body(bodies[body.parent], body)
        for carrier in (mb.root, *mb.bodies):
            for shape in carrier.geometries:
                if shape.role != "visual":
                    self._shape(bodies[carrier], shape, scene.friction)
        for name, (_, stiffness, damping) in scene.servos.items():
            motor = spec.add_actuator(name=f"servo {name}", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.gaintype, motor.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
            motor.gainprm[0], motor.biasprm[1], motor.biasprm[2] = stiffness, -stiffness, -damping
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = self.coordinates(mb, scene.q)
        self.data.ctrl[:] = [target for target, _, _ in scene.servos.values()]

    @staticmethod
    def coordinates(mb: sc.Multibody, q: np.ndarray) -> np.ndarray:
        """Positions of free bodies first, then quaternions with w first."""
        parts = []
        for k, body in enumerate(mb.bodies):
            mine = q[mb.layout.q_slices[k]]
            parts.append(np.concatenate([mine[4:7], np.roll(mine[:4], 1)]) if isinstance(body.hinge, sc.Free) else mine)
        return np.concatenate(parts)

    def depth(self) -> float:
        """The deepest that shapes are in each other now."""
        return max([0.0, *(-float(x) for x in self.data.contact.dist)])

    def states(self, mb: sc.Multibody, q: np.ndarray) -> np.ndarray:
        """States at rest for `mujoco.rollout`, from coordinates (n, nq)."""
        whole = mujoco.mjtState.mjSTATE_FULLPHYSICS
        made = np.zeros((len(q), mujoco.mj_stateSize(self.model, whole)))
        for row, mine in zip(made, q, strict=True):
            self.data.qpos[:], self.data.qvel[:] = self.coordinates(mb, mine), 0.0
            mujoco.mj_getState(self.model, self.data, row, whole)
        return made

    def loop(self, n: int) -> None:
        """So many steps."""
        for _ in range(n):
            mujoco.mj_step(self.model, self.data)

    @staticmethod
    def _body(parent: Any, body: sc.Body) -> Any:
        mine = add_body(parent, body)
        if not isinstance(body.hinge, sc.Free):
            joint = mine.joints[0]
            joint.name = body.hinge_name
            joint.damping[0], joint.armature = float(body.passive.damping[0]), float(body.armature[0])
            low, high = float(body.limits.lower[0]), float(body.limits.upper[0])
            if np.isfinite([low, high]).all():
                joint.limited, joint.range = mujoco.mjtLimited.mjLIMITED_TRUE, [low, high]
        return mine

    @staticmethod
    def _shape(body: Any, shape: sc.Geometry, friction: float) -> None:
        kinds = {"sphere": "SPHERE", "capsule": "CAPSULE", "cylinder": "CYLINDER", "box": "BOX", "plane": "PLANE"}
        size = np.zeros(3)
        size[: len(shape.size)] = shape.size
        if shape.kind == "box":
            size = size / 2.0
        elif shape.kind in ("capsule", "cylinder"):
            size[1] /= 2.0
        elif shape.kind == "plane":
            size[:] = 10.0, 10.0, 1.0
        mu = shape.attributes.get("friction", friction)
        slide = float(mu[0]) if isinstance(mu, tuple | list) else float(mu)
        body.add_geom(
            type=getattr(mujoco.mjtGeom, f"mjGEOM_{kinds[shape.kind]}"), size=size, pos=shape.pose.translation,
            quat=np.roll(shape.pose.as_quaternion(), 1), friction=[slide, 0.005, 0.0001], condim=3,
            contype=int(shape.attributes.get("contype", 1)), conaffinity=int(shape.attributes.get("conaffinity", 1)),
        )  # fmt: skip

