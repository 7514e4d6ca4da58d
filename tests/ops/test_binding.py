"""Live operators, snapshots, caches: what follows the state, what does not, and what is computed again."""

import copy
from functools import partial

import numpy as np
import pytest
from tests.strategies import AXES

import soacraft as sc
from soacraft.errors import ModelError, StateError
from soacraft.ops.table import NAMES


@pytest.fixture
def mb():
    return sc.random_tree(6, seed=2)


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def rebound(leaf, binding):
    return leaf.bound_to(binding)


# -- live ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", AXES)
def test_the_same_expressions_follow_the_state(mb, axes):
    s = sc.operators(mb, axes=axes)
    expressions = [getattr(s, name) for name in NAMES]
    expressions += [mass_matrix(s), mass_matrix(s).inv, s.D.inv, s.B("body3/tip"), s.E_phi.lyapunov(s.M)]
    expressions += [sc.diag_of(s.Omega), (s.I + s.M).inv, (2 * s.I - s.E_phi).inv]
    expressions += [(mass_matrix(s) + s.D).inv]  # by dense arithmetic
    expressions += [(s.H * s.phi * (s.M + s.R) * s.phi.T * s.H.T).inv, s.E_phi**2]
    for expr in expressions:
        expr.array()  # fill the caches
    for seed in (1, 2):
        mb.q = mb.random_state(seed)[0]
        fresh = sc.operators(mb.state(), axes=axes)
        for expr in expressions:
            again = expr.with_leaves(partial(rebound, binding=fresh.binding))
            np.testing.assert_allclose(expr.array(), again.array(), rtol=1e-12, atol=1e-12, err_msg=expr.text())
            if expr.explain().product[0].kind != "dense":
                x = np.linspace(-1, 1, expr.shape[1])
                np.testing.assert_allclose(expr * x, again.array() @ x, rtol=1e-9, atol=1e-9, err_msg=expr.text())


def test_velocities_and_forces_follow_too(mb):
    s = sc.operators(mb)
    before = {name: np.asarray(getattr(s, name)) for name in ("V", "a", "b", "f", "T", "z")}
    mb.v = 2 * mb.v
    np.testing.assert_allclose(np.asarray(s.V), 2 * before["V"])
    assert not np.allclose(np.asarray(s.a), before["a"])
    mb.vdot = mb.vdot + 1.0
    assert not np.allclose(np.asarray(s.T), before["T"])
    b = np.asarray(s.b)
    mb.set_force("body3/tip", [0, 0, 0, 1.0, 0, 0])
    assert not np.allclose(np.asarray(s.b), b)
    mb.clear_forces()
    np.testing.assert_array_equal(np.asarray(s.b), b)


def test_a_velocity_change_recomputes_nothing_of_the_configuration(mb):
    """The counter of configuration quantities stands still, and the store of what was derived is the same one."""
    s = sc.operators(mb)
    expressions = [getattr(s, name) for name in NAMES] + [mass_matrix(s).inv, s.D.inv, s.E_phi.lyapunov(s.M)]
    for expr in expressions:
        expr.array()
    np.asarray(s.V), np.asarray(s.z)
    store, blocks, counters = s.binding.token(), s.P.blocks(), dict(mb.counters)
    inverse, solution = s.D.inv.blocks(), expressions[-1].blocks()
    mb.v = mb.v + 1.0
    mb.vdot = mb.vdot + 1.0
    for expr in expressions:
        expr.array()
    np.asarray(s.V), np.asarray(s.z)
    assert s.binding.token() is store
    assert s.P.blocks() is blocks
    assert s.D.inv.blocks() is inverse
    assert expressions[-1].blocks() is solution
    assert mb.counters["configuration"] == counters["configuration"]
    assert mb.counters["velocity"] > counters["velocity"]
    mb.q = mb.random_state(3)[0]
    s.P.array()
    assert s.binding.token() is not store
    assert s.P.blocks() is not blocks
    assert mb.counters["configuration"] > counters["configuration"]


