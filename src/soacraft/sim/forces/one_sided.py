"""Couplings and closures that push or pull to one side alone: stops, ropes, ratchets (003 Eq. 2 with an inequality).

    a coupling   g = sum p(q) - U(t) >= 0,      U its offset unless it is driven             stops, cams
    its rate     sum p'(q) v - Udot(t) >= 0                                                ratchets, one-way clutches
    a rope       g = U(t) - |r_b - r_a| >= 0,   U its length unless it is driven

What approaches g = 0 stops there (e = 0), as rows of the contact problem; the impulse is never negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StateError
from soacraft.model.sizes.measure import measure_of
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import Closure, Coupling, coordinate_names
from soacraft.sim.forces.starts import Overlap
from soacraft.spatial.checks import Array, finite

#: U(t): value and rate.
Drive = Callable[[float], tuple[float, float]]
#: One-sided ties that act: all (True), none, or all, with U(t) for those that are named.
Chosen = bool | Mapping[str, Drive]


#: A change of a bound of this part of it is rounding.
_ROUNDING = 1e-12
#: A bound that closes in by more than its rates tell, by this part of the way, moves without them: by a jump, or with
#: rates that are not its own.
_UNTOLD = 0.5


class OneSidedRow(NamedTuple):
    """Values at one state: g, N = dg/dq along the dofs, and the part of its rate that time makes."""

    name: str
    gap: float
    N: Array
    rate: float
    closes: bool
    """True if g matters; of a ratchet its rate alone."""


class OneSided:
    """All one-sided couplings and ropes of a model."""

    def __init__(self, mb: Multibody, chosen: Chosen = True) -> None:
        if not isinstance(chosen, bool | Mapping):
            raise StateError(f"one_sided must be True, False or {{name: U(t)}}, got {chosen!r:.60}.")
        self._mb = mb
        ties: list[Coupling | Closure] = [*mb.couplings, *mb.loops] if chosen is not False else []
        self._ties = [x for x in ties if x.one_sided]
        self._drives = dict(chosen) if isinstance(chosen, Mapping) else {}
        self._before: dict[str, tuple[float, float, float]] = {}  # when a drive was asked last, and what it gave
        names = [x.name for x in self._ties]
        for name, drive in self._drives.items():
            if name not in names:
                raise ModelError(f"one_sided has {name!r}, which is no one-sided coupling or rope here: {names[:8]}.")
            if not callable(drive):
                raise StateError(f"one_sided[{name!r}] must be a function of time, got {drive!r:.60}.")
        places = coordinate_names(mb)
        self._terms = {x.name: _terms(mb, x, places) for x in self._ties if isinstance(x, Coupling)}

    def __len__(self) -> int:
        return len(self._ties)

    def rows(self, t: float, q: Array) -> list[OneSidedRow]:
        """Each at time t and configuration q. O(nv) each."""
        return [self._rope(t, q, x) if isinstance(x, Closure) else self._coupling(t, q, x) for x in self._ties]

    def beyond(self, t: float, q: Array, part: float) -> list[Overlap]:
        """Ties beyond their bounds by more than a part of the length of a rope, or of a coupling's largest term at one
        radian or one length of the model."""
        overlaps = []
        for x, row in zip(self._ties, self.rows(t, q), strict=True):
            if isinstance(x, Closure):
                unit = self._bound(t, x.name, float(x.attributes["length"]), -1.0)[0]  # type: ignore[arg-type]
            else:
                at = 1.0 / measure_of(self._mb, q).dofs
                unit = max(sum(abs(c) * at[i] ** n for n, c in enumerate(p.coef)) for _, i, p in self._terms[x.name])
            if row.closes and row.gap < -part * unit:
                overlaps.append(Overlap((row.name,), -row.gap, -row.gap / unit if unit else np.inf))
        return overlaps

    def require_within(self, t: float, q: Array, part: float) -> None:
        """Refuse a start with something beyond its bound."""
        for x in self.beyond(t, q, part):
            raise StateError(f"the run begins with {x}; set the state within, or give one_sided=False.")

    def _bound(self, t: float, name: str, own: float, closing: float) -> tuple[float, float]:
        """U and its rate; `closing` is the sign of a rate that closes the gap. A U that closes in while its rates do
        not tell it is refused: a rope would be drawn through what holds it."""
        if name not in self._drives:
            return own, 0.0
        returned: Any = self._drives[name](t)
        pair = finite(returned, (2,), f"one_sided[{name!r}] at t = {t:.9g} s: (value, rate)", StateError)
        value, rate = float(pair[0]), float(pair[1])
        then, old, old_rate = self._before.get(name, (t, value, rate))
        way, most = closing * (value - old), max(closing * rate, closing * old_rate, 0.0) * (t - then)
        if t > then and way > 0.0 and way - most > _UNTOLD * way and way > _ROUNDING * max(abs(value), abs(old)):
            raise StateError(
                f"one_sided[{name!r}] goes from {old:.9g} to {value:.9g} between t = {then:.9g} and {t:.9g} s, and "
                f"says its rates there are {old_rate:.6g} and {rate:.6g}; give the rate with which it moves, dU/dt, "
                "or take shorter steps."
            )
        self._before[name] = t, value, rate
        return value, rate

    def _coupling(self, t: float, q: Array, x: Coupling) -> OneSidedRow:
        U, rate = self._bound(t, x.name, x.offset, 0.0 if x.one_sided == "rate" else 1.0)
        N, gap = np.zeros(self._mb.nv), -U
        for place, number, p in self._terms[x.name]:
            gap += float(p(q[place]))
            N[number] = float(p.deriv()(q[place]))
        return OneSidedRow(x.name, gap, N, -rate, x.one_sided != "rate")

    def _rope(self, t: float, q: Array, x: Closure) -> OneSidedRow:
        mb = self._mb
        U, rate = self._bound(t, x.name, float(x.attributes["length"]), -1.0)  # type: ignore[arg-type]
        state = mb.state(q, np.zeros(mb.nv))
        (_, a), (_, b) = pose_of_frame(state, x.a), pose_of_frame(state, x.b)
        far = float(np.linalg.norm(b - a))
        N = np.zeros(mb.nv)
        if far > 0.0:
            for frame, sign in ((x.a, 1.0), (x.b, -1.0)):
                if isinstance(frame.carrier, Body):
                    J = np.asarray(dyn.jacobian(mb, q, [frame], ignore_loops=True)).reshape(6, mb.nv)
                    N += sign * ((b - a) / far) @ J[3:]
        return OneSidedRow(x.name, U - far, N, rate, True)


def _terms(mb: Multibody, x: Coupling, places: Mapping[str, int]) -> list[tuple[int, int, np.polynomial.Polynomial]]:
    """Place in q, number of the dof, and p of each term."""
    return [(places[dof], mb.dof_names.index(dof), np.polynomial.Polynomial((0.0, *c))) for dof, c in x.terms.items()]
