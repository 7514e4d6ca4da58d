"""The second-order displacement of beams: against the deformed beam integrated in full, and by loads that buckle it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh, eigvals
from tests.flexible.models import slender

import soacraft as sc
import soacraft.flexible as fx
from soacraft.errors import ModelError
from soacraft.model.modal.inertia import mass_matrix
from soacraft.spatial.rotations import skew


def test_shortening_of_a_bent_beam_is_the_known_one():
    """gam2 = -int w_i' w_j': 6/5, 1/10 and 2/15 of the beam's cubics, as in its geometric stiffness."""
    tip = fx.reduce(slender(1), ["root", "tip"], "guyan").node("tip")
    ty, rz, tz, ry = 1, 5, 2, 4
    got = tip.gam2[0]
    np.testing.assert_allclose([got[ty, ty], got[ty, rz], got[rz, rz]], [-6 / 5, 1 / 10, -2 / 15], rtol=1e-9)
    np.testing.assert_allclose([got[tz, tz], got[tz, ry], got[ry, ry]], [-6 / 5, -1 / 10, -2 / 15], rtol=1e-9)


def bent_frame():
    """Two members, the second off at an angle, deep enough to shear and with a mass off its tip."""
    section, soft = fx.Section(A=1.0, Iy=0.02, Iz=0.05, J=0.03), fx.Elastic(100.0, 0.3, 1.0)
    joints = {"a": (0.1, 0.2, 0.0), "b": (1.1, 0.3, 0.2), "c": (1.4, 1.2, 0.9)}
    members = [fx.Member("b", end, section, soft, 2) for end in "ac"]  # the first is passed backwards
    fe = fx.frame(joints, members)
    fe.add_mass(0.7, node="c", at=(1.5, 1.3, 0.4))
    fe.interface("root", at="a")
    fe.interface("tip", at="c")
    return fe


def integrated(fe, X, eta):
    """Poses of all nodes of the deformed frame, sum m r and sum m r0 r*: R' = R kappa~, r' = R (e1 + shear) + stretch,
    the stretch along the undeformed axis."""
    from soacraft.flexible.elements import GAUSS
    from soacraft.flexible.second import outward

    start = fe.interfaces["root"].nodes[0]
    pose = {start: (np.eye(3), fe.nodes[start])}
    masses, first, second, undeformed = fe.masses.diagonal(), np.zeros(3), np.zeros((3, 3)), 20 * len(fe.elements)
    for number, forward in outward(fe, (start,)):
        e = fe.elements[number]
        i, j = e.nodes
        d = np.concatenate([X[6 * i : 6 * i + 6], X[6 * j : 6 * j + 6]]) @ eta

        def rate(s, y, e=e, d=d):
            strain = e.interpolation(np.array([s]))[1][0] @ d
            R, e1 = y[:9].reshape(3, 3), e.R[:, 0]
            stretch = e1 * (e1 @ strain[:3])
            along = R @ (e1 + strain[:3] - stretch) + stretch
            return e.length * np.concatenate([(R @ skew(strain[3:])).ravel(), along])

        a, b = (i, j) if forward else (j, i)
        span = (0.0, 1.0) if forward else (1.0, 0.0)
        places = np.append(GAUSS, 1.0) if forward else np.append(GAUSS[::-1], 0.0)
        near_end = np.concatenate([pose[a][0].ravel(), pose[a][1]])
        run = solve_ivp(rate, span, near_end, t_eval=places, rtol=1e-12, atol=1e-13)
        ys = run.y.T
        pose[b] = ys[-1, :9].reshape(3, 3), ys[-1, 9:]
        along = ys[:-1] if forward else ys[-2::-1]
        for k, y in enumerate(along):
            for c, offset in enumerate(e.offsets()):
                m, r = masses[20 * number + 4 * k + c], y[9:] + y[:9].reshape(3, 3) @ offset
                first, second = first + m * r, second + m * np.outer(fe.points[20 * number + 4 * k + c], r)
    for k, (node, offset) in enumerate(fe.carried, start=undeformed):
        R, r = pose[node]
        r = r + R @ offset
        first, second = first + masses[k] * r, second + masses[k] * np.outer(fe.points[k], r)
    return pose, first, second


