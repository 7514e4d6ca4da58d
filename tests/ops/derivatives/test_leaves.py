"""Leaves of derivatives: which vanish, which are skew, and the equations of paper 000 about them."""

import numpy as np
import pytest
from tests.ops.differences import hinges, mass_matrix, rotors

import soacraft as sc
from soacraft.ops.proofs import side_rules

I = sc.I


def branched():
    """A pin and a screw, inboard and outboard of them hinges of several dofs, and a branch at each."""
    mb, pin = sc.Multibody("branched"), sc.Pin((0.3, 1.0, 0.2))
    for name, parent, hinge in (
        ("base", None, sc.Universal((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))),
        ("pin", "base", pin),
        ("helical", "pin", sc.Helical((0.1, 0.2, 1.0), 0.3)),
        ("side", "pin", pin),
        ("ball", "helical", sc.Spherical()),
        ("tip", "helical", pin),
    ):
        own = sc.Inertia.box(1.5, (0.2, 0.3, 0.4))
        mb.add_body(name, parent, hinge, own, sc.Pose(translation=(0.2, 0.1, 0.3)), sc.Pose(translation=(0.1, 0.2, 0)))
    mb.set_state(*mb.random_state(1))
    return mb


@pytest.mark.parametrize(("body", "axes"), [("pin", "inertial"), ("helical", "body"), ("helical", "origin")])
def test_equations_43_to_46(body, axes):
    """000 Eq. 43 to 46 in the general form of G6a, proved for a pin and for a screw."""
    s = sc.operators(branched(), axes=axes)
    X, P, H, phi, D_inv = s.X(body), s.P, s.H, s.phi, s.D.inv
    lam = s.E_psi.lyapunov(X * P + P * X.T)
    plus, minus = I + H * phi * s.K, I - H * s.psi * s.K
    for left, right in (
        (P.along(body), lam - X * P - P * X.T),
        (s.D.diff(body), H * lam * H.T),
        (D_inv.diff(body), -D_inv * H * lam * H.T * D_inv),
        (s.G.along(body), s.tau_bar * lam * H.T * D_inv - X * s.G),
        (s.tau.along(body), s.tau_bar * lam * H.T * D_inv * H - X * s.tau),
        (plus.diff(body), H * phi * (X * s.phi_tilde * P + s.tau_bar * lam) * H.T * D_inv),
        (minus.diff(body), -H * s.psi * (X * phi * s.K + s.tau_bar * lam * H.T * D_inv) * minus),
    ):
        assert sc.prove(left, right), sc.prove(left, right)
    for left, wrong in (
        (P.along(body), lam),
        (s.D.diff(body), -H * lam * H.T),
        (plus.diff(body), H * phi * (X * phi * P + s.tau_bar * lam) * H.T * D_inv),
        (plus.diff(body), H * phi * (X * s.phi_tilde * P + lam) * H.T * D_inv),
    ):
        assert not sc.prove(left, wrong)


def test_hinges_of_several_dofs_have_no_lambda():
    mb = hinges()
    s = sc.operators(mb)
    X = s.X("gimbal", 2)
    lam = s.E_psi.lyapunov(X * s.P + s.P * X.T)
    assert not sc.prove(s.D.diff("gimbal", 2), s.H * lam * s.H.T)
    assert not sc.prove(s.P.diff("gimbal", 2), lam - X * s.P - s.P * X.T)


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_twice_the_coriolis_matrix(axes):
    """The mass matrix changes by C + C*: proved on every hinge, with rotors too; C - C* is refused."""
    for mb in (hinges(), rotors()):
        s = sc.operators(mb, axes=axes)
        proof = sc.prove(mass_matrix(s).dot(), s.coriolis + s.coriolis.T)
        assert proof, proof
        assert any(step.name == "B_hat is skew" for step in proof.steps)
        assert not sc.prove(mass_matrix(s).dot(), s.coriolis - s.coriolis.T)


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_what_is_skew(axes):
    """B_hat always, W in inertial axes alone, also when differentiated; rules are offered there and nowhere else."""
    for mb in (hinges(), rotors()):
        s = sc.operators(mb, axes=axes)
        body = next(b.name for b in mb.bodies if b.hinge.nv == 3 and b.parent is not mb.root)
        always = [s.B_hat, s.B_hat.along(body, 1), s.B_hat.along()]
        turning = [s.W(body, 1), s.W_v, s.W(body).along(body, 1)]
        for leaf in (*always, *turning):
            offered = any(name.endswith("is skew") for name, *_ in side_rules.of_derivatives(leaf))
            assert offered == (leaf in always or axes == "inertial"), leaf.name
            assert np.allclose(leaf.T.array(), -leaf.array(), atol=1e-12) == (offered or axes == "body"), leaf.name


def test_rules_along_the_velocity_hold_where_they_do_along_every_dof():
    for mb, expected in ((sc.load("arm7"), True), (hinges(), False)):
        mb.set_state(*mb.random_state(6))
        s = sc.operators(mb)
        assert bool(sc.prove(s.H * s.X_v, 0 * s.H)) == expected == (s.H * s.X_v).is_zero()
        assert bool(sc.prove(s.X_v.T, -s.X_v)) == expected == (s.X_v.T + s.X_v).is_zero()
        found = sc.simplify(mass_matrix(s).dot())
        np.testing.assert_allclose(found.array(), mass_matrix(s).dot().array(), atol=1e-12)
    s = sc.operators(sc.load("arm7"))
    assert sc.simplify(mass_matrix(s).dot()).text() == "H * phi * (X_v*phi*M - M*phi.T*X_v) * phi.T * H.T"


def test_derivatives_reach_eq_42_under_other_names():
    """Renamed, transposed, multiplied, inside a longer product, with rotors: the form of Eq. 42, never dearer."""
    mb = sc.load("arm7")
    for body in mb.bodies[:4]:
        body.armature = [0.2]
    s = sc.operators(mb)
    X, massmat = s.X("link3"), mass_matrix(s)
    middle = X * s.phi * s.M - s.M * s.phi.T * X
    wanted = s.H * s.phi * middle * s.phi.T * s.H.T
    J = sc.define("J", s.phi.T * s.H.T)
    named = sc.define("Mcal", massmat)
    for expr, form in (
        ((J.T * s.M * J).diff("link3"), wanted),
        (named.diff("link3"), wanted),
        (massmat.T.diff("link3").T, wanted),
        (massmat.diff("link3") * s.D, wanted * s.D),
        (3 * massmat.diff("link3") - named.diff("link3"), 2 * wanted),
    ):
        found = sc.simplify(expr)
        assert "- M * phi.T * X('link3')" in found.text(), found.text()
        assert int(found.cost()) <= min(int(form.cost()), int(expr.cost()))
        assert sc.verify(found, form).ok


def test_the_plan_of_a_derivative_is_short():
    """Rates go by the name of what they are the rates of, and the table repeats no long expression."""
    s = sc.operators(sc.load("arm7"))
    plan = (I - s.H * s.psi * s.K).diff("link3").explain()
    assert [step.operator for step in plan.product] == [
        "K.diff('link3')", "K", "psi", "E_psi.diff('link3')", "psi", "H",
    ]  # fmt: skip
    for line in repr(plan).splitlines()[1:-1]:
        assert len(line) < 130
    t = sc.operators(sc.load("arm7"), axes="inertial")
    names = [step.operator for step in (t.psi * t.P).diff("link3").explain().product]
    assert "E_psi.along('link3')" in names
    assert [step.operator for step in s.E_psi.diff("link3").T.explain().product] == ["E_psi.diff('link3').T"]
