"""`frame`: joints and members between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from soacraft.arguments import whole_number
from soacraft.errors import ModelError, near
from soacraft.flexible.elements import BeamElement, assemble, element
from soacraft.flexible.fe import FEModel
from soacraft.flexible.materials import Elastic
from soacraft.flexible.sections import Shape
from soacraft.spatial.checks import finite


@dataclass(frozen=True)
class Member:
    """A straight beam between two joints of a frame, rigidly joined at both, of some elements."""

    start: str
    end: str
    section: Shape
    material: Elastic
    elements: int = 4
    theory: str = "timoshenko"
    up: Any = None


def frame(joints: Mapping[str, Any], members: Sequence[Member]) -> FEModel:
    """Beams between named joints: {name: place}, and `Member`s. Nodes: the joints in their order, then those inside of
    the members. A joint is an interface by its name: `fe.interface("root", at="a")`.

    >>> import soacraft.flexible as fx
    >>> bar, steel = fx.Circle(0.01), fx.Elastic(200e9, 0.3, 7850.0)
    >>> members = [fx.Member("a", "b", bar, steel), fx.Member("b", "c", bar, steel)]
    >>> fx.frame({"a": (0, 0, 0), "b": (1, 0, 0), "c": (1, 1, 0)}, members)
    FEModel(9 nodes, 54 dofs, mass 4.932; interfaces: none)
    """
    names = {name: k for k, name in enumerate(joints)}
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ModelError("joints of a frame are {name: place} with names that are texts.")
    nodes = [finite(place, (3,), f"the place of joint {name!r}") for name, place in joints.items()]
    lines: list[tuple[list[int], Member]] = []
    if not members:
        raise ModelError("a frame needs members; give fx.Member(start, end, section, material).")
    for each in members:
        if not isinstance(each, Member):
            raise ModelError(f"members of a frame are fx.Member(start, end, section, material), got {each!r:.60}.")
        for end in (each.start, each.end):
            if end not in names:
                raise ModelError(f"member {each.start!r}-{each.end!r} has no joint {end!r}{near(str(end), names)}")
        n = whole_number(each.elements, f"the number of elements of member {each.start!r}-{each.end!r}", 1)
        a, b = nodes[names[each.start]], nodes[names[each.end]]
        inside = list(range(len(nodes), len(nodes) + n - 1))
        nodes += [a + (b - a) * k / n for k in range(1, n)]
        lines.append(([names[each.start], *inside, names[each.end]], each))
    places = np.array(nodes)
    elements: list[BeamElement] = []
    for line, each in lines:
        name = f"member {each.start!r}-{each.end!r}"
        for i, j in pairwise(line):
            elements.append(element(places, i, j, each.section, each.material, each.theory, each.up, name))
    used = {i for e in elements for i in e.nodes}
    lonely = next((name for name, k in names.items() if k not in used), None)
    if lonely is not None:
        raise ModelError(f"joint {lonely!r} of the frame has no member; leave it out or join it.")
    return assemble(places, elements, names)
