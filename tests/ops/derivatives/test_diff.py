"""`expr.diff(body, dof)`: every leaf and kind of expression, in all axes, against central differences."""

import numpy as np
import pytest
from tests.ops.differences import (
    along_dofs,
    dofs,
    every_hinge,
    expressions,
    gap,
    mass_matrix,
    part,
    some_nodes,
    with_armature,
)
from tests.strategies import AXES
from tests.user_hinges import Bent

import soacraft as sc
from soacraft.model.hinges import examples
from soacraft.ops.table import NAMES

PLACES = {
    "every hinge": every_hinge,
    "armature": with_armature,
    "sub-graph": part,
    "moving anchor": lambda: part("moving"),
    "two bases": lambda: sc.random_tree(6, seed=3, bases=2),
}
TOLERANCE = 1e-8


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("place", PLACES)
def test_derivatives_are_those_of_differences(place, axes):
    """All dofs of the tree with every hinge, half of them in each of the other axes; elsewhere every fourth."""
    graph = PLACES[place]()
    s = sc.operators(graph, axes=axes)
    some = {"body": slice(None), "inertial": slice(0, None, 2), "origin": slice(1, None, 2)}[axes]
    which = dofs(graph)[some if place == "every hinge" else slice(0, None, 4)]
    for name, expr in expressions(s, some_nodes(graph)).items():
        numeric = along_dofs(graph, expr, [i for _, _, i in which])
        for (body, dof, _), expected in zip(which, numeric, strict=True):
            found = expr.diff(body, dof).array()
            assert gap(found, expected) < TOLERANCE, (name, body.name, dof, type(body.hinge).__name__)


@pytest.mark.parametrize("axes", AXES)
def test_batches_of_states(axes):
    mb = every_hinge(seed=4)
    q, v = (np.stack(parts) for parts in zip(*(mb.random_state(i) for i in range(3)), strict=True))
    batch = expressions(sc.operators(mb.state(q, v), axes=axes), some_nodes(mb))
    single = [expressions(sc.operators(mb.state(q[i], v[i]), axes=axes), some_nodes(mb)) for i in range(3)]
    for name, expr in batch.items():
        for found, one in (
            (expr.diff("body5"), lambda x: x.diff("body5")),
            (expr.dot(), lambda x: x.dot()),
        ):
            dense = found.array()
            assert dense.shape[0] == 3
            for i in range(3):
                assert gap(dense[i], one(single[i][name]).array()) < 1e-11, name


def test_a_hinge_of_ones_own_without_dH():
    """Not batched, H_T not constant, no dH: its derivatives are differences along integrate."""

    mine, known = sc.Multibody("mine"), sc.Multibody("known")
    for mb, hinge in ((mine, Bent()), (known, sc.Universal((1, 0, 0), (0, 1, 0)))):
        mb.add_body("a", None, sc.Pin((0, 1, 0)), sc.Inertia.box(2.0, (0.2, 0.3, 0.4)))
        mb.add_body("b", "a", hinge, sc.Inertia.box(1.0, (0.5, 0.1, 0.2)), sc.Pose(translation=(0.3, 0.1, 0.2)))
        mb.set_state(q=[0.3, 0.5, -0.4], v=[1.0, -2.0, 0.5])
    one, other = (expressions(sc.operators(mb), ["b"]) for mb in (mine, known))
    for name in one:
        assert gap(one[name].diff("b", 1).array(), other[name].diff("b", 1).array()) < 1e-9, name
        found, expected = (x[name].diff("b", 1).diff("b", 1).array() for x in (one, other))
        assert gap(found, expected) < 1e-7, name


def test_inverse_dynamics_derivatives_agree():
    """d(Mcal a)/dq of the recursive derivatives, at rest and without gravity: code of its own."""
    holonomic = [hinge for hinge in examples() if hinge.holonomic]
    mb = sc.random_tree(12, seed=6, hinges=holonomic, gravity=(0, 0, 0))
    a = np.linspace(-1, 1, mb.nv)
    columns = sc.dynamics.inverse_dynamics_derivatives(mb, mb.q, np.zeros(mb.nv), a)[0]
    Mcal = mass_matrix(sc.operators(mb))
    for body, dof, i in dofs(mb):
        np.testing.assert_allclose(np.asarray(Mcal.diff(body, dof) * a), columns[:, i], atol=1e-10)


