"""Springs, tendons and bushings between nodes in compiled code, against their law in Python: every hinge, one state and
packs, sub-graphs, closed chains, rollouts, curves; and their derivatives against differences."""

from itertools import pairwise

import numpy as np
import pytest
from tests.dynamics.calls import DERIVATIVES, arguments, arrays, call, close, reference_alone, subtree, tree
from tests.dynamics.springs import linked, random_pose

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.dynamics.table import TABLE
from soacraft.errors import SimulationError, StateError

FUNCTIONS = ("passive_force", "passive_energy", "forward_dynamics", "inverse_dynamics", "bias_force", "mixed_dynamics")


def curved(mb, rng):
    """The model of `linked`, a spring and a damper by curves, and a tendon by both."""
    linked(mb, rng)
    first, *_, last = mb.bodies
    stiff = sc.Curve([0.1, 0.5, 1.2, 4.0], [-3.0, 0.5, 2.0, 30.0])
    mb.add_spring("rubber", mb.root, last, stiff, damping=sc.Curve([-2.0, 0.0, 1.0], [-1.0, 0.0, 2.0]))
    mb.add_spring("bungee", first, last, 2.0)
    dof = next(body.hinge_name for body in mb.bodies if body.hinge.nv == 1)
    corner = sc.Curve([-1.0, 0.0, 1.0], [-4.0, 0.0, 1.0], "linear")
    mb.add_tendon("stop", {dof: 0.7}, corner, sc.Curve([-1, 1], [-2, 2]))
    return mb


def without_wrenches(g, seed, batch=()):
    return arguments(g, seed, batch) | {"f_ext": None}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("batch", [(), (5,)], ids=["one", "pack"])
def test_compiled_is_the_law(function, batch):
    mb = curved(tree(3), np.random.default_rng(3))
    x = without_wrenches(mb, 3, batch)
    ours = arrays(call(function, mb, x))
    if function in mb.layout.calls:
        assert mb.layout.calls[function].passed_on == 0
    with reference_alone():
        theirs = arrays(call(function, mb, x))
    for a, b in zip(ours, theirs, strict=True):
        close(a, b, 1e-12)


@pytest.mark.parametrize("anchor", ["rest", "moving"])
def test_in_sub_graphs(anchor):
    mb = curved(tree(6, bases=1), np.random.default_rng(6))
    mb.set_state(*mb.random_state(6))
    bodies = subtree(mb, anchor).bodies
    hooks = [body.nodes[0] for body in bodies]
    mb.add_spring("to the wall", "inertial/wall", hooks[-1], 3.0, 0.2, 0.6)
    mb.add_bushing("inside", hooks[0], hooks[-1], np.arange(1.0, 7.0), 0.3)
    g = mb.subgraph(bodies, anchor=anchor)
    assert {"to the wall"} <= set(g.springs.names)
    x = without_wrenches(g, 1, (3,))
    for function in FUNCTIONS:
        ours = arrays(call(function, g, x))
        with reference_alone():
            theirs = arrays(call(function, g, x))
        for a, b in zip(ours, theirs, strict=True):
            close(a, b, 1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("function", sorted(DERIVATIVES))
def test_derivatives_are_those_of_differences(function, seed):
    """The reference takes differences of order six."""
    mb = curved(tree(seed, n=9, holonomic=True), np.random.default_rng(seed))
    x = without_wrenches(mb, seed)
    ours = arrays(call(function, mb, x))
    assert mb.layout.calls[function].passed_on == 0
    with reference_alone():
        theirs = arrays(call(function, mb, x))
    for a, b in zip(ours, theirs, strict=True):
        close(a, b, 1e-8)


def test_the_energy_has_the_force_for_a_gradient():
    mb = tree(8, n=7, holonomic=True)
    linked(mb, np.random.default_rng(8), even=True)
    mb.add_spring("rubber", mb.root, mb.bodies[-1], sc.Curve([0.1, 0.5, 1.2, 4.0], [-3.0, 0.5, 2.0, 30.0]))
    q, _ = mb.random_state(8)
    h, moved = 1e-3, []
    for i, weight in ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60)):
        steps = [np.array([mb.integrate(q, s * i * h * e) for e in np.eye(mb.nv)]) for s in (1, -1)]
        moved.append(weight * (dyn.passive_energy(mb, steps[0]) - dyn.passive_energy(mb, steps[1])) / h)
    close(dyn.passive_force(mb, q, np.zeros(mb.nv)), -sum(moved), 1e-9)


