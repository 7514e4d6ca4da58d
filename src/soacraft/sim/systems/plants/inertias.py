"""Mass, centre of mass and moment of a body as outputs of a plant, at a node of the body and in axes of the node.

They are those of the model: constant while its parameters are, and where `mass[body]` is given they follow it at every
stage. Bodies that are pulled by `sim.PointGravity` have them from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from soacraft.errors import WiringError
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.sim.library.actuators import PointGravity

if TYPE_CHECKING:
    from soacraft.sim.systems.plants.plant import Plant
    from soacraft.sim.systems.wiring import Part

#: Outputs of a node: shape and unit.
OF_INERTIA: dict[str, tuple[tuple[int, ...], str]] = {
    "mass": ((), "kg"),
    "center_of_mass": ((3,), "m"),
    "moment": ((3, 3), "kg m^2"),
}


def require_inertia(what: str, frame: Frame) -> Body:
    """The body whose inertia a node has; refused where that is none, or varies with modes."""
    body = frame.carrier
    if not isinstance(body, Body):
        raise WiringError(f"{what}: {frame.full_name!r} is on the ground, which has no inertia.")
    if body.modal is not None:
        raise WiringError(
            f"{what}: the inertia of flexible body {body.name!r} varies with its modes; for gravity use "
            "sim.Plant(mb, forces=[sim.GravityField(...)])."
        )
    return body


def inertia_at(port: str, frame: Frame, mass: float | None = None) -> Any:
    """Mass, centre of mass or moment about it of the body that carries a node, in axes of the node; of a mass that is
    given the moment that goes with it."""
    body = frame.carrier
    assert isinstance(body, Body)
    inertia, pose = body.inertia, frame.offset
    if port == "mass":
        return inertia.mass if mass is None else mass
    if port == "center_of_mass":
        return pose.rotation.T @ (inertia.com - pose.translation)
    turned = pose.rotation.T @ inertia.moment @ pose.rotation
    return turned if mass is None else turned * (mass / inertia.mass)


def pull_faults(parts: Mapping[str, Part], plants: Mapping[str, Plant]) -> list[str]:
    """Faults of a plant of which `sim.PointGravity` pulls some bodies that have mass more often than others, or one
    twice by the same parameters."""
    pulls: dict[str, dict[str, list[str]]] = {}  # names of the pulls, by plant and body
    for path, part in sorted(parts.items()):
        mount = part.mount
        if isinstance(part.component, PointGravity) and mount is not None and mount.name in mount.plant.mb:
            body = mount.plant.mb.frame(mount.name).carrier.name
            pulls.setdefault(mount.plant.path, {}).setdefault(body, []).append(path)
    faults = []
    for plant, bodies in pulls.items():
        for body, names in bodies.items():
            pairs = [(x, y) for i, x in enumerate(names) for y in names[i + 1 :]]
            same = [(x, y) for x, y in pairs if parts[x].component.p == parts[y].component.p]
            faults += [f"{x!r} and {y!r} both pull {body!r}, by the same: gravity acts once." for x, y in same]
        most = max(bodies.values(), key=len)
        heavy = [x.name for x in plants[plant].mb.bodies if x.inertia.mass > 0.0]
        less = next((x for x in heavy if len(bodies.get(x, ())) < len(most)), "")
        if less:
            faults.append(
                f"{most[-1]!r} pulls a body of {plant!r}, and nothing like it pulls {less!r}, which has mass: gravity "
                "acts on every body. Add one at each, for body in mb.bodies: s.add(f'pull_{body.name}', "
                "sim.PointGravity(mu=...), at=plant.node(body))."
            )
    return faults
