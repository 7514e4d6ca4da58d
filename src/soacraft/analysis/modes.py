"""Modes: the small free motions of a model about a state, with frequencies, damping and shapes.

    M x'' + (dT/dv - M N) x' + (dT/dq - dT/dv N) x = 0,       T of inverse dynamics at vdot = 0, x' = N x + dv

in tangent coordinates x of the dofs that are not fixed. N is the kinematic block of formula F7, zero at rest. The
forces that hold the state, at dofs or of gravity, are constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soacraft import markup
from soacraft.analysis.finite import refusing_overflow
from soacraft.analysis.linearize import kinematic_block, natural_sizes
from soacraft.analysis.spectra import Complex, spectrum
from soacraft.cards import card
from soacraft.dynamics.arguments import check_loops, read_graph, read_prescribed, read_problem
from soacraft.dynamics.derivatives import inverse_dynamics_derivatives
from soacraft.dynamics.nodes import jacobian
from soacraft.errors import StateError
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array

#: Modes that a card lists.
LISTED = 40


@dataclass(frozen=True, eq=False)
class Modes:
    """Small motions, the rigid-body ones first, then by frequency.

    One for each dof that is not fixed. Damping that stops a motion from swinging makes two of one, which decay at rates
    of their own.
    """

    eigenvalues: Complex
    """Growth rate + i frequency, in 1/s and rad/s."""
    vectors: Complex
    """The motions as columns over all dofs (nv, modes), with kinetic energy 1/2 at unit rate; fixed dofs are zero."""
    rigid: int
    """Number of motions without stiffness: rigid-body modes."""
    dof_names: tuple[str, ...]
    shapes: Shapes
    """Small turn and displacement of each body or node, inertial axes, (6, modes)."""
    weights: Array = field(repr=False)
    """The root of the mass of each dof (nv), by which their parts in a mode are compared."""

    @property
    def hz(self) -> Array:
        """Natural frequencies |lambda| / (2 pi) of what swings; zero for rigid-body modes and modes that do not swing.
        """
        swings = self.eigenvalues.imag != 0.0
        return np.asarray(np.where(swings, np.abs(self.eigenvalues), 0.0) / (2.0 * np.pi))

    @property
    def damping(self) -> Array:
        """-Re(lambda) / |lambda|: negative for what grows, one for what decays without swinging, zero for rigid-body
        modes."""
        size = np.abs(self.eigenvalues)
        return np.asarray(-self.eigenvalues.real / np.where(size > 0.0, size, 1.0) + 0.0)

    @property
    def growth(self) -> Array:
        """The growth rates Re(lambda) in 1/s."""
        return np.asarray(self.eigenvalues.real)

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def mostly(self, i: int) -> str:
        """The dof that has the largest part in a mode, by kinetic energy."""
        return self.dof_names[int(np.argmax(np.abs(self.vectors[:, i]) * self.weights))]

    def __repr__(self) -> str:
        shown = ", ".join(f"{x:.5g}" for x in self.hz[self.rigid : self.rigid + 4])
        more = ", ..." if len(self) > self.rigid + 4 else ""
        return f"{len(self)} modes, {self.rigid} of them rigid-body: {shown or 'none'}{more} Hz"

    def _repr_html_(self) -> str:
        rows = [
            (str(i), "rigid-body" if i < self.rigid else f"{self.hz[i]:.6g}", f"{self.damping[i]:.3g}", self.mostly(i))
            for i in range(min(len(self), LISTED))
        ]
        table = markup.table(["mode", "frequency [Hz]", "damping", "mostly"], rows, more="hz and damping have all")
        return card(repr(self), table)


class Shapes(Mapping[str, Array]):
    """The motions of bodies and nodes in each mode, computed when asked for: [turn; displacement], (6, modes)."""

    def __init__(self, graph: Graph, q: Array, vectors: Complex, ignore_loops: bool = False) -> None:
        self.graph, self.q, self._vectors, self._loops = graph, q, vectors, ignore_loops

    def __getitem__(self, name: Any) -> Any:
        return jacobian(self.graph, self.q, name, ignore_loops=self._loops) @ self._vectors

    def __iter__(self) -> Iterator[str]:
        for body in self.graph.bodies:
            yield body.name
            yield from (node.full_name for node in body.nodes)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Shapes of {len(self)} bodies and nodes in {self._vectors.shape[1]} modes"


@refusing_overflow()
def modes(g: Graph, q: Any, v: Any = None, fixed: Any = None, f_ext: Any = None) -> Modes:
    """Frequencies, damping and shapes of the small motions about q, or about a motion at constant rates v. O(nv^3).

        M x'' + C x' + K x = 0,     K = dT/dq,  C = dT/dv  at vdot = 0

    `fixed`: names or numbers of dofs, names of hinges, or a mask: they stay, or go on at their rates. With v gyroscopic
    and centrifugal terms take part. The state should be one that lasts, as `equilibrium` finds; the forces that hold it
    stay constant, those of springs, dampers and stiffness change with the motion; the model's stored forces and `f_ext`
    act, and follow their nodes or keep the axes that they are expressed in.

    A rigid-body mode is one without stiffness, judged by the rows of K in their own sizes, never by its frequency.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> m = sc.analysis.modes(sc.load("double_pendulum"), [0.0, 0.0])
    >>> m
    2 modes, 0 of them rigid-body: 0.38153, 0.92109 Hz
    >>> np.round((2 * np.pi * m.hz) ** 2 / 9.81, 6)                  # 2 -+ sqrt(2)
    array([0.585786, 3.414214])
    """
    check_loops("modes", read_graph("modes", g), False)
    p = read_problem("modes", g, q=q, v=np.zeros(g.nv) if v is None else v, f_ext=f_ext, stored=True)
    if p.batch:
        raise StateError(f"modes takes one state of {g.name!r}, got a batch {p.batch}.")
    free = np.ones(g.nv, dtype=np.bool_) if fixed is None else ~read_prescribed(g, fixed, "fixed")
    at, rates, zero = p.full("q"), p.full("v"), np.zeros(g.nv)
    K, C, M = inverse_dynamics_derivatives(g, at, rates, zero, f_ext)
    N = kinematic_block(p)
    K, C = K - C @ N, C - M @ N
    load = load_rate(g, rates, M, [np.asarray(wrench) for _, wrench in p.forces])
    block = np.ix_(free, free)
    s = spectrum(M[block], C[block], K[block], load)
    vectors = np.zeros((g.nv, len(s.rates)), complex)
    vectors[free] = s.shapes
    return made_modes(g, at, s.rates, vectors, s.rigid, M)


def made_modes(
    g: Graph, q: Array, rates: Complex, vectors: Complex, rigid: int, M: Array, loops: bool = False
) -> Modes:
    """The result, from vectors over all dofs."""
    shapes = Shapes(g, q, vectors, loops)
    return Modes(rates, vectors, rigid, g.dof_names, shapes, np.sqrt(np.maximum(np.diagonal(M), 0.0)))


def load_rate(g: Graph, v: Array, M: Array, wrenches: list[Array]) -> float:
    """The rate (1/s) of gravity, motion and forces: what they make of K is rounding below 1e-16 of its square."""
    sizes, rate = natural_sizes(g, v, np.zeros(g.nv))
    mass = sum(body.inertia.mass for body in g.bodies) or 1.0
    length = float(sizes.max(initial=1.0))
    parts = [(np.abs(w[..., 3:]).max(initial=0.0), np.abs(w[..., :3]).max(initial=0.0) / length) for w in wrenches]
    push = float(sum(force + moment for force, moment in parts))
    return float(max(float(rate), np.sqrt(push / (mass * length))))
