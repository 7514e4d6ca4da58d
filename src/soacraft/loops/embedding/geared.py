"""Geared hinges in closed form: rotors eliminated, one number more in the node of each link (formula F12).

A rotor r on the parent p of link k turns by mu times the hinge of k. With its spin momentum k_r = M(r) H*(r), its spin
inertia J = H(r) M(r) H*(r) and c = phi(p,r) k_r / J, the square of its kinetic energy is completed by the spin

    sigma = c* V(p) + mu v(k),      M(p) -> M(p) + phi(p,r) (M(r) - k_r k_r*/J) phi*(p,r)

so that link k has the node velocity [V(k); sigma] and

    A(p,k) = [phi(p,k)  c],    H(k) = [H(k)  mu],    M(k) = diag(M(k), J)
    b_sigma = k_r* a(r) + H(r) b(r),    b(p) -> b(p) + phi(p,r) (M(r) a(r) + b(r)) - c b_sigma

For a symmetric rotor J c* V(p) is J_m times the turning of the parent about the axis: the mass matrix is that with the
rotor welded, plus mu^2 J_m e e* + mu J_m (e w* + w e*).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft.algebra.spaces.tree import Tree
from soacraft.errors import LoopError, SingularError
from soacraft.model.flat.sko import EntryUnits, SKOModel
from soacraft.model.sizes.measure import CLOSED
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.parts.gears import DEPENDENT
from soacraft.spatial.checks import Array


@dataclass(frozen=True)
class Gear:
    """A rotor and the link it drives, by number, and the ratio."""

    link: int
    rotor: int
    ratio: float


def gears_of(graph: Graph) -> list[Gear]:
    """The geared hinges of a graph that has no other loops or couplings."""
    others = [x.name for x in graph.loops if x.active]
    others += [x.name for x in graph.couplings if x.active and DEPENDENT not in x.attributes]
    if others:
        raise LoopError(
            f"{', '.join(map(repr, others))} of {graph.name!r} are no geared hinges, so there is no closed form; use "
            "sc.loops.ConstraintEmbedding(mb)."
        )
    body = {body.hinge_name: k for k, body in enumerate(graph.bodies)}
    tree, gears = graph.topology, []
    for x in graph.couplings:
        if x.active:
            rotor = str(x.attributes[DEPENDENT])
            link = next(dof for dof in x.terms if dof != rotor)
            r, k = body[rotor], body[link]
            if len(x.terms) != 2 or not x.linear or tree.children(r) or tree.parent(r) != tree.parent(k):
                raise LoopError(
                    f"coupling {x.name!r} of {graph.name!r} is not one of mb.add_geared_hinge: its rotor must be a tip "
                    "on the parent of its link. Use sc.loops.ConstraintEmbedding(mb)."
                )
            gears.append(Gear(k, r, -x.terms[link][0] / x.terms[rotor][0]))
    return gears


def geared_sko(graph: Graph, state: State | None = None) -> SKOModel:
    """The SKO model of a tree with geared hinges, in the dofs of its links: nodes of size 7, no rotor bodies. O(n).

    The state (default: the current one) must agree with the gears in v. Its dofs are those of the tree without the
    rotors, in the same order.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.loops.embedding.geared import geared_sko
    >>> mb = sc.Multibody("arm")
    >>> link, rotor = sc.Inertia(1.0, (0.5, 0, 0), np.eye(3)), sc.Inertia(0.1, (0, 0, 0), 0.01 * np.eye(3))
    >>> _ = mb.add_geared_hinge("upper", None, sc.Pin((0, 0, 1)), link, ratio=10, rotor=rotor)
    >>> s = sc.operators(geared_sko(mb))                # 1 + 0.25 of the link, 10^2 0.01 of the rotor
    >>> (s.H * s.phi * s.M * s.phi.T * s.H.T).array()
    array([[2.25]])
    """
    gears = gears_of(graph)
    state = graph.current if state is None else state
    _check_speeds(graph, state, gears)
    tree = graph.sko(state)
    A = list(tree.edges)
    H, M, a, b = ([f(k) for k in tree.nodes] for f in (tree.H, tree.M, tree.a, tree.b))
    for gear in gears:
        _eliminate(tree, gear, A, H, M, a, b)
    keep = [k for k in tree.nodes if k not in {gear.rotor for gear in gears}]
    number = {k: i for i, k in enumerate(keep)} | {-1: -1}
    parents = [number[tree.parent(k)] for k in keep]
    A_kept = [_padded(A[k], len(M[tree.parent(k)]) if tree.parent(k) >= 0 else 0) for k in keep]
    names = Tree(parents, [tree.names[k] for k in keep])
    H, M, a, b = ([x[k] for k in keep] for x in (H, M, a, b))
    words = [(tree.units.body[k] + tree.units.hinge[k])[: m.shape[-1]] for k, m in zip(keep, M, strict=True)]
    units = EntryUnits(tuple(words), tuple(tree.units.hinge[k] for k in keep))
    return SKOModel.trusted(names, A_kept, H, M, lambda: a, lambda: b, units=lambda: units)


def _eliminate(
    tree: SKOModel, gear: Gear, A: list[Array | None], H: list[Array], M: list[Array], a: list[Array], b: list[Array]
) -> None:
    """Take one rotor out: its link's node grows by its spin, its parent's inertia by the rest."""
    k, r, p = gear.link, gear.rotor, tree.parent(gear.rotor)
    spin = tree.M(r) @ tree.H(r)[0]
    J = float(tree.H(r)[0] @ spin)
    if not J > 0.0:
        raise SingularError(f"rotor {tree.names[r]!r} has no moment of inertia about its axis; give it one.")
    push = float(spin @ tree.a(r) + tree.H(r)[0] @ tree.b(r))
    above = A[k]
    if p >= 0 and above is not None:
        phi = tree.A(p, r)
        c = phi @ spin / J
        size = len(c)
        M[p] = M[p].copy()
        b[p] = b[p].copy()
        M[p][:size, :size] += phi @ (tree.M(r) - np.outer(spin, spin) / J) @ phi.T
        b[p][:size] += phi @ (tree.M(r) @ tree.a(r) + tree.b(r)) - c * push
        A[k] = np.concatenate([above, c[:, None]], axis=1)
    H[k] = np.concatenate([H[k], [[gear.ratio]]], axis=1)
    n = len(M[k])
    M[k] = np.block([[M[k], np.zeros((n, 1))], [np.zeros((1, n)), np.array([[J]])]])
    a[k], b[k] = np.append(a[k], 0.0), np.append(b[k], push)


def _padded(block: Array | None, rows: int) -> Array | None:
    """Rows of zeros for the spins in the parent's node."""
    if block is None or len(block) == rows:
        return block
    return np.concatenate([block, np.zeros((rows - len(block), block.shape[1]))])


def _check_speeds(graph: Graph, state: State, gears: list[Gear]) -> None:
    for gear in gears:
        link, rotor = (state.v[..., graph.layout.v_slices[k].start] for k in (gear.link, gear.rotor))
        off = np.max(np.abs(rotor - gear.ratio * link), initial=0.0)
        if state.batch or off > CLOSED * float(np.max(np.abs([rotor, gear.ratio * link]), initial=0.0)):
            what = "a batch of states" if state.batch else f"off by {off:.3g} rad/s"
            raise LoopError(
                f"the rotor {graph.bodies[gear.rotor].name!r} of {graph.name!r} does not turn with its gear: {what}. "
                f"Set v of the rotor to {gear.ratio:g} times that of the link, at one state."
            )