# -- structure ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=AXES)
def s(request):
    """A small tree with a hinge of constant and one of varying map."""
    kinds = sc.Pin((0.3, 0.5, 1.0)), sc.Gimbal(), sc.Spherical(), sc.Helical((0, 1, 0), 0.2), sc.RollingBall(0.3)
    return sc.operators(sc.random_tree(5, seed=4, hinges=kinds), axes=request.param)


@pytest.mark.parametrize("name", [*NAMES, "B", "mass matrix", "its inverse"])
def test_derivatives_keep_the_promises_of_operators(s, name):
    """Products, transposes, blocks, tags; the text reads back."""
    expr = expressions(s, ["body1/tip", "body5"])[name]
    several = next(body.name for body in s.binding.graph.bodies[1:] if isinstance(body.hinge, sc.Gimbal))
    for found in (expr.diff("body4"), expr.diff(several, 2), expr.along("body5"), expr.dot()):
        report = sc.check_operator(found, tolerance=1e-8)
        assert report.ok, report


def test_patterns_and_tags_are_kept():
    """What is block-diagonal or on the edges stays so; symmetric operators have symmetric derivatives."""
    for axes in AXES:
        s = sc.operators(every_hinge(), axes=axes)
        for name in NAMES:
            expr = getattr(s, name)
            for found in (expr.diff("body6"), expr.dot()):
                assert (found.pattern() is None) <= (expr.pattern() is None), (name, found.pattern())
                if expr.pattern() is not None:
                    assert found.pattern() <= expr.pattern(), (name, found.pattern())
                assert ("symmetric" in found.tags) >= ("symmetric" in expr.tags), (name, axes)
        assert "symmetric" in mass_matrix(s).diff("body6").tags
        assert "positive_definite" not in s.D.diff("body6").tags


def test_only_the_path_to_the_base_is_worked_out():
    """P, R, D and G change for the bodies inboard of the hinge; phi(p,k) of one edge alone."""
    mb = sc.random_tree(30, seed=8)
    s = sc.operators(mb)
    body = next(b for b in reversed(mb.bodies) if b.hinge.nv == 1 and mb.topology.depth[mb.index(b)] > 3)
    inboard = set(mb.topology.ancestors(mb.index(body))) - {mb.index(body)}
    assert set(s.E_phi.diff(body).blocks().entries) == {(mb.index(body.parent), mb.index(body))}
    for name in "R P P_plus D G".split():
        assert {i for i, _ in getattr(s, name).diff(body).blocks().entries} == inboard, name


def sweeps(expr):
    return sum(step.kind in ("gather", "scatter") for step in expr.explain().product)


def test_a_derivative_runs_in_one_pass():
    """Twice the sweeps of the expression, however many factors change; a counted product agrees with explain()."""
    s = sc.operators(every_hinge())
    Mcal = mass_matrix(s)
    J = s.B(["body5", "body9"]).T * s.phi.T * s.H.T
    for expr in (Mcal, J, J.T * J, Mcal * Mcal * Mcal, s.phi_tilde * s.M * s.phi**2, (s.phi + s.phi_tilde) * s.M):
        for body, dof in (("body6", 0), ("body3", 1), ("body9", 0)):
            assert sweeps(expr.diff(body, dof)) <= 2 * sweeps(expr)
            assert int(expr.diff(body, dof).cost()) <= 4 * int(expr.cost())
        assert sweeps(expr.dot()) <= 2 * sweeps(expr)
        assert int(expr.dot().cost()) <= 4 * int(expr.cost())


def test_explain_says_what_runs(monkeypatch):
    s = sc.operators(every_hinge())
    expr = (mass_matrix(s) * mass_matrix(s)).diff("body3", 1)
    x = np.ones((expr.shape[1], 1))
    ran = []
    kind = type(s.phi)
    for method in ("apply", "apply_T"):
        own = getattr(kind, method)
        monkeypatch.setattr(kind, method, lambda self, y, own=own: ran.append(self.name) or own(self, y))
    expr.apply(x)
    assert len(ran) == sweeps(expr) == 8


# -- text ---------------------------------------------------------------------------------------------------------


