"""Moving along the tangent space of a graph: `integrate`, `difference`, and how they vary.

The laws are those of the hinges. Graphs of built-in hinges have a kernel for each, which takes plain arrays; all else,
and whatever is to be refused, goes hinge by hinge in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import StateError
from soacraft.model.flat.compiled import CompiledModel, fast_call
from soacraft.model.flat.steady import steady
from soacraft.model.flat.structure import Structure
from soacraft.model.hinges import Free, Spherical
from soacraft.model.hinges.base import Hinge, difference_of, has_coordinates, integrate_of
from soacraft.model.states.coordinates import common_batch, read_q, read_v
from soacraft.results import finite_or_refused
from soacraft.spatial.checks import Array
from soacraft.spatial.differences import STENCIL
from soacraft.spatial.rotations import exp, skew
from soacraft.spatial.transforms import log_rate, se3_exp

if TYPE_CHECKING:
    from soacraft.model.flat.layout import HingeGroup

Pair = tuple[Array, Array]


@steady
def integrate(graph: Structure, q: Any, dv: Any) -> Array:
    """The coordinates reached from q by the tangent vector dv."""
    q, dv = _broadcast(graph, q=read_q(graph, q), dv=read_v(graph, dv, "dv"))
    moved = np.empty(q.shape)
    with np.errstate(all="ignore"):
        for group in graph.layout.groups:
            moved[..., group.q_index] = integrate_of(group.hinge, q[..., group.q_index], dv[..., group.v_index])
        own = graph.layout.own
        moved[..., own.q] = q[..., own.q] + dv[..., own.v]
    return finite_or_refused(moved, f"integrate(q, dv) of {graph.name!r}")


@steady
def difference(graph: Structure, q0: Any, q1: Any) -> Array:
    """The tangent vector from q0 to q1."""
    q0, q1 = _broadcast(graph, q0=read_q(graph, q0, "q0"), q1=read_q(graph, q1, "q1"))
    dv = np.empty((*q0.shape[:-1], graph.nv))
    with np.errstate(all="ignore"):
        for group in graph.layout.groups:
            dv[..., group.v_index] = difference_of(group.hinge, q0[..., group.q_index], q1[..., group.q_index])
        own = graph.layout.own
        dv[..., own.v] = q1[..., own.q] - q0[..., own.q]
    return finite_or_refused(dv, f"difference(q0, q1) of {graph.name!r}")


@steady
def integrate_jacobians(graph: Structure, q: Any, dv: Any) -> Pair:
    """Derivatives of `integrate` with respect to q and dv."""
    refuse_nonholonomic(graph, "integrate_jacobians")
    q, dv = _broadcast(graph, q=read_q(graph, q), dv=read_v(graph, dv, "dv"))

    def of_group(group: HingeGroup) -> Pair:
        return integrate_rates(group.hinge, q[..., group.q_index], dv[..., group.v_index])

    return _blocks(graph, q.shape[:-1], of_group, (1.0, 1.0), "integrate_jacobians(q, dv)")


@steady
def difference_jacobians(graph: Structure, q0: Any, q1: Any) -> Pair:
    """Derivatives of `difference` with respect to q0 and q1."""
    refuse_nonholonomic(graph, "difference_jacobians")
    q0, q1 = _broadcast(graph, q0=read_q(graph, q0, "q0"), q1=read_q(graph, q1, "q1"))

    def of_group(group: HingeGroup) -> Pair:
        return _difference_rates(group.hinge, q0[..., group.q_index], q1[..., group.q_index])

    return _blocks(graph, q0.shape[:-1], of_group, (-1.0, 1.0), "difference_jacobians(q0, q1)")


def refuse_nonholonomic(graph: Structure, function: str) -> None:
    """Raise `StateError` for a hinge whose dofs do not span the ways its position can vary."""
    for body in graph.layout.bodies:
        if not body.hinge.holonomic:
            raise StateError(
                f"{function} of {graph.name!r}: hinge {body.hinge_name!r} ({body.hinge!r}) is nonholonomic, so its "
                f"{body.hinge.nv} dofs do not span the ways its position can vary and there is no Jacobian along dofs "
                "alone. Take a sub-graph without it, or another hinge."
            )


def quick(graph: Structure, function: Callable[..., Any], *arguments: str) -> Callable[..., Any]:
    """The quick call of one of these functions, made once for the layout of a graph; where there is none, itself."""
    layout = graph.layout
    plain = partial(function, graph)
    model = CompiledModel.any_of(layout) if layout.nv else None
    call = plain if model is None else fast_call(model, function.__name__, arguments, plain)
    layout.calls[function.__name__] = call
    return call


def _broadcast(graph: Structure, **given: Array) -> Pair:
    batch = common_batch(**given)
    first, second = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in given.values())
    return first, second


def _blocks(
    graph: Structure,
    batch: tuple[int, ...],
    of_group: Callable[[HingeGroup], Pair],
    of_own: tuple[float, float],
    what: str,
) -> Pair:
    """Blocks on the diagonal, by hinges; numbers on it for the coordinates of bodies themselves."""
    found = np.zeros((*batch, graph.nv, graph.nv)), np.zeros((*batch, graph.nv, graph.nv))
    with np.errstate(all="ignore"):
        for group in graph.layout.groups:
            rows, columns = group.v_index[:, :, None], group.v_index[:, None, :]
            for to, block in zip(found, of_group(group), strict=True):
                to[..., rows, columns] = block
    own = graph.layout.own.v
    for to, rate in zip(found, of_own, strict=True):
        to[..., own, own] = rate
    first, second = (finite_or_refused(x, f"{what} of {graph.name!r}") for x in found)
    return first, second


# -- of one hinge ----------------------------------------------------------------------------------------------------


def integrate_rates(hinge: Hinge, q: Array, dv: Array) -> Pair:
    """q exp(d) exp(dv) = q exp(dv) exp(Ad(exp(dv))^-1 d) and exp(dv + d) = exp(dv) exp(Jr(dv) d)."""
    if _plain(hinge, "integrate"):
        eye = np.broadcast_to(np.eye(hinge.nv), (*q.shape[:-1], hinge.nv, hinge.nv))
        return eye, eye
    if type(hinge) is Spherical:
        return exp(dv).mT, right_jacobian_of_turn(dv)
    if type(hinge) is Free:
        R, p = se3_exp(dv)
        return _adjoint_back(R, p), right_jacobian(dv)
    moved = integrate_of(hinge, q, dv)
    return (
        _varied(hinge, lambda d: difference_of(hinge, moved, integrate_of(hinge, integrate_of(hinge, q, d), dv)), q),
        _varied(hinge, lambda d: difference_of(hinge, moved, integrate_of(hinge, q, dv + d)), q),
    )


def _difference_rates(hinge: Hinge, q0: Array, q1: Array) -> Pair:
    """log(exp(-d) T) = x - Jr^-1(-x) d and log(T exp(d)) = x + Jr^-1(x) d."""
    if _plain(hinge, "difference"):
        eye = np.broadcast_to(np.eye(hinge.nv), (*q0.shape[:-1], hinge.nv, hinge.nv))
        return -eye, eye
    if type(hinge) is Spherical:
        w = difference_of(hinge, q0, q1)
        return -log_rate(-w), log_rate(w)
    if type(hinge) is Free:
        x = difference_of(hinge, q0, q1)
        return -np.asarray(np.linalg.inv(right_jacobian(-x))), np.asarray(np.linalg.inv(right_jacobian(x)))
    return (
        _varied(hinge, lambda d: difference_of(hinge, integrate_of(hinge, q0, d), q1), q0),
        _varied(hinge, lambda d: difference_of(hinge, q0, integrate_of(hinge, q1, d)), q0),
    )


def _plain(hinge: Hinge, function: str) -> bool:
    """True if a hinge has true coordinates, which are added and subtracted."""
    return has_coordinates(hinge) and getattr(type(hinge), function) is getattr(Hinge, function)


def right_jacobian_of_turn(w: Array) -> Array:
    """exp((w + d)~) = exp(w~) exp((Jr d)~): I - ((1 - cos t)/t^2) w~ + ((t - sin t)/t^3) w~ w~, t = |w|."""
    W, c = -skew(w), _turn_coefficients(w)
    return np.asarray(np.eye(3) + c[0] * W + c[1] * (W @ W))


def right_jacobian(x: Array) -> Array:
    """exp(x + d) = exp(x) exp(Jr d) for twists x = [w; v], [[Jr(w), 0], [Q, Jr(w)]]; with W = -w~, V = -v~ and t = |w|

        Q = V/2 + c1 (WV + VW + WVW) + c2 (WWV + VWW - 3 WVW) + c3 (WVWW + WWVW)
        c1 = (t - sin t)/t^3,   c2 = (t^2 + 2 cos t - 2)/(2 t^4),   c3 = (2 t - 3 sin t + t cos t)/(2 t^5)
    """
    W, V = -skew(x[..., :3]), -skew(x[..., 3:])
    _, c1, c2, c3 = _turn_coefficients(x[..., :3])
    WV, VW = W @ V, V @ W
    WVW = WV @ W
    J = np.zeros((*x.shape, 6))
    J[..., :3, :3] = J[..., 3:, 3:] = right_jacobian_of_turn(x[..., :3])
    J[..., 3:, :3] = 0.5 * V + c1 * (WV + VW + WVW) + c2 * (W @ WV + VW @ W - 3.0 * WVW) + c3 * (WVW @ W + W @ WVW)
    return J


def _turn_coefficients(w: Array) -> tuple[Array, ...]:
    """(1 - cos t)/t^2 and c1, c2, c3 of `right_jacobian`, (..., 1, 1). Below t = 2, where differences lose digits, sums
    over i of (-t^2)^i times 1/(2i + 2)!, 1/(2i + 3)!, 1/(2i + 4)!, (i + 1)/(2i + 5)!."""
    t = np.sqrt(np.sum(w * w, axis=-1))[..., None, None]
    small, safe = np.where(t < 2.0, t, 0.0), np.where(t < 2.0, 2.0, t)
    sine, cosine = np.sin(safe), np.cos(safe)
    closed = (
        (1.0 - cosine) / safe**2,
        (safe - sine) / safe**3,
        (safe**2 + 2.0 * cosine - 2.0) / (2.0 * safe**4),
        (2.0 * safe - 3.0 * sine + safe * cosine) / (2.0 * safe**5),
    )
    sums = [np.zeros(t.shape) for _ in closed]
    for i in range(13):
        for j, total in enumerate(sums):
            total += (i + 1 if j == 3 else 1) * (-(small**2)) ** i / math.factorial(2 * i + 2 + j)
    return tuple(np.where(t < 2.0, series, far) for series, far in zip(sums, closed, strict=True))


def _adjoint_back(R: Array, p: Array) -> Array:
    """Ad(T)^-1: a twist seen from the frame that T leads to, [[R*, 0], [-R* p~, R*]]."""
    X = np.zeros((*R.shape[:-2], 6, 6))
    X[..., :3, :3] = X[..., 3:, 3:] = R.mT
    X[..., 3:, :3] = -R.mT @ skew(p)
    return X


def _varied(hinge: Hinge, move: Callable[[Array], Array], q: Array) -> Array:
    """Rates of `move(d)` at d = 0 by central differences, for a hinge of the user's own."""
    columns = []
    for e in np.eye(hinge.nv):
        total = np.zeros((*q.shape[:-1], hinge.nv))
        for i, weight in STENCIL:
            step = np.broadcast_to(i * hinge.difference_step * e, total.shape)
            total += weight * (move(step) - move(-step))
        columns.append(total / hinge.difference_step)
    return np.stack(columns, axis=-1)
