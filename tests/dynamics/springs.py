"""Models with every passive force: springs and dampers on all hinges, tendons, springs and bushings between nodes,
weights that are carried in part."""

import numpy as np

import soacraft as sc
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.spatial import rotations


def sprung(mb, seed=0, even=False, tendons=2, compensated=True):
    """The model with passive forces; `even`: what a gradient of an energy can be, and no dampers."""
    rng = np.random.default_rng(seed)
    for i, body in enumerate(mb.bodies):
        hinge, nv = body.hinge, body.hinge.nv
        k, d = rng.uniform(1.0, 5.0, nv), rng.uniform(0.1, 1.0, nv)
        if even and nv and hinge.nq != nv:
            k = np.repeat(k[::3], 3)
        if not hinge.holonomic:
            k = np.zeros(nv)
        rest = hinge.random(rng) if i % 3 else None
        body.passive = sc.Passive(k, 0.0 if even else d, friction=0.3, rest=rest)
    names = list(coordinate_names(mb))
    for t in range(tendons):
        some = rng.choice(names, 3, replace=False)
        terms = {str(dof): float(c) for dof, c in zip(some, rng.standard_normal(3), strict=True)}
        rest = (-0.2, 0.1) if t % 2 else 0.3
        mb.add_tendon(f"cable{t}", terms, rng.uniform(1.0, 5.0), 0.0 if even else 0.7, rest)
    for body in mb.bodies[2:5] if compensated else []:
        body.gravity_compensation = rng.uniform(0.2, 1.2)
    return linked(mb, rng, even) if compensated else mb


def linked(mb, rng, even=False):
    """Springs through two and through three nodes, one to the inertial frame, and two bushings."""
    nodes = [body.add_node("hook", random_pose(rng)) for body in mb.bodies]
    wall = mb.root.add_node("wall", random_pose(rng))
    d = 0.0 if even else 0.8
    some = rng.permutation(len(nodes))
    first, second, third = (nodes[int(i)] for i in some[:3])
    mb.add_spring("span", first, third, 4.0, 0.3, d, through=[second])
    mb.add_spring("rope", wall, second, 3.0, (0.0, 0.4), d)
    K, D = (x @ x.T for x in rng.standard_normal((2, 6, 6)))
    mb.add_bushing("mount", first, second, K, np.zeros((6, 6)) if even else D, random_pose(rng))
    mb.add_torsion_spring("twist", wall, third, 2.0, d)
    return mb


def random_pose(rng):
    """Half a metre away, turned by up to a radian."""
    return sc.Pose(rotations.exp(rng.uniform(-0.6, 0.6, 3)), rng.uniform(-0.5, 0.5, 3))
