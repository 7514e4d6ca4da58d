"""Fixed tendons: springs and dampers that act on a weighted sum of coordinates.

    L = sum of c q,   tension = stiffness (L - rest) + damping Ldot,   force on each dof = -c tension

They are records here, part of a model's structure; `soacraft.model.flat.passive` gives their force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from soacraft.errors import ModelError
from soacraft.model.tree.names import one_dof
from soacraft.model.tree.parts.closures import make_attributes
from soacraft.model.tree.parts.curves import Curve
from soacraft.model.tree.parts.laws import law_text, make_law
from soacraft.model.tree.parts.records import Attributes, Plain
from soacraft.spatial.checks import finite

if TYPE_CHECKING:
    from soacraft.model.tree.graph import Graph


@dataclass(frozen=True, eq=False)
class Tendon(Plain):
    """A spring and a damper along L, the sum of `c q` over the dofs of `terms`. Made by `mb.add_tendon`.

    `rest` is the range of L (low, high) in which the spring is slack; a single number is used for both. A curve in
    place of the stiffness gives the tension over L, one in place of the damping over its rate.
    """

    name: str
    terms: Mapping[str, float]
    stiffness: float | Curve = 0.0
    damping: float | Curve = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    attributes: Attributes = field(default_factory=dict)

    def __repr__(self) -> str:
        length = " + ".join(f"{c:g} {dof}" for dof, c in self.terms.items())
        return f"tendon {self.name!r}: L = {length}, {law_text(self)}"


def make_tendon(
    graph: Graph, name: str, terms: Any, stiffness: Any, damping: Any, rest: Any, attributes: Any
) -> Tendon:
    """A tendon on coordinates of a model, checked."""
    what = f"tendon {name!r}"
    k, d, range_ = make_law(what, stiffness, damping, rest, "rest length")
    return Tendon(name, _read_terms(name, terms, graph), k, d, range_, make_attributes(attributes, what))


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
