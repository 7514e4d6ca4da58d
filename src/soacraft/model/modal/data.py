"""`ModalData`: what the modes of a flexible body are, as constant arrays made once.

A point r of the undeformed body moves to

    r(eta) = r + phi eta + 1/2 eta phi2 eta

and the mass of the body enters by moments of r, phi and phi2 alone. A node O turns and moves with the modes:

    R(eta) = exp((lam eta + 1/2 eta lam2 eta)~) R0,    l(eta) = l0 + gam eta + 1/2 eta gam2 eta
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from soacraft.errors import ModelError, near
from soacraft.spatial.checks import Array, finite, frozen, number_text
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

#: Arrays of a model are symmetric when entries agree in nine digits of the largest.
SYMMETRY = 1e-9
#: The modal mass is the trace of Q, which both are sums of the same products, to six digits of files.
SAME_MASS = 1e-6
#: The least eigenvalue of the mass matrix of body and modes, with ones on its diagonal, of modes that are independent.
INDEPENDENT = 1e-10


@dataclass(frozen=True, eq=False)
class ModalNode:
    """A node of a flexible body: its undeformed pose, how it moves (`gam`) and turns (`lam`) with the modes, (3, n)
    each, and what is of second order in them, (3, n, n) each and symmetric in the last two; zero unless given.
    """

    pose: Pose
    gam: Array
    lam: Array
    gam2: Array | None = None
    lam2: Array | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.pose, Pose) or self.pose.translation.ndim != 1:
            raise ModelError(f"the pose of a modal node must be one Pose, got {self.pose!r:.60}.")
        gam = finite(self.gam, (3, None), "gam of a modal node")
        n = gam.shape[1]
        _set(self, gam=frozen(gam), lam=frozen(finite(self.lam, (3, n), "lam of a modal node")))
        for name in ("gam2", "lam2"):
            second = getattr(self, name)
            if second is not None:
                second = finite(second, (3, n, n), f"{name} of a modal node")
                _refuse_skew(second, f"{name} of a modal node")
                _set(self, **{name: frozen(0.5 * (second + second.mT))})

    @property
    def n(self) -> int:
        """The number of modes."""
        return int(self.gam.shape[1])

    @property
    def deforms(self) -> bool:
        """Whether any mode moves or turns it."""
        return any(x is not None and bool(x.any()) for x in (self.gam, self.lam, self.gam2, self.lam2))


@dataclass(frozen=True, eq=False, kw_only=True)
class ModalData:
    """The modes of a flexible body: moments of its mass, modal stiffness and damping, its nodes. Constant, shared.

    With sums over the mass of the body, r in its frame and phi_j the shape of mode j:

        mass    m            p    (n, 3)        sum m phi_j               K    (n, n)   modal stiffness
        first   sum m r      N    (n, 3, 3)     sum m r phi_j*            D    (n, n)   modal damping
        second  sum m r r*   Q    (n, n, 3, 3)  sum m phi_i phi_j*        M    (n, n)   modal mass
                             S    (n, n, 3)     sum m phi2_ij             T    (n, n, 3, 3)  sum m r phi2_ij*

    S and T, and with them all geometric stiffening, are absent where they are None. `points` (k, 3) and `shapes`
    (k, 3, n) are for pictures and deformed points; `recovery` holds arrays (..., n) that give stress or strain as
    array @ eta.

    Refused: arrays that are not finite, symmetric or positive as they should be, modes that depend on each other or
    hold a motion of the rigid body, a modal mass that is not the trace of Q.
    """

    mass: float
    first: Array
    second: Array
    p: Array
    N: Array
    Q: Array
    M: Array
    K: Array
    D: Array | None = None
    S: Array | None = None
    T: Array | None = None
    nodes: Mapping[str, ModalNode] = field(default_factory=dict)
    modes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """What each mode is, for reports: "static root.tx", "normal 12.3 Hz"."""
    points: Array | None = None
    shapes: Array | None = None
    recovery: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What was checked, and what the data do not have."""

    def __post_init__(self) -> None:
        what = "of modal data"
        n = finite(self.p, (None, 3), f"p {what}").shape[0]
        shapes: dict[str, tuple[int, ...]] = {
            "first": (3,), "second": (3, 3), "p": (n, 3), "N": (n, 3, 3), "Q": (n, n, 3, 3),
            "M": (n, n), "K": (n, n), "D": (n, n), "S": (n, n, 3), "T": (n, n, 3, 3),
        }  # fmt: skip
        mass = float(finite(self.mass, (), f"mass {what}"))
        if mass <= 0.0:
            raise ModelError(f"the mass {what} must be positive, got {number_text(mass)}.")
        _set(self, mass=mass, D=np.zeros((n, n)) if self.D is None else self.D)
        if (self.S is None) != (self.T is None):
            raise ModelError("modal data have both S and T, the moments of the second-order displacement, or neither.")
        for name, shape in shapes.items():
            if getattr(self, name) is not None:
                _set(self, **{name: frozen(finite(getattr(self, name), shape, f"{name} {what}"))})
        for name in ("second", "M", "K", "D"):
            _refuse_skew(getattr(self, name), f"{name} {what}")
        self._refuse_indefinite()
        self._read_names(n)
        self._read_pictures(n)
        self._refuse_modes(n)

    def _read_names(self, n: int) -> None:
        modes = tuple(self.modes) or tuple(f"mode{j}" for j in range(n))
        if len(modes) != n or len(set(modes)) != n or not all(isinstance(x, str) and x for x in modes):
            raise ModelError(f"modal data of {n} modes need as many names of their own, got {modes!r:.80}.")
        kinds = tuple(self.kinds) or ("",) * n
        if len(kinds) != n:
            raise ModelError(f"modal data of {n} modes have {len(kinds)} words for their kinds; give one for each.")
        for name, node in self.nodes.items():
            if not isinstance(node, ModalNode) or node.n != n:
                raise ModelError(f"node {name!r} of modal data of {n} modes must be a ModalNode of as many.")
        _set(self, modes=modes, kinds=kinds, nodes=MappingProxyType(dict(self.nodes)), notes=tuple(self.notes))

    def _read_pictures(self, n: int) -> None:
        if (self.points is None) != (self.shapes is None):
            raise ModelError("modal data have both points and the shapes of the modes at them, or neither.")
        if self.points is not None:
            points = finite(self.points, (None, 3), "points of modal data")
            shapes = finite(self.shapes, (len(points), 3, n), "shapes of modal data")
            _set(self, points=frozen(points), shapes=frozen(shapes))
        recovery = {x: frozen(finite(y, (..., n), f"recovery {x!r} of modal data")) for x, y in self.recovery.items()}
        _set(self, recovery=MappingProxyType(recovery))

    def _refuse_indefinite(self) -> None:
        for name, least in (("M", INDEPENDENT), ("K", -SYMMETRY), ("D", -SYMMETRY)):
            X: Array = getattr(self, name)
            diagonal = np.diagonal(X)
            size = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
            values, vectors = np.linalg.eigh(X / np.outer(size, size)) if X.size else (np.zeros(0), np.zeros((0, 0)))
            if values.size and values[0] < least:
                mode = int(np.argmax(np.abs(vectors[:, 0])))
                kind = {"M": "mass", "K": "stiffness", "D": "damping"}[name]
                cure = "leave out modes that repeat others" if name == "M" else "correct it"
                raise ModelError(
                    f"the modal {kind} {name} is {'singular or ' if name == 'M' else ''}indefinite: its least "
                    f"eigenvalue, with ones on the diagonal, is {values[0]:.3g}, mostly of mode number {mode}; {cure}."
                )

    def _refuse_modes(self, n: int) -> None:
        """Modes that are motions of the rigid body, and a modal mass that is not that of the field."""
        trace = np.trace(self.Q, axis1=-2, axis2=-1)
        size = np.sqrt(np.diagonal(self.M))
        off = np.abs(trace - self.M) / np.outer(size, size)
        if n and off.max() > SAME_MASS:
            i, j = np.unravel_index(int(np.argmax(off)), off.shape)
            raise ModelError(
                f"the modal mass of {self.modes[i]!r} and {self.modes[j]!r} is {self.M[i, j]:.6g}, but the trace of Q "
                f"is {trace[i, j]:.6g}: {off[i, j]:.2g} of it is missing or too much. N and Q must be moments of the "
                "same field; give translational (lumped or consistent) masses."
            )
        if not n:
            return
        from soacraft.model.modal.inertia import mass_matrix

        whole = mass_matrix(self, np.zeros(n))
        root = np.sqrt(np.maximum(np.diagonal(whole), np.finfo(float).tiny))
        whole = whole / np.outer(root, root)
        rigid = np.linalg.pinv(whole[:6, :6], rcond=INDEPENDENT, hermitian=True)
        values, vectors = np.linalg.eigh(whole[6:, 6:] - whole[6:, :6] @ rigid @ whole[:6, 6:])
        if values[0] < INDEPENDENT:
            mode = self.modes[int(np.argmax(np.abs(vectors[:, 0])))]
            raise ModelError(
                f"the modes hold a motion of the rigid body (mostly {mode!r}): the hinge already moves the body so. "
                "Leave out the rigid-body modes, or hold an interface when reducing."
            )

    # -- what follows ------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of modes."""
        return int(self.p.shape[0])

    @property
    def geometric(self) -> bool:
        """Whether it has the second-order displacement that geometric stiffening comes from."""
        return self.S is not None

    @cached_property
    def inertia(self) -> Inertia:
        """Of the undeformed body."""
        com = self.first / self.mass
        about = np.trace(self.second) * np.eye(3) - self.second
        return Inertia(self.mass, com, about - self.mass * (com @ com * np.eye(3) - np.outer(com, com)))

    def node(self, name: Any) -> ModalNode:
        """A node by name."""
        known = self.nodes.get(name) if isinstance(name, str) else None
        if known is None:
            raise ModelError(f"these modal data have no node {name!r}{near(str(name), tuple(self.nodes), 'they have')}")
        return known

    def recover(self, what: str, eta: Any) -> Array:
        """Stress, strain or what else the finite-element model gave by modes, at modal coordinates eta (..., n)."""
        table = self.recovery.get(what)
        if table is None:
            raise ModelError(f"these modal data do not recover {what!r}{near(what, tuple(self.recovery), 'they have')}")
        x = finite(eta, (..., self.n), "eta")
        return np.asarray(np.tensordot(x, table, axes=(-1, -1)))

    def __getstate__(self) -> dict[str, Any]:
        """Its fields; mappings that cannot be written to cannot be packed."""
        fields = {name: x for name, x in vars(self).items() if name != "inertia"}
        return fields | {"nodes": dict(self.nodes), "recovery": dict(self.recovery)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        _set(self, nodes=MappingProxyType(state["nodes"]), recovery=MappingProxyType(state["recovery"]))

    def __repr__(self) -> str:
        nodes = ", ".join(self.nodes) or "none"
        stiffening = "with" if self.geometric else "without"
        return f"ModalData({self.n} modes, mass {self.mass:.6g}, nodes: {nodes}; {stiffening} geometric stiffening)"


def _set(data: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(data, name, value)


def _refuse_skew(X: Array, what: str) -> None:
    """Entries have units of their own: a difference is judged next to its entry, and to the diagonal in its row and
    column."""
    off = np.abs(X - X.mT)
    root = np.sqrt(np.abs(np.diagonal(X, axis1=-2, axis2=-1)))
    allowed = SYMMETRY * (np.abs(X) + np.abs(X.mT) + root[..., :, None] * root[..., None, :])
    if (off > allowed).any():
        raise ModelError(f"{what} must be symmetric; entries differ by {number_text(float(off.max()))}.")
