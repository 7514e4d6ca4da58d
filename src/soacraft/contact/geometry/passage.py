"""Test for a step that may lead two shapes through each other: its end alone does not tell from which side they came.

Two convex shapes that are apart by g along n when a step begins come closer along it by at most

    D = s + 4/27 h (c0 + c1) + r_a phi_a + r_b phi_b

with s what their origins come closer by, c0 and c1 the speeds of approach at its begin and of parting at its end (a
cubic with these slopes leaves its chord by no more), phi the angles that they turn by and r how far turning moves their
points; seen from the inertial frame or from one of them, whichever gives least. Together they are at least T thick: the
sum of their least widths, and of the clearance between them. Less than half of that deep the way out still
is the way in, so that a step with

    D <= max(g, -T/5) + 2/5 T

ends with both on the side from which they came. What rests comes no closer, and is never too fast. A solid of triangles
counts as a hundredth of its extent, a surface of triangles as nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Two shapes come no closer than this part of their thickness in the least step that is asked for.
LEAST = 0.2


@dataclass(frozen=True)
class Passing:
    """Two shapes that a step may lead through each other."""

    a: str
    b: str
    part: float
    """The part of the step that does not, of which zero is left where they have no thickness."""
    closer: float
    """Approach of the two in it, in metres,"""
    gap: float
    """from which gap,"""
    thick: float
    """and how thick they are together."""

    def longest(self, h: float) -> float:
        """The step, for one of h, with which they come closer by so little that no gap matters."""
        return LEAST * h * self.thick / self.closer

    def __repr__(self) -> str:
        return (
            f"{self.a!r} and {self.b!r}, {self.thick:.3g} m thick together, come up to {self.closer:.3g} m closer from "
            f"a gap of {self.gap:.3g} m"
        )
