"""Linearization of the motion about a state, in tangent coordinates.

    xi = difference(q, q_perturbed),  dv = v_perturbed - v
    d/dt [xi; dv] = A [xi; dv] + B dforce,    A = [[N, I], [dvdot/dq, dvdot/dv]],   B = [0; Mcal^-1]

N is the kinematic block of formula F7. A perturbation xi of a hinge moves its outboard frame by the twist H* xi, and
the change of the relative velocity H* v is, seen from both sides,

    H* xidot + Hdot* xi + crm(H* v) H* xi = H* dv + dH*[xi] v

so N = 0 for true coordinates, -w~ for a spherical hinge, -crm(v) for a free one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from soacraft import markup
from soacraft.analysis.finite import refusing_overflow
from soacraft.analysis.steady import NO_GROWTH, Course, Instant, growth
from soacraft.cards import card
from soacraft.dynamics.arguments import read_problem
from soacraft.dynamics.coupled import is_coupled
from soacraft.dynamics.derivatives import forward_dynamics_derivatives
from soacraft.dynamics.forces import forward_dynamics
from soacraft.dynamics.problem import Problem
from soacraft.errors import ModelError, StaleError, StateError
from soacraft.late import higher
from soacraft.model.flat.realize import times
from soacraft.model.hinges.base import H_T_of, dH_of
from soacraft.model.hinges.rolling import Rolling
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import crm

Complex = npt.NDArray[np.complex128]

#: Rows of A whose eigenvalues a notebook shows: they take O(nv^3).
EIGENVALUES = 200


@dataclass(frozen=True, eq=False)
class Linearization:
    """`A` (..., 2 nv, 2 nv) and `B` (..., 2 nv, nv) of the linearized motion; unpacks as `A, B = ...`."""

    A: Array
    B: Array
    dof_names: tuple[str, ...]
    dof_sizes: tuple[float, ...] = field(default=(), kw_only=True)
    """Unit of each dof in comparisons: the model's length for one that travels; default 1."""
    rate: Any = field(default=0.0, kw_only=True)
    """The rate (1/s) of what the forces and the motion do at each state: growth that is nothing to it is rounding."""

    units: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """The dofs whose forces the columns of B are of, in that order, each with its unit: "rad", "m" or ""."""

    course: Course | None = field(default=None, kw_only=True, repr=False)
    """The motion through each state, along which A may change; None where nothing is known of it."""

    def __iter__(self) -> Iterator[Array]:
        return iter((self.A, self.B))

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling: all but the model of the motion; what that says of stability is computed first."""
        if self.course is not None and self.course.moves:
            self._growing  # noqa: B018  (computed once)
        return {**self.__dict__, "course": None}

    @property
    def _sizes(self) -> tuple[Array, Array]:
        """Units of the entries of xi and of dv."""
        sizes = np.array(self.dof_sizes) if self.dof_sizes else np.ones(len(self.dof_names))
        return sizes, sizes

    @cached_property
    def eigenvalues(self) -> Complex:
        """Growth rates and frequencies (..., 2 nv) in 1/s and rad/s, the fastest growing first. Frequencies in Hz,
        damping and shapes of what swings about an equilibrium are those of `modes`."""
        values = np.empty(self.A.shape[:-1], complex)
        for at in np.ndindex(self.A.shape[:-2]):
            values[at] = _eigenvalues(self.A[at], *self._sizes)
        order = np.lexsort((values.imag, values.real), axis=-1)[..., ::-1]
        return np.take_along_axis(values, order, axis=-1)

    @property
    def is_steady(self) -> Any:
        """True for each state at rest or in steady motion: in some axes (`analysis.steady`) A does not change."""
        return ~np.isnan(self._growing)

    @property
    def is_stable(self) -> Any:
        """True for each state where no perturbation grows exponentially: at rest by the eigenvalues of A, in a steady
        motion by those in axes in which A does not change along it. Refused for a motion that is not steady
        (`is_steady`), of which eigenvalues at an instant say nothing.

        A rate below 1e-7 of the largest eigenvalue, or of `rate`, is taken for zero: so far rounding drives double
        eigenvalues apart; below 1e-4 in axes that turn, whose motion differences in time tell. A perturbation that
        grows as a power of time (another heading, another speed) does not count.
        """
        growing = self._growing
        if np.isnan(growing).any():
            which = tuple(int(i) for i in np.argwhere(np.isnan(growing))[0])
            raise StateError(
                f"is_stable: the motion{f' at state {which}' if which else ''} is not steady: A changes along it, and "
                "its eigenvalues at an instant do not show what grows. Take an equilibrium or a steady motion "
                "(is_steady), or simulate with a perturbation."
            )
        return growing <= 0.0

    @cached_property
    def _growing(self) -> Array:
        """The largest growth rate of each state beyond what counts as zero, relative to the rates there; nan where a
        motion is not steady."""
        rates = np.maximum(self.rate, np.abs(self.eigenvalues).max(axis=-1, initial=0.0))
        rates = np.where(rates > 0.0, rates, 1.0)
        at_rest = (self.eigenvalues.real / rates[..., None]).max(axis=-1, initial=-1.0) - NO_GROWTH
        if self.course is None or not self.course.moves:
            return np.asarray(at_rest)
        along = growth(self.course, self.A, np.asarray(rates, dtype=np.float64), np.concatenate(self._sizes))
        return np.where(self.course.v.any(axis=-1), along, at_rest)

    def __repr__(self) -> str:
        nv = len(self.dof_names)
        batch = "" if self.A.ndim == 2 else f", batch {self.A.shape[:-2]}"
        return f"Linearization of {nv} dofs: A {2 * nv} x {2 * nv}, B {2 * nv} x {nv}{batch}"

    def _repr_html_(self) -> str:
        if self.A.ndim > 2 or len(self.A) > EIGENVALUES:
            return card(repr(self))
        rows = [(f"{x.real + 0.0:.6g}", f"{x.imag + 0.0:.6g}") for x in self.eigenvalues]
        table = markup.table(["growth rate [1/s]", "frequency [rad/s]"], rows, more="eigenvalues has all")
        return card(repr(self), markup.paragraph(f"stable: {self._verdict()}"), table)

    def _verdict(self) -> str:
        """Stability in a word or two."""
        try:
            return "yes" if self.is_stable else "no"
        except StaleError:
            return "not known, as the model has changed"
        except StateError:
            return "not judged, as the motion is not steady"


def _eigenvalues(A: Array, xi: Array, dv: Array) -> Complex:
    """Eigenvalues; `xi` and `dv`: the sizes of the two parts.

    Units are chosen by the entries: dofs by their sizes, and the time in which no entry exceeds 1. Asked for with A and
    the identity, LAPACK does not scale the rows further: where zero entries hold rounding, that scaling would take it
    for numbers.
    """
    n = len(xi)
    if not len(A):
        return np.empty(0, complex)
    u = np.concatenate([xi, dv])
    plain = A * u / u[:, None]
    N, K, C = plain[:n, :n], plain[n:, :n], plain[n:, n:]
    largest = (float(np.abs(x).max(initial=0.0)) for x in (N, C, K))
    rate = max(next(largest), next(largest), float(np.sqrt(next(largest)))) or 1.0
    turned = np.repeat([1.0, rate], [n, len(dv)])  # xi, and dv in units of the rate
    values = scipy.linalg.eigvals(plain * turned / turned[:, None] / rate, np.eye(len(A)))
    return np.asarray(values * rate, dtype=np.complex128)


@refusing_overflow()
def linearize(
    g: Graph, q: Any, v: Any, force: Any, f_ext: Any = None, *, passive: bool = True, ignore_loops: bool = False
) -> Linearization:
    """The motion about (q, v) under a constant generalized force, to first order (formula F7). O(n nv + nv^3).

        xidot = N xi + dv,    dvdot = (dvdot/dq) xi + (dvdot/dv) dv + Mcal^-1 dforce

    in tangent coordinates: xi moves q to `g.integrate(q, xi)`. External forces in node axes move with their nodes. The
    model's own springs, dampers and gravity compensation take part, unless `passive=False`. With couplings it is that
    of the independent dofs, as `loops.linearize`. A body that rolls (`RollingBall`, `RollingDisc`) has more
    places than ways to move: the answer is that of `loops.linearize` with the body on a `Free` hinge that rolling ties.
    Of a body that spins, its own axes spin too, and A with them: `is_stable` finds axes in which it does not change.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import linearize
    >>> lin = linearize(sc.load("pendulum"), [0.0], [0.0], [0.0])
    >>> A, B = lin
    >>> A
    array([[ 0.  ,  1.  ],
           [-9.81,  0.  ]])
    >>> np.round(np.abs(lin.eigenvalues.imag), 6)                     # sqrt(g / l)
    array([3.132092, 3.132092])
    """
    if is_coupled(g, ignore_loops):
        coupled: Linearization = higher("coupled_linearize")(g, q, v, force, f_ext, passive=passive)
        return coupled
    if isinstance(g, Multibody) and not g.is_closed and any(isinstance(x.hinge, Rolling) for x in g.bodies):
        p = read_problem("linearize", g, q=q, v=v, force=force, f_ext=f_ext, stored=True)
        rolling: Linearization = higher("rolling_linearize")(p, f_ext, passive=passive)
        return rolling
    p = read_problem("linearize", g, q=q, v=v, force=force, f_ext=f_ext, stored=True, ignore_loops=ignore_loops)
    nv = p.nv
    cure = "Take a sub-graph, or the batch in parts."
    refuse_large((*p.batch, 2 * nv, 2 * nv), f"A of linearize for {g.name!r}", cure)
    A, B = np.zeros((*p.batch, 2 * nv, 2 * nv)), np.zeros((*p.batch, 2 * nv, nv))
    A[..., :nv, :nv], A[..., :nv, nv:] = kinematic_block(p), np.eye(nv)
    derivatives = forward_dynamics_derivatives(
        g, p.full("q"), p.full("v"), p.full("force"), f_ext, passive=passive, ignore_loops=ignore_loops
    )
    A[..., nv:, :nv], A[..., nv:, nv:], B[..., nv:, :] = derivatives
    vdot = forward_dynamics(
        g, p.full("q"), p.full("v"), p.full("force"), f_ext, passive=passive, ignore_loops=ignore_loops
    )
    sizes, rate = natural_sizes(g, p.full("v"), vdot)
    course = _course(g, p, f_ext, passive=passive, ignore_loops=ignore_loops)
    return Linearization(
        A, B, g.dof_names, dof_sizes=tuple(sizes.tolist()), rate=rate, units=units_of(g), course=course
    )


def _course(g: Graph, p: Problem, f_ext: Any, **options: Any) -> Course:
    """The motion of a tree through the states of a problem, under its constant forces."""
    force, E = p.full("force"), np.broadcast_to(np.eye(2 * p.nv), (*p.batch, 2 * p.nv, 2 * p.nv))

    def at(q: Array, v: Array) -> Instant:
        return Instant(linearize(g, q, v, force, f_ext, **options).A, E)

    def accelerated(q: Array, v: Array) -> Array:
        return np.asarray(forward_dynamics(g, q, v, force, f_ext, **options))

    return Course(g, p.full("q"), p.full("v"), at, accelerated, np.arange(2 * p.nv))


def units_of(g: Graph) -> dict[str, str]:
    """The unit of each dof, by name."""
    letters = "".join(g.layout.units.hinge)
    return {name: {"r": "rad", "m": "m"}.get(x, "") for name, x in zip(g.dof_names, letters, strict=True)}


def natural_sizes(g: Graph, v: Array, vdot: Array) -> tuple[Array, Array]:
    """The size of each dof (nv), and the rate (1/s) of what moves or falls at each state."""
    scale = scale_of(g)
    sizes = scale.of("".join(g.layout.units.hinge))
    falls = 1.0 / scale.time if np.any(g.gravity) else 0.0
    moves = np.abs(v / sizes).max(axis=-1, initial=falls)
    return sizes, np.maximum(moves, np.sqrt(np.abs(vdot / sizes).max(axis=-1, initial=0.0)))


def kinematic_block(p: Problem) -> Array:
    """N (..., nv, nv), block-diagonal: how a perturbation of the configuration turns with the hinges' own motion."""
    q, v = p.full("q"), p.full("v")
    N = np.zeros((*p.batch, p.nv, p.nv))
    for group in p.layout.groups:
        hinge = group.hinge
        if not hinge.holonomic:
            raise ModelError(
                f"linearize: the hinge {hinge!r} of {p.layout.bodies[group.bodies[0]].name!r} is nonholonomic, so "
                "there are no tangent coordinates of its dofs: it can be put in more places than they move it to. "
                "Attach its body by a Free hinge, close a loop by this one, and take sc.loops.linearize."
            )
        if hinge.nq == hinge.nv:
            continue
        qs, vs = q[..., group.q_index], v[..., group.v_index]
        H_T = np.broadcast_to(H_T_of(hinge, qs), (*qs.shape[:-1], 6, hinge.nv))
        dH = np.broadcast_to(dH_of(hinge, qs), (*qs.shape[:-1], hinge.nv, 6, hinge.nv))
        along = np.einsum("...jkm,...m->...kj", dH, vs)  # dH*[xi] v
        rate = np.einsum("...jkm,...j->...km", dH, vs)  # Hdot* xi
        blocks = np.linalg.pinv(H_T) @ (along - rate - crm(times(H_T, vs)) @ H_T)
        for i in range(len(group.bodies)):
            dofs = group.v_index[i]
            N[..., dofs[:, None], dofs] = blocks[..., i, :, :]
    return N
