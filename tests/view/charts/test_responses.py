"""Bode charts: gain and phase of closed forms, names and units, refusals by text."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ViewError


def oscillator(stiffness: float = 8.0, damping: float = 0.4):
    mb = sc.Multibody("oscillator", gravity=(0, 0, 0))
    body = mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
    body.passive = sc.Passive(stiffness=[stiffness], damping=[damping])
    return sc.analysis.linearize(mb, [0.0], [0.0], [0.0])


def test_a_damped_mass_answers_as_its_closed_form():
    w = np.logspace(-2, 2, 50)
    gain, phase = sc.view.bode(oscillator(), "mass", "mass", frequencies=w).panels
    exact = 1.0 / (8.0 - 2.0 * w**2 + 0.4j * w)
    assert gain.lines["mass by mass"][1] == pytest.approx(np.abs(exact), rel=1e-10)
    assert phase.lines["mass by mass"][1] == pytest.approx(np.degrees(np.angle(exact)), abs=1e-6)
    assert (gain.x_label, gain.y_label, phase.y_label) == ("frequency [rad/s]", "gain [m/N]", "phase [degrees]")
    assert phase.lines["mass by mass"][1][-1] == pytest.approx(-180.0, abs=1.0)


def test_the_frequencies_reach_a_decade_around_the_eigenvalues():
    chart = sc.view.bode(oscillator())
    w, _ = chart.panels[0].lines["mass by mass"]
    assert (w[0], w[-1]) == pytest.approx((0.2, 20.0))
    axes = chart.figure.axes
    assert [x.get_xscale() for x in axes] == ["log", "log"]
    assert [x.get_yscale() for x in axes] == ["log", "linear"]


def test_gains_of_different_units_have_their_own_panels():
    mb = sc.load("cart_pole")
    chart = sc.view.bode(sc.analysis.linearize(mb, [0, 0], [0, 0], [0, 0]))
    assert [x.y_label for x in chart.panels] == [
        "gain [m/N]", "gain [rad/N]", "gain [m/(N m)]", "gain [rad/(N m)]", "phase [degrees]",
    ]  # fmt: skip
    assert list(chart.panels[-1].lines) == ["cart by cart", "pole by cart", "cart by pole", "pole by pole"]


def test_a_closed_chain_is_pushed_at_any_dof_of_the_tree():
    mb = sc.Multibody("geared", gravity=(0, 0, -9.81))
    mb.add_body("bob", None, sc.Pin((0, 1, 0)), sc.Inertia.point(1.0, (0, 0, -1)))
    mb.add_body("wheel", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.couple("gear", {"wheel": 1.0, "bob": -1.0})
    lin = sc.analysis.linearize(mb, [0, 0], [0, 0], [0, 0])
    chart = sc.view.bode(lin, "wheel", frequencies=[1.0])
    (name,) = chart.panels[0].lines
    assert name == f"{lin.position_names[0]} by wheel"
    assert chart.panels[0].lines[name][1][0] == pytest.approx(1.0 / (9.81 - 2.0))  # 1 / (m g l - (m l^2 + I) w^2)


def test_an_eigenvalue_that_is_met_has_no_finite_gain():
    lin = oscillator(damping=0.0)
    assert sc.view.bode(lin, frequencies=[2.0]).panels[0].lines["mass by mass"][1][0] > 1e12


def test_refused():
    lin = oscillator()
    with pytest.raises(ViewError, match=r"bode takes what sc.analysis.linearize gives, got ndarray"):
        sc.view.bode(np.eye(2))
    with pytest.raises(ViewError, match=r"dofs of bode: there is no dof 'mas'; did you mean 'mass'\?"):
        sc.view.bode(lin, dofs="mas")
    with pytest.raises(ViewError, match=r"force of bode: there is no dof 'm'"):
        sc.view.bode(lin, force=["m"])
    for wrong in ([0.0, 1.0], [], [np.nan], 3.0):
        with pytest.raises(ViewError, match="frequencies of bode are positive numbers in rad/s"):
            sc.view.bode(lin, frequencies=wrong)
    mb = sc.load("pendulum")
    with pytest.raises(ViewError, match=r"bode draws one state, and this is a batch \(2,\); linearize one of them"):
        sc.view.bode(sc.analysis.linearize(mb, np.zeros((2, 1)), [0.0], [0.0]))
    still = sc.Multibody(gravity=(0, 0, 0))
    still.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
    with pytest.raises(ViewError, match=r"no eigenvalue says which frequencies matter; give frequencies= in rad/s"):
        sc.view.bode(sc.analysis.linearize(still, [0.0], [0.0], [0.0]))
