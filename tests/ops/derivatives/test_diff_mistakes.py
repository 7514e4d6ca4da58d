"""Each way to get a derivative wrong is seen by the comparison with differences."""

import numpy as np
import pytest
from tests.ops.differences import along_velocity, dofs, every_hinge, gap, mass_matrix, some_nodes, stencil

import soacraft as sc
from soacraft.ops.derivatives import diff, directions, gauges, leaves, rates
from soacraft.ops.derivatives.leaves import momentum_cross
from soacraft.ops.derivatives.rules import SIDE_RULES, side_rules
from soacraft.spatial.transforms import crf, crm


def worst(axes):
    """The largest gap between derivatives and differences of a few operators, and of the Coriolis force."""
    mb = every_hinge()
    s = sc.operators(mb, axes=axes)
    body = next(b for b in mb.bodies if isinstance(b.hinge, sc.Spherical))
    gimbal = next(b for b in mb.bodies if isinstance(b.hinge, sc.Gimbal))
    operators = [s.H, s.phi, s.P, s.E_psi, s.Upsilon, s.M, s.B(some_nodes(mb)), mass_matrix(s)]
    found = [gap(x.dot().array(), along_velocity(mb, x)) for x in operators]
    for b, j in ((body, 1), (gimbal, 2)):
        e = np.eye(mb.nv)[mb.v_slice(b).start + j]
        for x in operators:
            moved = stencil(lambda t, x=x, e=e: x.at(q=mb.integrate(mb.q, t * e)).array())
            found.append(gap(x.diff(b, j).array(), moved))
    still = sc.operators(mb.state(v=np.zeros(mb.nv)), axes=axes)
    found.append(gap(np.asarray(s.coriolis * mb.v), np.asarray(s.C) - np.asarray(still.C)))
    return max(found)


def without_turning(d, x):
    return None


MISTAKES = {
    "sign of X and W": ("inertial", leaves, "crf", lambda x: -crf(x)),
    "sign of X in body axes": ("body", leaves, "crf", lambda x: -crf(x)),
    "velocities for forces": ("body", leaves, "crf", crm),
    "axes that do not turn": ("inertial", diff.Derivation, "connection", without_turning),
    "axes that do not turn, origin": ("origin", diff.Derivation, "connection", without_turning),
    "velocities that turn as forces": ("origin", gauges, "_STARRED", {}),
    "hinge maps that stay": ("body", directions.Direction, "dH", None),
    "phi for phi~": ("body", rates.Rates, "_phi", lambda r: r.s.phi * r.u.X * r.s.phi),
    "a Lyapunov equation with E_phi": (
        "body", rates, "lyapunov_rate",
        lambda E, X: None if X is None else rates.LyapunovRate(operators(E).E_phi, X, operators(E).E_phi),
    ),
    "sign of B_hat": ("body", leaves, "momentum_cross", lambda x: -momentum_cross(x)),
    "bodies inboard that turn": (
        "inertial", leaves.TwistLeaf, "_moved", lambda leaf: [leaf.binding.graph.layout.n - 1],
    ),
}  # fmt: skip


def operators(E):
    return next(E.leaves()).binding.operators


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_without_a_mistake(axes):
    assert worst(axes) < 1e-8


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake, monkeypatch):
    axes, where, name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(where, name, wrong)
    assert worst(axes) > 1e-3


# -- side rules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_side_rules_hold_where_they_say(axes):
    for mb in (every_hinge(), sc.load("arm7")):
        mb.set_state(*mb.random_state(3))
        s = sc.operators(mb, axes=axes)
        for body, dof, _ in dofs(mb):
            for rule in side_rules(s, body, dof):
                left, right = rule.left(s, body, dof).array(), rule.right(s, body, dof).array()
                assert gap(left, right) < 1e-10, (rule.name, body.name)


@pytest.mark.parametrize("rule", SIDE_RULES, ids=lambda rule: rule.name)
def test_side_rules_do_not_hold_elsewhere(rule):
    """Somewhere the condition is false and so is the rule."""
    for axes in ("origin", "inertial"):
        mb = every_hinge()
        s = sc.operators(mb, axes=axes)
        for body, dof, _ in dofs(mb):
            if not rule.condition(s, body, dof):
                left, right = rule.left(s, body, dof).array(), rule.right(s, body, dof).array()
                if gap(left, right) > 1e-6:
                    return
    pytest.fail(f"{rule.name} holds everywhere: its condition says too little")
