"""Planning by OMPL's RRT-Connect, with Pinocchio and coal to check configurations, all in this process.

Configurations are checked by one call of `pinocchio.computeCollisions`, which stops at the first pair that touches.
Motions are checked by OMPL at steps of a length that is told.
"""

from __future__ import annotations

import tempfile
import time
from itertools import pairwise
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
from ompl import base, geometric, util

import soacraft as sc


class Collisions:
    """The shapes and pairs of a world in Pinocchio and coal."""

    def __init__(self, world: sc.robot.World) -> None:
        mb, scene = world.robot.mb, world.scene
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "robot.urdf"
            bare = mb.copy()
            for body in bare.bodies:
                for shape in tuple(body.geometries):
                    body.remove_geometry(shape)
            sc.save(bare, path)
            self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        self.shapes = pin.GeometryModel()
        for placed in scene.placed:
            pose, joint, at = placed.geometry.pose, 0, pin.SE3.Identity()
            if placed.body >= 0:
                frame = self.model.frames[self.model.getFrameId(placed.carrier.name)]
                joint, at = frame.parentJoint, frame.placement
            at = at * pin.SE3(np.array(pose.rotation), np.array(pose.translation))
            self.shapes.addGeometryObject(pin.GeometryObject(placed.name, joint, at, _shape(placed.geometry)))
        ids = {x.name: i for i, x in enumerate(self.shapes.geometryObjects)}
        for a, b in scene.pairs:
            self.shapes.addCollisionPair(pin.CollisionPair(ids[a], ids[b]))
        self.placed = self.shapes.createData()

    def __call__(self, q: np.ndarray) -> bool:
        """Whether anything touches."""
        return bool(pin.computeCollisions(self.model, self.data, self.shapes, self.placed, q, True))


def _shape(shape: sc.Geometry) -> coal.CollisionGeometry:
    if shape.kind == "capsule":
        return coal.Capsule(*shape.size)
    if shape.kind == "box":
        return coal.Box(*shape.size)
    raise ValueError(f"no {shape.kind} in these scenes")


class Planner:
    """RRT-Connect between configurations within the limits of a world's robot."""

    def __init__(self, world: sc.robot.World) -> None:
        self.touches, self.n = Collisions(world), world.robot.mb.nq
        util.setLogLevel(util.LOG_NONE)
        low, high = world.robot.limb("all", "inertial", "link7").limits
        self.space, bounds = base.RealVectorStateSpace(self.n), base.RealVectorBounds(self.n)
        for i in range(self.n):
            bounds.setLow(i, float(low[i]))
            bounds.setHigh(i, float(high[i]))
        self.space.setBounds(bounds)
        self.extent = float(np.linalg.norm(high - low))

    def plan(
        self, a: np.ndarray, b: np.ndarray, step: float, seed: int, seconds: float
    ) -> tuple[float, np.ndarray | None]:
        """Seconds to a path whose motions were looked at every `step` radians, and the path."""
        util.RNG.setSeed(seed + 1)
        begun, n = time.perf_counter(), self.n
        info = base.SpaceInformation(self.space)
        info.setStateValidityChecker(lambda s: not self.touches(np.array(s[0:n])))
        info.setStateValidityCheckingResolution(step / self.extent)
        info.setup()
        problem, ends = base.ProblemDefinition(info), [info.allocState(), info.allocState()]
        for state, q in zip(ends, (a, b), strict=True):
            for i in range(n):
                state[i] = float(q[i])
        problem.setStartAndGoalStates(*ends)
        planner = geometric.RRTConnect(info)
        planner.setProblemDefinition(problem)
        planner.setup()
        planner.solve(base.timedPlannerTerminationCondition(seconds))
        took = time.perf_counter() - begun
        if not problem.hasExactSolution():
            return took, None
        return took, np.array([s[0:n] for s in problem.getSolutionPath().getStates()])

    def verified(self, path: np.ndarray, step: float) -> bool:
        """Whether nothing touches at configurations every `step` radians of a path."""
        return not any(self.touches(q) for q in dense(path, step))


def dense(path: np.ndarray, step: float) -> np.ndarray:
    """Configurations along a path, no farther apart than `step`."""
    made = [path[:1]]
    for a, b in pairwise(path):
        count = max(int(np.ceil(np.linalg.norm(b - a) / step)), 1)
        made.append(a + (b - a) * np.linspace(0.0, 1.0, count + 1)[1:, None])
    return np.concatenate(made)