def test_a_velocity_change_recomputes_nothing_in_a_sub_graph(mb):
    g = mb.subgraph(mb.bodies[1:2])
    s = sc.operators(g)
    s.Omega.array()
    store, count = s.binding.token(), mb.counters["configuration"]
    mb.v = mb.v + 1.0
    s.Omega.array()
    assert s.binding.token() is store
    assert mb.counters["configuration"] == count


def test_setting_the_same_q_recomputes_nothing(mb):
    s = sc.operators(mb)
    s.Omega.array()
    store = s.binding.token()
    mb.q = np.array(mb.q)
    assert s.binding.token() is store


def test_building_and_looking_compute_nothing(mb):
    s = sc.operators(mb)
    count = sum(mb.counters.values())
    expr = mass_matrix(s).inv * s.H * s.phi - (s.I - s.H * s.psi * s.K) ** 2 * s.H * s.psi
    expr = expr + 0 * s.H
    repr(expr), expr.latex(), repr(expr.explain()), expr.tags, expr.T.text(), repr(mass_matrix(s).inv.explain())
    assert sum(mb.counters.values()) == count
    assert not s.binding.token()  # no recursion ran


# -- snapshots ----------------------------------------------------------------------------------------------------


def test_a_snapshot_stays(mb):
    q, v = mb.q.copy(), mb.v.copy()
    s = sc.operators(mb.state())
    expected, V = mass_matrix(s).array(), np.asarray(s.V)
    later = mass_matrix(s)
    mb.set_state(*mb.random_state(9))
    np.testing.assert_array_equal(later.array(), expected)
    np.testing.assert_array_equal(np.asarray(s.V), V)
    np.testing.assert_array_equal(mass_matrix(sc.operators(mb.state(q, v))).array(), expected)


def test_a_snapshot_copies_what_it_is_given(mb):
    q, v = (np.array(x) for x in mb.random_state(4))
    force, wrench = np.ones(mb.nv), np.ones(6)
    f_ext = {"body3/tip": wrench}
    s = sc.operators(mb.state(q, v), force=force, f_ext=f_ext)
    before = {name: np.asarray(getattr(s, name)).copy() for name in ("V", "b", "T", "vdot")}
    for given in (q, v, force, wrench):
        given[:] = 0.5
    f_ext.clear()
    for name, value in before.items():
        np.testing.assert_array_equal(np.asarray(getattr(s, name)), value)


def test_numbers_given_out_can_be_changed_without_harm(mb):
    s = sc.operators(mb)
    for expr in (s.H, s.P, s.phi, s.Omega, mass_matrix(s), s.D.inv):
        before = expr.array()
        expr.array()[...] = 7.0
        expr[0, 0][...] = 7.0
        for block in expr.by_branch().values():
            block[...] = 7.0
        np.testing.assert_array_equal(expr.array(), before)


def test_at_binds_a_snapshot(mb):
    s = sc.operators(mb)
    expr = mass_matrix(s)
    q = mb.random_state(7)[0]
    there = expr.at(q=q)
    here = expr.array()
    mb.q = q
    np.testing.assert_array_equal(there.array(), expr.array())
    mb.q = mb.random_state(8)[0]
    assert not np.allclose(there.array(), expr.array())
    assert not np.allclose(there.array(), here)
    assert there.text() == expr.text()


def test_at_keeps_what_is_not_given(mb):
    s = sc.operators(mb)
    now = s.phi.at()
    expected = s.phi.array()
    mb.q = mb.random_state(7)[0]
    np.testing.assert_array_equal(now.array(), expected)


