"""`pickle` and `copy.deepcopy` of everything a user may hold: independent of the first, with equal numbers."""

import copy
import pickle

import numpy as np
import pytest

import soacraft as sc
from soacraft import analysis
from soacraft import dynamics as dyn
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.model.hinges import examples
from soacraft.ops.identities import IDENTITIES

WAYS = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy}


def tree(seed=3):
    """A tree with every hinge, nodes, armature, springs, limits and a force, in some state."""
    mb = sc.random_tree(len(examples()), seed, name="tree")
    mb.bodies[1].armature, mb.bodies[2].passive = 0.2, sc.Passive(damping=0.3)
    mb.bodies[3].limits = sc.Limits(upper=2.0)
    mb.bodies[0].add_geometry(sc.Geometry("box", "box", (1, 2, 3)))
    mb.set_force("body3/tip", sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="body1/tip"))
    mb.add_keyframe(sc.Keyframe("home", *mb.random_state(5)))
    return mb


def small():
    """A small tree, for what is dear."""
    return sc.random_tree(4, 2, [sc.Pin((0, 0, 1)), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Spherical()], name="small")


def closed():
    """A closed chain on its closures, moving."""
    mb = sc.load("five_bar")
    s = TreeAugmented(mb)
    mb.q = s.assemble(mb.q)
    mb.v = s.project_velocity(mb.q, np.linspace(1, 2, mb.nv))
    return mb


def numbers_of_model(mb):
    return [mb.q, mb.v, mb.vdot, mb.gravity, mb.keyframes[0].q if mb.keyframes else 0, *mb.sko().b(1),
            dyn.forward_dynamics(mb, mb.q, mb.v, np.ones(mb.nv), ignore_loops=True)]  # fmt: skip


def numbers_of_state(s):
    return [s.q, s.v, s.vdot, s.alpha, s.b, *(np.asarray(w) for _, w in s.forces), s.configuration.world[1]]


def numbers_of_solver(s):
    mb = s.graph
    found = s.forward_dynamics(mb.q, mb.v, np.ones(mb.nv))
    return [found.vdot, *found.multipliers.values()]


def numbers_of_expression(x):
    return [x.array(), x * np.arange(1.0, 1 + x.shape[1])]


def expressions(s, body):
    mm = s.H * s.phi * s.M * s.phi.T * s.H.T
    return {
        "leaf": s.phi, "mass matrix": mm, "its inverse": mm.inv, "sum": s.I - s.H * s.psi * s.K, "power": (2 * s.tau) ** 2,
        "Omega": s.Omega, "pick-off": s.B([body, f"{body}/tip"]), "derivative": mm.diff(body), "second": mm.diff(body).diff(body),
        "rate": s.P.dot(), "Lyapunov": s.E_phi.lyapunov(s.M), "diagonal": sc.diag_of(s.phi), "zero": s.H.diff(body).diff(body),
        "sensitivity": s.X(body), "Coriolis": s.coriolis, "swept inverse": (s.I - s.E_phi).inv,
    }  # fmt: skip


