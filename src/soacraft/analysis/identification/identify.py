"""Inertias that fit records of motion and force, stay physical, and say how well they are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soacraft import markup
from soacraft.analysis.finite import refusing_overflow
from soacraft.analysis.identification.fit import Block, fit, penalty
from soacraft.analysis.identification.records import Condensed, condensed, names_of, read_records
from soacraft.analysis.parametric.derivatives import sizes_of
from soacraft.analysis.parametric.physical import BASIS, pseudo_inertia
from soacraft.analysis.parametric.vocabulary import PER_DOF, Found, read_parameters, values_of, write
from soacraft.analysis.regressor import BaseParameters, combinations
from soacraft.cards import card, facts, part
from soacraft.dynamics.arguments import check_loops, read_graph
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array, finite

_EDGE = 1e-8  # a prior whose smallest eigenvalue is less, in units of the model, is at the edge
_THICKER = 1e-2  # what such a body gains of the model's length, as a radius of gyration
_SMALL_EXTRA = 1e-3  # the prior of armature, damping and stiffness that the model does not have, of its own scale
_EXACT = 1e-10  # noise below this part of the forces is rounding
_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Identified:
    """Parameters that fit records."""

    names: tuple[str, ...]
    values: Array
    """The parameters: physical, near the prior in what the records do not show."""
    base: BaseParameters
    """The combinations that the records show, with their values."""
    covariance: Array
    """(rank, rank): of the base parameters, from the noise alone."""
    deviations: Array
    """The standard deviation of each parameter, records and prior together; where it is that of the prior, records say
    nothing."""
    noise: Array
    """The standard deviation of the force along each dof: as given, or estimated."""
    singular_values: Array
    """Singular values of the records without units, relative to the largest: a small one is a combination that is
    hardly seen."""
    misfit: float
    """The sum of squares of the residual of the forces, in units of the noise, less that of the best unbounded fit:
    near zero unless the records ask for what no body has."""
    records: int

    @property
    def standard_errors(self) -> Array:
        """The standard deviations of the base parameters."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def unseen(self) -> int:
        """Number of combinations that the records do not show; the prior decides them."""
        return len(self.names) - self.base.rank

    def __repr__(self) -> str:
        seen = f"{self.base.rank} base parameters seen in {self.records} records"
        return f"Identified: {len(self.names)} parameters, {seen}, {self.unseen} combinations from the prior"

    def _repr_html_(self) -> str:
        columns = zip(self.names, self.values, self.deviations, strict=True)
        rows = [(name, f"{x:.6g}", f"{deviation:.2g}") for name, x, deviation in columns]
        table = markup.table(["parameter", "value", "standard deviation"], rows, more="names and values have all")
        seen = [("misfit", f"{self.misfit:.3g}"), ("noise by dof", markup.numbers(self.noise))]
        return card(repr(self), part("parameters", lambda: table, True), part("how well they fit", lambda: facts(seen)))


