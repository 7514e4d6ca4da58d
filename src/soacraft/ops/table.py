"""The operators of the papers: for each its spaces, its pattern, its tags, and its blocks.

Add an operator here and it is bound, printed, explained and tested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from operator import matmul
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.model.flat.sko import SKOModel
from soacraft.ops.blockwise import blockwise
from soacraft.recursions._backend import articulated_body, backward_lyapunov, composite_body
from soacraft.recursions.articulated_body import ArticulatedBody
from soacraft.recursions.types import Stacked

Array = npt.NDArray[np.float64]
Entries = dict[tuple[int, int], Array]

SYMMETRIC = frozenset({"symmetric", "block_diagonal", "positive_semidefinite"})
DEFINITE = frozenset({"symmetric", "block_diagonal", "positive_definite"})
SQUARE_DIAGONAL = frozenset({"block_diagonal"})


def once(work: Callable[[SKOModel], Any]) -> Callable[[SKOModel], Any]:
    """Decorator: the value is computed once for a configuration and stored in the model's memo."""

    @wraps(work)
    def kept(sko: SKOModel) -> Any:
        if work.__name__ not in sko.memo:
            sko.memo[work.__name__] = work(sko)
        return sko.memo[work.__name__]

    return kept


def diagonal(blocks: Stacked) -> Entries:
    """Blocks on the diagonal."""
    return {(k, k): blocks[k] for k in sorted(blocks)}


def on_edges(sko: SKOModel, weight: Callable[[int, int], Array]) -> Entries:
    """Blocks (p(k), k) on the edges of the tree."""
    return {(sko.parent(k), k): weight(sko.parent(k), k) for k in sko.nodes if sko.parent(k) >= 0}


@once
def riccati(sko: SKOModel) -> ArticulatedBody:
    return articulated_body(sko)


def hinge_map(sko: SKOModel) -> Entries:
    """H = diag{ H(k) } (000 Eq. 6)."""
    return diagonal({k: sko.H(k) for k in sko.nodes})


def inertia(sko: SKOModel) -> Entries:
    """M = diag{ M(k) } (000 Eq. 14-15)."""
    return diagonal({k: sko.M(k) for k in sko.nodes})


def kernel(sko: SKOModel) -> Entries:
    """E_phi(p(k), k) = A(p(k), k) (000 Eq. 7)."""
    return on_edges(sko, sko.A)


def composite(sko: SKOModel) -> Entries:
    """R(k) = sum A R A* + M (000 Eq. 19)."""
    return diagonal(composite_body(sko))


def articulated(sko: SKOModel) -> Entries:
    """P, the solution of the Riccati equation (000 Eq. 22-25)."""
    return diagonal(riccati(sko).P)


def articulated_plus(sko: SKOModel) -> Entries:
    """P+ = tau_bar P (000 Eq. 24)."""
    return diagonal(riccati(sko).P_plus)


def hinge_inertia(sko: SKOModel) -> Entries:
    """D = H P H* (000 Eq. 24)."""
    return diagonal(riccati(sko).D)


def gain(sko: SKOModel) -> Entries:
    """G = P H* D^-1 (000 Eq. 24)."""
    return diagonal(riccati(sko).G)


def shifted_gain(sko: SKOModel) -> Entries:
    """K = E_phi G (000 Eq. 24)."""
    G = riccati(sko).G
    return on_edges(sko, lambda p, k: sko.A(p, k) @ G[k])


def projection(sko: SKOModel) -> Entries:
    """tau = G H (000 Eq. 24)."""
    G = riccati(sko).G
    return diagonal({k: G[k] @ sko.H(k) for k in sko.nodes})


@once
def complement(sko: SKOModel) -> list[Array]:
    """tau_bar(k) = I - G(k) H(k)."""
    gains = riccati(sko).G
    return blockwise(
        lambda G, H: np.eye(G.shape[-2]) - G @ H, [gains[k] for k in sko.nodes], [sko.H(k) for k in sko.nodes]
    )


def remainder(sko: SKOModel) -> Entries:
    """tau_bar = I - tau (000 Eq. 24)."""
    return diagonal(dict(enumerate(complement(sko))))


def articulated_kernel(sko: SKOModel) -> Entries:
    """E_psi = E_phi tau_bar (000 Eq. 24): psi(p, k) = A(p, k) tau_bar(k)."""
    A, tau_bar = kernel(sko), complement(sko)
    weights = blockwise(matmul, list(A.values()), [tau_bar[k] for _, k in A])
    return dict(zip(A, weights, strict=True))