def test_text_and_latex():
    mb = sc.Multibody("arm")
    for name, parent, hinge in (("a", None, sc.Pin((0, 0, 1))), ("b", "a", sc.Universal((1, 0, 0), (0, 1, 0)))):
        mb.add_body(name, parent, hinge, sc.Inertia.box(1.0, (0.1, 0.2, 0.3)), sc.Pose(translation=(0.3, 0, 0)))
    s, t = sc.operators(mb), sc.operators(mb, axes="inertial")
    B = s.B("b")
    texts = {
        s.phi.diff("b"): "phi_tilde * X('b') * phi",
        s.E_phi.diff("b", 1): "E_phi * X('b', 1)",
        s.H.diff("b", 1): "dH('b', 1)",
        s.H.diff("a"): "0*H",
        s.M.diff("b"): "0*M",
        s.P.diff("b"): "P.diff('b')",
        s.P.dot(): "P.dot()",
        s.D.diff("b", 1): "H * P.diff('b', 1) * H.T + dH('b', 1) * P * H.T + H * P * dH('b', 1).T",
        s.dH("b", 1).diff("b", 1): "dH('b', 1).diff('b', 1)",
        s.X("b").diff("b", 1): "X('b').diff('b', 1)",
        s.H.dot(): "dH_v",
        (B.T * s.phi.T).diff("b"): "B(['b']).T * phi.T * X('b').T * phi_tilde.T",
        t.phi.diff("b"): "W('b')*phi - phi*W('b') + phi_tilde * X('b') * phi",
        t.M.diff("b"): "W('b')*M - M*W('b')",
        t.H.diff("b"): "-(H*W('b'))",
        t.B("b").diff("b"): "W('b') * B(['b']) - B(['b']) * W_nd(['b'], 'b')",
        t.P.dot(): "W_v*P - P*W_v + P.along()",
        t.B("b").dot(): "W_v*B(['b']) - B(['b']) * W_nd_v(['b'])",
    }
    for expr, text in texts.items():
        assert expr.text().replace(" ", "") == text.replace(" ", ""), expr.text()
    both = mass_matrix(s).diff("b"), mass_matrix(t).diff("b")
    assert both[0].text() == both[1].text(), "the turning of the axes cancels"
    assert s.phi.diff("b").latex() == r"\tilde{\phi}\, [X]_{\mathrm{b}}\, \phi"
    assert repr(s.H.diff("a")) == "0*H : hinge[3] <- body[12]"


def test_origin_axes_need_the_star():
    """Where W is not skew, velocities turn by -W*."""
    t = sc.operators(every_hinge(), axes="origin")
    assert t.M.diff("body6").text().replace(" ", "") == "W('body6')*M+M*W('body6').T"


# -- state --------------------------------------------------------------------------------------------------------


def test_live_and_at():
    mb = every_hinge()
    s = sc.operators(mb)
    found = s.P.diff("body6")
    before = found.array()
    q, v = mb.random_state(9)
    expected = sc.operators(mb.state(q, v)).P.diff("body6").array()
    np.testing.assert_allclose(found.at(q=q).array(), expected, atol=1e-12)
    np.testing.assert_array_equal(found.array(), before)
    mb.set_state(q, v)
    np.testing.assert_allclose(found.array(), expected, atol=1e-12)
    assert gap(before, expected) > 1e-3
    whole = mass_matrix(s).diff("body6")
    assert type(whole.at(q=q)) is type(whole), "a snapshot runs in one pass too"


def test_compiled_derivatives_take_states():
    mb = every_hinge()
    s = sc.operators(mb)
    Mcal = mass_matrix(s)
    q, v = mb.random_state(11)
    f, g = Mcal.diff("body6").compile(), Mcal.dot().compile()
    np.testing.assert_allclose(f(q), Mcal.diff("body6").at(q=q).array(), atol=1e-12)
    np.testing.assert_allclose(g(q, v), Mcal.dot().at(q=q, v=v).array(), atol=1e-12)
    assert gap(g(q, v), g(q, 2 * v)) > 0.1


def test_verify_tries_derivatives_on_their_own_model():
    s = sc.operators(every_hinge())
    assert sc.verify(s.tau.diff("body6"), -s.tau_bar.diff("body6")).ok
    assert not sc.verify(s.tau.diff("body6"), s.tau_bar.diff("body6")).ok


