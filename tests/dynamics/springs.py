"""Models with every passive force: springs and dampers on all hinges, tendons, weights that are carried in part."""

import numpy as np

import soacraft as sc
from soacraft.model.tree.closures import coordinate_names


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
    return mb
