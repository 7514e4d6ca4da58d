"""`pickle` and `copy.deepcopy` of everything a user may hold: independent of the first, with equal numbers."""

import copy
import multiprocessing
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
import pytest

import soacraft as sc
from soacraft import analysis
from soacraft import dynamics as dyn
from soacraft.errors import StaleError
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


def weight_of_crank(q):
    return [None, [[-np.sin(q[0]), np.cos(q[0])]]]


def crank():
    """A point mass on a crank: an SKO model of functions."""
    blocks = {"H": [[[1.0]], np.zeros((0, 2))], "M": [[[0.5]], 3.0 * np.eye(2)]}
    return sc.SKOModel([-1, 0], weight_of_crank, **blocks, q=[0.3], v=[2.0])


def numbers_of_expression(x):
    return [x.array(), x * np.arange(1.0, 1 + x.shape[1])]


def expressions(s, body):
    mm = s.H * s.phi * s.M * s.phi.T * s.H.T
    return {
        "leaf": s.phi,
        "mass matrix": mm,
        "its inverse": mm.inv,
        "sum": s.I - s.H * s.psi * s.K,
        "power": (2 * s.tau) ** 2,
        "Omega": s.Omega,
        "pick-off": s.B([body, f"{body}/tip"]),
        "derivative": mm.diff(body),
        "second derivative": mm.diff(body).diff(body),
        "rate": s.P.dot(),
        "Lyapunov": s.E_phi.lyapunov(s.M),
        "diagonal": sc.diag_of(s.phi),
        "zero": s.M.diff(body),
        "sensitivity": s.X(body),
        "Coriolis": s.coriolis,
        "inverse by sweeps": (s.I - s.E_phi).inv,
        "bound identity": sc.simplify(s.D * s.D.inv),
    }


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
        lambda: (g := sc.serial_chain(4).subgraph(["link2", "link3"], "moving")).state(q=np.ones(g.nq)),
        numbers_of_state,
    ),
    "SKO model": (lambda: tree().sko(), lambda m: [m.A(m.parent(2), 2), m.H(2), m.M(2), m.a(2), m.b(2)]),
    "random SKO model": (lambda: sc.random_sko(5, 1), lambda m: [m.M(k) for k in m.nodes]),
    "SKO model of functions": (crank, lambda m: [m.q, m.v, m.a(1), m.at([0.7]).A(0, 1)]),
    "derivative of an SKO model of functions": (lambda: sc.operators(crank(), "phi").diff("0"), numbers_of_expression),
    "compiled expression of functions": (
        lambda: sc.operators(crank(), "phi").compile(), lambda f: [f([0.7]), f([0.2], None, np.ones(3))],
    ),
    "properties": (lambda: sc.operators(small()).phi.properties(), lambda x: [len(repr(x)), x.invertible]),
    "check of a derivative": (
        lambda: sc.check_derivative(sc.operators(small()).phi, small().bodies[-1].name),
        lambda x: [len(repr(x)), x.ok, x.exact],
    ),
    "operators": (lambda: sc.operators(tree()), lambda s: [s.P.array(), s.V, s.T]),
    "operators of a snapshot": (
        lambda: sc.operators((mb := tree()).state(q=mb.neutral()), axes="inertial", force=np.ones(mb.nv)),
        lambda s: [s.P.array(), s.z],
    ),
    "operators of an SKO model": (lambda: sc.operators(sc.random_sko(5, 1), v=np.ones(11)), lambda s: [s.D.array()]),
    "operators of compound bodies": (
        lambda: sc.operators(sc.aggregate(tree(), ["body2", "body3"], ignore_loops=True)),
        lambda s: [s.D.array()],
    ),
    "operators of a closed chain": (lambda: sc.operators(ConstraintEmbedding(closed())), lambda s: [s.D.array(), s.v]),
    "derivative of a closed chain": (
        lambda: sc.operators(s := ConstraintEmbedding(closed())).D.diff(s.independent(s.graph.q)[0]),
        numbers_of_expression,
    ),
    "stacked vector": (lambda: sc.operators(tree()).V, lambda x: [x.data]),
    "compiled expression": (
        lambda: (s := sc.operators(tree()), s.H * s.phi * s.M * s.phi.T * s.H.T)[1].inv.compile(),
        lambda f: [f(f.graph.neutral()), f(f.graph.neutral(), None, np.ones(f.graph.nv))],
    ),
    "explanation": (lambda: sc.operators(tree()).psi.explain(), lambda x: [len(repr(x))]),
    "definition": (
        lambda: sc.define("L", (s := sc.operators(small())).I - s.H * s.psi * s.K),
        numbers_of_expression,
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
    "verification": (
        lambda: sc.verify((s := sc.operators(small())).tau * s.tau, s.tau),
        lambda x: [x.ok, len(repr(x))],
    ),
    "health": (lambda: sc.check(small()), lambda x: [len(repr(x)), x.ok]),
    "check of a hinge": (lambda: sc.check_hinge(sc.Gimbal()), lambda x: [len(repr(x)), x.ok]),
    "handle": (
        lambda: sc.Dynamics(tree()),
        lambda d: [d.forward_dynamics(d.graph.q, d.graph.v, d.graph.v), d.mass_matrix(d.graph.q)],
    ),
    "handle that ignores loops": (
        lambda: sc.Dynamics(closed(), ignore_loops=True),
        lambda d: [d.mass_matrix(d.graph.q)],
    ),
    "poses": (lambda: dyn.poses(mb := tree(), mb.q), lambda p: [np.asarray(p), p["body3/tip"].translation]),
    "velocities": (lambda: dyn.velocities(mb := tree(), mb.q, mb.v), lambda V: [np.asarray(V), V["body3/tip"]]),
    "tree-augmented": (lambda: TreeAugmented(closed()), numbers_of_solver),
    "fully augmented": (lambda: FullyAugmented(closed(), tolerance=1e-7), numbers_of_solver),
    "embedding": (lambda: ConstraintEmbedding(closed()), numbers_of_solver),
    "result": (lambda: TreeAugmented(mb := closed()).forward_dynamics(mb.q, mb.v, mb.v), lambda r: [r.vdot, r.rank]),
    "report of loops": (lambda: sc.loops.report(closed()), lambda r: [len(repr(r))]),
    "linearization": (lambda: analysis.linearize(mb := small(), mb.q, mb.v, mb.v), lambda x: [x.A, x.B]),
    "diagonalized": (lambda: analysis.diagonalize(mb := small(), mb.q, mb.v), lambda x: [x.nu, x.v_of(x.nu)]),
    **{
        f"expression: {name}": (
            lambda name=name: expressions(sc.operators(small()), "body3")[name],
            numbers_of_expression,
        )
        for name in expressions(sc.operators(small()), "body3")
    },
}


