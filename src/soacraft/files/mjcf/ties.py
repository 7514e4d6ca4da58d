"""Equality constraints as loops and couplings.

With q = qpos - ref, MuJoCo's joint equality is q1 = c0 + c1 q2 + c2 q2^2 + ...; a fixed tendon is the sum of
coef * q over its joints, measured from the drawn configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soacraft.errors import LoopError, ModelError
from soacraft.files.mjcf.bodies import Build
from soacraft.files.mjcf.joints import pose_of
from soacraft.files.xml_tree import Element
from soacraft.model import Frame, Record
from soacraft.model.hinges import Spherical, Weld

Terms = dict[str, np.ndarray[Any, np.dtype[np.float64]]]
_DEGREE = 4


def add_ties(build: Build) -> None:
    """A loop or coupling for each equality; a record for those that are neither."""
    compiled, model = build.compiled, build.compiled.model
    elements = compiled.elements(compiled.spec.equalities)
    for number in range(int(model.neq)):
        kind = compiled.mujoco.mjtEq(int(model.eq_type[number])).name.removeprefix("mjEQ_").lower()
        try:
            _TIES.get(kind, _unknown)(build, number, elements.get(number))
        except (ModelError, LoopError) as problem:
            raise build.refused(elements.get(number), ModelError(str(problem))) from None


def _facts(build: Build, number: int) -> dict[str, Any]:
    model = build.compiled.model
    return {"solref": np.array(model.eq_solref[number]), "solimp": np.array(model.eq_solimp[number])}


def _active(build: Build, number: int) -> bool:
    return bool(build.compiled.model.eq_active0[number]) and "EQUALITY" not in build.off


def _ends(build: Build, number: int, places: tuple[Any, Any]) -> tuple[str, Frame, Frame]:
    """The name of a loop and its two nodes: the sites, or new nodes on the bodies."""
    compiled, model, mb = build.compiled, build.compiled.model, build.mb
    ids = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
    file_name = compiled.name("EQUALITY", number)
    if int(model.eq_objtype[number]) == int(compiled.mujoco.mjtObj.mjOBJ_SITE):
        a, b = (mb.frame(build.sites[site]) for site in ids)
        return build.names.take("loop", file_name, f"{a.name}:{b.name}"), a, b
    bodies = [build.carriers[body] for body in ids]
    name = build.names.take("loop", file_name, f"{bodies[0].name}:{bodies[1].name}")
    a, b = (
        body.add_node(build.node_name(body, name), pose_of(*place)) for body, place in zip(bodies, places, strict=True)
    )
    return name, a, b


def _connect(build: Build, number: int, element: Element | None) -> None:
    """A point of one body stays on a point of the other."""
    data = build.compiled.model.eq_data[number]
    name, a, b = _ends(build, number, ((data[0:3],), (data[3:6],)))
    build.mb.close_loop(name, a, b, Spherical(), _active(build, number), _facts(build, number))


def _weld(build: Build, number: int, element: Element | None) -> None:
    """`relpose` on the first body, the anchor on the second: they stay together; without torque they may turn."""
    data = build.compiled.model.eq_data[number]
    name, a, b = _ends(build, number, ((data[3:6], data[6:10]), (data[0:3],)))
    facts, turns = _facts(build, number) | {"torquescale": float(data[10])}, float(data[10]) == 0.0
    build.mb.close_loop(name, a, b, Spherical() if turns else Weld(), _active(build, number), facts)
    if turns and element is not None:
        note = "0 leaves the turning free: is a loop with a spherical hinge"
        build.walk.tell(element, "converted", "torquescale", note, key="equality/weld")


def _joint(build: Build, number: int, element: Element | None) -> None:
    model = build.compiled.model
    first, second = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
    _couple(build, number, {first: 1.0}, {second: 1.0} if second >= 0 else {}, element)


def _tendon(build: Build, number: int, element: Element | None) -> None:
    model = build.compiled.model
    first, second = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
    tendons = [fixed_tendon(build, first), fixed_tendon(build, second) if second >= 0 else {}]
    if tendons[0] is None or tendons[1] is None:
        _unknown(build, number, element)
        return
    _couple(build, number, tendons[0], tendons[1], element)


def fixed_tendon(build: Build, tendon: int) -> dict[int, float] | None:
    """The joints of a fixed tendon with their coefficients; None for a spatial one."""
    model, kinds = build.compiled.model, build.compiled.mujoco.mjtWrap
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    terms: dict[int, float] = {}
    for wrap in range(start, start + count):
        if int(model.wrap_type[wrap]) != int(kinds.mjWRAP_JOINT):
            return None
        joint = int(model.wrap_objid[wrap])
        terms[joint] = terms.get(joint, 0.0) + float(model.wrap_prm[wrap])
    return terms


def _couple(
    build: Build, number: int, first: dict[int, float], second: dict[int, float], element: Element | None
) -> None:
    """sum of coef q over `first` = c0 + c1 s + c2 s^2 + ..., s the sum of coef q over `second`."""
    c = np.array(build.compiled.model.eq_data[number][: _DEGREE + 1], dtype=np.float64)
    if len(second) > 1 and c[2:].any():
        _unknown(build, number, element)
        return
    terms: Terms = {}
    for joint, coefficient in first.items():
        _add(terms, build.dofs[joint][0], np.array([coefficient, 0.0, 0.0, 0.0]))
    for joint, coefficient in second.items():
        _add(terms, build.dofs[joint][0], -c[1:] * coefficient ** np.arange(1.0, _DEGREE + 1))
    file_name = build.compiled.name("EQUALITY", number)
    name = build.names.take("loop", file_name, ":".join(terms))  # loops and couplings share their names
    ratios = {dof: tuple(float(x) for x in ratio) for dof, ratio in terms.items() if ratio.any()}
    build.mb.couple(name, ratios, float(c[0]), _active(build, number), _facts(build, number))


def _add(terms: Terms, dof: str, ratio: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    terms[dof] = terms.get(dof, np.zeros(_DEGREE)) + ratio


def _unknown(build: Build, number: int, element: Element | None) -> None:
    """An equality that is no loop and no coupling here: kept, and said so."""
    compiled, model = build.compiled, build.compiled.model
    kind = compiled.mujoco.mjtEq(int(model.eq_type[number])).name.removeprefix("mjEQ_").lower()
    facts = _facts(build, number) | {"type": kind, "data": np.array(model.eq_data[number])}
    build.mb.add_record(Record("equality", compiled.name("EQUALITY", number), facts))
    if element is not None:
        dynamic = _active(build, number)
        build.walk.tell(element, "recorded", note="is not simulated", dynamic=dynamic, key=f"equality/{kind}")


_TIES: dict[str, Callable[[Build, int, Element | None], None]] = {
    "connect": _connect, "weld": _weld, "joint": _joint, "tendon": _tendon,
}  # fmt: skip
