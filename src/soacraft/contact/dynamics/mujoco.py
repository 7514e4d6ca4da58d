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
    told: dict[str, Counter[str]] = {}
    for x in scene.placed:
        for name, value in _settings(x.geometry.attributes).items():
            told.setdefault(name, Counter())[value] += 1
    for name in sorted(told):
        lines += [f"{value} ({count} shape{'s' * (count > 1)})" for value, count in sorted(told[name].items())]
    for record in scene.model.records:
        kept = record.attributes
        if record.kind == "contact pair":
            lines.append(f"pair {kept.get('geom1')!r} - {kept.get('geom2')!r}: may touch, with its own numbers")
        elif record.kind == "contact exclude":
            lines.append(f"exclude {kept.get('body1')!r} - {kept.get('body2')!r}: do not touch")
    return lines


def _settings(told: Mapping[str, Any]) -> dict[str, str]:
    """Settings of a shape, as text with what becomes of each."""
    found: dict[str, str] = {}
    if "condim" in told:
        kinds = {1: "no friction", 3: "sliding", 4: "sliding and spinning", 6: "sliding, spinning and rolling"}
        found["condim"] = f"condim {told['condim']}: {kinds.get(int(told['condim']), 'refused')}"
    if "solref" in told:
        e = restitution_of(told["solref"], "a shape") if "restitution" not in told else float(told["restitution"])
        default = ", as nothing is said (there soft contact gives back 0.135)" * (tuple(told["solref"]) == _SOLREF)
        found["solref"] = f"solref {tuple(told['solref'])}: restitution {e:.4g}{default}"
    if "solimp" in told and tuple(told["solimp"]) != _SOLIMP:
        found["solimp"] = f"solimp {tuple(told['solimp'])}: not simulated, contact is rigid"
    if told.get("solmix", 1.0) != 1.0:
        found["solmix"] = f"solmix {told['solmix']}: not used, the larger restitution counts"
    if told.get("margin"):
        found["margin"] = f"margin {told['margin']}: contact begins at this distance"
    if told.get("gap"):
        found["gap"] = f"gap {told['gap']}: without effect on motion"
    return found
