"""Small models of every kind of hinge for the tests of this folder."""

import numpy as np

import soacraft as sc

PINS = sc.Pin((0.3, -0.5, 0.8)), sc.Pin((1.0, 0.2, 0.1)), sc.Pin((0.0, 1.0, 0.4))


def pins():
    """The 3-pin chain: all dofs of one unit."""
    mb = sc.serial_chain(3)
    mb.set_state([0.3, 0.4, -0.5], [0.5, -1.0, 0.7], [1.0, 2.0, -1.0])
    return mb


def mixed():
    """A tree with pins, slides, screws and balls, a massless body and rotors: hinge blocks of two units."""
    hinges = [sc.Helical((-0.2, 0.7, 0.4), 0.15), sc.Cylindrical((0.5, 0.1, 0.9)), sc.Spherical(), sc.Planar(),
              sc.Screws([(0.4, 0.1, 0.7, 0.2, -0.5, 0.3), sc.Prismatic((0.3, 1.0, 0.2))])]  # fmt: skip
    mb = sc.random_tree(5, seed=3, hinges=hinges, branching=0.5)
    mb.add_body("joint", "body2", sc.Pin((0, 0, 1)), inboard=sc.Pose(translation=(0.1, 0.2, 0.0)))
    tip = mb.add_body("tip", "joint", sc.Pin((0, 1, 0)), sc.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    tip.add_node("end", sc.Pose(translation=(0.0, 0.0, 0.3)))
    mb.bodies[1].armature = 0.2
    rng = np.random.default_rng(1)
    q, v = mb.random_state(rng)
    mb.set_state(q, v, rng.standard_normal(mb.nv))
    return mb


def floating():
    """A free body with a slide and a rolling ball on it."""
    hinges = [sc.Free(), sc.Prismatic((0.6, 0.2, -0.4)), sc.RollingBall(0.3, (0.2, -0.3, 0.9))]
    return sc.random_tree(3, seed=2, hinges=hinges, branching=1.0)


def arm():
    """Seven pins, bent."""
    mb = sc.load("arm7")
    mb.q = [0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4]
    return mb


MODELS = {"pins": pins, "mixed": mixed, "floating": floating}
