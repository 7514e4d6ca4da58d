"""`ContactStep`: where contacts pressed in a step, how hard, and how well they were solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft.contact.dynamics.impulses import Resolved
from soacraft.contact.dynamics.rows import ContactRows
from soacraft.sim.forces.compiled_contact import STATES, ContactLog
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class ContactStep:
    """The contacts of one step: where, how hard, and how well they were solved."""

    t: float
    """The end of the step."""
    pairs: tuple[tuple[str, str], ...]
    points: Array
    """Where they press, in the inertial frame, (points, 3)."""
    impulses: Array
    """On the second shape of each pair, in the inertial frame, (points, 3), in N s."""
    moments: Array
    """Of friction against spinning and rolling, on the second shape, (points, 3), in N m s."""
    gap: Array
    state: tuple[str, ...]
    residual: float
    iterations: int
    unique: bool
    work: float
    """Of the contacts: negative where they took energy."""
    factor: float
    """1, or by how much restitution was made smaller for the energy not to rise."""

    @property
    def gain(self) -> float:
        """The energy that the contacts gave, in J: an impact by law="newton" or "poisson" can; else 0 to rounding."""
        return max(self.work, 0.0)

    def __repr__(self) -> str:
        total = float(np.linalg.norm(self.impulses, axis=1).sum())
        return f"<{len(self.pairs)} contacts at t = {self.t:.6g} s: {total:.4g} N s, residual {self.residual:.1e}>"


def step_of(t: float, rows: ContactRows, done: Resolved) -> ContactStep:
    """The contacts of a step that ends at t, or of an impact then."""
    found = done.impulses
    assert found is not None
    p = rows.wrenches(found.p)
    points = 0.5 * (rows.contacts.point_a + rows.contacts.point_b)
    effort = found.sweeps + found.newton + found.interior + found.proximal
    return ContactStep(
        t, tuple(rows.contacts.pairs), points, p[:, 3:], p[:, :3], np.array(rows.gap), found.state[: len(rows)],
        found.residual, effort, found.unique, done.work, done.factor,
    )  # fmt: skip


def steps_of(log: ContactLog) -> list[ContactStep]:
    """The steps of a log of compiled ones."""
    made = []
    for (t, _, residual, effort, unique, work, factor, _), points in log.rows():
        shapes = points[:, :2].astype(int)
        made.append(
            ContactStep(
                float(t), tuple((log.names[i], log.names[j]) for i, j in shapes), points[:, 2:5], points[:, 5:8],
                points[:, 8:11], points[:, 11], tuple(STATES[int(x)] for x in points[:, 12]), float(residual),
                int(effort), bool(unique), float(work), float(factor),
            )
        )  # fmt: skip
    return made
