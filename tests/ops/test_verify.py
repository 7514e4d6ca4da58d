"""`sc.verify` and `sc.check_operator`: what they accept, what they print, what they catch."""

import re
from itertools import pairwise

import numpy as np
import pytest

import soacraft as sc
from soacraft.algebra import Product
from soacraft.algebra.values.measure import relative_norm
from soacraft.errors import ModelError, SpaceError
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.ops import OperatorReport, Verification
from soacraft.ops.check import TAGS
from soacraft.ops.leaves import PropagatorLeaf, SparseLeaf
from soacraft.ops.verify import _samples

I = sc.I


@pytest.fixture(scope="module")
def s():
    return sc.operators(sc.load("arm7"))


def refused(error, text, attempt):
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        attempt()


# -- verify -------------------------------------------------------------------------------------------------------


def test_expressions_are_tried_on_random_models_too(s):
    """True on the arm, a serial chain; not on trees."""
    Omega, psi, Y = s.Omega, s.psi, s.Upsilon
    found = sc.verify(Omega, psi.T * Y + Y * psi - Y)
    assert not found.ok
    assert dict(found.errors)["'arm7'"] < 1e-9
    assert dict(found.errors)["'arm7' at a random state"] < 1e-9
    assert sc.verify(Omega, psi.T * Y + Y * psi - Y, on=sc.load("arm7")).ok


@pytest.mark.parametrize(
    "sides",
    [
        lambda s: (I - s.E_phi, s.phi.inv),
        lambda s: (s.phi * (I - s.E_phi), I),
        lambda s: ((I - s.H * s.psi * s.K) * s.H * s.phi, s.H * s.psi),
        lambda s: (
            (s.H * s.phi * s.M * s.phi.T * s.H.T).inv * s.D * 0.5,
            0.5 * (s.H * s.phi * s.M * s.phi.T * s.H.T).inv * s.D,
        ),
        lambda s: (s.E_phi.lyapunov(I), sc.diag_of(s.phi * s.phi.T)),
        lambda s: (s.E_phi.lyapunov(I + s.M), s.R + s.E_phi.lyapunov(I)),
        lambda s: ((I + s.phi) ** 2, I + 2 * s.phi + s.phi**2),
        lambda s: (I.T * s.phi * I.inv, s.phi),
    ],
)
def test_the_identity_takes_the_space_of_each_model(s, sides):
    """I was given the arm's space when the expression was built; on other models it has other sizes."""
    left, right = sides(s)
    found = sc.verify(left, right)
    assert found.ok, found
    assert len(found.errors) == 10


def test_functions_are_tried_on_random_models():
    found = sc.verify(lambda s: s.H * s.G, lambda s: I.with_space(s.hinge))
    assert found.ok
    assert len(found.errors) == 8
    assert repr(found).startswith("equal on 8 models, largest relative error ")


def test_what_it_prints_when_it_fails():
    found = sc.verify(lambda s: s.P, lambda s: s.R)
    assert not found
    assert re.match(r"^not equal on \d of 8 models: relative error \d\.\de[+-]\d\d on .+$", repr(found))


@pytest.mark.parametrize(
    "place",
    [
        lambda: sc.load("biped"),
        lambda: sc.load("biped").state(),
        lambda: sc.operators(sc.load("biped"), axes="inertial"),
        lambda: sc.random_sko(5, seed=1),
        lambda: [sc.load("arm7"), sc.random_sko(5, seed=1)],
        lambda: (mb := sc.load("biped")).subgraph([mb.bodies[0]]),
    ],
)
def test_where(place):
    on = place()
    assert sc.verify(lambda s: s.H * s.tau, lambda s: s.H, on=on).ok
    assert not sc.verify(lambda s: s.H * s.tau, lambda s: 2 * s.H, on=on).ok


def test_vectors_and_numbers_can_be_compared():
    assert sc.verify(lambda s: s.f, lambda s: s.phi * (s.M * s.alpha + s.b)).ok
    assert not sc.verify(lambda s: s.f, lambda s: s.phi * (s.M * s.alpha)).ok
    assert sc.verify(lambda s: s.phi.trace(), lambda s: float(s.body.size)).ok
    assert sc.verify(lambda s: s.M.array(), lambda s: s.M.array()).ok
    nothing = sc.verify(lambda s: np.full(2, np.nan), lambda s: np.full(2, np.nan))
    assert nothing.worst[1] == float("inf")
    assert not nothing.ok