# -- refused ------------------------------------------------------------------------------------------------------


def test_nothing_to_move():
    """A model without bodies, one of a single body, derivatives of zero."""
    empty = sc.operators(sc.Multibody("empty"))
    for expr in (empty.phi, empty.P, mass_matrix(empty)):
        assert expr.dot().array().size == 0
    assert empty.coriolis.array().shape == (0, 0)
    mb = sc.Multibody("one")
    mb.add_body("a", None, sc.Gimbal(), sc.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    for axes in AXES:
        s = sc.operators(mb, axes=axes)
        zero = s.D.diff("a", 0)
        assert zero.is_zero()
        assert zero.diff("a", 1) is zero
        assert sc.check_operator(zero).ok
        assert not s.D.diff("a", 1).is_zero()


def test_an_inverse_of_no_known_structure_is_formed_densely():
    mb = every_hinge()
    s = sc.operators(mb)
    expr = (s.phi + s.M * s.phi.T + 2 * s.I).inv
    body = next(b for b in mb.bodies if isinstance(b.hinge, sc.Cylindrical))
    expected = along_dofs(mb, expr, [mb.v_slice(body).start])[0]
    assert gap(expr.diff(body).array(), expected) < TOLERANCE
    with pytest.raises(sc.errors.StructureError, match="no structured inverse"):
        expr.diff(body) * np.ones(expr.shape[1])


def test_bad_arguments_are_refused():
    mb = sc.Multibody("arm")
    box = sc.Inertia.box(1.0, (0.1, 0.2, 0.3))
    mb.add_body("a", None, sc.Gimbal(), box, hinge_name="shoulder")
    mb.add_body("b", "a", sc.Pin((0, 0, 1)), box, sc.Pose(translation=(0.3, 0, 0)), hinge_name="elbow")
    mb.add_body("c", "b", sc.Weld(), box).add_node("tip")
    phi = sc.operators(mb, "phi")
    three = "the hinge of 'a' has 3 dofs, shoulder.0 shoulder.1 shoulder.2."
    for body, dof, message in (
        ("a", 3, f"dof must be a number from 0 to 2 or a name, got 3: {three}"),
        ("a", -1, f"dof must be a number from 0 to 2 or a name, got -1: {three}"),
        ("a", True, f"dof must be a number from 0 to 2 or a name, got True: {three}"),
        ("a", 1.0, f"dof must be a number from 0 to 2 or a name, got 1.0: {three}"),
        ("a", "elbow", f"there is no dof 'elbow': {three}"),
        ("b", 1, "dof must be a number from 0 to 0 or a name, got 1: the hinge of 'b' has one dof, elbow."),
        ("c", 0, "'c' has the hinge Weld(), which has no dofs to differentiate along."),
        ("c/tip", 0, "'c/tip' is not a body of 'arm'."),
    ):
        with pytest.raises(sc.errors.ModelError) as error:
            phi.diff(body, dof)
        assert str(error.value) == message
    with pytest.raises(sc.errors.ModelError, match="'nobody'"):
        phi.diff("nobody")
    with pytest.raises(sc.errors.SpaceError, match=r"diff needs a body or its name; .* write dot\(\)"):
        phi.diff(None)
    assert phi.diff(mb["a"], "shoulder.2").key() == phi.diff("a", np.int64(2)).key()


def test_what_has_no_derivative_is_refused():
    mb = every_hinge()
    s = sc.operators(mb)
    with pytest.raises(sc.errors.SpaceError, match="I is bound to no model"):
        sc.I.diff("body1")
    sko = sc.operators(sc.random_sko(4, seed=1))
    for ask in (lambda: sko.phi.diff("node1"), sko.phi.dot, lambda: sko.X("node1"), lambda: sko.coriolis):
        with pytest.raises(sc.errors.ModelError, match="an SKO model is at one configuration and has no hinges"):
            ask()
    elsewhere = sc.operators(mb.state(q=mb.random_state(3)[0]))
    with pytest.raises(sc.errors.SpaceError, match="has operators of several states or models"):
        (s.phi * elsewhere.M).diff("body1")
    mb.add_body("more", "body1", sc.Pin((0, 0, 1)), sc.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    with pytest.raises(sc.errors.StaleError):
        s.phi.diff("body2")
