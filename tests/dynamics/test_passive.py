"""Springs, dampers, tendons and gravity compensation act in all dynamics: against Eq. 31 written in operators, closed
forms, the balance of energy, and derivatives against differences."""

import inspect

import numpy as np
import pytest
from tests.dynamics.calls import DERIVATIVES, GRAVITY, arguments, arrays, call, close, subtree, tree
from tests.dynamics.springs import sprung
from tests.dynamics.test_derivatives import check

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.analysis import linearize
from soacraft.errors import ModelError, StateError

FEEL = [name for name in dyn.__all__ if "passive" in inspect.signature(getattr(dyn, name)).parameters]


def eq_31(s, T):
    """vdot = (I - H psi K)* D^-1 [T - H psi (K T + P a + b)] - K* psi* a."""
    nu = s.D.inv * (T - s.H * (s.psi * (s.K * T + s.P * s.a + s.b)))
    return np.asarray(nu - s.K.T * (s.psi.T * (s.H.T * nu + s.a)))


def test_which_functions_they_act_in():
    assert set(FEEL) == {
        "inverse_dynamics", "forward_dynamics", "mixed_dynamics", "bias_force", "interbody_forces",
        "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    }  # fmt: skip
    for name in FEEL:
        assert inspect.signature(getattr(dyn, name)).parameters["passive"].default is True


@pytest.mark.parametrize("axes", ["body", "inertial"])
@pytest.mark.parametrize("seed", [1, 2])
def test_eq_31_with_the_force_and_passive(seed, axes):
    mb = sprung(tree(seed, n=9), seed)
    x = arguments(mb, seed)
    s = sc.operators(mb.state(x["q"], x["v"]), axes=axes, f_ext=x["f_ext"], force=x["force"])
    close(np.asarray(s.passive), dyn.passive_force(mb, x["q"], x["v"]), 1e-13)
    assert s.passive.space == s.T.space == s.hinge
    close(eq_31(s, s.T + s.passive), dyn.forward_dynamics(mb, x["q"], x["v"], x["force"], x["f_ext"]))
    bare = dyn.forward_dynamics(mb, x["q"], x["v"], x["force"], x["f_ext"], passive=False)
    close(np.asarray(s.vdot), bare)  # operators have none of them
    close(np.asarray(s.C), dyn.bias_force(mb, x["q"], x["v"], x["f_ext"], passive=False))


def test_the_stacked_vector_follows_the_model():
    mb = sprung(tree(3, n=9), 3)
    s = sc.operators(mb)
    q, v = mb.random_state(np.random.default_rng(0))
    mb.set_state(q, v)
    close(np.asarray(s.passive), dyn.passive_force(mb, q, v), 1e-13)
    plain = sc.operators(mb.sko())
    assert not np.asarray(plain.passive).any()
    assert plain.passive.space == plain.hinge


@pytest.mark.parametrize("seed", [1, 2])
def test_they_are_one_more_generalized_force(seed):
    """M vdot + C + g = force + passive, with prescribed dofs too; in batches, on a sub-graph, with stored forces."""
    mb = sprung(tree(seed, n=9, bases=1), seed)
    mb.set_force(mb.bodies[3], sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="inertial"))
    for g in (mb, subtree(mb, "moving")):
        x = arguments(g, seed, (3,))
        q, v, vdot, force, f_ext = (x[name] for name in ("q", "v", "vdot", "force", "f_ext"))
        own = dyn.passive_force(g, q, v)
        assert np.abs(own).max() > 1.0
        close(dyn.forward_dynamics(g, q, v, force, f_ext),
              dyn.forward_dynamics(g, q, v, force + own, f_ext, passive=False))  # fmt: skip
        close(dyn.inverse_dynamics(g, q, v, vdot, f_ext),
              dyn.inverse_dynamics(g, q, v, vdot, f_ext, passive=False) - own)  # fmt: skip
        close(dyn.bias_force(g, q, v, f_ext), dyn.bias_force(g, q, v, f_ext, passive=False) - own)
        close(dyn.bias_force(g, q, v, f_ext), dyn.inverse_dynamics(g, q, v, np.zeros(g.nv), f_ext))
        mixed, needed = dyn.mixed_dynamics(g, q, v, force, vdot, x["prescribed"], f_ext)
        close(dyn.inverse_dynamics(g, q, v, mixed, f_ext), needed)
        held = x["prescribed"]
        np.testing.assert_array_equal(mixed[:, held], vdot[:, held])
        np.testing.assert_array_equal(needed[:, ~held], force[:, ~held])
        bare, less = dyn.mixed_dynamics(g, q, v, force + own, vdot, held, f_ext, passive=False)
        close(mixed, bare)
        close(needed[:, held], (less - own)[:, held])


