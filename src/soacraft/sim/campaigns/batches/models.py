"""Dynamics of many runs whose models differ in inertias, armatures, dampers and springs.

The mass matrix and the forces at rest of vdot are linear in the ten inertial parameters of a body, in armature, damping
and stiffness. So those of a run are a sum over a few variants of the model, each evaluated for all runs at once:

    Mcal(q) = sum over variants j of c(j) Mcal_j(q),     C(q,v) - passive = sum of c(j) (C_j - passive_j),
    vdot = Mcal^-1 (T - C + passive),        sum of c(j) = 1

A variant is the model with a point mass added to a body (at the centre of mass where the mass alone varies; otherwise
at the ten places and spreads that make all inertias), or with more armature, damping or stiffness. What variants there
are depends on the names of the parameters alone, so that a run has the same bits in any batch. O(variants n + nv^3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.analysis.parametric.derivatives import sizes_of
from soacraft.analysis.parametric.physical import ten_of_pseudo, unit_matrix
from soacraft.analysis.parametric.vocabulary import (
    PER_DOF,
    Found,
    Parameter,
    inertia_of,
    read_parameters,
    ten_of,
    values_of,
    write,
)
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.campaigns.variations import read_parameter
from soacraft.sim.systems.plants.inertias import inertia_at
from soacraft.sim.systems.plants.plant import Plant
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia

#: Kinds of parameters in which the dynamics are linear, directly or through the ten parameters of a body.
_INERTIAL = ("mass", "com", "moment", "inertia")
LINEAR = (*_INERTIAL, *PER_DOF)
#: Dofs that are eliminated for all runs at once: with more of them LAPACK is faster.
_FEW = 3
#: Numbers of runs.
Runs = npt.NDArray[np.intp]


class Variant(NamedTuple):
    """A copy of the model with one parameter of dynamics that is larger, and by how much each run has it."""

    mb: Multibody
    weight: Array
    moves_mass: bool
    """True if its mass matrix is another one,"""
    moves_force: bool
    """and the force at rest."""


class LaneModels:
    """The models of the runs of a batch: `values` are {plant: {parameter: (runs)}}."""

    def __init__(self, mb: Multibody, plants: Mapping[str, Plant], values: Mapping[str, Mapping[str, Array]]) -> None:
        self._mb = mb
        self._inertias: dict[int, list[Inertia]] = {}
        variants: list[Variant] = []
        for path, columns in values.items():
            plant = plants[path]
            numbers = tuple(read_parameter(plant.mb, name) for name in columns)
            table = np.stack(list(columns.values()), axis=1)
            self._inertias |= _inertias(numbers, table)
            for body in dict.fromkeys(x.owner for x in numbers if x.kind in _INERTIAL):
                mass_alone = all(x.kind == "mass" for x in numbers if x.owner is body)
                lanes = self._inertias[id(body)]
                variants += _of_inertia(mb, plant.seat.frame(body), body, lanes, mass_alone)
            variants += [
                _of_dof(mb, plant.seat.frame(x.owner), x, column)
                for x, column in zip(numbers, table.T, strict=True)
                if x.kind in PER_DOF
            ]
        self._mass = [x for x in variants if x.moves_mass]
        self._force = [x for x in variants if x.moves_force]

    def accelerations(self, q: Array, v: Array, force: Array, runs: Runs) -> Array:
        """vdot of some of the runs under a force."""
        if not self._mass and not self._force:
            return dyn.forward_dynamics(self._mb, q, v, force, threads=1)
        zero = np.zeros_like(v)
        M = _sum(self._mass, (1, 1), runs, lambda mb: dyn.mass_matrix(mb, q, threads=1), self._mb)
        C = _sum(self._force, (1,), runs, lambda mb: dyn.inverse_dynamics(mb, q, v, zero, threads=1), self._mb)
        return solve_each(M, force - C)

    def inertia_at(self, port: str, frame: Frame, count: int) -> Array:
        """Mass, centre of mass or moment of the body that carries a node of a plant, of each run."""
        body = frame.carrier
        lanes = self._inertias.get(id(body))
        if lanes is None:
            return np.array([inertia_at(port, frame)] * count)
        assert isinstance(body, Body)
        before, rows = body.inertia, []
        try:
            for body.inertia in lanes:
                rows.append(inertia_at(port, frame))
        finally:
            body.inertia = before
        return np.array(rows)


def solve_each(M: Array, f: Array) -> Array:
    """M^-1 f of many symmetric positive definite M, (runs, n, n). Few dofs are eliminated for all runs at once, without
    pivots, which such matrices do not need; LAPACK takes the others one by one. O(runs n^3)."""
    n = M.shape[-1]
    if n > _FEW:
        return np.asarray(np.linalg.solve(M, f[..., None])[..., 0])
    A, x = np.array(M.transpose(1, 2, 0)), np.array(f.T)
    for i in range(n):
        for j in range(i + 1, n):
            factor = A[j, i] / A[i, i]
            A[j, i + 1 :] -= factor * A[i, i + 1 :]
            x[j] -= factor * x[i]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]
    return np.ascontiguousarray(x.T)


def _sum(variants: Sequence[Variant], axes: tuple[int, ...], runs: Runs, value: Any, mb: Multibody) -> Array:
    base = np.asarray(value(mb))
    total = base
    for x in variants:
        total = total + x.weight[runs].reshape(-1, *axes) * (np.asarray(value(x.mb)) - base)
    return total


def _inertias(numbers: Found, table: Array) -> dict[int, list[Inertia]]:
    """The inertias of bodies of which a part varies, of each run; what no model has is refused."""
    columns = [i for i, x in enumerate(numbers) if x.kind in _INERTIAL]
    inertial = tuple(numbers[i] for i in columns)
    before = {x.owner: x.owner.inertia for x in inertial}
    lanes: dict[int, list[Inertia]] = {id(body): [] for body in before}
    try:
        for row in table[:, columns] if before else ():
            write("a campaign", inertial, row)
            for body in before:
                lanes[id(body)].append(body.inertia)
    finally:
        for body, inertia in before.items():
            body.inertia = inertia
    return lanes


def _of_inertia(mb: Multibody, frame: Frame, body: Body, lanes: Sequence[Inertia], mass_alone: bool) -> list[Variant]:
    """The variants of a body: point masses that are added to it, in units of its mass and length."""
    units = sizes_of(mb, read_parameters("a campaign", mb, f"{frame.full_name}.inertia"))
    mass, length, base = units[0], units[1] / units[0], ten_of(body.inertia)
    if mass_alone:
        added = [ten_of(Inertia.point(mass, body.inertia.com))]
    else:
        corners = [np.eye(4)[i] + (np.eye(4)[j] if i != j else 0.0) for i in range(4) for j in range(i + 1)]
        scale = unit_matrix(mass, length)
        added = [ten_of_pseudo(np.outer(scale * z, scale * z)) for z in corners]
    other = np.array([ten_of(x) for x in lanes]) - base
    inverse = np.linalg.pinv((np.array(added) / units).T)
    weights = (inverse[:, None, :] * (other / units)).sum(axis=-1)  # run by run, in one order however many there are
    return [
        Variant(_copy(mb, frame, "inertia", inertia_of(base + extra)), weight, True, True)
        for extra, weight in zip(added, weights, strict=True)
    ]


def _of_dof(mb: Multibody, frame: Frame, x: Parameter, column: Array) -> Variant:
    """The variant of armature, damping or stiffness of a dof."""
    (unit,) = sizes_of(mb, (x._replace(owner=frame),))
    value = float(values_of((x,))[0])
    other = mb.copy()
    write("a campaign", (x._replace(owner=other.frame(frame.full_name)),), np.array([value + unit]))
    return Variant(other, (column - value) / unit, x.kind == "armature", x.kind != "armature")


def _copy(mb: Multibody, frame: Frame, name: str, value: Any) -> Multibody:
    other = mb.copy()
    setattr(other.frame(frame.full_name), name, value)
    return other
