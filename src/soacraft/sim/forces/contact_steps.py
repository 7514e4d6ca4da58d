"""`ContactStep`: where contacts pressed in a step, how hard, and how well they were solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soacraft import markup
from soacraft.cards import card, facts, part
from soacraft.contact.dynamics.impulses import Resolved
from soacraft.contact.dynamics.rows import ContactRows
from soacraft.errors import ModelError, near
from soacraft.sim.forces.compiled_contact import STATES, ContactLog
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class ContactStep:
    """The contacts of one step: where, how hard, and how well they were solved."""

    t: float
    """The end of the step."""
    pairs: tuple[tuple[str, str], ...]
    points: Array
    """Points of contact, in the inertial frame, (points, 3)."""
    impulses: Array
    """Impulses on the second shape of each pair, in the inertial frame, (points, 3), in N s."""
    moments: Array
    """Moments of friction against spinning and rolling, on the second shape, (points, 3), in N m s."""
    gap: Array
    state: tuple[str, ...]
    residual: float
    iterations: int
    unique: bool
    work: float
    """Work of the contacts: negative where they took energy."""
    factor: float
    """1, or by how much restitution was made smaller for the energy not to rise."""
    names: tuple[str, ...]
    """Names of all shapes that may touch, "body/shape"."""

    @property
    def gain(self) -> float:
        """The energy that the contacts gave, in J: an impact by law="newton" or "poisson" can; else 0 to rounding."""
        return max(self.work, 0.0)

    def impulse_on(self, name: str, other: str | None = None) -> Array:
        """The impulse on a shape or body, from another one or from all, in inertial axes, (3), in N s."""
        require_names(self.names, name, other)
        total = np.zeros(3)
        for (a, b), p in zip(self.pairs, self.impulses, strict=True):
            if is_of(b, name) and is_of(a, other):
                total += p
            elif is_of(a, name) and is_of(b, other):
                total -= p
        return total

    def __repr__(self) -> str:
        total = float(np.linalg.norm(self.impulses, axis=1).sum())
        return f"<{len(self.pairs)} contacts at t = {self.t:.6g} s: {total:.4g} N s, residual {self.residual:.1e}>"

    def _repr_html_(self) -> str:
        solved = [
            ("iterations", self.iterations),
            ("residual", f"{self.residual:.1e}"),
            ("unique", "yes" if self.unique else "no: other impulses give the same motion"),
            ("work of contacts", f"{self.work:.4g} J"),
            ("restitution made smaller by", "" if self.factor == 1.0 else f"{self.factor:.4g}"),
        ]
        rows = [
            (a, b, state, markup.numbers(p), f"{gap:.3g}")
            for (a, b), state, p, gap in zip(self.pairs, self.state, self.impulses, self.gap, strict=True)
        ]
        head = ["a", "b", "state", "impulse on b [N s]", "gap [m]"]
        return card(
            repr(self).strip("<>"),
            part("points", lambda: markup.table(head, rows, more="points, impulses and gap have all"), True),
            part("how well it is solved", lambda: facts(solved)),
        )


class Touches(NamedTuple):
    """Points of contact in a step, as arrays with a row for each."""

    pairs: tuple[tuple[str, str], ...]
    """The two shapes of each point, "body/shape"."""
    points: Array
    """Places in the inertial frame, (points, 3)."""
    forces: Array
    """Forces on the second shape, in the inertial frame, averaged over the step, (points, 3), in N."""
    moments: Array
    """Moments of friction against spinning and rolling, (points, 3), in N m."""
    gaps: Array
    """Distances in m, negative in penetration."""
    states: tuple[str, ...]
    """Motion at each point: "open", "stick" or "slip"."""

    def __repr__(self) -> str:
        return f"<{len(self.pairs)} points of contact, {np.linalg.norm(self.forces, axis=1).sum():.4g} N>"


class ContactDiary:
    """The contacts of a run as they happen; logs of compiled steps are made into steps when these are read."""

    def __init__(self, start: tuple[float, Array] | None = None) -> None:
        self.start = start
        """Time and impulses with which the first step begins; None for no impulses."""
        self._steps: list[ContactStep] = []
        self._logs: list[ContactLog] = []
        self.last: ContactLog | ContactStep | None = None
        """The last step, or the log that ends with it; None if it counts no longer."""

    def add(self, steps: Sequence[ContactStep]) -> None:
        """Keep steps."""
        self.steps.extend(steps)
        self.last = steps[-1] if steps else self.last

    def take_back(self, t: float) -> None:
        """Forget the steps that end after a time."""
        while self.steps and self.steps[-1].t > t:
            self._steps.pop()
        self.last = self._steps[-1] if self._steps else None

    def take(self, log: ContactLog) -> None:
        """Keep a log."""
        self._logs.append(log)
        self.last = log

    @property
    def steps(self) -> list[ContactStep]:
        """Contacts of each step so far."""
        logs, self._logs = self._logs, []
        for log in logs:
            self._steps += steps_of(log)
        return self._steps


def is_of(shape: str, name: str | None) -> bool:
    """True if a shape, "body/shape", is the one named or is of the body named; for None any shape is.

    >>> is_of("foot/sole", "foot"), is_of("foot/sole", "foot/sole"), is_of("foot/sole", "hand")
    (True, True, False)
    """
    return name is None or name in (shape, shape.rpartition("/")[0])


def require_names(shapes: Sequence[str], *names: Any) -> None:
    """Refuse a name that is none of these shapes, "body/shape", and none of their bodies; None is any."""
    for name in names:
        if name is not None and not any(is_of(x, name) for x in shapes):
            available = sorted({*shapes, *(x.rpartition("/")[0] for x in shapes)})
            raise ModelError(f"there is no shape or body with shapes {name!r:.80}{near(str(name), available)}")


def step_of(t: float, rows: ContactRows, done: Resolved, names: tuple[str, ...]) -> ContactStep:
    """The contacts of a step that ends at t, or of an impact then, of shapes of these names."""
    impulses = done.impulses
    assert impulses is not None
    p = rows.wrenches(impulses.p)
    points = 0.5 * (rows.contacts.point_a + rows.contacts.point_b)
    effort = impulses.sweeps + impulses.newton + impulses.interior + impulses.proximal
    return ContactStep(
        t, tuple(rows.contacts.pairs), points, p[:, 3:], p[:, :3], np.array(rows.gap), impulses.state[: len(rows)],
        impulses.residual, effort, impulses.unique, done.work, done.factor, names,
    )  # fmt: skip


def touches_of(step: ContactStep | None, length: float) -> Touches:
    """The points of a step of some length in seconds; None for no contact."""
    if step is None or not length > 0.0:
        return Touches((), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), ())
    return Touches(step.pairs, step.points, step.impulses / length, step.moments / length, step.gap, step.state)


def steps_of(log: ContactLog) -> list[ContactStep]:
    """The steps of a log of compiled ones."""
    steps = []
    for (t, _, residual, effort, unique, work, factor, _), points in log.rows():
        shapes = points[:, :2].astype(int)
        steps.append(
            ContactStep(
                float(t), tuple((log.names[i], log.names[j]) for i, j in shapes), points[:, 2:5], points[:, 5:8],
                points[:, 8:11], points[:, 11], tuple(STATES[int(x)] for x in points[:, 12]), float(residual),
                int(effort), bool(unique), float(work), float(factor), log.names,
            )
        )  # fmt: skip
    return steps
