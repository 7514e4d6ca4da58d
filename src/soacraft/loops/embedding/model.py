"""The SKO model of a tree in which groups of bodies are compound bodies (003 section III-A; 004 section 8).

With the group's own A_S = (I - E_S)^-1, H_S, M_S, and v_S = X v_i, vdot_S = X vdot_i + x0 (formula F5),
a compound node has

    V_S = col of member velocities,    A(p,S) = B_p A_S,    H = X* H_S A_S,    M = M_S
    a = A_S* (a_S + H_S* x0),    b = b_S,    A(S,c) = e_j phi(j,c)  for a child of member j

so that for the whole, with Xt = X extended by identities,  Mcal = Xt* Mcal_tree Xt,  C = Xt* (C_tree + Mcal_tree x0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from soacraft.kinematics.independent import Indices, ranges
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import Sizes
from soacraft.kinematics.tolerances import OPEN_ROWS, ZERO
from soacraft.loops.embedding.groups import Group, Units
from soacraft.loops.embedding.split import Solved, Split, solve
from soacraft.model.flat.sko import EntryUnits, SKOModel
from soacraft.spatial.checks import Array


class Compound:
    """One group of bodies at one state: its own operators, and the rows that tie it."""

    def __init__(
        self, one: Constraints, tree: SKOModel, group: Group, gamma: Array, dependent: frozenset[int]
    ) -> None:
        self.group, layout = group, one.graph.layout
        ends = np.cumsum([0, *(tree.dims[k] for k in group.members)]).tolist()
        self.at = {k: slice(i, j) for k, i, j in zip(group.members, ends[:-1], ends[1:], strict=True)}
        """Slice of each member's velocity in that of the compound body."""
        self.dofs = np.concatenate(
            [np.arange(layout.v_slices[k].start, layout.v_slices[k].stop) for k in group.members]
        ).astype(np.intp)
        """The dofs of its members, in the order of the members."""
        numbers = self.dofs.tolist()
        self.split = Split(
            tuple(i for i, dof in enumerate(numbers) if dof in dependent),
            tuple(i for i, dof in enumerate(numbers) if dof not in dependent),
        )
        self.size = int(ends[-1])
        self._sweep(tree)
        self._tie(one, gamma)

    def _sweep(self, tree: SKOModel) -> None:
        """H_S A_S and B_p A_S; the columns of a child from those of its parent."""
        group, at = self.group, self.at
        HA = np.zeros((len(self.dofs), self.size))
        p = group.parent
        carry = np.zeros((tree.dims[p], self.size)) if p >= 0 else None
        done = 0
        for k in group.members:
            q = tree.parent(k)
            if q in at:
                step = tree.A(q, k)
                HA[:, at[k]] = HA[:, at[q]] @ step
                if carry is not None:
                    carry[:, at[k]] = carry[:, at[q]] @ step
            elif carry is not None:
                carry[:, at[k]] = tree.A(p, k)
            H = tree.H(k)
            HA[done : done + len(H), at[k]] += H
            done += len(H)
        self.HA, self.carry = HA, carry

    def scattered(self, tree: SKOModel, x: Array) -> Array:
        """A_S* x, member by member."""
        y = x.copy()
        for k in self.group.members:
            q = tree.parent(k)
            if q in self.at:
                y[self.at[k]] += tree.A(q, k).T @ y[self.at[q]]
        return y

    def _tie(self, one: Constraints, gamma: Array) -> None:
        """Set G and gamma in G vdot + gamma = 0, the rows of its closures and couplings."""
        local = {int(dof): i for i, dof in enumerate(self.dofs)}
        rows = [np.zeros((0, len(local)))]
        numbers: list[int] = []
        places = dict(one.places)
        for loop in one.loops:
            if loop.name in self.group.ties:
                block = np.zeros((loop.size, len(local)))
                for k, W in loop.W.items():  # what moves with the parent of the group moves no row
                    if k in self.at:
                        block += W @ self.HA[:, self.at[k]].T
                rows.append(block)
                numbers += range(places[loop.name].start, places[loop.name].stop)
        for coupling in one.couplings:
            if coupling.name in self.group.ties:
                block = np.zeros((1, len(local)))
                for dof, rate in coupling.rates.items():
                    block[0, local[dof]] = rate
                rows.append(block)
                numbers.append(places[coupling.name].start)
        self.rows = np.array(numbers, dtype=np.intp)
        """Positions of its rows among all."""
        self.G, self.gamma = np.concatenate(rows), gamma[self.rows]
        self.units, self.dof_units = one.units[self.rows], one.measure.dofs[self.dofs]
        self.scaled = self.G / self.units[:, None] / self.dof_units
        """G with rows and dofs in their units."""
        self.zero = max(ZERO, OPEN_ROWS * float(np.max(np.abs(one.open_by[self.rows] / self.units), initial=0.0)))
        """Part of them that is rounding, or the opening of the loops."""

    @cached_property
    def solved(self) -> Solved:
        """X and x0, solved for in the units of rows and dofs."""
        scaled, d = solve(self.scaled, self.gamma / self.units, self.split), self.dof_units
        X = scaled.X * d[list(self.split.independent)] / d[:, None]
        return replace(scaled, X=X, x0=scaled.x0 / d, G_d=self.G[:, list(self.split.dependent)])

    def multipliers(self, residual: Array, rank: int) -> Array:
        """lambda of least norm with G* lambda = left, for G of known rank."""
        everywhere = np.ones(self.G.shape, dtype=np.bool_)
        spaces = ranges(self.G, rank, Sizes(self.units, self.dof_units, everywhere))
        return np.asarray(spaces.inverse(self.G).T @ residual)


