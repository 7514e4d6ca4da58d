"""A model in a peer's hands, answering in soacraft's velocities."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space


@dataclass(frozen=True)
class Part:
    """One hinge in a peer's coordinates: its q, and N, n of w = N v, wdot = N vdot + n for its velocities w."""

    q: np.ndarray
    N: np.ndarray
    n: np.ndarray


def constant(q, N):
    """A hinge whose velocities are a constant multiple of soacraft's."""
    N = np.asarray(N, dtype=float)
    return Part(np.asarray(q), N, np.zeros(len(N)))


class Peer(ABC):
    """Mass matrix, bias, inverse and forward dynamics and Jacobians of a peer, turned into soacraft's velocities.

    With the peer's velocities w = N v and forces T = N* F:

        mass matrix N* M N,   bias N* (C + M n),   inverse N* F(N vdot + n),   Jacobian J N

    N is square unless the peer has more freedom than the hinge (a screw made of a turn and a slide, a rolling ball made
    of a free one). Then the peer's accelerations obey A wdot = A n with A N = 0, and Lagrange multipliers give them.
    """

    def __init__(self, nw, nv):
        self.N, self.n = np.zeros((nw, nv)), np.zeros(nw)
        self.N_inv, self.A = np.zeros((nv, nw)), np.zeros((nw - nv, nw))
        self._held = 0

    def put(self, rows, columns, part):
        """Enter the velocities of one hinge."""
        self.N[np.ix_(rows, columns)], self.n[rows] = part.N, part.n
        self.N_inv[np.ix_(columns, rows)] = np.linalg.pinv(part.N)
        held = range(self._held, self._held + len(rows) - len(columns))
        self.A[np.ix_(held, rows)] = null_space(part.N.T).T if held else 0.0
        self._held += len(held)

    # -- what the peer computes, in its own velocities ------------------------------------------------------

    @abstractmethod
    def own_mass_matrix(self): ...

    @abstractmethod
    def own_bias(self): ...

    @abstractmethod
    def own_inverse(self, wdot): ...

    @abstractmethod
    def own_forward(self, force): ...

    @abstractmethod
    def own_jacobian(self, node, axes):
        """6 x nw, [angular; linear] of a node's origin, in node axes ("body") or inertial ones."""

    # -- in soacraft's velocities ----------------------------------------------------------------------------

    def mass_matrix(self):
        return self.N.T @ self.own_mass_matrix() @ self.N

    def bias(self):
        return self.N.T @ (self.own_bias() + self.own_mass_matrix() @ self.n)

    def inverse(self, vdot):
        return self.N.T @ self.own_inverse(self.N @ vdot + self.n)

    def jacobian(self, node, axes):
        return self.own_jacobian(node, axes) @ self.N

    def forward(self, force):
        F = self.N_inv.T @ force
        wdot = self._held_forward(F) if self._held else self.own_forward(F)
        return self.N_inv @ (wdot - self.n)

    def _held_forward(self, F):
        """M wdot + A* lambda = F - C,   A wdot = A n."""
        left = np.block([[self.own_mass_matrix(), self.A.T], [self.A, np.zeros((self._held, self._held))]])
        right = np.concatenate([F - self.own_bias(), self.A @ self.n])
        return np.linalg.solve(left, right)[: len(self.n)]