def test_at_of_operators_made_from_others(mb):
    s = sc.operators(mb)
    q = mb.random_state(7)[0]
    fresh = sc.operators(mb.state(q=q))
    for expr, expected in (
        (s.E_phi.lyapunov(s.M, s.E_psi), fresh.E_phi.lyapunov(fresh.M, fresh.E_psi)),
        (s.E_phi.lyapunov(s.I), fresh.E_phi.lyapunov(fresh.I)),
        (sc.diag_of(s.Omega), sc.diag_of(fresh.Omega)),
        (s.Omega, fresh.Omega),
        (s.I - s.E_phi, fresh.I - fresh.E_phi),
        ((s.I + s.phi * s.phi.T).inv, (fresh.I + fresh.phi * fresh.phi.T).inv),
        (s.B("body3/tip").T * s.phi.T, fresh.B("body3/tip").T * fresh.phi.T),
    ):
        np.testing.assert_allclose(expr.at(q=q).array(), expected.array(), rtol=1e-12, atol=1e-12, err_msg=expr.text())


def test_at_refuses_what_is_no_state(mb):
    s = sc.operators(mb)
    with pytest.raises(StateError, match=r"^at\(\) takes q=, v= and vdot=, not dq, t\.$"):
        s.phi.at(t=1.0, dq=2.0)
    with pytest.raises(StateError, match=f"q of 'random tree' has {mb.nq} entries, got 3"):
        s.phi.at(q=[1, 2, 3])
    sko = sc.operators(sc.random_sko(3, seed=1))
    text = r"^an SKO model is at one configuration: at\(\) takes v= and vdot= only\.$"
    for given in ({"q": [1.0]}, {"t": 1.0}):
        with pytest.raises(StateError, match=text):
            sko.phi.at(**given)


def test_at_of_an_sko_model_changes_the_velocity():
    s = sc.operators(sc.random_sko(4, seed=2))
    v = np.ones(s.hinge.size)
    phi = s.phi.at(v=v)
    np.testing.assert_array_equal(phi.array(), s.phi.array())
    assert phi.binding.token() is s.binding.token()
    np.testing.assert_array_equal(phi.binding.velocity(), v)


