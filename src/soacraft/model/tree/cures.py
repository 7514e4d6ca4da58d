"""Cures for attributes that models and bodies do not have or do not let be set."""

from __future__ import annotations

_INERTIA = "set body.inertia = sc.Inertia(mass, com, moment)"
_PASSIVE = "set body.passive = sc.Passive(stiffness=..., damping=..., friction=...)"
_LIMITS = "set body.limits = sc.Limits(lower=..., upper=..., velocity=..., effort=...)"
_HANG = "attach the body again with mb.reattach(body, parent, hinge)"
_PLACE = "set body.inboard or body.outboard, the constant poses of its hinge, or the coordinates mb.q"
_STATE = "set it for the model, as mb.q, mb.v or mb.vdot; body.q_slice and body.v_slice say where"
#: Cures for attributes of a body under another name.
CURES_OF_BODIES = {
    **dict.fromkeys(("mass", "com", "moment", "moments", "center_of_mass", "centre_of_mass"), _INERTIA),
    **dict.fromkeys(("damping", "stiffness", "friction", "spring", "damper", "rest", "springref"), _PASSIVE),
    **dict.fromkeys(("lower", "upper", "effort", "limit", "range", "velocity", "velocity_limit"), _LIMITS),
    **dict.fromkeys(("parent", "hinge", "joint", "hinge_name"), _HANG),
    **dict.fromkeys(("pose", "position", "rotation", "translation", "origin", "offset"), _PLACE),
    **dict.fromkeys(("q", "v", "vdot", "angle", "qdot"), _STATE),
    **dict.fromkeys(("force", "wrench", "f_ext"), "let a force act with mb.set_force(body, wrench)"),
    "children": "attach a body to it with mb.add_body(name, parent, hinge)",
    "geometries": "add a shape with body.add_geometry(...)",
    "geometry": "add a shape with body.add_geometry(...)",
    "gravity": "gravity is the model's: mb.gravity",
    "name": "names stay; add the body under another name",
    "nodes": "add a node with body.add_node(name, pose)",
    "rotor_inertia": "set body.armature",
}

#: Cures for attributes of a model or sub-graph under another name.
CURES_OF_GRAPHS = {
    "a": "accelerations are mb.vdot",
    "actuators": "add one with mb.add_actuator(...)",
    "bodies": "add one with mb.add_body(...), take one out with mb.remove(...)",
    "couplings": "add one with mb.couple(...), take one away with mb.remove_coupling(...)",
    "current": "set the state with mb.set_state(q, v)",
    "f_ext": "let a force act with mb.set_force(node, wrench)",
    "forces": "let a force act with mb.set_force(node, wrench)",
    "g": "the acceleration of gravity is mb.gravity, such as (0, 0, -9.81)",
    "joints": "add a body with its hinge with mb.add_body(...)",
    "keyframes": "add one with mb.add_keyframe(...)",
    "limits": "each body has its own: body.limits = sc.Limits(lower=..., upper=...)",
    "links": "add a body with mb.add_body(...)",
    "loops": "add one with mb.close_loop(...), take one away with mb.remove_loop(...)",
    "materials": "add one with mb.add_material(...)",
    "name": "a copy may have another: mb.copy(name)",
    "passive": "each body has its own: body.passive = sc.Passive(damping=...)",
    "positions": "coordinates are mb.q",
    "qddot": "accelerations are mb.vdot",
    "qdot": "velocities are mb.v",
    "records": "add one with mb.add_record(...)",
    "state": "set the state with mb.set_state(q, v)",
    "velocities": "velocities are mb.v",
    "x": "the state is mb.q and mb.v",
}
