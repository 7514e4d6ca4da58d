"""Flexible bodies as clouds of point masses, and trees of them, for the tests."""

from __future__ import annotations

import numpy as np

import soacraft as sc
from soacraft.model.modal import ModalData, ModalNode


class Cloud:
    """Point masses with random shapes: what modal data are moments of."""

    def __init__(self, rng, n, geometric=True, points=12, size=0.1):
        self.m = rng.uniform(0.05, 0.3, points)
        self.r = rng.standard_normal((points, 3)) * 0.5
        self.phi = size * rng.standard_normal((points, 3, n))
        self.phi2 = symmetric(size * rng.standard_normal((points, 3, n, n))) if geometric else None

    def at(self, eta):
        """r(eta), (points, 3)."""
        second = 0.0 if self.phi2 is None else 0.5 * np.einsum("kaij,i,j->ka", self.phi2, eta, eta)
        return self.r + self.phi @ eta + second

    def moments(self):
        m, r, phi, phi2 = self.m, self.r, self.phi, self.phi2
        found = dict(
            mass=float(m.sum()),
            first=m @ r,
            second=np.einsum("k,ka,kb->ab", m, r, r),
            p=np.einsum("k,kaj->ja", m, phi),
            N=np.einsum("k,ka,kbj->jab", m, r, phi),
            Q=np.einsum("k,kai,kbj->ijab", m, phi, phi),
            M=np.einsum("k,kai,kaj->ij", m, phi, phi),
        )
        if phi2 is not None:
            found |= dict(S=np.einsum("k,kaij->ija", m, phi2), T=np.einsum("k,ka,kbij->ijab", m, r, phi2))
        return found


def symmetric(x):
    return 0.5 * (x + np.swapaxes(x, -1, -2))


def random_node(rng, n, geometric=True, size=0.2):
    second = [symmetric(size * rng.standard_normal((3, n, n))) for _ in range(2)] if geometric else (None, None)
    return ModalNode(random_pose(rng), size * rng.standard_normal((3, n)), size * rng.standard_normal((3, n)), *second)


def random_pose(rng):
    return sc.Pose.from_rpy(*rng.standard_normal(3), translation=0.5 * rng.standard_normal(3))


def random_modal(rng, n, geometric=True, **more):
    """Modal data of a cloud with nodes root and tip; stiffness and damping full."""
    K, D = rng.standard_normal((n, n)), 0.1 * rng.standard_normal((n, n))
    nodes = {name: random_node(rng, n, geometric) for name in ("root", "tip")}
    return ModalData(**Cloud(rng, n, geometric).moments(), K=K @ K.T, D=D @ D.T, nodes=nodes, **more)


PINS = (sc.Pin((0, 0.6, 0.8)),)


def flexible_tree(parents, seed=0, hinges=PINS, modes=(0, 2, 1, 3), geometric=True, rotors=True):
    """Bodies with modes by turns, hung from nodes of their parents, every other one by a node of its own."""
    rng = np.random.default_rng(seed)
    mb = sc.Multibody("flexible")
    for k, p in enumerate(parents):
        n = modes[(k + seed) % len(modes)]
        node = ("root", "tip")[int(rng.integers(2))]
        parent = None if p < 0 else f"body{p}/{node}"
        hinge = hinges[int(rng.integers(len(hinges)))]
        poses = random_pose(rng), random_pose(rng)
        if n:
            data = random_modal(rng, n, geometric)
            own = ("root", None, "tip")[int(rng.integers(3))]
            mb.add_body(f"body{k}", parent, hinge, None, *poses, modal=data, hinge_node=own)
        else:
            inertia = sc.Inertia(rng.uniform(0.5, 2), (0.1, 0.2, 0.3), np.diag(rng.uniform(0.2, 0.25, 3)))
            body = mb.add_body(f"body{k}", parent, hinge, inertia, *poses)
            body.add_node("root", random_pose(rng))
            body.add_node("tip", random_pose(rng))
        if rotors and k % 3 == 1 and hinge.nv:
            mb[f"body{k}"].armature = rng.uniform(0.1, 0.5, hinge.nv)
    settle(mb, seed)
    return mb


def settle(mb, seed=0, size=0.2):
    """A random state with modal coordinates that stay moderate."""
    q, v = mb.random_state(seed)
    q = np.array(q)
    q[mb.layout.own.q] *= size
    mb.set_state(q, v, np.random.default_rng(seed).standard_normal(mb.nv))