def test_small_vectors_and_numbers_are_compared_with_each_other():
    """A thousandth is a thousandth, in newtons and in nanonewtons."""
    for size in (1e-12, 1.0, 1e12):
        assert sc.verify(lambda s, size=size: size * s.f, lambda s, size=size: s.f * size).ok
        found = sc.verify(lambda s, size=size: size * s.f, lambda s, size=size: 1.001 * size * s.f)
        assert found.worst[1] == pytest.approx(1e-3, rel=1e-2)
        assert not sc.verify(lambda s, size=size: size, lambda s, size=size: 1.001 * size).ok
        array = sc.verify(lambda s, c=size: c * s.M.array(), lambda s, c=1.001 * size: c * s.M.array())
        assert not array.ok
    assert not sc.verify(lambda s: 1e-30, lambda s: 0.0).ok
    assert sc.verify(lambda s: 0.0, lambda s: 0.0).ok


def test_vectors_that_vanish_are_measured_by_what_was_added():
    mb = sc.random_tree(6, seed=2)
    s = sc.operators(mb.state(*mb.random_state(3)))
    rest = sc.verify(lambda s: s.V - s.E_phi.T * s.V - s.H.T * s.v, lambda s: 0 * s.V, on=s)
    assert rest.ok
    assert not sc.verify(lambda s: s.V - s.E_phi.T * s.V - 1.001 * s.H.T * s.v, lambda s: 0 * s.V, on=s).ok
    assert sc.verify(lambda s: s.psi * (s.V - s.E_phi.T * s.V - s.H.T * s.v), lambda s: 0 * s.V, on=s).ok
    assert not sc.verify(lambda s: 1e-20 * s.V, lambda s: 0 * s.V, on=s).ok


def test_inverses_of_no_known_structure_are_compared_densely(s):
    odd = I + s.phi * s.phi.T
    assert sc.verify(odd.inv * odd, I).ok
    assert not sc.verify(odd.inv * odd, 1.001 * I).ok


def test_the_tolerance_and_the_seed():
    assert sc.verify(lambda s: s.phi, lambda s: (1 + 1e-6) * s.phi, tolerance=1e-5).ok
    assert not sc.verify(lambda s: s.phi, lambda s: (1 + 1e-6) * s.phi).ok
    one, two = (sc.verify(lambda s: s.P * s.H.T, lambda s: s.G * s.D, seed=seed).errors for seed in (0, 1))
    assert one != two


def test_pick_off_stays_on_its_own_model():
    mb = sc.random_tree(4, seed=1)
    s = sc.operators(mb)
    B = s.B("body3/tip")
    found = sc.verify(B.T * s.Omega * B, B.T * s.psi.T * s.Upsilon * B + 0 * B.T * s.M * B)
    assert [name for name, _ in found.errors] == ["'random tree'", "'random tree' at a random state"]
    assert sc.verify(B.T * s.phi.T * s.H.T, (s.H * s.phi * B).T).ok


def test_what_verify_refuses(s):
    text = "verify compares operators, or functions of an Operators namespace, not 3."
    refused(SpaceError, text, lambda: sc.verify(3, s.phi))
    refused(SpaceError, text, lambda: sc.verify(s.phi, 3))
    refused(
        ModelError,
        "verify needs at least one model: on=[] leaves nothing to compare.",
        lambda: sc.verify(s.H, s.H, on=[]),
    )
    refused(
        SpaceError,
        "an operator can be compared with an operator only; use .array() for numbers.",
        lambda: sc.verify(lambda s: s.phi, lambda s: s.phi.array()),
    )
    refused(
        SpaceError,
        "vectors of body[42] and of hinge[7] cannot be compared.",
        lambda: sc.verify(lambda s: s.V, lambda s: s.v, on=s),
    )
    refused(
        SpaceError,
        "numbers of shape (3,) and of shape (4,) cannot be compared.",
        lambda: sc.verify(lambda s: np.ones(3), lambda s: np.ones(4)),
    )
    with pytest.raises(SpaceError, match="cannot form H - phi"):
        sc.verify(s.H, s.phi)
    with pytest.raises(ModelError, match="takes a Multibody, a sub-graph, a state or an SKOModel"):
        sc.verify(s.H, s.H, on="arm7")


# -- check_operator -----------------------------------------------------------------------------------------------


def test_a_report_prints_each_check(s):
    report = sc.check_operator(s.H * s.phi * s.M * s.phi.T * s.H.T)
    assert isinstance(report, OperatorReport)
    assert report.ok
    assert bool(report)
    lines = repr(report).splitlines()
    assert lines[0] == "check of H*phi*M*phi.T*H.T"
    assert [line[2:].split("  ")[0] for line in lines[1:]] == [
        "product with vectors",
        "transpose with vectors",
        "adjoint dot test",
        "blocks",
        "tag positive_semidefinite",
        "tag symmetric",
        "text reads back",
    ]
    assert all(line.endswith("ok") for line in lines[1:])


class Broken(SparseLeaf):
    """M with one promise broken."""

    def apply(self, x):
        return 1.001 * super().apply(x)


class BrokenTranspose(PropagatorLeaf):
    def apply_T(self, x):
        return super().apply(x)


