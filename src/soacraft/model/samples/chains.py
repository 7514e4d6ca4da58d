"""Serial chains for examples, tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy.typing as npt

from soacraft.arguments import whole_number
from soacraft.errors import ModelError
from soacraft.model.hinges import Hinge, Pin
from soacraft.model.tree.composed_model import STANDARD_GRAVITY
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import finite
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose


def serial_chain(
    n: int,
    hinge: Hinge | Sequence[Hinge] | Callable[[int], Hinge] | None = None,
    length: float = 1.0,
    mass: float = 1.0,
    gravity: npt.ArrayLike = STANDARD_GRAVITY,
    name: str = "chain",
) -> Multibody:
    """A chain of n equal rods along x, the first on the inertial frame, the last with a node `tip`.

    Each hinge is at its rod's inboard end: one hinge for all, one for each, or a function of the link's
    number (from 1). The default is a pin about y, so that the chain swings under gravity.

    >>> mb = serial_chain(3, length=0.5)
    >>> mb, mb.pose("link3/tip").translation
    (Multibody 'chain': 3 bodies, 3 dofs, array([1.5, 0. , 0. ]))
    """
    n = whole_number(n, "the number of links of a serial chain", 1)
    mb = Multibody(name, gravity)
    rod = _rod(float(finite(mass, (), "mass of a link")), float(finite(length, (), "length of a link")))
    step = Pose(translation=(length, 0.0, 0.0))
    parent = None
    for k, each in enumerate(_hinges(n, hinge)):
        parent = mb.add_body(f"link{k + 1}", parent, each, rod, inboard=None if parent is None else step)
    assert parent is not None
    parent.add_node("tip", step)
    return mb


def _rod(mass: float, length: float) -> Inertia:
    """A slender rod of small thickness along x from the origin; its thickness keeps every moment positive."""
    moment = Inertia.cylinder(mass, radius=0.05 * length, length=length, axis=(1.0, 0.0, 0.0)).moment
    return Inertia(mass, (0.5 * length, 0.0, 0.0), moment)


def _hinges(n: int, hinge: Hinge | Sequence[Hinge] | Callable[[int], Hinge] | None) -> list[Hinge]:
    if hinge is None:
        hinge = Pin(axis=(0.0, 1.0, 0.0))
    if isinstance(hinge, Hinge):
        return [hinge] * n
    if callable(hinge):
        return [hinge(k + 1) for k in range(n)]
    if len(hinge) != n:
        raise ModelError(f"{n} links but {len(hinge)} hinges; give one hinge for each link or one for all.")
    return list(hinge)
