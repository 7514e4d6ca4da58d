"""Pairs of shapes that may touch and pairs of bodies that may not, as MuJoCo resolved them.

MuJoCo's compiled numbers hold: a <pair> has the defaults of pairs, not those of its two shapes, and names of attached
and repeated parts have their prefixes.
"""

from __future__ import annotations

import numpy as np

from soacraft.files.mjcf.bodies import Build
from soacraft.model import Body, Record, Root

_NUMBERS = {"condim": "dim", "friction": "friction", "solref": "solref", "solimp": "solimp", "margin": "margin"}
_RARE = ("gap", "adhesion", "solreffriction")


def add_contacts(build: Build) -> None:
    """A record for each <pair>, with the numbers that act, and for each <exclude>."""
    compiled, model = build.compiled, build.compiled.model
    for number in range(int(model.npair)):
        facts = {f"geom{i}": _shape(build, int(getattr(model, f"pair_geom{i}")[number])) for i in (1, 2)}
        numbers = {key: getattr(model, f"pair_{field}")[number] for key, field in _NUMBERS.items()}
        rare = {key: getattr(model, f"pair_{key}")[number] for key in _RARE if hasattr(model, f"pair_{key}")}
        numbers |= {key: value for key, value in rare.items() if np.any(value)}
        lists = {key: np.array(value).tolist() for key, value in numbers.items()}
        build.mb.add_record(Record("contact pair", compiled.name("PAIR", number), facts | lists))
    for each in compiled.spec.excludes:
        bodies = {f"body{i}": _carrier(build, getattr(each, f"bodyname{i}")).name for i in (1, 2)}
        build.mb.add_record(Record("contact exclude", each.name or "", bodies))


def _shape(build: Build, geom: int) -> str:
    """A geometry's name with that of its body."""
    return build.geometries[geom]


def _carrier(build: Build, name: str) -> Body | Root:
    return build.carriers[int(build.compiled.spec.body(name).id)]