# -- states mixed in one expression -------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", AXES)
def test_operators_of_different_states_in_one_expression(mb, axes):
    """As in differences of operators; the rules must not take the numbers of one state for those of another."""
    s = sc.operators(mb, axes=axes)
    q = mb.random_state(5)[0]
    H, phi, M, E = s.H.at(q=q), s.phi.at(q=q), s.M.at(q=q), s.E_phi.at(q=q)
    for expr in (
        H * s.phi * s.M * s.phi.T * H.T,
        s.H * phi * s.M * phi.T * s.H.T,
        s.H * s.phi * M * s.phi.T * s.H.T,
        s.H * s.phi * (s.M + M) * s.phi.T * s.H.T,
    ):
        factors = [f.array() for f in expr.factors]
        expected = np.linalg.multi_dot(factors)
        np.testing.assert_allclose(expr.array(), expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(expr.inv.array(), np.linalg.inv(expected), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose((expr.inv * (expr * np.ones(mb.nv))).data, np.ones(mb.nv), atol=1e-7)
    X = phi * s.M * s.phi.T
    dense = np.linalg.multi_dot([f.array() for f in X.factors])
    for i, j in ((0, 0), (0, 3), (4, 0), (2, 5)):
        np.testing.assert_allclose(X[i, j], dense[s.body.block(i), s.body.block(j)], atol=1e-10)
    mixed = E.lyapunov(s.M)
    expected = mixed.array() - E.array() @ mixed.array() @ E.array().T
    np.testing.assert_allclose(expected, s.M.array(), atol=1e-10)
    assert (s.phi - s.phi.at()).is_zero()
    assert axes == "origin" or not (s.phi - phi).is_zero()
    factor = s.I + s.H * s.phi * s.K.at(q=q)
    np.testing.assert_allclose(factor.inv.array() @ factor.array(), np.eye(mb.nv), atol=1e-8)


def test_two_bindings_of_one_model_are_recognised(mb):
    """H from one call and phi, M from another make a mass matrix all the same."""
    H = sc.operators(mb, "H")
    phi, M = sc.operators(mb, "phi M")
    expr = H * phi * M * phi.T * H.T
    assert expr.explain().array.kind == "recursion"
    assert (expr * expr.inv).is_identity()


def test_batches_that_do_not_fit(mb):
    s = sc.operators(mb)
    Q = np.stack([mb.random_state(i)[0] for i in range(3)])
    expr = s.phi.at(q=Q) - s.phi.at(q=Q[:2])
    text = r"^phi - phi is made of batches of states that do not fit: \(2,\) and \(3,\)\.$"
    for attempt in (
        expr.array,
        lambda: expr * np.ones(36),
        lambda: expr[0, 0],
        expr.is_zero,
        expr.trace,
        expr.by_branch,
    ):
        with pytest.raises(sc.errors.SpaceError, match=text):
            attempt()


# -- sub-graphs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", AXES)
def test_a_sub_graph_follows_the_model(axes):
    mb = sc.random_tree(8, seed=3)
    g = mb.subgraph([body.name for body in mb.bodies[2].subtree()])
    s, whole = sc.operators(g, axes=axes), sc.operators(mb, axes=axes)
    for seed in (0, 1):
        mb.set_state(*mb.random_state(seed))
        np.testing.assert_array_equal(g.q, np.concatenate([mb.q[mb.q_slice(body)] for body in g.bodies]))
        for body in g.bodies:
            np.testing.assert_allclose(s.H[body, body], whole.H[body, body], atol=1e-12)
            np.testing.assert_allclose(s.R[body, body], whole.R[body, body], atol=1e-11)


def test_moving_anchors_carry_their_velocity(mb):
    body = mb.bodies[-1]
    moving = sc.operators(mb.subgraph([body], anchor="moving"))
    rest = sc.operators(mb.subgraph([body]))
    whole = sc.operators(mb)
    np.testing.assert_allclose(moving.V[body], whole.V[body], atol=1e-10)
    np.testing.assert_allclose(rest.V[body], rest.Delta_V[body], atol=1e-12)
    np.testing.assert_allclose(moving.alpha[body], whole.alpha[body], atol=1e-9)
    np.testing.assert_allclose(moving.f[body], whole.f[body], atol=1e-9)


# -- arguments ----------------------------------------------------------------------------------------------------


def test_namespaces_can_be_copied(mb):
    s = sc.operators(mb)
    assert copy.copy(s).H.text() == "H"
    with pytest.raises(AttributeError):
        s._nothing  # noqa: B018


def test_external_forces_enter_b(mb):
    plain = sc.operators(mb)
    pushed = sc.operators(mb, f_ext={"body5/tip": [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]})
    expected = np.asarray(plain.b) - np.asarray(plain.B("body5/tip") * [0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(np.asarray(pushed.b), expected, atol=1e-12)
    assert pushed.binding.token() is plain.binding.token()
    later = pushed.phi.at(v=2 * mb.v)
    assert later.binding.f_ext == pushed.binding.f_ext


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"axes": "world"}, ModelError, "axes must be 'body', 'inertial' or 'origin', got 'world'."),
        ({"axes": None}, ModelError, "axes must be 'body', 'inertial' or 'origin', got None."),
        ({"f_ext": {"nowhere": np.zeros(6)}}, ModelError, "'random tree' has no frame 'nowhere'"),
        (
            {"f_ext": {"body1": np.zeros(3)}},
            StateError,
            "the wrench at 'body1' must have shape (..., 6), got shape (3,)",
        ),
        ({"f_ext": 3}, StateError, "external forces are given as {node: wrench}, got 3."),
        ({"force": np.ones(3)}, StateError, "force of 'random tree' must have shape (..., "),
        ({"force": "abc"}, StateError, "force of 'random tree' must be real numbers, got text: 'abc'"),
        ({"v": np.ones(3)}, ModelError, "v= and vdot= are for SKO models; bind mb.state(q, v, vdot) instead."),
        ({"vdot": np.ones(3)}, ModelError, "v= and vdot= are for SKO models; bind mb.state(q, v, vdot) instead."),
        ({"names": "H nu_bar foo"}, sc.errors.SpaceError, "there is no operator 'nu_bar foo'; there are H M E_phi "),
        ({"names": "H Phi"}, sc.errors.SpaceError, "there is no operator 'Phi'; did you mean 'phi'? There are "),
        ({"names": " "}, sc.errors.SpaceError, "there is no operator ''; there are H M E_phi "),
        ({"names": ["H"]}, sc.errors.SpaceError, "operators are named in one text, such as \"H phi M\", not by ['H']."),
        ({"names": 3}, sc.errors.SpaceError, 'operators are named in one text, such as "H phi M", not by 3.'),
    ],
)
def test_arguments_that_are_refused(mb, arguments, error, text):
    with pytest.raises(error) as refusal:
        sc.operators(mb, **arguments)
    assert str(refusal.value).startswith(text)


