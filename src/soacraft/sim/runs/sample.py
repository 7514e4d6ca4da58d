"""`Sample`: what a run tells at times between its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from soacraft.sim.runs.instants import Instants
from soacraft.sim.runs.reactions import reactions_at
from soacraft.spatial.checks import Array


class Sample:
    """States of a run at a time, or at times of any shape, whose axes lead: `t` (...), `q` (..., nq), `v` (..., nv).

    `vdot` (..., nv), `energy`, `kinetic` and `potential` (...), the mappings `forces` (..., nv), `work` (...) and
    `signals`, and `reactions(name)` (..., 6) are computed when they are first read, from the present model:
    they are refused if it was changed since the run. Functions that act are called for it.

    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")
    >>> p = sc.sim.Propagator(mb)
    >>> p.control("bob", lambda t, state: np.sin(t))
    >>> sample = p.advance_to(2.0).at(np.linspace(0.0, 2.0, 101))
    >>> sample.q.shape, bool(abs(sample.forces["bob"][:, 0] - np.sin(sample.t)).max() < 1e-15)
    ((101, 1), True)
    """

    def __init__(self, instants: Instants, shape: tuple[int, ...]) -> None:
        self._instants, self._shape = instants, shape
        self._states = instants.q, instants.v

    def _shaped(self, x: Array) -> Array:
        """Rows with the leading axes of the times."""
        return x.reshape((*self._shape, *x.shape[1:]))

    @property
    def t(self) -> Any:
        """The times in seconds: a number, or an array."""
        return self._shaped(self._instants.t) if self._shape else float(self._instants.t[0])

    @property
    def q(self) -> Array:
        """Coordinates, (..., nq)."""
        return self._shaped(self._states[0])

    @property
    def v(self) -> Array:
        """Velocities, (..., nv)."""
        return self._shaped(self._states[1])

    @property
    def vdot(self) -> Array:
        """Accelerations, (..., nv): of the equations of motion at these states; with contact means of steps."""
        return self._shaped(self._instants.vdot)

    @property
    def energy(self) -> Any:
        """Kinetic and potential energy and that of springs, (...)."""
        return self._shaped(self._instants.energies.sum(axis=1))[()]

    @property
    def kinetic(self) -> Any:
        """Kinetic energy, (...)."""
        return self._shaped(self._instants.energies[:, 0])[()]

    @property
    def potential(self) -> Any:
        """Potential energy, (...)."""
        return self._shaped(self._instants.energies[:, 1])[()]

    @cached_property
    def forces(self) -> Mapping[str, Array]:
        """The generalized force of every element, {name: array (..., nv)}; of contact the mean over the step."""
        return {name: self._shaped(x) for name, x in self._instants.forces.items()}

    @cached_property
    def work(self) -> Mapping[str, Any]:
        """The work of every element, {name: array (...)}."""
        return {name: self._shaped(x)[()] for name, x in self._instants.work.items()}

    @cached_property
    def signals(self) -> Mapping[str, Array]:
        """The signals of components, {name: array (..., numbers)}; where clocks tick as they were recorded last."""
        return {name: self._shaped(x) for name, x in self._instants.signals.items()}

    @property
    def from_rows(self) -> bool:
        """True if accelerations, forces and signals are taken from the rows of the run: clocks, crossings or masses
        that vary are part of it."""
        return self._instants.from_rows

    def reactions(self, name: str, node: Any = None, expressed_in: Any = None) -> Array:
        """The reactions of a hinge, closure or coupling, as `Run.reactions`: (..., 6), of a coupling (...)."""
        return self._shaped(reactions_at(self._instants, name, node, expressed_in))

    def __iter__(self) -> Iterator[Any]:
        """t, q, v."""
        return iter((self.t, self.q, self.v))

    def __repr__(self) -> str:
        t = self._instants.t
        if not self._shape:
            return f"Sample at t = {self.t:.9g} s: q = {np.array2string(self.q, precision=6, threshold=12)}"
        span = f"t = {t.min():.6g} to {t.max():.6g} s" if len(t) else "no time"
        return f"Sample at {len(t)} times, {span}: {self.q.shape[-1]} coordinates, {self.v.shape[-1]} dofs"
