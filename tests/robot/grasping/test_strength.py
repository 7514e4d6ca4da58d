"""How well fingers hold: closed forms of two and three fingers, soft fingers, limits; another solver; bad input."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import StateError
from soacraft.robot import Fingertip, grasp_strength

UP = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]


def pinch(friction=0.5, limit=10.0, torsion=0.0, half=0.04):
    sides = ((-1, "l"), (1, "r"))
    return [Fingertip((s * half, 0, 0), (-s, 0, 0), friction, limit, torsion, side) for s, side in sides]


def test_two_fingers_carry_twice_the_friction():
    """2 mu N >= m g."""
    weight = 0.7 * 9.81
    r = grasp_strength(pinch(0.4, 12.0), np.array(UP) * weight)
    assert np.isclose(r.margin, 2 * 0.4 * 12.0 / weight, rtol=1e-8)
    assert r.holds
    assert set(r.binding) == set(r.slipping) == {"l", "r"}
    assert np.allclose(r.forces.sum(axis=0), [0, 0, weight], atol=1e-7)
    assert r.gap < 1e-8
    assert "holds: margin" in repr(r)
    weak = grasp_strength(pinch(0.4, 5.0), np.array(UP) * weight)
    assert not weak.holds
    assert repr(weak).startswith("does not hold: margin 0.5825, limited by l, r; l, r about to slip")


def test_the_weaker_finger_decides():
    """One finger with less friction than the other: both push alike, and each slips at its own."""
    low, high = 0.2, 0.6
    fingers = [
        Fingertip((-1, 0, 0), (1, 0, 0), low, 10.0, name="a"),
        Fingertip((1, 0, 0), (-1, 0, 0), high, 30.0, name="b"),
    ]
    r = grasp_strength(fingers, [0, 0, 0, 0, 0, 1.0])  # balance of moments about y: both give half
    assert np.isclose(r.margin, 2 * low * 10.0, rtol=1e-7)
    assert r.binding == ("a",)
    assert r.slipping == ("a",)


def test_three_fingers_around_a_jar():
    """Fingers at a third of a turn each carry 3 mu N along the axis, and turn it by 3 mu N r about it."""
    r, mu, N = 0.03, 0.6, 8.0
    angles = 2 * np.pi / 3 * np.arange(3)
    fingers = [Fingertip((r * np.cos(a), r * np.sin(a), 0), (-np.cos(a), -np.sin(a), 0), mu, N) for a in angles]
    assert np.isclose(grasp_strength(fingers, UP).margin, 3 * mu * N, rtol=1e-8)
    assert np.isclose(grasp_strength(fingers, [0, 0, 1.0, 0, 0, 0]).margin, 3 * mu * N * r, rtol=1e-8)


def test_points_cannot_turn_about_the_line_through_them_and_soft_fingers_can():
    turn = [1.0, 0, 0, 0, 0, 0]
    assert grasp_strength(pinch(), turn).margin == 0.0
    assert "no forces of l, r give this wrench" in repr(grasp_strength(pinch(), turn))
    assert np.isclose(grasp_strength(pinch(torsion=0.006), turn).margin, 2 * 0.006 * 10.0, rtol=1e-8)
    # what is given as a moment lacks as a force: an ellipse
    both = [0.06, 0, 0, 0, 0, 5.0]
    use = np.hypot(0.06 / (2 * 0.006 * 10.0), 5.0 / (2 * 0.5 * 10.0))
    assert np.isclose(grasp_strength(pinch(torsion=0.006), both).margin, 1.0 / use, rtol=1e-8)


def test_a_wrench_is_about_the_origin_of_the_frame():
    """The same fingers and load, told from another origin."""
    shift, f = np.array([0.3, -0.2, 0.5]), np.array([0.2, 1.0, 2.0])
    there = [Fingertip(x.point + shift, x.normal, x.friction, x.limit, 0.01) for x in pinch()]
    here = [Fingertip(x.point, x.normal, x.friction, x.limit, 0.01) for x in pinch()]
    a = grasp_strength(here, [0, 0, 0, *f])
    b = grasp_strength(there, [*np.cross(shift, f), *f])
    assert np.isclose(a.margin, b.margin, rtol=1e-8)


def test_fingers_without_limits_hold_anything_in_their_cones():
    assert grasp_strength(pinch(limit=np.inf), UP).margin == np.inf
    assert grasp_strength(pinch(limit=np.inf), [1.0, 0, 0, 0, 0, 0]).margin == 0.0
    assert grasp_strength(pinch(), np.zeros(6)).margin == np.inf
    one = [Fingertip((-1, 0, 0), (1, 0, 0), 0.5, np.inf), Fingertip((1, 0, 0), (-1, 0, 0), 0.5, 10.0, name="weak")]
    r = grasp_strength(one, UP)
    assert np.isclose(r.margin, 2 * 0.5 * 10.0, rtol=1e-6)
    assert r.binding == ("weak",)


def test_a_finger_alone_pushes():
    tip = Fingertip((0, 0, 0), (0, 0, 1), 0.5, 20.0)
    assert np.isclose(grasp_strength(tip, UP).margin, 20.0, rtol=1e-8)
    assert grasp_strength(tip, [0, 0, 0, 0, 0, -1.0]).margin == 0.0
    assert np.isclose(grasp_strength(tip, [0, 0, 0, 0.25, 0, 1.0]).margin, 20.0, rtol=1e-8)
    assert grasp_strength(tip, [0, 0, 0, 0.75, 0, 1.0]).margin == 0.0


def test_margins_do_not_depend_on_units():
    """Millimetres and tonnes: lengths times 1000, forces times 1e-3."""
    load = np.array([0.01, 0.02, 0.03, 1.0, 2.0, 3.0])
    a = grasp_strength(pinch(torsion=0.01), load).margin
    mm = [Fingertip(x.point * 1e3, x.normal, x.friction, x.limit * 1e-3, x.torsion * 1e3) for x in pinch(torsion=0.01)]
    assert np.isclose(grasp_strength(mm, np.concatenate([load[:3], load[3:] * 1e-3])).margin, a, rtol=1e-7)


@given(st.integers(0, 10**6), st.integers(1, 6))
@tries(40)
def test_the_margin_is_the_optimum_of_clarabel(seed, count):
    rng = np.random.default_rng(seed)
    fingers = []
    for p in rng.normal(size=(count, 3)) * 0.05:
        normal, (mu, most) = -p + 0.02 * rng.normal(size=3), rng.uniform([0.1, 1.0], [1, 20])
        fingers.append(Fingertip(p, normal, mu, most, rng.choice([0, 0.01])))
    w = rng.normal(size=6) * np.repeat([0.05, 1.0], 3)
    r = grasp_strength(fingers, w)
    best = _largest(fingers, w)
    assert np.isclose(r.margin, best, rtol=1e-6, atol=1e-5)
    if r.margin:  # the forces that are told do it, in their cones
        total = np.zeros(6)
        for x, f, m in zip(fingers, r.forces, r.moments, strict=True):
            push = f @ x.normal
            side = np.linalg.norm(f - push * x.normal)
            used = np.hypot(side / x.friction, m / x.torsion if x.torsion else 0.0)
            assert used <= push * (1 + 1e-6) + 1e-9
            assert push * r.margin <= x.limit * (1 + 1e-6)
            total += [*(np.cross(x.point, f) + m * x.normal), *f]
        assert np.allclose(total, w, atol=1e-6 * np.abs(w).max())


def _largest(fingers, w):
    """max s by another solver, with the normal, two sides and the moment of each finger as unknowns."""
    n = 4 * len(fingers) + 1
    G, rows, h, cones = [], [], [np.zeros(6)], [clarabel.ZeroConeT(6)]
    for i, x in enumerate(fingers):
        side = np.linalg.svd(x.normal[None])[2][1:]
        push = np.stack([x.normal, *side])
        G.append(np.concatenate([np.cross(x.point, push), push], axis=1).T)
        G.append(np.concatenate([x.normal, np.zeros(3)])[:, None])
        cone = np.zeros((4, n))
        cone[0, 4 * i] = -x.friction
        cone[1, 4 * i + 1] = cone[2, 4 * i + 2] = -1.0
        cone[3, 4 * i + 3] = -x.friction / x.torsion if x.torsion else 0.0
        limit = np.zeros((1, n))
        limit[0, 4 * i] = 1.0
        rows += [cone, limit]
        h += [np.zeros(4), [x.limit]]
        cones += [clarabel.SecondOrderConeT(4), clarabel.NonnegativeConeT(1)]
        if not x.torsion:
            none = np.zeros((1, n))
            none[0, 4 * i + 3] = 1.0
            rows.append(none)
            h.append([0.0])
            cones.append(clarabel.ZeroConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    A = sparse.csc_matrix(np.vstack([np.column_stack([*G, -w]), *rows]))
    cost = np.zeros(n)
    cost[-1] = -1.0
    return clarabel.DefaultSolver(sparse.csc_matrix((n, n)), cost, A, np.concatenate(h), cones, settings).solve().x[-1]


def test_what_is_refused():
    with pytest.raises(StateError, match="grasp_strength takes a list of Fingertip"):
        grasp_strength([], UP)
    for wrong in ([1, 2], None, np.array(1.0)):
        with pytest.raises(StateError, match="grasp_strength takes a list of Fingertip"):
            grasp_strength(wrong, UP)
    for fingers in (pinch(), pinch()[:1]):
        with pytest.raises(StateError, match="the size of the wrench of grasp_strength is not finite"):
            grasp_strength(fingers, np.full(6, 1e300))
    with pytest.raises(StateError, match="two fingertips are called 'a'"):
        grasp_strength([Fingertip((0, 0, 0), (0, 0, 1), name="a"), Fingertip((1, 0, 0), (0, 0, 1), name="a")], UP)
    with pytest.raises(StateError, match="friction of a Fingertip must be a number that is not negative, got -1"):
        Fingertip((0, 0, 0), (0, 0, 1), friction=-1)
    with pytest.raises(StateError, match="torsion of a Fingertip must be finite, got inf"):
        Fingertip((0, 0, 0), (0, 0, 1), torsion=np.inf)
    with pytest.raises(StateError, match="limit of a Fingertip must be a number"):
        Fingertip((0, 0, 0), (0, 0, 1), limit="much")
    with pytest.raises(sc.errors.SoacraftError, match="the normal of a Fingertip"):
        Fingertip((0, 0, 0), (0, 0, 0))
    with pytest.raises(StateError, match="the wrench of grasp_strength"):
        grasp_strength(pinch(), [1, 2, 3])


@pytest.mark.parametrize("large", [1e3, 1e6, 1e9, 1e12, np.inf])
def test_a_limit_that_stands_for_none_does_not_drown_the_other(large):
    """Both fingers push alike, so that the one of 10 N decides."""
    fingers = [
        Fingertip((-0.05, 0, 0), (1, 0, 0), 0.5, 10.0, name="weak"),
        Fingertip((0.05, 0, 0), (-1, 0, 0), 0.5, large, name="strong"),
    ]
    r = grasp_strength(fingers, 4.0 * np.array(UP))
    assert np.isclose(r.margin, 2 * 0.5 * 10.0 / 4.0, rtol=1e-8)
    assert r.binding == ("weak",)
    assert set(r.slipping) == {"weak", "strong"}


def test_a_finger_that_does_nothing_may_have_any_limit():
    """A third finger across the load, with a limit far below the others."""
    fingers = [*pinch(0.5, 10.0), Fingertip((0, 0.04, 0), (0, -1, 0), 0.0, 1e-6, name="idle")]
    r = grasp_strength(fingers, 4.0 * np.array(UP))
    assert np.isclose(r.margin, 2.5, rtol=1e-6)
