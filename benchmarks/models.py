"""The models of the benchmarks, by name: "7-dof arm", "humanoid", "chain 100", "tree 127".

Hinges are pins about coordinate axes, and a free one under the humanoid's pelvis; body frames stand in the hinges.
Bodies are added branch by branch, so that every library numbers them alike. The last body has a node for Jacobians.
"""

from __future__ import annotations

import soacraft as sc

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def build(name: str) -> sc.Multibody:
    """A model by its name."""
    if name == "7-dof arm":
        return sc.load("arm7")
    if name == "humanoid":
        return humanoid()
    kind, _, size = name.partition(" ")
    return {"chain": chain, "tree": binary_tree}[kind](int(size))


def chain(n: int) -> sc.Multibody:
    """Pins about y and z in turn, short links."""
    return sc.serial_chain(n, hinge=lambda k: sc.Pin(Y if k % 2 else Z), length=0.1)


def binary_tree(n: int) -> sc.Multibody:
    """Every body carries two, to the left and to the right, as deep as n bodies go: n = 2^depth - 1."""
    mb = sc.Multibody(f"tree {n}")

    def grow(parent: sc.Body | None, size: int, depth: int, side: float) -> None:
        if size < 1:
            return
        inertia = sc.Inertia(1.0, (0.05, 0.0, 0.0), sc.Inertia.box(1.0, (0.1, 0.04, 0.04)).moment)
        at = None if parent is None else sc.Pose(translation=(0.1, side, 0.0))
        body = mb.add_body(f"body{len(mb) + 1}", parent, sc.Pin(Z if depth % 2 else Y), inertia, inboard=at)
        for towards in (0.05, -0.05):
            grow(body, (size - 1) // 2, depth + 1, towards)

    grow(None, n, 0, 0.0)
    mb.bodies[-1].add_node("tip", sc.Pose(translation=(0.1, 0.0, 0.0)))
    return mb


#: Links of a limb, inboard first: name, axis, place on the link before, mass, size of a box around the centre of mass,
#: centre of mass. Metres and kilograms; y is to the left and changes sign on the right.
Link = tuple[str, tuple[float, ...], tuple[float, ...], float, tuple[float, float, float], tuple[float, ...]]
TORSO: list[Link] = [
    ("waist", Z, (0.0, 0.0, 0.08), 2.0, (0.12, 0.14, 0.08), (0.0, 0.0, 0.03)),
    ("spine", Y, (0.0, 0.0, 0.06), 3.0, (0.14, 0.20, 0.10), (0.0, 0.0, 0.05)),
    ("chest", X, (0.0, 0.0, 0.08), 19.0, (0.20, 0.34, 0.40), (0.01, 0.0, 0.20)),  # with the head
]
LEG: list[Link] = [
    ("hip_yaw", Z, (0.0, 0.09, -0.05), 1.8, (0.10, 0.10, 0.08), (0.0, 0.01, -0.02)),
    ("hip_roll", X, (0.0, 0.0, -0.04), 1.6, (0.10, 0.10, 0.10), (0.0, 0.01, 0.0)),
    ("thigh", Y, (0.0, 0.0, 0.0), 6.5, (0.14, 0.14, 0.40), (0.0, 0.01, -0.18)),
    ("shank", Y, (0.0, 0.0, -0.40), 3.8, (0.11, 0.11, 0.38), (0.01, 0.0, -0.17)),
    ("ankle", Y, (0.0, 0.0, -0.40), 0.9, (0.06, 0.08, 0.06), (0.0, 0.0, 0.0)),
    ("foot", X, (0.0, 0.0, 0.0), 1.5, (0.22, 0.10, 0.07), (0.03, 0.0, -0.06)),
]
ARM: list[Link] = [
    ("shoulder", Y, (0.0, 0.20, 0.34), 1.8, (0.10, 0.12, 0.10), (0.0, 0.03, 0.0)),
    ("clavicle", X, (0.0, 0.06, 0.0), 1.5, (0.09, 0.09, 0.12), (0.0, 0.01, -0.03)),
    ("upper_arm", Z, (0.0, 0.0, -0.08), 1.7, (0.08, 0.08, 0.24), (0.0, 0.0, -0.10)),
    ("elbow", Y, (0.0, 0.0, -0.20), 1.1, (0.07, 0.07, 0.14), (0.01, 0.0, -0.04)),
    ("forearm", Z, (0.0, 0.0, -0.10), 1.0, (0.06, 0.06, 0.18), (0.0, 0.0, -0.08)),
    ("wrist", Y, (0.0, 0.0, -0.16), 0.4, (0.05, 0.06, 0.05), (0.0, 0.0, 0.0)),
    ("hand", X, (0.0, 0.0, 0.0), 0.6, (0.05, 0.09, 0.16), (0.0, 0.0, -0.09)),
]
SIDES = (("left_", 1.0), ("right_", -1.0))


def humanoid() -> sc.Multibody:
    """A free pelvis, a torso of 3 pins, two legs of 6 and two arms of 7: 35 dofs, 30 bodies, 80 kg."""
    mb = sc.Multibody("humanoid")
    pelvis = mb.add_body("pelvis", None, sc.Free(), sc.Inertia.box(8.0, (0.20, 0.28, 0.16)))
    for side, y in SIDES:
        _limb(mb, pelvis, LEG, side, y)
    chest = _limb(mb, pelvis, TORSO, "", 1.0)
    for side, y in SIDES:
        last = _limb(mb, chest, ARM, side, y)
    last.add_node("grip", sc.Pose(translation=(0.0, 0.0, -0.12)))
    return mb


def _limb(mb: sc.Multibody, body: sc.Body, links: list[Link], side: str, y: float) -> sc.Body:
    for name, axis, at, mass, size, com in links:
        inertia = sc.Inertia(mass, (com[0], y * com[1], com[2]), sc.Inertia.box(mass, size).moment)
        inboard = sc.Pose(translation=(at[0], y * at[1], at[2]))
        body = mb.add_body(side + name, body, sc.Pin(axis), inertia, inboard=inboard)
    return body
