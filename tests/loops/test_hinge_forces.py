"""Reactions of all hinges of closed chains: against Newton and Euler for every body, against a slider-crank by hand."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loops.cases import FourBar, closed_graphs, comparable, force_of, near
from tests.loops.slider_crank import SliderCrank
from tests.profiles import tries

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StaleError, StateError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

SOLVERS = [TreeAugmented, FullyAugmented, ConstraintEmbedding]


def newton_and_euler(mb, result, q, v, loads):
    """What is left of m a - force and of d/dt (I w) - moment about the centre, for every body, and their sizes."""
    f = result.hinge_forces
    moves, rates = dyn.accelerations(mb, q, v, result.vdot), dyn.velocities(mb, q, v)
    left, size = [], 1.0
    for body in mb.bodies:
        com = f"{body.name}/com"
        terms = [f.at(body, com, "inertial")]
        terms += [-f.at(child, com, "inertial") for child in mb.bodies if child.parent is body]
        for loop in mb.loops:
            terms += [sign * f.at(loop.name, com, "inertial")
                      for frame, sign in ((loop.b, 1), (loop.a, -1)) if frame.carrier is body]  # fmt: skip
        terms += [wrench for name, wrench in loads.items() if name == body.name]
        m, R = body.inertia.mass, np.asarray(mb.pose(body, state=mb.state(q=q)).rotation)
        I, w = R @ body.inertia.moment @ R.T, rates[com][:3]
        a = moves[com]
        inertial = np.concatenate([I @ a[:3] + np.cross(w, I @ w), m * (a[3:] - mb.gravity)])
        left.append(inertial - sum(terms))
        size = max(size, *(np.abs(x).max() for x in (inertial, *terms)))
    return np.abs(left).max() / size


@tries(8)
@given(mb=closed_graphs(), kind=st.sampled_from(SOLVERS))
def test_newton_and_euler_for_every_body(mb, kind):
    for body in mb.bodies:
        body.add_node("com", sc.Pose(np.eye(3), body.inertia.com))
    force = force_of(mb)
    comparable(mb, force)
    rng = np.random.default_rng(2)
    solver = kind(mb)
    for loads in ({}, {mb.bodies[-1].name: rng.standard_normal(6)}):  # moment about the centre and force, inertial
        f_ext = {f"{name}/com": sc.Wrench(x[:3], x[3:], expressed_in="inertial") for name, x in loads.items()}
        result = solver.forward_dynamics(mb.q, mb.v, force, f_ext or None)
        assert newton_and_euler(mb, result, mb.q, mb.v, loads) < 1e-9
        f = result.hinge_forces
        along = np.concatenate([H @ f[body] for H, body in zip(hinge_maps(mb), mb.bodies, strict=True)])
        wanted = force + coupled(mb, result)  # motors and couplings act through the hinges
        assert np.abs(along - wanted).max(initial=0) < 1e-8 * max(1.0, *map(largest, result.multipliers.values()))


def largest(x):
    return np.abs(x).max(initial=0.0)


def hinge_maps(mb):
    sko = mb.sko()
    return [sko.H(k)[:, :6] for k in sko.nodes]


def coupled(mb, result):
    """-p'(q) lambda of every coupling, by dof."""
    T = np.zeros(mb.nv)
    for coupling in mb.couplings:
        G = sc.kinematics.rows.Constraints(mb, mb.state()).jacobian()
        T -= G[-1] * result.multipliers[coupling.name]  # drawn graphs have one at most, after the closures
    return T


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("theta", [0.4, 1.9, 3.8])
def test_a_slider_crank_by_hand(kind, theta):
    crank = SliderCrank()
    mb, omega, torque = crank.build(), 40.0, 7.0
    q, v = crank.state(theta, omega)
    result = kind(mb).forward_dynamics(q, v, [torque, 0, 0])
    near(result["crank"], crank.acceleration(theta, omega, torque))
    main, pin, wrist = crank.bearings(theta, omega, torque)
    f = result.hinge_forces
    near(f.at("crank", expressed_in="inertial"), np.array([0, torque, 0, main[0], 0, main[1]]))
    near(f.at("rod", expressed_in="inertial"), np.array([0, 0, 0, pin[0], 0, pin[1]]))
    near(f.at("wrist", "rod/end", "inertial"), np.array([0, 0, 0, wrist[0], 0, wrist[1]]))
    tree_alone = dyn.interbody_forces(mb, q, v, result.vdot, expressed_in="inertial", ignore_loops=True)["crank"]
    assert np.abs(tree_alone[[3, 5]] - main).max() > 5.0  # what the loop adds


def test_springs_gravity_compensation_and_stored_forces():
    """What acts at the time of the solve counts, whatever is stored on the model later."""
    mb = SliderCrank().build()
    mb["rod"].gravity_compensation = 1.0
    for body in mb.bodies:
        body.add_node("com", sc.Pose(np.eye(3), body.inertia.com))
    q, v = SliderCrank().state(0.8, 5.0)
    solver = ConstraintEmbedding(mb)
    plain = solver.forward_dynamics(q, v, np.zeros(3), passive=False)
    lifted = solver.forward_dynamics(q, v, np.zeros(3))
    for r, lift in ((plain, 0.0), (lifted, 9.81 * mb["rod"].inertia.mass)):
        ground = sum(r.hinge_forces.at(name, expressed_in="inertial")[5] for name in ("crank", "slider"))
        rise = dyn.accelerations(mb, q, v, r.vdot)
        near(ground + lift, sum(b.inertia.mass * (rise[f"{b.name}/com"][5] + 9.81) for b in mb.bodies))
    mb.set_force("slider", [0, 0, 0, 50.0, 0, 0])
    pushed = solver.forward_dynamics(q, v, np.zeros(3))
    mb.clear_forces()
    again = solver.forward_dynamics(q, v, np.zeros(3), f_ext={"slider": [0, 0, 0, 50.0, 0, 0]})
    near(pushed.hinge_forces["crank"], again.hinge_forces["crank"])
    assert np.abs(pushed.hinge_forces["crank"] - lifted.hinge_forces["crank"]).max() > 1.0


