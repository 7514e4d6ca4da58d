"""`ModalData`: the modes of a flexible body, as constant arrays made once.

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
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import ModelError, near
from soacraft.late import higher
from soacraft.model.modal.skin import ModalSkin
from soacraft.spatial.checks import Array, finite, frozen, number_text
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.model.tree.parts.import_report import ImportReport

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
        _set(self, gam=_by_rows(gam), lam=_by_rows(finite(self.lam, (3, n), "lam of a modal node")))
        for name in ("gam2", "lam2"):
            second = getattr(self, name)
            if second is not None:
                second = finite(second, (3, n, n), f"{name} of a modal node")
                _refuse_skew(second, f"{name} of a modal node")
                _set(self, **{name: _by_rows(0.5 * (second + second.mT))})

    @property
    def n(self) -> int:
        """The number of modes."""
        return int(self.gam.shape[1])

    @property
    def deforms(self) -> bool:
        """True if any mode moves or turns it."""
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
    (k, 3, n) are for deformed points, `skin` for pictures; `recovery` holds arrays (..., n) that give stress or strain
    as array @ eta.

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
    fe_nodes: Mapping[str, ModalNode] = field(default_factory=dict)
    """More nodes, such as "fe:17": a body has them where it is asked to, `body.add_node("sensor", on="fe:17")`."""
    modes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Kind of each mode, for reports: "static root.tx", "normal 12.3 Hz"."""
    points: Array | None = None
    shapes: Array | None = None
    skin: ModalSkin | None = None
    recovery: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Notes on the checks, and on parts that the data do not have."""
    import_report: ImportReport | None = None
    """Report of every part of the file they were read from."""

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
                _set(self, **{name: _by_rows(finite(getattr(self, name), shape, f"{name} {what}"))})
        for name in ("second", "M", "K", "D"):
            _refuse_skew(getattr(self, name), f"{name} {what}")
        self._read_names(n)
        self._refuse_indefinite()
        self._read_pictures(n)
        self._refuse_modes(n)
        try:
            self.inertia  # noqa: B018  (made once, and checked)
        except ModelError as problem:
            raise ModelError(f"mass, first and second {what} are those of no body: {problem}") from None

    def _read_names(self, n: int) -> None:
        modes = tuple(self.modes) or tuple(f"mode{j}" for j in range(n))
        if len(modes) != n or len(set(modes)) != n or not all(isinstance(x, str) and x for x in modes):
            raise ModelError(f"modal data of {n} modes need as many names of their own, got {modes!r:.80}.")
        kinds = tuple(self.kinds) or ("",) * n
        if len(kinds) != n:
            raise ModelError(f"modal data of {n} modes have {len(kinds)} words for their kinds; give one for each.")
        for name, node in (*self.nodes.items(), *self.fe_nodes.items()):
            if not isinstance(node, ModalNode) or node.n != n:
                raise ModelError(f"node {name!r} of modal data of {n} modes must be a ModalNode of as many.")
        nodes, fe_nodes = (MappingProxyType(dict(x)) for x in (self.nodes, self.fe_nodes))
        _set(self, modes=modes, kinds=kinds, notes=tuple(self.notes), nodes=nodes, fe_nodes=fe_nodes)

    def _read_pictures(self, n: int) -> None:
        if (self.points is None) != (self.shapes is None):
            raise ModelError("modal data have both points and the shapes of the modes at them, or neither.")
        if self.points is not None:
            points = finite(self.points, (None, 3), "points of modal data")
            shapes = finite(self.shapes, (len(points), 3, n), "shapes of modal data")
            _set(self, points=_by_rows(points), shapes=_by_rows(shapes))
        if self.skin is not None and (not isinstance(self.skin, ModalSkin) or self.skin.n != n):
            raise ModelError(f"the skin of modal data of {n} modes must be a ModalSkin of as many.")
        recovery = {x: _by_rows(finite(y, (..., n), f"recovery {x!r} of modal data")) for x, y in self.recovery.items()}
        _set(self, recovery=MappingProxyType(recovery))

    def _refuse_indefinite(self) -> None:
        for name, least in (("M", INDEPENDENT), ("K", -SYMMETRY), ("D", -SYMMETRY)):
            X: Array = getattr(self, name)
            if not X.size:
                continue
            diagonal = np.abs(np.diagonal(X))
            size = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
            values, vectors = _spectrum(X, size, f"the modal {name}")
            empty = (diagonal == 0.0) & X.any(axis=0)  # a row without its diagonal: indefinite in any units
            if empty.any():
                values, vectors = np.array([-1.0]), empty[:, None].astype(float)
            if values[0] < least:
                mode = self.modes[int(np.argmax(np.abs(vectors[:, 0])))]
                kind = {"M": "mass", "K": "stiffness", "D": "damping"}[name]
                cure = "leave out modes that repeat others" if name == "M" else "correct it"
                raise ModelError(
                    f"the modal {kind} {name} is {'singular or ' if name == 'M' else ''}indefinite: its least "
                    f"eigenvalue, with ones on the diagonal, is {values[0]:.3g}, mostly of {mode!r}; {cure}."
                )

    def _refuse_modes(self, n: int) -> None:
        """Modes that are motions of the rigid body, and a modal mass that is not that of the field."""
        trace = np.trace(self.Q, axis1=-2, axis2=-1)
        size = np.sqrt(np.diagonal(self.M))
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.abs(trace - self.M) / np.outer(size, size)
        if n and not off.max() <= SAME_MASS:
            i, j = np.unravel_index(int(np.argmax(off)), off.shape)
            raise ModelError(
                f"the modal mass of {self.modes[i]!r} and {self.modes[j]!r} is {self.M[i, j]:.6g}, but the trace of Q "
                f"is {trace[i, j]:.6g}: {off[i, j]:.2g} of it is missing or too much. N and Q must be moments of the "
                "same field; give translational (lumped or consistent) masses."
            )
        if not n:
            return
        from soacraft.model.modal.inertia import mass_matrix

        with np.errstate(over="ignore", invalid="ignore"):
            whole = mass_matrix(self, np.zeros(n))
            root = np.sqrt(np.maximum(np.diagonal(whole), np.finfo(float).tiny))
            whole = whole / np.outer(root, root)
        if not np.isfinite(whole).all():
            raise ModelError("the moments of modal data overflow: their sizes are too far apart to be of one body.")
        rigid = np.linalg.pinv(whole[:6, :6], rcond=INDEPENDENT, hermitian=True)
        values, vectors = np.linalg.eigh(whole[6:, 6:] - whole[6:, :6] @ rigid @ whole[:6, 6:])
        if values[0] < INDEPENDENT:
            mode = self.modes[int(np.argmax(np.abs(vectors[:, 0])))]
            which = int(np.argmax(np.abs(rigid @ whole[:6, 6:] @ vectors[:, 0])))
            motion = f"{('a turn about', 'a move along')[which // 3]} {'xyz'[which % 3]}"
            raise ModelError(
                f"the modes hold a motion of the rigid body (mostly {mode!r}, {motion}): the hinge moves it so. "
                "Leave out the rigid-body modes, or hold an interface when reducing."
            )

    # -- what follows ------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of modes."""
        return int(self.p.shape[0])

    @property
    def geometric(self) -> bool:
        """True if it has the second-order displacement that geometric stiffening comes from."""
        return self.S is not None

    @property
    def length(self) -> float:
        """A length of the body, by which turns and places are compared: of its mass about the origin and its nodes."""
        gyration = np.sqrt(max(float(np.trace(self.second)), 0.0) / self.mass)
        return float(max([gyration, *(np.linalg.norm(x.pose.translation) for x in self.nodes.values())]))

    @cached_property
    def inertia(self) -> Inertia:
        """Inertia of the undeformed body."""
        com = self.first / self.mass
        about = np.trace(self.second) * np.eye(3) - self.second
        return Inertia(self.mass, com, about - self.mass * (com @ com * np.eye(3) - np.outer(com, com)))

    def node(self, name: Any) -> ModalNode:
        """A node by name, of those that every body has or of the others."""
        known = self.nodes.get(name) or self.fe_nodes.get(name) if isinstance(name, str) else None
        if known is None:
            have = (*self.nodes, *self.fe_nodes)
            raise ModelError(f"these modal data have no node {name!r}{near(str(name), have, 'they have')}")
        return known

    def name_of(self, node: ModalNode) -> str:
        """The name of one of its nodes."""
        return next(name for x in (self.nodes, self.fe_nodes) for name, each in x.items() if each is node)

    def report(self) -> Any:
        """Table of the modes: `soacraft.flexible.report`."""
        return higher("report")(self)

    def recover(self, what: str, eta: Any) -> Array:
        """Stress, strain or what else the finite-element model gave by modes, at modal coordinates eta (..., n)."""
        table = self.recovery.get(what)
        if table is None:
            raise ModelError(f"these modal data do not recover {what!r}{near(what, tuple(self.recovery), 'they have')}")
        x = finite(eta, (..., self.n), "eta")
        return np.asarray(np.tensordot(x, table, axes=(-1, -1)))

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling: its fields, with read-only mappings as dictionaries."""
        fields = {name: x for name, x in vars(self).items() if name != "inertia"}
        return fields | {name: dict(getattr(self, name)) for name in ("nodes", "fe_nodes", "recovery")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        _set(self, **{name: MappingProxyType(state[name]) for name in ("nodes", "fe_nodes", "recovery")})

    def __repr__(self) -> str:
        nodes = ", ".join(self.nodes) or "none"
        stiffening = "with" if self.geometric else "without"
        return f"ModalData({self.n} modes, mass {self.mass:.6g}, nodes: {nodes}; {stiffening} geometric stiffening)"


def mode_count(n: int) -> str:
    """The number of modes as text.

    >>> mode_count(1), mode_count(12)
    ('1 mode', '12 modes')
    """
    return "1 mode" if n == 1 else f"{n} modes"


def _set(data: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(data, name, value)


def _spectrum(X: Array, size: Array, what: str) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a symmetric matrix in units in which `size` is one."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scaled = X / np.outer(size, size)
    if not np.isfinite(scaled).all():
        raise ModelError(f"{what} overflows: its entries are too far apart to be of one body.")
    values, vectors = np.linalg.eigh(scaled)
    return values, vectors


def _by_rows(x: Array) -> Array:
    """Constant, with the last index first to change: sums then round alike wherever the numbers come from."""
    return frozen(np.ascontiguousarray(x))


def _refuse_skew(X: Array, what: str) -> None:
    """Entries have units of their own: a difference is judged next to its entry, and to the diagonal in its row and
    column."""
    off = np.abs(X - X.mT)
    root = np.sqrt(np.abs(np.diagonal(X, axis1=-2, axis2=-1)))
    allowed = SYMMETRY * (np.abs(X) + np.abs(X.mT) + root[..., :, None] * root[..., None, :])
    if (off > allowed).any():
        raise ModelError(f"{what} must be symmetric; entries differ by {number_text(float(off.max()))}.")
