"""Contact settings of MJCF, as far as rigid contact has them, and a report of what became of each.

    friction, condim, priority     as they are
    solref                         restitution: that of a spring and a damper that push, with the same damping ratio
    margin                         shapes keep clear of each other by the sum of theirs, or by that of their <pair>
    gap                            without effect: MuJoCo lists such contacts, and they do not push
    solimp, solmix                 not simulated: contact is rigid
    <pair>, <exclude>              pairs that may touch, with their own numbers, and pairs that may not
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from soacraft.contact.geometry.scene import Scene
from soacraft.errors import ModelError

_SOLREF, _SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
#: This near to z = 1 its formula is that of z = 1, to the square of it.
_CRITICAL = 1e-5


def restitution_of(solref: Any, who: str) -> float:
    """The restitution of a mass on a spring and a damper that push and do not pull, as MuJoCo's contacts do, of damping
    ratio z (Schwager and Poeschel 2007), with w = sqrt(|1 - z^2|):

        z < 1   exp(-(z/w) (pi - atan2(2 z w, w^2 - z^2))),    z = 1   exp(-2),    z > 1   exp(-(2 z/w) ln(z + w))

    solref is (time constant, damping ratio), or (-stiffness, -damping) of a unit mass, whose z = damping / (2 sqrt(k)).
    MuJoCo's default, (0.02, 1), is read as nothing said: 0.

    >>> restitution_of((0.02, 1.0), "a"), restitution_of((-1e4, 0.0), "b"), round(restitution_of((-1e4, -30), "c"), 4)
    (0.0, 1.0, 0.6499)
    """
    try:
        first, second = (float(x) for x in (solref.split() if isinstance(solref, str) else solref))
    except (TypeError, ValueError, AttributeError):
        raise ModelError(f"solref of {who} is {solref!r:.60}; it must be two numbers.") from None
    if (first, second) == _SOLREF:
        return 0.0
    if first > 0.0 and second > 0.0:
        z = second
    elif first < 0.0 and second <= 0.0:
        z = -second / (2.0 * math.sqrt(-first))
    else:
        raise ModelError(
            f"solref of {who} is {solref!r:.60}; it must be (time constant, damping ratio), both above 0, or "
            "(-stiffness, -damping)."
        )
    w = math.sqrt(abs(1.0 - z * z))
    if w < _CRITICAL:
        return math.exp(-2.0)
    turn = math.pi - math.atan2(2.0 * z * w, w * w - z * z) if z < 1.0 else 2.0 * math.log(z + w)
    return math.exp(-z / w * turn)


def translation(scene: Scene) -> list[str]:
    """A line for each setting of the shapes and pairs of a scene, with what becomes of it."""
    lines: list[str] = []
    by_name: dict[str, Counter[str]] = {}
    for x in scene.placed:
        for name, value in _settings(x.geometry.attributes).items():
            by_name.setdefault(name, Counter())[value] += 1
    for name in sorted(by_name):
        lines += [f"{value} ({count} shape{'s' * (count > 1)})" for value, count in sorted(by_name[name].items())]
    for record in scene.model.records:
        attributes = record.attributes
        if record.kind == "contact pair":
            lines.append(
                f"pair {attributes.get('geom1')!r} - {attributes.get('geom2')!r}: may touch, with its own numbers"
            )
        elif record.kind == "contact exclude":
            lines.append(f"exclude {attributes.get('body1')!r} - {attributes.get('body2')!r}: do not touch")
    return lines


def _settings(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Settings of a shape, as text with what becomes of each."""
    settings: dict[str, str] = {}
    if "condim" in attributes:
        kinds = {1: "no friction", 3: "sliding", 4: "sliding and spinning", 6: "sliding, spinning and rolling"}
        settings["condim"] = f"condim {attributes['condim']}: {kinds.get(int(attributes['condim']), 'refused')}"
    if "solref" in attributes:
        e = (
            restitution_of(attributes["solref"], "a shape")
            if "restitution" not in attributes
            else float(attributes["restitution"])
        )
        default = ", as nothing is said (there soft contact gives back 0.135)" * (
            tuple(attributes["solref"]) == _SOLREF
        )
        settings["solref"] = f"solref {tuple(attributes['solref'])}: restitution {e:.4g}{default}"
    if "solimp" in attributes and tuple(attributes["solimp"]) != _SOLIMP:
        settings["solimp"] = f"solimp {tuple(attributes['solimp'])}: not simulated, contact is rigid"
    if attributes.get("solmix", 1.0) != 1.0:
        settings["solmix"] = f"solmix {attributes['solmix']}: not used, the larger restitution counts"
    if attributes.get("margin"):
        settings["margin"] = f"margin {attributes['margin']}: contact begins at this distance"
    if attributes.get("gap"):
        settings["gap"] = f"gap {attributes['gap']}: without effect on motion"
    return settings