class WrongText(SparseLeaf):
    def blocks(self):
        return super().blocks().scaled(2.0)


def failed(report):
    return {name for name, error in report.checks if not error <= report.tolerance}


def test_broken_operators_are_caught():
    s = sc.operators(sc.random_tree(4, seed=1))
    leaf = s.M
    assert failed(sc.check_operator(Broken(s.binding, leaf.what))) == {"product with vectors", "adjoint dot test"}
    twisted = BrokenTranspose(s.binding, s.phi.what, s.phi.kernel)
    assert failed(sc.check_operator(twisted)) == {"transpose with vectors", "adjoint dot test"}
    report = sc.check_operator(WrongText(s.binding, leaf.what))
    assert "text reads back" in failed(report)
    assert not report
    assert "FAILS" in repr(report)


@pytest.mark.parametrize("tag", TAGS)
def test_false_claims_are_caught(tag):
    """E_phi is nilpotent: not symmetric, not block-diagonal, and of both signs."""
    E_phi = sc.operators(sc.random_tree(4, seed=1)).E_phi
    E_phi.claims = frozenset({tag})
    assert failed(sc.check_operator(E_phi)) == {f"tag {tag}"}


@pytest.mark.parametrize("mass", [1e-15, 1e15])
def test_errors_are_relative(mass):
    """A model of dust: an error of a thousandth is an error."""
    mb = sc.Multibody("scaled")
    mb.add_body("a", None, sc.Free(), sc.Inertia(mass, (0.3, 0.1, 0.2), mass * np.diag([0.1, 0.2, 0.15])))
    s = sc.operators(mb)
    for expr in (s.M, s.D, s.D.inv, s.Omega, s.H * s.tau_bar, s.P_plus):
        report = sc.check_operator(expr)
        assert report.ok, report
    assert not sc.check_operator(Broken(s.binding, s.M.what)).ok


def test_what_check_operator_refuses(s):
    refused(SpaceError, "check_operator takes an operator, not 3.", lambda: sc.check_operator(3))
    refused(SpaceError, "I is bound to no model.", lambda: sc.check_operator(I.with_space(s.body)))
    with pytest.raises(SpaceError, match="I has no size by itself"):
        sc.check_operator(I)


def test_reports_are_plain_data():
    report = Verification((("a", 1e-12), ("b", 2.0)), 1e-9)
    assert report.worst == ("b", 2.0)
    assert repr(report) == "not equal on 1 of 2 models: relative error 2.0e+00 on b"


@pytest.mark.parametrize("seed", range(5))
def test_arms_that_cancel_are_rounding(seed):
    """A hinge at the origin, its body's frame a metre away: the velocity at the origin is the rounding of two arms."""
    mb = sc.Multibody("a body that turns about the origin")
    mb.add_body("link", None, sc.Pin((3, -5, 8)), random_inertia(2), sc.Pose(), random_pose(seed))
    mb.set_state(*mb.random_state(seed))
    s = sc.operators(mb, axes="origin")
    assert sc.verify(lambda s: s.V, lambda s: s.phi.T * (s.H.T * s.v), on=s)
    assert not sc.verify(lambda s: s.V, lambda s: s.Delta_V + 1e-8 * s.vector("body", np.ones(6)), on=s)


def test_functions_are_given_models_of_their_own():
    """A function may change what it is given; models that expressions are compared on are made once, and not given."""
    given = []

    def mass(s):
        given.append(s.binding.sko())
        return s.M

    for _ in range(2):
        assert sc.verify(mass, lambda s: s.M).ok
    assert len({id(model) for model in given}) == len(given)
    H, phi = sc.operators(sc.load("arm7"), "H phi")
    before = [s for _, s in _samples(0)]
    assert sc.verify(H * phi, H * phi).ok
    assert all(s is again for s, (_, again) in zip(before, _samples(0), strict=True))
    assert not {id(model) for model in given} & {id(s.binding.sko()) for s in before}


def test_an_expression_between_two_others_is_applied_once(monkeypatch):
    """As in the chain of a proof; what is kept belongs to the same term and the same columns."""
    s = sc.operators(sc.random_sko(6, seed=2))
    chain = [s.phi * s.M, (s.I + s.phi_tilde) * s.M, s.M + s.phi_tilde * s.M]
    applied, own, known = [], Product.apply, {}
    monkeypatch.setattr(Product, "apply", lambda x, columns: applied.append(x) or own(x, columns))
    for a, b in pairwise(chain):
        assert relative_norm(a - b, enough=1e-10, known=known) < 1e-14
    assert sum(x is chain[1] for x in applied) == sum(x is chain[0] for x in applied) > 0
    assert relative_norm(chain[0] - 2 * chain[1], enough=1e-10, known=known) > 0.1