def compliance(sko: SKOModel) -> Entries:
    """Upsilon(k) = psi* Upsilon psi + H* D^-1 H, base to tips (000 Eq. 36)."""
    solved = riccati(sko).D
    X = blockwise(
        lambda H, D: H.mT @ np.linalg.solve(D, H), [sko.H(k) for k in sko.nodes], [solved[k] for k in sko.nodes]
    )
    weights = articulated_kernel(sko)
    return diagonal(backward_lyapunov(sko, lambda p, k: weights[p, k], X))


@dataclass(frozen=True)
class Sparse:
    """An operator given by its non-zero blocks."""

    name: str
    latex: str
    rows: str
    cols: str
    pattern: str
    claims: frozenset[str]
    source: str
    entries: Callable[[SKOModel], Entries]


@dataclass(frozen=True)
class Propagator:
    """A spatial propagation operator (I - E)^-1, or that less the identity."""

    name: str
    latex: str
    kernel: str
    tilde: bool
    source: str


SPARSE = (
    Sparse("H", "H", "hinge", "body", "d", frozenset(), "000 Eq. 6", hinge_map),
    Sparse("M", "M", "body", "body", "d", SYMMETRIC, "000 Eq. 15", inertia),
    Sparse("E_phi", r"\mathcal{E}_{\phi}", "body", "body", "u", frozenset(), "000 Eq. 7", kernel),
    Sparse("R", r"\mathcal{R}", "body", "body", "d", SYMMETRIC, "000 Eq. 19", composite),
    Sparse("P", r"\mathcal{P}", "body", "body", "d", SYMMETRIC, "000 Eq. 22", articulated),
    Sparse("P_plus", r"\mathcal{P}^{+}", "body", "body", "d", SYMMETRIC, "000 Eq. 24", articulated_plus),
    Sparse("D", r"\mathcal{D}", "hinge", "hinge", "d", DEFINITE, "000 Eq. 24", hinge_inertia),
    Sparse("G", r"\mathcal{G}", "body", "hinge", "d", frozenset(), "000 Eq. 24", gain),
    Sparse("K", r"\mathcal{K}", "body", "hinge", "u", frozenset(), "000 Eq. 24", shifted_gain),
    Sparse("tau", r"\tau", "body", "body", "d", SQUARE_DIAGONAL, "000 Eq. 24", projection),
    Sparse("tau_bar", r"\bar{\tau}", "body", "body", "d", SQUARE_DIAGONAL, "000 Eq. 24", remainder),
    Sparse("E_psi", r"\mathcal{E}_{\psi}", "body", "body", "u", frozenset(), "000 Eq. 24", articulated_kernel),
    Sparse("Upsilon", r"\Upsilon", "body", "body", "d", SYMMETRIC, "000 Eq. 36", compliance),
)

def rounding_of_P(s: Any) -> Any:
    """N, an operator of the size of rounding in P: N = E_psi N E_psi* + P + E_phi P E_phi*, tips to base."""
    return s.E_psi.lyapunov(s.P + s.E_phi * s.P * s.E_phi.T)


#: Sizes of the numbers that the blocks of an operator were computed from, in an `Operators` namespace: the reference
#: for their rounding; for P that is `rounding_of_P`.
MADE_OF: dict[str, Callable[[Any], Any]] = {
    "P_plus": lambda s: s.P,
    "D": lambda s: s.H * s.P * s.H.T,
    "G": lambda s: s.P * s.H.T * s.D.inv,
    "K": lambda s: s.E_phi * s.G,
    "tau": lambda s: s.G * s.H,
    "tau_bar": lambda s: s.I + s.tau,
    "E_psi": lambda s: s.E_phi * s.tau_bar,
}

PROPAGATORS = (
    Propagator("phi", r"\phi", "E_phi", False, "000 Eq. 9"),
    Propagator("phi_tilde", r"\tilde{\phi}", "E_phi", True, "004 Cor. 3.1"),
    Propagator("psi", r"\psi", "E_psi", False, "004 Eq. 34"),
    Propagator("psi_tilde", r"\tilde{\psi}", "E_psi", True, "004 Cor. 3.1"),
)

#: Every operator that `sc.operators` names, except B(nodes).
NAMES = (*(d.name for d in SPARSE), *(d.name for d in PROPAGATORS), "Omega")