#: What is copied -> (how it is made, its numbers).
THINGS = {
    "model": (tree, numbers_of_model),
    "closed model": (closed, numbers_of_model),
    "body": (lambda: tree().bodies[2], lambda x: [x.inertia.matrix(), x.graph.pose(x).translation]),
    "node": (lambda: tree()["body3/tip"], lambda x: [x.pose.translation, x.graph.velocity(x)]),
    "inertial frame": (lambda: tree().root, lambda x: [x.graph.q]),
    "current state": (lambda: tree().state(), numbers_of_state),
    "batch": (lambda: (mb := tree()).state(q=np.stack([mb.q, mb.neutral()])), numbers_of_state),
    "sub-graph": (lambda: tree().subgraph(["body1"]), lambda g: [g.q, g.sko().b(0)]),
    "state of a sub-graph": (
        lambda: (g := sc.serial_chain(4).subgraph(["link2", "link3"], "moving")).state(q=np.ones(g.nq)), numbers_of_state,
    ),
    "SKO model": (lambda: tree().sko(), lambda m: [m.A(m.parent(2), 2), m.H(2), m.M(2), m.a(2), m.b(2)]),
    "random SKO model": (lambda: sc.random_sko(5, 1), lambda m: [m.M(k) for k in m.nodes]),
    "operators": (lambda: sc.operators(tree()), lambda s: [s.P.array(), s.V, s.T]),
    "operators of a snapshot": (
        lambda: sc.operators((mb := tree()).state(q=mb.neutral()), axes="inertial", force=np.ones(mb.nv)),
        lambda s: [s.P.array(), s.z],
    ),
    "operators of an SKO model": (lambda: sc.operators(sc.random_sko(5, 1), v=np.ones(11)), lambda s: [s.D.array()]),
    "operators of compound bodies": (
        lambda: sc.operators(sc.aggregate(tree(), ["body2", "body3"], ignore_loops=True)), lambda s: [s.D.array()],
    ),
    "operators of a closed chain": (lambda: sc.operators(ConstraintEmbedding(closed())), lambda s: [s.D.array(), s.v]),
    "derivative of a closed chain": (
        lambda: sc.operators(s := ConstraintEmbedding(closed())).D.diff(s.independent(s.graph.q)[0]), numbers_of_expression,
    ),
    "stacked vector": (lambda: sc.operators(tree()).V, lambda x: [x.data]),
    "compiled expression": (
        lambda: (s := sc.operators(tree()), s.H * s.phi * s.M * s.phi.T * s.H.T)[1].inv.compile(),
        lambda f: [f(f.graph.neutral()), f(f.graph.neutral(), None, np.ones(f.graph.nv))],
    ),
    "explanation": (lambda: sc.operators(tree()).psi.explain(), lambda x: [len(repr(x))]),
    "definition": (
        lambda: sc.define("L", (s := sc.operators(small())).I - s.H * s.psi * s.K), numbers_of_expression,
    ),
    "stated identity": (
        lambda: sc.state_identity("plain sum", (s := sc.operators(sc.serial_chain(3))).phi * s.E_phi + s.I, s.phi),
        lambda x: [x.left.array(), x.right.array()],
    ),
    "identity": (lambda: IDENTITIES[3], lambda x: [len(repr(x))]),
    "proof": (
        lambda: sc.prove((s := sc.operators(small())).H * s.psi * s.M * s.psi.T * s.H.T, s.D),
        lambda x: [len(repr(x)), x.left.array(), *(step.expression.array() for step in x.steps)],
    ),
    "verification": (lambda: sc.verify((s := sc.operators(small())).tau * s.tau, s.tau), lambda x: [x.ok, len(repr(x))]),
    "health": (lambda: sc.check(small()), lambda x: [len(repr(x)), x.ok]),
    "check of a hinge": (lambda: sc.check_hinge(sc.Gimbal()), lambda x: [len(repr(x)), x.ok]),
    "handle": (
        lambda: sc.Dynamics(tree()), lambda d: [d.forward_dynamics(d.graph.q, d.graph.v, d.graph.v), d.mass_matrix(d.graph.q)],
    ),
    "handle that ignores loops": (lambda: sc.Dynamics(closed(), ignore_loops=True), lambda d: [d.mass_matrix(d.graph.q)]),
    "poses": (lambda: dyn.poses(mb := tree(), mb.q), lambda p: [np.asarray(p), p["body3/tip"].translation]),
    "velocities": (lambda: dyn.velocities(mb := tree(), mb.q, mb.v), lambda V: [np.asarray(V), V["body3/tip"]]),
    "tree-augmented": (lambda: TreeAugmented(closed()), numbers_of_solver),
    "fully augmented": (lambda: FullyAugmented(closed(), tolerance=1e-7), numbers_of_solver),
    "embedding": (lambda: ConstraintEmbedding(closed()), numbers_of_solver),
    "result": (lambda: TreeAugmented(mb := closed()).forward_dynamics(mb.q, mb.v, mb.v), lambda r: [r.vdot, r.rank]),
    "report of loops": (lambda: sc.loops.report(closed()), lambda r: [len(repr(r))]),
    "linearization": (lambda: analysis.linearize(mb := small(), mb.q, mb.v, mb.v), lambda x: [x.A, x.B]),
    "diagonalized": (lambda: analysis.diagonalize(mb := small(), mb.q, mb.v), lambda x: [x.nu, x.v_of(x.nu)]),
    **{f"expression: {name}": (lambda name=name: expressions(sc.operators(small()), "body3")[name], numbers_of_expression)
       for name in expressions(sc.operators(small()), "body3")},
}  # fmt: skip


def same(x, y):
    for a, b in zip(x, y, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("thing", THINGS)
def test_a_copy_has_the_same_numbers_and_a_model_of_its_own(thing, way):
    make, numbers = THINGS[thing]
    first = make()
    other = WAYS[way](first)
    assert type(other) is type(first)
    same(numbers(other), numbers(first))
    for name in ("graph", "system"):
        if getattr(first, name, None) is not None and not isinstance(first, sc.loops.Result):
            assert getattr(other, name) is not getattr(first, name)
    if getattr(type(first), "__repr__", None) is not object.__repr__:
        assert repr(other) == repr(first)
