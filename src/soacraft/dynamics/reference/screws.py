"""The screws of all dofs in the inertial frame, and how they change along each dof.

    S_i = Ad(T_k) H*(k) e      for dof i of body k

A step along dof c turns every screw outboard of its hinge, and those of its own hinge also where H varies:

    dS_i/dq_c = crm(S_c) S_i  (+ Ad(T_k) dH*_c e for dofs of the same hinge)   if hinge c is inboard of or at hinge i
              = 0                                                              elsewhere
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.problem import Problem
from soacraft.model.hinges.base import dH_of
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import adjoint, crm


class Screws:
    """The screws of a graph at the configurations of a problem; [angular; linear] at the inertial origin."""

    def __init__(self, p: Problem) -> None:
        self.p = p

    @cached_property
    def to_world(self) -> Array:
        """Ad(T_k), from twists in body axes to the inertial frame, (..., n, 6, 6)."""
        return adjoint(*self.p.state.configuration.world)

    @cached_property
    def S(self) -> Array:
        """All screws as columns (..., 6, nv). O(n)."""
        p = self.p
        S = np.zeros((*p.batch, 6, p.nv))
        for group, H_T in zip(p.layout.groups, p.state.configuration.maps, strict=True):
            moved = self.to_world[..., group.bodies, :, :] @ H_T  # (..., bodies, 6, nv_k)
            S[..., group.v_index.ravel()] = np.moveaxis(moved, -3, -2).reshape(*moved.shape[:-3], 6, -1)
        return S

    @cached_property
    def dof_body(self) -> npt.NDArray[np.intp]:
        """The body of each dof."""
        sizes = [where.stop - where.start for where in self.p.layout.v_slices]
        return np.repeat(np.arange(self.p.n), sizes)

    @cached_property
    def inboard(self) -> npt.NDArray[np.bool_]:
        """[c, k]: whether body c is body k or inboard of it, (n, n)."""
        n, parents = self.p.n, self.p.layout.parents
        found = np.zeros((n, n), dtype=np.bool_)
        for k in self.p.layout.tree.base_to_tips():
            if parents[k] >= 0:
                found[:, k] = found[:, parents[k]]
            found[k, k] = True
        return found

    @cached_property
    def own(self) -> list[tuple[slice, Array]]:
        """For bodies whose H varies: their dofs, and Ad(T_k) dH* as (..., 6, nv_k, nv_k), [:, i, c] of S_i along c."""
        p, found = self.p, []
        q = p.full("q")
        for group in p.layout.groups:
            if group.hinge.constant_H or not group.hinge.nv:
                continue
            dH = p.layout.to_body[group.bodies][..., None, :, :] @ dH_of(group.hinge, q[..., group.q_index])
            moved = self.to_world[..., group.bodies, None, :, :] @ dH  # (..., bodies, c, 6, i)
            for j, k in enumerate(group.bodies):
                found.append((p.layout.v_slices[k], np.moveaxis(moved[..., j, :, :, :], -3, -1)))
        return found

    def along(self) -> Array:
        """dS_i/dq_c as (..., 6, nv, nv), [:, i, c]. O(nv^2)."""
        body = self.dof_body
        moves = self.inboard[body][:, body].T  # [i, c]: hinge c is inboard of or at hinge i
        d = np.einsum("...cab,...bi->...aic", crm(np.moveaxis(self.S, -1, -2)), self.S) * moves
        for where, own in self.own:
            d[..., where, where] += own
        return np.asarray(d)