def test_places_turns_and_moments_agree_to_second_order_with_the_deformed_frame():
    """What is left falls with the third power of eta. sum m r0 r* holds N and T."""
    fe = bent_frame()
    data = fx.reduce(fe, ["root", "tip"], modes=2)
    direction = np.random.default_rng(5).normal(size=data.n) * 0.3
    X = full_shapes(fe, data)
    left = []
    for h in (0.02, 0.01):
        eta = h * direction
        pose, first, second = integrated(fe, X, eta)
        node = data.node("tip")
        R, place = pose[fe.names["c"]]
        l = node.pose.translation + node.gam @ eta + 0.5 * node.gam2 @ eta @ eta
        theta = node.lam @ eta + 0.5 * node.lam2 @ eta @ eta
        c = data.first + eta @ data.p + 0.5 * np.einsum("i,j,ija->a", eta, eta, data.S)
        Y = data.second + np.einsum("j,jab->ab", eta, data.N) + 0.5 * np.einsum("i,j,ijab->ab", eta, eta, data.T)
        turn = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2  # sin: the angle to third order
        left.append([np.abs(x).max() for x in (l - place, theta - turn, c - first, Y - second)])
    ratio = np.array(left[0]) / left[1]
    assert (np.array(left[1]) < 1e-5).all()
    assert ((ratio > 7.0) & (ratio < 9.5)).all(), ratio


def full_shapes(fe, data):
    """The dofs of the modes, from all nodes of the data."""
    every = fx.reduce(fe, ["root", "tip"], modes=2, nodes=range(len(fe.nodes)))
    return np.vstack([np.vstack([every.node(f"fe:{i}").gam, every.node(f"fe:{i}").lam]) for i in range(len(fe.nodes))])


def least_load(K, G):
    """The least positive P at which K - P G is singular."""
    values = eigh(G, K, eigvals_only=True)
    return 1.0 / values[-1]


def test_columns_buckle_at_eulers_loads():
    data = fx.reduce(slender(), ["root", "tip"], "fixed", modes=12)
    assert least_load(data.K, -data.node("tip").gam2[0]) == pytest.approx(2.467401100, rel=1e-3)
    assert least_load(data.K, -data.S[:, :, 0]) == pytest.approx(7.837347439, rel=1e-3)
    none = fx.reduce(slender(), ["root", "tip"], "fixed", modes=12, geometric=False)
    assert not none.geometric
    assert none.node("tip").gam2 is None
    assert "no geometric stiffening: it was switched off" in none.notes


def test_a_strip_under_a_tip_load_tips_over_at_prandtls_load():
    """4.0126 (EIz GJ)^(1/2) / L^2, Iy large."""
    section = fx.Section(A=1.0, Iy=1e-3, Iz=1e-9, J=1e-9)
    steel = fx.Elastic(1e9, 0.0, 1.0)
    fe = fx.beam(1.0, section, steel, 24, theory="euler")
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1, 0, 0))
    data = fx.reduce(fe, ["root", "tip"], "fixed", modes=40)
    P = least_load(data.K, data.node("tip").gam2[2])
    assert P / np.sqrt(steel.G * 1e-9) == pytest.approx(4.012599344, rel=1e-3)


def test_a_force_that_follows_the_tip_flutters_at_becks_load():
    """The force gam(eta)* R(eta) f, f = -P e1 in axes of the tip: K + P (gam2_x + gam* (lam x e1)), not symmetric."""
    data = fx.reduce(slender(), ["root", "tip"], "fixed", modes=12)
    plane = [j for j in range(12) if abs(data.p[j, 1]) > 1e-6]
    tip = data.node("tip")
    follow = tip.gam[1][:, None] * tip.lam[2] - tip.gam[2][:, None] * tip.lam[1]
    G = (tip.gam2[0] + follow)[np.ix_(plane, plane)]
    K, M = data.K[np.ix_(plane, plane)], data.M[np.ix_(plane, plane)]

    def grows(P):
        return np.abs(eigvals(K + P * G, M).imag).max() > 1e-6

    low, high = 10.0, 30.0
    assert not grows(low)
    assert grows(high)
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    assert low == pytest.approx(20.050953619, rel=1e-3)
    omega = np.sqrt(np.sort(eigvals(K + low * G, M).real))
    assert omega[:2] == pytest.approx([11.0155577, 11.0155577], rel=2e-3)


def test_rings_of_members_have_no_second_order():
    bar, steel = fx.Circle(0.01), fx.Elastic(200e9, 0.3, 7850.0)
    joints = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (0, 1, 0)}
    fe = fx.frame(joints, [fx.Member(x, y, bar, steel, 2) for x, y in ("ab", "bc", "ca")])
    fe.interface("root", at="a")
    with pytest.raises(ModelError, match=r"members of the frame form a ring through node .*geometric=False"):
        fx.reduce(fe, ["root"], "fixed", modes=2)
    assert not fx.reduce(fe, ["root"], "fixed", modes=2, geometric=False).geometric


