"""Mass, centre of mass, inertia and principal axes of a robot, of some of its bodies, or of held objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.arguments import Seed, read_seed, whole_number
from soacraft.errors import StateError
from soacraft.model.states.coordinates import read_q
from soacraft.model.states.dof_sets import movable_dofs
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.robot import Robot
from soacraft.robot.studies.motion import held_of, model_of
from soacraft.robot.studies.study import Column, Study
from soacraft.robot.studies.table import Table
from soacraft.spatial.checks import Array

#: Configurations that are drawn, at most.
MOST = 10_000_000


@dataclass(frozen=True, eq=False, repr=False)
class MassProperties(Study, kind="mass properties"):
    """Mass properties at each configuration: the centre of mass, and the inertia about it, in axes of `frame`."""

    robot: str
    bodies: Annotated[tuple[str, ...], Column.of("", "bodies")]
    frame: str
    mass: Annotated[float, Column.of("kg")]
    q: Annotated[Array, Column.of("", "rows", "nq")]
    com: Annotated[Array, Column.of("m", "rows", 3)]
    inertia: Annotated[Array, Column.of("kg m2", "rows", 3, 3)]
    principal: Annotated[Array, Column.of("kg m2", "rows", 3)]
    """Principal moments, the smallest first."""
    axes: Annotated[Array, Column.of("", "rows", 3, 3)]
    """Principal axes as columns, right-handed."""

    @property
    def span(self) -> tuple[Array, Array]:
        """The least and the largest coordinates of the centre of mass, (3) each."""
        return self.com.min(axis=0), self.com.max(axis=0)

    def table(self) -> Table:
        """The centre of mass and the principal moments, and their ranges."""
        rows: list[tuple[Any, ...]] = [("mass [kg]", self.mass, self.mass)]
        names = [*(f"{n} of the centre [m]" for n in "xyz"), *(f"principal moment {i} [kg m2]" for i in (1, 2, 3))]
        columns = np.hstack([self.com, self.principal]).T
        rows += [(n, float(x.min()), float(x.max())) for n, x in zip(names, columns, strict=True)]
        return Table((f"{len(self.q)} configurations", "least", "most"), rows)

    def __repr__(self) -> str:
        low, high = self.span
        at = ", ".join(f"{a:.4g}" if a == b else f"{a:.4g} to {b:.4g}" for a, b in zip(low, high, strict=True))
        what = f"MassProperties of {self.robot!r}, {len(self.bodies)} bodies"
        return f"{what}: {self.mass:.6g} kg at ({at}) m in {self.frame!r}"


def mass_properties(
    robot: Any,
    q: Any = None,
    *,
    bodies: Any = None,
    frame: Any = "inertial",
    samples: int | None = None,
    seed: Seed = 0,
) -> MassProperties:
    """Mass, centre of mass, inertia about it and principal axes, at the present configuration, at q (rows, nq), or at
    `samples` drawn within the limits, of movable dofs (`rb.movable`).

    `bodies` are names, a `Limb`, or "held", the objects in the robot's hands; by default all. Results are in axes of
    `frame`, as seen from there. O(rows n).

    >>> import soacraft as sc
    >>> sc.robot.study.mass_properties(sc.load("double_pendulum"))
    MassProperties of 'double_pendulum', 2 bodies: 2 kg at (0, 0, -1.5) m in 'inertial'
    """
    mb = model_of(robot)
    if mb.layout.flexible:
        raise StateError(f"{mb.name!r} has flexible bodies, whose centre of mass is not fixed in them.")
    chosen = [x for x in _chosen(robot, mb, bodies) if x.inertia.mass > 0.0]
    if not chosen:
        raise StateError(f"the bodies of {mb.name!r} that are asked for have no mass.")
    if samples is not None:
        if q is not None:
            raise StateError("give q, or a number of samples, not both.")
        rng = read_seed(seed, "the seed of mass_properties")
        if mb.is_closed:
            raise StateError(f"{mb.name!r} has loops or couplings: give configurations that are closed.")
        q = np.array([mb.random_state(rng, limits=True)[0] for _ in range(whole_number(samples, "samples", 1, MOST))])
        movable = movable_dofs(mb, held_of(robot))
        for at, dofs in zip(mb.layout.q_slices, mb.layout.v_slices, strict=True):
            if not movable[dofs].all():
                q[:, at] = np.asarray(mb.q)[at]
    rows = np.atleast_2d(read_q(mb, mb.q if q is None else q))
    still = np.zeros((len(rows), mb.nv))
    seen = mb.root if frame == "inertial" else mb.frame(frame)
    motion = dyn.node_motion(mb, rows, still, still, (*chosen, seen) if seen is not mb.root else tuple(chosen))
    R, p = motion.rotation, motion.translation
    if seen is not mb.root:
        F, o = R[:, -1], p[:, -1]
        p = np.einsum("kji,kbj->kbi", F, p[:, :-1] - o[:, None])
        R = F[:, None].mT @ R[:, :-1]
    m = np.array([x.inertia.mass for x in chosen])
    c = p + np.einsum("kbij,bj->kbi", R, np.array([x.inertia.com for x in chosen]))
    com = np.einsum("b,kbi->ki", m, c) / m.sum()
    r = c - com[:, None]
    moments = R @ np.array([x.inertia.moment for x in chosen]) @ R.mT
    far = np.einsum("b,kbi,kbj->kij", m, r, r)
    inertia = moments.sum(axis=1) + np.trace(far, axis1=1, axis2=2)[:, None, None] * np.eye(3) - far
    inertia = 0.5 * (inertia + inertia.mT)
    principal, axes = np.linalg.eigh(inertia)
    axes[:, :, 2] *= np.sign(np.linalg.det(axes))[:, None]
    name = "inertial" if seen is mb.root else seen.full_name
    return MassProperties(
        mb.name, tuple(x.name for x in chosen), name, float(m.sum()), rows, com, inertia, principal, axes
    )


def _chosen(robot: Any, mb: Multibody, bodies: Any) -> list[Body]:
    if bodies is None:
        return list(mb.bodies)
    if isinstance(bodies, Limb):
        if bodies.robot.mb is not mb:
            raise StateError(f"limb {bodies.name!r} is of another robot.")
        return list(bodies.bodies)
    if isinstance(bodies, str) and bodies == "held":
        held = robot.held if isinstance(robot, Robot) else {}
        if not held:
            raise StateError(f"{mb.name!r} holds nothing.")
        bodies = list(held)
    names = [bodies] if isinstance(bodies, str | Body) else list(bodies)
    frames = [mb.frame(x) for x in names]
    for x in frames:
        if not isinstance(x, Body):
            raise StateError(f"mass is that of bodies, and {x.full_name!r} is none.")
    return [x for x in dict.fromkeys(frames) if isinstance(x, Body)]
