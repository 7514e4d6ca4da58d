"""A system next to its present state as linear equations: `System.linearize`.

    d/dt dx = A dx + B du,    dy = C dx + D du,    dx = [dq; dv; dz]

dq are coordinates in the chart of the present q (those of the dofs), dz continuous states of components. Derivatives of
the accelerations in state and force are exact (`dyn.forward_dynamics_derivatives`), those of equations of components
central differences of fourth order. What sampled components give, and discrete states, are held.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.arguments import read_path
from soacraft.errors import ModelError, StateError, WiringError, near
from soacraft.model.sizes.measure import measure_of
from soacraft.sim.jacobian import of_loads, turning
from soacraft.sim.problem.mass_work import mass_slopes
from soacraft.sim.system import Mechanism
from soacraft.sim.systems.now import problem_now
from soacraft.sim.systems.running.flow import Flow
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.sim.systems.wiring import Link
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System

#: Step of differences, relative to the sizes of what varies: errors are its fourth power, and rounding over it.
_STEP = 1e-3


class Linear(NamedTuple):
    """Linear equations of a system next to a state, with the names of what they are in.

    >>> import soacraft as sc
    >>> s = sc.sim.System("lag", integrator="rk4", step=1e-2)
    >>> _ = s.add("u", sc.sim.Constant(value=1.0))
    >>> _ = s.add("lag", sc.sim.LowPass(time_constant=0.5))
    >>> s.connect("u.y", "lag.u")
    >>> linear = s.linearize("u.y", "lag.y")
    >>> linear.A.round(9), linear.B.round(9), linear.states
    (array([[-2.]]), array([[2.]]), ('lag.x',))
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    """Names of dx: "arm.q[elbow]" is along a dof."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    held: tuple[str, ...]
    """Sampled outputs that stay as they are."""
    t: float

    def to_mat(self, path: str | PathLike[str]) -> Path:
        """Write A, B, C, D and the names to a file of MATLAB, version 5."""
        from scipy.io import savemat

        to = read_path(path, "to_mat", StateError)
        names = {x: np.array(getattr(self, x), dtype=object) for x in ("states", "inputs", "outputs", "held")}
        try:
            savemat(to, {x: getattr(self, x) for x in "ABCD"} | names | {"t": self.t}, oned_as="column")
        except OSError as problem:
            raise StateError(f"{str(to)!r} cannot be written: {problem}") from None
        return to


def linearize(system: System, inputs: str | Sequence[str], outputs: str | Sequence[str]) -> Linear:
    """A, B, C, D of the continuous part of a system, at its present state."""
    compilation = system.board.compiled()
    wiring, schedule, flow = compilation.wiring, compilation.schedule, compilation.flow
    problem = problem_now(system)
    _refuse(problem, schedule)
    problem.displaced()
    problem.place(system.t, problem.point(np.array(problem.mb.q), np.array(problem.mb.v)))  # inputs and masses of now
    asked = copy(wiring)
    asked.sources = dict(wiring.sources)
    wanted = [_output(x, asked, schedule) for x in _texts(outputs)]
    schedule_asked = Schedule(
        system.diagram.parts, system.diagram.plants, asked, system.diagram.tears, system.board.seed
    )
    for key, slot in schedule.slots.items():
        if key in schedule_asked.slots:
            schedule_asked.values[schedule_asked.slots[key]] = flow.values[slot]
    elements = [_input(x, schedule_asked) for x in _texts(inputs)]
    point = _Point(schedule_asked, system.t, problem.mb, flow.present, elements, wanted)
    return point.linear(problem)


def _texts(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _refuse(problem: Mechanism, schedule: Schedule) -> None:
    """Refuse systems that have no such equations, or none that are known."""
    name = problem.mb.name
    if problem.is_closed:
        raise ModelError(
            f"linearize takes trees, and {name!r} has closures, on which not every dx may be; sc.analysis linearizes "
            "closed chains."
        )
    if not problem.coordinates.is_group:
        raise ModelError(f"linearize takes holonomic built-in hinges, and {name!r} has one that rolls or is your own.")
    if problem.constrained or problem.contact.touches:
        raise ModelError(
            f"linearize takes motions that follow from forces: dofs of {name!r} have a prescribed motion, or touch."
        )
    if schedule.knots:
        raise WiringError(f"linearize does not go through {schedule.knots[0].key!r}, which Newton's method solves.")


def _input(text: str, schedule: Schedule) -> str:
    """An output of a component, whose place du takes."""
    if text not in schedule.outputs:
        raise WiringError(
            f"linearize: the input {text!r:.80} is no output of a component, whose place it takes"
            f"{near(str(text), schedule.outputs)}"
        )
    if schedule.outputs[text].dtype is not float:
        raise WiringError(f"linearize: the input {text!r:.80} has whole numbers or truth values, which do not vary.")
    return text


def _output(text: str, wiring: Any, schedule: Schedule) -> tuple[str, Link | None]:
    """A source, or a state of a component."""
    states = {x.key for x in schedule.places}
    if text in states:
        return text, None
    (key,) = [x for x in wiring.expand(text, outputs=True) if x == text] or [""]
    if not key:
        raise WiringError(f"linearize: {text!r:.80} is no output; name one by one{near(text, states)}")
    _, name, element = wiring.source(key)
    return text, Link(name, element)


class _Point:
    """Forces, rates and outputs as functions of q, v, vdot, z and u, next to the present ones."""

    def __init__(
        self,
        s: Schedule,
        t: float,
        mb: Any,
        z: Array,
        inputs: list[str],
        outputs: list[tuple[str, Link | None]],
    ) -> None:
        self._s, self._t, self._mb, self._z = s, t, mb, z
        self._flow = Flow(s)
        self._q, self._v = np.array(mb.q), np.array(mb.v)
        self._inputs, V = inputs, s.values
        self._sizes = [int(np.size(V[s.slots[x]])) for x in inputs]
        self._u = np.concatenate([np.zeros(0), *(np.ravel(V[s.slots[x]]) for x in inputs)])
        places = {x.key: x.slot for x in s.places}
        self._outputs = [(name, places[name] if link is None else s.linked(link)[0]) for name, link in outputs]
        sampled = {key for x in s.ticking for key in x.outputs}
        varied = {x for x in s.downstream(inputs) if x not in s.outputs}  # elements of inputs, and these in other units
        still = (sampled - varied) | set(inputs) | s.vdots
        ordered = set(s.order)
        order = [*s.order, *(x for x in s.calls if x not in ordered)]
        self._calls = [s.calls[x] for x in order if x in s.calls and x not in still]
        reads = {slot for call in [*self._calls, *s.rates] for _, slot in call.reads}
        reads |= {slot for _, (slot, _) in s.forces} | set(s.masses.values()) | {slot for _, slot in self._outputs}
        self._held = tuple(sorted(x for x in sampled & s.outputs.keys() if s.slots[x] in reads and x not in inputs))

    def linear(self, problem: Mechanism) -> Linear:
        nv, nz, nm, mb = self._mb.nv, len(self._z), len(self._s.masses), self._mb
        total, slopes = of_loads(problem, self._t, self._q, self._v, fine=True)
        force = total + self._split(self._evaluated())[0]
        vdot = problem.accelerations(self._q, self._v, force)
        sizes = self._scales()
        columns = [self._along(i, size, vdot) for i, size in enumerate(_STEP * sizes)]
        width = len(self._evaluated(vdot))
        G = np.array(columns).reshape(len(sizes), width).T
        Gt, Gz, Gm, Gy = np.split(G, np.cumsum([nv, nz, nm]))
        if nm:  # Mcal dvdot = -(dT/dm) dm: masses are as good as forces
            Gt = Gt - mass_slopes(problem, self._t, self._q, self._v, vdot) @ Gm
        ends = np.cumsum([0, nv, nv, nv, nz, len(self._u)])
        q, v, a, z, u = (slice(*x) for x in pairwise(ends))
        state = np.r_[q, v, z]
        F = np.zeros((nv, 2 * nv + nz)), np.zeros((nv, len(self._u)))
        if nv:
            in_q, in_v, in_force = dyn.forward_dynamics_derivatives(mb, self._q, self._v, force)
            F[0][:, : 2 * nv] = np.concatenate([in_q, in_v], axis=1) + in_force @ slopes
            F[0][:] += in_force @ Gt[:, state]
            F[1][:] = in_force @ Gt[:, u]
        top = np.zeros((nv, 2 * nv + nz))
        top[:, :nv], top[:, nv : 2 * nv] = turning(problem, self._v), np.eye(nv)
        A = np.concatenate([top, F[0], Gz[:, state] + Gz[:, a] @ F[0]])
        B = np.concatenate([np.zeros((nv, len(self._u))), F[1], Gz[:, u] + Gz[:, a] @ F[1]])
        C, D = Gy[:, state] + Gy[:, a] @ F[0], Gy[:, u] + Gy[:, a] @ F[1]
        return Linear(A, B, C, D, self._states(), self._names(self._inputs), self._told(), self._held, self._t)

    def _scales(self) -> Array:
        """The sizes of q, v, vdot, z and u: radians and lengths of the model, per the time in which it moves."""
        unit, rate = np.zeros(0), 1.0
        if self._mb.nv:
            measure = measure_of(self._mb, self._q)
            gravity = float(np.linalg.norm(self._mb.gravity))
            falls = float(np.sqrt(gravity / measure.length)) if gravity > 0.0 and measure.length > 0.0 else 0.0
            unit, rate = 1.0 / measure.dofs, max(float(np.abs(self._v * measure.dofs).max()), falls) or 1.0
        u = np.where(self._u != 0, np.abs(self._u), 1.0)
        return np.concatenate([unit, rate * unit, rate**2 * unit, self._flow.scale(self._z), u])

    def _along(self, i: int, step: float, vdot: Array) -> Array:
        """f' = (8 (f(h) - f(-h)) - (f(2 h) - f(-2 h))) / (12 h) in number i."""
        one, two = (self._evaluated(vdot, i, x * step) - self._evaluated(vdot, i, -x * step) for x in (1.0, 2.0))
        return np.asarray((8.0 * one - two) / (12.0 * step))

    def _evaluated(self, vdot: Array | None = None, i: int = -1, change: float = 0.0) -> Array:
        """[forces; rates; masses; outputs] where number i of [q; v; vdot; z; u] is changed."""
        nv, nz, s, flow = self._mb.nv, len(self._z), self._s, self._flow
        d = np.zeros(3 * nv + nz + len(self._u))
        if i >= 0:
            d[i] = change
        q = self._mb.integrate(self._q, d[:nv]) if nv and 0 <= i < nv else self._q
        z, u = self._z + d[3 * nv : 3 * nv + nz], self._u + d[3 * nv + nz :]
        flow.set_point(self._t, q, self._v + d[nv : 2 * nv], z)
        if s.plants:
            flow.accelerate((np.zeros(nv) if vdot is None else vdot) + d[2 * nv : 3 * nv])
        V, at = s.values, 0
        for x, size in zip(self._inputs, self._sizes, strict=True):
            shape = s.outputs[x].shape
            V[s.slots[x]] = u[at : at + size].reshape(shape) if shape else float(u[at])
            at += size
        flow.walk(self._calls)
        forces = np.zeros((len(s.forces), nv))
        if s.plants:
            flow.push(q, forces)
        rates = [np.ravel(flow.called(call)) for call in s.rates]
        masses = np.array([V[slot] for slot in s.masses.values()])
        return np.concatenate([forces.sum(axis=0), *rates, masses, *(np.ravel(V[slot]) for _, slot in self._outputs)])

    def _split(self, given: Array) -> tuple[Array, Array]:
        return given[: self._mb.nv], given[self._mb.nv :]

    def _states(self) -> tuple[str, ...]:
        dofs = [(x.path, name) for x in self._s.plants for name in x.mb.dof_names]
        named = [f"{path}.{part}[{name}]" for part in "qv" for path, name in dofs]
        return (*named, *(y for x in self._s.places for y in _each(x.key, x.shape)))

    def _names(self, keys: Sequence[str]) -> tuple[str, ...]:
        return tuple(y for x in keys for y in _each(x, self._s.outputs[x].shape))

    def _told(self) -> tuple[str, ...]:
        return tuple(y for name, slot in self._outputs for y in _each(name, np.shape(self._s.values[slot])))


def _each(name: str, shape: tuple[int, ...]) -> list[str]:
    """Names of the numbers of a quantity."""
    return [name] if not shape else [f"{name}[{', '.join(map(str, i))}]" for i in np.ndindex(*shape)]