@cache
def made(thing):
    """It, with its numbers: made once for both ways."""
    make, numbers = THINGS[thing]
    first = make()
    return first, numbers(first)


def same(x, y):
    for a, b in zip(x, y, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("thing", THINGS)
def test_a_copy_has_the_same_numbers_and_a_model_of_its_own(thing, way):
    first, expected = made(thing)
    numbers = THINGS[thing][1]
    other = WAYS[way](first)
    assert type(other) is type(first)
    same(numbers(other), expected)
    for name in ("graph", "system"):
        if getattr(first, name, None) is not None and not isinstance(first, sc.loops.Result):
            assert getattr(other, name) is not getattr(first, name)
    if getattr(type(first), "__repr__", None) is not object.__repr__:
        assert repr(other) == repr(first)


@pytest.mark.parametrize("way", WAYS)
def test_things_copied_together_stay_together(way):
    mb = tree()
    s = sc.operators(mb)
    first = [mb, mb["body3/tip"], mb.state(), mb.subgraph(["body1"]), s, s.phi, s.V, mb.loops, sc.Dynamics(mb)]
    twin, tip, state, g, ops, phi, V, _, handle = WAYS[way](first)
    assert twin is not mb
    assert tip is twin["body3/tip"]
    assert state is twin.current
    assert g.multibody is twin
    assert ops.binding is phi.binding
    assert ops.binding.graph is handle.graph is twin
    assert V.space == phi.cols
    np.testing.assert_allclose(phi.T * (ops.H.T * twin.v), V, atol=1e-13)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_independent(way):
    mb = tree()
    before = mb.q
    twin = WAYS[way](mb)
    q, v = mb.random_state(9)
    twin.set_state(q, v)
    twin.bodies[0].inertia = sc.Inertia(9.0)
    twin.clear_forces()
    twin.add_body("more", "body1", sc.Weld())
    np.testing.assert_array_equal(mb.q, before)
    assert mb.bodies[0].inertia.mass != 9.0
    assert len(mb.current.forces) == 1
    assert "more" not in mb


@pytest.mark.parametrize("way", WAYS)
def test_a_solver_goes_on_with_its_choice_of_dofs_and_its_turns(way):
    s = ConstraintEmbedding(mb := closed(), independent=None)
    s.forward_dynamics(mb.q, mb.v, np.ones(mb.nv))
    other = WAYS[way](s)
    assert other.epoch.dofs == s.epoch.dofs
    assert other.independent(mb.q) == s.independent(mb.q)
    assert other.tolerance == s.tolerance
    wanted = ConstraintEmbedding(mb, independent=s.independent(mb.q), tolerance=1e-5)
    assert WAYS[way](wanted).independent(mb.q) == s.independent(mb.q)
    turned = TreeAugmented(mb)
    turned.forward_dynamics(mb.q, mb.v, np.ones(mb.nv))
    turned._theta = {name: x + 2 * np.pi for name, x in turned._theta.items()}
    for name, x in turned._theta.items():
        np.testing.assert_array_equal(WAYS[way](turned)._theta[name], x)


def test_long_chains_are_copied_without_deep_calls():
    n = 3 * sys.getrecursionlimit()
    mb = sc.serial_chain(n)
    mb.q = np.linspace(0, 1, n)
    for way in WAYS.values():
        twin = way(mb)
        assert len(twin) == n
        assert twin.bodies[-1].parent is twin.bodies[-2]
        np.testing.assert_array_equal(twin.q, mb.q)


def test_what_is_stale_is_not_copied():
    mb = sc.serial_chain(3)
    s = sc.operators(mb)
    stale = [mb["link3/tip"], mb.state(), mb.subgraph(["link1"]), s, s.phi, s.V, sc.Dynamics(mb), dyn.poses(mb, mb.q)]
    mb.remove("link3")
    for thing in stale:
        for way in WAYS.values():
            with pytest.raises(StaleError):
                way(thing)


def test_a_shallow_copy_has_the_same_model():
    mb = tree()
    for thing in (mb.bodies[1], mb["body3/tip"], mb.root):
        assert copy.copy(thing) is thing
    assert copy.copy(mb.state(v=np.zeros(mb.nv))).graph is mb
    assert copy.copy(sc.operators(mb)).binding.graph is mb


def kinetic_energy(mb_and_v):
    mb, v = mb_and_v
    return float(dyn.kinetic_energy(mb, mb.q, v))


def test_a_pool_of_processes():
    """Started afresh, so that nothing but what was pickled gets there."""
    mb = small()
    jobs = [(mb, v) for v in np.eye(mb.nv)[:2]]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(kinetic_energy, jobs)) == [kinetic_energy(job) for job in jobs]
