"""Derivatives of the operators of SKO models of functions, along a dof or the velocity.

Weights, hinge maps and inertias change by any matrices, dE_phi, dH and dM, so that

    phi      phi dE_phi phi
    R        rho - E_phi rho E_phi* = dE_phi R E_phi* + E_phi R dE_phi* + dM
    P        Pi - E_psi Pi E_psi* = dE_phi P+ E_phi* + E_phi P+ dE_phi* - E_phi (G dH P+ + P+ dH* G*) E_phi* + dM

and all others follow from these as in a tree (`soacraft.ops.derivatives.rates`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.operator import DIAGONAL, Binding, Leaf, Operator, Pattern
from soacraft.errors import ModelError
from soacraft.model.flat.sko_functions import Rates as BlockChanges
from soacraft.ops.derivatives.directions import Direction, Source
from soacraft.ops.derivatives.rates import Rates, Term, lyapunov_rate, plus, symmetric_part, times
from soacraft.ops.leaves import BlockLeaf
from soacraft.ops.named import Named, named_of

Array = npt.NDArray[np.float64]
Entries = dict[tuple[int, int], Array]

KINDS = {"dE_phi": ("A", "body", "body"), "dH": ("H", "hinge", "body"), "dM": ("M", "body", "body")}
WORDS = {"dE_phi": r"\partial\mathcal{E}_{\phi}", "dH": r"\partial H", "dM": r"\partial M"}


def second(what: str, u: Direction) -> ModelError:
    """Error for a second derivative, with its reason."""
    whose = "an SKO model of functions gives" if not hasattr(u.binding, "graph") else "flexible bodies give"
    return ModelError(
        f"{what} cannot be differentiated again, here by {'dot' if u.body is None else 'diff'}({u.call}): {whose} "
        "first derivatives of blocks. Take differences of the first derivative."
    )


@dataclass(frozen=True)
class NodeDof(Source):
    """Velocity number i."""

    i: int
    moving = False

    def columns(self, binding: Any) -> Array:
        return np.eye(binding.functions.nv)[:, self.i : self.i + 1]

    def rate(self, u: Direction) -> None:
        raise second("a dof", u)

    def nodes(self, binding: Any) -> frozenset[int]:
        return frozenset(range(binding.functions.n))


@dataclass(frozen=True)
class NodeVelocity(Source):
    """The current velocity."""

    def columns(self, binding: Any) -> Array:
        return np.asarray(binding.velocity()[..., None])

    def rate(self, u: Direction) -> None:
        raise second("the velocity", u)

    def token(self, binding: Any) -> object:
        return binding.state[1]

    def nodes(self, binding: Any) -> frozenset[int]:
        return frozenset(range(binding.functions.n))


class SKODirection(Direction):
    """A dof of a node of an SKO model of functions, or with None the current velocity."""

    def _source(self) -> Source:
        if self.body is None:
            return NodeVelocity()
        m = self.binding.functions
        return NodeDof(sum(m.nvs[: m.tree.number(self.body)]) + self.dof)

    @property
    def parents(self) -> Sequence[int]:
        found: Sequence[int] = self.binding.functions.tree.parents
        return found

    def changes(self) -> BlockChanges:
        """Derivatives of the blocks; stored for the state."""
        q, v, _ = self.binding.state
        token = (q, v if self.body is None else None)
        kept = self.__dict__.get("_kept")
        if kept is None or kept[0][0] is not token[0] or kept[0][1] is not token[1]:
            w = self.source.columns(self.binding)[..., 0]
            kept = self.__dict__["_kept"] = token, self.binding.functions.rates(q, w)
        found: BlockChanges = kept[1]
        return found

    def leaf(self, kind: str, *nodes: str) -> Any:
        """dE_phi, dH and dM; X, W and B_hat belong to rigid bodies."""
        if kind not in KINDS:
            raise ModelError(
                f"{kind} belongs to rigid bodies: the weights of an SKO model change by any matrices. dE_phi, dH and "
                "dM say how its blocks change."
            )
        known, key = self.ops.sensitivities, (kind, (self.step,), nodes)
        if key not in known:
            known[key] = self.made(kind)
        return known[key]

    def made(self, kind: str) -> BlockRateLeaf:
        """The leaf of a kind of block."""
        return BlockRateLeaf(self, kind)

    def varies(self, what: str) -> bool:
        """True if a kind of block is a function of q."""
        found: bool = self.binding.functions.varies(what)
        return found

    def rates_of(self, whole: Callable[[Direction, Operator, Term], Term]) -> Rates:
        """The derivatives of the named operators."""
        return SKORates(self, whole)

    @cached_property
    def dH(self) -> Operator | None:
        return self.leaf("dH") if self.varies("H") else None

    @cached_property
    def dM(self) -> Operator | None:
        """Derivative of the inertias, None where they are constant."""
        return self.leaf("dM") if self.varies("M") else None

    @cached_property
    def EX(self) -> Operator | None:
        """dE_phi, None where no weight changes."""
        return self.leaf("dE_phi") if self.varies("A") and any(p >= 0 for p in self.parents) else None


class BlockRateLeaf(BlockLeaf):
    """dE_phi, dH or dM along one direction."""

    def __init__(self, u: SKODirection, kind: str) -> None:
        what, rows, cols = KINDS[kind]
        self.u, self.kind, self.what, self.binding = u, kind, what, u.binding
        spaces = {"body": u.binding.body, "hinge": u.binding.hinge}
        self.rows, self.cols = spaces[rows], spaces[cols]
        self.name = f"{kind}_v" if u.body is None else f"{kind}({u.call})"
        self.latex_name = f"[{WORDS[kind]}]_{{{u.latex}}}"
        self.source = "a function of the model" if u.binding.functions._rates[what] else "differences"
        self.claims = frozenset({"block_diagonal", "symmetric"} if kind == "dM" else ())

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockRateLeaf, (self.u, self.kind)

    def pattern(self) -> Pattern:
        return frozenset("u") if self.kind == "dE_phi" else DIAGONAL

    def entries(self) -> Entries:
        changes = self.u.changes()
        blocks = changes.A if self.what == "A" else changes.H if self.what == "H" else changes.M
        rows, cols, parents = *self.spaces, self.u.parents
        found = {}
        for k in range(len(cols)):
            i = parents[k] if self.what == "A" else k
            if i >= 0:
                block = None if blocks is None else blocks[k]
                found[i, k] = np.zeros((rows.dims[i], cols.dims[k])) if block is None else block
        return found

    def _once(self, kind: str, work: Callable[[], Any]) -> Any:
        return self.cached(kind, work)

    def changes(self) -> dict[Hashable, Callable[[], object]]:
        own = super().changes()
        if self.u.body is not None:
            return own
        return own | {(id(self.binding), self.u.source): partial(self.u.source.token, self.u.binding)}

    def bound_to(self, binding: Binding) -> Leaf:
        u = named_of(binding).binding.direction(named_of(binding), *self.u.step)  # type: ignore[arg-type,union-attr]
        found: Leaf = u.leaf(self.kind)
        return found


class SKORates(Rates):
    """The derivatives of the named operators along a direction of an SKO model of functions."""

    u: SKODirection

    def _M(self) -> Term:
        return self.u.dM

    def _phi(self) -> Term:
        return times(self.s.phi, self.u.EX, self.s.phi)

    def _R(self) -> Term:
        s = self.s
        inner = plus(symmetric_part(times(self.u.EX, s.R, s.E_phi.T)), self.u.dM)
        return self._named(lyapunov_rate(s.E_phi, inner), "R")

    def _P(self) -> Term:
        s = self.s
        lost = plus(*self._gain_lost())
        inner = plus(
            symmetric_part(times(self.u.EX, s.P_plus, s.E_phi.T)), times(s.E_phi, lost, s.E_phi.T), self.u.dM
        )
        return self._named(lyapunov_rate(s.E_psi, inner), "P")


def sko_direction(ops: Named, binding: Any, body: Any = None, dof: Any = 0) -> SKODirection:
    """The direction of dof `dof` of a node, without a node of the velocity; always the same object."""
    m = binding.functions
    step: tuple[str | None, int] = (None, 0)
    if body is not None:
        k = m.tree.number(body)
        if not m.nvs[k]:
            raise ModelError(f"node {m.names[k]!r} has no dofs to differentiate along.")
        whole = isinstance(dof, (int, np.integer)) and not isinstance(dof, bool)
        if not whole or not 0 <= dof < m.nvs[k]:
            raise ModelError(f"dof must be a number from 0 to {m.nvs[k] - 1} at node {m.names[k]!r}, got {dof!r:.60}.")
        step = m.names[k], int(dof)
    if step not in ops.directions:
        ops.directions[step] = SKODirection(ops, *step)
    found = ops.directions[step]
    assert isinstance(found, SKODirection)
    return found