def four_bar():
    """A four-bar linkage with springs across it and a bushing at its coupler."""
    mb = sc.Multibody("four-bar", gravity=(0, 0, -9.81))
    rod = [sc.Inertia(1.0, (x, 0, 0), np.diag([0.01, 0.1, 0.1])) for x in (0.25, 0.5, 0.4)]
    mb.add_body("crank", None, sc.Pin((0, 1, 0)), rod[0])
    mb.add_body("coupler", "crank", sc.Pin((0, 1, 0)), rod[1], sc.Pose(translation=[0.5, 0, 0]))
    mb.add_body("rocker", None, sc.Pin((0, 1, 0)), rod[2], sc.Pose(translation=[1.0, 0, 0]))
    mb["coupler"].add_node("end", sc.Pose(translation=[1.0, 0, 0]))
    mb["rocker"].add_node("end", sc.Pose(translation=[0.8, 0, 0]))
    mb.close_loop("pin", "coupler/end", "rocker/end", sc.Pin((0, 1, 0)))
    mb.root.add_node("hook", sc.Pose(translation=[0.2, 0.1, 1.5]))
    mb.add_spring("s", "inertial/hook", "coupler/end", 40.0, 0.3, 2.0)
    mb.add_spring("d", "crank", "rocker/end", sc.Curve([0.2, 0.8, 2.0], [0.0, 3.0, 50.0]))
    mb.add_bushing("b", "crank", "coupler", [0, 5, 0, 3, 0, 3], 0.2, random_pose(np.random.default_rng(0)))
    return mb


@pytest.mark.parametrize("solver", [sc.loops.TreeAugmented, sc.loops.ConstraintEmbedding, sc.loops.FullyAugmented])
def test_closed_chains(solver):
    """As the same generalized force; compiled code answers, one state and packs."""
    mb = four_bar()
    s = solver(mb)
    rng = np.random.default_rng(1)
    q = np.array([s.assemble(mb.q + 0.2 * rng.standard_normal(3)) for _ in range(5)])
    v = np.array([s.project_velocity(x, rng.standard_normal(3)) for x in q])
    force = rng.standard_normal((5, 3))
    own = dyn.passive_force(mb, q, v, ignore_loops=True)
    assert np.abs(own).max() > 1.0
    ours = s.forward_dynamics(q, v, force).vdot
    close(ours, s.forward_dynamics(q, v, force + own, passive=False).vdot, 1e-10)
    call = s._chosen.call
    answered, passed_on = call.answered, call.passed_on
    for i in range(5):
        close(s.forward_dynamics(q[i], v[i], force[i]).vdot, ours[i], 1e-10)
    assert (call.answered, call.passed_on) == (answered + 5, passed_on)


def test_derivatives_of_closed_chains():
    mb = four_bar()
    s = sc.loops.TreeAugmented(mb)
    q = s.assemble(np.array([0.3, -0.2, 0.1]))
    v = s.project_velocity(q, [1.0, 0.5, -0.3])
    zero = np.zeros(3)
    s.forward_dynamics(q, v, zero)
    dq, dv, dforce = sc.loops.forward_dynamics_derivatives(s, q, v, zero)
    p, bare = dyn.passive_force(mb, q, v, ignore_loops=True), {"passive": False}
    found = sc.loops.forward_dynamics_derivatives(s, q, v, p, **bare)  # the same force, held
    given, M = {"ignore_loops": True}, dyn.mass_matrix(mb, q, ignore_loops=True)
    ours = dyn.forward_dynamics_derivatives(mb, q, v, zero, **given)
    held = dyn.forward_dynamics_derivatives(mb, q, v, p, **bare, **given)
    for d, without, a, b in zip((dq, dv), found, ours, held, strict=False):
        change = M @ (a - b)  # of the force along q and v
        assert np.abs(change).max() > 0.1
        close(d, without + dforce @ change, 1e-9)


def test_rollouts_take_them():
    """A rollout of springs is that of the propagator, step by step, one state and packs."""
    mb = curved(tree(2, n=5, holonomic=True), np.random.default_rng(2))
    q, v = mb.random_state(2)
    p = sc.sim.Propagator(mb, integrator="rk4", step=1e-3)
    Q, V = p.rollout(q, v, steps=4)
    several = p.rollout(np.array([q, q, q]), np.array([v, v, v]), steps=4)
    close(several[0][1], Q, 1e-13)
    mb.set_state(q, v)
    sc.sim.Propagator(mb, integrator="rk4", step=1e-3).advance_to(0.004)
    close(Q[-1], mb.q, 1e-11)
    close(V[-1], mb.v, 1e-10)