@pytest.mark.parametrize("seed", [1, 2])
def test_derivatives_against_differences(seed):
    """Springs of unlike stiffness on every hinge, tendons slack and taut, and weights carried in part."""
    mb = sprung(tree(seed, n=8, holonomic=True), seed)
    check(mb, arguments(mb, seed))


def test_derivatives_of_springs_alone():
    """Without gravity compensation the kernels have all of them; a batch, and a sub-graph on a moving anchor."""
    mb = sprung(tree(4, n=9, holonomic=True, bases=1), 4, compensated=False)
    g = subtree(mb, "moving")
    check(g, arguments(g, 4) | {"f_ext": None})
    x = arguments(mb, 4, (3,)) | {"f_ext": None}
    for function in sorted(DERIVATIVES):
        whole = call(function, mb, x)
        for i in range(3):
            one = {name: value[i] if name in ("q", "v", "vdot", "force") else value for name, value in x.items()}
            for many, single in zip(whole, call(function, mb, one), strict=True):
                close(many[i], single, 1e-12)


def test_a_hinge_relaxed_where_it_stands():
    """At rest the turn is zero, where the rate of the rotation vector is the identity."""
    mb = sc.random_tree(3, 1, [sc.Spherical(), sc.Free()], gravity=GRAVITY)
    q, _ = mb.random_state(np.random.default_rng(1))
    for body in mb.bodies:
        body.passive = sc.Passive(np.arange(1.0, body.hinge.nv + 1.0), rest=q[body.q_slice])
    zero = np.zeros(mb.nv)
    close(dyn.passive_force(mb, q, zero), zero, 1e-14)
    dq = dyn.inverse_dynamics_derivatives(mb, q, zero, zero)[0]
    bare = dyn.inverse_dynamics_derivatives(mb, q, zero, zero, passive=False)[0]
    close(dq - bare, np.diag(np.concatenate([body.passive.stiffness for body in mb.bodies])), 1e-13)


@pytest.mark.parametrize("angle", [0.02, 0.2, 0.3, 2.5])
def test_a_ball_turned_a_little_and_far(angle):
    """The rate of the rotation vector by its series and by its closed form, against central differences."""
    mb = sc.random_tree(1, 1, [sc.Spherical()], gravity=GRAVITY)
    (body,) = mb.bodies
    rest, zero = body.hinge.random(np.random.default_rng(2)), np.zeros(3)
    body.passive = sc.Passive([1.0, 2.0, 3.0], rest=rest)
    q = mb.integrate(rest, angle * np.array([2.0, -1.0, 2.0]) / 3.0)
    found, bare = (dyn.inverse_dynamics_derivatives(mb, q, zero, zero, passive=passive)[0] for passive in (True, False))
    wanted = np.zeros((3, 3))
    for steps, weight in ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60)):
        for sign in (1, -1):
            forces = [dyn.passive_force(mb, mb.integrate(q, sign * steps * 1e-2 * e), zero) for e in np.eye(3)]
            wanted -= sign * weight / 1e-2 * np.stack(forces, axis=-1)
    close(found - bare, wanted, 1e-10)