class EmbeddedModel:
    """A tree with compound bodies at one state, for one choice of independent dofs."""

    def __init__(
        self,
        one: Constraints,
        tree: SKOModel,
        units: Units,
        dependent: Indices | None = None,
        gamma: Array | None = None,
    ) -> None:
        self.one, self.tree, self.units, self.graph = one, tree, units, one.graph
        gamma = one.gamma if gamma is None else gamma
        numbers = frozenset[int]() if dependent is None else frozenset(dependent.tolist())
        self.compounds = {
            u: Compound(one, tree, group, gamma, numbers)
            for u, group in enumerate(units.groups)
            if units.is_compound(u)
        }

    @cached_property
    def solved(self) -> dict[int, Solved]:
        """X and x0 of the compound bodies."""
        return {u: compound.solved for u, compound in self.compounds.items()}

    # -- dofs ----------------------------------------------------------------------------------------------------

    @cached_property
    def parts(self) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
        """The independent dofs of each unit, as numbers of tree dofs."""
        slices = self.graph.layout.v_slices
        parts = []
        for u, group in enumerate(self.units.groups):
            if u not in self.compounds:
                parts.append(np.arange(slices[group.members[0]].start, slices[group.members[0]].stop, dtype=np.intp))
            else:
                parts.append(self.compounds[u].dofs[list(self.compounds[u].split.independent)])
        return parts

    @cached_property
    def independent(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """The independent dofs, as numbers of tree dofs, in the order of the units."""
        return np.concatenate([np.zeros(0, dtype=np.intp), *self.parts])

    @property
    def rank(self) -> int:
        """The number of dependent dofs."""
        return self.graph.nv - len(self.independent)

    def reduced(self, force: Array) -> list[Array]:
        """Xt* T by unit, columns (nv_u, m) from tree-sized columns (nv, m)."""
        return [
            self.solved[u].X.T @ force[self.compounds[u].dofs] if u in self.compounds else force[self.parts[u]]
            for u in range(len(self.parts))
        ]

    def expanded(self, v: Array) -> Array:
        """Xt v, tree-sized (nv, ...) from independent (n_i, ...)."""
        rates = np.zeros((self.graph.nv, *v.shape[1:]))
        at = 0
        for u, part in enumerate(self.parts):
            part_of_v = v[at : at + len(part)]
            at += len(part)
            if u in self.compounds:
                rates[self.compounds[u].dofs] = self.solved[u].X @ part_of_v
            else:
                rates[part] = part_of_v
        return rates

    @cached_property
    def x0(self) -> Array:
        """vdot = Xt vdot_i + x0, (nv)."""
        rates = np.zeros(self.graph.nv)
        for u, compound in self.compounds.items():
            rates[compound.dofs] = self.solved[u].x0
        return rates

    @property
    def Xt(self) -> Array:
        """Xt, dense (nv, n_i)."""
        return self.expanded(np.eye(len(self.independent)))

    # -- blocks --------------------------------------------------------------------------------------------------

    def place(self, k: int) -> tuple[int, slice]:
        """The unit of body k, and where its velocity is in that of the unit."""
        u = self.units.of[k]
        return u, self.compounds[u].at[k] if u in self.compounds else slice(0, self.tree.dims[k])

    def stacked(self, parts: Sequence[Array], u: int) -> Array:
        """Arrays of a unit's members, one below the other."""
        return np.concatenate([parts[k] for k in self.units.groups[u].members])

    @cached_property
    def sko(self) -> SKOModel:
        """The SKO model of the units. O(n), cubic in the size of a group."""
        tree, units = self.tree, self.units
        A: list[Array | None] = []
        H, M = [], []
        for u, group in enumerate(units.groups):
            compound = self.compounds.get(u)
            edge = compound.carry if compound is not None else tree.edges[group.members[0]]
            A.append(None if edge is None else self._into_parent(group.parent, edge))
            H.append(tree.H(group.members[0]) if compound is None else self.solved[u].X.T @ compound.HA)
            M.append(tree.M(group.members[0]) if compound is None else self._inertia(compound))
        return SKOModel.trusted(
            units.tree, A, H, M, self._a, self._b, lock=self._bent_too_far, units=self._entry_units
        )

    def _bent_too_far(self, u: int, index: tuple[int, ...]) -> str | None:
        """Message for a unit without inertia to move where a flexible body is bent too far; None otherwise."""
        return self.one.state.configuration.bent_too_far(index)

    def _entry_units(self) -> EntryUnits:
        body, dofs = self.tree.units.body, "".join(self.tree.units.hinge)
        return EntryUnits(
            tuple("".join(body[k] for k in group.members) for group in self.units.groups),
            tuple("".join(dofs[i] for i in part) for part in self.parts),
        )

    def _into_parent(self, p: int, edge: Array) -> Array:
        """e_j phi(j, c): the rows of body p in the unit it belongs to."""
        u, place = self.place(p)
        if u not in self.compounds:
            return edge
        wide = np.zeros((self.compounds[u].size, edge.shape[1]))
        wide[place] = edge
        return wide

    def _inertia(self, compound: Compound) -> Array:
        M = np.zeros((compound.size, compound.size))
        for k, place in compound.at.items():
            M[place, place] = self.tree.M(k)
        return M

    def _a(self) -> list[Array]:
        tree = self.tree
        of_bodies = [tree.a(k) for k in tree.nodes]
        stacked = []
        for u in range(len(self.parts)):
            a = self.stacked(of_bodies, u)
            if u in self.compounds:
                compound, x0 = self.compounds[u], self.solved[u].x0
                a = compound.scattered(tree, a) + compound.HA.T @ x0
            stacked.append(a)
        return stacked

    def _b(self) -> list[Array]:
        of_bodies = [self.tree.b(k) for k in self.tree.nodes]
        return [self.stacked(of_bodies, u) for u in range(len(self.parts))]