def test_edits_reach_compiled_code():
    """Of a node, a pose of a body, a hinge frame: the springs move with them."""
    mb = curved(tree(3), np.random.default_rng(3))
    q, v = mb.random_state(1)
    mb.add_spring("frames", mb.bodies[3].inboard_frame, mb.bodies[6].outboard_frame, 5.0, 0.2)

    def both():
        ours = dyn.passive_force(mb, q, v)
        with reference_alone():
            close(ours, dyn.passive_force(mb, q, v), 1e-12)
        return ours

    found = [both()]
    mb.springs["rope"].nodes[1].pose = sc.Pose(translation=[0.1, 0.2, 0.3])
    found.append(both())
    mb.bodies[3].inboard = sc.Pose(translation=[0.3, 0.1, 0.0])
    found.append(both())
    mb.springs["span"].nodes[0].carrier.outboard = sc.Pose(translation=[0.3, 0.1, 0.2])
    found.append(both())
    assert all(np.abs(a - b).max() > 1e-3 for a, b in pairwise(found))


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, -2, 3)], ids=str)
def test_a_bushing_turned_by_any_angle(axis):
    """-k angle about the axis: no branch of the logarithm loses digits, at a small turn or near half a turn."""
    mb = sc.Multibody("turned", gravity=(0, 0, 0))
    mb.add_body("link", None, sc.Pin(axis), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.add_bushing("b", "inertial", "link", [2.0, 2.0, 2.0, 0, 0, 0])
    for angle in (1e-7, 1e-3, 1.0, 2.0, 3.0, np.pi - 1e-4):
        found = dyn.passive_force(mb, np.array([angle]), np.zeros(1))
        assert found[0] == pytest.approx(-2.0 * angle, rel=1e-11)
    assert mb.layout.calls["passive_force"].passed_on == 0


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, -2, 3)], ids=str)
@pytest.mark.parametrize("of", ["passive_force", "forward_dynamics", "inverse_dynamics", "passive_energy"])
def test_a_bushing_at_half_a_turn_is_refused(axis, of):
    """Whoever computes: next to it the kernel passes on to Python, which refuses; beyond it both answer."""
    mb = sc.Multibody("turned", gravity=(0, 0, 0))
    mb.add_body("link", None, sc.Pin(axis), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.add_bushing("b", "inertial", "link", [2.0, 2.0, 2.0, 0, 0, 0])
    row = TABLE[of]
    text = r"^bushing 'b' is turned by half a turn from its rest, 3\.14159\d* rad, where .* changes sides .* Move"
    out = np.full(1, 7.0)

    def asked(angle, **more):
        rest = {x: np.zeros((*np.shape(angle), 1)) for x in row.vectors if x != "q"}
        return getattr(dyn, of)(mb, q=np.asarray(angle)[..., None], **rest, **more)

    for angle in (np.pi, -np.pi, np.pi - 3e-6, -np.pi + 3e-6, np.array([0.1, np.pi - 1e-6])):
        more = {"out": out} if of != "passive_energy" and np.ndim(angle) == 0 else {}
        with pytest.raises(StateError, match=text):
            asked(angle, **more)
        with reference_alone(), pytest.raises(StateError, match=text):
            asked(angle)
    assert out == [7.0]
    assert dyn.passive_force(mb, [np.pi + 1e-5], [0.0])[0] == pytest.approx(2.0 * (np.pi - 1e-5), rel=1e-9)


def test_what_compiled_code_is_not_sure_of_goes_to_python():
    """Nodes at one point, half a turn, the end of a slack range: answered or refused there, `out` left alone."""
    mb = sc.Multibody("slider", gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.add_spring("s", "inertial", "mass", 3.0)
    zero = np.zeros(1)
    assert dyn.forward_dynamics(mb, zero, zero, zero) == [0.0]
    assert dyn.forward_dynamics_derivatives(mb, zero, zero, zero)[0] == pytest.approx(-3.0, rel=1e-15)
    assert mb.layout.calls["forward_dynamics"].passed_on == 0
    mb.add_spring("rope", "inertial", "mass", 3.0, (0.0, 0.5))
    out = tuple(np.full((1, 1), 7.0) for _ in range(3))
    with pytest.raises(StateError, match=r"spring 'rope' gets slack at 0\.5 m"):
        dyn.forward_dynamics_derivatives(mb, [0.5], [0.0], [0.0], out=out)
    assert all((x == 7.0).all() for x in out)
    mb.add_spring("rod", "inertial", "mass", 3.0, 0.5)
    with pytest.raises(StateError, match="spring 'rod' has no direction"):
        dyn.forward_dynamics(mb, [0.0], [0.0], [0.0])
    with pytest.raises(SimulationError, match="acceleration is not finite"):
        sc.sim.Propagator(mb, integrator="rk4", step=1e-3).rollout([0.0], [0.0], steps=1)


def test_saved_for_cpp(tmp_path):
    """They are part of the file that C++ loads."""
    mb = curved(tree(3), np.random.default_rng(3))
    sc.save_core(mb, tmp_path / "with.soacraft")
    mb.remove_bushing("mount")
    sc.save_core(mb, tmp_path / "without.soacraft")
    larger, smaller = ((tmp_path / f"{x}.soacraft").stat().st_size for x in ("with", "without"))
    assert larger - smaller == 8 * (84 + 2 * 13)
