"""Bases for the shapes of a body: static modes of interfaces, normal modes, residual modes.

With z = [free; interfaces] the dofs (`interfaces.coordinates`), i the dofs inside and b those of interfaces:

    static      K_ii x_i = -K_ib,  x_b = I               (Guyan; with normal modes of K_ii, M_ii: Craig and Bampton)
    normal      K x = omega^2 M x                        with the first interface held, or all of them, or none
    residual    x = K^-1 f - sum of x_j x_j* f / omega_j^2   the static answer to a unit force at an interface that
                                                         the normal modes leave out; inertia of a free body relieved

Bases are made of columns of z; each has a word for its kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.arguments import whole_number
from soacraft.errors import ModelError, SingularError
from soacraft.flexible.fe import COMPONENTS, FEModel, Sparse, as_sparse, rigid_at, times
from soacraft.flexible.interfaces import Interface, coordinates
from soacraft.flexible.spectra import Factor, count_below, eigenvectors, ritz
from soacraft.spatial.checks import Array, finite, number_text

#: Frequencies that agree to this part of them belong to one family, whose modes are turned to the axes.
SAME_FREQUENCY = 1e-7
#: A residual mode that keeps less than this part of its static answer adds nothing to the modes before it.
NOTHING_NEW = 1e-8

#: The part of an interface's own stiffness that is left when the dofs inside give way; rounding is below it.
LEFT = 1e-12

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Wanted:
    """Number of normal modes that are wanted: a number, or all below a frequency in Hz."""

    modes: int | None
    below: float | None

    def count(self, K: Sparse, M: Sparse) -> int:
        """The number for this stiffness and mass."""
        if self.modes is not None:
            return self.modes
        return count_below(K, M, (2.0 * np.pi * float(self.below or 0.0)) ** 2)


@dataclass
class Basis:
    """Columns of z with a word for each, and what is to be said about them."""

    X: Array
    kinds: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __add__(self, other: Basis) -> Basis:
        return Basis(np.hstack([self.X, other.X]), self.kinds + other.kinds, self.notes + other.notes)


class Partition:
    """The dofs z of an FE model with chosen interfaces, its K and M there, its rigid motions."""

    def __init__(self, fe: FEModel, chosen: list[Interface]) -> None:
        self.fe, self.chosen = fe, chosen
        self._made: dict[bytes, tuple[Sparse, Sparse, Factor]] = {}
        self.static: Array | None = None  # the static modes, once they are made
        self.T, self.free = coordinates(fe, chosen)
        self.K = as_sparse(self.T.T @ fe.K @ self.T)
        self.M = as_sparse(self.T.T @ fe.M @ self.T)
        self._firsts = np.asarray(self.T.tocsc().indices[self.T.tocsc().indptr[:-1]])  # an FE dof of each column

    @property
    def size(self) -> int:
        """The number of dofs z."""
        return int(self.K.shape[0])

    @property
    def inside(self) -> Indices:
        """The dofs that belong to no interface."""
        return np.arange(self.free)

    def interface(self, k: int) -> Indices:
        """The six dofs of an interface."""
        return self.free + 6 * k + np.arange(6)

    @property
    def others(self) -> Indices:
        """The dofs of all interfaces but the first."""
        return np.arange(self.free + 6, self.size)

    def name(self, dof: int) -> str:
        """A dof z as text."""
        if dof >= self.free:
            return f"{self.label(dof)}"
        return self.fe.dof_name(int(self._firsts[dof]))

    def label(self, dof: int) -> str:
        """A dof of an interface: tip.tx."""
        k, component = divmod(dof - self.free, 6)
        return f"{self.chosen[k].name}.{COMPONENTS[component]}"

    def rigid(self) -> Array:
        """z of the six motions of the rigid body, (z, 6), about the first interface."""
        about = np.array(self.chosen[0].at)
        R = np.zeros((self.size, 6))
        all_rows = rigid_at(self.fe.nodes, about, self.fe.dofs).reshape(-1, 6)
        R[: self.free] = all_rows[self._firsts[: self.free]]
        for k, each in enumerate(self.chosen):
            R[self.interface(k)] = rigid_at(np.array([each.at]), about, 6)[0]
        return R

    def blocks(self, rows: Indices) -> tuple[Sparse, Sparse, Factor]:
        """K and M of some dofs, and the factor of that K; made once."""
        cached = self._made.get(rows.tobytes())
        if cached is not None:
            return cached
        K, M = as_sparse(self.K[rows][:, rows]), as_sparse(self.M[rows][:, rows])
        held = "', '".join(x.name for k, x in enumerate(self.chosen) if self.interface(k)[0] not in rows)
        factor = Factor(K, lambda i: self.name(int(rows[i])), f"the stiffness with '{held}' held")
        self._made[rows.tobytes()] = K, M, factor
        return K, M, factor


def static_modes(part: Partition) -> Basis:
    """Static modes of all interfaces but the first, which is held: unit motion of one dof, the others held."""
    inside, others = part.inside, part.others
    if part.static is None:
        X = np.zeros((part.size, len(others)))
        if len(others) and len(inside):
            _, _, factor = part.blocks(inside)
            X[inside] = -factor.solve(part.K[inside][:, others].toarray())
        X[others] = np.eye(len(others))
        part.static = X
    return Basis(part.static, [f"static {part.label(int(b))}" for b in others])


def static_answer(part: Partition, loads: Array) -> Array:
    """K^-1 of loads (z, k) with the first interface held, by the factor of the dofs inside and the static modes Psi:
    K_ii^-1 f_i + Psi (Psi* K Psi)^-1 Psi* f."""
    x, Psi = np.zeros_like(loads), static_modes(part).X
    inside = part.inside
    x[inside] = part.blocks(inside)[2].solve(loads[inside])
    if Psi.shape[1]:
        small = Psi.T @ times(part.K, Psi)
        size = np.sqrt(part.K.diagonal()[part.others])  # of the dofs before reduction: the remainder may be rounding
        values, vectors = np.linalg.eigh(small / np.outer(size, size))
        if values[0] < LEFT:
            loose = part.label(int(part.others[np.argmax(np.abs(vectors[:, 0]))]))
            raise SingularError(f"the stiffness with {part.chosen[0].name!r} held is singular: nothing holds {loose}.")
        x = x + Psi @ np.linalg.solve(small, Psi.T @ loads)
    return x


def held_modes(part: Partition, rows: Indices, wanted: Wanted) -> Basis:
    """Normal modes of the dofs `rows`, all others held."""
    X = np.zeros((part.size, 0))
    if not len(rows) or wanted.modes == 0:
        return Basis(X)
    K, M, factor = part.blocks(rows)
    count = wanted.count(K, M)
    values, inner = eigenvectors(K, M, count + 1, factor)
    X = np.zeros((part.size, len(values)))
    X[rows] = inner
    return _kept(part, values, X, count)


def free_modes(part: Partition, wanted: Wanted) -> Basis:
    """Normal modes of the free body but the six rigid ones: their frame is the mean one."""
    rows = np.setdiff1d(np.arange(part.size), part.interface(0))
    K, M, factor = part.blocks(rows)
    lowest, _ = eigenvectors(K, M, 1, factor)
    shift = -float(lowest[0])  # K - shift M is definite, with eigenvalues of the size of those that are asked for
    shifted = as_sparse(part.K - shift * part.M)
    factor = Factor(shifted, part.name, "the stiffness of the free body")
    count = wanted.count(part.K, part.M) - (0 if wanted.modes is not None else 6)
    if wanted.modes is None and count < 0:  # rounding hides rigid modes from the signs of pivots
        count = 0
    values, X = eigenvectors(part.K, part.M, count + 7, factor, shift)
    if len(values) <= 6:
        return _kept(part, values[6:], X[:, 6:], count)
    values, X = ritz(part.K, part.M, relieved(part, X[:, 6:]))
    return _kept(part, values, X, count)


def residual_modes(part: Partition, normal: Basis, free: bool) -> Basis:
    """Responses to unit forces at the interfaces beyond the normal modes, x* M x = 1; of a free body at all interfaces,
    of a held one at all but the first.
    """
    rows = np.setdiff1d(np.arange(part.size), part.interface(0))
    loads = np.arange(part.free, part.size) if free else part.others
    F = np.zeros((part.size, len(loads)))
    F[loads, np.arange(len(loads))] = 1.0
    if free:  # d'Alembert: what accelerates the rigid body is taken off
        R = part.rigid()
        F = F - times(part.M, R @ np.linalg.solve(R.T @ times(part.M, R), R.T @ F))
    X = np.zeros_like(F)
    X[rows] = part.blocks(rows)[2].solve(F[rows])
    if free:
        X = relieved(part, X)
    size = np.sqrt(np.maximum(np.einsum("ij,ij->j", X, times(part.M, X)), np.finfo(float).tiny))
    basis, kinds, notes = normal.X, [], []
    modes: list[Array] = []
    for k, x in enumerate((X / size).T):
        for _ in range(2):  # against the modes and the residual modes before it, in M; twice is enough
            x = x - basis @ (basis.T @ (part.M @ x))
        norm = float(np.sqrt(max(x @ (part.M @ x), 0.0)))
        label = part.label(int(loads[k]))
        if norm < NOTHING_NEW:
            notes.append(f"the residual mode of {label} repeats the other modes and is left out")
            continue
        modes.append(x / norm)
        basis = np.hstack([basis, modes[-1][:, None]])
        kinds.append(f"residual {label}")
    return Basis(np.array(modes).T.reshape(part.size, len(modes)), kinds, notes)


def relieved(part: Partition, X: Array) -> Array:
    """X without its share of the rigid motions, in M."""
    R = part.rigid()
    MR = times(part.M, R)
    return np.asarray(X - R @ np.linalg.solve(R.T @ MR, MR.T @ X))


def _kept(part: Partition, values: Array, X: Array, count: int) -> Basis:
    """The first `count` modes, families of one frequency turned to the axes; the next frequency is said."""
    if len(values) < count:
        raise ModelError(
            f"{count} normal modes were asked for, but the FE model has {len(values)} with these dofs held; ask for "
            "fewer modes, or use more elements."
        )
    X = _turned(part, values, X)
    hz = np.sqrt(np.maximum(values, 0.0)) / (2.0 * np.pi)
    notes = []
    if len(hz) > count:
        family = count and values[count] - values[count - 1] <= SAME_FREQUENCY * values[count]
        as_well = ", as the last one kept" if family else ""
        notes.append(f"the first normal mode left out has {hz[count]:.6g} Hz{as_well}")
    kinds = [f"normal {f:.6g} Hz" for f in hz[:count]]
    return Basis(X[:, :count], kinds, notes)


def _turned(part: Partition, values: Array, X: Array) -> Array:
    """Modes of equal frequency, turned so that one moves most mass along x, the next along y, then z; where none is
    moved, most moment about z, then y, then x."""
    X = X.copy()
    edges = [0, *(np.flatnonzero(np.diff(values) > SAME_FREQUENCY * np.abs(values[1:])) + 1), len(values)]
    R = part.rigid()
    rigid = np.einsum("ij,ij->j", R, times(part.M, R))
    weights = np.array([3.0, 2.0, 1.0, 1e-6, 2e-6, 3e-6]) / np.where(rigid > 0.0, rigid, 1.0)  # y bends about z
    for a, b in pairwise(edges):
        if b - a > 1:
            P = R.T @ times(part.M, X[:, a:b])
            _, Y = np.linalg.eigh(P.T @ (weights[:, None] * P))
            X[:, a:b] = X[:, a:b] @ Y[:, ::-1]
    return X


def read_wanted(method: str, modes: Any, below: Any) -> Wanted:
    """Read the number of modes or their highest frequency; both or neither is refused."""
    if method == "guyan":
        if modes is not None or below is not None:
            raise ModelError("method 'guyan' has static modes alone; leave out modes= and below=, or 'craig_bampton'.")
        return Wanted(0, None)
    if (modes is None) == (below is None):
        raise ModelError(f"method {method!r} needs modes=n or below=Hz, one of the two.")
    if modes is not None:
        return Wanted(whole_number(modes, "the number of modes", 0), None)
    hz = float(finite(below, (), "below"))
    if hz <= 0.0:
        raise ModelError(f"below must be a positive frequency in Hz, got {number_text(hz)}.")
    return Wanted(None, hz)