@pytest.mark.parametrize("function", FEEL)
def test_left_out_they_are_as_if_they_were_not_there(function):
    holonomic = function in DERIVATIVES
    mb, bare = sprung(tree(5, n=9, holonomic=holonomic), 5), tree(5, n=9, holonomic=holonomic)
    x = arguments(mb, 2)
    other = {bare.frame(getattr(node, "name", node)): wrench for node, wrench in x["f_ext"].items()}
    named = {node: sc.Wrench(w.moment, w.force, getattr(w.expressed_in, "full_name", w.expressed_in))
             if isinstance(w, sc.Wrench) else w for node, w in other.items()}  # fmt: skip
    ours = call(function, mb, x, passive=False)
    theirs = call(function, bare, x | {"f_ext": named})
    for one, two in zip(arrays(ours), arrays(theirs), strict=True):
        np.testing.assert_array_equal(one, two)


def test_handles_take_them_quickly_and_left_out():
    mb = sprung(tree(6, n=9, holonomic=True), 6, compensated=False)
    x = {name: value for name, value in arguments(mb, 3).items() if name in ("q", "v", "vdot", "force")}
    d = dyn.Dynamics(mb)
    lasts = {"forward_dynamics": "force", "inverse_dynamics": "vdot"}
    for function, last in (lasts | {f"{name}_derivatives": last for name, last in lasts.items()}).items():
        given = x["q"], x["v"], x[last]
        for passive in ({}, {"passive": True}, {"passive": False}):
            quick = arrays(getattr(d, function)(*given, **passive))
            for one, two in zip(quick, arrays(getattr(dyn, function)(mb, *given, **passive)), strict=True):
                close(one, two, 1e-12)
            many = arrays(getattr(d, function)(*(np.tile(y, (5, 1)) for y in given), **passive))
            for one, two in zip(many, quick, strict=True):
                close(one, np.broadcast_to(two, one.shape), 1e-11)
    with pytest.raises(TypeError, match="passive"):
        d.mass_matrix(x["q"], passive=False)


def test_a_change_is_seen_by_the_next_call():
    mb = sc.load("pendulum")
    d, state, s = dyn.Dynamics(mb), mb.state([0.4], [1.0]), sc.operators(mb)
    before = d.forward_dynamics(np.array([0.4]), np.array([1.0]), np.zeros(1))
    mb["bob"].passive = sc.Passive(stiffness=5.0)
    for _ in range(2):  # the first brings the spring to the kernels
        close(d.forward_dynamics(np.array([0.4]), np.array([1.0]), np.zeros(1)) - before, [-2.0], 1e-14)
    close(np.asarray(sc.operators(state).passive), [-2.0], 1e-14)
    mb.q = [0.4]
    close(np.asarray(s.passive), [-2.0], 1e-14)
    mb["bob"].gravity_compensation = 1.0
    for _ in range(2):
        close(d.forward_dynamics(np.array([0.4]), np.array([1.0]), np.zeros(1)), [-2.0], 1e-14)
    mb["bob"].passive = sc.Passive()
    mb["bob"].gravity_compensation = 0.0
    for _ in range(2):
        close(d.forward_dynamics(np.array([0.4]), np.array([1.0]), np.zeros(1)), before, 1e-14)


def test_through_the_hinges():
    """H f is the force and what springs, dampers and tendons add; f does not depend on how the two share it."""
    mb = sprung(tree(7, n=9), 7, compensated=False)
    x = arguments(mb, 1)
    f = dyn.interbody_forces(mb, x["q"], x["v"], x["vdot"], x["f_ext"])
    close(f, dyn.interbody_forces(mb, x["q"], x["v"], x["vdot"], x["f_ext"], passive=False), 0.0)
    s = sc.operators(mb.state(x["q"], x["v"], x["vdot"]), f_ext=x["f_ext"])
    along = np.asarray(s.H * np.asarray(f).reshape(-1))
    close(along, dyn.inverse_dynamics(mb, x["q"], x["v"], x["vdot"], x["f_ext"]) + np.asarray(s.passive))
    mb.bodies[-1].gravity_compensation = 1.0  # it acts on the body: its hinge carries less
    after = dyn.interbody_forces(mb, x["q"], x["v"], x["vdot"], x["f_ext"], "inertial")
    less = after - dyn.interbody_forces(mb, x["q"], x["v"], x["vdot"], x["f_ext"], "inertial", passive=False)
    close(less[-1, 3:], mb.bodies[-1].inertia.mass * mb.gravity)


