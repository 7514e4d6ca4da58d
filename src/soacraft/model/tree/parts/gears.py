"""Hinges driven through a gear: a rotor next to the link, tied to it by a coupling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from soacraft.errors import ModelError
from soacraft.model.hinges import Pin
from soacraft.model.hinges.base import Hinge
from soacraft.model.tree.frames.frame import Body, Root
from soacraft.spatial.checks import finite
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody

#: The attribute of a coupling that names the dof which should not be independent.
DEPENDENT = "dependent"


def add_geared_hinge(
    mb: Multibody,
    name: str,
    parent: Body | Root | str | None,
    hinge: Hinge | None,
    inertia: Inertia | None,
    ratio: float,
    rotor: Inertia,
    rotor_axis: Any = None,
    rotor_pose: Pose | None = None,
    inboard: Pose | None = None,
    outboard: Pose | None = None,
    hinge_name: str | None = None,
) -> Body:
    """`Multibody.add_geared_hinge`."""
    if not isinstance(hinge, Hinge) or hinge.nv != 1:
        raise ModelError(f"geared hinge {name!r}: a hinge of one dof is geared, such as Pin(...), got {hinge!r:.60}.")
    value = float(finite(ratio, (), f"the ratio of geared hinge {name!r}"))
    if value == 0.0:
        raise ModelError(f"geared hinge {name!r}: the ratio is zero, so the rotor would stand still; use mb.add_body.")
    axis = getattr(hinge, "axis", None) if rotor_axis is None else rotor_axis
    if axis is None:
        raise ModelError(f"geared hinge {name!r}: {hinge!r} has no axis for the rotor; give rotor_axis=(x, y, z).")
    spin = Pin(axis)
    if not isinstance(rotor, Inertia):
        raise ModelError(f"geared hinge {name!r}: the rotor must be an Inertia(mass, com, moment), got {rotor!r:.60}.")
    known = {*mb._tree.bodies, *mb._tree.hinges, *mb.couplings.names}
    taken = [x for x in (f"{name}_rotor", f"{name}_gear") if x in known]
    if taken:
        raise ModelError(f"geared hinge {name!r} needs the name {taken[0]!r}, which {mb.name!r} has already.")
    link = mb.add_body(name, parent, hinge, inertia, inboard, outboard, hinge_name)
    rotor_body = None
    try:
        at = inboard if rotor_pose is None else rotor_pose
        rotor_body = mb.add_body(f"{name}_rotor", parent, spin, rotor, at)
        terms = {f"{name}_rotor": 1.0, link.hinge_name: -value}
        mb.couple(f"{name}_gear", terms, attributes={DEPENDENT: f"{name}_rotor"})
    except Exception:
        for body in (rotor_body, link):
            if body is not None:
                mb.remove(body)
        raise
    return link
