"""Loads at which beams buckle or flutter, as `analysis.modes` finds them; none without geometric stiffening."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.flexible.models import slender
from tests.flexible.test_solids import soft

import soacraft as sc
import soacraft.flexible as fx
from soacraft.analysis import modes


def cantilever(data, gravity=(0, 0, 0)):
    mb = sc.Multibody("column", gravity=gravity)
    mb.add_body("beam", None, sc.Weld(), modal=data)
    return mb


def bending(geometric=True):
    """Six modes in each plane."""
    return fx.reduce(slender(), ["root", "tip"], "fixed", modes=12, geometric=geometric)


def softest(mb, **load):
    """The least omega^2; negative for what grows without swinging."""
    return float((-(modes(mb, mb.neutral(), **load).eigenvalues ** 2)).real.min())


def pushed(P, axes):
    return {"f_ext": {"beam/tip": sc.Wrench((0, 0, 0), (-P, 0, 0), expressed_in=axes)}}


def test_a_column_buckles_at_eulers_load():
    mb = cantilever(bending())
    load = brentq(lambda P: softest(mb, **pushed(P, mb.root)), 1.0, 4.0, xtol=1e-7)
    assert load == pytest.approx(2.467401100, rel=1e-3)
    mb = cantilever(bending(geometric=False))
    assert softest(mb, **pushed(10.0, mb.root)) == pytest.approx(softest(mb), rel=1e-6)


def test_a_column_buckles_under_its_own_weight():
    def least(g, geometric=True):
        return softest(cantilever(bending(geometric), gravity=(-g, 0, 0)))

    assert brentq(least, 4.0, 12.0, xtol=1e-4) == pytest.approx(7.837347439, rel=1e-3)
    assert least(30.0, geometric=False) == pytest.approx(least(0.0, geometric=False), rel=1e-6)


def test_a_strip_tips_over_at_prandtls_load():
    """4.0126 (EIz GJ)^(1/2) / L^2, Iy large."""
    steel = fx.Elastic(1e9, 0.0, 1.0)
    fe = fx.beam(1.0, fx.Section(A=1.0, Iy=1e-3, Iz=1e-9, J=1e-9), steel, 24, theory="euler")
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1, 0, 0))
    unit = np.sqrt(steel.G * 1e-9)

    def least(P, mb):
        return softest(mb, f_ext={"beam/tip": sc.Wrench((0, 0, 0), (0, 0, P * unit), expressed_in=mb.root)})

    mb = cantilever(fx.reduce(fe, ["root", "tip"], "fixed", modes=40))
    assert brentq(least, 2.0, 6.0, args=(mb,), xtol=1e-6) == pytest.approx(4.012599344, rel=1e-3)
    mb = cantilever(fx.reduce(fe, ["root", "tip"], "fixed", modes=40, geometric=False))
    assert least(12.0, mb) > 0.9 * least(0.0, mb)


def test_a_force_that_follows_the_tip_flutters_at_becks_load():
    mb = cantilever(bending())

    def grows(P):
        return modes(mb, mb.neutral(), **pushed(P, None)).growth.max() > 1e-3

    low, high = 15.0, 25.0
    assert not grows(low)
    assert grows(high)
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    assert low == pytest.approx(20.050953619, rel=1e-3)
    omega = 2 * np.pi * modes(mb, mb.neutral(), **pushed(low, None)).hz
    np.testing.assert_allclose(omega[:4], 11.0155577, rtol=3e-3)
    mb = cantilever(bending(geometric=False))
    assert not grows(20.5)


def test_a_column_of_solid_elements_buckles():
    """At its tip and under its own weight, within 1 %: geometric terms from unit loads."""
    data = fx.reduce(soft("RBE3", 12)[0], ["root", "tip"], "fixed", modes=8)
    EI, A = 0.05**4 / 12, 0.05**2
    mb = cantilever(data)
    load = brentq(lambda P: softest(mb, **pushed(P * EI, mb.root)), 1.0, 4.0, xtol=1e-4)
    assert load == pytest.approx(2.467401100, rel=0.01)
    weight = brentq(lambda g: softest(cantilever(data, gravity=(-g * EI / A, 0, 0))), 4.0, 12.0, xtol=1e-3)
    assert weight == pytest.approx(7.837347439, rel=0.01)