def test_nan_in_a_force_is_refused(mb):
    force = np.zeros(mb.nv)
    force[2] = np.nan
    with pytest.raises(StateError, match="force of 'random tree' must be finite, got nan at index 2"):
        sc.operators(mb, force=force)


@pytest.mark.parametrize("model", [None, 3, "arm7", [1, 2], np.eye(3)])
def test_models_that_are_none(model):
    with pytest.raises(ModelError) as refusal:
        sc.operators(model)
    text = f"operators() takes a Multibody, a sub-graph, a state or an SKOModel, got {model!r}."
    assert str(refusal.value) == text


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (
            {"axes": "inertial"},
            ModelError,
            "an SKO model has blocks only: axes= and f_ext= need a Multibody or a sub-graph.",
        ),
        ({"f_ext": {}}, ModelError, "an SKO model has blocks only: axes= and f_ext= need a Multibody or a sub-graph."),
        ({"v": np.ones(99)}, StateError, "v of this SKO model must have shape (..., "),
        ({"vdot": "x"}, StateError, "vdot of this SKO model must be real numbers, got text: 'x'"),
        ({"force": [np.nan] * 4}, StateError, "force of this SKO model must be finite, got nan at index 0"),
    ],
)
def test_arguments_of_an_sko_model(arguments, error, text):
    model = sc.SKOModel([-1], [None], [np.eye(4)], [np.eye(4)])
    with pytest.raises(error) as refusal:
        sc.operators(model, **arguments)
    assert str(refusal.value).startswith(text)


def test_nodes_that_are_not_there(mb):
    s = sc.operators(mb)
    with pytest.raises(ModelError, match="'random tree' has no frame 'elbow'"):
        s.B("elbow")
    with pytest.raises(ModelError, match="give a frame of 'random tree' or its name, got 3"):
        s.B(3)
    with pytest.raises(ModelError, match="'inertial' is on the inertial frame, which does not move"):
        s.B(mb.root).array()
    sko = sc.operators(sc.random_sko(3, seed=1))
    for node in ("elbow", 3, 1.5, None, True):
        with pytest.raises(sc.errors.SpaceError, match=r"there is no number 3|has no block"):
            sko.B(node)


def test_attributes_that_are_not_there(mb):
    s = sc.operators(mb)
    with pytest.raises(AttributeError, match=r"^there is no operator or vector 'foo'; there are H M E_phi "):
        s.foo  # noqa: B018
    with pytest.raises(AttributeError, match=r"^there is no operator or vector 'Psi'; did you mean 'psi'\? There"):
        s.Psi  # noqa: B018


def test_namespaces_print(mb):
    s = sc.operators(mb, axes="inertial")
    first, second = repr(s).splitlines()
    assert first == f"operators of 'random tree' in inertial axes: body[36], hinge[{mb.nv}]"
    assert second.split() == list(s.names())
    sko = sc.operators(sc.random_sko(2, seed=0))
    assert repr(sko).startswith("operators of SKOModel with 2 nodes")


def test_several_names_at_once(mb):
    H, phi, eye, V = sc.operators(mb, "H phi I V")
    assert (H.text(), phi.text(), eye) == ("H", "phi", sc.I)
    assert V.space == phi.spaces[0]
    assert sc.operators(mb, "H").text() == "H"
    assert sc.operators(mb, "B")("body1/tip").shape == (36, 6)
