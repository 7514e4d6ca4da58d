"""Hinges driven through a gear: a rotor next to the link, tied to it by a coupling, or by a spring (an elastic joint).

    rigid       phi = ratio theta                                      a coupling
    elastic     L = theta - phi / ratio,  tension k L + d Ldot         a spring along both dofs

with theta the hinge of the link and phi the spin of the rotor, both relative to the parent, which carries them. The
rotor is a body, so its spin is coupled to the motion of the parent as it is. Spong's approximation leaves that out: the
rotor welded to the parent, and its spin inertia J on phi alone, J phidot^2 / 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges import Pin, Weld
from soacraft.model.hinges.base import Hinge
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.editing import add_body, remove
from soacraft.model.tree.frames.frame import Body, Root
from soacraft.model.tree.parts.curves import Curve
from soacraft.spatial.checks import finite
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

#: The attribute of a coupling that names the dof which should not be independent.
DEPENDENT = "dependent"


def add_geared_hinge(
    mb: AttachedModel,
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
    stiffness: Any = None,
    damping: Any = 0.0,
    approximate: str | None = None,
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
    _check_elastic(name, rotor, spin, stiffness, damping, approximate)
    lumped = f"{name}_rotor_mass"
    parts = [f"{name}_rotor", f"{name}_gear", *([lumped] if approximate else [])]
    known = {*mb._tree.bodies, *mb._tree.hinges, *mb.couplings.names, *mb.tendons.names}
    taken = [x for x in parts if x in known]
    if taken:
        raise ModelError(f"geared hinge {name!r} needs the name {taken[0]!r}, which {mb.name!r} has already.")
    made = [add_body(mb, name, parent, hinge, inertia, inboard, outboard, hinge_name)]
    try:
        at = inboard if rotor_pose is None else rotor_pose
        made.append(add_body(mb, f"{name}_rotor", parent, spin, None if approximate else rotor, at))
        if approximate:
            made[-1].armature = _spin(rotor, spin)
            made.append(add_body(mb, lumped, parent, Weld(), rotor, at))
        link = made[0].hinge_name
        if stiffness is None:
            terms = {f"{name}_rotor": 1.0, link: -value}
            mb.couple(f"{name}_gear", terms, attributes={DEPENDENT: f"{name}_rotor"})
        else:
            mb.add_tendon(f"{name}_gear", {link: 1.0, f"{name}_rotor": -1.0 / value}, stiffness, damping)
    except Exception:
        for body in reversed(made):
            remove(mb, body, False)
        raise
    return made[0]


def _check_elastic(
    name: str, rotor: Inertia, spin: Pin, stiffness: Any, damping: Any, approximate: Any
) -> None:
    """Refuse arguments of an elastic joint that do not fit together."""
    if stiffness is None and (approximate is not None or isinstance(damping, Curve) or damping != 0.0):
        given = "approximate" if approximate is not None else "damping"
        raise ModelError(f"geared hinge {name!r}: {given} is of an elastic joint; give its stiffness= too.")
    if approximate not in (None, "spong"):
        raise ModelError(f"geared hinge {name!r}: approximate is 'spong' or None (exact), got {approximate!r:.60}.")
    if approximate and _spin(rotor, spin) <= 0.0:
        raise ModelError(
            f"geared hinge {name!r}: its rotor has no moment about its axis, so approximate='spong' would leave its "
            "spin without inertia; give the rotor a moment."
        )


def _spin(rotor: Inertia, spin: Pin) -> float:
    """The moment of inertia about the axis."""
    axis = np.asarray(spin.axis, dtype=np.float64)
    return float(axis @ rotor.matrix()[:3, :3] @ axis)