def stretched(data, part):
    """eta of a pull at the tip that makes the body longer by a part of its length of one."""
    tip = data.node("tip")
    eta = np.linalg.solve(data.K, tip.gam[0])
    return part * eta / (tip.gam[0] @ eta)


def cantilevers():
    fe = slender(20, thin=1e-4)
    polynomials = [np.polynomial.Polynomial([0.0] * k + [1.0]) for k in range(2, 6)]
    shapes = {"y": polynomials, "z": polynomials, "x": [np.polynomial.Polynomial([0.0, 1.0])]}
    section = fx.Section(A=1.0, Iy=1e-4, Iz=1e-4, J=2e-4)
    return {
        "modes with the root held": fx.reduce(fe, ["root", "tip"], "fixed", modes=20),
        "static and normal modes": fx.reduce(fe, ["root", "tip"], modes=10),
        "static modes": fx.reduce(fe, ["root", "tip"], "guyan"),
        "functions": fx.shapes(1.0, section, fx.Elastic(1e4, 0.3, 1.0), shapes),
    }


@pytest.mark.parametrize("name", cantilevers())
def test_a_stretch_leaves_the_mass_matrix_positive(name):
    """As far as strains of materials go, and of a body that is free too: a stretch of 4e-5 was too much."""
    data = cantilevers()[name]
    for part in (-0.02, -1e-4, 1e-4, 0.002, 0.02):
        M = mass_matrix(data, stretched(data, part))
        root = np.sqrt(M.diagonal())
        assert np.linalg.eigvalsh(M / np.outer(root, root))[0] > 0.0, part


def flapping(rate):
    """The first frequency across the plane of a slender beam that turns on a hub of no radius, by Ritz's method:

        min of (int w''^2 + rate^2 int 1/2 (1 - x^2) w'^2) / int w^2,    w a polynomial with w(0) = w'(0) = 0
    """
    x, weights = np.polynomial.legendre.leggauss(30)
    x, weights = 0.5 * (x + 1.0), 0.5 * weights
    shapes = [np.polynomial.Legendre.basis(k, [0.0, 1.0]) for k in range(10)]
    square = np.polynomial.Polynomial([0.0, 0.0, 1.0])
    fields = [square * each.convert(kind=np.polynomial.Polynomial) for each in shapes]
    w, slope, bend = (np.array([f.deriv(k)(x) if k else f(x) for f in fields]) for k in range(3))
    K = bend * weights @ bend.T + rate**2 * (slope * weights * 0.5 * (1.0 - x**2)) @ slope.T
    return float(np.sqrt(eigh(K, w * weights @ w.T, eigvals_only=True)[0]))


@pytest.mark.parametrize("rate", [0, 1, 2, 3, 6, 12])
def test_a_rotating_cantilever_stiffens_as_the_slender_beam_does(rate):
    """Its stretch, up to 0.0034 of its length, is part of the motion; in the plane the spin takes its square off."""
    mb = sc.Multibody("rotor", gravity=(0.0, 0.0, 0.0))
    data = fx.reduce(slender(thin=1e-4), ["root", "tip"], "fixed", modes=16)
    mb.add_body("blade", None, sc.Pin((0, 0, 1)), modal=data)
    v, zero = rate * np.eye(mb.nv)[0], np.zeros(mb.nv)
    q = sc.analysis.equilibrium(mb, v=v, fixed=["blade"]).q
    flap, lag = sc.analysis.modes(mb, q, v=v, fixed=["blade"]).hz[1::-1] * 2.0 * np.pi
    right = flapping(rate)
    assert flap == pytest.approx(right, rel=4e-4)
    axial = 50.0 * np.pi  # Coriolis forces join lag and stretch: (2 rate / axial)^2
    assert lag**2 == pytest.approx(right**2 - rate**2, rel=1e-3 + (2.0 * rate / axial) ** 2)
    stretch = mb.pose("blade/tip", state=mb.state(q)).translation[0] - 1.0
    assert stretch == pytest.approx(rate**2 / 3e4, rel=0.02, abs=1e-12)
    free = sc.dynamics.forward_dynamics(mb, q, v, zero)  # the hub turns freely
    force = -sc.dynamics.bias_force(mb, q, v) - sc.dynamics.passive_force(mb, q, v)
    by_hand = np.linalg.solve(sc.dynamics.mass_matrix(mb, q), force)
    np.testing.assert_allclose(free, by_hand, rtol=0.0, atol=1e-6 * (1.0 + rate**2))
