"""Vibration of beams in trees by `analysis.modes`: closed forms, finite elements, published digits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.flexible.models import held_frequencies, slender

import soacraft as sc
import soacraft.flexible as fx
from soacraft.analysis import modes

#: beta L of uniform Euler beams.
FREE = (4.730040744863, 7.853204624096)
PINNED_FREE = (3.926602312048, 7.068582745629, 10.210176122813)


def on(hinge, data, node=None, **inertia):
    """A beam on a hinge, with a hub, without gravity."""
    mb = sc.Multibody("beam", gravity=(0, 0, 0))
    hub = mb.add_body("hub", None, hinge, sc.Inertia(**inertia) if inertia else None)
    hub.add_node("flange", sc.Pose())
    mb.add_body("beam", "hub/flange", sc.Weld(), modal=data, hinge_node=node)
    return mb


def beta(mb, **more):
    """beta L of the elastic modes, and how many rigid-body ones there are."""
    m = modes(mb, mb.neutral(), **more)
    return np.sqrt(2 * np.pi * m.hz[m.rigid :]), m.rigid


def nearest(got, wanted):
    return np.array([got[np.argmin(np.abs(got - x))] for x in wanted])


def test_clamped_modes_on_a_pin_and_on_nothing():
    """From above, and nearer with each mode."""
    fe, before = slender(), np.inf
    for count in (4, 5, 6):
        data = fx.reduce(fe, ["root"], "fixed", modes=2 * count)
        got, rigid = beta(on(sc.Pin((0, 0, 1)), data))
        off = nearest(got, PINNED_FREE) / PINNED_FREE - 1.0
        assert rigid == 1
        assert off.min() > 0.0
        assert (off < before).all()
        before = off
    assert before.max() < 1e-3
    got, rigid = beta(on(sc.Free(), data))
    assert rigid == 6
    assert (got[:4] > np.repeat(FREE, 2)).all()
    np.testing.assert_allclose(got[:4], np.repeat(FREE, 2), rtol=1e-3)


def test_free_modes_held_by_the_root():
    data = fx.reduce(slender(), ["root"], "free", modes=16)
    got, rigid = beta(on(sc.Pin((0, 0, 1)), data, "root"))
    off = nearest(got, PINNED_FREE) / PINNED_FREE - 1.0
    assert rigid == 1
    assert off.min() > 0.0
    assert off.max() < 1e-3


def test_a_hub_on_the_pin_and_a_mass_at_the_tip():
    data = fx.reduce(slender(), ["root", "tip"], modes=20)
    got, rigid = beta(on(sc.Pin((0, 0, 1)), data, mass=1.0, moment=0.1 * np.eye(3)))
    wanted = (2.638924696297, 4.793770850458, 7.875652942778)
    assert rigid == 1
    np.testing.assert_allclose(nearest(got, wanted), wanted, rtol=5e-5)
    mb = on(sc.Weld(), data)
    mb.add_body("mass", "beam/tip", sc.Weld(), sc.Inertia.point(1.0, (0, 0, 0)))
    got, rigid = beta(mb)
    wanted = (1.247917409606, 4.031139436715)
    assert rigid == 0
    np.testing.assert_allclose(got[:4], np.repeat(wanted, 2), rtol=2e-6)


@pytest.mark.parametrize(("n", "digits"), [(1, (3.5327315428, 34.8068931082)), (4, (3.5161302706, 22.0601663079))])
def test_pieces_welded_to_each_other_are_finite_elements(n, digits):
    mb = pieces(n)
    fe = slender(n)
    exact = held_frequencies(fe.K.toarray()[6:, 6:], fe.M.toarray()[6:, 6:])
    omega = 2 * np.pi * modes(mb, mb.neutral()).hz
    np.testing.assert_allclose(omega[: 4 * n], exact[: 4 * n], rtol=1e-11)  # what bends: `exact` is sharp there
    np.testing.assert_allclose(omega[[0, 2]], digits, rtol=1e-7)  # the section's rotary inertia


def pieces(n):
    mb, parent = sc.Multibody("pieces", gravity=(0, 0, 0)), None
    for k, piece in enumerate(fx.substructure(slender(n), n)):
        data = fx.reduce(piece, ["root", "tip"], "guyan")
        mb.add_body(f"piece{k}", parent, sc.Weld(), modal=data, hinge_node="root")
        parent = f"piece{k}/tip"
    return mb


def test_spinning_about_its_own_axis():
    """Seen in axes that spin at W, its frequencies are omega - W and omega + W."""
    data = fx.reduce(slender(thin=1e-10), ["root"], "fixed", modes=4)  # its rotary inertia makes a difference of 3e-10
    mb, W = on(sc.Pin((1, 0, 0)), data), 1.3
    rest = 2 * np.pi * modes(mb, mb.neutral(), fixed=["hub"]).hz
    v = np.zeros(mb.nv)
    v[0] = W
    m = modes(mb, mb.neutral(), v, fixed=["hub"])
    wanted = np.sort(np.concatenate([rest[::2] - W, rest[::2] + W]))
    np.testing.assert_allclose(2 * np.pi * m.hz, wanted, rtol=1e-9)
    assert np.abs(m.growth).max() < 1e-9 * rest.max()


def test_nafems_fv4_a_cantilever_with_masses_off_its_axis():
    steel = fx.Elastic(200e9, 0.3, 8000.0)
    fe = fx.beam(10.0, fx.Circle(0.25), steel, elements=20, theory="euler")
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(10, 0, 0))
    mb = on(sc.Weld(), fx.reduce(fe, ["root", "tip"], modes=12))
    for name, mass, y in (("heavy", 10_000.0, 2.0), ("light", 1_000.0, -2.0)):
        mb.add_body(name, "beam/tip", sc.Weld(), sc.Inertia.point(mass, (0, y, 0)))
    got = modes(mb, mb.neutral()).hz[:6]
    np.testing.assert_allclose(got, (1.723, 1.727, 7.413, 9.972, 18.155, 26.957), rtol=2e-3)


def test_nafems_fv5_a_deep_beam_on_two_supports():
    """The body frame goes through both ends: held from aside, the ends stay on its axis and turn."""
    steel, side = fx.Elastic(200e9, 0.3, 8000.0), 2.0
    fe = fx.beam(10.0, fx.Rectangle(side, side, shear=0.8497), steel, elements=60)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(10, 0, 0))
    data = fx.rereference(fx.reduce(fe, ["root", "tip"], modes=30), "chord")
    mb, aside = sc.Multibody("FV5", gravity=(0, 0, 0)), sc.Pose(translation=(0, 0, 1.0))
    mb.add_body("beam", None, sc.Weld(), None, aside, aside.inv, modal=data)
    m = modes(mb, mb.neutral())
    got = m.hz
    wanted = (42.645, 42.645, 71.20, 125.00, 148.149, 148.149)
    assert m.rigid == 0
    np.testing.assert_allclose(got[:6], wanted, rtol=1e-3)
    np.testing.assert_allclose(nearest(got, (283.468,)), (283.468,), rtol=1e-3)


@pytest.mark.parametrize(("hinge", "wanted"), [(sc.Weld(), FREE), (sc.Pin((0, 0, 1)), PINNED_FREE)])
def test_the_tip_held_by_a_closure(hinge, wanted):
    """Clamped at the root, welded or pinned to the ground at the tip: the values of free-free and pinned-free beams."""
    mb = on(sc.Weld(), fx.reduce(slender(), ["root", "tip"], "craig_bampton", modes=12))
    mb.root.add_node("wall", sc.Pose(translation=(1, 0, 0)))
    mb.close_loop("support", "inertial/wall", "beam/tip", hinge)
    m = sc.loops.modes(sc.loops.TreeAugmented(mb), mb.neutral())
    got = np.sqrt(2 * np.pi * m.hz)
    assert m.rigid == 0
    np.testing.assert_allclose(nearest(got, wanted[:2]), wanted[:2], rtol=1e-4)
    assert abs(got[0] / wanted[0] - 1.0) < 1e-5