# -- closed forms -------------------------------------------------------------------------------------------------


def test_a_damped_oscillator():
    """m x'' = -k (x - rest) - c x' has the rates -c / 2m +- i sqrt(k/m - (c/2m)^2)."""
    m, k, c, rest = 2.0, 50.0, 3.0, 0.1
    mb = sc.Multibody("oscillator", gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(m, (0, 0, 0)))
    mb["mass"].passive = sc.Passive(k, c, rest=[rest])
    close(dyn.forward_dynamics(mb, [0.4], [0.7], [0.5]), [(0.5 - k * (0.4 - rest) - c * 0.7) / m], 1e-15)
    lin = linearize(mb, [rest], [0.0], [0.0])
    close(lin.A, [[0.0, 1.0], [-k / m, -c / m]], 1e-14)
    rate, turn = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)
    close(lin.eigenvalues, [-rate + 1j * turn, -rate - 1j * turn], 1e-13)
    close(linearize(mb, [rest], [0.0], [0.0], passive=False).A, [[0.0, 1.0], [0.0, 0.0]], 0.0)


def test_a_tendon_pulls_both_ends_and_is_slack_between():
    mb = sc.Multibody("sliders", gravity=(0, 0, 0))
    for name, mass in (("a", 1.0), ("b", 2.0)):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(mass, (0, 0, 0)))
    mb.add_tendon("cable", {"a": 2.0, "b": -1.0}, stiffness=3.0, damping=0.5, rest=(-0.1, 0.2))
    for q, stretch in (([0.3, 0.1], 0.5 - 0.2), ([0.05, 0.0], 0.0), ([0.0, 0.4], -0.4 + 0.1)):
        tension = 3.0 * stretch + 0.5 * (2.0 * 1.0 - 3.0)
        close(dyn.forward_dynamics(mb, q, [1.0, 3.0], [0.0, 0.0]), [-2.0 * tension, tension / 2.0], 1e-15)
        dq, dv, _ = dyn.inverse_dynamics_derivatives(mb, q, [1.0, 3.0], [0.0, 0.0])
        square = np.outer([2.0, -1.0], [2.0, -1.0])
        close(dq, 3.0 * bool(stretch) * square, 1e-15)
        close(dv, 0.5 * square, 1e-15)
    mb.remove_tendon("cable")
    assert not dyn.forward_dynamics(mb, [0.3, 0.1], [1.0, 3.0], [0.0, 0.0]).any()


def test_a_weight_that_is_carried_does_not_fall():
    mb = tree(8, n=7)
    x = arguments(mb, 1)
    for body in mb.bodies:
        body.gravity_compensation = 1.0
    close(dyn.passive_force(mb, x["q"], x["v"]), dyn.gravity_force(mb, x["q"]))
    close(dyn.passive_energy(mb, x["q"]), -dyn.potential_energy(mb, x["q"]))
    still = np.zeros(mb.nv)
    close(dyn.forward_dynamics(mb, x["q"], still, still), still, 1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_power(seed):
    """The energy of motion, of gravity and of springs changes by what the force gives, less what dampers take."""
    mb = sprung(tree(seed, n=8), seed, even=True)
    x = arguments(mb, seed)
    q, v = x["q"], x["v"]
    for body in mb.bodies:
        body.passive = sc.Passive(body.passive.stiffness, 0.4, rest=body.passive.rest)
    vdot, step = dyn.forward_dynamics(mb, q, v, x["force"]), 1e-3
    t = step * np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]])
    Q, V = mb.integrate(q, t * v), v + t * vdot
    energy = dyn.kinetic_energy(mb, Q, V) + dyn.potential_energy(mb, Q) + dyn.passive_energy(mb, Q)
    rate = np.array([-1, 9, -45, 45, -9, 1]) / 60 @ energy / step
    damped = 0.4 * v @ v
    close(rate, v @ x["force"] - damped, 1e-8)


