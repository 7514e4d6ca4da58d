"""Tendons: springs, dampers and limits that act, and records of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.files.mjcf.bodies import Build
from soacraft.files.mjcf.ties import fixed_tendon
from soacraft.files.mjcf.transmissions import drawn_sum
from soacraft.files.xml_tree import Element
from soacraft.model import Record

_TENDON = (
    "stiffness damping frictionloss armature range lengthspring springyield margin actfrcrange solref_lim solimp_lim "
    "solref_fri solimp_fri"
).split()


def add_tendons(build: Build) -> None:
    """Fixed tendons with a spring or a damper; all tendons as records: their path and limits, and what does not act."""
    compiled, model = build.compiled, build.compiled.model
    elements = compiled.elements(compiled.spec.tendons)
    for tendon in range(int(model.ntendon)):
        joints = fixed_tendon(build, tendon)
        _pull(build, tendon, joints, elements.get(tendon))
        _limit(build, tendon, joints, elements.get(tendon))
        facts: dict[str, Any] = {"type": "spatial" if joints is None else "fixed"}
        if joints is not None:
            facts["joints"] = tuple((build.dofs[joint][0], c) for joint, c in joints.items())
        else:
            facts["path"] = tuple(_wraps(build, tendon))
        for field in _TENDON:
            value = getattr(model, f"tendon_{field}", None)
            if value is not None and np.any(value[tendon]):
                facts[field] = np.array(value[tendon]).tolist()
        build.mb.add_record(Record("tendon", compiled.name("TENDON", tendon), facts))


def _pull(build: Build, tendon: int, joints: dict[int, float] | None, element: Element | None) -> None:
    """The spring and the damper of a tendon: of a fixed one and of one through sites they act; of one around geoms or
    pulleys it is said that they do not."""
    model = build.compiled.model
    k = 0.0 if "SPRING" in build.off else float(model.tendon_stiffness[tendon])
    d = 0.0 if "DAMPER" in build.off else float(model.tendon_damping[tendon])
    sites = _through_sites(build, tendon) if joints is None else None
    for what, value in (("stiffness", k), ("damping", d)):
        key = f"tendon/{'spatial' if joints is None else 'fixed'}"
        if element is None:
            continue
        if joints is None and value and sites is None:
            why = "its path has geoms or pulleys, or stays on one body: is kept, not simulated"
            build.walk.tell(element, "recorded", what, why, True, key=key)
        poly = getattr(model, f"tendon_{what}poly", None)
        if (joints is not None or sites is not None) and poly is not None and np.any(poly[tendon]):
            build.walk.tell(element, "recorded", what, "only the linear term acts", True, key=key)
    if not (k or d) or (joints is None and sites is None):
        return
    if joints is None:
        assert sites is not None
        _span(build, tendon, sites, k, d, element)
        return
    drawn = drawn_sum(build, joints)
    low, high = (float(x) - drawn for x in model.tendon_lengthspring[tendon])
    name = build.names.take("tendon", build.compiled.name("TENDON", tendon), f"tendon{tendon}")
    try:
        build.mb.add_tendon(name, {build.dofs[j][0]: c for j, c in joints.items()}, k, d, (low, high))
    except ModelError as problem:
        raise build.refused(element, problem) from None


def _limit(build: Build, tendon: int, joints: dict[int, float] | None, element: Element | None) -> None:
    """The range of a tendon's length: of a fixed one two one-sided couplings, of one between two sites a rope. It is
    said what does not act: a least length between sites, and paths with more than two points."""
    model = build.compiled.model
    if not model.tendon_limited[tendon] or {"LIMIT", "CONSTRAINT"} & build.off:
        return
    low, high = (float(x) for x in model.tendon_range[tendon])
    key = f"tendon/{'spatial' if joints is None else 'fixed'}"
    name, facts = build.compiled.name("TENDON", tendon) or f"tendon{tendon}", {"tendon": True}
    note, dynamic = "acts in sc.sim.Contact: is a one-sided coupling", False
    try:
        if joints is not None:
            low, high = (x - drawn_sum(build, joints) for x in (low, high))
            terms = {build.dofs[j][0]: c for j, c in joints.items()}
            for side, sign, end in (("lower", 1.0, low), ("upper", -1.0, high)):
                label = build.names.take("loop", f"{name} {side}", "")
                build.mb.couple(label, {dof: sign * c for dof, c in terms.items()}, sign * end, True, facts, True)
        else:
            path = _through_sites(build, tendon)
            if path is None or len(path) != 2 or high <= 0.0:
                note, dynamic = "its path is not between two sites: is kept, not simulated", True
            else:
                build.mb.add_rope(build.names.take("loop", name, ""), path[0], path[1], high, facts)
                note = "acts in sc.sim.Contact: is a rope"
                if low > 0.0:
                    note, dynamic = f"the rope pulls at {high:g} m; the least length {low:g} m is not simulated", True
    except ModelError as problem:
        raise build.refused(element, problem) from None
    if element is not None:
        build.walk.tell(element, "recorded" if dynamic else "converted", "range", note, dynamic, key=key)


def _through_sites(build: Build, tendon: int) -> list[str] | None:
    """The nodes of a tendon that goes through sites alone, on two bodies or more."""
    path = _wraps(build, tendon)
    nodes = [str(x[1]) for x in path if x[0] == "site"]
    carriers = {build.mb.frame(x).carrier for x in nodes}
    return nodes if len(nodes) == len(path) and len(carriers) > 1 else None


def _span(build: Build, tendon: int, nodes: list[str], k: float, d: float, element: Element | None) -> None:
    """The spring along a tendon through sites; its slack range is that of MuJoCo."""
    low, high = (float(x) for x in build.compiled.model.tendon_lengthspring[tendon])
    name = build.names.take("spring", build.compiled.name("TENDON", tendon), f"tendon{tendon}")
    first, *through, last = nodes
    try:
        build.mb.add_spring(name, first, last, k, (low, high), d, through)
    except ModelError as problem:
        raise build.refused(element, problem) from None


def _wraps(build: Build, tendon: int) -> list[tuple[Any, ...]]:
    compiled, model, kinds = build.compiled, build.compiled.model, build.compiled.mujoco.mjtWrap
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    wraps: list[tuple[Any, ...]] = []
    for wrap in range(start, start + count):
        kind, target = int(model.wrap_type[wrap]), int(model.wrap_objid[wrap])
        if kind == int(kinds.mjWRAP_SITE):
            wraps.append(("site", build.sites[target]))
        elif kind == int(kinds.mjWRAP_PULLEY):
            wraps.append(("pulley", float(model.wrap_prm[wrap])))
        else:
            side = int(model.wrap_prm[wrap])
            wraps.append(("geom", compiled.name("GEOM", target), build.sites[side] if side >= 0 else ""))
    return wraps
