"""Fixed tendons: springs and dampers that act on a weighted sum of coordinates.

    L = sum of c q,   tension = stiffness (L - rest) + damping Ldot,   force on each dof = -c tension

They are records here, part of a model's structure; `soacraft.model.flat.passive` gives their force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from soacraft.model.tree.parts.curves import Curve
from soacraft.model.tree.parts.laws import law_text
from soacraft.model.tree.parts.records import Attributes, Plain


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