def test_their_energy():
    """Minus its gradient is the force at rest."""
    mb = sprung(tree(9, n=8, holonomic=True), 9, even=True)
    q, _ = mb.random_state(np.random.default_rng(1))
    weights, step = np.array([-1, 9, -45, 45, -9, 1]) / 60, 1e-3
    t = step * np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]])
    slope = [weights @ dyn.passive_energy(mb, mb.integrate(q, t * e)) / step for e in np.eye(mb.nv)]
    close(dyn.passive_force(mb, q, np.zeros(mb.nv)), -np.array(slope), 1e-8)


# -- hinges of the user's own, and refusals -------------------------------------------------------------------------


class Twisted(sc.Hinge):
    """A slide told by its cube root: q and v are no rate of each other, and differences must find the derivative."""

    nq = nv = 1

    def neutral(self):
        return np.ones(1)

    def pose(self, q):
        return sc.Pose(translation=(q[0] ** 3, 0, 0))

    def H_T(self, q):
        return np.array([[0], [0], [0], [1.0], [0], [0]])

    neutral_is_identity = False

    def qdot(self, q, v):
        return v / (3 * q**2)

    def integrate(self, q, dv):
        return np.cbrt(q**3 + dv)

    def difference(self, q0, q1):
        return q1**3 - q0**3 + 0.5 * (q1**3 - q0**3) ** 2  # any displacement: its rate is 1 + (x1 - x0)


def test_a_hinge_of_the_users_own():
    mb = sc.Multibody("own", gravity=(0, 0, 0))
    mb.add_body("slider", None, Twisted(), sc.Inertia.point(2.0, (0, 0, 0)))
    mb["slider"].passive = sc.Passive(stiffness=6.0, damping=0.5, rest=[1.0])
    x = 1.5**3 - 1.0
    close(dyn.forward_dynamics(mb, [1.5], [2.0], [1.0]), [(1.0 - 6.0 * (x + 0.5 * x * x) - 1.0) / 2.0], 1e-14)
    dq, dv, _ = dyn.forward_dynamics_derivatives(mb, [1.5], [2.0], [1.0])
    close(dq, [[-6.0 * (1.0 + x) / 2.0]], 1e-9)
    close(dv, [[-0.25]], 1e-9)


@pytest.mark.parametrize("function", FEEL)
def test_a_spring_in_a_rolling_ball_is_refused(function):
    mb = sc.Multibody("table")
    mb.add_body("ball", None, sc.RollingBall(0.1), sc.Inertia.sphere(1.0, 0.1))
    mb["ball"].add_node("top")
    mb["ball"].passive = sc.Passive(stiffness=2.0)
    x = {"q": mb.neutral(), "v": np.ones(3), "vdot": np.ones(3), "force": np.ones(3), "f_ext": None,
         "prescribed": [0]}  # fmt: skip
    with pytest.raises(ModelError, match=r"hinge 'ball' .* has a spring \(stiffness \(2, 2, 2\)\), but it is nonholon"):
        call(function, mb, x)
    if function not in DERIVATIVES:
        call(function, mb, x, passive=False)
        d = dyn.Dynamics(mb)
        with pytest.raises(ModelError, match="has a spring"):
            d.forward_dynamics(x["q"], x["v"], x["force"])
        out = np.full(3, 7.0)
        with pytest.raises(ModelError, match="has a spring"):
            d.forward_dynamics(x["q"], x["v"], x["force"], out=out)
        assert (out == 7.0).all()


@pytest.mark.parametrize("given", [1, None, "no", np.zeros(1)], ids=repr)
def test_passive_is_true_or_false(given):
    mb = sc.load("pendulum")
    for function in (dyn.Dynamics(mb).forward_dynamics, lambda *x, **y: dyn.forward_dynamics(mb, *x, **y)):
        with pytest.raises(StateError, match=r"passive of forward_dynamics must be True or False, got "):
            function(np.zeros(1), np.zeros(1), np.zeros(1), passive=given)