@pytest.mark.parametrize("kind", SOLVERS)
def test_springs_between_nodes_that_are_left_out_push_no_hinge(kind):
    """At the first state, at later ones and in a batch (2, 3): as in the same model without the spring, and with it as
    in the model that its two pulls are put on by hand."""
    crank = SliderCrank()
    plain, sprung = crank.build(), crank.build()
    stiffness = 300.0
    sprung.add_spring("pull", "crank", "slider", stiffness=stiffness)
    states = [crank.state(theta, 3.0) for theta in (0.2, 0.9, 1.7, 2.4, 3.6, 5.0)]
    q, v = (np.reshape([x[i] for x in states], (2, 3, 3)) for i in (0, 1))
    bare, solver = kind(plain), kind(sprung)
    for at in [(0, 0), (1, 2), ...]:  # the first call solves in another way than the later ones
        found = solver.forward_dynamics(q[at], v[at], np.zeros(3), passive=False).hinge_forces
        wanted = bare.forward_dynamics(q[at], v[at], np.zeros(3)).hinge_forces
        for name in wanted:
            near(found[name], wanted[name], 1e-9)
    plain.q = q[1, 0]
    line = plain.pose("slider").translation - plain.pose("crank").translation
    pulls = {
        name: sc.Wrench((0, 0, 0), sign * stiffness * line, expressed_in=plain.root)
        for name, sign in (("crank", 1.0), ("slider", -1.0))
    }
    wanted = bare.forward_dynamics(q[1, 0], v[1, 0], np.zeros(3), pulls).hinge_forces
    for found in (solver.forward_dynamics(q[1, 0], v[1, 0], np.zeros(3)).hinge_forces,
                  kind(sprung).forward_dynamics(q[1, 0], v[1, 0], np.zeros(3)).hinge_forces):  # fmt: skip
        for name in wanted:
            near(found[name], wanted[name], 1e-9)


def test_batches_agree_with_single_states():
    crank = SliderCrank()
    solver = TreeAugmented(crank.build())
    states = [crank.state(theta, 30.0) for theta in (0.1, 0.9, 2.0)]
    q, v = (np.array([x[i] for x in states]) for i in (0, 1))
    batch = solver.forward_dynamics(q, v, np.zeros(3))
    assert batch["crank"].shape == (3,)
    assert repr(batch.hinge_forces).endswith("batch (3,)")
    with pytest.raises(StateError, match=r"a table shows one state, and this is a batch \(3,\)"):
        batch.table()
    for i in range(3):
        one = solver.forward_dynamics(q[i], v[i], np.zeros(3))
        near(batch.hinge_forces.at("crank", expressed_in="inertial")[i],
             one.hinge_forces.at("crank", expressed_in="inertial"))  # fmt: skip


def test_accelerations_by_name_and_a_table():
    mb = SliderCrank().build()
    q, v = SliderCrank().state(0.8, 5.0)
    result = ConstraintEmbedding(mb).forward_dynamics(q, v, [1.0, 0, 0])
    assert (result["crank"], result["slider"]) == (result.vdot[0], result.vdot[2])
    assert result[mb["rod"]].shape == (1,)
    assert result.units == ("rad/s^2", "rad/s^2", "m/s^2")
    lines = result.table().splitlines()
    assert lines[0].split() == ["dof", "vdot", "unit"]
    assert lines[3].split() == ["slider", f"{result['slider']:.6g}", "m/s^2"]
    assert lines[4].startswith("wrist")
    with pytest.raises(ModelError, match=r"'crnk'.*'crank'"):
        result["crnk"]
    assert "crank" in list(result.hinge_forces)
    assert len(result.hinge_forces) == 4
    with pytest.raises(ModelError, match=r"'slider_crank' has no body, hinge or loop 'writs'.*'wrist'"):
        result.hinge_forces["writs"]
    with pytest.raises(ModelError, match="'rod/end' is no body of 'slider_crank'"):
        result.hinge_forces["rod/end"]
    copy = pickle.loads(pickle.dumps(result))
    assert copy["crank"] == result["crank"]
    with pytest.raises(StaleError, match="a copied result has no model"):
        copy.hinge_forces  # noqa: B018


def test_a_result_of_another_model_is_stale():
    mb = FourBar().build(0.7)
    solver = ConstraintEmbedding(mb)
    first, second = (solver.forward_dynamics(mb.q, mb.v, np.zeros(3)) for _ in range(2))
    known = first.hinge_forces["crank"]
    mb["crank"].inertia = sc.Inertia(9.0)
    np.testing.assert_array_equal(first.hinge_forces["crank"], known)
    with pytest.raises(StaleError, match="hinge forces of this result were not asked for before 'four_bar' changed"):
        second.hinge_forces  # noqa: B018
