"""`beam`: a straight beam of equal elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.arguments import whole_number
from soacraft.errors import ModelError
from soacraft.flexible.elements import assemble, element
from soacraft.flexible.fe import FEModel
from soacraft.flexible.materials import Elastic
from soacraft.flexible.sections import Shape
from soacraft.spatial.checks import finite, number_text, unit


def beam(
    length: float,
    section: Shape,
    material: Elastic,
    elements: int = 20,
    theory: str = "timoshenko",
    axis: Any = (1.0, 0.0, 0.0),
    up: Any = None,
) -> FEModel:
    """A straight beam from the origin along `axis`, with `elements` equal elements; nodes are numbered along it.

    `theory` is "timoshenko" (with shear) or "euler" (sections stay normal to the axis). Rotary and torsional inertia of
    the sections are included in both. `up` is a direction in the plane xz of the section (`elements.element`).

    >>> import soacraft.flexible as fx
    >>> fx.beam(2.0, fx.Rectangle(0.02, 0.005), fx.Elastic(200e9, 0.3, 7850.0), elements=10, theory="euler")
    FEModel(11 nodes, 66 dofs, mass 1.57; interfaces: none)
    """
    size = float(finite(length, (), "the length of a beam"))
    if size <= 0.0:
        raise ModelError(f"the length of a beam must be positive, got {number_text(size)}.")
    n = whole_number(elements, "the number of elements of a beam", 1)
    nodes = np.linspace(0.0, size, n + 1)[:, None] * unit(axis, "the axis of a beam")
    return assemble(nodes, [element(nodes, k, k + 1, section, material, theory, up) for k in range(n)])