@refusing_overflow()
def identify(
    g: Any,
    records: Any,
    parameters: Any = None,
    *,
    noise: Any = None,
    prior: float = 1e-3,
    tolerance: float = 1e-9,
    apply: bool = False,
) -> Identified:
    """Fit parameters to records `{"q": (N, nq), "v": (N, nv), "vdot": (N, nv), "force": (N, nv)}`. O(N nv c^2), c
    parameters.

        minimise  sum of ((force - T(parameters)) / noise)^2 / 2  +  prior * sum of d(P, P_model)

    T is `inverse_dynamics`, with the model's springs, dampers and stored forces. It fits the inertias of all bodies
    with mass, or the named parameters: `link3.inertia`, `elbow.armature`, `elbow.damping`, `elbow.stiffness`, in all of
    which T is linear. Every P, the pseudo-inertia of a body, stays positive definite, whatever the noise: mass, moments
    and centre are those of some body. The model's own values are the prior: they decide combinations that the records
    cannot show, by the divergence d, which counts relative changes; `prior=1e-3` means that a change by thirty times is
    one standard deviation. A point mass or a rod takes a prior that is a little thicker.

    `noise` is the standard deviation of the force along each dof (nv); without it, it is estimated from the residual of
    the best fit. q, v and vdot are taken as exact. `base` names the combinations that the records show: singular values
    of the records without units, relative to the largest, above `tolerance`; `covariance` is theirs.

    Of a closed chain give its solver, `identify(sc.loops.ConstraintEmbedding(mb), records, noise=...)`: the forces
    along its independent dofs are fitted, in which the closures have no part.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import identify
    >>> mb = sc.load("arm7")
    >>> rng = np.random.default_rng(1)
    >>> q, v, vdot = (rng.standard_normal((100, 7)) for _ in range(3))
    >>> force = sc.dynamics.inverse_dynamics(mb, q, v, vdot) + 0.01 * rng.standard_normal((100, 7))
    >>> best = identify(mb, {"q": q, "v": v, "vdot": vdot, "force": force})
    >>> best
    Identified: 70 parameters, 43 base parameters seen in 100 records, 27 combinations from the prior
    >>> bool(np.allclose(best.noise, 0.01, rtol=0.3))
    True
    """
    solver = g if callable(getattr(g, "velocity_map", None)) else None
    graph = read_graph("identify", g if solver is None else g.graph)
    _refuse_loops(graph, solver)
    chosen = _read(graph, parameters)
    weight, small = _between("prior", prior, None), _between("tolerance", tolerance, 1.0)
    levels = None if noise is None else _noise(graph, noise)
    data = condensed(graph, chosen, read_records(graph, records), solver, levels)
    units, blocks, start = _blocks(graph, chosen)
    sigma = (
        np.ones(1)
        if solver is not None
        else levels
        if levels is not None
        else _estimated(graph, data, units, small)
    )
    R, y = _stacked(data, sigma, units)
    x = fit(R, y, blocks, start, weight)
    values = units * x
    best = np.linalg.lstsq(R, y, rcond=small)[0]
    misfit = float(np.sum((R @ x - y) ** 2) - np.sum((R @ best - y) ** 2))
    singular = np.asarray(np.linalg.svd(R, compute_uv=False), dtype=np.float64)
    base, covariance = _base(R, units, names_of(chosen), values, singular, small)
    A = np.concatenate([R, np.sqrt(weight) * penalty(blocks, x)[0]])
    deviations = units * np.linalg.norm(np.linalg.pinv(A), axis=1)
    result = Identified(
        names_of(chosen), values, base, covariance, deviations, levels if levels is not None else sigma,
        singular / singular[0], max(misfit, 0.0), data.states,
    )  # fmt: skip
    if apply:
        write("identify", chosen, values)
    return result


# -- arguments --------------------------------------------------------------------------------------------------------


def _refuse_loops(graph: Graph, solver: Any) -> None:
    if solver is not None:
        return
    try:
        check_loops("identify", graph, False)
    except LoopError as error:
        cure = "sc.analysis.identify(sc.loops.ConstraintEmbedding(mb), records, noise=...)"
        raise LoopError(f"{error} Or fit the closed chain: {cure}.") from None


def _read(graph: Graph, parameters: Any) -> Found:
    """The parameters to fit: given, or the inertias of all bodies with mass."""
    if parameters is None:
        parameters = [f"{body.name}.inertia" for body in graph.bodies if body.inertia.mass > 0.0]
        if not parameters:
            raise ModelError(f"identify: no body of {graph.name!r} has mass, so there is no prior to start from.")
    chosen = read_parameters("identify", graph, parameters)
    for i, x in enumerate(chosen):
        if x.kind not in ("inertia", *PER_DOF):
            raise ModelError(
                f"identify: {x.name!r} is none of what forces are linear in: inertia, armature, damping, stiffness. "
                "For others there is analysis.optimize."
            )
        ten = [y.number for y in chosen[i - x.number : i - x.number + 10] if y.owner is x.owner and y.kind == x.kind]
        if x.kind == "inertia" and ten != list(range(10)):
            raise ModelError(
                f"identify: {x.name!r} alone could make an inertia that no body has; give all of "
                f"'{x.owner.name}.inertia'."
            )
        if x.kind == "inertia" and x.owner.inertia.mass <= 0.0:
            raise ModelError(
                f"identify: body {x.owner.name!r} has no mass, so there is no prior; give it a guess of its inertia."
            )
    return chosen


def _between(name: str, value: Any, most: float | None) -> float:
    x = float(finite(value, (), f"{name} of identify", StateError))
    if x <= 0.0 or (most is not None and x >= most):
        end = "positive" if most is None else f"between 0 and {most:g}"
        raise StateError(f"{name} of identify must be {end}, got {x:g}.")
    return x


def _noise(graph: Graph, noise: Any) -> Array:
    x = finite(noise, () if np.ndim(noise) == 0 else (graph.nv,), "noise of identify", StateError)
    sigma = np.broadcast_to(x, graph.nv).copy()
    if not (sigma > 0.0).all():
        raise StateError(f"noise of identify must be positive, got {float(sigma.min()):g}.")
    return sigma


