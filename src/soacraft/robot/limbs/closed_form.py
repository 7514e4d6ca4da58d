"""Closed-form inverse kinematics by the package EAIK (Ostermeier et al. 2024), which is optional (the extra `ik`).

It knows limbs of up to six pins whose axes meet or are parallel in certain ways (a wrist whose axes meet, three that
are parallel, ...), and gives all branches at once. Each answer is checked here: whole turns bring it within the limits,
forward kinematics gives the residual, and where digits are missing, steps of the limb's own search add them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ModelError
from soacraft.kinematics.limbs import LimbEngine, Plan
from soacraft.robot.limbs.asking import as_rows
from soacraft.robot.limbs.chain import Chain
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log

CLOSED_FORM = "closed form"
#: Dofs that EAIK solves for.
_MOST = 6
#: Answers nearer than this to a goal, in radians and lengths of the limb, lack digits; others are no answers.
_NEAR = 1e-2


class ClosedForm(NamedTuple):
    """The closed form of one limb."""

    robot: Any
    """EAIK's."""
    engine: LimbEngine
    at_zero: Array
    """The rotation of the tip at zero."""
    rates: Array
    """Angles to coordinates."""

    @classmethod
    def of(cls, limb: Chain) -> ClosedForm:
        """The closed form of a limb; refused where it has none, with the reason."""
        try:
            from eaik.IK_HP import HPRobot  # type: ignore[import-untyped]
        except ImportError as problem:
            raise ModelError(
                f"a closed form of limb {limb.name!r} needs the package EAIK ({problem}): pip install 'soacraft[ik]'."
            ) from None
        engine, no = limb.engine, f"limb {limb.name!r} has no closed form: "
        if engine is None:
            raise ModelError(f"{no}it is no chain of pins to one tip, or something is tied. Its own search needs none.")
        hinges, _, end = engine.axes
        for name, row in zip(limb.dof_names, hinges, strict=True):
            if row[12] == 0.0 or row[13] != 0.0:
                raise ModelError(f"{no}{name!r} slides, and only pins are known. Its own search needs none.")
        if limb.nv > _MOST:
            raise ModelError(f"{no}it has {limb.nv} dofs, and at most {_MOST} are known. Its own search needs none.")
        R, p, points, axes = np.eye(3), np.zeros(3), [np.zeros(3)], []
        for row in hinges:
            p, R = p + R @ row[9:12], R @ row[:9].reshape(3, 3)
            points.append(p)
            axes.append(R[:, 2])
        points.append(p + R @ end[9:])
        solver = HPRobot(np.array(axes), np.diff(np.array(points), axis=0))
        if not solver.hasKnownDecomposition():
            raise ModelError(
                f"{no}axes that meet or are parallel are too few (EAIK finds {solver.getKinematicFamily()!r}). Its own "
                "search needs none."
            )
        return cls(solver, engine, R @ end[:9].reshape(3, 3), hinges[:, 12] * hinges[:, 14])

    def holds(self, limb: Chain) -> bool:
        """True if the limb has not changed."""
        return limb.engine is self.engine

    def branches(self, pose: Pose, near: Array) -> Array:
        """All answers within the limits, turned to where whole turns bring them nearest to `near`, (k, nq); not yet
        checked."""
        goal = np.eye(4)
        goal[:3, :3], goal[:3, 3] = pose.rotation @ self.at_zero.T, pose.translation
        engine, branches = self.engine, []
        for angles in np.reshape(self.robot.IK(goal).Q, (-1, len(self.rates))):
            q = angles / self.rates
            q = q - engine.period * np.round((q - near) / engine.period)
            low, high = (np.ceil((engine.lower - q) / engine.period), np.floor((engine.upper - q) / engine.period))
            if np.isfinite(q).all() and (low <= high).all():
                branches.append(np.clip(q + engine.period * np.clip(0.0, low, high), engine.lower, engine.upper))
        return np.array(branches).reshape(-1, len(self.rates))

    def solutions(self, pose: Pose, within: Array, near: Array) -> Array:
        """The branches that are at a goal within its tolerance, (k, nq)."""
        engine, solutions = self.engine, []
        for q in self.branches(pose, near):
            residual = _left(engine, pose, q)
            if (np.abs(residual) > within).any():
                if np.abs(residual / np.repeat([1.0, engine.length], 3)).max() > _NEAR:
                    continue
                a = engine.search(as_rows(pose)[None], q[None], Plan(within, 1, near_first=1))
                if not a.found[0]:
                    continue
                q = a.q[0]
            solutions.append(q)
        return np.array(solutions).reshape(-1, len(self.rates))


def _left(engine: LimbEngine, pose: Pose, q: Array) -> Array:
    """Turn and way from the goal to the tip, in axes of the goal."""
    R, p = engine.place(q)
    return np.concatenate([log(pose.rotation.T @ R), pose.rotation.T @ (p - pose.translation)])
