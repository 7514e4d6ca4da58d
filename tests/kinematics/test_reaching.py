"""Inverse kinematics of trees by compiled code takes the steps of Python: the same answers, from one start."""

from unittest import mock

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from tests.loops.cases import FourBar

import soacraft as sc
from soacraft import _core
from soacraft.kinematics import descent, inverse
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.reaching import Descent, reach
from soacraft.kinematics.targets import Direction, Placement, Position, aims_of
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.hinges import examples
from soacraft.model.samples.random_models import random_pose
from soacraft.model.states.kinematics import relative_pose

HINGES = [x for x in examples() if x.nv]


def in_python():
    """Compiled code answers nothing."""
    return mock.patch.object(inverse, "reach", return_value=None)


def nothing_in_python():
    """What compiled code leaves fails."""
    return mock.patch.object(inverse, "_solve", side_effect=AssertionError("left to Python"))


def exact(*given, **options):
    """Bounded least squares to the last digit: it would stop where |A x - b|^2 changes by less than a part of it."""
    return lsq_linear(*given, **options, tol=1e-25)


def aimed(mb, q, rng):
    """A target of each kind, of random weight, that a configuration meets, seen from the ground or another body."""
    found = []
    for kind in rng.permutation(["pose", "position", "direction"])[: rng.integers(1, 4)]:
        k, other = rng.choice(len(mb.bodies), 2, replace=False)
        frame = mb.bodies[k].add_node(f"{kind}_node", random_pose(int(rng.integers(99))))
        to = mb.root if rng.random() < 0.5 else mb.bodies[other]
        R, p = relative_pose(mb.state(q=q), frame, to)
        rest = dict(relative_to=None if to is mb.root else to, weight=float(rng.uniform(0.3, 3.0)))
        if kind == "pose":
            found.append(Placement(frame, sc.Pose(R, p), **rest))
        elif kind == "position":
            found.append(Position(frame, p, **rest))
        else:
            axis = rng.standard_normal(3)
            found.append(Direction(frame, axis, R @ axis, **rest))
    return found


def test_random_trees_take_the_steps_of_python():
    """Any hinges, several targets, other frames, limits in the way: the same point after as many
    steps. Where bodies move enough for it, compiled code answers nearly all."""
    asked = answered = limited = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mb = sc.random_tree(int(rng.integers(3, 7)), seed=seed, hinges=HINGES, branching=0.3)
        start, _ = mb.random_state(rng)
        goal = mb.integrate(start, rng.uniform(-0.4, 0.4, mb.nv))
        for body in mb.bodies if seed % 2 else ():
            if body.hinge.nq == body.hinge.nv and body.hinge.holonomic:
                here, there = start[body.q_slice], goal[body.q_slice]
                body.limits = sc.Limits(np.minimum(here, there), np.maximum(here, there))
        targets = aimed(mb, goal, rng)
        bounds = Bounds(mb, np.zeros(mb.nv, dtype=bool), limits=True)
        aims = aims_of(mb, targets, (), 1e-9)[0]
        found = reach(bounds, aims, start, 100, True)
        asked += 1
        if found is None:
            continue
        with in_python(), mock.patch.object(descent, "lsq_linear", exact):
            wanted = sc.inverse_kinematics(mb, targets, q0=start)
        assert (wanted.starts, wanted.iterations) == (1, found.iterations)
        np.testing.assert_allclose(found.q, wanted.q, atol=1e-7)
        for aim, gap in zip(aims, found.gaps, strict=True):
            R, p = aim.seen(mb.state(q=found.q))
            assert aim.met(aim.residual(R, p))
            np.testing.assert_allclose(gap, aim.gap(aim.residual(R, p)), atol=1e-13)
        assert np.array_equal(bounds.inside(found.q), found.q)
        answered += 1
        limited += bool(bounds.sides(found.q).any())
    assert answered >= 0.75 * asked
    assert limited >= 3


def test_an_arm_of_seven_pins_is_answered_by_compiled_code():
    """Alone and in a batch, with a result like any other."""
    mb = sc.load("iiwa14")
    rng = np.random.default_rng(0)
    goals = mb.q + 0.4 * rng.standard_normal((4, mb.nq))
    seen = [relative_pose(mb.state(q=q), mb.bodies[-1], mb.root) for q in goals]
    target = sc.Pose(np.array([R for R, _ in seen]), np.array([p for _, p in seen]))
    with nothing_in_python():
        many = sc.inverse_kinematics(mb, {mb.bodies[-1]: target})
        one = sc.inverse_kinematics(mb, {mb.bodies[-1]: sc.Pose(*seen[2])})
    assert many
    assert many.q.shape == goals.shape
    assert (one.starts, one.proof, one.residual_of_loops) == (1, "", {})
    assert np.array_equal(one.q, many.q[2])
    assert one.iterations == many.iterations[2] > 0
    for q, (R, p) in zip(many.q, seen, strict=True):
        found = relative_pose(mb.state(q=q), mb.bodies[-1], mb.root)
        np.testing.assert_allclose(found[0], R, atol=1e-8)
        np.testing.assert_allclose(found[1], p, atol=1e-8)