# -- the problem without units ----------------------------------------------------------------------------------------


class _Scaled(NamedTuple):
    units: Array
    blocks: list[Block]
    start: Array


def _blocks(graph: Graph, parameters: Found) -> _Scaled:
    """Units of the parameters, the matrices that stay positive, and where to start: at the prior."""
    L, now, sizes = scale_of(graph).length, values_of(parameters), sizes_of(graph, parameters)
    units, blocks, i = sizes.copy(), [], 0
    start = np.zeros(len(parameters))
    while i < len(parameters):
        if parameters[i].kind == "inertia":
            part, m = slice(i, i + 10), parameters[i].owner.inertia.mass
            units[part] = m * np.array([1.0] + 3 * [L] + 6 * [L * L])
            start[part] = now[part] / units[part]
            if float(np.linalg.eigvalsh(pseudo_inertia(start[part]))[0]) < _EDGE:
                start[i + 4 : i + 10] += 2.0 * _THICKER**2 * np.array([1.0, 0, 0, 1.0, 0, 1.0])
            blocks.append(Block(part, BASIS, pseudo_inertia(start[part])))
        else:
            part = slice(i, i + 1)
            units[i] = now[i] if now[i] > 0.0 else _SMALL_EXTRA * sizes[i]
            start[i] = 1.0
            blocks.append(Block(part, np.ones((1, 1, 1)), np.ones((1, 1))))
        i = part.stop
    return _Scaled(units, blocks, start)


def _stacked(data: Condensed, sigma: Array, units: Array) -> tuple[Array, Array]:
    """R and y of all rows in units of the noise, condensed to a triangle."""
    T = data.triangles / sigma[:, None, None]
    triangle = np.asarray(np.linalg.qr(T.reshape(-1, T.shape[-1]), mode="r"))
    return triangle[:, :-1] * units, triangle[:, -1]


def _estimated(graph: Graph, data: Condensed, units: Array, small: float) -> Array:
    """The noise along each dof from what the best fit leaves, each weighed by its own: sigma_j^2 = |r_j|^2 / (N - h_j),
    h_j the share of row j in the parameters fitted.
    """
    if not data.sizes.any():
        raise StateError(f"records of identify: no force acts on {graph.name!r}, so they show nothing.")
    sizes = np.where(data.sizes > 0.0, data.sizes, _forces_of(graph))
    sigma = sizes.copy()
    for _ in range(_ROUNDS):
        R, y = _stacked(data, sigma, units)
        U, s, V = np.linalg.svd(R, full_matrices=False)
        keep = s > small * s[0]
        x = V[keep].T @ ((U[:, keep].T @ y) / s[keep])
        residuals, share = np.empty(len(sigma)), np.empty(len(sigma))
        for j, T in enumerate(data.triangles):
            residuals[j] = np.linalg.norm((T[:, :-1] * units) @ x - T[:, -1])
            share[j] = np.sum(((T[:, :-1] * units / sigma[j]) @ V[keep].T / s[keep]) ** 2)
        spare = data.states - share
        if (spare < 0.5).any():
            j = int(np.argmin(spare))
            raise StateError(
                f"records of identify: {data.states} states are too few to estimate the noise along dof "
                f"{graph.dof_names[j]!r} and {int(keep.sum())} combinations of parameters; give noise=, or more."
            )
        before, sigma = sigma, np.maximum(residuals / np.sqrt(spare), _EXACT * sizes)
        if np.allclose(before, sigma, rtol=1e-6, atol=0.0):
            break
    return sigma


def _forces_of(graph: Graph) -> Array:
    """The size of forces along each dof from the model's own mass, length and time: for dofs that no force acts on."""
    (L, t), mass = scale_of(graph), sum(body.inertia.mass for body in graph.bodies) or 1.0
    return np.asarray(mass * (L / t) ** 2 / scale_of(graph).of("".join(graph.layout.units.hinge)))


def _base(
    R: Array, units: Array, names: tuple[str, ...], values: Array, singular: Array, small: float
) -> tuple[BaseParameters, Array]:
    """The combinations that are seen, and their covariance (R_b* R_b)^-1."""
    rank = int(np.sum(singular > small * singular[0]))
    leading, basis = combinations(R, small, rank)
    half = np.linalg.inv(np.linalg.qr(R[:, leading], mode="r"))
    covariance = np.outer(units[leading], units[leading]) * (half @ half.T)
    basis = units[leading][:, None] * basis / units
    return BaseParameters(tuple(names[i] for i in leading), leading, basis, basis @ values), covariance
