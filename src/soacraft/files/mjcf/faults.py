"""Elements of an MJCF file that can be left out, and whether that changes the motion."""

from __future__ import annotations

_LOCAL = {
    "equality": True,
    "contact": True,
    "tendon": True,
    "actuator": False,
    "keyframe": False,
    "asset/mesh": True,
    "body/geom": True,
    "body/site": False,
    "sensor": False,
}
"""Sections, and elements of bodies."""


def local(key: str) -> bool | None:
    """True or False if going on without an element changes the motion or not; None for one that cannot be left out.

    >>> local("equality/weld"), local("actuator/motor"), local("body/plugin"), local("body/joint"), local("equality")
    (True, False, True, None, None)
    """
    section, _, rest = key.partition("/")
    if rest == "plugin" or rest.endswith("/plugin"):
        return _LOCAL.get(section, True)
    if not rest or "/" in rest:  # a section, or a part of an element
        return None
    return _LOCAL.get(key, _LOCAL.get(section))
