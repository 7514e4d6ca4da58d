"""Additions of other programs to URDF that would change the motion."""

from __future__ import annotations

from soacraft.files.xml_tree import Element

_AMOUNTS = frozenset(
    "springStiffness spring_stiffness stiffness dampingFactor rotor_inertia rotorInertia drake:rotor_inertia "
    "armature".split()
)
_FALSE = ("", "0", "false")


def changes_motion(element: Element) -> bool:
    """True if an element that is only recorded would change the motion: a spring, a rotor, a joint, gravity turned off.

    >>> stiffness = Element("springStiffness", {}, 1, "arm.urdf", text="20")
    >>> changes_motion(stiffness), changes_motion(Element("material", {}, 1, "arm.urdf", text="Gazebo/Red"))
    (True, False)
    """
    if element.tag == "joint":  # of one's own, such as Gazebo's that closes a loop; others only name one
        return any(child.tag == "parent" for child in element.children)
    said = (element.text or element.attributes.get("value", "")).strip().lower()
    if element.tag == "gravity":
        return said in ("0", "false")
    if element.tag == "turnGravityOff":
        return said not in _FALSE
    return element.tag in _AMOUNTS and _nonzero(said)


def _nonzero(text: str) -> bool:
    try:
        return float(text) != 0.0
    except ValueError:
        return bool(text)
