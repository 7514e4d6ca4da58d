"""`Balance`: the energy balance of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Balance(NamedTuple):
    """The energy balance of a run: the work of forces, the growth of the energy, and the imbalance."""

    energy: float
    """Growth of kinetic and potential energy, at jumps of the state not counted."""
    work: Mapping[str, float]
    """The work of every force."""
    imbalance: float
    """The largest difference of the two over the run."""
    accuracy: float | None
    """Sum of the local errors of the integrator, as an energy; None if it estimates none."""
    gain: float = 0.0
    """The energy that contacts gave beyond restitution, where it is more than 1 % of what moves; else 0."""
    sunk: float = 0.0
    """Depth of shapes in each other beyond what the steps explain, in metres; else 0."""

    @property
    def holds(self) -> bool | None:
        """True if the imbalance is no more than the accuracy explains, and contacts give no energy and do not sink in;
        None if the accuracy is not known."""
        if self.gain or self.sunk:
            return False
        return None if self.accuracy is None else self.imbalance <= self.accuracy

    def __repr__(self) -> str:
        lines = [f"energy grew by   {self.energy: .6g} J"]
        lines += [f"work of {name!r}: {value: .6g} J" for name, value in self.work.items()]
        lines.append(f"imbalance        {self.imbalance: .3g} J")
        if self.gain:
            lines.append(f"contacts GAVE    {self.gain: .3g} J beyond restitution: take shorter steps")
        if self.sunk:
            lines.append(f"shapes SANK      {self.sunk: .3g} m deeper than the steps explain: take shorter steps")
        if self.accuracy is None:
            lines.append("accuracy         not known: the method estimates no error; compare with half the step")
        else:
            word = "explained by" if self.holds else "MORE than"
            lines.append(f"accuracy         {self.accuracy: .3g} J: the imbalance is {word} the integrator's error")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from soacraft.sim.runs.cards import balance_card

        return balance_card(self)
