"""`reduce`: from an FE model to the modal data of a flexible body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from soacraft.errors import ModelError, near
from soacraft.flexible.bases import (
    Basis,
    Partition,
    Wanted,
    free_modes,
    held_modes,
    read_wanted,
    residual_modes,
    static_modes,
)
from soacraft.flexible.damping import modal_damping
from soacraft.flexible.fe import FEModel, read_node, times
from soacraft.flexible.interfaces import Interface, find_interface
from soacraft.flexible.moments import field_moments, rigid_mass, shapes_at_points
from soacraft.flexible.reach import reach_note
from soacraft.flexible.recovery import recovered
from soacraft.flexible.second import SecondOrder, second_order
from soacraft.flexible.skins import skin_of
from soacraft.flexible.unit_loads import unit_loads
from soacraft.model.modal import ModalData, ModalNode
from soacraft.progress import Bar
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

METHODS = ("craig_bampton", "fixed", "free", "guyan", "rubin")
#: Mass properties of the rigid motions of an FE model and of its points agree to this part of them.
SAME_MASS = 1e-6
#: Numbers that FE nodes may take which nobody named.
KEPT = 2_000_000
#: A rigid motion costs at most this part of the stiffness of the dofs it moves.
UNSTRAINED = 1e-8


def reduce(
    fe: FEModel,
    interfaces: Sequence[str],
    method: str = "craig_bampton",
    modes: int | None = None,
    below: float | None = None,
    *,
    damping: Any = None,
    residual: bool = False,
    geometric: bool | None = None,
    orthonormal: bool = False,
    nodes: Iterable[int] = (),
    progress: bool = False,
) -> ModalData:
    """The modes of a flexible body from its FE model. The body frame is that of the FE model, and moves with the first
    interface (with the mean motion for "free" and "rubin").

    "craig_bampton"  static modes of the interfaces after the first, and normal modes with all interfaces held
    "guyan"          the static modes alone
    "fixed"          normal modes with the first interface held
    "free"           normal modes of the free body
    "rubin"          those and residual modes of the interfaces, as `residual=True` adds them to "free" and "fixed"

    `modes` is the number of normal modes, or `below` the frequency in Hz up to which all are taken. A static mode has
    the motion of its interface as coordinate (m or rad), others have modal mass 1. With `orthonormal=True` the modes
    are combined so that M = I and K is diagonal. `damping` is the damping ratio of the body's own vibrations, one for
    all or one for each. `geometric` adds the second-order displacement of beams, from which geometric stiffening comes;
    it is left out where the model has none, unless True is given. `nodes` are FE nodes with turns that the body
    has from the start, as "fe:17"; the others are added on request, `body.add_node("sensor", on="fe:17")`.

    `progress` shows a bar once it takes over a second. Cost: one sparse factor, a solve for each static mode, some tens
    of solves for the normal modes.

    >>> import soacraft.flexible as fx
    >>> fe = fx.beam(2.0, fx.Tube(0.05, 0.002), fx.Elastic(70e9, 0.33, 2700.0), elements=8)
    >>> root, tip = fe.interface("root", at=(0, 0, 0)), fe.interface("tip", at=(2, 0, 0))
    >>> fx.reduce(fe, ["root", "tip"], modes=4, damping=0.01)
    ModalData(10 modes, mass 3.32506, nodes: root, tip; with geometric stiffening)
    """
    if not isinstance(fe, FEModel):
        raise ModelError(f"an FE model is needed to reduce it, got {fe!r:.60}; make one with fx.beam or fx.frame.")
    chosen = _read_interfaces(fe, interfaces)
    if method == "macneal":
        raise ModelError(
            "method 'macneal' drops the mass of its residual modes, and a coordinate without mass has no acceleration; "
            "use 'rubin', which has the same modes and keeps their mass."
        )
    if method not in METHODS:
        raise ModelError(f"there is no method {method!r:.40} of reduction{near(str(method), METHODS)}")
    with Bar(f"reducing {fe.size} dofs", 0, 10, progress) as bar:
        part = Partition(fe, chosen)
        notes = [*fe.notes, *_checked(fe)]
        bar.at(1)
        basis = _basis(part, method, read_wanted(method, modes, below), residual)
        if not basis.kinds:
            raise ModelError(f"method {method!r} gives no modes here; ask for some, or for a second interface.")
        bar.at(5)
        X = times(part.T, basis.X)
        K, kinds = _symmetric(basis.X.T @ times(part.K, basis.X)), tuple(basis.kinds)
        moments = field_moments(fe.points, fe.masses, shapes_at_points(fe, X))
        if orthonormal:
            turn, kinds = _diagonal(K, moments["M"])
            X, K = X @ turn, _symmetric(turn.T @ K @ turn)
            moments = field_moments(fe.points, fe.masses, shapes_at_points(fe, X))
        Z = basis.X @ turn if orthonormal else basis.X
        bar.at(6)
        second, said = _second(part, X, Z, method, geometric)
        bar.at(9)
        nodes_kept = [read_node(fe, i) for i in (nodes if isinstance(nodes, Iterable) else [nodes])]
        rest = _others(part, X, second, nodes_kept)
        if fe.dofs == 6 and not rest and len(nodes_kept) < len(fe.nodes):
            notes.append(f"FE nodes are not kept, they take more than {KEPT} numbers: name some with nodes=[...]")
        data = ModalData(
            **moments,
            K=K,
            D=modal_damping(K, moments["M"], damping),
            S=None if second is None else second.S,
            T=None if second is None else second.T,
            nodes=_nodes(part, X, Z, second, nodes_kept),
            fe_nodes=rest,
            kinds=kinds,
            points=fe.nodes.copy(),
            shapes=X.reshape(len(fe.nodes), fe.dofs, -1)[:, :3].copy(),
            skin=skin_of(fe, X, second),
            recovery=recovered(fe, X),
            notes=(*notes, *basis.notes, said),
        )
        return replace(data, notes=(*data.notes, *reach_note(data)))


def _read_interfaces(fe: FEModel, interfaces: Any) -> list[Interface]:
    if isinstance(interfaces, str):
        interfaces = [interfaces]
    if not isinstance(interfaces, Iterable):
        raise ModelError(f"interfaces are a list of names, got {interfaces!r:.60}.")
    chosen = [find_interface(fe, x.name if isinstance(x, Interface) else x) for x in interfaces]
    if not chosen:
        raise ModelError("a body needs at least one interface: the first is the one that its frame moves with.")
    if len({x.name for x in chosen}) < len(chosen):
        raise ModelError(f"interfaces must differ, got {[x.name for x in chosen]!r}.")
    return chosen


def _basis(part: Partition, method: str, wanted: Wanted, residual: bool) -> Basis:
    if residual and method in ("craig_bampton", "guyan"):
        raise ModelError(f"method {method!r} has the static modes of its interfaces already; leave out residual=True.")
    if method in ("craig_bampton", "guyan"):
        return static_modes(part) + held_modes(part, part.inside, wanted)
    free = method != "fixed"
    if free:
        normal = free_modes(part, wanted)
    else:
        normal = held_modes(part, np.concatenate([part.inside, part.others]), wanted)
    if residual or method == "rubin":
        return normal + residual_modes(part, normal, free)
    return normal


def _checked(fe: FEModel) -> list[str]:
    """The rigid motions of the model: no strain, and the mass properties of its points. What was found, as notes."""
    R = fe.rigid_motions()
    strain = np.einsum("ij,ij->j", R, times(fe.K, R))
    size = np.einsum("ij,i,ij->j", R, np.abs(fe.K.diagonal()), R)
    part = np.abs(strain) / np.where(size > 0.0, size, 1.0)
    worst = int(np.argmax(part))
    if part[worst] > UNSTRAINED:
        motion = f"{('a move along', 'a turn about')[worst // 3]} {'xyz'[worst % 3]}"
        raise ModelError(
            f"{motion} of the rigid body strains the FE model ({part[worst]:.2g} of the stiffness of its dofs): K "
            "holds supports or springs to the ground, or the nodes are not where K was made. Give K of the free body; "
            "the hinge supports it."
        )
    weight = times(fe.masses, fe.points)
    computed = rigid_mass(fe.mass, weight.sum(axis=0), fe.points.T @ weight)
    by_dofs = R.T @ times(fe.M, R)
    scale = np.sqrt(np.repeat((computed[0, 0], np.diagonal(computed)[3:].max()), 3))
    off = float(np.abs((by_dofs - computed) / np.outer(scale, scale)).max())
    if off > SAME_MASS:
        raise ModelError(
            f"the mass properties of the FE model's rigid motions differ from those of its points by {off:.2g} of "
            f"them: mass {by_dofs[0, 0]:.6g} and {computed[0, 0]:.6g}. Its points, masses and dofs do not belong "
            "together."
        )
    return [
        f"rigid motions have no strain: at most {part[worst]:.1g} of the stiffness of their dofs",
        f"mass properties of the rigid motions and of the points agree to {off:.1g}",
    ]


def _diagonal(K: Array, M: Array) -> tuple[Array, tuple[str, ...]]:
    """Combinations of modes with M = I and K diagonal, and words for them."""
    mu, turn = eigh(_symmetric(M), K)  # by the inverse, in which the lowest vibrations are the sharpest
    mu, turn = mu[::-1], turn[:, ::-1]
    hz = 1.0 / (2.0 * np.pi * np.sqrt(mu))
    return np.asarray(turn / np.sqrt(mu)), tuple(f"combined {f:.6g} Hz" for f in hz)


def _second(part: Partition, X: Array, Z: Array, method: str, geometric: bool | None) -> tuple[SecondOrder | None, str]:
    """The second-order displacement where the model has one, and a note."""
    if geometric is False:
        return None, "no geometric stiffening: it was switched off"
    fe, chosen = part.fe, part.chosen
    several = next((x.name for x in chosen[1:] if x.by != "node"), None)
    if fe.elements and several is None:
        return second_order(fe, X, chosen[0].nodes), "geometric stiffening by the second-order displacement of beams"
    if fe.solid is not None and method not in ("free", "rubin") and not fe.carried:
        return unit_loads(part, fe.solid, X, Z), "geometric stiffening by geometric stiffness of unit loads"
    if fe.elements:
        why, cure = f"interface {several!r} is of several nodes", "name single nodes"
    elif fe.solid is None:
        why, cure = "the FE model has matrices alone", "make it with fx.beam, fx.frame or fx.solid"
    elif fe.carried:
        why, cure = "point masses on a solid", "add them as bodies"
    else:
        why, cure = "free modes of a solid", "reduce with 'craig_bampton' or 'fixed', then fx.rereference(data, 'mean')"
    if geometric:
        raise ModelError(f"geometric=True cannot be met: {why}; {cure}, or use geometric=False.")
    return None, f"no geometric stiffening: {why}"


def _nodes(part: Partition, X: Array, Z: Array, second: SecondOrder | None, numbers: list[int]) -> dict[str, ModalNode]:
    nodes = {}
    for k, each in enumerate(part.chosen):
        index = each.nodes[0] if part.fe.elements else k
        nodes[each.name] = _node(np.array(each.at), Z[part.interface(k)], second, index)
    for i in numbers:
        if part.fe.dofs == 3:
            raise ModelError(f"FE node {i} has no turns, as a node of a body has; name an interface by='RBE3' there.")
        nodes[f"fe:{i}"] = _node(part.fe.nodes[i], X[6 * i : 6 * i + 6], second, i)
    return nodes


def _others(part: Partition, X: Array, second: SecondOrder | None, numbers: list[int]) -> dict[str, ModalNode]:
    """The other FE nodes with turns, where there are not too many numbers of them."""
    fe, n = part.fe, X.shape[1]
    if fe.dofs == 3 or len(fe.nodes) * 6 * n * (1 if second is None else 1 + n) > KEPT:
        return {}
    others = (i for i in range(len(fe.nodes)) if i not in set(numbers))
    order = second if fe.elements else None
    return {f"fe:{i}": _node(fe.nodes[i], X[6 * i : 6 * i + 6], order, i) for i in others}


def _node(place: Array, motion: Array, second: SecondOrder | None, i: int) -> ModalNode:
    more = {} if second is None else {"gam2": second.gam2[i], "lam2": second.lam2[i]}
    return ModalNode(Pose(translation=place), gam=motion[:3], lam=motion[3:], **more)


def _symmetric(X: Array) -> Array:
    return np.asarray(0.5 * (X + X.T))