def test_what_it_is_not_sure_of_is_left():
    """Closed chains, sub-graphs, goals out of reach, a turn by half a turn, nothing that may move, limited balls."""
    chain = sc.serial_chain(3)
    held, free = np.ones(3, dtype=bool), np.zeros(3, dtype=bool)

    def tried(graph, target, mask=free, q0=(0.3, 0.2, 0.1)):
        aims = aims_of(graph, [target], (), 1e-9)[0]
        return reach(Bounds(graph, mask, limits=True), aims, np.array(q0, dtype=float), 100, True)

    near = Position("link3/tip", (2.0, 0.0, -1.0))
    assert tried(chain, near) is not None
    assert tried(chain, near, held) is None
    assert tried(chain, Position("link3/tip", (4.0, 0.0, 0.0))) is None
    assert tried(chain.subgraph(chain.bodies), near) is None
    assert tried(FourBar().build(0.9), Position("crank/end", (0.4, 0.0, 0.0))) is None
    tip = relative_pose(chain.state(q=[0.3, 0.2, 0.1]), chain.frame("link3/tip"), chain.root)[0]
    assert tried(chain, Direction("link3/tip", (1, 0, 0), -tip[:, 0])) is None
    over = sc.Pose(tip @ np.diag([-1.0, 1.0, -1.0]), (1.0, 0.0, 0.0))
    assert tried(chain, Placement("link3/tip", over)) is None
    ball = sc.Multibody("ball")
    body = ball.add_body("ball", None, sc.Spherical(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    body.add_node("x", sc.Pose(translation=(1, 0, 0)))
    at = Position("ball/x", (np.cos(0.2), np.sin(0.2), 0.0))
    assert tried(ball, at, q0=(0, 0, 0, 1)) is not None
    body.limits = sc.Limits(upper=1.0)
    assert tried(ball, at, q0=(0, 0, 0, 1)) is None


def test_arrays_that_do_not_fit_are_refused():
    mb = sc.serial_chain(2)
    tree = CompiledModel.of(mb.layout)
    whole, real = np.array([[1, 1, -1]]), np.zeros((1, 43))
    real[0, [0, 4, 8, 12, 16, 20, 24, 28, 32, 39, 40, 41, 42]] = 1.0
    n = mb.nv
    good = dict(aims_whole=whole, aims_real=real, free=np.arange(n), lower=np.full(n, -9.0), upper=np.full(n, 9.0),
                place=np.arange(n), unit=np.ones(n), turning=np.ones(n, dtype=np.int64), tolerances=Descent(100, 0),
                q=np.zeros(n), left=np.zeros(3))  # fmt: skip
    assert _core.reach(tree.kernels, **good) == 0  # a metre off is near enough here
    assert _core.reach(tree.kernels, **good | {"tolerances": Descent(100, 0, patience=1)}) == 0
    for name, bad, text in [
        ("aims_whole", np.array([[3, 1, -1]]), "there is no aim of kind 3"),
        ("aims_whole", np.array([[1, 2, -1]]), "an aim is on element 2"),
        ("aims_whole", np.array([[1, 1, -2]]), "an aim is on element -2"),
        ("aims_real", np.zeros((1, 42)), "an aim has 3 and 43 numbers"),
        ("free", np.array([5]), "free has an entry 5 out of range"),
        ("free", np.zeros(3, dtype=np.int64), "free has more than 2 entries"),
        ("place", np.array([0, 2]), "place has an entry 2 out of range"),
        ("unit", np.ones(3), "unit must have 2 entries"),
        ("left", np.zeros(2), "left must have 3 entries"),
        ("q", np.zeros(3), "q must have 2 entries"),
        ("tolerances", object(), "a plan needs damping"),
        ("tolerances", Descent(100, 0, patience=0), "patience of a plan must be positive"),
    ]:
        with pytest.raises(ValueError, match=text):
            _core.reach(tree.kernels, **good | {name: bad})
