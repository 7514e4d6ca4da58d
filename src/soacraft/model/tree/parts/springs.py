"""Springs and bushings between nodes: records, part of a model's structure; `soacraft.model.flat.links` is their law.

    spring     tension = stiffness (L - rest) + damping Ldot          along the line through its nodes, of length L;
               f(L) and g(Ldot) where curves are given
    bushing    on b, in its axes: -J* (K x + D xdot),  x = log(rest^-1 X_ab),  xdot = J (twist of b relative to a)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.modal.refusals import require_point
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.frames.owner import HasFrames
from soacraft.model.tree.parts.curves import Curve
from soacraft.model.tree.parts.laws import law_text, make_law
from soacraft.model.tree.parts.records import Attributes, Plain, make_attributes
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.pose import Pose

#: Largest difference of the halves of a stiffness or damping matrix, relative to the largest entry of one unit:
#: rounding.
_SYMMETRIC = 1e-12


@dataclass(frozen=True, eq=False)
class Spring(Plain):
    """A spring and a damper along the line from node to node. Made by `mb.add_spring`.

    `rest` is the range of lengths (low, high), in metres, in which the spring is slack. A curve in place of the
    stiffness gives the force over the length, one in place of the damping the force over its rate.
    """

    name: str
    nodes: tuple[Frame, ...]
    stiffness: float | Curve = 0.0
    damping: float | Curve = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    attributes: Attributes = field(default_factory=dict)

    @property
    def is_damped(self) -> bool:
        """True if it has a damper."""
        return isinstance(self.damping, Curve) or self.damping != 0.0

    @property
    def is_plain(self) -> bool:
        """True if its pull is stiffness times the vector between two nodes, which has no direction to lose."""
        by_number = not isinstance(self.stiffness, Curve) and not self.is_damped
        return by_number and self.rest == (0.0, 0.0) and len(self.nodes) == 2

    def __repr__(self) -> str:
        path = " to ".join(repr(x.full_name) for x in self.nodes)
        return f"spring {self.name!r}: {path}, {law_text(self, ' m')}"


@dataclass(frozen=True, eq=False)
class Bushing(Plain):
    """An elastic joint of six stiffnesses between two nodes. Made by `mb.add_bushing`.

    It is at rest where node b has the pose `rest` relative to node a.
    """

    name: str
    a: Frame
    b: Frame
    stiffness: Array
    damping: Array
    rest: Pose
    attributes: Attributes = field(default_factory=dict)

    def __repr__(self) -> str:
        numbers = [" ".join(f"{x:g}" for x in np.diag(m)) for m in (self.stiffness, self.damping)]
        return (
            f"bushing {self.name!r}: {self.b.full_name!r} on {self.a.full_name!r}, stiffness [{numbers[0]}], damping "
            f"[{numbers[1]}]"
        )


def make_spring(
    mb: HasFrames, name: str, a: Any, b: Any, stiffness: Any, length: Any, damping: Any, through: Any, attributes: Any
) -> Spring:
    """A spring between nodes of a model, checked."""
    what = f"spring {name!r}"
    if b is None:
        raise ModelError(f"{what} is between two nodes, or along {{dof: ratio, ...}}; give node_b.")
    if isinstance(through, str | Frame) or not isinstance(through, Iterable):
        raise ModelError(f"{what} goes through a list of nodes, got through={through!r:.60}.")
    nodes: tuple[Frame, ...] = tuple(mb.frame(x) for x in (a, *through, b))
    for node in nodes:
        require_point(node, "let it act at", what)
    _require_bodies(what, nodes)
    k, d, rest = make_law(what, stiffness, damping, length, "length")
    if rest[0] < 0.0:
        raise ModelError(f"the length at rest of {what} must be >= 0, got {rest[0]:g}.")
    return Spring(name, nodes, k, d, rest, make_attributes(attributes, what))


def refuse_nodes(name: str, b: Any, through: Any) -> None:
    """Raise for a spring along a combination of dofs that is given nodes too."""
    if b is not None or tuple(through):
        raise ModelError(
            f"spring {name!r} is along a combination of dofs, which has no nodes; leave out node_b and through."
        )


def make_bushing(
    mb: HasFrames, name: str, a: Any, b: Any, stiffness: Any, damping: Any, rest: Any, attributes: Any
) -> Bushing:
    """A bushing between nodes of a model, checked."""
    what = f"bushing {name!r}"
    ends: tuple[Frame, Frame] = mb.frame(a), mb.frame(b)
    for end in ends:
        require_point(end, "let it act at", what)
    _require_bodies(what, ends)
    if rest is not None and (not isinstance(rest, Pose) or rest.batch_shape):
        raise ModelError(f"rest of {what} is the Pose of node b relative to node a, got {rest!r:.60}.")
    K, D = (_matrix(x, f"the {n} of {what}") for x, n in _numbers(stiffness, damping))
    return Bushing(name, *ends, K, D, rest or Pose(), make_attributes(attributes, what))


def _numbers(stiffness: Any, damping: Any) -> tuple[tuple[Any, str], tuple[Any, str]]:
    return (stiffness, "stiffness"), (damping, "damping")


def _require_bodies(what: str, nodes: tuple[Frame, ...]) -> None:
    carriers = {x.carrier for x in nodes}
    if len(carriers) < 2:
        raise ModelError(
            f"{what}: all its nodes are on {nodes[0].carrier.name!r}, where it would do nothing; it acts between two "
            "bodies, or a body and the inertial frame."
        )


def _matrix(given: Any, what: str) -> Array:
    """Six numbers for a diagonal one, or a symmetric matrix; turns first."""
    x = finite(given, (...,), what)
    x = finite(x, (6, 6) if x.ndim == 2 else (6,) if x.ndim else (), what)
    if x.ndim < 2:
        return frozen(np.diag(np.broadcast_to(x, (6,))) + 0.0)
    of_one_unit = np.abs(x).reshape(2, 3, 2, 3).max(axis=(1, 3))  # N m/rad, N/rad and N/m are not compared
    gap = np.abs(x - x.T)
    if (gap > _SYMMETRIC * np.maximum(of_one_unit, of_one_unit.T).repeat(3, 0).repeat(3, 1)).any():
        raise ModelError(f"{what} must be symmetric; it differs from its transpose by {gap.max():.3g}.")
    return frozen(0.5 * (x + x.T))
