"""Fixed tendons: springs and dampers that act on a weighted sum of coordinates.

    L = sum of c q,   tension = stiffness (L - rest) + damping Ldot,   force on each dof = -c tension

They are records here, part of a model's structure; `soacraft.model.flat.passive` gives their force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.tree.names import one_dof
from soacraft.model.tree.parts.closures import make_attributes
from soacraft.model.tree.parts.records import Attributes, Plain
from soacraft.spatial.checks import finite

if TYPE_CHECKING:
    from soacraft.model.tree.graph import Graph


@dataclass(frozen=True, eq=False)
class Tendon(Plain):
    """A spring and a damper along L, the sum of `c q` over the dofs of `terms`. Made by `mb.add_tendon`.

    `rest` is the range of L (low, high) in which the spring is slack; one number stands for both.
    """

    name: str
    terms: Mapping[str, float]
    stiffness: float = 0.0
    damping: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    attributes: Attributes = field(default_factory=dict)

    def __repr__(self) -> str:
        length = " + ".join(f"{c:g} {dof}" for dof, c in self.terms.items())
        low, high = self.rest
        rest = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        return f"tendon {self.name!r}: L = {length}, stiffness {self.stiffness:g} from {rest}, damping {self.damping:g}"


def make_tendon(
    graph: Graph, name: str, terms: Any, stiffness: Any, damping: Any, rest: Any, attributes: Any
) -> Tendon:
    """A tendon on coordinates of a model, checked."""
    what = f"tendon {name!r}"
    k = float(finite(stiffness, (), f"the stiffness of {what}")) + 0.0  # no negative zeros
    d = float(finite(damping, (), f"the damping of {what}")) + 0.0
    several = isinstance(rest, list | tuple | np.ndarray) and np.ndim(rest) > 0
    low, high = np.broadcast_to(finite(rest, (2,) if several else (), f"the rest length of {what}"), (2,))
    if low > high:
        raise ModelError(f"the rest length of {what} goes from {low:g} up to {high:g}: give the lower end first.")
    kept = make_attributes(attributes, what)
    return Tendon(name, _read_terms(name, terms, graph), k, d, (float(low) + 0.0, float(high) + 0.0), kept)


def _read_terms(name: str, terms: Any, graph: Graph) -> Mapping[str, float]:
    if not isinstance(terms, Mapping) or not terms:
        raise ModelError(f"tendon {name!r} needs {{dof: coefficient, ...}}, got {terms!r:.60}.")
    read: dict[str, float] = {}
    for given, coefficient in terms.items():
        dof = one_dof(graph, given, f"tendon {name!r}", coordinate=True)
        if dof in read:
            raise ModelError(f"tendon {name!r} names dof {dof!r} twice; name it once.")
        read[dof] = float(finite(coefficient, (), f"the coefficient of {dof!r} in tendon {name!r}"))
    return MappingProxyType(read)
