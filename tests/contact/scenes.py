"""Models for tests of motion with contact: a ground, spheres and boxes on it, and a run."""

import numpy as np

import soacraft as sc

G = 9.81


def ground(angle=0.0):
    """A model with a plane, tilted by `angle` about y: down the slope is +x."""
    mb = sc.Multibody()
    mb.gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    return mb


def sphere(mb, name="ball", radius=0.1, mass=1.0, moment=0.4):
    body = mb.add_body(name, None, sc.Free(), sc.Inertia(mass, moment=np.eye(3) * moment * mass * radius**2))
    body.add_geometry(sc.Geometry("skin", "sphere", (radius,)))
    return body


def box(mb, name="box", size=(0.2, 0.2, 0.2), mass=1.0):
    x, y, z = size
    moment = mass / 12 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    body = mb.add_body(name, None, sc.Free(), sc.Inertia(mass, moment=moment))
    body.add_geometry(sc.Geometry("skin", "box", size))
    return body


def free(x, y, z):
    return [0.0, 0.0, 0.0, 1.0, x, y, z]


def run(mb, q, v, t, step, **laws):
    mb.set_state(q, v)
    p = sc.sim.Propagator(mb, integrator="moreau", step=step)
    touch = sc.sim.Contact(**laws)
    p.add(touch)
    return p.advance_to(t), touch
